"""The run: the only loop over time."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable

import numpy as np

from fem_mbs.errors import ConvergenceError, FemMbsError, ModelError, MotionError, SingularSystemError
from fem_mbs.integrate.generalized_alpha import GeneralizedAlpha, start, step
from fem_mbs.model import Model
from fem_mbs.result import Outcome, Recorder, Solution
from fem_mbs.solve import NotConverged, explain_failure
from fem_mbs.system import State, System

LOG = logging.getLogger("fem_mbs")
MAX_HALVINGS = 8


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
    ConvergenceError, MotionError
        If a step fails for good; ``error.solution`` has all steps before it.
    """
    _check_times(t_end, step)
    method = method or GeneralizedAlpha()
    begun = time.perf_counter()
    system = System(model)
    recorder = Recorder(system, start(system, method))
    outcome = Outcome.FINISHED
    try:
        for t in _progress(_grid(t_end, step), progress):
            _reach(t, step, method, recorder)
            if callback is not None and callback(recorder.last):
                outcome = Outcome.STOPPED
                break
    except KeyboardInterrupt:
        outcome = Outcome.INTERRUPTED
    except FemMbsError as error:
        error.solution = recorder.solution(Outcome.FAILED, time.perf_counter() - begun)
        raise
    solution = recorder.solution(outcome, time.perf_counter() - begun)
    LOG.info("%s", solution)
    return solution


def _reach(t: float, nominal: float, method: GeneralizedAlpha, recorder: Recorder) -> None:
    """Step to ``t``, halving the step where it fails."""
    halvings = 0
    while (rest := t - recorder.last.t) > 1e-9 * nominal:
        h = min(rest, nominal * 0.5**halvings)
        try:
            state, report = step(recorder.system, recorder.last, h, method)
        except (NotConverged, MotionError, SingularSystemError) as failure:
            recorder.failures += 1
            LOG.info("step of %g s from t = %g s failed: %s", h, recorder.last.t, failure)
            if halvings == MAX_HALVINGS:
                raise _give_up(recorder, h, failure) from failure
            halvings += 1
            continue
        if abs(state.t - t) <= 1e-9 * nominal:
            state.t = t
        recorder.add(state, report)


def _give_up(recorder: Recorder, h: float, failure: FemMbsError) -> FemMbsError:
    tried = f"the step was halved {MAX_HALVINGS} times, down to {h:.3g} s"
    t = recorder.last.t + h
    if isinstance(failure, NotConverged):
        history, what = explain_failure(recorder.system, failure)
        return ConvergenceError(f"no solution at t = {t:.6g} s: {what}; {tried}", t, history)
    return type(failure)(f"no solution at t = {t:.6g} s: {failure}; {tried}")


def _check_times(t_end: float, step: float) -> None:
    for name, value in (("t_end", t_end), ("step", step)):
        if not (isinstance(value, int | float | np.number) and math.isfinite(value) and value > 0.0):
            raise ModelError(f"simulate: {name} must be a positive number of seconds, received {value!r}")


def _grid(t_end: float, step: float) -> list[float]:
    count = max(1, math.ceil(t_end / step - 1e-9))
    return [*(k * step for k in range(1, count)), float(t_end)]


def _progress(times: list[float], show: bool) -> Iterable[float]:
    if not show:
        return times
    try:
        from tqdm import tqdm
    except ImportError:
        raise ModelError("simulate: progress=True needs tqdm; install it with pip install fem_mbs[progress]") from None
    return tqdm(times, desc="fem_mbs", unit="step")
