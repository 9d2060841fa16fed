"""Pictures drawn by PyVista, and what they need that may not be installed."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import CDLL
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import writable
from fem_mbs.errors import ModelError, needed
from fem_mbs.pictures.drawing import FORCE, Drawing, Frame, Layer

WINDOW = "VTK_DEFAULT_OPENGL_WINDOW"
"""The variable by which VTK is told which kind of window to make; by default it tries one after the other, aloud."""


def need(module: str, what: str) -> Any:
    """A module of an optional package, or an error that says how to install it, for ``what`` is asked for."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "IProgress not found")  # of tqdm, which PyVista imports in a notebook
        return needed(module, what, "plot" if module.startswith("matplotlib") else "look")


def written(path: str | Path, write: Callable[[Path], Any]) -> Path:
    """A file that ``write`` writes, or an error that says why it cannot; missing folders are made."""
    path = Path(path)
    if path.name in ("", ".."):
        raise ModelError(f"cannot write '{path}': it names no file; try '{path / 'picture.png'}'")
    writable(path, "")
    try:
        write(path)
    except OSError as error:
        raise ModelError(f"cannot write '{path}': {error}; choose a place where you may write") from error
    except (KeyError, ValueError) as error:
        raise ModelError(f"cannot write '{path}': {error}; endings such as .png say what to write") from error
    return path


def there_is_a_screen() -> bool:
    """Whether a window can be opened; only Linux runs without."""
    return not sys.platform.startswith("linux") or bool(os.environ.get("DISPLAY"))


@contextmanager
def quiet_window() -> Iterator[None]:
    """Windows that VTK makes within are those of EGL where there is no screen, unless the user has chosen a kind."""
    if there_is_a_screen() or WINDOW in os.environ or not _there_is_egl():
        yield
        return
    os.environ[WINDOW] = "vtkEGLRenderWindow"
    try:
        yield
    finally:
        del os.environ[WINDOW]


@cache
def _there_is_egl() -> bool:
    try:
        CDLL("libEGL.so.1")
    except OSError:
        return False
    return True


MARGIN = 1.15
"""What the camera sees against what it has to."""
OBLIQUE = np.array([0.75, -1.0, 0.6])
FLAT = 0.15
"""Extent across a model that is seen from the side, against its diagonal."""
ALIKE = 2.0
"""Ratio of two extents across a model that is slender, not flat."""
ALONG = 0.3
"""How far a model moves, or forces point, along what it is seen from, against how far they do at all, where it is seen
obliquely instead."""
ROOM = 0.02
"""For symbols, against the size of the model."""


