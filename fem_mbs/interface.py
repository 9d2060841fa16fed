"""The names of a script, ``mbs.Model`` and all others: what :mod:`fem_mbs` hands on when the first of them is used."""

import fem_mbs.elements as elements
from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha
from fem_mbs.alpha.newmark import Parameters
from fem_mbs.contact.nonsmooth_alpha import NonsmoothAlpha
from fem_mbs.contracts import (
    Coordinate,
    Delayed,
    InternalVariable,
    Method,
    Node,
    Product,
    Report,
    State,
    Step,
    Sum,
)
from fem_mbs.contracts import former as former
from fem_mbs.derivatives.fit import Fit, fit
from fem_mbs.derivatives.goals import KS, Final, Goal, Integral, Misfit, PNorm
from fem_mbs.derivatives.objective import Objective, objective
from fem_mbs.derivatives.sensitivities import Sensitivities, sensitivities
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
from fem_mbs.files.co_simulation import CoSimulation
from fem_mbs.files.fmu import export_fmu
from fem_mbs.files.store.load import load, resume
from fem_mbs.files.store.values import register
from fem_mbs.initial.assembly import Assembly
from fem_mbs.initial.consistent_start import accelerations as accelerations
from fem_mbs.initial.projection import project_velocities
from fem_mbs.initial.state_point import StatePoint as StatePoint
from fem_mbs.methods.comparison.classical_alpha import ClassicalAlpha
from fem_mbs.methods.comparison.classical_runge_kutta import ClassicalRungeKutta
from fem_mbs.methods.comparison.lie_euler import LieEuler
from fem_mbs.methods.comparison.updated_lagrangian import UpdatedLagrangian
from fem_mbs.methods.radau import RadauIIA
from fem_mbs.methods.runge_kutta import RungeKuttaMuntheKaas
from fem_mbs.modal.linear_model import LinearModel
from fem_mbs.modal.linearize import linearize
from fem_mbs.modal.modes import Modes, modes
from fem_mbs.model.model import Model
from fem_mbs.newton import Newton
from fem_mbs.run.checkpoint import Checkpoint
from fem_mbs.run.fixed_step import FixedStep
from fem_mbs.run.output import Store
from fem_mbs.run.simulate import simulate, start
from fem_mbs.run.simulate_many import simulate_many
from fem_mbs.run.variable_step import VariableStep
from fem_mbs.solution.join import join
from fem_mbs.solution.outcome import Outcome
from fem_mbs.solution.solution import Solution
from fem_mbs.static.buckling import Buckling, buckling
from fem_mbs.static.campbell import Campbell, UnbalanceResponse, campbell, unbalance_response
from fem_mbs.static.statics import StaticSolution, statics
from fem_mbs.static.steady_rotation import steady_rotation
from fem_mbs.studies.convergence import ConvergenceStudy, convergence_study
from fem_mbs.studies.sweep import sweep
from fem_mbs.system.system import System

__all__ = [
    "Assembly",
    "Buckling",
    "Campbell",
    "Checkpoint",
    "ClassicalAlpha",
    "ClassicalRungeKutta",
    "CoSimulation",
    "ConvergenceError",
    "ConvergenceStudy",
    "FemMbsError",
    "Final",
    "Fit",
    "GeneralizedAlpha",
    "Goal",
    "Integral",
    "KS",
    "LieEuler",
    "LawError",
    "LinearModel",
    "Method",
    "MissingPackageError",
    "Misfit",
    "Model",
    "ModelError",
    "Modes",
    "MotionError",
    "Newton",
    "Node",
    "NonsmoothAlpha",
    "Objective",
    "Outcome",
    "PNorm",
    "Report",
    "RadauIIA",
    "RungeKuttaMuntheKaas",
    "Sensitivities",
    "SingularSystemError",
    "Solution",
    "State",
    "StaticSolution",
    "Step",
    "Store",
    "StoreError",
    "System",
    "UnbalanceResponse",
    "UpdatedLagrangian",
    "VariableStep",
    "buckling",
    "campbell",
    "convergence_study",
    "export_fmu",
    "fit",
    "join",
    "linearize",
    "load",
    "modes",
    "objective",
    "project_velocities",
    "resume",
    "sensitivities",
    "simulate",
    "simulate_many",
    "start",
    "statics",
    "steady_rotation",
    "sweep",
    "unbalance_response",
]

register(vars(elements)[name] for name in elements.__all__)
register(globals()[name] for name in __all__)
register([Delayed, Product, Sum, FixedStep, Coordinate, InternalVariable, Parameters])
