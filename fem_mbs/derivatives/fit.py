"""Identification: parameters of a model whose run comes closest to what was measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import numpy as np

from fem_mbs.arrays import Array, ArrayLike
from fem_mbs.contracts import Method, PositiveInt, Public, Seconds, checked, choice, real, shown
from fem_mbs.contracts.arguments import UnitInterval
from fem_mbs.derivatives.goals import Misfit
from fem_mbs.derivatives.parameters import Build, ParameterSet
from fem_mbs.derivatives.sensitivities import WAYS, Sensitivities, sensitivities
from fem_mbs.errors import LOG, ConvergenceError, ModelError
from fem_mbs.run.sweep import sweep
from fem_mbs.run.variable_step import VariableStep
from fem_mbs.solution.solution import Solution

ALIKE = 0.99
"""Correlation above which data do not tell two parameters apart."""
NOISE = 1e-9
"""Relative error of Jacobians by copies: below it, a combination of parameters changes nothing that can be seen."""
SHARE = 1e-3
"""Parts in a combination of parameters that changes nothing, from which on a parameter is named."""
CHANCE = 6.0
"""By so many of its standard deviations may the root mean square of residuals be above one by chance."""
TOLERANCE = 1e-12
"""Of the cost and of parameters, where the iteration ends."""


@dataclass(frozen=True, eq=False, repr=False)
class Fit(Public):
    """Identified parameters and how sure they are; ``print`` shows a table.

    Attributes
    ----------
    parameters : dict
        Values by name, as ``build`` takes them.
    names : list of str
        Of the numbers, one for each row of the covariance.
    values : (P,)
        The same numbers in a row.
    covariance, correlation : (P, P)
        ``(J^T J)^-1`` of the residuals over their standard deviations, and the same without units. Where these are not
        known, they are taken to be alike, and as large as the root mean square that is left by so many parameters.
    residuals : (k,)
        ``(model - data)/sigma`` at the solution; without those of a prior, their mean square is near 1 where the model
        is right and ``sigma`` is, too. Where ``sigma`` is not known, ``model - data``.
    cost : float
        Half the sum of squares, prior included.
    evaluations, jacobians : int
        Runs that were made, and those with derivatives.
    solution : Solution
        The run with these parameters.
    """

    parameters: dict[str, Any]
    names: list[str]
    values: Array
    covariance: Array
    residuals: Array
    cost: float
    evaluations: int
    jacobians: int
    solution: Solution

    @property
    def deviations(self) -> Array:
        """Standard deviations ``(P,)`` of the numbers."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def correlation(self) -> Array:
        """Correlations ``(P, P)``."""
        sizes = np.where(self.deviations > 0.0, self.deviations, 1.0)
        return self.covariance / np.outer(sizes, sizes)

    @checked
    def interval(self, level: UnitInterval = 0.95) -> dict[str, tuple[float, float]]:
        """Confidence intervals at a level by number, from Student's distribution and the equations linear there."""
        from scipy.special import stdtrit  # which takes long to import

        width = stdtrit(max(1, len(self.residuals) - len(self.names)), 0.5 + 0.5 * level) * self.deviations
        return {
            name: (float(value - own), float(value + own))
            for name, value, own in zip(self.names, self.values, width, strict=True)
        }

    def __str__(self) -> str:
        rows = zip(self.names, self.values, self.deviations, strict=True)
        lines = ["parameter              value   std. deviation"]
        return "\n".join([*lines, *(f"{name:16}{value:12.6g}{own:17.3g}" for name, value, own in rows)])

    def __repr__(self) -> str:
        return f"Fit of {', '.join(self.names)}: cost {self.cost:.6g} after {self.evaluations} runs"


