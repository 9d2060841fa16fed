"""The careless user describes a model: every mistake is refused at once, by the user's own names.

Each line says what is done wrong and the words that the message must have: the object, what was received, what is
expected.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Annotated, Any

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

import fem_mbs as mbs
from fem_mbs.contracts import vector
from fem_mbs.contracts.checked import FREE, rule_of
from fem_mbs.elements import (
    Beam,
    BeamSection,
    FixedJoint,
    Force,
    Moment,
    PointMass,
    RevoluteJoint,
    RigidBody,
    Rope,
    SphericalJoint,
    SpinUp,
)

NAN = float("nan")
J = (1.0, 1.0, 1.0)
SECTION = BeamSection(1e6, 1e6, 1e3, 1e3, 1.0, (1e-2, 5e-3, 5e-3))


def world() -> SimpleNamespace:
    """A pendulum, two more nodes at one place and a node of another model."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    bob = model.add_node((1, 0, 0), name="bob")
    body = model.add(RigidBody(bob, 1.0, J), name="lead")
    pivot = model.add(SphericalJoint(model.ground, bob, point=(0, 0, 0)), name="pivot")
    tip, end = model.add_node((2, 0, 0), name="tip"), model.add_node((2, 0, 0), name="end")
    foreign = mbs.Model().add_node((0, 0, 0), name="foreign")
    return SimpleNamespace(
        model=model, ground=model.ground, bob=bob, body=body, pivot=pivot, tip=tip, end=end, foreign=foreign
    )


def line(w: SimpleNamespace, **changes: object) -> Beam:
    given: dict[str, object] = dict(start=(0, 0, 0), end=(1, 0, 0), section=SECTION, name="spar") | changes
    return Beam.line(given.pop("model", w.model), **given)  # type: ignore[arg-type]


def arc() -> list[mbs.Node]:
    """Nodes on an arc of 112 degrees that starts along x."""
    model = mbs.Model()
    return [model.add_node((np.sin(a), 1 - np.cos(a), 0.0)) for a in np.radians([0.0, 28.0, 56.0, 84.0, 112.0])]


def hold(**motion: object) -> None:
    model = mbs.Model()
    model.fix(model.add_node((0, 0, 0), name="top", **motion))  # type: ignore[arg-type]


Case = tuple[Callable[[SimpleNamespace], object], str]

