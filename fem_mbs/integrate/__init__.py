"""Time integration: one file a method, and the run."""

from fem_mbs.integrate.generalized_alpha import GeneralizedAlpha, start, step
from fem_mbs.integrate.parameters import Parameters, chung_hulbert
from fem_mbs.integrate.simulate import simulate

__all__ = ["GeneralizedAlpha", "Parameters", "chung_hulbert", "simulate", "start", "step"]
