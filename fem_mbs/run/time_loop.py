"""The loop over time: a step is planned, tried, judged and accepted, then come jumps, events, output and the callback.

:func:`run_to_end` goes from one accepted step to the next; :meth:`TimeIntegration.advance` plans, tries and judges
until a step is accepted. The equilibria of a path follow one another in the same way (``static/statics.py``).

A step ends just before an instant at which something jumps, such as a load that is switched, and the next one begins
just after it, from accelerations, multipliers and rates that are consistent there (docs/theory.md, "Jumps").
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Method, State, Step, UnilateralBatch, shown
from fem_mbs.contracts.arguments import listed
from fem_mbs.contracts.method import check_step
from fem_mbs.contracts.public import changed_since, moments
from fem_mbs.errors import LOG, ConvergenceError, FemMbsError, LawError, ModelError, Progress, of_library, users_failure
from fem_mbs.initial.consistent_start import consistent_start, jumped, next_jump, side
from fem_mbs.initial.singular import explain_failure, explain_singular
from fem_mbs.newton import FAILURES, NotConvergedError
from fem_mbs.run.events import Events
from fem_mbs.run.fixed_step import LEFT_OVER, FixedStep
from fem_mbs.run.interfaces import (
    AcceptedStep,
    Callback,
    Checkpoint,
    Kinks,
    Plan,
    Reached,
    Recorder,
    StateWatch,
    StepControl,
    StepSequence,
    check_checkpoint,
    equations_about,
    has_changed,
    names_of,
)
from fem_mbs.run.monitors import BentReactions, CoarseMeshes, CutSteps, DriveJumps, PassedThrough, Rubbing, SharedLoads
from fem_mbs.run.recorder import GlobalError
from fem_mbs.run.turning_dampers import DampersThatTurn, damped_between
from fem_mbs.solution.history import Accuracy, Outcome
from fem_mbs.solution.solution import Solution
from fem_mbs.system.states import frozen
from fem_mbs.system.system import System

CHECKED = 1
"""So many steps of a method of ours are checked for what the contract of methods says."""
EASY, HARD, OF_PATH = 2, 4, 0.1
"""Equations that bend take more corrections of Newton's method than 2; a hard start takes more than 4, or has a local
error of more than a tenth of the path that the velocities before it would lead along."""
TOGETHER, LARGE_MODEL, FEW = 256, 4096, 8
"""States that are looked at together; nodes, of all of them, beyond which these are fewer, and the fewest."""
LIMIT_CHECKS = {8**k for k in range(1, 9)}
"""Numbers of steps after which the limit of stability is looked at."""
END_IT = (
    "end it there by an event (terminal = True) or a callback that returns True, change the model, and go on with "
    "simulate(model, ..., initial=solution.checkpoint)"
)


def run_to_end(
    steps: StepSequence,
    recorder: Recorder,
    events: Events | None = None,
    callback: Callback | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Go to the end, or to where an event or the callback ends the run; ``error.solution`` has all steps so far."""

    def solution() -> Solution:
        return recorder.solution(outcome, steps, () if events is None else events.states)

    outcome, changes, watches, at = Outcome.FINISHED, moments.changes, Watches(steps), steps.where.format
    try:
        while outcome is Outcome.FINISHED and (step := steps.advance()) is not None:
            if events is not None and (last := events.until(step.state, steps.end_at)) is not None:
                step, outcome = step._replace(state=last), Outcome.EVENT
            recorder.add(step)
            if watches.many:
                watches.reached.append(step.state)
                if len(watches.reached) == watches.many:
                    watches.look()
            if progress is not None:
                progress(step.state.t)
            if callback is not None and _ends(callback, step.state, steps) and outcome is Outcome.FINISHED:
                outcome = Outcome.STOPPED
            if moments.changes != changes and outcome is Outcome.FINISHED:  # not of what the run has ended for
                changes = moments.changes
                refuse_changes(steps.system, f"{steps.label}: changed during the run, up to {at(step.state.t)}", END_IT)
    except KeyboardInterrupt:
        outcome = Outcome.INTERRUPTED
    except Exception as problem:
        if (error := _explained(problem, steps)) is None:
            raise
        outcome = Outcome.FAILED
        error.solution = solution()
        if error is problem:
            raise
        raise error from error.__cause__
    finally:
        said = watches.warnings()
        if progress is not None:
            progress(None)
    result = solution()
    LOG.info("%s", result)
    for text in filter(None, (*steps.warnings(), *said)):
        LOG.warning("%s", text)
    if events is not None and outcome is Outcome.FINISHED:
        events.check(result)
    return result


