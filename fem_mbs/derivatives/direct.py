"""Derivatives carried along a run: after each step that is accepted, those of its end from those of its start.

What the run begins with, after jumps too, is a function of the parameters that no step equation knows: consistent
accelerations, starting values, the trial of a first step. It is differenced once, from models beside. So is what a
method makes of a step of another length, and what internal variables of kind "history" are after a step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fem_mbs.alpha.change_step import adapted
from fem_mbs.alpha.generalized_alpha import GROWTH, GeneralizedAlpha
from fem_mbs.alpha.local_error import rate
from fem_mbs.alpha.memory import AccelerationHistory, AlphaMemory
from fem_mbs.alpha.newmark import same
from fem_mbs.arrays import Array, IntArray
from fem_mbs.compiled import accelerate
from fem_mbs.contracts import Method, RateSensitivities, State, Step
from fem_mbs.derivatives.linear import Cursor
from fem_mbs.derivatives.parameters import Variation
from fem_mbs.derivatives.step import (
    Derivatives,
    RunDerivative,
    TakenStep,
    Weights,
    displaced,
    linearised,
    taken_increment,
)
from fem_mbs.errors import ModelError
from fem_mbs.files.store.recorder import in_file
from fem_mbs.initial.consistent_start import jumped, next_jump
from fem_mbs.run.fixed_step import FixedStep
from fem_mbs.run.interfaces import AcceptedStep
from fem_mbs.run.recorder import MemoryRecorder, Store
from fem_mbs.run.time_loop import TimeIntegration, run_to_end
from fem_mbs.run.variable_step import VariableStep
from fem_mbs.solution.solution import Solution
from fem_mbs.system import matrices as tangent
from fem_mbs.system.system import System

RECENT = 3
"""States whose derivatives a change of the step needs."""
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


class _Listening:
    """A method whose last step is kept."""

    taken: TakenStep

    def __init__(self, method: Method) -> None:
        self._method = method

    def step(self, system: System, state: State, h: float, memory: Any) -> Step:
        return self._keep(self._method.inner_step(system, state, h, memory), state, h, memory)

    inner_step = step

    def _keep(self, result: Step, state: State, h: float, memory: Any) -> Step:
        self.taken = TakenStep(state, memory, h, result)
        return result


class NoDerivativeError(ModelError):
    """There are no derivatives in the way asked for."""


def no_direct(system: System, method: Method, step: float | VariableStep) -> str:
    """Why there are no direct derivatives; empty if there are."""
    if not isinstance(method, GeneralizedAlpha) or type(method) is not GeneralizedAlpha:
        return f"{method} has none, GeneralizedAlpha has"
    if method.formulation == "index2":
        return "the formulation 'index2' has none, 'stabilized' and 'index3' have"
    if method.newton.modified:
        return "with Newton(modified=True) a step depends on the matrices of those before"
    if method.newton.matrix != "exact":
        return f"with Newton(matrix={method.newton.matrix!r}) a step leaves terms out of its directions"
    if isinstance(step, VariableStep):
        return "steps of variable length have none"
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
        self._refuse(no_direct(system, method, step))
        assert isinstance(method, GeneralizedAlpha) and not isinstance(step, VariableStep)
        method.check(system)
        accelerate(system)
        super().__init__(system, method, FixedStep(step), t_end, None)
        self._refuse(no_direct(system, method, step))  # redundant joints are found at the start
        self.alpha, self.length = method, step
        self._stepper: Any = _Listening(self._stepper)

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
        """The next step."""
        before = self.state
        accepted = super().advance()
        if accepted is not None and self.taken.state is not before:
            raise ModelError(
                f"{self.asked}: two jumps near t = {before.t:g} s are closer than a step can be; how='copies' takes "
                "differences of whole runs"
            )
        return accepted

    @property
    def taken(self) -> TakenStep:
        """The last step that was accepted."""
        taken: TakenStep = self._stepper.taken
        return taken

    @property
    def has_jumped(self) -> bool:
        """Whether the last step has led to a jump, and the run has begun anew there."""
        return self.memory is not self.taken.result.memory


class DirectIntegration(KeptSteps):
    """A run in time with derivatives, ``tangents`` of each state."""

    asked = "sensitivities: how='direct'"

    def __init__(
        self,
        system: System,
        method: Method,
        step: float | VariableStep,
        t_end: float,
        variations: list[Variation],
    ) -> None:
        super().__init__(system, method, step, t_end)
        self.varied = variations
        self._begun_with: dict[System, tuple[State, AlphaMemory]] = {}
        self._of_states = np.append(np.zeros(6 * system.n, np.bool_), system.order == 1)[:, None]
        self._waiting: list[TakenStep] = []
        self._before: TakenStep | None = None
        self._lasting = 1
        """How many states the history of accelerations has."""
        tangent, self.now = self._from_models(self._begun, self.state)
        """What the next step begins with."""
        self.tangents = [tangent]

    @cached_property
    def _derivative(self) -> RunDerivative:
        return RunDerivative(self.alpha, self.system, self.varied)

    def advance(self) -> AcceptedStep | None:
        """The next step; derivatives follow when enough of them can be linearised together."""
        if (accepted := super().advance()) is None:
            return None
        state, memory, h, result = taken = self.taken
        if self._waiting and not same(h, self._waiting[0].h):
            self._catch_up()
        if not (memory.steps and same(h, memory.h)):
            self._catch_up()
            memory = self._anew(taken)
        self._waiting.append(taken._replace(memory=memory))
        self._before = taken
        if self.has_jumped or len(self._waiting) == self._derivative.together:
            self._catch_up()
        self._lasting = 1 if result.memory.accelerations.t_old == result.state.t else self._lasting + 1
        if self.has_jumped:
            self._lasting = 1
            end, t = result.state, self.state.t
            self.tangents[-1], self.now = self._from_models(
                lambda k, other, shift: self._jumped(k, other, shift, end.at(t)), self.state
            )
        return accepted

    def finished(self, store: Store | None = None) -> Solution:
        """The whole run, with the derivatives of all states."""
        solution = super().finished(store)
        self._catch_up()
        return solution

    def up_to(self, count: int) -> Iterator[tuple[IntArray, list[StateDerivatives]]]:
        """So many steps; numbers of states and derivatives of these, which are forgotten when no step needs them."""
        told, new = 0, len(self.tangents)
        while True:
            if new:
                yield np.arange(told, told + new), self.tangents[-new:]
                told, self.tangents = told + new, self.tangents[-RECENT:]
            if self.steps == count:
                return
            before = len(self.tangents)
            self.advance()
            if self.steps == count:
                self._catch_up()
            new = len(self.tangents) - before

    def _catch_up(self) -> None:
        """Derivatives of the ends of the steps that wait."""
        if not self._waiting:
            return
        derivative = linearised(self._derivative, self._waiting, self.now.q[6 * self.system.n :])
        unit, cursor = np.eye(len(self.varied)), Cursor(len(self._waiting))
        step = derivative.at(cursor)
        for cursor.step, own in enumerate(self._waiting):
            end = step.times(self.now, unit)
            tangent = StateDerivatives(end.q, end.v, end.lead, end.multipliers)
            if self.system.has_history:
                tangent = tangent._replace(q=self._with_history(tangent, own.result.state))
            self.tangents.append(tangent)
            self.now = end._replace(q=tangent.q, lead=self._lead(tangent))
        self._waiting = []

    def _lead(self, tangent: StateDerivatives) -> Array:
        """Of the highest time derivatives of a state."""
        return np.where(self._of_states, tangent.v, tangent.vdot)

    # a start

    def _begun(self, k: int, other: System, shift: float) -> tuple[State, AlphaMemory]:
        """State and memory at the start of a model beside."""
        run = TimeIntegration(other, self.method, self.control, self.t_end, None)
        return self._with_trial(k, other, run.state, run.memory, self.memory.h)

    def _jumped(self, k: int, other: System, shift: float, before: State) -> tuple[State, AlphaMemory]:
        """State and memory of a model beside just after a jump."""
        there = self._displaced(other, before, self.tangents[-1], k, shift)
        state = jumped(other, there)
        memory = self.alpha.after_jump(other, there, state, self.memory.h, self.taken.result.memory)
        return self._with_trial(k, other, state, memory, self.memory.h)

    def _with_trial(
        self, k: int, other: System, state: State, memory: AlphaMemory, h: float
    ) -> tuple[State, AlphaMemory]:
        """With what the trial of a first step of ``h`` makes of the memory."""
        self._refuse_moved_jump(k, other, state)
        self._begun_with[other] = state, memory
        return state, self.alpha.started(other, state, h, memory)

    def _refuse_moved_jump(self, k: int, other: System, state: State) -> None:
        here, there = (next_jump(system, state.at(self.state.t), self.t_end) for system in (self.system, other))
        if here != there:
            raise ModelError(
                f"sensitivities: {self.varied[k].label} moves an instant at which something jumps, from "
                f"t = {here:.9g} s to {there:.9g} s: there is no derivative there; make the load a function without "
                "jumps, or take what the instant depends on out of the parameters"
            )

    def _from_models(
        self, of: Callable[[int, System, float], tuple[State, AlphaMemory]], here: State
    ) -> tuple[StateDerivatives, Derivatives]:
        """Derivatives where the run begins, at the start or anew, from the states of the models beside."""
        columns = []
        for k, own in enumerate(self.varied):
            models = [of(k, other, shift) for other, shift in zip(own.systems, own.shifts, strict=True)]
            arrays = (self._arrays(here, other, *model) for other, model in zip(own.systems, models, strict=True))
            columns.append([own.difference(values) for values in zip(*arrays, strict=True)])
        q, v, vdot, multipliers, *entry = (np.stack(parts, axis=-1) for parts in zip(*columns, strict=True))
        missed = (np.zeros_like(own) for own in (q, q, multipliers, multipliers))
        starts: Any = q, *entry, multipliers, *missed
        return StateDerivatives(q, v, vdot, multipliers), Derivatives(*starts)

    def _arrays(self, here: State, other: System, state: State, memory: AlphaMemory) -> tuple[Array, ...]:
        """State of a model beside, as increments of that of the run; then what Newmark's formulas take."""
        system = self.system
        x = state.x + (other.origin - system.origin)
        nodes = system.kinematics.relative(here.x, here.R, x, state.R)
        q, v = np.append(system.kinematics.to_body(here.R, nodes), state.u - here.u), rate(state)
        entry = v if memory.velocity_perturbation is None else v + memory.velocity_perturbation
        vdot = np.append(state.vdot, state.uddot)
        return q, v, vdot, state.multipliers, entry, memory.accelerations.now, memory.a

    # a step that begins anew, or has another length than that before

    def _anew(self, taken: TakenStep) -> AlphaMemory:
        """What such a step has begun with: its memory, and the derivatives."""
        state, memory, h, _ = taken
        if memory.steps and h <= GROWTH * memory.h:
            self._refuse_index3(state)
            v, lead, a = self._adapted(taken)
            self.now = self.now._replace(v=v, lead=lead, a=a)
            return memory
        tangent, begun = self.tangents[-1], self._begun_with
        if memory.steps:  # starting values are new, after far shorter steps

            def restarted(k: int, other: System, shift: float) -> tuple[State, AlphaMemory]:
                there = self._displaced(other, state, tangent, k, shift)
                return self._with_trial(k, other, there, self.alpha.restart(other, there, h), h)

            self.tangents[-1], self.now = self._from_models(restarted, state)
            memory = self.alpha.restart(self.system, state, h)
        elif not same(h, memory.h):  # it was cut
            self.tangents[-1], self.now = self._from_models(
                lambda k, other, _: self._with_trial(k, other, *begun[other], h), state
            )
        return self.alpha.started(self.system, state, h, memory)

    def _refuse_index3(self, state: State) -> None:
        """Index 3 feeds gaps of velocities into the change of a step, where noise of differences grows."""
        if self.system.m and "velocity" not in self.alpha.levels:
            raise ModelError(
                f"sensitivities: the length of the step changes at t = {state.t:g} s, where derivatives of the "
                "formulation 'index3' are not reliable; take the default formulation, or how='copies'"
            )

    def _adapted(self, taken: TakenStep) -> Array:
        """What a step of another length begins with: the change of the step, of models beside."""
        state, memory, h, _ = taken
        assert self._before is not None
        leads = [self._lead(self.tangents[-1 - min(k, self._lasting - 1)]) for k in range(RECENT)]
        columns = []
        for k, own in enumerate(self.varied):
            values = []
            for other, by in zip(own.systems, own.shifts, strict=True):
                there = self._displaced(other, state, self.tangents[-1], k, by)
                was = memory.accelerations
                now, old, older = (
                    value + by * change[:, k]
                    for value, change in zip((was.now, was.old, was.older), leads, strict=True)
                )
                history = AccelerationHistory(now, was.t_old, old, was.t_older, older, was.error)
                earlier = self._displaced(other, self._before.state, self.tangents[-2], k, by)
                matrix = self._matrix(other, earlier, there, self._before.h)
                moved = memory._replace(a=memory.a + by * self.now.a[:, k], accelerations=history, matrix=matrix)
                v, a = adapted(self.alpha.scheme(other), there, h, moved)
                values.append(np.stack([v, now, a]))
            columns.append(own.difference(values))
        return np.stack(columns, axis=-1)

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
        return T_inv, *tangent.factorized(other, values).arrays

    def _with_history(self, tangent: StateDerivatives, state: State) -> Array:
        """Derivatives ``q`` with internal variables of kind "history" as the batches of models beside leave them."""
        q, kept = tangent.q.copy(), np.flatnonzero(self.system.order < 0)
        for k, own in enumerate(self.varied):
            values = []
            for other, by in zip(own.systems, own.shifts, strict=True):
                there = self._displaced(other, state, tangent, k, by)
                values.append(other.history(other.motion(there))[kept])
            q[6 * self.system.n + kept, k] = own.difference(values)
        return q

    def _displaced(self, other: System, state: State, tangent: StateDerivatives, k: int, by: float) -> State:
        arrays: Any = displaced(self.system, other, state, [by * own[..., k] for own in tangent])
        return State(state.t, **arrays)

    def notes(self) -> list[str]:
        """What is to be known of the derivatives."""
        texts = [
            f"{name} has a kink within the difference of {label}, first at t = {t:.6g} s: the derivative is a mean of "
            "both sides"
            for (label, name), t in self._derivative.explicit.kinks.items()
        ]
        weight = self.system.weight[:, None]
        sizes = np.abs(self.tangents[-1].q * weight).max(axis=0, initial=0.0)
        for k in np.flatnonzero(sizes * [own.step for own in self.varied] > LARGE).tolist():
            texts.append(
                f"derivatives against {self.varied[k].label} have grown so much that they tell of this "
                "run alone, as in chaotic motion: means over time do not follow them"
            )
        return texts
