"""Long and flexible systems with many contacts: what is tried again and again, and what a run says of it."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.alpha.starting_values import step_matrix
from fem_mbs.contact.contacts import contacts_of
from fem_mbs.contact.impact import placed
from fem_mbs.contact.memory import ContactMemory
from fem_mbs.elements import Ball, Box, Contact, Cylinder, Plane, RevoluteJoint, RigidBody, contacts_between
from fem_mbs.lie import so3
from fem_mbs.newton import NotConvergedError
from fem_mbs.system.system import System

LINK = 0.05


def chain(links: int) -> mbs.Model:
    """Rigid links in hinges, which fall on a cylinder with friction."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    nodes = [model.add_node((LINK * (k - 0.4 * links), 0, 0.125)) for k in range(links)]
    for k, node in enumerate(nodes):
        model.add(RigidBody(node, 0.05, [1e-5] * 3))
        model.add(Contact(model.ground, node, Cylinder(0.1, 0.2, (0, 1, 0)), Ball(0.008), friction=0.3), name=f"on {k}")
    for k in range(links - 1):
        hinge = LINK * (k + 0.5 - 0.4 * links)
        model.add(RevoluteJoint(nodes[k], nodes[k + 1], (0, 1, 0), (hinge, 0, 0.125)))
    return model


def last_memory(monkeypatch: pytest.MonkeyPatch) -> list[ContactMemory]:
    """What the method goes on with, step by step."""
    seen: list[ContactMemory] = []
    plain = mbs.NonsmoothAlpha._in_parts

    def in_parts(self: mbs.NonsmoothAlpha, *given):  # type: ignore[no-untyped-def]
        step = plain(self, *given)
        seen.append(step.memory)
        return step

    monkeypatch.setattr(mbs.NonsmoothAlpha, "_in_parts", in_parts)
    return seen


@pytest.mark.slow
def test_a_chain_on_a_cylinder_fails_in_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial step without a solution tells nothing; where impacts are many, they are not sought one by one."""
    seen = last_memory(monkeypatch)
    solution = mbs.simulate(chain(8), 0.2, 0.005)
    assert solution.success and len(solution.t) < 50
    assert seen[-1].unlocated > 0
    energy = solution.energy.total
    assert (np.diff(energy) < 1e-3 * abs(np.ptp(energy))).all()


def test_what_is_hit_is_closed_beside_what_slides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing can be pushed out, contacts join the equations of a step whose guess is known for others."""

    def fails(*given: object) -> None:
        raise NotConvergedError("not pushed out")

    monkeypatch.setattr(mbs.NonsmoothAlpha, "_pushed_out", fails)
    model = mbs.Model(gravity=(0, 0, -9.81))
    for k, height in enumerate((0.0, 0.05)):
        node = model.add_node((k, 0, 0.1 + height), velocity=(1, 0, 0))
        model.add(RigidBody(node, 1.0, [0.004] * 3))
        model.add(Contact(model.ground, node, Plane(), Ball(0.1), friction=0.1), name=f"on {k}")
    solution = mbs.simulate(model, 0.15, 0.01, method=mbs.NonsmoothAlpha(locate=0))
    assert solution.success and abs(solution.gap("on 1")[-1]) < 1e-9
    np.testing.assert_allclose(solution.contact_force("on 1")[-1, ..., 2], 9.81, rtol=1e-6)


def test_what_costs_most_is_named(caplog: pytest.LogCaptureFixture) -> None:
    """A ball that bounces twice in each step; one that falls once has no such warning."""
    texts = []
    for height in (1e-3, 0.3):
        model = mbs.Model(gravity=(0, 0, -9.81))
        ball = model.add_node((0, 0, 0.1 + height))
        model.add(RigidBody(ball, 1.0, [0.004] * 3))
        model.add(Contact(model.ground, ball, Plane(), Ball(0.1), restitution=1.0), name="floor")
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            mbs.simulate(model, 0.4, 0.04)
        texts.append(caplog.text)
    assert "most of the time went into" in texts[0] and "for Contact 'floor'" in texts[0] and "locate=0" in texts[0]
    assert "most of the time" not in texts[1]


def test_a_step_that_fails_names_what_was_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """By whether it slides."""

    def fails(*_: object) -> None:
        raise NotConvergedError("no convergence")

    model = mbs.Model(gravity=(0, 0, -9.81))
    for x, speed in ((0.0, 1.0), (1.0, 0.0)):
        ball = model.add_node((x, 0, 0.1), velocity=(speed, 0, 0), name=f"ball {x:g}")
        model.add(RigidBody(ball, 1.0, [0.004] * 3))
        model.add(Contact(model.ground, ball, Plane(), Ball(0.1), friction=0.3), name=f"floor {x:g}")
    monkeypatch.setattr("fem_mbs.contact.nonsmooth_alpha.smooth_part", fails)
    with pytest.raises(
        mbs.FemMbsError, match="; closed where it began: Contact 'floor 1'; closed and sliding where it"
    ):
        mbs.simulate(model, 0.1, 0.01)


