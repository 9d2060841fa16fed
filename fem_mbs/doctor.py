"""``fem-mbs doctor script.py``: checks the models of a script as they are when it runs them."""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import fem_mbs
from fem_mbs.model.check import Check, examine
from fem_mbs.model.model import Model

RUNS = (
    *("simulate", "simulate_many", "statics", "steady_rotation", "modes", "buckling", "linearize"),
    *("campbell", "unbalance_response"),
)
"""What takes a model, or several, and runs it."""


class _SeenEnough(BaseException):
    """Ends a script; not one of those errors that a script may catch."""


def doctor(script: str, arguments: list[str], go_on: bool) -> int:
    """Check and print; the exit status is 0 if nothing looks wrong, 1 if something does, 2 without a model."""
    checks: list[Check] = []
    seen: list[Model] = []
    made: list[Model] = []

    def look_at(model: Model) -> None:
        if not any(model is other for other in seen):
            seen.append(model)
            checks.append(examine(model))
            print(checks[-1], flush=True)

    if not Path(script).is_file():
        print(f"{script}: there is no such file")
        return 2
    failed = False
    with _watched(look_at, go_on), _noted(made), _arguments([script, *arguments]):
        try:
            names = runpy.run_path(script, run_name="__main__")
            made += [value for value in names.values() if isinstance(value, Model)]
        except _SeenEnough:
            pass
        except SystemExit as error:
            if isinstance(error.code, str):
                print(error.code)
        except Exception as error:
            failed = True
            print(f"{_place(error, script)}{type(error).__name__}: {error}")
    if not failed and (go_on or not seen):
        for model in made:
            look_at(model)
    if not seen:
        print(f"{script}: " + ("fails before it runs a model" if failed else "makes no model; call what builds it"))
        return 2
    return 1 if failed or not all(check.ok for check in checks) else 0


def _place(error: Exception, script: str) -> str:
    """Where a script fails: the last of its own lines that was at work."""
    if isinstance(error, SyntaxError):
        return ""  # its message has the place
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == script]
    return f"{script}, line {lines[-1].lineno}: {lines[-1].line}\n" if lines else f"{script}: "


@contextmanager
def _watched(look_at: Callable[[Model], None], go_on: bool) -> Iterator[None]:
    """Whatever runs a model shows it first; unless a script goes on, the first run is the end of it."""

    def watching(run: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(run)
        def call(*given: Any, **named: Any) -> Any:
            first = given[0] if given else named.get("model", named.get("models"))
            models = [one for one in (first if isinstance(first, list | tuple) else [first]) if isinstance(one, Model)]
            for model in models if go_on else models[:1]:
                look_at(model)
            if models and not go_on:
                raise _SeenEnough
            return run(*given, **named)

        return call

    runs = {name: getattr(fem_mbs, name) for name in RUNS}
    try:
        for name, run in runs.items():
            setattr(fem_mbs, name, watching(run))
        yield
    finally:
        for name, run in runs.items():
            setattr(fem_mbs, name, run)


@contextmanager
def _noted(made: list[Model]) -> Iterator[None]:
    """Notes the models that a script makes, should it run none in a way that is watched."""
    make = Model.__init__

    @wraps(make, updated=())
    def noting(model: Model, *given: Any, **named: Any) -> None:
        make(model, *given, **named)
        made.append(model)

    try:
        Model.__init__ = noting  # type: ignore[method-assign, assignment]
        yield
    finally:
        Model.__init__ = make  # type: ignore[method-assign]


@contextmanager
def _arguments(arguments: list[str]) -> Iterator[None]:
    """``sys.argv`` and ``sys.path`` as the script has them when it is run by itself."""
    argv, path = sys.argv, list(sys.path)
    try:
        sys.argv = arguments
        sys.path.insert(0, str(Path(arguments[0]).resolve().parent))
        yield
    finally:
        sys.argv, sys.path[:] = argv, path
