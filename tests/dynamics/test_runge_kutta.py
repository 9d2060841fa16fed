"""Runge-Kutta-Munthe-Kaas: orders of all tableaus, truncated series, drift, steps by a tolerance, output.

The heavy top of Holzinger, Arnold, Gerstmayr, *Evaluation and implementation of Lie group integration methods for rigid
multibody systems* (2024), without constraints and on a ball joint, and a rotor on springs after section 4.3 there.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import cache

import numpy as np
import pytest
from catalogue import PLAIN
from meshes import brick
from plants import rotor as plant
from plants import step_of_oscillator
from scipy.integrate import simpson
from test_redundant import CRANK_ROCKER, four_bar
from test_rolling_disc import STEADY, errors

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.benchmarks import tops
from fem_mbs.elements import (
    PID,
    Beam,
    Block,
    FlexibleBody,
    Interface,
    JointActuator,
    JointSensor,
    LowPass,
    Moment,
    NodeSensor,
    Reduction,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
    SpringDamper,
)
from fem_mbs.methods.runge_kutta import RADII, TABLEAUS, ExplicitRungeKutta, fastest, growth

RKMK = mbs.RungeKuttaMuntheKaas
GROUPS = ("R3xSO3", "SE3")
STEPS = (1e-3, 5e-4)
T_END = 0.02
QUANTITIES = (("x", "R"), ("v",), ("vdot",), ("multipliers",))
tableaus = pytest.mark.parametrize("tableau", TABLEAUS)
groups = pytest.mark.parametrize("group", GROUPS)


def top(group: str = "R3xSO3", joint: bool = False) -> mbs.Model:
    return (tops.top_on_joint if joint else tops.free_top)(group)


@cache
def run(h: float, tableau: str, joint: bool = False, projection: bool = True, commutators: int | None = None):  # type: ignore[no-untyped-def]
    return mbs.simulate(top(joint=joint), T_END, h, RKMK(tableau, projection, commutators))


def orders(joint: bool, tableau: str, projection: bool = True, commutators: int | None = None) -> Array:
    """Slopes between neighbours of three steps, of all quantities, against order 6 with a quarter of the last."""
    reference, found = run(STEPS[-1] / 4, "RK6", joint), []
    for h in STEPS:
        solution = run(h, tableau, joint, projection, commutators)
        numbers = np.rint(solution.t * (len(reference.t) - 1) / T_END).astype(int)  # a hard start is halved
        found.append(distances(map(solution.state, range(len(solution.t))), map(reference.state, numbers)))
    return np.log2(np.array(found[:-1]) / found[1:])


def distances(states: Iterable[mbs.State], others: Iterable[mbs.State]) -> Array:
    """Of configurations, velocities, accelerations and multipliers, over all states."""
    apart = [
        [sum(np.square(getattr(a, name) - getattr(b, name)).sum() for name in names) for names in QUANTITIES]
        for a, b in zip(states, others, strict=True)
    ]
    found: Array = np.sqrt(np.mean(apart, axis=0))
    return found[found > 0.0]


@tableaus
@pytest.mark.parametrize("case", ["free", "projected", "drifting"])
def test_order(tableau: str, case: str) -> None:
    """Of configurations, velocities, accelerations and multipliers."""
    _check(orders(case != "free", tableau, case != "drifting")[-1], TABLEAUS[tableau].order)


def _check(found: Array, order: int) -> None:
    """Configurations may be better: with DOPRI5, whose errors of fifth order are small, those of sixth still show."""
    np.testing.assert_allclose(found[1:], order, atol=0.1)
    assert order - 0.1 < found[0] < order + (0.1 if order != 5 else 0.6)


@pytest.mark.slow
@pytest.mark.parametrize("projection", [True, False])
@tableaus
def test_order_over_a_longer_time(tableau: str, projection: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all quantities alike."""
    monkeypatch.setattr(f"{__name__}.T_END", 0.3)
    run.cache_clear()
    found = orders(True, tableau, projection)[-1]
    run.cache_clear()
    np.testing.assert_allclose(found, TABLEAUS[tableau].order, atol=0.1)


@pytest.mark.parametrize(
    ("tableau", "commutators", "order"),
    [("RK6", 0, 2), ("RK6", 1, 3), ("ODE23", 1, 3), ("RK4", 2, 4), ("DOPRI5", 2, 5), ("RK6", 4, 6)],
)
def test_series_of_the_inverse_tangent_operator(tableau: str, commutators: int, order: int) -> None:
    """``order - 2`` commutators keep the order."""
    np.testing.assert_allclose(orders(False, tableau, True, commutators)[-1, 0], order, atol=0.1)


