"""Compiled kernels: what they return, what is not compiled, and where they are kept."""

from __future__ import annotations

import hashlib
import logging
import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.elements import (
    Ball,
    Beam,
    BeamContact,
    BeamSection,
    Contact,
    JointForce,
    JointFriction,
    JointStop,
    Maxwell,
    Plane,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    Rope,
    SphericalJoint,
    SpringDamper,
)

pytest.importorskip("llvmlite")

from fem_mbs.compiled import band, batches, emit, machine  # noqa: E402
from fem_mbs.compiled.batches import Samples  # noqa: E402
from fem_mbs.compiled.one_cell import refuse_outside  # noqa: E402
from fem_mbs.compiled.tape import FUNCTIONS, CannotRecordError, Number, Tape, recording  # noqa: E402
from fem_mbs.contracts import Batch, Element, ElementBatch, Motion, node_rows  # noqa: E402
from fem_mbs.system.system import System  # noqa: E402


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Kernels run, and are kept in a folder of the test."""
    monkeypatch.setenv("FEM_MBS_FAST", "1")
    monkeypatch.setenv("FEM_MBS_CACHE", str(tmp_path))
    monkeypatch.setattr(batches, "LEAST", 0)
    machine.kernel.cache_clear()
    return tmp_path


def ruler(group: str = "SE3") -> mbs.Model:
    model = mbs.Model(group=group, gravity=(0, 0, -9.81))
    section = BeamSection.rectangle(width=0.03, height=0.001, E=210e9, nu=0.3, rho=7850).with_damping(1e-4)
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements=3, name="ruler")
    model.add(RevoluteJoint(model.ground, beam.nodes[0], axis=(0, 1, 0)))
    return model


def pendulums(group: str = "SE3") -> mbs.Model:
    model = mbs.Model(group=group, gravity=(0, 0, -9.81))
    last = model.ground
    for k in range(3):
        node = model.add_node((k + 0.5, 0, 0), angular_velocity=(0, 0, 0))
        model.add(RigidBody(node, 1.0, (0.1, 0.2, 0.25), (0.1, 0, 0)))
        model.add(SphericalJoint(last, node, point=(k, 0, 0)))
        last = node
    model.add(SpringDamper(model.ground, last, 30.0, damping=0.5, point_b=(3, 0, 0.1)))
    return model


@pytest.mark.ci
@pytest.mark.parametrize(
    "closes", ["floor", "rope", "stop", "ball on a beam", "floor, where friction reads multipliers"]
)
def test_contacts_that_close_are_those_of_numpy(closes: str, monkeypatch, fast: Path) -> None:
    """Beside joints and compiled batches: in steps their forces stand behind the multipliers."""

    def closed() -> mbs.Solution:
        if closes == "floor, where friction reads multipliers":
            model = mbs.Model(gravity=(0, 0, -9.81))
            last = model.ground
            for k in range(4):
                node = model.add_node((0.1 * k + 0.05, 0, 0))
                model.add(RigidBody(node, 1.0, (0.01, 0.02, 0.02)))
                hinge, last = model.add(RevoluteJoint(last, node, (0, 1, 0), point=(0.1 * k, 0, 0))), node
            model.add(JointFriction(hinge, 0.2, radius=0.05))
            model.add(Contact(model.ground, last, Plane(point=(0, 0, -0.06)), Ball(0.05)), name="it")
            return mbs.simulate(model, t_end=0.06, step=0.005)
        model = mbs.Model(gravity=(0, 0, -9.81))
        beam = Beam.line(model, (0, 0, 0), (1, 0, 0), BeamSection.circle(0.01, 70e9, 0.3, 2700), elements=2)
        hinge = model.add(RevoluteJoint(model.ground, beam.nodes[0], axis=(0, 1, 0)))
        if closes == "floor":
            floor = Plane(point=(0, 0, -0.011))
            model.add(Contact(model.ground, beam.nodes[-1], floor, Ball(0.01), friction=0.3), name="it")
        elif closes == "rope":
            model.add(Rope(model.ground, beam.nodes[-1], 1.001, point_a=(1, 0, 1)), name="it")
        elif closes == "stop":
            model.add(JointStop(hinge, None, 0.001, restitution=0.0), name="it")
        else:
            ball = model.add_node((0.9, 0, 0.06), velocity=(0, 0, -1))
            model.add(RigidBody(ball, 0.3, (3e-4,) * 3))
            model.add(BeamContact(beam, ball, Ball(0.05)), name="it")
        return mbs.simulate(model, t_end=0.025, step=0.0025)

    own = closed()
    monkeypatch.setenv("FEM_MBS_FAST", "0")
    plain = closed()
    assert own.stats.compiled and plain.impulses("it")
    np.testing.assert_allclose(own.x, plain.x, atol=1e-9)


def test_kernels_are_not_taken_over_by_models_with_other_arrays(fast: Path) -> None:
    """Those of a model without internal variables do not know where arrays of these would stand."""
    for maxwell in (False, True):
        model, last = mbs.Model(gravity=(0, 0, -9.81)), None
        for k in range(4):
            node = model.add_node((k + 0.5, 0, 0))
            model.add(RigidBody(node, 1.0, (0.1, 0.2, 0.25)))
            model.add(SphericalJoint(last or model.ground, node, point=(k, 0, 0)))
            last = node
        if maxwell:
            model.add(Maxwell(model.ground, model.nodes[-1], 100.0, 10.0))
        samples = Samples(System(model))
        (batch,) = (own for own in samples.system.batches if isinstance(own.owners[0], RigidBody))
        assert samples.difference(batch, samples.compiled(batch), samples.other) < 1e-12


WIND = 20.0


def relative(v: np.ndarray) -> np.ndarray:
    return v - WIND


def around(wind: float) -> Callable[[Any, np.ndarray], np.ndarray]:
    return lambda self, v: v - wind


class Air(Element):
    """Of a user, with a batch that a test makes."""

    batch: Any

    def __init__(self, node: mbs.Node) -> None:
        self.nodes = (node,)


class AirBatch(ElementBatch):
    wind = 20.0

    def __init__(self, elements: Sequence[Any], number: Any) -> None:
        self.owners, self.nodes, self.own_wind = elements, node_rows(elements, number), np.full(len(elements), 20.0)

    def force(self, motion: Motion, prescribed: None) -> tuple[np.ndarray, None]:
        return 0.3 * self.seen(motion.V[self.nodes[:, 0]]), None

    def seen(self, v: np.ndarray) -> np.ndarray:
        return np.sin(v) - math.pi * self.own_wind[:, None]

    def stiffness(self, context: None) -> np.ndarray:
        return np.zeros((len(self.nodes), 6, 6))


@pytest.mark.parametrize(
    ("seen", "reads"),
    [
        (AirBatch.seen, None),
        (lambda self, v: v - WIND, "WIND"),
        (lambda self, v: relative(v), "relative"),
        (lambda self, v: v - self.wind, "Breeze.wind"),
        (lambda self, v: v - AirBatch.wind, "AirBatch"),
        (around(20.0), "wind"),
    ],
    ids=["its own", "a global", "a function of its module", "of its class", "of a class", "a variable around it"],
)
def test_what_a_script_may_set_is_no_constant_of_kernels(seen: Any, reads: str | None, fast: Path) -> None:
    breeze: Any = type("Breeze", (AirBatch,), {"seen": seen, "wind": 20.0, "__module__": __name__})
    Air.batch = classmethod(lambda cls, elements, number: breeze(elements, number))
    model = mbs.Model()
    node = model.add_node((0, 0, 0))
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    model.add(Air(node))
    system = System(model)
    (batch,) = (own for own in system.batches if isinstance(own, AirBatch))
    if reads is None:
        refuse_outside(batch)
    else:
        with pytest.raises(CannotRecordError, match=f"^reads {reads}, which may change"):
            Samples(system).compiled(batch)


def test_models_in_which_nothing_moves_are_refused_in_words(fast: Path) -> None:
    held = mbs.Model()
    node = held.add_node((1, 0, 0))
    held.add(RigidBody(node, 1.0, (1, 1, 1)))
    held.fix(node)
    for model in (held, mbs.Model()):
        with pytest.raises(mbs.ModelError, match="nothing can move|no nodes"):
            mbs.simulate(model, 1.0, 0.1)


@pytest.mark.parametrize("make", [ruler, pendulums])
@pytest.mark.parametrize("group", ["SE3", "R3xSO3"])
def test_runs_are_those_of_numpy(make: Callable[[str], mbs.Model], group: str, monkeypatch, fast: Path) -> None:
    monkeypatch.setattr(band, "NARROW", -1)
    compiled = mbs.simulate(make(group), t_end=0.2, step=0.005)
    monkeypatch.setenv("FEM_MBS_FAST", "0")
    plain = mbs.simulate(make(group), t_end=0.2, step=0.005)
    assert compiled.stats.compiled and not plain.stats.compiled
    assert compiled.stats.residual_evaluations == plain.stats.residual_evaluations
    np.testing.assert_allclose(compiled.x, plain.x, atol=1e-10)
    np.testing.assert_allclose(compiled.multipliers_all, plain.multipliers_all, atol=1e-7)
    np.testing.assert_allclose(compiled.energy.total, plain.energy.total, atol=1e-8)


def test_stored_runs_say_which_kernels_ran(fast: Path) -> None:
    solution = mbs.simulate(pendulums(), t_end=0.02, step=0.005)
    assert solution.stats.compiled == ("RigidBody", "SpringDamper", "SphericalJoint")
    assert mbs.load(solution.save(fast / "run.db")).stats.compiled == solution.stats.compiled


def test_runs_that_follow_a_tolerance_are_compiled(fast: Path) -> None:
    """Their trial runs are of the same system."""
    solution = mbs.simulate(pendulums(), t_end=0.1, step=mbs.VariableStep(tolerance=1e-5))
    assert solution.stats.compiled == ("RigidBody", "SpringDamper", "SphericalJoint")


def test_other_branches_are_numpys(fast: Path) -> None:
    """An element that turns further than the recorded way holds is computed by the batch itself."""
    model = ruler()
    system = mbs.System(model)
    samples = Samples(system)
    batch, motion = system.batches[0], replace(samples.other, R=samples.other.R.copy())
    compiled = samples.compiled(batch)
    w = np.array([0.0, 0.0, 2.5])
    motion.R[1] = motion.R[0] @ np.array([[np.cos(w[2]), -np.sin(w[2]), 0], [np.sin(w[2]), np.cos(w[2]), 0], [0, 0, 1]])
    force, context = compiled.force(motion, None)
    expected, _ = batch.force(motion, None)
    assert type(context).__name__ == "BeamContext"
    np.testing.assert_array_equal(force, expected)


def test_masses_do_not_ask_numpy_for_forces(fast: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of elements without any there is none."""
    system = mbs.System(pendulums())
    samples = Samples(system)
    for batch in system.batches:
        expected = batch.mass(batch.force(samples.other, None)[1])
        compiled = samples.compiled(batch)
        _, context = compiled.force(samples.other, None)
        with monkeypatch.context() as patched:
            patched.setattr(type(batch), "force", None)
            mass = compiled.mass(context)
        if isinstance(batch.owners[0], SpringDamper):
            assert mass is None and expected is None
        else:
            np.testing.assert_allclose(mass, expected, atol=1e-14)


