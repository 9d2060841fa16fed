"""What arguments may be: annotations that :func:`~fem_mbs.contracts.checked.checked` reads."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated, Any

from numpy.typing import ArrayLike

from fem_mbs.contracts.validate import (
    array,
    direction,
    flags,
    number,
    one_of,
    path,
    rotation_matrix,
    text,
    vector,
    whole_number,
)

if TYPE_CHECKING:
    from typing import TypeAlias

    from scipy.spatial.transform import Rotation

    RotationLike: TypeAlias = ArrayLike | Rotation
else:
    RotationLike = Annotated[Any, rotation_matrix]

Positive = Annotated[float, partial(number, positive=True)]
Seconds = Annotated[float, partial(number, positive=True, unit=" of seconds")]
NotNegative = Annotated[float, partial(number, low=0.0)]
UnitInterval = Annotated[float, partial(number, low=0.0, high=1.0)]
PositiveInt = Annotated[int, whole_number]
Index = Annotated[int, partial(whole_number, least=0)]
Flags = Annotated[bool | Sequence[bool], flags]
"""For all directions alike, or along and about the axes x, y, z."""
Name = Annotated[str, text]
Path = Annotated[str | FilePath, path]
Vector3 = Annotated[ArrayLike, vector]
"""Three finite numbers."""
Direction = Annotated[ArrayLike, direction]
"""Three numbers with a length; the function gets the unit vector."""


def shaped(*shapes: tuple[int | None, ...], what: str = "") -> Any:
    """A rule: finite numbers of one of the shapes, where None stands for any number; ``what`` says it in words."""
    return lambda value, label: array(value, label, *shapes, what=what)


def choice(allowed: Collection[str]) -> Any:
    """A rule: one of these words."""

    def rule(value: object, label: object) -> str:
        return one_of(value, allowed, label)

    rule.allowed = allowed  # type: ignore[attr-defined]
    return rule
