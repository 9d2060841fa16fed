"""Which open contacts a smooth part has closed, and when the first of them was."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contact.impact import Contacts
from fem_mbs.contact.memory import Smooth, fastest, still
from fem_mbs.contracts import State
from fem_mbs.contracts.unilateral import TOUCHING

DEEP = 1e-11
"""Depth that is rounding, over the extent of the model."""
ROOTS = 30
WITHIN = np.linspace(0.0, 1.0, 257)[1:, None]
"""Shares of a part at which the path of a gap is looked at."""


def hits(contacts: Contacts, first: State, smooth: Smooth, h: float) -> BoolArray:
    """Open contacts that end deep, or where they just meet, or were deep within the part."""
    system, gap, near = contacts.system, smooth.gap, smooth.near
    if gap is None:
        return np.zeros(contacts.count, np.bool_)
    assert smooth.free is not None
    last, free = smooth.point.state, smooth.free
    result: BoolArray = (gap < -DEEP * system.length) & free
    if (meets := (gap <= TOUCHING * system.length) & free & ~result).any():
        result |= meets & (contacts.at(last, contacts.touched(meets)).rates()[:, 0] < -still(system, last, h))
    farthest = 2.0 * h * max(fastest(system, first), fastest(system, last))
    before = contacts.gaps(system.motion(first), near) if (gap < farthest).any() else None
    if before is not None and (close := (before + gap < farthest) & free & ~result).any():
        own = contacts.touched(close)
        r0, r1 = (contacts.at(state, own).rates()[:, 0] for state in (first, last))
        close &= (r0 < 0.0) & (r1 > 0.0)
        path = _cubic(WITHIN, h, *(part[close] for part in (before, gap, r0, r1)))
        result[close] = path.min(0) < -DEEP * system.length
    return result


def located(
    contacts: Contacts, part: Callable[[float, bool], Smooth], first: State, last: Smooth, which: BoolArray
) -> Smooth:
    """The smooth ``part`` of a step to where the first of some hits happens; ``last`` is that to its end.

    Newton's method for the gaps and rates at the ends of parts, within bounds, from the cubic of gaps and rates.
    """
    tolerance, h = DEEP * contacts.system.length, last.point.state.t - first.t
    own = contacts.touched(which)
    start, end = contacts.at(first, own), contacts.at(last.point.state, own)
    known = start.gap, end.gap, start.rates()[:, 0], end.rates()[:, 0]
    deep = (_cubic(WITHIN, h, *(values[which] for values in known)) < -tolerance).any(axis=1)
    tau = h * float(WITHIN[int(np.argmax(deep)), 0]) if deep.any() else h
    low, high, smooth = 0.0, h, last
    for _ in range(ROOTS):
        smooth = part(tau, smooth.damped)  # what is damped once stays so: between both, gaps would jump
        here = contacts.at(smooth.point.state, own)
        gap, rate = np.where(which, here.gap, np.inf), here.rates()[:, 0]
        closing = which & (rate < 0.0)
        worst = int(np.argmin(np.where(closing | (gap < -tolerance), gap, np.inf)))
        if not closing.any() and gap.min() >= -tolerance:
            low, guess = tau, np.inf
        else:
            if abs(gap[worst]) <= tolerance and rate[worst] <= 0.0:
                break
            if gap[worst] < 0.0:
                high = tau
            else:
                low = tau
            guess = tau - gap[worst] / rate[worst] if rate[worst] < 0.0 else np.inf
            others = closing & (gap > 0.0)
            if gap[worst] > 0.0 and others.any():
                guess = tau + float((gap[others] / -rate[others]).min())
        tau = guess if low < guess < high else 0.5 * (low + high)
        if high - low <= 1e-14 * h:
            break
    return smooth


def _cubic(s: Array, h: float, g0: Array, g1: Array, r0: Array, r1: Array) -> Array:
    """Hermite's cubic of gaps with their rates at both ends."""
    return (
        (1 + 2 * s) * (1 - s) ** 2 * g0
        + s * (1 - s) ** 2 * h * r0
        + s * s * (3 - 2 * s) * g1
        + s * s * (s - 1) * h * r1
    )
