"""What users can call, found by inspection, and calls of it with junk that must be refused by name."""

from __future__ import annotations

import inspect
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.random import Generator
from values import Closed, falling, good, junk, world

import fem_mbs as mbs
import fem_mbs.contracts
import fem_mbs.elements
import fem_mbs.testing
from fem_mbs.contracts import Constraint, Element, Event
from fem_mbs.contracts.arguments import LARGEST
from fem_mbs.contracts.checked import Deferred, hints_of

RECORDS = {
    mbs.State,  # checked where it is given to something
    mbs.Report,
    mbs.Step,
    mbs.Outcome,
    mbs.Checkpoint,
    mbs.Solution,
    mbs.StaticSolution,
    mbs.Modes,
    mbs.Buckling,
    mbs.LinearModel,
    mbs.ConvergenceStudy,
    mbs.Method,
    mbs.Goal,
    mbs.Campbell,
    mbs.UnbalanceResponse,
    mbs.Fit,
    mbs.Objective,
    mbs.Sensitivities,
    mbs.Assembly,
    fem_mbs.elements.BeamMesh,
    fem_mbs.elements.TimeLaw,
}
"""Classes whose objects are results, or made by others: their constructors are not for users."""
RESULTS: dict[type, str] = {
    mbs.Model: "model",
    mbs.Solution: "run",
    mbs.StaticSolution: "path",
    mbs.Modes: "modes",
    mbs.Buckling: "buckling",
    mbs.GeneralizedAlpha: "method",
    mbs.RadauIIA: "radau",
    mbs.RungeKuttaMuntheKaas: "kutta",
    mbs.LinearModel: "linear",
    mbs.Node: "node",
    mbs.CoSimulation: "steady",
    mbs.Checkpoint: "checkpoint",
    mbs.ConvergenceStudy: "study",
    mbs.Campbell: "campbell",
    mbs.UnbalanceResponse: "unbalanced",
    mbs.Sensitivities: "derivatives",
    mbs.Objective: "objective",
    mbs.Fit: "identified",
    fem_mbs.elements.BeamSection: "section",
    fem_mbs.elements.ShellSection: "sheet",
    fem_mbs.elements.Shell: "shell",
    fem_mbs.elements.FlexibleBody: "flexible",
    fem_mbs.elements.NodeSensor: "sensor",
    fem_mbs.elements.PID: "block",
    fem_mbs.elements.Junction: "junction",
    fem_mbs.elements.Harmonic: "law",
    fem_mbs.elements.Signal: "signal",
}
"""Classes whose methods are called, and an object of each in the world of ``values.py``."""
OF_AUTHORS = (
    Event,
    fem_mbs.contracts.InternalVariable,
    *(getattr(fem_mbs.testing, f"check_{what}") for what in ("element", "joint", "law", "method", "sensor")),
)
"""What authors of elements call; the rest of ``contracts`` and ``testing`` is derived from, or called in every step."""
ATTRIBUTES: dict[type, tuple[str, ...]] = {
    fem_mbs.elements.RigidBody: ("mass", "inertia", "center_of_mass"),
    fem_mbs.elements.Beam: ("section",),
    fem_mbs.elements.Maxwell: ("stiffness", "viscosity", "free_length"),
    fem_mbs.elements.Force: ("value",),
}
"""Attributes that are set after construction, of the elements of the world in their order."""
OPERATORS = {"__add__", "__sub__", "__mul__", "__truediv__", "__radd__", "__rmul__", "__getitem__"}
"""Whose messages show the sum, the product or the object in place of a name."""
ONLY = {
    **dict.fromkeys((mbs.GeneralizedAlpha, mbs.RadauIIA, mbs.RungeKuttaMuntheKaas), {"init", "step"}),
    mbs.Node: {"at", "direction"},
    fem_mbs.elements.Junction: {"connect"},
    fem_mbs.elements.NodeSensor: {"__getitem__"},
    fem_mbs.elements.Shell: {"node", "edge", "nearest"},
    fem_mbs.elements.FlexibleBody: {"node"},
    fem_mbs.elements.ShellSection: {"with_damping", "with_offset"},
    fem_mbs.elements.PID: {"__getitem__"},
    fem_mbs.elements.Harmonic: {*OPERATORS, "after"},
    fem_mbs.elements.Signal: OPERATORS,
}
"""Of classes that authors derive from, the methods that are for users."""
SLOW = {
    "simulate",
    "statics",
    "modes",
    "buckling",
    "convergence_study",
    "to_paraview",
    "animation",
    "linearize",
    "export_fmu",
    "plot",
    "animate",
}
BESIDE = {"Event.of", "Modes.to_paraview", "Buckling.to_paraview", "Campbell.plot"}
"""Left out: what draws, and what does the same as another call in many files."""
ALWAYS = {
    "sensitivities.t_end",
    "sensitivities.step",
    "convergence_study.t_end",
    "Coupling.coordinates",
    *(f"{kind}.{name}" for kind in ("StateSpace", "SampledStateSpace") for name in "BC"),
}
"""Arguments that others ask for."""
FORGIVING = {"sweep", "check_element", "check_joint", "check_sensor", "Sensitivities.of", "Sensitivities.about"}
"""Keep what a function of the user raises, or hand it on to the author of a test or a query, which may be complex."""


