"""Laws of time for drives, loads and references of controllers, and how any function of time is asked."""

from fem_mbs.contracts import Constant, TimeLaw, Vector, derivatives, evaluate
from fem_mbs.elements.laws.external_input import ExternalInput
from fem_mbs.elements.laws.s_curve import SCurve
from fem_mbs.elements.laws.table import Table
from fem_mbs.elements.laws.transitions import Harmonic, PointToPoint, Ramp, SmoothStep, SpinUp

__all__ = [
    "Constant",
    "ExternalInput",
    "Harmonic",
    "PointToPoint",
    "Ramp",
    "SCurve",
    "SmoothStep",
    "SpinUp",
    "Table",
    "TimeLaw",
    "Vector",
    "derivatives",
    "evaluate",
]
