"""A model as a picture: all its parts in one mesh."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.io.points import JointPicture, NodePicture
from fem_mbs.io.shapes import Item, ShapePicture, symbol_size
from fem_mbs.model import Cells, Constraint, Kind, Motion, Picture
from fem_mbs.system import State, System


class Scene:
    """The mesh of a system and the data on it.

    Attributes
    ----------
    cells : list of (str, (n, p))
        Blocks of cells of one type; the same in every frame.
    cell_data : dict of lists
        Numbers of the cells, block by block: ``part`` (:class:`~fem_mbs.model.picture.Kind`), ``beam_id``,
        ``element_id`` (within its beam), ``node_id`` and ``joint_id``, counted from 0; -1 where a cell has none.
    legend : list of str
        Which elements and joints the numbers stand for.
    """

    def __init__(self, system: System, stations: int, shapes: bool) -> None:
        made = ((element, element.picture(system.number, stations)) for element in system.elements)
        drawn = [(element, picture) for element, picture in made if picture is not None]
        joints = [joint for batch in system.constraint_batches for joint in batch.owners]
        self.legend = [f"beam_id {k}: {element}" for k, (element, _) in enumerate(drawn)]
        self.legend += [f"joint_id {k}: {joint}" for k, joint in enumerate(joints)]
        self._elements, self._origin = len(drawn), system.origin
        still, none = np.zeros((system.n, 6)), np.zeros(system.k)
        built = State(0.0, system.x0, system.R0, still, still, np.zeros(system.m), system.u0, none, none)
        motion = system.motion(built)
        points: list[Picture] = [*(own for _, own in drawn), _node_picture(system), *_joint_pictures(system)]
        self._parts = points
        if shapes:
            self._parts += _shape_pictures(system, joints, _symbol_size(points, motion, built.multipliers))
        first = self._draw(motion, built.multipliers)
        self._initial = np.concatenate([fields["points"] for fields in first])
        self._names = list(dict.fromkeys(name for fields in first for name in fields if name != "points"))
        self._bounds = np.cumsum([0, *(len(fields["points"]) for fields in first)])
        self._collect_cells()

    def _collect_cells(self) -> None:
        parts = zip(self._parts, self._bounds[:-1], strict=True)
        blocks = [
            (cells if k >= self._elements else _numbered(cells, k), first)
            for k, (part, first) in enumerate(parts)
            for cells in part.cells
        ]
        self.cells = [(cells.type, (cells.points + first).astype(np.int32)) for cells, first in blocks]
        names = dict.fromkeys(name for cells, _ in blocks for name in cells.numbers)
        self.cell_data = {
            name: [cells.numbers.get(name, np.full(len(cells.points), -1)).astype(np.int32) for cells, _ in blocks]
            for name in names
        }

    def frame(self, motion: Motion, multipliers: Array) -> tuple[Array, dict[str, Array]]:
        """Points and point data at an instant, each ``(n, 3)``; zero where a part has no such data."""
        drawn = self._draw(motion, multipliers)
        points = np.concatenate([fields["points"] for fields in drawn])
        data = {"displacement": points - self._initial}
        points = points + self._origin
        for name in self._names:
            data[name] = np.zeros_like(points)
            for fields, (first, last) in zip(drawn, pairwise(self._bounds), strict=True):
                data[name][first:last] = fields.get(name, 0.0)
        return points, data

    def _draw(self, motion: Motion, multipliers: Array) -> list[dict[str, Array]]:
        return [part.draw(motion, multipliers) for part in self._parts]


def _numbered(cells: Cells, number: int) -> Cells:
    """Cells with the number of the element that they belong to."""
    return cells._replace(numbers={**cells.numbers, "beam_id": np.full(len(cells.points), number)})


def _node_picture(system: System) -> Picture:
    """The nodes that something holds on to; nodes with a mass of their own are bodies."""
    nodes = [batch.nodes for batch in system.batches] + [batch.nodes for batch in system.constraint_batches]
    rows = np.unique(np.concatenate([rows.ravel() for rows in nodes]))
    kind = np.full(system.n, Kind.NODE)
    for element in system.elements:
        if len(element.nodes) == 1 and hasattr(element, "mass"):
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


def _symbol_size(pictures: list[Picture], motion: Motion, multipliers: Array) -> float:
    """How large joints are drawn."""
    drawn = [(picture, picture.draw(motion, multipliers)["points"]) for picture in pictures]
    joints = [points for picture, points in drawn if isinstance(picture, JointPicture)]
    if not joints:
        return 0.0
    return symbol_size(np.concatenate([points for _, points in drawn]), np.concatenate(joints))


def _shape_pictures(system: System, joints: list[Constraint], size: float) -> list[Picture]:
    """What bodies and joints look like."""
    rows = system.number
    bodies = [
        Item(placed.shape, int(rows(placed.node)), int(rows(placed.node)))
        for element in system.elements
        for placed in element.shapes(size)
    ]
    symbols = [
        Item(placed.shape, int(rows(placed.node)), number)
        for number, joint in enumerate(joints)
        for placed in joint.shapes(size)
    ]
    kinds = (bodies, Kind.BODY_SHAPE, "node_id"), (symbols, Kind.JOINT_SHAPE, "joint_id")
    return [ShapePicture(items, kind, numbered) for items, kind, numbered in kinds if items]
