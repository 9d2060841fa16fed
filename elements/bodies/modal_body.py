"""A body with a few modal amplitudes, given by its mass and stiffness matrices.

With the velocity ``(U, Omega)`` of the node and the amplitudes ``q``, in the frame of the node,

    T = m U.U/2 + U.(Omega x s + S q') + Omega.J Omega/2 + Omega.C q' + q'.M q'/2,   s = m c + S q,

the kinetic energy of small deformations that move the mass centre, while the inertia against rotation stays. Its
equations of motion, exact for this energy, with ``a = A - R^T g`` of the acceleration ``A`` of the node point:

    m a + Omega' x s + Omega x (Omega x s) + 2 Omega x S q' + S q''
    s x a + J Omega' + Omega x (J Omega + C q') + C q''
    S^T a + C^T Omega' + M q'' + D q' + K q

(docs/theory.md, "Modal body").
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.arrays import Array
from fem_mbs.contracts import (
    Element,
    ElementBatch,
    Energy,
    InternalVariable,
    Motion,
    NodeLike,
    Numbering,
    Positive,
    Vector3,
    array,
    checked,
    is_symmetric,
    shaped,
    shown,
)
from fem_mbs.elements.bodies.rigid_body import Inertia
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3


def modal_matrix(value: Any, label: object, size: int | None = None) -> Array:
    """A symmetric matrix, of the given size, from its rows or its diagonal."""
    k: Any = size
    what = "a symmetric matrix or its diagonal" if size is None else f"a symmetric {k} x {k} matrix or {k} numbers"
    result = array(value, label, (k,), (k, k), what=what)
    result = np.diag(result) if result.ndim == 1 else result
    if not is_symmetric(result, len(result)):
        raise ModelError(f"{label} must be {what}, received {shown(value)}")
    return result


Modal = Annotated[ArrayLike, modal_matrix]
Coupling = Annotated[ArrayLike, shaped((3, None), what="3 x k finite numbers, a column a mode")]


@checked
class ModalBody(Element):
    """A body that deforms by a few modes, as a finite-element program gives them.

    Parameters
    ----------
    node : Node
        The frame the body moves with, and against which it deforms.
    mass : float
        Mass, positive.
    inertia : (3,) or (3, 3)
        Rotational inertia about the mass centre of the undeformed body, node frame.
    modal_mass, modal_stiffness : (k, k)
        Mass and stiffness matrix of the amplitudes; ``k`` numbers stand for diagonals.
    modal_damping : (k, k), optional
        Damping matrix of the amplitudes; none by default.
    translation, rotation : (3, k), optional
        What momentum, and moment of momentum about the node, a unit rate of each amplitude has while the node rests:
        ``int phi dm`` and ``int x x phi dm`` of mode shapes ``phi``, node frame. None by default, as of free modes
        about the mass centre.
    center_of_mass : (3,)
        Mass centre of the undeformed body in the node frame.

    Raises
    ------
    ModelError
        If matrices do not fit together, or masses are not those of a body (positive together).

    Notes
    -----
    ``solution.internal_variables(body)`` has the amplitudes ``(nt, k)``.
    """

    center_of_mass: Array

    def __init__(
        self,
        node: NodeLike,
        mass: Positive,
        inertia: Inertia,
        modal_mass: Modal,
        modal_stiffness: Modal,
        *,
        modal_damping: Modal | None = None,
        translation: Coupling | None = None,
        rotation: Coupling | None = None,
        center_of_mass: Vector3 = (0.0, 0.0, 0.0),
    ) -> None:
        self.nodes, label = (node,), f"ModalBody on {node}"
        self.mass, self.inertia, self.center_of_mass = mass, np.asarray(inertia), np.asarray(center_of_mass)
        self.modal_mass = np.asarray(modal_mass)
        k = len(self.modal_mass)
        self.modal_stiffness = modal_matrix(modal_stiffness, f"{label}: modal_stiffness", k)
        self.modal_damping = modal_matrix(
            np.zeros((k, k)) if modal_damping is None else modal_damping, f"{label}: modal_damping", k
        )
        self.translation, self.rotation = (
            np.zeros((3, k))
            if value is None
            else array(value, f"{label}: {name}", (3, k), what=f"3 x {k} finite numbers, a column a mode")
            for name, value in (("translation", translation), ("rotation", rotation))
        )
        self._check_masses(label)
        self.internal_variables = tuple(InternalVariable(f"mode {i + 1}", "coordinate") for i in range(k))

    def matrix(self) -> Array:
        """Mass matrix ``(6 + k, 6 + k)`` of the undeformed body."""
        first = self.mass * so3.skew(self.center_of_mass)
        about_node = self.inertia - first @ so3.skew(self.center_of_mass)
        S, C = self.translation, self.rotation
        return np.block([[self.mass * np.eye(3), -first, S], [first, about_node, C], [S.T, C.T, self.modal_mass]])

    def _check_masses(self, label: str) -> None:
        units = np.sqrt(np.abs(np.diag(M := self.matrix())))
        if (units == 0.0).any() or np.linalg.eigvalsh(M / np.outer(units, units))[0] <= 0.0:
            raise ModelError(
                f"{label}: its masses are not those of a body: mass, inertia, modal_mass, translation and rotation "
                "together must give every motion a positive kinetic energy; look at the units and scale of the modes"
            )

    def batch_key(self) -> Hashable:
        return len(self.internal_variables)


class ModalBodyContext(NamedTuple):
    """What the matrices need of the last force."""

    a: Array
    """Acceleration of the node point less that of gravity, in the body frame."""
    gravity: Array
    Omega: Array
    Omega_dot: Array
    s: Array
    q_dot: Array


class ModalBatch(ElementBatch, of=ModalBody):
    """Bodies with ``k`` modes each as arrays."""

    def __init__(self, bodies: Sequence[ModalBody], number: Numbering) -> None:
        super().__init__(bodies, number)
        self.M0 = np.array([body.matrix() for body in bodies])
        self.m, self.s0 = self.M0[:, 0, 0], np.array([body.mass * body.center_of_mass for body in bodies])
        self.J, self.S, self.C = self.M0[:, 3:6, 3:6], self.M0[:, :3, 6:], self.M0[:, 3:6, 6:]
        self.K, self.D = (np.array([getattr(b, name) for b in bodies]) for name in ("modal_stiffness", "modal_damping"))
        self.damps = bool(self.D.any())

    def force(self, motion: Motion, prescribed: None) -> tuple[Array, ModalBodyContext]:
        """Inertia, gravity and elastic forces, ``(n, 6 + k)``."""
        row, momentum = self.nodes[:, 0], motion.momentum or motion
        q, q_dot, q_ddot = (part[self.own] for part in (motion.u, momentum.udot, motion.uddot))
        gravity = np.vecmat(motion.gravity, motion.R[row])
        Omega, a, Omega_dot = momentum.V[row, 3:], motion.A[row, :3] - gravity, motion.A[row, 3:]
        context = ModalBodyContext(a, gravity, Omega, Omega_dot, self.s0 + np.matvec(self.S, q), q_dot)
        force = np.matvec(self._mass(context.s), np.concatenate([a, Omega_dot, q_ddot], axis=-1))
        spun, moving = so3.cross(Omega, context.s) + 2.0 * np.matvec(self.S, q_dot), np.matvec(self.C, q_dot)
        force[:, :3] += so3.cross(Omega, spun)
        force[:, 3:6] += so3.cross(Omega, np.matvec(self.J, Omega) + moving)
        force[:, 6:] += np.matvec(self.D, motion.udot[self.own]) + np.matvec(self.K, q)
        return force, context

    def stiffness(self, context: ModalBodyContext) -> Array:
        """The weight turns against the body, and amplitudes move the mass centre."""
        turned = so3.skew(context.gravity)
        result = np.zeros_like(self.M0)
        result[:, :3, 3:6] = -self.m[:, None, None] * turned
        result[:, 3:6, 3:6] = -so3.skew(context.s) @ turned
        result[:, 6:, 3:6] = -self.S.mT @ turned
        spin = so3.skew(context.Omega)
        result[:, :3, 6:] = (so3.skew(context.Omega_dot) + spin @ spin) @ self.S
        result[:, 3:6, 6:] = -so3.skew(context.a) @ self.S
        result[:, 6:, 6:] = self.K
        return result

    def damping(self, context: ModalBodyContext) -> Array:
        """Gyroscopic and centrifugal terms, damping of the modes."""
        result = self.gyroscopic(context)
        result[:, 6:, 6:] = self.D
        return result

    def gyroscopic(self, context: ModalBodyContext) -> Array:
        """Gyroscopic and centrifugal terms."""
        spin, s = so3.skew(context.Omega), so3.skew(context.s)
        carried = so3.skew(np.matvec(spin, context.s) + 2.0 * np.matvec(self.S, context.q_dot))
        momentum = np.matvec(self.J, context.Omega) + np.matvec(self.C, context.q_dot)
        result = np.zeros_like(self.M0)
        result[:, :3, 3:6] = -carried - spin @ s
        result[:, 3:6, 3:6] = spin @ self.J - so3.skew(momentum)
        result[:, :3, 6:] = 2.0 * spin @ self.S
        result[:, 3:6, 6:] = spin @ self.C
        return result

    def mass(self, context: ModalBodyContext) -> Array:
        """The mass matrix of the deformed body."""
        return self._mass(context.s)

    def _mass(self, s: Array) -> Array:
        """With first moments ``s`` (n, 3)."""
        result, s = self.M0.copy(), so3.skew(s)
        result[:, :3, 3:6], result[:, 3:6, :3] = -s, s
        return result

    def energy(self, motion: Motion) -> Energy:
        row, q, q_dot = self.nodes[:, 0], motion.u[self.own], motion.udot[self.own]
        _, context = self.force(motion, None)
        V = np.concatenate([motion.V[row], q_dot], axis=-1)
        moment = self.m[:, None] * motion.x[row] + np.matvec(motion.R[row], context.s)
        return Energy(
            kinetic=0.5 * np.vecdot(V, np.matvec(self._mass(context.s), V)),
            strain=0.5 * np.vecdot(q, np.matvec(self.K, q)),
            gravity=-(moment @ motion.gravity),
        )
