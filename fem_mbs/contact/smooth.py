"""The smooth part of a step: motion and forces of contact from one impact to the next.

Contacts that touch where it begins obey Signorini's and Coulomb's laws at its end (``equations.py``); others are not
there: what of them ends too deep has had an impact (``watch.py``). Where nothing is near, the part is a step of the
stabilised generalised-alpha method as it is; else its balance of energy is drawn (``energy.py``).
"""

from __future__ import annotations

import math
from dataclasses import replace
from math import isclose

import numpy as np

from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha
from fem_mbs.alpha.newmark import SAME, AlphaMemory, CarriedErrors
from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contact.contacts import Contacts, Selection
from fem_mbs.contact.energy import gained
from fem_mbs.contact.equations import StepInContact
from fem_mbs.contact.impact import settled
from fem_mbs.contact.memory import ContactMemory, Smooth, Standing, still
from fem_mbs.contact.touching import Touching, once, touching_of
from fem_mbs.contact.watch import DEEP, watched
from fem_mbs.contracts import State, Step
from fem_mbs.contracts.unilateral import TOUCHING
from fem_mbs.newton import FAILURES
from fem_mbs.system.system import System

GROWTH = 1.5
"""After a step that was shorter by this factor the smooth part begins anew: impacts have set off vibrations."""
EULER_BELOW = 0.25
"""Share of the longest step: one without a solution is halved first, and made by Euler's method from there on."""
LIGHT = 1e-9
"""Force, over the largest, with which nothing that has touched without one begins anew: it is rounding."""
CROWDED = 1e-3
"""Part of a step that is so short that its forces are not resolved; after one, no more impacts are located."""
INSTANT = 1e-5
"""Share of the longest step in which errors stay as they are: their accelerations would be rounding over its square."""


def smooth_part(
    contacts: Contacts, method: GeneralizedAlpha, point: Standing, h: float, near: Smooth | None = None
) -> Smooth:
    """A part of ``h``; if it gains energy that nothing brought, one of Euler's implicit method.

    So, too, if it has no solution and has been halved already; where that has none either, all contacts are left to
    impulses at its end. One that is ``near``, from the same point, tells where to begin, and to damp this one, too.
    """
    memory, damped = point.memory, near is not None and near.damped
    if not damped:
        try:
            smooth = part_of(contacts, method, point, h, near)
            if not smooth.gains:
                return smooth
        except FAILURES:
            if h > EULER_BELOW * memory.longest or memory.watch.gap is None and not memory.touches.any():
                raise
    try:
        smooth = part_of(contacts, method, point, h, near if damped else None, damped=True)
    except FAILURES:
        smooth = part_of(contacts, method, point, h, damped=True, impulsive=True)
    state, memory = smooth.point
    return smooth._replace(point=Standing(state, memory._replace(damped=memory.damped + 1)), damped=True)


def far_step(
    contacts: Contacts, method: GeneralizedAlpha, first: State, h: float, memory: ContactMemory
) -> Step | None:
    """A step from where nothing is near to where nothing is: that of the smooth method. None if something may be."""
    alpha, touches, closed, approach, watch, balance, steps, longest, unlocated, damped, search = memory
    if watch.gap is not None or watch.first <= first.t:
        return None
    if alpha.before is not None or h > GROWTH * alpha.h and h > alpha.resolves:
        return None
    # what contacts carry passes through
    if not contacts.open.k and (h == alpha.h or isclose(h, alpha.h, rel_tol=SAME)):
        step = method.inner_step(contacts.open, first, h, alpha)
        state = step.state
    else:
        step = method.inner_step(contacts.open, contacts.without(first), h, alpha)
        state = contacts.carry_on(first, step.state)
    state, watch = watched(contacts, watch, first, state, step.report.speeds)
    if watch.gap is not None:
        return None
    if balance.energy is not None:
        balance = balance._replace(energy=None)
    longest = longest if h <= longest else h
    counts = steps + 1, longest, unlocated, damped
    memory = ContactMemory(step.memory, touches, closed, approach, watch, balance, *counts, search)
    report = step.report
    return Step(state, memory, report if report.local_error is None else contacts.report(report), step.error or 0.0)


