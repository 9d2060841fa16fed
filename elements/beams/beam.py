"""Geometrically exact beam: a chain of elements with two, three or four nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated

import numpy as np

from fem_mbs.arrays import Array, ArrayLike
from fem_mbs.contracts import Element, ElementBatch, ModelContext, NodeLike, Numbering, Picture, SectionForces, checked
from fem_mbs.contracts.arguments import Name, PositiveInt, Vector3, choice, shown, vector
from fem_mbs.contracts.node import Node, check_node, poses
from fem_mbs.elements.beams.curve_strain import LOBATTO, gauss, node_shares
from fem_mbs.elements.beams.geometry import NO_LENGTH, YAxis, cells_of, higher_order_frames, section_frames
from fem_mbs.elements.beams.higher_order import BeamCurve, HigherOrderBatch
from fem_mbs.elements.beams.looks import BeamPicture, doubts, pointed
from fem_mbs.elements.beams.section import BeamSection, Profile, along, values_at
from fem_mbs.elements.beams.two_node import CONSISTENT_MASS, INTERPOLATIONS, BeamBatch, relative_motion, strain
from fem_mbs.elements.joints.coordinates import AXES
from fem_mbs.elements.joints.relative import ROTATIONS, TRANSLATIONS, RelativeJoint
from fem_mbs.errors import ModelError
from fem_mbs.lie import se3
from fem_mbs.model.description import ModelDescription

ENDS = {"start": 0, "end": -1}


def check_release(release: object, label: object) -> str:
    """Axes of a release, or a :class:`ModelError` that begins with ``label``."""
    if not isinstance(release, str) or not release or set(release) - set(AXES) or len(set(release)) < len(release):
        raise ModelError(
            f"{label} must name axes of the section about which the end turns freely, such as 'y', 'z', 'yz' or 'xyz', "
            f"received {shown(release)}"
        )
    return release


ReleasedAxes = Annotated[str, check_release]
"""Axes of a release."""


def _check_end(value: object, label: object) -> Array:
    if isinstance(value, Node | str):
        raise ModelError(
            f"{label} must be three numbers, received {shown(value)}; a beam from a node that exists takes the place "
            "of the node, and start_node= or end_node= beside it"
        )
    return vector(value, label)  # type: ignore[arg-type]


EndPoint = Annotated[ArrayLike, _check_end]
"""Where a line of beams starts or ends."""


@checked
class Beam(Element, SectionForces):
    """A beam through a chain of nodes, stress-free as built.

    Parameters
    ----------
    nodes : sequence of Node
        At least two, from start to end: ``k order + 1`` for ``k`` elements, each of which has ``order - 1`` nodes
        inside. A chain along an arc becomes a curved beam; where it turns by more than 30 degrees at a node it has a
        corner, which with orders 2 and 3 belongs between elements.
    section : BeamSection, (BeamSection, BeamSection) or function
        Its cross-section; a pair tapers linearly from start to end in whatever the two were made of (dimensions, or
        stiffnesses); a function makes the section from the share of the arc length, 0 to 1.
    y_axis : (3,), (n, 3) or function, optional
        World direction of the section's y axis (its part across the beam): one, one for each of the ``n`` nodes, or a
        function of the position (3,). Directions that turn about the chain make a twisted beam. By default y is
        horizontal and z points up at the start, the world's y for a vertical start, and turns as little as possible
        along the chain.
    interpolation : {"SE3", "R3xSO3"}
        Of elements of order 1: constant strain in se(3), or linear centre line with one-point quadrature. Independent
        of the group of the nodes. Elements of higher order are interpolated on SE(3), which serves both groups.
    start, end : (3,), optional
        Where the beam starts and ends, world frame at t = 0, if not at its first and last node. These points are
        rigidly connected to the nodes.
    order : {1, 2, 3}
        Degree of the polynomials between the nodes of an element. An element of order 1 has one strain and cannot bend
        in an S; one of order 3 is a member with loads along it (docs/beams.md, "How many elements").

    Attributes
    ----------
    nodes : tuple of Node
        From start to end.
    length : (k,)
        Lengths of the elements along the centre line.
    order : int
        Of its elements.

    Raises
    ------
    ModelError
        For fewer than two nodes, a number of nodes that does not fit the order, an element without length, a ``y_axis``
        parallel to the beam, or an element that turns further than an element can.

    Notes
    -----
    Sonneville, Cardona, Bruels (2014); docs/theory.md, "Elements of higher order". The mass is consistent in
    translation and lumped in rotation.
    """

    _internal = "arc at cells centerline curve d0 forces_at frames gauss line_at offsets places section_forces shared"

    def __init__(
        self,
        nodes: Sequence[NodeLike],
        section: Profile,
        y_axis: YAxis | None = None,
        *,
        interpolation: Annotated[str, choice(INTERPOLATIONS)] = "SE3",
        start: Vector3 | None = None,
        end: Vector3 | None = None,
        order: PositiveInt = 1,
    ) -> None:
        self.nodes = _chain(nodes)
        label = str(self)
        self.section, self.interpolation = along(section, f"{label}: section"), interpolation
        self.order = check_order(order, interpolation, label)
        if (len(self.nodes) - 1) % order:
            raise ModelError(f"{label}: elements of order {order} need k*{order} + 1 nodes, received {len(self.nodes)}")
        x, R = poses(self.nodes)
        points = x.copy()
        for k, place in ((0, start), (-1, end)):
            if place is not None:
                points[k] = place
        self.cells = cells_of(len(x), self.order)
        """Nodes ``(k, order + 1)`` of each element, counted along the beam."""
        if self.order == 1:
            world = section_frames(points, y_axis, self.nodes, label)
            self.places = np.tile(LOBATTO[1], (len(world), 1))
        else:
            world, self.places = higher_order_frames(points, self.order, y_axis, self.nodes, label)
        cells = self.cells
        self.frames = R[cells].mT @ world
        """Section frames ``(k, order + 1, 3, 3)`` at the nodes of each element in the frames of these nodes."""
        self.offsets = np.vecmat((points - x)[cells], R[cells])
        """Where the beam is at the nodes ``(k, order + 1, 3)`` of each element in their frames."""
        if self.order == 1:
            self.d0 = relative_motion(points[cells], world, [self] * len(world))
            """Relative motion ``(k, 6)`` of the ends as built, of elements of order 1."""
            self.length = np.linalg.norm(self.d0[:, :3], axis=1)
        else:
            self.curve = BeamCurve(self, points[cells], world)
            """What elements of higher order measure."""
            self.length = self.curve.length
        # a section that is a function is tried
        self.at(LOBATTO[self.order], "stiffness")

    @classmethod
    @checked
    def line(
        cls,
        model: ModelDescription,
        start: EndPoint,
        end: EndPoint,
        section: Profile,
        elements: PositiveInt = 10,
        *,
        start_node: NodeLike | None = None,
        end_node: NodeLike | None = None,
        y_axis: YAxis | None = None,
        interpolation: Annotated[str, choice(INTERPOLATIONS)] = "SE3",
        name: Name | None = None,
        rigid_ends: bool = False,
        order: PositiveInt = 1,
        release_start: ReleasedAxes | None = None,
        release_end: ReleasedAxes | None = None,
    ) -> Beam:
        """Straight beam between two points: make the missing nodes, add it to the model and return it.

        Parameters
        ----------
        model : Model
            Gets the nodes, "name[0]", "name[1]", ..., and the beam.
        start, end : (3,)
            Its ends, world frame, m.
        section, y_axis, interpolation, order
            As for :class:`Beam`.
        elements : int
            How many.
        start_node, end_node : Node, optional
            Nodes to be used as the ends. They must be at ``start`` and ``end``, unless ``rigid_ends``.
        name : str, optional
            Of the beam and of its nodes.
        rigid_ends : bool
            Whether the given nodes are rigidly connected with the ends of the beam, wherever they are.
        release_start, release_end : str, optional
            Axes of the section about which an end turns freely on its given node: "y", "z", "yz", "xyz"
            (:class:`EndRelease`). The beam then has an end node of its own there.
        """
        label = f"Beam.line '{name}'" if name else "Beam.line"
        first, last = np.asarray(start), np.asarray(end)
        check_order(order, interpolation, label)
        released = {"start": (release_start, start_node), "end": (release_end, end_node)}
        _check_ends(first, last, released, rigid_ends, label)
        places = first + (last - first) * node_shares(elements, order)[:, None]
        welded = [None if free else node for free, node in released.values()]
        given = {0: welded[0], len(places) - 1: welded[1]}
        outer = zip((first, last), welded, strict=True)
        begin, stop = (place if rigid_ends and node else None for place, node in outer)
        make = partial(
            cls, section=section, y_axis=y_axis, interpolation=interpolation, start=begin, end=stop, order=order
        )
        with model.all_or_nothing():
            return add_beam(model, name, places, given, released=released, make=make)

    @property
    def stations(self) -> Array:
        """Shares of the arc length ``(m,)`` to which the section forces belong.

        The middles of elements of order 1; else the nodes of each element, so that inner ends of elements come twice.
        """
        places = np.full((len(self.length), 1), 0.5) if self.order == 1 else self.places
        return np.ravel(self.arc(places))

    @property
    def stiffness(self) -> Array:
        """Section stiffness ``(k, g, 6, 6)`` at the quadrature points of each element: as many as its order."""
        return self.at(self.gauss[0], "stiffness")[0]

    @property
    def gauss(self) -> tuple[Array, Array]:
        """Places in an element and weights of the quadrature of its stiffness."""
        return gauss(self.order)

    def arc(self, s: Array) -> Array:
        """Shares of the arc length of the beam at places ``s`` in its elements."""
        ends = np.append(0.0, np.cumsum(self.length)) / self.length.sum()
        return ends[:-1, None] + np.diff(ends)[:, None] * s

    def at(self, s: Array, *names: str) -> list[Array]:
        """Attributes of its sections ``(k, g, ...)`` at places ``s`` in its elements, per length of its nodes' line."""
        if isinstance(self.section, BeamSection):
            shape = len(self.length), np.shape(s)[-1]
            values = (np.asarray(getattr(self.section, name)) for name in ("line", *names))
            line, *found = (np.broadcast_to(value, (*shape, *value.shape)) for value in values)
        else:
            line, *found = values_at(self.section, self.arc(s), "line", *names)
        if not line.any():
            return found
        share = self._longer(s, line)
        powers = {"stiffness": -1, "damping": -1, "mass": 1, "inertia": 1}
        return [
            value * share.reshape(*share.shape, *[1] * (value.ndim - 2)) ** powers.get(name, 0)
            for name, value in zip(names, found, strict=True)
        ]

    def _longer(self, s: Array, line: Array) -> Array:
        """How much longer the beam is as built at ``line`` (k, g, 3) of its sections than at its nodes."""
        slopes = strain(self.interpolation, self.d0)[:, None] if self.order == 1 else self.curve.slopes(s)
        length = np.linalg.norm(slopes[..., :3], axis=-1)
        longer = (slopes[..., 0] + np.cross(slopes[..., 3:], line)[..., 0]) / length
        if not (longer > 0.0).all():
            raise ModelError(
                f"{self}: its section is shifted beyond the centre of its curvature; put nodes nearer to it"
            )
        return np.asarray(longer)

    @property
    def shared(self) -> Array:
        """Length of each element as its nodes share it, ``int N_i N_j``, ``(k, order + 1, order + 1)``."""
        if self.order > 1:
            return self.curve.shared(self.curve.weights)
        return self.length[:, None, None] * CONSISTENT_MASS

    def section_forces(self, x: Array, R: Array) -> Array:
        """Section forces in the section frames, at the ``stations``.

        Parameters
        ----------
        x, R : (..., p, 3), (..., p, 3, 3)
            Positions and rotations of the beam's nodes.

        Returns
        -------
        (..., m, 6)
            Axial force, shear y, shear z, torsion, bending moments y, z; positive on the face that looks to the end.
            One row for each element of order 1; else ``order + 1`` rows, one for each of its nodes.
        """
        forces = self.forces_at(x, R, self.places)
        return forces[..., 0, :] if self.order == 1 else forces.reshape(*forces.shape[:-3], -1, 6)

    def forces_at(self, x: Array, R: Array, s: Array) -> Array:
        """Section forces ``(..., k, m, 6)`` at places ``s`` (m,) or (k, m) in its elements; m = 1 for order 1."""
        points, frames = self._ends(x, R)
        if self.order > 1:
            return self.curve.forces(points, frames, s)
        d = relative_motion(points, frames, [self] * len(self.length))
        strains = (strain(self.interpolation, d) - strain(self.interpolation, self.d0)) / self.length[:, None]
        return np.matvec(self.stiffness, strains[..., None, :])

    def centerline(self, x: Array, R: Array, stations: int) -> tuple[Array, Array]:
        """Points ``(..., elements, stations, 3)`` and section frames along each element, by its own interpolation.

        Parameters
        ----------
        x, R : (..., p, 3), (..., p, 3, 3)
            Positions and rotations of the beam's nodes.
        stations : int
            Points per element, both ends included.
        """
        return self.line_at(x, R, np.linspace(0.0, 1.0, stations))

    def line_at(self, x: Array, R: Array, s: Array) -> tuple[Array, Array]:
        """Points and section frames at places ``s`` (m,) from 0 to 1 in each element, as :meth:`centerline`."""
        ends, frames = self._ends(x, R)
        if self.order > 1:
            return self.curve.line(ends, frames, s)
        d = relative_motion(ends, frames, [self] * len(self.length))[..., None, :]
        s = s[:, None]
        Q, y = se3.exp(s * d)
        points = ends[..., :1, :] + np.matvec(frames[..., :1, :, :], y)
        if self.interpolation == "R3xSO3":
            points = ends[..., :1, :] * (1 - s) + ends[..., 1:, :] * s
        return points, frames[..., :1, :, :] @ Q

    def _ends(self, x: Array, R: Array) -> tuple[Array, Array]:
        """Where the beam is at the nodes of each element ``(..., k, order + 1, 3)``, and its section frames there."""
        R = R[..., self.cells, :, :]
        return x[..., self.cells, :] + np.matvec(R, self.offsets), R @ self.frames

    def picture(self, number: Numbering, stations: int) -> Picture:
        """Its centre line and the surface of its cross-section."""
        return BeamPicture(self, np.array([number(node) for node in self.nodes]), stations)

    def doubts(self, around: ModelContext) -> Iterable[str]:
        """Too few elements, and numbers that are of other units."""
        return doubts(self, around)

    def mesh_doubt(self) -> str:
        return pointed(self)

    def batch_key(self) -> Hashable:
        return self.interpolation, self.order, bool(self.at(self.gauss[0], "damping")[0].any())

    @classmethod
    def batch(cls, elements: Sequence[Beam], number: Numbering) -> ElementBatch:
        return (BeamBatch if elements[0].order == 1 else HigherOrderBatch)(elements, number)