def test_functions_of_the_user_are_not_recorded(fast: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What a law remembers is heard."""
    model = mbs.Model()
    node, gain = model.add_node((0, 0, 0)), [1.0]
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    slider = model.add(PrismaticJoint(model.ground, node, axis=(1, 0, 0)))
    model.add(JointForce(slider, lambda t, q, speed: gain[0]), name="push")

    def stronger(state: mbs.State) -> None:
        gain[0] = 2.0

    with caplog.at_level(logging.DEBUG, "fem_mbs"):
        solution = mbs.simulate(model, t_end=1.0, step=0.01, callback=stronger)
    assert "JointForce" not in solution.stats.compiled
    assert any("stays NumPy" in message for message in caplog.messages)
    assert solution.velocity(node)[-1, 0] > 1.9


def test_what_is_small_stays_numpy(monkeypatch: pytest.MonkeyPatch, fast: Path) -> None:
    """Where systems are too large to be compiled as a whole."""
    monkeypatch.setattr(batches, "LEAST", 2000)
    monkeypatch.setattr(band, "NARROW", -1)
    assert mbs.simulate(ruler(), t_end=0.01, step=0.005).stats.compiled == ("Beam",)
    assert mbs.simulate(pendulums(), t_end=0.01, step=0.005).stats.compiled == ()


def given(tape: Tape, sample: np.ndarray) -> np.ndarray:
    """Numbers that are given."""
    result = np.empty(sample.size, object)
    result[:] = [Number(tape, tape.add("input", "x", k, sample=v, stage=0)) for k, v in enumerate(sample.flat)]
    return result.reshape(sample.shape)


def test_a_number_folds_what_does_not_depend_on_inputs() -> None:
    tape = Tape()
    (x,) = given(tape, np.array([2.0]))
    assert x * 0.0 == 0.0 and x * 1.0 is x and x + 0.0 is x and isinstance(x + x, Number)
    assert (x + 1.0).place == (1.0 + x).place
    assert not tape.guards
    assert x > 1.0
    assert len(tape.guards) == 1


def test_a_full_tape_raises_nothing_within_products_of_arrays() -> None:
    """NumPy's products of object arrays go on after an error, and free what is in use: processes broke down by it."""
    tape = Tape(most=60)
    A = given(tape, np.arange(45.0).reshape(5, 3, 3))
    B = A @ A
    assert all(isinstance(value, Number) for value in B.flat)
    with pytest.raises(CannotRecordError, match="more than 60 operations"):
        tape.needed([B.flat[-1].place], [])
    space = ModuleType("of a law")
    space.np = np  # type: ignore[attr-defined]
    with pytest.raises(CannotRecordError), recording([space]):
        full = Tape(most=2)
        given(full, np.ones(3))
        space.np.sin(1.0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_all_lanes_are_those_of_numpy(name: str, fast: Path) -> None:
    """To a few units of the last digit: of angles, of the smallest that stand in for zero, and of what is no number."""
    plain, lanes, rng = FUNCTIONS[name], machine.lanes(), np.random.default_rng(3)
    angles, small = rng.uniform(1e-3, 6.0, 20 * lanes), 10.0 ** rng.uniform(-300, -1, 20 * lanes)
    x = np.concatenate([angles, small, rng.uniform(50.0, 60.0, 20 * lanes), np.full(lanes, np.nan)])
    given = (x, np.full(len(x), 1.5))[: 1 + (name == "atan2")]
    text = machine.Text(lanes)
    values = [text.load(f"%array{k}", 0, text.vector) for k in range(2)]
    text.store(emit._operation(text, name, values[: len(given)]), "%array1", 0, text.vector)
    function = text.function("kernel", "ptr %array0, i64 %n, ptr %array1, i64 %m", "0")
    kernel, result = machine.kernel("\n".join([function, *text.declared, ""])), np.full(len(x), 1.5)
    for first in range(0, len(x), lanes):
        kernel(*(values[first:].ctypes.data if k else 0 for values in (x, result) for k in (1, 0)))
    np.testing.assert_allclose(result, plain(*given), rtol=2e-15, atol=0.0)


def kept(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if len(path.name) == 64)


def test_damaged_kernels_are_made_anew(fast: Path) -> None:
    mbs.simulate(pendulums(), t_end=0.01, step=0.005)
    before = {path: path.read_bytes() for path in kept(fast)}
    assert before
    for k, path in enumerate(before):
        path.write_bytes(before[path][: 40 * k] if k % 2 else bytes(1000))
    machine.kernel.cache_clear()
    mbs.simulate(pendulums(), t_end=0.01, step=0.005)
    for path, content in before.items():
        code = path.read_bytes()
        assert hashlib.sha256(code[32:]).digest() == code[:32] == content[:32]


def test_where_nothing_can_be_written_nothing_is_kept(fast: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = fast / "file"
    nowhere.write_text("no folder")
    monkeypatch.setenv("FEM_MBS_CACHE", str(nowhere))
    assert mbs.simulate(pendulums(), t_end=0.01, step=0.005).stats.compiled


@pytest.mark.ci
def test_kernels_on_disk_are_bounded(fast: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "LARGEST", 60_000)
    mbs.simulate(ruler(), t_end=0.01, step=0.005)
    mbs.simulate(pendulums(), t_end=0.01, step=0.005)
    assert sum(path.stat().st_size for path in kept(fast)) <= 60_000


SCRIPT = """
import fem_mbs as mbs
from fem_mbs.compiled import batches
from fem_mbs.elements import RigidBody, SphericalJoint
batches.LEAST = 0
model = mbs.Model(gravity=(0, 0, -9.81))
node = model.add_node((1, 0, 0))
model.add(RigidBody(node, 1.0, (1, 2, 2)))
model.add(SphericalJoint(model.ground, node, point=(0, 0, 0)))
solution = mbs.simulate(model, t_end=0.05, step=0.01)
print(solution.stats.compiled, solution.position(node)[-1].tolist())
"""


@pytest.mark.ci
def test_many_processes_fill_one_folder(fast: Path) -> None:
    command = [sys.executable, "-c", SCRIPT]
    processes = [subprocess.Popen(command, env=dict(os.environ), stdout=subprocess.PIPE) for _ in range(3)]
    said = {process.communicate()[0] for process in processes}
    assert len(said) == 1 and b"RigidBody" in said.pop()
    assert not [path for path in fast.iterdir() if path.name.startswith("new-")]


@pytest.mark.parametrize("compiled", [batches.CompiledElements, batches.CompiledConstraints])
def test_what_is_not_compiled_is_handed_on(compiled: type) -> None:
    """A compiled batch answers all of its contract by the batch itself, what a contract gets later, too."""
    contract = {**vars(Batch), **vars(compiled.__bases__[0])}
    methods = {name for name, own in contract.items() if isinstance(own, FunctionType) and not name.startswith("_")}
    assert "history_rates" in methods and methods <= vars(compiled).keys()
