"""What explicit Runge-Kutta methods share, on the group and in angles: the tableau, and the limit of stability."""

from __future__ import annotations

from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import MotionError
from fem_mbs.integrate.local_error import rate
from fem_mbs.integrate.method import Method
from fem_mbs.integrate.stability import SMALL, Limit, fastest, stable_step
from fem_mbs.integrate.tableaus import TABLEAUS, Tableau
from fem_mbs.solve import Accelerations, Place, Report, accelerations, place_of
from fem_mbs.system import State, System


class ExplicitRungeKutta(Method):
    """A method of the stages of a tableau, which it has by name."""

    tableau: Any
    """Name of the tableau."""

    @property
    def coefficients(self) -> Tableau:
        """The coefficients that are used."""
        return TABLEAUS[self.tableau]

    @property
    def order(self) -> int:  # type: ignore[override]
        """That of the tableau."""
        return self.coefficients.order

    @property
    def error_order(self) -> int | None:  # type: ignore[override]
        """That of the tableau: its second result is one order worse, and local errors are one better."""
        return None if self.coefficients.estimate is None else self.order

    def limit(self, system: System, state: State, h: float) -> Limit:
        """From the equations of a step on the group, linearised at its start."""
        units = np.concatenate([1.0 / system.weight, 1.0 / (h * system.weight)])
        units[~np.tile(np.append(system.free.ravel(), system.order > 0), 2)] = 0.0
        here = np.append(rate(state), np.append(state.vdot, state.uddot))
        scale = np.append(h * system.weight, h * h * system.weight)

        def change(d: Array) -> Array:
            D, dv = np.split(SMALL * units * d, 2)
            place = moved(system, state, 0.0, D, dv)
            found = accelerations(system, place)
            velocities = np.matvec(system.kinematics.inverse_tangent(system.nodes_of(D)), place.v)
            there = np.concatenate([velocities.ravel(), found.udot, found.vdot.ravel(), found.uddot])
            return np.where(units > 0.0, scale * (there - here) / SMALL, 0.0)

        z = fastest(change, 2 * system.N)
        speeds, accelerated = (np.abs(system.weight * half).max() for half in np.split(here, 2))
        moving = float(max(speeds, accelerated**0.5))
        return Limit(stable_step(self.coefficients, z, h), abs(z) / h, moving)

    def _finite(self, state: State) -> State:
        """The state at the end of a step, if the step has not overflowed."""
        if not all(np.isfinite(part).all() for part in (state.x, state.R, state.v, state.vdot, state.u)):
            raise MotionError(f"{self}: the step has no finite result; an explicit method needs shorter ones")
        return state


def moved(system: System, state: State, h: float, D: Array, dv: Array) -> Place:
    """The place an increment ``D`` (N,) away from a state, a time later and with velocities that differ by ``dv``."""
    t, x, R, v, u, udot = place_of(state)
    x, R = system.kinematics.retract(x, R, system.nodes_of(D))
    return Place(t + h, x, R, v + system.nodes_of(dv), u + system.own_of(D), udot + system.own_of(dv))


def fastest_so_far(system: System, speed: float, *states: State) -> float:
    """The largest speed so far, against which errors of velocities count.

    In extents of the model, rad and sizes of own unknowns a second.
    """
    return max(speed, *(float(np.abs(system.weight * rate(state)).max()) for state in states))


def evaluated(system: System, place: Place, report: Report) -> Accelerations:
    """Accelerations at a stage, which counts in a report."""
    report.evaluations += 1
    report.factorizations += 1
    return accelerations(system, place)