@checked
def fit(
    build: Build,
    parameters: Mapping[str, ArrayLike],
    data: Misfit | Sequence[Misfit] | Mapping[str, Sequence[ArrayLike]],
    t_end: Seconds,
    step: Seconds | VariableStep,
    *,
    method: Method | None = None,
    bounds: Mapping[str, ArrayLike] | None = None,
    prior: Mapping[str, ArrayLike] | None = None,
    how: Annotated[str, choice(WAYS)] | None = None,
    scale: Mapping[str, float] | None = None,
    starts: PositiveInt = 1,
    seed: int = 0,
    executor: Executor | None = None,
) -> Fit:
    """Identify parameters of a model from measured series, by least squares with exact Jacobians.

    Parameters
    ----------
    build : function
        Takes the parameters as keyword arguments and returns a new :class:`Model`.
    parameters : dict
        Where to start.
    data : Misfit, list of them, or dict
        What was measured: a signal of a solution, times, values, standard deviations; or the last three by the name of
        the joint, the sensor or the channel, as ``{"hinge": (times, angles, 0.005)}``. Without standard deviations all
        data count alike, and theirs is taken from what the model misses of them. Series with and without do not go
        together.
    t_end, step, method, how, scale
        As of :func:`sensitivities`.
    bounds : dict, optional
        Least and largest value of parameters, by name.
    prior : dict, optional
        What is known of parameters before: mean and standard deviation, by name, beside data that have theirs, too.
    starts : int
        So many starts, the first as given, the others at random within the bounds: least squares of long swings has a
        minimum every turn. The best is returned.
    seed : int
        Of the random starts.
    executor : concurrent.futures.Executor, optional
        Where the starts run, as of :func:`sweep`.

    Raises
    ------
    ModelError
        If an argument is not valid.
    ConvergenceError
        If the iteration does not converge; if the data do not depend on a parameter.
    """
    series = _series(data)
    if not series:
        raise ModelError("fit: data must be a Misfit, or a list of them, received none")
    template = ParameterSet(build, parameters, scale, "fit")
    lower, upper, *known = _known(template, bounds or {}, prior or {})
    _check_sigma(series, prior, len(template.flat))
    run = partial(sensitivities, build, t_end=t_end, step=step, method=method, how=how, scale=scale)
    problem = _Problem(template, series, known, run, t_end)
    if starts == 1:
        return _judged(problem, problem.solved(template.flat, lower, upper))
    if not (np.isfinite(lower) & np.isfinite(upper)).all():
        raise ModelError("fit: starts > 1 are taken at random within bounds: give finite bounds of all parameters")
    draws = np.random.default_rng(seed).uniform(lower, upper, (starts - 1, len(template.flat)))
    cases = [{"start": own.tolist()} for own in (template.flat, *draws)]
    rows = sweep(partial(_attempt, problem, lower, upper), cases, executor)
    best = min((row for row in rows if "cost" in row), key=lambda row: row["cost"], default=None)
    if best is None:
        raise ConvergenceError(
            f"fit: none of {starts} starts has led to a solution, the first: {rows[0]['error']}", t_end
        )
    return _judged(problem, problem.solved(np.array(best["at"]), lower, upper))


def _judged(problem: _Problem, found: Fit) -> Fit:
    """With the standard deviation of the data from what is left, where they came without; says what is doubtful."""
    for k in problem.at_bounds:
        LOG.warning(
            "fit: %s = %g is at its bound; no standard deviation tells how sure that is",
            found.names[k],
            found.values[k],
        )
    for i, j in np.argwhere(np.triu(np.abs(found.correlation), 1) > ALIKE):
        LOG.warning(
            "fit: the data hardly tell %s from %s, whose correlation is %.4f; measure more, or give a prior",
            *(found.names[i], found.names[j], found.correlation[i, j]),
        )
    free = max(1, len(found.residuals) - len(found.names))
    missed = float(np.linalg.norm(found.residuals)) / np.sqrt(free)
    if problem.series[0].sigma is not None:
        if missed > 1.0 + CHANCE * np.sqrt(0.5 / free):
            LOG.warning("fit: the model misses the data by %.3g sigma, the most at %s", missed, problem.worst(found))
        return found
    return replace(found, covariance=found.covariance * missed**2)


