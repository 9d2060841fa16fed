"""The error of a run, carried along: what the tangent of each step makes of the errors of those before.

A sum of errors of single steps does not know how motions part. With the errors ``(e, e_v, e_vdot, e_a)`` of the
configuration, of velocities, accelerations and algorithmic ones, those at the end of a step are those of the perturbed
step. As ``exp(e) exp(D) = exp(D + T^-1(-D) e + ...)``, the increment is perturbed by ``T^-1(D) e_n+1 - p`` with
``p = T^-1(-D) e_n``, and Newmark's formulas, linear in it, leave

    S e_n+1 = -h^2 (C (v^ - gamma' p) + M (a^ - beta' p)),

with the iteration matrix ``S`` that the step has factorised, and what the formulas make of ``(e_v, e_vdot, e_a)`` alone
in ``v^`` and ``a^``: one product and one more solution. What velocities then miss of their constraints is taken from
Newmark's increment as in the step itself (``stabilized.py``), by another; without it these errors would grow as index 3
does in steps that turn too far. To all this comes what the step itself gets wrong: the defects of the increment,
``C_q h^3 vddot``, and of the velocities, ``C_v h^3 v_ttt``, with their signs, so that what cancels does so.
"""

from __future__ import annotations

import numpy as np

from fem_mbs.alpha.stabilized import StabilizedEquations
from fem_mbs.alpha.step import Linearization, StepEquations, StepResidual
from fem_mbs.arrays import Array
from fem_mbs.system.matrices import rate_product, solve_with_constraints
from fem_mbs.system.system import System


def carry(
    equations: StepEquations, residual: StepResidual, matrix: Linearization, before: Array, rates: Array, defect: Array
) -> Array:
    """Errors ``(4, N)`` of configuration and rates at the end of a step, in group components.

    ``before`` (N,) are those of the configuration at its start, ``rates`` (3, N) what Newmark's formulas make of those
    of the rates, with the defect of velocities; ``defect`` (N,) is that of the increment.
    """
    system, h, evaluation, n = equations.system, equations.h, residual.evaluation, 6 * equations.system.n
    kinematics, R = system.kinematics, evaluation.motion.R
    factors, errors = equations.formulas.factors, before[:n].reshape(-1, 6)
    moved = np.matvec(matrix.T_inv, errors)
    kinematics.add_bracket(moved, -1.0, residual.place.D, errors)
    known = rates + factors * (defect - system.with_own(moved, before))
    own = kinematics.change(residual.body, kinematics.to_body(R, known[:2, :n].reshape(2, -1, 6)))
    dV, dA = system.with_own(own[0], known[0]), system.with_own(own[1], known[1])
    opening, per_rate, gaps = h * system.product(evaluation.gradients, dV), 1.0 / (h * equations.gamma), None
    if system.has_velocity_level:
        gaps, per_rate = np.where(system.velocity_level, -opening, 0.0), per_rate * ~system.velocity_level
    force = -(h**2) * rate_product(system, evaluation, dV, dA)
    d, _ = solve_with_constraints(system, matrix.factors, force, gaps)
    change = system.with_own(np.matvec(matrix.T_inv, d[:n].reshape(-1, 6)), d)
    if isinstance(equations, StabilizedEquations) and system.m:
        assert matrix.velocity_gradients is not None
        missed = per_rate * (opening + system.product(matrix.velocity_gradients, d))
        change = change - equations.along_constraints(matrix, missed)[0]
    after = known + factors * system.from_body(R, change)
    if system.k:  # rates of states stand for accelerations
        system.own_of(after[1])[:] += np.where(system.order == 1, system.own_of(after[0]), 0.0)
    return np.stack([system.from_body(R, d), *after])


def largest(system: System, errors: Array) -> Array:
    """Length in m and angle in rad ``(2,)`` of the worst node, of errors ``(4, N)``."""
    parts = errors[0, : 6 * system.n].reshape(-1, 2, 3)
    with np.errstate(over="ignore", invalid="ignore"):
        sizes: Array = np.nan_to_num(np.sqrt(np.maximum.reduce(np.vecdot(parts, parts))), nan=np.inf, posinf=np.inf)
    return sizes
