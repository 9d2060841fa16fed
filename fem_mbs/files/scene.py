"""A model as a picture: all its parts in one mesh, nodes, bodies and joints as points with axes and by their shapes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Cells, Constraint, ConstraintBatch, Element, Kind, Motion, Picture, Shape
from fem_mbs.elements.bodies import RigidBody
from fem_mbs.solution.balance import reactions
from fem_mbs.system.system import System

FINENESS = ((20, 24), (100, 12), (500, 6))
"""Up to how many shapes a circle has how many sides; the more there are, the smaller each is on the screen."""
COARSEST = 4
MOST_CONTACTS = 2000
"""Points of contact above which none are shown."""
SHARE, NEAR = 0.04, 0.4
"""Symbols against the diagonal of the model, and against the usual distance to the next one."""


class NodePicture:
    """The nodes of some ``rows`` (n,), and of which ``kind`` (n,) each is: node or body."""

    def __init__(self, rows: IntArray, kind: IntArray) -> None:
        self.rows = rows
        self.cells = [_vertices({"part": kind, "node_id": rows})]

    def draw(self, motion: Motion, multipliers: Array) -> dict[str, Array]:
        """Nodes, their axes and velocities."""
        R = motion.R[self.rows]
        return _attached(motion, self.rows, np.zeros((len(R), 3))) | _axes_of(R)


class JointPicture:
    """The joints of one batch at their points on node b, numbered from ``first``; ``rows`` their multipliers."""

    def __init__(self, batch: ConstraintBatch, rows: slice, first: int) -> None:
        self.batch, self.rows = batch, rows
        self.b = batch.nodes[:, -1]
        self.offset = np.array([joint.offset for joint in batch.owners])
        self.axes = np.array([joint.axes[-1] for joint in batch.owners])
        n = len(self.b)
        self.cells = [_vertices({"part": np.full(n, Kind.JOINT), "joint_id": first + np.arange(n)})]

    def draw(self, motion: Motion, multipliers: Array) -> dict[str, Array]:
        """Joints, their axes on node b, velocities and reactions."""
        force, moment = reactions(self.batch, motion, multipliers[self.rows])
        fields = _attached(motion, self.b, self.offset) | _axes_of(motion.R[self.b] @ self.axes)
        return fields | {"reaction_force": force, "reaction_moment": moment}


class ContactPicture:
    """The points of contact of one batch."""

    def __init__(self, batch: Any, count: int) -> None:
        self.batch = batch
        self.cells = [_vertices({"part": np.full(count, Kind.CONTACT)})]

    def draw(self, motion: Motion, multipliers: Array) -> dict[str, Array]:
        """Points on the surface of b, and the forces there on b."""
        points, forces = acting_contacts(self.batch, motion)
        return {"points": points, "contact_force": forces}


def acting_contacts(batch: Any, motion: Motion) -> tuple[Array, Array]:
    """Points of contact and the forces on b there, ``(k, 3)``; none of stops, which act along a coordinate."""
    if batch.owners[0].slots:  # what has no contact is nowhere in particular
        at, slots = batch.acting(motion), batch.owners[0].slots
        points, forces = np.tile(motion.x[0], (slots, 1)), np.zeros((slots, 3))
        points[: len(at.point)], forces[: len(at.force)] = at.point, at.force
        return points, forces
    points = batch.points(motion)
    if points is None:
        return np.empty((0, 3)), np.empty((0, 3))
    return points.reshape(-1, 3), batch.forces_on_b(motion).reshape(-1, 3)


def _attached(motion: Motion, rows: IntArray, offset: Array) -> dict[str, Array]:
    """Points that move with nodes at ``offset`` (n, 3) in the node frame."""
    R, V = motion.R[rows], motion.V[rows]
    return {
        "points": motion.x[rows] + np.matvec(R, offset),
        "velocity": np.matvec(R, V[:, :3] + np.cross(V[:, 3:], offset)),
        "angular_velocity": np.matvec(R, V[:, 3:]),
    }


def _axes_of(axes: Array) -> dict[str, Array]:
    """Axes ``(n, 3, 3)``, world frame, as fields."""
    return {f"e{i + 1}": axes[:, :, i] for i in range(3)}


def _vertices(numbers: dict[str, IntArray]) -> Cells:
    return Cells("vertex", np.arange(len(numbers["part"]))[:, None], numbers)


class Item(NamedTuple):
    """A shape, the row of the node that it moves with, and the number that its cells have."""

    shape: Shape
    row: int
    number: int


class ShapePicture:
    """Shapes of one kind; the number of each is called ``numbered``."""

    def __init__(self, items: Sequence[Item], kind: Kind, numbered: str) -> None:
        sides = next((sides for most, sides in FINENESS if len(items) <= most), COARSEST)
        faces = [item.shape.faces(sides) for item in items]
        sizes = [len(surface.points) for surface in faces]
        self._points = np.concatenate([surface.points for surface in faces])
        self._rows = np.repeat([item.row for item in items], sizes)
        blocks: dict[tuple[str, int], list[tuple[IntArray, int]]] = {}
        for surface, item, first in zip(faces, items, np.cumsum([0, *sizes[:-1]]), strict=True):
            for cell, points in surface.cells:
                blocks.setdefault((cell, points.shape[1]), []).append((points + first, item.number))
        self.cells = [_cells(cell, parts, kind, numbered) for (cell, _), parts in blocks.items()]

    def draw(self, motion: Motion, multipliers: Array) -> dict[str, Array]:
        """Points and their velocities."""
        return _attached(motion, self._rows, self._points)


def _cells(cell: str, parts: list[tuple[IntArray, int]], kind: Kind, numbered: str) -> Cells:
    counts = [len(points) for points, _ in parts]
    numbers = np.repeat([number for _, number in parts], counts)
    return Cells(
        cell, np.concatenate([points for points, _ in parts]), {"part": np.full(len(numbers), kind), numbered: numbers}
    )


def symbol_size(points: Array, joints: Array) -> float:
    """How large symbols may be that are at ``joints`` (n, 3) of a model that has ``points`` (m, 3)."""
    from scipy.spatial import cKDTree  # which takes long to import

    extent = float(np.linalg.norm(np.ptp(points, axis=0))) or 1.0
    places = np.unique(np.round(joints / (1e-6 * extent)), axis=0)
    if len(places) < 2:
        return SHARE * extent
    usual = float(np.median(cKDTree(places).query(places, 2)[0][:, 1])) * 1e-6 * extent
    return min(SHARE * extent, NEAR * usual)


class Drawn(NamedTuple):
    """A picture, and numbers that all its cells have."""

    picture: Picture
    numbers: dict[str, int]


class Scene:
    """The mesh of a system and the data on it.

    Attributes
    ----------
    cells : list of (str, (n, p))
        Blocks of cells of one type; the same in every frame.
    cell_data : dict of lists
        Numbers of the cells, block by block: ``part`` (:class:`~fem_mbs.contracts.picture.Kind`), ``beam_id``,
        ``element_id`` (within its beam), ``node_id`` and ``joint_id``, counted from 0; -1 where a cell has none.
    points : int
        How many points there are in every frame.
    legend : list of str
        Which elements and joints the numbers stand for.
    """

    def __init__(self, system: System, stations: int, shapes: bool) -> None:
        elements = _pictures(system.elements, system, stations)
        joints = [joint for batch in system.constraint_batches for joint in batch.owners]
        self.legend = [f"beam_id {k}: {system.elements[number]}" for k, (number, _) in enumerate(elements)]
        self.legend += [f"joint_id {k}: {joint}" for k, joint in enumerate(joints)]
        self._origin = system.origin
        motion, none = system.at_rest(), np.zeros(system.m)
        self._parts = [Drawn(picture, {"beam_id": k}) for k, (_, picture) in enumerate(elements)]
        pictures = _node_picture(system), *_joint_pictures(system), *_contact_pictures(system, motion)
        self._parts += [Drawn(picture, {}) for picture in pictures]
        if shapes:
            size = _symbol_size([part.picture for part in self._parts], motion, none)
            self._parts += [Drawn(picture, {"joint_id": k}) for k, picture in _pictures(joints, system, stations)]
            self._parts += [Drawn(picture, {}) for picture in _shape_pictures(system, joints, size)]
        first = self._draw(motion, none)
        self._initial = np.concatenate([fields["points"] for fields in first])
        self.points = len(self._initial)
        self._fields = {name: part.shape[1:] for fields in first for name, part in fields.items() if name != "points"}
        self._bounds = np.cumsum([0, *(len(fields["points"]) for fields in first)])
        self._collect_cells()

    def _collect_cells(self) -> None:
        parts = zip(self._parts, self._bounds[:-1], strict=True)
        blocks = [(cells, part.numbers, first) for part, first in parts for cells in part.picture.cells]
        self.cells = [(cells.type, (cells.points + first).astype(np.int32)) for cells, _, first in blocks]
        names = dict.fromkeys(name for cells, numbers, _ in blocks for name in (*cells.numbers, *numbers))
        self.cell_data = {
            name: [
                np.broadcast_to(cells.numbers.get(name, numbers.get(name, -1)), len(cells.points)).astype(np.int32)
                for cells, numbers, _ in blocks
            ]
            for name in names
        }

    def frame(self, motion: Motion, multipliers: Array) -> tuple[Array, dict[str, Array]]:
        """Points and point data at an instant, each ``(n, 3)`` or ``(n,)``; zero where a part has none."""
        drawn = self._draw(motion, multipliers)
        points = np.concatenate([fields["points"] for fields in drawn])
        data = {"displacement": points - self._initial}
        points = points + self._origin
        for name, shape in self._fields.items():
            data[name] = np.zeros((len(points), *shape))
            for fields, (first, last) in zip(drawn, pairwise(self._bounds), strict=True):
                data[name][first:last] = fields.get(name, 0.0)
        return points, data

    def _draw(self, motion: Motion, multipliers: Array) -> list[dict[str, Array]]:
        return [part.picture.draw(motion, multipliers) for part in self._parts]


def _pictures(owners: Sequence[Element | Constraint], system: System, stations: int) -> list[tuple[int, Picture]]:
    """Pictures of elements or joints that have one of their own, with their numbers."""
    made = ((k, owner.picture(system.number, stations)) for k, owner in enumerate(owners))
    return [(k, picture) for k, picture in made if picture is not None]


def _node_picture(system: System) -> Picture:
    """The nodes that something holds on to; nodes with a mass of their own are bodies."""
    nodes = [batch.nodes for batch in system.batches] + [batch.nodes for batch in system.constraint_batches]
    rows = np.unique(np.concatenate([rows.ravel() for rows in nodes]))
    kind = np.full(system.n, Kind.NODE)
    for element in system.elements:
        if element.center_of_mass is not None:
            kind[system.number(element.nodes[0])] = Kind.BODY
    return NodePicture(rows, kind[rows])


def _joint_pictures(system: System) -> list[Picture]:
    pictures: list[Picture] = []
    first = 0
    for batch in system.constraint_batches:
        start, stop = (system.constraint_rows(batch.owners[end]).rows for end in (0, -1))
        pictures.append(JointPicture(batch, slice(start.start, stop.stop), first))
        first += len(batch.owners)
    return pictures


def _contact_pictures(system: System, motion: Motion) -> list[Picture]:
    batches = [batch for batch in system.batches if batch.owners[0].contacts]
    if sum((b.owners[0].slots or len(b.owners[0].contacts)) * len(b.owners) for b in batches) > MOST_CONTACTS:
        return []
    counts = [len(acting_contacts(batch, motion)[0]) for batch in batches]
    return [ContactPicture(batch, count) for batch, count in zip(batches, counts, strict=True) if count]


def _symbol_size(pictures: list[Picture], motion: Motion, multipliers: Array) -> float:
    """How large symbols are, such as those of joints."""
    drawn = [(picture, picture.draw(motion, multipliers)["points"]) for picture in pictures]
    joints = [points for picture, points in drawn if isinstance(picture, JointPicture)]
    return symbol_size(np.concatenate([points for _, points in drawn]), np.concatenate([np.empty((0, 3)), *joints]))


def _by_inertia(element: Element) -> bool:
    """Whether a body was given no shape, and looks like its inertia."""
    return isinstance(element, RigidBody) and element.shape is None


def _shape_pictures(system: System, joints: list[Constraint], size: float) -> list[Picture]:
    """What bodies and joints look like."""
    rows = system.number
    touching = {placed.node for element in system.elements if element.contacts for placed in element.shapes(size)}
    bodies = [
        Item(placed.shape, int(rows(placed.node)), int(rows(placed.node)))
        for element in system.elements
        if not _by_inertia(element) or element.nodes[0] not in touching
        for placed in element.shapes(size)
    ]
    symbols = [
        Item(placed.shape, int(rows(placed.node)), number)
        for number, joint in enumerate(joints)
        for placed in joint.shapes(size)
    ]
    kinds = (bodies, Kind.BODY_SHAPE, "node_id"), (symbols, Kind.JOINT_SHAPE, "joint_id")
    return [ShapePicture(items, kind, numbered) for items, kind, numbered in kinds if items]
