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
