"""The matrix of Newton's method is the derivative of the equations of a step, on every group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from catalogue import COUPLED, EVERYTHING, GROUPS, build
from models import CHARTS
from motions import assert_columns_close, derivative, differences, equations, random_step

import fem_mbs as mbs
from fem_mbs.alpha.step import StepEquations, Unknowns
from fem_mbs.arrays import Array
from fem_mbs.contracts import RateSensitivities
from fem_mbs.elements import (
    Beam,
    FixedJoint,
    Force,
    Moment,
    PointMass,
    RevoluteJoint,
    RigidBody,
    Shell,
    ShellSection,
    SphericalJoint,
    SpinUp,
)
from fem_mbs.lie import so3
from fem_mbs.newton import Iterate
from fem_mbs.system import matrices
from fem_mbs.system.system import System

INDEX3 = {name: replace(method, formulation="index3") for name, method in CHARTS.items()}
H = 0.5
"""A long step makes stiffness, damping and mass weigh alike in the matrix."""


def matrix(problem: StepEquations, unknown: Unknowns) -> Array:
    system = problem.system
    entries, *_ = problem.matrix(problem, unknown, problem.evaluate(unknown))
    return np.asarray(system.solver.matrix(system.solver.stored(entries)).toarray())


def everything(group: str) -> mbs.Model:
    """Beam, bodies, all joints, loads and gravity in one model, with a node that may only turn."""
    model = mbs.Model("R3xSO3" if group == "mixed" else group, gravity=(0.3, 0.2, -9.0))
    other = "SE3" if group == "mixed" else None
    rng = np.random.default_rng(6)
    nodes = [
        model.add_node((k, 0.1 * k**2, 0), so3.exp(rng.normal(size=3)), group=other if k % 2 else None)
        for k in range(7)
    ]
    for beam_nodes, interpolation in ((nodes[:3], "SE3"), (nodes[2:4], "R3xSO3")):
        section = COUPLED.with_damping(0.1) if interpolation == "SE3" else COUPLED
        model.add(Beam(beam_nodes, section, interpolation=interpolation))
    for node in nodes[4:]:
        model.add(RigidBody(node, 2.0, (1, 2, 2.5), (0.1, 0.2, 0.3)))
    model.add(PointMass(nodes[1], 0.7))
    model.add(SphericalJoint(model.ground, nodes[0]))
    model.add(RevoluteJoint(nodes[3], nodes[4], (1, 2, 3), drive=SpinUp(0.5, 1.0)))
    model.add(RevoluteJoint(nodes[4], nodes[5], (1, 0, 3), point=(4.5, 0, 1)))
    model.add(FixedJoint(nodes[5], nodes[6]))
    model.add(Force(nodes[6], (1, 2, 3), point=nodes[6].at((0.1, 0, 0.2))))
    model.add(Moment(nodes[2], lambda t: (t, 2, 3), frame="world"))
    model.add(Force(nodes[3], (1, 2, 3), frame="body"))
    model.fix(nodes[6], translation=True, rotation=False)
    return model


HALF = [pytest.param(name, marks=[pytest.mark.slow] * (k % 2)) for k, name in enumerate(EVERYTHING)]
"""Matrices of each part alone are among the laws of elements and joints, all of them quick."""


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("name", HALF)
def test_matrix_is_the_derivative_for_each_part(name: str, group: str) -> None:
    problem, unknown = random_step(mbs.System(build(EVERYTHING[name], group=group)[0]), 0, H, INDEX3["Lie group"])
    assert_columns_close(matrix(problem, unknown), differences(problem, unknown))


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("method", CHARTS)
@pytest.mark.parametrize("seed", range(3))
def test_matrix_is_the_derivative_for_a_whole_model(group: str, seed: int, method: str) -> None:
    problem, unknown = random_step(mbs.System(everything(group)), seed, H, INDEX3[method])
    assert_columns_close(matrix(problem, unknown), differences(problem, unknown))


@pytest.mark.parametrize("method", CHARTS)
@pytest.mark.parametrize("group", GROUPS)
def test_correction_solves_the_linearised_equations(group: str, method: str) -> None:
    """Newton's correction in the method's own increments removes the residual to first order."""
    problem, unknown = random_step(mbs.System(everything(group)), 2, H, INDEX3[method])
    before, trial = equations(problem, unknown), problem.evaluate(unknown)
    linearization = problem.linearize(unknown, trial)
    correction = problem.correction(unknown, trial, linearization)
    corrected = problem.corrected(Iterate(unknown, trial, linearization), correction, 1.0)
    D, of_multipliers = corrected.D - unknown.D, corrected.multipliers - unknown.multipliers
    assert not np.delete(D, problem.system.free_rows).any()

    def along(s: float) -> Array:
        there = unknown._replace(D=unknown.D + s * D, multipliers=unknown.multipliers + s * of_multipliers)
        return equations(problem, there)

    slope = derivative(along, 1e-3 / np.abs(D).max())
    np.testing.assert_allclose(slope, -before, rtol=0, atol=1e-6 * np.abs(before).max())


def beams(order: int, interpolation: str) -> mbs.Model:
    """Damped beams off their nodes, in two directions, of one batch."""
    model, section = mbs.Model(), COUPLED.with_damping(0.1)
    for k, end in enumerate(((2.0, 1.0, 0.0), (0.0, 2.0, 1.0))):
        start, given = (0.0, 5.0 * k, 0.0), {} if order > 1 else {"interpolation": interpolation}
        Beam.line(model, start, np.add(start, end), section, 7, order=order, name=f"line {k}", **given)
    return model


def shell() -> mbs.Model:
    model = mbs.Model()
    Shell.rectangle(
        model, (0, 0, 0), (1, 0, 0), (0, 1, 0), ShellSection.isotropic(0.01, 1e9, 0.3, 1000.0), elements=(4, 4)
    )
    return model


@pytest.mark.parametrize(
    "make",
    [
        lambda: beams(1, "SE3"),
        lambda: beams(1, "R3xSO3"),
        lambda: beams(2, "SE3"),
        lambda: beams(3, "SE3"),
        shell,
    ],
)
def test_many_cells_are_taken_part_by_part(make: Callable[[], mbs.Model], monkeypatch: pytest.MonkeyPatch) -> None:
    """As all at once, to the last cell: products of few matrices round as those of many, but for some BLAS."""
    system = System(make())
    assert all(batch.divides and len(batch.nodes) > 11 for batch in system.batches)
    rng = np.random.default_rng(1)
    x, R = (
        system.x0 + 0.02 * rng.normal(size=system.x0.shape),
        system.R0 @ so3.exp(0.1 * rng.normal(size=(system.n, 3))),
    )
    rest = system.at_rest()
    V, A = rng.normal(size=(2, system.n, 6))
    motion = replace(rest, x=x, R=R, V=V, A=A)
    evaluation = system.evaluate(motion, np.zeros(system.m), system.prescribe(0.0))
    follow = [RateSensitivities(own, np.empty(0)) for own in rng.normal(size=(2, system.n, 6, 6))]
    whole = matrices.entries(system, evaluation, *follow, 0.01)
    monkeypatch.setattr(matrices, "TOGETHER", 5)
    parts = matrices.entries(system, evaluation, *follow, 0.01)
    np.testing.assert_allclose(parts, whole, rtol=0, atol=1e-14 * np.abs(whole).max())
    # and but for rounding as those that stand side by side
    monkeypatch.setattr(so3, "MANY", 1)
    side_by_side = System(make())
    other = side_by_side.evaluate(motion, np.zeros(system.m), system.prescribe(0.0))
    rates = np.random.default_rng(2).normal(size=(3, system.N))
    for first, second in (
        (other.force, evaluation.force),
        (matrices.entries(side_by_side, other, *follow, 0.01), whole),
        (matrices.rate_product(side_by_side, other, *rates), matrices.rate_product(system, evaluation, *rates)),
        (matrices.mass_entries(side_by_side, other), matrices.mass_entries(system, evaluation)),
    ):
        np.testing.assert_allclose(first, second, rtol=0.0, atol=1e-13 * np.abs(second).max())
