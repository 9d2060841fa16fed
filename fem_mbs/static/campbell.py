"""Frequencies and damping of a rotor over its speed, seen from the ground.

About a rotor that turns steadily the equations are linear with constant coefficients where axes that stand still see
them so: of a rotor that is alike all round, on any supports (``steady_axes.py``; Genta, Dynamics of Rotating Systems,
sections 4.5, 6.4). docs/rotors.md.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path as FilePath
from typing import Annotated, Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, ArrayLike, BoolArray, ComplexArray
from fem_mbs.contracts import Direction, Path, Positive, PositiveInt, Public, State, checked, named_file
from fem_mbs.contracts.arguments import shaped
from fem_mbs.contracts.constraint import NodeOrName
from fem_mbs.errors import LOG, ModelError
from fem_mbs.modal.floquet import FloquetModes, floquet_modes
from fem_mbs.modal.linear_model import LinearModel, linear_equations
from fem_mbs.modal.modes import Modes, node_masses, solve_modes
from fem_mbs.model.model import Model
from fem_mbs.pictures.drawing import need, written
from fem_mbs.static.steady_rotation import steady_rotation, steady_spin
from fem_mbs.system.system import System

ALIKE = 0.3
"""Likeness of the shapes of a mode at two speeds, below which it is another one."""
STANDS = 1e-9
"""Angular velocity of axes, against that of the rotor, that is none."""
REFINEMENTS, ACCURATE, SAME = 40, 1e-10, 1e-8
LOCKED, BESIDE = 1e-9, 1e-6
"""Difference of a frequency from a multiple of the speed that is none, and beside which speed this is looked at again,
both against the speed: unequal shafts whirl with their speed wherever they are unstable."""
HALVED = 6
"""How often steps between speeds are halved where a crossing may be."""
MORE = 6
"""Modes that are asked for beside those wanted, as some do not swing."""
ACROSS = 1e-9
"""Share of a motion across the axis, below which it goes along the axis or about it."""
PLANE = 0.05
"""Whirl below which a motion is in a plane."""
RUNAWAY = 1e-6
"""Growth against frequency that is more than rounding."""

Speeds = Annotated[ArrayLike, shaped((None,), what="numbers, rad/s")]


class Rotor:
    """A model whose ``turning`` nodes spin about an axis."""

    def __init__(self, model: Model, turning: Iterable[NodeOrName] | None, axis: Array, label: str) -> None:
        self.model, self.axis, self.label = model, axis, label
        self.turning = None if turning is None else list(turning)
        self._last: State | None = None
        """Where it was at the speed before."""
        self._told: set[tuple[str, str]] = set()
        """What was doubtful of which part."""

    def at(self, speed: float) -> LinearModel:
        """The linear equations at a speed, in axes that stand still."""
        linear = self._about(speed)
        if linear.varies:
            raise ModelError(f"{self.label}: at {speed:g} rad/s {linear.varies}")
        if self._turn(linear, speed):
            raise ModelError(
                f"{self.label}: at {speed:g} rad/s the equations are constant only in axes that turn: the rotor is not "
                "alike all round (of a FlexibleBody that is, modes may cut a pair of one frequency: take one more); "
                "mbs.campbell(..., floquet=True) has the frequencies from the ground, "
                "mbs.modes(model, state=...) about mbs.steady_rotation those in its own axes"
            )
        return linear

    def _turn(self, linear: LinearModel, speed: float) -> bool:
        return bool(np.abs(linear.axes).max() > STANDS * abs(speed))

    def _about(self, speed: float) -> LinearModel:
        """The linear equations at a speed, in axes that stand still where they are constant there."""
        with self._once():
            state = self._state(speed) if speed else None
            return linear_equations(System(self.model), state, still=True)

    @contextmanager
    def _once(self) -> Iterator[None]:
        """Tell what is doubtful once of each part, not at every speed."""

        def new(record: logging.LogRecord) -> bool:
            part = str(record.args[0]) if isinstance(record.args, tuple) and record.args else ""
            kind = str(record.msg), part
            again = record.levelno >= logging.WARNING and kind in self._told
            self._told.add(kind)
            return not again

        LOG.addFilter(new)
        try:
            yield
        finally:
            LOG.removeFilter(new)

    def _state(self, speed: float) -> State:
        """How it turns as a whole; where loads that stand still bend it, how it spins about its bent line."""
        turning = self.turning
        try:
            return steady_rotation(self.model, speed * self.axis, turning=turning).state(-1)
        except ModelError as failure:
            turns = failure
        try:
            found = steady_spin(self.model, speed, turning=turning, axis=self.axis, initial=self._last)
        except ModelError as failure:
            about = ", ".join(f"{own:g}" for own in self.axis)
            text = str(turns).removeprefix("steady_rotation: ")
            raise ModelError(f"{self.label}: about axis=({about}): {text}") from failure
        self._last = found.state(-1)
        return self._last

    def vibrations(self, speed: float, count: int, floquet: bool) -> list[Vibration]:
        """The lowest modes that swing."""
        linear = self._about(speed) if floquet else self.at(speed)
        modes: Modes | FloquetModes
        if linear.varies or self._turn(linear, speed):
            modes = floquet_modes(linear, count, f"{self.label}: at {speed:g} rad/s")
        else:
            asked = count + MORE
            modes = solve_modes(linear, asked, damped=True)
            while _swing(modes).sum() < count and len(modes.eigenvalues) == asked:
                asked *= 2
                modes = solve_modes(linear, asked, damped=True)
        swing = _swing(modes)
        pairs = zip(modes.eigenvalues[swing][:count], modes.shapes[swing], strict=False)
        mass, sense = node_masses(linear.system), self.axis * (-1.0 if speed < 0.0 else 1.0)
        return [_vibration(value, shape, mass, sense) for value, shape in pairs]


def _swing(modes: Modes | FloquetModes) -> BoolArray:
    """Which modes do."""
    return np.asarray(np.abs(modes.eigenvalues.imag) > RUNAWAY * np.abs(modes.eigenvalues).max())


class Vibration(NamedTuple):
    """A mode at a speed."""

    eigenvalue: complex
    whirl: float
    """From 1, forward on circles, to -1, backward."""
    weighted: Array
    """Its shape, in units in which its square is the mass that moves."""
    shape: Array
    """``(n, 6)``, world frame."""

    def like(self, other: Vibration) -> float:
        """How alike two shapes are, up to 1."""
        both = abs(np.vdot(self.weighted, other.weighted)) ** 2
        sizes = np.vdot(self.weighted, self.weighted).real * np.vdot(other.weighted, other.weighted).real
        return float(both / sizes)

    def near(self, other: Vibration) -> float:
        """How alike shapes and frequencies are, up to 1."""
        slow, fast = sorted((self.eigenvalue.imag, other.eigenvalue.imag))
        return self.like(other) * slow / fast


def _vibration(value: complex, shape: Array, mass: Array, axis: Array) -> Vibration:
    """A mode of nodes with masses and inertias ``mass`` (n, 2), about an axis along the rotation."""
    own = shape if value.imag > 0.0 else shape.conj()
    weighted = (np.sqrt(np.repeat(mass, 3, axis=1)) * own).reshape(-1, 3)
    a = weighted - np.outer(weighted @ axis, axis)
    size, turns = float(np.vdot(a, a).real), -2.0 * float((np.cross(a.real, a.imag) @ axis).sum())
    whirl = turns / size if size > ACROSS * float(np.vdot(weighted, weighted).real) else 0.0
    return Vibration(complex(value.real, abs(value.imag)), whirl, weighted.ravel(), own)


def _curves(found: list[list[Vibration]]) -> tuple[dict[int, Vibration], ...]:
    """Modes at all speeds as curves, each by the numbers of its speeds."""
    curves: list[dict[int, Vibration]] = []
    last: list[dict[int, Vibration]] = []
    for k, now in enumerate(found):
        goes_on = {new: last[old] for old, new in _followed([curve[k - 1] for curve in last], now)}
        last = [goes_on.get(new, {}) for new in range(len(now))]
        curves += [curve for curve in last if not curve]
        for curve, own in zip(last, now, strict=True):
            curve[k] = own
    return tuple(curves)


def _followed(before: list[Vibration], now: list[Vibration]) -> list[tuple[int, int]]:
    """Pairs of modes before and now, of which one goes on as the other."""
    from scipy.optimize import linear_sum_assignment  # which takes long to import

    if not before:
        return []
    near = np.array([[old.near(new) for new in now] for old in before])
    pairs = zip(*linear_sum_assignment(-near), strict=True)
    return [(int(old), int(new)) for old, new in pairs if before[old].like(now[new]) > ALIKE]


@checked
def campbell(
    model: Model,
    speeds: Speeds,
    *,
    turning: Iterable[NodeOrName] | None = None,
    axis: Direction = (1.0, 0.0, 0.0),
    count: PositiveInt = 8,
    floquet: bool = False,
) -> Campbell:
    """Frequencies, damping and whirl of a rotor over its speed, from the ground.

    Parameters
    ----------
    model : Model
        A rotor on its supports, at rest as built.
    speeds : (ns,)
        In rad/s; negative ones turn the other way.
    turning : list, optional
        The nodes that turn, or their names; by default all that the model does not hold.
    axis : (3,)
        Of rotation, world frame, through the origin.
    count : int
        How many modes, the lowest.
    floquet : bool
        Also of rotors that are not alike all round, on any supports, at the price of some hundred small steps a speed.

    Raises
    ------
    ModelError
        If the rotor cannot turn steadily, or is not alike all round: names the element.

    Notes
    -----
    At each speed :func:`mbs.steady_rotation`, or where weight and other loads that stand still bend the rotor
    :func:`mbs.steady_spin`, and the modes about it in axes that stand still; where the equations change in these, what
    a turn does to all motions (Floquet), of which the largest harmonic is shown. Modes are followed by the likeness of
    their shapes; where none is alike a curve ends, and another begins.
    """
    rotor, given = Rotor(model, turning, np.asarray(axis), "campbell"), np.asarray(speeds)
    vibrations = partial(rotor.vibrations, floquet=floquet)
    order = np.argsort(given, kind="stable")  # modes are like those at speeds beside
    curves = _curves([vibrations(float(speed), count) for speed in given[order]])
    return Campbell(given, tuple({int(order[k]): own for k, own in curve.items()} for curve in curves), vibrations)


@dataclass(frozen=True, eq=False, repr=False)
class Campbell(Public):
    """Modes of a rotor over its speed, as curves; ``print`` shows a table, :meth:`plot` the diagram.

    Attributes
    ----------
    speeds : (ns,)
        In rad/s.
    """

    _internal = "curves vibrations"
    speeds: Array
    curves: tuple[dict[int, Vibration], ...]
    vibrations: Callable[[float, int], list[Vibration]]

    def _over_speeds(self, of: Callable[[Vibration], Any]) -> Array:
        known = [(row, k, np.asarray(of(own))) for k, curve in enumerate(self.curves) for row, own in curve.items()]
        values = [value for *_, value in known] or [np.empty(())]
        shape = len(self.speeds), len(self.curves), *values[0].shape
        result = np.full(shape, np.nan, np.result_type(float, *values))
        for row, column, value in known:
            result[row, column] = value
        return result

    @property
    def angular(self) -> Array:
        """Angular frequencies ``(ns, nc)`` seen from the ground, damped ones, in rad/s; nan where a curve has ended."""
        return self._over_speeds(lambda own: own.eigenvalue.imag)

    @property
    def damping(self) -> Array:
        """Damping ratios ``(ns, nc)``; negative where the rotor is unstable."""
        return self._over_speeds(lambda own: -own.eigenvalue.real / abs(own.eigenvalue))

    @property
    def whirl(self) -> Array:
        """``(ns, nc)`` from 1, forward with the rotor on circles, to -1, backward; 0 for motions in a plane."""
        return self._over_speeds(lambda own: own.whirl)

    @property
    def shapes(self) -> Array:
        """Displacements and rotations ``(ns, nc, n, 6)`` of the nodes, complex, world frame; nan where a curve ended.

        Nodes go in the order of the model, and move by the real part of their shape times ``exp(i angular t)``.
        """
        return self._over_speeds(lambda own: own.shape)

    @property
    def unstable(self) -> Array:
        """Speeds at which a mode grows, ``(k,)``."""
        return self.speeds[(self.damping < -RUNAWAY).any(axis=1)]

    @checked
    def critical(self, order: Positive = 1.0) -> Array:
        """Speeds ``(k,)`` at which a mode has ``order`` times the speed as its frequency, within those of the diagram.

        Found by the equations at these speeds, not between points of the diagram; forward and backward ones. Where a
        curve bends so much that it may be crossed twice between two speeds, or ends, speeds between them are looked at.
        Of a mode that keeps the multiple over a range, as unequal shafts do where they are unstable, both ends.
        """
        fine = replace(self, vibrations=cache(self.vibrations))  # which looks at ranges from several sides
        for _ in range(HALVED):
            if not len(between := fine._doubtful(order)):
                break
            fine = fine._with(between)
        return fine._crossings(order)

    def _gaps(self, curve: dict[int, Vibration], order: float) -> tuple[Array, Array]:
        """Speeds of a curve, and by how much its frequencies are above multiples of them."""
        speeds = self.speeds[list(curve)]
        return speeds, np.array([own.eigenvalue.imag for own in curve.values()]) - order * np.abs(speeds)

    def _doubtful(self, order: float) -> Array:
        """Speeds in the middle of two between which crossings may be that their ends do not show."""
        whole, ends, found = np.unique(self.speeds), defaultdict[float, list[float]](list), set[float]()
        for curve in self.curves:
            speeds, gaps = self._gaps(curve, order)
            speeds, first = np.unique(speeds, return_index=True)
            gaps, h = gaps[first], np.diff(speeds)
            # a parabola leaves its chord by an eighth of the step times its turn over it; twice that, and a step alone
            turns = np.pad(np.abs(np.diff(np.diff(gaps) / h)), 1, constant_values=np.inf if len(h) == 1 else 0.0)
            apart = np.minimum(np.abs(gaps[:-1]), np.abs(gaps[1:]))
            near = (gaps[:-1] * gaps[1:] > 0.0) & (apart <= 0.25 * h * np.maximum(turns[:-1], turns[1:]))
            found.update((0.5 * (speeds[:-1] + speeds[1:]))[near].tolist())
            for end, side, gap in ((speeds[-1], 1, gaps[-1]), (speeds[0], -1, gaps[0])):
                beside = np.searchsorted(whole, end) + side
                if 0 <= beside < len(whole):
                    ends[0.5 * (end + whole[beside])].append(gap)
        found.update(middle for middle, gaps in ends.items() if min(gaps) < 0.0 < max(gaps))
        return np.array(sorted(found))

    def _with(self, speeds: Array) -> Campbell:
        """The diagram with more speeds, in order."""
        known = [(speed, [curve[k] for curve in self.curves if k in curve]) for k, speed in enumerate(self.speeds)]
        count = self._most()
        more = [*known, *((speed, self.vibrations(float(speed), count)) for speed in speeds)]
        more.sort(key=lambda own: own[0])
        every, found = zip(*more, strict=True)
        return replace(self, speeds=np.array(every), curves=_curves(list(found)))

    def _crossings(self, order: float) -> Array:
        """Speeds ``(k,)`` at which curves cross a multiple of the speed an odd number of times between two."""
        seen, last, found = list[float](), -np.inf, list[float]()
        for curve in self.curves:
            rows, (speeds, gaps) = list(curve), self._gaps(curve, order)
            gaps[np.abs(gaps) <= LOCKED * np.abs(speeds)] = 0.0
            seen += speeds[gaps == 0.0].tolist()
            for k in np.flatnonzero(gaps[:-1] * gaps[1:] < 0.0):
                ends = rows[k], rows[k + 1]
                seen.append(self._root((curve[ends[0]], curve[ends[1]]), self.speeds[list(ends)], order))
        for speed in sorted(seen):
            beside = [speed + side * BESIDE * abs(speed) for side in (-1.0, 1.0)]
            kept = self._keep(speed, order)
            if not kept or kept > max(self._keep(other, order) for other in beside):
                found.append(speed)
            elif speed > last:  # not in the range before
                first, last = (self._end(speed, other, order) for other in beside)
                found += [first, last]
        speeds = np.sort([speed for speed in found if np.isfinite(speed)])
        return speeds[np.diff(speeds, prepend=-np.inf) > SAME * np.abs(speeds).max(initial=0.0)]

    def _keep(self, speed: float, order: float) -> int:
        """How many modes have a multiple of a speed as their frequency."""
        return int((np.abs(self._beside(speed, order).imag) <= LOCKED * abs(speed)).sum())

    def _beside(self, speed: float, order: float) -> ComplexArray:
        """Growth of all modes at a speed, and by how much their frequencies are above a multiple of it, as ``i``."""
        found = [own.eigenvalue for own in self.vibrations(speed, self._most())]
        return np.array(found, complex) - 1j * order * abs(speed)

    def _split(self, speed: float, order: float) -> float:
        """By how much growth of modes that keep a multiple differs, squared; below zero, by how much none keeps it.

        Where one frequency becomes two rates of growth that goes through zero like a straight line.
        """
        beside, kept = self._beside(speed, order), LOCKED * abs(speed)
        rates = beside.real[np.abs(beside.imag) <= kept]
        return max(float(np.ptp(rates)), kept) ** 2 if len(rates) else -4.0 * float((beside.imag**2).min())

    def _end(self, speed: float, beside: float, order: float) -> float:
        """Up to where a mode keeps a multiple of the speed on one side; infinite beyond the diagram."""
        from scipy.optimize import brentq  # which takes long to import

        side = np.sign(beside - speed)
        further = iter((side * np.sort(side * self.speeds[side * (self.speeds - beside) > 0.0])).tolist())
        within, beyond = speed, beside
        while np.isfinite(beyond) and self._keep(beyond, order):
            within, beyond = beyond, next(further, side * np.inf)
        if not np.isfinite(beyond):
            return beyond
        return float(brentq(self._split, within, beyond, (order,), xtol=ACCURATE * abs(speed), rtol=ACCURATE))

    def _most(self) -> int:
        """The number of modes that were asked for at a speed."""
        return max(sum(k in curve for curve in self.curves) for k in range(len(self.speeds)))

    def _root(self, ends: tuple[Vibration, Vibration], between: Array, order: float) -> float:
        from scipy.optimize import brentq  # which takes long to import

        known, count = dict(zip(between.tolist(), ends, strict=True)), self._most()

        def gap(speed: float) -> float:
            # two planes of a round rotor are as like forward as backward at rest, and whatever two that do not whirl
            found = [known[speed]] if speed in known else self.vibrations(speed, count)
            best = max(found, key=lambda own: ends[0].near(own) + ends[1].near(own))
            return best.eigenvalue.imag - order * abs(speed)

        return float(
            brentq(gap, *between, xtol=ACCURATE * np.abs(between).max(), rtol=1e-10, maxiter=REFINEMENTS, disp=False)
        )

    @checked
    def plot(self, file: Path | None = None, *, orders: Sequence[float] = (1.0,)) -> Any:
        """The diagram as a matplotlib figure: forward curves full, backward dashed, dots where unstable.

        ``orders`` are multiples of the speed, as dotted lines; ``file`` is written if it is named.
        """
        pyplot = need("matplotlib.pyplot", "campbell.plot")
        figure, axes = pyplot.subplots(figsize=(7.0, 4.5), layout="constrained")
        angular, damping, whirl = self.angular, self.damping, self.whirl
        sense = np.nanmean(whirl, axis=0)
        kinds: list[tuple[str, str, str, Array]] = [
            ("forward", "-", "C0", np.where(sense > PLANE, angular, np.nan)),
            ("backward", "--", "C1", np.where(sense < -PLANE, angular, np.nan)),
            ("in a plane", "-.", "C2", np.where(np.abs(sense) <= PLANE, angular, np.nan)),
            ("unstable", "o", "C3", np.where(damping < -RUNAWAY, angular, np.nan)),
            *((f"{order:g} x speed", ":", "0.4", order * np.abs(self.speeds)[:, None]) for order in orders),
        ]
        for name, style, color, values in kinds:
            there = values[:, np.isfinite(values).any(axis=0)]
            for first, curve in zip([name, *[""] * there.shape[1]], there.T, strict=False):
                axes.plot(self.speeds, curve, style, color=color, markersize=3, label=first or None)
        axes.set_xlabel("speed (rad/s)")
        axes.set_ylabel("angular frequency (rad/s)")
        axes.set_ylim(0.0, None)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
        if file is not None:
            written(file, figure.savefig)
        return figure

    @checked
    def to_table(self, path: Path) -> FilePath:
        """Write the file ``path``, ``.csv``.

        It has speeds, and of each mode angular frequency, damping ratio and whirl; nan where it ended.
        """
        count = self.angular.shape[1]
        values = np.stack([self.angular, self.damping, self.whirl], axis=2).reshape(len(self.speeds), 3 * count)
        names = [f"{name} {k + 1}" for k in range(count) for name in ("angular", "damping", "whirl")]
        table, head = np.column_stack([self.speeds, values]), ",".join(["speed", *names])
        file = named_file(FilePath(path), ".csv", "Campbell.to_table: path")
        return written(file, lambda to: np.savetxt(to, table, "%.17g", ",", header=head, comments=""))

    def __str__(self) -> str:
        lines = ["speed rad/s   modes rad/s, forward +, backward -"]
        for speed, angular, whirl in zip(self.speeds, self.angular, self.whirl, strict=True):
            marks = (f"{a:.5g}{_sense(s)}" for a, s in zip(angular, whirl, strict=True))
            lines.append(f"{speed:>11.6g}   " + "".join(f"{mark:>11}" for mark in marks))
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Campbell: {len(self.curves)} modes at {len(self.speeds)} speeds to {np.abs(self.speeds).max():g} rad/s"


def _sense(whirl: float) -> str:
    return "+" if whirl > PLANE else "-" if whirl < -PLANE else " "
