"""Three-stage Radau IIA on the group: a method of order 5 for stiff and constrained models.

Hairer, Wanner, *Solving Ordinary Differential Equations II* (1996), IV.8 and VII.4. The equations of the stages are in
``radau_stages.py``, the end of a step in ``radau_end.py``, the coefficients in ``radau_tableau.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.integrate.local_error import lead
from fem_mbs.integrate.method import Method, Step
from fem_mbs.integrate.radau_end import closed, last_stage, with_hidden
from fem_mbs.integrate.radau_error import embedded_error
from fem_mbs.integrate.radau_stages import Linearization, Radau, Stages, Trial
from fem_mbs.integrate.radau_tableau import NODES, WEIGHTS, ahead, following
from fem_mbs.model import checked
from fem_mbs.solve import Newton, NotConvergedError, Report
from fem_mbs.system import State, System

SHARE = float(__import__("os").environ.get("SHARE","1e-3"))
"""What Newton's method may leave, over the embedded error."""
STALLED = 1e-10
"""Corrections below this that do not fall any more are rounding."""


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
    Memory: ClassVar[type] = RadauMemory

    newton: Newton = field(default_factory=Newton)

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
        new, prescribed = last_stage(problem, stages), problem.prescribed[2]
        if system.m:
            new = closed(system, new, h, prescribed, matrix.real, self.newton.constraint_tolerance)
            new = with_hidden(system, new, prescribed, trial)
        new = system.accept(new)
        error = float(np.abs(embedded_error(problem, stages, trial, matrix.real) * system.weight).max())
        slope = np.where(problem.second, lead(system, new), slope)
        memory = RadauMemory(h, error, contraction, np.vstack([problem.begin, rates]), slope, stages.multipliers)
        return Step(new, memory, report, error)

    def _solve(
        self, problem: Radau, stages: Stages, memory: RadauMemory
    ) -> tuple[Stages, Trial, Linearization, Report, float]:
        """Simplified Newton iterations (Hairer, Wanner II, IV.8)."""
        options, system = self.newton, problem.system
        expected = memory.error * (problem.h / memory.h) ** 4 if memory.h else 0.0
        needed = max(SHARE * expected, options.correction_tolerance)
        contraction, last = memory.contraction**0.8, 0.0
        report, matrix = Report(), None
        hist = []
        while True:
            trial = problem.evaluate(stages)
            report.evaluations += 3
            if matrix is None:
                matrix = problem.linearize(trial)
                report.factorizations += 2
            correction = problem.correction(stages, trial, matrix)
            report.iterations += 1
            size = float(np.abs(correction.D * system.weight).max())
            now = np.concatenate([stages.D, stages.multipliers], axis=1).ravel(), np.concatenate(correction, axis=1).ravel(), (correction.D * system.weight).ravel()
            hist.append(now)
            mixed = _mixed(hist[-1 - DEPTH :])
            D = mixed.reshape(3, -1)
            stages = Stages(D[:, : system.N], D[:, system.N :])
            report.history.append(size)
            if not np.isfinite(size):
                raise NotConvergedError("the residual is not finite", report)
            if last:
                contraction = max(size / last, 0.5 * memory.contraction if memory.h else 0.0)
                if size <= STALLED and size > 0.5 * last:
                    break
                if size >= last:
                    raise NotConvergedError(f"Newton's method diverges after {report.iterations} iterations", report)
            if size <= options.correction_tolerance:
                break
            if contraction < 1.0 and contraction / (1.0 - contraction) * size <= needed:
                break
            if report.iterations == options.max_iterations:
                raise NotConvergedError(f"no convergence in {report.iterations} iterations", report)
            last = size
        return stages, trial, matrix, report, max(contraction, 1e-8)


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


DEPTH = int(__import__("os").environ.get("DEPTH", "2"))


def _mixed(hist):
    x, g, w = hist[-1]
    if len(hist) == 1:
        return x - g
    dX = np.array([a[0] - b[0] for a, b in zip(hist[1:], hist[:-1])])
    dG = np.array([a[1] - b[1] for a, b in zip(hist[1:], hist[:-1])])
    dW = np.array([a[2] - b[2] for a, b in zip(hist[1:], hist[:-1])])
    gamma = np.linalg.lstsq(dW.T, w, rcond=1e-10)[0]
    return x - g - gamma @ (dX - dG)
