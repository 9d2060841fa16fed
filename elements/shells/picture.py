"""How a shell is drawn: its surface by its own interpolation, or both faces and the rim of its thickness."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Cells, Kind, Motion
from fem_mbs.elements.shells.geometry import shared_sides
from fem_mbs.elements.shells.results import FACES, principal
from fem_mbs.elements.shells.strains import bilinear
from fem_mbs.lie import se3

if TYPE_CHECKING:
    from fem_mbs.elements.shells.shell import Shell

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