def _chain(nodes: Iterable[Node]) -> tuple[Node, ...]:
    if not isinstance(nodes, Iterable):
        raise ModelError(f"Beam: nodes must be a sequence of nodes, received {shown(nodes)}")
    chain = tuple(check_node(node, f"Beam: nodes[{k}]") for k, node in enumerate(nodes))
    if len(chain) < 2:
        raise ModelError(f"Beam: a beam needs at least two nodes, received {len(chain)}")
    closed = chain[0] is chain[-1] and len(chain) > 3
    for node, times in Counter(chain[1:] if closed else chain).items():
        if times > 1:
            raise ModelError(f"Beam: {node} is {times} times in the chain; only a closed ring may end where it starts")
    return chain


def _check_ends(
    first: Array, last: Array, released: Mapping[str, tuple[str | None, Node | None]], rigid: bool, label: str
) -> None:
    """Refuse a line without length, nodes that are not at its ends, and releases that turn on nothing."""
    span = float(np.linalg.norm(last - first))
    if span <= NO_LENGTH * max(np.abs(first).max(), np.abs(last).max()):
        raise ModelError(f"{label}: start and end are the same point {first}; the beam has no length")
    for (side, (free, node)), place in zip(released.items(), (first, last), strict=True):
        if node is not None and not rigid and np.linalg.norm(node.position - place) > 1e-9 * span:
            raise ModelError(
                f"{label}: {node} is at {node.position}, not at the {side} of the beam {place}; rigid_ends=True "
                "connects them rigidly"
            )
        if free is not None and node is None:
            raise ModelError(f"{label}: release_{side} needs {side}_node, the node that the end turns on")


