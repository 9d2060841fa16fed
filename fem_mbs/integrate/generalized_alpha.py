"""The Lie group generalised-alpha method: its options, its start and one step.

The equations of a step are in ``index3.py`` and ``index2.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fem_mbs.errors import ModelError
from fem_mbs.integrate.index2 import Index2Problem
from fem_mbs.integrate.index3 import Index3Problem, Trial
from fem_mbs.integrate.parameters import Parameters, chung_hulbert
from fem_mbs.integrate.starting_values import perturbed
from fem_mbs.model import instance, number
from fem_mbs.solve import Newton, Report, initial_state, newton_solve
from fem_mbs.system import State, System

PROBLEMS: dict[str, type[Index3Problem]] = {"index3": Index3Problem, "index2": Index2Problem}


@dataclass(frozen=True)
class GeneralizedAlpha:
    """The generalised-alpha method with the coefficients of Chung and Hulbert.

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

    rho_inf: float = 0.9
    formulation: str = "index3"
    start: str = "consistent"
    newton: Newton = field(default_factory=Newton)
    parameters: Parameters | None = None

    def __post_init__(self) -> None:
        instance(self.newton, Newton, "GeneralizedAlpha: newton")
        if not 0.0 <= number(self.rho_inf, "GeneralizedAlpha: rho_inf") <= 1.0:
            raise ModelError(f"GeneralizedAlpha: rho_inf must be in [0, 1], received {self.rho_inf}")
        for name, allowed in (("formulation", tuple(PROBLEMS)), ("start", ("consistent", "perturbed"))):
            if getattr(self, name) not in allowed:
                raise ModelError(
                    f"GeneralizedAlpha: {name} must be one of {', '.join(map(repr, allowed))}, "
                    f"received {getattr(self, name)!r}"
                )

    @property
    def coefficients(self) -> Parameters:
        """The coefficients that are used."""
        return self.parameters or chung_hulbert(self.rho_inf)

    @classmethod
    def hht(cls, alpha: float = 0.05, newton: Newton | None = None) -> GeneralizedAlpha:
        """The method of Hilber, Hughes and Taylor with numerical damping ``alpha`` in [0, 1/3]."""
        if not 0.0 <= number(alpha, "GeneralizedAlpha.hht: alpha") <= 1.0 / 3.0:
            raise ModelError(f"GeneralizedAlpha.hht: alpha must be in [0, 1/3], received {alpha}")
        parameters = Parameters(0.0, alpha, 0.25 * (1.0 + alpha) ** 2, 0.5 + alpha)
        return cls((1.0 - alpha) / (1.0 + alpha), newton=newton or Newton(), parameters=parameters)


def start(system: System, method: GeneralizedAlpha, h: float | None = None) -> State:
    """State at t = 0 from which ``method`` can step; see :func:`fem_mbs.solve.initial_state` for the errors.

    Perturbed starting values depend on the first step ``h`` in s.
    """
    state = initial_state(system)
    if method.start == "consistent":
        return state
    h = number(h, "start: h, the first step, which perturbed starting values depend on,", positive=True)
    return perturbed(system, state, h, method.coefficients, method.formulation)


def step(system: System, state: State, h: float, method: GeneralizedAlpha) -> tuple[State, Report[Trial]]:
    """State at ``state.t + h`` and how Newton's method found it.

    Raises
    ------
    NotConvergedError, MotionError, SingularSystemError
        If the step cannot be solved; a shorter one may.
    """
    parameters = method.coefficients
    problem = PROBLEMS[method.formulation](system, state, h, parameters)
    # a diverging iteration overflows before it is stopped
    with np.errstate(over="ignore", invalid="ignore"):
        unknown, report = newton_solve(problem, problem.guess(), method.newton)
    # the last evaluation was at the solution, or at what was corrected once more
    x, R, v, vdot = report.value.state if report.evaluations > report.iterations else problem.state_at(unknown)
    a = problem.a + (1.0 - parameters.alpha_f) / (1.0 - parameters.alpha_m) * vdot
    return State(problem.t, x, R, v, vdot, a, unknown[1]), report
