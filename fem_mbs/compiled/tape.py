"""What NumPy code does to one cell of a batch, recorded as a straight line of operations on single numbers.

The code runs as it is, on object arrays of :class:`Number`: NumPy itself broadcasts, slices and multiplies them. Zeros
and ones that do not depend on inputs fold away, and what is computed twice is recorded once. A number has a value, that
of a sample, so that the code may ask which of two is larger: it goes the way of the sample, and what it has asked is a
guard, a condition under which the line is right. The value may be an array, of some cells, which have to go the same
way.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, reduce, wraps
from threading import RLock, local
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "tanh": np.tanh,
    "exp": np.exp,
    "log": np.log,
    "fabs": np.abs,
    "atan": np.arctan,
    "rint": np.rint,
    "atan2": np.arctan2,
}
"""Names as in the C library."""
_NAMES = {"atan": "arctan", "atan2": "arctan2", "fabs": "__abs__"}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "fadd": operator.add,
    "fsub": operator.sub,
    "fmul": operator.mul,
    "fdiv": np.divide,
    "larger": np.maximum,
    "smaller": np.minimum,
}


class CannotRecordError(Exception):
    """The code does something that a straight line of operations cannot do."""


class Operation(NamedTuple):
    """One operation; operands are numbers of operations before it."""

    name: str
    """``input``, ``constant``, ``fneg``, one of ``fadd fsub fmul fdiv larger smaller`` or of :data:`FUNCTIONS`."""
    operands: tuple[Any, ...]


class Guard(NamedTuple):
    """A comparison ``olt``, ``ole``, ``ogt``, ``oge`` or ``oeq`` of two operations, and how it went for the sample."""

    comparison: str
    left: int
    right: int
    outcome: bool


class Tape:
    """A straight line of operations, of which there may be so many.

    Stages are those of a program in which lines of several kinds of cells take turns: an operation is of the last one
    of its operands.
    """

    of_all = False
    """Whether its numbers are those of all cells of every kind."""
    lanes = 1
    """So many cells are worked off side by side."""

    def __init__(self, most: int = 10**6) -> None:
        self.most, self.full = most, False
        self.operations: list[Operation] = []
        self.samples: list[Any] = []
        self.stages: list[int] = []
        self.guards: dict[Guard, None] = {}
        self._known: dict[Operation, int] = {}

    def add(self, name: str, *operands: Any, sample: Any, stage: int | None = None) -> int:
        """The number of an operation, which is recorded unless it has been.

        Of a full tape that of any other: NumPy's products of object arrays go on after an error, and free what is used.
        """
        operation = Operation(name, operands)
        if operation not in self._known:
            if len(self.operations) == self.most:
                if not self.full:
                    self.full = True
                    _HERE.full.append(self)
                return 0
            self._known[operation] = len(self.operations)
            self.operations.append(operation)
            self.samples.append(sample)
            self.stages.append(max(self.stages[place] for place in operands) if stage is None else stage)
        return self._known[operation]

    def check(self) -> None:
        """Raise :class:`CannotRecordError` if there were more operations than there may be."""
        if self.full:
            raise CannotRecordError(f"it takes more than {self.most} operations")

    def number_of(self, value: Any) -> int:
        """The operation that has a value."""
        if isinstance(value, Number):
            return value.place if value.tape is self else self.taken(value)
        return self.add("constant", float(value), sample=float(value), stage=0)

    def taken(self, value: Number) -> int:
        """The operation that has a value of another tape."""
        raise CannotRecordError("numbers of different cells meet")

    def over_all(self, value: Number, how: str) -> Any:
        """The largest value of all cells, ``larger``, or their sum, ``fadd``, where these are what NumPy goes over."""
        return value

    def needed(self, results: Sequence[int], guards: Iterable[Guard], known: Container[int] = ()) -> list[int]:
        """The operations that results and guards need, in order; not what those need that are known."""
        self.check()
        needed: set[int] = set()
        left = [*results, *(place for guard in guards for place in guard[1:3])]
        while left:
            place = left.pop()
            if place not in needed:
                needed.add(place)
                name, operands = self.operations[place]
                if name not in ("input", "constant") and place not in known:
                    left += operands
        return sorted(needed)


class _Thread(local):
    """What the thread that asks records at the moment: globals of modules are those of all threads."""

    records = False

    def __init__(self) -> None:
        self.full: list[Tape] = []


_HERE = _Thread()


class Number:
    """A number on a tape."""

    __slots__ = ("place", "tape")

    def __init__(self, tape: Tape, place: int) -> None:
        self.tape, self.place = tape, place

    @property
    def sample(self) -> Any:
        """Its value for the sample."""
        return self.tape.samples[self.place]

    def _binary(self, name: str, left: Any, right: Any) -> Number:
        tape, sample = _joined(left, right), _ARITHMETIC[name](sample_of(left), sample_of(right))
        operands = tape.number_of(left), tape.number_of(right)
        if name in ("fadd", "fmul"):
            operands = min(operands), max(operands)
        return Number(tape, tape.add(name, *operands, sample=sample))

    def __add__(self, other: Any) -> Any:
        return self if _is(other, 0.0) else self._binary("fadd", self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Number) and (other.tape, other.place) == (self.tape, self.place):
            return 0.0
        return self if _is(other, 0.0) else self._binary("fsub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return -self if _is(other, 0.0) else self._binary("fsub", other, self)

    def __neg__(self) -> Number:
        name, operands = self.tape.operations[self.place]
        if name == "fneg":
            return Number(self.tape, operands[0])
        return Number(self.tape, self.tape.add("fneg", self.place, sample=-self.sample))

    def __mul__(self, other: Any) -> Any:
        if _is(other, 0.0):
            return 0.0
        if _is(other, 1.0):
            return self
        return -self if _is(other, -1.0) else self._binary("fmul", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self if _is(other, 1.0) else self._binary("fdiv", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return 0.0 if _is(other, 0.0) else self._binary("fdiv", other, self)

    def __pow__(self, exponent: Any) -> Any:
        power = int(exponent)
        if power != exponent or power < 0:
            raise CannotRecordError(f"a power of {exponent}")
        if power < 2:
            return self if power else 1.0
        half = self ** (power // 2)
        return half * half * self if power % 2 else half * half

    def _apply(self, name: str, *others: Any) -> Number:
        operands = self, *others
        tape, sample = _joined(*operands), FUNCTIONS[name](*map(sample_of, operands))
        return Number(tape, tape.add(name, *map(tape.number_of, operands), sample=sample))

    def conjugate(self) -> Number:
        return self

    def __invert__(self) -> Any:
        """Of one that is 0 or 1."""
        return 1.0 - self

    def _compare(self, comparison: str, other: Any, outcomes: Any) -> bool:
        tape, outcome = _joined(self, other), bool(np.all(outcomes))
        if np.any(outcomes) != outcome:
            raise CannotRecordError("cells go different ways")
        tape.guards[Guard(comparison, tape.number_of(self), tape.number_of(other), outcome)] = None
        return outcome

    def __bool__(self) -> bool:
        return not self._compare("oeq", 0.0, self.sample == 0.0)

    __hash__ = None  # type: ignore[assignment]

    def item(self) -> Number:
        """As of numbers of NumPy."""
        return self

    def __float__(self) -> float:
        raise CannotRecordError("a number on a tape has no value")


def _function(name: str) -> Callable[..., Number]:
    return lambda number, *others: number._apply(name, *others)


def _comparison(name: str, compare: Callable[[Any, Any], Any]) -> Callable[[Number, Any], bool]:
    return lambda number, other: number._compare(name, other, compare(number.sample, sample_of(other)))


# NumPy calls functions of objects by its own names, and compares them by operators
for _name, _method in {**dict(zip(FUNCTIONS, FUNCTIONS, strict=True)), **_NAMES}.items():
    setattr(Number, _method, _function(_name))
for _name, _compare in {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
}.items():
    setattr(Number, f"__{_name}__", _comparison(f"o{_name}", _compare))


def _of_numbers(method: Callable[[Number, Any], Any]) -> Callable[[Number, Any], Any]:
    """An operator that leaves arrays to NumPy."""
    return lambda number, other: NotImplemented if isinstance(other, np.ndarray) else method(number, other)


for _name in ("add", "sub", "mul", "truediv"):
    setattr(Number, f"__{_name}__", _of_numbers(getattr(Number, f"__{_name}__")))


def _joined(one: Any, other: Any = None) -> Tape:
    """The tape of what two numbers make: that of cells, if the other number is one of all cells."""
    if not isinstance(one, Number):
        one, other = other, one
    return other.tape if isinstance(other, Number) and one.tape.of_all else one.tape


def sample_of(value: Any) -> Any:
    """The value of a number, for the sample if it is on a tape."""
    return value.sample if isinstance(value, Number) else float(value)


def _is(value: Any, constant: float) -> bool:
    return not isinstance(value, Number) and value == constant


def extreme(name: str, a: Any, b: Any) -> Any:
    """The ``larger`` or ``smaller`` of two numbers, on a tape or not."""
    if isinstance(a, Number):
        return a._binary(name, a, b)
    return b._binary(name, b, a) if isinstance(b, Number) else _ARITHMETIC[name](a, b)


def over_all(values: Any, how: str) -> Any:
    """What NumPy makes of values of some cells, of all; see :meth:`Tape.over_all`."""
    if isinstance(values, np.ndarray) and values.dtype == object:
        result = np.empty(values.size, object)
        result[:] = [over_all(value, how) for value in values.ravel()]
        return result.reshape(values.shape)
    return values.tape.over_all(values, how) if isinstance(values, Number) else values


class _Extreme:
    """``maximum`` or ``minimum``, without asking which number is larger."""

    def __init__(self, plain: np.ufunc, name: str) -> None:
        self._plain, self._name, self._recorded = plain, name, np.frompyfunc(partial(extreme, name), 2, 1)

    def __call__(self, *arrays: Any, **options: Any) -> Any:
        return self._of(*arrays)(*arrays, **options)

    def reduce(self, array: Any, axis: int | None = 0, **options: Any) -> Any:
        """As NumPy's."""
        if axis is None:
            array, axis = np.ravel(array), 0
        result = self._of(array).reduce(array, axis, **options)
        return over_all(result, self._name) if np.asarray(array).dtype == object else result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)

    def _of(self, *arrays: Any) -> np.ufunc:
        return self._recorded if any(np.asarray(array).dtype == object for array in arrays) else self._plain


