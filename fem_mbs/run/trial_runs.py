"""The local error that leads a run to its tolerance, found by trial runs with longer steps.

Where all steps are halved, the error of a run falls with the order of the method, whatever the motion makes of local
errors: it may keep, forget or amplify them. So the difference of two runs tells the error of both (Richardson), and the
local error with which a third one will have that of the tolerance. The third one is looked at as well: what the last
trial differs from it is the error of that, and tells whether it was rightly expected (docs/variable_steps.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import EventLike, Limit, Method, State
from fem_mbs.errors import LOG, FemMbsError
from fem_mbs.run.events import Events
from fem_mbs.run.interfaces import AcceptedStep, Checkpoint
from fem_mbs.run.recorder import AtTimes
from fem_mbs.run.time_loop import TimeIntegration
from fem_mbs.run.variable_step import ROUNDING, VariableStep, VariableStepMemory
from fem_mbs.system.system import System

SAMPLES = 16
"""Times at which runs are compared."""
COARSE = 4.0
"""Longest step of the first trial, over that of the run."""
LOOSEST = 1e-2
"""Largest local error that is ever allowed, over the extent or in rad."""
AIM, MISSED = 0.8, 5.0
"""The error that is aimed at, over the tolerance; one that is worth a warning."""
NEAR, FARTHEST = 2.0, 6.0
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
                if watched is not None and (last := watched.until(step.state)) is not None:
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
    """A run with the local error that leads to its tolerance; from a checkpoint, that with which it began."""
    if isinstance(initial, Checkpoint):
        begin, own = initial.state.t, initial.control
        if isinstance(own, VariableStep) and replace(own, local_error=None) == control:
            control = own
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
    known, near, stuck = not complete, NEAR, 0
    error, longer, allowed = 0.0, 1.0, LOOSEST
    if coarse.steps:  # held by errors as much as by the largest length
        allowed *= min(1.0, coarse.control_memory.needed / coarse.steps) ** power
    while not known:
        largest, allowed = 0.5 * largest, 0.5**power * allowed
        fine, complete = trial(allowed, largest)
        difference = coarse.apart(fine)
        error = difference / (max(fine.steps / max(coarse.steps, 1), 2.0) ** order - 1.0)
        longer = (AIM * tolerance / max(error, ROUNDING)) ** (1.0 / order)
        LOG.info("trial run of %d steps, local errors up to %.1e: an error of about %.1e", fine.steps, allowed, error)
        halved = fine.steps > HALVED * coarse.steps
        stuck += not halved
        known = halved and difference < SMALL and near * longer > 1.0
        known = known or not complete or stuck == STUCK or allowed < 2.0**power * least
        coarse, near = fine, FARTHEST
    if error and stuck < STUCK:  # not at rest, and steps follow errors
        control = replace(control, local_error=min(max(allowed * longer**power, least), LOOSEST, tolerance))
    return SampledRun(system, method, control, t_end, initial, times, coarse)
