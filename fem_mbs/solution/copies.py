"""What an element or a joint is at all times of a run: at ``nt`` times, it is ``nt`` copies of it at one.

Kernels take arrays with one entry a cell, so that copies of a batch are a batch; some hundred instants are asked
together. Batches that cannot be copied, and those that ask for the time, are asked at one instant after the other. How
its arrays go on from copy to copy is seen from three batches: of one copy, of the same one with all rows of nodes,
internal variables and multipliers shifted, and of two copies. Numbers of cells follow from the last, rows from the
second.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NoReturn, TypeAlias

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Constraint, Element, Motion, Node, Numbering
from fem_mbs.errors import LawError
from fem_mbs.solution.history import History

WHOLE = types.FunctionType | types.BuiltinFunctionType | np.ufunc | type | str | Node | Element | Constraint | Numbering
"""What copies have in common."""


class UnlikeError(Exception):
    """Something that does not tell how it goes on."""


class LocalNumbering(Numbering):
    """Rows of those nodes alone that are asked for, in the order of asking; all ``rows`` of so many copies further."""

    def __init__(self, number: Numbering, rows: dict[Node, int] | None = None, shift: int = 0) -> None:
        vars(self).update(vars(number), _shared={})
        self._all, self.rows, self._shift = number, {} if rows is None else rows, shift

    def again(self, shift: int = 0) -> LocalNumbering:
        """The same rows, shifted, for other batches."""
        return LocalNumbering(self._all, self.rows, shift)

    def __call__(self, node: Node) -> int:
        self._all(node)
        return self.rows.setdefault(node, len(self.rows)) + self._shift * len(self.rows)

    def own(self, part: Any) -> IntArray:
        return self._all.own(part) + self._shift * len(self.internal_variables)

    def multipliers(self, part: Any) -> IntArray:
        return self._all.multipliers(part) + self._shift * sum(map(len, self.equations.values()))


def copies(parts: Sequence[Any], number: LocalNumbering) -> Callable[[int], Any]:
    """The batch of so many copies of parts that share one, which a numbering has numbered.

    Raises
    ------
    UnlikeError
        If it holds something of which three batches do not tell how it goes on.
    """
    make = type(parts[0]).batch
    one = make(parts, number.again())
    shifted = make(parts, number.again(shift=1))
    two = make([*parts, *parts], number.again())
    return lambda count: _Continued(count).of(one, shifted, two)


class _Continued:
    """How things go on to ``count`` copies; those seen before are not copied again."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._seen: dict[int, tuple[Any, Any]] = {}

    def of(self, one: Any, shifted: Any, two: Any) -> Any:
        """What ``one``, the same ``shifted``, and ``two`` of it become."""
        if id(one) in self._seen:
            return self._seen[id(one)][1]
        if one is None or isinstance(one, WHOLE):
            if one is not two and one != two and not isinstance(one, Numbering):
                raise UnlikeError(f"{one!r} and {two!r}")
            return one
        if isinstance(one, slice | np.ndarray):
            return self._array(*(np.r_[own] if isinstance(own, slice) else own for own in (one, shifted, two)))
        if isinstance(one, bool | int | float | np.generic):
            return self._number(one, shifted, two)
        if isinstance(one, tuple | list):
            return self._list(one, shifted, two)
        if isinstance(one, dict) and one.keys() == two.keys() == shifted.keys():
            return {key: self.of(one[key], shifted[key], two[key]) for key in one}
        if type(one) is type(two) is type(shifted):
            return self._object(one, shifted, two)
        raise UnlikeError(f"{one!r}")

    def _array(self, one: Array, shifted: Array, two: Array) -> Array:
        """One that all copies share, or one with an entry for each: rows go on by what they are shifted by."""
        if _same(one, two) and _same(one, shifted):
            return one
        n, flat = len(one), (1,) * (one.ndim - 1)
        if two.shape != (2 * n, *one.shape[1:]) or not _same(one, two[:n]):
            raise UnlikeError("an array that does not double")
        if one.dtype.kind != "i":
            if not (_same(one, two[n:]) and _same(one, shifted)):
                raise UnlikeError("numbers that change from copy to copy")
            return self._repeated(one)
        step = (two[n:] - one) + (shifted - one)
        number = np.repeat(np.arange(self.count), n).reshape(-1, *flat)
        return self._repeated(one) + number * self._repeated(step)

    def _repeated(self, one: Array) -> Array:
        """An array once for each copy; a view where it has one entry, that takes no room in the cache."""
        if len(one) == 1:
            return np.broadcast_to(one, (self.count, *one.shape[1:]))
        return np.tile(one, (self.count, *(1,) * (one.ndim - 1)))

    def _number(self, one: Any, shifted: Any, two: Any) -> Any:
        """The same for all copies, or a count."""
        if _same(one, two) and _same(one, shifted):
            return one
        if not isinstance(one, int) or one != shifted:
            raise UnlikeError(f"{one} and {two}")
        return one + (self.count - 1) * (two - one)

    def _list(self, one: Any, shifted: Any, two: Any) -> Any:
        """Of things that all copies share, or of one for each: owners, laws."""
        n = len(one)
        if len(two) == n:
            items = [self.of(*own) for own in zip(one, shifted, two, strict=True)]
            return _made(type(one), items)
        if len(two) != 2 * n:
            raise UnlikeError("a list that does not double")
        items = list(zip(one, shifted, two[:n], two[n:], strict=True))
        return type(one)([_in_copy(k, *own) for k in range(self.count) for own in items])

    def _object(self, one: Any, shifted: Any, two: Any) -> Any:
        """The same with all its attributes gone on, but for those that are computed when they are asked for."""
        result = object.__new__(type(one))
        self._seen[id(one)] = one, result
        kinds = type(one).__mro__
        later = {name for kind in kinds for name, own in vars(kind).items() if isinstance(own, cached_property)}
        for name in vars(one).keys() - later:
            vars(result)[name] = self.of(*(vars(own)[name] for own in (one, shifted, two)))
        return result


