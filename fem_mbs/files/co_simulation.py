"""A run that another program leads: inputs are set, the run goes on by a communication step, outputs are read.

The program may be a script, or one of the FMI standard, for which a model becomes an FMU, a unit for co-simulation.
"""

from __future__ import annotations

import math
import pickle
import re
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from copy import copy
from dataclasses import replace
from pathlib import Path as FilePath
from shutil import copy as copy_file
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha
from fem_mbs.compiled import accelerate
from fem_mbs.contracts import Combines, Method, Name, Path, Public, Seconds, Signal, State, checked, number, shown
from fem_mbs.contracts.arguments import one_of, text, writable
from fem_mbs.contracts.signal import signal
from fem_mbs.elements.laws.table import ExternalInput
from fem_mbs.errors import LOG, ModelError, needed
from fem_mbs.initial.state_point import refuse_contacts
from fem_mbs.model.description import held_by
from fem_mbs.model.model import Model
from fem_mbs.newton import FAILURES
from fem_mbs.run.fixed_step import FixedStep
from fem_mbs.run.simulate import start
from fem_mbs.run.time_loop import TimeIntegration, Watches, refuse_changes
from fem_mbs.solution.history import NOT_ESTIMATED, Accuracy
from fem_mbs.solution.turns import Counted, TurnCounter
from fem_mbs.system.states import from_user
from fem_mbs.system.system import System

ROUNDING = 1e-6
"""A rest of this share of a step is no step."""
FIRST_LOOK, LATER = 16, 1.2
"""Steps, with inputs communication steps, after which is said what a run would say, and again after so many times as
many: an error of the order of the motion is nothing in the first ones, from rest."""


