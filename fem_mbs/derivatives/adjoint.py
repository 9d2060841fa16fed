"""Derivatives of goals, backwards along a run: what they cost does not grow with the number of parameters.

From the last step to the first, :meth:`StepDerivative.transposed` takes derivatives of the goals at the end of a step
to those at its start. What a step began with is made again from the last of ``sqrt(nt)`` checkpoints, so that no more
than that is kept of the method's memory; states are those of the solution, in memory or in a file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from fem_mbs.alpha.memory import AlphaMemory
from fem_mbs.alpha.newmark import same
from fem_mbs.arrays import Array
from fem_mbs.contracts import Method, Motion, State, Step
from fem_mbs.derivatives.beside import LEANS, leans_on_history
from fem_mbs.derivatives.direct import DirectIntegration, KeptSteps, NoDerivativeError, TakenStep, Tangent
from fem_mbs.derivatives.parameters import Variation
from fem_mbs.derivatives.signals import KINDS, Seeds
from fem_mbs.derivatives.step import EndDerivatives, RunDerivative, StepDerivative
from fem_mbs.run.interfaces import AcceptedStep
from fem_mbs.run.variable_step import VariableStep
from fem_mbs.system.system import System


class AdjointIntegration(KeptSteps):
    """A run in time that can be gone back along."""

    asked = "objective: how='adjoint'"

    def __init__(self, system: System, method: Method, step: float | VariableStep, t_end: float) -> None:
        super().__init__(system, method, step, t_end)
        self.every = max(1, math.isqrt(math.ceil(t_end / self.length)))
        """Steps from a checkpoint to the next."""
        self.lengths: list[float] = []
        self.ends: list[float] = []
        self.checkpoints: list[tuple[State, AlphaMemory]] = []

    def advance(self) -> AcceptedStep | None:
        """The next step, of which its length is kept, and now and then what it began with."""
        if len(self.lengths) % self.every == 0:
            self.checkpoints.append((self.state, self.memory._replace(matrix=None)))
        if (accepted := super().advance()) is None:
            return None
        taken = self.taken
        if self.has_jumped or (taken.memory.steps and not same(taken.h, taken.memory.h)):
            what = "something jumps" if self.has_jumped else "the step changes"
            raise NoDerivativeError(
                f"objective: how='adjoint' goes back over steps of one length, and at t = {self.state.t:g} s {what}; "
                "how='direct' does not mind"
            )
        self.lengths.append(taken.h)
        self.ends.append(self.state.t)
        return accepted

    def backwards(self) -> Iterator[tuple[int, TakenStep]]:
        """The steps with their numbers, the last one first."""
        for k, (state, memory) in reversed(list(enumerate(self.checkpoints))):
            steps = []
            numbers = range(k * self.every, min((k + 1) * self.every, len(self.lengths)))
            for i in numbers:
                result: Step = self.alpha.inner_step(self.system, state, self.lengths[i], memory)
                steps.append((i, TakenStep(state, memory._replace(matrix=None), self.lengths[i], result)))
                state, memory = result.state.at(self.ends[i]), result.memory
            yield from reversed(steps)


def gradients(integration: AdjointIntegration, variations: list[Variation], seeds: Sequence[Seeds]) -> Array:
    """Derivatives ``(parameters, G)`` of goals along the states, from those against each state."""
    system, method, count = integration.system, integration.alpha, len(seeds)
    run = RunDerivative(method, system, variations)
    result, N, m = np.zeros((len(variations), count)), system.N, system.m
    none = EndDerivatives(*(np.zeros((size, count)) for size in (N, N, N, N, m, 2 * N, 2 * m)))
    now, entry = _seeded(none, seeds, len(integration.lengths)), [none.v] * 3
    of_states = np.append(np.zeros(6 * system.n, np.bool_), system.order == 1)[:, None]
    history = 6 * system.n + np.flatnonzero(system.order < 0)
    for k, taken in integration.backwards():
        state, memory, h, after = taken.state, taken.memory, taken.h, taken.result.state
        first = not memory.steps
        if first:
            memory = method.started(system, state, h, memory)
        derivative = StepDerivative(run, state, memory, h, after)
        if system.has_history:
            _refuse_history(system, now.q[history], derivative.point.motion)
        start, gradient = derivative.transposed(now)
        result += gradient
        now = none._replace(q=start.q, multipliers=start.multipliers)
        if first:  # what Newmark's formulas begin with is apart from the state, which goals may look at
            entry = [start.v, start.lead, start.a]
        else:
            v, vdot = start.v + np.where(of_states, start.lead, 0.0), np.where(of_states, 0.0, start.lead)
            now = EndDerivatives(start.q, v, vdot, start.a, start.multipliers, start.missed, start.missed_multipliers)
        now = _seeded(now, seeds, k)
    return result + _at_start(integration, variations, now, np.stack(entry))


def _seeded(end: EndDerivatives, seeds: Sequence[Seeds], k: int) -> EndDerivatives:
    """With what goals depend on the state number ``k`` themselves."""
    result = end._replace(**{kind: getattr(end, kind).copy() for kind in KINDS})
    for goal, own in enumerate(seeds):
        for kind in KINDS:
            getattr(result, kind)[own.rows[kind], goal] += own.values[kind][k]
    return result


def _at_start(integration: AdjointIntegration, variations: list[Variation], now: EndDerivatives, entry: Array) -> Array:
    """What goals depend on where the run begins, which is differenced."""
    start: Tangent = DirectIntegration(
        integration.system, integration.alpha, integration.length, integration.t_end, variations
    ).tangents[0]
    rates = np.stack([now.v, now.vdot, now.a])
    parts = (start.q, now.q), (start.rates, rates), (start.multipliers, now.multipliers), (start.entry, entry)
    result = np.zeros((len(variations), now.q.shape[1]))
    for forwards, backwards in parts:
        count = backwards.shape[-1]
        result += forwards.reshape(-1, len(variations)).T @ backwards.reshape(-1, count)
    return result


def _refuse_history(system: System, goals: Array, motion: Motion) -> None:
    """Refuse what goes back through internal variables of kind "history": of counted turns nothing does."""
    own = [pair for pair, order in zip(system.internal_variables, system.order, strict=True) if order < 0]
    changed = np.abs(goals).max(axis=1) > LEANS
    if not changed.any():
        changed = leans_on_history(system, motion)[system.order < 0]
    if changed.any():
        owner, variable = own[int(np.argmax(changed))]
        raise NoDerivativeError(
            f"objective: how='adjoint' cannot be: '{variable.name}' of {owner} keeps its value during a step and is "
            "changed afterwards, and the goal depends on it; how='direct' follows it"
        )
