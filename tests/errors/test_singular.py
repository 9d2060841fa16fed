"""Singular systems: the nodes without mass and the joints that repeat each other are named, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.contracts import (
    Constraint,
    Element,
    ElementBatch,
    InternalVariable,
    Motion,
    Numbering,
    node_rows,
    own_rows,
)
from fem_mbs.elements import (
    PID,
    Beam,
    BeamSection,
    FixedJoint,
    Force,
    JointActuator,
    JointSensor,
    JointSpring,
    PointMass,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
)
from fem_mbs.lie import so3
from fem_mbs.linear.null_space import null_spaces
from fem_mbs.system.matrices import leading_matrix
from fem_mbs.system.system import Evaluation

Z = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Units:
    """Size and mass of the bodies, where the model stands and how it is turned."""

    length: float = 1.0
    mass: float = 1.0
    Q: Array = field(default_factory=lambda: np.eye(3))
    place: tuple[float, float, float] = (0.0, 0.0, 0.0)
    group: str = "R3xSO3"

    def point(self, *x: float) -> Array:
        return self.length * (self.Q @ x + np.array(self.place))

    def body(self, model: mbs.Model, name: str, *x: float) -> mbs.Node:
        node = model.add_node(self.point(*x), self.Q, name=name)
        model.add(RigidBody(node, self.mass, self.mass * self.length**2 * np.array([0.1, 0.12, 0.15])))
        return node


UNITS = {
    "plain": Units(),
    "on SE(3)": Units(group="SE3"),
    "micro": Units(1e-5, 1e-9),
    "huge": Units(1e3, 1e6),
    "small and heavy": Units(1e-3, 1e6),
    "large and light": Units(1e2, 1e-6),
    "turned and far": Units(Q=so3.exp(np.array([0.3, -1.0, 2.0])), place=(100.0, -2000.0, 300.0)),
}


def refusal(model: mbs.Model) -> str:
    with pytest.raises(mbs.SingularSystemError) as error:
        mbs.start(mbs.System(model), mbs.GeneralizedAlpha())
    return str(error.value)


def named(model: mbs.Model) -> str:
    """What is said of joints that repeat each other."""
    system = mbs.System(model)
    mbs.start(system, mbs.GeneralizedAlpha())
    assert system.redundant is not None
    return system.redundant.text


def doors(u: Units) -> mbs.Model:
    """Two doors with two hinges each, on one line, and a third as it should be."""
    model = mbs.Model(u.group)
    for k, name in enumerate(("left", "right", "good")):
        door = u.body(model, name, 3 * k, 1, 0.5)
        for hinge, height in (("upper", 2), ("lower", 0))[: 1 if name == "good" else 2]:
            model.add(RevoluteJoint(model.ground, door, u.Q @ Z, u.point(3 * k, 0, height)), name=f"{hinge} {name}")
    return model


def four_bar(u: Units, tilt: float = 0.0) -> mbs.Model:
    """Three rigid bars in a plane; the hinge C is tilted."""
    model = mbs.Model(u.group)
    corners = np.array([[0, 0, 0], [0, 1, 0], [2, 1, 0], [2, 0, 0.0]])
    bars = [u.body(model, f"bar {k}", *(0.5 * (corners[k] + corners[k + 1]))) for k in range(3)]
    ends = [model.ground, *bars, model.ground]
    for k, name in enumerate("ABCD"):
        axis = (np.sin(tilt), 0.0, np.cos(tilt)) if name == "C" else Z
        model.add(RevoluteJoint(ends[k], ends[k + 1], u.Q @ axis, u.point(*corners[k])), name=name)
    return model


@pytest.mark.parametrize("units", UNITS)
def test_hinges_on_one_line_are_named_door_by_door(units: str) -> None:
    lines = named(doors(UNITS[units])).splitlines()
    assert lines[0] == "the joint forces at the start are not unique: constraint equations repeat each other:"
    for line, side in zip(lines[1:3], ("left", "right"), strict=True):
        assert line.startswith(f"  RevoluteJoint 'upper {side}'") and f"RevoluteJoint 'lower {side}': " in line
        assert "translation x, translation y, translation z, rotation" in line
        assert line.endswith("(5 of these 10 too many)")
    assert lines[3].startswith("Where that is not meant, remove a joint") and len(lines) == 4


@pytest.mark.parametrize("units", UNITS)
def test_planar_loop_of_rigid_bars_is_closed_three_times_too_often(units: str) -> None:
    """Out of the plane each hinge closes what the others close: one translation and two rotations."""
    message = named(four_bar(UNITS[units]))
    assert "(3 of these 12 too many)" in message
    assert all(f"RevoluteJoint '{name}'" in message for name in "ABCD") and "': translation z, rotation " in message


@pytest.mark.parametrize("tilt", [1e-3, 0.3])
def test_tilting_a_hinge_does_not_make_rigid_bars_a_mechanism(tilt: float) -> None:
    """Eighteen unknowns cannot satisfy twenty equations in general."""
    assert "(2 of these " in named(four_bar(Units(), tilt))


def test_flexible_bars_close_any_loop() -> None:
    model = mbs.Model()
    section = BeamSection.circle(0.02, 2e11, 0.3, 8e3)
    bars = [Beam.line(model, (0, 0, 0), (0, 1, 0), section, 2), Beam.line(model, (0, 1, 0), (1, 1, 0), section, 2)]
    model.add(RevoluteJoint(model.ground, bars[0].nodes[0], Z))
    model.add(RevoluteJoint(bars[0].nodes[-1], bars[1].nodes[0], Z))
    model.add(RevoluteJoint(model.ground, bars[1].nodes[-1], Z))
    assert mbs.simulate(model, 0.01, 0.01).success


def test_stretched_bars_pull_along_their_line_in_many_ways() -> None:
    """Two bars between two pivots, exactly stretched: the pull is not unique, but only along the line."""
    u, model = Units(), mbs.Model()
    bars = [u.body(model, "one", 0.5, 0, 0), u.body(model, "two", 1.5, 0, 0)]
    for name, a, b, x in (("P", model.ground, bars[0], 0), ("Q", *bars, 1), ("R", bars[1], model.ground, 2)):
        model.add(SphericalJoint(a, b, u.point(x, 0, 0)), name=name)
    message = refusal(model)
    assert message.startswith("the position at the start is singular")
    expected = "SphericalJoint 'P', SphericalJoint 'Q', SphericalJoint 'R': translation x (1 of these 3 too many)"
    assert expected in message and "translation y" not in message


def test_joints_that_hold_nothing_that_moves_are_named() -> None:
    model = mbs.Model()
    slider = Units().body(model, "slider", 1, 0, 0)
    model.fix(slider, translation=False)
    model.add(FixedJoint(model.ground, slider), name="guide")
    message = named(model)
    assert (
        "these constraint equations act on nothing that can move: FixedJoint 'guide': rotation y, rotation x" in message
    )
    assert "translation" not in message.split("guide")[1]


def massless(build: Callable[[mbs.Model, mbs.Node], None], **node: object) -> str:
    model = mbs.Model()
    light = model.add_node((1, 0, 0), name="light", **node)  # type: ignore[arg-type]
    Units().body(model, "heavy", 0, 2, 0)
    build(model, light)
    return refusal(model)


def pendulum(model: mbs.Model, bob: mbs.Node) -> None:
    model.add(PointMass(bob, 1.0))
    model.add(SphericalJoint(model.ground, bob, point=(0, 0, 0)))


def ball(model: mbs.Model, node: mbs.Node) -> None:
    model.add(SphericalJoint(model.nodes[2], node))


def hinge(model: mbs.Model, node: mbs.Node) -> None:
    model.add(RevoluteJoint(model.nodes[2], node, (0, 3, 4)))


def two_points(model: mbs.Model, node: mbs.Node) -> None:
    for point in ((1, 1, 0), (2, 1, 1)):
        model.add(SphericalJoint(model.nodes[2], node, point))


MASSLESS: dict[str, tuple[Callable[[mbs.Model, mbs.Node], object], str]] = {
    "alone": (lambda m, n: None, "node 'light' (used by no element or joint) can move without mass"),
    "under a load": (lambda m, n: m.add(Force(n, (0, 0, 1))), "node 'light' (translation, rotation) can move"),
    "with a point mass at a hinge": (
        lambda m, n: (hinge(m, n), m.add(PointMass(n, 1.0))),
        "node 'light' (rotation about (0, 0.6, 0.8)) can",
    ),
    "held in place": (lambda m, n: m.fix(n, rotation=False), "node 'light' (used by no element or joint) can move"),
    "bob of a pendulum": (pendulum, "node 'light' (rotation about (1, 0, 0)) can move without mass"),
    "at a ball joint": (ball, "node 'light' (rotation) can move without mass"),
    "at a hinge": (hinge, "node 'light' (rotation about (0, 0.6, 0.8)) can move without mass"),
    "between two ball joints": (two_points, "rotation about (0.707, 0, 0.707)) can move without mass"),
}


@pytest.mark.parametrize("name", MASSLESS)
@pytest.mark.parametrize("turn", [None, so3.exp(np.array([0.3, -1.0, 2.0]))], ids=["plain", "turned"])
def test_motions_without_mass_are_named_in_the_world_frame(name: str, turn: Array | None) -> None:
    build, words = MASSLESS[name]
    message = massless(build, rotation=turn)  # type: ignore[arg-type]
    assert words in message and "'heavy'" not in message
    assert "a PointMass has no rotational inertia" in message and "model.fix(node" in message


def test_many_nodes_are_counted() -> None:
    model = mbs.Model()
    for k in range(1000):
        model.add_node((k, 0, 0), name=f"n{k}")
    message = refusal(model)
    assert "node 'n0' (used by" in message and "node 'n5'" in message and "and 992 more can move" in message
    assert "'n8'" not in message


def test_both_reasons_are_told_at_once() -> None:
    model = doors(Units())
    light = model.add_node((0, 0, 5), name="light")
    model.add(SphericalJoint(model.nodes[1], light))
    message = refusal(model)
    assert "node 'light' (rotation) can move without mass" in message
    assert "RevoluteJoint 'upper left'" in message and "RevoluteJoint 'lower right'" in message


def test_messages_are_the_same_every_time() -> None:
    assert len({named(doors(UNITS["turned and far"])) for _ in range(3)}) == 1


JOINTS: dict[str, tuple[Callable[[mbs.Node, mbs.Node, Array, Array], Constraint], int]] = {
    "ball joints": (lambda a, b, axis, point: SphericalJoint(a, b, point), 3),
    "hinges": (RevoluteJoint, 5),  # type: ignore[dict-item]
    "welds": (lambda a, b, axis, point: FixedJoint(a, b, point), 6),
}


def chain(u: Units, n: int, kind: str, zigzag: float = 0.5) -> mbs.Model:
    """Bodies in a row from the ground, each joined to the last by a joint at its start."""
    rng = np.random.default_rng(n)
    model = mbs.Model(u.group, gravity=u.Q @ (0, 0, -9.81))
    end, last = np.zeros(3), model.ground
    for k in range(n):
        way = np.array([1.0, 0, 0]) + zigzag * rng.normal(size=3)
        body = u.body(model, f"body {k}", *(end + 0.5 * way))
        axis = u.Q @ (Z + zigzag * rng.normal(size=3))
        model.add(JOINTS[kind][0](last, body, axis, u.point(*end)), name=f"joint {k}")
        end, last = end + way, body
    return model


@pytest.mark.parametrize("kind", JOINTS)
@pytest.mark.parametrize("units", UNITS)
def test_sound_chains_are_accepted_in_all_units(units: str, kind: str) -> None:
    for zigzag in (0.0, 0.5):
        mbs.start(mbs.System(chain(UNITS[units], 6, kind, zigzag)), mbs.GeneralizedAlpha())


@pytest.mark.ci
@pytest.mark.parametrize("kind", JOINTS)
def test_long_straight_chains_are_accepted(kind: str) -> None:
    """The smallest singular value of the constraints of a welded row of ``n`` bodies falls with ``1/n^2``."""
    mbs.start(mbs.System(chain(Units(), 1000, kind, 0.0)), mbs.GeneralizedAlpha())


def test_one_weld_too_many_is_found_in_a_long_chain() -> None:
    model = chain(Units(), 300, "welds", 0.0)
    model.add(FixedJoint(model.nodes[200], model.nodes[201]), name="again")
    message = named(model)
    assert "FixedJoint 'joint 200', FixedJoint 'again': " in message
    assert "(6 of these 12 too many)" in message and "'joint 199'" not in message and "'joint 201'" not in message


@pytest.mark.parametrize("kind", JOINTS)
@pytest.mark.parametrize("units", UNITS)
def test_null_spaces_have_the_dimension_they_must(units: str, kind: str) -> None:
    """Every doubled joint repeats its equations, every node on a hinge without a body can turn."""
    u = UNITS[units]
    model = chain(u, 12, kind)
    for k in (3, 4, 9):
        first = model.constraints[k]
        assert isinstance(first, Constraint)
        axis = first.nodes[0].rotation @ first.axes[0][:, 2]  # type: ignore[attr-defined]
        model.add(JOINTS[kind][0](*first.nodes, axis, first.nodes[1].position + first.nodes[1].rotation @ first.offset))
    for k in (2, 7):
        light = model.add_node(model.nodes[k].position + u.point(0.3, 0, 0) - u.point(0, 0, 0))
        model.add(RevoluteJoint(model.nodes[k], light, u.Q @ (1, 2, 3)))
    system = mbs.System(model)
    matrix, n = system.solver.matrix(leading_matrix(system, at_rest(system))), system.n_free
    _, motions, repeated, _ = null_spaces(matrix[:n, :n], matrix[n:, :n])
    assert (motions.shape[1], repeated.shape[1]) == (2, 3 * JOINTS[kind][1])
    np.testing.assert_allclose(motions.T @ motions, np.eye(2), atol=1e-12)


def at_rest(system: mbs.System) -> Evaluation:
    zero = np.zeros((system.n, 6))
    motion = Motion(0.0, system.x0, system.R0, zero, zero, system.gravity)
    return system.evaluate(motion, np.zeros(system.m), system.prescribe(0.0))


@pytest.mark.parametrize("radius", [1e-2, 1e-4, 1e-5])
def test_thin_wires_are_accepted(radius: float) -> None:
    """The inertia of a section falls with the fourth power of its radius, far below the stiffness of steel."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    section = BeamSection.circle(radius, 210e9, 0.3, 7850.0)
    Beam.line(model, (0, 0, 0), (0.1, 0, 0), section, start_node=model.ground)
    mbs.start(mbs.System(model), mbs.GeneralizedAlpha())


