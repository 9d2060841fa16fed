"""The careless user runs a model and asks for results: what cannot be done is refused before the first step."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection, Force, PointMass, RevoluteJoint, RigidBody, SphericalJoint
from fem_mbs.errors import LawError

NAN = float("nan")
SECTION = BeamSection(1e6, 1e6, 1e3, 1e3, 1.0, (1e-2, 5e-3, 5e-3))


def pendulum(**motion: Any) -> mbs.Model:
    model = mbs.Model(gravity=(0, 0, -9.81))
    bob = model.add_node((1, 0, 0), name="bob", **motion)
    model.add(RigidBody(bob, 1.0, (1, 1, 1)), name="lead")
    model.add(SphericalJoint(model.ground, bob, point=(0, 0, 0)), name="pivot")
    return model


def driven(drive: Callable[[float], Any], **motion: Any) -> mbs.Model:
    model = mbs.Model()
    arm = model.add_node((1, 0, 0), name="arm", **motion)
    model.add(RigidBody(arm, 1.0, (1, 1, 1)))
    model.add(RevoluteJoint(model.ground, arm, (0, 0, 1), point=(0, 0, 0), drive=drive), name="motor")
    return model


def pushed(value: Callable[..., Any]) -> mbs.Model:
    model = pendulum()
    model.add(Force(model.nodes[1], value), name="gust")
    return model


class Rates:
    """A drive whose rates are not numbers."""

    def __call__(self, t: float) -> float:
        return 0.0

    def velocity(self, t: float) -> str:
        return "fast"

    acceleration = velocity


ARGUMENTS: dict[str, tuple[dict[str, Any], str]] = {
    "no model": ({"model": None}, "simulate: model must be a Model, received None"),
    "system for model": (
        {"model": mbs.System(pendulum())},
        "simulate: model must be a Model, received a System",
    ),
    "end nan": ({"t_end": NAN}, "simulate: t_end must be a positive number of seconds, received nan"),
    "end true": ({"t_end": True}, "simulate: t_end must be a positive number of seconds, received True"),
    "end complex": ({"t_end": 1j}, "simulate: t_end must be a positive number of seconds, received 1j"),
    "step zero": ({"step": 0}, "simulate: step must be a positive number of seconds, received 0"),
    "step text": (
        {"step": "1 ms"},
        "simulate: step must be a positive number of seconds, received '1 ms'; or give a VariableStep or a FixedStep",
    ),
    "step in nanoseconds": ({"step": 1e-9}, "are 1.0e+09 steps, more than can be kept (1e+07); look at the units"),
    "end and step swapped": (
        {"t_end": 0.1, "step": 1.0},
        "step = 1 s is longer than the run, which ends at t_end = 0.1 s; did you mean simulate(model, t_end=1, "
        "step=0.1)?",
    ),
    "method by name": ({"method": "HHT"}, "simulate: method must be a Method, such as GeneralizedAlpha() or"),
    "method a class": (
        {"method": mbs.GeneralizedAlpha},
        "received the class GeneralizedAlpha; give an object of it, GeneralizedAlpha(...)",
    ),
    "a run to begin from": (
        {"initial": mbs.simulate(pendulum(), 0.1, 0.1)},
        "The run reached its end.; give its checkpoint",
    ),
    "callback": ({"callback": 3}, "simulate: callback must be a function of a State, received 3"),
}


def test_an_equilibrium_has_states_and_no_checkpoint() -> None:
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), BeamSection.circle(0.01, 2e11, 0.3, 7850), elements=1)
    model.fix(beam.nodes[0])
    with pytest.raises(mbs.ModelError, match=r"; give its state\(\.\.\.\)"):
        mbs.modes(model, state=mbs.statics(model))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_of_simulate(name: str) -> None:
    changes, words = ARGUMENTS[name]
    with pytest.raises(mbs.ModelError) as refusal:
        mbs.simulate(**{"model": pendulum(), "t_end": 1.0, "step": 0.1} | changes)
    assert words in str(refusal.value)


def held() -> mbs.Model:
    model = mbs.Model()
    model.fix(model.add_node((1, 0, 0)))
    return model


STARTS: dict[str, tuple[Callable[[], mbs.Model], type[mbs.FemMbsError], str]] = {
    "empty": (mbs.Model, mbs.ModelError, "nothing can move: the model has no node beside the ground"),
    "all held": (held, mbs.ModelError, "nothing can move: all 2 nodes are held"),
    "velocity against a joint": (
        lambda: pendulum(velocity=(1, 0, 0)),
        mbs.ModelError,
        "SphericalJoint 'pivot' is violated by the initial velocities (translation x: 1 where 0 is expected)",
    ),
    "drive not from zero": (
        lambda: driven(lambda t: 1.0 + t * t),
        mbs.ModelError,
        "RevoluteJoint 'motor': its drive must be 0 at t = 0, where the joint stands as it was built, received 1 rad",
    ),
    "drive from standstill": (
        lambda: driven(lambda t: 5.0 * t),
        mbs.ModelError,
        "RevoluteJoint 'motor' is violated by the initial velocities (rotation z: -5 where 0 is expected)",
    ),
    "drive nan": (
        lambda: driven(lambda t: NAN),
        LawError,
        "'motor': its function of time must return one finite number",
    ),
    "drive a list": (
        lambda: driven(lambda t: [t]),
        LawError,
        "must return one finite number, received [0.] at t = 0 s",
    ),
    "drive none": (lambda: driven(lambda t: None), LawError, "must return one finite number, received None at t = 0 s"),
    "drive a class": (lambda: driven(Rates), LawError, "RevoluteJoint 'motor': its function of time failed at t = 0 s"),
    "drive of odd rates": (lambda: driven(Rates()), LawError, "must return one finite number, received 'fast'"),
    "drive fails": (
        lambda: driven(lambda t: 1 / t),
        LawError,
        "'motor': its function of time failed at t = 0 s: ZeroDiv",
    ),
    "load fails": (
        lambda: pushed(lambda t: 1 / t),
        LawError,
        "Force 'gust': its function of time failed at t = 0 s: Zero",
    ),
    "load of two": (
        lambda: pushed(lambda t: (1, 2)),
        LawError,
        "Force 'gust': its function of time must return 3 finite",
    ),
    "load without time": (lambda: pushed(lambda: (1, 2, 3)), LawError, "Force 'gust': its function of time failed"),
}


@pytest.mark.parametrize("name", STARTS)
def test_models_that_cannot_start_are_refused_before_the_first_step(name: str) -> None:
    build, kind, words = STARTS[name]
    seen: list[float] = []
    with pytest.raises(kind) as refusal:
        mbs.simulate(build(), 1.0, 0.1, callback=lambda state: seen.append(state.t))
    assert words in str(refusal.value) and seen == [] and refusal.value.solution is None


@pytest.mark.parametrize("omega", [1.0, 10.0, 60.0])
def test_smooth_drives_without_derivatives_start_from_rest(omega: float) -> None:
    """Their rates come from differences, whose error is not a violated joint."""
    assert mbs.simulate(driven(lambda t: 1.0 - np.cos(omega * t)), 1e-2, 1e-3).success
    with pytest.raises(mbs.ModelError, match="violated by the initial velocities"):
        mbs.simulate(driven(lambda t: 1.0 - np.cos(omega * t) + 0.05 * omega * t), 1e-2, 1e-3)


def test_velocities_agree_with_a_drive() -> None:
    model = driven(lambda t: 5.0 * t, velocity=(0, 5, 0), angular_velocity=(0, 0, 5))
    assert mbs.simulate(model, 0.1, 0.01).success
    with pytest.raises(mbs.ModelError, match="'motor' is violated"):
        mbs.simulate(driven(lambda t: 5.0 * t, velocity=(0, 5, 0), angular_velocity=(0, 0, 5.001)), 0.1, 0.01)


@pytest.mark.parametrize("length", [1e-5, 1.0, 1e4])
def test_violations_are_judged_in_the_units_of_the_model(length: float) -> None:
    """Slow and small models have slow and small velocities; a part in a million is still seen."""
    for error, violates in ((0.0, False), (1e-6, True)):
        model = mbs.Model()
        speed = 1e-3 * length
        bob = model.add_node((length, 0, 0), velocity=(error * speed, speed, 0), angular_velocity=(0, 0, 1e-3))
        model.add(RigidBody(bob, 1.0, length**2 * np.ones(3)))
        model.add(SphericalJoint(model.ground, bob, point=(0, 0, 0)), name="pivot")
        if violates:
            with pytest.raises(mbs.ModelError, match="SphericalJoint 'pivot' is violated by the initial velocities"):
                mbs.simulate(model, 0.1, 0.1)
        else:
            assert mbs.simulate(model, 0.1, 0.1).success


def test_progress_needs_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(
        mbs.MissingPackageError, match=r"progress=True needs tqdm; install it with pip install 'fem_mbs\[progress\]'"
    ):
        mbs.simulate(pendulum(), 1.0, 0.1, progress=True)


def late(model: mbs.Model) -> mbs.Node:
    return model.add_node((0, 0, 0), name="late")


STRANGE = mbs.Model()
ONE, TWO = STRANGE.add_node((0, 0, 0), name="one"), STRANGE.add_node((1, 0, 0), name="two")
QUERIES: dict[str, tuple[Callable[[mbs.Solution, Any], object], str]] = {
    "node of another model": (lambda s, m: s.position(ONE), "node 'one' is not part of this model"),
    "node made after the run": (lambda s, m: s.velocity(late(m)), "node 'late' is not part of this model"),
    "name of no node": (lambda s, m: s.rotation("bobby"), "nothing in the model is called 'bobby'; is it 'bob'?"),
    "name of a joint for a node": (lambda s, m: s.rotation("pivot"), "or its name, received SphericalJoint 'pivot'"),
    "list of nodes": (
        lambda s, m: s.displacement([m.nodes[1]]),
        "must be a node made by model.add_node, or its name, received [node",
    ),
    "body for node": (
        lambda s, m: s.position(m.elements[0]),
        "must be a node made by model.add_node, or its name, received RigidBody",
    ),
    "node for joint": (
        lambda s, m: s.multipliers(m.nodes[1]),
        "joint must be a joint that was added to the model, or its name, received node",
    ),
    "body for joint": (
        lambda s, m: s.reaction(m.elements[0]),
        "joint must be a joint that was added to the model, or its name, received Rig",
    ),
    "joint never added": (
        lambda s, m: s.reaction(SphericalJoint(ONE, TWO)),
        "SphericalJoint on node 'one', node 'two' is",
    ),
    "angle of a ball": (
        lambda s, m: s.angle(m.constraints[0]),
        "SphericalJoint 'pivot' has no axis to measure an angle",
    ),
    "angle of a node": (
        lambda s, m: s.angle(m.nodes[1]),
        "joint must be a joint that was added to the model, or its name, received node 'b",
    ),
    "section forces of a body": (
        lambda s, m: s.section_forces(m.elements[0]),
        "RigidBody 'lead' has no section forces",
    ),
    "section forces elsewhere": (lambda s, m: s.section_forces(Beam([ONE, TWO], SECTION)), "node 'one' is not part of"),
    "time before": (lambda s, m: s(-0.1), "t = -0.1 s is outside the run, which covers 0.0 s to 0.2 s"),
    "time after": (lambda s, m: s(0.3), "t = 0.3 s is outside the run, which covers 0.0 s to 0.2 s"),
    "time nan": (lambda s, m: s(NAN), "Solution: t must be a finite number, received nan"),
    "times": (lambda s, m: s([0.1, 0.2]), "Solution: t must be a number, received [0.1, 0.2]"),
    "state after the last": (lambda s, m: s.state(3), "there is no state 3; the run has 3 states, counted from 0"),
    "motion before the first": (lambda s, m: s.motion(-4), "there is no state -4; the run has 3 states"),
}


@pytest.mark.parametrize("name", QUERIES)
def test_questions_that_a_solution_cannot_answer(name: str) -> None:
    model = pendulum()
    answer, words = QUERIES[name]
    with pytest.raises(mbs.ModelError) as refusal:
        answer(mbs.simulate(model, 0.2, 0.1), model)
    assert words in str(refusal.value)


def test_a_node_of_the_script_asked_of_a_loaded_run_leads_to_its_name(tmp_path: Path) -> None:
    model = mbs.Model()
    node = model.add_node((0, 0, 0), name="mass")
    model.add(PointMass(node, 1.0))
    model.fix(node, translation=False, rotation=True)
    mbs.simulate(model, 0.02, 0.01).save(tmp_path / "run.db")
    loaded = mbs.load(tmp_path / "run.db")
    with pytest.raises(mbs.ModelError, match="another one of this name.*ask by the name"):
        loaded.position(node)
    assert loaded.position("mass").shape == (3, 3)
