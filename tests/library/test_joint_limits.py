"""What joints are known for, where they end, and what is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from chains import rotation

import fem_mbs as mbs
from fem_mbs.contracts import Constraint, Node, UnilateralBatch
from fem_mbs.elements import (
    Beam,
    BeamSection,
    ConstantVelocityJoint,
    CylindricalJoint,
    DistanceJoint,
    GeneralJoint,
    JointDrive,
    JointStop,
    Moment,
    OrientationJoint,
    ParallelAxesJoint,
    PlanarJoint,
    PointMass,
    PointOnLineJoint,
    PointOnPlaneJoint,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    RollingDisc,
    ScrewJoint,
    SphericalJoint,
    UniversalJoint,
)
from fem_mbs.lie import so3

GROUPS = ("R3xSO3", "SE3")
X, Y, Z = np.eye(3)
BETA = 0.6
SHAFT = np.array([np.cos(BETA), np.sin(BETA), 0.0])
"""Of the driven side, at the angle ``BETA`` to the driving one, along x."""


def shafts(
    group: str, joint: Callable[[Node, Node], Constraint], speeds: tuple[float, float], turn: float = 2.0
) -> tuple[mbs.Model, list[Constraint]]:
    """Two shafts at an angle: a in a bearing, driven at a constant speed; b hangs on the joint and keeps its direction.

    Returns the joints that measure how far a and b have turned.
    """
    model = mbs.Model(group)
    for name, axis, speed, end in (("a", X, speeds[0], -X), ("b", SHAFT, speeds[1], SHAFT)):
        R = rotation(np.array([0.3, -0.5, 0.2]))
        node = model.add_node(end, R, angular_velocity=speed * R.T @ axis, name=name)
        model.add(RigidBody(node, 1.0, (0.02, 0.03, 0.04)))
    a, b = model.nodes[1:]
    bearing = model.add(RevoluteJoint(model.ground, a, X, drive=lambda t: speeds[0] * t), name="bearing")
    model.add(joint(a, b), name="joint")
    return model, [bearing, model.add(ParallelAxesJoint(model.ground, b, SHAFT))]


@pytest.mark.parametrize("group", GROUPS)
def test_a_cardan_joint_turns_at_the_ratio_of_the_books(group: str) -> None:
    """``omega_b/omega_a = cos(beta)/(1 - sin(beta)^2 cos(phi)^2)``; the fork of a starts across the shafts' plane."""
    omega = 5.0
    model, joints = shafts(
        group,
        lambda a, b: UniversalJoint(a, b, Z, np.cross(Z, SHAFT), np.zeros(3)),
        (omega, omega * np.cos(BETA)),
    )
    solution = mbs.simulate(model, 2.0, 0.02)
    phi = omega * solution.t
    angle, rate = solution.coordinate(joints[1])[:, 3], solution.coordinate_rate(joints[1])[:, 3]
    np.testing.assert_allclose(np.sin(angle) * np.cos(phi), np.cos(BETA) * np.sin(phi) * np.cos(angle), atol=1e-10)
    assert abs(angle[-1] - phi[-1]) < 0.3
    expected = omega * np.cos(BETA) / (1.0 - np.sin(BETA) ** 2 * np.cos(phi + 0.5 * np.pi) ** 2)
    np.testing.assert_allclose(rate, expected, rtol=1e-9)


@pytest.mark.parametrize("group", GROUPS)
def test_a_constant_velocity_joint_keeps_speeds_equal(group: str) -> None:
    model, joints = shafts(group, lambda a, b: ConstantVelocityJoint(a, b, X, SHAFT, np.zeros(3)), (5.0, 5.0))
    solution = mbs.simulate(model, 2.0, 0.02)
    for query in (solution.coordinate, solution.coordinate_rate):
        np.testing.assert_allclose(query(joints[1])[:, 3], query(joints[0]), rtol=0, atol=1e-10)
    bent = solution.coordinate(model.constraints[1]) + [BETA, 0.0]
    np.testing.assert_allclose(np.linalg.norm(bent, axis=1), BETA, atol=1e-10)
    # the angle's axis stays across the shafts' plane, and turns back against the shaft
    np.testing.assert_allclose(bent @ [1.0, 1j], BETA * np.exp(-5j * solution.t), atol=1e-9)