def check_order(order: int, interpolation: str, label: str) -> int:
    """The order of elements, or a :class:`ModelError` that begins with ``label``."""
    if order > 3:
        raise ModelError(f"{label}: order must be 1, 2 or 3, received {order}")
    if order != 1 and interpolation != "SE3":
        raise ModelError(
            f"{label}: elements of order {order} have the interpolation 'SE3', on nodes of either group, received "
            f"{interpolation!r}; that one has order=1, with several elements a member"
        )
    return order


def add_beam(
    model: ModelDescription,
    name: str | None,
    places: Array,
    given: Mapping[int, Node | None],
    *,
    released: Mapping[str, tuple[str | None, Node | None]],
    make: Callable[[list[Node]], Beam],
) -> Beam:
    """Add a beam through places ``(n, 3)``, with the nodes that are not given there, and the releases of its ends."""
    at = {k: node for k, node in given.items() if node is not None}
    missing = [k for k in range(len(places)) if k not in at]
    names = None if name is None else [f"{name}[{k}]" for k in missing]
    at.update(zip(missing, model.add_nodes(places[missing], names), strict=True))
    beam = model.add(make([at[k] for k in range(len(places))]), name=name)
    for side, (free, node) in released.items():
        if free is not None and node is not None:
            model.add(EndRelease(node, beam, side=side, release=free), f"{beam.name} {side}")
    return beam


