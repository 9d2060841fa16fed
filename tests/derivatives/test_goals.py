"""Goals, their gradients forwards and backwards, optimisation, identification."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import least_squares, minimize

import fem_mbs as mbs
from fem_mbs.derivatives import direct, fit, objective
from fem_mbs.elements import (
    CylindricalJoint,
    FrictionSpring,
    JointSpring,
    Moment,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
    SpringDamper,
)
from tests.catalogue import EVERYTHING
from tests.derivatives.test_direct import Given, angle, arm, cantilever, rod, two
from tests.derivatives.varied import END, FOLLOWS_HISTORY, STEP, builder, scale


def top(mass: float = 15.0, length: float = 1.0, spin: float = 150.0, group: str = "R3xSO3") -> mbs.Model:
    """The heavy top."""
    model = mbs.Model(group=group, gravity=(0, 0, -9.81))
    node = model.add_node((0, length, 0), angular_velocity=(0, spin, -4.6), name="tip")
    model.add(RigidBody(node, mass, (0.234375, 0.46875, 0.234375)))
    model.add(SphericalJoint(model.ground, node, point=(0, 0, 0)), name="joint")
    mbs.project_velocities(model)
    return model


GOALS = [
    mbs.Final(lambda s: s.position("tip")[:, 0]),
    mbs.Integral(lambda s: (s.velocity("tip") ** 2).sum(axis=1)),
    mbs.KS(lambda s: np.linalg.norm(s.reaction(s.model.constraints[0])[0], axis=1), 0.05),
    mbs.PNorm(lambda s: s.acceleration("tip")[:, 2], 4.0),
    mbs.Misfit(lambda s: s.energy.kinetic, [0.013, 0.03], [1.0, 2.0], 0.5),
]


@pytest.mark.one
@pytest.mark.parametrize("formulation", ["stabilized", "index3"])
@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_adjoint_is_direct(formulation: str, group: str) -> None:
    """Backwards along the run the same numbers come out, of all kinds of goals at once."""
    method, p = mbs.GeneralizedAlpha(0.8, formulation), [15.0, 1.0, 150.0]

    def build(**values: float) -> mbs.Model:
        return top(**values, group=group)

    adjoint, direct = (
        mbs.objective(
            build, GOALS, dict.fromkeys(("mass", "length", "spin"), 1.0), 0.05, 0.002, method=method, how=how
        )(p)
        for how in ("adjoint", "direct")
    )
    np.testing.assert_allclose(adjoint[0], direct[0], rtol=1e-9)
    assert (np.abs(adjoint[1] - direct[1]).max(axis=1) <= 1e-8 * np.abs(direct[1]).max(axis=1)).all()


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_what_looks_from_one_instant_to_another_is_told_in_any_unit(unit: float) -> None:
    """Backwards along the run, signals are asked at single instants."""
    options: dict[str, Any] = {"how": "adjoint"}
    forwards = mbs.objective(top, mbs.Final(lambda s: s.position("tip")[:, 2]), ["mass"], 0.02, 0.002, how="direct")
    single = mbs.objective(top, mbs.Final(lambda s: unit * s.position("tip")[:, 2]), ["mass"], 0.02, 0.002, **options)
    np.testing.assert_allclose(single([15.0])[1], unit * forwards([15.0])[1], rtol=1e-9)
    ahead = mbs.Final(lambda s: unit * (s.position("tip")[:, 2] - s.position("tip")[0, 2]))
    with pytest.raises(mbs.ModelError, match="must not look from one instant to another"):
        mbs.objective(top, ahead, ["mass"], 0.02, 0.002, **options)([15.0])


PARTS = [pytest.param(name, marks=[] if name in ("Maxwell", "gears") else [pytest.mark.slow]) for name in EVERYTHING]


@pytest.mark.ci
@pytest.mark.parametrize("name", PARTS)
def test_adjoint_of_every_class(name: str) -> None:
    """Or it says by name why there is none: history that forces depend on, contacts."""
    build, values = builder(("R3xSO3", "SE3", "mixed")[len(name) % 3], name)
    p = np.concatenate([np.ravel(value) for value in values.values()])
    goal = mbs.Integral(lambda s: (s.velocity(s.model.nodes[-1]) ** 2).sum(axis=1))
    options: dict[str, Any] = {"scale": scale(values)}
    try:
        value, gradient = mbs.objective(build, goal, values, END, STEP, how="adjoint", **options)(p)
    except mbs.ModelError as error:
        assert "open and close" in str(error) or name in FOLLOWS_HISTORY and "keeps its value" in str(error)
        return
    expected, other = mbs.objective(build, goal, values, END, STEP, how="direct", **options)(p)
    np.testing.assert_allclose(value, expected, rtol=1e-9)
    np.testing.assert_allclose(gradient, other, rtol=1e-6, atol=1e-8 * np.abs(other).max())


@pytest.mark.ci
def test_adjoint_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the states in a file, and through many checkpoints, to the bit."""
    monkeypatch.setattr(objective, "TOGETHER", 1)
    goal = mbs.Integral(lambda s: s.position("tip")[:, 2])
    kept, stored = (
        mbs.objective(top, goal, ["mass", "spin"], 0.04, 0.002, how="adjoint", **options)([15.0, 150.0])
        for options in ({}, {"store": tmp_path / "run.db"})
    )
    assert kept[0] == stored[0] and (kept[1] == stored[1]).all()


