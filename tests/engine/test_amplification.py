"""The constants of the linear test equation against the closed forms of Arnold, Cardona, Bruels (2015), section 3.2."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from _amplification import amplification_matrix, error_constants, power_norms

import fem_mbs as mbs
from fem_mbs.alpha.newmark import Parameters, chung_hulbert, weights_of_third
from fem_mbs.arrays import Array

RHO = (0.0, 0.3, 0.6, 0.9, 0.99)
METHODS = {
    **{f"rho_inf = {rho}": chung_hulbert(rho) for rho in RHO},
    "Hilber, Hughes, Taylor": mbs.GeneralizedAlpha.hht(0.1).coefficients,
    "Newmark with gamma = 0.7": Parameters(0.0, 0.0, 0.4, 0.7),
    "any": Parameters(0.1, 0.3, 0.5, 0.9),
}


def closed_form(rho: float, n: Array) -> Array:
    """``c_n`` of eq. 53."""
    power = np.where(n > 1, (-rho) ** np.maximum(n - 2.0, 0.0), 0.0)
    first = np.where(n > 0, (-rho) ** np.maximum(n - 1.0, 0.0), 0.0)
    jordan = n / 2 * (n - 1) * (rho**2 - 1) * power + n * (2 - rho) * first
    return np.asarray(chung_hulbert(rho).C_q * (1 + rho) ** 2 * jordan)


@pytest.mark.parametrize("rho", RHO)
def test_error_constants_are_those_of_the_paper(rho: float) -> None:
    """1000 steps of the recursion; rounding grows with the powers of ``T_inf``, by 3e2 for 0.99."""
    expected = closed_form(rho, np.arange(1001.0))
    np.testing.assert_allclose(
        error_constants(chung_hulbert(rho), 1000), expected, rtol=0, atol=1e-10 * abs(expected).max()
    )


@pytest.mark.parametrize("name", METHODS)
def test_error_constants_are_the_errors_of_the_method(name: str) -> None:
    """``q = t^3/6`` as a constraint, whose multiplier is ``-t``: the method of eq. 38 is off by ``c_n h`` exactly."""
    alpha_m, alpha_f, beta, gamma = parameters = METHODS[name]
    h, count = 0.5, 30
    v, a, multiplier = 0.0, parameters.shift * h, 0.0
    errors = [0.0]
    for n in range(count):
        dq = h**3 * ((n + 1) ** 3 - n**3) / 6
        new = (dq - h * v - h * h * (0.5 - beta) * a) / (h * h * beta)
        v += h * ((1 - gamma) * a + gamma * new)
        multiplier = -((1 - alpha_m) * new + alpha_m * a + alpha_f * multiplier) / (1 - alpha_f)
        a = new
        errors.append(-h * (n + 1) - multiplier)
    constants = error_constants(parameters, count)
    np.testing.assert_allclose(errors, h * constants, rtol=0, atol=1e-10 * max(1.0, abs(constants).max()))


@pytest.mark.parametrize("rho", RHO)
def test_all_eigenvalues_are_the_spectral_radius(rho: float) -> None:
    """One Jordan block for ``-rho_inf``: the characteristic polynomial is ``(x + rho_inf)^3``."""
    polynomial = np.poly(amplification_matrix(chung_hulbert(rho)))
    np.testing.assert_allclose(polynomial, np.poly([-rho] * 3), rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", METHODS)
def test_matrix_is_the_limit_of_high_frequencies(name: str) -> None:
    """The terms left out are ``1/(h omega)^2``."""
    alpha_m, alpha_f, beta, gamma = METHODS[name]
    small = 1e-10
    new = np.array([[small, 0, -beta], [0, 1, -gamma], [1 - alpha_f, 0, 1 - alpha_m]])
    old = np.array([[small, 1, 0.5 - beta], [0, 1, 1 - gamma], [-alpha_f, 0, -alpha_m]])
    np.testing.assert_allclose(np.linalg.solve(new, old), amplification_matrix(METHODS[name]), rtol=0, atol=1e-7)


@pytest.mark.parametrize(("rho", "n", "norm"), [(0.6, 3, 7.4), (0.9, 14, 34.3)])
def test_overshoot_is_that_of_the_paper(rho: float, n: int, norm: float) -> None:
    norms = power_norms(chung_hulbert(rho), 100)
    assert norms.shape == (101,) and (norms.argmax(), round(norms.max(), 1)) == (n, norm)
    power = np.linalg.matrix_power(amplification_matrix(chung_hulbert(rho)), 20)
    np.testing.assert_allclose(norms[[0, 20]], [1.0, np.linalg.norm(power, 2)], rtol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "count", "words"),
    [
        (0.9, 10, "parameters must be a Parameters, received 0.9"),
        (Parameters(0.0, 0.0, 0.0, 0.5), 10, "if beta is not 0 and alpha_f is not 1, received beta = 0, alpha_f = 0"),
        (Parameters(0.0, 1.0, 0.25, 0.5), 10, "received beta = 0.25, alpha_f = 1"),
        (chung_hulbert(0.9), -1, "count must be a whole number of at least 0, received -1"),
        (chung_hulbert(0.9), 10.5, "count must be a whole number of at least 0, received 10.5"),
    ],
)
def test_bad_input(parameters: Any, count: Any, words: str) -> None:
    for function in (power_norms, error_constants):
        with pytest.raises(mbs.ModelError, match=words):
            function(parameters, count)


@pytest.mark.parametrize("ratio", [0.3, 1.0, 2.5])
def test_defect_of_velocities_is_exact_for_parabolas(ratio: float) -> None:
    """``C_v v_ttt`` of accelerations ``1, t, t^2`` at the ends of two steps, of 1 and of the ratio before it."""
    own, t = METHODS["any"], np.array([0.0, -1.0, -1.0 - ratio])
    found = weights_of_third(own, ratio) @ np.stack([t**0, t, t**2], axis=1)
    np.testing.assert_allclose(found, [0.0, 0.0, 2.0 * own.C_v], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("own", [chung_hulbert(rho) for rho in RHO] + [METHODS["Hilber, Hughes, Taylor"]])
@pytest.mark.parametrize("first_order", [False, True])
def test_constants_of_velocities_and_states(own: Parameters, first_order: bool) -> None:
    """``C h^3 z_ttt`` is what a step of ``z' = t^2`` misses, once its beginning is forgotten: ``z_ttt = 2``."""
    weights = own.first_order if first_order else own
    z, w = np.zeros(2), 0.0
    for n in range(2000):
        slopes = (1.0 - weights.alpha_f) * (n + 1) ** 2 + weights.alpha_f * n**2
        after = (slopes - weights.alpha_m * w) / (1.0 - weights.alpha_m)
        z, w = np.array([z[1], z[1] + (1.0 - weights.gamma) * w + weights.gamma * after]), after
    step = (2000**3 - 1999**3) / 3.0
    C = own.first_order.C_z if first_order else own.C_v
    np.testing.assert_allclose(step - (z[1] - z[0]), 2.0 * C, atol=1e-5)