def part_of(
    contacts: Contacts,
    method: GeneralizedAlpha,
    point: Standing,
    h: float,
    near: Smooth | None = None,
    *,
    damped: bool = False,
    impulsive: bool = False,
) -> Smooth:
    """A part in which contacts that touch obey their laws, whose first guess misses what that of one ``near`` missed.

    If ``damped``, one of Euler's implicit method: there the force of a contact is its impulse in the whole part. If
    ``impulsive``, all are open in it, whatever becomes of them.
    """
    memory = point.memory
    if near is not None and (near.point.memory.touches == memory.touches).all():  # not made anew with others
        missed = near.point.memory.alpha.predictor
        memory = memory._replace(alpha=memory.alpha._replace(predictor=missed and missed.alone()))
        point = Standing(point.state, memory)
    touches = np.zeros_like(memory.touches) if impulsive else memory.touches
    step, state, anew, stops = _stepped(method, point, touching_of(contacts, touches), h, damped)
    state, watch = watched(contacts, memory.watch, point.state, state, step.report.speeds)
    if touches.any():  # however little may move it
        watch = watch._replace(first=-math.inf)
    balance = memory.balance if memory.balance.energy is None else memory.balance._replace(energy=None)
    alpha, errors = step.memory, memory.alpha.errors
    if errors is not None and h < INSTANT * memory.longest:
        alpha = alpha._replace(errors=errors._replace(t=state.t))
    memory = memory._replace(alpha=alpha, watch=watch, balance=balance)
    end, error = Standing(state, memory), step.error or 0.0
    smooth = Smooth(end, contacts.report(step.report), error, False, damped, impulsive, anew, stops)
    if watch.gap is None:  # nothing comes near, or leaves what it touches
        return smooth
    alike = memory.closed & ~memory.touches
    if not impulsive and (watch.gap[alike] < -DEEP * contacts.size[alike]).any():  # they no longer are
        every = Standing(point.state, touched_by(point.memory, memory.closed))
        return part_of(contacts, method, every, h, damped=damped)
    end, gains = balanced(contacts, point, smooth.point)
    left = touches & (watch.gap > TOUCHING * contacts.size) & contacts.pushing(state)
    # beyond the end of a face or an edge, forces jump, too
    return smooth._replace(point=end, gains=gains, jumps=anew or bool(left.any()))


def ended(contacts: Contacts, method: GeneralizedAlpha, smooth: Smooth, h: float) -> Standing:
    """The end of a part without an impact, from where the next goes on: with what touches there, in steps of ``h``."""
    state, memory = smooth.point
    if memory.watch.gap is None and not smooth.jumps:
        return smooth.point
    closed = closed_after(contacts, smooth, h)
    # with forces the power of what drives the parts jumps, too; of a brief part they are roundings over its square
    if smooth.jumps or memory.alpha.h < CROWDED * h:
        return begun_with_forces(contacts, method, smooth.point, closed, h)
    after = once(contacts, state, closed)
    if smooth.impulsive or (after != memory.touches).any():
        memory = touched_by(memory, after)
    return Standing(state, memory._replace(closed=closed))


def touched_by(memory: ContactMemory, touches: BoolArray) -> ContactMemory:
    """Memory for a step with the equations of other contacts ``(C,)``, for which those of the last tell nothing."""
    alpha = memory.alpha._replace(predictor=None, convergence=None, matrix=None)
    return memory._replace(alpha=alpha, touches=touches)


def turned(contacts: Contacts, smooth: Smooth, h: float) -> BoolArray | None:
    """Contacts ``(C,)`` that have stopped to slide in a part and begin to slide again at its end; None if none has."""
    if smooth.stops is None:
        return None
    state = with_forces(contacts, smooth.point.state, closed_after(contacts, smooth, h), h)[0]
    marked: BoolArray = smooth.stops & contacts.at_edge(state)
    return marked if marked.any() else None


def closed_after(contacts: Contacts, smooth: Smooth, h: float) -> BoolArray:
    """Contacts ``(C,)`` that touch at the end of a part: those as before where gaps need no look."""
    state, memory = smooth.point
    return memory.closed if memory.watch.gap is None else touching(contacts, state, h, memory.watch.gap)


def balanced(contacts: Contacts, first: Standing, last: Standing, lost: float = 0.0) -> tuple[Standing, bool]:
    """The end of a part with what it has gained beyond what impacts there have ``lost``, and whether too much."""
    states = contacts.without(first.state), contacts.without(last.state)
    before, (pressed, most) = first.memory.balance, contacts.pressed(last.state)
    gain = gained(contacts.open, *states, before.energy, pressed)
    balance = before.after(gain._replace(all=gain.all - lost), most)
    return Standing(last.state, last.memory._replace(balance=balance)), gain.more > lost


