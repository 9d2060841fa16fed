"""What a shell shows, resultants, stresses and its picture, and what looks wrong of it.

It is drawn as its surface by its own interpolation, or both faces and the rim of its thickness. Doubtful are bad
shapes, neighbours that look the other way, thick ones, and parts held by drilling.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.contracts import Cells, Kind, ModelContext, Motion, Node
from fem_mbs.elements.beams.beam import Beam
from fem_mbs.elements.beams.curve_strain import RelativeCoordinates
from fem_mbs.elements.beams.looks import HALF, of_units, over_damped
from fem_mbs.elements.joints.relative import RelativeJoint
from fem_mbs.elements.shells.geometry import corner_normals, shared_sides
from fem_mbs.elements.shells.section import strains_turned
from fem_mbs.elements.shells.strains import CENTER, ShellPoints, bilinear, quad_coordinates
from fem_mbs.errors import ModelError
from fem_mbs.lie import se3

if TYPE_CHECKING:
    from fem_mbs.elements.shells.shell import Shell

FACES = {"top": 2, "bottom": 1}
"""Where the heights of both sides of a ply are in the table of plies."""


class ShellResults:
    """What solutions ask of a shell, in the axes of the elements: 1 along the first parameter, 3 along the normal."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self._points = ShellPoints(shell.d0, CENTER)
        self._law = shell.section.turned(shell.turn[:, 4])

    def coordinates(self, x: Array, R: Array) -> RelativeCoordinates:
        """Of all elements at instants one after the other, for nodes at ``x`` (..., m, 3), ``R`` (..., m, 3, 3)."""
        cells = self.shell.cells
        R = R[..., cells, :, :]
        middle, turned = x[..., cells, :] + np.matvec(R, self.shell.middle), R @ self.shell.frames
        return quad_coordinates(middle.reshape(-1, 4, 3), turned.reshape(-1, 4, 3, 3), [self.shell] * len(cells))

    def strains(self, x: Array, R: Array) -> Array:
        """Membrane, bending and shear strains ``(..., k, 8)`` at the centres."""
        d = self.coordinates(x, R).d.reshape(*x.shape[:-2], -1, 4, 6)
        return self._points.strains(d, self._points.rows(d))[0][..., 0, :8]

    def forces(self, x: Array, R: Array) -> Array:
        """Forces and moments per length ``(..., k, 8)``: n11 n22 n12 (N/m), m11 m22 m12 (N), q1 q2 (N/m)."""
        return np.matvec(self._law, self.strains(x, R))

    def stress(self, x: Array, R: Array, side: str, ply: int | None) -> Array:
        """Stress 11, 22, 12 ``(..., k, 3)`` in N/m^2, at the side of a shell in its axes, or of a ply in its own."""
        section, own = self.shell.section, self.shell.turn[:, 4]
        if section.modulus is None:
            raise ModelError(
                f"{self.shell} has a section made by ShellSection.general, of which no stresses are known; those made "
                "by isotropic and laminate have some"
            )
        count = len(section.plies)
        if ply is not None and not -count <= ply < count:
            raise ModelError(f"{self.shell} has no ply {ply}; it has {count}, counted from 0 at the bottom")
        outer = count - 1 if side == "top" else 0
        which = outer if ply is None else ply % count
        stress = section.stress(self.strains(x, R), own, which, section.plies[which, FACES[side]])
        if ply is None:
            stress = np.vecmat(stress, strains_turned(own + section.plies[which, 0]))
        return stress


def principal(stress: Array) -> Array:
    """Largest and smallest principal stress and von Mises' ``(..., 3)`` of plane stress 11, 22, 12."""
    s11, s22, s12 = np.moveaxis(stress, -1, 0)
    mean, radius = 0.5 * (s11 + s22), np.hypot(0.5 * (s11 - s22), s12)
    return np.stack([mean + radius, mean - radius, np.sqrt(mean**2 + 3.0 * radius**2)], axis=-1)


