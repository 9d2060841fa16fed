"""Pictures drawn by matplotlib, where there is no PyVista: slower, and what is behind is not always hidden."""

from __future__ import annotations

from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.pictures.drawing import AXES, Drawing, Frame, plane
from fem_mbs.pictures.extras import need

DPI = 100
MARGIN = 1.15
"""The picture against what has to be seen."""


class MatplotlibCanvas:
    """A drawing off the screen, with the arguments of :class:`~fem_mbs.pictures.pyvista_canvas.PyvistaCanvas`."""

    def __init__(self, drawing: Drawing, frame: Frame, box: Array, toward: Array, size: tuple[int, int]) -> None:
        self._drawing, self._frame, self._title = drawing, frame, ""
        self._box, self._view = box, toward / np.linalg.norm(toward)
        self._size = size[0] / DPI, size[1] / DPI

    def figure(self, frame: Frame, title: str = "") -> Any:
        """A matplotlib figure of a frame."""
        art = need("mpl_toolkits.mplot3d.art3d", "a picture")
        figure = need("matplotlib.figure", "a picture").Figure(figsize=self._size, dpi=DPI)
        # a square that holds the picture, as these axes hide what leaves them
        wide, high = max(1.0, self._size[1] / self._size[0]), max(1.0, self._size[0] / self._size[1])
        axes = figure.add_axes((0.5 - wide / 2, 0.5 - high / 2, wide, high), projection="3d", proj_type="ortho")
        # all in one collection, within which what is behind is hidden
        faces = [
            (corners, layer.color)
            for layer in self._drawing.layers
            for polygons in layer.polygons
            for corners in frame.points[layer.points][polygons]
        ]
        if faces:
            corners, colors = zip(*faces, strict=True)
            axes.add_collection3d(
                art.Poly3DCollection(corners, facecolors=colors, edgecolors=colors, linewidths=0.2, shade=True)
            )
        for layer in self._drawing.layers:
            points = frame.points[layer.points]
            if len(layer.lines):
                axes.add_collection3d(
                    art.Line3DCollection(points[layer.lines], colors=layer.color, linewidths=self._size[1] / 3)
                )
            if len(layer.dots):
                axes.scatter(*points[layer.dots[:, 0]].T, color=layer.color, s=2.0 * self._size[1], depthshade=False)
        for arrows in frame.arrows:
            axes.quiver(*arrows.starts.T, *arrows.vectors.T, color=arrows.color, linewidth=1.5)
        self._aim(axes)
        self._write(axes, frame)
        self._corner(figure)
        axes.set_axis_off()
        if title:
            figure.text(0.02, 0.96, title, va="top", fontsize=6 + self._size[1] / 2)
        return figure

    def _aim(self, axes: Any) -> None:
        """Equal scales, the view, and as near as the box allows."""
        x, y, z = self._view
        axes.view_init(elev=np.degrees(np.arcsin(z)), azim=np.degrees(np.arctan2(y, x)) if abs(z) < 0.99 else -90.0)
        for name, ends in zip("xyz", self._box.T, strict=True):
            getattr(axes, f"set_{name}lim")(*ends)
        extent = np.ptp(self._box, axis=0)
        axes.set_box_aspect(extent)
        axes.apply_aspect()
        pixels = np.ptp(_pixels(axes, np.array(np.meshgrid(*self._box.T)).reshape(3, -1)), axis=0)
        axes.set_box_aspect(extent, zoom=float((DPI * np.array(self._size) / pixels).min()) / MARGIN)

    def _write(self, axes: Any, frame: Frame) -> None:
        """Names, but for those that would be written on others."""
        size = 5 + self._size[1] / 2
        taken: list[Array] = []
        for name, place in zip(frame.names, frame.places, strict=True):
            corner = _pixels(axes, place[:, None])[0]
            box = np.stack([corner, corner + np.array((0.6 * len(name), 1.2)) * size * DPI / 72])
            if not any((box[0] < other[1]).all() and (other[0] < box[1]).all() for other in taken):
                taken.append(box)
                axes.text(*place, name, fontsize=size, zorder=100)

    def _corner(self, figure: Any) -> None:
        """The axes of the world, in a corner."""
        across, above = plane(self._view)
        start, length = np.full(2, 0.1 * self._size[1]), 0.06 * self._size[1]
        for name, color, *ends in zip("xyz", AXES, across, above, strict=True):
            end = start + length * np.array(ends)
            if np.linalg.norm(ends) < 0.1:  # towards the eye
                continue
            style = {"arrowstyle": "->", "color": color, "shrinkA": 0, "shrinkB": 0}
            places = [place / self._size for place in (start, end, start + 1.4 * (end - start))]
            figure.text(*places[2], name, color=color, fontsize=4 + 0.6 * self._size[1], ha="center", va="center")
            axes = figure.axes[0]
            axes.annotate("", places[1], places[0], "figure fraction", "figure fraction", style, annotation_clip=False)

    def draw(self, frame: Frame, title: str = "") -> Any:
        """The pixels ``(height, width, 3)`` of a frame."""
        with np.errstate(over="ignore"):  # which NumPy may report where there is none, once VTK has drawn
            canvas = need("matplotlib.backends.backend_agg", "a picture").FigureCanvasAgg(self.figure(frame, title))
            canvas.draw()
        self._frame, self._title = frame, title
        return np.asarray(canvas.buffer_rgba())[..., :3].copy()

    def show(self) -> None:
        """Open a window."""
        pyplot = need("matplotlib.pyplot", "a window")
        window = pyplot.figure(figsize=self._size)
        axes = window.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.imshow(self.draw(self._frame, self._title))
        axes.set_axis_off()
        pyplot.show()

    def close(self) -> None:
        """Nothing is open."""


def _pixels(axes: Any, points: Array) -> Array:
    """Where points ``(3, n)`` are in the picture, ``(n, 2)``."""
    seen = need("mpl_toolkits.mplot3d.proj3d", "a picture").proj_transform(*points, axes.get_proj())[:2]
    return np.asarray(axes.transData.transform(np.transpose(seen)))
