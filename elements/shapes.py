"""Boxes, cylinders and ellipsoids."""

from __future__ import annotations

from itertools import product
from typing import Annotated, Any, ClassVar

import numpy as np

from fem_mbs.arrays import Array, ArrayLike, IntArray
from fem_mbs.contracts import Direction, Faces, Positive, Shape, Vector3, array, checked, shown, vector
from fem_mbs.contracts.arguments import SMALLEST, RotationLike
from fem_mbs.elements.beams.line_mesh import read_mesh
from fem_mbs.errors import MissingMethodError, ModelError

THINNEST = 0.02
"""Half axes of an ellipsoid of inertia against the longest, for flat discs and thin rods."""
FEWEST = 4
"""Meridians of an ellipsoid."""


def _lengths(value: ArrayLike, label: object) -> Array:
    lengths = vector(value, label)
    if (lengths < SMALLEST).any():
        raise ModelError(f"{label} must be three positive numbers, received {shown(value)}")
    return lengths


Lengths = Annotated[ArrayLike, _lengths]


class Solid(Shape):
    """Base of shapes that can be filled."""

    called: ClassVar[str] = "a Box, a Cylinder or a Ball"

    @property
    def filled(self) -> tuple[float, Array]:
        """Its volume, and the mean squares ``(3,)`` of the coordinates along its axes."""
        raise MissingMethodError(f"{type(self).__name__} must define filled")


@checked
class Box(Solid):
    """A box.

    Parameters
    ----------
    size : (3,)
        Lengths of its edges, m.
    center : (3,), optional
        Its centre, world frame, as built; by default the place of the node.
    rotation : (3, 3) or scipy Rotation, optional
        Its directions as columns, world frame, as built; by default those of the node.
    """

    def __init__(self, size: Lengths, *, center: Vector3 | None = None, rotation: RotationLike | None = None) -> None:
        self.size = np.asarray(size)
        self.center, self.rotation = _array(center), _array(rotation)

    @property
    def filled(self) -> tuple[float, Array]:
        return self.size.prod(), self.size**2 / 12.0

    def faces(self, sides: int) -> Faces:
        corners = 0.5 * self.size * np.array(list(product((-1.0, 1.0), repeat=3)))
        quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
        return Faces(self.placed(corners), [("quad", np.array(quads))])


@checked
class Cylinder(Solid):
    """A cylinder: a shaft, a wheel, a disc.

    Parameters
    ----------
    radius, length : float
        In m.
    axis : (3,), optional
        Its axis, world frame, as built; by default the z axis of the node.
    center : (3,), optional
        The middle of the axis, world frame, as built; by default the place of the node.
    """

    def __init__(
        self, radius: Positive, length: Positive, axis: Direction | None = None, *, center: Vector3 | None = None
    ) -> None:
        self.radius, self.length = radius, length
        self.center, self.rotation = _array(center), None if axis is None else about(np.asarray(axis))

    @property
    def filled(self) -> tuple[float, Array]:
        squares = np.array([self.radius**2 / 4.0, self.radius**2 / 4.0, self.length**2 / 12.0])
        return np.pi * self.radius**2 * self.length, squares

    def faces(self, sides: int) -> Faces:
        """Quads around, and two polygons."""
        rim, half = self.radius * circle(sides), np.full((sides, 1), 0.5 * self.length)
        ends = np.concatenate([np.hstack([rim, -half]), np.hstack([rim, half])])
        quads, caps = tube(sides)
        return Faces(self.placed(ends), [("quad", quads), ("polygon", caps)])


class Ellipsoid(Solid):
    """An ellipsoid with half axes ``(3,)`` along the columns of a rotation."""

    def __init__(self, half: Array, center: Array | None, rotation: Array | None) -> None:
        self.half, self.center, self.rotation = half, center, rotation

    @property
    def filled(self) -> tuple[float, Array]:
        return 4.0 / 3.0 * np.pi * self.half.prod(), self.half**2 / 5.0

    def faces(self, sides: int) -> Faces:
        """Meridians and parallels: quads, and triangles at the poles."""
        n = max(sides, FEWEST)
        rings = n // 2 - 1
        polar = np.pi * np.arange(1, rings + 1) / (rings + 1)
        around = np.broadcast_to(circle(n), (rings, n, 2))
        height = np.broadcast_to(-np.cos(polar)[:, None, None], (rings, n, 1))
        ring = np.concatenate([np.sin(polar)[:, None, None] * around, height], axis=-1).reshape(-1, 3)
        unit = np.concatenate([ring, [[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]]])
        south, north = len(ring), len(ring) + 1
        k, turned = np.arange(n), np.roll(np.arange(n), -1)
        below = np.arange(rings - 1)[:, None] * n
        quads = np.stack([below + k, below + turned, below + n + turned, below + n + k], axis=-1).reshape(-1, 4)
        last = (rings - 1) * n
        caps = [[turned, k, np.full(n, south)], [last + k, last + turned, np.full(n, north)]]
        triangles = np.swapaxes(caps, 1, 2).reshape(-1, 3)
        points = self.placed(unit * self.half)
        return Faces(points, [("quad", quads), ("triangle", triangles)] if rings > 1 else [("triangle", triangles)])


