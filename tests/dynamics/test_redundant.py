"""Joints that repeat each other: the same motion as without, exact sums of reactions, least norm, contradictions named.

References: the same mechanism with joints that close less, minimal coordinates, and the multipliers of least norm as
the pseudo-inverse of the dense gradient has them.
"""

from __future__ import annotations

import itertools
import logging

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import (
    Beam,
    BeamSection,
    FixedJoint,
    Force,
    JointActuator,
    JointFriction,
    JointSpring,
    MultiplierSensor,
    PointOnPlaneJoint,
    RevoluteJoint,
    RigidBody,
    RollingDisc,
    SphericalJoint,
)
from fem_mbs.elements.joints.relative import RelativeJoint
from fem_mbs.linear import null_space
from fem_mbs.linear.null_space import WORK
from fem_mbs.system import matrices as tangent
from fem_mbs.system.system import projection

Z = np.array([0.0, 0.0, 1.0])
GROUPS = ("R3xSO3", "SE3")
EXACT = mbs.Newton(constraint_tolerance=1e-14)


class Cardan(RelativeJoint):
    """Closes all translations and one rotation."""

    closes = ("translation x", "translation y", "translation z", "rotation x")


class Guide(RelativeJoint):
    """Leaves one translation free."""

    closes = ("translation y", "translation z", "rotation x", "rotation y", "rotation z")


def four_bar(group: str, corners: Array, relieved: bool = False, tilt: float = 0.0) -> tuple[mbs.Model, list]:
    """Three rigid bars in the plane z = 0 with four hinges along z; the last two may close less."""
    model = mbs.Model(group, gravity=(0, -9.81, 0))
    nodes = [model.ground]
    for k, (start, end) in enumerate(itertools.pairwise(np.pad(corners, ((0, 0), (0, 1))))):
        length = np.linalg.norm(end - start)
        x = (end - start) / length
        nodes.append(model.add_node(0.5 * (start + end), np.stack([x, np.cross(Z, x), Z], -1), name=f"bar {k}"))
        model.add(RigidBody(nodes[-1], length, length**3 / 12 * np.array([0.1, 1, 1])))
    joints = []
    for k, (a, b) in enumerate(itertools.pairwise([*nodes, model.ground])):
        point = np.append(corners[k], 0.0)
        if relieved and k > 1:
            joints.append(SphericalJoint(a, b, point) if k == 2 else Cardan(a, b, point, np.eye(3)))
        else:
            joints.append(RevoluteJoint(a, b, (np.sin(tilt), 0, np.cos(tilt)) if k == 2 else Z, point))
        model.add(joints[-1], name="ABCD"[k])
    return model, [nodes, joints]


CRANK_ROCKER = np.array([[0, 0], [0.1, 0.6], [1.6, 1.1], [1.5, 0.0]])


@pytest.mark.parametrize("group", GROUPS)
def test_planar_four_bar_moves_as_with_joints_that_close_less(group: str) -> None:
    runs = []
    for relieved in (False, True):
        model, (nodes, joints) = four_bar(group, CRANK_ROCKER, relieved)
        runs.append((mbs.simulate(model, 0.5, 0.01, mbs.GeneralizedAlpha(newton=EXACT)), nodes, joints))
    (solution, nodes, joints), (other, others, relieved_joints) = runs
    assert solution.redundant == tuple(joints) and other.redundant == ()
    for node, twin in zip(nodes, others, strict=True):
        np.testing.assert_allclose(solution.position(node), other.position(twin), rtol=0, atol=1e-11)
    for joint, twin in zip(joints, relieved_joints, strict=True):
        # forces in the plane are unique, those across and the moments are not: least means none
        force, moment = solution.reaction(joint)
        np.testing.assert_allclose(force, other.reaction(twin)[0], rtol=0, atol=1e-6 * np.abs(force).max())
        np.testing.assert_allclose(np.column_stack([force[:, 2], moment]), 0.0, atol=1e-9 * np.abs(force).max())


