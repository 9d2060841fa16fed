"""One beam as a curve of section frames: what its elements of order 2 and 3 measure as built, and how it is drawn.

docs/theory.md, "Elements of higher order".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Cells, Kind, Motion
from fem_mbs.elements.beams.curve_strain import RelativeCoordinates, ScrewStrain, gauss, lagrange
from fem_mbs.elements.beams.section import sections_at
from fem_mbs.errors import ModelError
from fem_mbs.lie import se3

if TYPE_CHECKING:
    from fem_mbs.elements.beams.beam import Beam


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


LEAST_SHARE = 0.02
"""Least share of the mass of an element that a node may have; equal distances give 0.125."""


class Basis(NamedTuple):
    """Polynomials of the nodes of elements at the quadrature points, ``(k, g, p)``, and their slopes."""

    values: Array
    slopes: Array


class BeamCurve:
    """What elements of higher order are as built.

    Attributes
    ----------
    basis : Basis
        At the quadrature points of the stiffness.
    s0 : (k, g, 6)
        Strain ``T(d) d'`` as built.
    metric : (k, g)
        Length along the centre line per unit of the places, at the quadrature points.
    length : (k,)
        Of the elements.
    """

    def __init__(self, beam: Beam, points: Array, frames: Array) -> None:
        self.beam = beam
        places, weights = beam.gauss
        self.basis = Basis(*lagrange(beam.places, places))
        self.d0 = RelativeCoordinates(points, frames, [beam] * len(points)).d
        self.s0 = self._strain(self.d0, places)
        self.metric = np.linalg.norm(self.s0[..., :3], axis=-1)
        self.length = self.metric @ weights
        s, w = gauss(beam.order + 1)
        shape, _ = lagrange(beam.places, s)
        metric = np.linalg.norm(self._strain(self.d0, s)[..., :3], axis=-1)
        self.weights = w * metric
        """Lengths that the quadrature points of the mass stand for, ``(k, order + 1)``."""
        self.shape, self.mass_places = shape, s
        shares = self.shared(self.weights).sum(axis=-1) / self.length[:, None]
        for element in np.flatnonzero((shares < LEAST_SHARE).any(axis=1)):
            inside = beam.nodes[beam.cells[element, 1]]
            raise ModelError(
                f"{beam}: in element {element + 1} of order {beam.order} the nodes inside are too far from where they "
                f"belong, {np.round(beam.places[element], 3)} of its length, beginning with {inside}; equal distances "
                "serve"
            )

    def shared(self, densities: Array) -> Array:
        """``int density N_i N_j``, ``(k, p, p)``, of densities times lengths ``(k, g)`` at the points of the mass."""
        result: Array = (self.shape * densities[..., None]).mT @ self.shape
        return result

    def forces(self, points: Array, frames: Array, s: Array) -> Array:
        """Section forces ``(..., k, m, 6)`` at places ``s`` (k, m), by the polynomial through the quadrature points."""
        d = self._relative(points, frames).d
        slopes = self._strain(d, self.beam.gauss[0])
        strains = (slopes.reshape(*points.shape[:-2], *slopes.shape[1:]) - self.s0) / self.metric[..., None]
        at_points = np.matvec(self.beam.stiffness, strains)
        through, _ = lagrange(np.broadcast_to(self.beam.gauss[0], (len(self.length), self.beam.order)), s)
        result: Array = through @ at_points
        return result

    def line(self, points: Array, frames: Array, s: Array) -> tuple[Array, Array]:
        """Points and section frames at places ``s``, ``(..., k, m, 3)``."""
        relative = self._relative(points, frames)
        R, y = se3.exp(self._basis_of(relative.d, s).values @ relative.d)
        R_ref, x_ref = relative.R_ref[:, None], relative.x_ref[:, None]
        shape = (*points.shape[:-2], len(s))
        return (x_ref + np.matvec(R_ref, y)).reshape(*shape, 3), (R_ref @ R).reshape(*shape, 3, 3)

    def _relative(self, points: Array, frames: Array) -> RelativeCoordinates:
        """Of any number of instants, one after the other."""
        p = self.beam.order + 1
        return RelativeCoordinates(points.reshape(-1, p, 3), frames.reshape(-1, p, 3, 3), [self.beam] * len(self.d0))

    def _basis_of(self, d: Array, s: Array) -> Basis:
        k = len(self.beam.places)
        return Basis(*(np.tile(part, (len(d) // k, 1, 1)) for part in lagrange(self.beam.places, s)))

    def _strain(self, d: Array, s: Array) -> Array:
        basis = self._basis_of(d, s)
        return ScrewStrain(basis.values @ d, basis.slopes @ d).value()
