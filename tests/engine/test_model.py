"""What a user says of a model: names, printing, fixing, and what is refused before anything is computed."""

from __future__ import annotations

import copy
import pickle
from abc import ABC, abstractmethod

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import fem_mbs as mbs
import fem_mbs.elements
from fem_mbs import contracts
from fem_mbs.contracts.public import FORMER
from fem_mbs.elements import (
    Beam,
    BeamSection,
    CylindricalJoint,
    Plane,
    PointMass,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
    Table,
)

SECTION = BeamSection(1.0, 1.0, 1.0, 1.0, 1.0, (1.0, 1.0, 1.0))


def test_print_says_what_is_in_the_model() -> None:
    model = mbs.Model("SE3", gravity=(0, 0, -9.81))
    bob = model.add_node((1, 0, 0))
    slider = model.add_node((2, 0, 0))
    model.fix(slider, translation=False)
    model.add(RigidBody(bob, 1.0, (1, 1, 1)))
    model.add(PointMass(slider, 1.0))
    model.add(SphericalJoint(model.ground, bob))
    assert str(model).splitlines() == [
        "Model on SE3 with gravity (0, 0, -9.81)",
        "  3 nodes, 1 of them fixed: 9 degrees of freedom before constraints",
        "  RigidBody: 1",
        "  PointMass: 1",
        "  SphericalJoint: 1",
        "  3 constraint equations: at least 6 degrees of freedom left",
    ]
    model.add_node((0, 0, 0), group="R3xSO3")
    assert str(model).startswith("Model on SE3 and R3xSO3 with")


def test_numbers_printed_are_those_of_the_system() -> None:
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), SECTION, 4, start_node=model.ground)
    model.add(RevoluteJoint(model.ground, beam.nodes[-1], (0, 0, 1)))
    system = mbs.System(model)
    assert (system.n, system.n_free, system.m, system.size) == (5, 24, 5, 29)
    assert "24 degrees of freedom before constraints" in str(model)
    assert "5 constraint equations: at least 19 degrees of freedom left" in str(model)


def test_everything_has_a_name() -> None:
    model = mbs.Model()
    a, b = model.add_node((0, 0, 0)), model.add_node((1, 0, 0), name="tip")
    body, joint = model.add(RigidBody(b, 1.0, (1, 1, 1))), model.add(SphericalJoint(a, b), name="pivot")
    names = [str(thing) for thing in (model.ground, a, b, body, joint)]
    assert names == [
        "node 'ground'",
        "node 'node 1'",
        "node 'tip'",
        "RigidBody 'RigidBody 1'",
        "SphericalJoint 'pivot'",
    ]
    assert str(SphericalJoint(a, b)) == "SphericalJoint on node 'node 1', node 'tip'"
    model.add_node((0, 0, 0), name="node 4")
    assert model.add_node((0, 0, 0)).name == "node 4'"


def test_names_are_unique() -> None:
    model = mbs.Model()
    model.add_node((0, 0, 0), name="tip")
    with pytest.raises(mbs.ModelError, match="the name 'tip' is taken"):
        model.add_node((1, 0, 0), name="tip")
    with pytest.raises(mbs.ModelError, match="the name 'ground' is taken"):
        model.add(PointMass(model.ground, 1.0), name="ground")
    with pytest.raises(mbs.ModelError, match="'constraint_residual' is that of a quantity of the whole model"):
        model.add_node((1, 0, 0), name="constraint_residual")


def test_parts_belong_to_one_model_once() -> None:
    model, other = mbs.Model(), mbs.Model()
    node, far = model.add_node((0, 0, 0), name="here"), other.add_node((0, 0, 0), name="there")
    body = model.add(RigidBody(node, 1.0, (1, 1, 1)))
    model.add(PointMass(node, 1.0))
    with pytest.raises(mbs.ModelError, match="RigidBody 'RigidBody 1' was added already"):
        model.add(body)
    with pytest.raises(mbs.ModelError, match="node 'there' belongs to another model"):
        model.add(SphericalJoint(node, far))
    with pytest.raises(mbs.ModelError, match="node 'there' belongs to another model"):
        model.fix(far)
    with pytest.raises(mbs.ModelError, match="takes an element, a load or a joint, received 3"):
        model.add(3)  # type: ignore[type-var]
    with pytest.raises(mbs.ModelError, match="node 'there' is not part of this model"):
        mbs.System(model).row(far)


