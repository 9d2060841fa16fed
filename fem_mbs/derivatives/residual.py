"""Derivatives of the equations of steps at motions that are held, against how bodies move.

``r = M vdot + g + B^T lambda``, ``Phi`` and ``h (B v + Phi_t)`` follow the configuration, the group rates, what the
default formulation moves beside them (``Z``, see ``alpha/stabilized.py``), and the multipliers. Of the body,

    V = P v + of_V q,    A = P vdot + cross P v + of_A q,

and the velocities of the configuration, by which all forces but those of inertia go, have ``P Z/h + of_Z q`` beside
them. Rows are those of a step: ``h^2 r`` of free components, ``Phi``, and ``(B v + Phi_t)/gamma'`` where it is imposed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Motion, RateSensitivities
from fem_mbs.derivatives.linear import total
from fem_mbs.derivatives.together import Together
from fem_mbs.system.matrices import rate_gradient_of
from fem_mbs.system.system import System

DENSE = 40_000
"""Entries up to which matrices are full."""


class Jacobian(NamedTuple):
    """Derivatives of the rows of a step, of one or of several: ``(R, N)`` each, ``(R, m)`` against multipliers."""

    q: Any
    """Against body increments and internal variables."""
    v: Any
    vdot: Any
    Z: Any
    multipliers: Any

    def times(self, *along: Any) -> Any:
        """The products with columns of each, None where there are none."""
        pairs = zip(self, along, strict=True)
        return total(*(own is not None and own @ each for own, each in pairs if each is not None))


class Instants(NamedTuple):
    """Where steps have ended, or been tried to: ``s`` of them, of one length."""

    motion: Motion
    """Nodes and variables one instant after the other."""
    times: Array
    """``(s,)``."""
    multipliers: Array
    """``(s, m)``."""
    h: float
    gamma: float
    """``gamma'``."""
    P: Array
    """How nodes move with group rates and increments, ``(s n, 6, 6)`` each."""
    of_V: Array  # noqa: N815
    of_A: Array  # noqa: N815
    cross: Array
    of_Z: Array | None  # noqa: N815

    @property
    def steps(self) -> int:
        """How many."""
        return len(self.times)


class RowsOfCells(NamedTuple):
    """What elements and joints add to the rows, of each batch, at all instants."""

    q: list[Any]
    v: list[Any]
    vdot: list[Any]
    Z: list[Any]
    bending: list[Array]
    closing: list[Array]
    closing_v: list[Array]
    hidden: list[Array]
    hidden_v: list[Array]
    B: list[Array]
    readings: list[Array]


