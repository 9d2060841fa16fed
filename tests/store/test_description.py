"""Models as data: what is made again is the same to the bit, and nothing else can be in a file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from catalogue import ELEMENTS, JOINTS, build

import fem_mbs as mbs
from fem_mbs import Model, ModelError, System
from fem_mbs.elements import (
    Beam,
    BeamSection,
    Force,
    Harmonic,
    JointSpring,
    Junction,
    LowPass,
    NodeSensor,
    RevoluteJoint,
    RigidBody,
    SpringDamper,
    Table,
    TimeLaw,
    Vector,
)
from fem_mbs.files.store.build import rebuild
from fem_mbs.files.store.functions import read_samples, write_samples
from fem_mbs.files.store.recipe import Description, check_same, describe
from fem_mbs.files.store.values import packed

OWN = {"Brake", "Ratio", "Turner"}
"""Classes of the catalogue itself."""


def again(model: Model) -> Model:
    """The model as another process makes it of its description."""
    description = describe(System(model))
    return made(description)


def made(description: Description) -> Model:
    """What is made of it by way of a file."""
    model, samples = (json.loads(packed(own)) for own in (description.model, write_samples(description.functions)))
    return rebuild(model, read_samples(samples))


@pytest.mark.parametrize("kind", [ELEMENTS, JOINTS], ids=["elements", "joints"])
def test_every_class_of_the_library_is_the_same_when_it_is_made_again(kind: dict[str, object]) -> None:
    """``describe`` compares what it has described with what is made of that; only classes of scripts stay behind."""
    for name, make in kind.items():
        model, _ = build(make, group="mixed")  # type: ignore[arg-type]
        system = System(model)
        description = describe(system)
        parts = description.model["parts"]
        assert {part["unavailable"]["kind"] for part in parts if "unavailable" in part} <= OWN, name
        other = System(made(description))
        assert other.source == system.source, name
        assert np.array_equal(other.x0, system.x0) and np.array_equal(other.R0, system.R0), name


def test_laws_travel_as_numbers() -> None:
    model = Model()
    node = model.add_node((1, 0, 0))
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    law = 2.0 * Vector(Harmonic(1.0, 2.0), 0.0, Table([0.0, 1.0, 2.5], [0.0, 1.0, 3.0])) - np.array([1.0, 2.0, 3.0])
    model.add(Force(node, law.after(0.25)), name="f")
    other = next(part for part in again(model).elements if part.name == "f")
    for t in (0.0, 0.7, 2.3):
        assert np.array_equal(other.value(t), law.after(0.25)(t))  # type: ignore[attr-defined]
        assert np.array_equal(other.value.velocity(t), law.after(0.25).velocity(t))  # type: ignore[attr-defined]


def test_parts_are_built_on_nodes_where_these_were() -> None:
    """Assembly moves nodes: what was built before, and what after it, is each made again where it was."""
    model = Model()
    a, b = model.add_node((1.0, 0.1, 0.0), name="a"), model.add_node((2.1, 0.0, 0.0), name="b")
    for node in (a, b):
        model.add(RigidBody(node, 1.0, (0.1, 0.1, 0.1)))
    model.add(RevoluteJoint(model.ground, a, (0, 0, 1), point=(0, 0, 0)))
    model.add(RevoluteJoint(a, b, (0, 0, 1), point=(1.0, 0.1, 0.0), point_b=(1.1, 0.0, 0.0)), name="elbow")
    assert model.assemble().gap_before > 0.01
    model.add(SpringDamper(model.ground, b, stiffness=3.0), name="spring")
    model.assemble()
    first, second = System(model), System(again(model))
    assert np.array_equal(first.x0, second.x0) and np.array_equal(first.R0, second.R0)
    for name in ("elbow", "spring"):
        one, other = (next(p for p in s.number.parts if p.name == name) for s in (first, second))  # type: ignore[attr-defined]
        pairs = [(v, vars(other)[k]) for k, v in vars(one).items() if isinstance(v, float | np.ndarray)]
        assert pairs and all(np.array_equal(*pair) for pair in pairs)


def test_loops_of_blocks_are_closed_again() -> None:
    model = Model()
    node = model.add_node((1, 0, 0))
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    sensor = model.add(NodeSensor(node, "position", (1, 0, 0)))
    junction = model.add(Junction())
    block = model.add(LowPass(sensor - 0.5 * junction, 0.1))
    junction.connect(block + 1.0)
    assert len(again(model).elements) == 4


def test_a_part_that_was_changed_is_made_again_as_it_is() -> None:
    model = Model()
    node = model.add_node((1, 0, 0))
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    spring = model.add(SpringDamper(model.ground, node, stiffness=3.0), name="spring")
    before = System(model)
    spring.stiffness = 4.0
    assert [describe(own).system.elements[1].stiffness for own in (before, System(model))] == [3.0, 4.0]


def test_arrays_of_the_script_may_change_afterwards() -> None:
    model, axis = Model(), np.array([0.0, 1.0, 0.0])
    node = model.add_node((1, 0, 0))
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    model.add(RevoluteJoint(model.ground, node, axis, point=(0, 0, 0)))
    axis[:] = 1.0, 0.0, 0.0
    again(model)


def pair(stiffness: float = 3.0, extra: bool = False) -> dict[str, Any]:
    model = Model()
    node = model.add_node((1, 0, 0), name="tip")
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    hinge = model.add(RevoluteJoint(model.ground, node, (0, 1, 0), point=(0, 0, 0)), name="hinge")
    model.add(JointSpring(hinge, stiffness), name="spring")
    if extra:
        model.add(Force(node, (0, 0, 1.0)), name="push")
    return describe(System(model)).model


def test_models_that_differ_are_told_apart() -> None:
    check_same(pair(), pair(), "here")
    with pytest.raises(ModelError, match=r"'spring' was made of .*4\.0.*of the file of .*3\.0"):
        check_same(pair(4.0), pair(), "here")
    with pytest.raises(ModelError, match="'push' is only in the model"):
        check_same(pair(extra=True), pair(), "here")


@dataclass(frozen=True)
class Own(TimeLaw):
    """A law of a class of the script."""

    size = None

    def __call__(self, t: float) -> float:
        return t * t

    def velocity(self, t: float) -> float:
        return 2 * t

    def acceleration(self, t: float) -> float:
        return 2.0


def thicker(s: float) -> BeamSection:
    return BeamSection.circle(0.1 + 0.1 * s, 1e9, 0.3, 1e3)


def test_functions_are_known_where_they_were_asked() -> None:
    """Sections and directions are asked when a beam is built, drives at t = 0 alone."""
    model = Model()
    beam = Beam.line(
        model,
        (0, 0, 0),
        (1, 0, 0),
        lambda s: BeamSection.circle(0.1 + 0.1 * s, 1e9, 0.3, 1e3),
        3,
        y_axis=lambda x: (0, 1, 0),
    )
    model.fix(beam.nodes[0])
    end = beam.nodes[-1]
    model.add(Force(end, lambda t: (0, 0, 3.0 * t)), name="push")
    arm = model.add_node((2, 0, 0))
    model.add(RigidBody(arm, 1.0, (1, 1, 1)))
    model.add(RevoluteJoint(end, arm, (0, 1, 0), point=(1, 0, 0), drive=Own()), name="motor")
    other = again(model)
    assert np.array_equal(other.elements[0].stiffness, beam.stiffness)  # type: ignore[attr-defined]
    System(other)
    push = next(part for part in other.elements if part.name == "push")
    with pytest.raises(mbs.LawError, match="'<lambda>' is a function of the script.*is asked for 1.5"):
        push.value(1.5)  # type: ignore[attr-defined]


HOSTILE = [
    ('{"class":"Popen","arguments":["true"]}', "class 'Popen', which fem_mbs does not have"),
    ('{"class":"os.system","arguments":["true"]}', "which fem_mbs does not have"),
    ('{"eval":"1+1"}', "unknown kind"),
    ('{"array":["f",[1000000000000],""]}', "which its numbers do not have"),
    ('{"array":["f",[-1],[1.0,2.0]]}', "which its numbers do not have"),
    ('{"section":[["__class__",[]]]}', "made by '__class__'"),
    ('{"node":"17"}', "nothing in the model is called '17'"),
    ('{"node":"tip","node":"bob"}', "nothing in the model is called 'bob'"),
    ('{"part":0}', "built on itself"),
    ('{"function":3}', "function 3"),
]


@pytest.mark.parametrize(("text", "why"), HOSTILE)
def test_only_what_the_library_makes_is_made(text: str, why: str) -> None:
    description = pair()
    description["parts"][0]["arguments"][0] = json.loads(text)
    with pytest.raises(ModelError, match=why):
        rebuild(json.loads(packed(description)), [])
