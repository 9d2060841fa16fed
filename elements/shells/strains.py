"""Strains of a quadrilateral: at its points, with the assumed shear of MITC4, and the mean ones of its membrane.

Its four section frames are seen from one in its middle, half-way between the frames half-way along both diagonals,
``H_m = h(h(H_1, H_3), h(H_2, H_4))`` with ``h(A, B) = A exp(log(A^-1 B)/2)`` on SE(3): it does not depend on the
numbering and moves with rigid motions. From there nodes are at ``d_i = log(H_m^-1 H_i)``. Beams do the same with one
parameter (``elements/beams/curve_strain.py``).

Between the coordinates ``d_i`` of the nodes everything is bilinear, ``d = sum N_i d_i``, and along a parameter
``alpha`` the strain is that of a beam, ``epsilon_alpha = T(d) d_,alpha = (Gamma, K)`` with ``Gamma = R^T x_,alpha`` and
``K = axial(R^T R_,alpha)``. Transverse shears are taken in the middles of the edges and are linear between two of them
(Bathe, Dvorkin, *International Journal for Numerical Methods in Engineering* 21, 1985).

Strains are components of ``Gamma_a`` in the frame. Where that is turned against the surface by small ``t = (gamma_1,
gamma_2, gamma_d/2)``, the shears at the point itself and half of ``gamma_d = Gamma_1 . e_2 - Gamma_2 . e_1``, these
shrink by ``t^2/2``, and tension would pull frames away from the surface. Membrane strains are therefore those of the
surface, ``Gamma_a . e_b + t . P t/2``, with the ``P`` of :func:`tension`.

*Mean membrane strains* are by the chords between nodes in place of edges that bow. Between two nodes of an edge the
interpolation runs through ``exp(m + s D)``, ``s`` from -1 to 1, with the mean ``m`` and half of the difference ``D`` of
their coordinates. On average it is at ``P - u``, with the mean ``P`` of both nodes; to second order in rotations

    P = U_m + (w_m x U_m + w_D x U_D)/2,
    u = w_D x U_D/3 + (w_D x (w_D x U_m + w_m x U_D) + w_m x (w_D x U_D))/9.

As built nothing bows: ``w_D`` counts from there. ``w_m`` is whole, as on a curved surface the bow of an edge has a part
in the plane of the element.

Membrane forces would do work on such bows, which weight, inertia, reactions and forces on nodes do not do: bending that
bows edges would set energy free, and thin sheets could not carry their own weight. With edges of the length ``l`` and
the normal ``n`` as built, the mean gradients of chords and bows are

    F = 1/A sum P (l n)^T,   G = 1/A sum u (l n)^T,

and the strain ``sym(V^T G)`` takes bows out of the mean, where ``V`` turns as ``F``: its tilts, and ones and its turn
in the plane. In linear theory these are the mean strains of the free formulation (Bergan, Felippa, *Computer Methods in
Applied Mechanics and Engineering* 50, 1985). docs/theory.md, "Shells".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.beams.curve_strain import HalfWayFrame, NodeFrame, RelativeCoordinates, ScrewStrain
from fem_mbs.lie import so3


def quad_coordinates(x: Array, R: Array, owners: Sequence[Any]) -> RelativeCoordinates:
    """Of section frames ``x`` (n, 4, 3), ``R`` (n, 4, 3, 3), counter-clockwise, of elements of ``owners``."""

    def middle(nodes: list[NodeFrame]) -> NodeFrame:
        return HalfWayFrame(*(HalfWayFrame(nodes[k], nodes[k + 2]) for k in (0, 1)))

    return RelativeCoordinates(x, R, owners, middle)


CORNERS = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
GAUSS = CORNERS / np.sqrt(3.0)
CENTER = np.zeros((1, 2))
EDGES = np.array([[0.0, -1.0], [0.0, 1.0], [-1.0, 0.0], [1.0, 0.0]])
"""Middles of edges: shears along the first parameter at two of them, along the second at two."""
ALTERNATING = 0.25 * np.array([1.0, -1.0, 1.0, -1.0])
MEASURES = 9
"""Strains at a point: membrane 11, 22, 12; bending 11, 22, 12; shear 1, 2; drilling."""


MEAN, HALF = 0.5 * (np.eye(4) + np.eye(4, k=1) + np.eye(4, k=-3)), 0.5 * (np.eye(4, k=1) + np.eye(4, k=-3) - np.eye(4))
"""Of each edge the mean, and half of the difference, of what its nodes have."""
HALF_TWICE, MEAN_HALF = (np.einsum("ei,ej->ije", a, HALF).reshape(16, 4) for a in (HALF, MEAN))


class Chords:
    """Membrane strains 11, 22, 12 of elements with coordinates ``d0`` (n, 4, 6) as built, of the area ``area`` (n,)."""

    def __init__(self, d0: Array, area: Array) -> None:
        x, y = np.moveaxis((2.0 * HALF @ d0)[..., :2], -1, 0)
        self._out = np.stack([y, -x], axis=-2) / area[:, None, None]
        """``l n/A`` of edges, ``(n, 2, 4)``."""
        self._by_mean, self._by_half = ((self._out[:, :, None] * part.T).reshape(-1, 1, 8, 4) for part in (MEAN, HALF))
        self._as_built = HALF @ (d0 * np.repeat([0.0, 1.0], 3))

    def strains(self, d: Array) -> Array:
        """Strains ``(..., n, 3)``."""
        F = self._gradients(*self._halves(d))
        return 0.5 * _strain(F, F[..., None])[..., 0]

    def _halves(self, d: Array) -> tuple[Array, Array]:
        """Means and halves of differences of coordinates ``(..., n, 4, 6)``; edges bow from where they were built."""
        return MEAN @ d, HALF @ d - self._as_built

    def gradient(self, d: Array) -> Array:
        """Strains by coordinates, ``(n, 3, 24)``."""
        m, D = self._halves(d)
        return _strain(self._gradients(m, D), self._by_coordinates(m, D))

    def second(self, d: Array, force: Array) -> Array:
        """Second derivatives ``(n, 24, 24)`` of ``force : strains``, of membrane forces ``(n, 2, 2)``."""
        n, (m, D) = len(d), self._halves(d)
        first = self._by_coordinates(m, D)
        on_first = force[:, None, None] @ first[:, ::-1]
        # forces on P and u of the edges, of which P moves with the nodes
        on_gradients = self._gradients(m, D)[:, ::-1] @ force[:, None]
        on_gradients[:, 0, :2] = _skew(on_gradients[:, 0, :2])
        on_edges = (on_gradients @ self._out[:, None]).mT
        dual = 0.5 * so3.skew(MEAN.T @ on_edges[:, 0])
        own, mixed = _second(m, D, on_edges[:, 1])
        half, both = (
            (pair @ part.reshape(n, 4, 36)).reshape(n, 4, 4, 6, 6).swapaxes(2, 3).reshape(n, 24, 24)
            for pair, part in ((HALF_TWICE, own), (MEAN_HALF, mixed))
        )
        second: Array = first.reshape(n, 12, 24).mT @ on_first.reshape(n, 12, 24) + half + both + both.mT
        nodes = np.einsum("niaib->niab", second.reshape(n, 4, 6, 4, 6))
        nodes[..., :3, 3:] += dual
        nodes[..., 3:, :3] -= dual
        return second

    def rate_derivative(self, d: Array, rate: Array) -> Array:
        """Derivative of the strain rates at constant rates ``(n, 4, 6)`` of the coordinates, ``(n, 3, 24)``."""
        (m, D), mean, half = self._halves(d), MEAN @ rate, HALF @ rate
        first = self._by_coordinates(m, D)
        own, mixed = _second(m[:, :, None], D[:, :, None], so3.IDENTITY)
        by_mean = np.matvec(mixed, half[:, :, None])
        by_half = np.matvec(own, half[:, :, None]) + np.vecmat(mean[:, :, None], mixed)
        chord_mean, chord_half = (
            0.5 * np.concatenate([so3.skew(part[..., 3:]), -so3.skew(part[..., :3])], axis=-1) for part in (mean, half)
        )
        second = self._by_nodes(np.stack([chord_mean, by_mean], axis=1), np.stack([chord_half, by_half], axis=1))
        rates = np.matvec(first, rate.reshape(-1, 1, 1, 24))
        return _strain(rates, first) + _strain(self._gradients(m, D), second)

    def _gradients(self, m: Array, D: Array) -> Array:
        """``V`` and ``G``, ``(..., n, 2, 3, 2)``."""
        (U, w), (dU, dw) = (np.split(part, 2, axis=-1) for part in (m, D))
        turned = np.cross(dw, dU)
        chord = U + 0.5 * (np.cross(w, U) + turned)
        back = turned / 3.0 + (np.cross(dw, np.cross(dw, U) + np.cross(w, dU)) + np.cross(w, turned)) / 9.0
        gradients = np.swapaxes(self._out[:, None] @ np.stack([chord, back], axis=-3), -2, -1)
        gradients[..., 0, :2, :] = np.eye(2) + _skew(gradients[..., 0, :2, :])
        return gradients

    def _by_coordinates(self, m: Array, D: Array) -> Array:
        """Derivatives of both gradients, ``(n, 2, 3, 2, 24)``."""
        (U, w), (dU, dw) = (so3.skew(np.stack(np.split(part, 2, axis=-1))) for part in (m, D))
        one = np.broadcast_to(so3.IDENTITY, w.shape)
        turned = dw @ dU - dU @ dw  # the skew matrix of the cross product
        both = dw @ w + w @ dw
        chord_mean = np.concatenate([one + 0.5 * w, -0.5 * U], axis=-1)
        chord_half = np.concatenate([0.5 * dw, -0.5 * dU], axis=-1)
        back_mean = np.concatenate([dw @ dw, -dw @ dU - turned], axis=-1) / 9.0
        across = dw @ U - U @ dw + w @ dU - dU @ w
        back_half = np.concatenate([dw / 3.0 + both / 9.0, -dU / 3.0 - (across + dw @ U + w @ dU) / 9.0], axis=-1)
        return self._by_nodes(np.stack([chord_mean, back_mean], axis=1), np.stack([chord_half, back_half], axis=1))

    def _by_nodes(self, by_mean: Array, by_half: Array) -> Array:
        """Derivatives of gradients, of those ``(n, 2, 4, 3, 6)`` of places against means and halves of differences."""
        n = len(by_mean)
        flat = self._by_mean @ by_mean.reshape(n, 2, 4, 18) + self._by_half @ by_half.reshape(n, 2, 4, 18)
        gradients = np.moveaxis(flat.reshape(n, 2, 2, 4, 3, 6), 4, 2).reshape(n, 2, 3, 2, 24)
        gradients[:, 0, :2] = np.moveaxis(_skew(np.moveaxis(gradients[:, 0, :2], -1, 1)), 1, -1)
        return gradients


def _skew(A: Array) -> Array:
    """The turn within the plane, of gradients ``(..., 2, 2)``."""
    return 0.5 * (A - np.swapaxes(A, -2, -1))


def _strain(gradients: Array, change: Array) -> Array:
    """Changes ``(..., 3, c)`` of the strains 11, 22, 12 of ``V^T G`` with those ``(..., 2, 3, 2, c)`` of both."""
    *lead, _, _, _, c = change.shape
    every = gradients[..., ::-1, :, :].reshape(*lead, 6, 2).mT @ change.reshape(*lead, 6, 2 * c)
    by_axes = every.reshape(*lead, 2, 2, c)
    return np.stack([by_axes[..., 0, 0, :], by_axes[..., 1, 1, :], by_axes[..., 0, 1, :] + by_axes[..., 1, 0, :]], -2)


def _second(m: Array, D: Array, force: Array) -> tuple[Array, Array]:
    """Second derivatives ``(..., 6, 6)`` of ``force . u``, against ``D`` twice and against ``m`` and ``D``."""
    f = so3.skew(force)
    (U, w), (dU, dw) = (so3.skew(np.stack(np.split(part, 2, axis=-1))) for part in (m, D))
    # f . (a x (b x c)) has the second derivatives c f against b, a; -b f against c, a; a f - f a against b, c
    own, mixed = np.zeros((2, *np.broadcast_shapes(f.shape, dw.shape)[:-2], 6, 6))
    own[..., 3:, 3:] = (U @ f + f @ U) / 9.0
    own[..., 3:, :3] = (w @ f - 2.0 * f @ w) / 9.0 - f / 3.0
    own[..., :3, 3:] = own[..., 3:, :3].mT
    mixed[..., :3, 3:] = (f @ dw - 2.0 * dw @ f) / 9.0
    mixed[..., 3:, :3] = (dw @ f - 2.0 * f @ dw) / 9.0
    mixed[..., 3:, 3:] = (dU @ f + f @ dU) / 9.0
    return own, mixed


def bilinear(points: Array) -> tuple[Array, Array]:
    """Values ``(m, 4)`` and slopes ``(m, 2, 4)`` of the polynomials of the corners at ``points`` (m, 2)."""
    factors = 1.0 + points[:, None] * CORNERS
    values = 0.25 * factors.prod(axis=-1)
    slopes = 0.25 * np.stack([CORNERS[:, 0] * factors[..., 1], CORNERS[:, 1] * factors[..., 0]], axis=1)
    return values, slopes


def tension(force: Array) -> Array:
    """The matrices ``sum n_m P_m`` (..., 3, 3) of membrane forces 11, 22, 12 ``(..., 3)``."""
    n11, n22, n12 = np.moveaxis(force, -1, 0)
    zero = np.zeros_like(n11)
    rows: list[list[Any]] = [[n11, n12, zero], [n12, n22, zero], [zero, zero, n11 + n22]]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def of_turn(t: Array, change: Array) -> Array:
    """Membrane strains ``t . P change`` (..., 3, c) of a turn ``t`` (..., 3) and changes of it ``(..., 3, c)``."""
    (t1, t2, t3), (c1, c2, c3) = np.moveaxis(t, -1, 0)[..., None], np.moveaxis(change, -2, 0)
    drilling = t3 * c3
    return np.stack([t1 * c1 + drilling, t2 * c2 + drilling, t1 * c2 + t2 * c1], axis=-2)


class ShellPoints:
    """Strains of elements with coordinates ``d0`` (n, 4, 6) as built, at ``m`` points (m, 2) of each.

    Attributes
    ----------
    basis : (r, 2, 4)
        Values and slopes of the polynomials in ``r = 2m + 4`` rows: two directions at each point, then the four edges.
    area : (n, m)
        Area of the surface as built per unit of the parameters.
    as_built : (n, m, 9), turned : (n, m, 3)
        Strains, and turns of frames against the surface, as built.
    """

    def __init__(self, d0: Array, points: Array) -> None:
        values, slopes = bilinear(points)
        along = np.stack([np.repeat(values, 2, axis=0), slopes.reshape(-1, 4)], axis=1)
        edge_values, edge_slopes = bilinear(EDGES)
        edges = np.stack([edge_values, edge_slopes[np.arange(4), [0, 0, 1, 1]]], axis=1)
        self.basis = np.concatenate([along, edges])
        rows = self.rows(d0).value()
        n, m = len(d0), len(points)
        J = rows[:, : 2 * m].reshape(n, m, 2, 6)[..., :2]
        self.area = np.linalg.det(J)
        slopes = np.linalg.inv(J).astype(np.float64)
        self._at_points = np.einsum("iac,nkab->nkibc", LOCAL, slopes).reshape(n, m, MEASURES + 3, 12)
        xi, eta = points.T
        zero = np.zeros(m)
        between = 0.5 * np.array([[1.0 - eta, 1.0 + eta, zero, zero], [zero, zero, 1.0 - xi, 1.0 + xi]])
        self._shears = slopes @ np.moveaxis(between, -1, 0)
        self.as_built, self.turned = self.local(rows)
        self.chords = Chords(d0, 4.0 / m * self.area.sum(axis=1))

    def rows(self, d: Array) -> ScrewStrain:
        """Strains along the parameters, in the rows, for coordinates ``(..., n, 4, 6)``."""
        return ScrewStrain(self.basis[:, 0] @ d, self.basis[:, 1] @ d)

    def strains(self, d: Array, measure: ScrewStrain) -> tuple[Array, Array]:
        """Strains ``(..., n, m, 9)`` and turns of frames ``(..., n, m, 3)`` beyond those as built."""
        strains, turns = self.local(measure.value())
        strains, t = strains - self.as_built, turns - self.turned
        strains[..., :3] += 0.5 * of_turn(t, t[..., None])[..., 0] + self.chords.strains(d)[..., None, :]
        return strains, t

    def local(self, rows: Array) -> tuple[Array, Array]:
        """The linear part of both, by the strains ``(..., n, r, 6)`` of the rows."""
        m = self._at_points.shape[1]
        along, edges = rows[..., : 2 * m, :], rows[..., 2 * m :, 2]
        both = np.matvec(self._at_points, along.reshape(*rows.shape[:-2], m, 12))
        both[..., 6:8] = np.matvec(self._shears, edges[..., None, :])
        return both[..., :MEASURES], both[..., MEASURES:]

    def gradient(self, place: Array, slope: Array) -> tuple[Array, Array]:
        """The linear part by coordinates, ``(n, m, 9, 24)`` and ``(n, m, 3, 24)``, of rows by place and by slope.

        Both are ``(n, r, 6, 6)``; coordinates come with the values and the two slopes of their polynomials.
        """
        n, m = self._at_points.shape[:2]
        parts = np.empty((n, m, 3, 12, 6))
        np.matmul(self._at_points, place[:, : 2 * m].reshape(n, m, 12, 6), out=parts[:, :, 0])
        by_axes = self._at_points.reshape(n, m, 12, 2, 6).swapaxes(2, 3)
        np.matmul(by_axes, slope[:, : 2 * m].reshape(n, m, 2, 6, 6), out=parts[:, :, 1:])
        value, slopes = self.basis[: 2 * m : 2, 0, :, None], self.basis[: 2 * m, 1].reshape(m, 2, 4).mT
        both = np.concatenate([value, slopes], axis=-1) @ parts.reshape(n, m, 3, 72)
        both = both.reshape(n, m, 4, 12, 6).swapaxes(2, 3).reshape(n, m, 12, 24)
        edges = sum(
            part[:, 2 * m :, 2, None] * self.basis[2 * m :, k, :, None] for k, part in enumerate((place, slope))
        )
        both[:, :, 6:8] = self._shears @ edges.reshape(n, 1, 4, 24)
        return both[:, :, :MEASURES], both[:, :, MEASURES:]

    def at_rows(self, stress: Array, turning: Array) -> Array:
        """Stresses ``(n, m, 9)`` and moments ``(n, m, 3)`` of turns as those of the rows, ``(n, r, 6)``."""
        n, m = self._at_points.shape[:2]
        result = np.zeros((n, 2 * m + 4, 6))
        both = np.vecmat(np.concatenate([stress, turning], axis=-1), self._at_points)
        result[:, : 2 * m] = both.reshape(n, 2 * m, 6)
        result[:, 2 * m :, 2] = np.vecmat(stress[..., 6:8], self._shears).sum(axis=1)
        return result


def _local() -> Array:
    """Strains at a point and turns of frames by components of the strains along both axes, ``(12, 2, 6)``."""
    result = np.zeros((MEASURES + 3, 2, 6))
    # measure, axis, component of the strain along it, and its sign; transverse shears are those of the edges
    parts = [(0, 0, 0, 1.0), (1, 1, 1, 1.0), (2, 0, 1, 1.0), (2, 1, 0, 1.0)]
    parts += [(3, 0, 4, 1.0), (4, 1, 3, -1.0), (5, 0, 3, -1.0), (5, 1, 4, 1.0), (8, 0, 1, 1.0), (8, 1, 0, -1.0)]
    parts += [(9, 0, 2, 1.0), (10, 1, 2, 1.0), (11, 0, 1, 0.5), (11, 1, 0, -0.5)]
    for measure, axis, component, sign in parts:
        result[measure, axis, component] = sign
    return result


LOCAL = _local()
