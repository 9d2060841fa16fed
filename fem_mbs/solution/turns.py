"""Coordinates of joints over time, and the whole turns that angles lack.

The angles that joints measure are in ``(-pi, pi]``. Their rates tell how often they have turned from one step to the
next, so that whoever keeps only some of the steps counts turns over all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contracts import Constraint, State
from fem_mbs.errors import MotionError
from fem_mbs.solution.copies import LocalNumbering
from fem_mbs.solution.history import History
from fem_mbs.system.kinematics import make_kinematics
from fem_mbs.system.system import System

Turns: TypeAlias = dict[Constraint, Array]
"""Whole turns ``(nt, c)`` of the coordinates of joints; in a row after these, those of where the run stands."""
MANY, SMALL = 256, 16
"""Steps that are counted together; of fewer nodes than so many, as many more."""
TOGETHER, CELLS = 4096, 2**16
"""Steps in which coordinates of a joint are measured together; the same times joints, of several."""


def principal(history: History, joint: Constraint) -> tuple[Array, Array]:
    """Values and rates ``(nt, c)`` of the coordinates of a joint, angles in ``(-pi, pi]``."""
    values, rates = of_alike(history, [joint])[..., 0, :]
    return values, rates


def of_alike(history: History, joints: Sequence[Constraint]) -> Array:
    """The same ``(2, nt, joints, c)`` of joints that may share batches of coordinates."""
    number, (n, t) = LocalNumbering(history.system.number), (len(joints), history.t)
    with history.system.as_frozen():
        batches = [joints[0].coordinate_batch(joints, own.name, number) for own in joints[0].coordinates]
    found, count = np.empty((2, len(t), n, len(batches))), min(TOGETHER, max(1, CELLS // n))
    places, groups = [history.system.number(node) for node in number.rows], [node.group for node in number.rows]
    for first in range(0, len(t), count):
        times = np.arange(first, min(first + count, len(t)))
        nt, nodes = len(times), [array[times[:, None], places] for array in (history.x, history.R, history.v)]
        R, v = nodes[1].reshape(-1, 3, 3), nodes[2].reshape(-1, 6)
        nodes[2] = make_kinematics(nt * groups).to_body(R, v).reshape(nodes[2].shape)
        # a batch measures one joint at all times, or all of them at one after the other
        cells: list[tuple[Any, Any]] = [(slice(None), 0)] if n == 1 else [(k, slice(None)) for k in range(nt)]
        for (k, batch), (at, of) in product(enumerate(batches), cells):
            x, R, V = (array[at, batch.nodes[of]] for array in nodes)
            u = udot = np.empty((len(x), 0))
            if batch.own is not None:
                u, udot = (array[times][at, batch.own[of]] for array in (history.u, history.udot))
            values, gradient, _ = batch.measure(x, R, u)
            rates = np.vecdot(gradient, np.concatenate([V.reshape(len(x), -1), udot], axis=-1))
            found[:, times[at], of, k] = values, rates
    return found


def whole_turns(joint: Constraint, t: Array, values: Array, rates: Array) -> Array:
    """Turns ``(nt, ..., c)`` that angles lack, so that they change as their rates tell; zero at the first time."""
    expected = 0.5 * np.diff(t).reshape(-1, *(1,) * (values.ndim - 1)) * (rates[1:] + rates[:-1])
    turns = np.zeros_like(values)
    turns[1:] = np.cumsum(np.round((expected - np.diff(values, axis=0)) / (2 * np.pi)), axis=0)
    return np.where([coordinate.angle for coordinate in joint.coordinates], turns, 0.0)


def check_vectors(system: System, joint: Constraint, t: Array, turns: Array) -> None:
    """Refuse components of a rotation vector beyond half a turn, where they jump."""
    jumped = turns[:, ~counting(system, joint)].any(axis=1)
    if jumped.any():
        raise MotionError(
            f"{joint}: at t = {t[jumped.argmax()]:.6g} s node b has turned by more than half a turn against node a, "
            "where the components of a rotation vector, its coordinates, end; solution.rotation of its nodes goes on"
        )


def counting(system: System, joint: Constraint) -> BoolArray:
    """Which coordinates ``(c,)`` of a joint go on beyond half a turn: all but components of rotation vectors."""
    batches = (joint.coordinate_batch([joint], own.name, system.number) for own in joint.coordinates)
    return np.array([batch.counts_turns for batch in batches])


class Counted:
    """Whole turns at a state, by the names of joints: counted when they are asked for first, or when it travels."""

    def __init__(self, known: Mapping[Any, Array] | Callable[[], Mapping[Any, Array]]) -> None:
        self._known = known

    def __call__(self) -> Mapping[Any, Array]:
        if callable(self._known):
            self._known = self._known()
        return self._known

    def __reduce__(self) -> Any:
        return Counted, (self(),)


def begun(system: System, state: State) -> Turns:
    """Whole turns ``(1, c)`` that a state is known to come with; none if no joint has made any."""
    known = {} if state.turns is None else _known(system, state)
    return known if any(own.any() for own in known.values()) else {}


def _known(system: System, state: State) -> Turns:
    known = {} if state.turns is None else state.turns()
    zeros = ((joint, np.zeros((1, len(joint.coordinates)))) for joint in turning_joints(system))
    return {joint: none + known.get(joint.name, 0.0) for joint, none in zeros}


def nearest(system: System, before: State, state: State) -> Turns:
    """Whole turns ``(1, c)`` of a state for which its angles are nearest to those of a state before it."""
    pair, instant = History.of(system, [before, state]), np.zeros(2)
    return {
        joint: turns + whole_turns(joint, instant, *principal(pair, joint))[1:]
        for joint, turns in _known(system, before).items()
    }


def turning_joints(system: System) -> list[Constraint]:
    """Joints with coordinates whose turns are counted."""
    joints = (joint for batch in system.constraint_batches for joint in batch.owners)
    return [joint for joint in joints if any(own.angle for own in joint.coordinates)]


class TurnCounter:
    """Counts the turns of all joints over the steps of a run from a state, for the states that are kept."""

    def __init__(self, system: System, first: State) -> None:
        self._joints = turning_joints(system)
        self._alike: dict[Hashable, list[Constraint]] = {}
        for joint in self._joints:
            key = tuple(joint.coordinate_key(own.name) for own in joint.coordinates)
            self._alike.setdefault(key, []).append(joint)
        self._system, self._many = system, MANY * max(1, SMALL // max(1, system.n))
        self._states: list[State] = []
        self._kept: list[int] = []
        known = begun(system, first)
        self._before = {own: known[own][0] if known else np.zeros(len(own.coordinates)) for own in self._joints}
        self._turns: dict[Constraint, list[Array]] = {joint: [] for joint in self._joints}

    def add(self, kept: Sequence[State], state: State) -> None:
        """A step to a state, and the states on the way, or at its end, that are kept."""
        if not self._joints:
            return
        if kept:
            first = len(self._states)
            self._kept += range(first, first + len(kept))
            self._states += [own for own in kept if own is not state]
        self._states.append(state)
        if len(self._states) > self._many:
            self._count()

    def keep_last(self) -> None:
        """Keep the last state."""
        if self._joints:
            self._kept.append(len(self._states) - 1)

    def counted(self) -> Turns:
        """Whole turns of the states that were kept, and of the last one."""
        self._count()
        return {joint: np.array([*turns, self._before[joint]]) for joint, turns in self._turns.items()}

    def since(self) -> Turns:
        """Whole turns of the states that were kept since this was asked last, which are forgotten."""
        counted = self.counted()
        self._turns = {joint: [] for joint in self._joints}
        return counted

    def last(self) -> Turns:
        """Whole turns of the last state, to go on from."""
        self._count()
        return self._before

    def resume(self, turns: Turns, state: State) -> None:
        """Count on from a state."""
        self._before, self._states = dict(turns), [state] if self._joints else []

    def _count(self) -> None:
        names, t = [*("x", "R", "v"), *(("u", "udot") if self._system.k else ())], [state.t for state in self._states]
        arrays = {name: np.array([getattr(state, name) for state in self._states]) for name in names}
        history = History(self._system, np.array(t), arrays)
        for alike in self._alike.values():
            for joints in [alike] if len(alike) > len(self._states) else [[joint] for joint in alike]:
                turns = whole_turns(joints[0], history.t, *of_alike(history, joints))
                turns += [self._before[joint] for joint in joints]
                for k, joint in enumerate(joints):
                    self._turns[joint] += list(turns[self._kept, k])
                    self._before[joint] = turns[-1, k]
        self._states, self._kept = self._states[-1:], []
