"""The contract of a constraint, whatever closes relative motions of nodes, of positions or of velocities.

And how nodes, elements and joints are taken by their names.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, TypeAlias, TypeVar

import numpy as np

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.contracts.arguments import article
from fem_mbs.contracts.component import Batch, Component, Numbering
from fem_mbs.contracts.element import Element
from fem_mbs.contracts.motion import Motion
from fem_mbs.contracts.node import Node
from fem_mbs.contracts.public import received
from fem_mbs.errors import MissingMethodError, ModelError


class Coordinate(NamedTuple):
    """A motion that a joint leaves free: its name, and whether it is an angle in rad or a length in m."""

    name: str
    angle: bool


class LawOfTime(NamedTuple):
    """A function of time that moves a joint: of how many numbers, None of a single one, in rad where it ``turns``."""

    function: Callable[[float], Any]
    size: int | None = None
    turns: bool = False


class Measured(NamedTuple):
    """Values of coordinates and what their second derivatives follow from."""

    value: Array
    """``(n,)``, angles in (-pi, pi]."""
    gradient: Array
    """Against body increments of the nodes, then internal variables, ``(n, b)``; times velocities it is the rate."""
    context: Any


class CoordinateBatch:
    """One coordinate each of ``n`` joints, or of ``n`` lines between points: all of one kind, as arrays.

    To write one: ``nodes`` (n, p) and ``own`` (n, s), None for no internal variables, say what the coordinates depend
    on;

    1. ``measure(x, R, u)`` measures them for nodes at ``x`` (n, p, 3), ``R`` (n, p, 3, 3) and internal variables ``u``
       (n, s); a batch of one joint also takes many instants of it, along the first axis.
    2. ``second(context)`` returns the derivatives ``(n, b, b)`` of the gradients against increments, ``b = 6p + s``.
    """

    nodes: IntArray
    own: IntArray | None = None
    _last: tuple[Motion, Measured] | None = None
    counts_turns: bool = True
    """Whether angles are the same after whole turns; components of rotation vectors are not."""

    def measure(self, x: Array, R: Array, u: Array) -> Measured:
        """Values and gradients."""
        raise MissingMethodError(f"{type(self).__name__} must define measure(x, R, u)")

    def second(self, context: Any) -> Array:
        """Derivatives of the gradients."""
        raise MissingMethodError(f"{type(self).__name__} must define second(context)")

    def evaluate(self, motion: Motion) -> Measured:
        """Values and gradients in a motion; asked again by others for the same motion, they are not measured again."""
        if self._last is None or self._last[0] is not motion:
            self._last = motion, self._measured(motion)
        return self._last[1]

    def _measured(self, motion: Motion) -> Measured:
        return self.measure(motion.x.take(self.nodes, 0), motion.R.take(self.nodes, 0), self.of_own(motion.u))

    def velocities(self, motion: Motion) -> Array:
        """Body velocities of the nodes, then rates of internal variables, ``(n, b)``."""
        V = motion.V.take(self.nodes, 0).reshape(len(self.nodes), -1)
        return V if self.own is None else np.concatenate([V, motion.udot[self.own]], axis=-1)

    def of_own(self, values: Array) -> Array:
        """The values ``(n, s)`` of internal variables."""
        return np.empty((len(self.nodes), 0)) if self.own is None else values[self.own]


def continued(value: Array, last: Array) -> Array:
    """Angles in (-pi, pi] as the nearest ones to the ``last``, so that turns count."""
    return np.asarray(value + 2.0 * np.pi * np.rint((last - value) / (2.0 * np.pi)))


class Constraint(Component):
    """What a user adds to a model to close relative motions, ``Phi(q, t) = 0`` or ``B(q) v = b(t)``.

    To write one: as :class:`~fem_mbs.contracts.element.Element`, and

    1. ``equations`` names the ``m`` rows of the constraint as a reader of an error message would call them.
    2. ``offset`` is the joint's point in the frame of the last node, where reactions are given.
    3. ``coordinates`` lists the ``c`` motions that it leaves free, if these are of interest;
       ``coordinate_batch(joints, name, number)`` measures one of them for all joints with equal
       ``coordinate_key(name)``. ``driven`` names those that are prescribed.
    4. ``shapes(size)`` says what it looks like, fixed to its nodes; ``picture(number, stations)`` draws what is not.
       ``axes``, (3, 3) each, are drawn at its point, and ``offsets`` tell points that are far from its nodes.

    ``fem_mbs.testing.check_joint`` holds the laws of the contract.
    """

    called: ClassVar[str] = "a joint"
    _internal: ClassVar[str] = "coordinate_key coordinate_batch drives laws_of_time axes offsets"
    equations: tuple[str, ...] = ()
    offsets: tuple[Array, ...] = ()
    """Its points ``(3,)`` in the frames of its last nodes, of a joint that has one on each."""
    axes: tuple[Array, ...] = (np.eye(3),)
    """Its axes ``(3, 3)`` as columns, in the frames of its nodes, that of the last one last."""
    coordinates: tuple[Coordinate, ...] = ()
    driven: tuple[str, ...] = ()

    def drives(self) -> tuple[Constraint, tuple[str, ...]]:
        """A joint, and those of its coordinates that this prescribes."""
        return self, self.driven

    def laws_of_time(self) -> Mapping[str, LawOfTime]:
        """What moves it, by the names of its arguments."""
        return {}

    def coordinate_key(self, name: str) -> Hashable:
        """Joints with equal keys may share a batch of coordinates."""
        return type(self), name

    @classmethod
    def coordinate_batch(cls, joints: Sequence[Any], name: str, number: Numbering) -> CoordinateBatch:
        """Coordinates of one name of all ``joints``, which have equal keys."""
        raise ModelError(f"{joints[0]} has no coordinates")


class Rates(NamedTuple):
    """Partial derivatives against time at constant ``q``."""

    phi: Array
    """``Phi_t`` (m,); of equations of velocities, ``-b'(t)``."""
    gradient: Array
    """``B_t`` (m, b)."""
    second: Array
    """``Phi_tt`` (m,); of equations of velocities, unused."""


