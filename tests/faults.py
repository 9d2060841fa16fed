"""Mistakes of newcomers, made in the models of the examples: in what they give to constructors, or in the model."""

from __future__ import annotations

import inspect
import logging
import runpy
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from functools import wraps
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.command import RUNS
from fem_mbs.elements import (
    Beam,
    BeamSection,
    Force,
    Moment,
    PointMass,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
    SpringDamper,
)
from fem_mbs.model.check import Check

EXAMPLES = Path(__file__).parents[1] / "examples"
MILLI = 1e3
Given = dict[str, Any]


class Fault(NamedTuple):
    """A mistake.

    ``given`` changes the arguments of a constructor, by the class; ``model`` breaks a model that is made, in ways that
    it yields one by one: each says what has to be named, and undoes the mistake when it is gone on with.
    """

    words: str
    given: dict[type, Callable[[Given], Any]]
    model: Callable[[mbs.Model], Iterator[str]] | None = None


class _Made(BaseException):
    """The first run of a script is about to begin."""

    def __init__(self, model: mbs.Model) -> None:
        self.model = model


class _RefusedError(BaseException):
    """A constructor refuses what it is given; not one of the errors that scripts catch."""


@contextmanager
def first_model(
    script: Path, given: dict[type, Callable[[Given], Any]] | None = None
) -> Iterator[tuple[mbs.Model, list[Any]]]:
    """The model of the first run of a script, and the objects that were made of changed arguments."""
    changed: list[Any] = []

    def stop(model: Any, *values: Any, **_: Any) -> None:
        raise _Made(model if isinstance(model, mbs.Model) else model(**values[0]))

    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.setattr(sys, "argv", [str(script)])
        patch.syspath_prepend(str(script.parent))
        for run in RUNS:
            patch.setattr(mbs, run, stop)
        patch.setattr("fem_mbs.derivatives.objective.sensitivities", stop)
        for kind, change in (given or {}).items():
            stack.enter_context(_changed(kind, change, changed))
        try:
            with redirect_stdout(StringIO()), _level_kept():
                runpy.run_path(str(script), run_name="__main__")
            raise LookupError(f"{script} runs no model")
        except _Made as made:
            model = made.model
        yield model, changed


@contextmanager
def _level_kept() -> Iterator[None]:
    """Scripts may quieten the log."""
    logger = logging.getLogger("fem_mbs")
    level = logger.level
    try:
        yield
    finally:
        logger.setLevel(level)


@contextmanager
def _changed(kind: type, change: Callable[[Given], Any], changed: list[Any]) -> Iterator[None]:
    make = kind.__init__
    signature = inspect.signature(make)

    @wraps(make, updated=())
    def other(self: Any, *given: Any, **named: Any) -> None:
        bound = signature.bind(self, *given, **named)
        bound.apply_defaults()
        if change(bound.arguments) is not False:
            changed.append(self)
        try:
            make(*bound.args, **bound.kwargs)
        except mbs.ModelError as error:
            raise _RefusedError(str(error)) from error

    try:
        kind.__init__ = other  # type: ignore[misc]
        yield
    finally:
        kind.__init__ = make  # type: ignore[misc]


def scaled(**factors: float) -> Callable[[Given], Any]:
    """Arguments times factors; those of None stay so."""

    def change(given: Given) -> Any:
        known = {name: factor for name, factor in factors.items() if given[name] is not None}
        numbers = all(not callable(given[name]) for name in known)
        if known and numbers:
            given.update({name: factor * np.asarray(given[name], float) for name, factor in known.items()})
            given.update({name: float(given[name]) for name in known if np.ndim(given[name]) == 0})
        return bool(known) and numbers

    return change


def _materials(E: float, rho: float) -> dict[type, Callable[[Given], Any]]:
    return {BeamSection: scaled(EA=E, GA=E, GJ=E, EI=E, mass=rho, inertia=rho)}


def _in_millimetres(given: Given) -> Any:
    area, second = MILLI**2, MILLI**4
    scaled(EA=area, GA=area, GJ=second, EI=second, mass=area, inertia=second, outline=MILLI)(given)


def _forgotten_bodies(model: mbs.Model) -> Iterator[str]:
    """Bodies forgotten, one after the other, where nothing else gives the node its inertia."""
    for body in [own for own in model.elements if isinstance(own, RigidBody)]:
        (node,) = body.nodes
        massive = [own for own in model.elements if isinstance(own, Beam | RigidBody) and node in own.nodes]
        if massive == [body] and not node.fixed_rotation:
            parts, names = list(model.elements), dict(model._parts)
            try:
                model.remove(body)
            except mbs.ModelError:  # something is built on it
                continue
            yield f"'{node.name}'"
            list.__setitem__(model.elements, slice(None), parts)  # behind its back
            model._parts = names


@contextmanager
def _with(model: mbs.Model, part: Any) -> Iterator[None]:
    model.add(part, name="again")
    yield
    model.remove(part)


def _again(*kinds: type) -> Callable[[mbs.Model], Iterator[str]]:
    def twice(model: mbs.Model) -> Iterator[str]:
        for part in [own for own in (*model.elements, *model.constraints) if type(own) in kinds]:
            if not getattr(part, "drive", None):
                given: Any = part.constructor_arguments
                with _with(model, type(part)(*given.arguments, **given.named)):
                    yield f"'{part.name}'"

    return twice


def _lost(model: mbs.Model) -> Iterator[str]:
    node = model.add_node(np.mean([own.position for own in model.nodes], axis=0) + 0.1, name="a lost one")
    yield "'a lost one'"
    model.remove(node)


