"""The generalised-alpha method in classical coordinates: Tait-Bryan angles, or Euler parameters.

For comparison with the Lie group method (Holzinger, Arnold, Gerstmayr 2024, eqs. 12, 33-38): Newmark's formulas hold
for the coordinates ``q`` of ``classical_runge_kutta.py`` and their rates, as plain sums; velocities follow as ``H q'``,
accelerations as ``H q'' + H' q'``. The index-3 equations ``H^T (M vdot + g + B^T lambda) = 0`` are solved without the
factor ``H^T``. Euler parameters obey ``e.e = 1`` at the end of each step; their rates need not obey the derivative of
this constraint, as in every method of index 3. Its multiplier is zero: ``H^T`` has no part along ``e``, as ``G e = 0``.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import isclose
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from fem_mbs.alpha.local_error import highest_derivatives, instability, tolerances
from fem_mbs.alpha.newmark import SAME, Parameters, PredictorHistory, chung_hulbert, first_guess, newmark
from fem_mbs.alpha.simplified_matrices import ENTRIES
from fem_mbs.alpha.starting_values import before_the_start, resolved
from fem_mbs.alpha.step import Correction, Linearization, StepEquations, StepSolution, Unknowns
from fem_mbs.arrays import Array
from fem_mbs.contracts import Method, State, Step, checked, choice
from fem_mbs.contracts.arguments import UnitInterval
from fem_mbs.initial.consistent_start import constraint_correction
from fem_mbs.lie.parametrization import COORDINATES, RotationCoordinates, TaitBryan
from fem_mbs.methods.comparison.classical_runge_kutta import (
    ClassicalChart,
    blamed,
    check_norm,
    check_start,
    check_step,
    from_world,
    rotations_of,
    to_world,
)
from fem_mbs.newton import ConvergenceHistory, Newton, solve
from fem_mbs.system.system import System


class ClassicalEquations(StepEquations):
    """The equations of one step in the increment of classical coordinates and the multipliers."""

    chart: ClassicalChart

    def predict(self, D: Array, multipliers: Array) -> Unknowns:
        """All unknowns from a guess, with the constraint of the coordinates."""
        return Unknowns(self._closed(D), multipliers)

    def corrected(self, at: StepSolution, correction: Correction, step_length: float) -> Unknowns:
        corrected = super().corrected(at, correction, step_length)
        return corrected._replace(D=self._closed(corrected.D))

    def _closed(self, D: Array) -> Array:
        closed = self.chart.closed(self.of_nodes(D))
        return np.append(closed, D[self.first :])

    def constant_derivatives(self, unknown: Unknowns) -> tuple[Array, Array]:
        """For ``H`` as if it were constant."""
        one = np.broadcast_to(np.eye(6), (self.system.n, 6, 6))
        return self.chart.inverse(self.of_nodes(unknown.D)), self.factors * one


class ClassicalMemory(NamedTuple):
    """What the method goes on with, beside the state; ``N`` counts classical coordinates and internal variables."""

    h: float
    """The step that led here, or the first one that was meant."""
    steps: int
    c: Array
    """Coordinates of the rotations ``(n, l)``."""
    rates: Array
    """First rates ``(N,)``."""
    highest: Array
    """Highest derivatives ``(N,)``."""
    a: Array
    """Algorithmic accelerations ``(N,)``."""
    error: float
    """Local error of the step that led here, estimated; 0 where it is not known."""
    predictor: PredictorHistory | None = None
    convergence: ConvergenceHistory | None = None
    """See ``fem_mbs/alpha/newmark.py`` and ``newton.py``."""
    matrix: tuple[Array, ...] | None = None
    """Inverse tangent operators and factors of the last iteration matrix."""
    before: Array | None = None
    """At a start, highest derivatives on the groups just before it."""


@checked
@dataclass(frozen=True)
class ClassicalAlpha(Method):
    """The generalised-alpha method in Tait-Bryan angles or Euler parameters, for comparison with the Lie group method.

    The rotation of a node is ``Rx(a) Ry(b) Rz(c)``, or that of a unit quaternion whose norm is a constraint. All
    constraints hold on position level (index 3). Angles cannot pass ``b = +-90`` degrees, and what comes out depends
    on the axes of bodies and world. Euler parameters have no singularity, but become unstable where a body turns by
    more than about ``2 (1 - rho_inf)`` rad a step. A run that comes there ends with a :class:`ConvergenceError`. Nodes
    may be on any group (Holzinger, Arnold, Gerstmayr 2024; docs/theory.md, "Classical formulations").

    Parameters
    ----------
    parametrization : {"tait_bryan", "euler_parameters"}
        Coordinates of the rotations.
    rho_inf : float
        Spectral radius at infinite frequency, in [0, 1].
    newton : Newton
        Options of Newton's method. Without tangent operator, the matrix takes the derivative of rotations by their
        coordinates to be constant.
    """

    order: ClassVar[int] = 2
    Memory: ClassVar[type] = ClassicalMemory

    parametrization: Annotated[str, choice(COORDINATES)] = "tait_bryan"
    rho_inf: UnitInterval = 0.9
    newton: Newton = field(default_factory=Newton)

    @cached_property
    def coefficients(self) -> Parameters:
        """Those of Chung and Hulbert."""
        return chung_hulbert(self.rho_inf)

    @property
    def turning(self) -> float:  # type: ignore[override]
        return self.coefficients.turning

    @property
    def invariant(self) -> bool:  # type: ignore[override]
        """Angles depend on the axes."""
        return self.kind is not TaitBryan

    @property
    def kind(self) -> type[RotationCoordinates]:
        """Coordinates of the rotations."""
        return COORDINATES[self.parametrization]

    def init(self, system: System, state: State, h: float) -> ClassicalMemory:
        """Coordinates and rates of a state; what is at rest was so before, without loads."""
        return self._begin(system, state, h, before_the_start(system, state))

    def after_jump(
        self, system: System, before: State, state: State, h: float, memory: ClassicalMemory
    ) -> ClassicalMemory:
        return self._begin(system, state, h, highest_derivatives(system, before))

    def _begin(self, system: System, state: State, h: float, before: Array) -> ClassicalMemory:
        here = before + resolved(system, state, h, self.coefficients, highest_derivatives(system, state) - before)
        c = rotations_of(system, self.kind, state.R)
        if self.kind is TaitBryan:
            check_start(system, c)
        lifted = to_world(system, state.R, state.v, system.nodes_of(here))
        first, second = ClassicalChart(system, self.kind, c).lower(lifted)
        rates, highest = np.append(first, state.udot), np.append(second, system.own_of(here))
        return ClassicalMemory(h, 0, c, rates, highest, highest, 0.0, before=before)

    def step(self, system: System, state: State, h: float, memory: ClassicalMemory) -> Step:
        if not memory.steps and not isclose(h, memory.h, rel_tol=SAME):
            assert memory.before is not None  # of a start
            memory = self._begin(system, state, h, memory.before)
        equations = self.equations(system, state, h, memory)
        predictor = None if memory.predictor is None else PredictorHistory(*memory.predictor)
        convergence = ConvergenceHistory(*(memory.convergence or ()))
        plain = equations.formulas.guess
        guess = first_guess(plain, state.multipliers, h, predictor)
        # a diverging iteration overflows before it is stopped
        watch = blamed(system, equations.t, h, memory.c) if self.kind is TaitBryan else nullcontext()
        with np.errstate(over="ignore", invalid="ignore"), watch:
            needed = tolerances(self.newton, memory.error * (h / memory.h) ** 3)
            kept = self._kept(system, memory)
            unknown = equations.predict(guess.D, guess.multipliers)
            crosses = partial(equations.crosses, None) if system.watched else None
            solution = solve(
                equations, unknown, self.newton, kept=kept, history=convergence, tolerances=needed, crosses=crosses
            )
        unknown = solution.unknown
        D, _, rates, x, R, lifted = equations.place(unknown)
        own = equations.own(unknown, rates)
        new = State(equations.t, x, R, *from_world(system, R, lifted[:2]), unknown.multipliers, *own)
        highest = np.append(rates[1, : equations.first], system.own_of(highest_derivatives(system, new)))
        c, change = equations.chart.rotations(D), equations.of_nodes(highest - memory.highest)
        if self.kind is TaitBryan:
            check_step(system, equations.t, h, (memory.c, c), change[:, 3:])
        else:
            of_rotations = (equations.of_nodes(part)[:, 3:] for part in (rates[0], highest))
            check_norm(system, equations.t, self.rho_inf, memory.c, (c, *of_rotations))
        new = system.accept(new)
        missed = unknown.D - plain, unknown.Z, new.multipliers - state.multipliers
        # the defect of Newmark's formulas, from the last two accelerations
        defect = np.matvec(equations.chart.matrix(equations.of_nodes(unknown.D)), change)
        error = abs(self.coefficients.C_q) * h**2 * float(np.abs(system.nodes_of(system.weight) * defect).max())
        matrix = memory.matrix
        if solution.linearization is not None:
            matrix = solution.linearization.T_inv, *solution.linearization.factors.arrays
        places = system.nodes_of(system.weight)[:, :3]
        weight = np.append(np.hstack([places, np.ones_like(memory.c)]), system.own_of(system.weight))
        history = guess.missed(*missed, weight), solution.history, matrix
        here = c, rates[0], highest, rates[2], error
        return Step(new, ClassicalMemory(h, memory.steps + 1, *here, *history), solution.report)

    def equations(self, system: System, state: State, h: float, memory: ClassicalMemory) -> ClassicalEquations:
        """The equations of a step."""
        v, a = self._adapted(system, state, h, memory)
        formulas = newmark(self.coefficients, h, (v, memory.highest, a), system.order)
        chart = ClassicalChart(system, self.kind, memory.c)
        return ClassicalEquations(system, state, h, formulas, chart, ENTRIES[self.newton.matrix])

    def _adapted(self, system: System, state: State, h: float, memory: ClassicalMemory) -> tuple[Array, Array]:
        """Rates and algorithmic accelerations ``(N,)`` from which a step starts, see ``starting_values.py``."""
        if isclose(h, memory.h, rel_tol=SAME):
            return memory.rates, memory.a
        ratio, chart = h / memory.h, ClassicalChart(system, self.kind, memory.c)
        w = np.zeros(system.N)
        if system.m:
            w = w - constraint_correction(system, state, w, missed=True)
        nodes = chart.lower(to_world(system, state.R, system.nodes_of(w), np.zeros((system.n, 6))))[0]
        dc = memory.rates[: nodes.size].reshape(nodes.shape)[:, 3:]
        nodes[:, 3:] += self.kind.missed(memory.c, dc)
        rates = memory.rates + (ratio**2 - 1.0) * np.append(nodes, system.own_of(w))
        return rates, memory.highest + ratio * (memory.a - memory.highest)

    def _kept(self, system: System, memory: ClassicalMemory) -> Linearization | None:
        """The matrix of the last step, for the modified Newton method."""
        if not self.newton.modified or memory.matrix is None:
            return None
        T_inv, *factors = memory.matrix
        restored = system.solver.restore(factors)
        return None if restored is None else Linearization(restored, T_inv)

    def doubt(self, system: System, state: State, h: float) -> str:
        return instability(system, state, h, self.rho_inf)
