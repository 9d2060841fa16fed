"""Compression under which a sheet wrinkles in waves that its elements are too large for.

A plate of the bending stiffness ``D`` buckles under the compression ``N`` into waves ``sin(k s)`` across it where
``N = D k^2``; where it is curved along their crests, by ``kappa``, they stretch it, and

    N(k) = D k^2 + C kappa^2/k^2

with the stiffness ``C`` against that stretch (Koiter; for a cylinder, of radius ``R``, the least is the classical
``E h^2/(R sqrt(3 (1 - nu^2)))``). An element of the length ``a`` buckles alone where half a wave fits in it, at ``k >=
pi/a``. From half of that load on waves of less than three elements grow, and the mesh shows its own in their place.
"""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array

SHARE = 0.5
"""Of the compression that buckles an element, which its mesh can follow."""
WRINKLES = (
    "is compressed by {:.2g} times what its size allows, which is half of what buckles it alone: the sheet wrinkles in "
    "waves of less than three elements, and what is shown in their place depends on the mesh. Take smaller elements or "
    "a thicker sheet"
)


def sides(d: Array) -> Array:
    """From one edge to the opposite one, in both directions ``(n, 2, 2)``, of coordinates ``d`` (n, 4, 6)."""
    a, b, c, e = np.moveaxis(d[..., :2], 1, 0)
    return 0.5 * np.stack([b + c - a - e, c + e - a - b], axis=1)


def compression(force: Array, curvature: Array, law: Array, sides: Array) -> Array:
    """The largest compression over what elements can follow, ``(n,)``; negative in tension.

    Forces per length ``(n, 3)`` and curvatures ``(n, 3)`` come in the order 11, 22, 12, with twice the twist; ``law``
    (n, 6, 6) is that of a section, membrane first, ``sides`` (n, 2, 2) lead from one edge to the opposite one.
    """
    n11, n22, n12 = force.T
    least = 0.5 * (n11 + n22) - np.hypot(0.5 * (n11 - n22), n12)
    angle = 0.5 * np.arctan2(-2.0 * n12, n22 - n11)
    c, s = np.cos(angle), np.sin(angle)
    along, crest = np.stack([c * c, s * s, 2.0 * c * s], axis=-1), np.stack([s * s, c * c, -c * s], axis=-1)
    soft = np.linalg.inv(law[:, :3, :3])
    B = law[:, :3, 3:]
    D = np.vecdot(along, np.matvec(law[:, 3:, 3:] - B.mT @ soft @ B, along))
    stretch = np.vecdot(crest, curvature) ** 2 / np.vecdot(crest, np.matvec(soft, crest))
    length = np.linalg.norm(np.matvec(sides, np.stack([c, s], axis=-1)), axis=-1)
    squared = np.maximum((np.pi / length) ** 2, np.sqrt(stretch / D))
    result: Array = -least / (SHARE * (D * squared + stretch / squared))
    return result
