"""Mass and inertia at a node, and a body with a few modal amplitudes, given by its mass and stiffness matrices.

With the velocity ``(U, Omega)`` of the node and the amplitudes ``q``, in the frame of the node,

    T = m U.U/2 + U.(Omega x s + S q') + Omega.J Omega/2 + Omega.C q' + q'.M q'/2,   s = m c + S q,

the kinetic energy of small deformations that move the mass centre, while the inertia against rotation stays: a
:class:`~fem_mbs.elements.flexible.flexible_body.FlexibleBody` of one interface, whose frame is that of its node, and of
which no more moments are known (docs/theory.md, "Modal body").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, ArrayLike
from fem_mbs.contracts import Element, ElementBatch, Energy, ModelContext, Node, NodeLike, Placed, Shape, checked
from fem_mbs.contracts.arguments import SMALLEST, Positive, Vector3, array, shaped, symmetric
from fem_mbs.contracts.component import InternalVariable, Numbering, consecutive
from fem_mbs.contracts.motion import Motion, RateSensitivities
from fem_mbs.elements.flexible.flexible_body import ReducedBody
from fem_mbs.elements.flexible.reduction import Reduction, given_shapes
from fem_mbs.elements.shapes import Ball, Ellipsoid, Solid, inertia_ellipsoid
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3

FEWEST, MOST = 1e-5, 5.0
"""Radius of gyration against the extent of the model, beyond which it looks wrong."""
SEEN = 0.4
"""Radius of the ball that stands for a point, against the size of symbols."""


def inertia_matrix(value: ArrayLike, label: object) -> Array:
    """The inertia of a body from principal values (3,) or a matrix (3, 3), or a :class:`ModelError`."""
    result = symmetric(value, label, 3, "3 principal values")
    principal = np.linalg.eigvalsh(result)
    if principal[0] < SMALLEST:
        raise ModelError(f"{label} must be positive, received principal values {principal}; a PointMass has none")
    if principal[2] > (principal[0] + principal[1]) * (1 + 1e-6):
        raise ModelError(
            f"{label}: no body has the principal values {principal}: each is at most the sum of the other two"
        )
    return result


Inertia = Annotated[ArrayLike, inertia_matrix]


@checked
class RigidBody(Element):
    """A rigid body on a node.

    Parameters
    ----------
    node : Node
        The frame the body moves with.
    mass : float
        Mass, positive.
    inertia : (3,) or (3, 3)
        Rotational inertia about the mass centre in the node frame: principal values or a symmetric matrix, with minus
        the integral of x y dm at 12: drawing programs often list products of inertia with the other sign.
    center_of_mass : (3,)
        Mass centre in the node frame.
    shape : Box, Cylinder, Ball or Surface, optional
        What it looks like in pictures, where it is as built; by default the ellipsoid of uniform density that has its
        mass and inertia. :meth:`solid` makes a body of one that is filled.

    Raises
    ------
    ModelError
        If the mass is not positive, or the inertia is not that of a body (symmetric, positive, triangle inequality).

    Notes
    -----
    ``m (A + Omega dot x c + Omega x (Omega x c))`` and ``J Omega dot + Omega x J Omega`` about the mass centre
    (Bruels, Cardona, Arnold 2012, eqs. 83-84, for a node at the mass centre).
    """

    center_of_mass: Array

    def __init__(
        self,
        node: NodeLike,
        mass: Positive,
        inertia: Inertia,
        center_of_mass: Vector3 = (0.0, 0.0, 0.0),
        *,
        shape: Shape | None = None,
    ) -> None:
        self.nodes = (node,)
        self.mass, self.inertia, self.center_of_mass = mass, np.asarray(inertia), np.asarray(center_of_mass)
        self.shape = shape

    @classmethod
    @checked
    def solid(
        cls, node: Node, shape: Solid, *, mass: Positive | None = None, density: Positive | None = None
    ) -> RigidBody:
        """A body of one material that fills its shape, from which mass centre and inertia follow.

        Parameters
        ----------
        node : Node
            The frame the body moves with.
        shape : Box, Cylinder or Ball
            What is filled, where it is as built.
        mass, density : float
            One of them.
        """
        volume, squares = shape.filled
        if mass is None and density is not None:
            mass = volume * density
        elif mass is None or density is not None:
            raise ModelError(f"RigidBody.solid on {node}: give a mass or a density, received {mass=} and {density=}")
        placed = shape.on(node)
        R = np.eye(3) if placed.rotation is None else placed.rotation
        inertia = mass * (R * (squares.sum() - squares)) @ R.T
        return cls(node, mass, inertia, np.asarray(placed.center), shape=shape)

    @property
    def shape(self) -> Shape | None:
        """What it looks like, if that was given."""
        return self._shape

    @shape.setter
    def shape(self, shape: Shape | None) -> None:
        self._shape = shape
        self._on_node = None if shape is None else shape.on(self.nodes[0])

    def doubts(self, around: ModelContext) -> Iterable[str]:
        radius = float(np.sqrt(np.linalg.eigvalsh(inertia_matrix(self.inertia, "inertia")).max() / self.mass))
        if around.extent > 0.0 and not FEWEST < radius / around.extent < MOST:
            yield (
                f"its radius of gyration, the root of inertia over mass, is {radius:.3g} in a model that extends over "
                f"{around.extent:.3g}; look at the units of its inertia"
            )

    def shapes(self, size: float) -> Sequence[Placed]:
        """Its shape, or the ellipsoid of its inertia; a ball in place of one that is too small to be seen."""
        shape = self._on_node or inertia_ellipsoid(self.mass, self.inertia, self.center_of_mass)
        if isinstance(shape, Ellipsoid) and shape.half.max() < SEEN * size:
            shape = Ball(SEEN * size, center=self.center_of_mass)
        return (Placed(self.nodes[0], shape),)


@checked
class PointMass(Element):
    """A mass without rotational inertia on a node.

    Parameters
    ----------
    node : Node
        The point that carries the mass.
    mass : float
        Mass, positive.

    Notes
    -----
    The rotation of its node is held where nothing else acts on it: springs, rods, ropes and forces at the node do not.
    """

    def __init__(self, node: NodeLike, mass: Positive) -> None:
        self.nodes, self.mass = (node,), mass
        self.inertia = np.zeros((3, 3))
        self.center_of_mass = np.zeros(3)

    @property
    def rotation_dependent(self) -> tuple[Node, ...]:
        """None: it acts on the place of its node alone."""
        return ()

    @property
    def rotation_free(self) -> tuple[Node, ...]:
        return self.nodes

    def shapes(self, size: float) -> Sequence[Placed]:
        return (Placed(self.nodes[0], Ball(SEEN * size)),)


class RigidBodyContext(NamedTuple):
    """What the matrices need of the last force."""

    gravity: Array
    gyroscopic: Array
    """Derivative ``(n, 6, 3)`` of the forces against the angular velocity."""


class BodyBatch(ElementBatch, of=(RigidBody, PointMass)):
    """Bodies and point masses as arrays.

    With the 6x6 mass matrix ``m`` of a body about its node, its momentum is ``m V``, and
    ``F = m (A - R^T g) + (Omega x p, Omega x l)`` with the momenta ``p, l`` of the rotation alone: ``A`` has the
    acceleration of the node point, so that ``Omega x U`` is in it. The second part is quadratic in ``Omega``, half its
    derivative times ``Omega``; that derivative and the one of the weight are linear, with coefficients that stay.

    With the node at the mass centre: Bruels, Cardona, Arnold (2012), eqs. 83, 84; Arnold, Cardona, Bruels (2015), eqs.
    21, 22; Holzinger, Arnold, Gerstmayr (2024), eq. 11.
    """

    def __init__(self, bodies: Sequence[RigidBody | PointMass], number: Numbering) -> None:
        super().__init__(bodies, number)
        self._rows = consecutive(self.nodes[:, 0])
        mass, J = (np.array([getattr(body, name) for body in bodies]) for name in ("mass", "inertia"))
        center = so3.skew(np.array([body.center_of_mass for body in bodies]))
        first = mass[:, None, None] * center
        n = len(bodies)
        self._mass = np.zeros((n, 6, 6))
        self._mass[:, :3, :3] = mass[:, None, None] * so3.IDENTITY
        self._mass[:, :3, 3:], self._mass[:, 3:, :3] = -first, first
        self._mass[:, 3:, 3:] = J - first @ center
        self._per_spin = so3.quadratic(self._mass[:, :, 3:].reshape(n, 2, 3, 3)).reshape(n, 18, 3)
        self._per_weight = -np.einsum("nil,jlk->nikj", self._mass[:, :, :3], so3.skew(so3.IDENTITY)).reshape(n, 18, 3)

    damps = False

    def force(self, motion: Motion, prescribed: None) -> tuple[Array, RigidBodyContext]:
        rows = self._rows
        Omega, a = (motion.momentum or motion).V[rows, 3:], motion.A[rows].copy()
        gravity = np.vecmat(motion.gravity, motion.R[rows])
        a[:, :3] -= gravity
        gyroscopic = np.matvec(self._per_spin, Omega).reshape(-1, 6, 3)
        return np.matvec(self._mass, a) + np.matvec(gyroscopic, 0.5 * Omega), RigidBodyContext(gravity, gyroscopic)

    def stiffness(self, context: RigidBodyContext) -> Array:
        """The weight turns against the body."""
        K = np.zeros_like(self._mass)
        K[..., 3:] = self._of_weight(context)
        return K

    def damping(self, context: RigidBodyContext) -> Array:
        C = np.zeros_like(self._mass)
        C[..., 3:] = context.gyroscopic
        return C

    gyroscopic = damping

    def mass(self, context: RigidBodyContext) -> Array:
        return self._mass

    def tangent(self, context: RigidBodyContext, dV: RateSensitivities, dA: RateSensitivities) -> Array:
        result: Array = self._mass @ dA.nodes[self._rows]
        result[..., 3:] += context.gyroscopic @ dV.nodes[self._rows, 3:, 3:] + self._of_weight(context)
        return result

    def rate_force(self, context: RigidBodyContext, dV: Array, dA: Array, inertial: Array) -> Array:
        return np.matvec(self._mass, dA) + np.matvec(context.gyroscopic, inertial[:, 3:])

    def _of_weight(self, context: RigidBodyContext) -> Array:
        """Derivative ``(n, 6, 3)`` of the weight against rotations."""
        return np.matvec(self._per_weight, context.gravity).reshape(-1, 6, 3)

    def energy(self, motion: Motion) -> Energy:
        V, R = motion.V[self._rows], motion.R[self._rows]
        m, first = self._mass[:, 0, 0], self._mass[:, [5, 3, 4], [1, 2, 0]]
        moment = m[:, None] * motion.x[self._rows] + np.matvec(R, first)
        kinetic = 0.5 * np.vecdot(V, np.matvec(self._mass, V))
        return Energy(kinetic=kinetic, gravity=-(moment @ motion.gravity))


Modal = Annotated[ArrayLike, partial(symmetric, diagonal="a diagonal")]
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
        damping = np.zeros(k) if modal_damping is None else modal_damping
        self.modal_stiffness = symmetric(modal_stiffness, f"{label}: modal_stiffness", k, f"{k} numbers")
        self.modal_damping = symmetric(damping, f"{label}: modal_damping", k, f"{k} numbers")
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
