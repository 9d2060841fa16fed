"""A model linear in small deviations from a state, also as ``x' = A x + B w``, ``y = C x + D w``.

docs/modes.md, "The matrices"; docs/control.md, "As a state space".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import null_space, svdvals
from scipy.sparse import csc_array, diags_array

from fem_mbs.arrays import Array, ArrayLike, BoolArray, IntArray
from fem_mbs.contact.as_joints import as_joints
from fem_mbs.contracts import Combines, Motion, Public, RateSensitivities, State, checked, real_or_complex, shown
from fem_mbs.errors import ModelError, SingularSystemError
from fem_mbs.initial.consistent_start import consistent_start, held_velocity
from fem_mbs.initial.given_velocities import say_resting
from fem_mbs.lie import so3
from fem_mbs.modal.steady_axes import steady_axes
from fem_mbs.modal.turned import deviations
from fem_mbs.model.model import Model
from fem_mbs.system import matrices as tangent
from fem_mbs.system.states import from_user
from fem_mbs.system.system import Evaluation, System

LABEL = "LinearModel.state_space"
SINGULAR = 1e-13


def second_order(system: System) -> BoolArray:
    """True for free components whose equations are of second order."""
    return system.orders[system.free_rows] == 2


def _state_space(linear: LinearModel, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Any:
    """See :meth:`LinearModel.state_space`.

    With ``d = N q``, ``B N = 0``, the motions ``q`` are free. Let ``s`` be the states and ``a`` the algebraic variables
    of elements. All equations together are linear in ``(q'', s', a)``, which are solved for in terms of ``x = (q, q',
    s)`` and the inputs.
    """
    system = linear.system
    if linear.varies:
        raise ModelError(f"{LABEL}: {linear.varies}")
    order = system.orders[system.free_rows]
    base, q, s = _basis(linear, order)
    # equations without the multipliers
    units = 1.0 / system.weight[system.free_rows]
    free = null_space(linear.L.toarray().T * units) * units[:, None] if system.readers else base
    if free.shape != base.shape:
        raise ModelError(f"{LABEL}: forces depend on reactions of joints that repeat each other, which are not unique")
    M, C, K = (free.T @ (matrix @ base) for matrix in (linear.M, linear.C, linear.K))
    highest = np.hstack([M[:, :q], C[:, q : q + s], K[:, q + s :]])
    rates, places = C[:, :q], K[:, : q + s]
    scale = np.maximum(np.abs(highest).max(axis=1, keepdims=True), 1e-300)
    values = svdvals(highest / scale / np.maximum(np.abs(highest / scale).max(axis=0), 1e-300))
    if values[-1] < SINGULAR * values[0]:
        raise SingularSystemError(
            f"{LABEL}: a motion has no mass, or an algebraic variable of an element is not determined by its equation"
        )
    driven = _coefficients(linear, inputs, "inputs")
    for name, row in zip(inputs, driven, strict=True):
        if list(row[row != 0.0]) != [1.0] or order[row != 0.0][0] != 0:
            raise ModelError(
                f"{LABEL}: inputs[{name!r}] must be a block or a sensor with one output, to whose value the input is "
                f"added, received {shown(inputs[name])}; Junction(0.0) is an input that is zero otherwise"
            )
    measured = _coefficients(linear, outputs, "outputs")
    h = np.linalg.solve(highest, np.hstack([-places[:, :q], -rates, -places[:, q:], free.T @ driven.T]))
    n = 2 * q + s
    x = np.hstack([np.eye(n), np.zeros((n, len(inputs)))])
    whole = np.vstack([x[q : 2 * q], h[: q + s]])
    unknowns = base @ np.vstack([x[:q], x[2 * q :], h[q + s :]])
    y = measured @ unknowns
    from scipy.signal import StateSpace  # takes long

    result = StateSpace(whole[:, :n], whole[:, n:], y[:, :n], y[:, n:])
    result.input_names, result.output_names = tuple(inputs), tuple(outputs)
    return result


def _basis(linear: LinearModel, order: IntArray) -> tuple[Array, int, int]:
    """Motions that joints leave free, states, algebraic variables as columns; how many of the first two there are."""
    system = linear.system
    second, first, closed = (np.flatnonzero(order == k) for k in (2, 1, 0))
    B = linear.B.toarray()
    if system.velocity_level.any() or B[:, order < 2].any():
        raise ModelError(
            f"{LABEL}: joints that act on velocities or on internal variables, such as rolling or sliding, have no "
            "state space yet; linearize has their matrices"
        )
    units = 1.0 / system.weight[system.free_rows][second]
    B = B[:, second] * units
    N = null_space(B / np.maximum(np.abs(B).max(axis=1, initial=0.0, keepdims=True), 1e-300)) * units[:, None]
    q, s, a = N.shape[1], len(first), len(closed)
    if q + s == 0:
        raise ModelError(f"{LABEL}: nothing can move, and no element has a state")
    base = np.zeros((len(order), q + s + a))
    base[second, :q] = N
    base[first, range(q, q + s)] = base[closed, range(q + s, q + s + a)] = 1.0
    return base, q, s


def _coefficients(linear: LinearModel, sources: Mapping[str, Any], kind: str) -> Array:
    """How signals depend on the free components, ``(count, n_free)``."""
    system = linear.system
    result = np.zeros((len(sources), system.N))
    unit, at = np.vstack([np.zeros(system.k), np.eye(system.k)]), np.full(system.k + 1, linear.state.t)
    for row, (name, source) in zip(result, sources.items(), strict=True):
        label = f"{LABEL}: {kind}[{name!r}]"
        source = system.find(source, label)
        if not isinstance(source, Combines):
            raise ModelError(f"{label} must be a sensor, a block or a sum of signals, received {shown(source)}")
        values = source.signal_values(at, unit, system.number)
        if values.ndim > 1:
            raise ModelError(f"{label} has {values.shape[1]} outputs; take one of them, such as [0]")
        row[6 * system.n :] = values[1:] - values[0]
    return result[:, system.free_rows]


@dataclass(frozen=True, eq=False, repr=False)
class LinearModel(Public):
    """A model linearised at a state: ``M d'' + C d' + K d + L mu + force = 0`` and ``B d + gap = 0``.

    ``d`` holds the free components: a node moves by ``R d[:3]`` and turns by ``d[3:]`` about its body axes, against the
    motion that the state is part of; internal variables come last. ``mu`` are the changes of the multipliers. All
    arrays are exact derivatives of the equations that are integrated in time. Where something turns, ``d`` is seen from
    the body axes as they turn on, or, if only so the matrices are constant, from others that coincide at the instant.

    Attributes
    ----------
    M, C, K : (n_free, n_free) sparse
        Mass, damping and gyroscopic terms, stiffness. Stress, multipliers, loads that follow and, where the state
        moves, centrifugal forces are part of the stiffness; none of the three needs to be symmetric.
    B : (m, n_free) sparse
        Gradient of the constraints.
    L : (n_free, m) sparse
        How forces depend on the multipliers: ``B^T``, and more where elements such as friction depend on reactions.
    G : (m, n_free) sparse
        Of equations of velocities, which read ``B d' + G d = 0``; zero for the others.
    force : (n_free,)
        Forces and moments out of balance at the state, zero for a state of a run.
    gap : (m,)
        Constraints at the state, zero where joints are closed.
    axes : (n, 2, 3)
        Angular velocities, world frame, of the axes from which the displacement and the rotation of each node are seen.
    varies : str
        Which elements keep the matrices of a model that turns from being constant, in any axes; empty if they are.
    state : State
        Where the model was linearised.
    system : System
        The frozen model; ``system.free_rows`` are the free components.
    """

    M: csc_array
    C: csc_array
    K: csc_array
    B: csc_array
    L: csc_array
    G: csc_array
    force: Array
    gap: Array
    axes: Array
    varies: str
    dissipation: tuple[csc_array, csc_array]
    state: State
    system: System

    def __repr__(self) -> str:
        text = f"LinearModel of {self.M.shape[0]} components and {self.B.shape[0]} joint equations"
        return text + (f"; its matrices are not constant: {self.varies}" if self.varies else "")

    @checked
    def node_motions(self, d: ArrayLike) -> Array:
        """Small motions of all nodes, ``(..., n, 6)``: displacement, then rotation vector, in the world frame.

        ``d`` (..., n_free), real or complex.
        """
        nodes = self._all(d, "node_motions")[..., : 6 * self.system.n]
        motions = nodes.reshape(*nodes.shape[:-1], self.system.n, 2, 3)
        return np.matvec(self.state.R[:, None], motions).reshape(*motions.shape[:-2], 6)

    @checked
    def own_motions(self, d: ArrayLike) -> Array:
        """Changes of the internal variables, ``(..., k)``."""
        return self._all(d, "own_motions")[..., 6 * self.system.n :]

    @checked
    def state_space(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Any:
        """The equations as a :class:`scipy.signal.StateSpace`, for control design.

        States are the motions that the joints leave free, in coordinates of no meaning of their own, their rates, and
        the states of elements. Matrices are dense.

        Parameters
        ----------
        inputs : dict
            Names, each with a block of one output, or its name; the input is added to its value. ``Junction(0.0)``
            that a ``JointActuator`` reads is a force in N or a torque in N m.
        outputs : dict
            Names, each with a sensor, a block, its name, or a sum of signals; outputs are deviations from their values
            at the state.

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

    def _all(self, given: ArrayLike, of: str) -> Array:
        """All components ``(..., N)``, zero where held."""
        count, d = self.system.n_free, real_or_complex(given)
        if d is None or d.shape[-1:] != (count,) or not np.isfinite(d).all():
            raise ModelError(
                f"LinearModel.{of}: d must be finite numbers (..., {count}), one for each component that is free, "
                f"received {shown(given)}"
            )
        whole = np.zeros((*d.shape[:-1], self.system.N), d.dtype)
        whole[..., self.system.free_rows] = d
        return whole


