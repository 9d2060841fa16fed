"""What a run returns."""

from fem_mbs.result.accuracy import Accuracy
from fem_mbs.result.interpolate import interpolate
from fem_mbs.result.solution import ARRAYS, ConstraintResidual, EnergyHistory, Outcome, Solution, Stats

__all__ = ["ARRAYS", "Accuracy", "ConstraintResidual", "EnergyHistory", "Outcome", "Solution", "Stats", "interpolate"]