@pytest.mark.one
@pytest.mark.parametrize("rho_inf", [0.0, 0.9, 1.0])
def test_parallelogram_swings_as_its_minimal_coordinate_says(rho_inf: float) -> None:
    """Rods of 1 m and 1 kg swing as a pendulum: the coupler translates (IFToMM library, problem A02 with one loop)."""
    h, start = 0.005, 0.3
    corners = np.array([[0, 0], [np.sin(start), -np.cos(start)], [1 + np.sin(start), -np.cos(start)], [1, 0]])
    model, (nodes, _) = four_bar("SE3", corners)
    solution = mbs.simulate(model, 1.0, h, mbs.GeneralizedAlpha(rho_inf))
    # T = (2 1/3 + 1)/2 w^2, V = -(2 1/2 + 1) 9.81 cos(angle)
    exact = solve_ivp(
        lambda t, y: (y[1], -2.0 * 9.81 / (5 / 3) * np.sin(y[0])), (0, 1), (start, 0), rtol=1e-11, atol=1e-12
    ).y[0, -1]
    reached = 2.0 * solution.position(nodes[1])[-1]
    np.testing.assert_allclose(reached, (np.sin(exact), -np.cos(exact), 0), rtol=0, atol=3 * h**2)


@pytest.mark.slow
@pytest.mark.parametrize(("h", "t_end"), [(0.01, 2.0), pytest.param(0.002, 10.0, marks=pytest.mark.slow)])
def test_parallelograms_go_on_through_positions_where_they_are_folded_flat(h: float, t_end: float) -> None:
    """IFToMM library, problem A02: two loops of rods of 1 m and 1 kg; reference in minimal coordinates."""
    model = mbs.Model("SE3", gravity=(0, -9.81, 0))
    turned = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]])
    inertia = (1e-3, 1 / 12, 1 / 12)
    cranks = [model.add_node((k, 0.5, 0), turned, (0.5, 0, 0), (0, 0, -1)) for k in range(3)]
    couplers = [model.add_node((k + 0.5, 1, 0), velocity=(1, 0, 0)) for k in range(2)]
    for node in (*cranks, *couplers):
        model.add(RigidBody(node, 1.0, inertia))
    for k, crank in enumerate(cranks):
        model.add(RevoluteJoint(model.ground, crank, Z, (k, 0, 0)))
    for k, coupler in enumerate(couplers):
        model.add(RevoluteJoint(cranks[k], coupler, Z, (k, 1, 0)))
        model.add(RevoluteJoint(coupler, cranks[k + 1], Z, (k + 1, 1, 0)))
    solution = mbs.simulate(model, t_end, h, times=[0.5, 1, 2] if t_end == 2 else [0.5, 1, 2, 5, 10])
    exact = [(0.69528663, 0.71873256), (-0.19502030, -0.98079921), (0.05781580, 0.99832727)]
    exact += [(-0.81131046, -0.58461555), (0.32845811, 0.94451854)]
    tip = 2.0 * solution.position(cranks[0])[:, :2]
    np.testing.assert_allclose(tip, exact[: len(tip)], rtol=0, atol=100 * h**2)
    for coupler in couplers:  # it never changed to the other branch, on which couplers turn
        np.testing.assert_allclose(solution.rotation(coupler), [np.eye(3)] * len(tip), rtol=0, atol=1e-6)


def bricard() -> tuple[mbs.Model, list]:
    """Five rods of 1 m and 1 kg, side 0.1 m, and the ground (IFToMM library, problem A04)."""
    model = mbs.Model("SE3", gravity=(0, -9.81, 0))
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1.0]])
    axes = np.eye(3)[[1, 2, 0, 1, 2, 0]]
    nodes = [model.ground]
    for start, end in itertools.pairwise(corners):
        x = end - start
        y = np.roll(x, 1)
        nodes.append(model.add_node(0.5 * (start + end), np.stack([x, y, np.cross(x, y)], -1)))
        model.add(RigidBody(nodes[-1], 1.0, (0.01 / 6, 1.01 / 12, 1.01 / 12)))
    joints = [
        RevoluteJoint(a, b, axis, point)
        for (a, b), axis, point in zip(itertools.pairwise([*nodes, model.ground]), axes, corners, strict=True)
    ]
    for joint in joints:
        model.add(joint)
    return model, nodes


