"""Mass and inertia at a node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.arrays import Array
from fem_mbs.contracts import (
    SMALLEST,
    Element,
    ElementBatch,
    Energy,
    ModelContext,
    Motion,
    Node,
    NodeLike,
    Numbering,
    Placed,
    Positive,
    RateSensitivities,
    Shape,
    Vector3,
    array,
    checked,
    consecutive,
    is_symmetric,
    shown,
)
from fem_mbs.elements.shapes import Ball, Ellipsoid, inertia_ellipsoid
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3

FEWEST, MOST = 1e-5, 10.0
"""Radius of gyration against the extent of the model, beyond which it looks wrong."""
SEEN = 0.4
"""Radius of the ball that stands for a point, against the size of symbols."""


def inertia_matrix(value: ArrayLike, label: object) -> Array:
    """The inertia of a body from principal values (3,) or a matrix (3, 3), or a :class:`ModelError`."""
    result = array(value, label, (3,), (3, 3), what="3 principal values or a symmetric 3x3 matrix")
    if result.shape == (3,):
        result = np.diag(result)
    if not is_symmetric(result, 3):
        raise ModelError(f"{label} must be 3 principal values or a symmetric 3x3 matrix, received {shown(value)}")
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
        Rotational inertia about the mass centre in the node frame: principal values or a symmetric matrix.
    center_of_mass : (3,)
        Mass centre in the node frame.
    shape : Box, Cylinder, Ball or Surface, optional
        What it looks like in pictures, where it is as built; by default the ellipsoid of uniform density that has its
        mass and inertia.

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

    @property
    def shape(self) -> Shape | None:
        """What it looks like, if that was given."""
        return self._shape

    @shape.setter
    def shape(self, shape: Shape | None) -> None:
        self._shape = shape
        self._on_node = None if shape is None else shape.on(self.nodes[0])

    def doubts(self, around: ModelContext) -> Iterable[str]:
        """An inertia that does not fit its mass."""
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
    """A mass without rotational inertia on a node, which needs that from elsewhere or a fixed rotation.

    Parameters
    ----------
    node : Node
        The point that carries the mass.
    mass : float
        Mass, positive.

    Notes
    -----
    The rotation of a node with trusses and point masses alone is held.
    """

    def __init__(self, node: NodeLike, mass: Positive) -> None:
        self.nodes, self.mass = (node,), mass
        self.inertia = np.zeros((3, 3))
        self.center_of_mass = np.zeros(3)

    @property
    def rotation_dependent(self) -> tuple[Node, ...]:
        """None: it acts on the place of its node alone."""
        return ()

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
        """Inertia and gravity forces."""
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
        """Gyroscopic and centrifugal terms."""
        C = np.zeros_like(self._mass)
        C[..., 3:] = context.gyroscopic
        return C

    gyroscopic = damping

    def mass(self, context: RigidBodyContext) -> Array:
        """The mass matrix about the node."""
        return self._mass

    def tangent(self, context: RigidBodyContext, dV: RateSensitivities, dA: RateSensitivities) -> Array:
        result: Array = self._mass @ dA.nodes[self._rows]
        result[..., 3:] += context.gyroscopic @ dV.nodes[self._rows, 3:, 3:] + self._of_weight(context)
        return result

    def rate_force(self, context: RigidBodyContext, dV: Array, dA: Array, inertial: Array) -> Array:
        force: Array = np.matvec(self._mass, dA) + np.matvec(context.gyroscopic, inertial[:, 3:])
        return force

    def _of_weight(self, context: RigidBodyContext) -> Array:
        """Derivative ``(n, 6, 3)`` of the weight against rotations."""
        return np.matvec(self._per_weight, context.gravity).reshape(-1, 6, 3)  # type: ignore[no-any-return]

    def energy(self, motion: Motion) -> Energy:
        V, R = motion.V[self._rows], motion.R[self._rows]
        m, first = self._mass[:, 0, 0], self._mass[:, [5, 3, 4], [1, 2, 0]]
        moment = m[:, None] * motion.x[self._rows] + np.matvec(R, first)
        kinetic = 0.5 * np.vecdot(V, np.matvec(self._mass, V))
        return Energy(kinetic=kinetic, gravity=-(moment @ motion.gravity))
