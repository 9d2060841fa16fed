"""Forces and moments per length of a beam or of an edge, and per area of a shell: loads, and the drag of a fluid.

Loads are consistent with polynomials through the nodes (docs/beams.md, "Loads per length"; docs/shells.md, "Loads").

Drag is a force per length by the velocity of the fluid against the section. The law is ``1/2 density width (coefficient
|v_n| v_n + tangential |v_t| v_t)`` (Morison, O'Brien, Johnson, Schaaf, *Petroleum Transactions* 189, 1950), or one of
the user's. It is asked at Gauss points, as many as an element has nodes. Places and velocities there are those of
polynomials through the nodes, along which the forces do their work, so that drag never brings energy to a beam in a
fluid at rest. The section turns with the nearest node (docs/forces.md, "Drag").
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, ArrayLike
from fem_mbs.contracts import Element, ElementBatch, LoadBatch, Motion, NodeLike, Numbering, checked, poses
from fem_mbs.contracts.arguments import NotNegative, Positive, array, function, number, or_function, shown, vector
from fem_mbs.contracts.functions import ByVelocity, GivenValues, answer
from fem_mbs.elements.beams.beam import Beam
from fem_mbs.elements.beams.curve_strain import gauss, lagrange
from fem_mbs.elements.beams.inertia import elements_of
from fem_mbs.elements.beams.two_node import CONSISTENT_MASS
from fem_mbs.elements.forces.loads import Frame, Value
from fem_mbs.elements.forces.user_laws import slope
from fem_mbs.elements.shells.shell import Shell
from fem_mbs.errors import LawError, ModelError
from fem_mbs.lie import so3


@checked
class DistributedLoad(Element):
    """A force and a moment per length along a beam, or per area of a shell.

    Parameters
    ----------
    beam : Beam or Shell
        What it acts on, along the line or over the surface of its nodes.
    force : (3,), (n, 3) or function of t
        Force per length as built, in N/m, of a shell per area, in N/m^2: one for the whole, or one at each of its ``n``
        nodes and linear in between, the polynomial of the element with orders 2 and 3. A function takes the time in s
        and returns either.
    moment : (3,), (n, 3) or function of t, optional
        Moment per length, in N m/m, or per area, in N m/m^2, likewise.
    frame : {"world", "body"}
        Frame of the components: the world, or the section frame, with which the load then turns: x along a beam, z
        along the normal of a shell and x along the first parameter of its elements.

    Notes
    -----
    The load, as it stands in the world, is linear between the ends of an element (of the degree of its order), and so
    is the motion on which it does work, as for inertia and weight: a force of the mass per length times gravity does
    what gravity does.
    """

    strengths = "force", "moment"
    external = True

    def __init__(
        self, beam: Beam | Shell, force: Value, *, moment: Value | None = None, frame: Frame = "world"
    ) -> None:
        self.beam, self.nodes = beam, beam.nodes
        self.values = densities(force, moment, len(beam.nodes), f"DistributedLoad on {beam}")
        self.follows = frame == "body"

    def at_nodes(self, value: Array) -> Array:
        """A density at the nodes of each element ``(k, p, 3)``, in the world or, if it follows, in the node frames."""
        values = np.broadcast_to(value, (len(self.nodes), 3))[self.beam.cells]
        return np.matvec(self.beam.frames, values) if self.follows else values

    def batch_key(self) -> Hashable:
        return self.follows, self.beam.cells.shape[1]


SHARPEST = 150.0
"""Angle in degrees by which a line may turn at a node: nodes out of order turn it back."""


@checked
class EdgeLoad(Element):
    """A force and a moment per length along a chain of nodes, such as an edge of a shell: ``panel.edge("right")``.

    Parameters
    ----------
    nodes : sequence of Node
        At least two, one after the other; the first again at the end for a closed line.
    force : (3,), (n, 3) or function of t
        Force per length as built, world frame, in N/m: one for the whole line, or one at each node and linear in
        between. A function takes the time in s and returns either.
    moment : (3,), (n, 3) or function of t, optional
        Moment per length, in N m/m, likewise.
    """

    strengths = "force", "moment"
    external = True
    follows = False

    def __init__(self, nodes: Sequence[NodeLike], force: Value, *, moment: Value | None = None) -> None:
        chain = list(nodes)
        if len(chain) < 2:
            raise ModelError(f"EdgeLoad: nodes must be at least two nodes along an edge, received {len(chain)}")
        order = {node: k for k, node in enumerate(dict.fromkeys(chain))}
        self.nodes = tuple(order)
        self.cells = np.array([[order[a], order[b]] for a, b in pairwise(chain)])
        label = f"EdgeLoad on {self.nodes[0]}, ..."
        self.values = densities(force, moment, len(self.nodes), label)
        x = np.array([node.position for node in self.nodes])[self.cells]
        length = np.linalg.norm(x[:, 1] - x[:, 0], axis=1)
        if not (length > 0.0).all():
            raise ModelError(f"{label}: two successive nodes are at the same place")
        along = (x[:, 1] - x[:, 0]) / length[:, None]
        back = np.flatnonzero(np.vecdot(along[1:], along[:-1]) < np.cos(np.radians(SHARPEST)))
        if len(back):
            raise ModelError(
                f"{label}: the line turns back at its {chain[back[0] + 1]}, by more than {SHARPEST:.0f} degrees; list "
                "the nodes one after the other along the edge"
            )
        self.shared = length[:, None, None] * CONSISTENT_MASS  # of a load that is linear between nodes, as of a mass
        self.offsets = np.zeros((len(length), 2, 3))

    @property
    def beam(self) -> EdgeLoad:
        """The line it acts on."""
        return self

    def at_nodes(self, value: Array) -> Array:
        """A density at the nodes of each piece ``(k, 2, 3)``, in the world."""
        return np.asarray(np.broadcast_to(value, (len(self.nodes), 3))[self.cells])


class DistributedLoads(LoadBatch, of=(DistributedLoad, EdgeLoad)):
    """Distributed loads in one frame, a cell for each element of their beams.

    Densities have the shape ``(n, p, 2, 3)``: the nodes, force and moment.
    """

    def __init__(self, loads: Sequence[Any], number: Numbering) -> None:
        self.nodes, self.owners, parts = elements_of([load.beam for load in loads], number, loads)
        self.follows = loads[0].follows
        self._weight = np.concatenate([load.beam.shared for load in loads])
        self._lever = so3.skew(np.concatenate([load.beam.offsets for load in loads]))
        self.given = GivenValues(*self.nodes.shape, 2, 3)
        """Densities, in the world or, if they follow, in the node frames."""
        for load, cells in parts:
            for part, value in enumerate(load.values):
                place = cells, slice(None), part
                self.given.put(place, value, load, 3, len(load.nodes), spread=load.at_nodes)

    def force(self, motion: Motion, prescribed: Array) -> tuple[Array, tuple[Array, ...]]:
        R = motion.R.take(self.nodes, 0)
        world = np.matvec(R[:, :, None], prescribed) if self.follows else prescribed
        n, p = self.nodes.shape
        shared = (self._weight @ world.reshape(n, p, 6)).reshape(world.shape)
        nodal = -np.vecmat(shared, R[:, :, None])
        force = nodal.reshape(n, p, 6).copy()
        force[..., 3:] += np.matvec(self._lever, nodal[:, :, 0])
        return force.reshape(n, 6 * p), (R, prescribed, nodal)

    def stiffness(self, context: tuple[Array, ...]) -> Array:
        """Body components turn against their node; a load that follows turns with the node it comes from."""
        R, density, nodal = context
        n, p = self.nodes.shape
        K = np.zeros((n, p, 6, p, 6))
        turned = K[..., 3:]
        for k in range(p):
            turned[:, k, :, k] = so3.skew(nodal[:, k]).reshape(-1, 6, 3)
        if self.follows:
            shares = self._weight[..., None, None] * (R[:, :, None].mT @ R[:, None])
            turned += np.einsum("nijab,njkbc->nikajc", shares, so3.skew(density)).reshape(n, p, 6, p, 3)
        turned[:, :, 3:] += np.einsum("niab,nibjc->niajc", self._lever, turned[:, :, :3])
        return K.reshape(n, 6 * p, 6 * p)


def densities(force: Value, moment: Value | None, nodes: int, label: str) -> tuple[Any, Any]:
    """Checked densities of force and moment, or functions of time."""
    what = f"three finite numbers, or three at each of the {nodes} nodes"
    first, second = (
        value if callable(value) else array(value, f"{label}: {name}", (3,), (nodes, 3), what=what)
        for name, value in (("force", force), ("moment", np.zeros(3) if moment is None else moment))
    )
    return first, second


Width = float | Callable[[Array], ArrayLike]


@checked
@dataclass(frozen=True)
class CrossFlow:
    """Drag that grows with the square of the velocity across a section, and of that along it.

    The cross-flow principle for slender bodies, the drag of Morison's equation.

    Parameters
    ----------
    density : float
        Of the fluid, kg/m^3.
    width : float or function of s
        Of the section across the flow, its diameter, in m; a function takes shares of the arc length of the beam from 0
        to 1, (n,), and returns as many, or one.
    coefficient, tangential : float
        Drag coefficients of the flow across and along the beam, both with the width as their length.
    """

    density: Positive
    width: Annotated[Width, partial(or_function, partial(number, positive=True))]
    _: KW_ONLY
    coefficient: NotNegative = 1.0
    tangential: NotNegative = 0.0

    def __call__(self, velocity: Array, s: Array) -> Array:
        """Force per length ``(n, 3)`` in N/m of velocities ``(n, 3)`` against the section, both in its frame."""
        factors, speeds = self._factors(s), self._speeds(velocity)
        return factors * speeds * velocity

    def by_velocity(self, velocity: Array, s: Array) -> Array:
        """Its derivative ``(n, 3, 3)``."""
        factors, speeds = self._factors(s), self._speeds(velocity)
        result = (factors * speeds)[..., None] * np.eye(3)
        across = velocity * (0.0, 1.0, 1.0)
        along = velocity - across
        # v v^T/|v| of both parts; zero where there is no flow
        result += (factors / np.where(speeds > 0.0, speeds, 1.0))[..., None] * (
            so3.outer(across, across) + so3.outer(along, along)
        )
        return result

    def _factors(self, s: Array) -> Array:
        size = np.broadcast_to(self.width(s) if callable(self.width) else self.width, s.shape)
        if not (size >= 0.0).all():
            raise LawError(f"width of CrossFlow must not be negative, received {shown(size)} at shares {shown(s)}")
        factors: Array = np.array([self.tangential, self.coefficient, self.coefficient])
        return 0.5 * self.density * size[:, None] * factors

    def _speeds(self, velocity: Array) -> Array:
        across, along = np.linalg.norm(velocity[:, 1:], axis=-1), np.abs(velocity[:, 0])
        return np.stack([along, across, across], axis=-1)


Velocities = Callable[[float, Array], ArrayLike]
DragLaw = Callable[[Array, Array], ArrayLike]


@checked
class Drag(Element):
    """The force of wind or water on a beam.

    Parameters
    ----------
    beam : Beam
        What it acts on, along the line of its nodes.
    law : function of velocity and s
        Force per length in N/m, ``(n, 3)``, of velocities ``(n, 3)`` of the fluid against the beam in m/s, both in the
        section frame (x along the beam), at shares ``s`` (n,) of the arc length from 0 to 1. :class:`CrossFlow` is one.
        A function ``by_velocity`` of the same arguments, if it has this attribute, is its derivative ``(n, 3, 3)``;
        else it comes from a complex step or from differences.
    fluid : (3,) or function of t and x
        Velocity of the fluid in m/s, world frame; at rest by default. A function takes the time in s and places
        ``(n, 3)`` and returns three numbers, or as many as places.

    Raises
    ------
    LawError
        In a run, if a function returns anything but finite numbers of the right shape.

    Notes
    -----
    The mass of water that moves with the beam belongs to its section.
    """

    external = True

    def __init__(
        self,
        beam: Beam,
        law: Annotated[DragLaw, lambda value, label: function(value, label, of=" of velocity and s")],
        *,
        fluid: Annotated[ArrayLike | Velocities, partial(or_function, vector)] = (0.0, 0.0, 0.0),
    ) -> None:
        self.beam, self.law, self.fluid = beam, law, fluid
        self.nodes = beam.nodes

    def velocities(self, t: float, x: Array) -> Array:
        """Velocities ``(n, 3)`` of the fluid at places, world frame."""
        if not callable(self.fluid):
            return np.broadcast_to(self.fluid, x.shape)
        what = f"the velocity of its fluid at t = {t:.6g} s"
        value = answer(self, what, self.fluid, (t, x.copy()), (x.shape, (3,)))
        return np.broadcast_to(value, x.shape)

    def forces(self, velocity: Array, s: Array) -> Array:
        """Forces per length ``(n, 3)``, section frame."""
        return answer(self, "its law", self.law, (velocity.copy(), s), (velocity.shape,))

    def velocity_gradient(self, t: float, x: Array) -> Array | None:
        """Derivative ``(n, 3, 3)`` of the velocities against places; None if they are the same everywhere."""
        if not callable(self.fluid):
            return None
        fluid = self.fluid
        return _derivative(lambda y: self.velocities(t, y), lambda y: fluid(t, y), x)

    def force_gradient(self, velocity: Array, s: Array) -> Array:
        """Derivative ``(n, 3, 3)`` of the forces against velocities."""
        if isinstance(self.law, ByVelocity):
            given, shape = (velocity.copy(), s), (*velocity.shape, 3)
            return answer(self, "the derivative of its law", self.law.by_velocity, given, (shape,))
        return _derivative(lambda v: self.forces(v, s), lambda v: self.law(v, s), velocity)

    def batch_key(self) -> Hashable:
        return self.beam.order


class DragContext(NamedTuple):
    """What the matrices need of the last force; quadrature points, or else nodes, along the second axis."""

    t: float
    R: Array
    V: Array
    """Velocities of the beam at its nodes, node frames."""
    places: Array
    against: Array
    """Velocities of the fluid against the beam, node frames."""
    velocity: Array
    """The same in the section frames."""
    own: Array
    """Forces, node frames."""
    shared: Array
    """What the nodes have of the forces, node frames."""


class DragBatch(ElementBatch, of=Drag):
    """Elements of beams in fluids: ``n`` elements with ``p`` nodes and as many quadrature points."""

    def __init__(self, drags: Sequence[Drag], number: Numbering) -> None:
        beams = [drag.beam for drag in drags]
        self.nodes, self.owners, self._parts = elements_of(beams, number, drags)
        offsets = np.concatenate([beam.offsets for beam in beams])
        one = np.broadcast_to(so3.IDENTITY, (*offsets.shape, 3))
        self._moved = np.concatenate([one, -so3.skew(offsets)], axis=-1)
        """Displacements of the beam at its nodes, node frames, by their increments, ``(n, p, 3, 6)``."""
        self._offsets, self._origin = offsets, number.origin
        parts = zip(*(quadrature(beam) for beam in beams), strict=True)
        self._shape, self._length, self._frames, self._s = (np.concatenate(part) for part in parts)

    def at(self, t: float) -> float:
        return t

    def force(self, motion: Motion, prescribed: float) -> tuple[Array, DragContext]:
        R = motion.R[self.nodes]
        V = np.matvec(self._moved, motion.V[self.nodes])
        places = self._shape @ (motion.x[self.nodes] + np.matvec(R, self._offsets)) + self._origin
        fluid = self._each(lambda drag, x: drag.velocities(prescribed, x), places)
        against = np.vecmat(fluid - self._shape @ np.matvec(R, V), R)
        velocity = np.vecmat(against, self._frames)
        density = self._each(lambda drag, v, s: drag.forces(v, s), velocity, self._s)
        own = self._length[..., None] * np.matvec(self._frames, density)
        shared = np.vecmat(self._shape.mT @ np.matvec(R, own), R)
        context = DragContext(prescribed, R, V, places, against, velocity, own, shared)
        return -np.vecmat(shared, self._moved).reshape(len(R), -1), context

    def stiffness(self, context: DragContext) -> Array:
        """Forces turn with the nodes, as the beam moves in the fluid, and it moves to other places."""
        R, p = context.R, self.nodes.shape[1]
        # of velocities of the fluid at quadrature points against those of the beam there, world
        changes = -self._moving(R @ so3.skew(-context.V), rotations=True)
        gradients = [drag.velocity_gradient(context.t, _flat(context.places[rows])) for drag, rows in self._parts]
        for gradient, (_, rows) in zip(gradients, self._parts, strict=True):
            if gradient is not None:
                moved = self._moving(R[rows] @ self._moved[rows], rows=rows)
                changes[rows] += np.einsum("ngab,ngibc->ngiac", gradient.reshape(*R[rows].shape), moved)
        slopes = self._slopes(context)
        forces = np.einsum("ngab,ngibc->ngiac", R @ slopes @ R.mT, changes)
        turned = R @ (slopes @ so3.skew(context.against) - so3.skew(context.own))
        for g in range(p):
            forces[:, g, g, :, 3:] += turned[:, g]
        K = self._at_nodes(R, forces)
        for i in range(p):
            K[:, i, :, i, 3:] -= self._moved[:, i].mT @ so3.skew(context.shared[:, i])
        return K.reshape(len(R), 6 * p, 6 * p)

    def damping(self, context: DragContext) -> Array:
        """The beam moves against the fluid."""
        R = context.R
        moved = self._moving(R @ self._moved)
        forces = np.einsum("ngab,ngibc->ngiac", R @ self._slopes(context) @ R.mT, -moved)
        return self._at_nodes(R, forces).reshape(len(R), 6 * R.shape[1], -1)

    def _moving(self, blocks: Array, rotations: bool = False, rows: slice = slice(None)) -> Array:
        """What moves at quadrature points where nodes move by ``blocks`` (n, p, 3, 6 or 3), ``(n, g, p, 3, 6)``."""
        result = np.zeros((*self._shape[rows].shape, 3, 6))
        result[..., 3 * rotations :] = self._shape[rows][..., None, None] * blocks[:, None]
        return result

    def _at_nodes(self, R: Array, forces: Array) -> Array:
        """Minus what nodes have of forces ``(n, g, p, 3, 6)`` at quadrature points, ``(n, p, 6, p, 6)``."""
        at_nodes = np.einsum("ngi,ngjac->niajc", self._shape, forces)
        n, p = self.nodes.shape
        rows: Array = (R @ self._moved).mT @ at_nodes.reshape(n, p, 3, 6 * p)
        return -rows.reshape(n, p, 6, p, 6)

    def _slopes(self, context: DragContext) -> Array:
        """Derivatives ``(n, g, 3, 3)`` of the forces against velocities, node frames."""
        slopes = self._each(lambda drag, v, s: drag.force_gradient(v, s), context.velocity, self._s)
        return self._length[..., None, None] * (self._frames @ slopes @ self._frames.mT)

    def _each(self, function: Callable[..., Array], *arguments: Array) -> Array:
        """What a function of one beam after the other makes of arrays ``(n, g, ...)``."""
        g = self.nodes.shape[1]
        parts = [function(drag, *(_flat(own[rows]) for own in arguments)) for drag, rows in self._parts]
        return np.concatenate([part.reshape(-1, g, *part.shape[1:]) for part in parts])


def quadrature(beam: Beam) -> tuple[Array, Array, Array, Array]:
    """Of all elements: polynomials ``(k, g, p)`` of the nodes, lengths, section frames in node frames, shares ``s``."""
    places, weights = gauss(beam.order + 1)
    shape, _ = lagrange(beam.places, places)
    lengths = weights * beam.length[:, None] if beam.order == 1 else beam.curve.weights
    x, R = poses(beam.nodes)
    _, frames = beam.line_at(x, R, places)
    return shape, lengths, R[beam.cells].mT @ frames, beam.arc(np.broadcast_to(places, lengths.shape))


def _flat(values: Array) -> Array:
    return values.reshape(-1, *values.shape[2:])


def _derivative(law: Callable[[Array], Array], free: Callable[[Any], Any], x: Array) -> Array:
    """Derivative ``(n, 3, 3)`` of a function of ``x`` (n, 3); ``free`` is the same unchecked."""
    return np.stack([np.broadcast_to(slope(law, free, x, unit), x.shape) for unit in np.eye(3)], axis=-1)
