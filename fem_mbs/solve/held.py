"""Nodes that a model holds, in states from before it held them.

What moved is stopped at once, as by a blow: the impulses act on the held components and through the joints, so that
``M (v+ - v-)`` vanishes elsewhere (docs/theory.md, "Consistent start").
"""

from __future__ import annotations

import logging

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.solve.place import Place, without_accelerations
from fem_mbs.system import System, constraints
from fem_mbs.system.mass import leading_matrix, mass_product, solve_with_constraints

LOG = logging.getLogger("fem_mbs")
ROUNDING = 1e-12


def held_velocity(system: System, R: Array, v: Array) -> Array:
    """Body velocities ``(n, 6)`` of the components that the model holds; zero where they rest or are free."""
    V = np.where(system.free, 0.0, system.kinematics.to_body(R, v))
    return np.where(np.abs(V) > ROUNDING * np.abs(v).max(initial=0.0), V, 0.0)


def stopped(system: System, place: Place) -> Place:
    """A place with the velocities that are left when the model takes hold of its nodes."""
    V = held_velocity(system, place.R, place.v)
    if not V.any():
        return place
    for row in np.flatnonzero(V.any(axis=1)):
        LOG.warning("%s moves in the initial state, and the model holds it: it is stopped", system.nodes[row])
    evaluation = without_accelerations(system, place)
    gone = np.append(-V, np.zeros(system.k))
    factors = system.solver.factor(leading_matrix(system, evaluation))
    blow, parted = mass_product(system, evaluation, gone), constraints.gradient_product(system, evaluation, gone)
    w, _ = solve_with_constraints(system, factors, -blow, -parted)
    change = system.kinematics.from_body(place.R, system.nodes_of(w + gone))
    return place._replace(v=place.v + change, udot=place.udot + np.where(system.order == 2, system.own_of(w), 0.0))
