"""What a run whose derivatives are taken has passed: kinks of laws, at instants that move with the parameters.

Where a force is continuous and its slope is not, as where a stop is met, the motion has derivatives, and what a step
misses depends on where in it the kink lies. With steps that are held, derivatives are off by a share that falls with
the length of the step across it, which ``FixedStep(h, narrow=True)`` makes as short as can be. Other steps are not.
"""

from __future__ import annotations

import numpy as np

from fem_mbs.contracts import Method
from fem_mbs.initial.redundant import listed
from fem_mbs.run.variable_step import VariableStep
from fem_mbs.solution.history import History
from fem_mbs.system.system import System

CUT = 0.49
"""Share of a step below which it is a part; before jumps steps are longer than half of the given one."""


def passed(system: System, history: History, step: float | VariableStep, method: Method) -> list[str]:
    """What is to be said of the derivatives of a run."""
    if not system.watched:
        return []
    t = np.asarray(history.t)
    if system.kinked:
        sides = [system.branches(system.evaluate_at(history.state(k))) for k in range(len(t))]
        moved = np.flatnonzero([(a != b).any() for a, b in zip(sides[:-1], sides[1:], strict=True)])
        laws = [str(owner) for k in system.kinked for owner in system.batches[k].owners]
        how = (
            "take a fixed step and GeneralizedAlpha, which cuts steps there, and compare two steps"
            if isinstance(step, VariableStep) or method.error_order is None
            else "compare two steps, or take one that resolves what follows"
        )
        if len(moved):
            return [
                f"{len(moved)} steps cross kinks of laws, first at t = {t[moved[0]]:.6g} s ({listed(laws, '; ')}), "
                "at instants that move with the parameters: derivatives may miss several per cent, tens of them where "
                f"steps are not cut there, however exact the run is; {how}"
            ]
    asked = [str(owner) for batch in system.batches if batch.asks for owner in batch.owners]
    if not asked or isinstance(step, VariableStep):
        return []
    cut = np.flatnonzero(np.diff(t)[:-1] < CUT * step)
    if not len(cut):
        return []
    return [
        f"steps were cut from t = {t[cut[0]]:.6g} s on, as where a function bends or jumps at once and no law tells "
        f"of it: {listed(asked, '; ')}. Derivatives may be wrong by a share there, several per cent or more, however "
        "exact the run is: let the function bend smoothly, or compare steps of other lengths"
    ]
