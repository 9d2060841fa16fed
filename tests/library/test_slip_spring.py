"""A spring that slips against exact hysteresis."""

from __future__ import annotations

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.elements import (
    FrictionSpring,
    JointSpring,
    PointMass,
    PrismaticJoint,
    RigidBody,
    SphericalJoint,
    Table,
    TorqueMotor,
)

K, LIMIT, FAR = 50.0, 4.0, 0.3


def moved_to_and_fro(group: str) -> tuple[mbs.Model, FrictionSpring, SphericalJoint]:
    """The far end of a spring on a guide, with one period of 1 s."""
    model = mbs.Model(group)
    end = model.add_node((1, 0, 0))
    model.add(RigidBody(end, 0.1, (1, 1, 1)))
    guide = SphericalJoint(model.ground, end, displacement=lambda t: (FAR * np.sin(np.pi * t) ** 2, 0, 0))
    return model, model.add(FrictionSpring(model.ground, end, K, LIMIT)), model.add(guide)


@pytest.mark.parametrize("group", ["R3xSO3", pytest.param("SE3", marks=pytest.mark.slow)])
def test_force_follows_the_elastic_and_ideally_plastic_law(group: str) -> None:
    model, spring, _ = moved_to_and_fro(group)
    solution = mbs.simulate(model, 1.2, 0.02)
    length = 1.0 + FAR * np.sin(np.pi * solution.t) ** 2
    free, expected = 1.0, []
    for now in length:  # the definition of the law, instant by instant
        force = np.clip(K * (now - free), -LIMIT, LIMIT)
        free = now - force / K
        expected.append(free)
    assert solution.internal_variables(spring, "free length") == pytest.approx(np.array(expected), abs=1e-12)


@pytest.mark.slow
def test_a_period_takes_the_area_of_the_loop() -> None:
    """Once it goes round and round: 2 LIMIT of force times 2 slips of the amplitude less what is elastic."""
    model, spring, _ = moved_to_and_fro("R3xSO3")
    solution = mbs.simulate(model, 2.0, 1e-3)
    period = solution.t >= 1.0 - 1e-9
    length = 1.0 + FAR * np.sin(np.pi * solution.t[period]) ** 2
    force = K * (length - solution.internal_variables(spring, "free length")[period])
    assert np.abs(force).max() == pytest.approx(LIMIT, rel=1e-8)
    assert np.trapezoid(force, length) == pytest.approx(2 * LIMIT * (FAR - 2 * LIMIT / K), rel=1e-3)


def test_below_the_limit_it_is_a_spring() -> None:
    model = mbs.Model()
    body = model.add_node((1, 0, 0), velocity=(0.1, 0, 0))
    model.add(RigidBody(body, 2.0, (1, 1, 1)))
    spring = model.add(FrictionSpring(model.ground, body, K, LIMIT))
    solution = mbs.simulate(model, 0.5, 0.005, mbs.GeneralizedAlpha(1.0))
    omega = np.sqrt(K / 2.0)
    assert solution.displacement(body)[:, 0] == pytest.approx(0.1 / omega * np.sin(omega * solution.t), abs=1e-5)
    assert (solution.internal_variables(spring) == 1.0).all()
    assert solution.energy.total == pytest.approx(0.5 * 2.0 * 0.1**2, rel=1e-4)


@pytest.mark.slow
def test_sliding_mass_comes_to_rest_where_friction_has_taken_its_energy() -> None:
    """The body stretches the spring to its limit, then slides: the energy says how far."""
    model = mbs.Model("SE3")
    body = model.add_node((1, 0, 0), velocity=(1.5, 0, 0))
    model.add(RigidBody(body, 2.0, (1, 1, 1)))
    model.add(FrictionSpring(model.ground, body, K, LIMIT))
    solution = mbs.simulate(model, 2.0, 1e-3, mbs.GeneralizedAlpha(1.0))
    elastic = LIMIT / K
    farthest = elastic + (0.5 * 2.0 * 1.5**2 - 0.5 * K * elastic**2) / LIMIT
    assert solution.displacement(body)[:, 0].max() == pytest.approx(farthest, rel=1e-4)
    assert np.diff(solution.energy.total).max() < 1e-6  # it never gains


def test_loads_that_turn_between_equilibria_are_met() -> None:
    """A slider on a spring, and on one that slips out and back, whose ends follow from the largest load by hand."""
    model = mbs.Model()
    node = model.add_node((3, 2, 1))
    model.add(PointMass(node, 2.0))
    guide = model.add(PrismaticJoint(model.ground, node, (1, 0, 0)))
    model.add(FrictionSpring(model.ground, node, 300.0, LIMIT, point_a=(1, 2, 1)))
    model.add(JointSpring(guide, 100.0))
    model.add(TorqueMotor(guide, Table([0.0, 0.4, 1.0], [0.0, 12.0, 4.0], spline="linear")))
    place, largest = mbs.statics(model).coordinate(guide), (12.0 - LIMIT) / 100.0
    assert place.max() == pytest.approx(largest, rel=5e-3)
    assert place[-1] == pytest.approx((4.0 + 300.0 * largest - LIMIT) / 400.0, rel=5e-3)
