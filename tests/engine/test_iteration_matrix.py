"""The matrix of Newton's method is the derivative of the equations of a step, on every group."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from catalogue import COUPLED, EVERYTHING, GROUPS, build
from models import CHARTS
from motions import assert_columns_close, derivative, differences, equations, random_step

import fem_mbs as mbs
from fem_mbs.alpha.step import StepEquations, Unknowns
from fem_mbs.arrays import Array
from fem_mbs.elements import (
    Beam,
    FixedJoint,
    Force,
    Moment,
    PointMass,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
    SpinUp,
)
from fem_mbs.lie import so3

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


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("name", EVERYTHING)
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
    corrected = problem.corrected(unknown, trial, linearization, correction, 1.0)
    D, of_multipliers = corrected.D - unknown.D, corrected.multipliers - unknown.multipliers
    assert not np.delete(D, problem.system.free_rows).any()

    def along(s: float) -> Array:
        there = unknown._replace(D=unknown.D + s * D, multipliers=unknown.multipliers + s * of_multipliers)
        return equations(problem, there)

    slope = derivative(along, 1e-3 / np.abs(D).max())
    np.testing.assert_allclose(slope, -before, rtol=0, atol=1e-6 * np.abs(before).max())
