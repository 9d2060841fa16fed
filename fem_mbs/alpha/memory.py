"""What the generalised-alpha method goes on with from step to step, beside the state."""

from __future__ import annotations

from typing import NamedTuple

from fem_mbs.alpha.newmark import PredictorHistory
from fem_mbs.arrays import Array
from fem_mbs.newton import ConvergenceHistory


class AccelerationHistory(NamedTuple):
    """Highest derivatives ``(N,)`` of the last states, see :func:`~fem_mbs.alpha.local_error.highest_derivatives`."""

    now: Array
    t_old: float
    old: Array
    """One step ago, or as far ago as there are steps."""
    t_older: float
    older: Array
    """Two steps ago."""
    error: float = 0.0
    """Local error of the step that led here; 0 where it is not known."""


def restarted(now: Array, t: float, error: float = 0.0) -> AccelerationHistory:
    """The history where nothing before is known, or tells of what follows."""
    return AccelerationHistory(now, t, now, t, now, error)


class CarriedErrors(NamedTuple):
    """Errors of a run that are carried along over blocks of steps, and where to."""

    values: Array
    """Of the configuration, velocities, accelerations, algorithmic ones and ``Z/h``, ``(5, N)``."""
    t: float
    """Time up to which they were carried,"""
    flow: Array
    """and how the state changes where the last block ended ``(3, N)``."""
    singles: int
    """How many steps more they are carried on one by one before a block is planned,"""
    until: float
    """time after which they are carried on, at the latest,"""
    expected: float
    """and the local error that no step before has."""
    largest: Array
    """Length in m and angle in rad of the worst node, the largest ones ``(2, 2)`` before a time and since then."""
    began: float
    since: float
    """When errors began, and that time: half as long after it, or more."""
    turned: float = 0.0
    """How far what changes velocities has turned, in rad,"""
    lag: float = 0.0
    """the largest share of the time that the motion has been late or early by, once it had come round,"""
    speeds: Array | tuple[float, float] = (0.0, 0.0)
    """and the largest velocity and angular velocity."""


class AlphaMemory(NamedTuple):
    """What the method goes on with, beside the state.

    The method of the papers needs ``h``, ``a`` and the accelerations of the state alone; the rest serves it.
    """

    h: float
    """The step that led here, or the first one that was meant."""
    steps: int
    a: Array
    """Algorithmic accelerations ``(N,)``."""
    accelerations: AccelerationHistory
    """Of the state, and before: for the local error and a change of the step."""
    predictor: PredictorHistory | None = None
    """What the last guesses missed."""
    convergence: ConvergenceHistory | None = None
    """What first corrections have left of late."""
    matrix: tuple[Array, ...] | None = None
    """Inverse tangent operators, none of a compiled step, and factors of the last iteration matrix."""
    eta: Array | None = None
    """Multipliers of the constraints on velocities in the last step, of index 2, to be looked at."""
    velocity_perturbation: Array | None = None
    """At a perturbed start: what the velocities (N,) have beyond those of the state."""
    before: Array | None = None
    """At a start that a trial is still to correct: highest derivatives ``(N,)`` just before it."""
    branches: Array | None = None
    """On which side of their kinks laws are, where there are such."""
    errors: CarriedErrors | None = None
    """Errors of the run, where they are carried along: :func:`~fem_mbs.alpha.local_error.carried_on`."""
    resolves: float = 0.0
    """Longest step for which nothing has been taken from accelerations where the steps began anew: up to it they may
    grow as they like."""


def named(memory: AlphaMemory) -> AlphaMemory:
    """A memory from a file, whose parts are plain tuples, with their names."""
    return memory._replace(
        accelerations=AccelerationHistory(*memory.accelerations),
        predictor=None if memory.predictor is None else PredictorHistory(*memory.predictor),
        convergence=None if memory.convergence is None else ConvergenceHistory(*memory.convergence),
        errors=CarriedErrors(*memory.errors)
        if isinstance(memory.errors, tuple)
        else None,  # of other kinds in earlier files
    )
