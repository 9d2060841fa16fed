"""An elastic bush between two nodes: a spring and a damper for each of the six relative motions, coupled as you like.

Two frames, one on each node, coincide as built. How that of b stands to that of a is ``h``, and ``d = log(h)`` is the
screw that leads from one to the other, translation first. It is the same seen from either of the two, changes its sign
with the order of the nodes, and no motion of both together changes it. From the energy ``d^T K d/2``, and with
``d' = T^-1(d) (V_B - Ad V_A)`` of the frames' velocities, the wrench on frame B is ``T^-T(d) (K d + C d')``
(docs/theory.md, "Lines").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.arrays import Array
from fem_mbs.contracts import (
    Element,
    ElementBatch,
    Energy,
    ModelContext,
    Motion,
    NodeLike,
    Numbering,
    RotationLike,
    Vector3,
    array,
    checked,
    is_symmetric,
    lever,
    number,
    real,
    shown,
)
from fem_mbs.elements.joints.frames import adjoint_inverse, gradients, nodal, relative, two_nodes
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
    result = array(value, label, (6,), (6, 6), what="six numbers, translations first, or a symmetric 6x6 matrix")
    if result.shape == (6,):
        result = np.diag(result)
    if not is_symmetric(result, 6):
        raise ModelError(f"{label} must be six numbers or a symmetric 6x6 matrix, received {shown(value)}")
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
        self.nodes = two_nodes(type(self), a, b)
        self.stiffness = np.asarray(stiffness)
        self.damping = np.asarray(damping) if np.ndim(damping) else float(damping) * self.stiffness  # type: ignore[arg-type]
        place = b.position if point is None else point
        directions = a.rotation if axes is None else np.asarray(axes)
        self.offsets = tuple(lever(node, place) for node in self.nodes)
        self.axes = tuple(node.rotation.T @ directions for node in self.nodes)

    def doubts(self, around: ModelContext) -> Iterable[str]:
        """Nodes that turn against each other."""
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
    """What the matrices need of the last force."""

    operator: se3.InverseTangent
    Ad: Array
    """By which velocities of frame A are seen from frame B, ``(n, 6, 6)``."""
    b: Array
    """``T^-1(d)``."""
    V_A: Array
    """Velocity of frame A, seen from frame B."""
    V: Array
    """Velocity of frame B against frame A."""
    stress: Array
    wrench: Array


class BushingBatch(ElementBatch, of=Bushing):
    """Bushings as arrays."""

    def __init__(self, bushings: Sequence[Bushing], number: Numbering) -> None:
        super().__init__(bushings, number)
        self._axes, self._offsets = (np.array([getattr(b, name) for b in bushings]) for name in ("axes", "offsets"))
        self._K, self._C = (np.array([getattr(b, name) for b in bushings]) for name in ("stiffness", "damping"))
        # body velocities of the two frames from those of the nodes
        back = self._axes.mT
        n = len(bushings)
        both = np.zeros((n, 2, 6, 2, 6))
        for k in range(2):
            both[:, k, :, k] = se3.adjoint(back[:, k], -np.matvec(back[:, k], self._offsets[:, k]))
        self._to_frames = both.reshape(n, 12, 12)

    def force(self, motion: Motion, prescribed: None) -> tuple[Array, BushingContext]:
        frames, operator = self._deformation(motion)
        Ad, b = adjoint_inverse(frames), operator.forward()
        V = np.matvec(self._to_frames, motion.V[self.nodes].reshape(-1, 12))
        V_A = np.matvec(Ad, V[:, :6])
        relative_velocity = V[:, 6:] - V_A
        stress = np.matvec(self._K, operator.d) + np.matvec(self._C, np.matvec(b, relative_velocity))
        wrench = np.vecmat(stress, b)
        force = np.vecmat(gradients(wrench, Ad), self._to_frames)
        return force, BushingContext(operator, Ad, b, V_A, relative_velocity, stress, wrench)

    def stiffness(self, context: BushingContext) -> Array:
        """Of the deformation, of its rate, and of the directions of the wrench."""
        operator, Ad, b, V_A, V, stress, wrench = context
        # rates change as b does, and as the velocity of frame A is seen from frame B
        rate = operator.derivative(V) @ b - b @ se3.bracket(V_A)
        bend = b.mT @ (self._K @ b + self._C @ rate) + operator.derivative(stress, transposed=True) @ b
        return self._to_frames.mT @ nodal(Ad, bend, wrench) @ self._to_frames

    def stressed(self, context: BushingContext, d: Array) -> BushingContext:
        stress = context.stress + np.matvec(self._K @ self._rates(context), d)
        return context._replace(stress=stress, wrench=np.vecmat(stress, context.b))

    def damping(self, context: BushingContext) -> Array:
        rates = self._rates(context)
        return rates.mT @ self._C @ rates

    def _rates(self, context: BushingContext) -> Array:
        """Rates of the deformation against velocities of the nodes, ``(n, 6, 12)``."""
        J = np.concatenate([-context.Ad, np.broadcast_to(se3.IDENTITY, context.Ad.shape)], axis=-1)
        return context.b @ J @ self._to_frames

    def energy(self, motion: Motion) -> Energy:
        _, operator = self._deformation(motion)
        return Energy(strain=0.5 * np.vecdot(operator.d, np.matvec(self._K, operator.d)))

    def _deformation(self, motion: Motion) -> tuple[Any, se3.InverseTangent]:
        """How frame B stands to frame A, and the screw between them."""
        R = motion.R[self.nodes]
        frames = relative(motion.x[self.nodes] + np.matvec(R, self._offsets), R @ self._axes)
        operator = se3.InverseTangent.of_frame(frames.S, frames.r)
        turn = operator.phi_squared
        if turn.max() > MAX_TURN**2:
            row = int(np.argmax(turn))
            raise MotionError(
                f"{self.owners[row]}: turns by {np.degrees(np.sqrt(turn[row])):.0f} degrees at t = {motion.t:.6g} s, "
                "more than a bushing can; a joint with a JointSpring turns on"
            )
        return frames, operator
