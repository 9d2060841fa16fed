"""Bodies with contacts that yield, and that a step has led through each other: no force has told it of that."""

from __future__ import annotations

import numpy as np

from fem_mbs.contact.passed import deep_between, motions_between
from fem_mbs.contracts import ElementBatch, State, UnilateralBatch
from fem_mbs.contracts.unilateral import TOUCHING
from fem_mbs.system.system import System


def passing(system: System) -> list[ElementBatch]:
    """Contacts that may be passed through, and that no method watches."""
    return [batch for batch in system.batches if batch.passes and not isinstance(batch, UnilateralBatch)]


class PassedThrough:
    """Looks for them from step to step."""

    def __init__(self, system: System, batches: list[ElementBatch], state: State) -> None:
        self._system, self._batches, self._last, self._told = system, batches, state, ""

    def after_step(self, state: State) -> None:
        """Whether one was in the other between the last state and this, apart at both."""
        first, self._last = self._last, state
        if self._told:
            return
        motion_at, h = motions_between(self._system, first, state), state.t - first.t
        for batch in self._batches:
            shares = deep_between(batch, motion_at, h, TOUCHING * self._system.length).min(axis=1)
            if np.isfinite(shares).any():
                k = int(shares.argmin())
                self._told = (
                    f"{batch.owners[k]}: its bodies have passed through each other at "
                    f"t = {first.t + shares[k] * h:.6g} s, within one step and without a force: take smaller steps, or "
                    "give no stiffness, where impacts are found within steps"
                )

    def warning(self) -> str:
        """The first of them; empty for none."""
        return self._told
