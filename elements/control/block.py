"""Blocks that a user writes: ``x' = f(t, x, u)``, ``y = g(t, x, u)``, or computed at instants.

Controllers that take samples of their inputs hold their outputs in between. At ``t_k = begin + k period`` a controller
reads its inputs ``u_k``, its outputs become ``y_k`` a delay later and keep their value, and its states go on to
``x_k+1``. States and outputs are of kind "history", which a jump changes (docs/theory.md, "Jumps").
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any

import numpy as np

from fem_mbs.arrays import Array, ArrayLike
from fem_mbs.contracts import ControlElement, Inputs, Motion, SmallChange, WiredBatch, answer, checked
from fem_mbs.contracts.arguments import LARGEST, NotNegative, PositiveInt, Seconds, array, function
from fem_mbs.contracts.component import InternalVariable, Numbering
from fem_mbs.elements.control.controllers import check_matrices, initial_values, named_outputs, named_states, of_scipy
from fem_mbs.elements.forces.user_laws import slope
from fem_mbs.errors import LawError, ModelError

STEP = 6e-6
"""Change of an argument, over how far it goes, and of that over its size, that is none."""

Function = Annotated[Callable[..., Any], partial(function, of=" of t, x, u")]


@checked
class Block(ControlElement):
    """A block whose equations are functions: ``x' = f(t, x, u)``, ``y = g(t, x, u)``.

    Parameters
    ----------
    inputs : signal or list of signals
        What goes in, ``u`` (m,).
    f : function of ``t, x, u``, optional
        Rates ``(n,)`` of the states; none for a block without states.
    g : function of ``t, x, u``, optional
        Outputs, ``(p,)`` or a number; the states themselves by default.
    initial : (n,)
        States ``x`` at t = 0.
    outputs : int, optional
        How many, ``p``; 1 by default with ``g``.
    jacobian : function of ``t, x, u``, optional
        Returns the derivatives ``(f_x, f_u, g_x, g_u)``, in place of differences.
    """

    def __init__(
        self,
        inputs: Inputs,
        f: Function | None = None,
        g: Function | None = None,
        *,
        initial: ArrayLike = (),
        outputs: PositiveInt | None = None,
        jacobian: Function | None = None,
    ) -> None:
        x0 = initial_values(initial, "Block")
        n = len(x0)
        if (f is None) != (n == 0):
            raise ModelError(
                f"Block: f gives the rates of the states and initial where they begin; received {n} initial values "
                f"{'without' if f is None else 'with'} f"
            )
        if g is None and f is None:
            raise ModelError("Block: g must be given where there are no states; it returns the outputs")
        if g is None and outputs not in (None, n):
            raise ModelError(f"Block: without g its {n} states are its outputs, received outputs = {outputs}")
        self.inputs, self.f, self.g, self.jacobian = inputs, f, g, jacobian
        p = n if g is None else outputs or 1
        self.internal_variables = (*named_states(x0), *named_outputs(p))
        self.outputs = tuple(range(n, n + p))


@dataclass
class BlockPoint:
    """Where functions are asked, with their values and derivatives."""

    blocks: Sequence[Block]
    t: float
    x: Array
    """States ``(n, nx)``."""
    u: Array
    """Inputs ``(n, m)``."""

    def values(self, dx: Array | float = 0.0, du: Array | float = 0.0) -> Array:
        """``(f, g)``, a change beside it."""
        each = zip(self.blocks, self.x + dx, self.u + du, strict=True)
        return np.array([_values(block, self.t, x, u) for block, x, u in each])

    @cached_property
    def here(self) -> Array:
        """``(f, g)`` there, asked once."""
        return self.values()

    @cached_property
    def slopes(self) -> Array:
        """Derivatives, by differences where they are not given."""
        return np.array([_slopes(own, self.t, x, u) for own, x, u in zip(self.blocks, self.x, self.u, strict=True)])


class BlockBatch(WiredBatch, of=Block):
    """Blocks are asked one after the other."""

    terms = 2

    def __init__(self, blocks: Sequence[Block], number: Numbering) -> None:
        super().__init__(blocks, number)
        self.asks = True
        self._blocks, self._p = blocks, len(blocks[0].outputs)
        self._n = self._own.shape[1] - self._p
        self._rate = np.zeros((len(blocks), self.own.shape[1], self.own.shape[1]))
        self._rate[:, range(self._n), range(self._n)] = 1.0

    def tell(self, cell: int, t: float, u: Array) -> None:
        block, own, n = self._blocks[cell], self._own[cell], self._n
        inputs = self.inputs(u, self.at(t))[cell]
        u[own[n:]] = _outputs(block, t, u[own[:n]], inputs)

    def force(self, motion: Motion, prescribed: Array) -> tuple[Array, BlockPoint]:
        """``x' - f`` and ``y - g``."""
        z, n, p = motion.u[self.own], self._n, self._p
        point = BlockPoint(self._blocks, motion.t, z[:, :n], self.inputs(motion.u, prescribed))
        terms = np.zeros((len(z), 2, z.shape[1]))
        terms[:, 0, :n] = motion.udot[self.own[:, :n]]
        terms[:, 0, n : n + p] = z[:, n : n + p]
        terms[:, 1, : n + p] = -point.here
        return terms, point

    def stiffness(self, context: BlockPoint) -> Array:
        slopes, n, p = context.slopes, self._n, self._p
        K = np.zeros_like(self._rate)
        K[:, : n + p, :n] = -slopes[..., :n]
        K[:, : n + p, n + p :] = -slopes[..., n:] @ self.W
        K[:, range(n, n + p), range(n, n + p)] += 1.0
        return K

    def damping(self, context: Any) -> Array:
        return self._rate

    def crosses(self, context: BlockPoint, change: SmallChange) -> bool:
        dx, du = change.d[:, : self._n], np.matvec(self.W, change.d[:, self._n + self._p :])
        there, tangent = context.values(dx, du), np.matvec(context.slopes, np.concatenate([dx, du], axis=-1))
        return bool((np.abs(there - context.here - tangent) > change.tolerance * np.abs(there)).any())


