"""The machines of the examples move as equations say that were written apart from them."""

from __future__ import annotations

from pathlib import Path

import newton_euler
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import make_interp_spline
from scipy.optimize import fsolve
from scipy.spatial.transform import Rotation

import fem_mbs as mbs
from examples import flyball_governor, robot, solar_array, suspension, tower_crane, wind_turbine
from fem_mbs.elements import BeamSection


@pytest.fixture(autouse=True)
def run_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")


@pytest.mark.slow
def test_robot():
    numbers = robot.main(["--plot", "--paraview"])
    for name, (computed, reference) in numbers.items():  # what is left of the swing and of the integrals
        assert computed == pytest.approx(reference, abs=5e-5 if "ball" in name else 3e-3), name
    assert {file.name for file in Path("out").glob("*.p*")} == {"robot.png", "robot.pvd"}


@pytest.mark.ci
@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_robot_moves_as_newton_and_euler_say(group):
    """Torques of the motors against those of the motion."""
    h = 4e-3
    solution, _, axes = robot.run(h, t_end=0.9, group=group)
    assert len(solution.t) == 226  # rounding before it moves is no kink of a law
    angle, error, torque = (np.stack([solution.signal(axis[k]) for axis in axes], axis=-1) for k in range(3))
    rate = np.stack([solution.coordinate_rate(angle.joint) for angle, *_ in axes], axis=-1)
    bodies = [[link[3:6]] for link in robot.LINKS]
    bodies[5].append((robot.PAYLOAD, robot.TOOL, np.full(3, 0.4 * robot.PAYLOAD * robot.RADIUS**2)))
    largest = np.array([link[9] for link in robot.LINKS])
    assert np.abs(error).max() < 0.03
    for k in range(20, len(solution.t) - 2, 20):
        acceleration = (8 * (rate[k + 1] - rate[k - 1]) - (rate[k + 2] - rate[k - 2])) / (12 * h)
        x, R = robot.frames(robot.START + angle[k])
        expected = newton_euler.torques(x, R, bodies, rate[k], acceleration, robot.GRAVITY)
        assert (np.abs(torque[k] - expected) < 1e-4 * largest).all()


@pytest.mark.ci
def test_blades_stiffen_as_they_turn():
    """Six elements a blade, of a section that is given at 15 places; modes of one kind in the order of Ritz."""
    for speed in (0.0, wind_turbine.RATED, 2.0):
        np.testing.assert_allclose(wind_turbine.frequencies(speed), wind_turbine.ritz(speed)[:3], rtol=3e-3)


@pytest.mark.slow
def test_wind_turbine():
    numbers = wind_turbine.main(["--plot", "--paraview"])
    swing, weight = numbers.pop("moment, amplitude (N m)")
    assert (
        1.01 < swing / weight < 1 / (1 - (wind_turbine.RATED / 7.18) ** 2)
    )  # between none and all of that of one mode
    for name, (computed, reference) in numbers.items():
        assert computed == pytest.approx(reference, rel=4e-3), name
    assert {file.name for file in Path("out").glob("*.p*")} == {"wind_turbine.png", "wind_turbine.pvd"}


@pytest.mark.slow
def test_tower_crane():
    numbers = tower_crane.main(["--plot", "--paraview"])
    for name in (
        "shaped: largest swing (degrees)",
        "plain: largest swing (degrees)",
        "plain: swing at the end (degrees)",
    ):
        computed, stiff = numbers[name]
        assert computed == pytest.approx(stiff, rel=6e-3), name
    assert numbers["shaped: swing at the end (degrees)"][0] < 0.2  # that of a crane which gives
    assert {file.name for file in Path("out").glob("*.p*")} == {"tower_crane.png", "tower_crane.pvd"}


@pytest.mark.slow
def test_stiff_crane_bears_a_pendulum(monkeypatch):
    """Of second order in the step."""
    for name in ("JIB", "TOWER"):
        monkeypatch.setattr(tower_crane, name, BeamSection(2.5e14, 1e14, 5e12, 2e14, 150, (150, 75, 75)))
    monkeypatch.setattr(tower_crane, "PATHS", {"plain": tower_crane.PLAIN})
    errors = []
    for step in (0.4, 0.2):
        run, (_, swing) = tower_crane.run(step, t_end=20)
        errors.append(np.abs(swing - tower_crane.pendulum(run.t, tower_crane.PLAIN)).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.1)
    assert errors[1] < 0.22  # periods are (omega h)^2/12 too long, after 14 rad and at 10 degrees


@pytest.mark.slow
def test_flyball_governor():
    """A period of the free one, 1 s, is (omega h)^2/12 too long: 3e-3 rad in ten of them."""
    numbers = flyball_governor.main(["--plot", "--paraview"])
    for name, (computed, reference) in numbers.items():
        assert computed == pytest.approx(reference, rel=5e-3 if name.startswith("free") else 1e-3), name
    assert {file.name for file in Path("out").glob("*.p*")} == {"flyball_governor.png", "flyball_governor.pvd"}


