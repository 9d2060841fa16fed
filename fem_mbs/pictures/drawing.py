"""What a picture shows, drawn by PyVista: surfaces, lines and points in colours, arrows, names, nodes that are held."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import CDLL
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Kind, Motion, Node
from fem_mbs.contracts.arguments import writable
from fem_mbs.elements.shapes import Box
from fem_mbs.errors import FemMbsError, ModelError, needed
from fem_mbs.files.scene import Scene, acting_contacts, symbol_size
from fem_mbs.system.system import System

CORNERS, ((_, FACES),) = Box((1, 1, 1)).faces(0)
NO_LINES = np.empty((0, 2), np.intp)
STATIONS = 5
COLORS = {
    Kind.SURFACE: "#4a90c4",
    Kind.BODY_SHAPE: "#b4bcc4",
    Kind.JOINT_SHAPE: "#ff8c00",
    Kind.SPRING: "#2e8b57",
    Kind.LINE: "#1f4e79",
    Kind.NODE: "#202020",
    Kind.BODY: "#202020",
    Kind.LINK: "#7a838b",
}
"""Joints are shown by their shapes, and not as points beside."""
FORCE, MOMENT, SHADOW = "#c2185b", "#9467bd", "#9a9a9a"
AXES = ("#d62728", "#2ca02c", "#1f77b4")
MOST_AXES, MOST_NAMES = 60, 15
LONGEST, SHORTEST, AXIS = 0.15, 0.06, 0.04
"""Arrows, and axes of nodes, against the diagonal of the model."""
CROWD = 20
"""Arrows of one kind of load, beyond which they get shorter."""
LATER = (0.0, 1e-3, 1e-2, 0.1, 1.0, 10.0)
"""When loads are looked at, in s from the time of the picture: those that are zero at first are drawn as they begin."""


class Layer(NamedTuple):
    """Cells of one colour: rows ``points`` of all points, and polygons, lines ``(n, 2)`` and dots of these."""

    kind: Kind
    color: str
    points: IntArray
    polygons: list[IntArray]
    lines: IntArray
    dots: IntArray


class Arrows(NamedTuple):
    """Arrows of one colour, their starts and vectors ``(n, 3)``."""

    color: str
    starts: Array
    vectors: Array


class Frame(NamedTuple):
    """A drawing at an instant: all points ``(n, 3)``, arrows, and names with their places."""

    points: Array
    arrows: list[Arrows]
    names: list[str]
    places: Array


class Drawing:
    """A system as layers; ``frame`` says where they are. The lines of a motion that is its ``shadow`` stay in grey."""

    def __init__(self, system: System, shadow: Motion | None = None) -> None:
        self.system = system
        self._scene = Scene(system, STATIONS, shapes=True)
        self.layers = [layer for kind in COLORS if (layer := self._layer(kind)) is not None]
        built, _ = self._scene.frame(system.at_rest(), np.zeros(system.m))
        self.size = float(np.linalg.norm(np.ptp(built, axis=0))) or 1.0
        self.touches = any(element.contacts for element in system.elements)
        # a cube on each node, other than the ground, that is fixed in all directions
        held = [k for k, own in enumerate(system.nodes) if k and own.fixed_translation and own.fixed_rotation]
        self._held = np.repeat(np.array(held, np.intp), 8)
        self._cubes = np.tile(symbol_size(built, system.x0[held]) * CORNERS, (len(held), 1))
        if held:
            rows, faces = len(built) + np.arange(8 * len(held)), 8 * np.arange(len(held))[:, None, None] + FACES
            kind = Kind.JOINT_SHAPE
            self.layers.append(Layer(kind, COLORS[kind], rows, [faces.reshape(-1, 4)], NO_LINES, NO_LINES[:, :1]))
        self._shadow = np.empty((0, 3))
        lines = self._layer(Kind.LINE)
        if shadow is not None and lines is not None:
            self._shadow = self._scene.frame(shadow, np.zeros(system.m))[0][lines.points]
            rows = len(built) + len(self._held) + np.arange(len(lines.points))
            self.layers.append(lines._replace(color=SHADOW, points=rows, dots=lines.dots[:0]))

    def frame(self, motion: Motion, multipliers: Array) -> Frame:
        """Where everything is."""
        points, _ = self._scene.frame(motion, multipliers)
        arrows = [*self._axes(motion), *self._acting(motion)]
        rows, offsets, names = self._named
        points = np.concatenate([points, self._world(motion, self._held, self._cubes), self._shadow])
        return Frame(points, arrows, names, self._world(motion, rows, offsets))

    def _world(self, motion: Motion, rows: IntArray, offsets: Array) -> Array:
        """Places ``(n, 3)`` in the world of points in the frames of nodes."""
        return motion.x[rows] + np.matvec(motion.R[rows], offsets) + self.system.origin

    def _layer(self, kind: Kind) -> Layer | None:
        """The cells of one kind."""
        blocks: dict[int, list[IntArray]] = {}
        for (_, cells), numbers in zip(self._scene.cells, self._scene.cell_data["part"], strict=True):
            if len(chosen := cells[numbers == kind]):
                blocks.setdefault(cells.shape[1], []).append(chosen)
        if not blocks:
            return None
        points = np.unique(np.concatenate([chosen.ravel() for parts in blocks.values() for chosen in parts]))
        place = {corners: np.searchsorted(points, np.concatenate(parts)) for corners, parts in blocks.items()}
        dots, lines = place.pop(1, NO_LINES[:, :1]), place.pop(2, NO_LINES)
        return Layer(kind, COLORS[kind], points, list(place.values()), lines, dots)

    @cached_property
    def _named(self) -> tuple[IntArray, Array, list[str]]:
        """What the user has named: nodes, joints and loads with their places on nodes; none if there are too many."""
        number, together = self.system.number, dict[tuple[int, ...], list[str]]()
        places: dict[tuple[int, ...], tuple[int, Array]] = {}
        parts: list[Any] = [*self.system.nodes[1:], *number.parts]
        for part in parts:
            nodes = (part,) if isinstance(part, Node) else part.nodes
            if not nodes or len(nodes) > 2 or _by_default(part):
                continue
            row, offset = number(nodes[-1]), np.zeros(3) if isinstance(part, Node) else part.offset
            key = (row, *np.round(offset / (1e-6 * self.size)).astype(int).tolist())
            places[key] = row, offset
            together.setdefault(key, []).append(str(part.name))
        if len(together) > MOST_NAMES:
            return np.empty(0, np.intp), np.empty((0, 3)), []
        rows, offsets = np.array([row for row, _ in places.values()], np.intp), [own for _, own in places.values()]
        return rows, np.reshape(offsets, (-1, 3)), [", ".join(names) for names in together.values()]

    def _axes(self, motion: Motion) -> list[Arrows]:
        """The axes of the nodes, unless there are too many to be seen."""
        if self.system.n > MOST_AXES:
            return []
        grounded = any(self.system.nodes[0] in part.nodes for part in self.system.number.parts)
        x, R = (array[0 if grounded else 1 :] for array in (motion.x + self.system.origin, motion.R))
        return [Arrows(color, x, AXIS * self.size * R[:, :, k]) for k, color in enumerate(AXES)]

    def _acting(self, motion: Motion) -> list[Arrows]:
        """Forces and moments of loads, and forces of contacts on their nodes b."""
        places, wrenches, room = [np.empty((0, 3))], [np.empty((0, 6))], [np.empty((0, 1))]
        for batch in self.system.batches:
            if batch.owners[0].external and batch.terms == 1:
                place, wrench = _of_loads(batch, motion)
                places.append(place + self.system.origin)
                wrenches.append(wrench)
                room.append(np.full((len(place), 1), min(CROWD / len(place), 1.0) ** 0.5))
            elif batch.owners[0].contacts:
                place, force = acting_contacts(batch, motion)
                places.append(place + self.system.origin)
                wrenches.append(np.concatenate([force, np.zeros_like(force)], axis=1))
                room.append(np.ones((len(place), 1)))
        place, wrench = np.concatenate(places), np.concatenate(wrenches)
        arrows = []
        for color, vectors in ((FORCE, wrench[:, :3]), (MOMENT, wrench[:, 3:])):
            some = np.abs(vectors).max(axis=1, initial=0.0) > 1e-9 * np.abs(vectors).max(initial=0.0)
            if some.any():  # as long as seen well, longer for larger ones
                size = np.linalg.norm(vectors[some], axis=1, keepdims=True)
                length = (SHORTEST + (LONGEST - SHORTEST) * size / size.max()) * np.concatenate(room)[some]
                arrows.append(Arrows(color, place[some], self.size * length * vectors[some] / size))
        return arrows


def _by_default(part: Any) -> bool:
    """Whether the name of a part is that which the model gave it, or that of a node of a beam."""
    words = str(part.name).split()
    return str(part.name).endswith("]") or (len(words) == 2 and words[1].rstrip("'").isdigit())


def _of_loads(batch: Any, motion: Motion) -> tuple[Array, Array]:
    """Where loads act ``(k, 3)``, and their forces and moments ``(k, 6)``, world frame."""
    R, x = motion.R[batch.nodes], motion.x[batch.nodes]
    wrench = np.zeros((*batch.nodes.shape, 2, 3))
    for ahead in LATER:
        try:
            prescribed = batch.at(motion.t + ahead)
        except FemMbsError:  # it is not known so far ahead
            prescribed = batch.at(0.0)
        force, _ = batch.force(motion, prescribed)
        now = -force[:, : 6 * batch.nodes.shape[1]].reshape(wrench.shape)
        unknown = ~wrench.any(axis=(1, 2, 3))
        wrench[unknown] = now[unknown]
        if wrench.any(axis=(1, 2, 3)).all():
            break
    if batch.nodes.shape[1] == 1:
        points = np.array([owner.offset for owner in batch.owners])
        wrench[:, 0, 1] -= np.cross(points, wrench[:, 0, 0])
        x = x + np.matvec(R, points[:, None])
    wrench = np.matvec(R[:, :, None], wrench)
    wrench[np.abs(wrench) < 1e-12 * np.abs(wrench).max(initial=0.0)] = 0.0
    return x.reshape(-1, 3), wrench.reshape(-1, 6)


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
        points = reached(frames)
        box = np.stack([points.min(axis=0), points.max(axis=0)])
        forces = [np.abs(own.vectors) for frame in frames for own in frame.arrows if own.color == FORCE]
        moved = np.concatenate([np.ptp([frame.points for frame in frames], axis=0), *forces]).max(axis=0)
        eye = toward(box, moved)
        if drawing.touches and eye[2] == np.linalg.norm(eye):  # a floor makes a model flat
            eye = OBLIQUE * eye[2]
        axes = np.stack(plane(eye))
        seen = points @ axes.T
        least, most = seen.min(axis=0), seen.max(axis=0)
        middle = box.mean(axis=0)
        middle += (0.5 * (least + most) - axes @ middle) @ axes
        box = middle + np.outer([-1.0, 1.0], np.abs(box - middle).max(axis=0) + ROOM * drawing.size)
        self.plotter.camera_position = [middle + eye, middle, axes[1]]
        self.plotter.reset_camera(bounds=box.T.ravel().tolist())
        wide, high = 0.5 * (most - least) + ROOM * drawing.size
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


def reached(frames: Sequence[Frame]) -> Array:
    """All that is drawn in some frames, as points ``(k, 3)``."""
    arrows = [arrow.starts + arrow.vectors for frame in frames for arrow in frame.arrows if len(arrow.starts)]
    return np.concatenate([*(frame.points for frame in frames), *arrows])


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
