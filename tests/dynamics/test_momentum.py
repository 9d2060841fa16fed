"""Momentum of a free flexible beam, flying and vibrating.

The equations of motion conserve linear and angular momentum exactly (``test_element_contract``). In time,
generalised-alpha works on velocities component by component in the frame where they are trivialised. On R3xSO3 linear
velocities are world components, so linear momentum stays to rounding as long as mass centres are on the nodes;
everything else stays to second order in the step.
"""

from __future__ import annotations

import numpy as np
import pytest
from catalogue import COUPLED
from motions import fitted_order, momentum

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import Beam, BeamSection, Force, Moment, RigidBody
from fem_mbs.lie import so3

SOFT = BeamSection(EA=200.0, GA=100.0, GJ=8.0, EI=(6.0, 5.0), mass=1.0, inertia=(0.04, 0.02, 0.02))
STEPS = np.array([0.01, 0.005])
groups = pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
interpolations = pytest.mark.parametrize("interpolation", ["SE3", "R3xSO3"])


def beam(group: str, interpolation: str, section: BeamSection, moving: bool) -> tuple[mbs.Model, list[mbs.Node]]:
    """A curved beam of six elements; ``moving`` spins it and makes it vibrate."""
    model = mbs.Model(group)
    rng, nodes = np.random.default_rng(3), []
    spin, drift = np.array([0.5, 1.0, 2.0]) * moving, np.array([0.3, 0.1, -0.2]) * moving
    for s in np.linspace(0.0, 2.0, 7):
        p, R = np.array([s, 0.05 * s * s, 0.0]), so3.exp(rng.normal(size=3))
        wave = 0.4 * np.sin(2 * s) * np.array([0.0, 0.3, 1.0]) * moving
        nodes.append(model.add_node(p, R, drift + np.cross(spin, p - [1.0, 0, 0]) + wave, R.T @ spin))
    model.add(Beam(nodes, section, (0, 0, 1), interpolation=interpolation))
    return model, nodes


def drift(solution: mbs.Solution, since: float = 0.0) -> tuple[float, float]:
    """Largest change of linear and of angular momentum after a time, against their sizes."""
    values = np.array([momentum(solution.system, solution.motion(k)) for k in np.flatnonzero(solution.t >= since)])
    change = np.abs(values - values[0]).max(axis=0)
    size = np.linalg.norm(values[0, :3]), np.linalg.norm(values[0, 3:])
    return change[:3].max() / size[0], change[3:].max() / size[1]


def method(rho_inf: float = 0.9) -> mbs.GeneralizedAlpha:
    return mbs.GeneralizedAlpha(rho_inf, newton=mbs.Newton(force_tolerance=1e-12))


def test_momentum_on_frames_turns_by_what_body_axes_turn_too_far() -> None:
    """A ball that spins as it flies: velocities in body axes turn back by 2 atan(w h/2) a step, the body by w h."""
    model, spin, h, steps = mbs.Model("SE3"), 5.0, 0.02, 50
    ball = model.add_node((0, 0, 0), velocity=(2.0, 0.0, 1.0), angular_velocity=(0.0, 0.0, spin))
    model.add(RigidBody(ball, 1.0, (0.1, 0.1, 0.1)))
    v = mbs.simulate(model, steps * h, h, mbs.GeneralizedAlpha(1.0)).velocity(ball)[-1]
    turned = steps * (spin * h - 2.0 * np.arctan(0.5 * spin * h))
    assert turned == pytest.approx(steps * (spin * h) ** 3 / 12.0, rel=2e-3)
    np.testing.assert_allclose(v, [2.0 * np.cos(turned), 2.0 * np.sin(turned), 1.0], rtol=0, atol=1e-5 * turned)


@pytest.mark.ci
@groups
@interpolations
@pytest.mark.parametrize("section", [pytest.param(SOFT, marks=pytest.mark.slow), COUPLED], ids=["centred", "eccentric"])
def test_flying_beam(group: str, interpolation: str, section: BeamSection) -> None:
    drifts = []
    for h in STEPS:
        model, _ = beam(group, interpolation, section, moving=True)
        solution = mbs.simulate(model, 0.4, h, method())
        assert solution.energy.strain.max() > 0.02
        drifts.append(drift(solution))
    linear, angular = np.array(drifts).T
    assert abs(fitted_order(STEPS, angular) - 2.0) < 0.15 and angular[-1] < 1e-4
    if group == "R3xSO3" and section is SOFT:
        assert linear.max() < 1e-11
    else:
        assert abs(fitted_order(STEPS, linear) - 2.0) < 0.15 and linear[-1] < 1e-4


def pulse(t: float) -> float:
    """A smooth push that ends at t = 0.4 s."""
    return float(np.sin(np.pi * t / 0.4) ** 4) if t < 0.4 else 0.0


@pytest.mark.ci
@groups
@interpolations
def test_unloaded_beam_keeps_the_momentum_of_the_push(group: str, interpolation: str) -> None:
    """The push leaves its impulse, to order 2; afterwards momentum is kept as in free flight.

    ``rho_inf = 0.5`` lets the algorithmic accelerations forget the push within the 0.3 s before momentum is watched.
    """
    force, moment = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, -1.0])
    steps, impulse, drifts = STEPS, [], []
    for h in steps:
        model, nodes = beam(group, interpolation, SOFT, moving=False)
        model.add(Force(nodes[-1], lambda t: force * pulse(t), point=nodes[-1].at((0.1, 0.2, 0.3))))
        model.add(Moment(nodes[2], lambda t: moment * pulse(t)))
        solution = mbs.simulate(model, 1.2, h, method(0.5))
        late = int(np.flatnonzero(solution.t >= 0.7)[0])
        impulse.append(momentum(solution.system, solution.motion(late))[:3])
        drifts.append(drift(solution, since=0.7))
    exact: Array = force * 0.4 * 3 / 8
    errors = np.abs(np.array(impulse) - exact).max(axis=1)
    linear, angular = np.array(drifts).T
    if group == "R3xSO3":
        assert linear.max() < 1e-11 and errors[-1] < 1e-6
    else:
        assert linear[-1] < 0.3 * linear[0] < 5e-3 and errors[-1] < 0.3 * errors[0] < 5e-3
    assert angular[-1] < 0.3 * angular[0] < 5e-3
