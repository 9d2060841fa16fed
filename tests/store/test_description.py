"""Models as data: what is made again is the same to the bit, and nothing else can be in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest
from catalogue import ELEMENTS, JOINTS, build

import fem_mbs as mbs
from fem_mbs import Model, ModelError, System
from fem_mbs.elements import (
    Beam,
    BeamSection,
    CylindricalJoint,
    DistanceJoint,
    Force,
    Harmonic,
    JointDrive,
    JointSpring,
    Junction,
    LowPass,
    NodeSensor,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    SpringDamper,
    Surface,
    Table,
    Vector,
)
from fem_mbs.files.store.description import FunctionOfScript, check_same, describe, rebuild
from fem_mbs.files.store.values import packed

OWN = {"Brake", "Ratio", "Turner"}
"""Classes of the catalogue itself."""


def again(model: Model) -> Model:
    """The model as another process makes it of its description."""
    return made(describe(System(model)))


def made(description: dict[str, Any]) -> Model:
    """What is made of it by way of a file."""
    return rebuild(json.loads(packed(description)), lambda own: FunctionOfScript(own[1]))


@pytest.mark.ci(every_case=True)  # forces of what is made again are among the laws of elements and joints
@pytest.mark.parametrize("kind", [ELEMENTS, JOINTS], ids=["elements", "joints"])
def test_every_class_of_the_library_is_the_same_when_it_is_made_again(kind: dict[str, object]) -> None:
    """``describe`` compares what it has described with what is made of that; only what is of scripts stays behind."""
    for name, make in kind.items():
        model, _ = build(make, group="mixed")  # type: ignore[arg-type]
        system = System(model)
        description = describe(system)
        if "of script" in str(description):
            assert {own["of script"][1] for own in description["parts"] if "of script" in own} <= OWN, name
            continue
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


def test_what_holds_a_node_in_part_keeps_its_place() -> None:
    """A beam on two supports that let it bend in one plane: one holds all ways and two turns, the other slides."""
    model = Model()
    beam = Beam.line(model, (0, 0, 0), (2, 0, 0), BeamSection.circle(0.01, E=2e11, nu=0.3, rho=7800), name="beam")
    model.fix(beam.nodes[0], True, (True, False, True))
    model.fix(beam.nodes[-1], (False, True, True), (True, False, True))
    other = again(model)
    assert [joint.closes for joint in other.constraints] == [joint.closes for joint in model.constraints]
    assert other["beam[0]"].fixed_translation and not other["beam[0]"].fixed_rotation


def test_a_part_that_was_changed_is_made_again_as_it_is() -> None:
    model = Model()
    node = model.add_node((1, 0, 0))
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    spring = model.add(SpringDamper(model.ground, node, stiffness=3.0), name="spring")
    before = System(model)
    spring.stiffness = 4.0
    found = [made(describe(own))["spring"].stiffness for own in (before, System(model))]  # type: ignore[union-attr]
    assert found == [3.0, 4.0]


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
    return describe(System(model))


def test_models_that_differ_are_told_apart() -> None:
    check_same(pair(), pair(), "here")
    with pytest.raises(ModelError, match=r"'spring' was made of .*4\.0.*of the file of .*3\.0"):
        check_same(pair(4.0), pair(), "here")
    with pytest.raises(ModelError, match="'push' is only in the model"):
        check_same(pair(extra=True), pair(), "here")


def test_meshes_of_shapes_travel() -> None:
    model = Model()
    node = model.add_node((1, 0, 0))
    mesh = meshio.Mesh(np.eye(3), [("triangle", np.array([[0, 1, 2]])), ("line", np.array([[0, 1]]))])
    model.add(RigidBody(node, 1.0, (1, 1, 1), shape=Surface(mesh, center=(1, 0, 0))), name="body")
    shapes = [own["body"].shape for own in (model, again(model))]  # type: ignore[union-attr]
    (points, [(kind, cells)]), (same, [(other, corners)]) = (own.faces(8) for own in shapes)
    assert np.array_equal(points, same) and kind == other == "triangle" and np.array_equal(cells, corners)


def test_functions_stay_behind() -> None:
    """A model is made without those that are asked in runs alone; what is built by one needs the script."""
    model = Model()
    arm = model.add_node((2, 0, 0))
    model.add(RigidBody(arm, 1.0, (1, 1, 1)))
    model.add(RevoluteJoint(model.ground, arm, (0, 1, 0), point=(1, 0, 0), drive=lambda t: t * t), name="motor")
    model.add(Force(arm, lambda t: (0, 0, 3.0 * t)), name="push")
    other = again(model)
    System(other)
    with pytest.raises(mbs.LawError, match="'<lambda>' is a function of the script.*Give the model of the script"):
        other["push"].value(1.5)  # type: ignore[union-attr]
    section = BeamSection.circle(0.1, 1e9, 0.3, 1e3)
    Beam.line(model, (2, 0, 0), (3, 0, 0), lambda s: section, 3, name="beam")
    with pytest.raises(mbs.FemMbsError, match="beam.*'<lambda>' is a function of the script"):
        again(model)


@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_reactions_of_driven_joints_need_no_functions(group: str, tmp_path: Path) -> None:
    """What drives prescribe is where joints stand: far turned, displaced, stretched, on one coordinate of three."""
    model = Model(group, gravity=(0, 0, -9.81))
    arm, slide, bob, tip = (model.add_node((1, 0, 0.5 * k), name=f"{k}") for k in range(4))
    for node in (arm, slide, bob, tip):
        model.add(RigidBody(node, 1.0, (0.1, 0.2, 0.2)))
    model.add(RevoluteJoint(model.ground, arm, (0, 1, 0), (0, 0, 0), drive=lambda t: 6.0 * t * t), name="hinge")
    model.add(PrismaticJoint(arm, slide, (1, 0, 0), drive=lambda t: 0.3 * t * t), name="slide")
    model.add(DistanceJoint(slide, bob, drive=lambda t: 0.1 * np.sin(t) ** 2), name="rod")
    screwed = model.add(CylindricalJoint(bob, tip, (0, 0, 1)), name="pair")
    model.add(JointDrive(screwed, lambda t: 0.5 * t * t, coordinate="rotation z"), name="drive")
    solution = mbs.simulate(model, 0.4, 0.01)
    solution.save(tmp_path / "run")
    loaded = mbs.load(tmp_path / "run")
    for name in ("hinge", "slide", "rod", "pair"):
        for own, other in zip(solution.reaction(name), loaded.reaction(name), strict=True):
            np.testing.assert_allclose(other, own, rtol=0, atol=1e-8 * max(np.abs(own).max(), 1.0))


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
    ('{"of script":3}', "FunctionOfScript"),
]


@pytest.mark.parametrize(("text", "why"), HOSTILE)
def test_only_what_the_library_makes_is_made(text: str, why: str) -> None:
    description = pair()
    description["parts"][0]["arguments"][0] = json.loads(text)
    with pytest.raises(ModelError, match=why):
        rebuild(json.loads(packed(description)), lambda own: FunctionOfScript("law"))
