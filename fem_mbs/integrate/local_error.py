"""The local error of a step: what Newmark's formulas leave, and what the equations of motion make of it."""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.integrate.generalized_alpha import GeneralizedAlpha
from fem_mbs.integrate.index3 import Index3Problem, Trial
from fem_mbs.solve import Report
from fem_mbs.system import State, System


def defect(system: System, older: State, state: State, method: GeneralizedAlpha, report: Report[Trial]) -> Array:
    """Defect ``h^3 (C_q vddot + ...)`` (n, 6) of the increment in the step that led to a state.

    Arnold, Cardona, Bruels (2015), Lemma 4.2. The second derivative of the velocity comes from the state and an
    ``older`` one; two steps lie between them where there are as many, because numerical damping makes the highest
    frequencies alternate from step to step.
    """
    problem: Index3Problem = report.problem
    vddot = (state.vdot - older.vdot) / (state.t - older.t)
    leading = problem.chart.local_error(method.coefficients.C_q, state.v, state.vdot, vddot)
    return np.where(system.free, problem.h**3 * leading, 0.0)


def local_error(system: System, state: State, defect: Array, method: GeneralizedAlpha, report: Report[Trial]) -> Array:
    """Error ``(n, 6)`` of the configuration that the equations of the step make of a defect.

    The iteration matrix does so with the inertia forces of the defect on the right-hand side: what joints do not allow
    and what stiffness holds back drops out.
    """
    parameters, kinematics = method.coefficients, system.kinematics
    problem: Index3Problem = report.problem
    trial = report.value
    linearization = report.linearization or problem.linearize(report.unknown, trial)
    body, _ = kinematics.motion(state.R, defect, np.zeros_like(defect))
    inertia = (1.0 - parameters.alpha_m) / (parameters.beta * (1.0 - parameters.alpha_f))
    force = inertia * system.free_part(system.inertia_force(trial.motion, problem.prescribed, body))
    right = [force, np.zeros(system.m)]
    if method.formulation == "index2":
        right.append(parameters.gamma / parameters.beta * system.gradient_product(trial.evaluation, body))
    error, _ = system.increments(linearization.solve(np.concatenate(right))[: system.size])
    return kinematics.from_body(state.R, error)
