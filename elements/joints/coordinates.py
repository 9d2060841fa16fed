"""Coordinates of the motions that a joint leaves free: values, gradients and second derivatives.

Axes of a joint coincide as built; ``i``, ``j``, ``k`` below are its three axes, right-handed. Everything is against the
relative motion ``xi`` of frame b in its own components, see ``frames.py`` (docs/theory.md, "Joint coordinates").
Places along beams and curves are coordinates, too: internal variables of joints, without mass, on which forces and
drives act.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Constraint, CoordinateBatch, Measured, Motion, Node, Numbering, node_rows, poses
from fem_mbs.elements.joints.frames import Frames, adjoint_inverse, along, bend_along, gradients, nodal, relative
from fem_mbs.errors import MotionError
from fem_mbs.lie import so3
from fem_mbs.lie.parametrization import dot, inverse_rotation_vector

if TYPE_CHECKING:
    from fem_mbs.elements.joints.relative import RelativeJoint
    from fem_mbs.elements.joints.rolling import RollingDisc


class OwnCoordinate(CoordinateBatch):
    """By how much one internal variable of each joint has changed since the model was built.

    It depends on no node; the last one of each joint stands for all.
    """

    def __init__(self, joints: Sequence[Constraint], place: int, number: Numbering) -> None:
        rows = [int(number.own(joint)[place]) for joint in joints]
        self.nodes = np.array([[number(joint.nodes[-1])] for joint in joints])
        self.own = np.array(rows)[:, None]
        self._built = np.array([joint.internal_variables[place].initial for joint in joints])
        self._gradient = np.zeros((1, 7))
        self._gradient[:, 6] = 1.0

    def measure(self, x: Array, R: Array, u: Array) -> Measured:
        """The change of the internal variable, whose gradient is constant."""
        return Measured(u[:, 0] - self._built, np.broadcast_to(self._gradient, (len(u), 7)), len(u))

    def second(self, context: int) -> Array:
        return np.zeros((context, 7, 7))


class TrackJoint(Constraint):
    """Base of joints whose ``coordinates`` are changes of their internal variables, in this order."""

    @classmethod
    def coordinate_batch(cls, joints: Sequence[TrackJoint], name: str, number: Numbering) -> CoordinateBatch:
        """How far they have moved, m."""
        return OwnCoordinate(joints, [own.name for own in cls.coordinates].index(name), number)


class JointNumbering:
    """Rows of the nodes and of the ``k`` internal variables of a joint, of which nothing else is known yet."""

    def __init__(self, joint: Constraint, k: int) -> None:
        self.joint, self.k = joint, k

    def __call__(self, node: Node) -> int:
        """Its first place among the nodes of the joint."""
        return self.joint.nodes.index(node)

    def own(self, part: Any) -> IntArray:
        """All."""
        return np.arange(self.k)


def consistent_rates(joint: Constraint, own: Array) -> Array:
    """Rates ``(k,)`` of the internal variables ``own`` (k,) of a joint that initial velocities of nodes make.

    The best ones where the velocities violate the joint.
    """
    nodes = joint.nodes
    x, R = poses(nodes)
    V = np.array([[*(node.rotation.T @ node.velocity), *node.angular_velocity] for node in nodes])
    motion = Motion(0.0, x, R, V, np.zeros_like(V), np.zeros(3), own, 0.0 * own, 0.0 * own)
    batch = type(joint).batch([joint], JointNumbering(joint, len(own)))  # type: ignore[arg-type]
    _, B, _ = batch.evaluate(motion, batch.at(0.0))
    moving = V[batch.nodes[0]].ravel()
    return np.linalg.lstsq(B[:, -len(own) :], -B[:, : -len(own)] @ moving, rcond=None)[0]


AXES = "xyz"
LARGEST = 0.95 * np.pi
"""Largest rotation on whose rotation vector something may act: at pi it jumps, from one step to the next."""


class Measure(NamedTuple):
    """Coordinates ``(..., c)`` with gradients ``(..., c, 6)`` and what says how these bend, ``(..., c, 6, 6)``.

    Batches keep the last one: what says it is a function of a module with its arguments, so that they can be pickled.
    """

    value: Array
    gradient: Array
    bend: Callable[[], Array]


def together(rows: Sequence[Measure]) -> Measure:
    """Some coordinates ``(n,)`` each as equations ``(n, m)`` of the same joints."""
    value, gradient = np.stack([row.value for row in rows], axis=1), np.stack([row.gradient for row in rows], axis=1)
    return Measure(value, gradient, lambda: np.stack([row.bend() for row in rows], axis=1))


class JointFrame(NamedTuple):
    """Axes (3, 3) as columns and points (3,) of a joint on its two nodes."""

    axes_a: Array
    axes_b: Array
    point_a: Array
    point_b: Array


Triple: TypeAlias = tuple[Array, Array, Callable[[], Array]]
"""A cosine of two axes with its gradient (..., 3) and what says the derivative (..., 3, 3) of that by the rotation."""


class JointCoordinates(CoordinateBatch):
    """One coordinate each of joints, all measured by one of the functions below with its arguments.

    Less the values ``built`` (n,), where these are not zero as built.
    """

    def __init__(
        self,
        joints: Sequence[RelativeJoint | RollingDisc],
        measured: tuple[Any, ...],
        number: Numbering,
        built: Array | None = None,
    ) -> None:
        self.nodes, self._built = node_rows(joints, number), built
        self._function, *self._arguments = measured
        self._joint = JointFrame(*(np.array(own) for own in zip(*(joint.frame for joint in joints), strict=True)))

    def measure(self, x: Array, R: Array, u: Array) -> Measured:
        frames = relative(x, R)
        own: Measure = self._function(frames, self._joint, *self._arguments)
        Ad = adjoint_inverse(frames)
        value = own.value if self._built is None else own.value - self._built
        return Measured(value, gradients(own.gradient, Ad), (Ad, own))

    def second(self, context: tuple[Array, Measure]) -> Array:
        Ad, own = context
        return nodal(Ad, own.bend(), own.gradient)


class RotationVectors(JointCoordinates):
    """Components of rotation vectors, which jump at half a turn: what acts on them ends before."""

    counts_turns = False

    def __init__(self, joints: Sequence[RelativeJoint], measured: tuple[Any, ...], number: Numbering) -> None:
        super().__init__(joints, measured, number)
        self._owners = joints
        self._trace = np.array([joint.axes[0] @ joint.axes[1].T for joint in joints]).reshape(-1, 9)

    def evaluate(self, motion: Motion) -> Measured:
        """Values and gradients in a motion, of rotations below :data:`LARGEST`."""
        R = motion.R.take(self.nodes, 0)
        trace = np.vecdot(self._trace, (R[:, 0].mT @ R[:, 1]).reshape(-1, 9))
        if trace.min() < 1.0 + 2.0 * np.cos(LARGEST):
            joint = self._owners[int(trace.argmin())]
            raise MotionError(
                f"{joint}: node b has turned by more than {np.degrees(LARGEST):.0f} degrees against node a, where the "
                "components of a rotation vector are no coordinates to act on; act on a joint with axes, such as a "
                "UniversalJoint"
            )
        return super().evaluate(motion)


def translation(frames: Frames, joint: JointFrame, k: int) -> Measure:
    """How far the point of b has moved along an axis of a, in m."""
    axis = joint.axes_a[..., k]
    seen = np.vecmat(axis, frames.S)
    value = np.vecdot(axis, frames.r + np.matvec(frames.S, joint.point_b) - joint.point_a)
    return Measure(value, along(seen, joint.point_b), partial(bend_along, seen, joint.point_b))


def turn(frames: Frames, joint: JointFrame, about: int, of_a: bool) -> Measure:
    """Angle in rad about an axis of a, or of b, by which the next axis of b, or the one before of a, has turned."""
    seen, other = ((about + 1) % 3, (about + 2) % 3) if of_a else ((about + 2) % 3, (about + 1) % 3)
    pairs = ((seen, seen), (other, seen) if of_a else (seen, other))
    return angle(*(cosine_of(frames, joint.axes_a[..., i], joint.axes_b[..., j]) for i, j in pairs))


def of_rotations(value: Array, by_rotation: Array, bend: Callable[[], Array]) -> Measure:
    """What depends on the relative rotation alone: gradient ``(..., 3)``, and its derivative ``(..., 3, 3)``."""
    gradient = np.zeros((*value.shape, 6))
    gradient[..., 3:] = by_rotation
    return Measure(value, gradient, partial(_bend_by_rotation, value.shape, bend))


def _bend_by_rotation(shape: tuple[int, ...], bend: Callable[[], Array]) -> Array:
    result = np.zeros((*shape, 6, 6))
    result[..., 3:, 3:] = bend()
    return result


def angle(cosine: Triple, sine: Triple) -> Measure:
    """``atan2`` of a sine and a cosine, up to a common factor."""
    (c, dc, _), (s, ds, _) = cosine, sine
    size = c**2 + s**2
    # theta = atan2(s, c): c ds - s dc over s^2 + c^2
    change = c[..., None] * ds - s[..., None] * dc
    gradient = change / size[..., None]
    return of_rotations(np.arctan2(s, c), gradient, partial(_bend_of_angle, cosine, sine, size, gradient))


def _bend_of_angle(cosine: Triple, sine: Triple, size: Array, gradient: Array) -> Array:
    (c, dc, hc), (s, ds, hs) = cosine, sine
    d_size = 2.0 * (c[..., None] * dc + s[..., None] * ds)
    bent = c[..., None, None] * hs() - s[..., None, None] * hc() + so3.outer(ds, dc) - so3.outer(dc, ds)
    return bent / size[..., None, None] - so3.outer(gradient, d_size / size[..., None])


def cosine(frames: Frames, joint: JointFrame, i: int, j: int) -> Measure:
    """Cosine of the angle between the axis ``i`` of a and the axis ``j`` of b."""
    return of_rotations(*cosine_of(frames, joint.axes_a[..., i], joint.axes_b[..., j]))


def rotation_vector(frames: Frames, joint: JointFrame, k: int) -> Measure:
    """Component of the rotation vector of b against a along an axis of the joint, for rotations below pi."""
    w = so3.log(joint.axes_a.mT @ frames.S @ joint.axes_b)
    T_inv = so3.inverse_tangent_operator(w)
    bend = partial(_bend_of_vector, w, T_inv, joint.axes_b, k)
    return of_rotations(w[..., k], np.vecmat(T_inv[..., k, :], joint.axes_b.mT), bend)


def _bend_of_vector(w: Array, T_inv: Array, axes_b: Array, k: int) -> Array:
    # row k of T^-1(w) is T^-1(-w) e_k
    d_row = -inverse_rotation_vector(dot(w, w)).first(-w, np.broadcast_to(np.eye(3)[k], w.shape))
    return np.asarray(axes_b @ d_row @ T_inv @ axes_b.mT)


def cosine_of(frames: Frames, a: Array, b: Array) -> Triple:
    """``a . S b`` with gradient (..., 3) and its derivative (..., 3, 3) against the relative rotation."""
    seen = np.vecmat(a, frames.S)
    return np.vecdot(seen, b), so3.cross(b, seen), partial(_bend_of_cosine, b, seen)


def _bend_of_cosine(b: Array, seen: Array) -> Array:
    return np.asarray(so3.skew(b) @ so3.skew(seen))
