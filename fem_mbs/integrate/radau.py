"""Three-stage Radau IIA on the group: a method of order 5 for stiff and constrained models.

Hairer, Wanner, *Solving Ordinary Differential Equations II* (1996), IV.8 and VII.4. The equations of the stages are in
``radau_stages.py``, the end of a step in ``radau_end.py``, the coefficients in ``radau_tableau.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.integrate.local_error import lead
from fem_mbs.integrate.method import Method, Step
from fem_mbs.integrate.radau_end import closed, last_stage, settled
from fem_mbs.integrate.radau_error import embedded_error
from fem_mbs.integrate.radau_stages import Linearization, Radau, Stages, Trial
from fem_mbs.integrate.radau_tableau import NODES, WEIGHTS, ahead, following
from fem_mbs.model import checked
from fem_mbs.solve import Newton, NotConvergedError, Report
from fem_mbs.system import State, System

SHARE = 1e-4
"""What Newton's method may leave, over the embedded error, and over a correction that counts as rounding."""
STALLED = 1e-10
"""Corrections below this that do not fall any more are rounding."""
SLOW = 0.3
"""Contraction at which steps that follow a tolerance do not become longer."""
GROWTH = 2.0
"""Newton's method has failed where a correction is so much longer than the last one."""
LEAST = 1e-8
"""Smallest contraction to count on in the next step."""


class RadauMemory(NamedTuple):
    """What the method goes on with."""

    h: float = 0.0
    """The last step, 0 at a start."""
    error: float = 0.0
    """Its local error."""
    contraction: float = 1.0
    """What a correction of Newton's method left of the one before."""
    rates: Array | None = None
    """Rates at its start and at its stages, ``(4, N)``."""
    slope: Array | None = None
    """Derivative (N,) of these at its end."""
    multipliers: Array | None = None
    """Those of its stages, ``(3, m)``."""


@checked
@dataclass(frozen=True)
class RadauIIA(Method):
    """Three-stage Radau IIA on the group, of order 5, stiffly accurate, with constraints on positions and velocities.

    Parameters
    ----------
    newton : Newton
        Options of Newton's method, of which it takes ``max_iterations``, ``correction_tolerance`` and
        ``constraint_tolerance``.
    """

    order: ClassVar[int] = 5
    error_order: ClassVar[int] = 4
    error_share: ClassVar[float] = 0.01
    Memory: ClassVar[type] = RadauMemory

    newton: Newton = field(default_factory=Newton)
    allowed: float = field(default=np.inf, repr=False)

    def within(self, allowed: float) -> RadauIIA:
        """With steps that are also short enough for Newton's method."""
        return replace(self, allowed=allowed)

    def init(self, system: System, state: State, h: float) -> RadauMemory:
        """Nothing."""
        return RadauMemory()

    def step(self, system: System, state: State, h: float, memory: RadauMemory) -> Step:
        """Three stages, by Newton's method, and the end."""
        problem = Radau(system, state, h)
        # a diverging iteration overflows before it is stopped
        with np.errstate(over="ignore", invalid="ignore"):
            stages, trial, matrix, report, contraction = self._solve(problem, _guess(problem, memory), memory)
        rates = problem.place(stages.D)[2][0]
        slope = problem.slopes(rates)[2]
        new = last_stage(problem, stages)
        if system.m:
            new = closed(problem, new, matrix.real, self.newton.constraint_tolerance)
        new = system.accept(settled(problem, new, matrix.real))
        error = float(np.abs(embedded_error(problem, stages, trial, matrix.real) * system.weight).max())
        if self.allowed < np.inf:
            error = max(error, self.allowed * min(contraction / SLOW, 1.0) ** self.error_order)
        slope = np.where(problem.second, lead(system, new), slope)
        memory = RadauMemory(h, error, contraction, np.vstack([problem.begin, rates]), slope, stages.multipliers)
        return Step(new, memory, report, error)

    def _solve(
        self, problem: Radau, stages: Stages, memory: RadauMemory
    ) -> tuple[Stages, Trial, Linearization, Report, float]:
        """Simplified Newton iterations, which end as in Hairer, Wanner II, IV.8: by what the contraction will leave."""
        options, weight, report = self.newton, problem.system.weight, Report()
        expected = memory.error * (problem.h / memory.h) ** self.error_order if memory.h else 0.0
        needed = max(SHARE * expected, SHARE * options.correction_tolerance)
        contraction, last, matrix = memory.contraction**0.8, np.inf, None
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
                contraction = max(size / last, 0.5 * memory.contraction if memory.h else 0.0)
            if size <= options.correction_tolerance or contraction * size <= (1.0 - contraction) * needed:
                return stages, trial, matrix, report, max(contraction, LEAST)
            if STALLED >= size > 0.5 * last:
                return stages, trial, matrix, report, memory.contraction
            if not size < GROWTH * last or report.iterations == options.max_iterations:
                raise NotConvergedError(
                    f"Newton's method for the stages does not converge: corrections {size:.1e} after "
                    f"{report.iterations} iterations",
                    report,
                )
            last = size


def _guess(problem: Radau, memory: RadauMemory) -> Stages:
    """Stages of the rates that go on as in the last step, or of constant acceleration."""
    system, h = problem.system, problem.h
    if memory.rates is None or memory.slope is None:
        slope = lead(system, problem.state) * problem.second
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