def slipping(limit: float = 1.5) -> mbs.Model:
    """A spring whose free length is a history."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    bob = model.add_node((0, 0, -1), name="tip")
    model.add(RigidBody(bob, 1.0, (0.1, 0.1, 0.1)))
    model.add(FrictionSpring(model.ground, bob, 70.0, limit))
    return model


TIP = [
    mbs.Final(lambda s: s.position("tip")[:, 2]),
    mbs.Integral(lambda s: (s.velocity("tip") ** 2).sum(axis=1)),
    mbs.KS(lambda s: s.acceleration("tip")[:, 2], 1.0),
]


@pytest.mark.ci
@pytest.mark.parametrize(
    ("build", "names", "t_end", "step"),
    [
        (top, ("mass", "spin"), 0.051, 0.002),
        (arm, ("mass", "load"), 0.26, 0.02),
        (cantilever, ("EI", "length", "load"), 0.08, 0.01),
        (top, ("mass", "spin"), 0.05, mbs.VariableStep(1e-2)),
    ],
)
def test_adjoint_of_steps_of_many_lengths(build: Any, names: tuple[str, ...], t_end: float, step: Any) -> None:
    """A load that is switched, a stop that is met, a last step that is shorter."""
    p = [float(inspect.signature(build).parameters[name].default) for name in names]
    adjoint, direct = (mbs.objective(build, TIP, names, t_end, step, how=how)(p) for how in ("adjoint", "direct"))
    np.testing.assert_allclose(adjoint[0], direct[0], rtol=1e-12)
    assert (np.abs(adjoint[1] - direct[1]).max(axis=1) <= 1e-8 * np.abs(direct[1]).max(axis=1)).all()


@pytest.mark.ci
def test_lengths_that_differ_by_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    """As late in long runs, where those of time are a share of a step: they are linearised together."""
    monkeypatch.setattr(Given, "lengths", 4 * (1, 1 + 1e-8, 1 - 1e-8))
    monkeypatch.setattr(direct, "FixedStep", Given)
    adjoint, forwards = (
        mbs.objective(top, TIP, ["mass", "spin"], 0.03, 0.002, how=how)([15.0, 150.0])[1]
        for how in ("adjoint", "direct")
    )
    assert (np.abs(adjoint - forwards).max(axis=1) <= 1e-8 * np.abs(forwards).max(axis=1)).all()


@pytest.mark.ci
def test_checkpoints_do_not_change_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of goals that depend on all instants, gone back to one checkpoint or to several."""
    found = []
    for together in (objective.TOGETHER, 4):
        monkeypatch.setattr(objective, "TOGETHER", together)
        own = mbs.objective(top, GOALS[1], ["mass", "length"], 0.02, 0.001, how="adjoint")
        found.append(own.gradient([15.0, 1.0]))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)


def test_what_has_no_adjoint() -> None:
    """Named, with what has."""
    with pytest.raises(mbs.ModelError, match="'free length' of FrictionSpring.* keeps its value"):
        mbs.objective(slipping, TIP[0], ["limit"], 0.2, 0.01, how="adjoint")([1.5])


