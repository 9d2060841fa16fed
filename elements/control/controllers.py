"""Blocks that are linear within limits: PID controllers, state spaces, transfer functions, filters, junctions.

``x' = A x + B u + F (y - w)``, ``w = C x + D u``, ``y = w`` cut off at limits: ``F`` tells the states by how much the
output was cut off, so that an integral does not wind up (docs/theory.md, "Control"). Matrices are as given, of a system
of ``scipy.signal``, or of a transfer function.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, ArrayLike
from fem_mbs.contracts import ControlElement, Input, Inputs, ModelContext, Motion, Signal, SmallChange, WiredBatch
from fem_mbs.contracts.arguments import SMALLEST, Positive, array, is_of, number, real, shown
from fem_mbs.contracts.checked import checked
from fem_mbs.contracts.component import InternalVariable, Numbering
from fem_mbs.errors import ModelError

Quadruple = tuple[Array, Array, Array, Array]


def limit_pair(value: Any, label: object) -> Any:
    """Lower and upper limit; infinite ones are none."""
    pair = isinstance(value, list | tuple) or isinstance(value, np.ndarray) and value.ndim == 1
    if not pair or len(value) != 2:
        raise ModelError(f"{label} must be two numbers (lower, upper), -inf or inf for none, received {shown(value)}")
    infinite = (isinstance(own, float) and own in NO_LIMITS for own in value)
    lower, upper = (own if none else number(own, label) for own, none in zip(value, infinite, strict=True))
    if not lower < upper:
        raise ModelError(f"{label}: the lower limit must be below the upper one, received ({lower:g}, {upper:g})")
    return float(lower), float(upper)


Limits = Annotated[tuple[float, float], limit_pair]


def _empty(value: Any) -> bool:
    return isinstance(value, list | tuple | np.ndarray) and (own := real(value)) is not None and not own.size


def initial_values(value: Any, label: str) -> Array:
    """Initial states ``(n,)``; none of an empty list."""
    if _empty(value):
        return np.zeros(0)
    return array(value, f"{label}: initial", (), (None,)).reshape(-1)


def check_matrices(given: tuple[Any, Any, Any, Any], m: int, label: str) -> Quadruple:
    """``A`` (n, n), ``B`` (n, m), ``C`` (p, n), ``D`` (p, m); numbers and vectors where a dimension is one."""
    a, b, c, d = given
    if _empty(a):  # a gain, as scipy.signal writes it
        shape = (None, m), *([(m,)] if m > 1 else [(), (None,)])
        if any(own is not None and not _empty(own) for own in (b, c)):
            raise ModelError(
                f"{label}: B and C go with A, which is empty; leave them out, or give a square matrix as A"
            )
        D = array(d, f"{label}: without states, with an empty A, D", *shape).reshape(-1, m)
        return np.zeros((0, 0)), np.zeros((0, m)), np.zeros((len(D), 0)), D
    A = np.atleast_2d(array(a, f"{label}: A", (), (None, None), what="a square matrix"))
    n = len(A)
    if A.shape != (n, n):
        raise ModelError(f"{label}: A must be square, received the shape {A.shape}")
    if b is None or c is None:
        raise ModelError(f"{label}: B and C go with A; or give a system of scipy.signal in place of A")
    flat = [*([(n,)] if m == 1 else []), *([(m,)] if n == 1 else []), *([()] if n == m == 1 else [])]
    B = array(b, f"{label}: B", (n, m), *flat)
    C = array(c, f"{label}: C", (None, n), (n,), *([()] if n == 1 else [])).reshape(-1, n)
    p = len(C)
    shapes = [(p, m), *([(m,)] if p == 1 else []), *([(p,)] if m == 1 else []), *([()] if p == m == 1 else [])]
    D = np.zeros((p, m)) if d is None else array(d, f"{label}: D", *shapes)
    return A, B.reshape(n, m), C, D.reshape(p, m)


def of_scipy(system: Any, label: str, sampled: bool) -> tuple[Quadruple, float | None]:
    """Matrices of a system of ``scipy.signal``, and its period where it is one of samples."""
    kind = "discrete in time, scipy.signal.dlti" if sampled else "continuous in time, scipy.signal.lti"
    if not is_of(system, "scipy.signal", "lti", "dlti"):
        raise ModelError(f"{label}: A must be a square matrix, or a system of scipy.signal, received {shown(system)}")
    if (system.dt is None) == sampled:
        other = "SampledStateSpace is for those" if system.dt is not None else "StateSpace is for those"
        raise ModelError(
            f"{label}: the system must be {kind}, received one that is "
            f"{'continuous' if sampled else f'sampled with dt = {system.dt}'}; {other}"
        )
    try:
        space = system.to_ss()
    except Exception as error:  # whatever scipy refuses
        raise ModelError(f"{label}: scipy.signal has no state space of {shown(system)}: {error}") from error
    dt = None if system.dt is None or system.dt is True else float(system.dt)
    return (space.A, space.B, space.C, space.D), dt


def of_transfer_function(num: Any, den: Any, label: str) -> Quadruple:
    """Matrices of ``num(s)/den(s)``, coefficients of falling powers: the controllable form, with scaled states.

    States are scaled by the power of the mean size of the poles, so that all have sizes that can be compared.
    """
    b, a = (
        np.trim_zeros(np.atleast_1d(array(own, f"{label}: {name}", (), (None,), what="a list of numbers")), "f")
        for name, own in (("num", num), ("den", den))
    )
    if not len(a):
        raise ModelError(f"{label}: den must have a coefficient other than zero, received {shown(den)}")
    n = len(a) - 1
    if len(b) > n + 1:
        raise ModelError(
            f"{label}: the transfer function is improper: num has the degree {len(b) - 1}, den {n}; it would "
            "differentiate its input. Add poles that are fast, or sense a velocity in place of a position"
        )
    b = np.append(np.zeros(n + 1 - len(b)), b) / a[0]
    a = a / a[0]
    D = b[0]
    lowest = np.flatnonzero(a)[-1]
    w = float(np.abs(a[lowest]) ** (1.0 / lowest)) if lowest else 1.0
    power = w ** np.arange(1, n + 1)
    A = np.eye(n, k=-1)
    A[:1] = -a[1:] / power
    # x_k = w^k s^-k ...: x' = w (A x + e_1 u)
    C = (b[1:] - D * a[1:]) / power
    return w * A, w * np.eye(n, 1), C[None], np.array([[D]])


NO_LIMITS = (-np.inf, np.inf)


class Matrices(NamedTuple):
    """The matrices of a block with ``m`` inputs, ``n`` states and ``p`` outputs."""

    A: Array
    B: Array
    C: Array
    D: Array
    F: Array
    """By how much states follow what is cut off, ``(n, p)``."""


class LinearBlock(ControlElement):
    """Base of blocks that are linear within limits.

    Attributes
    ----------
    inputs : tuple of Signal
        What goes in.
    matrices : Matrices
        Its equations.
    limits : (2,), optional
        Lower and upper limit of the outputs.
    """

    inputs: tuple[Signal, ...]
    matrices: Matrices
    limits: tuple[float, float] | None

    def _set_up(
        self,
        inputs: tuple[Signal, ...],
        matrices: Matrices,
        states: Sequence[InternalVariable],
        limits: tuple[float, float] | None = None,
    ) -> None:
        """Everything, once it is checked."""
        self.inputs, self.matrices = inputs, matrices
        self.internal_variables = (*states, *named_outputs(len(matrices.D)))
        self.outputs = tuple(range(len(states), len(self.internal_variables)))
        self.limits = limits

    def doubts(self, around: ModelContext) -> Iterator[str]:
        yield from super().doubts(around)
        _, B, C, D, _ = self.matrices
        if not D.any() and not (B.any() and C.any()):
            yield "its gains are zero: its output does not follow what it reads"


class LinearBlockBatch(WiredBatch, of=LinearBlock):
    """Linear blocks as arrays; ``z`` are states, outputs and all that the inputs read, ``s`` in all."""

    def __init__(self, blocks: Sequence[LinearBlock], number: Numbering) -> None:
        for block in blocks:
            if not block.inputs:
                raise ModelError(f"{block} has no input; connect it to a signal by its method connect")
        super().__init__(blocks, number)
        (count, s), p = self.own.shape, len(blocks[0].outputs)
        n = self._own.shape[1] - p
        self._states, self._outputs = slice(0, n), slice(n, n + p)
        A, B, C, D, F = (np.array(part) for part in zip(*(block.matrices for block in blocks), strict=True))
        self._lower, self._upper = np.array([own.limits or NO_LIMITS for own in blocks]).T[..., None]
        self.kinked = bool(np.isfinite([self._lower, self._upper]).any())
        # rows: minus the rates of states, then w, of which outputs are not a part
        self._K = np.zeros((count, s, s))
        self._K[:, :n] = -np.concatenate([A - F @ C, F, (B - F @ D) @ self.W], axis=-1)
        self._K[:, self._outputs] = -np.concatenate([C, np.zeros((count, p, p)), D @ self.W], axis=-1)
        self._by_law = np.zeros((count, s, B.shape[-1]))
        self._by_law[:, :n], self._by_law[:, self._outputs] = F @ D - B, -D
        self._rate = np.zeros((count, s, s))
        self._rate[:, range(n), range(n)] = 1.0
        self.terms = s + 2

    def at(self, t: float) -> Array:
        return np.matvec(self._by_law, super().at(t))

    def tell(self, cell: int, t: float, u: Array) -> None:
        z, own, out = u[self.own[cell]], self._own[cell], self._outputs
        w = -self._K[cell, out] @ z - self.at(t)[cell, out]
        u[own[out]] = np.clip(w, self._lower[cell], self._upper[cell])

    def force(self, motion: Motion, prescribed: Array) -> tuple[Array, Array | None]:
        """The terms of the equations: of each internal variable, laws, and outputs or rates; outputs before limits."""
        count, s = self.own.shape
        z, out = motion.u[self.own], self._outputs
        terms = np.empty((count, s + 2, s))
        terms[:, :s] = self._K.mT * z[:, :, None]
        terms[:, s] = prescribed
        terms[:, s + 1] = 0.0
        terms[:, s + 1, self._states] = motion.udot[self.own[:, self._states]]
        w = None
        if self.kinked:
            w = -terms[:, : s + 1, out].sum(axis=1)
            cut = np.clip(w, self._lower, self._upper)
            terms[:, : s + 1, out] *= (w == cut)[:, None]
            terms[:, s, out] -= np.where(w == cut, 0.0, cut)
        terms[:, s + 1, out] = z[:, out]
        return terms, w

    def branches(self, context: Array) -> Array:
        return np.sign(context - np.clip(context, self._lower, self._upper))

    def crosses(self, context: Array, change: SmallChange) -> bool:
        way = np.abs(np.matvec(self._K[:, self._outputs], change.d))
        return bool((np.minimum(np.abs(context - self._lower), np.abs(self._upper - context)) <= way).any())

    def stiffness(self, context: Array | None) -> Array:
        """Constant within limits; outputs that are cut off follow nothing."""
        K = self._K.copy()
        if context is not None:
            K[:, self._outputs] *= (self.branches(context) == 0.0)[:, :, None]
        diagonal = np.einsum("nii->ni", K)
        diagonal[:, self._outputs] += 1.0
        return K

    def damping(self, context: Any) -> Array:
        return self._rate


def named_states(initial: Array, kind: str = "state") -> list[InternalVariable]:
    """Internal variables of states, which have numbers."""
    return [InternalVariable(f"state {k + 1}", kind, float(own)) for k, own in enumerate(initial)]


def named_outputs(p: int, kind: str = "algebraic", initial: Array | None = None) -> list[InternalVariable]:
    """Internal variables of outputs."""
    names = ["output"] if p == 1 else [f"output {k + 1}" for k in range(p)]
    start = np.zeros(p) if initial is None else initial
    return [InternalVariable(name, kind, own) for name, own in zip(names, start.tolist(), strict=True)]


@checked
class StateSpace(LinearBlock):
    """``x' = A x + B u``, ``y = C x + D u``.

    Parameters
    ----------
    inputs : signal or list of signals
        What goes in, ``m`` signals.
    A, B, C, D : (n, n), (n, m), (p, n), (p, m)
        The matrices; ``D`` is zero by default. In place of ``A`` alone, a system of ``scipy.signal`` that is continuous
        in time.
    initial : (n,), optional
        States at t = 0; zero by default.

    Examples
    --------
    >>> from fem_mbs.elements import StateSpace
    >>> block = StateSpace(lambda t: 1.0, A=-2.0, B=2.0, C=1.0)
    """

    def __init__(
        self,
        inputs: Inputs,
        A: Any,  # noqa: N803
        B: Any = None,  # noqa: N803
        C: Any = None,  # noqa: N803
        D: Any = None,  # noqa: N803
        *,
        initial: ArrayLike | None = None,
    ) -> None:
        label = type(self).__name__
        if B is None and C is None and D is None:
            (A, B, C, D), _ = of_scipy(A, label, sampled=False)  # noqa: N806
        a, b, c, d = check_matrices((A, B, C, D), len(inputs), label)
        n = len(a)
        x0 = np.zeros(n) if initial is None else array(initial, f"{label}: initial", (n,))
        states = named_states(x0)
        self._set_up(inputs, Matrices(a, b, c, d, np.zeros((n, len(c)))), states)


@checked
class TransferFunction(LinearBlock):
    """``y = num(s)/den(s) u``, from rest.

    Parameters
    ----------
    input : signal
        What goes in.
    num, den : list of numbers
        Coefficients of falling powers of ``s``, as in ``scipy.signal``: ``*scipy.signal.butter(2, 60.0, analog=True)``.
        The degree of ``num`` is at most that of ``den``.
    """

    def __init__(self, input: Input, num: ArrayLike, den: ArrayLike) -> None:
        A, B, C, D = of_transfer_function(num, den, type(self).__name__)
        n = len(A)
        matrices = Matrices(A, B, C, D, np.zeros((n, 1)))
        self._set_up((input,), matrices, named_states(np.zeros(n)))


@checked
class LowPass(TransferFunction):
    """``y = u/(T s + 1)``: what is faster than ``time_constant`` is taken out.

    Parameters
    ----------
    input : signal
        What goes in.
    time_constant : float
        ``T`` in s.
    """

    def __init__(self, input: Input, time_constant: Positive) -> None:
        super().__init__(input, [1.0], [time_constant, 1.0])


@checked
class LeadLag(TransferFunction):
    """``y = gain (T_1 s + 1)/(T_2 s + 1) u``: leads the phase for ``T_1 > T_2``, lags it otherwise.

    Parameters
    ----------
    input : signal
        What goes in.
    lead, lag : float
        ``T_1`` and ``T_2`` in s.
    gain : float
        The same at rest.
    """

    def __init__(self, input: Input, lead: Positive, lag: Positive, *, gain: float = 1.0) -> None:
        super().__init__(input, [gain * lead, gain], [lag, 1.0])


@checked
class PID(LinearBlock):
    """``w = P e + z + D e'`` with ``z' = I e + (y - w)/anti_windup``; the output ``y`` is ``w`` within limits.

    Parameters
    ----------
    error : signal
        ``e``, reference minus measured value.
    P, I, D : float
        Gains of the error, of its integral and of its rate.
    filter : float, optional
        Time constant ``T`` in s of the derivative, which is ``D s/(T s + 1)``; its filter is at zero when the run
        begins. It is needed for a derivative unless ``rate`` is given.
    rate : signal, optional
        The rate of the error where it is sensed: the derivative is then exact.
    limits : (2,), optional
        Lower and upper limit of the output; -inf or inf for none.
    anti_windup : float, optional
        Time in s in which the integral follows an output that is cut off (back-calculation); by default ``P/I``. A
        large one leaves the integral to wind up.
    initial : float
        Integral part of the output at t = 0.

    Notes
    -----
    Its internal variables are "integral", the integral part of the output unless that is always zero, "filter", the
    filtered error, and "output".
    """

    to_be_read = True

    def __init__(
        self,
        error: Input,
        P: float = 0.0,  # noqa: N803
        I: float = 0.0,  # noqa: E741, N803
        D: float = 0.0,  # noqa: N803
        *,
        filter: Positive | None = None,
        rate: Input | None = None,
        limits: Limits | None = None,
        anti_windup: Positive | None = None,
        initial: float = 0.0,
    ) -> None:
        if D and filter is None and rate is None:
            raise ModelError(
                f"PID: D = {D:g} needs the rate of the error: give filter, the time constant in s of a derivative, or "
                "rate, a signal that a sensor of velocity has"
            )
        if rate is not None and filter is not None:
            raise ModelError("PID: rate and filter exclude each other: a rate that is sensed needs no filter")
        track = 0.0  # inverse of the time in which the integral follows the limits
        if limits is not None and I:
            if anti_windup is None and not P / I > SMALLEST:
                raise ModelError(
                    f"PID: with limits, P = {P:g} and I = {I:g} leave no time P/I in which the integral could follow "
                    "them; give anti_windup in s"
                )
            track = I / P if anti_windup is None else 1.0 / anti_windup
        own = 1 if I or initial else 0  # what nothing changes would be anything at rest
        states = own * [InternalVariable("integral", "state", initial)]
        T, inputs = filter if D else None, (error,) if rate is None else (error, rate)
        if T is None:
            gains = np.array([[P, D][: len(inputs)]])
            matrices = Matrices(
                np.zeros((own, own)), np.eye(own, len(inputs)) * I, np.ones((1, own)), gains, np.full((own, 1), track)
            )
        else:
            states.append(InternalVariable("filter", "state"))
            matrices = Matrices(
                np.diag([0.0, -1.0 / T][-len(states) :]),
                np.array([[I], [1.0 / T]][-len(states) :]),
                np.array([[1.0, -D / T][-len(states) :]]),
                np.array([[P + D / T]]),
                np.array([[track], [0.0]][-len(states) :]),
            )
        self._set_up(inputs, matrices, states, limits)


PASS_ON = Matrices(np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0)), np.ones((1, 1)), np.zeros((0, 1)))


@checked
class Junction(LinearBlock):
    """A signal with a name, which may be connected later than it is read: where a loop of blocks begins.

    Parameters
    ----------
    input : signal, optional
        What it passes on; else :meth:`connect` says so before the model is used.
    """

    def __init__(self, input: Input | None = None) -> None:
        self._set_up(() if input is None else (input,), PASS_ON, [])

    @checked
    def connect(self, input: Input) -> None:
        """Say what it passes on."""
        if self.inputs:
            given = "" if "connected" in vars(self) else "; one that is connected later is made without: Junction()"
            raise ModelError(f"{self}: it is connected already, to {self.inputs[0]}{given}")
        whole = vars(Junction(input))
        vars(self).update({name: whole[name] for name in ("inputs", "internal_variables")}, connected=input)


@checked
class Saturation(LinearBlock):
    """A signal cut off at limits.

    Parameters
    ----------
    input : signal
        What goes in.
    limits : (2,)
        Lower and upper limit; -inf or inf for none.
    """

    def __init__(self, input: Input, limits: Limits) -> None:
        self._set_up((input,), PASS_ON, [], limits=limits)
