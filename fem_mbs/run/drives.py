"""Drives that jump, or whose velocity does: joints go where they are told, but no force leads there.

The places of a run are right then, and its reactions are not: they ring, over the more steps the less a method damps.
Nothing else tells of it, as a drive leaves no equation of motion behind that could err. Nodes that drives lead from
what the model holds tell: their velocity changes in one step, and in neither of those beside it.
"""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Constraint, State
from fem_mbs.lie import so3
from fem_mbs.system.kinematics import make_kinematics
from fem_mbs.system.system import System

EVERY = 256
"""Steps that are looked at together."""
SUDDEN, LARGE = 10.0, 0.05
"""A change of velocity against those in the steps beside it, and against the largest velocity, that is a jump."""
LEAP = 0.25
"""What a way in a step differs from that of the mean velocity, against either, that is a jump."""
ROUNDING = 1e-9
"""Ways, in rad and against the extent of the model, that are none."""


def led(system: System) -> list[Constraint]:
    """Joints that drive their last node from what the model holds."""
    held = np.array(~system.free.any(axis=1))
    joints = dict.fromkeys(joint for joint, _ in system.constraint_owner if joint.driven)
    return [joint for joint in joints if all(held[system.number(node)] for node in joint.nodes[:-1])]


class DriveJumps:
    """Looks at the nodes that some joints lead in a run."""

    def __init__(self, system: System, joints: list[Constraint], state: State) -> None:
        self._joints = joints
        self._rows = [system.number(joint.nodes[-1]) for joint in joints]
        self._least = ROUNDING * np.array([system.length, 1.0])
        self._kept: list[tuple[float, Array, Array, Array]] = []
        self._begins = True
        self._told = ""
        self.after_step(state)

    def after_step(self, state: State) -> None:
        """Remember a state, and look at many at once."""
        if not self._told:
            self._kept.append((state.t, state.x[self._rows], state.R[self._rows], state.v[self._rows]))
            if len(self._kept) == EVERY:
                self._look()

    def warning(self) -> str:
        """Where a drive has jumped; empty if none has."""
        if not self._told and len(self._kept) > 1:
            self._look()
        return self._told

    def _look(self) -> None:
        t, x, R, v = (np.array(part) for part in zip(*self._kept, strict=True))
        h = np.diff(t)[:, None, None]
        groups = [joint.nodes[-1].group for joint in self._joints] * len(t)
        body = make_kinematics(groups).motion(R.reshape(-1, 3, 3), np.stack([v, v]).reshape(2, -1, 6))[0]
        V = body.reshape(*v.shape[:2], 2, 3)
        V[:, :, 0] = np.matvec(R, V[:, :, 0])
        ways = np.stack([np.diff(x, axis=0), so3.log(R[:-1].mT @ R[1:])], axis=2)
        missed = np.linalg.norm(ways - 0.5 * h[..., None] * (V[1:] + V[:-1]), axis=-1)
        ways, speeds, changes = (np.linalg.norm(part, axis=-1) for part in (ways, V, np.diff(V, axis=0)))
        fastest = speeds.max(axis=0)
        leaps = missed > LEAP * (ways + h * np.maximum(speeds[1:], speeds[:-1])) + LARGE * h * fastest + self._least
        rates = np.concatenate([np.zeros((1, *changes.shape[1:])), changes / h])
        sudden = np.zeros_like(leaps)
        beside = np.maximum(rates[:-2], rates[2:])
        large = (changes > LARGE * fastest) & (h * changes > self._least)
        sudden[:-1] = (rates[1:-1] > SUDDEN * beside) & large[:-1]
        sudden[0] &= self._begins
        kinds = (sudden, changes, "its velocity", ("m/s", "rad/s")), (leaps, ways, "it", ("m", "rad"))
        for found, sizes, what, units in kinds:
            if found.any() and not self._told:
                k, joint, kind = np.unravel_index(int(found.argmax()), found.shape)
                self._told = (
                    f"{self._joints[joint]}: the drive jumps between t = {t[k]:.6g} s and {t[k + 1]:.6g} s: {what} "
                    f"changes by {sizes[k, joint, kind]:.3g} {units[kind]}. No force does that: places are right, but "
                    "reactions ring from there on. Give a drive with a continuous velocity, or steps that resolve how "
                    "it changes"
                )
        self._kept, self._begins = self._kept[-3:], False
