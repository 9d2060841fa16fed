"""Frames along an element of a beam: the nodes seen from its middle, polynomials through them, and their strain.

The frame of reference is the middle node, or half-way from one to the other of two (Crisfield, Jelenic, *Proceedings of
the Royal Society A* 455, 1999, with frames in place of rotations). From there nodes are at ``d_i = log(H_ref^-1 H_i)``,
and with polynomials in the arc length, from 0 to 1, the element is the curve ``H(s) = H_ref exp(d(s))``. Its strain
``epsilon = T(d) d'`` has its first and second derivatives here: SE(3) is SO(3) over the dual numbers, so that each
formula is the one of rotation vectors for ``w + eps U`` with ``eps^2 = 0``, and a complex number with a tiny imaginary
part computes with them exactly (``fem_mbs/lie/parametrization.py``). docs/theory.md, "Elements of higher order".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from itertools import product
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


class NodeFrame:
    """The frame of the ``k``-th of some frames ``x`` (n, p, 3), ``R`` (n, p, 3, 3), which follows itself alone.

    Attributes
    ----------
    nodes : list of int
        Which of the frames it follows, ``q`` of them.
    shares : (n, q, 6, 6)
        By which it does: ``delta = sum_i A_i delta_i``.
    turn : (n,)
        Squares of the largest turn between frames that it is half-way between.
    """

    def __init__(self, x: Array, R: Array, k: int) -> None:
        self.x, self.R, self.nodes, self.turn = x[:, k], R[:, k], [k], np.zeros(len(x))
        self.shares = np.broadcast_to(se3.IDENTITY, (len(x), 1, 6, 6))

    def moving(self, V: Array) -> Array:
        """Its velocity ``(n, 6)`` with those of the frames ``(n, p, 6)``."""
        return np.matvec(self.shares, V[:, self.nodes]).sum(axis=1)

    def bend(self, w: Array) -> Array:
        """Derivative ``(n, 6q, 6q)`` of ``A_i^T w`` at constant wrenches ``w`` (n, 6)."""
        return np.zeros((len(w), 6, 6))

    def rate(self, V: Array) -> Array:
        """Derivative ``(n, 6, 6q)`` of its velocity at constant velocities of the frames."""
        return np.zeros((len(V), 6, 6))


class HalfWayFrame(NodeFrame):
    """The frame half-way from one to another one, both of nodes or half-way themselves: ``H = H_a exp(e/2)``.

    With ``h`` of ``e = log(H_a^-1 H_b)`` it follows them by ``(1 - h)/2`` and ``(1 + h)/2``.
    """

    def __init__(self, a: NodeFrame, b: NodeFrame) -> None:
        self.e = e = se3.log(*_seen(b.R, b.x, a.R, a.x))
        turned, y = se3.exp(0.5 * e)
        self.R, self.x, self.half = a.R @ turned, a.x + np.matvec(a.R, y), HalfWay(e)
        h = self.half.value()
        self.a, self.b, self.nodes, self.by_a = a, b, a.nodes + b.nodes, 0.5 * (se3.IDENTITY - h)
        self.by_b = se3.IDENTITY - self.by_a
        self.shares = np.concatenate([self.by_a[:, None] @ a.shares, self.by_b[:, None] @ b.shares], axis=1)
        self.turn = np.maximum(self.half.squared, np.maximum(a.turn, b.turn))

    def bend(self, w: Array) -> Array:
        n, k, size = len(w), 6 * len(self.a.nodes), 6 * len(self.nodes)
        change = 0.5 * self.half.derivative(w, transposed=True) @ self._stretch
        apart = np.concatenate([-self.a.shares, self.b.shares], axis=1)
        result: Array = (apart.mT @ change[:, None]).reshape(n, size, size)
        result[:, :k, :k] += self.a.bend(np.vecmat(w, self.by_a))
        result[:, k:, k:] += self.b.bend(np.vecmat(w, self.by_b))
        return result

    def rate(self, V: Array) -> Array:
        k, away = 6 * len(self.a.nodes), self.b.moving(V) - self.a.moving(V)
        result: Array = 0.5 * self.half.derivative(away) @ self._stretch
        result[..., :k] += self.by_a @ self.a.rate(V)
        result[..., k:] += self.by_b @ self.b.rate(V)
        return result

    @cached_property
    def _stretch(self) -> Array:
        """How ``e`` follows the nodes, ``(n, 6, 6q)``."""
        operator = se3.InverseTangent.of(self.e)
        forward = operator.value
        parts = [operator.back[:, None] @ self.a.shares, forward[:, None] @ self.b.shares]
        return np.concatenate(parts, axis=1).swapaxes(1, 2).reshape(len(self.e), 6, -1)


def middle_of_chain(nodes: list[NodeFrame]) -> NodeFrame:
    """The middle node of an element of a beam, or half-way from one to the other of two."""
    first, last = nodes[(len(nodes) - 1) // 2], nodes[len(nodes) // 2]
    return first if first is last else HalfWayFrame(first, last)


class RelativeCoordinates:
    """Coordinates ``d`` (n, p, 6) of ``p`` section frames ``x`` (n, p, 3), ``R`` (n, p, 3, 3) an element of ``owners``.

    They are seen from a frame in the ``middle`` of the element. There may be several instants, one after the other.
    """

    def __init__(
        self,
        x: Array,
        R: Array,
        owners: Sequence[Any],
        middle: Callable[[list[NodeFrame]], NodeFrame] = middle_of_chain,
    ) -> None:
        self.middle = of = middle([NodeFrame(x, R, k) for k in range(x.shape[1])])
        self.R, self.x = of.R, of.x
        self.operator = se3.InverseTangent.of_frame(*_seen(R, x, of.R[:, None], of.x[:, None]))
        turn = np.maximum(self.operator.phi_squared.max(axis=1), of.turn)
        check_turn(turn.reshape(-1, len(owners)), owners)
        self.d, self.inverse = self.operator.d, self.operator.value
        self.back = self.operator.back
        """``-T^-1(-d)``, by which coordinates follow the middle."""
        self._places = [(slice(6 * i, 6 * i + 6), slice(6 * k, 6 * k + 6)) for i, k in enumerate(of.nodes)]
        """Of increments of the frames that the middle follows, among these and among all."""

    def gradient(self) -> Array:
        """``Q`` with ``delta d = Q delta``, ``(n, 6p, 6p)``."""
        n, p = self.d.shape[:2]
        Q = np.zeros((n, p, 6, p, 6))
        np.einsum("niaib->niab", Q)[...] += self.inverse
        for i, k in enumerate(self.middle.nodes):
            Q[:, :, :, k] += self.back @ self.middle.shares[:, i, None]
        return Q.reshape(n, 6 * p, 6 * p)

    def geometric(self, wrench: Array, Q: Array) -> Array:
        """Derivative ``(n, 6p, 6p)`` of ``Q^T wrench`` (n, p, 6) against the increments of the frames."""
        n, p = self.d.shape[:2]
        rows, turned = Q.reshape(n, p, 6, 6 * p), self.operator.derivative(wrench, transposed=True)
        result = turned @ rows
        # the wrench that is moved to the middle, and how it changes there
        change = ((se3.dual(wrench) - turned) @ rows).sum(axis=1)
        for i, k in enumerate(self.middle.nodes):
            result[:, k] += self.middle.shares[:, i].mT @ change
        return result.reshape(n, 6 * p, 6 * p) + self.bend(np.vecmat(wrench, self.back).sum(axis=1))

    def bend(self, w: Array) -> Array:
        """Derivative ``(n, 6p, 6p)`` of what wrenches ``w`` (n, 6) on the middle put on the frames."""
        n, p = self.d.shape[:2]
        result, own = np.zeros((n, 6 * p, 6 * p)), self.middle.bend(w)
        for (i, k), (j, m) in product(self._places, repeat=2):
            result[:, k, m] = own[:, i, j]
        return result

    def rate_derivative(self, V: Array, Q: Array) -> Array:
        """Derivative ``(n, 6p, 6p)`` of ``Q V`` at constant velocities ``V`` (n, p, 6) against the increments."""
        n, p = self.d.shape[:2]
        V_m, change, own = self.middle.moving(V)[:, None], np.zeros((n, 1, 6, 6 * p)), self.middle.rate(V)
        for i, k in self._places:
            change[:, 0, :, k] = own[:, :, i]
        local = self.operator.derivative(V - V_m) - se3.bracket(V_m)
        return (local @ Q.reshape(n, p, 6, 6 * p) + self.back @ change).reshape(n, 6 * p, 6 * p)


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
