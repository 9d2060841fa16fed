"""What the generalised-alpha method has to forget before the next step is longer or shorter."""

from __future__ import annotations

import numpy as np

from fem_mbs.alpha.local_error import defect, highest_derivatives, response
from fem_mbs.alpha.memory import AlphaMemory
from fem_mbs.alpha.stabilized import StabilizedEquations
from fem_mbs.alpha.starting_values import shifted
from fem_mbs.alpha.step import Linearization, Scheme
from fem_mbs.arrays import Array
from fem_mbs.contracts import State
from fem_mbs.initial.consistent_start import with_joint_rate


def kept_matrix(scheme: Scheme, state: State, memory: AlphaMemory) -> Linearization | None:
    """The last iteration matrix, which led to a state; None if there is none, or one of another solver."""
    if memory.matrix is None:
        return None
    T_inv, *factors = memory.matrix
    if not factors:  # of a step in which contacts touch
        return None
    restored = scheme.kind.solver(scheme.system).restore(factors)
    if restored is None:
        return None
    if scheme.kind is not StabilizedEquations:
        return Linearization(restored, T_inv)
    return Linearization(restored, T_inv, directions=(restored, T_inv, state.R))


def adapted(scheme: Scheme, state: State, h: float, memory: AlphaMemory) -> tuple[Array, Array]:
    """Velocities and algorithmic accelerations ``(N,)`` from which a step of another length ``h`` starts.

    Two parts of them depend on the step that led here to leading order. ``a`` stands for ``vdot(t + Delta_alpha h)``,
    so its distance from ``vdot`` grows with ``h``. And the velocity has a part that grows with ``h^2``: what joints and
    stiffness take away from the defect of each step, the velocity has to make up for, so that the configuration obeys
    them at the end of the step. For joints this is ``B v + Phi_t = O(h^2)`` of the index-3 method. A method that goes
    on without these changes has an error of first order in the multipliers, as after a start with ``a_0 = vdot_0`` and
    ``B v_0 = 0`` (Arnold, Cardona, Bruels 2015, eqs. 141, 142), and sets off the oscillations of stiff parts.

    After a kink of a law ``a`` lags behind as well, by what its recursion makes up for in velocities over several
    steps: of this it is the impulse, ``a`` times ``h``, that has to stay.
    """
    system = scheme.system
    ratio, now, before = h / memory.h, highest_derivatives(system, state), memory.accelerations
    v, a = np.append(state.v, state.udot), now + ratio * (memory.a - now)
    if state.t > before.t_older:
        v = v + (ratio**2 - 1.0) * _growing_velocity(scheme, state, memory)
    if memory.branches is not None:
        slope = (now - before.old) / (state.t - before.t_old) if state.t > before.t_old else np.zeros(system.N)
        there, here = (shifted(scheme, state, step, slope) for step in (memory.h, h))
        a = here + (memory.a - there) / ratio
    return v, a


def _growing_velocity(scheme: Scheme, state: State, memory: AlphaMemory) -> Array:
    """The part ``(N,)`` of the velocities that grows with ``h^2``.

    What stiffness has taken away from the last defect, over ``h``, is found with the last iteration matrix. What joints
    have taken away is seen: it is by how much the velocities miss ``B v + Phi_t = 0``. An estimate in place of it would
    feed errors of the multipliers back, and grow where the step changes often.
    """
    system, before = scheme.system, memory.accelerations
    slope = (highest_derivatives(system, state) - before.older) / (state.t - before.t_older)
    left = memory.h**3 * defect(scheme, state, slope, np.zeros(system.k))
    w = np.zeros(system.N)
    if (kept := kept_matrix(scheme, state, memory)) is not None:
        evaluation = system.evaluate_at(state)
        w = (left - response(scheme, evaluation, left, kept.factors)) / memory.h
    if system.m:
        w = with_joint_rate(system, state, w, missed=not scheme.kind.closes_velocities)
    if system.k:
        system.own_of(w)[system.order < 2] = 0.0
    return w
