"""Iteration matrices that leave terms out, for comparison: Newton's method then takes more, but cheaper, iterations.

``simplified``: inertia and constraints alone (Arnold, Cardona, Bruels 2015, section 3.5); ``without_tangent_operator``:
``T = I``; ``applied_forces``: without the derivatives of inertia forces and reactions against coordinates (Holzinger,
Arnold, Gerstmayr 2024, eqs. 37 and 42).
"""

from __future__ import annotations

import numpy as np

from fem_mbs.alpha.step import Entries, MatrixEntries, StepEquations, StepResidual, Unknowns, exact_entries
from fem_mbs.arrays import Array
from fem_mbs.contracts import RateSensitivities
from fem_mbs.system import constraints
from fem_mbs.system import matrices as tangent
from fem_mbs.system.kinematics import Kinematics
from fem_mbs.system.matrices import mass_product


def simplified(equations: StepEquations, unknown: Unknowns, residual: StepResidual) -> Entries:
    """Of inertia and constraints alone."""
    place = residual.place
    T_inv, lifted = equations.chart.derivatives(place.D, place.node_rates[:2], equations.factors)
    dA = RateSensitivities(lifted[1], equations.own_factors[1])
    dV, _ = equations.body_derivatives(residual, lifted.copy())
    return tangent.rate_entries(equations.system, residual.evaluation, None, dA, equations.h**2), T_inv, dV


def without_tangent_operator(equations: StepEquations, unknown: Unknowns, residual: StepResidual) -> Entries:
    """As if increments were velocities."""
    T_inv, lifted = equations.constant_derivatives(unknown)
    dV, dA = equations.body_derivatives(residual, lifted)
    rows = equations.constraint_rows(residual, dV, dA) if equations.has_rows else None
    return tangent.entries(equations.system, residual.evaluation, dV, dA, equations.h**2, rows=rows), T_inv, dV


def applied_forces(equations: StepEquations, unknown: Unknowns, residual: StepResidual) -> Entries:
    """Without what inertia forces and reactions change with the coordinates."""
    T_inv, dV, dA = equations.derivatives(residual)
    rows = equations.constraint_rows(residual, dV, dA) if equations.has_rows else None
    of_inertia, turned = _not_applied(equations, unknown, residual, T_inv)
    dA = RateSensitivities(dA.nodes - of_inertia, dA.own)
    values = tangent.applied_entries(
        equations.system, residual.evaluation, dV, dA, turned, force_factor=equations.h**2, rows=rows
    )
    return values, T_inv, dV


ENTRIES: dict[str, MatrixEntries] = {
    "exact": exact_entries,
    "without_tangent_operator": without_tangent_operator,
    "applied_forces": applied_forces,
    "simplified": simplified,
}
"""By the names of :class:`fem_mbs.Newton`."""


def _not_applied(
    equations: StepEquations, unknown: Unknowns, residual: StepResidual, T_inv: Array
) -> tuple[Array, Array]:
    """The derivative of ``W^T (M W q'' + B^T lambda)``, with ``V = W q'``, but for that of ``B``.

    Against body increments, at constant ``q''`` and ``lambda``: the derivatives (n, 6, 6) of ``W q''``, and ``W^-T``
    times those of ``W^T`` times the wrenches in the bracket.
    """
    system, chart, evaluation = equations.system, equations.chart, residual.evaluation
    kinematics, R = chart.kinematics, evaluation.motion.R
    D, (_, second, _) = residual.place.D, residual.place.node_rates
    acceleration, by_position = chart.frozen(D, second)
    body = kinematics.to_body(R, acceleration)
    wrench = mass_product(system, evaluation, np.append(body, evaluation.motion.uddot) if system.k else body.ravel())
    wrench += constraints.gradient_transpose_product(system, evaluation.gradients, evaluation.multipliers)
    f = system.nodes_of(wrench)
    of_inertia = _turned(kinematics, body, by_position @ T_inv)
    of_wrench = T_inv.mT @ chart.frozen_transposed(D, kinematics.from_body(R, f)) @ T_inv
    # P^T f turns the other way than P w
    return of_inertia, of_wrench - _turned(kinematics, f, np.zeros_like(of_wrench))


def _turned(kinematics: Kinematics, body: Array, derivative: Array) -> Array:
    """Derivative (n, 6, 6) of ``P w``, given that of ``w``, where body components are ``body``."""
    pair = np.stack([body, np.zeros_like(body)]), np.stack([derivative, np.zeros_like(derivative)])
    return kinematics.body_derivatives(*pair)[0]
