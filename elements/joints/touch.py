"""Where two planar curves touch, as built."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.joints.frames import Frames
from fem_mbs.elements.joints.spline import Spline, Splines, sampled
from fem_mbs.errors import ModelError

NEAR = 0.05
"""Largest gap that may be left to :meth:`Model.assemble`, against the shorter curve."""
CONFORMAL = 1e-6
"""Difference of curvatures, times the shorter length, below which curves lie along each other."""
ROUNDS, SETTLED, LONGEST = 100, 1e-14, 0.05


class Touch(NamedTuple):
    """Where curves touch."""

    s: Array
    """Places on both, ``(2,)``."""
    side: float
    """1 or -1: curve b is pushed along this times ``n x P_a'``; 0 where both curves are open."""


PARALLEL = 1e-6
"""Sine of the angle of tangents that touch."""


def touch(curves: tuple[Spline, ...], axes: Array, frames: Frames, label: str) -> Touch:
    """Nearest points of two curves, of which b stands to a at ``frames``, in the plane with the ``axes`` (3, 3).

    Raises
    ------
    ModelError
        If they are far from each other, or lie along each other.
    """
    (s_a, P), (s_b, Q) = (sampled(curve) for curve in curves)
    P, Q = P @ axes[:, :2], (frames.r + Q @ frames.S.T) @ axes[:, :2]
    distance = np.linalg.norm(P[:, None] - Q[None], axis=-1)
    i, j = np.unravel_index(int(np.argmin(distance)), distance.shape)
    s, pair, one = np.array([s_a[i], s_b[j]]), [Splines([curve]) for curve in curves], np.zeros(1, np.intp)
    lengths = np.array([curve.length for curve in curves])
    for _ in range(ROUNDS):
        a, b = ([part[0] for part in curve.at(one, own[None])] for curve, own in zip(pair, s, strict=True))
        a = [part @ axes[:, :2] for part in a]
        b = [(frames.r * (k == 0) + frames.S @ part) @ axes[:, :2] for k, part in enumerate(b)]
        gap = b[0] - a[0]
        wrong = np.array([gap @ a[1], _cross(a[1], b[1])])
        slope = np.array([[gap @ a[2] - a[1] @ a[1], b[1] @ a[1]], [_cross(a[2], b[1]), _cross(a[1], b[2])]])
        step = -np.linalg.lstsq(slope, wrong, rcond=None)[0]
        step *= min(1.0, LONGEST / np.abs(step / lengths).max(initial=LONGEST))
        s = s + step
        for k, curve in enumerate(curves):
            if not curve.closed:
                s[k] = min(max(s[k], 0.0), curve.length)
        if np.abs(step / lengths).max() <= SETTLED:
            break
    apart, short = float(np.linalg.norm(gap)), float(lengths.min())
    if apart > NEAR * short or abs(_cross(a[1], b[1])) > PARALLEL:
        raise ModelError(
            f"{label}: its profiles do not touch: the gap is {apart:.4g} m where they are nearest, {s[0]:.4g} m from "
            f"the first point of profile_a and {s[1]:.4g} m from that of profile_b; move one of the nodes"
        )
    bent = [_cross(part[1], part[2]) / float(np.linalg.norm(part[1])) ** 3 for part in (a, b)]
    same = float(np.sign(a[1] @ b[1]))
    if abs(bent[0] - same * bent[1]) * short < CONFORMAL:
        raise ModelError(
            f"{label}: its profiles are equally curved where they touch ({bent[0]:.4g}/m), so that they do so along a "
            "line; give one of them another curvature"
        )
    # b is pushed out of a, into b
    pushes = [-_turns(P) * curves[0].closed, same * _turns(Q) * curves[1].closed]
    first = pushes[1] == 0.0 or (pushes[0] != 0.0 and abs(bent[0]) >= abs(bent[1]))
    return Touch(s, pushes[0] if first else pushes[1])


def _turns(outline: Array) -> float:
    """1 for an outline (n, 2) that turns to the left, -1 for one to the right."""
    return float(np.sign(sum(_cross(*pair) for pair in pairwise(outline - outline[0]))))


def _cross(a: Array, b: Array) -> float:
    return float(a[0] * b[1] - a[1] * b[0])
