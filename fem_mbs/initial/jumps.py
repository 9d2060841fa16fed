"""Instants at which something jumps: a load is switched, a controller takes its next sample.

A step ends just before such an instant and the next one begins just after it, from accelerations, multipliers and rates
that are consistent there (docs/theory.md, "Jumps"). Positions and velocities do not jump.
"""

from __future__ import annotations

import math
from dataclasses import replace

from fem_mbs.contracts import State
from fem_mbs.errors import ModelError
from fem_mbs.initial.consistent_start import accelerations
from fem_mbs.initial.state_point import StatePoint, place_of
from fem_mbs.system.system import System

SIDE = 4.0
"""How far before and after an instant its two sides are, in roundings of the time."""


def side(t: float) -> float:
    """A time that is nothing beside ``t``, in s."""
    return SIDE * math.ulp(t)


def next_jump(system: System, state: State, end: float) -> float:
    """The next instant at which something jumps, after a state; the end of the run, if it is that but for rounding."""
    instant = system.next_jump(state)
    if not instant > state.t:
        raise ModelError(
            f"simulate: after a jump at t = {state.t:g} s an element says that the next one is at {instant:g} s; "
            "next_jump of its batch must return a later instant"
        )
    return end if abs(instant - end) <= side(end) else instant


def jumped(system: System, state: State) -> State:
    """The state after a jump."""
    state = system.jump(state)
    place: StatePoint = place_of(state)
    vdot, multipliers, u, udot, uddot = accelerations(system, place._replace(t=state.t + side(state.t)))
    return replace(state, vdot=vdot, multipliers=multipliers, u=u, udot=udot, uddot=uddot)
