"""Translate a singular matrix into the nodes and joints that own it."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array, diags_array
from scipy.sparse.linalg import splu

from fem_mbs.arrays import Array
from fem_mbs.errors import SingularSystemError
from fem_mbs.system import System

SHIFT = 1e-11
THRESHOLD = 1e-9
VECTORS = 6


def explain_singular(system: System, values: Array, when: str) -> None:
    """Raise :class:`SingularSystemError` if the symmetric matrix with these stored values is singular.

    The null vectors come from inverse iteration on the matrix, scaled to unit rows and shifted slightly. Their
    displacement part is a free motion without mass, their multiplier part a set of equations that repeat each other.
    """
    if system.size == 0:
        return
    vectors, misses = _smallest_vectors(system, values)
    null = vectors[:, misses < THRESHOLD]
    if not null.shape[1]:
        return
    motion = np.abs(null[: system.n_free]).max(initial=0.0)
    repeated = np.abs(null[system.n_free :]).max(initial=0.0)
    if motion >= repeated:
        raise SingularSystemError(_describe_motion(system, null, when))
    raise SingularSystemError(_describe_repetition(system, null, when))


def _smallest_vectors(system: System, values: Array) -> tuple[Array, Array]:
    matrix = system.solver.matrix(values)
    size = np.sqrt(np.asarray(abs(matrix).max(axis=1).todense()).ravel())
    size = np.where(size > 0.0, size, np.sqrt(abs(matrix).max() or 1.0))
    if system.m:
        # rows of B keep their own unit, so that a massless node and a repeated equation look alike: a zero row
        size[system.n_free :] = np.maximum(size[system.n_free :], 1e-12)
    scaling = diags_array(1.0 / size)
    scaled = csc_array(scaling @ matrix @ scaling)
    shifted = splu(csc_array(scaled + SHIFT * diags_array(np.ones(system.size))))
    vectors = np.random.default_rng(0).normal(size=(system.size, min(VECTORS, system.size)))
    for _ in range(3):
        vectors, _ = np.linalg.qr(shifted.solve(vectors))
    small, rotation = np.linalg.eigh(vectors.T @ (scaled @ vectors))
    order = np.argsort(np.abs(small))
    vectors = vectors @ rotation[:, order]
    misses = np.linalg.norm(scaled @ vectors, axis=0)
    return vectors / size[:, None], misses


def _describe_motion(system: System, null: Array, when: str) -> str:
    size = np.zeros(6 * system.n)
    size[system.equation >= 0] = np.linalg.norm(null[: system.n_free], axis=1)
    rows = size.reshape(system.n, 6)
    names = []
    for row in np.argsort(-rows.max(axis=1))[:3]:
        if rows[row].max() < 0.1 * rows.max():
            break
        kinds = [kind for kind, part in (("translation", rows[row, :3]), ("rotation", rows[row, 3:])) if part.max() > 0.1 * rows.max()]
        names.append(f"{system.nodes[row]} ({' and '.join(kinds)})")
    return (
        f"the accelerations {when} are not unique: {', '.join(names)} can move without mass. Give the node a body, a "
        "point mass or a beam with inertia, close the motion by a joint, or hold it with "
        "model.fix(node, translation=..., rotation=...); a point mass alone has no rotational inertia"
    )


def _describe_repetition(system: System, null: Array, when: str) -> str:
    size = np.linalg.norm(null[system.n_free :], axis=1)
    equations: dict[str, list[str]] = {}
    for k in np.flatnonzero(size > 0.1 * size.max()):
        owner, equation = system.constraint_owner[k]
        equations.setdefault(str(owner), []).append(equation)
    listed = "; ".join(f"{owner}: {', '.join(names)}" for owner, names in equations.items())
    return (
        f"the joint forces {when} are not unique: these constraint equations repeat each other: {listed}. Remove a "
        "joint, replace one by a joint that closes fewer motions, or let a body in the loop be flexible"
    )
