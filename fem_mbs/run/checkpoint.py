"""Where a run stands: all that it takes to go on as if it had never stopped, in memory or in a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from fem_mbs.contracts import Method, Path, Public, State, checked, named_file
from fem_mbs.errors import ModelError
from fem_mbs.files.replacing import reason, replacing
from fem_mbs.files.store.values import Record, record
from fem_mbs.run.interfaces import StepControl
from fem_mbs.system.states import from_user
from fem_mbs.system.system import System


@dataclass(frozen=True, repr=False)
class Checkpoint(Public):
    """Where a run stands: ``solution.checkpoint``, to be given to :func:`simulate` as ``initial``.

    Attributes
    ----------
    state : State
        The last state.
    memory : NamedTuple
        What the method goes on with.
    control : StepControl
        How the steps were chosen.
    control_memory : NamedTuple
        What the step control goes on with.
    names : tuple of str
        Names of the nodes and internal variables of the model, and of its constraint equations.
    """

    state: State
    memory: Any
    control: StepControl
    control_memory: Any
    names: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Checkpoint at t = {self.state.t:g} s; checkpoint.save('run.npz')"

    @checked
    def save(self, path: Path) -> FilePath:
        """Write it to a file, ``.npz``; returns the path."""
        file = named_file(FilePath(path), ".npz", "Checkpoint.save: path").with_suffix(".npz")
        content = record(
            state=self.state,
            memory=self.memory._asdict(),
            control=self.control,
            pace=self.control_memory._asdict(),
            names=self.names,
        )
        try:
            with replacing(file) as new, open(new, "wb") as opened:
                np.savez(opened, checkpoint=np.frombuffer(content, "u1"))
        except OSError as error:
            raise ModelError(
                f"Checkpoint.save: cannot write path '{file}': {reason(error)}; what was there stays"
            ) from error
        return file

    @classmethod
    @checked
    def load(cls, path: Path, method: Method) -> Checkpoint:
        """Read one that was made by a run with a method."""
        try:
            with np.load(path, allow_pickle=False) as file:
                stored = Record(file["checkpoint"].tobytes())
            state, control, names = stored["state"], stored["control"], stored["names"]
            pace, memory = type(control).Memory(**stored["pace"]), dict(stored["memory"])
        except OSError as error:
            raise ModelError(f"Checkpoint.load: cannot read path '{path}': {reason(error)}") from error
        except Exception as error:
            raise ModelError(
                f"Checkpoint.load: path '{path}' is no file that Checkpoint.save has written, or only a part of one: "
                f"{error!r}"
            ) from error
        kind = type(method)
        if memory.keys() != set(kind.Memory._fields):
            raise ModelError(
                f"Checkpoint.load: '{path}' was made with a method that remembers {', '.join(memory)}, and "
                f"{kind.__name__} remembers {', '.join(kind.Memory._fields) or 'nothing'}; give the method of the run"
            )
        return cls(state, kind.Memory(**memory), control, pace, names)


def check_checkpoint(checkpoint: Checkpoint, system: System, method: Method) -> None:
    """Refuse a checkpoint of another model or of another method."""
    here, there = names_of(system), checkpoint.names
    if here != there:
        other = next((a for a, b in zip(there, here, strict=False) if a != b), "more or fewer parts")
        raise ModelError(
            f"simulate: the checkpoint is one of another model: it has {len(there)} nodes, variables and constraint "
            f"equations, this model {len(here)}; the first that differs there is {other}"
        )
    from_user(system, checkpoint.state, "simulate: initial.state")
    if not isinstance(checkpoint.memory, type(method).Memory):
        raise ModelError(
            f"simulate: the checkpoint has the memory of another method than {type(method).__name__}; give the method "
            "of its run, or start from its state"
        )


def names_of(system: System) -> tuple[str, ...]:
    """What tells a model from another: nodes, their groups and how they are held, internal variables, and equations."""
    nodes, variables, equations = system.source
    held = (f"{node} held in {int((~free).sum())} ways" for node, free in zip(system.nodes, system.free, strict=True))
    return (*nodes, *held, *variables, *equations)
