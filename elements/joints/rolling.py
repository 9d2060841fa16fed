"""A disc that rolls on a plane without slipping.

In frame b, with the plane's normal ``n``, the disc's axis ``m`` and centre ``c``, the lowest point of the rim is at
``c + d``, ``d = -rho w``, where ``w = (n - kappa m)/sine``, ``kappa = n . m``, is the steepest direction in the disc.
Its height above the plane is closed, an equation of positions; its velocity along two directions of the plane is zero,
two equations of velocities that cannot be integrated. As the height does not change when the disc turns on, all three
have one form, ``(t, (c + d) x t)`` against the relative motion, for ``t`` the normal and the two directions
(docs/theory.md, "Constraints of velocities"; O'Reilly, *The dynamics of rolling disks and sliding disks*, Nonlinear
Dynamics 10, 1996).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Constraint, Coordinate, CoordinateBatch, NodeLike, Numbering, Placed, checked, lever
from fem_mbs.contracts.arguments import Direction, Positive, Vector3
from fem_mbs.elements.joints.coordinates import (
    JointCoordinates,
    JointFrame,
    Measure,
    Triple,
    angle,
    cosine_of,
    of_rotations,
)
from fem_mbs.elements.joints.frames import First, Frames, FramesBatch, Second, along, axes_about, bend_along, two_nodes
from fem_mbs.elements.shapes import Cylinder
from fem_mbs.errors import ModelError, MotionError
from fem_mbs.lie import so3

FLAT = 1e-3
"""Sine of the angle to the plane below which a disc lies flat, where it has no lowest point."""
THICKNESS = 0.04
"""Of a disc as it is drawn, against its radius."""


@checked
class RollingDisc(Constraint):
    """A sharp-edged disc, fixed to node b, rolls without slipping on a plane that is fixed to node a.

    Parameters
    ----------
    a, b : Node
        Of the plane (often ``model.ground``) and of the disc.
    normal : (3,)
        Normal of the plane at t = 0, world frame, to the side on which the disc is.
    axis : (3,)
        Axis of the disc at t = 0, world frame.
    radius : float
        Radius, m.
    center : (3,), optional
        Centre of the disc at t = 0, world frame; by default the position of node b.

    Notes
    -----
    The plane touches the disc as built, and may move: it belongs to node a. The first multiplier is the normal force on
    the disc, reversed, and the others are those along two directions of the plane: the disc neither lifts off nor
    slips, whatever forces this takes. Reactions are given at the centre. Its coordinates are angles against the plane:
    "heading", of the axis about the normal, "tilt", of the axis from the normal, and "roll", of the disc about its
    axis, from its lowest point.
    """

    coordinates = (Coordinate("heading", True), Coordinate("tilt", True), Coordinate("roll", True))

    equations = ("height", "rolling x", "rolling y")

    def __init__(
        self,
        a: NodeLike,
        b: NodeLike,
        normal: Direction,
        axis: Direction,
        radius: Positive,
        *,
        center: Vector3 | None = None,
    ) -> None:
        self.nodes, self.radius = two_nodes(type(self), a, b), radius
        n, m = np.asarray(normal), np.asarray(axis)
        place = b.position if center is None else np.asarray(center)
        self.offset = lever(b, place)
        self.directions = a.rotation.T @ axes_about(n, a)[:, [2, 0, 1]]
        """The normal and two directions of the plane, as columns, in the frame of node a."""
        sine = np.linalg.norm(np.cross(n, m))
        if sine < FLAT:
            raise ModelError(f"RollingDisc on {a}, {b}: the disc lies flat on the plane: axis {m} is along normal {n}")
        steepest = (n - (n @ m) * m) / sine
        across = (m - (n @ m) * n) / sine
        axes = np.stack([across, np.cross(n, across), n], -1), np.stack([steepest, np.cross(m, steepest), m], -1)
        self.axes = a.rotation.T @ axes[0], b.rotation.T @ axes[1]
        self.frame = JointFrame(*self.axes, np.zeros(3), self.offset)
        self.tilt = float(np.arctan2(sine, n @ m))
        """Angle of the axis from the normal as built, rad."""
        self.place = lever(a, place)
        """Centre as built, in the frame of node a."""
        self.height = float(-self.radius * sine)
        """Height of the plane above that place."""

    def shapes(self, size: float) -> Sequence[Placed]:
        axis = self.axes[1][:, 2]
        return (Placed(self.nodes[1], Cylinder(self.radius, THICKNESS * self.radius, axis, center=self.offset)),)

    @classmethod
    def coordinate_batch(cls, joints: Sequence[RollingDisc], name: str, number: Numbering) -> CoordinateBatch:
        """Angles in rad, zero as built."""
        measured = {"heading": heading, "tilt": tilt, "roll": roll}[name]
        built = np.array([disc.tilt for disc in joints]) if name == "tilt" else None
        return JointCoordinates(joints, (measured,), number, built)


def heading(frames: Frames, disc: JointFrame) -> Measure:
    """Angle about the normal by which the disc's axis has turned."""
    m = disc.axes_b[..., 2]
    x, y = (cosine_of(frames, disc.axes_a[..., k], m) for k in (0, 1))
    return angle(x, y)


