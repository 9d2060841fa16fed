"""Laws of time for drives, loads and references of controllers, and how any function of time is asked."""

from fem_mbs.elements.laws.evaluation import derivatives, evaluate
from fem_mbs.elements.laws.external_input import ExternalInput
from fem_mbs.elements.laws.harmonic import Harmonic
from fem_mbs.elements.laws.point_to_point import PointToPoint, SmoothStep
from fem_mbs.elements.laws.ramp import Ramp
from fem_mbs.elements.laws.s_curve import SCurve
from fem_mbs.elements.laws.spin_up import SpinUp
from fem_mbs.elements.laws.table import Table
from fem_mbs.elements.laws.time_law import Constant, TimeLaw, Vector

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
