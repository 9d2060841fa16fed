"""What a run returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property, partial
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3
from fem_mbs.model import Constraint, Element, Motion, Node, Path, checked, shown
from fem_mbs.result.accuracy import Accuracy
from fem_mbs.result.channels import Channel, parse
from fem_mbs.result.history import History
from fem_mbs.result.interpolate import interpolate
from fem_mbs.result.reactions import reactions
from fem_mbs.result.tables import to_csv, to_pandas, to_xarray
from fem_mbs.result.turns import Turns, check_vectors, principal, whole_turns
from fem_mbs.system import (
    ConstraintRows,
    State,
    System,
    constraints,
    given_out,
    in_world,
    read_only,
)


class Outcome(Enum):
    """How a run ended, as a sentence."""

    FINISHED = "The run reached its end."
    STOPPED = "The callback ended the run."
    EVENT = "A terminal event ended the run."
    INTERRUPTED = "The run was interrupted from the keyboard."
    FAILED = "A step failed; the error that was raised says why."
    CUT = "The run has not ended, or was cut off; mbs.resume goes on with it."


@dataclass(frozen=True)
class Stats:
    """Counts of a run.

    Attributes
    ----------
    newton_iterations : (steps,)
        Newton iterations of each accepted step.
    residual_evaluations, factorizations : int
        Counts over the accepted steps.
    failed_steps : int
        Attempts without a solution that were repeated with a shorter step.
    rejected_steps : int
        Attempts with too large an error that were repeated with a shorter step.
    step_sizes : (steps,)
        Accepted steps in s.
    wall_time : float
        Seconds, the building of the system included.
    error : Accuracy or None
        Estimated error of the result, beside the motion; None from a method without an estimate.
    steps : int
        Accepted steps. A run that is stored with fewer states than steps has ``newton_iterations`` and ``step_sizes``
        of all steps from one stored state to the next.
    """

    newton_iterations: IntArray
    residual_evaluations: int
    factorizations: int
    failed_steps: int
    rejected_steps: int
    step_sizes: Array
    wall_time: float
    error: Accuracy | None = None
    steps: int = -1

    def __post_init__(self) -> None:
        if self.steps < 0:
            object.__setattr__(self, "steps", len(self.step_sizes))

    @property
    def mean_newton_iterations(self) -> float:
        """Newton iterations a step; 0 without steps."""
        return float(self.newton_iterations.sum()) / self.steps if self.steps else 0.0


@dataclass(frozen=True)
class EnergyHistory:
    """Energies in J over time, each ``(nt,)``; work of applied loads is not part of them."""

    kinetic: Array
    strain: Array
    gravity: Array

    @property
    def total(self) -> Array:
        """Sum of the three."""
        return self.kinetic + self.strain + self.gravity


@dataclass(frozen=True)
class ConstraintResidual:
    """Largest absolute constraint violations over time, each ``(nt,)``: ``Phi`` and ``B V + Phi_t``."""

    position: Array
    velocity: Array


class Solution:
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
    ) -> None:
        self.system = system
        self.status = status
        self.stats = stats
        self.event_states = [list(hits) for hits in events]
        self.checkpoint = checkpoint
        self._history = states if isinstance(states, History) else History.of(states)
        self.t = self._history.t
        self._turns = {} if turns is None else turns
        self._between = between or partial(interpolate, system)

    @property
    def _x(self) -> Array:
        """Positions in a system, which count from its origin."""
        return self._history.x  # type: ignore[no-any-return]

    @cached_property
    def x(self) -> Array:
        """Positions ``(nt, n, 3)``, world frame."""
        return in_world(self.system, self._x)

    @property
    def R(self) -> Array:  # noqa: N802
        """Rotations ``(nt, n, 3, 3)``, body to world."""
        return self._history.R  # type: ignore[no-any-return]

    @property
    def v(self) -> Array:
        """Velocities ``(nt, n, 6)``, see :class:`fem_mbs.State`."""
        return self._history.v  # type: ignore[no-any-return]

    @property
    def vdot(self) -> Array:
        """Their time derivatives ``(nt, n, 6)``."""
        return self._history.vdot  # type: ignore[no-any-return]

    @property
    def multipliers_all(self) -> Array:
        """Lagrange multipliers ``(nt, m)`` of all joints."""
        return self._history.multipliers  # type: ignore[no-any-return]

    @property
    def u(self) -> Array:
        """Own unknowns ``(nt, k)`` of all elements and joints."""
        return self._history.u  # type: ignore[no-any-return]

    @property
    def udot(self) -> Array:
        """Their time derivatives ``(nt, k)``."""
        return self._history.udot  # type: ignore[no-any-return]

    @property
    def uddot(self) -> Array:
        """Their second time derivatives ``(nt, k)``."""
        return self._history.uddot  # type: ignore[no-any-return]

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

    @checked
    def position(self, node: Node) -> Array:
        """Position ``(nt, 3)`` of a node, world frame."""
        return self.x[:, self._row(node)]

    @checked
    def displacement(self, node: Node) -> Array:
        """Displacement ``(nt, 3)`` of a node from its initial position, world frame."""
        initial: Array = self.system.x0[self._row(node)]
        return self._x[:, self._row(node)] - initial

    @checked
    def rotation(self, node: Node) -> Array:
        """Rotation ``(nt, 3, 3)`` of a node, body to world."""
        return self.R[:, self._row(node)]

    @checked
    def rotation_vector(self, node: Node) -> Array:
        """Rotation vector ``(nt, 3)`` of a node against the world axes, rad, length at most pi."""
        return so3.log(self.rotation(node))

    @checked
    def velocity(self, node: Node) -> Array:
        """Velocity ``(nt, 3)`` of a node, world frame, on either group."""
        v = self.v[:, self._row(node), :3]
        return np.matvec(self.rotation(node), v) if node.group == "SE3" else v

    @checked
    def acceleration(self, node: Node) -> Array:
        """Acceleration ``(nt, 3)`` of a node, world frame, on either group."""
        a = self.vdot[:, self._row(node), :3]
        if node.group != "SE3":
            return a
        v = self.v[:, self._row(node)]
        world: Array = np.matvec(self.rotation(node), a + so3.cross(v[:, 3:], v[:, :3]))
        return world

    @checked
    def angular_velocity(self, node: Node) -> Array:
        """Angular velocity ``(nt, 3)`` of a node, body frame, rad/s."""
        return self.v[:, self._row(node), 3:]

    def multipliers(self, joint: Constraint) -> Array:
        """Lagrange multipliers ``(nt, m)`` of a joint, in the order of ``joint.equations``."""
        return self.multipliers_all[:, self._place(joint).rows]

    def reaction(self, joint: Constraint) -> tuple[Array, Array]:
        """Force and moment ``(nt, 3)`` that a joint puts on its node b: world frame, at the joint's point on b.

        Of joints in ``solution.redundant`` only sums are unique.
        """
        place = self._place(joint)
        first = place.rows.start - place.own.start
        batch, index = place.batch, place.batch.cell[place.own.start]
        rows = slice(first, first + len(batch.cell))
        pairs = [reactions(batch, self._motion(k), self.multipliers_all[k, rows]) for k in range(len(self.t))]
        return np.array([force[index] for force, _ in pairs]), np.array([moment[index] for _, moment in pairs])

    def coordinate(self, joint: Constraint) -> Array:
        """Coordinates ``(nt,)``, or ``(nt, c)``, of the motions that a joint leaves free: of node b against node a.

        In the order of ``joint.coordinates``: lengths in m, angles in rad, zero as built. Whole turns are counted by
        the rates, also where the joint turns several times in a step.

        Raises
        ------
        MotionError
            If they are components of a rotation vector, and the rotation has passed half a turn, where they end.
        """
        values, rates = self._coordinates(joint)
        turns = self._turns.get(joint)
        turns = whole_turns(joint, self.t, values, rates) if turns is None else turns
        check_vectors(self.system, joint, self.t, turns)
        values += 2.0 * np.pi * turns
        return values[:, 0] if len(joint.coordinates) == 1 else values

    def coordinate_rate(self, joint: Constraint) -> Array:
        """Rates ``(nt,)``, or ``(nt, c)``, of :meth:`coordinate`, in m/s and rad/s."""
        rates = self._coordinates(joint)[1]
        return rates[:, 0] if len(joint.coordinates) == 1 else rates

    def angle(self, joint: Constraint) -> Array:
        """Relative angle ``(nt,)`` of a joint in rad, with whole turns: its one coordinate of rotation."""
        self._place(joint)
        angles = [k for k, coordinate in enumerate(joint.coordinates) if coordinate.angle]
        if len(angles) != 1:
            raise ModelError(
                f"{joint} has no axis to measure an angle about"
                + (f"; solution.coordinate has its {len(angles)} angles" if angles else "")
            )
        return self.coordinate(joint).reshape(len(self.t), -1)[:, angles[0]]

    @checked
    def unknowns(self, part: Element | Constraint, name: str | None = None) -> Array:
        """Own unknowns ``(nt, s)`` of a part, in the order of its ``unknowns``; one of them ``(nt,)`` by name."""
        rows = self.system.number.own(part)
        if name is None:
            return self.u[:, rows]
        names = [unknown.name for unknown in part.unknowns]
        if name not in names:
            raise ModelError(f"{part} has no unknown '{name}'; it has {', '.join(map(repr, names)) or 'none'}")
        return self.u[:, rows[names.index(name)]]

    def signal(self, source: Any) -> Array:
        """What a sensor measured or a block put out, ``(nt,)``, or ``(nt, p)`` of several outputs; sums of these, too.

        Where something jumps, the values are those just after.
        """
        if not hasattr(source, "signal_values"):
            raise ModelError(
                f"{type(self).__name__}.signal: source must be a sensor, a block or a sum of signals, received "
                f"{shown(source)}; unknowns of other elements are solution.unknowns(element, name)"
            )
        return source.signal_values(self.t, self.u, self.system.number)  # type: ignore[no-any-return]

    @checked
    def section_forces(self, beam: Element) -> Array:
        """Section forces ``(nt, elements, 6)`` of a beam in its section frame, see ``Beam.section_forces``."""
        if not hasattr(beam, "section_forces"):
            raise ModelError(f"{shown(beam)} has no section forces; a Beam has")
        rows = [self._row(node) for node in beam.nodes]
        return beam.section_forces(self._x[:, rows], self.R[:, rows])  # type: ignore[no-any-return]

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
        kinetic, strain, gravity = np.array([self.system.energy(motion) for motion in self._motions()]).T
        if self.system.origin.any():
            moved = (replace(motion, x=x) for motion, x in zip(self._motions(), self.x, strict=True))
            gravity = np.array([self.system.energy(motion).gravity for motion in moved])
        return EnergyHistory(*map(read_only, (kinetic, strain, gravity)))

    @cached_property
    def constraint_residual(self) -> ConstraintResidual:
        """Constraint violations over time."""
        position, velocity = np.zeros(len(self.t)), np.zeros(len(self.t))
        if self.system.m:
            for k, motion in enumerate(self._motions()):
                prescribed = self.system.prescribe(motion.t)
                evaluation = self.system.evaluate(motion, self.multipliers_all[k], prescribed)
                position[k] = np.abs(evaluation.constraint).max()
                velocity[k] = np.abs(constraints.velocity_residual(self.system, evaluation)).max()
        return ConstraintResidual(read_only(position), read_only(velocity))

    @checked
    def state(self, k: int) -> State:
        """The computed state number ``k``; negative numbers count from the end."""
        self._check_number(k)
        return given_out(self.system, self._state(k))

    def _state(self, k: int) -> State:
        return self._history.state(k)

    @checked
    def __call__(self, t: float) -> State:
        """State at any time of the run, interpolated along the group."""
        if not self.t[0] <= t <= self.t[-1]:
            raise ModelError(f"t = {t} s is outside the run, which covers {self.t[0]} s to {self.t[-1]} s")
        if len(self.t) == 1:
            return self.state(0)
        k = min(max(int(np.searchsorted(self.t, t)), 1), len(self.t) - 1)
        share = (t - self.t[k - 1]) / (self.t[k] - self.t[k - 1])
        state = self._between(self._state(k - 1), self._state(k), share)
        return given_out(self.system, replace(state, t=t))

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

        file = FilePath(path)
        return save(self, file if file.suffix else file.with_suffix(".h5"))

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
        return self._motion(k)

    def _motion(self, k: int) -> Motion:
        return self.system.motion(self._state(k))

    def _row(self, node: Node) -> int:
        return self.system.number(node)

    def _place(self, joint: Constraint) -> ConstraintRows:
        if not isinstance(joint, Constraint):
            raise ModelError(
                f"Solution: expected a joint that was added to the model, received {shown(joint)}; for the force that "
                "holds a node, hold it by FixedJoint(model.ground, node) in place of model.fix"
            )
        return self.system.constraint_rows(joint)

    def _check_number(self, k: int) -> None:
        if not -len(self.t) <= k < len(self.t):
            raise ModelError(f"Solution: there is no state {k}; the run has {len(self.t)} states, counted from 0")

    def _channel(self, channel: Channel) -> Array:
        """Its columns ``(nt, c)``, computed or from a file that has them."""
        stored = self._history.columns
        if stored and all(column in stored for column in channel.columns):
            return np.stack([stored[column] for column in channel.columns], axis=-1)
        return channel.values(self)

    def _coordinates(self, joint: Constraint) -> tuple[Array, Array]:
        """Principal values and rates ``(nt, c)`` of the coordinates of a joint."""
        self._place(joint)
        if not joint.coordinates:
            raise ModelError(f"{joint} has no coordinate: it leaves no motion free that it could measure")
        return principal(self.system, joint, list(self._motions()))

    def _motions(self) -> Any:
        return (self._motion(k) for k in range(len(self.t)))
