"""The PID controller, with a filtered derivative, limits, and an integral that does not wind up at them."""

from __future__ import annotations

import numpy as np

from fem_mbs.elements.control.linear import LinearBlock, Matrices
from fem_mbs.elements.control.matrices import Limits
from fem_mbs.elements.control.signal import Input
from fem_mbs.errors import ModelError
from fem_mbs.model import SMALLEST, Positive, Unknown, checked


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
    size : float, optional
        An output that counts as large: tolerances of variable steps are relative to it. By default the largest finite
        limit, else 1.

    Notes
    -----
    Its unknowns are "integral", the integral part of the output, "filter", the filtered error, and "output".
    """

    def __init__(
        self,
        error: Input,
        P: float = 0.0,  # noqa: N803
        I: float = 0.0,  # noqa: E741, N803
        D: float = 0.0,  # noqa: N803
        filter: Positive | None = None,
        rate: Input | None = None,
        limits: Limits | None = None,
        anti_windup: Positive | None = None,
        initial: float = 0.0,
        size: Positive | None = None,
    ) -> None:
        if D and filter is None and rate is None:
            raise ModelError(
                f"PID: D = {D:g} needs the rate of the error: give filter, the time constant in s of a derivative, or "
                "rate, a signal that a sensor of velocity has"
            )
        if rate is not None and filter is not None:
            raise ModelError("PID: rate and filter exclude each other: a rate that is sensed needs no filter")
        track = 0.0
        if limits is not None and I:
            track = _tracking(P, I, anti_windup)
        if size is None:
            finite = [] if limits is None else [abs(own) for own in limits if np.isfinite(own)]
            size = max(finite, default=0.0) or 1.0
        states = [Unknown("integral", "state", initial, size=size)]
        T = filter if D and filter is not None else None
        if T is None:
            inputs = (error,) if rate is None else (error, rate)
            gains = np.array([[P, D][: len(inputs)]])
            matrices = Matrices(
                np.zeros((1, 1)), np.eye(1, len(inputs)) * I, np.ones((1, 1)), gains, np.full((1, 1), track)
            )
        else:
            inputs = (error,)
            states.append(Unknown("filter", "state", size=size / max(abs(P) + abs(D) / T, SMALLEST)))
            matrices = Matrices(
                np.diag([0.0, -1.0 / T]),
                np.array([[I], [1.0 / T]]),
                np.array([[1.0, -D / T]]),
                np.array([[P + D / T]]),
                np.array([[track], [0.0]]),
            )
        self._set_up(inputs, matrices, states, size, limits)


def _tracking(P: float, I: float, anti_windup: float | None) -> float:  # noqa: E741, N803
    """Inverse of the time in which the integral follows the limits."""
    if anti_windup is not None:
        return 1.0 / anti_windup
    if P / I > SMALLEST:
        return I / P
    raise ModelError(
        f"PID: with limits, P = {P:g} and I = {I:g} leave no time P/I in which the integral could follow them; give "
        "anti_windup in s"
    )
