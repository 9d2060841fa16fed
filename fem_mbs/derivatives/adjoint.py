"""Derivatives of goals, backwards along a run: what they cost does not grow with the number of parameters.

From the last step to the first, :meth:`StepDerivative.backward` takes derivatives of the goals at the end of a step to
those at its start. What a step began with is made again from the last of ``sqrt(nt)`` checkpoints, so that no more than
that is kept of the method's memory; states are those of the solution, in memory or in a file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from fem_mbs.alpha.memory import AlphaMemory
from fem_mbs.alpha.newmark import PLAIN, same, weights_of_missed
from fem_mbs.arrays import Array
from fem_mbs.contracts import Method, Motion, State, Step
from fem_mbs.derivatives.beside import LEANS, ParameterDerivatives, leans_on_history
from fem_mbs.derivatives.direct import DirectIntegration, KeptSteps, TakenStep, Tangent
from fem_mbs.derivatives.parameters import Variation
from fem_mbs.derivatives.residual import CellSums
from fem_mbs.derivatives.signals import Seeds
from fem_mbs.derivatives.step import EndDerivatives, StepDerivative
from fem_mbs.errors import ModelError
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
            raise ModelError(
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


class Backwards:
    """Derivatives of goals against a state and what the method remembers there, ``(..., G)``."""

    def __init__(self, system: System, count: int) -> None:
        N, m = system.N, system.m
        self.q, self.multipliers = np.zeros((N, count)), np.zeros((m, count))
        self.rates = np.zeros((3, N, count))
        self.missed = np.zeros((2, N, count)), np.zeros((2, m, count))

    def add(self, seeds: Sequence[Seeds], k: int) -> None:
        """What goals depend on the state number ``k`` themselves."""
        for goal, own in enumerate(seeds):
            self.q[own.rows["q"], goal] += own.values["q"][k]
            self.rates[0, own.rows["v"], goal] += own.values["v"][k]
            self.rates[1, own.rows["vdot"], goal] += own.values["vdot"][k]
            self.multipliers[own.rows["multipliers"], goal] += own.values["multipliers"][k]


def gradients(integration: AdjointIntegration, variations: list[Variation], seeds: Sequence[Seeds]) -> Array:
    """Derivatives ``(parameters, G)`` of goals along the states, from those against each state."""
    system, method = integration.system, integration.alpha
    explicit = ParameterDerivatives(system, variations)
    assembly, now = CellSums(system), Backwards(system, len(seeds))
    result = np.zeros((len(variations), len(seeds)))
    now.add(seeds, len(integration.lengths))
    of_states = np.append(np.zeros(6 * system.n, np.bool_), system.order == 1)[:, None]
    history = 6 * system.n + np.flatnonzero(system.order < 0)
    entry = np.zeros((3, system.N, len(seeds)))
    for k, taken in integration.backwards():
        state, memory, h, after = taken.state, taken.memory, taken.h, taken.result.state
        first = not memory.steps
        if first:
            memory = method.started(system, state, h, memory)
        derivative = StepDerivative(method, system, state, memory, h, after, assembly)
        if system.has_history:
            _refuse_history(system, now.q[history], derivative.point.motion)
        missed_D, missed_multipliers = now.missed
        own_D, own_multipliers = missed_D[0], missed_multipliers[0]
        if memory.predictor is None:  # both are of this step
            own_D, own_multipliers = own_D + missed_D[1], own_multipliers + missed_multipliers[1]
        end = EndDerivatives(now.q, now.rates, now.multipliers + own_multipliers, own_D)
        start, gradient = derivative.backward(end, explicit)
        result += gradient
        plain = derivative.weights.begun(0.0 * now.rates, -own_D)
        entry = np.stack([a + b for a, b in zip((start.v, start.lead, start.a), plain, strict=True)])
        before = Backwards(system, len(seeds))
        before.q, before.multipliers = start.q, start.multipliers - own_multipliers
        if memory.predictor is not None:
            before.missed[0][0][...], before.missed[1][0][...] = missed_D[1], missed_multipliers[1]
            predictor = memory.predictor
            if predictor.best != PLAIN:
                weights = weights_of_missed(h, predictor.h, predictor.h_before)
                for values, given, of in zip(
                    before.missed, (start.guess, start.guess_multipliers), weights, strict=True
                ):
                    values += of[predictor.best - 1][:, None, None] * given
        if not first:
            before.rates[:] = np.stack(
                [
                    entry[0] + np.where(of_states, entry[1], 0.0),
                    np.where(of_states, 0.0, entry[1]),
                    entry[2],
                ]
            )
        before.add(seeds, k)
        now = before
    return result + _at_start(integration, variations, now, entry)


def _at_start(integration: AdjointIntegration, variations: list[Variation], now: Backwards, entry: Array) -> Array:
    """What goals depend on where the run begins, which is differenced."""
    start: Tangent = DirectIntegration(
        integration.system, integration.alpha, integration.length, integration.t_end, variations
    ).tangents[0]
    # the entry of the first step is apart from the state, which goals may look at
    parts = (start.q, now.q), (start.rates, now.rates), (start.multipliers, now.multipliers), (start.entry, entry)
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
        raise ModelError(
            f"objective: how='adjoint' cannot be: '{variable.name}' of {owner} keeps its value during a step and is "
            "changed afterwards, and the goal depends on it; how='direct' follows it"
        )
