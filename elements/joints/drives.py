"""What prescribes the coordinates of a joint, or moves its point."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.arrays import Array
from fem_mbs.contracts import derivatives, evaluate, function, shown
from fem_mbs.errors import ModelError

if TYPE_CHECKING:
    from fem_mbs.elements.joints.relative import RelativeJoint

Drive = Annotated[Callable[[float], float], partial(function, of=" of time")]
DriveLike: TypeAlias = Drive | Mapping[str, Drive]
"""Of the one coordinate that a drive may prescribe, or of several by their names."""
Displacement = Annotated[Callable[[float], ArrayLike], partial(function, of=" of time")]
TOLERANCE = 1e-8
HALVINGS = 30
"""Of a step in which a drive turns far, until it must have jumped."""


class Move(NamedTuple):
    """A law that moves the point of b: its directions (3, s) in frame a, and how many components it returns."""

    directions: Array
    law: Callable[[float], ArrayLike]
    size: int | None


class Drives:
    """The laws of a joint: of its angle, and of where the point of b is against that of a."""

    def __init__(self, joint: RelativeJoint, angle: Drive | None, moves: Sequence[Move]) -> None:
        self.joint, self.angle, self.moves = joint, angle, moves
        self._last: dict[int, tuple[tuple[float, float], tuple[Array, Array]]] = {}

    @property
    def acts(self) -> bool:
        """Whether there are any laws."""
        return bool(self.moves) or self.angle is not None

    def turned(self, t: float) -> float:
        """The prescribed angle in rad."""
        assert self.angle is not None
        return float(evaluate(self.angle, t, self.joint, None))

    def turning(self, t: float, end: float) -> tuple[float, float]:
        """Its first and second time derivative; it is known up to the time ``end``."""
        assert self.angle is not None
        first, second = self._derivatives(self.angle, None, t, end)
        return float(first), float(second)

    def moved(self, t: float) -> Array:
        """How far the point of b is from that of a, ``(3,)`` in frame a."""
        parts = [D @ np.atleast_1d(evaluate(law, t, self.joint, size)) for D, law, size in self.moves]
        return np.sum(parts, axis=0)  # type: ignore[no-any-return]

    def moving(self, t: float, end: float) -> tuple[Array, Array]:
        """First and second time derivative of :meth:`moved`."""
        rates = [
            [D @ np.atleast_1d(rate) for rate in self._derivatives(law, size, t, end)] for D, law, size in self.moves
        ]
        first, second = np.sum(rates, axis=0)
        return first, second

    def jump(self, before: float, t: float) -> float:
        """By how much the angle jumps between two times; 0 if it does not, or by so little that directions show it."""
        if self.angle is None:
            return 0.0
        first, last = self.turned(before), self.turned(t)
        for _ in range(HALVINGS):
            if abs(last - first) < np.pi:
                return 0.0
            middle = 0.5 * (before + t)
            turned = self.turned(middle)
            if abs(turned - first) > abs(last - turned):
                t, last = middle, turned
            else:
                before, first = middle, turned
        return last - first

    def _derivatives(
        self, law: Callable[[float], ArrayLike], size: int | None, t: float, end: float
    ) -> tuple[Array, Array]:
        """Those of a law, which are asked for several times at one instant."""
        known = self._last.get(id(law))
        if known is None or known[0] != (t, end):
            known = self._last[id(law)] = (t, end), derivatives(law, t, self.joint, size, end)
        return known[1]

    def check_start(self, angle: float, moved: Array) -> None:
        """Refuse laws that do not begin where the joint stands: at an angle, its points ``moved`` (3,) in frame a."""
        end = "subtract what is too much, or let model.assemble() bring the joint to where its drive begins"
        if self.angle is not None and abs((begins := self.turned(0.0)) - angle) > TOLERANCE:
            raise ModelError(
                f"{self.joint}: its drive must be {rounded(angle):g} at t = 0, where the joint stands as it was "
                f"built, received {begins:.6g} rad; {end}"
            )
        along = self.joint.axes[0][:, list(self.joint.positions)]
        if self.moves and np.abs(along.T @ ((first := self.moved(0.0)) - moved)).max() > TOLERANCE:
            raise ModelError(
                f"{self.joint}: its displacement must be {_shown(moved)} at t = 0, where the joint stands as it was "
                f"built, received {first}; {end}"
            )


def rounded(value: float) -> float:
    """A value without what is rounding."""
    return value if abs(value) > TOLERANCE else 0.0


def _shown(moved: Array) -> str:
    return str(moved) if np.abs(moved).max() > TOLERANCE else "0"


def drives_by_name(
    drive: DriveLike | None, closes: Sequence[str], free: Sequence[str], several: Sequence[str], label: str
) -> Mapping[str, Drive]:
    """Drives by the names of what they prescribe, or a refusal of those that have nothing to move.

    ``free`` are the coordinates of the joint that a drive may prescribe, ``several`` rotations that it may not.
    """
    if drive is None:
        return {}
    allowed = ", ".join(map(repr, free)) or "nothing of this joint"
    if not isinstance(drive, Mapping):
        if len(free) != 1:
            raise ModelError(f"{label}: its drive must say what it prescribes, drive={{name: law}}, with {allowed}")
        return {free[0]: drive}
    for name, law in drive.items():
        if not callable(law):
            raise ModelError(f"{label}: the drive of '{name}' must be a function of time, received {shown(law)}")
        if name not in free:
            why = "the joint closes it" if name in closes else "no drive can prescribe it"
            if name in several:
                why = f"it is one of several rotations, which model.add(JointDrive(joint, law, '{name}')) can prescribe"
            raise ModelError(
                f"{label}: a drive of '{name}' has nothing to move: {why}; a drive may prescribe {allowed}"
            )
    return drive
