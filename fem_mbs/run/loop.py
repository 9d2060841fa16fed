"""The only loop over steps, of a run in time and of a path of equilibria."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Annotated, NamedTuple, Protocol

from fem_mbs.contracts import Report, State, function
from fem_mbs.errors import FemMbsError
from fem_mbs.newton import FAILURES
from fem_mbs.run.events import Events
from fem_mbs.solution.outcome import Accuracy, Outcome
from fem_mbs.solution.solution import Solution

LOG = logging.getLogger("fem_mbs")
Callback = Annotated[Callable[[State], object], partial(function, of=" of a State")]


class Accepted(NamedTuple):
    """A step that passed."""

    state: State
    report: Report
    mark: int = 0
    """A number that belongs to the state: of a path, how unstable it is."""


class StepSequence(Protocol):
    """Steps one after the other, tried and repeated where necessary."""

    @property
    def failed(self) -> int:
        """Attempts without a solution."""
        ...

    @property
    def rejected(self) -> int:
        """Attempts with too large an error."""
        ...

    @property
    def error(self) -> Accuracy | None:
        """Estimated error so far."""
        ...

    def __iter__(self) -> Iterator[Accepted]:
        """The steps that pass, to the end."""
        ...

    def explained(self, failure: FemMbsError) -> FemMbsError:
        """The error that says how far the walk came, and why not further."""
        ...

    def warning(self) -> str:
        """What is to be said at the end; empty for nothing."""
        ...


class Recording(Protocol):
    """What keeps the states of a run: in memory, or in a file.

    ``label`` and ``where`` begin messages and name places in them, ``warns`` says whether failed steps are worth a
    warning; ``last`` is the last state so far, and ``to_user`` makes of it what users see.
    """

    label: str
    where: str
    warns: bool
    last: State
    to_user: Callable[[State], State]

    def add(self, accepted: Accepted) -> None:
        """Keep what is wanted of a step."""
        ...

    def solution(
        self, outcome: Outcome, failed: int, rejected: int, events: Sequence[list[State]], error: Accuracy | None = None
    ) -> Solution:
        """The solution so far."""
        ...


def drive(
    walk: StepSequence,
    recorder: Recording,
    watch: Events,
    callback: Callable[[State], object] | None,
    show: Callable[[float | None], None],
) -> Solution:
    """Go to the end of a walk, or to where an event or the callback ends it.

    Raises
    ------
    FemMbsError
        If a step fails for good, or the callback or an event fails; ``error.solution`` has all steps so far.
    """

    def solution(outcome: Outcome) -> Solution:
        return recorder.solution(outcome, walk.failed, walk.rejected, watch.hits, walk.error)

    try:
        outcome = _run(walk, recorder, watch, callback, show)
    except KeyboardInterrupt:
        outcome = Outcome.INTERRUPTED
    except FAILURES as failure:
        error = walk.explained(failure)
        error.solution = solution(Outcome.FAILED)
        raise error from failure.__cause__
    except FemMbsError as error:
        error.solution = solution(Outcome.FAILED)
        raise
    finally:
        show(None)
    result = solution(outcome)
    LOG.info("%s", result)
    if walk.failed and recorder.warns:
        LOG.warning("%d steps failed and were repeated with shorter ones", walk.failed)
    if text := walk.warning():
        LOG.warning("%s", text)
    if outcome is Outcome.FINISHED:
        watch.check(result)
    return result


def _run(
    walk: StepSequence,
    recorder: Recording,
    watch: Events,
    callback: Callable[[State], object] | None,
    show: Callable[[float | None], None],
) -> Outcome:
    for accepted in walk:
        last = watch.until(accepted.state)
        recorder.add(accepted if last is None else accepted._replace(state=last))
        show(recorder.last.t)
        stopped = callback is not None and _call(callback, recorder)
        if last is not None:
            return Outcome.EVENT
        if stopped:
            return Outcome.STOPPED
    return Outcome.FINISHED


def _call(callback: Callable[[State], object], recorder: Recording) -> bool:
    state = recorder.last
    try:
        return bool(callback(recorder.to_user(state)))
    except Exception as error:
        raise FemMbsError(
            f"{recorder.label}: the callback failed at {recorder.where.format(state.t)}: {error!r}; it is called with "
            "the state after each step, and ends the run by returning something true"
        ) from error
