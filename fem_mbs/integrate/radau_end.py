"""The end of a step of Radau IIA: joints closed, accelerations and multipliers that obey the hidden constraints.

The stages obey the constraints on velocities. Positions leave theirs by an error of the order of the step's own, which
is taken out as in projected Runge-Kutta methods (Hairer, Wanner II, VII.2), along what forces of the joints do to the
structure within the step, so that nothing stiff is set in motion. Multipliers and accelerations of the last stage are of
order 3, where joints act; the hidden constraints give them the order of positions and velocities.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.integrate.local_error import lead
from fem_mbs.integrate.radau_stages import Radau, Stages, Trial
from fem_mbs.integrate.radau_tableau import REAL
from fem_mbs.solve import NotConvergedError, from_body, to_body
from fem_mbs.system import Evaluation, Factors, Prescribed, State, System, constraints
from fem_mbs.system.mass import leading_matrix, solve_with_constraints

CORRECTIONS = 10
ROUNDING = 1e-15
"""Gaps below this are left, lengths over the extent of the model; of others one correction leaves next to nothing."""


def last_stage(problem: Radau, stages: Stages) -> State:
    """The state at the last stage."""
    system, n = problem.system, problem.system.n
    x, R, rates = problem.place(stages.D)
    own = problem.own(stages.D[2], rates[:, 2])
    v, vdot = (system.nodes_of(part) for part in rates[:, 2])
    return State(problem.state.t + problem.h, x[2 * n :], R[2 * n :], v, vdot, stages.multipliers[2], *own)


def closed(system: System, state: State, h: float, prescribed: Prescribed, factors: Factors, tolerance: float) -> State:
    """The state with joints closed on positions and velocities, to a tolerance."""
    per_rate, none = REAL / h, np.zeros(system.N)
    for k in range(CORRECTIONS):
        joints = system.joints(system.motion(state), prescribed)
        velocity = h * constraints.velocity_residual(system, joints)
        gaps = np.abs(np.stack([joints.constraint, velocity]) * system.constraint_weight).max(axis=1)
        if gaps.max() <= (tolerance if k else ROUNDING):
            return state
        d, multipliers = solve_with_constraints(system, factors, none, REAL * joints.constraint)
        d = from_body(system, state.R, d)
        x, R = system.kinematics.retract(state.x, state.R, -system.nodes_of(d))
        w = from_body(system, state.R, solve_with_constraints(system, factors, none, velocity)[0])
        rates = per_rate * w, per_rate**2 * d
        v, vdot = (system.nodes_of(part) for part in rates)
        u, udot, uddot = (np.where(system.order == 2, system.own_of(part), 0.0) for part in (d, *rates))
        state = State(
            state.t,
            x,
            R,
            state.v - v,
            state.vdot - vdot,
            state.multipliers - multipliers / h**2,
            state.u - u,
            state.udot - udot,
            state.uddot - uddot,
        )
    raise NotConvergedError(f"joints stay open by {gaps.max():.1e} at the end of a step")


def with_hidden(system: System, state: State, prescribed: Prescribed, trial: Trial) -> State:
    """The state with accelerations and multipliers that obey the hidden constraints, and the same forces else."""
    motion = system.motion(state)
    joints = system.joints(motion, prescribed)
    mass: Evaluation = trial.evaluations[2]._replace(gradients=joints.gradients)
    accelerations = system.with_own(motion.A, np.append(motion.A, state.uddot))
    missed = constraints.acceleration_residual(system, joints)
    missed += constraints.gradient_product(system, joints, accelerations)
    factors = system.solver.factor(leading_matrix(system, mass))
    change, multipliers = solve_with_constraints(system, factors, np.zeros(system.N), -missed)
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