class StepEnd(NamedTuple):
    """How a step has ended."""

    before: float
    """Time at which it began."""
    t: float
    R: Array
    """Rotations of all nodes."""
    u: Array
    """Internal variables of all elements and constraints."""
    multipliers: Array
    """Of all constraints."""
    rows: slice
    """Those of the batch that is asked."""


class GeometricStiffnessBlocks(NamedTuple):
    """Which blocks the geometric stiffness of constraints has, where it couples few of their many columns."""

    cells: IntArray
    """The constraint of each block, ``(r,)``."""
    columns: IntArray
    """Its columns, ``(r, c)``."""


class ConstraintBatch(Batch):
    """All constraints of one kind as arrays: ``n`` constraints on ``p`` nodes each, ``m`` equations in all.

    Columns are body increments ``(delta U, delta theta)`` of the nodes, then internal variables, ``b = 6p + s`` in all.

    To write one:

    1. ``nodes`` (n, p) holds the rows of the nodes, ``owners`` (n,) the constraints, ``own`` (n, s) the rows of
       internal variables in ``motion.u`` or None, ``cell`` (m,) the constraint of each equation, in ascending order.
    2. ``length`` (m,) is True for equations in units of length (of velocities: length per time), False for those
       without unit. ``velocity`` (m,) is True for equations ``B(q) v = b(t)`` of velocities that cannot be integrated;
       None stands for none.
    3. ``at(t)`` evaluates what depends on time alone, once a step.
    4. ``evaluate(motion, prescribed)`` returns ``Phi`` (m,), or ``-b`` for equations of velocities, the gradient ``B``
       (m, b) in body increments, and a context for the functions below.
    5. ``second(context)`` returns ``H = DB`` (m, b, b): ``H[i, j, k]`` is the derivative of ``B[i, j]`` against
       increment ``k``.

    From these the engine forms the geometric stiffness, the gradient of the rate and the curvature by the two
    functions below; where a closed form is cheaper, write it.
    """

    owners: Sequence[Constraint]
    cell: IntArray
    length: BoolArray
    velocity: BoolArray | None = None
    geometric_blocks: GeometricStiffnessBlocks | None = None
    """Which of many nodes are coupled, where few are: ``stiffness`` then returns these blocks ``(r, c, c)`` in place of
    ``(n, b, b)``."""
    driven: ClassVar[bool] = False
    """Whether ``rates`` is written."""
    strays = True
    """Whether ``astray`` may say anything."""

    def __init__(self, constraints: Sequence[Any], number: Numbering) -> None:
        super().__init__(constraints, number)
        self.cell = np.repeat(np.arange(len(constraints)), [len(own.equations) for own in constraints])
        self.length = np.ones(len(self.cell), np.bool_)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.driven = cls.rates is not ConstraintBatch.rates

    def check_start(self, motion: Motion) -> None:
        """Refuse, by a :class:`ModelError`, what cannot begin as the model is built."""

    def met(self, motion: Motion) -> Any:
        """Those with which the gradient is that of :meth:`at` where the equations are met; no law is asked.

        Of a file whose laws are functions of a script, reactions are known by these.
        """
        return self.at(motion.t)

    def evaluate(self, motion: Motion, prescribed: Any) -> tuple[Array, Array, Any]:
        """``Phi``, its gradient ``B`` and the context of further derivatives."""
        raise MissingMethodError(f"{type(self).__name__} must define evaluate(motion, prescribed)")

    def second(self, context: Any) -> Array:
        """``H = DB``, ``(m, b, b)``."""
        raise MissingMethodError(f"{type(self).__name__} must define second(context)")

    def astray(self, end: StepEnd) -> str:
        """What is wrong with how a step has ended, though the equations hold."""
        return ""

    def rates(self, context: Any) -> Rates | None:
        """Partial derivatives against time; None if nothing depends on it."""
        return None

    def second_rates(self, motion: Motion, times: Sequence[float]) -> Array:
        """Second derivatives ``(len(times), m)`` against time, of the motion where it stands, however it is driven."""
        at = [replace(motion, t=t) for t in times]
        rates = [self.rates(self.evaluate(own, self.met(own))[2]) for own in at]
        return np.stack([np.zeros(len(self.cell)) if own is None else own.second for own in rates])

    def stiffness(self, context: Any, multipliers: Array) -> Array:
        """Geometric stiffness ``D(B^T lambda) = sum lambda H``, ``(n, b, b)``.

        Part of ``K`` in Bruels, Cardona, Arnold (2012), eq. 34.
        """
        H = multipliers[:, None, None] * self.second(context)
        return np.add.reduceat(H, np.searchsorted(self.cell, np.arange(len(self.nodes))))

    def rate_gradient(self, context: Any, V: Array) -> Array:
        """Derivative ``H V`` (m, b) of ``B V`` at constant velocities ``V`` (n, b).

        This is ``Z(q)(V, .)`` of Arnold, Cardona, Bruels (2015), eq. 17.
        """
        return np.vecmat(V[self.cell], self.second(context))


