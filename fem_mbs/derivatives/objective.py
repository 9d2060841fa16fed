"""Goals as functions of parameters, with their derivatives, for optimisers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha
from fem_mbs.arrays import Array
from fem_mbs.contracts import Method, Path, Public, Seconds, checked, choice, real, shown
from fem_mbs.derivatives.adjoint import AdjointIntegration, gradients
from fem_mbs.derivatives.beside import smooth_variations
from fem_mbs.derivatives.goals import Goal
from fem_mbs.derivatives.parameters import Build, ParameterSet
from fem_mbs.derivatives.sensitivities import SMALL, Sensitivities, sensitivities
from fem_mbs.derivatives.signals import GoalSlopes
from fem_mbs.derivatives.step import NoDerivativeError
from fem_mbs.errors import ModelError
from fem_mbs.linear.direct import one_thread
from fem_mbs.run.recorder import Store
from fem_mbs.run.variable_step import VariableStep
from fem_mbs.solution.solution import Solution
from fem_mbs.system.system import System

WAYS = ("copies", "direct", "adjoint")
MANY, MANY_OF_SMALL = 4, 30
"""So many parameters a goal, and more, are for the adjoint; of small models, whose copies cost little."""

OneGoal: TypeAlias = Goal | Callable[[Any], Any]


class Objective(Public):
    """``f(p)`` returns value and gradient: for ``scipy.optimize.minimize(f, p, jac=True)``.

    Of a list of goals, it returns their values ``(g,)`` and the Jacobian ``(g, parameters)``.

    Attributes
    ----------
    names : list of str
        Names of the numbers in ``p``.
    evaluations : int
        How often it was called with new parameters.
    solution : Solution or None
        Of the last call.
    """

    remembers = False

    def __init__(self, compute: Callable[[Array], tuple[Any, Any, Any]], names: list[str]) -> None:
        self.names, self.evaluations = names, 0
        self.solution: Solution | None = None
        self._compute = compute
        self._last: tuple[Array, Any, Array] | None = None

    def __call__(self, p: ArrayLike) -> tuple[Any, Array]:
        numbers = real(p)
        if numbers is None or numbers.shape != (len(self.names),) or not np.isfinite(numbers).all():
            raise ModelError(
                f"objective: p must be {len(self.names)} finite numbers, {', '.join(self.names)}, received {shown(p)}"
            )
        if self._last is None or not np.array_equal(self._last[0], numbers):
            value, gradient, self.solution = self._compute(numbers)
            self.evaluations += 1
            if not (np.isfinite(value).all() and np.isfinite(gradient).all()):
                raise ModelError(f"objective: value or gradient at p = {shown(numbers)} is not finite")
            self._last = numbers, value, gradient
        value, gradient = self._last[1:]
        return value.copy() if isinstance(value, np.ndarray) else value, gradient.copy()

    def value(self, p: ArrayLike) -> Any:
        """The value alone, for optimisers that ask for both apart; it is kept, so that the gradient costs nothing."""
        return self(p)[0]

    def gradient(self, p: ArrayLike) -> Array:
        """The gradient alone."""
        return self(p)[1]

    def __repr__(self) -> str:
        return f"Objective of {', '.join(self.names)}: {self.evaluations} evaluations"


@checked
def objective(
    build: Build,
    goal: Any,
    parameters: Sequence[str] | Mapping[str, ArrayLike],
    t_end: Seconds,
    step: Seconds | VariableStep,
    method: Method | None = None,
    *,
    how: Annotated[str, choice(WAYS)] | None = None,
    scale: Mapping[str, float] | None = None,
    store: Path | None = None,
) -> Objective:
    """Goals of a run as a function of parameters of its model, with exact gradients.

    Parameters
    ----------
    build : function
        Takes the parameters as keyword arguments and returns a new :class:`Model`.
    goal : Goal or function, or list of them
        :class:`Final`, :class:`Integral`, :class:`KS`, :class:`PNorm`, :class:`Misfit`; or any function of a
        :class:`Solution` that returns a number, which the adjoint does not take.
    parameters : list of str, or dict
        Names of numbers; a dict of values where some are arrays, whose shapes are taken.
    t_end, step, method, scale
        As of :func:`sensitivities`.
    how : {"copies", "direct", "adjoint"}, optional
        "adjoint" goes back along the run once, for all parameters together. By default it is taken for four
        parameters a goal, or more, where it can be, of models of up to 30 unknowns for thirty; else what
        :func:`sensitivities` takes.
    store : str or Path, optional
        File for the states of runs of the adjoint, as of :func:`simulate`: long runs then take little memory.

    Returns
    -------
    Objective
        ``f(p)`` returns value and gradient, ``f.solution`` is the last run.

    Raises
    ------
    ModelError
        If an argument is not valid; if the model, the method or a goal has no derivative in the way asked for.
    """
    goals = list(goal) if isinstance(goal, Sequence) else [goal]
    if not goals:
        raise ModelError("objective: goal must be at least one goal")
    for own in goals:
        if not callable(own) and not isinstance(own, Goal):
            raise ModelError(
                "objective: goal must be a Goal such as Final(signal), or a function of a Solution, received "
                f"{shown(own)}"
            )
    shapes = dict(parameters) if isinstance(parameters, Mapping) else {name: 1.0 for name in parameters}
    template = ParameterSet(build, shapes, scale, "objective")
    method = method or GeneralizedAlpha()
    single = not isinstance(goal, Sequence)
    if store is not None and how != "adjoint":
        raise ModelError("objective: store is for how='adjoint'")

    backwards: bool | None = how == "adjoint"
    if how is None and all(isinstance(each, Goal) for each in goals):
        backwards = None  # as the size of the model says

    def compute(p: Array) -> tuple[Any, Any, Any]:
        nonlocal backwards
        own = template.at(p)
        if backwards is None:
            many = len(own.flat) // len(goals)
            backwards = many >= MANY_OF_SMALL or many >= MANY and System(own.model()).size > SMALL
        try:
            found = _by_adjoint(own, goals, t_end, step, method, store) if backwards else forwards(own)
        except NoDerivativeError:  # as a run may find on its way
            if how is not None:
                raise
            backwards, found = False, forwards(own)
        values, jacobian, solution = found
        return (values[0], jacobian[0], solution) if single else found

    def forwards(own: ParameterSet) -> tuple[Array, Array, Solution]:
        found = sensitivities(build, own.values, t_end, step, method, how=how, scale=scale)
        return *_by_states(goals, found), found.solution

    return Objective(compute, template.labels)


def _by_states(goals: Sequence[OneGoal], found: Sensitivities) -> tuple[Array, Array]:
    """Values and Jacobian of goals from derivatives of all states."""
    values, rows = [], []
    for goal in goals:
        if not isinstance(goal, Goal):
            values.append(_number(goal, found.solution))
            parts = found.of(lambda solution, goal=goal: _number(goal, solution))  # type: ignore[misc]
            rows.append(np.concatenate([np.ravel(part) for part in parts.values()]))
            continue
        t, y = found.solution.t, goal.values(found.solution)
        slope = goal.slope(t, y)
        values.append(goal.value(t, y))
        changes = found.of(goal.values).values()
        rows.append(np.concatenate([np.tensordot(slope, change, slope.ndim).ravel() for change in changes]))
    return np.array(values), np.array(rows)


def _number(goal: Any, solution: Any) -> float:
    value = real(goal(solution))
    if value is None or value.shape != ():
        raise ModelError(f"objective: a goal that is a function must return one number, received {shown(value)}")
    return float(value)


@one_thread
def _by_adjoint(
    parameters: ParameterSet,
    goals: Sequence[OneGoal],
    t_end: float,
    step: float | VariableStep,
    method: Method,
    store: Path | None,
) -> tuple[Array, Array, Solution]:
    """The same backwards along a run."""
    whole = [goal for goal in goals if isinstance(goal, Goal)]
    if len(whole) < len(goals):
        raise ModelError(
            "objective: how='adjoint' takes goals such as Final(signal) or Integral(signal), whose signals say "
            "something at each instant; how='direct' takes any function of a Solution"
        )
    system = System(parameters.model(), t_end)
    integration = AdjointIntegration(system, method, step, t_end)
    solution = integration.finished(None if store is None else Store(store))
    slopes = [GoalSlopes(solution, goal) for goal in whole]
    jacobian = gradients(integration, smooth_variations(parameters, system), slopes)
    return np.array([own.value for own in slopes]), jacobian, solution
