"""Junctions, at which loops of blocks are closed, and limits of a signal."""

from __future__ import annotations

import numpy as np

from fem_mbs.contracts import Input, checked
from fem_mbs.elements.control.linear import Limits, LinearBlock, Matrices
from fem_mbs.errors import ModelError

_NO_STATES = np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0))


@checked
class Junction(LinearBlock):
    """A signal with a name, which may be connected later than it is read: where a loop of blocks begins.

    Parameters
    ----------
    input : signal, optional
        What it passes on; else :meth:`connect` says so before the model is used.
    """

    def __init__(self, input: Input | None = None) -> None:
        matrices = Matrices(*_NO_STATES, np.ones((1, 1)), np.zeros((0, 1)))
        self._set_up(() if input is None else (input,), matrices, [])

    @checked
    def connect(self, input: Input) -> None:
        """Say what it passes on."""
        if self.inputs:
            raise ModelError(f"{self}: it is connected already, to {self.inputs[0]}")
        self._set_up((input,), self.matrices, [])
        self.connected = input


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
        matrices = Matrices(*_NO_STATES, np.ones((1, 1)), np.zeros((0, 1)))
        self._set_up((input,), matrices, [], limits=limits)
