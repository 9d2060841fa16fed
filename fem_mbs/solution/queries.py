"""What may be asked of the states of a run, by node, joint or element."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar

import numpy as np

from fem_mbs.arrays import Array, IntArray, read_only
from fem_mbs.contracts import Combines, Constraint, Element, Method, Motion, Node, Public, SectionForces, State, checked
from fem_mbs.contracts.arguments import choice, listed, shown, text, vector
from fem_mbs.contracts.constraint import ElementOrName, JointOrName, NodeOrName, of_kind
from fem_mbs.contracts.public import COMPLETE
from fem_mbs.elements.flexible.flexible_body import FlexibleBody
from fem_mbs.elements.flexible.recovery import LargestStress, Recovered
from fem_mbs.elements.shells.looks import FACES
from fem_mbs.elements.shells.looks import principal as of_plane_stress
from fem_mbs.elements.shells.shell import Shell
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3
from fem_mbs.solution import balance
from fem_mbs.solution.balance import ConstraintResidual, ContactLosses, EnergyHistory, Impulse, PushingPoint
from fem_mbs.solution.history import History, Outcome, Stats
from fem_mbs.solution.turns import Counted, Turns, check_vectors, counting, principal, turning_joints, whole_turns
from fem_mbs.system.states import in_world
from fem_mbs.system.system import System

Place = Annotated[Any, lambda value, label: (text if isinstance(value, str) else vector)(value, label)]
"""The name of a set, or a point."""
HOLD = "; for the force that holds a node, hold it by FixedJoint(model.ground, node) in place of model.fix"
TURNS = "; solution.rotation(node) has how a node turns, and solution.position(node) how it moves"


def _stored(name: str, what: str) -> cached_property[Array]:
    """An array of the history as it is, and what it is."""

    def array(self: Queries) -> Array:
        return read_only(np.asarray(getattr(self.history, name)), f"{type(self).__name__}: {name}")

    array.__doc__ = what
    return cached_property(array)


class Queries(Public):
    """Questions to states over time, whose answers have the time as first axis; each takes an object or its name."""

    system: System
    history: History
    t: Array
    status: Outcome
    stats: Stats
    called: ClassVar[str] = "a Solution"
    _internal: ClassVar[str] = "called"
    _turns: Turns
    _hits: list[list[State]]
    _checkpoint: Any
    method: Method | None
    _unstable: IntArray = np.zeros(0, np.intp)

    def __setattr__(self, name: str, value: Any) -> None:
        if COMPLETE in vars(self) and name in dir(self):
            raise ModelError(f"{shown(self)}: {name} is a result, and stays as it is")
        super().__setattr__(name, value)

    @cached_property
    def x(self) -> Array:
        """Positions ``(nt, n, 3)``, world frame."""
        return in_world(self.system, np.asarray(self.history.x))

    R = _stored("R", "Rotations ``(nt, n, 3, 3)``, body to world.")
    v = _stored("v", "Velocities ``(nt, n, 6)``, see :class:`fem_mbs.State`.")
    vdot = _stored("vdot", "Their time derivatives ``(nt, n, 6)``.")
    multipliers_all = _stored("multipliers", "Lagrange multipliers ``(nt, m)`` of all joints.")
    u = _stored("u", "Internal variables ``(nt, k)`` of all elements and joints.")
    udot = _stored("udot", "Their time derivatives ``(nt, k)``.")
    uddot = _stored("uddot", "Their second time derivatives ``(nt, k)``.")

    @checked
    def position(self, node: NodeOrName) -> Array:
        """Position ``(nt, 3)`` of a node, world frame."""
        return in_world(self.system, self.history.x[:, self._row(node)])

    @checked
    def displacement(self, node: NodeOrName) -> Array:
        """Displacement ``(nt, 3)`` of a node from its initial position, world frame."""
        row = self._row(node)
        return self.history.x[:, row] - self.system.x0[row]

    @checked
    def rotation(self, node: NodeOrName) -> Array:
        """Rotation ``(nt, 3, 3)`` of a node, body to world."""
        return self.history.R[:, self._row(node)]

    @checked
    def rotation_vector(self, node: NodeOrName) -> Array:
        """Rotation vector ``(nt, 3)`` of a node against the world axes, rad, length at most pi."""
        return so3.log(self.rotation(node))

    @checked
    def velocity(self, node: NodeOrName) -> Array:
        """Velocity ``(nt, 3)`` of a node, world frame, on either group."""
        row = self._row(node)
        v: Array = self.history.v[:, row, :3]
        return np.matvec(self.history.R[:, row], v) if self.system.nodes[row].group == "SE3" else v

    @checked
    def acceleration(self, node: NodeOrName) -> Array:
        """Acceleration ``(nt, 3)`` of a node, world frame, on either group."""
        row = self._row(node)
        a: Array = self.history.vdot[:, row, :3]
        if self.system.nodes[row].group != "SE3":
            return a
        v = self.history.v[:, row]
        return np.matvec(self.history.R[:, row], a + so3.cross(v[:, 3:], v[:, :3]))

    @checked
    def angular_velocity(self, node: NodeOrName) -> Array:
        """Angular velocity ``(nt, 3)`` of a node, body frame, rad/s."""
        return self.history.v[:, self._row(node), 3:]

    @checked
    def multipliers(self, joint: JointOrName) -> Array:
        """Lagrange multipliers ``(nt, m)`` of a joint, in the order of ``joint.equations``."""
        rows = self.system.constraint_rows(self._joint(joint, HOLD)).rows
        return self.history.multipliers[:, rows]

    @checked
    def reaction(self, joint: JointOrName) -> tuple[Array, Array]:
        """Force and moment ``(nt, 3)`` that a joint puts on its node b: world frame, at the joint's point on b.

        Of joints in ``solution.redundant`` only sums are unique.
        """
        return balance.reactions_over_time(self.history, self._joint(joint, HOLD))

    @checked
    def nodal_forces(self, element: ElementOrName) -> tuple[Array, Array]:
        """Force and moment ``(nt, p, 3)`` that an element puts on each of its ``p`` nodes: world frame, about the node.

        In the order of ``element.nodes``: a spring, a bushing or a motor between a and b puts the last one on b. What
        has mass puts its weight and inertia on its nodes, too. With reactions of joints, those of all elements add up
        to zero at a node, but for errors of second order in the step where velocities are those of the momentum.

        Raises
        ------
        ModelError
            For rigid contacts, which have :meth:`contact_force`, and what has no nodes, such as a controller.
        """
        found = of_kind(self._part(element, "element"), Element, f"{type(self).__name__}: element")
        if not found.nodes:
            raise ModelError(f"{found} acts on no node; solution.signal(...) has what it puts out")
        if found.contacts and not found.yields:
            raise ModelError(f"{found} is a rigid contact; solution.contact_force(...) has its forces")
        wrenches = balance.nodal_forces(self.history, found)
        return wrenches[..., :3], wrenches[..., 3:]

    @checked
    def gap(self, contact: ElementOrName) -> Array:
        """Gaps ``(nt, k)`` of the ``k`` points of a contact, rope or stop in m (rad)."""
        return balance.contacts_over_time(self.history, self._contact(contact))[0]

    @checked
    def contact_force(self, contact: ElementOrName) -> Array:
        """Forces ``(nt, k, 3)`` in N that a contact puts on its node b in its ``k`` points, world frame.

        Of a stop, forces or moments along its coordinate, in the first of the three.
        """
        return balance.contacts_over_time(self.history, self._contact(contact))[1]

    @checked
    def impulses(self, contact: ElementOrName) -> list[Impulse]:
        """Impulses of a contact in the order of time, added up over a step; see :class:`Impulse`."""
        return balance.impulses(self.history, self._contact(contact))

    @checked
    def touching(self, contact: ElementOrName, k: int = -1) -> list[PushingPoint]:
        """The points of a contact that push at the stored state ``k``; see :class:`PushingPoint`."""
        self._check_number(k)
        return balance.touching(self.history, self._contact(contact), range(len(self.t))[k])

    @checked
    def contact_losses(self, contact: ElementOrName) -> ContactLosses:
        """What a rigid contact has taken from ``energy.total``, in J: ``impacts`` and ``friction``, ``(nt,)`` each."""
        return balance.losses(self.history, self._contact(contact))

    @checked
    def coordinate(self, joint: JointOrName) -> Array:
        """Coordinates ``(nt,)``, or ``(nt, c)``, of the motions that a joint leaves free: of node b against node a.

        In the order of ``joint.coordinates``: lengths in m, angles in rad, zero as built. Whole turns are counted by
        the rates, also where the joint turns several times in a step, and on from a checkpoint or state of a solution.

        Raises
        ------
        MotionError
            If they are components of a rotation vector, and the rotation has passed half a turn, where they end.
        """
        joint = self._joint(joint)
        values, rates = self._coordinates(joint)
        turns = self._whole_turns(joint, values, rates)
        check_vectors(self.system, joint, self.t, turns)
        values += 2.0 * np.pi * turns
        return values[:, 0] if len(joint.coordinates) == 1 else values

    def _whole_turns(self, joint: Constraint, *coordinates: Array) -> Array:
        """Whole turns ``(nt, c)``, as counted on the way or by rates."""
        turns = self._turns.get(joint)
        return whole_turns(joint, self.t, *coordinates) if turns is None else turns[: len(self.t)]

    def _turned(self, state: State) -> State:
        """A state on the way, for a user, which knows how often joints have turned."""
        return replace(self.system.to_user(state), turns=Counted(partial(self._turns_at, state)))

    def _turns_at(self, state: State) -> dict[Any, Array]:
        """Whole turns at a state on the way, by joints: those of the last one before it that was kept, and since."""
        ahead = np.flatnonzero((self.t[1:] - state.t) * (self.t[:-1] - state.t) <= 0.0)
        k, found = int(ahead[0]) if len(ahead) else len(self.t) - 1, {}
        pair = History.of(self.system, [self.history.state(k), state])
        for joint in turning_joints(self.system):
            since = whole_turns(joint, pair.t, *principal(pair, joint))[1]
            turns = self._whole_turns(joint, *self._coordinates(joint))[k] + since
            found[joint.name] = np.where(counting(self.system, joint), turns, 0.0)
        return found

    @cached_property
    def event_states(self) -> list[list[State]]:
        """States at the events of each function that the run watched."""
        origin = self.system.origin
        return [[self._turned(replace(own, x=own.x - origin)) for own in hits] for hits in self._hits]

    @cached_property
    def checkpoint(self) -> Any:
        """Where the run stands, to go on from, a :class:`fem_mbs.Checkpoint`; None where that is not known."""
        if (stands := self._checkpoint) is None:
            return None
        turns = {joint.name: own[-1] for joint, own in self._turns.items() if len(own) > len(self.t)}
        known = Counted(turns or partial(self._turns_at, stands.state))
        return replace(stands, state=replace(stands.state, turns=known))

    @checked
    def coordinate_rate(self, joint: JointOrName) -> Array:
        """Rates ``(nt,)``, or ``(nt, c)``, of :meth:`coordinate`, in m/s and rad/s: those of the momentum.

        A ``JointSensor`` reads those that forces see, whose errors are smaller under stiff control (docs/theory.md).
        """
        joint = self._joint(joint)
        rates = self._coordinates(joint)[1]
        return rates[:, 0] if len(joint.coordinates) == 1 else rates

    @checked
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
    def internal_variables(self, part: Element | Constraint | str, name: str | None = None) -> Array:
        """Internal variables ``(nt, s)`` of a part, in its order; one of them ``(nt,)`` by name."""
        owner = self._part(part, "part")
        if isinstance(owner, Node):
            raise ModelError(f"{owner} has no internal variables; elements and joints may have some")
        rows = self.system.number.own(owner)
        u: Array = self.history.u
        if name is None:
            return u[:, rows]
        names = [variable.name for variable in owner.internal_variables]
        if name not in names:
            raise ModelError(
                f"{owner} has no internal variable '{name}'; it has {', '.join(map(repr, names)) or 'none'}"
            )
        return u[:, rows[names.index(name)]]

    @checked
    def signal(self, source: Any) -> Array:
        """What a sensor measured or a block put out, ``(nt,)``, or ``(nt, p)`` of several outputs; sums of these, too.

        Where something jumps, the values are those just after.
        """
        source = self._part(source, "source")
        if not isinstance(source, Combines):
            raise ModelError(
                f"{type(self).__name__}.signal: source must be a sensor, a block or a sum of signals, received "
                f"{shown(source)}; internal variables of other elements are solution.internal_variables(element, name)"
            )
        with self.system.as_frozen():
            return source.signal_values(self.history.times, self.u, self.system.number)

    @checked
    def section_forces(self, beam: ElementOrName) -> Array:
        """Section forces ``(nt, m, 6)`` of a beam in section frames at its ``m`` stations, see ``Beam.stations``.

        They are those of strains, as stresses are: what material damping adds, of their rates, is in reactions and
        :meth:`nodal_forces` alone.
        """
        found = self._part(beam, "beam")
        if not isinstance(found, SectionForces):
            raise ModelError(f"{shown(found)} has no section forces; a Beam has")
        rows = [self._row(node) for node in found.nodes]
        with self.system.as_frozen():
            return found.section_forces(self.history.x[:, rows], self.history.R[:, rows])

    @checked
    def shell_forces(self, shell: ElementOrName) -> Array:
        """Forces and moments per length ``(nt, elements, 8)`` of a shell at the centres of its elements.

        In the order n11 n22 n12 (N/m), m11 m22 m12 (N), q1 q2 (N/m), in the axes of the elements: 1 along the first
        parameter, 3 along the normal. They are those of strains, without material damping, as of beams.
        """
        found, x, R = self._shell(shell)
        with self.system.as_frozen():
            return found.results.forces(x, R)

    @checked
    def shell_stress(
        self, shell: ElementOrName, side: Annotated[str, choice(FACES)] = "top", *, ply: int | None = None
    ) -> Array:
        """Stress 11, 22, 12 ``(nt, elements, 3)`` of a shell at the centres of its elements, N/m^2.

        At its top or bottom in the axes of the elements; of a ``ply``, counted from 0 at the bottom, at the top or
        bottom of that in its own axes.
        """
        found, x, R = self._shell(shell)
        with self.system.as_frozen():
            return found.results.stress(x, R, side, ply)

    @checked
    def shell_principal_stress(
        self, shell: ElementOrName, side: Annotated[str, choice(FACES)] = "top", *, ply: int | None = None
    ) -> Array:
        """Largest and smallest principal stress and von Mises' ``(nt, elements, 3)`` of :meth:`shell_stress`, N/m^2."""
        return of_plane_stress(self.shell_stress(shell, side, ply=ply))

    @checked
    def deformation(self, body: ElementOrName) -> Array:
        """How the interfaces of a flexible body stand to its floating frame, ``(nt, p, 6)``: screws, in its axes."""
        return self._flexible(body).frame.d

    @checked
    def surface(self, body: ElementOrName) -> Array:
        """All that is kept of the mesh of a flexible body, its surface, as deformed, ``(nt, k, 3)``, world frame."""
        return self._flexible(body).points() + self.system.origin

    @checked
    def frame(self, body: ElementOrName) -> tuple[Array, Array]:
        """The floating frame of a flexible body: place ``(nt, 3)``, world frame, and rotation ``(nt, 3, 3)``.

        Its place is that of the mass centre as built, ``body.reduction.center`` of the mesh; its axes those of the
        mesh, body to world.
        """
        frame = self._flexible(body).frame
        return in_world(self.system, frame.x), frame.R

    @checked
    def point(self, body: ElementOrName, where: Place) -> Array:
        """Where points of the mesh of a flexible body are, world frame.

        Of a set of nodes ``(nt, k, 3)``, which is the name of an interface or one of ``recover=``; of a point ``(3,)``
        in the coordinates of the mesh ``(nt, 3)``: the node that is kept next to it.
        """
        own = self._flexible(body)
        return in_world(self.system, own.points(own.reduction.rows_at(where, self._asked("point"))))

    @checked
    def stress(self, body: ElementOrName, where: Place) -> Array:
        """Stress xx, yy, zz, yz, xz, xy of a flexible body, N/m^2, axes of its mesh.

        Of a set of nodes ``(nt, k, 6)``, or of the node next to a point ``(nt, 6)``, as of :meth:`point`.
        """
        own = self._flexible(body)
        return own.stress(own.reduction.rows_at(where, self._asked("stress")))

    def _asked(self, query: str) -> str:
        return f"{type(self).__name__}.{query}"

    @checked
    def largest_stress(self, body: ElementOrName) -> LargestStress:
        """The largest equivalent (von Mises) stress over time of what is kept of a mesh, its surface, and where."""
        return self._flexible(body).largest()

    def _flexible(self, body: Any) -> Recovered:
        found = of_kind(self._part(body, "body"), FlexibleBody, f"{type(self).__name__}: body")
        rows = [self._row(node) for node in found.nodes]
        with self.system.as_frozen():
            own = self.history.u[:, self.system.number.own(found)]
            return found.recovered(self.history.x[:, rows], self.history.R[:, rows], own)

    def _shell(self, shell: Any) -> tuple[Shell, Array, Array]:
        """A shell, and positions and rotations of its nodes over time."""
        found = of_kind(self._part(shell, "shell"), Shell, f"{type(self).__name__}: shell")
        rows = [self._row(node) for node in found.nodes]
        return found, self.history.x[:, rows], self.history.R[:, rows]

    @cached_property
    def energy(self) -> EnergyHistory:
        """Energies over time."""
        return balance.energies(self.history)

    @cached_property
    def constraint_residual(self) -> ConstraintResidual:
        """Constraint violations over time."""
        return balance.residuals(self.history)

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

    def _joint(self, joint: JointOrName, hint: str = TURNS) -> Constraint:
        found = of_kind(self._part(joint, "joint"), Constraint, f"{type(self).__name__}: joint", hint)
        self.system.constraint_rows(found)
        return found

    def _contact(self, contact: ElementOrName) -> Element:
        found = self._part(contact, "contact")
        if isinstance(found, Element) and found.contacts:
            return found
        nodes = {found} if isinstance(found, Node) else {*found.nodes}
        its = listed([own for own in self.system.elements if own.contacts and nodes & {*own.nodes}])
        kinds = "a Contact, a Rope and a JointStop with restitution have"
        raise ModelError(f"{found} has no contacts; {kinds}, and of its nodes there are: {its}")

    def _check_number(self, k: int) -> None:
        if not -len(self.t) <= k < len(self.t):
            raise ModelError(f"Solution: there is no state {k}; the run has {len(self.t)} states, counted from 0")

    def _coordinates(self, joint: Constraint) -> tuple[Array, Array]:
        """Principal values and rates ``(nt, c)`` of the coordinates of a joint."""
        if not joint.coordinates:
            raise ModelError(f"{joint} has no coordinate: it leaves no motion free that it could measure")
        return principal(self.history, joint)
