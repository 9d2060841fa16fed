"""Forces and moments on nodes.

In body components a force ``F`` and a moment ``M`` at a point ``p`` are ``(R^T F, R^T M + p x R^T F)``; they turn
against the body unless they follow it (docs/theory.md, "Loads").
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from math import inf
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.arrays import Array
from fem_mbs.contracts import (
    Element,
    ElementBatch,
    Motion,
    Node,
    NodeLike,
    Numbering,
    Vector3,
    checked,
    choice,
    evaluate,
    lever,
    next_jump,
    or_function,
    vector,
)
from fem_mbs.lie import so3

Value = ArrayLike | Callable[[float], ArrayLike]
"""What a load is: numbers, or a function of time."""
Frame = Annotated[str, choice(("world", "body"))]


Wrench = Annotated[Value, partial(or_function, vector)]


FORCE, MOMENT = slice(0, 3), slice(3, 6)
"""Components of a wrench."""


class NodeLoad(Element):
    """Base of forces at a point of a node, in three components of a wrench, and moments, in the others."""

    external = True
    part: slice
    value: Any

    def __init__(self, node: NodeLike, value: Value, frame: str, point: ArrayLike | None) -> None:
        self.nodes = (node,)
        self.value, self.frame, self.offset = value, frame, lever(node, point)

    @property
    def rotation_dependent(self) -> tuple[Node, ...]:
        """The node, unless a force acts on its place alone."""
        place_alone = self.part == FORCE and self.frame == "world" and not self.offset.any()
        return () if place_alone else self.nodes


class Load(NodeLoad):
    """A force at a point of a node, or a moment; see :class:`Force` and :class:`Moment`."""

    def batch_key(self) -> Hashable:
        return self.frame

    @classmethod
    def batch(cls, elements: Sequence[Load], number: Numbering) -> ElementBatch:
        return (WorldLoads if elements[0].frame == "world" else BodyLoads)(elements, number)


@checked
class Force(Load):
    """A force on a node.

    Parameters
    ----------
    node : Node
        Where it acts.
    value : (3,) or function of t
        Force in N; a function takes the time in s and returns three numbers. If it jumps, let its attribute ``jumps``
        list the times: steps end there.
    frame : {"world", "body"}
        Frame of the components: those of the world stay in space, those of the node frame turn with the node.
    point : (3,), optional
        Point of application, world frame, as built, which then moves with the node; by default the node itself.
    """

    part = FORCE

    def __init__(self, node: NodeLike, value: Wrench, *, frame: Frame = "world", point: Vector3 | None = None) -> None:
        super().__init__(node, value, frame, point)


@checked
class Moment(Load):
    """A moment on a node.

    Parameters
    ----------
    node : Node
        Where it acts.
    value : (3,) or function of t
        Moment in N m; a function takes the time in s and returns three numbers.
    frame : {"world", "body"}
        Frame of the components: those of the world stay in space, those of the node frame turn with the node.
    """

    part = MOMENT

    def __init__(self, node: NodeLike, value: Wrench, *, frame: Frame = "world") -> None:
        super().__init__(node, value, frame, None)


class BodyLoads(ElementBatch):
    """Loads that follow their nodes (the torques of Holzinger, Arnold, Gerstmayr 2024, eq. 9)."""

    def __init__(self, loads: Sequence[NodeLoad], number: Numbering) -> None:
        super().__init__(loads, number)
        self._lever = so3.skew(np.array([load.offset for load in loads]))
        self._constant = np.zeros((len(loads), 6))
        self._functions = [(row, load) for row, load in enumerate(loads) if callable(load.value)]
        for row, load in enumerate(loads):
            if not callable(load.value):
                self._constant[row, load.part] = load.value

    def at(self, t: float) -> Array:
        """Wrenches ``(n, 6)`` at their points."""
        wrenches = self._constant.copy()
        for row, load in self._functions:
            wrenches[row, load.part] = evaluate(load.value, t, load, 3)
        return wrenches

    def next_jump(self, t: float, u: Array) -> float:
        """When one of the functions jumps next, of those that have an attribute ``jumps``, a list of times."""
        return min((next_jump(load.value, t) for _, load in self._functions), default=inf)

    def scaled(self, prescribed: Array, factor: float) -> Array:
        return prescribed - (1.0 - factor) * self._constant

    def force(self, motion: Motion, prescribed: Array) -> tuple[Array, Any]:
        """Minus the wrench at the node."""
        return self._at_node(-prescribed[:, :3], -prescribed[:, 3:]), None

    def stiffness(self, context: Any) -> Array:
        """A body load does not change with the motion."""
        return np.zeros((len(self.nodes), 6, 6))

    def _at_node(self, force: Array, moment: Array) -> Array:
        return np.concatenate([force, moment + np.matvec(self._lever, force)], axis=-1)


class WorldLoads(BodyLoads):
    """Loads that keep their direction in the world (the forces of Holzinger, Arnold, Gerstmayr 2024, eq. 9)."""

    def force(self, motion: Motion, prescribed: Array) -> tuple[Array, Array]:
        """Minus the wrench at the node, turned to the body frame."""
        wrench = -np.vecmat(prescribed.reshape(-1, 2, 3), motion.R.take(self.nodes, 0))
        return self._at_node(wrench[:, 0], wrench[:, 1]), wrench

    def stiffness(self, context: Array) -> Array:
        """The body components turn against the body."""
        K = np.zeros((len(context), 6, 6))
        turned = K[:, :, 3:]
        turned[:] = so3.skew(context).reshape(-1, 6, 3)
        turned[:, 3:] += self._lever @ turned[:, :3]
        return K
