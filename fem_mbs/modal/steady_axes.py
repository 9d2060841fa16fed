"""The axes in which the linear equations about a motion that turns have constant coefficients.

A round rotor has constant matrices in axes that stand still, supports that are alike all round in axes that turn.
Which are constant is seen by turning the model by some angles, element by element: beside a stiff shaft, the bearings
of a whole matrix are rounding. docs/modes.md, "Rotation".
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.contracts import Motion
from fem_mbs.errors import MotionError
from fem_mbs.modal.turned import TurnedMatrices, TurnedModel, circling, steady_precession
from fem_mbs.system.matrices import scattered
from fem_mbs.system.system import Evaluation, System

ANGLES = (1.0, 2.6)
"""Angles in rad, no simple parts of a turn, to look at."""
SAME, ROUNDING = 1e-6, 1e-12
"""Change of the matrices of an element against its own, and against the largest of the model, that is none."""
COUPLED = 1e-9
"""Share of the matrices of an element that does not couple two motions."""
STEADY = 0.1
"""Angular acceleration against the square of the angular velocity, above which nothing turns steadily."""
DIFFER = 1e-3
"""Differences of angular velocities, against the largest, that count; circles against the extent, and the inverse."""
BALANCED = 1e-3
"""Force out of balance, against the largest, with which a state is not one of a motion of the model."""
WHY = "the equations about this state change as it turns, so that there are no frequencies"
APART = 3.0
"""Ratio of speeds from which each is looked at at its own times."""


def steady_axes(system: System, evaluation: Evaluation, still: bool = False) -> tuple[Array, Array, str]:
    """Axes in which the equations about a motion are constant: those of the bodies where they will do.

    With ``still``, those that stand still where they will do, then those of the bodies. Returns angular velocities in
    rad/s, world frame, of the axes from which the displacement and the rotation of every node are seen, ``(n, 2, 3)``,
    and internal variables, ``(k, 3)``; and what keeps the equations from being constant in any axes, empty if they are,
    or if nothing turns steadily.
    """
    motion, n, varies = evaluation.motion, system.n, ""
    spins = np.matvec(motion.R, motion.V[:, 3:])
    rates = np.concatenate([np.repeat(spins, 2, axis=0), np.zeros((system.k, 3))])
    for batch in system.batches:
        if batch.own is not None and batch.nodes.size:
            rates[2 * n + batch.own] = spins[batch.nodes[:, 0], None]
    speeds = turning_speeds(system, motion)
    if len(speeds) and _balanced(system, evaluation, speeds):
        try:
            rates, varies = _chosen(system, motion, speeds, rates, still)
        except MotionError as failure:
            varies = f"{WHY}: as it turns on, {failure}"
    return rates[: 2 * n].reshape(-1, 2, 3), rates[2 * n :], varies


def _chosen(system: System, motion: Motion, speeds: Array, bodies: Array, first: bool) -> tuple[Array, str]:
    """The axes of each displacement, rotation and internal variable, ``(2n + k, 3)``, and what varies all the same."""
    spins = np.matvec(motion.R, motion.V[:, 3:])
    still, looks = _Changes(TurnedModel(system, motion, np.zeros_like(spins)), speeds), list[_Changes]()
    rates = np.where(still.free[:, None] | (not first), bodies, 0.0)  # what the model holds is seen from anywhere
    label = still.coupled()
    left = np.unique(label[still.free])
    tried = (np.zeros(3), spins, *speeds) if first else (spins, np.zeros(3), *speeds)
    for w in tried:
        looks.append(_Changes(TurnedModel(system, motion, w + np.zeros_like(spins)), speeds) if w.any() else still)
        settled = np.setdiff1d(left, label[looks[-1].parts])
        if w is not spins:
            rates[np.isin(label, settled)] = w
        if not len(left := np.setdiff1d(left, settled)):
            return rates, ""
    return bodies, _described([still, *looks[2:]], label == left[0])


def _balanced(system: System, evaluation: Evaluation, speeds: Array) -> bool:
    """Whether forces and moments are in balance, against the largest and what inertia would put up."""
    left = system.nodes_of(system.spread(system.at_free(evaluation.force))).reshape(-1, 2, 3)
    scale = evaluation.scale + inertia_forces(system, speeds[0])
    return bool((np.abs(left).max(axis=(0, 2)) <= BALANCED * scale).all())


def inertia_forces(system: System, omega: Array) -> Array:
    """The largest force and moment that inertia would put up at an angular velocity, ``(2,)``."""
    mass = system.nodes_of(system.diagonal_mass).reshape(-1, 2, 3).max(axis=(0, 2))
    return np.asarray(mass * (system.length, 1.0) * (omega @ omega))


def turning_speeds(system: System, motion: Motion) -> Array:
    """Angular velocities ``(k, 3)`` that differ, world frame, the fastest first; none where nothing turns steadily.

    Where axes of rotation are carried round, how fast they are is one of them.
    """
    mass = system.nodes_of(system.diagonal_mass)
    inertia, (spins, gains) = mass[:, 3:].sum(axis=1), np.matvec(motion.R, [motion.V[:, 3:], motion.A[:, 3:]])
    if not spins.any():
        # points that go round while their nodes do not turn
        v, a = np.matvec(motion.R, [motion.V[:, :3], motion.A[:, :3]])
        spins = circling(v, a)
        radii, speed = system.length * np.linalg.norm(spins, axis=1), np.linalg.norm(v, axis=1)
        spins[(speed < DIFFER * radii) | (DIFFER * speed > radii)] = 0.0
        squares = np.vecdot(v, v)
        gains = spins * np.divide(np.vecdot(v, a), squares, out=np.zeros_like(squares), where=squares > 0.0)[:, None]
        inertia = mass[:, :3].sum(axis=1)
    precession = steady_precession(system, motion)
    gains, spins = gains - np.cross(precession, spins), np.vstack([spins, precession])
    sizes = np.linalg.norm(spins, axis=1)
    weights = inertia + np.finfo(float).tiny
    if weights @ np.linalg.norm(gains, axis=1) >= STEADY * (weights @ sizes[:-1] ** 2):
        return np.empty((0, 3))
    differ: list[Array] = []
    for spin in spins[np.argsort(-sizes, kind="stable")]:
        if all(np.linalg.norm(spin - known) > DIFFER * sizes.max() for known in (np.zeros(3), *differ)):
            differ.append(spin)
    return np.array(differ)


def _times(speeds: Array) -> list[float]:
    """When to look: the fastest have turned by the angles, and so have those that are much slower."""
    chosen: list[float] = []
    for size in np.linalg.norm(speeds, axis=1):
        if not chosen or size < chosen[-1] / APART:
            chosen.append(float(size))
    return [angle / size for size in chosen for angle in ANGLES]


class _Changes:
    """What changes of a model as it turns on.

    Matrices are looked at by blocks of parts: displacement and rotation of each node, and each internal variable.
    """

    def __init__(self, turned: TurnedModel, speeds: Array) -> None:
        system = turned.system
        self.turned, self.n = turned, system.n
        self.free: BoolArray = np.append(system.free[:, ::3].ravel(), system.order >= 0)
        """Parts of the motion that may move."""
        first, *later = (turned.at(s) for s in (0.0, *_times(speeds)))
        amplitudes = [own is not None for own in turned.own] + [False] * len(system.constraint_batches)
        pairs = zip(turned.rows, amplitudes, strict=True)
        self.first, self.cells = first, [_Cells(rows, system.n, moves) for rows, moves in pairs]
        fastest = float(np.linalg.norm(speeds[0]))
        self.sizes = [
            _sizes(np.max([cells.blocks(part) for part in parts], axis=0), fastest)
            for cells, *parts in zip(self.cells, first.of_cells, *(there.of_cells for there in later), strict=True)
        ]
        rounding = _largest(self.cells, self.sizes)
        self.limits = [
            SAME * np.maximum(size, _between(size, cells))
            + ROUNDING * rounding[:, None, cells.kinds[:, None], cells.kinds]
            for size, cells in zip(self.sizes, self.cells, strict=True)
        ]
        self.changed = [np.zeros(cells.parts.shape, np.bool_) for cells in self.cells]
        """Parts of each element and joint that change, ``(n, q)``."""
        for there in later:
            self._compare(there)
        self.parts: BoolArray = np.zeros(len(self.free), np.bool_)
        """Parts of the model that change."""
        for cells, changed in zip(self.cells, self.changed, strict=True):
            self.parts[cells.parts[changed]] = True

    def _compare(self, there: TurnedMatrices) -> None:
        """Note what differs from the start; elements that change each, but not together, do not."""
        elements = len(self.turned.system.batches)
        differences = [b - a for a, b in zip(self.first.of_cells, there.of_cells, strict=True)]
        for which in range(3):
            changes, limits, places = [], [], []
            for difference, limit, cells in zip(differences, self.limits, self.cells, strict=True):
                beyond = (cells.blocks(difference[which]) > limit[which]).any(axis=(1, 2))
                changes.append((difference[which][beyond], cells.rows[beyond]))
                limits.append((limit[which][beyond], cells.parts[beyond]))
                places.append(np.flatnonzero(beyond))
            if not any(len(place) for place in places):
                continue
            total = scattered(changes, self.turned.system.N).tocoo()
            allowed = scattered(limits, len(self.free))
            first, second = (_part(component, self.n) for component in total.coords)
            worse = np.unique(first[np.abs(total.data) > np.asarray(allowed[first, second]).ravel()])
            for k, (cells, place) in enumerate(zip(self.cells, places, strict=True)):
                self.changed[k][place] |= np.isin(cells.parts[place], worse)
        for k, (a, b) in enumerate(zip(self.first.spaces, there.spaces, strict=True), elements):
            other = np.abs(b - a).reshape(*a.shape[:1], -1, *self.cells[k].rows.shape[1:], a.shape[2]).max(axis=(1, 3))
            self.changed[k] |= np.maximum.reduceat(other, self.cells[k].starts, axis=1) > SAME
        for k, a, b in zip(self.turned.system.readers, self.first.readings, there.readings, strict=True):
            if a.nnz:
                change = abs(b - a).max(axis=1).toarray().reshape(self.cells[k].rows.shape)
                # numbers, arms and their inverse
                none = SAME * abs(a).max() + ROUNDING * max(self.turned.system.length, 1.0 / self.turned.system.length)
                self.changed[k] |= np.maximum.reduceat(change, self.cells[k].starts, axis=1) > none

    def coupled(self) -> IntArray:
        """Number of the group, in which elements and joints couple motions, to which each part belongs."""
        system, pairs = self.turned.system, [np.empty((2, 0), np.intp)]
        for k, (cells, size, limit) in enumerate(zip(self.cells, self.sizes, self.limits, strict=True)):
            couples = size[0] > COUPLED / SAME * limit[0]
            if (joint := k - len(system.batches)) >= 0:
                A = self.first.equations[joint]
                couples |= cells.blocks(A.mT @ A) > 0.0
            cell, row, column = np.nonzero(couples)
            pairs.append(np.array([cells.parts[cell, row], cells.parts[cell, column]]))
        graph = np.concatenate(pairs, axis=1)
        shape = (len(self.free), len(self.free))
        return connected_components(csr_array((np.ones(graph.shape[1]), tuple(graph)), shape), directed=False)[1]


class _Cells:
    """Where the parts of elements or joints stand in their matrices."""

    def __init__(self, rows: IntArray, n: int, moves: bool) -> None:
        own: BoolArray = rows[0] >= 6 * n
        self.rows = rows
        self.starts = np.flatnonzero(own | (np.arange(rows.shape[1]) % 3 == 0))
        self.parts = _part(rows[:, self.starts], n)
        self.kinds = np.where(own[self.starts], 2, (self.starts // 3) % 2)
        self.moves: BoolArray = ~own[self.starts] | moves
        """Whether they are motions: of nodes, or amplitudes of shapes."""

    def blocks(self, matrices: Array) -> Array:
        """Largest entries ``(..., q, q)`` of the blocks of matrices ``(..., b, b)``."""
        rows = np.maximum.reduceat(np.abs(matrices), self.starts, axis=-1)
        return np.maximum.reduceat(rows, self.starts, axis=-2)


def _part(components: IntArray, n: int) -> IntArray:
    """The part to which a component belongs."""
    return np.where(components < 6 * n, components // 3, components - 4 * n)


def _sizes(blocks: Array, fastest: float) -> Array:
    """What changes of stiffness, damping and mass are judged by, ``(3, n, q, q)``."""
    K, C, M = blocks
    C = np.maximum(C, fastest * M)
    return np.stack([np.maximum(K, fastest * C), C, M])


def _between(size: Array, cells: _Cells) -> Array:
    """What the blocks of two motions say of the one that couples them."""
    own = np.where(cells.moves, np.diagonal(size, axis1=-2, axis2=-1), 0.0)
    return np.sqrt(own[..., :, None] * own[..., None, :])


def _largest(cells: list[_Cells], sizes: list[Array]) -> Array:
    """The largest blocks ``(3, 3, 3)`` of each matrix, between displacements, rotations and internal variables."""
    result = np.zeros((3, 3, 3))
    for part, size in zip(cells, sizes, strict=True):
        for which in range(3):
            every = np.maximum(size, _between(size, part))[which].max(axis=0, initial=0.0)
            np.maximum.at(result[which], (part.kinds[:, None], part.kinds), every)
    return result


def _described(looks: list[_Changes], group: BoolArray) -> str:
    """The elements of a group of parts that change in axes that stand still, and in axes that turn."""
    still, turning = (_named(look, group) for look in looks[:2])
    others = [name for name in turning if name != still[0]]
    if others:
        text = f"in axes that stand still {still[0]} is not alike all round, in axes that turn {others[0]} is not"
    else:
        text = f"{still[0]} is not alike all round, nor is the rest, or the state is none that lasts"
    return (
        f"{WHY}: {text}. For modes about rest give no velocities. Make one of the two alike all round, as are equal "
        "moments of inertia, equal stiffnesses across the axis and both modes of each pair that bends a FlexibleBody, "
        "take mbs.campbell(..., floquet=True), or let mbs.simulate follow the motion"
    )


def _named(look: _Changes, group: BoolArray) -> list[str]:
    """The elements and joints of a group of parts that change."""
    names = []
    for batch, cells, changed in zip(look.turned.batches, look.cells, look.changed, strict=True):
        places = np.flatnonzero((changed & group[cells.parts]).any(axis=1))
        names += [str(batch.owners[int(place)]) for place in places]
    return names
