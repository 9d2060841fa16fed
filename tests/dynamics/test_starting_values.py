"""Perturbed starting values: multipliers of second order from the first step, and nothing asked before t = 0."""

from __future__ import annotations

import numpy as np
import pytest
from catalogue import GROUPS
from models import FORMULATIONS, machine
from motions import fitted_order

import fem_mbs as mbs
from examples.reproduce_2015 import run_top, top
from fem_mbs.arrays import Array
from fem_mbs.elements import Force, RevoluteJoint, RigidBody
from fem_mbs.integrate import chung_hulbert
from fem_mbs.solve import accelerations

SHIFT = chung_hulbert(0.9).shift


def perturbed(system: mbs.System, h: float, formulation: str = "index3") -> mbs.State:
    return mbs.start(system, mbs.GeneralizedAlpha(0.9, formulation, "perturbed"), h)


def shifted_acceleration(model: mbs.Model, t: float) -> Array:
    """``vdot(t)`` near the start, of a motion within the joints that is right to third order in ``t``."""
    system = mbs.System(model)
    state, count = mbs.start(system, mbs.GeneralizedAlpha()), 20
    for _ in range(count):
        # classical Runge-Kutta on the accelerations of index 1
        h, (x, R, v) = t / count, (state.x, state.R, state.v)
        k1 = accelerations(system, state.t, x, R, v)[0]
        x2, R2 = system.kinematics.retract(x, R, 0.5 * h * v + h * h / 8 * k1)
        k2 = accelerations(system, state.t + h / 2, x2, R2, v + h / 2 * k1)[0]
        x3, R3 = system.kinematics.retract(x, R, h * v + 0.5 * h * h * k2)
        k3 = accelerations(system, state.t + h, x3, R3, v + h * k2)[0]
        state = mbs.State(state.t + h, x3, R3, v + h * (k1 + 4 * k2 + k3) / 6, k3, k3, state.multipliers)
    return accelerations(system, state.t, state.x, state.R, state.v)[0]


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_acceleration_stands_for_a_shifted_instant(group: str, formulation: str) -> None:
    """``a_0 = vdot(Delta_alpha h) + O(h^2)``; the shift goes into the past, so it is mirrored at the start."""
    steps, errors = 1e-3 / 2.0 ** np.arange(3), []
    for h in steps:
        state = perturbed(mbs.System(top(group)), h, formulation)
        ahead = shifted_acceleration(top(group), -SHIFT * h)
        mirrored = 2.0 * state.vdot - state.a
        errors.append(np.abs(mirrored - ahead).max())
        assert errors[-1] < 0.2 * np.abs(state.a - state.vdot).max()
    assert fitted_order(steps, errors) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize(("formulation", "kind", "order"), [
    ("index3", "consistent", 1),
    ("index3", "shifted", 1),
    ("index3", "perturbed", 2),
    ("index2", "shifted", 2),
])  # fmt: skip
def test_order_of_the_multiplier_in_the_transient(formulation: str, kind: str, order: int) -> None:
    """Heavy top on R3xSO3, the first 0.05 s: 2015 paper, Figs. 16, 17, 18."""
    steps = np.array([1e-3, 5e-4, 2.5e-4])
    errors = [run_top("R3xSO3", h, 0.05, formulation, kind).multiplier.max() for h in steps]
    assert fitted_order(steps, errors) == pytest.approx(order, abs=0.1)


@pytest.mark.parametrize("group", GROUPS)
def test_velocity_is_perturbed_for_index_3_only_and_by_second_order(group: str) -> None:
    system = mbs.System(machine(group, drive=lambda t: 0.5 * t**2 + t**3))
    consistent = mbs.start(system, mbs.GeneralizedAlpha())
    changes = [np.abs(perturbed(system, h).v - consistent.v).max() for h in (2e-2, 1e-2)]
    assert changes[1] > 0.0
    assert np.log2(changes[0] / changes[1]) == pytest.approx(2.0, abs=0.1)
    state = perturbed(system, 1e-2, "index2")
    np.testing.assert_array_equal(state.v, consistent.v)
    for name in ("x", "R", "vdot", "multipliers"):
        np.testing.assert_array_equal(getattr(state, name), getattr(consistent, name))


def test_heavy_top_on_se3_needs_no_perturbed_velocity() -> None:
    """``B vddot = 0`` and ``B bracket(v) vdot = 0`` there (2015 paper, example 4.19)."""
    system = mbs.System(top("SE3"))
    change = perturbed(system, 1e-3).v - mbs.start(system, mbs.GeneralizedAlpha()).v
    world = mbs.System(top("R3xSO3"))
    compared = perturbed(world, 1e-3).v - mbs.start(world, mbs.GeneralizedAlpha()).v
    assert np.abs(compared).max() > 1e-3
    assert np.abs(change).max() < 1e-9


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_start_without_a_step_says_what_is_missing(formulation: str) -> None:
    method = mbs.GeneralizedAlpha(0.9, formulation, "perturbed")
    with pytest.raises(mbs.ModelError, match="start: h, the first step, which perturbed starting values depend on"):
        mbs.start(mbs.System(top("SE3")), method)
    with pytest.raises(mbs.ModelError, match="first step"):
        mbs.start(mbs.System(top("SE3")), method, 0.0)


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
