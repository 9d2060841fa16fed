"""HDF5 files for other programs: read by h5py alone they have what the solution has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from kept_runs import double_pendulum

import fem_mbs as mbs
from fem_mbs.contracts import ARRAYS
from fem_mbs.elements import RevoluteJoint, RigidBody

h5py = pytest.importorskip("h5py")


def far() -> mbs.Model:
    """A pendulum far from the origin, from which its positions in memory do not count."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    tip = model.add_node((5001, 0, 7000), name="tip")
    model.add(RigidBody(tip, 1.0, (0.1, 0.1, 0.1)))
    model.add(RevoluteJoint(model.ground, tip, (0, 1, 0), point=(5000, 0, 7000)))
    return model


@pytest.mark.parametrize("model", [double_pendulum(), far()])
@pytest.mark.parametrize("stored", [False, True])
def test_another_program_reads_the_states(stored: bool, model: mbs.Model, tmp_path: Path) -> None:
    run = mbs.simulate(model, 1.2, 0.01, store=tmp_path / "run" if stored else None)
    with h5py.File(run.to_hdf5(tmp_path / "states"), "r") as file:
        assert np.array_equal(file["t"], run.t) and file["v"].shape[1] == len(file["names/groups"])
        assert list(file["names/nodes"].asstr()) == [node.name for node in run.system.nodes]
        assert len(file["names/multipliers"]) == run.system.m and len(file["names/internal_variables"]) == run.system.k
        for name in ARRAYS:
            own = getattr(run, "multipliers_all" if name == "multipliers" else name)
            assert np.array_equal(file[name], own), name
    with pytest.raises(mbs.StoreError, match="states.h5' is an HDF5 file.*mbs.load reads what simulate"):
        mbs.load(tmp_path / "states.h5")


@pytest.mark.slow
def test_many_nodes_have_names(tmp_path: Path) -> None:
    model = mbs.Model()
    for k in range(5000):
        model.add(RigidBody(model.add_node((k, 0, 0), group="SE3"), 1.0, (1.0, 1.0, 1.0)))
    with h5py.File(mbs.simulate(model, 0.01, 0.01).to_hdf5(tmp_path / "states"), "r") as file:
        assert file["names/nodes"].asstr()[5000] == "node 5000" and file["names/groups"].asstr()[1] == "SE3"


def test_channels_alone(tmp_path: Path) -> None:
    store = mbs.Store(tmp_path / "run", channels=["tip.position.z"])
    run = mbs.simulate(double_pendulum(), 0.2, 0.02, store=store)
    with h5py.File(run.to_hdf5(tmp_path / "states"), "r") as file:
        assert np.array_equal(file["channels/tip.position.z"], run.channel("tip.position.z"))


def test_what_cannot_be_written_leaves_what_was_there(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    run = mbs.simulate(double_pendulum(), 1.0, 0.01)
    file, limits = tmp_path / "states.h5", resource.getrlimit(resource.RLIMIT_FSIZE)
    before = run.to_hdf5(file).read_bytes()
    for size in (0, 700, 5000, 40_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
        try:
            with pytest.raises(mbs.StoreError, match=r"cannot write '.*states.h5': File too large; what was there"):
                run.to_hdf5(file)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert file.read_bytes() == before and len(list(tmp_path.iterdir())) == 1