def _values(block: Block, t: float, x: Array, u: Array) -> Array:
    """``(f, g)``."""
    f = np.empty(0) if block.f is None else asked(block, block.f, "f", (t, x, u), len(x))
    return np.append(f, _outputs(block, t, x, u))


def _outputs(block: Block, t: float, x: Array, u: Array) -> Array:
    return x if block.g is None else asked(block, block.g, "g", (t, x, u), len(block.outputs))


def _slopes(block: Block, t: float, x: Array, u: Array) -> Array:
    """Derivatives ``(n + p, n + m)`` of ``(f, g)`` against ``(x, u)``."""
    n = len(x)
    if block.jacobian is not None:
        return _given(block, t, x, u)
    z = np.concatenate([x, u])

    def along(k: int, value: float) -> Array:
        return _values(block, t, *np.split(np.where(np.arange(len(z)) == k, value, z), [n]))

    return np.stack([slope(partial(along, k), None, own) for k, own in enumerate(z)], axis=-1)


def _given(block: Block, t: float, x: Array, u: Array) -> Array:
    """The derivatives that a block has itself."""
    n, m, p = len(x), len(u), len(block.outputs)
    shapes = (n, n), (n, m), (p, n), (p, m)
    try:
        parts = [np.asarray(own, float) for own in block.jacobian(t, x, u)]  # type: ignore[misc]
        a, b, c, d = (own.reshape(shape) for own, shape in zip(parts, shapes, strict=True))
    except Exception as error:
        raise LawError(
            f"{block}: its jacobian must return f_x, f_u, g_x, g_u of the shapes {', '.join(map(str, shapes))}; at t = "
            f"{t:.6g} s: {error!r}",
            of_motion=True,
        ) from error
    return np.block([[a, b], [c, d]])


