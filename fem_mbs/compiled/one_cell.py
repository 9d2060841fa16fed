"""One cell of a batch on a tape: what differs between cells and what moves are inputs, the rest is of its kind.

A line would keep what code of users reads beside its arguments as it was when it was recorded. Methods of a batch may
read globals, variables around them and attributes of classes, which a script may set at any time, also within a run.
Their code objects tell which. Code of the library, of NumPy, SciPy and Python itself is not looked into.
"""

from __future__ import annotations

import copy
import dis
from collections.abc import Iterator, Sequence
from functools import cached_property
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.compiled.program import EQUATIONS, NODES, VARIABLES, Program
from fem_mbs.compiled.tape import CannotRecordError
from fem_mbs.contracts import ConstraintBatch, ElementBatch, Motion, Numbering, RateSensitivities
from fem_mbs.errors import of_library
from fem_mbs.lie import so3

KNOWN = {"fem_mbs", "numpy", "scipy", "math", "builtins", "typing", "collections", "functools", "operator", "abc"}
"""Packages whose code reads nothing that scripts set; a script may be called like others of Python."""


def refuse_outside(batch: Any) -> None:
    """Raise :class:`CannotRecordError` if a batch reads what a script may set at any time."""
    kinds = type(batch).__mro__
    known = {name for kind in kinds if _is_known(kind) for name in vars(kind)} | vars(batch).keys()
    own = [(kind, *item) for kind in kinds if not _is_known(kind) for item in vars(kind).items()]
    functions = [function for *_, value in own if (function := _function(value)) is not None]
    for function in functions:
        _look_into(function)
    read = {name for function in functions for code in _codes(function.__code__) for name in code.co_names}
    for kind, name, value in own:
        if name in read - known and _function(value) is None:
            raise CannotRecordError(f"reads {kind.__name__}.{name}, which may change")


def _look_into(function: FunctionType) -> None:
    """Refuse globals and variables around a function of a user that its code loads, and what it imports."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    reads = {name: cell.cell_contents for name, cell in cells if name != "__class__"}
    for code in _codes(function.__code__):
        if any(own.opname == "IMPORT_NAME" for own in dis.get_instructions(code)):
            raise CannotRecordError("imports what may change")
        reads |= {name: function.__globals__[name] for name in code.co_names if name in function.__globals__}
    for name, value in reads.items():
        if not (isinstance(value, BuiltinFunctionType | np.ufunc) or _is_known(value)):
            raise CannotRecordError(f"reads {name}, which may change")


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code and those of functions within it."""
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


def _function(value: Any) -> FunctionType | None:
    """The function of a method, a property or the like."""
    if isinstance(value, staticmethod | classmethod):
        value = value.__func__
    elif isinstance(value, property):
        value = value.fget
    elif isinstance(value, cached_property):
        value = value.func
    return value if isinstance(value, FunctionType) else None


def _is_known(value: Any) -> bool:
    """Whether a module, function or class is one of these packages."""
    if isinstance(value, ModuleType):
        name = value.__name__
    else:
        name = value.__module__ if isinstance(value, FunctionType | type) else ""
    return name.partition(".")[0] in KNOWN


LAST = "_last"
"""What a part remembers of the last motion."""
PARTS = "fem_mbs.elements.", "fem_mbs.contracts."


class Untouchable:
    """In place of what a line cannot depend on: elements, which may change, and functions of users."""

    def __init__(self, path: str) -> None:
        self._path = path

    def _refuse(self, *how: Any) -> Any:
        raise CannotRecordError(f"asks for {self._path}, which may be anything")

    __call__ = __iter__ = __getitem__ = __len__ = __bool__ = __array__ = _refuse

    def __getattr__(self, name: str) -> Any:
        return self._refuse()


