"""Projected velocities satisfy the joints, and no others that do are closer in the metric of the kinetic energy.

Velocities that were given are meant; what was given none follows them as a mechanism does, without deformation.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from catalogue import GROUPS, PLAIN
from meshes import brick
from motions import mass_matrix
from scipy.linalg import null_space

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion
from fem_mbs.elements import (
    Beam,
    BeamSection,
    FixedJoint,
    FlexibleBody,
    Interface,
    LowPass,
    Moment,
    NodeSensor,
    PointMass,
    Reduction,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
    SpinUp,
)
from fem_mbs.initial.consistent_start import projected
from fem_mbs.initial.state_point import as_built, without_accelerations
from fem_mbs.lie import so3
from fem_mbs.system import matrices as tangent


class Steady:
    """A drive that turns at a rate."""

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def __call__(self, t: float) -> float:
        return self.rate * t

    def velocity(self, t: float) -> float:
        return self.rate

    def acceleration(self, t: float) -> float:
        return 0.0


def mechanism(group: str) -> mbs.Model:
    """Joints of all kinds and a beam; nodes turned and moving at random, whatever the joints say."""
    model = mbs.Model("R3xSO3" if group == "mixed" else group, gravity=(0.3, -9.0, 1.0))
    rng = np.random.default_rng(0)

    def node(x: float, k: int) -> mbs.Node:
        own = ("SE3", "R3xSO3")[k % 2] if group == "mixed" else None
        return model.add_node((x, 0.1, 0), so3.exp(rng.normal(size=3)), *rng.normal(size=(2, 3)), group=own)

    crank, rod, disc = node(0.5, 0), node(1.5, 1), node(1.0, 0)
    model.add(RigidBody(crank, 2.0, (1, 2, 2.5), (0.1, 0.2, 0.3)))
    model.add(RigidBody(disc, 1.0, (0.2, 0.2, 0.3)))
    model.add(RevoluteJoint(model.ground, crank, (0, 0, 1), point=(0, 0, 0)))
    model.add(SphericalJoint(crank, rod, point=(1, 0, 0)))
    model.add(RevoluteJoint(crank, disc, (0, 0, 1), drive=Steady(3.0)))
    model.add(Beam([rod, *(node(2.0 + 0.5 * k, k) for k in range(2))], PLAIN))
    return model


def velocities(model: mbs.Model) -> Array:
    """World velocities, then body angular velocities, as the nodes have them."""
    return np.array([[*node.velocity, *node.angular_velocity] for node in model.nodes])


def in_body(system: mbs.System, velocities: Array) -> Array:
    return np.concatenate([np.vecmat(velocities[:, :3], system.R0), velocities[:, 3:]], axis=1)


def evaluate(model: mbs.Model) -> tuple[mbs.System, Array, Array, Array]:
    """System, mass matrix and gradient of the free components, and ``B V + Phi_t``, all dense."""
    system = mbs.System(model)
    V = in_body(system, velocities(model))
    motion = Motion(0.0, system.x0, system.R0, V, np.zeros_like(V), system.gravity)
    evaluation = system.evaluate(motion, np.zeros(system.m), system.prescribe(0.0))
    B = tangent.gradient_matrix(system, evaluation.gradients).toarray()
    return system, mass_matrix(system, motion), B, tangent.velocity_residual(system, evaluation)


@pytest.mark.parametrize("group", GROUPS)
def test_joints_are_satisfied(group: str) -> None:
    model = mechanism(group)
    with pytest.raises(mbs.ModelError, match=r"is violated by .* or let mbs.project_velocities\(model\) find the"):
        mbs.simulate(model, 0.01, 0.01)
    mbs.project_velocities(model)
    assert np.abs(evaluate(model)[-1]).max() < 1e-14
    assert mbs.simulate(model, 0.02, 0.01).success


@pytest.mark.parametrize("group", GROUPS)
def test_change_has_least_kinetic_energy(group: str) -> None:
    """It is orthogonal, in the metric of the mass, to every velocity that the joints allow."""
    model = mechanism(group)
    before = velocities(model)
    mbs.project_velocities(model)
    system, M, B, _ = evaluate(model)
    change = in_body(system, velocities(model) - before)[system.free]
    allowed = null_space(B)
    assert allowed.shape[1] == system.n_free - system.m
    assert np.abs(change).max() > 0.1
    np.testing.assert_allclose(allowed.T @ M @ change, 0.0, rtol=0, atol=1e-13)


@pytest.mark.parametrize("group", GROUPS)
def test_projection_is_the_same_on_all_groups_and_needs_no_second(group: str) -> None:
    model, expected = mechanism(group), mechanism("R3xSO3")
    mbs.project_velocities(model)
    mbs.project_velocities(expected)
    once = velocities(model)
    np.testing.assert_allclose(once, velocities(expected), rtol=0, atol=1e-13)
    mbs.project_velocities(model)
    np.testing.assert_allclose(velocities(model), once, rtol=0, atol=1e-14)


@pytest.mark.parametrize("group", GROUPS)
def test_velocities_that_fit_stay(group: str) -> None:
    """To a rounding of the rates of the joints; what no joint asks for stays as it is to the last digit."""
    model = mbs.Model("SE3" if group == "mixed" else group)
    spin = np.array([0.2, -1.0, 3.0])
    R = so3.exp(np.array([0.3, 1.0, 0.1]))
    top = model.add_node((1, 2, 3), R, np.cross(spin, (1, 2, 3)), R.T @ spin)
    free = model.add_node((5, 5, 5), R, (0.1, 0.2, 0.3), (0.4, 0.5, 0.6), group="R3xSO3" if group == "mixed" else None)
    for node in (top, free):
        model.add(RigidBody(node, 2.0, (1, 2, 2.5), (0.1, 0.2, 0.3)))
    model.add(SphericalJoint(model.ground, top, point=(0, 0, 0)))
    before = velocities(model)
    mbs.project_velocities(model)
    np.testing.assert_allclose(velocities(model), before, rtol=0, atol=4e-15)
    np.testing.assert_array_equal(velocities(model)[2], before[2])


@pytest.mark.parametrize("group", GROUPS[:2])
@pytest.mark.parametrize("drive", [Steady(12.0), lambda t: 12.0 * t])
def test_driven_hinge_gets_its_rate(group: str, drive: Callable[[float], float]) -> None:
    """A rate of a function without derivatives comes from differences."""
    model = mbs.Model(group)
    R = so3.exp(np.array([0.5, 0.2, -1.0]))
    arm = model.add_node((1, 0, 0), R)
    model.add(RigidBody(arm, 1.0, (1, 1, 1)))
    motor = model.add(RevoluteJoint(model.ground, arm, (0, 0, 1), point=(0, 0, 0), drive=drive))
    mbs.project_velocities(model)
    tolerance = 1e-13 if isinstance(drive, Steady) else 1e-7
    np.testing.assert_allclose(R @ arm.angular_velocity, (0, 0, 12), rtol=0, atol=tolerance)
    np.testing.assert_allclose(arm.velocity, (0, 12, 0), rtol=0, atol=tolerance)
    solution = mbs.simulate(model, 0.1, 0.01)
    np.testing.assert_allclose(solution.angle(motor), 12.0 * solution.t, rtol=0, atol=1e-6)


def test_held_nodes_stay_at_rest() -> None:
    """A sledge held in translation, its wheel on a hinge: the hinge takes the translation from the wheel."""
    model = mbs.Model()
    sledge = model.add_node((0, 0, 1), angular_velocity=(0, 0, 2))
    wheel = model.add_node((0, 0, 2), velocity=(1, 0, 0), angular_velocity=(0, 0, 5))
    model.fix(sledge, rotation=False)
    for node in (sledge, wheel):
        model.add(RigidBody(node, 1.0, (1, 1, 1)))
    model.add(RevoluteJoint(sledge, wheel, (0, 0, 1)))
    mbs.project_velocities(model)
    # about y: the wheel of unit mass at unit distance, two unit inertias; its momentum 1 turns both
    for node, spin in ((sledge, 2.0), (wheel, 5.0)):
        np.testing.assert_allclose(node.angular_velocity, (0, 1 / 3, spin), rtol=0, atol=1e-15)
    np.testing.assert_array_equal(sledge.velocity, 0.0)
    np.testing.assert_allclose(wheel.velocity, (1 / 3, 0, 0), rtol=0, atol=1e-15)
    np.testing.assert_array_equal(velocities(model)[0], 0.0)


def test_nodes_without_mass_move_with_their_joints() -> None:
    """A frame welded to a body by a driven hinge has no mass of its own and needs none."""
    model = mbs.Model()
    body = model.add_node((1, 0, 0), velocity=(0, 2, 0), angular_velocity=(0, 0, 2))
    frame = model.add_node((2, 0, 0), velocity=(9, 9, 9))
    model.add(RigidBody(body, 1.0, (1, 1, 1)))
    model.add(RevoluteJoint(body, frame, (0, 0, 1), drive=SpinUp(1.0, 1.0)))
    mbs.project_velocities(model)
    np.testing.assert_allclose(velocities(model)[1:, [1, 5]], [[2, 2], [4, 2]], rtol=0, atol=1e-14)
    assert mbs.simulate(model, 0.02, 0.01).success


def test_what_cannot_be_projected_is_named_and_left_as_it_is_but_not_for_a_hinge_more() -> None:
    model = mbs.Model()
    door = model.add_node((1, 0, 0), velocity=(1, 0, 0), name="door")
    light = model.add_node((2, 0, 0), name="light")
    model.add(RigidBody(door, 1.0, (1, 1, 1)))
    model.add(PointMass(light, 1.0))
    model.add(Moment(light, (1, 0, 0)))
    model.add(RevoluteJoint(model.ground, door, (0, 0, 1)), name="hinge")
    with pytest.raises(mbs.SingularSystemError, match=r"node 'light' \(rotation\) can move without mass"):
        mbs.project_velocities(model)
    np.testing.assert_array_equal(door.velocity, (1, 0, 0))
    model.fix(light, translation=False)
    model.add(RevoluteJoint(model.ground, door, (0, 0, 1), point=(1, 0, 1)), name="upper hinge")
    mbs.project_velocities(model)
    np.testing.assert_allclose(door.velocity, 0.0, atol=1e-15)


def test_bad_input() -> None:
    with pytest.raises(mbs.ModelError, match="project_velocities: model must be a Model, received None"):
        mbs.project_velocities(None)  # type: ignore[arg-type]
    with pytest.raises(mbs.ModelError, match="nothing can move: the model has no node beside the ground"):
        mbs.project_velocities(mbs.Model())
    model = mbs.Model()
    node = model.add_node((1, 0, 0))
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    model.add(RevoluteJoint(model.ground, node, (0, 0, 1), drive=lambda t: 0.1 + t), name="motor")
    with pytest.raises(mbs.ModelError, match="RevoluteJoint 'motor': its drive must be 0 at t = 0"):
        mbs.project_velocities(model)


def test_velocities_of_a_node_can_be_set() -> None:
    """Checked and copied as when the node is made."""
    model = mbs.Model()
    node = model.add_node((0, 0, 0))
    given = np.array([1.0, 2.0, 3.0])
    node.velocity = given
    node.angular_velocity = [0, 0, 1]  # type: ignore[assignment]
    given[0] = 7.0
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    solution = mbs.simulate(model, 1.0, 0.5)
    np.testing.assert_allclose(solution.position(node)[-1], (1, 2, 3), rtol=0, atol=1e-13)
    np.testing.assert_allclose(solution.rotation_vector(node)[-1], (0, 0, 1), rtol=0, atol=1e-13)


@pytest.mark.parametrize("group", GROUPS)
def test_joints_that_drift_are_closed_by_nodes_alone(group: str) -> None:
    """What filters hold stays; the velocities fit the place, as those of the model do."""
    model = mechanism(group)
    model.add(LowPass(model.add(NodeSensor(model.nodes[1], "position", (1, 0, 0))), 0.1))
    system = mbs.System(model)
    place = as_built(system)
    rng = np.random.default_rng(0)
    x, R = system.kinematics.retract(place.x, place.R, 1e-3 * rng.normal(size=(system.n, 6)) * system.free)
    found = projected(system, place._replace(x=x, R=R))
    evaluation = without_accelerations(system, found)
    assert np.abs(evaluation.constraint).max() < 1e-12 < 1e-4 < np.abs(found.x - place.x).max()
    assert np.abs(tangent.velocity_residual(system, evaluation)).max() < 1e-12
    np.testing.assert_array_equal(found.u, place.u)


SIDE, MATERIAL = 0.01, (210e9, 0.3, 7850.0)


def rod(model: mbs.Model, rng: np.random.Generator, kind: str, a: Array, b: Array) -> tuple[mbs.Node, mbs.Node]:
    """A rod between two points, and its nodes at both ends."""
    length, along = np.linalg.norm(b - a), (b - a) / np.linalg.norm(b - a)
    if kind == "rigid":
        node = model.add_node(0.5 * (a + b), so3.exp(rng.normal(size=3)))
        model.add(RigidBody(node, 0.2, (1e-3, 1e-3, 1e-3)))
        return node, node
    if kind == "beam":
        section = BeamSection.rectangle(SIDE, SIDE, *MATERIAL)
        count, order = (int(own) for own in rng.integers(1, (7, 3)))
        beam = Beam.line(model, a, b, section, elements=count, y_axis=(0, 0, 1), order=order)
        return beam.nodes[0], beam.nodes[-1]
    ends = {end: Interface.rigid(lambda p, x=x: np.abs(p[:, 0] - x) < 1e-6) for end, x in (("a", 0.0), ("b", length))}
    matrices = brick((8, 2, 2), (float(length), SIDE, SIDE), MATERIAL[0], MATERIAL[2])
    reduction = Reduction(*matrices, interfaces=ends, modes=int(rng.integers(0, 4)))
    R = np.array([along, np.cross((0, 0, 1), along), (0, 0, 1)]).T
    body = model.add(FlexibleBody.place(model, reduction, a, R, name=f"rod {len(model.elements)}"))
    return body.node("a"), body.node("b")


def four_bar(seed: int, flexible: bool) -> tuple[mbs.Model, list[mbs.Node], list[Array]]:
    """A crank that is given a spin, coupler and rocker that are given nothing; its nodes at the pins, and these."""
    rng = np.random.default_rng(seed)
    angle, crank, pivot = rng.uniform(0.0, 2.0 * np.pi), 0.1, np.array((0.4, 0.0, 0.0))
    pins = [np.zeros(3), crank * np.array((np.cos(angle), np.sin(angle), 0.0))]
    length, across = np.linalg.norm(pivot - pins[1]), np.cross((0, 0, 1), pivot - pins[1])
    pins += [0.5 * (pivot + pins[1]) + (0.35**2 - 0.25 * length**2) ** 0.5 * across / length, pivot]
    kinds = rng.permutation(["beam", "solid", str(rng.choice(["rigid", "beam"]))]) if flexible else ["rigid"] * 3
    model = mbs.Model(GROUPS[seed % 2])
    rods = [rod(model, rng, str(kind), *ends) for kind, ends in zip(kinds, pairwise(pins), strict=True)]
    rods[0][0].angular_velocity = rods[0][0].rotation.T @ (0.0, 0.0, 50.0)
    model.add(RevoluteJoint(model.ground, rods[0][0], (0, 0, 1), point=pins[0]))
    model.add(RevoluteJoint(rods[0][1], rods[1][0], (0, 0, 1), point=pins[1]))
    model.add(SphericalJoint(rods[1][1], rods[2][0], point=pins[2]))
    model.add(RevoluteJoint(model.ground, rods[2][1], (0, 0, 1), point=pins[3]))
    nodes = [own for ends in rods for own in ends]
    return model, nodes, [pins[0], pins[1], pins[1], pins[2], pins[2], pins[3]]


@pytest.mark.parametrize("seed", range(10))
def test_what_was_given_no_velocity_follows_as_a_mechanism_does(seed: int) -> None:
    """One spin of a crank moves rods of beams and of meshes as rigid ones, and the run begins without a blow."""
    found = []
    for flexible in (True, False):
        model, nodes, points = four_bar(seed, flexible)
        mbs.project_velocities(model)
        spins = [node.rotation @ node.angular_velocity for node in nodes]
        pairs = zip(nodes, spins, points, strict=True)
        found.append([[*(node.velocity + np.cross(w, p - node.position)), *w] for node, w, p in pairs])
        np.testing.assert_allclose(spins[0], (0, 0, 50.0), rtol=0, atol=1e-10)
        if flexible and seed < 2:
            solution = mbs.simulate(model, 2e-4, 2e-5)
            # of what would be more than half, were rods at rest
            assert solution.energy.strain.max() < 0.01 * solution.energy.kinetic[0]
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-8)


def test_a_spin_alone_is_kept_and_moves_its_node() -> None:
    """A bar about its end; the velocity that it was not given follows, and both do so again with another spin."""
    model = mbs.Model()
    bar = model.add_node((0.5, 0, 0), angular_velocity=(0, 0, 3))
    model.add(RigidBody(bar, 1.0, (0.1, 0.1, 0.1)))
    model.add(RevoluteJoint(model.ground, bar, (0, 0, 1), point=(0, 0, 0)))
    for spin in (3.0, -5.0):
        bar.angular_velocity = (0, 0, spin)
        mbs.project_velocities(model)
        np.testing.assert_allclose(velocities(model)[1], (0, 0.5 * spin, 0, 0, 0, spin), rtol=0, atol=1e-12)


def test_what_is_given_stays_where_it_deforms(caplog: pytest.LogCaptureFixture) -> None:
    """The tip of a clamped beam keeps its velocity; the rest follows along the line of least work, as under a force."""
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), BeamSection.rectangle(SIDE, SIDE, *MATERIAL), elements=10)
    model.fix(beam.nodes[0])
    beam.nodes[-1].velocity = (0, 0, 0.3)
    with caplog.at_level(logging.WARNING):
        mbs.simulate(model, 1e-4, 1e-4)
        assert "Beam 'Beam 1': it begins with velocities that deform it as a blow does" in caplog.text
        mbs.project_velocities(model)
        caplog.clear()
        mbs.simulate(model, 1e-4, 1e-4)
    assert not caplog.text
    x = np.linspace(0.0, 1.0, 11)
    across = np.array([node.velocity for node in beam.nodes])[:, 2]
    np.testing.assert_allclose(across, 0.15 * x**2 * (3.0 - x), rtol=0, atol=1e-3)
    assert across[-1] == pytest.approx(0.3, abs=1e-12)


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e3])
@pytest.mark.parametrize("spin", [3.0, 1.02])
def test_velocities_that_were_given_and_are_lost_are_named(
    spin: float, unit: float, caplog: pytest.LogCaptureFixture
) -> None:
    """A crank that is given a spin and a speed which is that of another one; by little, nothing is said."""
    model = mbs.Model()
    arm, speed, inertia = 0.5 * unit, 0.5 * unit, 0.1 * unit**2
    crank = model.add_node((arm, 0, 0), velocity=(0, speed, 0), angular_velocity=(0, 0, spin), name="crank")
    model.add(RigidBody(crank, 1.0, (inertia, inertia, inertia)))
    model.add(RevoluteJoint(model.ground, crank, (0, 0, 1), point=(0, 0, 0)))
    with caplog.at_level(logging.WARNING):
        mbs.project_velocities(model)
    told = "do not allow the velocities that were given, and change those of node 'crank' by much" in caplog.text
    assert told == (spin > 2.0)
    assert crank.angular_velocity[2] == pytest.approx((0.1 * spin + 0.25) / 0.35, abs=1e-12)


def test_a_beam_whose_nodes_were_given_no_spin_is_named(caplog: pytest.LogCaptureFixture) -> None:
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), BeamSection.rectangle(SIDE, SIDE, *MATERIAL), elements=4)
    model.add(SphericalJoint(model.ground, beam.nodes[0]))
    for node in beam.nodes:
        node.velocity = np.cross((0, 0, 2.0), node.position)
    with caplog.at_level(logging.WARNING):
        mbs.simulate(model, 1e-4, 1e-4)
        assert "Beam 'Beam 1'" in caplog.text and "was given no velocity or no angular velocity" in caplog.text
        caplog.clear()
        mbs.project_velocities(model)
        mbs.simulate(model, 1e-4, 1e-4)
    assert not caplog.text
    np.testing.assert_allclose(velocities(model)[1:, 5], 2.0, rtol=0, atol=1e-9)


def doors(seed: int) -> tuple[mbs.Model, mbs.Node, Array]:
    """Bodies of very unlike mass in a row, each on two hinges between flanges without mass; the last has a spin."""
    rng = np.random.default_rng(seed)
    model, place = mbs.Model(GROUPS[seed % 2]), np.zeros(3)
    body = model.ground
    for _ in range(1 + seed % 3):
        before, (along, axis) = body, (v / np.linalg.norm(v) for v in rng.normal(size=(2, 3)))
        body = model.add_node(place + 0.5 * along)
        inertia = 10.0 ** rng.uniform(-4, 0) * np.array((0.05, 0.08, 0.1))
        model.add(RigidBody(body, 10.0 ** rng.uniform(-2, 1), inertia))
        for point in (place, place + 0.3 * axis):
            flanges = model.add_node(point), model.add_node(point)
            model.add(FixedJoint(before, flanges[0]))
            model.add(FixedJoint(body, flanges[1]))
            model.add(RevoluteJoint(*flanges, axis=axis, point=point))
        place = place + along
    body.angular_velocity = rng.normal(size=3) * 2
    return model, body, axis


@pytest.mark.parametrize("seed", range(12))
def test_hinges_that_repeat_each_other_hold_whatever_is_between(seed: int) -> None:
    """Flanges without mass, and bodies a million times as light: a run starts, and one hinge turns about its axis."""
    model, body, axis = doors(seed)
    mbs.project_velocities(model)
    spin = body.angular_velocity
    if seed % 3 == 0:  # one body, whose hinge begins at the origin
        np.testing.assert_allclose(np.cross(spin, axis), 0.0, rtol=0, atol=1e-9 * np.linalg.norm(spin))
        np.testing.assert_allclose(body.velocity, np.cross(spin, body.position), rtol=0, atol=1e-9)
    solution = mbs.simulate(model, 0.002, 0.001)
    assert solution.stats.failed_steps == 0 and solution.constraint_residual.velocity.max() < 1e-8
