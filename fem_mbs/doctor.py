"""``fem-mbs doctor script.py``: checks the models of a script as they are when it runs them."""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import fem_mbs
from fem_mbs.check.examine import examine
from fem_mbs.check.report import Check
from fem_mbs.errors import FemMbsError
from fem_mbs.model import Model

RUNS = ("simulate", "statics", "modes", "buckling", "linearize", "simulate_many", "steady_rotation")
"""What takes a model and runs it."""


class _SeenEnough(BaseException):
    """Ends a script; not one of those errors that a script may catch."""


def add(commands: Any) -> None:
    """Add the command to those of a parser."""
    parser = commands.add_parser("doctor", help="check the models of a script before they run")
    parser.add_argument("script", help="a Python file that makes a model and runs it")
    parser.add_argument(
        "--all", action="store_true", help="let the runs run, to check all models that the script makes"
    )
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what the script gets in sys.argv")
    parser.set_defaults(run=lambda options: doctor(options.script, options.arguments, options.all))


def doctor(script: str, arguments: list[str], go_on: bool) -> int:
    """Check and print; the exit status is 0 if nothing looks wrong, 1 if something does, 2 without a model."""
    checks: list[Check] = []
    seen: list[Model] = []

    def look_at(model: Model) -> None:
        if not any(model is other for other in seen):
            seen.append(model)
            checks.append(examine(model))
            print(checks[-1], flush=True)

    failed = False
    with _watched(look_at, go_on), _arguments([script, *arguments]):
        try:
            names = runpy.run_path(script, run_name="__main__")
            for value in names.values():
                if isinstance(value, Model):
                    look_at(value)
        except _SeenEnough:
            pass
        except FemMbsError as error:
            failed = True
            print(f"{type(error).__name__}: {error}")
    if not seen:
        print(f"{script}: made no model that it runs, and has none by a name")
        return 2
    return 1 if failed or not all(check.ok for check in checks) else 0


@contextmanager
def _watched(look_at: Callable[[Model], None], go_on: bool) -> Iterator[None]:
    """Whatever runs a model shows it first; unless a script goes on, the first run is the end of it."""

    def watching(run: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(run)
        def call(*given: Any, **named: Any) -> Any:
            model = given[0] if given else named.get("model")
            if isinstance(model, Model):
                look_at(model)
                if not go_on:
                    raise _SeenEnough
            return run(*given, **named)

        return call

    kept = {name: getattr(fem_mbs, name) for name in RUNS if hasattr(fem_mbs, name)}
    try:
        for name, run in kept.items():
            setattr(fem_mbs, name, watching(run))
        yield
    finally:
        for name, run in kept.items():
            setattr(fem_mbs, name, run)


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
