"""Corrections of statics solve the equations to first order, whatever a model is made of, on arcs and in contact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from catalogue import ELEMENTS, EVERYTHING, GROUPS, build

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.contact.contacts import contacts_of
from fem_mbs.contact.touching import touching_of
from fem_mbs.elements import Bushing, Force
from fem_mbs.newton import Iterate
from fem_mbs.solution.history import proportional
from fem_mbs.static.contacts import ContactPathProblem
from fem_mbs.static.equations import Arc, Equations, Loading, PathUnknown, Point, StepProblem

RIGID = (
    "rope",
    "pin in a bush",
    "contact of a box on a plane",
    "contact of a beam with a ball",
    "contact of two beams",
)
NO_STATICS = ("friction", "bristles", "brake", "bearing", "drag", "motor", "sampled", "slips", "sensor", "PID")
STILL = [
    name
    for name in ELEMENTS
    if not name.startswith(("rigid", "rope", "contact", "pin in")) and not any(own in name for own in NO_STATICS)
]
PARTS = [*(STILL[k::6] for k in range(6)), ["sliding joint"], ["distance, driven"], ["screw"]]
SHIFT = 1e-5


def equations_of(system: mbs.System) -> tuple[Equations, Point, Array]:
    """A place near where a system is built, and random increments."""
    rng = np.random.default_rng(3)
    point = Point(system.x0, system.R0, system.u0, rng.normal(size=system.m), 0.4)
    d = system.spread(0.1 * rng.normal(size=system.n_free))
    own = np.append(np.ones(6 * system.n), system.weight[6 * system.n :])
    return Equations(system, Loading(proportional, 0.0, 1.5)), point, d / own


def on_springs(names: list[str]) -> mbs.System:
    """Parts on springs, pulled by forces that grow with the square of the load."""
    model, _ = build(*(EVERYTHING[name] for name in names), group=GROUPS[len(names[0]) % 3])
    for k, node in enumerate(model.nodes[1:]):
        model.add(Bushing(model.ground, node, (60.0, 50.0, 40.0, 30.0, 20.0, 10.0), point=node.position))
        model.add(Force(node, lambda t, k=k: (t * t, k * t * t, 1.0)))
    return mbs.System(model)


@pytest.mark.parametrize("arc_length", [True, False])
@pytest.mark.parametrize("names", PARTS, ids=lambda names: f"{names[0]} and {len(names) - 1} more")
def test_a_correction_solves_the_linearised_equations(names: list[str], arc_length: bool) -> None:
    """Along it, forces, joints and the length of the arc change by as much as they miss."""
    equations, point, D = equations_of(on_springs(names))
    system, rng, arc = equations.system, np.random.default_rng(4), None
    if arc_length:
        weight = np.concatenate([system.weight**2 / system.n, np.zeros(system.m), [1.0 / 1.5**2]])
        tangent = np.concatenate([0.3 * D, np.zeros(system.m), [0.7]])
        arc = Arc(weight, tangent / np.sqrt(weight @ tangent**2), 0.2)
    problem = StepProblem(equations, point, arc, mixed=False)
    unknown = PathUnknown(np.concatenate([D, rng.normal(size=system.m) - point.multipliers, [0.2]]), [])
    trial = problem.evaluate(unknown)
    linearization = problem.linearize(unknown, trial)
    correction = problem.correction(unknown, trial, linearization)

    def left(share: float) -> Array:
        there = problem.corrected(Iterate(unknown, trial, linearization), correction, share)
        residual = equations.residual(problem.evaluate(there).evaluation)
        if arc is None:
            return residual
        return np.append(residual, (arc.weight * arc.tangent) @ there.change - arc.length)

    by = SHIFT / np.abs(correction[: system.N]).max()
    here, slope = left(0.0), (left(by) - left(-by)) / (2.0 * by)
    np.testing.assert_allclose(slope, -here, rtol=0, atol=1e-6 * np.abs(here).max())


@pytest.mark.parametrize("shift", [0.0, 3.0])
@pytest.mark.parametrize("name", RIGID)
def test_derivatives_of_statics_in_contact(name: str, shift: float) -> None:
    """Of forces, gaps and slips against increments and forces of contact; ``kappa`` on both sides changes nothing."""
    contacts = contacts_of(on_springs([name]))
    equations, point, D = equations_of(contacts.open)
    system, rng = equations.system, np.random.default_rng(5)
    touching = touching_of(contacts, np.ones(contacts.count, bool))
    problem = ContactPathProblem(equations, point, touching, 7.0, shift)
    kappa = problem.kappa
    joints, pushes = rng.normal(size=system.m) - point.multipliers, 3.0 * rng.normal(size=3 * touching.k)
    change = np.concatenate([D, joints, [0.2]])
    stresses = equations.stresses_ahead(equations.evaluate(point.moved(change)), 0.0 * D)
    unknown = PathUnknown(np.append(change, pushes), stresses)
    trial = problem.evaluate(unknown)
    lin: Any = problem.linearize(unknown, trial)
    d, P, push = (
        system.spread(rng.normal(size=system.n_free)),
        rng.normal(size=3 * touching.k),
        rng.normal(size=system.m),
    )
    way = np.append(np.matvec(lin.T_inv, system.nodes_of(d)), system.own_of(d))

    def at(share: float) -> Any:
        more = share * np.concatenate([way, push, [0.0], P])
        return problem.evaluate(PathUnknown(unknown.change + more, stresses))

    before, after = at(-SHIFT), at(SHIFT)
    force, closing, rates = (
        (one - other) / (2.0 * SHIFT)
        for one, other in (
            (after.evaluation.force, before.evaluation.force),
            (after.evaluation.constraint, before.evaluation.constraint),
            (after.rates, before.rates),
        )
    )
    np.testing.assert_allclose(lin.E @ d, rates.ravel(), rtol=0, atol=1e-6 * np.abs(rates).max())
    factor = equations.force_factor
    force = factor * (force + kappa * trial.G.T @ (trial.G @ d))[system.free_index]
    solved = lin.factors.solve(np.append(force, closing))
    found, reactions = system.spread(solved[: system.n_free]), solved[system.n_free :] / factor
    np.testing.assert_allclose(found + lin.moves @ P, d, rtol=0, atol=1e-5 * np.abs(d).max())
    np.testing.assert_allclose(reactions + lin.reacts @ P, push, rtol=0, atol=1e-5 * np.abs(P).max(initial=1.0))
