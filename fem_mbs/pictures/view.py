"""A picture of a model at an instant."""

from __future__ import annotations

import io
import logging
from functools import cached_property
from pathlib import Path as FilePath
from typing import Annotated, Any, TypeAlias

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Path, Public, checked, choice
from fem_mbs.pictures.drawing import Drawing, Frame, bounds
from fem_mbs.pictures.extras import need, there_is, there_is_a_screen, written
from fem_mbs.pictures.matplotlib_canvas import MatplotlibCanvas
from fem_mbs.pictures.pyvista_canvas import PyvistaCanvas

LOG = logging.getLogger("fem_mbs")
SIZE = (960, 640)
Size: TypeAlias = tuple[int, int]
RENDERERS = ("pyvista", "matplotlib")
Renderer = Annotated[str, choice(RENDERERS)]
OBLIQUE = np.array([0.75, -1.0, 0.6])
FLAT = 0.15
"""Extent across a model that is seen from the side, against its diagonal."""
ALIKE = 2.0
"""Ratio of two extents across a model that is slender, not flat."""


class View(Public):
    """A picture: in a notebook it shows itself, ``show()`` opens a window, ``save("model.png")`` writes a file.

    Attributes
    ----------
    pixels : (height, width, 3)
        The picture, 0 to 255.
    """

    def __init__(self, drawing: Drawing, frame: Frame, title: str, size: Size, renderer: str | None) -> None:
        self._drawing, self._frame, self._title, self._size = drawing, frame, title, size
        self._renderer = renderer or default_renderer()

    @cached_property
    def pixels(self) -> Any:
        """The picture, computed when it is asked for."""
        canvas = self._canvas()
        try:
            return canvas.draw(self._frame, self._title)
        finally:
            canvas.close()

    @checked
    def save(self, path: Path) -> FilePath:
        """Write the picture to a file whose ending says of what kind, such as ``.png``."""
        image, pixels = need("matplotlib.image", "saving a picture"), self.pixels
        return written(path, lambda file: image.imsave(file, pixels))

    def show(self) -> None:
        """Open a window; where there is no screen, a warning says so."""
        if not there_is_a_screen():
            LOG.warning("there is no screen to show a picture on; view.save('model.png') writes it to a file")
            return
        canvas = self._canvas(off_screen=False) if self._renderer == "pyvista" else self._canvas()
        if isinstance(canvas, PyvistaCanvas):
            canvas.update(self._frame, self._title)
        else:
            canvas.draw(self._frame, self._title)
        canvas.show()

    def _canvas(self, **options: bool) -> PyvistaCanvas | MatplotlibCanvas:
        box = bounds([self._frame], self._drawing.size)
        return make_canvas(self._renderer, self._drawing, self._frame, box, self._size, **options)

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        need("matplotlib.image", "a picture").imsave(buffer, self.pixels, format="png")
        return buffer.getvalue()

    def __repr__(self) -> str:
        return f"View of {self._size[0]} x {self._size[1]} pixels; view.show(), view.save('model.png')"


def default_renderer() -> str:
    """PyVista if it is installed, matplotlib otherwise."""
    return "pyvista" if there_is("pyvista") else "matplotlib"


def make_canvas(
    renderer: str, drawing: Drawing, frame: Frame, box: Array, size: Size, **options: bool
) -> PyvistaCanvas | MatplotlibCanvas:
    """A canvas that sees a box."""
    kind: Any = PyvistaCanvas if renderer == "pyvista" else MatplotlibCanvas
    made: PyvistaCanvas | MatplotlibCanvas = kind(drawing, frame, box, toward(box), size, **options)
    return made


def toward(box: Array) -> Array:
    """Where a model is seen from: from the side if it is flat, else obliquely; what is slender too, with z up."""
    extent = np.ptp(box, axis=0)
    reach, least = float(np.linalg.norm(extent)) or 1.0, float(extent.min())
    if least > FLAT * reach:
        return OBLIQUE * reach
    thin = next(axis for axis in (1, 0, 2) if extent[axis] <= ALIKE * least)
    side: Array = np.diag([1.0, -1.0, 1.0])[thin]
    return reach * side