KINK, SMOOTH = 1e-6, 1e-2
"""Change of a multiplier, against the largest, over which slopes may change by this share."""
ROUNDING = 64.0 * float(np.finfo(float).eps)
"""Of numbers that forces are computed of."""
ZERO = 1e-9
"""Reactions, against the largest, that are none."""


@checked
def linearize(model: Model, state: State | None = None) -> LinearModel:
    """Linearise a model at a state: at rest, stressed or moving.

    Parameters
    ----------
    model : Model
        What to linearise.
    state : State, optional
        By default the initial state. Its accelerations and multipliers are used as they are, but for what rounding of
        forces makes of accelerations, which is none. Contacts that push are
        joints: what sticks holds its tangents, what slides has its friction; others are open.

    Raises
    ------
    ModelError
        If the model is not valid, nothing can move, or the state is not one of this model.
    SingularSystemError
        If no state is given and the initial accelerations or multipliers are not unique.

    Notes
    -----
    The deviation ``d`` of a motion ``H`` is seen from the moving body, ``H exp(d)``. Along the motion the derivatives
    of ``V`` are ``V_,d = bracket(V)``, ``V_,d' = I``, those of ``A`` in :func:`fem_mbs.modal.turned.deviations`.
    Coefficients that belong to a motion are constant if all body velocities are: at rest, and for a steady rotation or
    screw motion of the whole model, where ``d`` is the deviation in the rotating frame. Where parts turn and others
    rest, they are so in the axes of ``linear.axes``, or in none: ``linear.varies`` names the elements that change, and
    the matrices are those of the instant, in body axes.
    """
    system = System(model)
    if state is not None:
        say_resting(system, state, "linearize")
    return linear_equations(system, state)


