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
    by_rows : (n, 9m, 6r)
        Strains at the points, linear in those of the rows.
    as_built : (n, 9m)
        What these are as built.
    turns : (n, 3m, 6r), turned : (n, 3m)
        The same of the turns of frames against the surface.
    """

    def __init__(self, d0: Array, points: Array) -> None:
        values, slopes = bilinear(points)
        along = np.stack([np.repeat(values, 2, axis=0), slopes.reshape(-1, 4)], axis=1)
        edge_values, edge_slopes = bilinear(EDGES)
        edges = np.stack([edge_values, edge_slopes[np.arange(4), [0, 0, 1, 1]]], axis=1)
        self.basis = np.concatenate([along, edges])
        rows = self.rows(d0).value()
        n, m = len(d0), len(points)
        tangents = rows[:, : 2 * m].reshape(n, m, 2, 6)
        J = tangents[..., :2]
        self.area = np.linalg.det(J)
        self.by_rows = _by_rows(np.linalg.inv(J).astype(np.float64), points)
        self.turns = _turns(np.linalg.inv(J).astype(np.float64), m)
        self.as_built, self.turned = (np.matvec(part, rows.reshape(n, -1)) for part in (self.by_rows, self.turns))

    def rows(self, d: Array) -> ScrewStrain:
        """Strains along the parameters, in the rows, for coordinates ``(n, 4, 6)``."""
        return ScrewStrain(self.basis[:, 0] @ d, self.basis[:, 1] @ d)

    def strains(self, d: Array) -> Array:
        """Strains ``(n, m, 9)`` of coordinates ``(n, 4, 6)``, of several instants one after the other."""
        n, rows = len(self.area), self.rows(d).value()
        values = np.matvec(self.by_rows, rows.reshape(-1, n, self.by_rows.shape[-1])) - self.as_built
        strains: Array = values.reshape(len(d), -1, MEASURES)
        t = (np.matvec(self.turns, rows.reshape(-1, n, self.by_rows.shape[-1])) - self.turned).reshape(len(d), -1, 3)
        strains[..., :3] += 0.5 * of_turn(t, t[..., None])[..., 0]
        return strains


def _by_rows(slopes: Array, points: Array) -> Array:
    """The linear map from strains along parameters to those in local axes, ``slopes`` (n, m, 2, 2) = ``J^-1``."""
    n, m = slopes.shape[:2]
    result = np.zeros((n, m, MEASURES, 2 * m + 4, 6))
    # measure, component of the strain along axis a, and its sign
    parts = [(0, 0, 0, 1.0), (1, 1, 1, 1.0), (2, 1, 0, 1.0), (2, 0, 1, 1.0)]
    parts += [(3, 4, 0, 1.0), (4, 3, 1, -1.0), (5, 3, 0, -1.0), (5, 4, 1, 1.0), (8, 1, 0, 1.0), (8, 0, 1, -1.0)]
    for k, (xi, eta) in enumerate(points):
        for measure, component, axis, sign in parts:
            result[:, k, measure, 2 * k : 2 * k + 2, component] += sign * slopes[:, k, axis]
        weights = 0.5 * np.array([1.0 - eta, 1.0 + eta, 1.0 - xi, 1.0 + xi])
        for axis in range(2):
            result[:, k, 6 + axis, 2 * m :, 2] = np.repeat(slopes[:, k, axis], 2, axis=-1) * weights
    return result.reshape(n, MEASURES * m, -1)


def _turns(slopes: Array, m: int) -> Array:
    """The linear map from strains along parameters to turns of frames against the surface."""
    n = len(slopes)
    result = np.zeros((n, m, 3, 2 * m + 4, 6))
    for k in range(m):
        for turn, component, axis, factor in ((0, 2, 0, 1.0), (1, 2, 1, 1.0), (2, 1, 0, 0.5), (2, 0, 1, -0.5)):
            result[:, k, turn, 2 * k : 2 * k + 2, component] += factor * slopes[:, k, axis]
    return result.reshape(n, 3 * m, -1)