def wheel(speed: float = 30.0, damping: float = 0.1) -> mbs.Model:
    """A body that turns several times on a hinge with a damper."""
    model = mbs.Model()
    rim = model.add_node((0, 0, 0), angular_velocity=(0, 0, speed))
    model.add(RigidBody(rim, 1.0, (0.1, 0.1, 0.2)))
    hinge = model.add(RevoluteJoint(model.ground, rim, (0, 0, 1)), name="hinge")
    model.add(JointSpring(hinge, 0.0, damping))
    return model


@pytest.mark.ci
def test_turns_and_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole turns count in the goals, also where the signal is asked piece by piece."""
    goals = [mbs.Integral(lambda s: s.coordinate("hinge") ** 2), mbs.Final("hinge")]
    f = mbs.objective(wheel, goals, ["speed", "damping"], 0.2, 0.01, how="adjoint")
    value, jacobian = f([30.0, 0.1])
    monkeypatch.setattr("fem_mbs.derivatives.goals.TOGETHER", 500)
    again = mbs.objective(wheel, goals, ["speed", "damping"], 0.2, 0.01, how="adjoint")([30.0, 0.1])
    np.testing.assert_allclose(again[0], value, rtol=1e-13)
    np.testing.assert_allclose(again[1], jacobian, rtol=1e-12)
    # J w' = -c w; the method errs by (c h/J)^2/12 of it
    fade = 0.2 * (1.0 - np.exp(-0.1)) / 0.1
    np.testing.assert_allclose([value[1], 30.0 * jacobian[1, 0]], 30.0 * fade, rtol=3e-6)

    def on_shaft(travel: float = 2.0) -> mbs.Model:
        model = mbs.Model()
        rim = model.add_node((0, 0, 0), velocity=(0, 0, travel), angular_velocity=(0, 0, 30.0))
        model.add(RigidBody(rim, 1.0, (0.1, 0.1, 0.2)))
        model.add(CylindricalJoint(model.ground, rim, (0, 0, 1)), name="shaft")
        return model

    # what is no angle has no turns
    goal = mbs.Final(lambda s: s.coordinate("shaft") @ (1.0, 0.1))
    value, jacobian = mbs.objective(on_shaft, goal, ["travel"], 0.2, 0.01, how="adjoint")([2.0])
    np.testing.assert_allclose([value, *jacobian], [0.2 * 2.0 + 0.1 * 6.0, 0.2], rtol=1e-9)


def test_what_is_kept_is_kept() -> None:
    """Answers are the caller's own: what is written into them does not come back with the next call."""
    f = mbs.objective(wheel, [mbs.Final("hinge")], ["speed"], 0.1, 0.01)
    value, jacobian = f([30.0])
    kept = value.copy(), jacobian.copy()
    value[:], jacobian[:] = 0.0, 0.0
    np.testing.assert_array_equal(f.value([30.0]), kept[0])
    np.testing.assert_array_equal(f.gradient([30.0]), kept[1])


def test_signals_of_single_instants() -> None:
    """A signal that looks from one instant to another is refused by the adjoint, not by direct derivatives."""
    goal = mbs.Final(lambda s: np.cumsum(s.position("tip")[:, 0]))
    with pytest.raises(mbs.ModelError, match="must not look from one instant to another"):
        mbs.objective(top, goal, ["mass"], 0.05, 0.002, how="adjoint")([15.0])
    assert mbs.objective(top, goal, ["mass"], 0.05, 0.002, how="direct")([15.0])[1].shape == (1,)
    with pytest.raises(mbs.ModelError, match="signal must return one number, or as many, for each of the 26"):
        mbs.objective(top, mbs.Final(lambda s: 1.0), ["mass"], 0.05, 0.002)([15.0])
    with pytest.raises(mbs.ModelError, match="p must be 1 finite numbers, mass"):
        mbs.objective(top, goal, ["mass"], 0.05, 0.002)([15.0, 2.0])


