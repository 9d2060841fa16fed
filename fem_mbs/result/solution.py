"""What a run returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3
from fem_mbs.model import (
    Constraint,
    Element,
    ElementOrName,
    JointOrName,
    Motion,
    Node,
    NodeOrName,
    Path,
    Positive,
    Public,
    checked,
    named_file,
    of_kind,
    shown,
)
from fem_mbs.result.balance import ConstraintResidual, EnergyHistory, energies, residuals
from fem_mbs.result.channels import Channel, parse
from fem_mbs.result.history import History, Instant
from fem_mbs.result.interpolate import interpolate
from fem_mbs.result.outcome import Outcome, Stats
from fem_mbs.result.reactions import reactions_over_time
from fem_mbs.result.tables import to_csv, to_pandas, to_xarray
from fem_mbs.result.turns import Turns, check_vectors, principal, whole_turns
from fem_mbs.system import State, System, given_out, in_world

HOLD = "; for the force that holds a node, hold it by FixedJoint(model.ground, node) in place of model.fix"


class Solution(Public):
    """Everything a run computed, asked for by node, joint or element.

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
    """

    _internal = ("history",)
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
        between: Callable[[State, State, float], State] | None = None,
        instant: Instant | None = None,
    ) -> None:
        self.system = system
        self.status = status
        self.stats = stats
        self.event_states = [list(hits) for hits in events]
        self.checkpoint = checkpoint
        self.history = states if isinstance(states, History) else History.of(system, states, instant)
        self.t = self.history.t
        self._turns = {} if turns is None else turns
        self._between = between or partial(interpolate, system)

    @cached_property
    def x(self) -> Array:
        """Positions ``(nt, n, 3)``, world frame."""
        return in_world(self.system, self.history.x)

    @property
    def R(self) -> Array:  # noqa: N802
        """Rotations ``(nt, n, 3, 3)``, body to world."""
        return self.history.R  # type: ignore[no-any-return]

    @property
    def v(self) -> Array:
        """Velocities ``(nt, n, 6)``, see :class:`fem_mbs.State`."""
        return self.history.v  # type: ignore[no-any-return]

    @property
    def vdot(self) -> Array:
        """Their time derivatives ``(nt, n, 6)``."""
        return self.history.vdot  # type: ignore[no-any-return]

    @property
    def multipliers_all(self) -> Array:
        """Lagrange multipliers ``(nt, m)`` of all joints."""
        return self.history.multipliers  # type: ignore[no-any-return]

    @property
    def u(self) -> Array:
        """Own unknowns ``(nt, k)`` of all elements and joints."""
        return self.history.u  # type: ignore[no-any-return]

    @property
    def udot(self) -> Array:
        """Their time derivatives ``(nt, k)``."""
        return self.history.udot  # type: ignore[no-any-return]

    @property
    def uddot(self) -> Array:
        """Their second time derivatives ``(nt, k)``."""
        return self.history.uddot  # type: ignore[no-any-return]

    @property
    def success(self) -> bool:
        """Whether the run ended as it was asked to."""
        return self.status in (Outcome.FINISHED, Outcome.STOPPED, Outcome.EVENT)

    @property
    def message(self) -> str:
        """How the run ended, and whether its result is doubtful."""
        doubt = self.stats.error.warning if self.stats.error else ""
        return f"{self.status.value} {doubt}." if doubt else self.status.value

    @property
    def redundant(self) -> tuple[Constraint, ...]:
        """Joints that repeat each other, whose single reactions are not unique: those of least norm are given."""
        return () if self.system.redundant is None else self.system.redundant.joints

    @property
    def event_times(self) -> list[Array]:
        """Times of the events of each function that the run watched."""
        return [np.array([state.t for state in states]) for states in self.event_states]

    def __str__(self) -> str:
        failed, rejected, repeated = self.stats.failed_steps, self.stats.rejected_steps, self.redundant
        return (
            f"{self.message} {self.stats.steps} steps to t = {self.t[-1]:g} s, "
            + (f"{failed} more failed and were repeated with shorter ones, " if failed else "")
            + (f"{rejected} more were rejected for their error, " if rejected else "")
            + f"{self.stats.mean_newton_iterations:.2f} Newton iterations a step, {self.stats.wall_time:.3g} s, "
            + (str(self.stats.error) if self.stats.error else "error not estimated")
            + (f"; reactions of {len(repeated)} joints are not unique, least ones given" if repeated else "")
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {len(self.t)} states to {self._titled(self.t[-1])}: {self.message}"

    def _repr_html_(self) -> str:
        from fem_mbs.look import pictures
        from fem_mbs.look.html import page

        stats = self.stats
        rows = [
            ("end", self.message),
            ("states", f"{len(self.t)}, to {self._titled(self.t[-1])}"),
            ("nodes, joint equations", f"{self.system.n}, {self.system.m}"),
            ("steps", f"{stats.steps}, {stats.failed_steps + stats.rejected_steps} repeated"),
            ("Newton iterations a step", f"{stats.mean_newton_iterations:.2f}"),
            ("wall time", f"{stats.wall_time:.3g} s"),
        ]
        rows += [("error", str(stats.error))] if stats.error else []
        return page(rows, type(self).__name__, lambda: self.plot(size=pictures.SMALL))

    @checked
    def position(self, node: NodeOrName) -> Array:
        """Position ``(nt, 3)`` of a node, world frame."""
        return self.x[:, self._row(node)]

    @checked
    def displacement(self, node: NodeOrName) -> Array:
        """Displacement ``(nt, 3)`` of a node from its initial position, world frame."""
        row = self._row(node)
        moved: Array = self.history.x[:, row] - self.system.x0[row]
        return moved

    @checked
    def rotation(self, node: NodeOrName) -> Array:
        """Rotation ``(nt, 3, 3)`` of a node, body to world."""
        return self.R[:, self._row(node)]

    @checked
    def rotation_vector(self, node: NodeOrName) -> Array:
        """Rotation vector ``(nt, 3)`` of a node against the world axes, rad, length at most pi."""
        return so3.log(self.rotation(node))

    @checked
    def velocity(self, node: NodeOrName) -> Array:
        """Velocity ``(nt, 3)`` of a node, world frame, on either group."""
        row = self._row(node)
        v = self.v[:, row, :3]
        return np.matvec(self.R[:, row], v) if self.system.nodes[row].group == "SE3" else v

    @checked
    def acceleration(self, node: NodeOrName) -> Array:
        """Acceleration ``(nt, 3)`` of a node, world frame, on either group."""
        row = self._row(node)
        a, v = self.vdot[:, row, :3], self.v[:, row]
        if self.system.nodes[row].group != "SE3":
            return a
        world: Array = np.matvec(self.R[:, row], a + so3.cross(v[:, 3:], v[:, :3]))
        return world

    @checked
    def angular_velocity(self, node: NodeOrName) -> Array:
        """Angular velocity ``(nt, 3)`` of a node, body frame, rad/s."""
        return self.v[:, self._row(node), 3:]

    def multipliers(self, joint: JointOrName) -> Array:
        """Lagrange multipliers ``(nt, m)`` of a joint, in the order of ``joint.equations``."""
        return self.multipliers_all[:, self.system.constraint_rows(self._joint(joint)).rows]

    def reaction(self, joint: JointOrName) -> tuple[Array, Array]:
        """Force and moment ``(nt, 3)`` that a joint puts on its node b: world frame, at the joint's point on b.

        Of joints in ``solution.redundant`` only sums are unique.
        """
        return reactions_over_time(self.history, self._joint(joint))

    def coordinate(self, joint: JointOrName) -> Array:
        """Coordinates ``(nt,)``, or ``(nt, c)``, of the motions that a joint leaves free: of node b against node a.

        In the order of ``joint.coordinates``: lengths in m, angles in rad, zero as built. Whole turns are counted by
        the rates, also where the joint turns several times in a step.

        Raises
        ------
        MotionError
            If they are components of a rotation vector, and the rotation has passed half a turn, where they end.
        """
        joint = self._joint(joint)
        values, rates = self._coordinates(joint)
        turns = self._turns.get(joint)
        turns = whole_turns(joint, self.t, values, rates) if turns is None else turns
        check_vectors(self.system, joint, self.t, turns)
        values += 2.0 * np.pi * turns
        return values[:, 0] if len(joint.coordinates) == 1 else values

    def coordinate_rate(self, joint: JointOrName) -> Array:
        """Rates ``(nt,)``, or ``(nt, c)``, of :meth:`coordinate`, in m/s and rad/s."""
        joint = self._joint(joint)
        rates = self._coordinates(joint)[1]
        return rates[:, 0] if len(joint.coordinates) == 1 else rates

    def angle(self, joint: JointOrName) -> Array:
        """Relative angle ``(nt,)`` of a joint in rad, with whole turns: its one coordinate of rotation."""
        joint = self._joint(joint)
        angles = [k for k, coordinate in enumerate(joint.coordinates) if coordinate.angle]
        if len(angles) != 1:
            raise ModelError(
                f"{joint} has no axis to measure an angle about"
                + (f"; solution.coordinate has its {len(angles)} angles" if angles else "")
            )
        return self.coordinate(joint).reshape(len(self.t), -1)[:, angles[0]]

    @checked
    def unknowns(self, part: Element | Constraint | str, name: str | None = None) -> Array:
        """Own unknowns ``(nt, s)`` of a part, in the order of its ``unknowns``; one of them ``(nt,)`` by name."""
        owner = self._part(part, "part")
        rows = self.system.number.own(owner)
        if name is None:
            return self.u[:, rows]
        names = [unknown.name for unknown in owner.unknowns]
        if name not in names:
            raise ModelError(f"{owner} has no unknown '{name}'; it has {', '.join(map(repr, names)) or 'none'}")
        return self.u[:, rows[names.index(name)]]

    def signal(self, source: Any) -> Array:
        """What a sensor measured or a block put out, ``(nt,)``, or ``(nt, p)`` of several outputs; sums of these, too.

        Where something jumps, the values are those just after.
        """
        source = self._part(source, "source")
        if not hasattr(source, "signal_values"):
            raise ModelError(
                f"{type(self).__name__}.signal: source must be a sensor, a block or a sum of signals, received "
                f"{shown(source)}; unknowns of other elements are solution.unknowns(element, name)"
            )
        return source.signal_values(self.t, self.u, self.system.number)  # type: ignore[no-any-return]

    @checked
    def section_forces(self, beam: ElementOrName) -> Array:
        """Section forces ``(nt, elements, 6)`` of a beam in its section frame, see ``Beam.section_forces``."""
        found = self._part(beam, "beam")
        if not hasattr(found, "section_forces"):
            raise ModelError(f"{shown(found)} has no section forces; a Beam has")
        rows = [self._row(node) for node in found.nodes]
        return found.section_forces(self.history.x[:, rows], self.R[:, rows])  # type: ignore[no-any-return]

    @checked
    def channel(self, name: str) -> Array:
        """Numbers over time by name: ``"tip.position"`` (nt, 3), ``"tip.position.x"`` (nt,), ``"energy.total"``.

        The name of a node, a joint or an element, a quantity, and, where only some of its numbers are wanted, what
        these are called (docs/store.md, "Channels").
        """
        values = self._channel(parse(self.system, name))
        return values[:, 0] if values.shape[1] == 1 else values

    @cached_property
    def energy(self) -> EnergyHistory:
        """Energies over time."""
        return energies(self.history, self.x)

    @cached_property
    def constraint_residual(self) -> ConstraintResidual:
        """Constraint violations over time."""
        return residuals(self.history)

    @checked
    def state(self, k: int) -> State:
        """The computed state number ``k``; negative numbers count from the end."""
        self._check_number(k)
        return given_out(self.system, self.history.state(k))

    @checked
    def __call__(self, t: float) -> State:
        """State at any time of the run, interpolated along the group."""
        return given_out(self.system, self._at(t))

    def _at(self, t: float) -> State:
        """The same, whose positions count from the origin of the system."""
        if not self.t[0] <= t <= self.t[-1]:
            raise ModelError(f"t = {t} s is outside the run, which covers {self.t[0]} s to {self.t[-1]} s")
        if len(self.t) == 1:
            return self.history.state(0)
        k = min(max(int(np.searchsorted(self.t, t)), 1), len(self.t) - 1)
        share = (t - self.t[k - 1]) / (self.t[k] - self.t[k - 1])
        state = self._between(self.history.state(k - 1), self.history.state(k), share)
        return replace(state, t=t)

    @checked
    def plot(self, *channels: str, t: float | None = None, file: Path | None = None, **options: Any) -> Any:
        """Curves of channels over time, or without channels a picture of the model.

        Parameters
        ----------
        *channels : str
            Such as "tip.position", "tip.position.x", "hinge.reaction.force", "energy.total": a name, a quantity and, if
            only one of its columns is wanted, that. Those of one unit share axes.
        t : float, optional
            Of a picture, the time in s; the end by default.
        file : str or Path, optional
            Where to write it.
        **options
            Of a picture, ``size=(960, 640)`` in pixels, ``renderer="pyvista"`` or ``"matplotlib"``.

        Returns
        -------
        matplotlib Figure or View
            The curves (in a script, ``matplotlib.pyplot.show()`` opens the window), or a picture, which shows itself in
            a notebook and by its ``show()``.

        Raises
        ------
        ModelError
            If there is no such channel: says which there are.
        MissingPackageError
            If matplotlib, or PyVista, is not installed.
        """
        from fem_mbs.look import pictures
        from fem_mbs.look.curves import curves

        if channels:
            return curves(self, channels, self._abscissa, file)
        state = self._at(float(self.t[-1]) if t is None else t)
        return pictures.saved(pictures.of_state(self.system, state, self._titled(state.t), **options), file)

    @checked
    def animate(
        self, file: Path | None = None, *, duration: Positive | None = None, fps: Positive = 25.0, **options: Any
    ) -> Any:
        """A film of the run: ``solution.animate("out.mp4")``, ``.gif``, or without a file a player in a notebook.

        Parameters
        ----------
        file : str or Path, optional
            Where to write it.
        duration : float, optional
            Of the film, in s; by default that of the run, but at least 2 and at most 10.
        fps : float
            Frames a second.
        **options
            ``size=(960, 640)`` in pixels, ``renderer="pyvista"`` or ``"matplotlib"``.

        Returns
        -------
        Film
            With ``save(file)``; to iterate over it gives the pixels of the frames.
        """
        from fem_mbs.look import pictures

        count = max(round(pictures.seconds(duration, float(np.ptp(self.t))) * fps), 2)
        states = self._along(count)
        film = pictures.of_states(self.system, states, [self._titled(state.t) for state in states], fps, **options)
        return pictures.saved(film, file)

    def _along(self, count: int) -> list[State]:
        """States for the frames of a film."""
        return [self._at(float(t)) for t in np.linspace(self.t[0], self.t[-1], count)]

    def _titled(self, t: float) -> str:
        name, _, unit = self._abscissa.partition(" (")
        return f"{name} = {t:.4g} {unit.rstrip(')')}".rstrip()

    @checked
    def save(self, path: Path) -> FilePath:
        """Write the run to a file, HDF5, for :func:`fem_mbs.load` in any process; returns the path (needs h5py).

        The file holds states, names, the model, counts and where the run stands, as numbers and text. Functions and
        classes of a script do not travel: docs/store.md says what they leave behind.

        Raises
        ------
        StoreError
            If the file cannot be written.
        ModelError
            If the model was changed since the run.
        """
        from fem_mbs.store.save import save

        return save(self, named_file(FilePath(path), ".h5", "Solution.save: path"))

    @checked
    def to_pandas(self, channels: Sequence[str] | None = None) -> Any:
        """Channels as a ``pandas.DataFrame`` over ``t``, a column for each number (needs pandas).

        ``channels`` are names as of :meth:`channel`; by default positions and rotation vectors of nodes, and
        coordinates of joints. Units are in ``frame.attrs["units"]``.
        """
        return to_pandas(self, channels)

    @checked
    def to_xarray(self, channels: Sequence[str] | None = None) -> Any:
        """Channels as a ``xarray.Dataset``, a variable over ``t`` and the channel's columns each (needs xarray).

        ``channels`` as of :meth:`to_pandas`; the attributes ``units`` of variables have their units.
        """
        return to_xarray(self, channels)

    @checked
    def to_csv(self, path: Path, channels: Sequence[str] | None = None) -> FilePath:
        """Channels as text: ``t`` and a column for each number, with units in the first line; returns the path.

        Numbers have all their digits. ``channels`` as of :meth:`to_pandas`.
        """
        return to_csv(self, FilePath(path), channels)

    @checked
    def to_paraview(self, path: Path, **options: Any) -> FilePath:
        """Write ``path.pvd`` and one ``.vtu`` a frame, or one file ``path.vtkhdf``, as the suffix says.

        See :func:`fem_mbs.io.write_paraview` for the options.
        """
        from fem_mbs.io import write_paraview

        return write_paraview(self, path, **options)

    @checked
    def motion(self, k: int) -> Motion:
        """The motion of step ``k`` in body components, as elements see it."""
        self._check_number(k)
        return self.history.motion(k)

    def _part(self, part: Any, argument: str) -> Any:
        """A part of the model, which may be given by its name."""
        return self.system.find(part, f"{type(self).__name__}: {argument}")

    def _row(self, node: Node | str) -> int:
        return self.system.number(of_kind(self._part(node, "node"), Node, f"{type(self).__name__}: node"))

    def _joint(self, joint: JointOrName) -> Constraint:
        found = of_kind(self._part(joint, "joint"), Constraint, f"{type(self).__name__}: joint", HOLD)
        self.system.constraint_rows(found)
        return found

    def _check_number(self, k: int) -> None:
        if not -len(self.t) <= k < len(self.t):
            raise ModelError(f"Solution: there is no state {k}; the run has {len(self.t)} states, counted from 0")

    def _channel(self, channel: Channel) -> Array:
        """Its columns ``(nt, c)``, computed or from a file that has them."""
        stored = self.history.columns
        if stored and all(column in stored for column in channel.columns):
            return np.stack([stored[column] for column in channel.columns], axis=-1)
        return channel.values(self)

    def _coordinates(self, joint: Constraint) -> tuple[Array, Array]:
        """Principal values and rates ``(nt, c)`` of the coordinates of a joint."""
        if not joint.coordinates:
            raise ModelError(f"{joint} has no coordinate: it leaves no motion free that it could measure")
        return principal(self.history, joint)