def _explained(problem: Exception, steps: StepSequence) -> FemMbsError | None:
    """What a user is told of what ended a run; None of what is not his."""
    failure = problem if isinstance(problem, FemMbsError) else users_failure(problem, steps.label)
    if failure is None or not isinstance(failure, FAILURES):
        return failure
    error = steps.explain(failure)
    error.__cause__ = failure.__cause__
    return error


class Watches:
    """All that looks at the states of a run beside the loop: ``reached``, ``many`` at once, 0 if there is nothing."""

    def __init__(self, steps: StepSequence) -> None:
        system = steps.system
        self._watches: list[StateWatch] = [CoarseMeshes(steps)] if system.coarse else []
        self._watches += [Rubbing(steps)] if system.creeps else []
        self._before, self._first = list[State](), 1
        if isinstance(steps, TimeIntegration):
            self._before.append(steps.state)
            self._watches += _of_motion(steps)
        self.many = max(FEW, min(TOGETHER, LARGE_MODEL // system.n)) if self._watches else 0
        self.reached: list[State] = []

    def look(self) -> None:
        """At the states that were reached since."""
        if not self.reached:
            return
        reached = Reached(self.reached, self._before, self._first)
        for watch in self._watches:
            watch.look(reached)
        self._before, self._first, self.reached = reached.after(3)[-3:], self._first + len(self.reached), []

    def warnings(self) -> list[str]:
        """What is to be said of the states so far."""
        self.look()
        return [watch.warning() for watch in self._watches]


def _of_motion(run: TimeIntegration) -> Iterator[StateWatch]:
    """What looks at the states of a run in time."""
    system = run.system
    if system.m:
        yield BentReactions(system)
    if run.method.turning and system.damps and (damped := damped_between(system)):
        yield DampersThatTurn(system, damped, run.method.turning)
    if any(batch.driven for batch in system.constraint_batches):
        yield DriveJumps(system)
    # contacts that may be passed through, and that no method watches
    if passing := [own for own in system.batches if own.passes and not isinstance(own, UnilateralBatch)]:
        yield PassedThrough(system, passing)
    if any(batch.whole.friction.any() for batch in system.batches if isinstance(batch, UnilateralBatch)):
        yield SharedLoads(system, run.where, run.state)


def refuse_changes(system: System, begin: str, advice: str) -> None:
    """Say that the model was changed by a callback, an event or a law: the run would not see it."""
    model = system.model
    now, then = [*model.nodes, *model.elements, *model.constraints], [*system.nodes, *system.number.parts]
    both = set(now).intersection(then)
    changed = [changed_since(then, system.frozen_as), "its gravity" if (model.gravity != system.gravity).any() else ""]
    changed += [
        f"{part}: {how}" for own, how in ((now, "added"), (then, "removed")) for part in own if part not in both
    ]
    if text := "; ".join(filter(None, changed)):
        raise ModelError(f"{begin}: {text}. A run keeps the model as it was when it began; {advice}")


def _ends(callback: Callback, state: State, steps: StepSequence) -> bool:
    """Call the callback; whether it ends the run."""
    try:
        answer = callback(steps.system.to_user(state))
    except Exception as error:
        raise FemMbsError(
            f"{steps.label}: the callback failed at {steps.where.format(state.t)}: {error!r}; it is called with "
            "the state after each step, and ends the run by returning True"
        ) from error
    if not (answer is None or isinstance(answer, bool | np.bool_)):
        raise ModelError(
            f"{steps.label}: the callback must return None, or True to end the run, received {shown(answer)}"
        )
    return bool(answer)


def _laws(system: System) -> str:
    """Elements whose laws may bend or jump."""
    owners = [str(owner) for batch in system.batches if batch.kinked or batch.asks for owner in batch.owners]
    return f"Laws that may do so: {listed(owners, '; ')}"


class TimeIntegration:
    """A run in time under way: its state, what method and step control remember, and what they gave up on the way.

    Parameters
    ----------
    system : System
        The frozen model.
    method : Method
        How a step is made.
    control : StepControl
        How long steps are.
    t_end : float
        End of the run in s.
    initial : State or Checkpoint, optional
        Where it begins, in the arrays of the system, or goes on; by default at t = 0 as built.
    """

    label, where = "simulate", "t = {:.6g} s"

    def __init__(
        self, system: System, method: Method, control: StepControl, t_end: float, initial: State | Checkpoint | None
    ) -> None:
        self.system, self.method, self.control, self.t_end = system, method, control, t_end
        self.steps = self.failed = self.rejected = 0
        self._in_vain = 0.0
        """Matrices of attempts without a solution since the last step, each over the length that was tried."""
        self._tried = Plan(0.0, None)
        self._doubt = self._beyond_limit = ""
        self.memory: Any
        allowed = control.allowed(method)
        self._stepper = method if allowed is None else method.within(allowed)
        self._checked = CHECKED if of_library(type(method)) else math.inf
        self._offers_doubt = type(method).doubt is not Method.doubt and "velocity" not in method.levels
        if isinstance(initial, Checkpoint):
            check_checkpoint(initial, system, method)
            if has_changed(initial, system):
                LOG.info("simulate: the model has changed since the checkpoint: the method starts anew from its state")
                initial = initial.state
        if isinstance(initial, Checkpoint):
            self._go_on(initial)
        else:
            self._begin(initial)
        self._error = GlobalError(system, self.state)
        self._cut: CutSteps | None = None
        if system.watched and isinstance(control, FixedStep):
            self._cut = CutSteps(system, system.evaluate_at(self.state), control.h)

    def _begin(self, initial: State | None) -> None:
        """At the start, from consistent accelerations."""
        system, method, control = self.system, self.method, self.control
        self.state = consistent_start(system, initial)
        branches = self._branches(self.state) if system.kinked else None
        self.control_memory, first = control.begin(method, self.state.t, self.t_end, branches)
        if system.next_jump(self.state) <= self.state.t:
            self.state = jumped(system, self.state)
        self.state = method.settle(system, self.state)
        if initial is not None:
            self.state = replace(self.state, turns=initial.turns)
        self._jump = next_jump(system, self.state, self.t_end)
        if self._jump < math.inf:
            self.control_memory, first = control.restart(self.control_memory, self.state.t, self._jump)
        self.memory = method.init(system, self.state, first)
        if isinstance(control, FixedStep):
            self.memory = method.carrying(system, self.state, self.memory)

    def _go_on(self, checkpoint: Checkpoint) -> None:
        """Where another run stands; another step control than its own begins anew."""
        system, state = self.system, checkpoint.state
        evaluation = self.system.evaluate_at(state)
        explain_singular(system, evaluation, f"at t = {state.t:g} s")
        self.state, self.memory = state, checkpoint.memory
        branches = system.branches(evaluation) if system.kinked else None
        self.control_memory, _ = self.control.begin(self.method, state.t, self.t_end, branches)
        if checkpoint.control == self.control:
            self.control_memory = checkpoint.control_memory
        self._jump = next_jump(system, state, self.t_end)

    def go_on(self, t_end: float, control: FixedStep, anew: bool) -> None:
        """To a later end, in equal steps; ``anew`` where what leads the model changes its way."""
        self.t_end, self.control = t_end, control
        if anew:
            self._anew(self.state, consistent_start(self.system, self.state), t_end)
        else:
            self._jump = next_jump(self.system, self.state, t_end)
            self.control_memory = control.further(self.control_memory, self.state.t, min(self._jump, t_end))

    def end_at(self, event: State) -> State:
        """Stand at an event within the last step, where joints are closed: a run that goes on begins anew there."""
        if event.t < self.state.t:
            self.memory = self._earlier  # what errors were at the end of the step is not known within it
            self._anew(event, replace(consistent_start(self.system, event, math.inf), turns=event.turns), math.inf)
            return self.state
        return event

    def _anew(self, before: State, state: State, t_end: float) -> None:
        """From a state whose accelerations are others than those before, towards the next jump or an end."""
        self.state = self.method.settle(self.system, state)
        self._jump = next_jump(self.system, self.state, self.t_end)
        self.control_memory, first = self.control.restart(self.control_memory, state.t, min(self._jump, t_end))
        self.memory = self.method.after_jump(self.system, before, self.state, first, self.memory)

    def advance(self) -> AcceptedStep | None:
        """Plan, try and judge steps until one is accepted; None at the end. :meth:`explain` says why there is none."""
        while True:
            near = self.state.t < self._jump <= self.t_end and self._is_near(self._jump)
            plan = None if near else self.control.plan(self.control_memory, self.state.t, min(self._jump, self.t_end))
            if plan is None:
                if self._jump >= self.t_end and not near:
                    return None
                self.state = self.state.at(self._jump)
                self._pass_jump()
                continue
            if not self._tried.h:
                self._check_limit(plan.h)
            self._tried = plan
            jumps = plan.end is not None and plan.end == self._jump
            try:
                h = plan.h - side(self._jump) if jumps else plan.h
                take = self._stepper.inner_step if self.steps > self._checked else self._checked_step
                step = take(self.system, self.state, h, self.memory)
                if self.system.end_checks and not step.report.end_checked:
                    end = step.state
                    self.system.check_end(self.state.t, end.t, end.R, end.u, end.multipliers)
            except FAILURES as failure:
                if not self._shortened(plan, failure):
                    raise
                continue
            kinks = self._kinks(step) if self.system.watched else None
            hardness = partial(self._hardness, step, plan.h)
            passed, self.control_memory = self.control.judge(self.control_memory, plan, step.error, kinks, hardness)
            if not passed:
                self.rejected += 1
                continue
            self._earlier, self.state, self.memory = self.memory, step.state, step.memory
            if plan.end is not None and self.state.t != plan.end:
                self.state = self.state.at(plan.end)
            self.steps += 1
            self._error.rounds += (step.report.factorizations + self._in_vain * plan.h) * plan.h
            self._in_vain = 0.0
            if kinks is not None:
                self._after_kinks(kinks, plan.h)
            if step.report.error_estimate is not None:
                missed = self._error.add(self.state, step.report.error_estimate, plan.h)
                if missed is not None:
                    self.memory = self.method.missing(self.system, self.state, self.memory, missed)
            if self._offers_doubt and not self._doubt:
                self._doubt = self.method.doubt(self.system, self.state, plan.h)
            if self.steps in LIMIT_CHECKS:
                self._check_limit(plan.h)
            return AcceptedStep(self._pass_jump() if jumps else self.state, step.report)

    def _checked_step(self, *given: Any) -> Step:
        return check_step(self._stepper.step(*given), self.method, *given[1:3])

    def _shortened(self, plan: Plan, failure: FemMbsError) -> bool:
        """Whether another step may do where one has failed."""
        self.failed += 1
        if isinstance(failure, NotConvergedError) and failure.report is not None:
            self._in_vain += failure.report.factorizations / plan.h
        LOG.info("step of %g s from t = %g s failed: %s", plan.h, self.state.t, failure)
        shorter = self.control.failed(self.control_memory, plan)
        if shorter is None or isinstance(failure, LawError) and not failure.of_motion:
            return False
        self.control_memory = shorter
        return True

    def _after_kinks(self, kinks: Kinks, h: float) -> None:
        """Count what steps near kinks of laws miss, and say where something keeps them short."""
        if self._cut is not None:
            self._cut.after_step(h / self.control_memory.h, kinks.branches)
        self._error.parts += self.control.across_kink(self.control_memory)
        if creeps := self.control.creeps(self.control_memory):
            LOG.warning("t = %.6g s: %s. %s", self.state.t, creeps, _laws(self.system))

    def _kinks(self, step: Step) -> Kinks:
        """On which side of their kinks laws are at the end of a step."""
        branches = step.report.branches
        if branches is None and self.system.kinked:
            branches = self._branches(step.state)
        return Kinks(self.system, step, branches, self.state)

    def _hardness(self, step: Step, h: float) -> float:
        """By the corrections that Newton's method makes, and, where equations bend, the local error beside the path.

        From rest there is no path beside which an error is large: what sets in then is small in all that follows.
        """
        corrections = step.report.factorizations if self.method.quadratic else 0
        hardness = corrections / HARD
        if corrections > EASY and step.error is not None:
            path = h * self.system.largest_of_nodes(self.state.v.ravel())
            hardness = max(hardness, step.error / (OF_PATH * path) if path else 0.0)
        return hardness

    def _branches(self, state: State) -> Array:
        """On which side of their kinks laws are at a state."""
        return self.system.branches(self.system.evaluate_at(state))

    def _check_limit(self, h: float) -> None:
        """Say once, and at once, if stability limits the steps."""
        if self._beyond_limit:
            return
        try:
            limit = self.method.limit(self.system, self.state, h)
        except FAILURES:
            return  # of places nearby, nothing follows for the run
        if limit is not None:
            rest = self.t_end - self.state.t
            self._beyond_limit = self.control.beyond_limit(self.control_memory, limit, h, rest)
        if self._beyond_limit:
            LOG.warning("t = %.6g s: %s: %s", self.state.t, self.method, self._beyond_limit)

    def _is_near(self, instant: float) -> bool:
        """Whether an instant is nearer than a step can be: what that would solve is rounding."""
        return instant - self.state.t <= max(LEFT_OVER * self.control_memory.h, 2.0 * side(self.state.t))

    def _pass_jump(self) -> State:
        """From just before a jump to just after it, and anew towards the next one; the state has both."""
        before = self.state.at(self.t_end) if self._is_near(self.t_end) else self.state
        self._anew(before, jumped(self.system, before), math.inf)
        return replace(self.state, before=before)

    @property
    def error(self) -> Accuracy:
        """Estimated error since the run began."""
        return self._error.at(self.state.t, self.method.carried(self.system, self.state, self.memory))

    def checkpoint(self, ended: bool = False) -> Checkpoint:
        """Where the run stands; of one that has ended, with its equations."""
        system, equations = self.system, equations_about(self.system, self.state) if ended else None
        stands = frozen(self.state), self.memory, self.control, self.control_memory
        return Checkpoint(*stands, names_of(system), system, equations)

    def counts(self) -> tuple[int, int, int, str, tuple[Any, ...]]:
        """What was counted so far, beside the checkpoint: for :meth:`resume`."""
        return self.steps, self.failed, self.rejected, self._doubt, self._error.sums()

    def resume(self, counts: Sequence[Any], first: State) -> None:
        """Count on, in a run that began with another state."""
        self.steps, self.failed, self.rejected, self._doubt, sums = counts
        self._error = GlobalError(self.system, first)
        self._error.resume(sums)

    def explain(self, failure: FemMbsError) -> FemMbsError:
        """The error that says why there is no step, and how it was tried."""
        h = self._tried.h
        t = self.state.t + h
        with np.errstate(over="ignore", invalid="ignore"):
            tried_end = t - side(self._jump) if self._tried.end == self._jump else t
            why = explain_failure(self.system, self.state, tried_end, failure, self.method.advice(self.state, h))
        tried = self.control.attempts(self.control_memory, h)
        if self._cut is not None and self._cut.suspects and isinstance(failure, NotConvergedError):
            why = f"{why}\n  {self._cut.suspects}; let them change over a small range, as tanh(v/v0) does"
        if self._beyond_limit:
            why = f"{why}\n  {self._beyond_limit}"
        text = (
            f"no solution at t = {t:.6g} s: {why}\n  reached t = {self.state.t:.6g} s in {self.steps} steps{tried}; "
            "the error has the steps as its solution"
        )
        if isinstance(failure, NotConvergedError):
            return ConvergenceError(text, t, failure.report.history if failure.report else ())
        return type(failure)(text)

    def warnings(self) -> Sequence[str]:
        """Steps that failed, what the step control has to say, and whether the result is doubtful."""
        doubts = [self.control.warning(self.control_memory), self._doubt, self.error.warning]
        doubts.append(self.method.warning(self.system, self.state, self.memory))
        cut = "" if self._cut is None else self._cut.warning()
        repeated = f"{self.failed} steps failed and were repeated with shorter ones" if self.failed else ""
        return [text for text in (repeated, cut, "; ".join(filter(None, doubts))) if text]
