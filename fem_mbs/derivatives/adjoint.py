"""Derivatives of goals, backwards along a run: what they cost does not grow with the number of parameters.

From the last step to the first, its transposed maps take derivatives of the goals at the end of a step to those at its
start. What a step began with is made again, to the bit, from the last of ``sqrt(nt)`` checkpoints, so that no more than
that is kept of the method's memory; states are those of the solution, in memory or in a file. What a step of another
length begins with, and what follows a jump, is differenced from models beside, as the start is, which go along: up to
the last of these, derivatives are direct.
"""

from __future__ import annotations

import logging
import math
from array import array
from collections.abc import Iterator, Sequence

import numpy as np

from fem_mbs.alpha.memory import AlphaMemory
from fem_mbs.alpha.newmark import SAME
from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Method, State, Step
from fem_mbs.derivatives.beside import SMOOTH, nearer
from fem_mbs.derivatives.direct import DirectIntegration, KeptSteps
from fem_mbs.derivatives.matrices import TOGETHER, RunDerivative
from fem_mbs.derivatives.parameters import Variation
from fem_mbs.derivatives.signals import GoalSlopes
from fem_mbs.derivatives.step import Derivatives, NoDerivativeError, TakenStep, linearised
from fem_mbs.run.interfaces import AcceptedStep
from fem_mbs.run.variable_step import VariableStep
from fem_mbs.system.system import System

LOG = logging.getLogger("fem_mbs")
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
) -> Array:
    """Derivatives ``(G, P)`` of goals against the parameters; where forces bend over these, once more over less."""
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
            now = _seeded(now, own[k])
            entry, gradient = derivatives[k].transposed(now)
            result += gradient
            v, vdot = entry.v + np.where(of_states, entry.lead, 0.0), np.where(of_states, 0.0, entry.lead)
            now = entry._replace(v=v, lead=vdot)
    if not last and (run.explicit.bends > SMOOTH).any():
        return gradients(integration, nearer(variations, run.explicit.bends), goals, last=True)
    # before it, derivatives go forwards
    start = DirectIntegration(system, integration.alpha, integration.length, integration.t_end, variations)
    start.to_step(integration.first)
    for first in range(0, len(start.tangents), run.together):
        some = start.tangents[first : first + run.together]
        for seed, tangent in zip(seeds(first + np.arange(len(some))), some, strict=True):
            result += np.concatenate(tangent).T @ seed
    for note in run.explicit.notes():
        LOG.warning("objective: %s", note)
    result += sum(forwards.T @ backwards for forwards, backwards in zip(start.now, entry, strict=True))
    return result.T


def _seeded(end: Derivatives, seed: Array) -> Derivatives:
    """With what goals depend on a state themselves."""
    q, v, vdot, multipliers = np.split(seed, np.cumsum(3 * [len(end.q)]))
    return end._replace(q=end.q + q, v=end.v + v, lead=end.lead + vdot, multipliers=end.multipliers + multipliers)
