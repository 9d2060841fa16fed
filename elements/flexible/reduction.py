"""A finite-element body in few numbers: stiffness, damping and the moments of its displacement field.

However the shapes were found, they are motions of interfaces and shapes that leave these at rest; what remains of a
mesh is ``T^T K T``, the moments of ``Psi = T`` over the mass (``inertia.py``), and displacements of what is to be seen
(docs/flexible.md).
"""

from __future__ import annotations

import time
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path as FilePath
from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from fem_mbs.arrays import Array, ArrayLike, IntArray
from fem_mbs.contracts import Path, Positive, Public, checked, choice, named_file, number, real
from fem_mbs.contracts.arguments import Index, shaped, writable
from fem_mbs.elements.flexible import matrices
from fem_mbs.elements.flexible.bases import HeldMesh, ReductionPlan, basis_of, sorted_modes
from fem_mbs.elements.flexible.cholesky import Cholesky
from fem_mbs.elements.flexible.floating_frame import carried
from fem_mbs.elements.flexible.free_mesh import UNITS, FreeMesh, Loads, nodal_forces, reduced_load, square
from fem_mbs.elements.flexible.inertia import (
    fields,
    mass_of,
    masses,
    mean_frame,
    moments_of,
    rigid_coordinates,
    symmetric,
    with_momenta,
)
from fem_mbs.elements.flexible.interfaces import (
    AttachedInterface,
    Interfaces,
    Recover,
    attach,
    constrained,
    placed,
    recovered_sets,
)
from fem_mbs.elements.flexible.matrices import Linear, SourceMesh
from fem_mbs.elements.flexible.nastran import nastran as read_nastran
from fem_mbs.elements.flexible.solid import assembled
from fem_mbs.elements.flexible.stiffening import CASES, second_order_forms
from fem_mbs.errors import LOG, ModelError
from fem_mbs.lie import so3

METHODS = ("craig-bampton", "guyan", "free")
UNLIKE = 1e-6
"""Share of the mass matrix that the moments of the field leave out, above which it is told."""
FREQUENCIES = (1e-3, 1e6)
"""Between which the first frequency of a body in Hz is likely."""
SLOW = 0.3
"""Lowest angular frequency times size in m/s that looks wrong: the speed of sound times how slender a body is."""
LARGE = 300.0
"""Size in m from which on points look like millimetres."""
SOUND = (10.0, 2e4)
"""Between which the speed of sound in a solid is likely, in m/s."""
DENSITIES, FLAT = (1e-3, 1e6), 1e-6
"""Between which kg/m^3 of a brick of its mass and inertia are likely, unless it is this thin."""


def _damping(value: Any, label: object) -> Any:
    """A ratio, or a matrix."""
    given = None if issparse(value) else real(value)
    return (
        square(value, label) if issparse(value) or given is not None and given.ndim else number(value, label, low=0.0)
    )


Square = Annotated[Any, square]
Damping = Annotated[Any, _damping]
Method = Annotated[str, choice(METHODS)]
Units = Annotated[str, choice(UNITS)]
Factors = Annotated[ArrayLike, shaped((2,), what="two numbers")]
Unknowns = Annotated[ArrayLike, shaped((None, 2), what="a node and 1 to 6 for each row")]
Points = Annotated[ArrayLike, shaped((None, 3), what="points (n, 3)")]


def _whole(given: Any, least: Any, most: Any, what: str) -> IntArray:
    """Rows of whole numbers within bounds, ``what`` says which, or a :class:`ModelError`."""
    rows = np.asarray(given)
    if (wrong := ((rows % 1 != 0) | (rows < least) | (rows > most)).any(axis=1)).any():
        received = ", ".join(f"{own:g}" for own in rows[wrong][0])
        raise ModelError(f"Reduction: {what} in each row, received {received} in row {int(wrong.argmax())}")
    return rows.astype(np.intp)


def _numbered(mesh: SourceMesh, dofs: Any, triangles: Any) -> SourceMesh:
    """A mesh with rows and faces that are given beside it."""
    last = len(mesh.points) - 1
    if dofs is not None:
        rows = _whole(dofs, (0, 1), (last, 6), f"dofs must be a node from 0 to {last} and 1 to 6")
        mesh = mesh._replace(dofs=rows - (0, 1))
    if triangles is not None:
        faces = _whole(triangles, 0, last, f"triangles must be three nodes from 0 to {last}")
        mesh = mesh._replace(triangles=faces)
    return mesh


