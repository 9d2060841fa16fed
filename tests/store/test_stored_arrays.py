"""Arrays in files are indexed as arrays in memory, over the borders of blocks; a file is read beside its writer."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_runs import double_pendulum
from test_kill import STEP, T_END, run

import fem_mbs as mbs
from fem_mbs.files.store import save
from fem_mbs.files.store.database import Database, new_file
from fem_mbs.files.store.run_file import StoredArray, StoredRows
from fem_mbs.files.store.save import Shapes, Steps

COUNT = 40


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[StoredArray, np.ndarray]:
    """An array ``(40, 4, 3)`` in blocks of 1, 9, 9, 9, 9 and 3 rows, and the same in memory."""
    monkeypatch.setattr(save, "BLOCK", 9 * 8 * 15)
    shapes: Shapes = {"t": (), "iterations": (), "unstable": (), "x": (4, 3)}
    values = np.random.default_rng(1).normal(size=(COUNT, 15))
    values[:, 0], values[:, 1:3] = np.arange(COUNT), 0.0
    with new_file(tmp_path / "run.db", "here") as database:
        steps = Steps(database)
        for k, row in enumerate(values):
            steps.add(row.tobytes())
            if k in (0, COUNT - 4):
                steps.write()
        steps.write()
    stored = StoredRows(Database(tmp_path / "run.db"), shapes, rising=True)
    assert stored.firsts.tolist() == [0, 1, 10, 19, 28, 37]
    return stored.array("x"), values[:, 3:].reshape(COUNT, 4, 3)


def keys(rng: np.random.Generator) -> Any:
    """What an array of three axes may be indexed by."""
    some = rng.integers(-COUNT, COUNT, size=int(rng.integers(0, 12)))
    cut = slice(*(None if rng.random() < 0.3 else int(v) for v in rng.integers(-COUNT, COUNT, size=2)))
    firsts = [
        int(rng.integers(-COUNT, COUNT)),
        cut,
        slice(None, None, 7),
        slice(None, None, -3),
        some,
        np.arange(COUNT),
    ]
    first = firsts[int(rng.integers(len(firsts)))]
    rests = [(), (2,), (slice(1, 3),), ([0, 3],), (2, 1), (slice(None), 1), ([3, 0], slice(None, 2))]
    rest = rests[int(rng.integers(len(rests)))]
    if isinstance(first, np.ndarray) and rest and isinstance(rest[0], list):
        first = first[:, None]  # all of these nodes at each time
    return (first, *rest) if rest or rng.random() < 0.5 else first


@pytest.mark.parametrize("seed", range(5))
def test_an_array_in_a_file_is_indexed_as_one_in_memory(seed: int, pair: tuple[StoredArray, np.ndarray]) -> None:
    stored, memory = pair
    rng = np.random.default_rng(seed)
    for _ in range(60):
        key = keys(rng)
        assert np.array_equal(stored[key], memory[key]) and stored[key].shape == memory[key].shape, key
    assert np.array_equal(stored, memory) and stored.shape == memory.shape and len(stored) == COUNT
    assert np.array_equal(pickle.loads(pickle.dumps(stored)), memory)
    chosen = rng.random(COUNT) < 0.4
    assert np.array_equal(stored[chosen], memory[chosen])
    with pytest.raises(IndexError):
        stored[COUNT]


@pytest.mark.slow
def test_a_file_is_read_beside_the_process_that_writes_it(tmp_path: Path) -> None:
    """What is read is the beginning of the run, each time at least as much as before."""
    file, whole, seen = tmp_path / "run.db", mbs.simulate(double_pendulum(), T_END, STEP), 0
    process = run(file, "begin")
    try:
        while process.poll() is None:
            if not file.exists():
                continue
            found = mbs.load(file)
            assert len(found.t) >= seen and np.array_equal(found.x, whole.x[: len(found.t)])
            seen = len(found.t)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0 and np.array_equal(mbs.load(file).x, whole.x)


@pytest.mark.ci
def test_a_store_needs_no_other_package(tmp_path: Path) -> None:
    """A run is stored, loaded and gone on with where h5py is not there."""
    script = """
import sys
sys.modules["h5py"] = None
sys.path.insert(0, sys.argv[1])
from kept_runs import double_pendulum
import fem_mbs as mbs
run = mbs.simulate(double_pendulum(), 0.1, 0.02, store="run.db")
assert len(mbs.resume(mbs.load("run.db").save("twice")).t) == 6
try:
    run.to_hdf5("states")
except mbs.MissingPackageError as error:
    print(error)
"""
    arguments = [sys.executable, "-c", script, str(Path(__file__).parent)]
    done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "to_hdf5 needs h5py; install it with pip install 'fem_mbs[hdf5]'" in done.stdout, done.stderr
