"""The run: the only loop over time."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from fem_mbs.errors import ConvergenceError, FemMbsError, LawError, ModelError, MotionError, SingularSystemError
from fem_mbs.integrate.generalized_alpha import GeneralizedAlpha, start, step
from fem_mbs.model import Model, instance, real, shown
from fem_mbs.result import Outcome, Recorder, Solution
from fem_mbs.solve import NotConvergedError, explain_failure
from fem_mbs.system import State, System

LOG = logging.getLogger("fem_mbs")
MAX_HALVINGS = 8
MAX_STEPS = 10_000_000


def simulate(
    model: Model,
    t_end: float,
    step: float,
    method: GeneralizedAlpha | None = None,
    progress: bool = False,
    callback: Callable[[State], object] | None = None,
) -> Solution:
    """Integrate a model from its initial state at t = 0.

    A step that fails is tried again with half the length, at most ``MAX_HALVINGS`` times; the nominal length returns
    with the next nominal step.

    Parameters
    ----------
    model : Model
        What to integrate; later changes to it do not affect the result.
    t_end : float
        End of the run in s.
    step : float
        Step in s; the last one is cut to end at ``t_end``.
    method : GeneralizedAlpha, optional
        By default ``GeneralizedAlpha(rho_inf=0.9)``.
    progress : bool
        Show a progress bar (needs tqdm, ``pip install fem_mbs[progress]``).
    callback : function, optional
        Called with the state after every accepted step; a true return value ends the run.

    Raises
    ------
    ModelError, SingularSystemError
        Before anything is computed, if the model is not valid.
    ConvergenceError, MotionError, SingularSystemError
        If a step fails for good; ``error.solution`` has all steps before it.
    FemMbsError
        If the callback fails; ``error.solution`` has all steps so far.
    """
    instance(model, Model, "simulate: model")
    t_end, step = _seconds(t_end, "t_end"), _seconds(step, "step")
    method = GeneralizedAlpha() if method is None else instance(method, GeneralizedAlpha, "simulate: method")
    if callback is not None and not callable(callback):
        raise ModelError(f"simulate: callback must be a function of a State, received {shown(callback)}")
    times = _progress_bar(progress)(_grid(t_end, step))
    begun = time.perf_counter()
    system = System(model)
    recorder = Recorder(system, start(system, method, min(step, t_end)))
    outcome = Outcome.FINISHED
    try:
        for t in times:
            _reach(t, method, recorder)
            if callback is not None and _call(callback, recorder.last):
                outcome = Outcome.STOPPED
                break
    except KeyboardInterrupt:
        outcome = Outcome.INTERRUPTED
    except FemMbsError as error:
        error.solution = recorder.solution(Outcome.FAILED, time.perf_counter() - begun)
        raise
    solution = recorder.solution(outcome, time.perf_counter() - begun)
    LOG.info("%s", solution)
    if recorder.failures:
        LOG.warning("%d steps failed and were repeated with shorter ones", recorder.failures)
    return solution


def _reach(t: float, method: GeneralizedAlpha, recorder: Recorder) -> None:
    """Step to ``t``, halving the step where it fails."""
    nominal = t - recorder.last.t
    halvings = 0
    while (rest := t - recorder.last.t) > 1e-9 * nominal:
        h = min(rest, nominal * 0.5**halvings)
        try:
            state, report = step(recorder.system, recorder.last, h, method)
        except (NotConvergedError, MotionError, SingularSystemError) as failure:
            recorder.failures += 1
            LOG.info("step of %g s from t = %g s failed: %s", h, recorder.last.t, failure)
            if halvings == MAX_HALVINGS or isinstance(failure, LawError):
                raise _give_up(recorder, method, h, halvings, failure) from failure.__cause__
            halvings += 1
            continue
        if abs(state.t - t) <= 1e-9 * nominal:
            state.t = t
        recorder.add(state, report)


def _give_up(
    recorder: Recorder, method: GeneralizedAlpha, h: float, halvings: int, failure: FemMbsError
) -> FemMbsError:
    last = recorder.last
    t = last.t + h
    why = explain_failure(recorder.system, last, failure)
    if isinstance(failure, NotConvergedError):
        why += _stability(last, h * 2.0**halvings, method)
    text = f"no solution at t = {t:.6g} s: {why}\n  reached t = {last.t:.6g} s in {len(recorder.states) - 1} steps"
    if halvings:
        text += f"; the step was halved {halvings} times, down to {h:.3g} s"
    text += "; the error has the steps as its solution"
    if isinstance(failure, NotConvergedError):
        return ConvergenceError(text, t, failure.report.history if failure.report else ())
    return type(failure)(text)


def _stability(state: State, h: float, method: GeneralizedAlpha) -> str:
    """Advice where bodies turn further in a step than the method bears; empty otherwise."""
    turn = h * float(np.linalg.norm(state.v[:, 3:], axis=1).max())
    if turn <= 1.0 - method.rho_inf:
        return ""
    return (
        f"\n  a node turns by {turn:.2g} rad a step; with rho_inf = {method.rho_inf:g}, joints and stiff beams may "
        f"become unstable above about {1.0 - method.rho_inf:.2g} rad: try a smaller step, a smaller rho_inf, "
        "formulation='index2', or group='SE3'"
    )


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


def _grid(t_end: float, step: float) -> list[float]:
    """Times to reach; a rest of a millionth of a step is rounding and goes to the last one."""
    count = max(1.0, math.ceil(t_end / step - 1e-6))
    if count > MAX_STEPS:
        raise ModelError(
            f"simulate: t_end = {t_end:g} s in steps of {step:g} s are {count:.1e} steps, more than can be kept "
            f"({MAX_STEPS:.0e}); look at the units"
        )
    return [*(k * step for k in range(1, int(count))), t_end]


def _progress_bar(show: bool) -> Callable[[list[float]], Iterable[float]]:
    if not show:
        return list
    try:
        from tqdm import tqdm
    except ImportError:
        raise ModelError("simulate: progress=True needs tqdm; install it with pip install fem_mbs[progress]") from None
    return partial(tqdm, desc="fem_mbs", unit="step")