def _series(data: Misfit | Sequence[Misfit] | Mapping[str, Sequence[ArrayLike]]) -> list[Misfit]:
    """What was measured."""
    if not isinstance(data, Mapping):
        return [data] if isinstance(data, Misfit) else list(data)
    for name, measured in data.items():
        if not isinstance(measured, list | tuple) or len(measured) not in (2, 3):
            raise ModelError(
                f"fit: data[{name!r}] must be times, values and their standard deviations, received {shown(measured)}"
            )
    return [Misfit(name, *measured) for name, measured in data.items()]  # type: ignore[arg-type]


def _check_sigma(series: Sequence[Misfit], prior: object, count: int) -> None:
    """Refuse data without standard deviations beside what has them, and too few of them to find theirs."""
    names = ", ".join(_called(own, k) for k, own in enumerate(series, 1) if own.sigma is None)
    if names and (prior or any(own.sigma is not None for own in series)):
        have = "the prior has its own" if prior else "the others have them"
        raise ModelError(f"fit: data of {names} must have standard deviations, as {have}")
    if names and (size := sum(own.data.size for own in series)) <= count:
        raise ModelError(
            f"fit: {size} data of {names} tell {count} parameters and no standard deviation of their own: give it, or "
            "measure more"
        )


def _called(series: Misfit, k: int) -> str:
    return series.signal if isinstance(series.signal, str) else f"series {k}"


def _attempt(problem: _Problem, lower: Array, upper: Array, start: list[float]) -> dict[str, Any]:
    """One start, as a case of a sweep."""
    found = problem.solved(np.array(start), lower, upper)
    return {"cost": found.cost, "at": found.values.tolist()}


