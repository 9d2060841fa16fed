"""Constraints on how one frame stands to another that have places along curves as unknowns of their own.

An equation ``phi(h, s)`` of the relative placement ``h`` and places ``s`` has the gradient ``(b J, c)``, ``b`` against
the relative motion and ``c = phi_s``; with ``frames.py`` its derivative is ``((H, (b_s J)^T), (b_s J, phi_ss))``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.elements.joints.frames import Frames, adjoint_inverse, gradients, nodal, relative
from fem_mbs.model import ConstraintBatch, Motion


class First(NamedTuple):
    """Equations ``(n, m)`` with their first derivatives."""

    phi: Array
    b: Array
    """Against the relative motion, ``(n, m, 6)``."""
    c: Array
    """Against the places, ``(n, m, k)``."""
    more: Any
    """What the second derivatives need."""


class Second(NamedTuple):
    """Second derivatives of equations."""

    bend: Array
    """Of ``b`` against the relative motion, ``(n, m, 6, 6)``."""
    mixed: Array
    """Of ``b`` against the places, ``(n, m, k, 6)``."""
    curved: Array
    """Of ``c`` against the places, ``(n, m, k, k)``."""


class Context(NamedTuple):
    """What further derivatives need of an evaluation."""

    frames: Frames
    first: First


class PlacesBatch(ConstraintBatch):
    """Constraints between two nodes each with ``m`` equations and ``k`` places.

    A subclass sets ``nodes``, ``own``, ``owners``, ``cell``, ``length`` and defines ``first`` and ``second_order``.
    """

    own: IntArray

    def first(self, frames: Frames, s: Array, t: float) -> First:
        """Equations at places ``s`` (n, k)."""
        raise NotImplementedError(f"{type(self).__name__} must define first(frames, s, t)")

    def second_order(self, frames: Frames, more: Any) -> Second:
        """Second derivatives."""
        raise NotImplementedError(f"{type(self).__name__} must define second_order(frames, more)")

    def evaluate(self, motion: Motion, prescribed: None) -> tuple[Array, Array, Context]:
        """``Phi`` (m,) and ``B`` (m, 12 + k)."""
        frames = relative(motion.x.take(self.nodes, 0), motion.R.take(self.nodes, 0))
        first = self.first(frames, motion.u[self.own], motion.t)
        B = np.concatenate([gradients(first.b, adjoint_inverse(frames)[:, None]), first.c], axis=-1)
        return first.phi.ravel(), B.reshape(-1, B.shape[-1]), Context(frames, first)

    def second(self, context: Context) -> Array:
        """``H`` (m, 12 + k, 12 + k)."""
        frames, first = context
        bend, mixed, curved = self.second_order(frames, first.more)
        Ad, k = adjoint_inverse(frames)[:, None], curved.shape[-1]
        H = np.empty((*curved.shape[:2], 12 + k, 12 + k))
        H[..., :12, :12] = nodal(Ad, bend, first.b)
        H[..., 12:, :12] = gradients(mixed, Ad[:, None])
        H[..., :12, 12:] = H[..., 12:, :12].mT
        H[..., 12:, 12:] = curved
        return H.reshape(-1, 12 + k, 12 + k)
