"""What code of users reads beside its arguments: a line would keep it as it was when it was recorded.

Methods of a batch, and functions that they call, may read globals, variables around them and attributes of classes,
which a script may set at any time, also within a run. Their code objects tell which. Code of the library, of NumPy,
SciPy and Python itself is not looked into.
"""

from __future__ import annotations

import builtins
import dis
from collections.abc import Iterator
from functools import cached_property
from inspect import getattr_static
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from fem_mbs.compiled.tape import CannotRecordError

METHODS = "force", "tangent", "rate_force", "evaluate", "stiffness", "rate_gradient", "rate_derivative"
"""Those that lines are recorded of; others are looked into where these call them."""
KNOWN = {"fem_mbs", "numpy", "scipy", "math", "builtins", "typing", "collections", "functools", "operator", "abc"}
"""Packages whose code reads nothing that scripts set; a script may be called like others of Python."""
ATTRIBUTES = "LOAD_ATTR", "LOAD_METHOD"
"""Instructions that load them."""


def refuse_outside(batch: Any) -> None:
    """Raise :class:`CannotRecordError` if a batch reads what a script may set at any time."""
    kinds = type(batch).__mro__
    own = [kind for kind in kinds if not _is_known(kind)]
    if not own:
        return
    contract = {name for kind in kinds if _is_known(kind) for name in vars(kind)}
    names, seen = dict.fromkeys(METHODS), set[Any]()
    for name in (left := list(names)):
        for kind in (kind for kind in kinds if name in vars(kind)):
            function = _function(vars(kind)[name])
            if function is not None:
                called = [attribute for code in _codes(function.__code__) for attribute in code.co_names]
                left += [attribute for attribute in called if attribute not in names]
                names |= dict.fromkeys(called)
                if kind in own:
                    _look_into(function, seen)
            elif kind in own and name not in contract and name not in vars(batch):
                raise CannotRecordError(f"reads {kind.__name__}.{name}, which may change")


def _look_into(value: Any, seen: set[Any], name: str = "") -> None:
    """Refuse what is no code, and what code of a user reads: that of a function, or of methods of a class."""
    if isinstance(value, ModuleType | BuiltinFunctionType | np.ufunc) or _is_known(value):
        return
    found = vars(value).values() if isinstance(value, type) else [value]
    functions = [own for own in map(_function, found) if own is not None]
    if not (functions or isinstance(value, type)):
        raise CannotRecordError(f"reads {name}, which may change")
    for function in functions:
        if not (function in seen or _is_known(function)):
            seen.add(function)
            for path, read in _reads(function):
                _look_into(read, seen, path)


def _reads(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Globals and variables around a function that its code loads, and what it takes from modules and classes."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    around = {name: cell.cell_contents for name, cell in cells if name != "__class__"}
    spaces = {"LOAD_GLOBAL": {**vars(builtins), **function.__globals__}, "LOAD_DEREF": around}
    for code in _codes(function.__code__):
        instructions = list(dis.get_instructions(code))
        for k, (kind, path) in enumerate((own.opname, own.argval) for own in instructions):
            if kind == "IMPORT_NAME" and path.partition(".")[0] not in KNOWN:
                yield f"what it imports from {path}", path
            elif kind in spaces and path in spaces[kind]:
                value = spaces[kind][path]
                for after in instructions[k + 1 :]:
                    inside = isinstance(value, ModuleType | type) and not _is_known(value)
                    if not (inside and after.opname in ATTRIBUTES and after.argval in dir(value)):
                        break
                    path, value = f"{path}.{after.argval}", getattr_static(value, after.argval)
                yield path, value


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code and those of functions within it."""
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


def _function(value: Any) -> FunctionType | None:
    """The function of a method, a property or the like."""
    if isinstance(value, staticmethod | classmethod):
        value = value.__func__
    elif isinstance(value, property):
        value = value.fget
    elif isinstance(value, cached_property):
        value = value.func
    return value if isinstance(value, FunctionType) else None


def _is_known(value: Any) -> bool:
    """Whether a module, function or class is one of these packages."""
    if isinstance(value, ModuleType):
        name = value.__name__
    else:
        name = value.__module__ if isinstance(value, FunctionType | type) else ""
    return name.partition(".")[0] in KNOWN
