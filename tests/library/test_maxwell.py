"""A spring and a damper in series against its exact creep and relaxation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

import fem_mbs as mbs
from fem_mbs.elements import Force, Maxwell, PointMass, RigidBody

K, ETA = 40.0, 25.0
GROUPS = ("R3xSO3", "SE3")


def relaxing(group: str, free_length: float = 1.0) -> tuple[mbs.Model, Maxwell]:
    """Two nodes that do not move, at a distance of 1.1."""
    model = mbs.Model(group)
    end = model.add_node((1.1, 0, 0))
    model.fix(end)
    return model, model.add(Maxwell(model.ground, end, K, ETA, free_length=free_length))


def creeping(group: str) -> tuple[mbs.Model, mbs.Node, Maxwell]:
    """A body that a constant force pulls away."""
    model = mbs.Model(group)
    mass = model.add_node((1, 0, 0))
    model.add(RigidBody(mass, 2.0, (1, 1, 1)))
    model.add(Force(mass, (3.0, 0, 0)))
    return model, mass, model.add(Maxwell(model.ground, mass, K, ETA))


def exact_creep(t: np.ndarray) -> np.ndarray:
    """Displacement, velocity and elongation of the damper ``(nt, 3)``: a linear system of first order."""
    A = np.array([[0, 1, 0, 0], [-K / 2, 0, K / 2, 3.0 / 2], [K / ETA, 0, -K / ETA, 0], [0, 0, 0, 0.0]])
    return np.array([(expm(A * time) @ [0, 0, 0, 1.0])[:3] for time in t])


def order(errors: list[float]) -> float:
    return float(np.log2(errors[0] / errors[1]))


@pytest.mark.parametrize("group", GROUPS)
def test_force_relaxes_exponentially(group: str) -> None:
    errors = []
    for h in (0.05, 0.025):
        model, element = relaxing(group)
        solution = mbs.simulate(model, 2.0, h, mbs.GeneralizedAlpha(0.8))
        force = K * (0.1 - solution.internal_variables(element, "damper"))
        errors.append(np.abs(force - 0.1 * K * np.exp(-solution.t * K / ETA)).max())
    assert errors[1] < 4e-4 * 0.1 * K
    assert order(errors) == pytest.approx(2.0, abs=0.1)


@pytest.mark.ci
@pytest.mark.parametrize("group", GROUPS)
def test_mass_creeps_as_the_exact_solution(group: str) -> None:
    errors = []
    for h in (0.02, 0.01):
        model, mass, element = creeping(group)
        solution = mbs.simulate(model, 1.5, h, mbs.GeneralizedAlpha(0.8))
        damper = solution.internal_variables(element, "damper")
        found = np.stack([solution.displacement(mass)[:, 0], solution.velocity(mass)[:, 0], damper], axis=1)
        errors.append(np.abs(found - exact_creep(solution.t)).max())
    assert errors[1] < 2e-4
    assert order(errors) == pytest.approx(2.0, abs=0.1)


def test_explicit_method_is_of_order_four() -> None:
    errors = []
    for h in (0.1, 0.05):
        model, mass, element = creeping("SE3")
        solution = mbs.simulate(model, 1.5, h, mbs.RungeKuttaMuntheKaas())
        found = np.stack([solution.displacement(mass)[:, 0], solution.internal_variables(element, "damper")], axis=1)
        errors.append(np.abs(found - exact_creep(solution.t)[:, [0, 2]]).max())
    assert order(errors) == pytest.approx(4.0, abs=0.2)


def test_energy_that_is_missing_went_into_the_damper() -> None:
    """The work of the force, less what the mass and the spring have, is the integral of ``N^2/eta``."""
    model, mass, element = creeping("R3xSO3")
    solution = mbs.simulate(model, 0.4, 0.002, mbs.GeneralizedAlpha(1.0))
    x, z = solution.displacement(mass)[:, 0], solution.internal_variables(element, "damper")
    stored = solution.energy.kinetic + solution.energy.strain
    lost = np.trapezoid((K * (x - z)) ** 2 / ETA, solution.t)
    assert 3.0 * x[-1] - stored[-1] == pytest.approx(lost, rel=1e-4)


def test_at_rest_it_holds_nothing() -> None:
    """Statics takes the rest of the states: the damper has given way."""
    model = mbs.Model()
    mass = model.add_node((0, 1, 0))
    model.fix(mass, translation=False)
    model.add(PointMass(mass, 1.0))
    model.add(Maxwell(model.ground, mass, K, ETA))
    with pytest.raises(mbs.SingularSystemError, match="node 'node 1' can move without resistance"):
        mbs.statics(model, 1.0)


@pytest.mark.slow
def test_variable_steps_watch_the_state() -> None:
    """Its error is that of the tolerance, though no node moves."""
    for tolerance in (1e-5, 1e-6):
        model, element = relaxing("SE3", free_length=0.1)
        solution = mbs.simulate(model, 2.0, mbs.VariableStep(tolerance), mbs.GeneralizedAlpha(0.8))
        exact = 1 - np.exp(-solution.t * K / ETA)
        error = np.abs(solution.internal_variables(element, "damper") - exact).max()
        assert 0.1 * tolerance < error < tolerance


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, 1.0), "Maxwell on node 'ground', node 'node 1': stiffness must be a positive number, received 0.0"),
        ((1.0, -2.0), "viscosity must be a positive number, received -2.0"),
        ((1.0, np.nan), "viscosity must be a positive number, received nan"),
    ],
)
def test_bad_input_is_refused(arguments: tuple[float, ...], message: str) -> None:
    model = mbs.Model()
    node = model.add_node((1, 0, 0))
    with pytest.raises(mbs.ModelError, match=message):
        Maxwell(model.ground, node, *arguments)
    with pytest.raises(mbs.ModelError, match="free_length must be a positive number, received 0.0"):
        Maxwell(model.ground, node, 1.0, 1.0, free_length=0.0)
