"""The Lie group generalised-alpha method: its options, what it remembers, and its step.

Bruels, Cardona, Arnold (2012), section 4. The formulas are in ``newmark.py``, the equations of a step in ``index3.py``
and ``index2.py``, what a change of the step does to the memory in ``change_step.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np

from fem_mbs.alpha.change_step import AlphaMemory, adapted, same
from fem_mbs.alpha.chart import Chart, make_chart
from fem_mbs.alpha.index2 import Index2Problem
from fem_mbs.alpha.index3 import Index3Problem, Linearization, Trial, Unknown
from fem_mbs.alpha.index3_limit import instability, limit, turn_of_a_step
from fem_mbs.alpha.local_error import defect, largest, lead, looked_at, response, tolerances, unresolved
from fem_mbs.alpha.newmark import Parameters, chung_hulbert, newmark
from fem_mbs.alpha.predictor import PredictorHistory, first_guess, what_was_missed
from fem_mbs.alpha.stabilized import StabilizedProblem
from fem_mbs.alpha.starting_values import before_the_start, perturbed, resolved, shifted
from fem_mbs.arrays import Array
from fem_mbs.contracts import Method, State, Step, StepErrorEstimate, UnitInterval, checked, choice
from fem_mbs.errors import ModelError
from fem_mbs.lie.parametrization import PARAMETRIZATIONS
from fem_mbs.newton import ConvergenceHistory, Found, Newton
from fem_mbs.newton import solve as newton_solve
from fem_mbs.system.system import System

FORMULATIONS: dict[str, type[Index3Problem]] = {
    "stabilized": StabilizedProblem,
    "index3": Index3Problem,
    "index2": Index2Problem,
}
STARTS = ("consistent", "perturbed")


@checked
@dataclass(frozen=True)
class GeneralizedAlpha(Method):
    """The Lie group generalised-alpha method with the coefficients of Chung and Hulbert.

    Parameters
    ----------
    rho_inf : float
        Spectral radius at infinite frequency, in [0, 1]: 1 keeps the energy of high frequencies, 0 removes it at once.
    formulation : {"stabilized", "index3", "index2"}
        Constraints on position and velocity level, at about the cost of the position level alone; on position level
        alone, as in most of the papers, which becomes unstable where bodies turn too far in a step; or on both levels
        with the multipliers ``eta`` of Gear, Gupta and Leimkuhler.
    start : {"consistent", "perturbed"}, optional
        Initial accelerations and multipliers from the hidden constraints with ``a_0 = vdot_0``, or with the
        perturbation of ``a_0`` and, for index 3, of ``v_0`` that keeps the multipliers of second order from the first
        step on (Arnold, Cardona, Bruels 2015, Tables 1 and 2). By default the stabilised form has an ``a_0`` that a
        trial of the first step corrects, with the same effect, and the others start consistently.
    newton : Newton
        Options of Newton's method.
    parameters : Parameters, optional
        Coefficients; those of Chung and Hulbert for ``rho_inf`` by default (Arnold, Cardona, Bruels 2015, eq. 42).
    """

    order: ClassVar[int] = 2
    error_order: ClassVar[int] = 3
    error_share: ClassVar[float] = 0.01
    Memory: ClassVar[type] = AlphaMemory

    rho_inf: UnitInterval = 0.9
    formulation: Annotated[str, choice(FORMULATIONS)] = "stabilized"
    start: Annotated[str, choice(STARTS)] | None = None
    newton: Newton = field(default_factory=Newton)
    parameters: Parameters | None = None

    @cached_property
    def coefficients(self) -> Parameters:
        """The coefficients that are used."""
        return self.parameters or chung_hulbert(self.rho_inf)

    @property
    def chart(self) -> str:
        """The coordinates of a step, see ``chart.py``."""
        return "group"

    @property
    def levels(self) -> tuple[str, ...]:  # type: ignore[override]
        """Those of the formulation."""
        return ("position", "velocity") if FORMULATIONS[self.formulation].closes_velocities else ("position",)

    @classmethod
    @checked
    def hht(cls, alpha: float = 0.05, newton: Newton | None = None) -> GeneralizedAlpha:
        """The method of Hilber, Hughes and Taylor with numerical damping ``alpha`` in [0, 1/3]."""
        if not 0.0 <= alpha <= 1.0 / 3.0:
            raise ModelError(f"{cls.__name__}.hht: alpha must be in [0, 1/3], received {alpha}")
        parameters = Parameters(0.0, alpha, 0.25 * (1.0 + alpha) ** 2, 0.5 + alpha)
        return cls((1.0 - alpha) / (1.0 + alpha), newton=newton or Newton(), parameters=parameters)

    def init(self, system: System, state: State, h: float) -> AlphaMemory:
        """Starting values for a first step of ``h``; what is at rest was so before, without loads."""
        return self._begin(system, state, h, before_the_start(system, state))

    def after_jump(self, system: System, before: State, state: State, h: float) -> AlphaMemory:
        """Starting values where accelerations have jumped."""
        return self._begin(system, state, h, lead(system, before))

    def _begin(self, system: System, state: State, h: float, before: Array) -> AlphaMemory:
        here, kick = lead(system, state), None
        if self.start is None:
            here = before + resolved(system, state, h, self.coefficients, here - before)
        a = here
        if self.start == "perturbed":
            chart = make_chart(system.kinematics, self.chart)
            closed = self._kind(system).closes_velocities
            a, kick = perturbed(system, state, h, chart, self.coefficients, closed)
        begin = state.t, here
        return AlphaMemory(h, 0, a, kick, here, *begin, *begin, 0.0, None, None, None, None, None, before)

    def step(self, system: System, state: State, h: float, memory: AlphaMemory) -> Step:
        """One step, by Newton's method."""
        if not memory.steps and not same(h, memory.h):
            assert memory.before is not None  # of a start
            memory = self._begin(system, state, h, memory.before)
        if not memory.steps and self.start is None and self._kind(system) is StabilizedProblem:
            after = self._step(system, state, h, memory).memory.lead
            chart = make_chart(system.kinematics, self.chart)
            slope = (after - memory.lead) / h
            shift = shifted(system, state, h, chart, self.coefficients, slope) - lead(system, state)
            memory = memory._replace(a=memory.lead + shift)
        return self._step(system, state, h, memory)

    def _step(self, system: System, state: State, h: float, memory: AlphaMemory) -> Step:
        problem = self.problem(system, state, h, memory)
        missed = None if memory.missed is None else PredictorHistory(*memory.missed)
        experience = None if memory.experience is None else ConvergenceHistory(*memory.experience)
        plain = problem.formulas.guess
        guess = first_guess(plain, state.multipliers, h, missed)
        # a diverging iteration overflows before it is stopped
        with np.errstate(over="ignore", invalid="ignore"):
            begin = problem.guess(guess.D, guess.multipliers)
            needed = tolerances(self.newton, memory.error * (h / memory.h) ** 3)
            found = newton_solve(problem, begin, self.newton, self._kept(system, memory), experience, needed)
        new, a = problem.result(found)
        new = system.accept(new)
        gone = found.unknown[0] - plain, new.multipliers - state.multipliers
        missed = what_was_missed(*gone, h, guess, missed)
        after = lead(system, new)
        left = self._defect(system, problem.chart, new, after, h, memory)
        error = h**3 * float(np.maximum.reduce(np.abs(left * system.weight)))
        if looked_at(memory.steps):
            with np.errstate(over="ignore", invalid="ignore"):
                lasting = self._lasting(system, h**3 * left, found)
                found.report.error_estimate = StepErrorEstimate(
                    lasting, unresolved(system, h, state, new, after + memory.lead)
                )
        memory = _next(state, h, memory, a, after, error, missed, problem.eta(found.unknown), found)
        return Step(new, memory, found.report, error)

    def problem(self, system: System, state: State, h: float, memory: AlphaMemory) -> Index3Problem:
        """The equations of a step."""
        chart, parameters = make_chart(system.kinematics, self.chart), self.coefficients
        kind = self._kind(system)
        v, a = adapted(system, chart, parameters, kind, state, h, memory)
        formulas = newmark(parameters, h, v, memory.lead, a, system.order)
        return kind(system, state, h, formulas, chart, self.newton.matrix)

    def _kind(self, system: System) -> type[Index3Problem]:
        """The equations of a step: without constraints on positions the formulations are one."""
        return Index3Problem if system.velocity_level.all() else FORMULATIONS[self.formulation]

    def within(self, allowed: float) -> GeneralizedAlpha:
        """With Newton's method ended by the first correction below the allowed error: what it leaves is far smaller."""
        tolerance = max(self.newton.correction_tolerance, allowed)
        return replace(self, newton=replace(self.newton, correction_tolerance=tolerance))

    def advice(self, state: State, h: float) -> str:
        """What may help; where bodies turn further in a step than the method bears, the limit."""
        turn = turn_of_a_step(state, h)
        if turn <= limit(self.rho_inf):
            return super().advice(state, h)
        others = "" if self.formulation == "stabilized" else ", the default formulation"
        return (
            f"{super().advice(state, h)}\n  a node turns by {turn:.2g} rad a step; with rho_inf = {self.rho_inf:g}, "
            f"stiff beams, and joints of index 3, may become unstable above about {limit(self.rho_inf):.2g} rad: try a "
            f"smaller step, a smaller rho_inf{others}, or group='SE3'"
        )

    def doubt(self, system: System, state: State, h: float) -> str:
        """Of index 3, that velocities leave their constraints."""
        return "" if self._kind(system).closes_velocities else instability(system, state, h, self.rho_inf)

    def _kept(self, system: System, memory: AlphaMemory) -> Linearization | None:
        """The matrix of the last step, for the modified Newton method."""
        if not self.newton.modified or memory.factors is None or memory.T_inv is None:
            return None
        return Linearization(self._kind(system).solver(system).restore(memory.factors), memory.T_inv)

    def _defect(self, system: System, chart: Chart, new: State, after: Array, h: float, memory: AlphaMemory) -> Array:
        """Defect ``(N,)`` over ``h^3`` of the step that led to a new state with the highest derivatives ``after``."""
        time = new.t - memory.t_old
        slope, curvature = (after - memory.lead_old) * (1.0 / time), system.u0
        if system.k:
            recent = system.own_of(after - memory.lead) / h
            before = system.own_of(memory.lead - memory.lead_old) / ((time - h) or h)
            # before there are three values, that of a fast state which has not begun to settle
            curvature = (recent - before) / (0.5 * time) if memory.steps else recent / h
        return defect(system, chart, self.coefficients, 1.0, new, slope, curvature)

    def _lasting(self, system: System, left: Array, found: Found[Unknown, Trial, Linearization]) -> Array:
        """Length and angle ``(2,)`` that last of a defect ``(N,)``, and of the one that velocities have.

        Where Newton's method had nothing to solve there is no matrix, and nothing that is taken back.
        """
        if found.linearization is not None:
            at, factors = found.value.evaluation, found.linearization.factors
            left = response(system, self.coefficients, at, left, factors, self._kind(system) is Index2Problem)
        return self.coefficients.both_defects * largest(system.nodes_of(left))


