"""Runs that follow one another as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import ARRAYS, checked, shown
from fem_mbs.errors import ModelError
from fem_mbs.solution.history import History, Stats
from fem_mbs.solution.solution import Solution
from fem_mbs.solution.turns import Turns, principal, whole_turns


@checked
def join(runs: Sequence[Solution]) -> Solution:
    """Runs of one model as one, each of which began where the one before it ended.

    Parameters
    ----------
    runs : list of Solution
        In the order of time: the second made with ``initial=first.checkpoint``, or ``first.state(-1)``.

    Raises
    ------
    ModelError
        If they are of different models, or one does not begin where the one before it ends; and of load paths.
    """
    if not runs:
        raise ModelError(f"join: runs must be one run at least, received {shown(runs)}")
    result = runs[0]
    for run in runs[1:]:
        result = _joined(result, run)
    return result


def _joined(first: Solution, second: Solution) -> Solution:
    if first.history.instant is not None or second.history.instant is not None:
        raise ModelError("join: load paths have a load factor in place of time; runs in time can be joined")
    if first.system.source != second.system.source:
        raise ModelError("join: the runs are of different models: their nodes, internal variables or equations differ")
    if first.t[-1] != second.t[0]:
        raise ModelError(
            f"join: a run that ends at t = {first.t[-1]} s is followed by one that begins at t = {second.t[0]} s; it "
            "must begin where the other ends, with initial=first.checkpoint"
        )
    one, two = first.state(-1), second.state(0)
    apart = [name for name in ("x", "R", "v", "u") if not np.allclose(getattr(one, name), getattr(two, name))]
    if apart:
        raise ModelError(f"join: at t = {first.t[-1]} s the runs are at different states ({', '.join(apart)})")
    arrays = {name: np.concatenate([_array(first, name), _array(second, name)[1:]]) for name in ARRAYS}
    history = History(second.system, np.concatenate([first.t, second.t[1:]]), arrays)
    events = [[*a, *b] for a, b in zip(first.event_states, second.event_states, strict=False)]
    stats = _stats(first.stats, second.stats)
    return Solution(second.system, history, second.status, stats, events, second.checkpoint, _turns(first, second))


def _array(run: Solution, name: str) -> Array:
    own: Any = getattr(run, "multipliers_all" if name == "multipliers" else name)
    return own - run.system.origin if name == "x" and run.system.origin.any() else own


def _stats(first: Stats, second: Stats) -> Stats:
    both: dict[str, Any] = {name: getattr(first, name) + getattr(second, name) for name in COUNTS}
    listed: dict[str, Any] = {name: np.concatenate([getattr(first, name), getattr(second, name)]) for name in LISTED}
    return replace(second, **both, **listed)


COUNTS = ("residual_evaluations", "factorizations", "failed_steps", "rejected_steps", "wall_time", "steps")
LISTED = ("newton_iterations", "step_sizes")


def _turns(first: Solution, second: Solution) -> Turns | None:
    """Whole turns, where one of the runs has counted them on the way."""
    if not (first._turns or second._turns):
        return None
    result = {}
    for joint in first._turns or second._turns:
        name, counts = joint.name, []
        for run in (first, second):
            own = next(part for part in run.system.number.parts if part.name == name)
            known = run._turns.get(own)
            counts.append(_counted(run, own) if known is None else np.asarray(known))
        here = next(part for part in second.system.number.parts if part.name == name)
        result[here] = np.concatenate([counts[0], counts[1][1:] - counts[1][0] + counts[0][-1]])
    return result


def _counted(run: Solution, joint: Any) -> Array:
    return whole_turns(joint, run.t, *principal(run.history, joint))