MODEL: dict[str, Case] = {
    "group unknown": (lambda w: mbs.Model("SO3"), "Model: group must be one of 'R3xSO3', 'SE3', received 'SO3'"),
    "group a list": (lambda w: mbs.Model(["SE3"]), "Model: group must be one of 'R3xSO3', 'SE3', received ['SE3']"),
    "gravity nan": (lambda w: mbs.Model(gravity=(0, 0, NAN)), "Model: gravity must be finite, received"),
    "gravity a number": (lambda w: mbs.Model(gravity=-9.81), "Model: gravity must be three numbers, received -9.81"),
    "gravity changed": (
        lambda w: setattr(w.model, "gravity", "down"),
        "gravity must be three numbers, received 'down'",
    ),
    "name taken": (lambda w: w.model.add_node((0, 0, 0), name="bob"), "the name 'bob' is taken"),
    "name of a part taken": (lambda w: w.model.add(PointMass(w.tip, 1.0), name="pivot"), "the name 'pivot' is taken"),
    "name a number": (lambda w: w.model.add_node((0, 0, 0), name=5), "Model.add_node: name must be text, received 5"),
    "name empty": (lambda w: w.model.add_node((0, 0, 0), name=""), "Model.add_node: name must be text, received ''"),
    "fix text": (lambda w: w.model.fix("bop"), "Model.fix: node: nothing in the model is called 'bop'; is it 'bob'?"),
    "fix a foreign node": (lambda w: w.model.fix(w.foreign), "node 'foreign' belongs to another model"),
    "fix nothing": (lambda w: w.model.fix(w.tip, False, False), "nothing to hold at node 'tip'"),
    "fix by word": (
        lambda w: w.model.fix(w.tip, "rotation"),
        "translation must be True or False, or three of these",
    ),
    "fix what moves": (
        lambda w: hold(velocity=(1, 0, 0)),
        "node 'top' cannot be fixed: it was given the velocity [1. 0. 0.]",
    ),
    "fix what turns": (
        lambda w: hold(angular_velocity=(0, 0, 2)),
        "node 'top' cannot be fixed: it was given the angular velocity [0. 0. 2.]",
    ),
    "a body for its node": (
        lambda w: RevoluteJoint(w.model.ground, w.body, (0, 0, 1)),
        "b must be a node made by model.add_node, received RigidBody 'lead'; give its node, node 'bob'",
    ),
    "a joint for one of its nodes": (
        lambda w: PointMass(w.pivot, 1.0),
        "received SphericalJoint 'pivot'; give one of its nodes, node 'ground', node 'bob'",
    ),
    "a node for its place": (
        lambda w: Beam.line(w.model, w.bob, (6, 0, 0), SECTION),
        "start must be three numbers, received node 'bob'; a beam from a node that exists takes the place of the node, "
        "and start_node=",
    ),
    "an object for a node": (lambda w: PointMass(object(), 1.0), "received an object"),
    "add text": (lambda w: w.model.add("beam"), "takes an element, a load or a joint, received 'beam'"),
    "add a class": (lambda w: w.model.add(RigidBody), "takes an element, a load or a joint, received <class"),
    "add a section": (lambda w: w.model.add(SECTION), "takes an element, a load or a joint, received BeamSection("),
    "add a node": (lambda w: w.model.add(w.bob), "takes an element, a load or a joint, received node 'bob'"),
    "remove of another": (lambda w: mbs.Model().remove(w.body), "RigidBody 'lead' is not in this model"),
    "tolerance": (lambda w: mbs.VariableStep(10), "tolerance must be above 0 and at most 1, received 10"),
    "no tolerance": (
        lambda w: mbs.Newton(correction_tolerance=1e3),
        "correction_tolerance must be above 0 and at most 0.1",
    ),
    "add twice": (lambda w: w.model.add(w.body), "RigidBody 'lead' was added already"),
    "add to two models": (lambda w: mbs.Model().add(w.body), "RigidBody 'lead' belongs to another model"),
    "add on a foreign node": (lambda w: w.model.add(PointMass(w.foreign, 1.0)), "node 'foreign' belongs to another"),
    "join a foreign node": (
        lambda w: w.model.add(SphericalJoint(w.bob, w.foreign)),
        "SphericalJoint on node 'bob', node 'foreign': node 'foreign' belongs to another model",
    ),
}

