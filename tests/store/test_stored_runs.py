"""Runs that go to a file as they come: the same as in memory, whole at any moment, and gone on with to the bit."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest
from kept_runs import assert_same, double_pendulum, machine

import fem_mbs as mbs
from fem_mbs import Solution, State
from fem_mbs.alpha.newmark import Parameters
from fem_mbs.elements import Bushing, Force, RevoluteJoint, RigidBody
from fem_mbs.files.store import recorder
from fem_mbs.files.store.database import Database
from fem_mbs.files.store.save import Steps
from fem_mbs.solution import turns
from fem_mbs.solution.channels import columns

RUN = {"t_end": 1.2, "step": 0.02}
METHODS: dict[str, dict[str, Any]] = {
    "generalised alpha": {},
    "variable steps": {"step": mbs.VariableStep(1e-2)},
    "parameters": {"method": mbs.GeneralizedAlpha(parameters=Parameters(0.0, 0.05, 0.275625, 0.55))},
    "updated Lagrangian": {"method": mbs.UpdatedLagrangian(0.8)},
    "Radau IIA": {"method": mbs.RadauIIA(), "step": 0.04},
    "Lie-Euler": {"method": mbs.LieEuler(), "step": 0.01},
}


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps are written after every few of them, in place of every second."""
    monkeypatch.setattr(recorder, "INTERVAL", 0.01)


def cut(path: Path, at: float, run: Callable[..., Solution]) -> Path:
    """A copy of the file as it is when a run has come to a time: what is left if the process is killed then."""
    copy = path.with_name("cut.db")

    def callback(state: State) -> None:
        if state.t >= at and not copy.exists():
            shutil.copy(path, copy)

    copy.unlink(missing_ok=True)
    run(callback=callback)
    return copy