@groups
def test_long_series_is_exact(group: str) -> None:
    system = mbs.System(top(group, joint=True))
    rng = np.random.default_rng(0)
    D, v = 0.3 * rng.normal(size=(2, system.n, 6))
    exact, series = (RKMK(commutators=c)._inverse_tangent_product(system, D, v) for c in (None, 24))
    np.testing.assert_allclose(series, exact, rtol=0, atol=1e-15)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("group", "projection"),
    [
        pytest.param("R3xSO3", False, id="drifts"),
        pytest.param("R3xSO3", True, id="projected", marks=pytest.mark.slow),
        pytest.param("SE3", False, id="constant", marks=pytest.mark.slow),
    ],
)
def test_drift(group: str, projection: bool) -> None:
    """On R3xSO3 and without projection 7.5e-5 and 5.7e-4 at 1 ms (two independent implementations); on SE(3) none, as
    the gradient of a ball joint is constant there."""
    model = top(group, joint=True)
    residual = mbs.simulate(model, 0.3, 1e-3, RKMK(projection=projection)).constraint_residual
    worst = residual.position.max(), residual.velocity.max()
    if projection or group == "SE3":
        assert worst[0] < 1e-14 and worst[1] < 1e-12
    else:
        np.testing.assert_allclose(worst, (7.5e-5, 5.7e-4), rtol=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tableau", "h", "expected"),
    [
        ("RK4", 1e-3, 1.344e-4),
        ("RK4", 5e-4, 9.329e-6),
        ("RK4", 2.5e-4, 6.228e-7),
        ("ODE23", 1e-3, 2.17e-2),
        ("ODE23", 5e-4, 2.73e-3),
        ("ODE23", 2.5e-4, 3.40e-4),
        ("DOPRI5", 1e-3, 3.08e-6),
        ("RK6", 1e-3, 2.146e-7),
        ("RK6", 5e-4, 3.745e-9),
    ],
)
def test_error_of_the_free_top_after_a_second(tableau: str, h: float, expected: float) -> None:
    """As a separate implementation has it, to the digits given."""
    error = reached(mbs.simulate(top(), 1.0, h, RKMK(tableau))) - reached(exact_top())
    assert np.linalg.norm(error) == pytest.approx(expected, rel=3e-3)


@pytest.mark.slow
def test_free_top_is_where_other_formulations_have_it() -> None:
    """Two formulations with DOP853, to the digits given."""
    np.testing.assert_allclose(reached(exact_top()), (0.17334396, 0.64008859, -0.74849079), rtol=0, atol=6e-9)


@cache
def exact_top() -> mbs.Solution:
    return mbs.simulate(top(), 1.0, 1 / 16000, RKMK("RK6"))


def reached(solution: mbs.Solution) -> Array:
    """Where the mass centre is at the end."""
    return solution.R[-1, 1, :, 1]


def rotor(kick: float) -> mbs.Model:
    """A shaft with a disc at 1000 rad/s on springs; a kick excites its nutation at 1931 rad/s."""
    model = mbs.Model()
    center, spin = np.array([0.0, 1e-4, 0.0]), np.array([1000.0, kick, 0.0])
    shaft = model.add_node((0, 0, 0), velocity=-np.cross(spin, center), angular_velocity=spin, name="shaft")
    model.add(RigidBody(shaft, 10.0, (0.45, 0.7 / 3, 0.7 / 3), center))
    anchors = [((x, *at), (x, 0, 0)) for x in (-0.4, 0.6) for at in ((0.5, 0), (0, 0.5))]
    for ground, point in [*anchors, ((-0.9, 0, 0), (-0.4, 0, 0))]:
        model.add(SpringDamper(model.ground, shaft, 2250.0, 8.0, free_length=0.5, point_a=ground, point_b=point))
    model.add(Moment(shaft, (0, 0, 9.81)))
    return model


def bearing(solution: mbs.Solution) -> Array:
    """Where the shaft is in its left bearing at the end."""
    return solution.x[-1, 1] + solution.R[-1, 1] @ (-0.4, 0, 0)


