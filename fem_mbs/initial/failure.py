"""What to say of a step that could not be solved."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from fem_mbs.contracts import Motion, State
from fem_mbs.errors import FemMbsError, LawError, MotionError, SingularSystemError
from fem_mbs.initial.singular import describe_singular
from fem_mbs.lie import so3
from fem_mbs.newton import NotConvergedError
from fem_mbs.system.batch_checks import not_finite
from fem_mbs.system.system import Evaluation, System

COMPONENTS = ("force x", "force y", "force z", "moment x", "moment y", "moment z")
SHOWN = 4
WORST = 3
MUCH = 0.1
"""Change of a force in a step, against its size, that is worth mentioning."""


def explain_failure(system: System, last: State, t: float, failure: FemMbsError, advice: str) -> str:
    """Why no step can be made from the last state to the time t, in the words of the model.

    A Newton iteration tells its residuals and the worst equations by the names of their owners, or whose forces are not
    finite numbers. It may also end at a motion that an element refuses: which of the two depends on the last bits where
    it diverges, so that both say whose forces changed. Where the last state is singular, the nodes or joints that make
    it so are named.
    """
    lines = [str(failure)]
    if isinstance(failure, NotConvergedError) and failure.value is not None:
        evaluation = failure.value.evaluation
        lines.append(f"relative residuals {shown_residuals(failure)}")
        if text := not_finite(system, evaluation):
            return "\n  ".join([*lines, text])
        lines.append(f"worst equations: {worst_equations(system, evaluation)}")
        moved = moved_most(system, system.motion(last), evaluation.motion)
        lines.append(
            f"changed most: {'; '.join([moved, *what_changed(system, last, evaluation.motion.t, evaluation.motion)])}"
        )
        lines.append(advice)
    elif isinstance(failure, MotionError):
        with suppress(LawError):  # a law that fails is the failure, or would be at the end of the step
            lines.extend(f"changed most: {change}" for change in what_changed(system, last, t))
    if isinstance(failure, NotConvergedError | SingularSystemError):
        evaluation = system.evaluate(system.motion(last), last.multipliers, system.prescribe(last.t))
        lines.append(describe_singular(system, evaluation, f"at t = {last.t:.6g} s"))
    return "\n  ".join(filter(None, lines))


def moved_most(system: System, before: Motion, after: Motion) -> str:
    """The node that moved most from one motion to another, in words."""
    moved = np.linalg.norm(after.x - before.x, axis=1) / system.length
    turned = np.linalg.norm(so3.log(before.R.mT @ after.R), axis=1)
    size = np.nan_to_num(np.maximum(moved, turned), nan=np.inf)
    row = int(np.argmax(size))
    return (
        f"{system.nodes[row]} (moved by {moved[row] * system.length:.2g}, turned by {turned[row]:.2g} rad in the last "
        "attempt)"
    )


def what_changed(system: System, last: State, t: float, reached: Motion | None = None) -> list[str]:
    """Whose forces changed most from the last state to the time t, in words, if any did much.

    Those that change with time alone come first, as the others follow from the motion that an iteration reached.
    """
    before = system.motion(last)
    here = _forces(system, before, last.t)
    for motion, whose in ((before, "with time alone, the forces of"), (reached, "the forces of")):
        there = _forces(system, motion, t) if motion is not None else {}
        changes = {name: abs(size - here[name]) for name, size in there.items()}
        name = max(changes, key=changes.__getitem__, default="")
        if name and changes[name] > MUCH * here[name]:
            return [f"{whose} {name} (from {here[name]:.2g} to {there[name]:.2g})"]
    return []


def _forces(system: System, motion: Motion, t: float) -> dict[str, float]:
    """Largest force or moment of each element."""
    sizes: dict[str, float] = {}
    for batch, data in zip(system.batches, system.prescribe(t).elements, strict=True):
        force = (
            np.nan_to_num(np.abs(batch.force(motion, data)[0])).reshape(len(batch.nodes), -1).max(axis=1, initial=0.0)
        )
        for owner, size in zip(batch.owners, force.tolist(), strict=True):
            sizes[str(owner)] = max(sizes.get(str(owner), 0.0), size)
    return sizes


def shown_residuals(failure: NotConvergedError) -> str:
    """Relative residuals of an iteration, the first few and the last."""
    residuals = [f"{value:.1e}" for value in failure.report.history] if failure.report else []
    if len(residuals) > SHOWN:
        residuals[SHOWN - 1 : -1] = ["..."]
    return ", ".join(residuals)


def worst_equations(system: System, evaluation: Evaluation) -> str:
    """The equations with the largest residuals, by the names of their owners."""
    with np.errstate(all="ignore"):
        sizes = np.append(np.tile(np.repeat(evaluation.scale, 3), system.n), evaluation.own_scale)
        force = np.abs(system.spread((evaluation.force / sizes)[system.free_rows]))
    constraint = np.abs(evaluation.constraint * system.constraint_weight)
    relative = np.nan_to_num(np.concatenate([force, constraint]), nan=np.inf)
    worst = np.argsort(-relative, kind="stable")[:WORST]
    return "; ".join(f"{_equation(system, int(index))} ({relative[index]:.1e})" for index in worst)


def _equation(system: System, index: int) -> str:
    """An equation by the name of its owner: of a node, of an internal variable, or of a joint."""
    if index < 6 * system.n:
        return f"{system.nodes[index // 6]} {COMPONENTS[index % 6]} in its body frame"
    if index < system.N:
        owner, variable = system.internal_variables[index - 6 * system.n]
        return f"{owner} '{variable.name}'"
    owner, equation = system.constraint_owner[index - system.N]
    return f"{owner} {equation}"
