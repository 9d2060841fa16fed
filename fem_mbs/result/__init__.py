"""What a run returns."""

from fem_mbs.result.accuracy import Accuracy
from fem_mbs.result.balance import ConstraintResidual, EnergyHistory
from fem_mbs.result.channels import Channel, parse, usual
from fem_mbs.result.history import ChannelHistory, History
from fem_mbs.result.interpolate import interpolate
from fem_mbs.result.join import join
from fem_mbs.result.outcome import Outcome, Stats
from fem_mbs.result.solution import Solution
from fem_mbs.result.turns import TurnCounter, Turns

__all__ = [
    "Accuracy",
    "Channel",
    "ChannelHistory",
    "ConstraintResidual",
    "EnergyHistory",
    "History",
    "Outcome",
    "Solution",
    "Stats",
    "TurnCounter",
    "Turns",
    "interpolate",
    "join",
    "parse",
    "usual",
]
