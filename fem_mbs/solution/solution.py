"""What a run returns, and runs that follow one another as one."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any, cast

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import ARRAYS, Constraint, Method, Path, Positive, State, checked, named_file, shown
from fem_mbs.contracts.arguments import listed
from fem_mbs.contracts.public import changed_since, leaves
from fem_mbs.errors import ModelError, StoreError, needed
from fem_mbs.files import paraview
from fem_mbs.files.store.description import difference
from fem_mbs.files.store.save import save
from fem_mbs.initial.redundant import dependent_elements, redundant_joints
from fem_mbs.model.model import Model
from fem_mbs.pictures import pictures
from fem_mbs.pictures.pictures import LONGEST, SHORTEST, SIZE, SMALL, Film, Size, curves, page
from fem_mbs.solution.channels import chosen, columns, parse
from fem_mbs.solution.history import History, Instant, Outcome, Stats, snapped
from fem_mbs.solution.queries import Queries
from fem_mbs.solution.turns import Turns, principal, whole_turns
from fem_mbs.system.states import interpolate
from fem_mbs.system.system import System

BLOCK = 10_000
"""Rows of text that are written together."""


class Solution(Queries):
    """Everything a run computed, asked for by node, joint or element: its queries are those of :class:`Queries`.

    Attributes
    ----------
    t : (nt,)
        Times in s, the start included.
    stats : Stats
        Counts and wall time.
    event_states : list of list of State
        States at the events of each function that the run watched.
    success : bool
        True if the run reached its end or was stopped by its callback or an event.
    status : Outcome
        How the run ended.
    message : str
        The same as a sentence.
    checkpoint : Checkpoint or None
        Where the run stands, to go on from; see :class:`fem_mbs.Checkpoint`.
    system : System
        The frozen model.
    method : Method or None
        What made it, where there is a state after each step.
    """

    _internal = "history"
    _abscissa = "t (s)"

    def __init__(
        self,
        system: System,
        states: Sequence[State] | History,
        status: Outcome,
        stats: Stats,
        events: Sequence[list[State]] = (),
        checkpoint: Any = None,
        turns: Turns | None = None,
        method: Method | None = None,
        instant: Instant | None = None,
    ) -> None:
        self.system = system
        self.status = status
        self.stats = stats
        self._hits = [list(hits) for hits in events]
        self._checkpoint = checkpoint
        self.history = states if isinstance(states, History) else History.of(system, states, instant)
        self.t = self.history.t
        self._turns = {} if turns is None else turns
        self.method = method

    @property
    def model(self) -> Model:
        """The model, as it is now; of a run from a file, made again, for another analysis or another run."""
        return cast(Model, self.system.model)

    @property
    def success(self) -> bool:
        """Whether the run ended as it was asked to."""
        return self.status in (Outcome.FINISHED, Outcome.STOPPED, Outcome.EVENT)

    @property
    def message(self) -> str:
        """How the run ended, and whether its result is doubtful."""
        doubt = self.stats.error.warning
        return f"{self.status.value} {doubt}." if doubt else self.status.value

    @property
    def redundant(self) -> tuple[Constraint, ...]:
        """Joints that repeat each other, whose single reactions are not unique: those of least norm are given."""
        return redundant_joints(self.system)

    @property
    def event_times(self) -> list[Array]:
        """Times of the events of each function that the run watched."""
        return [np.array([state.t for state in states]) for states in self._hits]

    def __str__(self) -> str:
        failed, rejected, repeated = self.stats.failed_steps, self.stats.rejected_steps, self.redundant
        leans = (
            []
            if self.system.redundant is None
            else list(map(str, dependent_elements(self.system, self.system.redundant.sharing)))
        )
        return (
            f"{self.message} {self.stats.steps} steps "
            + (f"from t = {self.t[0]:g} s " if self.t[0] else "")
            + f"to t = {self.t[-1]:g} s, "
            + (f"{failed} more failed and were repeated with shorter ones, " if failed else "")
            + (f"{rejected} more were rejected for their error, " if rejected else "")
            + f"{self.stats.mean_newton_iterations:.2f} Newton iterations a step, {self.stats.wall_time:.3g} s, "
            + str(self.stats.error)
            + (f"; reactions of {len(repeated)} joints are not unique, least ones given" if repeated else "")
            + (f", and so is what depends on them, {listed(leans)}" if leans else "")
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {len(self.t)} states to {self._titled(self.t[-1])}: {self.message}"

    def _repr_html_(self) -> str:
        stats = self.stats
        rows = [
            ("end", self.message),
            ("states", f"{len(self.t)}, to {self._titled(self.t[-1])}"),
            ("nodes, joint equations", f"{self.system.n}, {self.system.m}"),
            ("steps", f"{stats.steps}, {stats.failed_steps + stats.rejected_steps} repeated"),
            ("Newton iterations a step", f"{stats.mean_newton_iterations:.2f}"),
            ("wall time", f"{stats.wall_time:.3g} s"),
        ]
        rows += [("error", str(stats.error))] if stats.error.estimated else []
        return page(rows, type(self).__name__, lambda: self.plot(size=SMALL))

    @checked
    def channel(self, name: str) -> Array:
        """Numbers over time by name: ``"tip.position"`` (nt, 3), ``"tip.position.x"`` (nt,), ``"energy.total"``.

        The name of a node, a joint or an element, a quantity, and, where only some of its numbers are wanted, what
        these are called (docs/store.md, "Channels").
        """
        values = parse(self.system, name).values(self)
        return values[:, 0] if values.shape[1] == 1 else values

    @checked
    def state(self, k: int) -> State:
        """The computed state number ``k``; negative numbers count from the end."""
        self._check_number(k)
        return self._turned(self.history.state(k))

    @checked
    def __call__(self, t: float) -> State:
        """State at any time of the run, interpolated along the group."""
        return self._turned(self._at(t))

    def _at(self, t: float) -> State:
        """The same, whose positions count from the origin of the system."""
        t = float(snapped(t, self.t[0], self.t[-1]))
        if not self.t[0] <= t <= self.t[-1]:
            raise ModelError(f"t = {t} s is outside the run, which covers {self.t[0]} s to {self.t[-1]} s")
        if len(self.t) == 1:
            return self.history.state(0)
        k = min(max(int(np.searchsorted(self.t, t)), 1), len(self.t) - 1)
        share = (t - self.t[k - 1]) / (self.t[k] - self.t[k - 1])
        first, second = self.history.state(k - 1), self.history.state(k)
        if share == 1.0:
            return second
        between = interpolate if self.method is None else self.method.between
        state = between(self.system, first, second.before or second, share)
        return replace(state, t=t)

    @checked
    def plot(
        self, *channels: str | Sequence[str], t: float | None = None, file: Path | None = None, size: Size = SIZE
    ) -> Any:
        """Curves of channels over time, or without channels a picture of the model.

        Parameters
        ----------
        *channels : str or list of str
            Such as "tip.position", "tip.position.x", "hinge.reaction.force", "energy.total": a name, a quantity and, if
            only one of its columns is wanted, that. Those of one unit share axes.
        t : float, optional
            Of a picture, the time in s; the end by default.
        file : str or Path, optional
            Where to write it.
        size : (int, int)
            Of a picture, width and height in pixels.

        Returns
        -------
        matplotlib Figure or View
            The curves (in a script, ``matplotlib.pyplot.show()`` opens the window), or a picture, which shows itself in
            a notebook and by its ``show()``.

        Raises
        ------
        ModelError
            If there is no such channel: says which there are; or a time is given for curves.
        MissingPackageError
            If matplotlib, or PyVista, is not installed.
        """
        if channels:
            if t is not None:
                raise ModelError(
                    f"Solution.plot: t = {t:g} s is of a picture; curves go over the whole run, leave it out"
                )
            return curves(self, [*leaves(channels)], self._abscissa, file)
        state = self._at(float(self.t[-1]) if t is None else t)
        return pictures.saved(pictures.of_state(self.history, state, self._titled(state.t), size), file)

    @checked
    def animate(
        self, file: Path | None = None, *, duration: Positive | None = None, fps: Positive = 25.0, size: Size = SIZE
    ) -> Film:
        """A film of the run: ``solution.animate("out.mp4")``, ``.gif``, or without a file a player in a notebook.

        Parameters
        ----------
        file : str or Path, optional
            Where to write it.
        duration : float, optional
            Of the film, in s; by default that of the run, but at least 2 and at most 10.
        fps : float
            Frames a second.
        size : (int, int)
            Width and height in pixels.

        Returns
        -------
        Film
            With ``save(file)``; to iterate over it gives the pixels of the frames.
        """
        count = pictures.frames(duration or float(np.clip(np.ptp(self.t), SHORTEST, LONGEST)), fps)
        states = self._along(count)
        titles = [self._titled(state.t) for state in states]
        return pictures.saved(pictures.of_states(self.history, states, titles, fps, size), file)

    def _along(self, count: int) -> list[State]:
        """States for the frames of a film."""
        return [self._at(float(t)) for t in np.linspace(self.t[0], self.t[-1], count)]

    def _titled(self, t: float) -> str:
        name, _, unit = self._abscissa.partition(" (")
        return f"{name} = {t:.4g} {unit.rstrip(')')}".rstrip()

    @checked
    def save(self, path: Path) -> FilePath:
        """Write the run to a file for :func:`fem_mbs.load` in any process; returns the path.

        The file, a database of SQLite, holds states, names, the model, counts and where the run stands, as numbers and
        text. Functions of a script stay behind, and :func:`fem_mbs.load` takes its model where they are needed.

        Raises
        ------
        StoreError
            If the file cannot be written.
        ModelError
            If the model was changed since the run.
        """
        return save(self, named_file(FilePath(path), ".db", "Solution.save: path"))

    @checked
    def to_hdf5(self, path: Path) -> FilePath:
        """Write the states to an HDF5 file for other programs; returns the path (needs h5py).

        It has ``t`` (nt,) in s and the arrays of :class:`fem_mbs.State` under their names, each with the time as first
        axis; of a run that has kept channels, these. ``names`` has ``nodes`` and the ``groups`` of these, on which the
        frames of velocities depend, ``internal_variables`` and ``multipliers``. :func:`fem_mbs.load` reads what
        :meth:`save` writes.

        Raises
        ------
        StoreError
            If the file cannot be written; what was there stays.
        MissingPackageError
            If h5py is not installed.
        """
        return paraview.to_hdf5(self, named_file(FilePath(path), ".h5", "Solution.to_hdf5: path"))

    @checked
    def to_pandas(self, channels: Sequence[str] | None = None) -> Any:
        """Channels as a ``pandas.DataFrame`` over ``t``, a column for each number (needs pandas).

        ``channels`` are names as of :meth:`channel`; by default positions and rotation vectors of nodes, and
        coordinates of joints that do not end at half a turn. Units are in ``frame.attrs["units"]``.
        """
        pandas = needed("pandas", "Solution.to_pandas", "tables")
        named, units, values = columns(self, channels)
        frame = pandas.DataFrame(values, index=pandas.Index(self.t, name="t"), columns=named)
        frame.attrs["units"] = dict(zip(named, units, strict=True))
        return frame

    @checked
    def to_xarray(self, channels: Sequence[str] | None = None) -> Any:
        """Channels as a ``xarray.Dataset``, a variable over ``t`` and the channel's columns each (needs xarray).

        ``channels`` as of :meth:`to_pandas`; the attributes ``units`` of variables have their units.
        """
        xarray = needed("xarray", "Solution.to_xarray", "tables")
        variables: dict[str, Any] = {}
        coordinates: dict[str, Any] = {"t": ("t", self.t, {"units": "s"})}
        for channel in chosen(self, channels):
            values, units = channel.values(self), {"units": " and ".join(filter(None, dict.fromkeys(channel.units)))}
            if len(channel.columns) == 1:
                variables[channel.name] = "t", values[:, 0], units
            else:
                labels = [column.removeprefix(channel.name).lstrip(".") for column in channel.columns]
                place = "axis" if labels == ["x", "y", "z"] else f"columns of {channel.name}"
                variables[channel.name] = ("t", place), values, units
                coordinates[place] = place, labels
        return xarray.Dataset(variables, coordinates)

    @checked
    def to_csv(self, path: Path, channels: Sequence[str] | None = None) -> FilePath:
        """Channels as text: ``t`` and a column for each number, with units in the first line; returns the path.

        Numbers have all their digits. ``channels`` as of :meth:`to_pandas`.
        """
        path = named_file(FilePath(path), ".csv", "Solution.to_csv: path")
        named, units, values = columns(self, channels)
        heads = [f"{name} ({unit})" if unit else name for name, unit in zip(["t", *named], ["s", *units], strict=True)]
        try:
            with open(path, "w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(heads)
                for k in range(0, len(values), BLOCK):
                    rows = np.column_stack([self.t[k : k + BLOCK], values[k : k + BLOCK]])
                    writer.writerows(map(repr, row) for row in rows.tolist())
        except OSError as error:
            raise StoreError(f"Solution.to_csv: cannot write '{path}': {error.strerror or error}") from error
        return path

    @checked
    def to_paraview(self, path: Path, **options: Any) -> FilePath:
        """Write ``path.pvd`` and one ``.vtu`` a frame, or one file ``path.vtkhdf``, as the suffix says.

        See :func:`fem_mbs.files.paraview.to_paraview` for the options.
        """
        return paraview.to_paraview(self, path, **options)


PROJECTED = 0.05
"""Change of velocities against the largest, above what a start from a state of any method makes of them."""


@checked
def join(runs: Sequence[Solution]) -> Solution:
    """Runs of one model as one, each of which began where the one before it ended.

    Parameters
    ----------
    runs : list of Solution
        In the order of time: the second made with ``initial=first.checkpoint``, or ``first.state(-1)``.

    Raises
    ------
    ModelError
        If they are of different models, or one does not begin where the one before it ends; and of load paths.
    """
    if not runs:
        raise ModelError(f"join: runs must be one run at least, received {shown(runs)}")
    result = runs[0]
    for run in runs[1:]:
        result = _joined(result, run)
    return result


def _joined(first: Solution, second: Solution) -> Solution:
    if first.history.instant is not None or second.history.instant is not None:
        raise ModelError("join: load paths have a load factor in place of time; runs in time can be joined")
    if first.system.source != second.system.source:
        raise ModelError("join: the runs are of different models: their nodes, internal variables or equations differ")
    if changed := _changed(first.system, second.system):
        raise ModelError(
            f"join: the model was changed between the runs: {changed}. What is asked of one run is asked of one model; "
            "ask each of them"
        )
    if first.t[-1] != second.t[0]:
        raise ModelError(
            f"join: a run that ends at t = {first.t[-1]} s is followed by one that begins at t = {second.t[0]} s; it "
            "must begin where the other ends, with initial=first.checkpoint"
        )
    one, two = first.state(-1), second.state(0)
    lasting = second.system.order != 0  # what sensors say follows anew at a start
    speed = np.abs(one.v).max(initial=0.0)
    pairs = {"x": (one.x, two.x), "R": (one.R, two.R), "u": (one.u[lasting], two.u[lasting])}
    apart = [name for name, own in pairs.items() if not np.allclose(*own)]
    apart += ["v"] if np.abs(two.v - one.v).max(initial=0.0) > PROJECTED * speed else []
    if apart:
        raise ModelError(f"join: at t = {first.t[-1]} s the runs are at different states ({', '.join(apart)})")
    parts = {name: [getattr(run.history, name) for run in (first, second)] for name in ARRAYS}
    arrays = {name: np.concatenate([one[:], other[1:]]) for name, (one, other) in parts.items()}
    before = {**first.history.before, **{k + len(first.t) - 1: own for k, own in second.history.before.items()}}
    history = History(second.system, np.concatenate([first.t, second.t[1:]]), arrays, before=before)
    events = [[*a, *b] for a, b in zip(first._hits, second._hits, strict=False)]
    counts: dict[str, Any] = {name: getattr(first.stats, name) + getattr(second.stats, name) for name in COUNTS}
    counts |= {name: np.concatenate([getattr(run.stats, name) for run in (first, second)]) for name in LISTED}
    stats = replace(second.stats, **counts)
    return Solution(second.system, history, second.status, stats, events, second._checkpoint, _turns(first, second))


def _changed(one: System, other: System) -> str:
    """What of the model of a run is not as in another one; empty if all is."""
    shared = {*one.parts.values()}.intersection(other.parts.values())
    found = [changed_since(shared, *sorted((one.frozen_as, other.frozen_as)))]
    with one.as_frozen(), other.as_frozen():
        pairs = zip(one.number.parts, other.number.parts, strict=True)
        found += [f"{own}: {what}" for own, there in pairs if own is not there and (what := difference(own, there))]
    names = {"x0": "places of nodes", "R0": "rotations of nodes", "gravity": "gravity"}
    found += [text for name, text in names.items() if not np.array_equal(getattr(one, name), getattr(other, name))]
    return "; ".join(filter(None, found))


COUNTS = ("residual_evaluations", "factorizations", "failed_steps", "rejected_steps", "wall_time", "steps")
LISTED = ("newton_iterations", "step_sizes")


def _turns(first: Solution, second: Solution) -> Turns | None:
    """Whole turns, where one of the runs has counted them on the way."""
    if not (first._turns or second._turns):
        return None
    result = {}
    for joint in first._turns or second._turns:
        name, counts = joint.name, []
        for run in (first, second):
            own = next(part for part in run.system.number.parts if part.name == name)
            known = run._turns.get(own)
            counts.append(whole_turns(own, run.t, *principal(run.history, own)) if known is None else np.asarray(known))
        here = next(part for part in second.system.number.parts if part.name == name)
        before = counts[0][: len(first.t)]
        result[here] = np.concatenate([before, counts[1][1:] - counts[1][0] + before[-1]])
    return result
