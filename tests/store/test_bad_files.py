"""Files that are no stored runs, or damaged ones, are refused by name; a disk that is full loses nothing stored."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from kept_runs import double_pendulum

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
    text, other = tmp_path / "text.h5", tmp_path / "other.h5"
    text.write_text("t,x\n0,1\n")
    refused(text, "not HDF5")
    with h5py.File(other, "w") as opened:
        opened["x"] = np.arange(3)
    refused(other, "HDF5 file of another program")


def test_a_newer_version(file: Path) -> None:
    with h5py.File(file, "r+") as opened:
        opened.attrs["format_version"], opened.attrs["fem_mbs_version"] = 2, "9.1"
    refused(file, "newer fem_mbs, 9.1, in version 2")


@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.9, 0.999])
def test_cut_short(share: float, file: Path) -> None:
    with open(file, "r+b") as raw:
        raw.truncate(int(share * file.stat().st_size))
    refused(file, "cut short")


def change(name: str, action: Callable[[dict[str, Any]], object]) -> Callable[[Any], None]:
    """A change of the text of a part, by hand."""

    def edit(opened: Any) -> None:
        text = json.loads(opened[f"{name}/text"][:].tobytes())
        action(text)
        del opened[f"{name}/text"]
        opened[f"{name}/text"] = np.frombuffer(json.dumps(text).encode(), "u1")

    return edit


def put(made: Callable[[Any], None]) -> Callable[[Any], None]:
    """Another dataset in place of the numbers of the model."""

    def edit(opened: Any) -> None:
        del opened["model/numbers"]
        made(opened)

    return edit


def link(to: Any) -> Callable[[Any], None]:
    return lambda opened: opened.__setitem__("model/numbers", to)


def virtual(opened: Any) -> None:
    layout = h5py.VirtualLayout((3,), "<f8")
    layout[:] = h5py.VirtualSource("/etc/passwd", "x", (3,))
    opened.create_virtual_dataset("model/numbers", layout)


def deep(text: dict[str, Any]) -> None:
    value: Any = 1.0
    for _ in range(900):
        value = [value]
    text["parts"][0]["arguments"][1] = value


HOSTILE: dict[str, tuple[Callable[[Any], None], str]] = {
    "a class": (change("model", lambda t: t["parts"][0].update({"class": "subprocess.Popen"})), "does not have"),
    "a negative mass": (change("model", lambda t: t["parts"][0]["arguments"].__setitem__(1, -1.0)), "mass"),
    "deep": (change("model", deep), "cannot be opened"),
    "a name twice": (change("model", lambda t: t["parts"][1].update(name="tip")), "taken"),
    "other rows": (change("model", lambda t: (t["parts"].pop(), t.update(added=t["added"] - 1))), "rows|equations"),
    "a time": (change("run", lambda t: t.update(t_end="soon")), "t_end|end"),
    "no options": (change("run", lambda t: t.clear()), "cannot be opened"),
    "channels": (change("run", lambda t: t.update(channels=["x.y"])), "begins with no name"),
    "another file": (
        put(lambda f: f.__setitem__("model/numbers", h5py.ExternalLink("/etc/passwd", "x"))),
        "in the file",
    ),
    "a soft link": (put(lambda f: f.__setitem__("model/numbers", h5py.SoftLink("/steps"))), "in the file"),
    "a virtual dataset": (put(virtual), "laid out"),
    "a huge dataset": (put(lambda f: f.create_dataset("model/numbers", (10**12,), "<f8", chunks=(1000,))), "laid out"),
    "external storage": (
        put(lambda f: f.create_dataset("model/numbers", (3,), "<f8", external=[("/etc/passwd", 0, 24)])),
        "laid out",
    ),
    "text for numbers": (put(lambda f: f.create_dataset("model/numbers", data=np.array([b"abc"]))), "unknown type"),
    "a group": (put(lambda f: f.create_group("model/numbers")), "laid out"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_contents(name: str, file: Path) -> None:
    edit, why = HOSTILE[name]
    with h5py.File(file, "r+") as opened:
        edit(opened)
    before = sorted(file.parent.iterdir())
    with pytest.raises(StoreError, match=f"(?s)bad.h5|{why}") as found:
        mbs.load(file)
    assert any(word in str(found.value) for word in why.split("|")), str(found.value)
    assert sorted(file.parent.iterdir()) == before


def test_bytes_that_have_changed_are_never_another_error(stored: Path, tmp_path: Path) -> None:
    """In the texts and numbers of a file: what opens has a model, what does not is refused by name."""
    rng, data, file = np.random.default_rng(3), stored.read_bytes(), tmp_path / "bad.h5"
    with h5py.File(stored) as opened:
        spans = [(own.id.get_offset(), own.id.get_storage_size()) for own in (opened["model/text"], opened["run/text"])]
    for _ in range(40):
        changed = bytearray(data)
        for begin, size in spans:
            changed[begin + int(rng.integers(size))] = int(rng.integers(256))
        file.write_bytes(bytes(changed))
        try:
            mbs.load(file)
        except mbs.FemMbsError as error:
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
