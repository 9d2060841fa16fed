"""Cylinders with planes and balls."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array, BoolArray
from fem_mbs.elements.contact.pairs import TINY, Nearest, across, dot, length, turned

ROUNDING, FEET = 0.005, 0.95
"""Height of the faces in their middle, and where they stand, against the radius."""


class PlaneCylinderData(NamedTuple):
    """A plane of a and a cylinder of b."""

    normal: Array
    point: Array
    center: Array
    axis: Array
    """``(n, 3)`` in the frame of b."""
    half: Array
    radius: Array


def plane_cylinder(d: Array, R_a: Array, R_b: Array, of: PlaneCylinderData) -> Nearest:
    """Of each end the lowest point, where it rolls, and three points on which its face stands.

    The lowest point of a sharp rim would pass to the other side at once when a cylinder that stands rocks. Faces are
    therefore a little round: in the direction N the end at ``c`` reaches ``N . c + k r (sqrt(s^2 + e^2) - e)`` with the
    sine s of N and the axis, exactly the radius r for s = 1; the point where it does so is the gradient of this.
    """
    n = np.einsum("nij,nj->ni", R_a, of.normal)
    u = np.einsum("nij,nj->ni", R_b, of.axis)
    center = np.einsum("nij,nj->ni", R_b, of.center)
    across_axis = dot(u, n)[:, None] * u - n
    q, e = np.sqrt(dot(across_axis, across_axis) + ROUNDING**2)[:, None], ROUNDING
    lowest = (of.radius / (np.sqrt(1.0 + e * e) - e))[:, None] * ((across_axis - e * e * n) / q + e * n)
    first, angle = across(of.axis), 2.0 * np.pi / 3.0 * np.arange(3)[:, None]
    feet = np.cos(angle) * first[:, None] + np.sin(angle) * np.cross(of.axis, first)[:, None]
    on_end = np.concatenate([lowest[:, None], turned(R_b, FEET * of.radius[:, None, None] * feet)], axis=1)
    along = (of.half[:, None] * u)[:, None]
    b = center[:, None] + np.concatenate([on_end - along, on_end + along], axis=1)
    w = d[:, None] + b - np.einsum("nij,nj->ni", R_a, of.point)[:, None]
    normal = np.broadcast_to(n[:, None], w.shape)
    return Nearest(dot(normal, w), normal, b)


class CylinderBallData(NamedTuple):
    """A cylinder of a and a ball of b."""

    center_a: Array
    axis: Array
    half: Array
    radius_a: Array
    center_b: Array
    radius_b: Array


def cylinder_ball(d: Array, R_a: Array, R_b: Array, of: CylinderBallData) -> Nearest:
    """The nearest point of the side, of a face or of a rim; from within, that of the side or of a face."""
    u = np.einsum("nij,nj->ni", R_a, of.axis)
    c = np.einsum("nij,nj->ni", R_b, of.center_b)
    w = d + c - np.einsum("nij,nj->ni", R_a, of.center_a)
    z = dot(u, w)
    off = w - z[:, None] * u
    central = np.abs(length(off)) < TINY
    any_way = np.einsum("nij,nj->ni", R_a, across(of.axis))
    r = np.where(central, 0.0, length(np.where(central[:, None], 1.0, off)))
    out = np.where(central[:, None], any_way, off / np.where(central, 1.0, r)[:, None])
    side = np.where(z.real < 0.0, -1.0, 1.0)
    over = np.stack([r - of.radius_a, side * z - of.half], axis=-1)
    rim: BoolArray = np.asarray((over.real > 0.0).all(-1))
    far = length(np.where(rim[:, None], over, 1.0))
    weights = np.where(rim[:, None], over / far[:, None], np.eye(2)[np.argmax(over.real, axis=-1)])
    gap = np.where(rim, far, dot(weights, over)) - of.radius_b
    n = weights[:, :1] * out + (weights[:, 1] * side)[:, None] * u
    return Nearest(gap[:, None], n[:, None], (c - of.radius_b[:, None] * n)[:, None])
