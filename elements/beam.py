"""Geometrically exact beam: a chain of two-node elements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.arrays import Array
from fem_mbs.elements.beam_batch import BeamBatch, relative_motion
from fem_mbs.elements.beam_geometry import NO_LENGTH, section_frames
from fem_mbs.elements.section import BeamSection
from fem_mbs.elements.strain import INTERPOLATIONS, strain
from fem_mbs.errors import ModelError
from fem_mbs.lie import se3
from fem_mbs.model import (
    Element,
    ElementBatch,
    Model,
    Node,
    Numbering,
    check_node,
    direction,
    instance,
    make_node,
    number,
    shown,
    vector,
)


class Beam(Element):
    """A beam through a chain of nodes, stress-free as built.

    Parameters
    ----------
    nodes : sequence of Node
        At least two, from start to end. A chain along an arc becomes a curved beam; where it turns by more than 30
        degrees at a node it has a corner.
    section : BeamSection
        Its cross-section.
    y_axis : (3,), optional
        World direction of the section's y axis (its part across the beam). By default y is horizontal and z points up
        at the start, the world's y for a vertical start, and turns as little as possible along the chain.
    interpolation : {"SE3", "R3xSO3"}
        Constant strain in se(3), or linear centre line with one-point quadrature; independent of the group of the
        nodes.

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
        y_axis: ArrayLike | None = None,
        interpolation: str = "SE3",
    ) -> None:
        self.nodes = _chain(nodes)
        label = str(self)
        instance(section, BeamSection, f"{label}: section")
        if interpolation not in INTERPOLATIONS:
            raise ModelError(
                f"{label}: interpolation must be one of {', '.join(INTERPOLATIONS)}, received {shown(interpolation)}"
            )
        self.section = section
        self.interpolation = interpolation
        y = None if y_axis is None else direction(y_axis, f"{label}: y_axis")
        world = section_frames(self.nodes, y, label)
        x, R = (np.array([getattr(node, name) for node in self.nodes]) for name in ("position", "rotation"))
        self.frames = np.swapaxes(pairs(R), -1, -2) @ world
        """Section frames ``(k, 2, 3, 3)`` of both ends of each element in the frames of their nodes."""
        self.d0 = relative_motion(pairs(x), world, [self] * len(world))
        """Relative motion ``(k, 6)`` of the ends as built."""
        self.length = np.linalg.norm(self.d0[:, :3], axis=1)

    @classmethod
    def line(
        cls,
        model: Model,
        start: ArrayLike,
        end: ArrayLike,
        section: BeamSection,
        elements: int = 10,
        start_node: Node | None = None,
        end_node: Node | None = None,
        y_axis: ArrayLike | None = None,
        interpolation: str = "SE3",
        name: str | None = None,
    ) -> Beam:
        """Straight beam from ``start`` to ``end`` (3,): make the missing nodes, add it to the model and return it.

        ``start_node`` and ``end_node`` are used as the ends where given; they must be at ``start`` and ``end``.
        """
        label = f"Beam.line '{name}'" if name else "Beam.line"
        instance(model, Model, f"{label}: model")
        count = int(number(elements, f"{label}: elements"))
        if count != elements or count < 1:
            raise ModelError(f"{label}: elements must be a whole number of at least 1, received {elements}")
        first, last = vector(start, f"{label}: start"), vector(end, f"{label}: end")
        span = float(np.linalg.norm(last - first))
        if span <= NO_LENGTH * max(np.abs(first).max(), np.abs(last).max()):
            raise ModelError(f"{label}: start and end are the same point {first}; the beam has no length")
        for what, node, place in (("start", start_node, first), ("end", end_node, last)):
            if node is not None:
                position = check_node(node, f"{label}: {what}_node").position
                if np.linalg.norm(position - place) > 1e-9 * span:
                    raise ModelError(f"{label}: {node} is at {position}, not at the {what} of the beam {place}")
        # bad arguments are refused on a trial, before the model gets nodes
        names = ("start", "end") if name is None else (f"{name}[0]", f"{name}[{count}]")
        trial = [make_node(label, model.group, p) for label, p in zip(names, (first, last), strict=True)]
        cls(trial, section, y_axis, interpolation)
        nodes = []
        for k in range(count + 1):
            given = start_node if k == 0 else end_node if k == count else None
            label_k = None if name is None else f"{name}[{k}]"
            nodes.append(given or model.add_node(first + (last - first) * (k / count), name=label_k))
        return model.add(cls(nodes, section, y_axis, interpolation), name=name)

    def section_forces(self, x: Array, R: Array) -> Array:
        """Section forces of each element in its section frame.

        Parameters
        ----------
        x, R : (..., nodes, 3), (..., nodes, 3, 3)
            Positions and rotations of the beam's nodes.

        Returns
        -------
        (..., elements, 6)
            Axial force, shear y, shear z, torsion, bending moments y, z; positive on the face that looks to the end.
        """
        d = relative_motion(pairs(x, -2), pairs(R, -3) @ self.frames, [self] * len(self.length))
        s = strain(self.interpolation, d) - strain(self.interpolation, self.d0)
        forces: Array = (s / self.length[:, None]) @ self.section.stiffness.T
        return forces

    def centerline(self, x: Array, R: Array, stations: int) -> tuple[Array, Array]:
        """Points ``(..., elements, stations, 3)`` and section frames along each element, by its own interpolation.

        Parameters
        ----------
        x, R : (..., nodes, 3), (..., nodes, 3, 3)
            Positions and rotations of the beam's nodes.
        stations : int
            Points per element, both ends included.
        """
        ends, frames = pairs(x, -2), pairs(R, -3) @ self.frames
        d = relative_motion(ends, frames, [self] * len(self.length))[..., None, :]
        s = np.linspace(0.0, 1.0, stations)[:, None]
        Q, y = se3.exp(s * d)
        points = ends[..., :1, :] + np.matvec(frames[..., :1, :, :], y)
        if self.interpolation == "R3xSO3":
            points = ends[..., :1, :] * (1 - s) + ends[..., 1:, :] * s
        return points, frames[..., :1, :, :] @ Q

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
