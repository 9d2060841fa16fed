"""Contacts of all pairs of some bodies, beams and shells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np

from fem_mbs.contracts import Node, NotNegative, Shape, UnitInterval, checked, shown
from fem_mbs.elements.beams.beam import Beam
from fem_mbs.elements.bodies import RigidBody
from fem_mbs.elements.contact.beam_contact import BeamContact
from fem_mbs.elements.contact.contact import Contact
from fem_mbs.elements.contact.group import ContactGroup
from fem_mbs.elements.contact.shapes import Capsule
from fem_mbs.elements.shapes import Ball
from fem_mbs.elements.shells.shell import Shell
from fem_mbs.errors import ModelError

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
        thick as they are, but for other shells. What shares a node does not meet.
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
        centers = part.offsets + part.section.offset * part.frames[..., 2]
    else:
        (outlines,) = part.at(np.array([0.5]), "outline")
        radii, centers = np.linalg.norm(outlines, axis=-1).max(axis=-1)[:, 0], part.offsets
    seen = set()
    for nodes, radius, own in zip(part.cells.tolist(), radii.tolist(), centers, strict=True):
        for k, center in zip(nodes, own, strict=True):
            if k not in seen:
                seen.add(k)
                yield part.nodes[k], Ball(radius, center=part.nodes[k].at(center))
