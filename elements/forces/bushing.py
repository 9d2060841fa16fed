"""An elastic bush between two nodes: a spring and a damper for each of the six relative motions, coupled as you like.

Two frames, one on each node, coincide as built. How that of b stands to that of a is ``h``, and ``d = log(h)`` is the
screw that leads from one to the other, translation first. It is the same seen from either of the two, changes its sign
with the order of the nodes, and no motion of both together changes it. From the energy ``d^T K d/2``, and with
``d' = b (V_B - Ad V_A)``, ``b = T^-1(d)``, of the frames' velocities, the wrench on frame B is ``b^T (K d + C d')``
(docs/theory.md, "Lines"); bearings have other coordinates of ``h``, with gradients ``b``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, ArrayLike
from fem_mbs.contracts import Element, ElementBatch, Energy, ModelContext, Motion, Node, NodeLike, Numbering, lever
from fem_mbs.contracts.arguments import RotationLike, Vector3, number, real, shown, symmetric
from fem_mbs.contracts.checked import checked
from fem_mbs.elements.joints.frames import Frames, adjoint_inverse, gradients, nodal, relative, two_nodes
from fem_mbs.errors import ModelError, MotionError
from fem_mbs.lie import se3

MAX_TURN = 3.0
"""Rotations in rad up to which the screw between two frames is unique, with a margin."""
NEGATIVE = 1e-12
"""Eigenvalues that are zero but for rounding, in units of the diagonal."""
FREE = 1e-12
"""Stiffness against the largest that leaves a rotation free."""


def matrix_of_six(value: Any, label: object) -> Array:
    """A symmetric matrix (6, 6) without negative eigenvalues from six numbers or a matrix, or a :class:`ModelError`."""
    result = symmetric(value, label, 6, "six numbers, translations first,")
    units = np.sqrt(np.abs(np.diag(result)))
    units[units == 0.0] = 1.0
    lowest = np.linalg.eigvalsh(result / np.outer(units, units))[0]
    if lowest < -NEGATIVE:
        raise ModelError(f"{label} must not be negative in any direction, received {shown(value)}")
    return result


def time_or_matrix(value: Any, label: object) -> float | Array:
    """A time, as one number that is not negative, or a matrix of six."""
    given = real(value)
    return number(value, label, low=0.0) if given is not None and given.ndim == 0 else matrix_of_six(value, label)


Six = Annotated[ArrayLike, matrix_of_six]
TimeOrSix = Annotated[float | ArrayLike, time_or_matrix]


def frames_on(
    kind: type, a: Node, b: Node, point: ArrayLike | None, axes: Array
) -> tuple[tuple[Node, Node], tuple[Array, ...], tuple[Array, ...]]:
    """Two nodes, and where frames that coincide as built are on each: at a point, by default node b, with ``axes``."""
    nodes, place = two_nodes(kind, a, b), b.position if point is None else point
    return nodes, tuple(lever(node, place) for node in nodes), tuple(node.rotation.T @ axes for node in nodes)


@checked
class Bushing(Element):
    """A spring and a damper for all six relative motions of two nodes: a rubber bush, a mount, a flexible bearing.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    stiffness : (6,) or (6, 6)
        Along and about the axes, translations first: N/m and N m/rad, or a symmetric matrix. Zeros are welcome.
    damping : float, (6,) or (6, 6)
        Likewise, N s/m and N m s/rad; one number is a time in s by which the stiffness is multiplied.
    point : (3,), optional
        Its middle at t = 0, world frame; by default the position of node b.
    axes : (3, 3), optional
        Its axes at t = 0 as columns, world frame; by default those of node a.

    Raises
    ------
    ModelError
        If a matrix is not symmetric or has a negative eigenvalue.
    MotionError
        In a run, if it turns by more than 170 degrees.

    Notes
    -----
    Without force as built. Its axes turn with its nodes, half of the way with each: it is no bearing of a shaft that
    goes round, as its stiffness across would change with the angle. There, a light node goes between: a
    ``RevoluteJoint`` of this node and the shaft, a bushing of this node and the housing. The deformation ``d`` is the
    screw between its two frames: for small deformations what the node b moves and turns, seen from a; for large ones it
    treats both nodes alike, and the force is the gradient of the energy ``d^T K d/2``.
    """

    strengths = "stiffness", "damping"

    def __init__(
        self,
        a: NodeLike,
        b: NodeLike,
        stiffness: Six,
        damping: TimeOrSix = 0.0,
        *,
        point: Vector3 | None = None,
        axes: RotationLike | None = None,
    ) -> None:
        directions = a.rotation if axes is None else np.asarray(axes)
        self.nodes, self.offsets, self.axes = frames_on(type(self), a, b, point, directions)
        self.stiffness = np.asarray(stiffness)
        self.damping = np.asarray(damping) if np.ndim(damping) else float(damping) * self.stiffness  # type: ignore[arg-type]

    def doubts(self, around: ModelContext) -> Iterable[str]:
        a, b = (node.rotation @ node.angular_velocity for node in self.nodes)
        speed = float(np.linalg.norm(b - a))
        about = (self.nodes[0].rotation @ self.axes[0]).T @ (b - a)
        # what has stiffness about the axis only swings
        if speed > 0.0 and about @ self.stiffness[3:, 3:] @ about <= FREE * speed**2 * np.abs(self.stiffness).max():
            yield (
                f"{self} lets its nodes turn against each other at {speed:.3g} rad/s, and its axes go along half of "
                "the way: its stiffness changes with the angle. As the bearing of a shaft, put a light node between: a "
                "RevoluteJoint of it and the shaft, a Bushing of it and the housing"
            )


class BushingContext(NamedTuple):
    """What the matrices need of the last force, of ``c`` coordinates."""

    Ad: Array
    """By which velocities of frame A are seen from frame B, ``(n, 6, 6)``."""
    V_A: Array
    """Velocity of frame A, seen from frame B."""
    V: Array
    """Velocity of frame B against frame A."""
    b: Array
    """Gradients of the coordinates ``(n, c, 6)``."""
    bend: Any
    """What their derivatives follow from."""
    F: Array
    """Forces ``(n, c)``."""
    K: Array
    C: Array
    by_speed: Array | None
    """Derivative of the forces against the speed about the third axis, ``(n, c)``; None for none."""


class BushingBatch(ElementBatch, of=Bushing):
    """Bushings as arrays."""

    def __init__(self, bushings: Sequence[Any], number: Numbering) -> None:
        super().__init__(bushings, number)
        self._axes, self._offsets = (np.array([getattr(b, name) for b in bushings]) for name in ("axes", "offsets"))
        # body velocities of the two frames from those of the nodes
        back = self._axes.mT
        n = len(bushings)
        both = np.zeros((n, 2, 6, 2, 6))
        for k in range(2):
            both[:, k, :, k] = se3.adjoint(back[:, k], -np.matvec(back[:, k], self._offsets[:, k]))
        self._to_frames = both.reshape(n, 12, 12)
        self._set_up(bushings)

    def _set_up(self, bushings: Sequence[Any]) -> None:
        """What the law needs."""
        self._K, self._C = (np.array([getattr(b, name) for b in bushings]) for name in ("stiffness", "damping"))

    def _law(self, z: Array, rates: Array, speed: Array, t: float) -> tuple[Array, Array, Array, Array | None]:
        """Forces ``(n, c)``, and their derivatives against coordinates, their rates, and the speed ``(n,)``."""
        return np.matvec(self._K, z) + np.matvec(self._C, rates), self._K, self._C, None

    def _coordinates(self, motion: Motion) -> tuple[Frames, Array, Array, Any]:
        """How frame B stands to frame A, the coordinates ``(n, c)``, their gradients, and what these bend by."""
        R = motion.R[self.nodes]
        frames = relative(motion.x[self.nodes] + np.matvec(R, self._offsets), R @ self._axes)
        return frames, *self._of(frames, motion.t)

    def _of(self, frames: Frames, t: float) -> tuple[Array, Array, Any]:
        """The screw between the frames."""
        operator = se3.InverseTangent.of_frame(frames.S, frames.r)
        turn = operator.phi_squared
        if turn.max() > MAX_TURN**2:
            row = int(np.argmax(turn))
            raise MotionError(
                f"{self.owners[row]}: turns by {np.degrees(np.sqrt(turn[row])):.0f} degrees at t = {t:.6g} s, "
                "more than a bushing can; a joint with a JointSpring turns on"
            )
        return operator.d, operator.value, operator

    def _bent(self, bend: Any, b: Array, V: Array, F: Array) -> tuple[Array, Array]:
        """Derivatives of ``b V`` (n, c, 6) and of ``b^T F`` (n, 6, 6) against the relative motion."""
        return bend.derivative(V) @ b, bend.derivative(F, transposed=True) @ b

    def force(self, motion: Motion, prescribed: None) -> tuple[Array, BushingContext]:
        frames, z, b, bend = self._coordinates(motion)
        Ad = adjoint_inverse(frames)
        V = np.matvec(self._to_frames, motion.V[self.nodes].reshape(-1, 12))
        V_A = np.matvec(Ad, V[:, :6])
        V = V[:, 6:] - V_A
        law = self._law(z, np.matvec(b, V), V[:, 5], motion.t)
        force = np.vecmat(gradients(np.vecmat(law[0], b), Ad), self._to_frames)
        return force, BushingContext(Ad, V_A, V, b, bend, *law)

    def stiffness(self, context: BushingContext) -> Array:
        """Of the coordinates, of their rates and the speed, and of the directions of the forces."""
        Ad, V_A, V, b, bend, F, K, C, by_speed = context
        # rates change as b does, and as the velocity of frame A is seen from frame B
        turning = se3.bracket(V_A)
        of_rates, of_forces = self._bent(bend, b, V, F)
        inner = K @ b + C @ (of_rates - b @ turning)
        if by_speed is not None:
            inner = inner - by_speed[:, :, None] * turning[:, 5, None]
        return self._to_frames.mT @ nodal(Ad, b.mT @ inner + of_forces, np.vecmat(F, b)) @ self._to_frames

    def stressed(self, context: BushingContext, d: Array) -> BushingContext:
        return context._replace(F=context.F + np.matvec(context.K @ context.b @ self._between(context), d))

    def damping(self, context: BushingContext) -> Array:
        J = self._between(context)
        rates = context.b @ J
        inner = context.C @ rates
        if context.by_speed is not None:
            inner = inner + context.by_speed[:, :, None] * J[:, 5, None]
        return rates.mT @ inner

    def _between(self, context: BushingContext) -> Array:
        """How increments of both nodes move frame B against frame A, ``(n, 6, 12)``."""
        return np.concatenate([-context.Ad, np.broadcast_to(se3.IDENTITY, context.Ad.shape)], axis=-1) @ self._to_frames

    def energy(self, motion: Motion) -> Energy:
        _, d, *_ = self._coordinates(motion)
        return Energy(strain=0.5 * np.vecdot(d, np.matvec(self._K, d)))
