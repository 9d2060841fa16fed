"""The members that are made of a line mesh: beams with the nodes inside them and their releases, and trusses."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.beam import Beam
from fem_mbs.elements.beam_geometry import YAxis
from fem_mbs.elements.joints.release import EndRelease
from fem_mbs.elements.lagrange import LOBATTO
from fem_mbs.elements.mesh_arguments import Release
from fem_mbs.elements.section import BeamSection
from fem_mbs.elements.taper import Profile
from fem_mbs.elements.truss import Truss
from fem_mbs.model import Node, real


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


class Plan(NamedTuple):
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


def lay(plan: Plan, options: Options, new: Callable[[Array, str], Node]) -> Laid:
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

    beam = Beam(list(map(node, range(len(places)))), section, y_axis, options.interpolation, order=options.order)
    outer = {"start": ends[0], "end": ends[-1]}
    return beam, {side: EndRelease(outer[side], beam, side, free) for side, free in releases.items() if free}


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
