"""A beam as a picture: its centre line, and the surface that its cross-section sweeps."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.io.part import Cells, Kind
from fem_mbs.model import Motion, Node

SAME_FRAME = 1e-9


@runtime_checkable
class Drawable(Protocol):
    """What an element provides to be drawn as a beam: a chain of two-node elements with a cross-section.

    ``section.outline`` (m, 2) is the contour in the y-z plane, counter-clockwise; the methods are documented in
    :class:`fem_mbs.elements.Beam`.
    """

    nodes: tuple[Node, ...]
    section: Any

    def centerline(self, x: Array, R: Array, stations: int) -> tuple[Array, Array]:
        """Points ``(k, stations, 3)`` and section frames ``(k, stations, 3, 3)`` along the elements."""
        ...

    def section_forces(self, x: Array, R: Array) -> Array:
        """Section forces ``(k, 6)`` in the section frame."""
        ...


class BeamPart:
    """One beam.

    Every station of every element has ``1 + m`` points: the centre, then the outline. Neighbouring elements share no
    points, because section forces jump from one to the next.

    Parameters
    ----------
    beam : Drawable
        The element.
    beam_id : int
        Its number.
    rows : (k + 1,)
        Rows of its nodes in ``x``, ``R`` and in the arrays of a motion.
    x, R : (n, 3), (n, 3, 3)
        Initial positions and rotations of all nodes.
    stations : int
        Stations along each element, both ends included.
    """

    def __init__(self, beam: Drawable, beam_id: int, rows: IntArray, x: Array, R: Array, stations: int) -> None:
        self.beam, self.rows = beam, rows
        self.outline = np.concatenate([np.zeros((1, 2)), beam.section.outline])
        self.s = np.linspace(0.0, 1.0, stations)[:, None]
        starts, ends = self._open_ends(x[rows], R[rows])
        self.cells = self._cells(beam_id, starts, ends)

    def draw(self, motion: Motion, multipliers: Array) -> dict[str, Array]:
        """Points of all stations and what they carry.

        Inside an element the angular velocity is linear, and the velocity is that of the straight line between the
        nodes, plus angular velocity times the distance from it: exact at the nodes and for any rigid motion.
        """
        x, R, V = motion.x[self.rows], motion.R[self.rows], motion.V[self.rows]
        center, frames = self.beam.centerline(x, R, len(self.s))
        points = center[..., None, :] + self.outline @ np.swapaxes(frames[..., 1:], -1, -2)
        omega = self._linear(np.matvec(R, V[:, 3:]))
        velocity = self._linear(np.matvec(R, V[:, :3])) + np.cross(omega, points - self._linear(x))
        forces = self.beam.section_forces(x, R)[:, None, None]
        fields = {"points": points, "velocity": velocity, "angular_velocity": omega}
        fields |= {f"e{i + 1}": frames[..., None, :, i] for i in range(3)}
        fields |= {"section_force": forces[..., :3], "section_moment": forces[..., 3:]}
        return {name: np.broadcast_to(values, points.shape).reshape(-1, 3) for name, values in fields.items()}

    def _linear(self, values: Array) -> Array:
        """Nodal values ``(k + 1, 3)``, linear in between, at the stations: ``(k, stations, 1, 3)``."""
        return (values[:-1, None] * (1.0 - self.s) + values[1:, None] * self.s)[:, :, None]

    def _open_ends(self, x: Array, R: Array) -> tuple[IntArray, IntArray]:
        """Elements at whose start and at whose end the surface is open: at the ends of the beam and at its corners."""
        _, frames = self.beam.centerline(x, R, 2)
        corner = np.abs(frames[1:, 0] - frames[:-1, 1]).max(axis=(1, 2)) > SAME_FRAME
        return np.flatnonzero([True, *corner]), np.flatnonzero([*corner, True])

    def _cells(self, beam_id: int, starts: IntArray, ends: IntArray) -> list[Cells]:
        """Lines through the centres, quads between outlines, polygons over the open ends; normals outward."""
        elements = np.arange(len(self.rows) - 1)
        shape = (len(elements), len(self.s), len(self.outline))
        point = np.arange(np.prod(shape)).reshape(shape)
        ring = point[:, :, 1:]
        turned = np.roll(ring, -1, axis=2)
        lines = np.stack([point[:, :-1, 0], point[:, 1:, 0]], axis=-1)
        quads = np.stack([ring[:, :-1], turned[:, :-1], turned[:, 1:], ring[:, 1:]], axis=-1)
        caps = np.concatenate([ring[starts, 0, ::-1], ring[ends, -1]])
        return [
            _cells("line", Kind.LINE, beam_id, elements, lines),
            _cells("quad", Kind.SURFACE, beam_id, elements, quads),
            _cells("polygon", Kind.SURFACE, beam_id, np.concatenate([starts, ends]), caps),
        ]


def _cells(type_: str, kind: Kind, beam_id: int, elements: IntArray, points: IntArray) -> Cells:
    """Cells ``(elements, ..., p)`` in a row, with the numbers of their elements."""
    points = points.reshape(-1, points.shape[-1])
    n = len(points)
    element_id = np.repeat(elements, n // len(elements))
    return Cells(type_, points, {"part": np.full(n, kind), "beam_id": np.full(n, beam_id), "element_id": element_id})
