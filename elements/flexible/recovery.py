"""The mesh of a flexible body as deformed: where its points are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Cells, Kind, Motion
from fem_mbs.elements.flexible.floating_frame import Attachments, FrameRates
from fem_mbs.elements.flexible.reduction import Reduction, Skin
from fem_mbs.elements.flexible.stiffening import CASES, ShortenedElasticity


class BodyPicture:
    """The surface of a body whose nodes are in ``rows``, or lines from its middle to its interfaces."""

    def __init__(self, rows: list[int], own: IntArray, recovered: Callable[..., Recovered], skin: Skin) -> None:
        self._rows, self._own, self._recovered, self._skin, p = rows, own, recovered, skin, len(rows)
        if len(skin.triangles):
            kind, cells, shape = Kind.SURFACE, skin.triangles, "triangle"
        else:
            kind, shape = Kind.LINE, "line"
            cells = np.stack([np.zeros(p, np.intp), np.arange(1, p + 1)], axis=1)
        numbers = {"part": np.full(len(cells), kind), "element_id": np.arange(len(cells))}
        self.cells = [Cells(shape, cells, numbers)]

    def draw(self, motion: Motion, multipliers: Array) -> dict[str, Array]:
        """Points where they are, and their velocities; the surface turns as the frame."""
        x, R, V = motion.x[self._rows], motion.R[self._rows], motion.V[self._rows]
        body = self._recovered(x[None], R[None], motion.u[self._own][None])
        frame, velocity = body.velocities(V[None], motion.udot[self._own][None])
        if not len(self._skin.triangles):
            fields = {"points": (body.frame.x, x), "velocity": (frame[:, :3], np.matvec(R, V[:, :3]))}
            fields["angular_velocity"] = (frame[:, 3:], np.matvec(R, V[:, 3:]))
            return {name: np.concatenate(parts) for name, parts in fields.items()}
        result = {"points": body.points()[0], "velocity": velocity[0]}
        result["angular_velocity"] = np.broadcast_to(frame[:, 3:], velocity[0].shape)
        if len(self._skin.stress):
            stress = body.stress(slice(None))[0]
            result |= {"normal_stress": stress[:, :3], "shear_stress": stress[:, 3:], "von_mises": von_mises(stress)}
        return result


def von_mises(stress: Array) -> Array:
    """Equivalent stress of ``(..., 6)``: xx, yy, zz, yz, xz, xy."""
    normal, shear = stress[..., :3], stress[..., 3:]
    apart = normal - np.roll(normal, 1, axis=-1)
    return np.sqrt(0.5 * np.vecdot(apart, apart) + 3.0 * np.vecdot(shear, shear))


class LargestStress(NamedTuple):
    """Over the surface of a body, at each time."""

    von_mises: Array
    """``(nt,)``, N/m^2."""
    point: Array
    """Where, ``(nt, 3)``, in the coordinates of the mesh."""


class Recovered:
    """A body over time: of nodes at ``x`` (nt, p, 3), ``R`` (nt, p, 3, 3), with amplitudes ``eta`` (nt, m)."""

    def __init__(self, reduction: Reduction, axes: Array, x: Array, R: Array, eta: Array) -> None:
        self.reduction = reduction
        own = reduction.places, reduction.projection, axes, np.array(reduction.size)
        self._attached = Attachments(*(part[None] for part in own))
        self.frame = self._attached.frame(x, R, eta)
        self.q = self.strained = np.concatenate([self.frame.d.reshape(len(x), -1), eta], axis=1)
        if len(reduction.second_order) > CASES:
            elasticity = ShortenedElasticity(reduction.stiffness[None], reduction.second_order[None, CASES:])
            self.strained = elasticity.strained(self.q)

    def points(self, rows: Any = slice(None)) -> Array:
        """Those kept of the mesh, or some ``(nt, k, 3)``, or one ``(nt, 3)``, from the origin of ``x``."""
        seen = self.reduction.surface.points[rows] + self._displaced(rows, self.q)
        if seen.ndim == 2:
            return self.frame.x + np.matvec(self.frame.R, seen)
        return self.frame.x[:, None] + seen @ self.frame.R.mT

    def _displaced(self, rows: Any, q: Array) -> Array:
        return np.moveaxis(self.reduction.surface.shapes[rows] @ q.T, -1, 0)

    def velocities(self, V: Array, eta_dot: Array) -> tuple[Array, Array]:
        """Of the frame ``(nt, 6)`` and of the points kept ``(nt, k, 3)``, world frame.

        With ``V`` (nt, p, 6) of the nodes, body axes, and rates of the amplitudes ``(nt, m)``.
        """
        v = np.concatenate([V.reshape(len(V), -1), eta_dot], axis=1)
        rates = FrameRates(self._attached, self.frame.d, v, np.zeros_like(v))
        seen = self.reduction.surface.points + self._displaced(slice(None), self.q)
        moves, spin = rates.V[:, None, :3], rates.V[:, None, 3:]
        inside = moves + np.cross(spin, seen) + self._displaced(slice(None), rates.q_dot)
        frame = (rates.V.reshape(-1, 2, 3) @ self.frame.R.mT).reshape(-1, 6)
        return frame, inside @ self.frame.R.mT

    def stress(self, rows: Any) -> Array:
        """Stress ``(nt, k, 6)`` of some points, or ``(nt, 6)`` of one, in the axes of the body."""
        return np.moveaxis(self.reduction.stress_rows(rows) @ self.strained.T, -1, 0)

    def largest(self) -> LargestStress:
        """The largest equivalent stress."""
        stress, skin = self.reduction.stress_rows(slice(None)), self.reduction.surface
        found = np.zeros(len(self.q)), np.zeros((len(self.q), 3))
        for k, q in enumerate(self.strained):
            equivalent = von_mises(stress @ q)
            worst = int(np.argmax(equivalent))
            found[0][k], found[1][k] = equivalent[worst], skin.points[worst] + self.reduction.center
        return LargestStress(*found)