BRICARD = {
    0.5: (0.774718, -0.979815, -0.199906),
    1.0: (0.274481, -0.886708, -0.462330),
    1.5: (-0.279018, -0.887361, -0.461075),
    2.5: (-0.999983, -1.0, -1.7e-5),
    5.0: (0.999933, -1.0, -6.7e-5),
}
"""Point P2 by t: minimal coordinates with the same inertia, six digits."""


@pytest.mark.parametrize(("h", "t_end"), [(0.01, 1.0), pytest.param(0.0025, 5.0, marks=pytest.mark.slow)])
def test_bricard_linkage(h: float, t_end: float) -> None:
    model, nodes = bricard()
    solution = mbs.simulate(model, t_end, h, mbs.GeneralizedAlpha(1.0))
    assert solution.system.redundant is not None and solution.system.redundant.surplus == 1
    point = solution.position(nodes[2]) + np.matvec(solution.rotation(nodes[2]), (0.5, 0, 0))
    for t, expected in BRICARD.items():
        if t <= t_end:
            np.testing.assert_allclose(point[round(t / h)], expected, rtol=0, atol=50 * h**2 * t + 1e-6)
    assert np.ptp(solution.energy.total) < 50.0 * h**2 * 9.81


def door(hinges: int, group: str, spin: float = 3.0) -> tuple[mbs.Model, mbs.Node, list]:
    """A door of 20 kg on a slanted axis, pushed by forces that change."""
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    axis = np.array([0.1, 0.2, 1.0]) / np.linalg.norm([0.1, 0.2, 1.0])
    side = np.cross(axis, (0, 1, 0.3))
    center = axis + 0.5 * side / np.linalg.norm(side)
    leaf = model.add_node(center, velocity=spin * np.cross(axis, center), angular_velocity=spin * axis, name="leaf")
    model.add(RigidBody(leaf, 20.0, (2.0, 2.5, 0.8)))
    model.add(Force(leaf, lambda t: (30 * np.sin(3 * t), 20 * np.cos(5 * t), 10 * t)))
    joints = [RevoluteJoint(model.ground, leaf, axis, z * axis) for z in np.linspace(0.2, 1.8, hinges)]
    for k, joint in enumerate(joints):
        model.add(joint, name=f"hinge {k}")
    return model, leaf, joints


def total(solution: mbs.Solution, leaf: mbs.Node, joints: list) -> Array:
    """Sum of the forces and of their moments about the origin, ``(nt, 6)``."""
    result = np.zeros((len(solution.t), 6))
    for joint in joints:
        force, moment = solution.reaction(joint)
        point = solution.position(leaf) + np.matvec(solution.rotation(leaf), joint.offset)
        result += np.concatenate([force, moment + np.cross(point, force)], axis=1)
    return result


