"""End release: the end of a beam on a node, free to rotate about axes of its section."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fem_mbs.elements.joints.coordinates import AXES
from fem_mbs.elements.joints.relative import ROTATIONS, TRANSLATIONS, RelativeJoint
from fem_mbs.errors import ModelError
from fem_mbs.model import Node, checked, choice, instance, shown

ENDS = {"start": 0, "end": -1}


def check_beam(value: object, label: object) -> Beam:
    """A beam, or a :class:`ModelError` that begins with ``label``."""
    from fem_mbs.elements import beam  # which makes releases

    return instance(value, beam.Beam, label)


def check_release(free: object, label: object) -> str:
    """Axes of a release, or a :class:`ModelError` that begins with ``label``."""
    if not isinstance(free, str) or not free or set(free) - set(AXES) or len(set(free)) < len(free):
        raise ModelError(
            f"{label} must name axes of the section about which the end turns freely, such as 'y', 'z', 'yz' or 'xyz', "
            f"received {shown(free)}"
        )
    return free


Free = Annotated[str, check_release]
"""Axes of a release."""
if TYPE_CHECKING:
    from fem_mbs.elements.beam import Beam
else:
    Beam = Annotated[Any, check_beam]


@checked
class EndRelease(RelativeJoint):
    """Hold the end of a beam at a node, but for rotations about axes of its section.

    The beam has an end node of its own, at the place of the other; :meth:`Beam.line` and :func:`beams_from_mesh` make
    both where they are told of a release.

    Parameters
    ----------
    node : Node
        What the beam is held at.
    beam : Beam
        The beam; its own end node must not be ``node``.
    end : {"start", "end"}
        Of the beam.
    free : str
        Axes of the section at that end about which it turns freely: any of "x" (torsion), "y", "z" (bending). "y" is a
        hinge for the bending moment about y, "yz" a pin that still bears torsion, "xyz" a ball.

    Notes
    -----
    A beam with "xyz" at both ends spins about itself without resistance; "yz" at one end or both keeps it from that.
    """

    @property
    def turned(self) -> tuple[Node, ...]:
        """The beam's own end: where released beams alone meet, the node is held."""
        return self.nodes[1:]

    @property
    def pinned(self) -> tuple[Node, ...]:
        """The node, where no welded beam ends."""
        return tuple(node for node in self.nodes if node not in self.turned)

    def __init__(self, node: Node, beam: Beam, end: Annotated[str, choice(ENDS)] = "start", free: Free = "yz") -> None:
        side = ENDS[end]
        self.closes = (*TRANSLATIONS, *(name for name, axis in zip(ROTATIONS, AXES, strict=True) if axis not in free))
        own = beam.nodes[side]
        frame = own.rotation @ beam.frames[side, side]
        super().__init__(node, own, own.position + own.rotation @ beam.offsets[side, side], frame)