@pytest.mark.slow
def test_error_of_the_rotor_after_a_second() -> None:
    """As a separate implementation has it, to the digits given, and two coordinates at 1 s by two formulations."""
    exact = mbs.simulate(rotor(0.0), 1.0, 1e-4, RKMK("RK6"))
    np.testing.assert_allclose(1e3 * bearing(exact)[1:], (-7.79746, -2.52424), rtol=0, atol=6e-6)
    for tableau, expected in (("RK4", 1.09e-6), ("DOPRI5", 3.2e-8), ("RK6", 4.0e-9)):
        error = bearing(mbs.simulate(rotor(0.0), 1.0, 5e-4, RKMK(tableau))) - bearing(exact)
        assert np.linalg.norm(error) == pytest.approx(expected, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["top", "rotor"])
def test_the_error_is_the_tolerance(name: str) -> None:
    """Within a factor of 3, over five decades."""
    model, t_end, h = (top(), 0.2, 1 / 16000) if name == "top" else (rotor(3.0), 0.1, 2e-5)
    exact = mbs.simulate(model, t_end, h, RKMK("RK6"))
    for tolerance in 10.0 ** -np.arange(4, 10):
        control = mbs.VariableStep(tolerance, largest=t_end / 20)
        solution = mbs.simulate(model, t_end, control, RKMK("DOPRI5"))
        error = np.linalg.norm(solution.R[-1] - exact.R[-1])
        assert tolerance / 3.0 < error < 3.0 * tolerance


@pytest.mark.parametrize("tableau", ["RK4", "RK6"])
def test_tableaus_without_an_estimate_name_those_that_have_one(tableau: str) -> None:
    with pytest.raises(mbs.ModelError, match=f"the tableau {tableau} does not estimate.*DOPRI5 or ODE23"):
        mbs.simulate(top(), 0.1, mbs.VariableStep(1e-3), RKMK(tableau))


def test_unknown_tableau() -> None:
    with pytest.raises(mbs.ModelError, match="tableau must be one of 'RK4', 'DOPRI5', 'ODE23', 'RK6'"):
        RKMK("RK45")


def test_stages_that_serve_twice_are_evaluated_once() -> None:
    """The last accelerations of a step are the first ones of the next."""
    evaluations = {name: run(1e-3, name).stats.residual_evaluations / 20 for name in TABLEAUS}
    assert evaluations == {"RK4": 4, "DOPRI5": 6, "ODE23": 3, "RK6": 7}


STABLE = {"RK4": (2.83, 2.79), "ODE23": (1.73, 2.51), "DOPRI5": (0.997, 3.31), "RK6": (0.19, 2.87)}
"""Largest ``h omega`` of undamped and ``h |s|`` of decaying motions (Hairer, Wanner, section IV.2, and [ours])."""


@tableaus
def test_limits_of_stability(tableau: str) -> None:
    for direction, expected in zip((1j, -1.0), STABLE[tableau], strict=True):
        radii = np.linspace(0.05, 4.0, 39501)
        grows = growth(TABLEAUS[tableau], direction * radii) > 1.0 + 1e-9
        assert radii[np.argmax(grows)] == pytest.approx(expected, abs=0.006)
    assert RADII[-1] > 4.0


both = pytest.mark.parametrize("method", [RKMK, mbs.ClassicalRungeKutta])


def oscillator(damping: float, pull: float = 0.0) -> mbs.Model:
    """Slow swinging with a stiff spring at 2000 rad/s across, or with a damper that stops within 1/4000 s."""
    model = mbs.Model()
    body = model.add_node((1, 0, 0), velocity=(0, 0.2, 0), name="body")
    model.add(RigidBody(body, 1.0, (1, 1, 1)))
    model.add(SpringDamper(model.ground, body, 4e6, damping, free_length=1.0 - pull / 4e6))
    return model


@both
@pytest.mark.parametrize("damping", [0.0, 4.25e3])
def test_limit_is_found(damping: float, method: type[ExplicitRungeKutta]) -> None:
    """``s^2 + c s + k = 0``; it moves by its speed, or by what an acceleration makes of a way as long as the model."""
    rate = np.abs(np.roots([1.0, damping, 4e6])).max()
    limit, pulled = (
        method().limit(system, mbs.start(system), 1e-4)
        for system in (mbs.System(oscillator(damping, pull)) for pull in (0.0, 4.0))
    )
    assert pulled.moving == pytest.approx(2.0, rel=0.01)
    assert limit.rate == pytest.approx(rate, rel=1e-3)
    assert limit.step == pytest.approx((2.83 if damping == 0.0 else 2.79) / rate, rel=0.01)
    assert limit.moving == pytest.approx(0.2, rel=0.01)


