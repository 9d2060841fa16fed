"""Errors of a run that are carried along, over blocks of steps (docs/accuracy.md, "Errors that grow").

Errors change as slowly as the motion does, and so does the tangent that carries them: a block is as long as the motion
bends by :data:`BENT`. One large step of the linearised equations leads over it, with the tangent at its end
(:meth:`~fem_mbs.alpha.step.StepEquations.carried`), and what its steps have got wrong is that of its last one, times
their number.

A block is too coarse for what goes on for long: the errors of a thing that swings would run out of phase with it, or
grow where they do not. What the motion itself leads along is known exactly, though: nothing that depends on time alone,
its velocity solves the linearised equations. The share of the errors that lies along it, which is an error in time, is
taken out before a block and put back after it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import isclose

import numpy as np

from fem_mbs.alpha.local_error import StepErrors, highest_derivatives
from fem_mbs.alpha.memory import CarriedErrors
from fem_mbs.alpha.newmark import SAME, newmark
from fem_mbs.alpha.step import Linearization, Scheme, StepEquations, StepResidual, Unknowns
from fem_mbs.arrays import Array
from fem_mbs.contracts import State
from fem_mbs.newton import Iterate
from fem_mbs.system.pattern import TINY
from fem_mbs.system.system import System

BENT = 0.3
"""What a block may be long, over the time in which velocities change into others, in rad of an oscillation,"""
MOST = 64
"""and in steps."""
FASTER = 4.0
"""A local error so many times that of the step before a block ends it."""


def begun(system: System, state: State) -> CarriedErrors:
    """No errors yet, at a state."""
    values, t = np.zeros((5, system.N)), state.t
    here = t, state.x, state.R, flow(system, state)
    return CarriedErrors(values, *here, 0.0, t, 0.0, np.zeros((2, 2)), began=t, since=t)


def flow(system: System, state: State, before: Array | None = None, H: float = 0.0) -> Array:
    """What a state would be off by a second earlier or later ``(3, N)``: rates, their rates, and those of these.

    The last ones by differences over ``H`` from what was ``before``.
    """
    rates, now = np.append(state.v, state.udot), highest_derivatives(system, state)
    if before is None:
        return np.stack([rates, now, np.zeros_like(now)])
    third = (now - np.where(system.orders == 1, before[0], before[1])) / H
    return np.stack([rates, np.where(system.orders == 1, third, now), third])


def autonomous(system: System, state: State, before: float) -> bool:
    """Whether nothing depends on time alone, now as before: the motion begun a little later is the same, later."""
    if system.has_history or any(batch.driven for batch in system.constraint_batches):
        return False
    if not system.follows_time:
        return True
    first, second = system.forces_over_time(system.motion(state), (before, state.t))
    return bool((first == second).all())


def over_block(
    system: System, errors: CarriedErrors, new: State, h: float, carry: Callable[[float, Array], Array]
) -> CarriedErrors:
    """Errors where a block ends, at a new state after a step of ``h``: ``carry(H, values)`` leads them there.

    When it is due again is left open.
    """
    H, (e, v) = new.t - errors.t, errors.values[:2]
    values, then = errors.values.copy(), errors.flow
    now, late = flow(system, new, then, H), 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        if H > (1.0 + SAME) * h and autonomous(system, new, errors.t):
            w = system.weight
            q, r = w * then[0], w * then[1]
            rate = np.dot(r, r) / (np.dot(q, q) + TINY)
            late = float((rate * np.dot(q, w * e) + np.dot(r, w * v)) / (rate * np.dot(q, q) + np.dot(r, r) + TINY))
            values[:4] -= late * then[[0, 1, 2, 2]]
        values = carry(H, values)
        values[:4] += late * now[[0, 1, 2, 2]]
        parts = values[0, : 6 * system.n].reshape(-1, 2, 3)
        size, (before, since) = np.sqrt(np.maximum.reduce(np.vecdot(parts, parts))), errors.largest
    if begins := new.t - errors.began >= 2.0 * (errors.since - errors.began):
        before, since = since, np.zeros(2)
    largest = np.stack([before, np.maximum(since, size)])
    errors = errors._replace(values=values, t=new.t, x=new.x, R=new.R, flow=now, step=H, largest=largest)
    return errors._replace(since=new.t) if begins else errors


def carried_on(
    scheme: Scheme,
    equations: StepEquations,
    solution: Iterate[Unknowns, StepResidual, Linearization],
    new: State,
    errors: CarriedErrors,
    wrong: StepErrors,
) -> CarriedErrors:
    """Errors at the end of a step, which the equations have led to a new state as the last of a block."""
    system, h = scheme.system, equations.h

    def carry(H: float, values: Array) -> Array:  # noqa: N803
        assert wrong.velocities is not None
        count = 1.0 if wrong.sudden else H / h
        formulas = newmark(scheme.parameters, H, values[1:4], system.order)
        block, there = equations, solution
        if not isclose(H, h, rel_tol=SAME):
            v = errors.flow[0, : equations.first].reshape(system.n, -1)
            start = replace(equations.state, t=errors.t, x=errors.x, R=errors.R, v=v)
            block, there = equations.block(start, H, formulas, solution.unknown, solution.value)
        return block.carried(there, values, formulas.constants, count * wrong.increment, count * wrong.velocities)

    result = over_block(system, errors, new, h, carry)
    return planned(scheme, result, wrong.local, h, new)


def planned(scheme: Scheme, errors: CarriedErrors, local: float, h: float, state: State) -> CarriedErrors:
    """With the end of the next block, after a step of ``h`` with a local error.

    In an oscillation of frequency ``w`` that is ``C_q (w h)^2`` of the path ``h v``.
    """
    system, most = scheme.system, min(MOST, 2.0 * errors.step / h + 1.0)
    path = h * system.largest_of_nodes(state.v.ravel())
    bent = (local / (abs(scheme.parameters.C_q) * path)) ** 0.5 if path > 0.0 else BENT
    if system.has_history:  # what jumps is told of its errors at every step
        most = 1.0
    count = max(1.0, min(BENT / (bent + TINY), most) // 1.0)
    return errors._replace(until=errors.t + (count - 0.5) * h, expected=FASTER * local)