@pytest.mark.parametrize("how", ["adjoint", "copies"])
def test_a_model_far_away_that_is_moved(how: str) -> None:
    """Its origin moves along: how far from a mark a stone lands that is thrown from there, and as fast, squared."""

    def thrown(place: float) -> mbs.Model:
        model = mbs.Model(gravity=(0, 0, -9.81))
        stone = model.add_node((1e6 + place, 0, 0), velocity=(2.0 * place, 0, 0), name="stone")
        model.add(RigidBody(stone, 1.0, (1, 1, 1)))
        model.add(RigidBody(model.add_node((1e6 + place, 3, 0)), 1.0, (1, 1, 1)))
        assert mbs.System(model).origin[0] == 1e6 + place
        return model

    goal = mbs.Final(lambda s: (s.position("stone")[:, 0] - 1e6) ** 2)
    slope = mbs.objective(thrown, goal, ["place"], 0.5, 0.1, how=how).gradient([1.0])
    np.testing.assert_allclose(slope, 8.0, rtol=1e-4)  # rounding of places, over the steps of differences


@pytest.mark.parametrize(
    "goal",
    [
        mbs.Final(lambda s: s),
        mbs.Integral(lambda s: s),
        mbs.KS(lambda s: s, 3.0),
        mbs.PNorm(lambda s: s, 5.0),
        mbs.Misfit(lambda s: s, [0.05, 0.71], [[1.0, 2.0], [0.0, 1.0]], 0.3),
    ],
)
def test_slopes_of_goals(goal: mbs.Goal) -> None:
    """Against differences, of signals with several numbers and steps of several lengths."""
    rng = np.random.default_rng(4)
    t, y = np.cumsum(rng.uniform(0.1, 0.2, 6)) - 0.1, rng.normal(size=(6, 2))
    t[0] = 0.0
    numeric = np.zeros_like(y)
    for place in np.ndindex(y.shape):
        change = np.zeros_like(y)
        change[place] = 1e-6
        numeric[place] = (goal.value(t, y + change) - goal.value(t, y - change)) / 2e-6
    np.testing.assert_allclose(goal.slope(t, y), numeric, atol=1e-8)


def test_values_of_goals() -> None:
    """Of signals over unequal steps: an integral, and peaks of means over time."""
    t, y = np.array([0.0, 0.1, 0.4, 0.5, 1.5]), np.array([-1.0, 0.5, 3.0, -2.0, 1.0])
    mean = np.diff(t) / t[-1] @ (0.5 * (np.exp(3.0 * y[1:]) + np.exp(3.0 * y[:-1])))
    size = np.diff(t) / t[-1] @ (0.5 * (np.abs(y[1:]) ** 5 + np.abs(y[:-1]) ** 5))
    signal = lambda s: s  # noqa: E731
    found = [goal.value(t, y) for goal in (mbs.Integral(signal), mbs.KS(signal, 3.0), mbs.PNorm(signal, 5.0))]
    assert found == pytest.approx([np.trapezoid(y, t), np.log(mean) / 3.0, size**0.2], rel=1e-12)
    # a line between instants, over its standard deviation
    goal = mbs.Misfit(signal, [0.25, 1.25], [1.0, 1.0], [0.5, 2.0])
    assert goal.value(t, y) == pytest.approx(0.5 * ((0.75 / 0.5) ** 2 + (0.75 / 2.0) ** 2), rel=1e-12)


def oscillator(damping: float = 0.3) -> mbs.Model:
    """1 kg on a spring of 2 rad/s with a damping ratio, 0.5 m out at rest."""
    model = mbs.Model()
    mass = model.add_node((1.5, 0, 0), name="mass")
    model.add(RigidBody(mass, 1.0, (1.0, 1.0, 1.0)))
    model.add(SpringDamper(model.ground, mass, 4.0, 4.0 * damping, free_length=1.0))
    return model


@pytest.mark.slow
def test_optimum_of_a_damper() -> None:
    """The integral of x^2 is x0^2 (1 + 4 zeta^2)/(4 zeta omega), least at zeta = 1/2, but for errors of steps."""
    goal = mbs.Integral(lambda s: (s.position("mass")[:, 0] - 1.0) ** 2)
    f = mbs.objective(oscillator, goal, ["damping"], 12.0, 0.04)
    value, slope = f([0.3])
    assert abs(value - 0.1416666667) < 2e-4 and abs(slope[0] + 0.2222222222) < 2e-3
    found = minimize(f, [0.3], jac=True, bounds=[(0.05, 2.0)], options={"ftol": 1e-15, "gtol": 1e-9})
    assert abs(found.x[0] - 0.5) < 1e-3 and abs(f(found.x)[1][0]) < 1e-6 and f.evaluations < 20


