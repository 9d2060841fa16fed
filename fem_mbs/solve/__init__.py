"""Newton's method, the consistent start and what to say of a singular matrix."""

from fem_mbs.solve.accelerations import Accelerations, accelerations
from fem_mbs.solve.assembly import Assembly, assemble
from fem_mbs.solve.consistent_start import consistent_start
from fem_mbs.solve.experience import Experience
from fem_mbs.solve.failure import explain_failure, moved_most, shown_residuals, worst_equations
from fem_mbs.solve.held import held_velocity, stopped
from fem_mbs.solve.newton import Newton
from fem_mbs.solve.newton import solve as newton_solve
from fem_mbs.solve.place import Place, check_system, place_of
from fem_mbs.solve.problem import FAILURES, Astray, Found, NotConvergedError, Report
from fem_mbs.solve.projection import (
    constraint_correction,
    from_body,
    project_velocities,
    projected,
    to_body,
    velocity_defect,
    with_joint_rate,
)
from fem_mbs.solve.redundant import independent
from fem_mbs.solve.singular import describe_mechanism, describe_singular, explain_singular, handle_repeated

__all__ = [
    "FAILURES",
    "Accelerations",
    "Assembly",
    "Astray",
    "Experience",
    "Found",
    "Newton",
    "NotConvergedError",
    "Place",
    "Report",
    "accelerations",
    "assemble",
    "check_system",
    "consistent_start",
    "constraint_correction",
    "describe_mechanism",
    "describe_singular",
    "explain_failure",
    "explain_singular",
    "from_body",
    "handle_repeated",
    "held_velocity",
    "independent",
    "moved_most",
    "newton_solve",
    "place_of",
    "project_velocities",
    "projected",
    "shown_residuals",
    "stopped",
    "to_body",
    "velocity_defect",
    "with_joint_rate",
    "worst_equations",
]
