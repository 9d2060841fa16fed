"""The states of a run as arrays over time, those between two steps, and the motions that elements see of them.

Between two steps states go along the group (docs/theory.md, "Between the steps").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import ARRAYS, Motion, Node, State
from fem_mbs.errors import ModelError
from fem_mbs.system.kinematics import make_kinematics
from fem_mbs.system.states import read_only
from fem_mbs.system.system import System

Instant: TypeAlias = Callable[[float], tuple[float, float]]
"""What a load factor means: the time of loads and drives that are functions of time, and the factor of constant loads
and of gravity."""


def proportional(load: float) -> tuple[float, float]:
    """Constant loads and gravity grow with the load factor."""
    return load, load


def constant(load: float) -> tuple[float, float]:
    """Constant loads and gravity act in full."""
    return load, 1.0


class History:
    """Times ``t`` (nt,) and the arrays of states ``(nt, ...)`` by their names in a :class:`fem_mbs.State`.

    Positions count from the origin of the system. The arrays may be in a file, of which what is asked for is read.
    ``instant(t)`` says at what time loads are asked and which share of them acts, where that varies from state to state
    as on a path of statics.
    """

    columns: Mapping[str, Array] = MappingProxyType({})
    """Columns of channels ``(nt,)`` by their names, where a file has these in place of states."""

    def __init__(self, system: System, t: Array, arrays: Mapping[str, Array], instant: Instant | None = None) -> None:
        self.system, self.t, self.instant = system, read_only(np.asarray(t)), instant
        self._arrays = {
            name: read_only(array) if isinstance(array, np.ndarray) else array for name, array in arrays.items()
        }

    @classmethod
    def of(cls, system: System, states: Sequence[State], instant: Instant | None = None) -> History:
        """States that are in memory."""
        arrays = {name: np.array([getattr(state, name) for state in states]) for name in ARRAYS}
        return cls(system, np.array([state.t for state in states]), arrays, instant)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in ARRAYS:
            raise AttributeError(name)
        return self._arrays[name]

    def at(self, x: Array) -> History:
        """The same with the nodes at other positions."""
        return History(self.system, self.t, {**self._arrays, "x": x}, self.instant)

    def state(self, k: int) -> State:
        """The state number ``k``."""
        return State(float(self.t[k]), *(getattr(self, name)[k] for name in ARRAYS))

    def motion(self, k: int) -> Motion:
        """What elements see of a state."""
        return self._as_loaded(self.system.motion(self.state(k)), k)

    def of_nodes(self, nodes: Sequence[Node], times: IntArray) -> Motion:
        """What they see at several instants, of some nodes: one instant after the other, without the time."""
        rows = np.array([self.system.number(node) for node in nodes], np.intp)
        x, R, v, vdot = (array[times[:, None], rows] for array in (self.x, self.R, self.v, self.vdot))
        R = R.reshape(-1, 3, 3)
        rates = np.stack([v.reshape(-1, 6), vdot.reshape(-1, 6)])
        if len(R):
            rates = make_kinematics([node.group for node in nodes] * len(times)).motion(R, rates)
        V, A = rates
        u, udot, uddot = (array[times].ravel() for array in (self.u, self.udot, self.uddot))
        multipliers = self.multipliers[times][:, : self.system.m if self.system.readers else 0].ravel()
        motion = Motion(np.nan, x.reshape(-1, 3), R, V, A, self.system.gravity, u, udot, uddot, multipliers)
        if len(times) == 1:
            motion.t = float(self.t[times[0]])
            return self._as_loaded(motion, int(times[0]))
        return motion

    def _as_loaded(self, motion: Motion, k: int) -> Motion:
        if self.instant is not None:
            motion.t, factor = self.instant(float(self.t[k]))
            motion.gravity = factor * self.system.gravity
        return motion


class ChannelHistory(History):
    """Channels of a run that has stored no states."""

    def __init__(self, system: System, t: Array, columns: Mapping[str, Array], path: Any) -> None:
        super().__init__(system, t, {})
        self.columns, self._path = dict(columns), path

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in ARRAYS:
            raise AttributeError(name)
        raise ModelError(
            f"'{self._path}' holds no states but the channels {', '.join(self.columns)}; ask for them with "
            "solution.channel(name), or store a run without channels"
        )
