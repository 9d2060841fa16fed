"""Say which nodes can move without mass or resistance and which joints repeat each other, in the words of the model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array
from scipy.sparse.csgraph import connected_components

from fem_mbs.arrays import Array, IntArray
from fem_mbs.errors import SingularSystemError
from fem_mbs.solve.null_space import COUNTS, lengths, null_spaces, scaled
from fem_mbs.system import Evaluation, System
from fem_mbs.system.mass import leading_matrix

SMALL = 1e-6
"""Parts of a null vector below this size are rounding."""
DENSE = 200
"""Systems of at most so many equations are looked at as dense matrices."""
LISTED = 6
"""Nodes or joints that a message lists by name."""


def explain_singular(system: System, evaluation: Evaluation, when: str) -> None:
    """Raise :class:`SingularSystemError` if the accelerations and multipliers are not unique."""
    if text := describe_singular(system, evaluation, when):
        raise SingularSystemError(text)


def describe_singular(system: System, evaluation: Evaluation, when: str) -> str:
    """Why the accelerations and multipliers are not unique; empty if they are."""
    matrix = system.solver.matrix(leading_matrix(system, evaluation))
    if text := _undetermined(system, matrix, f"the rates {when} are not unique"):
        return text
    causes = _causes(system, matrix)
    return "\n".join(filter(None, (_move_without_mass(system, causes, when), *_joints(system, causes, when))))


def describe_mechanism(system: System, values: Array, R: Array, when: str) -> str:
    """What makes ``[[K, B^T], [B, 0]]`` with these stored values singular at rotations ``R``; empty if it is regular.

    ``K`` may be scaled, but not the equations of one node against each other.
    """
    matrix = system.solver.matrix(values)
    if text := _undetermined(system, matrix, f"the equilibrium {when} is not unique"):
        return text
    causes = _causes(system, matrix, definite=False)
    moving = _move_without_resistance(system, causes, R, when)
    return "\n".join(filter(None, (moving, *_joints(system, causes, when))))


class _Causes(NamedTuple):
    """What makes a matrix singular."""

    motions: Array
    """Motions ``(N, r)``, in the body frames of the nodes."""
    idle: IntArray
    """Components that stand in no equation."""
    void: IntArray
    """Equations that act on nothing."""
    acting: IntArray
    """All other equations."""
    repeated: Array
    """Basis of the combinations of these that vanish."""


def _undetermined(system: System, matrix: csc_array, what: str) -> str:
    """States and algebraic unknowns that their own equations do not determine, in words."""
    rows = _first_order(system)
    if not len(rows):
        return ""
    block = matrix[rows][:, rows].toarray()
    size = np.abs(matrix[rows]).max(axis=1).toarray().ravel()
    _, values, vectors = np.linalg.svd(block / np.where(size > 0.0, size, 1.0)[:, None])
    loose = np.abs(vectors[values < SMALL**2 * values.max(initial=1.0)]).max(axis=0, initial=0.0) > SMALL
    if not loose.any():
        return ""
    owners = [system.unknowns[k] for k in system.free_rows[rows[loose]] - 6 * system.n]
    names = [f"'{unknown.name}' of {owner}" for owner, unknown in owners]
    return f"{what}: no equation determines {_listed(names, ', ')}; look at its stiffness and damping in its own row"


def _first_order(system: System) -> IntArray:
    """Equations of states and algebraic unknowns."""
    own = np.flatnonzero((system.order == 0) | (system.order == 1))
    return system.equation[6 * system.n + own]


def _dense(matrix: csc_array | Array) -> Array:
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


def _causes(system: System, matrix: csc_array, definite: bool = True) -> _Causes:
    # states and algebraic unknowns follow from the others
    own = _first_order(system)
    rest = np.setdiff1d(np.arange(system.n_free), own)
    scale = np.ones(len(rest)) if definite else 1.0 / system.weight[system.free_rows[rest]]
    small = matrix.shape[0] <= DENSE
    if small:
        matrix = matrix.toarray()
    M = matrix[np.ix_(rest, rest)] if small else matrix[rest][:, rest]
    if len(own) and not definite:
        M = M - matrix[rest][:, own] @ np.linalg.solve(_dense(matrix[own][:, own]), _dense(matrix[own][:, rest]))
        M = M if small else csc_array(M)
    M = scaled(M, scale, scale)
    B = matrix[system.n_free :][:, rest]
    B = scaled(B, np.ones(B.shape[0]), scale)
    # unknowns in no equation and equations without unknowns are told apart, however many there are
    idle = lengths(M, 0) + lengths(B, 0) == 0.0
    void = lengths(B, 1) * system.constraint_weight < SMALL**2
    busy, acting = np.flatnonzero(~idle), np.flatnonzero(~void)
    units, motions, repeated = null_spaces(M[busy][:, busy], B[acting][:, busy], definite)
    at = system.free_rows[rest]
    components = np.zeros((system.N, motions.shape[1]))
    components[at[busy]] = np.where(np.abs(motions) > SMALL, (scale[busy] * units)[:, None] * motions, 0.0)
    return _Causes(components, at[idle], np.flatnonzero(void), acting, repeated)


def _joints(system: System, causes: _Causes, when: str) -> tuple[str, str]:
    return _void(system, causes.void, when), _repeated(system, causes.acting, causes.repeated, when)


def _moving(system: System, causes: _Causes) -> tuple[dict[int, Array], list[str]]:
    """Motions ``(6, r)`` of each node that has any, and names of the own unknowns that move."""
    together = causes.motions[: 6 * system.n].reshape(system.n, 6, -1)
    rows, kinds = np.divmod(causes.idle[causes.idle < 6 * system.n], 6)
    moving = np.union1d(rows, np.flatnonzero(together.any(axis=(1, 2))))
    nodes = {int(row): np.hstack([together[row], np.eye(6)[:, kinds[rows == row]]]) for row in moving}
    own = np.union1d(np.flatnonzero(causes.motions.any(axis=1)), causes.idle)
    unknowns = [system.unknowns[k - 6 * system.n] for k in own[own >= 6 * system.n]]
    return nodes, [f"'{unknown.name}' of {owner}" for owner, unknown in unknowns]


def _move_without_mass(system: System, causes: _Causes, when: str) -> str:
    moving, names = _moving(system, causes)
    if not moving and not names:
        return ""
    used = {node for element in system.elements for node in element.nodes}
    used |= {node for owner, _ in system.constraint_owner for node in owner.nodes}
    for row, motion in moving.items():
        node, R = system.nodes[row], system.R0[row]
        ways = filter(None, (_ways("translation", "along", R @ motion[:3]), _ways("rotation", "about", R @ motion[3:])))
        names.append(f"{node} ({', '.join(ways) if node in used else 'used by no element or joint'})")
    return (
        f"the accelerations {when} are not unique: {_listed(names, ', ')} can move without mass. Give the node a "
        "RigidBody or a beam (a PointMass has no rotational inertia), close the motion by a joint, or hold it with "
        "model.fix(node, translation=..., rotation=...)"
    )


def _move_without_resistance(system: System, causes: _Causes, R: Array, when: str) -> str:
    moving, names = _moving(system, causes)
    if not moving and not names:
        return ""
    names = [f"{name} can move" for name in names]
    for row, motion in moving.items():
        ways = filter(None, (_ways("move", "along", R[row] @ motion[:3]), _ways("turn", "about", R[row] @ motion[3:])))
        names.append(f"{system.nodes[row]} can {' and '.join(ways)}")
    count = causes.motions.shape[1] + len(causes.idle)
    what = f"{_listed(names, ', ')} without resistance"
    if count < len(names):  # nodes that move together
        what = f"{count} motion{'s have' if count > 1 else ' has'} no resistance, in which {_listed(names, ', ')}"
    return (
        f"the equilibrium {when} is not unique: {what}. Hold a node with "
        "model.fix(node, translation=..., rotation=...), close the motion by a joint, or connect the node to a beam"
    )


def _ways(kind: str, along: str, vectors: Array) -> str:
    """Words for the span of three-vectors ``(3, r)``, world frame."""
    axes, sizes, _ = np.linalg.svd(vectors)
    rank = int((sizes > SMALL * sizes.max(initial=0.0)).sum())
    if rank in (0, 3):
        return kind if rank else ""
    axis = axes[:, 0] if rank == 1 else axes[:, 2]
    axis = np.round(axis * np.sign(axis[np.argmax(np.abs(axis))]), 3) + 0.0
    return f"{kind} {along if rank == 1 else f'{along} axes across'} ({', '.join(f'{a:g}' for a in axis)})"


def _void(system: System, equations: IntArray, when: str) -> str:
    if not len(equations):
        return ""
    return (
        f"the joint forces {when} are not unique: these constraint equations act on nothing that can move: "
        f"{_by_owner(system, equations)}. model.fix holds the nodes already; remove the joint or free a node"
    )


def _repeated(system: System, rows: IntArray, basis: Array, when: str) -> str:
    if not basis.shape[1]:
        return ""
    least = "at least " if basis.shape[1] >= COUNTS[-1] else ""
    groups = [
        f"{_by_owner(system, equations)} ({least}{surplus} of these {len(equations)} too many)"
        for equations, surplus in _groups(system, rows, basis)
    ]
    return (
        f"the joint forces {when} are not unique: constraint equations repeat each other:\n  "
        + _listed(groups, "\n  ")
        + "\nRemove a joint, replace one by a joint that closes fewer motions, or let a body in the loop be flexible"
    )


def _groups(system: System, rows: IntArray, basis: Array) -> list[tuple[IntArray, int]]:
    """Independent groups of equations that repeat each other, and how many of each group are too many.

    The projection on the null space, unlike its basis, is unique; it does not couple independent groups. Its trace over
    a group is the number of null vectors there.
    """
    sharing = np.abs(basis).max(axis=1) > SMALL
    rows, basis = rows[sharing], basis[sharing]
    projection = basis @ basis.T
    count, label = connected_components(np.abs(projection) > SMALL, directed=False)
    groups: dict[frozenset[str], list[int]] = {}
    for k in range(count):
        own = np.flatnonzero(label == k)
        groups.setdefault(frozenset(str(system.constraint_owner[row][0]) for row in rows[own]), []).extend(own)
    return [(rows[np.sort(own)], round(projection[own, own].sum())) for own in groups.values()]


def _by_owner(system: System, equations: Iterable[int]) -> str:
    owners: dict[str, list[str]] = {}
    for k in equations:
        owner, equation = system.constraint_owner[k]
        owners.setdefault(str(owner), []).append(equation)
    return _listed([f"{owner}: {', '.join(names)}" for owner, names in owners.items()], "; ")


def _listed(names: Sequence[str], separator: str) -> str:
    more = [f"and {len(names) - LISTED} more"] if len(names) > LISTED else []
    return separator.join([*names[:LISTED], *more])