POINTS = 4
"""Along each side of an element, as elements are curved."""


class ShellPicture:
    """One shell, whose elements share no points, because forces jump from one to the next.

    Point data beside the motion: "membrane_force" (n11, n22, n12), "bending_moment" (m11, m22, m12), "shear_force"
    (q1, q2, 0), and, where stresses are known, "stress_top" and "stress_bottom": both principal ones and von Mises'. Of
    laminates "ply_0_top", "ply_0_bottom" and so on, from the bottom up: stresses 11, 22, 12 in the axes of the ply.
    """

    def __init__(self, shell: Shell, rows: IntArray) -> None:
        self.shell, self.rows, self.results = shell, rows, shell.results
        s = np.linspace(-1.0, 1.0, POINTS)
        self.values, _ = bilinear(np.stack(np.meshgrid(s, s, indexing="ij"), axis=-1).reshape(-1, 2))
        half = 0.5 * shell.section.thickness
        self.heights = np.array([half, -half]) if shell.thick else np.zeros(1)
        k = len(shell.cells)
        point = np.arange(len(self.heights) * k * POINTS**2).reshape(len(self.heights), k, POINTS, POINTS)
        top = _faces(point[0])
        quads, elements = [top], [np.repeat(np.arange(k), (POINTS - 1) ** 2)]
        if shell.thick:
            rim, of = self._rim(point)
            quads += [_faces(point[1])[:, ::-1], rim]
            elements += [elements[0], of]
        joined, element_id = np.concatenate(quads), np.concatenate(elements)
        self.cells = [Cells("quad", joined, {"part": np.full(len(joined), Kind.SURFACE), "element_id": element_id})]

    def draw(self, motion: Motion, multipliers: Array) -> dict[str, Array]:
        """Points, velocities as the nodes', forces and stresses of the elements."""
        x, R, V = motion.x[self.rows], motion.R[self.rows], motion.V[self.rows]
        relative = self.results.coordinates(x, R)
        turn, y = se3.exp(self.values @ relative.d)
        frames = relative.R[:, None] @ turn
        surface = relative.x[:, None] + np.matvec(relative.R[:, None], y)
        points = surface + self.heights[:, None, None, None] * frames[..., 2]
        cells = self.shell.cells
        omega = self.values @ np.matvec(R, V[:, 3:])[cells]
        velocity = self.values @ np.matvec(R, V[:, :3])[cells] + np.cross(omega, points - self.values @ x[cells])
        fields = {"points": points, "velocity": velocity, "angular_velocity": omega}
        fields |= {f"e{i + 1}": frames[..., i] for i in range(3)}
        forces = self.results.forces(x, R)
        shear = np.concatenate([forces[:, 6:], np.zeros((len(forces), 1))], axis=1)
        own = {"membrane_force": forces[:, :3], "bending_moment": forces[:, 3:6], "shear_force": shear}
        if self.shell.section.modulus is not None:
            stress, plies = self.results.stress, range(len(self.shell.section.plies))
            own |= {f"stress_{side}": principal(stress(x, R, side, None)) for side in FACES}
            if len(plies) > 1:
                own |= {f"ply_{ply}_{side}": stress(x, R, side, ply) for ply in plies for side in FACES}
        fields |= {name: values[:, None] for name, values in own.items()}
        return {name: np.broadcast_to(values, points.shape).reshape(-1, 3) for name, values in fields.items()}

    def _rim(self, point: IntArray) -> tuple[IntArray, IntArray]:
        """Faces between top and bottom where the surface ends, and their elements."""
        alone = np.ones((len(self.shell.cells), 4), dtype=bool)
        for sides in shared_sides(self.shell.cells)[:2]:
            alone.flat[sides] = False
        points = (point[..., :, 0], point[..., -1, :], point[..., ::-1, -1], point[..., 0, ::-1])
        faces, of = [], []
        for side, along in enumerate(points):
            elements = np.flatnonzero(alone[:, side])
            top, bottom = along[0, elements], along[1, elements]
            quads = np.stack([bottom[:, :-1], bottom[:, 1:], top[:, 1:], top[:, :-1]], axis=-1)
            faces.append(quads.reshape(-1, 4))
            of.append(np.repeat(elements, POINTS - 1))
        return np.concatenate(faces), np.concatenate(of)


