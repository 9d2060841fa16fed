"""Stiffness and mass of a mesh of solids, by scikit-fem: quadratic tetrahedra and hexahedra, linear elastic.

Linear tetrahedra and hexahedra lock in bending: displacements are quadratic on whatever mesh, also on one with corners
alone. scikit-fem is an extra, ``pip install fem_mbs[solid]``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import block_array, coo_array, csr_array, kron

from fem_mbs.arrays import Array, IntArray, places_in
from fem_mbs.contracts import number, shown
from fem_mbs.elements.beams.line_mesh import named_cells, read_mesh
from fem_mbs.elements.flexible.matrices import Facets, SourceMesh, with_middles
from fem_mbs.errors import LOG, MissingPackageError, ModelError

CELLS = ("tetra", "tetra10", "hexahedron", "hexahedron20", "hexahedron27")
FACES = {"triangle": 3, "triangle6": 3, "quad": 4, "quad8": 4, "quad9": 4}
"""Corners of cells on a surface."""
AT = 1e-6
"""Distance of a node from that of the mesh, against its size, that is rounding of a file."""
ORDERS = {True: 4, False: 5}
"""Of polynomials that are integrated exactly, in tetrahedra or not."""
FLAT = 1e-10
"""Volume of a cell that has none, against the cube of its extent."""
LONG = 0.7
"""Share of the extent of a body over which a cell reaches that is too coarse for bending."""
CHUNK = 3_000_000
"""Numbers of cells that are worked on together."""
ROUND = (0, 4, 1, 5, 2, 6, 3, 7, 0)
HALVES = {6: ((0, 3, 5), (3, 1, 4), (5, 4, 2), (3, 4, 5)), 9: tuple((8, *ROUND[k : k + 2]) for k in range(8))}
"""Triangles by which a face of six or nine nodes is drawn."""


def _package() -> Any:
    try:
        import skfem
        import skfem.helpers
        import skfem.io.meshio
    except ImportError as error:
        raise MissingPackageError(
            "Reduction.solid needs scikit-fem; install it with pip install fem_mbs[solid]"
        ) from error
    return skfem


class SolidMesh(NamedTuple):
    """A mesh of meshio, in the words of which users speak of it."""

    points: Array
    cells: IntArray
    sets: dict[str, IntArray]
    """Cells by their numbers."""
    faces: dict[str, IntArray]
    """Faces by their numbers in scikit-fem."""
    nodes: dict[str, Array]
    """Nodes by their places."""

    def numbers(self, places: Array, nodes: IntArray) -> IntArray:
        """The node of each point, -1 of those of no cell, of nodes at ``places`` (n, 3) in cells ``nodes`` (e, k)."""
        result = np.full(len(self.points), -1)
        for some in _chunks(len(nodes), nodes.shape[1]):
            own, given = nodes[some], self.cells[some]
            apart = np.linalg.norm(places[own][:, None] - self.points[given][:, :, None], axis=-1)
            result[given] = np.take_along_axis(own, apart.argmin(axis=-1), axis=1)
        return result


def read(mesh: Any) -> tuple[Any, SolidMesh]:
    """A mesh of meshio as one of scikit-fem, or a :class:`ModelError`; and as it is."""
    skfem = _package()
    mesh = skfem.io.meshio.to_meshio(mesh) if isinstance(mesh, skfem.Mesh) else read_mesh(mesh, "Reduction.solid")
    kinds = {block.type for block in mesh.cells}
    solid = [kind for kind in kinds if kind.startswith(("tetra", "hexa", "wedge", "pyramid"))]
    if len(solid) != 1 or solid[0] not in CELLS:
        raise ModelError(
            f"Reduction.solid: the mesh must have solid cells of one kind of {', '.join(CELLS)}, it has "
            f"{', '.join(sorted(kinds)) or 'none'}; mesh the body with tetrahedra alone, as gmsh does, or let a solver "
            "that knows these cells write its matrices: Reduction.abaqus, .calculix, .nastran, .ansys"
        )
    kind, points, cells = solid[0], np.asarray(mesh.points, dtype=float), mesh.cells_dict[solid[0]]
    if points.shape[1:] != (3,):
        raise ModelError(f"Reduction.solid: points of the mesh must have three coordinates, received {points.shape}")
    corners = cells[:, : 4 if kind.startswith("tetra") else 8]
    used, own = np.unique(corners), (kind, points, cells)
    if corners.shape == cells.shape:  # scikit-fem numbers corners alone where there are others
        own = kind, points[used], np.searchsorted(used, cells)
    elif kind == "hexahedron20":
        own = "hexahedron27", *_with_middles(points, cells)
    data = {name: [values[kind]] for name, values in mesh.cell_data_dict.items() if kind in values}
    plain = type(mesh)(own[1], [(own[0], own[2])], cell_data=data)
    m = skfem.io.meshio.from_meshio(plain)
    inner, faces = dict(m.subdomains or {}), dict(m.boundaries or {})
    every = np.sort(m.facets, axis=0).T
    blocks = [k for k, block in enumerate(mesh.cells) if block.type == kind]
    starts = np.cumsum([0] + [len(mesh.cells[k].data) for k in blocks])
    for name, parts in named_cells(mesh).items():
        if len(rows := np.concatenate([parts[k] + start for k, start in zip(blocks, starts, strict=False)])):
            inner[name] = rows
        found = [
            block.data[rows, : FACES[block.type]]
            for block, rows in zip(mesh.cells, parts, strict=True)
            if block.type in FACES and len(rows)
        ]
        if found and found[0].shape[1] == every.shape[1]:
            wanted = np.sort(np.searchsorted(used, np.concatenate(found)), axis=1)
            alike = np.unique(np.concatenate([every, wanted]), axis=0, return_inverse=True)[1].ravel()
            place = np.full(len(every) + len(wanted), -1)
            place[alike[: len(every)]] = np.arange(len(every))
            rows = place[alike[len(every) :]]
            faces[name] = rows[rows >= 0]
    nodes = {name: points[np.asarray(rows, np.intp)] for name, rows in mesh.point_sets.items()}
    for tag, names in (vars(mesh).get("point_tags") or {}).items():  # of MED, whose families have several names
        own = points[mesh.point_data["point_tags"] == tag]
        nodes |= {name: np.concatenate([nodes.get(name, own[:0]), own]) for name in names}
    return m, SolidMesh(points, cells, inner, faces, nodes)


def _with_middles(points: Array, cells: IntArray) -> tuple[Array, IntArray]:
    """Hexahedra of 20 nodes with middles of faces and cells, which are where the shapes of the 20 have them."""
    four = np.array([(0, 3, 7, 4), (1, 2, 6, 5), (0, 1, 5, 4), (3, 2, 6, 7), (0, 1, 2, 3), (4, 5, 6, 7)])
    sides = np.array(
        [(11, 19, 15, 16), (9, 18, 13, 17), (8, 17, 12, 16), (10, 18, 14, 19), (8, 9, 10, 11), (12, 13, 14, 15)]
    )
    keys, first, face = np.unique(
        np.sort(cells[:, four].reshape(-1, 4), axis=1), axis=0, return_index=True, return_inverse=True
    )
    corners, middles = (cells[:, rows].reshape(-1, 4)[first] for rows in (four, sides))
    of_faces = 0.5 * points[middles].sum(axis=1) - 0.25 * points[corners].sum(axis=1)
    of_cells = 0.25 * (points[cells[:, 8:]].sum(axis=1) - points[cells[:, :8]].sum(axis=1))
    n = len(points)
    more = n + face.reshape(len(cells), 6), n + len(keys) + np.arange(len(cells))[:, None]
    return np.concatenate([points, of_faces, of_cells]), np.concatenate([cells, *more], axis=1)


def assembled(mesh: Any, E: Any, nu: Any, rho: Any) -> SourceMesh:
    """Matrices of a mesh, whose materials are numbers or dicts of these by the names of its sets of cells."""
    skfem = _package()
    m, given = read(mesh)
    cells = given.sets
    tets = m.t.shape[0] == 4
    scalar = skfem.ElementTetP2() if tets else skfem.ElementHex2()
    _refuse_cells(m, skfem.quadrature.get_quadrature(scalar, ORDERS[tets])[0])
    basis = skfem.Basis(m, scalar, intorder=ORDERS[tets])
    young, poisson, density = (
        _of_cells(value, name, cells, m.t.shape[1]) for value, name in ((E, "E"), (nu, "nu"), (rho, "rho"))
    )
    if not (-1.0 < poisson.min() and poisson.max() < 0.5):
        raise ModelError(f"Reduction.solid: nu must be above -1 and below 0.5, received {shown(nu)}")
    material = Material(young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson)), 0.5 * young / (1.0 + poisson))
    if np.ptp(m.p[:, m.t], axis=1).max() > LONG * np.ptp(m.p, axis=1).max():
        LOG.warning("Reduction.solid: a cell reaches over the body, which is stiffer by that than it is; mesh it finer")
    K, M = _matrices(basis, material, density)
    sets = {name: np.unique(basis.get_dofs(facets).all()) for name, facets in given.faces.items()}
    for name, own in cells.items():
        sets.setdefault(name, np.unique(basis.element_dofs[:, own]))
    faces = _faces(m, m.boundary_facets(), tets)
    triangles = np.concatenate([faces[:, list(part)] for part in HALVES[faces.shape[1]]])
    points = basis.doflocs.T
    for name, at in given.nodes.items():
        sets.setdefault(name, _nodes(at, points, faces))
    facets = _surface(skfem.FacetBasis(m, scalar, facets=m.boundary_facets(), intorder=4), faces)
    stress = Stress(m, scalar, material, basis.element_dofs.T)
    numbers = given.numbers(points, basis.element_dofs.T)
    sound = np.sqrt(young / density)
    return SourceMesh(
        points, K, M, None, sets, facets, triangles, stress, stress.geometric, numbers=numbers, sound=sound
    )


def _refuse_cells(m: Any, places: Array) -> None:
    """Refuse cells that stand twice in a mesh, and those without volume, or folded, at places in them ``(3, q)``."""
    order, same = np.unique(np.sort(m.t, axis=0), axis=1, return_inverse=True)
    if order.shape[1] < m.t.shape[1]:
        first, other = np.flatnonzero(same.ravel() == np.bincount(same.ravel()).argmax())[:2]
        raise ModelError(
            f"Reduction.solid: cells {first} and {other} of the mesh, counted from 0, have the same corners, and would "
            "count twice; leave one out"
        )
    corners = m.p[:, m.t]
    extents = np.ptp(corners, axis=1).max(axis=0)
    volumes = np.linalg.det(m.mapping().DF(places).transpose(2, 3, 0, 1))
    volumes = np.broadcast_to(volumes, (len(extents), places.shape[1])) * np.sign(volumes[:, :1])
    bad = np.flatnonzero(volumes.min(axis=1) <= FLAT * extents**3)
    if len(bad):
        x, y, z = corners[:, :, bad[0]].mean(axis=1)
        raise ModelError(
            f"Reduction.solid: cell {bad[0]} of the mesh, counted from 0, at ({x:.4g}, {y:.4g}, {z:.4g}), is flat or "
            f"folded, as {len(bad)} in all are; move its corners, or mesh the body anew"
        )


def _matrices(basis: Any, material: Material, density: Array) -> tuple[csr_array, csr_array]:
    """Stiffness and mass ``(3n, 3n)``, x, y, z of one node after the other."""
    skfem = _package()
    lame, shear, rho = (part[:, None] for part in (*material, density))

    def works(a: int, b: int) -> Any:
        """Forces along ``a`` of displacements along ``b``."""

        def of_slopes(u: Any, v: Any, _: Any) -> Any:
            alike = shear * skfem.helpers.dot(u.grad, v.grad) if a == b else 0.0
            return lame * u.grad[b] * v.grad[a] + shear * u.grad[a] * v.grad[b] + alike

        return skfem.BilinearForm(of_slopes).assemble(basis)

    upper = {(a, b): works(a, b) for a in range(3) for b in range(a, 3)}
    K = block_array([[upper[a, b] if a <= b else upper[b, a].T for b in range(3)] for a in range(3)], format="csr")
    M = skfem.BilinearForm(lambda u, v, _: rho * u * v).assemble(basis)
    one_by_one = np.arange(K.shape[0]).reshape(3, -1).T.ravel()
    return K[one_by_one][:, one_by_one], csr_array(kron(M, np.eye(3)))


def _chunks(cells: int, k: int) -> Iterator[slice]:
    """Some cells after others, whose arrays stay small."""
    size = max(1, CHUNK // k**2)
    return (slice(start, start + size) for start in range(0, cells, size))


def _nodes(at: Array, points: Array, faces: IntArray) -> IntArray:
    """Nodes at places ``(k, 3)``, and those within faces of the surface all of whose corners are among them."""
    from scipy.spatial import cKDTree  # which takes long to import

    near = cKDTree(at).query(points, distance_upper_bound=AT * float(np.ptp(points, axis=0).max()))[0]
    return np.flatnonzero(with_middles(np.isfinite(near), faces))


def _of_cells(value: Any, name: str, known: Mapping[str, IntArray], count: int) -> Array:
    """A property of each cell."""
    label = f"Reduction.solid: {name}"
    positive = name != "nu"
    if not isinstance(value, Mapping):
        return np.full(count, number(value, label, positive=positive))
    result = np.full(count, np.nan)
    for own, each in value.items():
        if own not in known:
            raise ModelError(
                f"{label}: the mesh has no set of cells {own!r}; it has {', '.join(map(repr, known)) or 'none'}"
            )
        each, cells = number(each, f"{label}[{own!r}]", positive=positive), known[own]
        unlike = cells[(result[cells] != each) & ~np.isnan(result[cells])]
        if len(unlike):
            raise ModelError(
                f"{label}: {len(unlike)} cells of {own!r}, as number {unlike[0]}, counted from 0, are in another of "
                "its sets with another value; sets of materials must not overlap"
            )
        result[cells] = each
    if np.isnan(result).any():
        raise ModelError(f"{label}: {int(np.isnan(result).sum())} cells are in none of {', '.join(map(repr, value))}")
    return result


def _faces(m: Any, facets: IntArray, tets: bool) -> IntArray:
    """Nodes ``(f, 6)`` or ``(f, 9)`` of faces: corners in turn, middles of edges, middle."""
    corners, vertices = m.facets[:, facets].T, m.nvertices
    keys = m.edges.min(axis=0).astype(np.int64) * vertices + m.edges.max(axis=0)
    edges = places_in(keys)

    def places(a: IntArray, b: IntArray) -> IntArray:
        return edges(np.minimum(a, b).astype(np.int64) * vertices + np.maximum(a, b))

    if not tets:
        # of the three other corners, the opposite one shares no edge with the first
        opposite = np.argmin([places(corners[:, 0], corners[:, k]) for k in (1, 2, 3)], axis=0)
        turns = np.array([[0, 2, 1, 3], [0, 1, 2, 3], [0, 1, 3, 2]])[opposite]
        corners = np.take_along_axis(corners, turns, axis=1)
    middles = places(corners, np.roll(corners, -1, axis=1))
    parts = [corners, vertices + middles]
    if not tets:
        parts.append((vertices + m.edges.shape[1] + facets)[:, None])
    return np.concatenate(parts, axis=1)


def _surface(basis: Any, faces: IntArray) -> Facets:
    """Faces of nodes ``(f, k)``: shares of the nodes in the area, as the diagonals of mass matrices, and pressures."""
    at = (basis.element_dofs.T[:, :, None] == faces[:, None]).argmax(axis=1)
    # of the shapes of cells, those of the nodes of the face
    every = np.stack([np.broadcast_to(own[0], basis.dx.shape) for own in basis.basis], axis=1)
    N = np.take_along_axis(every, at[:, :, None], axis=1)
    shares = np.vecdot(N**2, basis.dx[:, None])
    areas = shares * (basis.dx.sum(axis=1) / shares.sum(axis=1))[:, None]
    return Facets(faces, areas, N @ (np.asarray(basis.normals) * basis.dx).transpose(1, 2, 0))


class Material(NamedTuple):
    """Of each cell."""

    lame: Array
    shear: Array


class Stress(NamedTuple):
    """Stresses of nodes, ``C`` times the strain there: the mean of the cells that they belong to.

    Where materials meet, of those of the stiffest; a node of no cell bears none.
    """

    mesh: Any
    element: Any
    material: Material
    nodes: IntArray
    """Of cells, ``(cells, k)``."""

    def __call__(self, T: Array, kept: IntArray) -> Array:
        """Of displacements ``T`` (3n, K) at nodes ``kept`` (k,), ``(k, 6, K)``."""
        skfem, K = _package(), T.shape[1]
        row = np.full(len(T) // 3, -1)
        row[kept] = np.arange(len(kept))
        cells = np.flatnonzero((row[self.nodes] >= 0).any(axis=1))
        places = self.element.doflocs.T
        at = skfem.Basis(self.mesh, self.element, elements=cells, quadrature=(places, np.ones(places.shape[1])))
        result, k = np.zeros((len(kept), 6 * K)), self.nodes.shape[1]
        shear, stiffest = self.material.shear[cells][:, None], np.zeros(len(row))
        np.maximum.at(stiffest, self.nodes[cells], shear)
        rows = np.where(shear == stiffest[self.nodes[cells]], row[self.nodes[cells]], -1)
        for some in _chunks(len(cells), k * K):
            stress = self._stress(_gradients(at, some, self.nodes[cells[some]], T), cells[some])
            seen = rows[some].ravel()
            own = stress[:, :, [0, 1, 2, 1, 0, 0], [0, 1, 2, 2, 2, 1]].reshape(len(seen), -1)
            inside = np.flatnonzero(seen >= 0)
            places = seen[inside], inside
            result += csr_array(coo_array((np.ones(len(inside)), places), (len(kept), len(seen)))) @ own
        counts = np.bincount(rows.ravel() + 1, minlength=len(kept) + 1)[1:].clip(1)
        return (result / counts[:, None]).reshape(len(kept), 6, K)

    def _stress(self, grad: Array, cells: IntArray) -> Array:
        """Stresses ``(e, p, 3, 3, K)`` of gradients in cells."""
        strain = 0.5 * (grad + grad.swapaxes(2, 3))
        lame, shear = (part[cells][:, None, None, None] for part in self.material)
        stress: Array = 2.0 * shear[..., None] * strain
        stress[:, :, range(3), range(3)] += lame * np.trace(strain, axis1=2, axis2=3)[:, :, None]
        return stress

    def geometric(self, u: Array, T: Array, unit: float) -> Array:
        """``int stress_ab T_c,a T_c,b dV`` (L, K, K) of shapes ``T`` (3n, K) under the stress of each ``u`` (3n, L)."""
        at = _package().Basis(self.mesh, self.element, intorder=3 if self.nodes.shape[1] == 10 else 5)
        K, L = T.shape[1], u.shape[1]
        result = np.zeros((L, K, K))
        for some in _chunks(len(self.nodes), self.nodes.shape[1] * (K + L)):
            nodes = self.nodes[some]
            cells = np.arange(len(self.nodes))[some]
            stress = self._stress(_gradients(at, some, nodes, u), cells) * at.dx[some][:, :, None, None, None]
            # slopes (e p, a, c K)
            slopes = _gradients(at, some, nodes, T).swapaxes(2, 3).reshape(-1, 3, 3 * K)
            for case in range(L):
                pulled = stress[..., case].reshape(-1, 3, 3) @ slopes
                result[case] += slopes.reshape(-1, K).T @ pulled.reshape(-1, K)
        return unit * result


def _gradients(basis: Any, some: slice, nodes: IntArray, T: Array) -> Array:
    """Gradients ``(e, p, c, a, K)`` at points of cells with these ``nodes`` (e, k), of displacements ``T`` (3n, K)."""
    K, k = T.shape[1], nodes.shape[1]
    # slopes (e, p, a, i) of shapes of nodes, displacements (e, i, c K)
    slopes = np.stack([own[0].grad[:, some] for own in basis.basis], axis=-1).transpose(1, 2, 0, 3)
    grad = slopes.reshape(len(nodes), -1, k) @ T.reshape(-1, 3, K)[nodes].reshape(len(nodes), k, -1)
    return grad.reshape(len(nodes), -1, 3, 3, K).swapaxes(2, 3)
