"""The Lie group generalised-alpha method: its options, what it remembers, and its step.

Bruels, Cardona, Arnold (2012), section 4. Newmark's formulas are in ``newmark.py``, the equations of a step in
``step.py`` and in the files of the formulations.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np

from fem_mbs.alpha.change_step import AccelerationHistory, AlphaMemory, adapted, kept_matrix, named, restarted
from fem_mbs.alpha.index2 import Index2Equations
from fem_mbs.alpha.index3_limit import instability, limit, turn_of_a_step
from fem_mbs.alpha.local_error import (
    defect,
    highest_derivatives,
    largest,
    looked_at,
    rate,
    response,
    tolerances,
    unresolved,
)
from fem_mbs.alpha.newmark import Parameters, chung_hulbert, first_guess, newmark, same, what_was_missed
from fem_mbs.alpha.propagated_error import LocalError, PropagatedError, no_error, propagated, size
from fem_mbs.alpha.simplified_matrices import ENTRIES
from fem_mbs.alpha.stabilized import StabilizedEquations
from fem_mbs.alpha.starting_values import before_the_start, perturbed, resolved, shifted
from fem_mbs.alpha.step import Linearization, StepEquations, StepResidual, Unknowns, step
from fem_mbs.arrays import Array
from fem_mbs.contracts import Method, State, Step, StepErrorEstimate, UnitInterval, checked, choice
from fem_mbs.errors import ModelError
from fem_mbs.newton import FirstCorrection, Iterate, Newton
from fem_mbs.system.kinematics import Chart
from fem_mbs.system.system import System

FORMULATIONS: dict[str, type[StepEquations]] = {
    "stabilized": StabilizedEquations,
    "index3": StepEquations,
    "index2": Index2Equations,
}
STARTS = ("consistent", "perturbed")
SUDDEN = 8.0
"""A local error so many times that of the step before tells of a kink, and nothing of the steps around."""


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
    follows_tolerance : bool
        Whether each step says what the error of the run has become; it is set by the control of the steps.
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
    follows_tolerance: bool = field(default=False, repr=False)

    @cached_property
    def coefficients(self) -> Parameters:
        """The coefficients that are used."""
        return self.parameters or chung_hulbert(self.rho_inf)

    def chart(self, system: System) -> Chart:
        """The coordinates of a step."""
        return system.kinematics

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

    def after_jump(self, system: System, before: State, state: State, h: float, memory: AlphaMemory) -> AlphaMemory:
        """Starting values where accelerations have jumped."""
        return self._begin(system, state, h, highest_derivatives(system, before), named(memory).error)

    def _begin(
        self, system: System, state: State, h: float, before: Array, error: PropagatedError | None = None
    ) -> AlphaMemory:
        now, perturbation = highest_derivatives(system, state), None
        if self.start is None:
            now = before + resolved(system, state, h, self.coefficients, now - before)
        a = now
        if self.start == "perturbed":
            chart = self.chart(system)
            closed = self._kind(system).closes_velocities
            a, perturbation = perturbed(system, state, h, chart, self.coefficients, closed)
        accelerations = restarted(now, state.t)
        return AlphaMemory(h, 0, a, accelerations, velocity_perturbation=perturbation, error=error, before=before)

    def step(self, system: System, state: State, h: float, memory: AlphaMemory) -> Step:
        """One step, by Newton's method."""
        if type(memory.accelerations) is tuple:
            memory = named(memory)
        if not memory.steps:
            memory = self._started(system, state, h, memory)
        equations = self.equations(system, state, h, memory)
        accelerations, check = memory.accelerations, FirstCorrection(memory.convergence)
        plain = equations.formulas.guess
        guess = first_guess(plain, state.multipliers, h, memory.predictor)
        # a diverging iteration overflows before it is stopped
        with np.errstate(over="ignore", invalid="ignore"):
            needed = tolerances(self.newton, accelerations.error * (h / memory.h) ** 3)
            kept = kept_matrix(self._kind(system), system, state, memory) if self.newton.modified else None
            solution = step(equations, guess.D, guess.multipliers, self.newton, kept, check, needed)
        new, a = equations.update(solution)
        now = highest_derivatives(system, new)
        branches = system.branches(solution.value.evaluation) if system.kinked else None
        known = branches is not None and memory.branches is not None
        crossed = known and bool(np.any(branches != memory.branches))
        before = memory
        if crossed:  # the change of accelerations is that of this step
            before = memory._replace(accelerations=restarted(accelerations.now, state.t))
        left = self._defect(system, equations.chart, new, now, h, before)
        sizes = np.abs(left * system.weight)
        error = h**3 * float(np.maximum.reduce(sizes))
        sudden = crossed or 0.0 < SUDDEN * accelerations.error < error
        if branches is not None:
            solution.report.branches = branches
            solution.report.node_error = h**3 * system.largest_of_nodes(left)
        if sudden or looked_at(memory.steps):
            with np.errstate(over="ignore", invalid="ignore"):
                lasting = self._lasting(system, h**3 * left, solution)
                oscillating = unresolved(system, h, state, new, now + accelerations.now)
                solution.report.error_estimate = StepErrorEstimate(lasting, oscillating, sudden)
        so_far = memory.error
        if self._follows(system, equations) and solution.linearization is not None:
            local = LocalError(h**3 * left, h**3 * self._velocity_defect(system, now, new.t, h, memory))
            at, factors = solution.value.evaluation, solution.linearization.factors
            so_far = so_far or no_error(system)
            so_far = propagated(system, self.coefficients, h, state, at, factors, local, so_far)
            solution.report.error_so_far = size(system, so_far)
        missed = solution.unknown.D - plain, new.multipliers - state.multipliers
        matrix, eta = memory.matrix, solution.unknown.eta / h if len(solution.unknown.eta) else None
        if solution.linearization is not None:
            matrix = solution.linearization.T_inv, *solution.linearization.factors.arrays
        history = AccelerationHistory(now, state.t, accelerations.now, accelerations.t_old, accelerations.old, error)
        if crossed:  # what they say of stiffness and slopes is over
            matrix, history = None, restarted(now, new.t, error)
        memory = AlphaMemory(
            h,
            memory.steps + 1,
            a,
            history,
            what_was_missed(*missed, h, guess, memory.predictor),
            check.history,
            matrix,
            eta,
            branches=branches,
            error=so_far,
        )
        return Step(new, memory, solution.report, error)

    def _started(self, system: System, state: State, h: float, memory: AlphaMemory) -> AlphaMemory:
        """Starting values for a first step of ``h``, which a trial of it corrects."""
        if not same(h, memory.h):
            assert memory.before is not None
            memory = self._begin(system, state, h, memory.before, memory.error)
        if self.start is not None or self._kind(system) is not StabilizedEquations:
            return memory
        equations = self.equations(system, state, h, memory)
        with np.errstate(over="ignore", invalid="ignore"):
            needed = tolerances(self.newton, 0.0)
            solution = step(equations, equations.formulas.guess, state.multipliers, self.newton, None, None, needed)
        after = highest_derivatives(system, equations.update(solution)[0])
        slope = (after - memory.accelerations.now) / h
        shift = shifted(system, state, h, equations.chart, self.coefficients, slope) - highest_derivatives(
            system, state
        )
        return memory._replace(a=memory.accelerations.now + shift)

    def equations(self, system: System, state: State, h: float, memory: AlphaMemory) -> StepEquations:
        """The equations of a step: Newmark's formulas from the state, and what is asked of the constraints."""
        chart, parameters, kind = self.chart(system), self.coefficients, self._kind(system)
        v, a = rate(state), memory.a
        if not same(h, memory.h):
            v, a = adapted(system, chart, parameters, kind, state, h, memory)
        if memory.velocity_perturbation is not None:
            v = v + memory.velocity_perturbation
        formulas = newmark(parameters, h, v, memory.accelerations.now, a, system.order)
        return kind(system, state, h, formulas, chart, ENTRIES[self.newton.matrix])

    def _kind(self, system: System) -> type[StepEquations]:
        """The equations of a step: without constraints on positions the formulations are one."""
        return FORMULATIONS[self.formulation] if system.closes_positions else StepEquations

    def within(self, allowed: float) -> GeneralizedAlpha:
        """With Newton's method ended by the first correction below the allowed error: what it leaves is far smaller."""
        tolerance = max(self.newton.correction_tolerance, allowed)
        return replace(self, newton=replace(self.newton, correction_tolerance=tolerance), follows_tolerance=True)

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

    def _defect(self, system: System, chart: Chart, new: State, now: Array, h: float, memory: AlphaMemory) -> Array:
        """Defect ``(N,)`` over ``h^3`` of the step that led to a new state with the highest derivatives ``now``."""
        before = memory.accelerations
        time = new.t - before.t_old
        slope, curvature = (now - before.old) * (1.0 / time), system.u0
        if system.k:
            recent = system.own_of(now - before.now) / h
            earlier = system.own_of(before.now - before.old) / ((time - h) or h)
            # before there are three values, that of a fast state which has not begun to settle
            curvature = (recent - earlier) / (0.5 * time) if memory.steps else recent / h
        return defect(system, chart, self.coefficients, 1.0, new, slope, curvature)

    def _follows(self, system: System, equations: StepEquations) -> bool:
        """Whether to say what errors have become: with the whole matrix of index 3, in increments of the group."""
        whole = self.newton.matrix == "exact" and not self.newton.modified
        of_index3 = equations.chart is system.kinematics and not isinstance(equations, Index2Equations)
        return self.follows_tolerance and whole and of_index3

    def _velocity_defect(self, system: System, now: Array, t: float, h: float, memory: AlphaMemory) -> Array:
        """Local error ``C_v v'''`` (N,) of velocities over ``h^3``, none before three accelerations are known."""
        before, own = memory.accelerations, system.own_of
        time = t - before.t_old
        if memory.steps < 2 or not time - h > 1e-9 * h:  # a start, or the step after a kink
            return np.zeros(system.N)
        third = ((now - before.now) / h - (before.now - before.old) / (time - h)) * (2.0 * self.coefficients.C_v / time)
        own(third)[system.order < 2] = 0.0
        return third

    def _lasting(self, system: System, left: Array, solution: Iterate[Unknowns, StepResidual, Linearization]) -> Array:
        """Length and angle ``(2,)`` that last of a defect ``(N,)``, and of the one that velocities have.

        Where Newton's method had nothing to solve there is no matrix, and nothing that is taken back.
        """
        if solution.linearization is not None:
            at, factors = solution.value.evaluation, solution.linearization.factors
            left = response(system, self.coefficients, at, left, factors, self._kind(system) is Index2Equations)
        return self.coefficients.both_defects * largest(left[: 6 * system.n])
