"""A model as a picture: all its parts in one mesh, nodes, bodies and joints as points with axes and by their shapes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Cells, Constraint, ConstraintBatch, Element, Faces, Kind, Motion, Picture, Placed
from fem_mbs.contracts.arguments import array, shown
from fem_mbs.elements.bodies import RigidBody
from fem_mbs.errors import ModelError
from fem_mbs.solution.balance import reactions
from fem_mbs.system.system import System

FINENESS = ((20, 24), (100, 12), (500, 6))
"""Up to how many shapes a circle has how many sides; the more there are, the smaller each is on the screen."""
COARSEST, SIDES = 4, 8
"""Sides where there are more; of circles that a box is put around."""
MOST_CONTACTS = 2000
"""Points of contact above which none are shown."""
SHARE, NEAR = 0.04, 0.4
"""Symbols against the diagonal of the model, and against the usual distance to the next one."""


class AttachedPicture:
    """Points that move with nodes at ``offset`` (n, 3) in the node frames, with ``axes`` (n, 3, 3) there if any."""

    def __init__(self, rows: IntArray, offset: Array, cells: list[Cells], axes: Array | None = None) -> None:
        self.rows, self.offset, self.cells, self.axes = rows, offset, cells, axes

    def draw(self, motion: Motion, multipliers: Array) -> dict[str, Array]:
        """Points, their axes and velocities."""
        R, V = motion.R[self.rows], motion.V[self.rows]
        fields = {
            "points": motion.x[self.rows] + np.matvec(R, self.offset),
            "velocity": np.matvec(R, V[:, :3] + np.cross(V[:, 3:], self.offset)),
            "angular_velocity": np.matvec(R, V[:, 3:]),
        }
        return fields if self.axes is None else fields | {f"e{i + 1}": (R @ self.axes)[:, :, i] for i in range(3)}


def nodes_of(system: System) -> AttachedPicture:
    """All nodes, the ground if something holds on to it; nodes with a mass of their own are bodies."""
    rows = np.unique(np.concatenate([np.arange(1, system.n), *(batch.nodes.ravel() for batch in system.all_batches)]))
    kind = np.full(system.n, Kind.NODE)
    for element in system.elements:
        if element.center_of_mass is not None:
            kind[system.number(element.nodes[0])] = Kind.BODY
    return AttachedPicture(
        rows, np.zeros((len(rows), 3)), [_vertices({"part": kind[rows], "node_id": rows})], np.eye(3)
    )


class JointPicture(AttachedPicture):
    """The joints of one batch at their points on node b, numbered from ``first``."""

    def __init__(self, system: System, batch: ConstraintBatch, first: int) -> None:
        start, stop = (system.constraint_rows(batch.owners[end]).rows for end in (0, -1))
        self.batch, self.equations, n = batch, slice(start.start, stop.stop), len(batch.nodes)
        offset = np.array([joint.offset for joint in batch.owners])
        axes = np.array([joint.axes[-1] for joint in batch.owners])
        cells = [_vertices({"part": np.full(n, Kind.JOINT), "joint_id": first + np.arange(n)})]
        super().__init__(batch.nodes[:, -1], offset, cells, axes)

    def draw(self, motion: Motion, multipliers: Array) -> dict[str, Array]:
        force, moment = reactions(self.batch, motion, multipliers[self.equations])
        return super().draw(motion, multipliers) | {"reaction_force": force, "reaction_moment": moment}


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


def _vertices(numbers: dict[str, IntArray]) -> Cells:
    return Cells("vertex", np.arange(len(numbers["part"]))[:, None], numbers)


def _faces(placed: Placed, sides: int) -> Faces:
    """The surface of a shape, or a :class:`ModelError` that says what is wrong with it."""
    surface, label = placed.shape.faces(sides), f"{type(placed.shape).__name__}.faces, on {placed.node}"
    if not isinstance(surface, Faces) or not surface.cells:
        raise ModelError(f"{label}: must return Faces(points, cells), with a block of cells, received {shown(surface)}")
    count = len(array(surface.points, f"{label}: points", (None, 3)))
    for cell, corners in surface.cells:
        rows = np.asarray(corners)
        width = rows.shape[1] if rows.ndim == 2 and rows.dtype.kind in "iu" else 0
        if (
            width not in {"triangle": (3,), "quad": (4,), "polygon": range(3, width + 1)}.get(cell, ())
            or not ((rows >= 0) & (rows < count)).all()
        ):
            raise ModelError(
                f"{label}: cells must be ('triangle', 'quad' or 'polygon', rows of the {count} points, one for each "
                f"corner), received ({cell!r}, {shown(corners)})"
            )
    return surface


def shapes_of(system: System, items: Sequence[tuple[Placed, int]], kind: Kind, numbered: str) -> AttachedPicture:
    """Shapes of one kind with their numbers, which are called ``numbered``."""
    sides = next((sides for most, sides in FINENESS if len(items) <= most), COARSEST)
    faces = [_faces(placed, sides) for placed, _ in items]
    sizes = [len(surface.points) for surface in faces]
    rows = np.repeat([int(system.number(placed.node)) for placed, _ in items], sizes)
    blocks: dict[tuple[str, int], list[tuple[IntArray, int]]] = {}
    for surface, (_, number), first in zip(faces, items, np.cumsum([0, *sizes[:-1]]), strict=True):
        for cell, points in surface.cells:
            blocks.setdefault((cell, points.shape[1]), []).append((points + first, number))
    cells = []
    for (cell, _), parts in blocks.items():
        numbers = np.repeat([number for _, number in parts], [len(points) for points, _ in parts])
        points = np.concatenate([points for points, _ in parts])
        cells.append(Cells(cell, points, {"part": np.full(len(numbers), kind), numbered: numbers}))
    return AttachedPicture(rows, np.concatenate([surface.points for surface in faces]), cells)


def links_of(system: System, size: float) -> AttachedPicture:
    """Lines from mass centres to points of joints that are outside the shapes of the bodies, of symbols of a size."""
    bodies = {element.nodes[0]: element for element in system.elements if element.center_of_mass is not None}
    rows, ends = [], []
    for joint in system.number.equations:
        for node, offset in zip(joint.nodes, joint.offsets, strict=False):
            if node in bodies and not _inside(bodies[node], offset, size):
                rows += 2 * [system.number(node)]
                ends += [bodies[node].center_of_mass, offset]
    numbers = {"part": np.full(len(rows) // 2, Kind.LINK), "node_id": np.array(rows[::2], np.intp)}
    cells = [Cells("line", np.arange(len(rows)).reshape(-1, 2), numbers)]
    return AttachedPicture(np.array(rows, np.intp), np.reshape(ends, (-1, 3)), cells)


def _inside(body: Any, point: Array, size: float) -> bool:
    """Whether a point is in the box around the shapes of a body."""
    shapes = [placed.shape.faces(SIDES).points for placed in body.shapes(size)]
    corners = np.concatenate([*shapes, [body.center_of_mass]])
    return bool((corners.min(axis=0) - 0.5 * size <= point).all() and (point <= corners.max(axis=0) + 0.5 * size).all())


def symbol_size(points: Array, joints: Array) -> float:
    """How large symbols may be that are at ``joints`` (n, 3) of a model that has ``points`` (m, 3)."""
    from scipy.spatial import cKDTree  # which takes long to import

    extent = float(np.linalg.norm(np.ptp(points, axis=0))) or 1.0
    places = np.unique(np.round(joints / (1e-6 * extent)), axis=0)
    if len(places) < 2:
        return SHARE * extent
    usual = float(np.median(cKDTree(places).query(places, 2)[0][:, 1])) * 1e-6 * extent
    return min(SHARE * extent, NEAR * usual)


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
        self._parts: list[tuple[Picture, dict[str, int]]]
        """Pictures, and numbers that all cells of each have."""
        self._parts = [(picture, {"beam_id": k}) for k, (_, picture) in enumerate(elements)]
        self._parts.append((nodes_of(system), {}))
        firsts = np.cumsum([0, *(len(batch.owners) for batch in system.constraint_batches)])
        of_joints = [
            JointPicture(system, batch, int(first))
            for batch, first in zip(system.constraint_batches, firsts, strict=False)
        ]
        self._parts += [(picture, {}) for picture in of_joints]
        touching = [batch for batch in system.batches if batch.owners[0].contacts]
        if sum((b.owners[0].slots or len(b.owners[0].contacts)) * len(b.owners) for b in touching) <= MOST_CONTACTS:
            counts = [len(acting_contacts(batch, motion)[0]) for batch in touching]
            pairs = zip(touching, counts, strict=True)
            self._parts += [(ContactPicture(batch, count), {}) for batch, count in pairs if count]
        if shapes:
            places = [picture.draw(motion, none)["points"] for picture in of_joints]
            size = symbol_size(
                np.concatenate([fields["points"] for fields in self._draw(motion, none)]),
                np.concatenate([np.empty((0, 3)), *places]),
            )
            self._parts += [(picture, {"joint_id": k}) for k, picture in _pictures(joints, system, stations)]
            self._parts += [(picture, {}) for picture in _shape_pictures(system, joints, size)]
        first = self._draw(motion, none)
        self._initial = np.concatenate([fields["points"] for fields in first])
        self.points = len(self._initial)
        self._fields = {name: part.shape[1:] for fields in first for name, part in fields.items() if name != "points"}
        self._bounds = np.cumsum([0, *(len(fields["points"]) for fields in first)])
        self._collect_cells()

    def _collect_cells(self) -> None:
        parts = zip(self._parts, self._bounds[:-1], strict=True)
        blocks = [(cells, numbers, first) for (picture, numbers), first in parts for cells in picture.cells]
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
        return [picture.draw(motion, multipliers) for picture, _ in self._parts]


def _pictures(owners: Sequence[Element | Constraint], system: System, stations: int) -> list[tuple[int, Picture]]:
    """Pictures of elements or joints that have one of their own, with their numbers."""
    made = ((k, owner.picture(system.number, stations)) for k, owner in enumerate(owners))
    return [(k, picture) for k, picture in made if picture is not None]


def _shape_pictures(system: System, joints: list[Constraint], size: float) -> list[Picture]:
    """What bodies and joints look like, and links between these; a body that touches others is not drawn by inertia."""
    touching = {placed.node for element in system.elements if element.contacts for placed in element.shapes(size)}
    shown = [
        element
        for element in system.elements
        if not (isinstance(element, RigidBody) and element.shape is None and element.nodes[0] in touching)
    ]
    bodies = [(placed, int(system.number(placed.node))) for element in shown for placed in element.shapes(size)]
    symbols = [(placed, number) for number, joint in enumerate(joints) for placed in joint.shapes(size)]
    kinds = (bodies, Kind.BODY_SHAPE, "node_id"), (symbols, Kind.JOINT_SHAPE, "joint_id")
    made: list[Picture] = [shapes_of(system, items, kind, numbered) for items, kind, numbered in kinds if items]
    links = links_of(system, size)
    return [*made, *([links] if links.rows.size else [])]