NODE: dict[str, Case] = {
    "position nan": (
        lambda w: w.model.add_node((0, NAN, 0), name="n"),
        "Model.add_node 'n': position must be finite, received",
    ),
    "position infinite": (lambda w: w.model.add_node((0, 0, np.inf)), "Model.add_node: position must be finite"),
    "position of two": (
        lambda w: w.model.add_node((0, 1), name="n"),
        "position must be three numbers, received (0, 1)",
    ),
    "position text": (lambda w: w.model.add_node("origin"), "position must be three numbers, received 'origin'"),
    "position of texts": (lambda w: w.model.add_node(("0", "1", "2")), "three numbers, received ('0', '1', '2')"),
    "position complex": (lambda w: w.model.add_node(np.array([1j, 0, 0])), "position must be three numbers, received"),
    "position true": (
        lambda w: w.model.add_node((True, True, False)),
        "position must be three numbers, received (True",
    ),
    "position a node": (lambda w: w.model.add_node(w.bob), "position must be three numbers, received node 'bob'"),
    "rotation a vector": (
        lambda w: w.model.add_node((0, 0, 0), (0, 0, 1)),
        "rotation must be a 3x3 matrix or one scipy",
    ),
    "rotation scaled": (lambda w: w.model.add_node((0, 0, 0), 2 * np.eye(3)), "must be a rotation matrix (orthogonal,"),
    "rotation mirrored": (lambda w: w.model.add_node((0, 0, 0), np.diag([1, 1, -1])), "its determinant is -1"),
    "rotations": (
        lambda w: w.model.add_node((0, 0, 0), Rotation.from_rotvec(np.eye(3)), name="n"),
        "Model.add_node 'n': rotation must be a 3x3 matrix or one scipy Rotation, as",
    ),
    "velocity nan": (lambda w: w.model.add_node((0, 0, 0), velocity=(0, 0, NAN)), "velocity must be finite"),
    "spin a number": (
        lambda w: w.model.add_node((0, 0, 0), angular_velocity=1),
        "angular_velocity must be three numbers",
    ),
    "group unknown": (
        lambda w: w.model.add_node((0, 0, 0), group="SE2", name="n"),
        "Model.add_node 'n': group must be one of",
    ),
    "unknown argument": (
        lambda w: w.model.add_node((0, 0, 0), omega=(0, 0, 1)),
        "Model.add_node: has no argument 'omega'; is it 'angular_velocity'?",
    ),
    "renamed part": (lambda w: setattr(w.model.elements[0], "name", 3), "its name is that in the model, and stays"),
    "moved": (
        lambda w: setattr(w.bob, "position", (0, 0, 0)),
        "node 'bob': position cannot be changed once the node is",
    ),
    "turned": (lambda w: setattr(w.bob, "rotation", np.eye(3)), "node 'bob': rotation cannot be changed"),
    "renamed": (lambda w: setattr(w.bob, "name", "tip"), "node 'bob': name cannot be changed"),
    "pushed by text": (
        lambda w: setattr(w.bob, "velocity", "fast"),
        "node 'bob': velocity must be three numbers, received 'fast'",
    ),
    "spun by nan": (
        lambda w: setattr(w.bob, "angular_velocity", (0, 0, NAN)),
        "node 'bob': angular_velocity must be finite",
    ),
    "pushed while held": (
        lambda w: setattr(w.ground, "velocity", (0, 0, 1)),
        "node 'ground': velocity cannot be [0. 0. 1.], as model.fix holds the node",
    ),
    "spun while held": (
        lambda w: setattr(w.ground, "angular_velocity", (0, 0, 1)),
        "node 'ground': angular_velocity cannot be [0. 0. 1.], as model.fix holds the node",
    ),
}

BODY: dict[str, Case] = {
    "node missing": (
        lambda w: RigidBody(None, 1.0, J),
        "RigidBody: node must be a node made by model.add_node, received",
    ),
    "node by a wrong name": (
        lambda w: w.model.add(PointMass("bop", 1.0)),
        "PointMass on 'bop': node: nothing in the model is called 'bop'; is it 'bob'?",
    ),
    "nodes in a list": (lambda w: RigidBody([w.tip], 1.0, J), "RigidBody: node must be a node"),
    "mass zero": (
        lambda w: RigidBody(w.tip, 0, J),
        "RigidBody on node 'tip': mass must be a positive number, received 0",
    ),
    "mass negative": (lambda w: PointMass(w.tip, -2), "PointMass on node 'tip': mass must be a positive number"),
    "mass nan": (
        lambda w: PointMass(w.tip, NAN),
        "PointMass on node 'tip': mass must be a positive number, received nan",
    ),
    "mass with unit": (lambda w: RigidBody(w.tip, "1 kg", J), "mass must be a number, received '1 kg'"),
    "mass complex": (lambda w: RigidBody(w.tip, 1j, J), "mass must be a number, received 1j"),
    "inertia one number": (lambda w: RigidBody(w.tip, 1, 1.0), "inertia must be 3 principal values or a symmetric 3x3"),
    "inertia text": (lambda w: RigidBody(w.tip, 1, "big"), "inertia must be 3 principal values"),
    "inertia ragged": (lambda w: RigidBody(w.tip, 1, [[1, 2], [1]]), "inertia must be 3 principal values"),
    "inertia zero": (
        lambda w: RigidBody(w.tip, 1, (0, 1, 1)),
        "inertia must be positive, received principal values [0.",
    ),
    "inertia of no body": (lambda w: RigidBody(w.tip, 1, (1, 1, 3)), "no body has the principal values [1. 1. 3.]"),
    "inertia not symmetric, small": (
        lambda w: RigidBody(w.tip, 1e-9, 1e-19 * np.array([[2, 1, 0], [0, 2, 0], [0, 0, 2]])),
        "RigidBody on node 'tip': inertia must be 3 principal values or a symmetric 3x3 matrix",
    ),
    "mass centre flat": (lambda w: RigidBody(w.tip, 1, J, (0, 0)), "center_of_mass must be three numbers"),
}