def tilt(frames: Frames, disc: JointFrame) -> Measure:
    """Angle of the disc's axis from the normal, in (0, pi)."""
    kappa, gradient, _ = cosine = cosine_of(frames, disc.axes_a[..., 2], disc.axes_b[..., 2])
    sine = np.sqrt(1.0 - kappa**2)[..., None]
    return of_rotations(np.arccos(kappa), -gradient / sine, partial(_bend_of_tilt, cosine, sine))


def _bend_of_tilt(cosine: Triple, sine: Array) -> Array:
    kappa, gradient, bend = cosine
    turned = so3.outer(gradient, gradient) * (kappa[..., None] / sine**3)[..., None]
    return np.asarray(-bend() / sine[..., None] - turned)


def roll(frames: Frames, disc: JointFrame) -> Measure:
    """Angle about the disc's axis by which the disc has turned from its steepest direction."""
    n = disc.axes_a[..., 2]
    return angle(cosine_of(frames, n, disc.axes_b[..., 0]), cosine_of(frames, n, -disc.axes_b[..., 1]))


class RollingBatch(FramesBatch, of=RollingDisc):
    """Discs as arrays; the rows of each are its height and two velocities."""

    def __init__(self, discs: Sequence[RollingDisc], number: Numbering) -> None:
        super().__init__(discs, number)
        self.velocity = np.tile([False, True, True], len(discs))
        self._directions = np.array([disc.directions.T for disc in discs])
        self._axis, self._center = (
            np.array(own) for own in zip(*((d.axes[1][:, 2], d.offset) for d in discs), strict=True)
        )
        self.points_a = np.array([disc.place for disc in discs])
        self._radius, self._height = np.array([[disc.radius, disc.height] for disc in discs]).T

    def first(self, frames: Frames, s: Array, t: float) -> First:
        """The height, zero for the velocities, and the gradients."""
        seen = self._directions @ frames.S
        n = seen[:, 0]
        kappa = np.vecdot(n, self._axis)
        across = n - kappa[:, None] * self._axis
        sine = np.linalg.norm(across, axis=-1)
        if (sine < FLAT).any():
            raise MotionError(f"{self.owners[int(np.argmin(sine))]}: the disc has fallen flat on the plane")
        w = across / sine[:, None]
        arm = self._center - self._radius[:, None] * w
        phi = np.zeros((len(n), 3))
        phi[:, 0] = np.vecdot(self._directions[:, 0], frames.r) + np.vecdot(n, arm) - self._height

        def second() -> Second:
            # the rim's lowest point moves by d_arm theta, along the third direction m x w of the disc
            third = np.cross(self._axis, w)
            d_arm = -(self._radius / sine)[:, None, None] * (third[:, :, None] * third[:, None]) @ so3.skew(n)
            bend = bend_along(seen, arm[:, None])
            bend[..., 3:, 3:] -= so3.skew(seen) @ d_arm[:, None]
            return Second(bend)

        return First(phi, along(seen, arm[:, None]), None, second)