@pytest.mark.parametrize("group", GROUPS)
def test_a_constant_velocity_joint_bears_its_moment_along_the_bisector(group: str) -> None:
    """A torque on shaft b comes through; what the joint puts on b is along the bisector of the shafts."""
    model, joints = shafts(group, lambda a, b: ConstantVelocityJoint(a, b, X, SHAFT, np.zeros(3)), (0.0, 0.0))
    model.add(Moment(model.nodes[2], 3.0 * SHAFT))
    solution = mbs.simulate(model, 0.1, 0.02)
    force, moment = solution.reaction(model.constraints[1])
    bisector = (X + SHAFT) / np.linalg.norm(X + SHAFT)
    np.testing.assert_allclose(moment, np.outer(moment @ bisector, bisector), atol=1e-9)
    np.testing.assert_allclose(moment @ SHAFT, -3.0, atol=1e-9)
    np.testing.assert_allclose(force, 0.0, atol=1e-9)


@pytest.mark.ci
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("lead", [0.05, -0.4])
def test_a_nut_falls_down_its_screw(group: str, lead: float) -> None:
    """``z'' = -g m/(m + J/p^2)`` with ``p`` the lead per radian, over many turns."""
    model = mbs.Model(group, (0, 0, -9.81))
    R = rotation(np.array([0.4, 0.2, 0.1]))
    nut = model.add_node((0, 0, 0), R)
    model.add(RigidBody(nut, 2.0, (0.03, 0.03, 0.03), R.T @ [0.2, 0, 0]))
    screw = model.add(ScrewJoint(model.ground, nut, Z, lead))
    solution = mbs.simulate(model, 4.0, 0.02)
    p, J = lead / (2.0 * np.pi), 0.03 + 2.0 * 0.2**2
    expected = -0.5 * 9.81 * 2.0 / (2.0 + J / p**2) * solution.t**2
    angle, place = solution.angle(screw), solution.position(nut)
    np.testing.assert_allclose(place[:, 2], expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(angle, expected / p, rtol=1e-9, atol=1e-9)
    assert abs(angle[-1]) > 3 * np.pi
    # along the axis the joint bears what the fall leaves of the weight, and turns the nut by p times that
    force, moment = solution.reaction(screw)
    np.testing.assert_allclose(force[:, 2], 2.0 * (9.81 + 2.0 * expected[-1] / 16.0), rtol=1e-6)
    np.testing.assert_allclose(moment[:, 2], -p * force[:, 2], rtol=1e-6)


def test_the_angle_of_a_screw_is_its_travel() -> None:
    """Of a nut anywhere on it, over all turns, with the last bits of half a turn."""
    model = mbs.Model()
    nut = model.add_node((0, 0, 0))
    screw = model.add(ScrewJoint(model.ground, nut, Z, 0.1))
    batch = screw.coordinate_batch([screw], screw.coordinates[0].name, mbs.System(model).number)
    for angle in [*np.linspace(-20.0, 20.0, 101), np.pi, -3.0 * np.pi]:
        x, R = np.zeros((1, 2, 3)), np.tile(np.eye(3), (1, 2, 1, 1))
        x[0, 1, 2], R[0, 1] = 0.1 * angle / (2.0 * np.pi), rotation(angle * Z)
        assert batch.measure(x, R, np.zeros((1, 0)))[0] == pytest.approx(angle, abs=1e-12)


def test_a_screw_whose_angle_is_far_from_its_travel_is_named() -> None:
    model = mbs.Model()
    nut = model.add_node((0, 0, 0))
    model.add(RigidBody(nut, 1.0, (1, 1, 1)))
    model.add(ScrewJoint(model.ground, nut, Z, 0.1, point_b=(0, 0, 0.03)), name="spindle")
    with pytest.raises(mbs.FemMbsError, match="ScrewJoint 'spindle': its angle and its travel"):
        mbs.simulate(model, 1.0, 0.1)


@pytest.mark.parametrize("group", GROUPS)
def test_a_screw_counts_several_turns_in_a_step(group: str) -> None:
    """Travel and angle stay together however far a step goes."""
    model = mbs.Model(group)
    nut = model.add_node((0, 0, 0), velocity=(0, 0, 9.0), angular_velocity=(0, 0, 90.0 * 2.0 * np.pi))
    model.add(RigidBody(nut, 1.0, (1, 1, 1)))
    screw = model.add(ScrewJoint(model.ground, nut, Z, 0.1))
    solution = mbs.simulate(model, 1.0, 0.03)
    np.testing.assert_allclose(solution.angle(screw), 90.0 * 2.0 * np.pi * solution.t, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("group", GROUPS)
def test_a_screw_driven_over_many_turns(group: str) -> None:
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    nut = model.add_node((0, 0, 0))
    model.add(RigidBody(nut, 1.0, (1, 1, 1)))
    screw = model.add(ScrewJoint(model.ground, nut, Z, 0.1))
    drive = model.add(JointDrive(screw, lambda t: 60.0 * t**2))
    solution = mbs.simulate(model, 1.0, 0.02)
    np.testing.assert_allclose(solution.position(nut)[:, 2], 0.1 / (2 * np.pi) * 60.0 * solution.t**2, atol=1e-9)
    p = 0.1 / (2 * np.pi)
    torque = np.abs(solution.multipliers(drive)).reshape(-1)
    np.testing.assert_allclose(torque[10:], 120.0 * (1.0 + p**2) + p * 9.81, rtol=1e-8)


@pytest.mark.parametrize("group", GROUPS)
def test_shafts_that_fold_back_end_at_a_limit_that_is_named(group: str) -> None:
    model = mbs.Model(group)
    b = model.add_node((1, 0, 0), angular_velocity=(0, 0, 4.0), velocity=(0, 4.0, 0))
    model.add(RigidBody(b, 1.0, (0.1, 0.1, 0.1)))
    model.add(ConstantVelocityJoint(model.ground, b, X, X, (0, 0, 0)), name="drive shaft")
    with pytest.raises(
        mbs.FemMbsError, match="ConstantVelocityJoint 'drive shaft': its shafts are folded back"
    ) as failed:
        mbs.simulate(model, 1.0, 0.01)
    assert 0.7 < failed.value.solution.t[-1] < np.pi / 4.0


@pytest.mark.parametrize("group", GROUPS)
def test_a_rotation_vector_ends_at_half_a_turn_and_says_so(group: str) -> None:
    model = mbs.Model(group)
    top = model.add_node((0, 0, 0), angular_velocity=(3.0, 4.0, 0))
    model.add(RigidBody(top, 1.0, (1, 1, 1)))
    ball = model.add(SphericalJoint(model.ground, top), name="ball")
    before = mbs.simulate(model, 0.6, 0.05)
    np.testing.assert_allclose(before.coordinate(ball), np.outer(before.t, (3.0, 4.0, 0)), atol=1e-9)
    beyond = mbs.simulate(model, 1.0, 0.05)
    with pytest.raises(mbs.MotionError, match="SphericalJoint 'ball': at t = 0.65 s .* more than half a turn"):
        beyond.coordinate(ball)
    np.testing.assert_allclose(beyond.coordinate_rate(ball)[-1], (3.0, 4.0, 0), atol=1e-9)


def test_a_rod_that_is_driven_to_no_length_is_named() -> None:
    model = mbs.Model()
    bob = model.add_node((0, 0, -1), velocity=(0, 0, 2.0))
    model.add(RigidBody(bob, 1.0, (1, 1, 1)))
    model.add(DistanceJoint(model.ground, bob, drive=lambda t: -2.0 * t), name="winch")
    with pytest.raises(mbs.FemMbsError, match="DistanceJoint 'winch': its drive, -1"):
        mbs.simulate(model, 1.0, 0.1)


@pytest.mark.parametrize("group", GROUPS)
def test_the_multiplier_of_a_rod_is_its_pull(group: str) -> None:
    model = mbs.Model(group, (0, 0, -9.81))
    bob = model.add_node((0, 0, -2.0))
    model.add(RigidBody(bob, 3.0, (1, 1, 1)))
    rod = model.add(DistanceJoint(model.ground, bob))
    solution = mbs.simulate(model, 0.2, 0.1)
    np.testing.assert_allclose(solution.multipliers(rod), 3.0 * 9.81, rtol=1e-9)
    np.testing.assert_allclose(solution.reaction(rod)[0], np.tile([0, 0, 3.0 * 9.81], (3, 1)), atol=1e-8)


FAR = {
    "rod": lambda a, b, c: DistanceJoint(a, b, c),
    "screw": lambda a, b, c: ScrewJoint(a, b, Z, 0.3, c),
    "constant velocity": lambda a, b, c: ConstantVelocityJoint(a, b, X, X + Y, c),
    "disc": lambda a, b, c: RollingDisc(a, b, Z, Y, 0.4, center=c + (0.1, 0.2, 0.9)),
}


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("name", FAR)
def test_joints_on_the_ground_are_the_same_far_from_the_origin(name: str, group: str) -> None:
    """Up to the rounding of positions; not even that is in the constraints."""
    found = []
    for far in (0.0, 1e6):
        c = far * np.array([1.0, -0.3, 0.2])
        model = mbs.Model(group, gravity=(0, 0, -9.81))
        body = model.add_node(c + (0.3, 0.1, 0.2), angular_velocity=(0.5, 0.2, 0.7))
        model.add(RigidBody(body, 1.0, (0.1, 0.2, 0.3)))
        model.add(FAR[name](model.ground, body, c))
        mbs.project_velocities(model)
        solution = mbs.simulate(model, 0.3, 0.02)
        found.append(solution.position(body) - c)
        assert solution.constraint_residual.position.max() < 1e-12
    np.testing.assert_allclose(*found, rtol=0, atol=1e-8)


BETWEEN_BEAMS = {
    "prismatic": lambda a, b, p: PrismaticJoint(a, b, X + Z, p),
    "cylindrical": lambda a, b, p: CylindricalJoint(a, b, X + Z, p),
    "planar": lambda a, b, p: PlanarJoint(a, b, Z, p),
    "universal": lambda a, b, p: UniversalJoint(a, b, Y, Z, p),
    "constant velocity": lambda a, b, p: ConstantVelocityJoint(a, b, X, X + 0.3 * Y, p),
    "point on a line": lambda a, b, p: PointOnLineJoint(a, b, X, p),
    "point on a plane": lambda a, b, p: PointOnPlaneJoint(a, b, Z, p),
    "parallel axes": lambda a, b, p: ParallelAxesJoint(a, b, Y),
    "orientation": lambda a, b, p: OrientationJoint(a, b),
    "distance": lambda a, b, p: DistanceJoint(a, b, p - 0.2 * X, p + 0.1 * X),
    "screw": lambda a, b, p: ScrewJoint(a, b, X + Z, 0.5, p),
    "slot": lambda a, b, p: GeneralJoint(a, b, (True, True, False), (False, True, False), point=p),
}


@pytest.mark.parametrize("k", range(len(BETWEEN_BEAMS)))
def test_joints_between_beams_keep_energy(k: int) -> None:
    """Two beams that fall, the first from a hinge: what is lost falls with the square of the step."""
    section = BeamSection.rectangle(width=0.02, height=0.02, E=2e9, nu=0.3, rho=1200)
    drifts = []
    for step in (8e-3, 4e-3):
        model = mbs.Model(GROUPS[k % 2], gravity=(0, 0, -9.81))
        first = Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements=1)
        second = Beam.line(model, (1, 0, 0.05), (2, 0, 0.05), section, elements=1)
        model.add(RevoluteJoint(model.ground, first.nodes[0], Y))
        make = list(BETWEEN_BEAMS.values())[k]
        joint = model.add(make(first.nodes[-1], second.nodes[0], np.array([1.0, 0.02, 0.03])))
        solution = mbs.simulate(model, 0.12, step)
        energy = solution.energy
        drifts.append(np.abs(energy.total - energy.total[0]).max() / energy.kinetic.max())
        assert solution.constraint_residual.position.max() < 1e-12
        assert np.isfinite(np.concatenate(solution.reaction(joint))).all()
    assert drifts[0] < 2e-3 and drifts[1] < 0.4 * drifts[0], drifts


@pytest.mark.parametrize("group", GROUPS)
def test_point_masses_need_no_rotation(group: str) -> None:
    """A double pendulum of rods keeps its energy; a bead on an inclined line falls by ``g sin cos t^2/2``."""
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    for k in (1, 2):
        model.add(PointMass(model.add_node((k, 0, 0)), 1.0))
        model.add(DistanceJoint(*model.nodes[k - 1 : k + 1]))
    energy = mbs.simulate(model, 0.5, 0.01).energy
    assert np.ptp(energy.total) < 1e-2 * energy.kinetic.max()
    sloping = np.array([[1, 0, 1], [0, np.sqrt(2), 0], [-1, 0, 1]]) / np.sqrt(2)
    for joint in (
        lambda a, b: PointOnLineJoint(a, b, (1, 0, -1)),
        lambda a, b: GeneralJoint(a, b, (False, True, True), rotation=False, axes=sloping),
    ):
        model = mbs.Model(group, gravity=(0, 0, -9.81))
        bead = model.add_node((1, 0, 0))
        model.add(PointMass(bead, 1.0))
        model.add(joint(model.ground, bead))
        solution = mbs.simulate(model, 0.5, 0.01)
        np.testing.assert_allclose(solution.position(bead)[:, 0], 1.0 + 0.25 * 9.81 * solution.t**2, rtol=1e-9)


def pair() -> tuple[mbs.Model, Node, Node]:
    model = mbs.Model()
    return model, model.add_node((0, 0, 0), name="frame"), model.add_node((1, 0, 0), name="door")


NAMED = "on node 'frame', node 'door'"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda a, b: UniversalJoint(a, b, X, X + Y),
            rf"UniversalJoint {NAMED}: axis_a and axis_b must be "
            r"perpendicular, they are at 45 degrees",
        ),
        (
            lambda a, b: ConstantVelocityJoint(a, b, X, -X + Y),
            rf"ConstantVelocityJoint {NAMED}: axis_b is more than a "
            r"quarter turn from axis_a, 135 degrees; give the opposite direction",
        ),
        (
            lambda a, b: PrismaticJoint(a, b, X, axis_b=-X),
            rf"PrismaticJoint {NAMED}: axis_b is .* from axis, 180 deg",
        ),
        (lambda a, b: PlanarJoint(a, b, X, x_axis=X + 2 * Y), rf"PlanarJoint {NAMED}: normal and x_axis .* 63.4349"),
        (lambda a, b: PlanarJoint(a, b, X, normal_b=-X + Y), rf"PlanarJoint {NAMED}: normal_b is more than .* normal"),
        (lambda a, b: PointOnPlaneJoint(a, b, Z, x_axis=Z), "they are at 0 degrees"),
        (lambda a, b: DistanceJoint(a, b, (1, 0, 0)), rf"DistanceJoint {NAMED}: its two points are at the same place"),
        (lambda a, b: DistanceJoint(a, a), "DistanceJoint: connects node 'frame' with itself"),
        (lambda a, b: ScrewJoint(a, b, X, 0.0), rf"ScrewJoint {NAMED}: lead must be .* received 0; a RevoluteJoint"),
        (lambda a, b: GeneralJoint(a, b, [False] * 3, [False] * 3), rf"GeneralJoint {NAMED}: closes nothing"),
        (lambda a, b: GeneralJoint(a, b, (True, False)), "translation must be True or False, or three.*received"),
        (lambda a, b: GeneralJoint(a, b, rotation=(1, 0, 0)), "rotation must be True or False, received 1"),
        (lambda a, b: PrismaticJoint(a, b, Z, drive=3.0), "drive must be a function of time, received 3.0"),
        (
            lambda a, b: CylindricalJoint(a, b, Z, drive=np.sin),
            r"with one, and this one has 'translation z', 'rotation z'; model.add\(JointDrive\(joint, law, coordinate=",
        ),
        (lambda a, b: GeneralJoint(a, b, drive=np.sin), "with one, and this one has none"),
        (lambda a, b: PointOnLineJoint(a, b, (0, 0, 0)), f"PointOnLineJoint {NAMED}: axis must have a length"),
    ],
)
def test_bad_joints_are_refused_by_name(make: Callable[[Node, Node], Constraint], message: str) -> None:
    _, a, b = pair()
    with pytest.raises(mbs.ModelError, match=message):
        make(a, b)


