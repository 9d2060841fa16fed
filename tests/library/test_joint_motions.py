"""Every joint against minimal coordinates: order 2, errors and reactions, where both nodes move and turn.

A body a hangs on a hinge from the ground, a body b on the joint from a. ``python tests/library/test_joint_motions.py``
prints what docs/joints.md sums up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from catalogue import JOINTS, build
from chains import Chain, Pair, Solid, rotation
from motions import differences, fitted_order, random_step

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.contracts import Constraint, ConstraintBatch, Node
from fem_mbs.elements import (
    ConstantVelocityJoint,
    CylindricalJoint,
    DistanceJoint,
    FixedJoint,
    GeneralJoint,
    OrientationJoint,
    ParallelAxesJoint,
    PlanarJoint,
    PointOnLineJoint,
    PointOnPlaneJoint,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    ScrewJoint,
    SphericalJoint,
    SpinUp,
    UniversalJoint,
)
from fem_mbs.lie import so3
from fem_mbs.system.system import System

GROUPS = ("R3xSO3", "SE3")
HINGE = np.array([1.0, 3.0, 0.5]) / np.sqrt(10.25)
ORIGIN = np.zeros(3)
X, Y, Z = rotation(np.array([0.4, -0.5, 0.3])).T
P = np.array([0.6, 0.1, -0.1])
P_A = np.array([0.5, -0.1, 0.2])
NODES = {"a": (np.array([0.3, 0.0, 0.1]), np.array([0.2, 0.1, -0.4])), "b": (np.array([0.9, 0.2, -0.2]), -np.ones(3))}
SOLIDS = {
    "a": (2.0, np.array([0.35, 0.1, 0.0]), np.diag([0.05, 0.08, 0.06])),
    "b": (1.2, np.array([0.85, 0.3, -0.15]), np.array([[0.03, 0.005, 0.0], [0.005, 0.05, 0.002], [0.0, 0.002, 0.04]])),
}
END = 0.2
LEAD = 0.7


class Law:
    """A drive of the size ``size`` with its derivatives."""

    def __init__(self, size: float) -> None:
        self.size = size

    def __call__(self, t: float) -> float:
        return self.size * np.sin(3.0 * t)

    def velocity(self, t: float) -> float:
        return 3.0 * self.size * np.cos(3.0 * t)

    def acceleration(self, t: float) -> float:
        return -9.0 * self.size * np.sin(3.0 * t)

    def all(self, t: float) -> tuple[float, float, float]:
        return self(t), self.velocity(t), self.acceleration(t)


@dataclass
class Case:
    """A joint, the hinges and slides that it is, how these depend on each other, and which are driven."""

    make: Callable[[Node, Node], Constraint]
    pairs: list[Pair]
    A: Array | None = None
    drives: dict[int, Law] = field(default_factory=dict)
    point: Array = field(default_factory=lambda: P)
    coordinates: Callable[[Array], Array] | None = None
    """The coordinates of the joint ``(nt, c)`` from the values ``(nt, k)`` of the pairs."""


def of(*pairs: int) -> Callable[[Array], Array]:
    """The values of some pairs."""
    return lambda s: s[:, list(pairs)]


def turns(*axes: Array, point: Array = P) -> list[Pair]:
    return [Pair(axis, point) for axis in axes]


def slides(*axes: Array) -> list[Pair]:
    return [Pair(axis) for axis in axes]


ROD = (P - P_A) / np.linalg.norm(P - P_A)
ACROSS = np.cross(ROD, X) / np.linalg.norm(np.cross(ROD, X))
ANGLE = 0.7
BENT = rotation(ANGLE * X) @ Z
NODE_B = NODES["b"][0]
FRAME = np.stack([X, Y, Z], axis=-1)

CASES = {
    "fixed": Case(lambda a, b: FixedJoint(a, b, P), []),
    "spherical": Case(lambda a, b: SphericalJoint(a, b, P), turns(X, Y, Z)),
    "revolute": Case(lambda a, b: RevoluteJoint(a, b, Z, P), turns(Z), coordinates=of(0)),
    "prismatic": Case(lambda a, b: PrismaticJoint(a, b, Z, P), slides(Z), coordinates=of(0)),
    "prismatic, driven": Case(
        lambda a, b: PrismaticJoint(a, b, Z, P, drive=Law(0.2)), slides(Z), drives={0: Law(0.2)}, coordinates=of(0)
    ),
    "cylindrical": Case(lambda a, b: CylindricalJoint(a, b, Z, P), [*slides(Z), *turns(Z)], coordinates=of(0, 1)),
    "planar": Case(lambda a, b: PlanarJoint(a, b, Z, P, x_axis=X), [*slides(X, Y), *turns(Z)], coordinates=of(0, 1, 2)),
    "universal": Case(lambda a, b: UniversalJoint(a, b, X, Y, P), turns(X, Y), coordinates=of(0, 1)),
    "constant velocity": Case(
        lambda a, b: ConstantVelocityJoint(a, b, Z, BENT, P),
        turns(Z, X, BENT),
        np.array([[1.0, 0], [0, 1], [-1, 0]]),
        coordinates=lambda s: ((ANGLE + s[:, 1]) * [np.cos(s[:, 0]), np.sin(s[:, 0])] - [[ANGLE], [0.0]]).T,
    ),
    "point on a line": Case(lambda a, b: PointOnLineJoint(a, b, Z, P), [*slides(Z), *turns(X, Y, Z)]),
    "point on a plane": Case(lambda a, b: PointOnPlaneJoint(a, b, Z, P, x_axis=X), [*slides(X, Y), *turns(X, Y, Z)]),
    "parallel axes": Case(
        lambda a, b: ParallelAxesJoint(a, b, Z), [*slides(X, Y, Z), *turns(Z, point=NODE_B)], point=NODE_B
    ),
    "orientation": Case(lambda a, b: OrientationJoint(a, b), slides(*np.eye(3)), point=NODE_B, coordinates=of(0, 1, 2)),
    "distance": Case(lambda a, b: DistanceJoint(a, b, P_A, P), [*turns(X, ACROSS, point=P_A), *turns(X, Y, Z)]),
    "distance, driven": Case(
        lambda a, b: DistanceJoint(a, b, P_A, P, drive=Law(0.1)),
        [*turns(X, ACROSS, point=P_A), *slides(ROD), *turns(X, Y, Z)],
        drives={2: Law(0.1)},
        coordinates=of(2),
    ),
    "screw": Case(
        lambda a, b: ScrewJoint(a, b, Z, LEAD, P),
        [*slides(Z), *turns(Z)],
        np.array([[LEAD / (2 * np.pi)], [1.0]]),
        coordinates=of(1),
    ),
    "general, a slot for a fork": Case(
        lambda a, b: GeneralJoint(a, b, (True, True, False), (False, False, True), point=P, axes=FRAME),
        [*slides(Z), *turns(X, Y)],
        coordinates=of(0, 1, 2),
    ),
}


def chain(case: Case) -> Chain:
    """Hinge, body a, joint, body b."""
    pairs = [Pair(HINGE, ORIGIN), *case.pairs]
    A = np.eye(len(case.pairs)) if case.A is None else case.A
    A = np.delete(A, list(case.drives), axis=1) if case.A is None else A
    whole = np.block([[np.eye(1), np.zeros((1, A.shape[1]))], [np.zeros((len(A), 1)), A]])
    solids = [Solid(1, *SOLIDS["a"]), Solid(len(pairs), *SOLIDS["b"])]
    return Chain(pairs, solids, whole, {k + 1: law.all for k, law in case.drives.items()})


def start(made: Chain) -> Array:
    """Initial rates of the minimal coordinates."""
    free = np.array([2.0, 1.2, -0.9, 0.7, 1.1, -0.6, 0.8])[: made.A.shape[1]]
    scale = [0.5 if pair.point is None else 1.0 for pair in made.pairs]
    return free * np.array([min(scale[k] for k in np.flatnonzero(column)) for column in made.A.T])


def model(case: Case, made: Chain, group: str) -> tuple[mbs.Model, Constraint, list[Node]]:
    """The same by the library, at the same start."""
    whole, nodes = mbs.Model(group, (0, 0, -9.81)), []
    rates = start(made)
    poses = made.poses(np.zeros_like(rates), rates, 0.0)
    for solid, name in zip(made.solids, ("a", "b"), strict=True):
        place, vector = NODES[name]
        R, twist = rotation(vector), poses[solid.after].twist
        node = whole.add_node(place, R, twist[3:] + np.cross(twist[:3], place), R.T @ twist[:3], name=name)
        whole.add(RigidBody(node, solid.mass, R.T @ solid.inertia @ R, R.T @ (solid.center - place)))
        nodes.append(node)
    whole.add(RevoluteJoint(whole.ground, nodes[0], HINGE, ORIGIN))
    joint = whole.add(case.make(*nodes), name="tested")
    return whole, joint, nodes


class Errors(NamedTuple):
    """Largest errors of a run: of places in m and rad, of velocities in m/s and rad/s, of reactions, of coordinates."""

    place: float
    velocity: float
    force: float
    """Relative to the largest force; so are moments."""
    moment: float
    coordinates: float


def errors(name: str, group: str, step: float, **options: Any) -> Errors:
    """Of one run."""
    case = CASES[name]
    made = chain(case)
    whole, joint, nodes = model(case, made, group)
    solution = mbs.simulate(whole, END, step, **options)
    q, rates = made.solve(np.zeros_like(start(made)), start(made), solution.t)
    place = velocity = 0.0
    for solid, node in zip(made.solids, nodes, strict=True):
        x, R = NODES[node.name][0], rotation(NODES[node.name][1])
        bodies = [made.moving(*at, solid, x) for at in zip(q, rates, solution.t, strict=True)]
        there = np.array([body.Q @ x + body.c for body in bodies])
        turned = np.array([body.Q @ R for body in bodies])
        speed = np.array([body.twist[3:] for body in bodies]) + np.cross(
            omega := np.array([body.twist[:3] for body in bodies]), there
        )
        place = max(place, _largest(solution.position(node) - there), _largest(solution.rotation(node) - turned))
        spin = np.matvec(solution.rotation(node), solution.angular_velocity(node))
        velocity = max(velocity, _largest(solution.velocity(node) - speed), _largest(spin - omega))
    taken = [made.moving(*at, made.solids[1], case.point) for at in zip(q, rates, solution.t, strict=True)]
    force, moment = solution.reaction(joint)
    exact = np.array([own.force for own in taken]), np.array([own.moment for own in taken])
    sizes = [max(_largest(part), 1.0) for part in exact]
    apart = 0.0
    if case.coordinates is not None:
        driven = [[made.drives[k](t)[0] if k in made.drives else 0.0 for k in range(len(made.A))] for t in solution.t]
        values = solution.coordinate(joint).reshape(len(q), -1)
        apart = _largest(values - case.coordinates((q @ made.A.T + driven)[:, 1:]))
    return Errors(place, velocity, _largest(force - exact[0]) / sizes[0], _largest(moment - exact[1]) / sizes[1], apart)


def _largest(values: Array) -> float:
    return float(np.abs(values).max())


FEW, MANY = (0.02, 0.01), (0.02, 0.01, 0.005)
"""Steps of quick and long runs, s."""
SHARE = 1e-11
"""Of a reaction, or of a coordinate, that is exact."""


def check(name: str, group: str, steps: tuple[float, ...], tolerance: float) -> None:
    """Order 2 of all that a run returns, but of what is exact."""
    rows = np.array([errors(name, group, step) for step in steps])
    assert rows[-1].max() < 0.3, rows
    for column in rows.T:
        if column[0] > SHARE:
            order = fitted_order(np.array(steps), column)
            assert abs(order - 2.0) < tolerance, (name, group, rows)


@pytest.mark.parametrize("k", range(len(CASES)))
def test_joints_move_as_minimal_coordinates_do(k: int) -> None:
    """On the one group or the other; the long test does both."""
    check(list(CASES)[k], GROUPS[k % 2], FEW, 0.6)


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("name", CASES)
def test_errors_fall_with_the_square_of_the_step(name: str, group: str) -> None:
    check(name, group, MANY, 0.35)


def worst_tangent(name: str, group: str) -> float:
    """Of a joint of the catalogue: Newton's matrix of a step against differences, relative in each column."""
    method = mbs.GeneralizedAlpha(formulation="index3")
    problem, unknown = random_step(mbs.System(build(JOINTS[name], group=group)[0]), 0, 0.5, method)
    entries, *_ = problem.matrix(problem, unknown, problem.evaluate(unknown))
    matrix = problem.system.solver.matrix(problem.system.solver.stored(entries)).toarray()
    expected = differences(problem, unknown)
    size = np.maximum(np.abs(expected).max(axis=0), 1e-3 * np.abs(expected).max())
    return float((np.abs(matrix - expected) / size).max())


