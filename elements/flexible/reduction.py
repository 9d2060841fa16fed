"""A finite-element body in few numbers: stiffness, damping and the moments of its displacement field.

However the shapes were found, they are motions of interfaces and shapes that leave these at rest; what remains of a
mesh is ``T^T K T``, the moments of ``Psi = T`` over the mass (``inertia.py``), and displacements of what is to be seen
(docs/flexible.md).
"""

from __future__ import annotations

import logging
import time
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csc_array, csr_array, diags_array, issparse

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import (
    Index,
    NotNegative,
    Path,
    Positive,
    Public,
    array,
    checked,
    choice,
    named_file,
    shaped,
    shown,
    so3,
)
from fem_mbs.elements.flexible.bases import HeldMesh, ReducedBasis, explicit, sorted_modes
from fem_mbs.elements.flexible.floating_frame import carried
from fem_mbs.elements.flexible.interfaces import (
    AttachedInterface,
    Facets,
    Interface,
    Interfaces,
    attach,
    placed,
    rigid_motion,
)
from fem_mbs.elements.flexible.matrices import abaqus as read_abaqus_model
from fem_mbs.elements.flexible.matrices import matrix_market
from fem_mbs.elements.flexible.solid import assembled
from fem_mbs.errors import ModelError

LOG = logging.getLogger("fem_mbs")
METHODS = ("craig-bampton", "guyan", "free")
UNITS = {"SI": (1.0, 1.0), "mm-t-s": (1e-3, 1e3)}
"""Length and mass in m and kg."""
HELD = 1e-6
"""Work of a rigid motion, against that of the stiffness, that says that the mesh is not free."""
UNLIKE = 1e-6
"""Share of the mass matrix that the moments of the field leave out, above which it is told."""
SINGULAR = 1e-10
"""Smallest inertia, against the largest, in units of mass and size, that settles a mean frame."""
TWICE = 2
FREQUENCIES = (1e-3, 1e6)
"""Between which the first frequency of a body in Hz is likely."""
SEARCH = 12
"""Modes that are looked for at first, if a frequency says how many there are to be."""


def _square(value: Any, label: object) -> Any:
    """A square matrix, dense or sparse."""
    if not issparse(value):
        return array(value, label, (None, None), what="a square matrix, dense or of scipy.sparse")
    if value.ndim != 2 or value.shape[0] != value.shape[1] or value.dtype.kind not in "fiu":
        raise ModelError(f"{label} must be a square matrix of real numbers, received {shown(value)}")
    return value


Square = Annotated[Any, _square]
Method = Annotated[str, choice(METHODS)]
Units = Annotated[str, choice(UNITS)]
Factors = Annotated[ArrayLike, shaped((2,), what="two numbers")]
Unknowns = Annotated[ArrayLike, shaped((None, 2), what="a node and 1 to 6 for each row")]
Points = Annotated[ArrayLike, shaped((None, 3), what="points (n, 3)")]


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