Part: TypeAlias = Node | Element | Constraint
Kind = TypeVar("Kind", bound=Part)

CALLED: dict[Any, str] = {
    Node: "a node made by model.add_node",
    Element: "an element that was added to the model",
    Constraint: "a joint that was added to the model",
}


def of_kind(part: Any, kind: type[Kind], label: str, hint: str = "") -> Kind:
    """A part, if it is of a kind, or a :class:`ModelError`."""
    if not isinstance(part, kind):
        called = CALLED.get(kind, f"{article(kind.__name__)} that was added to the model")
        raise ModelError(f"{label} must be {called}, or its name, received {received(part, (kind,))}{hint}")
    return part


def _rule(kind: type[Part]) -> Callable[[Any, Any], Any]:
    return lambda value, label: value if isinstance(value, str) else of_kind(value, kind, label)


NodeOrName = Annotated[Node | str, _rule(Node)]
ElementOrName = Annotated[Element | str, _rule(Element)]
JointOrName = Annotated[Constraint | str, lambda value, label: value]
"""Of a query, which knows what else answers it."""

if TYPE_CHECKING:
    NodeLike: TypeAlias = Any
else:
    NodeLike = Node
"""A node of a model or its name, where a constructor takes it: the name is looked up before the constructor runs, which
so gets a node; a type checker lets both pass."""
