"""Elements of order 2 and 3 of one beam as a curve of section frames: what they measure as built, and show.

docs/theory.md, "Elements of higher order".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.lagrange import gauss, lagrange
from fem_mbs.elements.relative_coordinates import RelativeCoordinates
from fem_mbs.elements.screw_strain import ScrewStrain
from fem_mbs.errors import ModelError
from fem_mbs.lie import se3

if TYPE_CHECKING:
    from fem_mbs.elements.beam import Beam

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
