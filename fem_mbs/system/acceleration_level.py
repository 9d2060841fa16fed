"""How the constraints on accelerations change with the configuration.

``c = B V' + Z(V, V) + 2 Phi_tq V + Phi_tt`` is the time derivative of the residual ``B V + Phi_t``, whose derivatives
against increments at constant body velocities are ``w``. With ``D/Dt`` the derivative along the motion at constant body
velocities,

    dc = (H V') d + B dV' + (w + DB/Dt) dV + (Dw/Dt - w ad(V)) d.

The last term has third derivatives of the constraints, but along the motion alone: it is taken by a difference of
second order, over a small share of the step that has led here. The bracket ``ad(V)`` is there because increments do not
commute with the motion.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.lie import se3, so3
from fem_mbs.model import Follow
from fem_mbs.system.constraints import body_velocity, gradients_after, rate_gradient_of, velocity_gradients
from fem_mbs.system.evaluation import Evaluation
from fem_mbs.system.system import System

BACK = 1e-4
"""Share of a step over which derivatives along the motion are taken."""


class AccelerationLevel:
    """Derivatives (m, b) of ``c`` for each batch, at the end of a step of ``h``."""

    def __init__(self, system: System, evaluation: Evaluation, h: float) -> None:
        self.system, self.evaluation = system, evaluation
        self.w = velocity_gradients(system, evaluation)
        before = [self._before(share * BACK * h) for share in (1.0, 2.0)]
        self.B_rate, self.w_rate = (
            [(3.0 * a - 4.0 * b + c) / (2.0 * BACK * h) for a, b, c in zip(here, *there, strict=True)]
            for here, *there in zip((evaluation.gradients, self.w), *before, strict=True)
        )

    def by_rates(self, dV: Follow, dA: Follow) -> list[Array]:
        """Where velocities and accelerations change and nodes stay where they are."""
        system, V = self.system, self.evaluation.motion.V
        # V' has -Omega x U beside the acceleration of the point
        rate = dA.nodes.copy()
        rate[:, :3] += so3.skew(V[:, :3]) @ dV.nodes[:, 3:] - so3.skew(V[:, 3:]) @ dV.nodes[:, :3]
        both = [w + B_rate for w, B_rate in zip(self.w, self.B_rate, strict=True)]
        pairs = zip(
            gradients_after(system, self.evaluation.gradients, Follow(rate, dA.own)),
            gradients_after(system, both, dV),
            strict=True,
        )
        return [a + b for a, b in pairs]

    def gradients(self, dV: Follow, dA: Follow) -> list[Array]:
        """Where nodes move, and velocities and accelerations follow."""
        system, motion = self.system, self.evaluation.motion
        rate = np.append(motion.A, motion.uddot)
        system.nodes_of(rate)[:, :3] -= np.cross(motion.V[:, 3:], motion.V[:, :3])
        turned = gradients_after(system, self.w, Follow(se3.bracket(motion.V), np.zeros(system.k)))
        joints = zip(
            system.constraint_batches, self.evaluation.constraint_contexts, system.constraint_components, strict=True
        )
        bent = [batch.rate_gradient(context, rate[rows]) for batch, context, rows in joints]
        return [sum(parts) - t for *parts, t in zip(bent, self.by_rates(dV, dA), self.w_rate, turned, strict=True)]

    def _before(self, s: float) -> tuple[list[Array], list[Array]]:
        """``B`` and ``w`` a time ``s`` before, for the same body velocities."""
        system, motion = self.system, self.evaluation.motion
        R, x = se3.compose(motion.R, motion.x, *se3.exp(-s * motion.V))
        moved = replace(motion, t=motion.t - s, x=x, R=R, u=motion.u - s * motion.udot)
        V, gradients, rates = body_velocity(motion), [], []
        for joints, rows in zip(system.constraint_batches, system.constraint_components, strict=True):
            _, B, context = joints.evaluate(moved, joints.at(moved.t))
            gradients.append(B)
            rates.append(rate_gradient_of(joints, context, V[rows]))
        return gradients, rates
