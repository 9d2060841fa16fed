"""Frames along an element of a beam: the nodes seen from its middle, polynomials through them, and their strain.

The frame of reference is the middle node, or half-way from one to the other of two (Crisfield, Jelenic, *Proceedings of
the Royal Society A* 455, 1999, with frames in place of rotations). From there nodes are at ``d_i = log(H_ref^-1 H_i)``,
and with polynomials in the arc length, from 0 to 1, the element is the curve ``H(s) = H_ref exp(d(s))``. Its strain
``epsilon = T(d) d'`` has its first and second derivatives here: SE(3) is SO(3) over the dual numbers, so that each
formula is the one of rotation vectors for ``w + eps U`` with ``eps^2 = 0``, and a complex number with a tiny imaginary
part computes with them exactly (``fem_mbs/lie/parametrization.py``). docs/theory.md, "Elements of higher order".
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.beams.two_node import check_turn
from fem_mbs.lie import se3, so3
from fem_mbs.lie.parametrization import EPSILON, combined, dot, dual_of, frame_matrix, rotation_vector
from fem_mbs.lie.so3 import INVERSE_TANGENT

_INNER = 0.5 * (1.0 - 1.0 / np.sqrt(5.0))
LOBATTO = {1: np.array([0.0, 1.0]), 2: np.array([0.0, 0.5, 1.0]), 3: np.array([0.0, _INNER, 1.0 - _INNER, 1.0])}
"""Places of the nodes of an element of each order: with these a member has the exact forces of linear theory."""


def node_shares(count: int, order: int) -> Array:
    """Shares of a length at which the nodes of ``count`` equal elements of an order are, from 0 to 1."""
    return np.append((np.arange(count)[:, None] + LOBATTO[order][:-1]).ravel() / count, 1.0)


@cache
def gauss(points: int) -> tuple[Array, Array]:
    """Places and weights of Gauss quadrature from 0 to 1."""
    places, weights = np.polynomial.legendre.leggauss(points)
    rule = 0.5 * (1.0 + places), 0.5 * weights
    for array in rule:
        array.flags.writeable = False
    return rule


def lagrange(nodes: Array, s: Array) -> tuple[Array, Array]:
    """Values and derivatives ``(n, g, p)``, at places ``s`` (g,) or (n, g), of the polynomials of nodes ``(n, p)``.

    Polynomial ``i`` is 1 at node ``i`` and 0 at the others.
    """
    p = nodes.shape[-1]
    s = np.broadcast_to(s, (len(nodes), np.shape(s)[-1]))
    values, slopes = np.empty((2, *s.shape, p))
    for i in range(p):
        value, slope = np.ones_like(s), np.zeros_like(s)
        for j in range(p):
            if j != i:
                distance = (nodes[:, i] - nodes[:, j])[:, None]
                factor = (s - nodes[:, j, None]) / distance
                value, slope = value * factor, slope * factor + value / distance
        values[..., i], slopes[..., i] = value, slope
    return values, slopes


class ScrewStrain:
    """Strains at points with the coordinates ``d`` (..., 6) and their derivatives ``d'`` along the curve."""

    def __init__(self, d: Array, slope: Array) -> None:
        self.c, self.u = dual_of(d), dual_of(slope)
        self.f = rotation_vector(dot(self.c, self.c))

    def value(self) -> Array:
        """``T(d) d'``, shape ``(..., 6)``."""
        value = combined(*self.f[:3], self.c, self.u)
        return np.concatenate([value.imag / EPSILON, value.real], axis=-1)

    def by_slope(self) -> Array:
        """``T(d)``, the derivative against ``d'``, ``(..., 6, 6)``."""
        return frame_matrix(self.f.tangent(self.c))

    def by_place(self) -> Array:
        """Derivative against ``d``."""
        return frame_matrix(self.f.first(self.c, self.u))

    def second(self, stress: Array) -> tuple[Array, Array]:
        """Second derivatives of ``stress . epsilon``, against ``d`` twice and against ``d'`` and ``d``."""
        s = stress[..., :3] + 1j * EPSILON * stress[..., 3:]
        c, u = self.c, self.u
        p1, q1, r1, p2, q2, r2 = (part[..., 0] for part in self.f[3:])
        turned = so3.cross(u, s)
        a, b, cs, cu = (dot(*pair)[..., 0] for pair in ((s, u), (c, turned), (c, s), (c, u)))
        g = r1 * (cs * u + cu * s) - q1 * turned
        half = 2.0 * so3.outer((p2 * a - q2 * b + r2 * cs * cu) * c + g, c) + self.f.r * so3.outer(s, u)
        diagonal = 2.0 * (p1 * a - q1 * b + r1 * cs * cu)[..., None] * so3.IDENTITY
        return _matrix_dual(half + half.mT + diagonal), _matrix_dual(-self.f.first(-c, s))

    def rate_derivatives(self, rate: Array, slope_rate: Array) -> tuple[Array, Array]:
        """Derivatives of the strain rate ``D_d(T d') . rate + T . slope_rate`` against ``d`` and against ``d'``."""
        v, z = dual_of(rate), dual_of(slope_rate)
        by_place = self.f.second(self.c, self.u, v) + self.f.first(self.c, z)
        return frame_matrix(by_place), frame_matrix(self.f.rate(self.c, v))