def table() -> None:
    """The rows that docs/joints.md sums up."""
    for name in JOINTS:
        print(f"| {name} | {' | '.join(f'{worst_tangent(name, group):.0e}' for group in GROUPS)} |")
    for name in CASES:
        for group in GROUPS:
            rows = np.array([errors(name, group, step) for step in MANY])
            parts = []
            for column in rows.T:
                order = f" ({fitted_order(np.array(MANY), column):.2f})" if column[0] > SHARE else ""
                parts.append(f"{column[1]:.1e}{order}")
            print(f"| {name} | {group} | {' | '.join(parts)} |")


if __name__ == "__main__":
    table()


def test_second_rates_are_asked_without_the_rest() -> None:
    """At several times, and wherever joints stand, some of which are driven, by functions with rates and without."""
    model, rng, last = mbs.Model(), np.random.default_rng(1), None
    for k, drive in enumerate((SpinUp(1.0, 0.3), lambda t: np.sin(2.0 * t), None, SpinUp(-2.0, 0.4))):
        node = model.add_node((k + 0.5, 0, 0))
        model.add(RigidBody(node, 1.0, (1, 2, 2.5)))
        model.add(RevoluteJoint(last or model.ground, node, (0, 1, 0.2 * k), point=(k, 0, 0), drive=drive))
        last = node
    moved = model.add_node((9, 0, 0))
    model.add(RigidBody(moved, 1.0, (1, 2, 2.5)))
    model.add(FixedJoint(model.ground, moved, displacement=lambda t: (t * t, 0.0, np.sin(t))))
    system = System(model)
    rest, turns = system.at_rest(), so3.exp(0.1 * rng.normal(size=(system.n, 3)))
    motion = replace(rest, R=rest.R @ turns, x=rest.x + 0.1 * rng.normal(size=rest.x.shape))
    driven = [batch for batch in system.constraint_batches if batch.driven]
    assert sum(len(batch.nodes) for batch in driven) >= 5
    for batch in driven:
        found, times = batch.second_rates(motion, (0.1, 0.15, 0.2, 0.4)), (0.1, 0.15, 0.2, 0.4)
        assert np.abs(found).max() > 1.0
        np.testing.assert_allclose(found, ConstraintBatch.second_rates(batch, motion, times), atol=1e-13)
