"""What an element or a joint is at all times of a run: at ``nt`` times, it is ``nt`` copies of it at one.

Kernels take arrays with one entry a cell, so that copies of a batch are a batch; some hundred instants are asked
together. What depends on time alone goes one instant after the other, too. Batches that cannot be copied, answer
differently, or ask for the time, are asked of one instant after the other. How the arrays of a batch go on from copy to
copy is seen from three batches: of one copy, of the same one with all rows of nodes, internal variables and multipliers
shifted, and of two copies. Numbers of cells follow from the last, rows from the second.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NoReturn, TypeAlias

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Constraint, ConstraintBatch, Element, ElementBatch, Motion, Node, Numbering
from fem_mbs.errors import LawError
from fem_mbs.solution.history import History

WHOLE = types.FunctionType | types.BuiltinFunctionType | np.ufunc | type | str | Node | Element | Constraint | Numbering
"""What copies have in common."""


class UnlikeError(Exception):
    """Something that does not tell how it goes on."""


class LocalNumbering(Numbering):
    """Rows of those nodes alone that are asked for, in the order of asking."""

    def __init__(self, number: Numbering) -> None:
        vars(self).update(vars(number), _shared={})
        self._all, self.rows = number, dict[Node, int]()

    def __call__(self, node: Node) -> int:
        self._all(node)
        return self.rows.setdefault(node, len(self.rows))


Sizes: TypeAlias = tuple[int, int, int]
"""Nodes, internal variables and multipliers of an instant."""


class ShiftedNumbering(Numbering):
    """The rows of a numbering, so many instants further."""

    def __init__(self, number: Numbering, sizes: Sizes, shift: int = 0) -> None:
        vars(self).update(vars(number), _shared={})
        self._first, self._nodes, self._own_rows, self._rows_of_joints = number, *(shift * size for size in sizes)

    def __call__(self, node: Node) -> int:
        return self._first(node) + self._nodes

    def own(self, part: Any) -> IntArray:
        return self._first.own(part) + self._own_rows

    def multipliers(self, part: Any) -> IntArray:
        return self._first.multipliers(part) + self._rows_of_joints


def copies(parts: Sequence[Any], number: Numbering, sizes: Sizes) -> Callable[[int], Any]:
    """The batch of so many copies of parts that share one, which a numbering has numbered.

    Raises
    ------
    UnlikeError
        If it holds something of which three batches do not tell how it goes on.
    """
    make = type(parts[0]).batch
    one, shifted = (make(parts, ShiftedNumbering(number, sizes, shift)) for shift in (0, 1))
    two = make([*parts, *parts], ShiftedNumbering(number, sizes))
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
    if all(own is one for own in every):
        return one
    if isinstance(one, tuple | list) and all(len(own) == len(one) for own in every):
        return _made(type(one), [_in_copy(k, *own) for own in zip(*every, strict=True)])
    if isinstance(one, partial) and not one.keywords and all(own.func is one.func for own in every):
        return partial(one.func, *_in_copy(k, *(own.args for own in every)))
    if isinstance(one, slice):
        ends = ((own.start, own.stop, own.step) for own in every)
        return slice(*(_in_copy(k, *own) for own in zip(*ends, strict=True)))
    numbers: Any = np.ndarray | np.generic | float | int | str | types.MethodType
    if isinstance(one, numbers) and _same(one, first) and _same(one, shifted):
        if _same(one, second):
            return one
        if np.asarray(one).dtype.kind == "i" and np.shape(one) == np.shape(second):
            return one + k * (second - one)
    raise UnlikeError("a list that does not double")


def _made(kind: type[Any], items: list[Any]) -> Any:
    """A list, a tuple, or one with names."""
    return kind(items) if kind in (list, tuple) else kind(*items)


CELLS = 2000
"""Cells that are asked together: enough that Python does not count, few enough for the cache."""
FEW, MOST = 8, 128
"""Instants up to which copies do not pay; those whose loads and drives are kept."""
CLOSE = 1e-9
"""Largest difference of copies from one instant alone, over the size."""

Ask: TypeAlias = Callable[[Any, Motion, Any, Array], Sequence[Array | None]]
"""Of a batch, a motion, what depends on time, and multipliers of its joints: arrays whose rows go copy by copy."""
Reduce: TypeAlias = Callable[[Array], Array]


class _Never:
    """A time that must not be looked at: whatever is done with it is refused."""

    def _refuse(self, *_: object) -> NoReturn:
        raise UnlikeError("it depends on time")

    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __hash__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __pow__ = __neg__ = __abs__ = __float__ = __int__ = __index__ = __format__ = __str__ = _refuse


NEVER: Any = _Never()


class BatchCopies:
    """A batch of ``parts``, and copies of it.

    ``number`` has numbered that of one instant, of which ``sizes`` says how much there is. ``rates`` of what depends on
    time are wanted or not; where laws of joints cannot be asked, these may be taken for ``met``.
    """

    def __init__(
        self,
        batch: Any,
        parts: Sequence[Any],
        number: Numbering,
        sizes: Sizes,
        *,
        rates: bool = True,
        met: bool = False,
    ) -> None:
        self.one, self._parts, self._number, self._sizes = batch, parts, number, sizes
        self._rates, self._met, self._alone = rates, met, False
        self._copies: dict[int, Any] = {}
        self._given: dict[float, Any] = {}

    @cached_property
    def _again(self) -> Callable[[int], Any]:
        return copies(self._parts, self._number, self._sizes)

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
        given = _joined([self._at(t) for t in times.tolist()], known[count], self._rates)
        answers = list(ask(known[count], motion, given, multipliers.ravel()))
        for mine, other in zip(answers, self._of_one(ask, motion, times, multipliers, count - 1), strict=True):
            if mine is not None and other is not None:
                there, size = mine[len(mine) - len(other) :], np.abs(other).max(initial=0.0)
                if len(mine) != count * len(other) or not np.abs(there - other).max(initial=0.0) <= CLOSE * size:
                    raise UnlikeError("copies that do not behave like one")
        return answers

    def _of_one(self, ask: Ask, motion: Motion, times: Array, multipliers: Array, k: int) -> Sequence[Array | None]:
        here = of_instant(motion, self._sizes, k, float(times[k]))
        try:
            given = self._at(here.t)
        except LawError:
            if not self._met:
                raise
            given = self.one.met(here)
        return ask(self.one, here, given, multipliers[k])

    def _at(self, t: float) -> Any:
        """What depends on time alone; several points of a step ask."""
        if t not in self._given:
            if len(self._given) >= MOST:
                self._given.clear()
            self._given[t] = self.one.at(min(t, self._number.end))
        return self._given[t]


def _joined(given: Sequence[Any], batch: Any, later: bool) -> Any:
    """What a batch says of several instants, as its copies say of one; what is computed ``later`` is computed now."""
    first = given[0]
    if first is None:
        return None
    if isinstance(first, ElementBatch | ConstraintBatch):
        return batch
    if isinstance(first, np.ndarray) and first.ndim:
        return np.concatenate(given)
    if isinstance(first, tuple):
        parts = [_joined(own, batch, later) for own in zip(*given, strict=True)]
        return tuple(parts) if type(first) is tuple else type(first)(*parts)
    if isinstance(first, float):
        return NEVER
    if not type(first).__dictoffset__:
        raise UnlikeError(f"{first!r}")
    result = object.__new__(type(first))
    computed = {name for name, own in vars(type(first)).items() if isinstance(own, cached_property)}
    for name in vars(first).keys() | computed if later else vars(first).keys() - computed:
        vars(result)[name] = _joined([getattr(own, name) for own in given], batch, later)
    return result


def of_instant(motion: Motion, sizes: Sizes, k: int, t: float) -> Motion:
    """One of several motions."""
    nodes, own, rows = (slice(k * size, (k + 1) * size) for size in sizes)

    def part(motion: Motion, momentum: Motion | None) -> Motion:
        arrays = motion.x[nodes], motion.R[nodes], motion.V[nodes], motion.A[nodes], motion.gravity
        variables = motion.u[own], motion.udot[own], motion.uddot[own]
        return Motion(t, *arrays, *variables, motion.multipliers[rows], momentum)

    return part(motion, None if motion.momentum is None else part(motion.momentum, None))


def over_time(
    history: History,
    parts: Sequence[Element | Constraint],
    ask: Callable[[Any, Motion, Any, Array], Array],
    reduce: Reduce | None = None,
    met: bool = False,
) -> Array:
    """What ``ask`` says at all times of parts that share a batch, ``(nt, ...)``.

    It returns an array whose entries go copy by copy; ``reduce`` makes of those of each, ``(c, r, ...)``, what is kept,
    ``(c, ...)``.
    """
    system, nt = history.system, len(history.t)
    with system.as_frozen():
        number = LocalNumbering(system.number)
        one, own = type(parts[0]).batch(parts, number), [part for part in parts if isinstance(part, Constraint)]
        rows = np.concatenate([np.empty(0, np.intp), *map(number.multipliers, own)])
        sizes = len(number.rows), system.k, system.m
        batch = BatchCopies(one, parts, number, sizes, rates=False, met=met)
        together = nt > FEW and history.instant is None
        count = min(nt, FEW + CELLS // max(len(one.owners), 1)) if together else 1
        t, found = history.times, list[Array]()
        for first in range(0, nt, count):
            some = np.minimum(np.arange(first, first + count), nt - 1)
            motion = history.of_nodes(list(number.rows), some)
            (values,) = batch.ask(lambda *given: [ask(*given)], motion, t[some], history.multipliers[some][:, rows])
            assert values is not None
            values = values.reshape(count, -1, *values.shape[1:])
            found.append(values if reduce is None else reduce(values))
    return np.concatenate(found)[:nt]