METHODS = {
    "rho_inf 0": mbs.GeneralizedAlpha(0.0, newton=EXACT),
    "default": mbs.GeneralizedAlpha(newton=EXACT),
    "index 2": mbs.GeneralizedAlpha(formulation="index2", newton=EXACT),
    "index 2, rho_inf 1": mbs.GeneralizedAlpha(1.0, formulation="index2", newton=EXACT),
    "modified": mbs.GeneralizedAlpha(newton=mbs.Newton(1e-11, 1e-14, 1e-16, modified=True)),
    "line search": mbs.GeneralizedAlpha(newton=mbs.Newton(constraint_tolerance=1e-14, line_search=True)),
    "perturbed start": mbs.GeneralizedAlpha(start="perturbed", newton=EXACT),
    "updated Lagrangian": mbs.UpdatedLagrangian(newton=EXACT),
    "Euler": mbs.LieEuler(newton=EXACT),
    "Euler, overdetermined": mbs.LieEuler("overdetermined", newton=EXACT),
    "Euler, symplectic": mbs.LieEuler("symplectic"),
}


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("name", METHODS)
def test_more_hinges_change_neither_the_motion_nor_the_sum_of_reactions(name: str, group: str) -> None:
    runs = []
    for hinges in (1, 2, 3) if name == "default" else (1, 3):
        model, leaf, joints = door(hinges, group)
        solution = mbs.simulate(model, 0.15, 0.01, METHODS[name])
        runs.append((solution.position(leaf), total(solution, leaf, joints)))
    for position, wrench in runs[1:]:
        np.testing.assert_allclose(position, runs[0][0], rtol=0, atol=1e-9)
        np.testing.assert_allclose(wrench[1:], runs[0][1][1:], rtol=0, atol=1e-6 * np.abs(runs[0][1]).max())


def test_reactions_of_a_standing_door_sum_to_its_weight() -> None:
    still = mbs.Model(gravity=(0, 0, -9.81))
    node = still.add_node((0.5, 0.1, 1.0))
    still.add(RigidBody(node, 20.0, (2.0, 2.5, 0.8)))
    hinges = [RevoluteJoint(still.ground, node, Z, (0, 0, z)) for z in (0.2, 1.0, 1.8)]
    for hinge in hinges:
        still.add(hinge)
    solution = mbs.simulate(still, 0.1, 0.01)
    wrench = total(solution, node, hinges)
    np.testing.assert_allclose(wrench[:, :3], [[0, 0, 196.2]] * 11, rtol=0, atol=1e-9)
    np.testing.assert_allclose(wrench[:, 3:], [np.cross(node.position, (0, 0, 196.2))] * 11, rtol=0, atol=1e-9)
    # equal hinges bear equal shares of the weight
    for hinge in hinges:
        np.testing.assert_allclose(solution.reaction(hinge)[0][:, 2], 65.4, rtol=1e-9)


@pytest.mark.parametrize("group", GROUPS)
def test_multipliers_have_the_least_norm_at_every_state(group: str) -> None:
    """The pseudo-inverse has them, with moments over the extent; it knows nothing of what came before."""
    model, _, _ = door(3, group)
    solution = mbs.simulate(model, 0.5, 0.02)
    system, weight = solution.system, solution.system.constraint_weight
    for k in range(0, len(solution.t), 5):
        motion = solution.motion(k)
        evaluation = system.evaluate(motion, solution.multipliers_all[k], system.prescribe(motion.t))
        B = tangent.gradient_matrix(system, evaluation.gradients).toarray() * weight[:, None]
        scaled = solution.multipliers_all[k] / weight
        least = np.linalg.pinv(B.T, rcond=1e-8) @ (B.T @ scaled)
        np.testing.assert_allclose(scaled, least, rtol=0, atol=1e-8 * np.abs(scaled).max())


def test_several_right_hand_sides_are_solved_as_one_by_one() -> None:
    """Also those that contradict each other, and none."""
    solution = mbs.simulate(door(3, "R3xSO3")[0], 0.02, 0.02)
    system, motion = solution.system, solution.motion(0)
    evaluation = system.evaluate(motion, solution.multipliers_all[0], system.prescribe(motion.t))
    factors = system.solver.factor(tangent.leading_matrix(system, evaluation))
    right = np.random.default_rng(0).normal(size=(system.size, 4))
    right[:, 3] = 0.0
    one_by_one = np.transpose([factors.solve(column) for column in right.T])
    np.testing.assert_allclose(factors.solve(right), one_by_one, rtol=0, atol=1e-11 * np.abs(one_by_one).max())


