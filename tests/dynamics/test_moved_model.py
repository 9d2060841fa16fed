"""Moving the whole model rigidly moves the whole solution rigidly, on both groups."""

from __future__ import annotations

import numpy as np
import pytest
from catalogue import AWAY, COUPLED, GROUPS, HOME, RigidMotion

import fem_mbs as mbs
from fem_mbs.elements import Beam, Force, Moment, RevoluteJoint, RigidBody, SphericalJoint, SpinUp
from fem_mbs.lie import so3


def machine(group: str, interpolation: str, pose: RigidMotion) -> tuple[mbs.Model, list[mbs.Node]]:
    """A driven crank, a damped coupled beam on a hinge and a body on a ball joint, with loads and gravity."""
    model = mbs.Model("R3xSO3" if group == "mixed" else group, pose.vector((1.0, 2.0, -9.0)))
    rng, nodes = np.random.default_rng(0), []
    base = model.add_node(pose.point((0, 0, 0)), pose.Q)
    model.fix(base)
    for k, x in enumerate([0.5, 1.0, 1.5, 2.0, 2.5]):
        own = ("SE3", "R3xSO3")[k % 2] if group == "mixed" else None
        nodes.append(model.add_node(pose.point((x, 0, 0)), pose.Q @ so3.exp(rng.normal(size=3)), group=own))
    crank, *chain, end = nodes
    for node in (crank, end):
        model.add(RigidBody(node, 1.0, (0.1, 0.2, 0.25), (0.1, 0, 0.1)))
    axis = pose.vector((0, 0, 1))
    motor = RevoluteJoint(base, crank, axis, point=pose.point((0, 0, 0)), drive=SpinUp(4.0, 0.3))
    model.add(motor, name="motor")
    model.add(RevoluteJoint(crank, chain[0], pose.vector((0, 1, 0.2)), point=pose.point((1, 0, 0))), name="hinge")
    model.add(Beam(chain, COUPLED.with_damping(0.05), pose.vector((0, 1, 1)), interpolation=interpolation))
    model.add(SphericalJoint(chain[-1], end, point=pose.point((2, 0, 0))), name="ball")
    model.add(Force(end, lambda t: pose.vector((0, 0, 5 * np.sin(9 * t))), point=end.at((0, 0.1, 0))))
    model.add(Moment(chain[1], (0.1, 0.2, 0.3), frame="body"))
    return model, nodes


@pytest.mark.parametrize("interpolation", ["SE3", "R3xSO3"])
@pytest.mark.parametrize("group", GROUPS)
def test_moved_model_moves_alike(group: str, interpolation: str) -> None:
    method = mbs.GeneralizedAlpha(0.8, newton=mbs.Newton(force_tolerance=1e-12))
    runs = [
        (mbs.simulate(m, 1.0, 0.02, method), m, n) for m, n in (machine(group, interpolation, p) for p in (HOME, AWAY))
    ]
    (here, model, nodes), (there, moved, moved_nodes) = runs
    for a, b in zip(nodes, moved_nodes, strict=True):
        assert np.abs(here.displacement(a)).max() > 0.3
        np.testing.assert_allclose(there.position(b), here.position(a) @ AWAY.Q.T + AWAY.c, rtol=0, atol=1e-9)
        np.testing.assert_allclose(there.rotation(b), AWAY.Q @ here.rotation(a), rtol=0, atol=1e-9)
        np.testing.assert_allclose(there.angular_velocity(b), here.angular_velocity(a), rtol=0, atol=1e-8)
    for a, b in zip(model.constraints, moved.constraints, strict=True):
        for one, two in zip(here.reaction(a), there.reaction(b), strict=True):
            np.testing.assert_allclose(two, one @ AWAY.Q.T, rtol=0, atol=1e-7 * np.abs(one).max() + 1e-7)
