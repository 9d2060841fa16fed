"""What is removed from a model is as if it had never been added, and nothing that is used can be."""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.elements import (
    PID,
    Beam,
    BeamSection,
    Coupling,
    DistributedLoad,
    Force,
    JointActuator,
    JointSensor,
    JointSpring,
    RevoluteJoint,
    RigidBody,
    SlidingJoint,
)

SECTION = BeamSection.circle(radius=0.01, E=2.1e11, nu=0.3, rho=7850)


def pendulum(spring: bool = True) -> mbs.Model:
    model = mbs.Model(gravity=(0, 0, -9.81))
    bar = model.add_node((0.5, 0, 0), name="bar")
    model.add(RigidBody(bar, 2.0, (0.01, 0.2, 0.2)), name="body")
    hinge = model.add(RevoluteJoint(model.ground, bar, (0, 1, 0), point=(0, 0, 0)), name="hinge")
    if spring:
        model.add(JointSpring(hinge, 10.0), name="spring")
    return model


def machine() -> mbs.Model:
    """Everything that is built on something else."""
    model = pendulum()
    other = model.add_node((0.5, 1, 0), name="other")
    model.add(RigidBody(other, 2.0, (0.01, 0.2, 0.2)))
    second = model.add(RevoluteJoint(model.ground, other, (0, 1, 0), point=(0, 1, 0)), name="second")
    model.add(Coupling(model["hinge"], second, 2.0), name="gear")
    angle = model.add(JointSensor(second, "coordinate"), name="angle")
    torque = model.add(PID(1.0 - angle, 5.0), name="controller")
    model.add(JointActuator(second, torque), name="motor")
    post = model.add_node((1, 2, 0), name="post")
    model.fix(post)
    rail = Beam.line(model, (0, 2, 0), (1, 2, 0), SECTION, 4, name="rail", end_node=post, release_end="yz")
    model.fix(rail.nodes[0], translation=(False, False, True), rotation=False)
    model.add(DistributedLoad(rail, (0, 0, -1.0)), name="snow")
    slider = model.add_node((0.5, 2, 0), name="slider")
    model.add(RigidBody(slider, 1.0, (0.1, 0.1, 0.1)))
    model.add(SlidingJoint(rail, slider), name="slide")
    return model


def test_the_rest_is_as_if_it_had_never_been_there(tmp_path: Path) -> None:
    model = pendulum()
    before = mbs.simulate(model, 0.2, 0.01)
    spring = model["spring"]
    model.remove("spring")
    assert "spring" not in model and spring not in model.elements and "spring" not in str(model)
    after, plain = mbs.simulate(model, 0.2, 0.01), mbs.simulate(pendulum(spring=False), 0.2, 0.01)
    np.testing.assert_array_equal(after.history.x, plain.history.x)
    assert np.abs(after.history.x - before.history.x).max() > 1e-4
    after.save(tmp_path / "after.run")
    np.testing.assert_array_equal(mbs.load(tmp_path / "after.run").history.x, after.history.x)
    assert spring in before.system.elements and str(spring) == "JointSpring 'spring'"
    model.add(JointSpring(model["hinge"], 10.0), name="spring")
    np.testing.assert_array_equal(mbs.simulate(model, 0.2, 0.01).history.x, before.history.x)


