"""What the generalised-alpha method remembers, and what it has to forget before the next step is longer or shorter."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fem_mbs.alpha.chart import Chart
from fem_mbs.alpha.index2 import Index2Problem
from fem_mbs.alpha.index3 import Index3Problem
from fem_mbs.alpha.local_error import defect, lead, rate, response
from fem_mbs.alpha.newmark import Parameters
from fem_mbs.arrays import Array
from fem_mbs.contracts import State
from fem_mbs.initial.projection import with_joint_rate
from fem_mbs.linear.solvers import Factors
from fem_mbs.system.system import System

SAME = 1e-6
"""Steps that differ by less, relatively, are the same."""


class AlphaMemory(NamedTuple):
    """What the method goes on with, beside the state."""

    h: float
    """The step that led here, or the first one that was meant."""
    steps: int
    a: Array
    """Algorithmic accelerations ``(N,)``."""
    kick: Array | None
    """What the velocities (N,) have beyond those of the state: at a perturbed start."""
    lead: Array
    """Highest derivatives ``(N,)`` of the state."""
    t_old: float
    lead_old: Array
    """Time and highest derivatives ``(N,)`` one step ago, or as far ago as there are steps."""
    t_older: float
    lead_older: Array
    """The same two steps ago."""
    error: float
    """Local error of the step that led here; 0 where it is not known."""
    missed: tuple[Any, ...] | None
    """What the last guesses missed, see ``predictor.py``."""
    experience: tuple[Any, ...] | None
    """What first corrections have left of late, see ``newton.py``."""
    eta: Array | None
    """Multipliers of the stabilised form in the last step, to be looked at."""
    factors: tuple[Array, ...] | None
    T_inv: Array | None
    """The last factorised iteration matrix."""
    before: Array | None = None
    """At a start, highest derivatives ``(N,)`` just before it."""


def same(h: float, other: float) -> bool:
    """Whether two steps differ by nothing but rounding."""
    return abs(h / other - 1.0) < SAME


def adapted(
    system: System,
    chart: Chart,
    parameters: Parameters,
    kind: type[Index3Problem],
    state: State,
    h: float,
    memory: AlphaMemory,
) -> tuple[Array, Array]:
    """Velocities and algorithmic accelerations ``(N,)`` from which a step of ``h`` starts.

    Two parts of them depend on the step ``h`` that led here to leading order. ``a`` stands for
    ``vdot(t + Delta_alpha h)``, so its distance from ``vdot`` grows with ``h``. And the velocity has a part that grows
    with ``h^2``: what joints and stiffness take away from the defect of each step, the velocity has to make up for, so
    that the configuration obeys them at the end of the step. For joints this is ``B v + Phi_t = O(h^2)`` of the index-3
    method. A method that goes on without these changes has an error of first order in the multipliers, as after a start
    with ``a_0 = vdot_0`` and ``B v_0 = 0`` (Arnold, Cardona, Bruels 2015, eqs. 141, 142), and sets off the oscillations
    of stiff parts.
    """
    v = rate(state)
    if memory.kick is not None:
        v = v + memory.kick
    if same(h, memory.h):
        return v, memory.a
    ratio, here = h / memory.h, lead(system, state)
    w = _mark(system, chart, parameters, kind, state, memory)
    return v + (ratio**2 - 1.0) * w, here + ratio * (memory.a - here)


def _mark(
    system: System, chart: Chart, parameters: Parameters, kind: type[Index3Problem], state: State, memory: AlphaMemory
) -> Array:
    """The part ``(N,)`` of the velocities that grows with ``h^2``.

    What stiffness has taken away from the last defect, over ``h``, is found with the last iteration matrix. What joints
    have taken away is seen: it is by how much the velocities miss ``B v + Phi_t = 0``. An estimate in place of it would
    feed errors of the multipliers back, and grow where the step changes often.
    """
    slope = (lead(system, state) - memory.lead_older) / (state.t - memory.t_older)
    left = defect(system, chart, parameters, memory.h, state, slope, np.zeros(system.k))
    w = np.zeros(system.N)
    if memory.factors is not None:
        evaluation = system.evaluate(system.motion(state), state.multipliers, system.prescribe(state.t))
        factors: Factors = kind.solver(system).restore(memory.factors)
        w = (left - response(system, parameters, evaluation, left, factors, kind is Index2Problem)) / memory.h
    if system.m:
        w = with_joint_rate(system, state, w, missed=not kind.closes_velocities)
    if system.k:
        system.own_of(w)[system.order < 2] = 0.0
    return w
