"""The Lie group generalised-alpha method: its options, what it remembers, and its step.

Bruels, Cardona, Arnold (2012), section 4. The formulas are in ``newmark.py``, the equations of a step in ``index3.py``
and ``index2.py``, what a change of the step does to the memory in ``change_step.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
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
from fem_mbs.model import checked, instance, number, one_of
from fem_mbs.solve import Experience, Found, Newton, newton_solve
from fem_mbs.system import State, System

FORMULATIONS = ("index3", "index2")
STARTS = ("consistent", "perturbed")


@checked
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

    @cached_property
    def coefficients(self) -> Parameters:
        """The coefficients that are used."""
        return self.parameters or chung_hulbert(self.rho_inf)

    @property
    def chart(self) -> str:
        """The coordinates of a step, see ``chart.py``."""
        return "group"

    @classmethod
    @checked
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
        return AlphaMemory(h, 0, a, kick, here, state.t, here, state.t, here, None, None, None, None, None)

    def step(self, system: System, state: State, h: float, memory: AlphaMemory) -> Step:
        """One step, by Newton's method."""
        if not memory.steps and not same(h, memory.h):
            memory = self.init(system, state, h)
        problem = self.problem(system, state, h, memory)
        missed = None if memory.missed is None else Missed(*memory.missed)
        experience = None if memory.experience is None else Experience(*memory.experience)
        plain = problem.formulas.guess
        guess = first_guess(plain, state.multipliers, h, missed)
        # a diverging iteration overflows before it is stopped
        with np.errstate(over="ignore", invalid="ignore"):
            begin = problem.guess(guess.D, guess.multipliers)
            found = newton_solve(problem, begin, self.newton, self._kept(system, memory), experience)
        new, a = problem.result(found)
        new = system.accept(new)
        gone = found.unknown[0] - plain, new.multipliers - state.multipliers
        missed = what_was_missed(*gone, h, guess, missed)
        after = lead(system, new)
        error = self._error(system, problem.chart, new, after, h, memory)
        return Step(new, _next(state, h, memory, a, after, missed, found), found.report, error)

    def problem(self, system: System, state: State, h: float, memory: AlphaMemory) -> Index3Problem:
        """The equations of a step."""
        chart, parameters = make_chart(system.kinematics, self.chart), self.coefficients
        stabilized = self._stabilized(system)
        v, a = adapted(system, chart, parameters, stabilized, state, h, memory)
        formulas = newmark(parameters, h, v, memory.lead, a, system.order)
        make = Index2Problem if stabilized else Index3Problem
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
            f"joints and stiff beams may become unstable above about {1.0 - self.rho_inf:.2g} rad: try a smaller step, "
            "a smaller rho_inf, formulation='index2', or group='SE3'"
        )

    def _kept(self, system: System, memory: AlphaMemory) -> Linearization | None:
        """The matrix of the last step, for the modified Newton method."""
        if not self.newton.modified or memory.factors is None or memory.T_inv is None:
            return None
        solver = system.stabilized.solver if self._stabilized(system) else system.solver
        return Linearization(solver.restore(memory.factors), memory.T_inv)

    def _error(self, system: System, chart: Chart, new: State, after: Array, h: float, memory: AlphaMemory) -> float:
        """Largest defect of the step that led to a new state with the highest derivatives ``after``."""
        time = new.t - memory.t_old
        slope, curvature = (after - memory.lead_old) * (1.0 / time), system.u0
        if system.k:
            recent = system.own_of(after - memory.lead) / h
            before = system.own_of(memory.lead - memory.lead_old) / ((time - h) or h)
            # before there are three values, that of a fast state which has not begun to settle
            curvature = (recent - before) / (0.5 * time) if memory.steps else recent / h
        left = defect(system, chart, self.coefficients, 1.0, new, slope, curvature)
        return h**3 * float(np.maximum.reduce(np.abs(left * system.weight)))


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

    parametrization: str = "conformal"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self.parametrization, PARAMETRIZATIONS, f"{type(self).__name__}: parametrization")

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
    missed: Missed,
    found: Found[Unknown, Trial, Linearization],
) -> AlphaMemory:
    """What is remembered of a step that was made."""
    factors, T_inv = memory.factors, memory.T_inv
    if found.linearization is not None:
        factors, T_inv = found.linearization.factors.arrays, found.linearization.T_inv
    old = after, state.t, memory.lead, memory.t_old, memory.lead_old
    eta = found.unknown[2] / h if len(found.unknown) > 2 else None
    return AlphaMemory(h, memory.steps + 1, a, None, *old, missed, found.experience, eta, factors, T_inv)
