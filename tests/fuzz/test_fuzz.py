"""Junk in public calls, and models at random: every answer is right, or an error of ours that names the argument."""

from __future__ import annotations

import contextlib
import logging
import operator
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from calls import Findings, campaign, every, public
from random_models import analyses
from values import world

import fem_mbs as mbs
import fem_mbs.elements
from fem_mbs.contracts.arguments import OURS

BAD = ("bare errors", "warnings", "junk accepted", "not finite", "not named", "wrong answers")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.getLogger("fem_mbs").setLevel(logging.CRITICAL)
    yield
    logging.getLogger("fem_mbs").setLevel(logging.NOTSET)


def check(found: Findings) -> None:
    assert not any(found.counts[kind] for kind in BAD), str(found)


@pytest.mark.ci
@pytest.mark.parametrize("count", [24, pytest.param(400, marks=pytest.mark.slow)])
def test_calls_with_junk_are_refused_by_name(count: int, tmp_path: Path) -> None:
    found = campaign(3, count, tmp_path)
    check(found)
    assert found.counts["answered"] >= count / 10 and found.counts["refused"] > count / 2, str(found)


def test_everything_public_is_called() -> None:
    names = {call.name for call in public()}
    assert {"simulate", "Beam.line", "BeamSection.general", "Model.add_node", "Solution.reaction", "Event"} <= names
    assert {"check_joint", "PID.__getitem__", "Modes.animate"} <= names
    assert len(names) > 200


@pytest.fixture(scope="module")
def held() -> SimpleNamespace:
    return world(np.random.default_rng(1))


@pytest.mark.ci
def test_an_argument_that_there_is_not_is_refused_by_name(held: SimpleNamespace) -> None:
    """Of whatever is public, but what a step calls: by the name of what was called, and of what it takes."""
    for call in every():
        name = call.name.split(".")[-1]
        if not name.endswith(("__", " =")) and name not in ("init", "step"):
            with pytest.raises(mbs.ModelError, match=rf"{name}.*: has no argument 'qqq'") as refused:
                call.of(held)(qqq=1)
            assert all(own.name in str(refused.value) for own in call.parameters[:8]), refused.value


def test_what_others_call_an_argument_leads_to_ours(held: SimpleNamespace) -> None:
    """Of every pair of names in lower case: ours is one of an argument, or of what is shown."""
    things = [*vars(held).values(), mbs, *vars(mbs.elements).values()]
    known = {name for thing in things for name in dir(thing)}
    calls = [(call, [each.name for each in call.parameters]) for call in public() if call.name[-1].isalnum()]
    for other, own in ((other, own) for other, ours in OURS.items() for own in ours if own[0].islower()):
        call = next((call for call, names in calls if own in names and other not in names), None)
        assert call or own in known, own
        if call:
            with pytest.raises(mbs.ModelError, match=f"has no argument '{other}'; is it .*'{own}'"):
                call.of(held)(**{other: 1})


def test_arithmetic_has_an_answer(held: SimpleNamespace) -> None:
    """Operations and functions of NumPy with signals, laws and what waits for a name: one of their kind, or a word."""
    operations = [getattr(operator, name) for name in ("add sub mul truediv floordiv mod pow matmul lt ge").split()]
    functions = (np.sin, np.sqrt, np.negative, np.abs, abs, float, int, round, lambda x: np.clip(x, -1, 1))
    counts = Counter[bool]()
    for made in (held.signal, held.sensor, held.law, fem_mbs.elements.JointSensor("pivot", "coordinate")):
        for other in (2.0, np.float64(2.0), np.array(2.0), np.array([1.0, 2.0, 3.0]), made):
            for operate in (*operations, np.add, np.multiply, np.divide, np.maximum, np.arctan2, np.power):
                for call in (partial(operate, made, other), partial(operate, other, made)):
                    counts[answers(call)] += 1
        for function in functions:
            counts[answers(partial(function, made))] += 1
        assert made == made and not made != made and (np.zeros(2) == made) is False
    assert counts[True] > 40 and counts[False] > 400


def answers(call: Callable[[], object]) -> bool:
    """Whether there is an answer, or else a word."""
    try:
        answer = call()
    except mbs.ModelError as error:
        assert str(error)
        return False
    assert isinstance(answer, fem_mbs.elements.Signal | fem_mbs.elements.TimeLaw), answer
    return True


def test_everything_that_is_shown_can_be_read(held: SimpleNamespace) -> None:
    """Attributes and properties of whatever users hold, as ``dir`` lists them: a value, or an error of ours."""
    parts = [*held.model.nodes, *held.model.elements, *held.model.constraints]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for thing in (*vars(held).values(), *parts, held.run.state(-1), held.run.stats, held.model.check()):
            for name in dir(thing):
                if not name.startswith("_"):
                    read(thing, name)


def read(thing: object, name: str) -> None:
    with contextlib.suppress(mbs.FemMbsError):
        getattr(thing, name)


@pytest.mark.ci
def test_models_at_random() -> None:
    check(analyses(2, 2))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(11, 19))
def test_twenty_thousand_calls(seed: int, tmp_path: Path) -> None:
    """In parts that end."""
    found = campaign(seed, 2_500, tmp_path)
    print(found)
    check(found)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 13))
def test_many_models_at_random(seed: int) -> None:
    found = analyses(seed, 50)
    print(found)
    check(found)