def _joint_again(joint: Any, point: Any, **more: Any) -> Any:
    axis = {} if isinstance(joint, SphericalJoint) else {"axis": (0, 0, 1)}
    return type(joint)(*joint.nodes, **axis, point=point, **more)


def _plain(model: mbs.Model) -> Iterator[tuple[Any, Any]]:
    """Hinges and balls, and where they are."""
    for joint in model.constraints:
        if type(joint) in (RevoluteJoint, SphericalJoint):
            node = joint.nodes[0]
            yield joint, node.position + node.rotation @ joint.offsets[0]


def _apart(model: mbs.Model) -> Iterator[str]:
    """A joint whose points are at two places, a tenth of the model away."""
    shift = 0.1 * mbs.System(model).length * np.ones(3)
    for joint, x in list(_plain(model)):
        with _with(model, _joint_again(joint, x, point_b=x + shift)):
            yield "'again'"


def _far(model: mbs.Model) -> Iterator[str]:
    """The point of a joint in millimetres, away from the origin."""
    for joint, x in list(_plain(model)):
        if np.linalg.norm(x) > 0.2 * mbs.System(model).length:
            with _with(model, _joint_again(joint, 1e3 * x)):
                yield "'again'"


def _gravity_in_millimetres(model: mbs.Model) -> Iterator[str]:
    kept = model.gravity
    if kept.any():
        model.gravity = 1e3 * kept
        yield "gravity"
        model.gravity = kept


def _one_element(model: mbs.Model) -> Iterator[str]:
    """Members of one element in place of several."""
    for k, beam in enumerate(list(model.elements)):
        if isinstance(beam, Beam) and beam.order == 1 and len(beam.length) > 1:
            coarse = Beam([beam.nodes[0], beam.nodes[-1]], beam.section)
            coarse.name = beam.name
            list.__setitem__(model.elements, k, coarse)  # behind its back
            yield f"'{beam.name}'"
            list.__setitem__(model.elements, k, beam)


def _along_the_beam(given: Given) -> Any:
    nodes = given["nodes"]
    given["y_axis"] = nodes[-1].position - nodes[0].position


FAULTS = {
    "E in N/mm²": Fault("modulus", _materials(1e-6, 1.0)),
    "E in GPa": Fault("modulus", _materials(1e-9, 1.0)),
    "density in kg/mm³": Fault("density", _materials(1.0, 1e-9)),
    "density in t/mm³": Fault("density", _materials(1.0, 1e-12)),
    "density in g/cm³": Fault("density", _materials(1.0, 1e-3)),
    "section in mm": Fault("deep", {BeamSection: _in_millimetres}),
    "inertia in kg mm²": Fault("radius of gyration", {RigidBody: scaled(inertia=1e6)}),
    "gravity in mm/s²": Fault("mm/s", {}, _gravity_in_millimetres),
    "the point of a joint in mm": Fault("away from", {}, _far),
    "loads a thousand times too large": Fault("bend", {Force: scaled(value=1e3), Moment: scaled(value=1e3)}),
    "one element for a member": Fault("one element", {}, _one_element),
    "a body forgotten": Fault("without mass|no mass|at the same place|used by no", {}, _forgotten_bodies),
    "a node left over": Fault("used by no", {}, _lost),
    "a joint twice": Fault("repeat each other", {}, _again(RevoluteJoint, SphericalJoint)),
    "a body twice": Fault("same as", {}, _again(RigidBody, PointMass)),
    "a beam twice": Fault("same as", {}, _again(Beam)),
    "a spring or a load twice": Fault("same as", {}, _again(SpringDamper, Force, Moment)),
    "the frames of a joint apart": Fault("do not meet", {}, _apart),
    "a negative inertia": Fault("inertia must be positive", {RigidBody: scaled(inertia=-1.0)}),
    "y_axis along the beam": Fault("y_axis", {Beam: _along_the_beam}),
}


def broken(script: Path, fault: Fault) -> Iterator[tuple[mbs.Model | None, list[str], str]]:
    """Broken models of an example, the names of which one has to be told, and the refusal where one is not made."""
    with ExitStack() as stack:
        try:
            model, changed = stack.enter_context(first_model(script, fault.given))
        except _RefusedError as error:
            yield None, [], str(error)
            return
        yield from _breaks(model, changed, fault)


def _breaks(model: mbs.Model, changed: list[Any], fault: Fault) -> Iterator[tuple[mbs.Model | None, list[str], str]]:
    if fault.model is not None:
        for name in fault.model(model):
            yield model, [name], ""
    elif changed:
        beams = [own for own in model.elements if isinstance(own, Beam)]
        yield model, [f"'{own.name}'" for own in (*changed, *beams) if getattr(own, "name", None)], ""


def counted(fault: Fault, scripts: dict[Path, Check]) -> tuple[int, list[str]]:
    """How often a mistake can be made in some examples, and where it is not told by name."""
    count, missed = 0, []
    for script, before in scripts.items():
        for model, names, refusal in broken(script, fault):
            count += 1
            seen = told(model.check(), before, names, fault.words) if model is not None else fault.words in refusal
            missed += [] if seen else [f"{script.stem} {' '.join(names)}"]
    return count, missed


def told(check: Check, before: Check, names: list[str], words: str) -> bool:
    """Whether what a check finds, and has not found before, has one of the words and names one of the objects."""
    known = {str(finding) for finding in before.findings}
    new = [str(finding) for finding in check.findings if str(finding) not in known]
    return any(
        any(word in text for word in words.split("|")) and (not names or any(name in text for name in names))
        for text in new
    )
