"""What a file has of where a run stands, and of what it was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fem_mbs.store.writer import UnstorableError, Writer
from fem_mbs.system import ARRAYS, State, System

if TYPE_CHECKING:
    from fem_mbs.integrate import Checkpoint


def standing(writer: Writer, checkpoint: Checkpoint, whole: bool = True) -> dict[str, Any]:
    """The state, and if ``whole`` the memory of the method and that of the steps."""
    if not whole:
        return {"state": state_text(writer, checkpoint.state), "memory": {}, "memory_name": None, "pace": {}}
    return {
        "state": state_text(writer, checkpoint.state),
        "memory": {name: writer.value(own) for name, own in checkpoint.memory._asdict().items()},
        "memory_name": type(checkpoint.memory).__name__,
        "pace": {name: writer.value(own) for name, own in checkpoint.pace._asdict().items()},
    }


def redundant(system: System) -> list[str]:
    """Names of the joints that repeat each other."""
    return [] if system.redundant is None else [str(joint.name) for joint in system.redundant.joints]


def state_text(writer: Writer, state: State) -> dict[str, Any]:
    """A state."""
    return {name: writer.value(getattr(state, name)) for name in ("t", *ARRAYS)}


def method_text(writer: Writer, method: Any) -> dict[str, Any] | None:
    """A method of the library; None for one of a script, or none."""
    try:
        value = writer.value(method)
    except UnstorableError:
        return None
    return value if isinstance(value, dict) and "class" in value else None