def _faces(point: IntArray) -> IntArray:
    """Quads ``(m, 4)`` of points ``(k, a, b)``."""
    quads = np.stack([point[:, :-1, :-1], point[:, 1:, :-1], point[:, 1:, 1:], point[:, :-1, 1:]], axis=-1)
    return quads.reshape(-1, 4)


CORNERS = 20.0, 160.0
"""Angles in degrees that corners should be between."""
WARP, LEAN, ASPECT, THICK = 15.0, 10.0, 20.0, 1.0
"""Largest angles in degrees between normals of corners, and of those that are taken against the element, longest edge
over shortest, thickness over shortest edge."""
THICKEST = 0.5
"""Thickness in m from which on it looks like millimetres in a large model without gravity."""
LEAST = 0.1
"""Of a normal that is off the free axes of a joint: by more, the joint turns what it holds along."""


def doubts(shell: Shell, around: ModelContext) -> Iterator[str]:
    """What looks wrong, a sentence each."""
    yield from shapes(shell)
    yield from _against_others(shell, around)
    section, places = shell.section, [node.position for node in shell.nodes]
    t = section.thickness
    yield from of_units(section.mass / t, float(section.stiffness[0, 0]) / t, around, t > THICKEST)
    bending = 1.0 / np.diag(np.linalg.inv(section.stiffness))[3:5].max()
    length = max(float(np.linalg.norm(np.ptp(places, axis=0))), HALF * around.extent)
    yield from over_damped(section.damping, bending, section.mass, length)
    for node, part in _held_by_drilling(shell, around):
        yield (
            f"{part} joins its {node} to what nothing else holds: only the weak stiffness of one node against drilling "
            "keeps this from turning about the normal; join it to more nodes of the shell, or hold it elsewhere"
        )


def _against_others(shell: Shell, around: ModelContext) -> Iterator[str]:
    """Shells before it with which it has edges in common, along which both go in the same direction."""
    shells: list[Shell] = [part for part in around.number.parts if isinstance(part, type(shell))]
    number = around.number
    rows = [np.array([number(node) for node in own.nodes])[own.cells] for own in shells]
    owner = np.repeat(np.arange(len(shells)), [len(own) for own in rows])
    here, there = opposite(np.concatenate(rows))
    first, second = np.sort([owner[here], owner[there]], axis=0)
    for k in np.unique(first[(first != second) & (second == shells.index(shell))]):
        yield (
            f"goes round an edge that it has in common with {shells[k]} the same way, so that their normals are "
            "opposite; list the nodes of both counter-clockwise about one side, or swap u and v of one"
        )


def _turns_with(part: object, node: Node, normal: Array) -> bool:
    """Whether what a part joins to a node turns with it about a direction: a beam, and a joint with no such axis."""
    if not isinstance(part, RelativeJoint):
        return isinstance(part, Beam)
    axes = node.rotation @ part.axes[0 if node is part.nodes[0] else -1]
    turning = [own.name for own in part.coordinates if own.angle and own.name not in part.driven]
    free = axes[:, ["xyz".index(name[-1]) for name in turning]]
    return bool(np.linalg.norm(normal - free @ (normal @ free)) > LEAST)


