"""All elements of shells of a model as arrays: forces, exact tangents and energies.

Derived in docs/theory.md, "Shells". Under compression a sheet wrinkles, in waves that its elements may be too large
for. A plate of the bending stiffness ``D`` buckles under ``N`` into waves ``sin(k s)`` across it where ``N = D k^2``;
where it is curved along their crests, by ``kappa``, they stretch it, and

    N(k) = D k^2 + C kappa^2/k^2

with the stiffness ``C`` against that stretch (Koiter; for a cylinder, of radius ``R``, the least is the classical
``E h^2/(R sqrt(3 (1 - nu^2)))``). An element of the length ``a`` buckles alone where half a wave fits in it, at ``k >=
pi/a``. From half of that load on waves of less than three elements grow, and the mesh shows its own in their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion, Numbering
from fem_mbs.elements.beams.curve_strain import RelativeCoordinates, ScrewStrain
from fem_mbs.elements.beams.inertia import BeamElements, Inertia, InertiaContext
from fem_mbs.elements.shells.section import DRILLING
from fem_mbs.elements.shells.strains import (
    ALTERNATING,
    GAUSS,
    MEASURES,
    ShellPoints,
    bilinear,
    of_turn,
    quad_coordinates,
    tension,
)
from fem_mbs.lie import se3, so3

if TYPE_CHECKING:
    from fem_mbs.elements.shells.shell import Shell

SHARE = 0.5
"""Of the compression that buckles an element, which its mesh can follow."""
WRINKLES = (
    "is compressed by {:.2g} times what its size allows, which is half of what buckles it alone: the sheet wrinkles in "
    "waves of less than three elements, and what is shown in their place depends on the mesh. Take smaller elements or "
    "a thicker sheet"
)


class ShellContext(NamedTuple):
    """What the matrices need of the last force."""

    relative: RelativeCoordinates
    Q: Array
    """Coordinates by increments of the section frames, ``(n, 24, 24)``."""
    measure: ScrewStrain
    turn: tuple[Array, Array]
    """Turns of frames against the surface at the points ``(n, 4, 3)``, and by coordinates ``(n, 4, 3, 24)``."""
    B: Array
    """Strains by coordinates, ``(n, s, 24)``: nine at each of four points, then the alternating drilling rotation."""
    stress: Array
    """Stresses times quadrature weights, without those of damping, ``(n, s)``."""
    viscous: Array | None
    V: Array | None
    """Velocities of the section frames ``(n, 4, 6)``, where there is damping."""
    inertia: InertiaContext


class ShellBatch(BeamElements):
    """Elements of all shells, with four nodes and four quadrature points.

    With the coordinates ``d`` of the nodes, ``delta d = Q delta``, and the strains ``s(d)``, ``delta s = B delta d``,
    the internal forces are ``Q^T B^T stress``.
    """

    def __init__(self, shells: Sequence[Shell], number: Numbering) -> None:
        super().__init__(shells, number)
        self._frames = np.concatenate([shell.frames for shell in shells])
        middle = np.concatenate([shell.middle for shell in shells])
        self._middle = middle if middle.any() else None
        self._to_section = se3.adjoint(self._frames.mT, -np.vecmat(middle, self._frames))
        d0 = np.concatenate([shell.d0 for shell in shells])
        self._points = ShellPoints(d0, GAUSS)
        area = self._points.area
        self._alternating0 = self._alternating(d0)
        self._law = area[..., None, None] * np.concatenate([shell.stiffness for shell in shells])
        self._against_alternating = 4.0 * self._law[..., -1, -1].sum(axis=1)
        self._damped_by(np.array([shell.section.damping for shell in shells for _ in shell.cells]))
        self._hourglass = np.zeros((4, 6))
        self._hourglass[:, 5] = ALTERNATING
        # weights of second derivatives of rows, by place twice and by slope and place
        value, slope = self._points.basis.swapaxes(0, 1)
        self._pairs = [(a[:, :, None] * value[:, None]).reshape(-1, 16).T for a in (value, slope)]
        self._inertia = self._make_inertia(shells, area, middle)

    def _make_inertia(self, shells: Sequence[Shell], area: Array, middle: Array) -> Inertia:
        """Masses by quadrature; rotational inertia is lumped, about normals as much less as stiffness is against it."""
        mass, inertia = (
            np.array([getattr(shell.section, name) for shell in shells for _ in shell.cells])
            for name in ("mass", "inertia")
        )
        shared = share(area)
        normals = self._frames[..., 2]
        about = so3.IDENTITY - (1.0 - DRILLING) * so3.outer(normals, normals)
        J = (inertia[:, None] * shared.sum(axis=-1))[..., None, None] * about
        return Inertia(self.nodes, mass[:, None, None] * shared, middle, J)

    def force(self, motion: Motion, prescribed: None) -> tuple[Array, ShellContext]:
        inertia, inertia_context = self._inertia.force(motion)
        relative = self._relative(motion.x.take(self.nodes, 0), inertia_context.R)
        measure = self._points.rows(relative.d)
        strains, t = self._strains(measure, relative.d)
        (B, t_d), Q = self._gradient((measure.by_place(), measure.by_slope())), relative.gradient()
        _add_membrane(B, of_turn(t, t_d) + self._points.chords.gradient(relative.d)[:, None])
        stress = self._stress(strains)
        viscous = V = None
        if self.damping_matrix is not None:
            V = np.matvec(self._to_section, motion.V.take(self.nodes, 0))
            rate = np.matvec(B, np.matvec(Q, V.reshape(-1, 24)))
            viscous = self._stress_of_rates(rate)
        context = ShellContext(relative, Q, measure, (t, t_d), B, stress, viscous, V, inertia_context)
        at_frames = np.vecmat(np.vecmat(self._total(context), B), Q).reshape(-1, 4, 6)
        return (inertia + np.vecmat(at_frames, self._to_section)).reshape(-1, 24), context

    def stress_ahead(self, context: ShellContext, d: Array) -> Array:
        at_frames = np.matvec(self._to_section, d.reshape(-1, 4, 6)).reshape(-1, 24)
        change = np.matvec(context.B, np.matvec(context.Q, at_frames))
        return context.stress + self._stress(change)

    def coarse(self, motion: Motion) -> tuple[Array, str]:
        """Compression over that under which elements are too large for the waves of wrinkles."""
        d = self._relative(motion.x[self.nodes], motion.R[self.nodes]).d
        strains, _ = self._strains(self._points.rows(d), d)
        n, area = len(d), self._points.area.sum(axis=1)
        force = self._stress(strains)[:, :-1].reshape(n, 4, MEASURES)[..., :3].sum(axis=1)
        curved = (strains[:, :-1].reshape(n, 4, MEASURES) + self._points.as_built)[..., 3:6].mean(axis=1)
        law = self._law.sum(axis=1)[:, :6, :6] / area[:, None, None]
        return compression(force / area[:, None], curved, law, sides(d)), WRINKLES

    def waves(self, R: Array, turns: Array) -> Array:
        """How the normals turn in the corners."""
        turns = np.vecmat(turns[self.nodes], R[self.nodes] @ self._frames)[..., :2]
        changes = turns - turns.mean(axis=1, keepdims=True)
        return np.stack([(np.abs(part) ** 2).sum(axis=2).mean(axis=1) for part in (turns, changes)])

    def _stored(self, motion: Motion) -> Array:
        d = self._relative(motion.x[self.nodes], motion.R[self.nodes]).d
        s, _ = self._strains(self._points.rows(d), d)
        return 0.5 * np.vecdot(s, self._stress(s))

    def _relative(self, x: Array, R: Array) -> RelativeCoordinates:
        if self._middle is not None:
            x = x + np.matvec(R, self._middle)
        return quad_coordinates(x, R @ self._frames, self.owners)

    def _strains(self, measure: ScrewStrain, d: Array) -> tuple[Array, Array]:
        """Strains ``(n, s)`` and turns of frames against the surface ``(n, 4, 3)``, against those as built."""
        at_points, t = self._points.strains(d, measure)
        alternating = self._alternating(d) - self._alternating0
        return np.concatenate([at_points.reshape(len(d), -1), alternating], axis=1), t

    def _alternating(self, d: Array) -> Array:
        """Drilling rotations of alternating signs, which have no strains, ``(n, 1)``."""
        return (d[..., 5] @ ALTERNATING)[:, None]

    def _gradient(self, E: tuple[Array, Array]) -> tuple[Array, Array]:
        """``B`` (n, s, 24) without the part of turns, and turns by coordinates ``(n, 4, 3, 24)``."""
        at_points, turns = self._points.gradient(*E)
        n = len(turns)
        B = np.empty((n, 4 * MEASURES + 1, 24))
        B[:, :-1] = at_points.reshape(n, -1, 24)
        B[:, -1] = self._hourglass.ravel()
        return B, turns.copy()

    def _stress(self, strains: Array) -> Array:
        """The law at the points, and that of alternating drilling, times strains ``(n, s)`` or ``(n, s, c)``."""
        n, tail = len(strains), strains.shape[2:]
        result = np.empty_like(strains)
        at_points = self._law @ strains[:, :-1].reshape(n, 4, MEASURES, -1)
        result[:, :-1] = at_points.reshape(n, 4 * MEASURES, *tail)
        result[:, -1] = self._against_alternating.reshape(n, *[1] * len(tail)) * strains[:, -1]
        return result

    def _stress_of_rates(self, rates: Array) -> Array:
        """Stresses of damping: times in which strains change at these rates ``(n, s)`` or ``(n, s, c)``, as strains."""
        assert self.damping_matrix is not None
        return self._stress(self.damping_matrix.reshape(-1, *[1] * (rates.ndim - 1)) * rates)

    def _elastic(self, context: ShellContext) -> Array:
        relative, Q, B = context.relative, context.Q, context.B
        n = len(self.nodes)
        stress = self._total(context)
        inner = self._curvature(context, stress)
        inner += B.mT @ self._stress(B)
        right = inner @ Q
        if self.damping_matrix is not None:
            right += B.mT @ self._stress_of_rates(self._rate_derivative(context))
        wrench = np.vecmat(stress, B).reshape(n, 4, 6)
        return self._at_nodes(Q.mT @ right + relative.geometric(wrench, Q))

    def _viscous(self, context: ShellContext) -> Array:
        along = context.B @ context.Q
        return self._at_nodes(along.mT @ self._stress_of_rates(along))

    def _curvature(self, context: ShellContext, stress: Array) -> Array:
        """Second derivatives of the strains times stresses, by coordinates ``(n, 24, 24)``."""
        n = len(stress)
        t, t_d = context.turn
        at_points = stress[:, :-1].reshape(n, 4, MEASURES)
        N = tension(at_points[..., :3])
        rows = context.measure.second(self._points.at_rows(at_points, np.matvec(N, t)))
        place, mixed = (
            (pair @ part.reshape(n, -1, 36)).reshape(n, 4, 4, 6, 6).swapaxes(2, 3).reshape(n, 24, 24)
            for pair, part in zip(self._pairs, rows, strict=True)
        )
        del rows
        place += mixed
        place += mixed.mT
        place += t_d.reshape(n, 12, 24).mT @ (N @ t_d).reshape(n, 12, 24)
        place += self._points.chords.second(context.relative.d, N.sum(axis=1)[:, :2, :2])
        return place

    def _rate_derivative(self, context: ShellContext) -> Array:
        """Derivative of the strain rates at constant velocities against section increments, ``(n, s, 24)``."""
        assert context.V is not None
        relative, Q = context.relative, context.Q
        n = len(self.nodes)
        rates = np.matvec(Q, context.V.reshape(n, 24)).reshape(n, 4, 6)
        bent, turning = self._gradient(
            context.measure.rate_derivatives(*(self._points.basis[:, part] @ rates for part in range(2)))
        )
        bent[:, -1] = 0.0
        t, t_d = context.turn
        t_rate = (t_d @ rates.reshape(n, 1, 24, 1))[..., 0]
        by_chords = self._points.chords.rate_derivative(relative.d, rates)
        _add_membrane(bent, of_turn(t, turning) + of_turn(t_rate, t_d) + by_chords[:, None])
        return bent @ Q + context.B @ relative.rate_derivative(context.V, Q)


def _add_membrane(strains: Array, change: Array) -> None:
    """Add to strains ``(n, s, c)`` those ``(n, 4, 3, c)`` of the membrane at the points."""
    strains[:, :-1].reshape(len(strains), 4, MEASURES, -1)[:, :, :3] += change


def share(area: Array) -> Array:
    """``int N_i N_j dA``, ``(n, 4, 4)``, of areas ``(n, 4)`` that the quadrature points stand for."""
    values, _ = bilinear(GAUSS)
    return (values * area[..., None]).mT @ values


def sides(d: Array) -> Array:
    """From one edge to the opposite one, in both directions ``(n, 2, 2)``, of coordinates ``d`` (n, 4, 6)."""
    a, b, c, e = np.moveaxis(d[..., :2], 1, 0)
    return 0.5 * np.stack([b + c - a - e, c + e - a - b], axis=1)


def compression(force: Array, curvature: Array, law: Array, sides: Array) -> Array:
    """The largest compression over what elements can follow, ``(n,)``; negative in tension.

    Forces per length ``(n, 3)`` and curvatures ``(n, 3)`` come in the order 11, 22, 12, with twice the twist; ``law``
    (n, 6, 6) is that of a section, membrane first, ``sides`` (n, 2, 2) lead from one edge to the opposite one.
    """
    n11, n22, n12 = force.T
    least = 0.5 * (n11 + n22) - np.hypot(0.5 * (n11 - n22), n12)
    angle = 0.5 * np.arctan2(-2.0 * n12, n22 - n11)
    c, s = np.cos(angle), np.sin(angle)
    along, crest = np.stack([c * c, s * s, 2.0 * c * s], axis=-1), np.stack([s * s, c * c, -c * s], axis=-1)
    soft = np.linalg.inv(law[:, :3, :3])
    B = law[:, :3, 3:]
    D = np.vecdot(along, np.matvec(law[:, 3:, 3:] - B.mT @ soft @ B, along))
    stretch = np.vecdot(crest, curvature) ** 2 / np.vecdot(crest, np.matvec(soft, crest))
    length = np.linalg.norm(np.matvec(sides, np.stack([c, s], axis=-1)), axis=-1)
    squared = np.maximum((np.pi / length) ** 2, np.sqrt(stretch / D))
    return -least / (SHARE * (D * squared + stretch / squared))
