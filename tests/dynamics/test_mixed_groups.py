"""Groups can be mixed in one model, and any choice converges to the same motion with order 2."""

from __future__ import annotations

import numpy as np
import pytest
from catalogue import PLAIN
from motions import fitted_order

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import Beam, RevoluteJoint, RigidBody, SphericalJoint
from fem_mbs.lie import so3


def hanging(beam_group: str, body_group: str, h: float) -> Array:
    """A beam on a ball joint swings with a spinning body hinged to its end; the end positions and rotations."""
    model = mbs.Model(beam_group, (0, 0, -9.81))
    spin = np.array([0.0, 0.0, 1.5])
    nodes = []
    for x in (0.0, 0.5, 1.0):
        R = so3.exp(np.array([x, 0.3, -x]))
        nodes.append(model.add_node((x, 0, 0), R, np.cross(spin, [x, 0, 0]), R.T @ spin))
    model.add(Beam(nodes, PLAIN))
    model.add(SphericalJoint(model.ground, nodes[0]))
    R = so3.exp(np.array([0.2, -0.4, 0.1]))
    p = np.array([1.2, 0.1, 0.0])
    whirl = spin + np.array([3.0, 0, 0])
    velocity = np.cross(spin, [1.0, 0, 0]) + np.cross(whirl, p - [1.0, 0, 0])
    body = model.add_node(p, R, velocity, R.T @ whirl, group=body_group)
    model.add(RigidBody(body, 0.5, (0.02, 0.03, 0.04), (0.05, 0, 0.02)))
    model.add(RevoluteJoint(nodes[-1], body, (1, 0, 0), point=(1, 0, 0)))
    solution = mbs.simulate(model, 0.5, h)
    return np.concatenate(
        [part(node)[-1].ravel() for node in (*nodes, body) for part in (solution.position, solution.rotation)]
    )


@pytest.mark.ci
@pytest.mark.parametrize("beam_group", ["R3xSO3", pytest.param("SE3", marks=pytest.mark.slow)])
def test_mixed_groups_converge_to_the_motion_of_one_group(beam_group: str) -> None:
    other = {"SE3": "R3xSO3", "R3xSO3": "SE3"}[beam_group]
    steps = np.array([0.01, 0.005, 0.0025])
    pure = np.array([hanging(beam_group, beam_group, h) for h in steps])
    mixed = np.array([hanging(beam_group, other, h) for h in steps])
    differences = np.abs(mixed - pure).max(axis=1)
    assert abs(fitted_order(steps, differences) - 2.0) < 0.1
    assert 1e-6 < differences[-1] < 1e-3
