"""Geometrically exact beam: a chain of two-node elements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Annotated

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.beam_batch import BeamBatch, relative_motion
from fem_mbs.elements.beam_geometry import NO_LENGTH, YAxis, section_frames
from fem_mbs.elements.beam_picture import BeamPicture
from fem_mbs.elements.section import BeamSection
from fem_mbs.elements.strain import INTERPOLATIONS, strain
from fem_mbs.errors import ModelError
from fem_mbs.lie import se3
from fem_mbs.model import (
    Count,
    Element,
    ElementBatch,
    Model,
    Name,
    Node,
    Numbering,
    Picture,
    Vector3,
    check_node,
    checked,
    choice,
    make_node,
    shown,
)


@checked
class Beam(Element):
    """A beam through a chain of nodes, stress-free as built.

    Parameters
    ----------
    nodes : sequence of Node
        At least two, from start to end. A chain along an arc becomes a curved beam; where it turns by more than 30
        degrees at a node it has a corner.
    section : BeamSection
        Its cross-section.
    y_axis : (3,), (n, 3) or function, optional
        World direction of the section's y axis (its part across the beam): one, one for each of the ``n`` nodes, or a
        function of the position (3,). Directions that turn about the chain make a twisted beam. By default y is
        horizontal and z points up at the start, the world's y for a vertical start, and turns as little as possible
        along the chain.
    interpolation : {"SE3", "R3xSO3"}
        Constant strain in se(3), or linear centre line with one-point quadrature; independent of the group of the
        nodes.
    start, end : (3,), optional
        Where the beam starts and ends, world frame at t = 0, if not at its first and last node. These points are
        rigidly connected to the nodes.

    Attributes
    ----------
    nodes : tuple of Node
        From start to end.
    length : (k,)
        Lengths of the elements along the centre line.

    Raises
    ------
    ModelError
        For fewer than two nodes, an element without length, a ``y_axis`` parallel to the beam, or an element that turns
        further than an element can.

    Notes
    -----
    Sonneville, Cardona, Bruels (2014). The mass is consistent in translation and lumped in rotation.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        section: BeamSection,
        y_axis: YAxis | None = None,
        interpolation: Annotated[str, choice(INTERPOLATIONS)] = "SE3",
        start: Vector3 | None = None,
        end: Vector3 | None = None,
    ) -> None:
        self.nodes = _chain(nodes)
        label = str(self)
        self.section, self.interpolation = section, interpolation
        x, R = (np.array([getattr(node, name) for node in self.nodes]) for name in ("position", "rotation"))
        points = x.copy()
        for k, place in ((0, start), (-1, end)):
            if place is not None:
                points[k] = place
        world = section_frames(points, y_axis, self.nodes, label)
        self.frames = pairs(R).mT @ world
        """Section frames ``(k, 2, 3, 3)`` of both ends of each element in the frames of their nodes."""
        self.offsets = np.vecmat(pairs(points - x), pairs(R))
        """Where the ends ``(k, 2, 3)`` of each element are in the frames of their nodes."""
        self.d0 = relative_motion(pairs(points), world, [self] * len(world))
        """Relative motion ``(k, 6)`` of the ends as built."""
        self.length = np.linalg.norm(self.d0[:, :3], axis=1)

    @classmethod
    @checked
    def line(
        cls,
        model: Model,
        start: Vector3,
        end: Vector3,
        section: BeamSection,
        elements: Count = 10,
        start_node: Node | None = None,
        end_node: Node | None = None,
        y_axis: YAxis | None = None,
        interpolation: Annotated[str, choice(INTERPOLATIONS)] = "SE3",
        name: Name | None = None,
        rigid_ends: bool = False,
    ) -> Beam:
        """Straight beam from ``start`` to ``end`` (3,): make the missing nodes, add it to the model and return it.

        ``start_node`` and ``end_node`` are used as the ends where given. They must be at ``start`` and ``end``, unless
        ``rigid_ends=True``, which connects them rigidly with the ends of the beam wherever they are.
        """
        label = f"Beam.line '{name}'" if name else "Beam.line"
        count, first, last = elements, np.asarray(start), np.asarray(end)
        span = float(np.linalg.norm(last - first))
        if span <= NO_LENGTH * max(np.abs(first).max(), np.abs(last).max()):
            raise ModelError(f"{label}: start and end are the same point {first}; the beam has no length")
        for what, node, place in (("start", start_node, first), ("end", end_node, last)):
            if node is not None:
                position = node.position
                if not rigid_ends and np.linalg.norm(position - place) > 1e-9 * span:
                    raise ModelError(
                        f"{label}: {node} is at {position}, not at the {what} of the beam {place}; rigid_ends=True "
                        "connects them rigidly"
                    )
        places = first + (last - first) * (np.arange(count + 1) / count)[:, None]
        # bad arguments are refused on a trial, before the model gets nodes
        trial = [make_node(f"{name or 'beam'}[{k}]", model.group, place) for k, place in enumerate(places)]
        cls(trial, section, y_axis, interpolation)
        for own in [] if name is None else [name, *(node.name for node in trial)]:
            model.check_name(own)
        given = {0: start_node, count: end_node}
        nodes = [
            given.get(k) or model.add_node(place, name=None if name is None else f"{name}[{k}]")
            for k, place in enumerate(places)
        ]
        ends = (place if rigid_ends and node else None for place, node in ((first, start_node), (last, end_node)))
        return model.add(cls(nodes, section, y_axis, interpolation, *ends), name=name)

    def section_forces(self, x: Array, R: Array) -> Array:
        """Section forces of each element in its section frame.

        Parameters
        ----------
        x, R : (..., p, 3), (..., p, 3, 3)
            Positions and rotations of the beam's nodes.

        Returns
        -------
        (..., elements, 6)
            Axial force, shear y, shear z, torsion, bending moments y, z; positive on the face that looks to the end.
        """
        d = relative_motion(*self._ends(x, R), [self] * len(self.length))
        s = strain(self.interpolation, d) - strain(self.interpolation, self.d0)
        forces: Array = (s / self.length[:, None]) @ self.section.stiffness.T
        return forces

    def centerline(self, x: Array, R: Array, stations: int) -> tuple[Array, Array]:
        """Points ``(..., elements, stations, 3)`` and section frames along each element, by its own interpolation.

        Parameters
        ----------
        x, R : (..., p, 3), (..., p, 3, 3)
            Positions and rotations of the beam's nodes.
        stations : int
            Points per element, both ends included.
        """
        ends, frames = self._ends(x, R)
        d = relative_motion(ends, frames, [self] * len(self.length))[..., None, :]
        s = np.linspace(0.0, 1.0, stations)[:, None]
        Q, y = se3.exp(s * d)
        points = ends[..., :1, :] + np.matvec(frames[..., :1, :, :], y)
        if self.interpolation == "R3xSO3":
            points = ends[..., :1, :] * (1 - s) + ends[..., 1:, :] * s
        return points, frames[..., :1, :, :] @ Q

    def _ends(self, x: Array, R: Array) -> tuple[Array, Array]:
        """Both ends of each element ``(..., k, 2, 3)`` and their section frames."""
        R = pairs(R, -3)
        return pairs(x, -2) + np.matvec(R, self.offsets), R @ self.frames

    def picture(self, number: Numbering, stations: int) -> Picture:
        """Its centre line and the surface of its cross-section."""
        return BeamPicture(self, np.array([number(node) for node in self.nodes]), stations)

    def batch_key(self) -> Hashable:
        """Beams with one interpolation share a batch, damped ones apart."""
        return self.interpolation, bool(self.section.damping.any())

    @classmethod
    def batch(cls, elements: Sequence[Beam], number: Numbering) -> ElementBatch:
        """The elements of all beams."""
        return BeamBatch(elements, number)


def _chain(nodes: Iterable[Node]) -> tuple[Node, ...]:
    if not isinstance(nodes, Iterable):
        raise ModelError(f"Beam: nodes must be a sequence of nodes, received {shown(nodes)}")
    chain = tuple(check_node(node, f"Beam: nodes[{k}]") for k, node in enumerate(nodes))
    if len(chain) < 2:
        raise ModelError(f"Beam: a beam needs at least two nodes, received {len(chain)}")
    closed = chain[0] is chain[-1] and len(chain) > 3
    for node, times in Counter(chain[1:] if closed else chain).items():
        if times > 1:
            raise ModelError(f"Beam: {node} is {times} times in the chain; only a closed ring may end where it starts")
    return chain


def pairs(values: Array, axis: int = 0) -> Array:
    """Values of both ends of each element of a chain, ``(..., k, 2, ...)`` from ``(..., k + 1, ...)`` at ``axis``."""
    first = np.moveaxis(values, axis, 0)
    axis = axis % values.ndim
    return np.moveaxis(np.stack([first[:-1], first[1:]], axis=1), (0, 1), (axis, axis + 1))
