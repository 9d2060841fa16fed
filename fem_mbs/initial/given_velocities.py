"""Velocities of a model of which only some are given: those stay, and what was not given follows.

First come the joints. Of the velocities that they allow, those of the least kinetic energy of the change of what was
given (Arnold, Cardona, Bruels, *Order reduction in time integration caused by velocity projection*, 2015, eq. 7, here
with drives) are taken. What was not given then moves so that beams, shells and flexible bodies deform as little as it
lets them: of ``K``, the stiffness of these without stress, ``v.K v`` is least. A crank that turns takes its rod along
as a mechanism does, however light or soft that is; a rod at rest beside it would be a blow.

The second has the same equations as :mod:`assembly <fem_mbs.initial.assembly>`, on velocities in place of positions,
with multipliers that are corrected until no compliance is left (Rockafellar, *Augmented Lagrangians and applications of
the proximal point algorithm in convex programming*, 1976).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import block_array, csc_array, diags_array
from scipy.sparse.linalg import splu

from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contracts import Element, ElementBatch, State, checked
from fem_mbs.contracts.arguments import listed
from fem_mbs.contracts.node import give_velocities
from fem_mbs.errors import LOG
from fem_mbs.initial.singular import explain_singular
from fem_mbs.initial.state_point import as_built, check_system, closed
from fem_mbs.model.description import ModelDescription
from fem_mbs.system import matrices as tangent
from fem_mbs.system.pattern import flat
from fem_mbs.system.system import Evaluation, System

LIGHT = 1e-4
"""Unit of a velocity that follows, against those that were given: the root of the weight that its change has."""
SOLID = 1e10
"""Weight of the stiffest deformation of beams against that of a motion."""
COMPLIANCE = 1e-12
"""Of the joints, as equations may repeat each other."""
ROUNDS, SETTLED = 100, 1e-10
"""Most corrections, and one, against the largest velocity, after which there is none."""
LOST = 0.05
"""Change of a velocity that was given, against the largest, that is told."""
DEFORMS = 0.05
"""Work of stresses against the rates of a cell, over that against each of its nodes alone, that is a blow."""
NAMED = 3
"""Nodes that a message names."""


@checked
def project_velocities(model: ModelDescription) -> None:
    """Replace the initial velocities of nodes by the closest ones that satisfy the joints, ``B v + Phi_t = 0``.

    What was given of nodes, ``velocity`` and ``angular_velocity`` each for itself, changes as little as joints and
    drives allow, measured by the kinetic energy of the change; where that is much, a warning names the nodes. What was
    not given follows: so that beams, shells and flexible bodies deform at the least rates, and else with the least
    kinetic energy. A crank of which the spin is given so moves its mechanism. Driven joints get the rate of their
    drive; where all velocities were given and satisfy the joints, they stay.

    Parameters
    ----------
    model : Model
        Its nodes get the new ``velocity`` (world frame) and ``angular_velocity`` (body frame).

    Raises
    ------
    ModelError
        If nothing can move or a joint is open.
    SingularSystemError
        If the closest velocities are not unique, or joints repeat each other at this position alone; names the nodes
        or joints.
    """
    system = System(model)
    check_system(system, "project_velocities")
    place, given = as_built(system), given_components(system)
    before = place.v
    place = place._replace(v=np.where(given[: 6 * system.n].reshape(-1, 6), place.v, 0.0))
    evaluation = closed(system, place)
    explain_singular(system, evaluation, "at the start", of_reactions=False)
    V = evaluation.velocity + _closest(system, evaluation, given)
    V += _follow(system, evaluation, V, given)
    change = system.nodes_of(V) - system.kinematics.to_body(system.R0, before)
    world = np.matvec(system.R0, change[:, :3])
    for node, v, w in zip(system.nodes, world, change[:, 3:], strict=True):
        give_velocities(node, node.velocity + v, node.angular_velocity + w)
    _say_lost(system, change, V, given)


def given_components(system: System) -> BoolArray:
    """Whether the velocity of each component of a node was given, ``(N,)``."""
    names = [name not in node.not_given for node in system.nodes for name in ("velocity", "angular_velocity")]
    return np.append(np.repeat(np.array(names, np.bool_), 3), np.zeros(system.k, np.bool_))


def _closest(system: System, evaluation: Evaluation, given: BoolArray) -> Array:
    """The change ``(N,)`` of velocities to those that joints allow, closest to what was given."""
    kept, modes = given & (system.equation >= 0), _modes(system)
    unit = np.where(kept | ~kept.any(), 1.0, LIGHT)
    unit[modes] = 1.0 / LIGHT  # which have no rates that could be set
    factor, forces = np.append(unit[system.free_rows], 0.0), slice(system.pattern.force_entries)
    values = tangent.leading_entries(system, evaluation)
    values[forces] *= factor[system.pattern.rows[forces]] * factor[system.pattern.columns[forces]]
    factors = system.solver.factor(system.solver.stored(values))
    change, _ = tangent.solve_with_constraints(system, factors, None, -tangent.velocity_residual(system, evaluation))
    for _ in range(ROUNDS if (unit == LIGHT).any() else 0):  # what that costs those that were given
        missed = unit * tangent.mass_product(system, evaluation, np.where(kept, -change, 0.0))
        more = tangent.solve_with_constraints(system, factors, missed, None)[0]
        change += more
        if np.abs(more * system.weight).max() <= SETTLED * np.abs(change * system.weight).max():
            break
    change[modes] = 0.0
    return change


def _modes(system: System) -> BoolArray:
    """Whether components ``(N,)`` are coordinates of elements, as amplitudes of flexible bodies are."""
    own = [isinstance(part, Element) and variable.order == 2 for part, variable in system.internal_variables]
    return np.append(np.zeros(6 * system.n, np.bool_), np.array(own, np.bool_))


def _follow(system: System, evaluation: Evaluation, V: Array, given: BoolArray) -> Array:
    """The change ``(N,)`` by which what was not given deforms the least, and joints hold."""
    loose = ~given & (system.equation >= 0) & np.append(np.ones(6 * system.n, np.bool_), system.order == 2)
    loose &= ~_modes(system)
    columns, units = system.equation[loose], 1.0 / system.weight[loose]
    whole = solid_stiffness(system, _unstressed(system))
    rows = diags_array(units) @ whole[columns]
    K = rows[:, columns] @ diags_array(units)
    if not (largest := abs(K).max() if K.nnz else 0.0):
        return np.zeros_like(V)
    stiff, n = SOLID / largest, len(columns)
    B = tangent.gradient_matrix(system, evaluation.gradients)[:, columns] @ diags_array(units)
    B = diags_array(system.constraint_weight) @ B
    soft = diags_array(np.full(system.m, -COMPLIANCE))
    solve = splu(block_array([[diags_array(np.ones(n)) + stiff * K, B.T], [B, soft]], format="csc")).solve
    d, multipliers = np.zeros(n), np.zeros(system.m)
    force = stiff * (rows @ V[system.free_rows])
    for _ in range(ROUNDS):
        step = solve(-np.append(force + stiff * (K @ d) + B.T @ multipliers, B @ d))
        d, multipliers = d + step[:n], multipliers + step[n:]
        if np.abs(step[:n]).max() <= SETTLED * max(np.abs(d).max(), np.abs(V * system.weight).max()):
            break
    change = np.zeros_like(V)
    change[loose] = units * d
    return change


def solid_stiffness(system: System, contexts: Iterable[Any]) -> csc_array:
    """The symmetric part ``(n_free, n_free)`` of the tangent of what has stresses, as beams and flexible bodies do."""
    blocks = [
        batch.stiffness(context) if is_solid(batch) else np.zeros((*rows.shape, rows.shape[1]))
        for batch, context, rows in zip(system.batches, contexts, system.components, strict=True)
    ]
    values = np.zeros(len(system.pattern.rows))
    stored = flat(blocks)
    values[: len(stored)] = stored
    K = tangent.force_matrix(system, values)
    return csc_array(0.5 * (K + K.T))


def is_solid(batch: ElementBatch) -> bool:
    """Whether elements have stresses, as beams do: their nodes belong together."""
    return type(batch).stress_ahead is not ElementBatch.stress_ahead


def _unstressed(system: System) -> Iterator[Any]:
    """Contexts of what is solid, as built, at rest and without stress; None of others, whose laws are not asked."""
    motion = replace(system.at_rest(), gravity=np.zeros(3))
    for batch, rows in zip(system.batches, system.components, strict=True):
        context = None
        if is_solid(batch):
            context = batch.force(motion, batch.at(0.0))[1]
            context = batch.with_stress(context, 0.0 * batch.stress_ahead(context, np.zeros(rows.shape)))
        yield context


def _say_lost(system: System, change: Array, V: Array, given: BoolArray) -> None:
    """Say which nodes do not keep what they were given."""
    weight = system.nodes_of(system.weight)
    lost = np.abs(np.where(given[: 6 * system.n].reshape(-1, 6), change * weight, 0.0)).max(axis=1, initial=0.0)
    if lost.max() > LOST * np.abs(system.nodes_of(V) * weight).max():
        nodes = [system.nodes[k] for k in np.argsort(-lost, kind="stable") if lost[k] > 0.1 * lost.max()]
        LOG.warning(
            "project_velocities: joints and drives do not allow the velocities that were given, and change those of "
            "%s by much: give fewer, those that lead the others, or ones that fit",
            listed(nodes, most=NAMED),
        )


def say_resting(system: System, state: State, caller: str) -> None:
    """Say that a state at rest, as an equilibrium is, has none of the velocities that the model gives."""
    moving = (system.velocities * system.free).any(axis=1)
    if moving.any() and not np.any(state.v):
        LOG.warning(
            "%s: the state given is at rest, as an equilibrium is, and the velocities that the model gives to %s play "
            "no part. Where they are meant, give dataclasses.replace(state, v=mbs.start(mbs.System(model)).v)",
            caller,
            listed([system.nodes[k] for k in np.flatnonzero(moving)], most=NAMED),
        )


def deforming(system: System) -> Iterator[tuple[str, str]]:
    """Elements that deform as by a blow at the start where some of their nodes were given no velocity, by name."""
    V = np.append(system.kinematics.to_body(system.R0, as_built(system).v), np.zeros(system.k))
    still = np.append(np.repeat(~system.velocities.reshape(-1, 3).any(axis=1), 3), np.zeros(system.k, np.bool_))
    loose = still & ~given_components(system) & (system.equation >= 0)
    if not V.any() or not loose.any():
        return
    told: dict[str, str] = {}
    for batch, context, rows in zip(system.batches, _unstressed(system), system.components, strict=True):
        if context is None or not (V[rows].any(axis=1) & loose[rows].any(axis=1)).any():
            continue
        K, d = batch.stiffness(context), V[rows]
        apart = np.arange(d.shape[1]) // 6
        alone = np.vecdot(d, np.matvec(K * (apart[:, None] == apart), d))
        for k in np.flatnonzero(loose[rows].any(axis=1) & (np.vecdot(d, np.matvec(K, d)) > DEFORMS * alone)).tolist():
            resting = dict.fromkeys(system.nodes[row // 6] for row in rows[k][loose[rows[k]]])
            told.setdefault(str(batch.owners[k]), listed(resting, most=NAMED))
    for part, nodes in told.items():
        text = (
            f"it begins with velocities that deform it as a blow does, and {nodes} was given no velocity or no angular "
            "velocity, and rests: mbs.project_velocities(model) has it follow the others; zeros say that rest is meant"
        )
        yield part, text
