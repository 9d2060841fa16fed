"""Perturbed starting values: multipliers of second order from the first step, and nothing asked before t = 0."""

from __future__ import annotations

import numpy as np
import pytest
from catalogue import GROUPS
from models import FORMULATIONS, machine
from motions import fitted_order

import fem_mbs as mbs
from examples.reproduce_2015 import run_top
from fem_mbs.alpha.newmark import AlphaMemory, chung_hulbert
from fem_mbs.arrays import Array
from fem_mbs.benchmarks.tops import top_on_joint as top
from fem_mbs.elements import Force, RevoluteJoint, RigidBody
from fem_mbs.initial.consistent_start import accelerations
from fem_mbs.initial.state_point import StatePoint, place_of

SHIFT = chung_hulbert(0.9).shift


def perturbed(system: mbs.System, h: float, formulation: str = "index3") -> tuple[mbs.State, AlphaMemory]:
    """The consistent state, and the starting values for a step of ``h``."""
    state = mbs.start(system)
    return state, mbs.GeneralizedAlpha(0.9, formulation, "perturbed").init(system, state, h)


def shifted_acceleration(model: mbs.Model, t: float) -> Array:
    """``vdot(t)`` near the start, of a motion within the joints that is right to third order in ``t``."""
    system = mbs.System(model)
    place, count = place_of(mbs.start(system)), 20
    for _ in range(count):
        # classical Runge-Kutta on the accelerations of index 1
        h, (t0, x, R, v, *own) = t / count, place
        k1 = accelerations(system, place).vdot
        x2, R2 = system.kinematics.retract(x, R, 0.5 * h * v + h * h / 8 * k1)
        k2 = accelerations(system, StatePoint(t0 + h / 2, x2, R2, v + h / 2 * k1, *own)).vdot
        x3, R3 = system.kinematics.retract(x, R, h * v + 0.5 * h * h * k2)
        k3 = accelerations(system, StatePoint(t0 + h, x3, R3, v + h * k2, *own)).vdot
        place = StatePoint(t0 + h, x3, R3, v + h * (k1 + 4 * k2 + k3) / 6, *own)
    return accelerations(system, place).vdot


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_acceleration_stands_for_a_shifted_instant(group: str, formulation: str) -> None:
    """``a_0 = vdot(Delta_alpha h) + O(h^2)``; the shift goes into the past, so it is mirrored at the start."""
    steps, errors = 1e-3 / 2.0 ** np.arange(3), []
    for h in steps:
        state, memory = perturbed(mbs.System(top(group)), h, formulation)
        ahead, a = shifted_acceleration(top(group), -SHIFT * h), memory.a.reshape(-1, 6)
        mirrored = 2.0 * state.vdot - a
        errors.append(np.abs(mirrored - ahead).max())
        assert errors[-1] < 0.2 * np.abs(a - state.vdot).max()
    assert fitted_order(steps, errors) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize(("formulation", "kind", "order"), [
    ("index3", "consistent", 1),
    pytest.param("index3", "shifted", 1, marks=pytest.mark.slow),
    pytest.param("index3", "perturbed", 2, marks=pytest.mark.slow),
    ("index2", "shifted", 2),
])  # fmt: skip
def test_order_of_the_multiplier_in_the_transient(formulation: str, kind: str, order: int) -> None:
    """Heavy top on R3xSO3, the first 0.05 s: 2015 paper, Figs. 16, 17, 18."""
    steps = np.array([1e-3, 5e-4, 2.5e-4])
    errors = [run_top("R3xSO3", h, 0.03, formulation, kind).multiplier.max() for h in steps]
    assert fitted_order(steps, errors) == pytest.approx(order, abs=0.1)


@pytest.mark.parametrize("group", GROUPS)
def test_velocity_is_perturbed_for_index_3_only_and_by_second_order(group: str) -> None:
    system = mbs.System(machine(group, drive=lambda t: 0.5 * t**2 + t**3))
    changes = [np.abs(perturbed(system, h)[1].velocity_perturbation).max() for h in (2e-2, 1e-2)]
    assert changes[1] > 0.0
    assert np.log2(changes[0] / changes[1]) == pytest.approx(2.0, abs=0.1)
    assert not perturbed(system, 1e-2, "index2")[1].velocity_perturbation.any()


def test_heavy_top_on_se3_needs_no_perturbed_velocity() -> None:
    """``B vddot = 0`` and ``B bracket(v) vdot = 0`` there (2015 paper, example 4.19)."""
    memories = [perturbed(mbs.System(top(group)), 1e-3)[1] for group in ("R3xSO3", "SE3")]
    first, second = (np.abs(memory.velocity_perturbation).max() for memory in memories)
    assert first > 1e-3
    assert second < 1e-9


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_first_step_without_a_length_says_what_is_missing(formulation: str) -> None:
    system = mbs.System(top("SE3"))
    for h in (None, 0.0):
        with pytest.raises(mbs.ModelError, match="GeneralizedAlpha.init: h must be a"):
            perturbed(system, h, formulation)  # type: ignore[arg-type]


def test_another_first_step_than_announced_has_its_own_starting_values() -> None:
    system, method = mbs.System(top("R3xSO3")), mbs.GeneralizedAlpha(0.9, "index3", "perturbed")
    state, memory = perturbed(system, 1e-3)
    announced = method.step(system, state, 5e-4, memory).state
    np.testing.assert_array_equal(announced.v, method.step(system, state, 5e-4, perturbed(system, 5e-4)[1]).state.v)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_loads_and_drives_are_never_asked_before_the_start(formulation: str) -> None:
    asked: list[float] = []

    def drive(t: float) -> float:
        asked.append(t)
        return 0.5 * t**2

    def load(t: float) -> tuple[float, float, float]:
        asked.append(t)
        return (np.sqrt(t), 0.0, 0.0)

    model = mbs.Model()
    body = model.add_node((1, 0, 0))
    model.add(RigidBody(body, 1.0, (1, 1, 1)))
    model.add(RevoluteJoint(model.ground, body, (0, 0, 1), point=(0, 0, 0), drive=drive))
    model.add(Force(body, load))
    mbs.simulate(model, 0.1, 0.01, mbs.GeneralizedAlpha(0.9, formulation, "perturbed"))
    assert min(asked) == 0.0 and max(asked) > 0.1 - 1e-9
