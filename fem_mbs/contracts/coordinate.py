"""Coordinates of joints: scalar measures of how nodes stand, on which forces, drives, couplings and sensors act."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts.motion import Motion


class Coordinate(NamedTuple):
    """A motion that a joint leaves free: its name, and whether it is an angle in rad or a length in m."""

    name: str
    angle: bool


class Measured(NamedTuple):
    """Values of coordinates and what their second derivatives follow from."""

    value: Array
    """``(n,)``, angles in (-pi, pi]."""
    gradient: Array
    """Against body increments of the nodes, then internal variables, ``(n, b)``; times velocities it is the rate."""
    context: Any


class CoordinateBatch:
    """One coordinate each of ``n`` joints, or of ``n`` lines between points: all of one kind, as arrays.

    To write one: ``nodes`` (n, p) and ``own`` (n, s), None for no internal variables, say what the coordinates depend
    on;

    1. ``measure(x, R, u)`` measures them for nodes at ``x`` (n, p, 3), ``R`` (n, p, 3, 3) and internal variables ``u``
       (n, s); a batch of one joint also takes many instants of it, along the first axis.
    2. ``second(context)`` returns the derivatives ``(n, b, b)`` of the gradients against increments, ``b = 6p + s``.
    """

    nodes: IntArray
    own: IntArray | None = None
    _last: tuple[Motion, Measured] | None = None
    counts_turns: bool = True
    """Whether angles are the same after whole turns; components of rotation vectors are not."""

    def measure(self, x: Array, R: Array, u: Array) -> Measured:
        """Values and gradients."""
        raise NotImplementedError(f"{type(self).__name__} must define measure(x, R, u)")

    def second(self, context: Any) -> Array:
        """Derivatives of the gradients."""
        raise NotImplementedError(f"{type(self).__name__} must define second(context)")

    def evaluate(self, motion: Motion) -> Measured:
        """Values and gradients in a motion; asked again by others for the same motion, they are not measured again."""
        if self._last is None or self._last[0] is not motion:
            self._last = motion, self._measured(motion)
        return self._last[1]

    def _measured(self, motion: Motion) -> Measured:
        return self.measure(motion.x.take(self.nodes, 0), motion.R.take(self.nodes, 0), self.of_own(motion.u))

    def velocities(self, motion: Motion) -> Array:
        """Body velocities of the nodes, then rates of internal variables, ``(n, b)``."""
        V = motion.V.take(self.nodes, 0).reshape(len(self.nodes), -1)
        return V if self.own is None else np.concatenate([V, motion.udot[self.own]], axis=-1)

    def of_own(self, values: Array) -> Array:
        """The values ``(n, s)`` of internal variables."""
        return np.empty((len(self.nodes), 0)) if self.own is None else values[self.own]


def continued(value: Array, last: Array) -> Array:
    """Angles in (-pi, pi] as the nearest ones to the ``last``, so that turns count."""
    result: Array = value + 2.0 * np.pi * np.round((last - value) / (2.0 * np.pi))
    return result
