"""Contacts of all pairs of some bodies and beams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from fem_mbs.contracts import Node, NotNegative, Shape, UnitInterval, checked, shown
from fem_mbs.elements.beams.beam import Beam
from fem_mbs.elements.bodies import RigidBody
from fem_mbs.elements.contact.beam_contact import BeamContact
from fem_mbs.elements.contact.contact import Contact
from fem_mbs.elements.contact.shapes import Plane
from fem_mbs.elements.shapes import Ball
from fem_mbs.errors import ModelError

Shaped = tuple[Node, Shape]


@checked
def contacts_between(
    parts: Sequence[Any], *, restitution: UnitInterval = 0.0, friction: NotNegative = 0.0
) -> list[Contact]:
    """Rigid contacts of each of some parts with each other one, for ``model.add``.

    Parameters
    ----------
    parts : sequence of RigidBody, Beam or (Node, Shape)
        Bodies have the shape that they were given. Beams are as round as the circle around their section; they meet
        balls anywhere, and planes with their nodes. What shares a node does not meet.
    restitution : float
        Share of the speed of approach that comes back; at beams, of that of the nodes: leave it at 0 there.
    friction : float
        Coulomb's coefficient.

    Returns
    -------
    list of Contact
        Contacts of all pairs. Those that are far from each other cost no time in a run.

    Raises
    ------
    ModelError
        For a body without a shape, and pairs of which there is no closed form.
    """
    law = {"restitution": restitution, "friction": friction}
    known = [part if isinstance(part, Beam) else _shaped(part) for part in parts]
    found = [own for a, b in combinations(known, 2) for own in _pairs(a, b, law)]
    if not found:
        raise ModelError(f"contacts_between: there are no pairs among {len(parts)} parts; give at least two")
    return found


def _shaped(part: Any) -> Shaped:
    if isinstance(part, RigidBody):
        if part.shape is None:
            raise ModelError(f"contacts_between: {part} has no shape; give RigidBody a shape=, such as Ball(0.1)")
        return part.nodes[0], part.shape
    if isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], Node) and isinstance(part[1], Shape):
        return part
    raise ModelError(f"contacts_between: parts must be RigidBody, Beam or (Node, Shape), received {shown(part)}")


def _pairs(a: Shaped | Beam, b: Shaped | Beam, law: dict[str, float]) -> Iterator[Contact]:
    if isinstance(a, Beam):
        a, b = b, a
    if isinstance(a, Beam) or (isinstance(b, Beam) and not isinstance(a[1], Plane | Ball)):
        what = a if isinstance(a, Beam) else type(a[1]).__name__
        raise ModelError(f"contacts_between: there is no closed form of {what} and {b}; beams meet a Plane or a Ball")
    if isinstance(b, Beam) and isinstance(a[1], Ball):
        if a[0] not in b.nodes:
            yield BeamContact(b, a[0], a[1], **law)
    elif isinstance(b, Beam):
        for node, center, radius in _stations(b):
            if node is not a[0]:
                yield Contact(a[0], node, a[1], Ball(radius, center=center), **law)
    elif a[0] is not b[0]:
        yield Contact(a[0], b[0], a[1], b[1], **law)


def _stations(beam: Beam) -> Iterator[tuple[Node, Any, float]]:
    """Nodes, where the beam is there as built, and how thick."""
    (outlines,) = beam.at(np.array([0.5]), "outline")
    seen = set()
    for cell, (nodes, (outline,)) in enumerate(zip(beam.cells.tolist(), outlines, strict=True)):
        for place, k in enumerate(nodes):
            if k not in seen:
                seen.add(k)
                center = beam.nodes[k].at(beam.offsets[cell, place])
                yield beam.nodes[k], center, float(np.linalg.norm(outline, axis=-1).max())
