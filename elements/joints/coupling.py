"""Couplings and drives: what says ``sum f_k q_k = law(t)`` of coordinates of joints.

With the coordinates' gradients ``G`` and second derivatives ``H``, the gradient is ``sum f G`` and its derivative
``sum f H`` (docs/theory.md, "Couplings"). Couplings that lock each other, so that together they leave a coordinate no
motion at all, are found and named.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import GivenValues, InternalVariable, Motion, Numbering, checked, shown
from fem_mbs.contracts.constraint import (
    Constraint,
    ConstraintBatch,
    CoordinateBatch,
    LawOfTime,
    Measured,
    Rates,
    continued,
)
from fem_mbs.elements.forces.coordinate_law import JointLike, chosen, is_angle
from fem_mbs.elements.joints.relative_batch import Drive, check_begins
from fem_mbs.errors import ModelError

LOCKED = 1e-9


def check_locked(couplings: Sequence[CoordinateConstraint]) -> None:
    """Refuse couplings that together leave a coordinate no motion at all."""
    keys = list(dict.fromkeys((term.joint, term.coordinate) for own in couplings for term in own.terms))
    A = np.zeros((len(couplings), len(keys)))
    for row, own in zip(A, couplings, strict=True):
        for term in own.terms:
            row[keys.index(term[:2])] = term.factor
    if not len(A):
        return
    from scipy.linalg import null_space  # which takes long to import

    motions = null_space(A / np.linalg.norm(A, axis=1, keepdims=True), rcond=LOCKED)
    locked = np.flatnonzero(np.abs(motions).max(axis=1, initial=0.0) < LOCKED)
    if len(locked):
        joint, coordinate = keys[locked[0]]
        involved = [own for own, row in zip(couplings, A, strict=True) if row[locked].any()]
        raise ModelError(
            f"the couplings {', '.join(map(str, involved))} contradict each other: together they leave '{coordinate}' "
            f"of {joint} no motion but rest; leave one out, or give it the ratio that follows from the others"
        )


class Term(NamedTuple):
    """A coordinate of a joint and its factor."""

    joint: Constraint
    coordinate: str
    factor: float

    @property
    def is_angle(self) -> bool:
        """Whether the coordinate is an angle."""
        return is_angle(self.joint, self.coordinate)


class CoordinateConstraint(Constraint):
    """Base of what says ``sum f_k q_k = law(t)`` of coordinates of joints."""

    terms: tuple[Term, ...]
    law: Drive | None = None
    _said = "law"
    """What its constructor calls the law."""

    def _close(self, terms: Sequence[Term]) -> None:
        self.terms = tuple(terms)
        self.nodes = tuple(dict.fromkeys(node for term in terms for node in term.joint.nodes))
        angles = (k for k, term in enumerate(terms) if term.is_angle)
        self.internal_variables = tuple(InternalVariable(f"angle {k + 1}", "history", unit="rad") for k in angles)

    def batch_key(self) -> Hashable:
        own = sum(len(term.joint.internal_variables) for term in self.terms)
        return len(self.nodes), len(self.internal_variables), own

    def __str__(self) -> str:
        kind, joints = type(self).__name__, ", ".join(str(term.joint) for term in self.terms)
        return f"{kind} '{self.name}'" if self.name else f"{kind} of {joints}"

    __repr__ = __str__


class Imposed(NamedTuple):
    """What laws say at a time."""

    t: float
    value: Array


class Group(NamedTuple):
    """Terms whose coordinates are measured in one way."""

    coordinates: CoordinateBatch
    cells: IntArray
    """The constraint of each."""
    factors: Array
    columns: IntArray
    """Where their gradients stand among the columns of the constraint, ``(k, b)``."""
    angle: IntArray | None
    """Column of ``own`` that has the last angle of each."""
    alone: bool
    """Whether each constraint has one of them, and no other."""


class CoordinateConstraintContext(NamedTuple):
    """What further derivatives need of an evaluation."""

    prescribed: Imposed
    measured: list[Measured]
    angles: list[Array]
    motion: Motion


class CouplingBatch(ConstraintBatch, of=CoordinateConstraint):
    """Couplings and drives as arrays, each of the same number of nodes and internal variables."""

    owners: Sequence[CoordinateConstraint]

    def __init__(self, constraints: Sequence[CoordinateConstraint], number: Numbering) -> None:
        super().__init__(constraints, number)
        self.number = number
        self.length = np.array([not own.terms[0].is_angle for own in constraints])
        rows = []
        for own in constraints:  # of its angles, then of the internal variables of its joints
            parts = (own, *dict.fromkeys(term.joint for term in own.terms))
            rows.append([int(row) for part in parts if part.internal_variables for row in number.own(part)])
        self.own = np.array(rows, np.intp) if rows[0] else None
        self._width = 6 * self.nodes.shape[1] + len(rows[0])
        self.given = GivenValues(len(constraints))
        for k, own in enumerate(constraints):
            self.given.put(k, 0.0 if own.law is None else own.law, own)
        keys: dict[Hashable, list[tuple[int, Term]]] = {}
        for cell, own in enumerate(constraints):
            for term in own.terms:
                keys.setdefault(term.joint.coordinate_key(term.coordinate), []).append((cell, term))
        self.groups = [self._group(members) for members in keys.values()]

    def _group(self, members: list[tuple[int, Term]]) -> Group:
        joints = [term.joint for _, term in members]
        coordinates = type(joints[0]).coordinate_batch(joints, members[0][1].coordinate, self.number)
        cells = np.array([cell for cell, _ in members])
        columns, angles = [], []
        for k, (cell, term) in enumerate(members):
            nodes = list(self.nodes[cell])
            places = [nodes.index(row) for row in coordinates.nodes[k]]
            of_nodes = [6 * place + i for place in places for i in range(6)]
            own = [] if self.own is None else list(self.own[cell])
            of_own = [] if coordinates.own is None else [own.index(row) for row in coordinates.own[k]]
            columns.append([*of_nodes, *(6 * len(nodes) + place for place in of_own)])
            if term.is_angle:
                # those of the constraint itself come first among its internal variables
                angles.append([other for other in self.owners[cell].terms if other.is_angle].index(term))
        factors = np.array([term.factor for _, term in members])
        where, angle = np.array(columns), np.array(angles) if angles else None
        every = np.broadcast_to(np.arange(self._width), (len(self.owners), self._width))
        alone = np.array_equal(cells, np.arange(len(self.owners))) and np.array_equal(where, every)
        return Group(coordinates, cells, factors, where, angle, alone)

    def check_start(self, motion: Motion) -> None:
        """Refuse drives that do not begin where their joints stand, and couplings that lock each other."""
        begins, here = self.at(0.0).value, self.evaluate(motion, self.met(motion))[0]
        for own, first, stands in zip(self.owners, begins, here, strict=True):
            if own.law is not None:
                check_begins(own, own._said, stands, first)
        check_locked([own for own in self.number.parts if isinstance(own, Coupling)])

    def at(self, t: float) -> Imposed:
        return Imposed(t, self.given.at(t))

    def met(self, motion: Motion) -> Imposed:
        return Imposed(motion.t, np.zeros(len(self.owners)))

    def evaluate(self, motion: Motion, prescribed: Imposed) -> tuple[Array, Array, CoordinateConstraintContext]:
        """``sum f q - law`` and ``sum f G``."""
        phi, B = -prescribed.value, np.zeros((len(self.nodes), self._width))
        context = CoordinateConstraintContext(prescribed, [], [], motion)
        for group in self.groups:
            measured = group.coordinates.evaluate(motion)
            value = measured.value
            if group.angle is not None:
                assert self.own is not None
                value = continued(value, motion.u[self.own[group.cells, group.angle]])
            gradient = group.factors[:, None] * measured.gradient
            if group.alone:
                phi, B = phi + group.factors * value, gradient
            else:
                np.add.at(phi, group.cells, group.factors * value)
                np.add.at(B, (group.cells[:, None], group.columns), gradient)
            context.measured.append(measured)
            context.angles.append(value)
        return phi, B, context

    def second(self, context: CoordinateConstraintContext) -> Array:
        """``sum f H``."""
        result = np.zeros((len(self.nodes), self._width, self._width))
        for group, measured in zip(self.groups, context.measured, strict=True):
            H = group.factors[:, None, None] * group.coordinates.second(measured.context)
            if group.alone:
                return H
            np.add.at(result, (group.cells[:, None, None], group.columns[:, :, None], group.columns[:, None]), H)
        return result

    def rates(self, context: CoordinateConstraintContext) -> Rates | None:
        if not self.given.laws:
            return None
        first, second = self.given.rates(context.prescribed.t, self.number.end)
        return Rates(-first, np.zeros((len(self.nodes), self._width)), -second)

    def accept(self, context: CoordinateConstraintContext) -> Array:
        """Angles with their turns."""
        assert self.own is not None
        result = np.zeros(self.own.shape)
        for group, angles in zip(self.groups, context.angles, strict=True):
            if group.angle is not None:
                result[group.cells, group.angle] = angles
        return result

    def history_rates(self, context: CoordinateConstraintContext) -> Array:
        assert self.own is not None
        result = np.zeros(self.own.shape)
        for group, measured in zip(self.groups, context.measured, strict=True):
            if group.angle is not None:
                V = group.coordinates.velocities(context.motion)
                result[group.cells, group.angle] = np.vecdot(measured.gradient, V)
        return result


def _listed(
    first: Constraint | Sequence[Constraint], second: Constraint | Sequence[float], ratio: float | None
) -> tuple[list[Constraint], list[float]]:
    """Joints and factors, however they are given."""
    if isinstance(first, Constraint) and isinstance(second, Constraint) and ratio is not None:
        return [first, second], [1.0, ratio]
    if isinstance(first, Constraint) or isinstance(second, Constraint) or ratio is not None:
        raise ModelError(
            "Coupling takes two joints and a ratio, or a list of joints and a list of as many factors; received "
            f"joint_1 = {shown(first)}, joint_2 = {shown(second)}, ratio = {shown(ratio)}"
        )
    if len(first) != len(second) or len(first) < 2:
        raise ModelError(
            f"Coupling: joint_1 has {len(first)} joints and joint_2 {len(second)} factors; give as many, and at least "
            "two"
        )
    return list(first), list(second)


@checked
class Coupling(CoordinateConstraint):
    """Couple coordinates of joints: gears, racks, differentials. It acts back on all of them.

    ``Coupling(joint_1, joint_2, ratio)`` says that coordinate 1 + ratio times coordinate 2 is zero;
    ``Coupling([joint_1, joint_2, ...], [factor_1, factor_2, ...])`` that the sum of factors times coordinates is zero.

    Parameters
    ----------
    joint_1, joint_2 : Constraint
        Joints with coordinates, which are zero as built; or lists of joints and of factors.
    ratio : float
        Not zero. Two gears with ``z_1`` and ``z_2`` teeth outside each other, on hinges with parallel axes and one
        carrier as node a: ``z_2/z_1``. A rack (first) and a pinion of radius r: -r or r.
    coordinates : list of str, optional
        Which coordinate of each joint, where one has several; None for those with one.

    Notes
    -----
    Angles count turns. The multiplier is the force or moment along the first coordinate over its factor.
    """

    equations = ("coupling",)

    def __init__(
        self,
        joint_1: JointLike | Sequence[JointLike],
        joint_2: JointLike | Sequence[float],
        ratio: float | None = None,
        *,
        coordinates: Sequence[str | None] | None = None,
    ) -> None:
        joints, factors = _listed(joint_1, joint_2, ratio)
        names = [None] * len(joints) if coordinates is None else list(coordinates)
        if len(names) != len(joints):
            raise ModelError(f"Coupling: coordinates must name one of each of the {len(joints)} joints")
        terms: list[Term] = []
        for joint, given, factor in zip(joints, names, factors, strict=True):
            name = chosen(joint, given, "Coupling")
            if factor == 0.0:
                raise ModelError(
                    f"Coupling: the factor, or ratio, of '{name}' of {joint} is 0, which couples nothing to it"
                )
            if (joint, name) in [term[:2] for term in terms]:
                raise ModelError(f"Coupling: '{name}' of {joint} is given twice; add up its factors")
            terms.append(Term(joint, name, factor))
        self._close(terms)


@checked
class JointDrive(CoordinateConstraint):
    """Prescribe a coordinate of a joint over time, as the argument ``drive`` of some joints does: here of any.

    Parameters
    ----------
    joint : Constraint
        A joint with coordinates.
    law : function of t
        The coordinate in m or rad, 0 at the start, or :meth:`Model.assemble` brings the joint there. Methods
        ``velocity(t)`` and ``acceleration(t)`` are used where it has them, else differences.
    coordinate : str, optional
        Which coordinate, where the joint has several.

    Notes
    -----
    The multiplier is minus the force or moment of the drive along the coordinate, on b against a.
    """

    equations = ("drive",)

    def __init__(self, joint: JointLike, law: Drive, *, coordinate: str | None = None) -> None:
        self.law = law
        self._close([Term(joint, chosen(joint, coordinate, "JointDrive"), 1.0)])

    def drives(self) -> tuple[Constraint, tuple[str, ...]]:
        (term,) = self.terms
        return term.joint, (term.coordinate,)

    def laws_of_time(self) -> dict[str, LawOfTime]:
        (term,) = self.terms
        return {"law": LawOfTime(self.law, turns=is_angle(term.joint, term.coordinate))} if self.law else {}
