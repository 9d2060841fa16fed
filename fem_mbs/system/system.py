"""The equations of a frozen model at a motion.

The equations at one motion, as arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from fem_mbs.arrays import Array, BoolArray, IntArray, ReadOnly
from fem_mbs.contracts import ConstraintBatch, ElementBatch, Energy, SensorBatch, StepEnd, WiredBatch, checked
from fem_mbs.contracts.method import FrozenModel
from fem_mbs.contracts.motion import ARRAYS, Motion, State
from fem_mbs.errors import MotionError
from fem_mbs.linear.constrained import LeastNormSolver, Projection
from fem_mbs.linear.solvers import sums
from fem_mbs.model.description import ModelDescription
from fem_mbs.system.batch_checks import check_shape
from fem_mbs.system.layout import Layout
from fem_mbs.system.pattern import TINY, flat
from fem_mbs.system.states import from_user, interpolate

LIGHT, HEAVY = 1e-12, 1e12
"""Masses against the largest that count as none, and masses that count as infinite."""


class Evaluation(NamedTuple):
    """The equations at one motion: what Newton tests and what matrices are built from."""

    motion: Motion
    multipliers: Array
    force: Array
    """Residual ``M vdot + g + B^T lambda`` in body components, then of internal variables, ``(N,)``."""
    constraint: Array
    """``Phi`` (m,); zero for equations of velocities."""
    scale: tuple[float, float]
    """Largest single force and largest single moment that went into ``force``."""
    own_scale: Array
    """Largest term of the equation of each internal variable, ``(k,)``."""
    relative: float
    """Largest residual of the free components against these."""
    contexts: list[Any]
    gradients: list[Array]
    constraint_contexts: list[Any]
    velocity: Array
    """Body velocities of the nodes, then rates of internal variables, ``(N,)``."""
    phi: list[Array]
    """What constraint batches returned: ``Phi``, or ``-b`` of equations of velocities."""


class Prescribed(NamedTuple):
    """What depends on time alone, evaluated once a step."""

    elements: list[Any]
    constraints: list[Any]
    pressing: Array | None = None
    """Multipliers ``(m,)`` that elements read in place of those of the trial."""
    resting: Array | float = TINY
    """Rates of states ``(k,)`` beside which smaller ones rest."""


_NONE = np.empty(0)


class Sizes:
    """Largest contributions to the equations, found over arrays that are sorted once."""

    def __init__(self, system: Layout) -> None:
        self._n, self._k, self._order = system.n, system.k, system.order
        self._slots = system.force_slots
        within = np.where(self._slots < 6 * self._n, self._slots % 6 // 3, 2)
        self._forces, self._moments, self._own = (np.flatnonzero(within == kind) for kind in range(3))
        self._free = (system.equation >= 0).astype(float)
        # no node is held in part, and nothing else needs a weight
        whole = system.free.all(axis=1) | ~system.free.any(axis=1)
        self._rows = system.free_index if not self._k and bool(whole.all()) else None
        # the ground may be far away, where forces have large moments that it holds
        self._acting = self._free[self._slots] if system.origin.any() else None
        self._starts = np.array([0, len(self._slots) // 6])
        self._acts = len(self._slots) > 0 and bool(self._free.any())

    def of(
        self, forces: Array, udot: Array, residual: Array, resting: Array | float = TINY
    ) -> tuple[tuple[float, float], Array, float]:
        """Largest force and moment of all contributions, largest term of each own equation, relative residual."""
        if self._acting is not None:
            forces = forces * self._acting
        free = residual * self._free if self._rows is None else residual[self._rows]
        if not self._k:
            sizes = np.abs(np.concatenate([forces, free])).reshape(-1, 6)
            both = np.maximum.reduceat(sizes, self._starts) if self._acts else np.zeros((2, 6))
            (x, y, z, *moments), left = both.tolist()
            scale = max(x, y, z, TINY), max(*moments, TINY)
            lost = 0.0 * sum(left)  # nan if one is not finite, which max may pass over
            return scale, _NONE, max(max(left[:3]) / scale[0], max(left[3:]) / scale[1]) + lost
        sizes, nodes = np.abs(forces), 6 * self._n
        own = np.full(self._k, TINY)
        np.maximum.at(own, self._slots[self._own] - nodes, sizes[self._own])
        # u' - f = 0 has two terms, whoever contributes to it
        states = np.maximum(np.abs(udot), np.abs(udot - residual[nodes:]))
        own = np.where(self._order == 1, np.maximum(states, resting), own)
        force, moment = (float(sizes[kind].max(initial=TINY)) for kind in (self._forces, self._moments))
        of_nodes = np.abs(free[:nodes]).reshape(-1, 2, 3).max(axis=(0, 2)) / (force, moment)
        return (force, moment), own, float(np.maximum(of_nodes.max(), (np.abs(free[nodes:]) / own).max()))


@checked
class System(Layout, FrozenModel):
    """A model frozen for computing.

    What it computes does not change after it is built, but for what :meth:`regularize` says. What is made when it is
    first wanted (``whole``, ``compiled``, ``contacts``), and what was said (``blown``), is noted in it.

    Parameters
    ----------
    model : Model
        Its nodes, elements and constraints as they are now.
    end : float
        Time in s after which functions of time are not asked: they need not exist beyond the end of a run.
    frozen_as : int, optional
        Of a model that was frozen with others, the moment when it was, as of which its parts are now.

    Attributes
    ----------
    model : Model
        The model, which may have been changed since.
    n, k, m : int
        Numbers of nodes, of internal variables and of constraint equations.
    N : int
        Number of components, ``6 n + k``: body increments of the nodes, then internal variables.
    free : (n, 6)
        True for body components that may move.
    free_rows : (n_free,)
        Components that are unknown: free ones of nodes, and internal variables but for history.
    equation : (N,)
        Equation number of each component, -1 where it is held.
    size : int
        Number of equations, ``m`` constraint equations last.
    order : (k,)
        Order of the highest time derivative in the equation of each internal variable; -1 for history.
    internal_variables : list of (Element or Constraint, InternalVariable)
        Internal variables and whom they belong to.
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
    diameter : float
        Of the model about its middle: a length that turns with it.
    weight : (N,)
        Factors that make increments comparable: lengths are divided by ``length``, internal variables by their size.
    constraint_weight : (m,)
        Factors that make constraint equations of different units comparable: those in units of length are divided by
        ``length``.
    redundant : Redundant or None
        Constraint equations that repeat each other, once that is known.
    """

    remembers = False
    compiled: tuple[str, ...] = ()
    """Classes of elements and joints whose kernels are compiled (``fem_mbs.compiled``)."""
    whole: Any = None
    """How its steps are compiled as a whole, if they are."""
    blown = False
    """Whether it was said that joints change velocities at once where a run begins, as inputs of co-simulation may."""
    contacts: Any = None
    """What opens and closes, numbered by ``fem_mbs.contact`` when it is first asked for."""
    from_user, interpolate = from_user, interpolate

    def __init__(self, model: ModelDescription, end: float = math.inf, frozen_as: int | None = None) -> None:
        super().__init__(model, end, frozen_as)
        self._jumping = [batch for batch in self.batches if type(batch).next_jump is not ElementBatch.next_jump]
        self.kinked = [k for k, batch in enumerate(self.batches) if batch.kinked]
        """Numbers of the batches whose laws have kinks."""
        self.watched = [k for k, batch in enumerate(self.batches) if batch.kinked or batch.asks]
        """Numbers of those, and of batches whose laws may have kinks that are not told."""
        joints = zip(self.constraint_batches, self.constraint_slices, strict=True)
        self.end_checks = [own for own in joints if own[0].strays and type(own[0]).astray is not ConstraintBatch.astray]
        """Batches that look at how a step has ended, and their rows."""
        self.coarse = [batch for batch in self.batches if type(batch).coarse is not ElementBatch.coarse]
        """Batches whose cells may be too large for what they carry."""
        self.creeps = [batch for batch in self.batches if type(batch).creeping is not ElementBatch.creeping]
        """Batches of what rubs, and may creep."""
        self.damps = any(b.damps and type(b).damping is not ElementBatch.damping for b in self.batches)
        """Whether forces other than those of inertia may depend on velocities."""
        self._timed = [k for k, batch in enumerate(self.batches) if type(batch).at is not ElementBatch.at]
        self.follows_time = bool(self._timed)
        """Whether forces are asked at times."""
        self._driven = [k for k, b in enumerate(self.constraint_batches) if type(b).at is not ConstraintBatch.at]
        self.given_rates = [k for k, b in enumerate(self.constraint_batches) if b.driven or b.velocity is not None]
        """Numbers of the batches of joints that are driven, or have equations of velocities."""
        self._still = Prescribed([None] * len(self.batches), [None] * len(self.constraint_batches))

    @cached_property
    def _sizes(self) -> Sizes:
        return Sizes(self)

    @cached_property
    def orders(self) -> IntArray:
        """Orders ``(N,)`` of the equations of all components: 2 of nodes, and those of internal variables."""
        return np.append(np.full(6 * self.n, 2), self.order)

    @cached_property
    def diagonal_mass(self) -> Array:
        """Diagonal of the mass matrix ``(N,)`` in body components, as built."""
        motion, result = self.at_rest(), np.zeros(self.N)
        for batch, data, rows in zip(self.batches, self.prescribe(0.0).elements, self.components, strict=True):
            if (mass := batch.mass(batch.force(motion, data)[1])) is not None:
                result += sums(rows.ravel(), np.diagonal(mass, axis1=1, axis2=2).ravel(), self.N)
        return result

    @cached_property
    def constraint_mass(self) -> Array:
        """Mass that each constraint equation accelerates, ``1/diag(B diag(M)^-1 B^T)``, as built, ``(2, m)``.

        The first row has those of equations in units of length, whose reactions are forces; the second the others.
        """
        mass, motion, metric = self.diagonal_mass, self.at_rest(), self.weight**2
        light = LIGHT * metric * (mass / metric).max(initial=TINY)
        mobility = np.where(self.equation < 0, 0.0, 1.0 / np.maximum(mass, light))
        joints = zip(self.constraint_batches, self.prescribe(0.0).constraints, self.gradient_components, strict=True)
        parts = [np.vecdot(own.evaluate(motion, data)[1] ** 2, mobility[rows]) for own, data, rows in joints]
        kinds = np.stack([np.where(own, flat(parts), 0.0) for own in (self.of_length, ~self.of_length)])
        heavy = kinds.max(axis=1, keepdims=True, initial=TINY) / HEAVY
        return np.divide(1.0, np.maximum(kinds, heavy), out=np.zeros_like(kinds), where=kinds > 0.0)

    def to_user(self, state: State) -> State:
        x = state.x + self.origin if self.far else state.x
        arrays = x, state.R, state.v, state.vdot, state.multipliers, state.u, state.udot, state.uddot
        views = []
        for name, array in zip(ARRAYS, arrays, strict=True):
            views.append(array.view(ReadOnly))
            views[-1].flags.writeable, views[-1].whose = False, f"State: {name}"
        x, R, v, vdot, multipliers, u, udot, uddot = views
        return State(state.t, x, R, v, vdot, multipliers, u, udot, uddot, self.source)

    def spread(self, values: Array) -> Array:
        """All components ``(N,)`` of values at the free ones ``(n_free,)``, zero where held."""
        result = np.zeros(self.N)
        result[self.free_index] = values
        return result

    def at_free(self, values: Array) -> Array:
        """Values at the free components ``(n_free,)`` of all ``(N,)``."""
        return values[self.free_index]

    def largest_of_nodes(self, values: Array) -> float:
        """The largest displacement, over the diameter, or rotation of a node in components ``(N,)``, in any axes."""
        parts = values[: 6 * self.n].reshape(-1, 2, 3)
        largest = np.sqrt(np.maximum.reduce(np.vecdot(parts, parts), axis=0, initial=0.0))
        return float(max(largest[0] / self.diameter, largest[1]))

    def nodes_of(self, values: Array) -> Array:
        """The part ``(n, 6)`` of components ``(N,)`` that belongs to nodes."""
        return values[: 6 * self.n].reshape(self.n, 6)

    def with_own(self, nodes: Array, values: Array) -> Array:
        """Components ``(N,)`` of nodes ``(n, 6)``, and those of internal variables as in ``values`` (N,)."""
        flat_nodes = nodes.reshape(-1)
        return np.concatenate([flat_nodes, values[6 * self.n :]]) if self.k else flat_nodes

    def to_body(self, R: Array, d: Array) -> Array:
        """Body components of group increments or velocities ``(N,)``, where nodes have the rotations ``R``."""
        nodes = self.kinematics.to_body(R, d[: 6 * self.n].reshape(-1, 6)).reshape(-1)
        return np.append(nodes, d[6 * self.n :]) if self.k else nodes

    def from_body(self, R: Array, d: Array) -> Array:
        """Group components of body increments or velocities ``(N,)``, likewise."""
        nodes = self.kinematics.from_body(R, d[: 6 * self.n].reshape(-1, 6)).reshape(-1)
        return np.append(nodes, d[6 * self.n :]) if self.k else nodes

    def own_of(self, values: Array) -> Array:
        """The part ``(k,)`` of components ``(N,)`` that belongs to internal variables."""
        return values[6 * self.n :]

    def at_rest(self) -> Motion:
        """The model as built, at rest."""
        V, none = np.zeros((self.n, 6)), np.zeros(self.k)
        motion = Motion(0.0, self.x0, self.R0, V, V, self.gravity, self.u0, none, none, np.zeros(self.m))
        return replace(motion, u=self.sensed(motion))

    def sensed(self, motion: Motion) -> Array:
        """Internal variables with what sensors measure in a motion, and blocks make of it one after the other.

        Functions of these begin where they are.
        """
        u = motion.u.copy()
        for batch in self.batches:
            if isinstance(batch, SensorBatch):
                batch.tell(motion, u)
        for k, cell in self._told_in_turn:
            cast(WiredBatch, self.batches[k]).tell(cell, motion.t, u)
        return u

    @cached_property
    def _told_in_turn(self) -> list[tuple[int, int]]:
        """Batches and cells of blocks, each after those that it reads, but for itself."""
        pairs = [(k, batch) for k, batch in enumerate(self.batches) if isinstance(batch, WiredBatch)]
        wired = {(k, cell): batch for k, batch in pairs for cell in range(len(batch.rows))}
        of = {row: key for key, batch in wired.items() for row in self.number.own(batch.owners[key[1]]).tolist()}
        waiting = {key: {of.get(row) for row in batch.rows[key[1]].tolist()} - {key} for key, batch in wired.items()}
        order: list[tuple[int, int]] = []
        while waiting:
            # what reads itself over others begins somewhere
            ready = [key for key, reads in waiting.items() if not reads & waiting.keys()] or [next(iter(waiting))]
            order += ready
            for key in ready:
                del waiting[key]
        return order

    def motion(self, state: State) -> Motion:
        """What elements see of a state; not forces of contact, which stand behind its multipliers in steps."""
        V, A = self.kinematics.motion(state.R, np.array([state.v, state.vdot]))
        multipliers = state.multipliers[: self.m]
        return Motion(state.t, state.x, state.R, V, A, self.gravity, state.u, state.udot, state.uddot, multipliers)

    def prescribe(self, t: float, factor: float = 1.0) -> Prescribed:
        """Loads and drives at time ``t``, with constant loads multiplied by ``factor``."""
        if factor == 1.0 and not (self._timed or self._driven):
            return self._still
        t = min(t, self.end)
        elements: list[Any] = [None] * len(self.batches)
        for k in self._timed:
            elements[k] = self.batches[k].at(t)
        if factor != 1.0:
            elements = [b.scaled(data, factor) for b, data in zip(self.batches, elements, strict=True)]
        constraints: list[Any] = [None] * len(self.constraint_batches)
        for k in self._driven:
            constraints[k] = self.constraint_batches[k].at(t)
        return Prescribed(elements, constraints)

    def evaluate_at(self, state: State) -> Evaluation:
        """The equations at a state."""
        motion = self.motion(state)
        return self.evaluate(motion, motion.multipliers, self.prescribe(state.t))

    def evaluate(self, motion: Motion, multipliers: Array, prescribed: Prescribed) -> Evaluation:
        """Residual ``M vdot + g + B^T lambda`` and constraints ``Phi`` of a motion.

        Bruels, Cardona, Arnold (2012), eqs. 7, 8, 33. Joints, and what is made of the evaluation, go by the velocities
        of inertia forces.
        """
        work, contexts = self.workspace, []
        if self.readers:
            pressing = prescribed.pressing
            motion = replace(motion, multipliers=multipliers if pressing is None else pressing)
        for batch, data, place in zip(self.batches, prescribed.elements, work.element_forces, strict=True):
            force, context = batch.force(motion, data)
            if np.shape(force) != place.shape:
                check_shape(batch, "force", force, place.shape)
            place[...] = force
            contexts.append(context)
        motion = motion.momentum or motion
        joints = self.joints(motion, prescribed)
        for k, (rows, place) in enumerate(zip(self.constraint_slices, work.reactions, strict=True)):
            if np.shape(gradient := joints.gradients[k]) != place.shape:
                check_shape(self.constraint_batches[k], "evaluate: B", gradient, place.shape)
            np.multiply(multipliers[rows, None], gradient, out=place)
        residual: Array = np.bincount(self.force_slots, work.forces, self.N)  # type: ignore[assignment]
        scale, own_scale, relative = self._sizes.of(work.forces, motion.udot, residual, prescribed.resting)
        return joints._replace(
            multipliers=multipliers,
            force=residual,
            scale=scale,
            own_scale=own_scale,
            relative=relative,
            contexts=contexts,
        )

    def joints(self, motion: Motion, prescribed: Prescribed) -> Evaluation:
        """The equations of the joints alone, without forces (Bruels, Cardona, Arnold 2012, eq. 8)."""
        values = np.empty(self.m)
        phis: list[Array] = []
        gradients: list[Array] = []
        contexts: list[Any] = []
        parts = zip(self.constraint_batches, prescribed.constraints, self.constraint_slices, strict=True)
        for joints, data, rows in parts:
            phi, gradient, context = joints.evaluate(motion, data)
            values[rows] = phi
            phis.append(phi)
            gradients.append(gradient)
            contexts.append(context)
        if self.has_velocity_level:
            values = np.where(self.velocity_level, 0.0, values)
        velocity = np.append(motion.V, motion.udot) if self.k else motion.V.reshape(-1)
        none: tuple[Any, ...] = [], gradients, contexts, velocity, phis
        return Evaluation(motion, _NONE, _NONE, values, (0.0, 0.0), _NONE, 0.0, *none)

    def forces_over_time(self, motions: Sequence[Motion]) -> Array:
        """Forces ``(len(motions), N)`` of the elements that follow time, on motions at their times.

        Of the wrong sign, as in a residual.
        """
        forces = np.zeros((len(motions), self.N))
        for k in self._timed:
            batch, slots = self.batches[k], self.element_slots(k)
            for force, motion in zip(forces, motions, strict=True):
                force += np.bincount(slots, batch.force(motion, batch.at(min(motion.t, self.end)))[0].ravel(), self.N)
        return forces

    def relative_residual(self, evaluation: Evaluation) -> tuple[float, float]:
        """Largest residual force or moment against the largest that made it up, and largest constraint violation.

        Equations of internal variables count like forces, each against its own largest term. Constraint equations with
        the unit of length are divided by the extent of the model.
        """
        if not self.m:
            return evaluation.relative, 0.0
        gaps = np.abs(evaluation.constraint * self.constraint_weight)
        return evaluation.relative, float(np.maximum.reduce(gaps))

    def residual(self, evaluation: Evaluation, force_factor: float) -> Array:
        """Right-hand side ``(force_factor r, Phi)`` of the free equations."""
        return np.concatenate([force_factor * evaluation.force[self.free_index], evaluation.constraint])

    def accept(self, state: State) -> State:
        """A state at the end of a step: multipliers of least norm, variables of kind "history" as they end."""
        if self.redundant is not None:
            here = self.evaluate(self.motion(state), state.multipliers, self.prescribe(state.t))
            refuse_gap(self, here)
            state = replace(state, multipliers=least_norm(self, here))
        if not self.has_history:
            return state
        return self.with_history(state)

    def check_end(self, before: float, t: float, R: Array, u: Array, multipliers: Array) -> None:
        """Refuse a step that ends where the equations hold, but joints do not stand as they are meant to."""
        for batch, rows in self.end_checks:
            if text := batch.astray(StepEnd(before, t, R, u, multipliers, rows)):
                raise MotionError(text)

    def with_history(self, state: State) -> State:
        """A state with internal variables of kind "history" as they end, and the rates at which they go on."""
        motion = self.motion(state)
        u, udot = motion.u.copy(), motion.udot.copy()
        for batch, kept, context in self._in_history(motion):
            u[batch.own[kept]] = batch.accept(context)[kept]
            if (rates := batch.history_rates(context)) is not None:
                udot[batch.own[kept]] = rates[kept]
        return replace(state, u=u, udot=udot)

    def history(self, motion: Motion) -> Array:
        """Internal variables ``(k,)`` at the end of a step, those of kind "history" changed."""
        return self._changed(motion, lambda batch, context: batch.accept(context))

    def ahead(self, state: State, h: float) -> Array:
        """Internal variables ``(k,)`` of a state, those of kind "history" as they go on for ``h``."""
        return state.u + np.where(self.order < 0, h * state.udot, 0.0)

    def branches(self, evaluation: Evaluation) -> Array:
        """On which side of its kinks each law is, where there are such laws."""
        sides: list[Any] = [
            self.batches[k].branches(evaluation.contexts[k]).astype(np.int8).ravel() for k in self.kinked
        ]
        return sides[0] if len(sides) == 1 else np.concatenate(sides)

    def next_jump(self, state: State) -> float:
        """The first instant after a state at which something jumps; up to its time, if something is due there."""
        return min((batch.next_jump(state.t, state.u) for batch in self._jumping), default=math.inf)

    def jump(self, state: State) -> State:
        """A state with internal variables of kind "history" as they are after a jump."""
        if not self.has_history:
            return state
        return replace(state, u=self._changed(self.motion(state), lambda batch, context: batch.jump(context)))

    def jump_change(self, before: State, d: Array) -> Array:
        """What small changes ``d`` (k,) of internal variables before a jump that was made are after it."""
        result = d.copy()
        for batch, kept, context in self._in_history(self.motion(before)):
            if (changes := batch.jump_change(context, d[batch.own])) is not None:
                result[batch.own[kept]] = changes[kept]
        return result

    def held_forces(self, evaluation: Evaluation, d: Array) -> Array:
        """``K d`` (N,) of changes ``(N,)`` of internal variables of kind "history", which no equation is for."""
        result = np.zeros(self.N)
        for k in self._read_history:
            rows, stiffness = self.components[k], self.batches[k].stiffness(evaluation.contexts[k])
            if stiffness is not None:
                result += np.bincount(rows.ravel(), np.matvec(stiffness, d[rows]).ravel(), self.N)
        return result

    def accept_change(self, evaluation: Evaluation, d: Array) -> Array:
        """What changes ``d`` (N,) at the end of a step are once variables of kind "history" are as they end."""
        result = d.copy()
        for k in self._read_history:
            batch = self.batches[k]
            if (changes := batch.accept_change(evaluation.contexts[k], d[self.components[k]])) is not None:
                own = self.own_of(result)
                own[batch.own] = np.where(self.order[batch.own] < 0, changes, own[batch.own])
        return result

    @cached_property
    def _read_history(self) -> list[int]:
        """Numbers of the batches of elements with variables of kind "history", their own ones or those of others."""
        return [k for k, b in enumerate(self.batches) if b.own is not None and (self.order[b.own] < 0).any()]

    def _changed(self, motion: Motion, how: Callable[[Any, Any], Array | None]) -> Array:
        """Internal variables with those of kind "history" as a batch says from its context."""
        u = motion.u.copy()
        for batch, kept, context in self._in_history(motion):
            if (values := how(batch, context)) is not None:
                u[batch.own[kept]] = values[kept]
        return u

    def _in_history(self, motion: Motion) -> Iterator[tuple[Any, BoolArray, Any]]:
        """Each batch with variables of kind "history", which of its ``own`` these are, and its context."""
        t = min(motion.t, self.end)
        for k, kept in self._histories.items():
            batch = self.all_batches[k]
            evaluate = batch.force if isinstance(batch, ElementBatch) else batch.evaluate
            yield batch, kept, evaluate(motion, batch.at(t))[-1]

    @cached_property
    def _histories(self) -> dict[int, BoolArray]:
        """Which of the ``own`` (n, s) of each batch are of kind "history" and belong to its owners, not to others."""
        result = {}
        for k, batch in enumerate(self.all_batches):
            if batch.own is None or not (self.order[batch.own] < 0).any():
                continue
            pairs = zip(batch.own, batch.owners, strict=True)
            owned = [[self.internal_variables[row][0] is owner for row in rows] for rows, owner in pairs]
            result[k] = (self.order[batch.own] < 0) & np.array(owned)
        return {k: kept for k, kept in result.items() if kept.any()}

    def energy(self, motion: Motion) -> Energy:
        """Energies of all elements in J."""
        energies = [batch.energy(motion).summed() for batch in self.batches]
        return Energy(*map(sum, zip(*energies, strict=True))) if energies else Energy()


# constraints that repeat each other leave multipliers open, and gaps that nothing closes

GAP = 1e-8
"""Largest gap of a joint against the extent of the model."""


def projection(system: System, motion: Motion) -> Projection:
    """What multipliers do at a motion, and which gaps can be closed, where constraints repeat each other.

    Orthogonal for the sum of squares of multipliers that are forces, and of moments over ``length``.
    """
    solver = system.solver
    assert isinstance(solver, LeastNormSolver)
    gradients = flat([joints.evaluate(motion, joints.at(motion.t))[1] for joints in system.constraint_batches])
    return solver.projection(solver.stored(system.pattern.of_gradients(gradients)), system.constraint_weight**-2)


def least_norm(system: System, evaluation: Evaluation) -> Array:
    """Of all multipliers that do the same, those of least norm; the same where they are unique."""
    if system.redundant is None:
        return evaluation.multipliers
    return projection(system, evaluation.motion).least_norm(evaluation.multipliers)


def refuse_gap(system: System, evaluation: Evaluation) -> None:
    """Raise :class:`MotionError` if constraints that repeat each other have left a gap that no motion closes."""
    assert system.redundant is not None
    gaps = np.abs(evaluation.constraint * system.constraint_weight)
    if gaps.max() > GAP:
        owner, equation = system.constraint_owner[int(np.argmax(gaps))]
        raise MotionError(
            f"{owner} is open at t = {evaluation.motion.t:.6g} s ({equation}: {gaps.max():.2g}, lengths against "
            "the extent of the model), and no motion closes it: joints that repeat each other contradict each "
            f"other, by their drives or because axes and points do not match. {system.redundant.text}"
        )