@dataclass(frozen=True)
class Call:
    """A public call: its name, how to get it from a world, and its parameters."""

    name: str
    of: Callable[[SimpleNamespace], Callable[..., Any]]
    parameters: tuple[inspect.Parameter, ...]
    hints: dict[str, Any] = field(hash=False)

    @property
    def slow(self) -> bool:
        return self.name.split(".")[-1] in SLOW


def public() -> list[Call]:
    """All calls that take something."""
    return [call for call in every() if call.parameters]


def every() -> list[Call]:
    """All calls: functions, constructors, class methods, and methods of models and results."""
    calls = []
    for module in (mbs, fem_mbs.elements):
        for name in module.__all__:
            calls += _of(getattr(module, name), name)
    for thing in OF_AUTHORS:
        calls += _of(thing, thing.__name__)
    for k, (kind, names) in enumerate(ATTRIBUTES.items()):
        hints = hints_of(kind.__init__)  # type: ignore[misc]
        own = inspect.signature(kind).parameters
        for name in names:
            of = lambda w, k=k, name=name: partial(_set, w, w.elements[k], name)  # noqa: E731
            calls.append(Call(f"{kind.__name__}.{name} =", of, (own[name],), hints))
    for kind, where in RESULTS.items():
        for name, function in inspect.getmembers(kind, inspect.isfunction):
            if kind in ONLY and name not in ONLY[kind] or name in _hidden(kind):
                continue
            if (
                not name.startswith("_") or name in ("__call__", *OPERATORS)
            ) and f"{kind.__name__}.{name}" not in BESIDE:
                calls.append(
                    _call(f"{kind.__name__}.{name}", lambda w, a=where, b=name: getattr(getattr(w, a), b), function)
                )
    return calls


def _of(thing: Any, name: str) -> Iterator[Call]:
    if inspect.isfunction(thing):
        yield _call(name, lambda w: thing, thing)
    elif inspect.isclass(thing) and thing not in RECORDS and not issubclass(thing, Exception):
        yield _call(name, lambda w: thing, thing.__init__)
        for own, method in inspect.getmembers(thing, inspect.ismethod):
            if not own.startswith("_") and f"{name}.{own}" not in BESIDE and own not in _hidden(thing):
                yield _call(f"{name}.{own}", lambda w, own=own: getattr(thing, own), method)


def _hidden(kind: type) -> set[str]:
    """What is public in Python and not for users."""
    return {own for base in kind.__mro__ for own in vars(base).get("_internal", "").split()}


def _set(w: SimpleNamespace, part: Element, name: str, **given: Any) -> None:
    """Set an attribute and run."""
    if not given:
        return
    before = getattr(part, name)
    setattr(part, name, given[name])
    try:
        mbs.simulate(w.model, 0.002, 0.001)
    finally:
        setattr(part, name, before)


def _call(name: str, of: Callable[[SimpleNamespace], Callable[..., Any]], function: Callable[..., Any]) -> Call:
    parameters = [own for own in inspect.signature(function).parameters.values() if own.name not in ("self", "cls")]
    plain = tuple(own for own in parameters if own.kind in (own.POSITIONAL_OR_KEYWORD, own.KEYWORD_ONLY))
    return Call(name, of, plain, hints_of(getattr(function, "__func__", function)))


