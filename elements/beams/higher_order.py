"""Beam elements of order 2 or 3: what those of one beam measure as built, and all of a model as arrays.

Derived in docs/theory.md, "Elements of higher order".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion, Numbering
from fem_mbs.elements.beams.curve_strain import RelativeCoordinates, ScrewStrain, gauss, lagrange
from fem_mbs.elements.beams.inertia import BeamElements, Inertia, InertiaContext
from fem_mbs.errors import ModelError
from fem_mbs.lie import se3

if TYPE_CHECKING:
    from fem_mbs.elements.beams.beam import Beam


LEAST_SHARE = 0.02
"""Least share of the mass of an element that a node may have; equal distances give 0.125."""


WAVE_LIMITS = {2: 0.6, 3: 0.65}
"""Of waves, by order: frequencies of a hinged beam are 30 % too high there, as with order 1 at 0.45."""


class BeamCurve:
    """What elements of higher order are as built.

    Attributes
    ----------
    basis : tuple of (k, g, p)
        Polynomials of the nodes at the quadrature points of the stiffness, and their slopes.
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
        self.basis = lagrange(beam.places, places)
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
        return (self.shape * densities[..., None]).mT @ self.shape

    def forces(self, points: Array, frames: Array, s: Array) -> Array:
        """Section forces ``(..., k, m, 6)`` at places ``s`` (k, m), by the polynomial through the quadrature points."""
        d = self._relative(points, frames).d
        slopes = self._strain(d, self.beam.gauss[0])
        strains = (slopes.reshape(*points.shape[:-2], *slopes.shape[1:]) - self.s0) / self.metric[..., None]
        at_points = np.matvec(self.beam.stiffness, strains)
        through, _ = lagrange(np.broadcast_to(self.beam.gauss[0], (len(self.length), self.beam.order)), s)
        return through @ at_points

    def slopes(self, s: Array) -> Array:
        """Strains ``T(d) d'`` as built at places ``s``, ``(k, m, 6)``."""
        return self._strain(self.d0, s)

    def line(self, points: Array, frames: Array, s: Array) -> tuple[Array, Array]:
        """Points and section frames at places ``s``, ``(..., k, m, 3)``."""
        relative = self._relative(points, frames)
        R, y = se3.exp(self._basis_of(relative.d, s)[0] @ relative.d)
        at = relative.x[:, None] + np.matvec(relative.R[:, None], y)
        shape = (*points.shape[:-2], len(s))
        return at.reshape(*shape, 3), (relative.R[:, None] @ R).reshape(*shape, 3, 3)

    def _relative(self, points: Array, frames: Array) -> RelativeCoordinates:
        """Of any number of instants, one after the other."""
        p = self.beam.order + 1
        return RelativeCoordinates(points.reshape(-1, p, 3), frames.reshape(-1, p, 3, 3), [self.beam] * len(self.d0))

    def _basis_of(self, d: Array, s: Array) -> list[Array]:
        k = len(self.beam.places)
        return [np.tile(part, (len(d) // k, 1, 1)) for part in lagrange(self.beam.places, s)]

    def _strain(self, d: Array, s: Array) -> Array:
        return ScrewStrain(*(part @ d for part in self._basis_of(d, s))).value()


class HigherOrderContext(NamedTuple):
    """What the matrices need of the last force."""

    relative: RelativeCoordinates
    Q: Array
    """Coordinates by increments of the section frames, ``(n, 6p, 6p)``."""
    measure: ScrewStrain
    E: Array
    """Strains by place and slope ``(d, d')``, ``(n, g, 6, 12)``."""
    stress: Array
    """Section forces times quadrature weights, without those of damping, ``(n, g, 6)``."""
    viscous: Array | None
    V: Array | None
    """Velocities of the section frames, where there is damping."""
    inertia: InertiaContext


class HigherOrderBatch(BeamElements):
    """Elements of one order of all beams, with ``p`` nodes and ``g = p - 1`` quadrature points.

    With the coordinates ``d`` of the nodes, ``delta d = Q delta``, place and slope ``S_g d`` at a quadrature point and
    the derivatives ``E_g`` of the strain by these, the internal forces are ``Q^T sum_g S_g^T E_g^T stress_g``.
    """

    def __init__(self, beams: Sequence[Beam], number: Numbering) -> None:
        super().__init__(beams, number)
        self.wave_limit = WAVE_LIMITS[self.nodes.shape[1] - 1]
        curves = [beam.curve for beam in beams]
        self._basis = np.stack([np.concatenate([curve.basis[part] for curve in curves]) for part in range(2)], axis=2)
        """Values and slopes of the polynomials, ``(n, g, 2, p)``."""
        self._frames, self._offsets = (
            np.concatenate([getattr(beam, part) for beam in beams]) for part in ("frames", "offsets")
        )
        back = self._frames.mT
        self._to_section = se3.adjoint(back, -np.matvec(back, self._offsets))
        self.s0 = np.concatenate([curve.s0 for curve in curves])
        places, weights = beams[0].gauss
        scale = (weights / np.concatenate([curve.metric for curve in curves]))[..., None, None]
        self.material, damping = (
            scale * np.concatenate([beam.at(places, name)[0] for beam in beams]) for name in ("stiffness", "damping")
        )
        self._damped_by(damping)
        self._inertia = self._make_inertia(beams)

    def _make_inertia(self, beams: Sequence[Beam]) -> Inertia:
        """Masses by Gauss quadrature; rotational inertia and mass centres are those of the sections at the nodes."""
        masses, centers, J = [], [], []
        for beam in beams:
            curve = beam.curve
            (density,) = beam.at(curve.mass_places, "mass")
            masses.append(curve.shared(curve.weights * density))
            center, inertia = beam.at(beam.places, "center", "inertia")
            centers.append(center)
            J.append(curve.shared(curve.weights).sum(axis=-1)[..., None, None] * inertia)
        center = self._offsets + np.matvec(self._frames, np.concatenate(centers))
        turned = self._frames @ np.concatenate(J) @ self._frames.mT
        return Inertia(self.nodes, np.concatenate(masses), center, turned)

    def force(self, motion: Motion, prescribed: None) -> tuple[Array, HigherOrderContext]:
        inertia, inertia_context = self._inertia.force(motion)
        relative = self._relative(motion.x.take(self.nodes, 0), inertia_context.R)
        measure = self._measure(relative.d)
        Q, E = relative.gradient(), np.concatenate([measure.by_place(), measure.by_slope()], axis=-1)
        stress = np.matvec(self.material, measure.value() - self.s0)
        viscous = V = None
        if self.damping_matrix is not None:
            V = np.matvec(self._to_section, motion.V.take(self.nodes, 0))
            rate = np.matvec(E, self._at_points(np.matvec(Q, _flat(V))))
            viscous = np.matvec(self.damping_matrix, rate)
        context = HigherOrderContext(relative, Q, measure, E, stress, viscous, V, inertia_context)
        at_sections = np.vecmat(_flat(self._wrench(context)), Q).reshape(inertia.shape)
        return _flat(inertia + np.vecmat(at_sections, self._to_section)), context

    def stress_ahead(self, context: HigherOrderContext, d: Array) -> Array:
        at_sections = np.matvec(self._to_section, d.reshape(*self.nodes.shape, 6))
        change = np.matvec(context.E, self._at_points(np.matvec(context.Q, _flat(at_sections))))
        return context.stress + np.matvec(self.material, change)

    def _stored(self, motion: Motion) -> Array:
        d = self._relative(motion.x[self.nodes], motion.R[self.nodes]).d
        s = self._measure(d).value() - self.s0
        return 0.5 * np.vecdot(s, np.matvec(self.material, s)).sum(axis=-1)

    def _relative(self, x: Array, R: Array) -> RelativeCoordinates:
        return RelativeCoordinates(x + np.matvec(R, self._offsets), R @ self._frames, self.owners)

    def _measure(self, d: Array) -> ScrewStrain:
        at_points = self._at_points(_flat(d))
        return ScrewStrain(at_points[..., :6], at_points[..., 6:])

    def _at_points(self, values: Array) -> Array:
        """``S_g`` times nodal values ``(n, 6p)`` or matrices ``(n, 6p, c)``: ``(n, g, 12)`` or ``(n, g, 12, c)``."""
        n, g, _, p = self._basis.shape
        shared = self._basis.reshape(n, 2 * g, p) @ values.reshape(n, p, -1)
        return shared.reshape(n, g, 12, *values.shape[2:])

    def _wrench(self, context: HigherOrderContext) -> Array:
        """Forces conjugate to the coordinates, ``(n, p, 6)``."""
        n, g, _, p = self._basis.shape
        at_points = np.vecmat(self._total(context), context.E).reshape(n, 2 * g, 6)
        return self._basis.reshape(n, 2 * g, p).mT @ at_points

    def _elastic(self, context: HigherOrderContext) -> Array:
        """Material and geometric stiffness (docs/theory.md, "Elements of higher order")."""
        relative, Q, measure, E = context[:4]
        along = self._at_points(Q)
        by_place, by_slope = measure.second(self._total(context))
        inner = E.mT @ (self.material @ E)
        inner[..., :6, :6] += by_place
        inner[..., 6:, :6] += by_slope
        inner[..., :6, 6:] += by_slope.mT
        right = inner @ along
        if self.damping_matrix is not None:
            right = right + E.mT @ (self.damping_matrix @ self._rate_derivative(context, along))
        return self._at_nodes(_rows(along).mT @ _rows(right) + relative.geometric(self._wrench(context), Q))

    def _viscous(self, context: HigherOrderContext) -> Array:
        assert self.damping_matrix is not None
        along = context.E @ self._at_points(context.Q)
        return self._at_nodes(_rows(along).mT @ _rows(self.damping_matrix @ along))

    def _rate_derivative(self, context: HigherOrderContext, along: Array) -> Array:
        """Derivative of the strain rates at constant velocities against section increments, ``(n, g, 6, 6p)``."""
        assert context.V is not None
        rates = self._at_points(np.matvec(context.Q, _flat(context.V)))
        by_strain = np.concatenate(context.measure.rate_derivatives(rates[..., :6], rates[..., 6:]), axis=-1)
        turned = context.relative.rate_derivative(context.V, context.Q)
        return by_strain @ along + context.E @ self._at_points(turned)


def _rows(matrices: Array) -> Array:
    """Matrices of all quadrature points ``(n, g, r, c)`` on top of each other, ``(n, g r, c)``."""
    return matrices.reshape(len(matrices), -1, matrices.shape[-1])


def _flat(values: Array) -> Array:
    """``(n, 6p)`` from ``(n, p, 6)``."""
    return values.reshape(len(values), -1)
