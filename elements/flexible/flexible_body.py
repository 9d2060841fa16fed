"""A deformable body between interfaces, which are nodes of the model: joints, beams and bearings attach as everywhere.

Its own unknowns are amplitudes of modes that leave the interfaces at rest. With the power of inertia and gravity ``w``
on the floating frame and ``r`` on the coordinates, inertia, ``K q`` and ``D q'``, forces on interfaces and amplitudes
are ``B^T w + Q^T r`` of ``V_0 = B v``, ``q' = Q v`` (``floating_frame.py``, ``inertia.py``; docs/flexible.md).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Annotated, Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Element, ElementBatch, Energy, ModelContext, Node, NodeLike, Picture, checked, so3
from fem_mbs.contracts.arguments import Name, RotationLike, Vector3, shown
from fem_mbs.contracts.component import InternalVariable, Numbering
from fem_mbs.contracts.motion import Motion, RateSensitivities
from fem_mbs.elements.flexible.floating_frame import Attachments, FloatingFrame, FrameRates
from fem_mbs.elements.flexible.inertia import LinearField, Moved, turned_amplitudes
from fem_mbs.elements.flexible.recovery import BodyPicture, Recovered
from fem_mbs.elements.flexible.reduction import Reduction
from fem_mbs.elements.flexible.stiffening import CASES, SecondOrderField, ShortenedElasticity
from fem_mbs.errors import LOG, ModelError, MotionError
from fem_mbs.model.description import ModelDescription

LARGE, MOST = 0.3, 3.0
"""Rotations of an interface against the frame, in rad, above which linear elasticity is doubtful, and refused."""
SPIN = 0.2
"""Spin, against the lowest frequency with interfaces held, that stiffens a body by some percent of its frequencies."""
ROUNDING = 1e-13
"""Distance from the origin of a mesh, against its size, that is rounding: alone it would be the extent of a model."""
AWAY = 1e-6
"""Distance of a node from its interface, against the size of the body, that is rounding of input."""


class ReducedBody(Element):
    """Base of bodies whose masses and stiffness are those of a reduction."""

    _internal = "recovered axes"
    reduction: Reduction
    axes: Array
    """Of the nodes in those of the body, as built, ``(p, 3, 3)``."""

    def batch_key(self) -> Hashable:
        own = self.reduction
        return len(self.nodes), len(self.internal_variables), own.frame, len(own.second_order)

    def recovered(self, x: Array, R: Array, eta: Array) -> Recovered:
        """Over time, of nodes at ``x`` (nt, p, 3), ``R`` (nt, p, 3, 3), with amplitudes ``eta`` (nt, m)."""
        return Recovered(self.reduction, self.axes, x, R, eta)


def _reductions(value: Any, label: object) -> Any:
    """Some reductions."""
    if not isinstance(value, list | tuple) or not value or not all(isinstance(own, Reduction) for own in value):
        raise ModelError(f"{label} must be a list of Reductions, received {shown(value)}")
    return list(value)


Reductions = Annotated[Any, _reductions]


@checked
class FlexibleBody(ReducedBody):
    """A body that deforms, reduced to its interfaces and a few modes.

    Parameters
    ----------
    nodes : dict of str to Node, or list of Node
        The node of each interface of the reduction; a list goes in the order of ``reduction.names``.
    reduction : Reduction
        Stiffness, damping and inertia of interfaces and modes.
    position : (3,) or None
        Where the origin of the mesh is as built, world frame. None moves the mesh to the nodes, without a ``rotation``
        also turns it, as fits best.
    rotation : (3, 3), optional
        Axes of the mesh as columns, world frame; by default those of the world.

    Raises
    ------
    ModelError
        If a node is not where the mesh has its interface, or an interface has none or more than one.
    MotionError
        In a run, if an interface turns by more than 3 rad against the body.

    Notes
    -----
    ``solution.internal_variables(body)`` has the amplitudes ``(nt, m)``. Interfaces may turn without limit together;
    deformations, seen from the floating frame, are small in the sense of linear elasticity: what bends by more is
    several bodies in a row. :meth:`place` makes the nodes.
    """

    def __init__(
        self,
        nodes: Mapping[str, NodeLike] | Sequence[NodeLike],
        reduction: Reduction,
        *,
        position: Vector3 | None = (0.0, 0.0, 0.0),
        rotation: RotationLike | None = None,
    ) -> None:
        self.reduction, names = reduction, reduction.names
        if isinstance(nodes, Mapping):
            if set(nodes) != set(names):
                raise ModelError(
                    f"FlexibleBody: nodes must be one for each of {', '.join(names)}, received {shown(nodes)}"
                )
            nodes = [nodes[name] for name in names]
        if len(nodes) != len(names) or not all(isinstance(node, Node) for node in nodes):
            raise ModelError(
                f"FlexibleBody: nodes must be one node for each interface ({', '.join(names)}), received {shown(nodes)}"
            )
        self.nodes = tuple(nodes)
        if len(set(self.nodes)) < len(names):
            raise ModelError(
                f"FlexibleBody: two interfaces share a node, received {shown(nodes)}; join two nodes by a joint"
            )
        self.rotation = np.eye(3) if rotation is None else np.asarray(rotation)
        if position is None:
            position = self._fitted(turns=rotation is None)
        self.position = np.asarray(position, dtype=float)
        self._check_places()
        self.axes = np.array([self.rotation.T @ node.rotation for node in self.nodes])
        self.internal_variables = tuple(
            InternalVariable(f"mode {k + 1}", "coordinate", size=reduction.size, unit="m")
            for k in range(reduction.modes)
        )
        if len(names) == 1:
            first = reduction.moments[0, 1:4] / reduction.mass - reduction.places[0]
            self.center_of_mass = self.nodes[0].rotation.T @ self.rotation @ first

    def _fitted(self, turns: bool) -> Array:
        """The position, and where it ``turns`` the rotation, with which the mesh is nearest to the nodes."""
        own, at = self.reduction.center + self.reduction.places, np.array([node.position for node in self.nodes])
        if turns:
            from scipy.spatial.transform import Rotation  # which takes long to import

            arms = own - own.mean(axis=0)
            if np.linalg.matrix_rank(arms, AWAY * self.reduction.size) < 2:
                raise ModelError(
                    f"FlexibleBody: position = None: interfaces {', '.join(self.reduction.names)} are on one line, "
                    "about which nodes do not tell how the mesh is turned; give its rotation"
                )
            self.rotation = Rotation.align_vectors(at - at.mean(axis=0), arms)[0].as_matrix()
        return at.mean(axis=0) - self.rotation @ own.mean(axis=0)

    def _check_places(self) -> None:
        at = self.position + (self.reduction.center + self.reduction.places) @ self.rotation.T
        apart = np.linalg.norm(at - [node.position for node in self.nodes], axis=1)
        worst = int(np.argmax(apart))
        if apart[worst] > AWAY * self.reduction.size:
            raise ModelError(
                f"FlexibleBody: {self.nodes[worst]} is at {self.nodes[worst].position}, the interface "
                f"'{self.reduction.names[worst]}' at {at[worst]}, {apart[worst]:.3g} away; move the mesh by position= "
                "and rotation=, to the nodes by position=None, or let FlexibleBody.place make them"
            )

    @classmethod
    @checked
    def place(
        cls,
        model: ModelDescription,
        reduction: Reduction,
        position: Vector3 = (0.0, 0.0, 0.0),
        rotation: RotationLike | None = None,
        *,
        velocity: Vector3 | None = None,
        angular_velocity: Vector3 | None = None,
        name: Name = "body",
    ) -> FlexibleBody:
        """A body and its nodes, called ``name`` and ``name.interface``; the body is still to be added.

        Parameters
        ----------
        model : Model
            Gets the nodes, with the axes of the mesh.
        reduction : Reduction
            What it is.
        position, rotation
            Origin and axes of the mesh in the world.
        velocity : (3,)
            Of the origin of the mesh at t = 0, world frame.
        angular_velocity : (3,)
            At t = 0, axes of the mesh.
        """
        return cls._row(model, {name: reduction}, position, rotation, velocity, angular_velocity)[0]

    @classmethod
    @checked
    def chain(
        cls,
        model: ModelDescription,
        reductions: Reductions,
        position: Vector3 = (0.0, 0.0, 0.0),
        rotation: RotationLike | None = None,
        *,
        velocity: Vector3 | None = None,
        angular_velocity: Vector3 | None = None,
        name: Name = "body",
    ) -> list[FlexibleBody]:
        """Bodies in a row, each with its first interface on the last one of that before, axes of the meshes parallel.

        Interfaces at one place have one node, that of the body before. Bodies are called ``name 1`` and so on, nodes
        ``name 1.interface``; the bodies are still to be added. Parts of one mesh stay where they are, equal ones may be
        given several times.

        Parameters
        ----------
        model : Model
            Gets the nodes, with the axes of the meshes.
        reductions : list of Reduction
            What they are.
        position, rotation, velocity, angular_velocity
            Of the first mesh, as of :meth:`place`; all turn alike.
        """
        named = {f"{name} {k + 1}": own for k, own in enumerate(reductions)}
        return cls._row(model, named, position, rotation, velocity, angular_velocity)

    @classmethod
    def _row(
        cls,
        model: ModelDescription,
        named: Mapping[str, Reduction],
        position: Any,
        rotation: Any,
        velocity: Any,
        angular_velocity: Any,
    ) -> list[FlexibleBody]:
        """Bodies in a row, on nodes that those before have, and new ones."""
        R = np.eye(3) if rotation is None else np.asarray(rotation)
        position, moves = np.asarray(position, dtype=float), velocity is not None or angular_velocity is not None
        v, spin = (np.zeros(3) if own is None else np.asarray(own) for own in (velocity, angular_velocity))
        there: list[Node] = []
        bodies: list[FlexibleBody] = []
        for name, own in named.items():
            places, nodes = (own.center + own.places) @ R.T, []
            places[np.abs(places) < ROUNDING * own.size] = 0.0
            origin = bodies[-1].nodes[-1].position - R @ (own.center + own.places[0]) if bodies else position
            for interface, at in zip(own.names, origin + places, strict=True):
                near = (node for node in there if np.linalg.norm(node.position - at) < AWAY * own.size)
                rates = (v + np.cross(R @ spin, at - position), spin) if moves else ()
                nodes.append(next(near, None) or model.add_node(at, R, *rates, name=f"{name}.{interface}"))
                vars(nodes[-1]).setdefault("made_for", f"{cls.__name__} '{name}'")
            there += nodes
            bodies.append(cls(nodes, own, position=origin, rotation=rotation))
            bodies[-1].default_name = name
        return bodies

    @checked
    def node(self, interface: Name) -> Node:
        """The node of an interface."""
        if interface not in self.reduction.names:
            raise ModelError(f"{self}: there is no interface '{interface}', but {', '.join(self.reduction.names)}")
        return self.nodes[self.reduction.names.index(interface)]

    def doubts(self, around: ModelContext) -> Iterable[str]:
        """What the reduction finds doubtful of itself, and spins that stiffen a body more than its modes know."""
        yield from self.reduction.doubts()
        spin = max(float(np.linalg.norm(node.angular_velocity)) for node in self.nodes)
        if spin > SPIN * self.reduction.stiffens:
            yield _too_fast(self.reduction, spin)

    def picture(self, number: Numbering, stations: int) -> Picture:
        """Its surface as deformed, or lines from its middle to the interfaces."""
        rows = [number(node) for node in self.nodes]
        return BodyPicture(rows, number.own(self), self.recovered, self.reduction.surface)


def _too_fast(reduction: Reduction, spin: float) -> str:
    held = reduction.stiffens
    return (
        f"it turns at {spin:.3g} rad/s, and its lowest frequency with interfaces held is {held:.3g} rad/s: one body "
        "has a part of the centrifugal stiffening only; take several in a row, or stiffening=True"
    )


Follows = tuple[Array | float, Array | float]
"""How rates follow: of interfaces (n, p, 6, 6), of amplitudes (n, m)."""
STAYS: Follows = (0.0, 0.0)
CHANGES: Follows = (np.eye(6), 1.0)
"""Rates that follow themselves."""


class Linearised:
    """A body as it moves, and derivatives of its forces, as far as they are asked for."""

    def __init__(self, batch: FlexibleBatch, motion: Motion) -> None:
        self.batch, momentum = batch, motion.momentum or motion
        self.frame = batch.frame(motion)
        velocities = momentum.V[batch.nodes]
        U, Omega = (velocities[:, :, k : k + 3] for k in (0, 3))
        A = motion.A[batch.nodes].copy()
        A[..., :3] -= so3.cross(Omega, U)
        self._node_rates = U, Omega
        parts = ((self.frame.d, motion.u), (velocities, momentum.udot), (A, motion.uddot))
        self.q, v, v_dot = (batch.joined(*part) for part in parts)
        self.rates = rates = FrameRates(batch.attached, self.frame.d, v, v_dot)
        self.gravity = np.vecmat(motion.gravity, self.frame.R)
        a = rates.A[:, :3] + so3.cross(rates.V[:, 3:], rates.V[:, :3]) - self.gravity
        self.moved = Moved(a, rates.A[:, 3:], rates.V[:, 3:], self.q, rates.q_dot, rates.q_ddot)
        self.strained = self.q if batch.shortened is None else batch.shortened.strained(self.q)
        self.damped, self._by_q = rates.q_dot, rates.E
        if motion.momentum is not None and batch.damps:
            self.damped, self._by_q = rates.rates_at(batch.joined(motion.V[batch.nodes], motion.udot))

    def forces(self) -> tuple[Array, Array]:
        """Of inertia and weight, and of elasticity and damping, ``(n, K)`` each."""
        batch, rates = self.batch, self.rates
        self._inertia = batch.field.forces(self.moved)
        own = rates.wrench(self._inertia.frame, self._inertia.modes)
        elastic = self._elastic(self.strained)
        if batch.damps:
            elastic += np.matvec(batch.D, self.damped)
        p = rates.wrench(np.zeros((len(own), 6)), elastic)
        self._p = own + p
        return rates.at_interfaces(own), rates.at_interfaces(p)

    def _elastic(self, strained: Array) -> Array:
        """Forces ``(n, K)`` on the coordinates as they stand of what is strained."""
        batch = self.batch
        return np.matvec(batch.K, strained) if batch.shortened is None else batch.shortened.forces(self.q, strained)

    def strained_after(self, d: Array) -> Array:
        """What is strained ``(n, K)`` after increments ``d`` (n, K) of interfaces and amplitudes, linear in them."""
        _, change = self.rates.follow(d)
        if self.batch.shortened is not None:
            change = np.matvec(self.batch.shortened.gradient(self.q), change)
        return self.strained + change

    def with_strained(self, strained: Array) -> Linearised:
        """The same body with other strains, and their stress."""
        result = copy(self)
        change = self._elastic(strained) - self._elastic(self.strained)
        result.strained, result._p = strained, self._p + self.rates.wrench(np.zeros((len(change), 6)), change)
        return result

    def rate_force(self, dV: Array, dA: Array, inertial: Array) -> Array:
        """How forces ``(n, K)`` change with velocities, accelerations and velocities of inertia, at the same places."""
        (U, Omega), rates, ends = self._node_rates, self.rates, inertial[:, : 6 * self.batch.nodes.shape[1]]
        v_dot, ends = dA.copy(), ends.reshape(*U.shape[:2], 6)
        turned = so3.cross(ends[..., 3:], U) + so3.cross(Omega, ends[..., :3])
        v_dot[:, : ends[0].size].reshape(ends.shape)[..., :3] -= turned
        V, A, q_dot, q_ddot = rates.changed(inertial, v_dot)
        a = A[:, :3] + so3.cross(V[:, 3:], rates.V[:, :3]) + so3.cross(rates.V[:, 3:], V[:, :3])
        own = self.batch.field.rate_forces(self.moved, Moved(a, A[:, 3:], V[:, 3:], self.q, q_dot, q_ddot))
        modes = own.modes
        if self.batch.damps:
            modes = modes + np.matvec(self.batch.D, rates.follow(dV)[1])
        return rates.at_interfaces(rates.wrench(own.frame, modes))

    def tangent(self, velocity: Follows, acceleration: Follows, *, placed: bool = False, damps: bool = True) -> Array:
        """Derivative ``(n, b, b)`` where velocities and accelerations follow increments, ``placed`` if nodes do, too.

        ``damps`` says whether what the material damps belongs to it.
        """
        rates, batch, V = self.rates, self.batch, self.rates.V
        by = batch.field.derivatives(self.moved, self._inertia.rest)
        (U, Omega), (n, p), K = self._node_rates, self.batch.nodes.shape, self.q.shape[1]
        own, dv, dv_dot = np.full((n, 3, K - 6 * p), float(placed)), np.empty((n, p, 6, 6)), np.empty((n, p, 6, 6))
        (dv[...], own[:, 1]), (dv_dot[...], own[:, 2]) = velocity, acceleration
        # of the components of an acceleration, A = V' + (Omega x U, 0)
        dv_dot[:, :, :3] -= so3.skew(Omega) @ dv[:, :, :3] - so3.skew(U) @ dv[:, :, 3:]
        by_q = by.coordinates
        if damps and batch.damps:
            by_q[:, 6:, 1] += batch.D
        # a = A_0 + Omega x U, less weight, as the frame turns
        by_a = by.frame[:, :, :3]
        by_frame = np.zeros((n, 6 + K, 18))
        by_frame[:, :, 3:6] = -by_a @ so3.skew(self.gravity)
        by_frame[:, :, 6:9] = by_a @ so3.skew(V[:, 3:])
        by_frame[:, :, 9:12] = by.spin - by_a @ so3.skew(V[:, :3])
        by_frame[:, :, 12:] = by.frame
        if placed:
            by_q[:, 6:, 0] += batch.K if batch.shortened is None else batch.shortened.stiffness(self.q, self.strained)
            if self._by_q is not rates.E:
                by_q[:, 6:, 0, : 6 * p] += rates.damped(batch.D, self._by_q - rates.E)
        return rates.tangent(self._p, by_frame, by_q, rates.moved(dv, dv_dot, own, placed))


class FlexibleBatch(ElementBatch, of=ReducedBody):
    """Bodies with ``p`` interfaces and ``m`` modes each as arrays."""

    terms = 2

    def __init__(self, bodies: Sequence[ReducedBody], number: Numbering) -> None:
        super().__init__(bodies, number)
        self._reductions = every = [body.reduction for body in bodies]
        # equal bodies have one set of constants
        few = every[:1] if all(own is every[0] for own in every) else every
        self.K, self.D, P, moments, rest, Z = (
            np.array([getattr(own, name) for own in few])
            for name in ("stiffness", "damping", "projection", "moments", "rest", "second_order")
        )
        places, size = (np.array([getattr(own, name) for own in every]) for name in ("places", "size"))
        self.attached = Attachments(places, P, np.array([body.axes for body in bodies]), size)
        self.field = SecondOrderField(moments, rest, Z[:, :CASES]) if Z.shape[1] else LinearField(moments, rest)
        self.shortened = ShortenedElasticity(self.K, Z[:, CASES:]) if Z.shape[1] > CASES else None
        self.damps = bool(self.D.any())
        self._warned = self._buckled = False
        fastest = SPIN * np.array([own.stiffens for own in every])
        self._fastest = fastest**2 if np.isfinite(fastest).any() else None

    def joined(self, interfaces: Array, variables: Array) -> Array:
        """``(n, K)`` of what belongs to interfaces ``(n, p, 6)`` and to the amplitudes, of all internal variables."""
        ends = interfaces.reshape(len(interfaces), -1)
        return ends if self.own is None else np.concatenate([ends, variables[self.own]], axis=1)

    def frame(self, motion: Motion) -> FloatingFrame:
        """The floating frames."""
        eta = np.zeros((len(self.nodes), 0)) if self.own is None else motion.u[self.own]
        frame = self.attached.frame(motion.x[self.nodes], motion.R[self.nodes], eta)
        self._check(frame, motion.t)
        return frame

    def _check(self, frame: FloatingFrame, t: float) -> None:
        turns = np.linalg.norm(frame.d[..., 3:], axis=2)
        if frame.settled.all() and turns.max() < LARGE:
            return
        cell, interface = divmod(int(np.argmax(turns)), turns.shape[1])
        owner = self.owners[cell]
        what = f"interface '{owner.reduction.names[interface]}' turns by {turns.max():.2f} rad against the body"
        if not frame.settled.all() or turns.max() > MOST:
            raise MotionError(
                f"{owner}: {what} at t = {t:.6g} s, more than linear elasticity can mean; take several in a row"
            )
        if not self._warned:
            when = f"t = {t:.6g} s"  # copies over time have none, and are not asked
            LOG.warning(
                "%s: %s at %s: its elasticity is linear; several bodies in a row bend further", owner, what, when
            )
            self._warned = True

    def _check_spin(self, Omega: Array, t: float) -> None:
        """Tell once of a body that turns too fast for what stiffens it."""
        if self._fastest is None or (within := np.vecdot(Omega, Omega) <= self._fastest).all():
            return
        cell, self._fastest = int(np.argmin(within)), None
        told = _too_fast(self._reductions[cell], float(np.linalg.norm(Omega[cell])))
        when = f"t = {t:.6g} s"
        LOG.warning("%s at %s: %s", self.owners[cell], when, told)

    def force(self, motion: Motion, prescribed: None) -> tuple[Array, Linearised]:
        """Inertia and weight, elasticity and damping, ``(n, 2, 6p + m)``."""
        context = Linearised(self, motion)
        self._check_spin(context.rates.V[:, 3:], motion.t)
        return np.stack(context.forces(), axis=1), context

    def tangent(self, context: Linearised, dV: RateSensitivities, dA: RateSensitivities) -> Array:
        velocity, acceleration = (
            (follow.nodes[self.nodes], 0.0 if self.own is None else follow.own[self.own]) for follow in (dV, dA)
        )
        return context.tangent(velocity, acceleration, placed=True)

    def stiffness(self, context: Linearised) -> Array:
        return context.tangent(STAYS, STAYS, placed=True)

    def damping(self, context: Linearised) -> Array:
        return context.tangent(CHANGES, STAYS)

    def gyroscopic(self, context: Linearised) -> Array:
        return context.tangent(CHANGES, STAYS, damps=False)

    def mass(self, context: Linearised) -> Array:
        return context.tangent(STAYS, CHANGES)

    def rate_force(self, context: Linearised, dV: Array, dA: Array, inertial: Array) -> Array:
        return context.rate_force(dV, dA, inertial)

    def stress_ahead(self, context: Linearised, d: Array) -> Array:
        """What is strained of the coordinates, by which stress is known, ``(n, K)``."""
        return context.strained_after(d)

    def with_stress(self, context: Linearised, stress: Array) -> Linearised:
        return context.with_strained(stress)

    def stressed(self, context: Linearised, d: Array) -> Linearised:
        partly = next((k for k, own in enumerate(self._reductions) if np.isfinite(own.stiffens)), None)
        if partly is not None and not self._buckled:
            self._buckled = True
            LOG.warning(
                "%s buckles as its interfaces let it, not within itself between them; take several in a row, or "
                "stiffening=True, and compare",
                self.owners[partly],
            )
        return self.with_stress(context, self.stress_ahead(context, d))

    def turning(self, spins: Array) -> Array | None:
        if self.own is None or not spins.any():
            return None
        result = np.zeros((*self.own.shape, self.own.shape[1]))
        for k in np.flatnonzero(spins.any(axis=1)):
            own, spin = self._reductions[k], self.attached.axes[k, 0] @ spins[k]
            result[k] = turned_amplitudes(own.stiffness, own.moments, own.rest, own.modes, spin)
        return result

    def energy(self, motion: Motion) -> Energy:
        now = Linearised(self, replace(motion, momentum=None))
        moment = self.field.mass[:, None] * now.frame.x + np.matvec(now.frame.R, self.field.first_moment(now.q))
        rates = now.rates
        return Energy(
            kinetic=self.field.kinetic(rates.V, now.q, rates.q_dot),
            strain=0.5 * np.vecdot(now.strained, np.matvec(self.K, now.strained)),
            gravity=-(moment @ motion.gravity),
        )
