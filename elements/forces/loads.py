"""Forces and moments on nodes, and a gravity of its own for one part of a model.

In body components a force ``F`` and a moment ``M`` at a point ``p`` are ``(R^T F, R^T M + p x R^T F)``; they turn
against the body unless they follow it (docs/theory.md, "Loads").

A uniform acceleration ``a`` pulls with ``m_i R_i^T a`` at the mass centre of what each node carries. Masses ``m_i`` and
first moments ``s_i`` are read from the mass matrix of the part, which answers any acceleration, a uniform one too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, ArrayLike
from fem_mbs.contracts import Element, ElementBatch, Energy, LoadBatch, Motion, Node, NodeLike, Numbering, lever, poses
from fem_mbs.contracts.arguments import Vector3, choice, or_function, vector
from fem_mbs.contracts.checked import checked
from fem_mbs.contracts.functions import GivenValues
from fem_mbs.elements.flexible.flexible_body import FlexibleBody
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3

Value = ArrayLike | Callable[[float], ArrayLike]
"""What a load is: numbers, or a function of time."""
Frame = Annotated[str, choice(("world", "body"))]


Wrench = Annotated[Value, partial(or_function, vector)]


FORCE, MOMENT = slice(0, 3), slice(3, 6)
"""Components of a wrench."""


class NodeLoad(Element):
    """Base of forces at a point of a node, in three components of a wrench, and moments, in the others."""

    strengths = ("value",)
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

    def batch_key(self) -> Hashable:
        return self.frame

    @classmethod
    def batch(cls, elements: Sequence[NodeLoad], number: Numbering) -> ElementBatch:
        return (WorldLoads if elements[0].frame == "world" else BodyLoads)(elements, number)


@checked
class Force(NodeLoad):
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
class Moment(NodeLoad):
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


class BodyLoads(LoadBatch):
    """Loads that follow their nodes (the torques of Holzinger, Arnold, Gerstmayr 2024, eq. 9)."""

    def __init__(self, loads: Sequence[NodeLoad], number: Numbering) -> None:
        super().__init__(loads, number)
        offsets = np.array([load.offset for load in loads])
        self._lever = so3.skew(offsets) if offsets.any() else None
        self.given = GivenValues(len(loads), 6)
        """Wrenches at their points."""
        for row, load in enumerate(loads):
            self.given.put((row, load.part), load.value, load, 3)

    def force(self, motion: Motion, prescribed: Array) -> tuple[Array, Any]:
        return self._at_node(-prescribed), None

    def stiffness(self, context: Any) -> Array:
        """A body load does not change with the motion."""
        return np.zeros((len(self.nodes), 6, 6))

    def _at_node(self, wrench: Array) -> Array:
        if self._lever is None:
            return wrench
        force, moment = wrench[:, :3], wrench[:, 3:]
        return np.concatenate([force, moment + np.matvec(self._lever, force)], axis=-1)


class WorldLoads(BodyLoads):
    """Loads that keep their direction in the world (the forces of Holzinger, Arnold, Gerstmayr 2024, eq. 9)."""

    def force(self, motion: Motion, prescribed: Array) -> tuple[Array, Array]:
        """Minus the wrench at the node, turned to the body frame."""
        wrench = -np.vecmat(prescribed.reshape(-1, 2, 3), motion.R.take(self.nodes, 0))
        return self._at_node(wrench.reshape(-1, 6)), wrench

    def stiffness(self, context: Array) -> Array:
        """The body components turn against the body."""
        K = np.zeros((len(context), 6, 6))
        turned = K[:, :, 3:]
        turned[:] = so3.skew(context).reshape(-1, 6, 3)
        if self._lever is not None:
            turned[:, 3:] += self._lever @ turned[:, :3]
        return K


EXACT = 1e-9
"""Share of a mass that is rounding."""


class Masses(NamedTuple):
    """What the nodes of a part carry."""

    mass: Array
    """``(p,)``."""
    moment: Array
    """First moments ``(p, 3)`` in the node frames."""
    modes: Array
    """How first moments follow the own coordinates of the part, ``(p, 3, s)``."""


@checked
class Gravity(Element):
    """The gravity that one part feels, in place of that of the model.

    Parameters
    ----------
    part : RigidBody, PointMass, Beam, Truss, ModalBody
        Whatever has mass.
    acceleration : (3,) or function of t
        Its gravity in m/s^2, world frame; none by default.

    Raises
    ------
    ModelError
        If the part has no mass, or more than one gravity.
    """

    external = True

    def __init__(self, part: Element, acceleration: Wrench = (0.0, 0.0, 0.0)) -> None:
        if isinstance(part, FlexibleBody) and len(part.nodes) > 1:
            raise ModelError(
                f"Gravity on {part}: a body of several interfaces feels the gravity of the model; give that to "
                "mbs.Model, and one of their own to the other parts"
            )
        self.part, self.acceleration = part, acceleration
        self.nodes = tuple(dict.fromkeys(part.nodes))
        self.masses = masses_of(part, self.nodes)

    @property
    def rotation_dependent(self) -> tuple[Node, ...]:
        """Nodes with a mass that is not at their place."""
        return tuple(node for node, moment in zip(self.nodes, self.masses.moment, strict=True) if moment.any())

    def batch_key(self) -> Hashable:
        """By the number of own coordinates that feel it."""
        return int(self.masses.modes.shape[-1])


class GravityBatch(LoadBatch, of=Gravity):
    """Parts with a gravity of their own, a cell for each of their nodes."""

    def __init__(self, gravities: Sequence[Gravity], number: Numbering) -> None:
        for part, times in Counter(gravity.part for gravity in gravities).items():
            if times > 1:
                raise ModelError(f"{part}: has {times} gravities of its own; give one")
        counts = [len(gravity.nodes) for gravity in gravities]
        self.owners = [gravity for gravity, count in zip(gravities, counts, strict=True) for _ in range(count)]
        self.nodes = np.array([[number(node)] for gravity in gravities for node in gravity.nodes])
        parts = zip(*(gravity.masses for gravity in gravities), strict=True)
        self._mass, self._moment, self._modes = (np.concatenate(part) for part in parts)
        if self._modes.shape[-1]:
            self.own = np.array([number.own(own.part) for own in gravities for _ in own.nodes])
        self.given = GivenValues(len(self.nodes), 3)
        """Accelerations."""
        for gravity, count, end in zip(gravities, counts, np.cumsum(counts), strict=True):
            self.given.put(slice(end - count, end), gravity.acceleration, gravity, 3)

    def force(self, motion: Motion, prescribed: Array) -> tuple[Array, tuple[Array, Array]]:
        """Minus the weights, and those of the model back."""
        seen = np.vecmat(motion.gravity - prescribed, motion.R[self.nodes[:, 0]])
        moment = self._first_moment(motion)
        own = np.vecmat(seen, self._modes)
        force = [self._mass[:, None] * seen, so3.cross(moment, seen), own]
        return np.concatenate(force, axis=-1), (seen, moment)

    def stiffness(self, context: tuple[Array, Array]) -> Array:
        """The weight turns against the node, and own coordinates move the mass centre."""
        seen, moment = context
        turned, modes = so3.skew(seen), self._modes
        K = np.zeros((len(seen), 6 + modes.shape[-1], 6 + modes.shape[-1]))
        K[:, :3, 3:6] = self._mass[:, None, None] * turned
        K[:, 3:6, 3:6] = so3.skew(moment) @ turned
        K[:, 6:, 3:6] = modes.mT @ turned
        K[:, 3:6, 6:] = -turned @ modes
        return K

    def energy(self, motion: Motion) -> Energy:
        """Of these weights less those of the model, zero at the origin."""
        row = self.nodes[:, 0]
        places = self._mass[:, None] * motion.x[row] + np.matvec(motion.R[row], self._first_moment(motion))
        return Energy(gravity=np.vecdot(places, motion.gravity - self.at(motion.t)))

    def _first_moment(self, motion: Motion) -> Array:
        if self.own is None:
            return self._moment
        return self._moment + np.matvec(self._modes, motion.u[self.own])


def masses_of(part: Element, nodes: Sequence[Node]) -> Masses:
    """What nodes carry of a part, from its forces in a uniform acceleration; a :class:`ModelError` without mass."""
    number = Numbering(nodes, [part])
    batch = type(part).batch([part], number)
    x, R = poses(nodes)
    still, own = np.zeros((len(nodes), 6)), np.array([variable.initial for variable in part.internal_variables])
    motion = Motion(0.0, x, R, still, still, np.zeros(3), own, 0.0 * own, 0.0 * own)
    matrix = batch.mass(batch.force(motion, batch.at(0.0))[1])
    if matrix is None or not matrix.any():
        raise ModelError(f"Gravity on {part}: it has no mass; give a body, a beam or a truss")
    cells, p = batch.nodes.shape
    turned = R[batch.nodes]
    uniform = np.zeros((cells, matrix.shape[-1], 3))
    uniform[:, : 6 * p].reshape(cells, p, 6, 3)[:, :, :3] = turned.mT
    answer = matrix @ uniform
    totals = np.zeros((len(nodes), 2, 3, 3))
    np.add.at(totals, batch.nodes, answer[:, : 6 * p].reshape(cells, p, 2, 3, 3) @ turned[:, :, None])
    weights, moments = totals.swapaxes(0, 1)
    mass = np.trace(weights, axis1=1, axis2=2) / 3.0
    if np.abs(weights - mass[:, None, None] * np.eye(3)).max() > EXACT * mass.max():
        raise ModelError(f"Gravity on {part}: its mass depends on the direction, so that no gravity acts on it")
    own_rows = (answer[:, 6 * p :] @ turned[:, 0]).mT
    return Masses(mass, so3.axial(moments), own_rows if own_rows.size else np.zeros((len(nodes), 3, 0)))