class Residual:
    """The equations of a system whose derivatives are asked for at motions of several instants."""

    def __init__(self, system: System, closes_velocities: bool) -> None:
        self.system = system
        N, n, m = system.N, system.n_free, system.m
        sizes = system.n, system.k, m
        self.rows = n + m + (m if closes_velocities else 0)
        self.sizes, self._hides = sizes, closes_velocities

        def together(batches: Sequence[Any]) -> list[Together]:
            groups = ((batch, list(dict.fromkeys(batch.owners))) for batch in batches)
            return [Together(batch, parts, system.number, sizes, system.end) for batch, parts in groups]

        self._elements = together(system.batches)
        self._joints = together(system.constraint_batches)
        rows = np.where(system.equation >= 0, system.equation, self.rows)
        self._of_forces = [(rows[own], own) for own in system.components]
        bending = [(rows[own], own) for own in system.bending_components]
        equations = [np.arange(m)[own, None] for own in system.constraint_slices]
        pairs = list(zip(equations, system.gradient_components, strict=True))
        self._closing = [(n + own, components) for own, components in pairs]
        self._hidden = [(n + m + own, components) for own, components in pairs if closes_velocities]
        self._moving = [*(self._closing if system.has_velocity_level else ()), *self._hidden]
        pushed = [(rows[components], own) for own, components in pairs]
        readings = [(rows[system.components[k]], reads) for k, reads in system.reads]
        self._of_q = Pattern([*self._of_forces, *bending, *self._closing, *self._hidden], self.rows, N)
        self._of_multipliers = Pattern([*pushed, *readings], self.rows, m)
        self._of_rates: dict[Any, Pattern] = {}

    def jacobian(self, at: Instants) -> tuple[Jacobian, RowsOfCells]:
        """The derivatives, and what they are made of."""
        count, squared = at.steps, at.h**2
        cells = RowsOfCells(*([] for _ in RowsOfCells._fields))
        for own in self._elements:
            self._add_elements(cells, own, at)
        for own, rows in zip(self._joints, self.system.constraint_slices, strict=True):
            self._add_joints(cells, own, rows, at)
        hidden, hidden_v = (cells.hidden, cells.hidden_v) if self._hides else ([], [])
        moved = [*(cells.closing_v if self.system.has_velocity_level else ()), *hidden_v]
        pushed = [squared * own for own in (*cells.B, *cells.readings)]
        return Jacobian(
            self._of_q([*cells.q, *cells.bending, *cells.closing, *hidden], count),
            self._rates("v", cells.v, moved, self._moving, count),
            self._rates("vdot", cells.vdot, [], [], count),
            self._rates("Z", cells.Z, [], [], count),
            self._of_multipliers(pushed, count),
        ), cells

    def _add_elements(self, cells: RowsOfCells, own: Together, at: Instants) -> None:
        k, squared = at.steps * self.system.k, at.h**2
        K, C, G, M, readings = own.ask(of_elements, at.motion, at.times, at.multipliers[:, :0])
        where = self._places(own.one, at.steps)

        def product(*terms: tuple[Array | None, Array | None, float]) -> Any:
            """The sum of matrices times derivatives of their rates."""
            return total(
                *(
                    matrix is not None
                    and rate is not None
                    and RateSensitivities(rate, np.full(k, u)).after(matrix, *where)
                    for matrix, rate, u in terms
                )
            )

        P, less = at.P, None if G is None else -G
        turned = product((C, at.of_V, 0.0), (C, at.of_Z, 0.0), (less, at.of_Z, 0.0), (M, at.of_A, 0.0))
        cells.q.append(squared * total(K, turned))
        cells.v.append(_scaled(squared, product((C, P, 1.0), (M, at.cross @ P, 0.0))))
        cells.vdot.append(_scaled(squared, product((M, P, 1.0))))
        cells.Z.append(_scaled(at.h, product((C, P, 1.0), (less, P, 1.0))))
        cells.readings.extend([] if readings is None else [readings])

    def _add_joints(self, cells: RowsOfCells, own: Together, rows: slice, at: Instants) -> None:
        B, K, w = own.ask(of_joints, at.motion, at.times, at.multipliers[:, rows])
        assert B is not None and K is not None and w is not None
        places, k = self._equations_of(own.one, at.steps), at.steps * self.system.k
        turned = RateSensitivities(at.of_V, np.zeros(k)).after(B[:, None], *places)[:, 0] + w
        moving = RateSensitivities(at.P, np.ones(k)).after(B[:, None], *places)[:, 0]
        level = np.tile(self.system.velocity_level[rows], at.steps)[:, None]
        cells.bending.append(at.h**2 * K)
        cells.B.append(B)
        cells.closing.append(np.where(level, at.h * turned, B))
        cells.closing_v.append(np.where(level, at.h * moving, 0.0))
        cells.hidden.append(np.where(level, 0.0, turned / at.gamma))
        cells.hidden_v.append(np.where(level, 0.0, moving / at.gamma))

    def entries(self, cells: RowsOfCells, from_body: Array, factors: Array, count: int) -> Array:
        """Entries ``(s, E)`` of the matrix of index 3, in the order of ``system.pattern``.

        Where increments of coordinates follow those of the body by ``from_body`` (s n, 6, 6), and rates of these by
        ``factors`` (2, N).
        """
        follow, blocks, rows = RateSensitivities(from_body, np.ones(count * self.system.k)), [], []
        for k, (own, components) in enumerate(zip(self._elements, self.system.components, strict=True)):
            rates = [
                (own.reshape(count, *components.shape, -1) * factor[components][:, None]).reshape(own.shape)
                for own, factor in ((cells.v[k], factors[0]), (cells.vdot[k], factors[1]))
                if own is not None
            ]
            moved = rates and follow.after(sum(rates), *self._places(own.one, count))
            blocks.append(total(cells.q[k], *([moved] if rates else [])))
        for k, (own, components) in enumerate(zip(self._joints, self.system.gradient_components, strict=True)):
            rate = cells.closing_v[k] * np.tile(factors[0][components], (count, 1))
            rows.append(cells.closing[k] + follow.after(rate[:, None], *self._equations_of(own.one, count))[:, 0])
        parts = [*blocks, *cells.bending, *rows, *cells.B, *cells.readings]
        return np.concatenate([own.reshape(count, -1) for own in parts], axis=1)

    def _equations_of(self, batch: Any, count: int) -> tuple[IntArray, IntArray | None]:
        """Rows of nodes and of internal variables of each equation of a batch of joints, of all instants."""
        nodes, own = self._places(batch, count)
        cell = (batch.cell + len(batch.nodes) * np.arange(count)[:, None]).ravel()
        return nodes[cell], None if own is None else own[cell]

    def _rates(self, name: str, cells: list[Any], rows: list[Array], places: list[Any], count: int) -> Any:
        """The matrix against a rate, of the batches that have one; None if none has."""
        own = tuple(k for k, each in enumerate(cells) if each is not None)
        if not own and not places:
            return None
        if (name, own) not in self._of_rates:
            places = [*(self._of_forces[k] for k in own), *places]
            self._of_rates[name, own] = Pattern(places, self.rows, self.system.N)
        return self._of_rates[name, own]([*(cells[k] for k in own), *rows], count)

    def _places(self, batch: Any, count: int) -> tuple[IntArray, IntArray | None]:
        """Rows of nodes and of internal variables, of all instants."""

        def again(rows: IntArray, size: int) -> IntArray:
            return np.concatenate([rows + size * k for k in range(count)])

        return again(batch.nodes, self.sizes[0]), None if batch.own is None else again(batch.own, self.sizes[1])


