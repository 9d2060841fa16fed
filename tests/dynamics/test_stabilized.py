"""The default formulation: stable where index 3 is not, with constraints closed on both levels."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import suite
from models import machine

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.benchmarks import puma
from fem_mbs.benchmarks.tops import top_on_joint
from fem_mbs.elements import RevoluteJoint, RigidBody


def pendulum(group: str) -> mbs.Model:
    """A body of 1 kg at 1 m, let go from the horizontal; its swing exchanges 9.81 J."""
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    bob = model.add_node((1, 0, 0))
    model.add(RigidBody(bob, 1.0, (0.01,) * 3))
    model.add(RevoluteJoint(model.ground, bob, (0, 1, 0), point=(0, 0, 0)), name="hinge")
    return model


def energy_error(solution: mbs.Solution) -> float:
    total = solution.energy.total
    return float(np.abs(total - total[0]).max())


@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
@pytest.mark.parametrize(("rho_inf", "h", "t_end", "limit"), [
    (0.9, 0.1, 10.0, 1.0),
    (0.9, 0.03, 30.0, 0.1),
    (0.8, 0.1, 10.0, 1.0),
    (0.99, 0.01, 4.0, 0.01),
    (1.0, 0.001, 0.5, 1e-4),
])  # fmt: skip
def test_energy_of_a_pendulum(group: str, rho_inf: float, h: float, t_end: float, limit: float) -> None:
    """0.1 s turn it by up to 0.45 rad a step: ``h^2`` times 100 J/s^2 is what such a step can know."""
    solution = mbs.simulate(pendulum(group), t_end, h, mbs.GeneralizedAlpha(rho_inf))
    assert solution.stats.failed_steps == 0
    assert energy_error(solution) < limit
    assert solution.constraint_residual.velocity.max() < 1e-10 / h


@pytest.mark.slow
@pytest.mark.parametrize(("rho_inf", "h", "t_end"), [(0.9, 0.1, 10.0), (0.99, 0.01, 8.0)])
def test_index_3_warns_once_when_it_is_unstable(
    rho_inf: float, h: float, t_end: float, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "fem_mbs"):
        solution = mbs.simulate(pendulum("R3xSO3"), t_end, h, mbs.GeneralizedAlpha(rho_inf, "index3"))
    assert energy_error(solution) > 9.81
    said = [record.message for record in caplog.records if "index 3 is unstable" in record.message]
    assert len(said) == 1
    assert "RevoluteJoint 'hinge'" in said[0] and f"rho_inf = {rho_inf:g}" in said[0] and "rad a step" in said[0]


def test_index_3_has_no_limit_without_joints() -> None:
    """A body that turns freely by 1.5 rad a step leaves no constraint: at the end its spin is what it was."""
    model = mbs.Model()
    body = model.add_node((0, 0, 0), angular_velocity=(0, 0, 15.0), name="body")
    model.add(RigidBody(body, 1.0, (1.0, 1.0, 2.0)))
    solution = mbs.simulate(model, 1.0, 0.1, mbs.GeneralizedAlpha(0.9, "index3"))
    np.testing.assert_allclose(solution.angular_velocity("body"), np.tile([0, 0, 15.0], (11, 1)), rtol=0, atol=1e-9)


@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_index_3_does_not_warn_where_it_is_stable(group: str, caplog: pytest.LogCaptureFixture) -> None:
    """The run of Bruels, Cardona, Arnold (2012), which turns by 0.3 rad a step."""
    mbs.simulate(top_on_joint(group), 0.5, 2e-3, mbs.GeneralizedAlpha(0.9, "index3"))
    assert not [record for record in caplog.records if "unstable" in record.message]


@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_iterations_are_those_of_the_other_formulations(group: str) -> None:
    """At most half an iteration a step more, in a motion with a drive, a loop, bodies and beams."""

    def mean(formulation: str) -> float:
        model = machine(group, drive=lambda t: 20.0 * t * t)
        return mbs.simulate(model, 0.2, 0.01, mbs.GeneralizedAlpha(0.8, formulation)).stats.mean_newton_iterations

    assert mean("stabilized") <= min(mean("index3"), mean("index2")) + 0.5


@pytest.mark.slow
@pytest.mark.parametrize("group", ["R3xSO3", pytest.param("SE3", marks=pytest.mark.slow)])
def test_errors_are_not_larger_than_those_of_index_2(group: str) -> None:
    """Of the heavy top at 2 ms, against a run with a tenth of the step."""
    exact = mbs.simulate(top_on_joint(group), 0.2, 2e-4, mbs.GeneralizedAlpha(0.9, "index2", "perturbed"))
    errors = []
    for formulation in ("stabilized", "index2"):
        solution = mbs.simulate(top_on_joint(group), 0.2, 2e-3, mbs.GeneralizedAlpha(0.9, formulation))
        errors.append(np.abs(solution.x - exact.x[::10]).max())
    assert errors[0] < 1.1 * errors[1]


@pytest.mark.slow
@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
@pytest.mark.parametrize("compensated", [True, False])
def test_stiff_controllers_keep_the_order(group: str, compensated: bool) -> None:
    """Errors of the Puma 560 fall with the square of the step, and are those of index 3.

    Forces that depend on rates are given the rate of the configuration, not the velocity of the equation of momentum.
    """

    def angles(h: float, method: mbs.Method) -> Array:
        return puma.read(mbs.simulate(puma.puma(group, compensated), 0.5, h, method))[-1]

    exact = angles(5e-3, mbs.RadauIIA())
    steps = np.array([1e-2, 5e-3, 2.5e-3, 1.25e-3])
    errors, of_index3 = (
        np.array([np.abs(angles(h, mbs.GeneralizedAlpha(formulation=formulation)) - exact).max() for h in steps])
        for formulation in ("stabilized", "index3")
    )
    orders = np.log2(errors[:-1] / errors[1:])
    assert (orders > 1.9).all() and (orders < 2.1).all(), orders
    assert (errors < 1.1 * of_index3).all(), errors / steps**2


@pytest.mark.slow
@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
@pytest.mark.parametrize("name", suite.MOTIONS)
def test_errors_are_not_larger_than_those_of_index_3(name: str, group: str) -> None:
    """Of positions and reactions, with dampers, controllers, friction and motors as without."""
    errors = []
    for formulation in ("stabilized", "index3"):
        end = suite.end_of(name, group, suite.MOTIONS[name].h / 8, mbs.GeneralizedAlpha(formulation=formulation))
        errors.append([suite.place_error(name, group, end), suite.reaction_error(name, group, end)])
    assert (np.array(errors[0]) <= 1.1 * np.array(errors[1])).all(), errors
