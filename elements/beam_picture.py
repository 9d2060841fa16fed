"""A beam as a picture: its centre line, and the surface that its cross-section sweeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.elements.lagrange import lagrange
from fem_mbs.elements.taper import sections_at
from fem_mbs.model import Cells, Kind, Motion

if TYPE_CHECKING:
    from fem_mbs.elements.beam import Beam

SAME_FRAME = 1e-9


class BeamPicture:
    """One beam.

    Every station of every element has ``1 + m`` points: the centre, then the outline. Neighbouring elements share no
    points, because section forces jump from one to the next.

    Parameters
    ----------
    beam : Beam
        The element.
    rows : (m,)
        Rows of its nodes in the arrays of a motion.
    stations : int
        Stations along each element, both ends included.
    """

    def __init__(self, beam: Beam, rows: IntArray, stations: int) -> None:
        self.beam, self.rows = beam, rows
        self.s = np.linspace(0.0, 1.0, stations)
        self.basis = lagrange(beam.places, self.s)[0]
        try:
            (outline,) = beam.at(self.s, "outline")
        except ValueError:  # contours of different numbers of points: that of the start stands for all
            first = sections_at(beam.section, np.zeros(1))[0].outline
            outline = np.broadcast_to(first, (len(beam.length), stations, *first.shape))
        self.outline = np.concatenate([np.zeros((*outline.shape[:2], 1, 2)), outline], axis=-2)
        x, R = (np.array([getattr(node, name) for node in beam.nodes]) for name in ("position", "rotation"))
        self.cells = self._cells(*self._open_ends(x, R))

    def draw(self, motion: Motion, multipliers: Array) -> dict[str, Array]:
        """Points of all stations and what they carry.

        Inside an element the angular velocity is the polynomial through those of its nodes, and the velocity is that of
        the line through the nodes, plus angular velocity times the distance from it: exact at the nodes and for any
        rigid motion.
        """
        x, R, V = motion.x[self.rows], motion.R[self.rows], motion.V[self.rows]
        center, frames = self.beam.centerline(x, R, len(self.s))
        points = center[..., None, :] + self.outline @ np.swapaxes(frames[..., 1:], -1, -2)
        omega = self._along(np.matvec(R, V[:, 3:]))
        velocity = self._along(np.matvec(R, V[:, :3])) + np.cross(omega, points - self._along(x))
        forces = self.beam.forces_at(x, R, self.s)[:, :, None]
        fields = {"points": points, "velocity": velocity, "angular_velocity": omega}
        fields |= {f"e{i + 1}": frames[..., None, :, i] for i in range(3)}
        fields |= {"section_force": forces[..., :3], "section_moment": forces[..., 3:]}
        return {name: np.broadcast_to(values, points.shape).reshape(-1, 3) for name, values in fields.items()}

    def _along(self, values: Array) -> Array:
        """Nodal values ``(m, 3)``, polynomials in between, at the stations: ``(k, stations, 1, 3)``."""
        along: Array = (self.basis @ values[self.beam.cells])[:, :, None]
        return along

    def _open_ends(self, x: Array, R: Array) -> tuple[IntArray, IntArray]:
        """Elements at whose start and at whose end the surface is open: at the ends of the beam and at its corners."""
        _, frames = self.beam.centerline(x, R, 2)
        corner = np.abs(frames[1:, 0] - frames[:-1, 1]).max(axis=(1, 2)) > SAME_FRAME
        return np.flatnonzero([True, *corner]), np.flatnonzero([*corner, True])

    def _cells(self, starts: IntArray, ends: IntArray) -> list[Cells]:
        """Lines through the centres, quads between outlines, polygons over the open ends; normals outward."""
        elements = np.arange(len(self.beam.length))
        shape = (len(elements), len(self.s), self.outline.shape[-2])
        point = np.arange(np.prod(shape)).reshape(shape)
        ring = point[:, :, 1:]
        turned = np.roll(ring, -1, axis=2)
        lines = np.stack([point[:, :-1, 0], point[:, 1:, 0]], axis=-1)
        quads = np.stack([ring[:, :-1], turned[:, :-1], turned[:, 1:], ring[:, 1:]], axis=-1)
        caps = np.concatenate([ring[starts, 0, ::-1], ring[ends, -1]])
        return [
            _cells("line", Kind.LINE, elements, lines),
            _cells("quad", Kind.SURFACE, elements, quads),
            _cells("polygon", Kind.SURFACE, np.concatenate([starts, ends]), caps),
        ]


def _cells(type_: str, kind: Kind, elements: IntArray, points: IntArray) -> Cells:
    """Cells ``(elements, ..., p)`` in a row, with the numbers of their elements."""
    points = points.reshape(-1, points.shape[-1])
    n = len(points)
    element_id = np.repeat(elements, n // len(elements))
    return Cells(type_, points, {"part": np.full(n, kind), "element_id": element_id})
