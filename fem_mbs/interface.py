"""The names of a script, ``mbs.Model`` and all others: what :mod:`fem_mbs` hands on when the first of them is used."""

import fem_mbs.elements as elements
from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha as GeneralizedAlpha
from fem_mbs.alpha.newmark import Parameters
from fem_mbs.contact.nonsmooth_alpha import NonsmoothAlpha as NonsmoothAlpha
from fem_mbs.contracts import Coordinate, InternalVariable
from fem_mbs.contracts import Method as Method
from fem_mbs.contracts import Node as Node
from fem_mbs.contracts import Report as Report
from fem_mbs.contracts import State as State
from fem_mbs.contracts import Step as Step
from fem_mbs.contracts.public import exported
from fem_mbs.contracts.public import former as former
from fem_mbs.contracts.time_law import Delayed, Product, Sum
from fem_mbs.derivatives.fit import Fit as Fit
from fem_mbs.derivatives.fit import fit as fit
from fem_mbs.derivatives.goals import KS as KS
from fem_mbs.derivatives.goals import Final as Final
from fem_mbs.derivatives.goals import Goal as Goal
from fem_mbs.derivatives.goals import Integral as Integral
from fem_mbs.derivatives.goals import Misfit as Misfit
from fem_mbs.derivatives.goals import PNorm as PNorm
from fem_mbs.derivatives.objective import Objective as Objective
from fem_mbs.derivatives.objective import objective as objective
from fem_mbs.derivatives.sensitivities import Sensitivities as Sensitivities
from fem_mbs.derivatives.sensitivities import sensitivities as sensitivities
from fem_mbs.errors import ConvergenceError as ConvergenceError
from fem_mbs.errors import FemMbsError as FemMbsError
from fem_mbs.errors import LawError as LawError
from fem_mbs.errors import MissingPackageError as MissingPackageError
from fem_mbs.errors import ModelError as ModelError
from fem_mbs.errors import MotionError as MotionError
from fem_mbs.errors import SingularSystemError as SingularSystemError
from fem_mbs.errors import StoreError as StoreError
from fem_mbs.files.co_simulation import CoSimulation as CoSimulation
from fem_mbs.files.co_simulation import export_fmu as export_fmu
from fem_mbs.files.store.recorder import resume as resume
from fem_mbs.files.store.run_file import load as load
from fem_mbs.files.store.values import register
from fem_mbs.initial.assembly import Assembly as Assembly
from fem_mbs.initial.consistent_start import accelerations as accelerations
from fem_mbs.initial.given_velocities import project_velocities as project_velocities
from fem_mbs.initial.state_point import StatePoint as StatePoint
from fem_mbs.methods.comparison.classical_alpha import ClassicalAlpha as ClassicalAlpha
from fem_mbs.methods.comparison.classical_runge_kutta import ClassicalRungeKutta as ClassicalRungeKutta
from fem_mbs.methods.comparison.lie_euler import LieEuler as LieEuler
from fem_mbs.methods.comparison.updated_lagrangian import UpdatedLagrangian as UpdatedLagrangian
from fem_mbs.methods.radau import RadauIIA as RadauIIA
from fem_mbs.methods.runge_kutta import RungeKuttaMuntheKaas as RungeKuttaMuntheKaas
from fem_mbs.modal.linear_model import LinearModel as LinearModel
from fem_mbs.modal.linear_model import linearize as linearize
from fem_mbs.modal.modes import Modes as Modes
from fem_mbs.modal.modes import modes as modes
from fem_mbs.model.model import Model as Model
from fem_mbs.newton import Newton as Newton
from fem_mbs.run.convergence import ConvergenceStudy as ConvergenceStudy
from fem_mbs.run.convergence import convergence_study as convergence_study
from fem_mbs.run.copies import simulate_many as simulate_many
from fem_mbs.run.fixed_step import FixedStep
from fem_mbs.run.interfaces import Checkpoint as Checkpoint
from fem_mbs.run.recorder import Store as Store
from fem_mbs.run.simulate import simulate as simulate
from fem_mbs.run.simulate import start as start
from fem_mbs.run.sweep import sweep as sweep
from fem_mbs.run.variable_step import VariableStep as VariableStep
from fem_mbs.solution.history import Outcome as Outcome
from fem_mbs.solution.solution import Solution as Solution
from fem_mbs.solution.solution import join as join
from fem_mbs.static.buckling import Buckling as Buckling
from fem_mbs.static.buckling import buckling as buckling
from fem_mbs.static.campbell import Campbell as Campbell
from fem_mbs.static.campbell import campbell as campbell
from fem_mbs.static.statics import StaticSolution as StaticSolution
from fem_mbs.static.statics import statics as statics
from fem_mbs.static.steady_rotation import steady_rotation as steady_rotation
from fem_mbs.static.steady_rotation import steady_spin as steady_spin
from fem_mbs.static.unbalance import UnbalanceResponse as UnbalanceResponse
from fem_mbs.static.unbalance import unbalance_response as unbalance_response
from fem_mbs.system.system import System as System

HIDDEN = ("AUTHORS", "HIDDEN", "StatePoint", "accelerations", "exported", "former", "register")
AUTHORS = (Coordinate, Delayed, FixedStep, InternalVariable, Parameters, Product, Sum)
"""What a file may hold beside the public names."""
NAMES = exported(globals(), *(kind.__name__ for kind in AUTHORS), *HIDDEN)

register(vars(elements)[name] for name in elements.__all__)
register(globals()[name] for name in NAMES)
register(AUTHORS)