def _same(one: Any, other: Any) -> bool:
    """Whether numbers are the same, NaN included."""
    return np.array_equal(one, other, equal_nan=np.asarray(one).dtype.kind == "f")


def _in_copy(k: int, one: Any, shifted: Any, first: Any, second: Any) -> Any:
    """An item of a list in a copy, of ``one``, the same ``shifted``, and the ``first`` and the ``second`` of two."""
    every = one, shifted, first, second
    if all(own is one for own in every) or (isinstance(one, types.MethodType) and all(own == one for own in every)):
        return one
    if isinstance(one, tuple | list) and all(len(own) == len(one) for own in every):
        return _made(type(one), [_in_copy(k, *own) for own in zip(*every, strict=True)])
    if isinstance(one, slice):
        return slice(*(_in_copy(k, *own) for own in zip(*map(_ends, every), strict=True)))
    if isinstance(one, np.ndarray | np.generic | float | int | str) and _same(one, first):
        if _same(one, shifted) and _same(one, second):
            return one
        if np.asarray(one).dtype.kind == "i" and np.shape(one) == np.shape(shifted) == np.shape(second):
            return one + k * ((second - one) + (shifted - one))
    raise UnlikeError("a list that does not double")


def _made(kind: type[Any], items: list[Any]) -> Any:
    """A list, a tuple, or one with names."""
    return kind(items) if kind in (list, tuple) else kind(*items)


def _ends(rows: slice) -> tuple[Any, Any, Any]:
    return rows.start, rows.stop, rows.step


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


NEVER: Any = _Never()


def over_time(
    history: History, parts: Sequence[Element | Constraint], ask: Ask, reduce: Reduce | None = None, met: bool = False
) -> Array:
    """What ``ask`` says at all times of parts that share a batch, ``(nt, ...)``.

    It returns an array whose entries go copy by copy; ``reduce`` makes of those of each, ``(c, r, ...)``, what is kept,
    ``(c, ...)``. Where laws of constraints cannot be asked, these may be taken for ``met``.
    """
    with history.system.as_frozen():
        return _over_time(history, parts, ask, reduce, met)


def _over_time(
    history: History, parts: Sequence[Element | Constraint], ask: Ask, reduce: Reduce | None, met: bool
) -> Array:
    number = LocalNumbering(history.system.number)
    one = type(parts[0]).batch(parts, number)
    own = [number.multipliers(part) for part in parts if isinstance(part, Constraint)]
    rows = np.concatenate(own) if own else np.empty(0, np.intp)

    def asked(batch: Any, times: IntArray, t: Any) -> Array:
        motion = history.of_nodes(list(number.rows), times)
        motion.t = motion.t if t is None else t
        try:
            prescribed = batch.at(min(motion.t, history.system.end) if t is None else t)
        except LawError:
            if not met:
                raise
            prescribed = batch.met(motion)
        values = ask(batch, motion, prescribed, history.multipliers[times][:, rows].ravel())
        values = values.reshape(len(times), -1, *values.shape[1:])
        return values if reduce is None else reduce(values)

    def one_by_one(times: IntArray) -> Array:
        return np.concatenate([asked(one, times[k : k + 1], None) for k in range(len(times))])

    def together(count: int) -> Array:
        many, last = copies(parts, number)(count), nt - 1
        blocks = (np.minimum(np.arange(first, first + count), last) for first in range(0, nt, count))
        result = np.concatenate([asked(many, times, NEVER) for times in blocks])[:nt]
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
