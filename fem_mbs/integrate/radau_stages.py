"""The equations of a step of Radau IIA: three stages of the constrained motion, and Newton's method for them.

Unknowns are the increments ``D_i`` (N,) from the start of the step to the stages, and multipliers (m,) there. What is
collocated are the increments, in the chart at the start, and the velocities,

    v_i = T(D_i) sum_j W_ij D_j/h,   vdot_i = sum_j W_ij (v_j - v_0)/h,   r_i = 0,   B_i v_i + Phi_t = 0.

With body increments ``d_i`` of the stages, body velocities change by ``d' + [v, d]``, on either group: the equations of
all stages become ``K + C dV + M dA`` of one place, with the eigenvalues of ``W/h`` in place of the time derivative
(docs/theory.md, "Radau IIA on the group").
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.integrate.local_error import rate
from fem_mbs.integrate.radau_tableau import COMPLEX, LEFT, NODES, RATES, REAL, RIGHT
from fem_mbs.lie import se3, so3
from fem_mbs.model import Follow, Motion
from fem_mbs.system import Evaluation, Factors, State, System, constraints, flat, tangent

MIDDLE = 1
"""The stage whose derivatives serve all."""


class Stages(NamedTuple):
    """Increments ``(3, N)`` and multipliers ``(3, m)``."""

    D: Array
    multipliers: Array


class Trial(NamedTuple):
    """The equations at the stages."""

    R: Array
    """``(3 n, 3, 3)``."""
    rates: Array
    """First and second rates on the group and of own unknowns, ``(2, 3, N)``."""
    evaluations: list[Evaluation]
    residual: Array
    """``h^2 r`` of free components and ``h (B v + Phi_t)``, ``(3, size)``."""


class Linearization(NamedTuple):
    """Factorised matrices for the real and the complex eigenvalue."""

    real: Factors
    complex: Factors


class Radau:
    """The equations of one step."""

    def __init__(self, system: System, state: State, h: float) -> None:
        self.system, self.state, self.h = system, state, h
        self.t = state.t + h * NODES
        self.prescribed = [system.prescribe(float(t)) for t in self.t]
        self.kinematics = system.stacked(3)
        self._x, self._R = np.tile(state.x, (3, 1)), np.tile(state.R, (3, 1, 1))
        self.begin = rate(state)
        self.order = np.append(np.full(6 * system.n, 2), system.order)
        self.moving, self.second = self.order > 0, self.order == 2
        """Components with a rate, and with an acceleration, ``(N,)``."""

    def nodes_of(self, values: Array) -> Array:
        """The part ``(3 n, 6)`` of stage values ``(3, N)`` that belongs to nodes."""
        return values[:, : 6 * self.system.n].reshape(-1, 6)

    def with_own(self, nodes: Array, values: Array) -> Array:
        """Stage values ``(3, N)`` of nodes ``(3 n, 6)``, and those of own unknowns as in ``values`` (3, N)."""
        parts = nodes.reshape(3, -1)
        return np.concatenate([parts, values[:, 6 * self.system.n :]], axis=1) if self.system.k else parts

    def slopes(self, rates: Array) -> Array:
        """Derivatives (3, N) of the polynomial through the rates at the start and at the stages."""
        result: Array = (RATES / self.h) @ (rates - self.begin)
        return result

    def place(self, D: Array) -> tuple[Array, Array, Array]:
        """Positions, rotations, and rates of first and second order, of all stages."""
        nodes = self.nodes_of(D)
        x, R = self.kinematics.retract(self._x, self._R, nodes)
        first = (RATES / self.h) @ D
        first = self.moving * self.with_own(np.matvec(self.kinematics.tangent(nodes), self.nodes_of(first)), first)
        return x, R, np.stack([first, self.slopes(first)])

    def evaluate(self, stages: Stages) -> Trial:
        """The equations at all stages."""
        system, n = self.system, self.system.n
        x, R, rates = self.place(stages.D)
        body = self.kinematics.motion(R, np.stack([self.nodes_of(part) for part in rates]))
        x, R, (V, A) = x.reshape(3, n, 3), R.reshape(3, n, 3, 3), body.reshape(2, 3, n, 6)
        residual, evaluations = np.empty((3, system.size)), []
        for i in range(3):
            own = self.own(stages.D[i], rates[:, i])
            motion = Motion(float(self.t[i]), x[i], R[i], V[i], A[i], system.gravity, *own)
            evaluation = system.evaluate(motion, stages.multipliers[i], self.prescribed[i])
            residual[i, : system.n_free] = self.h**2 * system.at_free(evaluation.force)
            if system.m:
                residual[i, system.n_free :] = self.h * constraints.velocity_residual(system, evaluation)
            evaluations.append(evaluation)
        return Trial(R.reshape(-1, 3, 3), rates, evaluations, residual)

    def own(self, D: Array, rates: Array) -> tuple[Array, Array, Array]:
        """Own unknowns and their rates at a stage."""
        system, first = self.system, 6 * self.system.n
        if not system.k:
            return self.state.u, self.state.udot, self.state.uddot
        return self.state.u + D[first:], rates[0, first:], (self.second * rates[1])[first:]

    def linearize(self, trial: Trial) -> Linearization:
        """Factorised ``[[h^2 (K + C dV + M dA), B^T], [w B + h (B v)', 0]]`` for both eigenvalues ``w`` of ``W``.

        ``dV = w/h + V``, ``dA = (w/h + X) dV`` with the brackets ``V`` and ``X`` of the body velocity: polynomials in
        ``w/h``, of which the entries are computed once.
        """
        system, evaluation, h = self.system, trial.evaluations[MIDDLE], self.h
        turning, carried = _brackets(evaluation.motion.V)
        one = np.broadcast_to(np.eye(6), turning.shape)
        own = slice(6 * system.n, None)
        none, moving, second = np.zeros(system.k), self.moving[own].astype(float), self.second[own].astype(float)
        held = tangent.entries(system, evaluation, Follow(turning, none), Follow(carried @ turning, none), h * h)
        once = tangent.rate_entries(system, evaluation, Follow(one, moving), Follow(turning + carried, none), h)
        twice = tangent.rate_entries(system, evaluation, None, Follow(one, second))
        forces = system.pattern.force_entries
        rows = slice(forces, forces + system.pattern.gradient_entries)
        turned = self._row_changes(evaluation, turning) if system.m else 0.0

        def factor(w: float | complex) -> Factors:
            values = held.astype(type(w))
            values[:forces] += w * once[:forces] + w * w * twice[:forces]
            values[rows] = w * held[rows] + turned
            return system.solver.factor(_assembled(system, values))

        return Linearization(factor(REAL), factor(COMPLEX))

    def _row_changes(self, evaluation: Evaluation, turning: Array) -> Array:
        """Flat ``h (d(B v)/dq + B V)``; left out where equations repeat each other, as their combinations turn, too."""
        system = self.system
        if system.redundant is not None:
            return np.zeros(system.pattern.gradient_entries)
        moved = constraints.gradients_after(system, evaluation.gradients, Follow(turning, np.zeros(system.k)))
        held = constraints.velocity_gradients(system, evaluation)
        return self.h * (flat(moved) + flat(held))

    def correction(self, stages: Stages, trial: Trial, linearization: Linearization) -> Stages:
        """Changes of the increments and of the multipliers, to be subtracted."""
        system = self.system
        parted = LEFT @ trial.residual
        y = linearization.real.solve(np.ascontiguousarray(parted[0].real))
        z = linearization.complex.solve(parted[1])
        solution = np.outer(RIGHT[:, 0].real, y) + 2.0 * np.outer(RIGHT[:, 1], z).real
        d = np.zeros((3, system.N))
        d[:, system.free_rows] = solution[:, : system.n_free]
        nodes = self.kinematics.from_body(trial.R, self.nodes_of(d))
        nodes = np.matvec(self.kinematics.inverse_tangent(self.nodes_of(stages.D)), nodes)
        return Stages(self.with_own(nodes, d), solution[:, system.n_free :] / self.h**2)


def _assembled(system: System, values: Array) -> Array:
    """Stored values of the matrix with real or complex entries."""
    if not np.iscomplexobj(values):
        return tangent.assemble(system, values)
    return tangent.assemble(system, values.real) + 1j * tangent.assemble(system, values.imag)


def _brackets(V: Array) -> tuple[Array, Array]:
    """``V`` with ``[V, d] = V d`` of body velocities, and ``X`` with ``A = V' + X V/2``, both ``(n, 6, 6)``."""
    turning = se3.bracket(V)
    carried = np.zeros_like(turning)
    carried[:, :3, :3] = so3.skew(V[:, 3:])
    carried[:, :3, 3:] = -so3.skew(V[:, :3])
    return turning, carried
