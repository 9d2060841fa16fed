"""Forces along coordinates: what any law of a coordinate, its rate and states of its own puts on the nodes.

A coordinate ``q`` with gradient ``G`` and second derivative ``H`` against body increments has the rate ``G V``. What
resists it, ``N``, puts ``G^T N`` on the nodes (docs/theory.md, "Forces along coordinates").
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Element, ElementBatch, ModelContext, Motion, SmallChange, checked, instance, shown
from fem_mbs.contracts.component import InternalVariable, Numbering, own_rows
from fem_mbs.contracts.constraint import Constraint, CoordinateBatch, Measured, continued
from fem_mbs.contracts.time_law import in_degrees
from fem_mbs.errors import MissingMethodError, ModelError


def check_joint(value: object, label: object) -> Constraint:
    """A joint that has coordinates, or a :class:`ModelError` that begins with ``label``."""
    joint: Constraint = instance(value, Constraint, label)
    if not joint.coordinates:
        raise ModelError(f"{label} must be a joint that leaves a motion free which it measures; {joint} does not")
    return joint


if TYPE_CHECKING:
    JointLike: TypeAlias = Any
else:
    JointLike = Annotated[Constraint, check_joint]
"""A joint with coordinates, or its name, as a constructor takes it: see ``NodeLike``."""


TWICE = 2.0
"""So far as changes lead to first order, they may lead in truth."""


class Law(NamedTuple):
    """What a law makes of coordinates, rates and ``s`` states: what resists, then minus the rates states should have.

    All have shape ``(n, 1 + s)``, ``by_state`` ``(n, 1 + s, s)``.
    """

    value: Array
    by_length: Array
    by_speed: Array
    by_state: Array
    kinks: Array | None = None
    """What changes its sign at each kink ``(j, n)``, of a law that is ``kinked``."""

    @classmethod
    def without_states(cls, value: Array, by_length: Array, by_speed: Array, kinks: Array | None = None) -> Law:
        """One of coordinates and rates alone, all ``(n,)`` but the kinks."""
        return cls(value[:, None], by_length[:, None], by_speed[:, None], np.zeros((len(value), 1, 0)), kinks)


class Acting(NamedTuple):
    """Coordinates in a motion and what a law makes of them."""

    measured: Measured
    q: Array
    """The coordinates; angles with their turns."""
    V: Array
    """Velocities of the nodes and internal variables that they depend on."""
    law: Law
    state: Array
    """States ``(n, s)`` of the elements."""
    prescribed: Any
    """What else the law was given."""


@checked
class CoordinateElement(Element):
    """Base of what acts on a coordinate of a joint, or senses it.

    Parameters
    ----------
    joint : Constraint
        A joint with coordinates; it need not be added to the model first.
    coordinate : str, optional
        Which one, by its name, where the joint has several.
    counts_turns : bool
        Whether what it does depends on the value of an angle.

    Notes
    -----
    Angles count turns, however many in a step: an internal variable, "angle" of kind "history", has the angle at the
    last step, and goes on at the rate there. A step that changes this way by more than half a turn is not counted.
    """

    _internal: ClassVar[str] = "measured_by places"
    places: ClassVar[tuple[str, ...]] = ()
    """Names of attributes that are values of the coordinate."""

    def __init__(self, joint: JointLike, coordinate: str | None = None, *, counts_turns: bool = True) -> None:
        self.joint: Constraint = joint
        self.nodes = joint.nodes
        self.coordinate = chosen(joint, coordinate, type(self).__name__)
        if counts_turns and self.is_angle:
            self.internal_variables = (*self.internal_variables, ANGLE)

    @property
    def is_angle(self) -> bool:
        """Whether the coordinate is an angle."""
        return is_angle(self.joint, self.coordinate)

    def doubts(self, around: ModelContext) -> Iterator[str]:
        if self.is_angle:
            yield from filter(None, (in_degrees(vars(self)[name], name) for name in self.places))

    def batch_key(self) -> Hashable:
        return self.joint.coordinate_key(self.coordinate)

    @classmethod
    def measured_by(cls, elements: Sequence[CoordinateElement], number: Numbering) -> CoordinateBatch:
        """The coordinates of elements of one batch, measured once for all who act on them."""
        name, joints = elements[0].coordinate, [element.joint for element in elements]
        key = CoordinateBatch, tuple(joints), name
        return number.shared(key, lambda: type(joints[0]).coordinate_batch(joints, name, number))


ANGLE = InternalVariable("angle", "history", unit="rad")


def chosen(joint: Constraint, coordinate: str | None, what: str) -> str:
    """The name of a coordinate; of the only one for None."""
    names = [own.name for own in joint.coordinates]
    if coordinate is None and len(names) == 1:
        return names[0]
    if coordinate not in names:
        said = "say which" if coordinate is None else f"there is no {shown(coordinate)}"
        raise ModelError(f"{what}: {joint} has the coordinates {', '.join(map(repr, names))}; {said} by coordinate=")
    return coordinate


def is_angle(joint: Constraint, name: str) -> bool:
    """Whether a coordinate of a joint is an angle."""
    return any(own.angle for own in joint.coordinates if own.name == name)


class CoordinateLawBatch(ElementBatch):
    """Elements that act on one coordinate each, with states of their own.

    A subclass defines ``law(q, rate, state, prescribed)``, all ``(n,)`` but ``state``, which is ``(n, s)``.
    """

    def __init__(self, elements: Sequence[Any], number: Numbering) -> None:
        self.owners = elements
        self.coordinates: CoordinateBatch = type(elements[0]).measured_by(elements, number)
        self.nodes = self.coordinates.nodes
        of_joint, own = self.coordinates.own, own_rows(elements, number)
        both = own if of_joint is None else np.concatenate([of_joint, own], axis=-1)
        self.own = both if both.shape[1] else None
        self._angle = elements[0].internal_variables[:1] == (ANGLE,)
        self.states = own.shape[1] - self._angle
        self._width = 6 * self.nodes.shape[1] + (0 if of_joint is None else of_joint.shape[1])
        self._own = own

    def law(self, q: Array, rate: Array, state: Array, prescribed: Any) -> Law:
        """What resists the coordinates, and the states."""
        raise MissingMethodError(f"{type(self).__name__} must define law(q, rate, state, prescribed)")

    def force(self, motion: Motion, prescribed: Any) -> tuple[Array, Acting]:
        """``G^T N``, then ``u' - f`` of each state."""
        acting = self.acting(motion, prescribed)
        resists, rates = acting.law.value[:, :1], acting.law.value[:, 1:]
        force = np.zeros((len(self.nodes), self._width + self._angle + self.states))
        force[:, : self._width] = resists * acting.measured.gradient
        if self.states:
            force[:, -self.states :] = motion.udot[self._own[:, self._angle :]] + rates
        return force, acting

    def acting(self, motion: Motion, prescribed: Any) -> Acting:
        """The coordinates and the law."""
        measured, V = self.coordinates.evaluate(motion), self.coordinates.velocities(motion)
        own = motion.u[self._own]
        q = continued(measured.value, own[:, 0]) if self._angle else measured.value
        state = own[:, int(self._angle) :]
        law = self.law(q, np.vecdot(measured.gradient, V), state, prescribed)
        return Acting(measured, q, V, law, state, prescribed)

    def towards_kinks(self, q: Array, rate: Array, state: Array) -> Array:
        """How far small changes lead towards kinks ``(j, n)``, to first order."""
        raise MissingMethodError(f"{type(self).__name__} has kinks and must define towards_kinks(q, rate, state)")

    def branches(self, context: Acting) -> Array:
        assert context.law.kinks is not None
        return np.where(context.law.kinks.T >= 0.0, 1.0, 0.0)

    def crosses(self, context: Acting, change: SmallChange) -> bool:
        assert context.law.kinks is not None
        q = self.way(context, change)
        way = self.towards_kinks(q, change.per_increment * q, change.d[:, -self.states :])
        return bool((np.abs(context.law.kinks) <= TWICE * np.abs(way)).any())

    def way(self, context: Acting, change: SmallChange) -> Array:
        """How far a change leads the coordinates ``(n,)``, to first order."""
        return np.asarray(np.vecdot(context.measured.gradient, change.d[:, : self._width]))

    def values(self, motion: Motion) -> Array:
        """The coordinates ``(n,)``, angles with their turns."""
        value = self.coordinates.evaluate(motion).value
        return continued(value, motion.u[self._own[:, 0]]) if self._angle else value

    def stiffness(self, context: Acting) -> Array:
        """``N H + G^T (dN/dq G + dN/drate V^T H)``, and the same of each state."""
        measured, V, law = context.measured, context.V, context.law
        G, H = measured.gradient[:, None], self.coordinates.second(measured.context)
        by_nodes = law.by_length[..., None] * G + law.by_speed[..., None] * np.vecmat(V, H)[:, None]
        K = self._rows(G, by_nodes, law.by_state)
        K[:, : self._width, : self._width] += law.value[:, :1, None] * H
        return K

    def stressed(self, context: Acting, d: Array) -> Acting:
        law, value = context.law, context.law.value.copy()
        value[:, 0] += law.by_length[:, 0] * np.vecdot(context.measured.gradient, d[:, : self._width])
        if self.states:
            value[:, 0] += np.vecdot(law.by_state[:, 0], d[:, -self.states :])
        return context._replace(law=law._replace(value=value))

    def damping(self, context: Acting) -> Array:
        """``G^T dN/drate G``, and ``u'`` of each state."""
        G, law = context.measured.gradient[:, None], context.law
        C = self._rows(G, law.by_speed[..., None] * G, np.zeros_like(law.by_state))
        states = np.arange(C.shape[1] - self.states, C.shape[1])
        C[:, states, states] += 1.0
        return C

    def accept(self, context: Acting) -> Array:
        """Angles with their turns."""
        return self._of_angles(context.q)

    def history_rates(self, context: Acting) -> Array | None:
        return self._of_angles(np.vecdot(context.measured.gradient, context.V)) if self._angle else None

    def _of_angles(self, values: Array) -> Array:
        assert self.own is not None
        result = np.zeros(self.own.shape)
        result[:, -self._own.shape[1]] = values
        return result

    def _rows(self, G: Array, by_nodes: Array, by_state: Array) -> Array:
        """Rows of nodes and states from changes ``(n, 1 + s, b)`` and ``(n, 1 + s, s)`` of a law."""
        size, b = self._width + self._angle + self.states, self._width
        result = np.zeros((len(self.nodes), size, size))
        result[:, :b, :b] = G.mT * by_nodes[:, :1]
        if self.states:
            result[:, :b, -self.states :] = G.mT * by_state[:, :1]
            result[:, -self.states :, :b] = by_nodes[:, 1:]
            result[:, -self.states :, -self.states :] = by_state[:, 1:]
        return result
