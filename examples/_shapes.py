"""What gears look like."""

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
