"""The contract of an element: whatever puts forces on nodes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from fem_mbs.arrays import Array, IntArray
from fem_mbs.model.motion import Motion
from fem_mbs.model.node import Node, Numbering


class Energy(NamedTuple):
    """Energies of a batch in J."""

    kinetic: float = 0.0
    strain: float = 0.0
    gravity: float = 0.0


class Element:
    """What a user adds to a model to put forces on its nodes.

    To write one:

    1. ``__init__`` stores the nodes in ``self.nodes`` and checks every value it is given; an element that exists is
       valid. It raises :class:`~fem_mbs.errors.ModelError` naming its argument otherwise.
    2. ``batch(elements, number)`` stacks elements of the class into one :class:`ElementBatch`; ``number(node)`` is the
       row of a node in the arrays of :class:`~fem_mbs.model.motion.Motion`.
    3. ``batch_key()`` tells which elements may share a batch; by default all of one class.

    ``name`` is set by :meth:`Model.add`; ``str(element)`` is how messages call it.
    """

    name: str | None = None
    nodes: tuple[Node, ...] = ()

    def batch_key(self) -> Hashable:
        """Elements of one class with equal keys share a batch."""
        return None

    @classmethod
    def batch(cls, elements: Sequence[Any], number: Numbering) -> ElementBatch:
        """One batch of all ``elements``, which have equal keys."""
        raise NotImplementedError(f"{cls.__name__} must define batch(elements, number)")

    def __str__(self) -> str:
        kind = type(self).__name__
        return f"{kind} '{self.name}'" if self.name else f"{kind} on {', '.join(map(str, self.nodes[:2]))}"

    __repr__ = __str__


class ElementBatch:
    """All elements of one kind as arrays: ``n`` cells with ``p`` nodes each.

    To write one:

    1. ``nodes`` (n, p) holds the rows of each cell's nodes; ``owners`` (n,) the element each cell belongs to.
    2. ``at(t)`` evaluates what depends on time alone. It is called once a step, its result handed to ``force``.
    3. ``force(motion, prescribed)`` returns the contribution ``(n, 6p)`` to the residual
       ``M vdot + g + B^T lambda = 0``, so internal forces are positive and applied loads negative, in the body frame
       of each node (force, then moment), and a context that is handed to ``tangent``.
    4. ``tangent(context, dV, dA)`` returns the exact derivative ``K + C dV + M dA`` (n, 6p, 6p) of that contribution
       against the body increments ``(delta U, delta theta)`` of its nodes. ``dV`` and ``dA`` (nodes, 6, 6) are the
       derivatives of each node's body velocity and acceleration; a force of the configuration alone ignores them. Their
       lower left blocks are zero: angular velocities depend on the rotation increments alone.
    5. ``energy(motion)`` returns the energies stored in the batch.
    6. ``scaled(prescribed, factor)``, for loads alone, returns what ``at`` returned with constant loads, those that are
       not functions of time, multiplied by a factor: equilibria are followed from no load to the full one.
    7. ``stress_ahead(context, d)`` and ``with_stress(context, stress)``, for elements with a law of stress, let statics
       iterate on independent stresses: the first returns them after body increments ``d`` (n, 6p), extrapolated
       linearly, the second the context of a tangent with these stresses in place of its own.
    """

    nodes: IntArray
    owners: Sequence[Element]

    def at(self, t: float) -> Any:
        """Values that depend on time alone."""
        return None

    def scaled(self, prescribed: Any, factor: float) -> Any:
        """What ``at`` returned, with constant loads multiplied by ``factor``."""
        return prescribed

    def force(self, motion: Motion, prescribed: Any) -> tuple[Array, Any]:
        """Contribution to the residual in body components, ``(n, 6p)``, and the context of the tangent."""
        raise NotImplementedError(f"{type(self).__name__} must define force(motion, prescribed)")

    def tangent(self, context: Any, dV: Array, dA: Array) -> Array:
        """Derivative ``K + C dV + M dA`` of the force that made ``context``."""
        raise NotImplementedError(f"{type(self).__name__} must define tangent(context, dV, dA)")

    def stress_ahead(self, context: Any, d: Array) -> Any:
        """Stresses after body increments, extrapolated linearly."""
        return None

    def with_stress(self, context: Any, stress: Any) -> Any:
        """The context of a tangent with other stresses."""
        return context

    def energy(self, motion: Motion) -> Energy:
        """Energies stored in the batch."""
        return Energy()
