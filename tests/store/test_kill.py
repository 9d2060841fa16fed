"""Processes that are killed while they store a run, at moments that nobody has chosen."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from kept_runs import assert_same, double_pendulum

import fem_mbs as mbs

SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from kept_runs import double_pendulum
import fem_mbs as mbs
if sys.argv[3] == "begin":
    mbs.simulate(double_pendulum(), 12.0, 0.01, store=sys.argv[2])
else:
    mbs.resume(sys.argv[2])
"""
T_END, STEP = 12.0, 0.01


def run(file: Path, what: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(Path(__file__).parent), str(file), what])


@pytest.mark.slow
def test_fifty_kills(tmp_path: Path) -> None:
    """Each file opens with all steps that were stored, and goes on to the bit; every fifth is killed once more."""
    rng = np.random.default_rng(11)
    begin = time.perf_counter()
    whole = mbs.simulate(double_pendulum(), T_END, STEP)
    seconds = time.perf_counter() - begin
    cut = 0
    for k in range(50):
        file = tmp_path / f"run{k}.db"
        for what in ("begin", *(["resume"] if k % 5 == 0 else [])):
            process = run(file, what)
            while not file.exists():
                time.sleep(0.001)
            time.sleep(rng.uniform(0.0, 1.2 * seconds))
            process.kill()
            process.wait()
        found = mbs.load(file)
        cut += found.status is mbs.Outcome.CUT
        for name in ("t", "x", "R", "v", "vdot", "multipliers_all"):
            assert np.array_equal(getattr(found, name), getattr(whole, name)[: len(found.t)])
        assert_same(mbs.resume(file), whole)
        assert_same(mbs.load(file), whole)
        os.unlink(file)
    assert cut > 25


READER = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
import numpy as np
import fem_mbs as mbs
counts, last = [], None
print("ready", flush=True)
while not os.path.exists(sys.argv[2]):
    time.sleep(0.001)
while not counts or counts[-1] < 6001:
    found = mbs.load(sys.argv[2])
    same = ("t", "x", "R", "v", "multipliers_all")
    assert last is None or all(
        np.array_equal(getattr(last, name), getattr(found, name)[: len(last.t)]) for name in same
    )
    if not counts or len(found.t) > counts[-1]:
        counts.append(len(found.t))
    last = found
print(len(counts))
"""


@pytest.mark.slow
def test_two_readers_beside_a_writer(tmp_path: Path) -> None:
    """Both read on and on: what was there stays, to the bit, more is there each second, and nobody waits for long."""
    file = tmp_path / "run.db"
    command = [sys.executable, "-c", READER, str(Path(__file__).parent), str(file)]
    readers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert all(reader.stdout is not None and reader.stdout.readline() == "ready\n" for reader in readers)
    stored = mbs.simulate(double_pendulum(), 60.0, STEP, store=file)
    for reader in readers:
        said, _ = reader.communicate(timeout=120)
        assert reader.returncode == 0 and int(said) >= 3, said
    assert_same(stored, mbs.simulate(double_pendulum(), 60.0, STEP))


@pytest.mark.ci
def test_the_file_of_a_run_that_goes_on_is_taken(tmp_path: Path) -> None:
    """Another process reads it, and must not go on with it."""
    file = tmp_path / "run.db"
    process = run(file, "begin")
    try:
        while not file.exists():
            time.sleep(0.01)
        assert mbs.load(file).t[0] == 0.0
        with pytest.raises(mbs.StoreError, match="run.db.*being written to by another run"):
            mbs.resume(file)
    finally:
        process.kill()
        process.wait()
