"""The surface of a mesh: of a file from a CAD program, or made by a script."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from fem_mbs.arrays import IntArray
from fem_mbs.contracts import LARGEST, Faces, Positive, RotationLike, Shape, Vector3, checked, real, shown
from fem_mbs.elements.beams.line_mesh import read_mesh
from fem_mbs.errors import ModelError

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
        self,
        mesh: Mesh,
        *,
        scale: Positive = 1.0,
        center: Vector3 | None = None,
        rotation: RotationLike | None = None,
    ) -> None:
        points = real(mesh.points)
        if points is None or points.ndim != 2 or points.shape[1] != 3 or not (np.abs(points) <= LARGEST).all():
            raise ModelError(
                f"Surface: mesh must have points of three finite coordinates, received {shown(mesh.points)}"
            )
        blocks = {kind: _of_kind(mesh, kind, len(points)) for kind in CORNERS}
        cells = [(kind, block) for kind, block in blocks.items() if len(block)]
        if not cells:
            raise ModelError(
                f"Surface: mesh has no triangles and no quads, but {', '.join(_types(mesh)) or 'nothing'}; export its "
                "surface"
            )
        used, numbers = np.unique(np.concatenate([block.ravel() for _, block in cells]), return_inverse=True)
        ends = np.cumsum([block.size for _, block in cells])[:-1]
        parts = np.split(numbers.ravel(), ends)
        self.cells = [(kind, part.reshape(block.shape)) for (kind, block), part in zip(cells, parts, strict=True)]
        self.points = scale * points[used]
        self.center = None if center is None else np.asarray(center)
        self.rotation = None if rotation is None else np.asarray(rotation)

    def faces(self, sides: int) -> Faces:
        """Those of the mesh."""
        return Faces(self.placed(self.points), self.cells)


def _types(mesh: Any) -> list[str]:
    return sorted({str(block.type) for block in mesh.cells})


def _of_kind(mesh: Any, kind: str, count: int) -> IntArray:
    """Corners ``(n, p)`` of the cells of one kind, whatever their order."""
    p = CORNERS[kind]
    found = [np.asarray(block.data)[:, :p] for block in mesh.cells if str(block.type).rstrip("0123456789") == kind]
    result = np.concatenate([np.empty((0, p), np.intp), *found]).astype(np.intp)
    if len(result) and not (0 <= result.min() and result.max() < count):
        raise ModelError(f"Surface: mesh has a {kind} with a point that is not among its {count} points")
    return result