@pytest.mark.one
@pytest.mark.parametrize(("restitution", "friction"), [(0.6, 0.0), (0.9, 0.3), (0.0, 0.3)])
def test_impacts_at_the_ends_of_steps_are_as_wrong_as_estimated(restitution: float, friction: float) -> None:
    """A ball that is thrown, against the motion whose impacts are located, which is right to rounding."""

    def thrown(locate: int) -> mbs.Solution:
        model = mbs.Model(gravity=(0, 0, -9.81))
        ball = model.add_node((0, 0, 0.25), velocity=(1, 0, 0))
        model.add(RigidBody(ball, 1.0, [0.004] * 3))
        model.add(Contact(model.ground, ball, Plane(), Ball(0.1), restitution=restitution, friction=friction))
        return mbs.simulate(model, 0.6, 0.005, method=mbs.NonsmoothAlpha(locate=locate))

    late, located = thrown(0), thrown(4)
    off = np.linalg.norm(late.x[:, 1] - located.x[:, 1], axis=1)[60:].max()
    assert off > 1e-5 and located.stats.error.length < 1e-12
    assert 0.7 < late.stats.error.length / off < 1.5


def test_impacts_at_the_ends_of_many_steps_are_told(caplog: pytest.LogCaptureFixture) -> None:
    model = mbs.Model(gravity=(0, 0, -9.81))
    ball = model.add_node((0, 0, 0.11))
    model.add(RigidBody(ball, 1.0, [0.004] * 3))
    model.add(Contact(model.ground, ball, Plane(), Ball(0.1), restitution=0.6))
    mbs.simulate(model, 0.2, 0.02, method=mbs.NonsmoothAlpha(locate=0))
    assert "in 3 of 10 steps impacts acted at the end" in caplog.text


@pytest.mark.slow
def test_what_rattles_faster_than_is_located_is_not_silent() -> None:
    """A ball between the floor and one that falls on it: more impacts in a step than are located by default."""

    def rattling(locate: int) -> mbs.Solution:
        model = mbs.Model(gravity=(0, 0, -9.81))
        bodies = [(model.ground, Plane())]
        for place, mass, speed in (((0, 0, 0.102), 1.0, 0.0), ((0.02, 0, 0.38), 3.0, -1.0)):
            node = model.add_node(place, velocity=(0, 0, speed))
            bodies.append(model.add(RigidBody(node, mass, [0.004 * mass] * 3, shape=Ball(0.1))))
        model.add(contacts_between(bodies, restitution=0.6))
        return mbs.simulate(model, 0.4, 0.005, method=mbs.NonsmoothAlpha(locate=locate))

    few, all_of_them = rattling(4), rattling(64)
    off = np.linalg.norm(few.x - all_of_them.x, axis=2).max()
    assert off > 0.01 and all_of_them.stats.error.length < 1e-12
    assert 0.5 < few.stats.error.length / off < 10.0


@pytest.mark.parametrize("seed", range(3))
def test_what_is_pushed_out_touches(seed: int) -> None:
    """A tilted box, deep in a floor: in the end no corner is, and those that push it have no gap, to rounding."""
    model, rng = mbs.Model(), np.random.default_rng(seed)
    box = model.add_node((0, 0, 0.045), so3.exp(0.05 * rng.normal(size=3)))
    model.add(RigidBody(box, 1.0, [0.01, 0.02, 0.02]))
    model.add(Contact(model.ground, box, Plane(), Box((0.4, 0.3, 0.1))))
    system = System(model)
    contacts, none = contacts_of(system), np.zeros((system.n, 6))
    state = mbs.State(0.0, system.x0, system.R0, none, none, np.zeros(system.m), *3 * [np.zeros(system.k)])
    metric = step_matrix(contacts.open, contacts.without(state), 0.01, mbs.NonsmoothAlpha().smooth_method.coefficients)
    there, pushed = placed(contacts, state, np.ones(contacts.elements, np.bool_), metric)
    gaps = contacts.gaps(system.motion(there))
    assert pushed.any() and gaps.min() > -1e-13
    np.testing.assert_allclose(gaps[pushed], 0.0, rtol=0, atol=1e-13)


@pytest.mark.slow
def test_dominoes_that_lie_on_each_other_rest() -> None:
    """Faces are flat to rounding there, and are hit on one edge after the other in less than a step."""
    model, sides = mbs.Model(gravity=(0, 0, -9.81)), np.array([0.01, 0.03, 0.06])
    parts: list[object] = [(model.ground, Plane())]
    for k in range(3):
        node = model.add_node((0.03 * k, 0, 0.03))
        inertia = 0.02 / 12 * (sides @ sides - sides**2)
        parts.append(model.add(RigidBody(node, 0.02, inertia.tolist(), shape=Box(tuple(sides)))))
    model.nodes[1].velocity, model.nodes[1].angular_velocity = (0.75, 0, 0), (0, 25, 0)
    model.add(contacts_between(parts, friction=0.3))
    solution = mbs.simulate(model, 0.5, 5e-3)
    assert len(solution.t) < 120
    assert max(hit.t for own in model.elements if own.contacts for hit in solution.impulses(own)) < 0.45
    assert solution.energy.kinetic[-1] < 1e-3 * solution.energy.kinetic.max()
