"""Constraints on how one frame stands to another: everything that follows from their relative motion; axes as built.

Node b stands to node a at ``h = H_a^-1 H_b = (S, r)``. Body increments ``delta`` of the two move ``h`` by
``xi = delta_b - Ad_(h^-1) delta_a = J delta`` in the frame of b. An equation ``phi(h, s)``, also of internal variables
``s`` of the joint such as places along curves, is described by its gradients ``b`` (6,) against ``xi`` and ``c =
phi_s`` and by their derivatives; what it means for the nodes is written here: ``B = (b J, c)`` and

    H = DB = ((J^T b_xi J + (Ad^T dual(b) J, 0), (b_s J)^T), (b_s J, phi_ss)),

as ``Ad_(h^-1)`` itself turns with ``xi`` (docs/theory.md, "Joints"). What is linear in ``(S, r)`` alone needs less:
``relative_batch.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array, ArrayLike
from fem_mbs.contracts import Component, ConstraintBatch, Motion, Node
from fem_mbs.errors import MissingMethodError, ModelError
from fem_mbs.lie import se3, so3

PERPENDICULAR = 1e-8
"""Cosine of the angle of directions that are perpendicular but for rounding."""
TIE = 1e-6
"""Cosines that differ by less are the same but for rounding."""


class Frames(NamedTuple):
    """Relative placement of pairs of frames: rotation ``S`` (n, 3, 3) and position ``r`` (n, 3) in frame a."""

    S: Array
    r: Array


def relative(x: Array, R: Array) -> Frames:
    """How node b stands to node a, of nodes at ``x`` (..., 2, 3), ``R`` (..., 2, 3, 3)."""
    R_a = R[..., 0, :, :]
    return Frames(R_a.mT @ R[..., 1, :, :], np.vecmat(x[..., 1, :] - x[..., 0, :], R_a))


def adjoint_inverse(frames: Frames) -> Array:
    """``Ad_(h^-1) = [[S^T, -S^T r~], [0, S^T]]``, ``(..., 6, 6)``."""
    St = frames.S.mT
    result = np.zeros((*St.shape[:-2], 6, 6))
    result[..., :3, :3] = result[..., 3:, 3:] = St
    result[..., :3, 3:] = -St @ so3.skew(frames.r)
    return result


def gradients(b: Array, Ad: Array) -> Array:
    """``B = b J`` (..., 12) of gradients ``b`` (..., 6) against the relative motion."""
    return np.concatenate([-np.vecmat(b, Ad), b], axis=-1)


def nodal(Ad: Array, bend: Array, b: Array) -> Array:
    """``H`` from relative quantities: rows ``(Ad^T (dual(b) - h), h)`` times ``J``."""
    rows = np.concatenate([Ad.mT @ (se3.dual(b) - bend), bend], axis=-2)
    return np.concatenate([-rows @ Ad, rows], axis=-1)


def along(seen: Array, point: Array) -> Array:
    """Gradients ``(..., 6)`` of how far a ``point`` of b has moved along directions of a that b sees as ``seen``."""
    return np.concatenate([seen, so3.cross(point, seen)], axis=-1)


def bend_along(seen: Array, point: Array) -> Array:
    """Derivatives ``(..., 6, 6)`` of :func:`along` against the relative motion."""
    result, turned = np.zeros((*seen.shape[:-1], 6, 6)), so3.skew(seen)
    result[..., :3, 3:], result[..., 3:, 3:] = turned, so3.skew(point) @ turned
    return result


class Second(NamedTuple):
    """Second derivatives of equations; of those without internal variables, the first alone."""

    bend: Array
    """Of ``b`` against the relative motion, ``(n, m, 6, 6)``."""
    mixed: Array | None = None
    """Of ``b`` against internal variables, ``(n, m, k, 6)``."""
    curved: Array | None = None
    """Of ``c`` against internal variables, ``(n, m, k, k)``."""


class First(NamedTuple):
    """Equations ``(n, m)`` with their first derivatives, and what says the second ones."""

    phi: Array
    b: Array
    """Against the relative motion, ``(n, m, 6)``."""
    c: Array | None
    """Against internal variables, ``(n, m, k)``; None without any."""
    second: Callable[[], Second]


class FramesBatch(ConstraintBatch):
    """Constraints between two nodes each with ``m`` equations, and with ``k`` internal variables or none.

    A subclass sets ``nodes``, ``owners``, ``cell``, ``length``, ``own`` if there are internal variables, and defines
    ``first``. It may set ``points_a`` (n, 3), points of nodes a from which the placements that ``first`` sees count,
    exact where node a is far away.
    """

    points_a: Array | None = None

    def first(self, frames: Frames, s: Array, t: float) -> First:
        """Equations at internal variables ``s`` (n, k)."""
        raise MissingMethodError(f"{type(self).__name__} must define first(frames, s, t)")

    def evaluate(self, motion: Motion, prescribed: None) -> tuple[Array, Array, tuple[Array, First]]:
        x, R = motion.x.take(self.nodes, 0), motion.R.take(self.nodes, 0)
        frames = seen = relative(x, R)
        if self.points_a is not None:
            seen = Frames(frames.S, np.vecmat(x[:, 1] - (x[:, 0] + np.matvec(R[:, 0], self.points_a)), R[:, 0]))
        first = self.first(seen, motion.u[:0] if self.own is None else motion.u[self.own], motion.t)
        Ad = adjoint_inverse(frames)[:, None]
        B = gradients(first.b, Ad)
        if first.c is not None:
            B = np.concatenate([B, first.c], axis=-1)
        return first.phi.ravel(), B.reshape(-1, B.shape[-1]), (Ad, first)

    def second(self, context: tuple[Array, First]) -> Array:
        Ad, first = context
        bend, mixed, curved = first.second()
        H = nodal(Ad, bend, first.b)
        if mixed is not None and curved is not None:
            k, of_nodes = curved.shape[-1], H
            H = np.empty((*curved.shape[:2], 12 + k, 12 + k))
            H[..., :12, :12], H[..., 12:, :12], H[..., 12:, 12:] = of_nodes, gradients(mixed, Ad[:, None]), curved
            H[..., :12, 12:] = H[..., 12:, :12].mT
        return H.reshape(-1, *H.shape[2:])


def two_nodes(kind: type, a: Node, b: Node) -> tuple[Node, Node]:
    """The nodes that something connects, which are not one."""
    if a is b:
        raise ModelError(f"{kind.__name__}: connects {a} with itself; give two nodes")
    return a, b


def levers(nodes: tuple[Node, ...], offsets: Sequence[Array]) -> tuple[Node, ...]:
    """Nodes that a point is not at, so that it moves where they turn."""
    return tuple(node for node, offset in zip(nodes, offsets, strict=True) if offset.any())


class OnPoints(Component):
    """Mixed into what acts on points of its nodes, ``offsets`` in the frames of these, however the nodes are turned."""

    offsets: tuple[Array, ...]

    @property
    def rotation_dependent(self) -> tuple[Node, ...]:
        """Nodes that its points are not at."""
        return levers(self.nodes, self.offsets)

    @property
    def rotation_free(self) -> tuple[Node, ...]:
        """The others: point masses on rods need no rotation."""
        return tuple(node for node in self.nodes if node not in self.rotation_dependent)


def axes_about(axis: Array, a: Node) -> Array:
    """Axes ``(3, 3)`` as columns, right-handed, the third along the unit vector ``axis``; world frame.

    The first is that axis of node ``a`` which is most across, x before y before z, as far as it is across: about z they
    are the axes of the node, and they turn with a model.
    """
    along = axis @ a.rotation
    k = int(np.argmax(np.abs(along) <= np.abs(along).min() + TIE))
    e1 = a.rotation[:, k] - along[k] * axis
    e1 /= np.linalg.norm(e1)
    return np.stack([e1, so3.cross(axis, e1), axis], axis=-1)


def axes_in(normal: Array, x_axis: ArrayLike | None, a: Node, label: str) -> Array:
    """Axes ``(3, 3)`` as columns, the third along a unit vector, the first along ``x_axis`` if there is one."""
    if x_axis is None:
        return axes_about(normal, a)
    x = np.asarray(x_axis)
    check_perpendicular(normal, x, f"{label}: normal and x_axis")
    return np.stack([x, np.cross(normal, x), normal], axis=-1)


def check_perpendicular(first: Array, second: Array, label: str) -> None:
    """Refuse two unit vectors that are not perpendicular."""
    if abs(cosine := float(first @ second)) > PERPENDICULAR:
        raise ModelError(
            f"{label} must be perpendicular, they are at {np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))):.6g} "
            f"degrees: {first} and {second}"
        )


def turned_to(axes: Array, axis: Array, label: str, names: tuple[str, str] = ("axis", "axis_b")) -> Array:
    """Axes ``(3, 3)`` turned on the shortest way until the third is along the unit vector ``axis``."""
    v, c = np.cross(axes[:, 2], axis), float(axes[:, 2] @ axis)
    if c < 0.0:
        raise ModelError(
            f"{label}: {names[1]} is more than a quarter turn from {names[0]}, "
            f"{np.degrees(np.arccos(max(c, -1.0))):.6g} degrees; give the opposite direction, {-axis}"
        )
    cross = so3.skew(v)
    return (np.eye(3) + cross + cross @ cross / (1.0 + c)) @ axes
