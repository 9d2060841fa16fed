"""The contract of an element, whatever puts forces on nodes, and what it is told of the model that it is part of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.contracts.component import Batch, Component, Numbering
from fem_mbs.contracts.functions import GivenValues
from fem_mbs.contracts.motion import Motion, RateSensitivities
from fem_mbs.contracts.node import Node
from fem_mbs.errors import MissingMethodError


class ModelContext(NamedTuple):
    """The model as built, at rest at t = 0."""

    number: Numbering
    gravity: Array
    """Acceleration of gravity, world frame."""
    extent: float
    """Of the model, in its unit of length."""
    force: Array
    """Force ``(n, 3)`` of loads and weight on each node, world frame."""
    moment: Array
    """Moment ``(n, 3)`` of these on each node about it, world frame."""
    read: set[int]
    """Rows of the internal variables that others read as signals."""


class Energy(NamedTuple):
    """Energies in J: of each cell of a batch, ``(n,)``, or sums, which take longer over the states of a run."""

    kinetic: Array | float = 0.0
    strain: Array | float = 0.0
    gravity: Array | float = 0.0

    def summed(self) -> Energy:
        """Of all cells."""
        return Energy(*(float(np.sum(part)) for part in self))


class Element(Component):
    """What a user adds to a model to put forces on its nodes.

    To write one:

    1. ``__init__`` stores the nodes in ``self.nodes`` and checks every value it is given; an element that exists is
       valid. It raises :class:`~fem_mbs.errors.ModelError` naming its argument otherwise.
    2. ``internal_variables`` lists what it has of its own beside the six of each node; see
       :class:`~fem_mbs.contracts.component.InternalVariable`.
    3. ``class MyBatch(ElementBatch, of=MyElement)`` computes for all elements of the class. It is made of these and
       their numbering, ``MyBatch(elements, number)``: ``number(node)`` is the row of a node in the arrays of
       :class:`~fem_mbs.contracts.motion.Motion`, ``number.own(element)`` has the rows of internal variables. A class
       whose batch depends on its elements has a class method ``batch(elements, number)`` in place of ``of``.
    4. ``batch_key()`` tells which elements may share a batch; by default all of one class.
    5. ``external`` is True for loads, whose forces come from outside; ``active`` for motors, whose forces come in pairs
       and bring energy.
    6. ``picture(number, stations)`` says how it is drawn, if nodes are not enough, or ``shapes(size)`` if it is rigid.
       The body of a node has ``center_of_mass`` (3,) in the frame of that node; what acts at a point of its one node
       has ``offset`` (3,) there: both are drawn.
    7. ``doubts(around)`` says what looks wrong of it in its model, ``mesh_doubt()`` what makes its shapes wrong.

    What more it may offer is declared by classes to be mixed in: section forces by :class:`SectionForces`, signals by
    :class:`~fem_mbs.contracts.signal.SignalSource`.

    ``name`` is set by :meth:`Model.add`; ``str(element)`` is how messages call it.
    ``fem_mbs.testing.check_element`` holds the laws of the contract.
    """

    _internal: ClassVar[str] = "external active doubts mesh_doubt center_of_mass offset contacts yields slots strengths"
    strengths: ClassVar[tuple[str, ...]] = ()
    """Names of attributes: what has none of them that is not zero does nothing."""
    external: bool = False
    active: bool = False
    contacts: Sequence[str] = ()
    """Names of its contacts, which push and never pull; see :mod:`fem_mbs.contracts.unilateral`."""
    slots: int = 0
    """For so many of its contacts it has internal variables, if these take turns; 0 if each has its own."""
    yields: bool = False
    """Whether these are forces by the depth, for any method."""
    center_of_mass: Array | None = None
    """Of the body that its one node carries, in the frame of that node; None of what is no body."""

    def doubts(self, around: ModelContext) -> Iterable[str]:
        """What looks wrong of it in its model, a sentence each, for :meth:`Model.check`."""
        return ()

    def mesh_doubt(self) -> str:
        """What its mesh cannot follow, whatever its loads: modes and buckling are told of it; empty for nothing."""
        return ""


class SectionForces:
    """Mixed into elements along a line that know what goes through their sections, for ``solution.section_forces``."""

    nodes: tuple[Node, ...]

    @property
    def stations(self) -> Array:
        """Where along it, from 0 to 1 of its length, ``(k,)``: the middle, if it does not say better."""
        return np.array([0.5])

    def section_forces(self, x: Array, R: Array) -> Array:
        """Forces ``(nt, k, 6)`` in the section frame, for nodes at ``x`` (nt, p, 3) with ``R`` (nt, p, 3, 3).

        In the order axial, shear y, shear z (N), torsion, bending about y, bending about z (N m).
        """
        raise MissingMethodError(f"{type(self).__name__} must define section_forces(x, R)")


class SmallChange(NamedTuple):
    """A small change of a motion that a batch sees."""

    d: Array
    """Increments of the nodes, then of internal variables, ``(n, b)``,"""
    multipliers: Array
    """of the multipliers ``(m,)`` of the model,"""
    per_increment: float
    """and of velocities over increments, 1/s."""
    tolerance: float
    """What of a force, over the largest one of the model, is nothing."""
    scale: tuple[float, float]
    """Largest force and moment of the model."""


class ElementBatch(Batch):
    """All elements of one kind as arrays: ``n`` cells with ``p`` nodes and ``s`` internal variables each.

    Forces and matrices have ``b = 6p + s`` rows: force and moment on each node, in its body frame, then the equations
    of internal variables. Columns are body increments ``(delta U, delta theta)`` of the nodes, then internal variables.

    To write one:

    1. ``nodes`` (n, p) holds the rows of each cell's nodes; ``owners`` (n,) the element each cell belongs to; ``own``
       (n, s) the rows of its internal variables in ``motion.u``, None without any. These may also be internal variables
       of others.
    2. ``at(t)`` evaluates what depends on time alone. It is called once a step, its result handed to ``force``.
    3. ``force(motion, prescribed)`` returns the contribution ``(n, b)`` to the residual
       ``M vdot + g + B^T lambda = 0``, so internal forces are positive and applied loads negative, and a context that
       is handed to the matrices. A residual is judged by the largest contribution to it: where ``terms`` is set to
       more than one, ``force`` returns ``(n, terms, b)``, whose sum is the contribution. An equation of an internal
       variable, to which nothing else contributes, wants at least two.
    4. ``stiffness(context)``, ``damping(context)``, ``mass(context)``, each ``(n, b, b)``, are the derivatives of the
       contribution against increments, velocities (``V`` of nodes, ``udot``) and accelerations (``A``, ``uddot``) with
       the others held; None stands for no damping, no mass. Inertia forces take their velocities from
       ``motion.momentum or motion`` and ``gyroscopic(context)`` returns their share of the damping; where all damping
       is theirs, ``damps`` is False.

    All else is optional: each method below says what it returns, and where it is worth writing.
    """

    owners: Sequence[Element]
    angle: bool = False
    """Whether gaps are angles."""
    reads: IntArray | None = None
    """Rows ``(n, r)`` of the multipliers in ``motion.multipliers`` that each depends on, as friction does, from
    ``number.multipliers(joint)``."""
    terms: int = 1
    kinked: bool = False
    """Whether the law has kinks: a stop that is met, a limit, friction that reverses."""
    passes: bool = False
    """Whether bodies may come out on the other side of each other: ``approach(motion)`` then returns gaps, and how
    surfaces move against each other (:class:`~fem_mbs.elements.contact.pairs.Approach`)."""
    asks: bool = False
    """Whether functions of users are asked for more than the time, which tell no kinks: steps whose error is large all
    at once are taken in parts."""
    divides: bool = False
    """Whether its arrays have a row for each cell, and those of its contexts: it may be taken part by part then."""
    damps: bool = True
    """Whether ``damping``, where there is one, has more than inertia forces in it."""
    wave_limit: float = 0.45
    """Waves that cells follow: what of ``waves`` may change from node to node, as a share of the whole."""
    unilateral: bool = False
    """Whether it has gaps that may not close further, see :mod:`fem_mbs.contracts.unilateral`."""

    def gaps(self, motion: Motion) -> Array:
        """Gaps ``(n, r)`` of what pushes where they are negative, and never pulls: who begins deep is told of."""
        return np.empty((len(self.nodes), 0))

    def scaled(self, prescribed: Any, factor: float) -> Any:
        """What ``at`` returned, with constant loads multiplied by ``factor``, as equilibria are followed from none."""
        return prescribed

    def force(self, motion: Motion, prescribed: Any) -> tuple[Array, Any]:
        """Contribution to the residual ``(n, b)`` or its terms ``(n, terms, b)``, and the context of the matrices."""
        raise MissingMethodError(f"{type(self).__name__} must define force(motion, prescribed)")

    def stiffness(self, context: Any) -> Array:
        """Derivative against increments at constant velocities and accelerations, ``(n, b, b)``."""
        raise MissingMethodError(f"{type(self).__name__} must define stiffness(context)")

    def damping(self, context: Any) -> Array | None:
        """Derivative against velocities, ``(n, b, b)``."""
        return None

    def gyroscopic(self, context: Any) -> Array | None:
        """The share of inertia forces in the damping, ``(n, b, b)``."""
        return None

    def mass(self, context: Any) -> Array | None:
        """Derivative against accelerations, ``(n, b, b)``."""
        return None

    def by_multipliers(self, context: Any) -> Array:
        """Derivative against the multipliers that it reads, ``(n, b, r)``."""
        raise MissingMethodError(f"{type(self).__name__} reads multipliers and must define by_multipliers(context)")

    def tangent(self, context: Any, dV: RateSensitivities, dA: RateSensitivities) -> Array:
        """Derivative ``K + C dV + M dA`` where velocities and accelerations follow the increments, ``(n, b, b)``.

        The share of an element in the iteration matrix (Bruels, Cardona, Arnold 2012, eq. 34). Where a closed form is
        cheaper, write it.
        """
        result = self.stiffness(context)
        for matrix, follow in ((self.damping(context), dV), (self.mass(context), dA)):
            if matrix is not None:
                result = result + follow.after(matrix, self.nodes, self.own)
        return result

    def rate_force(self, context: Any, dV: Array, dA: Array, inertial: Array) -> Array | None:
        """``C dV + M dA`` (n, b) of changes ``(n, b)`` of velocities and accelerations; None for neither.

        ``inertial`` (n, b) are the changes of the velocities of inertia forces.
        """
        result = None
        pairs = (self.damping(context), dV), (self.mass(context), dA), (self.gyroscopic(context), inertial - dV)
        for matrix, change in pairs:
            if matrix is not None:
                force: Array = np.matvec(matrix, change)
                result = force if result is None else result + force
        return result

    def turning(self, spins: Array) -> Array | None:
        """How fast internal variables turn into each other ``(n, s, s)``, None for not at all.

        Of amplitudes of shapes: a body that is alike all round is then the same from axes that do not turn with it.
        ``spins`` (n, 3) are angular velocities of the first nodes, in their own axes.
        """
        return None

    def next_jump(self, t: float, u: Array) -> float:
        """The next instant at which something jumps, with the internal variables ``u`` (k,) of the model at ``t``.

        As a load that is switched on, a sampled controller. Steps end there, and what follows starts anew; one up to
        ``t`` is due now. ``at(t)`` is asked just before and just after.
        """
        return inf

    def stress_ahead(self, context: Any, d: Array) -> Any:
        """Stresses after increments ``d`` (n, b), extrapolated linearly, where it has a law of stress."""
        return None

    def with_stress(self, context: Any, stress: Any) -> Any:
        """The context of a stiffness with these stresses in place of its own, on which statics iterates."""
        return context

    def stressed(self, context: Any, d: Array) -> Any:
        """The context of a stiffness at the same place, with the stresses after increments, for linear buckling.

        What carries forces and has no law of stress for statics, as springs do, defines this alone.
        """
        stress = self.stress_ahead(context, d)
        return context if stress is None else self.with_stress(context, stress)

    def branches(self, context: Any) -> Array:
        """Small whole numbers ``(n, j)`` that differ on the two sides of each kink of the law: steps are cut there."""
        raise MissingMethodError(f"{type(self).__name__} has kinks and must define branches(context)")

    def crosses(self, context: Any, change: SmallChange) -> bool:
        """Whether a small change may lead across a kink: Newton's method then looks at what its correction has left."""
        return True

    def coarse(self, motion: Motion) -> tuple[Array, str]:
        """What cells carry over what a mesh of their size can follow, ``(n,)``, and what to say of one above 1."""
        raise MissingMethodError(f"{type(self).__name__} does not know what its cells can follow")

    def creeping(self, motion: Motion, length: float) -> tuple[Array, BoolArray]:
        """How fast what rubs creeps, ``(n,)``, in rad/s or over a length; and what slides too fast for its law."""
        raise MissingMethodError(f"{type(self).__name__} does not creep")

    def waves(self, R: Array, turns: Array) -> Array:
        """How much cells turn in a small motion, and what of it changes from node to node, ``(2, n)``.

        Mean squares of rotations in rad; the second over the first is 1 in waves of two nodes, 0.5 in waves of four.
        ``R`` (N, 3, 3) and ``turns`` (N, 3) are the frames of all nodes and their small rotations, in the world frame.
        """
        return np.zeros((2, len(self.nodes)))

    def unready(self, end: float) -> Iterable[tuple[Element, str]]:
        """Elements that do less than they are for in a run up to ``end``, each with why, told of as it begins."""
        return ()

    def energy(self, motion: Motion) -> Energy:
        """Energies stored in the cells."""
        return Energy()


class TimedBatch(ElementBatch):
    """Elements that are ``given`` numbers or functions of time, which may jump."""

    given: GivenValues

    def at(self, t: float) -> Any:
        return self.given.at(t)

    def next_jump(self, t: float, u: Array) -> float:
        """When one of the functions jumps next, of those that have an attribute ``jumps``, a list of times."""
        return self.given.next_jump(t)


class LoadBatch(TimedBatch):
    """Loads, which equilibria follow from none to the full ones where they are constant."""

    def scaled(self, prescribed: Array, factor: float) -> Array:
        return np.where(self.given.constant, factor * self.given.constant, prescribed)
