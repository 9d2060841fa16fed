"""What the non-smooth method goes on with from part to part of a step, and from step to step."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fem_mbs.alpha.memory import AlphaMemory, named
from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contact.energy import EnergyAt
from fem_mbs.contracts import Report, State
from fem_mbs.system.system import System

STILL, STILL_STEP = 1e-9, 1e-13
"""Speed that counts as none: of the largest speed, and of the extent in a step."""


class ContactMemory(NamedTuple):
    """What the method goes on with."""

    alpha: AlphaMemory
    """That of the smooth part."""
    touches: BoolArray
    """Contacts that touch and do not part, ``(C,)``: the laws of these are equations of the next smooth part."""
    approach: Array
    """The largest speed of approach that each has seen, ``(C,)``."""
    clear: Array
    """Paths in m on which the fastest point closes no gap of each element, ``(E,)``."""
    speed: float = 0.0
    """Of that point, m/s."""
    energy: EnergyAt | None = None
    """At the state, where it is known."""
    unlocated: int = 0
    """Steps so far that had more impacts than were located."""
    steps: int = 0
    """Steps so far."""
    damped: int = 0
    """Smooth parts so far that were made by Euler's method: they had gained energy, or had no solution."""
    rise: float = 0.0
    """Energy in J that steps in contact have gained since they last had lost as much."""
    most: float = 0.0
    """The largest rise so far, J."""
    motion: float = 0.0
    """The largest energy of the motion so far in contact, kinetic and of strain, J."""
    where: int = 0
    """The contact that pushed most as the largest rise was reached."""
    brought: float = 0.0
    """Energy of impacts that have brought some, J."""
    longest: float = 0.0
    """The longest step so far, s."""


def from_file(memory: ContactMemory) -> ContactMemory:
    """A memory whose parts are plain tuples, with their names."""
    if type(memory.alpha) is not tuple:
        return memory
    energy = None if memory.energy is None else EnergyAt(*memory.energy)
    return memory._replace(alpha=named(AlphaMemory(*memory.alpha)), energy=energy)


class Standing(NamedTuple):
    """Where a step stands."""

    state: State
    memory: ContactMemory


class Smooth(NamedTuple):
    """A smooth part of a step."""

    point: Standing
    report: Report
    error: float
    gap: Array | None = None
    """At its end ``(C,)``; None where nothing comes near."""
    near: BoolArray | None = None
    """Elements ``(E,)`` whose gaps may have closed; others have gaps without end."""
    free: BoolArray | None = None
    """Contacts ``(C,)`` whose laws were no equations of it, and which may have come too deep."""
    damped: bool = False
    """Whether it is one of Euler's method."""
    impulsive: bool = False
    """Whether contacts that touch are left to impulses, because no forces of them hold for the step."""


def fastest(system: System, state: State) -> float:
    """The largest speed of a point of the model, m/s."""
    x, y, z, *angular = np.abs(state.v).max(axis=0).tolist()
    return math.hypot(x, y, z) + system.length * math.hypot(*angular)


def still(system: System, state: State, h: float) -> float:
    """Speed that counts as none, m/s."""
    return STILL * fastest(system, state) + STILL_STEP * system.length / max(h, 1e-12)