@checked
class EndRelease(RelativeJoint):
    """Hold the end of a beam at a node, but for rotations about axes of its section.

    The beam has an end node of its own, at the place of the other; :meth:`Beam.line` and :func:`beams_from_mesh` make
    both where they are told of a release.

    Parameters
    ----------
    node : Node
        What the beam is held at.
    beam : Beam
        The beam; its own end node must not be ``node``.
    side : {"start", "end"}
        Of the beam.
    release : str
        Axes of the section at that end about which it turns freely: any of "x" (torsion), "y", "z" (bending). "y" is a
        hinge for the bending moment about y, "yz" a pin that still bears torsion, "xyz" a ball.

    Notes
    -----
    A beam with "xyz" at both ends spins about itself without resistance; "yz" at one end or both keeps it from that.
    """

    @property
    def rotation_dependent(self) -> tuple[Node, ...]:
        """The beam's own end: where released beams alone meet, the node is held."""
        return self.nodes[1:]

    @property
    def rotation_free(self) -> tuple[Node, ...]:
        """The node, where no welded beam ends."""
        return self.nodes[:1]

    def __init__(
        self, node: NodeLike, beam: Beam, *, side: Annotated[str, choice(ENDS)] = "start", release: ReleasedAxes = "yz"
    ) -> None:
        held = zip(ROTATIONS, AXES, strict=True)
        self.closes = (*TRANSLATIONS, *(name for name, axis in held if axis not in release))
        k = ENDS[side]
        own = beam.nodes[k]
        super().__init__(node, own, own.at(beam.offsets[k, k]), own.rotation @ beam.frames[k, k])
