"""Derivatives of functions of time by differences over steps that fit.

Central differences of fourth order, one-sided ones near the ends, over ever shorter steps, extrapolated (Ridders,
*Accurate computation of F'(x) and F'(x)F''(x)*, Advances in Engineering Software 4, 1982): the entry of the table is
taken that agrees best with its neighbours. A function of any rate up to some MHz is resolved. Steps have no common
measure, lest a vibration looks as if it stood still. Plain numbers are several times faster here than arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import LawError

LONGEST, RATIO, LEVELS = 0.0137, 0.3137, 12
"""The longest step in s, each next one against that before, and how many there are."""
AGREE = (1e-10, 1e-8)
"""Differences of neighbours in the table, against the derivatives, that are small enough."""
ROUNDING = 1e-15
"""Of values of the function, against the largest."""
FEWEST = 3
"""Steps that have to agree."""


class Stencil(NamedTuple):
    """Where a function is asked, in steps, and the weights of its first and second derivative."""

    places: tuple[float, ...]
    weights: tuple[tuple[float, ...], tuple[float, ...]]
    orders: tuple[tuple[int, ...], tuple[int, ...]]
    """Powers of the step in the errors that extrapolation removes, one after the other."""
    sizes: tuple[float, float]
    """Sums of the weights, by which rounding grows."""


def _stencil(places: list[float], first: list[float], second: list[float], order: tuple[int, int], by: int) -> Stencil:
    weights = tuple(w / 12.0 for w in first), tuple(w / 12.0 for w in second)
    orders = tuple(tuple(range(own, own + by * LEVELS, by)) for own in order)
    sizes = tuple(ROUNDING * sum(map(abs, own)) for own in weights)
    return Stencil(tuple(places), weights, orders, sizes)  # type: ignore[arg-type]


_ONE, _TWO = [-27.4, 60.0, -60.0, 40.0, -15.0, 2.4], [45.0, -154.0, 214.0, -156.0, 61.0, -10.0]
CENTRAL = _stencil([-2, -1, 0, 1, 2], [1, -8, 0, 8, -1], [-1, 16, -30, 16, -1], (4, 4), 2)
AHEAD = _stencil([0, 1, 2, 3, 4, 5], _ONE, _TWO, (5, 4), 1)
BACK = _stencil([0, -1, -2, -3, -4, -5], [-w for w in _ONE], _TWO, (5, 4), 1)


def differences(function: Callable[[float], Array], t: float, end: float) -> tuple[Array, Array]:
    """First and second derivative at ``t`` of a function that is known from 0 to ``end``."""
    here = function(t)
    zero, refusal, used = here.ravel().tolist(), None, CENTRAL
    tables = [[Table(kind) for _ in zero] for kind in (0, 1)]
    h = LONGEST
    for _ in range(2 * LEVELS):
        stencil = _fitting(t, h, end)
        if stencil is not None:
            if stencil is not used:  # errors of different stencils fall in different ways
                tables, used = [[Table(kind) for _ in zero] for kind in (0, 1)], stencil
            try:
                values = [zero if k == 0.0 else function(t + k * h).ravel().tolist() for k in stencil.places]
            except LawError as error:  # known over a shorter time than was thought
                refusal = error
            else:
                own = list(zip(*values, strict=True))
                settled = [
                    table.add(value, h, stencil) for row in tables for table, value in zip(row, own, strict=True)
                ]
                if all(settled) or len(tables[0][0].row) == LEVELS:
                    break
        h *= RATIO
    if refusal is not None and not tables[0][0].row:
        raise refusal
    first, second = (np.array([table.best for table in row]).reshape(here.shape) for row in tables)
    return first, second


def _fitting(t: float, h: float, end: float) -> Stencil | None:
    """The stencil that fits between 0 and the end."""
    if t >= 2.0 * h and t + 2.0 * h <= end:
        return CENTRAL
    if t + 5.0 * h <= end:
        return AHEAD
    return BACK if t >= 5.0 * h else None


class Table:
    """Differences of one number for ever shorter steps, extrapolated to none: its derivative of order ``kind + 1``."""

    def __init__(self, kind: int) -> None:
        self.kind = kind
        self.row: list[float] = []
        self.best, self.error = 0.0, inf

    def add(self, values: Sequence[float], h: float, stencil: Stencil) -> bool:
        """Add that of a step; whether the table has settled."""
        scale = h ** (self.kind + 1)
        row = [sum(w * f for w, f in zip(stencil.weights[self.kind], values, strict=True)) / scale]
        noise = stencil.sizes[self.kind] * max(map(abs, values)) / scale
        for before, order in zip(self.row, stencil.orders[self.kind], strict=False):
            share = RATIO**order
            row.append((row[-1] - share * before) / (1.0 - share))
            apart = max(abs(row[-1] - row[-2]), abs(row[-1] - before)) + noise
            if apart < self.error:
                self.best, self.error = row[-1], apart
        if not self.row:
            self.best = row[0]
        self.row = row
        return len(row) >= FEWEST and self.error <= max(AGREE[self.kind] * abs(self.best), 4.0 * noise)
