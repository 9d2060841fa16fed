"""Derivatives of the equations at a motion: against how bodies move, and against parameters of the model.

``r = M vdot + g + B^T lambda``, ``Phi`` and ``h (B v + Phi_t)`` follow the configuration, the group rates, what the
default formulation moves beside them (``Z``, see ``alpha/stabilized.py``), and the multipliers. The matrices are those
of the batches, cell by cell; :meth:`ResidualDerivative.times` and :meth:`ResidualDerivative.transposed` are their
products with many columns at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from fem_mbs.alpha.step import StepEquations, StepResidual, Unknowns
from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Motion
from fem_mbs.derivatives.parameters import Variation, changed_batches, check_structure
from fem_mbs.system import constraints
from fem_mbs.system.system import System

KINK = 1e-2
"""Share of a difference by which its two halves may differ where a law is smooth."""


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


class Scatter:
    """Sums of what cells contribute to components ``(N,)``, for many columns."""

    def __init__(self, system: System) -> None:
        places = [
            *system.components,
            *system.bending_components,
            *system.gradient_components,
            *(system.components[k] for k in system.readers),
        ]
        self._sum = _summing([own.ravel() for own in places], system.N)

    def __call__(self, parts: Sequence[Array]) -> Array:
        """From ``(cells, b, P)`` of elements, joints, constraint equations and readers, in this order."""
        values: Array = self._sum @ np.concatenate([part.reshape(-1, part.shape[-1]) for part in parts])
        return values


def _summing(places: Sequence[IntArray], size: int) -> csr_array:
    slots = np.concatenate([np.empty(0, np.intp), *places])
    return csr_array((np.ones(len(slots)), (slots, np.arange(len(slots)))), (size, len(slots)))


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

    def __init__(self, equations: StepEquations, unknown: Unknowns, residual: StepResidual, scatter: Scatter) -> None:
        self.system, self.h, self.scatter = equations.system, equations.h, scatter
        system, evaluation = self.system, residual.evaluation
        Z = unknown.Z if len(unknown.Z) else np.zeros(system.N)
        self.maps = NodeMaps(equations, evaluation.motion.R, residual.body, system.nodes_of(Z))
        pairs = list(zip(system.batches, evaluation.contexts, strict=True))
        self.K = [batch.stiffness(context) for batch, context in pairs]
        self.C = [batch.damping(context) for batch, context in pairs]
        self.gyroscopic = [batch.gyroscopic(context) for batch, context in pairs]
        self.M = [batch.mass(context) for batch, context in pairs]
        joints = zip(system.constraint_batches, evaluation.constraint_contexts, system.constraint_slices, strict=True)
        self.bending = [joint.stiffness(context, evaluation.multipliers[rows]) for joint, context, rows in joints]
        self.B, self.w = evaluation.gradients, constraints.velocity_gradients(system, evaluation)
        self.readings = [system.batches[k].by_multipliers(evaluation.contexts[k]) for k in system.readers]

    def times(self, moved: Inputs) -> Rows:
        """Derivatives of the equations along these."""
        system, maps = self.system, self.maps
        q, v, vdot, Z = (self._nodes(part) for part in moved[:4])
        Pv = maps.P @ v
        V = self._all(Pv + maps.turn_V @ q, moved.v)
        A = self._all(maps.P @ vdot + maps.cross @ Pv + maps.turn_A @ q, moved.vdot)
        beside = self._all(maps.P @ Z / self.h + maps.turn_Z @ q, moved.Z / self.h)
        parts = []
        for K, C, G, M, rows in zip(self.K, self.C, self.gyroscopic, self.M, system.components, strict=True):
            force = K @ moved.q[rows]
            if C is not None:
                force = force + C @ (V + beside)[rows]
            if G is not None:
                force = force - G @ beside[rows]
            if M is not None:
                force = force + M @ A[rows]
            parts.append(force)
        parts += [K @ moved.q[rows] for K, rows in zip(self.bending, system.bending_components, strict=True)]
        for B, _, _, equations in self._gradients():
            parts.append(B[:, :, None] * moved.multipliers[equations, None])
        parts += [own @ moved.multipliers[rows] for own, (_, rows) in zip(self.readings, system.reads, strict=True)]
        closing, hidden = np.empty((system.m, moved.q.shape[1])), self._hidden(moved.q, V)
        for B, _, own, equations in self._gradients():
            closing[equations] = (B[:, None] @ moved.q[own])[:, 0]
        return Rows(self.scatter(parts), np.where(system.velocity_level[:, None], hidden, closing), hidden)

    def hidden(self, q: Array, v: Array) -> Array:
        """Derivatives ``(m, P)`` of ``h (B v + Phi_t)`` alone."""
        V = self.maps.P @ self._nodes(v) + self.maps.turn_V @ self._nodes(q)
        return self._hidden(q, self._all(V, v))

    def _hidden(self, q: Array, V: Array) -> Array:
        result = np.empty((self.system.m, q.shape[1]))
        for B, w, own, rows in self._gradients():
            result[rows] = self.h * (w[:, None] @ q[own] + B[:, None] @ V[own])[:, 0]
        return result

    def transposed(self, rows: Rows) -> Inputs:
        """Products of these rows with the derivatives: what :meth:`times` does, the other way round."""
        system, maps, force = self.system, self.maps, rows.force
        level = system.velocity_level[:, None]
        closing, hidden = np.where(level, 0.0, rows.closing), rows.hidden + np.where(level, rows.closing, 0.0)
        q, V, beside, A = np.zeros((4, *force.shape))
        for K, C, G, M, own in zip(self.K, self.C, self.gyroscopic, self.M, system.components, strict=True):
            at, add = force[own], partial(_add, own, system.N)
            q += add(K.mT @ at)
            if C is not None:
                pushed = add(C.mT @ at)
                V += pushed
                beside += pushed
            if G is not None:
                beside -= add(G.mT @ at)
            if M is not None:
                A += add(M.mT @ at)
        for K, own in zip(self.bending, system.bending_components, strict=True):
            q += _add(own, system.N, K.mT @ force[own])
        multipliers = np.zeros((system.m, force.shape[1]))
        for B, w, own, equations in self._gradients():
            multipliers[equations] = (B[:, None] @ force[own])[:, 0]
            gap, rate = closing[equations, None], self.h * hidden[equations, None]
            q += _add(own, system.N, B[:, :, None] * gap + w[:, :, None] * rate)
            V += _add(own, system.N, B[:, :, None] * rate)
        for reading, (k, read) in zip(self.readings, system.reads, strict=True):
            multipliers += _add(read, system.m, reading.mT @ force[system.components[k]])
        nodes_V, nodes_A, nodes_Z = self._nodes(V), self._nodes(A), self._nodes(beside)
        turned = maps.turn_V.mT @ nodes_V + maps.turn_A.mT @ nodes_A + maps.turn_Z.mT @ nodes_Z
        q[: 6 * system.n] += turned.reshape(-1, q.shape[1])
        v = self._all(maps.P.mT @ (nodes_V + maps.cross.mT @ nodes_A), V)
        return Inputs(
            q, v, self._all(maps.P.mT @ nodes_A, A), self._all(maps.P.mT @ nodes_Z, beside) / self.h, multipliers
        )

    def _gradients(self) -> Iterator[tuple[Array, Array, IntArray, slice]]:
        return zip(self.B, self.w, self.system.gradient_components, self.system.constraint_slices, strict=True)

    def _nodes(self, values: Array) -> Array:
        return values[: 6 * self.system.n].reshape(self.system.n, 6, -1)

    def _all(self, nodes: Array, own: Array) -> Array:
        return np.concatenate([nodes.reshape(-1, nodes.shape[-1]), own[6 * self.system.n :]])


def _add(places: IntArray, size: int, values: Array) -> Array:
    """Sums ``(size, P)`` of values ``(cells, b, P)`` at their places ``(cells, b)``."""
    result: Array = _summing([places.ravel()], size) @ values.reshape(-1, values.shape[-1])
    return result


def with_history(system: System) -> list[int]:
    """Numbers of the batches of elements with internal variables of kind "history"."""
    return [
        k for k, batch in enumerate(system.batches) if batch.own is not None and (system.order[batch.own] < 0).any()
    ]


class ModelDifference:
    """How the equations at a motion change with one parameter: the difference of two models, in what differs there."""

    def __init__(self, system: System, variation: Variation) -> None:
        self.system, self.variation = system, variation
        self.systems = [System(model, system.end) for model in variation.models]
        for other in self.systems:
            check_structure(system, other, variation.label)
        self.elements, self.joints = changed_batches(system, self.systems)
        if system.has_history:
            self.elements = sorted({*self.elements, *with_history(system)})
        self.kinks: dict[str, float] = {}
        """Elements whose forces have a kink within the difference, and when this was seen first."""

    def rows(self, motion: Motion, multipliers: Array, h: float, own: Array, look: bool = False) -> Rows:
        """Derivatives (N,), (m,), (m,) at a motion that is held; ``look`` for kinks, where it was evaluated last.

        ``own`` (k,) are derivatives of internal variables of kind "history", which no matrix knows.
        """
        system = self.system
        force, closing, hidden = np.zeros(system.N), np.zeros(system.m), np.zeros(system.m)
        pairs = zip(self.systems, self.variation.shifts, strict=True)
        motions = [self._seen(motion, other, shift * self.variation.step * own) for other, shift in pairs]
        for k in self.elements:
            values = []
            for other, here in zip(self.systems, motions, strict=True):
                batch = other.batches[k]
                values.append(batch.force(here, batch.at(min(here.t, other.end)))[0])
            change = self.variation.difference(values)
            if look:
                self._look(k, values, change, motion.t)
            places = (
                np.repeat(system.components[k][:, None], change.shape[1], 1)
                if change.ndim == 3
                else (system.components[k])
            )
            force += np.bincount(places.ravel(), change.ravel(), system.N)
        for k in self.joints:
            rows = system.constraint_slices[k]
            phi, rate, reaction = [], [], []
            for other, here in zip(self.systems, motions, strict=True):
                joints, at = other.constraint_batches[k], here.momentum or here
                value, gradient, context = joints.evaluate(at, joints.at(min(here.t, other.end)))
                phi.append(value)
                rate.append(constraints.rate(joints, at, value, gradient, context))
                reaction.append(multipliers[rows, None] * gradient)
            closing[rows], hidden[rows] = (self.variation.difference(values) for values in (phi, rate))
            change = self.variation.difference(reaction)
            force += np.bincount(system.gradient_components[k].ravel(), change.ravel(), system.N)
        hidden *= h
        return Rows(force, np.where(system.velocity_level, hidden, closing), hidden)

    def _seen(self, motion: Motion, other: System, own: Array) -> Motion:
        """The same motion in the world of another model: its gravity, and the point from which positions count."""
        x = motion.x + (self.system.origin - other.origin)
        momentum = None if motion.momentum is None else self._seen(motion.momentum, other, own)
        return replace(motion, x=x, gravity=other.gravity, momentum=momentum, u=motion.u + own)

    def _look(self, k: int, values: Sequence[Array], change: Array, t: float) -> None:
        """See whether the two halves of a difference agree."""
        if len(values) != 2:
            return
        work = self.system.workspace.element_forces[k]
        halves = np.abs(values[0] + values[1] - 2.0 * work)
        sizes = np.abs(change) * self.variation.step
        if (halves > KINK * sizes.max(initial=0.0) + 1e-9 * np.abs(work).max(initial=0.0)).any():
            cell = int(np.argmax(halves.reshape(len(halves), -1).max(axis=1)))
            self.kinks.setdefault(
                str(self.system.batches[k].owners[min(cell, len(self.system.batches[k].owners) - 1)]), t
            )