@checked
class CoSimulation(Public):
    """A model under way, which goes on from one communication point to the next.

    An input is set by its ``value`` and goes there linearly over the communication step that follows. Where one changes
    its way, accelerations are solved for anew, as at a jump; else it goes on as :func:`simulate` does. Results are of
    first order in the communication step.

    What a run says at its end is said once, after as many steps as tell of it, or at the :meth:`end`.

    Parameters
    ----------
    model : Model
        What to integrate.
    inputs : dict
        Names, each with an ``ExternalInput`` that the model has as a load, a signal, or the reference of a motor.
    outputs : dict
        Names, each with a sensor, a block, its name, or a sum of signals.
    step : float
        Largest step of the integration in s; communication steps are divided into equal ones.
    method : Method, optional
        By default ``GeneralizedAlpha(rho_inf=0.9)``.

    Raises
    ------
    ModelError
        If the model, an input or an output is not valid.
    """

    remembers = False

    def __init__(
        self,
        model: Model,
        inputs: Mapping[str, Any],
        outputs: Mapping[str, Any],
        step: Seconds,
        method: Method | None = None,
    ) -> None:
        for name, law in inputs.items():
            if not isinstance(law, ExternalInput):
                raise ModelError(f"CoSimulation: inputs[{name!r}] must be an ExternalInput, received {shown(law)}")
        self.inputs, self.step = dict(inputs), step
        parts = [*model.elements, *model.constraints]
        ends, seen = set(map(id, parts)), set[int]()
        held = {id(own) for part in parts for value in vars(part).values() for own in held_by(value, ends, seen)}
        apart = [name for name, law in inputs.items() if id(law) not in held]
        if apart:
            raise ModelError(
                f"CoSimulation: inputs[{apart[0]!r}] acts on nothing in the model; give the ExternalInput to a load, a "
                "motor, a drive or a signal of it"
            )
        self._system, self._method = System(model), method or GeneralizedAlpha()
        self.outputs: dict[str, Signal] = {}
        for name, given in outputs.items():
            label = f"CoSimulation: outputs[{name!r}]"
            source = self._system.find(given, label)
            if not isinstance(source, Combines):
                raise ModelError(f"{label} must be a sensor, a block or a sum of signals, received {shown(source)}")
            self.outputs[name] = signal(source, label)
        self._method.check(self._system)
        refuse_contacts(self._system, "CoSimulation", "give stops a stiffness")
        accelerate(self._system)
        self._passed: tuple[TimeIntegration, TurnCounter] | None = None
        self._t: list[float] = []
        self._x: dict[str, list[float]] = {}
        """What the inputs were at the communication points ``_t``."""
        self._look, self._said = FIRST_LOOK, set[str]()
        self._watches: Watches

    @property
    def state(self) -> State:
        """Where it stands; at first the consistent state at t = 0."""
        state, turns = self._now()
        known = {joint.name: own for joint, own in turns.last().items()}
        return replace(self._system.to_user(state), turns=Counted(known))

    @property
    def t(self) -> float:
        """Time in s up to which it has gone."""
        return self._t[-1] if self._t else 0.0

    @property
    def error(self) -> Accuracy:
        """Estimated error up to here, as ``solution.stats.error`` of a run (docs/accuracy.md).

        With what inputs miss that arrive late, as those do that are set to their values at the begin of a communication
        step, where the method carries errors along. What other programs make of it is not known here.
        """
        return NOT_ESTIMATED if self._passed is None else self._passed[0].error

    @checked
    def advance(self, duration: Seconds) -> None:
        """Go on by a communication step, ``duration`` in s.

        Raises
        ------
        FemMbsError
            If a step fails for good.
        """
        label = "CoSimulation: inputs"
        refuse_changes(self._system, "CoSimulation: changed since it was made", "make one of the model as it is now")
        set_to = {name: number(law.value, f"{label}[{name!r}].value") for name, law in self.inputs.items()}
        begin, turns = self.t, self._now()[1]
        control = FixedStep(min(self.step, duration))
        t = [*(self._t or [begin]), begin + duration]
        x = {name: [*self._x.get(name, [value]), value] for name, value in set_to.items()}
        with self._leading(t, x):
            if self._passed is None:
                control = FixedStep(duration / max(1, math.ceil(duration / self.step - ROUNDING)))
                run = TimeIntegration(self._system, self._method, control, t[-1], None)
                self._watches = Watches(run)
            else:
                run = copy(self._passed[0])
                run.memory = self._with_lateness(run, set_to)
                ways = [np.diff(own[-3:]) / np.diff(t[-3:]) for own in x.values()]
                run.go_on(t[-1], control, any(before != after for before, after in ways))
            try:
                passed = list(iter(run.advance, None))
            except FAILURES as failure:
                raise run.explain(failure) from failure.__cause__
            for step in passed:
                turns.add([], step.state)
            self._watches.reached += [step.state for step in passed]
            self._watches.look()
            self._passed, self._t, self._x = (run, turns), t, x
            if self._passed_steps(run) >= self._look:
                self._say(run)

    @checked
    def end(self) -> None:
        """Say what a run says at its end, as far as it was not said; an FMU does so when it is terminated."""
        if self._passed is not None:
            run, _ = self._passed
            LOG.info("CoSimulation: up to t = %.6g s in %d steps: %s", self.t, run.steps, run.error)
            self._say(run)

    def _with_lateness(self, run: TimeIntegration, set_to: Mapping[str, float]) -> Any:
        """What the method remembers, with errors by inputs that were late in the last communication step.

        One step as long, of Euler's implicit method, which knows of stiffness and drives, is led as inputs have gone,
        another one as they should have, a communication step earlier.
        """
        memory, due = run.memory, {name: [*own[1:], set_to[name]] for name, own in self._x.items()}
        if not isinstance(self._method, GeneralizedAlpha) or memory.errors is None or due == self._x:
            return memory
        h = self._t[-1] - self._t[-2]
        euler, begun = self._method.euler(self._system, run.state, h)
        with suppress(*FAILURES):
            ends = []
            for x in (self._x, due):
                with self._leading((np.array(self._t) + h).tolist(), x):
                    ends.append(euler.trial(self._system, run.state, h, begun).rates)
            missed = np.where(self._system.orders > 0, ends[0] - ends[1], 0.0)
            values = memory.errors.values.copy()
            values[:2] += np.outer((h, 1.0), missed)
            memory = memory._replace(errors=memory.errors._replace(values=values))
        return memory

    def _passed_steps(self, run: TimeIntegration) -> int:
        return len(self._t) - 1 if self._x else run.steps

    def _say(self, run: TimeIntegration) -> None:
        """What a run would say here, once each, and when next."""
        self._look = math.ceil(LATER * self._passed_steps(run))
        for said in filter(None, (*run.warnings(), *self._watches.warnings())):
            if (kind := re.sub("[-+.e0-9]+", "", said)) not in self._said:
                self._said.add(kind)
                LOG.warning("CoSimulation: up to t = %.6g s: %s", self.t, said)

    @checked
    def output(self, name: Name) -> float:
        """The value of an output now."""
        name = one_of(name, self.outputs, "CoSimulation.output: name")
        state, _ = self._now()
        with self._leading(self._t, self._x):
            values = self.outputs[name].signal_values(np.array([state.t]), state.u[None], self._system.number)
        return float(values[0])

    def _now(self) -> tuple[State, TurnCounter]:
        """Where it stands, in the arrays of the system, and what counts whole turns up to there."""
        if self._passed is None:  # with the inputs as they are now
            state = from_user(self._system, start(self._system, self._method), "CoSimulation")
            (turns := TurnCounter(self._system, state)).add([], state)
            return state, turns
        run, turns = self._passed
        return run.state, turns

    def _leading(self, t: list[float], x: Mapping[str, list[float]]) -> ExitStack:
        """Inputs that go through values at times, those of this run alone."""
        stack = ExitStack()
        for name, values in x.items():
            stack.enter_context(self.inputs[name].leading(t, values))
        return stack


