"""Three-stage Radau IIA on the group: a method of order 5 for stiff and constrained models, and its local error.

Hairer, Wanner, *Solving Ordinary Differential Equations II* (1996), IV.5 (Table 5.6), IV.8 and VII.4. Stage values
``z`` after the start have the rates ``W z/h`` with ``W = A^-1``, whose eigenvectors part a linear system of all stages
into one real and two conjugate complex ones. The equations of the stages and the end of a step are in
``radau_stages.py``.

The local error is that of an embedded formula of order 3 (eqs. 8.17-8.19), for equations of second order: the
difference of both formulas in positions and in velocities is filtered by the real matrix of the stages,
``(w/h)^2 M + (w/h) C + K`` beside the constraints. What stiffness and joints hold back drops out.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

import numpy as np

from fem_mbs.alpha.local_error import highest_derivatives
from fem_mbs.arrays import Array
from fem_mbs.contracts import Method, Report, State, Step, checked
from fem_mbs.errors import ModelError
from fem_mbs.linear.solvers import Factors
from fem_mbs.methods.radau_stages import (
    ERROR,
    NODES,
    REAL,
    WEIGHTS,
    Radau,
    StageLinearization,
    StageResiduals,
    Stages,
    ahead,
    closed,
    following,
    last_stage,
    settled,
)
from fem_mbs.newton import Newton, NotConvergedError
from fem_mbs.system.matrices import rate_product, solve_with_constraints
from fem_mbs.system.system import System


def embedded_error(problem: Radau, stages: Stages, trial: StageResiduals, factors: Factors) -> Array:
    """Difference (N,) of the configurations of both formulas, in body components."""
    system, h = problem.system, problem.h
    D = h / REAL * problem.begin + ERROR @ stages.D
    v = h / REAL * highest_derivatives(system, problem.state) + ERROR @ (trial.rates[0] - problem.begin)
    last = trial.evaluations[2]
    D, v = system.to_body(last.motion.R, D), system.to_body(last.motion.R, v)
    dV, dA = REAL * h * D * problem.moving, (REAL**2 * D + REAL * h * v) * problem.second
    force = rate_product(system, last, dV, dA)
    error, _ = solve_with_constraints(system, factors, force, np.zeros(system.m))
    return error * problem.moving


SHARE = 1e-6
"""What Newton's method may leave of the error of an extrapolated guess, which falls like that of the step."""
STALLED = 1e-10
"""Corrections below this that do not fall any more are rounding."""
SLOW = 0.5
"""Contraction at which steps that follow a tolerance do not become longer."""
RENEWED = 0.7
"""Contraction from which on a matrix is made once more, where the iteration then is."""
GROWTH = 2.0
"""Newton's method has failed where a correction is so much longer than the last one."""
LEAST = 0.02
"""No smaller contraction is counted on: a first correction, of the error of the guess, leaves less than later ones."""


class RadauMemory(NamedTuple):
    """What the method goes on with."""

    h: float = 0.0
    """The last step, 0 at a start."""
    contraction: float = 1.0
    """What a correction of Newton's method left of the one before."""
    rates: Array | None = None
    """Rates at its start and at its stages, ``(4, N)``."""
    slope: Array | None = None
    """Derivative (N,) of these at its end."""
    multipliers: Array | None = None
    """Those of its stages, ``(3, m)``."""


StageSolution = tuple[Stages, StageResiduals, StageLinearization, Report, float]
"""What Newton's method has found, the equations before the last correction, and what a correction left."""


