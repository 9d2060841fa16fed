"""Pictures of models, of states of a run, and of modes; films of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fem_mbs.look.drawing import Drawing
from fem_mbs.look.film import Film
from fem_mbs.look.view import SIZE, Size, View
from fem_mbs.system import State, System

if TYPE_CHECKING:
    from fem_mbs.model import Model

FPS = 25.0
SMALL = (480, 320)
"""Size of pictures in tables."""
QUARTERS = 4
SHORTEST, LONGEST = 2.0, 10.0
"""Seconds of a film, where nobody says how long it is to be: those of the run between these."""


def of_model(model: Model, size: Size = SIZE, renderer: str | None = None) -> View:
    """A model as it is built."""
    system = System(model)
    drawing = Drawing(system)
    return View(drawing, drawing.frame(system.at_rest(), np.zeros(system.m)), "", size, renderer)


def of_state(system: System, state: State, title: str, size: Size = SIZE, renderer: str | None = None) -> View:
    """A model at a state, whose positions count from the origin of the system."""
    drawing = Drawing(system)
    return View(drawing, drawing.frame(system.motion(state), state.multipliers), title, size, renderer)


def of_mode(
    result: Any, mode: int, title: str, amplitude: float | None, size: Size = SIZE, renderer: str | None = None
) -> View:
    """A mode where it is largest, and the lines of the state about which it swings."""
    motion = result.animation(mode, amplitude, QUARTERS)
    state, rest = motion.history.state(QUARTERS // 4), motion.history.state(0)
    drawing = Drawing(motion.system, motion.system.motion(rest))
    return View(drawing, drawing.frame(motion.system.motion(state), state.multipliers), title, size, renderer)


def of_states(
    system: System,
    states: Sequence[State],
    titles: Sequence[str],
    fps: float = FPS,
    size: Size = SIZE,
    renderer: str | None = None,
) -> Film:
    """A film of states."""
    drawing = Drawing(system)
    frames = [drawing.frame(system.motion(state), state.multipliers) for state in states]
    return Film(drawing, frames, titles, fps, size, renderer)


def seconds(duration: float | None, run: float) -> float:
    """How long a film of a run is."""
    return float(np.clip(run, SHORTEST, LONGEST)) if duration is None else duration


def saved(picture: Any, file: Any) -> Any:
    """The picture; written to a file if one is named."""
    if file is not None:
        picture.save(file)
    return picture
