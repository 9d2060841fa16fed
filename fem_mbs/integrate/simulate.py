"""The run: the only loop over time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.arrays import Array
from fem_mbs.errors import FemMbsError, ModelError
from fem_mbs.integrate.events import EventFunction, Events
from fem_mbs.integrate.generalized_alpha import GeneralizedAlpha
from fem_mbs.integrate.march import LOG, Accepted, March, fixed_steps
from fem_mbs.integrate.progress import progress_bar
from fem_mbs.integrate.variable_step import VariableStep, variable_steps
from fem_mbs.model import Model, instance, real, shown
from fem_mbs.result import Outcome, Recorder, Solution
from fem_mbs.system import State, System

MAX_STEPS = 10_000_000


def simulate(
    model: Model,
    t_end: float,
    step: float | VariableStep,
    method: GeneralizedAlpha | None = None,
    progress: bool = False,
    callback: Callable[[State], object] | None = None,
    events: EventFunction | Sequence[EventFunction] | None = None,
    times: ArrayLike | None = None,
    initial: State | None = None,
) -> Solution:
    """Integrate a model from its initial state at t = 0, or from another state.

    A fixed step that fails is tried again with half the length, at most ``MAX_HALVINGS`` times; the nominal length
    returns with the next nominal step.

    Parameters
    ----------
    model : Model
        What to integrate; later changes to it do not affect the result.
    t_end : float
        End of the run in s.
    step : float or VariableStep
        Step in s, the last one cut to end at ``t_end``; or the tolerance that steps of variable length obey.
    method : GeneralizedAlpha, optional
        By default ``GeneralizedAlpha(rho_inf=0.9)``.
    progress : bool
        Show a progress bar (needs tqdm, ``pip install fem_mbs[progress]``).
    callback : function, optional
        Called with the state after every accepted step; a true return value ends the run.
    events : function or list of functions, optional
        Functions of the state whose zeros are to be found, as in :func:`scipy.integrate.solve_ivp`: the attribute
        ``terminal`` (True, or a number of events) ends the run there, ``direction`` (positive or negative) counts
        changes of sign in one direction only. The solution has ``event_times`` and ``event_states``.
    times : array, optional
        Times in s at which the solution has states, interpolated along the group, in place of those after each step.

    initial : State, optional
        Start from the time, the configuration and the velocities of this state of the model, of an equilibrium or of
        another run.

    Raises
    ------
    ModelError, SingularSystemError
        Before anything is computed, if the model is not valid; after the run, with the whole ``error.solution``, if
        an event without the attribute ``optional`` never changed its sign.
    ConvergenceError, MotionError, SingularSystemError
        If a step fails for good; ``error.solution`` has all steps before it.
    FemMbsError
        If the callback or an event fails; ``error.solution`` has all steps so far.
    """
    instance(model, Model, "simulate: model")
    t_end = _seconds(t_end, "t_end")
    method = GeneralizedAlpha() if method is None else instance(method, GeneralizedAlpha, "simulate: method")
    if callback is not None and not callable(callback):
        raise ModelError(f"simulate: callback must be a function of a State, received {shown(callback)}")
    begin = 0.0 if initial is None else instance(initial, State, "simulate: initial").t
    if t_end <= begin:
        raise ModelError(f"simulate: t_end = {t_end:g} s must come after the initial state at t = {begin:g} s")
    grid = None if isinstance(step, VariableStep) else _grid(begin, t_end, _seconds(step, "step"))
    span = t_end - begin
    first_step = step.limits(span)[1] if isinstance(step, VariableStep) else min(float(step), span)
    output = None if times is None else _output(times, begin, t_end)
    show = progress_bar(progress, begin, t_end)
    begun = time.perf_counter()
    system = System(model)
    if initial is not None and initial.x.shape != system.x0.shape:
        raise ModelError(
            f"simulate: the initial state has {len(initial.x)} nodes, and the model {system.n}; take a state of the "
            "same model"
        )
    march = March(system, method, first_step, initial)
    recorder = Recorder(system, march.state, output)
    watch = Events(events, system, march.state)
    recorder.events = watch.hits
    steps = variable_steps(march, t_end, step) if isinstance(step, VariableStep) else fixed_steps(march, grid or ())

    def solution(outcome: Outcome) -> Solution:
        recorder.failed, recorder.rejected = march.failed, march.rejected
        return recorder.solution(outcome, time.perf_counter() - begun)

    try:
        outcome = _run(steps, recorder, watch, callback, show)
    except KeyboardInterrupt:
        outcome = Outcome.INTERRUPTED
    except FemMbsError as error:
        error.solution = solution(Outcome.FAILED)
        raise
    finally:
        show(None)
    result = solution(outcome)
    LOG.info("%s", result)
    if march.failed:
        LOG.warning("%d steps failed and were repeated with shorter ones", march.failed)
    if outcome is Outcome.FINISHED:
        watch.check(result)
    return result


def _run(
    steps: Iterator[Accepted],
    recorder: Recorder,
    watch: Events,
    callback: Callable[[State], object] | None,
    show: Callable[[State | None], None],
) -> Outcome:
    for state, report in steps:
        last = watch.until(state)
        recorder.add(last or state, report)
        show(recorder.last)
        stopped = callback is not None and _call(callback, recorder.last)
        if last is not None:
            return Outcome.EVENT
        if stopped:
            return Outcome.STOPPED
    return Outcome.FINISHED


def _call(callback: Callable[[State], object], state: State) -> object:
    try:
        return callback(state)
    except Exception as error:
        raise FemMbsError(f"simulate: the callback failed at t = {state.t:.6g} s: {error!r}") from error


def _seconds(value: object, name: str) -> float:
    number = real(value)
    if number is None or number.shape != () or not math.isfinite(number) or number <= 0.0:
        raise ModelError(f"simulate: {name} must be a positive number of seconds, received {shown(value)}")
    return float(number)


def _grid(begin: float, t_end: float, step: float) -> list[float]:
    """Times to reach; a rest of a millionth of a step is rounding and goes to the last one."""
    count = max(1.0, math.ceil((t_end - begin) / step - 1e-6))
    if count > MAX_STEPS:
        raise ModelError(
            f"simulate: t_end = {t_end:g} s in steps of {step:g} s are {count:.1e} steps, more than can be kept "
            f"({MAX_STEPS:.0e}); look at the units"
        )
    return [*(begin + k * step for k in range(1, int(count))), t_end]


def _output(times: ArrayLike, begin: float, t_end: float) -> Array:
    """Times of output, in order and within the run."""
    result = real(times)
    if result is None or result.ndim != 1 or not len(result) or not np.isfinite(result).all():
        raise ModelError(f"simulate: times must be a list of times in s, received {shown(times)}")
    if result[0] < begin or result[-1] > t_end or (np.diff(result) <= 0.0).any():
        raise ModelError(
            f"simulate: times must increase, from {begin:g} s at least to t_end = {t_end:g} s at most, "
            f"received {shown(times)}"
        )
    return result
