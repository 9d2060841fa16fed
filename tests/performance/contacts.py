"""Contacts: what open ones cost a step, and what balls in a box cost, by steps and by contacts.

``python tests/performance/contacts.py`` steps a pendulum without contacts and with one that stays open, in turns, by
NumPy (with ``FEM_MBS_FAST=0``: a run with contacts compiles what has none) and compiled; ``--balls 100 1000`` lets as
many fall in a box, and tells what of it is the search for impulses.
"""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import numpy as np
from measure import arguments, describe, table

import fem_mbs as mbs
from fem_mbs.compiled import accelerate
from fem_mbs.contact.complementarity import Laws
from fem_mbs.contact.contacts import contacts_of
from fem_mbs.elements import Ball, Contact, JointStop, Plane, RevoluteJoint, RigidBody, Rope, contacts_between
from fem_mbs.run.fixed_step import FixedStep
from fem_mbs.run.time_loop import TimeIntegration
from fem_mbs.system.system import System

OPEN = "no contact", "plane 4 m off", "plane 4 cm off", "rope", "stop"
STEPS = 150


def pendulum(kind: str) -> mbs.Model:
    """A body on a rod of 1 m, from 60 degrees, and what it never touches."""
    model, angle = mbs.Model(gravity=(0, 0, -9.81)), np.pi / 3
    bob = model.add_node((np.sin(angle), 0, -np.cos(angle)))
    model.add(RigidBody(bob, 1.0, [1e-3] * 3))
    hinge = model.add(RevoluteJoint(model.ground, bob, (0, -1, 0), point=(0, 0, 0)))
    match kind:
        case "plane 4 m off" | "plane 4 cm off":
            off = 4.0 if kind == "plane 4 m off" else 0.04
            model.add(Contact(model.ground, bob, Plane((0, 0, 1), (0, 0, -1.01 - off)), Ball(0.01)))
        case "rope":
            model.add(Rope(model.ground, bob, 1.5))
        case "stop":
            model.add(JointStop(hinge, -3, 3, restitution=0.8))
    return model


def integration(model: mbs.Model, h: float, compiled: bool) -> TimeIntegration:
    """A run under way."""
    system = System(model)
    if compiled:
        accelerate(system)
    method = mbs.NonsmoothAlpha() if contacts_of(system).count else mbs.GeneralizedAlpha(0.8)
    return TimeIntegration(system, method, FixedStep(h), 1e3, None)


def seconds(run: TimeIntegration, steps: int) -> float:
    """Of the processor, for some steps."""
    began = time.process_time()
    for _ in range(steps):
        run.advance()
    return time.process_time() - began


def inactive(repeats: int) -> None:
    """The table of open contacts."""
    rows = []
    for words, compiled in (("NumPy", False), ("compiled", True)):
        runs = [integration(pendulum(kind), 0.01, compiled) for kind in OPEN]
        for run in runs:
            seconds(run, 60)
        rounds = [[seconds(run, STEPS) for run in runs] for _ in range(repeats)]
        for k, kind in enumerate(OPEN):
            micro = 1e6 * median(row[k] for row in rounds) / STEPS
            rows.append((f"{words}: {kind}", f"{micro:.1f}", f"{median(row[k] / row[0] for row in rounds):.3f}"))
    print(table(("a step of the pendulum", "us", "ratio"), rows))


def balls(count: int) -> mbs.Model:
    """Balls of 0.1 m on a lattice in a box that is as wide as they need, with speeds at random."""
    rng, model = np.random.default_rng(1), mbs.Model(gravity=(0, 0, -9.81))
    wide = int(np.ceil(count ** (1 / 3)))
    side = 0.25 * wide
    walls = [Plane(axis) for axis in np.eye(3)]
    walls += [Plane(-axis, side * axis) for axis in np.eye(3)[:2]]
    bodies: list[object] = [(model.ground, wall) for wall in walls]
    for k in range(count):
        cell = np.array([k % wide, k // wide % wide, k // wide**2])
        node = model.add_node(0.125 + 0.25 * cell + rng.uniform(-0.02, 0.02, 3), velocity=rng.normal(size=3))
        bodies.append(model.add(RigidBody(node, 1.0, [0.004] * 3, shape=Ball(0.1))))
    model.add(contacts_between(bodies, restitution=0.3, friction=0.3))
    return model


def fall(count: int, duration: float, h: float) -> None:
    """A line of the balls in their box."""
    spent, last = 0.0, 0.0
    solve = Laws.pushes

    def timed(*given: Any, **named: Any) -> Any:
        nonlocal spent
        began = time.process_time()
        result = solve(*given, **named)
        spent += time.process_time() - began
        return result

    Laws.pushes = timed  # type: ignore[method-assign]
    began = time.process_time()
    run = integration(balls(count), h, True)
    built, closed, steps, marks = time.process_time() - began, 0, 0, iter(np.linspace(0.1, 1.0, 10) * duration)
    began, mark = time.process_time(), next(marks)
    while run.state.t < duration - 0.5 * h:
        run.advance()
        steps, closed = steps + 1, closed + int(run.memory.touches.sum())
        if run.state.t >= mark - 0.5 * h:
            mark = next(marks, np.inf)
            now = time.process_time() - began
            print(
                f"  t = {run.state.t:.3f} s: {now:.1f} s, {now - last:.1f} s since, {run.memory.touches.sum()} closed"
            )
            last = now
    total = time.process_time() - began
    print(
        f"{count} balls: {contacts_of(run.system).count} pairs, built in {built:.1f} s; {1e3 * total / steps:.1f} ms a "
        f"step, {closed / steps:.1f} touch at its end in the mean; {100 * spent / total:.0f} % is complementarity"
    )


if __name__ == "__main__":
    parser = arguments(__doc__ or "", 15)
    parser.add_argument("--balls", type=int, nargs="+", default=[])
    parser.add_argument("--duration", type=float, default=0.5)
    parser.add_argument("--step", type=float, default=5e-3)
    options = parser.parse_args()
    print(describe())
    if options.balls:
        for number in options.balls:
            fall(number, options.duration, options.step)
    else:
        inactive(options.repeats)
