"""Whether two bodies have passed through each other in a step, at both ends of which they are apart.

On the way through, a gap falls, is negative and rises again at once, where the nearest face is the other one: a cubic
of gaps and rates at the ends need not see it. But no gap changes faster than the surfaces move against each other, and
the distance of convex bodies that translate is a convex function of time, which stays above its tangents at both ends:
between two instants at which it is ``g_0`` and ``g_1``, it stays above ``g_0 - a_0 t`` and ``g_1 - a_1 (h - t)``, with
speeds ``a`` that know of turns, too (conservative advancement: Mirtich, *Impulse-based dynamic simulation*, 1996).
Where both meet below zero, the gap is measured in the middle, and both halves are looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contracts import Motion, State
from fem_mbs.system.system import System

FINEST, MANY = 2.0**-12, 64
"""The shortest part of a step that is looked at, and the number of parts, of what goes on side by side, that are not
halved further."""
LEAVES = 1.0 / 16.0
"""Part of a step that is not looked at where bodies have just met, and leave each other."""
BENT, TURNED = 1.1, 1.0
"""Largest speed between two instants, over the larger one at these, and the turn in rad that leaves directions."""


def motions_between(system: System, first: State, last: State) -> Callable[[float], Motion]:
    """Motions at shares of a step, each made once."""
    ends = {0.0: first, 1.0: last}
    return cache(lambda share: system.motion(ends.get(share) or system.interpolate(first, last, share)))


def deep_between(batch: Any, motion_at: Callable[[float], Motion], h: float, depth: float) -> Array:
    """Shares of a step of ``h`` at which contacts are more than ``depth`` deep, ``(n, r)``; infinite if they are not.

    Of pairs that are not apart at the start nothing is said, and of those in each other at the end only whether they
    came in by one side and leave by another: a side keeps its direction, and opens as fast as the velocity changes, at
    most. The batch is one that ``passes``.
    """

    def measured(share: float) -> Any:
        return batch.approach(motion_at(share))

    start, end = measured(0.0), measured(1.0)
    found = np.full(start.gap.shape, np.inf)
    apart = start.gap.min(axis=1) >= -depth
    other = end.opening[:, 0] - start.opening[:, 1] > 2.0 * np.linalg.norm(end.velocity - start.velocity, axis=-1)
    other &= (start.opening[:, 1] < 0.0) & (end.opening[:, 0] > 0.0) & (h * np.maximum(start.spin, end.spin) < TURNED)
    found[(apart & other)[:, None] & (end.gap < -depth)] = 1.0
    sought = apart & (end.gap.min(axis=1) >= -depth)
    parts, size = [(0.0, start, end)], 1.0
    while parts and size > FINEST and len(parts) <= MANY:
        last, parts = parts, []
        for low, before, after in last:
            near = sought & _may_meet(before, after, size * h, depth)
            if size <= LEAVES:
                near &= np.minimum(before.gap.min(axis=1), after.gap.min(axis=1)) > depth
            if not near.any():
                continue
            middle = low + 0.5 * size
            here = measured(middle)
            if (deep := (here.gap < -depth) & sought[:, None]).any():
                found[deep] = middle
                sought = sought & ~deep.any(axis=1)
            parts += [(low, before, here), (middle, here, after)]
        size *= 0.5
    return found


def _may_meet(before: Any, after: Any, h: float, depth: float) -> BoolArray:
    """Which distances ``(n,)`` may fall below ``-depth`` between two instants."""
    g0, g1 = (end.gap.min(axis=1) + depth for end in (before, after))
    fastest = BENT * np.maximum(before.fastest, after.fastest)
    unsure = np.linalg.norm(after.velocity - before.velocity, axis=-1) + (1.0 - 1.0 / BENT) * fastest
    unsure[h * np.maximum(before.spin, after.spin) > TURNED] = np.inf
    a0, a1 = (np.clip(rate + unsure, 0.0, fastest) for rate in (-before.opening[:, 0], after.opening[:, 1]))
    return np.asarray(g0 * a1 + g1 * a0 < a0 * a1 * h)
