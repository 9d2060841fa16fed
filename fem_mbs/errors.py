"""What users are told: errors, each with the user's object, what was received, what to try; the log; progress bars."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from traceback import walk_tb
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fem_mbs.solution.solution import Solution

LOG = logging.getLogger("fem_mbs")
AFTER = 2.0
"""Seconds from which on a bar that nobody asked for is shown."""

Progress = Callable[[float | None], None]
"""Takes how far it has come, and None at the end."""


class FemMbsError(Exception):
    """Base of every error that a model, a run or a query can raise.

    Attributes
    ----------
    solution : Solution or None
        Everything computed up to the last accepted step, when the error ends a run.
    solutions : list of Solution
        The same of each model, when it ends a run of many.
    """

    solution: Solution | None = None
    solutions: Sequence[Solution] = ()


class ModelError(FemMbsError, ValueError):
    """The description of the model or of the run is not valid; nothing was computed."""


class SingularSystemError(FemMbsError):
    """The equations have no unique solution; the message names the joints or nodes that own them."""


class MotionError(FemMbsError):
    """An element or a law cannot represent what the run asks of it; the message names it."""


class LawError(MotionError):
    """A function that the user gave, for a load, a drive or a law, failed or did not return finite numbers.

    ``of_motion`` is true where it is one of the motion: a shorter step may keep away from where it fails.
    """

    def __init__(self, text: str, *, of_motion: bool = False) -> None:
        super().__init__(text)
        self.of_motion = of_motion


class MissingMethodError(FemMbsError, NotImplementedError):
    """A class lacks a method that its contract asks for; the message names both."""


class StoreError(FemMbsError):
    """A file cannot be written, or not be read; the message names it."""


class MissingPackageError(FemMbsError, ImportError):
    """What is asked for needs a package that is not installed; the message has the command that installs it."""


def of_library(kind: type | FunctionType) -> bool:
    """Whether a class or function is the library's own, and so keeps what the contracts ask for."""
    return kind.__module__.startswith("fem_mbs.")


def users_failure(error: Exception, label: object) -> FemMbsError | None:
    """The error that says which method of a class of the user has failed, if what was raised comes from such code."""
    frames, text = list(walk_tb(error.__traceback__)), ""
    for (caller, _), (frame, line) in zip([frames[0], *frames], frames, strict=False):
        code, module = frame.f_code, str(frame.f_globals.get("__name__"))
        first = [frame.f_locals.get(code.co_varnames[0])] if code.co_argcount else []
        # a function without its object as first argument, a lambda perhaps, is one of an object that its caller has
        whose = [own for own in caller.f_locals.values() if type(own).__module__ == module]
        own = next((own for own in [*first, *whose] if _is_users(_kind(own))), None)
        kind = _kind(own)
        if own is not None and not module.startswith("fem_mbs."):
            owners = vars(own).get("owners") if kind.__dictoffset__ and own is not kind else None
            of = f" of {owners[0]} and its kind" if owners else ""
            where = f"{Path(code.co_filename).name}, line {line}"
            where += "; what it is given is not to be changed: work on a copy" if "read-only" in str(error) else ""
            text = f"{kind.__name__}.{code.co_name}{of} failed: {error!r} ({where})"
            break
    else:  # a method that cannot be called as the contract says has no frame of its own
        kinds = {type(own) for own in frames[-1][0].f_locals.values() if isinstance(error, TypeError)}
        if any(
            str(error).startswith(f"{base.__qualname__}.") for kind in filter(_is_users, kinds) for base in kind.__mro__
        ):
            text = str(error)
    if not text:
        return None
    failure = FemMbsError(f"{label}: {text}")
    failure.__cause__ = error
    return failure


def _kind(own: object) -> type:
    return own if isinstance(own, type) else type(own)


def _is_users(kind: type) -> bool:
    """Whether a class that is not of the library derives from one that is."""
    first, *others = map(of_library, kind.__mro__)
    return not first and any(others)


def needed(module: str, what: str, extra: str) -> Any:
    """A module of an optional package, which ``what`` is asked for needs, and an extra of the library brings."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise MissingPackageError(f"{what} needs {package}; install it with pip install 'fem_mbs[{extra}]'") from error


def progress_bar(shown: bool | None, begin: float, end: float, label: str, unit: str) -> Progress | None:
    """Function that shows how far something has come, or closes the bar; None if it is not wanted.

    ``shown`` is None where nobody was asked: then there is a bar on a terminal, after ``AFTER`` seconds.
    """
    if shown is False:
        return None
    try:
        tqdm = needed("tqdm", f"{label}: progress=True", "progress").tqdm
    except MissingPackageError:
        if shown is None:
            return None
        raise
    how: dict[str, Any] = dict(disable=None, delay=AFTER, desc=label) if shown is None else dict(desc="fem_mbs")
    bar: Any = tqdm(initial=begin, total=end, unit=unit, unit_scale=True, **how)

    def show(reached: float | None) -> None:
        if reached is None:
            bar.close()
        else:
            bar.update(reached - bar.n)

    return show


class ConvergenceError(FemMbsError):
    """A time step could not be solved.

    Attributes
    ----------
    t : float
        Time that could not be reached, in s.
    residual_history : list of float
        Relative residual after each Newton iteration of the last attempt.
    """

    def __init__(self, message: str, t: float = math.nan, residual_history: Sequence[float] = ()) -> None:
        super().__init__(message)  # the defaults let the error travel between processes
        self.t = t
        self.residual_history = list(residual_history)
