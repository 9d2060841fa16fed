"""The frozen model as numbers: nodes and internal variables in order, batches, and the pattern of the matrix.

The point from which a system measures positions, and the length that it judges small lengths by.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property, partial
from types import MethodType
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Constraint, ConstraintBatch, Element, ElementBatch, Node, Numbering, Source
from fem_mbs.contracts.checked import look_up
from fem_mbs.contracts.component import consecutive, keep_up
from fem_mbs.contracts.constraint import Part, of_kind
from fem_mbs.contracts.public import as_of, moments
from fem_mbs.errors import ModelError
from fem_mbs.linear.constrained import LEVELS, GGLMatrix, LeastNormSolver, Redundant, ThreeLevelKKT
from fem_mbs.linear.solvers import LinearSolver, make_solver
from fem_mbs.model.description import ModelDescription, extent, idle_rotations
from fem_mbs.system.batch_checks import batch_of, check_batch
from fem_mbs.system.kinematics import Kinematics, make_kinematics
from fem_mbs.system.pattern import (
    TINY,
    ConstraintRows,
    Triplets,
    Workspace,
    components,
    free_components,
    number_constraints,
    triplets,
)
from fem_mbs.system.sizes import variable_sizes

FAR = 4.0
"""A model further away than so many times its extent measures positions from one of its own nodes."""
ONE_PLACE = 1e-12
"""What is no further apart than this share of how far it is from the origin is at one place, but for rounding."""


def lengths(nodes: Sequence[Node], joints: Iterable[Constraint]) -> tuple[Array, float, float]:
    """The origin (3,), zero for a model near that of the world, the extent and the diameter; the ground is first.

    A rounding of positions is one of strains: at 10 km from the origin, a millionth of those of a ruler. The ground is
    where its joints are, and its own place plays no part. The diameter is twice the largest distance of nodes and
    joints from their mean, which turns and moves with them; the extent where all are at one place: units of length are
    the user's.
    """
    plain = np.asarray
    points = [
        plain(node.position) + plain(node.rotation) @ plain(own) for joint in joints for node, own in _ends(joint)
    ]
    places, origin, length = [*(node.position for node in nodes[1:]), *points], np.zeros(3), extent(list(nodes)) or 1.0
    if not places:
        return origin, length, length
    size, away = float(np.ptp(places, axis=0).max()), float(np.abs(places).max())
    if size > ONE_PLACE * away and away > FAR * size:
        origin, length = places[0], size
    radius = float(np.linalg.norm(places - np.mean(places, axis=0), axis=1).max())
    return origin, length, 2.0 * radius if radius > ONE_PLACE * away else length


def _ends(joint: Constraint) -> list[tuple[Node, Array]]:
    """Points of a joint in the frames of their nodes: on both nodes, for one between two points."""
    offsets = joint.offsets or (joint.offset,)
    return list(zip(joint.nodes[-len(offsets) :], offsets, strict=True))


_SOLVERS = "solver", "ggl", "levels"
"""What is made of the pattern, by whether constraints repeat each other."""


class Layout:
    """Where everything of a model stands; nothing here changes, but for what :meth:`regularize` says.

    Its attributes stand with :class:`System`.
    """

    def __init__(self, model: ModelDescription, end: float = math.inf, frozen_as: int | None = None) -> None:
        self.model = model
        if frozen_as is None:
            keep_up([*model.elements, *model.constraints])
            frozen_as = moments.next()
        self.frozen_as = frozen_as
        self.nodes: list[Node] = list(model.nodes)
        self.elements: list[Element] = list(model.elements)
        self.gravity = model.gravity.copy()
        self.end = end
        parts, grounds = [*model.elements, *model.constraints], [own.ground for own in model.copies]
        held = {*self.nodes[:1], *(node for part in parts for node in part.nodes)}  # others are there to be looked at
        placed = [node for node in self.nodes if node in held]
        self.origin, self.length, self.diameter = lengths(placed, model.constraints)
        self.far = bool(self.origin.any())
        self.number = Numbering(self.nodes, parts, self.origin, end, grounds)
        self.n, self.internal_variables = len(self.nodes), self.number.internal_variables
        self.k = len(self.internal_variables)
        self.N = 6 * self.n + self.k
        self.kinematics = make_kinematics([node.group for node in self.nodes])
        self._stacked: dict[int, Kinematics] = {}
        self._initial_values()
        self._number_components(model)
        self.constraint_batches = [batch_of(g, self.number, ConstraintBatch) for g in grouped(model.constraints)]
        numbers = number_constraints(self.constraint_batches)
        self.m, self.constraint_owner = numbers.m, numbers.owner
        self.number.equations = {joint: np.arange(own.rows.start, own.rows.stop) for joint, own in numbers.rows.items()}
        self._make_batches(model)
        self.source = Source(
            tuple(f"{node} on {node.group}" for node in self.nodes),
            tuple(f"'{variable.name}' of {owner}" for owner, variable in self.internal_variables),
            tuple(f"{equation} of {owner}" for owner, equation in self.constraint_owner),
        )
        self.size = self.n_free + self.m
        self.no_forces, self.no_gaps = np.zeros(self.n_free), np.zeros(self.m)
        self.constraint_weight = np.where(numbers.length, 1.0 / self.length, 1.0)
        self.velocity_level, self.of_length = numbers.velocity, numbers.length
        self.has_velocity_level = bool(self.velocity_level.any())
        self.closes_positions = not self.velocity_level.all()
        self.constraint_slices, self._constraint_rows = numbers.slices, numbers.rows
        self.redundant: Redundant | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Without what is compiled or factorised, and what is of this process: all made anew where it is wanted."""
        none, count = {"whole", "compiled", "contacts", "workspace", "_identities", *_SOLVERS}, len(self.batches)
        plain = {"batches": self.all_batches[:count], "constraint_batches": self.all_batches[count:]}
        return {name: value for name, value in vars(self).items() if name not in none} | plain

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        moments.reach(self.frozen_as)

    def _initial_values(self) -> None:
        self.x0 = np.array([node.position for node in self.nodes]) - self.origin
        self.R0 = np.array([node.rotation for node in self.nodes])
        velocities = [node.velocity for node in self.nodes], [node.angular_velocity for node in self.nodes]
        self.velocities = np.concatenate([np.array(own) for own in velocities], axis=1)
        own = [variable for _, variable in self.internal_variables]
        self.u0, self.udot0 = (np.array([getattr(u, name) for u in own], float) for name in ("initial", "rate"))
        self.order = np.array([u.order for u in own], np.intp)
        self.algebraic: IntArray = 6 * self.n + np.flatnonzero(self.order == 0)
        self.has_history = bool((self.order < 0).any())

    def _number_components(self, model: ModelDescription) -> None:
        self.free = free_components(self.nodes, idle_rotations([*model.elements, *model.constraints]))
        free = np.append(self.free.ravel(), self.order >= 0)
        self.free_rows = np.flatnonzero(free)
        self.free_index = consecutive(self.free_rows)
        self.n_free = len(self.free_rows)
        self.equation = np.where(free, np.cumsum(free) - 1, -1)

    def _make_batches(self, model: ModelDescription) -> None:
        self.batches = [batch_of(g, self.number, ElementBatch) for g in grouped(model.elements)]
        self.reads = [(k, batch.reads) for k, batch in enumerate(self.batches) if batch.reads is not None]
        self.readers = [k for k, _ in self.reads]
        self.all_batches: list[ElementBatch | ConstraintBatch] = [*self.batches, *self.constraint_batches]
        for batch in self.all_batches:
            check_batch(batch, self.n, self.k, self.m)
        self.components = [components(batch, self.n) for batch in self.batches]
        self.constraint_components = [components(batch, self.n) for batch in self.constraint_batches]
        pairs = zip(self.constraint_components, self.constraint_batches, strict=True)
        self.bending_components = [_bending(rows, batch) for rows, batch in pairs]
        pairs = zip(self.constraint_components, self.constraint_batches, strict=True)
        self.gradient_components = [own[batch.cell] for own, batch in pairs]
        together = [(batch, _cells(batch)) for batch in self.constraint_batches]
        self.equation_nodes = [batch.nodes[cells] for batch, cells in together]
        self.equation_own = [None if batch.own is None else batch.own[cells] for batch, cells in together]
        taken = zip(self.constraint_components, together, strict=True)
        self.equation_components = [own[cells] for own, (_, cells) in taken]
        slots = [self.element_slots(k) for k in range(len(self.batches))]
        slots += [rows.ravel() for rows in self.gradient_components]
        self.force_slots = np.concatenate(slots) if slots else np.empty(0, np.intp)

    def element_slots(self, k: int) -> IntArray:
        """Component of each contribution to the residual of a batch of elements, in the order of its forces."""
        return np.repeat(self.components[k][:, None], self.batches[k].terms, 1).ravel()

    @cached_property
    def pattern(self) -> Triplets:
        """Where every entry of the matrix stands."""
        cells = [*self.components, *self.bending_components]
        reading = [(self.components[k], rows) for k, rows in self.reads]
        return triplets(cells, self.gradient_components, reading, self.equation, self.n_free)

    @cached_property
    def weight(self) -> Array:
        """Factors ``(N,)`` that make increments comparable, see :class:`~fem_mbs.system.system.System`."""
        of_nodes = np.tile(np.repeat([self.length, 1.0], 3), self.n)
        return 1.0 / np.append(of_nodes, variable_sizes(self, of_nodes))

    def weight_at(self, *states: Array) -> Array:
        """The same with internal variables ``(k,)`` as large as they are, where that is more."""
        weight = self.weight.copy()
        own = weight[6 * self.n :]
        for u in states:
            np.minimum(own, 1.0 / np.maximum(np.abs(u), TINY), out=own)
        return weight

    @cached_property
    def blocks(self) -> IntArray:
        """Numbers of the node, the element or the joint that each equation belongs to."""
        owners = [owner for owner, _ in self.internal_variables], [owner for owner, _ in self.constraint_owner]
        numbers = {owner: self.n + k for k, owner in enumerate(dict.fromkeys([*owners[0], *owners[1]]))}
        own = [numbers[owner] for owner in owners[0]]
        blocks = np.append(np.repeat(np.arange(self.n), 6), own).astype(np.intp)[self.free_rows]
        return np.append(blocks, [numbers[owner] for owner in owners[1]]).astype(np.intp)

    @cached_property
    def workspace(self) -> Workspace:
        """The arrays that a step fills."""
        return self.make_workspace()

    def make_workspace(self) -> Workspace:
        """Such arrays, for whoever has to keep them."""
        blocks = self.bending_components
        return Workspace(self.batches, self.components, blocks, self.gradient_components, self.reads)

    @cached_property
    def solver(self) -> LinearSolver:
        """Solver of the equations; that of bands is compiled where kernels are in use."""
        return self._make(self.pattern.rows, self.pattern.columns, self.blocks)

    @cached_property
    def ggl(self) -> GGLMatrix:
        """Pattern and solver of the stabilised index-2 equations."""
        return GGLMatrix(self.pattern, self.n_free, ~self.velocity_level, self.blocks, self._make)

    @cached_property
    def levels(self) -> ThreeLevelKKT:
        """Pattern and solver of equations with constraints on three levels."""
        make = _regular if self.redundant is None else partial(self._make_least_norm, copies=LEVELS)
        return ThreeLevelKKT(self.pattern, self.n_free, self.m, self.blocks, make)

    @cached_property
    def islands(self) -> IntArray:
        """Number ``(N,)`` of the island to which each component belongs: what no element or joint connects; -1 if held.

        The ground, and other nodes that are held, connect nothing.
        """
        return np.where(self.equation >= 0, self.unknown_islands[self.equation], -1)

    @cached_property
    def unknown_islands(self) -> IntArray:
        """The same of each unknown, components that may move and multipliers, ``(size,)``."""
        rows, columns = self.pattern.rows, self.pattern.columns
        used = (rows >= 0) & (columns >= 0)
        graph = csr_array((np.ones(used.sum()), (rows[used], columns[used])), (self.size, self.size))
        return connected_components(graph, directed=False)[1].astype(np.intp)

    def regularize(self, redundant: Redundant) -> None:
        """From now on, solve with constraints that repeat each other: ``solver`` has another pattern."""
        self.redundant = redundant
        for made in _SOLVERS:
            vars(self).pop(made, None)

    @property
    def _make(self) -> Callable[[IntArray, IntArray, IntArray], LinearSolver]:
        """Makes a solver of rows, columns and blocks."""
        return _regular if self.redundant is None else self._make_least_norm

    def _make_least_norm(self, rows: IntArray, columns: IntArray, blocks: IntArray, copies: int = 1) -> LeastNormSolver:
        """A solver for ``copies`` of the components and any number of multipliers."""
        units = np.tile(1.0 / self.weight[self.free_rows], copies)
        return LeastNormSolver(rows, columns, copies * self.n_free, units, blocks)

    def solver_beside(self, cells: Sequence[IntArray]) -> LinearSolver:
        """A solver for the matrix with blocks of further cells, of components ``(n, b)`` each, behind its entries."""
        blocks = [self.equation[own] for own in cells]
        pairs = [np.broadcast_arrays(own[:, :, None], own[:, None]) for own in blocks]
        rows = np.concatenate([self.pattern.rows, *(a.ravel() for a, _ in pairs)])
        columns = np.concatenate([self.pattern.columns, *(b.ravel() for _, b in pairs)])
        return self._make(rows, columns, self.blocks)

    def stacked(self, count: int) -> Kinematics:
        """The kinematics of the nodes at several instants: all of the first, then all of the next."""
        if count not in self._stacked:
            self._stacked[count] = make_kinematics(count * [node.group for node in self.nodes])
        return self._stacked[count]

    def row(self, node: Node | str, label: str = "System.row: node") -> int:
        """Row of a node, given by itself or its name, in the arrays of a state; ``label`` is what errors call it."""
        return self.number(of_kind(self.find(node, label), Node, label))

    def find(self, part: Any, label: str) -> Any:
        """The node, element or joint of a name; what is not a name is returned as it is."""
        return look_up(self.parts, part, label) if isinstance(part, str) else part

    @cached_property
    def parts(self) -> dict[str, Part]:
        """Nodes, elements and joints by their names."""
        named: list[Any] = [*self.nodes, *self.number.parts]
        return {part.name: part for part in named}

    def as_frozen(self) -> AbstractContextManager[None]:
        """Within it, nodes, elements and joints are as they were when the model was frozen."""
        return as_of(self._identities, self.frozen_as)

    @cached_property
    def _identities(self) -> frozenset[int]:
        return frozenset(map(id, [*self.nodes, *self.number.parts]))

    def constraint_rows(self, constraint: Constraint) -> ConstraintRows:
        """Where the equations of a constraint stand."""
        try:
            return self._constraint_rows[constraint]
        except KeyError:
            raise ModelError(f"{constraint} is not part of this model") from None


