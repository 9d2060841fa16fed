"""Every class of the catalogue in a model that moves, and all numbers that its constructor takes as parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.derivatives import parameters
from fem_mbs.elements import Bushing, CamJoint, RigidBody
from fem_mbs.run.fixed_step import FixedStep
from fem_mbs.run.interfaces import Plan
from fem_mbs.solution.solution import Solution
from fem_mbs.testing import stage
from tests.catalogue import EVERYTHING

NO_PARAMETERS = (
    "axis",
    "axis_a",
    "axis_b",
    "normal",
    "axes",
    "y_axis",
    "rotation",
    "nodes",
    "period",
    "delay",
    "initial",
)
"""Directions, which have no size, and instants at which something jumps."""
HELD = ("sleeve", "sliding joint", "wire", "cam")
"""Points of these have to stay on curves."""
QUERIES: dict[str, Callable[[Solution], Array]] = {
    name: lambda s, name=name: getattr(s.history, name)  # type: ignore[misc]
    for name in ("x", "R", "v", "vdot", "multipliers", "u", "udot")
}
FOLLOWS_HISTORY = ("spring that slips",)
"""Forces that depend on internal variables of kind "history", of which no equation of a step knows."""
STEP, END = 0.005, 0.05
LARGER = 1e-4
"""Differences of runs are taken over this and twice this: their noise is smaller, and their errors are extrapolated."""


def numbers(name: str, part: Any) -> dict[str, Any]:
    """What its constructor was given that is not whole, by name."""
    made = part.constructor_arguments
    if made is None or name.split(",")[0].startswith(HELD) or any(held in name for held in HELD):
        return {}
    bound = inspect.signature(type(part).__init__).bind(part, *made.arguments, **made.named)
    result = {}
    for key, value in list(bound.arguments.items())[1:]:
        if key not in NO_PARAMETERS and isinstance(value, float | list | tuple | np.ndarray):
            try:
                given = np.array(value)
            except ValueError:
                continue
            if given.dtype.kind == "f" and given.any():
                result[key] = given
    return result


def builder(group: str, *names: str) -> tuple[Callable[..., mbs.Model], dict[str, Any]]:
    """A function of relative changes of all numbers, of the speed and of gravity; and where these are."""

    def build(change: Array | None = None, speed: float = 0.4, gravity: float = 9.0) -> mbs.Model:
        model, parts = stage.build(*(EVERYTHING[name] for name in names), group=group)
        model.gravity = np.array([0.3, 0.2, -gravity])
        found = [(part, *own) for name, part in zip(names, parts, strict=True) for own in numbers(name, part).items()]
        for part in parts:
            if isinstance(part, CamJoint):  # nothing presses it together here
                part.pulls = True
        for own, (part, key, value) in zip(np.zeros(len(found)) if change is None else change, found, strict=True):
            if own:
                setattr(part, key, value * (1.0 + own) if value.ndim else float(value * (1.0 + own)))
        rng = np.random.default_rng(2)
        for k, node in enumerate(model.nodes[1:]):
            model.add(RigidBody(node, 2.0 + 0.1 * k, (1.0, 1.2, 1.4), (0.05, 0.02, -0.03)))
            model.add(Bushing(model.ground, node, (60.0,) * 6, 0.5, point=node.position))
            node.velocity, node.angular_velocity = 0.4 * rng.normal(size=3), speed * rng.normal(size=3)
        mbs.project_velocities(model)
        return model

    _, parts = stage.build(*(EVERYTHING[name] for name in names), group=group)
    count = sum(len(numbers(name, part)) for name, part in zip(names, parts, strict=True))
    values: dict[str, Any] = {"speed": 0.4, "gravity": 9.0}
    return build, ({"change": np.zeros(count), **values} if count else values)


class Given(FixedStep):
    """Steps of given lengths, then equal ones, also across kinks: what runs beside each other have in common."""

    lengths: tuple[float, ...] = ()

    def plan(self, memory: Any, t: float, t_end: float) -> Plan | None:
        k, rest = memory.target - 1, t_end - t
        h = self.h * (self.lengths[k] if k < len(self.lengths) else 1.0)
        return None if rest <= 0.0 else Plan(rest, t_end) if h > 0.999 * rest else Plan(h, None)

    def judge(self, memory: Any, *_: Any) -> tuple[bool, Any]:
        return True, memory._replace(target=memory.target + 1)

    def restart(self, memory: Any, t: float, jump: float) -> tuple[Any, float]:
        return memory, self.h


def of_runs(
    monkeypatch: pytest.MonkeyPatch, build: Any, values: dict[str, Any], method: mbs.Method, larger: float = LARGER
) -> Callable[[Any], dict[str, Array]]:
    """Derivatives as differences of whole runs, without their error of second order."""
    found = []
    for step in (larger, 2.0 * larger):
        with monkeypatch.context() as patch:
            patch.setattr(parameters, "STEP", step)
            found.append(mbs.sensitivities(build, values, END, STEP, method, how="copies", scale=scale(values)))

    def of(query: Any) -> dict[str, Array]:
        near, far = (own.of(query) for own in found)
        return {key: (4.0 * near[key] - far[key]) / 3.0 for key in values}

    return of


def scale(values: dict[str, Any]) -> dict[str, float] | None:
    """Of the changes, which are zero."""
    return {"change": 1.0} if "change" in values else None


def worst(direct: mbs.Sensitivities, of: Callable[[Any], dict[str, Array]], query: str) -> float:
    """Largest difference over the largest derivative, or over a small share of the quantity where that is larger."""
    ask, result = QUERIES[query], 0.0
    mine, others = direct.of(ask), of(ask)
    least = 1e-4 * max(1.0, np.abs(ask(direct.solution)).max(initial=0.0))
    for key, own in mine.items():
        columns, expected = (
            array.reshape(-1, array.shape[-1] if key == "change" else 1) for array in (own, others[key])
        )
        if columns.size:
            sizes = np.maximum(np.abs(expected).max(axis=0), least)
            result = max(result, float((np.abs(columns - expected).max(axis=0) / sizes).max()))
    return result
