"""Couplings and drives of joint coordinates."""

from __future__ import annotations

from collections.abc import Sequence

from fem_mbs.contracts import Constraint, checked, shown
from fem_mbs.elements.forces.coordinate_law import JointLike, chosen
from fem_mbs.elements.joints.coordinate_constraint import CoordinateConstraint, Drive, Term
from fem_mbs.errors import ModelError


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
        terms = [_term(*given) for given in zip(joints, names, factors, strict=True)]
        for k, term in enumerate(terms):
            if term[:2] in [other[:2] for other in terms[:k]]:
                raise ModelError(f"Coupling: '{term.coordinate}' of {term.joint} is given twice; add up its factors")
        self._close(terms)


def _term(joint: Constraint, coordinate: str | None, factor: float) -> Term:
    name = chosen(joint, coordinate, "Coupling")
    if factor == 0.0:
        raise ModelError(f"Coupling: the factor, or ratio, of '{name}' of {joint} is 0, which couples nothing to it")
    return Term(joint, name, factor)


@checked
class JointDrive(CoordinateConstraint):
    """Prescribe a coordinate of a joint over time, as the argument ``drive`` of some joints does: here of any.

    Parameters
    ----------
    joint : Constraint
        A joint with coordinates.
    law : function of t
        The coordinate in m or rad, 0 at the start. Methods ``velocity(t)`` and ``acceleration(t)`` are used where it
        has them, else differences.
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