OPEN = {
    "prismatic": lambda a, b: PrismaticJoint(a, b, X, (1, 0, 0), point_b=(1, 0.1, 0), axis_b=X + 0.1 * Z),
    "cylindrical": lambda a, b: CylindricalJoint(a, b, X, (1, 0, 0), point_b=(1, 0.1, 0), axis_b=X + 0.1 * Z),
    "planar": lambda a, b: PlanarJoint(a, b, Z, (1, 0, 0), point_b=(1, 0, 0.1), normal_b=Z + 0.1 * X),
    "universal": lambda a, b: UniversalJoint(a, b, X, Y, (1, 0, 0), point_b=(1.1, 0, 0.1)),
    "constant velocity": lambda a, b: ConstantVelocityJoint(a, b, X, X, (1, 0, 0), point_b=(1.1, 0, 0.1)),
    "point on a line": lambda a, b: PointOnLineJoint(a, b, X, (1, 0, 0), point_b=(1, 0.1, 0)),
    "point on a plane": lambda a, b: PointOnPlaneJoint(a, b, Z, (1, 0, 0), point_b=(1, 0, 0.1)),
    "parallel axes": lambda a, b: ParallelAxesJoint(a, b, Z, axis_b=Z + 0.1 * X),
    "orientation": lambda a, b: OrientationJoint(a, b, axes_b=rotation(0.1 * Y)),
    "screw": lambda a, b: ScrewJoint(a, b, X, 0.1, (1, 0, 0), point_b=(1, 0.1, 0), axis_b=X + 0.1 * Z),
    "general": lambda a, b: GeneralJoint(a, b, point=(1, 0, 0), point_b=(1, 0.1, 0), axes_b=rotation(0.1 * Y)),
    "distance, driven": lambda a, b: DistanceJoint(a, b, drive=lambda t: 0.1 + t),
    "prismatic, driven": lambda a, b: PrismaticJoint(a, b, X, drive=lambda t: 0.1 + t),
}