def asked(block: Any, law: Callable[..., Any], name: str, arguments: tuple[float, Array, Array], size: int) -> Array:
    """``size`` finite numbers that a function of a block returns."""
    t, x, u = arguments
    shapes = [(size,), ()] if size == 1 else [(size,)]
    where = partial(" at t = {:.6g} s, x = {}, u = {}".format, t, x, u)
    what = f"its function {name}" + (f", with outputs = {size}," if name in ("g", "output") else "")
    return answer(block, what, law, (t, x.copy(), u.copy()), shapes, where=where, largest=LARGEST).reshape(size)


ALIKE = 1e-2
"""Samples that differ so much less in one direction than in another tell nothing of it."""
POWERS = np.array([1, 2])
"""Of time: what a controller does over the samples by itself, as its reference moves, is a parabola."""
NEAR = 1e-9
"""An instant that is nearer than this share of a period is now."""


@checked
class SampledController(ControlElement):
    """A controller that takes samples, with outputs that are held (zero-order hold).

    Parameters
    ----------
    inputs : signal or list of signals
        What it reads, ``u`` (m,).
    period : float
        Time between samples in s, the first one at t = ``begin``.
    output : function of ``t, x, u``
        Outputs ``(p,)``, or a number, of the states ``x`` (n,) and the sample ``u``.
    update : function of ``t, x, u``, optional
        States ``(n,)`` of the next sample; none for a controller without states.
    initial : (n,)
        States of the first sample.
    outputs : int
        How many, ``p``.
    initial_output : (p,), optional
        Outputs before the first sample has an effect; zero by default.
    delay : float
        Time in s that the computation takes, a period at most: outputs follow samples so much later.
    begin : float
        Time of the first sample in s.

    Notes
    -----
    Steps end at samples and where outputs change, and start anew there. A sample sees what was just before: of
    controllers that read each other, each sees the last outputs of the others. In statics the outputs stay at
    ``initial_output``.
    """

    to_be_read = True
    offset: float  # type: ignore[assignment]  # of time; it is on no node
    derivative: Array | None = None
    """Of the next states and the outputs against states and inputs, where it is known."""

    def __init__(
        self,
        inputs: Inputs,
        period: Seconds,
        output: Function,
        *,
        update: Function | None = None,
        initial: ArrayLike = (),
        outputs: PositiveInt = 1,
        initial_output: ArrayLike | None = None,
        delay: NotNegative = 0.0,
        begin: NotNegative = 0.0,
    ) -> None:
        label = type(self).__name__
        x0, y0 = initial_values(initial, label), np.zeros(outputs)
        if initial_output is not None:
            y0 = array(initial_output, f"{label}: initial_output", (outputs,), *([()] if outputs == 1 else [])).reshape(
                -1
            )
        if (update is None) != (len(x0) == 0):
            raise ModelError(
                f"{label}: update gives the next states and initial the first ones; received {len(x0)} initial values "
                f"{'without' if update is None else 'with'} update"
            )
        if delay > period:
            raise ModelError(f"{label}: delay must be one period of {period:g} s at most, received {delay:g} s")
        self.inputs, self.period, self.delay, self.begin = inputs, period, delay, begin
        self.output, self.update = output, update
        n, p = len(x0), outputs
        self.internal_variables = (
            *named_states(x0, "history"),
            *named_outputs(p, "history", y0),
            *(InternalVariable(f"next {own.name}", "history", own.initial) for own in named_outputs(p, "history", y0)),
            InternalVariable("samples", "history"),
            InternalVariable("changes", "history"),
        )
        self.outputs = tuple(range(n, n + p))


