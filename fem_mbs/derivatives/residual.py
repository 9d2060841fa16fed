"""Derivatives of the equations at a motion against how bodies move.

``r = M vdot + g + B^T lambda``, ``Phi`` and ``h (B v + Phi_t)`` follow the configuration, the group rates, what the
default formulation moves beside them (``Z``, see ``alpha/stabilized.py``), and the multipliers. The matrices of all
batches are summed; :meth:`ResidualDerivative.times` and :meth:`ResidualDerivative.transposed` are their products with
many columns at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from fem_mbs.alpha.step import StepEquations, StepResidual, Unknowns
from fem_mbs.arrays import Array, IntArray
from fem_mbs.system import matrices as tangent
from fem_mbs.system.system import System

DENSE = 40_000
"""Entries up to which matrices are full."""


class Rows(NamedTuple):
    """Values of the equations: forces ``(N, P)``, ``Phi`` or ``h (B v - b)`` (m, P), and ``h (B v + Phi_t)`` (m, P)."""

    force: Array
    closing: Array
    hidden: Array

    def plus(self, other: Rows) -> Rows:
        """The sum of both."""
        return Rows(*(a + b for a, b in zip(self, other, strict=True)))


class Inputs(NamedTuple):
    """What the equations follow."""

    q: Array
    """Body increments of the nodes, then internal variables, ``(N, P)``."""
    v: Array
    """Velocities of the group, then rates of internal variables, ``(N, P)``."""
    vdot: Array
    Z: Array
    """In the coordinates of a step, ``(N, P)``."""
    multipliers: Array
    """``(m, P)``."""


class CellSums:
    """Sums the matrices of cells: where their entries stand is found once."""

    def __init__(self, system: System) -> None:
        N, m = system.N, system.m
        self._elements = [(rows, rows) for rows in system.components]
        self._square: dict[tuple[int, ...], _Pattern] = {}
        bending = [(rows, rows) for rows in system.bending_components]
        self._whole = _Pattern([*self._elements, *bending], (N, N))
        equations = [np.arange(m)[rows, None] for rows in system.constraint_slices]
        self.gradients = _Pattern(zip(equations, system.gradient_components, strict=True), (m, N))
        self.readings = _Pattern([(system.components[k], reads) for k, reads in system.reads], (N, m))
        self._size = N, N

    def stiffness(self, elements: Sequence[Array], bending: Sequence[Array]) -> Any:
        """``K`` (N, N)."""
        return self._whole([*elements, *bending])

    def of_elements(self, cells: Sequence[Array | None]) -> Any:
        """``C`` or ``M`` (N, N) of the batches that have one."""
        own = tuple(k for k, each in enumerate(cells) if each is not None)
        if own not in self._square:
            self._square[own] = _Pattern([self._elements[k] for k in own], self._size)
        return self._square[own]([cells[k] for k in own])  # type: ignore[misc]


class _Pattern:
    """Places of the entries ``(n, r, c)`` of cells with rows ``(n, r)`` and columns ``(n, c)``."""

    def __init__(self, places: Iterable[tuple[IntArray, IntArray]], shape: tuple[int, int]) -> None:
        self.shape = shape
        flat = [(rows[:, :, None] * shape[1] + columns[:, None, :]).ravel() for rows, columns in places]
        self._slots = np.concatenate([np.empty(0, np.intp), *flat])
        self._full = shape[0] * shape[1] <= DENSE
        if not self._full:
            entries, self._slots = np.unique(self._slots, return_inverse=True)
            self._columns = entries % shape[1]
            self._starts = np.searchsorted(entries, np.arange(shape[0] + 1) * shape[1])

    def __call__(self, values: Sequence[Array]) -> Any:
        """The matrix, full or in rows."""
        every = np.concatenate([np.empty(0), *(own.ravel() for own in values)])
        if self._full:
            return np.bincount(self._slots, every, self.shape[0] * self.shape[1]).reshape(self.shape)
        data = np.bincount(self._slots, every, len(self._columns))
        return csr_array((data, self._columns, self._starts), self.shape)


class NodeMaps:
    """How body velocities and accelerations of the nodes follow body increments and group rates, ``(n, 6, 6)`` each.

    ``V = P v + turn_V q`` and ``A = P vdot + cross P v + turn_A q``; the velocities of the configuration have
    ``P Z/h + turn_Z q`` beside them.
    """

    def __init__(self, equations: StepEquations, R: Array, body: Array, Z: Array) -> None:
        kinematics, n, h = equations.system.kinematics, len(R), equations.h
        one, none = np.broadcast_to(np.eye(6), (n, 6, 6)), np.zeros((n, 6, 6))
        self.P = np.stack([kinematics.to_body(R, one[:, k].copy()) for k in range(6)], axis=-1)
        self.turn_V, self.turn_A = kinematics.body_derivatives(body, np.stack([none, none]))
        self.cross = kinematics.body_derivatives(body, np.stack([one, none]))[1] - self.turn_A
        beside = kinematics.to_body(R, Z / h)
        still = np.stack([beside, 0.0 * beside])
        self.turn_Z = kinematics.body_derivatives(still, np.stack([none, none]))[0]


class ResidualDerivative:
    """Derivatives of the equations of a step at its solution."""

    def __init__(self, equations: StepEquations, unknown: Unknowns, residual: StepResidual, assembly: CellSums) -> None:
        self.system, self.h = equations.system, equations.h
        system, evaluation = self.system, residual.evaluation
        Z = unknown.Z if len(unknown.Z) else np.zeros(system.N)
        self.maps = NodeMaps(equations, evaluation.motion.R, residual.body, system.nodes_of(Z))
        pairs = list(zip(system.batches, evaluation.contexts, strict=True))
        joints = zip(system.constraint_batches, evaluation.constraint_contexts, system.constraint_slices, strict=True)
        self.K = assembly.stiffness(
            [batch.stiffness(context) for batch, context in pairs],
            [joint.stiffness(context, evaluation.multipliers[rows]) for joint, context, rows in joints],
        )
        self.C = assembly.of_elements([batch.damping(context) for batch, context in pairs])
        self.gyroscopic = assembly.of_elements([batch.gyroscopic(context) for batch, context in pairs])
        self.M = assembly.of_elements([batch.mass(context) for batch, context in pairs])
        self.B = assembly.gradients(evaluation.gradients)
        self.w = assembly.gradients(tangent.velocity_gradients(system, evaluation))
        readings = [system.batches[k].by_multipliers(evaluation.contexts[k]) for k in system.readers]
        self.readings = assembly.readings(readings)

    def times(self, moved: Inputs) -> Rows:
        """Derivatives of the equations along these."""
        maps = self.maps
        q, v, vdot, Z = (self._nodes(part) for part in moved[:4])
        Pv = maps.P @ v
        V = self._all(Pv + maps.turn_V @ q, moved.v)
        A = self._all(maps.P @ vdot + maps.cross @ Pv + maps.turn_A @ q, moved.vdot)
        beside = self._all(maps.P @ Z / self.h + maps.turn_Z @ q, moved.Z / self.h)
        force = self.K @ moved.q + self.C @ (V + beside) - self.gyroscopic @ beside + self.M @ A
        force += self.B.T @ moved.multipliers + self.readings @ moved.multipliers
        hidden = self._hidden(moved.q, V)
        return Rows(force, np.where(self.system.velocity_level[:, None], hidden, self.B @ moved.q), hidden)

    def hidden(self, q: Array, v: Array) -> Array:
        """Derivatives ``(m, P)`` of ``h (B v + Phi_t)`` alone."""
        V = self.maps.P @ self._nodes(v) + self.maps.turn_V @ self._nodes(q)
        return self._hidden(q, self._all(V, v))

    def _hidden(self, q: Array, V: Array) -> Array:
        result: Array = self.h * (self.w @ q + self.B @ V)
        return result

    def transposed(self, rows: Rows) -> Inputs:
        """Products of these rows with the derivatives: what :meth:`times` does, the other way round."""
        system, maps, force = self.system, self.maps, rows.force
        level = system.velocity_level[:, None]
        closing, hidden = np.where(level, 0.0, rows.closing), rows.hidden + np.where(level, rows.closing, 0.0)
        pushed, rate = self.C.T @ force, self.h * (self.B.T @ hidden)
        q = self.K.T @ force + self.B.T @ closing + self.h * (self.w.T @ hidden)
        V, beside, A = pushed + rate, pushed - self.gyroscopic.T @ force, self.M.T @ force
        multipliers = self.B @ force + self.readings.T @ force
        nodes_V, nodes_A, nodes_Z = self._nodes(V), self._nodes(A), self._nodes(beside)
        turned = maps.turn_V.mT @ nodes_V + maps.turn_A.mT @ nodes_A + maps.turn_Z.mT @ nodes_Z
        q[: 6 * system.n] += turned.reshape(-1, q.shape[1])
        v = self._all(maps.P.mT @ (nodes_V + maps.cross.mT @ nodes_A), V)
        return Inputs(
            q, v, self._all(maps.P.mT @ nodes_A, A), self._all(maps.P.mT @ nodes_Z, beside) / self.h, multipliers
        )

    def _nodes(self, values: Array) -> Array:
        return values[: 6 * self.system.n].reshape(self.system.n, 6, -1)

    def _all(self, nodes: Array, own: Array) -> Array:
        return np.concatenate([nodes.reshape(-1, nodes.shape[-1]), own[6 * self.system.n :]])
