"""Loads on the mesh of a flexible body: forces on its nodes, which follow the body, and what is left of them reduced.

With forces ``p`` on the nodes of a field ``Y = X + sum_j q_j Psi_j``, in the axes of the floating frame, the power is
``sum p . U_0 + (sum Y x p) . Omega_0 + sum_j (sum Psi_j . p) q_j'``: of a mesh, ``sum p`` and ``sum Psi_j p^T`` remain.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import array, real, shown, text
from fem_mbs.elements.flexible.interfaces import Facets, chosen
from fem_mbs.errors import ModelError


def _loads(value: Any, label: object) -> Any:
    """Loads by name."""
    if not isinstance(value, Mapping):
        raise ModelError(f"{label} must be a dict of names, each with nodal forces or faces, received {shown(value)}")
    return {text(name, f"{label}: names"): own for name, own in value.items()}


Loads = Annotated[Any, _loads]


def reduced_load(p: Array, X: Array, Y: Array) -> Array:
    """``(4 + 3K, 3)`` of forces ``p`` (n, 3) at ``X`` (n, 3), whose shapes are ``Y`` (n, 3, K): by ``1, X, Psi_j``."""
    return np.concatenate([p.sum(axis=0)[None], X.T @ p, np.einsum("nak,nb->kab", Y, p).reshape(-1, 3)])


def nodal_forces(
    loads: Any, points: Array, sets: Mapping[str, IntArray], facets: Facets | None, unit: float
) -> dict[str, Array]:
    """Forces ``(n, 3)`` in N on all nodes of each load; ``unit`` is the length of the mesh in m."""
    result: dict[str, Array] = {}
    for name, own in (loads or {}).items():
        label, n = f"Reduction: loads['{name}']", len(points)
        given = None if isinstance(own, str) or callable(own) else real(own)
        if given is not None and given.shape == (n, 3):
            forces = array(given, label, (n, 3), what=f"a force for each of {n} nodes")
        elif facets is None:
            raise ModelError(
                f"{label} must be a force for each of the {n} nodes, received {shown(own)}; faces are known of "
                "Reduction.solid"
            )
        else:
            forces = -(unit**2) * facets.gathered(facets.normals, chosen(own, points, sets, label), n)
        if not forces.any():
            raise ModelError(f"{label} has no forces: no whole face of the mesh is in it")
        result[name] = forces
    return result


def in_rows(forces: Mapping[str, Array], dofs: IntArray) -> Array:
    """Loads ``(N, L)`` on unknowns ``dofs`` (N, 2)."""
    every = np.zeros((len(dofs), len(forces)))
    moves = dofs[:, 1] < 3
    for k, own in enumerate(forces.values()):
        every[moves, k] = own[dofs[moves, 0], dofs[moves, 1]]
    return every