@pytest.mark.parametrize(
    ("part", "using"),
    [
        ("hinge", ["JointSpring 'spring'", "Coupling 'gear'"]),
        ("second", ["JointSensor 'angle'", "JointActuator 'motor'", "Coupling 'gear'"]),
        ("angle", ["PID 'controller'"]),
        ("controller", ["JointActuator 'motor'"]),
        ("rail", ["DistributedLoad 'snow'", "EndRelease 'rail end'", "SlidingJoint 'slide'"]),
        ("slider", ["RigidBody 'RigidBody 3'", "SlidingJoint 'slide'"]),
        ("rail[2]", ["Beam 'rail'", "DistributedLoad 'snow'", "SlidingJoint 'slide'"]),
        (
            "rail[0]",
            ["Beam 'rail'", "DistributedLoad 'snow'", "GeneralJoint 'hold of rail[0]'", "SlidingJoint 'slide'"],
        ),
        ("bar", ["RigidBody 'body'", "JointSpring 'spring'", "RevoluteJoint 'hinge'", "Coupling 'gear'"]),
    ],
)
def test_what_is_used_stays_and_all_users_are_named(part: str, using: list[str]) -> None:
    model = machine()
    kept = [*model.nodes, *model.elements, *model.constraints]
    with pytest.raises(mbs.ModelError) as caught:
        model.remove(part)
    assert f"{model[part]} is used by {', '.join(using)}; remove" in str(caught.value)
    assert [*model.nodes, *model.elements, *model.constraints] == kept


def test_what_is_used_goes_with_its_users() -> None:
    model = machine()
    rail = model["rail"]
    model.remove(rail, "rail end", "snow", "slide", "slider", "RigidBody 3", "hold of rail[0]", *rail.nodes, "post")
    assert not [name for name in model._parts if "rail" in name or "slid" in name]
    model.remove(model["motor"], model["controller"], "angle", "gear")
    assert model.check().ok
    mbs.simulate(model, 0.02, 0.01)
    section = BeamSection.circle(radius=0.02, E=2.1e11, nu=0.3, rho=7850)
    Beam.line(model, (0, 2, 0), (1, 2, 0), section, 4, name="rail")
    assert model["rail"].nodes[2] is model["rail[2]"]


def test_nodes_that_nothing_uses() -> None:
    model = pendulum()
    lost = model.add_node((3, 0, 0))
    assert lost.name == "node 2" and not model.check().ok
    model.remove(lost)
    assert model.check().ok and lost not in model
    assert model.add_node((3, 0, 0)).name == "node 3"
    with pytest.raises(mbs.ModelError, match="belongs to another model"):
        model.add(Force(lost, (1, 0, 0)))


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("ground", "the ground stays"),
        ("bra", "is it 'bar'"),
        (3, "3 is not in this model"),
        (pendulum()["hinge"], "RevoluteJoint 'hinge' is not in this model"),
    ],
)
def test_what_cannot_be_removed(part: object, message: str) -> None:
    with pytest.raises(mbs.ModelError, match=message):
        pendulum().remove("spring", part)  # type: ignore[arg-type]


CHANGES = {
    "append": lambda m: m.nodes.append(m.ground),
    "sum in place": lambda m: setattr(m, "nodes", operator.iadd(m.nodes, [m.ground])),
    "entry": lambda m: operator.setitem(m.elements, 0, m.elements[0]),
    "taken out": lambda m: m.constraints.remove(m["hinge"]),
    "deleted": lambda m: operator.delitem(m.nodes, 1),
    "emptied": lambda m: m.elements.clear(),
    "other nodes": lambda m: setattr(m, "nodes", []),
    "other elements": lambda m: setattr(m, "elements", ()),
    "other constraints": lambda m: setattr(m, "constraints", []),
    "another ground": lambda m: setattr(m, "ground", m.nodes[1]),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_lists_of_a_model_are_to_be_looked_at(change: Callable[[mbs.Model], object]) -> None:
    model = pendulum()
    before = [list(model.nodes), list(model.elements), list(model.constraints)]
    with pytest.raises(mbs.ModelError, match=r"^Model: .* cannot be (set|changed); add_node\(\.\.\.\) and add"):
        change(model)
    assert before == [model.nodes, model.elements, model.constraints]


def test_a_beam_on_all_nodes_of_a_model_does_not_grow_with_it() -> None:
    model = mbs.Model()
    model.add_node((1, 0, 0))
    beam = model.add(Beam(model.nodes, SECTION))
    model.add_node((2, 0, 0))
    assert len(beam.constructor_arguments.arguments[0]) == len(beam.nodes) == 2
