"""Coordinates of all rotations: Tait-Bryan angles, and Euler parameters.

Unlike the local coordinates of ``parametrization.py`` they last for a whole run. With coordinates ``c`` of the rotation
``R(c)`` the angular velocity in the body frame is ``G(c) c'`` (Holzinger, Arnold, Gerstmayr, *Evaluation and
implementation of Lie group integration methods*, 2024, section 2.1). Each class has the same static functions, batched
over leading axes.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.lie import so3
from fem_mbs.lie.parametrization import Tangents


class RotationCoordinates(Protocol):
    """What is asked of coordinates ``(..., size)`` of rotations."""

    size: ClassVar[int]
    zero: ClassVar[Array]
    """Coordinates of the identity."""

    @staticmethod
    def rotation(c: Array) -> Array:
        """Rotation matrices ``(..., 3, 3)``."""
        ...

    @staticmethod
    def coordinates(R: Array) -> Array:
        """Coordinates of rotation matrices."""
        ...

    @staticmethod
    def tangents(c: Array, dc: Array, ddc: Array) -> Tangents:
        """``G``, its rate, and derivatives against ``c`` of angular velocity and acceleration, ``(..., 3, size)``."""
        ...

    @staticmethod
    def rates(c: Array) -> Array:
        """Rates of the coordinates ``(..., size, 3)`` against angular velocities: ``c' = rates(c) Omega``."""
        ...

    @staticmethod
    def closed(c: Array) -> Array:
        """The coordinates next to ``c`` that obey their constraint."""
        ...

    @staticmethod
    def missed(c: Array, dc: Array) -> Array:
        """The part of the rates that violates the time derivative of the constraint."""
        ...

    @staticmethod
    def bend(c: Array, dc: Array) -> Array:
        """What the constraint demands of the second derivative, beyond the angular acceleration."""
        ...


class TaitBryan:
    """Angles ``(a, b, c)`` with ``R = Rx(a) Ry(b) Rz(c)``; singular at ``b = +-90`` degrees."""

    size: ClassVar = 3
    zero: ClassVar = np.zeros(3)

    @staticmethod
    def rotation(c: Array) -> Array:
        (ca, cb, cc), (sa, sb, sc) = _split(np.cos(c)), _split(np.sin(c))
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
    def tangents(c: Array, dc: Array, ddc: Array) -> Tangents:
        """By the columns of ``G``, ``g_a = (cos b cos c, -cos b sin c, sin b)`` and ``g_b = (sin c, cos c, 0)``."""
        (_, cb, cc), (_, sb, sc) = _split(np.cos(c)), _split(np.sin(c))
        T, by_b, by_c, by_bb, by_bc, by_cc = np.zeros((6, *c.shape[:-1], 3, 3))
        T[..., 2, 2] = 1.0
        # g_a and its derivatives
        for own, factor, along in ((T, cb, sb), (by_b, -sb, cb), (by_bb, -cb, -sb)):
            own[..., 0, 0], own[..., 1, 0], own[..., 2, 0] = factor * cc, -factor * sc, along
        for own, factor in ((by_c, cb), (by_bc, -sb)):
            own[..., 0, 0], own[..., 1, 0] = -factor * sc, -factor * cc
        # g_b and its derivatives
        T[..., 0, 1], T[..., 1, 1] = sc, cc
        by_c[..., 0, 1], by_c[..., 1, 1] = cc, -sc
        by_cc[..., :2, :2] = -T[..., :2, :2]
        db, dC = dc[..., 1, None, None], dc[..., 2, None, None]
        rate = by_b * db + by_c * dC
        first, second = np.zeros((2, *T.shape))
        first[..., 1], first[..., 2] = np.matvec(by_b, dc), np.matvec(by_c, dc)
        second[..., 1] = np.matvec(by_b, ddc) + np.matvec(by_bb * db + by_bc * dC, dc)
        second[..., 2] = np.matvec(by_c, ddc) + np.matvec(by_bc * db + by_cc * dC, dc)
        return Tangents(T, rate, first, second)

    @staticmethod
    def rates(c: Array) -> Array:
        """``G^-1``."""
        (_, cb, cc), (_, sb, sc) = _split(np.cos(c)), _split(np.sin(c))
        inverse = np.zeros((*c.shape[:-1], 3, 3))
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse[..., 0, 0], inverse[..., 0, 1] = cc / cb, -sc / cb
        inverse[..., 1, 0], inverse[..., 1, 1] = sc, cc
        inverse[..., 2, :2] = -sb[..., None] * inverse[..., 0, :2]
        inverse[..., 2, 2] = 1.0
        return inverse

    @staticmethod
    def closed(c: Array) -> Array:
        """Angles have no constraint."""
        return c

    @staticmethod
    def missed(c: Array, dc: Array) -> Array:
        return 0.0 * dc

    bend = missed


class EulerParameters:
    """Unit quaternions ``e = (e0, e1, e2, e3)``, scalar first, with the constraint ``e.e = 1``.

    ``G = 2 (-e_v | e0 I - skew(e_v))``, ``G e = 0``, ``G G^T = 4 I``, and ``G(a) b = -G(b) a``.
    """

    size: ClassVar = 4
    zero: ClassVar = np.array([1.0, 0.0, 0.0, 0.0])
    rotation = staticmethod(so3.from_quaternion)
    coordinates = staticmethod(so3.quaternion)

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
        unit: Array = c / np.sqrt(np.vecdot(c, c))[..., None]
        return unit

    @staticmethod
    def missed(c: Array, dc: Array) -> Array:
        part: Array = np.vecdot(c, dc)[..., None] * c
        return part

    @staticmethod
    def bend(c: Array, dc: Array) -> Array:
        part: Array = -np.vecdot(dc, dc)[..., None] * c
        return part


COORDINATES: dict[str, type[RotationCoordinates]] = {"tait_bryan": TaitBryan, "euler_parameters": EulerParameters}


def _euler(e: Array) -> Array:
    """``G(e)``, linear in ``e``."""
    G = np.empty((*e.shape[:-1], 3, 4))
    G[..., 0] = -2.0 * e[..., 1:]
    G[..., 1:] = 2.0 * (e[..., 0, None, None] * so3.IDENTITY - so3.skew(e[..., 1:]))
    return G


def _split(c: Array) -> tuple[Array, ...]:
    return tuple(np.moveaxis(c, -1, 0))