class SourceMesh(NamedTuple):
    """What a source tells beside ``K`` and ``M``."""

    sets: Mapping[str, IntArray] = {}
    facets: Facets | None = None
    triangles: IntArray = np.zeros((0, 3), np.intp)
    stress: Any = None
    """Function of displacements ``(3n, K)`` and nodes ``(k,)``: stresses ``(k, 6, K)``."""


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
    damping : float
        Damping ratio of the free modes of the reduced body.
    rayleigh : (2,), optional
        In place of it, factors of mass (of the deformation alone) and stiffness.
    dofs : (N, 2) of int, optional
        Node from 0, and 1 to 6, of each row of the matrices; by default x, y, z of one node after the other.
    units : {"SI", "mm-t-s"}
        Of points and matrices; the reduction has m, kg, s.
    triangles : (f, 3) of int, optional
        Faces to be drawn, by their nodes.
    solve : function, optional
        Takes a sparse positive definite matrix, returns a function that solves for columns ``(N, k)``.

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
    frequencies : (K - 6,)
        Of the free body in Hz, as reduced.
    lowest : float
        Lowest angular frequency with interfaces held, 0 without modes.

    Raises
    ------
    ModelError
        If matrices do not fit, the body is held, masses are not positive, or an interface has no nodes.

    Notes
    -----
    Craig, Bampton (1968); Guyan (1965); Rubin (1975). :meth:`save` keeps it without the mesh.
    """

    remembers = False
    names: tuple[str, ...]
    center: Array
    places: Array
    stiffness: Array
    damping: Array
    rest: Array
    moments: Array
    projection: Array
    frame: str
    surface: Skin
    lowest: float
    left_out: float
    size: float
    _internal = ("stress_rows", "projection", "frame", "arrays", "of_arrays", "left_out", "rest")

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
        damping: NotNegative = 0.0,
        rayleigh: Factors | None = None,
        dofs: Unknowns | None = None,
        units: Units = "SI",
        triangles: Annotated[ArrayLike, shaped((None, 3), what="three nodes for each face")] | None = None,
        solve: Callable[..., Any] | None = None,
    ) -> None:
        faces = NOTHING.triangles if triangles is None else np.asarray(triangles).astype(np.intp)
        own: IntArray | None = None if dofs is None else np.asarray(dofs).astype(np.intp) - np.array([0, 1])
        plan = ReductionPlan(int(modes), frequency, method, float(damping), rayleigh, units, solve)
        self._reduce(np.asarray(points), stiffness, mass, own, interfaces, plan, SourceMesh(triangles=faces))

    @classmethod
    @checked
    def solid(
        cls,
        mesh: Any,
        E: Any,
        nu: Any,
        rho: Any,
        interfaces: Interfaces,
        *,
        modes: Index = 8,
        frequency: Positive | None = None,
        method: Method = "craig-bampton",
        damping: NotNegative = 0.0,
        rayleigh: Factors | None = None,
        units: Units = "SI",
        solve: Callable[..., Any] | None = None,
    ) -> Reduction:
        """A body of a mesh of solids: linear elastic, quadratic displacements, by scikit-fem (extra ``solid``).

        Parameters
        ----------
        mesh : str, Path or meshio.Mesh
            Tetrahedra (``tetra``, ``tetra10``) or hexahedra (``hexahedron``, ``hexahedron27``).
        E, nu, rho : float or dict of str to float
            Young's modulus, Poisson's ratio, density; dicts have one for each named set of cells, several materials.
        interfaces : dict of str to Interface
            Named sets of faces or cells, boxes, functions; numbers count vertices first, then middles.

        Other parameters are those of the class.
        """
        own, plan = (
            assembled(mesh, E, nu, rho),
            ReductionPlan(int(modes), frequency, method, float(damping), rayleigh, units, solve),
        )
        kept = SourceMesh(own.sets, own.facets, own.triangles, own.stress)
        return cls._of_mesh(own.points, own.K, own.M, None, interfaces, plan, kept)

    @classmethod
    @checked
    def abaqus(
        cls,
        stiffness: Path,
        mass: Path,
        deck: Path,
        interfaces: Interfaces,
        *,
        modes: Index = 8,
        frequency: Positive | None = None,
        method: Method = "craig-bampton",
        damping: NotNegative = 0.0,
        rayleigh: Factors | None = None,
        units: Units = "SI",
        solve: Callable[..., Any] | None = None,
    ) -> Reduction:
        """A body of matrices that Abaqus wrote by ``*MATRIX GENERATE`` as text, in either form.

        Parameters
        ----------
        stiffness, mass : str or Path
            Files of ``*MATRIX OUTPUT, FORMAT=MATRIX INPUT`` or ``COORDINATE``.
        deck : str or Path
            The input file, for ``*NODE`` and ``*NSET``, whose names, in capitals, are sets for interfaces.
        interfaces : dict of str to Interface
            Nodes are numbered from 0 in the order of the input file.

        Other parameters are those of the class.
        """
        points, K, M, dofs, sets = read_abaqus_model(FilePath(stiffness), FilePath(mass), FilePath(deck))
        plan = ReductionPlan(int(modes), frequency, method, float(damping), rayleigh, units, solve)
        return cls._of_mesh(points, K, M, dofs, interfaces, plan, SourceMesh(sets))

    @classmethod
    @checked
    def matrix_market(
        cls,
        stiffness: Path,
        mass: Path,
        points: Points,
        interfaces: Interfaces,
        *,
        modes: Index = 8,
        frequency: Positive | None = None,
        method: Method = "craig-bampton",
        damping: NotNegative = 0.0,
        rayleigh: Factors | None = None,
        dofs: Unknowns | None = None,
        units: Units = "SI",
        solve: Callable[..., Any] | None = None,
    ) -> Reduction:
        """A body of two files ``.mtx`` of Matrix Market; all other parameters are those of the class."""
        K, M = matrix_market(FilePath(stiffness)), matrix_market(FilePath(mass))
        own: IntArray | None = None if dofs is None else np.asarray(dofs).astype(np.intp) - np.array([0, 1])
        plan = ReductionPlan(int(modes), frequency, method, float(damping), rayleigh, units, solve)
        return cls._of_mesh(np.asarray(points), K, M, own, interfaces, plan, SourceMesh())

    @classmethod
    def _of_mesh(
        cls,
        points: Array,
        K: Any,
        M: Any,
        dofs: IntArray | None,
        interfaces: Any,
        plan: ReductionPlan,
        mesh: SourceMesh,
    ) -> Reduction:
        self: Reduction = object.__new__(cls)
        self._reduce(points, K, M, dofs, interfaces, plan, mesh)
        return self

    def _reduce(
        self,
        points: Array,
        K: Any,
        M: Any,
        dofs: IntArray | None,
        interfaces: Any,
        plan: ReductionPlan,
        mesh: SourceMesh,
    ) -> None:
        label, begin = "Reduction", time.perf_counter()
        dofs = _all_translations(len(points)) if dofs is None else dofs
        K, M = (_matrix(part, name, len(dofs)) for part, name in ((K, "stiffness"), (M, "mass")))
        points, K, M = _in_si(points, K, M, dofs, plan.units)
        rotations = bool((dofs[:, 1] > 2).any())
        self.size = float(np.ptp(points, axis=0).max())
        given = placed(_in_m(interfaces, plan.units), points, mesh.sets, mesh.facets, label, rotations)
        parts = attach(given, points, dofs)
        held = HeldMesh(
            csc_array(parts.rest.T @ K @ parts.rest),
            csc_array(parts.rest.T @ M @ parts.rest),
            parts.seen,
            _ground(given, points, dofs, parts.rest),
            plan.solve,
        )
        _refuse_supports(K, rigid := _rigid(points, dofs), dofs)
        m, E, center = _masses(M, dofs, points)
        LOG.info("Reduction: %d unknowns factorised after %.1f s", len(dofs), time.perf_counter() - begin)
        basis, self.left_out = _basis(held, plan, rigid, parts.rest)
        omega, inner = sorted_modes(basis.modes, held.K, held.M)
        self.lowest = float(omega[0]) if len(omega) else 0.0
        T = np.concatenate([basis.interfaces, inner], axis=1)
        stiffness = T.T @ (held.K @ T)
        T = parts.rest @ T
        LOG.info("Reduction: %d coordinates after %.1f s", T.shape[1], time.perf_counter() - begin)
        Y, theta = _fields(T, dofs, len(points))
        self.names, self.center = tuple(own.name for own in given), center
        self.places = np.array([own.point for own in given]) - center
        self.moments = _moments(m, E, points - center, Y, theta)
        whole = T.T @ (M @ T)
        self.stiffness, self.rest = _symmetric(stiffness), _symmetric(whole - _trace(self.moments))
        if np.abs(self.rest).max() < 1e-12 * np.abs(whole).max():
            self.rest = np.zeros_like(self.rest)
        self.frame = "mean"
        self._settle(plan)
        kept = np.unique(mesh.triangles)
        number = np.zeros(len(points), np.intp)
        number[kept] = np.arange(len(kept))
        stress = NOTHING.stress if mesh.stress is None else mesh.stress(T, kept) * _stress_unit(plan.units)
        self.surface = Skin(points[kept] - center, Y[kept], stress, number[mesh.triangles], kept)

    def _settle(self, plan: ReductionPlan) -> None:
        """The frame, checks, and damping."""
        K = len(self.stiffness)
        R = rigid_coordinates(self.places, K)
        # what is left is rounding of the mesh: forces of a rigid motion are none
        off = np.eye(K) - R @ np.linalg.pinv(R)
        self.stiffness = _symmetric(off.T @ self.stiffness @ off)
        self.damping = np.zeros((K, K))
        self.projection = mean_frame(self.moments, self.places, self.size)
        omega, shapes, M = self._free()
        if plan.rayleigh is not None:
            alpha, beta = np.asarray(plan.rayleigh, dtype=float)
            deforms = np.eye(K) - R @ self.projection
            self.damping = alpha * deforms.T @ M @ deforms + beta * self.stiffness
        elif plan.damping:
            momenta = M @ shapes
            self.damping = _symmetric((momenta * (2.0 * plan.damping * omega)) @ momenta.T)

    def _free(self) -> tuple[Array, Array, Array]:
        """Angular frequencies and modes of the free body that deform it, and the mass matrix."""
        from scipy.linalg import eigh  # which takes long to import

        M = _trace(self.moments) + self.rest
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

    def stress_rows(self, points: Any) -> Array:
        """Stresses ``(k, 6, K)`` of unit coordinates at some points of its surface, or a :class:`ModelError`."""
        if not len(self.surface.stress):
            raise ModelError(f"{self!r} knows no stresses; Reduction.solid does")
        stress: Array = self.surface.stress[points]
        return stress

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
        result: Array = np.trace(W) * np.eye(3) - W
        return result

    @property
    def modes(self) -> int:
        """How many amplitudes there are beside the interfaces."""
        return len(self.stiffness) - 6 * len(self.names)

    def doubts(self) -> Iterable[str]:
        """What looks wrong of it, a sentence each."""
        lost = float(np.abs(self.rest).max() / np.abs(_trace(self.moments)).max())
        if lost > UNLIKE and self.frame == "mean":
            yield f"{lost:.2g} of its mass matrix belongs to no displacement of nodes; its gyroscopic forces lack that"
        frequencies = self.frequencies
        if len(frequencies) and not FREQUENCIES[0] < frequencies[0] < FREQUENCIES[1]:
            yield f"its first frequency is {frequencies[0]:.3g} Hz; look at the units of stiffness, mass and points"

    @checked
    def save(self, path: Path) -> None:
        """Write it to a file ``.npz``, without the mesh."""
        arrays: dict[str, Any] = self.arrays()
        np.savez_compressed(named_file(FilePath(path), ".npz", "Reduction.save"), **arrays)

    @classmethod
    @checked
    def load(cls, path: Path) -> Reduction:
        """Read what :meth:`save` wrote."""
        file = named_file(FilePath(path), ".npz", "Reduction.load")
        try:
            with np.load(file, allow_pickle=False) as content:
                return cls.of_arrays({name: content[name] for name in content.files})
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise ModelError(f"Reduction.load: '{file}' cannot be read as a reduction: {error}") from error

    def arrays(self) -> dict[str, Array]:
        """All that it is, by name."""
        plain = {name: np.asarray(getattr(self, name)) for name in KEPT}
        return plain | {"names": np.array(self.names), **{f"surface_{k}": v for k, v in self.surface._asdict().items()}}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Array]) -> Reduction:
        """The same again."""
        self: Reduction = object.__new__(cls)
        for name in KEPT:
            value = arrays[name]
            setattr(self, name, value if value.ndim else value.item())
        self.names = tuple(map(str, arrays["names"]))
        kept: Any = [arrays[f"surface_{name}"] for name in Skin._fields]
        self.surface = Skin(*kept)
        return self

    def __str__(self) -> str:
        kept = ", ".join(f"{value:.4g}" for value in self.frequencies[:6])
        out = f", the first left out with interfaces held {self.left_out / (2 * np.pi):.4g} Hz" if self.left_out else ""
        return (
            f"Reduction to {', '.join(self.names)} and {self.modes} modes: {self.mass:.6g} kg, mass centre "
            f"{self.center}, {self.size:.4g} m large; free frequencies {kept} Hz{out}"
        )

    def __repr__(self) -> str:
        return f"Reduction to {', '.join(self.names)} and {self.modes} modes"


KEPT = (
    *("center", "places", "stiffness", "damping", "rest", "moments", "projection"),
    *("frame", "lowest", "left_out", "size"),
)


class ReductionPlan(NamedTuple):
    """How a body is reduced."""

    modes: int = 8
    frequency: float | None = None
    method: str = "craig-bampton"
    damping: float = 0.0
    rayleigh: Any = None
    units: str = "SI"
    solve: Any = None


def _all_translations(n: int) -> IntArray:
    result: IntArray = np.stack([np.repeat(np.arange(n), 3), np.tile(np.arange(3), n)], axis=1)
    return result


def _matrix(given: Any, name: str, N: int) -> csr_array:
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
    largest = np.abs(result.data).max(initial=0.0)
    if largest == 0.0 or skew.nnz and skew.max() > 1e-9 * largest:
        raise ModelError(f"{label} must be a symmetric matrix that is not zero; a triangle alone is no matrix")
    diagonal = result.diagonal()
    if diagonal.max() > 1e20 * np.median(diagonal[diagonal > 0.0]):
        raise ModelError(f"{label} has entries of {diagonal.max():.3g} beside others: supports; give the free body")
    return csr_array(0.5 * (result + result.T))


def _in_si(points: Array, K: csr_array, M: csr_array, dofs: IntArray, units: str) -> tuple[Array, csr_array, csr_array]:
    if units == "SI":
        return points, K, M
    length, mass = UNITS[units]
    S = diags_array(np.where(dofs[:, 1] > 2, length, 1.0))
    return length * points, csr_array(mass * (S @ K @ S)), csr_array(mass * (S @ M @ S))


def _in_m(interfaces: Any, units: str) -> Any:
    """Interfaces whose points and boxes are in units of the mesh."""
    length = UNITS[units][0]
    if length == 1.0 or not isinstance(interfaces, Mapping):
        return interfaces

    def scaled(own: Interface) -> Interface:
        nodes = own.nodes
        if callable(nodes):
            return Interface(
                own.kind, lambda points, f=nodes: f(points / length), _times(own.point, length), own.weights
            )
        box = not isinstance(nodes, str) and np.shape(nodes) == (2, 3)
        return Interface(own.kind, np.asarray(nodes) * length if box else nodes, _times(own.point, length), own.weights)

    return {name: scaled(own) if isinstance(own, Interface) else own for name, own in interfaces.items()}


def _times(point: Array | None, length: float) -> Array | None:
    return None if point is None else point * length


def _stress_unit(units: str) -> float:
    length, mass = UNITS[units]
    return mass / length


def _ground(given: Sequence[AttachedInterface], points: Array, dofs: IntArray, rest: csr_array) -> IntArray:
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


def _rigid(points: Array, dofs: IntArray) -> Array:
    """Rigid motions ``(N, 6)`` of all unknowns."""
    result: Array = rigid_motion(points - points.mean(axis=0))[dofs[:, 0], dofs[:, 1]]
    return result


def _refuse_supports(K: csr_array, rigid: Array, dofs: IntArray) -> None:
    """Refuse a mesh that cannot move as a rigid body."""
    work, scale = np.abs(K @ rigid), np.abs(K) @ np.abs(rigid)
    shares = work / scale.max(axis=0)
    if shares.max() > HELD:
        row, column = np.unravel_index(int(np.argmax(shares)), shares.shape)
        raise ModelError(
            f"Reduction: the stiffness holds the body at node {dofs[row, 0]}: to move it as a whole "
            f"{('along', 'about')[column // 3]} {'xyz'[column % 3]} takes work; give the matrices without supports, "
            "springs to the ground and constraints"
        )


def _basis(held: HeldMesh, plan: ReductionPlan, rigid: Array, rest: csr_array) -> tuple[ReducedBasis, float]:
    """Shapes, and the first angular frequency left out, 0 if it is not known."""
    if plan.method == "free":
        # rigid motions in the unknowns without those of rigid interfaces, of unit mass
        reduced = (
            np.linalg.lstsq((rest.T @ rest).toarray(), rest.T @ rigid, rcond=None)[0] if rest.shape[1] < 500 else None
        )
        reduced = _solved(rest, rigid) if reduced is None else reduced
        reduced = reduced @ np.linalg.inv(np.linalg.cholesky(reduced.T @ (held.M @ reduced)).T)
        omega, Phi = _counted(lambda count: held.free_modes(count, reduced), plan, held)
        B = np.concatenate([reduced, Phi, held.residual_flexibility(reduced, Phi, omega)], axis=1)
        return explicit(B, held), 0.0
    Psi = held.constraint_modes()
    if plan.method == "guyan" or (plan.modes == 0 and plan.frequency is None):
        return ReducedBasis(Psi, np.zeros((len(Psi), 0))), float(held.fixed_modes(1)[0][0]) if len(Psi) > len(
            held.G.toarray()
        ) else 0.0
    room = held.K.shape[0] - held.G.shape[0]
    more = plan.frequency is None and plan.modes < room
    omega, Phi = _counted(held.fixed_modes, plan._replace(modes=plan.modes + more), held)
    if more:
        return ReducedBasis(Psi, Phi[:, :-1]), float(omega[-1])
    if plan.frequency is not None:
        kept = omega <= 1.5 * 2.0 * np.pi * plan.frequency
        return ReducedBasis(Psi, Phi[:, kept]), float(omega[~kept][0]) if not kept.all() else 0.0
    return ReducedBasis(Psi, Phi), 0.0


def _solved(rest: csr_array, rigid: Array) -> Array:
    from scipy.sparse.linalg import splu  # which takes long to import

    result: Array = splu(csc_array(rest.T @ rest)).solve(rest.T @ rigid)
    return result


def _counted(modes: Any, plan: ReductionPlan, held: HeldMesh) -> tuple[Array, Array]:
    if plan.frequency is None:
        return modes(plan.modes)  # type: ignore[no-any-return]
    count, most = SEARCH, held.K.shape[0] - held.G.shape[0]
    while True:
        omega, Phi = modes(min(count, most))
        if count >= most or omega[-1] > 1.5 * 2.0 * np.pi * plan.frequency:
            return omega, Phi
        count *= TWICE


def _fields(T: Array, dofs: IntArray, n: int) -> tuple[Array, Array | None]:
    """Displacements and rotations of nodes, ``(n, 3, K)`` each."""
    every = np.zeros((n, 6, T.shape[1]))
    every[dofs[:, 0], dofs[:, 1]] = T
    return every[:, :3], every[:, 3:] if (dofs[:, 1] > 2).any() else None


def _masses(M: csr_array, dofs: IntArray, points: Array) -> tuple[csr_array, csr_array | None, Array]:
    """Masses between nodes, ``E = tr J/2 I - J`` of rotary inertia between nodes, and the mass centre."""
    n = len(points)
    rows = np.full((n, 6), -1)
    rows[dofs[:, 0], dofs[:, 1]] = np.arange(len(dofs))
    if (rows[:, :3] < 0).any() and (rows[:, :3] >= 0).any(axis=1).any():
        node = int(np.flatnonzero((rows[:, :3] < 0).any(axis=1))[0])
        raise ModelError(
            f"Reduction: node {node} has not all of its three displacements in dofs: it is held; give the free body"
        )
    m = csr_array(sum(M[rows[:, a]][:, rows[:, a]] for a in range(3)) / 3.0)
    mass = np.asarray(m.sum(axis=1)).ravel()
    if not mass.sum() > 0.0:
        raise ModelError(f"Reduction: mass must be positive in sum, received {mass.sum():.6g} kg")
    center = mass @ points / mass.sum()
    turning = np.flatnonzero((rows[:, 3:] >= 0).all(axis=1))
    if not len(turning):
        return m, None, center
    J = M[rows[turning, 3:].ravel()][:, rows[turning, 3:].ravel()]
    trace = sum(J[a::3][:, a::3] for a in range(3))
    spread = csr_array((len(turning), n)) + csr_array(
        (np.ones(len(turning)), (np.arange(len(turning)), turning)), (len(turning), n)
    )
    from scipy.sparse import kron

    E = kron(0.5 * trace, np.eye(3)) - J
    wide = kron(spread, np.eye(3))
    return m, csr_array(wide.T @ E @ wide), center


def _moments(m: csr_array, E: csr_array | None, X: Array, Y: Array, theta: Array | None) -> Array:
    """Of ``1`` and all ``Psi_ja``, ``(4 + 3K, 4 + 3K)``."""
    n, K = len(X), Y.shape[2]
    F = np.concatenate([np.ones((n, 1)), X, Y.swapaxes(1, 2).reshape(n, 3 * K)], axis=1)
    result = F.T @ (m @ F)
    if E is not None and theta is not None:
        # a triad at each node, of which J is the inertia: N_0 = I, N_j = skew(theta_j)
        N = np.concatenate([np.broadcast_to(np.eye(3), (n, 1, 3, 3)), so3.skew(theta.swapaxes(1, 2))], axis=1)
        flat = N.transpose(0, 3, 1, 2).reshape(3 * n, 3 * (K + 1))
        result[1:, 1:] += flat.T @ (E @ flat)
    return _symmetric(result)


def _symmetric(matrix: Array) -> Array:
    return 0.5 * (matrix + matrix.T)


def _trace(moments: Array) -> Array:
    """``int Psi_j . Psi_k dm``, ``(K, K)``."""
    K = len(moments) // 3 - 1
    W = moments[4:, 4:].reshape(K, 3, K, 3)
    result: Array = np.einsum("jaka->jk", W)
    return result


def rigid_coordinates(places: Array, K: int) -> Array:
    """Rigid motions ``(K, 6)`` about the reference point in coordinates."""
    result = np.zeros((K, 6))
    result[: 6 * len(places)] = carried(places).reshape(-1, 6)
    return result


def mean_frame(moments: Array, places: Array, size: float) -> Array:
    """``P`` (6, K): the frame from which the deformation has no momentum."""
    K = len(moments) // 3 - 1
    W0 = moments[1:4, 4:].reshape(3, K, 3)
    momenta = np.concatenate([moments[0, 4:].reshape(K, 3).T, 2.0 * so3.axial(W0.transpose(1, 2, 0)).T])
    R = rigid_coordinates(places, K)
    units = np.repeat((1.0, size), 3) * np.sqrt(moments[0, 0])
    whole = momenta @ R
    if np.linalg.eigvalsh(_symmetric(whole / np.outer(units, units)))[0] < SINGULAR:
        # rods without rotary inertia: interfaces share in the mean, the inertia stays as it is
        share = moments[0, 0] / len(places) * np.diag((1.0, 1.0, 1.0, size**2, size**2, size**2))
        for i, own in enumerate(carried(places)):
            momenta[:, 6 * i : 6 * i + 6] += own.T @ share
        whole = momenta @ R
    result: Array = np.linalg.solve(whole, momenta)
    return result


def given_shapes(moments: Array, stiffness: Array, damping: Array, mass: Array) -> Reduction:
    """A reduction to one node, whose frame is that of the body, of modes of which only the mass matrix is known."""
    kept: dict[str, Any] = dict(
        stiffness=stiffness, damping=damping, rest=mass, moments=moments, frame="node", size=1.0
    )
    kept |= dict(center=np.zeros(3), places=np.zeros((1, 3)), projection=np.eye(6, len(mass)), lowest=0.0, left_out=0.0)
    surface = {f"surface_{k}": v for k, v in NOTHING._asdict().items()}
    arrays = {name: np.asarray(value) for name, value in kept.items()}
    return Reduction.of_arrays(arrays | {"names": np.array(["node"])} | surface)
