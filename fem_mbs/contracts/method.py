"""The contract of a method of time integration.

A method is data and two pure functions. ``init`` makes what it remembers, ``step`` takes a state and this memory and
returns new ones; the same call twice gives the same answer. The driver knows nothing else of a method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from types import UnionType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts.arguments import LARGEST, number, shown
from fem_mbs.contracts.motion import ARRAYS, State
from fem_mbs.contracts.public import Public, instance
from fem_mbs.errors import MissingMethodError, ModelError, MotionError

if TYPE_CHECKING:
    from fem_mbs.system.system import System


class StepErrorEstimate(NamedTuple):
    """How far a step leads the nodes astray: lengths in m and angles in rad, each of the worst node.

    Attributes
    ----------
    lasting : (2,)
        What is left of the local error after joints and stiffness: adds up over the steps.
    unresolved : (2,)
        Size of oscillations that are too fast for the step.
    sudden : bool
        Whether it tells nothing of the steps around.
    missed : (n, 2, 3) or None
        Changes of velocities and angular velocities, in the world, that forces over time would have made which come and
        go between the ends of the step.
    """

    lasting: Array
    unresolved: Array
    sudden: bool = False
    missed: Array | None = None


@dataclass
class Report:
    """How a step went."""

    iterations: int = 0
    evaluations: int = 0
    factorizations: int = 0
    history: list[float] = field(default_factory=list)
    """Relative residual after each iteration."""
    error_estimate: StepErrorEstimate | None = None
    """How far the step led the nodes astray; None where the method did not look: some steps suffice."""
    branches: Array | None = None
    """On which side of their kinks laws are at the end, from ``system.branches``; None where there are none."""
    local_error: Array | None = None
    """Where there may be kinks, the local error ``(N,)`` of the step in group components."""
    speeds: Sequence[float] | None = None
    """Largest velocity and angular velocity of a node at the end, and the largest changes of these, where known."""
    end_checked: bool = False
    """Whether the method has asked ``system.check_end`` itself."""


class Limit(NamedTuple):
    """What limits the steps of an explicit method.

    Attributes
    ----------
    step : float
        Longest stable step in s, about.
    rate : float
        Frequency in rad/s, or rate of decay in 1/s, of the fastest small motion.
    moving : float
        The rate in 1/s at which things move: speeds against the extent of the model, and angular velocities.
    """

    step: float
    rate: float
    moving: float

    def __str__(self) -> str:
        return (
            f"about {self.step:.2g} s, for a motion of {self.rate:.3g} rad/s or 1/s ({self.rate / (2 * np.pi):.3g} Hz)"
        )


class FrozenModel(Public):
    """Base of :class:`fem_mbs.System`, what a method sees of a model."""

    x0: Array
    __setattr__ = object.__setattr__  # type: ignore[assignment]  # what a step sets is not looked at


class Step(NamedTuple):
    """What a step returns.

    Attributes
    ----------
    state : State
        The state at the end.
    memory : NamedTuple
        What the method goes on with: numbers, arrays, None, and tuples of these, so that it can be kept in
        a file.
    report : Report
        Counts of iterations, evaluations and factorisations, and how far the step led the nodes astray.
    error : float or None
        Size of the local error: lengths over the extent of the model, angles in rad, internal variables over their
        size; ``system.weight`` makes these of an increment. None from a method without an estimate.
    """

    state: State
    memory: Any
    report: Report
    error: float | None = None


SHORTEST = 1e-20
"""Step in s whose square is still a number beside others."""


OFF = 1e-6
"""Share of a step by which it may end beside where it was to."""


class Nothing(NamedTuple):
    """The memory of a one-step method."""


class Method(Public):
    """A method of time integration.

    To write one:

    1. ``order`` is the order of its errors in the step. ``error_order``, if it estimates its local errors, is the power
       of the step with which these fall. Steps that follow a tolerance stay as they are for changes by factors below
       ``deadband``, because a change costs something; 1 where it does not. If Newton's method is ``quadratic``, its
       corrections tell how far equations bend in a step; so they do not with a simplified matrix.
    2. ``Memory`` is the NamedTuple that ``init`` and ``step`` return as memory.
    3. ``init(system, state, h)`` returns the memory for a first step of about ``h`` from a consistent state.
    4. ``step(system, state, h, memory)`` returns a :class:`Step`. ``h`` may differ from call to call; what a change of
       the step does to the memory is the business of the method. It ends with ``system.accept(state)``, which updates
       internal variables of kind "history", and raises one of ``fem_mbs.newton.FAILURES`` where a shorter step may have
       a solution.
    5. ``check(system)`` refuses models that it cannot integrate.

    All else is optional, and says itself what it is.

    ``fem_mbs.testing.check_method`` holds the laws of the contract.
    """

    called: ClassVar[str] = "a Method, such as GeneralizedAlpha() or RungeKuttaMuntheKaas('RK4')"
    _internal: ClassVar[str] = (
        "Memory after_jump between advice doubt within limit inner_step error_order deadband quadratic invariant "
        "turning levels impacts settle warning carrying missing carried"
    )

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "step" in vars(cls):
            cls.inner_step = vars(cls)["step"]  # type: ignore[method-assign]
        for name in ("init", "step"):
            if name in vars(cls):
                setattr(cls, name, _guarded(name, vars(cls)[name]))

    order: ClassVar[int]
    error_order: ClassVar[int | None] = None
    deadband: ClassVar[float] = 1.2
    quadratic: ClassVar[bool] = True
    invariant: ClassVar[bool] = True
    """False of coordinates that depend on the axes of the world or of the bodies."""
    turning: ClassVar[float] = 0.0
    """Nodes on R3xSO3 on a circle, which turn by ``w h`` in a step, have velocities too large by so many times
    ``(w h)^2``, and the right angular velocities."""
    impacts: ClassVar[bool] = False
    """Whether it finds the forces of rigid contacts."""
    levels: ClassVar[tuple[str, ...]] = ()
    """Levels on which joints are closed at the end of a step, to the tolerance of Newton's method or to rounding:
    "position", "velocity", "acceleration"."""
    Memory: ClassVar[Any]

    def init(self, system: System, state: State, h: float) -> Any:
        """The memory for a first step of about ``h`` s from a consistent state."""
        raise MissingMethodError(f"{type(self).__name__} must define init(system, state, h)")

    def warning(self, system: System, state: State, memory: Any) -> str:
        """What was wrong of a run that has come to a state; empty if nothing was."""
        return ""

    def settle(self, system: System, state: State) -> State:
        """A consistent state with the forces of contacts, after impacts that are due: where a run begins."""
        return state

    def after_jump(self, system: System, before: State, state: State, h: float, memory: Any) -> Any:
        """The memory for a first step of about ``h`` s after accelerations have jumped from those of a state before."""
        return self.init(system, state, h)

    def step(self, system: System, state: State, h: float, memory: Any) -> Step:
        """A step of ``h`` s."""
        raise MissingMethodError(f"{type(self).__name__} must define step(system, state, h, memory)")

    def inner_step(self, system: System, state: State, h: float, memory: Any) -> Step:
        """What ``step`` of the class is beneath its checks: for the time loop, which has made the arguments itself."""
        raise NotImplementedError

    def check(self, system: System) -> None:
        """Raise :class:`ModelError` for a model that the method cannot integrate."""

    def within(self, allowed: float) -> Method:
        """The method as it suffices where local errors up to ``allowed`` pass."""
        return self

    def doubt(self, system: System, state: State, h: float) -> str:
        """Why it may have become unstable where a step of ``h`` has led to, if it leaves velocities open; or empty."""
        return ""

    def between(self, system: System, first: State, second: State, share: float) -> State:
        """The state at a share from 0 to 1 of the step from one state to the next: of third order or better."""
        return system.interpolate(first, second, share)

    def limit(self, system: System, state: State, h: float) -> Limit | None:
        """What stability allows of steps of about ``h`` s from a state, asked seldom; None without such a limit."""
        return None

    def carrying(self, system: System, state: State, memory: Any) -> Any:
        """The memory with which steps from a state carry the error of the run along."""
        return memory

    def missing(self, system: System, state: State, memory: Any, velocities: Array) -> Any:
        """The memory after a step to a state has missed so much of velocities ``(n, 2, 3)``, along the world's axes."""
        return memory

    def carried(self, system: System, state: State, memory: Any) -> Array | None:
        """Length in m and angle in rad ``(2,)`` of the largest error that was carried along, or None."""
        return None

    def advice(self, state: State, h: float) -> str:
        """What may help where a step fails."""
        return "try a smaller step, more elements where the motion is large, or look at loads that jump"

    def __str__(self) -> str:
        """What messages call it."""
        return type(self).__name__


