"""A line mesh becomes a structure of beams, and results of these go back to the mesh.

What is given for each named set of its lines comes first, then a beam along some of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Name, Node, NotNegative, PositiveInt, Public, checked, choice, instance, real, shown
from fem_mbs.contracts.arguments import is_of
from fem_mbs.elements.beams.beam import Beam, ReleasedAxes, add_beam, check_order, check_release
from fem_mbs.elements.beams.curve_strain import node_shares
from fem_mbs.elements.beams.geometry import YAxis, y_direction
from fem_mbs.elements.beams.line_mesh import (
    LABEL,
    LineMesh,
    chains_of,
    check_loose,
    line_groups,
    lines_of,
    listed,
    merged,
    read_mesh,
)
from fem_mbs.elements.beams.section import BeamSection, Profile, along
from fem_mbs.elements.beams.truss import Truss
from fem_mbs.elements.beams.two_node import INTERPOLATIONS
from fem_mbs.errors import LOG, ModelError
from fem_mbs.model.description import ModelDescription

Release: TypeAlias = tuple[ReleasedAxes | None, ReleasedAxes | None]
"""Axes of the section about which start and end of a beam turn freely."""


def sections_of_sets(section: object, by: str | None) -> dict[Any, Profile | None]:
    """The sections of all groups of lines; one of all lines belongs to the group None."""
    if isinstance(section, BeamSection | tuple) or callable(section):
        if by is not None:
            raise ModelError(
                f"{LABEL}: by={by!r} tells groups apart, but one section was given for all lines; give a dict"
            )
        along(section, f"{LABEL}: section")
        return {None: section}
    if not isinstance(section, Mapping) or not any(own is not None for own in section.values()):
        raise ModelError(f"{LABEL}: section must be a BeamSection, or a dict of them, received {shown(section)}")
    for key, own in section.items():
        if own is not None:
            along(own, f"{LABEL}: section[{key!r}]")
    return dict(section)


def of_sets(
    given: Any, sections: Mapping[Any, Profile], argument: str, rule: Callable[[Any, str], Any]
) -> dict[Any, Any]:
    """What is given for all groups, or for some of them by their keys, and obeys a rule."""
    label = f"{LABEL}: {argument}"
    if not isinstance(given, Mapping):
        return {} if given is None else dict.fromkeys(sections, rule(given, label))
    _check_keys(given, sections, argument)
    return {key: rule(own, f"{label}[{key!r}]") for key, own in given.items()}


def released_ends(ends: Any, label: str) -> Release:
    """Axes that are free at both ends, or a :class:`ModelError` that begins with ``label``."""
    if not isinstance(ends, tuple | list) or len(ends) != 2:
        raise ModelError(f"{label} must be a pair for start and end, such as ('yz', None), received {shown(ends)}")
    start, end = (None if free is None else check_release(free, label) for free in ends)
    return start, end


def _check_keys(keys: Iterable[Any], sections: Mapping[Any, Profile], argument: str) -> None:
    """Refuse groups that have no section."""
    for key in keys:
        if key not in sections:
            raise ModelError(
                f"{LABEL}: {argument}: no section for {key!r}; there is one for {listed(map(repr, sections))}"
            )


def trusses_of_sets(trusses: Collection[Any] | bool, sections: Mapping[Any, Profile]) -> dict[Any, BeamSection]:
    """The sections of the sets whose lines are trusses."""
    keys: set[Any] | None = None
    try:
        if isinstance(trusses, bool):
            keys = set(sections) if trusses else set()
        elif not isinstance(trusses, str | Mapping):
            keys = set(trusses)
    except TypeError:  # what cannot be a key of a dict
        pass
    if keys is None or (None in keys and not isinstance(trusses, bool)):
        raise ModelError(f"{LABEL}: trusses must be True, False or a collection of sets, received {shown(trusses)}")
    _check_keys(keys, sections, "trusses")
    return {key: instance(sections[key], BeamSection, f"{LABEL}: section of the trusses {key!r}") for key in keys}


def _add_along(
    model: ModelDescription,
    name: str,
    ends: list[Node],
    places: Array,
    free: Release,
    make: Callable[[list[Node]], Beam],
) -> Beam:
    """Add a beam along lines between nodes of a mesh, with the nodes inside, released at its ends."""
    per_line = (len(places) - 1) // (len(ends) - 1)
    given = {k * per_line: node for k, node in enumerate(ends)}
    welded = {k: node for k, node in given.items() if not (free[0] and k == 0 or free[1] and k == len(places) - 1)}
    released = {"start": (free[0], ends[0]), "end": (free[1], ends[-1])}
    return add_beam(model, name, places, welded, released=released, make=make)


def _subdivided(
    ends: list[Node], section: Profile, y_axis: YAxis | None, count: int, order: int
) -> tuple[Array, YAxis | None]:
    """Places of the nodes of a beam along lines, on the arcs of a beam of order 1, and its section axes."""
    x = np.array([node.position for node in ends])
    if count * order == 1:
        return x, y_axis
    shares, R = node_shares(count, order)[:-1], np.array([end.rotation for end in ends])
    points, frames = Beam(ends, section, y_axis).line_at(x, R, shares)
    points[:, 0] = x[:-1]
    places = np.append(points.reshape(-1, 3), x[-1:], axis=0)
    given = real(y_axis) if y_axis is not None and not callable(y_axis) else None
    if given is None or given.ndim != 2:
        return places, y_axis
    # one direction for each node of the mesh: those inside have what lies between
    return places, np.append(frames[..., 1].reshape(-1, 3), given[-1:], axis=0)


QUERIES = {"displacement": "displacement", "rotation": "rotation_vector"}
"""Names of point data, and the queries of a solution that they are."""
FORCES = "section forces, first point", "section forces, second point"


def _solution(value: Any, label: object) -> Any:
    if not is_of(value, "fem_mbs.solution.queries", "Queries"):
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


class MemberLine(NamedTuple):
    """A line of a mesh in a structure: its cell, its member, and the rows of section forces at its two points."""

    block: int
    row: int
    member: Beam | Truss
    first: int
    second: int


@dataclass(frozen=True, repr=False)
class BeamMesh(Public):
    """What :func:`beams_from_mesh` made.

    Attributes
    ----------
    beams : list of Beam
        In the order of their first lines in the mesh.
    nodes : dict of int to Node
        The node at each point of the mesh that a line uses, by the number of the point.
    groups : dict of lists of Beam or Truss
        The members of each group that has a section of its own.
    trusses : list of Truss
        In the order of their lines in the mesh.
    mesh : meshio.Mesh
        What they were made of; :func:`results_on_mesh` puts results on it.
    lines : list of MemberLine
        Which part of which member each line is, in the order of the mesh.
    """

    beams: list[Beam]
    nodes: dict[int, Node]
    groups: dict[Hashable, list[Beam | Truss]]
    trusses: list[Truss]
    mesh: Any
    lines: list[MemberLine]

    def __repr__(self) -> str:
        counts = f"{len(self.beams)} beams, {len(self.trusses)} trusses, {len(self.nodes)} nodes"
        return f"BeamMesh: {counts}, groups {list(self.groups)}"


@checked
def beams_from_mesh(
    model: ModelDescription,
    mesh: Any,
    section: Profile | Mapping[Any, Profile | None],
    *,
    by: str | None = None,
    y_axis: YAxis | Mapping[Any, YAxis] | None = None,
    interpolation: Annotated[str, choice(INTERPOLATIONS)] = "SE3",
    merge: NotNegative | None = None,
    ignore_loose: bool = False,
    name: Name = "mesh",
    order: PositiveInt = 3,
    elements: PositiveInt = 1,
    release: Release | Mapping[Any, Release] | None = None,
    trusses: Collection[Any] | bool = False,
) -> BeamMesh:
    """Add beams along the lines of a mesh, and their nodes, to a model.

    Every point of a line becomes a node, and beams that meet at a node are welded. A beam follows successive lines, in
    the direction of the first one in the mesh, up to where other than two lines meet, the section changes, or the
    lines turn by more than 30 degrees. One line is enough for a straight member: by default its element is of order 3,
    which in linear theory has the exact forces and displacements of joint loads and uniform loads.

    Parameters
    ----------
    model : Model
        What to add to.
    mesh : meshio.Mesh, str or Path
        A mesh, or a file that meshio reads. Its cells of the types "line" and "line3" (two elements each) are used.
    section : BeamSection or dict
        One section for all lines, or one for each named set of lines: cell sets and the groups of Gmsh and MED. None
        in place of a section leaves the lines out; a pair or a function makes each beam of the set a tapered one.
    by : str, optional
        Cell data whose values are the keys of ``section``, in place of named sets.
    y_axis, interpolation
        As for :class:`Beam`, the first also as a dict, for some of the sets. By default the section of each beam has z
        up, or y along the world's y if it is vertical.
    merge : float, optional
        Distance up to which points become one node; 0 keeps all points apart. By default points at the same place are
        refused.
    ignore_loose : bool
        Leave points out that no cell uses; by default they are refused. Points of other cells never become nodes.
    name : str
        The node of point 7 is named "name[7]", the first beam "name beam 0", and a node inside it "name beam 0[1]":
        ``beams[0].nodes[1]``; the first truss "name truss 0".
    order : {1, 2, 3}
        Of the elements, see :class:`Beam`. With 1 a member needs several lines, or ``elements``, to bend in an S.
    elements : int
        Elements of each line.
    release : (str, str) or dict
        Axes of the section about which the start and the end of each beam turn freely on their nodes, ``None`` for a
        welded end: ``("yz", "yz")`` pins a brace at both ends (:class:`EndRelease`). One for all beams, or one for
        each of some sets.
    trusses : bool or collection
        Whether lines are trusses, or the sets whose lines are: one :class:`Truss` for each line.

    Raises
    ------
    ModelError
        If the file cannot be read; for no lines, lines without length or given twice, loose points, points at the same
        place, and lines without a section or with several; for whatever a :class:`Beam` refuses. Nothing is added then.
    """
    sections = sections_of_sets(section, by)
    mesh = read_mesh(mesh)
    found, group = _lines_of_sets(mesh, section, sections, by, ignore_loose)
    lines = merged(found, merge)
    keys, chosen = [*sections], {key: own for key, own in sections.items() if own is not None}
    y_axes = of_sets(y_axis, chosen, "y_axis", y_direction)
    releases = of_sets(release, chosen, "release", released_ends)
    check_order(order, interpolation, LABEL)
    bars = trusses_of_sets(trusses, chosen)
    is_bar = np.array([key in bars for key in keys])[group]
    members: list[Member] = []
    with model.all_or_nothing():
        used = np.unique(lines.lines).tolist()
        added = model.add_nodes(lines.points[used], [f"{name}[{point}]" for point in used])
        nodes = dict(zip(used, added, strict=True))
        for k, (first, points) in enumerate(chains_of(lines.only(~is_bar), group[~is_bar]).items()):
            key = keys[group[~is_bar][first]]
            ends, free = [nodes[point] for point in points], releases.get(key, (None, None))
            places, own_axis = _subdivided(ends, chosen[key], y_axes.get(key), elements, order)
            make = partial(Beam, section=chosen[key], y_axis=own_axis, interpolation=interpolation, order=order)
            beam = _add_along(model, f"{name} beam {k}", ends, places, free, make)
            members.append((key, points, beam))
        for k, (which, (a, b)) in enumerate(zip(group[is_bar], lines.lines[is_bar].tolist(), strict=True)):
            bar = model.add(Truss(nodes[a], nodes[b], bars[keys[which]]), f"{name} truss {k}")
            members.append((keys[which], [a, b], bar))
    return _structure(mesh, found, lines, members, nodes)


def _lines_of_sets(
    mesh: Any, section: object, sections: Mapping[Any, Profile | None], by: str | None, ignore_loose: bool
) -> tuple[LineMesh, IntArray]:
    """Lines of a mesh that have a section, and the place of that among ``sections``."""
    found = lines_of(mesh)
    if not ignore_loose:
        check_loose(mesh, len(found.points))
    group: IntArray = np.zeros(len(found.number), dtype=np.intp)
    if isinstance(section, Mapping):
        group = line_groups(mesh, found, [*sections], by)
    kept = np.array([own is not None for own in sections.values()])[group]
    return found.only(kept), group[kept]


Member: TypeAlias = tuple[Hashable, list[int], Beam | Truss]
"""A member of a mesh: its set, the points along it, and what it became."""


def _structure(mesh: Any, found: LineMesh, lines: LineMesh, members: list[Member], nodes: dict[int, Node]) -> BeamMesh:
    """What was made of the lines ``found`` in a mesh, whose points became those of ``lines``."""
    groups: dict[Hashable, list[Beam | Truss]] = defaultdict(list)
    at: dict[tuple[int, int], tuple[Beam | Truss, int, int]] = {}
    for key, points, part in members:
        groups[key].append(part)
        rows = len(part.stations) // (len(points) - 1)
        for k, (a, b) in enumerate(pairwise(points)):
            first, last = k * rows, (k + 1) * rows - 1
            at[a, b], at[b, a] = (part, first, last), (part, last, first)
    stands_for = dict(sorted(zip(found.lines.ravel().tolist(), lines.lines.ravel().tolist(), strict=True)))
    for point, first in stands_for.items():
        if first != point:
            LOG.info("%s: point %d became part of %s", LABEL, point, nodes[first])
    cells = zip(found.block.tolist(), found.row.tolist(), lines.lines.tolist(), strict=True)
    return BeamMesh(
        [part for _, _, part in members if isinstance(part, Beam)],
        {point: nodes[first] for point, first in stands_for.items()},
        dict(groups),
        [part for _, _, part in members if isinstance(part, Truss)],
        mesh,
        [MemberLine(block, row, *at[a, b]) for block, row, (a, b) in cells],
    )
