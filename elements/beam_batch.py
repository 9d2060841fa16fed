"""All beam elements of a model as arrays: forces, exact tangents and energies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.inertia import Inertia, InertiaContext
from fem_mbs.elements.strain import MidpointStrain, strain
from fem_mbs.errors import MotionError
from fem_mbs.lie import se3
from fem_mbs.model import ElementBatch, Energy, Motion, Numbering, Tangent

if TYPE_CHECKING:
    from fem_mbs.elements.beam import Beam

MAX_TURN = 3.0
CONSISTENT_MASS = np.array([[2.0, 1.0], [1.0, 2.0]]) / 6.0


class Context(NamedTuple):
    """What the tangent needs of the last force."""

    operator: se3.InverseTangent
    forward: Array
    Q: Array
    measure: MidpointStrain | None
    stress: Array
    wrench: Array
    V: Array
    inertia: InertiaContext


class BeamBatch(ElementBatch):
    """Elements of all beams with one interpolation.

    With ``d = log(H_A^-1 H_B)`` of the section frames, ``delta d = Q (delta_A, delta_B)``,
    ``Q = [-T^-1(-d), T^-1(d)]``, the internal forces are ``Q^T wrench`` with the wrench conjugate to ``d``.
    """

    inertia = True

    def __init__(self, beams: Sequence[Beam], number: Numbering) -> None:
        counts = [len(beam.length) for beam in beams]
        rows = [np.array([number(node) for node in beam.nodes]) for beam in beams]
        self.nodes = np.concatenate([np.stack([r[:-1], r[1:]], axis=1) for r in rows])
        self.owners = [beam for beam, count in zip(beams, counts, strict=True) for _ in range(count)]
        self.interpolation = beams[0].interpolation
        self.frames = np.concatenate([beam.frames for beam in beams])
        self.length = np.concatenate([beam.length for beam in beams])
        d0 = np.concatenate([beam.d0 for beam in beams])
        self.s0 = strain(self.interpolation, d0)
        # per unit of d, so that the wrench is (stiffness / L) (s - s0)
        length = self.length[:, None, None]
        self.stiffness = np.repeat([beam.section.stiffness for beam in beams], counts, axis=0) / length
        damping = np.repeat([beam.section.damping for beam in beams], counts, axis=0) / length
        self.damping = damping if damping.any() else None
        self._to_nodes = _block_diagonal(self.frames)
        self._inertia = self._make_inertia(beams, counts)

    def _make_inertia(self, beams: Sequence[Beam], counts: list[int]) -> Inertia:
        mass, center, J = (
            np.repeat([getattr(beam.section, name) for beam in beams], counts, axis=0)
            for name in ("mass", "center", "inertia")
        )
        center = np.matvec(self.frames, center[:, None])
        J = self.frames @ (0.5 * self.length[:, None, None] * J)[:, None] @ np.swapaxes(self.frames, -1, -2)
        return Inertia(self.nodes, (mass * self.length)[:, None, None] * CONSISTENT_MASS, center, J)

    def force(self, motion: Motion, prescribed: None) -> tuple[Array, Context]:
        """Internal, inertia and gravity forces, ``(n, 12)``."""
        force, inertia_context = self._inertia.force(motion)
        d = relative_motion(motion.x[self.nodes], motion.R[self.nodes] @ self.frames, self.owners)
        operator = se3.InverseTangent(d)
        forward = operator.forward()
        Q = np.concatenate([operator.A - forward, forward], axis=-1) @ np.swapaxes(self._to_nodes, -1, -2)
        measure = MidpointStrain(d) if self.interpolation == "R3xSO3" else None
        s = d if measure is None else measure.value()
        stress = np.matvec(self.stiffness, s - self.s0)
        wrench = stress if measure is None else np.vecmat(stress, measure.gradient())
        V = motion.V[self.nodes].reshape(-1, 12)
        if self.damping is not None:
            wrench = wrench + np.matvec(self.damping, np.matvec(Q, V))
        total = force.reshape(-1, 12) + np.vecmat(wrench, Q)
        return total, Context(operator, forward, Q, measure, stress, wrench, V, inertia_context)

    def tangent(self, context: Context) -> Tangent:
        """Exact derivatives, ``(n, 12, 12)``."""
        operator, _, Q, measure, stress, wrench, V, inertia_context = context
        K, C, M = self._inertia.tangent(inertia_context)
        material = self.stiffness
        if measure is not None:
            S = measure.gradient()
            material = np.swapaxes(S, -1, -2) @ material @ S + measure.hessian(stress[:, :3])
        Qt = np.swapaxes(Q, -1, -2)
        if self.damping is not None:
            C = C + Qt @ self.damping @ Q
            material = material + self.damping @ self._rate_derivative(operator, V)
        geometric = operator.transposed_derivative(wrench)
        # D(-T^-T(-d) wrench) = dual(wrench) - D(T^-T(d) wrench)
        rows = self._to_nodes @ np.concatenate([se3.dual(wrench) - geometric, geometric], axis=-2)
        return Tangent(K + (Qt @ material + rows) @ Q, C, M)

    def _rate_derivative(self, operator: se3.InverseTangent, V: Array) -> Array:
        """Derivative of ``d dot = Q V`` against ``d``: ``D(T^-1(d) (V_B - V_A)) + D(bracket(d) V_A)``."""
        local = np.vecmat(V, self._to_nodes)
        V_A, V_B = local[:, :6], local[:, 6:]
        return operator.derivative(V_B - V_A) - se3.bracket(V_A)

    def energy(self, motion: Motion) -> Energy:
        """Kinetic, strain and gravity energy."""
        d = relative_motion(motion.x[self.nodes], motion.R[self.nodes] @ self.frames, self.owners)
        s = strain(self.interpolation, d) - self.s0
        stored = 0.5 * float(np.vecdot(s, np.matvec(self.stiffness, s)).sum())
        return Energy(self._inertia.kinetic_energy(motion), stored, self._inertia.gravity_energy(motion))


def relative_motion(x: Array, R: Array, owners: Sequence[Beam]) -> Array:
    """``d = log(H_A^-1 H_B)``, ``(..., n, 6)``, of the section frames ``x (..., n, 2, 3)``, ``R (..., n, 2, 3, 3)``.

    Raises
    ------
    MotionError
        If an element turns by more than ``MAX_TURN``, where its interpolation stops to be unique.
    """
    R_A = R[..., 0, :, :]
    d = se3.log(np.swapaxes(R_A, -1, -2) @ R[..., 1, :, :], np.vecmat(x[..., 1, :] - x[..., 0, :], R_A))
    turn = np.vecdot(d[..., 3:], d[..., 3:])
    if turn.max() > MAX_TURN**2:
        index = int(np.unravel_index(np.argmax(turn), turn.shape)[-1])
        beam = owners[index]
        element = index - owners.index(beam)
        raise MotionError(
            f"{beam}: element {element + 1} of {len(beam.length)} between {beam.nodes[element]} and "
            f"{beam.nodes[element + 1]} turns by {np.degrees(np.sqrt(turn.max())):.0f} degrees, more than its "
            "interpolation can represent; refine the beam there, or shorten the step if the motion is not meant"
        )
    return d


def _block_diagonal(frames: Array) -> Array:
    """``(n, 12, 12)`` that takes section components of both ends to node components."""
    result = np.zeros((len(frames), 12, 12))
    for block in range(4):
        part = slice(3 * block, 3 * block + 3)
        result[:, part, part] = frames[:, block // 2]
    return result
