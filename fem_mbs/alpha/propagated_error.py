"""What the local errors of all steps have become: the error of a run so far, by the linearised equations of a step.

With ``e`` the error of the configuration and ``l``, ``l_v`` the local errors of increment and velocity, a step of the
generalised-alpha method leads ``e``, in body increments, to ``x`` with

    S x = h^2 ((gamma' C + beta' M) (T^-1 A e + l) - C v* - M vdot*),    B x = 0,

with the iteration matrix ``S`` that the step has factorised anyway, ``A`` the adjoint of its increment, and the
constants ``v*`` and ``vdot*`` of Newmark's formulas for errors of velocities, to which ``l_v`` is added, and of
accelerations. What joints do not allow drops out, what damping and stiffness lead back is forgotten, and what the
motion amplifies grows. It costs one solution with ``S``; docs/variable_steps.md has how good it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fem_mbs.alpha.newmark import Parameters, newmark
from fem_mbs.arrays import Array
from fem_mbs.contracts import State
from fem_mbs.linear.solvers import Factors
from fem_mbs.system.matrices import rate_product
from fem_mbs.system.system import Evaluation, System


class PropagatedError(NamedTuple):
    """Errors ``(N,)`` in group components."""

    place: Array
    velocity: Array
    lead: Array
    """Of the highest derivatives."""
    a: Array
    """Of the algorithmic accelerations."""


class LocalError(NamedTuple):
    """Local errors ``(N,)`` of a step, exact less computed, in group components."""

    increment: Array
    velocity: Array


def no_error(system: System) -> PropagatedError:
    """At the start of a run."""
    return PropagatedError(*np.zeros((4, system.N)))


def size(system: System, error: PropagatedError) -> float:
    """The largest of lengths over the extent of the model, angles in rad, and internal variables over their size."""
    return float(np.abs(error.place * system.weight).max())


def propagated(
    system: System,
    parameters: Parameters,
    h: float,
    before: State,
    evaluation: Evaluation,
    factors: Factors,
    local: LocalError,
    error: PropagatedError,
) -> PropagatedError:
    """After a step of ``h`` that led from a state to an evaluation."""
    kinematics, motion = system.kinematics, evaluation.motion
    D = kinematics.relative(before.x, before.R, motion.x, motion.R)
    T, T_inv = kinematics.tangent(D), kinematics.inverse_tangent(D)

    def along(blocks: Array, values: Array) -> Array:
        return system.with_own(np.matvec(blocks, system.nodes_of(values)), values)

    carried = along(T_inv @ T @ kinematics.inverse_tangent(-D), error.place)
    start = carried + local.increment
    factor, constants, _ = newmark(parameters, h, error.velocity, error.lead, error.a, system.order)
    constants[0] += local.velocity
    rates = factor[:2] * start - constants[:2]
    body = np.stack([kinematics.to_body(motion.R, system.nodes_of(own)) for own in rates])
    V, A = map(system.with_own, kinematics.change(np.stack([motion.V, motion.A]), body), rates)
    right = np.zeros(system.size)
    right[: system.n_free] = (h * h * rate_product(system, evaluation, V, A))[system.free_index]
    x = system.spread(factors.solve(right)[: system.n_free])
    place = system.with_own(kinematics.from_body(motion.R, system.nodes_of(x)), x)
    velocity, lead, a = factor * (along(T_inv, place) - start) + constants
    if system.k:
        lead = np.append(system.nodes_of(lead), np.where(system.order == 1, *map(system.own_of, (velocity, lead))))
    return PropagatedError(place, velocity, lead, a)
