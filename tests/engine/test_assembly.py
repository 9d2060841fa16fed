"""Closing joints that are open as built: geometry by hand, the smallest change, names of what stays open."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from meshes import chain
from scipy.optimize import minimize

import fem_mbs as mbs
from fem_mbs.elements import (
    Beam,
    BeamSection,
    DistanceJoint,
    FixedJoint,
    FlexibleBody,
    Force,
    Interface,
    Reduction,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
)
from fem_mbs.initial.assembly import Closing
from fem_mbs.lie import so3

GROUPS = {"R3xSO3": ("R3xSO3",) * 3, "SE3": ("SE3",) * 3, "mixed": ("SE3", "R3xSO3", "SE3")}
Z = np.array([0.0, 0.0, 1.0])


def body(model: mbs.Model, position: object, **options: object) -> mbs.Node:
    node = model.add_node(position, **options)  # type: ignore[arg-type]
    model.add(RigidBody(node, 1.0, (0.1, 0.2, 0.3)))
    return node


def open_four_bar(groups: tuple[str, ...]) -> tuple[mbs.Model, list]:
    """Bars of 1, 2 and 1.3 m; the last ends 0.25 m beside its pivot at (2, 0, 0)."""
    model = mbs.Model(gravity=(0, -9.81, 0))
    corners = np.array([(0, 0, 0), (0, 1, 0), (2, 1, 0), (2.25, 1 - np.sqrt(1.69 - 0.0625), 0)])
    nodes = [model.ground]
    nodes += [
        body(model, 0.5 * (start + end), group=group)
        for (start, end), group in zip(itertools.pairwise(corners), groups, strict=True)
    ]
    for k in range(3):
        model.add(RevoluteJoint(nodes[k], nodes[k + 1], Z, corners[k]), name="ABC"[k])
    model.add(RevoluteJoint(nodes[3], model.ground, Z, corners[3], point_b=(2, 0, 0)), name="D")
    return model, nodes


@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS)
def test_open_four_bar_is_closed(groups: tuple[str, ...]) -> None:
    model, nodes = open_four_bar(groups)
    with pytest.raises(mbs.ModelError, match=r"RevoluteJoint 'D' is open .* model.assemble\(\) closes joints"):
        mbs.simulate(model, 0.1, 0.01)
    assembly = model.assemble()
    angles = [float(so3.log(node.rotation)[2]) for node in nodes[1:]]
    # lengths are kept: the chain of the turned bars ends at the pivot
    bars = [(0, 1), (2, 0), (0.25, -np.sqrt(1.69 - 0.0625))]
    turned = [np.exp(1j * angle) * complex(*bar) for angle, bar in zip(angles, bars, strict=True)]
    assert sum(turned) == pytest.approx(2.0, abs=1e-11)
    for node, start, bar in zip(nodes[1:], np.cumsum([0, *turned]), turned, strict=False):
        np.testing.assert_allclose(node.position, [(start + bar / 2).real, (start + bar / 2).imag, 0], atol=1e-11)
    np.testing.assert_allclose(assembly.angle[1:], np.abs(angles), atol=1e-12)
    assert assembly.gap_before > 0.05 and assembly.gap < 1e-12 and assembly.moved
    assert mbs.simulate(model, 0.1, 0.01).success


def test_the_change_is_the_smallest() -> None:
    """Of all closed places of the four-bar, a family in one angle, none is nearer in the stated sense."""
    model, nodes = open_four_bar(GROUPS["R3xSO3"])
    built = np.array([node.position for node in nodes[1:]])
    length = np.ptp(np.array([node.position for node in nodes]), axis=0).max()
    model.assemble()

    def change(angle: float) -> float:
        end = 1j * np.exp(1j * angle)
        # the third bar from the pivot: circles of 2 and 1.3 m about both
        way = 2.0 - end
        along = (4.0 - 1.69 + abs(way) ** 2) / (2 * abs(way))
        joint = end + way / abs(way) * (along + 1j * np.sqrt(4.0 - along**2))
        points = [0, end, joint, 2.0]
        first = [1j, 2.0, 0.25 - 1j * np.sqrt(1.69 - 0.0625)]
        size = 0.0
        for k, (a, b) in enumerate(itertools.pairwise(points)):
            middle = (a + b) / 2
            moved = np.array([middle.real, middle.imag, 0]) - built[k]
            size += moved @ moved / length**2 + np.angle((b - a) / first[k]) ** 2
        return float(size)

    best = minimize(lambda a: change(a[0]), [0.0], tol=1e-14, method="Nelder-Mead")
    angle = float(so3.log(nodes[1].rotation)[2])
    assert change(angle) == pytest.approx(best.fun, rel=1e-7)
    assert angle == pytest.approx(best.x[0], abs=1e-6)


@pytest.mark.parametrize("beams", [0, 1])
def test_the_change_grows_as_its_gradient_says(beams: int) -> None:
    """Of bodies, and beside a beam, which keeps its shape, at any place."""
    model, rng = open_four_bar(GROUPS["mixed"])[0], np.random.default_rng(0)
    for _ in range(beams):
        Beam.line(model, (0, 0, 1), (1, 0, 1), BeamSection.circle(0.1, 1e6, 0.3, 1e3), 2)
    closing, h = Closing(mbs.System(model), []), 1e-5
    built = closing.built
    pose, d = closing._moved(built, rng.normal(size=len(closing.units)), 0.1), rng.normal(size=len(closing.units))
    ahead, back = (closing._size(closing._moved(pose, d, side * h)) for side in (1, -1))
    assert 2.0 * closing._half_gradient(pose) @ d == pytest.approx((ahead - back) / (2 * h), rel=1e-6)


@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_a_chain_goes_to_where_its_drives_begin(group: str) -> None:
    model = mbs.Model(group)
    first, second = body(model, (0.5, 0, 0)), body(model, (1.5, 0, 0))
    joints = [
        model.add(RevoluteJoint(model.ground, first, Z, (0, 0, 0), drive=lambda t: 0.3 + 2 * t)),
        model.add(RevoluteJoint(first, second, Z, (1, 0, 0), drive=lambda t: -0.7 - t)),
    ]
    with pytest.raises(mbs.ModelError, match=r"its drive must be 0 at t = 0.*received 0.3 rad.*model.assemble\(\)"):
        mbs.simulate(model, 0.1, 0.01)
    assembly = model.assemble()
    c, s = np.cos(0.3), np.sin(0.3)
    np.testing.assert_allclose(first.position, (0.5 * c, 0.5 * s, 0), atol=1e-11)
    np.testing.assert_allclose(second.position, (c + 0.5 * np.cos(0.4), s - 0.5 * np.sin(0.4), 0), atol=1e-11)
    # velocities follow from the drives: 2 rad/s and 1 rad/s
    np.testing.assert_allclose(first.velocity, (-s, c, 0), atol=1e-9)
    np.testing.assert_allclose(second.angular_velocity, (0, 0, 1), atol=1e-9)
    np.testing.assert_allclose(assembly.angular_velocity, [0, 2, 1], atol=1e-9)
    solution = mbs.simulate(model, 0.1, 0.01)
    for joint, offset, rate in zip(joints, (0.3, -0.7), (2, -1), strict=True):
        np.testing.assert_allclose(solution.coordinate(joint), offset + rate * solution.t, atol=1e-9)
    assert not model.assemble().moved


def test_points_and_axes_meet() -> None:
    model = mbs.Model()
    node = body(model, (1.2, 0.1, 0))
    axis_b = np.array([0.1, -0.05, 1.0])
    model.add(RevoluteJoint(model.ground, node, Z, (0, 0, 0), point_b=(0.2, 0.1, 0), axis_b=axis_b))
    model.assemble()
    np.testing.assert_allclose(node.rotation @ (axis_b / np.linalg.norm(axis_b)), Z, atol=1e-11)
    np.testing.assert_allclose(node.position, node.rotation @ (1, 0, 0), atol=1e-11)


def test_fixed_and_held_nodes_stay() -> None:
    model = mbs.Model()
    nodes = [body(model, (x, 0, 0), name=f"n{x}") for x in range(3)]
    model.add(FixedJoint(nodes[0], nodes[1], (1, 0, 0), point_b=(1, 0.1, 0)))
    model.add(FixedJoint(nodes[1], nodes[2], (2, 0, 0), point_b=(2, 0.1, 0)))
    model.fix(nodes[0])
    with pytest.raises(mbs.ModelError, match="the joints cannot be closed"):
        model.assemble(hold=nodes[1:])
    np.testing.assert_array_equal(nodes[2].position, (2, 0, 0))
    assembly = model.assemble()
    np.testing.assert_allclose(nodes[1].position, (1, -0.1, 0), atol=1e-11)
    np.testing.assert_allclose(nodes[2].position, (2, -0.2, 0), atol=1e-11)
    np.testing.assert_allclose(assembly.distance, [0, 0, 0.1, 0.2], atol=1e-11)
    lines = str(assembly).splitlines()
    assert "2 of 4 nodes changed" in lines[0] and lines[2].startswith("node 'n2'") and "0.2" in lines[2]
    other = mbs.Model()
    with pytest.raises(mbs.ModelError, match="hold: node 'n0' belongs to another model"):
        other.assemble(hold=[nodes[0]])
    with pytest.raises(mbs.ModelError, match="Model.assemble: hold: nothing in the model is called"):
        model.assemble(hold=["m0"])  # type: ignore[list-item]


def test_beams_keep_their_shape() -> None:
    model = mbs.Model()
    section = BeamSection.circle(0.02, 2e11, 0.3, 7800)
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), section, 4)
    strut = Beam.line(model, (1, -0.9, 0), (1, 0.05, 0), section, 4)
    model.add(RevoluteJoint(model.ground, beam.nodes[0], Z, (0, 0, 0)))
    model.add(RevoluteJoint(model.ground, strut.nodes[0], Z, (1, -1, 0), point_b=(1, -0.9, 0)))
    model.add(RevoluteJoint(beam.nodes[-1], strut.nodes[-1], Z, (1, 0, 0), point_b=(1, 0.05, 0)))
    model.assemble()
    # circles of 1 m about the origin and of 0.95 m about (1, -1, 0)
    tip = beam.nodes[-1].position
    assert np.linalg.norm(tip) == pytest.approx(1.0, abs=1e-8)
    assert np.linalg.norm(tip - (1, -1, 0)) == pytest.approx(0.95, abs=1e-8)
    strain = mbs.simulate(model, 1e-4, 1e-4).energy.strain[0]
    assert strain < 1e-6


@pytest.mark.one
@pytest.mark.parametrize("kind", ["beam", "body"])
@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_slender_rods_keep_their_length(kind: str, group: str) -> None:
    """A rod on a hinge whose tip is pulled up or down by 0.3 m turns: bending is a millionth as stiff as stretching."""
    for change in (-0.3, 0.3):
        model = mbs.Model(group)
        if kind == "beam":
            section = BeamSection(1e6, 1e6, 1e3, 1.0, 1.0, (1e-6, 1e-6, 1e-6))
            nodes = list(Beam.line(model, (0, 0, 0), (1, 0, 0), section, 8, y_axis=Z).nodes)
        else:
            mesh, dofs = chain(8)
            ends = {"a": Interface.rigid([0]), "b": Interface.rigid([8])}
            nodes = list(model.add(FlexibleBody.place(model, Reduction(*mesh, ends, dofs=dofs, modes=2))).nodes)
        model.add(RevoluteJoint(model.ground, nodes[0], Z))
        model.add(DistanceJoint(model.ground, nodes[-1], (1, -1, 0), drive=lambda t, change=change: change))
        model.assemble()
        tip = nodes[-1].position
        assert np.linalg.norm(tip - (1, -1, 0)) == pytest.approx(1.0 + change, abs=1e-9)
        assert np.linalg.norm(tip) == pytest.approx(1.0, abs=1e-7)


def test_beams_that_have_to_bend_do() -> None:
    """A clamped beam whose tip is welded 0.1 m aside: the energy of the S is 6 EI w^2/L^3."""
    model = mbs.Model()
    section = BeamSection.circle(0.02, 2e11, 0.3, 7800)
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), section, 16)
    model.add(FixedJoint(model.ground, beam.nodes[0]))
    model.add(FixedJoint(model.ground, beam.nodes[-1], (1, 0.001, 0), point_b=(1, 0, 0)))
    model.assemble()
    start = mbs.simulate(model, 1e-6, 1e-6)
    exact = 6 * 2e11 * np.pi * 0.02**4 / 4 * 0.001**2
    assert start.energy.strain[0] == pytest.approx(exact, rel=0.02)


def test_redundant_loops_are_closed_too() -> None:
    model = mbs.Model()
    leaf = body(model, (0.5, 0, 1))
    for z in (0.2, 1.0, 1.8):
        model.add(RevoluteJoint(model.ground, leaf, Z, (0, 0, z), point_b=(0.02, 0.03, z)))
    assembly = model.assemble()
    np.testing.assert_allclose(assembly.gap, 0.0, atol=1e-12)
    assert len(mbs.simulate(model, 0.1, 0.01).redundant) == 3


def test_what_cannot_be_closed_is_named_and_left_as_it_is() -> None:
    model = mbs.Model()
    bar = body(model, (0.5, 0, 0))
    model.add(SphericalJoint(model.ground, bar, (0, 0, 0)), name="left")
    model.add(SphericalJoint(model.ground, bar, (1.5, 0, 0), point_b=(1, 0, 0)), name="right")
    good = body(model, (0, 5, 0))
    model.add(SphericalJoint(model.ground, good, (0, 4, 0)), name="good")
    with pytest.raises(mbs.ModelError) as refusal:
        model.assemble()
    message = str(refusal.value)
    assert "SphericalJoint 'left': translation x" in message and "SphericalJoint 'right': translation x" in message
    assert "'good'" not in message
    np.testing.assert_array_equal(bar.position, (0.5, 0, 0))
    np.testing.assert_array_equal(bar.rotation, np.eye(3))


def test_what_closes_and_cannot_move_is_left_as_it_is() -> None:
    """Two drives that agree where they begin, and not how fast."""
    model = mbs.Model()
    bar = body(model, (0, 1, 0))
    for rate in (1.0, 2.0):
        model.add(
            RevoluteJoint(model.ground, bar, Z, (0, 0, 0), point_b=(1, 1, 0), drive=lambda t, rate=rate: rate * t)
        )
    with pytest.raises(mbs.FemMbsError, match="contradict each other"):
        model.assemble()
    np.testing.assert_array_equal(bar.position, (0, 1, 0))
    np.testing.assert_array_equal(bar.rotation, np.eye(3))


@pytest.mark.parametrize("speed", [1.0, 2.0**-30, 2.0**30])
def test_velocities_alone_are_made_consistent(speed: float) -> None:
    """However fast; those that are stay to the bit."""
    model = mbs.Model()
    bar = body(model, (1, 0, 0), velocity=np.multiply(speed, (0.3, 1.0, 0.1)), angular_velocity=(0, 0, 1.1 * speed))
    model.add(RevoluteJoint(model.ground, bar, Z, (0, 0, 0)))
    assembly = model.assemble()
    assert not assembly.moved and assembly.velocity[1] > 0.3 * speed
    np.testing.assert_allclose(bar.velocity, np.cross(bar.angular_velocity, (1, 0, 0)), atol=1e-14 * speed)
    assert mbs.simulate(model, 0.1 / speed, 0.01 / speed).success
    kept = bar.velocity = bar.velocity * (1.0 + 1e-12)
    model.assemble()
    np.testing.assert_array_equal(bar.velocity, kept)
    assert "nothing was moved" in str(model.assemble())


def test_statics_of_an_assembled_model() -> None:
    """No masses are needed to close joints."""
    model = mbs.Model()
    section = BeamSection.circle(0.02, 2e11, 0.3, 7800)
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), section, 4)
    model.add(FixedJoint(model.ground, beam.nodes[0], (0, 0, 0.5), point_b=(0, 0, 0)))
    model.add(Force(beam.nodes[-1], (0, 0, -1.0)))
    model.assemble()
    np.testing.assert_allclose(beam.nodes[-1].position, (1, 0, 0.5), atol=1e-5)
    assert mbs.statics(model).success
