"""A body with a few modal amplitudes, given by its mass and stiffness matrices.

With the velocity ``(U, Omega)`` of the node and the amplitudes ``q``, in the frame of the node,

    T = m U.U/2 + U.(Omega x s + S q') + Omega.J Omega/2 + Omega.C q' + q'.M q'/2,   s = m c + S q,

the kinetic energy of small deformations that move the mass centre, while the inertia against rotation stays: a
:class:`~fem_mbs.elements.flexible.flexible_body.FlexibleBody` of one interface, whose frame is that of its node, and of
which no more moments are known (docs/theory.md, "Modal body").
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.arrays import Array
from fem_mbs.contracts import InternalVariable, NodeLike, Positive, Vector3, array, checked, is_symmetric, shaped, shown
from fem_mbs.elements.bodies.rigid_body import Inertia
from fem_mbs.elements.flexible.flexible_body import ReducedBody
from fem_mbs.elements.flexible.reduction import Reduction, given_shapes
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
class ModalBody(ReducedBody):
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
        self.reduction, self.axes = self._reduced(), np.eye(3)[None]
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

    def _reduced(self) -> Reduction:
        """Its energy: first moments follow the amplitudes, second moments about the node stay."""
        k = len(self.modal_mass)
        K = 6 + k
        about_node = self.matrix()[3:6, 3:6]
        moments = np.zeros((4 + 3 * K, 4 + 3 * K))
        moments[0, 0], moments[0, 1:4] = self.mass, self.mass * self.center_of_mass
        moments[1:4, 1:4] = 0.5 * np.trace(about_node) * np.eye(3) - about_node
        # int x phi dm is skew: half of its axial vector
        moments[0, 22:], moments[1:4, 22:] = (
            self.translation.T.ravel(),
            np.hstack(list(-0.5 * so3.skew(self.rotation.T))),
        )
        moments = np.triu(moments) + np.triu(moments, 1).T
        whole = np.zeros((3, K, K))
        whole[:, 6:, 6:] = self.modal_stiffness, self.modal_damping, self.modal_mass
        return given_shapes(moments, *whole)