@checked
class Ball(Ellipsoid):
    """A ball.

    Parameters
    ----------
    radius : float
        In m.
    center : (3,), optional
        Its centre, world frame, as built; by default the place of the node.
    """

    called: ClassVar[str] = "a Ball"

    def __init__(self, radius: Positive, *, center: Vector3 | None = None) -> None:
        super().__init__(np.full(3, radius), _array(center), None)


def inertia_ellipsoid(mass: float, inertia: Array, center: Array) -> Ellipsoid:
    """The ellipsoid of uniform density with a mass and an inertia (3, 3) about its centre.

    Its principal inertia about axis x is ``m/5 (b^2 + c^2)`` with the half axes b and c along y and z.
    """
    principal, axes = np.linalg.eigh(inertia)
    square = 2.5 / mass * (principal.sum() - 2.0 * principal)
    half = np.sqrt(np.maximum(square, THINNEST**2 * square.max()))
    return Ellipsoid(half, center, axes * np.sign(np.linalg.det(axes)))


def circle(sides: int) -> Array:
    """Points ``(sides, 2)`` of the unit circle."""
    angle = 2.0 * np.pi * np.arange(sides) / sides
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def tube(sides: int) -> tuple[IntArray, IntArray]:
    """Quads around a tube between two circles of points, and polygons over its ends; normals outward."""
    k, turned = np.arange(sides), np.roll(np.arange(sides), -1)
    return np.stack([k, turned, turned + sides, k + sides], axis=-1), np.stack([k[::-1], k + sides])


def about(axis: Array) -> Array:
    """Axes ``(3, 3)`` as columns, right-handed, the third along the unit vector ``axis``."""
    first = np.cross(np.eye(3)[np.argmin(np.abs(axis))], axis)
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(axis, first), axis], axis=-1)


def _array(value: ArrayLike | None) -> Array | None:
    return None if value is None else np.asarray(value)


CORNERS = {"triangle": 3, "quad": 4}
"""Corners of the cells that are drawn; those of higher order begin with them: "triangle6", "quad8", "quad9"."""


def _read(value: Any, label: object) -> Any:
    return read_mesh(value, str(label).removesuffix(": mesh"))


Mesh = Annotated[Any, _read]


@checked
class Surface(Shape):
    """Triangles and quads of a mesh.

    Parameters
    ----------
    mesh : meshio.Mesh, str or Path
        A mesh, or a file that meshio reads: STL, OBJ, PLY, VTK, Gmsh and others.
    scale : float
        What a length of 1 in the mesh is in m: 0.001 for millimetres.
    center : (3,), optional
        Where the mesh's origin is, world frame, as built; by default the place of the node.
    rotation : (3, 3) or scipy Rotation, optional
        The mesh's axes as columns, world frame, as built; by default those of the node.
    """

    def __init__(
        self, mesh: Mesh, *, scale: Positive = 1.0, center: Vector3 | None = None, rotation: RotationLike | None = None
    ) -> None:
        points = array(mesh.points, "Surface: points of the mesh", (None, 3), what="points of three finite coordinates")
        blocks = {kind: _of_kind(mesh, kind) for kind in CORNERS}
        cells = [(kind, block) for kind, block in blocks.items() if len(block)]
        if not cells:
            types = ", ".join(sorted({str(block.type) for block in mesh.cells})) or "nothing"
            raise ModelError(f"Surface: mesh has no triangles and no quads, but {types}; export its surface")
        used, numbers = np.unique(np.concatenate([block.ravel() for _, block in cells]), return_inverse=True)
        ends = np.cumsum([block.size for _, block in cells])[:-1]
        parts = np.split(numbers.ravel(), ends)
        self.cells = [(kind, part.reshape(block.shape)) for (kind, block), part in zip(cells, parts, strict=True)]
        self.points = scale * points[used]
        self.center = None if center is None else np.asarray(center)
        self.rotation = None if rotation is None else np.asarray(rotation)

    def faces(self, sides: int) -> Faces:
        return Faces(self.placed(self.points), self.cells)


def _of_kind(mesh: Any, kind: str) -> IntArray:
    """Corners ``(n, p)`` of the cells of one kind, whatever their order."""
    p = CORNERS[kind]
    found = [np.asarray(block.data)[:, :p] for block in mesh.cells if str(block.type).rstrip("0123456789") == kind]
    return np.concatenate([np.empty((0, p), np.intp), *found]).astype(np.intp)
