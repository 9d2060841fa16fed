"""The Lie group generalised-alpha method: its options, what it remembers, and its step.

Bruels, Cardona, Arnold (2012), section 4. Newmark's formulas are in ``newmark.py``, the equations of a step in
``step.py`` and in the files of the formulations.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import isclose
from typing import Annotated, ClassVar

import numpy as np

from fem_mbs.alpha.local_error import (
    Over,
    begun,
    carried_on,
    errors_of_step,
    highest_derivatives,
    instability,
    most_turn,
    tolerances,
    turn_of_a_step,
    worst,
)
from fem_mbs.alpha.newmark import SAME, AlphaMemory, Parameters, chung_hulbert, first_guess, newmark, restarted
from fem_mbs.alpha.simplified_matrices import ENTRIES
from fem_mbs.alpha.stabilized import Index2Equations, StabilizedEquations
from fem_mbs.alpha.starting_values import adapted, ahead, before_the_start, kept_matrix, perturbed, resolved, shifted
from fem_mbs.alpha.step import Scheme, StepEquations, from_rest
from fem_mbs.arrays import Array
from fem_mbs.contracts import Method, State, Step, checked, choice
from fem_mbs.contracts.arguments import UnitInterval
from fem_mbs.errors import ModelError
from fem_mbs.initial.consistent_start import accelerations
from fem_mbs.initial.state_point import place_of
from fem_mbs.newton import FAILURES, LOOSEST, ConvergenceHistory, Newton, NotConvergedError, solve
from fem_mbs.system.system import System

FORMULATIONS: dict[str, type[StepEquations]] = {
    "stabilized": StabilizedEquations,
    "index3": StepEquations,
    "index2": Index2Equations,
}
STARTS = ("consistent", "perturbed")
EULER = Parameters(0.0, 0.0, 1.0, 1.0)
"""With ``a = 0`` at the start, a step is one of Euler's implicit method."""
GROWTH = 3.0
"""After a step that was shorter by this factor starting values are new: it followed vibrations that longer ones cannot.
"""
TRIED = 1e-6
"""Tolerances of Newton's method in a step that tells how accelerations go on, at least."""
SOON = 0.01
"""Share of a step in which accelerations tell how they go on after a jump."""
LOST = 1e-3
"""Share of accelerations after a jump, of what a step does not resolve of them, that is none."""


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
    Memory: ClassVar[type] = AlphaMemory
    compiles: ClassVar[bool] = True
    """Whether lines of whole steps know all that its equations are of."""

    rho_inf: UnitInterval = 0.9
    formulation: Annotated[str, choice(FORMULATIONS)] = "stabilized"
    start: Annotated[str, choice(STARTS)] | None = None
    newton: Newton = field(default_factory=Newton)
    parameters: Parameters | None = None

    @cached_property
    def coefficients(self) -> Parameters:
        """The coefficients that are used."""
        return self.parameters or chung_hulbert(self.rho_inf)

    @cached_property
    def _compiled(self) -> tuple[Callable[..., Step | None], Callable[..., State | None]] | None:
        """A step, and where a trial leads, by compiled lines, where these know all that is asked."""
        if not self.compiles or self.newton.modified or self.newton.matrix != "exact":
            return None
        from fem_mbs.alpha.whole_step import whole_step, whole_trial  # of compiled systems alone

        return whole_step, whole_trial

    @property
    def quadratic(self) -> bool:  # type: ignore[override]
        """With the exact matrix."""
        return self.newton.matrix == "exact"

    @property
    def turning(self) -> float:  # type: ignore[override]
        return self.coefficients.turning

    @property
    def levels(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("position", "velocity") if FORMULATIONS[self.formulation].closes_velocities else ("position",)

    @classmethod
    @checked
    def hht(cls, alpha: float = 0.05, newton: Newton | None = None) -> GeneralizedAlpha:
        """The method of Hilber, Hughes and Taylor with numerical damping ``alpha`` in [0, 1/3], 0 for none."""
        if not 0.0 <= alpha <= 1.0 / 3.0:
            raise ModelError(f"{cls.__name__}.hht: alpha must be in [0, 1/3], received {alpha}")
        parameters = Parameters(0.0, alpha, 0.25 * (1.0 + alpha) ** 2, 0.5 + alpha)
        return cls((1.0 - alpha) / (1.0 + alpha), newton=newton or Newton(), parameters=parameters)

    def init(self, system: System, state: State, h: float) -> AlphaMemory:
        """Starting values for a first step of ``h``; what is at rest was so before, without loads."""
        return self._begin(system, state, h, before_the_start(system, state))

    def after_jump(self, system: System, before: State, state: State, h: float, memory: AlphaMemory) -> AlphaMemory:
        started, errors = self._begin(system, state, h, highest_derivatives(system, before)), memory.errors
        if errors is not None and system.has_history:
            values = errors.values.copy()
            system.own_of(values[0])[:] = system.jump_change(before, system.own_of(values[0]))
            errors = errors._replace(values=values)
        return started._replace(errors=errors)

    def restart(self, system: System, state: State, h: float) -> AlphaMemory:
        """Starting values where what was before tells nothing: after an impact, or a far shorter step.

        Accelerations of vibrations that a step of ``h`` does not resolve would gain ``(omega h)^2`` of their energy in
        it. What lasts of them is what a step of Euler's implicit method leaves, which damps the rest. Where nothing is
        lost, the same step tells how accelerations go on, and these values do for others up to ``h``, too.
        """
        euler, memory = self.euler(system, state, h)
        now = highest_derivatives(system, state)
        try:
            there = highest_derivatives(system, euler.trial(system, state, h, memory, TRIED))
            memory = self._begin(system, state, h, there)
        except self.in_vain(system):  # nothing tells what lasts of them
            return self._begin(system, state, h, now)
        moves = system.weight * h**system.orders  # of accelerations and of rates
        if np.abs(moves * (memory.accelerations.now - now)).max() > LOST * np.abs(moves * now).max():
            return memory
        return self._corrected(system, state, h, memory, there)._replace(before=None, resolves=h)

    def euler(self, system: System, state: State, h: float) -> tuple[GeneralizedAlpha, AlphaMemory]:
        """The method whose next step of ``h`` is one of Euler's implicit method, and what it begins with."""
        now = highest_derivatives(system, state)
        states = np.where(system.orders < 2, now, 0.0)
        return replace(self, parameters=EULER), AlphaMemory(h, 1, states, restarted(now, state.t))

    def trial(self, system: System, state: State, h: float, memory: AlphaMemory, tolerance: float = 0.0) -> State:
        """Where a first step of ``h`` leads that is not taken."""
        force, constraint = (max(own, tolerance) for own in tolerances(self.newton, 0.0))
        if system.whole is not None and self._compiled is not None:
            new = self._compiled[1](self, system, state, h, memory, needed=(force, constraint))
            if new is not None:
                return new
        equations = self.equations(system, state, h, memory)
        with np.errstate(over="ignore", invalid="ignore"):
            unknown = equations.predict(equations.guess_after_start(state.multipliers), state.multipliers)
            try:
                solution = solve(equations, unknown, self.newton, tolerances=(force, constraint))
            except NotConvergedError:
                if not equations.by_reactions:
                    raise
                solution = from_rest(equations, state.multipliers, self.newton)
        return equations.update(solution)[0]

    def _begin(self, system: System, state: State, h: float, before: Array) -> AlphaMemory:
        now, perturbation = highest_derivatives(system, state), None
        if self.start is None:
            now = before + self.resolved(system, state, h, now - before)
        a = now
        if self.start == "perturbed":
            a, perturbation = perturbed(self.scheme(system), state, h)
        accelerations = restarted(now, state.t)
        return AlphaMemory(h, 0, a, accelerations, velocity_perturbation=perturbation, before=before)

    def resolved(self, system: System, state: State, h: float, jump: Array) -> Array:
        """What a step of ``h`` resolves of a jump ``(N,)`` of the highest time derivatives."""
        return resolved(system, state, h, self.coefficients, jump)

    def step(self, system: System, state: State, h: float, memory: AlphaMemory) -> Step:
        if memory.before is not None or h > max(GROWTH * memory.h, memory.resolves):
            memory = self._with_errors(system, state, h, self.started(system, state, h, memory), memory)
        if system.whole is not None and self._compiled is not None:
            if (step := self._compiled[0](self, system, state, h, memory)) is not None:
                return step
        equations = self.equations(system, state, h, memory)
        D = None if memory.steps or memory.predictor else equations.guess_after_start(state.multipliers)
        scheme, plain = Scheme(system, equations.chart, self.coefficients, type(equations)), equations.formulas.guess
        guess = first_guess(plain, state.multipliers, h, memory.predictor)
        kept = kept_matrix(scheme, state, memory) if self.newton.modified else None
        if kept is not None and not len(kept.T_inv):
            kept = None
        history = memory.convergence or ConvergenceHistory()
        crosses = partial(equations.crosses, memory.branches) if system.watched else None
        stops, needed = False, tolerances(self.newton, memory.accelerations.error * (h / memory.h) ** 3)
        with np.errstate(over="ignore", invalid="ignore"):  # a diverging iteration overflows before it is stopped
            unknown = equations.predict(guess.D if D is None else D, guess.multipliers)
            if len(guess.Z) and equations.smooth:
                unknown = unknown._replace(Z=guess.Z, guessed=np.ones(1))
            try:
                solution = solve(
                    equations, unknown, self.newton, kept=kept, history=history, tolerances=needed, crosses=crosses
                )
            except NotConvergedError:
                if not equations.by_reactions:
                    raise
                stops, (euler, started) = True, self.euler(system, state, h)
                scheme, equations = euler.scheme(system), euler.equations(system, state, h, started)
                solution = from_rest(equations, state.multipliers, self.newton)
        new, a = equations.update(solution)
        errors = errors_of_step(scheme, equations, solution, new, memory)
        missed = solution.unknown.D - plain, solution.unknown.Z, new.multipliers - state.multipliers
        matrix = memory.matrix
        if solution.linearization is not None:
            matrix = solution.linearization.T_inv, *solution.linearization.factors.arrays
        accelerations, carried = errors.accelerations, memory.errors
        if carried is not None and errors.defects is not None:
            over: Over = partial(equations.carried_over_block, solution, scheme.parameters, carried, errors.defects)
            with np.errstate(over="ignore", invalid="ignore"):
                if isclose(new.t - carried.t, h, rel_tol=SAME):
                    rates = newmark(scheme.parameters, h, carried.values[1:4], system.order).constants
                    lead = 0.0 if errors.crossed else h * scheme.parameters.lead
                    over = equations.carried(solution, carried.values, rates, errors.defects, lead)
            carried = carried_on(scheme, carried, new, accelerations, over)
        if errors.crossed:  # what is before says nothing of what follows
            accelerations = restarted(accelerations.now, new.t, errors.local)
        memory = AlphaMemory(
            h,
            memory.steps + 1,
            a,
            accelerations,
            guess.missed(*missed, system.weight),
            None if errors.crossed else solution.history,
            None if errors.crossed else matrix,
            solution.unknown.eta / h if len(solution.unknown.eta) else None,
            branches=errors.branches,
            errors=carried,
            resolves=memory.resolves,
        )
        step = Step(new, memory, solution.report, errors.local)
        return self._after_blow(system, step, h) if stops else step

    def _after_blow(self, system: System, step: Step, h: float) -> Step:
        """A step as by a blow, from which all begins anew, with the reactions and accelerations after it.

        Where they are not found from zero, those of a step of Euler's stand for them, with which the method goes on.
        """
        branches, errors = step.memory.branches, step.memory.errors
        if errors is not None:  # those of accelerations are gone
            errors = errors._replace(values=errors.values * np.array([[1.0], [1.0], [0.0], [0.0], [1.0]]))
        after = self._ahead(system, step.state, h)
        memory = self.restart(system, after, h)._replace(branches=branches, errors=errors)
        with suppress(*FAILURES):
            after = replace(step.state, **accelerations(system, place_of(step.state))._asdict())
        return step._replace(state=after, memory=memory)

    def _ahead(self, system: System, state: State, h: float) -> State:
        """A state with the reactions and accelerations to which a step of ``h`` of Euler's implicit method leads."""
        euler, memory = self.euler(system, state, h)
        there = euler.trial(system, state, h, memory)
        return replace(state, vdot=there.vdot, multipliers=there.multipliers, udot=there.udot, uddot=there.uddot)

    def _with_errors(
        self, system: System, state: State, h: float, started: AlphaMemory, memory: AlphaMemory
    ) -> AlphaMemory:
        """Starting values with the errors that are carried along: steps of ``h`` resolve less of accelerations.

        The rest of those after a start or a jump is of what a step damps, or of a law that bends within it: velocities
        miss ``C_q h`` times as much, of which the tangent of the step takes back what is damped. After a jump, what
        accelerations were before tells nothing of how they go on: their slope has jumped, too.
        """
        if (errors := memory.errors) is None:
            return started
        values, history, soon = errors.values.copy(), started.accelerations, SOON * h
        if errors.values.any():
            values[2] = values[3] = self.resolved(system, state, h, values[2])
        if memory.before is not None:
            now = highest_derivatives(system, state)
            values[1] += np.where(system.orders == 2, self.coefficients.C_q * h * (now - history.now), 0.0)
            if errors.values.any():
                with suppress(*self.in_vain(system)):
                    older = history.now + now - ahead(system, state, soon)
                    history = history._replace(t_older=state.t - soon, older=older)
        return started._replace(errors=errors._replace(values=values), accelerations=history)

    def prepared(
        self, system: System, state: State, h: float, memory: AlphaMemory, growth: float = GROWTH
    ) -> AlphaMemory:
        """Starting values for ``h`` where those of the memory are for another first step, or from a far shorter one."""
        if memory.before is None:
            return self.restart(system, state, h) if h > max(growth * memory.h, memory.resolves) else memory
        if isclose(h, memory.h, rel_tol=SAME):
            return memory
        return self._begin(system, state, h, memory.before)

    def started(self, system: System, state: State, h: float, memory: AlphaMemory) -> AlphaMemory:
        """Starting values for a first step of ``h``, which a trial of it corrects, or from a far shorter one."""
        memory = self.prepared(system, state, h, memory)
        if memory.before is None or not self._corrects(system):
            return memory
        with suppress(*self.in_vain(system)):
            there = self.trial(system, state, h, memory)
            memory = self._corrected(system, state, h, memory, highest_derivatives(system, there))
        return memory

    def in_vain(self, system: System) -> tuple[type[Exception], ...]:
        """How a trial step may end that then tells nothing: where friction jams, the shortest have no solution, too.

        Else shorter steps are asked for, which begin with what their trial tells.
        """
        return FAILURES if system.readers else ()

    def _corrects(self, system: System) -> bool:
        return self.start is None and self.scheme(system).kind is StabilizedEquations

    def _corrected(self, system: System, state: State, h: float, memory: AlphaMemory, there: Array) -> AlphaMemory:
        """A start with ``a_0 = vdot(t_0 + Delta_alpha h)``, as highest derivatives go to those ``there`` at its end."""
        if not self._corrects(system):
            return memory
        slope = (there - memory.accelerations.now) / h
        shift = shifted(self.scheme(system), state, h, slope) - highest_derivatives(system, state)
        return memory._replace(a=memory.accelerations.now + shift)

    def equations(self, system: System, state: State, h: float, memory: AlphaMemory) -> StepEquations:
        """The equations of a step: Newmark's formulas from the state, and what is asked of the constraints."""
        scheme = self.scheme(system)
        v, a = np.append(state.v, state.udot) if system.k else state.v.ravel(), memory.a
        if not isclose(h, memory.h, rel_tol=SAME):
            v, a = adapted(scheme, state, h, memory)
        if memory.velocity_perturbation is not None:
            v = v + memory.velocity_perturbation
        formulas = newmark(scheme.parameters, h, (v, memory.accelerations.now, a), system.order)
        return scheme.kind(system, state, h, formulas, scheme.chart, ENTRIES[self.newton.matrix])

    def scheme(self, system: System) -> Scheme:
        """What all steps have in common; without constraints on positions the formulations are one.

        What rolls closes velocities alone. With joints that repeat it, ``S`` is neither regular nor singular, as the
        others are closed on positions: the larger matrix of index 2 has both on one level.
        """
        kind = FORMULATIONS[self.formulation] if system.closes_positions else StepEquations
        if kind is StabilizedEquations and system.has_velocity_level and system.redundant is not None:
            kind = Index2Equations
        return Scheme(system, system.kinematics, self.coefficients, kind)

    def carrying(self, system: System, state: State, memory: AlphaMemory) -> AlphaMemory:
        """On the group, with the exact matrix of each step, and without the second multipliers of index 2."""
        scheme = self.scheme(system)
        able = scheme.chart is system.kinematics and scheme.kind is not Index2Equations and self.quadratic
        if not able or self.newton.modified:
            return memory
        return memory._replace(errors=begun(system, state))

    def missing(self, system: System, state: State, memory: AlphaMemory, velocities: Array) -> AlphaMemory:
        """As errors of velocities, of which the motion makes what it does; they are there, however slow it is.

        The next step ends the block that is under way, with errors of the configuration as if these had begun with it.
        """
        if (errors := memory.errors) is None:
            return memory
        values, n = errors.values.copy(), 6 * system.n
        body = np.matvec(state.R.mT[:, None], velocities).reshape(-1, 6)
        values[1, :n] -= system.kinematics.from_body(state.R, body).reshape(-1)
        values[0] -= (state.t - errors.t) * (values[1] - errors.values[1])
        speeds = np.maximum(errors.speeds, worst(system, state.rates)) + np.linalg.norm(velocities, axis=2).max(axis=0)
        return memory._replace(errors=errors._replace(values=values, until=state.t, speeds=speeds))

    def carried(self, system: System, state: State, memory: AlphaMemory) -> Array | None:
        """By the tangents of blocks of steps, however they grow; no further than two motions part."""
        if (errors := memory.errors) is None:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            speeds = np.maximum(errors.speeds, worst(system, state.rates))
            late = errors.delay * (errors.t - errors.began) * np.asarray(errors.speeds)
            now = errors.values[0] + errors.late * state.rates if errors.late else errors.values[0]
            sizes = np.maximum.reduce([*errors.largest, worst(system, now), late])
            return np.minimum(np.nan_to_num(sizes, nan=np.inf, posinf=np.inf), 2.0 * (state.t - errors.began) * speeds)

    def within(self, allowed: float) -> GeneralizedAlpha:
        """With Newton's method ended by the first correction below the allowed error: what it leaves is far smaller."""
        tolerance = min(max(self.newton.correction_tolerance, allowed), LOOSEST)
        return replace(self, newton=replace(self.newton, correction_tolerance=tolerance))

    def advice(self, state: State, h: float) -> str:
        """What may help; where bodies turn further in a step than the method bears, the limit."""
        turn = turn_of_a_step(state, h)
        if turn <= most_turn(self.rho_inf):
            return super().advice(state, h)
        others = "" if self.formulation == "stabilized" else ", the default formulation"
        return (
            f"{super().advice(state, h)}\n  a node turns by {turn:.2g} rad a step; with rho_inf = {self.rho_inf:g}, "
            f"stiff beams, and joints of index 3, may become unstable above about {most_turn(self.rho_inf):.2g} rad: "
            f"try a smaller step, a smaller rho_inf{others}, or group='SE3'"
        )

    def doubt(self, system: System, state: State, h: float) -> str:
        """Of index 3, that velocities leave their constraints."""
        return "" if self.scheme(system).kind.closes_velocities else instability(system, state, h, self.rho_inf)