@checked
@dataclass(frozen=True)
class RadauIIA(Method):
    """Three-stage Radau IIA on the group, of order 5 and stiffly accurate, with joints closed on both levels.

    For accurate results: a step costs about four of the generalised-alpha method, and is worth it from relative errors
    of about 1e-4 down (docs/high_order.md). It damps what a step does not resolve.

    Parameters
    ----------
    newton : Newton
        Options of Newton's method, of which ``max_iterations``, ``correction_tolerance`` and ``constraint_tolerance``
        are used. The matrix is that of Hairer and Wanner (1996), IV.8: one place for all stages, kept over a step.
    allowed : float, optional
        Local error that a step control allows; it is set by the control.
    """

    order: ClassVar[int] = 5
    error_order: ClassVar[int] = 4
    Memory: ClassVar[type] = RadauMemory

    newton: Newton = Newton(max_iterations=20)
    allowed: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        newton = self.newton
        if newton.matrix != "exact" or newton.modified or newton.line_search:
            raise ModelError(
                f"RadauIIA: newton has one matrix for all stages and takes whole corrections; received {newton}; leave "
                "matrix, modified and line_search as they are by default"
            )

    def within(self, allowed: float) -> RadauIIA:
        """With steps that are also short enough for Newton's method."""
        return replace(self, allowed=allowed)

    def init(self, system: System, state: State, h: float) -> RadauMemory:
        return RadauMemory()

    def step(self, system: System, state: State, h: float, memory: RadauMemory) -> Step:
        """Three stages, by Newton's method, and the end."""
        problem = Radau(system, state, h)
        # a diverging iteration overflows before it is stopped
        with np.errstate(over="ignore", invalid="ignore"):
            stages, trial, matrix, report, contraction = self._solve(
                problem, _guess(problem, memory), memory.rates is not None, memory.contraction
            )
        factors = matrix.real
        rates = problem.place(stages.D)[2][0]
        new = last_stage(problem, stages)
        if system.m:
            new = closed(problem, new, factors, self.newton.constraint_tolerance)
        new = system.accept(settled(problem, new, factors))
        error = float(np.abs(embedded_error(problem, stages, trial, factors) * system.weight).max())
        if self.allowed is not None:
            error = max(error, self.allowed * min(contraction / SLOW, 1.0) ** self.error_order)
        slope = np.where(problem.second, highest_derivatives(system, new), problem.slopes(rates)[2])
        memory = RadauMemory(h, contraction, np.vstack([problem.begin, rates]), slope, stages.multipliers)
        return Step(new, memory, report, error)

    def _solve(self, problem: Radau, stages: Stages, extrapolated: bool, contraction: float) -> StageSolution:
        """Simplified Newton iterations, which end as in Hairer, Wanner II, IV.8: by what the contraction will leave.

        ``contraction`` is that of the last step.
        """
        options, weight, report = self.newton, problem.system.weight, Report()
        needed, last, matrix = LEAST * options.correction_tolerance, np.inf, None
        while True:
            trial = problem.evaluate(stages)
            report.evaluations += len(NODES)
            if matrix is None:
                matrix = problem.linearize(trial)
                report.factorizations += 2
            correction = problem.correction(stages, trial, matrix)
            stages = Stages(stages.D - correction.D, stages.multipliers - correction.multipliers)
            report.iterations += 1
            size = float(np.abs(correction.D * weight).max())
            report.history.append(size)
            if report.iterations > 1:
                contraction = max(size / last, LEAST)
            elif extrapolated:
                needed = max(needed, SHARE * size)
            done = size <= options.correction_tolerance or contraction * size <= (1.0 - contraction) * needed
            if done or STALLED >= size > 0.5 * last:
                return stages, trial, matrix, report, min(contraction, 1.0)
            first = report.factorizations == 2
            grows = not size < (np.inf if first else GROWTH * last)
            if grows or report.iterations == options.max_iterations:
                raise NotConvergedError(
                    f"Newton's method for the stages does not converge: the last of {report.iterations} corrections "
                    f"is {size:.1e}",
                    report,
                )
            if first and contraction > RENEWED and report.iterations > 1:
                matrix = None
            last = size


def _guess(problem: Radau, memory: RadauMemory) -> Stages:
    """Stages of the rates that go on as in the last step, or of constant acceleration."""
    system, h = problem.system, problem.h
    if memory.rates is None or memory.slope is None or memory.multipliers is None:
        slope = highest_derivatives(system, problem.state) * problem.second
        rates = problem.begin + h * NODES[:, None] * slope
        multipliers = np.tile(problem.state.multipliers, (3, 1))
    else:
        rates = ahead(h / memory.h) @ np.vstack([memory.rates, memory.h * memory.slope])
        multipliers = following(h / memory.h) @ memory.multipliers
    rates = rates * problem.moving
    D = h * WEIGHTS @ rates
    for _ in range(2):
        T_inv = problem.kinematics.inverse_tangent(problem.nodes_of(D))
        first = problem.with_own(np.matvec(T_inv, problem.nodes_of(rates)), rates)
        D = h * WEIGHTS @ first
    return Stages(D, multipliers)