def _guarded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """``init`` or ``step``, which also users call: with states as they see them (see ``system/states.py``)."""

    @wraps(function)
    def guarded(method: Method, system: System, state: State, h: float, memory: Any = None) -> Any:
        label = f"{type(method).__name__}.{name}"
        inner = _taken(system, state, h, label)
        if name == "init":
            return _memory(function(method, *inner), method, f"{label} must return its memory")
        _memory(memory, method, f"{label}: memory must be what init or the last step returned")
        result = function(method, *inner, memory)
        if state.source is None:
            return result
        return check_step(result, method, *inner[1:])._replace(state=system.to_user(result.state))

    return guarded


def _memory(memory: Any, method: Method, label: str) -> Any:
    """What a method goes on with, or a :class:`ModelError`."""
    if not isinstance(memory, method.Memory) or not isinstance(memory, tuple):
        raise ModelError(f"{label}, the NamedTuple {method.Memory.__name__}, received {shown(memory)}")
    return memory


def remembered(kind: Any, values: Mapping[str, Any]) -> Any:
    """What a method goes on with, of values by name as a file has them: plain tuples in place of its NamedTuples."""
    try:
        hints = get_type_hints(kind)
    except NameError:  # of a class within a function
        hints = {}
    return kind(**{name: _part(hints.get(name), own) for name, own in values.items()})


