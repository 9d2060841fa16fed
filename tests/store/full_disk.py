"""What a disk that is full leaves behind: to be run as a process that has its own mounts, with a folder for a disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from kept_runs import assert_same, double_pendulum

import fem_mbs as mbs

DISK = Path(sys.argv[1])
NO_SPACE = "No space left on device", "database or disk is full"


def leave(size: int) -> None:
    """Fill the disk but for some bytes."""
    ballast = DISK / "ballast"
    ballast.unlink(missing_ok=True)
    ballast.write_bytes(bytes(os.statvfs(DISK).f_bavail * os.statvfs(DISK).f_bsize - size))


def refused(call: Any, name: str) -> mbs.FemMbsError:
    try:
        call()
    except mbs.FemMbsError as error:
        assert any(why in str(error) for why in NO_SPACE) and str(DISK / name) in str(error), str(error)
        return error
    raise AssertionError(f"{name}: there was room")


def case(n: int) -> dict[str, Any]:
    return {"n squared": n * n, "text": "x" * 20_000}


def main() -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(DISK)], check=True)
    model, file = double_pendulum(), DISK / "run.db"
    whole = mbs.simulate(model, 6.0, 0.01)

    leave(0)
    refused(lambda: mbs.simulate(model, 6.0, 0.01, store=file), "run.db")
    assert not file.exists()

    leave(350_000)
    error = refused(lambda: mbs.simulate(model, 6.0, 0.01, store=file), "run.db")
    rows = len(error.solution.t)
    assert 50 < rows < 600 and error.solution.status is mbs.Outcome.FAILED
    refused(lambda: mbs.resume(file), "run.db")
    for found in (error.solution, mbs.load(file)):
        assert np.array_equal(found.x, whole.x[:rows])
    leave(1_000_000)
    assert_same(mbs.resume(file), whole)

    saved = mbs.simulate(model, 0.2, 0.01).save(DISK / "saved.db")
    leave(100_000)
    for name, write in (
        ("saved.db", lambda: whole.save(saved)),
        ("run.csv", lambda: whole.to_csv(DISK / "run.csv", ["tip.rotation", "elbow.rotation"])),
        ("run", lambda: whole.to_paraview(DISK / "run")),
        ("run.vtkhdf", lambda: whole.to_paraview(DISK / "run.vtkhdf")),
        ("run.h5", lambda: whole.to_hdf5(DISK / "run.h5")),
    ):
        leave(100_000)
        refused(write, name)
    assert len(mbs.load(saved).t) == 21  # what was there before
    assert not (DISK / "run.vtkhdf").exists() and not list(DISK.glob(".*"))

    cases = [{"n": n} for n in range(40)]
    for own in (DISK / "run").iterdir():
        own.unlink()
    leave(300_000)
    refused(lambda: mbs.sweep(case, cases, store=DISK / "table.jsonl"), "table.jsonl")
    done = len((DISK / "table.jsonl").read_text().splitlines())
    assert 5 < done < 40
    leave(1_000_000)
    assert [row["n squared"] for row in mbs.sweep(case, cases, store=DISK / "table.jsonl")] == [
        n * n for n in range(40)
    ]


main()
