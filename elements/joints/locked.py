"""Couplings that lock each other: together they leave a coordinate no motion at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import null_space

from fem_mbs.errors import ModelError

if TYPE_CHECKING:
    from fem_mbs.elements.joints.coordinate_constraint import CoordinateConstraint

LOCKED = 1e-9


def check_locked(couplings: Sequence[CoordinateConstraint]) -> None:
    """Refuse couplings that together leave a coordinate no motion at all."""
    keys = list(dict.fromkeys((term.joint, term.coordinate) for own in couplings for term in own.terms))
    A = np.zeros((len(couplings), len(keys)))
    for row, own in zip(A, couplings, strict=True):
        for term in own.terms:
            row[keys.index(term[:2])] = term.factor
    if not len(A):
        return
    motions = null_space(A / np.linalg.norm(A, axis=1, keepdims=True), rcond=LOCKED)
    locked = np.flatnonzero(np.abs(motions).max(axis=1, initial=0.0) < LOCKED)
    if len(locked):
        joint, coordinate = keys[locked[0]]
        involved = [own for own, row in zip(couplings, A, strict=True) if row[locked].any()]
        raise ModelError(
            f"the couplings {', '.join(map(str, involved))} contradict each other: together they leave '{coordinate}' "
            f"of {joint} no motion but rest; leave one out, or give it the ratio that follows from the others"
        )
