"""The numbers of ``docs/reproduced.md``: Holzinger, Arnold, Gerstmayr (2024)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fem_mbs as mbs
from examples import reproduce_2024 as script
from examples._reproduce_2024 import flexible, minimal, study
from examples._reproduce_2024.runs import EP, IMPLICIT, RV, RXYZ, SE3, explicit, implicit
from fem_mbs.benchmarks import linkages, puma, rotors, tops

FIRST = {  # h = 1 ms, 4 ms: errors in m of an independent implementation, to three or four digits
    ("free top", EP, 1e-3): 7.630e-3,
    ("top on joint", RV, 1e-3): 7.274e-3,
    ("slider-crank, 1 s", RXYZ, 4e-3): 4.009e-4,
}


@pytest.mark.ci
@pytest.mark.parametrize(
    ("system", "formulation", "h"),
    [pytest.param(*run, marks=[pytest.mark.slow] * ("top" in run[0])) for run in FIRST],
)
def test_errors_are_those_of_an_independent_implementation(system: str, formulation: str, h: float) -> None:
    assert implicit(system, formulation, h).error == pytest.approx(FIRST[system, formulation, h], rel=2e-3)


@pytest.mark.slow
def test_numbers_of_the_script() -> None:
    for name, (computed, expected) in script.compare().items():
        assert np.isnan(expected) or computed == pytest.approx(expected, rel=2e-3), name


def test_tilted_top_is_the_upright_one() -> None:
    """On the group nothing depends on the axes: equal to rounding, in a motion that turns by 0.15 rad a step."""
    for build in (tops.free_top, tops.top_on_joint):
        ends = []
        for tilted in (False, True):
            ends.append(tops.mass_center(mbs.simulate(build(tilted=tilted), 0.05, 1e-3), tilted)[-1])
        np.testing.assert_allclose(*ends, atol=1e-11)


def test_start_of_the_systems() -> None:
    """Velocities obey the joints, and the robot holds its weight, as far as its springs have given way."""
    assert puma.holding(puma.START) == pytest.approx([0, 25.8149, -8.1936, 0, -0.01998, 0], abs=1e-4)
    for build in (tops.top_on_joint, linkages.slider_crank, puma.puma):
        assert mbs.simulate(build(), 1e-6, 1e-6).constraint_residual.velocity[0] < 1e-12
    solution = mbs.simulate(rotors.high_speed_rotor(), 1e-4, 1e-4, mbs.RungeKuttaMuntheKaas())
    center = rotors.read(solution)
    assert center[0] == pytest.approx([-0.4, 0, 0, 1000, 0, 0])


@pytest.mark.ci
def test_robot_in_angles_moves_as_the_one_in_absolute_coordinates() -> None:
    """Torques of the recursion leave nothing over where the absolute coordinates have solved for accelerations."""
    h = 1e-3
    solution = mbs.simulate(puma.puma(), 0.102, h, mbs.GeneralizedAlpha())
    q = puma.read(solution)
    n = 100
    rate = (8 * (q[n + 1] - q[n - 1]) - (q[n + 2] - q[n - 2])) / (12 * h)
    acceleration = (16 * (q[n + 1] + q[n - 1]) - (q[n + 2] + q[n - 2]) - 30 * q[n]) / (12 * h * h)
    torques = minimal.torques(q[n], rate, acceleration)
    given = torques - minimal.missing(solution.t[n], q[n], rate, acceleration)
    assert torques == pytest.approx(given, rel=1e-3, abs=1e-3)


@pytest.mark.slow
def test_robot_in_angles() -> None:
    """Extrapolated, it is what implicit and explicit methods with tolerances make of the same equations."""
    for t, exact in minimal.EXACT.items():
        coarse, fine = (minimal.integrate(h, t)[0] for h in (1 / 640, 1 / 1280))
        assert (4 * fine - coarse) / 3 == pytest.approx(exact, abs=2e-9)


@pytest.mark.slow
def test_explicit_orders() -> None:
    """Over 0.1 s, in which error terms do not cancel."""
    for tableau, order in (("ODE23", 3), ("RK4", 4), ("DOPRI5", 5), ("RK6", 6)):
        coarse, fine = (explicit("free top, 0.1 s", RV, tableau, h).error for h in (1e-3, 5e-4))
        assert np.log2(coarse / fine) == pytest.approx(order, abs=0.1), tableau


@pytest.mark.slow
def test_implicit_orders() -> None:
    for system, h in (("free top, tilted", 1e-3), ("top on joint", 1e-3), ("slider-crank, 1 s", 4e-3)):
        for name in IMPLICIT if "top on" not in system else (RV, EP, SE3):
            coarse, fine = (implicit(system, name, step).error for step in (h, h / 2))
            assert np.log2(coarse / fine) == pytest.approx(2, abs=0.1), (system, name)


@pytest.mark.slow
def test_what_is_best_depends_on_the_system() -> None:
    """SE(3) wins where a flexible body flies and turns, and loses where a top turns about a point on R3xSO3 cheaply."""
    ruler = {name: implicit("thrown ruler", name, 2e-3).error for name in (*IMPLICIT, SE3)}
    assert ruler[RV] / ruler[SE3] == pytest.approx(68, rel=0.02)
    assert [ruler[EP], ruler[RXYZ]] == pytest.approx(2 * [ruler[RV]], rel=1e-3)
    top = {name: implicit("top on joint", name, 1e-3).error for name in (RV, SE3)}
    assert top[SE3] / top[RV] == pytest.approx(11.4, rel=0.02)
    pendulum = [implicit("beam pendulum", name, 1e-3).error for name in (*IMPLICIT, SE3)]
    assert max(pendulum) < 1.2 * min(pendulum)


def test_parts_are_drawn() -> None:
    assert set(study.PARTS) == set(script.figures.DRAWINGS)
    assert set(study.FLEXIBLE) == set(flexible.BUILD)


@pytest.mark.slow
def test_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the part that takes least."""
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setattr(study, "FLEXIBLE", {name: steps[:2] for name, steps in study.FLEXIBLE.items()})
    script.figures.draw("flexible", study.PARTS["flexible"](), tmp_path)
    assert (tmp_path / "reproduced_2024_flexible.png").exists()