def test_coordinates_of_bodies_vibrate_with_their_nodes() -> None:
    """A brick that is struck on a hinge: its energy stays, by the fifth order of the step."""
    ends = {
        "root": Interface.rigid(lambda p: p[:, 0] == 0.0, (0, 0.05, 0.05)),
        "tip": Interface.average(lambda p: p[:, 0] == 1.0, (1, 0.05, 0.05)),
    }
    reduction = Reduction(*brick((3, 1, 1), (1.0, 0.1, 0.1), 1e5, 100.0), ends, modes=2)
    model = mbs.Model()
    still = {"angular_velocity": (0, 0, 0)}
    root, tip = (model.add_node((x, 0.05, 0.05), velocity=(0, 0, x), **still) for x in (0.0, 1.0))
    model.add(FlexibleBody({"root": root, "tip": tip}, reduction))
    model.add(RevoluteJoint(model.ground, root, (0, 1, 0)))
    mbs.project_velocities(model)
    run = mbs.simulate(model, 0.01, 1e-3, RKMK())
    assert np.ptp(run.energy.total) < 1e-7 * run.energy.total[0] and np.ptp(run.energy.strain) > 5e-4


def test_what_has_no_derivative_has_no_limit() -> None:
    assert fastest(lambda d: np.nan * d, 5) == 0.0


def test_limit_of_what_follows() -> None:
    """A filter of 0.1 ms beside the spring of 2000 rad/s decays faster, and limits the step."""
    model = oscillator(0.0)
    model.add(LowPass(model.add(NodeSensor(model["body"], "position", (1, 0, 0))), 1e-4))
    system = mbs.System(model)
    limit = RKMK().limit(system, mbs.start(system), 1e-4)
    assert limit.rate == pytest.approx(1e4, rel=1e-3) and limit.step == pytest.approx(2.79e-4, rel=0.01)


@pytest.mark.slow
def test_variable_steps_held_down_by_stability_say_so(caplog: pytest.LogCaptureFixture) -> None:
    """After a few steps, with the step and the frequency; a top that is followed closely is no such case."""
    with caplog.at_level(logging.WARNING):
        mbs.simulate(top(), 0.1, mbs.VariableStep(1e-2), RKMK("DOPRI5"))
        assert not caplog.records
        mbs.simulate(oscillator(0.0), 0.1, mbs.VariableStep(1e-3, largest=0.01), RKMK("DOPRI5"))
    (record,) = caplog.records
    assert "held down by stability" in record.message and "2e+03 rad/s" in record.message
    assert "the longest stable one is about 0.00067 s" in record.message
    with pytest.raises(mbs.ModelError, match="10000 s would take 1.5e\\+07 steps.*2e\\+03 rad/s"):
        mbs.simulate(oscillator(0.0), 1e4, mbs.VariableStep(1e-3), RKMK("DOPRI5"))


@both
def test_fixed_steps_beyond_stability_say_so(
    caplog: pytest.LogCaptureFixture, method: type[ExplicitRungeKutta]
) -> None:
    """At once; halved, they may do."""
    with caplog.at_level(logging.WARNING):
        mbs.simulate(oscillator(4.25e3), 0.01, 2e-3, method())
    assert "steps of 0.002 s are beyond the limit of stability, about 0.00098 s" in caplog.records[0].message


@both
def test_failure_of_steps_beyond_stability_says_so(method: type[ExplicitRungeKutta]) -> None:
    with pytest.raises(mbs.FemMbsError, match="beyond the limit of stability, about 0.00098 s"):
        mbs.simulate(oscillator(4.25e3), 1e3, 1.0, method())


@pytest.mark.one
@tableaus
def test_output_between_steps_has_the_order_of_the_tableau(tableau: str) -> None:
    """Also accelerations and multipliers; joints stay closed."""
    reference, found = run(STEPS[-1] / 4, "RK6", True), []
    times = reference.t[1::16] + 1e-9  # at other shares of each step
    for h in STEPS:
        solution = run(h, tableau, True)
        states = [solution(t) for t in times]
        found.append(distances(states, map(reference, times)))
    _check(np.log2(found[-2] / found[-1]), TABLEAUS[tableau].order)
    np.testing.assert_allclose(np.linalg.norm([state.x[1] for state in states], axis=1), 1.0, rtol=0, atol=1e-14)