@dataclass
class Findings:
    """What came of many calls."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        numbers = ", ".join(f"{count} {what}" for what, count in self.counts.items())
        return "\n".join([numbers, *self.wrong[:40]])


def campaign(seed: int, count: int, folder: Any) -> Findings:
    """Many calls, most of them with junk for an argument or two."""
    rng, found = np.random.default_rng(seed), Findings()
    calls = public()
    weights = np.array([0.1 if call.slow else 1.0 for call in calls])
    w = _world(rng, folder)
    for k in range(count):
        if k % 500 == 499:
            w = _world(rng, folder)
        call = calls[rng.choice(len(calls), p=weights / weights.sum())]
        one(call, w, found)
    return found


def _world(rng: Generator, folder: Any) -> SimpleNamespace:
    w = world(rng, ("R3xSO3", "SE3")[rng.integers(2)])
    w.folder = folder
    return w


def one(call: Call, w: SimpleNamespace, found: Findings) -> None:
    """A call, and what is wrong with its answer."""
    rng: Generator = w.rng
    given: dict[str, Any] = {}
    for parameter in call.parameters:
        if (
            parameter.default is inspect.Parameter.empty
            or f"{call.name}.{parameter.name}" in ALWAYS
            or rng.random() < 0.3
        ):
            given[parameter.name] = good(call.hints.get(parameter.name, Any), parameter.name, w, call.name)
    spoilt: dict[str, bool] = {}
    for k in rng.permutation(len(call.parameters))[: rng.choice([0, 1, 1, 1, 2])]:
        parameter = call.parameters[k]
        hint = call.hints.get(parameter.name, Any)
        given[parameter.name], spoilt[parameter.name] = junk(hint, parameter.name, parameter.default, w)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            answer = call.of(w)(**given)
            if isinstance(answer, Deferred):  # which text for a node or a joint makes
                w.model.add(answer)
            elif isinstance(answer, Element | Constraint) and (
                any(map(_is_closed, given.values())) or rng.random() < 0.2
            ):
                used(answer, w)
                found.counts["run"] += 1
    except (mbs.FemMbsError, fem_mbs.testing.ContractError) as error:
        found.counts["refused"] += 1
        # an extreme number may fail for what comes of it; what can never be right has to be named
        named = call.name.split(".")[-1] in OPERATORS or any(name in str(error) for name in spoilt)
        # nothing is asked of a file that is not there, nor of a part of another model
        named = named or "No such file" in str(error) or "is not part of this model" in str(error)
        if spoilt and all(spoilt.values()) and not named:
            found.counts["not named"] += 1
            found.wrong.append(f"not named: {_shown(call, given, spoilt)}: {error}"[:400])
        return
    except Exception as error:
        if call.name in FORGIVING and any(map(_is_closed, given.values())):
            return
        found.counts["bare errors"] += 1
        found.wrong.append(f"bare {error!r}: {_shown(call, given, spoilt)}"[:400])
        return
    closed = any(_is_closed(value) and value.called for value in given.values())
    if warned:
        found.counts["warnings"] += 1
        found.wrong.append(f"warning {warned[0].message}: {_shown(call, given, spoilt)}"[:400])
    elif any(spoilt.values()) or closed and call.name not in FORGIVING:
        found.counts["junk accepted"] += 1
        found.wrong.append(f"accepted: {_shown(call, given, spoilt)}"[:400])
    elif not finite(answer):
        found.counts["not finite"] += 1
        found.wrong.append(f"not finite: {_shown(call, given, spoilt)}"[:400])
    else:
        found.counts["answered"] += 1


def _is_closed(value: Any) -> bool:
    return isinstance(value, Closed)


def used(part: Element | Constraint, w: SimpleNamespace) -> None:
    """What was accepted runs, or is refused by name then; a run is of finite numbers."""
    if any(part is own for own in (*w.model.elements, *w.model.constraints)):
        return
    w.model.add(part)
    try:
        run = mbs.simulate(w.model, 0.002, 0.001)
        if not (finite(run.x) and finite(run.v) and finite(run.energy)):
            raise ArithmeticError("a run that is not finite")
    finally:
        w.model.remove(part)


def _shown(call: Call, given: dict[str, Any], spoilt: dict[str, bool]) -> str:
    return f"{call.name}({', '.join(f'{name}={_text(given[name])}' for name in spoilt)})"


def _text(value: Any) -> str:
    try:
        return " ".join(repr(value).split())[:120]
    except Exception:
        return f"<{type(value).__name__}>"


def finite(value: Any, depth: int = 2) -> bool:
    """Whether all numbers in an answer are finite."""
    if isinstance(value, float | complex):
        return bool(np.isfinite(value))
    if isinstance(value, np.ndarray):
        return value.dtype.kind not in "fc" or bool(np.isfinite(value).all())
    if isinstance(value, tuple | list):
        return all(finite(own, depth) for own in value)
    if depth and hasattr(value, "__dict__") and not _is_closed(value):
        skipped = {
            "workspace",
            "batches",
            "all_batches",
            "_jumping",
            "orders",
            "residual_history",
            "error",
            "end",
            "_end",
            "number",
        }
        return all(finite(own, depth - 1) for name, own in vars(value).items() if name not in skipped)
    return True


__all__ = ["LARGEST", "Call", "Findings", "campaign", "every", "falling", "finite", "one", "public"]
