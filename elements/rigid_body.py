"""Mass and inertia at a node."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.arrays import Array
from fem_mbs.elements.inertia import Inertia, InertiaContext
from fem_mbs.errors import ModelError
from fem_mbs.model import (
    Element,
    ElementBatch,
    Energy,
    Motion,
    Node,
    Numbering,
    check_node,
    is_symmetric,
    node_rows,
    number,
    real,
    shown,
    vector,
)


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

    Raises
    ------
    ModelError
        If the mass is not positive, or the inertia is not that of a body (symmetric, positive, triangle inequality).

    Notes
    -----
    ``m (A + Omega dot x c + Omega x (Omega x c))`` and ``J Omega dot + Omega x J Omega`` about the mass centre
    (Bruels, Cardona, Arnold 2012, eqs. 83-84, for a node at the mass centre).
    """

    def __init__(self, node: Node, mass: float, inertia: ArrayLike, center_of_mass: ArrayLike = (0, 0, 0)) -> None:
        self.nodes = (check_node(node, "RigidBody: node"),)
        self.mass = number(mass, f"RigidBody on {node}: mass", positive=True)
        self.inertia = _inertia_matrix(inertia, f"RigidBody on {node}: inertia")
        self.center_of_mass = vector(center_of_mass, f"RigidBody on {node}: center_of_mass")

    @classmethod
    def batch(cls, elements: Sequence[RigidBody], number: Numbering) -> ElementBatch:
        """All bodies of a model."""
        return BodyBatch(elements, number)


class PointMass(Element):
    """A mass without rotational inertia on a node, which needs that from elsewhere or a fixed rotation.

    Parameters
    ----------
    node : Node
        The point that carries the mass.
    mass : float
        Mass, positive.
    """

    def __init__(self, node: Node, mass: float) -> None:
        self.nodes = (check_node(node, "PointMass: node"),)
        self.mass = number(mass, f"PointMass on {node}: mass", positive=True)
        self.inertia = np.zeros((3, 3))
        self.center_of_mass = np.zeros(3)

    @classmethod
    def batch(cls, elements: Sequence[PointMass], number: Numbering) -> ElementBatch:
        """All point masses of a model."""
        return BodyBatch(elements, number)


class BodyBatch(ElementBatch):
    """Bodies and point masses as arrays."""

    def __init__(self, bodies: Sequence[RigidBody | PointMass], number: Numbering) -> None:
        self.owners = bodies
        self.nodes = node_rows(bodies, number)
        self._inertia = Inertia(
            self.nodes,
            np.array([body.mass for body in bodies]).reshape(-1, 1, 1),
            np.array([body.center_of_mass for body in bodies])[:, None],
            np.array([body.inertia for body in bodies])[:, None],
        )

    def force(self, motion: Motion, prescribed: None) -> tuple[Array, InertiaContext]:
        """Inertia and gravity forces."""
        force, context = self._inertia.force(motion)
        return force[:, 0], context

    def tangent(self, context: InertiaContext, dV: Array, dA: Array) -> Array:
        """Their derivative."""
        return self._inertia.tangent(context, dV, dA)

    def energy(self, motion: Motion) -> Energy:
        """Kinetic and gravity energy."""
        return Energy(kinetic=self._inertia.kinetic_energy(motion), gravity=self._inertia.gravity_energy(motion))


def _inertia_matrix(value: ArrayLike, label: str) -> Array:
    result = real(value)
    if result is not None and result.shape == (3,):
        result = np.diag(result)
    if result is None or not is_symmetric(result, 3):
        raise ModelError(f"{label} must be 3 principal values or a symmetric 3x3 matrix, received {shown(value)}")
    principal = np.linalg.eigvalsh(result)
    if principal[0] <= 0.0:
        raise ModelError(f"{label} must be positive, received principal values {principal}; a PointMass has none")
    if principal[2] > (principal[0] + principal[1]) * (1 + 1e-6):
        raise ModelError(
            f"{label}: no body has the principal values {principal}: each is at most the sum of the other two"
        )
    return result
