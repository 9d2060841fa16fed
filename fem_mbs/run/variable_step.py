"""Steps whose length follows the local error, and the local error that leads a run to its tolerance.

That is found by trial runs with longer steps. Where all steps are halved, the error of a run falls with the order of
the method, whatever the motion makes of local errors: it may keep, forget or amplify them. So the difference of two
runs tells the error of both (Richardson), and the local error with which a third one will have that of the tolerance.
The third one is looked at as well: what the last trial differs from it is the error of that, and tells whether it was
rightly expected (docs/variable_steps.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import EventLike, Limit, Method, Positive, PositiveInt, Seconds, State, checked, number
from fem_mbs.errors import LOG, ConvergenceError, FemMbsError, ModelError
from fem_mbs.methods.runge_kutta import WITH_ESTIMATE
from fem_mbs.run.events import Events
from fem_mbs.run.interfaces import AcceptedStep, Checkpoint, Hardness, Kinks, Plan, StepControl
from fem_mbs.run.recorder import AtTimes
from fem_mbs.run.time_loop import TimeIntegration
from fem_mbs.system.system import System

AIM, SAFETY = 0.7, 0.9
"""The error that the controller aims at, over the allowed one; what a rejected step is shortened by beyond that."""
SHRINK, GROW = 0.2, 2.0
AFTER_FAILURE = 0.25
TINY = 1e-6
ROUNDING = 2.0**-52
GUESS = 1e-2
"""Local error of a motion that trials tell nothing of, for a tolerance of 1."""
REST = 1e-9
"""A rest of this share of the run is rounding."""
NEAR = 0.6
"""Share of the longest stable step from which on steps may be held by stability, not by their errors."""
FAST = 4.0
"""Motions that are so many times faster than what is seen to move do not shorten steps by their errors."""


STIFF = "Take a method for stiff models, such as GeneralizedAlpha, or look for what is so stiff, so light or so damped"


class VariableStepMemory(NamedTuple):
    """Where a run with variable steps stands."""

    span: float
    """Length of the run in s."""
    allowed: float
    """Largest local error of a step."""
    power: int
    """Local errors grow with this power of the step."""
    smallest: float
    largest: float
    h: float
    """Length of the next step."""
    last: float
    """Length of the last accepted step, 0 before the first."""
    before: float
    """Its error over the allowed one."""
    excess: int
    """How many steps of the smallest length had too large an error."""
    steps: int
    """How many steps were accepted."""
    deadband: float = Method.deadband
    """The step stays for smaller factors."""
    needed: float = 0.0
    """How many steps would have sufficed, if none had been held by the largest length."""
    seen: float = np.inf
    """Up to when trial runs have looked, s."""


@checked
@dataclass(frozen=True)
class VariableStep(StepControl):
    """Steps of the length that a tolerance asks for, given to :func:`simulate` in place of a fixed step.

    The tolerance is the largest error of the result, within a factor of about 3 (docs/variable_steps.md, "What the
    tolerance means"). Trial runs with longer steps find the local error that is allowed; they take about half as many
    steps as the run, and call no callback. Errors are smaller where ``largest`` holds the steps, or the rule that no
    local error is above the tolerance.

    Parameters
    ----------
    tolerance : float
        Accuracy to ask for: positions over the extent of the model, rotations in rad, coordinates and states of
        elements over their size or their largest value.
    first : float, optional
        First step in s; a thousandth of the run by default.
    largest : float, optional
        No step is longer, in s; a hundredth of the run by default. Loads that last shorter can be missed.
    smallest : float, optional
        Steps of this length in s are accepted whatever their error; ``1e-7`` of the run by default.
    max_steps : int
        Steps after which the run fails.
    local_error : float, optional
        Largest local error of a step, as the method measures it, in place of the one that trial runs find.
    """

    Memory: ClassVar[type] = VariableStepMemory

    tolerance: Annotated[float, partial(number, positive=True, high=1.0)] = 1e-2
    first: Seconds | None = None
    largest: Seconds | None = None
    smallest: Seconds | None = None
    max_steps: PositiveInt = 1_000_000
    local_error: Positive | None = None

    def allowed(self, method: Method) -> float:
        if method.error_order is None:
            raise ModelError(
                f"VariableStep: {method} does not estimate its local error, so that steps cannot follow a tolerance; "
                "give a fixed step in s, or a method that does, such as GeneralizedAlpha, or RungeKuttaMuntheKaas with "
                f"the tableau {' or '.join(WITH_ESTIMATE)}"
            )
        if self.local_error is not None:
            return self.local_error
        power = method.error_order / method.order
        allowed = float(GUESS * self.tolerance**power)
        if allowed < ROUNDING:
            raise ModelError(
                f"VariableStep: tolerance = {self.tolerance:g} is below what rounding leaves; {method} "
                f"can reach {(ROUNDING / GUESS) ** (1.0 / power):.1e}"
            )
        return allowed

    def limits(self, time: float) -> tuple[float, float, float]:
        """Smallest, first and largest step of a run that takes a time."""
        smallest = 1e-7 * time if self.smallest is None else self.smallest
        largest = min(max(1e-2 * time, self.first or 0.0) if self.largest is None else self.largest, time)
        first = min(1e-3 * time, largest) if self.first is None else self.first
        if not smallest <= first <= largest:
            raise ModelError(
                f"VariableStep: smallest <= first <= largest is expected, received {smallest:g}, {first:g} and "
                f"{largest:g} s for a run of {time:g} s"
            )
        return smallest, first, largest

    def begin(
        self, method: Method, t: float, t_end: float, branches: Array | None = None
    ) -> tuple[VariableStepMemory, float]:
        allowed, (smallest, first, largest) = self.allowed(method), self.limits(t_end - t)
        power = method.error_order or 0
        memory = VariableStepMemory(
            t_end - t, allowed, power, smallest, largest, first, 0.0, 1.0, 0, 0, method.deadband
        )
        return memory, first

    def restart(self, memory: VariableStepMemory, t: float, jump: float) -> tuple[VariableStepMemory, float]:
        """As long a step as the last one; what its error was does not tell about the next."""
        return memory._replace(last=0.0, before=1.0), min(memory.h, jump - t)

    def plan(self, memory: VariableStepMemory, t: float, t_end: float) -> Plan | None:
        """The next step within the rest of the run, without a tiny one at the end."""
        rest = t_end - t
        if rest <= REST * memory.span:
            return None
        if memory.steps >= self.max_steps:
            raise ConvergenceError(
                f"VariableStep: {memory.steps} steps have led to t = {t:.6g} s of {t_end:g} s, the last one of "
                f"{memory.last:.3g} s; give a larger tolerance than {self.tolerance:g}, or more max_steps. The error "
                "has the steps as its solution",
                t,
            )
        if rest <= 1.0001 * memory.h:
            return Plan(rest, t_end)
        return Plan(min(memory.h, 0.5 * rest), None)

    def failed(self, memory: VariableStepMemory, plan: Plan) -> VariableStepMemory | None:
        if self._shortest(memory, plan.h):
            return None
        return memory._replace(h=max(AFTER_FAILURE * plan.h, memory.smallest))

    def judge(
        self, memory: VariableStepMemory, plan: Plan, error: float | None, kinks: Kinks | None, hardness: Hardness
    ) -> tuple[bool, VariableStepMemory]:
        """Accept a step whose error is allowed, and choose the length of the next.

        That is the digital filter H211b with b = 4 of Soederlind (2003): smooth sequences of steps.
        """
        h, power = plan.h, memory.power
        assert error is not None  # methods without an estimate were refused
        error = max(error / memory.allowed, TINY)
        shortest = self._shortest(memory, h)
        if error > 1.0 and not shortest:
            shorter = h * max(SAFETY * error ** (-1.0 / power), SHRINK)
            return False, memory._replace(h=max(shorter, memory.smallest))
        ratio = h / memory.last if memory.last else 1.0
        factor = (AIM**2 / (error * memory.before)) ** (0.25 / power) * ratio**-0.25
        following = memory.h
        if not 1.0 / memory.deadband < factor < memory.deadband:
            following = min(max(h * min(max(factor, SHRINK), GROW), memory.smallest), memory.largest)
            if h < memory.h and factor > 1.0:  # a step that was cut tells little
                following = max(following, memory.h)
        excess = memory.excess + (error > 1.0)
        needed = memory.needed + error ** (1.0 / power)
        steps = memory.steps + 1
        return True, memory._replace(h=following, last=h, before=error, excess=excess, steps=steps, needed=needed)

    def beyond_limit(self, memory: VariableStepMemory, limit: Limit, h: float, rest: float) -> str:
        """Steps that are held by stability, where a longer one would be accurate enough.

        Raises
        ------
        ModelError
            At the start of a run, if that would take more steps than are allowed.
        """
        count = rest / limit.step
        if not memory.steps and (count > self.max_steps or limit.step < memory.smallest):
            raise ModelError(
                f"VariableStep: {rest:g} s would take {count:.1e} steps of an explicit method, more than max_steps = "
                f"{self.max_steps} or shorter than smallest = {memory.smallest:g} s: its longest stable step is "
                f"{limit}. {STIFF}"
            )
        if h < NEAR * limit.step or limit.rate < FAST * limit.moving:
            return ""
        return (
            f"steps are held down by stability, not by the tolerance: the longest stable one is {limit}, and things "
            f"move at {limit.moving:.3g} 1/s. The rest of the run, {rest:.3g} s, takes about {count:.1e} such steps. "
            f"{STIFF}"
        )

    def attempts(self, memory: VariableStepMemory, h: float) -> str:
        return f"; the step was shortened to {h:.3g} s" if self._shortest(memory, h) else ""

    def warning(self, memory: VariableStepMemory) -> str:
        """Steps that were accepted whatever their error."""
        if not memory.excess:
            return ""
        return f"{memory.excess} steps of the smallest length, {memory.smallest:g} s, have errors above the tolerance"

    def _shortest(self, memory: VariableStepMemory, h: float) -> bool:
        return h <= 1.001 * memory.smallest


SAMPLES = 16
"""Times at which runs are compared."""
COARSE = 4.0
"""Longest step of the first trial, over that of the run."""
LOOSEST = 1e-2
"""Largest local error that is ever allowed, over the extent or in rad."""
AIMED, MISSED = 0.8, 5.0
"""The error of a run that is aimed at, over the tolerance; one that is worth a warning."""
FAR, FARTHEST = 2.0, 6.0
"""How many times shorter than those of the first two trials, or of later ones, the steps of the run may be."""
SMALL = 0.1
"""Differences, over the extent or in rad, that tell of what is left of them when steps are halved."""
HALVED, STUCK = 1.5, 3
"""How many times more steps a trial takes than the one before if errors or the largest length hold its steps; so many
trials that do not are enough."""
AMPLIFIED = 1e4
"""The smallest local error that is tried is that of a motion that amplifies errors so much, or more."""


class _Trial(VariableStep):
    """Says nothing of stability, as the run itself will."""

    def beyond_limit(self, memory: VariableStepMemory, limit: Limit, h: float, rest: float) -> str:
        super().beyond_limit(memory, limit, h, rest)
        return ""


class SampledRun(TimeIntegration):
    """A run that keeps states at some times.

    Parameters
    ----------
    times : (samples,)
        The times in s.
    trial : SampledRun, optional
        The one that has told which local error is allowed.
    """

    def __init__(
        self,
        system: System,
        method: Method,
        control: VariableStep,
        t_end: float,
        initial: State | Checkpoint | None,
        times: Array,
        trial: SampledRun | None = None,
    ) -> None:
        super().__init__(system, method, control, t_end, initial)
        self.trial, self.tolerance = trial, control.tolerance
        self.states: list[State] = []
        self._selection = AtTimes(times, partial(method.between, system))

    def advance(self) -> AcceptedStep | None:
        """The next step, and the states on its way."""
        before = self.state
        step = super().advance()
        if step is not None:
            self.states += self._selection(before, step.state)
        return step

    def to_end(self, events: EventLike | Sequence[EventLike] | None) -> bool:
        """Go to the end, or to where an event ends the run; whether it comes there."""
        try:
            watched = None if events is None else Events(events, self.system, self.state, self._selection.between)
            while (step := self.advance()) is not None:
                if watched is not None and (last := watched.until(step.state, self.end_at)) is not None:
                    self.states.append(last)
                    break
        except FemMbsError:
            return False
        return True

    def apart(self, other: SampledRun) -> float:
        """The largest distance from another run at the times that both have reached.

        That of lengths over the extent of the model, of angles in rad, of coordinates and states over their size or the
        largest value that they have had.
        """
        system, pairs = self.system, list(zip(self.states, other.states, strict=False))
        if not pairs:
            return 0.0
        moved = [system.kinematics.relative(a.x, a.R, b.x, b.R).reshape(-1) for a, b in pairs]
        largest = np.abs(moved * system.weight[: 6 * system.n]).max()
        if system.k:
            u, own = np.array([[a.u, b.u] for a, b in pairs])[..., system.order > 0], system.own_of(system.weight)
            size = np.maximum(1.0 / own[system.order > 0], np.abs(u).max(axis=(0, 1)))
            largest = max(largest, (np.abs(u[:, 1] - u[:, 0]) / size).max(initial=0.0))
        return float(largest)

    def warnings(self) -> Sequence[str]:
        """What other runs say, and an error that is not that of the tolerance."""
        said = super().warnings()
        if self.trial is None or abs(len(self.states) - len(self.trial.states)) > 1:  # ended before it should
            return said
        tolerance, share = self.tolerance, (self.trial.steps / self.steps) ** self.method.order
        error = self.apart(self.trial) * share / max(abs(1.0 - share), 0.5)
        if error < MISSED * tolerance:
            return said
        return [
            *said,
            f"the error of the run is about {error:.1e}, for a tolerance of {tolerance:g}: the motion amplifies "
            "errors, or trial runs have seen less of it; try a smaller tolerance, or a smaller largest step",
        ]


def calibrated(
    system: System,
    method: Method,
    control: VariableStep,
    t_end: float,
    initial: State | Checkpoint | None,
    *,
    events: EventLike | Sequence[EventLike] | None = None,
) -> TimeIntegration:
    """A run with the local error that leads to its tolerance; from a checkpoint, as far as its trials saw, with its."""
    if isinstance(initial, Checkpoint):
        begin, own = initial.state.t, initial.control
        if isinstance(own, VariableStep) and replace(own, local_error=None) == control:
            control = own if t_end <= initial.control_memory.seen else control
    else:
        begin = 0.0 if initial is None else initial.t
    if control.local_error is not None:
        return TimeIntegration(system, method, control, t_end, initial)
    smallest, first, largest = control.limits(t_end - begin)
    largest *= COARSE if control.largest is None else 1.0
    times = np.linspace(begin, t_end, SAMPLES + 1)[1:]

    def trial(local_error: float, h: float) -> tuple[SampledRun, bool]:
        limits = min(first, h), h, min(smallest, first, h)
        own = _Trial(control.tolerance, *limits, control.max_steps, local_error)
        run = SampledRun(system, method, own, t_end, initial, times)
        return run, run.to_end(events)

    power, order, tolerance = method.error_order or 0, method.order, control.tolerance  # others were refused
    least = max(tolerance ** (power / order) / AMPLIFIED, ROUNDING)
    coarse, complete = trial(LOOSEST, largest)
    known, far, stuck = not complete, FAR, 0
    error, longer, allowed = 0.0, 1.0, LOOSEST
    if coarse.steps:  # held by errors as much as by the largest length
        allowed *= min(1.0, coarse.control_memory.needed / coarse.steps) ** power
    while not known:
        largest, allowed = 0.5 * largest, 0.5**power * allowed
        fine, complete = trial(allowed, largest)
        difference = coarse.apart(fine)
        error = difference / (max(fine.steps / max(coarse.steps, 1), 2.0) ** order - 1.0)
        longer = (AIMED * tolerance / max(error, ROUNDING)) ** (1.0 / order)
        LOG.info("trial run of %d steps, local errors up to %.1e: an error of about %.1e", fine.steps, allowed, error)
        halved = fine.steps > HALVED * coarse.steps
        stuck += not halved
        known = halved and difference < SMALL and far * longer > 1.0
        known = known or not complete or stuck == STUCK or allowed < 2.0**power * least
        coarse, far = fine, FARTHEST
    if error and stuck < STUCK:  # not at rest, and steps follow errors
        control = replace(control, local_error=min(max(allowed * longer**power, least), LOOSEST, tolerance))
    run = SampledRun(system, method, control, t_end, initial, times, coarse)
    run.control_memory = run.control_memory._replace(seen=coarse.state.t)
    return run
