"""A problem of a collection: a model, and what is to be compared at some times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fem_mbs.arrays import Array
from fem_mbs.model.model import Model
from fem_mbs.solution.solution import Solution


@dataclass(frozen=True)
class BenchmarkProblem:
    """A problem with its references.

    ``build`` makes the model on a group, ``read`` takes the quantities ``(nt, k)`` off a solution, ``exact`` gives them
    at ``times``, and ``scale`` is the size of each.
    """

    name: str
    t_end: float
    build: Callable[[str], Model]
    read: Callable[[Solution], Array]
    quantities: Sequence[str]
    times: Sequence[float]
    exact: Callable[[], Array]
    scale: Sequence[float]