def linear_equations(system: System, state: State | None, still: bool = False) -> LinearModel:
    """The same of a frozen model; with ``still``, seen from axes that stand still where they are constant there."""
    state = None if state is None else from_user(system, state, "linearize: state")
    system, state = as_joints(system, state, "linearize")
    state = consistent_start(system) if state is None else state
    moving = held_velocity(system, state.R, state.v).any(axis=1)
    if moving.any():
        raise ModelError(
            f"linearize: the model holds {system.nodes[int(np.argmax(moving))]}, which moves at the state; take the "
            "state from a run of the model as it is now"
        )
    state = _without_rounding(system, state)
    evaluation = system.evaluate_at(state)
    V_d, A_d, A_rate = deviations(evaluation.motion)
    one = tangent.unit(system.n, system.k)
    M = tangent.force_matrix(system, tangent.mass_entries(system, evaluation))
    C = tangent.force_matrix(system, tangent.rate_entries(system, evaluation, one, A_rate))
    K = tangent.force_matrix(system, entries := tangent.entries(system, evaluation, V_d, A_d))
    B = tangent.gradient_matrix(system, evaluation.gradients)
    L = csc_array(system.solver.matrix(system.solver.stored(entries))[: system.n_free, system.n_free :])
    _refuse_kinks(system, evaluation)
    G = csc_array(B.shape)
    if system.has_velocity_level:
        G = tangent.gradient_matrix(system, tangent.velocity_derivatives(system, evaluation, V_d, 1.0))
        G = csc_array(diags_array(system.velocity_level.astype(float)) @ G)
        G.eliminate_zeros()
    axes, own_axes, varies = steady_axes(system, evaluation, still)
    damping, circulatory = _dissipation(system, evaluation, V_d)
    S = _against_bodies(system, evaluation.motion, axes, own_axes)
    if S.nnz:
        MS, circulatory = M @ S, csc_array(circulatory - damping @ S)
        C, K = csc_array(C - 2.0 * MS), csc_array(K - C @ S + MS @ S)
        G = csc_array(G - diags_array(system.velocity_level.astype(float)) @ B @ S)
    residual = system.residual(evaluation, 1.0)
    force, gap = residual[: system.n_free], residual[system.n_free :]
    return LinearModel(
        *(M, C, K, B, L, G, force, gap, axes, varies), (damping, circulatory), system.to_user(state), system
    )