def _matrix_dual(dual: Array) -> Array:
    """``[[0, A], [A, A']]`` of the second derivative ``A + eps A'`` of a number, of which the dual part counts."""
    matrix = np.zeros((*dual.shape[:-2], 6, 6))
    matrix[..., :3, 3:] = matrix[..., 3:, :3] = dual.real
    matrix[..., 3:, 3:] = dual.imag / EPSILON
    return matrix


class RelativeCoordinates:
    """Coordinates ``d`` (n, p, 6) of ``p`` section frames ``x`` (n, p, 3), ``R`` (n, p, 3, 3) an element of ``owners``.

    There may be several instants, one after the other.
    """

    def __init__(self, x: Array, R: Array, owners: Sequence[Any]) -> None:
        count = x.shape[1]
        first, last = (count - 1) // 2, count // 2
        R_ref, x_ref = R[:, first], x[:, first]
        if first != last:
            e = se3.log(*_seen(R[:, last], x[:, last], R_ref, x_ref))
            half, y = se3.exp(0.5 * e)
            R_ref, x_ref = R_ref @ half, x_ref + np.matvec(R_ref, y)
        self.operator = se3.InverseTangent.of_frame(*_seen(R, x, R_ref[:, None], x_ref[:, None]))
        turn = self.operator.phi_squared.max(axis=1)
        if first != last:
            turn = np.maximum(turn, 4.0 * self.operator.phi_squared[:, last])
        check_turn(turn.reshape(-1, len(owners)), owners)
        self.R_ref, self.x_ref = R_ref, x_ref
        self.d, self.inverse = self.operator.d, self.operator.forward()
        # increments of the reference frame from those of the middle nodes
        self.half = None if first == last else HalfWay(2.0 * self.d[:, last])
        if self.half is None:
            self.shares = {first: np.broadcast_to(se3.IDENTITY, (len(x), 6, 6))}
        else:
            h = self.half.value()
            self.shares = {first: 0.5 * (se3.IDENTITY - h), last: 0.5 * (se3.IDENTITY + h)}
        self.last = last
        self.back = self.operator.A - self.inverse
        """``-T^-1(-d)``, by which coordinates follow the reference frame."""

    def gradient(self) -> Array:
        """``Q`` with ``delta d = Q delta``, ``(n, p, 6, p, 6)``."""
        n, p = self.d.shape[:2]
        Q = np.zeros((n, p, 6, p, 6))
        _diagonal(Q)[...] += self.inverse
        for k, share in self.shares.items():
            Q[:, :, :, k] += self.back @ share[:, None]
        return Q

    def geometric(self, wrench: Array) -> Array:
        """Derivative ``(n, p, 6, p, 6)`` of ``Q^T wrench`` against ``d``."""
        n, p = self.d.shape[:2]
        G = np.zeros((n, p, 6, p, 6))
        turned = self.operator.derivative(wrench, transposed=True)
        back = se3.dual(wrench) - turned
        _diagonal(G)[...] += turned
        for k, share in self.shares.items():
            G[:, k] += (share.mT[:, None] @ back).swapaxes(1, 2)
        if self.half is not None:
            # of the shares (1 -+ h)/2, where the coordinates of the last of the middle nodes are half of e
            change = self.half.derivative(np.vecmat(wrench, self.back).sum(axis=1), transposed=True)
            for k, sign in zip(self.shares, (-1.0, 1.0), strict=True):
                G[:, k, :, self.last] += sign * change
        return G

    def rate_derivative(self, V: Array) -> Array:
        """Derivative ``(n, p, 6, p, 6)`` of ``Q V`` against ``d`` at constant velocities ``V`` (n, p, 6)."""
        n, p = self.d.shape[:2]
        V_ref = sum(np.matvec(share, V[:, k]) for k, share in self.shares.items())[:, None]
        result = np.zeros((n, p, 6, p, 6))
        _diagonal(result)[...] += self.operator.derivative(V - V_ref) - se3.bracket(V_ref)
        if self.half is not None:
            first, last = self.shares
            result[:, :, :, last] += self.back @ self.half.derivative(V[:, last] - V[:, first])[:, None]
        return result


