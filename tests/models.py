"""The generalised-alpha method in all its coordinates, and models to try it on: one that has a bit of everything."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from catalogue import PLAIN

import fem_mbs as mbs
from fem_mbs.elements import Beam, CurveJoint, Force, RevoluteJoint, RigidBody, SphericalJoint, SpinUp

CHARTS = {
    "Lie group": mbs.GeneralizedAlpha(0.8),
    "conformal rotation vector": mbs.UpdatedLagrangian(0.8),
    "rotation vector": mbs.UpdatedLagrangian(0.8, parametrization="rotation_vector"),
}
FORMULATIONS = ("stabilized", "index3", "index2")


def machine(group: str, drive: Callable[[float], float] | None = None) -> mbs.Model:
    """A driven crank, a flexible rod on a ball joint, and a disc on a hinge at its end."""
    model = mbs.Model("R3xSO3" if group == "mixed" else group, gravity=(0.3, 0.2, -9.0))
    other = "SE3" if group == "mixed" else None
    places = ((0.5, 0, 0), (1, 0, 0), (1.6, 0.1, 0), (2, 0.5, 0), (2, 0.7, 0.1))
    crank, *rod, disc = (model.add_node(p, group=other if k % 2 else None) for k, p in enumerate(places))
    model.add(RigidBody(crank, 2.0, (1, 2, 2.5), (0.1, 0.2, 0.3)))
    model.add(Beam(rod, PLAIN.with_damping(0.05)))
    model.add(RigidBody(disc, 1.0, (0.2, 0.2, 0.3)))
    model.add(
        RevoluteJoint(model.ground, crank, (0, 0, 1), point=(0, 0, 0), drive=drive or SpinUp(3.0, 1.0)), name="motor"
    )
    model.add(SphericalJoint(crank, rod[0]))
    model.add(RevoluteJoint(rod[-1], disc, (0, 1, 1)))
    model.add(Force(disc, lambda t: (t, 2, 3)))
    return model


def bead(group: str) -> mbs.Model:
    """On a ring, where its arc length is an unknown of its own."""
    model, turns = mbs.Model(group, gravity=(0, 0, -9.81)), np.linspace(0.0, 2.0 * np.pi, 25)
    node = model.add_node((0.5, 0, 0), velocity=(0, 0, 1))
    model.add(RigidBody(node, 1.0, (0.1, 0.1, 0.1)))
    model.add(CurveJoint(model.ground, node, 0.5 * np.stack([np.sin(turns), 0.0 * turns, -np.cos(turns)], axis=1)))
    return model