def _max(*values: Any, **options: Any) -> Any:
    """``max`` that does not ask which number is larger."""
    every = values if len(values) > 1 else tuple(values[0])
    if not any(isinstance(value, Number) for value in every):
        return max(every, **options)
    return reduce(partial(extreme, "larger"), every)


class RecordingNumPy(ModuleType):
    """NumPy whose new arrays can hold numbers on a tape; it stops when that is full, and is NumPy in other threads."""

    def __init__(self) -> None:
        super().__init__("numpy")

    def __getattribute__(self, name: str) -> Any:
        if not _HERE.records:
            return getattr(np, name)
        if _HERE.full:
            _HERE.full[0].check()
        return super().__getattribute__(name) if name in vars(RecordingNumPy) else getattr(np, name)

    def zeros(self, shape: Any, dtype: Any = float) -> Array:
        """As NumPy's, of objects in place of floats."""
        return np.full(shape, 0.0, object) if dtype is float else np.zeros(shape, dtype)

    empty = zeros

    def ones(self, shape: Any, dtype: Any = float) -> Array:
        """As NumPy's."""
        return np.full(shape, 1.0, object) if dtype is float else np.ones(shape, dtype)

    maximum, minimum = _Extreme(np.maximum, "larger"), _Extreme(np.minimum, "smaller")

    def count_nonzero(self, a: Any) -> int:
        """As NumPy's; numbers on a tape may be other than zero."""
        return np.size(a) if np.asarray(a).dtype == object else int(np.count_nonzero(a))

    def dot(self, a: Any, b: Any) -> Any:
        """As NumPy's, which the engine takes for sums over all nodes or equations."""
        return over_all(np.dot(a, b), "fadd")

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        """As NumPy's; conditions on a tape are 0 or 1."""
        if np.asarray(condition).dtype != object:
            return np.where(condition, a, b)
        return condition * a + ~condition * b

    def zeros_like(self, other: Any) -> Array:
        """As NumPy's."""
        return self.zeros(np.shape(other))

    empty_like = zeros_like


