"""Pictures and films of models, of states of a run, and of modes; and what a notebook shows of a result.

A picture shows itself in a notebook: a model or a result as a table with its picture, where one can be drawn.
"""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import cache, cached_property
from html import escape
from importlib.util import find_spec
from os.path import commonprefix
from pathlib import Path as FilePath
from typing import Annotated, Any

import numpy as np

from fem_mbs.contracts import Path, Public, State, checked, shown, whole_number
from fem_mbs.contracts.arguments import writable
from fem_mbs.errors import LOG, ModelError
from fem_mbs.pictures.drawing import Drawing, Frame, PyvistaCanvas, need, there_is_a_screen, written
from fem_mbs.solution.channels import Channel, parse
from fem_mbs.solution.history import History
from fem_mbs.solution.queries import Queries
from fem_mbs.system.system import System

SIZE, SMALL = (960, 640), (480, 320)
"""Width and height in pixels of pictures, and of those in tables."""
KINDS = (".mp4", ".gif")
QUARTERS = 4
SHORTEST, LONGEST = 2.0, 10.0
"""Seconds of a film, where nobody says how long it is to be: those of the run between these."""
MOST_FRAMES, MOST_PIXELS = 100_000, 10_000
"""Of a film; along one side of a picture."""


def pair_of_pixels(value: object, label: object) -> tuple[int, int]:
    """Two whole numbers from 1 to ``MOST_PIXELS``, or a :class:`ModelError` that begins with ``label``."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ModelError(f"{label} must be a width and a height in pixels, received {shown(value)}")
    size = whole_number(value[0], label), whole_number(value[1], label)
    if max(size) > MOST_PIXELS:
        raise ModelError(f"{label} must be at most {MOST_PIXELS} pixels along each side, received {shown(value)}")
    return size


Size = Annotated[tuple[int, int], pair_of_pixels]


class View(Public):
    """A picture: in a notebook it shows itself, ``show()`` opens a window, ``save("model.png")`` writes a file.

    Attributes
    ----------
    pixels : (height, width, 3)
        The picture, 0 to 255.
    """

    def __init__(self, drawing: Drawing, frames: Sequence[Frame], title: str, size: Size) -> None:
        # the first is drawn where all are seen
        self._drawing, self._frames, self._title, self._size = drawing, frames, title, size

    @cached_property
    def pixels(self) -> Any:
        """The picture, computed when it is asked for."""
        with closing(PyvistaCanvas(self._drawing, self._frames, self._size)) as canvas:
            return canvas.draw(self._frames[0], self._title)

    @checked
    def save(self, path: Path) -> FilePath:
        """Write the picture to a file whose ending says of what kind, such as ``.png``."""
        image, pixels = need("matplotlib.image", "saving a picture"), self.pixels
        return written(path, lambda file: image.imsave(file, pixels))

    @checked
    def show(self) -> None:
        """Open a window; where there is no screen, a warning says so."""
        if not there_is_a_screen():
            LOG.warning("there is no screen to show a picture on; view.save('model.png') writes it to a file")
            return
        canvas = PyvistaCanvas(self._drawing, self._frames, self._size, off_screen=False)
        canvas.update(self._frames[0], self._title)
        canvas.plotter.show()

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        need("matplotlib.image", "a picture").imsave(buffer, self.pixels, format="png")
        return buffer.getvalue()

    def __repr__(self) -> str:
        return f"View of {self._size[0]} x {self._size[1]} pixels; view.show(), view.save('model.png')"


class Film(Public):
    """Frames of one size: in a notebook a player, ``save("out.mp4")`` or ``save("out.gif")`` writes a file.

    Attributes
    ----------
    fps : float
        Frames a second.
    """

    def __init__(
        self, drawing: Drawing, frames: Sequence[Frame], titles: Sequence[str], fps: float, size: Size
    ) -> None:
        self._drawing, self._frames, self._titles = drawing, frames, titles
        self.fps, self._size = fps, size

    def __len__(self) -> int:
        return len(self._frames)

    def __iter__(self) -> Iterator[Any]:
        """The pixels ``(height, width, 3)`` of one frame after the other."""
        with closing(PyvistaCanvas(self._drawing, self._frames, self._size)) as canvas:
            for frame, title in zip(self._frames, self._titles, strict=True):
                yield canvas.draw(frame, title)

    @checked
    def save(self, path: Path) -> FilePath:
        """Write a film whose kind the ending says: ``.mp4``, which is small, or ``.gif``, which plays everywhere."""
        path = FilePath(path)
        if path.suffix.lower() not in KINDS:
            raise ModelError(f"Film.save: path must end with {' or '.join(KINDS)}, received '{path}'")
        writable(path, "")
        film = self._encoded(path.suffix.lower())
        return written(path, lambda file: file.write_bytes(film))

    def _encoded(self, kind: str) -> bytes:
        if kind == ".gif":
            images = [need("PIL.Image", "a GIF").fromarray(pixels) for pixels in self]
            first, *others = (image.quantize(128, dither=0) for image in images)
            buffer, ends = io.BytesIO(), 10 * np.round(100.0 / self.fps * np.arange(len(images) + 1))  # whole 10 ms
            own = np.diff(ends).tolist()
            first.save(buffer, "GIF", save_all=True, append_images=others, duration=own, loop=0)
            return buffer.getvalue()
        need("imageio_ffmpeg", "an MP4 film")
        options = {"fps": self.fps, "macro_block_size": 2, "codec": "libx264", "pixelformat": "yuv420p"}
        return need("imageio.v3", "an MP4 film").imwrite("<bytes>", list(self), extension=".mp4", **options)

    def _repr_html_(self) -> str:
        """A player, of a film in the page itself."""
        width = self._size[0]
        if find_spec("imageio_ffmpeg"):
            data = b64encode(self._encoded(".mp4")).decode()
            return f'<video controls loop autoplay muted width="{width}" src="data:video/mp4;base64,{data}"></video>'
        data = b64encode(self._encoded(".gif")).decode()
        return f'<img width="{width}" src="data:image/gif;base64,{data}">'

    def __repr__(self) -> str:
        return f"Film of {len(self)} frames, {len(self) / self.fps:.3g} s; film.save('out.mp4'), film.save('out.gif')"


def page(rows: Sequence[Sequence[object]], heading: str = "", picture: Callable[[], View] | None = None) -> str:
    """A heading, rows of cells, and the picture that a function makes, unless it cannot."""
    cells = (
        "".join(f'<td style="text-align:left;padding:1px 8px">{escape(str(cell))}</td>' for cell in row) for row in rows
    )
    table = "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"
    image = ""
    try:
        if picture is not None:
            image = f'<img src="data:image/png;base64,{b64encode(picture()._repr_png_()).decode()}">'
    except Exception as error:  # a table without picture is better than none, whatever a graphics library says
        LOG.info("no picture: %s", error)
    return f"<div><b>{escape(heading)}</b>{table}{image}</div>"


def of_model(system: System, size: Size) -> View:
    """A model as it is built."""
    if system.n == 1 and not system.all_batches:
        raise ModelError(
            "Model.plot: the model is empty; add nodes, which are drawn with their axes, and parts on them"
        )
    drawing = Drawing(system)
    return View(drawing, [drawing.frame(system.at_rest(), np.zeros(system.m))], "", size)


def of_state(history: History, state: State, title: str, size: Size) -> View:
    """A model at a state of a run, whose positions count from the origin of the system."""
    with history.system.as_frozen():
        drawing = Drawing(history.system)
        return View(drawing, [drawing.frame(history.motion_at(state), state.multipliers)], title, size)


def of_mode(result: Any, mode: int, title: str, amplitude: float | None, size: Size) -> View:
    """A mode where it is largest, and the lines of the state about which it swings."""
    history = result.animation(mode, amplitude, QUARTERS).history
    drawing = Drawing(history.system, history.motion(0))
    frames = [drawing.frame(history.motion(k), history.multipliers[0]) for k in (QUARTERS // 4, 0)]
    return View(drawing, frames, title, size)


def of_states(history: History, states: Sequence[State], titles: Sequence[str], fps: float, size: Size) -> Film:
    """A film of states of a run."""
    with history.system.as_frozen():
        drawing = Drawing(history.system)
        frames = [drawing.frame(history.motion_at(state), state.multipliers) for state in states]
    return Film(drawing, frames, titles, fps, size)


def frames(duration: float, fps: float) -> int:
    """How many a film has."""
    if duration * fps > MOST_FRAMES:
        raise ModelError(
            f"animate: duration times fps must be at most {MOST_FRAMES}, received {duration:g} s of {fps:g} a second"
        )
    return max(round(duration * fps), 2)


def saved(picture: Any, file: Any) -> Any:
    """The picture; written to a file if one is named."""
    if file is not None:
        picture.save(file)
    return picture


WIDTH, HEIGHT = 7.0, 2.6
MOST = 12
"""Curves that get a legend; of more, those along a part are drawn as what lies between them."""


def curves(solution: Queries, names: Sequence[str], label: str, file: Path | None = None) -> Any:
    """A matplotlib figure: one pair of axes for each unit, one under the other; ``label`` is that of the abscissa."""
    by_unit: dict[str, list[tuple[str, Any]]] = {}
    for name in names:
        channel: Channel = parse(solution.system, name)
        for column, unit, values in zip(channel.columns, channel.units, channel.values(solution).T, strict=True):
            by_unit.setdefault(unit, []).append((column, values))
    size = WIDTH, HEIGHT * len(by_unit) + 0.4
    pyplot = need("matplotlib.pyplot", "solution.plot")
    figure, every = pyplot.subplots(
        len(by_unit), 1, sharex=True, squeeze=False, figsize=size, layout="constrained", FigureClass=_figure_class()
    )
    for axes, (unit, columns) in zip(every[:, 0], by_unit.items(), strict=True):
        if all(".contact_force" in column and not values.any() for column, values in columns):
            axes.set_title("forces between impacts; what impacts bring: solution.impulses(contact)", fontsize="small")
        drawn: dict[str, list[Any]] = {}
        for column, values in columns:
            places = [word for word in column.split(".") if not word.isdigit()] if len(columns) > MOST else [column]
            drawn.setdefault(".".join(places), []).append(values)
        for name, own in drawn.items():
            if len(own) == 1:
                axes.plot(solution.t, own[0], label=name)
            else:
                axes.fill_between(
                    solution.t, np.min(own, 0), np.max(own, 0), alpha=0.4, label=f"{name}, all {len(own)}"
                )
        shared = ".".join(commonprefix([column.split(".") for column, _ in columns]))
        axes.set_ylabel(shared + (f"\n({unit})" if unit else ""), fontsize="small")
        axes.grid(alpha=0.3)
        if len(columns) > 1 and len(drawn) <= MOST:
            axes.legend(fontsize="small")
    every[-1, 0].set_xlabel(label)
    if file is not None:
        written(file, figure.savefig)
    return figure


@cache
def _figure_class() -> Any:
    """A figure that a notebook shows once, also where a cell ends with it."""
    matplotlib, pyplot = need("matplotlib", "solution.plot"), need("matplotlib.pyplot", "solution.plot")
    base: Any = need("matplotlib.figure", "solution.plot").Figure

    class Curves(base):  # type: ignore[misc]
        """A figure of pyplot, whose inline backend shows at the end of a cell what is open: what is shown is closed."""

        def _ipython_display_(self) -> None:
            from IPython.core import pylabtools
            from IPython.display import display

            show: Any = display
            png: Any = pylabtools.print_figure
            show({"image/png": png(self, base64=True), "text/plain": repr(self)}, raw=True)
            if "inline" in matplotlib.get_backend():
                pyplot.close(self)

    return Curves