@pytest.mark.slow
def test_ten_turns_leave_nothing_behind() -> None:
    """A driven wheel on two bearings: after each turn the reactions are those of the turn before."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    wheel = model.add_node((0, 0, 0.3), angular_velocity=(0, 2 * np.pi, 0))
    model.add(RigidBody(wheel, 2.0, (0.1, 0.2, 0.1), center_of_mass=(0.05, 0.02, 0)))
    bearings = [
        RevoluteJoint(model.ground, wheel, (0, 1, 0), (0, y, 0.3), drive=(lambda t: 2 * np.pi * t) if y > 0 else None)
        for y in (-0.2, 0.4)
    ]
    for bearing in bearings:
        model.add(bearing)
    solution = mbs.simulate(model, 10.0, 0.04, mbs.GeneralizedAlpha(newton=EXACT))
    turns = solution.coordinate(bearings[1])[-1] / (2 * np.pi)
    assert turns == pytest.approx(10.0, abs=1e-9)
    force = np.concatenate([solution.reaction(bearing)[0] for bearing in bearings], axis=1)
    np.testing.assert_allclose(force[50:76], force[225:251], rtol=0, atol=1e-6 * np.abs(force).max())


@pytest.mark.parametrize("group", GROUPS)
def test_doubled_joints_of_a_beam_in_motion_at_rest_and_swinging(group: str) -> None:
    results = []
    for count in (1, 2):
        model = mbs.Model(group, gravity=(0, 0, -9.81))
        section = BeamSection.circle(0.02, 2e9, 0.3, 1e3)
        beam = Beam.line(model, (0, 0, 0), (2, 0, 0), section, 3)
        tip = model.add_node((2, 0, 0))
        model.add(RigidBody(tip, 0.3, (0.01, 0.01, 0.01)))
        joints = [FixedJoint(model.ground, beam.nodes[0], (0, 0, 0.1 * k)) for k in range(count)]
        joints += [FixedJoint(beam.nodes[-1], tip, (2, 0.1 * k, 0)) for k in range(count)]
        for joint in joints:
            model.add(joint)
        moving, resting = mbs.simulate(model, 0.02, 0.005), mbs.statics(model)
        shape = mbs.modes(model, count=4, state=resting.state(-1))
        wrench = total(resting, beam.nodes[0], joints[:count])[-1]
        results.append((moving.position(tip)[-1], resting.position(tip)[-1], wrench, shape.frequencies))
        assert len(resting.redundant) == (0 if count == 1 else 4)
    for one, two in zip(*results, strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-7, atol=1e-8)


def test_what_no_motion_closes_is_left_of_gaps() -> None:
    """Of rates of joints nothing, of any gaps the same as of what is left of them."""
    system = mbs.simulate(door(3, "R3xSO3")[0], 0.01, 0.01).system
    motion = system.at_rest()
    left, rng = projection(system, motion), np.random.default_rng(0)
    B = tangent.gradient_matrix(system, system.evaluate(motion, np.zeros(system.m), system.prescribe(0.0)).gradients)
    gaps, closed = rng.normal(size=system.m), B @ rng.normal(size=B.shape[1])
    unmet = left.unmet(gaps)
    assert np.abs(unmet).max() > 0.1
    np.testing.assert_allclose(left.unmet(unmet), unmet, rtol=0, atol=1e-7)
    np.testing.assert_allclose(left.unmet(gaps + closed), unmet, rtol=0, atol=1e-7)


def crossed(upper: object, lower: object) -> mbs.Model:
    model = mbs.Model()
    leaf = model.add_node((1, 0, 0))
    model.add(RigidBody(leaf, 1.0, (1, 1, 1)))
    for name, z, drive in (("upper", 1.0, upper), ("lower", 0.0, lower)):
        model.add(RevoluteJoint(model.ground, leaf, Z, (0, 0, z), drive=drive), name=name)  # type: ignore[arg-type]
    return model


CONTRADICTIONS = {
    "rates": (lambda t: t, lambda t: 2 * t, mbs.ModelError, "no motion has the rates that they prescribe at the start"),
    "accelerations": (
        lambda t: t * t,
        lambda t: 2 * t * t,
        mbs.ModelError,
        "no motion has the accelerations that they",
    ),
    "later": (lambda t: t**3, lambda t: 2 * t**3, mbs.MotionError, "and no motion closes it"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_drives_that_contradict_each_other_are_refused(name: str) -> None:
    upper, lower, kind, words = CONTRADICTIONS[name]
    with pytest.raises(kind) as refusal:
        mbs.simulate(crossed(upper, lower), 1.0, 0.01)
    message = str(refusal.value)
    assert words in message and "RevoluteJoint 'upper'" in message and "RevoluteJoint 'lower'" in message
    agreed = crossed(upper, upper)
    mbs.project_velocities(agreed)
    assert mbs.simulate(agreed, 0.1, 0.01).success


def test_a_drive_that_another_joint_blocks_is_refused() -> None:
    model = crossed(None, lambda t: t)
    model.add(FixedJoint(model.ground, model.nodes[1]), name="lock")
    with pytest.raises(mbs.ModelError, match="no motion has the rates"):
        mbs.simulate(model, 1.0, 0.01)


@pytest.mark.parametrize(
    ("tilt", "outcome"), [(1e-12, "moves"), (1e-9, "moves"), (1e-6, "refused"), (1e-3, "stands"), (0.1, "stands")]
)
def test_hinges_that_are_not_quite_parallel(tilt: float, outcome: str) -> None:
    """Within eight digits they count as parallel; beyond, rigid bars jam, and either stand still or are refused."""
    model, (nodes, _) = four_bar("R3xSO3", CRANK_ROCKER, tilt=tilt)
    if outcome == "refused":
        with pytest.raises(mbs.FemMbsError):
            mbs.simulate(model, 0.3, 0.01)
        return
    moved = np.abs(mbs.simulate(model, 0.3, 0.01).displacement(nodes[1])).max()
    assert moved > 0.01 if outcome == "moves" else moved < 1e-8


def test_a_folded_parallelogram_is_no_start() -> None:
    corners = np.array([[0, 0], [1, 0], [3, 0], [2, 0.0]])
    with pytest.raises(mbs.SingularSystemError, match="the position at the start is singular"):
        mbs.simulate(four_bar("R3xSO3", corners)[0], 0.1, 0.01)


def test_runs_go_on_from_checkpoints_and_states() -> None:
    model, leaf, _ = door(2, "SE3")
    whole = mbs.simulate(model, 0.4, 0.01)
    half = mbs.simulate(model, 0.2, 0.01)
    for initial in (half.checkpoint, half.state(-1)):
        rest = mbs.simulate(model, 0.4, 0.01, initial=initial)
        assert len(rest.redundant) == 2
        np.testing.assert_allclose(rest.position(leaf)[-1], whole.position(leaf)[-1], rtol=0, atol=1e-7)


def test_it_is_said_once_which_reactions_are_not_unique(caplog: pytest.LogCaptureFixture) -> None:
    model, _, joints = door(2, "SE3")
    with caplog.at_level(logging.WARNING, "fem_mbs"):
        solution = mbs.simulate(model, 0.05, 0.01)
    (record,) = [r for r in caplog.records if "not unique" in r.getMessage()]
    text = record.getMessage()
    assert "5 of these 10 too many" in text and "least sum of squares of forces and of moments" in text
    assert solution.redundant == tuple(joints) and "not unique" in str(solution)


def test_equations_are_counted_however_many_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a search for all that repeat others would take too long, their number is known, and the motion is the same.

    Four hinges at one place, 15 equations too many for the eight that are looked for first.
    """
    runs = []
    for work in (WORK, 100.0):
        monkeypatch.setattr(null_space, "WORK", work)
        model = mbs.Model(gravity=(0, 0, -9.81))
        arm = model.add_node((1, 0, 0))
        model.add(RigidBody(arm, 2.0, (1, 1, 1)))
        for _ in range(4):
            model.add(RevoluteJoint(model.ground, arm, (0, 1, 0), point=(0, 0, 0)))
        runs.append(mbs.simulate(model, 0.2, 0.02))
    known, counted = (run.system.redundant for run in runs)
    assert "15 of these 20 too many" in known.text and "many of these 20 too many" in counted.text
    assert counted.surplus == known.surplus == 15
    np.testing.assert_allclose(runs[1].x, runs[0].x, atol=1e-8)


