"""Couplings and drives of joint coordinates: exact motions, reactions, many turns, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.elements import (
    Coupling,
    FixedJoint,
    JointDrive,
    JointSpring,
    Moment,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
)

GROUPS = ("R3xSO3", "SE3")
Z = (0, 0, 1)


def wheel(model: mbs.Model, x: float, inertia: float, carrier: mbs.Node | None = None) -> RevoluteJoint:
    """A wheel on a hinge about z."""
    node = model.add_node((x, 0, 0))
    model.add(RigidBody(node, 1.0, (3.0, 3.0, inertia)))
    return model.add(RevoluteJoint(carrier or model.ground, node, Z, (x, 0, 0)))


@pytest.mark.parametrize("group", GROUPS)
def test_gears_share_a_torque_over_many_turns(group: str) -> None:
    """``(J_1 + J_2/i^2) q'' = M`` with ``q_1 + i q_2 = 0``; the force on the teeth is what turns the second wheel."""
    model = mbs.Model(group)
    first, second = wheel(model, 0.0, 0.4), wheel(model, 3.0, 1.2)
    teeth = model.add(Coupling(first, second, 2.0), name="teeth")
    model.add(Moment(first.nodes[1], (0, 0, 7.0)))
    solution = mbs.simulate(model, t_end=3.0, step=0.05)
    rate = 7.0 / (0.4 + 1.2 / 4.0)
    np.testing.assert_allclose(solution.coordinate(first), 0.5 * rate * solution.t**2, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(solution.coordinate(second), -0.25 * rate * solution.t**2, rtol=1e-9, atol=1e-9)
    assert solution.coordinate(first)[-1] > 12.0 * np.pi
    # on the second wheel acts minus 2 lambda = J_2 q_2''
    np.testing.assert_allclose(solution.multipliers(teeth)[:, 0], 1.2 * rate / 4.0, rtol=1e-8)


@pytest.mark.parametrize("group", GROUPS)
def test_gears_go_on_over_a_jump_of_their_torque(group: str) -> None:
    """``(J_1 + J_2/i^2) q_1'' = M``, in steps that end where ``M`` jumps."""
    model = mbs.Model(group)
    first, second = wheel(model, 0.0, 0.4), wheel(model, 3.0, 1.2)
    model.add(Coupling(first, second, 2.0))

    def torque(t: float) -> tuple[float, float, float]:
        return 0.0, 0.0, 7.0 if t < 1.03 else -2.0

    torque.jumps = [1.03]  # type: ignore[attr-defined]
    model.add(Moment(first.nodes[1], torque))
    solution = mbs.simulate(model, t_end=2.0, step=0.05)
    t, later = solution.t, np.maximum(solution.t - 1.03, 0.0)
    angle = 0.5 * (7.0 * t**2 - 9.0 * later**2) / (0.4 + 1.2 / 4.0)
    np.testing.assert_allclose(solution.coordinate(first), angle, rtol=0, atol=1e-8)
    np.testing.assert_allclose(solution.coordinate(second), -0.5 * angle, rtol=0, atol=1e-8)


@pytest.mark.parametrize("group", GROUPS)
def test_a_differential_splits_its_torque(group: str) -> None:
    """``q_1 + q_2 - 2 q_0 = 0``: each side gets half of what the carrier's inertia leaves."""
    model = mbs.Model(group)
    carrier, left, right = wheel(model, 0.0, 0.4), wheel(model, 3.0, 1.0), wheel(model, 6.0, 3.0)
    model.add(Coupling([left, right, carrier], [1, 1, -2]))
    model.add(Moment(carrier.nodes[1], (0, 0, 10.0)))
    solution = mbs.simulate(model, t_end=2.0, step=0.05)
    # with the torque s on each side, q_1'' = s, q_2'' = s/3, and 0.4 (q_1'' + q_2'')/2 = 10 - 2 s
    s = 10.0 / (2.0 + 0.2 * 4.0 / 3.0)
    np.testing.assert_allclose(solution.coordinate(left)[-1], 2.0 * s, rtol=1e-9)
    np.testing.assert_allclose(solution.coordinate(right)[-1], 2.0 * s / 3.0, rtol=1e-9)


def planetary(group: str, step: float) -> tuple[mbs.Solution, list[RevoluteJoint], JointDrive]:
    """Sun with 20 teeth, planet with 15, fixed ring with 50; seen from the carrier they turn against each other."""
    model = mbs.Model(group)
    sun, arm = wheel(model, 0.0, 0.1), wheel(model, 0.0, 0.5)
    planet = wheel(model, 0.35, 0.02, arm.nodes[1])
    model.add(Coupling([sun, arm, planet], [20, -20, 15]), name="sun and planet")
    model.add(Coupling([arm, planet], [-50, -15]), name="ring and planet")
    motor = model.add(JointDrive(sun, lambda t: 5.0 * t * t), name="motor")
    return mbs.simulate(model, t_end=1.0, step=step), [sun, arm, planet], motor


