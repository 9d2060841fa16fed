"""The suite of ``fem-mbs validate``: every verdict, and the command around it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fem_mbs import benchmarks
from fem_mbs.benchmarks.case import CASES, Case, Quantity, references, refined
from fem_mbs.command import main
from fem_mbs.validation import line

LONG = (
    "Euler columns",
    "Cardan joint",
    "lateral-torsional buckling",
    "intermediate axis",
    "Bennett's linkage",
    "deep arch",
    "NREL 5 MW blade",
    "turning blade",
    "overhung rotor",
    "flying spaghetti, 2D",
    "blade on a hub",
    "string",
    "Sze: cantilever",
    "stepped rotor",
    "bouncing ball",
    "hanging cable",
    # what tests beside hold to as much
    "disc that rolls in a circle",
    "four-bar 2012",
    "follower force",
    "pressed elastica",
    "driven hinge",
    "sliding, rolling, three balls",
)
"""Cases that a user waits for, but not every run of the tests; CI does, in a step of its own."""
LONGER = (
    "Princeton beam",
    "Lee's frame",
    "right-angle cantilever",
    "mass, spring and damper",
    "IFToMM A01, simple pendulum",
    "IFToMM A03, Andrews' squeezer",
    "IFToMM A04, Bricard's linkage",
    "heavy top",
    "heavy top without joints",
    "Haug's spin-up",
    "plates and roofs, linear",
    "Sze: slit annular plate",
    "Sze: hemisphere",
    "locking, straight",
    "locking, 45-degree bend",
    "pendulum with a torsion spring",
    "speed motor",
    "flutter",
    "ball on a turntable",
    "rope that goes slack",
    "position servo",
    "plates, buckling",
    "laminated plates",
)
"""Those of 2.5 s and more: CI has shorter ones beside, or tests, of the same elements, joints and methods."""
SLOW = [case for case in CASES if case.slow or case.name in LONGER]
QUICK = [pytest.param(case, marks=[pytest.mark.slow] * (case.name in LONG)) for case in CASES if case not in SLOW]


def check(case: Case) -> None:
    quantities = case.run()
    assert quantities
    assert {quantity.source.partition(":")[0] for quantity in quantities} <= {"exact", "published", "computed"}
    failed = [line(quantity) for quantity in quantities if not quantity.passed]
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize("case", QUICK, ids=lambda case: case.name)
def test_quick_case(case: Case) -> None:
    check(case)


@pytest.mark.slow
@pytest.mark.parametrize("case", SLOW, ids=lambda case: case.name)
def test_slow_case(case: Case) -> None:
    check(case)


def test_names_are_unique_and_every_case_says_what_it_is() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    assert all(case.summary.endswith(".") or ":" in case.summary for case in CASES)


def test_references_are_of_cases_and_have_sources() -> None:
    assert references().keys() <= {case.name for case in CASES}
    every = [own for group in references().values() for own in group]
    assert all(own.source.partition(": ")[0] in ("exact", "published", "computed") for own in every)
    assert all(own.tolerance > 0.0 and (own.scale is None or own.scale > 0.0) for own in every)


def test_numbers_are_as_many_as_references() -> None:
    with pytest.raises(ValueError, match="block on an incline: no numbers for .'force upwards"):
        Case("block on an incline", "joints", False, lambda: [[1.0, 2.0]]).run()


def test_verdicts() -> None:
    assert Quantity("exact", 2.0, 2.0, 0.0, "").passed
    assert not Quantity("far", 2.1, 2.0, 0.04, "").passed
    assert Quantity("near", 2.1, 2.0, 0.06, "").passed
    assert Quantity("zero", 1e-3, 0.0, 1e-2, "", scale=1.0).passed
    assert not Quantity("nothing", np.nan, 1.0, 1e9, "").passed


def test_extrapolation() -> None:
    found = refined(lambda n: [3.0 + 2.0 / n**2, 1.0 - 1.0 / n**2], (4, 8, 16))
    np.testing.assert_allclose(found, [3.0, 1.0, 2.0], rtol=1e-14)


def wrong() -> list[Quantity]:
    """A case that fails."""
    return [Quantity("wrong", 1.0, 2.0, 0.1, "nowhere")]


def test_command(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Filter, table, file and exit status."""
    file = tmp_path / "results.json"
    assert main(["validate", "chain of ten", "--json", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "chain of ten links" in shown and "10 of 10 quantities of 1 cases within their tolerance" in shown
    data = json.loads(file.read_text())
    assert [case["case"] for case in data] == ["chain of ten links"]
    assert all(quantity["passed"] for quantity in data[0]["quantities"])
    monkeypatch.setattr("fem_mbs.validation.CASES", [*CASES, Case("wrong case", "dynamics", False, wrong)])
    assert main(["validate", "wrong case"]) == 1
    assert "FAILED" in capsys.readouterr().out
    assert main(["validate", "wrong case", "--json", "-"]) == 1
    assert json.loads(capsys.readouterr().out)[0]["quantities"][0]["deviation"] == 0.5
    with pytest.raises(SystemExit):  # before it runs anything
        main(["validate", "wrong case", "--json", str(file / "below")])
    told = capsys.readouterr()
    assert "cannot write" in told.err and "FAILED" not in told.out
    assert main(["validate", "--list"]) == 0
    assert "A case that fails." in capsys.readouterr().out


def test_a_name_that_no_case_has_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leave:
        main(["validate", "perpetuum"])
    assert leave.value.code == 2
    refusal = capsys.readouterr().err
    assert "no case has 'perpetuum' in its name; there are: " in refusal and "heavy top" in refusal


def test_tables_are_installed_with_the_cases() -> None:
    folder = Path(benchmarks.__file__).parent
    settings = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    kinds = {file.suffix for file in folder.iterdir() if file.is_file()} - {".py"}
    assert kinds == {".csv"} and '"fem_mbs.benchmarks" = ["*.csv"]' in settings
