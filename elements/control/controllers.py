"""Blocks with states: PID controllers, state spaces, transfer functions, and the filters that are used most.

The PID controller has a filtered derivative, limits, and an integral that does not wind up at them. State spaces are
given by their matrices or as systems of ``scipy.signal``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fem_mbs.arrays import ArrayLike
from fem_mbs.contracts import SMALLEST, Input, Inputs, InternalVariable, Positive, array, checked
from fem_mbs.elements.control.linear import (
    Limits,
    LinearBlock,
    Matrices,
    check_matrices,
    named_states,
    of_scipy,
    of_transfer_function,
)
from fem_mbs.errors import ModelError


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
