"""Moving the whole model rigidly moves the whole solution rigidly, on both groups."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from catalogue import AWAY, COUPLED, GROUPS, HOME, RigidMotion
from rotated import CASES, NO_EQUILIBRIUM, classes, differences, model_of, turned, used

import fem_mbs as mbs
from fem_mbs.elements import Beam, Force, Moment, RevoluteJoint, RigidBody, SphericalJoint, SpinUp, SpringDamper
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


@pytest.mark.ci
@pytest.mark.parametrize("interpolation", ["SE3", "R3xSO3"])
@pytest.mark.parametrize("group", GROUPS)
def test_moved_model_moves_alike(group: str, interpolation: str) -> None:
    method = mbs.GeneralizedAlpha(0.8, newton=mbs.Newton(force_tolerance=1e-12))
    runs = [
        (mbs.simulate(m, 0.5, 0.02, method), m, n) for m, n in (machine(group, interpolation, p) for p in (HOME, AWAY))
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


SEEDS = {name: seed for seed, name in enumerate(CASES)}


QUICK = {name for name, seed in SEEDS.items() if seed % 10 == 0 and name != "block by functions"}
"""A tenth of the classes; all take their turn under slow."""


@pytest.mark.parametrize("group", ["R3xSO3", pytest.param("SE3", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in CASES]
)
def test_every_result_turns_with_the_model(name: str, group: str) -> None:
    """Every class, built elsewhere and turned at random: runs and equilibria."""
    pose = turned(np.random.default_rng(SEEDS[name]))
    assert differences(name, group, pose, "run") == {}
    if name not in NO_EQUILIBRIUM:
        assert differences(name, group, pose, "equilibrium") == {}
        return
    for where in (HOME, pose):
        with pytest.raises(mbs.FemMbsError):
            mbs.statics(model_of(CASES[name], group, where, moving=False))


@pytest.mark.ci
def test_every_public_class_is_turned() -> None:
    """A new class needs an entry in the catalogue, or in this campaign."""
    found = set().union(*(used(model_of(make, "R3xSO3", HOME, moving=False)) for make in CASES.values()))
    assert classes() - found == set()


def test_a_point_in_the_wrong_frame_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not given in the world does not turn with it."""
    strut = lambda n: SpringDamper(n.line[0], n.arc[2], 70.0, point_b=n.arc[2].position + (0.1, 0.2, 0.3))  # noqa: E731
    monkeypatch.setitem(CASES, "strut", strut)
    assert differences("strut", "SE3", AWAY, "run") and differences("strut", "SE3", AWAY, "equilibrium")


@pytest.mark.slow
def test_campaign_of_rotated_models() -> None:
    """Nine rotations more."""
    for seed, name, group in product(range(1000, 1009), CASES, ("R3xSO3", "SE3")):
        for how in ("run", "equilibrium")[: 1 if name in NO_EQUILIBRIUM else 2]:
            assert differences(name, group, turned(np.random.default_rng(seed)), how) == {}, f"{name}, {group}, {seed}"
