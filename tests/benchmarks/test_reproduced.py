"""The numbers of ``docs/reproduced.md``: Arnold, Cardona, Bruels (2015), both papers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from _amplification import error_constants, power_norms

from examples import reproduce_2015 as script
from fem_mbs.alpha.newmark import chung_hulbert
from fem_mbs.run.convergence import fitted_order

LEVELS = {  # largest Phi and B v at h = 1 ms over a second: the paper's, or ours where ours is larger
    ("R3xSO3", "index3"): 0.033,
    ("SE3", "index3"): 1e-10,
    ("R3xSO3", "index2"): 2e-9,
    ("SE3", "index2"): 1e-14,
}


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[float, float]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("reproduced"))
        return script.main([])


@pytest.mark.parametrize(("rho", "n", "norm"), [(0.6, 3, 7.4), (0.9, 14, 34.3)])
def test_overshoot(rho: float, n: int, norm: float) -> None:
    norms = power_norms(chung_hulbert(rho), 200)
    assert (norms.argmax(), round(norms.max(), 1)) == (n, norm)


@pytest.mark.parametrize(("rho", "n", "value"), [(0.6, 3, 6.8), (0.9, 15, 31.9), (0.99, 161, 334.3)])
def test_error_constants(rho: float, n: int, value: float) -> None:
    """The printed values leave out the factor ``C_q`` of eq. 53."""
    constants = np.abs(error_constants(chung_hulbert(rho), 1000) / chung_hulbert(rho).C_q)
    assert (constants.argmax(), round(constants.max(), 1)) == (n, value)


@pytest.mark.parametrize("rho", [0.6, 0.9, 0.99])
@pytest.mark.parametrize("h", [1e-1, 1e-2])
def test_rheonomic_test_has_the_error_of_the_formula(rho: float, h: float) -> None:
    """With ``C_q``, and to rounding: ``Phi`` to 1e-16 is a multiplier to 1e-16/h^2, amplified by ``T_inf``."""
    n = np.arange(61)
    error = (-h * n - script.multipliers(script.rheonomic(), h, 60, rho=rho)) / h
    np.testing.assert_allclose(error, error_constants(chung_hulbert(rho), 60), rtol=0, atol=1e-6)


def test_perturbed_start_has_no_error_in_the_rheonomic_test() -> None:
    n, h = np.arange(61), 1e-1
    assert np.abs(-h * n - script.multipliers(script.rheonomic(), h, 60, "perturbed")).max() < 1e-9


@pytest.mark.ci
@pytest.mark.parametrize(("h", "amplitude"), [(2e-2, 2.48e-1), (1e-2, 1.23e-1)])
def test_pendulum(h: float, amplitude: float) -> None:
    """Fig. 5; from the equilibrium there is no transient of first order, and after 100 steps none at all."""
    _, error = script.pendulum_error(0.2, h, 150 * h)
    assert np.abs(error).max() == pytest.approx(amplitude, abs=5e-4)
    _, equilibrium = script.pendulum_error(0.0, h, 150 * h)
    assert np.abs(equilibrium).max() < 20 * h**2
    assert np.abs(error[100:]).max() < 0.05 * amplitude


def test_constraint_of_the_script_obeys_the_contract() -> None:
    """Its second-order quantities are exact: the step of a curved problem converges in few iterations."""
    solution = script.mbs.simulate(script.pendulum(0.2), 1.0, 0.01)
    assert solution.stats.mean_newton_iterations < 3.0
    solution = script.mbs.simulate(script.pendulum(0.2), 1.0, 0.01, script.method("index2"))
    assert solution.constraint_residual.velocity.max() < 1e-8


@pytest.mark.ci
def test_transient_of_index_2() -> None:
    """Fig. 13: what a shifted ``a_0`` takes away."""
    assert script.index2_transient(1e-3) == pytest.approx(0.64, abs=5e-3)


@pytest.mark.slow
def test_error_of_index_2(numbers: dict[str, tuple[float, float]]) -> None:
    assert numbers["index 2: error of lambda/h^2"][0] == pytest.approx(3.0e3, rel=0.05)
    assert numbers["index 2: ratio of eta"][0] == pytest.approx(4.0, abs=0.02)  # Fig. 14


@pytest.mark.slow
@pytest.mark.parametrize(("group", "formulation"), LEVELS)
def test_levels_of_the_constraints(group: str, formulation: str, numbers: dict[str, tuple[float, float]]) -> None:
    assert numbers[f"{formulation} on {group}: |Phi|"][0] < 1e-10
    assert numbers[f"{formulation} on {group}: |B v|"][0] < LEVELS[group, formulation]


@pytest.mark.slow
def test_projection(numbers: dict[str, tuple[float, float]]) -> None:
    """[B] Fig. 1: the residual falls by 4, and a projection is felt for about 100 steps."""
    assert numbers["projection: ratio of B v before it"][0] == pytest.approx(4.0, abs=0.05)
    assert numbers["projection: steps until it is forgotten"][0] == pytest.approx(100, abs=15)


@pytest.mark.slow
@pytest.mark.parametrize("case", script.CASES)
def test_orders(case: str) -> None:
    """Order 2, but for the transients on R3xSO3 that the consistent start leaves in the multipliers."""
    errors = script.study(case)
    orders = [fitted_order(script.STUDY[2:], row[2:]) for row in errors]
    expected = np.full(6, 2.0)
    if script.CASES[case] == ("R3xSO3", "index3", "consistent"):
        expected[2] = 1.0
    if script.CASES[case] == ("R3xSO3", "index2", "consistent"):
        # Fig. 11: slope 2 for large steps, towards 1 below 0.25 ms
        assert np.log2(errors[2, -2] / errors[2, -1]) < 1.5
        orders[2] = fitted_order(script.STUDY[1:4], errors[2, 1:4])
    np.testing.assert_allclose(orders, expected, atol=0.1)


@pytest.mark.slow
def test_index_2_and_index_3_coincide_on_se3() -> None:
    """Figs. 6 and 11, right; the errors themselves are 1e-3 and more.

    A gap of 1e-14 m, which Newton's method may leave, is 3e-8 of the force at h = 0.125 ms: 15 kg times that over h^2.
    """
    np.testing.assert_allclose(script.study("Fig. 11 right"), script.study("Figs. 6, 8 right"), rtol=1e-5, atol=3e-8)


@pytest.mark.slow
def test_projection_costs_an_order() -> None:
    """[B] Fig. 2, right."""
    before, over_all = script.projection_study()
    assert fitted_order(script.STUDY[2:], before[1:]) == pytest.approx(2.0, abs=0.1)
    assert fitted_order(script.STUDY[2:], over_all[1:]) == pytest.approx(1.0, abs=0.12)


@pytest.mark.slow
def test_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    script.figures(tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {f"reproduced_{name}.png" for name in script.DRAWINGS}
