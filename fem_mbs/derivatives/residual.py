"""Derivatives of the equations of steps at motions that are held, against how bodies move.

``r = M vdot + g + B^T lambda``, ``Phi`` and ``h (B v + Phi_t)`` follow the configuration, the group rates, what the
default formulation moves beside them (``Z``, see ``alpha/stabilized.py``), and the multipliers. Of the body,

    V = P v + of_V q,    A = P vdot + cross P v + of_A q,

and the velocities of the configuration, by which all forces but those of inertia go, have ``P Z/h + of_Z q`` beside
them. Rows are those of a step: ``h^2 r`` of free components, ``Phi``, and ``(B v + Phi_t)/gamma'`` where it is imposed.

Batches are asked of several instants together: of ``s`` instants, they are ``s`` copies of one
(``solution/copies.py``). Arrays of instants go one instant after the other, ``(s n, ...)`` for nodes.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.contracts import Motion, RateSensitivities
from fem_mbs.solution.copies import BatchCopies
from fem_mbs.system.matrices import given_rate_gradient, whole
from fem_mbs.system.system import System

LEANS, PROBE = 1e-12, 1e-3
"""What may depend on internal variables of kind "history", and by how much of their size these are moved to see it."""


class Instants(NamedTuple):
    """Where steps have ended, or been tried to: ``s`` of them, of one length."""

    motion: Motion
    """Nodes and variables one instant after the other."""
    times: Array
    """``(s,)``."""
    multipliers: Array
    """``(s, m)``."""
    h: float
    gamma_prime: float
    """``gamma'``."""
    P: Array
    """How nodes move with group rates and increments, ``(s n, 6, 6)`` each."""
    of_V: Array  # noqa: N815
    of_A: Array  # noqa: N815
    cross: Array
    of_Z: Array | None  # noqa: N815


class ByMotion(NamedTuple):
    """Rows ``(c, r)`` that follow components ``(c, b)`` of the motion, at ``s`` instants, by ``(s c, r, b)`` each."""

    rows: IntArray
    components: IntArray
    nodes: IntArray
    """Of all instants, ``(s c, p)``."""
    own: IntArray | None
    q: Any
    """Against body increments and internal variables; None where there is nothing, as of the others."""
    v: Any = None
    vdot: Any = None
    Z: Any = None

    def of_rates(self, factors: Array) -> Any:
        """Against an increment that velocities and accelerations follow by ``factors`` (2, N)."""
        terms = zip((self.v, self.vdot), factors[:, self.components], strict=True)
        return total(*(_scaled(own, factor) for own, factor in terms if own is not None))

    def after(self, matrix: Any, nodes: Array, own: Array) -> Any:
        """A matrix of these rows, or None, times ``nodes`` (s n, 6, 6) and ``own`` (s k,)."""
        return None if matrix is None else RateSensitivities(nodes, own).after(matrix, self.nodes, self.own)


class ByMultipliers(NamedTuple):
    """Rows ``(c, r)`` that follow multipliers ``(c, b)``."""

    rows: IntArray
    equations: IntArray
    values: Array


def _scaled(matrix: Array, factor: Array) -> Array:
    """Columns of cells, ``(s c, r, b)``, times ``factor`` (c, b)."""
    cells = matrix.reshape(-1, *factor.shape[:1], *matrix.shape[1:]) * factor[:, None]
    return cells.reshape(matrix.shape)


def total(*terms: Any) -> Any:
    """The sum of those that are not None; None if none is."""
    given = [term for term in terms if term is not None]
    return reduce(operator.add, given) if given else None


