"""Resultants and stresses of a shell at the centres of its elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.shells.middle import QuadCoordinates
from fem_mbs.elements.shells.section import strains_turned
from fem_mbs.elements.shells.strains import CENTER, ShellPoints
from fem_mbs.errors import ModelError

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

    def coordinates(self, x: Array, R: Array) -> QuadCoordinates:
        """Of all elements at instants one after the other, for nodes at ``x`` (..., m, 3), ``R`` (..., m, 3, 3)."""
        cells = self.shell.cells
        turned = R[..., cells, :, :] @ self.shell.frames
        return QuadCoordinates(
            x[..., cells, :].reshape(-1, 4, 3), turned.reshape(-1, 4, 3, 3), [self.shell] * len(cells)
        )

    def strains(self, x: Array, R: Array) -> Array:
        """Membrane, bending and shear strains ``(..., k, 8)`` at the centres."""
        d = self.coordinates(x, R).d.reshape(*x.shape[:-2], -1, 4, 6)
        return self._points.strains(d, self._points.rows(d))[0][..., 0, :8]

    def forces(self, x: Array, R: Array) -> Array:
        """Forces and moments per length ``(..., k, 8)``: n11 n22 n12 (N/m), m11 m22 m12 (N), q1 q2 (N/m)."""
        forces: Array = np.matvec(self._law, self.strains(x, R))
        return forces

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