def _scaled(share: float, own: Any) -> Any:
    return None if own is None else share * own


def of_elements(batch: Any, motion: Motion, prescribed: Any, _: Array) -> list[Array | None]:
    """Stiffness, damping, its share of inertia, mass, and derivatives against multipliers that are read."""
    context = batch.force(motion, prescribed)[1]
    matrices = batch.stiffness(context), batch.damping(context), batch.gyroscopic(context), batch.mass(context)
    return [*matrices, None if batch.reads is None else batch.by_multipliers(context)]


def of_joints(batch: Any, motion: Motion, prescribed: Any, multipliers: Array) -> list[Array | None]:
    """``B``, the geometric stiffness, and the derivative of ``B V + Phi_t`` at constant body velocities."""
    motion = motion.momentum or motion
    _, B, context = batch.evaluate(motion, prescribed)
    V = motion.V[batch.nodes].reshape(len(batch.nodes), -1)
    if batch.own is not None:
        V = np.concatenate([V, motion.udot[batch.own]], axis=1)
    return [B, batch.stiffness(context, multipliers), rate_gradient_of(batch, context, V)]


class Pattern:
    """Places of the entries ``(n, r, c)`` of cells with rows ``(n, r)`` and columns ``(n, c)``; a row more is none."""

    def __init__(self, places: Iterable[tuple[IntArray, IntArray]], rows: int, columns: int) -> None:
        self.shape = rows, columns
        flat = [(own[:, :, None] * columns + others[:, None, :]).ravel() for own, others in places]
        self._slots = np.concatenate([np.empty(0, np.intp), *flat])
        self._size, self._all = (rows + 1) * columns, dict[int, IntArray]()
        self._full = rows * columns <= DENSE
        if not self._full:
            entries, self._slots = np.unique(self._slots, return_inverse=True)
            self._columns, self._size = entries % columns, len(entries)
            self._starts = np.searchsorted(entries, np.arange(rows + 1) * columns)

    def __call__(self, values: Sequence[Array], count: int) -> Any:
        """The matrices of ``count`` steps: an array, or a list of sparse ones."""
        if count not in self._all:
            self._all[count] = (self._slots + self._size * np.arange(count)[:, None]).ravel()
        every = np.concatenate([np.empty((count, 0)), *(own.reshape(count, -1) for own in values)], axis=1)
        sums = np.bincount(self._all[count], every.ravel(), count * self._size).reshape(count, -1)
        rows, columns = self.shape
        if self._full:
            return sums.reshape(count, rows + 1, columns)[:, :rows]
        kept = self._starts[-1]
        own, starts = self._columns[:kept], self._starts
        return [csr_array((data[:kept], own, starts), self.shape) for data in sums]
