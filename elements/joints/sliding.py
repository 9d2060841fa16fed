"""A node that travels along a beam that deforms.

The arc length ``sigma`` is an internal variable of the joint, a coordinate without mass. With the section frame there
(``elements/beams/track.py``), the node's point stands to the section at ``r + S c = 0``: three equations along the axes
of the section, whose multipliers obey ``epsilon . lambda = 0`` by the equation of ``sigma``: no force along the beam
(docs/curves.md, "Sliding joint").
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import TypeAlias

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import InternalVariable, Motion, Node, Numbering, Vector3, checked, lever, poses
from fem_mbs.contracts.constraint import ConstraintBatch, Coordinate, GeometricStiffnessBlocks, NodeLike, StepEnd
from fem_mbs.elements.beams.beam import Beam
from fem_mbs.elements.beams.track import BeamTracks, Sections, nearest, refuse_corners
from fem_mbs.elements.joints.coordinates import (
    JointFrame,
    Measure,
    TrackJoint,
    consistent_rates,
    cosine,
    together,
    translation,
)
from fem_mbs.elements.joints.frames import Frames, adjoint_inverse, nodal
from fem_mbs.elements.joints.relative import ROTATIONS, TRANSLATIONS
from fem_mbs.errors import ModelError, MotionError

ON_BEAM = 1e-8
"""Largest distance from the beam as built, against its length."""
BEYOND = 0.5
"""Share of the last element by which an iteration may leave the beam."""
COSINES = ((0, 2), (1, 2), (1, 0))
"""Axes of the section and of the node that stay perpendicular where the orientation is held."""


@checked
class SlidingJoint(TrackJoint):
    """A point of a node stays on a beam, along which it slides without friction, over all of its elements.

    Parameters
    ----------
    beam : Beam
        What it slides on, however it deforms; of any order and interpolation.
    node : Node
        What slides: of a body, of another beam, or the ground, through which the beam then slides.
    point : (3,), optional
        The point that is on the beam at t = 0, world frame; by default the position of the node.
    rotation : bool
        Whether the node also keeps its orientation against the section where it is: a sleeve. Else it turns freely.

    Notes
    -----
    Its coordinate, "travel", is how far it has moved along the beam, by the arc length as built, which is an internal
    variable of the joint: ``solution.internal_variables(joint, "arc length")`` counts from the start of the beam. A
    :class:`JointDrive` prescribes it, other forces on coordinates drive, damp or stop it. A run in which the node
    leaves the beam ends with a :class:`MotionError`. The multipliers are the force on the beam along the axes of the
    section.
    """

    coordinates = (Coordinate("travel", False),)

    def __init__(self, beam: Beam, node: NodeLike, point: Vector3 | None = None, *, rotation: bool = False) -> None:
        label = f"SlidingJoint on {beam}, {node}"
        if node in beam.nodes:
            raise ModelError(f"{label}: {node} is a node of the beam, and cannot slide along it; give another node")
        self.beam, self.nodes, self.rotation = beam, (*beam.nodes, node), rotation
        place = node.position if point is None else np.asarray(point)
        self.offset = lever(node, point)
        self.tracks = BeamTracks([beam])
        refuse_corners(beam, label)
        x, R = poses(beam.nodes)
        section = Sections(self.tracks, np.zeros(1, np.intp), x[None], R[None], np.array([sigma := self._sigma()]))
        gap = float(np.linalg.norm(section.x[0] - place))
        if gap > ON_BEAM * float(self.tracks.lengths[0]):
            raise ModelError(
                f"{label}: the point {place} is {gap:.4g} m from the beam, whose nearest place is {section.x[0]}, "
                f"{sigma:.6g} m from its start; a point on the beam is needed"
            )
        self.axes = (node.rotation.T @ section.R[0],)
        """Axes of the section as built, as columns in the frame of the node."""
        self.equations = (*TRANSLATIONS, *(ROTATIONS if rotation else ()))

    @property
    def internal_variables(self) -> tuple[InternalVariable, ...]:  # type: ignore[override]
        """The arc length, where the node is now."""
        sigma = self._sigma()
        (rate,) = consistent_rates(self, np.array([sigma]))
        return (
            InternalVariable("arc length", "coordinate", sigma, rate, size=float(self.tracks.lengths[0]), unit="m"),
        )

    @property
    def rotation_dependent(self) -> tuple[Node, ...]:
        """The nodes of the beam, and the one that slides if its point is not at it or its orientation is held."""
        return self.nodes if self.rotation or self.offset.any() else self.nodes[:-1]

    def batch_key(self) -> Hashable:
        """Joints on beams alike, with the same equations, share a batch."""
        return len(self.nodes), self.beam.order, self.rotation

    def _sigma(self) -> float:
        node = self.nodes[-1]
        return nearest(self.tracks, *poses(self.beam.nodes), node.position + node.rotation @ self.offset)


Bent: TypeAlias = tuple[Array, IntArray]
"""``H`` (m, c, c) of all equations against the columns ``(m, c)`` that they have, and these."""
SlidingContext: TypeAlias = tuple[IntArray, Callable[[], Bent]]
"""The elements in which nodes are, and what says the second derivatives."""


class SlidingBatch(ConstraintBatch, of=SlidingJoint):
    """Joints on beams with equal numbers of nodes, each with ``m`` equations."""

    own: IntArray
    owners: Sequence[SlidingJoint]

    def __init__(self, joints: Sequence[SlidingJoint], number: Numbering) -> None:
        super().__init__(joints, number)
        self.tracks = BeamTracks([joint.beam for joint in joints])
        self._m, n = len(joints[0].equations), len(joints)
        self.length = np.tile([name not in ROTATIONS for name in joints[0].equations], n)
        self._held = joints[0].rotation
        k = len(self.tracks.cells)
        self.geometric_blocks = GeometricStiffnessBlocks(
            np.repeat(np.arange(n), k), np.tile(self._columns(np.arange(k)), (n, 1))
        )
        axes, points = np.array([joint.axes[-1] for joint in joints]), np.array([joint.offset for joint in joints])
        self._frame = JointFrame(np.broadcast_to(np.eye(3), axes.shape), axes, 0.0 * points, points)

    def evaluate(self, motion: Motion, prescribed: None) -> tuple[Array, Array, SlidingContext]:
        x, R, sigma = motion.x.take(self.nodes, 0), motion.R.take(self.nodes, 0), motion.u[self.own[:, 0]]
        if text := self._off(sigma, BEYOND, motion.t):
            raise MotionError(text)
        sections, Ad, (phi, b, _) = self._seen(np.arange(len(self.nodes)), x, R, sigma)
        B = np.zeros((*phi.shape, 6 * self.nodes.shape[1] + 1))
        own = self._columns(sections.element)
        columns = np.broadcast_to(own[:, None], (*B.shape[:2], own.shape[1]))
        along = -(b @ Ad) @ sections.gradient
        np.put_along_axis(B, columns, np.concatenate([along[..., :-1], b, along[..., -1:]], axis=-1), -1)

        @cache
        def bent() -> Bent:
            # the sections of all joints once more for each of their equations
            rows = self.cell
            sections, Ad, measured = self._seen(rows, x[rows], R[rows], sigma[rows])
            of = np.arange(len(rows)), np.tile(np.arange(self._m), len(self.nodes))
            b, bend = measured.gradient[of], measured.bend()[of]
            return _pulled(nodal(Ad, bend, b), b, Ad, sections), self._columns(sections.element)

        return phi.ravel(), B.reshape(-1, B.shape[-1]), (sections.element, bent)

    def second(self, context: SlidingContext) -> Array:
        (compact, columns), size = context[1](), 6 * self.nodes.shape[1] + 1
        result = np.zeros((len(compact), size, size))
        result[np.arange(len(compact))[:, None, None], columns[:, :, None], columns[:, None]] = compact
        return result

    def stiffness(self, context: SlidingContext, multipliers: Array) -> Array:
        """``sum lambda H`` in the blocks of all elements of the beams ``(n k, c, c)``, zero but where a node is."""
        element, bent = context
        compact, _ = bent()
        every = (multipliers[:, None, None] * compact).reshape(-1, self._m, *compact.shape[1:])
        result = np.zeros((len(self.nodes), len(self.tracks.cells), *compact.shape[1:]))
        result[np.arange(len(self.nodes)), element] = every.sum(axis=1)
        return result.reshape(-1, *compact.shape[1:])

    def rate_gradient(self, context: SlidingContext, V: Array) -> Array:
        compact, columns = context[1]()
        result = np.zeros((len(self.cell), V.shape[1]))
        moving = np.take_along_axis(V[self.cell], columns, axis=1)
        np.put_along_axis(result, columns, np.vecmat(moving, compact), -1)
        return result

    def astray(self, end: StepEnd) -> str:
        return self._off(end.u[self.own[:, 0]], 0.0, end.t)

    def _off(self, sigma: Array, share: float, t: float) -> str:
        """Which node is further off its beam than a share of the element at the end; empty if none is."""
        borders = self.tracks.borders
        first = -share * borders[:, 1] - ON_BEAM * borders[:, -1]
        last = borders[:, -1] + share * (borders[:, -1] - borders[:, -2]) + ON_BEAM * borders[:, -1]
        off = ((sigma < first) | (sigma > last)) & ~self.tracks.closed
        if not off.any():
            return ""
        k = int(np.argmax(off))
        joint, end = self.owners[k], "start" if sigma[k] < first[k] else "end"
        return (
            f"{joint}: {joint.nodes[-1]} runs off the {end} of {joint.beam} at t = {t:.6g} s (arc length "
            f"{sigma[k]:.6g} m of {borders[k, -1]:.6g} m); end the run before, make the beam longer, or stop it by a "
            "JointStop"
        )

    def _seen(self, rows: IntArray, x: Array, R: Array, sigma: Array) -> tuple[Sections, Array, Measure]:
        """Sections at the joints ``rows`` (r,), by nodes and arc lengths, the adjoints, and the equations (r, m)."""
        sections = Sections(self.tracks, rows, x[:, :-1], R[:, :-1], sigma)
        frames = Frames(sections.R.mT @ R[:, -1], np.vecmat(x[:, -1] - sections.x, sections.R))
        joint = JointFrame(*(part[rows] for part in self._frame))
        equations = [translation(frames, joint, k) for k in range(3)]
        equations += [cosine(frames, joint, *pair) for pair in COSINES if self._held]
        return sections, adjoint_inverse(frames), together(equations)

    def _columns(self, elements: IntArray) -> IntArray:
        """Columns ``(r, 6p + 7)`` of the nodes of elements, of the node that slides, of the arc length."""
        q = self.nodes.shape[1] - 1
        cells = self.tracks.cells[elements]
        nodes = (6 * cells[..., None] + np.arange(6)).reshape(len(cells), -1)
        return np.concatenate([nodes, np.broadcast_to(6 * q + np.arange(7), (len(nodes), 7))], axis=-1)


def _pulled(H: Array, b: Array, Ad: Array, sections: Sections) -> Array:
    """``(r, 6p + 7, 6p + 7)`` for the nodes, from ``H`` (r, 12, 12) for the section and the node that slides."""
    G = sections.gradient
    c = G.shape[-1] + 6
    z, node = np.append(np.arange(c - 7), c - 1), np.arange(c - 7, c - 1)
    result = np.empty((len(H), c, c))
    result[:, z[:, None], z] = G.mT @ H[:, :6, :6] @ G + sections.geometric(-np.vecmat(b, Ad))
    result[:, z[:, None], node] = G.mT @ H[:, :6, 6:]
    result[:, node[:, None], z] = H[:, 6:, :6] @ G
    result[:, node[:, None], node] = H[:, 6:, 6:]
    return result