class Residual:
    """The equations of a system whose derivatives are asked for at motions of several instants."""

    def __init__(self, system: System, closes_velocities: bool) -> None:
        self.system, self._hides = system, closes_velocities
        n, m = system.n_free, system.m
        self.rows = n + m + (m if closes_velocities else 0)
        """How many there are; one more is none."""
        sizes = system.n, system.k, m

        def together(batches: Sequence[Any]) -> list[BatchCopies]:
            groups = ((batch, list(dict.fromkeys(batch.owners))) for batch in batches)
            return [BatchCopies(batch, parts, system.number, sizes) for batch, parts in groups]

        self._elements = together(system.batches)
        self._joints = together(system.constraint_batches)
        rows = np.where(system.equation >= 0, system.equation, self.rows)
        self._of_forces = [rows[own] for own in system.components]
        self._of_bending = [rows[own] for own in system.constraint_components]
        self._equations = [np.arange(m)[own, None] for own in system.constraint_slices]
        self._closing = [n + own for own in self._equations]
        self._hidden = [n + m + own for own in self._equations]
        self._pushed = [rows[own] for own in system.gradient_components]

    def depends_on_history(self, motion: Motion, times: Array) -> BoolArray:
        """Which internal variables ``(k,)`` of kind "history" forces depend on: of counted turns nothing does."""
        system, none = self.system, np.empty((len(times), 0))
        history, result = system.order < 0, np.zeros(system.k, np.bool_)
        probe = np.where(history, PROBE / system.weight[6 * system.n :], 0.0)
        moved = replace(motion, u=motion.u + np.tile(probe, len(times)))
        for batch in self._elements:
            own = batch.one.own
            if own is not None and history[own].any():
                (here,), (there,) = (batch.ask(of_force, each, times, none) for each in (motion, moved))
                assert here is not None and there is not None
                result[own] |= np.abs(there - here).max(initial=0.0) > LEANS * np.abs(here).max(initial=0.0)
        return result & history

    def derivatives(self, at: Instants) -> tuple[list[ByMotion], list[ByMultipliers]]:
        """What all elements and joints add."""
        follows: list[ByMotion] = []
        pushes: list[ByMultipliers] = []
        for k in range(len(self._elements)):
            self._add_elements(k, at, follows, pushes)
        for k in range(len(self._joints)):
            self._add_joints(k, at, follows, pushes)
        return follows, pushes

    def _add_elements(self, k: int, at: Instants, follows: list[ByMotion], pushes: list[ByMultipliers]) -> None:
        system, squared, batch = self.system, at.h**2, self._elements[k]
        K, C, G, M, readings = batch.ask(of_elements, at.motion, at.times, at.multipliers[:, :0])
        nodes, own = self._places_of(batch.one, len(at.times), joint=False)

        def product(factor: float, *terms: tuple[Array | None, Array | None, float], alone: Any = None) -> Any:
            """A factor times the sum of matrices times derivatives of their rates."""
            shares = [(matrix, rate, np.full(len(at.times) * system.k, u)) for matrix, rate, u in terms]
            products = (
                RateSensitivities(rate, u).after(matrix, nodes, own)
                for matrix, rate, u in shares
                if matrix is not None and rate is not None
            )
            result = total(alone, *products)
            return None if result is None else factor * result

        # G stands for inertia, which does not follow what is moved beside
        P, rest = at.P, total(C, None if G is None else -G)
        q = product(squared, (C, at.of_V, 0.0), (rest, at.of_Z, 0.0), (M, at.of_A, 0.0), alone=K)
        v, vdot = product(squared, (C, P, 1.0), (M, at.cross @ P, 0.0)), product(squared, (M, P, 1.0))
        Z = product(at.h, (rest, P, 1.0)) if self._hides else None
        follows.append(ByMotion(self._of_forces[k], system.components[k], nodes, own, q, v, vdot, Z))
        if readings is not None:
            reads = next(reads for number, reads in system.reads if number == k)
            pushes.append(ByMultipliers(self._of_forces[k], reads, squared * readings))

    def _add_joints(self, k: int, at: Instants, follows: list[ByMotion], pushes: list[ByMultipliers]) -> None:
        system, steps, batch, rows = self.system, len(at.times), self._joints[k], self.system.constraint_slices[k]
        B, K, w = batch.ask(of_joints, at.motion, at.times, at.multipliers[:, rows])
        assert B is not None and K is not None and w is not None
        places = self._places_of(batch.one, steps, joint=True)
        turned = RateSensitivities(at.of_V, np.zeros(steps * system.k)).after(B[:, None], *places) + w[:, None]
        moving = RateSensitivities(at.P, np.ones(steps * system.k)).after(B[:, None], *places)
        level, components = np.tile(system.velocity_level[rows], steps)[:, None, None], system.gradient_components[k]
        closing: list[Any] = [B[:, None], None]
        if level.any():
            closing = [np.where(level, at.h * turned, B[:, None]), np.where(level, at.h * moving, 0.0)]
        nodes, own = self._places_of(batch.one, steps, joint=False)
        bending = at.h**2 * whole(batch.one, K, steps)
        follows.append(ByMotion(self._of_bending[k], system.constraint_components[k], nodes, own, bending))
        follows.append(ByMotion(self._closing[k], components, *places, *closing))
        if self._hides:
            hidden = (np.where(level, 0.0, own / at.gamma_prime) for own in (turned, moving))
            follows.append(ByMotion(self._hidden[k], components, *places, *hidden))
        pushes.append(ByMultipliers(self._pushed[k], self._equations[k], at.h**2 * B[..., None]))

    def _places_of(self, batch: Any, count: int, *, joint: bool) -> tuple[IntArray, IntArray | None]:
        """Rows of nodes and of internal variables of each cell, or each equation of a joint, at all instants."""
        cells, further = batch.cell if joint else slice(None), np.arange(count)[:, None, None]

        def again(rows: IntArray, size: int) -> IntArray:
            return np.concatenate(rows[cells] + size * further)

        return again(batch.nodes, self.system.n), None if batch.own is None else again(batch.own, self.system.k)


def of_force(batch: Any, motion: Motion, prescribed: Any, _: Array) -> list[Array]:
    """Forces of cells, or of their terms, in rows."""
    force = batch.force(motion, prescribed)[0]
    return [force.reshape(len(force), -1)]


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
    gradient = batch.rate_gradient(context, V) + given_rate_gradient(batch, context)
    return [B, batch.stiffness(context, multipliers), gradient]
