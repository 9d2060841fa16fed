"""A model as a picture: all its parts in one mesh."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.io.points import JointPicture, NodePicture
from fem_mbs.io.shapes import Item, ShapePicture, symbol_size
from fem_mbs.model import Constraint, Element, Kind, Motion, Picture
from fem_mbs.system import State, System


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
        Numbers of the cells, block by block: ``part`` (:class:`~fem_mbs.model.picture.Kind`), ``beam_id``,
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
        still, none = np.zeros((system.n, 6)), np.zeros(system.k)
        built = State(0.0, system.x0, system.R0, still, still, np.zeros(system.m), system.u0, none, none)
        motion = system.motion(built)
        self._parts = [Drawn(picture, {"beam_id": k}) for k, (_, picture) in enumerate(elements)]
        self._parts += [Drawn(picture, {}) for picture in (_node_picture(system), *_joint_pictures(system))]
        if shapes:
            size = _symbol_size([part.picture for part in self._parts], motion, built.multipliers)
            self._parts += [Drawn(picture, {"joint_id": k}) for k, picture in _pictures(joints, system, stations)]
            self._parts += [Drawn(picture, {}) for picture in _shape_pictures(system, joints, size)]
        first = self._draw(motion, built.multipliers)
        self._initial = np.concatenate([fields["points"] for fields in first])
        self.points = len(self._initial)
        self._names = list(dict.fromkeys(name for fields in first for name in fields if name != "points"))
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
    """How large symbols are, such as those of joints."""
    drawn = [(picture, picture.draw(motion, multipliers)["points"]) for picture in pictures]
    joints = [points for picture, points in drawn if isinstance(picture, JointPicture)]
    return symbol_size(np.concatenate([points for _, points in drawn]), np.concatenate([np.empty((0, 3)), *joints]))


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
