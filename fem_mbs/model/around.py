"""What an element is told about the model that it is part of, to say what looks wrong of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fem_mbs.arrays import Array

if TYPE_CHECKING:
    from fem_mbs.model.numbering import Numbering


class Around(NamedTuple):
    """The model as built, at rest at t = 0."""

    number: Numbering
    gravity: Array
    """Acceleration of gravity, world frame."""
    extent: float
    """Of the model, in its unit of length."""
    force: Array
    """Force ``(n, 3)`` of loads and weight on each node, world frame."""
    moment: Array
    """Moment ``(n, 3)`` of these on each node about it, world frame."""
