"""Which open contacts a smooth part has closed, what has turned round in it, and when the first of that was.

While the fastest point of the model moves less than any gap allows, nothing is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contact.contacts import SLACK, Contacts, MeasuredContacts, Selection
from fem_mbs.contact.memory import Smooth, Standing, Watch, fastest, still
from fem_mbs.contact.passed import deep_between, motions_between
from fem_mbs.contracts import State
from fem_mbs.contracts.unilateral import TOUCHING
from fem_mbs.elements.contact.tubes import hermite
from fem_mbs.newton import FAILURES, NotConvergedError

LONGER, BESIDE = 1.25, 1.6
"""Path of a point in a part, at most, over that at the larger speed of both ends: Newmark's formulas take the mean of
these, but for some thousandths of the change of the acceleration. Such paths up to which what was near stays so:
vibrations that contacts have set off have not ended as these open."""
AWAY = 1e6
"""Way in a part, over the extent of the model, that is no motion."""
DEEP = 1e-11
"""Depth that is rounding, over the extent of the model."""
GRAZED = 1e-4
"""Depth within a part, over the way of the fastest point, that is left to the cubic: nothing has passed through."""
ROOTS = 30
ENDS = 1e-4
"""Share of a part to which it is found when a contact stops to slide."""
EARLIER = 0.0, 0.05, 0.5
"""Shares of what is left by which the next trials are earlier, where it has stopped already."""
BEFORE = 0.0625, 0.5
"""How long before slip turns round, and after it, steps are cut: of the longest step, and of the time that it takes."""
WITHIN = np.linspace(0.0, 1.0, 257)[1:]
"""Shares of a part at which the path of a gap is looked at."""
PATHS = hermite(WITHIN)[0]
SOONEST = 0.9
"""Part of the time between two of these by which a first trial is sooner than what they say, at most."""


def watched(
    contacts: Contacts, before: Watch, first: State, state: State, speeds: Sequence[float] | None = None
) -> tuple[State, Watch]:
    """The state after a part from one to another, and the gaps of what may have closed in it.

    Where anything is measured, turns count. ``speeds`` are those of the fastest node and turn, where they are known.
    """
    (clear, least, (ways, turns), (led, turned), gap, _), system, h = before, contacts.system, state.t - first.t
    speed = way, turn = fastest(system, state) if speeds is None else (speeds[0], system.length * speeds[1])
    way, turn = LONGER * h * (way if way > led else led), LONGER * h * (turn if turn > turned else turned)
    gone = ways, turns = ways + way, turns + turn
    if gap is None and ways < least[0] and turns < least[1] and ways + turns < least[2]:  # as in most steps
        return state, Watch(clear, least, gone, speed)
    paths = way, turn, way + turn
    if was_near := gap is not None or before.closes(0.0, 0.0, 0.0):
        longest = BESIDE * (way + turn)
        paths = longest, longest, longest
        if not before.closes(*paths):
            return state, Watch(clear, least, gone, speed)
    if not h * sum(speed) < AWAY * system.length:
        raise NotConvergedError("the iteration leads away, where forces that are infinite balance")
    state = contacts.followed(first, state)
    motion, clear = system.motion(state), clear - contacts.paths(*gone)
    near = clear <= SLACK * system.length
    gap = contacts.gaps(motion, near)
    contacts.put_clearance(clear, motion, gap, near)
    after = Watch(clear, contacts.least(clear), speed=speed)
    if not after.closes(*paths):
        return state, after
    # where the fastest would have come, their own bodies need not have, nor what is pushed out of others
    own = np.flatnonzero(gap < np.inf)
    pushed = max(SLACK * system.length, -2.0 * float(gap[own].min(initial=0.0)))
    may = gap[own] <= contacts.closing(first, state, near)[own] + pushed
    near = near & contacts.touched(own[may])
    if not (was_near or near.any()):
        return state, after
    gap[own[~near[contacts.element_of[own]]]] = np.inf
    return state, after._replace(gap=gap, near=near)


def hits(contacts: Contacts, begin: Standing, smooth: Smooth) -> Array | None:
    """Shares ``(C,)`` of a part at which open contacts are deep, or just meet, infinite for others; None if none is.

    It is 1 also for what dips within the part, as the cubic of gaps and rates has it.
    """
    first, (last, memory) = begin.state, smooth.point
    gap, near, system, h = memory.watch.gap, memory.watch.near, contacts.system, last.t - first.t
    if gap is None or near is None:
        return None
    numbers, begins, found = np.flatnonzero(gap < np.inf), begin.memory, np.full(contacts.count, np.inf)
    end, size = gap[numbers], contacts.size[numbers]
    free = np.ones_like(numbers, np.bool_) if smooth.impulsive else ~begins.touches[numbers]
    result: BoolArray = (end < -DEEP * size) & free
    if (meets := (end <= TOUCHING * size) & free & ~result).any():
        own = Selection(contacts, numbers[meets])
        result[meets] = own.here(last).rates()[:, 0] < -own.still(last, h)
    farthest = contacts.closing(first, last, near)[numbers]
    if (end < farthest).any():
        before, known = begins.watch.gap, begins.watch.near
        if before is None or known is None or (near & ~known).any():
            before = contacts.gaps(system.motion(first), near)
        if (close := (before[numbers] + end < farthest) & free & ~result).any():
            # what rests on each other passes through nothing that it rests on
            rests = contacts.touched(begins.touches) | contacts.touched(numbers[result])
            apart, own = contacts.touched(numbers[close]) & ~rests, Selection(contacts, numbers[close])
            r0, r1 = (own.here(state).rates()[:, 0] for state in (first, last))
            paths = _paths(h, before[own.numbers], end[close], r0, r1)
            result[close] = (r0 < 0.0) & (r1 > 0.0) & (paths.min(0) < -DEEP * size[close])
            if apart.any():
                path = h * max(sum(begins.watch.speed), sum(memory.watch.speed))
                found = _passed(contacts, first, last, apart, max(TOUCHING * system.length, GRAZED * path))
    found[numbers[result]] = np.minimum(found[numbers[result]], 1.0)
    return found if np.isfinite(found).any() else None


def _passed(contacts: Contacts, first: State, last: State, apart: BoolArray, depth: float) -> Array:
    """Shares ``(C,)`` of a part at which contacts of these elements ``(E,)`` are so deep, infinite if they are not."""
    system, found = contacts.system, np.full(contacts.count, np.inf)
    motion_at = motions_between(system, first, last)
    for part in contacts.of(apart):
        if part.batch.passes:
            found[part.numbers] = deep_between(part.batch, motion_at, last.t - first.t, depth)
    return found


def located(
    contacts: Contacts, part: Callable[[float, bool], Smooth], first: State, last: Smooth, found: Array, *, most: int
) -> Smooth | None:
    """The smooth ``part`` of a step to where the first of the hits ``found`` happens; ``last`` is that to its end.

    Newton's method for the gaps and rates at the ends of parts, within bounds, from the cubic of gaps and rates. None
    where hits are at more than ``most`` instants, or contacts of a part are left to impulses.
    """
    h, own = last.point.state.t - first.t, Selection(contacts, np.isfinite(found))
    tolerance = DEEP * contacts.size[own.numbers]
    start, end = own.here(first), own.here(last.point.state)
    path = _paths(h, start.gap, end.gap, start.rates()[:, 0], end.rates()[:, 0])
    deep, passed = path < -tolerance, found[own.numbers] < 1.0
    k, every = np.argmax(deep, axis=0), np.arange(own.k)
    shares = np.where(passed, found[own.numbers], np.where(deep.any(axis=0), WITHIN[k], 1.0))
    instants = np.unique(shares)
    if len(instants) > most:
        return None
    before, after = (np.vstack([start.gap, path])[row, every] for row in (k, k + 1))
    # what begins at a gap of nothing, or a depth of rounding, is not met at once
    beyond = np.clip(np.divide(after, after - before, out=np.zeros(own.k), where=after < before), 0.0, SOONEST)
    sooner = np.where(passed | (shares == 1.0), 0.0, beyond * WITHIN[0])
    tau = h * float((shares - sooner)[shares == instants[0]].min())
    low, high, smooth = 0.0, h, last
    for _ in range(ROOTS):
        smooth = part(tau, smooth.damped)  # what is damped once stays so: between both, gaps would jump
        if smooth.impulsive:
            return None
        here = own.here(smooth.point.state)
        gap, rate = here.gap, here.rates()[:, 0]
        closing = rate < 0.0
        worst = int(np.argmin(np.where(closing | (gap < -tolerance), gap, np.inf)))
        if not closing.any() and (gap >= -tolerance).all():
            low, guess = tau, np.inf
        else:
            if abs(gap[worst]) <= tolerance[worst]:  # and it closes: open ones are deeper
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


def stopped(
    contacts: Contacts, part: Callable[[float, bool], Smooth], begin: Standing, last: Smooth, which: BoolArray
) -> Smooth:
    """The smooth ``part`` of a step to just after the first of ``which`` contacts stops: from there it slides back.

    Until it stops its slip gets less at a rate that is known where it slides. What passes close by a stop turns round
    in a time ``tau``, across which its friction is like ``tau/|t|``: a part up to that, or one from there, would take
    it for all of the friction. So parts end before and after: where what the trapezoidal rule makes too much of these,
    and too little of the one in between, is the same for some hundredths of a step.
    """
    first, whole = begin.state, last
    own, h = Selection(contacts, which), last.point.state.t - first.t
    slow, before = still(contacts.system, first, h), own.here(first).rates()[:, 1:]
    ahead = before / np.linalg.norm(before, axis=1)[:, None]
    low, high, early = 0.0, h, 0
    guess = _stop(own.here(first), ahead, h)
    for _ in range(ROOTS):
        tau = guess if low < guess < high else 0.5 * (low + high)
        try:
            smooth = part(tau, last.damped)
        except FAILURES:
            break
        here = own.here(smooth.point.state)
        if (np.vecdot(here.rates()[:, 1:], ahead) > slow).all():
            low, early = tau, 0
            guess = low + _stop(here, ahead, h)
        else:
            high, last = tau, smooth
            guess = tau - max(0.6 * ENDS * h, EARLIER[min(early, 2)] * (tau - low))
            early += 1
        if high - low <= ENDS * h:
            break
    here = own.here(last.point.state)
    k = np.vecdot(here.rates()[:, 1:], ahead).argmin()
    slip, change = here.rates()[k, 1:], here.accelerations()[k, 1:]
    faster = np.linalg.norm(change)
    if last is whole or np.linalg.norm(slip) <= slow + ENDS * h * faster:
        return last
    past, (share, turns) = float(slip @ change / faster**2), BEFORE
    beside = share * max(h, begin.memory.longest) + turns * float(np.linalg.norm(slip - past * change) / faster)
    nearest = high - past
    if nearest < 0.0:  # it has turned otherwise
        return last
    end = nearest - beside if nearest > 1.5 * beside else nearest + beside
    return part(end, last.damped) if end < h else whole


def _stop(here: MeasuredContacts, ahead: Array, h: float) -> float:
    """When the first of some slips along ``ahead`` (k, 2) has ended, as they get less here, and a little later."""
    slip, loss = np.vecdot(here.rates()[:, 1:], ahead), -np.vecdot(here.accelerations()[:, 1:], ahead)
    return float(np.divide(slip, loss, out=np.full_like(slip, h), where=loss > 0.0).min()) + 0.3 * ENDS * h


def _paths(h: float, g0: Array, g1: Array, r0: Array, r1: Array) -> Array:
    """Of gaps ``(k,)`` in a part, from their values and rates at both ends: at 256 instants, by Hermite's cubic."""
    paths: Array = PATHS @ np.stack([g0, h * r0, g1, h * r1])
    return paths