def _held_by_drilling(shell: Shell, around: ModelContext) -> Iterator[tuple[Node, Beam | RelativeJoint]]:
    """Beams and joints from a node of the shell to what has no other way to a shell, the ground or a held node."""
    links = defaultdict(list)
    shells: set[Node] = set()
    for part in around.number.parts:
        if isinstance(part, type(shell)):
            shells.update(part.nodes)
        else:
            for node in part.nodes:
                links[node].append(part)
    normals = dict(zip(shell.cells.ravel().tolist(), shell.frames[..., 2].reshape(-1, 3), strict=True))
    for k, node in enumerate(shell.nodes):
        for part in links[node]:
            if not _turns_with(part, node, node.rotation @ normals[k]):
                continue
            reached, waiting, held = {node}, [node], False
            while waiting and not held:
                found = {other for link in links[waiting.pop()] for other in link.nodes} - reached
                held = any(other in shells or other.fixed_rotation or around.number(other) == 0 for other in found)
                reached |= found
                waiting += found
            if not held:
                yield node, part


def shapes(shell: Shell) -> Iterator[str]:
    """Of its elements."""
    x = np.array([node.position for node in shell.nodes])[shell.cells]
    edges = np.roll(x, -1, axis=1) - x
    lengths = np.linalg.norm(edges, axis=-1)
    before = -np.roll(edges, 1, axis=1)
    cosine = np.vecdot(edges, before) / (lengths * np.roll(lengths, 1, axis=1))
    angles = np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))
    normals = corner_normals(x)
    warp = np.degrees(np.arccos(np.clip(np.vecdot(normals[:, None], normals[:, :, None]), -1.0, 1.0))).max(axis=(1, 2))
    aspect = lengths.max(axis=1) / lengths.min(axis=1)
    bad = (angles < CORNERS[0]) | (angles > CORNERS[1])
    sharpest = np.where(90.0 - angles > angles - 90.0, angles, 180.0 - angles).min(axis=1)
    where = angles[np.arange(len(angles)), np.abs(angles - 90.0).argmax(axis=1)]
    yield from _worst(
        shell, bad.any(axis=1), -sharpest, where, "has a corner of {:.0f} degrees, where 20 to 160 are good"
    )
    yield from _worst(shell, warp > WARP, warp, warp, "is warped by {:.0f} degrees, more than 15; use smaller ones")
    yield from _worst(shell, aspect > ASPECT, aspect, aspect, "has sides of 1 to {:.0f}, more than 20")
    own = (np.array([node.rotation for node in shell.nodes])[shell.cells] @ shell.frames)[..., 2].sum(axis=1)
    flat = np.cross(x[:, 2] - x[:, 0], x[:, 3] - x[:, 1])
    lean = np.degrees(np.arctan2(np.linalg.norm(np.cross(own, flat), axis=1), np.vecdot(own, flat)))
    leans = "has normals that lean by {:.0f} degrees, by which its area is less; look at normals="
    yield from _worst(shell, lean > LEAN, lean, lean, leans)
    h, shortest = shell.section.thickness, lengths.min(axis=1)
    thick = h / shortest
    yield from _worst(
        shell,
        thick > THICK,
        thick,
        shortest,
        f"has an edge of {{:.3g}}, shorter than the thickness {h:.3g}; look at units",
    )
    here, there = opposite(shell.cells)
    if len(here):
        yield (
            f"its elements {here[0] + 1} and {there[0] + 1} go round their common edge the same way, so that their "
            f"normals are opposite{_more(len(here))}; list the nodes of all elements counter-clockwise about one side"
        )


def _worst(shell: Shell, which: BoolArray, measure: Array, value: Array, text: str) -> Iterator[str]:
    """A sentence on the worst element of those that are bad."""
    if which.any():
        element = int(np.argmax(np.where(which, measure, -np.inf)))
        corners = ", ".join(str(shell.nodes[k]) for k in shell.cells[element])
        yield f"its element {element + 1} with {corners} {text.format(value[element])}{_more(int(which.sum()))}"


def _more(count: int) -> str:
    return f" ({count} in all)" if count > 1 else ""


def opposite(cells: IntArray) -> tuple[IntArray, IntArray]:
    """Pairs of elements that have an edge to themselves, and go along it in the same direction."""
    here, there, alone = shared_sides(cells)
    start = cells.ravel()
    same = alone & (start[here] == start[there])
    return here[same] // 4, there[same] // 4
