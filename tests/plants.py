"""A mass on a rail, and a rotor, to be controlled: equations of second order whose solutions are known."""

from __future__ import annotations

import numpy as np

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import NodeSensor, PointMass, RevoluteJoint, RigidBody
from fem_mbs.elements.joints.relative import RelativeJoint


class Rail(RelativeJoint):
    """Along x alone."""

    closes = ("translation y", "translation z", "rotation x", "rotation y", "rotation z")

    def __init__(self, a: mbs.Node, b: mbs.Node) -> None:
        super().__init__(a, b, None, np.eye(3))


def cart(group: str, mass: float = 0.5, speed: float = 0.0) -> tuple[mbs.Model, mbs.Node, NodeSensor, NodeSensor]:
    """A mass on a rail, with sensors of place and speed."""
    model = mbs.Model(group)
    node = model.add_node((0, 0, 0), velocity=(speed, 0, 0), name="cart")
    model.add(PointMass(node, mass))
    model.add(Rail(model.ground, node), name="rail")
    place = model.add(NodeSensor(node, "position", (1, 0, 0)), name="place")
    pace = model.add(NodeSensor(node, "velocity", (1, 0, 0)), name="pace")
    return model, node, place, pace


def rotor(group: str, inertia: float = 0.5) -> tuple[mbs.Model, mbs.Node, RevoluteJoint]:
    """A body on a hinge about z."""
    model = mbs.Model(group)
    node = model.add_node((0.3, 0, 0), name="rotor")
    model.add(RigidBody(node, 1e-9, (inertia, inertia, inertia)))
    hinge = model.add(RevoluteJoint(model.ground, node, (0, 0, 1), point=(0.3, 0, 0)), name="hinge")
    return model, node, hinge


def step_of_oscillator(t: Array, omega: float, damping: float) -> Array:
    """``x'' + 2 damping x' + omega^2 x = omega^2`` from rest at zero."""
    fast = np.sqrt(omega**2 - damping**2)
    return 1 - np.exp(-damping * t) * (np.cos(fast * t) + damping / fast * np.sin(fast * t))
