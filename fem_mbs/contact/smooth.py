"""The smooth part of a step: motion and forces of contact from one impact to the next.

Contacts that touch where it begins obey Signorini's and Coulomb's laws at its end (``equations.py``); others are not
there: what of them ends too deep has had an impact (``hits.py``). Where no contact can close, the part is a step of the
stabilised generalised-alpha method as it is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha
from fem_mbs.alpha.memory import AlphaMemory
from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contact.energy import gained
from fem_mbs.contact.equations import StepInContact
from fem_mbs.contact.impact import Contacts, settled
from fem_mbs.contact.memory import ContactMemory, Smooth, Standing, fastest, still
from fem_mbs.contact.touching import Touching, touching_of
from fem_mbs.contracts import State, Step
from fem_mbs.contracts.unilateral import FORCES, TOUCHING
from fem_mbs.newton import FAILURES, NotConvergedError
from fem_mbs.system.system import System

SLACK = 1e-8
"""Of paths, over the extent of the model: gaps that close on less are near."""
GROWTH = 1.5
"""After a step that was shorter by this factor the smooth part begins anew: impacts have set off vibrations."""
SHORTER = 0.25
"""Share of the longest step: one without a solution is halved first, and made by Euler's method from there on."""
AWAY = 1e6
"""Way in a part, over the extent of the model, that is no motion."""
REVERSALS = 3
"""How often contacts whose slip has reversed are held instead."""


def smooth_part(
    contacts: Contacts, method: GeneralizedAlpha, point: Standing, h: float, damped: bool = False
) -> Smooth:
    """A part without contacts, where none can close in it, or as :func:`in_contact`, watched, or ``damped``."""
    system, memory = contacts.system, point.memory
    if not contacts.count:
        step = method.inner_step(system, point.state, h, memory.alpha)
        return Smooth(Standing(step.state, memory._replace(alpha=step.memory)), step.report, step.error or 0.0)
    slack = SLACK * system.length
    if damped or memory.clear.min() <= slack:
        return _watched(contacts, method, point, h, damped=damped)
    step = _without(contacts, method, point, h)
    speed = fastest(system, step.state)
    clear = memory.clear - 2.0 * h * max(speed, memory.speed)
    if clear.min() <= slack:
        return _watched(contacts, method, point, h, step)
    state = contacts.carry_on(point.state, step.state)
    memory = memory._replace(alpha=step.memory, clear=clear, speed=speed, energy=None)
    return Smooth(Standing(state, memory), contacts.report(step.report), step.error or 0.0)


def _without(contacts: Contacts, method: GeneralizedAlpha, point: Standing, h: float) -> Step:
    """A step in which all contacts are open."""
    inner = contacts.without(point.state)
    alpha = starting(method, contacts.open, inner, h, point.memory.alpha)
    return method.inner_step(contacts.open, inner, h, alpha)


def _watched(
    contacts: Contacts,
    method: GeneralizedAlpha,
    point: Standing,
    h: float,
    ahead: Step | None = None,
    damped: bool = False,
) -> Smooth:
    """A part in contact; if it gains energy that nothing brought, one of Euler's implicit method in its place.

    So, too, if it has no solution and has been halved already; where that has none either, all contacts are left to
    impulses at its end.
    """
    if not damped:
        try:
            smooth, gains = told(contacts, point, in_contact(contacts, method, point, h, ahead=ahead))
            if not gains:
                return smooth
        except FAILURES:
            if h > SHORTER * point.memory.longest:
                raise
    try:
        smooth = in_contact(contacts, method, point, h, damped=True)
    except FAILURES:
        smooth = in_contact(contacts, method, point, h, damped=True, impulsive=True)
    smooth, _ = told(contacts, point, smooth)
    memory = smooth.point.memory
    return smooth._replace(point=smooth.point._replace(memory=memory._replace(damped=memory.damped + 1)), damped=True)


