"""The matrices of steps: where entries stand, and what they are made of.

They are those of :class:`~fem_mbs.derivatives.step.StepDerivative`. All of them have the same entries in each step, so
that those of several steps are made together: full where they are small, else sparse.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha
from fem_mbs.alpha.newmark import newmark
from fem_mbs.alpha.stabilized import StabilizedEquations
from fem_mbs.arrays import Array, IntArray
from fem_mbs.derivatives.parameter_derivatives import ParameterDerivatives
from fem_mbs.derivatives.parameters import Variation
from fem_mbs.derivatives.residual import ByMotion, ByMultipliers, Residual, total
from fem_mbs.linear.solvers import sums
from fem_mbs.system.system import System

DENSE = 8192
"""Entries up to which matrices are full."""
CELLS, TOGETHER = 10_000, 64
"""Cells of elements and joints that are linearised together, and steps at most."""
NONE = np.iinfo(np.int32).max
"""Number of a row or a column that is none."""

Part: TypeAlias = tuple[IntArray, IntArray, IntArray, IntArray, Any]
"""Numbers of rows, and which of them cells have, ``(c, r)``; the same of columns, ``(c, b)``; entries, or None."""


class Pattern:
    """Places of the entries ``(c, r, b)`` of cells; those in rows or columns beyond the matrix are none."""

    def __init__(self, parts: Sequence[Part], shape: tuple[int, int]) -> None:
        self.shape = rows, columns = shape
        flat = [np.empty(0, np.intp)]
        for number, own, others, cells, _ in parts:
            row, column = number[own][:, :, None], others[cells][:, None, :]
            flat.append(np.where((row < rows) & (column < columns), row * columns + column, rows * columns).ravel())
        self._slots, self._size = np.concatenate(flat), rows * columns
        self._of_all: dict[int, IntArray] = {}
        self._full = self._size <= DENSE
        if not self._full:
            entries, slots = np.unique(np.append(self._slots, self._size), return_inverse=True)
            self._slots, self._size = slots[:-1], len(entries) - 1
            self._columns = (entries[:-1] % columns).astype(np.int32)
            self._starts = np.searchsorted(entries[:-1], np.arange(rows + 1) * columns).astype(np.int32)

    def __call__(self, values: Iterable[Array], count: int) -> Any:
        """The matrices of ``count`` steps: an array, or a list of sparse ones."""
        size = self._size + 1
        if count not in self._of_all:
            self._of_all[count] = (self._slots + size * np.arange(count)[:, None]).ravel()
        every = np.concatenate([np.empty((count, 0)), *(own.reshape(count, -1) for own in values)], axis=1)
        entries = sums(self._of_all[count], every.ravel(), count * size).reshape(count, size)[:, :-1]
        if self._full:
            return entries.reshape(count, *self.shape)
        return [csr_array((own, self._columns, self._starts), self.shape) for own in entries]


class Weights:
    """Newmark's formulas of steps of one length, which are linear: ``factors D + constants (v, highest, a)``."""

    def __init__(self, method: GeneralizedAlpha, system: System, h: float) -> None:
        one, none = np.ones(system.N), np.zeros(system.N)
        units = (one, none, none), (none, one, none), (none, none, one)
        made = [newmark(method.coefficients, h, unit, system.order) for unit in units]
        self.h = h
        self.factors = np.broadcast_to(made[0].factors, (3, system.N))
        """``(3, N)``."""
        self.constants = np.array([own.constants for own in made]).swapaxes(0, 1)
        """``(3, 3, N)``: of velocities, accelerations and algorithmic ones."""
        self.guess = np.array([own.guess for own in made])
        """Of the plain guess, ``(3, N)``."""


def layout(**sizes: int) -> dict[str, IntArray]:
    """Numbers of the components of parts that stand one below the other."""
    starts = np.cumsum([0, *sizes.values()])
    return {name: first + np.arange(size) for (name, size), first in zip(sizes.items(), starts, strict=False)}


