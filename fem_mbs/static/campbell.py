"""Frequencies and damping of a rotor over its speed, seen from the ground, and its answer to unbalance.

About a rotor that turns steadily the equations are linear with constant coefficients where axes that stand still see
them so: of a rotor that is alike all round, on any supports (``steady_axes.py``; Genta, Dynamics of Rotating Systems,
sections 4.5, 6.4). docs/rotors.md.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import block_array, csc_array
from scipy.sparse.linalg import splu

from fem_mbs.arrays import Array
from fem_mbs.contracts import (
    Direction,
    Element,
    ElementOrName,
    NodeOrName,
    Path,
    Positive,
    PositiveInt,
    Public,
    State,
    checked,
    named_file,
    of_kind,
    real,
    shaped,
    shown,
)
from fem_mbs.errors import ModelError
from fem_mbs.initial.redundant import independent
from fem_mbs.modal.floquet import FloquetModes, floquet_modes
from fem_mbs.modal.linear_model import LinearModel, linear_equations
from fem_mbs.modal.modes import Modes, degrees_of_freedom, solve_modes
from fem_mbs.modal.turned import TurnedModel
from fem_mbs.model.model import Model
from fem_mbs.pictures.pyvista_canvas import need, written
from fem_mbs.static.steady_rotation import steady_rotation, steady_spin
from fem_mbs.system.states import from_user
from fem_mbs.system.system import System

LOG = logging.getLogger("fem_mbs")
ALIKE = 0.3
"""Likeness of the shapes of a mode at two speeds, below which it is another one."""
STANDS = 1e-9
"""Angular velocity of axes, against that of the rotor, that is none."""
REFINEMENTS, ACCURATE = 40, 1e-10
MORE = 6
"""Modes that are asked for beside those wanted, as some do not swing."""
ACROSS = 1e-9
"""Share of a motion across the axis, below which it goes along the axis or about it."""
PLANE = 0.05
"""Whirl below which a motion is in a plane."""
RUNAWAY = 1e-6
"""Growth against frequency that is more than rounding."""

Speeds = Annotated[ArrayLike, shaped((None,), what="numbers, rad/s")]


class Once(logging.Filter):
    """While it is entered, what is doubtful is told once of each part, not at every speed."""

    def __init__(self) -> None:
        super().__init__()
        self.told: set[tuple[str, str]] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether nothing of the kind was told of the part, the first argument of a message."""
        part = str(record.args[0]) if isinstance(record.args, tuple) and record.args else ""
        if record.levelno < logging.WARNING:
            return True
        new = (kind := (str(record.msg), part)) not in self.told
        self.told.add(kind)
        return new

    def __enter__(self) -> None:
        LOG.addFilter(self)

    def __exit__(self, *failure: object) -> None:
        LOG.removeFilter(self)


class Rotor:
    """A model whose ``turning`` nodes spin about an axis."""

    def __init__(self, model: Model, turning: Iterable[NodeOrName] | None, axis: Array, label: str) -> None:
        self.once = Once()
        self.model, self.turning, self.axis, self.label = model, turning, axis, label
        self.last: State | None = None
        """Where it was at the speed before."""

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
        if speed == 0.0:
            return linear_equations(System(self.model), None, still=True)
        return linear_equations(System(self.model), self._state(speed), still=True)

    def _state(self, speed: float) -> State:
        """How it turns as a whole; where loads that stand still bend it, how it spins about its bent line."""
        turning = None if self.turning is None else list(self.turning)
        try:
            return steady_rotation(self.model, speed * self.axis, turning=turning).state(-1)
        except ModelError as failure:
            turns = failure
        try:
            found = steady_spin(self.model, speed, turning=turning, axis=self.axis, initial=self.last)
        except ModelError as failure:
            raise turns from failure
        self.last = found.state(-1)
        return self.last

    def vibrations(self, speed: float, count: int, damped: bool, floquet: bool) -> list[Vibration]:
        """The lowest modes that swing."""
        linear = self._about(speed) if floquet else self.at(speed)
        most = min(count + MORE, degrees_of_freedom(linear))
        modes: Modes | FloquetModes
        if linear.varies or self._turn(linear, speed):
            if not damped:
                raise ModelError(f"{self.label}: floquet=True has damping; leave it out of the model")
            modes = floquet_modes(linear, most, self.label)
            if len(modes.eigenvalues) < min(count, most):
                raise ModelError(
                    f"{self.label}: at {speed:g} rad/s floquet resolves {len(modes.eigenvalues)} of {count} motions: "
                    "others swing many times in a turn; take fewer by count=, or a higher speed"
                )
        else:
            modes = solve_modes(linear, most, damped)
        swing = np.abs(modes.eigenvalues.imag) > RUNAWAY * np.abs(modes.eigenvalues).max()
        weights = np.sqrt(np.repeat(_masses(linear.system), 3, axis=1))
        sense = self.axis * (-1.0 if speed < 0.0 else 1.0)
        result = []
        for value, shape in zip(modes.eigenvalues[swing][:count], modes.shapes[swing], strict=False):
            own = shape if value.imag > 0.0 else shape.conj()
            a = (weights * own).reshape(-1, 3)
            a = a - np.outer(a @ self.axis, self.axis)
            size = float(np.vdot(a, a).real)
            turns = -2.0 * float((np.cross(a.real, a.imag) @ sense).sum())
            flat = (weights * own).ravel()
            turns = turns / size if size > ACROSS * float(np.vdot(flat, flat).real) else 0.0
            result.append(Vibration(complex(value.real, abs(value.imag)), turns, flat, own))
        return result


