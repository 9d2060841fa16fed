"""What is given for each named set of lines of a mesh: sections, axes, releases, and which are trusses."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeAlias

from fem_mbs.elements.beam_geometry import YAxis, y_direction
from fem_mbs.elements.joints.release import Free, check_release
from fem_mbs.elements.line_mesh import LABEL, listed
from fem_mbs.elements.section import BeamSection
from fem_mbs.elements.taper import Profile, along
from fem_mbs.errors import ModelError
from fem_mbs.model import instance, shown

Release: TypeAlias = tuple[Free | None, Free | None]
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
