"""What an iteration matrix of applied forces alone leaves out (Holzinger, Arnold, Gerstmayr 2024, eqs. 37 and 42)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.system import constraints
from fem_mbs.system.mass import mass_product

if TYPE_CHECKING:
    from fem_mbs.integrate.index3 import Index3Problem, Trial, Unknown
    from fem_mbs.system import Kinematics


def not_applied(problem: Index3Problem, unknown: Unknown, trial: Trial, T_inv: Array) -> tuple[Array, Array]:
    """The derivative of ``W^T (M W q'' + B^T lambda)``, with ``V = W q'``, but for that of ``B``.

    Against body increments, at constant ``q''`` and ``lambda``: the derivatives (n, 6, 6) of ``W q''``, and ``W^-T``
    times those of ``W^T`` times the wrenches in the bracket.
    """
    system, chart, evaluation = problem.system, problem.chart, trial.evaluation
    kinematics, R = chart.kinematics, evaluation.motion.R
    D, second = problem.coordinates(unknown), problem.of_nodes(trial.rates[1])
    acceleration, by_position = chart.frozen(D, second)
    body = kinematics.to_body(R, acceleration)
    wrench = mass_product(system, evaluation, np.append(body, evaluation.motion.uddot))
    wrench += constraints.gradient_transpose_product(system, evaluation.gradients, evaluation.multipliers)
    f = system.nodes_of(wrench)
    of_inertia = _turned(kinematics, body, by_position @ T_inv)
    of_wrench = T_inv.mT @ chart.frozen_transposed(D, kinematics.from_body(R, f)) @ T_inv
    # P^T f turns the other way than P w
    return of_inertia, of_wrench - _turned(kinematics, f, np.zeros_like(of_wrench))


def _turned(kinematics: Kinematics, body: Array, derivative: Array) -> Array:
    """Derivative (n, 6, 6) of ``P w``, given that of ``w``, where body components are ``body``."""
    pair = np.stack([body, np.zeros_like(body)]), np.stack([derivative, np.zeros_like(derivative)])
    result: Array = kinematics.derivatives(*pair)[0]
    return result