@pytest.mark.parametrize("group", GROUPS)
def test_a_planetary_gear_turns_as_willis_says(group: str) -> None:
    """The carrier turns at 20/70 of the sun; the motor's torque accelerates all, of order 2 in the step."""
    w = np.array([10.0, 10.0 * 20 / 70])
    spin = w[1] * (1 - 50 / 15)
    expected = (0.1 * w[0] ** 2 + 0.5 * w[1] ** 2 + 0.02 * spin**2 + (0.35 * w[1]) ** 2) / w[0]
    errors = []
    for step in (0.02, 0.01):
        solution, (sun, arm, planet), motor = planetary(group, step)
        np.testing.assert_allclose(solution.coordinate(arm), solution.coordinate(sun) * 20 / 70, atol=1e-9)
        np.testing.assert_allclose(solution.coordinate(planet), -solution.coordinate(arm) * 50 / 15, atol=1e-9)
        assert solution.coordinate(sun)[-1] == pytest.approx(5.0, abs=1e-9)
        errors.append(np.abs(-solution.multipliers(motor)[:, 0] - expected).max())
    assert errors[0] < 0.01 and np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("group", GROUPS)
def test_a_drive_prescribes_one_of_several_coordinates(group: str) -> None:
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    node = model.add_node((1, 0, 0))
    model.add(RigidBody(node, 2.0, (0.3, 0.4, 0.5)))
    ball = model.add(SphericalJoint(model.ground, node, (0, 0, 0)))
    model.add(JointDrive(ball, lambda t: 0.5 * t * t, coordinate="rotation x"))
    solution = mbs.simulate(model, t_end=1.0, step=0.01)
    np.testing.assert_allclose(solution.coordinate(ball)[:, 0], 0.5 * solution.t**2, atol=1e-9)


def test_bad_couplings_are_refused_by_name() -> None:
    model = mbs.Model()
    first, second, third = wheel(model, 0, 1), wheel(model, 1, 1), wheel(model, 2, 1)
    weld = FixedJoint(model.ground, first.nodes[1])
    ball = SphericalJoint(model.ground, first.nodes[1])
    for arguments, message in (
        ((first, second, 0.0), r"ratio, of 'rotation z' of RevoluteJoint '.*' is 0"),
        ((first, weld, 1.0), "joint_2.*FixedJoint.* does not"),
        ((first, second), "takes two joints and a ratio, or a list of joints and a list of as many factors"),
        ((first, [1.0], 1.0), "takes two joints and a ratio, or a list of joints and a list of as many factors"),
        (([first, second], [1.0, 2.0], 1.0), "takes two joints and a ratio, or a list"),
        ((first, ball, 1.0), "'rotation x', 'rotation y', 'rotation z'; say which by coordinate="),
        ((first, first, 1.0), "given twice"),
        ((first, second, "2"), "ratio"),
        (([first, second], [1.0]), "2 joints and joint_2 1 factors"),
        ((first, 3.0, 1.0), "joint"),
    ):
        with pytest.raises(mbs.ModelError, match=message):
            Coupling(*arguments)
    with pytest.raises(mbs.ModelError, match="there is no 'spin'"):
        Coupling(first, second, 1.0, coordinates=["spin", None])
    model.add(Coupling(first, second, 2.0), name="A")
    model.add(Coupling(second, third, 2.0), name="B")
    model.add(Coupling(third, first, 2.0), name="C")
    with pytest.raises(mbs.ModelError, match="couplings .*'A'.*contradict each other.*no motion but rest"):
        mbs.simulate(model, 0.1, 0.01)


def test_a_drive_that_does_not_begin_at_rest_is_refused() -> None:
    model = mbs.Model()
    hinge = wheel(model, 0, 1)
    model.add(JointDrive(hinge, lambda t: 1.0 + t), name="motor")
    with pytest.raises(mbs.ModelError, match="JointDrive 'motor': its law must be 0 at t = 0"):
        mbs.simulate(model, 0.1, 0.01)
    model.assemble()
    solution = mbs.simulate(model, 0.1, 0.01)
    np.testing.assert_allclose(solution.coordinate(hinge), 1.0 + solution.t, atol=1e-9)


@pytest.mark.parametrize("group", GROUPS)
def test_statics_counts_turns(group: str) -> None:
    """A torsion spring is wound up by 2.2 turns."""
    model = mbs.Model(group)
    hinge = wheel(model, 0.0, 1.0)
    model.add(JointSpring(hinge, stiffness=0.5))
    model.add(Moment(hinge.nodes[1], (0, 0, 0.5 * 4.4 * np.pi)))
    solution = mbs.statics(model)
    assert solution.coordinate(hinge)[-1] == pytest.approx(4.4 * np.pi, rel=1e-9)
