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


def calculated(folder: Path, mesh: Matrices) -> tuple[Path, Path, Path, Path]:
    """A solid as CalculiX stores it: upper triangles by row and column, the unknown of each row, nodes from 11."""
    points, K, M = mesh
    deck = ["*NODE, NSET=Nall", *(f"{k}, {x:.17g}, {y:.17g}, {z:.17g}" for k, (x, y, z) in enumerate(points, start=11))]
    files = [folder / f"solid.{ending}" for ending in ("sti", "mas", "dof", "inp")]
    for path, matrix in zip(files, (K, M), strict=False):
        entries = csr_array(matrix).tocoo()
        upper = [(j, i, value) for i, j, value in zip(*entries.coords, entries.data, strict=True) if i <= j]
        path.write_text("".join(f"{i + 1} {j + 1} {value:20.13e}\n" for j, i, value in sorted(upper)))
    files[2].write_text("".join(f"{k + 11}.{axis}\n" for k in range(len(points)) for axis in (1, 2, 3)))
    files[3].write_text("\n".join(deck))
    return files[0], files[1], files[2], files[3]


def dumped(folder: Path, mesh: Matrices) -> tuple[Path, Path, Path, Path]:
    """A solid as Ansys dumps it: lower triangles of columns, rows mapped in reverse, nodes from 11."""
    points, K, M = mesh
    n = len(points)
    order = np.arange(3 * n)[::-1]
    files = [folder / name for name in ("K.matrix", "M.matrix", "K.mapping", "solid.cdb")]
    for path, matrix, title in zip(files, (K, M), ("Stiffness", "Mass"), strict=False):
        lower = csr_array(matrix)[order][:, order].tocsc()
        entries = [lower.indices[a:b] for a, b in zip(lower.indptr, lower.indptr[1:], strict=False)]
        rows = [np.sort(own[own >= j]) for j, own in enumerate(entries)]
        starts = np.append(0, np.cumsum([len(own) for own in rows])) + 1
        values = [lower[i, j] for j, own in enumerate(rows) for i in own]
        count = len(values)
        head = [f"{title} matrix from ANSYS FULL file dumped into Harwell-Boeing format"]
        head += ["".join(f"{own:14d}" for own in (3 * n + 1 + 2 * count, 3 * n + 1, count, count, 0))]
        head += [f"{'RSA':14s}{3 * n:14d}{3 * n:14d}{count:14d}{0:14d}", "(I14)           (I14)           (d25.15)"]
        body = [f"{own:14d}" for own in (*starts, *(i + 1 for own in rows for i in own))]
        body += [f"{value:25.15E}".replace("E", "D") for value in values]
        path.write_text("\n".join([*head, *body]))
    names = [f"{row + 1:14d}{k // 3 + 11:14d}    {('UX', 'UY', 'UZ')[k % 3]:4s}" for row, k in enumerate(order)]
    files[2].write_text("\n".join(["    Matrix Eqn          Node    DOF     ", *names]))
    block = [f"NBLOCK,6,SOLID,{n + 10:10d},{n:10d}", "(3i9,6e21.13e3)"]
    for label, place in enumerate(points, start=11):
        kept = place[: 3 - int((np.cumsum(place[::-1] != 0.0) == 0).sum())]  # zeros at the end are left out
        block.append(
            f"{label:9d}{0:9d}{0:9d}" + "".join(f"{x:20.13E}".replace("E+", "E+0").replace("E-", "E-0") for x in kept)
        )
    ends = np.flatnonzero(points[:, 0] == 0.0) + 11, np.flatnonzero(points[:, 0] == points[:, 0].max()) + 11
    sets = []
    for name, own in zip(("ROOT", "TIP"), ends, strict=True):
        numbers = [own[0], -own[-1]] if own[-1] - own[0] == len(own) - 1 else list(own)
        sets += [f"CMBLOCK,{name:8s},NODE,{len(numbers):8d}", "(8i10)"]
        sets += ["".join(f"{k:10d}" for k in numbers[a : a + 8]) for a in range(0, len(numbers), 8)]
    files[3].write_text("\n".join(["/PREP7", *block, "N,R5.3,LOC,       -1,", *sets, "FINISH"]))
    return files[0], files[1], files[2], files[3]


def output4(path: Path, matrices: dict[str, csr_array], kind: str) -> Path:
    """Matrices as ``OUTPUT4`` of Nastran writes them: ``text`` or ``little`` or ``big`` ended, sparse, or full text.

    Numbers of ``short`` text are of one word, others of two; ``packed`` text, or records, have rows and lengths of
    strings in one word.
    """
    order, size = ">" if kind == "big" else "<", 1 if kind == "short" else 2
    packed = kind.startswith("packed")
    records: list[bytes] = []
    lines: list[str] = []

    def told(*numbers: int) -> None:
        lines.append("".join(f"{own:8d}" for own in numbers))

    def head(own: Array) -> list[int]:
        length, row = size * len(own) + 1, own[0] + 1
        return [row + 65536 * length] if packed else [length, row]

    def valued(values: Array) -> None:
        texts = [f"{own:23.16E}" for own in values]
        lines.extend("".join(texts[k : k + 3]) for k in range(0, len(texts), 3))

    for name, matrix in matrices.items():
        columns, n = csr_array(matrix).tocsc(), matrix.shape[0]
        long = n if kind == "full" or packed else -n
        lines.append(f"{n:8d}{long:8d}{6:8d}{size:8d}{name:8s}1P,3E23.16")
        records.append(np.array([n, long, 6, 2], f"{order}i4").tobytes() + f"{name:8s}".encode())
        for j in range(n):
            rows, dense = np.sort(columns.indices[columns.indptr[j] : columns.indptr[j + 1]]), columns[:, [j]].toarray()
            if not len(rows):
                continue
            if kind == "full":
                told(j + 1, rows[0] + 1, rows[-1] - rows[0] + 1)
                valued(dense[rows[0] : rows[-1] + 1, 0])
                continue
            strings = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
            words = sum(len(head(own)) + size * len(own) for own in strings)
            told(j + 1, 0, words)
            record = np.array([j + 1, 0, words], f"{order}i4").tobytes()
            for own in strings:
                told(*head(own))
                valued(dense[own, 0])
                record += np.array(head(own), f"{order}i4").tobytes()
                record += dense[own, 0].astype(f"{order}f8").tobytes()
            records.append(record)
        told(n + 1, 1, 1)
        valued(np.ones(1))
        records.append(np.array([n + 1, 1, 1], f"{order}i4").tobytes() + np.ones(1, f"{order}f8").tobytes())
    marks = [np.array([len(own)], f"{order}i4").tobytes() for own in records]
    binary = b"".join(mark + own + mark for mark, own in zip(marks, records, strict=True))
    path.write_bytes("\n".join(lines).encode() if kind in ("full", "text", "short", "packed text") else binary)
    return path