def _while_recording(recorded: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """What stands for a function in modules, which may keep it: in a thread that does not record that function."""

    @wraps(plain)
    def function(*arguments: Any, **options: Any) -> Any:
        return (recorded if _HERE.records else plain)(*arguments, **options)

    return function


_ONE_AT_A_TIME, _MAX, _NUMPY = RLock(), _while_recording(_max, max), RecordingNumPy()


@contextmanager
def recording(modules: Sequence[ModuleType], replaced: Sequence[tuple[Any, Any]] = ()) -> Iterator[None]:
    """Have modules that know NumPy as ``np`` make arrays that can hold numbers on a tape, in this thread alone.

    Functions that they know, by whatever name, are ``replaced``, pairs of these and of what stands for them.
    """
    with _ONE_AT_A_TIME, np.errstate(all="ignore"):
        replaced = [(old, _while_recording(new, old)) for old, new in replaced]
        outer, before = _HERE.records, list[tuple[dict[str, Any], str, Any]]()
        _HERE.full.clear()
        try:
            _HERE.records = True
            for space in (vars(module) for module in modules if vars(module).get("np") is np):
                found = [(name, new) for old, new in replaced for name, value in [*space.items()] if value is old]
                before += [(space, name, space[name]) for name in ("np", *(name for name, _ in found))]
                space.update(found, np=_NUMPY, max=_MAX)
            yield
        finally:
            _HERE.records = outer
            for space, name, value in before:
                space[name] = value
                space.pop("max", None)
