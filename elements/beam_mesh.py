"""A line mesh becomes a structure of beams."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.elements.beam import Beam, check_order
from fem_mbs.elements.beam_geometry import CORNER, YAxis, y_direction
from fem_mbs.elements.joints.release import EndRelease, Free, check_release
from fem_mbs.elements.lagrange import LOBATTO
from fem_mbs.elements.line_mesh import LABEL, LineMesh, check_loose, line_groups, lines_of, listed, merged, read_mesh
from fem_mbs.elements.section import BeamSection
from fem_mbs.elements.strain import INTERPOLATIONS
from fem_mbs.elements.taper import Profile, along
from fem_mbs.elements.truss import Truss
from fem_mbs.errors import ModelError
from fem_mbs.model import Count, Model, Name, Node, NotNegative, checked, choice, instance, make_node, real, shown

LOG = logging.getLogger("fem_mbs")
Release: TypeAlias = tuple[Free | None, Free | None]
"""Axes of the section about which start and end of a beam turn freely."""


class MemberLine(NamedTuple):
    """A line of a mesh in a structure: its cell, its member, and the rows of section forces at its two points."""

    block: int
    row: int
    member: Beam | Truss
    first: int
    second: int


class BeamMesh(NamedTuple):
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


@checked
def beams_from_mesh(
    model: Model,
    mesh: Any,
    section: Profile | Mapping[Any, Profile | None],
    by: str | None = None,
    y_axis: YAxis | Mapping[Any, YAxis] | None = None,
    interpolation: Annotated[str, choice(INTERPOLATIONS)] = "SE3",
    merge: NotNegative | None = None,
    ignore_loose: bool = False,
    name: Name = "mesh",
    order: Count = 3,
    elements: Count = 1,
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
        One section for all lines, or one for each named set of lines: cell sets and the physical groups of Gmsh. None
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
    chosen = {key: own for key, own in sections.items() if own is not None}
    order = check_order(order, interpolation, LABEL)
    options = _Options(
        chosen, _y_axes(y_axis, chosen), interpolation, order, elements, _releases(release, chosen), name
    )
    bars = _trusses(trusses, chosen)
    is_bar = np.array([key in bars for key in sections])[group]
    chains = _chains(lines.only(~is_bar), group[~is_bar])
    keys = [*sections]
    beam_keys = [keys[group[~is_bar][first]] for first in chains]
    bar_keys = [keys[number] for number in group[is_bar]]
    one = {key: instance(chosen[key], BeamSection, f"{LABEL}: section of the trusses {key!r}") for key in bars}
    places = {int(point): lines.points[point] for point in np.unique(lines.lines)}

    def lay(new: Callable[[Array, str], Node]) -> _Laid:
        """Everything, on nodes that a function makes."""
        nodes = {point: new(place, f"{name}[{point}]") for point, place in places.items()}
        members = enumerate(zip(beam_keys, chains.values(), strict=True))
        beams = [_beam(k, key, [nodes[point] for point in chain], options, new) for k, (key, chain) in members]
        pairs = zip(bar_keys, lines.lines[is_bar].tolist(), strict=True)
        return _Laid(nodes, beams, [Truss(nodes[a], nodes[b], one[key]) for key, (a, b) in pairs])

    # bad arguments are refused on a trial, before the model gets nodes
    def trial(place: Array, label: str) -> Node:
        model.check_name(label)
        return make_node(label, model.group, place)

    for label, _ in _named(lay(trial), name):
        model.check_name(label)
    laid = lay(lambda place, label: model.add_node(place, name=label))
    for label, part in _named(laid, name):
        model.add(part, label)
    beams = [beam for beam, _ in laid.beams]
    groups: dict[Hashable, list[Beam | Truss]] = defaultdict(list)
    members: list[Beam | Truss] = [*beams, *laid.trusses]
    for key, member in zip((*beam_keys, *bar_keys), members, strict=True):
        groups[key].append(member)
    stands_for = dict(sorted(zip(found.lines.ravel().tolist(), lines.lines.ravel().tolist(), strict=True)))
    for point, first in stands_for.items():
        if first != point:
            LOG.info("%s: point %d became part of %s", LABEL, point, laid.nodes[first])
    nodes = {point: laid.nodes[first] for point, first in stands_for.items()}
    at = _rows(beams, list(chains.values())) | {
        (a, b): (bar, 0, 0) for bar, (a, b) in zip(laid.trusses, _pairs(lines.lines[is_bar]), strict=True)
    }
    cells = zip(found.block.tolist(), found.row.tolist(), _pairs(lines.lines), strict=True)
    parts = [MemberLine(block, row, *at[pair]) for block, row, pair in cells]
    return BeamMesh(beams, nodes, dict(groups), laid.trusses, mesh, parts)


def _pairs(lines: IntArray) -> list[tuple[int, int]]:
    """The points of each line."""
    return [(a, b) for a, b in lines.tolist()]


def _rows(beams: list[Beam], chains: list[list[int]]) -> dict[tuple[int, int], tuple[Beam | Truss, int, int]]:
    """The beam between two points of a mesh, with the rows of its section forces there, in either direction."""
    result: dict[tuple[int, int], tuple[Beam | Truss, int, int]] = {}
    for beam, points in zip(beams, chains, strict=True):
        rows = len(beam.length) // (len(points) - 1) * (1 if beam.order == 1 else beam.order + 1)
        for k, (a, b) in enumerate(pairwise(points)):
            first, last = k * rows, (k + 1) * rows - 1
            result[a, b], result[b, a] = (beam, first, last), (beam, last, first)
    return result


class _Options(NamedTuple):
    """How beams are made."""

    sections: dict[Any, Profile]
    y_axes: Mapping[Any, YAxis]
    interpolation: str
    order: int
    elements: int
    releases: Mapping[Any, Release]
    name: str


class _Laid(NamedTuple):
    """What is made of a mesh."""

    nodes: dict[int, Node]
    beams: list[tuple[Beam, dict[str, EndRelease]]]
    trusses: list[Truss]


def _named(laid: _Laid, name: str) -> Iterator[tuple[str, Beam | EndRelease | Truss]]:
    """What is to be added, with its names."""
    for k, (beam, joints) in enumerate(laid.beams):
        yield f"{name} beam {k}", beam
        for side, joint in joints.items():
            yield f"{name} beam {k} {side}", joint
    for k, bar in enumerate(laid.trusses):
        yield f"{name} truss {k}", bar


def _beam(
    k: int, key: Hashable, ends: list[Node], options: _Options, new: Callable[[Array, str], Node]
) -> tuple[Beam, dict[str, EndRelease]]:
    """The beam number ``k`` along some nodes of the mesh, with the nodes inside, and what it is released by."""
    section, releases = options.sections[key], dict(zip(("start", "end"), options.releases.get(key, ()), strict=False))
    places, y_axis = _subdivided(ends, section, options.y_axes.get(key), options)
    per_line = (len(places) - 1) // (len(ends) - 1)

    def node(j: int) -> Node:
        released = releases.get("start" if j == 0 else "end" if j == len(places) - 1 else "")
        if j % per_line or released:
            return new(places[j], f"{options.name} beam {k}[{j}]")
        return ends[j // per_line]

    beam = Beam(list(map(node, range(len(places)))), section, y_axis, options.interpolation, order=options.order)
    outer = {"start": ends[0], "end": ends[-1]}
    return beam, {side: EndRelease(outer[side], beam, side, free) for side, free in releases.items() if free}


def _subdivided(
    ends: list[Node], section: Profile, y_axis: YAxis | None, options: _Options
) -> tuple[Array, YAxis | None]:
    """Places of the nodes of a beam along lines, on the arcs of a beam of order 1, and its section axes."""
    x = np.array([node.position for node in ends])
    count, order = options.elements, options.order
    if count * order == 1:
        return x, y_axis
    shares = (np.arange(count)[:, None] + LOBATTO[order][:-1]).ravel() / count
    points, frames = Beam(ends, section, y_axis).line_at(x, np.array([end.rotation for end in ends]), shares)
    points[:, 0] = x[:-1]
    places = np.append(points.reshape(-1, 3), x[-1:], axis=0)
    given = real(y_axis) if y_axis is not None and not callable(y_axis) else None
    if given is None or given.ndim != 2:
        return places, y_axis
    # one direction for each node of the mesh: those inside have what lies between
    return places, np.append(frames[..., 1].reshape(-1, 3), given[-1:], axis=0)


def _releases(release: object, sections: Mapping[Any, Profile]) -> Mapping[Any, Release]:
    """Axes that are free at both ends, by group."""
    if release is None:
        return {}
    by_group: Mapping[Any, Any] = release if isinstance(release, Mapping) else dict.fromkeys(sections, release)
    _check_keys(by_group, sections, "release")
    for key, ends in by_group.items():
        label = f"{LABEL}: release" + (f"[{key!r}]" if isinstance(release, Mapping) else "")
        if not isinstance(ends, tuple | list) or len(ends) != 2:
            raise ModelError(f"{label} must be a pair for start and end, such as ('yz', None), received {shown(ends)}")
        for free in ends:
            if free is not None:
                check_release(free, label)
    return by_group


def _y_axes(y_axis: Any, sections: Mapping[Any, Profile]) -> Mapping[Any, YAxis]:
    """Section axes by group."""
    if y_axis is None:
        return {}
    if not isinstance(y_axis, Mapping):
        return dict.fromkeys(sections, y_axis)
    _check_keys(y_axis, sections, "y_axis")
    return {key: y_direction(own, f"{LABEL}: y_axis[{key!r}]") for key, own in y_axis.items()}


def _check_keys(keys: Iterable[Any], sections: Mapping[Any, Profile], argument: str) -> None:
    """Refuse groups that have no section."""
    for key in keys:
        if key not in sections:
            raise ModelError(
                f"{LABEL}: {argument}: no section for {key!r}; there is one for {listed(map(repr, sections))}"
            )


def _trusses(trusses: Collection[Any] | bool, sections: Mapping[Any, Profile]) -> set[Any]:
    """Groups whose lines are trusses."""
    if isinstance(trusses, bool):
        return set(sections) if trusses else set()
    try:
        keys = None if isinstance(trusses, str | Mapping) else set(trusses)
    except TypeError:  # what cannot be a key of a dict
        keys = None
    if keys is None:
        raise ModelError(f"{LABEL}: trusses must be True, False or a collection of sets, received {shown(trusses)}")
    _check_keys(keys, sections, "trusses")
    return keys


def _sections(section: object, by: str | None) -> dict[Any, Profile | None]:
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
