"""Newton's method along a path: the correction is that of the exact derivative, and it converges quadratically."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from catalogue import COUPLED, GROUPS, PLAIN
from motions import derivative

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.benchmarks.beams import bend, following, frame, lee
from fem_mbs.elements import (
    Beam,
    DistributedLoad,
    FixedJoint,
    Force,
    Maxwell,
    Moment,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
)
from fem_mbs.newton import Iterate
from fem_mbs.solution.history import proportional
from fem_mbs.static.equations import Arc, Equations, Loading, PathUnknown, StepProblem
from fem_mbs.static.path import EquilibriumPath


def structure(group: str) -> mbs.Model:
    """Two clamped beams with a driven hinge, a ball joint and a body between them, under loads of every kind."""
    model = mbs.Model("R3xSO3" if group == "mixed" else group, gravity=(0.3, 0.2, -9.0))
    other = "SE3" if group == "mixed" else None
    places = ((0, 0, 0), (0.5, 0, 0.1), (1, 0.2, 0), (1, 0.2, 0), (1.5, 0.4, 0), (2, 0, 0.3), (2, 0, 0.3), (3, 0, 0))
    nodes = [model.add_node(place, group=other if k % 2 else None) for k, place in enumerate(places)]
    beam = model.add(Beam(nodes[:3], COUPLED))
    model.add(Beam(nodes[3:6], PLAIN.with_damping(0.1), interpolation="R3xSO3"))
    model.add(RigidBody(nodes[6], 2.0, (1, 2, 2.5), (0.1, 0.2, 0.3)))
    model.add(Beam(nodes[6:], PLAIN))
    model.fix(nodes[0])
    model.fix(nodes[7], translation=False)
    model.add(RevoluteJoint(nodes[2], nodes[3], (1, 0, 2), drive=lambda t: 0.6 * t))
    model.add(FixedJoint(nodes[5], nodes[6]))
    model.add(SphericalJoint(model.ground, nodes[7]))
    model.add(Force(nodes[1], (1, 2, 3), frame="body", point=nodes[1].at((0.1, 0.2, 0.3))))
    model.add(Force(nodes[4], lambda t: (t, 2 * t, -1)))
    model.add(Moment(nodes[5], (1, -2, 3)))
    model.add(DistributedLoad(beam, (0, 1, -2), frame="body"))
    model.add(Maxwell(nodes[1], nodes[4], 3.0, 0.5, free_length=0.8))
    return model


def random_step(model: mbs.Model, arc: bool) -> tuple[PathUnknown, StepProblem]:
    """A step from a random configuration in a random direction, and a trial far from it."""
    rng = np.random.default_rng(1)
    system = mbs.System(model)
    equations = Equations(system, Loading(proportional, 0.0, 2.0))
    free = np.zeros(system.N)
    free[system.free_rows] = 1.0

    def change(D: Array, load: float) -> Array:
        return np.concatenate([D, rng.normal(size=system.m), [load]])

    base = equations.as_built().moved(change(0.15 * free * rng.normal(size=system.N), 0.7))
    weight = np.concatenate([free * rng.uniform(0.5, 2.0, system.N), np.zeros(system.m), [1.3]])
    tangent = change(rng.normal(size=system.N), 0.4)
    tangent /= np.sqrt(weight @ tangent**2)
    problem = StepProblem(equations, base, Arc(weight, tangent, 0.3) if arc else None, mixed=False)
    ahead = change(0.15 * free * rng.normal(size=system.N), 0.2)
    return problem, problem.guess(equations.evaluate(base), ahead)


def equations_of(problem: StepProblem, unknown: PathUnknown) -> Array:
    """All equations of a step: rest, constraints, and the length if it is given."""
    values = problem.equations.residual(problem.evaluate(unknown).evaluation)
    if problem.arc is None:
        return values
    along = problem.arc.weight * problem.arc.tangent
    return np.append(values, along @ unknown.change - problem.arc.length)


@pytest.mark.parametrize("arc", [False, True], ids=["load", "arc length"])
@pytest.mark.parametrize("group", GROUPS)
def test_correction_is_that_of_the_exact_derivative(group: str, arc: bool) -> None:
    """``d/ds F(u + s du) = -F(u)``, stiffness of loads, drives and multipliers and the change of the load included.

    The rate at which the drive turns its joint is a difference over h = 0.002, right to ``(0.6 h)^2/6``.
    """
    problem, unknown = random_step(structure(group), arc)
    linearization = problem.linearize(unknown, problem.evaluate(unknown))
    trial = problem.evaluate(unknown)
    first = equations_of(problem, unknown)
    correction = problem.correction(unknown, trial, linearization)

    def along(s: float) -> Array:
        return equations_of(problem, problem.corrected(Iterate(unknown, trial, linearization), correction, s))

    change = derivative(along)
    assert np.abs(change + first).max() <= 1e-6 * np.abs(first).max()


def errors_of_iterates(model: mbs.Model, load_end: float, arc: bool, length: float) -> list[float]:
    """Distances of the iterates of the first step, from the tangent on, from where they converge to."""
    system = mbs.System(model)
    equations = Equations(system, Loading(proportional, 0.0, load_end))
    built = equations.as_built()
    path = EquilibriumPath(equations, built, mbs.Newton(), arc, length)
    tangent = path.here.tangent
    problem = StepProblem(equations, built, Arc(path.metric, tangent, length) if arc else None, mixed=True)
    unknown = problem.guess(path.here.evaluation, length * tangent)
    iterates = []
    for _ in range(9):
        iterates.append(np.append(unknown.change[: system.N], unknown.change[-1] / load_end))
        trial = problem.evaluate(unknown)
        linearization = problem.linearize(unknown, trial)
        correction = problem.correction(unknown, trial, linearization)
        unknown = problem.corrected(Iterate(unknown, trial, linearization), correction, 1.0)
    return [float(np.linalg.norm(iterate - iterates[-1])) for iterate in iterates[:-1]]


CASES = {
    "bend": (bend, 1),
    "force that follows": (lambda: following(10), 20),
    "Lee's frame": (lambda: lee((10, 2, 8)), 20),
    "frame": (lambda: frame(0.1), 1),
}
ROUNDING = 1e-12


@pytest.mark.parametrize("arc", [False, True], ids=["load", "arc length"])
@pytest.mark.parametrize("name", CASES)
def test_errors_fall_quadratically(name: str, arc: bool) -> None:
    """``e_next <= 0.05 e^2`` from the first guess on, until rounding, with independent stresses.

    One per cent of an inexact stiffness would leave ``e_next = 0.01 e``, at least twice the bound.
    """
    case, load_end = CASES[name]
    errors = errors_of_iterates(case()[0], load_end, arc, 0.03)
    checked = [(e, after) for e, after in pairwise(errors) if after > ROUNDING]
    assert checked
    for e, after in checked:
        assert after <= 0.05 * e * e
