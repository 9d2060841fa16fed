"""Signals: what sensors and blocks put out, combined with numbers and functions of time; and the contract of a sensor.

A signal is ``sum f_i u_i + sum g_j r_j(t) + c``: internal variables ``u_i`` of elements, laws ``r_j`` and a constant.
Sums and multiples of signals are signals, so that they need no internal variables (docs/theory.md, "Control"). A sensor
has one algebraic variable ``y`` for each output, with the equation ``y - s = 0``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import Annotated, Any, ClassVar

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts.arguments import divisor, function, name_of, number, real, shown
from fem_mbs.contracts.checked import checked
from fem_mbs.contracts.component import InternalVariable, Numbering, node_rows, own_rows
from fem_mbs.contracts.constraint import Constraint
from fem_mbs.contracts.element import Element, ElementBatch, ModelContext
from fem_mbs.contracts.functions import evaluate, next_jump
from fem_mbs.contracts.motion import Motion
from fem_mbs.contracts.public import Arithmetic
from fem_mbs.errors import MissingMethodError, ModelError

Part = Element | Constraint
Law = Callable[[float], Any]
Term = tuple[Part, int]
"""A part of the model, and which of its internal variables."""
Laws = tuple[tuple[Law, float], ...]


def law_pairs(value: Any, label: object) -> Laws:
    """Functions of time, each with a factor."""
    if not isinstance(value, tuple) or not all(isinstance(own, tuple) and len(own) == 2 for own in value):
        raise ModelError(f"{label} must be pairs of a function of time and a factor, received {shown(value)}")
    return tuple((function(law, label), number(factor, label)) for law, factor in value)


class Combines(Arithmetic):
    """What can be added, subtracted and multiplied by numbers; numbers and functions of time join in."""

    _arithmetic = (
        "can be added, subtracted and multiplied by numbers; any other function of signals is a Block, as "
        "Block(inputs, g=lambda t, x, u: np.sin(u[0]) ** 2)"
    )

    def as_signal(self) -> Signal:
        """The signal that it stands for."""
        raise MissingMethodError(f"{type(self).__name__} must define as_signal()")

    def signal_values(self, t: Array, u: Array, number: Numbering) -> Array:
        """Values ``(nt,)`` over times and internal variables ``(nt, k)`` of a run."""
        return self.as_signal().signal_values(t, u, number)

    def __add__(self, other: Any) -> Signal:
        own, more = self.as_signal(), signal(other, f"{self} + ...")
        terms = dict(own.terms)
        for term, factor in more.terms.items():
            terms[term] = terms.get(term, 0.0) + factor
        return Signal(terms, own.laws + more.laws, own.constant + more.constant)

    def __mul__(self, other: Any) -> Signal:
        factor = real(other)
        if factor is None or factor.shape != () or not np.isfinite(factor):
            raise ModelError(
                f"{self} can be multiplied by a number, received {shown(other)}; products of signals are a "
                "Block(inputs, g=lambda t, x, u: u[0] * u[1])"
            )
        own, f = self.as_signal(), float(factor)
        terms = {term: f * value for term, value in own.terms.items()}
        return Signal(terms, tuple((law, f * value) for law, value in own.laws), f * own.constant)

    def __truediv__(self, other: Any) -> Signal:
        return self * (1.0 / divisor(other, self))

    def __neg__(self) -> Signal:
        return self * -1.0

    def __sub__(self, other: Any) -> Signal:
        return self + signal(other, f"{self} - ...") * -1.0

    def __rsub__(self, other: Any) -> Signal:
        return self * -1.0 + other

    __radd__ = __add__
    __rmul__ = __mul__


@checked
class Signal(Combines):
    """A linear combination of internal variables of elements, of laws of time, and a constant.

    Made by arithmetic from sensors and blocks: ``2.0 * a - b``, ``reference - angle`` with a function ``reference(t)``.
    """

    called: ClassVar[str] = "a signal: a sensor, a block, a sum of these, a number or a function of t"

    def __init__(
        self, terms: Mapping[Term, float], laws: Annotated[Laws, law_pairs] = (), constant: float = 0.0
    ) -> None:
        self.terms = {_term(term): number(factor, "Signal: terms") for term, factor in terms.items()}
        self.laws, self.constant = laws, constant

    def as_signal(self) -> Signal:
        return self

    @classmethod
    @checked
    def of(cls, part: Element | Constraint, variable: str) -> Signal:
        """An internal variable of any element or joint as a signal, by its name: a state, a force, a deflection."""
        names = [own.name for own in part.internal_variables]
        if variable not in names:
            has = f"it has {', '.join(map(repr, names))}" if names else "it has none"
            raise ModelError(f"Signal.of: {part} has no internal variable called {shown(variable)}; {has}")
        return Signal({(part, names.index(variable)): 1.0})

    def signal_values(self, t: Array, u: Array, number: Numbering) -> Array:
        result = np.full(len(t), self.constant)
        for (part, index), factor in self.terms.items():
            result += factor * u[:, number.own(part)[index]]
        for law, factor in self.laws:
            result += factor * np.array([float(evaluate(law, time, "Signal", None)) for time in t.tolist()])
        return result

    def __str__(self) -> str:
        names = [
            f"{factor:g} {part.internal_variables[k].name!r} of {part}" for (part, k), factor in self.terms.items()
        ]
        names += [f"{factor:g} {name_of(law)}(t)" for law, factor in self.laws]
        if self.constant or not names:
            names.append(f"{self.constant:g}")
        return f"Signal({' + '.join(names)})"

    __repr__ = __str__


def _term(term: Any) -> Term:
    """A part and the number of one of its internal variables."""
    part, index = term if isinstance(term, tuple) and len(term) == 2 else (None, 0)
    known = (
        isinstance(part, Element | Constraint) and isinstance(index, int) and 0 <= index < len(part.internal_variables)
    )
    if not known:
        raise ModelError(
            f"Signal: terms must be parts with numbers of their internal variables, received {shown(term)}"
        )
    return part, index  # type: ignore[return-value]


class SignalSource(Combines):
    """Mixed into elements some of whose internal variables are signals: those that ``outputs`` lists."""

    internal_variables: tuple[InternalVariable, ...]
    _outputs: tuple[int, ...] | None = None

    @property
    def outputs(self) -> tuple[int, ...]:
        """Which internal variables are its outputs; if it does not say so, the algebraic ones, or all without any."""
        if self._outputs is not None:
            return self._outputs
        every = range(len(self.internal_variables))
        return tuple(k for k in every if self.internal_variables[k].kind == "algebraic") or tuple(every)

    @outputs.setter
    def outputs(self, which: tuple[int, ...]) -> None:
        self._outputs = which

    def as_signal(self) -> Signal:
        if len(self.outputs) != 1:
            raise ModelError(
                f"{self} has {len(self.outputs)} outputs; take one of them, [0] to [{len(self.outputs) - 1}]"
            )
        return self._of(0)

    def __getitem__(self, which: int | str) -> Signal:
        """An output by its number, or any internal variable by its name."""
        if isinstance(which, str):
            return Signal.of(self, which)  # type: ignore[arg-type]
        if isinstance(which, bool) or not isinstance(which, int | np.integer) or not 0 <= which < len(self.outputs):
            raise ModelError(
                f"{self} has {len(self.outputs)} outputs, counted from 0, and internal variables by name; received "
                f"{shown(which)}"
            )
        return self._of(int(which))

    def __iter__(self) -> Iterator[Signal]:
        return (self._of(k) for k in range(len(self.outputs)))

    def __len__(self) -> int:
        return len(self.outputs)

    def __bool__(self) -> bool:
        return True

    def signal_values(self, t: Array, u: Array, number: Numbering) -> Array:
        """Values ``(nt,)``, or ``(nt, p)`` of ``p`` outputs, over times and internal variables ``(nt, k)`` of a run."""
        values = u.take(number.own(self).take(self.outputs), axis=1)
        return values[:, 0] if len(self.outputs) == 1 else values

    def _of(self, k: int) -> Signal:
        return Signal({(self, self.outputs[k]): 1.0})  # type: ignore[dict-item]


class ControlElement(SignalSource, Element):
    """Base of sensors and blocks.

    ``inputs`` are the signals that it reads. One whose input may be given after it was made keeps that as
    ``connected``, and takes it by ``connect(input)``. One that is ``to_be_read`` does nothing where nothing reads it.
    """

    _internal: ClassVar[str] = "connected to_be_read"
    to_be_read: ClassVar[bool] = False
    inputs: tuple[Signal, ...] = ()
    connected: Signal | None = None

    @checked
    def connect(self, input: Any) -> None:
        """Say what it reads, where it was made without."""
        raise ModelError(f"{self} is given its inputs when it is made; a Junction may be connected later")

    def doubts(self, around: ModelContext) -> Iterator[str]:
        """What nothing reads, and should be."""
        if self.to_be_read and around.read.isdisjoint(around.number.own(self)[list(self.outputs)].tolist()):
            yield "nothing reads it; an actuator that takes it as input acts, as JointActuator does"

    def batch_key(self) -> Hashable:
        """Those of one size share a batch."""
        return len(self.internal_variables), len(self.outputs), len(self.inputs), len(sources(self.inputs))

    def __str__(self) -> str:
        kind = type(self).__name__
        if self.name:
            return f"{kind} '{self.name}'"
        return f"{kind} on {', '.join(map(str, self.nodes[:2]))}" if self.nodes else f"{kind} without a name"

    __repr__ = __str__


def signal(value: Any, label: object) -> Signal:
    """A signal, or a :class:`ModelError` that begins with ``label``."""
    if isinstance(value, Combines):
        try:
            return value.as_signal()
        except ModelError as error:
            raise ModelError(f"{label}: {error}") from None
    if callable(value) and not isinstance(value, type):
        return Signal({}, ((value, 1.0),))
    number = real(value)
    if number is None or number.shape != () or not np.isfinite(number):
        raise ModelError(f"{label} must be {Signal.called}, received {shown(value)}")
    return Signal({}, (), float(number))


def signals(value: Any, label: object) -> tuple[Signal, ...]:
    """One signal or a list of them; all outputs of a source that has several."""
    if isinstance(value, SignalSource) and len(value) > 1:
        return tuple(value)
    if isinstance(value, list | tuple):
        if not value:
            raise ModelError(f"{label} must be one signal at least, received an empty list")
        return tuple(signal(own, f"{label}[{k}]") for k, own in enumerate(value))
    return (signal(value, label),)


Input = Annotated[Any, signal]
Inputs = Annotated[Any, signals]


class WiredBatch(ElementBatch):
    """Base of batches of elements with ``inputs``, ``m`` signals each, as arrays: ``W u[rows] + r(t)``.

    ``rows`` (n, k) are those of all internal variables that the signals of an element read, ``own`` its own ones, and
    these. Without nodes, if a subclass does not say more.
    """

    own: IntArray

    def __init__(self, elements: Sequence[Any], number: Numbering) -> None:
        self.owners, inputs = elements, [element.inputs for element in elements]
        self.nodes = np.zeros((len(elements), 0), np.intp)
        terms, rows = [sources(own) for own in inputs], list[list[int]]()
        for owner, read in zip(elements, terms, strict=True):
            if apart := [part for part, _ in read if part not in number]:
                raise ModelError(
                    f"{owner} reads {apart[0]}, which is not part of this model; add it with model.add, to the same "
                    "model"
                )
            rows.append([int(number.own(part)[index]) for part, index in read])
        self.rows = np.array(rows, np.intp).reshape(len(elements), len(terms[0]))
        each = zip(inputs, terms, strict=True)
        weights = [[[s.terms.get(term, 0.0) for term in read] for s in group] for group, read in each]
        self.W = np.array(weights).reshape(len(elements), len(inputs[0]), len(terms[0]))
        self._constant = np.array([[s.constant for s in group] for group in inputs])
        self._laws = [
            (n, m, law, factor) for n, own in enumerate(inputs) for m, s in enumerate(own) for law, factor in s.laws
        ]
        self._own = own_rows(elements, number)
        self.own = np.concatenate([self._own, self.rows], axis=1)

    def at(self, t: float) -> Any:
        """What functions of time put in, ``r(t)`` (n, m)."""
        result = self._constant.copy()
        for n, m, law, factor in self._laws:
            result[n, m] += factor * float(evaluate(law, t, self.owners[n], None))
        return result

    def inputs(self, u: Array, prescribed: Array) -> Array:
        """The inputs ``(n, m)`` with internal variables ``u`` and what :meth:`at` returned."""
        return np.matvec(self.W, u[self.rows]) + prescribed

    def tell(self, cell: int, t: float, u: Array) -> None:
        """Put what a cell puts out at once into internal variables ``u`` (k,), in which its inputs are."""

    def next_jump(self, t: float, u: Array) -> float:
        """When one of the laws jumps next."""
        return min((next_jump(law, t) for _, _, law, _ in self._laws), default=inf)


def sources(inputs: Iterable[Signal]) -> tuple[Term, ...]:
    """The internal variables that signals read, each once."""
    return tuple(dict.fromkeys(term for own in inputs for term in own.terms))


SENSOR_VALUE = InternalVariable("value", "algebraic")


class Sensor(ControlElement):
    """Base of sensors; ``solution.signal(sensor)`` has what it measured."""

    internal_variables: tuple[InternalVariable, ...] = (SENSOR_VALUE,)


class SensorBatch(ElementBatch):
    """Sensors as arrays, on ``b`` components each: those of nodes, and of internal variables of others.

    A subclass defines ``measure(motion, prescribed)``, which returns the values ``(n,)`` and a context, and the
    gradients ``(n, b)`` of the values against increments, velocities and accelerations.

    Parameters
    ----------
    nodes : (n, p), optional
        Rows of the nodes, if they are not those of the sensors.
    others : (n, s), optional
        Rows of the internal variables of others that the values depend on.
    """

    own: IntArray
    terms = 2

    def __init__(
        self,
        sensors: Sequence[Sensor],
        number: Numbering,
        nodes: IntArray | None = None,
        others: IntArray | None = None,
    ) -> None:
        self.owners = sensors
        self.nodes = node_rows(sensors, number) if nodes is None else nodes
        self._own = own = own_rows(sensors, number)
        self.own = own if others is None else np.concatenate([others, own], axis=-1)
        self.b = 6 * self.nodes.shape[1] + self.own.shape[1] - own.shape[1]
        self._size = self.b + own.shape[1]

    def measure(self, motion: Motion, prescribed: Any) -> tuple[Array, Any]:
        """Values and context."""
        raise MissingMethodError(f"{type(self).__name__} must define measure(motion, prescribed)")

    def by_place(self, context: Any) -> Array:
        """Gradients against increments."""
        raise MissingMethodError(f"{type(self).__name__} must define by_place(context)")

    def by_velocity(self, context: Any) -> Array | None:
        """Gradients against velocities; None for zero."""
        return None

    def by_acceleration(self, context: Any) -> Array | None:
        """Gradients against accelerations; None for zero."""
        return None

    def tell(self, motion: Motion, u: Array) -> None:
        """Put what is measured in a motion into internal variables ``u`` (k,)."""
        value = self.measure(motion, self.at(motion.t))[0]
        if np.shape(value) == (len(self._own),):  # what is wrong is told where contracts are checked
            u[self._own[:, 0]] = value

    def force(self, motion: Motion, prescribed: Any) -> tuple[Array, Any]:
        """``y`` and ``-s``."""
        value, context = self.measure(motion, prescribed)
        terms = np.zeros((len(value), 2, self._size))
        terms[:, 0, self.b] = motion.u[self._own[:, 0]]
        terms[:, 1, self.b] = -value
        return terms, context

    def stiffness(self, context: Any) -> Array:
        """``1`` and minus the gradient."""
        K = self._row(self.by_place(context))
        K[:, self.b, self.b] += 1.0
        return K

    def damping(self, context: Any) -> Array | None:
        """Of sensors of velocities and accelerations."""
        gradient = self.by_velocity(context)
        return None if gradient is None else self._row(gradient)

    def mass(self, context: Any) -> Array | None:
        """Of sensors of accelerations."""
        gradient = self.by_acceleration(context)
        return None if gradient is None else self._row(gradient)

    def _row(self, gradient: Array) -> Array:
        """Matrices with minus a gradient in the row of the sensor."""
        result = np.zeros((len(gradient), self._size, self._size))
        result[:, self.b, : self.b] = -gradient
        return result
