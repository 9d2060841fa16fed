"""Sections that change along a beam."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import instance, shown
from fem_mbs.elements.beams.section import BeamSection
from fem_mbs.errors import ModelError

if TYPE_CHECKING:
    Profile: TypeAlias = BeamSection | tuple[BeamSection, BeamSection] | Callable[[float], BeamSection]
    """One section, a pair for a linear taper, or a function of the arc length from 0 to 1."""
else:
    Profile = Any  # checked by ``along``
ENDS = ("start", "end")
Along: TypeAlias = "BeamSection | Callable[[float], BeamSection]"


def along(profile: object, label: str) -> Along:
    """A profile as one section, or as a function; errors begin with a label that names the argument."""
    if isinstance(profile, BeamSection):
        return profile
    if isinstance(profile, tuple | list):
        if len(profile) != 2:
            raise ModelError(f"{label} must be one section, or a pair (start, end), received {len(profile)} sections")
        start, end = (
            instance(one, BeamSection, f"{label} of the {end}") for end, one in zip(ENDS, profile, strict=True)
        )
        return linear(start, end, label)
    if not callable(profile):
        raise ModelError(
            f"{label} must be a BeamSection, received {shown(profile)}; a pair of sections or a function of the "
            "arc length from 0 to 1 makes a tapered beam"
        )

    return partial(_called, profile, label)


def _called(profile: Callable[[float], object], label: str, s: float) -> BeamSection:
    try:
        made = profile(s)
    except Exception as error:
        where = f"{label}, as a function of the arc length, failed at {s:.6g}"
        raise ModelError(f"{where}: {error!r}") from error
    return instance(made, BeamSection, f"{label} at the arc length {s:.6g}")


def linear(start: BeamSection, end: BeamSection, label: str) -> Callable[[float], BeamSection]:
    """A taper in which whatever the two sections were made of goes linearly from one to the other."""
    kinds = [[step for step, _ in section.recipe] for section in (start, end)]
    if kinds[0] != kinds[1]:
        ways = " and ".join(" ".join(f".{step}" for step in kind) for kind in kinds)
        raise ModelError(
            f"{label}: a linear taper goes between sections that were made in the same way, but these were made by "
            f"{ways}; give a function of the arc length from 0 to 1 that makes the section"
        )
    section = partial(_mixed, start, end)
    try:
        section(0.5)
    except (ValueError, ModelError) as error:
        raise ModelError(f"{label}: there is no section between those of start and end: {error}") from error
    return section


def _mixed(start: BeamSection, end: BeamSection, s: float) -> BeamSection:
    made: Any = BeamSection
    for (step, first), (_, last) in zip(start.recipe, end.recipe, strict=True):
        values = [_between(a, b, s) for a, b in zip(first, last, strict=True)]
        made = BeamSection(*values) if step == "BeamSection" else getattr(made, step)(*values)
    return made  # type: ignore[no-any-return]


def _between(first: Any, last: Any, s: float) -> Any:
    if first is None or last is None:  # outlines that are left to the section
        return None
    return (1.0 - s) * np.asarray(first, float) + s * np.asarray(last, float)


def sections_at(section: Along, s: Array) -> list[BeamSection]:
    """Sections at the arc lengths ``s``, flat."""
    return [section if isinstance(section, BeamSection) else section(float(place)) for place in s.ravel()]


def values_at(section: Along, s: Array, *names: str) -> list[Array]:
    """Attributes of the sections at arc lengths ``s``, each of the shape of ``s`` and its own."""
    made = sections_at(section, s)
    values = [np.array([getattr(one, name) for one in made]) for name in names]
    return [value.reshape(*s.shape, *value.shape[1:]) for value in values]
