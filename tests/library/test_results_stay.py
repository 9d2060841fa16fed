"""A result is the run's: what is changed of a part afterwards changes nothing in it, and is not overheard in a run."""

from __future__ import annotations

import inspect
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catalogue import ELEMENTS, JOINTS

import fem_mbs as mbs
from fem_mbs.contracts import ConstraintBatch, ElementBatch, Motion
from fem_mbs.elements import (
    BeamSection,
    Box,
    Contact,
    ExternalInput,
    FixedJoint,
    Force,
    Gravity,
    JointFriction,
    Plane,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    SpringDamper,
    Vector,
)
from fem_mbs.solution import balance
from fem_mbs.solution.copies import over_time
from fem_mbs.solution.history import History
from fem_mbs.system.states import frozen
from fem_mbs.system.system import System
from fem_mbs.testing import ElementTrial, JointTrial, stage

TRIALS: dict[str, Any] = {name: (ElementTrial, make) for name, make in ELEMENTS.items()}
TRIALS |= {name: (JointTrial, make) for name, make in JOINTS.items()}


def forces(batch: ElementBatch | ConstraintBatch, motion: Motion, prescribed: Any, multipliers: Any) -> Any:
    """What a batch puts on its nodes, row by row."""
    values = (
        batch.force(motion, prescribed)[0] if isinstance(batch, ElementBatch) else batch.evaluate(motion, prescribed)[1]
    )
    return np.asarray(values)


def answers(history: History) -> list[Any]:
    """Forces and gradients, and energies of a history."""
    system = history.system
    batches = [*system.batches, *system.constraint_batches]
    found = [over_time(history, list(dict.fromkeys(batch.owners)), forces) for batch in batches]
    energy = balance.energies(history)
    return [*found, energy.kinetic, energy.strain, energy.gravity]


def change(part: Any, rng: np.random.Generator) -> list[str]:
    """Set the numbers of which a part was made to others, but for those that its constructor refuses."""
    changed = []
    made = part.constructor_arguments
    given = inspect.signature(type(part).__init__).bind(part, *made.arguments, **made.named).arguments
    for name, value in given.items():
        with suppress(mbs.ModelError, TypeError, ValueError):
            numbers = np.asarray(value, float)
            if numbers.size and not isinstance(value, bool):
                setattr(part, name, (numbers * rng.uniform(1.1, 1.5, numbers.shape)).tolist())
                changed.append(name)
    return changed


def assert_as_made(part: Any) -> None:
    """A part has the attributes of one that is made of the same arguments today."""
    made = part.constructor_arguments
    again = type(part)(*made.arguments, **made.named)
    for name, value in vars(again).items():
        if isinstance(value, np.ndarray | float | int | str):
            np.testing.assert_array_equal(getattr(part, name), value, err_msg=f"{part}: {name}")


@pytest.mark.ci
def test_answers_stay() -> None:
    """Of every class: forces, gradients and energies of states of a frozen model."""
    count = 0
    for name, (trial, make) in TRIALS.items():
        system: System = trial.of(make, 0).system
        rest = system.at_rest()
        state = mbs.State(0.0, rest.x, rest.R, rest.V, rest.A, rest.multipliers, rest.u, rest.udot, rest.uddot)
        history = History.of(system, [frozen(state)])
        before = answers(history)
        rng = np.random.default_rng(0)
        count += any([change(part, rng) for part in system.number.parts])
        for part in system.number.parts:
            assert_as_made(part)
        for one, other in zip(before, answers(history), strict=True):
            np.testing.assert_array_equal(other, one, err_msg=name)
    assert count > 0.8 * len(TRIALS)


def oscillator() -> tuple[mbs.Model, SpringDamper, RigidBody]:
    """1 kg on a spring that is longer by 0.2 m."""
    model = mbs.Model()
    node = model.add_node((0.3, 0, 0))
    body = model.add(RigidBody(node, 1.0, (1, 1, 1)), name="body")
    return model, model.add(SpringDamper(model.ground, node, 2.0, free_length=0.1), name="rope"), body


def test_energies_of_earlier_runs() -> None:
    model, rope, body = oscillator()
    runs = {}
    for stiffness in (2.0, 4.0, 8.0):
        rope.stiffness = stiffness
        runs[stiffness] = mbs.simulate(model, 0.1, 0.01)
    body.mass = 3.0
    for stiffness, solution in runs.items():
        np.testing.assert_allclose(solution.energy.total, 0.5 * stiffness * 0.2**2, rtol=1e-5)
    assert rope.stiffness == 8.0 and body.mass == 3.0


@pytest.mark.parametrize("where", ["callback", "event"])
def test_changes_within_a_run_are_refused(where: str) -> None:
    model, rope, _ = oscillator()

    def cut(state: mbs.State) -> float | None:
        if state.t > 0.05:
            rope.stiffness = 1e-3
        return None if where == "callback" else state.t - 0.05

    with pytest.raises(mbs.ModelError, match=r"'rope': stiffness.*initial=solution.checkpoint") as caught:
        mbs.simulate(model, 0.2, 0.01, **{"events" if where == "event" else "callback": cut})
    assert caught.value.solution is not None and caught.value.solution.t[-1] == pytest.approx(0.06)
    solution = mbs.simulate(model, 0.2, 0.01, initial=caught.value.solution.checkpoint)
    assert solution.energy.strain[-1] < 1e-3


