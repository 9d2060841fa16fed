"""Files that were changed by chance or made to do harm: refused by name, or the run that they say, and nothing else."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catalogue import ELEMENTS, JOINTS, build
from forge import forge
from hostile import attack
from kept_runs import double_pendulum, machine

import fem_mbs as mbs
from fem_mbs.files.store import recorder
from fem_mbs.solution.history import Stats

SECONDS, MEGABYTES, AT_ONCE = 5.0, 200, 10
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
ACTIONS = ("os.", "subprocess.", "socket.", "shutil.", "pickle.", "ctypes.")
HARMLESS = ("os.listdir", "os.scandir", "os.walk", "os.fspath")


def cut(model: mbs.Model, file: Path, **options: Any) -> Path:
    """The file of a run that was cut off."""
    whole = file.with_name("whole.db")

    def callback(state: mbs.State) -> None:
        if state.t > 0.06 and not file.exists():
            shutil.copy(whole, file)

    mbs.simulate(model, 0.2, 0.02, store=whole, callback=callback, **options)
    whole.unlink()
    return file


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 40))])
def test_a_file_that_was_changed(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "INTERVAL", 0.0)
    source, file = cut(double_pendulum(), tmp_path / "run.db"), tmp_path / "bad.db"
    how = attack(source, file, seed)
    for open_ in (mbs.load, mbs.resume):
        try:
            open_(file)
        except mbs.ConvergenceError as error:  # the run that it says, from finite numbers, which fails as runs do
            assert open_ is mbs.resume and "no solution at t =" in str(error) and error.solution is not None, how
        except mbs.FemMbsError as error:
            assert "bad.db" in str(error) and len(str(error)) < 3000, how
    assert sorted(own.name for own in tmp_path.iterdir()) == ["bad.db", "run.db"], how


def test_kept_factors_that_lead_elsewhere_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """LAPACK goes wherever pivots send it."""
    monkeypatch.setattr(recorder, "INTERVAL", 0.0)
    method = mbs.GeneralizedAlpha(newton=mbs.Newton(modified=True))
    source, file = cut(double_pendulum(), tmp_path / "run.db", method=method), tmp_path / "bad.db"

    def edit(text: Any) -> Any:
        memory = dict(text["memory"]["dict"])
        _, lu, pivots = memory["matrix"]["tuple"]
        assert pivots["array"][0] == "i" and lu["array"][0] == "f"
        pivots["array"][2][0] = 10**9
        return text

    forge(source, file, {"checkpoint": edit})
    assert mbs.load(file).status is mbs.Outcome.CUT
    with pytest.raises(mbs.StoreError, match="bad.db.*factors of a matrix that were kept are not those of this model"):
        mbs.resume(file)


def models() -> dict[str, Any]:
    """What files are made of."""
    modified = mbs.GeneralizedAlpha(newton=mbs.Newton(modified=True))
    runs: dict[str, Any] = {
        "pendulum": lambda file: cut(double_pendulum(), file),
        "machine": lambda file: cut(machine(), file),
        "kept factors": lambda file: cut(double_pendulum(), file, method=modified),
        "variable steps": lambda file: mbs.simulate(double_pendulum(), 0.1, mbs.VariableStep(1e-2), store=file),
        "load path": lambda file: mbs.statics(machine(), 0.3).save(file),
    }
    for name, make in {**ELEMENTS, **JOINTS}.items():
        runs[name] = lambda file, make=make: at_rest(build(make, group="mixed")[0]).save(file)
    return runs


def at_rest(model: mbs.Model) -> mbs.Solution:
    """A model as it was built."""
    system = mbs.System(model)
    still, none = np.zeros((system.n, 6)), np.zeros(system.k)
    state = mbs.State(0.0, system.x0, system.R0, still, still, np.zeros(system.m), system.u0, none, none)
    stats = Stats(np.zeros(0, int), 0, 0, 0, 0, np.zeros(0), 0.0)
    return mbs.Solution(system, [state], mbs.Outcome.FINISHED, stats)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that are forked")
@pytest.mark.parametrize("name", models())
def test_nothing_is_done_but_reading(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process that is watched, ten at once: no crash, no time, no memory, no other file, no program."""
    monkeypatch.setattr(recorder, "INTERVAL", 0.0)
    source = tmp_path / "run.db"
    models()[name](source)
    opened = [mbs.load, mbs.resume]
    scripted = "tapered" in name or "given normals" in name  # functions of a script, which do not travel
    if scripted or name in ("machine", "load path"):
        own = (lambda: build(ELEMENTS[name], group="mixed")[0]) if scripted else machine
        opened += [lambda file: mbs.load(file, own()), lambda file: mbs.resume(file, own())]
    opened[2 if scripted else 0](source)
    mbs.simulate(double_pendulum(), 0.02, 0.01)  # what is loaded with the first run is no matter of files
    count = 200 if name in ("pendulum", "machine", "kept factors", "variable steps", "load path") else 30
    for first in range(1000, 1000 + count, AT_ONCE):
        attacked = {}
        for seed in range(first, first + AT_ONCE):
            (folder := tmp_path / str(seed)).mkdir()
            attacked[folder / "bad.db"] = f"seed {seed}, {attack(source, folder / 'bad.db', seed)}"
        read, write = os.pipe()
        if not (process := os.fork()):
            os.close(read)
            os.write(write, _watched(attacked, opened).encode()[:4000])
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            said = pipe.read()
        _, status = os.waitpid(process, 0)
        assert (status, said) == (0, ""), attacked
        assert {own for own in tmp_path.rglob("*") if own.is_file()} == {source, *attacked}, attacked
        for file in attacked:
            shutil.rmtree(file.parent)


def _watched(attacked: dict[Path, str], opened: list[Any]) -> str:
    """What is wrong with how files are opened; empty for nothing."""
    import resource

    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    done: list[str] = []

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITES
        if (writes and str(file) not in str(arguments[0])) or (event.startswith(ACTIONS) and event not in HARMLESS):
            done.append(f"{how}: {event} {arguments}")

    sys.addaudithook(watch)
    before = resource.getrusage(resource.RUSAGE_SELF)
    for (file, how), open_ in product(attacked.items(), opened):
        signal.alarm(int(4 * SECONDS))
        begin = time.process_time()
        try:
            open_(file)
        except mbs.FemMbsError as error:
            went_on = error.solution is not None  # with the model of the script: the error is that of a run
            if not (went_on or "bad.db" in str(error)) or len(str(error)) > 3000:
                done.append(f"{how}: {error!r} names no file, or is long")
        except BaseException as error:
            done.append(f"{how}: {error!r}")
        if time.process_time() - begin > SECONDS:
            done.append(f"{how}: {time.process_time() - begin} s")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before.ru_maxrss) / 1024
    if grown > MEGABYTES:
        done.append(f"{grown} MB")
    return "\n".join(done)
