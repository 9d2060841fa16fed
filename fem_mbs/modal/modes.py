"""Natural frequencies and mode shapes.

``(lambda^2 M + lambda C + K) d + B^T mu = 0``, ``B d = 0``; docs/modes.md.
"""

from __future__ import annotations

import logging

import numpy as np
from scipy.sparse import csc_array, diags_array

from fem_mbs.arrays import BoolArray
from fem_mbs.contracts import PositiveInt, State, checked
from fem_mbs.errors import ModelError
from fem_mbs.initial.redundant import independent
from fem_mbs.initial.singular import explain_singular
from fem_mbs.modal.eigen import Pencil, eigenmodes
from fem_mbs.modal.linearize import LinearModel, linearize
from fem_mbs.modal.result import Modes
from fem_mbs.model.model import Model
from fem_mbs.system.system import System

LOG = logging.getLogger("fem_mbs")
COUNT = 10
OPEN = 1e-4
"""Gap of a joint against the extent of the model that cannot be meant."""
DRIFT = 1e-3
"""Lengths, against the extent of the model, and angles by which a state may miss its equilibrium unnoticed."""
RUNAWAY = 1e-6
"""Growth against frequency that is more than rounding."""


@checked
def modes(model: Model, count: PositiveInt | None = None, state: State | None = None, *, damped: bool = False) -> Modes:
    """Lowest natural frequencies and mode shapes of a model about a state.

    Parameters
    ----------
    model : Model
        What vibrates.
    count : int, optional
        How many modes; by default 10, or all if there are fewer.
    state : State, optional
        By default the initial state. It should be at rest in equilibrium or rotate steadily; a warning is logged if
        not.
    damped : bool
        With the damping of the model. Without, gyroscopic terms stay, and so do states of elements with their own
        equations; in a rotating state frequencies are those seen in the rotating frame.

    Raises
    ------
    ModelError
        If the model is not valid, nothing can move, there are fewer modes, or the state is not one of this model.
    SingularSystemError
        If nodes can move without mass; names them.
    ConvergenceError
        If the eigenvalues do not converge.

    Notes
    -----
    ``(lambda^2 M + lambda C + K) d + B^T mu = 0``, ``B d = 0`` with the matrices of :func:`linearize`. Symmetric
    equations are solved by the Lanczos method, others by Arnoldi's on twice the size, both with a shift that is
    factored once. Frequencies that rounding cannot tell from zero are zero.
    """
    linear = linearize(model, state)
    if state is not None:
        _check(linear)
    result = solve_modes(linear, count, damped)
    _warn(result)
    return result


def solve_modes(linear: LinearModel, count: int | None = None, damped: bool = False) -> Modes:
    """The modes of a linear model, without a look at whether its state makes sense."""
    count = _number_of_modes(linear, count)
    system = linear.system
    # lengths in units of the extent of the model
    units = diags_array(1.0 / system.weight[system.free_rows])
    M, C, K = (csc_array(units @ part @ units) for part in (linear.M, linear.C, linear.K))
    rows = independent(system)
    B, G = (csc_array((diags_array(system.constraint_weight) @ part @ units)[rows]) for part in (linear.B, linear.G))
    second = _second_order(system)
    if not damped:
        of_motions = diags_array(second.astype(float))
        C = csc_array(C - 0.5 * of_motions @ (C + C.T) @ of_motions)
    pencil = Pencil(M, C, K, B, G, second, system.velocity_level[rows])
    eigenvalues, x = eigenmodes(pencil, count)
    order = np.argsort(np.abs(eigenvalues), kind="stable")
    x = x[:, order]
    # the largest component is real and positive
    largest = np.take_along_axis(x, np.abs(x).argmax(axis=0)[None], axis=0)
    d = (units @ (x * (np.abs(largest) / largest))).T
    return Modes(eigenvalues[order], linear.node_motions(d), linear.own_motions(d), linear)


def growing(modes: Modes) -> int:
    """How many modes grow."""
    return int((modes.eigenvalues.real > RUNAWAY * modes.angular).sum())


def _second_order(system: System) -> BoolArray:
    """True for free components whose equations are of second order."""
    return np.append(np.ones(6 * system.n, np.bool_), system.order == 2)[system.free_rows]


def _number_of_modes(linear: LinearModel, count: int | None) -> int:
    """The number asked for, if there are so many."""
    system = linear.system
    degrees = int((system.order == 1).sum() + _second_order(system).sum()) - len(independent(system))
    if degrees < 1:
        raise ModelError(
            f"modes: nothing can vibrate: {system.m} constraint equations hold all {system.n_free} free components"
        )
    count = min(COUNT, degrees) if count is None else count
    if count > degrees:
        raise ModelError(f"modes: count = {count} is more than the {degrees} degrees of freedom of the model")
    return count


def _check(linear: LinearModel) -> None:
    """Refuse a state that is not one of the model."""
    system, state = linear.system, linear.state
    gaps = np.abs(linear.gap * system.constraint_weight)
    if gaps.max(initial=0.0) > OPEN:
        owner, equation = system.constraint_owner[int(np.argmax(gaps))]
        raise ModelError(
            f"modes: {owner} is open at the state ({equation}: {linear.gap[np.argmax(gaps)]:.3g} where 0 is expected); "
            "is it a state of another model?"
        )
    evaluation = system.evaluate(system.motion(state), state.multipliers, system.prescribe(state.t))
    explain_singular(system, evaluation, f"at t = {state.t:g} s")


def _warn(modes: Modes) -> None:
    """Log what makes frequencies doubtful: a state that accelerates, motions that run away."""
    state, system = modes.linear.state, modes.linear.system
    motion = system.motion(state)
    rate = motion.A.copy()
    rate[:, :3] -= np.cross(motion.V[:, 3:], motion.V[:, :3])
    lowest = modes.angular[modes.angular > 0.0].min(initial=np.inf)
    drift = float(np.abs(rate.ravel() * system.weight[: 6 * system.n]).max() / lowest**2)
    if drift > DRIFT:
        LOG.warning(
            "modes: the state at t = %g s is neither at rest nor in steady motion: it accelerates, and would move by "
            "%.2g of its extent in 1/omega of the lowest mode. The frequencies are those of the equations at this "
            "instant; take the state from an equilibrium, or leave out the loads and the gravity",
            state.t,
            drift,
        )
    if count := growing(modes):
        LOG.warning("modes: %d of %d modes grow: the state is not stable", count, len(modes.eigenvalues))
