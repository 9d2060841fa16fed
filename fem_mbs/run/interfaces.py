"""What the time loop works with: steps one after the other, how long they are, where they stand, what receives them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contact.equations import relative_force
from fem_mbs.contracts import Limit, Method, Public, Report, SmallChange, State, Step, UnilateralBatch, function
from fem_mbs.errors import FemMbsError, ModelError
from fem_mbs.newton import FAILURES
from fem_mbs.solution.history import Accuracy, Outcome
from fem_mbs.solution.solution import Solution
from fem_mbs.system import constraints
from fem_mbs.system.pattern import flat
from fem_mbs.system.states import from_user
from fem_mbs.system.system import Evaluation, System

ALIKE, AHEAD = 1e-9, 1e-3
"""Differences of equations that are rounding, over what makes these up; how far further on they are compared, over the
extent of the model."""

BENT = 0.01
"""What functions leave their tangents by in a step, over the largest force, that is a kink or like one."""

Callback = Annotated[Callable[[State], object], partial(function, of=" of a State")]
"""Called with the state after every accepted step; returns None, or True to end the run."""
Between = Callable[[State, State, float], State]
"""The state at a share of the way from one state to the next."""
Selection = Callable[[State | None, State], Iterable[State]]
"""The states to keep of a step from one state to another; of the start, which has none before it."""


class AcceptedStep(NamedTuple):
    """A step that has passed."""

    state: State
    report: Report
    unstable: int = 0
    """Of a path of equilibria, the number of unstable motions."""


class StepSequence(Protocol):
    """Steps one after the other: of a run in time, or along a path of equilibria.

    ``label`` is the function that was called, ``where`` how messages name a place: "t = {:.6g} s".
    """

    label: str
    where: str
    system: System

    @property
    def failed(self) -> int:
        """Attempts without a solution."""

    @property
    def rejected(self) -> int:
        """Attempts with too large an error."""

    @property
    def error(self) -> Accuracy:
        """Estimated error so far."""

    def advance(self) -> AcceptedStep | None:
        """The next step that passes; None at the end."""

    def end_at(self, event: State) -> State:
        """The state with which steps end at an event within the last of them."""

    def explain(self, failure: FemMbsError) -> FemMbsError:
        """The error that says how far the steps came, and why not further."""

    def warnings(self) -> Sequence[str]:
        """What is to be said at the end."""


class Reached(NamedTuple):
    """States that a run has reached since the last look."""

    states: list[State]
    before: list[State]
    """Up to three before them, of the start on."""
    first: int
    """Number of the step to the first of them."""

    def after(self, count: int) -> list[State]:
        """With so many before them, if there are."""
        return [*self.before[-count:], *self.states]

    def every(self, count: int) -> list[State]:
        """Those of each so many steps."""
        return self.states[-self.first % count :: count]


class StateWatch(Protocol):
    """What looks at the states of a run, beside it."""

    def look(self, reached: Reached) -> None:
        """At further states."""

    def warning(self) -> str:
        """What is to be said when the run has ended; empty for nothing."""


class Plan(NamedTuple):
    """A step to try: its length, and the time at which it ends if that is given beforehand."""

    h: float
    end: float | None


class Kinks(NamedTuple):
    """What is known at the end of a step of a model whose laws have kinks, or may have them."""

    system: System
    step: Step
    branches: Array | None
    """On which side of their kinks laws are, if there are any that tell."""
    before: State
    """Where the step began."""

    def bend(self) -> bool:
        """Whether functions of users do in the step."""
        return any(True for _ in bent(self.system, self.before, self.step.state))

    def speed(self) -> float:
        """Largest speed of a node: over the diameter of the model, or in rad/s."""
        return self.system.largest_of_nodes(self.step.state.v.ravel())

    def errors(self, of_all: float) -> tuple[float, float]:
        """Local errors of the nodes, likewise, and of everything, in any axes; the given one if they are not known."""
        system, local = self.system, self.step.report.local_error
        if local is None:
            return of_all, of_all
        of_nodes = system.largest_of_nodes(local)
        if not system.k:
            return of_nodes, of_nodes
        weight = system.weight_at(self.before.u, self.step.state.u)
        return of_nodes, max(of_nodes, float(np.abs(system.own_of(local * weight)).max()))


def bent(system: System, here: State, there: State) -> Iterator[int]:
    """Batches whose functions of users leave, along the way between two states, the tangents at the first."""
    kinematics, evaluation = system.kinematics, system.evaluate_at(here)
    nodes = kinematics.to_body(here.R, kinematics.relative(here.x, here.R, there.x, there.R))
    d = np.append(nodes, np.zeros(system.k))
    change = SmallChange(d, there.multipliers - here.multipliers, 0.0, BENT, evaluation.scale)
    for k in system.watched:
        own = change._replace(d=d[system.components[k]])
        if system.batches[k].asks and system.batches[k].crosses(evaluation.contexts[k], own):
            yield k


Hardness = Callable[[], float]
"""How far the equations bend within a step: above 1, further than a step of a start can follow."""


class StepControl(Public):
    """How long steps are: like a method it is data and pure functions, and what it remembers is its memory."""

    _internal: ClassVar[str] = (
        "Memory allowed begin restart plan failed judge across_kink creeps beyond_limit limits attempts warning"
    )

    def allowed(self, method: Method) -> float | None:
        """Largest local error of a step that passes, as a method measures it; None if all pass."""
        return None

    @abstractmethod
    def begin(self, method: Method, t: float, t_end: float, branches: Array | None = None) -> tuple[Any, float]:
        """The memory at the start of a run, and the first step; ``branches`` are the sides of kinks there."""

    @abstractmethod
    def restart(self, memory: Any, t: float, jump: float) -> tuple[Any, float]:
        """The memory where the method starts anew, up to the next jump or infinity, and the first step."""

    @abstractmethod
    def plan(self, memory: Any, t: float, t_end: float) -> Plan | None:
        """The next step; None at the end."""

    @abstractmethod
    def failed(self, memory: Any, plan: Plan) -> Any | None:
        """The memory after a step that has no solution; None to give up."""

    @abstractmethod
    def judge(
        self, memory: Any, plan: Plan, error: float | None, kinks: Kinks | None, hardness: Hardness
    ) -> tuple[bool, Any]:
        """Whether a step with this local error passes, and the memory after it; above 1, it is too hard for a start."""

    def across_kink(self, memory: Any) -> bool:
        """Whether the last step was one across a kink, or a part of it, so that its velocities are off, too."""
        return False

    def creeps(self, memory: Any) -> str:
        """What is to be said, and at once, of steps that stay far shorter than they should; empty for nothing."""
        return ""

    @abstractmethod
    def beyond_limit(self, memory: Any, limit: Limit, h: float, rest: float) -> str:
        """What is to be said of a limit of stability, steps of ``h`` s and a rest of the run; empty for nothing."""

    @abstractmethod
    def attempts(self, memory: Any, h: float) -> str:
        """How a step was tried that failed for good, in words."""

    @abstractmethod
    def warning(self, memory: Any) -> str:
        """What is to be said after a run; empty for nothing."""


class Recorder(Protocol):
    """What receives the steps of a run: the memory, or a file."""

    def add(self, step: AcceptedStep) -> None:
        """Keep what is to be kept of a step."""

    def solution(self, outcome: Outcome, steps: StepSequence, events: Sequence[list[State]]) -> Solution:
        """The solution so far, of these steps."""


@dataclass(frozen=True, repr=False)
class Checkpoint(Public):
    """Where a run stands: ``solution.checkpoint``, to be given to :func:`simulate` as ``initial``.

    It is all that a run takes to go on as if it had never stopped; ``solution.save`` keeps it in the file of the run.

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
    system : System, optional
        The model as it was: where another has other numbers, the method starts anew from the state.
    equations : tuple, optional
        What its equations were when the run ended: values that functions read may be others by now.
    """

    state: State
    memory: Any
    control: StepControl
    control_memory: Any
    names: tuple[str, ...]
    system: System | None = None
    equations: Sequence[tuple[Evaluation, Sequence[Array]]] | None = None

    def __repr__(self) -> str:
        return f"Checkpoint at t = {self.state.t:g} s"


def check_checkpoint(checkpoint: Checkpoint, system: System, method: Method) -> None:
    """Refuse a checkpoint of another model or of another method."""
    here, there = names_of(system), checkpoint.names
    if here != there:
        other = next((a for a, b in zip(there, here, strict=False) if a != b), "more or fewer parts")
        raise ModelError(
            f"simulate: the checkpoint is one of another model: it has {len(there)} nodes, variables and constraint "
            f"equations, this model {len(here)}; the first that differs there is {other}. Where parts have come or "
            "gone, start from the state that its run ended with, initial=solution.state(-1)"
        )
    from_user(system, checkpoint.state, "simulate: initial.state")
    if not isinstance(checkpoint.memory, type(method).Memory):
        raise ModelError(
            f"simulate: the checkpoint has the memory of another method than {type(method).__name__}; give the method "
            "of its run, or start from its state"
        )


def has_changed(checkpoint: Checkpoint, system: System) -> bool:
    """Whether the equations of a model at a state, and a little further on, are other ones than before."""
    old = checkpoint.equations
    if old is None and checkpoint.system is not None:  # of a file
        old = equations_about(checkpoint.system, checkpoint.state)
    if old is None:
        return False  # functions of a script are not in its file: nothing is known
    if (new := equations_about(system, checkpoint.state)) is None:
        return True
    for (evaluation, own), (other, others) in zip(old, new, strict=True):
        if not relative_force(system, other, other.force - evaluation.force) <= ALIKE:
            return True
        for one, two in zip(own, others, strict=True):
            if np.abs(one - two).max(initial=0.0) > ALIKE * max(system.length, np.abs(one).max(initial=0.0)):
                return True
    return False


def equations_about(system: System, state: State) -> Sequence[tuple[Evaluation, Sequence[Array]]] | None:
    """The equations at a state, and a little further on, as numbers; None where a function of the script fails.

    Forces, gaps of joints and what their accelerations lack, gaps of contacts and their friction.
    """
    try:
        with system.as_frozen(), np.errstate(over="ignore", invalid="ignore"):  # of a run that has failed
            speed = system.largest_of_nodes(state.v.ravel())
            h = AHEAD / speed if speed else 0.0
            x, R = system.kinematics.retract(state.x, state.R, h * state.v)
            ahead = replace(state, x=x, R=R, u=state.u + np.where(system.order > 0, h * state.udot, 0.0))
            return [_equations(system, at) for at in (state, ahead)]
    except (FemMbsError, *FAILURES):
        return None


def _equations(system: System, state: State) -> tuple[Evaluation, Sequence[Array]]:
    evaluation = system.evaluate_at(state)
    hidden = constraints.acceleration_residual(system, evaluation)
    contacts = [batch.whole for batch in system.batches if isinstance(batch, UnilateralBatch)]
    gaps = flat([np.minimum(own.gaps(evaluation.motion), system.length) for own in contacts])
    numbers = evaluation._replace(contexts=[], gradients=[], constraint_contexts=[], phi=[])
    return numbers, (evaluation.constraint, hidden, gaps, flat([own.friction for own in contacts]))


def names_of(system: System) -> tuple[str, ...]:
    """What tells a model from another: nodes, their groups and how they are held, internal variables, and equations."""
    nodes, variables, equations = system.source
    ways = (~system.free).sum(axis=1).tolist()
    held = (f"{node} held in {count} ways" for node, count in zip(system.nodes, ways, strict=True))
    return (*nodes, *held, *variables, *equations)
