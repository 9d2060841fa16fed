"""Results on the mesh that a structure was made of."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from fem_mbs.elements.beam_mesh import BeamMesh
from fem_mbs.errors import ModelError
from fem_mbs.model import checked, shown

QUERIES = {"displacement": "displacement", "rotation": "rotation_vector"}
"""Names of point data, and the queries of a solution that they are."""
FORCES = "section forces, first point", "section forces, second point"


def _solution(value: Any, label: object) -> Any:
    if not all(hasattr(value, query) for query in ("section_forces", *QUERIES.values())):
        raise ModelError(f"{label} must be a Solution of the model with the structure, received {shown(value)}")
    return value


@checked
def results_on_mesh(structure: BeamMesh, solution: Annotated[Any, _solution], number: int = -1) -> Any:
    """The mesh of a structure with a state of a run on it, for whatever reads a file that meshio writes.

    Parameters
    ----------
    structure : BeamMesh
        What :func:`beams_from_mesh` returned.
    solution : Solution
        A run, or a path of equilibria, of the model.
    number : int
        Of the state; the last one by default.

    Returns
    -------
    meshio.Mesh
        The points and cells of the mesh, in their order. Point data: "displacement" (n, 3) in m and "rotation" (n, 3),
        the rotation vector in rad, in the world, nan at points that no member uses. Cell data: "section forces, first
        point" and "..., second point" (k, 6) at both ends of each line, axial force, shear y and z in N, torsion and
        bending y and z in N m, in the section frame of its member; nan for other cells. Elements of order 1 have one
        value, that of their middle.

    Raises
    ------
    ModelError
        If the solution is not one of the model with the structure, or has no such state.
    """
    import meshio  # takes long

    solution.state(number)  # refuses a number that there is none of
    mesh = structure.mesh
    points = {name: np.full((len(mesh.points), 3), np.nan) for name in QUERIES}
    for name, query in QUERIES.items():
        for point, node in structure.nodes.items():
            points[name][point] = getattr(solution, query)(node)[number]
    forces = {member: solution.section_forces(member)[number] for member in (*structure.beams, *structure.trusses)}
    first, second = ([np.full((len(cells.data), 6), np.nan) for cells in mesh.cells] for _ in FORCES)
    for line in structure.lines:
        if np.isnan(first[line.block][line.row]).all():  # the second line of a quadratic cell has no share in it
            first[line.block][line.row] = forces[line.member][line.first]
        second[line.block][line.row] = forces[line.member][line.second]
    cells = [(block.type, block.data) for block in mesh.cells]
    return meshio.Mesh(mesh.points, cells, points, dict(zip(FORCES, (first, second), strict=True)))
