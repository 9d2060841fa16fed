"""What to say of a path that cannot be followed to its end."""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import ConvergenceError, FemMbsError, LawError
from fem_mbs.solve import NotConvergedError, moved_most, shown_residuals, worst_equations
from fem_mbs.static.equations import proportional
from fem_mbs.static.path import Path, Step

SOFT = 10.0
"""A model that moves so many times further under the same load than at first gives way."""


def explain_failure(path: Path, failure: FemMbsError) -> FemMbsError:
    """The error that says how far the path was followed, and why not further."""
    if isinstance(failure, LawError):
        return failure
    load, end = path.here.point.load, path.equations.loading.end
    text = f"no equilibrium was found beyond load factor {load:.6g} on the way to {end:g}: {failure}"
    history: list[float] = []
    if isinstance(failure, NotConvergedError) and failure.report is not None:
        history = failure.report.history
        text += (
            f"\n  relative residuals {shown_residuals(failure)}; the step was cut to a length of {path.shortest:.1e}"
        )
        if failure.value is not None:
            text += f"\n  {_attempt(path, failure)}"
    loading = path.equations.loading
    if load == loading.start and loading.instant is proportional:
        text += (
            "\n  ramp=False takes gravity and constant loads in full from the start, which hold what is slack without "
            "them, such as a cable"
        )
    softness = path.softness()
    if softness > SOFT * path.first_softness:
        text += (
            f"\n  the model gives way: more load moves it {softness / path.first_softness:.3g} times as far as at the "
            f"start, and {_largest(path)}; the load has a limit here, or the path branches"
        )
        if not path.arc_length:
            text += ". arc_length=True follows the path beyond a limit"
    else:
        text += "\n  try more elements where the model bends, a shorter step, or look at loads that jump"
    return ConvergenceError(f"{text}\n  the error has the path so far as its solution", end, history)


def explain_length(path: Path, steps: int, loads: Array) -> FemMbsError:
    """The error for a path that does not reach its end in the steps it may take."""
    end = path.equations.loading.end
    return ConvergenceError(
        f"the path has not reached load factor {end:g} in {steps} steps: it is at {loads[-1]:.6g}, and was between "
        f"{loads.min():.6g} and {loads.max():.6g}. Give more max_steps, a load_end that is nearer, or a callback that "
        "ends the run where you want it; the error has the path so far as its solution",
        end,
    )


def _attempt(path: Path, failure: NotConvergedError) -> str:
    """The worst equations of an attempt, if it was not solved, and what it moved most."""
    system, evaluation = path.equations.system, failure.value.evaluation
    changed = f"changed most: {moved_most(system, path.here.evaluation.motion, evaluation.motion)}"
    if isinstance(failure.value, Step):
        return changed
    return f"worst equations: {worst_equations(system, evaluation)}\n  {changed}"


def _largest(path: Path) -> str:
    """How the node that moves most goes on, in words."""
    system, D = path.equations.system, path.here.tangent.D
    size = np.linalg.norm(system.nodes_of(D * system.weight).reshape(-1, 2, 3), axis=2)
    row, kind = np.unravel_index(int(np.argmax(size)), size.shape)
    direction = path.here.point.R[row] @ system.nodes_of(D)[row].reshape(2, 3)[kind]
    direction = np.round(direction / np.linalg.norm(direction), 3) + 0.0
    words = ("moves along", "turns about")[kind]
    return f"{system.nodes[row]} {words} ({', '.join(f'{w:g}' for w in direction)})"