@pytest.mark.parametrize("there", [False, True])
def test_of_runs_that_begin_at_once_one_wins(there: bool, tmp_path: Path) -> None:
    """Whether a file is there or not; what is left is the whole run of the winner, and nothing else."""
    file, barrier, said = tmp_path / "run.db", Barrier(3), list[str]()
    if there:
        mbs.simulate(double_pendulum(), 0.1, 0.02, store=file)

    def run() -> None:
        model = double_pendulum()
        barrier.wait()
        try:
            said.append(mbs.simulate(model, 0.4, 0.02, store=file).status.name)
        except mbs.StoreError as error:
            said.append(str(error))

    threads = [Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first, *others = sorted(said, key=len)
    assert first == "FINISHED" and all("is being written to by another run" in own for own in others), said
    assert mbs.load(file).t[-1] == 0.4 and list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("name", METHODS)
def test_a_stored_run_is_the_run(name: str, tmp_path: Path) -> None:
    """In memory, from the file, and cut off and gone on with."""
    model, file, options = double_pendulum(), tmp_path / "run.db", {**RUN, **METHODS[name]}
    memory = mbs.simulate(model, **options)
    copy = cut(file, 0.61, lambda **more: mbs.simulate(model, **options, store=file, **more))
    assert_same(mbs.load(file), memory)
    found = mbs.load(copy)
    assert found.status is mbs.Outcome.CUT and not found.success and found.t[-1] < 0.66
    assert np.array_equal(found.x, memory.x[: len(found.t)])
    resumed = mbs.resume(copy)
    assert_same(resumed, memory)
    assert_same(mbs.load(copy), memory)
    for other in (resumed, mbs.load(copy), mbs.load(memory.save(file))):
        assert np.array_equal(other(0.333).x, memory(0.333).x)


def test_steps_are_in_the_file_after_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads the file beside the run, or after it was killed, misses less than the steps of the interval."""
    monkeypatch.setattr(recorder, "INTERVAL", 0.1)
    file, late = tmp_path / "run.db", []

    def callback(state: State) -> None:
        time.sleep(0.025)
        late.append(round((state.t - mbs.load(file).t[-1]) / 0.02))

    mbs.simulate(double_pendulum(), 0.3, 0.02, store=file, callback=callback)
    assert max(late) <= 5 and min(late) == 0
    monkeypatch.setattr(recorder, "INTERVAL", 0.0)
    late.clear()
    mbs.simulate(double_pendulum(), 0.1, 0.02, store=file, callback=callback)
    assert late == [0] * 5


@pytest.mark.ci
@pytest.mark.parametrize("share", [0.2, 0.7])
def test_a_process_that_is_killed_while_it_writes(share: float, tmp_path: Path) -> None:
    """What SQLite has not completed is taken back by whoever opens the file next: the journal is beside it."""
    model, file = double_pendulum(), tmp_path / "run.db"
    memory = mbs.simulate(model, **RUN)
    copy = cut(file, 0.5, lambda **more: mbs.simulate(model, **RUN, store=file, **more))
    whole = len(mbs.load(copy).t)
    script = """
import os, sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("PRAGMA cache_size = 1")
c.execute("BEGIN")
c.execute("UPDATE checkpoints SET content = zeroblob(5000)")
c.executemany("REPLACE INTO steps VALUES (?, zeroblob(9000), 0)", [(k,) for k in range(int(sys.argv[2]))])
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", script, str(copy), str(int(100 * share))], check=False)
    assert copy.with_name("cut.db-journal").stat().st_size > 0
    assert len(mbs.load(copy).t) == whole
    assert_same(mbs.resume(copy), memory)


@pytest.mark.slow
def test_fewer_states_count_turns_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are counted together."""
    model, file = double_pendulum(), tmp_path / "run.db"
    memory = mbs.simulate(model, 4.0, 0.02)
    monkeypatch.setattr(turns, "MANY", 1)
    rows = [*range(0, 200, 40), 200]
    run = mbs.Store(file, every=40)
    copy = cut(file, 3.0, lambda **more: mbs.simulate(model, 4.0, 0.02, store=run, **more))
    for found in (mbs.load(file), mbs.resume(copy), mbs.load(copy)):
        assert np.array_equal(found.x, memory.x[rows])
        assert np.array_equal(found.channel("hinge.angle"), memory.channel("hinge.angle")[rows])
        assert np.abs(found.channel("hinge.angle")).max() > 2 * np.pi
        assert found.stats.steps == 200
        assert found.stats.mean_newton_iterations == memory.stats.mean_newton_iterations


def test_times_of_output(tmp_path: Path) -> None:
    model, file, times = double_pendulum(), tmp_path / "run.db", np.linspace(0.3, 1.1, 7)
    memory = mbs.simulate(model, **RUN, times=times)
    copy = cut(file, 0.7, lambda **more: mbs.simulate(model, **RUN, times=times, store=file, **more))
    for found in (mbs.load(file), mbs.resume(copy)):
        for name in ("t", "x", "v", "vdot"):
            assert np.array_equal(getattr(found, name), getattr(memory, name))
        assert np.array_equal(found.channel("hinge.angle"), memory.channel("hinge.angle"))
        assert found.stats.mean_newton_iterations == memory.stats.mean_newton_iterations


@pytest.mark.slow
def test_channels_in_place_of_states(tmp_path: Path) -> None:
    model, file = double_pendulum(), tmp_path / "run.db"
    memory, names = mbs.simulate(model, **RUN), ["tip.position", "hinge.reaction.force", "hinge.angle", "energy"]
    store = mbs.Store(file, channels=names)
    copy = cut(file, 0.7, lambda **more: mbs.simulate(model, **RUN, store=store, **more))
    for found in (mbs.load(file), mbs.resume(copy), mbs.load(copy)):
        for name in [*names, "tip.position.z", "energy.total"]:
            assert np.array_equal(found.channel(name), memory.channel(name)), name
        assert len(columns(found, None)[0]) == 11
        with pytest.raises(mbs.ModelError, match="holds no states but the channels tip.position.x, .*solution.channel"):
            found.position(found.system.nodes[1])
        with pytest.raises(mbs.ModelError, match="holds no states but the channels"):
            found.channel("tip.velocity")
        with pytest.raises(AttributeError):
            found.history.no_array  # noqa: B018
    assert file.stat().st_size < 0.3 * mbs.simulate(model, **RUN).R.nbytes + 4e5


def test_events(tmp_path: Path) -> None:
    def low(state: State) -> float:
        return float(state.x[2, 2] + 0.5)

    model, file = double_pendulum(), tmp_path / "run.db"
    memory = mbs.simulate(model, **RUN, events=low)
    copy = cut(file, 0.7, lambda **more: mbs.simulate(model, **RUN, events=low, store=file, **more))
    assert len(memory.event_times[0]) > 0
    assert_same(mbs.load(file), memory)
    with pytest.raises(mbs.ModelError, match="watched 1 events, received 0"):
        mbs.resume(copy)
    resumed = mbs.resume(copy, events=low)
    assert_same(resumed, memory)
    assert np.array_equal(resumed.event_states[0][0].x, memory.event_states[0][0].x)


@pytest.mark.slow
def test_functions_of_a_script(tmp_path: Path) -> None:
    """What needs no function of the script can be asked of the file alone; the rest, with the model of the script."""
    file = tmp_path / "run.db"
    memory = mbs.simulate(machine(), **RUN)
    copy = cut(file, 0.7, lambda **more: mbs.simulate(machine(), **RUN, store=file, **more))
    loaded = mbs.load(file)
    for name in ("motor.multipliers", "motor.angle", "beam.section_forces", "arm.acceleration", "energy"):
        assert np.array_equal(loaded.channel(name), memory.channel(name)), name
    with pytest.raises(mbs.LawError, match="RevoluteJoint 'motor'.*functions do not travel in files"):
        assert loaded.constraint_residual
    full = mbs.load(file, machine())
    assert np.array_equal(full.constraint_residual.velocity, memory.constraint_residual.velocity)
    assert np.array_equal(full.channel("motor.reaction"), memory.channel("motor.reaction"))
    with pytest.raises(mbs.ModelError, match="lacks the function '<lambda>'.*mbs.resume"):
        mbs.resume(copy)
    with pytest.raises(mbs.ModelError, match="the model is not the one of the file"):
        mbs.resume(copy, double_pendulum())
    assert_same(mbs.resume(copy, machine()), memory)


def test_what_jumps_between_the_steps_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file knows what was just before a jump, also that of a run that was saved, or joined; it is read when asked."""
    model = mbs.Model()
    node = model.add_node((0, 0, 0), name="stone")
    model.add(RigidBody(node, 2.0, (1, 1, 1)))

    def push(t: float) -> tuple[float, float, float]:
        return (20.0 if t >= 0.1 else 0.0, 0.0, 0.0)

    push.jumps = [0.1]  # type: ignore[attr-defined]
    model.add(Force(node, push))
    run = mbs.simulate(model, 0.3, 0.03, store=tmp_path / "run")
    path = mbs.simulate(model, 0.3, 0.03).save(tmp_path / "saved")
    first = mbs.simulate(model, 0.05, 0.03)
    joined = mbs.join([first, mbs.simulate(model, 0.3, 0.03, initial=first.checkpoint)])
    again = mbs.load(mbs.load(path).save(tmp_path / "again"))
    for own in (run, mbs.load(tmp_path / "run"), mbs.load(path), again, joined):
        assert np.allclose([own(t).vdot[-1, 0] for t in (0.0999, 0.1, 0.1001)], [0.0, 10.0, 10.0], atol=1e-9)
    read, content = list[tuple[str, int]](), Database.content
    monkeypatch.setattr(Database, "content", lambda *given: read.append(given[1:]) or content(*given))
    loaded = mbs.load(path)
    assert min(number for _, number in read) == 0 and len(loaded.history.before) == 1
    assert loaded(0.0999).vdot[-1, 0] == pytest.approx(0.0, abs=1e-9) and min(number for _, number in read) < 0


def test_another_method_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "run.db"
    model = double_pendulum()
    copy = cut(file, 0.1, lambda **more: mbs.simulate(model, 0.2, 0.02, store=file, **more))
    with pytest.raises(mbs.ModelError, match="made with another method"):
        mbs.resume(copy, method=mbs.GeneralizedAlpha(0.5))


def test_an_interrupted_run_goes_on(tmp_path: Path) -> None:
    def stop(state: State) -> None:
        if state.t > 0.75:
            raise KeyboardInterrupt

    model, file = double_pendulum(), tmp_path / "run.db"
    store = mbs.Store(file, every=7)
    cut_off = mbs.simulate(model, **RUN, store=store, callback=stop)
    assert cut_off.status is mbs.Outcome.INTERRUPTED
    assert cut_off.t[-1] == pytest.approx(0.76)
    memory = mbs.simulate(model, **RUN, store=mbs.Store(tmp_path / "other.db", every=7))
    assert_same(mbs.resume(file), memory)


def test_a_run_that_was_ended_on_purpose_is_returned_as_it_is(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "run.db"
    whole = mbs.simulate(double_pendulum(), 0.2, 0.02, store=file)
    assert_same(mbs.resume(file), whole)
    assert not caplog.text
    mbs.simulate(double_pendulum(), 0.2, 0.02, store=file, callback=lambda state: state.t > 0.09)
    assert mbs.resume(file).t[-1] == pytest.approx(0.1)
    assert "The callback ended the run. It is returned as it is, to t = 0.1 s of 0.2 s" in caplog.text


def test_a_model_that_is_far_away(tmp_path: Path) -> None:
    model, file = mbs.Model(gravity=(0, 0, -9.81)), tmp_path / "far"
    tip = model.add_node((5001, 0, 7000), name="tip")
    model.add(RigidBody(tip, 1.0, (0.1, 0.1, 0.1)))
    model.add(RevoluteJoint(model.ground, tip, (0, 1, 0), point=(5000, 0, 7000)))
    memory = mbs.simulate(model, 0.1, 0.02)
    assert memory.system.origin.any()
    assert_same(mbs.simulate(model, 0.1, 0.02, store=file), memory)
    assert_same(mbs.load(file), memory)
    memory.save(file)
    assert_same(mbs.load(file), memory)


@pytest.mark.slow
def test_saved_solutions(tmp_path: Path) -> None:
    memory = mbs.simulate(machine(), **RUN)
    file = memory.save(tmp_path / "saved")
    assert file.name == "saved.db"
    loaded = mbs.load(file, machine())
    assert_same(loaded, memory)
    assert loaded.checkpoint.control_memory == memory.checkpoint.control_memory
    loaded.save(tmp_path / "twice")
    again = mbs.load(tmp_path / "twice.db", machine())
    assert np.array_equal(again.channel("motor.reaction"), memory.channel("motor.reaction"))
    longer = mbs.simulate(machine(), 1.4, 0.02, initial=mbs.load(file, machine()).checkpoint)
    joined = mbs.join([loaded, longer])
    whole = mbs.simulate(machine(), 1.4, 0.02)
    assert np.array_equal(joined.x, whole.x) and joined.stats.steps == 70


def test_the_model_of_a_file_runs_and_is_analysed(tmp_path: Path) -> None:
    whole = mbs.simulate(double_pendulum(), 0.2, 0.01)
    loaded = mbs.load(whole.save(tmp_path / "run.db"))
    ahead = [mbs.simulate(run.model, 0.3, 0.005, initial=run.state(-1)) for run in (whole, loaded)]
    assert np.array_equal(*(run.x for run in ahead))
    assert np.array_equal(*(mbs.linearize(run.model, run.state(-1)).K.toarray() for run in (whole, loaded)))


@pytest.mark.ci
def test_runs_join_with_their_turns() -> None:
    """Counted on the way where few states are kept, afterwards where all are."""
    model, few = double_pendulum(), np.array([0.0, 1.0, 2.0])
    whole = mbs.simulate(model, 2.0, 0.02, times=few)
    for kept in ((few[:2], few[1:]), (None, few[1:])):
        first = mbs.simulate(model, 1.0, 0.02, times=kept[0])
        second = mbs.simulate(model, 2.0, 0.02, times=kept[1], initial=first.checkpoint)
        joined = mbs.join([first, second])
        same = np.abs(joined.t[:, None] - few).min(axis=1) < 1e-9
        assert joined.t[same] == pytest.approx(whole.t, abs=1e-9)
        assert joined.channel("hinge.angle")[same] == pytest.approx(whole.channel("hinge.angle"), abs=1e-6)
    with pytest.raises(mbs.ModelError, match="ends at t = 2.0 s is followed by one that begins at t = 0.0 s"):
        mbs.join([second, first])
    with pytest.raises(mbs.ModelError, match="different models"):
        mbs.join([first, mbs.simulate(machine(), 0.1, 0.02)])
    held = mbs.Model()
    held.add(Bushing(held.ground, held.add_node((0, 0, 0)), np.ones(6)))
    path = mbs.statics(held)
    for runs in ([first, path], [path, first]):
        with pytest.raises(mbs.ModelError, match="load paths"):
            mbs.join(runs)


def test_runs_of_a_model_that_was_changed_between_are_not_one() -> None:
    """Of one model object, or of two that differ in a number; a change after both runs is of no interest."""
    model = double_pendulum()
    first = mbs.simulate(model, 0.04, 0.02)
    second = mbs.simulate(model, 0.06, 0.02, initial=first.checkpoint)
    body = next(part for part in model.elements if isinstance(part, RigidBody))
    mass, body.mass = body.mass, 5.0
    assert mbs.join([first, second]).energy.total[0] == first.energy.total[0]
    third, other = mbs.simulate(model, 0.06, 0.02, initial=first.checkpoint), double_pendulum()
    with pytest.raises(mbs.ModelError, match=f"changed between the runs: {body}: mass"):
        mbs.join([first, third])
    assert mbs.join([first, mbs.simulate(other, 0.06, 0.02, initial=first.checkpoint)]).t[-1] == 0.06
    other[body.name].mass = mass + 1e-6
    with pytest.raises(mbs.ModelError, match=f"{body}: mass"):
        mbs.join([first, mbs.simulate(other, 0.06, 0.02, initial=first.checkpoint)])


@pytest.mark.ci
def test_factors_of_wide_matrices(tmp_path: Path) -> None:
    """Bodies that all hang together by springs: kept factors are larger than the states."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    nodes = [model.add_node((k, 0.1 * k**2, 0), name=f"body {k}") for k in range(20)]
    for node in nodes:
        model.add(RigidBody(node, 1.0, (0.1, 0.1, 0.1)))
        for other in nodes[: nodes.index(node)]:
            model.add(Bushing(other, node, 6 * (30.0,)))
    model.add(RevoluteJoint(model.ground, nodes[0], (0, 1, 0), point=(0, 0, 0)))
    file, memory = tmp_path / "run.db", mbs.simulate(model, 0.2, 0.02)
    copy = cut(file, 0.1, lambda **more: mbs.simulate(model, 0.2, 0.02, store=file, **more))
    assert_same(mbs.resume(copy), memory)


def test_a_file_is_written_by_one_run_at_a_time(tmp_path: Path) -> None:
    """Also where it is read meanwhile, which ends locks of processes, and within one process."""
    model, file = double_pendulum(), tmp_path / "run.db"
    memory = mbs.simulate(model, 0.2, 0.02)

    def callback(state: State) -> None:
        if state.t < 0.07:
            return
        mbs.load(file)
        for again in (
            lambda: mbs.simulate(model, 0.1, 0.02, store=file),
            lambda: mbs.resume(file),
            lambda: memory.save(file),
        ):
            with pytest.raises(mbs.StoreError, match=r"run.db' is being written to by another run"):
                again()

    mbs.simulate(model, 0.2, 0.02, store=file, callback=callback)
    assert_same(mbs.load(file), memory)
    memory.save(file)
    assert_same(mbs.resume(file), memory)


@pytest.mark.parametrize("name", ["Lauf für Ω 走", "with space.db", "a/new/folder/run.v2", "-rf"])
def test_names_of_files(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = double_pendulum()
    monkeypatch.chdir(tmp_path)
    memory = mbs.simulate(model, 0.1, 0.02, store=name)
    assert_same(mbs.load(name), memory)
    assert_same(mbs.load(Path(name)), memory)


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_names_of_no_files(name: str) -> None:
    model = double_pendulum()
    run = mbs.simulate(model, 0.02, 0.02)
    for write in (
        lambda: mbs.simulate(model, 0.1, 0.02, store=name),
        lambda: run.save(name),
        lambda: run.to_csv(name),
    ):
        with pytest.raises(mbs.ModelError, match="path must name a file, received"):
            write()


def test_a_link_leads_to_its_file(tmp_path: Path) -> None:
    link, place = tmp_path / "link.db", tmp_path / "place.db"
    link.symlink_to(place)
    mbs.simulate(double_pendulum(), 0.1, 0.02, store=link)
    assert link.is_symlink() and len(mbs.load(place).t) == 6


def test_ctrl_c_while_a_step_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step is not in the file: the run goes on from the checkpoint before it."""
    model, file, count = double_pendulum(), tmp_path / "run.db", iter(range(10**6))
    add = Steps.add

    def interrupted(self: Steps, row: bytes, before: bytes | None) -> None:
        if next(count) == 17:
            raise KeyboardInterrupt
        add(self, row, before)

    memory = mbs.simulate(model, **RUN)
    monkeypatch.setattr(Steps, "add", interrupted)
    cut_off = mbs.simulate(model, **RUN, store=file)
    assert cut_off.status is mbs.Outcome.INTERRUPTED and len(cut_off.t) == 17
    assert np.array_equal(mbs.load(file).x, memory.x[:17])
    assert_same(mbs.resume(file), memory)
