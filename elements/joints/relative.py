"""Joints as closed relative motions of two frames: everything that joints share.

A joint attaches a point and three axes to each of its nodes a and b; points and axes coincide as built. It closes
components of the relative position, measured along axes of node a, and direction cosines between axes of a and b, which
stay regular however far a hinge turns. A drive turns the axes of a about the third one by its angle; a displacement
moves the point of a.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.arrays import Array
from fem_mbs.elements.joints.relative_batch import RelativeBatch
from fem_mbs.errors import ModelError
from fem_mbs.model import Constraint, ConstraintBatch, Node, Numbering, check_node, vector

Drive = Callable[[float], float]
Displacement = Callable[[float], ArrayLike]


class RelativeJoint(Constraint):
    """Base of the joints; a subclass says which relative motions it closes.

    Attributes
    ----------
    positions : tuple of int
        Axes of node a along which the points must not part.
    cosines : tuple of (int, int)
        Pairs (axis of a, axis of b) that must stay perpendicular.
    """

    positions: tuple[int, ...] = (0, 1, 2)
    cosines: tuple[tuple[int, int], ...] = ()
    drive: Drive | None = None

    def __init__(
        self,
        a: Node,
        b: Node,
        point: ArrayLike | None,
        axes: Array | None = None,
        displacement: Displacement | None = None,
    ) -> None:
        kind = type(self).__name__
        self.nodes = (check_node(a, f"{kind}: a"), check_node(b, f"{kind}: b"))
        if a is b:
            raise ModelError(f"{kind}: connects {a} with itself; give two nodes")
        axes = a.rotation if axes is None else axes
        place = b.position if point is None else vector(point, f"{kind} on {a}, {b}: point")
        self.offsets = tuple(node.rotation.T @ (place - node.position) for node in self.nodes)
        self.axes = tuple(node.rotation.T @ axes for node in self.nodes)
        self.offset = self.offsets[1]
        if displacement is not None and not callable(displacement):
            raise ModelError(f"{kind} on {a}, {b}: displacement must be a function of time, received {displacement!r}")
        self.displacement = displacement
        self.directions = a.rotation.T
        """World directions at t = 0, which the displacement is given in, in the frame of node a."""

    @property
    def equations(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the constraint equations, the closed motions along and about the joint's axes."""
        translations = [f"translation {'xyz'[i]}" for i in self.positions]
        rotations = [f"rotation {'xyz'[3 - i - j]}" for i, j in self.cosines]
        return (*translations, *rotations)

    def relative_angle(self, R_a: Array, R_b: Array) -> Array:
        """Angle in rad about the third axis, in (-pi, pi]; for joints that keep the third axes together."""
        if not {(0, 2), (1, 2)} <= set(self.cosines):
            return super().relative_angle(R_a, R_b)
        relative = np.swapaxes(R_a @ self.axes[0], -1, -2) @ (R_b @ self.axes[1])
        return np.arctan2(relative[..., 1, 0], relative[..., 0, 0])

    def axis(self, R_a: Array) -> Array:
        """Third axis ``(..., 3)`` of node a in the world frame."""
        return np.matvec(R_a, self.axes[0][:, 2])  # type: ignore[no-any-return]

    @classmethod
    def batch(cls, constraints: Sequence[RelativeJoint], number: Numbering) -> ConstraintBatch:
        """All joints of a model, whatever motions they close."""
        return RelativeBatch(constraints, number)


def axes_about(axis: Array) -> Array:
    """Axes ``(3, 3)`` as columns, right-handed, the third along the unit vector ``axis``."""
    smallest = np.eye(3)[np.argmin(np.abs(axis))]
    e1 = np.cross(smallest, axis)
    e1 /= np.linalg.norm(e1)
    return np.stack([e1, np.cross(axis, e1), axis], axis=-1)
