"""The frozen model as arrays."""

from fem_mbs.system import constraints, mass, tangent
from fem_mbs.system.contract import check_shapes, not_finite
from fem_mbs.system.evaluation import Evaluation, Prescribed
from fem_mbs.system.exchange import frozen, given_out, in_world, read_only, taken_in
from fem_mbs.system.kinematics import Kinematics
from fem_mbs.system.least_norm import Projection, Redundant
from fem_mbs.system.linear import Factors, LinearSolver, Solve
from fem_mbs.system.pattern import ConstraintRows, flat
from fem_mbs.system.redundancy import GAP
from fem_mbs.system.state import ARRAYS, State
from fem_mbs.system.system import System

__all__ = [
    "ARRAYS",
    "GAP",
    "ConstraintRows",
    "Evaluation",
    "Factors",
    "Kinematics",
    "LinearSolver",
    "Prescribed",
    "Projection",
    "Redundant",
    "Solve",
    "State",
    "System",
    "check_shapes",
    "constraints",
    "flat",
    "frozen",
    "given_out",
    "in_world",
    "mass",
    "not_finite",
    "read_only",
    "taken_in",
    "tangent",
]