SECTIONS: dict[str, Case] = {
    "EA zero": (lambda w: BeamSection(0, 1, 1, 1, 1, J), "BeamSection: EA must be a positive number, received 0"),
    "EA text": (lambda w: BeamSection("steel", 1, 1, 1, 1, J), "BeamSection: EA must be a number, received 'steel'"),
    "GA three": (lambda w: BeamSection(1, J, 1, 1, 1, J), "GA must be one number or a pair (y, z), received (1.0,"),
    "GA text": (lambda w: BeamSection(1, "x", 1, 1, 1, J), "GA must be one number or a pair (y, z), received 'x'"),
    "EI missing": (lambda w: BeamSection(1, 1, 1, None, 1, J), "EI must be one number or a pair (y, z), received None"),
    "EI negative": (lambda w: BeamSection(1, 1, 1, (1, -1), 1, J), "EI must be a positive number, received -1"),
    "mass zero": (lambda w: BeamSection(1, 1, 1, 1, 0, J), "BeamSection: mass must be a positive number, received 0"),
    "inertia zero": (lambda w: BeamSection(1, 1, 1, 1, 1, (1, 0, 0)), "inertia must be 3 positive numbers per length"),
    "inertia text": (lambda w: BeamSection(1, 1, 1, 1, 1, "J"), "inertia must be 3 positive numbers per length"),
    "sizes of another constructor": (
        lambda w: BeamSection(width=0.1, height=0.1, E=1, nu=0.3, rho=1),  # type: ignore[call-arg]
        "BeamSection: has no argument 'width'; BeamSection.rectangle(...) takes one",
    ),
    "width zero": (lambda w: BeamSection.rectangle(0, 1, 1, 0.3, 1), "width must be a positive number, received 0"),
    "nu text": (
        lambda w: BeamSection.circle(1, 1, "0.3", 1),
        "BeamSection.circle: nu must be a number, received '0.3'",
    ),
    "nu impossible": (lambda w: BeamSection.circle(1, 1, -7 / 6, 1), "nu must be above -1 and at most 0.5"),
    "radii exchanged": (lambda w: BeamSection.tube(1, 2, 1, 0.3, 1), "inner_radius 2.0 must be less than outer_radius"),
    "stiffness text": (
        lambda w: BeamSection.general("K", np.eye(6)),
        "stiffness must be a symmetric 6x6 matrix, received 'K'",
    ),
    "stiffness indefinite": (
        lambda w: BeamSection.general(-np.eye(6), np.eye(6)),
        "stiffness must be positive definite",
    ),
    "damping nan": (lambda w: SECTION.with_damping(NAN), "damping must be a finite number, received nan"),
    "damping text": (lambda w: SECTION.with_damping("low"), "damping must be a symmetric 6x6 matrix, received 'low'"),
    "mass of no form": (
        lambda w: BeamSection.general(1e-9 * np.eye(6), 1e-9 * np.diag([1, 2, 3, 1, 1, 1])),
        "mass must have the form [[m I, -m c~], [m c~, J]]",
    ),
}

