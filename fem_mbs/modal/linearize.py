"""The equations of motion, linear in small deviations from a state.

docs/modes.md, "The matrices".
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csc_array, csr_array, diags_array

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contact.as_joints import as_joints
from fem_mbs.contracts import Motion, RateSensitivities, State, checked
from fem_mbs.errors import ModelError
from fem_mbs.initial.consistent_start import consistent_start, held_velocity
from fem_mbs.lie import so3
from fem_mbs.modal.linear_model import LinearModel, second_order
from fem_mbs.modal.steady_axes import steady_axes
from fem_mbs.modal.turned import deviations
from fem_mbs.model.model import Model
from fem_mbs.system import matrices as tangent
from fem_mbs.system.states import from_user
from fem_mbs.system.system import Evaluation, System

KINK, SMOOTH = 1e-6, 1e-2
"""Change of a multiplier, against the largest, over which slopes may change by this share."""
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
        By default the initial state. Its accelerations and multipliers are used as they are. Contacts that push are
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
    return linear_equations(System(model), state)


def linear_equations(system: System, state: State | None, still: bool = False) -> LinearModel:
    """The same of a frozen model; with ``still``, seen from axes that stand still where they are constant there."""
    state = None if state is None else from_user(system, state, "linearize: state")
    system, state = as_joints(system, state, "linearize")
    state = consistent_start(system) if state is None else state
    _check_held(system, state)
    evaluation = system.evaluate(system.motion(state), state.multipliers, system.prescribe(state.t))
    V_d, A_d, A_rate = deviations(evaluation.motion)
    one = tangent.unit(system.n, system.k)
    M = tangent.force_matrix(system, tangent.mass_entries(system, evaluation))
    C = tangent.force_matrix(system, tangent.rate_entries(system, evaluation, one, A_rate))
    K = tangent.force_matrix(system, entries := tangent.entries(system, evaluation, V_d, A_d))
    B = tangent.gradient_matrix(system, evaluation.gradients)
    L = tangent.reaction_matrix(system, entries)
    _refuse_kinks(system, evaluation)
    G = csc_array(B.shape)
    if system.has_velocity_level:
        G = tangent.gradient_matrix(system, tangent.velocity_derivatives(system, evaluation, V_d, 1.0))
        G = csc_array(diags_array(system.velocity_level.astype(float)) @ G)
        G.eliminate_zeros()
    axes, varies = steady_axes(system, evaluation, still)
    damping, circulatory = _dissipation(system, evaluation, C, V_d)
    S = _against_bodies(system, evaluation.motion, axes)
    if S.nnz:
        MS, circulatory = M @ S, csc_array(circulatory - damping @ S)
        C, K = csc_array(C - 2.0 * MS), csc_array(K - C @ S + MS @ S)
        G = csc_array(G - diags_array(system.velocity_level.astype(float)) @ B @ S)
    residual = system.residual(evaluation, 1.0)
    force, gap = residual[: system.n_free], residual[system.n_free :]
    return LinearModel(
        *(M, C, K, B, L, G, force, gap, axes, varies), (damping, circulatory), system.to_user(state), system
    )


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


def _check_held(system: System, state: State) -> None:
    """Refuse a state in which nodes move that the model holds."""
    moving = held_velocity(system, state.R, state.v).any(axis=1)
    if moving.any():
        raise ModelError(
            f"linearize: the model holds {system.nodes[int(np.argmax(moving))]}, which moves at the state; take the "
            "state from a run of the model as it is now"
        )


def _against_bodies(system: System, motion: Motion, axes: Array) -> csc_array:
    """``S`` of all free components: how fast bodies turn in the axes from which they are seen."""
    spins = np.matvec(motion.R, motion.V[:, 3:])
    S = so3.skew(np.vecmat(spins[:, None] - axes, motion.R[:, None]))
    whole = tangent.scattered(S.reshape(-1, 3, 3), np.arange(6 * system.n).reshape(-1, 3), system.N)
    result = csc_array(whole[system.free_rows][:, system.free_rows])
    result.eliminate_zeros()
    return result


def _dissipation(
    system: System, evaluation: Evaluation, C: csc_array, follow: RateSensitivities
) -> tuple[csc_array, csc_array]:
    """What of the damping and of the stiffness in body axes is left out where there is to be no damping.

    What damps between parts that turn differently, or against the world, stands still, and from a body that turns it
    is seen to turn: a part of the stiffness.
    """
    rows, spins = system.free_rows, np.matvec(evaluation.motion.R, evaluation.motion.V[:, 3:])
    of_motions = diags_array(second_order(system).astype(float))
    damping = csc_array(0.5 * of_motions @ (C + C.T) @ of_motions)
    stiffness = csr_array((system.N, system.N))
    for batch, context, places in zip(system.batches, evaluation.contexts, system.components, strict=True):
        own, of_nodes = batch.damping(context), spins[batch.nodes]
        # what has mass turns along with its damping
        if own is not None and of_nodes.any() and batch.mass(context) is None:
            alike = (of_nodes == of_nodes[:, :1]).all(axis=(1, 2)) & (of_nodes.shape[1] > 1)
            outside = np.where(alike[:, None, None], 0.0, 0.5 * (own + own.mT))
            stiffness += tangent.scattered(follow.after(outside, batch.nodes, batch.own), places, system.N)
    return damping, csc_array(of_motions @ stiffness[rows][:, rows] @ of_motions)
