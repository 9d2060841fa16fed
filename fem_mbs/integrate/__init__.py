"""Time integration: one file a method, and the run."""

from fem_mbs.integrate.generalized_alpha import GeneralizedAlpha, UpdatedLagrangian
from fem_mbs.integrate.parameters import Parameters, chung_hulbert
from fem_mbs.integrate.simulate import simulate
from fem_mbs.integrate.step import start, step
from fem_mbs.integrate.variable_step import VariableStep

__all__ = [
    "GeneralizedAlpha",
    "Parameters",
    "UpdatedLagrangian",
    "VariableStep",
    "chung_hulbert",
    "simulate",
    "start",
    "step",
]