@checked
class SampledStateSpace(SampledController):
    """``x_k+1 = A x_k + B u_k``, ``y_k = C x_k + D u_k``, with outputs that are held.

    Parameters
    ----------
    inputs : signal or list of signals
        What it reads, ``m`` signals.
    period : float, optional
        Time between samples in s; that of the system of ``scipy.signal`` by default.
    A, B, C, D : (n, n), (n, m), (p, n), (p, m)
        The matrices; ``D`` is zero by default. In place of ``A`` alone, a system of ``scipy.signal`` that is discrete
        in time.
    initial, initial_output, delay, begin
        As in :class:`SampledController`.
    """

    def __init__(
        self,
        inputs: Inputs,
        period: Seconds | None,
        A: Any,  # noqa: N803
        B: Any = None,  # noqa: N803
        C: Any = None,  # noqa: N803
        D: Any = None,  # noqa: N803
        *,
        initial: ArrayLike | None = None,
        initial_output: ArrayLike | None = None,
        delay: NotNegative = 0.0,
        begin: NotNegative = 0.0,
    ) -> None:
        label, dt = type(self).__name__, None
        if B is None and C is None and D is None:
            (A, B, C, D), dt = of_scipy(A, label, sampled=True)  # noqa: N806
        period = dt if period is None else period
        if period is None or (dt is not None and abs(dt - period) > NEAR * period):
            raise ModelError(
                f"{label}: period must be given in s, the same as dt of the system of scipy.signal, received {period} "
                f"and {dt}"
            )
        a, b, c, d = check_matrices((A, B, C, D), len(inputs), label)
        super().__init__(
            inputs,
            period,
            partial(_linear, c, d),
            update=partial(_linear, a, b) if len(a) else None,
            initial=np.zeros(len(a)) if initial is None else array(initial, f"{label}: initial", (len(a),)),
            outputs=len(c),
            initial_output=initial_output,
            delay=delay,
            begin=begin,
        )
        self.derivative = np.block([[a, b], [c, d]])


def _linear(x_part: Array, u_part: Array, t: float, x: Array, u: Array) -> Array:
    return np.asarray(x_part @ x + u_part @ u)


class SampledBatch(WiredBatch, of=SampledController):
    """Sampled controllers, which are asked one after the other, at samples alone."""

    owners: Sequence[SampledController]

    def __init__(self, controllers: Sequence[SampledController], number: Numbering) -> None:
        super().__init__(controllers, number)
        self._controllers, self._p, own = controllers, len(controllers[0].outputs), self._own
        self._n = own.shape[1] - 2 * self._p - 2
        self._period, self._delay, self._begin = np.array([[c.period, c.delay, c.begin] for c in controllers]).T
        self._samples, self._changes = own[:, -2], own[:, -1]
        self._counts = slice(own.shape[1] - 2, own.shape[1])
        self._slopes = [Slopes(self._n + self._p, self._n + self.W.shape[1], own.derivative) for own in controllers]

    def force(self, motion: Motion, prescribed: Array) -> tuple[Array, tuple[float, Array, Array]]:
        """Nothing: what others read is held."""
        z = motion.u[self.own]
        return np.zeros_like(z), (motion.t, z, self.inputs(motion.u, prescribed))

    def stiffness(self, context: Any) -> Array:
        return np.zeros((*self.own.shape, self.own.shape[1]))

    def unready(self, end: float) -> Iterator[tuple[SampledController, str]]:
        """Those that take no second sample."""
        for own in self.owners:
            if own.begin + own.period >= end:
                yield own, f"its period of {own.period:g} s leaves no time for a second sample before t_end"

    def accept(self, context: tuple[float, Array, Array]) -> Array:
        return context[1]

    def next_jump(self, t: float, u: Array) -> float:
        """The next sample, or the next change of outputs."""
        samples, changes = u[self._samples], u[self._changes]
        next_ = self._begin + samples * self._period
        ready = self._begin + changes * self._period + self._delay
        return float(np.minimum(next_, np.where(changes < samples, ready, np.inf)).min())

    def jump(self, context: tuple[float, Array, Array]) -> Array:
        """Outputs that are ready change, then samples are taken."""
        t, z, inputs = context

        def sample(row: int, x: Array) -> Array:
            controller, u = self._controllers[row], inputs[row]
            y = asked(controller, controller.output, "output", (t, x, u), self._p)
            new = x
            if controller.update is not None:
                new = asked(controller, controller.update, "update", (t, x, u), self._n)
            self._slopes[row].learn(t, np.append(x, u), np.append(new, y))
            return np.append(new, y)

        return self._advanced(t, z, z[:, self._counts], sample)

    def jump_change(self, context: tuple[float, Array, Array], d: Array) -> Array:
        """By the derivatives that samples have told of."""
        t, z, _ = context
        inputs = np.matvec(self.W, d[:, self._own.shape[1] :])

        def told(row: int, x: Array) -> Array:
            return np.asarray(self._slopes[row].derivative @ np.append(x, inputs[row]))

        result = self._advanced(t, d, z[:, self._counts], told)
        result[:, self._counts] = 0.0
        return result

    def _advanced(self, t: float, values: Array, counted: Array, sample: Callable[[int, Array], Array]) -> Array:
        """Controllers at an instant: their values, or small changes of these, and what they have counted.

        ``sample`` makes new states and outputs of the states of one.
        """
        result, (n, p) = values.copy(), (self._n, self._p)
        result[:, self._counts] = counted
        for row, (controller, z) in enumerate(zip(self._controllers, result, strict=True)):
            held, ready, counts = z[n : n + p], z[n + p : n + 2 * p], z[self._counts]
            elapsed = t - controller.begin + NEAR * controller.period
            for samples in (True, False):
                if counts[1] < counts[0] and elapsed >= counts[1] * controller.period + controller.delay:
                    held[:], counts[1] = ready, counts[0]
                if not (samples and elapsed >= counts[0] * controller.period):
                    break
                z[:n], ready[:] = np.split(sample(row, z[:n].copy()), [n])
                # a run that begins later takes the sample before its start at its start
                counts[1] = np.floor(elapsed / controller.period)
                counts[0] = counts[1] + 1.0
        return result