def test_output_and_events_are_those_of_the_solution() -> None:
    """What ``times`` and events have is what the solution says there."""
    solution = run(1e-3, "DOPRI5", True)
    times = [0.00312, 0.0123456]
    at = mbs.simulate(top(joint=True), T_END, 1e-3, RKMK("DOPRI5"), times=times, events=lambda state: state.t - 0.0087)
    for k, t in enumerate(times):
        np.testing.assert_array_equal(at.x[k], solution(t).x)
    assert at.event_times[0][0] == pytest.approx(0.0087, abs=1e-14)
    np.testing.assert_allclose(at.event_states[0][0].x, solution(0.0087).x, rtol=0, atol=1e-13)


def test_joints_that_repeat_each_other_have_the_multipliers_of_least_norm() -> None:
    """Those of the generalised-alpha method; without projection they are refused by name."""
    model, (_, joints) = four_bar("SE3", CRANK_ROCKER)
    explicit = mbs.simulate(model, 0.1, 0.01, RKMK("DOPRI5"))
    implicit = mbs.simulate(model, 0.1, 0.001)
    assert explicit.redundant == tuple(joints)
    np.testing.assert_allclose(explicit.multipliers_all[-1], implicit.multipliers_all[-1], rtol=0, atol=1e-4)
    with pytest.raises(mbs.ModelError, match="projection=True.* RevoluteJoint 'A'"):
        mbs.simulate(model, 0.1, 0.01, RKMK(projection=False))


@groups
def test_rolling_disc_has_the_order_of_the_tableau(group: str) -> None:
    """Constraints of velocities stand beside those of positions."""
    coarse, fine = (errors(STEADY["tilted by 50 degrees"], group, h, RKMK(), 0.4) for h in (0.02, 0.01))
    assert min(np.log2(np.divide(coarse, fine))) > 3.9


@pytest.mark.one
@tableaus
def test_sensors_and_controllers_have_the_order_of_the_tableau(tableau: str) -> None:
    """Algebraic variables are solved for at each stage."""
    model, _, hinge = plant("R3xSO3")
    angle, rate = model.add(JointSensor(hinge)), model.add(JointSensor(hinge, "coordinate_rate"))
    model.add(JointActuator(hinge, model.add(PID(1.0 - angle, P=40.0, D=3.0, rate=-rate))))
    model.add(LowPass(angle, 0.2), name="lag")
    found = []
    for h in (0.05, 0.025):
        solution = mbs.simulate(model, 0.5, h, RKMK(tableau))
        exact = step_of_oscillator(solution.t, np.sqrt(80.0), 3.0)
        found.append(np.abs(solution.coordinate(hinge) - exact).max())
    lag = solution.channel("lag").ravel()
    np.testing.assert_allclose(lag[-1] - lag[0], simpson(exact - lag, x=solution.t) / 0.2, rtol=1e-3)
    assert np.log2(found[0] / found[1]) > TABLEAUS[tableau].order - 0.1


def test_states_that_grow_count_by_their_size() -> None:
    """What a state is at the start, nothing, tells not how large it will be."""
    steps = []
    for size in (1.0, 1e9):
        model, _, hinge = plant("R3xSO3")
        angle = model.add(JointSensor(hinge))
        model.add(LowPass(model.add(Block([angle], g=lambda t, x, u, size=size: size * np.sin(5.0 * t))), 0.05))
        control = mbs.VariableStep(local_error=1e-4, largest=0.01)
        steps.append(mbs.simulate(model, 0.05, control, RKMK("DOPRI5")).stats.steps)
    assert steps[1] < 1.2 * steps[0]


def test_groups_may_be_mixed() -> None:
    """A flexible rod between two rigid bodies, against the other group."""
    ends = []
    for groups_of in (("R3xSO3",) * 3, ("R3xSO3", "SE3", "R3xSO3")):
        model = mbs.Model(gravity=(0, 0, -9.81))
        spin = np.array([0.3, 2.0, -0.4])
        nodes = [
            model.add_node((k, 0, 0), velocity=np.cross(spin, (k, 0, 0)), angular_velocity=spin, group=group)
            for k, group in enumerate(groups_of)
        ]
        model.add(SphericalJoint(model.ground, nodes[0], (0, 0, 0)))
        model.add(Beam(nodes, PLAIN.with_damping(0.05)))
        model.add(RigidBody(nodes[-1], 2.0, (0.3, 0.2, 0.1)))
        ends.append(mbs.simulate(model, 0.1, 0.005, RKMK("DOPRI5")).x[-1])
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-8)
