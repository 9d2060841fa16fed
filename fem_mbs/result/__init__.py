"""What a run returns."""

from fem_mbs.result.accuracy import Accuracy
from fem_mbs.result.balance import ConstraintResidual, EnergyHistory
from fem_mbs.result.history import History
from fem_mbs.result.interpolate import interpolate
from fem_mbs.result.outcome import Outcome, Stats
from fem_mbs.result.solution import Solution
from fem_mbs.result.turns import TurnCounter, Turns

__all__ = [
    "Accuracy",
    "ConstraintResidual",
    "EnergyHistory",
    "History",
    "Outcome",
    "Solution",
    "Stats",
    "TurnCounter",
    "Turns",
    "interpolate",
]
