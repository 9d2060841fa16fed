"""Where the index-3 method becomes unstable: velocities leave the constraints that positions obey.

docs/theory.md, "Index 3 and its limit".
"""

from __future__ import annotations

import numpy as np

from fem_mbs.alpha.local_error import highest_derivatives
from fem_mbs.contracts import State
from fem_mbs.system.matrices import velocity_residual
from fem_mbs.system.system import System

ASTRAY = 0.05
"""Share of the largest velocity by which velocities may miss the constraints of joints."""
NEAR = 0.5
"""Share of the limit of turns from which on velocities are looked at."""


def turn_of_a_step(state: State, h: float) -> float:
    """Largest turn of a node in a step, in rad."""
    return h * float(np.linalg.norm(state.v[:, 3:], axis=1).max())


def limit(rho_inf: float) -> float:
    """Turn of a step in rad above which index 3 may be unstable."""
    return 1.0 - rho_inf


def instability(system: System, state: State, h: float, rho_inf: float) -> str:
    """What is to be said of a state of index 3 whose velocities leave their constraints; empty if they do not."""
    turn = turn_of_a_step(state, h)
    if not system.m or turn < NEAR * limit(rho_inf):
        return ""
    evaluation = system.evaluate_at(state)
    gaps = np.abs(velocity_residual(system, evaluation) * system.constraint_weight)
    velocity, acceleration = (
        float(np.abs(v * system.weight).max()) for v in (state.rates, highest_derivatives(system, state))
    )
    # a mechanism that turns back is at rest for an instant
    speed = max(velocity, acceleration**0.5)
    if gaps.max() <= ASTRAY * speed:
        return ""
    owner, equation = system.constraint_owner[int(np.argmax(gaps))]
    return (
        f"{owner}: at t = {state.t:.4g} s velocities leave its constraint ({equation}) by "
        f"{100.0 * gaps.max() / speed:.0f} % of the largest: index 3 is unstable here. A node turned by {turn:.2g} rad "
        f"a step, and with rho_inf = {rho_inf:g} it becomes so above about {limit(rho_inf):.2g} rad; try the default "
        "formulation, a smaller step or a smaller rho_inf"
    )
