"""Contact of a beam with a ball, wherever along it the ball is."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from fem_mbs.contracts import NodeLike, NotNegative, Placed, Positive, UnitInterval, checked
from fem_mbs.elements.beams.beam import Beam
from fem_mbs.elements.beams.track import refuse_corners
from fem_mbs.elements.contact.beam_balls import BeamBalls
from fem_mbs.elements.contact.contact import Contact
from fem_mbs.elements.contact.shapes import reach
from fem_mbs.elements.shapes import Ball
from fem_mbs.errors import ModelError

ROUND = 1e-9
"""Largest difference of the radii along a beam of one radius."""


@checked
class BeamContact(Contact):
    """A beam and a ball that may touch but not enter each other, anywhere along the beam and over its ends.

    Parameters
    ----------
    beam : Beam
        Of any order, without corners, free to deform. Its skin is a tube about the smooth curve through its nodes.
    node : Node
        That of the ball: of a body, of another beam, or the ground.
    ball : Ball
        Placed as built, and moves with its node.
    radius : float, optional
        Of the tube, m; by default of the circle around the section. The ends of the beam are half balls.
    restitution, friction, stiffness, exponent, creep
        As of :class:`Contact`. Without a stiffness, ``restitution`` is of the ball and the part of the beam that its
        nodes stand for.

    Raises
    ------
    ModelError
        If the node is one of the beam, the beam has a corner, or its section changes and no radius is given.

    Notes
    -----
    One point, the nearest: a ball that is wider than a bend of the beam, and touches both sides, passes from one to the
    other. What is stored grows with the square of the number of nodes of the beam.
    """

    _internal = (*Contact._internal, "center", "radii")

    contacts = ("contact",)
    swapped = False

    def __init__(
        self,
        beam: Beam,
        node: NodeLike,
        ball: Ball,
        *,
        radius: Positive | None = None,
        restitution: UnitInterval = 0.0,
        friction: NotNegative = 0.0,
        stiffness: Positive | None = None,
        exponent: Positive = 1.5,
        creep: Positive = 1e-3,
    ) -> None:
        label = f"BeamContact on {beam}, {node}"
        if node in beam.nodes:
            raise ModelError(f"{label}: {node} is a node of the beam, which does not meet itself; give another node")
        refuse_corners(beam, label)
        self.beam, self.nodes, placed = beam, (*beam.nodes, node), ball.on(node)
        self.placed = (Placed(node, placed),)
        self.center = np.zeros(3) if placed.center is None else placed.center
        self.radii = _radius(beam, label) if radius is None else radius, float(ball.half[0])
        self.reach = self.radii[0] + reach(placed)
        self._obeys(label, restitution, friction, stiffness, exponent, creep)

    @classmethod
    def geometry(cls, elements: Sequence[Any], closed: bool = False) -> BeamBalls:
        return BeamBalls(elements)

    def batch_key(self) -> Hashable:
        return len(self.nodes), self.yields


def _radius(beam: Beam, label: str) -> float:
    """Of the circle around its section."""
    (outlines,) = beam.at(np.array([0.0, 1.0]), "outline")
    radii = np.linalg.norm(outlines, axis=-1).max(axis=-1)
    if np.ptp(radii) > ROUND * radii.max():
        raise ModelError(
            f"{label}: the circle around its section changes along the beam, from {radii.min():.4g} to "
            f"{radii.max():.4g} m; give the radius= of a tube"
        )
    return float(radii.max())
