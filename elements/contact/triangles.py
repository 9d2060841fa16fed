"""Meshes with balls: a contact for each triangle."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.contact.pairs import Nearest, clamped, dot, length, turned


class MeshBallData(NamedTuple):
    """Triangles of a and a ball of b."""

    corners: Array
    """``(n, r, 3, 3)`` in the frame of a: corner, component."""
    center: Array
    radius: Array


def mesh_ball(d: Array, R_a: Array, R_b: Array, of: MeshBallData) -> Nearest:
    """The nearest point of each triangle: of its inside, an edge or a corner. It is a skin, solid on no side."""
    c = turned(R_b, of.center[:, None])
    local = np.einsum("nji,nrj->nri", R_a, d[:, None] + c)
    P, Q, S = (of.corners[:, :, k] for k in range(3))
    u, v, w = Q - P, S - P, local - P
    uu, vv, uv, uw, vw = dot(u, u), dot(v, v), dot(u, v), dot(u, w), dot(v, w)
    det = uu * vv - uv * uv
    s, t = (vv * uw - uv * vw) / det, (uu * vw - uv * uw) / det
    inside = (s.real >= 0.0) & (t.real >= 0.0) & (s.real + t.real <= 1.0)
    edges = np.stack([_on_edge(*ends, local) for ends in ((P, Q), (Q, S), (S, P))])
    away = np.linalg.norm((edges - local).real, axis=-1)
    on_edge = np.take_along_axis(edges, np.argmin(away, axis=0)[None, ..., None], 0)[0]
    point = np.where(inside[..., None], P + s[..., None] * u + t[..., None] * v, on_edge)
    apart = local - point
    distance = length(apart)
    n = turned(R_a, apart / distance[..., None])
    return Nearest(distance - of.radius[:, None], n, c - of.radius[:, None, None] * n)


def _on_edge(P: Array, Q: Array, point: Array) -> Array:
    """The nearest points of segments."""
    along = Q - P
    return P + clamped(dot(along, point - P) / dot(along, along), 0.0, 1.0)[..., None] * along
