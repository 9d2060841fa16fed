"""Energies, how well joints hold, forces of joints, elements and contacts, over the states of a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray, read_only
from fem_mbs.contracts import Constraint, ConstraintBatch, Element, ElementBatch, Motion, Public
from fem_mbs.contracts.unilateral import CARRIED, IMPULSES, TIME, WORK
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3
from fem_mbs.solution.copies import LocalNumbering, over_time
from fem_mbs.solution.history import History
from fem_mbs.system import constraints
from fem_mbs.system.batch_checks import energies_of
from fem_mbs.system.states import in_world

MOST = 50_000_000
"""Gaps that are put into one array."""


def reactions(batch: ConstraintBatch, motion: Motion, multipliers: Array) -> tuple[Array, Array]:
    """Force and moment ``(n, 3)`` that each joint of a batch puts on its last node.

    In the world frame, at the joint's point on that node; ``multipliers`` (m,) are those of the batch.
    """
    offsets = np.array([joint.offset for joint in batch.owners])
    wrenches = _wrenches(offsets, batch, motion, batch.at(motion.t), multipliers)
    return wrenches[:, :3], wrenches[:, 3:]


def reactions_over_time(history: History, joint: Constraint) -> tuple[Array, Array]:
    """The same of one joint at all times, ``(nt, 3)``."""
    with history.system.as_frozen():
        wrenches = over_time(history, [joint], partial(_wrenches, joint.offset), met=True)[:, 0]
    return wrenches[:, :3], wrenches[:, 3:]


def _wrenches(offset: Array, batch: Any, motion: Motion, prescribed: Any, multipliers: Array) -> Array:
    """Forces and moments ``(n, 6)`` at points in the frames of the last nodes."""
    _, gradient, _ = batch.evaluate(motion, prescribed)
    last = 6 * batch.nodes.shape[1]
    terms = multipliers[:, None] * gradient[:, last - 6 : last]
    wrench = -np.add.reduceat(terms, np.searchsorted(batch.cell, np.arange(len(batch.nodes))))
    R = motion.R[batch.nodes[:, -1]]
    force, moment = wrench[:, :3], wrench[:, 3:] - so3.cross(offset, wrench[:, :3])
    return np.concatenate([np.matvec(R, force), np.matvec(R, moment)], axis=-1)


def nodal_forces(history: History, part: Element) -> Array:
    """Force and moment ``(nt, p, 6)`` that an element puts on each of its nodes, world frame."""
    number = LocalNumbering(history.system.number)
    nodes = np.array([number(node) for node in part.nodes])
    cells = type(part).batch([part], number).nodes.ravel()
    return np.equal.outer(nodes, cells) @ over_time(history, [part], _on_nodes).reshape(-1, len(cells), 6)


def _on_nodes(batch: Any, motion: Motion, prescribed: Any, multipliers: Array) -> Array:
    """What each cell puts on its nodes ``(n, p, 6)``, opposite to its contribution to the residual."""
    force, _ = batch.force(motion, prescribed)
    force = force.sum(axis=1) if force.ndim == 3 else force
    n, p = batch.nodes.shape
    wrenches = -force[:, : 6 * p].reshape(n, p, 2, 3)
    return np.matvec(motion.R[batch.nodes][:, :, None], wrenches).reshape(n, p, 6)


@dataclass(frozen=True)
class EnergyHistory(Public):
    """Energies in J over time, each ``(nt,)``; work of applied loads is not part of them."""

    kinetic: Array
    strain: Array
    gravity: Array

    @property
    def total(self) -> Array:
        """Sum of the three."""
        return self.kinetic + self.strain + self.gravity


@dataclass(frozen=True)
class ConstraintResidual(Public):
    """Largest absolute constraint violations over time, each ``(nt,)``: ``Phi`` and ``B V + Phi_t``."""

    position: Array
    velocity: Array


def energies(history: History) -> EnergyHistory:
    """Energies of all elements; those of gravity count from the origin of the world."""
    result = np.zeros((3, len(history.t)))
    storing = [batch for batch in history.system.batches if type(batch).energy is not ElementBatch.energy]
    far = storing and history.system.origin.any()
    of_world = history.at(in_world(history.system, np.asarray(history.x))) if far else None
    for batch in storing:
        owners = list(dict.fromkeys(batch.owners))
        of_batch = over_time(history, owners, _energy, partial(np.sum, axis=1))
        result += of_batch.T
        if of_world is not None:
            result[2] += (over_time(of_world, owners, _energy, partial(np.sum, axis=1)) - of_batch)[:, 2]
    return EnergyHistory(*map(read_only, result))


def residuals(history: History) -> ConstraintResidual:
    """How far equations of joints are from zero."""
    largest = np.zeros((2, len(history.t)))
    for batch in history.system.constraint_batches:
        largest = np.maximum(largest, over_time(history, batch.owners, _violation, partial(np.max, axis=1)).T)
    return ConstraintResidual(*map(read_only, largest))


def _energy(batch: Any, motion: Motion, prescribed: Any, multipliers: Array) -> Array:
    """Of each cell ``(n, 3)``."""
    return np.stack(np.broadcast_arrays(*map(np.atleast_1d, energies_of(batch, motion))), axis=-1)


def _violation(batch: Any, motion: Motion, prescribed: Any, multipliers: Array) -> Array:
    """Of each equation ``(m, 2)``: of positions and of velocities."""
    phi, gradient, context = batch.evaluate(motion, prescribed)
    rate = constraints.rate(batch, motion, phi, gradient, context)
    position = phi if batch.velocity is None else np.where(batch.velocity, 0.0, phi)
    return np.abs(np.stack([position, rate], axis=-1))


class Impulse(NamedTuple):
    """What a contact has given in a step at once."""

    t: float
    """When, or of several in a step, when the last."""
    point: int
    """Number of the point of the contact."""
    normal: float
    """N s (N m s of an angle); negative where impacts beside have taken back what forces had brought in the step."""
    friction: Array
    """Along two tangents, ``(2,)``."""


class PushingPoint(NamedTuple):
    """A contact that pushes."""

    point: int
    """Number of the point of the contact."""
    gap: float
    """m."""
    force: Array
    """On its node b, N, world frame, ``(3,)``."""


class ContactLosses(NamedTuple):
    """What a contact has taken from the energy so far in a run, in J, ``(nt,)`` each.

    What is pushed out, where more impacts come in a step than are located, has energy of gravity or strain from that,
    which is in neither.
    """

    impacts: Array
    """By impulses, those of friction too; negative where they have brought energy."""
    friction: Array
    """By friction in closed contact, between stored states by the trapezoidal rule."""


def contacts_over_time(history: History, part: Element) -> tuple[Array, Array]:
    """Gaps ``(nt, k)`` and forces ``(nt, k, 3)`` on node b."""
    if part.slots:
        return _of_group(history, part)

    def gaps_and_forces(batch: Any, motion: Motion, prescribed: Any, multipliers: Array) -> Array:
        return np.concatenate([batch.gaps(motion)[..., None], batch.forces_on_b(motion)], axis=-1)

    values: Array = over_time(history, [part], gaps_and_forces)[:, 0]
    return values[..., 0], values[..., 1:]


def impulses(history: History, part: Element) -> list[Impulse]:
    """Where the sums of impulses grow; of contacts that yield there are none."""
    if part.yields:
        return []
    numbers, carried = _carried(history, part)
    before = np.zeros_like(carried[..., IMPULSES])
    before[0] = _earlier(history, carried)[:, IMPULSES]
    before[1:] = np.where((numbers[1:] == numbers[:-1])[..., None], carried[:-1, :, IMPULSES], 0.0)
    grown = carried[..., IMPULSES] - before
    found = [
        Impulse(float(carried[k, j, TIME]), int(numbers[k, j]), float(grown[k, j, 0]), grown[k, j, 1:])
        for k, j in zip(*np.nonzero(grown.any(axis=-1)), strict=True)
    ]
    return sorted(found, key=lambda impulse: impulse.t)


def losses(history: History, part: Element) -> ContactLosses:
    """Of a rigid contact."""
    if part.yields:
        raise ModelError(
            f"contact_losses: {part} yields: what it stores is strain energy, and what energy.total loses goes into "
            "damping and friction"
        )
    carried = _carried(history, part)[1]
    impacts = carried[..., WORK].sum(axis=1)
    if part.slots:
        batch = _group_batch(history, part)
        power = np.array([batch.acting(history.motion(k)).power for k in range(len(history.t))])
        impacts += np.asarray(history.u)[:, history.system.number.own(part)[0]]
    else:
        power = over_time(history, [part], _friction_power)[:, 0]
    if _earlier(history, carried).any():
        impacts -= impacts[0]
    friction = np.append(0.0, np.cumsum(0.5 * np.diff(history.t) * (power[1:] + power[:-1])))
    return ContactLosses(impacts, friction)


def touching(history: History, part: Element, k: int) -> list[PushingPoint]:
    """What pushes at a stored state."""
    if part.slots:
        at = _group_batch(history, part).acting(history.motion(k))
        numbers, gap, force = at.numbers, at.gap, at.force
    else:
        one = History.of(history.system, [history.state(k)], history.instant)
        (gap,), (force,) = contacts_over_time(one, part)
        numbers = np.arange(len(gap))
    return [PushingPoint(int(numbers[j]), float(gap[j]), force[j]) for j in np.flatnonzero(force.any(axis=1))]


def _group_batch(history: History, part: Element) -> Any:
    """Of contacts that take turns in what they carry."""
    return next(batch for batch in history.system.batches if batch.owners[0] is part)


def _of_group(history: History, part: Element) -> tuple[Array, Array]:
    """Gaps and forces of a group."""
    batch, (nt, k) = _group_batch(history, part), (len(history.t), len(part.contacts))
    if nt * k > MOST:
        raise ModelError(
            f"{part} has {k} contacts, at {nt} times too many for one array; ask for those that push at one of them by "
            "solution.touching(contact, k), or for solution.impulses(contact)"
        )
    gaps, forces = np.empty((nt, k)), np.zeros((nt, k, 3))
    for j in range(nt):
        motion = history.motion(j)
        gaps[j] = batch.whole.gaps(motion).ravel()
        at = batch.acting(motion)
        forces[j, at.numbers] = at.force
    return gaps, forces


def _carried(history: History, part: Element) -> tuple[IntArray, Array]:
    """Numbers ``(nt, s)`` of contacts, and what they carry, ``(nt, s, 8)``."""
    own, width = history.system.number.own(part), len(CARRIED)
    if part.slots:
        own = own[1:].reshape(part.slots, 1 + width)
        values = np.asarray(history.u)[:, own]
        return values[..., 0].astype(np.intp), values[..., 1:]
    rows = own[-width * len(part.contacts) :].reshape(-1, width)
    return np.broadcast_to(np.arange(len(rows)), (len(history.t), len(rows))), np.asarray(history.u)[:, rows]


def _earlier(history: History, carried: Array) -> Array:
    """What contacts ``(s, 8)`` have carried before a run, which went on where another stood; else nothing."""
    first = carried[0]
    hit = first[:, IMPULSES].any(axis=1)
    return first if (first[hit, TIME] < history.t[0]).any() else np.zeros_like(first)


def _friction_power(batch: Any, motion: Motion, prescribed: Any, multipliers: Array) -> Array:
    """What friction takes in each cell, ``(n,)``."""
    result = np.zeros(len(batch.nodes))
    if at := batch.pushing(motion):
        V = motion.V[batch.nodes[at.rows]].reshape(len(at.rows), -1)
        np.subtract.at(result, at.rows, (at.forces[:, 1:] * np.matvec(at.gaps.gradient[:, 1:], V)).sum(axis=1))
    return result
