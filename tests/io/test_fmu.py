"""A model as an FMU: run by another program, it does what it does here, to the order of the communication step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.elements import (
    ExternalInput,
    Force,
    Harmonic,
    JointDrive,
    JointSensor,
    JointStop,
    NodeSensor,
    PointToPoint,
    PositionMotor,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
    TorqueMotor,
    Vector,
)

PUSH, ANGLE = Harmonic(4.0, frequency=1.0, phase=0.3), PointToPoint(0.0, 0.5, duration=0.5)
T_END = 0.32


def arm(push: Any, angle: Any, driven: bool = False) -> tuple[mbs.Model, dict[str, Any]]:
    """A motor, or a drive, turns an arm with a pendulum at its end, which a force pushes."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    body, bob = model.add_node((0.5, 0, 0), name="body"), model.add_node((1, 0, -0.4), name="bob")
    model.add(RigidBody(body, 2.0, (0.01, 0.2, 0.2)))
    model.add(RigidBody(bob, 0.5, (0.002, 0.002, 0.002)))
    drive = angle if driven else None
    hinge = model.add(RevoluteJoint(model.ground, body, (0, 1, 0), point=(0, 0, 0), drive=drive), name="hinge")
    if not driven:
        model.add(PositionMotor(hinge, angle, proportional=400.0, integral=100.0, derivative=40.0))
    model.add(SphericalJoint(body, bob, point=(1, 0, 0)))
    model.add(Force(bob, Vector(push, 0, 0)))
    coordinate, rate = (model.add(JointSensor(hinge, quantity)) for quantity in ("coordinate", "coordinate_rate"))
    ahead = model.add(NodeSensor(bob, "velocity", (1, 0, 0)))
    return model, {"angle": coordinate, "rate": rate, "sum": 2.0 * coordinate - rate, "ahead": ahead}


def ours(driven: bool) -> dict[str, Any]:
    """A run with the inputs as laws."""
    model, outputs = arm(PUSH, ANGLE, driven)
    run = mbs.simulate(model, T_END, 0.004)
    return {name: run.signal(source)[-1] for name, source in outputs.items()}


def led(step: float, driven: bool = False) -> mbs.CoSimulation:
    """The same by communication steps."""
    push, angle = ExternalInput(PUSH(0.0)), ExternalInput(ANGLE(0.0))
    model, outputs = arm(push, angle, driven)
    run = mbs.CoSimulation(model, {"push": push, "reference": angle}, outputs, step=0.005)
    for t in np.arange(round(T_END / step)) * step:
        push.value, angle.value = PUSH(t), ANGLE(t)
        run.advance(step)
    return run


def exported(file: Path) -> Path:
    push, angle = ExternalInput(PUSH(0.0)), ExternalInput(ANGLE(0.0))
    model, outputs = arm(push, angle)
    return mbs.export_fmu(file, model, {"push": push, "reference": angle}, outputs, step=0.005)


@pytest.mark.slow
@pytest.mark.parametrize("driven", [False, True], ids=["motor", "drive"])
def test_results_are_of_first_order_in_the_communication_step(driven: bool) -> None:
    """An input arrives a communication step late: the errors of outputs fall by two when it is halved."""
    expected = ours(driven)
    runs = [led(step, driven) for step in (0.01, 0.005)]
    for name in ("rate", "sum", "ahead"):
        errors = np.abs([run.output(name) - expected[name] for run in runs])
        np.testing.assert_allclose(np.log2(errors[0] / errors[1]), 1.0, atol=0.1, err_msg=name)


@pytest.mark.ci
@pytest.mark.parametrize("driven", [False, True], ids=["motor", "drive"])
def test_what_late_inputs_miss_is_estimated(driven: bool) -> None:
    """The first order in the communication step is in the error of the run, which steps alone have not."""
    whole, run = mbs.simulate(arm(PUSH, ANGLE, driven)[0], T_END, 0.005), led(0.02, driven)
    error = np.linalg.norm(run.state.x - whole.x[-1], axis=1).max()
    assert error > 0.01 and 1.0 < run.error.length / error < 3.0


def test_inputs_that_bend_the_way_of_a_drive_are_said_once(caplog: pytest.LogCaptureFixture) -> None:
    model, angle = mbs.Model(), ExternalInput()
    node = model.add_node((0, 0, 0))
    model.add(RigidBody(node, 2.0, (0.01, 0.2, 0.2)))
    hinge = model.add(RevoluteJoint(model.ground, node, (0, 1, 0), drive=angle))
    run = mbs.CoSimulation(model, {"angle": angle}, {"q": model.add(JointSensor(hinge))}, step=0.01)
    for k in range(6):
        angle.value = 0.1 * (k % 2)
        run.advance(0.01)
    assert [record.message for record in caplog.records if "as by a blow" in record.message] == caplog.messages
    assert len(caplog.messages) == 1 and run.output("q") == pytest.approx(0.1, abs=1e-12)