def _regular(rows: IntArray, columns: IntArray, blocks: IntArray) -> LinearSolver:
    return make_solver(rows, columns, len(blocks), blocks)


def _bending(rows: IntArray, batch: ConstraintBatch) -> IntArray:
    """Components of the blocks of the geometric stiffness, of all ``rows`` (n, b) if the batch does not say which."""
    if batch.geometric_blocks is None:
        return rows
    return np.take_along_axis(rows[batch.geometric_blocks.cells], batch.geometric_blocks.columns, axis=1)


def _cells(batch: ConstraintBatch) -> IntArray:
    """Cells whose equations are taken together: all, if each has as many, one after the other; else that of each."""
    every = np.arange(len(batch.nodes))
    alike = np.array_equal(batch.cell, np.repeat(every, len(batch.cell) // len(every)))
    return every if alike else batch.cell


def grouped(parts: Iterable[Any]) -> list[list[Any]]:
    """Elements or joints that share a batch."""
    groups: dict[Hashable, list[Any]] = {}
    for part in parts:
        if not isinstance(type(part).batch, MethodType):
            raise ModelError(
                f"{type(part).__name__}.batch must be a class method: @classmethod, batch(cls, parts, number)"
            )
        groups.setdefault((type(part).batch.__func__, part.batch_key()), []).append(part)
    return list(groups.values())
