"""A method from outside: the explicit midpoint rule."""

from dataclasses import dataclass

import fem_mbs as mbs
from fem_mbs.contracts import Nothing, unconstrained


@dataclass(frozen=True)
class Midpoint(mbs.Method):
    """Of order 2, for models without constraints."""

    order = 2
    Memory = Nothing

    def check(self, system):
        unconstrained(self, system)

    def init(self, system, state, h):
        return Nothing()

    def step(self, system, state, h, memory):
        middle = moved(system, state, h / 2, state.v, state)
        there = mbs.accelerations(system, middle)
        end = moved(system, state, h, middle.v, there)
        new = mbs.State(end.t, end.x, end.R, end.v, *mbs.accelerations(system, end))
        return mbs.Step(system.accept(new), memory, mbs.Report(evaluations=2, factorizations=2))


def moved(system, state, h, v, rates):
    """Where a state is a time later, with velocities and rates that stay."""
    x, R = system.kinematics.retract(state.x, state.R, h * v)
    u, udot = state.u + h * rates.udot, state.udot + h * rates.uddot
    return mbs.StatePoint(state.t + h, x, R, state.v + h * rates.vdot, u, udot)
