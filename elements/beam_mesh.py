"""A line mesh becomes a structure of beams."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Hashable, Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np

from fem_mbs.arrays import IntArray
from fem_mbs.elements.beam import Beam
from fem_mbs.elements.beam_geometry import CORNER, YAxis
from fem_mbs.elements.line_mesh import LABEL, LineMesh, check_loose, line_groups, lines_of, merged, read_mesh
from fem_mbs.elements.section import BeamSection
from fem_mbs.elements.strain import INTERPOLATIONS
from fem_mbs.errors import ModelError
from fem_mbs.model import Model, Name, Node, NotNegative, checked, choice, instance, make_node, shown

LOG = logging.getLogger("fem_mbs")


class BeamMesh(NamedTuple):
    """What :func:`beams_from_mesh` made.

    Attributes
    ----------
    beams : list of Beam
        In the order of their first lines in the mesh.
    nodes : dict of int to Node
        The node at each point of the mesh that a line uses, by the number of the point.
    groups : dict of lists of Beam
        The beams of each group that has a section of its own.
    """

    beams: list[Beam]
    nodes: dict[int, Node]
    groups: dict[Hashable, list[Beam]]


@checked
def beams_from_mesh(
    model: Model,
    mesh: Any,
    section: BeamSection | Mapping[Any, BeamSection | None],
    by: str | None = None,
    y_axis: YAxis | None = None,
    interpolation: Annotated[str, choice(INTERPOLATIONS)] = "SE3",
    merge: NotNegative | None = None,
    ignore_loose: bool = False,
    name: Name = "mesh",
) -> BeamMesh:
    """Add beams along the lines of a mesh, and their nodes, to a model.

    Every point of a line becomes a node, and beams that meet at a node are welded. A beam follows successive lines, in
    the direction of the first one in the mesh, up to where other than two lines meet, the section changes, or the
    lines turn by more than 30 degrees.

    Parameters
    ----------
    model : Model
        What to add to.
    mesh : meshio.Mesh, str or Path
        A mesh, or a file that meshio reads. Its cells of the types "line" and "line3" (two elements each) are used.
    section : BeamSection or dict
        One section for all lines, or one for each named set of lines: cell sets and the physical groups of Gmsh. None
        in place of a section leaves the lines out.
    by : str, optional
        Cell data whose values are the keys of ``section``, in place of named sets.
    y_axis, interpolation
        As for :class:`Beam`. By default the section of each beam has z up, or y along the world's y if it is vertical.
    merge : float, optional
        Distance up to which points become one node; 0 keeps all points apart. By default points at the same place are
        refused.
    ignore_loose : bool
        Leave points out that no cell uses; by default they are refused. Points of other cells never become nodes.
    name : str
        The node of point 7 is named "name[7]", the first beam "name beam 0".

    Raises
    ------
    ModelError
        If the file cannot be read; for no lines, lines without length or given twice, loose points, points at the same
        place, and lines without a section or with several; for whatever a :class:`Beam` refuses. Nothing is added then.
    """
    sections = _sections(section, by)
    mesh = read_mesh(mesh)
    found = lines_of(mesh)
    if not ignore_loose:
        check_loose(mesh, len(found.points))
    group: IntArray = np.zeros(len(found.number), dtype=np.intp)
    if isinstance(section, Mapping):
        group = line_groups(mesh, found, list(sections), by)
    kept = np.array([own is not None for own in sections.values()])[group]
    found, group = found.only(kept), group[kept]
    lines = merged(found, merge)
    chains = _chains(lines, group)
    chosen = {key: own for key, own in sections.items() if own is not None}
    keys = [list(sections)[group[first]] for first in chains]

    def lay(nodes: dict[int, Node]) -> list[Beam]:
        parts = zip(keys, chains.values(), strict=True)
        return [Beam([nodes[point] for point in chain], chosen[key], y_axis, interpolation) for key, chain in parts]

    places = {int(point): lines.points[point] for point in np.unique(lines.lines)}
    # bad arguments are refused on a trial, before the model gets nodes
    lay({point: make_node(f"{name}[{point}]", model.group, place) for point, place in places.items()})
    for own in (*(f"{name}[{point}]" for point in places), *(f"{name} beam {k}" for k in range(len(chains)))):
        model.check_name(own)
    made = {point: model.add_node(place, name=f"{name}[{point}]") for point, place in places.items()}
    beams = [model.add(beam, f"{name} beam {k}") for k, beam in enumerate(lay(made))]
    groups = defaultdict(list)
    for key, beam in zip(keys, beams, strict=True):
        groups[key].append(beam)
    stands_for = dict(sorted(zip(found.lines.ravel().tolist(), lines.lines.ravel().tolist(), strict=True)))
    for point, first in stands_for.items():
        if first != point:
            LOG.info("%s: point %d became part of %s", LABEL, point, made[first])
    return BeamMesh(beams, {point: made[first] for point, first in stands_for.items()}, dict(groups))


def _sections(section: object, by: str | None) -> dict[Any, BeamSection | None]:
    """The sections of all groups of lines; one of all lines belongs to the group None."""
    if isinstance(section, BeamSection):
        if by is not None:
            raise ModelError(
                f"{LABEL}: by={by!r} tells groups apart, but one section was given for all lines; give a dict"
            )
        return {None: section}
    if not isinstance(section, Mapping) or not any(own is not None for own in section.values()):
        raise ModelError(f"{LABEL}: section must be a BeamSection, or a dict of them, received {shown(section)}")
    for key, own in section.items():
        if own is not None:
            instance(own, BeamSection, f"{LABEL}: section[{key!r}]")
    return dict(section)


def _chains(found: LineMesh, group: IntArray) -> dict[int, list[int]]:
    """Points along each beam, by its first line."""
    points, lines = found.points, found.lines.tolist()
    at = defaultdict(list)
    for line, ends in enumerate(lines):
        for point in ends:
            at[point].append(line)

    def beyond(line: int, point: int) -> int:
        return int(sum(lines[line]) - point)

    def onward(line: int, point: int) -> int | None:
        """The line that goes on from another one at its end ``point``, if it does and is not part of a beam yet."""
        if len(at[point]) != 2:
            return None
        other = sum(at[point]) - line
        here, there = points[point] - points[beyond(line, point)], points[beyond(other, point)] - points[point]
        smooth = here @ there > np.cos(CORNER) * np.linalg.norm(here) * np.linalg.norm(there)
        return other if smooth and group[line] == group[other] and other not in done else None

    done: set[int] = set()

    def way(line: int, point: int) -> list[int]:
        """Points from ``point`` on, away from a line."""
        result = [point]
        done.add(line)
        while (other := onward(line, result[-1])) is not None:
            done.add(other)
            line = other
            result.append(beyond(line, result[-1]))
        return result

    chains = {}
    for line, (start, end) in enumerate(lines):
        if line not in done:
            ahead = way(line, end)
            chains[line] = way(line, start)[::-1] + ahead
    return chains
