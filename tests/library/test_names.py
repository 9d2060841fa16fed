"""Names in place of nodes, elements and joints: in constructors, whose model is not there yet, and in calls."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from catalogue import EVERYTHING, build
from meshes import brick

import fem_mbs as mbs
import fem_mbs.elements
from fem_mbs.contracts import Constraint, Element
from fem_mbs.contracts.checked import CHECKING, Deferred
from fem_mbs.contracts.public import ModelPart
from fem_mbs.elements import (
    PID,
    Beam,
    BeamSection,
    Coupling,
    FlexibleBody,
    Force,
    Interface,
    JointActuator,
    JointSensor,
    JointSpring,
    MeshLoad,
    MultiplierSensor,
    Reduction,
    RevoluteJoint,
    RigidBody,
)
from fem_mbs.files.store.description import difference

SECTION = BeamSection.circle(0.01, 1e9, 0.3, 1000.0)


def crank() -> mbs.Model:
    model = mbs.Model(gravity=(0, 0, -9.81))
    for k, name in enumerate(("crank", "rod"), 1):
        node = model.add_node((k, 0, 0), name=name)
        model.add(RigidBody(node, 1.0, (0.1, 0.1, 0.1)), name=f"body of {name}")
    return model


def named(value: Any, model: mbs.Model, rng: np.random.Generator | None) -> Any:
    """A value with names in place of some of the parts of a model, or of all; what it is built on is added first."""
    if isinstance(value, Element | Constraint) and value.name is None:
        model.add(value)
    if isinstance(value, ModelPart) and value in model and (rng is None or rng.random() < 0.6):
        return value.name  # type: ignore[attr-defined]
    if type(value) in (list, tuple):
        return type(value)([named(own, model, rng) for own in value])
    if type(value) is dict:
        return {key: named(own, model, rng) for key, own in value.items()}
    return value


@pytest.mark.ci
@pytest.mark.parametrize("seed", [0, 1, pytest.param(2, marks=pytest.mark.slow)])
def test_every_class_takes_names(seed: int) -> None:
    """All of the catalogue, made once more with names in place of what the model has, has the same attributes."""
    rng, seen = np.random.default_rng(seed) if seed else None, set()
    for case, make in EVERYTHING.items():
        model, _ = build(make)
        for part in [*model.elements, *model.constraints]:
            if (made := part.constructor_arguments) is None or type(part).__init__ not in CHECKING:
                continue  # a class of the catalogue's own, whose constructor is not checked
            again: Any = type(part)(
                *(named(value, model, rng) for value in made.arguments),
                **{key: named(value, model, rng) for key, value in made.named.items()},
            )
            if isinstance(again, Deferred):
                seen.add(type(part).__name__)
            assert type(model.add(again)) is type(part)
            assert difference(part, again) == "", f"{case}: {part}"
    every = {
        name: kind for name in fem_mbs.elements.__all__ if isinstance(kind := getattr(fem_mbs.elements, name), type)
    }
    left = {name for name, kind in every.items() if issubclass(kind, ModelPart)} - seen
    # what acts on signals alone takes no node
    assert left == SIGNALS | ELSEWHERE if seed == 0 else len(seen) > 45


SIGNALS = {"Block", "Junction", "LeadLag", "LowPass", "PID", "SampledController", "SampledStateSpace", "Saturation"}
SIGNALS |= {"StateSpace", "TransferFunction"}
ELSEWHERE = {"MeshLoad", "MultiplierSensor"}
"""Not in the catalogue; below."""


def test_a_load_on_a_mesh_takes_the_name_of_its_body() -> None:
    model = mbs.Model()
    ends = {"end": Interface.average([[0.0, 0.0, 0.0], [0.0, 1.0, 1.0]])}
    points, K, M = brick((1, 1, 1), (1.0, 1.0, 1.0), 1e6, 1e3)
    reduced = Reduction(points, K, M, ends, modes=0, loads={"wind": np.ones((8, 3))})
    body = model.add(FlexibleBody.place(model, reduced), name="block")
    assert model.add(MeshLoad("block", "wind", 1.0)).body is body


def test_a_mechanism_by_names_alone_moves_as_by_objects() -> None:
    results = []
    for objects in (True, False):
        model = crank()
        of: Any = model.__getitem__ if objects else str
        model.add(RevoluteJoint(of("ground"), of("crank"), (0, 1, 0), point=(0, 0, 0)), name="pivot")
        model.add(RevoluteJoint(a=of("crank"), b=of("rod"), axis=(0, 1, 0)), name="pin")
        model.add(JointSpring(of("pin"), 3.0))
        model.add(Force(of("rod"), (0, 0, 1)))
        model.add(Coupling([of("pivot"), of("pin")], [1.0, -2.0]))
        angle = model.add(JointSensor(of("pivot")), name="angle")
        model.add(JointActuator(of("pin"), model.add(PID(angle, P=2.0))))
        assert model.add(MultiplierSensor(of("pin"), "rotation x")).joint is model["pin"]  # type: ignore[union-attr]
        arm = Beam.line(model, (2, 0, 0), (3, 0, 0), SECTION, 2, start_node=of("rod"), name="arm")
        model.fix(of("arm[2]"), translation=(False, True, False), rotation=False)
        assert arm.nodes[0] is model["rod"]
        results.append(mbs.simulate(model, 0.1, 0.01).position("rod"))
    assert np.array_equal(*results)


def test_what_waits_for_its_model_says_so() -> None:
    model = crank()
    joint = RevoluteJoint("crank", "rod", axis=(0, 1, 0))  # type: ignore[arg-type]
    assert str(joint) == "RevoluteJoint on 'crank', 'rod'"
    assert str(Force("rod", (0, 0, 1), frame="body")) == "Force on 'rod'"
    assert str(Beam(["crank", model["rod"]], SECTION)) == "Beam on 'crank', node 'rod'"  # type: ignore[list-item]
    for ask in (lambda: joint.nodes, lambda: joint.coordinates, lambda: setattr(joint, "driven", ())):
        with pytest.raises(mbs.ModelError, match="RevoluteJoint on 'crank', 'rod' has no '.*' yet.*model.add"):
            ask()
    joint = pickle.loads(pickle.dumps(copy.copy(joint)))
    assert model.add(joint, name="pin") is joint
    assert joint.nodes == (model["crank"], model["rod"])
    # made of what a joint that waited is now
    spring = model.add(JointSpring(RevoluteJoint("ground", "rod", (0, 0, 1)), 2.0))  # type: ignore[arg-type]
    assert isinstance(spring, JointSpring)


def test_names_that_are_not_there_and_of_another_kind_are_refused() -> None:
    model = crank()
    joint = RevoluteJoint("crnk", "rod", axis=(0, 1, 0))  # type: ignore[arg-type]
    with pytest.raises(
        mbs.ModelError, match="RevoluteJoint on 'crnk', 'rod': a: nothing in the model .* is it 'crank'"
    ):
        model.add(joint)
    model.add_node((0, 0, 0), name="crnk")
    model.add(joint)  # it stayed as it was
    with pytest.raises(
        mbs.ModelError, match="a must be a node made by model.add_node, received RigidBody 'body of rod'"
    ):
        model.add(RevoluteJoint("body of rod", "crank", axis=(0, 1, 0)))  # type: ignore[arg-type]
    with pytest.raises(mbs.ModelError, match="Model.fix: node: nothing in the model is called 'rood'; is it 'rod'"):
        model.fix("rood")  # type: ignore[arg-type]
