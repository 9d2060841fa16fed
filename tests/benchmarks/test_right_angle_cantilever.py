"""Right-angle cantilever: the run of Bruels, Cardona, Arnold (2012), and convergence in mesh and step.

``python -m pytest -m slow -s tests/benchmarks/test_right_angle_cantilever.py`` prints the tables of
``docs/validation.md``.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from examples.right_angle_cantilever import errors, extremum, run
from examples.right_angle_cantilever import sampled as displacements

COMBINATIONS = list(product(("R3xSO3", "SE3"), ("SE3", "R3xSO3")))
EXTREMA = (5.5128, 8.2521, -9.7271)  # Exudyn 1.13.6, extrapolated from 20 and 40 elements a leg, h = 10 and 5 ms


def extrema(t, u):
    """First peak of the elbow, first peak and minimum of the tip."""
    return extremum(t, u["elbow"], 2, 5), extremum(t, u["tip"], 6, 9), extremum(t, u["tip"], 13, 18, -1)


def sampled(solution, u):
    """Elbow and tip every 0.02 s."""
    every = round(0.02 / (solution.t[1] - solution.t[0]))
    return np.array([u["elbow"], u["tip"]])[:, ::every]


@pytest.mark.ci
@pytest.mark.parametrize(("group", "interpolation"), COMBINATIONS)
def test_run_of_the_paper(group, interpolation):
    solution, u = run(group=group, interpolation=interpolation)
    print(group, interpolation, solution, *(f"{value:.3f}" for value in extrema(solution.t, u)))
    assert solution.stats.failed_steps == 0
    assert solution.stats.mean_newton_iterations <= 4.0  # the paper reports 3.83
    # a step of 0.2 s and 5 elements a leg are within 2 % of the converged extrema
    assert extrema(solution.t, u) == pytest.approx(EXTREMA, rel=0.02)


@pytest.mark.slow
def test_energy_hardly_changes_after_the_push():
    """Numerical damping takes energy, but little: the motion is slow against the step."""
    solution, _ = run(step=0.02)
    total = solution.energy.total[solution.t >= 2]
    assert np.ptp(total) < 1e-3 * total[0]


@pytest.mark.slow
def test_all_combinations_converge_to_one_motion():
    """Mesh and step are halved together; all differences fall by four, down to below a thousandth of the motion."""
    levels = ((10, 0.02), (20, 0.01), (40, 0.005))
    histories = {}
    for elements, step in levels:
        for group, interpolation in COMBINATIONS:
            solution, u = run(step, group=group, interpolation=interpolation, elements=elements)
            histories[elements, (group, interpolation)] = sampled(solution, u)
            peaks = extrema(solution.t, u)
            print(elements, f"{step:g}", group, interpolation, *(f"{value:.4f}" for value in peaks))
            assert peaks == pytest.approx(EXTREMA, rel=5e-3)
    first = COMBINATIONS[0]
    spread = [
        max(np.abs(histories[n, first] - histories[n, other]).max() for other in COMBINATIONS[1:]) for n, _ in levels
    ]
    change = [np.abs(histories[n, first] - histories[2 * n, first]).max() for n in (10, 20)]
    print("largest difference between combinations (m):", *(f"{value:.2e}" for value in spread))
    print("largest change by the refinement (m):", *(f"{value:.2e}" for value in change))
    assert np.log2(spread[0] / spread[2]) / 2 == pytest.approx(2, abs=0.1)
    assert np.log2(change[0] / change[1]) == pytest.approx(2, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("group", "interpolation"), COMBINATIONS)
def test_order_of_the_step_on_a_fixed_mesh(group, interpolation):
    """As Fig. 4 of the paper: 10 elements in all, the whole 30 s, against h = 7.8e-4."""
    steps = 0.05 / 2.0 ** np.arange(4)
    options = {"group": group, "interpolation": interpolation}
    found = errors(steps, displacements(1 / 1280, **options), **options)
    slope = np.polyfit(np.log(steps), np.log(found), 1)[0]
    print(group, interpolation, *(f"{value:.3e}" for value in found), f"slope {slope:.3f}")
    assert slope == pytest.approx(2, abs=0.1)
