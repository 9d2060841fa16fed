"""Goals as functions of parameters, with their derivatives, for optimisers.

Backwards along a run, what these cost does not grow with the number of parameters. From the last step to the first, its
transposed maps take derivatives of the goals at the end of a step to those at its start. What a step began with is made
again, to the bit, from the last of ``sqrt(nt)`` checkpoints, so that no more than that is kept of the method's memory;
states are those of the solution, in memory or in a file. What a step of another length begins with, and what follows a
jump, is differenced from models beside, as the start is, which go along: up to the last of these, derivatives are
direct.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import numpy as np

from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha
from fem_mbs.alpha.newmark import SAME, AlphaMemory
from fem_mbs.arrays import Array, ArrayLike, IntArray
from fem_mbs.contracts import Method, Path, Public, Seconds, State, Step, checked, choice, real, shown
from fem_mbs.derivatives.direct import DirectIntegration, KeptSteps
from fem_mbs.derivatives.goals import Goal, GoalSlopes
from fem_mbs.derivatives.matrices import TOGETHER, RunDerivative
from fem_mbs.derivatives.parameter_derivatives import passed, smooth_variations
from fem_mbs.derivatives.parameters import Build, ParameterSet, Variation
from fem_mbs.derivatives.sensitivities import SMALL, sensitivities
from fem_mbs.derivatives.step import Derivatives, NoDerivativeError, TakenStep, linearised
from fem_mbs.errors import LOG, ModelError
from fem_mbs.linear.direct import one_thread
from fem_mbs.run.interfaces import AcceptedStep
from fem_mbs.run.recorder import Store
from fem_mbs.run.variable_step import VariableStep
from fem_mbs.solution.solution import Solution
from fem_mbs.system.system import System

LIKELY = 1000
"""Steps of a run with steps of variable length."""


class AdjointIntegration(KeptSteps):
    """A run in time that can be gone back along, to where something has jumped, or its step has changed, last."""

    asked = "objective: how='adjoint'"

    def __init__(self, system: System, method: Method, step: float | VariableStep, t_end: float) -> None:
        super().__init__(system, method, step, t_end)
        usual = t_end / LIKELY if isinstance(self.length, VariableStep) else self.length
        self.every = max(TOGETHER, math.isqrt(math.ceil(t_end / usual)))
        """Steps from a checkpoint to the next."""
        self._begin_anew()

    def _begin_anew(self) -> None:
        self.first = self.steps
        """Number of the state that is gone back to."""
        self.lengths, self.ends = array("d"), array("d")
        self.checkpoints: list[tuple[State, AlphaMemory]] = []

    def advance(self) -> AcceptedStep | None:
        """The next step, of which its length is kept, and now and then what it began with."""
        if len(self.lengths) % self.every == 0:
            self.checkpoints.append((self.state, self.memory._replace(matrix=None)))
        if (accepted := super().advance()) is None:
            return None
        self.lengths.append(self.taken.h)
        self.ends.append(self.state.t)
        if self.has_jumped or not math.isclose(self.taken.h, self.taken.memory.h, rel_tol=SAME):
            self._begin_anew()
        return accepted

    def backwards(self, together: int) -> Iterator[tuple[IntArray, list[TakenStep]]]:
        """So many steps at a time, with the numbers of the states that they led to, the last ones first."""
        for k, (state, memory) in reversed(list(enumerate(self.checkpoints))):
            steps: list[TakenStep] = []
            for i in range(k * self.every, min((k + 1) * self.every, len(self.lengths))):
                h = self.lengths[i]
                result: Step = self._stepper.inner_step(self.system, state, h, memory)
                memory = self.alpha.started(self.system, state, h, memory)
                after = result.memory._replace(matrix=None)
                steps.append(TakenStep(state, memory._replace(matrix=None), h, result._replace(memory=after)))
                state, memory = result.state.at(self.ends[i]), after
            while steps:
                first = max(0, len(steps) - together)
                numbers = np.arange(first, len(steps)) + (self.first + k * self.every + 1)
                yield numbers, steps[first:]
                del steps[first:]


def gradients(
    integration: AdjointIntegration, variations: list[Variation], goals: Sequence[GoalSlopes], *, last: bool = False
) -> tuple[Array, list[str]]:
    """Derivatives ``(G, P)`` of goals against the parameters, and notes; where forces bend, once more over less."""
    system, count = integration.system, len(goals)
    run = RunDerivative(integration.alpha, system, variations)
    result, N, m = np.zeros((len(variations), count)), system.N, system.m
    now = entry = Derivatives(*(np.zeros((size, count)) for size in (N, N, N, N, m, N, N, m, m)))
    of_states, counted = (system.orders == 1)[:, None], np.flatnonzero(np.tile(system.orders < 0, 2))

    def seeds(times: IntArray) -> Array:
        """What the goals depend on some states themselves, ``(times, S, G)``."""
        nonlocal result
        result = result + np.stack([own.explicit(variations, times) for own in goals], axis=1)
        found = np.stack([own.at(times) for own in goals], axis=2)
        if found[:, counted].any():
            raise NoDerivativeError(
                "objective: how='adjoint' cannot be: a goal depends on internal variables of kind 'history', which no "
                "equation of a step knows; how='direct' follows them"
            )
        return found

    for numbers, steps in integration.backwards(run.together):
        own, derivatives = seeds(numbers), linearised(run, steps)
        for k in reversed(range(len(steps))):
            # what goals depend on the state itself
            q, v, vdot, multipliers = np.split(own[k], np.cumsum(3 * [N]))
            now = now._replace(
                q=now.q + q, v=now.v + v, highest=now.highest + vdot, multipliers=now.multipliers + multipliers
            )
            entry, gradient = derivatives[k].transposed(now)
            result += gradient
            v, vdot = entry.v + np.where(of_states, entry.highest, 0.0), np.where(of_states, 0.0, entry.highest)
            now = entry._replace(v=v, highest=vdot)
    if not last and (closer := run.explicit.nearer()) != variations:
        return gradients(integration, closer, goals, last=True)
    # before it, derivatives go forwards
    start = DirectIntegration(system, integration.alpha, integration.length, integration.t_end, variations)
    start.to_step(integration.first)
    for first in range(0, len(start.tangents), run.together):
        some = start.tangents[first : first + run.together]
        for seed, tangent in zip(seeds(first + np.arange(len(some))), some, strict=True):
            result += np.concatenate(tangent).T @ seed
    result += sum(forwards.T @ backwards for forwards, backwards in zip(start.now, entry, strict=True))
    return result.T, run.explicit.notes(np.all(result == 0.0, axis=1))


WAYS = ("copies", "direct", "adjoint")
MANY, MANY_OF_SMALL = 4, 30
"""So many parameters a goal, and more, are for the adjoint; of small models, whose copies cost little."""

OneGoal: TypeAlias = Goal | Callable[[Any], Any]


Found: TypeAlias = tuple[Array, Array, Solution, list[str]]


@dataclass
class GoalRuns:
    """Runs for goals, which return these ``(g,)``, their Jacobian ``(g, parameters)``, the solution and notes."""

    goals: Sequence[OneGoal]
    t_end: float
    step: float | VariableStep
    method: Method
    how: str | None
    store: Path | None

    def __post_init__(self) -> None:
        self.backwards: bool | None = self.how == "adjoint"
        if self.how is None and all(isinstance(each, Goal) for each in self.goals):
            self.backwards = None  # as the size of the model says

    def __call__(self, own: ParameterSet) -> Found:
        if self.backwards is None:
            many = len(own.flat) // len(self.goals)
            self.backwards = many >= MANY_OF_SMALL or many >= MANY and System(own.model()).size > SMALL
        try:
            return self.by_adjoint(own) if self.backwards else self.by_states(own)
        except NoDerivativeError:  # as a run may find on its way
            if self.how is not None:
                raise
            self.backwards = False
            return self.by_states(own)

    def by_states(self, own: ParameterSet) -> Found:
        """From derivatives of all states."""
        found = sensitivities(own.build, own.values, self.t_end, self.step, self.method, how=self.how, scale=own.scale)
        values, rows = [], []
        for goal in self.goals:
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
        return np.array(values), np.array(rows), found.solution, found.notes

    @one_thread
    def by_adjoint(self, own: ParameterSet) -> Found:
        """Backwards along a run."""
        whole = [goal for goal in self.goals if isinstance(goal, Goal)]
        if len(whole) < len(self.goals):
            raise ModelError(
                "objective: how='adjoint' takes goals such as Final(signal) or Integral(signal), whose signals say "
                "something at each instant; how='direct' takes any function of a Solution"
            )
        system = System(own.model(), self.t_end)
        integration = AdjointIntegration(system, self.method, self.step, self.t_end)
        solution = integration.finished(None if self.store is None else Store(self.store))
        slopes = [GoalSlopes(solution, goal) for goal in whole]
        jacobian, notes = gradients(integration, smooth_variations(own, system), slopes)
        notes += passed(system, solution.history, self.step, self.method)
        for note in notes:
            LOG.warning("objective: %s", note)
        return np.array([each.value for each in slopes]), jacobian, solution, notes


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
    notes : list of str
        What is to be known of the derivatives of the last call, which was logged, too.
    """

    remembers = False

    def __init__(self, template: ParameterSet, run: GoalRuns, *, single: bool) -> None:
        self.names, self.evaluations = template.labels, 0
        self.solution: Solution | None = None
        self.notes: list[str] = []
        self._template, self._run, self._single = template, run, single
        self._last: tuple[Array, Any, Any] | None = None

    def __call__(self, p: ArrayLike) -> tuple[Any, Array]:
        numbers = real(p)
        if numbers is None or numbers.shape != (len(self.names),) or not np.isfinite(numbers).all():
            raise ModelError(
                f"objective: p must be {len(self.names)} finite numbers, {', '.join(self.names)}, received {shown(p)}"
            )
        if self._last is None or not np.array_equal(self._last[0], numbers):
            value, gradient, self.solution, self.notes = self._run(self._template.at(numbers))
            if self._single:
                value, gradient = value[0], gradient[0]
            self.evaluations += 1
            if not (np.isfinite(value).all() and np.isfinite(gradient).all()):
                raise ModelError(f"objective: value or gradient at p = {shown(numbers)} is not finite")
            self._last = numbers, value, gradient
        value, gradient = self._last[1:]
        return value.copy() if isinstance(value, np.ndarray) else value, gradient.copy()

    @checked
    def value(self, p: ArrayLike) -> Any:
        """The value alone, for optimisers that ask for both apart; it is kept, so that the gradient costs nothing."""
        return self(p)[0]

    @checked
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
    *,
    method: Method | None = None,
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
    if store is not None and how != "adjoint":
        raise ModelError("objective: store is for how='adjoint'")
    shapes = dict(parameters) if isinstance(parameters, Mapping) else dict.fromkeys(parameters, 1.0)
    template = ParameterSet(build, shapes, scale, "objective")
    run = GoalRuns(_goals(goal), t_end, step, method or GeneralizedAlpha(), how, store)
    return Objective(template, run, single=not isinstance(goal, Sequence))


def _goals(goal: Any) -> list[OneGoal]:
    """One goal or several as a list."""
    goals = list(goal) if isinstance(goal, Sequence) and not isinstance(goal, str) else [goal]
    if not goals:
        raise ModelError("objective: goal must be at least one goal")
    for own in goals:
        if not callable(own) and not isinstance(own, Goal):
            raise ModelError(
                "objective: goal must be a Goal such as Final(signal), or a function of a Solution, received "
                f"{shown(own)}"
            )
    return goals


def _number(goal: Any, solution: Any) -> float:
    value = real(goal(solution))
    if value is None or value.shape != ():
        raise ModelError(f"objective: a goal that is a function must return one number, received {shown(value)}")
    return float(value)
