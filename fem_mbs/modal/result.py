"""What a modal analysis returns: eigenvalues, shapes and their animations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path as FilePath
from typing import Annotated, Any, NoReturn

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Index, NodeOrName, Path, Positive, Public, State, checked, whole_number
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3
from fem_mbs.modal.linearize import LinearModel
from fem_mbs.pictures import pictures
from fem_mbs.pictures.film import Film
from fem_mbs.pictures.pictures import page
from fem_mbs.pictures.view import View
from fem_mbs.solution.outcome import Outcome, Stats
from fem_mbs.solution.solution import Solution

Frames = Annotated[int, partial(whole_number, least=2)]
DISPLACEMENT, ANGLE = 0.1, 0.5
"""Largest displacement, against the extent of the model, and largest angle that an animation shows by default."""


@dataclass(frozen=True, eq=False, repr=False)
class Modes(Public):
    """Motions ``Re(shape exp(eigenvalue t))`` about a state, lowest frequency first; ``print`` shows a table.

    Attributes
    ----------
    eigenvalues : (count,) complex
        In rad/s, one of each conjugate pair: ``i omega`` for a vibration, 0 for a motion without stiffness, real
        for a motion that creeps back (below zero) or runs away (above).
    shapes : (count, n, 6)
        Displacement and rotation vector of every node, in the world frame at the state, scaled to the modal mass
        ``shape^H M shape = 1``. Complex where parts of the model move out of phase.
    own : (count, k)
        Changes of the own unknowns of elements, likewise.
    linear : LinearModel
        The matrices and the state.
    """

    eigenvalues: Array
    shapes: Array
    own: Array
    linear: LinearModel

    @property
    def angular(self) -> Array:
        """Angular frequencies ``(count,)``, the size of the eigenvalues, in rad/s."""
        return np.abs(self.eigenvalues)

    @property
    def frequencies(self) -> Array:
        """Natural frequencies ``(count,)`` in Hz; a damped mode vibrates at ``sqrt(1 - damping^2)`` times that."""
        return self.angular / (2.0 * np.pi)

    @property
    def damping(self) -> Array:
        """Damping ratios ``(count,)``: 0 without damping, 1 where nothing swings, negative where the motion grows."""
        size = self.angular
        return 0.0 - np.divide(self.eigenvalues.real, size, out=np.zeros(len(size)), where=size > 0.0)

    @checked
    def displacement(self, node: NodeOrName) -> Array:
        """Displacement ``(count, 3)`` of a node, world frame."""
        return self.shapes[:, self._row(node), :3]

    @checked
    def rotation_vector(self, node: NodeOrName) -> Array:
        """Rotation vector ``(count, 3)`` of a node in rad, world frame."""
        return self.shapes[:, self._row(node), 3:]

    @checked
    def animation(self, mode: Index, amplitude: Positive | None = None, frames: Frames = 24) -> Solution:
        """One period of a mode (counted from 0) as a solution, without growth or decay.

        ``amplitude`` is the factor of the shape; by default a tenth of the extent of the model, or half a radian.
        Displacements are those of the shape however large, so that nodes that move together stay together. A mode
        without frequency takes 1 s.
        """
        if mode >= len(self.eigenvalues):
            raise ModelError(f"Modes: there is no mode {mode}; there are {len(self.eigenvalues)}, counted from 0")
        state, system = self.linear.state, self.linear.system
        shape, omega = self.shapes[mode], float(np.abs(self.eigenvalues[mode].imag)) or 2.0 * np.pi
        amplitude = amplitude or _amplitude(shape, system.length)
        states = []
        for t in np.linspace(0.0, 2.0 * np.pi / omega, frames + 1):
            phase = amplitude * np.exp(1j * omega * t)
            motion, rate = (phase * shape).imag, (1j * omega * phase * shape).imag
            x, R = state.x - system.origin + motion[:, :3], so3.exp(motion[:, 3:]) @ state.R
            V = np.matvec(R.mT[:, None], rate.reshape(-1, 2, 3)).reshape(-1, 6)
            u = state.u + (phase * self.own[mode]).imag
            v, still = system.kinematics.from_body(R, V), np.zeros_like(u)
            states.append(State(float(t), x, R, v, np.zeros_like(v), state.multipliers, u, still, still))
        steps = np.diff([drawn.t for drawn in states])
        counts = Stats(np.zeros(frames, np.intp), 0, 0, 0, 0, steps, 0.0)
        return Solution(system, states, Outcome.FINISHED, counts)

    @checked
    def save(self, path: Path) -> NoReturn:
        """Refused: files hold runs; a mode is one by its animation, and the numbers are arrays."""
        raise ModelError(
            f"{type(self).__name__}.save: '{path}' would hold a run, and shapes are none; save one by "
            "animation(mode).save(path), or the numbers, such as with numpy.savez(path, shapes=modes.shapes)"
        )

    @checked
    def to_paraview(
        self, path: Path, amplitude: Positive | None = None, frames: Frames = 24, **options: Any
    ) -> list[FilePath]:
        """Write one animation a mode: ``path_01.pvd``, ``path_02.pvd`` and so on.

        ``amplitude`` and ``frames`` as for :meth:`animation`, further options as for
        :func:`fem_mbs.files.paraview.write_paraview`.
        """
        stem = str(path).removesuffix(".pvd")
        return [
            self.animation(k, amplitude, frames).to_paraview(f"{stem}_{k + 1:02d}", **options)
            for k in range(len(self.eigenvalues))
        ]

    @checked
    def plot(
        self, mode: Index = 0, file: Path | None = None, *, amplitude: Positive | None = None, **options: Any
    ) -> View:
        """A picture of a mode (counted from 0) where it is largest, and in grey the lines of the state it swings about.

        ``amplitude`` as for :meth:`animation`, further options as for :meth:`fem_mbs.Model.plot`.
        """
        view = pictures.of_mode(self, mode, self._titled(mode), amplitude, **options)
        pictures.saved(view, file)
        return view

    @checked
    def animate(
        self,
        mode: Index = 0,
        file: Path | None = None,
        *,
        amplitude: Positive | None = None,
        duration: Positive = 2.0,
        fps: Positive = 25.0,
        **options: Any,
    ) -> Film:
        """A film of one period of a mode (counted from 0); see :meth:`fem_mbs.Solution.animate`."""
        motion = self.animation(mode, amplitude, max(round(duration * fps), 2))
        states = [motion.history.state(k) for k in range(len(motion.t) - 1)]
        film = pictures.of_states(motion.system, states, [self._titled(mode)] * len(states), fps, **options)
        pictures.saved(film, file)
        return film

    def _titled(self, mode: int) -> str:
        if mode >= len(self.eigenvalues):
            return ""
        return f"mode {mode + 1}: {self.frequencies[mode]:.4g} Hz"

    def __str__(self) -> str:
        rows = zip(self.frequencies, self.damping, strict=True)
        lines = [f"{k + 1:4d}{f:14.6g} Hz{z:12.4f}" for k, (f, z) in enumerate(rows)]
        return "\n".join(["mode     frequency     damping", *lines])

    def __repr__(self) -> str:
        return f"Modes: {len(self.eigenvalues)} from {self.frequencies[0]:.4g} to {self.frequencies[-1]:.4g} Hz"

    def _repr_html_(self) -> str:
        pairs = zip(self.frequencies, self.damping, strict=True)
        rows = [(k + 1, f"{f:.6g} Hz", f"{z:.4f}") for k, (f, z) in enumerate(pairs)]
        return page([("mode", "frequency", "damping"), *rows], "Modes", self.plot)

    def _row(self, node: NodeOrName) -> int:
        return self.linear.system.row(node)


def _amplitude(shape: Array, length: float) -> float:
    displacement, angle = np.abs(shape[:, :3]).max(), np.abs(shape[:, 3:]).max()
    tiny = np.finfo(float).tiny
    return float(min(DISPLACEMENT * length / max(displacement, tiny), ANGLE / max(angle, tiny)))
