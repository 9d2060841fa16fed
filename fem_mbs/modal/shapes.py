"""Shapes of small motions about a state: what modes and buckling have in common, pictures and animations.

docs/modes.md, "Animations".
"""

from __future__ import annotations

from functools import partial
from itertools import groupby
from pathlib import Path as FilePath
from typing import Annotated, Any, NoReturn

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Path, Positive, Public, State, checked, whole_number
from fem_mbs.contracts.arguments import Index
from fem_mbs.contracts.constraint import NodeOrName
from fem_mbs.errors import LOG, ModelError
from fem_mbs.lie import so3
from fem_mbs.modal.linear_model import LinearModel
from fem_mbs.pictures import pictures
from fem_mbs.pictures.pictures import SIZE, Film, Size, View
from fem_mbs.solution.history import Held, Outcome, Stats
from fem_mbs.solution.solution import Solution

Frames = Annotated[int, partial(whole_number, least=2)]
DISPLACEMENT, ANGLE = 0.1, 0.5
"""Largest displacement, against the extent of the model, and largest angle that an animation shows by default."""


SEEN = 1e-6
"""Mean square of rotations, against the largest motion, that is seen."""


def warn_of_meshes(result: ShapesOfMotion, label: str, what: str) -> None:
    """Log meshes that are too coarse, and the first shape whose waves are too short; ``what`` of it is wrong."""
    for element in result.linear.system.elements:
        if told := element.mesh_doubt():
            LOG.warning("%s: %s: %s", label, element, told)
    system, R, turns = result.linear.system, result.linear.state.R, result.shapes[:, :, 3:]
    weighted = result.shapes.reshape(len(turns), -1) * system.weight[: 6 * system.n]
    largest = (np.abs(weighted) ** 2).max(axis=1)
    for batch in system.batches:
        waves = np.stack([batch.waves(R, own) for own in turns])
        for owner, cells in groupby(range(len(batch.owners)), key=batch.owners.__getitem__):
            turned, changes = waves[..., list(cells)].mean(axis=2).T
            short = (turned > SEEN * largest) & (changes > batch.wave_limit * turned)
            if short.any():
                first = int(short.argmax())
                length = np.pi / np.arcsin(np.sqrt(min(changes[first] / turned[first], 1.0)))
                LOG.warning(
                    "%s: mode %d has waves of %.1f nodes in %s (%d of %d modes are like that), too short for its "
                    "elements: %s may be off by tens of per cent, or several times; take smaller elements",
                    *(label, first + 1, length, owner, short.sum(), len(short), what),
                )


class ShapesOfMotion(Public):
    """What modes and buckling shapes have in common: shapes of all nodes about a state, which may be seen to swing."""

    shapes: Array
    own: Array
    linear: LinearModel

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
        without frequency takes 1 s. About a state that turns, all is seen from what turns: reactions, loads and drives
        stay those of the state.
        """
        self._title(mode)
        state, system = self.linear.state, self.linear.system
        shape, omega = self.shapes[mode], self._frequency(mode)
        if amplitude is None:
            sizes = np.abs(shape).reshape(-1, 2, 3).max(axis=(0, 2), initial=np.finfo(float).tiny)
            amplitude = float((np.array([DISPLACEMENT * system.length, ANGLE]) / sizes).min())
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
        return Solution(system, states, Outcome.FINISHED, counts, instant=Held(state.t))

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
        :func:`fem_mbs.files.paraview.to_paraview`.
        """
        stem = str(path).removesuffix(".pvd")
        return [
            self.animation(k, amplitude, frames).to_paraview(f"{stem}_{k + 1:02d}", **options)
            for k in range(len(self.shapes))
        ]

    @checked
    def plot(
        self, mode: Index = 0, file: Path | None = None, *, amplitude: Positive | None = None, size: Size = SIZE
    ) -> View:
        """A picture of a mode (counted from 0) where it is largest, and in grey the lines of the state it swings about.

        ``amplitude`` as for :meth:`animation`, ``size`` as for :meth:`fem_mbs.Model.plot`.
        """
        picture = pictures.of_mode(self, mode, self._title(mode), amplitude, size)
        return pictures.saved(picture, file)

    @checked
    def animate(
        self,
        mode: Index = 0,
        file: Path | None = None,
        *,
        amplitude: Positive | None = None,
        duration: Positive = 2.0,
        fps: Positive = 25.0,
        size: Size = SIZE,
    ) -> Film:
        """A film of one period of a mode (counted from 0); see :meth:`fem_mbs.Solution.animate`."""
        motion = self.animation(mode, amplitude, pictures.frames(duration, fps))
        states = [motion.history.state(k) for k in range(len(motion.t) - 1)]
        titles = [self._title(mode)] * len(states)
        return pictures.saved(pictures.of_states(motion.history, states, titles, fps, size), file)

    def _title(self, mode: int) -> str:
        """What a picture of a shape is called; refuses one that there is not."""
        if mode >= len(self.shapes):
            raise ModelError(
                f"{type(self).__name__}: there is no mode {mode}; there are {len(self.shapes)}, counted from 0"
            )
        return f"mode {mode + 1}: {self._in_words(mode)}"

    def _in_words(self, mode: int) -> str:
        """The number that belongs to a shape, in words."""
        raise NotImplementedError

    def _frequency(self, mode: int) -> float:
        """With which it is shown, in rad/s."""
        return 2.0 * np.pi

    def _row(self, node: NodeOrName) -> int:
        return self.linear.system.row(node, f"{type(self).__name__}: node")
