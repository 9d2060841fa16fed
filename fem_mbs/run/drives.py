"""Drives that jump, or whose velocity does: joints go where they are told, but no force leads there.

The places of a run are right then, and its reactions are not: they ring, over the more steps the less a method damps.
Nothing else tells of it, as a drive leaves no equation of motion behind that could err. The coordinates that are driven
tell: their velocity changes in one step, and in neither of those beside it.
"""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contracts import Constraint, State, continued
from fem_mbs.solution.history import History
from fem_mbs.solution.turns import principal
from fem_mbs.system.system import System

MANY, LARGE_MODEL, FEW = 256, 4096, 8
"""Steps that are looked at together; nodes, of all of them, beyond which these are fewer, and the fewest."""
SUDDEN, LARGE = 10.0, 0.05
"""A change of velocity against those in the steps beside it, and against the largest velocity, that is a jump."""
LEAP = 0.25
"""What a way in a step differs from that of the mean velocity, against either, that is a jump."""
ROUNDING = 1e-9
"""Ways, in rad and against the extent of the model, that are none."""


def driven(system: System) -> list[Constraint]:
    """Joints with drives."""
    return [joint for joint in dict.fromkeys(joint for joint, _ in system.constraint_owner) if joint.driven]


class DriveJumps:
    """Looks at the coordinates that joints drive in a run."""

    def __init__(self, system: System, joints: list[Constraint], state: State) -> None:
        self._system, self._states = system, [state]
        self._many = max(FEW, min(MANY, LARGE_MODEL // system.n))
        self._left, self._told, self._begins = joints, list[str](), True

    def after_step(self, state: State) -> None:
        """Remember a state, and look at many at once."""
        if self._left:
            self._states.append(state)
            if len(self._states) > self._many:
                self._look()

    def warning(self) -> str:
        """Where drives have jumped for the first time; empty if none has."""
        if self._left and len(self._states) > 1:
            self._look()
        if not self._told:
            return ""
        return (
            f"{'; '.join(self._told)}. No force does that: places are right, but reactions ring from there on. Give "
            "drives with continuous velocities, or steps that resolve how they change"
        )

    def _look(self) -> None:
        history = History.of(self._system, self._states)
        told = {joint: self._jump(history, joint) for joint in self._left}
        self._told += filter(None, told.values())
        self._left = [joint for joint, text in told.items() if not text]
        self._states, self._begins = self._states[-3:], False

    def _jump(self, history: History, joint: Constraint) -> str:
        """The first jump of what a joint drives, in words."""
        which = [k for k, own in enumerate(joint.coordinates) if own.name in joint.driven]
        angle = np.array([joint.coordinates[k].angle for k in which])
        values, speeds = (part[:, which] for part in principal(history, joint))
        h, ways, changes = np.diff(history.t)[:, None], np.diff(values, axis=0), np.abs(np.diff(speeds, axis=0))
        least, told = ROUNDING * np.where(angle, 1.0, history.system.length), 0.5 * h * (speeds[1:] + speeds[:-1])
        ways = np.where(angle, continued(ways, told), ways)
        missed, ways, speeds = np.abs(ways - told), np.abs(ways), np.abs(speeds)
        fastest = speeds.max(axis=0)
        leaps = missed > LEAP * (ways + h * np.maximum(speeds[1:], speeds[:-1])) + LARGE * h * fastest + least
        sudden = self._sudden(changes / h) & (changes > LARGE * fastest) & (h * changes > least)
        for found, sizes, what, per in ((sudden, changes, "its velocity", "/s"), (leaps, ways, "it", "")):
            if found.any():
                k, coordinate = np.unravel_index(int(found.argmax()), found.shape)
                unit = ("rad" if angle[coordinate] else "m") + per
                return (
                    f"{joint}: the drive jumps between t = {history.t[k]:.6g} s and {history.t[k + 1]:.6g} s: {what} "
                    f"changes by {sizes[k, coordinate]:.3g} {unit}"
                )
        return ""

    def _sudden(self, rates: Array) -> BoolArray:
        """Whether rates ``(k, c)`` of velocities stand out from those beside; the last one has none after it yet."""
        before = np.concatenate([np.zeros_like(rates[:1]), rates[:-2]])
        found = np.zeros_like(rates, dtype=np.bool_)
        found[:-1] = rates[:-1] > SUDDEN * np.maximum(before, rates[1:])
        found[0] &= self._begins
        return found