def test_fixed_components_keep_out_of_the_equations() -> None:
    model = mbs.Model()
    pinned, slider = model.add_node((1, 0, 0)), model.add_node((2, 0, 0))
    model.fix(pinned, rotation=False)
    model.fix(slider, translation=False)
    free = mbs.System(model).free
    np.testing.assert_array_equal(free, [[False] * 6, [False] * 3 + [True] * 3, [True] * 3 + [False] * 3])
    model.fix(pinned, translation=False)
    assert not mbs.System(model).free[1].any()


def test_a_moving_node_cannot_be_fixed() -> None:
    model = mbs.Model()
    node = model.add_node((0, 0, 0), velocity=(1, 0, 0), name="bob")
    with pytest.raises(mbs.ModelError, match="node 'bob' cannot be fixed: it was given the velocity"):
        model.fix(node)
    model.fix(node, translation=False)


def test_rotations_come_as_matrices_or_scipy_rotations() -> None:
    model = mbs.Model()
    turn = Rotation.from_rotvec([0.1, 0.2, 0.3])
    one, two = model.add_node((0, 0, 0), turn), model.add_node((0, 0, 0), turn.as_matrix())
    np.testing.assert_array_equal(one.rotation, two.rotation)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"position": (0, np.nan, 0)}, "position must be finite"),
        ({"position": (0, 0)}, "position must be three numbers"),
        ({"position": "origin"}, "position must be three numbers"),
        ({"velocity": (np.inf, 0, 0)}, "velocity must be finite"),
        ({"rotation": 2 * np.eye(3)}, "rotation must be a rotation matrix"),
        ({"rotation": np.diag([1.0, 1.0, -1.0])}, "determinant is -1"),
        ({"rotation": (0, 0, 1)}, "rotation must be a 3x3 matrix"),
        ({"group": "SO3"}, "group must be one of 'R3xSO3', 'SE3', received 'SO3'"),
    ],
)
def test_impossible_nodes_are_refused_by_name(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(mbs.ModelError, match=f"Model.add_node 'bob'.*{message}"):
        mbs.Model().add_node(**{"position": (0, 0, 0), "name": "bob", **arguments})  # type: ignore[arg-type]


def test_a_model_needs_a_group_it_knows() -> None:
    with pytest.raises(mbs.ModelError, match="group must be one of 'R3xSO3', 'SE3', received 'SO3'"):
        mbs.Model("SO3")


def test_later_changes_of_the_model_do_not_change_the_system() -> None:
    model = mbs.Model(gravity=(0, 0, -9.81))
    node = model.add_node((0, 0, 0))
    system = mbs.System(model)
    model.fix(node)
    model.gravity = (0, 0, 0)
    model.add_node((1, 1, 1))
    assert system.n == 2 and system.free[1].all() and system.gravity[2] == -9.81


class _Numbered(PointMass):
    """A class from outside, with an attribute of its own."""

    def __init__(self, node: mbs.Node, mass: float) -> None:
        super().__init__(node, mass)
        self.number = 1


def test_attributes_that_do_not_exist_are_refused() -> None:
    model = mbs.Model()
    node = model.add_node((1, 0, 0), name="bob")
    body = RigidBody(node, 1.0, (1, 1, 1))
    own = _Numbered(node, 1.0)
    for held, name, near in [
        (model, "gravty", "gravity"),
        (node, "velocty", "velocity"),
        (body, "mas", "mass"),
        (copy.copy(body), "mas", "mass"),
        (pickle.loads(pickle.dumps(body)), "mas", "mass"),
        (own, "numbr", "number"),
        (model.add(RevoluteJoint(model.ground, node, (0, 0, 1))), "equatons", "equations"),
    ]:
        with pytest.raises(mbs.ModelError, match=f"has no attribute '{name}' that could be set; is it '{near}'"):
            setattr(held, name, 3)
    model.gravity, node.velocity, own.mass, body._mine = (0, 0, 1), (1, 0, 0), 2, 3  # type: ignore[attr-defined, assignment]
    assert (model.gravity[2], node.velocity[0], own.mass) == (1, 1, 2)
    with pytest.raises(mbs.ModelError, match="number cannot be set, .* the constructor takes, which can: node, mass"):
        own.number = 2
    hinge = model.constraints[0]
    hinge.axis = (1, 0, 0)
    assert (hinge.axis, hinge.point_b, repr(Plane((0, 0, 1)))) == ((1, 0, 0), None, "Plane(normal=(0, 0, 1))")


def test_names_that_others_use_and_beginnings_are_understood() -> None:
    """What is alike in few letters is not guessed."""
    model = mbs.Model()
    model.add(RigidBody(model.add_node((1, 0, 0), name="bob"), 1.0, (1, 1, 1)))
    solution = mbs.simulate(model, 0.1, 0.1)
    for held, name, words in (
        (solution, "time", "is it 't'"),
        (solution, "to_dataframe", "is it 'to_pandas'"),
        (solution, "accel", "is it 'acceleration'"),
        (solution.energy, "potentials", "there are gravity, kinetic, strain, total"),
        (BeamSection, "rect", "BeamSection has no attribute 'rect'; is it 'rectangle'"),
        (mbs.Model(), "copy", "Model has no attribute 'copy'; copy.deepcopy makes one"),
        (BeamSection, "pipe", "is it 'tube'"),
        (Table, "read", "is it 'from_file'"),
        (mbs.GeneralizedAlpha, "HHT", "is it 'hht'"),
        (mbs.VariableStep, "adaptive", "there are first, largest, local_error, max_steps, smallest, tolerance"),
    ):
        with pytest.raises(AttributeError, match=words):
            getattr(held, name)


def test_a_shallow_copy_of_a_model_is_refused() -> None:
    model = mbs.Model()
    with pytest.raises(mbs.ModelError, match="copy.deepcopy.model. makes a model"):
        copy.copy(model)
    copy.deepcopy(model).add_node((1, 0, 0))
    assert len(model.nodes) == 1


def test_classes_of_users_may_have_abstract_methods() -> None:
    class Driven(contracts.Element, ABC):
        @abstractmethod
        def law(self, t: float) -> float: ...

    with pytest.raises(TypeError, match="abstract"):
        Driven()  # type: ignore[abstract]


def test_calls_that_do_not_fit_are_refused_in_words() -> None:
    model = mbs.Model()
    node = model.add_node((1, 0, 0), name="bob")
    for call, message in [
        (
            lambda: RigidBody(node, 1.0),
            "RigidBody on node 'bob': missing a required argument: 'inertia'; it takes node, mass, inertia",
        ),
        (
            lambda: RigidBody(node, 1.0, (1, 1, 1), center_of_mas=3),
            "no argument 'center_of_mas'; is it 'center_of_mass'",
        ),
        (lambda: RigidBody(node, 1.0, (1, 1, 1), mass=2.0), "multiple values for argument 'mass'"),
        (lambda: model.add(PointMass(node, 1.0), PointMass(node, 1.0)), "received PointMass .* added as a list"),
        (lambda: PointMass(node, 1.0, 2.0), "too many positional arguments; it takes node, mass"),
        (
            lambda: mbs.simulate(model, 1.0),
            "simulate: missing a required argument: 'step'; it takes model, t_end, step, method; by name",
        ),
        (lambda: mbs.simulate(model, 1.0, 0.1, storage="x"), "simulate: has no argument 'storage'; is it 'store'"),
    ]:
        with pytest.raises(mbs.ModelError, match=message):
            call()  # type: ignore[no-untyped-call]


def test_what_was_renamed_says_the_new_name() -> None:
    model = mbs.Model()
    node = model.add_node((1, 0, 0), name="bob")
    with pytest.raises(mbs.ModelError, match="CylindricalJoint on .*: 'drives' is called 'drive' now"):
        CylindricalJoint(model.ground, node, (0, 0, 1), drives={})  # type: ignore[call-arg]
    with pytest.raises(mbs.ModelError, match="'SlipSpring' is called 'FrictionSpring' now"):
        fem_mbs.elements.SlipSpring  # noqa: B018
    with pytest.raises(mbs.ModelError, match="'Unknown' is called 'InternalVariable' now"):
        contracts.Unknown  # noqa: B018
    with pytest.raises(mbs.ModelError, match="'unknowns' is called 'internal_variables' now"):
        PointMass(node, 1.0).unknowns  # type: ignore[attr-defined]  # noqa: B018
    for old in (old for old in FORMER if old[0].isupper()):
        assert FORMER[old][0] in {*mbs.__all__, *fem_mbs.elements.__all__, *vars(contracts)}


def test_methods_and_sections_are_made_anew_in_place_of_changed() -> None:
    for held, name in [(mbs.GeneralizedAlpha(), "rho_inf"), (SECTION, "mass"), (mbs.Newton(), "tolerance")]:
        with pytest.raises(mbs.ModelError, match=f"'{name}' cannot be set.*dataclasses.replace"):
            setattr(held, name, 0.5)
