"""The local error of a step of Radau IIA, from an embedded formula of order 3.

Hairer, Wanner II, IV.8, eqs. 8.17-8.19, for equations of second order: the difference of both formulas in positions and
in velocities is filtered by the real matrix of the stages, ``(w/h)^2 M + (w/h) C + K`` beside the constraints. What
stiffness and joints hold back drops out.
"""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.integrate.local_error import lead
from fem_mbs.integrate.radau_stages import Radau, Stages, Trial
from fem_mbs.integrate.radau_tableau import ERROR, REAL
from fem_mbs.solve import to_body
from fem_mbs.system import Factors
from fem_mbs.system.mass import rate_product, solve_with_constraints


def embedded_error(problem: Radau, stages: Stages, trial: Trial, factors: Factors) -> Array:
    """Difference (N,) of the configurations of both formulas, in body components."""
    system, h = problem.system, problem.h
    D = h / REAL * problem.begin + ERROR @ stages.D
    v = h / REAL * lead(system, problem.state) + ERROR @ (trial.rates[0] - problem.begin)
    last = trial.evaluations[2]
    D, v = to_body(system, last.motion.R, D), to_body(system, last.motion.R, v)
    dV, dA = REAL * h * D * problem.moving, (REAL**2 * D + REAL * h * v) * problem.second
    force = rate_product(system, last, dV, dA)
    error, _ = solve_with_constraints(system, factors, force, np.zeros(system.m))
    return error * problem.moving
