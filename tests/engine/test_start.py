"""The consistent start satisfies the equations of motion and the hidden constraints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from catalogue import GROUPS, PLAIN
from motions import later, mass_matrix, neighbour

import fem_mbs as mbs
from fem_mbs.contracts import Motion
from fem_mbs.elements import (
    Beam,
    BeamSection,
    DistanceJoint,
    Force,
    LowPass,
    ModalBody,
    Moment,
    NodeSensor,
    PointMass,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
    SpinUp,
)
from fem_mbs.initial.consistent_start import constraint_correction, projected
from fem_mbs.initial.state_point import place_of
from fem_mbs.lie import so3

SPIN = np.array([0.0, 0.0, 2.0])


def swinging(group: str) -> mbs.Model:
    """A hinge and a ball joint in a row, turning as one; a beam on the end; a drive that starts to turn."""
    model = mbs.Model("R3xSO3" if group == "mixed" else group, gravity=(0.3, -9.0, 1.0))
    rng = np.random.default_rng(0)

    def node(x: float, k: int) -> mbs.Node:
        R = so3.exp(rng.normal(size=3))
        own = ("SE3", "R3xSO3")[k % 2] if group == "mixed" else None
        p = np.array([x, 0.1, 0.0])
        return model.add_node(p, R, np.cross(SPIN, p), R.T @ SPIN, group=own)

    crank, rod, disc = node(0.5, 0), node(1.5, 1), node(1.0, 0)
    model.add(RigidBody(crank, 2.0, (1, 2, 2.5), (0.1, 0.2, 0.3)))
    model.add(RigidBody(disc, 1.0, (0.2, 0.2, 0.3)))
    model.add(RevoluteJoint(model.ground, crank, (0, 0, 1), point=(0, 0, 0)))
    model.add(SphericalJoint(crank, rod, point=(1, 0, 0)))
    model.add(RevoluteJoint(crank, disc, (0, 0, 1), drive=SpinUp(3.0, 1.0)))
    model.add(Beam([rod, *(node(2.0 + 0.5 * k, k) for k in range(2))], PLAIN))
    model.add(Force(rod, lambda t: (1.0 + t, 2.0, 3.0)))
    return model


def start(model: mbs.Model) -> tuple[mbs.System, mbs.State, Motion]:
    system = mbs.System(model)
    state = mbs.start(system, mbs.GeneralizedAlpha())
    return system, state, system.motion(state)


@pytest.mark.parametrize("group", GROUPS)
def test_equations_of_motion_hold_at_the_start(group: str) -> None:
    system, state, motion = start(swinging(group))
    evaluation = system.evaluate(motion, state.multipliers, system.prescribe(0.0))
    force, constraint = system.relative_residual(evaluation)
    assert force < 1e-13 and constraint < 1e-14


@pytest.mark.parametrize("group", GROUPS)
def test_joints_stay_closed_to_third_order(group: str) -> None:
    """Velocity and acceleration are those of a motion within the joints: ``Phi`` along it is of third order in time."""
    system, state, motion = start(swinging(group))
    Vdot = motion.A.copy()
    Vdot[:, :3] -= np.cross(motion.V[:, 3:], motion.V[:, :3])

    def gap(s: float) -> float:
        near = neighbour(motion, (s * motion.V + 0.5 * s * s * Vdot).ravel())
        return float(np.abs(system.evaluate(near, state.multipliers, system.prescribe(s)).constraint).max())

    assert gap(0.0) < 1e-15
    assert np.log2(gap(2e-3) / gap(1e-3)) > 2.9
    assert np.abs(later(motion, 0.0).V - motion.V).max() == 0.0


@pytest.mark.parametrize("group", GROUPS)
def test_groups_start_with_the_same_accelerations_and_joint_forces(group: str) -> None:
    _, state, motion = start(swinging(group))
    _, expected_state, expected = start(swinging("R3xSO3"))
    np.testing.assert_allclose(motion.A, expected.A, atol=1e-11)
    np.testing.assert_allclose(state.multipliers, expected_state.multipliers, atol=1e-11)


def test_stiffness_does_not_blur_the_mass() -> None:
    """Steel: stiffnesses stand twelve orders above the inertia of a thin section, which must not drown in them."""
    mass = []
    for E in (210e9, 1e-3):
        model = mbs.Model()
        nodes = [model.add_node((0.01 * k, 0.02 * k, 0), so3.exp(np.array([0.3, 0.2, k]))) for k in range(4)]
        model.add(Beam(nodes, BeamSection.rectangle(2e-3, 5e-3, E, 0.3, 7850.0)))
        mass.append(mass_matrix(*start(model)[::2]))
    size = np.sqrt(np.diag(mass[1]))
    np.testing.assert_allclose(mass[0] / np.outer(size, size), mass[1] / np.outer(size, size), rtol=0, atol=1e-11)


@pytest.mark.parametrize("group", GROUPS[:2])
def test_what_closes_joints_is_the_smallest_motion(group: str) -> None:
    """In the metric of the mass, to which modes belong, and states of control do not."""
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    node = model.add_node((0.5, 0, 0))
    model.add(ModalBody(node, 2.0, (0.5, 1.0, 1.0), [1.2], [75.0], translation=[[0.2], [0], [0.7]]))
    model.add(RevoluteJoint(model.ground, node, (0, 1, 0), point=(0, 0, 0)))
    model.add(LowPass(model.add(NodeSensor(node, "position", (1, 0, 0))), 0.1))
    system, state, _ = start(model)
    v, D = 1e-3 * np.random.default_rng(3).normal(size=(2, 2, 6)) * [[0.0], [1.0]]
    x, R = system.kinematics.retract(state.x, state.R, D)
    for moved in (replace(state, v=v), replace(state, x=x, R=R)):
        off = place_of(moved)
        near = projected(system, off)
        d = np.append(system.kinematics.relative(off.x, off.R, near.x, near.R), near.u - off.u)
        w = np.append(near.v - off.v, near.udot - off.udot) + d
        assert np.abs(system.own_of(w)[system.order == 2]).min() > 1e-5
        np.testing.assert_allclose(constraint_correction(system, moved, w), w, atol=1e-9)


def test_open_joints_and_wrong_velocities_are_refused_by_name() -> None:
    model = mbs.Model()
    node = model.add_node((1, 0, 0), velocity=(0, 1, 0))
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    model.add(SphericalJoint(model.ground, node, point=(0, 0, 0)), name="pivot")
    with pytest.raises(mbs.ModelError, match="SphericalJoint 'pivot' is violated by the initial velocities"):
        mbs.start(mbs.System(model), mbs.GeneralizedAlpha())
    model = mbs.Model()
    node = model.add_node((1, 0, 0))
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    model.add(RevoluteJoint(model.ground, node, (0, 0, 1), drive=lambda t: 0.1 + t), name="motor")
    with pytest.raises(mbs.ModelError, match="RevoluteJoint 'motor': its drive must be 0 at t = 0"):
        mbs.start(mbs.System(model), mbs.GeneralizedAlpha())


def test_a_place_that_no_motion_closes_is_none() -> None:
    """A slider is driven to where its rod does not reach: gaps that do not fall any more are no rounding."""
    model = mbs.Model(gravity=(0, 0, 0))
    crank, slider = model.add_node((0, 0.5, 0)), model.add_node((1, 0, 0))
    for node in (crank, slider):
        model.add(RigidBody(node, 1.0, (1, 1, 1)))
    model.add(RevoluteJoint(model.ground, crank, (0, 0, 1), point=(0, 0, 0)))
    model.add(PrismaticJoint(model.ground, slider, (1, 0, 0), drive=lambda t: t * t))
    model.add(DistanceJoint(crank, slider))
    system = mbs.System(model)
    place = place_of(mbs.start(system))
    there = projected(system, place._replace(t=0.1)).x
    assert np.linalg.norm(there[1] - there[2]) == pytest.approx(np.sqrt(1.25), rel=1e-9)
    for t in (2.0, 5.0):
        with pytest.raises(mbs.MotionError, match="joints cannot be closed"):
            projected(system, place._replace(t=t))


def test_what_makes_the_start_singular_is_named() -> None:
    model = mbs.Model()
    light = model.add_node((1, 0, 0), name="light")
    model.add(PointMass(light, 1.0))
    model.add(Moment(light, (1, 0, 0)))
    with pytest.raises(mbs.SingularSystemError, match=r"node 'light' \(rotation\) can move without mass"):
        mbs.start(mbs.System(model), mbs.GeneralizedAlpha())
