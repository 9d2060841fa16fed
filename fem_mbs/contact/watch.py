"""Which open contacts a smooth part has closed, what has turned round in it, and when the first of that was.

A gap that is measured is open for a time that follows from its rate and from limits of what nodes do. Until then it is
not looked at, while the limits hold; once they do not, these times are shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fem_mbs.alpha.local_error import worst
from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contact.contacts import Contacts, MeasuredContacts, Selection
from fem_mbs.contact.memory import Limits, Smooth, Standing, Watch, fastest, still
from fem_mbs.contact.passed import deep_between, motions_between
from fem_mbs.contracts import State
from fem_mbs.contracts.unilateral import TOUCHING
from fem_mbs.elements.contact.tubes import hermite
from fem_mbs.newton import FAILURES, NotConvergedError
from fem_mbs.system.system import System

LONGER, BESIDE = 1.25, 2.0
"""Path of a point in a part, at most, over that by what is known at both ends: Newmark's formulas take the mean of
these, but for some thousandths of the change of the acceleration. Times of a part up to which what was near stays so:
vibrations that contacts have set off have not ended as these open."""
AHEAD, MORE, SLOW, LOOSE = 12.0, 1.2, 0.01, 4.0
"""Limits: speeds of so many steps more, changes of velocities that are so much larger, or so small beside the speed;
those over what is wanted now from which on they are less."""
AWAY = 1e6
"""Way in a part, over the extent of the model, that is no motion."""
DEEP = 1e-11
"""Depth that is rounding, over the extent of the model."""
GRAZED = 1e-4
"""Depth within a part, over the way of the fastest point, that is left to the cubic: nothing has passed through."""
ROOTS, STRAYS = 30, 4.0
"""Trials, and how many times faster or slower than their rates gaps change from one to the other, at most."""
ENDS = 1e-4
"""Share of a part to which it is found when what passes close by a stop is nearest to that."""
EARLIER = 0.0, 0.05, 0.5
"""Shares of what is left by which the next trials are earlier, where it has stopped already."""
BEFORE = 0.0625, 0.5
"""How long before slip turns round, and after it, steps are cut: of the longest step, and of the time that it takes."""
WITHIN = np.linspace(0.0, 1.0, 257)[1:]
"""Shares of a part at which the path of a gap is looked at."""
PATHS = hermite(WITHIN)[0]
SOON = 16.0
"""Times of a part within which what opens is looked at once more where something has come near."""
SLACK, NONE = 1e-8, 1e-100
"""Gap over the extent of the model that may close however little moves, and a limit that is none."""
SOONEST = 0.9
"""Part of the time between two of these by which a first trial is sooner than what they say, at most."""


def watched(
    contacts: Contacts, before: Watch, first: State, state: State, speeds: Sequence[float] | None = None
) -> tuple[State, Watch]:
    """The state after a part from one to another, and the gaps of what may have closed in it.

    Where anything is measured, turns count. ``speeds`` are those of :class:`Report`, where they are known.
    """
    system, h = contacts.system, state.t - first.t
    led, turned, faster, spun = speeds or _speeds(system, first, state)
    if contacts.coupled:  # velocities in the frames of bodies
        faster += h * led * turned
    until, soonest, (speed, turn, push), gap, _ = before
    holds = led <= speed and turned <= turn and faster <= push * h
    if holds and state.t < soonest and gap is None:  # as in most steps
        return state, before
    if not h * (led + system.length * turned) < AWAY * system.length:
        raise NotConvergedError("the iteration leads away, where forces that are infinite balance")
    wanted = Limits(led + AHEAD * faster, turned + AHEAD * spun, (MORE * faster + SLOW * led) / h)
    limits, until = _within(contacts, before, first.t, (led, turned, faster / h), wanted)
    was_near, near = gap is not None or soonest == -np.inf, until <= state.t
    if not (was_near or np.logical_or.reduce(near)):
        return state, Watch(until, float(np.minimum.reduce(until, initial=np.inf)), limits)
    state = contacts.followed(first, state)
    motion = system.motion(state)
    speed, turn, push = (LONGER * limit for limit in limits)
    gap, until, since = contacts.looked_at(motion, near, (speed, turn, 1.0 / NONE if was_near else push), until)
    after = Watch(until, float(np.minimum.reduce(until, initial=np.inf)), limits)
    # rates bound what is before, too; by paths alone, times are longer where nodes are slower than their limits
    calm = h if not was_near else BESIDE * h * (led / max(speed, NONE) + turned / max(turn, NONE))
    if after.first > state.t + calm and since > calm:
        return state, after
    # where the fastest would have come, their own bodies need not have, nor what is pushed out of others
    own = np.flatnonzero(gap < np.inf)
    pushed = max(SLACK * system.length, -2.0 * float(gap[own].min(initial=0.0)))
    may = gap[own] <= contacts.closing(first, state, near)[own] + pushed
    near = near & contacts.touched(own[may])
    if not (was_near or near.any()):
        return state, after
    gap[own[~near[contacts.element_of[own]]]] = np.inf
    if not was_near:  # from here on paths alone tell what stays near
        after = after._replace(until=np.where(until <= state.t + SOON * h, state.t, until), first=state.t)
    return state, after._replace(gap=gap, near=near)


def _speeds(system: System, first: State, last: State) -> list[float]:
    """Largest speed and angular velocity of a node, and the largest changes of these in a part."""
    return [*worst(system, last.v.ravel()).tolist(), *worst(system, (last.v - first.v).ravel()).tolist()]


def _within(contacts: Contacts, watch: Watch, t: float, now: Sequence[float], wanted: Limits) -> tuple[Limits, Array]:
    """Limits that hold now, and times up to which gaps stay open, which are shorter from ``t`` on where these are more.

    A gap closes by ``b T + c T^2/2`` at most: where speeds grow by ``s``, and accelerations by ``s^2``, in ``T/s``.
    """
    pairs = zip(watch.limits, now, wanted, strict=True)
    limits = Limits(*(last if own <= last <= LOOSE * more else more for last, own, more in pairs))
    speed, turn, push = (new / max(last, NONE) for new, last in zip(limits, watch.limits, strict=True))
    growth = max(1.0, speed, turn * contacts.turns, push**0.5)
    return limits, watch.until if growth == 1.0 else t + (watch.until - t) / growth


def after_way(contacts: Contacts, watch: Watch, before: State, state: State) -> Array:
    """Times ``until`` (E,) after nodes have been moved and turned at an instant, each by up to twice as much.

    What the limits allow for in a time ``T`` of all that there is makes ways of ``T`` less of it.
    """
    d = contacts.system.kinematics.relative(before.x, before.R, state.x, state.R)
    way, turn = (2.0 * contacts.largest(np.linalg.norm(part, axis=1)) for part in (d[:, :3], d[:, 3:]))
    speed, spin, push = (max(limit, NONE) for limit in watch.limits)
    return np.asarray(watch.until - np.maximum(way / speed, np.sqrt(2.0 * way / push)) - turn / spin)


def after_jump(contacts: Contacts, watch: Watch, before: State, state: State) -> Watch:
    """After velocities of nodes have jumped: ``b T + c T^2/2`` less twice the change of its own times the new time."""
    changes = contacts.largest(np.linalg.norm(state.v[:, :3] - before.v[:, :3], axis=1))
    left = np.maximum(watch.until - state.t, 0.0)
    until = state.t + left * left / np.maximum(left + 2.0 * changes / max(watch.limits.push, NONE), NONE)
    return watch._replace(until=until, first=min(watch.first, float(until.min(initial=np.inf))))


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
    free = np.ones_like(numbers, np.bool_) if smooth.impulsive else ~begins.closed[numbers]
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
            rests = contacts.touched(begins.closed) | contacts.touched(numbers[result])
            apart, own = contacts.touched(numbers[close]) & ~rests, Selection(contacts, numbers[close])
            r0, r1 = (own.here(state).rates()[:, 0] for state in (first, last))
            dips = (r0 < 0.0) & (r1 > 0.0)
            paths = _paths(h, *(part[dips] for part in (before[own.numbers], end[close], r0, r1)))
            dips[dips] = paths.min(0) < -DEEP * size[close][dips]
            result[close] = dips
            if apart.any():
                path = h * max(fastest(system, state) for state in (first, last))
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
    contacts: Contacts, part: Callable[[float, Smooth], Smooth], first: State, last: Smooth, found: Array, *, most: int
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
    low, high, smooth, known = 0.0, h, last, None
    for _ in range(ROOTS):
        smooth = part(tau, smooth)  # what is damped once stays so: between both, gaps would jump
        if smooth.impulsive:
            return None
        here = own.here(smooth.point.state)
        gap, rate = here.gap, here.rates()[:, 0]
        closing = rate < 0.0
        worst = int(np.argmin(np.where(closing | (gap < -tolerance), gap, np.inf)))
        ways, known = _ways(tau, gap, rate, known), (tau, gap, rate)
        if not closing.any() and (gap >= -tolerance).all():
            low, guess = tau, np.inf
        else:
            if abs(gap[worst]) <= tolerance[worst]:  # and it closes: open ones are deeper
                break
            if gap[worst] < 0.0:
                high = tau
            else:
                low = tau
            guess = tau + float(ways[gap > 0.0].min() if gap[worst] > 0.0 else ways[worst])
        tau = guess if low < guess < high else 0.5 * (low + high)
        if high - low <= 1e-14 * h:
            break
    return smooth


def _ways(tau: float, gap: Array, rate: Array, known: tuple[float, Array, Array] | None) -> Array:
    """How much longer a part of ``tau`` is that ends where gaps ``(k,)`` close, infinite for those that open.

    Parts of other lengths end in other states: their gaps change by a share of their rates, which the last one tells.
    """
    closing, slope, bend = rate < 0.0, rate, np.zeros_like(rate)
    if known is not None:
        step = tau - known[0]
        share = np.divide(gap - known[1], 0.5 * step * (rate + known[2]), out=np.ones_like(gap), where=closing)
        share[~((share > 1.0 / STRAYS) & (share < STRAYS))] = 1.0
        slope, bend = share * rate, share * (rate - known[2]) / step
    slope = np.where(closing, slope, -1.0)
    ways = -2.0 * gap / (slope - np.sqrt(np.maximum(slope * slope - 2.0 * bend * gap, 0.0)))
    return np.where(closing, ways, np.inf)


def stopped(
    contacts: Contacts, part: Callable[[float, Smooth], Smooth], begin: Standing, last: Smooth, which: BoolArray
) -> Smooth:
    """The smooth ``part`` of a step to where the first of ``which`` contacts stops: from there it slides back.

    Until it stops its slip gets less at a rate that is known where it slides. Where it has stopped before the end of a
    part, it rests there, and its friction is less than all. What passes close by a stop turns round in a time ``tau``,
    across which its friction is like ``tau/|t|``: a part up to that, or one from there, would take it for all of the
    friction. So parts end before and after: where what the trapezoidal rule makes too much of these, and too little of
    the one in between, is the same for some hundredths of a step.
    """
    first, whole = begin.state, last
    own, h = Selection(contacts, which), last.point.state.t - first.t
    before = own.here(first).rates()[:, 1:]
    ahead = before / np.linalg.norm(before, axis=1)[:, None]
    low, high, early, late, ends = 0.0, h, 0, 1.0, ENDS
    guess = _stop(own.here(first), ahead, h)
    for _ in range(ROOTS):
        tau = guess if low < guess < high else 0.5 * (low + high)
        try:
            smooth = part(tau, last._replace(damped=False))  # across a stop friction may bring energy
        except FAILURES:
            break
        state = smooth.point.state
        here, slow = own.here(state), still(contacts.system, state, h)
        slip = here.rates()[:, 1:]
        if (along := np.vecdot(slip, ahead) > slow).all():
            low, early, late = tau, 0, 2.0 * late  # parts that end closer and closer lose less and less
            guess = low + 0.5 * late * _stop(here, ahead, h)
        else:
            high, last, rests = tau, smooth, ~along & (np.linalg.norm(slip, axis=1) <= slow)
            friction = contacts.at_edge(state)[own.numbers, None] * contacts.forces(state)[own.numbers, 1:]
            if (np.vecdot(friction, ahead)[rests] < 0.0).any():
                return last
            guess = tau - max(ENDS * h, EARLIER[min(early, 2)] * (tau - low))
            early, ends = early + 1, 1e-14 if rests.any() else ENDS
        if high - low <= ends * h:
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
    return part(end, last._replace(damped=False)) if end < h else whole


def _stop(here: MeasuredContacts, ahead: Array, h: float) -> float:
    """When the first of some slips along ``ahead`` (k, 2) has ended, as they get less here."""
    slip, loss = np.vecdot(here.rates()[:, 1:], ahead), -np.vecdot(here.accelerations()[:, 1:], ahead)
    return float(np.divide(slip, loss, out=np.full_like(slip, h), where=loss > 0.0).min())


def _paths(h: float, g0: Array, g1: Array, r0: Array, r1: Array) -> Array:
    """Of gaps ``(k,)`` in a part, from their values and rates at both ends: at 256 instants, by Hermite's cubic."""
    return PATHS @ np.stack([g0, h * r0, g1, h * r1])
