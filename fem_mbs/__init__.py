"""Flexible multibody dynamics on Lie groups.

A user scripts nodes, bodies, beams, joints and loads; fem_mbs assembles the equations of motion and integrates
them on R3xSO3 or SE(3) with the generalised-alpha method. Elements live in :mod:`fem_mbs.elements`.
"""

from fem_mbs.analysis import ConvergenceStudy, convergence_study, sweep
from fem_mbs.errors import (
    ConvergenceError,
    FemMbsError,
    LawError,
    MissingPackageError,
    ModelError,
    MotionError,
    SingularSystemError,
    StoreError,
)
from fem_mbs.exchange import CoSimulation, export_fmu
from fem_mbs.integrate import (
    Checkpoint,
    ClassicalAlpha,
    ClassicalRungeKutta,
    GeneralizedAlpha,
    LieEuler,
    Method,
    RadauIIA,
    RungeKuttaMuntheKaas,
    Step,
    UpdatedLagrangian,
    VariableStep,
    simulate,
    simulate_many,
    start,
)
from fem_mbs.modal import LinearModel, Modes, linearize, modes
from fem_mbs.model import Model, Node, public
from fem_mbs.result import Outcome, Solution, join
from fem_mbs.run import Store
from fem_mbs.solve import Assembly, Newton, Report, project_velocities
from fem_mbs.static import Buckling, StaticSolution, buckling, statics, steady_rotation
from fem_mbs.store import load, resume
from fem_mbs.system import State, System

__version__ = "0.1.0"

__all__ = [
    "Assembly",
    "Buckling",
    "Checkpoint",
    "ClassicalAlpha",
    "ClassicalRungeKutta",
    "CoSimulation",
    "ConvergenceError",
    "ConvergenceStudy",
    "FemMbsError",
    "GeneralizedAlpha",
    "LieEuler",
    "LawError",
    "LinearModel",
    "Method",
    "MissingPackageError",
    "Model",
    "ModelError",
    "Modes",
    "MotionError",
    "Newton",
    "Node",
    "Outcome",
    "Report",
    "RadauIIA",
    "RungeKuttaMuntheKaas",
    "SingularSystemError",
    "Solution",
    "State",
    "StaticSolution",
    "Step",
    "Store",
    "StoreError",
    "System",
    "UpdatedLagrangian",
    "VariableStep",
    "buckling",
    "convergence_study",
    "export_fmu",
    "join",
    "linearize",
    "load",
    "modes",
    "project_velocities",
    "resume",
    "simulate",
    "simulate_many",
    "start",
    "statics",
    "steady_rotation",
    "sweep",
]

__dir__ = public(globals(), "elements", "testing")