def _without_rounding(system: System, state: State) -> State:
    """The state without linear or angular accelerations of nodes that are what rounding makes of forces.

    Light nodes accelerate by much then, which turns what is symmetric into what is not.
    """
    if not state.vdot.any():
        return state
    evaluation = system.evaluate_at(state)
    M = tangent.force_matrix(system, tangent.mass_entries(system, evaluation))
    K = tangent.force_matrix(system, tangent.entries(system, evaluation, *deviations(evaluation.motion)[:2]))
    rows, sizes = system.free_rows, np.ones(system.N)
    sizes[: 6 * system.n].reshape(-1, 6)[:, :3] = np.linalg.norm(state.x, axis=1)[:, None]
    rounding, forces = np.zeros((2, system.N))
    rounding[rows] = ROUNDING * (abs(K) @ sizes[rows])
    parts = M.tocoo()  # of a node alone, as what neighbours accelerate by may be more than rounding
    i, j = rows[parts.row], rows[parts.col]
    alone = (i // 3 == j // 3) & (j < 6 * system.n)
    np.add.at(forces, i[alone], parts.data[alone] * state.vdot.ravel()[j[alone]])
    noise, forces = (np.linalg.norm(system.nodes_of(own).reshape(-1, 2, 3), axis=2) for own in (rounding, forces))
    vdot = np.where((forces <= noise)[:, :, None], 0.0, state.vdot.reshape(-1, 2, 3))
    return replace(state, vdot=vdot.reshape(-1, 6))


def _refuse_kinks(system: System, evaluation: Evaluation) -> None:
    """Refuse friction on a reaction that is zero: it grows, whichever way that changes."""
    multipliers, prescribed = evaluation.multipliers, system.prescribe(evaluation.motion.t)
    largest = float(np.abs(multipliers).max(initial=0.0)) or 1.0

    def force(k: int, column: IntArray, change: Array) -> Array:
        moved = multipliers.copy()
        moved[column] += change
        value, _ = system.batches[k].force(replace(evaluation.motion, multipliers=moved), prescribed.elements[k])
        return value.reshape(len(column), -1)

    for k, reads in system.reads:
        sizes = np.abs(multipliers[reads]).max(axis=1)
        step = KINK * np.where(sizes > ZERO * largest, sizes, largest)
        changes = [
            force(k, column, step) + force(k, column, -step) - 2.0 * force(k, column, 0.0 * step) for column in reads.T
        ]
        bent = np.abs(changes).max(axis=2) / step
        slopes = np.abs(system.batches[k].by_multipliers(evaluation.contexts[k])).max(axis=(1, 2))
        column, row = divmod(int(np.argmax(bent)), len(reads))
        if bent[column, row] > SMOOTH * max(slopes[row], KINK):
            owner, equation = system.constraint_owner[reads[row, column]]
            raise ModelError(
                f"linearize: {system.batches[k].owners[row]} depends on the size of a reaction of {owner} ({equation}) "
                "that is zero at the state, and has no derivative there: take a state in which the joint carries a "
                "load, or leave the reactions out of the friction, reactions=False"
            )


def _against_bodies(system: System, motion: Motion, axes: Array, own_axes: Array) -> csc_array:
    """``S`` of all free components: how fast bodies turn in the axes from which they are seen."""
    spins = np.matvec(motion.R, motion.V[:, 3:])
    S = so3.skew(np.vecmat(spins[:, None] - axes, motion.R[:, None]))
    parts = [(S.reshape(-1, 3, 3), np.arange(6 * system.n).reshape(-1, 3))]
    for batch in system.batches:
        if batch.own is not None and batch.own.size and batch.nodes.size:
            first = batch.nodes[:, 0]
            turning = batch.turning(np.vecmat(spins[first] - own_axes[batch.own[:, 0]], motion.R[first]))
            if turning is not None:
                parts.append((turning, 6 * system.n + batch.own))
    whole = tangent.scattered(parts, system.N)
    result = csc_array(whole[system.free_rows][:, system.free_rows])
    result.eliminate_zeros()
    return result


def _dissipation(system: System, evaluation: Evaluation, follow: RateSensitivities) -> tuple[csc_array, csc_array]:
    """What of the damping and of the stiffness in body axes is left out where there is to be no damping.

    What damps between parts that turn differently, or against the world, stands still, and from a body that turns it
    is seen to turn: a part of the stiffness.
    """
    rows, spins = system.free_rows, np.matvec(evaluation.motion.R, evaluation.motion.V[:, 3:])
    damping, stiffness = [], []
    for batch, context, places in zip(system.batches, evaluation.contexts, system.components, strict=True):
        own = batch.damping(context) if batch.damps else None
        if own is None:
            continue
        # in body axes that turn differently, what inertia has of it is not skew
        inertia, of_nodes = batch.gyroscopic(context), spins[batch.nodes]
        own = own if inertia is None else own - inertia
        own = 0.5 * (own + own.mT)
        damping.append((own, places))
        # what has mass turns along with its damping
        if of_nodes.any() and batch.mass(context) is None:
            alike = (of_nodes == of_nodes[:, :1]).all(axis=(1, 2)) & (of_nodes.shape[1] > 1)
            outside = np.where(alike[:, None, None], 0.0, own)
            stiffness.append((follow.after(outside, batch.nodes, batch.own), places))
    of_motions = diags_array(second_order(system).astype(float))
    damped, circulatory = (
        csc_array(of_motions @ tangent.scattered(parts, system.N)[rows][:, rows] @ of_motions)
        for parts in (damping, stiffness)
    )
    return damped, circulatory
