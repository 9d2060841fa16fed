"""The console script ``fem-mbs``; what a command needs is loaded when it runs, as that takes long.

``fem-mbs doctor script.py`` checks the model of a script as it is when it first runs one, and runs nothing.
"""

from __future__ import annotations

import argparse
import os
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import fem_mbs
from fem_mbs.version import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry of the console script; returns its exit status."""
    parser = argparse.ArgumentParser("fem-mbs", description="Flexible multibody dynamics on Lie groups.")
    parser.add_argument("--version", action="version", version=f"fem-mbs {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")

    validating = commands.add_parser("validate", help="compare with published benchmarks")
    validating.add_argument("names", nargs="*", help="run the cases whose name or kind contains one of these")
    validating.add_argument("--all", action="store_true", help="run the slow cases as well")
    validating.add_argument("--list", action="store_true", help="list the cases and run none")
    validating.add_argument("--json", metavar="FILE", help="write the results, to standard output for '-'")
    validating.set_defaults(run=_validate, parser=validating)

    examining = commands.add_parser("doctor", help="check the model of a script before it runs")
    examining.add_argument("script", help="a Python file that makes a model and runs it")
    examining.add_argument("arguments", nargs=argparse.REMAINDER, help="what the script gets in sys.argv")
    examining.set_defaults(run=_doctor)

    options = parser.parse_args(arguments)
    try:
        status = int(options.run(options))
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads has had enough, such as head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


def _validate(options: argparse.Namespace) -> int:
    from fem_mbs.validation import validate

    return validate(options)


RUNS = (
    *("simulate", "simulate_many", "statics", "steady_rotation", "modes", "buckling", "linearize"),
    *("campbell", "unbalance_response"),
)
"""What takes a model, or several, and runs it."""


class _FoundError(BaseException):
    """Ends a script at its first model; not one of those errors that a script may catch."""

    def __init__(self, model: fem_mbs.Model) -> None:
        self.model = model


def _doctor(options: argparse.Namespace) -> int:
    """Check and print; the exit status is 0 if nothing looks wrong, 1 if something does, 2 without a model.

    A script that runs no model is run to its end: the models that it then has are checked.
    """
    script: str = options.script
    if not Path(script).is_file():
        print(f"{script}: {'a folder; name a script in it' if Path(script).is_dir() else 'there is no such file'}")
        return 2
    made: list[fem_mbs.Model] = []
    with _watched(), _arguments([script, *options.arguments]):
        try:
            made = _models(runpy.run_path(script, run_name="__main__"))
        except _FoundError as found:
            made = [found.model]
        except SystemExit as error:
            if isinstance(error.code, str):
                print(error.code)
            frames = traceback.walk_tb(error.__traceback__)
            made = _models(next(names for frame, _ in frames if (names := frame.f_globals).get("__file__") == script))
            if not made:
                print(f"{script}: ends by sys.exit before it makes a model")
                return 2
        except Exception as error:
            print(f"{_place(error, script)}{type(error).__name__}: {error}")
            print(f"{script}: fails before it runs a model")
            return 2
    if not made:
        print(f"{script}: makes no model; call what builds it")
        return 2
    checks = [model.check() for model in made]
    print(*checks, sep="\n")
    return 0 if all(check.ok for check in checks) else 1


def _models(names: dict[str, Any]) -> list[fem_mbs.Model]:
    """By names, or in lists, tuples or dictionaries that have one."""
    values = [[*own.values()] if isinstance(own, dict) else own for own in names.values()]
    held = [own if isinstance(own, list | tuple) else [own] for own in values]
    return [*dict.fromkeys(model for own in held for model in own if isinstance(model, fem_mbs.Model))]


def _place(error: Exception, script: str) -> str:
    """Where a script fails: the last of its own lines that was at work."""
    if isinstance(error, SyntaxError):
        return ""  # its message has the place
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == script]
    return f"{script}, line {lines[-1].lineno}: {lines[-1].line}\n" if lines else f"{script}: "


@contextmanager
def _watched() -> Iterator[None]:
    """Whatever runs a model ends the script and shows the model."""

    def watching(run: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(run)
        def call(*given: Any, **named: Any) -> Any:
            first = given[0] if given else named.get("model", named.get("models"))
            for model in first if isinstance(first, list | tuple) else [first]:
                if isinstance(model, fem_mbs.Model):
                    raise _FoundError(model)
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
def _arguments(arguments: list[str]) -> Iterator[None]:
    """``sys.argv`` and ``sys.path`` as the script has them when it is run by itself."""
    argv, path = sys.argv, list(sys.path)
    try:
        sys.argv = arguments
        sys.path.insert(0, str(Path(arguments[0]).resolve().parent))
        yield
    finally:
        sys.argv, sys.path[:] = argv, path