CHANGES = "nothing", "gravity", "a force", "the mass", "friction", "the drive", "a value", "what a function reads"


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_model_goes_on_from_a_checkpoint_by_its_own_accelerations(change: str) -> None:
    """What the method remembers is of the model as it was: that of another is that of a run from the state."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    node, slider = model.add_node((0, 0, 0.1), velocity=(3, 0, 0)), model.add_node((0, 5, 0))
    bodies = [model.add(RigidBody(part, 1.0, (0.1, 0.1, 0.1))) for part in (node, slider)]
    force = model.add(Force(node, (0.2, 0, 0)))
    wind, side = ExternalInput(0.1), {"force": 0.1}
    model.add(Force(node, Vector(wind, 0.0, 0.0)))
    model.add(Force(node, lambda t: (0.0, side["force"], 0.0)))
    rail = model.add(PrismaticJoint(model.ground, slider, (1, 0, 0), drive=lambda t: t * t if t > 0.0 else 0.0))
    floor = model.add(Contact(model.ground, node, Plane(), Box((0.2, 0.2, 0.2)), friction=0.3))
    first = mbs.simulate(model, 0.1, 0.02)
    if change == "gravity":
        model.gravity = (0, 0, -1)
    elif change == "a force":
        force.value = (0, 2, 0)
    elif change == "the mass":
        bodies[0].mass = 3.0
    elif change == "friction":
        floor.friction = 0.1
    elif change == "the drive":
        rail.drive = lambda t: t * t + 50.0 * t * (t - 0.1) ** 2
    elif change == "a value":  # laws are the same objects before and after
        wind.value = 0.11
    elif change == "what a function reads":
        side["force"] = 0.11
    starts = (first.checkpoint, first.state(-1))
    on, anew = (mbs.simulate(model, 0.14, 0.02, initial=at) for at in starts)
    if change == "nothing":
        np.testing.assert_array_equal(on.x[-1], mbs.simulate(model, 0.14, 0.02).x[-1])
    else:
        np.testing.assert_allclose(on.x, anew.x, rtol=0, atol=1e-12)


def test_attributes_obey_the_constructor() -> None:
    """One that it takes becomes what it makes of it; what it refuses is refused, and changes nothing."""
    _, rope, body = oscillator()
    body.inertia = (1.0, 2.0, 2.5)
    np.testing.assert_array_equal(body.inertia, np.diag([1.0, 2.0, 2.5]))
    for part, name, value in (
        (rope, "stiffness", "stiff"),
        (rope, "stiffness", np.nan),
        (body, "mass", -1.0),
        (body, "inertia", (1.0, 1.0, 5.0)),
        (body.nodes[0], "fixed_rotation", 3),
    ):
        before = getattr(part, name)
        with pytest.raises(mbs.ModelError, match=name):
            setattr(part, name, value)
        assert getattr(part, name) is before


@pytest.mark.slow
def test_what_is_read_of_an_argument_can_be_set_again() -> None:
    """Of whatever class: with what it is read as a part stays as it is, but for rounding, or it is refused."""
    for name, make in {**ELEMENTS, **JOINTS}.items():
        part = stage.build(make)[1][0]
        numbers = {key: own for key, own in vars(part).items() if isinstance(own, float | np.ndarray)}
        for argument in {*inspect.signature(type(part).__init__).parameters}.intersection(dir(part)):
            with suppress(mbs.ModelError):
                setattr(part, argument, getattr(part, argument))
            now = {key: vars(part)[key] for key in numbers}
            for key, own in numbers.items():
                np.testing.assert_allclose(now[key], own, 1e-12, 1e-14, err_msg=f"{name}: {key} by {argument}")


def test_what_follows_from_an_argument_changes_along() -> None:
    """As in a part that is made so: a brake presses with its radius, a truss has the stiffness of its section."""
    model = mbs.Model()
    drum = model.add_node((1, 0, 0), angular_velocity=(0, 0, 5.0))
    model.add(RigidBody(drum, 2.0, (1, 1, 1), (0, 0, 0.1)))
    hinge = model.add(RevoluteJoint(model.ground, drum, (0, 0, 1)))
    brake = model.add(JointFriction(hinge, 0.3, preload=10.0, radius=0.1))
    slow = mbs.simulate(model, 0.1, 0.01)
    brake.radius = 0.2
    assert slow.angular_velocity(drum)[-1, 2] == pytest.approx(5.0 - 0.1 * 0.3 * 10.0 * 0.1, rel=1e-9)
    fast = mbs.simulate(model, 0.1, 0.01)
    assert fast.angular_velocity(drum)[-1, 2] == pytest.approx(5.0 - 0.1 * 0.3 * 10.0 * 0.2, rel=1e-9)
    with pytest.raises(mbs.ModelError, match="pressing cannot be set.*joint, kinetic"):
        brake.pressing = ()
    assert len(brake.pressing) == 1


def test_parts_that_are_built_on_others_follow_these() -> None:
    """Gravity of a part that becomes heavier, friction in a joint that gets a drive, and a run of before."""
    model = mbs.Model()
    bob = model.add_node((1, 0, 0))
    body = model.add(RigidBody(bob, 2.0, (1, 1, 1)))
    slide = model.add(PrismaticJoint(model.ground, bob, (0, 0, 1)))
    model.add(Gravity(body, (1.0, 0, -9.0)))
    model.add(JointFriction(slide, 0.5))
    runs = {2.0: mbs.simulate(model, 0.1, 0.01)}
    body.mass = 4.0
    runs[4.0] = mbs.simulate(model, 0.1, 0.01)
    for mass, run in runs.items():
        np.testing.assert_allclose(run.reaction(slide)[0][:, 0], -mass, rtol=1e-9)
        np.testing.assert_allclose(np.diff(run.velocity(bob)[-5:, 2]), -8.5 * np.diff(run.t[-5:]), rtol=1e-6)
    slide.drive = lambda t: -(t**2)
    driven = mbs.simulate(model, 0.1, 0.01)
    # the drive takes what friction does
    bears = driven.multipliers(slide)[5:, slide.equations.index("translation z")]
    np.testing.assert_allclose(bears, 0.5 * 4.0 - 4.0 * (9.0 - 2.0), rtol=1e-6)
    np.testing.assert_allclose(runs[4.0].reaction(slide)[0][:, 0], -4.0, rtol=1e-9)


def test_a_part_that_is_changed_stays_on_nodes_where_these_were() -> None:
    """Assembly moves nodes; the free length of a rope and where it is tied are those of before."""
    model = mbs.Model()
    bob = model.add_node((1, 0, 0))
    model.add(RigidBody(bob, 1.0, (1, 1, 1)))
    model.add(FixedJoint(model.ground, bob, (0.5, 0, 0), point_b=(0.4, 0, 0)))
    rope = model.add(SpringDamper(model.ground, bob, 2.0, point_b=(1, 0.1, 0)))
    built, offsets = rope.built, rope.offsets
    model.assemble()
    assert bob.position[0] == pytest.approx(1.1)
    rope.stiffness = 3.0
    assert rope.built == built and rope.offsets is offsets
    rope.point_b = (1, 0.2, 0)
    np.testing.assert_allclose(rope.offsets[1], (0, 0.2, 0), atol=1e-12)


@pytest.mark.parametrize("change", ["stiffness", "point_b"])
def test_a_run_is_saved_as_it_was(change: str, tmp_path: Path) -> None:
    model, rope, _ = oscillator()
    earlier = mbs.simulate(model, 0.1, 0.01)
    setattr(rope, change, 8.0 if change == "stiffness" else (0.3, 0.1, 0))
    later = mbs.simulate(model, 0.1, 0.01)
    for run in (earlier, later):
        loaded = mbs.load(run.save(tmp_path / "run.db"))
        np.testing.assert_array_equal(loaded.energy.strain, run.energy.strain)


def test_arrays_are_not_changed_in_place() -> None:
    """Whoever writes to an array is told whose it is; what is made of it is an array of his own."""
    model, _, body = oscillator()
    section = BeamSection.circle(0.01, E=2e11, nu=0.3, rho=7850)
    solution = mbs.simulate(model, 0.1, 0.01)
    state = solution.state(-1)
    for array, whose in (
        (body.inertia, "RigidBody on node 'node 1': inertia"),
        (body.nodes[0].position, "node 'node 1': position"),
        (model.gravity, "Model: gravity"),
        (section.stiffness, "BeamSection: stiffness"),
        (solution.v, "Solution: v"),
        (state.x, "State: x"),
    ):
        for write in (lambda a: a.__setitem__(0, 2.0), lambda a: a.__iadd__(1.0), lambda a: np.add(1.0, a, out=a)):
            with pytest.raises(mbs.ModelError, match=f"{whose} is read-only.*copy"):
                write(array)
        assert {type(own) for own in (array.copy(), array + 1.0, np.stack([array]))} == {np.ndarray}
    moved = state.x.copy()
    moved[1, 2] += 0.1
    later = mbs.simulate(model, 0.2, 0.01, initial=replace(state, x=moved))
    np.testing.assert_array_equal(later.x[0], moved)


@pytest.mark.parametrize("name", ["x", "t", "status", "event_states", "success"])
def test_what_a_run_has_computed_is_not_replaced(name: str) -> None:
    run = mbs.simulate(oscillator()[0], 0.1, 0.05)
    kept = getattr(run, name)
    with pytest.raises(mbs.ModelError, match=f"Solution of 3 states .*: {name} is a result, and stays as it is"):
        setattr(run, name, 3)
    assert getattr(run, name) is kept
    with pytest.raises(mbs.ModelError, match="no attribute 'angel' that could be set.*'angle'"):
        run.angel = 3