@checked
@dataclass(frozen=True)
class UpdatedLagrangian(GeneralizedAlpha):
    """The generalised-alpha method in local coordinates that start at zero in each step.

    The classical way to integrate rotations, for comparison (Bruels, Cardona, Arnold 2012, section 6; Cardona and
    Geradin 1988): Newmark's formulas hold for the coordinates, and velocities follow from their rates.

    Parameters
    ----------
    parametrization : {"conformal", "rotation_vector"}
        Coordinates of an increment: the conformal rotation vector (Wiener, Milenkovic) or the rotation vector, and on
        SE(3) their extensions to frames.
    rho_inf, formulation, start, newton, parameters
        As in :class:`GeneralizedAlpha`.
    """

    parametrization: Annotated[str, choice(PARAMETRIZATIONS)] = "conformal"

    @property
    def chart(self) -> str:
        """The coordinates of a step, see ``chart.py``."""
        return self.parametrization


def _next(
    state: State,
    h: float,
    memory: AlphaMemory,
    a: Array,
    after: Array,
    error: float,
    missed: PredictorHistory,
    eta: Array | None,
    found: Found[Unknown, Trial, Linearization],
) -> AlphaMemory:
    """What is remembered of a step that was made."""
    factors, T_inv = memory.factors, memory.T_inv
    if found.linearization is not None:
        factors, T_inv = found.linearization.factors.arrays, found.linearization.T_inv
    old = after, state.t, memory.lead, memory.t_old, memory.lead_old
    return AlphaMemory(h, memory.steps + 1, a, None, *old, error, missed, found.experience, eta, factors, T_inv)