def measured(step: float = 0.02, noise: float = 0.0, seed: int = 1) -> mbs.Misfit:
    """Angles of the rod over a second."""
    times = np.linspace(0.0, 1.0, 26)
    exact = mbs.simulate(rod(), 1.0, step).coordinate("hinge")
    data = np.interp(times, np.linspace(0.0, 1.0, len(exact)), exact)
    data = data + noise * np.random.default_rng(seed).normal(size=len(data))
    return mbs.Misfit(angle, times, data, noise or 1e-3)


@pytest.mark.slow
def test_a_fall_is_fitted_by_linear_regression() -> None:
    """Places follow gravity by ``t^2/2``: its best value, standard deviation and interval in closed form; by name."""

    def build(g: float) -> mbs.Model:
        model = mbs.Model(gravity=(0, 0, -g))
        bob = model.add_node((0, 0, 0))
        model.add(RigidBody(bob, 1.0, (1, 1, 1)))
        model.add(PrismaticJoint(model.ground, bob, (0, 0, 1)), name="fall")
        return model

    times, sigma = np.linspace(0.1, 1.0, 10), 0.01
    x, data = -0.5 * times**2, -0.5 * 9.81 * times**2 + sigma * np.random.default_rng(2).normal(size=10)
    found = mbs.fit(build, {"g": 5.0}, {"fall": (times, data, sigma)}, 1.0, 0.1)
    best, deviation = x @ data / (x @ x), sigma / np.sqrt(x @ x)
    assert found.parameters["g"] == pytest.approx(best, rel=1e-8)
    assert found.deviations == pytest.approx(deviation, rel=1e-6)
    wide = 1.8331129327 * deviation  # 95 % of Student's distribution with 9 degrees of freedom
    assert found.interval(0.9)["g"] == pytest.approx((best - wide, best + wide), rel=1e-8)
    left = np.sqrt(np.sum((data - best * x) ** 2) / 9)
    for without in ({"fall": (times, data)}, mbs.Misfit("fall", times, data)):
        alone = mbs.fit(build, {"g": 5.0}, without, 1.0, 0.1)
        assert alone.parameters["g"] == pytest.approx(best, rel=1e-8)
        assert alone.deviations == pytest.approx(left / np.sqrt(x @ x), rel=1e-6)
    # what was known before is one more value with a standard deviation
    weights = np.append(x / sigma, 1.0 / 0.01)
    known = mbs.fit(build, {"g": 5.0}, {"fall": (times, data, sigma)}, 1.0, 0.1, prior={"g": (9.7, 0.01)})
    both = weights @ np.append(data / sigma, 9.7 / 0.01) / (weights @ weights)
    assert known.parameters["g"] == pytest.approx(both, rel=1e-8)
    assert known.deviations == pytest.approx(1.0 / np.sqrt(weights @ weights), rel=1e-6)
    with pytest.raises(mbs.ModelError, match="must be times, values and their standard deviations"):
        mbs.fit(build, {"g": 5.0}, {"fall": (times,)}, 1.0, 0.1)


@pytest.mark.slow
def test_identified_from_exact_data() -> None:
    """Parameters come back, and the cost is nothing."""
    found = mbs.fit(rod, {"length": 0.8, "damping": 0.3}, measured(), 1.0, 0.02)
    assert abs(found.parameters["length"] - 0.9) < 1e-9 and abs(found.parameters["damping"] - 0.12) < 1e-8
    assert found.cost < 1e-10 and found.correlation.shape == (2, 2) and found.evaluations < 20


@pytest.mark.ci
def test_identified_from_noise() -> None:
    """True values lie within the intervals, residuals are of the size of the noise, a prior narrows both."""
    data = measured(0.04, 5e-3)
    found = mbs.fit(rod, {"length": 0.8, "damping": 0.3}, data, 1.0, 0.04, bounds={"damping": (0.0, 1.0)})
    together = found.covariance[0, 1] / np.prod(found.deviations)
    assert found.correlation == pytest.approx(np.array([[1.0, together], [together, 1.0]]), rel=1e-12)
    intervals = found.interval(0.99)
    assert intervals["length"][0] < 0.9 < intervals["length"][1]
    assert intervals["damping"][0] < 0.12 < intervals["damping"][1]
    assert 0.5 < np.mean(found.residuals**2) < 2.0 and "damping" in str(found)
    known = mbs.fit(rod, {"length": 0.8, "damping": 0.3}, data, 1.0, 0.04, prior={"damping": (0.12, 1e-3)})
    assert known.deviations[1] < 1e-3 < found.deviations[1]
    alone = mbs.fit(rod, found.parameters, replace(data, sigma=None), 1.0, 0.04)
    assert alone.values == pytest.approx(found.values, rel=1e-7)
    scaled = found.covariance * np.sum(found.residuals**2) / 24
    assert alone.covariance == pytest.approx(scaled, rel=1e-5) and alone.cost < 0.01 < found.cost


