"""Few shapes of a mesh in place of all: by its interfaces and some modes.

Guyan (1965): the static answers ``Psi`` to unit motions of interfaces. Craig, Bampton (1968): and the modes with
interfaces held. Rubin (1975): the modes of the free body and the residual flexibility of loads on interfaces, brought
to motions of interfaces and shapes that leave them at rest.

All come from one factorisation: ``K + E S E^T``, grounded by springs ``S`` at a few unknowns, is positive definite;
what the springs bear is taken back, and interfaces are held, by a small matrix beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array, diags_array

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import answer, returned, shown
from fem_mbs.elements.flexible.free_mesh import FreeMesh
from fem_mbs.elements.flexible.interfaces import Attached
from fem_mbs.errors import LawError, ModelError, progress_bar

COLUMNS = 12
"""Right-hand sides that are solved together."""
DEPENDENT = 1e-8
"""Length of a shape, beside what others have of it, that is none."""
SETTLED = 1e-7
"""Relative residual of a mode, of its square; frequencies have the square of it."""
NEAR = 1e-3
"""Distance of frequencies, relative, whose modes are combinations that the next mesh of the same body may not share."""
SEARCH, TWICE = 12, 2
"""Modes that are looked for at first, if a frequency says how many there are to be, and by how much then more."""
REACH = 1.5 * 2.0 * np.pi
"""Highest angular frequency that is kept, against the frequency of interest."""

Solver = Callable[[csc_array], Callable[[Array], Array]]


class ReducedBasis(NamedTuple):
    """Shapes ``(N, 6p)`` of unit motions of interfaces, and ``(N, m)`` that leave these at rest."""

    interfaces: Array
    modes: Array


class HeldMesh:
    """A mesh with its interfaces, grounded at the unknowns ``ground``; ``solve`` factorises a positive definite matrix.

    Unknowns of the mesh are ``rest @ y``, ``rest`` (n, N); ``K``, ``M`` (N, N) are of ``y``, ``G`` (6p, N) has the
    motions of interfaces, ``weights`` (n, N) part modes of one frequency.
    """

    def __init__(self, mesh: FreeMesh, attached: Attached, ground: IntArray, solve: Solver) -> None:
        self.mesh, self.rest, self.G = mesh, attached.rest, attached.seen
        K, self.M = (csc_array(self.rest.T @ own @ self.rest) for own in (mesh.K, mesh.M))
        self.weights = csr_array(diags_array(mesh.weights) @ self.rest)
        self.K, self._ground, stiff = K, ground, K.diagonal()
        self._spring = np.where(stiff[ground] > 0.0, stiff[ground], stiff.max())
        E = csc_array((np.ones(len(ground)), ground, np.arange(len(ground) + 1)), (len(stiff), len(ground)))
        grounded = csc_array(K + E @ diags_array(self._spring) @ E.T)
        self._solve = returned("Reduction: solve", solve, grounded, kind=LawError)
        if not callable(self._solve):
            raise ModelError(
                f"Reduction: solve must return a function that solves for columns, received {shown(self._solve)}"
            )
        self._springs = self.grounded(E.toarray())
        self._held: dict[int, tuple[Array, Array, Array]] = {}

    def grounded(self, f: Array) -> Array:
        """Answers of the grounded mesh, some columns at a time."""
        parts = [np.ascontiguousarray(f[:, k : k + COLUMNS]) for k in range(0, f.shape[1], COLUMNS)]
        solved = [
            answer("Reduction", "what solve returns", self._solve, (part,), (part.shape, part.shape[:1]))
            for part in parts
        ]
        return np.concatenate([part.reshape(len(f), -1) for part in solved], axis=1)

    def response(self, f: Array, held: int, motions: Array) -> Array:
        """Displacements under loads ``f`` (N, k) with the first ``held`` motions of interfaces given, ``(held, k)``.

        ``K u + G^T reaction = f``, ``G u = motions``, where the springs of the ground bear nothing.
        """
        X, small, G = self._border(held)
        u = self.grounded(f) if f.any() else f
        e = len(self._ground)
        right = np.concatenate([u[self._ground], motions - G @ u])
        unknown = np.linalg.solve(small, right)
        return u + X @ np.concatenate([self._spring[:, None] * unknown[:e], -unknown[e:]])

    def _border(self, held: int) -> tuple[Array, Array, Array]:
        """Answers to springs and reactions, and the small matrix of ``(E^T u, reactions)``."""
        if held not in self._held:
            G = self.G[:held].toarray()
            reactions = self.grounded(np.ascontiguousarray(G.T))
            e, springs = len(self._ground), self._springs
            # E^T u = E^T (u_f + X_E s e - X_G r);  G u = motions
            small = np.block(
                [
                    [np.eye(e) - springs[self._ground] * self._spring, reactions[self._ground]],
                    [(G @ springs) * self._spring, -G @ reactions],
                ]
            )
            self._held[held] = np.concatenate([springs, reactions], axis=1), small, G
        return self._held[held]

    def response_held(self, f: Array) -> Array:
        """Displacements under loads ``f`` (N, k) with all interfaces held."""
        n = self.G.shape[0]
        return self.response(f, n, np.zeros((n, f.shape[1])))

    def fixed_modes(self, count: int) -> tuple[Array, Array]:
        """Lowest angular frequencies and modes ``(N, count)`` with interfaces held."""
        return self._modes(count, self.response_held, self.G.shape[0])

    def free_modes(self, count: int, rigid: Array) -> tuple[Array, Array]:
        """Lowest ones that deform the free body, whose rigid motions are ``rigid`` (N, 6), of unit mass."""
        return self._modes(count, lambda f: self._free(f, rigid), 6)

    def residual_flexibility(self, rigid: Array, Phi: Array, omega: Array) -> Array:
        """Answers ``(N, 6p)`` of the free body to loads on interfaces, less those of its modes."""
        loads = self.G.T.toarray()
        return self._free(loads, rigid) - Phi @ ((Phi.T @ loads) / omega[:, None] ** 2)

    def _free(self, f: Array, rigid: Array) -> Array:
        """How loads deform the free body, in balance with the inertia of its rigid motions."""
        MR = self.M @ rigid
        u = self.response(f - MR @ (rigid.T @ f), 6, np.zeros((6, f.shape[1])))
        return u - rigid @ (MR.T @ u)

    def _modes(self, count: int, flexibility: Callable[[Array], Array], held: int) -> tuple[Array, Array]:
        N = self.K.shape[0]
        if count == 0:
            return np.zeros(0), np.zeros((N, 0))
        if count > N - held:
            raise ModelError(f"Reduction: modes = {count} are more than the {N - held} unknowns that are not held")
        return _krylov(flexibility, self.M, count, N - held)


def _krylov(flexibility: Callable[[Array], Array], M: csc_array, count: int, room: int) -> tuple[Array, Array]:
    """Lowest frequencies and modes by a block Lanczos method, ``y_k+1 = F M y_k``, with full orthogonalisation.

    Grimes, Lewis, Simon, SIAM J. Matrix Anal. 15 (1994). The modes are those of ``F M`` on all of the blocks; they are
    settled where what the last block adds is small.
    """
    X = _orthonormal(flexibility(np.random.default_rng(0).normal(size=(M.shape[0], min(COLUMNS, room)))), M, [])
    blocks, T, show = [X], np.zeros((0, 0)), progress_bar(None, 0, count, "Reduction: modes", "")
    while True:
        F = flexibility(M @ X)
        MF, size = M @ F, len(T)
        last = np.concatenate([own.T @ MF for own in blocks])
        T = np.block([[T, last[:size]], [last[:size].T, 0.5 * (last[size:] + last[size:].T)]])
        values, z = np.linalg.eigh(T)
        values, z = values[::-1][:count], z[:, ::-1][:, :count]
        X = _orthonormal(F, M, blocks)
        # what the last block leads to is all that these miss; there may be no more
        apart = np.linalg.norm((X.T @ MF) @ z[size:], axis=0)
        settled = apart <= SETTLED * values
        if show is not None:
            show(float(settled.sum()))
        if not X.shape[1] or (len(values) == count and settled.all()):
            if show is not None:
                show(None)
            return 1.0 / np.sqrt(values), np.concatenate(blocks, axis=1) @ z
        blocks.append(X)


def _orthonormal(X: Array, M: csc_array, blocks: list[Array]) -> Array:
    """What columns have beside blocks, of unit mass to each other; those that depend on others are left out."""
    sizes = (X * (M @ X)).sum(axis=0)
    X = X[:, sizes > 0.0] / np.sqrt(sizes[sizes > 0.0])
    for _ in range(TWICE + 1):
        MX = M @ X
        for own in blocks:
            X = X - own @ (own.T @ MX)
        squares, axes = np.linalg.eigh(X.T @ (M @ X))
        some = squares > DEPENDENT**2
        X = X @ (axes[:, some] / np.sqrt(squares[some]))
    return X


def explicit(B: Array, held: HeldMesh) -> ReducedBasis:
    """Any shapes as motions of interfaces and shapes that leave them at rest, which do no work on each other."""
    from scipy.linalg import null_space, qr  # which takes long to import

    sizes = np.linalg.norm(B, axis=0)
    Q, R, _ = qr(B / np.where(sizes > 0.0, sizes, 1.0), mode="economic", pivoting=True)
    B = Q[:, np.abs(np.diag(R)) > DEPENDENT]
    GB = held.G @ B
    if np.linalg.matrix_rank(GB) < len(GB):
        raise ModelError("Reduction: the modes do not move all interfaces on their own; take more of them")
    inner = B @ null_space(GB)
    Psi, KI = B @ np.linalg.pinv(GB), held.K @ inner
    Psi -= inner @ np.linalg.solve(inner.T @ KI, KI.T @ Psi)
    return ReducedBasis(Psi, inner)


def sorted_modes(modes: Array, held: HeldMesh) -> tuple[Array, Array]:
    """Angular frequencies and shapes of what leaves interfaces at rest, each at most 1 large."""
    if not modes.shape[1]:
        return np.zeros(0), modes
    from scipy.linalg import eigh  # which takes long to import

    squares, y = eigh(modes.T @ (held.K @ modes), modes.T @ (held.M @ modes))
    omega = np.sqrt(np.maximum(squares, 0.0))
    shapes = separated_modes(omega, modes @ y, held.weights)
    return omega, shapes / np.abs(shapes).max(axis=0)


def separated_modes(omega: Array, shapes: Array, weights: csr_array) -> Array:
    """Shapes of unit mass, where those of one frequency move most, or least, in the sense of weights ``(k, N)``.

    Any combinations of them are modes, too: these are continuous in the mesh, as what belongs to amplitudes has to be
    where models beside each other are compared; so are the signs.
    """
    for same in np.split(np.arange(len(omega)), np.flatnonzero(np.diff(omega) > NEAR * omega[1:]) + 1):
        seen = weights @ shapes[:, same]
        shapes[:, same] = shapes[:, same] @ np.linalg.eigh(seen.T @ seen)[1][:, ::-1]
    return shapes * np.where((weights @ shapes).sum(axis=0) < 0.0, -1.0, 1.0)


class ReductionPlan(NamedTuple):
    """How a body is reduced."""

    modes: int = 8
    frequency: float | None = None
    method: str = "craig-bampton"


def basis_of(held: HeldMesh, plan: ReductionPlan, loads: Array) -> tuple[ReducedBasis, float]:
    """Shapes, with those of ``loads`` (n, L), and the first angular frequency left out, 0 if it is not known."""
    basis, left_out = _modal_basis(held, plan)
    if not loads.shape[1]:
        return basis, left_out
    f = held.rest.T @ loads
    answers = held.response_held(f)
    # a load as interfaces bear it deforms nothing beside them: what is left is rounding
    free = held.grounded(f)
    deforms = (answers**2).sum(axis=0) > DEPENDENT**1.5 * (free**2).sum(axis=0)
    return basis._replace(modes=_with_static(basis.modes, answers[:, deforms], held.M)), left_out


def _with_static(modes: Array, static: Array, M: csc_array) -> Array:
    """Modes, and what static answers have beside them."""
    for x in static.T:
        size = float(x @ (M @ x))
        for _ in range(TWICE):  # what rounding leaves of the others
            if modes.shape[1]:
                Mm = M @ modes
                x = x - modes @ np.linalg.solve(modes.T @ Mm, Mm.T @ x)
        rest = float(x @ (M @ x))
        if rest > DEPENDENT * size:
            modes = np.concatenate([modes, x[:, None] / np.sqrt(rest)], axis=1)
    return modes


def _modal_basis(held: HeldMesh, plan: ReductionPlan) -> tuple[ReducedBasis, float]:
    if plan.method == "free":
        from scipy.sparse.linalg import splu  # which takes long to import

        # rigid motions in the unknowns without those of rigid interfaces, of unit mass
        rest = held.rest
        reduced = splu(csc_array(rest.T @ rest)).solve(rest.T @ held.mesh.rigid)
        reduced = reduced @ np.linalg.inv(np.linalg.cholesky(reduced.T @ (held.M @ reduced)).T)
        omega, Phi, _ = _lowest(lambda count: held.free_modes(count, reduced), plan, len(reduced) - 6, held.weights)
        B = np.concatenate([reduced, Phi, held.residual_flexibility(reduced, Phi, omega)], axis=1)
        return explicit(B, held), 0.0
    if plan.method == "guyan":
        plan = ReductionPlan(0)
    n, N = held.G.shape
    _, Phi, left_out = _lowest(held.fixed_modes, plan, N - n, held.weights)
    return ReducedBasis(held.response(np.zeros((N, n)), n, np.eye(n)), Phi), left_out


def _lowest(
    modes: Callable[[int], tuple[Array, Array]], plan: ReductionPlan, most: int, weights: csr_array
) -> tuple[Array, Array, float]:
    """Frequencies and modes that a plan asks for, and the first frequency left out, 0 if none is.

    Of modes of one frequency that are not all kept, the plan decides how many, and weights which.
    """
    wanted = plan.modes if plan.frequency is None else 0
    count = wanted + 1 + (wanted > 0) if plan.frequency is None else SEARCH
    while True:
        omega, Phi = modes(max(min(count, most), wanted))
        kept = wanted if plan.frequency is None else int((omega <= REACH * plan.frequency).sum())
        # there are no more, or those beyond what is kept are others
        if len(omega) < count or not kept or omega[-1] > (1.0 + NEAR) * omega[kept - 1]:
            break
        count *= TWICE
    Phi = separated_modes(omega, Phi, weights)
    return omega[:kept], Phi[:, :kept], float(omega[kept]) if kept < len(omega) else 0.0