BEAM: dict[str, Case] = {
    "a model": (lambda w: Beam(w.model, (0, 0, 0), (1, 0, 0), SECTION), "; Beam.line(...) takes one"),
    "no nodes": (lambda w: Beam([], SECTION), "a beam needs at least two nodes, received 0"),
    "one node, no list": (lambda w: Beam(w.bob, SECTION), "Beam: nodes must be a list of Nodes, received node 'bob'"),
    "names": (
        lambda w: w.model.add(Beam(["bob", "tp"], SECTION)),
        "nodes: nothing in the model is called 'tp'; is it 'tip'",
    ),
    "points": (
        lambda w: Beam([w.bob, (2, 0, 0)], SECTION),
        "nodes[1] must be a node made by model.add_node, received (2,",
    ),
    "arguments exchanged": (
        lambda w: Beam(SECTION, [w.bob, w.tip]),
        "Beam: nodes must be a list of Nodes, received Beam",
    ),
    "section a dictionary": (
        lambda w: Beam([w.bob, w.tip], {"EA": 1}),
        "Beam on node 'bob', node 'tip': section must be a BeamSection, received {'EA': 1}",
    ),
    "node twice": (lambda w: Beam([w.bob, w.tip, w.tip], SECTION), "node 'tip' is 2 times in the chain"),
    "there and back": (lambda w: Beam([w.bob, w.tip, w.bob], SECTION), "node 'bob' is 2 times in the chain"),
    "element without length": (
        lambda w: Beam([w.bob, w.tip, w.end], SECTION),
        "element 2 has no length: node 'tip' and node 'end' are at the same place",
    ),
    "element of rounding": (
        lambda w: Beam([w.bob, w.tip, w.model.ground, mbs.Model().add_node((1e-13, 0, 0), name="near")], SECTION),
        "element 3 has no length: node 'ground' and node 'near' are at the same place",
    ),
    "y axis along": (lambda w: Beam([w.bob, w.tip], SECTION, (3, 0, 0)), "y_axis [1. 0. 0.] is parallel to the beam"),
    "y axis zero": (lambda w: Beam([w.bob, w.tip], SECTION, (0, 0, 0)), "y_axis must have a length"),
    "y axis passed": (
        lambda w: Beam(arc(), SECTION, (np.cos(np.radians(40)), np.sin(np.radians(40)), 0)),
        "the section would turn over within element 2",
    ),
    "interpolation": (
        lambda w: Beam([w.bob, w.tip], SECTION, interpolation="cubic"),
        "one of 'SE3', 'R3xSO3', received 'cub",
    ),
    "no line": (lambda w: line(w, end=(0, 0, 0)), "Beam.line 'spar': start and end are the same point"),
    "line of rounding": (
        lambda w: line(w, start=(0.1 + 0.2, 0, 0), end=(0.3, 0, 0)),
        "start and end are the same point",
    ),
    "no elements": (lambda w: line(w, elements=0), "Beam.line 'spar': elements must be a whole number of at least 1"),
    "half an element": (lambda w: line(w, elements=2.5), "elements must be a whole number of at least 1, received 2.5"),
    "elements text": (lambda w: line(w, elements="3"), "elements must be a whole number of at least 1, received '3'"),
    "no model": (lambda w: line(w, model=None), "Beam.line 'spar': model must be a Model, received None"),
    "start a node": (lambda w: line(w, start=w.tip), "start must be three numbers, received node 'tip'"),
    "end elsewhere": (
        lambda w: line(w, end_node=w.tip),
        "node 'tip' is at [2. 0. 0.], not at the end of the beam [1. 0.",
    ),
    "end by name": (
        lambda w: line(w, end_node="tp"),
        "end_node: nothing in the model is called 'tp'; is it 'tip'",
    ),
}