class HalfWay:
    """``h = tanh(bracket(e)/4)``: the frame half-way along ``e`` follows its ends by ``(1 - h)/2`` and ``(1 + h)/2``.

    As ``bracket(e) = A`` satisfies ``A (A^2 + phi^2)^2 = 0``, it is ``a A + b A^3``; with
    ``tan(phi/4)/phi = 4 e(phi) - e(phi/2)``, ``e`` the coefficient of the inverse tangent operator of SO(3).
    """

    def __init__(self, e: Array) -> None:
        self.A, self.w = se3.bracket(e), e[..., 3:]
        self.squared = np.vecdot(self.w, self.w)
        (e0, e1, e2), (f0, f1, f2) = INVERSE_TANGENT(self.squared), INVERSE_TANGENT(0.25 * self.squared)
        x, slope = self.squared[..., None, None], 2.0 * e1 - 0.125 * f1
        self.a, self.b, self.bend = 4.0 * e0 - f0 - x * slope, -slope, e2 - f2 / 64.0

    def value(self) -> Array:
        """The matrix ``(..., 6, 6)``."""
        return self.A @ (self.a * se3.IDENTITY + self.b * (self.A @ self.A))

    def derivative(self, u: Array, transposed: bool = False) -> Array:
        """Derivative of ``h u``, or of ``h^T u``, against ``e``."""
        A = self.A.mT if transposed else self.A
        u1 = np.matvec(A, u)
        u2 = np.matvec(A, u1)
        u3 = np.matvec(A, u2)
        # of A v, of three vectors v
        first, second, third = (se3.dual(v) if transposed else -se3.bracket(v) for v in (u, u1, u2))
        result: Array = self.a * first + self.b * (third + A @ (second + A @ first))
        along = -2.0 * self.bend[..., 0] * (self.squared[..., None] * u1 + u3)
        result[..., 3:] += along[..., :, None] * self.w[..., None, :]
        return result


def _seen(R: Array, x: Array, R_ref: Array, x_ref: Array) -> tuple[Array, Array]:
    """Frames as seen from others."""
    return R_ref.mT @ R, np.vecmat(x - x_ref, R_ref)


def _diagonal(blocks: Array) -> Array:
    """Diagonal blocks ``(n, p, 6, 6)``, a view."""
    return np.einsum("niaib->niab", blocks)
