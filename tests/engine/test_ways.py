"""The way of a load value into the residual and that of a result back are as CONTRIBUTING.md says."""

from __future__ import annotations

import inspect
import re
import sys
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import fem_mbs as mbs
from fem_mbs.elements import Force, RigidBody, SphericalJoint

ROOT = Path(__file__).parents[2]
Way = dict[CodeType, str]
"""Functions of a way in their order, and how the page names them."""


def ways() -> list[Way]:
    """The tables of the page: as built, in a step, and back."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("### The way of one load value")[1]
    tables = re.findall(r"\|---\|---\|---\|\n((?:\|.*\n)+)", text)
    rows = [re.findall(r"\| `(\S+)\.py` \| `([\w.]+)` \|", table) for table in tables[:3]]
    return [{code_of(file, name): f"{file}.py: {name}" for file, name in table} for table in rows]


def code_of(file: str, name: str) -> CodeType:
    """The code of a function by its file and its name, that of its class before it."""
    path = f"fem_mbs/{file}" if file.startswith("elements/") else file
    found: Any = import_module(path.replace("/", "."))
    for part in name.split("."):
        assert part in vars(found), f"CONTRIBUTING.md: {file}.py has no {name}"
        found = vars(found)[part]
    found = found.__func__ if isinstance(found, classmethod | staticmethod) else found
    code: CodeType = inspect.unwrap(found).__code__
    return code


def first_calls() -> tuple[list[CodeType], list[CodeType]]:
    """Functions by their first call, from the script to the end of the first step, and from there to a query."""
    build: dict[CodeType, None] = {}
    step: dict[CodeType, None] = {}

    def watch(into: dict[CodeType, None]) -> Any:
        def profile(frame: FrameType, event: str, argument: object) -> None:
            if event == "call":
                into.setdefault(frame.f_code)

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
    assert len(built) > 4 and len(step) > 7 and len(back) > 5
    at_first, later = first_calls()
    for way, calls in ((built, at_first), (step | back, later)):
        never = [name for code, name in way.items() if code not in calls]
        assert not never, f"CONTRIBUTING.md: never called: {never}"
        order = [way[code] for code in calls if code in way]
        assert order == list(way.values()), f"CONTRIBUTING.md: called in the order {order}"
