"""The error of a run, estimated from the errors of its steps (docs/accuracy.md)."""

from __future__ import annotations

from math import acos
from typing import Any

import numpy as np

from fem_mbs.contracts import State, StepErrorEstimate
from fem_mbs.solution.outcome import Accuracy
from fem_mbs.system.system import System

TALLY = ("known", "sum", "rate", "unresolved", "displacement", "rotation", "turn", "looked")


class GlobalError:
    """The sum of what lasts of the errors of steps, and the largest oscillation that they do not resolve.

    Steps that were not looked at count like the last one that was.
    """

    def __init__(self, system: System, first: State) -> None:
        self.system, self.first = system, first
        self.known = first.t
        """Time up to which errors are summed."""
        self.sum = self.rate = self.unresolved = np.zeros(2)
        """Of what lasts: the sum, and the last one over its step."""
        self.displacement = self.rotation = self.turn = 0.0
        self.looked = False

    def add(self, state: State, astray: StepErrorEstimate | None, h: float) -> None:
        """A step of ``h`` that was accepted, and how far it led astray."""
        if astray is not None:
            # a run that has become unstable may come close to infinity
            with np.errstate(over="ignore", invalid="ignore"):
                self._look(state, astray, h)

    def at(self, t: float) -> Accuracy | None:
        """The estimate at a time, or None if no step was looked at."""
        if not self.looked:
            return None
        length, angle = (self.sum + max(t - self.known, 0.0) * self.rate + self.unresolved).tolist()
        return Accuracy(length, angle, self.displacement, self.rotation, self.turn, self.system.length)

    def tally(self) -> tuple[Any, ...]:
        """What was found so far."""
        return tuple(getattr(self, name) for name in TALLY)

    def go_on(self, tally: tuple[Any, ...]) -> None:
        """Sum on."""
        for name, value in zip(TALLY, tally, strict=True):
            setattr(self, name, value)

    def _look(self, state: State, astray: StepErrorEstimate, h: float) -> None:
        first, self.looked = self.first, True
        self.rate = astray.lasting / h
        self.sum = self.sum + (state.t - self.known) * self.rate
        self.unresolved = np.maximum(self.unresolved, astray.unresolved)
        self.known = state.t
        moved, spin = state.x - first.x, state.v[:, 3:]
        self.displacement = max(self.displacement, float(np.vecdot(moved, moved).max()) ** 0.5)
        self.turn = max(self.turn, h * float(np.vecdot(spin, spin).max()) ** 0.5)
        trace = float(np.vecdot(first.R.reshape(-1, 9), state.R.reshape(-1, 9)).min())
        self.rotation = max(self.rotation, acos(min(max(0.5 * (trace - 1.0), -1.0), 1.0)))
