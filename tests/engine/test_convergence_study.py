"""A convergence study finds the errors and orders that the theory and a look at the runs say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from catalogue import GROUPS

import fem_mbs as mbs
from fem_mbs.benchmarks.tops import top_on_joint as top
from fem_mbs.elements import Force, RigidBody, SphericalJoint
from fem_mbs.lie import so3
from fem_mbs.run import convergence
from fem_mbs.run.convergence import fitted_order

COMPONENTS = ["position", "rotation", "velocity", "multipliers"]
STEPS = np.array([0.02, 0.01, 0.005])
METHOD = mbs.GeneralizedAlpha(0.8)


def pendulum(group: str = "R3xSO3") -> mbs.Model:
    """Two bodies on ball joints, swinging in space."""
    model = mbs.Model("R3xSO3" if group == "mixed" else group, gravity=(0, 0, -9.81))
    upper = model.add_node((1, 0, 0), velocity=(0, 1, 0), angular_velocity=(0, 0, 1))
    lower = model.add_node(
        (2, 0, 0), velocity=(0, 2, 0), angular_velocity=(0, 0, 1), group="SE3" if group == "mixed" else None
    )
    for node in (upper, lower):
        model.add(RigidBody(node, 1.0, (0.1, 0.2, 0.25)))
    model.add(SphericalJoint(model.ground, upper, point=(0, 0, 0)))
    model.add(SphericalJoint(upper, lower, point=(1.5, 0, 0)))
    return model


@pytest.mark.one
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("formulation", ["stabilized", "index3", pytest.param("index2", marks=pytest.mark.slow)])
def test_order_of_the_method(group: str, formulation: str) -> None:
    """Two, with starting values that fit; the error of the reference, a fifth of the smallest step, is 4 percent."""
    method = mbs.GeneralizedAlpha(0.8, formulation, "perturbed")
    study = mbs.convergence_study(lambda: pendulum(group), method, STEPS, reference=STEPS[-1] / 5, t_end=0.4)
    assert list(study.errors) == list(study.orders) == COMPONENTS
    np.testing.assert_allclose(list(study.orders.values()), 2.0, atol=0.1)
    np.testing.assert_array_equal(study.steps, STEPS)
    assert study.interval == (0.0, 0.4)


@pytest.mark.slow
def test_multipliers_lose_an_order_at_the_start_alone() -> None:
    """Order 1 over the whole run, 2 once ``rho_inf^n`` has taken the transient away (2015 paper, section 3.3)."""
    arguments: Any = (top, mbs.GeneralizedAlpha(0.6, start="consistent"), [2e-3, 1e-3, 5e-4], 1e-4)
    whole = mbs.convergence_study(*arguments, t_end=0.1).orders
    later = mbs.convergence_study(*arguments, t_end=0.1, interval=(0.06, 0.1)).orders
    assert whole["multipliers"] == pytest.approx(1.0, abs=0.1)
    np.testing.assert_allclose([whole[name] for name in COMPONENTS[:3]], 2.0, atol=0.1)
    np.testing.assert_allclose(list(later.values()), 2.0, atol=0.1)


@pytest.mark.parametrize("group", GROUPS)
def test_errors_are_what_they_are_called(group: str) -> None:
    """At the end alone, looked up in the runs."""
    fine, coarse = (mbs.simulate(pendulum(group), 0.2, h, METHOD) for h in (0.002, 0.01))
    study = mbs.convergence_study(lambda: pendulum(group), METHOD, [0.01], fine, interval=(0.2, 0.2))
    angle = np.linalg.norm(so3.log(fine.R[-1].mT @ coarse.R[-1]), axis=-1)
    expected = [
        np.linalg.norm(coarse.x[-1] - fine.x[-1], axis=-1).max(),
        angle.max(),
        np.abs(coarse.v[-1] - fine.v[-1]).max(),
        np.abs(coarse.multipliers_all[-1] - fine.multipliers_all[-1]).max(),
    ]
    # an interpolated state is exact at its ends to 1e-15, the smallest error is 2e-5
    np.testing.assert_allclose([error[0] for error in study.errors.values()], expected, rtol=1e-9)
    assert np.isnan(list(study.orders.values())).all()


def test_largest_error_of_the_interval_is_taken() -> None:
    fine, coarse = (mbs.simulate(pendulum(), 0.3, h, METHOD) for h in (0.002, 0.02))
    study = mbs.convergence_study(pendulum, METHOD, [0.02], fine, interval=(0.1, 0.2))
    distance = np.linalg.norm(coarse.x - fine.x[::10], axis=-1).max(axis=1)
    assert study.errors["position"][0] == pytest.approx(distance[5:11].max(), rel=1e-12)


@pytest.mark.parametrize("group", GROUPS)
def test_states_of_the_reference_are_used_where_it_has_them(group: str) -> None:
    """A run has no error against itself beyond rounding, and rounding has no order."""
    reference = mbs.simulate(pendulum(group), 0.3, 0.01, METHOD)
    study = mbs.convergence_study(lambda: pendulum(group), METHOD, [0.02, 0.01], reference)
    scale = dict(zip(COMPONENTS, (1.0, 1.0, 1.0, np.abs(reference.multipliers_all).max()), strict=True))
    for name, errors in study.errors.items():
        assert errors[1] < 1e-13 * scale[name] < 1e-6 * errors[0]
    assert np.isnan(list(study.orders.values())).all()


def test_reference_is_a_step_or_a_solution() -> None:
    reference = mbs.simulate(pendulum(), 0.2, 0.001, METHOD)
    by_solution = mbs.convergence_study(pendulum, METHOD, STEPS, reference)
    by_step = mbs.convergence_study(pendulum, METHOD, STEPS, 0.001, t_end=0.2)
    shorter = mbs.convergence_study(pendulum, METHOD, STEPS, reference, t_end=0.1)
    for name in COMPONENTS:
        np.testing.assert_array_equal(by_step.errors[name], by_solution.errors[name])
        assert (shorter.errors[name] <= by_solution.errors[name]).all()
    assert (shorter.errors["position"] < by_solution.errors["position"]).all()


@pytest.mark.ci
def test_reference_on_another_group() -> None:
    """Velocities are compared in the components of the run; both groups approach the same motion."""
    reference = mbs.simulate(pendulum("SE3"), 0.3, 5e-4, METHOD)
    study = mbs.convergence_study(lambda: pendulum("mixed"), METHOD, STEPS, reference)
    np.testing.assert_allclose([study.orders[name] for name in COMPONENTS[:3]], 2.0, atol=0.1)


def test_steps_need_not_divide_anything() -> None:
    """Then the reference is interpolated, and the last step of a run is shorter."""
    steps = [0.0173, 0.0091, 0.0047]
    study = mbs.convergence_study(pendulum, METHOD, steps, 0.00053, t_end=0.2)
    np.testing.assert_allclose([study.orders[name] for name in COMPONENTS[:3]], 2.0, atol=0.15)


def test_motions_without_error_have_no_order() -> None:
    def flight() -> mbs.Model:
        model = mbs.Model()
        node = model.add_node((0, 0, 0), velocity=(1, 2, 3), angular_velocity=(0, 0, 2))
        model.add(RigidBody(node, 1.0, (1, 1, 1)))
        return model

    study = mbs.convergence_study(flight, METHOD, STEPS, 0.001, t_end=0.1)
    assert all(errors.max() < 1e-12 for errors in study.errors.values())
    assert np.isnan(list(study.orders.values())).all()
    assert str(study).splitlines()[-1].split() == ["order", *4 * ["nan"]]


@pytest.mark.parametrize("order", [1.0, 2.0, 3.5])
def test_fitted_order_of_a_power(order: float) -> None:
    assert fitted_order(STEPS, 7e-3 * STEPS**order) == pytest.approx(order, abs=1e-12)


@pytest.mark.parametrize(
    ("steps", "errors"), [([], []), ([0.1], [1.0]), ([0.1, 0.1], [1.0, 2.0]), ([0.2, 0.1], [1.0, 0.0])]
)
def test_no_order_without_two_errors(steps: list[float], errors: list[float]) -> None:
    assert np.isnan(fitted_order(np.array(steps), np.array(errors)))


def test_table() -> None:
    errors = {name: 10.0**-k * STEPS**2 for k, name in enumerate(COMPONENTS)} | {"multipliers": np.zeros(3)}
    orders = dict(zip(COMPONENTS, (2.0, 2.0, 2.0, float("nan")), strict=True))
    study = mbs.ConvergenceStudy(STEPS, errors, orders, (0.0, 1.0))
    title, head, *rows = str(study).splitlines()
    assert title == "Largest errors for t in [0, 1] s"
    assert head.split() == "step (s) position (m) rotation (rad) velocity (m/s, rad/s) multipliers (N, N m)".split()
    assert rows[1].split() == ["0.01", "1.00e-04", "1.00e-05", "1.00e-06", "0.00e+00"]
    assert rows[3].split() == ["order", "2.00", "2.00", "2.00", "nan"]
    assert len({len(row) for row in (head, *rows)}) == 1


GOOD: dict[str, Any] = dict(model_factory=pendulum, method=METHOD, steps=STEPS, reference=0.001, t_end=1.0)
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a model": ({"model_factory": pendulum()}, "model_factory must be a function, received"),
    "no model": ({"model_factory": lambda: None}, "what model_factory returns must be a Model, received None"),
    "no steps": ({"steps": []}, "steps must be a list of positive numbers of seconds, received []"),
    "one step": ({"steps": 0.1}, "steps must be a list of positive numbers of seconds, received 0.1"),
    "step zero": ({"steps": [0.1, 0.0]}, "steps must be a list of positive numbers of seconds, received [0.1, 0.0]"),
    "step nan": ({"steps": [0.1, np.nan]}, "steps must be a list of positive numbers of seconds"),
    "step text": ({"steps": "fine"}, "steps must be a list of positive numbers of seconds, received 'fine'"),
    "step beyond the end": ({"steps": [2.0, 0.1]}, "a step of 2 s is longer than the run, t_end = 1 s"),
    "coarse reference": (
        {"reference": 0.005},
        "reference must be a smaller step than all others, received 0.005 s for",
    ),
    "negative reference": ({"reference": -1e-3}, "reference, a step in s or a Solution, must be a positive number"),
    "reference text": ({"reference": "exact"}, "reference, a step in s or a Solution, must be a number, received 'exa"),
    "no end": ({"t_end": None}, "t_end is missing; only a Solution as the reference has an end of its own"),
    "end negative": ({"t_end": -1.0}, "t_end must be a positive number of seconds, received -1.0"),
    "interval of one": ({"interval": 0.5}, "interval must be two ascending times from 0 to t_end = 1 s, received 0.5"),
    "interval turned": ({"interval": (0.5, 0.2)}, "interval must be two ascending times"),
    "interval beyond": ({"interval": (0.5, 1.2)}, "from 0 to t_end = 1 s, received (0.5, 1.2)"),
    "interval nan": ({"interval": (np.nan, 1.0)}, "interval must be two ascending times"),
    "interval between states": (
        {"interval": (0.501, 0.509)},
        "steps of 0.02 s have no state in the interval from 0.501 s to 0.509 s",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_before_a_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convergence, "simulate", None)
    changes, words = BAD[name]
    with pytest.raises(mbs.ModelError) as refusal:
        mbs.convergence_study(**GOOD | changes)
    assert words in str(refusal.value)


def test_reference_must_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    reference = mbs.simulate(top(), 0.01, 0.001)
    monkeypatch.setattr(convergence, "simulate", None)
    with pytest.raises(mbs.ModelError) as refusal:
        mbs.convergence_study(pendulum, METHOD, [0.002], reference)
    assert "the model has 3 nodes and 6 constraint equations, the reference 2 and 3" in str(refusal.value)
    with pytest.raises(mbs.ModelError, match="t_end = 1 s is beyond the reference, which ends at 0.01 s"):
        mbs.convergence_study(top, METHOD, [0.002], reference, t_end=1.0)


def test_factory_must_build_one_model() -> None:
    sizes = iter([top, top, pendulum])
    with pytest.raises(mbs.ModelError, match="the model has 3 nodes and 6 constraint equations, the reference 2 and 3"):
        mbs.convergence_study(lambda: next(sizes)(), METHOD, [0.002, 0.001], 0.0005, t_end=0.01)


def test_interrupt_ends_the_study() -> None:
    """A run returns what it has when it is interrupted, which has no errors to tell."""
    calls = []

    def stop(t: float) -> tuple[float, float, float]:
        calls.append(t)
        if t > 0.05:
            raise KeyboardInterrupt
        return 0.0, 0.0, 0.0

    def interrupted() -> mbs.Model:
        model = pendulum()
        model.add(Force(model.nodes[1], stop))
        return model

    with pytest.raises(KeyboardInterrupt):
        mbs.convergence_study(interrupted, METHOD, STEPS, 0.001, t_end=0.1)
    assert max(calls) < 0.07  # the first run alone, whose step is 0.02 s


def test_study_is_frozen() -> None:
    study = mbs.ConvergenceStudy(STEPS, {}, {}, (0.0, 1.0))
    with pytest.raises(AttributeError):
        study.steps = np.zeros(3)  # type: ignore[misc]
