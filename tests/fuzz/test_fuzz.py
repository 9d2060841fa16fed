"""Junk in public calls, and models at random: every answer is right, or an error of ours that names the argument."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from calls import Findings, campaign, public
from random_models import analyses

BAD = ("bare errors", "warnings", "junk accepted", "not finite", "not named", "wrong answers")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.getLogger("fem_mbs").setLevel(logging.CRITICAL)
    yield
    logging.getLogger("fem_mbs").setLevel(logging.NOTSET)


def check(found: Findings) -> None:
    assert not any(found.counts[kind] for kind in BAD), str(found)


def test_calls_with_junk_are_refused_by_name(tmp_path: Path) -> None:
    found = campaign(1, 1000, tmp_path)
    check(found)
    assert found.counts["answered"] > 100 and found.counts["refused"] > 500, str(found)


def test_everything_public_is_called() -> None:
    names = {call.name for call in public()}
    assert {"simulate", "Beam.line", "BeamSection.general", "Model.add_node", "Solution.reaction"} <= names
    assert len(names) > 80


def test_models_at_random() -> None:
    check(analyses(1, 20))


@pytest.mark.slow
def test_twenty_thousand_calls(tmp_path: Path) -> None:
    found = campaign(2, 20_000, tmp_path)
    print(found)
    check(found)


@pytest.mark.slow
def test_many_models_at_random() -> None:
    found = analyses(3, 500)
    print(found)
    check(found)
