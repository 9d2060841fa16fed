"""Contact of a beam with another one, a ball or a capsule, wherever along it they are."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import numpy as np

from fem_mbs.contracts import ModelContext, NodeLike, NotNegative, Placed, Positive, PositiveInt, checked, shown
from fem_mbs.contracts.arguments import UnitInterval
from fem_mbs.elements.beams.beam import Beam
from fem_mbs.elements.beams.track import refuse_corners
from fem_mbs.elements.contact.contact import Contact
from fem_mbs.elements.contact.shapes import Capsule, reach, segment
from fem_mbs.elements.contact.tubes import Curve, Tubes
from fem_mbs.elements.shapes import Ball
from fem_mbs.errors import ModelError

ROUND = 1e-9
"""Largest difference of the radii along a beam of one radius."""
PARALLEL, PERPENDICULAR = np.sin(np.radians(5.0)), 0.1
"""Sine of beams that lie along each other, and cosine of the way between them and either."""


@checked
class BeamContact(Contact):
    """A beam and another one, a ball or a capsule that may touch but not enter each other, anywhere along the beam.

    Parameters
    ----------
    beam : Beam
        Of any order, without corners, free to deform. Its skin is a tube about the smooth curve through its nodes.
    other : Beam or Node
        Another beam, without a node of the first; or the node of the shape: of a body, of a beam, or the ground.
    shape : Ball or Capsule, optional
        That of the node, placed as built.
    radius, other_radius : float, optional
        Of the tubes, m; by default of the circles around the sections. Ends of beams are half balls.
    points : int
        In so many parts, of equal numbers of elements of the beam, the nearest point is a contact: for what touches in
        several places.
    restitution, friction, stiffness, exponent, creep
        As of :class:`Contact`. Without a stiffness, ``restitution`` is of the parts of the beams that nodes stand for.

    Raises
    ------
    ModelError
        If a node is one of the beam, a beam has a corner, or its section changes and no radius is given.

    Notes
    -----
    Where beams cross or lie on a ball, they touch in a point: of each part the nearest. What is wider than a bend of
    the beam, and touches both sides in one part, passes from one to the other. Beams that lie along each other touch
    along a line: give one of them balls at its nodes, ``[BeamContact(beam, node, Ball(r)) for node in other.nodes]``.
    What is stored grows with the square of the number of nodes of the beams.
    """

    _internal = f"{Contact._internal} curves of_b radii"

    geometry = Tubes
    swapped = False

    def __init__(
        self,
        beam: Beam,
        other: NodeLike | Beam,
        shape: Ball | Capsule | None = None,
        *,
        radius: Positive | None = None,
        other_radius: Positive | None = None,
        points: PositiveInt = 1,
        restitution: UnitInterval = 0.0,
        friction: NotNegative = 0.0,
        stiffness: Positive | None = None,
        exponent: Positive = 1.5,
        creep: Positive = 1e-3,
    ) -> None:
        label = f"BeamContact on {beam}, {other}"
        thick = _radius(beam, label, "radius") if radius is None else radius
        if isinstance(other, Beam):
            if shape is not None:
                raise ModelError(f"{label}: a beam is a tube of its own; give no shape, received {shown(shape)}")
            self.placed, b, nodes = (), _curve(other, label), other.nodes
            self.radii = thick, _radius(other, label, "other_radius") if other_radius is None else other_radius
            self.reach = np.array([[np.inf, self.radii[1] + float(other.length.max())]])
        else:
            if shape is None or other_radius is not None:
                raise ModelError(f"{label}: give the Ball or Capsule of {other}, and no other_radius")
            placed = shape.on(other)
            self.placed, nodes = (Placed(other, placed),), (other,)
            own = segment(placed)
            b = Curve(own.ends.center[None], np.array([2 * [2.0 * own.half[0]]]), np.zeros((1, 2, 3)), np.array(False))
            self.radii = thick, float(own.radius[0])
            self.reach = np.array([[np.inf, sum(self.radii) + reach(placed)]])
        for node in nodes:
            if node in beam.nodes:
                raise ModelError(
                    f"{label}: {node} is a node of the beam, and what shares a node does not meet; give another one"
                )
        if points > len(beam.cells):
            raise ModelError(f"{label}: points must be at most {len(beam.cells)}, its elements, received {points}")
        self.contacts = ("contact",) if points == 1 else tuple(f"part {k + 1}" for k in range(points))
        self.beam, self.other, self.nodes, self.of_b = beam, other, (*beam.nodes, *nodes), len(nodes)
        self.curves, self.pairs = (_curve(beam, label), b), np.arange(len(self.nodes))[None]
        self._obeys(label, restitution, friction, stiffness, exponent, creep)

    def batch_key(self) -> Hashable:
        return len(self.nodes), self.of_b, len(self.contacts), bool(self.curves[1].axes.any()), self.yields

    def doubts(self, around: ModelContext) -> Iterator[str]:
        x, R = (np.array([[getattr(node, name) for node in self.nodes]]) for name in ("position", "rotation"))
        way, *_ = Tubes([self]).places(x, R)
        for (a, b), y in zip(way.slope[0], way.y[0], strict=True):
            a, b, n = (v / max(float(np.linalg.norm(v)), 1e-300) for v in (a, b, y))
            if b.any() and np.linalg.norm(np.cross(a, b)) < PARALLEL and max(abs(a @ n), abs(b @ n)) < PERPENDICULAR:
                yield (
                    f"lies along {self.other} where it is nearest as built, and would touch in one point that jumps "
                    "from end to end; give one of them balls at its nodes"
                )
                return


def _curve(beam: Beam, label: str) -> Curve:
    """Through its nodes, as long in each piece as the beam is there."""
    refuse_corners(beam, label)
    size = (beam.length[:, None] * np.diff(beam.places)).reshape(-1, 1, 1)
    offsets, axes, sides = (
        np.stack([part[:, :-1], part[:, 1:]], axis=2).reshape(-1, 2, 3)
        for part in (beam.offsets, beam.frames[..., 0], beam.frames[..., 1])
    )
    # elements of higher order, as built, may meet at a slight angle
    closed = beam.nodes[0] is beam.nodes[-1]
    last, first = (axes[:, 1], np.roll(axes[:, 0], -1, axis=0)) if closed else (axes[:-1, 1], axes[1:, 0])
    middle = last + first
    middle /= np.linalg.norm(middle, axis=-1)[:, None]
    axes[: len(middle), 1] = middle
    axes[np.arange(1, len(middle) + 1) % len(axes), 0] = middle
    return Curve(offsets, size * axes, sides, np.array(closed))


def _radius(beam: Beam, label: str, name: str) -> float:
    """Of the circle around its section."""
    (outlines,) = beam.at(np.array([0.0, 1.0]), "outline")
    radii = np.linalg.norm(outlines, axis=-1).max(axis=-1)
    if np.ptp(radii) > ROUND * radii.max():
        raise ModelError(
            f"{label}: the circle around the section of {beam} changes along it, from {radii.min():.4g} to "
            f"{radii.max():.4g} m; give the {name}= of a tube"
        )
    return float(radii.max())