class _Problem:
    """Residuals and their Jacobian as functions of the numbers in a row."""

    def __init__(
        self,
        parameters: ParameterSet,
        series: Sequence[Misfit],
        known: Sequence[Array],
        run: Callable[..., Sensitivities],
        t_end: float,
    ) -> None:
        self.parameters, self.series, self.known, self.t_end = parameters, series, known, t_end
        self._run, self.runs, self._count, self.refused = run, 0, 0, ""
        self.at_bounds: list[int] = []
        """Numbers of the parameters that the last solution has at their bounds."""
        self._last: tuple[Array, Sensitivities] | None = None

    def found(self, p: Array) -> Sensitivities:
        """The run with its derivatives; that of the last numbers is kept."""
        if self._last is None or not np.array_equal(self._last[0], p):
            self._last = p.copy(), self._run(parameters=self.parameters.at(p).values)
            self.runs += 1
        return self._last[1]

    def residuals(self, p: Array) -> Array:
        """``(model - data)/sigma``, then those of the prior; infinite where the model refuses its values."""
        mean, sigma = self.known
        try:
            solution = self.found(p).solution
        except ModelError as error:
            if not self.runs:
                raise
            self.refused = f" The model of {self.told(p)} is refused, bounds= keeps to others: {error}"
            return np.full(self._count, np.inf)  # least squares try a shorter step
        result = np.append(self.of_data(solution), ((p - mean) / sigma)[np.isfinite(sigma)])
        self._count = len(result)
        return result

    def told(self, p: Array) -> str:
        """Values of the parameters in words."""
        return ", ".join(f"{name} = {value:.6g}" for name, value in zip(self.parameters.labels, p, strict=True))

    def of_data(self, solution: Solution) -> Array:
        """Those of the data alone."""
        return np.concatenate([own.residuals(solution.t, own.values(solution)).ravel() for own in self.series])

    def worst(self, found: Fit) -> str:
        """Where the largest residual is, and what it says of the parameters."""
        size = abs(found.residuals)
        data = [(n, own, k) for n, own in enumerate(self.series, 1) for k in range(own.data.size)]
        n, own, k = data[int(size.argmax())]
        t = own.times[k * len(own.times) // own.data.size]
        return (
            f"t = {t:g} s of {_called(own, n)}, {size.max():.3g} sigma: where model, steps, data and sigma are right, "
            "it is near 1 in the mean. The standard deviations of the parameters are too small by as much"
        )

    def jacobian(self, p: Array) -> Array:
        """Derivatives ``(k, P)``."""
        found, sigma = self.found(p), self.known[1]
        columns = [part.reshape(-1, int(np.prod(part.shape[1:]))) for part in found.of(self.of_data).values()]
        return np.vstack([np.hstack(columns), np.diag(1.0 / sigma)[np.isfinite(sigma)]])

    def solved(self, start: Array, lower: Array, upper: Array) -> Fit:
        """The least squares from a start."""
        from scipy.optimize import least_squares  # which takes long to import

        self.runs, labels = 0, self.parameters.labels
        usual = [self.parameters.scale.get(label.split("[")[0], 1.0) for label in labels]
        sizes = np.where(start == 0.0, usual, np.abs(start))
        tolerances = dict.fromkeys(("ftol", "xtol", "gtol"), TOLERANCE)
        result = least_squares(self.residuals, start, self.jacobian, (lower, upper), x_scale=sizes, **tolerances)
        if not result.success:
            raise ConvergenceError(
                f"fit: the least squares do not converge: {result.message}{self.refused} They stand at "
                f"{self.told(result.x)}, where the root mean square of residuals is "
                f"{np.sqrt(np.mean(result.fun**2)):.3g}. Begin nearer, or give bounds=, and starts=8 for more starts "
                "within them",
                self.t_end,
            )
        J, solution = self.jacobian(result.x) * sizes, self.found(result.x).solution
        J = np.vstack([J, np.zeros((max(0, len(labels) - len(J)), len(labels)))])  # fewer data than parameters
        _, values, combinations = np.linalg.svd(J, full_matrices=False)
        idle = np.flatnonzero(np.abs(J).max(axis=0) == 0.0)
        if len(idle):
            raise ModelError(f"fit: the data do not depend on {', '.join(labels[k] for k in idle)}; leave it out")
        if values[-1] < NOISE * values[0]:
            alike = [label for label, share in zip(labels, combinations[-1], strict=True) if abs(share) > SHARE]
            raise ModelError(
                f"fit: the data do not tell {', '.join(alike)} apart: one combination of them changes nothing; measure "
                "more, or give a prior"
            )
        roots = combinations.T / values * sizes[:, None]
        own, residuals, counts = self.parameters.at(result.x).given(), self.of_data(solution), (self.runs, result.njev)
        self.at_bounds = np.flatnonzero(result.active_mask).tolist()
        return Fit(own, labels, result.x, roots @ roots.T, residuals, float(result.cost), *counts, solution)


def _known(template: ParameterSet, bounds: Mapping[str, ArrayLike], prior: Mapping[str, ArrayLike]) -> Array:
    """Least and largest value, mean and standard deviation of each number, ``(4, P)``."""
    limits = _pairs(template, bounds, (-np.inf, np.inf), "bounds must be the least and the largest value")
    before = _pairs(template, prior, (0.0, np.inf), "prior must be mean and standard deviation")
    for name, start, (least, most), deviation in zip(template.labels, template.flat, limits.T, before[1], strict=True):
        if not least < most:
            raise ModelError(
                f"fit: bounds of {name} must be in order, the least value first, received {least:g}, {most:g}"
            )
        if not least <= start <= most:
            raise ModelError(f"fit: {name} must start within its bounds, {least:g} to {most:g}, received {start:g}")
        if not deviation > 0.0:
            raise ModelError(f"fit: the standard deviation of {name} must be positive, received {deviation:g}")
    return np.concatenate([limits, before])


def _pairs(template: ParameterSet, given: Mapping[str, ArrayLike], usual: tuple[float, float], what: str) -> Array:
    """Two numbers for each parameter, ``(2, P)``, where none are given the usual ones."""
    result = {name: np.stack([np.full(value.shape, own) for own in usual]) for name, value in template.values.items()}
    for name, pair in given.items():
        values = real(pair)
        if name not in result or values is None or values.shape != (2,):
            raise ModelError(f"fit: {what} of one of {', '.join(result)}, received {name!r}: {shown(pair)}")
        result[name][...] = values.reshape((2,) + (1,) * (result[name].ndim - 1))
    return np.concatenate([own.reshape(2, -1) for own in result.values()], axis=1)
