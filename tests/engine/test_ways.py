"""The way of a load value into the residual and that of a result back are as CONTRIBUTING.md says."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import fem_mbs as mbs
from fem_mbs.elements import Force, RigidBody, SphericalJoint

ROOT = Path(__file__).parents[2]
Called = tuple[str, str]
"""A file and the name of a function in it, without that of its class."""


def ways() -> list[list[Called]]:
    """The tables of the page: as built, in a step, and back."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("### The way of one load value")[1]
    tables = re.findall(r"\|---\|---\|---\|\n((?:\|.*\n)+)", text)
    return [re.findall(r"\| `(\S+)` \| `(?:\w+\.)?(\w+)` \|", table) for table in tables[:3]]


def first_calls() -> tuple[list[Called], list[Called]]:
    """Functions of the library by their first call, from the script to the first step, and from there to a query."""
    build: dict[Called, None] = {}
    step: dict[Called, None] = {}

    def watch(into: dict[Called, None]) -> Any:
        def profile(frame: FrameType, event: str, argument: object) -> None:
            path = Path(frame.f_code.co_filename)
            if event == "call" and ROOT in path.parents:
                into.setdefault((path.relative_to(ROOT).as_posix(), frame.f_code.co_name))

        return profile

    model = mbs.Model()
    bob = model.add_node((1.0, 0.0, 0.0), name="bob")
    model.add(RigidBody(bob, mass=1.0, inertia=(1.0, 1.0, 1.0)))
    model.add(SphericalJoint(model.ground, bob, point=(0.0, 0.0, 0.0)))
    before = sys.getprofile()
    try:
        sys.setprofile(watch(build))
        model.add(Force(bob, lambda t: (0.0, 0.0, t)))
        solution = mbs.simulate(model, 0.2, 0.1, callback=lambda state: sys.setprofile(watch(step)))
        solution.position("bob")
    finally:
        sys.setprofile(before)
    return list(build), list(step)


def test_the_ways_are_true() -> None:
    built, step, back = ways()
    assert len(built) == 3 and len(step) > 5 and len(back) > 3
    at_first, later = first_calls()
    for way, calls in ((built, at_first), ([*step, *back], later)):
        assert set(way) <= set(calls), f"never called: {set(way) - set(calls)}"
        assert [call for call in calls if call in way] == way
