"""Derivatives carried along a run: after each step that is accepted, those of its end from those of its start.

What the run begins with, after jumps too, is a function of the parameters that no step equation knows: consistent
accelerations, starting values, the trial of a first step. It is differenced once, from models beside. So is what a
method makes of a step of another length.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cached_property
from math import isclose
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fem_mbs.alpha.generalized_alpha import GROWTH, GeneralizedAlpha
from fem_mbs.alpha.newmark import SAME, AlphaMemory
from fem_mbs.alpha.starting_values import adapted
from fem_mbs.arrays import Array
from fem_mbs.compiled import accelerate
from fem_mbs.contracts import Method, RateSensitivities, State, Step
from fem_mbs.derivatives.matrices import RunDerivative, Weights
from fem_mbs.derivatives.parameters import Variation
from fem_mbs.derivatives.step import Derivatives, NoDerivativeError, TakenStep, displaced, linearised, taken_increment
from fem_mbs.files.store.recorder import in_file
from fem_mbs.initial.consistent_start import jumped, next_jump
from fem_mbs.run.fixed_step import FixedStep
from fem_mbs.run.interfaces import AcceptedStep, StepControl
from fem_mbs.run.recorder import MemoryRecorder, Store
from fem_mbs.run.time_loop import TimeIntegration, run_to_end
from fem_mbs.run.variable_step import VariableStep, calibrated
from fem_mbs.solution.solution import Solution
from fem_mbs.system import matrices as tangent
from fem_mbs.system.system import System

LARGE = 0.1
"""Motion, over the extent or in rad, that a step of a parameter makes of what can be predicted, at most."""


class StateDerivatives(NamedTuple):
    """Derivatives of a state, one column a parameter."""

    q: Array
    """Body increments of the nodes, then internal variables, ``(N, P)``."""
    v: Array
    vdot: Array
    multipliers: Array
    """``(m, P)``."""


class VariedStart(NamedTuple):
    """Where a model beside begins."""

    state: State
    memory: AlphaMemory


class _RecordingMethod:
    """A method whose last step is kept."""

    taken: TakenStep

    def __init__(self, method: Method) -> None:
        self._method = method

    def step(self, system: System, state: State, h: float, memory: Any) -> Step:
        result = self._method.inner_step(system, state, h, memory)
        self.taken = TakenStep(state, memory, h, result)
        return result

    inner_step = step


def no_direct(system: System, method: Method) -> str:
    """Why there are no direct derivatives; empty if there are."""
    if not isinstance(method, GeneralizedAlpha) or type(method) is not GeneralizedAlpha:
        return f"{method} has none, GeneralizedAlpha has"
    if method.formulation == "index2":
        return "the formulation 'index2' has none, 'stabilized' and 'index3' have"
    if method.newton.modified:
        return "with Newton(modified=True) a step depends on the matrices of those before"
    if method.newton.matrix != "exact":
        return f"with Newton(matrix={method.newton.matrix!r}) a step leaves terms out of its directions"
    if system.redundant is not None:
        return "joints repeat each other, and their least reactions depend on the parameters in ways that steps do not"
    if closes := next((batch.owners[0] for batch in system.batches if batch.unilateral), None):
        return f"{closes} may open and close"
    return ""


class KeptSteps(TimeIntegration):
    """A run in time whose steps can be looked at as they were taken; refuses what has no derivatives of steps."""

    asked: ClassVar[str]
    """What the user has asked for."""

    def __init__(self, system: System, method: Method, step: float | VariableStep, t_end: float) -> None:
        self._started = time.perf_counter()
        self._refuse(no_direct(system, method))
        assert isinstance(method, GeneralizedAlpha)
        method.check(system)
        accelerate(system)
        control: StepControl
        if isinstance(step, VariableStep):
            control = calibrated(system, method, step, t_end, None).control
        else:
            control = FixedStep(step, narrow=True)
        super().__init__(system, method, control, t_end, None)
        self._refuse(no_direct(system, method))  # redundant joints are found at the start
        self.alpha, self.length = method, step
        self._stepper: Any = _RecordingMethod(self._stepper)

    def _refuse(self, reason: str) -> None:
        if reason:
            raise NoDerivativeError(f"{self.asked} cannot be: {reason}; how='copies' takes differences of runs")

    def finished(self, store: Store | None = None) -> Solution:
        """The whole run, in memory or in a file."""
        if store is not None:
            return run_to_end(self, in_file(self, store, None, None, self._started))

        def make(states: Any, outcome: Any, stats: Any, hits: Any, turns: Any) -> Solution:
            return Solution(self.system, states, outcome, stats, hits, turns=turns)

        return run_to_end(self, MemoryRecorder(make, self._started, self.system, self.state))

    def advance(self) -> AcceptedStep | None:
        before = self.state
        accepted = super().advance()
        if accepted is not None and self.taken.state is not before:
            raise NoDerivativeError(
                f"{self.asked}: two jumps near t = {before.t:g} s are closer than a step can be; how='copies' takes "
                "differences of whole runs"
            )
        return accepted

    @property
    def taken(self) -> TakenStep:
        """The last step that was accepted."""
        return self._stepper.taken

    @property
    def has_jumped(self) -> bool:
        """Whether the last step has led to a jump, and the run has begun anew there."""
        return self.memory is not self.taken.result.memory


class DirectIntegration(KeptSteps):
    """A run in time with derivatives, ``tangents`` of each state."""

    asked = "sensitivities: how='direct'"

    def __init__(
        self, system: System, method: Method, step: float | VariableStep, t_end: float, variations: list[Variation]
    ) -> None:
        super().__init__(system, method, step, t_end)
        self.varied = variations
        self._waiting: list[TakenStep] = []
        self._before: TakenStep | None = None
        self._begun_with: dict[System, VariedStart] = {}
        """Models beside, where the next step is a first one."""
        self._highest: list[Array] = []
        """Derivatives of the history of accelerations, the oldest first."""
        self.tangents: list[StateDerivatives] = []
        self.now: Derivatives
        """What the next step begins with."""
        self._begin_anew(lambda k, other, by: TimeIntegration(other, method, self.control, t_end, None))

    @cached_property
    def _derivative(self) -> RunDerivative:
        return RunDerivative(self.alpha, self.system, self.varied)

    def advance(self) -> AcceptedStep | None:
        """The next step; derivatives follow when enough of them can be linearised together."""
        if (accepted := super().advance()) is None:
            return None
        state, memory, h, result = taken = self.taken
        if not (memory.steps and isclose(h, memory.h, rel_tol=SAME)):
            self._catch_up()
            self._enter(state, memory, h)
            memory = self.alpha.started(self.system, state, h, memory)
        self._waiting.append(taken._replace(memory=memory))
        self._before, self._begun_with = taken, {}
        if self.has_jumped or len(self._waiting) == self._derivative.together:
            self._catch_up()
        if self.has_jumped:
            tangent, end = self.tangents.pop(), result.state.at(self.state.t)
            self._begin_anew(lambda k, other, by: self._jumped(other, self._displaced(other, end, tangent, k, by)))
        return accepted

    def finished(self, store: Store | None = None) -> Solution:
        """The whole run, with the derivatives of all states."""
        solution = super().finished(store)
        self._catch_up()
        return solution

    def to_step(self, count: int) -> None:
        """So many steps, and what the next one begins with."""
        while self.steps < count:
            self.advance()
        self._catch_up()
        if not self.memory.steps:
            self._enter(self.state, self.memory, self.memory.h)

    def _catch_up(self) -> None:
        """Derivatives of the ends of the steps that wait."""
        if not self._waiting:
            return
        derivatives = linearised(self._derivative, self._waiting)
        for own, derivative in zip(self._waiting, derivatives, strict=True):
            end = derivative.times(self.now)
            tangent = StateDerivatives(end.q, end.v, end.highest, end.multipliers)
            self.tangents.append(tangent)
            highest = np.where(self.system.orders[:, None] == 1, tangent.v, tangent.vdot)
            self.now = end._replace(highest=highest)
            lasts = own.result.memory.accelerations.t_old < own.result.state.t
            self._highest = [*(self._highest if lasts else ()), highest][-3:]
        self._waiting = []

    # what no equation of a step knows: from models beside

    def _differences(self, of: Callable[[int, System, float], Sequence[Array]]) -> list[Array]:
        """Derivatives ``(..., P)`` of what models beside have, by the parameter, and how far it is varied there."""
        columns = []
        for k, own in enumerate(self.varied):
            values = [of(k, other, by) for other, by in zip(own.systems, own.shifts, strict=True)]
            columns.append([own.difference(parts) for parts in zip(*values, strict=True)])
        return [np.stack(parts, axis=-1) for parts in zip(*columns, strict=True)]

    def _begin_anew(self, of: Callable[[int, System, float], TimeIntegration | VariedStart]) -> None:
        """Derivatives of the state where the run begins, at the start or after a jump."""
        system, here = self.system, self.state
        self._begun_with = {}

        def differ(k: int, other: System, by: float) -> Sequence[Array]:
            begun = of(k, other, by)
            state = begun.state
            jumps = [next_jump(own, state.at(here.t), self.t_end) for own in (system, other)]
            if jumps[0] != jumps[1]:
                raise NoDerivativeError(
                    f"{self.asked} cannot be: {self.varied[k].label} moves an instant at which something jumps, from "
                    f"t = {jumps[0]:.9g} s to {jumps[1]:.9g} s; how='copies' takes steps that end at both, or make the "
                    "load a function without jumps"
                )
            self._begun_with[other] = VariedStart(state, begun.memory)
            nodes = system.kinematics.relative(here.x, here.R, state.x + (other.origin - system.origin), state.R)
            q = np.append(system.kinematics.to_body(here.R, nodes), state.u - here.u)
            return q, state.rates, np.append(state.vdot, state.uddot), state.multipliers

        self.tangents.append(StateDerivatives(*self._differences(differ)))

    def _jumped(self, other: System, before: State) -> VariedStart:
        """A model beside just after a jump."""
        state = jumped(other, before)
        return VariedStart(state, self.alpha.after_jump(other, before, state, self.memory.h, self.taken.result.memory))

    def _enter(self, state: State, memory: AlphaMemory, h: float) -> None:
        """Derivatives of what a first step of ``h`` begins with, or one of another length than that before."""
        if (
            (changes := memory.steps and h <= GROWTH * memory.h)
            and self.system.m
            and "velocity" not in self.alpha.levels
        ):
            # index 3 feeds gaps of velocities into the change of a step, where noise of differences grows
            raise NoDerivativeError(
                f"sensitivities: the length of the step changes at t = {state.t:g} s, where derivatives of the "
                "formulation 'index3' are not reliable; take the default formulation, or how='copies'"
            )

        def begins(k: int, other: System, by: float) -> Sequence[Array]:
            there, own = self._begun_with.get(other) or self._moved(k, other, by, state, memory, h)
            own = self.alpha.started(other, there, h, own)
            v, a = (
                (np.append(there.v, there.udot), own.a)
                if isclose(h, own.h, rel_tol=SAME)
                else adapted(self.alpha.scheme(other), there, h, own)
            )
            if own.velocity_perturbation is not None:
                v = v + own.velocity_perturbation
            return v, own.accelerations.now, a

        q, _, _, multipliers = self.tangents[-1]
        v, highest, a = self._differences(begins)
        if changes:
            self.now = self.now._replace(v=v, highest=highest, a=a)
        else:
            self._highest = [highest]
            missed = (np.zeros_like(own) for own in (q, q, multipliers, multipliers))
            self.now = Derivatives(q, v, highest, a, multipliers, *missed)

    def _moved(self, k: int, other: System, by: float, state: State, memory: AlphaMemory, h: float) -> VariedStart:
        """A model beside where the step changes, in motion."""
        assert self._before is not None
        there = self._displaced(other, state, self.tangents[-1], k, by)
        if h > GROWTH * memory.h:  # where the memory tells nothing
            return VariedStart(there, memory)
        history = memory.accelerations
        values, known = (history.older, history.old, history.now), ([self._highest[0]] * 2 + self._highest)[-3:]
        older, old, now = (value + by * own[:, k] for value, own in zip(values, known, strict=True))
        history = history._replace(now=now, old=old, older=older)
        matrix = None
        if memory.matrix is not None:
            if self._before.h * np.abs(state.v[:, 3:]).max(initial=0.0) > 0.9 * np.pi:
                raise NoDerivativeError(
                    f"sensitivities: the length of the step changes at t = {state.t:g} s, where a body makes half "
                    "a turn in a step, or more; take smaller steps, or how='copies'"
                )
            earlier = self._displaced(other, self._before.state, self.tangents[-2], k, by)
            matrix = self._matrix(other, earlier, there, self._before.h)
        a = memory.a + by * self.now.a[:, k]
        return VariedStart(there, memory._replace(a=a, accelerations=history, matrix=matrix))

    def _matrix(self, other: System, before: State, state: State, h: float) -> tuple[Array, ...]:
        """Inverse tangent operators and factors of the iteration matrix of a model beside at the end of a step."""
        n, weights = 6 * other.n, Weights(self.alpha, other, h)
        evaluation = other.evaluate(other.motion(state), state.multipliers, other.prescribe(state.t))
        D = taken_increment(other, before, state)[:n].reshape(-1, 6)
        body, factors = np.stack([evaluation.motion.V, evaluation.motion.A]), weights.factors[:2, 0].reshape(2, 1, 1, 1)
        T_inv, dV, dA = self.alpha.scheme(other).chart.step_derivatives(D, body, body, factors)
        own = weights.factors[:2, n:]
        follow = RateSensitivities(dV, own[0]), RateSensitivities(dA, own[1])
        values = tangent.entries(other, evaluation, *follow, h * h)
        return T_inv, *other.solver.factorized(values).arrays

    def _displaced(self, other: System, state: State, tangent: StateDerivatives, k: int, by: float) -> State:
        arrays: Any = displaced(self.system, other, state, [by * own[..., k] for own in tangent])
        return State(state.t, **arrays)

    def nearer(self) -> list[Variation]:
        """The variations over less, where forces have bent along the run."""
        return self._derivative.explicit.nearer()

    def notes(self) -> list[str]:
        """What is to be known of the derivatives."""
        last = self.tangents[-1]
        texts = self._derivative.explicit.notes(np.all(np.concatenate(last) == 0.0, axis=0))
        weight = self.system.weight[:, None]
        sizes = np.abs(last.q * weight).max(axis=0, initial=0.0)
        for k in np.flatnonzero(sizes * [own.step for own in self.varied] > LARGE).tolist():
            texts.append(
                f"derivatives against {self.varied[k].label} have grown so much that they tell of this "
                "run alone, as in chaotic motion: means over time do not follow them"
            )
        return texts
