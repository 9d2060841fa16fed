"""What the non-smooth method goes on with from part to part of a step, and from step to step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fem_mbs.alpha.local_error import worst
from fem_mbs.alpha.newmark import AlphaMemory, named
from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contact.energy import Balance, EnergyAt
from fem_mbs.contracts import Report, State
from fem_mbs.system.system import System

STILL, STILL_STEP = 1e-9, 1e-13
"""Speed that counts as none: of the largest speed, and of the extent in a step."""


class Watch(NamedTuple):
    """Which open contacts may close: gaps as last measured, and how far the model has moved since."""

    clear: Array
    """Paths in m that close no gap of each element, when that was measured last, ``(E,)``."""
    least: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """The smallest of them: of what only ways of nodes close, of what only turns do, and of the rest."""
    gone: tuple[float, float] = (0.0, 0.0)
    """Paths since then: of the fastest node, and of what turns fastest at the end of the extent of the model."""
    speed: tuple[float, float] = (0.0, 0.0)
    """Of these at the state, m/s."""
    gap: Array | None = None
    """At the state ``(C,)``, without end of what is not near; None where nothing is."""
    near: BoolArray | None = None
    """Elements ``(E,)`` whose gaps may have closed."""

    def closes(self, ways: float, turns: float, both: float) -> bool:
        """Whether paths may close any gap: of what only ways of nodes close, of what only turns do, and of the rest."""
        least = self.least
        return not (ways < least[0] and turns < least[1] and both < least[2])


class ContactMemory(NamedTuple):
    """What the method goes on with."""

    alpha: AlphaMemory
    """That of the smooth part."""
    touches: BoolArray
    """Contacts that touch and do not part, ``(C,)``: the laws of these are equations of the next smooth part."""
    approach: Array
    """The largest speed of approach that each has seen, ``(C,)``."""
    watch: Watch
    balance: Balance = Balance()
    steps: int = 0
    """Steps so far."""
    longest: float = 0.0
    """The longest of them, s."""
    unlocated: int = 0
    """Those that had more impacts than were located."""
    damped: int = 0
    """Smooth parts that were made by Euler's method: they had gained energy, or had no solution."""


def from_file(memory: ContactMemory) -> ContactMemory:
    """A memory whose parts are plain tuples, with their names."""
    balance = Balance(*memory.balance)
    if balance.energy is not None:
        balance = balance._replace(energy=EnergyAt(*balance.energy))
    alpha = named(AlphaMemory(*memory.alpha))
    return memory._replace(alpha=alpha, watch=Watch(*memory.watch), balance=balance)


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


def fastest(system: System, state: State) -> tuple[float, float]:
    """The largest speed of a node, and that of turns at the end of the extent of the model, m/s."""
    led, turned = worst(system, state.v.ravel()).tolist()
    return led, system.length * turned


def farthest(system: System, first: State, last: State) -> tuple[float, float]:
    """The longest way of a node between two places, and that of turns at the end of the extent of the model, m."""
    way = system.kinematics.relative(first.x, first.R, last.x, last.R)
    linear = float(np.linalg.norm(last.x - first.x, axis=1).max())
    return linear, system.length * float(np.linalg.norm(way[:, 3:], axis=1).max())


def still(system: System, state: State, h: float) -> float:
    """Speed that counts as none, m/s."""
    return STILL * sum(fastest(system, state)) + STILL_STEP * system.length / max(h, 1e-12)