@pytest.mark.ci
def test_many_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """What flies up and what flies down come as far, which is all that is known well: the best of the starts is taken.

    There are as many as asked for, the first as given, all within their bounds.
    """

    def build(angle: float) -> mbs.Model:
        model = mbs.Model()
        flies = model.add_node((0, 0, 0), velocity=(np.cos(angle), 0.0, np.sin(angle)), name="stone")
        model.add(RigidBody(flies, 1.0, (1, 1, 1)))
        return model

    begun, attempt = [], fit._attempt
    monkeypatch.setattr(fit, "_attempt", lambda *given, start: begun.append(*start) or attempt(*given, start))
    data = mbs.Misfit(lambda s: s.position("stone")[:, ::2], [1.0], [(np.cos(0.5), np.sin(0.5))], [1e-3, 1.0])
    every = dict(t_end=1.0, step=0.5, bounds={"angle": (-1.5, 1.5)}, seed=3)
    assert mbs.fit(build, {"angle": -0.7}, data, **every).parameters["angle"] < 0.0
    found = mbs.fit(build, {"angle": -0.7}, data, **every, starts=4)
    assert abs(found.parameters["angle"] - 0.5) < 1e-6 and found.cost < 1e-10
    assert len(begun) == 4 and begun[0] == -0.7 and np.ptp(begun) < 3.0
    with pytest.raises(mbs.ModelError, match="give finite bounds"):
        mbs.fit(build, {"angle": -0.7}, data, 1.0, 0.5, starts=4)


@pytest.mark.ci
def test_fits_at_bounds_and_trials_that_a_model_refuses(caplog: pytest.LogCaptureFixture) -> None:
    """A start beyond its bounds is refused, a result at one is told, and a trial that no model takes is shortened."""
    refused = []

    def damped(damping: float) -> mbs.Model:
        if damping < 0.25:
            refused.append(damping)
            raise mbs.ModelError("too little")
        return oscillator(damping)

    times = [0.5, 1.0]
    exact = mbs.simulate(oscillator(), 1.0, 0.05).position("mass")[[10, 20], 0]
    data = mbs.Misfit(lambda s: s.position("mass")[:, 0], times, exact, 1e-3)
    for bounds, words in (
        ((0.5, 1.0), "damping must start within its bounds, 0.5 to 1"),
        ((1.0, 0.5), "must be in order"),
        (("a", 0.5), "bounds must be the least and the largest value of one of damping"),
    ):
        with pytest.raises(mbs.ModelError, match=words):
            mbs.fit(oscillator, {"damping": 0.4}, data, 1.0, 0.05, bounds={"damping": bounds})
    found = mbs.fit(oscillator, {"damping": 0.8}, data, 1.0, 0.05, bounds={"damping": (0.5, 2.0)})
    assert abs(found.parameters["damping"] - 0.5) < 1e-3 and "is at its bound" in caplog.text
    missed, worst = np.linalg.norm(found.residuals), times[int(abs(found.residuals).argmax())]
    assert f"misses the data by {missed:.3g} sigma, the most at t = {worst:g} s of series 1" in caplog.text
    caplog.clear()
    found = mbs.fit(damped, {"damping": 0.9}, data, 1.0, 0.05)
    assert abs(found.parameters["damping"] - 0.3) < 1e-6 and refused and not caplog.text


