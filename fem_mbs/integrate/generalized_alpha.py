"""The Lie group generalised-alpha method for the index-3 equations.

Bruels, Cardona, Arnold (2012), eqs. 27-32 and Table 1, with Newton's method in the scaled unknowns of Arnold, Cardona,
Bruels (2015), eqs. 57-60.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import ModelError
from fem_mbs.integrate.starting_values import perturbed
from fem_mbs.model import Motion, instance, number
from fem_mbs.solve import Newton, Report, initial_state, newton_solve
from fem_mbs.system import Evaluation, Solve, State, System


class Parameters(NamedTuple):
    """Coefficients of the method."""

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float


@dataclass(frozen=True)
class GeneralizedAlpha:
    """The generalised-alpha method with the coefficients of Chung and Hulbert.

    Parameters
    ----------
    rho_inf : float
        Spectral radius at infinite frequency, in [0, 1]: 1 keeps the energy of high frequencies, 0 removes it at once.
    formulation : {"index3"}
        Constraints on position level.
    start : {"consistent", "perturbed"}
        Initial accelerations and multipliers from the hidden constraints with ``a_0 = vdot_0``, or with the
        perturbation of ``a_0`` and ``v_0`` that keeps the multipliers of second order from the first step on (Arnold,
        Cardona, Bruels 2015, Table 2).
    newton : Newton
        Options of Newton's method.
    parameters : Parameters, optional
        Coefficients; those of Chung and Hulbert for ``rho_inf`` by default (Arnold, Cardona, Bruels 2015, eq. 42).
    """

    rho_inf: float = 0.9
    formulation: str = "index3"
    start: str = "consistent"
    newton: Newton = field(default_factory=Newton)
    parameters: Parameters | None = None

    def __post_init__(self) -> None:
        instance(self.newton, Newton, "GeneralizedAlpha: newton")
        if not 0.0 <= number(self.rho_inf, "GeneralizedAlpha: rho_inf") <= 1.0:
            raise ModelError(f"GeneralizedAlpha: rho_inf must be in [0, 1], received {self.rho_inf}")
        for name, allowed in (("formulation", ("index3",)), ("start", ("consistent", "perturbed"))):
            if getattr(self, name) not in allowed:
                raise ModelError(
                    f"GeneralizedAlpha: {name} must be one of {', '.join(map(repr, allowed))}, "
                    f"received {getattr(self, name)!r}"
                )
        if self.parameters is None:
            object.__setattr__(self, "parameters", chung_hulbert(self.rho_inf))

    @classmethod
    def hht(cls, alpha: float = 0.05, newton: Newton | None = None) -> GeneralizedAlpha:
        """The method of Hilber, Hughes and Taylor with numerical damping ``alpha`` in [0, 1/3]."""
        if not 0.0 <= number(alpha, "GeneralizedAlpha.hht: alpha") <= 1.0 / 3.0:
            raise ModelError(f"GeneralizedAlpha.hht: alpha must be in [0, 1/3], received {alpha}")
        parameters = Parameters(0.0, alpha, 0.25 * (1.0 + alpha) ** 2, 0.5 + alpha)
        return cls((1.0 - alpha) / (1.0 + alpha), newton=newton or Newton(), parameters=parameters)


def chung_hulbert(rho_inf: float) -> Parameters:
    """Coefficients of second order with spectral radius ``rho_inf`` at infinite frequency."""
    alpha_m = (2.0 * rho_inf - 1.0) / (rho_inf + 1.0)
    alpha_f = rho_inf / (rho_inf + 1.0)
    gamma = 0.5 + alpha_f - alpha_m
    return Parameters(alpha_m, alpha_f, 0.25 * (gamma + 0.5) ** 2, gamma)


def start(system: System, method: GeneralizedAlpha, h: float | None = None) -> State:
    """State at t = 0 from which ``method`` can step; see :func:`fem_mbs.solve.initial_state` for the errors.

    Perturbed starting values depend on the first step ``h`` in s.
    """
    state = initial_state(system)
    if method.start == "consistent":
        return state
    h = number(h, "start: h, the first step, which perturbed starting values depend on,", positive=True)
    parameters = method.parameters or chung_hulbert(method.rho_inf)
    return perturbed(system, state, h, parameters.alpha_m, parameters.alpha_f, parameters.beta)


class Trial(NamedTuple):
    """A trial of the new state and the equations there."""

    state: tuple[Array, Array, Array, Array]
    motion: Motion
    evaluation: Evaluation


class Linearization(NamedTuple):
    """The factorised iteration matrix and the tangent operators it was built with."""

    solve: Solve
    T: Array


Unknown = tuple[Array, Array]


class StepProblem:
    """The equations of one step in the increment ``D = h Delta q`` and the multipliers."""

    def __init__(self, system: System, state: State, h: float, parameters: Parameters) -> None:
        alpha_m, alpha_f, beta, gamma = parameters
        self.system, self.state, self.h = system, state, h
        self.t = state.t + h
        self.prescribed = system.prescribe(self.t)
        self.beta = (1.0 - alpha_m) / (h * h * beta * (1.0 - alpha_f))
        self.gamma = gamma / (h * beta)
        self.a = (alpha_f * state.vdot - alpha_m * state.a) / (1.0 - alpha_m)
        self.v = state.v + h * ((1.0 - gamma) * state.a + gamma * self.a)
        self.D = h * state.v + h * h * ((0.5 - beta) * state.a + beta * self.a)

    def guess(self) -> Unknown:
        """First guess ``(v + h a/2, lambda)`` of the last state (Arnold, Cardona, Bruels 2015, section 3.5)."""
        state, h = self.state, self.h
        return h * state.v + (0.5 * h * h) * state.a, state.multipliers

    def state_at(self, D: Array) -> tuple[Array, Array, Array, Array]:
        """Positions, rotations, velocities and their derivatives at the end of the step."""
        step = D - self.D
        x, R = self.system.kinematics.retract(self.state.x, self.state.R, D)
        return x, R, self.v + self.gamma * step, self.beta * step

    def evaluate(self, unknown: Unknown) -> Trial:
        """Equations at the end of the step."""
        D, multipliers = unknown
        state = self.state_at(D)
        motion = self.system.motion(self.t, *state)
        return Trial(state, motion, self.system.evaluate(motion, multipliers, self.prescribed))

    def size(self, trial: Trial) -> tuple[float, float]:
        """Relative residuals."""
        return self.system.relative_residual(trial.evaluation)

    def linearize(self, unknown: Unknown, trial: Trial) -> Linearization:
        """Scaled iteration matrix ``[[h^2 (K + gamma C + beta M), B^T], [B, 0]]`` in body increments."""
        motion = trial.motion
        T = self.system.kinematics.inverse_tangent(unknown[0])
        dV, dA = self.system.kinematics.derivatives(motion.V, motion.A, T, self.gamma, self.beta)
        matrix = self.system.iteration_matrix(trial.evaluation, dV, dA, self.h**2)
        return Linearization(self.system.factor(matrix), T)

    def correct(self, unknown: Unknown, trial: Trial, linearization: Linearization) -> tuple[Unknown, float]:
        """One correction; ``(delta q, h^2 delta lambda)`` with ``(h^2 r, Phi)`` is the scaling of eqs. 57-60."""
        system, h, R = self.system, self.h, trial.motion.R
        increments, multipliers = system.increments(linearization.solve(-system.residual(trial.evaluation, h * h)))
        D = system.kinematics.from_body(R, np.matvec(linearization.T, increments))
        correction = float(np.abs(increments * system.increment_weight).max())
        return (unknown[0] + D, unknown[1] + multipliers / (h * h)), correction


def step(system: System, state: State, h: float, method: GeneralizedAlpha) -> tuple[State, Report[Trial]]:
    """State at ``state.t + h`` and how Newton's method found it.

    Raises
    ------
    NotConvergedError, MotionError, SingularSystemError
        If the step cannot be solved; a shorter one may.
    """
    parameters = method.parameters or chung_hulbert(method.rho_inf)
    problem = StepProblem(system, state, h, parameters)
    # a diverging iteration overflows before it is stopped
    with np.errstate(over="ignore", invalid="ignore"):
        (D, multipliers), report = newton_solve(problem, problem.guess(), method.newton)
    # the last evaluation was at the solution, or at what was corrected once more
    x, R, v, vdot = report.value.state if report.evaluations > report.iterations else problem.state_at(D)
    a = problem.a + (1.0 - parameters.alpha_f) / (1.0 - parameters.alpha_m) * vdot
    return State(problem.t, x, R, v, vdot, a, multipliers), report
