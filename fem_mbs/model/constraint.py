"""The contract of a constraint: whatever closes relative motions of nodes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.errors import ModelError
from fem_mbs.model.motion import Motion
from fem_mbs.model.node import Node, Numbering


class Constraint:
    """What a user adds to a model to close relative motions, ``Phi(q, t) = 0``.

    To write one: as :class:`~fem_mbs.model.element.Element`, and

    4. ``equations`` names the ``m`` rows of ``Phi`` as a reader of an error message would call them.
    5. ``offset`` is the joint's point in the frame of the last node, where reactions are given.
    6. ``relative_angle(R_a, R_b)`` returns the angle about the joint's axis, and ``axis(R_a)`` the axis in the world
       frame, if it has one.
    """

    name: str | None = None
    nodes: tuple[Node, ...] = ()
    equations: tuple[str, ...] = ()
    offset: Array = np.zeros(3)

    def batch_key(self) -> Hashable:
        """Constraints of one class with equal keys share a batch."""
        return None

    @classmethod
    def batch(cls, constraints: Sequence[Any], number: Numbering) -> ConstraintBatch:
        """One batch of all ``constraints``, which have equal keys."""
        raise NotImplementedError(f"{cls.__name__} must define batch(constraints, number)")

    def relative_angle(self, R_a: Array, R_b: Array) -> Array:
        """Angle in rad about the joint's axis from the rotations ``(..., 3, 3)`` of its nodes."""
        raise ModelError(f"{self} has no axis to measure an angle about")

    def axis(self, R_a: Array) -> Array:
        """Axis ``(..., 3)`` of the joint in the world frame from the rotations ``(..., 3, 3)`` of its first node."""
        raise ModelError(f"{self} has no axis")

    def __str__(self) -> str:
        kind = type(self).__name__
        return f"{kind} '{self.name}'" if self.name else f"{kind} on {', '.join(map(str, self.nodes))}"

    __repr__ = __str__


class ConstraintBatch:
    """All constraints of one kind as arrays: ``n`` constraints on ``p`` nodes each, ``m`` equations in all.

    To write one:

    1. ``nodes`` (n, p) holds the rows of the nodes, ``owners`` (n,) the constraints, ``cell`` (m,) the constraint of
       each equation, in ascending order.
    2. ``length`` (m,) is True for equations in units of length, False for those without unit.
    3. ``at(t)`` evaluates what depends on time alone, once a step.
    4. ``evaluate(motion, prescribed)`` returns ``Phi`` (m,), its gradient ``B`` (m, 6p) in body increments,
       ``delta Phi = B (delta U, delta theta)``, and a context for the functions below.
    5. ``stiffness(context, multipliers)`` returns ``D(B^T lambda)`` (n, 6p, 6p), multipliers (m,).
    6. ``rate(context)`` returns ``Phi_t`` (m,), so that ``B V + Phi_t = 0``.
    7. ``rate_gradient(context, motion)`` returns the derivative (m, 6p) of ``B V + Phi_t`` against body increments
       while every body velocity ``V`` is held.
    8. ``curvature(context, motion)`` returns ``Z(V, V) + 2 Phi_tq V + Phi_tt`` (m,): the part of the second time
       derivative of ``Phi`` that is left when every body velocity ``V`` is held constant.
    """

    nodes: IntArray
    owners: Sequence[Constraint]
    cell: IntArray
    length: BoolArray

    def at(self, t: float) -> Any:
        """Values that depend on time alone."""
        return None

    def evaluate(self, motion: Motion, prescribed: Any) -> tuple[Array, Array, Any]:
        """``Phi``, its gradient ``B`` and the context of further derivatives."""
        raise NotImplementedError(f"{type(self).__name__} must define evaluate(motion, prescribed)")

    def stiffness(self, context: Any, multipliers: Array) -> Array:
        """Geometric stiffness ``D(B^T lambda)``."""
        raise NotImplementedError(f"{type(self).__name__} must define stiffness(context, multipliers)")

    def rate(self, context: Any) -> Array:
        """Partial time derivative ``Phi_t``."""
        raise NotImplementedError(f"{type(self).__name__} must define rate(context)")

    def rate_gradient(self, context: Any, motion: Motion) -> Array:
        """Derivative of ``B V + Phi_t`` against body increments at constant body velocities."""
        raise NotImplementedError(f"{type(self).__name__} must define rate_gradient(context, motion)")

    def curvature(self, context: Any, motion: Motion) -> Array:
        """Second time derivative of ``Phi`` at constant body velocities."""
        raise NotImplementedError(f"{type(self).__name__} must define curvature(context, motion)")
