"""Contacts at a state as what small motions see of them: closed ones as joints, open ones not at all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fem_mbs.contact.closed import OPEN, SLIDES, STICKS, ClosedSystem
from fem_mbs.contact.contacts import Contacts, Selection, contacts_of
from fem_mbs.contact.nonsmooth_alpha import NonsmoothAlpha
from fem_mbs.contracts import State
from fem_mbs.contracts.unilateral import TOUCHING
from fem_mbs.errors import LOG
from fem_mbs.initial.consistent_start import consistent_start
from fem_mbs.initial.singular import explain_singular
from fem_mbs.system.system import System

EDGE = 1e-3
"""What is left of a cone of friction at its edge."""
MOVES = 1e-9
"""Speed of slip, over the extent of the model a second, that is none."""
PRESSED = 1e-9
"""Force of a contact, over the largest, that is none."""


def as_joints(system: System, state: State | None, caller: str) -> tuple[System, State | None]:
    """The system in which contacts that push at a state are joints, and the state of it.

    What sticks holds its tangents, what slides has ``mu lambda_N`` against its slip. By default the state is the
    initial one, in which what touches carries what it must.
    """
    contacts = contacts_of(system)
    if not contacts.count:
        return system, state
    if state is None:
        state = NonsmoothAlpha().settle(system, consistent_start(system))
    gap, forces, slip = contacts.gaps(system.motion(state)), contacts.forces(state), np.zeros((contacts.count, 2))
    touching = Selection(contacts, (gap <= TOUCHING * contacts.size) | (forces[:, 0] > 0.0))
    slip[touching.numbers] = touching.here(state).rates()[:, 1:]
    closed = forces[:, 0] > PRESSED * max(float(np.abs(forces).max()), 1e-300)
    speed = np.linalg.norm(slip, axis=1)
    slides = closed & ((contacts.friction == 0.0) | (speed > MOVES * system.length))
    status = np.where(closed, np.where(slides, SLIDES, STICKS), OPEN)
    cone = contacts.friction * forces[:, 0]
    edge = (status == STICKS) & (np.linalg.norm(forces[:, 1:], axis=1) > (1.0 - EDGE) * cone)
    barely = ~closed & (gap <= TOUCHING * contacts.size)
    for marked, words in (
        (edge, "is about to slide: it holds here, and slides with the smallest motion one way"),
        (barely, "touches without a force: it is left open here, and pushes with the smallest motion one way"),
    ):
        for part, place in (contacts.named(k) for k in np.flatnonzero(marked).tolist()):
            LOG.warning("%s: %s: its %s %s", caller, part, part.contacts[place], words)
    found = contacts.closed(status)
    for batch, numbers in found.sliding:
        batch.fallback = slip[numbers] / speed[numbers, None]
    made, inner = found.system, with_multipliers(contacts, found, state)
    if closed.any():  # contacts that repeat each other, such as the corners of a box
        explain_singular(made, made.evaluate_at(inner), "at the state")
    return made, inner


def with_multipliers(contacts: Contacts, closed: ClosedSystem, state: State) -> State:
    """A state of the system with closed contacts, whose forces are multipliers."""
    result = contacts.without(state)
    if not len(closed.contacts):
        return result
    multipliers = np.zeros(closed.system.m)
    forces = contacts.forces(state)[closed.contacts]
    multipliers[: len(state.multipliers)] = state.multipliers
    there = closed.multipliers >= 0
    multipliers[closed.multipliers[there]] = forces[there]
    return replace(result, multipliers=multipliers)