def test_light_and_heavy_bodies_share_a_model() -> None:
    model = mbs.Model()
    last = model.ground
    for k, mass in enumerate((1e-6, 1e6, 1e-6, 1e3, 1e-9)):
        body = Units(1.0, mass).body(model, f"b{k}", k, 0, 0)
        model.add(RevoluteJoint(last, body, (0, 1, 0)))
        last = body
    assert mbs.simulate(model, 0.1, 0.05).success


class Sums(Element):
    """Two algebraic variables of which ``rows`` times themselves vanish."""

    internal_variables = (InternalVariable("first", "algebraic"), InternalVariable("second", "algebraic"))

    def __init__(self, node: mbs.Node, rows: Array) -> None:
        self.nodes, self.rows = (node,), rows

    @classmethod
    def batch(cls, elements: Sequence[Sums], number: Numbering) -> ElementBatch:
        return SumsBatch(elements, number)


class SumsBatch(ElementBatch):
    def __init__(self, elements: Sequence[Sums], number: Numbering) -> None:
        self.owners, self.nodes, self.own = elements, node_rows(elements, number), own_rows(elements, number)
        self.K = np.zeros((len(elements), 8, 8))
        self.K[:, 6:, 6:] = [element.rows for element in elements]

    def force(self, motion: Motion, prescribed: None) -> tuple[Array, None]:
        return np.matvec(self.K[:, :, 6:], motion.u[self.own]), None

    def stiffness(self, context: None) -> Array:
        return self.K


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_variables_that_no_equation_determines_are_named_in_any_units(size: float) -> None:
    for second, determined in (((0.0, 1.0), True), ((2.0, 4.0), False)):
        model = mbs.Model()
        body = model.add_node((0, 0, 0))
        model.add(RigidBody(body, 1.0, (1, 1, 1)))
        model.add(Sums(body, size * np.array([(1.0, 2.0), second])), name="sums")
        if determined:
            mbs.start(mbs.System(model))
            continue
        with pytest.raises(mbs.SingularSystemError, match="no equation determines 'first' .*'second' of"):
            mbs.start(mbs.System(model))


def test_the_integral_of_a_rate_is_named_where_nothing_moves() -> None:
    """What it is at rest no equation says; that of a coordinate ends where its error is zero."""
    for quantity, refused in (("coordinate", False), ("coordinate_rate", True)):
        model = mbs.Model(gravity=(0, 0, -9.81))
        bar = model.add_node((0.5, 0, 0))
        model.add(RigidBody(bar, 2.0, (0.1, 0.2, 0.2)))
        hinge = model.add(RevoluteJoint(model.ground, bar, (0, 1, 0), (0, 0, 0)))
        model.add(JointSpring(hinge, 20.0))
        control = model.add(PID(model.add(JointSensor(hinge, quantity)), -3.0, -5.0), name="pid")
        model.add(JointActuator(hinge, control))
        if refused:
            with pytest.raises(mbs.FemMbsError, match="determines 'integral' of PID 'pid'.*sense a coord"):
                mbs.statics(model, load_end=0, ramp=False)
        else:
            assert mbs.statics(model, load_end=0, ramp=False).coordinate(hinge)[-1] == pytest.approx(0.0, abs=1e-9)
