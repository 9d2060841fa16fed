"""Laws of derivatives: three ways to the same numbers, along which joints stay closed.

``check_sensitivity`` is for authors whose elements and joints are to have exact derivatives: they need no line for it,
but their matrices have to be exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from fem_mbs.arrays import Array, ArrayLike
from fem_mbs.contracts import Method, Seconds, checked
from fem_mbs.derivatives.goals import Integral
from fem_mbs.derivatives.objective import objective
from fem_mbs.derivatives.parameters import Build
from fem_mbs.derivatives.sensitivities import Sensitivities, sensitivities
from fem_mbs.derivatives.step import NoDerivativeError
from fem_mbs.solution.solution import Solution
from fem_mbs.testing.differences import ContractError, DoesNotApplyError, LawReport, hold, laws

NEAR = {"x": 1e-6, "R": 1e-6, "v": 1e-6, "u": 1e-6, "udot": 1e-6, "vdot": 1e-5, "multipliers": 1e-5}
"""Differences of runs have a noise of 1e-9, with stiff beams 2e-7, over the largest derivative; accelerations and
multipliers, which follow from gaps over ``h^2``, more."""
SMALL = 1e-4
"""Derivatives by relative changes below this share of the quantity are within the noise of runs."""
BACK, CLOSED = 1e-7, 1e-8
"""How far backwards is from forwards; gaps of joints, in m or rad, that a unit of a parameter would leave."""


@dataclass(frozen=True)
class SensitivityTrial:
    """A model with parameters, and a run."""

    name: ClassVar[str] = "check_sensitivity"
    build: Build
    values: Mapping[str, ArrayLike]
    t_end: float
    step: float
    method: Method | None
    scale: Mapping[str, float] | None

    def run(self, how: str) -> Sensitivities:
        """The derivatives in one way."""
        return sensitivities(self.build, self.values, self.t_end, self.step, self.method, how=how, scale=self.scale)

    @cached_property
    def direct(self) -> Sensitivities:
        """Direct derivatives."""
        try:
            return self.run("direct")
        except NoDerivativeError as error:
            raise DoesNotApplyError(str(error)) from error


def direct_is_what_runs_differ_by(trial: SensitivityTrial) -> None:
    """Of all arrays of the states."""
    copies = trial.run("copies")
    for name, near in NEAR.items():
        mine, theirs = (own.of(lambda s, name=name: getattr(s.history, name)) for own in (trial.direct, copies))  # type: ignore[misc]
        size = SMALL * np.abs(getattr(copies.solution.history, name)).max(initial=0.0)
        for key, expected in theirs.items():
            least = size / (np.abs(trial.values[key]).max() or (trial.scale or {})[key])
            limit, error = near * max(np.abs(expected).max(initial=0.0), least), np.abs(mine[key] - expected)
            if error.max(initial=0.0) > limit:
                raise ContractError(
                    f"the derivative of {name} against {key} misses differences of runs by {error.max():.1e} of "
                    f"{np.abs(expected).max():.1e}. Is a matrix of an element not exact, or has a law a kink?"
                )


def backwards_is_forwards(trial: SensitivityTrial) -> None:
    """Of the integral of squared velocities."""

    def squares(s: Solution) -> Array:
        rates: Array = s.history.udot[:, s.system.order >= 0]
        return (np.asarray(s.history.v) ** 2).sum(axis=(1, 2)) + (rates**2).sum(axis=1)

    goal = Integral(squares)
    shapes, p = dict(trial.values), np.concatenate([np.ravel(own) for own in trial.values.values()])
    asked = partial(
        objective, trial.build, goal, shapes, trial.t_end, trial.step, method=trial.method, scale=trial.scale
    )
    try:
        forwards, back = (asked(how=how)(p)[1] for how in ("direct", "adjoint"))
    except NoDerivativeError as error:
        raise DoesNotApplyError(str(error)) from error
    if np.abs(back - forwards).max() > BACK * np.abs(forwards).max():
        raise ContractError(f"the gradient backwards is {back}, forwards {forwards}. Is a matrix not exact?")


def joints_stay_closed(trial: SensitivityTrial) -> None:
    """Moved along derivatives, constraints hold on both levels."""
    if not trial.direct.solution.system.m:
        raise DoesNotApplyError("it has no joints")
    for level in ("position", "velocity"):
        for key, gap in trial.direct.of(lambda s, level=level: getattr(s.constraint_residual, level)).items():  # type: ignore[misc]
            if np.abs(gap).max(initial=0.0) > CLOSED:
                raise ContractError(f"along the derivative against {key} joints open by {np.abs(gap).max():.1e}")


SENSITIVITY_LAWS = laws(direct_is_what_runs_differ_by, backwards_is_forwards, joints_stay_closed)
"""All laws by name."""


@checked
def check_sensitivity(
    build: Build,
    parameters: Mapping[str, ArrayLike],
    t_end: Seconds = 0.05,
    step: Seconds = 0.005,
    method: Method | None = None,
    *,
    scale: Mapping[str, float] | None = None,
) -> LawReport:
    """Hold the derivatives of a model to differences of whole runs; says which laws were checked.

    Parameters
    ----------
    build, parameters, t_end, step, method, scale
        As of :func:`fem_mbs.sensitivities`; the run is to be short, and to have no kinks.

    Raises
    ------
    ContractError
        If a law does not hold; says which, and how.
    ModelError
        As of :func:`fem_mbs.sensitivities`.
    """
    trial = SensitivityTrial(build, parameters, t_end, step, method, scale)
    return hold(", ".join(parameters), SENSITIVITY_LAWS, trial)
