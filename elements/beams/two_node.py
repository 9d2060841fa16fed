"""All beam elements of order 1 of a model as arrays: forces, exact tangents and energies.

Strains are measured by ``d = (U, w) = log(H_A^-1 H_B)``, the relative motion of the ends, in both interpolations, so
that one kernel serves them (Sonneville, Cardona, Bruels 2014; derived in docs/theory.md, "Beam"):

* ``SE3``: the strain measure is ``d`` itself.
* ``R3xSO3``, linear centre line and one-point quadrature: with the rotation ``R_m`` half-way between the ends,
  ``R_m^T (x_B - x_A) = U + j1 w x (w x U)``, ``j1 = (1 - sin(phi/2)/(phi/2))/phi^2``, because
  ``exp(-w/2) T^T(w) = sinh(W/2)/(W/2)``; the rotational part is ``w``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion, Numbering, RateSensitivities
from fem_mbs.elements.beams.inertia import BeamElements, Inertia, InertiaContext
from fem_mbs.elements.joints.frames import relative
from fem_mbs.errors import MotionError
from fem_mbs.lie import se3, so3
from fem_mbs.lie.so3 import MIDPOINT

if TYPE_CHECKING:
    from fem_mbs.elements.beams.beam import Beam


INTERPOLATIONS = ("SE3", "R3xSO3")


class MidpointStrain:
    """The strain measure ``s(d)`` of the R3xSO3 interpolation and its derivatives."""

    def __init__(self, d: Array) -> None:
        self.U, self.w = d[..., :3], d[..., 3:]
        self.coefficients = tuple(c[..., 0] for c in MIDPOINT(np.vecdot(self.w, self.w)))
        self.along = np.vecdot(self.w, self.U)[..., None]

    def value(self) -> Array:
        """``s = (j0 U + j1 (w.U) w, w)``, shape ``(..., 6)``."""
        j0, j1 = self.coefficients[:2]
        return np.concatenate([j0 * self.U + j1 * self.along * self.w, self.w], axis=-1)

    @cached_property
    def gradient(self) -> Array:
        """``S = ds/dd``, shape ``(..., 6, 6)``."""
        U, w, along = self.U, self.w, self.along
        j0, j1, d0, d1, _, _ = self.coefficients
        result = np.zeros((*U.shape[:-1], 6, 6))
        result[..., :3, :3] = j0[..., None] * so3.IDENTITY + so3.outer(j1 * w, w)
        result[..., :3, 3:] = so3.outer(d0 * U + d1 * along * w, w) + j1[..., None] * (
            so3.outer(w, U) + along[..., None] * so3.IDENTITY
        )
        result[..., 3:, 3:] = so3.IDENTITY
        return result

    def hessian(self, n: Array) -> Array:
        """Derivative of ``S^T (n, m)`` against ``d``: the Hessian of ``n . s``, shape ``(..., 6, 6)``."""
        U, w, Uw = self.U, self.w, self.along
        _, j1, d0, d1, dd0, dd1 = self.coefficients
        nU, nw = np.vecdot(n, U)[..., None], np.vecdot(n, w)[..., None]
        mixed = so3.outer(d0 * n + d1 * nw * w, w) + so3.outer(j1 * w, n) + (j1 * nw)[..., None] * so3.IDENTITY
        half = so3.outer(0.5 * (nU * dd0 + Uw * nw * dd1) * w + d1 * (nw * U + Uw * n), w) + so3.outer(j1 * U, n)
        diagonal = (nU * d0 + Uw * nw * d1)[..., None] * so3.IDENTITY
        result = np.zeros((*U.shape[:-1], 6, 6))
        result[..., :3, 3:] = mixed
        result[..., 3:, :3] = mixed.mT
        result[..., 3:, 3:] = half + half.mT + diagonal
        return result


def strain(interpolation: str, d: Array) -> Array:
    """Strain measure ``s(d)`` of an interpolation, shape ``(..., 6)``."""
    return d if interpolation == "SE3" else MidpointStrain(d).value()


MAX_TURN = 3.0
PARALLEL = 1e-14
CONSISTENT_MASS = np.array([[2.0, 1.0], [1.0, 2.0]]) / 6.0


class BeamContext(NamedTuple):
    """What the matrices need of the last force."""

    operator: se3.InverseTangent
    Q: Array
    measure: MidpointStrain | None
    stress: Array
    wrench: Array
    V: Array | None
    """Body velocities of the nodes, where there is damping."""
    inertia: InertiaContext


class BeamBatch(BeamElements):
    """Elements of order 1 of all beams with one interpolation.

    With ``d = log(H_A^-1 H_B)`` of the section frames, ``delta d = Q (delta_A, delta_B)``,
    ``Q = [-T^-1(-d), T^-1(d)]``, the internal forces are ``Q^T wrench`` with the wrench conjugate to ``d``.
    """

    def __init__(self, beams: Sequence[Beam], number: Numbering) -> None:
        super().__init__(beams, number)
        self.interpolation = beams[0].interpolation
        frames = np.concatenate([beam.frames for beam in beams])
        self.length = np.concatenate([beam.length for beam in beams])
        # the strain is measured in the frame of the first node, to which the second is turned where it was not parallel
        first = se3.adjoint(frames[:, 0], np.zeros_like(frames[:, 0, 0]))
        turn = frames[:, 1] @ np.swapaxes(frames[:, 0], -1, -2)
        offsets = np.concatenate([beam.offsets for beam in beams])
        self.turn = None if np.allclose(turn, so3.IDENTITY, rtol=0.0, atol=PARALLEL) else turn
        self.offsets = offsets if offsets.any() else None
        # body increments of the measured frames from those of the nodes; None for the identity
        self._to_first = self._to_second = None
        if self.offsets is not None:
            self._to_first = se3.adjoint(np.broadcast_to(so3.IDENTITY, turn.shape), -offsets[:, 0])
        if self.turn is not None or self.offsets is not None:
            self._to_second = se3.adjoint(turn.mT, -np.vecmat(offsets[:, 1], turn))
        d0 = np.matvec(first, np.concatenate([beam.d0 for beam in beams]))
        self.s0 = strain(self.interpolation, d0)
        # per unit of d, so that the wrench is (stiffness / L) (s - s0)
        to_wrench = first / self.length[:, None, None]
        back = first.mT
        sections = [beam.at(beam.gauss[0], "stiffness", "damping", "mass", "center", "inertia") for beam in beams]
        stiffness, damping, mass, center, J = (np.concatenate(part)[:, 0] for part in zip(*sections, strict=True))
        self.material = to_wrench @ stiffness @ back
        self._damped_by(to_wrench @ damping @ back)
        self._inertia = self._make_inertia(frames, offsets, mass, center, J)

    def _make_inertia(self, frames: Array, offsets: Array, mass: Array, center: Array, J: Array) -> Inertia:
        """Of the sections in the middles of the elements."""
        center = offsets + np.matvec(frames, center[:, None])
        J = frames @ (0.5 * self.length[:, None, None] * J)[:, None] @ frames.mT
        return Inertia(self.nodes, (mass * self.length)[:, None, None] * CONSISTENT_MASS, center, J)

    def force(self, motion: Motion, prescribed: None) -> tuple[Array, BeamContext]:
        inertia, inertia_context = self._inertia.force(motion)
        operator = se3.InverseTangent.of_frame(*self._relative_frame(motion.x.take(self.nodes, 0), inertia_context.R))
        if np.maximum.reduce(operator.phi_squared, axis=None) > MAX_TURN**2:
            check_turn(operator.phi_squared, self.owners)
        first = operator.back if self._to_first is None else operator.back @ self._to_first
        second = operator.value if self._to_second is None else operator.value @ self._to_second
        Q = np.concatenate([first, second], axis=-1)
        measure = MidpointStrain(operator.d) if self.interpolation == "R3xSO3" else None
        s = operator.d if measure is None else measure.value()
        wrench = stress = np.matvec(self.material, s - self.s0)
        if measure is not None:
            wrench = np.vecmat(stress, measure.gradient)
        V = None
        if self.damping_matrix is not None:
            V = motion.V.take(self.nodes, 0)
            wrench = wrench + np.matvec(self.damping_matrix, np.matvec(Q, V.reshape(-1, 12)))
        force = inertia.reshape(-1, 12) + np.vecmat(wrench, Q)
        return force, BeamContext(operator, Q, measure, stress, wrench, V, inertia_context)

    def tangent(self, context: BeamContext, dV: RateSensitivities, dA: RateSensitivities) -> Array:
        total = self._elastic(context)
        total += self._inertia.tangent(context.inertia, dV, dA)
        if self.damping_matrix is not None:
            total += self._viscous(context, dV.nodes[self.nodes])
        return total

    def rate_force(self, context: BeamContext, dV: Array, dA: Array, inertial: Array) -> Array:
        n = len(self.nodes)
        force = self._inertia.rate_force(context.inertia, inertial.reshape(n, 2, 6), dA.reshape(n, 2, 6)).reshape(n, 12)
        if self.damping_matrix is not None:
            force = force + np.vecmat(np.matvec(self.damping_matrix, np.matvec(context.Q, dV)), context.Q)
        return force

    def _elastic(self, context: BeamContext) -> Array:
        """Material and geometric stiffness (docs/theory.md, "Forces and tangent")."""
        operator, Q, measure, stress, wrench, V, _ = context
        material = self.material
        if measure is not None:
            S = measure.gradient
            material = S.mT @ material @ S + measure.hessian(stress[:, :3])
        if self.damping_matrix is not None and V is not None:
            material = material + self.damping_matrix @ self._rate_derivative(operator, V)
        d_operator = operator.derivative(wrench, transposed=True)
        # D(-T^-T(-d) wrench) = dual(wrench) - D(T^-T(d) wrench)
        first = se3.dual(wrench) - d_operator
        total = Q.mT @ material
        total[:, :6] += first if self._to_first is None else self._to_first.mT @ first
        total[:, 6:] += d_operator if self._to_second is None else self._to_second.mT @ d_operator
        return total @ Q

    def _viscous(self, context: BeamContext, dV: Array | None = None) -> Array:
        """Material damping where body velocities follow by ``dV`` (n, 2, 6, 6), the identity by default."""
        assert self.damping_matrix is not None
        along = Q = context.Q
        if dV is not None:
            along = np.concatenate([Q[..., :6] @ dV[:, 0], Q[..., 6:] @ dV[:, 1]], axis=-1)
        return Q.mT @ (self.damping_matrix @ along)

    def stress_ahead(self, context: BeamContext, d: Array) -> Array:
        change = np.matvec(context.Q, d)
        if context.measure is not None:
            change = np.matvec(context.measure.gradient, change)
        return context.stress + np.matvec(self.material, change)

    def with_stress(self, context: BeamContext, stress: Array) -> BeamContext:
        wrench = stress if context.measure is None else np.vecmat(stress, context.measure.gradient)
        return context._replace(stress=stress, wrench=wrench)

    def _relative_frame(self, x: Array, R: Array) -> tuple[Array, Array]:
        """``H_A^-1 H_B`` at the ends, of frames parallel to the first nodes and those that were parallel to them."""
        matmul, matvec, vecmat, stored = self._inertia.products
        x, R = stored(x), stored(R)
        if self.offsets is not None:
            x = x + matvec(R, self.offsets)
        if self.turn is not None:
            R = np.stack([R[:, 0], matmul(R[:, 1], self.turn)], axis=1)
        return matmul(R[:, 0].mT, R[:, 1]), vecmat(x[:, 1] - x[:, 0], R[:, 0])

    def _rate_derivative(self, operator: se3.InverseTangent, V: Array) -> Array:
        """Derivative of ``d dot = Q V`` against ``d``: ``D(T^-1(d) (V_B - V_A)) + D(bracket(d) V_A)``."""
        V_A, V_B = V[:, 0], V[:, 1]
        if self._to_first is not None:
            V_A = np.matvec(self._to_first, V_A)
        if self._to_second is not None:
            V_B = np.matvec(self._to_second, V_B)
        return operator.derivative(V_B - V_A) - se3.bracket(V_A)

    def _stored(self, motion: Motion) -> Array:
        d = se3.log(*self._relative_frame(motion.x[self.nodes], motion.R[self.nodes]))
        check_turn(np.vecdot(d[..., 3:], d[..., 3:]), self.owners)
        s = strain(self.interpolation, d) - self.s0
        return 0.5 * np.vecdot(s, np.matvec(self.material, s))


def relative_motion(x: Array, R: Array, owners: Sequence[Any]) -> Array:
    """``d = log(H_A^-1 H_B)``, ``(..., n, 6)``, of the section frames of the elements of ``owners``."""
    d = se3.log(*relative(x, R))
    check_turn(np.vecdot(d[..., 3:], d[..., 3:]), owners)
    return d


def check_turn(phi_squared: Array, owners: Sequence[Any]) -> None:
    """Raise :class:`MotionError` if an element turns by more than ``MAX_TURN``, where strains are no longer unique."""
    largest = np.maximum.reduce(phi_squared, axis=None)
    if largest <= MAX_TURN**2:
        return
    index = int(np.unravel_index(np.argmax(phi_squared), phi_squared.shape)[-1])
    owner = owners[index]
    element = index - owners.index(owner)
    nodes = [str(owner.nodes[k]) for k in owner.cells[element]]
    raise MotionError(
        f"{owner}: element {element + 1} of {len(owner.cells)} between {', '.join(nodes[:-1])} and {nodes[-1]} turns "
        f"by {np.degrees(np.sqrt(largest)):.0f} degrees, more than its interpolation can represent; refine the mesh "
        "there, or shorten the step if the motion is not meant"
    )