class Slopes:
    """The derivative of a function: as it is known, or as its last values tell; of all that do, that of least change.

    A function that is asked anew may remember that it was: what controllers do is their own. It is fitted to as many
    samples as tell of all arguments twice, by least squares, of arguments over the way that each has gone. Nothing is
    learnt from fewer samples than arguments, nor along directions in which samples hardly differ. Where arguments go
    further than before, what was learnt on a shorter way counts by as much less. What a reference does over time is
    fitted beside them, as a parabola: else it would count as an answer to the motion.
    """

    def __init__(self, values: int, arguments: int, known: Array | None) -> None:
        self.derivative, self._known = np.zeros((values, arguments)) if known is None else known, known is not None
        self._rates = np.zeros((values, len(POWERS)))
        self._last: deque[tuple[float, Array, Array]] = deque(maxlen=2 * (arguments + len(POWERS)) + 2)
        self._least, self._largest = np.full(arguments, np.inf), np.full(arguments, -np.inf)

    def learn(self, t: float, at: Array, value: Array) -> None:
        """From one more sample."""
        if self._known:
            return
        before, self._least, self._largest = self._way(), np.minimum(self._least, at), np.maximum(self._largest, at)
        way = self._way()
        self.derivative *= np.divide(before, way, out=np.ones_like(way), where=np.isfinite(before))
        if self._last and not np.abs((at - self._last[-1][1]) / way).max() > STEP:
            return
        self._last.append((t, at, value))
        if len(self._last) > len(POWERS) + np.isfinite(way).sum():
            ages, moved, changed = (np.array(own) - own[-1] for own in zip(*self._last, strict=True))
            bent = (ages[:, None] / ages[0]) ** POWERS
            missed = changed - moved @ self.derivative.T - bent @ self._rates.T
            more = np.linalg.lstsq(np.hstack([moved / way, bent]), missed, ALIKE)[0].T
            self.derivative += more[:, : len(way)] / way
            self._rates += more[:, len(way) :]

    def _way(self) -> Array:
        """From the least to the largest of each argument; infinite where that is rounding."""
        size = np.maximum(np.abs(self._least), np.abs(self._largest))
        way = self._largest - self._least
        return np.where(way > STEP * np.maximum(size, STEP), way, np.inf)
