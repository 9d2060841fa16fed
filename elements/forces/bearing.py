"""Bearings: springs and dampers between a housing and a shaft, in axes that stay with the housing.

Five coordinates ``z`` of a frame of the shaft at ``(S, r)`` in one of the housing, their third axes along the shaft:
where it is, ``r``, and the tilts ``(-n_2, n_1)`` of its axis ``n = S e_3``. None sees how far the shaft has turned, so
that nothing is unwound. The forces are ``F = K(w) z + C(w) z'`` with the speed ``w`` of the shaft about its axis,
against the housing; what they mean for the nodes is in ``bushing.py`` (docs/rotors.md).

A journal bearing is a short one, whose film bears where its pressure is positive, on half of its circumference
(Ocvirk; half Sommerfeld's condition). In units of the clearance ``c`` and of ``eta R L^3/c^2``, with ``r`` the place of
the shaft across the bearing, ``v = r'``, ``t = e_3 x r`` and the speed ``Omega`` of the shaft against the housing,
Reynolds' equation gives a pressure along ``q.n/(1 - r.n)^3`` in the direction ``n``, with ``q = 2 v - Omega t``. The
shaft is pushed by half the integral of ``-n q.n/(1 - r.n)^3`` over the half circle about ``q``, which with
``p = e_3 x q``, ``s^2 = 1 - r.r``, ``a = q.r/|q|`` and ``b = p.r/|q|`` is::

    -(3 (2 |q| + G q.r) r/s^2 + G q - 2 b p/(1 - b^2))/(4 s^2),   G = (pi + 2 arctan(a/s))/s

(Capone, L'Energia Elettrica 3, 1991). Of a shaft that goes round at the distance ``e`` it is ``w e^2/s^4`` inwards and
``pi w e/(4 s^3)`` along ``t``, with ``w = Omega - 2 phi'`` (Friswell, Penny, Garvey, Lees, Dynamics of Rotating
Machines, section 5.5.1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Annotated, Any

import numpy as np

from fem_mbs.arrays import Array, ArrayLike
from fem_mbs.contracts import Element, ElementBatch, Energy, Motion, NodeLike, answer, checked
from fem_mbs.contracts.arguments import Direction, Positive, Vector3, real, shaped, shown
from fem_mbs.elements.forces.bushing import BushingBatch, frames_on
from fem_mbs.elements.forces.user_laws import slope
from fem_mbs.elements.joints.frames import Frames, axes_in
from fem_mbs.elements.laws.table import overshoot
from fem_mbs.errors import LOG, ModelError, MotionError
from fem_mbs.lie import so3

SYMMETRIC = 1e-12
"""Skew part of a matrix, against its largest entry, that is rounding."""
WHAT = "2 numbers across the shaft, a 2x2 matrix, 5 numbers with the one along it and two tilts, or a 5x5 matrix"


SHAPES = (2,), (2, 2), (5,), (5, 5)
AXIS, TILTS = np.array([0.0, 0.0, 1.0]), np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0]])
"""Of a shaft, and what tilts are of the components of its axis."""


def _matrix(value: Any, label: object) -> Array:
    """A matrix (5, 5), or (n, 5, 5) of one for each speed, or a function of the speed."""
    given = None if callable(value) else real(value)
    if callable(value):
        return value
    if given is not None and np.isfinite(given).all():
        # two numbers for each of some speeds and a matrix of two are told apart by speeds, in the constructor
        if given.ndim and any(given.shape in (shape, (len(given), *shape)) for shape in SHAPES):
            return given
    raise ModelError(
        f"{label} must be {WHAT}, a list of these for each of speeds, or a function of the speed, received "
        f"{shown(value)}"
    )


def _five(given: Array, count: int | None, label: str) -> Array:
    """Matrices ``(5, 5)``, or ``(count, 5, 5)``."""
    lead = () if count is None else (count,)
    inner = given.shape[len(lead) :]
    if given.shape[: len(lead)] != lead or inner not in SHAPES:
        each = "" if count is None else f" for each of the {count} speeds"
        raise ModelError(f"{label} must be {WHAT}{each}, received {shown(given)}")
    square = given[..., None] * np.eye(inner[0]) if len(inner) == 1 else given
    result = np.zeros((*lead, 5, 5))
    result[..., : inner[0], : inner[0]] = square
    return result


BearingMatrix = Annotated[ArrayLike | Callable[[float], ArrayLike], _matrix]
Speeds = Annotated[ArrayLike, shaped((None,), what="increasing numbers, rad/s")]


@checked
class Bearing(Element):
    """A bearing with stiffness and damping across a shaft, in axes of the housing: rolling, journal, tilting pads.

    Parameters
    ----------
    a, b : Node
        The housing, and the shaft.
    axis : (3,)
        Of the shaft at t = 0, world frame.
    stiffness, damping : (2,), (2, 2), (5,) or (5, 5)
        N/m and N s/m across the shaft, also coupled and not symmetric; with the direction along the shaft and the two
        tilts, N m/rad and N m s/rad, as third to fifth. No damping by default. One for each speed if there are
        ``speeds``, or a function of the speed in rad/s.
    speeds : (n,), optional
        Speeds in rad/s of the shaft about its axis, against the housing, for which matrices are given, increasing, at
        least two: between them go cubic splines, beyond them the run ends with an error.
    point : (3,), optional
        Where it is at t = 0, world frame; by default at node b.
    across : (3,), optional
        Its first direction at t = 0, world frame, perpendicular to the axis; by default that of the axes of node a
        that is most across, x before y before z: y for a shaft along x.

    Raises
    ------
    ModelError
        If a matrix does not fit.
    MotionError
        In a run, if the shaft tilts by more than 90 degrees or its speed is beyond ``speeds``.

    Notes
    -----
    Without force as built. The shaft turns without limit and without resistance. A stiffness with a skew part, as of
    journal bearings, brings energy: a Campbell diagram shows from which speed on a rotor is unstable.
    """

    strengths = "stiffness", "damping"

    def __init__(
        self,
        a: NodeLike,
        b: NodeLike,
        axis: Direction,
        stiffness: BearingMatrix,
        damping: BearingMatrix | None = None,
        *,
        speeds: Speeds | None = None,
        point: Vector3 | None = None,
        across: Direction | None = None,
    ) -> None:
        label = f"Bearing on {a}, {b}"
        axes = axes_in(np.asarray(axis), across, a, label)
        self.nodes, self.offsets, self.axes = frames_on(type(self), a, b, point, axes)
        self.speeds = None if speeds is None else np.asarray(speeds)
        if self.speeds is not None and (len(self.speeds) < 2 or (np.diff(self.speeds) <= 0.0).any()):
            raise ModelError(f"{label}: speeds must be at least two and increase, received {shown(self.speeds)}")
        count = None if self.speeds is None else len(self.speeds)
        none = np.zeros(5 if count is None else (count, 5))
        given: list[Any] = [stiffness, none if damping is None else damping]
        if any(map(callable, given)) and count is not None:
            raise ModelError(f"{label}: speeds belong to lists of matrices; a function of the speed has its own")
        self.stiffness, self.damping = (
            own if callable(own) else _five(np.asarray(own), count, f"{label}: {name}")
            for own, name in zip(given, ("stiffness", "damping"), strict=True)
        )
        self.active = self.batch_key() or _brings_energy(self.stiffness, self.damping)

    def batch_key(self) -> bool:
        """Those that depend on the speed apart."""
        return self.speeds is not None or callable(self.stiffness) or callable(self.damping)


BySpeed = Callable[[float], tuple[Array, Array]]


def _by_speed(bearing: Bearing) -> BySpeed:
    """Function of the speed: stiffness and damping ``(10, 5)``, one below the other, and their slopes."""
    parts: dict[str, Any] = dict(stiffness=bearing.stiffness, damping=bearing.damping)
    if bearing.speeds is None:
        return partial(_of_functions, bearing, parts)
    from scipy.interpolate import CubicSpline  # which takes long to import

    values = np.concatenate([*parts.values()], axis=1)
    splines = CubicSpline(bearing.speeds, values)
    if told := overshoot(splines, values, "{:g} rad/s"):
        LOG.warning("%s: stiffness or damping over speeds: %s; give more speeds", bearing, told)
    return partial(_of_table, bearing, splines)


def _of_functions(bearing: Bearing, parts: dict[str, Any], speed: float) -> tuple[Array, Array]:
    def values(speed: float) -> Array:
        given = (
            _five(answer(bearing, name, own, (speed,), SHAPES), None, name) if callable(own) else own
            for name, own in parts.items()
        )
        return np.concatenate([*given])

    return values(speed), slope(values, None, speed)


def _of_table(bearing: Bearing, splines: Any, speed: float) -> tuple[Array, Array]:
    first, last = splines.x[[0, -1]]
    if not first <= speed <= last:
        raise MotionError(
            f"{bearing}: the shaft turns at {speed:.6g} rad/s, beyond its speeds from {first:g} to {last:g}"
        )
    return splines(speed), splines(speed, 1)


def _brings_energy(K: Array, C: Array) -> bool:
    """Whether a stiffness has a skew part, or a damping brings energy."""
    skew, lossy = np.abs(K - K.T).max(), np.linalg.eigvalsh(0.5 * (C + C.T)).min()
    return bool(skew > SYMMETRIC * np.abs(K).max() or lossy < -SYMMETRIC * np.abs(C).max(initial=1.0))


class ShaftInHousing(BushingBatch):
    """Forces of the coordinates of shafts in their housings, of their rates and of speeds."""

    def _of(self, frames: Frames, t: float) -> tuple[Array, Array, Array]:
        """Places and tilts of the shafts; axes of the housings as the shafts see them, ``(n, 3, 3)``."""
        S, r = frames
        if S[:, 2, 2].min() <= 0.0:
            owner = self.owners[int(np.argmin(S[:, 2, 2]))]
            raise MotionError(f"{owner}: the shaft tilts by more than 90 degrees at t = {t:.6g} s")
        b = np.zeros((len(S), 5, 6))
        b[:, :3, :3], b[:, 3:, 3:] = S, so3.cross(AXIS, TILTS @ S)
        return np.concatenate([r, np.matvec(TILTS, S[:, :, 2])], axis=1), b, S

    def _bent(self, bend: Array, b: Array, V: Array, F: Array) -> tuple[Array, Array]:
        tilts, rates, forces = TILTS @ bend, np.zeros_like(b), np.zeros((len(b), 6, 6))
        rates[:, :3, 3:] = so3.cross(V[:, None, :3], bend)
        rates[:, 3:, 3:] = so3.cross(so3.cross(V[:, None, 3:], AXIS), tilts)
        forces[:, :3, 3:] = so3.skew(np.vecmat(F[:, :3], bend))
        forces[:, 3:, 3:] = so3.skew(AXIS) @ so3.skew(np.vecmat(F[:, 3:], tilts))
        return rates, forces


class BearingBatch(ShaftInHousing, of=Bearing):
    """Bearings as arrays, of which none or all depend on the speed."""

    owners: Sequence[Bearing]

    def _set_up(self, bearings: Sequence[Bearing]) -> None:
        if not self._laws:
            self._constant = np.array([np.concatenate([own.stiffness, own.damping]) for own in bearings])

    @cached_property
    def _laws(self) -> list[BySpeed]:
        """Of each one, where they depend on the speed; copies of a bearing share theirs."""
        if not self.owners[0].batch_key():
            return []
        laws = {bearing: _by_speed(bearing) for bearing in dict.fromkeys(self.owners)}
        return [laws[bearing] for bearing in self.owners]

    def _law(self, z: Array, rates: Array, speed: Array, t: float) -> tuple[Array, Array, Array, Array]:
        (K, C), (dK, dC) = self._at_speed(speed)
        return np.matvec(K, z) + np.matvec(C, rates), K, C, np.matvec(dK, z) + np.matvec(dC, rates)

    def _at_speed(self, speed: Array) -> Array:
        """Stiffness and damping ``(2, 2, n, 5, 5)``, and their slopes."""
        if self._laws:
            both = np.array([law(w) for law, w in zip(self._laws, speed.tolist(), strict=True)])
        else:
            both = np.stack([self._constant, np.zeros_like(self._constant)], axis=1)
        return both.reshape(-1, 2, 2, 5, 5).transpose(1, 2, 0, 3, 4)

    def energy(self, motion: Motion) -> Energy:
        _, z, *_ = self._coordinates(motion)
        spin = np.matvec(motion.R[self.nodes], motion.V[self.nodes][..., 3:])
        shaft = np.matvec(motion.R[self.nodes[:, 1]], self._axes[:, 1, :, 2])
        w = np.vecdot(shaft, spin[:, 1] - spin[:, 0])
        return Energy(strain=0.5 * np.vecdot(z, np.matvec(self._at_speed(w)[0, 0], z)))


FULL = 0.999
"""Eccentricity, of the clearance, beyond which the shaft is taken to touch."""
REST = 1e-24
"""Square of a velocity, in clearances per second, that is none."""
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
        axes = axes_in(np.asarray(axis), None, a, f"JournalBearing on {a}, {b}")
        self.nodes, self.offsets, self.axes = frames_on(type(self), a, b, point, axes)
        self.radius, self.length, self.clearance, self.viscosity = map(float, (radius, length, clearance, viscosity))


class JournalBearingBatch(ShaftInHousing, of=JournalBearing):
    """Journal bearings as arrays, which store no energy."""

    energy = ElementBatch.energy

    def _set_up(self, bearings: Sequence[JournalBearing]) -> None:
        self._clearance = np.array([own.clearance for own in bearings])
        sizes = [own.viscosity * own.radius * own.length**3 / own.clearance**2 for own in bearings]
        self._unit = np.array(sizes)

    def _law(self, z: Array, rates: Array, speed: Array, t: float) -> tuple[Array, Array, Array, Array]:
        c, unit = self._clearance[:, None], self._unit[:, None]
        r, v = z[:, :2] / c, rates[:, :2] / c
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
    q = 2.0 * v - speed * _across(r)
    p, square = _across(q), 1.0 - _dot(r, r)
    size, s = np.sqrt(_dot(q, q) + REST), np.sqrt(square)
    along, b = _dot(q, r), _dot(p, r) / size
    G = (np.pi + 2.0 * np.arctan(along / (size * s))) / s
    return -(3.0 * (2.0 * size + G * along) * r / square + G * q - 2.0 * b * p / (1.0 - b * b)) / (4.0 * square)


def _across(r: Array) -> Array:
    return np.stack([-r[..., 1], r[..., 0]], axis=-1)


def _dot(a: Array, b: Array) -> Array:
    return (a * b).sum(axis=-1, keepdims=True)