class Skin(NamedTuple):
    """What is kept of a mesh to be seen: points, their shapes, stress, and the faces between them."""

    points: Array
    """``(k, 3)``, from the reference point of the body."""
    shapes: Array
    """Displacements ``(k, 3, K)`` of unit coordinates."""
    stress: Array
    """Stresses ``(k, 6, K)``: xx, yy, zz, yz, xz, xy; of no points if unknown."""
    triangles: IntArray
    """``(f, 3)``."""
    nodes: IntArray
    """Numbers ``(k,)`` in the mesh."""


NOTHING = Skin(
    np.zeros((0, 3)), np.zeros((0, 3, 0)), np.zeros((0, 6, 0)), np.zeros((0, 3), np.intp), np.zeros(0, np.intp)
)


@checked
class Reduction(Public):
    """A body reduced from the matrices of its finite elements, for :class:`FlexibleBody`.

    Parameters
    ----------
    points : (n, 3)
        Nodes of the mesh.
    stiffness, mass : (N, N)
        Matrices of the free body, sparse or dense: no supports.
    interfaces : dict of str to Interface
        What nodes of the model will hold on to.
    modes : int
        How many shapes beside the motions of interfaces; of the free body, for ``method="free"``, how many that deform.
    frequency : float, optional
        In Hz: in place of ``modes``, as many as are up to 1.5 times this one, the highest of interest.
    method : {"craig-bampton", "guyan", "free"}
        Modes with interfaces held, none, or those of the free body with the residual flexibility of the interfaces.
    damping : float or (N, N)
        Damping ratio of the free modes of the reduced body; or a damping matrix, sparse or dense.
    rayleigh : (2,), optional
        In place of it, factors of mass (of the deformation alone) and stiffness.
    dofs : (N, 2) of int, optional
        Node from 0, and 1 to 6, of each row of the matrices; by default x, y, z of one node after the other.
    units : {"SI", "mm-t-s"}
        Of points and matrices; the reduction has m, kg, s.
    recover : list of str, or dict of str to selection
        What is kept of the mesh to be asked for, beside its surface and the interfaces: sets by their names, or numbers
        of nodes, a box or a function of the points, as of interfaces, by names of your own.
    loads : dict of str to (n, 3) or selection
        Loads for :class:`MeshLoad`: forces on all nodes, N, or faces of a mesh of solids, on which a pressure of 1
        N/m^2 acts. Each gets a mode of its own, the static answer to it with interfaces held.
    geometric : function, optional
        Takes displacements of the mesh ``(N,)``, returns its geometric stiffness ``(N, N)`` under the stress of these:
        then the body stiffens as it turns, within itself too.
    triangles : (f, 3) of int, optional
        Faces to be drawn, by their nodes.
    solve : function, optional
        Takes a sparse positive definite matrix, returns a function that solves for columns ``(N, k)``.
    mesh : SourceMesh, optional
        What a source, as :meth:`solid`, knows beside matrices: sets, faces, stress.

    Attributes
    ----------
    names : tuple of str
        Interfaces, in order.
    center, places : (3,), (p, 3)
        The reference point, which is the mass centre, in the mesh, and the interfaces from there.
    stiffness, damping, rest : (K, K)
        Of coordinates: six of each interface, then the modes. ``rest`` is what of the mass no displacement has.
    moments : (4 + 3K, 4 + 3K)
        Of the functions ``1, X, Psi_1 ... Psi_K`` over the mass.
    second_order : (12, K, K) or (12 + 6p, K, K)
        Moments of displacements of second order, by which it stiffens as it turns; of none if they are unknown. Of
        several interfaces also forces on these, by which they come nearer as it bends.
    frequencies : (K - 6,)
        Of the free body in Hz, as reduced.
    lowest : float
        Lowest angular frequency with interfaces held, 0 without modes.
    sets, loads : tuple of str
        Sets that are kept, and loads.

    Raises
    ------
    ModelError
        If matrices do not fit, the body is held, masses are not positive, or an interface has no nodes.

    Notes
    -----
    Craig, Bampton (1968); Guyan (1965); Rubin (1975). :meth:`save` keeps it without the mesh.
    """

    remembers = False
    _internal = "stress_rows stiffens projection frame arrays of_arrays left_out rest kept loaded rows_at sound"

    def __init__(
        self,
        points: Points,
        stiffness: Square,
        mass: Square,
        interfaces: Interfaces,
        *,
        modes: Index = 8,
        frequency: Positive | None = None,
        method: Method = "craig-bampton",
        damping: Damping = 0.0,
        rayleigh: Factors | None = None,
        recover: Recover = (),
        loads: Loads | None = None,
        dofs: Unknowns | None = None,
        units: Units = "SI",
        triangles: Annotated[ArrayLike, shaped((None, 3), what="three nodes for each face")] | None = None,
        geometric: Callable[..., Any] | None = None,
        solve: Callable[..., Any] | None = None,
        mesh: SourceMesh | None = None,
    ) -> None:
        begin, points = time.perf_counter(), np.asarray(points)
        mesh = _numbered(mesh or SourceMesh(points, stiffness, mass), dofs, triangles)
        if rayleigh is not None and np.ndim(damping) == 0 and damping:
            raise ModelError("Reduction: rayleigh is in place of a damping ratio, received both")
        free = FreeMesh(points, stiffness, mass, mesh.dofs, units)
        self.sound = free.unit * np.unique(mesh.sound)
        for text in self._unlike_solids():  # before what may take long
            LOG.warning("Reduction: %s", text)
        given = placed(interfaces, mesh, free.turns)
        sets = recovered_sets(recover, mesh, given)
        forces = nodal_forces(loads, mesh, free.unit)
        given = [own._replace(point=free.unit * own.point) for own in given]
        parts, around = attach(given, free.points, free.dofs), np.concatenate([free.points, free.points[:1]])
        free.refuse_supports(free.K, "stiffness")
        if mesh.constraints is not None:
            parts = constrained(parts, mesh.constraints, given)
        solve = solve or partial(Cholesky, nodes=parts.nodes, points=around)
        held = HeldMesh(free, parts, free.ground(given, parts.rest), solve)
        LOG.info("Reduction: %d unknowns factorised after %.1f s", len(free.dofs), time.perf_counter() - begin)
        T = self._shapes(held, ReductionPlan(int(modes), frequency, method), free.loads(forces))
        LOG.info("Reduction: %d coordinates after %.1f s", T.shape[1], time.perf_counter() - begin)
        X, Y = self._inertia(free, given, T)
        pulled = mesh.geometric and partial(mesh.geometric, unit=free.stress_unit * free.unit)
        pulled = pulled if geometric is None else partial(free.geometric, geometric)
        none = np.zeros((0, *self.stiffness.shape))
        self.second_order = second_order_forms(held, self.center, T, given, pulled) if pulled else none
        by_unknowns = damping if np.ndim(damping) else mesh.damping if not damping and rayleigh is None else None
        self._settle(0.0 if np.ndim(damping) else float(damping), rayleigh, free.damping(by_unknowns, T))
        stress = mesh.stress and (lambda kept: mesh.stress(T, kept) * free.stress_unit)
        self._keep(X, Y, mesh.triangles, sets, stress)
        self.loaded = {name: reduced_load(own, X, Y) for name, own in forces.items()}

    def _shapes(self, held: HeldMesh, plan: ReductionPlan, loads: Array) -> Array:
        """Of the mesh ``(N, K)``; and their stiffness."""
        basis, self.left_out = basis_of(held, plan, loads)
        omega, inner = sorted_modes(basis.modes, held)
        self.lowest = float(omega[0]) if len(omega) else 0.0
        T = np.concatenate([basis.interfaces, inner], axis=1)
        self.stiffness = symmetric(T.T @ (held.K @ T))
        return np.asarray(held.rest @ T)

    def _inertia(self, free: FreeMesh, given: Sequence[AttachedInterface], T: Array) -> tuple[Array, Array]:
        """Nodes ``X`` (n, 3) from the reference point and shapes ``Y`` (n, 3, K); and their moments over the mass."""
        mass = masses(free.M, free.dofs, len(free.points))
        # a unit velocity has the moment of momentum m skew(center)
        momenta = free.rigid.T @ (free.M @ free.rigid)
        self.center = free.points.mean(axis=0) + so3.axial(momenta[3:, :3]) / momenta[0, 0]
        X, (Y, theta) = free.points - self.center, fields(T, free.dofs, len(free.points))
        self.frame, self.size = "mean", float(np.ptp(free.points, axis=0).max())
        self.names = tuple(own.name for own in given)
        self.places = np.array([own.point for own in given]) - self.center
        R = carried(X)[free.dofs[:, 0], free.dofs[:, 1]]
        moving = free.M @ np.concatenate([R, T], axis=1)
        self.moments = with_momenta(moments_of(mass, X, Y, theta), R.T @ moving)
        whole = T.T @ moving[:, 6:]
        self.rest = symmetric(whole - mass_of(self.moments))
        if np.abs(self.rest).max() < 1e-12 * np.abs(whole).max():
            self.rest = np.zeros_like(self.rest)
        return X, Y

    def _keep(self, X: Array, Y: Array, faces: IntArray, sets: Mapping[str, IntArray], stress: Any) -> None:
        """Of the mesh, with nodes ``X`` (n, 3) and shapes ``Y`` (n, 3, K): its faces, and sets."""
        kept = np.unique(np.concatenate([faces.ravel(), *sets.values()]))
        number = np.zeros(len(X), np.intp)
        number[kept] = np.arange(len(kept))
        known = NOTHING.stress if stress is None else stress(kept)
        self.surface = Skin(X[kept], Y[kept], known, number[faces], kept)
        self.kept = {"skin": np.unique(self.surface.triangles)} | {name: number[own] for name, own in sets.items()}

    @classmethod
    @checked
    def solid(
        cls, mesh: Any, E: Any, nu: Any, rho: Any, interfaces: Interfaces, *, stiffening: bool = False, **options: Any
    ) -> Reduction:
        """A body of a mesh of solids: linear elastic, quadratic displacements, by scikit-fem (extra ``solid``).

        Parameters
        ----------
        mesh : str, Path, meshio.Mesh or skfem.Mesh
            Tetrahedra (``tetra``, ``tetra10``) or hexahedra (``hexahedron``, ``hexahedron20``, ``hexahedron27``).
        E, nu, rho : float or dict of str to float
            Young's modulus, Poisson's ratio, density; dicts have one for each named set of cells, several materials.
        interfaces : dict of str to Interface
            Named sets of faces, cells or nodes, numbers of its points, boxes, functions; middles of whole faces belong
            to them, also of a mesh of corners alone.
        stiffening : bool
            Whether stress of inertia and weight stiffens it within itself, as of a blade that turns fast.
        options
            ``modes``, ``frequency``, ``method``, ``damping``, ``rayleigh``, ``recover``, ``loads``, ``units`` and
            ``solve`` of the class.
        """
        own = assembled(mesh, E, nu, rho)
        return cls._of(own if stiffening else own._replace(geometric=None), interfaces, options)

    @classmethod
    @checked
    def abaqus(cls, stiffness: Path, mass: Path, deck: Path, interfaces: Interfaces, **options: Any) -> Reduction:
        """A body of matrices that Abaqus wrote by ``*MATRIX GENERATE`` as text, in either form.

        Parameters
        ----------
        stiffness, mass : str or Path
            Files of ``*MATRIX OUTPUT, FORMAT=MATRIX INPUT`` or ``COORDINATE``.
        deck : str or Path
            The input file, for ``*NODE`` and ``*NSET``, whose names, in capitals, are sets for interfaces.
        interfaces : dict of str to Interface
            Nodes are numbered from 0 in the order of the input file.
        options
            As for :meth:`solid`.
        """
        return cls._of(matrices.abaqus(FilePath(stiffness), FilePath(mass), FilePath(deck)), interfaces, options)

    @classmethod
    @checked
    def calculix(
        cls, stiffness: Path, mass: Path, unknowns: Path, deck: Path, interfaces: Interfaces, **options: Any
    ) -> Reduction:
        """A body of matrices that CalculiX wrote by ``*FREQUENCY, SOLVER=MATRIXSTORAGE``, without supports.

        Parameters
        ----------
        stiffness, mass, unknowns : str or Path
            Its files ``.sti``, ``.mas`` and ``.dof``.
        deck : str or Path
            The input file, as for :meth:`abaqus`.
        interfaces, options
            As for :meth:`abaqus`.
        """
        files = (FilePath(own) for own in (stiffness, mass, unknowns, deck))
        return cls._of(matrices.calculix(*files), interfaces, options)

    @classmethod
    @checked
    def nastran(cls, matrices: Path, bulk: Path, interfaces: Interfaces, **options: Any) -> Reduction:
        """A body of matrices that Nastran wrote as ``DMIG``, ``PARAM,EXTOUT,DMIGPCH``, or by ``OUTPUT4``.

        Parameters
        ----------
        matrices : str or Path
            The punch file, with ``KAAX`` and ``MAAX``; or a file ``.op4`` with one matrix whose name begins with K and
            one with M, text or binary, rows being those of ``dofs=`` or three or six of every node, by its number.
        bulk : str or Path
            The input file, for ``GRID``, all in the basic coordinate system.
        interfaces : dict of str to Interface
            Nodes are numbered from 0 in the order of the input file.
        options
            As for :meth:`solid`; and ``dofs`` for a file ``.op4``, by numbers of nodes from 0.
        """
        own = read_nastran(FilePath(matrices), FilePath(bulk), options.get("dofs"))
        return cls._of(own, interfaces, options)

    @classmethod
    @checked
    def ansys(
        cls, stiffness: Path, mass: Path, mapping: Path, nodes: Path, interfaces: Interfaces, **options: Any
    ) -> Reduction:
        """A body of matrices that Ansys wrote by ``HBMAT`` as text, without supports.

        Parameters
        ----------
        stiffness, mass : str or Path
            Files of ``HBMAT,K,matrix,,ASCII,STIFF,NO,YES`` and ``HBMAT,M,matrix,,ASCII,MASS,NO,YES``.
        mapping : str or Path
            Which node and direction each row belongs to, of either: ``K.mapping``.
        nodes : str or Path
            A file of ``CDWRITE``, for ``NBLOCK`` and ``CMBLOCK``, whose names are sets for interfaces.
        interfaces, options
            As for :meth:`abaqus`.
        """
        files = (FilePath(own) for own in (stiffness, mass, mapping, nodes))
        return cls._of(matrices.ansys(*files), interfaces, options)

    @classmethod
    @checked
    def model(cls, linear: Linear, interfaces: Interfaces, **options: Any) -> Reduction:
        """A part of a model at rest, beams, shells and bodies with joints between them, as one body.

        Parameters
        ----------
        linear : LinearModel
            Its equations, ``mbs.linearize(part)``, of a free part without weight; its joints hold, its damping damps.
        interfaces : list of Node, or dict of str to Node or Interface
            Nodes of the part; also by names, ``Interface.rigid("tip")``, or numbers from 0 in the order of the part.
        options
            As for :meth:`solid`.
        """
        return cls._of(matrices.of_model(linear), interfaces, options)

    @classmethod
    def _of(cls, mesh: SourceMesh, interfaces: Any, options: dict[str, Any]) -> Reduction:
        if mesh.dofs is not None and options.get("dofs") is not None:
            raise ModelError("Reduction: dofs: these files name the node and direction of each row")
        return cls(mesh.points, mesh.K, mesh.M, interfaces, mesh=mesh, **options)

    def _settle(self, ratio: float, rayleigh: Any, damping: Array) -> None:
        """The frame, checks, and damping beside what is given."""
        K = len(self.stiffness)
        R = rigid_coordinates(self.places, K)
        # what is left is rounding of the mesh: forces of a rigid motion are none
        off = np.eye(K) - R @ np.linalg.pinv(R)
        self.stiffness = symmetric(off.T @ self.stiffness @ off)
        if len(self.second_order) > CASES:
            ends = 6 * len(self.places)
            self.second_order[CASES:] = np.tensordot(off[:ends, :ends].T, self.second_order[CASES:], 1)
        self.damping = symmetric(off.T @ damping @ off)
        omega, shapes, M = self._free()
        self.projection = mean_frame(self.moments, self.places, self.size)
        if rayleigh is not None:
            alpha, beta = np.asarray(rayleigh, dtype=float)
            deforms = np.eye(K) - R @ self.projection
            self.damping += alpha * deforms.T @ M @ deforms + beta * self.stiffness
        elif ratio:
            momenta = M @ shapes
            self.damping = symmetric((momenta * (2.0 * ratio * omega)) @ momenta.T)

    def _free(self) -> tuple[Array, Array, Array]:
        """Angular frequencies and modes of the free body that deform it, and the mass matrix."""
        from scipy.linalg import eigh  # which takes long to import

        M = mass_of(self.moments) + self.rest
        units = np.sqrt(np.abs(np.diag(M)))
        units[units == 0.0] = 1.0
        try:
            squares, shapes = eigh(self.stiffness / np.outer(units, units), M / np.outer(units, units))
        except np.linalg.LinAlgError:
            raise ModelError(
                "Reduction: the masses are not positive: a motion of interfaces and modes moves no mass; look at the "
                "mass matrix, its density and units"
            ) from None
        return np.sqrt(np.maximum(squares[6:], 0.0)), shapes[:, 6:] / units[:, None], M

    @property
    def sets(self) -> tuple[str, ...]:
        """Names of what is kept of the mesh."""
        return tuple(self.kept)

    @property
    def loads(self) -> tuple[str, ...]:
        """Names of loads on the mesh."""
        return tuple(self.loaded)

    def rows_at(self, where: Any, label: str) -> Any:
        """Rows of the surface: of a set ``(k,)``, or one, next to a point of the mesh; or a :class:`ModelError`."""
        known = ", ".join(self.kept)
        if isinstance(where, str):
            if where not in self.kept:
                raise ModelError(f"{label}: where: {self!r} keeps no set '{where}' but {known}; name it in recover=")
            return self.kept[where]
        apart = np.linalg.norm(self.surface.points + self.center - where, axis=1)
        near, skin, spacing = int(np.argmin(apart)) if len(apart) else -1, self.surface, 0.0
        if near >= 0:  # of those beside it on the surface, or what is rounding of input
            beside = skin.points[skin.triangles[(skin.triangles == near).any(axis=1)]].reshape(-1, 3)
            spacing = np.linalg.norm(beside - skin.points[near], axis=1).max(initial=1e-6 * self.size)
        if near < 0 or apart[near] > spacing:
            raise ModelError(
                f"{label}: {self!r} keeps no point of the mesh near {where} but {known}; name those nodes in recover="
            )
        return near

    def stress_rows(self, points: Any) -> Array:
        """Stresses ``(k, 6, K)`` of unit coordinates at some points of its surface, or a :class:`ModelError`."""
        if not len(self.surface.stress):
            raise ModelError(f"{self!r} knows no stresses; Reduction.solid does")
        return self.surface.stress[points]

    @property
    def frequencies(self) -> Array:
        """Of the free body in Hz, as reduced, lowest first."""
        return self._free()[0] / (2.0 * np.pi)

    @property
    def mass(self) -> float:
        """In kg."""
        return float(self.moments[0, 0])

    @property
    def inertia(self) -> Array:
        """About the mass centre of the undeformed body, ``(3, 3)``, axes of the mesh."""
        W = self.moments[1:4, 1:4]
        return np.trace(W) * np.eye(3) - W

    @property
    def modes(self) -> int:
        """How many amplitudes there are beside the interfaces."""
        return len(self.stiffness) - 6 * len(self.names)

    @property
    def stiffens(self) -> float:
        """Lowest angular frequency with interfaces held, by which spin is measured; infinite if nothing is missing."""
        whole = len(self.second_order) > (CASES if len(self.names) > 1 else 0)
        return np.inf if whole else self.lowest or self.left_out or np.inf

    def doubts(self) -> Iterable[str]:
        """What looks wrong of it, a sentence each."""
        yield from self._unlike_solids()
        lost = float(np.abs(self.rest).max() / np.abs(mass_of(self.moments)).max())
        if lost > UNLIKE and self.frame == "mean":
            yield f"{lost:.2g} of its mass matrix belongs to no displacement of nodes; its gyroscopic forces lack that"
        if self.size > LARGE:
            yield f"its mesh extends over {self.size:.3g} m; look at units= and whether its points are in mm"
        frequencies = self.frequencies
        if len(frequencies) and not FREQUENCIES[0] < frequencies[0] < FREQUENCIES[1]:
            yield f"its first frequency is {frequencies[0]:.3g} Hz; look at the units of stiffness, mass and points"
        elif len(frequencies) and 2.0 * np.pi * frequencies[0] * self.size < SLOW:
            yield (
                f"its first frequency is {frequencies[0]:.3g} Hz at a size of {self.size:.3g} m, as that of no "
                "solid; look at the units of Young's modulus, steel has 2.1e11 N/m^2, and of the density"
            )
        edges = np.sqrt(12.0 * np.maximum(np.linalg.eigvalsh(self.moments[1:4, 1:4]), 0.0) / self.mass)
        density = self.mass / float(edges.prod()) if edges[0] > FLAT * edges[2] else DENSITIES[0]
        if not DENSITIES[0] <= density <= DENSITIES[1]:
            yield f"a brick of its mass and inertia has {density:.2g} kg/m^3; look at units= and the density"

    def _unlike_solids(self) -> Iterable[str]:
        """Units that do not fit, by the speed of sound."""
        if (wrong := self.sound[(self.sound < SOUND[0]) | (self.sound > SOUND[1])]).size:
            yield (
                f"sound goes at sqrt(E / rho) = {wrong[0]:.2g} m/s in it, as in no solid, 5200 in steel, 40 in rubber; "
                "look at units= and those of E, rho and the points"
            )

    @checked
    def save(self, path: Path) -> None:
        """Write it to a file ``.npz``, without the mesh."""
        arrays: dict[str, Any] = self.arrays()
        file = writable(named_file(FilePath(path), ".npz", "Reduction.save: path"), "Reduction.save: ")
        np.savez_compressed(file, **arrays)

    @classmethod
    @checked
    def load(cls, path: Path) -> Reduction:
        """Read what :meth:`save` wrote."""
        file = named_file(FilePath(path), ".npz", "Reduction.load: path")
        try:
            with np.load(file, allow_pickle=False) as content:
                return cls.of_arrays({name: content[name] for name in content.files})
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise ModelError(f"Reduction.load: '{file}' cannot be read as a reduction: {error}") from error

    def arrays(self) -> dict[str, Array]:
        """All that it is, by name."""
        plain = {name: np.asarray(getattr(self, name)) for name in (*KEPT, "sound")}
        plain |= {"names": np.array(self.names), **{f"surface_{k}": v for k, v in self.surface._asdict().items()}}
        plain |= {f"set:{name}": rows for name, rows in self.kept.items()}
        return plain | {f"load:{name}": own for name, own in self.loaded.items()}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Array]) -> Reduction:
        """The same again."""
        self: Reduction = object.__new__(cls)
        for name in KEPT:
            value = arrays[name]
            setattr(self, name, value if value.ndim else value.item())
        self.names, self.sound = tuple(map(str, arrays["names"])), arrays.get("sound", np.zeros(0))
        kept: Any = [arrays[f"surface_{name}"] for name in Skin._fields]
        self.surface = Skin(*kept)
        self.kept = {name[4:]: own.astype(np.intp) for name, own in arrays.items() if name.startswith("set:")}
        self.loaded = {name[5:]: own.reshape(-1, 3) for name, own in arrays.items() if name.startswith("load:")}
        return self

    def __str__(self) -> str:
        kept = ", ".join(f"{value:.4g}" for value in self.frequencies[:6])
        out = f", the first left out with interfaces held {self.left_out / (2 * np.pi):.4g} Hz" if self.left_out else ""
        center, inertia = (self.center / self.size).round(9) * self.size, np.linalg.eigvalsh(self.inertia)
        middle, principal = (", ".join(f"{value + 0.0:.5g}" for value in values) for values in (center, inertia))
        return (
            f"{self!r}: {self.mass:.6g} kg, mass centre ({middle}) m, principal moments of inertia ({principal}) "
            f"kg m^2, {self.size:.4g} m large; free frequencies {kept} Hz{out}"
        )

    def __repr__(self) -> str:
        return f"Reduction to {', '.join(self.names)} and {self.modes} modes"


KEPT = (
    *("center", "places", "stiffness", "damping", "rest", "moments", "second_order", "projection"),
    *("frame", "lowest", "left_out", "size"),
)


def given_shapes(moments: Array, stiffness: Array, damping: Array, mass: Array) -> Reduction:
    """A reduction to one node, whose frame is that of the body, of modes of which only the mass matrix is known."""
    kept: dict[str, Any] = dict(
        stiffness=stiffness, damping=damping, rest=mass, moments=moments, frame="node", size=1.0
    )
    kept["second_order"] = np.zeros((0, *stiffness.shape))
    kept |= dict(center=np.zeros(3), places=np.zeros((1, 3)), projection=np.eye(6, len(mass)), lowest=0.0, left_out=0.0)
    surface = {f"surface_{k}": v for k, v in NOTHING._asdict().items()}
    arrays = {name: np.asarray(value) for name, value in kept.items()}
    return Reduction.of_arrays(arrays | {"names": np.array(["node"])} | surface)
