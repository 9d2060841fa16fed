"""The frozen model as arrays: its numbers, its batches, and the equations at a motion."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.errors import ModelError
from fem_mbs.model import (
    Constraint,
    ConstraintBatch,
    Element,
    ElementBatch,
    Energy,
    Model,
    Motion,
    Node,
    Numbering,
    Part,
    checked,
    consecutive,
    idle_rotations,
    look_up,
    of_kind,
)
from fem_mbs.system import sizes
from fem_mbs.system.contract import check_batch, wrong_shapes
from fem_mbs.system.kinematics import Kinematics, make_kinematics
from fem_mbs.system.least_norm import LeastNormSolver, Redundant
from fem_mbs.system.levels import LEVELS, LevelsMatrix
from fem_mbs.system.linear import LinearSolver, make_solver, sums
from fem_mbs.system.origin import origin_and_length
from fem_mbs.system.pattern import (
    ConstraintRows,
    components,
    flat,
    free_components,
    number_constraints,
    triplets,
)
from fem_mbs.system.redundancy import least_norm, refuse_gap
from fem_mbs.system.stabilized import StabilizedMatrix
from fem_mbs.system.state import Source, State

_NONE = np.empty(0)


class Evaluation(NamedTuple):
    """The equations at one motion: what Newton tests and what matrices are built from."""

    motion: Motion
    multipliers: Array
    force: Array
    """Residual ``M vdot + g + B^T lambda`` in body components, then of own unknowns, ``(N,)``."""
    constraint: Array
    """``Phi`` (m,); zero for equations of velocities."""
    scale: tuple[float, float]
    """Largest single force and largest single moment that went into ``force``."""
    own_scale: Array
    """Largest term of the equation of each own unknown, ``(k,)``."""
    relative: float
    """Largest residual of the free components against these."""
    contexts: list[Any]
    gradients: list[Array]
    constraint_contexts: list[Any]
    phi: list[Array]
    """What constraint batches returned: ``Phi``, or ``-b`` of equations of velocities."""


class Prescribed(NamedTuple):
    """What depends on time alone, evaluated once a step."""

    elements: list[Any]
    constraints: list[Any]


@checked
class System:
    """A model frozen for computing; nothing here changes after it is built, but for what :meth:`regularize` says.

    Parameters
    ----------
    model : Model
        Its nodes, elements and constraints as they are now.
    end : float
        Time in s after which functions of time are not asked: they need not exist beyond the end of a run.

    Attributes
    ----------
    n, k, m : int
        Numbers of nodes, of own unknowns and of constraint equations.
    N : int
        Number of components, ``6 n + k``: body increments of the nodes, then own unknowns.
    free : (n, 6)
        True for body components that may move.
    free_rows : (n_free,)
        Components that are unknown: free ones of nodes, and own unknowns but for history.
    equation : (N,)
        Equation number of each component, -1 where it is held.
    size : int
        Number of equations, ``m`` constraint equations last.
    order : (k,)
        Order of the highest time derivative in the equation of each own unknown; -1 for history.
    unknowns : list of (Element or Constraint, Unknown)
        Own unknowns and whom they belong to.
    of_length : (m,)
        True for constraint equations in units of length.
    velocities : (n, 6)
        Initial velocities as the user gave them: world frame, angular ones in the body frame.
    constraint_owner : list of (Constraint, str)
        The constraint each constraint equation belongs to, and the name of the equation.
    origin : (3,)
        The point of the world from which positions count, other than zero where that is far away.
    readers : list of int
        Numbers of the batches of elements that depend on multipliers.
    source : Source
        What tells states of this model from those of others.
    length : float
        Extent of the model, the unit in which small lengths are judged.
    weight : (N,)
        Factors that make increments comparable: lengths are divided by ``length``, own unknowns by their size.
    constraint_weight : (m,)
        Factors that make constraint equations of different units comparable: those in units of length are divided by
        ``length``.
    redundant : Redundant or None
        Constraint equations that repeat each other, once that is known.
    """

    made = None

    def __init__(self, model: Model, end: float = math.inf) -> None:
        self.nodes: list[Node] = list(model.nodes)
        self.elements: list[Element] = list(model.elements)
        self.gravity = model.gravity.copy()
        self.end = end
        self.origin, self.length = origin_and_length(self.nodes, model.constraints)
        self.number = Numbering(self.nodes, [*model.elements, *model.constraints], self.origin, end)
        self.n, self.unknowns = len(self.nodes), self.number.unknowns
        self.k = len(self.unknowns)
        self.N = 6 * self.n + self.k
        self.kinematics = make_kinematics([node.group for node in self.nodes])
        self._stacked: dict[int, Kinematics] = {}
        self._initial_values()
        self._number_components(model)
        self.constraint_batches: list[ConstraintBatch] = [
            type(g[0]).batch(g, self.number) for g in _grouped(model.constraints)
        ]
        numbers = number_constraints(self.constraint_batches)
        self.m, self.constraint_owner = numbers.m, numbers.owner
        self.number.equations = {joint: np.arange(own.rows.start, own.rows.stop) for joint, own in numbers.rows.items()}
        self._make_batches(model)
        self.source = Source(
            tuple(f"{node} on {node.group}" for node in self.nodes),
            tuple(f"'{unknown.name}' of {owner}" for owner, unknown in self.unknowns),
            tuple(f"{equation} of {owner}" for owner, equation in self.constraint_owner),
        )
        self.size = self.n_free + self.m
        self.constraint_weight = np.where(numbers.length, 1.0 / self.length, 1.0)
        self.velocity_level, self.of_length = numbers.velocity, numbers.length
        self.constraint_slices, self._constraint_rows = numbers.slices, numbers.rows
        cells = [*self.components, *self.bending_components]
        reading = [(self.components[k], rows) for k in self.readers if (rows := self.batches[k].reads) is not None]
        self.pattern = triplets(cells, self.gradient_components, reading, self.equation, self.n_free)
        self._blocks = self._number_blocks()
        self.solver: LinearSolver = make_solver(self.pattern.rows, self.pattern.columns, self.size, self._blocks)
        self.redundant: Redundant | None = None

    def _initial_values(self) -> None:
        self.x0 = np.array([node.position for node in self.nodes]) - self.origin
        self.R0 = np.array([node.rotation for node in self.nodes])
        self.velocities = np.array([[*node.velocity, *node.angular_velocity] for node in self.nodes])
        own = [unknown for _, unknown in self.unknowns]
        self.u0, self.udot0 = (np.array([getattr(u, name) for u in own], float) for name in ("initial", "rate"))
        self.order = np.array([u.order for u in own], np.intp)

    def _number_components(self, model: Model) -> None:
        self.free = free_components(self.nodes, idle_rotations(model))
        free = np.append(self.free.ravel(), self.order >= 0)
        self.free_rows = np.flatnonzero(free)
        self._free = consecutive(self.free_rows)
        self.n_free = len(self.free_rows)
        self.equation = np.where(free, np.cumsum(free) - 1, -1)
        sizes = [unknown.size for _, unknown in self.unknowns]
        self.weight = np.append(np.tile(np.repeat([1.0 / self.length, 1.0], 3), self.n), np.reciprocal(sizes))

    def _make_batches(self, model: Model) -> None:
        self.batches: list[ElementBatch] = [type(g[0]).batch(g, self.number) for g in _grouped(model.elements)]
        self._jumping = [batch for batch in self.batches if type(batch).next_jump is not ElementBatch.next_jump]
        self.readers = [k for k, batch in enumerate(self.batches) if batch.reads is not None]
        self.all_batches: list[ElementBatch | ConstraintBatch] = [*self.batches, *self.constraint_batches]
        for batch in self.all_batches:
            check_batch(batch, self.n, self.k, self.m)
        self.components = [components(batch, self.n) for batch in self.batches]
        self.constraint_components = [components(batch, self.n) for batch in self.constraint_batches]
        pairs = zip(self.constraint_components, self.constraint_batches, strict=True)
        self.bending_components = [_bending(rows, batch) for rows, batch in pairs]
        pairs = zip(self.constraint_components, self.constraint_batches, strict=True)
        self.gradient_components = [own[batch.cell] for own, batch in pairs]
        terms = [np.repeat(rows[:, None], b.terms, 1) for rows, b in zip(self.components, self.batches, strict=True)]
        slots = [rows.ravel() for rows in (*terms, *self.gradient_components)]
        self.force_slots = np.concatenate(slots) if slots else np.empty(0, np.intp)
        self._sizes = sizes.Sizes(self)

    def _number_blocks(self) -> IntArray:
        """Numbers of the node, the element or the joint that each equation belongs to."""
        owners = [owner for owner, _ in self.unknowns], [owner for owner, _ in self.constraint_owner]
        numbers = {owner: self.n + k for k, owner in enumerate(dict.fromkeys([*owners[0], *owners[1]]))}
        own = [numbers[owner] for owner in owners[0]]
        blocks = np.append(np.repeat(np.arange(self.n), 6), own).astype(np.intp)[self.free_rows]
        return np.append(blocks, [numbers[owner] for owner in owners[1]]).astype(np.intp)

    @cached_property
    def diagonal_mass(self) -> Array:
        """Diagonal of the mass matrix ``(N,)`` in body components, as built."""
        return sizes.diagonal_mass(self)

    @cached_property
    def constraint_mass(self) -> Array:
        """Mass that each constraint equation accelerates, see :func:`fem_mbs.system.sizes.constraint_mass`."""
        return sizes.constraint_mass(self)

    def at_rest(self) -> Motion:
        """The model as built, at rest."""
        V, none = np.zeros((self.n, 6)), np.zeros(self.k)
        return Motion(0.0, self.x0, self.R0, V, V, self.gravity, self.u0, none, none, np.zeros(self.m))

    @cached_property
    def stabilized(self) -> StabilizedMatrix:
        """Pattern and solver of the stabilised index-2 equations."""
        make = _regular if self.redundant is None else self._make_least_norm
        return StabilizedMatrix(self.pattern, self.n_free, ~self.velocity_level, self._blocks, make)

    @cached_property
    def levels(self) -> LevelsMatrix:
        """Pattern and solver of equations with constraints on three levels."""
        make = _regular if self.redundant is None else partial(self._make_least_norm, copies=LEVELS)
        return LevelsMatrix(self.pattern, self.n_free, self.m, self._blocks, make)

    @cached_property
    def islands(self) -> IntArray:
        """Number ``(N,)`` of the island to which each component belongs: what no element or joint connects; -1 if held.

        The ground, and other nodes that are held, connect nothing.
        """
        rows, columns = self.pattern.rows, self.pattern.columns
        used = (rows >= 0) & (columns >= 0)
        graph = csr_array((np.ones(used.sum()), (rows[used], columns[used])), (self.size, self.size))
        _, label = connected_components(graph, directed=False)
        return np.where(self.equation >= 0, label[self.equation], -1)

    @cached_property
    def has_velocity_level(self) -> bool:
        """Whether any constraint equation is one of velocities."""
        return bool(self.velocity_level.any())

    @cached_property
    def algebraic(self) -> IntArray:
        """Components that are algebraic unknowns."""
        return 6 * self.n + np.flatnonzero(self.order == 0)

    @cached_property
    def has_history(self) -> bool:
        """Whether any own unknown is of kind "history"."""
        return bool((self.order < 0).any())

    def regularize(self, redundant: Redundant) -> None:
        """From now on, solve with constraints that repeat each other: ``solver`` has another pattern."""
        self.solver = self._make_least_norm(self.pattern.rows, self.pattern.columns, self._blocks)
        self.redundant = redundant
        for made in ("stabilized", "levels"):
            vars(self).pop(made, None)

    def _make_least_norm(self, rows: IntArray, columns: IntArray, blocks: IntArray, copies: int = 1) -> LeastNormSolver:
        """A solver for ``copies`` of the components and any number of multipliers."""
        units = np.tile(1.0 / self.weight[self.free_rows], copies)
        return LeastNormSolver(rows, columns, copies * self.n_free, units, blocks)

    def stacked(self, count: int) -> Kinematics:
        """The kinematics of the nodes at several instants: all of the first, then all of the next."""
        if count not in self._stacked:
            self._stacked[count] = make_kinematics(count * [node.group for node in self.nodes])
        return self._stacked[count]

    def row(self, node: Node | str) -> int:
        """Row of a node, given by itself or its name, in the arrays of a state."""
        return self.number(of_kind(self.find(node, "System.row: node"), Node, "System.row: node"))

    def find(self, part: Any, label: str) -> Any:
        """The node, element or joint of a name; what is not a name is returned as it is."""
        return look_up(self.parts, part, label) if isinstance(part, str) else part

    @cached_property
    def parts(self) -> dict[str, Part]:
        """Nodes, elements and joints by their names."""
        named: list[Any] = [*self.nodes, *self.number.parts]
        return {part.name: part for part in named}

    def motion(self, state: State) -> Motion:
        """What elements see of a state."""
        V, A = self.kinematics.motion(state.R, np.stack([state.v, state.vdot]))
        return Motion(
            state.t, state.x, state.R, V, A, self.gravity, state.u, state.udot, state.uddot, state.multipliers
        )

    def prescribe(self, t: float, factor: float = 1.0) -> Prescribed:
        """Loads and drives at time ``t``, with constant loads multiplied by ``factor``."""
        t = min(t, self.end)
        elements = [batch.at(t) for batch in self.batches]
        if factor != 1.0:
            elements = [b.scaled(data, factor) for b, data in zip(self.batches, elements, strict=True)]
        return Prescribed(elements, [batch.at(t) for batch in self.constraint_batches])

    def evaluate(self, motion: Motion, multipliers: Array, prescribed: Prescribed) -> Evaluation:
        """Residual and constraints of a motion."""
        if self.readers:
            motion = replace(motion, multipliers=multipliers)
        parts, contexts = [], []
        for batch, data in zip(self.batches, prescribed.elements, strict=True):
            force, context = batch.force(motion, data)
            parts.append(force)
            contexts.append(context)
        joints = self.joints(motion, prescribed)
        pairs = zip(self.constraint_slices, joints.gradients, strict=True)
        parts.extend([multipliers[rows, None] * gradient for rows, gradient in pairs])
        forces = flat(parts)
        if len(forces) != len(self.force_slots):
            raise wrong_shapes(self, parts)
        residual = sums(self.force_slots, forces, self.N)
        scale, own_scale, largest = self._sizes.of(forces, motion.udot, residual)
        return joints._replace(
            multipliers=multipliers,
            force=residual,
            scale=scale,
            own_scale=own_scale,
            relative=largest,
            contexts=contexts,
        )

    def joints(self, motion: Motion, prescribed: Prescribed) -> Evaluation:
        """The equations of the joints alone, without forces."""
        parts = [
            joints.evaluate(motion, data)
            for joints, data in zip(self.constraint_batches, prescribed.constraints, strict=True)
        ]
        phi, gradients, contexts = (list(part) for part in zip(*parts, strict=True)) if parts else ([], [], [])
        values = phi[0] if len(phi) == 1 else np.concatenate(phi) if phi else _NONE
        if self.has_velocity_level:
            values = np.where(self.velocity_level, 0.0, values)
        return Evaluation(motion, _NONE, _NONE, values, (0.0, 0.0), _NONE, 0.0, [], gradients, contexts, phi)

    def relative_residual(self, evaluation: Evaluation) -> tuple[float, float]:
        """Largest residual force or moment against the largest that made it up, and largest constraint violation.

        Equations of own unknowns count like forces, each against its own largest term. Constraint equations with the
        unit of length are divided by the extent of the model.
        """
        if not self.m:
            return evaluation.relative, 0.0
        gaps = np.abs(evaluation.constraint * self.constraint_weight)
        return evaluation.relative, float(np.maximum.reduce(gaps))

    def residual(self, evaluation: Evaluation, force_factor: float) -> Array:
        """Right-hand side ``(force_factor r, Phi)`` of the free equations."""
        return np.concatenate([force_factor * evaluation.force[self._free], evaluation.constraint])

    def spread(self, values: Array) -> Array:
        """All components ``(N,)`` of values at the free ones ``(n_free,)``, zero where held."""
        result = np.zeros(self.N)
        result[self._free] = values
        return result

    def at_free(self, values: Array) -> Array:
        """Values at the free components ``(n_free,)`` of all ``(N,)``."""
        return values[self._free]

    def nodes_of(self, values: Array) -> Array:
        """The part ``(n, 6)`` of components ``(N,)`` that belongs to nodes."""
        return values[: 6 * self.n].reshape(self.n, 6)

    def with_own(self, nodes: Array, values: Array) -> Array:
        """Components ``(N,)`` of nodes ``(n, 6)``, and those of own unknowns as in ``values`` (N,)."""
        flat_nodes = nodes.reshape(-1)
        return np.concatenate([flat_nodes, values[6 * self.n :]]) if self.k else flat_nodes

    def own_of(self, values: Array) -> Array:
        """The part ``(k,)`` of components ``(N,)`` that belongs to own unknowns."""
        return values[6 * self.n :]

    def accept(self, state: State) -> State:
        """A state at the end of a step with multipliers of least norm, and unknowns of kind "history" as they end."""
        if self.redundant is not None:
            here = self.evaluate(self.motion(state), state.multipliers, self.prescribe(state.t))
            refuse_gap(self, here)
            state = replace(state, multipliers=least_norm(self, here))
        if not self.has_history:
            return state
        return replace(state, u=self.history(self.motion(state)))

    def history(self, motion: Motion) -> Array:
        """Own unknowns ``(k,)`` at the end of a step, those of kind "history" changed."""
        return self._changed(motion, lambda batch, context: batch.accept(context))

    def next_jump(self, state: State) -> float:
        """The first instant after a state at which something jumps; up to its time, if something is due there."""
        return min((batch.next_jump(state.t, state.u) for batch in self._jumping), default=math.inf)

    def jump(self, state: State) -> State:
        """A state with unknowns of kind "history" as they are after a jump."""
        if not self.has_history:
            return state
        return replace(state, u=self._changed(self.motion(state), _jump))

    def _changed(self, motion: Motion, how: Callable[[Any, Any], Array | None]) -> Array:
        """Own unknowns with those of kind "history" as a batch says from its context."""
        u, t = motion.u.copy(), min(motion.t, self.end)
        for k, kept in self._histories.items():
            batch = self.all_batches[k]
            data = batch.at(t)
            if isinstance(batch, ElementBatch):
                context = batch.force(motion, data)[1]
            else:
                context = batch.evaluate(motion, data)[2]
            assert batch.own is not None
            if (values := how(batch, context)) is not None:
                u[batch.own[kept]] = values[kept]
        return u

    @cached_property
    def _histories(self) -> dict[int, BoolArray]:
        """Which of the ``own`` (n, s) of each batch are of kind "history" and belong to its owners, not to others."""
        result = {}
        for k, batch in enumerate(self.all_batches):
            if batch.own is None or not (self.order[batch.own] < 0).any():
                continue
            pairs = zip(batch.own, batch.owners, strict=True)
            owned = [[self.unknowns[row][0] is owner for row in rows] for rows, owner in pairs]
            result[k] = (self.order[batch.own] < 0) & np.array(owned)
        return {k: kept for k, kept in result.items() if kept.any()}

    def energy(self, motion: Motion) -> Energy:
        """Energies of all elements in J."""
        energies = [batch.energy(motion).summed() for batch in self.batches]
        return Energy(*map(sum, zip(*energies, strict=True))) if energies else Energy()

    def constraint_rows(self, constraint: Constraint) -> ConstraintRows:
        """Where the equations of a constraint stand."""
        try:
            return self._constraint_rows[constraint]
        except KeyError:
            raise ModelError(f"{constraint} is not part of this model") from None


def _jump(batch: ElementBatch | ConstraintBatch, context: Any) -> Array | None:
    return batch.jump(context) if isinstance(batch, ElementBatch) else None


def _regular(rows: IntArray, columns: IntArray, blocks: IntArray) -> LinearSolver:
    return make_solver(rows, columns, len(blocks), blocks)


def _bending(rows: IntArray, batch: ConstraintBatch) -> IntArray:
    """Components of the blocks of the geometric stiffness, of all ``rows`` (n, b) if the batch does not say which."""
    if batch.bends is None:
        return rows
    return np.take_along_axis(rows[batch.bends.cells], batch.bends.columns, axis=1)


def _grouped(parts: Iterable[Any]) -> list[list[Any]]:
    groups: dict[Hashable, list[Any]] = {}
    for part in parts:
        groups.setdefault((type(part).batch.__func__, part.batch_key()), []).append(part)
    return list(groups.values())
