"""A journal bearing: a short one, whose film bears on half its circumference (Ocvirk; half Sommerfeld's condition).

In units of the clearance ``c`` and of ``eta R L^3/c^2``, with ``r`` the place of the shaft across the bearing, ``v =
r'``, ``t = e_3 x r``, ``e = |r|`` and ``s = 1 - e^2``, the forces on the shaft are along ``r`` and along ``t``

    -(w e^2/s^2 + pi e' (1 + 2 e^2)/(2 s^5/2)),   pi w e/(4 s^3/2) + 2 e e'/s^2,   w = Omega - 2 phi',

with the speed ``Omega`` of the shaft against the housing and the turn ``phi`` of ``r`` (Friswell, Penny, Garvey, Lees,
Dynamics of Rotating Machines, section 5.5.1). Multiplied out, nothing is divided by ``e^2``:

    -e Omega r/s^2 + pi Omega t/(4 s^3/2) - pi/2 (v s^-3/2 + 3 r (r.v) s^-5/2) + 2 ((t.v) r + (r.v) t)/(e s^2).

Where ``w`` is negative, the film is on the other side, and the first and the last term change sign.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Direction, Element, NodeLike, Numbering, Positive, Vector3, checked, lever
from fem_mbs.elements.forces.bearing import ShaftInHousing
from fem_mbs.elements.joints.frames import axes_in, two_nodes
from fem_mbs.errors import MotionError

FULL = 0.999
"""Eccentricity, of the clearance, beyond which the shaft is taken to touch."""
POINT = 1e-24
"""Square of an eccentricity, in clearances, that is none."""
STEP = 1e-30
"""Of derivatives by complex numbers, which are exact."""


@checked
class JournalBearing(Element):
    """A short journal bearing with an oil film on half its circumference: its stiffness and damping follow the shaft.

    Parameters
    ----------
    a, b : Node
        The housing, and the shaft.
    axis : (3,)
        Of the shaft at t = 0, world frame.
    radius, length, clearance : float
        Of the shaft, of the bearing along it (at most about half the diameter), and radial, m.
    viscosity : float
        Dynamic, Pa s.
    point : (3,), optional
        Where it is at t = 0, world frame, the shaft centred; by default at node b.

    Raises
    ------
    MotionError
        In a run, if the shaft is nearer to the housing than a thousandth of the clearance, or tilts by 90 degrees.

    Notes
    -----
    It bears nothing along the shaft and no tilts. A shaft that nothing loads, as of a vertical rotor, is unstable and
    whirls with half its speed, which ``mbs.campbell`` shows; how one sags and turns under a load, ``mbs.simulate``.
    """

    active = True

    def __init__(
        self,
        a: NodeLike,
        b: NodeLike,
        axis: Direction,
        radius: Positive,
        length: Positive,
        clearance: Positive,
        viscosity: Positive,
        *,
        point: Vector3 | None = None,
    ) -> None:
        self.nodes, label = two_nodes(type(self), a, b), f"JournalBearing on {a}, {b}"
        self.radius, self.length, self.clearance, self.viscosity = map(float, (radius, length, clearance, viscosity))
        place = b.position if point is None else np.asarray(point)
        self.offsets = tuple(lever(node, place) for node in self.nodes)
        self.axes = a.rotation.T @ axes_in(np.asarray(axis), None, a, label)
        self.shaft = b.rotation.T @ np.asarray(axis)


class JournalBearingBatch(ShaftInHousing, of=JournalBearing):
    """Journal bearings as arrays."""

    def __init__(self, bearings: Sequence[JournalBearing], number: Numbering) -> None:
        super().__init__(bearings, number)
        self._clearance = np.array([own.clearance for own in bearings])
        sizes = [own.viscosity * own.radius * own.length**3 / own.clearance**2 for own in bearings]
        self._unit = np.array(sizes)

    def _law(self, z: Array, z_dot: Array, speed: Array, t: float) -> tuple[Array, Array, Array, Array]:
        c, unit = self._clearance[:, None], self._unit[:, None]
        r, v = z[:, :2] / c, z_dot[:, :2] / c
        e = np.linalg.norm(r, axis=1)
        if e.max() > FULL:
            worst = int(np.argmax(e))
            raise MotionError(
                f"{self.owners[worst]}: the shaft is {e[worst]:.4g} of the clearance off centre at t = {t:.6g} s: "
                "it touches the housing; take smaller steps, or look at load and speed"
            )
        given = np.concatenate([r, v, speed[:, None]], axis=1)
        shifted = given + 1j * STEP * np.eye(5)[:, None]
        slopes = np.moveaxis(film(*np.split(shifted, [2, 4], axis=-1)).imag / STEP, 0, -1)
        n = len(z)
        F, K, C, by_speed = np.zeros((n, 5)), np.zeros((n, 5, 5)), np.zeros((n, 5, 5)), np.zeros((n, 5))
        F[:, :2] = -unit * film(r, v, speed[:, None])
        K[:, :2, :2], C[:, :2, :2] = (-(unit / c)[..., None] * slopes[..., k : k + 2] for k in (0, 2))
        by_speed[:, :2] = -unit * slopes[..., 4]
        return F, K, C, by_speed


def film(r: Array, v: Array, speed: Array) -> Array:
    """Force ``(..., 2)`` on a shaft at ``r`` with velocity ``v`` (..., 2), which turns with ``speed`` (..., 1)."""
    square = (r * r).sum(axis=-1, keepdims=True)
    e, s = np.sqrt(square + POINT), 1.0 - square
    t = np.stack([-r[..., 1], r[..., 0]], axis=-1)
    along, around = ((own * v).sum(axis=-1, keepdims=True) for own in (r, t))
    side = np.where((speed * square - 2.0 * around).real < 0.0, -1.0, 1.0)
    turning = -side * e * speed * r / s**2 + 0.25 * np.pi * speed * t / s**1.5
    squeezed = -0.5 * np.pi * (v / s**1.5 + 3.0 * along * r / s**2.5)
    result: Array = turning + squeezed + 2.0 * side * (around * r + along * t) / (e * s**2)
    return result
