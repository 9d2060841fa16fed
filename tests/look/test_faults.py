"""A check tells mistakes of newcomers by name, and says nothing of the examples as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from faults import EXAMPLES, FAULTS, counted, first_model

from fem_mbs.model.check import Check

PAGE = Path(__file__).parents[2] / "docs" / "check.md"
SCRIPTS = [script for script in sorted(EXAMPLES.glob("[!_]*.py")) if script.stem != "reproduce_2015"]
"""All that begin a run with a model."""
REDUNDANT = {"planetary_gear", "squeezer"}
"""Whose joints repeat each other, which is what they are examples of."""


def checks(scripts: list[Path]) -> dict[Path, Check]:
    found = {}
    for script in scripts:
        with first_model(script) as (model, _):
            found[script] = model.check()
    return found


@pytest.fixture(scope="module")
def some() -> dict[Path, Check]:
    return checks([script for script in SCRIPTS if script.stem in ("slider_crank_engine", "four_bar")])


@pytest.mark.slow
def test_nothing_looks_wrong_of_the_examples() -> None:
    for script, check in checks(SCRIPTS).items():
        wrong = [str(finding) for finding in check.findings]
        assert len(wrong) == (script.stem in REDUNDANT) and all("repeat each other" in text for text in wrong), wrong


@pytest.mark.parametrize("name", FAULTS)
def test_a_mistake_is_told_by_name(name: str, some: dict[Path, Check]) -> None:
    count, missed = counted(FAULTS[name], some)
    assert not missed and (count or name == "gravity in mm/s²" or "load" in name)


@pytest.mark.slow
def test_the_page_counts_what_is_told() -> None:
    rows = re.findall(r"^\| (.+?) \| (\d+) \| (\d+) \|", PAGE.read_text(encoding="utf-8"), re.M)
    every = checks(SCRIPTS)
    measured = {name: counted(fault, every) for name, fault in FAULTS.items()}
    expected = [(name, str(count), str(count - len(missed))) for name, (count, missed) in measured.items()]
    assert rows == expected, "\n".join(f"| {' | '.join(row)} |" for row in expected) + f"\n{measured}"
