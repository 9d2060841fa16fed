"""The frozen model as arrays: batches, residual and iteration matrix."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array

from fem_mbs.arrays import Array
from fem_mbs.errors import ModelError
from fem_mbs.model import Constraint, ConstraintBatch, ElementBatch, Energy, Model, Motion, Node, extent, instance
from fem_mbs.system.kinematics import Kinematics
from fem_mbs.system.linear import Solve, make_solver, sums
from fem_mbs.system.numbering import ConstraintRows, free_components, number_constraints, triplets
from fem_mbs.system.stabilized import StabilizedMatrix

_EMPTY = np.empty(0)
_TINY = float(np.finfo(float).tiny)
_HUGE = 2.0**60


class Evaluation(NamedTuple):
    """The equations at one motion: what Newton tests and what the iteration matrix is built from."""

    force: Array
    """Residual ``M vdot + g + B^T lambda`` in body components, all nodes, ``(6 n,)``."""
    constraint: Array
    """``Phi``, ``(m,)``."""
    scale: Array
    """Largest single force and largest single moment that went into ``force``, ``(2,)``."""
    contexts: list[Any]
    gradients: list[Array]
    constraint_contexts: list[Any]
    multipliers: Array


class Prescribed(NamedTuple):
    """What depends on time alone, evaluated once a step."""

    elements: list[Any]
    constraints: list[Any]


class System:
    """A model frozen for computing; nothing here changes after it is built.

    Parameters
    ----------
    model : Model
        Its nodes, elements and constraints as they are now.

    Attributes
    ----------
    n, m : int
        Numbers of nodes and of constraint equations.
    free : (n, 6)
        True for body components that may move.
    equation : (6 n,)
        Equation number of each body component, -1 where it is fixed.
    size : int
        Number of equations, ``m`` constraint equations last.
    velocities : (n, 6)
        Initial velocities as the user gave them: world frame, angular ones in the body frame.
    constraint_owner : list of (Constraint, str)
        The constraint each constraint equation belongs to, and the name of the equation.
    length : float
        Extent of the model, the unit in which small lengths are judged.
    increment_weight : (6,)
        Factors that make lengths and angles of increments comparable.
    constraint_weight : (m,)
        Factors that make constraint equations of different units comparable: those in units of length are divided by
        ``length``.
    """

    def __init__(self, model: Model) -> None:
        instance(model, Model, "System: model")
        self.nodes: list[Node] = list(model.nodes)
        self.gravity = model.gravity.copy()
        self.n = len(self.nodes)
        self._row = {node: row for row, node in enumerate(self.nodes)}
        self.kinematics = Kinematics([node.group for node in self.nodes])
        self.x0 = np.array([node.position for node in self.nodes])
        self.R0 = np.array([node.rotation for node in self.nodes])
        self.velocities = np.array([[*node.velocity, *node.angular_velocity] for node in self.nodes])
        self.length = extent(self.nodes) or 1.0
        self.increment_weight = np.repeat([1.0 / self.length, 1.0], 3)
        self.free = free_components(self.nodes)
        self.n_free = int(self.free.sum())
        self.equation = np.where(self.free.ravel(), np.cumsum(self.free.ravel()) - 1, -1)
        self._free_weight = self.free.ravel().astype(float)
        self._free_rows = np.flatnonzero(self.free.ravel())
        self.batches: list[ElementBatch] = [type(group[0]).batch(group, self.row) for group in _grouped(model.elements)]
        self.constraint_batches: list[ConstraintBatch] = [
            type(group[0]).batch(group, self.row) for group in _grouped(model.constraints)
        ]
        self.elements = list(model.elements)
        numbers = number_constraints(self.constraint_batches)
        self.m = numbers.m
        self.size = self.n_free + self.m
        self.constraint_owner = numbers.owner
        self.constraint_weight = np.where(numbers.length, 1.0 / self.length, 1.0)
        self._constraint_slices, self._constraint_rows = numbers.slices, numbers.rows
        self._pattern = triplets(self.batches, self.constraint_batches, self.equation, self.n_free)
        self._force_slots, self.force_entries = self._pattern.force_slots, self._pattern.force_entries
        self.solver = make_solver(self._pattern.rows, self._pattern.columns, self.size)

    @cached_property
    def stabilized(self) -> StabilizedMatrix:
        """Pattern and solver of the stabilised index-2 equations."""
        return StabilizedMatrix(self._pattern, self.n_free, self.m)

    def row(self, node: Node) -> int:
        """Row of a node in the arrays of a state."""
        try:
            return self._row[node]
        except KeyError:
            raise ModelError(f"{node} is not part of this model") from None

    def motion(self, t: float, x: Array, R: Array, v: Array, vdot: Array) -> Motion:
        """What elements see of a state."""
        return Motion(t, x, R, *self.kinematics.motion(R, v, vdot), self.gravity)

    def prescribe(self, t: float, factor: float = 1.0) -> Prescribed:
        """Loads and drives at time ``t``, with constant loads multiplied by ``factor``."""
        elements = [b.at(t) for b in self.batches]
        if factor != 1.0:
            elements = [b.scaled(data, factor) for b, data in zip(self.batches, elements, strict=True)]
        return Prescribed(elements, [b.at(t) for b in self.constraint_batches])

    def evaluate(self, motion: Motion, multipliers: Array, prescribed: Prescribed) -> Evaluation:
        """Residual and constraints of a motion."""
        forces, contexts = [], []
        for batch, data in zip(self.batches, prescribed.elements, strict=True):
            own, context = batch.force(motion, data)
            forces.append(own.ravel())
            contexts.append(context)
        constraints, gradients, constraint_contexts = [], [], []
        for constraint_batch, data, rows in zip(
            self.constraint_batches, prescribed.constraints, self._constraint_slices, strict=True
        ):
            phi, gradient, context = constraint_batch.evaluate(motion, data)
            forces.append((multipliers[rows, None] * gradient).ravel())
            constraints.append(phi)
            gradients.append(gradient)
            constraint_contexts.append(context)
        flat = np.concatenate([_EMPTY, *forces])
        force = sums(self._force_slots, flat, 6 * self.n)
        constraint = np.concatenate([_EMPTY, *constraints])
        return Evaluation(force, constraint, _largest(flat), contexts, gradients, constraint_contexts, multipliers)

    def residual(self, evaluation: Evaluation, force_factor: float) -> Array:
        """Right-hand side ``(force_factor r, Phi)`` of the free equations."""
        return np.concatenate([force_factor * self.free_part(evaluation.force), evaluation.constraint])

    def free_part(self, force: Array) -> Array:
        """The free ones ``(n_free,)`` of body components ``(6 n,)``."""
        return force[self._free_rows]

    def relative_residual(self, evaluation: Evaluation) -> tuple[float, float]:
        """Largest residual force or moment against the largest that made it up, and largest constraint violation.

        Constraint equations with the unit of length are divided by the extent of the model.
        """
        force = np.abs(evaluation.force * self._free_weight).reshape(-1, 2, 3) / (evaluation.scale + _TINY)[:, None]
        constraint = np.abs(evaluation.constraint * self.constraint_weight).max(initial=0.0)
        return float(force.max()), float(constraint)

    def entries(self, evaluation: Evaluation, dV: Array, dA: Array, force_factor: float) -> Array:
        """Entries of ``[[force_factor (K + C dV + M dA), B^T], [B, 0]]``, those of the forces first.

        ``dV``, ``dA`` (n, 6, 6) are the derivatives of body velocities and accelerations against body increments.
        """
        blocks: list[Array] = [
            batch.tangent(context, dV, dA).ravel()
            for batch, context in zip(self.batches, evaluation.contexts, strict=True)
        ]
        for constraint_batch, context, rows in zip(
            self.constraint_batches, evaluation.constraint_contexts, self._constraint_slices, strict=True
        ):
            blocks.append(constraint_batch.stiffness(context, evaluation.multipliers[rows]).ravel())
        return self._entries(blocks, evaluation.gradients, force_factor)

    def inertia_entries(self, evaluation: Evaluation, dA: Array, force_factor: float = 1.0) -> Array:
        """Entries of ``[[force_factor M dA, B^T], [B, 0]]``."""
        none = np.zeros((self.n, 6, 6))
        # K + M dA with a power of two so large that the rounding of K does not reach M
        huge = _HUGE * dA
        blocks = [
            (batch.tangent(context, none, huge) - batch.tangent(context, none, none)).ravel() / _HUGE
            for batch, context in zip(self.batches, evaluation.contexts, strict=True)
        ]
        blocks.extend(np.zeros(36 * b.nodes.size * b.nodes.shape[1]) for b in self.constraint_batches)
        return self._entries(blocks, evaluation.gradients, force_factor)

    def inertia_force(self, motion: Motion, prescribed: Prescribed, d: Array) -> Array:
        """``M d`` in body components ``(6 n,)`` of a body increment ``(n, 6)``."""
        rest = Motion(motion.t, motion.x, motion.R, np.zeros_like(d), _HUGE * d, np.zeros(3))
        forces = [
            batch.force(rest, data)[0].ravel() for batch, data in zip(self.batches, prescribed.elements, strict=True)
        ]
        flat = np.concatenate([_EMPTY, *forces])
        return sums(self._force_slots[: len(flat)], flat, 6 * self.n) / _HUGE

    def _entries(self, blocks: list[Array], gradients: list[Array], force_factor: float = 1.0) -> Array:
        flat = [gradient.ravel() for gradient in gradients]
        values = np.concatenate([_EMPTY, *blocks, *flat, *flat])
        values[: self.force_entries] *= force_factor
        return values

    def assemble(self, entries: Array) -> Array:
        """Stored values of the matrix with these entries."""
        return sums(self.solver.slots, entries, self.solver.storage + 1)[:-1]

    def iteration_matrix(self, evaluation: Evaluation, dV: Array, dA: Array, force_factor: float) -> Array:
        """Stored values of the matrix of :meth:`entries`."""
        return self.assemble(self.entries(evaluation, dV, dA, force_factor))

    def mass_matrix(self, evaluation: Evaluation) -> Array:
        """Stored values of ``[[M, B^T], [B, 0]]`` in body components."""
        return self.assemble(self.inertia_entries(evaluation, np.tile(np.eye(6), (self.n, 1, 1))))

    def factor(self, values: Array) -> Solve:
        """Factor a matrix of stored values."""
        return self.solver.factor(values)

    def increments(self, solution: Array) -> tuple[Array, Array]:
        """Split a solution into body increments ``(n, 6)``, zero where fixed, and multipliers ``(m,)``."""
        increments = np.zeros(6 * self.n)
        increments[self._free_rows] = solution[: self.n_free]
        return increments.reshape(self.n, 6), solution[self.n_free :]

    def gradient_product(self, evaluation: Evaluation, V: Array) -> Array:
        """``B V`` (m,) of body velocities ``(n, 6)``."""
        parts: list[Array] = [
            np.vecdot(gradient, V[batch.nodes].reshape(len(batch.nodes), -1)[batch.cell])
            for batch, gradient in zip(self.constraint_batches, evaluation.gradients, strict=True)
        ]
        return np.concatenate([_EMPTY, *parts])

    def gradient_transpose_product(self, evaluation: Evaluation, multipliers: Array) -> Array:
        """``B^T multipliers`` in body components ``(n, 6)``, zero where fixed."""
        forces = [
            (multipliers[rows, None] * gradient).ravel()
            for gradient, rows in zip(evaluation.gradients, self._constraint_slices, strict=True)
        ]
        flat = np.concatenate([_EMPTY, *forces])
        slots = self._force_slots[len(self._force_slots) - len(flat) :]
        force: Array = sums(slots, flat, 6 * self.n) * self._free_weight
        return force.reshape(self.n, 6)

    def gradients_times(self, gradients: list[Array], blocks: Array) -> list[Array]:
        """Gradients of all batches times a block diagonal matrix of the nodes, ``blocks`` (n, 6, 6)."""
        return [
            (gradient.reshape(len(batch.cell), -1, 1, 6) @ blocks[batch.nodes][batch.cell]).reshape(gradient.shape)
            for batch, gradient in zip(self.constraint_batches, gradients, strict=True)
        ]

    def gradient_matrix(self, gradients: list[Array]) -> csc_array:
        """Sparse matrix ``(m, n_free)`` of gradients of all batches."""
        stored = self.assemble(self._entries([np.zeros(self.force_entries)], gradients))
        return csc_array(self.solver.matrix(stored)[self.n_free :, : self.n_free])

    def rate_gradients(self, evaluation: Evaluation, motion: Motion) -> list[Array]:
        """Derivatives of ``B V + Phi_t`` at constant body velocities, as gradients of all batches."""
        pairs = zip(self.constraint_batches, evaluation.constraint_contexts, strict=True)
        return [batch.rate_gradient(context, motion) for batch, context in pairs]

    def constraint_rate(self, evaluation: Evaluation, motion: Motion) -> Array:
        """Hidden constraint on velocity level, ``B V + Phi_t``, ``(m,)``."""
        pairs = zip(self.constraint_batches, evaluation.constraint_contexts, strict=True)
        rates = [batch.rate(context) for batch, context in pairs]
        return np.concatenate([_EMPTY, *rates]) + self.gradient_product(evaluation, motion.V)

    def constraint_acceleration(self, evaluation: Evaluation, motion: Motion) -> Array:
        """Second time derivative of ``Phi`` for vanishing body accelerations ``A``, ``(m,)``."""
        Vdot = np.zeros((self.n, 6))
        Vdot[:, :3] = -np.cross(motion.V[:, 3:], motion.V[:, :3])
        pairs = zip(self.constraint_batches, evaluation.constraint_contexts, strict=True)
        curvatures = [batch.curvature(context, motion) for batch, context in pairs]
        return np.concatenate([_EMPTY, *curvatures]) + self.gradient_product(evaluation, Vdot)

    def energy(self, motion: Motion) -> Energy:
        """Energies of all elements in J."""
        energies = [batch.energy(motion) for batch in self.batches]
        return Energy(*(float(sum(part)) for part in zip(*energies, strict=True))) if energies else Energy()

    def constraint_rows(self, constraint: Constraint) -> ConstraintRows:
        """Where the equations of a constraint stand."""
        try:
            return self._constraint_rows[constraint]
        except KeyError:
            raise ModelError(f"{constraint} is not part of this model") from None


def _largest(values: Array) -> Array:
    """Largest absolute force and moment ``(2,)`` of values that come in sixes."""
    largest: Array = np.abs(values).reshape(-1, 6).max(axis=0, initial=0.0).reshape(2, 3).max(axis=1)
    return largest


def _grouped(parts: Iterable[Any]) -> list[list[Any]]:
    groups: dict[Hashable, list[Any]] = {}
    for part in parts:
        groups.setdefault((type(part).batch.__func__, part.batch_key()), []).append(part)
    return list(groups.values())