def _masses(system: System) -> Array:
    """Mass and mean rotational inertia of each node, ``(n, 2)``."""
    return system.nodes_of(system.diagonal_mass).reshape(-1, 2, 3).mean(axis=2)


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


def _curves(found: list[list[Vibration]]) -> tuple[dict[int, Vibration], ...]:
    """Modes at all speeds as curves, each by the numbers of its speeds."""
    curves: list[dict[int, Vibration]] = []
    last: list[tuple[int, Vibration]] = []
    for k, now in enumerate(found):
        begun, last = last, []
        for own, place in zip(now, _followed([own for _, own in begun], now), strict=True):
            curve = len(curves) if place is None else begun[place][0]
            if place is None:
                curves.append({})
            curves[curve][k] = own
            last.append((curve, own))
    return tuple(curves)


def _followed(before: list[Vibration], now: list[Vibration]) -> list[int | None]:
    """Which of the modes before each one now goes on, None for none."""
    from scipy.optimize import linear_sum_assignment  # which takes long to import

    result: list[int | None] = [None] * len(now)
    if before:
        near = np.array([[old.near(new) for new in now] for old in before])
        for old, new in zip(*linear_sum_assignment(-near), strict=True):
            if before[old].like(now[new]) > ALIKE:
                result[int(new)] = int(old)
    return result


