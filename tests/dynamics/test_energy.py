"""Energy: kept by rho_inf = 1, taken from high frequencies by less, changed by loads by their work."""

from __future__ import annotations

import numpy as np
import pytest
from motions import fitted_order

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import Beam, BeamSection, Force, Moment, RigidBody, SphericalJoint
from fem_mbs.lie import so3

groups = pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
OFFSET = np.array([0.1, -0.2, 0.3])


@pytest.mark.one
@pytest.mark.parametrize(("group", "rho_inf"), [("SE3", 1.0), ("R3xSO3", 0.9)])
def test_pendulum_keeps_its_energy(group: str, rho_inf: float) -> None:
    """Over two swings: an error of second order in the step that does not grow.

    Without damping the index-3 method needs SE(3), where the pivot is linear in the velocity. On R3xSO3 an oscillation
    of the multipliers grows unless ``1 - rho_inf`` exceeds about the angle turned in a step.
    """
    steps, errors = np.array([0.02, 0.01]), []
    for h in steps:
        model = mbs.Model(group, (0, 0, -9.81))
        bob = model.add_node((0.8, 0, 0), angular_velocity=(0, 0, 1.0), velocity=(0, 0.8, 0))
        model.add(RigidBody(bob, 2.0, (0.25, 0.3, 0.2)))
        model.add(SphericalJoint(model.ground, bob, point=(0, 0, 0)))
        energy = mbs.simulate(model, 2.0, h, mbs.GeneralizedAlpha(rho_inf)).energy
        error = np.abs(energy.total - energy.total[0]) / np.ptp(energy.kinetic)
        errors.append(error.max())
        third = len(error) // 3
        assert error[-third:].max() < 1.5 * error[:third].max()
    assert abs(fitted_order(steps, np.array(errors)) - 2.0) < 0.2 and errors[-1] < 0.003


@groups
def test_free_body_keeps_its_energy_without_damping(group: str) -> None:
    model = mbs.Model(group)
    node = model.add_node((0, 0, 0), velocity=(0.3, 0.2, 0.1), angular_velocity=(1.0, 3.0, 0.5))
    model.add(RigidBody(node, 1.5, (1.0, 2.0, 2.5), (0.1, 0.2, 0.3)))
    energy = mbs.simulate(model, 4.0, 0.02, mbs.GeneralizedAlpha(rho_inf=1.0)).energy
    error = np.abs(energy.total / energy.total[0] - 1)
    assert 1e-5 < error[-150:].max() < 1.2 * error[:150].max() < 5e-3


STIFFNESS, HALF_MASS, H = 1e10, 1.0, 0.01
"""One axial element of unit length; the mass at its free end is a third of it."""


@pytest.mark.parametrize("rho_inf", [0.0, 0.3, 0.6, 0.9, 1.0])
def test_high_frequencies_are_damped_by_the_spectral_radius(rho_inf: float) -> None:
    """A stiff axial vibration, ``omega h = 1000``: the velocity changes sign every step and falls by ``rho_inf``.

    The root ``-rho_inf`` is double, so the amplitude is ``(a + b n) rho_inf^n``; at ``rho_inf = 1`` it is that of the
    trapezoidal rule, ``cos(2 n atan(omega h/2))``.
    """
    model = mbs.Model("SE3")
    tip = model.add_node((1, 0, 0), velocity=(1e-6, 0, 0))
    section = BeamSection(STIFFNESS, 1e10, 1e10, 1e10, 3 * HALF_MASS, (3.0, 3.0, 3.0))
    model.add(Beam([model.ground, tip], section))
    method = mbs.GeneralizedAlpha(rho_inf, newton=mbs.Newton(force_tolerance=1e-12))
    velocity = mbs.simulate(model, 0.4, H, method).velocity(tip)[:, 0] / 1e-6
    n = np.arange(len(velocity))
    if rho_inf == 1.0:
        omega = np.sqrt(STIFFNESS / HALF_MASS)
        np.testing.assert_allclose(velocity, np.cos(2 * n * np.arctan(omega * H / 2)), atol=1e-4)
    elif rho_inf == 0.0:
        assert np.abs(velocity[3:]).max() < 1e-4
    else:
        seen = (n >= 3) & (rho_inf**n > 1e-4)
        scaled = (velocity / (-rho_inf) ** n)[seen]
        line = np.polynomial.Polynomial.fit(n[seen], scaled, 1)
        np.testing.assert_allclose(scaled, line(n[seen]), atol=0.02 * np.abs(scaled).max())


@pytest.mark.ci
@groups
def test_slow_motion_is_hardly_damped(group: str) -> None:
    """The loss of energy at low frequency is of third order in the step, whatever rho_inf."""
    losses = []
    for h in (0.04, 0.02):
        model = mbs.Model(group, (0, 0, -9.81))
        bob = model.add_node((0.8, 0, 0))
        model.add(RigidBody(bob, 2.0, (0.25, 0.3, 0.2)))
        model.add(SphericalJoint(model.ground, bob, point=(0, 0, 0)))
        energy = mbs.simulate(model, 4.0, h, mbs.GeneralizedAlpha(rho_inf=0.5)).energy
        losses.append(np.abs(energy.total - energy.total[0]).max() / np.ptp(energy.kinetic))
    assert losses[1] < 0.3 * losses[0] < 0.05


def loaded(group: str, kind: str) -> tuple[mbs.Model, mbs.Node]:
    model = mbs.Model(group)
    node = model.add_node((0, 0, 0), so3.exp(np.array([0.3, 0.2, 0.1])), (0.1, 0.2, 0.3), (0.5, 0.2, 1.0))
    model.add(RigidBody(node, 1.5, (1.0, 2.0, 2.5)))
    value, frame = (2.0, -1.0, 3.0), kind.split()[0]
    model.add(
        Force(node, value, frame=frame, point=node.at(OFFSET))
        if kind.endswith("force")
        else Moment(node, value, frame=frame)
    )
    return model, node


def power(solution: mbs.Solution, node: mbs.Node, kind: str) -> Array:
    R, Omega = solution.rotation(node), solution.angular_velocity(node)
    value = np.array([2.0, -1.0, 3.0])
    moved = np.matvec(R, Omega)
    if kind.endswith("force"):
        moved = solution.velocity(node) + np.matvec(R, np.cross(Omega, OFFSET))
    return np.vecdot(R @ value if kind.startswith("body") else value, moved)


@groups
@pytest.mark.parametrize("kind", ["world force", "body force", "world moment", "body moment"])
def test_work_of_a_load_is_the_gain_of_energy(group: str, kind: str) -> None:
    """To order 2: the trapezoidal sum of the load's power against the energy."""
    steps, errors = np.array([0.04, 0.02, 0.01]), []
    for h in steps:
        model, node = loaded(group, kind)
        solution = mbs.simulate(model, 1.0, h)
        work = h * (power(solution, node, kind)[1:] + power(solution, node, kind)[:-1]).sum() / 2
        gain = solution.energy.total[-1] - solution.energy.total[0]
        errors.append(abs(work - gain) / abs(gain))
    assert abs(fitted_order(steps, np.array(errors)) - 2.0) < 0.15 and errors[-1] < 1e-3
