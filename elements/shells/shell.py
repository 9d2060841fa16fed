"""Geometrically exact shell: quadrilateral elements of four ordinary nodes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.contracts import Element, ElementBatch, ModelContext, NodeLike, Numbering, Picture, checked, returned
from fem_mbs.contracts.arguments import Direction, Name, Vector3, choice, number, shown, truth, vector, whole_number
from fem_mbs.contracts.node import Node, check_node, poses
from fem_mbs.elements.beams.curve_strain import RelativeCoordinates
from fem_mbs.elements.beams.geometry import directions_at
from fem_mbs.elements.shells.batch import ShellBatch, share
from fem_mbs.elements.shells.geometry import Normals, corner_normals, quads_of, section_frames, shared_normals
from fem_mbs.elements.shells.looks import ShellPicture, ShellResults, doubts
from fem_mbs.elements.shells.section import ShellSection
from fem_mbs.elements.shells.strains import GAUSS, ShellPoints, bilinear, quad_coordinates
from fem_mbs.errors import ModelError
from fem_mbs.lie import se3
from fem_mbs.model.description import ModelDescription

SIDES: dict[str, tuple[int | slice, int | slice]] = {
    "left": (0, slice(None)),
    "right": (-1, slice(None)),
    "bottom": (slice(None), 0),
    "top": (slice(None), -1),
}
"""Edges of a grid of nodes, whose first parameter goes from left to right, the second from bottom to top."""
LEAST_IN_SURFACE = 1e-3


Fold = Annotated[float, partial(number, low=0.0, high=180.0)]


def _pair(value: Any, label: object, each: Callable[[Any, str], Any], what: str) -> tuple[Any, Any]:
    several = isinstance(value, Sequence) or isinstance(value, np.ndarray) and value.ndim == 1
    if not several or len(value) != 2:
        raise ModelError(f"{label} must be two {what}, received {shown(value)}")
    first, second = (each(own, f"{label}[{k}]") for k, own in enumerate(value))
    return first, second


Grid = Annotated[Sequence[int], partial(_pair, each=whole_number, what="numbers of elements")]
Closed = Annotated[Sequence[bool], partial(_pair, each=truth, what="truth values")]


@checked
class Shell(Element):
    """A shell of quadrilateral elements, stress-free as built.

    Parameters
    ----------
    nodes : sequence of 4 nodes, or of such quadruples
        The corners of each element, counter-clockwise about its normal.
    section : ShellSection
        What it is made of.
    normals : (m, 3) or function, optional
        World direction of the normal at each of the ``m`` different nodes, in the order of ``nodes``, or as a function
        of the position (3,). By default the mean of the normals of the elements that meet at a node.
    fold : float
        Angle in degrees between elements from which on there is a fold, and each side keeps its own normal.
    direction : (3,), optional
        World direction whose projection on the surface is the 0 degrees of a laminate, and axis 1 of its law; by
        default the first parameter of each element, in grids and single elements.
    grid : (int, int), optional
        Elements in two directions, if they are those of a grid, of which the second counts faster.
    thick : bool
        Whether pictures show the thickness.

    Attributes
    ----------
    nodes : tuple of Node
        All different ones, in the order in which the elements name them.
    cells : (k, 4)
        The four nodes of each element, counted in ``nodes``.
    area : (k,)
        Areas of the elements as built, m^2, of the surface of the nodes, on which loads act.

    Raises
    ------
    ModelError
        For an element that is given twice or has a node twice, without area or inside out, for normals that point the
        other way, and for a laminate without ``direction`` that is no grid.

    Notes
    -----
    Frames are interpolated on SE(3) (Sonneville, Cardona, Bruels 2014), shears as by Bathe and Dvorkin (1985), nodes
    drill with a weak stiffness; docs/theory.md, "Shells". The mass is consistent in translation, lumped in rotation.
    """

    _internal = "cells d0 frames middle offsets results shared stiffness turn"

    def __init__(
        self,
        nodes: Sequence[NodeLike | Sequence[NodeLike]],
        section: ShellSection,
        *,
        normals: Normals | None = None,
        fold: Fold = 30.0,
        direction: Direction | None = None,
        grid: Grid | None = None,
        thick: bool = False,
    ) -> None:
        self.nodes, self.cells = _cells(nodes)
        self.section, self.thick = section, thick
        label = str(self)
        if grid is not None and grid[0] * grid[1] != len(self.cells):
            raise ModelError(f"{label}: a grid of {grid} has {grid[0] * grid[1]} elements, not {len(self.cells)}")
        self.grid = None if grid is None else (grid[0], grid[1])
        x, R = poses(self.nodes)
        self._check_corners(x, label)
        world = section_frames(x[self.cells], self._normals(x, normals, fold, label), label)
        self.frames = R[self.cells].mT @ world
        """Section frames ``(k, 4, 3, 3)`` at the corners of each element in the frames of the nodes."""
        self.middle = section.offset * self.frames[..., 2]
        """Where the middle of the thickness is at the corners ``(k, 4, 3)``, in the frames of the nodes."""
        self.offsets = np.zeros_like(self.middle)
        """Of distributed loads from the nodes: the offset of a section moves the material alone."""
        relative = quad_coordinates(x[self.cells] + section.offset * world[..., 2], world, [self] * len(world))
        self.d0 = relative.d
        """Where frames in the middle of the thickness are seen from that of the element, as built ``(k, 4, 6)``."""
        at_nodes = quad_coordinates(x[self.cells], world, [self] * len(world)).d
        area, of_middle = (ShellPoints(d, GAUSS).area for d in (at_nodes, self.d0))
        self._refuse(
            (np.minimum(area, of_middle) <= 0.0).any(axis=1),
            label,
            "is too distorted, as its surface folds back; use a better shape, or smaller elements where the surface is "
            "curved, and an offset of the section that is less than the radius there",
        )
        self.area = area.sum(axis=1)
        self.shared = share(area)
        """Area of each element as its nodes share it, ``int N_i N_j dA``, ``(k, 4, 4)``."""
        self.turn = self._turn(relative, direction, label)
        """Angles ``(k, 5)`` of the material's first axis against the frames, at the Gauss points and the centre."""
        law = np.zeros((len(self.cells), 4, 9, 9))
        law[..., :8, :8] = section.turned(self.turn[:, :4])
        law[..., 8, 8] = section.drilling
        self.stiffness = law

    @classmethod
    @checked
    def rectangle(
        cls,
        model: ModelDescription,
        origin: Vector3,
        u: Vector3,
        v: Vector3,
        section: ShellSection,
        *,
        elements: Grid = (8, 8),
        direction: Direction | None = None,
        name: Name | None = None,
        given: Mapping[Any, NodeLike] | None = None,
        thick: bool = False,
    ) -> Shell:
        """Flat shell of a parallelogram: make the nodes, add it to the model and return it.

        Parameters
        ----------
        model : Model
            Gets the nodes, "name[0,0]", ..., and the shell.
        origin, u, v : (3,)
            A corner and the two sides from there, world frame, m; the normal is ``u x v``.
        section, direction, thick
            As for :class:`Shell`.
        elements : (2,)
            How many along ``u`` and along ``v``.
        name : str, optional
            Of the shell and of its nodes.
        given : dict, optional
            Nodes to be used at places ``(i, j)`` of the grid, ``{(0, 0): hub}``.
        """
        start, along, across = (np.asarray(vector) for vector in (origin, u, v))
        normal = np.cross(along, across)
        if np.linalg.norm(normal) <= 1e-9 * np.linalg.norm(along) * np.linalg.norm(across):
            raise ModelError(f"Shell.rectangle: u {along} and v {across} must span a plane")
        s, t = (np.linspace(0.0, 1.0, count + 1) for count in elements)
        places = start + s[:, None, None] * along + t[:, None] * across
        normals = np.broadcast_to(normal, places.shape)
        make = partial(cls, section=section, direction=direction, thick=thick)
        return _add_grid(model, make, places, normals, (False, False), name, given)

    @classmethod
    @checked
    def surface(
        cls,
        model: ModelDescription,
        place: Callable[..., Any],
        section: ShellSection,
        elements: Grid,
        *,
        closed: Closed = (False, False),
        direction: Direction | None = None,
        name: Name | None = None,
        given: Mapping[Any, NodeLike] | None = None,
        thick: bool = False,
    ) -> Shell:
        """Shell of a surface that a function gives: make the nodes, add it to the model and return it.

        Parameters
        ----------
        place : function of u and v
            The point (3,), world frame, m, of parameters from 0 to 1. The normal is ``place_,u x place_,v``, that of
            the surface itself.
        closed : (2,) of bool
            Whether the ends of either parameter meet.
        model, section, elements, direction, name, given, thick
            As for :meth:`rectangle`.
        """
        s, t = (np.linspace(0.0, 1.0, count + 1) for count in elements)
        places = np.array([[_called(place, u, v) for v in t] for u in s])
        normals = np.cross(
            [[_slope(partial(_called, place, v=v), u) for v in t] for u in s],
            [[_slope(partial(_called, place, u), v) for v in t] for u in s],
        )
        size = np.ptp(places.reshape(-1, 3), axis=0).max()
        slopes = np.linalg.norm(normals, axis=-1)
        flat = np.argwhere(slopes <= 1e-6 * slopes.max())
        if len(flat):
            i, j = flat[0]
            raise ModelError(
                f"Shell.surface: place has no normal at ({s[i]:g}, {t[j]:g}), as a pole where lines meet in one point; "
                "leave a small hole there, or mesh the surface by quads for Shell.from_mesh"
            )
        for axis, ends in enumerate(closed):
            gap = np.linalg.norm(places.take(-1, axis) - places.take(0, axis), axis=-1).max() if ends else 0.0
            if gap > 1e-6 * size:
                raise ModelError(
                    f"Shell.surface: closed={tuple(closed)}, but at the ends 0 and 1 of parameter {'uv'[axis]} place "
                    f"differs by {gap:.3g}; a surface with one side, as a Moebius strip, cannot be closed"
                )
        once = tuple(slice(-1 if ends else None) for ends in closed)
        make = partial(cls, section=section, direction=direction, thick=thick)
        return _add_grid(model, make, places[once], normals[once], closed, name, given)

    @classmethod
    @checked
    def from_mesh(
        cls,
        model: ModelDescription,
        mesh: Any,
        section: ShellSection,
        *,
        normals: Normals | None = None,
        fold: Fold = 30.0,
        direction: Direction | None = None,
        split_triangles: bool = False,
        name: Name = "shell",
        thick: bool = False,
    ) -> Shell:
        """Shell of all quads of a mesh: make the nodes, add it to the model and return it.

        Parameters
        ----------
        model : Model
            Gets the nodes, that of point 7 as "name[7]", and the shell.
        mesh : meshio.Mesh, str or Path
            A mesh, or a file that meshio reads. Neighbours are turned to the side of the first element.
        section, normals, fold, direction, thick
            As for :class:`Shell`.
        split_triangles : bool
            Whether each triangle becomes three quads; else triangles are refused.
        name : str
            Of the shell and of its nodes.
        """
        points, cells = quads_of(mesh, split_triangles)
        with model.all_or_nothing():
            used = np.unique(cells)
            nodes = model.add_nodes(points[used], [f"{name}[{k}]" for k in used])
            made = dict(zip(used.tolist(), nodes, strict=True))
            shell = cls(
                [[made[int(k)] for k in cell] for cell in cells],
                section,
                normals=normals,
                fold=fold,
                direction=direction,
                thick=thick,
            )
            return model.add(shell, name=name)

    @checked
    def node(self, i: int, j: int) -> Node:
        """The node at place ``(i, j)`` of a grid; negative numbers count from the end."""
        grid = self._node_grid()
        if not (-grid.shape[0] <= i < grid.shape[0] and -grid.shape[1] <= j < grid.shape[1]):
            raise ModelError(
                f"{self}: there is no node ({i}, {j}) in a grid of {grid.shape[0]} x {grid.shape[1]} nodes"
            )
        return self.nodes[int(grid[i, j])]

    @checked
    def edge(self, side: Annotated[str, choice(SIDES)]) -> list[Node]:
        """Nodes along an edge of a grid: "left" and "right" end the first parameter, "bottom", "top" the second."""
        first, second = SIDES[side]
        return [self.nodes[int(k)] for k in self._node_grid()[first, second]]

    @checked
    def nearest(self, point: Vector3) -> Node:
        """The node nearest to a point of the world, as built."""
        places = np.array([node.position for node in self.nodes])
        return self.nodes[int(np.argmin(np.linalg.norm(places - np.asarray(point), axis=1)))]

    @property
    def results(self) -> ShellResults:
        """Its resultants and stresses at the centres of elements."""
        return ShellResults(self)

    def picture(self, number: Numbering, stations: int) -> Picture:
        """Its surface, or both of its faces."""
        return ShellPicture(self, np.array([number(node) for node in self.nodes]))

    def doubts(self, around: ModelContext) -> Iterable[str]:
        """Elements of a bad shape, a thickness that is none of a shell, and what one node holds by drilling."""
        return doubts(self, around)

    def batch_key(self) -> Hashable:
        return self.section.damping > 0.0

    @classmethod
    def batch(cls, elements: Sequence[Shell], number: Numbering) -> ElementBatch:
        return ShellBatch(elements, number)

    def _node_grid(self) -> IntArray:
        """Nodes ``(i, j)`` of a grid; in a closed direction the first ones come again at the end."""
        if self.grid is None:
            raise ModelError(f"{self} is no grid of elements; nearest(point) finds nodes of any shell")
        corners = self.cells.reshape(*self.grid, 4)
        result = np.empty((self.grid[0] + 1, self.grid[1] + 1), dtype=np.intp)
        result[:-1, :-1], result[1:, :-1] = corners[..., 0], corners[..., 1]
        result[1:, 1:], result[:-1, 1:] = corners[..., 2], corners[..., 3]
        return result

    def _refuse(self, which: BoolArray, label: str, why: str) -> None:
        """Refuse the first of some elements."""
        for element in np.flatnonzero(which)[:1]:
            corners = ", ".join(str(self.nodes[k]) for k in self.cells[element])
            raise ModelError(f"{label}: element {element + 1} with {corners} {why}")

    def _check_corners(self, x: Array, label: str) -> None:
        """Refuse elements that are there twice, or have not four different places."""
        corners = x[self.cells]
        again = np.ones(len(corners), dtype=bool)
        again[np.unique(np.sort(self.cells, axis=1), axis=0, return_index=True)[1]] = False
        self._refuse(again, label, "has the corners of another one, and would count twice; leave one out")
        apart = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=-1)
        middle = np.cross(corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1])
        around = np.cross(corners[:, 1:3] - corners[:, :1], corners[:, 2:] - corners[:, :1])
        size = np.ptp(x, axis=0).max()
        self._refuse(
            (apart <= 1e-9 * size).any(axis=1) | (np.linalg.norm(around, axis=-1) <= 1e-12 * size**2).all(axis=1),
            label,
            "is collapsed: it needs four corners at different places, not in a line; points of a mesh at one place "
            "must be merged, and a quad with a point twice is a triangle, of which Shell.from_mesh(..., "
            "split_triangles=True) makes three quads",
        )
        self._refuse(
            (np.vecdot(corner_normals(corners), middle[:, None]) <= 1e-12 * size**2).any(axis=1),
            label,
            "crosses itself, or has a corner of 180 degrees or more; list its nodes one after the other around it, and "
            "avoid such corners",
        )

    def _normals(self, x: Array, normals: Any, fold: float, label: str) -> Array:
        if normals is None:
            return shared_normals(x, self.cells, fold)
        if callable(normals):
            given = directions_at(x, normals, f"{label}: normals")
        else:
            given = np.asarray(normals)
        if given.shape != x.shape:
            raise ModelError(f"{label}: normals must be (3,) for each of its {len(x)} nodes, received {given.shape}")
        return given[self.cells]

    def _turn(self, relative: RelativeCoordinates, direction: Any, label: str) -> Array:
        values, _ = bilinear(np.concatenate([GAUSS, np.zeros((1, 2))]))
        if direction is None:
            if not self.section.is_isotropic and self.grid is None and len(self.cells) > 1:
                raise ModelError(
                    f"{label}: a laminate needs direction=(x, y, z), the world direction of its 0 degrees, as its "
                    "elements are no grid"
                )
            return np.zeros((len(self.cells), 5))
        R, _ = se3.exp(values @ relative.d)
        local = np.vecmat(np.asarray(direction), relative.R[:, None] @ R)
        short = np.linalg.norm(local[..., :2], axis=-1) < LEAST_IN_SURFACE
        self._refuse(short.any(axis=1), label, f"has a surface to which direction {shown(direction)} is normal")
        return np.arctan2(local[..., 1], local[..., 0])


