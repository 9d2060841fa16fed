"""How nodes and internal variables move: what an element sees, the state that users hold, and events of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType, MethodType
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts.arguments import LARGEST, function, name_of, shown
from fem_mbs.contracts.checked import checked
from fem_mbs.contracts.public import Public
from fem_mbs.errors import ModelError


def none() -> Array:
    """No internal variables."""
    return np.empty(0)


@dataclass(slots=True)
class Motion:
    """Motion of all nodes and internal variables at one instant.

    Attributes
    ----------
    t : float
        Time in s.
    x : (n, 3)
        Positions, world frame; from a point of the model, the ground included, where the world's origin is far away.
    R : (n, 3, 3)
        Rotations, body to world.
    V : (n, 6)
        Velocity of the node point, then angular velocity, both in the body frame.
    A : (n, 6)
        Acceleration of the node point, then angular acceleration, both in the body frame.
    gravity : (3,)
        Acceleration of gravity, world frame.
    u, udot, uddot : (k,)
        Internal variables of elements and joints, and their time derivatives as far as they have any.
    multipliers : (m,)
        Multipliers of all joints, for elements that depend on them (``ElementBatch.reads``).
    momentum : Motion or None
        Within a step of the default formulation, the motion with the velocities of the equation of momentum: ``V`` and
        ``udot`` are then the rates of the configuration, which forces other than those of inertia go by
        (docs/theory.md, "Constraints on velocities"); inertia forces and joints by ``motion.momentum or motion``.
    """

    t: float
    x: Array
    R: Array
    V: Array
    A: Array
    gravity: Array
    u: Array = field(default_factory=none)
    udot: Array = field(default_factory=none)
    uddot: Array = field(default_factory=none)
    multipliers: Array = field(default_factory=none)
    momentum: Motion | None = None


class RateSensitivities(NamedTuple):
    """How rates follow increments: ``nodes`` (n, 6, 6) of body velocities or accelerations, ``own`` (k,) of variables.

    The lower left blocks of ``nodes`` are zero: angular velocities depend on rotation increments alone.
    """

    nodes: Array
    own: Array = np.empty(0)

    def after(self, matrix: Array, nodes: IntArray, own: IntArray | None = None) -> Array:
        """``matrix`` (n, r, 6p + s) times the derivatives of ``nodes`` (n, p) and internal variables ``own`` (n, s)."""
        n, p = nodes.shape
        blocks = matrix[..., : 6 * p].reshape(n, matrix.shape[-2], p, 6).swapaxes(1, 2) @ self.nodes.take(nodes, 0)
        result = blocks.swapaxes(1, 2).reshape(n, matrix.shape[-2], 6 * p)
        if own is None:
            return result
        return np.concatenate([result, matrix[..., 6 * p :] * self.own[own][:, None]], axis=-1)


ARRAYS = ("x", "R", "v", "vdot", "multipliers", "u", "udot", "uddot")
"""The arrays of a state."""


class Source(NamedTuple):
    """What a state belongs to: names of nodes with their groups, of internal variables and of constraint equations."""

    nodes: tuple[str, ...]
    internal_variables: tuple[str, ...]
    equations: tuple[str, ...]


@dataclass(frozen=True, slots=True, repr=False)
class State(Public):
    """State of a system of ``n`` nodes, ``k`` internal variables of elements and ``m`` constraint equations.

    Attributes
    ----------
    t : float
        Time in s.
    x : (n, 3)
        Positions, world frame.
    R : (n, 3, 3)
        Rotations, body to world.
    v : (n, 6)
        Left-trivialised velocities, translation first: world frame on R3xSO3, body frame on SE(3); the angular
        velocity is in the body frame on both.
    vdot : (n, 6)
        Their time derivatives.
    multipliers : (m,)
        Lagrange multipliers, with ``M vdot + g + B^T multipliers = 0``.
    u, udot, uddot : (k,)
        Internal variables and their time derivatives; zero beyond the order of their equation.
    source : Source or None
        What model it is a state of, where a run made it.
    turns : function or None
        Whole turns ``(c,)`` that coordinates of joints have made up to it, by the names of the joints, where a solution
        can tell: what goes on from it counts on.
    before : State or None
        Inside a run, where something jumps: the end of the step that led there, just before the jump.
    """

    _internal = "rates turns before"

    t: float
    x: Array
    R: Array
    v: Array
    vdot: Array
    multipliers: Array
    u: Array = field(default_factory=none)
    udot: Array = field(default_factory=none)
    uddot: Array = field(default_factory=none)
    source: Source | None = field(default=None, repr=False, compare=False)
    turns: Callable[[], Mapping[Any, Array]] | None = field(default=None, repr=False, compare=False)
    before: State | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        own = f", {len(self.u)} internal variables" if len(self.u) else ""
        return f"State at t = {self.t:g} s: {len(self.x)} nodes, {len(self.multipliers)} multipliers{own}"

    @property
    def rates(self) -> Array:
        """Velocities of the nodes, then rates of internal variables, ``(6n + k,)``."""
        return np.append(self.v, self.udot)

    def at(self, t: float) -> State:
        """The same at another time."""
        own = self.u, self.udot, self.uddot
        return State(t, self.x, self.R, self.v, self.vdot, self.multipliers, *own, self.source, self.turns)


EventFunction = Annotated[
    Callable[[State], float], partial(function, of=" of a State, the name of a channel, or a list of these")
]


def _count(value: object, label: object) -> int:
    if not isinstance(value, int | np.integer | np.bool_) or not 0 <= value <= LARGEST:
        raise ModelError(f"{label} must be True, False or a number of events, received {shown(value)}")
    return int(value)


@checked
@dataclass(frozen=True)
class Event:
    """What a run watches, in the style of :func:`scipy.integrate.solve_ivp`.

    A plain function becomes one with the attributes ``terminal``, ``direction`` and ``optional`` that it was given.

    Parameters
    ----------
    function : function of a State, or str
        An event is where it passes through zero, or the channel of the solution of this name, as "tip.position.z".
    terminal : bool or int
        Whether the run ends there, or the number of events after which it does.
    direction : float
        Positive: only from negative to positive; negative: the other way.
    optional : bool
        Whether the run may end without a change of sign.
    name : str
        How messages call it.
    """

    function: EventFunction | str
    terminal: Annotated[bool | int, _count] = False
    direction: float = 0.0
    optional: bool = False
    name: str = ""

    @classmethod
    def of(cls, given: EventLike, label: str) -> tuple[Event, str]:
        """What a user gave as an event, and what messages about it begin with."""
        if isinstance(given, Event):
            event = given
        elif isinstance(given, str):
            event = cls(given)
        else:
            marks = {key: value for key, value in _attributes(given).items() if key in MARKS}
            event = cls(given, **marks, name=name_of(given))
        function = event.function
        called = event.name or (function if isinstance(function, str) else name_of(function))
        return event, f"{label}: event {called!r}"


EventLike: TypeAlias = Event | EventFunction | str
MARKS = ("terminal", "direction", "optional")


def _attributes(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Attributes that a function was given, or that an object that can be called has, with those of its class."""
    if isinstance(function, MethodType):
        function = function.__func__
    if isinstance(function, FunctionType | partial):
        return vars(function)
    of_class = {name: value for kind in reversed(type(function).__mro__) for name, value in vars(kind).items()}
    return of_class | (vars(function) if type(function).__dictoffset__ else {})