@pytest.mark.ci
def test_an_input_that_does_not_change_makes_no_difference() -> None:
    """Beyond the starts at communication points, which are of second order in the step."""
    push, angle = ExternalInput(3.0), ExternalInput(0.2)
    model, outputs = arm(push, angle)
    run = mbs.CoSimulation(model, {"push": push}, outputs, step=0.002)
    for _ in range(4):
        run.advance(0.05)
    whole = mbs.simulate(model, 0.2, 0.002)
    assert run.state.t == pytest.approx(0.2)
    assert run.output("angle") == pytest.approx(whole.signal(outputs["angle"])[-1], abs=2e-5)


@pytest.mark.slow
def test_fmpy_runs_it(tmp_path: Path) -> None:
    """The program sets inputs before each communication step, and reads outputs after it: as :func:`led` does."""
    import fmpy

    file = exported(tmp_path / "random.v2.fmu")  # a module of this name there is
    description = fmpy.read_model_description(str(file))
    causes = {variable.name: variable.causality for variable in description.modelVariables}
    assert causes == {
        "push": "input",
        "reference": "input",
        "angle": "output",
        "rate": "output",
        "sum": "output",
        "ahead": "output",
    }
    t = np.arange(0, T_END + 0.01, 0.02)
    inputs = np.array(
        [(now, PUSH(now), ANGLE(now)) for now in t], dtype=[("time", float), ("push", float), ("reference", float)]
    )
    found = fmpy.simulate_fmu(str(file), stop_time=T_END, output_interval=0.02, input=inputs)
    expected = led(0.02)
    for name in expected.outputs:
        assert found[name][-1] == pytest.approx(expected.output(name), rel=1e-9), name
    assert found["angle"][0] == 0.0 and len(found) == 17


def test_what_cannot_be_exported_is_refused(tmp_path: Path) -> None:
    push = ExternalInput()
    model, outputs = arm(push, 0.0)
    for arguments, words in (
        ((tmp_path / "a.zip", model, {}, outputs, 0.01), "path must end with .fmu, received"),
        (("/proc/nowhere/a.fmu", model, {}, outputs, 0.01), "cannot write '/proc/nowhere/a.fmu'"),
        (
            (tmp_path / "a.fmu", model, {"push": 3.0}, outputs, 0.01),
            r"inputs\['push'\] must be an ExternalInput, received 3",
        ),
        ((tmp_path / "a.fmu", model, {}, {"x": "no"}, 0.01), r"outputs\['x'\]: nothing in the model is called 'no'"),
        ((tmp_path / "a.fmu", model, {}, outputs, -1), "export_fmu: step must be"),
        ((tmp_path / "a.fmu", model, {"angle": push}, outputs, 0.01), "'angle' is an input and an output"),
        ((tmp_path / "a.fmu", model, {"": push}, outputs, 0.01), "name of a variable must"),
    ):
        with pytest.raises(mbs.ModelError, match=words):
            mbs.export_fmu(*arguments)  # type: ignore[arg-type]
    with pytest.raises(mbs.ModelError, match="cannot travel to another program: .*lambda.*; write functions of time"):
        mbs.export_fmu(tmp_path / "a.fmu", arm(push, lambda t: 0.0)[0], {}, {}, 0.01)
    assert not (tmp_path / "a.fmu").exists()


def spun() -> tuple[ExternalInput, mbs.Model, dict[str, Any]]:
    """A rotor that an input turns."""
    torque, model = ExternalInput(), mbs.Model()
    rotor = model.add_node((0, 0, 0))
    model.add(RigidBody(rotor, 1.0, (1, 1, 1)))
    hinge = model.add(RevoluteJoint(model.ground, rotor, (0, 0, 1)))
    model.add(TorqueMotor(hinge, torque))
    return torque, model, {"angle": model.add(JointSensor(hinge))}


def test_runs_do_not_see_the_inputs_of_others() -> None:
    torque, model, outputs = spun()
    first = mbs.CoSimulation(model, {"torque": torque}, outputs, 0.01)
    torque.value = 3.0
    first.advance(0.1)
    angle = first.output("angle")
    torque.value = 0.0
    second = mbs.CoSimulation(model, {"torque": torque}, outputs, 0.01)
    second.advance(0.2)
    assert second.output("angle") == 0.0
    assert mbs.simulate(model, 0.1, 0.01).signal(outputs["angle"])[-1] == 0.0
    assert first.output("angle") == angle == pytest.approx(0.015, rel=1e-6)


