"""Forces of a fluid on beams: a force per length that follows from the velocity of the fluid against the section.

The law is asked at the nodes of each element, whose shares of its length are those of the polynomials between them
(lumped, so that drag never brings energy to a beam in a fluid at rest). docs/forces.md, "Drag".
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.arrays import Array
from fem_mbs.elements.beam import Beam
from fem_mbs.elements.user_laws import DIFFERENCE_SHARE, slope
from fem_mbs.errors import LawError
from fem_mbs.lie import so3
from fem_mbs.model import (
    Element,
    ElementBatch,
    Motion,
    Numbering,
    checked,
    function,
    real,
    shown,
    vector,
)

Velocities = Callable[[float, Array], ArrayLike]
DragLaw = Callable[[Array, Array], ArrayLike]


def constant_or_field(value: Any, label: object) -> Any:
    """A vector, or a function of time and places."""
    return value if callable(value) else vector(value, label)


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
        fluid: Annotated[ArrayLike | Velocities, constant_or_field] = (0.0, 0.0, 0.0),
    ) -> None:
        self.beam, self.law, self.fluid = beam, law, fluid
        self.nodes = beam.nodes

    def velocities(self, t: float, x: Array) -> Array:
        """Velocities ``(n, 3)`` of the fluid at places, world frame."""
        if not callable(self.fluid):
            return np.broadcast_to(self.fluid, x.shape)
        where = f"{self}: the velocity of its fluid"
        value = _asked(self.fluid, (t, x.copy()), ((3,), x.shape), f"{where} at t = {t:.6g} s")
        return np.broadcast_to(value, x.shape)

    def forces(self, velocity: Array, s: Array) -> Array:
        """Forces per length ``(n, 3)``, section frame."""
        return _asked(self.law, (velocity.copy(), s), (velocity.shape,), f"{self}: its law")

    def velocity_gradient(self, t: float, x: Array) -> Array | None:
        """Derivative ``(n, 3, 3)`` of the velocities against places; None if they are the same everywhere."""
        if not callable(self.fluid):
            return None
        fluid = self.fluid
        size = DIFFERENCE_SHARE * (1.0 + np.abs(x).max(initial=0.0))
        return _derivative(lambda y: self.velocities(t, y), lambda y: fluid(t, y), x, size)

    def force_gradient(self, velocity: Array, s: Array) -> Array:
        """Derivative ``(n, 3, 3)`` of the forces against velocities."""
        if hasattr(self.law, "by_velocity"):
            shape = (*velocity.shape, 3)
            return _asked(self.law.by_velocity, (velocity.copy(), s), (shape,), f"{self}: the derivative of its law")
        size = DIFFERENCE_SHARE * (1.0 + np.abs(velocity).max(initial=0.0))
        return _derivative(lambda v: self.forces(v, s), lambda v: self.law(v, s), velocity, size)

    def batch_key(self) -> Hashable:
        """All in one."""
        return None

    @classmethod
    def batch(cls, elements: Sequence[Drag], number: Numbering) -> ElementBatch:
        """All beams in fluids."""
        return DragBatch(elements, number)


class Context(NamedTuple):
    """What the matrices need of the last force."""

    t: float
    R: Array
    places: Array
    fluid: Array
    """Velocities of the fluid in the node frames."""
    velocity: Array
    """Of the fluid against the beam, section frames."""
    force: Array
    """On the beam, node frames."""


class DragBatch(ElementBatch):
    """Beams in fluids, a cell for each node of each of their elements."""

    def __init__(self, drags: Sequence[Drag], number: Numbering) -> None:
        counts = [drag.beam.cells.size for drag in drags]
        rows = [np.array([number(node) for node in drag.nodes])[drag.beam.cells].reshape(-1, 1) for drag in drags]
        self.nodes = np.concatenate(rows)
        self.owners = [drag for drag, count in zip(drags, counts, strict=True) for _ in range(count)]
        beams = [drag.beam for drag in drags]
        self._length = np.concatenate([beam.shared.sum(axis=-1).ravel() for beam in beams])
        self._frames = np.concatenate([beam.frames.reshape(-1, 3, 3) for beam in beams])
        self._offsets = np.concatenate([beam.offsets.reshape(-1, 3) for beam in beams])
        self._moved = np.concatenate(
            [np.broadcast_to(so3.IDENTITY, self._frames.shape), -so3.skew(self._offsets)], axis=-1
        )
        """Displacements of the beam, node frames, by increments of the nodes ``(n, 3, 6)``."""
        self._s = np.concatenate([beam.arc(beam.places).ravel() for beam in beams])
        ends = np.cumsum(counts)
        self._parts = [(drag, slice(end - n, end)) for drag, n, end in zip(drags, counts, ends, strict=True)]
        self._origin = number.origin

    def at(self, t: float) -> float:
        """The time, which velocities of fluids depend on."""
        return t

    def force(self, motion: Motion, prescribed: float) -> tuple[Array, Context]:
        """Minus the forces of the fluid."""
        row = self.nodes[:, 0]
        R = motion.R[row]
        places = motion.x[row] + np.matvec(R, self._offsets) + self._origin
        world = self._each(lambda drag, rows: drag.velocities(prescribed, places[rows]))
        fluid = np.vecmat(world, R)
        velocity = np.vecmat(fluid - np.matvec(self._moved, motion.V[row]), self._frames)
        density = self._each(lambda drag, rows: drag.forces(velocity[rows], self._s[rows]))
        force = self._length[:, None] * np.matvec(self._frames, density)
        context = Context(prescribed, R, places, fluid, velocity, force)
        return -np.vecmat(force, self._moved), context

    def stiffness(self, context: Context) -> Array:
        """Velocities of the fluid turn against the beam, and change with its place."""
        changes = np.zeros((len(self.nodes), 3, 6))
        changes[..., 3:] = so3.skew(context.fluid)
        for drag, rows in self._parts:
            gradient = drag.velocity_gradient(context.t, context.places[rows])
            if gradient is not None:
                R = context.R[rows]
                changes[rows] += R.mT @ gradient @ R @ self._moved[rows]
        return -self._moved.mT @ self._slopes(context) @ changes

    def damping(self, context: Context) -> Array:
        """The beam moves against the fluid."""
        return self._moved.mT @ self._slopes(context) @ self._moved

    def _slopes(self, context: Context) -> Array:
        """Derivatives ``(n, 3, 3)`` of the forces against velocities, node frames."""
        slopes = self._each(lambda drag, rows: drag.force_gradient(context.velocity[rows], self._s[rows]))
        return self._length[:, None, None] * (self._frames @ slopes @ self._frames.mT)

    def _each(self, function: Callable[[Drag, slice], Array]) -> Array:
        return np.concatenate([function(drag, rows) for drag, rows in self._parts])


def _asked(law: Callable[..., Any], given: tuple[Any, ...], shapes: tuple[tuple[int, ...], ...], what: str) -> Array:
    """Finite numbers of one of the shapes that a function of a user returns."""
    try:
        answer = law(*given)
    except Exception as error:
        raise LawError(f"{what} failed: {error!r}") from error
    value = real(answer)
    if value is None or value.shape not in shapes or not np.isfinite(value).all():
        wanted = " or ".join(map(str, shapes))
        shape = "" if value is None else f" of shape {value.shape}"
        raise LawError(f"{what} must return finite numbers of shape {wanted}, received {shown(answer)}{shape}")
    return value


def _derivative(law: Callable[[Array], Array], free: Callable[[Any], Any], x: Array, step: float) -> Array:
    """Derivative ``(n, 3, 3)`` of a function of ``x`` (n, 3); ``free`` is the same unchecked."""
    return np.stack([np.broadcast_to(slope(law, free, x, step, unit), x.shape) for unit in np.eye(3)], axis=-1)
