"""What constraints that repeat each other leave open: multipliers of least norm, and gaps that nothing closes.

Masses, and masses behind joints, as built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion
from fem_mbs.errors import MotionError
from fem_mbs.linear.constrained import LeastNormSolver, Projection
from fem_mbs.linear.solvers import sums
from fem_mbs.system.pattern import TINY, flat

if TYPE_CHECKING:
    from fem_mbs.system.system import Evaluation, System


LIGHT, HEAVY = 1e-12, 1e12
"""Masses against the largest that count as none, and masses that count as infinite."""


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
    return solver.projection(solver.stored(system.pattern.of_gradients(gradients)), system.constraint_weight**-2)


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
