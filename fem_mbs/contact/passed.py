"""Whether two bodies have passed through each other in a step, at both ends of which they are apart.

On the way through, a gap falls, is negative and rises again at once, where the nearest face is the other one: a cubic
of gaps and rates at the ends need not see it. But no gap changes faster than the surfaces move against each other:
between two instants at which it is ``g_0`` and ``g_1``, with ``g_0 + g_1 > v h``, it stays positive (conservative
advancement: Mirtich, *Impulse-based dynamic simulation*, 1996). Where that is not so, the gap is measured in the
middle, and both halves are looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion, State
from fem_mbs.system.system import System

FINEST, MANY = 2.0**-12, 64
"""The shortest part of a step that is looked at, and the number of parts, of what goes on side by side, that are not
halved further."""
LEAVES = 1.0 / 16.0
"""Part of a step that is not looked at where bodies have just met, and leave each other."""
BENT = 1.1
"""Largest speed between two instants, over the larger one at these."""


def motions_between(system: System, first: State, last: State) -> Callable[[float], Motion]:
    """Motions at shares of a step, each made once."""
    ends = {0.0: first, 1.0: last}
    return cache(lambda share: system.motion(ends.get(share) or system.interpolate(first, last, share)))


def deep_between(batch: Any, motion_at: Callable[[float], Motion], h: float, depth: float) -> Array:
    """Shares of a step of ``h`` at which contacts are more than ``depth`` deep, ``(n, r)``; infinite if they are not.

    Of pairs with an end that is not apart, nothing is said. The batch is one that ``passes``.
    """

    def measured(share: float) -> tuple[Array, Array, Array]:
        gap, motion = batch.gaps(motion_at(share)), motion_at(share)
        return gap, gap.min(axis=1), batch.closing_speeds(motion)

    start, end = measured(0.0), measured(1.0)
    found = np.full(start[0].shape, np.inf)
    sought = (start[1] >= -depth) & (end[1] >= -depth)
    parts, size = [(0.0, start, end)], 1.0
    while parts and size > FINEST and len(parts) <= MANY:
        size, last, parts = 0.5 * size, parts, []
        for low, before, after in last:
            (_, g0, v0), (_, g1, v1) = before, after
            near = sought & (g0 + g1 < 2.0 * BENT * size * h * np.maximum(v0, v1))
            if size < LEAVES:
                near &= np.minimum(g0, g1) > depth
            if not near.any():
                continue
            middle = low + size
            here = measured(middle)
            if (deep := (here[0] < -depth) & sought[:, None]).any():
                found[deep] = middle
                sought = sought & ~deep.any(axis=1)
            parts += [(low, before, here), (middle, here, after)]
    return found
