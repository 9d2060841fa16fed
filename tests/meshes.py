"""Meshes with their matrices, for tests: chains of Bernoulli beams, bricks of trilinear hexahedra."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array, csr_array

from fem_mbs.arrays import Array

Matrices = tuple[Array, csr_array, csr_array]


def _assembled(rows: Array, blocks: Array, size: int) -> csr_array:
    i, j = np.broadcast_arrays(rows[:, :, None], rows[:, None, :])
    return csr_array(coo_array((blocks.ravel(), (i.ravel(), j.ravel())), (size, size)))


def chain(n: int, length: float = 1.0, EA: float = 1e6, GJ: float = 1e3, J: float = 1e-6) -> tuple[Matrices, Array]:
    """``n`` cubic elements along x with ``EI = mu = 1``: points and matrices, and six unknowns of each node."""
    h = length / n
    bend = np.array([[12, 6 * h, -12, 6 * h], [0, 4 * h**2, -6 * h, 2 * h**2], [0, 0, 12, -6 * h], [0, 0, 0, 4 * h**2]])
    move = np.array(
        [[156, 22 * h, 54, -13 * h], [0, 4 * h**2, 13 * h, -3 * h**2], [0, 0, 156, -22 * h], [0, 0, 0, 4 * h**2]]
    )
    bend, move = ((part + np.triu(part, 1).T) * factor for part, factor in ((bend, h**-3), (move, h / 420)))
    flip, two, one = np.diag([1.0, -1, 1, -1]), np.array([[1.0, -1], [-1, 1]]), np.array([[2.0, 1], [1, 2]]) * h / 6
    K, M = np.zeros((2, 12, 12))
    for rows, stiff, mass in (
        ([1, 5, 7, 11], bend, move),
        ([2, 4, 8, 10], flip @ bend @ flip, flip @ move @ flip),
        ([0, 6], EA / h * two, one),
        ([3, 9], GJ / h * two, J * one),
    ):
        K[np.ix_(rows, rows)], M[np.ix_(rows, rows)] = stiff, mass
    rows, N = 6 * np.arange(n)[:, None] + np.arange(12), 6 * (n + 1)
    points = np.zeros((n + 1, 3))
    points[:, 0] = np.linspace(0.0, length, n + 1)
    dofs = np.stack([np.repeat(np.arange(n + 1), 6), np.tile(np.arange(1, 7), n + 1)], axis=1)
    return (points, *(_assembled(rows, np.tile(part, (n, 1, 1)), N) for part in (K, M))), dofs


def pulled(n: int, length: float = 1.0, EA: float = 1e6) -> Callable[[Array], csr_array]:
    """Geometric stiffness of a chain as a function of its displacements, by the force along it."""
    h, N = length / n, 6 * (n + 1)
    bend = np.array(
        [[36, 3 * h, -36, 3 * h], [0, 4 * h**2, -3 * h, -(h**2)], [0, 0, 36, -3 * h], [0, 0, 0, 4 * h**2]]
    ) / (30 * h)
    bend, flip, unit = bend + np.triu(bend, 1).T, np.diag([1.0, -1, 1, -1]), np.zeros((12, 12))
    unit[np.ix_([1, 5, 7, 11], [1, 5, 7, 11])], unit[np.ix_([2, 4, 8, 10], [2, 4, 8, 10])] = bend, flip @ bend @ flip
    rows = 6 * np.arange(n)[:, None] + np.arange(12)
    return lambda u: _assembled(rows, EA / h * np.diff(u[::6])[:, None, None] * unit, N)


def brick(cells: tuple[int, int, int], sizes: tuple[float, float, float], E: float, rho: float) -> Matrices:
    """A brick from the origin, Poisson's ratio 0.3: points and matrices."""
    corners, h = np.array(list(product((0, 1), repeat=3))), np.array(sizes) / cells
    points = np.array(list(product(*(np.linspace(0.0, s, n + 1) for n, s in zip(cells, sizes, strict=True)))))
    shear = E / 2.6
    law = np.diag(np.repeat((2.0 * shear, shear), 3))
    law[:3, :3] += E * 0.3 / (1.3 * 0.4)
    K, M = np.zeros((24, 24)), np.zeros((8, 8))
    for at in product((0.5 - 0.75**0.5 / 3, 0.5 + 0.75**0.5 / 3), repeat=3):
        factors = np.where(corners == 1, at, 1 - np.array(at))
        B = np.zeros((6, 8, 3))
        for a in range(3):
            slope = np.where(corners[:, a] == 1, 1, -1) * np.delete(factors, a, 1).prod(axis=1) / h[a]
            B[a, :, a] = slope
            for row, other in ((3, {1: 2, 2: 1}), (4, {0: 2, 2: 0}), (5, {0: 1, 1: 0})):
                if a in other:
                    B[row, :, other[a]] = slope
        flat, N = B.reshape(6, 24), factors.prod(axis=1)
        K += flat.T @ law @ flat * h.prod() / 8
        M += rho * np.outer(N, N) * h.prod() / 8
    number = np.arange(len(points)).reshape([n + 1 for n in cells])
    cell = np.array(list(product(*map(range, cells))))
    nodes = number[tuple((cell[:, None] + corners).transpose(2, 0, 1))]
    rows = (3 * nodes[:, :, None] + np.arange(3)).reshape(len(cell), 24)
    every = (K, np.kron(M, np.eye(3)))
    return (points, *(_assembled(rows, np.tile(part, (len(cell), 1, 1)), 3 * len(points)) for part in every))


def punched(folder: Path, mesh: Matrices, fields: str) -> tuple[Path, Path]:
    """A solid as Nastran writes it, ``GRID`` in ``small``, ``wide`` or ``free`` fields; labels begin at 11."""
    points, K, M = mesh
    bulk = ["SOL 103", "CEND", "BEGIN BULK", "GRDSET,,,,,,,456", "MAT1*    1              7.+10"]
    for label, place in enumerate(points, start=11):
        x, y, z = (f"{value:.9G}".replace("E", "") if value else "0." for value in place)
        small = f"GRID    {label:<8d}        {x:<8.8s}{y:<8.8s}{z:<8.8s}"
        wide = f"GRID*   {label:<16d}{'':16s}{x:<16s}{y:<16s}", f"*       {z}"
        bulk += {"small": [small], "wide": list(wide), "free": [f"GRID,{label},,{x},{y},{z}"]}[fields]
    (folder / "solid.bdf").write_text("\n".join([*bulk, "ENDDATA"]))
    lines = ["   VECTOR(SORT1,REAL)=ALL"]
    for name, matrix in (("KAAX", K), ("MAAX", M)):
        lines.append(f"DMIG    {name}           0       6       2       0{matrix.shape[0]:24d}")
        for j in range(matrix.shape[0]):
            lines.append(f"DMIG*   {name:16s}{j // 3 + 11:16d}{j % 3 + 1:16d}")
            for i in range(j + 1):
                if value := matrix[i, j]:
                    number = f"{value:.9E}".replace("E", "D")
                    lines.append(f"*       {i // 3 + 11:16d}{i % 3 + 1:16d}{number:>16s}")
    lines += ["DMIG    VAX            0       9       2       0                       1"]
    lines += ["DMIG*   VAX                            1               0", f"*       {11:16d}{1:16d} 1.000000000D+00"]
    (folder / "solid.pch").write_text("\n".join(lines))
    return folder / "solid.pch", folder / "solid.bdf"
