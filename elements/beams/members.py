"""The members of a line mesh: what is given for each named set of its lines, and the beams and trusses made of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Node, instance, real, shown
from fem_mbs.elements.beams.beam import Beam, EndRelease, ReleasedAxes, check_release
from fem_mbs.elements.beams.curve_strain import LOBATTO
from fem_mbs.elements.beams.geometry import YAxis, y_direction
from fem_mbs.elements.beams.line_mesh import LABEL, listed
from fem_mbs.elements.beams.section import BeamSection
from fem_mbs.elements.beams.taper import Profile, along
from fem_mbs.elements.beams.truss import Truss
from fem_mbs.errors import ModelError

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


def releases_of_sets(release: object, sections: Mapping[Any, Profile]) -> Mapping[Any, Release]:
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


def y_axes_of_sets(y_axis: Any, sections: Mapping[Any, Profile]) -> Mapping[Any, YAxis]:
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


class Options(NamedTuple):
    """How members are made, by the sets of their lines."""

    sections: dict[Any, Profile]
    y_axes: Mapping[Any, YAxis]
    interpolation: str
    order: int
    elements: int
    releases: Mapping[Any, Release]
    trusses: Mapping[Any, BeamSection]
    name: str


class MemberPlan(NamedTuple):
    """Of which points of a mesh its members are made."""

    places: dict[int, Array]
    """Of the points."""
    beams: list[tuple[Hashable, list[int]]]
    """The set and the points along each beam."""
    trusses: list[tuple[Hashable, tuple[int, int]]]
    """The set and the two points of each truss."""


class Laid(NamedTuple):
    """What is made of a mesh."""

    nodes: dict[int, Node]
    beams: list[tuple[Beam, dict[str, EndRelease]]]
    trusses: list[Truss]


def lay(plan: MemberPlan, options: Options, new: Callable[[Array, str], Node]) -> Laid:
    """All members, on nodes that a function makes of places and names."""
    nodes = {point: new(place, f"{options.name}[{point}]") for point, place in plan.places.items()}
    members = enumerate(plan.beams)
    beams = [_beam(k, key, [nodes[point] for point in points], options, new) for k, (key, points) in members]
    return Laid(nodes, beams, [Truss(nodes[a], nodes[b], options.trusses[key]) for key, (a, b) in plan.trusses])


def named(laid: Laid, name: str) -> Iterator[tuple[str, Beam | EndRelease | Truss]]:
    """What is to be added, with its names."""
    for k, (beam, joints) in enumerate(laid.beams):
        yield f"{name} beam {k}", beam
        for side, joint in joints.items():
            yield f"{name} beam {k} {side}", joint
    for k, bar in enumerate(laid.trusses):
        yield f"{name} truss {k}", bar


def _beam(
    k: int, key: Hashable, ends: list[Node], options: Options, new: Callable[[Array, str], Node]
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

    beam = Beam(
        list(map(node, range(len(places)))), section, y_axis, interpolation=options.interpolation, order=options.order
    )
    outer = {"start": ends[0], "end": ends[-1]}
    return beam, {
        side: EndRelease(outer[side], beam, side=side, release=free) for side, free in releases.items() if free
    }


def _subdivided(
    ends: list[Node], section: Profile, y_axis: YAxis | None, options: Options
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