def _contents(model: Model, inputs: dict[str, Any], outputs: dict[str, Any], *run: Any) -> bytes:
    """What travels in an FMU."""
    for name in (*inputs, *outputs):
        if text(name, "export_fmu: name of a variable") and name in inputs and name in outputs:
            raise ModelError(f"export_fmu: {name!r} is an input and an output; variables of an FMU have one name each")
    try:
        return pickle.dumps((model, inputs, outputs, *run))
    except Exception as error:
        raise ModelError(
            f"export_fmu: the model cannot travel to another program: {error}; write functions of time as laws "
            "(Ramp, Table, ...) or with def at the top of a file that is installed there"
        ) from error


CONTENTS = "model.pickle"
SLAVE = FilePath(__file__).with_name("fmu_slave.py")


@checked
def export_fmu(
    path: Path,
    model: Model,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    step: Seconds,
    *,
    method: Method | None = None,
) -> FilePath:
    """Write a model as an FMU for co-simulation (FMI 2.0).

    It runs where Python has this library and ``pythonfmu``, on Linux and Windows, and begins at t = 0. Needs
    ``pip install fem_mbs[fmi]``.

    Parameters
    ----------
    path : str or Path
        The file, ``.fmu``.
    model : Model
        What to run, without lambdas: it is pickled.
    inputs : dict
        Names, each with an ``ExternalInput``, as of :class:`CoSimulation`.
    outputs : dict
        Other names, each with a sensor, a block, its name, or a sum of signals.
    step : float
        Largest step of the integration in s.
    method : Method, optional
        By default ``GeneralizedAlpha(rho_inf=0.9)``.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ModelError
        If an argument or the model is not valid, or cannot be pickled.
    MissingPackageError
        If ``pythonfmu`` is not installed.
    """
    file = FilePath(path)
    if file.suffix != ".fmu":
        raise ModelError(f"export_fmu: path must end with .fmu, received '{file}'")
    writable(file, "export_fmu: ")
    CoSimulation(model, inputs, outputs, step, method).state  # noqa: B018 - refuses what cannot be run
    contents = _contents(model, dict(inputs), dict(outputs), step, method)
    _build(file.absolute(), contents)
    return file


def _build(file: FilePath, contents: bytes) -> None:
    builder = needed("pythonfmu.builder", "export_fmu", "fmi").FmuBuilder
    with TemporaryDirectory() as folder:
        # imported by its name, which is none of a module there may be
        script = FilePath(
            copy_file(SLAVE, FilePath(folder) / f"{re.sub('[^0-9A-Za-z_]', '_', file.stem)}_of_fem_mbs.py")
        )
        (stored := FilePath(folder) / CONTENTS).write_bytes(contents)
        builder.build_FMU(script, file, [stored], canBeInstantiatedOnlyOncePerProcess=False)
