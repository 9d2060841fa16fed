"""The frozen model as arrays."""

from fem_mbs.system.kinematics import Kinematics
from fem_mbs.system.linear import Solve
from fem_mbs.system.numbering import ConstraintRows
from fem_mbs.system.state import State
from fem_mbs.system.system import Evaluation, Prescribed, System

__all__ = ["ConstraintRows", "Evaluation", "Kinematics", "Prescribed", "Solve", "State", "System"]
