"""Flexible multibody dynamics on Lie groups.

A user scripts nodes, bodies, beams, joints and loads; fem_mbs assembles the equations of motion and integrates
them on R3xSO3 or SE(3) with the generalised-alpha method. Elements live in :mod:`fem_mbs.elements`.
"""

from fem_mbs.errors import ConvergenceError, FemMbsError, LawError, ModelError, MotionError, SingularSystemError
from fem_mbs.integrate import GeneralizedAlpha, simulate, start, step
from fem_mbs.model import Model, Node
from fem_mbs.result import Outcome, Solution
from fem_mbs.solve import Newton
from fem_mbs.system import State, System

__version__ = "0.1.0"

__all__ = [
    "ConvergenceError",
    "FemMbsError",
    "GeneralizedAlpha",
    "LawError",
    "Model",
    "ModelError",
    "MotionError",
    "Newton",
    "Node",
    "Outcome",
    "SingularSystemError",
    "Solution",
    "State",
    "System",
    "simulate",
    "start",
    "step",
]
