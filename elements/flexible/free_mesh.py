"""A free mesh as given: its matrices, checked, in SI units and grounded for a factorisation; and loads on it.

With forces ``p`` on the nodes of a field ``Y = X + sum_j q_j Psi_j``, in the axes of the floating frame, the power is
``sum p . U_0 + (sum Y x p) . Omega_0 + sum_j (sum Psi_j . p) q_j'``: of a mesh, ``sum p`` and ``sum Psi_j p^T`` remain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from scipy.sparse import csr_array, diags_array, issparse

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import array, real, returned, shown
from fem_mbs.contracts.arguments import text
from fem_mbs.elements.flexible.floating_frame import carried
from fem_mbs.elements.flexible.inertia import symmetric
from fem_mbs.elements.flexible.interfaces import AttachedInterface, chosen
from fem_mbs.elements.flexible.matrices import SourceMesh
from fem_mbs.errors import LawError, ModelError

UNITS = {"SI": (1.0, 1.0), "mm-t-s": (1e-3, 1e3)}
"""Length and mass in m and kg."""
CORNER, AXES = np.array([10.0, 14.0, 17.0]), np.array([1.0, 1.4, 1.7])
"""How weights of displacements fall from one corner of a mesh over its extent, and what they are along its axes."""
HELD = 1e-6
"""Work of a rigid motion, against that of the stiffness, that says that the mesh is not free."""


def square(value: Any, label: object) -> Any:
    """A square matrix, dense or sparse."""
    if not issparse(value):
        return array(value, label, (None, None), what="a square matrix, dense or of scipy.sparse")
    if value.ndim != 2 or value.shape[0] != value.shape[1] or value.dtype.kind not in "fiu":
        raise ModelError(f"{label} must be a square matrix of real numbers, received {shown(value)}")
    return value


class FreeMesh:
    """A mesh that nothing holds, in m, kg, s: nodes ``points`` (n, 3), stiffness ``K`` and mass ``M`` (N, N).

    ``dofs`` (N, 2) are node and axis, both from 0, of each row, by default x, y, z of one node after the other;
    ``unit`` is the length of the mesh as given, in m.
    """

    def __init__(self, points: Array, stiffness: Any, mass: Any, dofs: IntArray | None, units: str) -> None:
        n = len(points)
        if dofs is None:
            dofs = np.stack([np.repeat(np.arange(n), 3), np.tile(np.arange(3), n)], axis=1)
        if len(np.unique(dofs, axis=0)) < len(dofs):
            raise ModelError("Reduction: dofs: two rows belong to one direction of one node")
        self.dofs, (self.unit, self._mass) = dofs, UNITS[units]
        self._lengths = np.where(dofs[:, 1] > 2, self.unit, 1.0)
        self.K, self.M = self.matrix(stiffness, "stiffness"), self.matrix(mass, "mass")
        self.points = self.unit * points
        self.rigid: Array = carried(self.points - self.points.mean(axis=0))[dofs[:, 0], dofs[:, 1]]
        """Motions ``(N, 6)`` as a whole."""

    @property
    def turns(self) -> bool:
        """Whether nodes have rotations."""
        return bool((self.dofs[:, 1] > 2).any())

    @property
    def weights(self) -> Array:
        """Of each row: displacements along each axis count differently, and the more, the nearer to a corner.

        No symmetry of a body leaves them as they are, so that they part modes of one frequency.
        """
        near = (self.points - self.points.min(axis=0)) @ CORNER / np.ptp(self.points, axis=0).max()
        node, axis = self.dofs.T
        return np.exp(-near)[node] * np.append(AXES, np.zeros(3))[axis]

    @property
    def stress_unit(self) -> float:
        """Of the stress of a mesh in N/m^2, by slopes of displacements in m over places in its own unit."""
        return self._mass / self.unit**2

    def matrix(self, given: Any, name: str) -> csr_array:
        """A matrix as given, not zero, in m, kg, s, or a :class:`ModelError`."""
        result, label = self._symmetric(given, name), f"Reduction: {name}"
        if not result.nnz or not np.abs(result.data).max():
            raise ModelError(f"{label} must not be zero")
        diagonal = result.diagonal()
        positive = diagonal[diagonal > 0.0]
        if len(positive) and positive.max() > 1e20 * np.median(positive):
            raise ModelError(f"{label} has entries of {positive.max():.3g} beside others: supports; give the free body")
        if self.unit == self._mass == 1.0:
            return result
        S = diags_array(self._lengths)
        return csr_array(self._mass * (S @ result @ S))

    def _symmetric(self, given: Any, name: str) -> csr_array:
        label, N = f"Reduction: {name}", len(self.dofs)
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

    def refuse_supports(self, matrix: csr_array, what: str) -> None:
        """Refuse a ``matrix``, called ``what``, that hinders the mesh from moving as a rigid body."""
        work, scale = np.abs(matrix @ self.rigid), np.abs(matrix) @ np.abs(self.rigid)
        shares = work / np.maximum(scale.max(axis=0), np.finfo(float).tiny)
        if shares.max() > HELD:
            row, column = np.unravel_index(int(np.argmax(shares)), shares.shape)
            raise ModelError(
                f"Reduction: the {what} holds the body at node {self.dofs[row, 0]}: to move it as a whole "
                f"{('along', 'about')[column // 3]} {'xyz'[column % 3]} takes work; give the matrices without "
                "supports, springs to the ground and constraints"
            )

    def damping(self, given: Any, T: Array) -> Array:
        """``T^T C T`` (K, K) of shapes ``T`` (N, K), of a matrix as given; zero without one."""
        if given is None:
            return np.zeros(2 * T.shape[1:])
        C = self.matrix(given, "damping")
        self.refuse_supports(C, "damping")
        return symmetric(T.T @ (C @ T))

    def geometric(self, function: Callable[[Array], Any], u: Array, T: Array) -> Array:
        """``T^T K_G T`` (L, K, K) of shapes ``T`` (N, K) for all ``u`` (N, L); ``function`` has the units as given."""
        own, shapes = u / (self.unit / self._lengths)[:, None], self._lengths[:, None] * T
        answers = (returned("Reduction: geometric", function, column, kind=LawError) for column in own.T)
        every = [self._symmetric(answer, "what geometric returns") for answer in answers]
        return self._mass * np.array([shapes.T @ (K_G @ shapes) for K_G in every])

    def ground(self, given: Sequence[AttachedInterface], rest: csr_array) -> IntArray:
        """Unknowns at which springs hold it, of the first interface."""
        first = given[0]
        if first.kind == "rigid":
            rigid = sum(own.kind == "rigid" for own in given)
            return np.arange(6) + (int(rest.shape[1]) - 6 * rigid)
        r = self.points[first.nodes] - first.point
        a = int(np.argmax(np.linalg.norm(r, axis=1)))
        b = int(np.argmax(np.linalg.norm(r - r[a], axis=1)))
        c = int(np.argmax(np.linalg.norm(np.cross(r - r[a], r[b] - r[a]), axis=1)))
        rows = np.flatnonzero(np.isin(self.dofs[:, 0], first.nodes[[a, b, c]]) & (self.dofs[:, 1] < 3))
        return np.asarray(rest[rows].indices, dtype=np.intp)

    def loads(self, forces: Mapping[str, Array]) -> Array:
        """Loads ``(N, L)`` on unknowns, of forces ``(n, 3)`` on nodes each."""
        every = np.zeros((len(self.dofs), len(forces)))
        moves = self.dofs[:, 1] < 3
        for k, own in enumerate(forces.values()):
            every[moves, k] = own[self.dofs[moves, 0], self.dofs[moves, 1]]
        return every


def _loads(value: Any, label: object) -> Any:
    """Loads by name."""
    if not isinstance(value, Mapping):
        raise ModelError(f"{label} must be a dict of names, each with nodal forces or faces, received {shown(value)}")
    return {text(name, f"{label}: names"): own for name, own in value.items()}


Loads = Annotated[Any, _loads]


def reduced_load(p: Array, X: Array, Y: Array) -> Array:
    """``(4 + 3K, 3)`` of forces ``p`` (n, 3) at ``X`` (n, 3), whose shapes are ``Y`` (n, 3, K): by ``1, X, Psi_j``."""
    return np.concatenate([p.sum(axis=0)[None], X.T @ p, np.einsum("nak,nb->kab", Y, p).reshape(-1, 3)])


def nodal_forces(loads: Any, mesh: SourceMesh, unit: float) -> dict[str, Array]:
    """Forces ``(n, 3)`` in N on all nodes of each load; ``unit`` is the length of the mesh in m."""
    result: dict[str, Array] = {}
    facets, nodes = mesh.facets, np.arange(len(mesh.points)) if mesh.numbers is None else mesh.numbers
    for name, own in (loads or {}).items():
        label, n = f"Reduction: loads['{name}']", len(nodes)
        given = None if isinstance(own, str) or callable(own) else real(own)
        box = given is not None and given.shape == (2, 3)
        if given is not None and given.ndim == 2 and not box:
            own = array(given, label, (n, 3), what=f"a force for each of {n} nodes")
            forces = np.zeros_like(mesh.points)
            forces[nodes[nodes >= 0]] = own[nodes >= 0]
        elif facets is None:
            raise ModelError(
                f"{label} must be a force for each of the {n} nodes, received {shown(own)}; faces are known of "
                "Reduction.solid"
            )
        else:
            forces = -(unit**2) * facets.gathered(facets.normals, chosen(own, mesh, label), len(mesh.points))
        if not forces.any():
            raise ModelError(f"{label} has no forces: no whole face of the mesh is in it")
        result[name] = forces
    return result
