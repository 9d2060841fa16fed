"""Joints as closed relative motions of two frames: everything that joints share.

A joint attaches a point and three axes to each of its nodes a and b; points and axes coincide as built. It closes
components of the relative position, measured along axes of node a, and direction cosines between axes of a and b, which
stay regular however far a hinge turns. A drive turns the axes of a about the third one by its angle.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.arrays import Array
from fem_mbs.elements.laws import derivatives, evaluate
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3
from fem_mbs.model import Constraint, ConstraintBatch, Motion, Node, Numbering, node_rows, vector

Drive = Callable[[float], float]


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

    def __init__(self, a: Node, b: Node, point: ArrayLike | None, axes: Array) -> None:
        kind = type(self).__name__
        for label, node in (("a", a), ("b", b)):
            if not isinstance(node, Node):
                raise ModelError(f"{kind}: {label} must be a node made by model.add_node, received {node!r}")
        if a is b:
            raise ModelError(f"{kind}: connects {a} with itself; give two nodes")
        self.nodes = (a, b)
        place = b.position if point is None else vector(point, f"{kind} on {a}, {b}: point")
        self.offsets = tuple(node.rotation.T @ (place - node.position) for node in self.nodes)
        self.axes = tuple(node.rotation.T @ axes for node in self.nodes)
        self.offset = self.offsets[1]

    @property
    def equations(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the constraint equations."""
        names = "xyz"
        position = [f"relative position along axis {names[i]}" for i in self.positions]
        cosine = [f"axis {names[i]} of a perpendicular to axis {names[j]} of b" for i, j in self.cosines]
        return (*position, *cosine)

    def relative_angle(self, R_a: Array, R_b: Array) -> Array:
        """Angle in rad about the third axis, in (-pi, pi]; for joints that keep the third axes together."""
        if not {(0, 2), (1, 2)} <= set(self.cosines):
            return super().relative_angle(R_a, R_b)
        relative = np.swapaxes(R_a @ self.axes[0], -1, -2) @ (R_b @ self.axes[1])
        return np.arctan2(relative[..., 1, 0], relative[..., 0, 0])

    def batch_key(self) -> Hashable:
        """Joints with as many equations of each kind share a batch, driven ones apart."""
        return len(self.positions), len(self.cosines), self.drive is not None

    @classmethod
    def batch(cls, constraints: Sequence[RelativeJoint], number: Numbering) -> ConstraintBatch:
        """All joints with the same numbers of equations."""
        return RelativeBatch(constraints, number)


class Context(NamedTuple):
    """Relative motion and what follows from it."""

    t: float
    S: Array
    r: Array
    g_a: Array
    y: Array


