"""The equations of motion, linear in small deviations from a state.

docs/modes.md, "The matrices".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csc_array, diags_array

from fem_mbs.arrays import Array
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3
from fem_mbs.modal.state_space import state_space
from fem_mbs.model import Follow, Model, Motion, Public, checked
from fem_mbs.solve import consistent_start, held_velocity
from fem_mbs.system import State, System, constraints, given_out, taken_in, tangent


@dataclass(frozen=True, eq=False, repr=False)
class LinearModel(Public):
    """A model linearised at a state: ``M d'' + C d' + K d + B^T mu + force = 0`` and ``B d + gap = 0``.

    ``d`` holds the free components: a node moves by ``R d[:3]`` and turns by ``d[3:]`` about its body axes, against the
    motion that the state is part of; own unknowns of elements come last. ``mu`` are the changes of the multipliers. All
    arrays are exact derivatives of the equations that are integrated in time.

    Attributes
    ----------
    M, C, K : (n_free, n_free) sparse
        Mass, damping and gyroscopic terms, stiffness. Stress, multipliers, loads that follow and, where the state
        moves, centrifugal forces are part of the stiffness; none of the three needs to be symmetric.
    B : (m, n_free) sparse
        Gradient of the constraints.
    G : (m, n_free) sparse
        Of equations of velocities, which read ``B d' + G d = 0``; zero for the others.
    force : (n_free,)
        Forces and moments out of balance at the state, zero for a state of a run.
    gap : (m,)
        Constraints at the state, zero where joints are closed.
    state : State
        Where the model was linearised.
    system : System
        The frozen model; ``system.free_rows`` are the free components.
    """

    M: csc_array
    C: csc_array
    K: csc_array
    B: csc_array
    G: csc_array
    force: Array
    gap: Array
    state: State
    system: System

    def __repr__(self) -> str:
        return f"LinearModel of {self.M.shape[0]} components and {self.B.shape[0]} joint equations"

    def node_motions(self, d: Array) -> Array:
        """Small motions of all nodes, ``(..., n, 6)``: displacement, then rotation vector, in the world frame.

        ``d`` (..., n_free), real or complex.
        """
        motions = self._all(d)[..., : 6 * self.system.n].reshape(*np.shape(d)[:-1], self.system.n, 2, 3)
        world: Array = np.matvec(self.state.R[:, None], motions).reshape(*motions.shape[:-2], 6)
        return world

    def own_motions(self, d: Array) -> Array:
        """Changes of the own unknowns, ``(..., k)``."""
        return self._all(d)[..., 6 * self.system.n :]

    @checked
    def state_space(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Any:
        """The equations as a :class:`scipy.signal.StateSpace`, for control design.

        States are the motions that the joints leave free, in coordinates of no meaning of their own, their rates, and
        the states of elements. Matrices are dense.

        Parameters
        ----------
        inputs : dict
            Names, each with a block of one output; the input is added to its value. ``Junction(0.0)`` that a
            ``JointActuator`` reads is a force in N or a torque in N m.
        outputs : dict
            Names, each with a sensor, a block or a sum of signals; outputs are deviations from their values at the
            state.

        Returns
        -------
        scipy.signal.StateSpace
            Its ``input_names`` and ``output_names`` are those that were given, in their order.

        Raises
        ------
        ModelError
            If an input or output is no such signal of the model, or joints act on velocities or unknowns of their own.
        SingularSystemError
            If a motion has no mass.
        """
        return state_space(self, inputs, outputs)

    def _all(self, d: Array) -> Array:
        """All components ``(..., N)``, zero where held."""
        d = np.asarray(d)
        whole = np.zeros((*d.shape[:-1], self.system.N), d.dtype)
        whole[..., self.system.free_rows] = d
        return whole


@checked
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
    system = System(model)
    state = consistent_start(system) if state is None else taken_in(system, state, "linearize: state")
    _check_held(system, state)
    evaluation = system.evaluate(system.motion(state), state.multipliers, system.prescribe(state.t))
    none = np.zeros(system.k)
    A_d, A_rate = (Follow(part, none) for part in _acceleration(evaluation.motion))
    V_d = Follow(_bracket(evaluation.motion), none)
    one = tangent.unit(system.n, system.k)
    M = tangent.force_matrix(system, tangent.mass_entries(system, evaluation))
    C = tangent.force_matrix(system, tangent.rate_entries(system, evaluation, one, A_rate))
    K = tangent.force_matrix(system, tangent.entries(system, evaluation, V_d, A_d))
    B = tangent.gradient_matrix(system, evaluation.gradients)
    G = csc_array(B.shape)
    if system.has_velocity_level:
        pairs = zip(
            constraints.velocity_gradients(system, evaluation),
            constraints.gradients_after(system, evaluation.gradients, V_d),
            strict=True,
        )
        G = tangent.gradient_matrix(system, [held + moved for held, moved in pairs])
        G = csc_array(diags_array(system.velocity_level.astype(float)) @ G)
        G.eliminate_zeros()
    residual = system.residual(evaluation, 1.0)
    return LinearModel(
        M, C, K, B, G, residual[: system.n_free], residual[system.n_free :], given_out(system, state), system
    )


def _check_held(system: System, state: State) -> None:
    """Refuse a state in which nodes move that the model holds."""
    moving = held_velocity(system, state.R, state.v).any(axis=1)
    if moving.any():
        raise ModelError(
            f"linearize: the model holds {system.nodes[int(np.argmax(moving))]}, which moves at the state; take the "
            "state from a run of the model as it is now"
        )


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
