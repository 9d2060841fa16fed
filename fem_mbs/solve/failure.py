"""What to say of a Newton iteration that did not converge."""

from __future__ import annotations

from typing import Any

import numpy as np

from fem_mbs.solve.newton import NotConverged
from fem_mbs.system import Evaluation, System

COMPONENTS = ("force x", "force y", "force z", "moment x", "moment y", "moment z")


def explain_failure(system: System, failure: NotConverged) -> tuple[list[float], str]:
    """Residual history and a message with the three worst equations by the names of their owners."""
    report: Any = failure.report
    history = list(report.history)
    shown = ", ".join(f"{value:.1e}" for value in history[:4])
    if len(history) > 4:
        shown += f", ..., {history[-1]:.1e}"
    worst = "; ".join(_worst_equations(system, report.value.evaluation))
    return history, (
        f"{failure}; relative residuals {shown}; worst equations: {worst}. Try a smaller step, more elements where the "
        "motion is large, or look at loads that jump"
    )


def _worst_equations(system: System, evaluation: Evaluation) -> list[str]:
    scale = np.repeat(np.maximum(evaluation.scale, np.finfo(float).tiny), 3)
    force = np.where(system.free, np.abs(evaluation.force.reshape(-1, 6)) / scale, 0.0).ravel()
    relative = np.nan_to_num(np.concatenate([force, np.abs(evaluation.constraint)]), nan=np.inf)
    lines = []
    for index in np.argsort(-relative)[:3]:
        if index < len(force):
            name = f"{system.nodes[index // 6]} {COMPONENTS[index % 6]} in its body frame"
        else:
            owner, equation = system.constraint_owner[index - len(force)]
            name = f"{owner} {equation}"
        lines.append(f"{name} ({relative[index]:.1e})")
    return lines
