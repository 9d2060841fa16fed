"""Equilibria with contacts, stops and ropes that close and open along the load, against exact solutions."""

from __future__ import annotations

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.elements import (
    Ball,
    Beam,
    BeamSection,
    Contact,
    Force,
    JointSpring,
    JointStop,
    Plane,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    Rope,
)

E, R = 2e11, 0.01
EI = E * np.pi * R**4 / 4


def test_a_cantilever_that_meets_a_support() -> None:
    """Pressed at half its length: free until the tip has gone by the gap, then propped; the curve has one kink.

    Of a force P at L/2 the tip goes down by 5 P L^3/(48 EI); beyond, the support takes 5/16 of what is more.
    """
    gap, L, P = 1e-4, 1.0, 40.0
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (L, 0, 0), BeamSection.circle(R, E, 0.3, 7800), 2, order=3)
    model.fix(beam.nodes[0])
    model.add(Force(beam.nodes[3], (0, 0, -P)))
    tip = Ball(1e-3, center=(L, 0, 1e-3))
    contact = model.add(Contact(model.ground, beam.nodes[-1], Plane((0, 0, 1), (0, 0, -gap)), tip))
    solution = mbs.statics(model)
    meets = gap * 48 * EI / (5 * L**3) / P
    forces = solution.contact_force(contact)[:, 0, 2]
    expected = 5 / 16 * P * np.maximum(solution.t - meets, 0.0)
    np.testing.assert_allclose(forces, expected, rtol=0, atol=2e-3 * P)
    assert solution.gap(contact).min() > -1e-10
    assert np.abs(solution.t - meets).min() < 1e-3 * meets

    # what vibrates there is the propped beam, and it stays where it is
    modes = mbs.modes(model, 2, solution.state(-1))
    at_rest = np.sqrt(EI / (7800 * np.pi * R**2))
    assert np.abs(modes.angular / at_rest / 15.418 - 1.0).min() < 5e-3
    run = mbs.simulate(model, 1.01, 1e-3, initial=solution.state(-1))
    np.testing.assert_allclose(run.contact_force(contact)[:, 0, 2], forces[-1], rtol=1e-6)


def pushed(load: float) -> tuple[mbs.Model, JointStop]:
    """A slide on a spring of 1000 N/m that is pushed against its stop at 0.02 m."""
    model = mbs.Model()
    body = model.add_node((0, 0, 0))
    model.add(RigidBody(body, 1.0, (1, 1, 1)))
    slide = model.add(PrismaticJoint(model.ground, body, (1, 0, 0)))
    model.add(JointSpring(slide, 1000.0))
    model.add(Force(body, lambda t: (load * np.sin(np.pi * t), 0, 0)))
    return model, model.add(JointStop(slide, -0.02, 0.02, restitution=0.0))


def test_a_stop_closes_and_opens() -> None:
    """50 sin(pi t) N: exact at every load, closed from sin(pi t) = 0.4 on and open beyond the same on the way back."""
    model, stop = pushed(50.0)
    solution = mbs.statics(model, 2.0, step=0.1)
    load = 50.0 * np.sin(np.pi * solution.t)
    np.testing.assert_allclose(solution.position("node 1")[:, 0], np.clip(load / 1000.0, -0.02, 0.02), atol=1e-10)
    force = np.abs(solution.history.u).max(axis=1)
    np.testing.assert_allclose(force, np.maximum(np.abs(load) - 20.0, 0.0), rtol=0, atol=1e-6)
    for begins in (np.arcsin(0.4) / np.pi, 1.0 - np.arcsin(0.4) / np.pi):
        assert np.abs(solution.t - begins).min() < 1e-8
        assert np.abs(solution.t - 1.0 - begins).min() < 1e-8


def test_a_ladder_without_friction_is_held_by_a_rope() -> None:
    """Weight W in the middle, angle a: the wall pushes by W/(2 tan a), the rope at the foot pulls as much."""
    a, L, W = np.radians(60.0), 2.0, 98.1
    model = mbs.Model(gravity=(0, 0, -9.81))
    ladder = model.add_node(
        (0.5 * L * np.cos(a), 0, 0.5 * L * np.sin(a)),
        rotation=[[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]],
    )
    model.add(RigidBody(ladder, 10.0, (3.3, 3.3, 0.1)))
    foot, top = (L * np.cos(a), 0, 0), (0, 0, L * np.sin(a))
    r = 1e-3
    floor = model.add(Contact(model.ground, ladder, Plane((0, 0, 1)), Ball(r, center=(foot[0], 0, r))))
    wall = model.add(Contact(model.ground, ladder, Plane((1, 0, 0)), Ball(r, center=(r, 0, top[2]))))
    rope = model.add(Rope(model.ground, ladder, foot[0], (0, 0, r), (foot[0], 0, r)))
    model.add(mbs.elements.PlanarJoint(model.ground, ladder, (0, 1, 0)))
    solution = mbs.statics(model, ramp=False)
    push = W / (2 * np.tan(a))
    assert solution.contact_force(floor)[-1, 0, 2] == pytest.approx(W, rel=1e-6)
    assert solution.contact_force(wall)[-1, 0, 0] == pytest.approx(push, rel=2e-3)
    assert np.linalg.norm(solution.contact_force(rope)[-1, 0]) == pytest.approx(push, rel=2e-3)


def test_what_equilibria_do_not_tell() -> None:
    """Friction, whose forces depend on what was before, is refused by name."""
    model, _ = pushed(1.0)
    model.add(
        Contact(model.ground, model.nodes[-1], Plane((0, 0, 1), (0, 0, -1)), Ball(0.1), friction=0.1), name="floor"
    )
    with pytest.raises(mbs.FemMbsError, match="'floor' has friction"):
        mbs.statics(model)


def test_a_hinge_falls_on_its_stop() -> None:
    """A pendulum from the side, whose stop holds it at 0.5 rad: under the full weight at once."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    bob = model.add_node((1, 0, 0))
    model.add(RigidBody(bob, 2.0, (0.01, 0.01, 0.01)))
    hinge = model.add(RevoluteJoint(model.ground, bob, (0, 1, 0), (0, 0, 0)))
    model.add(JointStop(hinge, -0.5, 0.5, restitution=0.0))
    solution = mbs.statics(model, ramp=False)
    assert solution.position(bob)[-1] == pytest.approx([np.cos(0.5), 0, -np.sin(0.5)], abs=1e-9)
