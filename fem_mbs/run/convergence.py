"""How the error of a method falls with its step; errors as in Bruels, Cardona, Arnold (2012), eq. 48."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from fem_mbs.arrays import Array, ArrayLike
from fem_mbs.contracts import Method, Public, Seconds, checked, instance, number, real, shown
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate
from fem_mbs.solution.history import Outcome
from fem_mbs.solution.solution import Solution

UNITS = {"position": "m", "rotation": "rad", "velocity": "m/s, rad/s", "multipliers": "N, N m"}
"""The components of which there are errors."""
EXACT = 1e-12
"""Errors below this share of the largest value are rounding and say nothing of the order."""
MARGIN = 1e-6
"""Share of a step by which the time of a state may miss the bounds of an interval."""


def _steps(value: object, label: object) -> Array:
    steps = real(value)
    if steps is None or steps.ndim != 1 or not len(steps) or not (np.isfinite(steps) & (steps > 0.0)).all():
        raise ModelError(f"{label} must be a list of positive numbers of seconds, received {shown(value)}")
    return steps


def _reference(value: Any, label: object) -> float | Solution:
    if isinstance(value, Solution):
        return value
    return number(value, f"{label}, a step in s or a Solution,", positive=True)


@dataclass(frozen=True)
class ConvergenceStudy(Public):
    """Largest errors over the steps, and the orders fitted to them; ``print`` shows them as a table.

    Attributes
    ----------
    steps : (k,)
        Steps in s.
    errors : dict of (k,)
        Largest errors of "position", "rotation", "velocity" and "multipliers" of each run; see
        :func:`convergence_study`.
    orders : dict of float
        Fitted order of each component; nan where fewer than two errors are above rounding.
    interval : (float, float)
        Times in s between which errors were taken, both included.
    """

    steps: Array
    errors: dict[str, Array]
    orders: dict[str, float]
    interval: tuple[float, float]

    def __str__(self) -> str:
        since, until = self.interval
        rows = [
            ["step (s)", *(f"{name} ({UNITS[name]})" for name in self.errors)],
            *([f"{h:g}", *(f"{errors[k]:.2e}" for errors in self.errors.values())] for k, h in enumerate(self.steps)),
            ["order", *(f"{order:.2f}" for order in self.orders.values())],
        ]
        widths = [max(map(len, column)) + 2 for column in zip(*rows, strict=True)]
        table = ("".join(map(str.rjust, row, widths)) for row in rows)
        return "\n".join([f"Largest errors for t in [{since:g}, {until:g}] s", *table])


@checked
def convergence_study(
    model_factory: Callable[[], Model],
    method: Method | None,
    steps: Annotated[ArrayLike, _steps],
    reference: Annotated[float | Solution, _reference],
    *,
    t_end: Seconds | None = None,
    interval: Any = None,
) -> ConvergenceStudy:
    """Errors of runs with several steps against a reference, and the orders fitted to them.

    An error is the largest over all states of a run in the interval, and over all nodes or equations: of positions the
    distance, of rotations the angle of the relative rotation vector, of velocities and multipliers the largest
    difference of a component. Velocities are those of the groups of the run.

    The reference is taken at the same times by ``reference(t)``: its own state where it has one, else an interpolated
    one, whose error is of third order in its step and of second order in multipliers, which are linear in between. To
    study multipliers, let the step of the reference divide the steps, or be much smaller.

    Parameters
    ----------
    model_factory : function
        Returns a new model.
    method : GeneralizedAlpha
        Any method that :func:`mbs.simulate` takes.
    steps : (k,)
        Steps in s.
    reference : float or Solution
        Step in s of a reference run with the same method, or a solution: on any groups, but with the same nodes and
        joints in the same order.
    t_end : float, optional
        End of the runs in s; that of a reference solution by default.
    interval : (float, float), optional
        Times in s between which errors are taken, both included; the whole run by default.

    Raises
    ------
    ModelError
        If an argument is not valid, before anything is computed.
    FemMbsError
        If a run fails; see :func:`mbs.simulate`.

    Examples
    --------
    >>> import fem_mbs as mbs
    >>> from fem_mbs.elements import RigidBody, SphericalJoint
    >>> def pendulum():
    ...     model = mbs.Model(gravity=(0, 0, -9.81))
    ...     bob = model.add_node((1, 0, 0))
    ...     model.add(RigidBody(bob, mass=1.0, inertia=(0.1, 0.1, 0.1)))
    ...     model.add(SphericalJoint(model.ground, bob, point=(0, 0, 0)))
    ...     return model
    >>> study = mbs.convergence_study(pendulum, mbs.GeneralizedAlpha(), [0.02, 0.01], reference=0.001, t_end=0.5)
    >>> print(f"{study.orders['position']:.1f}")
    2.0
    """
    steps = np.asarray(steps)
    t_end = _end(t_end, reference, steps)
    interval = _interval(interval, steps, t_end)
    models = [_new(model_factory, reference) for _ in steps]
    runs = [_run(model, method, h, t_end) for model, h in zip(models, steps, strict=True)]
    if not isinstance(reference, Solution):
        reference = _run(_new(model_factory, runs[0]), method, reference, t_end)
    found = [_largest(run, reference, interval, MARGIN * h) for run, h in zip(runs, steps, strict=True)]
    errors, sizes = (dict(zip(UNITS, np.transpose(rows), strict=True)) for rows in zip(*found, strict=True))
    orders = {}
    for name, error in errors.items():
        said = error > EXACT * sizes[name]
        orders[name] = fitted_order(steps[said], error[said])
    return ConvergenceStudy(steps, errors, orders, interval)


def fitted_order(steps: Array, errors: Array) -> float:
    """Slope of the errors ``(k,)`` over the steps ``(k,)`` in a doubly logarithmic plot, by least squares.

    It is nan for fewer than two different steps, and if an error is zero.
    """
    if len(np.unique(steps)) < 2 or not np.all(errors):
        return float("nan")
    return float(np.polyfit(np.log(steps), np.log(errors), 1)[0])


def _run(model: Model, method: Any, step: float, t_end: float) -> Solution:
    run = simulate(model, t_end=t_end, step=step, method=method)
    if run.status is Outcome.INTERRUPTED:
        raise KeyboardInterrupt  # who stops a run stops the study
    return run


def _largest(
    run: Solution, reference: Solution, interval: tuple[float, float], margin: float
) -> tuple[list[float], list[float]]:
    """Largest errors of the components of a run, and the largest values of the reference they are judged by."""
    since, until = interval
    inside = (run.t >= since - margin) & (run.t <= until + margin)
    states = [reference(t) for t in run.t[inside]]
    motions = [reference.system.motion(s) for s in states]
    v = np.array([run.system.kinematics.from_body(motion.R, motion.V) for motion in motions])
    x, R, multipliers = (np.array([getattr(s, name) for s in states]) for name in ("x", "R", "multipliers"))
    errors = (
        np.linalg.norm(run.x[inside] - x, axis=-1),
        np.linalg.norm(so3.log(R.mT @ run.R[inside]), axis=-1),
        run.v[inside] - v,
        run.multipliers_all[inside] - multipliers,
    )
    return [_size(error) for error in errors], [_size(x), 1.0, _size(v), _size(multipliers)]


def _size(values: Array) -> float:
    return float(np.abs(values).max(initial=0.0))


def _new(model_factory: Callable[[], Model], like: float | Solution) -> Model:
    """A new model with the nodes and joints of a solution, if there is one."""
    model = instance(model_factory(), Model, "convergence_study: what model_factory returns")
    if isinstance(like, Solution):
        size = len(model.nodes), sum(len(joint.equations) for joint in model.constraints)
        if size != (like.system.n, like.system.m):
            raise ModelError(
                f"convergence_study: the model has {size[0]} nodes and {size[1]} constraint equations, the reference "
                f"{like.system.n} and {like.system.m}; errors need the same nodes and joints in both"
            )
    return model


def _end(t_end: float | None, reference: float | Solution, steps: Array) -> float:
    if isinstance(reference, Solution):
        last = float(reference.t[-1])
        t_end = last if t_end is None else t_end
    elif reference >= steps.min():
        raise ModelError(
            f"convergence_study: reference must be a smaller step than all others, received {reference:g} s for steps "
            f"down to {steps.min():g} s"
        )
    elif t_end is None:
        raise ModelError("convergence_study: t_end is missing; only a Solution as the reference has an end of its own")
    if isinstance(reference, Solution) and t_end > last:
        raise ModelError(f"convergence_study: t_end = {t_end:g} s is beyond the reference, which ends at {last:g} s")
    if steps.max() > t_end:
        raise ModelError(f"convergence_study: a step of {steps.max():g} s is longer than the run, t_end = {t_end:g} s")
    return t_end


def _interval(interval: tuple[float, float] | None, steps: Array, t_end: float) -> tuple[float, float]:
    if interval is None:
        return 0.0, t_end
    bounds = real(interval)
    if bounds is None or bounds.shape != (2,) or not 0.0 <= bounds[0] <= bounds[1] <= t_end:
        raise ModelError(
            f"convergence_study: interval must be two ascending times from 0 to t_end = {t_end:g} s, received "
            f"{shown(interval)}"
        )
    first = np.minimum(np.ceil(bounds[0] / steps - MARGIN) * steps, t_end)
    if (empty := steps[first > bounds[1] + MARGIN * steps]).size:
        raise ModelError(
            f"convergence_study: steps of {empty[0]:g} s have no state in the interval from {bounds[0]:g} s to "
            f"{bounds[1]:g} s; widen it or leave them out"
        )
    return float(bounds[0]), float(bounds[1])
