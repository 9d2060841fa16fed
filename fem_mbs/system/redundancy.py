"""What constraints that repeat each other leave open: multipliers of least norm, and gaps that nothing closes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import MotionError
from fem_mbs.model import Motion
from fem_mbs.system.least_norm import LeastNormSolver, Projection
from fem_mbs.system.linear import sums
from fem_mbs.system.pattern import flat

if TYPE_CHECKING:
    from fem_mbs.system.evaluation import Evaluation
    from fem_mbs.system.system import System

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
