"""What runs in an FMU: pythonfmu copies this file into it, beside the model."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pythonfmu import Fmi2Causality, Fmi2Initial, Fmi2Slave, Real

from fem_mbs.errors import LOG
from fem_mbs.files.co_simulation import CoSimulation

OFF = 1e-3
"""Share of a step by which the sums of steps here and there may differ."""


@contextmanager
def logged() -> Iterator[None]:
    """What goes wrong is logged: programs that run FMUs show a status alone, unless their own logging is on."""
    try:
        yield
    except Exception as error:
        LOG.error("%s", error)
        raise


class Slave(Fmi2Slave):  # type: ignore[misc]
    """A model that goes on by communication steps."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.modelName = Path(__file__).stem.removesuffix("_of_fem_mbs")
        contents = Path(self.resources, "model.pickle").read_bytes()
        self._run = CoSimulation(*pickle.loads(contents))
        for name, law in self._run.inputs.items():
            self.register_variable(
                Real(
                    name,
                    causality=Fmi2Causality.input,
                    start=law.value,
                    getter=lambda law=law: law.value,
                    setter=lambda value, law=law: setattr(law, "value", value),
                )
            )
        for name in self._run.outputs:
            self.register_variable(
                Real(
                    name,
                    causality=Fmi2Causality.output,
                    initial=Fmi2Initial.calculated,
                    getter=lambda name=name: self._run.output(name),
                )
            )

    def setup_experiment(self, start_time: float, *more: Any) -> None:
        with logged():
            if start_time != 0.0:
                raise ValueError(f"{self.modelName} begins at t = 0, received a start at {start_time} s")

    def do_step(self, current_time: float, step_size: float) -> bool:
        with logged():
            if abs(current_time - self._run.t) > OFF * step_size:
                raise ValueError(
                    f"{self.modelName} stands at t = {self._run.t:g} s, received a step from {current_time} s"
                )
            self._run.advance(step_size)
        return True

    def terminate(self) -> None:
        self._run.end()
