"""What an element or a joint is at all times of a run: at ``nt`` times, it is ``nt`` copies of it at one.

Kernels take arrays with one entry a cell, so that copies of a batch are a batch; some hundred instants are asked
together. Batches that cannot be copied, and those that ask for the time, are asked at one instant after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.model import Constraint, Element, Motion
from fem_mbs.result.copies import LocalNumbering, UnlikeError, copies
from fem_mbs.result.history import History

CELLS = 2000
"""Cells that are asked together: enough that Python does not count, few enough for the cache."""
FEW = 8
"""Instants up to which copies do not pay."""
CLOSE = 1e-9

Ask: TypeAlias = Callable[[Any, Motion, Any, Array], Array]
"""Of a batch, a motion, what depends on time, and the multipliers of its joints: an array, copy by copy."""
Reduce: TypeAlias = Callable[[Array], Array]


class _Never:
    """A time that must not be looked at: whatever is done with it is refused."""

    def _refuse(self, *_: object) -> NoReturn:
        raise UnlikeError("it depends on time")

    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __hash__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __pow__ = __neg__ = __abs__ = __float__ = __int__ = __index__ = __format__ = __str__ = _refuse


_NEVER: Any = _Never()


def over_time(history: History, parts: Sequence[Element | Constraint], ask: Ask, reduce: Reduce | None = None) -> Array:
    """What ``ask`` says at all times of parts that share a batch, ``(nt, ...)``.

    It returns an array whose entries go copy by copy; ``reduce`` makes of those of each, ``(c, r, ...)``, what is kept,
    ``(c, ...)``.
    """
    number = LocalNumbering(history.system.number)
    one = type(parts[0]).batch(parts, number)
    own = [number.multipliers(part) for part in parts if isinstance(part, Constraint)]
    rows = np.concatenate(own) if own else np.empty(0, np.intp)

    def asked(batch: Any, times: IntArray, t: Any) -> Array:
        motion = history.of_nodes(list(number.rows), times)
        motion.t = motion.t if t is None else t
        prescribed = batch.at(min(motion.t, history.system.end) if t is None else t)
        values = ask(batch, motion, prescribed, history.multipliers[times][:, rows].ravel())
        values = values.reshape(len(times), -1, *values.shape[1:])
        return values if reduce is None else reduce(values)

    def one_by_one(times: IntArray) -> Array:
        return np.concatenate([asked(one, times[k : k + 1], None) for k in range(len(times))])

    def together(count: int) -> Array:
        many, last = copies(parts, number, count), nt - 1
        blocks = (np.minimum(np.arange(first, first + count), last) for first in range(0, nt, count))
        result = np.concatenate([asked(many, times, _NEVER) for times in blocks])[:nt]
        ends = np.array([0, nt // 2, last])
        here = one_by_one(ends)
        if not np.allclose(result[ends], here, CLOSE, CLOSE * np.abs(here).max()):
            raise UnlikeError("copies that do not behave like one")
        return result

    nt = len(history.t)
    if nt > FEW and history.instant is None:
        try:
            return together(min(nt, 1 + CELLS // max(len(one.owners), 1)))
        except Exception:  # of whatever kind: asked one by one, a batch that is in order has an answer
            pass
    return one_by_one(np.arange(nt))