JOINT: dict[str, Case] = {
    "node by a wrong name": (
        lambda w: w.model.add(SphericalJoint("bop", w.tip)),
        "SphericalJoint on 'bop', node 'tip': a: nothing in the model is called 'bop'",
    ),
    "node missing": (
        lambda w: FixedJoint(w.bob, None),
        "FixedJoint on node 'bob': b must be a node made by model.add_node, received",
    ),
    "node with itself": (
        lambda w: RevoluteJoint(w.bob, w.bob, (0, 0, 1)),
        "RevoluteJoint: connects node 'bob' with itself",
    ),
    "line of a node with itself": (
        lambda w: Rope(w.bob, w.bob, 1.0, point_a=(0, 0, 1)),
        "Rope: connects node 'bob' with itself; give two nodes",
    ),
    "point a node": (lambda w: SphericalJoint(w.bob, w.tip, w.end), "point must be three numbers, received node 'end'"),
    "axis zero": (
        lambda w: RevoluteJoint(w.bob, w.tip, (0, 0, 0)),
        "RevoluteJoint on node 'bob', node 'tip': axis must have a length, received [0. 0. 0.]",
    ),
    "axis a letter": (lambda w: RevoluteJoint(w.bob, w.tip, "z"), "axis must be three numbers, received 'z'"),
    "drive a number": (
        lambda w: RevoluteJoint(w.bob, w.tip, (0, 0, 1), drive=3.0),
        "RevoluteJoint on node 'bob', node 'tip': drive must be a function of time, received 3.0",
    ),
    "spin-up at once": (lambda w: SpinUp(1.0, 0.0), "SpinUp: duration must be a positive number, received 0.0"),
    "spin-up by text": (lambda w: SpinUp("fast", 1.0), "SpinUp: rate must be a number, received 'fast'"),
    "spin-up nan": (lambda w: SpinUp(NAN, 1.0), "SpinUp: rate must be a finite number, received nan"),
}

LOAD: dict[str, Case] = {
    "force by a wrong name": (
        lambda w: w.model.add(Force("bop", J)),
        "Force on 'bop': node: nothing in the model is called",
    ),
    "force a number": (lambda w: Force(w.tip, 5), "Force on node 'tip': value must be three numbers, received 5"),
    "force nan": (lambda w: Force(w.tip, (0, 0, NAN)), "Force on node 'tip': value must be finite"),
    "frame unknown": (
        lambda w: Force(w.tip, J, frame="local"),
        "frame must be one of 'world', 'body', received 'local'",
    ),
    "point a number": (lambda w: Force(w.tip, J, point=1), "Force on node 'tip': point must be three numbers"),
    "moment of two": (
        lambda w: Moment(w.tip, (1, 2)),
        "Moment on node 'tip': value must be three numbers, received (1,",
    ),
}

METHOD: dict[str, Case] = {
    "parametrization unknown": (
        lambda w: mbs.UpdatedLagrangian(parametrization="quaternion"),
        "UpdatedLagrangian: parametrization must be one of 'conformal', 'rotation_vector', received 'quaternion'",
    ),
    "parametrization in place of the formulation": (
        lambda w: mbs.UpdatedLagrangian(0.8, "conformal"),
        "UpdatedLagrangian: formulation must be one of 'stabilized', 'index3', 'index2', received 'conformal'",
    ),
    "local coordinates, radius": (
        lambda w: mbs.UpdatedLagrangian(1.1),
        "UpdatedLagrangian: rho_inf must be in [0, 1], received 1.1",
    ),
    "local coordinates, start": (
        lambda w: mbs.UpdatedLagrangian(start="projected"),
        "UpdatedLagrangian: start must be one of 'consistent', 'perturbed', received 'projected'",
    ),
    "local coordinates, Newton": (
        lambda w: mbs.UpdatedLagrangian(newton="modified"),
        "UpdatedLagrangian: newton must be a Newton, received 'modified'",
    ),
    "local coordinates, HHT": (
        lambda w: mbs.UpdatedLagrangian.hht(0.5),
        "UpdatedLagrangian.hht: alpha must be in [0, 1/3], received 0.5",
    ),
    "Newton's matrix unknown": (
        lambda w: mbs.Newton(matrix="full"),
        "Newton: matrix must be one of 'exact', 'without_tangent_operator', 'applied_forces', 'simplified', received "
        "'full'",
    ),
    "Newton's matrix a list": (lambda w: mbs.Newton(matrix=["exact"]), "received ['exact']"),
    "modified by word": (
        lambda w: mbs.Newton(modified="yes"),
        "Newton: modified must be True or False, received 'yes'",
    ),
    "modified by number": (lambda w: mbs.Newton(modified=1), "Newton: modified must be True or False, received 1"),
    "line search by name": (
        lambda w: mbs.Newton(line_search="Armijo"),
        "Newton: line_search must be True or False, received 'Armijo'",
    ),
    "line search none": (lambda w: mbs.Newton(line_search=None), "must be True or False, received None"),
    "iterations by half": (
        lambda w: mbs.Newton(max_iterations=2.5),
        "Newton: max_iterations must be a whole number of at least 1, received 2.5",
    ),
}

