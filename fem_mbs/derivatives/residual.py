"""Derivatives of the equations at a motion against how bodies move.

``r = M vdot + g + B^T lambda``, ``Phi`` and ``h (B v + Phi_t)`` follow the configuration, the group rates, what the
default formulation moves beside them (``Z``, see ``alpha/stabilized.py``), and the multipliers. The matrices of all
batches are summed; :meth:`ResidualDerivative.times` are their products with many columns at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from fem_mbs.alpha.step import StepEquations, StepResidual, Unknowns
from fem_mbs.arrays import Array, IntArray
from fem_mbs.derivatives.linear import Diagonal, NodeMaps, total
from fem_mbs.system import matrices as tangent
from fem_mbs.system.system import System

DENSE = 40_000
"""Entries up to which matrices are full."""


class EquationDerivatives(NamedTuple):
    """Values of the equations, or what is multiplied with their derivatives."""

    force: Any
    """``(N, P)``."""
    closing: Any
    """``Phi``, or ``h (B v - b)`` of equations of velocities, ``(m, P)``."""
    hidden: Any
    """``h (B v + Phi_t)`` (m, P)."""


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
        """``C`` or ``M`` (N, N) of the batches that have one; None if none has."""
        own = tuple(k for k, each in enumerate(cells) if each is not None)
        if not own:
            return None
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


class ResidualDerivative:
    """Derivatives of the equations of a step at its solution.

    Of the body, ``V = P v + turn_V q`` and ``A = P vdot + cross P v + turn_A q``; the velocities of the configuration
    have ``P Z/h + turn_Z q`` beside them.
    """

    def __init__(self, equations: StepEquations, unknown: Unknowns, residual: StepResidual, assembly: CellSums) -> None:
        self.system, self.h = equations.system, equations.h
        system, evaluation, kinematics = self.system, residual.evaluation, self.system.kinematics
        n, R, body = system.n, evaluation.motion.R, residual.body
        one, none = np.broadcast_to(np.eye(6), (n, 6, 6)), np.zeros((n, 6, 6))
        self.P = NodeMaps(kinematics.body_transfer(none[:, :3, :3] + np.eye(3), R), 1.0)
        turn_V, turn_A = kinematics.body_derivatives(body, np.stack([none, none]))
        cross = kinematics.body_derivatives(body, np.stack([one, none]))[1] - turn_A
        self.turn_V, self.turn_A, self.cross = NodeMaps(turn_V), NodeMaps(turn_A), NodeMaps(cross)
        self.turn_Z: NodeMaps | None = None
        if unknown.Z.any():
            beside = kinematics.to_body(R, system.nodes_of(unknown.Z) / self.h)
            still = np.stack([beside, 0.0 * beside])
            self.turn_Z = NodeMaps(kinematics.body_derivatives(still, np.stack([none, none]))[0])
        pairs = list(zip(system.batches, evaluation.contexts, strict=True))
        joints = zip(system.constraint_batches, evaluation.constraint_contexts, system.constraint_slices, strict=True)
        self.K = assembly.stiffness(
            [batch.stiffness(context) for batch, context in pairs],
            [joint.stiffness(context, evaluation.multipliers[rows]) for joint, context, rows in joints],
        )
        self.C = assembly.of_elements([batch.damping(context) for batch, context in pairs])
        self.of_momentum = assembly.of_elements([batch.gyroscopic(context) for batch, context in pairs])
        self.M = assembly.of_elements([batch.mass(context) for batch, context in pairs])
        self.B = assembly.gradients(evaluation.gradients)
        self.w = assembly.gradients(tangent.velocity_gradients(system, evaluation))
        readings = [system.batches[k].by_multipliers(evaluation.contexts[k]) for k in system.readers]
        self.pushed = self.B.T + assembly.readings(readings) if readings else self.B.T

    def times(self, q: Any, v: Any, vdot: Any, Z: Any = None, multipliers: Any = None) -> EquationDerivatives:  # noqa: N803
        """Derivatives of the equations along body increments and internal variables, group rates, ``Z``, multipliers.

        Each is an array, or a :class:`~fem_mbs.derivatives.linear.Column`; ``Z`` in the coordinates of a step.
        """
        Pv = self.P @ v
        V = Pv + self.turn_V @ q
        A = self.P @ vdot + self.cross @ Pv + self.turn_A @ q
        beside = None if Z is None else (1.0 / self.h) * (self.P @ Z)
        if self.turn_Z is not None:
            beside = total(beside, self.turn_Z @ q)
        force = total(
            self.K @ q,
            self.C is not None and self.C @ total(V, beside),
            self.M is not None and self.M @ A,
            multipliers is not None and self.pushed @ multipliers,
        )
        if beside is not None and self.of_momentum is not None:
            force = force - self.of_momentum @ beside
        hidden = self.h * (self.w @ q + self.B @ V)
        closing, level = self.B @ q, self.system.velocity_level
        if self.system.has_velocity_level:
            closing = Diagonal(~level * 1.0) @ closing + Diagonal(level * 1.0) @ hidden
        return EquationDerivatives(force, closing, hidden)
