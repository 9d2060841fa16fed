"""Blocks with states by their matrices, or by a system of ``scipy.signal``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.elements.control.linear import LinearBlock, Matrices, named_states
from fem_mbs.elements.control.matrices import Limits, check_matrices, of_scipy
from fem_mbs.elements.control.signal import Inputs
from fem_mbs.model import Positive, array, checked


@checked
class StateSpace(LinearBlock):
    """``x' = A x + B u``, ``y = C x + D u``, with limits of the outputs if there are any.

    Parameters
    ----------
    inputs : signal or list of signals
        What goes in, ``m`` signals.
    A, B, C, D : (n, n), (n, m), (p, n), (p, m)
        The matrices; ``D`` is zero by default. In place of ``A`` alone, a system of ``scipy.signal`` that is continuous
        in time.
    initial : (n,), optional
        States at t = 0; zero by default.
    limits : (2,), optional
        Lower and upper limit of each output; -inf or inf for none.
    size : float
        A value of the states that counts as large: tolerances of variable steps are relative to it.

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
        initial: ArrayLike | None = None,
        limits: Limits | None = None,
        size: Positive = 1.0,
    ) -> None:
        label = type(self).__name__
        if B is None and C is None and D is None:
            (A, B, C, D), _ = of_scipy(A, label, sampled=False)  # noqa: N806
        a, b, c, d = check_matrices(A, B, C, D, len(inputs), label)
        n = len(a)
        x0 = np.zeros(n) if initial is None else array(initial, f"{label}: initial", (n,))
        states = named_states(x0, size)
        self._set_up(inputs, Matrices(a, b, c, d, np.zeros((n, len(c)))), states, size, limits)
