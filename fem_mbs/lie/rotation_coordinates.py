"""Coordinates of all rotations: Tait-Bryan angles, and Euler parameters.

Unlike the local coordinates of ``parametrization.py`` they last for a whole run. With coordinates ``c`` of the rotation
``R(c)`` the angular velocity in the body frame is ``G(c) c'`` (Holzinger, Arnold, Gerstmayr, *Evaluation and
implementation of Lie group integration methods*, 2024, section 2.1). All is batched over leading axes.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.lie import so3
from fem_mbs.lie.parametrization import Tangents


class RotationCoordinates:
    """Coordinates ``(..., size)`` of rotations, without a constraint if not said otherwise."""

    size: ClassVar[int]
    zero: ClassVar[Array]
    """Coordinates of the identity."""

    @staticmethod
    def rotation(c: Array) -> Array:
        """Rotation matrices ``(..., 3, 3)``."""
        raise NotImplementedError

    @staticmethod
    def coordinates(R: Array) -> Array:
        """Coordinates of rotation matrices."""
        raise NotImplementedError

    @staticmethod
    def jacobian(c: Array) -> Array:
        """``G`` (..., 3, size)."""
        raise NotImplementedError

    @staticmethod
    def tangents(c: Array, dc: Array, ddc: Array) -> Tangents:
        """``G``, its rate, and derivatives against ``c`` of angular velocity and acceleration, ``(..., 3, size)``."""
        raise NotImplementedError

    @staticmethod
    def rates(c: Array) -> Array:
        """Rates of the coordinates ``(..., size, 3)`` against angular velocities: ``c' = rates(c) Omega``."""
        raise NotImplementedError

    @staticmethod
    def closed(c: Array) -> Array:
        """The coordinates next to ``c`` that obey their constraint."""
        return c

    @staticmethod
    def missed(c: Array, dc: Array) -> Array:
        """The part of the rates that violates the time derivative of the constraint."""
        return 0.0 * dc

    @staticmethod
    def bend(c: Array, dc: Array) -> Array:
        """What the constraint demands of the second derivative, beyond the angular acceleration."""
        return 0.0 * dc


def _products(c: Array) -> Array:
    """``cos b cos c, cos b sin c, sin b cos c, sin b sin c, sin b, cos b, sin c, cos c, 1`` of angles, ``(..., 9)``."""
    cosine, sine = np.cos(c), np.sin(c)
    result = np.empty((*c.shape[:-1], 9))
    result[..., 0], result[..., 1] = cosine[..., 1] * cosine[..., 2], cosine[..., 1] * sine[..., 2]
    result[..., 2], result[..., 3] = sine[..., 1] * cosine[..., 2], sine[..., 1] * sine[..., 2]
    result[..., 4], result[..., 5] = sine[..., 1], cosine[..., 1]
    result[..., 6], result[..., 7] = sine[..., 2], cosine[..., 2]
    result[..., 8] = 1.0
    return result


def _jacobian_tables() -> tuple[Array, Array]:
    """What makes ``G`` of these products (9, 9), and ``G`` with its derivatives by b, c, bb, bc and cc, ``(9, 54)``."""
    G = np.zeros((9, 3, 3))
    G[0, 0, 0], G[1, 1, 0], G[4, 2, 0] = 1.0, -1.0, 1.0
    G[6, 0, 1], G[7, 1, 1], G[8, 2, 2] = 1.0, 1.0, 1.0
    by_b, by_c = np.zeros((2, 9, 9))
    for by, pairs in ((by_b, ((2, 0), (3, 1), (4, 5))), (by_c, ((1, 0), (3, 2), (6, 7)))):
        for sine, cosine in pairs:
            by[sine, cosine], by[cosine, sine] = 1.0, -1.0
    table = G.reshape(9, 9)
    first = by_b.T @ table, by_c.T @ table
    return table, np.concatenate([table, *first, by_b.T @ first[0], by_b.T @ first[1], by_c.T @ first[1]], axis=1)


_JACOBIAN, _DERIVATIVES = _jacobian_tables()


