"""Equilibria of a model under growing loads: the run, and what it returns."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any, cast

import numpy as np

from fem_mbs.arrays import Array, ArrayLike, IntArray, read_only
from fem_mbs.contact.contacts import contacts_of
from fem_mbs.contracts import EventLike, Path, Positive, PositiveInt, State, array, checked, number, shown
from fem_mbs.errors import LOG, ModelError, progress_bar
from fem_mbs.initial.state_point import check_system
from fem_mbs.lie import se3
from fem_mbs.linear.direct import one_thread
from fem_mbs.model.model import Model
from fem_mbs.newton import Newton
from fem_mbs.run.events import Events
from fem_mbs.run.interfaces import Callback
from fem_mbs.run.recorder import MemoryRecorder
from fem_mbs.run.time_loop import run_to_end
from fem_mbs.solution.balance import ConstraintResidual
from fem_mbs.solution.history import History, Instant, Outcome, Stats, constant, proportional, snapped
from fem_mbs.solution.solution import Solution
from fem_mbs.solution.turns import Turns
from fem_mbs.static.contacts import ContactPath
from fem_mbs.static.equations import Equations, Loading, Point
from fem_mbs.static.path import SAME_LOAD, EquilibriumPath
from fem_mbs.static.start import start
from fem_mbs.system.states import from_user
from fem_mbs.system.system import System

MAX_ITERATIONS = 15
MAX_STEPS = 1_000_000


@checked
@one_thread
def statics(
    model: Model,
    load_end: float = 1.0,
    *,
    step: Positive | None = None,
    loads: ArrayLike | None = None,
    arc_length: bool = False,
    ramp: bool = True,
    initial: State | None = None,
    newton: Newton | None = None,
    max_steps: PositiveInt = 1000,
    callback: Callback | None = None,
    events: EventLike | Sequence[EventLike] | None = None,
    progress: bool = False,
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
        Load factors at which the solution has equilibria, in place of those after each step; in whatever order they
        are given, ``solution.t`` has them in that of the path.
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
        Called with the state after every step; returns None, or True to end the run.
    events : function, str or Event, or list of them, optional
        Functions of the state, or channels of the solution by name, whose zeros along the path are to be found, as in
        :func:`simulate`.
    progress : bool
        Show a progress bar (needs tqdm, ``pip install fem_mbs[progress]``).

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
    newton = newton or Newton(max_iterations=MAX_ITERATIONS)
    first = 0.0 if initial is None else number(initial.t, "statics: initial: t")
    if load_end == first and ramp:
        raise ModelError(f"statics: load_end must not be the load factor of the start, {first:g}: no load would change")
    output = None if loads is None else _output(loads, first, load_end, arc_length)
    show = progress_bar(progress, first, load_end, "statics", "load")
    started = time.perf_counter()
    system = System(model, max(first, load_end))
    loading = Loading(proportional if ramp else constant, first, load_end)
    check_system(system, "statics")
    stops = np.append([] if output is None else output, load_end)
    if step is not None and not arc_length:
        stops = _with_grid(stops, first, load_end, step)
        step /= abs(load_end - first) or 1.0
    path = _path(system, loading, initial, ramp, newton, arc_length, step)
    begin = path.here.state if initial is None else replace(path.here.state, turns=initial.turns)
    recorder = MemoryRecorder(
        lambda states, outcome, stats, hits, turns: StaticSolution(
            system, states, outcome, stats, hits, loading.instant, recorder.unstable, turns
        ),
        started,
        system,
        begin,
        None if output is None else lambda _, state: (state,) if (output == state.t).any() else (),
        path.here.unstable,
    )
    watched = None if events is None else Events(events, system, begin, between, "statics", loading.instant)
    path.stops, path.max_steps = stops, max_steps
    solution = cast(StaticSolution, run_to_end(path, recorder, watched, callback, show))
    _warn(solution, sought=not ramp and initial is None)
    return solution


def _path(
    system: System,
    loading: Loading,
    initial: State | None,
    ramp: bool,
    newton: Newton,
    arc_length: bool,
    step: float | None,
) -> EquilibriumPath | ContactPath:
    """A path at its first equilibrium."""
    given = None if initial is None else from_user(system, initial, "statics: initial")
    if (contacts := contacts_of(system)).count:
        if arc_length:
            raise ModelError(f"statics: {contacts.named(0)[0]} may open and close: leave arc_length out")
        return ContactPath(system, loading, given, ramp, newton, step)
    equations = Equations(system, loading, None if given is None else Point.of(given))
    return EquilibriumPath(equations, start(equations, given, ramp, newton), newton, arc_length, step)


def _warn(solution: StaticSolution, sought: bool) -> None:
    """Log where a path became unstable, if it ends so; the first equilibrium may be ``sought`` under the full loads."""
    if solution.unstable[-1] <= 0 or solution.status is Outcome.INTERRUPTED:
        return
    k = int(np.max(np.flatnonzero(solution.unstable <= 0), initial=-1)) + 1
    LOG.warning(
        "statics: the equilibria from load factor %g on are unstable. %s",
        solution.t[k],
        "The first was sought under the full loads, and none that is stable was found: let the loads grow from none, "
        "without ramp=False, or give a state near a stable one as initial"
        if k == 0 and sought
        else "If the load has no limit there, the path branches, and a small load or imperfection towards the other "
        "branch leads there; mbs.buckling has its shape",
    )


def _with_grid(stops: Array, first: float, last: float, step: float) -> Array:
    """The stops, and load factors at which steps of equal size end."""
    count = math.floor(abs(last - first) / step)
    if count > MAX_STEPS:
        raise ModelError(f"statics: step = {step:g} makes {count:.1e} steps to load factor {last:g}; give a longer one")
    grid = first + math.copysign(step, last - first) * np.arange(1, count + 1)
    others = np.abs(grid[:, None] - stops).min(axis=1) > SAME_LOAD * abs(last - first)
    return np.append(stops, grid[others])


def _output(loads: ArrayLike, first: float, last: float, arc_length: bool) -> Array:
    """Load factors of output, which a path can reach."""
    result = array(loads, "statics: loads", (None,), what="a list of load factors")
    low, high = sorted((first, last))
    if not arc_length and (result.min() < low or result.max() > high):
        raise ModelError(f"statics: loads must be between {low:g} and {high:g}, received {shown(loads)}")
    return result


class StaticSolution(Solution):
    """Equilibria over the load factor, with the queries of a :class:`Solution`; ``t`` (nt,) is the load factor.

    Along a path that is followed by its length, the load factor may also fall.

    Attributes
    ----------
    unstable : (nt,)
        Number of independent motions against which each equilibrium is unstable: 0 where it is stable, -1 where the
        stiffness does not tell, as where loads follow; :func:`modes` at the state does.
    """

    _abscissa = "load factor"

    def __init__(
        self,
        system: System,
        states: Sequence[State] | History,
        status: Outcome,
        stats: Stats,
        events: Sequence[list[State]],
        instant: Instant,
        unstable: ArrayLike,
        turns: Turns | None = None,
    ) -> None:
        super().__init__(system, states, status, stats, events, turns=turns, instant=instant)
        self._unstable = read_only(np.array(unstable, dtype=np.intp))

    @property
    def unstable(self) -> IntArray:
        """Number of independent motions against which each equilibrium is unstable ``(nt,)``; -1 where not known."""
        return self._unstable

    @checked
    def contact_losses(self, contact: Any) -> Any:
        """Not known: what friction takes follows from speeds, and nothing moves."""
        raise ModelError(
            "contact_losses: a path of equilibria has no speeds, from which losses follow; integrate contact_force "
            "over the way that the bodies slip"
        )

    @cached_property
    def constraint_residual(self) -> ConstraintResidual:
        """Constraint violations; nothing moves, so those of velocities are zero."""
        position = super().constraint_residual.position
        return ConstraintResidual(position, read_only(np.zeros_like(position)))

    def _at(self, t: float) -> State:
        """State at any load factor, where the path first reaches it.

        Interpolated along the screw of each node, with an error of second order in the step; ``statics(loads=...)``
        has equilibria at the load factors asked for.
        """
        t = float(snapped(t, self.t.min(), self.t.max()))
        ahead = self.t - t
        passed = np.flatnonzero(ahead[:-1] * ahead[1:] <= 0.0)
        if not len(passed):
            if t in self.t:
                return self.history.state(0)
            raise ModelError(f"load factor {t} is outside the path, which covers {self.t.min()} to {self.t.max()}")
        first, second = self.history.state(int(passed[0])), self.history.state(int(passed[0]) + 1)
        share = (t - first.t) / (second.t - first.t) if second.t != first.t else 0.0
        return replace(between(first, second, share), t=t)

    def _along(self, count: int) -> list[State]:
        """Along the path, which may turn back in its load factor."""
        last, states = len(self.t) - 1, []
        for place in np.linspace(0.0, last, count):
            k = min(int(place), max(last - 1, 0))
            states.append(between(self.history.state(k), self.history.state(min(k + 1, last)), float(place - k)))
        return states

    @checked
    def to_paraview(self, path: Path, **options: Any) -> FilePath:
        """Write ``path.pvd`` and one ``.vtu`` a state over the load factor, or over the states where that falls.

        See :func:`fem_mbs.files.paraview.to_paraview` for the options.
        """
        shown = copy.copy(self)
        if (np.diff(self.t) <= 0.0).any():
            vars(shown)["t"] = np.arange(float(len(self.t)))
        return Solution.to_paraview(shown, path, **options)

    def __str__(self) -> str:
        failed = self.stats.failed_steps
        return (
            f"{self.message} {self.stats.steps} steps to load factor {self.t[-1]:g}, "
            + (f"{failed} more failed and were repeated with shorter ones, " if failed else "")
            + f"{self.stats.mean_newton_iterations:.2f} Newton iterations a step, {self.stats.wall_time:.3g} s"
        )


def between(first: State, second: State, share: float) -> State:
    """State on the way from one equilibrium to the next, along the screw of each node."""
    twist = se3.log(first.R.mT @ second.R, np.vecmat(second.x - first.x, first.R))
    R, x = se3.compose(first.R, first.x, *se3.exp(share * twist))
    t, multipliers, u = (
        (1.0 - share) * getattr(first, name) + share * getattr(second, name) for name in ("t", "multipliers", "u")
    )
    return replace(first, t=t, x=x, R=R, multipliers=multipliers, u=u)
