"""The end of a step of Radau IIA: joints closed, accelerations and multipliers that obey the hidden constraints.

The stages obey the constraints on velocities. Positions leave theirs by an error of the order of the step's own, which
is taken out as in projected Runge-Kutta methods (Hairer, Wanner II, VII.2), along what forces of the joints do to the
structure within the step, so that nothing stiff is set in motion. Multipliers and accelerations of the last stage are
of order 3 where joints act; the hidden constraints give them the order of positions and velocities.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fem_mbs.integrate.radau_stages import Radau, Stages
from fem_mbs.integrate.radau_tableau import REAL
from fem_mbs.solve import NotConvergedError, from_body
from fem_mbs.system import Factors, State, constraints
from fem_mbs.system.mass import leading_matrix, solve_with_constraints

CORRECTIONS = 10
"""Corrections after which joints do not close."""
ROUNDING = 1e-15
"""Gaps below this are left, lengths over the extent of the model; of others one correction leaves next to nothing."""


def last_stage(problem: Radau, stages: Stages) -> State:
    """The state at the last stage."""
    system, n = problem.system, problem.system.n
    x, R, rates = problem.place(stages.D)
    own = problem.own(stages.D[2], rates[:, 2])
    v, vdot = (system.nodes_of(part) for part in rates[:, 2])
    return State(problem.state.t + problem.h, x[2 * n :], R[2 * n :], v, vdot, stages.multipliers[2], *own)


def closed(problem: Radau, state: State, factors: Factors, tolerance: float) -> State:
    """The state with joints closed on positions and velocities, to a tolerance."""
    system, h, prescribed = problem.system, problem.h, problem.prescribed[2]
    per_rate, none = REAL / h, np.zeros(system.N)
    for k in range(CORRECTIONS):
        joints = system.joints(system.motion(state), prescribed)
        velocity = h * constraints.velocity_residual(system, joints)
        gaps = np.abs(np.stack([joints.constraint, velocity]) * system.constraint_weight).max()
        if gaps <= (tolerance if k else ROUNDING):
            return state
        d, multipliers = solve_with_constraints(system, factors, none, REAL * joints.constraint)
        w, _ = solve_with_constraints(system, factors, none, velocity)
        d, w = from_body(system, state.R, d) * problem.second, from_body(system, state.R, w) * problem.second
        x, R = system.kinematics.retract(state.x, state.R, -system.nodes_of(d))
        state = replace(
            state,
            x=x,
            R=R,
            v=state.v - per_rate * system.nodes_of(w),
            vdot=state.vdot - per_rate**2 * system.nodes_of(d),
            multipliers=state.multipliers - multipliers / h**2,
            u=state.u - system.own_of(d),
            udot=state.udot - per_rate * system.own_of(w),
            uddot=state.uddot - per_rate**2 * system.own_of(d),
        )
    raise NotConvergedError(f"joints stay open by {gaps:.1e} at the end of a step")


def settled(problem: Radau, state: State, factors: Factors) -> State:
    """The state with accelerations and multipliers that obey the equations of motion and the hidden constraints.

    Of the first, what Newton's method has left is taken out with the matrix of the stages: that of the masses alone
    would make large accelerations of small errors of what is stiff.
    """
    system, h, order = problem.system, problem.h, problem.order
    motion = system.motion(state)
    evaluation = system.evaluate(motion, state.multipliers, problem.prescribed[2])
    change, multipliers = solve_with_constraints(system, factors, -h * h * evaluation.force, np.zeros(system.m))
    change, multipliers = (REAL / h) ** order.clip(0) * change, multipliers / h**2
    if system.m:
        accelerations = np.append(motion.A, state.uddot) + change * problem.second
        missed = constraints.acceleration_residual(system, evaluation)
        missed += constraints.gradient_product(system, evaluation, accelerations)
        matrix = system.solver.factor(leading_matrix(system, evaluation))
        more, forces = solve_with_constraints(system, matrix, np.zeros(system.N), -missed)
        change, multipliers = change + more, multipliers + forces
    vdot = system.kinematics.vdot(state.R, motion.V, motion.A + system.nodes_of(change))
    own, order = system.own_of(change), system.order
    return replace(
        state,
        vdot=np.where(system.free, vdot, 0.0),
        multipliers=state.multipliers + multipliers,
        u=state.u + np.where(order == 0, own, 0.0),
        udot=state.udot + np.where(order == 1, own, 0.0),
        uddot=state.uddot + np.where(order == 2, own, 0.0),
    )
