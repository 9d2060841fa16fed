"""What presses on a joint and lets it rub: a preload, and the forces and moments that the joint carries.

docs/friction.md, "What presses".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.elements.joints.relative import ROTATIONS, TRANSLATIONS
from fem_mbs.errors import ModelError
from fem_mbs.model import Constraint, Motion, Numbering

if TYPE_CHECKING:
    from fem_mbs.elements.joint_friction import JointFriction


class Pressing(NamedTuple):
    """Equations of a joint whose multipliers are components of one force or moment, and its weight in the load."""

    rows: list[int]
    weight: float


def pressing(joint: Constraint, coordinate: str, weights: dict[str, float], label: str) -> tuple[Pressing, ...]:
    """How the reactions of a joint press on it, as one of its coordinates moves: along and about the joint's axes.

    The multipliers of a joint are its forces along axes of node a, and moments about them.
    """
    axis, turns = coordinate[-1], coordinate in ROTATIONS
    free = [own.name for own in joint.coordinates if own.name in ROTATIONS]
    known = set(joint.equations) <= {*TRANSLATIONS, *ROTATIONS} and coordinate in (*TRANSLATIONS, *ROTATIONS)
    if not known or len(free) > 1:
        raise ModelError(f"{label}: how its reactions press on it is not known; give a preload and reactions=False")
    kinds: dict[str, list[int]] = {"radial": [], "axial": [], "bending": []}
    for row, name in enumerate(joint.equations):
        if name == coordinate:  # of a drive
            continue
        if name in TRANSLATIONS:
            kinds["axial" if name[-1] == axis else "radial"].append(row)
        elif not turns or name[-1] != axis:
            kinds["bending"].append(row)
    return tuple(Pressing(rows, weights[kind]) for kind, rows in kinds.items() if rows)


class Load(NamedTuple):
    """What presses, ``(n,)``, and its derivatives ``(n, r)`` against multipliers."""

    value: Array
    by_multipliers: Array


class Loads:
    """Loads of joints with the same equations, as arrays."""

    def __init__(self, elements: Sequence[JointFriction], number: Numbering) -> None:
        self.preload = np.array([element.radius * element.preload for element in elements])
        self.reads: IntArray | None = None
        self._rows = [part.rows for part in elements[0].pressing]
        self._weights = np.array([[part.weight for part in element.pressing] for element in elements])
        if elements[0].reactions:
            self.reads = np.array([number.multipliers(element.joint) for element in elements])

    def __call__(self, motion: Motion) -> Load:
        """What presses."""
        if self.reads is None:
            return Load(self.preload, np.zeros((len(self.preload), 0)))
        multipliers = motion.multipliers[self.reads]
        value, gradient = self.preload.copy(), np.zeros(multipliers.shape)
        for rows, weight in zip(self._rows, self._weights.T, strict=True):
            part = multipliers[:, rows]
            size = np.linalg.norm(part, axis=-1)
            value += weight * size
            gradient[:, rows] = (weight / np.where(size > 0.0, size, 1.0))[:, None] * part
        return Load(value, gradient)
