"""The stabilised index-2 form: its exact matrix, and what it has to say that index 3 has not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from catalogue import GROUPS, JOINTS, build
from models import CHARTS, machine
from motions import assert_columns_close, differences, random_step

import fem_mbs as mbs
from examples.reproduce_2015 import run_top
from fem_mbs.alpha.step import StepEquations, Unknowns
from fem_mbs.arrays import Array
from fem_mbs.benchmarks.flexible import four_bar
from fem_mbs.elements import RigidBody

H = 0.5
"""A long step makes stiffness, damping and mass weigh alike in the matrix."""


METHOD = replace(CHARTS["Lie group"], formulation="index2")


def matrix(problem: StepEquations, unknown: Unknowns) -> Array:
    """The factorised matrix, from what it does to unit vectors."""
    solve = problem.linearize(unknown, problem.evaluate(unknown)).factors.solve
    unit = np.eye(problem.system.size + len(unknown.eta))
    return np.linalg.inv(np.stack([solve(column) for column in unit], axis=-1))


BOTH = ("index3", "index2")
SEEDS = (0, 2, 3)
"""States whose crank is within a quarter turn of its drive; it refuses the others."""
HALF = [pytest.param(name, marks=[pytest.mark.slow] * (k % 2)) for k, name in enumerate(JOINTS)]
"""Derivatives of each joint alone are among the laws of joints, all of them quick."""


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("name", HALF)
def test_matrix_is_the_derivative_for_each_joint(name: str, group: str) -> None:
    """On two bodies; the joint's own nodes need mass for the matrix to have an inverse."""
    model, _ = build(JOINTS[name], group=group)
    for node in model.nodes[1:]:
        model.add(RigidBody(node, 2.0, (1.0, 2.0, 2.5), (0.1, 0.2, 0.3)))
    problem, unknown = random_step(mbs.System(model), 0, H, METHOD)
    assert_columns_close(matrix(problem, unknown), differences(problem, unknown))


@pytest.mark.parametrize("method", CHARTS)
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("seed", SEEDS)
def test_matrix_is_the_derivative_for_a_whole_model(group: str, seed: int, method: str) -> None:
    problem, unknown = random_step(mbs.System(machine(group)), seed, H, replace(CHARTS[method], formulation="index2"))
    assert_columns_close(matrix(problem, unknown), differences(problem, unknown))


@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_formulations_agree_on_the_four_bar(group: str) -> None:
    """A closed loop with a drive. A difference of second order falls by four; where it cannot be seen, by nothing."""
    distance = []
    for h in (0.02, 0.01):
        runs = [mbs.simulate(four_bar(group, elements=2)[0], 0.2, h, mbs.GeneralizedAlpha(0.9, f)) for f in BOTH]
        three, two = (run.v.reshape(len(run.t), -1) for run in runs)
        distance.append(np.abs(two - three).max())
        assert runs[1].constraint_residual.velocity.max() < 1e-7
        assert runs[0].constraint_residual.velocity.max() > 1e-5
    assert distance[1] < distance[0] / 3.0


def test_heavy_top_on_se3_needs_no_index_reduction() -> None:
    """``B`` is constant in the body: index 3 keeps ``B v = 0``, and index 2 is the same method (2015, Lemma 3.5)."""
    three, two = (run_top("SE3", 1e-3, 0.05, name) for name in BOTH)
    np.testing.assert_allclose(two.q, three.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(two.force, three.force, rtol=0, atol=1e-6 * np.abs(three.force).max())
    assert np.abs(three.Bv).max() < 1e-10  # of speeds of 4.6 m/s
    assert np.abs(two.Bv).max() < 1e-13


def test_heavy_top_on_r3xso3_obeys_the_hidden_constraint() -> None:
    """2015 paper, Figs. 10 and 15, left: 0.025 against 2e-9 over a whole second."""
    three, two = (run_top("R3xSO3", 1e-3, 0.05, name) for name in BOTH)
    assert np.abs(two.Bv).max() < 2e-9
    assert np.abs(three.Bv).max() > 1e-2
