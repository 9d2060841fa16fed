"""Batches asked of several instants of a run together: of ``s`` instants, they are ``s`` copies of one.

Arrays of instants go one instant after the other, ``(s n, ...)`` for nodes, and so does what depends on time alone.
Batches that cannot be copied, or answer differently, are asked of one instant after the other.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import ConstraintBatch, ElementBatch, Motion, Node, Numbering
from fem_mbs.solution.copies import NEVER, LocalNumbering, UnlikeError, copies

MOST = 128
"""Instants whose loads and drives are kept."""
CLOSE = 1e-9
"""Largest difference of copies from one instant alone, over the size."""

Sizes: TypeAlias = tuple[int, int, int]
"""Nodes, internal variables and multipliers of an instant."""
Ask: TypeAlias = Callable[[Any, Motion, Any, Array], Sequence[Array | None]]
"""Of a batch, a motion, what depends on time, and multipliers of its joints: arrays whose rows go copy by copy."""


class _Shifted(LocalNumbering):
    """The rows of a numbering, so many instants further."""

    def __init__(self, number: Numbering, sizes: Sizes, shift: int = 0) -> None:
        super().__init__(number, {}, shift)
        self._sizes = sizes

    def again(self, shift: int = 0) -> _Shifted:
        return _Shifted(self._all, self._sizes, shift)

    def __call__(self, node: Node) -> int:
        return self._all(node) + self._shift * self._sizes[0]

    def own(self, part: Any) -> IntArray:
        return self._all.own(part) + self._shift * self._sizes[1]

    def multipliers(self, part: Any) -> IntArray:
        return self._all.multipliers(part) + self._shift * self._sizes[2]


class Together:
    """A batch of ``parts``, and copies of it.

    Parameters
    ----------
    batch
        That of one instant.
    number, sizes
        What has numbered it, and how much there is of an instant.
    end : float
        After which functions of time are not asked.
    """

    def __init__(self, batch: Any, parts: Sequence[Any], number: Numbering, sizes: Sizes, end: float) -> None:
        self.one, self._parts, self._sizes, self._end = batch, parts, sizes, end
        self._number = _Shifted(number, sizes)
        self._alone = False
        self._copies: dict[int, Any] = {}
        self._given: dict[float, Any] = {}

    @cached_property
    def _again(self) -> Callable[[int], Any]:
        return copies(self._parts, self._number)

    def ask(self, ask: Ask, motion: Motion, times: Array, multipliers: Array) -> list[Array | None]:
        """What ``ask`` says of all instants ``times`` (s,), with multipliers ``(s, m)`` of its own joints."""
        count = len(times)
        if count > 1 and not self._alone:
            try:
                return self._asked(ask, motion, times, multipliers)
            except Exception:  # of whatever kind: asked one by one, a batch that is in order has an answer
                self._alone = True
        answers = [self._of_one(ask, motion, times, multipliers, k) for k in range(count)]
        return [None if rows[0] is None else np.concatenate(rows) for rows in zip(*answers, strict=True)]

    def _asked(self, ask: Ask, motion: Motion, times: Array, multipliers: Array) -> list[Array | None]:
        count, known = len(times), self._copies
        if count not in known:
            known[count] = self._again(count)
        given = _joined([self._at(t) for t in times.tolist()], known[count])
        answers = list(ask(known[count], motion, given, multipliers.ravel()))
        for mine, other in zip(answers, self._of_one(ask, motion, times, multipliers, count - 1), strict=True):
            if mine is not None and other is not None:
                there, size = mine[len(mine) - len(other) :], np.abs(other).max(initial=0.0)
                if len(mine) != count * len(other) or not np.abs(there - other).max(initial=0.0) <= CLOSE * size:
                    raise UnlikeError("copies that do not behave like one")
        return answers

    def _of_one(self, ask: Ask, motion: Motion, times: Array, multipliers: Array, k: int) -> Sequence[Array | None]:
        here = of_instant(motion, self._sizes, k, float(times[k]))
        return ask(self.one, here, self._at(here.t), multipliers[k])

    def _at(self, t: float) -> Any:
        """What depends on time alone; several points of a step ask."""
        if t not in self._given:
            if len(self._given) >= MOST:
                self._given.clear()
            self._given[t] = self.one.at(min(t, self._end))
        return self._given[t]


def _joined(given: Sequence[Any], batch: Any) -> Any:
    """What a batch says of several instants, as its copies say of one; what is computed later is computed now."""
    first = given[0]
    if first is None:
        return None
    if isinstance(first, ElementBatch | ConstraintBatch):
        return batch
    if isinstance(first, np.ndarray) and first.ndim:
        return np.concatenate(given)
    if isinstance(first, tuple):
        parts = [_joined(own, batch) for own in zip(*given, strict=True)]
        return tuple(parts) if type(first) is tuple else type(first)(*parts)
    if isinstance(first, float):
        return NEVER
    if not type(first).__dictoffset__:
        raise UnlikeError(f"{first!r}")
    result = object.__new__(type(first))
    later = [name for name, own in vars(type(first)).items() if isinstance(own, cached_property)]
    for name in [*vars(first), *later]:
        vars(result)[name] = _joined([operator.attrgetter(name)(own) for own in given], batch)
    return result


def of_instant(motion: Motion, sizes: Sizes, k: int, t: float) -> Motion:
    """One of several motions."""
    nodes, own, rows = (slice(k * size, (k + 1) * size) for size in sizes)

    def part(motion: Motion, momentum: Motion | None) -> Motion:
        arrays = motion.x[nodes], motion.R[nodes], motion.V[nodes], motion.A[nodes], motion.gravity
        variables = motion.u[own], motion.udot[own], motion.uddot[own]
        return Motion(t, *arrays, *variables, motion.multipliers[rows], momentum)

    return part(motion, None if motion.momentum is None else part(motion.momentum, None))
