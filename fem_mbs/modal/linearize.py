"""The equations of motion, linear in small deviations from a state, also as ``x' = A x + B w``, ``y = C x + D w``.

docs/modes.md, "The matrices"; docs/control.md, "As a state space".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import null_space, svdvals
from scipy.sparse import csc_array, diags_array

from fem_mbs.arrays import Array
from fem_mbs.contracts import Combines, Motion, Public, RateSensitivities, State, checked, shown
from fem_mbs.errors import ModelError, SingularSystemError
from fem_mbs.initial.consistent_start import consistent_start, held_velocity
from fem_mbs.lie import so3
from fem_mbs.model.model import Model
from fem_mbs.system import constraints
from fem_mbs.system import matrices as tangent
from fem_mbs.system.states import from_user, to_user
from fem_mbs.system.system import System

LABEL = "LinearModel.state_space"
SINGULAR = 1e-13


def _state_space(linear: LinearModel, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Any:
    """See :meth:`LinearModel.state_space`.

    With ``d = N q``, ``B N = 0``, the motions ``q`` are free. Let ``s`` be the states and ``a`` the algebraic variables
    of elements. All equations together are linear in ``(q'', s', a)``, which are solved for in terms of ``x = (q, q',
    s)`` and the inputs.
    """
    system = linear.system
    order = np.concatenate([np.full(6 * system.n, 2), system.order])[system.free_rows]
    base, q, s = _basis(linear, order)
    M, C, K = (base.T @ (matrix @ base) for matrix in (linear.M, linear.C, linear.K))
    highest = np.hstack([M[:, :q], C[:, q : q + s], K[:, q + s :]])
    rates, places = C[:, :q], K[:, : q + s]
    scale = np.maximum(np.abs(highest).max(axis=1, keepdims=True), 1e-300)
    values = svdvals(highest / scale / np.maximum(np.abs(highest / scale).max(axis=0), 1e-300))
    if values[-1] < SINGULAR * values[0]:
        raise SingularSystemError(
            f"{LABEL}: a motion has no mass, or an algebraic variable of an element is not determined by its equation"
        )
    driven = np.array([_coefficients(linear, source, f"inputs[{name!r}]") for name, source in inputs.items()])
    for name, row in zip(inputs, driven, strict=True):
        if list(row[row != 0.0]) != [1.0] or order[row != 0.0][0] != 0:
            raise ModelError(
                f"{LABEL}: inputs[{name!r}] must be a block or a sensor with one output, to whose value the input is "
                f"added, received {shown(inputs[name])}; Junction(0.0) is an input that is zero otherwise"
            )
    measured = np.array([_coefficients(linear, source, f"outputs[{name!r}]") for name, source in outputs.items()])
    h = np.linalg.solve(highest, np.hstack([-places[:, :q], -rates, -places[:, q:], base.T @ driven.T]))
    n = 2 * q + s
    x = np.hstack([np.eye(n), np.zeros((n, len(inputs)))])
    whole = np.vstack([x[q : 2 * q], h[: q + s]])
    unknowns = base @ np.vstack([x[:q], x[2 * q :], h[q + s :]])
    y = measured @ unknowns
    from scipy.signal import StateSpace  # takes long

    result = StateSpace(whole[:, :n], whole[:, n:], y[:, :n], y[:, n:])
    result.input_names, result.output_names = tuple(inputs), tuple(outputs)
    return result


def _basis(linear: LinearModel, order: Array) -> tuple[Array, int, int]:
    """Motions that joints leave free, states, algebraic variables as columns; how many of the first two there are."""
    system = linear.system
    second, first, closed = (np.flatnonzero(order == k) for k in (2, 1, 0))
    B = linear.B.toarray()
    if system.velocity_level.any() or B[:, order < 2].any():
        raise ModelError(
            f"{LABEL}: joints that act on velocities or on internal variables, such as rolling or sliding, have no "
            "state space yet; linearize has their matrices"
        )
    if system.readers:
        readers = ", ".join(str(element) for k in system.readers for element in system.batches[k].owners)
        raise ModelError(
            f"{LABEL}: {readers} depend on reactions of joints, which are no part of a state space yet; leave them out"
        )
    N = null_space(B[:, second] / np.maximum(np.abs(B[:, second]).max(axis=1, initial=0.0, keepdims=True), 1e-300))
    q, s, a = N.shape[1], len(first), len(closed)
    if q + s == 0:
        raise ModelError(f"{LABEL}: nothing can move, and no element has a state")
    base = np.zeros((len(order), q + s + a))
    base[second, :q] = N
    base[first, range(q, q + s)] = base[closed, range(q + s, q + s + a)] = 1.0
    return base, q, s


def _coefficients(linear: LinearModel, source: Any, label: str) -> Array:
    """How a signal depends on the free components."""
    if not isinstance(source, Combines):
        raise ModelError(f"{LABEL}: {label} must be a sensor, a block or a sum of signals, received {shown(source)}")
    system = linear.system
    unit, at = np.vstack([np.zeros(system.k), np.eye(system.k)]), np.full(system.k + 1, linear.state.t)
    values = source.signal_values(at, unit, system.number)
    if values.ndim > 1:
        raise ModelError(f"{LABEL}: {label} has {values.shape[1]} outputs; take one of them, such as [0]")
    every = np.concatenate([np.zeros(6 * system.n), values[1:] - values[0]])
    result: Array = every[system.free_rows]
    return result


@dataclass(frozen=True, eq=False, repr=False)
class LinearModel(Public):
    """A model linearised at a state: ``M d'' + C d' + K d + B^T mu + force = 0`` and ``B d + gap = 0``.

    ``d`` holds the free components: a node moves by ``R d[:3]`` and turns by ``d[3:]`` about its body axes, against the
    motion that the state is part of; internal variables of elements come last. ``mu`` are the changes of the
    multipliers. All arrays are exact derivatives of the equations that are integrated in time.

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
        """Changes of the internal variables, ``(..., k)``."""
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
            If an input or output is no such signal of the model, or joints act on velocities or internal variables.
        SingularSystemError
            If a motion has no mass.
        """
        return _state_space(self, inputs, outputs)

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
    state = consistent_start(system) if state is None else from_user(system, state, "linearize: state")
    _check_held(system, state)
    evaluation = system.evaluate(system.motion(state), state.multipliers, system.prescribe(state.t))
    none = np.zeros(system.k)
    A_d, A_rate = (RateSensitivities(part, none) for part in _acceleration(evaluation.motion))
    V_d = RateSensitivities(_bracket(evaluation.motion), none)
    one = tangent.unit(system.n, system.k)
    M = tangent.force_matrix(system, tangent.mass_entries(system, evaluation))
    C = tangent.force_matrix(system, tangent.rate_entries(system, evaluation, one, A_rate))
    K = tangent.force_matrix(system, tangent.entries(system, evaluation, V_d, A_d))
    B = tangent.gradient_matrix(system, evaluation.gradients)
    G = csc_array(B.shape)
    if system.has_velocity_level:
        G = tangent.gradient_matrix(system, constraints.velocity_derivatives(system, evaluation, V_d, 1.0))
        G = csc_array(diags_array(system.velocity_level.astype(float)) @ G)
        G.eliminate_zeros()
    residual = system.residual(evaluation, 1.0)
    return LinearModel(
        M, C, K, B, G, residual[: system.n_free], residual[system.n_free :], to_user(system, state), system
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
