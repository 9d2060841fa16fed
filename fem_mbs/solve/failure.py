"""What to say of a step that could not be solved."""

from __future__ import annotations

import numpy as np

from fem_mbs.errors import FemMbsError, SingularSystemError
from fem_mbs.solve.newton import NotConvergedError
from fem_mbs.solve.singular import describe_singular
from fem_mbs.system import Evaluation, State, System

COMPONENTS = ("force x", "force y", "force z", "moment x", "moment y", "moment z")
SHOWN = 4
WORST = 3


def explain_failure(system: System, last: State, failure: FemMbsError) -> str:
    """Why no step can be made from the last state, in the words of the model.

    A Newton iteration tells its residuals and the worst equations by the names of their owners. Where the last state is
    singular, the nodes or joints that make it so are named.
    """
    lines = [str(failure)]
    if isinstance(failure, NotConvergedError) and failure.report is not None:
        report = failure.report
        residuals = [f"{value:.1e}" for value in report.history]
        if len(residuals) > SHOWN:
            residuals[SHOWN - 1 : -1] = ["..."]
        lines.append(f"relative residuals {', '.join(residuals)}")
        lines.append(f"worst equations: {'; '.join(_worst_equations(system, report.value.evaluation))}")
        lines.append("try a smaller step, more elements where the motion is large, or look at loads that jump")
    if isinstance(failure, NotConvergedError | SingularSystemError):
        motion = system.motion(last.t, last.x, last.R, last.v, last.vdot)
        evaluation = system.evaluate(motion, last.multipliers, system.prescribe(last.t))
        lines.append(describe_singular(system, system.mass_matrix(evaluation), f"at t = {last.t:.6g} s"))
    return "\n  ".join(filter(None, lines))


def _worst_equations(system: System, evaluation: Evaluation) -> list[str]:
    scale = np.repeat(np.maximum(evaluation.scale, np.finfo(float).tiny), 3)
    with np.errstate(all="ignore"):
        force = np.where(system.free, np.abs(evaluation.force.reshape(-1, 6)) / scale, 0.0).ravel()
    constraint = np.abs(evaluation.constraint * system.constraint_weight)
    relative = np.nan_to_num(np.concatenate([force, constraint]), nan=np.inf)
    lines = []
    for index in np.argsort(-relative, kind="stable")[:WORST]:
        if index < len(force):
            name = f"{system.nodes[index // 6]} {COMPONENTS[index % 6]} in its body frame"
        else:
            owner, equation = system.constraint_owner[index - len(force)]
            name = f"{owner} {equation}"
        lines.append(f"{name} ({relative[index]:.1e})")
    return lines
