"""Files that are no stored runs, or damaged ones, are refused by name; a disk that is full loses nothing stored."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import h5py
import numpy as np
import pytest
from forge import contents, execute, forge, put
from hostile import SCHEMAS
from kept_runs import assert_same, double_pendulum

import fem_mbs as mbs
from fem_mbs import StoreError


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("stored") / "run.db"
    mbs.simulate(double_pendulum(), 0.2, 0.02, store=file)
    return file


@pytest.fixture
def file(stored: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(stored, tmp_path / "bad.db"))


def refused(file: Path, why: str) -> None:
    for open_ in (mbs.load, mbs.resume):
        with pytest.raises(StoreError, match=f"{file.name}.*{why}"):
            open_(file)


def test_no_file_and_files_of_other_programs(tmp_path: Path) -> None:
    refused(tmp_path / "missing.db", "")
    text, other, empty = tmp_path / "text.db", tmp_path / "other.db", tmp_path / "empty.db"
    empty.touch()
    refused(empty, "is empty")
    refused(tmp_path, "a folder")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.db")
        refused(tmp_path / "pipe.db", "a pipe")
        refused(Path("/dev/zero"), "a device")
    text.write_text("t,x\n0,1\n")
    refused(text, "a file of another kind")
    for userblock in (0, 4096):  # of fem_mbs 0.1, whose runs had a head of their own
        with h5py.File(other, "w", userblock_size=userblock) as opened:
            opened["x"] = np.arange(3)
        refused(other, "is an HDF5 file: .*runs of fem_mbs 0.1 are read by fem_mbs 0.1 alone")
    other.unlink()
    execute(other, "CREATE TABLE steps (number)")
    refused(other, "a database of another program")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("run.h5", "'.*run.h5' has the suffix of files that solution.to_hdf5.path. writes; try '.*run.db'"),
        ("run.HDF5", "solution.to_hdf5"),
        ("run.csv", "solution.to_csv"),
        ("run.vtu", "solution.to_paraview"),
        ("run.gif", "solution.animate"),
        ("run.xlsx", "has the suffix of another format; try '.*run.db'"),
    ],
)
def test_a_run_has_no_suffix_of_another_format(name: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(mbs.ModelError, match=f"simulate: store: path {words}" if "h5" in name else words):
        mbs.simulate(double_pendulum(), 0.1, 0.05, store=tmp_path / name)
    run = mbs.simulate(double_pendulum(), 0.1, 0.05)
    with pytest.raises(mbs.ModelError, match=words):
        run.save(tmp_path / name)
    with pytest.raises(mbs.ModelError, match="to_hdf5: path '.*run.db' has the suffix of files that solution.save"):
        run.to_hdf5(tmp_path / "run.db")
    assert not list(tmp_path.iterdir())


def test_files_of_another_kind_are_not_replaced(tmp_path: Path) -> None:
    """A mistyped path costs no script; another run is replaced, and so is what another program made of one."""
    script, plain = tmp_path / "script.py", tmp_path / "states.h5"
    script.write_text("print(1)")
    for write in (lambda run: run.save(script), lambda run: mbs.simulate(double_pendulum(), 0.1, 0.05, store=script)):
        with pytest.raises(StoreError, match="script.py.*a file of another kind, and not replaced"):
            write(mbs.simulate(double_pendulum(), 0.1, 0.05))
    run = mbs.simulate(double_pendulum(), 0.1, 0.05, store=tmp_path / "run.db")
    run.save(tmp_path / "copy.db")
    run.save(tmp_path / "copy.db")
    run.to_hdf5(plain)
    run.to_hdf5(plain)
    shutil.copy(script, plain)
    with pytest.raises(StoreError, match="states.h5.*a file of another kind"):
        run.to_hdf5(plain)
    assert script.read_text() == plain.read_text() == "print(1)"


def test_a_newer_version(file: Path) -> None:
    execute(file, "PRAGMA user_version = 3")
    refused(file, "newer fem_mbs, in version 3")


@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.9, 0.999])
def test_cut_short(share: float, file: Path) -> None:
    with open(file, "r+b") as raw:
        raw.truncate(int(share * file.stat().st_size))
    refused(file, "(cut short|is damaged)")


def block(file: Path) -> np.ndarray:
    """The rows of a short run."""
    return np.frombuffer(contents(file)["steps", 1]).reshape(10, -1).copy()


def test_times_that_do_not_rise_and_numbers_that_are_none(file: Path) -> None:
    for column, value, why in ((0, 0.0, "times do not rise after t = 0.1"), (7, np.nan, "state 6, t = 0.12 s, is not")):
        rows = block(file)
        kept = rows.copy()
        rows[5, column] = value
        put(file, ("steps", 1), rows.tobytes())
        refused(file, why)
        put(file, ("steps", 1), kept.tobytes())
    assert len(mbs.load(file).t) == 11


@pytest.mark.parametrize("seed", range(20))
def test_flipped_bits_are_named(seed: int, stored: Path, tmp_path: Path) -> None:
    """Ten each: what is opened says what was written, to the bit, and all else is refused by name."""
    rng, good, file = np.random.default_rng(seed), mbs.load(stored), tmp_path / "bad.db"
    data = stored.read_bytes()
    for _ in range(10):
        place, bit = int(rng.integers(len(data))), int(rng.integers(8))
        file.write_bytes(data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :])
        try:
            assert_same(mbs.load(file), good)
        except StoreError as error:
            assert "bad.db" in str(error)


def test_any_bit_of_a_state_is_missed(stored: Path, tmp_path: Path) -> None:
    """A flipped bit within the rows is always seen."""
    data, rng, file = stored.read_bytes(), np.random.default_rng(5), tmp_path / "bad.db"
    begin = data.index(contents(stored)["steps", 1][-2000:])
    for place in rng.integers(begin, begin + 2000, size=50):
        file.write_bytes(data[:place] + bytes([data[place] ^ 1 << int(rng.integers(8))]) + data[place + 1 :])
        with pytest.raises(StoreError, match="bad.db.*is damaged: of its steps, number 1 is not as it was written"):
            mbs.load(file)


def change(part: str, action: Callable[[dict[str, Any]], object]) -> dict[str, Callable[[Any], Any]]:
    """A change of the text of a part."""

    def edit(text: dict[str, Any]) -> dict[str, Any]:
        action(text)
        return text

    return {part: edit}


def deep(text: dict[str, Any]) -> None:
    value: Any = 1.0
    for _ in range(900):
        value = [value]
    text["parts"][0]["arguments"][1] = value


HOSTILE: dict[str, tuple[dict[str, Callable[[Any], Any]], str]] = {
    "a class": (change("model", lambda t: t["parts"][0].update({"class": "subprocess.Popen"})), "does not have"),
    "a negative mass": (change("model", lambda t: t["parts"][0]["arguments"].__setitem__(1, -1.0)), "mass"),
    "deep": (change("model", deep), "cannot be opened"),
    "a name twice": (change("model", lambda t: t["parts"][1].update(name="tip")), "taken"),
    "other rows": (change("model", lambda t: (t["parts"].pop(), t.update(added=t["added"] - 1))), "rows|equations"),
    "a time": (change("run", lambda t: t.update(t_end="soon")), "soon"),
    "no options": (change("run", lambda t: t.clear()), "'t_end'"),
    "events without end": (change("run", lambda t: t.update(events=10**15)), "'events' is 10000"),
    "an outcome": (change("checkpoint", lambda t: t.update(outcome="WON")), "WON"),
    "channels": (change("run", lambda t: t.update(channels=["x.y"])), "begins with no name"),
    "a row": (change("run", lambda t: t["shapes"].append(["function 0", [10**12]])), "rows"),
    "rows that are not there": (change("checkpoint", lambda t: t.update(rows=10**15)), "of 1000000000000000 rows"),
    "no numbers": (
        change("model", lambda t: t["nodes"]["positions"]["array"].__setitem__(2, [])),
        "which its numbers do not have",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_contents(name: str, stored: Path, tmp_path: Path) -> None:
    edits, why = HOSTILE[name]
    file = tmp_path / "bad.db"
    forge(stored, file, edits)
    with pytest.raises(StoreError, match="bad.db") as found:
        mbs.load(file)
    assert any(word in str(found.value) for word in why.split("|")), str(found.value)
    assert list(tmp_path.iterdir()) == [file]


def test_names_are_never_places(stored: Path, tmp_path: Path) -> None:
    """What is written of a run goes where its user says, whatever its nodes and joints are called."""

    def rename(text: dict[str, Any]) -> dict[str, Any]:
        away = {"elbow": "../../elbow", "tip": str(tmp_path / "away" / "tip")}
        text = json.loads(re.sub('"(elbow|tip)"', lambda found: json.dumps(away[found[1]]), json.dumps(text)))
        for k, part in enumerate(text["parts"]):
            part["name"] = f"../{k}/$(touch x)<&>]]>--"
        return text

    file, inside = tmp_path / "bad.db", tmp_path / "inside"
    inside.mkdir()
    forge(stored, file, {"model": rename})
    run = mbs.load(file)
    for write in (run.to_csv, run.to_paraview, run.save):
        write(inside / "run")
    run.to_paraview(inside / "run.vtkhdf")
    ElementTree.parse(inside / "run.pvd")
    assert sorted(own.name for own in tmp_path.iterdir()) == ["bad.db", "inside"]
    assert sorted(own.name for own in inside.iterdir()) == ["run", "run.csv", "run.db", "run.pvd", "run.vtkhdf"]
    assert len(list((inside / "run").iterdir())) == len(run.t)


def test_a_file_leads_nowhere(file: Path) -> None:
    """Tables that are computed, views, triggers: the schema is that of fem_mbs, or nothing is asked of it."""
    for question in SCHEMAS[:8]:
        bad = Path(shutil.copy(file, file.with_name("worse.db")))
        execute(bad, question)
        refused(bad, "(damaged|cannot be opened)")


@pytest.mark.ci
def test_a_full_disk(tmp_path: Path) -> None:
    """The error names the file and has the run; what was stored opens, and goes on where there is room."""
    resource = pytest.importorskip("resource")
    file, model = tmp_path / "run.db", double_pendulum()
    memory = mbs.simulate(model, 1.0, 0.01)
    mbs.simulate(model, 1.0, 0.01, store=file)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size - 30_123, limits[1]))
    try:
        with pytest.raises(StoreError, match="cannot write '.*run.db': disk I/O error.*mbs.resume") as found:
            mbs.simulate(model, 1.0, 0.01, store=file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    rows = len(found.value.solution.t)
    assert 50 < rows < 100 and found.value.solution.status is mbs.Outcome.FAILED
    left = mbs.load(file)
    assert np.array_equal(left.x, memory.x[:rows]) and left.status is mbs.Outcome.CUT
    assert np.array_equal(mbs.resume(file).x, memory.x)


@pytest.mark.slow
def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    """Runs, saved runs, tables, pictures and sweeps: errors that name the file, and nothing that was there is lost."""
    if not shutil.which("unshare") or subprocess.run(["unshare", "-rm", "true"], check=False).returncode:
        pytest.skip("needs mounts of its own, on Linux")
    script = Path(__file__).with_name("full_disk.py")
    options = {"cwd": script.parent, "env": os.environ | {"PYTHONPATH": str(script.parent)}}
    done = subprocess.run(
        ["unshare", "-rm", sys.executable, script, tmp_path], capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stderr


def test_a_run_that_cannot_be_saved_leaves_what_was_there(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    file, model = tmp_path / "run.db", double_pendulum()
    mbs.simulate(model, 0.1, 0.02).save(file)
    longer, limits = mbs.simulate(model, 1.0, 0.02), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size, limits[1]))
    try:
        for write, place in ((longer.save, file), (longer.to_paraview, tmp_path / "run.vtkhdf")):
            with pytest.raises(mbs.FemMbsError, match=f"cannot write '{place}': (File too large|disk I/O error)"):
                write(place)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert len(mbs.load(file).t) == 6
    assert sorted(own.name for own in tmp_path.iterdir()) == ["run.db"]


def test_a_place_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a folder")
    (tmp_path / "folder.db").mkdir()
    for place, why in (("text/run.db", "(?:File exists|Not a directory)"), ("folder.db", "Is a directory")):
        with pytest.raises(StoreError, match=f"cannot write '.*{place}': {why}"):
            mbs.simulate(double_pendulum(), 0.1, 0.02, store=tmp_path / place)
    assert sorted(own.name for own in tmp_path.iterdir()) == ["folder.db", "text"]


def test_arguments(tmp_path: Path) -> None:
    model = double_pendulum()
    for store, why in (
        (mbs.Store(tmp_path / "a", channels=["top.position"]), "begins with no name"),
        (mbs.Store(tmp_path / "a", channels=[]), "one channel at least"),
    ):
        with pytest.raises(mbs.ModelError, match=why):
            mbs.simulate(model, 0.1, 0.02, store=store)
    with pytest.raises(mbs.ModelError, match="every = 3 and times exclude each other"):
        mbs.simulate(model, 0.1, 0.02, times=[0.05], store=mbs.Store(tmp_path / "a", every=3))
    with pytest.raises(mbs.ModelError, match="store"):
        mbs.simulate(model, 0.1, 0.02, store=7)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