@pytest.mark.ci
def test_its_state_is_one_of_the_world_that_counts_turns() -> None:
    """A run that goes on from it counts on, and its places are those of the model, far off as well."""
    torque, model = ExternalInput(5.0), mbs.Model()
    rotor = model.add_node((3e5, 0, 0))
    model.add(RigidBody(rotor, 1.0, (1, 1, 1)))
    hinge = model.add(RevoluteJoint(model.ground, rotor, (0, 0, 1), point=(3e5, 0, 0)))
    model.add(TorqueMotor(hinge, torque))
    run = mbs.CoSimulation(model, {"torque": torque}, {}, 0.01)
    for _ in range(4):
        run.advance(0.5)  # to 10 rad
    assert run.state.x[-1] == pytest.approx([3e5, 0, 0], abs=1e-6)
    further = mbs.simulate(model, 2.5, 0.01, initial=run.state)
    assert further.angle(hinge)[[0, -1]] == pytest.approx([10.0, 15.625], rel=1e-6)


def test_inputs_that_are_set_before_the_first_step_act_from_the_start() -> None:
    torque, model, outputs = spun()
    run = mbs.CoSimulation(model, {"torque": torque}, outputs, 0.01)
    assert run.state.vdot[-1, 5] == 0.0
    torque.value = 3.0
    assert run.state.vdot[-1, 5] == pytest.approx(3.0)


def test_a_model_that_was_changed_is_told() -> None:
    torque, model, outputs = spun()
    run = mbs.CoSimulation(model, {"torque": torque}, outputs, 0.01)
    run.advance(0.1)
    model.gravity = (0, 0, -1)
    with pytest.raises(mbs.ModelError, match="CoSimulation: changed since it was made: its gravity.*make one of the"):
        run.advance(0.1)


def dropped(stiffness: float, push: float = 0.0) -> tuple[ExternalInput, mbs.Model, dict[str, Any]]:
    """A mass that falls on a stop, with a force across."""
    force, model = ExternalInput(push), mbs.Model(gravity=(0, 0, -9.81))
    node = model.add_node((0, 0, 1))
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    slide = model.add(PrismaticJoint(model.ground, node, (0, 0, 1)))
    model.add(JointStop(slide, lower=-0.1, upper=None, stiffness=stiffness, damping=0.2))
    model.add(Force(node, Vector(0, force, force)))
    return force, model, {"z": model.add(JointSensor(slide))}


@pytest.mark.ci
@pytest.mark.parametrize("stiffness", [1e4, pytest.param(1e6, marks=pytest.mark.slow)])
def test_communication_steps_do_not_lose_kinks(stiffness: float) -> None:
    """With inputs that rest, it is one run; steps that begin in a stop, and are cut otherwise, follow it as well."""
    _, model, outputs = dropped(stiffness)
    whole = mbs.simulate(model, 0.24, 0.01)
    for step in (0.01, 0.024):
        force, model, own = dropped(stiffness)
        run = mbs.CoSimulation(model, {"force": force}, own, 0.01)
        for _ in range(round(0.24 / step)):
            run.advance(step)
        exact = 1e-9 if step != 0.024 else 2e-4
        assert run.output("z") == pytest.approx(whole.signal(outputs["z"])[-1], abs=exact)
        assert run.t == pytest.approx(0.24)
    assert run.error.length < 0.01


@pytest.mark.slow
def test_what_changes_its_way_keeps_kinks() -> None:
    """An input that goes up and down, over steps of 10 ms and of 2 ms."""
    places = []
    for step in (0.01, 0.002):
        force, model, outputs = dropped(1e4)
        run = mbs.CoSimulation(model, {"force": force}, outputs, step)
        for k in range(20):
            force.value = 2.0 * (k % 3 == 0)
            run.advance(0.01)
        places.append(run.output("z"))
    assert places[0] == pytest.approx(places[1], abs=1e-3)


