"""One step of the symplectic Euler method of the constrained Hamilton equations on the group.

*Euler methods on Lie group for DAEs of multibody systems* (2018), eq. 7.

From the discrete action ``h (T(w) - V(q_0))``, with the momenta ``p = M v`` and the forces ``f_0`` at the start,

    T^-T(-h w) M w = p_0 + h f_0 - h B^T(q_0) lambda,    q_1 = q_0 exp(h w),    Phi(q_1) = 0,
    p_1 = T^-T(h w) M w - B^T(q_1) mu,    B(q_1) M^-1 p_1 + Phi_t = 0.

Implicit in ``w`` and ``lambda`` alone, by a mass matrix that must not change; forces are explicit. Reactions are
``lambda + mu/h``: ``mu`` has half of what curves the motion. Models whose mass matrix changes are refused.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fem_mbs.alpha.local_error import highest_derivatives
from fem_mbs.alpha.step import Linearization
from fem_mbs.arrays import Array
from fem_mbs.contracts import Element, Motion, RateSensitivities, State
from fem_mbs.errors import ModelError
from fem_mbs.initial.consistent_start import side
from fem_mbs.lie import se3
from fem_mbs.newton import Iterate
from fem_mbs.system import constraints
from fem_mbs.system.matrices import mass_entries, mass_product, solve_with_constraints, velocity_residual
from fem_mbs.system.pattern import TINY, flat
from fem_mbs.system.system import Evaluation, System

MOVE = 1e-2
"""By how much nodes are moved to see whether masses change: in rad, and of the extent of the model."""
CHANGES = 1e-9
"""Changes of a mass below this share of the largest are rounding."""


def check_hamiltonian(system: System, method: str) -> None:
    """Refuse, by name, constraints of velocities, unknowns of first order or algebraic, and masses that change."""
    if system.has_velocity_level:
        joint, equation = system.constraint_owner[int(np.argmax(system.velocity_level))]
        raise ModelError(
            f"{method} is for constraints on positions, and {joint} has one of velocities ({equation}): that "
            "motion is not Hamiltonian; take form 'index2' or GeneralizedAlpha"
        )
    for (owner, variable), order in zip(system.internal_variables, system.order, strict=True):
        if order in (0, 1):
            kind = "algebraic" if order == 0 else "a state of first order"
            raise ModelError(
                f"{method} cannot integrate '{variable.name}' of {owner}, which is {kind} and has no momentum; take "
                "form 'index2' or GeneralizedAlpha"
            )
    if (element := _changing(system)) is not None:
        raise ModelError(
            f"{method} needs a mass matrix that never changes, and that of {element} does as nodes move: on SE(3) "
            "rigid bodies are welcome, on R3xSO3 those with their mass centre at the node (center_of_mass=(0, 0, 0)); "
            "take group='SE3', a node at the mass centre, form 'index2' or GeneralizedAlpha"
        )


def _changing(system: System) -> Element | None:
    """An element whose mass is not the same everywhere, in the components of the groups; None if there is none."""
    rng = np.random.default_rng(0)
    way = MOVE * rng.uniform(-1.0, 1.0, system.N) / system.weight
    here = system.at_rest()
    R, x = se3.compose(here.R, here.x, *se3.exp(system.nodes_of(way)))
    u = here.u + system.own_of(way)
    there = Motion(0.0, x, R, here.V, here.A, here.gravity, u, here.udot, here.uddot, here.multipliers)
    for batch, one, other in zip(system.batches, _masses(system, here), _masses(system, there), strict=True):
        if one is not None and other is not None:
            change = np.abs(other - one).max(axis=(1, 2))
            worst = int(np.argmax(change))
            if change[worst] > CHANGES * np.abs(one[worst]).max():
                return batch.owners[worst]
    return None


def _masses(system: System, motion: Motion) -> list[Array | None]:
    """``P^T M P`` (n, b, b) of all batches, None without mass."""
    unit = np.moveaxis(np.broadcast_to(np.eye(6), (system.n, 6, 6)), 1, 0)
    P = RateSensitivities(np.moveaxis(system.kinematics.to_body(motion.R, unit), 0, 2), np.ones(system.k))
    result: list[Array | None] = []
    for batch, data in zip(system.batches, system.prescribe(0.0).elements, strict=True):
        mass = batch.mass(batch.force(motion, data)[1])
        if mass is not None:
            half = P.after(mass, batch.nodes, batch.own)
            mass = P.after(half.mT, batch.nodes, batch.own)
        result.append(mass)
    return result


ROUNDING = 1e-13, 1e-14
"""Residuals of forces and constraints beyond which Newton's method only goes if they still fall: what it leaves of the
momentum balance is momentum that is lost."""
SLOW = 1e-6
"""Share of the rate ``p/h`` of momenta below which forces are none."""
Unknown = tuple[Array, Array]


class SymplecticResidual(NamedTuple):
    """The equations at a trial."""

    evaluation: Evaluation
    """The constraints at the end of the step, and what elements said at its start."""
    force: Array
    """``h^2`` times the momentum balance over ``h``, in body components at the start, ``(N,)``."""
    relative: float
    """Largest of these forces against the largest that made them up."""


class SymplecticProblem:
    """The equations of one step in ``D = h w`` (N,) and the multipliers (m,)."""

    by_reactions = False

    def __init__(self, system: System, state: State, h: float) -> None:
        self.system, self.state, self.h = system, state, h
        self.coupled = np.ones((system.n, 6))
        for group, rows in system.kinematics.parts:
            if not group.coupled:
                self.coupled[rows, :3] = 0.0
        v = state.rates
        # just after anything that jumps there
        V, A = system.kinematics.motion(state.R, np.stack([state.v, 0.0 * state.v]))
        motion = Motion(state.t, state.x, state.R, V, A, system.gravity, state.u, state.udot, np.zeros(system.k))
        self.start = system.evaluate(motion, state.multipliers, system.prescribe(state.t + side(state.t)))
        """The equations at the start of the step."""
        self.momentum = self._mass(v)
        turned = system.from_body(state.R, self.start.force - self._reactions(self.start, state.multipliers))
        dual = np.vecmat(self.coupled * system.nodes_of(self.momentum), se3.bracket(self.coupled * state.v))
        applied = -turned - system.with_own(dual, 0.0 * v)
        self.applied = system.spread(system.at_free(applied))
        """``f_0``: forces without accelerations, but for those with which momenta turn, ``ad^T(v) M v``."""
        self.prescribed_at_end = system.prescribe(state.t + h)

    def guess(self) -> Unknown:
        """A step of the accelerations at its start."""
        state = self.state
        return self.h * state.rates + self.h**2 * highest_derivatives(self.system, state), state.multipliers

    def evaluate(self, unknown: Unknown) -> SymplecticResidual:
        """Momentum balance and constraints."""
        system, h, (D, multipliers) = self.system, self.h, unknown
        impulses = np.stack(
            [
                self._left(-D, self._mass(D)) - h * self.momentum,
                -h * h * self.applied,
                h * h * system.from_body(self.state.R, self._reactions(self.start, multipliers)),
            ]
        )
        force = system.spread(system.at_free(system.to_body(self.state.R, impulses.sum(axis=0))))
        relative = self._relative(force, np.concatenate([impulses, SLOW * h * self.momentum[None]]))
        return SymplecticResidual(self.end(D), force, relative)

    def end(self, D: Array) -> Evaluation:
        """Constraints at the end of the step for velocities that vanish."""
        system, state = self.system, self.state
        x, R = system.kinematics.retract(state.x, state.R, system.nodes_of(D))
        still, u = np.zeros((system.n, 6)), state.u + system.own_of(D)
        motion = Motion(state.t + self.h, x, R, still, still, system.gravity, u, 0.0 * u, 0.0 * u, state.multipliers)
        at_end = system.joints(motion, self.prescribed_at_end)
        names = "motion", "constraint", "gradients", "constraint_contexts", "velocity", "phi"
        return self.start._replace(**{name: getattr(at_end, name) for name in names})

    def size(self, trial: SymplecticResidual) -> tuple[float, float]:
        """Relative residuals of forces and of constraints."""
        gaps = np.abs(trial.evaluation.constraint * self.system.constraint_weight)
        return trial.relative, float(gaps.max(initial=0.0))

    def linearize(
        self, unknown: Unknown, trial: SymplecticResidual, first: Linearization | None = None
    ) -> Linearization:
        """``[[(T^-T(-D) M D)' , B^T(q_0)], [B(q_1), 0]]`` from increments at the end to forces at the start."""
        system, D, R = self.system, self.system.nodes_of(unknown[0]), trial.evaluation.motion.R
        kinematics, own = system.kinematics, np.ones(system.k)
        T_inv = kinematics.inverse_tangent(D)
        right = RateSensitivities(T_inv @ kinematics.body_transfer(R, self.state.R), own)
        left = RateSensitivities(kinematics.inverse_tangent(-D), own)
        blocks = []
        for batch, context, rows in zip(system.batches, self.start.contexts, system.components, strict=True):
            block = np.zeros((*rows.shape, rows.shape[1]))
            if (mass := batch.mass(context)) is not None:
                block = left.after(mass.mT, batch.nodes, batch.own).mT
                share = np.matvec(mass, unknown[0][rows])
                for k in range(batch.nodes.shape[1]):
                    at, place = batch.nodes[:, k], slice(6 * k, 6 * k + 6)
                    # the derivative of T^-T(D) p; that of R3xSO3 is that of SE(3) without moves
                    operator = se3.InverseTangent.of(-self.coupled[at] * D[at])
                    momentum = self.coupled[at] * share[:, place]
                    block[:, place, place] -= operator.derivative(momentum, transposed=True)
                block = right.after(block, batch.nodes, batch.own)
            blocks.append(block)
        bending = [np.zeros((*rows.shape, rows.shape[1])) for rows in system.bending_components]
        gradients = [*trial.evaluation.gradients, *self.start.gradients]
        values = flat([*blocks, *bending, *gradients])
        values = np.append(values, np.zeros(len(system.pattern.rows) - len(values)))
        return Linearization(system.solver.factorized(values), T_inv)

    def correction(self, unknown: Unknown, trial: SymplecticResidual, linearization: Linearization) -> Unknown:
        """``(delta q, delta lambda)``, scaled as ``(delta q, h^2 delta lambda)``."""
        gaps = trial.evaluation.constraint
        d, multipliers = solve_with_constraints(self.system, linearization.factors, trial.force, gaps)
        return d, multipliers / self.h**2

    def length(self, correction: Unknown) -> float:
        """Largest increment of the configuration, weighted."""
        return float(np.abs(correction[0] * self.system.weight).max())

    def corrected(
        self, at: Iterate[Unknown, SymplecticResidual, Linearization], correction: Unknown, step_length: float
    ) -> Unknown:
        assert at.linearization is not None
        system, (d, multipliers) = self.system, correction
        turned = system.from_body(at.value.evaluation.motion.R, d)
        D = system.with_own(np.matvec(at.linearization.T_inv, system.nodes_of(turned)), turned)
        return at.unknown[0] - step_length * D, at.unknown[1] - step_length * multipliers

    def result(self, D: Array, multipliers: Array) -> State:
        """The state at the end: momenta there, and velocities that obey the constraints."""
        system, state, h = self.system, self.state, self.h
        at = self.end(D)
        motion, phi_t = at.motion, velocity_residual(system, at)
        momentum = system.to_body(motion.R, self._left(D, self._mass(D)) / h)
        entries = mass_entries(system, at)
        # impulses of joints change nothing of friction, which is among the forces of the start
        entries[system.pattern.force_entries + 2 * system.pattern.gradient_entries :] = 0.0
        factors = system.solver.factorized(entries)
        V, mu = solve_with_constraints(system, factors, momentum, -phi_t)
        v = system.from_body(motion.R, V)
        a = (v - state.rates) / h
        rates, own = (system.nodes_of(v), system.nodes_of(a)), (system.own_of(v), system.own_of(a))
        return State(motion.t, motion.x, motion.R, rates[0], rates[1], multipliers + mu / h, motion.u, own[0], own[1])

    def _mass(self, d: Array) -> Array:
        """``M d`` (N,)."""
        return mass_product(self.system, self.start, d)

    def _left(self, D: Array, momentum: Array) -> Array:
        """``T^-T(D)`` times momenta (N,)."""
        system = self.system
        T_inv = system.kinematics.inverse_tangent(system.nodes_of(D))
        return system.with_own(np.matvec(T_inv.mT, system.nodes_of(momentum)), momentum)

    def _reactions(self, at: Evaluation, multipliers: Array) -> Array:
        return constraints.gradient_transpose_product(self.system, at.gradients, multipliers)

    def _relative(self, force: Array, parts: Array) -> float:
        """Largest residual against the largest force, moment and own term that made them up."""
        kind = np.append(np.tile([0, 0, 0, 1, 1, 1], self.system.n), np.full(self.system.k, 2))
        largest, sizes = (
            [np.abs(values[..., kind == k]).max(initial=least) for k in range(3)]
            for values, least in ((force, 0.0), (parts, TINY))
        )
        return float(np.max(np.divide(largest, sizes)))
