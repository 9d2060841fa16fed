"""Equilibria of a model under growing loads: the run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.arrays import Array
from fem_mbs.errors import FemMbsError, ModelError
from fem_mbs.model import Model, instance, number, real, shown
from fem_mbs.result import Outcome
from fem_mbs.solve import FAILURES, Newton
from fem_mbs.static.equations import Equations, Loading, constant, proportional
from fem_mbs.static.failure import explain_failure, explain_length
from fem_mbs.static.path import LOG, ROUNDING, Path
from fem_mbs.static.result import StaticRecorder, StaticSolution
from fem_mbs.static.stability import unstable_motions
from fem_mbs.static.start import start
from fem_mbs.system import State, System

MAX_ITERATIONS = 15
MAX_STEPS = 1_000_000


def statics(
    model: Model,
    load_end: float = 1.0,
    step: float | None = None,
    loads: ArrayLike | None = None,
    arc_length: bool = False,
    ramp: bool = True,
    initial: State | None = None,
    newton: Newton | None = None,
    max_steps: int = 1000,
    callback: Callable[[State], object] | None = None,
) -> StaticSolution:
    """Follow the equilibria of a model while its loads grow.

    The load factor ``t`` multiplies all constant loads and gravity. Loads and drives that are functions of time are
    taken at the time ``t``, as they are.

    Parameters
    ----------
    model : Model
        What is at rest. Its velocities and damping play no part, nor do masses but for their weight.
    load_end : float
        Last load factor; the first is 0, or that of the ``initial`` state.
    step : float, optional
        Steps of the load factor, halved where they fail; by default they are chosen by the iterations they take. With
        ``arc_length``, their length: the root of the squares of rotations in rad and displacements over the extent of
        the model, in the mean over nodes, and of the load factor over its range.
    loads : array, optional
        Load factors at which the solution has equilibria, in place of those after each step.
    arc_length : bool
        Measure steps by the motion and the load together, so that the path goes on where the load has a limit and
        falls. The path ends where it reaches ``load_end`` for the first time.
    ramp : bool
        False: constant loads and gravity act in full from the start, and only functions of time change. The first
        equilibrium is then sought from the position as built.
    initial : State, optional
        Equilibrium to start from, such as ``solution.state(-1)``, at its load factor ``initial.t``.
    newton : Newton, optional
        Tolerances and options of Newton's method. With ``line_search`` the stiffness is the exact derivative of the
        equations; without, it has independent stresses, which takes much fewer steps (see the notes).
    max_steps : int
        Steps after which to give up.
    callback : function, optional
        Called with the state after every step; a true return value ends the run.

    Returns
    -------
    StaticSolution
        The equilibria, with the queries of a :class:`Solution`; ``solution.t`` is the load factor.

    Raises
    ------
    ModelError
        If an argument is not valid.
    SingularSystemError
        If the first equilibrium is not unique: names the motions without resistance, or joints that repeat each other.
    ConvergenceError
        If no equilibrium is found beyond a load factor; ``error.solution`` has the path up to there.
    LawError
        If a function of time that the user gave fails; likewise.

    Notes
    -----
    Newton's method on SE(3) with independent stresses (Magisano, Leonetti, Garcea, *CMAME* 313, 2017), pseudo
    arc-length with the tangent as predictor (Keller 1977) in a metric of angles, lengths against the extent of the
    model and the load factor against its range.
    """
    instance(model, Model, "statics: model")
    load_end = number(load_end, "statics: load_end")
    step = None if step is None else number(step, "statics: step", positive=True)
    newton = Newton(max_iterations=MAX_ITERATIONS) if newton is None else instance(newton, Newton, "statics: newton")
    _check(arc_length, ramp, max_steps, callback)
    first = 0.0 if initial is None else instance(initial, State, "statics: initial").t
    if load_end == first and ramp:
        raise ModelError(f"statics: load_end must not be the load factor of the start, {first:g}: no load would change")
    output = None if loads is None else _output(loads, first, load_end, arc_length)
    begun = time.perf_counter()
    system = System(model)
    loading = Loading(proportional if ramp else constant, first, load_end)
    equations = Equations(system, loading)
    point = start(equations, initial, ramp, newton)
    unstable = unstable_motions(equations, point)
    recorder = StaticRecorder(system, loading.instant, point.state(), unstable, output, begun)
    if load_end == first:
        return recorder.solution(Outcome.FINISHED)
    stops = np.append([] if output is None else output, load_end)
    length = step
    if step is not None and not arc_length:
        stops, length = _with_grid(stops, first, load_end, step), step / equations.range
    path = Path(equations, point, newton, arc_length, length)
    try:
        outcome = _run(path, recorder, stops, max_steps, callback)
    except KeyboardInterrupt:
        outcome = Outcome.INTERRUPTED
    except FemMbsError as failure:
        error = explain_failure(path, failure) if isinstance(failure, FAILURES) else failure
        error.solution = recorder.solution(Outcome.FAILED, path.failed)
        raise error from failure.__cause__
    solution = recorder.solution(outcome, path.failed)
    LOG.info("%s", solution)
    _warn(solution)
    return solution


def _warn(solution: StaticSolution) -> None:
    """Log where a path became unstable, if it ends so."""
    if solution.unstable[-1] <= 0:
        return
    k = int(np.max(np.flatnonzero(solution.unstable <= 0), initial=-1)) + 1
    LOG.warning(
        "statics: the equilibria from load factor %g on are unstable. If the load has no limit there, the path "
        "branches, and a small load or imperfection towards the other branch leads there; mbs.buckling has its shape",
        solution.t[k],
    )


def _run(
    path: Path, recorder: StaticRecorder, stops: Array, max_steps: int, callback: Callable[[State], object] | None
) -> Outcome:
    """Step from stop to stop, until the path reaches its end."""
    loads = [path.here.point.load]
    while len(loads) <= max_steps:
        made = path.advance(stops)
        loads.append(made.point.load)
        recorder.add(made.point.state(), path.here.unstable, made.report)
        if callback is not None and _call(callback, recorder.last):
            return Outcome.STOPPED
        if made.point.load == path.equations.loading.end:
            return Outcome.FINISHED
    raise explain_length(path, max_steps, np.array(loads))


def _with_grid(stops: Array, first: float, last: float, step: float) -> Array:
    """The stops, and load factors at which steps of equal size end."""
    count = math.floor(abs(last - first) / step)
    if count > MAX_STEPS:
        raise ModelError(f"statics: step = {step:g} makes {count:.1e} steps to load factor {last:g}; give a longer one")
    grid = first + math.copysign(step, last - first) * np.arange(1, count + 1)
    others = np.abs(grid[:, None] - stops).min(axis=1) > ROUNDING * abs(last - first)
    return np.append(stops, grid[others])


def _check(arc_length: object, ramp: object, max_steps: object, callback: object) -> None:
    for name, value in (("arc_length", arc_length), ("ramp", ramp)):
        if not isinstance(value, bool | np.bool_):
            raise ModelError(f"statics: {name} must be True or False, received {shown(value)}")
    if not isinstance(max_steps, int | np.integer) or isinstance(max_steps, bool) or max_steps < 1:
        raise ModelError(f"statics: max_steps must be a whole number of at least 1, received {shown(max_steps)}")
    if callback is not None and not callable(callback):
        raise ModelError(f"statics: callback must be a function of a State, received {shown(callback)}")


def _call(callback: Callable[[State], object], state: State) -> object:
    try:
        return callback(state)
    except Exception as error:
        raise FemMbsError(f"statics: the callback failed at load factor {state.t:.6g}: {error!r}") from error


def _output(loads: ArrayLike, first: float, last: float, arc_length: bool) -> Array:
    """Load factors of output, which a path can reach."""
    result = real(loads)
    if result is None or result.ndim != 1 or not len(result) or not np.isfinite(result).all():
        raise ModelError(f"statics: loads must be a list of load factors, received {shown(loads)}")
    low, high = sorted((first, last))
    if not arc_length and (result.min() < low or result.max() > high):
        raise ModelError(f"statics: loads must be between {low:g} and {high:g}, received {shown(loads)}")
    return result
