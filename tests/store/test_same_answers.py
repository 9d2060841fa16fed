"""Everything that can be asked of a run is the same to the bit of its file: over the models of the examples."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import examples
import fem_mbs as mbs
from fem_mbs.contracts import ARRAYS, Constraint

WITHOUT_RUNS = {
    "modes",
    "size_beam",
    "two_disc_rotor",
    "rotor_in_housing",
    "identify_stiffness",
    "lightest_four_bar",
    "reproduce_2015",
    "tune_blade",
    "tune_controller",
}
NAMES = {name for _, name, package in pkgutil.iter_modules(examples.__path__) if not package} - WITHOUT_RUNS
STEPS = 25
OF_RUNS = (
    *("t", "x", "R", "v", "vdot", "multipliers_all", "u", "udot", "uddot", "success", "message", "status"),
    *("event_times", "energy", "constraint_residual", "stats"),
)
OF_NODES = (
    *("position", "displacement", "rotation", "rotation_vector", "velocity", "acceleration", "angular_velocity"),
)
OF_JOINTS = ("multipliers", "reaction", "coordinate", "coordinate_rate", "angle", "internal_variables")
OF_DRIVES = (".reaction", "table")
OF_ELEMENTS = ("section_forces", "shell_forces", "shell_stress", "signal", "internal_variables")


class Enough(BaseException):
    """The run of an example has come far enough."""


def queries(run: mbs.Solution) -> dict[str, Callable[[mbs.Solution], Any]]:
    """What can be asked of a run."""
    asked: dict[str, Callable[[mbs.Solution], Any]] = {name: lambda s, n=name: getattr(s, n) for name in OF_RUNS}
    asked |= {"str": str, "repr": repr, "names of redundant joints": lambda s: [own.name for own in s.redundant]}
    asked |= {"first": lambda s: s.state(0), "last": lambda s: s.state(-1), "motion": lambda s: s.motion(-1).V}
    asked |= {
        "between": lambda s: s(float(0.37 * s.t[0] + 0.63 * s.t[-1])),
        "table": lambda s: s.to_pandas().to_numpy(),
    }
    for node in run.system.nodes:
        asked |= {f"{node}.{own}": lambda s, n=node.name, own=own: getattr(s, own)(n) for own in OF_NODES}
    for part in run.system.number.parts:
        names = OF_JOINTS if isinstance(part, Constraint) else OF_ELEMENTS
        asked |= {f"{part}.{own}": lambda s, n=part.name, own=own: getattr(s, own)(n) for own in names}
    return asked


def same(one: Any, other: Any) -> bool:
    if isinstance(one, mbs.State):
        return all(same(getattr(one, name), getattr(other, name)) for name in ("t", *ARRAYS))
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if is_dataclass(one):
        return all(same(getattr(one, name), getattr(other, name)) for name in vars(one))
    if isinstance(one, np.ndarray | float):
        return np.array_equal(np.asarray(one), np.asarray(other), equal_nan=np.asarray(one).dtype.kind == "f")
    return bool(one == other)


def near(one: Any, other: Any) -> bool:
    """Reactions, or a table with such, but for rounding."""
    if isinstance(one, tuple):
        return all(map(near, one, other))
    return bool(np.allclose(one, other, rtol=1e-7, atol=1e-8 * max(np.abs(one).max(), 1.0)))


def answered(query: Callable[[mbs.Solution], Any], run: mbs.Solution) -> Any:
    try:
        return query(run)
    except mbs.FemMbsError as error:
        return type(error), str(error)


def compare(run: mbs.Solution, file: Path, model: mbs.Model) -> None:
    """The run, from its file alone and with the model of its script."""
    full = mbs.load(file, model)
    try:
        alone = mbs.load(file)
    except mbs.StoreError as error:  # of a model that is built by a function
        assert "of the script" in str(error)
        alone = full
    for name, query in queries(run).items():
        expected = answered(query, run)
        assert same(expected, answered(query, full)), name
        found = answered(query, alone)
        missing = isinstance(found, tuple) and (found[0] is mbs.LawError or found[0] is expected[0] is mbs.ModelError)
        # what drives joints stays behind: they stand where their functions say, to rounding
        assert missing or same(expected, found) or (name.endswith(OF_DRIVES) and near(expected, found)), name


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(name for name in NAMES if not name.startswith("_")))
def test_every_query_is_the_same_of_a_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulate, statics = mbs.simulate, mbs.statics
    signature, done = inspect.signature(simulate), []

    def short(*given: Any, **named: Any) -> mbs.Solution:
        arguments = dict(signature.bind(*given, **named).arguments)
        initial, step = arguments.get("initial"), arguments["step"]
        begin = getattr(initial, "state", initial).t if initial is not None else 0.0
        share = STEPS * step if isinstance(step, float) else (arguments["t_end"] - begin) / 20
        arguments |= {"t_end": min(arguments["t_end"], begin + share), "times": None}
        model, saved, stored = arguments["model"], tmp_path / "saved.db", tmp_path / "stored.db"
        run = simulate(**arguments)
        compare(run, run.save(saved), model)
        compare(simulate(**arguments, store=stored), stored, model)
        done.append(run)
        raise Enough

    def saved(model: mbs.Model, *given: Any, **named: Any) -> mbs.Solution:
        path = statics(model, *given, **named)
        compare(path, path.save(tmp_path / "path.db"), model)
        done.append(path)
        return path

    monkeypatch.setattr(mbs, "simulate", short)
    monkeypatch.setattr(mbs, "statics", saved)
    monkeypatch.chdir(tmp_path)
    script = importlib.import_module(f"examples.{name}")
    try:
        script.main([])
    except Enough:
        pass
    assert done
