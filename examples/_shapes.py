"""What gears look like, and meshes of blocks."""

from __future__ import annotations

import meshio
import numpy as np

from fem_mbs.elements import Surface


def gear(teeth, module, width, rim, phase=0.0, cone=0.0, rotation=None):
    """Surface of a gear about z: teeth between the pitch circle and another radius ``rim``, in or out of it.

    ``phase`` turns it by that share of a tooth; ``cone`` is how much smaller it is at its upper face.
    """
    radius, pitch = module * teeth / 2, 2 * np.pi / teeth
    outward = np.sign(radius - rim)
    angles = (pitch * (np.arange(teeth)[:, None] + [-0.32, -0.14, 0.14, 0.32] + phase)).ravel()
    edge = np.tile(radius + module * outward * np.array([-1.2, 1, 1, -1.2]), teeth)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    n, k = len(angles), np.arange(len(angles))
    rings = [
        np.column_stack([share * size[:, None] * circle, np.full(n, z)])
        for share, z in ((1.0, -width / 2), (1.0 - cone, width / 2))
        for size in (edge, np.full(n, rim))
    ]
    # around: lower edge, upper edge, upper rim, lower rim
    loops = [0, 2, 3, 1, 0]
    quads = [
        np.stack([a * n + k, a * n + np.roll(k, -1), b * n + np.roll(k, -1), b * n + k], axis=-1)
        for a, b in zip(loops, loops[1:], strict=False)
    ]
    return Surface(meshio.Mesh(np.concatenate(rings), [("quad", np.concatenate(quads))]), rotation=rotation)


def blocks(x, y, z, part=None):
    """Mesh of hexahedra between planes at ``x``, ``y``, ``z``; of those alone whose centres (n, 3) are a ``part``."""
    points = np.stack(np.meshgrid(x, y, z, indexing="ij"), axis=-1)
    number = np.arange(points[..., 0].size).reshape(points.shape[:3])
    low, high = slice(None, -1), slice(1, None)
    around = [(low, low), (high, low), (high, high), (low, high)]
    cells = np.stack([number[i, j, k] for k in (low, high) for i, j in around], axis=-1).reshape(-1, 8)
    points = points.reshape(-1, 3)
    if part is not None:
        used, cells = np.unique(cells[part(points[cells].mean(axis=1))], return_inverse=True)
        points, cells = points[used], cells.reshape(-1, 8)
    return meshio.Mesh(points, [("hexahedron", cells)])
