"""End release: the end of a beam on a node, free to rotate about axes of its section.

A joint of any motions, given by six flags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from fem_mbs.contracts import Node, RotationLike, Vector3, checked, choice, instance, shown, truth
from fem_mbs.elements.joints.coordinates import AXES
from fem_mbs.elements.joints.drives import Drive
from fem_mbs.elements.joints.relative import ROTATIONS, TRANSLATIONS, RelativeJoint, levers
from fem_mbs.errors import ModelError

if TYPE_CHECKING:
    from fem_mbs.elements.beams.beam import Beam


def three_flags(value: object, label: object) -> tuple[bool, ...]:
    """Three truth values, or a :class:`ModelError` that begins with ``label``."""
    if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray) or len(value) != 3:
        raise ModelError(f"{label} must be three of True and False, of x, y and z, received {shown(value)}")
    return tuple(truth(flag, label) for flag in value)


Flags = Annotated[Sequence[bool], three_flags]


@checked
class GeneralJoint(RelativeJoint):
    """Close any of the six relative motions of two nodes.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    translation, rotation : (3,) of bool
        Which translations along, and rotations about, the axes x, y, z of the joint are closed; all by default.
    point : (3,), optional
        Point of the joint at t = 0, world frame; by default the position of node b.
    axes : (3, 3) or scipy Rotation, optional
        Axes x, y, z of the joint at t = 0 as columns, world frame; by default those of the world. They turn with a.
    drives : dict of functions of t, optional
        What prescribes free translations in m, or the one free rotation in rad, by names such as "translation x"; as
        the drive of :class:`RevoluteJoint`.
    point_b, axes_b : optional
        Point and axes on node b, where the joint is open as built and :meth:`Model.assemble` is to close it.

    Notes
    -----
    Translations are those of the point of b against that of a, along axes of a. One closed rotation makes a universal
    joint of the other two: about z closed, b turns about the axis x of a and the axis y of b, which stay perpendicular;
    about x, about y of a and z of b; about y, about z of a and x of b. Two closed rotations leave the one about the
    third axis, common to both nodes. Its coordinates are the free motions, "translation x" ... "rotation z"; three free
    rotations are the components of the rotation vector, below half a turn.
    """

    def __init__(
        self,
        a: Node,
        b: Node,
        translation: Flags = (True, True, True),
        rotation: Flags = (True, True, True),
        point: Vector3 | None = None,
        axes: RotationLike | None = None,
        drives: Mapping[str, Drive] | None = None,
        point_b: Vector3 | None = None,
        axes_b: RotationLike | None = None,
    ) -> None:
        flags = zip(TRANSLATIONS + ROTATIONS, (*translation, *rotation), strict=True)
        self.closes = tuple(name for name, closed in flags if closed)
        if not self.closes:
            raise ModelError(f"GeneralJoint on {a}, {b}: closes nothing; set at least one flag to True")
        axes = np.eye(3) if axes is None else axes
        super().__init__(a, b, point, axes, drives=drives, point_b=point_b, axes_b=axes_b)

    @property
    def rotation_dependent(self) -> tuple[Node, ...]:
        """Both nodes if a rotation is closed; else those whose axes or levers count."""
        if any(name in self.closes for name in ROTATIONS):
            return self.nodes
        if all(name in self.closes for name in TRANSLATIONS):
            return levers(self.nodes, self.offsets)
        return (self.nodes[0], *levers(self.nodes[1:], self.offsets[1:]))


ENDS = {"start": 0, "end": -1}


def check_beam(value: object, label: object) -> Beam:
    """A beam, or a :class:`ModelError` that begins with ``label``."""
    from fem_mbs.elements.beams import beam  # which makes releases

    return instance(value, beam.Beam, label)


if not TYPE_CHECKING:
    Beam = Annotated[Any, check_beam]


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
    def rotation_dependent(self) -> tuple[Node, ...]:
        """The beam's own end: where released beams alone meet, the node is held."""
        return self.nodes[1:]

    @property
    def rotation_free(self) -> tuple[Node, ...]:
        """The node, where no welded beam ends."""
        return tuple(node for node in self.nodes if node not in self.rotation_dependent)

    def __init__(self, node: Node, beam: Beam, end: Annotated[str, choice(ENDS)] = "start", free: Free = "yz") -> None:
        side = ENDS[end]
        self.closes = (*TRANSLATIONS, *(name for name, axis in zip(ROTATIONS, AXES, strict=True) if axis not in free))
        own = beam.nodes[side]
        frame = own.rotation @ beam.frames[side, side]
        super().__init__(node, own, own.position + own.rotation @ beam.offsets[side, side], frame)
