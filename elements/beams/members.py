"""The members of a line mesh: what is given for each named set of its lines, and a beam along some of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Node, instance, real, shown
from fem_mbs.elements.beams.beam import Beam, ReleasedAxes, add_beam, check_release
from fem_mbs.elements.beams.curve_strain import LOBATTO
from fem_mbs.elements.beams.geometry import YAxis
from fem_mbs.elements.beams.line_mesh import LABEL, listed
from fem_mbs.elements.beams.section import BeamSection
from fem_mbs.elements.beams.taper import Profile, along
from fem_mbs.errors import ModelError
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


def add_along(
    model: ModelDescription,
    name: str,
    ends: list[Node],
    y_axis: YAxis | None,
    elements: int,
    free: Release,
    *,
    section: Profile,
    interpolation: str,
    order: int,
) -> Beam:
    """Add a beam along lines between nodes of a mesh, with the nodes inside, released at its ends."""
    places, y_axis = _subdivided(ends, section, y_axis, elements, order)
    per_line = (len(places) - 1) // (len(ends) - 1)
    given = {k * per_line: node for k, node in enumerate(ends)}
    welded = {k: node for k, node in given.items() if not (free[0] and k == 0 or free[1] and k == len(places) - 1)}
    make = partial(Beam, section=section, y_axis=y_axis, interpolation=interpolation, order=order)
    return add_beam(model, name, places, welded, {"start": (free[0], ends[0]), "end": (free[1], ends[-1])}, make)


def _subdivided(
    ends: list[Node], section: Profile, y_axis: YAxis | None, count: int, order: int
) -> tuple[Array, YAxis | None]:
    """Places of the nodes of a beam along lines, on the arcs of a beam of order 1, and its section axes."""
    x = np.array([node.position for node in ends])
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
