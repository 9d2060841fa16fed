"""Models to try methods of time integration on: of moderate frequencies, moving from the start, anywhere in space."""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements import (
    Beam,
    BeamSection,
    Force,
    FrictionSpring,
    Maxwell,
    ModalBody,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
    SpringDamper,
)
from fem_mbs.model.model import Model
from fem_mbs.testing.stage import GRAVITY, HOME, RigidMotion

SECTION = BeamSection(EA=30.0, GA=(10.0, 12.0), GJ=3.0, EI=(4.0, 5.0), mass=1.3, inertia=(0.3, 0.1, 0.2))
SPIN = np.array([0.3, -0.4, 1.2])


def free(group: str = "R3xSO3", pose: RigidMotion = HOME) -> Model:
    """Two bodies, one with a mode, on a damped beam, with a Maxwell element to the ground; no joints."""
    model = _model(group, pose)
    first, middle, last = (_node(model, pose, place) for place in ((0.4, 0, 0.1), (1.0, 0.2, 0), (1.7, 0, 0.3)))
    model.add(RigidBody(first, 2.0, (1.0, 2.0, 2.5), (0.1, 0.2, 0.3)))
    model.add(Beam([first, middle, last], SECTION.with_damping(0.05), pose.vector((0, 1, 2))))
    model.add(
        ModalBody(last, 1.5, (0.4, 0.5, 0.6), [1.0], [15.0], modal_damping=[0.2], translation=[[0.4], [0.2], [0.1]])
    )
    model.add(Maxwell(model.ground, last, 5.0, 4.0, point_a=pose.point((1.5, -1, 1))))
    model.add(Force(middle, lambda t: pose.vector((np.sin(3 * t), 2.0, 3.0 * t))), name="push")
    return model


def joined(group: str = "R3xSO3", pose: RigidMotion = HOME) -> Model:
    """A driven crank, a rod on a ball joint, and a disc with a mode on a hinge at its end."""
    model = _model(group, pose)
    crank, *rod, disc = (
        _node(model, pose, place, np.array([0.0, 0.0, 1.2]))
        for place in ((0.5, 0, 0), (1, 0, 0), (1.6, 0.1, 0), (2, 0.5, 0), (2, 0.7, 0.1))
    )
    model.add(RigidBody(crank, 2.0, (1.0, 2.0, 2.5), (0.1, 0.2, 0.3)))
    model.add(Beam(rod, SECTION.with_damping(0.05), pose.vector((0, 1, 2))))
    model.add(
        ModalBody(disc, 1.0, (0.2, 0.2, 0.3), [1.0], [15.0], modal_damping=[0.2], translation=[[0.3], [0.2], [0.1]])
    )
    model.add(Maxwell(crank, disc, 5.0, 4.0, point_b=disc.at((0.1, 0.2, -0.1))))
    axis, origin = pose.vector((0, 0, 1)), pose.point((0, 0, 0))
    model.add(RevoluteJoint(model.ground, crank, axis, origin, drive=lambda t: 1.2 * t + 2.0 * t**2), name="motor")
    model.add(SphericalJoint(crank, rod[0]))
    model.add(RevoluteJoint(rod[-1], disc, pose.vector((0, 1, 1))))
    model.add(Force(disc, lambda t: pose.vector((t, 2, 3))), name="push")
    return model


def bodies(group: str = "R3xSO3", pose: RigidMotion = HOME) -> Model:
    """A driven crank, a rod on a ball joint and a disc on a hinge, all rigid and with nodes at their mass centres."""
    model = _model(group, pose)
    spin = np.array([0.0, 0.0, 1.2])
    crank, rod, disc = (_node(model, pose, place, spin) for place in ((0.5, 0, 0), (1.6, 0.1, 0), (2, 0.7, 0.1)))
    for node, mass in ((crank, 2.0), (rod, 1.3), (disc, 1.0)):
        model.add(RigidBody(node, mass, (0.5 * mass, mass, 1.2 * mass)))
    model.add(SpringDamper(crank, disc, 30.0, 0.5, point_b=disc.at((0.1, 0.2, -0.1))))
    axis, origin = pose.vector((0, 0, 1)), pose.point((0, 0, 0))
    model.add(RevoluteJoint(model.ground, crank, axis, origin, drive=lambda t: 1.2 * t + 2.0 * t**2), name="motor")
    model.add(SphericalJoint(crank, rod, pose.point((1, 0, 0))))
    model.add(RevoluteJoint(rod, disc, pose.vector((0, 1, 1)), pose.point((2, 0.5, 0))))
    model.add(Force(disc, lambda t: pose.vector((t, 2, 3))), name="push")
    return model


def slipping(group: str = "R3xSO3") -> Model:
    """A body thrown against a spring that slips."""
    model = Model(group)
    body = model.add_node((1, 0, 0), velocity=(2, 0.3, 0), angular_velocity=SPIN)
    model.add(RigidBody(body, 1.0, (1.0, 2.0, 2.5)))
    model.add(FrictionSpring(model.ground, body, stiffness=40.0, limit=5.0), name="brake")
    return model


def failing(until: float) -> Model:
    """A body under a force that is no number after some time."""
    model = Model()
    body = model.add_node((1, 0, 0), velocity=(2, 0.3, 0))
    model.add(RigidBody(body, 1.0, (1.0, 2.0, 2.5)))
    model.add(Force(body, lambda t: (1.0, t, 0.0 if t <= until else np.nan)), name="push")
    return model


def _model(group: str, pose: RigidMotion) -> Model:
    return Model("R3xSO3" if group == "mixed" else group, pose.vector(GRAVITY))


def _node(model: Model, pose: RigidMotion, place: tuple[float, float, float], spin: Array = SPIN):  # type: ignore[no-untyped-def]
    """A node that turns about the origin with everything else."""
    velocity = pose.vector(np.cross(spin, place))
    return model.add_node(pose.point(place), pose.Q, velocity, spin)
