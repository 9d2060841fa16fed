"""From one state to the next: steps that are tried, given up and repeated.

Instants at which something jumps: a load is switched, a controller takes its next sample.

A step ends just before such an instant and the next one begins just after it, from accelerations, multipliers and rates
that are consistent there (docs/theory.md, "Jumps"). Positions and velocities do not jump.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.contracts import Method, Plan, State, StepControl, check_step
from fem_mbs.errors import ConvergenceError, FemMbsError, LawError
from fem_mbs.initial.consistent_start import consistent_start
from fem_mbs.initial.failure import explain_failure
from fem_mbs.initial.jumps import jumped, next_jump, side
from fem_mbs.initial.singular import explain_singular
from fem_mbs.newton import FAILURES, NotConvergedError
from fem_mbs.run.checkpoint import Checkpoint, names_of
from fem_mbs.run.global_error import GlobalError
from fem_mbs.run.loop import Accepted
from fem_mbs.solution.outcome import Accuracy
from fem_mbs.system import constraints
from fem_mbs.system.states import frozen
from fem_mbs.system.system import System

LOG = logging.getLogger("fem_mbs")
LOOKED_AT = {8**k for k in range(1, 9)}
"""Numbers of steps after which the limit of stability is looked at."""


class Tally(NamedTuple):
    """What a run has counted so far, beside its checkpoint."""

    steps: int
    failed: int
    rejected: int
    doubt: str
    error: tuple[Any, ...]


class TimeIntegration:
    """A run in time under way: its state, what method and control remember, and what was given up on the way."""

    def __init__(
        self, system: System, method: Method, control: StepControl, t_end: float, initial: State | Checkpoint | None
    ) -> None:
        self.system, self.method, self.control, self.t_end = system, method, control, t_end
        self.steps = self.failed = self.rejected = 0
        self._tried = Plan(0.0, None)
        if isinstance(initial, Checkpoint):
            initial.check(system, method)
            evaluation = system.evaluate(
                system.motion(initial.state), initial.state.multipliers, system.prescribe(initial.state.t)
            )
            explain_singular(system, evaluation, f"at t = {initial.state.t:g} s")
            self.state, self.memory = initial.state, initial.memory
        else:
            self.state = consistent_start(system, initial)
        self._doubt = self._limited = ""
        self._error = GlobalError(system, self.state)
        self.pace, first = control.begin(method, self.state.t, t_end)
        if isinstance(initial, Checkpoint):
            self.pace = initial.pace if initial.control == control else self.pace
        else:
            if system.next_jump(self.state) <= self.state.t:
                self.state = jumped(system, self.state)
            self.memory = method.init(system, self.state, first)
        self._jump = next_jump(system, self.state, t_end)
        if not isinstance(initial, Checkpoint) and self._jump < math.inf:
            self.pace, first = self.control.stretch(self.pace, self.state.t, self._jump)
            self.memory = method.init(system, self.state, first)
        self._allowed = control.error_allowed(self.pace)
        self.stepper = method if self._allowed is None else method.within(self._allowed)

    def __iter__(self) -> Iterator[Accepted]:
        first = self._plan()
        if first is not None:
            self._look_at_limit(first.h)
        while (plan := self._plan()) is not None:
            self._tried = plan
            jumps = plan.end is not None and plan.end == self._jump
            try:
                h = plan.h - side(self._jump) if jumps else plan.h
                step = self.stepper.step(self.system, self.state, h, self.memory)
                if not self.steps:
                    check_step(step, self.method)
                end = step.state
                constraints.check_step(self.system, self.state.t, end.t, end.R, end.u, end.multipliers)
            except FAILURES as failure:
                self.failed += 1
                LOG.info("step of %g s from t = %g s failed: %s", plan.h, self.state.t, failure)
                pace = self.control.failed(self.pace, plan)
                if pace is None or isinstance(failure, LawError):
                    raise
                self.pace = pace
                continue
            passed, self.pace = self.control.judge(self.pace, plan, step.error)
            if not passed:
                self.rejected += 1
                continue
            state = step.state
            if plan.end is not None and state.t != plan.end:
                state = state.at(plan.end)
            self.state, self.memory = state, step.memory
            self.steps += 1
            self._error.add(state, step.report.error_estimate, plan.h)
            self._doubt = self._doubt or self.method.doubt(self.system, state, plan.h)
            if self.steps in LOOKED_AT:
                self._look_at_limit(plan.h)
            if jumps:
                self._pass_jump()
            yield Accepted(self.state, step.report)

    def _look_at_limit(self, h: float) -> None:
        """Say once, and at once, if stability limits the steps."""
        if self._limited:
            return
        try:
            limit = self.method.limit(self.system, self.state, h)
        except FAILURES:
            return  # of places nearby, nothing follows for the run
        if limit is not None:
            self._limited = self.control.limited(self.pace, limit, h, self.t_end - self.state.t)
        if self._limited:
            LOG.warning("t = %.6g s: %s: %s", self.state.t, self.method, self._limited)

    def _plan(self) -> Plan | None:
        """The next step, which ends where something jumps."""
        while True:
            plan = self.control.plan(self.pace, self.state.t, min(self._jump, self.t_end))
            if plan is not None or self._jump >= self.t_end:
                return plan
            self.state = self.state.at(self._jump)  # nearer than a step can be
            self._pass_jump()

    def _pass_jump(self) -> None:
        """From just before a jump to just after it, and anew towards the next one."""
        before, self.state = self.state, jumped(self.system, self.state)
        self._jump = next_jump(self.system, self.state, self.t_end)
        self.pace, first = self.control.stretch(self.pace, self.state.t, self._jump)
        self.memory = self.method.after_jump(self.system, before, self.state, first)

    def tally(self) -> Tally:
        """What was counted so far."""
        return Tally(self.steps, self.failed, self.rejected, self._doubt, self._error.tally())

    def go_on(self, tally: Tally, first: State) -> None:
        """Count on, in a run that began with another state."""
        self.steps, self.failed, self.rejected, self._doubt, error = tally
        self._error = GlobalError(self.system, first)
        self._error.go_on(error)

    @property
    def error(self) -> Accuracy | None:
        """Estimated error since the run began."""
        return self._error.at(self.state.t)

    def checkpoint(self) -> Checkpoint:
        """Where the run stands."""
        return Checkpoint(frozen(self.state), self.memory, self.control, self.pace, names_of(self.system))

    def explained(self, failure: FemMbsError) -> FemMbsError:
        """The error that says why there is no step, and how it was tried."""
        h = self._tried.h
        t = self.state.t + h
        with np.errstate(over="ignore", invalid="ignore"):
            tried_end = t - side(self._jump) if self._tried.end == self._jump else t
            why = explain_failure(self.system, self.state, tried_end, failure, self.method.advice(self.state, h))
        tried = self.control.tried(self.pace, h)
        if self._limited:
            why = f"{why}\n  {self._limited}"
        text = (
            f"no solution at t = {t:.6g} s: {why}\n  reached t = {self.state.t:.6g} s in {self.steps} steps{tried}; "
            "the error has the steps as its solution"
        )
        if isinstance(failure, NotConvergedError):
            return ConvergenceError(text, t, failure.report.history if failure.report else ())
        return type(failure)(text)

    def warning(self) -> str:
        """What the step control has to say, and whether the result is doubtful."""
        said = self.control.warning(self.pace), self._doubt, self.error.warning if self.error else ""
        return "; ".join(filter(None, said))