@checked
def campbell(
    model: Model,
    speeds: Speeds,
    *,
    turning: Iterable[NodeOrName] | None = None,
    axis: Direction = (1.0, 0.0, 0.0),
    count: PositiveInt = 8,
    damped: bool = True,
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
    damped : bool
        With the damping of the model.
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
    with rotor.once:
        found = [rotor.vibrations(float(speed), count, damped, floquet) for speed in given]
    return Campbell(given, _curves(found), rotor, damped, floquet)


@dataclass(frozen=True, eq=False, repr=False)
class Campbell(Public):
    """Modes of a rotor over its speed, as curves; ``print`` shows a table, :meth:`plot` the diagram.

    Attributes
    ----------
    speeds : (ns,)
        In rad/s.
    """

    _internal = ("curves", "rotor", "damped", "floquet")
    speeds: Array
    curves: tuple[dict[int, Vibration], ...]
    rotor: Rotor
    damped: bool
    floquet: bool

    def _over_speeds(self, of: Callable[[Vibration], Any]) -> Array:
        known = {
            (row, column): np.asarray(of(own)) for column, curve in enumerate(self.curves) for row, own in curve.items()
        }
        first = next(iter(known.values()), np.empty(()))
        result = np.full(
            (len(self.speeds), len(self.curves), *first.shape), np.nan, np.result_type(float, *known.values())
        )
        for place, value in known.items():
            result[place] = value
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
        grows = self._over_speeds(lambda own: own.eigenvalue.real / abs(own.eigenvalue)) > RUNAWAY
        return self.speeds[grows.any(axis=1)]

    @checked
    def critical(self, order: Positive = 1.0) -> Array:
        """Speeds ``(k,)`` at which a mode has ``order`` times the speed as its frequency, within those of the diagram.

        Found by the equations at these speeds, not between points of the diagram; forward and backward ones.
        """
        found = []
        for curve in self.curves:
            rows = sorted(curve)
            for a, b in zip(rows, rows[1:], strict=False):
                gaps = [curve[row].eigenvalue.imag - order * abs(self.speeds[row]) for row in (a, b)]
                if gaps[0] * gaps[1] <= 0.0 and gaps[0] != gaps[1]:
                    found.append(self._root((curve[a], curve[b]), self.speeds[[a, b]], order))
        return np.unique(np.round(found, 12)) if found else np.empty(0)

    def _root(self, ends: tuple[Vibration, Vibration], between: Array, order: float) -> float:
        from scipy.optimize import brentq  # which takes long to import

        def gap(speed: float) -> float:
            with self.rotor.once:
                found = self.rotor.vibrations(speed, len(self.curves), self.damped, self.floquet)
            # at rest, two planes of a round rotor are as like forward as backward
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
        return _over_speed(figure, axes, "angular frequency (rad/s)", file)

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
        rows = zip(self.speeds, self.angular, self.whirl, strict=True)
        marks = [
            (f"{w:.6g}", [f"{a:.5g}{_sense(s)}" for a, s in zip(own, turns, strict=True)]) for w, own, turns in rows
        ]
        head = "speed rad/s   modes rad/s, forward +, backward -"
        return "\n".join([head, *(f"{w:>11}   " + "".join(f"{own:>11}" for own in each) for w, each in marks)])

    def __repr__(self) -> str:
        return f"Campbell: {len(self.curves)} modes at {len(self.speeds)} speeds to {np.abs(self.speeds).max():g} rad/s"


def _sense(whirl: float) -> str:
    return "+" if whirl > PLANE else "-" if whirl < -PLANE else " "


@checked
def unbalance_response(
    model: Model,
    speeds: Speeds,
    unbalance: Mapping[str, Any],
    *,
    turning: Iterable[NodeOrName] | None = None,
    axis: Direction = (1.0, 0.0, 0.0),
) -> UnbalanceResponse:
    """How a rotor whirls under small unbalances at nodes, with the frequency of its speed.

    Parameters
    ----------
    model : Model
        A balanced rotor on its supports.
    speeds : (ns,)
        In rad/s, not zero.
    unbalance : dict
        By names of nodes that turn: mass times eccentricity in kg m, or a pair of this and an angle in rad, counted
        with the rotation from the direction ``response.across``.
    turning, axis
        As for :func:`campbell`.

    Raises
    ------
    ModelError
        As :func:`campbell`, and if a node does not exist or a speed is zero.

    Notes
    -----
    ``(K + i w C - w^2 M) x = m e w^2 (u - i v)`` in axes that stand still, ``u x v`` along the rotation.
    """
    label = "unbalance_response"
    rotor, given = Rotor(model, turning, np.asarray(axis), label), np.asarray(speeds)
    if not given.all():
        raise ModelError(f"{label}: speeds must not be zero, received {shown(speeds)}")
    if not isinstance(unbalance, Mapping) or not unbalance:
        raise ModelError(
            f"{label}: unbalance must be a dict of nodes with m e or (m e, angle), received {shown(unbalance)}"
        )
    pushes = {node: _complex(value, f"{label}: unbalance[{node!r}]") for node, value in unbalance.items()}
    u, v = _across(rotor.axis)
    answers, loads = [], []
    for speed in given:
        with rotor.once:
            linear = rotor.at(float(speed))
        w = abs(float(speed))
        worlds = {node: push * w**2 * (u - 1j * np.sign(speed) * v) for node, push in pushes.items()}
        d = _answer(linear, worlds, w)
        answers.append(linear.node_motions(d))
        loads.append(_at_shafts(linear, d, w))
    return UnbalanceResponse(given, np.array(answers), u, v, System(model), tuple(loads))


def _across(axis: Array) -> tuple[Array, Array]:
    """Two directions across an axis, and each other."""
    across = np.roll(np.eye(3), 1, axis=1)[int(np.argmax(np.abs(axis)))]
    u = across - (across @ axis) * axis
    u /= np.linalg.norm(u)
    return u, np.cross(axis, u)


def _answer(linear: LinearModel, forces: Mapping[str, Array], w: float) -> Array:
    """``d`` (n_free,) of the motion ``d exp(i w t)`` under ``force exp(i w t)`` on nodes, ``(3,)`` in the world."""
    system = linear.system
    rows, force = independent(system), np.zeros(system.N, complex)
    for node, own in forces.items():
        row = system.row(node, "unbalance_response: unbalance")
        force[6 * row : 6 * row + 3] += linear.state.R[row].T @ own
    force = force[system.free_rows]
    A = csc_array(linear.K + 1j * w * linear.C - w**2 * linear.M)
    B, L = csc_array(linear.B[rows]), csc_array(linear.L[:, rows])
    whole = csc_array(block_array([[A, L], [B, None]])) if len(rows) else A
    return np.asarray(splu(whole).solve(np.append(force, np.zeros(len(rows))))[: len(force)])


def _at_shafts(linear: LinearModel, d: Array, w: float) -> list[Array]:
    """Forces ``(n, 3)`` of the elements of each batch against their last nodes, which move by ``d exp(i w t)``.

    Elements without nodes, such as blocks of a controller, have none.
    """
    system, whole = linear.system, np.zeros(linear.system.N, complex)
    whole[system.free_rows] = d
    motion = system.motion(from_user(system, linear.state, "unbalance_response"))
    seen, result = TurnedModel(system, motion, np.zeros((system.n, 3))).at(0.0), []
    for batch, (K, C, M), places in zip(system.batches, seen.of_cells, system.components, strict=False):
        if not batch.nodes.size:
            result.append(np.empty((0, 3)))
            continue
        last = 6 * batch.nodes.shape[1] - 6
        rows = (K + 1j * w * C - w**2 * M)[:, last : last + 3]
        result.append(np.matvec(motion.R[batch.nodes[:, -1]], np.matvec(rows, whole[places])))
    return result


def _complex(value: Any, label: str) -> complex:
    pair = real(value)
    if pair is None or pair.shape not in ((), (2,)) or not np.isfinite(pair).all():
        raise ModelError(f"{label} must be m e in kg m, or (m e, angle in rad), received {shown(value)}")
    size, angle = (float(pair), 0.0) if pair.ndim == 0 else map(float, pair)
    return complex(size * np.exp(1j * angle))


def _over_speed(figure: Any, axes: Any, quantity: str, file: Path | None) -> Any:
    """A figure of a quantity from zero over the speed, complete, and written where a file is named."""
    axes.set_xlabel("speed (rad/s)")
    axes.set_ylabel(quantity)
    axes.set_ylim(0.0, None)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    if file is not None:
        written(file, figure.savefig)
    return figure


@dataclass(frozen=True, eq=False, repr=False)
class UnbalanceResponse(Public):
    """Whirl of all nodes with the frequency of the speed, ``Re(shape exp(i w t))``.

    Attributes
    ----------
    speeds : (ns,)
        In rad/s.
    shapes : (ns, n, 6) complex
        Displacements and rotation vectors, world frame.
    across, other : (3,)
        Directions across the axis, from which angles count, and the next one, with the axis.
    """

    _internal = ("system", "loads")
    speeds: Array
    shapes: Array
    across: Array
    other: Array
    system: System
    loads: tuple[list[Array], ...]

    @checked
    def bearing_force(self, bearing: ElementOrName) -> Array:
        """Force ``(ns, 3)`` with which the shaft acts on a bearing, or on another element by its last node.

        Complex, world frame: its size goes to the foundation.
        """
        owner = of_kind(self.system.find(bearing, label := "bearing_force: bearing"), Element, label)
        batch = next(k for k, own in enumerate(self.system.batches) if owner in own.owners)
        if not self.system.batches[batch].nodes.size:
            raise ModelError(f"{label} must be an element with nodes, received {owner}, which acts on none")
        row = list(self.system.batches[batch].owners).index(owner)
        return np.array([of_speed[batch][row] for of_speed in self.loads])

    @checked
    def displacement(self, node: NodeOrName) -> Array:
        """Displacement ``(ns, 3)`` of a node, complex, world frame."""
        return self.shapes[:, self.system.row(node, "UnbalanceResponse: node"), :3]

    @checked
    def forward(self, node: NodeOrName) -> Array:
        """Radius ``(ns,)`` of the part of the orbit that goes with the rotor."""
        return np.abs(self._parts(node)[0])

    @checked
    def backward(self, node: NodeOrName) -> Array:
        """Radius ``(ns,)`` of the part of the orbit that goes against the rotor."""
        return np.abs(self._parts(node)[1])

    @checked
    def major(self, node: NodeOrName) -> Array:
        """Larger half axis ``(ns,)`` of the orbit."""
        return self.forward(node) + self.backward(node)

    @checked
    def minor(self, node: NodeOrName) -> Array:
        """Smaller half axis ``(ns,)`` of the orbit, negative where the node goes round against the rotor."""
        return self.forward(node) - self.backward(node)

    @checked
    def plot(self, *nodes: NodeOrName, file: Path | None = None) -> Any:
        """Larger half axes of the orbits of nodes over the speed, as a matplotlib figure.

        By default of the node that goes furthest; ``file`` is written if it is named.
        """
        pyplot = need("matplotlib.pyplot", "response.plot")
        figure, axes = pyplot.subplots(figsize=(7.0, 4.5), layout="constrained")
        furthest = int(np.abs(self.shapes[..., :3]).max(axis=(0, 2)).argmax())
        for node in nodes or (self.system.nodes[furthest],):
            row = self.system.row(node, "UnbalanceResponse: node")
            axes.plot(self.speeds, self.major(node), label=str(self.system.nodes[row]))
        return _over_speed(figure, axes, "larger half axis (m)", file)

    def _parts(self, node: NodeOrName) -> tuple[Array, Array]:
        moved = self.displacement(node)
        x, y = moved @ self.across, np.sign(self.speeds) * (moved @ self.other)
        return 0.5 * (x + 1j * y), 0.5 * (x - 1j * y)

    def __repr__(self) -> str:
        return f"UnbalanceResponse at {len(self.speeds)} speeds to {np.abs(self.speeds).max():g} rad/s"
