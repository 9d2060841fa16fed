"""One function for many cases: the same rows wherever they run, kept on disk, and what is refused."""

from __future__ import annotations

import copy
import json
import linecache
import logging
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any
from weakref import WeakSet

import numpy as np
import pytest
import studies
from threadpoolctl import threadpool_limits

import fem_mbs as mbs
from fem_mbs.contracts.public import moments
from fem_mbs.elements import Beam, BeamSection, LowPass, NodeSensor, SpringDamper
from fem_mbs.run.sweep import VARIABLES

LENGTHS = [{"length": 0.5 + k} for k in range(-1, 3)]
NUMBERS = [{"x": k} for k in range(8)]
FORK = multiprocessing.get_context("fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn")


@pytest.fixture(autouse=True)
def free(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Processes that are started find the studies, and only the sweep holds linear algebra to one thread."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    with threadpool_limits(2):
        yield


def plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with lists in place of arrays, which compare."""
    return [{key: np.asarray(value).tolist() for key, value in row.items()} for row in rows]


@pytest.fixture(scope="module")
def expected() -> list[dict[str, Any]]:
    return plain(mbs.sweep(studies.turned, LENGTHS))


def check_all(executor: Executor, expected: list[dict[str, Any]]) -> None:
    """The laws of every executor with processes of its own."""
    rows = mbs.sweep(studies.turned, LENGTHS, executor)
    assert plain(rows) == expected
    there = mbs.sweep(studies.where, NUMBERS, executor)
    assert os.getpid() not in {row["process"] for row in there}  # how many take part is up to the executor
    assert {row["threads"] for row in there} == {1}
    # models, laws of time and solutions travel, there and back
    model, bob = studies.build(1.5)
    solution = mbs.simulate(model, t_end=0.1, step=0.01)
    [row] = mbs.sweep(studies.counted, [{"model": model, "solution": solution}], executor)
    assert row["same"]
    np.testing.assert_array_equal(row["way"], solution.displacement(bob)[-1])
    np.testing.assert_array_equal(row["back"].energy.total, solution.energy.total)


def test_rows_are_the_cases_in_order_with_their_results(expected: list[dict[str, Any]]) -> None:
    """An arm of length L that turns by one radian about y ends at L (cos 1, 0, -sin 1)."""
    for case, row in zip(LENGTHS[1:], expected[1:], strict=True):
        assert row["length"] == case["length"] and row.keys() == {"length", "place", "moment"}
        np.testing.assert_allclose(row["place"], case["length"] * np.array([np.cos(1), 0, -np.sin(1)]), atol=1e-12)


def test_a_case_that_fails_is_a_row_that_says_where(
    expected: list[dict[str, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    line = 1 + Path(studies.__file__).read_text(encoding="utf-8").split("\n").index(
        '        raise ValueError(f"no arm of {length} m")'
    )
    assert expected[0] == {
        "length": -0.5,
        "error": f"ValueError: no arm of -0.5 m (studies.py, line {line}, in turned)",
    }
    with caplog.at_level(logging.WARNING, "fem_mbs"):
        mbs.sweep(studies.turned, LENGTHS)
    assert caplog.messages == [f"sweep: 1 of 4 cases failed, the first: {expected[0]}"]
    assert mbs.sweep(studies.ends, [{"x": 1}])[0]["error"].startswith("SystemExit: 1 (studies.py, line")


@pytest.mark.ci
def test_threads(expected: list[dict[str, Any]]) -> None:
    with ThreadPoolExecutor(4) as executor:
        assert plain(mbs.sweep(studies.turned, 3 * LENGTHS, executor)) == 3 * expected
        assert {row["threads"] for row in mbs.sweep(studies.where, NUMBERS, executor)} == {1}
        assert mbs.sweep(lambda x: {"y": -x}, NUMBERS[:1], executor) == [{"x": 0, "y": 0}]


@pytest.mark.slow
def test_processes(expected: list[dict[str, Any]]) -> None:
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as executor:
        check_all(executor, expected)
        for function, case in ((lambda x: {}, 1), (studies.square, lambda: 0), (studies.returned, "a lambda")):
            [row] = mbs.sweep(function, [{"x": case}], executor)
            assert "pickle" in row["error"] and "lambdas and no functions within functions" in row["error"]


@pytest.mark.slow
def test_a_dask_cluster(expected: list[dict[str, Any]]) -> None:
    """Two worker processes and a scheduler, which take lambdas as well."""
    from dask.distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        executor = client.get_executor()
        check_all(executor, expected)
        assert mbs.sweep(lambda x: {"y": -x}, NUMBERS[2:3], executor) == [{"x": 2, "y": -2}]
        draws = mbs.sweep(lambda: {"drawn": np.random.default_rng().normal()}, [{}, {}], executor)
        assert draws[0] != draws[1]  # equal cases run as often as they are given
        with pytest.raises(mbs.ModelError, match=r"executor must be an Executor .* such as client.get_executor\(\)"):
            mbs.sweep(studies.square, NUMBERS, client)


def by_mpi(table: Path) -> subprocess.CompletedProcess[str]:
    """Two workers and the process that sweeps, with the MPI of this environment."""
    script = Path(__file__).with_name("by_mpi.py")
    mpiexec = which("mpiexec", path=str(Path(sys.executable).parent))
    assert mpiexec, "the extra fem_mbs[mpi] brings mpiexec"
    command = [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", str(script), str(table)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_mpi(expected: list[dict[str, Any]], tmp_path: Path) -> None:
    run = by_mpi(tmp_path / "rows.jsonl")
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["rows"] == expected
    assert len({row["process"] for row in found["places"]}) == 2
    assert {row["threads"] for row in found["places"]} == {1}
    assert "lambda" in found["bad"][0]["error"] and "lambda" in found["refusal"][0]["error"]


def test_a_worker_that_dies(tmp_path: Path) -> None:
    """The pool is lost, and says so; what was finished is kept, and a new pool runs the rest."""
    cases = [{"x": k, "where": str(tmp_path), "always": False} for k in range(8)]
    for attempt in range(2):
        with ProcessPoolExecutor(2, FORK) as executor:
            rows = mbs.sweep(studies.deadly, cases, executor, store=tmp_path / "rows.jsonl")
        squares = [row.get("square") for row in rows]
        lost = [row["error"] for row in rows if "error" in row]
        if not attempt:
            assert squares[0] == 0 and squares[3] is None
            assert all("BrokenProcessPool: a worker ended" in error for error in lost)
            assert "if __name__ == '__main__':" in lost[0] and "in a new pool goes on" in lost[0]
            done = sum(own is not None for own in squares)
    assert squares == [k * k for k in range(8)]
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 8 + 8 - done


@pytest.mark.slow
def test_a_worker_of_dask_that_dies(tmp_path: Path) -> None:
    """Dask runs the case again elsewhere, and gives up after some workers."""
    import dask
    from dask.distributed import Client, LocalCluster

    patience = {"distributed.deploy.lost-worker-timeout": "300s", "distributed.scheduler.allowed-failures": 2}
    with (
        dask.config.set(patience),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        for always in (False, True):
            cases = [{"x": k, "where": str(tmp_path), "always": always} for k in range(8)]
            rows = mbs.sweep(studies.deadly, cases, client.get_executor())
            squares = [row.get("square") for row in rows]
            assert squares[:3] == [0, 1, 4] and squares.count(None) <= (2 if always else 0), rows
            if always:
                assert "KilledWorker" in rows[3]["error"]


CALLS: list[int] = []


def study(x: int, seed: int) -> dict[str, Any]:
    """Fails at 2, until it was called often."""
    CALLS.append(x)
    if x == 2 and len(CALLS) < 8:
        raise RuntimeError("not yet")
    return {"y": [x, np.float64(seed)], "name": "ß", "none": None, "yes": np.True_}


def test_a_table_keeps_what_is_finished(tmp_path: Path) -> None:
    """Rows of failures run again, and so does a case whose line was cut; the others do not."""
    calls = CALLS
    calls.clear()
    table = tmp_path / "new folder" / "rows.jsonl"
    first = mbs.sweep(study, NUMBERS, store=table, seed=3)
    assert calls == list(range(8))
    lines = table.read_bytes().splitlines(keepends=True)
    table.write_bytes(b"".join(lines)[:-20])
    second = mbs.sweep(study, [{"x": 9}, *NUMBERS], store=table, seed=3)
    assert calls[8:] == [9, 2, 7]
    assert [row for k, row in enumerate(second[1:]) if k != 2] == [row for k, row in enumerate(first) if k != 2]
    assert "error" in first[2] and second[3]["y"] == [2, second[3]["seed"]]
    assert mbs.sweep(study, NUMBERS, store=table, seed=3) == second[1:] and len(calls) == 11
    stored = [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]
    assert len(stored) == 10 and {row["x"] for row in stored} == {0, 1, 2, 3, 4, 5, 6, 7, 9}
    mbs.sweep(study, NUMBERS, store=table, seed=4)
    assert len(calls) == 19  # another seed, other cases


def test_equal_cases_have_seeds_and_rows_of_their_own(tmp_path: Path) -> None:
    cases = [{"x": 1.0}] * 50
    rows = mbs.sweep(studies.drawn, cases, seed=1, store=tmp_path / "rows.jsonl")
    assert len({row["seed"] for row in rows}) == len({row["drawn"] for row in rows}) == 50
    assert mbs.sweep(studies.drawn, [{"x": 2.0}, *cases], seed=1)[1:] == rows
    assert mbs.sweep(studies.drawn, [*cases, *cases[:1]], seed=1, store=tmp_path / "rows.jsonl")[:50] == rows


def test_a_table_says_when_the_function_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for text in ("return {'y': x}", "return {'y': 2 * x}"):
        (tmp_path / "changing.py").write_text(f"def study(x):\n    {text}\n")
        sys.modules.pop("changing", None)
        linecache.checkcache()
        import changing  # type: ignore[import-not-found]

        with caplog.at_level(logging.WARNING, "fem_mbs"):
            rows = mbs.sweep(changing.study, NUMBERS, store=tmp_path / "rows.jsonl")
    assert rows[3] == {"x": 3, "y": 3}
    [message] = caplog.messages
    assert "the file of changing.study has changed since 8 rows" in message and "remove the file" in message


def test_what_a_table_cannot_hold(tmp_path: Path) -> None:
    table = tmp_path / "rows.jsonl"
    [row] = mbs.sweep(studies.returned, [{"x": "a solution"}], store=table)
    assert "the function returned 'run', with a store, must be a number" in row["error"]
    assert isinstance(mbs.sweep(studies.returned, [{"x": "a solution"}])[0]["run"], mbs.Solution)
    with pytest.raises(
        mbs.ModelError, match=r"cases\[0\]: with a store or a seed, a value must be a number.* received an object"
    ):
        mbs.sweep(studies.square, [{"x": object()}], store=table)


def other_table(tmp_path: Path) -> Path:
    mbs.sweep(studies.square, NUMBERS, store=tmp_path / "other.jsonl")
    return tmp_path / "other.jsonl"


def no_table(tmp_path: Path) -> Path:
    (tmp_path / "no.jsonl").write_text('{"x": 1}\n')
    return tmp_path / "no.jsonl"


@pytest.mark.parametrize(
    ("store", "words"),
    [
        (other_table, "it has rows of studies.square, not of studies.drawn"),
        (
            no_table,
            r"store '.*no.jsonl': line 1 is no row of a sweep, received b'{\"x\": 1}'; give the name",
        ),
        (lambda path: path / "rows.csv", r"give it a name such as '.*rows.jsonl', received '.*rows.csv'"),
        (lambda path: path, "store is a file of JSON lines"),
        (lambda path: no_table(path) / "rows.jsonl", "cannot write store"),
    ],
)
def test_other_files_are_refused(store: Callable[[Path], Path], words: str, tmp_path: Path) -> None:
    path = store(tmp_path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(mbs.ModelError, match=words):
        mbs.sweep(studies.drawn, NUMBERS, store=path, seed=1)
    assert before is None or path.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((3, NUMBERS), "sweep: function must be a function, received 3"),
        ((studies.square, {"x": 1}), "sweep: cases must be a list of dicts, received {'x': 1}"),
        ((studies.square, [{"x": 1}, 2]), r"sweep: cases\[1\] must be a dict, received 2"),
        ((studies.square, [{"x": 1, "error": 2}]), r"cases\[0\] has the name 'error', which rows have of their own"),
        ((studies.square, NUMBERS, 4), r"executor must be an Executor .* such as ProcessPoolExecutor\(4\), received 4"),
        (
            (studies.drawn, [{"x": 1, "seed": 2}], None, {"seed": 1}),
            r"cases\[0\] has a 'seed' of its own, 2; leave out",
        ),
    ],
)
def test_bad_input_is_refused_before_anything_runs(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(mbs.ModelError, match=words):
        mbs.sweep(*arguments[:3], **(arguments[3] if len(arguments) > 3 else {}))


def test_an_executor_that_was_shut_down() -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(mbs.ModelError, match="takes no cases: cannot schedule new futures after shutdown"):
        mbs.sweep(studies.square, NUMBERS, executor)


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("a number", "ModelError: sweep: the function must return a dict of results by names, none of them error or"),
        ("a number as a name", "it returned {1: 2}"),
        ("a name of ours", "it returned {'error': 0.001}"),
        ("another as its argument", "the function returned 3.0 as 'x', which is the name of its argument"),
    ],
)
def test_results_that_are_none_are_rows_of_failures(case: str, words: str) -> None:
    [row] = mbs.sweep(studies.returned, [{"x": case}])
    assert row.keys() == {"x", "error"} and words in row["error"]
    assert mbs.sweep(studies.returned, [{"x": "its own argument"}]) == [{"x": "its own argument", "y": 1.0}]


@pytest.mark.ci
def test_ctrl_c_ends_the_sweep_and_half_a_run_is_no_result(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A run that is interrupted returns what it has: that must not stand in the table for the whole."""
    table = tmp_path / "rows.jsonl"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may start tests without it
    try:
        with caplog.at_level(logging.WARNING, "fem_mbs"), pytest.raises(KeyboardInterrupt):
            mbs.sweep(studies.stopped, NUMBERS[:4], store=table)
    finally:
        signal.signal(signal.SIGINT, before)
    assert [json.loads(line)["x"] for line in table.read_text().splitlines()] == [0, 1]
    assert f"sweep: interrupted after 2 of 4 cases; they are in '{table}'" in caplog.messages


def test_progress_counts_cases(capsys: pytest.CaptureFixture[str]) -> None:
    mbs.sweep(studies.square, NUMBERS, progress=True)
    assert "8.00/8.00" in capsys.readouterr().err


def measured(names: Iterable[str] | None = None) -> Iterator[tuple[str, mbs.System]]:
    """Systems of parts by name, of which batches keep what they have measured."""
    from catalogue import EVERYTHING, build

    for name in EVERYTHING if names is None else names:
        system = mbs.System(build(EVERYTHING[name])[0])
        system.evaluate(system.at_rest(), np.zeros(system.m), system.prescribe(0.0))
        yield name, system


def test_systems_that_have_measured_travel() -> None:
    """Coordinates of each kind and tables of bearings: what they keep has no functions that cannot."""
    names = ("spring in a slider", "spring in a hinge", "spring in a ball", "rigid stop of a hinge", "gears")
    for name, system in measured((*names, "bearing that depends on the speed")):
        there = pickle.loads(pickle.dumps(system))
        motion, rest = there.at_rest(), (np.zeros(system.m), system.prescribe(0.0))
        assert np.array_equal(there.evaluate(motion, *rest).force, system.evaluate(motion, *rest).force), name


@pytest.mark.slow
def test_every_element_and_joint_travels() -> None:
    """All but those with a lambda of the user's in them, and with the help of cloudpickle these as well."""
    import cloudpickle

    for name, system in measured():
        there = pickle.loads(cloudpickle.dumps(system))
        assert len(there.nodes) == len(system.nodes), name
        try:
            pickle.dumps(system)
        except (AttributeError, pickle.PicklingError) as error:
            assert "'<lambda>.<locals>.<lambda>'" in str(error), name  # of the catalogue


@pytest.mark.ci
def test_a_run_travels_with_what_it_goes_on_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the bit, compiled as a whole or batch by batch; what solvers and kernels hold is made anew."""
    strip = BeamSection.rectangle(width=0.03, height=0.002, E=210e9, nu=0.3, rho=7850.0)

    def bend() -> mbs.Model:
        model = mbs.Model(gravity=(0, 0, -9.81))
        beam = Beam.line(model, (0, 0, 0), (1, 0, 0), strip, 8, name="beam")
        model.fix(beam.nodes[0])
        model.add(SpringDamper(model.ground, beam.nodes[-1], stiffness=10.0))
        sensor = model.add(NodeSensor(beam.nodes[-1], "position", (0, 0, 1)))
        model.add(LowPass(sensor, 0.1))
        return model

    monkeypatch.setenv("FEM_MBS_FAST", "1")
    for make in (lambda: studies.build(1.5)[0], bend):
        whole, half = mbs.simulate(make(), 0.02, 1e-3), mbs.simulate(make(), 0.01, 1e-3)
        assert bool(half.stats.compiled) == bool(find_spec("llvmlite"))
        for other in (pickle.loads(pickle.dumps(half)), copy.deepcopy(half)):
            gone_on = mbs.simulate(other.system.model, 0.02, 1e-3, initial=other.checkpoint)
            assert np.array_equal(gone_on.state(-1).v, whole.state(-1).v)
            assert np.array_equal(other.energy.total, half.energy.total)


def test_what_was_changed_before_or_after_a_journey_is_not_what_the_run_was_of(monkeypatch: pytest.MonkeyPatch) -> None:
    model, bob = studies.build(1.5)
    run = mbs.simulate(model, 0.1, 0.01)
    before, expected = pickle.dumps(run), copy.deepcopy(run).energy.total
    model.elements[0].mass = 50.0
    after = pickle.dumps(run)
    monkeypatch.setattr(moments, "now", 0)  # as in another process
    monkeypatch.setattr(moments, "changed", WeakSet())
    changed, there = pickle.loads(after), pickle.loads(before)
    there.system.model.elements[0].mass = 7.0
    assert changed.system.model.elements[0].mass == 50.0
    for own in (changed, there):
        assert np.array_equal(own.energy.total, expected)


class Scaled:
    """An object that is called."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, x: float) -> dict[str, float]:
        return {"y": self.factor * x}

    def method(self, x: float) -> dict[str, float]:
        return self(x)


@pytest.mark.parametrize(
    "function", [lambda x: {"y": x}, Scaled(2.0), Scaled(2.0).method, partial(studies.drawn, seed=1)]
)
def test_a_function_that_its_name_does_not_tell_from_others_has_no_table(function: Any, tmp_path: Path) -> None:
    assert "y" in mbs.sweep(function, NUMBERS[:1])[0] or "drawn" in mbs.sweep(function, NUMBERS[:1])[0]
    with pytest.raises(mbs.ModelError, match="tells rows of one function from those of others by its name.*with def"):
        mbs.sweep(function, NUMBERS[:1], store=tmp_path / "rows.jsonl")
    assert not (tmp_path / "rows.jsonl").exists()
