"""The equations of motion, linear in small deviations from a state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array

from fem_mbs.arrays import Array
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3
from fem_mbs.model import Model, Motion, instance
from fem_mbs.solve import initial_state
from fem_mbs.system import State, System

_HUGE = 2.0**60


@dataclass(frozen=True, eq=False)
class LinearModel:
    """A model linearised at a state: ``M d'' + C d' + K d + B^T mu + force = 0`` and ``B d + gap = 0``.

    ``d`` holds the free body components: the node moves by ``R d[:3]`` and turns by ``d[3:]`` about its body axes,
    against the motion that the state is part of; ``mu`` are the changes of the multipliers. All six arrays are exact
    derivatives of the equations that are integrated in time.

    Attributes
    ----------
    M, C, K : (n_free, n_free) sparse
        Mass, damping and gyroscopic terms, stiffness. Stress, multipliers, loads that follow and, where the state
        moves, centrifugal forces are part of the stiffness; none of the three needs to be symmetric.
    B : (m, n_free) sparse
        Gradient of the constraints.
    force : (n_free,)
        Forces and moments out of balance at the state, zero for a state of a run.
    gap : (m,)
        Constraints at the state, zero where joints are closed.
    state : State
        Where the model was linearised.
    system : System
        The frozen model; ``system.free`` (n, 6) marks the free components.
    """

    M: csc_array
    C: csc_array
    K: csc_array
    B: csc_array
    force: Array
    gap: Array
    state: State
    system: System

    def node_motions(self, d: Array) -> Array:
        """Small motions of all nodes, ``(..., n, 6)``: displacement, then rotation vector, in the world frame.

        ``d`` (..., n_free), real or complex.
        """
        d = np.asarray(d)
        motions = np.zeros((*d.shape[:-1], self.system.n, 2, 3), d.dtype)
        motions.reshape(*d.shape[:-1], -1)[..., self.system.free.ravel()] = d
        world: Array = np.matvec(self.state.R[:, None], motions).reshape(*d.shape[:-1], -1, 6)
        return world


def linearize(model: Model, state: State | None = None) -> LinearModel:
    """Linearise a model at a state: at rest, stressed or moving.

    Parameters
    ----------
    model : Model
        What to linearise.
    state : State, optional
        By default the initial state. Its accelerations and multipliers are used as they are.

    Raises
    ------
    ModelError
        If the model is not valid, nothing can move, or the state is not one of this model.
    SingularSystemError
        If no state is given and the initial accelerations or multipliers are not unique.

    Notes
    -----
    The deviation ``d`` of a motion ``H`` is seen from the moving body, ``H exp(d)``. Along the motion the derivatives
    of ``V`` are ``V_,d = bracket(V)``, ``V_,d' = I``, those of ``A`` in :func:`_acceleration`. Coefficients that belong
    to a motion are constant if all body velocities are: at rest, and for a steady rotation or screw motion of the whole
    model, where ``d`` is the deviation in the rotating frame.
    """
    instance(model, Model, "linearize: model")
    system = System(model)
    state = initial_state(system) if state is None else _own(system, state)
    motion = system.motion(state.t, state.x, state.R, state.v, state.vdot)
    evaluation = system.evaluate(motion, state.multipliers, system.prescribe(state.t))
    none, one = np.zeros((system.n, 6, 6)), np.tile(np.eye(6), (system.n, 1, 1))
    A_d, A_rate = _acceleration(motion)

    def values(dV: Array, dA: Array) -> Array:
        return system.iteration_matrix(evaluation, dV, dA, 1.0)

    # a power of two so large that the rounding of K does not reach C
    damping = (values(_HUGE * one, _HUGE * A_rate) - values(none, none)) / _HUGE
    stored = (system.mass_matrix(evaluation), damping, values(_bracket(motion), A_d))
    n = system.n_free
    M, C, K = (csc_array(system.solver.matrix(own)[:n, :n]) for own in stored)
    B = system.gradient_matrix(evaluation.gradients)
    residual = system.residual(evaluation, 1.0)
    return LinearModel(M, C, K, B, residual[:n], residual[n:], state, system)


def _bracket(motion: Motion) -> Array:
    """Derivative of ``V`` against ``d``: ``(Omega x u + U x w, Omega x w)`` for ``d = (u, w)``."""
    U, Omega = so3.skew(motion.V[:, :3]), so3.skew(motion.V[:, 3:])
    return _blocks(Omega, U, Omega)


def _acceleration(motion: Motion) -> tuple[Array, Array]:
    """Derivatives of ``A`` against ``d`` and ``d'``; that against ``d''`` is the identity.

    With ``x + R u``, the acceleration of the point gains ``u'' + 2 Omega x u' + Omega' x u + Omega x (Omega x u)``
    and turns by ``a x w``; ``Omega' + (w' + Omega x w)'`` is the angular acceleration.
    """
    a, Omega_dot = so3.skew(motion.A[:, :3]), so3.skew(motion.A[:, 3:])
    Omega = so3.skew(motion.V[:, 3:])
    none = np.zeros_like(Omega)
    return _blocks(Omega_dot + Omega @ Omega, a, Omega_dot), _blocks(2.0 * Omega, none, Omega)


def _blocks(upper_left: Array, upper_right: Array, lower_right: Array) -> Array:
    """Matrices ``(n, 6, 6)`` with a lower left block of zeros."""
    result = np.zeros((len(upper_left), 6, 6))
    result[:, :3, :3], result[:, :3, 3:], result[:, 3:, 3:] = upper_left, upper_right, lower_right
    return result


def _own(system: System, state: State) -> State:
    """The state, if it can be one of the system."""
    instance(state, State, "linearize: state")
    found = np.shape(state.x), np.shape(state.multipliers)
    if found != ((system.n, 3), (system.m,)):
        raise ModelError(
            f"linearize: the state is not one of this model: it has {found[0][0]} nodes and {found[1][0]} multipliers, "
            f"the model {system.n} and {system.m}; take it from a run of the same model, such as solution.state(-1)"
        )
    return state