class RelativeBatch(ConstraintBatch):
    """Joints with ``k`` position and ``l`` cosine equations.

    In the body frame of a: ``S = R_a^T R_b``, ``r`` the vector from node a to the joint's point on b, directions ``G``;
    ``Phi = G . (r - c_a)`` and ``Phi = g_a . y`` with ``y = S g_b``.
    """

    def __init__(self, joints: Sequence[RelativeJoint], number: Numbering) -> None:
        self.owners = joints
        self.nodes = node_rows(joints, number)  # type: ignore[arg-type]
        first = joints[0]
        self.k, self.size = len(first.positions), len(first.equations)
        self.length = [row < self.k for row in range(self.size)]
        self.drives = [joint.drive for joint in joints] if first.drive is not None else None
        self.c_a, self.c_b = (np.array([joint.offsets[end] for joint in joints]) for end in (0, 1))
        self.skew_c_b = so3.skew(self.c_b)
        axes_a, axes_b = (np.array([joint.axes[end] for joint in joints]).swapaxes(1, 2) for end in (0, 1))
        self.G = _pick(axes_a, [joint.positions for joint in joints])
        self.g_a = _pick(axes_a, [[i for i, _ in joint.cosines] for joint in joints])
        self.g_b = _pick(axes_b, [[j for _, j in joint.cosines] for joint in joints])
        self.axis = axes_a[:, 2]

    def at(self, t: float) -> tuple[float, Array]:
        """Directions ``g_a`` at the angles of the drives."""
        if self.drives is None:
            return t, self.g_a
        angles = np.array(
            [evaluate(drive, t, owner, None) for drive, owner in zip(self.drives, self.owners, strict=True) if drive]
        )
        turn = so3.exp(angles[:, None] * self.axis)
        return t, np.matvec(turn[:, None], self.g_a)

    def residual(self, motion: Motion, prescribed: tuple[float, Array]) -> tuple[Array, Context]:
        """``Phi`` (n, k + l)."""
        t, g_a = prescribed
        R, x = motion.R[self.nodes], motion.x[self.nodes]
        R_a, R_b = R[:, 0], R[:, 1]
        S = np.swapaxes(R_a, -1, -2) @ R_b
        r = np.vecmat(x[:, 1] - x[:, 0], R_a) + np.matvec(S, self.c_b)
        y = np.matvec(S[:, None], self.g_b)
        phi = np.concatenate([np.matvec(self.G, r - self.c_a), np.vecdot(g_a, y)], axis=-1)
        return phi, Context(t, S, r, g_a, y)

    def gradient(self, context: Context) -> Array:
        """``B`` (n, k + l, 12)."""
        k, S = self.k, context.S
        B = np.zeros((len(S), self.size, 12))
        B[:, :k] = self.G @ self._position_gradient(context)
        if k < self.size:
            normal = np.matvec(so3.skew(context.g_a), context.y)
            B[:, k:, 3:6] = normal
            B[:, k:, 9:] = -normal @ S
        return B

    def _position_gradient(self, context: Context) -> Array:
        """``delta r = [-I, r~, S, -S c_b~] (delta_a, delta_b)``, ``(n, 3, 12)``."""
        S = context.S
        result = np.empty((len(S), 3, 12))
        result[..., :3] = -so3.IDENTITY
        result[..., 3:6] = so3.skew(context.r)
        result[..., 6:9] = S
        result[..., 9:] = -S @ self.skew_c_b
        return result

    def stiffness(self, context: Context, multipliers: Array) -> Array:
        """``D(B^T lambda)`` (n, 12, 12).

        The force on the positions is ``g = G^T lambda`` in frame a and ``S^T g`` in frame b. The moments of the cosines
        are ``sum lambda g_a x y`` on a and minus that, turned by ``S^T``, on b; their derivatives are all made of
        ``P = sum lambda (y g_a^T - (y . g_a) I)``, because ``g_a~ y~ = y g_a^T - (y . g_a) I``.
        """
        k, S = self.k, context.S
        St = np.swapaxes(S, -1, -2)
        g = np.vecmat(multipliers[:, :k], self.G)
        skew_g = so3.skew(g)
        K = np.zeros((len(S), 12, 12))
        K[:, 3:6] = skew_g @ self._position_gradient(context)
        K[:, 6:9, 3:6] = -St @ skew_g
        K[:, 6:9, 9:] = so3.skew(np.vecmat(g, S))
        K[:, 9:] = self.skew_c_b @ K[:, 6:9]
        if k < self.size:
            scaled = multipliers[:, k:, None] * context.g_a
            P = np.swapaxes(context.y, -1, -2) @ scaled
            trace = P[:, 0, 0] + P[:, 1, 1] + P[:, 2, 2]
            P -= trace[:, None, None] * so3.IDENTITY
            PS = P @ S
            K[:, 3:6, 3:6] += P
            K[:, 3:6, 9:] -= PS
            K[:, 9:, 3:6] -= np.swapaxes(PS, -1, -2)
            K[:, 9:, 9:] += np.swapaxes(PS, -1, -2) @ S
        return K

    def rate(self, context: Context) -> Array:
        """``Phi_t`` (n, k + l): the drive turns the axes of a."""
        result = np.zeros((len(context.S), self.size))
        if self.drives is not None:
            speed, _ = self._drive_rates(context.t)
            result[:, self.k :] = speed[:, None] * np.vecdot(np.cross(self.axis[:, None], context.g_a), context.y)
        return result

    def curvature(self, context: Context, motion: Motion) -> Array:
        """``Z(V, V) + 2 Phi_tq V + Phi_tt`` (n, k + l).

        Second derivatives along a motion with constant body velocities; for the cosines, that of
        ``(turned g_a) . S g_b`` with the angular velocity of the axes of a relative to b.
        """
        _, S, r, g_a, y = context
        V = motion.V[self.nodes]
        U_a, W_a, U_b, W_b = V[:, 0, :3], V[:, 0, 3:], V[:, 1, :3], V[:, 1, 3:]
        # r' = S (U_b + W_b x c_b) - U_a - W_a x r, S' = S W_b~ - W_a~ S
        arm = np.matvec(S, U_b + np.cross(W_b, self.c_b))
        r1 = arm - U_a - np.cross(W_a, r)
        S1 = S @ so3.skew(W_b) - so3.skew(W_a) @ S
        r2 = np.matvec(S1, U_b + np.cross(W_b, self.c_b)) - np.cross(W_a, r1)
        S2 = S1 @ so3.skew(W_b) - so3.skew(W_a) @ S1
        y1, y2 = np.matvec(S1[:, None], self.g_b), np.matvec(S2[:, None], self.g_b)
        speed, acceleration = self._drive_rates(context.t)
        axis = self.axis[:, None]
        along = np.cross(axis, g_a)
        g1 = speed[:, None, None] * along
        g2 = acceleration[:, None, None] * along + speed[:, None, None] ** 2 * np.cross(axis, along)
        cosines = np.vecdot(g_a, y2) + 2 * np.vecdot(g1, y1) + np.vecdot(g2, y)
        return np.concatenate([np.matvec(self.G, r2), cosines], axis=-1)

    def _drive_rates(self, t: float) -> tuple[Array, Array]:
        if self.drives is None:
            return np.zeros(len(self.nodes)), np.zeros(len(self.nodes))
        rates = np.array([derivatives(drive, t) for drive in self.drives if drive])
        return rates[:, 0], rates[:, 1]


def _pick(axes: Array, choice: Sequence[Sequence[int]]) -> Array:
    """Rows ``(n, k, 3)`` of the axes ``(n, 3, 3)``; also right for no rows at all."""
    index = np.array(choice, dtype=np.intp).reshape(len(axes), -1)
    return np.take_along_axis(axes, index[:, :, None], axis=1)


def axes_about(axis: Array) -> Array:
    """Axes ``(3, 3)`` as columns, right-handed, the third along the unit vector ``axis``."""
    smallest = np.eye(3)[np.argmin(np.abs(axis))]
    e1 = np.cross(smallest, axis)
    e1 /= np.linalg.norm(e1)
    return np.stack([e1, np.cross(axis, e1), axis], axis=-1)