TABLES = {
    "model": MODEL,
    "node": NODE,
    "body": BODY,
    "section": SECTIONS,
    "beam": BEAM,
    "joint": JOINT,
    "load": LOAD,
    "method": METHOD,
}
CASES = {f"{kind}: {name}": case for kind, table in TABLES.items() for name, case in table.items()}


@pytest.mark.parametrize("name", CASES)
def test_mistakes_are_refused_by_name(name: str) -> None:
    mistake, words = CASES[name]
    with pytest.raises(mbs.ModelError) as refusal:
        mistake(world())
    assert words in str(refusal.value)
    assert isinstance(refusal.value, mbs.FemMbsError) and isinstance(refusal.value, ValueError)


@pytest.mark.parametrize("name", CASES)
def test_a_refusal_leaves_the_model_as_it_was(name: str) -> None:
    """So the mistake can be mended in place, with the same names."""
    w = world()
    before = str(w.model)
    with pytest.raises(mbs.ModelError):
        CASES[name][0](w)
    assert str(w.model) == before
    assert w.model.add_node((0, 0, 0), name="n").name == "n"
    assert line(w).name == "spar"


def test_numbers_may_be_of_any_real_kind() -> None:
    model = mbs.Model(gravity=np.array([0, 0, -9], dtype=np.int32))
    node = model.add_node(np.float32([1, 0, 0]), Rotation.from_rotvec([0, 0, 1]), velocity=[0, 1, 0])
    model.add(RigidBody(node, np.float64(1.0), np.array([1, 1, 1])))
    beam = Beam.line(model, [0, 0, 0], (1, 0, 0), SECTION, elements=np.int64(2))
    assert len(beam.length) == 2 and len(line(SimpleNamespace(model=model), elements=3.0).length) == 3
    assert mbs.simulate(model, np.array(0.1), np.float32(0.05)).success


def test_small_errors_of_a_rotation_are_removed() -> None:
    """Eight digits of a rotation are enough; what is computed with is orthogonal to the last one."""
    exact = Rotation.from_rotvec([0.4, -2.0, 1.0]).as_matrix()
    node = mbs.Model().add_node((0, 0, 0), np.round(exact, 9))
    np.testing.assert_allclose(node.rotation.T @ node.rotation, np.eye(3), rtol=0, atol=1e-15)
    np.testing.assert_allclose(node.rotation, exact, rtol=0, atol=1e-9)


def test_the_arrays_of_a_node_are_read_only() -> None:
    node = world().bob
    node.velocity = np.ones(3)
    for array in (node.position, node.rotation, node.velocity, node.angular_velocity):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_far_points_are_rigid_arms() -> None:
    w = world()
    w.model.add(FixedJoint(w.bob, w.tip, point=(1000, 0, 0)))
    w.model.add(RevoluteJoint(w.tip, w.end, (0, 1, 0), point=(0, 0, 1e4)))
    w.model.add(RigidBody(w.end, 1.0, J))
    assert mbs.simulate(w.model, 0.1, 0.01).success


def test_a_closed_ring_is_a_beam() -> None:
    model = mbs.Model()
    angles = np.linspace(0.0, 2 * np.pi, 12, endpoint=False)
    ring = [model.add_node((np.cos(a), np.sin(a), 0.0)) for a in angles]
    model.add(Beam([*ring, ring[0]], SECTION))
    assert mbs.simulate(model, 0.01, 0.01).success


def test_only_what_may_be_anything_has_no_rule() -> None:
    """NumPy gives ``ArrayLike`` a name in place of its members, or not."""
    assert all(
        rule_of(hint)[0] is not None for hint in (float, str, int | None, mbs.Model, Annotated[ArrayLike, vector])
    )
    assert all(rule_of(hint) == FREE for hint in (ArrayLike, ArrayLike | mbs.Model, ArrayLike | None, Any, object))
