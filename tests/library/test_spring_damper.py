"""Springs and dampers between points against minimal coordinates, and laws of users."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from minimal import assert_second_order, solved

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import RigidBody, SpringDamper
from fem_mbs.elements.forces.user_laws import OF_LENGTH, partial_derivatives

GROUPS = ("R3xSO3", "SE3")
MASS, INERTIA, POINT, G = 2.0, 0.3, np.array([0.3, 0.2]), 9.81
K, C, FREE = 80.0, 1.5, 0.8
START = [0.2, -1.0, 0.4, 0.5, 0.3, -0.7]
"""Place, angle and their rates in the x-z plane."""


def hung(group: str, **spring: Any) -> tuple[mbs.Model, mbs.Node]:
    """A body that hangs by a point beside its mass centre from a spring, and moves in the x-z plane."""
    model = mbs.Model(group, gravity=(0, 0, -G))
    x, z, angle, vx, vz, omega = START
    turn = np.array([[np.cos(angle), 0, -np.sin(angle)], [0, 1, 0], [np.sin(angle), 0, np.cos(angle)]])
    body = model.add_node((x, 0, z), turn, (vx, 0, vz), (0, -omega, 0))
    model.add(RigidBody(body, MASS, (0.2, INERTIA, 0.4)))
    model.add(SpringDamper(model.ground, body, point_b=body.at((POINT[0], 0, POINT[1])), **spring))
    return model, body


def by_hand(t: float, y: Array) -> Array:
    x, (vx, vz, omega), angle = y[:2], y[3:], y[2]
    c, s = np.cos(angle), np.sin(angle)
    arm = np.array([c * POINT[0] - s * POINT[1], s * POINT[0] + c * POINT[1]])
    p, v = x + arm, np.array([vx, vz]) + omega * np.array([-arm[1], arm[0]])
    length = np.hypot(*p)
    force = -(K * (length - FREE) + C * (v @ p) / length) * p / length
    moment = arm[0] * force[1] - arm[1] * force[0]
    return np.array([vx, vz, omega, force[0] / MASS, force[1] / MASS - G, moment / INERTIA])


def law(t: float, length: float, speed: float) -> float:
    return K * (length - FREE) + C * speed


@pytest.mark.parametrize("spring", [{"stiffness": K, "damping": C, "free_length": FREE}, {"force": law}])
@pytest.mark.parametrize("group", GROUPS)
def test_body_on_a_spring_moves_as_in_minimal_coordinates(group: str, spring: dict[str, Any]) -> None:
    def error(h: float) -> float:
        model, body = hung(group, **spring)
        solution = mbs.simulate(model, 0.5, h, mbs.GeneralizedAlpha(0.9))
        exact = solved(by_hand, START, solution.t)
        place = np.abs(solution.position(body)[:, [0, 2]] - exact[:, :2]).max()
        return max(place, np.abs(-solution.rotation_vector(body)[:, 1] - exact[:, 2]).max())

    assert_second_order(error, 0.01, 5e-3)


def test_energy_stays_without_damping() -> None:
    model, _ = hung("SE3", stiffness=K, free_length=0.0)
    changes = []
    for h in (0.01, 0.005):
        energy = mbs.simulate(model, 1.0, h, mbs.GeneralizedAlpha(1.0)).energy
        changes.append(np.abs(energy.total - energy.total[0]).max() / energy.kinetic.max())
    assert changes[0] < 5e-3
    assert changes[0] / changes[1] > 3.5


def test_free_length_is_as_built_by_default() -> None:
    model, body = hung("R3xSO3", stiffness=K)
    (spring,) = (part for part in model.elements if isinstance(part, SpringDamper))
    assert spring.free_length == spring.built
    assert mbs.simulate(model, 0.01, 0.01).energy.strain[0] == 0.0


class Exact:
    """A law with its derivatives."""

    def __call__(self, t: float, length: float, speed: float) -> float:
        return t * length**3 + abs(speed) * speed

    def by_length(self, t: float, length: float, speed: float) -> float:
        return 3 * t * length**2

    def by_speed(self, t: float, length: float, speed: float) -> float:
        return 2 * abs(speed)


LAWS = {
    "exact derivatives": (Exact(), 1e-15),
    "analytic": (lambda t, length, speed: t * length**3 + np.tanh(speed / 1e-3), 1e-15),
    "abs, which is not analytic": (lambda t, length, speed: t * length**3 + abs(speed) * speed, 1e-8),
    "max, which refuses complex numbers": (lambda t, length, speed: max(length, 0.1) ** 3, 1e-8),
}


@pytest.mark.parametrize("name", LAWS)
def test_derivatives_of_laws(name: str) -> None:
    law, tolerance = LAWS[name]
    t, length, speed = 2.0, 1.3, -2e-4 if name == "analytic" else -0.7
    value, by_length, by_speed = partial_derivatives(
        law, OF_LENGTH.slopes(law), (t, length, speed), "spring", OF_LENGTH
    )
    expected = {
        "exact derivatives": (6 * length**2, 1.4),
        "analytic": (6 * length**2, 1e3 / np.cosh(0.2) ** 2),
        "abs, which is not analytic": (6 * length**2, 1.4),
        "max, which refuses complex numbers": (3 * length**2, 0.0),
    }[name]
    assert value == law(t, length, speed)
    assert (by_length, by_speed) == pytest.approx(expected, rel=tolerance, abs=tolerance)


def test_bad_input_is_refused_by_name() -> None:
    model = mbs.Model()
    node = model.add_node((1, 0, 0), name="end")
    on = "SpringDamper on node 'ground', node 'end'"
    for arguments, message in (
        ({}, f"{on}: has no force; give a stiffness, or a law"),
        ({"stiffness": 1.0, "force": law}, f"{on}: force is a law in place of stiffness, damping and free_length"),
        ({"stiffness": -1.0}, f"{on}: stiffness must be at least 0, received -1.0"),
        ({"stiffness": 1.0, "damping": np.nan}, "damping must be a finite number"),
        ({"force": 3.0}, f"{on}: force must be a function of t, length and speed, received 3.0"),
        ({"stiffness": 1.0, "point_a": (1, 0, 0)}, "its two points are at the same place"),
    ):
        with pytest.raises(mbs.ModelError, match=message):
            SpringDamper(model.ground, node, **arguments)


@pytest.mark.parametrize("value", [np.ones(3), np.nan, float("inf"), 1j, None, "2", np.ones(1)])
def test_laws_that_return_no_number_are_refused_by_name(value: Any) -> None:
    model, _ = hung("R3xSO3", force=lambda t, length, speed: value)
    with pytest.raises(
        mbs.LawError, match="SpringDamper 'SpringDamper 1': its law must return one finite number, received"
    ):
        mbs.simulate(model, 0.1, 0.01)
