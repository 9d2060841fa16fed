"""Time integration: one file a family of methods, and the run."""

from fem_mbs.integrate.checkpoint import Checkpoint
from fem_mbs.integrate.classical_alpha import ClassicalAlpha
from fem_mbs.integrate.classical_runge_kutta import ClassicalRungeKutta
from fem_mbs.integrate.generalized_alpha import GeneralizedAlpha, UpdatedLagrangian
from fem_mbs.integrate.lie_euler import LieEuler
from fem_mbs.integrate.method import Method, Step
from fem_mbs.integrate.parameters import Parameters, chung_hulbert
from fem_mbs.integrate.radau import RadauIIA
from fem_mbs.integrate.runge_kutta import RungeKuttaMuntheKaas
from fem_mbs.integrate.simulate import simulate, start
from fem_mbs.integrate.simulate_many import simulate_many
from fem_mbs.integrate.variable_step import VariableStep

__all__ = [
    "Checkpoint",
    "ClassicalAlpha",
    "ClassicalRungeKutta",
    "GeneralizedAlpha",
    "LieEuler",
    "Method",
    "Parameters",
    "RadauIIA",
    "RungeKuttaMuntheKaas",
    "Step",
    "UpdatedLagrangian",
    "VariableStep",
    "chung_hulbert",
    "simulate",
    "simulate_many",
    "start",
]