def told(contacts: Contacts, first: Standing, smooth: Smooth) -> tuple[Smooth, bool]:
    """With what the part has gained since a state, and whether that is more than passes."""
    last = smooth.point
    states = contacts.without(first.state), contacts.without(last.state)
    gain = gained(contacts.open, *states, first.memory.energy)
    rise = max(0.0, first.memory.rise + gain.all)
    memory = last.memory._replace(rise=rise, motion=max(first.memory.motion, gain.motion), energy=gain.end)
    if rise > memory.most:
        where = int(last.state.u[contacts.carried[:, FORCES]][:, 0].argmax())
        memory = memory._replace(most=rise, where=where)
    return smooth._replace(point=last._replace(memory=memory)), gain.more > 0.0


def in_contact(
    contacts: Contacts,
    method: GeneralizedAlpha,
    point: Standing,
    h: float,
    *,
    ahead: Step | None = None,
    damped: bool = False,
    impulsive: bool = False,
) -> Smooth:
    """A part in which contacts that touch obey their laws; ``ahead`` is one with all open.

    If ``damped``, one of Euler's implicit method: there the force of a contact is its impulse in the whole part. If
    ``impulsive``, all are open in it, whatever becomes of them.
    """
    system, memory = contacts.system, point.memory
    touches = np.zeros_like(memory.touches) if impulsive else memory.touches
    if touches.any():
        moved = _moved(contacts, method, point, touching_of(contacts, touches), h, damped)
    elif damped:
        inner = contacts.without(point.state)
        euler, alpha = method.euler(contacts.open, inner, h)
        moved = ContactStep(euler.inner_step(contacts.open, inner, h, alpha), None, True)
    else:
        moved = ContactStep(ahead or _without(contacts, method, point, h), None, False)
    step, state = moved.step, moved.state
    if state is None:
        state = contacts.carry_on(point.state, step.state, np.zeros((contacts.count, 3)))
    if not h * fastest(system, state) < AWAY * system.length:
        raise NotConvergedError("the iteration leads away, where forces that are infinite balance")
    motion = system.motion(state)
    clear = memory.clear - 2.0 * h * max(fastest(system, state), memory.speed)
    near = (clear <= SLACK * system.length) | contacts.touched(touches)
    gaps = contacts.gaps(motion, near)
    clear = contacts.clearance(motion, gaps, near, clear)
    memory = memory._replace(alpha=step.memory, clear=clear, speed=fastest(system, state))
    result = Standing(state, memory._replace(touches=touching(contacts, state, h, gaps)))
    left = touches & (gaps > TOUCHING * system.length)
    pushes = state.u[contacts.carried[:, FORCES]][:, 0] > 0.0
    if moved.anew or (left & pushes).any():  # beyond the end of a face or an edge
        result = begun_with_forces(contacts, method, result, result.memory.touches, h)
    elif (result.memory.touches != touches).any():
        alpha = step.memory._replace(predictor=None, convergence=None, matrix=None)
        result = result._replace(memory=result.memory._replace(alpha=alpha))
    return Smooth(result, contacts.report(step.report), step.error or 0.0, gaps, near, ~touches, impulsive=impulsive)


class ContactStep(NamedTuple):
    """A step with contacts that touch."""

    step: Step
    state: State | None
    """Of the model; None if none touches."""
    anew: bool
    """Whether forces of contact jump at its end."""