def _part(hint: Any, value: Any) -> Any:
    """A part that is a NamedTuple as one; what earlier files had in place of it is none."""
    for kind in get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,):
        if isinstance(kind, type) and issubclass(kind, tuple) and kind is not tuple:
            names = vars(kind)["_fields"]
            return remembered(kind, dict(zip(names, value, strict=False))) if isinstance(value, tuple) else None
    return value


def _taken(system: System, state: State, h: float, label: str) -> tuple[Any, State, float]:
    """The arguments; states that know their model are those that users have."""
    if not (isinstance(system, FrozenModel) and isinstance(state, State)):
        instance(system, FrozenModel, f"{label}: system")
        instance(state, State, f"{label}: state")
    if type(h) is not float or not SHORTEST <= h <= LARGEST:
        h = number(h, f"{label}: h", positive=True, low=SHORTEST)
    if state.source is None and np.shape(state.x) == system.x0.shape:
        return system, state, h
    return system, system.from_user(state, f"{label}: state"), h


def check_step(step: object, method: Method, before: State, h: float) -> Step:
    """What a method returned, if it is a step of ``h`` s from a state; the driver asks once, or of methods of users."""
    label = f"{type(method).__name__}.step"
    if not (isinstance(step, Step) and isinstance(step.state, State) and isinstance(step.report, Report)):
        raise ModelError(f"{label} must return Step(state, memory, report, error), received {shown(step)}")
    _memory(step.memory, method, f"{label} must return its memory")
    end = before.t + h
    if not abs(step.state.t - end) <= OFF * h + np.spacing(abs(end)):
        raise ModelError(f"{label} must return the state at t = {end:.9g} s, received one at t = {step.state.t!r} s")
    for name in ARRAYS:
        values, expected = getattr(step.state, name), np.shape(getattr(before, name))
        if np.shape(values) != expected or np.asarray(values).dtype.kind not in "iuf":
            raise ModelError(f"{label}: {name} must be numbers of the shape {expected}, received {shown(values)}")
        if not np.isfinite(values).all():
            raise MotionError(f"{label}: {name} has become {values[~np.isfinite(values)][0]} at t = {end:.6g} s")
    return step


def unconstrained(method: Method, system: System) -> None:
    """Refuse joints and algebraic variables, for methods that integrate ordinary differential equations."""
    name = type(method).__name__
    if system.m:
        joint, equation = system.constraint_owner[0]
        raise ModelError(
            f"{name} is for models without constraints, and {joint} closes {equation} ({system.m} equations in all); "
            "take GeneralizedAlpha, or springs in place of joints"
        )
    for (owner, variable), order in zip(system.internal_variables, system.order, strict=True):
        if order == 0:
            raise ModelError(
                f"{name} cannot integrate the algebraic variable '{variable.name}' of {owner}; take GeneralizedAlpha"
            )
