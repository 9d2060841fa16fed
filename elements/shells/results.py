"""What a shell shows: resultants and stresses at the centres of its elements, and its picture.

It is drawn as its surface by its own interpolation, or both faces and the rim of its thickness.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Cells, Kind, Motion
from fem_mbs.elements.beams.curve_strain import RelativeCoordinates
from fem_mbs.elements.shells.geometry import shared_sides
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
        turned = R[..., cells, :, :] @ self.shell.frames
        return quad_coordinates(
            x[..., cells, :].reshape(-1, 4, 3), turned.reshape(-1, 4, 3, 3), [self.shell] * len(cells)
        )

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
        middle = shell.section.offset
        self.heights = np.array([middle + half, middle - half]) if shell.thick else np.array([middle])
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