@pytest.mark.ci
@pytest.mark.parametrize("group", ["R3xSO3", pytest.param("SE3", marks=pytest.mark.slow)])
@pytest.mark.parametrize("governs", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_stiff_governor_has_order_two(governs, group):
    """At steps of 80 and 40 times as long as the couplers need to come to rest."""
    errors = []
    for step in (0.01, 0.005):
        model, bearing, guide = flyball_governor.build(governs, group)
        solution = mbs.simulate(model, 0.5 if governs else 1.0, step)  # free, the third order weighs 2 % at 0.5 s
        found = 0.5 + solution.coordinate(guide)[-1], solution.coordinate_rate(bearing)[-1]
        errors.append(np.abs(found - flyball_governor.exact(solution.t, governs)[:, -1]))
    orders = np.log2(np.divide(*errors))
    assert (errors[0] < (1e-4, 1e-3)).all()
    assert orders.min() > 1.95
    if group == "SE3":  # the other one has a part of third order that is not small yet
        assert orders.max() < 2.05


def wishbone(lower_angle):
    """The suspension with rigid bushings, from the body: places, turn of the knuckle, angles of the arms, strut."""
    (lower, ball), (upper, top) = (np.array(places) for *places, _ in suspension.ARMS.values())
    turned, ends = Rotation.from_rotvec, suspension.ROD
    low = turned([lower_angle, 0, 0])
    joint = lower + low.apply(ball - lower)

    def gaps(y):
        other, rod = joint + turned(y[1:]).apply([top, ends[1]] - ball)
        other = other - upper - turned([y[0], 0, 0]).apply(top - upper)
        return [*other, np.linalg.norm(rod - ends[0]) - np.linalg.norm(ends[1] - ends[0])]

    y = fsolve(gaps, np.zeros(4), xtol=1e-12)
    knuckle, wheel = joint + turned(y[1:]).apply([(0, 0.69, 0.32), suspension.HUB] - ball)
    arms = lower + low.apply(ball - lower) / 2, upper + turned([y[0], 0, 0]).apply(top - upper) / 2
    foot = lower + low.apply(suspension.STRUT[1] - lower)
    return np.concatenate(
        [*arms, knuckle, wheel, y[1:], [lower_angle, y[0], np.linalg.norm(foot - suspension.STRUT[0])]]
    )


@pytest.mark.slow
def test_suspension_moves_as_lagrange_says(monkeypatch):
    """Two coordinates, the height of the body and the angle of the lower arm, against bushings 100 times as stiff."""
    monkeypatch.setattr(suspension, "RUBBER", np.array(suspension.RUBBER) * [100, 100, 100, 1, 1, 1])
    solution, body, wheel, *_ = suspension.run()
    angles = np.linspace(-0.25, 0.25, 41)
    table = make_interp_spline(angles, [wishbone(angle) for angle in angles], k=7)
    slopes, bends = table.derivative(), table.derivative(2)
    masses = np.repeat([6.0, 3.0, 12.0, 18.0], 3)
    # about x: of the arms; rates of the knuckle's rotation vector are near enough its angular velocity
    about_x = [m / 12 * (np.sum(np.subtract(a, b) ** 2) + 0.03**2) for a, b, m in suspension.ARMS.values()]
    weights = np.concatenate([masses, np.array([0.15, 0.10, 0.10]) + (0.6, 1.1, 0.6), about_x, [0.0]])

    def forces(t, y):
        height, angle, *rates = y
        place, slope = table(angle), slopes(angle)
        axle, moving = place[9:12] + (0, 0, height), rates[0] * np.array([0, 0, 1]) + rates[1] * slope[9:12]
        arm = axle - suspension.HUB * (1, 1, 0)
        length = np.linalg.norm(arm)
        road = -suspension.tyre(t, length, arm @ moving / length) * arm / length
        strut = -9e4 * (place[-1] - 0.523) - 6e3 * slope[-1] * rates[1]
        rubber = -40.0 * (place[15:17] @ slope[15:17])
        weight = -suspension.G * masses[::3] @ slope[2:12:3]
        return np.array([road[2] - suspension.G * 389, road @ slope[9:12] + strut * slope[-1] + rubber + weight])

    def rhs(t, y):
        rates, slope, bend = y[2:], slopes(y[1]), bends(y[1])
        coupled, own = masses[::3] @ slope[2:12:3], weights @ slope**2
        M = np.array([[389.0, coupled], [coupled, own]])
        inertia = np.array([masses[::3] @ bend[2:12:3], weights @ (slope * bend)]) * rates[1] ** 2
        return [*rates, *np.linalg.solve(M, forces(t, y) - inertia)]

    rest = fsolve(lambda q: forces(0.0, np.array([*q, 0, 0])), [0.0, 0.0], xtol=1e-12)
    y = solve_ivp(rhs, (0, 1.5), [*rest, 0, 0], "RK45", t_eval=solution.t, rtol=1e-8, atol=1e-9, max_step=2e-3).y
    raised = solution.displacement(body)[:, 2]
    axle = table(y[1])[:, 9:12] + y[0][:, None] * (0, 0, 1)
    assert np.ptp(raised) > 0.02
    assert np.abs(raised - y[0]).max() < 1e-5
    assert np.abs(solution.position(wheel) - axle).max() < 1e-4  # what is left of the bushings


@pytest.mark.slow
def test_solar_array():
    """The hub turns as with rigid panels; a period of 40 steps; three elements a panel have the frequency of beams."""
    numbers = solar_array.main(["--plot", "--paraview"])
    for (computed, reference), within in zip(numbers.values(), (1e-3, 0.015, 5e-3), strict=True):
        assert computed == pytest.approx(reference, rel=within)
    assert {file.name for file in Path("out").glob("*.p*")} == {"solar_array.png", "solar_array.pvd"}