def _moved(
    contacts: Contacts, method: GeneralizedAlpha, point: Standing, touching: Touching, h: float, damped: bool
) -> ContactStep:
    """A step in which contacts obey their laws at its end.

    One whose slip reverses has stuck in between, and sticks at the end, whatever its cone then: unless no force of
    friction can hold it, as at the dead centre of a slider.
    """
    inner, system = touching.inner(contacts, point.state), touching.system
    none = np.zeros(touching.k, np.bool_)
    stepper = in_touch(method, touching)
    if damped:
        euler, alpha = stepper.euler(system, inner, h)
        stepper = replace(stepper, parameters=euler.parameters)
    else:
        alpha = starting(stepper, system, inner, h, point.memory.alpha)
    before, slow = touching.at(system.motion(inner)).slip(), still(contacts.system, point.state, h)
    slides = (np.linalg.norm(before, axis=1) > slow) & (touching.friction > 0.0)
    step, holds, alike = stepper.inner_step(system, inner, h, alpha), none, none
    for _ in range(REVERSALS if slides.any() else 0):
        after = touching.at(system.motion(step.state)).slip()
        alike = (after * before).sum(axis=1) > 0.0
        if not (reverses := slides & ~alike & ~holds & (np.linalg.norm(after, axis=1) > slow)).any():
            break
        holds = holds | reverses
        try:
            step = replace(stepper, holds=holds).inner_step(system, inner, h, alpha)
        except FAILURES:
            break
    state = touching.outer(contacts, point.state, step.state)
    forces = [own.u[contacts.carried[touching.numbers, FORCES]][:, 0] > 0.0 for own in (point.state, state)]
    return ContactStep(step, state, damped or bool((slides & ~alike).any() or (forces[1] & ~forces[0]).any()))


def in_touch(method: GeneralizedAlpha, touching: Touching) -> StepInContact:
    """The method of steps in which these touch."""
    none = np.zeros(touching.k, np.bool_)
    return StepInContact(method.rho_inf, newton=method.newton, touching=touching, holds=none)


def touching(contacts: Contacts, state: State, h: float, gaps: Array | None = None) -> BoolArray:
    """Contacts ``(C,)`` that touch at a state, and do not part."""
    system = contacts.system
    gaps = contacts.gaps(system.motion(state)) if gaps is None else gaps
    touches: BoolArray = gaps <= TOUCHING * system.length
    pushes = state.u[contacts.carried[:, FORCES]][:, 0] > 0.0
    if (touches & ~pushes).any():
        rates = contacts.at(state, contacts.touched(touches)).rates()[:, 0]
        touches &= pushes | (np.abs(rates) <= still(system, state, h))
    return touches


def frame(
    contacts: Contacts, method: GeneralizedAlpha, state: State, touches: BoolArray
) -> tuple[GeneralizedAlpha, State, System]:
    """The method of a step in which these touch, and the state in the system that it steps."""
    if not touches.any():
        return method, contacts.without(state), contacts.open
    which = touching_of(contacts, touches)
    return in_touch(method, which), which.inner(contacts, state), which.system


def begun_with_forces(
    contacts: Contacts, method: GeneralizedAlpha, point: Standing, touches: BoolArray, h: float
) -> Standing:
    """With the forces of all that touch and do not part, from where the smooth part begins anew."""
    state, memory = point
    rates = contacts.at(state, contacts.touched(touches)).rates()
    slow = still(contacts.system, state, h)
    touches = touches & (rates[:, 0] <= slow)
    state = settled(contacts, state, touches, slow)
    return Standing(state, begun(contacts, method, Standing(state, memory), touches, h))


def begun(contacts: Contacts, method: GeneralizedAlpha, point: Standing, touches: BoolArray, h: float) -> ContactMemory:
    """The memory where a smooth part begins anew at a state with its forces."""
    state, memory = point
    stepper, inner, system = frame(contacts, method, state, touches)
    alpha = starting(stepper, system, inner, h, memory.alpha, anew=True)
    return memory._replace(alpha=alpha, touches=touches, speed=fastest(contacts.system, state), energy=None)


def starting(
    method: GeneralizedAlpha, system: System, inner: State, h: float, alpha: AlphaMemory, anew: bool = False
) -> AlphaMemory:
    """Starting values for a step: those that there are, or as after an impact, without vibrations.

    These come from a trial step, which may have no solution.
    """
    try:
        if anew:
            return method.restart(system, inner, h)
        return method.prepared(system, inner, h, alpha, GROWTH)
    except FAILURES:
        return method.after_jump(system, inner, inner, h, alpha)
