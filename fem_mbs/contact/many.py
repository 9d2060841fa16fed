"""Matrices of many contacts: sparse, as each touches two bodies.

What forces along the gradients of contacts do follows from the matrix of a model, which falls apart into islands: what
no element or joint connects. A column of the right-hand side may have a gradient's part in each of them, so that
as many solutions as an island has contacts tell of all. Equations of forces may be singular, as forces of many contacts
are not unique: a little compliance is added, which iterative refinement takes away again, but for what no equation
tells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import bsr_array, csr_array, diags_array, eye_array, issparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from fem_mbs.arrays import Array, IntArray
from fem_mbs.linear.solvers import Factors
from fem_mbs.newton import NotConvergedError
from fem_mbs.system.system import System

Matrix: TypeAlias = Any
"""An array of few contacts, a sparse one of many."""
MANY = 100
"""Contacts above which their matrices are sparse, and islands of a model of which those of a few are, too."""
FEW, TOGETHER = 12, 60
"""Contacts up to which they are not, and up to which islands are solved together."""
SURPLUS = 1e-10
"""Singular values, over the largest, of constraints that say the same."""
ADDED, REFINEMENTS = 1e-6, 8
"""What is added to the diagonal, over its largest entry; how often that is taken away at most."""
FREE = 1e-6
"""Free part of forces at random that is rounding."""
HELD = 1e-12
"""What a push moves, over what it would without joints, that is rounding."""


def dense(A: Matrix) -> Array:
    """As an array."""
    return A.toarray() if issparse(A) else A


def diagonal(blocks: Array) -> bsr_array:
    """The matrix ``(3k, 3k)`` of blocks ``(k, 3, 3)``."""
    k = len(blocks)
    return bsr_array((blocks, np.arange(k), np.arange(k + 1)), (3 * k, 3 * k))


def per_mass(system: System, G: Matrix) -> Array:
    """What unit forces along gradients ``(r, N)`` do to accelerations along these without joints, ``(r,)``."""
    mass = np.where(system.equation >= 0, system.diagonal_mass, 0.0)
    return (G * G) @ np.divide(1.0, mass, out=np.zeros_like(mass), where=mass > 0.0)


def without_held(G: Matrix, free: Array) -> Matrix:
    """Rates per force ``(3k, 3k)``, with nothing of contacts that joints hold: their normal forces move nothing.

    What is left of them is rounding beside what a force would move without joints, ``free`` (k,).
    """
    held = np.repeat(G.diagonal()[::3] <= HELD * free, 3)
    if not held.any():
        return G
    moves = diags_array(np.where(held, 0.0, 1.0))
    return moves @ G @ moves


def connected(G: Matrix, k: int) -> IntArray:
    """Labels ``(k,)``, the same of contacts that a matrix ``(3k, 3k)`` connects."""
    if issparse(G):
        rows, columns = G.nonzero()
        graph = csr_array((np.ones(len(rows)), (rows // 3, columns // 3)), (k, k))
    else:
        graph = csr_array((G.reshape(k, 3, k, 3) != 0.0).any(axis=(1, 3)))
    return np.asarray(connected_components(graph, directed=False)[1])


def islands(G: Matrix, k: int) -> list[IntArray]:
    """Numbers of the contacts that a matrix ``(3k, 3k)`` connects, for each set of these; small ones are together."""
    if k <= TOGETHER:
        return [np.arange(k)]
    label = connected(G, k)
    order, sizes = np.argsort(label, kind="stable"), np.bincount(label)
    ends = np.cumsum(sizes)
    group = np.where(sizes > TOGETHER, -1 - np.arange(len(sizes)), ends // TOGETHER)
    return np.split(order, ends[:-1][np.diff(group) != 0])


def block(G: Matrix, contacts: IntArray) -> Matrix:
    """Rows and columns of some contacts."""
    if 3 * len(contacts) == G.shape[0]:
        return G if len(contacts) > MANY else dense(G)
    own = (3 * contacts[:, None] + np.arange(3)).ravel()
    part = G[own][:, own]
    return part if len(contacts) > MANY else dense(part)


def effects(system: System, factors: Factors, G: Matrix) -> tuple[Matrix, Matrix]:
    """What unit forces along gradients ``(r, N)`` move, ``(N, r)``, and the reactions of joints ``(m, r)``."""
    if not issparse(G):
        right, moves = np.zeros((system.size, len(G))), np.zeros((system.N, len(G)))
        right[: system.n_free] = G.T[system.free_index]
        solved = factors.solve(right) if len(G) else right
        moves[system.free_index] = solved[: system.n_free]
        return moves, solved[system.n_free :]
    labels, gradients = system.unknown_islands, G.tocoo()
    row, component = gradients.coords
    unknown = system.equation[component]
    inside = (unknown >= 0) & (gradients.data != 0.0)
    row, unknown, values = row[inside], unknown[inside], gradients.data[inside]
    # a part is what a gradient has in an island; those of an island have a column each
    parts, part = np.unique(labels[unknown] * np.intp(G.shape[0]) + row, return_inverse=True)
    of_island, of_row = np.divmod(parts, G.shape[0])
    column = np.arange(len(parts)) - np.searchsorted(of_island, of_island)
    right = np.zeros((int(column.max(initial=-1)) + 1, system.size))
    right[column[part], unknown] = values
    solved = np.stack([factors.solve(own) for own in right]) if len(right) else right
    order, sizes = np.argsort(labels, kind="stable"), np.bincount(labels, minlength=1)
    starts, sizes = (np.cumsum(sizes) - sizes)[of_island], sizes[of_island]
    every = np.repeat(np.arange(len(parts)), sizes)
    places = order[np.arange(len(every)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + starts[every]]
    data, n = solved[column[every], places], system.n_free
    inside, joint = places < n, places >= n
    shapes = (system.N, G.shape[0]), (system.m, G.shape[0])
    moved = csr_array((data[inside], (system.free_rows[places[inside]], of_row[every[inside]])), shapes[0])
    return moved, csr_array((data[joint], (places[joint] - n, of_row[every[joint]])), shapes[1])


def soft_inverse(A: csr_array, K: Array | None = None) -> Callable[[Array], Array]:
    """What solves ``A x = b``, where a solution may not be unique as compliances ``e K`` (k, 3, 3) or ``e`` lead to.

    They are taken away again by iterative refinement, which leaves ``y^T K x`` alone for all ``y^T A = 0``.
    """
    if K is None:
        added = ADDED * (float(np.abs(A.diagonal()).max()) or 1.0) * eye_array(A.shape[0])
    else:
        added = ADDED / float(K[:, 0, 0].min()) * diagonal(K)
    try:
        factors = splu((A + added).tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.01)
    except RuntimeError as error:
        raise NotConvergedError("the equations of contacts are singular") from error

    def solve(b: Array) -> Array:
        x: Array = factors.solve(b)
        smallest = np.inf
        for _ in range(REFINEMENTS):
            missed = b - A @ x
            size = float(np.abs(missed).max(initial=0.0))
            if not 1e-16 * np.abs(b).max(initial=0.0) < size < smallest:
                break
            smallest = 0.5 * size
            x = x + factors.solve(missed)
        if not np.isfinite(x).all():
            raise NotConvergedError("the forces of contacts are not finite")
        return x

    return solve


def free_part(A: csr_array) -> Array:
    """Of forces at random what ``A x`` tells nothing of; zero where they are unique."""
    some = np.random.default_rng(0).normal(size=A.shape[1])
    free: Array = some - soft_inverse(A)(A @ some)
    return np.where(np.abs(free) > FREE, free, 0.0)


def closing(system: System, rows: Matrix, factors: Factors) -> Callable[[Array], Array]:
    """What closes constraints of gradients ``(r, N)`` after increments ``(N,)``."""
    if not rows.shape[0]:
        return np.zeros_like
    moves = effects(system, factors, rows)[0]
    G = rows @ moves
    back = soft_inverse(G.tocsr()) if issparse(G) else np.linalg.pinv(G, rcond=SURPLUS).__matmul__
    return lambda missed: moves @ back(rows @ missed)