@pytest.mark.slow
def test_data_that_do_not_tell(caplog: pytest.LogCaptureFixture) -> None:
    """A parameter that nothing depends on, two that only count together, two that hardly differ."""

    def two(a: float = 1.0, b: float = 2.0, c: float = 3.0) -> mbs.Model:
        return oscillator(0.1 * (a + b))

    times = [0.5, 1.0]
    data = mbs.Misfit(lambda s: s.position("mass")[:, 0], times, [1.2, 1.0], 0.1)
    with pytest.raises(mbs.ModelError, match="nothing in the model depends on c"):
        mbs.fit(two, {"a": 1.0, "c": 3.0}, data, 1.0, 0.05)
    with pytest.raises(mbs.ModelError, match="do not tell a, b apart"):
        mbs.fit(two, {"a": 1.0, "b": 2.0}, data, 1.0, 0.05)
    with pytest.raises(mbs.ModelError, match="do not tell .* apart"):
        mbs.fit(rod, {"length": 0.9, "damping": 0.1}, {"hinge": ([0.3], [-0.4], 1.0)}, 0.3, 0.02)
    mbs.fit(two, {"a": 1.0, "b": 2.0}, data, 1.0, 0.05, prior={"a": (1.0, 100.0)})
    assert "hardly tell a from b" in caplog.text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mbs.Misfit(angle, [0.1, 3.0], [0.0, 0.0], 1.0), "times must be a list of instants within the run"),
        (lambda: mbs.Misfit(angle, [0.1, 0.2], [0.0], 1.0), "data must have an entry for each of the 2 times"),
        (lambda: mbs.Misfit(angle, [0.1], [[0.0, 1.0]], 1.0), "data has the shape \\(1, 2\\), the signal"),
        (lambda: mbs.Misfit(angle, [0.1], [0.0], 0.0), "sigma must be positive"),
        (lambda: mbs.Misfit(angle, [0.1, 0.2], [0.0, 0.0], [1, [2]]), "sigma must be an array of numbers"),  # type: ignore[list-item]
        (lambda: mbs.Misfit(angle, [0.1, 0.2], [0.0, 0.0], [[1.0], [2.0]]), "sigma must be .* shape of data, \\(2,\\)"),
    ],
)
def test_bad_data(call: Callable[[], mbs.Misfit], message: str) -> None:
    """Named before anything is fitted."""
    with pytest.raises(mbs.ModelError, match=message):
        mbs.fit(rod, {"length": 0.9}, call(), 0.3, 0.02)
    with pytest.raises(mbs.ModelError, match="data of rod.position.x must have standard deviations, as"):
        some = {"hinge": ([0.1], [0.0], 1.0), "rod.position.x": ([0.1], [0.0])}
        mbs.fit(rod, {"length": 0.9}, some, 0.3, 0.02)
    without = mbs.Misfit(angle, [0.1], [0.0])
    with pytest.raises(
        mbs.ModelError, match="data of series 1 must have standard deviations, as the prior has its own"
    ):
        mbs.fit(rod, {"length": 0.9}, without, 0.3, 0.02, prior={"length": (0.9, 0.1)})
    with pytest.raises(mbs.ModelError, match="1 data of series 1 tell 1 parameters and no standard deviation of their"):
        mbs.fit(rod, {"length": 0.9}, without, 0.3, 0.02)
    with pytest.raises(mbs.ModelError, match="must be a Misfit, received 1.0"):
        mbs.fit(rod, {"length": 0.9}, [1.0], 0.3, 0.02)  # type: ignore[list-item]


