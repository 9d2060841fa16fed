"""What a run returns."""

from fem_mbs.result.interpolate import interpolate
from fem_mbs.result.recorder import Recorder
from fem_mbs.result.solution import ConstraintResidual, EnergyHistory, Outcome, Solution, Stats

__all__ = ["ConstraintResidual", "EnergyHistory", "Outcome", "Recorder", "Solution", "Stats", "interpolate"]
