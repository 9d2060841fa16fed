"""Contacts of many bodies with each other: all pairs of two kinds of shapes as one element.

Of ``n`` bodies there are ``n^2/2`` pairs, of which few touch: no more than some seven for each body can. Pairs are
arrays, which no equation and no state of the model knows of; what contacts carry from step to step is in *slots*,
internal variables that pairs take when they push, and leave when they do no longer. :func:`contacts_between` makes
contacts of all pairs of some bodies, beams and shells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import combinations, combinations_with_replacement
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray, places_in
from fem_mbs.contracts import InternalVariable, Motion, Node, Numbering, Placed, Shape, checked, own_rows
from fem_mbs.contracts.arguments import NotNegative, UnitInterval, shown
from fem_mbs.contracts.unilateral import CARRIED, FORCES, TIME, WORK, UnilateralBatch, carried_variables
from fem_mbs.elements.beams.beam import Beam
from fem_mbs.elements.bodies import RigidBody
from fem_mbs.elements.contact.beam_contact import BeamContact
from fem_mbs.elements.contact.contact import Contact, ContactBatch
from fem_mbs.elements.contact.shapes import Capsule
from fem_mbs.elements.shapes import Ball
from fem_mbs.elements.shells.shell import Shell
from fem_mbs.errors import ModelError

NEIGHBOURS, POINTS = 7, 16
"""Contacts of balls of any sizes are fewer than so many for each; points in which a pair touches at once, as flush
boxes."""
NUMBER = InternalVariable("contact", "history", initial=-1.0)
"""Of the contact that has a slot, -1 where it is free."""


class PairNames(Sequence[str]):
    """Names of the contacts of all pairs, made when they are asked for."""

    def __init__(self, group: ContactGroup, names: Sequence[str]) -> None:
        self._group, self._names = group, names

    def __len__(self) -> int:
        return len(self._group.pairs) * len(self._names)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return tuple(self[k] for k in range(*number.indices(len(self))))
        pair, place = divmod(range(len(self))[number], len(self._names))
        a, b = (self._group.nodes[k] for k in self._group.pairs[pair])
        return f"{a}, {b}: {self._names[place]}"


@checked
class ContactGroup(Contact):
    """Rigid contacts of all pairs of many bodies, of two kinds of shapes: made by :func:`contacts_between`.

    Parameters
    ----------
    nodes, shapes : sequences of Node and of Shape
        Of each body, as many each; shapes are of one class, placed as built.
    other_nodes, other_shapes : sequences of Node and of Shape, optional
        Of others, which the first ones meet; by default these meet each other.
    restitution, friction : float
        As of :class:`Contact`.

    Raises
    ------
    ModelError
        If there is no closed form for the shapes, or no pair.

    Notes
    -----
    ``contacts[k]`` is the name of contact ``k``, which ``solution.impulses`` and ``solution.touching`` tell of; forces
    are on the later one of two bodies, or on the others.
    """

    _internal: ClassVar[str] = f"{Contact._internal} single"

    def __init__(
        self,
        nodes: Sequence[Node],
        shapes: Sequence[Shape],
        other_nodes: Sequence[Node] = (),
        other_shapes: Sequence[Shape] = (),
        *,
        restitution: UnitInterval = 0.0,
        friction: NotNegative = 0.0,
    ) -> None:
        first, second = _side(nodes, shapes), _side(other_nodes, other_shapes)
        others, sides, self._given = bool(second), (first, second or first), (shapes, other_shapes or shapes)
        ends = np.indices((len(first), len(second))).reshape(2, -1) if others else np.triu_indices(len(first), 1)
        self.nodes = tuple(dict.fromkeys(own.node for side in sides for own in side))
        rows = {node: k for k, node in enumerate(self.nodes)}
        numbers = [np.array([rows[own.node] for own in side])[end] for side, end in zip(sides, ends, strict=True)]
        apart = numbers[0] != numbers[1]
        if not apart.any():
            raise ModelError(f"ContactGroup: there are no pairs among {len(first)} and {len(second or first)} bodies")
        self._which = np.array(ends)[:, apart]
        self._names = self._pairs_of(sides, self._which, "ContactGroup")
        self.pairs = np.stack(numbers, axis=1)[apart][:, :: -1 if self.swapped else 1]
        self.placed = tuple(dict.fromkeys((*first, *second)))
        self.restitution, self.friction, self.yields = restitution, friction, False
        self.contacts = PairNames(self, self._names)
        most = NEIGHBOURS * (len(first) + len(second)) * min(len(self._names), POINTS)
        self.slots = min(most, len(self.contacts))
        self.internal_variables = _slot_variables(self.slots)
        self._singles: dict[int, Contact] = {}

    @property
    def per_pair(self) -> int:
        return len(self._names)

    def single(self, row: int) -> Contact:
        """The contact of one pair of bodies."""
        if row not in self._singles:
            nodes = (self.nodes[k] for k in self.pairs[row][:: -1 if self.swapped else 1])
            shapes = (own[which[row]] for own, which in zip(self._given, self._which, strict=True))
            single = Contact(*nodes, *shapes, restitution=self.restitution, friction=self.friction)
            single.name = f"{self.name or 'contact'}: {', '.join(map(str, single.nodes))}"
            self._singles[row] = single
        return self._singles[row]

    def batch_key(self) -> Hashable:
        return id(self)

    @classmethod
    def batch(cls, elements: Sequence[Any], number: Numbering) -> Any:
        return GroupBatch(elements, number)


def _side(nodes: Sequence[Node], shapes: Sequence[Shape]) -> list[Placed]:
    """Bodies of one side."""
    if len(nodes) != len(shapes):
        raise ModelError(f"ContactGroup: each node has a shape, received {len(nodes)} nodes and {len(shapes)} shapes")
    if len(classes := dict.fromkeys(type(shape).__name__ for shape in shapes)) > 1:
        raise ModelError(
            f"ContactGroup: shapes of one side are of one class, received {', '.join(classes)}; make a group of each, "
            "or let contacts_between make them"
        )
    return [Placed(node, shape.on(node)) for node, shape in zip(nodes, shapes, strict=True)]


def _slot_variables(count: int) -> tuple[InternalVariable, ...]:
    """What so many slots carry, and what contacts have taken that have left theirs."""
    of_one = (NUMBER, *carried_variables(("contact",)))
    slots = (
        InternalVariable(f"{own.name} of slot {k + 1}", "history", initial=own.initial, unit=own.unit)
        for k in range(count)
        for own in of_one
    )
    return (InternalVariable("energy of impacts of others", "history", unit="J"), *slots)


class GroupBatch(UnilateralBatch):
    """A group as a batch without cells, and its pairs."""

    owners: Sequence[ContactGroup]
    sifts = True

    def __init__(self, elements: Sequence[ContactGroup], number: Numbering) -> None:
        self.owners, (group,) = elements, elements
        self.nodes = np.empty((0, 2), np.intp)
        self.closed = group not in number
        self._whole = ContactBatch(elements, number)
        self.friction = self.restitution = np.empty((0, group.per_pair))
        self.follows = np.empty((0, 0), np.intp)
        if not self.closed:
            own = own_rows(elements, number)[0]
            self._gone = int(own[0])
            slots = own[1:].reshape(group.slots, 1 + len(CARRIED))
            self._holders, self.carried = slots[:, 0], slots[:, 1:]
            self.losses = np.append(self.carried[:, WORK], self._gone)

    @property
    def whole(self) -> ContactBatch:
        return self._whole

    def part(self, row: int) -> Contact:
        return self.owners[0].single(row)

    def carrying(self, u: Array) -> tuple[IntArray, IntArray]:
        numbers = u[self._holders].astype(np.intp)
        taken = numbers >= 0
        return numbers[taken], self.carried[taken]

    def taken(self, u: Array, numbers: IntArray) -> IntArray:
        """Those that have no slot take free ones, then those of what pushes no longer, the oldest first."""
        held = u[self._holders].astype(np.intp)
        place = places_in(held)(numbers)
        new = place < 0
        if count := int(new.sum()):
            loose = (u[self.carried[:, FORCES]] == 0.0).all(axis=1)
            loose[place[~new]] = False
            free = np.flatnonzero(loose)
            if len(free) < count:
                raise ModelError(
                    f"{self.owners[0]}: more than {len(held)} contacts push at once, for which it has no room; give "
                    "fewer bodies to a group"
                )
            age = np.where(held[free] < 0, -np.inf, u[self.carried[free, TIME]])
            free = free[np.argsort(age, kind="stable")[:count]]
            u[self._gone] += u[self.carried[free, WORK]].sum()
            u[self.carried[free]] = 0.0
            u[self._holders[free]] = numbers[new]
            place[new] = free
        return self.carried[place]

    def pushing(self, motion: Motion) -> None:
        """None is a cell of the model: see :meth:`acting`."""

    def acting(self, motion: Motion) -> PushingPairs:
        """What its contacts do that carry something."""
        numbers, rows = self.carrying(motion.u)
        r, P = self.owners[0].per_pair, motion.u[rows[:, FORCES]]
        if not len(numbers):
            return PushingPairs(numbers, rows, np.empty(0), P, P, 0.0)
        pairs, pick = np.unique(numbers // r, return_inverse=True)
        batch, own = self._whole.some(pairs), (pick, numbers % r)
        gaps, V = batch.measure(motion, *own), motion.V[batch.nodes[pick]].reshape(-1, 12)
        power = -float((P[:, 1:] * np.matvec(gaps.gradient[:, 1:], V)).sum())
        forces = batch.on_b(motion, pick, np.vecmat(P, gaps.gradient))
        return PushingPairs(numbers, rows, gaps.gap, batch.points(motion)[own], forces, power)


class PushingPairs(NamedTuple):
    """What contacts of a group do at an instant."""

    numbers: IntArray
    """``(s,)``."""
    rows: IntArray
    """In ``motion.u`` of what they carry, ``(s, 8)``."""
    gap: Array
    point: Array
    """On the surface of b, ``(s, 3)``, world."""
    force: Array
    """On b, ``(s, 3)``, world."""
    power: float
    """That friction takes, W."""


Shaped = tuple[Node, Shape]
MANY = 1000
"""Pairs of two kinds of shapes from which on they are one element."""


@checked
def contacts_between(
    parts: Sequence[Any], *, restitution: UnitInterval = 0.0, friction: NotNegative = 0.0
) -> list[Contact]:
    """Rigid contacts of each of some parts with each other one, for ``model.add``.

    Parameters
    ----------
    parts : sequence of RigidBody, Beam, Shell or (Node, Shape)
        Bodies have the shape that they were given. Beams are as round as the circle around their section; they meet
        balls, capsules and each other anywhere, other shapes with their nodes. Shells meet all with their nodes, as
        thick as they are, but for other shells. What shares a node does not meet. Bodies that a joint connects do, and
        jam where their shapes touch at the joint: let these end before it.
    restitution : float
        Share of the speed of approach that comes back; at beams and shells, of that of the nodes: leave it at 0 there.
    friction : float
        Coulomb's coefficient.

    Returns
    -------
    list of Contact
        Contacts of all pairs. Those that are far from each other cost no time in a run. From 1000 pairs of two kinds of
        shapes on, these are one element, whose ``contacts`` name the bodies.

    Raises
    ------
    ModelError
        For a body without a shape, and pairs of which there is no closed form.
    """
    law = {"restitution": restitution, "friction": friction}
    known = [part if isinstance(part, Beam | Shell) else _shaped(part) for part in parts]
    kinds: dict[type[Shape], list[Shaped]] = {}
    for part in known:
        if isinstance(part, tuple):
            kinds.setdefault(type(part[1]), []).append(part)
    grouped, found = list[tuple[type[Shape], type[Shape]]](), list[Contact]()
    for kind, other in combinations_with_replacement(kinds, 2):
        if _count(kinds[kind], kinds[other]) >= (2 * MANY if kind is other else MANY):
            grouped += [(kind, other), (other, kind)]
            sides = [list(own) for side in dict.fromkeys((kind, other)) for own in zip(*kinds[side], strict=True)]
            found.append(ContactGroup(*sides, restitution=restitution, friction=friction))
    for a, b in combinations(known, 2):
        if not (isinstance(a, tuple) and isinstance(b, tuple) and (type(a[1]), type(b[1])) in grouped):
            found += _pairs(a, b, law)
    if not found:
        raise ModelError(f"contacts_between: there are no pairs among {len(parts)} parts; give at least two")
    return found


def _count(first: list[Shaped], second: list[Shaped]) -> int:
    """How many pairs are on two nodes."""
    a, b = (Counter(node for node, _ in side) for side in (first, second))
    return len(first) * len(second) - sum(count * b[node] for node, count in a.items())


def _shaped(part: Any) -> Shaped:
    if isinstance(part, RigidBody):
        if part.shape is None:
            raise ModelError(f"contacts_between: {part} has no shape; give RigidBody a shape=, such as Ball(0.1)")
        return part.nodes[0], part.shape
    if isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], Node) and isinstance(part[1], Shape):
        return part
    raise ModelError(f"contacts_between: parts must be RigidBody, Beam, Shell or (Node, Shape), received {shown(part)}")


def _pairs(a: Shaped | Beam | Shell, b: Shaped | Beam | Shell, law: Any) -> Iterator[Contact]:
    if isinstance(a, Shell) or (isinstance(b, tuple) and not isinstance(a, tuple)):
        a, b = b, a
    if isinstance(a, Shell):
        raise ModelError(f"contacts_between: there is no closed form of {a} and {b}; shells meet bodies and beams")
    if isinstance(a, Beam) and isinstance(b, Beam):
        if not set(a.nodes) & set(b.nodes):
            yield BeamContact(a, b, **law)
    elif isinstance(a, tuple) and isinstance(b, Beam) and isinstance(a[1], Ball | Capsule):
        if a[0] not in b.nodes:
            yield BeamContact(b, a[0], a[1], **law)
    elif isinstance(b, Beam | Shell):
        for own in _stations(b):
            yield from _pairs(a, own, law)
    elif isinstance(a, tuple) and a[0] is not b[0]:
        yield Contact(a[0], b[0], a[1], b[1], **law)


def _stations(part: Beam | Shell) -> Iterator[Shaped]:
    """Balls at its nodes, as thick as it is there."""
    if isinstance(part, Shell):
        radii = np.full(len(part.cells), 0.5 * part.section.thickness)
        centers = part.middle
    else:
        (outlines,) = part.at(np.array([0.5]), "outline")
        radii, centers = np.linalg.norm(outlines, axis=-1).max(axis=-1)[:, 0], part.offsets
    seen = set()
    for nodes, radius, own in zip(part.cells.tolist(), radii.tolist(), centers, strict=True):
        for k, center in zip(nodes, own, strict=True):
            if (node := part.nodes[k]) not in seen:  # a ring ends where it starts
                seen.add(node)
                yield node, Ball(radius, center=node.at(center))
