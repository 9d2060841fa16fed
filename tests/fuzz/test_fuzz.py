"""Junk in public calls, and models at random: every answer is right, or an error of ours that names the argument."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from calls import Findings, campaign, public
from random_models import analyses
from values import world

import fem_mbs as mbs

BAD = ("bare errors", "warnings", "junk accepted", "not finite", "not named", "wrong answers")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.getLogger("fem_mbs").setLevel(logging.CRITICAL)
    yield
    logging.getLogger("fem_mbs").setLevel(logging.NOTSET)


def check(found: Findings) -> None:
    assert not any(found.counts[kind] for kind in BAD), str(found)


@pytest.mark.parametrize("count", [80, pytest.param(400, marks=pytest.mark.slow)])
def test_calls_with_junk_are_refused_by_name(count: int, tmp_path: Path) -> None:
    found = campaign(3, count, tmp_path)
    check(found)
    assert found.counts["answered"] >= count / 10 and found.counts["refused"] > count / 2, str(found)


def test_everything_public_is_called() -> None:
    names = {call.name for call in public()}
    assert {"simulate", "Beam.line", "BeamSection.general", "Model.add_node", "Solution.reaction", "Event"} <= names
    assert {"check_joint", "PID.__getitem__", "Modes.animate"} <= names
    assert len(names) > 200


def test_everything_that_is_shown_can_be_read() -> None:
    """Attributes and properties of whatever users hold, as ``dir`` lists them: a value, or an error of ours."""
    held = vars(world(np.random.default_rng(1)))
    parts = [*held["model"].nodes, *held["model"].elements, *held["model"].constraints]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for thing in (*held.values(), *parts, held["run"].state(-1), held["run"].stats, held["model"].check()):
            for name in dir(thing):
                if not name.startswith("_"):
                    read(thing, name)


def read(thing: object, name: str) -> None:
    with contextlib.suppress(mbs.FemMbsError):
        getattr(thing, name)


def test_models_at_random() -> None:
    check(analyses(1, 2))


@pytest.mark.slow
def test_twenty_thousand_calls(tmp_path: Path) -> None:
    found = campaign(11, 20_000, tmp_path)
    print(found)
    check(found)


@pytest.mark.slow
def test_many_models_at_random() -> None:
    found = analyses(3, 500)
    print(found)
    check(found)