def test_what_a_run_says_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    model, ends = mbs.Model(gravity=(0, 0, -9.81)), []
    for x, z in ((0.5, 0.0), (1.0, 0.5)):
        ends.append(model.add_node((x, 0, z)))
        model.add(RigidBody(ends[-1], 2.0, (0.1, 0.2, 0.2)))
    model.add(RevoluteJoint(model.ground, ends[0], (0, 1, 0), point=(0, 0, 0)))
    model.add(RevoluteJoint(*ends, (0, 1, 0), point=(1, 0, 0)))
    run = mbs.CoSimulation(model, {}, {}, step=0.1)
    assert not run.error.estimated
    for _ in range(10):
        run.advance(0.4)
    assert any("is of the order of the motion" in text for text in caplog.messages)  # who asks for no end hears of it
    run.end()
    said = [text for text in caplog.messages if "is of the order of the motion" in text]
    assert len(said) == 1 and said[0].startswith("CoSimulation: up to t = ")
    assert run.error.angle > 0.1


def test_what_few_steps_do_not_say_is_said_at_the_end(caplog: pytest.LogCaptureFixture) -> None:
    """Of a communication step an input says nothing yet; ``end`` does, once."""
    torque, model, outputs = spun()
    run = mbs.CoSimulation(model, {"torque": torque}, outputs, 0.1)
    run.end()
    for _ in range(3):
        torque.value += 1.0
        run.advance(0.1)
    assert not caplog.messages
    run.end()
    run.end()
    assert ["is of the order of the motion" in text for text in caplog.messages] == [True]


def test_watches_of_a_run_look_at_drives_that_jump(caplog: pytest.LogCaptureFixture) -> None:
    """A drive goes on at another rate from one communication step to the next: reactions ring."""
    angle, model = ExternalInput(), mbs.Model(gravity=(0, 0, -9.81))
    body = model.add_node((1, 0, 0))
    model.add(RigidBody(body, 1.0, (0.1, 0.1, 0.1)))
    hinge = model.add(RevoluteJoint(model.ground, body, (0, 1, 0), point=(0, 0, 0)))
    model.add(JointDrive(hinge, angle), name="drive")
    run = mbs.CoSimulation(model, {"angle": angle}, {}, 0.01)
    for k in range(8):
        angle.value = 0.3 * max(k - 3, 0)
        run.advance(0.1)
    run.end()
    said = [text for text in caplog.messages if "'drive': the drive jumps between t = 0.4 s and 0.41 s" in text]
    assert len(said) == 1 and said[0].startswith("CoSimulation: up to t = ")


def test_a_step_that_begins_elsewhere_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("pythonfmu")
    from fem_mbs.files import fmu_slave

    torque, model, outputs = spun()
    slave = fmu_slave.Slave.__new__(fmu_slave.Slave)
    slave.modelName, slave._run = "rotor", mbs.CoSimulation(model, {"torque": torque}, outputs, 0.01)
    assert slave.do_step(0.0, 0.1) and slave.do_step(0.1, 0.1)
    with pytest.raises(ValueError, match=r"rotor stands at t = 0.2 s, received a step from 0.1 s"):
        slave.do_step(0.1, 0.1)
    with caplog.at_level("INFO"):
        slave.terminate()
    assert "CoSimulation: up to t = 0.2 s in 20 steps: estimated error" in caplog.text


def test_an_advance_that_is_refused_leaves_no_trace() -> None:
    torque, model, outputs = spun()
    run = mbs.CoSimulation(model, {"torque": torque}, outputs, 0.01)
    torque.value = 3.0
    for duration in (0, -1.0, np.nan, None, "x"):
        with pytest.raises(mbs.ModelError, match="duration must be a positive number of seconds"):
            run.advance(duration)  # type: ignore[arg-type]
    for value in (np.nan, None, "x"):
        torque.value = value  # type: ignore[assignment]
        with pytest.raises(mbs.ModelError, match=r"inputs\['torque'\].value must be a"):
            run.advance(0.1)
    torque.value = 3.0
    run.advance(0.1)
    assert run.output("angle") == pytest.approx(0.015, rel=1e-6)
    with pytest.raises(mbs.ModelError, match="must be one of 'angle', received 'nope'"):
        run.output("nope")


def test_an_input_that_acts_on_nothing_is_refused() -> None:
    torque, model, outputs = spun()
    with pytest.raises(mbs.ModelError, match=r"inputs\['brake'\] acts on nothing in the model"):
        mbs.CoSimulation(model, {"torque": torque, "brake": ExternalInput()}, outputs, 0.01)


def test_an_input_that_is_set_on_the_run_itself_is_refused() -> None:
    push = ExternalInput(0.0)
    model, outputs = arm(push, 0.0)
    run = mbs.CoSimulation(model, {"push": push}, outputs, step=0.01)
    with pytest.raises(mbs.ModelError, match="CoSimulation has no attribute 'push' that could be set"):
        run.push = 3.0  # type: ignore[attr-defined]
