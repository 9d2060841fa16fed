"""Pictures of models, of states of a run, and of modes; films of runs.

What a notebook shows of a model or a result: a table, and its picture where one can be drawn.
"""

from __future__ import annotations

import logging
from base64 import b64encode
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np

from fem_mbs.contracts import State
from fem_mbs.pictures.drawing import Drawing
from fem_mbs.pictures.film import Film
from fem_mbs.pictures.view import SIZE, Size, View
from fem_mbs.system.system import System

LOG = logging.getLogger("fem_mbs")


def page(rows: Sequence[Sequence[object]], heading: str = "", picture: Callable[[], View] | None = None) -> str:
    """A heading, rows of cells, and the picture that a function makes, unless it cannot."""
    cells = (
        "".join(f'<td style="text-align:left;padding:1px 8px">{escape(str(cell))}</td>' for cell in row) for row in rows
    )
    table = "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"
    return f"<div><b>{escape(heading)}</b>{table}{_image(picture)}</div>"


def _image(picture: Callable[[], View] | None) -> str:
    if picture is None:
        return ""
    try:
        data = b64encode(picture()._repr_png_()).decode()
    except Exception as error:  # a table without picture is better than none, whatever a graphics library says
        LOG.info("no picture: %s", error)
        return ""
    return f'<img src="data:image/png;base64,{data}">'


FPS = 25.0
SMALL = (480, 320)
"""Size of pictures in tables."""
QUARTERS = 4
SHORTEST, LONGEST = 2.0, 10.0
"""Seconds of a film, where nobody says how long it is to be: those of the run between these."""


def of_model(system: System, size: Size = SIZE, renderer: str | None = None) -> View:
    """A model as it is built."""
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
