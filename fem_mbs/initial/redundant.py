"""Joints that repeat each other: which, whether they contradict each other, and how they are handled.

Equations that repeat each other wherever the model can go leave the motion unique, and of the reactions what they do
together; the multipliers of least norm are taken (``fem_mbs/linear/constrained.py``; docs/redundant.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr
from scipy.sparse import csc_array, diags_array
from scipy.sparse.csgraph import connected_components

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Constraint, Element, Motion
from fem_mbs.contracts.arguments import listed
from fem_mbs.errors import LOG, ModelError, SingularSystemError
from fem_mbs.initial.state_point import by_joint, pace, worst_joint
from fem_mbs.linear.constrained import Redundant
from fem_mbs.linear.null_space import count_repeated
from fem_mbs.system import constraints
from fem_mbs.system import matrices as tangent
from fem_mbs.system.system import Evaluation, System, projection

SMALL = 1e-6
"""Parts of a null vector below this size are rounding."""
CONTRADICTS = 1e-6
"""Share of the largest rate or acceleration that no motion can have; differences of drives make less."""
REST = 1e-8
"""Rates against the pace of the model, and accelerations against its square, that count as rest: what differences make
of a drive that starts smoothly."""
RULE = (
    "the sums of their reactions; single reactions are not: of all that do the same, those with the least sum of "
    "squares of forces and of moments over the extent of the model are given"
)


class Causes(NamedTuple):
    """What makes a matrix singular."""

    motions: Array
    """Motions ``(N, r)``, in the body frames of the nodes."""
    idle: IntArray
    """Components that stand in no equation."""
    void: IntArray
    """Equations that act on nothing."""
    acting: IntArray
    """All other equations."""
    repeated: Array
    """Basis of the combinations of these that vanish."""
    complete: bool
    """Whether these are all of them, or some of a great many."""


def name_joints(system: System, causes: Causes, when: str) -> str:
    """Which equations act on nothing and which repeat each other, by the names of their joints."""
    void = ""
    if len(causes.void):
        void = (
            f"these constraint equations act on nothing that can move: {_by_owner(system, causes.void)}. model.fix "
            "holds the nodes already; remove the joint or free a node"
        )
    told = "\n".join(filter(None, (void, _repeated(system, causes))))
    return told and f"the joint forces {when} are not unique: {told}"


def more_joints(system: System, causes: Causes, when: str) -> str:
    """The joints, if there are more equations too many than is known."""
    return name_joints(system, causes, when) if surplus(causes) > known_surplus(system) else ""


def redundant_joints(system: System) -> tuple[Constraint, ...]:
    """Joints that repeat each other, whose reactions are not unique."""
    sharing = () if system.redundant is None else system.redundant.sharing
    return tuple(dict.fromkeys(system.constraint_owner[k][0] for k in sharing))


def known_surplus(system: System) -> int:
    """How many equations are too many by what the system knows."""
    return 0 if system.redundant is None else system.redundant.surplus


def surplus(causes: Causes) -> int:
    """How many equations are too many."""
    return len(causes.void) + int(causes.repeated.shape[1])


def sharing_equations(system: System, causes: Causes) -> IntArray:
    """Equations that repeat others or act on nothing."""
    return np.flatnonzero(np.abs(_basis(system, causes)).max(axis=1, initial=0.0) > SMALL)


def _basis(system: System, causes: Causes) -> Array:
    basis = np.zeros((system.m, surplus(causes)))
    basis[causes.acting, len(causes.void) :] = causes.repeated
    basis[causes.void, np.arange(len(causes.void))] = 1.0
    return basis


def dependent_elements(system: System, sharing: IntArray, resting: Evaluation | None = None) -> dict[Element, IntArray]:
    """Elements that depend on reactions that are not unique, with the equations of these, some of the ``sharing``.

    Where all rests, those count that depend on them at rest, as a sensor does, and friction does not.
    """
    found: dict[Element, IntArray] = {}
    for k, reads in system.reads:
        leans = np.isin(reads, sharing)
        if resting is not None:
            leans &= system.batches[k].by_multipliers(resting.contexts[k]).any(axis=1)
        owners = system.batches[k].owners
        found |= {owner: rows[on] for owner, rows, on in zip(owners, reads, leans, strict=True) if on.any()}
    return found


def describe_dependent(system: System, found: dict[Element, IntArray]) -> str:
    """Which elements depend on reactions that are not unique, and what to do; empty if none does."""
    if not found:
        return ""
    names = listed([f"{element} on {_by_owner(system, equations)}" for element, equations in found.items()], "\n  ")
    return (
        f"elements depend on reactions that are not unique, and where they act, the motion is not unique either:\n  "
        f"{names}\nLet one of the joints close fewer motions, put a Bushing in its place or let a body be flexible, or "
        "give friction its normal force, preload=..., reactions=False"
    )


def handle_redundant(system: System, evaluation: Evaluation, causes: Causes, when: str) -> bool:
    """Have the system solve with equations that repeat each other, if there are more than it knows of.

    A :class:`ModelError` if their drives contradict each other, a :class:`SingularSystemError` if they repeat each
    other at this position alone.
    """
    if surplus(causes) <= known_surplus(system):
        return False
    basis, sharing = _basis(system, causes), sharing_equations(system, causes)
    text = name_joints(system, causes, when)
    count = surplus(causes)
    if not causes.complete:
        B = tangent.gradient_matrix(system, evaluation.gradients)
        units = diags_array(1.0 / system.weight[system.free_rows])
        count = len(causes.void) + count_repeated(csc_array((B @ units)[causes.acting]))
    system.regularize(Redundant(count, sharing, basis[sharing], text))
    rates = tangent.velocity_residual(system, _moving(system, evaluation, np.zeros(system.N)))
    _refuse(system, evaluation, rates, "rates", when)
    if worst := _branching(system, evaluation):
        raise SingularSystemError(
            f"the position {when} is singular: {text}\nThey do so at this position alone ({worst}), where joints jam "
            "or motions branch; start from a position a little further on, or remove what holds the motion twice"
        )
    return True


def say_redundant(system: System, resting: Evaluation | None = None) -> None:
    """Log which reactions are not unique, and what depends on them; ``resting`` as of :func:`dependent_elements`."""
    assert system.redundant is not None
    leans = describe_dependent(system, dependent_elements(system, system.redundant.sharing, resting))
    unique = f"{leans}\nUnique are" if leans else "The motion is unique, and so are"
    LOG.warning("%s\n%s %s (solution.redundant names these joints)", system.redundant.text, unique, RULE)


def refuse_accelerations(system: System, evaluation: Evaluation, when: str) -> None:
    """Raise :class:`ModelError` if joints that repeat each other ask for accelerations that contradict each other."""
    if system.redundant is not None:
        _refuse(system, evaluation, constraints.acceleration_residual(system, evaluation), "accelerations", when)


def independent(system: System) -> IntArray:
    """Equations of which none repeats others, or a :class:`ModelError` if too many do to tell."""
    if system.redundant is None:
        return np.arange(system.m)
    if system.redundant.basis.shape[1] < system.redundant.surplus:
        raise ModelError(
            f"{system.redundant.surplus} constraint equations too many are more than can be left out here; remove some "
            f"of the joints that repeat each other. {system.redundant.text}"
        )
    _, _, order = qr(system.redundant.basis.T, mode="economic", pivoting=True)
    return np.setdiff1d(np.arange(system.m), system.redundant.sharing[order[: system.redundant.surplus]])


def _refuse(system: System, evaluation: Evaluation, values: Array, what: str, when: str) -> None:
    rest = REST * pace(system, evaluation) ** (1 if what == "rates" else 2)
    limit = rest + CONTRADICTS * float(np.abs(values * system.constraint_weight).max())
    if worst := _worst(system, evaluation.motion, values, limit):
        assert system.redundant is not None
        raise ModelError(
            f"joints that repeat each other contradict each other: no motion has the {what} that they prescribe "
            f"{when} ({worst}). Give their drives the same law, or drive one of them. {system.redundant.text}"
        )


def _branching(system: System, evaluation: Evaluation) -> str:
    """The equation that a motion along the joints would open to second order; empty if it stays closed.

    Where equations repeat each other all along a motion, ``l^T V H V = 0`` for all admissible ``V``.
    """
    any_motion = np.random.default_rng(0).normal(size=system.N) / system.weight
    V = system.spread(projection(system, evaluation.motion).admissible(any_motion[system.free_rows]))
    bend = np.zeros(system.m)
    for factor, weight in ((1.0, 0.5), (-1.0, 0.5), (0.0, -1.0)):
        bend += weight * constraints.acceleration_residual(system, _moving(system, evaluation, factor * V))
    size = float(np.square(any_motion * system.weight).max(initial=0.0))
    return _worst(system, evaluation.motion, bend, CONTRADICTS * size)


def _moving(system: System, evaluation: Evaluation, V: Array) -> Evaluation:
    """The equations at the same place for other body velocities."""
    motion, udot = evaluation.motion, np.where(system.order == 2, system.own_of(V), 0.0)
    moved = replace(motion, V=system.nodes_of(V), A=np.zeros_like(motion.A), udot=udot, uddot=np.zeros_like(udot))
    return system.evaluate(moved, np.zeros(system.m), system.prescribe(motion.t))


def _worst(system: System, motion: Motion, values: Array, limit: float) -> str:
    unmet = projection(system, motion).unmet(values)
    worst = worst_joint(system, unmet, limit, "possible")
    return "" if worst is None else " ".join(map(str, worst))


def _repeated(system: System, causes: Causes) -> str:
    rows, basis = causes.acting, causes.repeated
    if not basis.shape[1]:
        return ""
    if causes.complete:
        groups = [
            f"{_by_owner(system, equations)} ({surplus} of these {len(equations)} too many)"
            for equations, surplus in _groups(system, rows, basis)
        ]
    else:
        sharing = rows[np.abs(basis).max(axis=1) > SMALL]
        groups = [f"{_by_owner(system, sharing)} (many of these {len(sharing)} too many)"]
    line, stop = ("\n  ", "\n") if len(groups) > 1 else (" ", ". ")
    return (
        f"constraint equations repeat each other:{line}{listed(groups, line)}{stop}Where that is not meant, remove a "
        "joint, replace one by a joint that closes fewer motions, or let a body in the loop be flexible"
    )


def _groups(system: System, rows: IntArray, basis: Array) -> list[tuple[IntArray, int]]:
    """Independent groups of equations that repeat each other, and how many of each group are too many.

    The projection on the null space, unlike its basis, is unique; it does not couple independent groups. Its trace over
    a group is the number of null vectors there.
    """
    sharing = np.abs(basis).max(axis=1) > SMALL
    rows, basis = rows[sharing], basis[sharing]
    projection = basis @ basis.T
    count, label = connected_components(np.abs(projection) > SMALL, directed=False)
    groups: dict[frozenset[str], list[int]] = {}
    for k in range(count):
        members = np.flatnonzero(label == k)
        groups.setdefault(frozenset(str(system.constraint_owner[row][0]) for row in rows[members]), []).extend(members)
    return [(rows[np.sort(members)], round(projection[members, members].sum())) for members in groups.values()]


def _by_owner(system: System, equations: Iterable[int]) -> str:
    return listed(by_joint(system, dict.fromkeys(equations, "")), "; ")
