"""Reactions: the force and moment a joint puts on its node b, in the world, at the joint's point."""

from __future__ import annotations

import numpy as np
import pytest
from catalogue import GROUPS

import fem_mbs as mbs
from fem_mbs.elements import (
    Beam,
    BeamSection,
    FixedJoint,
    Force,
    Harmonic,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
    TorqueMotor,
)
from fem_mbs.lie import so3

M, G, C = 2.0, np.array([0.0, 0.0, -9.81]), np.array([0.1, 0.2, -0.3])
POINT = np.array([0.5, -0.4, 1.0])


def turn(seed: int) -> np.ndarray:
    return so3.exp(np.random.default_rng(seed).normal(size=3))


def hung(group: str, joint: str, below: bool) -> tuple[mbs.Model, mbs.Node]:
    """A body on a turned node, held at ``POINT`` on a turned support; its mass centre straight ``below`` it or not."""
    model = mbs.Model("R3xSO3" if group == "mixed" else group, G)
    support = model.add_node((1, 1, 1), turn(0), group="SE3" if group == "mixed" else None)
    model.fix(support)
    R = turn(1)
    center = POINT - [0, 0, 0.7] if below else np.array([1.0, 0.3, 0.2])
    body = model.add_node(center - R @ C, R)
    model.add(RigidBody(body, M, (0.2, 0.3, 0.4), C))
    kinds = {
        "spherical": lambda: SphericalJoint(support, body, POINT),
        "revolute": lambda: RevoluteJoint(support, body, (0, 1, 0), POINT),
        "held hinge": lambda: RevoluteJoint(support, body, (0, 1, 0), POINT, drive=lambda t: 0.0),
        "fixed": lambda: FixedJoint(support, body, POINT),
    }
    model.add(kinds[joint](), name="joint")
    return model, body


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("joint", ["spherical", "revolute", "held hinge", "fixed"])
def test_a_hanging_body_is_held_up(group: str, joint: str) -> None:
    model, _ = hung(group, joint, below=True)
    force, moment = mbs.simulate(model, 0.2, 0.1).reaction(model.constraints[0])
    assert force.shape == moment.shape == (3, 3)
    np.testing.assert_allclose(force, np.tile(-M * G, (3, 1)), atol=1e-7)
    np.testing.assert_allclose(moment, 0.0, atol=1e-7)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("joint", ["held hinge", "fixed"])
def test_a_body_held_aside_needs_a_moment(group: str, joint: str) -> None:
    """The weight at the mass centre turns about the joint's point; the joint holds against it."""
    model, _ = hung(group, joint, below=False)
    force, moment = mbs.simulate(model, 0.2, 0.1).reaction(model.constraints[0])
    arm = np.array([1.0, 0.3, 0.2]) - POINT
    np.testing.assert_allclose(force, np.tile(-M * G, (3, 1)), atol=1e-7)
    np.testing.assert_allclose(moment, np.tile(-np.cross(arm, M * G), (3, 1)), atol=1e-7)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("joint", ["spherical", "revolute"])
def test_a_swinging_body_obeys_newton_and_euler(group: str, joint: str) -> None:
    """At every instant, from the accelerations of the solution itself; hinges take no moment about their axis."""
    model, body = hung(group, joint, below=False)
    solution = mbs.simulate(model, 1.0, 0.02, mbs.GeneralizedAlpha(newton=mbs.Newton(force_tolerance=1e-11)))
    force, moment = solution.reaction(model.constraints[0])
    row = solution.system.number(body)
    J = np.diag([0.2, 0.3, 0.4])
    for k in range(len(solution.t)):
        motion = solution.motion(k)
        R, Omega, A = motion.R[row], motion.V[row, 3:], motion.A[row]
        acceleration = A[:3] + np.cross(A[3:], C) + np.cross(Omega, np.cross(Omega, C))
        np.testing.assert_allclose(force[k], M * (R @ acceleration - G), atol=1e-7)
        rate = R @ (J @ A[3:] + np.cross(Omega, J @ Omega))
        lever = motion.x[row] + R @ C - POINT
        np.testing.assert_allclose(moment[k] - np.cross(lever, force[k]), rate, atol=1e-7)
        np.testing.assert_allclose(moment[k] if joint == "spherical" else moment[k, 1], 0.0, atol=1e-7)


def test_reaction_is_on_node_b() -> None:
    """The same pendulum with the ends of the joint exchanged: the support is pulled down."""
    model = mbs.Model(gravity=G)
    bob = model.add_node((0, 0, -1))
    model.add(RigidBody(bob, M, (0.1, 0.1, 0.1)))
    joint = model.add(SphericalJoint(bob, model.ground, point=(0, 0, 0)))
    force, _ = mbs.simulate(model, 0.1, 0.1).reaction(joint)
    np.testing.assert_allclose(force, [M * G, M * G], atol=1e-7)


def test_section_forces_of_a_hanging_beam_carry_what_is_below() -> None:
    """Tension in each element: the weight below its middle, plus the load on the end; the joint carries all."""
    model = mbs.Model("SE3", G)
    section = BeamSection(1e7, 1e7, 1e7, 1e7, 2.0, (0.1, 0.1, 0.1)).with_damping(0.02)
    beam = Beam.line(model, (0, 0, 0), (0, 0, -1), section, 4)
    joint = model.add(SphericalJoint(model.ground, beam.nodes[0]))
    model.add(Force(beam.nodes[-1], (0, 0, -5.0)))
    solution = mbs.simulate(model, 2.0, 0.05, mbs.GeneralizedAlpha(0.0))
    tension = solution.section_forces(beam)[-1, :, 0]
    np.testing.assert_allclose(tension, 5.0 + 2.0 * 9.81 * (1 - np.array([0.125, 0.375, 0.625, 0.875])), rtol=1e-4)
    force, _ = solution.reaction(joint)
    np.testing.assert_allclose(force[-1], [0, 0, 5.0 + 2.0 * 9.81], atol=1e-3)


