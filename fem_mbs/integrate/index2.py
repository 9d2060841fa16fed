"""One step of the generalised-alpha method for the stabilised index-2 equations.

Gear, Gupta and Leimkuhler; Arnold, Cardona, Bruels (2015), eqs. 55, 56, 61, 62: the velocity obeys its own constraint
``B v + Phi_t = 0``, at the price of a second set of multipliers, ``Delta q = Delta q_Newmark - B^T(q_n) eta``.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import block_array, csc_array
from scipy.sparse.linalg import splu

from fem_mbs.arrays import Array
from fem_mbs.errors import SingularSystemError
from fem_mbs.integrate.index3 import Index3Problem, Linearization, Trial, Unknown
from fem_mbs.integrate.parameters import Parameters
from fem_mbs.system import State, System


class Index2Problem(Index3Problem):
    """The equations of one step in the increment, the multipliers and ``h eta``."""

    def __init__(self, system: System, state: State, h: float, parameters: Parameters) -> None:
        super().__init__(system, state, h, parameters)
        motion = system.motion(state.t, state.x, state.R, state.v, state.vdot)
        self.start = system.evaluate(motion, state.multipliers, system.prescribe(state.t))

    def guess(self) -> Unknown:
        """That of index 3, and ``eta = 0``."""
        return (*super().guess(), np.zeros(self.system.m))

    def newmark_increment(self, unknown: Unknown) -> Array:
        """``D + h B^T(q_n) eta``."""
        push = self.system.gradient_transpose_product(self.start, unknown[2])
        return unknown[0] + self.system.kinematics.from_body(self.state.R, push)

    def evaluate(self, unknown: Unknown) -> Trial:
        """Those of index 3, and the constraint on velocities."""
        trial = super().evaluate(unknown)
        return trial._replace(hidden=self.h * self.system.constraint_rate(trial.evaluation, trial.motion))

    def size(self, trial: Trial) -> tuple[float, float]:
        """Relative residuals; the constraint on velocities times the step is compared with that on positions."""
        force, constraint = super().size(trial)
        hidden = np.abs(trial.hidden * self.system.constraint_weight).max(initial=0.0)
        return force, max(constraint, float(hidden))

    def linearize(self, unknown: Unknown, trial: Trial) -> Linearization:
        """The matrix of eq. 62 in the unknowns ``(delta q, h^2 delta lambda, h delta eta)``."""
        system, motion, evaluation = self.system, trial.motion, trial.evaluation
        kinematics, n, h = system.kinematics, system.n_free, self.h
        T = kinematics.inverse_tangent(unknown[0])
        dV, dA = kinematics.derivatives(motion.V, motion.A, T, self.gamma, self.beta)
        index3 = system.solver.matrix(self._values(trial, dV, dA))
        # against the Newmark increment alone, in body components of the end of the step
        unit = np.broadcast_to(np.eye(6), T.shape)
        own = kinematics.derivatives(motion.V, motion.A, unit, self.gamma, self.beta)
        held = kinematics.derivatives(motion.V, motion.A, unit, 0.0, 0.0)
        dV_w, dA_w = own[0] - held[0], own[1] - held[1]
        zero = np.zeros_like(T)
        M = system.solver.matrix(self._values(trial, dV_w, dA_w) - self._values(trial, zero, zero))[:n, :n]
        turn = kinematics.body_transfer(self.state.R, motion.R)
        push = system.gradient_matrix(system.gradients_times(self.start.gradients, turn.mT)).T
        velocity = system.gradients_times(evaluation.gradients, dV)
        rate = system.gradient_matrix(
            [a + b for a, b in zip(system.rate_gradients(evaluation, motion), velocity, strict=True)]
        )
        B_w = system.gradient_matrix(system.gradients_times(evaluation.gradients, dV_w))
        blocks = [
            [index3[:n, :n], index3[:n, n:], M @ push],
            [index3[n:, :n], None, None],
            [h * rate, None, h * (B_w @ push)],
        ]
        try:
            return Linearization(splu(csc_array(block_array(blocks, format="csc"))).solve, T)
        except RuntimeError as error:
            raise SingularSystemError("the matrix is singular") from error

    def _values(self, trial: Trial, dV: Array, dA: Array) -> Array:
        return self.system.iteration_matrix(trial.evaluation, dV, dA, self.h**2)
