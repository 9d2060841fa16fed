"""What the non-smooth method goes on with from part to part of a step, and from step to step."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fem_mbs.alpha.local_error import worst
from fem_mbs.alpha.newmark import AlphaMemory
from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contact.energy import Balance
from fem_mbs.contracts import Report, State
from fem_mbs.system.system import System

LONGEST_PAUSE = 63
"""Steps at most for which nothing is located, after some in which it was in vain."""
STILL, STILL_STEP = 1e-9, 1e-13
"""Speed that counts as none: of the largest speed, and of the extent in a step."""


class Limits(NamedTuple):
    """What no node exceeds at the ends of steps."""

    speed: float = 0.0
    """m/s."""
    turn: float = 0.0
    """rad/s."""
    push: float = 0.0
    """Change of its velocity in a step over this, m/s^2."""


class Watch(NamedTuple):
    """Which open contacts may close, and until when none does."""

    until: Array
    """Times up to which those of each element stay open while limits hold, ``(E,)``."""
    first: float = -math.inf
    """The first of them."""
    limits: Limits = Limits()
    gap: Array | None = None
    """At the state ``(C,)``, without end of what is not near; None where nothing is."""
    near: BoolArray | None = None
    """Elements ``(E,)`` whose gaps may have closed."""


class Search(NamedTuple):
    """What it has cost to find when contacts close or stop to slide."""

    tried: Array = np.zeros(0)
    """Parts that were tried for each contact, ``(C,)``; none before the first."""
    pause: int = 0
    """Steps near contacts for which nothing is located, as it was in vain."""
    longer: int = 0
    """How many these are where it is in vain once more."""

    def after(self, tried: Array, in_vain: bool) -> Search:
        """After a step: in vain was it where there were more impacts, or where what they set off was not resolved."""
        if self.pause or tried is self.tried:
            return Search(tried, max(self.pause - 1, 0), self.longer)
        return Search(tried, self.longer, min(2 * self.longer + 1, LONGEST_PAUSE)) if in_vain else Search(tried)


class ContactMemory(NamedTuple):
    """What the method goes on with."""

    alpha: AlphaMemory
    """That of the smooth part."""
    touches: BoolArray
    """Contacts whose laws are equations of the next smooth part, ``(C,)``: of each place that is closed one."""
    closed: BoolArray
    """All that touch and do not part, ``(C,)``."""
    approach: Array
    """The largest speed of approach that each has seen, ``(C,)``."""
    watch: Watch
    balance: Balance = Balance()
    steps: int = 0
    """Steps so far."""
    longest: float = 0.0
    """The longest of them, s."""
    unlocated: int = 0
    """Those with impacts that were not located."""
    damped: int = 0
    """Smooth parts that were made by Euler's method: they had gained energy, or had no solution."""
    search: Search = Search()


class Standing(NamedTuple):
    """Where a step stands."""

    state: State
    memory: ContactMemory


class Smooth(NamedTuple):
    """A smooth part of a step."""

    point: Standing
    report: Report
    error: float
    gains: bool = False
    """Whether it has gained more energy than passes."""
    damped: bool = False
    """Whether it is one of Euler's method."""
    impulsive: bool = False
    """Whether contacts that touch are left to impulses, because no forces of them hold for the step."""
    jumps: bool = False
    """Whether forces of contact jump at its end, from where the smooth part then begins anew."""
    stops: BoolArray | None = None
    """Contacts ``(C,)`` whose slip has ended in it; None where none has."""


def fastest(system: System, state: State) -> float:
    """The largest speed of a node, and that of turns at the end of the extent of the model, m/s."""
    led, turned = worst(system, state.v.ravel()).tolist()
    return float(led + system.length * turned)


def still(system: System, state: State, h: float) -> float:
    """Speed that counts as none, m/s."""
    return STILL * fastest(system, state) + STILL_STEP * system.length / max(h, 1e-12)