@pytest.mark.slow
def test_where_there_is_no_adjoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unasked, derivatives are direct, or of copies, where a run has none backwards."""
    monkeypatch.setattr(objective, "MANY_OF_SMALL", 4)

    def build(lift: float, **values: float) -> mbs.Model:
        model = arm(**values)
        model.gravity = np.array([0.0, 0.0, lift])
        return model

    goal, p = mbs.Final(lambda s: s.position("tip")[:, 2]), {"lift": -9.0, "mass": 1.2, "length": 0.9, "load": 3.0}
    found, copies = (mbs.objective(build, goal, p, 0.1, 0.01, how=how)([*p.values()]) for how in (None, "copies"))
    np.testing.assert_allclose(found[1], copies[1], rtol=1e-6)
    monkeypatch.setattr(objective, "MANY_OF_SMALL", 1)
    limited, copies = (
        mbs.objective(slipping, TIP[0], ["limit"], 0.1, 0.01, how=how)([1.5])[1] for how in (None, "copies")
    )
    np.testing.assert_allclose(limited, copies, rtol=1e-12)


def test_a_signal_that_looks_at_more_at_times() -> None:
    """What a signal depends on is seen at any instant, of two joints and the velocities of another body."""

    def signal(solution: Any) -> Any:
        first, last = solution.model.nodes[1], solution.model.nodes[2]
        late = np.where(np.isclose(solution.t, 0.035), 5.0 * solution.velocity(last)[:, 2], 0.0)
        return solution.position(first)[:, 2] + late

    adjoint, direct = (
        mbs.objective(two, mbs.Integral(signal), ["mass"], 0.1, 0.005, how=how)([1.3])[1]
        for how in ("adjoint", "direct")
    )
    np.testing.assert_allclose(adjoint, direct, rtol=1e-8, atol=1e-12)


@pytest.mark.slow
def test_optimum_of_a_control() -> None:
    """An inertia of 1 turned by 1 in 1 s, from rest to rest, with the least integral of u^2, 12: u = 6 - 12 t."""

    def build(u: Any) -> mbs.Model:
        model = mbs.Model()
        disc = model.add_node((0, 0, 0), name="disc")
        model.add(RigidBody(disc, 1.0, (1.0, 1.0, 1.0)))
        model.add(RevoluteJoint(model.ground, disc, (0, 0, 1)), name="hinge")
        model.add(Moment(disc, lambda t: (0.0, 0.0, np.polyval(u, t))))
        return model

    goals = [
        mbs.Integral(lambda s: s.history.vdot[:, -1, 5] ** 2),
        mbs.Final("hinge"),
        mbs.Final(lambda s: s.angular_velocity("disc")[:, 2]),
    ]
    f = mbs.objective(build, goals, {"u": np.ones(4)}, 1.0, 0.02, how="adjoint", scale={"u": 1.0})
    ends = {"type": "eq", "fun": lambda u: f(u)[0][1:] - (1.0, 0.0), "jac": lambda u: f(u)[1][1:]}
    found = minimize(
        lambda u: (f(u)[0][0], f(u)[1][0]), np.ones(4), jac=True, method="SLSQP", constraints=ends,
        options={"ftol": 1e-10},
    )  # fmt: skip
    t = np.linspace(0.0, 1.0, 11)
    np.testing.assert_allclose(np.polyval(found.x, t), 6.0 - 12.0 * t, atol=0.05)
    assert abs(found.fun - 12.0) < 0.02 and f.evaluations < 30


def absorber(tuning: float = 0.9, damping: float = 0.15, share: float = 0.05) -> mbs.Model:
    """A unit mass on a unit spring, struck, and an absorber on it."""
    model = mbs.Model()
    main, small = model.add_node((0, 0, 0), velocity=(1.0, 0, 0), name="main"), model.add_node((0, 0, 0))
    for node, mass in ((main, 1.0), (small, share)):
        model.add(RigidBody(node, mass, (1.0, 1.0, 1.0)))
    model.add(JointSpring(model.add(PrismaticJoint(model.ground, main, (1, 0, 0))), 1.0))
    between = model.add(PrismaticJoint(main, small, (1, 0, 0)))
    model.add(JointSpring(between, share * tuning**2, 2.0 * damping * share * tuning))
    return model


@pytest.mark.slow
def test_optimum_of_an_absorber() -> None:
    """Under white noise on the main mass its variance is the integral of the squared response to a blow.

    Asami et al. (2002): tuning sqrt(1 + m/2)/(1 + m), damping sqrt(m (4 + 3 m)/(8 (1 + m)(2 + m))).
    """
    goal = mbs.Integral(lambda s: s.position("main")[:, 0] ** 2)
    f = mbs.objective(absorber, goal, ["tuning", "damping"], 160.0, 0.1)
    found = minimize(f, [0.9, 0.15], jac=True, bounds=[(0.5, 1.5), (0.02, 0.5)], options={"gtol": 1e-8})
    np.testing.assert_allclose(found.x, [0.9642122253, 0.1097722275], rtol=3e-3)
    assert abs(found.fun / 4.4454364 - 1.0) < 3e-3 and np.abs(f(found.x)[1]).max() < 1e-5


@pytest.mark.ci
def test_a_fit_that_ends_nowhere_says_where_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scipy.optimize.least_squares", partial(least_squares, max_nfev=2))
    with pytest.raises(
        mbs.ConvergenceError, match=r"stand at length = .*, damping = .* of residuals is .*. Begin nearer, or"
    ):
        mbs.fit(rod, {"length": 2.0, "damping": 0.3}, measured(), 1.0, 0.02)
