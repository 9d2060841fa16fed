"""Files that are no stored runs, or damaged ones, are refused by name; a disk that is full loses nothing stored."""

from __future__ import annotations

import os
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
from forge import forge
from kept_runs import assert_same, double_pendulum

import fem_mbs as mbs
from fem_mbs import StoreError


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("stored") / "run.h5"
    mbs.simulate(double_pendulum(), 0.2, 0.02, store=file)
    return file


@pytest.fixture
def file(stored: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(stored, tmp_path / "bad.h5"))


def refused(file: Path, why: str) -> None:
    for open_ in (mbs.load, mbs.resume):
        with pytest.raises(StoreError, match=f"{file.name}.*{why}"):
            open_(file)


def test_no_file_and_files_of_other_programs(tmp_path: Path) -> None:
    refused(tmp_path / "missing.h5", "")
    text, other, empty = tmp_path / "text.h5", tmp_path / "other.h5", tmp_path / "empty.h5"
    empty.touch()
    refused(empty, "is empty")
    refused(tmp_path, "a folder")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.h5")
        refused(tmp_path / "pipe.h5", "a pipe")
        refused(Path("/dev/zero"), "a device")
    text.write_text("t,x\n0,1\n")
    refused(text, "a file of another kind")
    with h5py.File(other, "w") as opened:
        opened["x"] = np.arange(3)
    refused(other, "HDF5 file of another program")


def test_a_newer_version(file: Path) -> None:
    forge(file, file, {"head": lambda head: head | {"format_version": 2, "fem_mbs_version": "9.1"}})
    refused(file, "newer fem_mbs, '9.1', in version 2")


@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.9, 0.999])
def test_cut_short(share: float, file: Path) -> None:
    with open(file, "r+b") as raw:
        raw.truncate(int(share * file.stat().st_size))
    refused(file, "cut short")


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
    "a time": (change("run", lambda t: t.update(t_end="soon")), "its 't_end' is 'soon'"),
    "no options": (change("run", lambda t: t.clear()), "its 'begin' is missing"),
    "events without end": (change("run", lambda t: t.update(events=10**15)), "'events' is 10000"),
    "an outcome": (change("checkpoint", lambda t: t.update(outcome="WON")), "'outcome' is 'WON'"),
    "channels": (change("run", lambda t: t.update(channels=["x.y"])), "begins with no name"),
    "a row": ({"fields": lambda text: [["t", "<f8", []], ["function 0", "<f8", [10**12]]]}, "rows"),
    "no numbers": ({"model/numbers": lambda numbers: b""}, "more numbers than there are"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_contents(name: str, stored: Path, tmp_path: Path) -> None:
    edits, why = HOSTILE[name]
    file = tmp_path / "bad.h5"
    forge(stored, file, edits)
    with pytest.raises(StoreError, match="bad.h5") as found:
        mbs.load(file)
    assert any(word in str(found.value) for word in why.split("|")), str(found.value)
    assert list(tmp_path.iterdir()) == [file]


def test_names_are_never_places(stored: Path, tmp_path: Path) -> None:
    """What is written of a run goes where its user says, whatever its nodes and joints are called."""

    def rename(text: dict[str, Any]) -> dict[str, Any]:
        text["nodes"]["names"] = ["ground", "../../elbow", str(tmp_path / "away" / "tip")]
        for k, part in enumerate(text["parts"]):
            part["name"] = f"../{k}/$(touch x)<&>]]>--"
        return text

    file, inside = tmp_path / "bad.h5", tmp_path / "inside"
    inside.mkdir()
    forge(stored, file, {"model": rename})
    run = mbs.load(file)
    for write in (run.to_csv, run.to_paraview, run.save):
        write(inside / "run")
    run.to_paraview(inside / "run.vtkhdf")
    ElementTree.parse(inside / "run.pvd")
    assert sorted(own.name for own in tmp_path.iterdir()) == ["bad.h5", "inside"]
    assert sorted(own.name for own in inside.iterdir()) == ["run", "run.csv", "run.h5", "run.pvd", "run.vtkhdf"]
    assert len(list((inside / "run").iterdir())) == len(run.t)


def put(made: Callable[[Any], None]) -> Callable[[Any], None]:
    """Another dataset in place of the numbers of the model, by another program."""

    def edit(opened: Any) -> None:
        del opened["model/numbers"]
        made(opened)

    return edit


def virtual(opened: Any) -> None:
    layout = h5py.VirtualLayout((3,), "<f8")
    layout[:] = h5py.VirtualSource("/etc/passwd", "x", (3,))
    opened.create_virtual_dataset("model/numbers", layout)


OTHER_FILES: dict[str, Callable[[Any], None]] = {
    "a link": put(lambda f: f.__setitem__("model/numbers", h5py.ExternalLink("/etc/passwd", "x"))),
    "a soft link": put(lambda f: f.__setitem__("model/numbers", h5py.SoftLink("/steps"))),
    "itself": put(lambda f: f["model"].__setitem__("numbers", f["/"])),
    "a virtual dataset": put(virtual),
    "a huge one": put(lambda f: f.create_dataset("model/numbers", (10**12,), "<f8", chunks=(1000,))),
    "a compressed one": put(lambda f: f.create_dataset("model/numbers", data=np.zeros(10**6), compression="gzip")),
    "external": put(lambda f: f.create_dataset("model/numbers", (3,), "<f8", external=[("/etc/passwd", 0, 24)])),
    "a note": lambda f: f.attrs.update(note="of another program"),
}


@pytest.mark.parametrize("name", OTHER_FILES)
def test_what_other_programs_put_into_a_file_is_not_read(name: str, stored: Path, file: Path) -> None:
    """HDF5 can lead to other files, and make much of little; fem_mbs reads what it has written, or refuses."""
    with h5py.File(file, "r+") as opened:
        OTHER_FILES[name](opened)
    try:
        assert_same(mbs.load(file), mbs.load(stored))
    except StoreError as error:
        assert "bad.h5" in str(error)


def test_a_full_disk(tmp_path: Path) -> None:
    """The error names the file and has the run; what was stored opens, and goes on where there is room."""
    resource = pytest.importorskip("resource")
    file, model = tmp_path / "run.h5", double_pendulum()
    memory = mbs.simulate(model, 1.0, 0.01)
    mbs.simulate(model, 1.0, 0.01, store=file)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size - 30_123, limits[1]))
    try:
        with pytest.raises(StoreError, match="cannot write '.*run.h5'.*too large.*mbs.resume") as found:
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
    file, model = tmp_path / "run.h5", double_pendulum()
    mbs.simulate(model, 0.1, 0.02).save(file)
    longer, limits = mbs.simulate(model, 1.0, 0.02), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size, limits[1]))
    try:
        for write, place in ((longer.save, file), (longer.to_paraview, tmp_path / "run.vtkhdf")):
            with pytest.raises(mbs.FemMbsError, match=f"cannot write '{place}': File too large"):
                write(place)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert len(mbs.load(file).t) == 6
    assert sorted(own.name for own in tmp_path.iterdir()) == ["run.h5"]


def test_a_place_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a folder")
    (tmp_path / "folder.h5").mkdir()
    for place, why in (("text/run.h5", "(?:File exists|Not a directory)"), ("folder.h5", "Is a directory")):
        with pytest.raises(StoreError, match=f"cannot write '.*{place}': {why}"):
            mbs.simulate(double_pendulum(), 0.1, 0.02, store=tmp_path / place)
    assert sorted(own.name for own in tmp_path.iterdir()) == ["folder.h5", "text"]


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
