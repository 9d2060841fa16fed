"""The states of a run as arrays over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import ModelError
from fem_mbs.system import ARRAYS, State, read_only


class History:
    """Times ``t`` (nt,) and the arrays of states ``(nt, ...)``, by the names that a :class:`State` has for them.

    The arrays may be in a file, of which what is asked for is read.
    """

    columns: Mapping[str, Array] = MappingProxyType({})
    """Columns of channels ``(nt,)`` by their names, where a file has these in place of states."""

    def __init__(self, t: Array, arrays: Mapping[str, Array]) -> None:
        self.t = read_only(np.asarray(t))
        self._arrays = {name: read_only(np.asarray(array)) for name, array in arrays.items()}

    @classmethod
    def of(cls, states: Sequence[State]) -> History:
        """States that are in memory."""
        arrays = {name: np.array([getattr(state, name) for state in states]) for name in ARRAYS}
        return cls(np.array([state.t for state in states]), arrays)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in ARRAYS:
            raise AttributeError(name)
        return self._arrays[name]

    def state(self, k: int) -> State:
        """The state number ``k``."""
        return State(float(self.t[k]), *(getattr(self, name)[k] for name in ARRAYS))


class ChannelHistory(History):
    """Channels of a run that has stored no states."""

    def __init__(self, t: Array, columns: Mapping[str, Array], path: Any) -> None:
        super().__init__(t, {})
        self.columns, self._path = dict(columns), path

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in ARRAYS:
            raise AttributeError(name)
        raise ModelError(
            f"'{self._path}' holds no states but the channels {', '.join(self.columns)}; ask for them with "
            "solution.channel(name), or store a run without channels"
        )