def test_slider_in_two_guides() -> None:
    """A crossbar on two parallel rails: nine equations for five."""
    model = mbs.Model(gravity=(3.0, 0, -9.81))
    bar = model.add_node((0, 0, 0))
    model.add(RigidBody(bar, 2.0, (1, 1, 1)))
    rails = [Guide(model.ground, bar, (0, y, 0)) for y in (-1, 1)]
    for rail in rails:
        model.add(rail)
    solution = mbs.simulate(model, 1.0, 0.05)
    np.testing.assert_allclose(solution.position(bar)[-1], (1.5, 0, 0), rtol=0, atol=1e-9)
    for rail in rails:
        np.testing.assert_allclose(solution.reaction(rail)[0], [[0, 0, 9.81]] * 21, rtol=0, atol=1e-9)


LEANS = "elements depend on reactions that are not unique"


@pytest.mark.ci
def test_friction_on_unique_reactions_moves_as_with_joints_that_close_less(caplog: pytest.LogCaptureFixture) -> None:
    """In a planar four-bar, forces in the plane are unique, those across and the moments are not."""
    runs = []
    for relieved in (False, True):
        model, (nodes, joints) = four_bar("R3xSO3", CRANK_ROCKER, relieved)
        for joint in joints[:2]:
            model.add(JointFriction(joint, 0.3, radius=0.05))
        run = mbs.simulate(model, 0.2, 0.01, mbs.GeneralizedAlpha(newton=EXACT))
        runs.append((run.position(nodes[2]), mbs.modes(model, state=run.state(-1)).eigenvalues, run))
    (moved, eigenvalues, run), (expected, others, _) = runs
    assert run.redundant and LEANS not in caplog.text and "depends" not in str(run)
    np.testing.assert_allclose(moved, expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(eigenvalues, others, rtol=1e-6)


@pytest.mark.one
@pytest.mark.parametrize("more", [{"thrust_radius": 0.1}, {"length": 0.2}])
def test_friction_on_reactions_that_are_not_unique_is_named(more: dict, caplog: pytest.LogCaptureFixture) -> None:
    model, (_, joints) = four_bar("R3xSO3", CRANK_ROCKER)
    model.gravity = (1.0, -9.81, -3.0)
    model.add(JointFriction(joints[0], 0.3, radius=0.05, **more), name="rust")
    model.add(JointFriction(joints[1], 0.3, radius=0.05), name="grease")
    run = mbs.simulate(model, 0.1, 0.01)
    named = r"JointFriction 'rust' on RevoluteJoint 'A': " + (
        "translation z" if "thrust_radius" in more else "rotation"
    )
    for text in (caplog.text, str(model.check())):
        assert LEANS in text and named in text and "grease" not in text
    assert "JointFriction 'rust'" in str(run) and "grease" not in str(run)
    with pytest.raises(mbs.ModelError, match=named):
        mbs.modes(model, state=run.state(-1))


def test_friction_in_one_of_two_hinges_leans_on_the_choice(caplog: pytest.LogCaptureFixture) -> None:
    """Of one hinge and a joint that closes less it does not, nor of friction that is given its normal force."""
    one, _, joints = door(1, "SE3")
    one.add(JointFriction(joints[0], 0.3, radius=0.05, thrust_radius=0.05, length=0.2))
    two, _, joints = door(2, "SE3")
    two.add(JointFriction(joints[0], 0.3, radius=0.05, preload=50.0, reactions=False))
    for model in (one, two):
        assert LEANS not in str(mbs.simulate(model, 0.02, 0.01)) + str(model.check()) + caplog.text
    two.add(JointFriction(joints[1], 0.3, radius=0.05), name="rust")
    mbs.simulate(two, 0.02, 0.01)
    assert "JointFriction 'rust' on RevoluteJoint 'hinge 1'" in caplog.text


def test_at_rest_a_sensor_leans_on_the_choice_and_friction_does_not(caplog: pytest.LogCaptureFixture) -> None:
    """A controller that follows the sensor has no modes; a sensor that nothing follows leaves them as they are."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    beam = model.add_node((0.5, 0, 0), name="beam")
    model.add(RigidBody(beam, 1.0, (0.1, 0.1, 0.1)))
    pins = [model.add(RevoluteJoint(model.ground, beam, (0, 1, 0), (0, y, 0)), name=f"pin {y}") for y in (0, 1)]
    model.add(JointSpring(pins[0], 100.0))
    model.add(JointFriction(pins[0], 0.1, radius=0.01), name="rust")
    model.add(MultiplierSensor(pins[1], "translation z"), name="gauge")
    mbs.statics(model)
    assert LEANS in caplog.text and "'gauge' on RevoluteJoint 'pin 1'" in caplog.text and "rust" not in caplog.text
    assert len(mbs.modes(model).frequencies) == 1
    model.add(JointActuator(pins[0], model["gauge"]))
    with pytest.raises(mbs.ModelError, match=LEANS):
        mbs.modes(model)


def test_projected_velocities_are_unique_whatever_joints_repeat(caplog: pytest.LogCaptureFixture) -> None:
    model, _, _ = door(2, "SE3")
    mbs.project_velocities(model)
    assert not caplog.records
    mbs.simulate(model, 0.02, 0.01)
    assert len(caplog.records) == 1


@pytest.mark.slow
def test_wheels_whose_discs_repeat_each_other_are_pulled() -> None:
    """Two wheels on an axle that a massless eye keeps level are pulled sideways, as minimal coordinates say."""
    radius, half, mass, about, across, arm = 0.1, 0.25, 0.5, 0.01, 0.02, 0.2
    light, small = 0.01, 1e-5
    model = mbs.Model(gravity=(0, 0, -9.81))
    axle, eye = model.add_node((0, 0, radius)), model.add_node((arm, 0, radius))
    model.add(RigidBody(axle, light, (small, small, small), center_of_mass=(arm, 0, 0)))
    model.add(FixedJoint(axle, eye))
    model.add(PointOnPlaneJoint(model.ground, eye, normal=Z))
    for side in (half, -half):
        wheel = model.add_node((0, side, radius))
        model.add(RigidBody(wheel, mass, (across, about, across)))
        model.add(RevoluteJoint(axle, wheel, axis=(0, 1, 0)))
        model.add(RollingDisc(model.ground, wheel, axis=(0, 1, 0), normal=Z, radius=radius))
    model.add(Force(eye, lambda t: (1.0, 0.5 * t, 0.0)))
    heavy = 2 * mass + 2 * about / radius**2 + light
    turning = 2 * mass * half**2 + 2 * across + small + light * arm**2 + 2 * about * (half / radius) ** 2

    def rates(t: float, z: Array) -> Array:
        heading = np.array((np.cos(z[2]), np.sin(z[2])))
        forward, sideways = heading @ (1.0, 0.5 * t), np.array((-heading[1], heading[0])) @ (1.0, 0.5 * t)
        gained = forward + light * arm * z[4] ** 2, arm * (sideways - light * z[3] * z[4])
        return np.array([*z[3] * heading, z[4], gained[0] / heavy, gained[1] / turning])

    exact = solve_ivp(rates, (0, 1), np.zeros(5), rtol=1e-10, atol=1e-12).y[:, -1]
    errors = []
    for step in (0.01, 0.005):
        solution = mbs.simulate(model, 1.0, step)
        assert solution.stats.failed_steps == 0 and solution.constraint_residual.position.max() < 1e-12
        errors.append(np.abs(solution.position(axle)[-1, :2] - exact[:2]).max())
    assert errors[1] < 2e-4 and 3.0 < errors[0] / errors[1] < 5.0
