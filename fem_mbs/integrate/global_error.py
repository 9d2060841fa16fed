"""The error of a run, estimated from the errors of its steps (docs/accuracy.md)."""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.integrate.method import Step
from fem_mbs.result import Accuracy
from fem_mbs.system import State, System


class GlobalError:
    """The sum of what lasts of the errors of steps, and the largest oscillation that they do not resolve.

    Steps that were not looked at count like the last one that was.
    """

    def __init__(self, system: System, first: State) -> None:
        self.system, self.first = system, first
        self.known = first.t
        """Time up to which errors are summed."""
        self.sum, self.unresolved, self.motion = np.zeros((3, 2))
        self.turn = 0.0
        self.rate: Array | None = None
        """Lasting error over time, of the last step that was looked at."""

    def add(self, step: Step, h: float) -> None:
        """A step of ``h`` that was accepted."""
        if step.astray is None:
            return
        state = step.state
        self.rate = step.astray.lasting / h
        self.unresolved = np.maximum(self.unresolved, step.astray.unresolved)
        self.sum = self.sum + (state.t - self.known) * self.rate
        self.known = state.t
        self.motion = np.maximum(self.motion, _distance(self.first, state))
        self.turn = max(self.turn, h * float(np.sqrt(np.square(state.v[:, 3:]).sum(axis=1).max())))

    def at(self, t: float) -> Accuracy | None:
        """The estimate at a time, or None if no step was looked at."""
        if self.rate is None:
            return None
        length, angle = (self.sum + max(t - self.known, 0.0) * self.rate + self.unresolved).tolist()
        return Accuracy(length, angle, *self.motion.tolist(), self.turn, self.system.length)


def _distance(first: State, state: State) -> Array:
    """Largest displacement and rotation of a node between two states."""
    moved = np.square(state.x - first.x).sum(axis=1).max()
    cosine = 0.5 * (np.einsum("nij,nij->n", first.R, state.R).min() - 1.0)
    return np.array([np.sqrt(moved), np.arccos(min(max(cosine, -1.0), 1.0))])