@np.errstate(over="ignore", invalid="ignore")  # of trials that lead away, which are given up
def _stepped(
    method: GeneralizedAlpha, point: Standing, touching: Touching, h: float, damped: bool
) -> tuple[Step, State, bool, BoolArray | None]:
    """A step in which contacts obey their laws at its end, its state, whether forces of contact jump, and what stops.

    What slides another way at its end, by more than a right angle, has stopped, too, or passed close by that.
    """
    contacts, system, inner = touching.contacts, touching.system, touching.inner(point.state)
    stepper = in_touch(method, touching)
    if damped:
        euler, alpha = stepper.euler(system, inner, h)
        alpha = alpha._replace(errors=due(point.memory.alpha.errors))
        stepper = replace(stepper, parameters=euler.parameters)
    else:
        alpha = starting(stepper, system, inner, h, point.memory.alpha)
    step = stepper.inner_step(system, inner, h, alpha)
    state = touching.outer(point.state, step.state)
    if not touching.k:
        return step, state, False, None
    before, slow = _slip(touching, inner), still(contacts.system, point.state, h)
    speed = np.linalg.norm(before, axis=1)
    pushed = contacts.pushing(point.state)
    held = pushed & ~contacts.at_edge(point.state)  # whose slip is what Newton's method has left
    slides = (speed > slow) & (touching.friction > 0.0) & ~held[touching.numbers]
    alike = (_slip(touching, step.state) * before).sum(axis=1) > slow * speed
    closes = contacts.pushing(state, LIGHT) & ~pushed
    stops = None
    if (slides & ~alike).any():
        stops = contacts.marked(touching.numbers[slides & ~alike])
    return step, state, damped or stops is not None or bool(closes[touching.numbers].any()), stops


def _slip(touching: Touching, inner: State) -> Array:
    return touching.at(touching.system.motion(inner)).rates()[:, 1:]


def in_touch(method: GeneralizedAlpha, touching: Touching) -> GeneralizedAlpha:
    """The method of steps in which these touch."""
    return StepInContact(method.rho_inf, newton=method.newton, touching=touching) if touching.k else method


def touching(contacts: Contacts, state: State, h: float, gaps: Array) -> BoolArray:
    """Contacts ``(C,)`` that touch at a state, and do not part."""
    pushes = contacts.pushing(state)
    touches = contacts.marked(contacts.within(gaps, TOUCHING))
    if (loose := touches & ~pushes).any():
        own = Selection(contacts, loose)
        touches[own.numbers] = np.abs(own.here(state).rates()[:, 0]) <= own.still(state, h)
    return touches


def frame(
    contacts: Contacts, method: GeneralizedAlpha, state: State, closed: BoolArray
) -> tuple[GeneralizedAlpha, State, BoolArray]:
    """The method of a step where these are closed, the state without contacts that it steps, and one of each place."""
    touches = once(contacts, state, closed)
    which = touching_of(contacts, touches)
    return in_touch(method, which), which.inner(state), touches


@np.errstate(over="ignore", invalid="ignore")
def begun_with_forces(
    contacts: Contacts, method: GeneralizedAlpha, point: Standing, touches: BoolArray, h: float
) -> Standing:
    """With the forces of all that touch and do not part, from where the smooth part begins anew."""
    state, stays = with_forces(contacts, point.state, touches, h)
    return Standing(state, begun(contacts, method, Standing(state, point.memory), stays, h))


def with_forces(contacts: Contacts, state: State, touches: BoolArray, h: float) -> tuple[State, BoolArray]:
    """A state with the forces of all that touch and do not part, and which these are."""
    own, stays = Selection(contacts, touches), touches.copy()
    stays[own.numbers] = own.here(state).rates()[:, 0] <= own.still(state, h)
    return settled(contacts, state, once(contacts, state, stays), h), stays


def begun(contacts: Contacts, method: GeneralizedAlpha, point: Standing, closed: BoolArray, h: float) -> ContactMemory:
    """The memory where a smooth part begins anew at a state with its forces."""
    state, memory = point
    stepper, inner, touches = frame(contacts, method, state, closed)
    alpha = starting(stepper, contacts.open, inner, h, memory.alpha, anew=True)
    return memory._replace(alpha=alpha, touches=touches, closed=closed, balance=memory.balance._replace(energy=None))


def starting(
    method: GeneralizedAlpha, system: System, inner: State, h: float, alpha: AlphaMemory, *, anew: bool = False
) -> AlphaMemory:
    """Starting values for a step: those that there are, or as after an impact, without vibrations.

    Errors are carried to the end of each step near contacts.
    """
    started = method.restart(system, inner, h) if anew else method.prepared(system, inner, h, alpha, GROWTH)
    return started._replace(errors=due(alpha.errors))


def due(errors: CarriedErrors | None) -> CarriedErrors | None:
    """Errors that the next step carries along, however short."""
    return errors and errors._replace(until=min(errors.until, errors.t))
