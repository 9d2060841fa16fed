"""What a file has of where a run stands, and of what it was asked for."""

from __future__ import annotations

from typing import Any

from fem_mbs.contracts import ARRAYS, State
from fem_mbs.files.store.values import UnstorableError, Writer
from fem_mbs.solution.history import Instant, constant, proportional
from fem_mbs.system.system import System

LOADINGS: dict[str, Instant] = {"proportional": proportional, "constant": constant}
"""What load factors of a path mean, by name."""


def checkpoint_record(writer: Writer, checkpoint: Any, whole: bool = True) -> dict[str, Any]:
    """The state, and if ``whole`` the memory of the method and that of the steps."""
    if not whole:
        return {"state": state_record(writer, checkpoint.state), "memory": {}, "memory_name": None, "pace": {}}
    return {
        "state": state_record(writer, checkpoint.state),
        "memory": {name: writer.value(own) for name, own in checkpoint.memory._asdict().items()},
        "memory_name": type(checkpoint.memory).__name__,
        "pace": {name: writer.value(own) for name, own in checkpoint.control_memory._asdict().items()},
    }


def redundant_names(system: System) -> list[str]:
    """Names of the joints that repeat each other."""
    return [] if system.redundant is None else [str(joint.name) for joint in system.redundant.joints]


def state_record(writer: Writer, state: State) -> dict[str, Any]:
    """A state."""
    return {name: writer.value(getattr(state, name)) for name in ("t", *ARRAYS)}


def method_record(writer: Writer, method: Any) -> dict[str, Any] | None:
    """A method of the library; None for one of a script, or none."""
    try:
        value = writer.value(method)
    except UnstorableError:
        return None
    return value if isinstance(value, dict) and "class" in value else None
