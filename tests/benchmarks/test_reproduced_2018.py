"""The numbers of ``docs/reproduced.md``: Euler methods on Lie group for DAEs of multibody systems (2018)."""

from __future__ import annotations

import numpy as np
import pytest

from examples import reproduce_2018 as script

FORMS = list(script.FORMS)


@pytest.mark.parametrize(("name", "coordinates"), script.REPEATED)
def test_single_pendulum_with_a_long_step(name: str, coordinates: str) -> None:
    """Eight digits, by another implementation of the same equations: half a unit of the last, and its rounding."""
    x = script.centres(script.run("single", name, 1e-2, 1.0, coordinates=coordinates), 1.0)[0]
    np.testing.assert_allclose(x, script.REPEATED[name, coordinates], rtol=0, atol=6e-9)


def test_symplectic_form_keeps_the_vertical_momentum() -> None:
    """To rounding: weight and pivot have no moment about the vertical. Implicit forms lose some in each step."""
    runs = {name: script.run("double", name, 1e-2, 0.5) for name in ("DAE2-SELS", "DAE2-IELS")}
    changes = {name: np.ptp(script.vertical_momentum(run)) for name, run in runs.items()}
    assert changes["DAE2-SELS"] < 1e-13
    assert changes["DAE2-IELS"] > 1e-3


def test_constraints_and_energies_of_the_forms() -> None:
    """Fig. 9 in short: DAE3 like ODAE; DAE1 drifts, and has the smallest loss of energy of the implicit forms."""
    runs = {name: script.run("double", name, 1e-2, 0.5) for name in FORMS}
    gaps = {name: script.gap(run) for name, run in runs.items()}
    assert gaps.pop("DAE1-IELS") > 1e-3
    assert max(gaps.values()) < 1e-11
    change = {name: abs(script.energy_change(run)) for name, run in runs.items()}
    assert change["DAE1-IELS"] < 0.2 * min(change[name] for name in script.IMPLICIT if name != "DAE1-IELS")
    R = runs["DAE3-IEL"].R
    assert np.abs(R.mT @ R - np.eye(3)).max() < 1e-13  # Figs. 5 and 8


@pytest.mark.slow
@pytest.mark.parametrize("pendulum", script.BUILD)
def test_exact_motion(pendulum: str) -> None:
    """Printed with eight digits; the error of the extrapolated motion is of order 4."""
    assert script.exact_error(pendulum) < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("pendulum", script.BUILD)
def test_energies(pendulum: str) -> None:
    """Tables 1 and 2: all digits of another implementation."""
    runs = [script.run(pendulum, name, 1e-3, script.ENERGY_RUN[pendulum]) for name in FORMS]
    np.testing.assert_allclose(
        [script.energy_change(run) for run in runs], script.ENERGIES[pendulum], rtol=0, atol=6e-5
    )
    symplectic = runs[-1].energy.total
    # bounded by a term of first order, without drift
    assert np.abs(symplectic - symplectic[0]).max() < (0.0055 if pendulum == "single" else 0.01)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("pendulum", script.BUILD)
def test_orders(pendulum: str, name: str) -> None:
    """One of all quantities; two of positions after extrapolation, which are 20 times nearer at least."""
    found = script.orders(pendulum, name).orders
    assert found == pytest.approx(dict.fromkeys(("position", "rotation", "velocity", "multipliers"), 1.0), abs=0.1)
    plain, better = script.extrapolated(pendulum, name)
    assert better < plain / 20


@pytest.mark.slow
def test_errors_on_se3() -> None:
    """At 0.8 s with 1 ms: the digits of another implementation."""
    expected = {"single": [*4 * [1.17e-3], 2.5e-4], "double": [6.4e-3, 5.4e-3, 9.3e-3, 5.3e-3, 1.5e-3]}
    for pendulum, errors in expected.items():
        found = script.errors_on_se3(pendulum)
        assert found == pytest.approx(errors, rel=0.02), pendulum
