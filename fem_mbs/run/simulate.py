"""A run in time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from itertools import chain

import numpy as np

from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha
from fem_mbs.arrays import Array, ArrayLike
from fem_mbs.compiled import accelerate
from fem_mbs.contact.nonsmooth_alpha import NonsmoothAlpha
from fem_mbs.contracts import EventLike, Method, Path, Seconds, State, array, checked, number, shown
from fem_mbs.errors import LOG, ModelError, progress_bar
from fem_mbs.files.store.recorder import in_file
from fem_mbs.initial.consistent_start import consistent_start
from fem_mbs.initial.given_velocities import deforming, say_resting
from fem_mbs.initial.state_point import pressed, refuse_impacts
from fem_mbs.linear.direct import one_thread
from fem_mbs.model.model import Model
from fem_mbs.run.events import Events
from fem_mbs.run.fixed_step import FixedStep
from fem_mbs.run.interfaces import Callback, Checkpoint, Recorder, StepControl
from fem_mbs.run.recorder import AtTimes, MemoryRecorder, Store
from fem_mbs.run.time_loop import TimeIntegration, run_to_end
from fem_mbs.run.variable_step import VariableStep, calibrated
from fem_mbs.solution.history import snapped
from fem_mbs.solution.solution import Solution
from fem_mbs.system.states import from_user
from fem_mbs.system.system import System


@checked
@one_thread
def simulate(
    model: Model,
    t_end: Seconds,
    step: Seconds | VariableStep | FixedStep,
    method: Method | None = None,
    *,
    progress: bool = False,
    callback: Callback | None = None,
    events: EventLike | Sequence[EventLike] | None = None,
    times: ArrayLike | None = None,
    initial: State | Checkpoint | None = None,
    store: Store | Path | None = None,
) -> Solution:
    """Integrate a model from its initial state at t = 0, or from another state.

    A fixed step that fails is tried again with half the length, at most eight times, and once beyond its end, which
    may be a singular position; the nominal length returns with the next nominal step.

    Parameters
    ----------
    model : Model
        What to integrate; later changes to it do not affect the result.
    t_end : float
        End of the run in s.
    step : float, VariableStep or FixedStep
        Step in s, no longer than the run, the last one cut to end at ``t_end``; or the tolerance that steps of variable
        length obey; or equal steps that cross kinks of laws as those of :func:`sensitivities` do,
        ``FixedStep(h, narrow=True)`` of ``fem_mbs.run.fixed_step``.
    method : Method, optional
        By default ``GeneralizedAlpha(rho_inf=0.9)``, with rigid contacts ``NonsmoothAlpha()``.
    progress : bool
        Show a progress bar (needs tqdm, ``pip install fem_mbs[progress]``).
    callback : function, optional
        Called with the state after every accepted step; returns None, or True to end the run.
    events : function, str or Event, or list of them, optional
        What is to pass through zero: functions of the state, as in :func:`scipy.integrate.solve_ivp`, or channels of
        the solution by name, as "tip.position.z". The attribute ``terminal`` (True, or a number of events) ends the run
        there, ``direction`` (positive or negative) counts changes of sign in one direction only; of a name, give
        ``fem_mbs.contracts.Event("tip.position.z", terminal=True)``. The solution has ``event_times`` and
        ``event_states``.
    times : array, optional
        Times in s at which the solution has states, interpolated along the group, in place of those after each step.
    initial : State or Checkpoint, optional
        Start from the time, the configuration and the velocities of this state of the model, of an equilibrium or of
        another run; or go on from ``solution.checkpoint`` of a run as if that had never stopped. Where the model has
        changed since, that is its state. Angles of joints count on from those of a solution; what callbacks and events
        are called with, and states of your own, tell no whole turns beyond those of internal variables.
    store : str, Path or Store, optional
        A file, a database of SQLite, that receives the states as they come: they take no memory, and are written at
        least once a second. That of an earlier run is replaced. :func:`load` opens it in any process, :func:`resume`
        goes on with it.

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
    control: StepControl = step if isinstance(step, VariableStep | FixedStep) else FixedStep(step)
    rigid = any(part.contacts and not part.yields for part in model.elements)
    method = method or (NonsmoothAlpha() if rigid else GeneralizedAlpha())
    first = initial.state if isinstance(initial, Checkpoint) else initial
    begin = 0.0 if first is None else number(first.t, "simulate: initial: t")
    if t_end <= begin:
        raise ModelError(f"simulate: t_end = {t_end:g} s must come after the initial state at t = {begin:g} s")
    control.begin(method, begin, t_end)
    output = None if times is None else _output(times, begin, t_end)
    show = progress_bar(progress, begin, t_end, "simulate", "s")
    started = time.perf_counter()
    system = System(model, t_end)
    method.check(system)
    refuse_impacts(system, method)
    if initial is None:
        lacking = (batch.unready(system.end) for batch in system.batches)
        for part, text in chain(pressed(system), deforming(system), *lacking):
            LOG.warning("simulate: %s: %s", part, text)
    accelerate(system)
    if isinstance(initial, State):
        initial = from_user(system, initial, "simulate: initial", joints=False)
        say_resting(system, initial, "simulate")
    if isinstance(control, VariableStep):
        integration = calibrated(system, method, control, t_end, initial, events=events)
    else:
        integration = TimeIntegration(system, method, control, t_end, initial)
    LOG.info("simulate: from t = %g s to %g s, %s", begin, t_end, integration.control)
    between = partial(method.between, system)
    selection = None if output is None else AtTimes(output, between)
    watched = None if events is None else Events(events, system, integration.state, between)
    if store is None:
        recorder: Recorder = MemoryRecorder(
            lambda states, outcome, stats, hits, turns: Solution(
                system, states, outcome, stats, hits, integration.checkpoint(True), turns, None if selection else method
            ),
            started,
            system,
            integration.state,
            selection,
        )
    else:
        to = store if isinstance(store, Store) else Store(store)
        recorder = in_file(integration, to, selection, watched, started)
    return run_to_end(integration, recorder, watched, callback, show)


def _output(times: ArrayLike, begin: float, t_end: float) -> Array:
    """Times of output, which a run passes one after the other."""
    result = snapped(array(times, "simulate: times", (None,), what="a list of times"), begin, t_end)
    if result[0] < begin or result[-1] > t_end or (np.diff(result) <= 0.0).any():
        raise ModelError(
            f"simulate: times must increase, from {begin:g} s at least to t_end = {t_end:g} s at most, "
            f"received {shown(times)}"
        )
    return result


@checked
def start(system: System, method: Method | None = None) -> State:
    """Consistent state at t = 0, from which ``method.init`` and ``method.step`` go on.

    Raises
    ------
    ModelError
        If nothing can move, a joint is open, the initial velocities violate it, or the method cannot integrate the
        model.
    SingularSystemError
        If accelerations or multipliers are not unique; names the nodes or joints.
    """
    if method is not None:
        method.check(system)
        refuse_impacts(system, method)
    state = consistent_start(system)
    return system.to_user(state if method is None else method.settle(system, state))
