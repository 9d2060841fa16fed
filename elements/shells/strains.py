"""Strains of a quadrilateral at its points: membrane, bending, drilling, and the assumed shear of MITC4.

Between the coordinates ``d_i`` of the nodes everything is bilinear, ``d = sum N_i d_i``, and along a parameter
``alpha`` the strain is that of a beam, ``epsilon_alpha = T(d) d_,alpha = (Gamma, K)`` with ``Gamma = R^T x_,alpha`` and
``K = axial(R^T R_,alpha)``. Transverse shears are taken in the middles of the edges and are linear between two of them
(Bathe, Dvorkin, *International Journal for Numerical Methods in Engineering* 21, 1985).

Strains are components of ``Gamma_a`` in the frame. Where that is turned against the surface by small ``t = (gamma_1,
gamma_2, gamma_d/2)``, the shears at the point itself and half of ``gamma_d = Gamma_1 . e_2 - Gamma_2 . e_1``, these
shrink by ``t^2/2``, and tension would pull frames away from the surface. Membrane strains are therefore those of the
surface, ``Gamma_a . e_b + t . P t/2``, with the ``P`` of :func:`tension`. docs/theory.md, "Shells".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.beams.curve_strain import ScrewStrain
from fem_mbs.elements.shells.chords import Chords

CORNERS = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
GAUSS = CORNERS / np.sqrt(3.0)
CENTER = np.zeros((1, 2))
EDGES = np.array([[0.0, -1.0], [0.0, 1.0], [-1.0, 0.0], [1.0, 0.0]])
"""Middles of edges: shears along the first parameter at two of them, along the second at two."""
ALTERNATING = 0.25 * np.array([1.0, -1.0, 1.0, -1.0])
MEASURES = 9
"""Strains at a point: membrane 11, 22, 12; bending 11, 22, 12; shear 1, 2; drilling."""


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