class BatchCells:
    """The cells of a batch as a kind of a program, of which one is recorded.

    Attributes
    ----------
    cell : ElementBatch or ConstraintBatch
        A copy of the batch that has one cell, with numbers on the tape for its parameters.
    kind : tuple
        All else that lines depend on: batches of equal kinds have the same.
    equations : (n, each)
        Rows of the equations of each cell, or of those that it reads.
    each, b : int
        Numbers of equations, and of components, of a cell.
    """

    def __init__(
        self, program: Program, batch: ElementBatch | ConstraintBatch, equations: IntArray | None = None
    ) -> None:
        refuse_outside(batch)
        self._lines, self.number, self.batch, self.n = program, len(program.tapes), batch, len(batch.nodes)
        self._own, none = program.cells(self.n, np.zeros(1, np.intp)), np.empty((self.n, 0), np.intp)
        if equations is None:
            reads = batch.reads if isinstance(batch, ElementBatch) else None
            equations = none if reads is None else reads
        self._index = {NODES: batch.nodes, EQUATIONS: equations, VARIABLES: none if batch.own is None else batch.own}
        self.tables = {of: program.array(index.astype(np.int64)) for of, index in self._index.items()}
        self.equations, self.each = equations, equations.shape[1]
        if isinstance(batch, ConstraintBatch):
            if batch.geometric_blocks is not None or not rows_in_order(batch.cell, self.n):
                raise CannotRecordError("its constraints have different equations")
            self.each = len(batch.cell) // self.n
        self.b = 6 * batch.nodes.shape[1] + self._index[VARIABLES].shape[1]
        self._kind: list[Any] = [batch.nodes.shape[1], self._index[VARIABLES].shape[1], self.each]
        self.cell: Any = self._copied(batch, "")
        self.kind = tuple(self._kind)
        program.kind.append(self.kind)

    def gathered(self, values: Array, of: int = NODES) -> Array:
        """What cells read ``(p, ...)`` of values ``(1, ...)`` of nodes, of equations, or of internal variables."""
        flat, index = np.asarray(values, object).reshape(-1), self._index[of]
        positions = np.searchsorted(self._lines.tapes[of].sampled, index[0]).tolist()
        result = np.empty((index.shape[1], len(flat)), object)
        for j, position in enumerate(positions):
            rows = self.tables[of], index.shape[1], j
            result[j] = [self._own.read(value, rows, [position]) for value in flat]
        return result.reshape(index.shape[1], *np.shape(values)[1:])

    def row(self, values: Array) -> Array:
        """Components ``(1, b)`` of the nodes of a cell."""
        return self.gathered(values.reshape(1, 6)).reshape(1, self.b)

    def of_equations(self, values: Array) -> Array:
        """Values of the equations of a cell, or of those that it reads."""
        return self.gathered(values, EQUATIONS).reshape(-1)

    def motion(self, motion: Motion) -> Motion:
        """The motion of the nodes and internal variables of a cell, and that of its inertia forces."""
        inertial = None if motion.momentum is None else self.motion(motion.momentum)
        x, R, V, A = map(self.gathered, (motion.x, motion.R, motion.V, motion.A))
        u, udot, uddot = (self.gathered(own, VARIABLES).reshape(-1) for own in (motion.u, motion.udot, motion.uddot))
        multipliers = self.of_equations(motion.multipliers) if isinstance(self.batch, ElementBatch) else np.empty(0)
        return Motion(motion.t, x, R, V, A, motion.gravity, u, udot, uddot, multipliers, inertial)

    def follow(self, rates: RateSensitivities) -> RateSensitivities:
        """Of the nodes and internal variables of a cell."""
        return RateSensitivities(self.gathered(rates.nodes), self.gathered(rates.own, VARIABLES).reshape(-1))

    def after(self, B: Array, rates: RateSensitivities) -> Array:
        """Rows ``(m, b)`` of a cell times these derivatives."""
        p, s = self.batch.nodes.shape[1], self._index[VARIABLES].shape[1]
        return self.follow(rates).after(B[None], np.arange(p)[None], np.arange(s)[None] if s else None)[0]

    def _copied(self, thing: Any, path: str) -> Any:
        """A copy of a batch, or of a part of it, for a line; what tells others apart from it is added to the kind."""
        self._kind.append(type(thing))
        for attribute in vars(type(thing)).values():
            if isinstance(attribute, cached_property):
                attribute.__get__(thing)
        result = copy.copy(thing)
        for name, value in vars(thing).items():
            object.__setattr__(result, name, self._part(name, f"{path}{name}", value))
        return result

    def _part(self, name: str, path: str, value: Any) -> Any:
        """What stands for an attribute."""
        if name.endswith("owners"):
            return [Untouchable("an element")]
        if name == LAST:
            return None
        if isinstance(value, Numbering):
            return value
        if (own := self._numbers(name, path, value)) is not None:
            return own
        if isinstance(value, so3.Products):
            return so3.products(1)
        if isinstance(value, tuple) and isinstance(fields := vars(type(value)).get("_fields"), tuple):
            pairs = zip(fields, value, strict=True)
            return type(value)(*(self._part(field, f"{path}.{field}", own) for field, own in pairs))
        if type(value).__module__.startswith(PARTS) and not isinstance(value, type) and "nodes" in vars(value):
            return self._copied(value, f"{path}.")
        try:
            kept = self._rows_of_one(name, path, value)
            self._kind.extend([path, known(kept)])
        except CannotRecordError:
            return Untouchable(path)
        return kept

    def _numbers(self, name: str, path: str, value: Any) -> Any:
        """Numbers on the tape for what has a row for each cell; rows of its own for a cell."""
        if name in ("nodes", "own", "reads") and value is not None:
            return np.arange(value.shape[1])[None]
        if (
            isinstance(value, np.ndarray)
            and value.ndim
            and len(value) == self.n
            and value.dtype == float
            and value.size
        ):
            self._kind.append(path)
            return self._lines.parameters(self.number, value, self._kind)[None]
        return None

    def _rows_of_one(self, name: str, path: str, value: Any) -> Any:
        """Which rows of a cell something concerns."""
        n = self.n
        if name == "cell":
            return np.zeros(len(value) // n, np.intp)
        if isinstance(value, slice) and isinstance(value.stop, int):
            rows, rest = divmod(value.stop - (value.start or 0), n)
            if rest:
                raise CannotRecordError(f"{path} cuts cells")
            return slice(0, rows)
        if isinstance(value, np.ndarray) and value.ndim and value.size and len(value) % n == 0:
            each = len(value) // n
            if np.array_equal(value, np.arange(len(value))):
                return np.arange(each)
            if np.array_equal(value, self.batch.nodes[:, 0]):
                return np.zeros(1, np.intp)
            if len(value) == n or name in ("length", "velocity"):
                first = value[:each]
                if not (value.reshape(n, *first.shape) == first).all():
                    raise CannotRecordError(f"{path} differs between cells")
                return first
        return value


def known(value: Any) -> Any:
    """What tells two values apart; :class:`CannotRecordError` of what may be anything."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, slice):
        return value.start, value.stop
    if isinstance(value, (list, tuple)):
        return tuple(known(part) for part in value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    plain = isinstance(value, type) or isinstance(value, FunctionType) and value.__closure__ is None
    if plain and of_library(value):  # which knows nothing but its arguments
        return value
    raise CannotRecordError("it may be anything")  # a function of the user's, for one


def rows_in_order(cell: Sequence[int] | IntArray, n: int) -> bool:
    """Whether equations are those of one constraint after the other, as many of each."""
    each, rest = divmod(len(cell), n)
    return not rest and np.array_equal(cell, np.repeat(np.arange(n), each))
