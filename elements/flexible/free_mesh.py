"""Matrices of a free mesh as given: checked, in SI units, grounded for a factorisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, issparse

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import array, shown
from fem_mbs.elements.flexible.floating_frame import carried
from fem_mbs.elements.flexible.interfaces import AttachedInterface
from fem_mbs.errors import ModelError

UNITS = {"SI": (1.0, 1.0), "mm-t-s": (1e-3, 1e3)}
"""Length and mass in m and kg."""
HELD = 1e-6
"""Work of a rigid motion, against that of the stiffness, that says that the mesh is not free."""


def square(value: Any, label: object) -> Any:
    """A square matrix, dense or sparse."""
    if not issparse(value):
        return array(value, label, (None, None), what="a square matrix, dense or of scipy.sparse")
    if value.ndim != 2 or value.shape[0] != value.shape[1] or value.dtype.kind not in "fiu":
        raise ModelError(f"{label} must be a square matrix of real numbers, received {shown(value)}")
    return value


def all_translations(n: int) -> IntArray:
    """Node and axis of each row ``(3n, 2)``, x, y, z of one node after the other."""
    result: IntArray = np.stack([np.repeat(np.arange(n), 3), np.tile(np.arange(3), n)], axis=1)
    return result


def symmetric_matrix(given: Any, name: str, N: int) -> csr_array:
    """A sparse symmetric matrix, or a :class:`ModelError`."""
    label = f"Reduction: {name}"
    if not issparse(given):
        given = array(given, label, (N, N), what=f"a symmetric {N} x {N} matrix, a row for each of the unknowns")
    result = csr_array(given, dtype=float)
    if result.shape != (N, N):
        raise ModelError(
            f"{label} must be {N} x {N}, three rows for each node or those of dofs=, received {result.shape}"
        )
    if not np.isfinite(result.data).all():
        raise ModelError(f"{label} must be finite")
    skew = abs(result - result.T)
    if skew.nnz and skew.max() > 1e-9 * np.abs(result.data).max(initial=0.0):
        raise ModelError(f"{label} must be a symmetric matrix; a triangle alone is no matrix")
    return csr_array(0.5 * (result + result.T))


def checked_matrix(given: Any, name: str, N: int) -> csr_array:
    """The matrix of a free mesh, not zero, or a :class:`ModelError`."""
    result, label = symmetric_matrix(given, name, N), f"Reduction: {name}"
    if not result.nnz or not np.abs(result.data).max():
        raise ModelError(f"{label} must not be zero")
    diagonal = result.diagonal()
    positive = diagonal[diagonal > 0.0]
    if len(positive) and positive.max() > 1e20 * np.median(positive):
        raise ModelError(f"{label} has entries of {positive.max():.3g} beside others: supports; give the free body")
    return result


def in_si(points: Array, K: csr_array, M: csr_array, dofs: IntArray, units: str) -> tuple[Array, csr_array, csr_array]:
    """Points and matrices in m, kg, s."""
    if units == "SI":
        return points, K, M
    length, mass = UNITS[units]
    S = diags_array(np.where(dofs[:, 1] > 2, length, 1.0))
    return length * points, csr_array(mass * (S @ K @ S)), csr_array(mass * (S @ M @ S))


def stress_unit(units: str) -> float:
    """Of the stress of a mesh in N/m^2, by slopes of displacements in m over places in its own unit."""
    length, mass = UNITS[units]
    return mass / length**2


def geometric_of(function: Callable[[Array], Any], dofs: IntArray, units: str, u: Array, T: Array) -> Array:
    """``T^T K_G T`` (L, K, K) of shapes ``T`` (N, K) for all ``u`` (N, L); ``function`` has the units of the mesh."""
    length, mass = UNITS[units]
    scale = np.where(dofs[:, 1] > 2, length, 1.0)
    own, shapes = u / np.where(dofs[:, 1] > 2, 1.0, length)[:, None], scale[:, None] * T
    every = [symmetric_matrix(function(column), "what geometric returns", len(dofs)) for column in own.T]
    return mass * np.array([shapes.T @ (K_G @ shapes) for K_G in every])


def ground_of(given: Sequence[AttachedInterface], points: Array, dofs: IntArray, rest: csr_array) -> IntArray:
    """Unknowns at which springs hold a mesh that is free: of the first interface."""
    first = given[0]
    if first.kind == "rigid":
        rigid = sum(own.kind == "rigid" for own in given)
        return np.arange(6) + (int(rest.shape[1]) - 6 * rigid)
    r = points[first.nodes] - first.point
    a = int(np.argmax(np.linalg.norm(r, axis=1)))
    b = int(np.argmax(np.linalg.norm(r - r[a], axis=1)))
    c = int(np.argmax(np.linalg.norm(np.cross(r - r[a], r[b] - r[a]), axis=1)))
    rows = np.flatnonzero(np.isin(dofs[:, 0], first.nodes[[a, b, c]]) & (dofs[:, 1] < 3))
    return np.asarray(rest[rows].indices, dtype=np.intp)


def rigid_of(points: Array, dofs: IntArray) -> Array:
    """Rigid motions ``(N, 6)`` of all unknowns."""
    result: Array = carried(points - points.mean(axis=0))[dofs[:, 0], dofs[:, 1]]
    return result


def refuse_supports(K: csr_array, rigid: Array, dofs: IntArray, what: str) -> None:
    """Refuse ``what`` hinders a mesh from moving as a rigid body."""
    work, scale = np.abs(K @ rigid), np.abs(K) @ np.abs(rigid)
    shares = work / np.maximum(scale.max(axis=0), np.finfo(float).tiny)
    if shares.max() > HELD:
        row, column = np.unravel_index(int(np.argmax(shares)), shares.shape)
        raise ModelError(
            f"Reduction: the {what} holds the body at node {dofs[row, 0]}: to move it as a whole "
            f"{('along', 'about')[column // 3]} {'xyz'[column % 3]} takes work; give the matrices without supports, "
            "springs to the ground and constraints"
        )
