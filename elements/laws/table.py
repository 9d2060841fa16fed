"""Laws through values from elsewhere: at given times, measured, computed, of a text file; or while a run goes on."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import Annotated, Any

import numpy as np

from fem_mbs.arrays import Array, ArrayLike
from fem_mbs.contracts import Path, TimeLaw, checked, choice, shown, whole_number
from fem_mbs.contracts.arguments import SMALLEST, shaped, text
from fem_mbs.errors import LOG, LawError, ModelError

SEPARATORS = (";", ",", "\t")
"""Of which the first that a line has separates its cells; else it is white space."""


def _column(value: Any, label: object) -> int | str:
    """A column by number or by name."""
    return text(value, label) if isinstance(value, str) else whole_number(value, label, least=0)


Column = Annotated[int | str, _column]


def read_columns(path: str | FilePath, wanted: Sequence[int | str]) -> tuple[Array, list[int]]:
    """Numbers ``(n, k)`` in the wanted columns, and the number of the line of each row."""
    label = f"Table.from_file: '{path}'"
    rows = _rows(path, label)
    if not rows:
        raise ModelError(f"{label} has no numbers")
    header = rows[0][1] if any(_number(cell) is None for cell in rows[0][1]) else []
    columns = []
    for column in wanted:
        if not isinstance(column, int) and column not in header:
            there = f"its columns are {', '.join(map(repr, header))}" if header else "its first line has no names"
            raise ModelError(f"{label} has no column {column!r}: {there}")
        if header.count(str(column)) > 1:
            raise ModelError(f"{label} has {header.count(str(column))} columns {column!r}: give the number of one")
        columns.append(column if isinstance(column, int) else header.index(column))
    body = rows[1:] if header else rows
    if not body:
        raise ModelError(f"{label} has a line of names, {shown(header)}, and no numbers")
    numbers = np.empty((len(body), len(columns)))
    for k, (line, cells) in enumerate(body):
        if len(cells) > len(rows[0][1]):
            raise ModelError(f"{label}, line {line}: has {len(cells)} cells, the first line {len(rows[0][1])}")
        for i, (column, name) in enumerate(zip(columns, wanted, strict=True)):
            if column >= len(cells):
                raise ModelError(f"{label}, line {line}: column {name!r} is missing, received {shown(cells)}")
            value = _number(cells[column])
            if value is None or not np.isfinite(value):
                raise ModelError(
                    f"{label}, line {line}: column {name!r} must be a finite number, received {shown(cells[column])}"
                )
            numbers[k, i] = value
    return numbers, [line for line, _ in body]


def _rows(path: str | FilePath, label: str) -> list[tuple[int, list[str]]]:
    """Lines that have anything, with their numbers, as cells."""
    try:
        lines = FilePath(path).read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise ModelError(f"{label} cannot be read: {error.strerror or error}; look at the path") from error
    except ValueError as error:
        raise ModelError(f"{label} is no text file of numbers in columns: {error}") from error
    kept = [(k, line.strip()) for k, line in enumerate(lines, start=1)]
    kept = [(k, line) for k, line in kept if line and not line.startswith("#")]
    separator = next((own for own in SEPARATORS if kept and own in kept[0][1]), None)
    return [(k, [cell.strip(' "') for cell in line.split(separator)]) for k, line in kept]


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


SPLINES = ("cubic", "clamped", "monotone", "linear")
OUTSIDE = ("refuse", "hold")
NOTICED, BETWEEN = 0.02, np.arange(1, 8) / 8.0
"""Share of the range of values by which a curve that leaves them is worth a word; where it is looked at between two."""
ROUNDING = 1e-9
"""Share of its time by which a table may be asked too early or too late."""

Times = Annotated[ArrayLike, shaped((None,), what="numbers, one a time, or read a file by Table.from_file(path)")]
Values = Annotated[ArrayLike, shaped((None,), (None, 3), what="a number, or three, for each time")]
Spline = Annotated[str, choice(SPLINES)]
Outside = Annotated[str, choice(OUTSIDE)]


@checked
class Table(TimeLaw):
    """A law through values at given times.

    Parameters
    ----------
    times : (n,)
        In s, increasing, at least two.
    values : (n,) or (n, 3)
        A number or a vector at each time.
    spline : {"cubic", "clamped", "monotone", "linear"}
        How values are connected. "cubic": by the smoothest curve, whose acceleration is continuous, but which swings
        beyond values that jump; a table says so if that is more than 2 % of their range. "clamped": the same, at rest
        at both ends. "monotone": nowhere beyond the values; the acceleration jumps. "linear": by straight lines; for
        loads, as the velocity jumps.
    outside : {"refuse", "hold"}
        Before the first and after the last time: an error in the run, or the first and the last value, at rest.

    Notes
    -----
    Splines are those of ``scipy.interpolate``: ``CubicSpline`` without knots next to the ends, or with zero slope
    there, ``PchipInterpolator``. A drive wants "cubic" or "clamped".
    """

    def __init__(self, times: Times, values: Values, *, spline: Spline = "cubic", outside: Outside = "refuse") -> None:
        t, x = np.asarray(times), np.asarray(values)
        if len(t) < 2 or len(t) != len(x):
            raise ModelError(
                f"Table: times and values must be as many, at least two, received {len(t)} times and {len(x)} values"
            )
        steps = np.diff(t)
        if (steps < SMALLEST).any():
            k = int(np.argmax(steps < SMALLEST))
            raise ModelError(f"Table: times must increase, received times[{k + 1}] = {t[k + 1]:g} after {t[k]:g} s")
        self.times, self.values, self.spline, self.outside = t, x, spline, outside
        self.size = 3 if x.ndim == 2 else None
        self._last = float(t[-1])
        self._functions = _splines(t, x, spline)
        if not all(np.isfinite(function.c).all() for function in self._functions):
            raise ModelError(
                f"Table: times are too close for values as large as {np.abs(x).max():g}; look at the units"
            )
        if told := overshoot(self._functions[0], x, "t = {:g} s"):
            LOG.warning("Table: %s; spline='monotone' stays within them, or give more values where it bends", told)

    @classmethod
    @checked
    def from_file(
        cls,
        path: Path,
        time: Column = 0,
        value: Column | Sequence[Column] = 1,
        spline: Spline = "cubic",
        outside: Outside = "refuse",
    ) -> Table:
        """A table from columns of a text file.

        Parameters
        ----------
        path : str or Path
            Numbers in columns, separated by semicolons, commas, tabs or spaces. A first line of names, empty lines
            and lines that begin with ``#`` are passed over.
        time, value : int or str
            Columns by their number, counted from 0, or by the name in the first line; for vectors, ``value`` lists
            three.
        spline, outside
            As above.
        """
        single = isinstance(value, str | int)
        wanted = [value] if isinstance(value, str | int) else list(value)
        if not single and len(wanted) != 3:
            raise ModelError(f"Table.from_file: value must be one column or three, received {value}")
        numbers, lines = read_columns(path, [time, *wanted])
        late = np.flatnonzero(np.diff(numbers[:, 0]) < SMALLEST)
        if len(late):
            k = late[0] + 1
            raise ModelError(
                f"Table.from_file: '{path}', line {lines[k]}: times must increase, received {numbers[k, 0]:g} after "
                f"{numbers[k - 1, 0]:g} s"
            )
        return cls(numbers[:, 0], numbers[:, 1] if single else numbers[:, 1:], spline=spline, outside=outside)

    def derivative(self, k: int, t: float) -> Any:
        """Zero outside, for ``k > 0``."""
        within = self._within(t)
        if k and self.outside == "hold" and not self.times[0] <= t <= self.times[-1]:
            return np.zeros_like(self.values[0])
        result: Array = self._functions[k](within)
        return float(result) if self.size is None else result

    def _within(self, t: float) -> float:
        """The time, or the end that it is beyond; an error if that is refused."""
        first, last = float(self.times[0]), float(self.times[-1])
        slack = ROUNDING * (last - first)
        if self.outside == "refuse" and not first - slack <= t <= last + slack:
            raise LawError(
                f"{self} is asked for t = {float(t)!r} s; give it more times, or outside='hold' to hold its first and "
                "last value"
            )
        return min(max(t, first), last)

    def __repr__(self) -> str:
        return f"Table of {len(self.times)} values from t = {self.times[0]:g} to {self.times[-1]:g} s"


def _splines(t: Array, x: Array, spline: str) -> list[Any]:
    """The function and its derivatives."""
    from scipy.interpolate import CubicSpline, PchipInterpolator, PPoly  # which takes long to import

    with np.errstate(all="ignore"):
        if spline == "linear":
            slopes = np.diff(x, axis=0) / np.diff(t).reshape(-1, *(1,) * (x.ndim - 1))
            function = PPoly(np.stack([slopes, x[:-1]]), t)
        elif spline == "monotone":
            function = PchipInterpolator(t, x)
        else:
            function = CubicSpline(t, x, bc_type="clamped" if spline == "clamped" else "not-a-knot")
        return [function, function.derivative(), function.derivative(2)]


def overshoot(curve: Any, values: Array, where: str) -> str:
    """How a piecewise polynomial ``curve`` swings beyond its ``values`` (n, ...), in words; empty if it hardly does.

    Between values that rise or fall from the one before to the one after, it is to stay between its two; and where all
    have one sign, it is to have that. A peak that lies between two values is none of this. ``where`` says of a number
    what it is.
    """
    knots, x = curve.x, values.reshape(len(values), -1)
    inside = (knots[:-1, None] + np.diff(knots)[:, None] * BETWEEN).ravel()
    y = curve(inside).reshape(len(knots) - 1, len(BETWEEN), -1)
    low, high = np.minimum(x[:-1], x[1:])[:, None], np.maximum(x[:-1], x[1:])[:, None]
    changes = np.sign(np.diff(x, axis=0))
    around = np.stack([changes[np.r_[0, : len(changes) - 1]], changes, changes[np.r_[1 : len(changes), -1]]])
    steady = np.logical_or(np.all(around >= 0.0, axis=0), np.all(around <= 0.0, axis=0))
    beyond = np.where(np.expand_dims(steady, 1), np.maximum(low - y, y - high), 0.0)
    wrong_sign = np.where(np.all(x >= 0.0, axis=0), -y, np.where(np.all(x <= 0.0, axis=0), y, 0.0))
    ranges = np.ptp(x, axis=0)
    share = np.maximum(beyond, wrong_sign) / np.maximum(ranges, max(ROUNDING * ranges.max(), SMALLEST))
    k, at, column = np.unravel_index(np.argmax(share), share.shape)
    if not share[k, at, column] > NOTICED:
        return ""
    place = where.format(inside.reshape(-1, len(BETWEEN))[k, at])
    return (
        f"the curve swings beyond the values by {share[k, at, column]:.0%} of their range: at {place} it is "
        f"{y[k, at, column]:.3g}, between {x[k, column]:.3g} and {x[k + 1, column]:.3g}"
    )


@checked
class ExternalInput(TimeLaw):
    """A law of time whose value another program sets, an input of :func:`mbs.export_fmu` or :class:`mbs.CoSimulation`.

    It goes to a new value linearly, over the communication step that begins when the value is set: without a jump, so
    that motors have a velocity to follow, and late by that step. In runs of :func:`mbs.simulate` it does not change.

    Parameters
    ----------
    value : float
        What it begins with. The attribute ``value`` sets a new one.
    """

    def __init__(self, value: float = 0.0) -> None:
        self.value = value
        self._t: Sequence[float] = ()
        self._x: Sequence[float] = ()

    @contextmanager
    def leading(self, t: Sequence[float], x: Sequence[float]) -> Iterator[None]:
        """Within it, the law goes linearly through values ``x`` at the times ``t``; elsewhere it is ``value``."""
        before, (self._t, self._x) = (self._t, self._x), (t, x)
        try:
            yield
        finally:
            self._t, self._x = before

    def derivative(self, k: int, t: float) -> float:
        """Of the way that it is on: the first one before, the last one after all others."""
        if not self._t or k == 2:
            return 0.0 if k else self.value
        n = min(max(bisect_right(self._t, t) - 1, 0), len(self._t) - 2)
        rate = (self._x[n + 1] - self._x[n]) / (self._t[n + 1] - self._t[n])
        return rate if k else self._x[n] + rate * (t - self._t[n])

    def __repr__(self) -> str:
        return f"ExternalInput({self.value})"
