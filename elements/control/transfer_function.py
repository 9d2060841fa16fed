"""Blocks by their transfer functions, and the filters that are used most."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.elements.control.linear import LinearBlock, Matrices, named_states
from fem_mbs.elements.control.matrices import Limits, of_transfer_function
from fem_mbs.elements.control.signal import Input
from fem_mbs.model import Positive, checked


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
    limits : (2,), optional
        Lower and upper limit of the output; -inf or inf for none.
    size : float
        A value of input and output that counts as large: tolerances of variable steps are relative to it.
    """

    def __init__(
        self,
        input: Input,
        num: ArrayLike,
        den: ArrayLike,
        limits: Limits | None = None,
        size: Positive = 1.0,
    ) -> None:
        A, B, C, D = of_transfer_function(num, den, type(self).__name__)
        n = len(A)
        matrices = Matrices(A, B, C, D, np.zeros((n, 1)))
        self._set_up((input,), matrices, named_states(np.zeros(n), size), size, limits)


@checked
class LowPass(TransferFunction):
    """``y = u/(T s + 1)``: what is faster than ``time_constant`` is taken out.

    Parameters
    ----------
    input : signal
        What goes in.
    time_constant : float
        ``T`` in s.
    size : float
        A value that counts as large.
    """

    def __init__(self, input: Input, time_constant: Positive, size: Positive = 1.0) -> None:
        super().__init__(input, [1.0], [time_constant, 1.0], size=size)


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
    size : float
        A value that counts as large.
    """

    def __init__(self, input: Input, lead: Positive, lag: Positive, gain: float = 1.0, size: Positive = 1.0) -> None:
        super().__init__(input, [gain * lead, gain], [lag, 1.0], size=size)