class RunDerivative:
    """What the derivatives of all steps of a run have in common: where entries stand, and what the parameters do."""

    def __init__(self, method: GeneralizedAlpha, system: System, varied: Sequence[Variation]) -> None:
        self.method, self.system = method, system
        self.closes_velocities = hides = method.scheme(system).kind is StabilizedEquations and system.m > 0
        self.residual, self.explicit = Residual(system, hides), ParameterDerivatives(system, varied)
        self._weights: tuple[float, Weights] | None = None
        cells = sum(len(batch.nodes) for batch in system.all_batches) + self.explicit.cells
        self.together = min(TOGETHER, 1 + CELLS // cells)
        """So many steps are linearised together."""
        N, n, m, rows, equation = system.N, system.n_free, system.m, self.residual.rows, system.equation
        of_start = {"q": N, "v": N, "highest": N, "a": N, "multipliers": m}
        self.x = layout(**of_start, missed=N, missed_before=N, missed_multipliers=m, missed_multipliers_before=m)
        self.i = layout(q=N, v=N, vdot=N, D=N, multipliers=m)
        self.j = layout(q=N, Z=N, v=N, vdot=N, D=N, multipliers=m, q_before=N)
        self.o = layout(q=N, Z=N, D=N, multipliers=m)
        self.follow = {name: np.where(system.orders >= 0, own, NONE) for name, own in self.j.items() if len(own) == N}
        """The same without internal variables of kind "history", which no matrix knows."""
        self.size = n + m + (n + m if hides else 0)
        """Equations of a step."""
        # in the order of the matrix of index 3, each unknown of the directions after the same one of the step
        self.place = system.solver.place
        number, after = (2 * self.place, 2 * self.place + 1) if hides else (self.place, np.full(n + m, NONE))

        def unknowns(of: IntArray) -> tuple[IntArray, IntArray]:
            """Of increments of all components, and of multipliers."""
            return np.append(of[:n], NONE)[equation], of[n:]

        self.y = dict(zip(("D", "push", "w", "push_of_w"), (*unknowns(number), *unknowns(after)), strict=True))
        self.rows = np.concatenate([number, after[n : rows - m], [NONE]])
        # beside them forces along w; gaps that are closed as velocities stand where hidden ones are none
        none, gaps = np.full(rows - n - m + 1, NONE), np.where(system.velocity_level, after[n:], NONE)
        self.rows_of_w = np.concatenate([after[:n], gaps, none])
        self.alone = np.concatenate([self.place, none]), *unknowns(self.place)
        """Rows, increments and multipliers of the matrix of index 3 alone."""
        self.variables, self.equations = np.arange(N)[:, None], np.arange(m)[:, None]
        self.nodes, self.own = self.variables[: 6 * system.n].reshape(-1, 6), self.variables[6 * system.n :]
        self._patterns: dict[Any, Pattern] = {}

    def weights(self, h: float) -> Weights:
        """Newmark's formulas of a step."""
        if self._weights is None or self._weights[0] != h:
            self._weights = h, Weights(self.method, self.system, h)
        return self._weights[1]

    def matrix(self, parts: Iterable[Part], rows: int, columns: int, count: int) -> Any:
        """The matrices of ``count`` steps with these entries: an array, or a list of sparse ones."""
        some = [own for own in parts if own[-1] is not None]
        key = rows, columns, *(id(own) for part in some for own in part[:4])
        if key not in self._patterns:
            self._patterns[key] = Pattern(some, (rows, columns))
        return self._patterns[key]((own[-1] for own in some), count)


class StepPoint(NamedTuple):
    """The equations of steps at some unknowns, and their derivatives there."""

    follows: list[ByMotion]
    pushes: list[ByMultipliers]
    explicit: Any
    """Derivatives of the rows against the parameters, ``(s, R, P)``, where they are asked for."""
    transport: Array
    """Body increments at the end with those at the start, ``(s n, 6, 6)``."""
    tangent: Array
    """``T``, of the coordinates of the step: at the guess ``Z = T w``."""
    to_body: Array
    """``T P``: body increments at the end with a change of these coordinates."""


class Turn(NamedTuple):
    """How directions of ``Z`` turn: points on both sides of the guess along ``w``."""

    beyond: StepPoint
    """Ahead of the guesses of all steps, then behind."""
    weight: Array
    """Of their difference, ``(s, 1)``."""
    bend: Array
    """How ``T w`` follows the guess, ``(s n, 6, 6)``."""


class StepMatrices:
    """Of ``count`` steps of one length, by derivatives at their ends, and at the guesses that directions come from."""

    def __init__(
        self,
        run: RunDerivative,
        weights: Weights,
        count: int,
        here: StepPoint,
        guess: StepPoint | None,
        turn: Turn | None,
    ) -> None:
        self.run, self.weights, self.count, self.here, self.guess, self.turn = run, weights, count, here, guess, turn
        self.one, self.none = np.ones(count * run.system.k), np.zeros(count * run.system.k)
        """Shares of internal variables."""
        self.ones = np.ones(2 * count * run.system.k)
        self.moving = np.tile(run.system.order == 2, count).astype(float)
        """One where they have velocities."""

    def along_Z(self) -> Iterator[tuple[ByMotion, Any]]:  # noqa: N802
        """What rows follow ``Z`` by, which takes rates back."""
        for own in self.here.follows:
            rates = own.of_rates(self.weights.factors[:2])
            yield own, total(own.Z, None if rates is None else -rates)

    def index3(self, point: StepPoint, rows: IntArray, D: IntArray, push: IntArray) -> Iterator[Part]:  # noqa: N803
        """The matrix of index 3, against coordinates of the step and ``h^2`` times multipliers."""
        for own in point.follows:
            yield rows, own.rows, D, own.components, self._in_coordinates(own, point)
        for pushed in point.pushes:
            yield rows, pushed.rows, push, pushed.equations, pushed.values / self.weights.h**2

    def directions(self) -> Any:
        """``S``."""
        size = self.run.system.size
        return self.run.matrix(self.index3(self.here, *self.run.alone), size, size, self.count)

    def unknowns(self) -> Any:
        """``E``."""
        run, y = self.run, self.run.y
        parts = list(self.index3(self.here, run.rows, y["D"], y["push"]))
        if self.guess is not None:
            for own, along in self.along_Z():
                moved = own.after(along, self.guess.tangent, self.moving)
                parts.append((run.rows, own.rows, y["w"], own.components, moved))
            parts.extend(self.index3(self.guess, run.rows_of_w, y["w"], y["push_of_w"]))
        return run.matrix(parts, run.size, run.size, self.count)

    def rows(self) -> Any:
        """``F``."""
        run = self.run
        return run.matrix(self._rows(), run.size, 6 * run.system.N + run.system.m, self.count)

    def _rows(self) -> Iterator[Part]:
        run, j = self.run, self.run.j
        for own in self.here.follows:
            for columns, values in zip((run.follow["q"], j["v"], j["vdot"]), (own.q, own.v, own.vdot), strict=True):
                yield run.rows, own.rows, columns, own.components, values
        if self.turn is None:
            return
        for own, along in self.along_Z():
            yield run.rows, own.rows, j["Z"], own.components, along
        beyond, weight, _ = self.turn

        def difference(values: Any) -> Any:
            if values is None:
                return None
            ahead, behind = values.reshape(2, self.count, -1)
            return (ahead - behind) * weight

        places = run.follow["q_before"], j["v"], j["vdot"], j["D"]
        for own in beyond.follows:
            q = own.after(own.q, beyond.transport, self.ones)
            parts = q, own.v, own.vdot, self._in_coordinates(own, beyond)
            for columns, values in zip(places, map(difference, parts), strict=True):
                yield run.rows_of_w, own.rows, columns, own.components, values
        for push in beyond.pushes:
            yield run.rows_of_w, push.rows, j["multipliers"], push.equations, difference(push.values)

    def _in_coordinates(self, own: ByMotion, point: StepPoint) -> Any:
        """Against increments in the coordinates of the step, which rates follow."""
        return total(own.after(own.q, point.to_body, self.ones), own.of_rates(self.weights.factors[:2]))

    def of_parameters(self) -> Array:
        """``F_p``, ``(s, rows, P)``."""
        run, size = self.run, self.run.system.size
        result = np.zeros((self.count, run.size, self.here.explicit.shape[-1]))
        result[:, run.rows[:-1]] = self.here.explicit
        if self.turn is not None:
            ahead, behind = np.split(self.turn.beyond.explicit, 2)
            turned = self.turn.weight[..., None] * (ahead - behind)
            inside = run.rows_of_w[:size] != NONE
            result[:, run.rows_of_w[:size][inside]] += turned[:, :size][:, inside]
        return result

    # what belongs to single nodes and equations

    def outputs(self) -> Any:
        """From ``y`` to ``o``."""
        run, y, o = self.run, self.run.y, self.run.o
        parts = [
            *self._nodes(o["q"], y["D"], self.here.to_body, self.one),
            self._each(o["D"], y["D"], 1.0),
            self._each(o["multipliers"], y["push"], self.weights.h**-2),
        ]
        if self.guess is not None:
            parts += self._nodes(o["Z"], y["w"], self.guess.tangent, self.moving)
        return run.matrix(parts, 3 * run.system.N + run.system.m, run.size, self.count)

    def held(self) -> Any:
        """From ``i`` to ``j``."""
        run, i, j, none = self.run, self.run.i, self.run.j, self.none
        parts = [self._each(j[name], i[name], 1.0) for name in ("v", "vdot", "D", "multipliers")]
        parts += self._nodes(j["q"], i["q"], self.here.transport, self.one)
        if self.turn is not None:
            parts += self._nodes(j["Z"], i["D"], self.turn.bend, none)
            parts.append(self._each(j["q_before"], i["q"], 1.0))
        N, m = run.system.N, run.system.m
        return run.matrix(parts, 6 * N + m, 4 * N + m, self.count)

    def formulas(self, of_guess: Array, alone: Array, moves: Array) -> tuple[Any, Any, Any]:
        """Newmark's formulas, and what guesses miss: from ``x`` to ``i``, and from ``o`` and ``x`` to the next ``x``.

        ``of_guess`` (s, 4) is what the guess has of what the last two have missed, of the increment, then of
        multipliers; ``alone`` (s, 1) is one where nothing was missed before, ``moves`` (s, 1) where the guess begins
        with that of constant acceleration, zero where it stays at the start.
        """
        run, weights, each = self.run, self.weights, self._each
        x, i, o = run.x, run.i, run.o
        of_last = of_guess.T[:, :, None]
        inputs = [each(i["q"], x["q"], 1.0), each(i["multipliers"], x["multipliers"], 1.0)]
        moved = [each(x["q"], o["q"], 1.0), each(x["multipliers"], o["multipliers"], 1.0)]
        kept = [each(x["missed_multipliers"], x["multipliers"], -1.0)]
        kept.append(each(x["missed_multipliers_before"], x["multipliers"], -alone))
        for name, guessed, (last, before) in (
            ("missed", "D", of_last[:2]),
            ("missed_multipliers", "multipliers", of_last[2:]),
        ):
            own, earlier = x[name], x[name + "_before"]
            inputs += [each(i[guessed], own, last), each(i[guessed], earlier, before)]
            moved += [each(own, o[guessed], 1.0), each(earlier, o[guessed], alone)]
            kept.append(each(earlier, own, 1.0 - alone))
        rates = x["v"], x["highest"], x["a"]
        for own, factor in zip(rates, weights.factors, strict=True):
            moved += [each(own, o["D"], factor), each(own, o["Z"], -factor)]
        for k, own in enumerate(rates):
            of_v, of_vdot, _ = of_all = weights.constants[:, k]
            inputs += [each(i["v"], own, of_v), each(i["vdot"], own, of_vdot)]
            inputs.append(each(i["D"], own, moves * weights.guess[k]))
            kept += [each(rate, own, share) for rate, share in zip(rates, of_all, strict=True)]
            kept.append(each(x["missed"], own, -weights.guess[k]))
            kept.append(each(x["missed_before"], own, -alone * weights.guess[k]))
        N, m = run.system.N, run.system.m
        size = 6 * N + 3 * m
        shapes = (4 * N + m, size), (size, 3 * N + m), (size, size)
        made = [run.matrix(own, *shape, self.count) for own, shape in zip((inputs, moved, kept), shapes, strict=True)]
        return made[0], made[1], made[2]

    def _each(self, rows: IntArray, columns: IntArray, values: Any) -> Part:
        """One entry a row, of ``values`` (s, r), or fewer for all."""
        every = self.run.equations if len(rows) == self.run.system.m else self.run.variables
        return rows, every, columns, every, np.broadcast_to(values, (self.count, len(rows)))

    def _nodes(self, rows: IntArray, columns: IntArray, maps: Array, own: Array) -> list[Part]:
        """Of each node (s n, 6, 6), and of each internal variable (s k,)."""
        nodes, variables = self.run.nodes, self.run.own
        return [(rows, nodes, columns, nodes, maps), (rows, variables, columns, variables, own)]
