"""What constraints that repeat each other leave open: multipliers of least norm, and gaps that nothing closes.

What residuals are compared with: the largest force and moment, masses behind joints, terms of own equations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion
from fem_mbs.errors import MotionError
from fem_mbs.linear.least_norm import LeastNormSolver, Projection
from fem_mbs.linear.solvers import sums
from fem_mbs.system.pattern import flat

if TYPE_CHECKING:
    from fem_mbs.system.system import Evaluation, System


LIGHT, HEAVY = 1e-12, 1e12
"""Masses against the largest that count as none, and masses that count as infinite."""
TINY = 1e-200
"""A force, or a term, that counts as none: nothing overflows that is divided by it."""
_NONE = np.empty(0)


class Sizes:
    """Largest contributions to the equations, found over arrays that are sorted once."""

    def __init__(self, system: System) -> None:
        self._n, self._k, self._order = system.n, system.k, system.order
        self._slots = system.force_slots
        within = np.where(self._slots < 6 * self._n, self._slots % 6 // 3, 2)
        self._forces, self._moments, self._own = (np.flatnonzero(within == kind) for kind in range(3))
        self._free = (system.equation >= 0).astype(float)
        # no node is held in part, and nothing else needs a weight
        whole = system.free.all(axis=1) | ~system.free.any(axis=1)
        self._rows = system.free_index if not self._k and bool(whole.all()) else None
        # the ground may be far away, where forces have large moments that it holds
        self._acting = self._free[self._slots] if system.origin.any() else None

    def of(self, forces: Array, udot: Array, residual: Array) -> tuple[tuple[float, float], Array, float]:
        """Largest force and moment of all contributions, largest term of each own equation, relative residual."""
        if self._acting is not None:
            forces = forces * self._acting
        free = residual * self._free if self._rows is None else residual[self._rows]
        if not self._k:
            sizes = np.abs(np.concatenate([forces, free])).reshape(-1, 6)
            both = np.maximum.reduceat(sizes, [0, len(forces) // 6]) if len(forces) else np.zeros((2, 6))
            (x, y, z, *moments), left = both.tolist()
            scale = max(x, y, z, TINY), max(*moments, TINY)
            return scale, _NONE, max(max(left[:3]) / scale[0], max(left[3:]) / scale[1])
        sizes, nodes = np.abs(forces), 6 * self._n
        own = np.full(self._k, TINY)
        np.maximum.at(own, self._slots[self._own] - nodes, sizes[self._own])
        # u' - f = 0 has two terms, whoever contributes to it
        states = np.maximum(np.abs(udot), np.abs(udot - residual[nodes:]))
        own = np.maximum(np.where(self._order == 1, states, own), TINY)
        force, moment = (float(sizes[kind].max(initial=TINY)) for kind in (self._forces, self._moments))
        of_nodes = np.abs(free[:nodes]).reshape(-1, 2, 3).max(axis=(0, 2)) / (force, moment)
        return (force, moment), own, max(float(of_nodes.max()), float((np.abs(free[nodes:]) / own).max()))


def diagonal_mass(system: System) -> Array:
    """Diagonal of the mass matrix ``(N,)`` in body components, as built."""
    motion = system.at_rest()
    result = np.zeros(system.N)
    for batch, data, rows in zip(system.batches, system.prescribe(0.0).elements, system.components, strict=True):
        if (mass := batch.mass(batch.force(motion, data)[1])) is not None:
            result += sums(rows.ravel(), np.diagonal(mass, axis1=1, axis2=2).ravel(), system.N)
    return result


def constraint_mass(system: System) -> Array:
    """Mass that each constraint equation accelerates, ``1/diag(B diag(M)^-1 B^T)``, as built, ``(2, m)``.

    The first row has those of equations in units of length, whose reactions are forces; the second the others.
    """
    mass = system.diagonal_mass
    mobility = np.where(system.equation < 0, 0.0, 1.0 / np.maximum(mass, LIGHT * mass.max(initial=TINY)))
    motion = system.at_rest()
    parts = [
        np.vecdot(joints.evaluate(motion, data)[1] ** 2, mobility[rows])
        for joints, data, rows in zip(
            system.constraint_batches, system.prescribe(0.0).constraints, system.gradient_components, strict=True
        )
    ]
    result = 1.0 / np.maximum(flat(parts), 1.0 / HEAVY)
    return np.stack([np.where(system.of_length, result, 0.0), np.where(system.of_length, 0.0, result)])


GAP = 1e-8
"""Largest gap of a joint against the extent of the model."""


def projection(system: System, motion: Motion) -> Projection:
    """What multipliers do at a motion, and which gaps can be closed, where constraints repeat each other.

    Orthogonal for the sum of squares of multipliers that are forces, and of moments over ``length``.
    """
    solver = system.solver
    assert isinstance(solver, LeastNormSolver)
    gradients = flat([joints.evaluate(motion, joints.at(motion.t))[1] for joints in system.constraint_batches])
    stored = sums(solver.slots, system.pattern.of_gradients(gradients), solver.storage + 1)[:-1]
    return solver.projection(stored, system.constraint_weight**-2)


def least_norm(system: System, evaluation: Evaluation) -> Array:
    """Of all multipliers that do the same, those of least norm; the same where they are unique."""
    if system.redundant is None:
        return evaluation.multipliers
    return projection(system, evaluation.motion).least_norm(evaluation.multipliers)


def refuse_gap(system: System, evaluation: Evaluation) -> None:
    """Raise :class:`MotionError` if constraints that repeat each other have left a gap that no motion closes."""
    if system.redundant is None:
        return
    gaps = np.abs(evaluation.constraint * system.constraint_weight)
    if gaps.max() > GAP:
        owner, equation = system.constraint_owner[int(np.argmax(gaps))]
        raise MotionError(
            f"{owner} is open at t = {evaluation.motion.t:.6g} s ({equation}: {gaps.max():.2g}, lengths against "
            "the extent of the model), and no motion closes it: joints that repeat each other contradict each "
            f"other, by their drives or because axes and points do not match. {system.redundant.text}"
        )