class TaitBryan(RotationCoordinates):
    """Angles ``(a, b, c)`` with ``R = Rx(a) Ry(b) Rz(c)``; singular at ``b = +-90`` degrees."""

    size: ClassVar = 3
    zero: ClassVar = np.zeros(3)

    @staticmethod
    def rotation(c: Array) -> Array:
        cosine, sine = np.cos(c), np.sin(c)
        ca, cb, cc = cosine[..., 0], cosine[..., 1], cosine[..., 2]
        sa, sb, sc = sine[..., 0], sine[..., 1], sine[..., 2]
        R = np.empty((*c.shape, 3))
        R[..., 0, 0], R[..., 0, 1], R[..., 0, 2] = cb * cc, -cb * sc, sb
        R[..., 1, 0], R[..., 1, 1], R[..., 1, 2] = ca * sc + sa * sb * cc, ca * cc - sa * sb * sc, -sa * cb
        R[..., 2, 0], R[..., 2, 1], R[..., 2, 2] = sa * sc - ca * sb * cc, sa * cc + ca * sb * sc, ca * cb
        return R

    @staticmethod
    def coordinates(R: Array) -> Array:
        """With ``b`` from -90 to 90 degrees; where it is singular, with ``a = 0``."""
        cb = np.hypot(R[..., 0, 0], R[..., 0, 1])
        b = np.arctan2(R[..., 0, 2], cb)
        a = np.where(cb > 0.0, np.arctan2(-R[..., 1, 2], R[..., 2, 2]), 0.0)
        ca, sa = np.cos(a), np.sin(a)
        # the second row of Ry(b) Rz(c) = Rx(-a) R
        c = np.arctan2(ca * R[..., 1, 0] + sa * R[..., 2, 0], ca * R[..., 1, 1] + sa * R[..., 2, 1])
        return np.stack([a, b, c], axis=-1)

    @staticmethod
    def jacobian(c: Array) -> Array:
        return (_products(c) @ _JACOBIAN).reshape(*c.shape, 3)

    @staticmethod
    def tangents(c: Array, dc: Array, ddc: Array) -> Tangents:
        parts = (_products(c) @ _DERIVATIVES).reshape(*c.shape[:-1], 2, 3, 3, 3)
        # G and its derivatives against b and c, and the second ones
        G, by = parts[..., 0, 0, :, :], parts[..., 0, 1:, :, :]
        dc_bc = dc[..., None, 1:, None, None]
        bend = (parts[..., 1, [[0, 1], [1, 2]], :, :] * dc_bc).sum(-3)
        first, second = np.zeros((2, *G.shape))
        first[..., 1:] = np.matvec(by, dc[..., None, :]).mT
        second[..., 1:] = (np.matvec(by, ddc[..., None, :]) + np.matvec(bend, dc[..., None, :])).mT
        return Tangents(G, (by * dc_bc[..., 0, :, :, :]).sum(-3), first, second)

    @staticmethod
    def rates(c: Array) -> Array:
        """``G^-1``."""
        cosine, sine = np.cos(c), np.sin(c)
        cc, sc = cosine[..., 2], sine[..., 2]
        inverse = np.zeros((*c.shape[:-1], 3, 3))
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse[..., 0, 0], inverse[..., 0, 1] = cc / cosine[..., 1], -sc / cosine[..., 1]
        inverse[..., 1, 0], inverse[..., 1, 1] = sc, cc
        inverse[..., 2, :2] = -sine[..., 1, None] * inverse[..., 0, :2]
        inverse[..., 2, 2] = 1.0
        return inverse


class EulerParameters(RotationCoordinates):
    """Unit quaternions ``e = (e0, e1, e2, e3)``, scalar first, with the constraint ``e.e = 1``.

    ``G = 2 (-e_v | e0 I - skew(e_v))``, ``G e = 0``, ``G G^T = 4 I``, and ``G(a) b = -G(b) a``.
    """

    size: ClassVar = 4
    zero: ClassVar = np.array([1.0, 0.0, 0.0, 0.0])

    @staticmethod
    def coordinates(R: Array) -> Array:
        w = so3.log(R)
        half = 0.5 * np.sqrt(np.vecdot(w, w))[..., None]
        return np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * w], axis=-1)

    @staticmethod
    def rotation(c: Array) -> Array:
        A = c[..., 0, None, None] * so3.IDENTITY + so3.skew(c[..., 1:])
        return A @ A + so3.outer(c[..., 1:], c[..., 1:])

    @staticmethod
    def jacobian(c: Array) -> Array:
        return _euler(c)

    @staticmethod
    def tangents(c: Array, dc: Array, ddc: Array) -> Tangents:
        rate = _euler(dc)
        return Tangents(_euler(c), rate, -rate, -_euler(ddc))

    @staticmethod
    def rates(c: Array) -> Array:
        """``G^T/4``."""
        return 0.25 * _euler(c).mT

    @staticmethod
    def closed(c: Array) -> Array:
        return c / np.sqrt(np.vecdot(c, c))[..., None]

    @staticmethod
    def missed(c: Array, dc: Array) -> Array:
        return np.vecdot(c, dc)[..., None] * c

    @staticmethod
    def bend(c: Array, dc: Array) -> Array:
        return -np.vecdot(dc, dc)[..., None] * c


COORDINATES: dict[str, type[RotationCoordinates]] = {"tait_bryan": TaitBryan, "euler_parameters": EulerParameters}


def _euler(e: Array) -> Array:
    """``G(e)``, linear in ``e``."""
    G = np.empty((*e.shape[:-1], 3, 4))
    G[..., 0] = -2.0 * e[..., 1:]
    G[..., 1:] = 2.0 * (e[..., 0, None, None] * so3.IDENTITY - so3.skew(e[..., 1:]))
    return G
