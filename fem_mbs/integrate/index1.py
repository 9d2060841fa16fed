"""One step with constraints on accelerations: the index-1 equations.

``d^2 Phi/dt^2 = B V' + Z(V, V) + 2 Phi_tq V + Phi_tt = 0`` stands in place of ``Phi = 0``. Nothing brings positions and
velocities back to their own constraints: errors of the formulas let both drift away.
"""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.integrate.index3 import Index3Problem, Trial, Unknown
from fem_mbs.model import Follow
from fem_mbs.system import constraints
from fem_mbs.system.acceleration_level import AccelerationLevel


class Index1Problem(Index3Problem):
    """The equations of one step in the increment and the multipliers."""

    def evaluate(self, unknown: Unknown) -> Trial:
        """Equations of motion, and ``h^2`` times the constraints on accelerations."""
        trial = super().evaluate(unknown)
        return trial._replace(closing=self.h**2 * constraints.acceleration(self.system, trial.evaluation))

    def size(self, trial: Trial) -> tuple[float, float]:
        """Relative residuals; positions may be where they are."""
        force = max(trial.evaluation.relative, self.reaction(trial))
        return force, float(np.abs(trial.closing * self.system.constraint_weight).max())

    def rows(self, trial: Trial, dV: Follow, dA: Follow) -> list[Array]:
        """The derivatives of ``h^2`` times the constraints on accelerations."""
        level = AccelerationLevel(self.system, trial.evaluation, self.h)
        return [self.h**2 * row for row in level.gradients(dV, dA)]
