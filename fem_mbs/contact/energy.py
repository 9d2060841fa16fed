"""Whether a step has gained energy that nothing brought.

Of a step, ``gain = E_1 - E_0 - W`` with the energies of all elements and the work ``W`` of forces that store none, of
loads and laws over time, and of drives, by the trapezoidal rule. Contacts take energy, and joints have none. The
generalised-alpha method has an energy of its own, about which this one swings: by 0.0013 of what a linear vibration
exchanges in a step at most, whatever the step resolves of it, in the long run (``rho_inf = 0.8``). Where contacts open
with what is pressed together, or steps change, stiff parts may gain many times what they had stored.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.compiled.batches import CompiledElements
from fem_mbs.contracts import ConstraintBatch, ElementBatch, Motion, State
from fem_mbs.system import constraints
from fem_mbs.system.system import System

EXCHANGED, TURNED = 1e-2, 0.05
"""Gains that pass: of what the parts exchange in a step, and of kinetic energy, times the cube of what turns, rad."""
MOST_TURN = 0.3
ROUNDING = 1e-12
"""Of all energies, and of the work of what presses along what gaps are measured by."""


class EnergyAt(NamedTuple):
    """Energies at an instant."""

    cells: Array
    """Kinetic, of strain and of gravity, of all cells ``(c, 3)``."""
    power: float
    """Of forces that store none and of drives, W."""
    turn: float
    """The largest angular velocity, rad/s."""


def energy_at(system: System, state: State) -> EnergyAt:
    """Energies of a state."""
    motion = system.motion(state)
    power = 0.0
    for batch in _plain(system):
        if type(batch).energy is ElementBatch.energy and batch.reads is None:
            power -= _power(batch, motion)
    for k, joints in enumerate(system.constraint_batches):
        if type(joints).at is not ConstraintBatch.at:
            phi, gradient, context = joints.evaluate(motion, joints.at(state.t))
            still = replace(motion, V=np.zeros_like(motion.V), udot=np.zeros_like(motion.udot))
            rate = constraints.rate(joints, still, phi, gradient, context)
            power += float(state.multipliers[system.constraint_slices[k]] @ rate)
    return EnergyAt(_cells(system, motion), power, float(np.abs(motion.V[:, 3:]).max(initial=0.0)))


def _by_time(system: System, state: State, energy: EnergyAt, t: float) -> float:
    """By how much laws over time change the energy of a state until ``t``."""
    if not system.follows_time:
        return 0.0
    return float(_cells(system, replace(system.motion(state), t=min(t, system.end))).sum() - energy.cells.sum())


def _cells(system: System, motion: Motion) -> Array:
    storing = (batch for batch in _plain(system) if type(batch).energy is not ElementBatch.energy)
    parts = [np.stack(np.broadcast_arrays(*map(np.atleast_1d, b.energy(motion))), axis=-1) for b in storing]
    return np.concatenate([np.zeros((1, 3)), *parts])


def _plain(system: System) -> list[ElementBatch]:
    return [batch.batch if isinstance(batch, CompiledElements) else batch for batch in system.batches]


def _power(batch: ElementBatch, motion: Motion) -> float:
    force = batch.force(motion, batch.at(motion.t))[0]
    if batch.terms > 1:
        force = force.sum(axis=1)
    width = 6 * batch.nodes.shape[1]
    V = motion.V[batch.nodes].reshape(len(batch.nodes), width)
    return float((force[:, :width] * V).sum())


class Gain(NamedTuple):
    """Energy that nothing brought in a step, J."""

    more: float
    """Beyond what passes, 0 if there is none."""
    all: float
    """Of both signs, with what friction took, less rounding and what the work of forces may be off."""
    end: EnergyAt
    """Energies at its end."""

    @property
    def motion(self) -> float:
        """Kinetic energy and that of strain at its end."""
        return float(self.end.cells[:, :2].sum())


def gained(system: System, first: State, last: State, before: EnergyAt | None = None, pressed: float = 0.0) -> Gain:
    """What a step has gained; energies ``before`` are those of the first state, where they are known.

    Contacts that are ``pressed`` (J, by their sizes) stay where they are to rounding, whatever moves.
    """
    h, before, after = last.t - first.t, before or energy_at(system, first), energy_at(system, last)
    work = 0.5 * h * (before.power + after.power)
    work += 0.5 * (_by_time(system, first, before, last.t) - _by_time(system, last, after, first.t))
    turn = min(h * max(before.turn, after.turn), MOST_TURN)
    # the trapezoidal rule is off by (omega h)^2/12 of a power that swings, by omega h/12 where that goes through zero
    doubt = 4.0 * EXCHANGED * h * (abs(before.power) + abs(after.power))
    passes = EXCHANGED * np.abs(after.cells - before.cells).sum() + TURNED * turn**3 * before.cells[:, 0].sum()
    gain = float(after.cells.sum() - before.cells.sum() - work - doubt)
    gain -= ROUNDING * (float(np.abs(before.cells).sum()) + pressed)
    more = max(0.0, gain - float(passes))
    return Gain(more, gain, after)


class Balance(NamedTuple):
    """What steps in contact have gained so far."""

    energy: EnergyAt | None = None
    """At the state, where it is known."""
    rise: float = 0.0
    """What they have gained since they last had lost as much, J."""
    most: float = 0.0
    """The largest rise, J."""
    motion: float = 0.0
    """The largest energy of the motion, kinetic and of strain, J."""
    where: int = 0
    """The contact that pushed most as the largest rise was reached."""

    def after(self, gain: Gain, pressed: int) -> Balance:
        """With a further step, at the end of which a contact pushes most."""
        rise, motion = max(0.0, self.rise + gain.all), max(self.motion, gain.motion)
        if rise <= self.most:
            return Balance(gain.end, rise, self.most, motion, self.where)
        return Balance(gain.end, rise, rise, motion, pressed)