@pytest.mark.parametrize("name", OPEN)
def test_frames_that_do_not_meet_are_refused_by_numbers_and_assembled(name: str) -> None:
    model, a, b = pair()
    model.fix(a)
    model.add(RigidBody(b, 1.0, (1, 1, 1)))
    joint = model.add(OPEN[name](a, b), name="latch")
    with pytest.raises(mbs.ModelError, match="'latch'.*0.[01]"):
        mbs.simulate(model, 0.1, 0.05)
    made = model.assemble()
    assert 0.03 < made.distance.max() + made.angle.max() < 0.3 and made.gap < 1e-10
    assert mbs.simulate(model, 0.1, 0.05).success
    assert joint.name == "latch"


@pytest.mark.parametrize(
    ("make", "coordinate"),
    [
        (lambda a, b: PrismaticJoint(a, b, (1, 0, 0)), "translation z"),
        (lambda a, b: RevoluteJoint(a, b, (1, 0, 0)), "rotation z"),
        (lambda a, b: CylindricalJoint(a, b, (1, 0, 0)), "translation z"),
        (lambda a, b: UniversalJoint(a, b, (1, 0, 0), (0, 1, 0)), "rotation y"),
    ],
)
def test_rigid_stops_come_no_nearer_than_ways_of_their_nodes_allow(make: Any, coordinate: str) -> None:
    """Wherever the two nodes are moved and turned, as far as that counts; those of a hinge turn about its axis."""
    model = mbs.Model()
    nodes = [model.add_node(place) for place in ((0, 0, 0), (0.6, 0.3, -0.2))]
    for node in nodes:
        model.add(RigidBody(node, 1.0, (1, 1, 1)))
    model.add(JointStop(model.add(make(*nodes)), -1.0, 1.0, restitution=0.5, coordinate=coordinate))
    system, rng = mbs.System(model), np.random.default_rng(0)
    (batch,) = (own for own in system.batches if isinstance(own, UnilateralBatch))
    motion, used = system.at_rest(), []
    for _ in range(200):
        d = rng.normal(size=(3, 6)) * [[0.0], [1.0], [1.0]]
        d[:, 4:] *= "rotation z" != coordinate
        ways, turns = np.linalg.norm(d.reshape(3, 2, 3), axis=-1).T
        share = rng.uniform() * min(batch.within, 3.0) / max(ways.max() / system.length, turns.max())
        moved = replace(motion, x=motion.x + share * d[:, :3], R=motion.R @ so3.exp(share * d[:, 3:]))
        (most,) = batch.closing(motion, share * ways, share * turns).sum(axis=0)
        used.append(np.abs(batch.gaps(moved) - batch.gaps(motion)).max() / most)
    assert 0.3 < max(used) <= 1.0 + 1e-12
