"""Newton's method, the consistent start and what to say of a singular matrix."""

from fem_mbs.solve.failure import explain_failure
from fem_mbs.solve.initial import (
    accelerations,
    constraint_correction,
    initial_state,
    project_velocities,
    velocity_defect,
)
from fem_mbs.solve.newton import FAILURES, Newton, NotConvergedError, Report
from fem_mbs.solve.newton import solve as newton_solve
from fem_mbs.solve.singular import describe_mechanism, describe_singular, explain_singular

__all__ = [
    "FAILURES",
    "Newton",
    "NotConvergedError",
    "Report",
    "accelerations",
    "constraint_correction",
    "describe_mechanism",
    "describe_singular",
    "explain_failure",
    "explain_singular",
    "initial_state",
    "newton_solve",
    "project_velocities",
    "velocity_defect",
]