def _cells(nodes: Any) -> tuple[tuple[Node, ...], IntArray]:
    """All different nodes, and the four of each element."""
    rows = list(nodes)
    single = bool(rows) and isinstance(rows[0], Node)
    quads = [rows] if single else [list(row) if isinstance(row, Sequence | np.ndarray) else [row] for row in rows]
    if not quads:
        raise ModelError("Shell: nodes must be four nodes, or a list of such quadruples, received none")
    count: dict[Node, int] = {}
    cells = []
    for k, quad in enumerate(quads):
        label = "Shell: nodes" if single else f"Shell: nodes[{k}]"
        corners = [check_node(node, f"{label}[{i}]") for i, node in enumerate(quad)]
        if len(corners) != 4:
            raise ModelError(f"{label} must be four nodes, received {len(corners)}")
        if len(set(corners)) < 4:
            raise ModelError(
                f"{label}: element {k + 1} has a node twice, {', '.join(map(str, corners))}: triangles are refused; "
                "Shell.from_mesh(..., split_triangles=True) makes three quads of each"
            )
        cells.append([count.setdefault(node, len(count)) for node in corners])
    return tuple(count), np.array(cells, dtype=np.intp)


def _add_grid(
    model: ModelDescription,
    make: Callable[..., Shell],
    places: Array,
    normals: Array,
    closed: Sequence[bool],
    name: str | None,
    given: Mapping[Any, Any] | None,
) -> Shell:
    """Nodes at ``places`` (nu, nv, 3), or those ``given``, and the shell that is made through them."""
    label = f"Shell '{name}'" if name else "Shell"
    at = {key: check_node(node, f"{label}: given[{key}]") for key, node in (given or {}).items()}
    nu, nv = places.shape[:2]
    size = np.ptp(places.reshape(-1, 3), axis=0).max()
    for (i, j), node in at.items():
        if not (0 <= i < nu and 0 <= j < nv) or np.linalg.norm(node.position - places[i, j]) > 1e-9 * size:
            raise ModelError(f"{label}: {node} is not at place {(i, j)} of the grid, of {nu} x {nv} nodes")
    with model.all_or_nothing():
        missing = [(i, j) for i in range(nu) for j in range(nv) if (i, j) not in at]
        names = None if name is None else [f"{name}[{i},{j}]" for i, j in missing]
        at.update(zip(missing, model.add_nodes(np.array([places[k] for k in missing]), names), strict=True))
        grid = [[at[i, j] for j in range(nv)] for i in range(nu)]
        counts = nu if closed[0] else nu - 1, nv if closed[1] else nv - 1
        quads = [
            [grid[i][j], grid[(i + 1) % nu][j], grid[(i + 1) % nu][(j + 1) % nv], grid[i][(j + 1) % nv]]
            for i in range(counts[0])
            for j in range(counts[1])
        ]
        by_node = {id(grid[i][j]): normals[i, j] for i in range(nu) for j in range(nv)}
        order = dict.fromkeys(node for quad in quads for node in quad)
        own = np.array([by_node[id(node)] for node in order])
        return model.add(make(quads, normals=own, grid=counts), name=name)


def _called(place: Callable[..., Any], u: float, v: float) -> Array:
    at = f"Shell.surface: place({u:g}, {v:g})"
    return vector(returned(at, place, u, v), at)


SMALL = 1e-5


def _slope(along: Callable[[float], Array], u: float) -> Array:
    """Derivative along a parameter, from within 0 to 1."""
    h = SMALL if u < 0.5 else -SMALL
    return (4.0 * along(u + h) - 3.0 * along(u) - along(u + 2.0 * h)) / (2.0 * h)