class PyvistaCanvas:
    """A drawing in a window, or off the screen.

    Parameters
    ----------
    drawing : Drawing
        What is drawn.
    frames : list of Frame
        Where it will be: all of it is to be seen.
    size : (int, int)
        Width and height in pixels.
    """

    def __init__(
        self, drawing: Drawing, frames: Sequence[Frame], size: tuple[int, int], off_screen: bool = True
    ) -> None:
        self._pv = pv = need("pyvista", "a picture of this kind")
        with quiet_window():
            self.plotter: Any = pv.Plotter(off_screen=off_screen, window_size=list(size))
        self.plotter.set_background("white")
        self._font = max(8, round(size[1] / 40))
        self._meshes = [(layer, self._mesh(layer, frames[0])) for layer in drawing.layers]
        for layer, mesh in self._meshes:
            self.plotter.add_mesh(
                mesh,
                color=layer.color,
                line_width=max(1.0, size[1] / 220),
                point_size=max(2.0, size[1] / 110),
                render_points_as_spheres=True,
                ambient=0.25,
                render=False,
            )
        self.plotter.add_axes()
        self.plotter.enable_parallel_projection()
        box = bounds(frames)
        forces = [np.abs(own.vectors) for frame in frames for own in frame.arrows if own.color == FORCE]
        moved = np.concatenate([np.ptp([frame.points for frame in frames], axis=0), *forces]).max(axis=0)
        eye, middle = toward(box, moved), box.mean(axis=0)
        box += ROOM * drawing.size * np.array([[-1.0], [1.0]])
        if drawing.touches and eye[2] == np.linalg.norm(eye):  # a floor makes a model flat
            eye = OBLIQUE * eye[2]
        right, above = plane(eye)
        self.plotter.camera_position = [middle + eye, middle, above]
        self.plotter.reset_camera(bounds=box.T.ravel().tolist())
        corners = np.array(np.meshgrid(*box.T)).reshape(3, -1).T - middle
        wide, high = (float(np.abs(corners @ axis).max()) for axis in (right, above))
        self.plotter.camera.parallel_scale = MARGIN * max(high, wide * size[1] / size[0])

    def _mesh(self, layer: Layer, frame: Frame) -> Any:
        faces = [np.insert(polygons, 0, polygons.shape[1], axis=1).ravel() for polygons in layer.polygons]
        parts = {
            "faces": np.concatenate(faces) if faces else None,
            "lines": _counted(layer.lines),
            "verts": _counted(layer.dots),
        }
        return self._pv.PolyData(frame.points[layer.points], **{k: v for k, v in parts.items() if v is not None})

    def draw(self, frame: Frame, title: str = "") -> Any:
        """The pixels ``(height, width, 3)`` of a frame."""
        self.update(frame, title)
        self.plotter.render()
        return np.asarray(self.plotter.screenshot(return_img=True))[..., :3].copy()

    def update(self, frame: Frame, title: str = "") -> None:
        """Move everything to where a frame has it."""
        for layer, mesh in self._meshes:
            mesh.points = frame.points[layer.points]
        for k, arrows in enumerate(frame.arrows):
            mesh = self._pv.PolyData(arrows.starts)
            mesh["vectors"], mesh["size"] = arrows.vectors, np.linalg.norm(arrows.vectors, axis=1)
            glyphs = mesh.glyph(orient="vectors", scale="size", factor=1.0)
            self.plotter.add_mesh(glyphs, color=arrows.color, name=f"arrows {k}", reset_camera=False, render=False)
        if frame.names:
            self.plotter.add_point_labels(
                frame.places,
                frame.names,
                font_size=self._font,
                shape=None,
                show_points=False,
                always_visible=True,
                name="names",
                reset_camera=False,
                render=False,
            )
        if title:
            self.plotter.add_text(
                title,
                position="upper_left",
                font_size=round(0.7 * self._font),
                color="black",
                name="title",
                render=False,
            )

    def close(self) -> None:
        """Let go of the window."""
        self.plotter.close()


def bounds(frames: Sequence[Frame]) -> Array:
    """The box ``(2, 3)`` around some frames."""
    points = np.concatenate([frame.points for frame in frames])
    arrows = [arrow.starts + arrow.vectors for frame in frames for arrow in frame.arrows if len(arrow.starts)]
    points = np.concatenate([points, *arrows])
    return np.stack([points.min(axis=0), points.max(axis=0)])


def toward(box: Array, moved: Array) -> Array:
    """Where a model is seen from: from the side if it is flat and stays so, else obliquely.

    What is slender is seen from the side, too, with z up. ``moved`` (3,) is how far along the axes it moves and forces
    point.
    """
    extent = np.ptp(box, axis=0)
    reach = float(np.linalg.norm(extent)) or 1.0
    sides = (extent <= min(ALIKE * extent.min() + ROOM * reach, FLAT * reach)) & (moved <= ALONG * moved.max())
    thin = next((axis for axis in (1, 0, 2) if sides[axis]), None)
    return np.asarray(reach * (OBLIQUE if thin is None else np.diag([1.0, -1.0, 1.0])[thin]))


def plane(toward: Array) -> tuple[Array, Array]:
    """Directions to the right and up in a picture that is looked at from ``toward``; z is up, or y from above."""
    up = np.array((0.0, 1.0, 0.0) if abs(toward[2]) > 0.99 * np.linalg.norm(toward) else (0.0, 0.0, 1.0))
    right = np.cross(up, toward)
    above = np.cross(toward, right)
    return right / np.linalg.norm(right), above / np.linalg.norm(above)


def _counted(cells: IntArray) -> IntArray | None:
    """Cells as VTK lists them, each with the number of its points before."""
    return np.insert(cells, 0, cells.shape[1], axis=1).ravel() if len(cells) else None