TOLD = "steps are too long for its reaction"


@pytest.mark.parametrize("turn", [0.1, 0.3, 0.6, 1.5])
def test_reactions_that_steps_do_not_follow_are_told(turn: float, caplog: pytest.LogCaptureFixture) -> None:
    """A body that spins about a fixed axis, beside its mass centre, with the force that holds it."""
    model = mbs.Model()
    node = model.add_node((0.3, 0, 0), velocity=(0, 3, 0), angular_velocity=(0, 0, 10))
    model.add(RigidBody(node, 1.0, (0.01, 0.02, 0.03), (0.1, 0, 0)))
    hinge = model.add(RevoluteJoint(model.ground, node, (0, 0, 1), (0, 0, 0)), name="hinge")
    force = np.linalg.norm(mbs.simulate(model, 4 * turn, turn / 10).reaction(hinge)[0], axis=1)
    assert abs(force / (0.4 * 10**2) - 1.0).max() < 0.05 * turn**2
    assert (f"'hinge': {TOLD} (translation" in caplog.text) == (turn > 1.2)


@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_steady_reactions_that_turn_with_a_body_are_not_told(group: str, caplog: pytest.LogCaptureFixture) -> None:
    """A rotor beside its mass centre, each of whose reactions is right, in steps of 0.8 rad."""
    model = mbs.Model(group)
    node = model.add_node((0, 0, 0), angular_velocity=(0, 0, 10))
    model.add(RigidBody(node, 1.0, (0.1, 0.1, 0.2), (0.05, 0, 0.1)))
    hinge = model.add(RevoluteJoint(model.ground, node, (0, 0, 1)), name="hinge")
    run = mbs.simulate(model, 4.0, 0.08)
    np.testing.assert_allclose(np.linalg.norm(run.reaction(hinge)[0], axis=1), 0.05 * 10**2, rtol=1e-6)
    assert np.ptp(run.multipliers(hinge)[:, 0]) > 5.0 * (group == "SE3")
    assert TOLD not in caplog.text


def rod(step: float) -> mbs.Solution:
    """A rod of steel on a hinge that is let go."""
    model = mbs.Model(gravity=G)
    section = BeamSection.rectangle(width=0.02, height=0.02, E=2.1e11, nu=0.3, rho=7800)
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), section, 4)
    model.add(RevoluteJoint(model.ground, beam.nodes[0], (0, 1, 0), (0, 0, 0)), name="hinge")
    return mbs.simulate(model, 0.05, step)


@pytest.mark.slow
def test_vibrations_that_hardly_move_anything_are_told_by_reactions(caplog: pytest.LogCaptureFixture) -> None:
    """Its bending moves the rod by micrometres, and makes half of what the hinge bears."""
    coarse, fine = rod(1e-3), rod(5e-5)
    of_coarse, of_fine = (run.reaction("hinge")[0] for run in (coarse, fine))
    assert np.abs(of_coarse - of_fine[::20]).max() > 0.2 * np.abs(of_fine).max()
    assert coarse.stats.error.relative < 0.01
    assert caplog.text.count(TOLD) == 1  # of the coarse one


@pytest.mark.parametrize("known", [True, False])
def test_a_load_that_is_switched_bends_no_reactions(known: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Once, within a step or where one ends."""
    model, body = hung("R3xSO3", "fixed", below=True)
    value = (lambda t: np.array([0, 0, -100.0 * (t > 0.0305)])) if not known else (0, 0, -100.0)
    model.add(Force(body, value))
    mbs.simulate(model, 0.1, 0.01)
    assert TOLD not in caplog.text


def test_rounding_in_a_guide_that_bears_nothing_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    """Of a slider that a motor pushes from rest, along a guide that is oblique."""
    model = mbs.Model()
    node = model.add_node((3, 2, 1))
    model.add(RigidBody(node, 2.0, (0.1, 0.1, 0.1)))
    guide = model.add(PrismaticJoint(model.ground, node, (2, -1, 3)))
    model.add(TorqueMotor(guide, Harmonic(5.0, frequency=5.0)))
    run = mbs.simulate(model, 0.2, 0.005)
    assert 0.0 < np.abs(run.multipliers(guide)).max() < 1e-10
    assert TOLD not in caplog.text


@pytest.mark.one
@pytest.mark.parametrize("order", [1, 3])
def test_reactions_have_the_share_of_material_damping_and_section_forces_are_those_of_strains(order: int) -> None:
    """A mass on a bar that swings along it."""
    time, model = 2e-3, mbs.Model()
    section = BeamSection(1e4, 1e4, 1.0, (1.0, 1.0), 1e-6, (1e-9, 1e-9, 1e-9)).with_damping(time)
    bar = Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements=1, order=order)
    weld = model.add(FixedJoint(model.ground, bar.nodes[0]))
    model.add(RigidBody(bar.nodes[-1], 1.0, (1.0, 1.0, 1.0)))
    for node in bar.nodes[1:]:
        node.velocity = 0.1 * node.position
    solution = mbs.simulate(model, 0.05, 5e-4)
    pull, reaction = solution.section_forces(bar)[:, 0, 0], -solution.reaction(weld)[0][:, 0]
    damped, size = pull + time * np.gradient(pull, solution.t), np.abs(pull).max()
    np.testing.assert_allclose(reaction[2:-1], damped[2:-1], atol=2e-3 * size)
    assert np.abs(reaction - pull).max() > 0.1 * size
