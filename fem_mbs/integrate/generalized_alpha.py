"""The Lie group generalised-alpha method: its options, what it remembers, and its step.

Bruels, Cardona, Arnold (2012), section 4. The formulas are in ``newmark.py``, the equations of a step in ``index3.py``
and ``index2.py``, what a change of the step does to the memory in ``change_step.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import ModelError
from fem_mbs.integrate.change_step import AlphaMemory, adapted, same
from fem_mbs.integrate.chart import Chart, make_chart
from fem_mbs.integrate.index2 import Index2Problem
from fem_mbs.integrate.index3 import Index3Problem, Linearization, Trial, Unknown
from fem_mbs.integrate.local_error import defect, lead
from fem_mbs.integrate.method import Method, Step
from fem_mbs.integrate.newmark import newmark
from fem_mbs.integrate.parameters import Parameters, chung_hulbert
from fem_mbs.integrate.predictor import Missed, first_guess, what_was_missed
from fem_mbs.integrate.starting_values import perturbed
from fem_mbs.lie.parametrization import PARAMETRIZATIONS
from fem_mbs.model import instance, number, one_of
from fem_mbs.solve import Found, Newton, newton_solve
from fem_mbs.system import State, System

FORMULATIONS = ("index3", "index2")
STARTS = ("consistent", "perturbed")


@dataclass(frozen=True)
class GeneralizedAlpha(Method):
    """The Lie group generalised-alpha method with the coefficients of Chung and Hulbert.

    Parameters
    ----------
    rho_inf : float
        Spectral radius at infinite frequency, in [0, 1]: 1 keeps the energy of high frequencies, 0 removes it at once.
    formulation : {"index3", "index2"}
        Constraints on position level, or on position and velocity level with the multipliers ``eta`` of Gear, Gupta and
        Leimkuhler.
    start : {"consistent", "perturbed"}
        Initial accelerations and multipliers from the hidden constraints with ``a_0 = vdot_0``, or with the
        perturbation of ``a_0`` and, for index 3, of ``v_0`` that keeps the multipliers of second order from the first
        step on (Arnold, Cardona, Bruels 2015, Tables 1 and 2).
    newton : Newton
        Options of Newton's method.
    parameters : Parameters, optional
        Coefficients; those of Chung and Hulbert for ``rho_inf`` by default (Arnold, Cardona, Bruels 2015, eq. 42).
    """

    order: ClassVar[int] = 2
    error_order: ClassVar[int] = 3
    error_share: ClassVar[float] = 0.01
    Memory: ClassVar[type] = AlphaMemory

    rho_inf: float = 0.9
    formulation: str = "index3"
    start: str = "consistent"
    newton: Newton = field(default_factory=Newton)
    parameters: Parameters | None = None

    def __post_init__(self) -> None:
        name = type(self).__name__
        instance(self.newton, Newton, f"{name}: newton")
        if not 0.0 <= number(self.rho_inf, f"{name}: rho_inf") <= 1.0:
            raise ModelError(f"{name}: rho_inf must be in [0, 1], received {self.rho_inf}")
        one_of(self.formulation, FORMULATIONS, f"{name}: formulation")
        one_of(self.start, STARTS, f"{name}: start")

    @property
    def coefficients(self) -> Parameters:
        """The coefficients that are used."""
        return self.parameters or chung_hulbert(self.rho_inf)

    @property
    def chart(self) -> str:
        """The coordinates of a step, see ``chart.py``."""
        return "group"

    @classmethod
    def hht(cls, alpha: float = 0.05, newton: Newton | None = None) -> GeneralizedAlpha:
        """The method of Hilber, Hughes and Taylor with numerical damping ``alpha`` in [0, 1/3]."""
        if not 0.0 <= number(alpha, f"{cls.__name__}.hht: alpha") <= 1.0 / 3.0:
            raise ModelError(f"{cls.__name__}.hht: alpha must be in [0, 1/3], received {alpha}")
        parameters = Parameters(0.0, alpha, 0.25 * (1.0 + alpha) ** 2, 0.5 + alpha)
        return cls((1.0 - alpha) / (1.0 + alpha), newton=newton or Newton(), parameters=parameters)

    def init(self, system: System, state: State, h: float) -> AlphaMemory:
        """Starting values for a first step of ``h``."""
        here, kick = lead(system, state), None
        a = here
        if self.start == "perturbed":
            number(h, "init: h, the first step, which perturbed starting values depend on,", positive=True)
            chart = make_chart(system.kinematics, self.chart)
            a, kick = perturbed(system, state, h, chart, self.coefficients, self.formulation == "index2")
        return AlphaMemory(h, 0, a, kick, state.t, here, state.t, here, None, None, True, None, None, None)

    def step(self, system: System, state: State, h: float, memory: AlphaMemory) -> Step:
        """One step, by Newton's method."""
        if not memory.steps and not same(h, memory.h):
            memory = self.init(system, state, h)
        problem, missed = self.problem(system, state, h, memory), _missed(memory)
        plain = problem.formulas.guess
        guess = problem.guess(*first_guess(plain, state.multipliers, h, missed))
        # a diverging iteration overflows before it is stopped
        with np.errstate(over="ignore", invalid="ignore"):
            found = newton_solve(problem, guess, self.newton, self._kept(system, memory))
        new, a = problem.result(found)
        new = system.accept(new)
        missed = what_was_missed(found.unknown[0] - plain, new.multipliers - state.multipliers, h, missed)
        error = self._error(system, problem.chart, state, new, h, memory)
        return Step(new, _next(system, state, h, memory, a, missed, found), found.report, error)

    def problem(self, system: System, state: State, h: float, memory: AlphaMemory) -> Index3Problem:
        """The equations of a step."""
        chart, parameters = make_chart(system.kinematics, self.chart), self.coefficients
        v, a = adapted(system, chart, parameters, self._stabilized(system), state, h, memory)
        formulas = newmark(parameters, h, v, lead(system, state), a, system.order)
        make = Index2Problem if self._stabilized(system) else Index3Problem
        return make(system, state, h, formulas, chart, self.newton.matrix)

    def _stabilized(self, system: System) -> bool:
        """Whether there is a second set of multipliers: without constraints the formulations are one."""
        return self.formulation == "index2" and bool(system.m)

    def within(self, allowed: float) -> GeneralizedAlpha:
        """With Newton's method ended by the first correction below the allowed error: what it leaves is far smaller."""
        tolerance = max(self.newton.correction_tolerance, allowed)
        return replace(self, newton=replace(self.newton, correction_tolerance=tolerance))

    def advice(self, state: State, h: float) -> str:
        """What may help; where bodies turn further in a step than the method bears, the limit."""
        turn = h * float(np.linalg.norm(state.v[:, 3:], axis=1).max())
        if turn <= 1.0 - self.rho_inf:
            return super().advice(state, h)
        return (
            f"{super().advice(state, h)}\n  a node turns by {turn:.2g} rad a step; with rho_inf = {self.rho_inf:g}, "
            f"joints and stiff beams may become unstable above about {1.0 - self.rho_inf:.2g} rad: try a smaller step, a "
            "smaller rho_inf, formulation='index2', or group='SE3'"
        )

    def _kept(self, system: System, memory: AlphaMemory) -> Linearization | None:
        """The matrix of the last step, for the modified Newton method."""
        if not self.newton.modified or memory.factors is None or memory.T_inv is None:
            return None
        solver = system.stabilized.solver if self._stabilized(system) else system.solver
        return Linearization(solver.restore(memory.factors), memory.T_inv)

    def _error(self, system: System, chart: Chart, state: State, new: State, h: float, memory: AlphaMemory) -> float:
        """Largest defect of the step."""
        after, here = lead(system, new), lead(system, state)
        slope = (after - memory.lead_old) / (new.t - memory.t_old)
        curvature = np.zeros(system.k)
        if system.k:
            recent = system.own_of(after - here) / h
            before = system.own_of(here - memory.lead_old) / ((state.t - memory.t_old) or h)
            # before there are three values, that of a fast state which has not begun to settle
            curvature = (recent - before) / (0.5 * (new.t - memory.t_old)) if memory.steps else recent / h
        left = defect(system, chart, self.coefficients, h, new, slope, curvature)
        return float(np.maximum.reduce(np.abs(left * system.weight)))


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

    parametrization: str = "conformal"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self.parametrization, PARAMETRIZATIONS, f"{type(self).__name__}: parametrization")

    @property
    def chart(self) -> str:
        """The coordinates of a step, see ``chart.py``."""
        return self.parametrization


def _missed(memory: AlphaMemory) -> Missed | None:
    if memory.D_missed is None or memory.multipliers_missed is None:
        return None
    return Missed(memory.h, memory.D_missed, memory.multipliers_missed, memory.told)


def _next(
    system: System,
    state: State,
    h: float,
    memory: AlphaMemory,
    a: Array,
    missed: Missed,
    found: Found[Unknown, Trial, Linearization],
) -> AlphaMemory:
    """What is remembered of a step that was made."""
    factors, T_inv = memory.factors, memory.T_inv
    if found.linearization is not None:
        factors, T_inv = found.linearization.factors.arrays, found.linearization.T_inv
    old = state.t, lead(system, state), memory.t_old, memory.lead_old
    eta = found.unknown[2] / h if len(found.unknown) > 2 else None
    last = missed.D, missed.multipliers, missed.told
    return AlphaMemory(h, memory.steps + 1, a, None, *old, *last, eta, factors, T_inv)
