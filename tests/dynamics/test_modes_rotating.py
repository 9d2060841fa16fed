"""Frequencies of structures in steady rotation, seen in the rotating frame: gyroscopic and centrifugal terms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from motions import fitted_order
from scipy.integrate import solve_ivp
from scipy.linalg import eigvals
from scipy.optimize import brentq

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import Beam, BeamSection, RevoluteJoint, RigidBody, SphericalJoint
from fem_mbs.initial.consistent_start import accelerations
from fem_mbs.initial.state_point import StatePoint
from fem_mbs.lie import so3


def upper(values: Array) -> Array:
    """Complex numbers with imaginary parts made positive, sorted by size, those of one size by their real part."""
    values = values.real + 1j * np.abs(values.imag)
    return values[np.lexsort([values.real, np.abs(values).round(9)])]


@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
@pytest.mark.parametrize("spin", [40.0, 30.0, 8.0])
def test_sleeping_top(spin: float, group: str) -> None:
    """``J_t phi'' - i J_p spin phi' - m g l phi = 0`` for the tilt ``phi``: stable above a spin of 29 rad/s."""
    m, g, l, J_t, J_p = 2.0, 9.81, 0.3, 0.05, 0.08
    model = mbs.Model(group, gravity=(0, 0, -g))
    node = model.add_node((0, 0, l), angular_velocity=(0, 0, spin))
    model.add(RigidBody(node, m, (J_t, J_t, J_p)))
    model.add(SphericalJoint(model.ground, node, point=(0, 0, 0)))
    found = mbs.modes(model)
    whirl = np.roots([J_t + m * l**2, -J_p * spin, m * g * l])
    expected = upper(1j * np.concatenate([[0.0], whirl - spin]))
    np.testing.assert_allclose(upper(found.eigenvalues), expected, atol=1e-8 * spin)
    assert (found.damping.min() < -0.1) == (spin == 8.0)


@pytest.mark.parametrize("damping", [0.0, 1e-4])
@pytest.mark.parametrize("spin", [0.0, 30.0, 300.0])
def test_overhung_rotor(spin: float, damping: float) -> None:
    """A disk on a massless shaft of one element that turns: forward and backward whirl.

    In a frame that turns, ``w`` across and ``phi``, the tilt, have ``k (1 + i damping nu) - M (nu + spin)^2 + J_p spin
    (nu + spin)`` singular; damping of the shaft makes forward whirl grow above the critical speed, which is 67 rad/s.
    """
    L, m, J_t, J_p, EA, GA, GJ, EI = 0.5, 10.0, 0.1, 0.18, 1e6, 3e5, 800.0, 1000.0
    model = mbs.Model()
    turning = dict(angular_velocity=(spin, 0, 0))
    start, end = model.add_node((0, 0, 0), **turning), model.add_node((L, 0, 0), **turning)
    section = BeamSection(EA, GA, GJ, EI, 1e-9, (1e-12, 5e-13, 5e-13)).with_damping(damping)
    model.add(Beam([start, end], section))
    model.add(RigidBody(end, m, (J_p, J_t, J_t)))
    model.add(RevoluteJoint(model.ground, start, axis=(1, 0, 0), drive=lambda t: spin * t))
    found = mbs.modes(model, damped=damping > 0.0)
    k = np.array([[GA / L, -GA / 2], [-GA / 2, GA * L / 4 + EI / L]])
    M, G = np.diag([m, J_t]), np.diag([0.0, J_p * spin])
    A0, A1 = k - M * spin**2 + G * spin, 1j * damping * k - 2 * M * spin + G
    nu = eigvals(np.block([[np.zeros((2, 2)), np.eye(2)], [np.linalg.solve(M, A0), np.linalg.solve(M, A1)]]))
    along = np.sqrt([EA / L / m, GJ / L / J_p])
    ratio = 0.5 * damping * along
    along = along * (-ratio + 1j * np.sqrt(1 - ratio**2))
    expected = upper(np.concatenate([1j * nu, along]))
    np.testing.assert_allclose(upper(found.eigenvalues), expected, rtol=1e-6, atol=1e-4)
    assert (found.damping.min() < -1e-5) == (damping > 0.0 and spin == 300.0)


LENGTH, EA, GA, GJ, EI, MU, J = 1.0, 1e6, 4e5, 50.0, (80.0, 120.0), 1.5, (4e-4, 1.5e-4, 2.5e-4)


def blade(spin: float, elements: int, section: BeamSection, group: str = "R3xSO3") -> tuple[mbs.Model, mbs.State]:
    """A beam that turns about the vertical through its root, in steady motion."""
    model = mbs.Model(group)
    beam = Beam.line(model, (0, 0, 0), (LENGTH, 0, 0), section, elements, y_axis=(0, 1, 0))
    model.add(RevoluteJoint(model.ground, beam.nodes[0], axis=(0, 0, 1), drive=lambda t: spin * t))
    return model, mbs.steady_rotation(model, (0, 0, spin)).state(-1)


def flap(spin: float, guess: tuple[float, float]) -> float:
    """Angular frequency of Timoshenko's beam that bends out of the plane of rotation, ``y = (w, theta, Q, M)``.

    The stretched axis ``x = sin(k s)/(k cos(k L))``, ``k^2 = mu spin^2/EA``, carries ``N = EA (x' - 1)``; the section
    resists a tilt with ``j_y omega^2 + (j_x - j_z) spin^2``.
    """
    k = np.sqrt(MU / EA) * spin

    def slope(s: float, y: Array, omega: float) -> Array:
        stretch = np.cos(k * s) / np.cos(k * LENGTH)
        N = EA * (stretch - 1)
        w, theta, Q, M = y.reshape(4, 2)
        w1 = stretch * theta + (Q - N * theta) / GA
        tilt = J[1] * omega**2 + (J[0] - J[2]) * spin**2
        return np.concatenate([w1, M / EI[0], -MU * omega**2 * w, N * w1 - stretch * Q - tilt * theta])

    def free_end(omega: float) -> float:
        y0 = np.zeros((4, 2))
        y0[2:] = np.eye(2)
        run = solve_ivp(slope, (0, LENGTH), y0.ravel(), "DOP853", rtol=1e-11, atol=1e-11, args=(omega,))
        return float(np.linalg.det(run.y[:, -1].reshape(4, 2)[2:]))

    return brentq(free_end, *guess, rtol=1e-11)


@pytest.mark.parametrize(("across", "steady"), [(1.2, True), (1.6, False)])
def test_a_satellite_drifts_and_does_not_grow(across: float, steady: bool, caplog: pytest.LogCaptureFixture) -> None:
    """A hub with two booms spins free in space: seen from it, what drifts and what is tilted goes round with -spin.

    Drifting is a double eigenvalue of one mode, which rounding splits into one that grows and one that decays. About
    the middle one of its axes of inertia it does grow, by ``spin sqrt((C - A)(B - C)/(A B))``.
    """
    spin, inertia = 20.0, (1.0, across, 1.5)
    model = mbs.Model("SE3")
    hub = model.add_node((0, 0, 0))
    model.add(RigidBody(hub, 10.0, inertia))
    boom = BeamSection.circle(0.01, E=70e12, nu=0.3, rho=1e-3)
    for side in (-2, 2):
        Beam.line(model, (0, 0, 0), (side, 0, 0), boom, elements=6, start_node=hub)
    about = mbs.steady_rotation(model, (0, 0, spin))
    found = mbs.modes(model, 6, about.state(-1))
    A, B, C = inertia
    wobble = spin * np.emath.sqrt((C - A) * (B - C) / (A * B))
    assert found.eigenvalues.real.max() == pytest.approx(wobble.real, abs=1e-9 * spin if steady else 1e-4)
    np.testing.assert_allclose(found.eigenvalues[-3:] if steady else found.eigenvalues[-2:], 1j * spin, rtol=1e-7)
    assert ("unstable" in caplog.text, "grow" in caplog.text) == (not steady, not steady)


@pytest.mark.ci
def test_spinning_beam_has_order_two_in_the_mesh() -> None:
    """Flapping frequencies against those of the exact equations of the stretched, turning beam."""
    spin = 40.0
    section = BeamSection(EA, GA, GJ, EI, MU, J)
    elements = np.array([8, 16, 32])
    found = []
    for n in elements:
        model, state = blade(spin, n, section, "SE3")
        modes = mbs.modes(model, 8, state)
        tip = np.abs(modes.displacement(model.nodes[-1]))
        found.append(modes.angular[tip[:, 2] > 10 * tip[:, 1]][:2])
    errors = []
    for near in found[-1]:
        reference = flap(spin, (0.98 * near, 1.02 * near))
        errors.append([abs(row[len(errors)] / reference - 1) for row in found])
    for error in np.array(errors):
        assert abs(fitted_order(1 / elements, error) - 2.0) < 0.1
        assert error[-1] < 3e-3


PRINTED = {0: (3.5160, 22.0345), 3: (4.7973, 23.3203), 6: (7.3604, 26.8091), 12: (13.1702, 37.6031)}
"""Flapping frequencies at speeds, all over ``sqrt(EI/mu L^4)``: Hodges and Rutkowski, AIAA Journal 19 (1981); confirmed
by :func:`slender_flap`."""


def slender_flap(speed: float, guess: float) -> float:
    """Euler's beam, ``M'' - (T w')' = omega^2 w``, ``M = w''``, ``T = speed^2 (1 - s^2)/2``, without units."""

    def slope(s: float, y: Array, omega: float) -> Array:
        w, angle, M, Q = y.reshape(4, 2)
        return np.concatenate([angle, M, 0.5 * speed**2 * (1 - s * s) * angle - Q, -(omega**2) * w])

    def free_end(omega: float) -> float:
        y0 = np.zeros((4, 2))
        y0[2:] = np.eye(2)
        run = solve_ivp(slope, (0, 1), y0.ravel(), "DOP853", rtol=1e-10, atol=1e-10, args=(omega,))
        return float(np.linalg.det(run.y[:, -1].reshape(4, 2)[2:]))

    return brentq(free_end, 0.97 * guess, 1.03 * guess)


@pytest.mark.one
@pytest.mark.parametrize("speed", PRINTED)
def test_spinning_euler_beam(speed: int) -> None:
    """Stiffening of a slender beam; in the plane of rotation the square is ``speed^2`` less."""
    expected = np.array([slender_flap(speed, guess) for guess in PRINTED[speed]])
    np.testing.assert_allclose(expected, PRINTED[speed], rtol=2e-5)
    section = BeamSection(1e9, 1e9, 100.0, 100.0, 1.0, (2e-8, 1e-8, 1e-8))
    fine, coarse = (
        mbs.modes(model, 4, state).angular / 10.0
        for model, state in (blade(10.0 * speed, n, section) for n in (60, 30))
    )
    # extrapolated in the mesh: what is left is of order 4
    squares = (4 * fine**2 - coarse**2) / 3
    np.testing.assert_allclose(squares, np.sort([*(expected**2 - speed**2), *expected**2]), rtol=1e-4)


@pytest.mark.ci
def test_a_run_follows_its_modes() -> None:
    """Started on a complex mode of a turning blade with a heavy tip, a run stays on it: ``Re(d exp(lambda t))``."""
    spin, size = 30.0, 1e-5
    model = mbs.Model("SE3")
    section = BeamSection(EA, GA, GJ, EI, MU, J).with_damping(1e-3)
    beam = Beam.line(model, (0.2, 0, 0), (0.2 + LENGTH, 0, 0), section, 4, y_axis=(0, 1, 1))
    model.add(RigidBody(beam.nodes[-1], 0.5, (0.02, 0.03, 0.04), (0.05, 0.1, 0.02)))
    model.add(RevoluteJoint(model.ground, beam.nodes[0], (0, 0, 1), (0, 0, 0), drive=lambda t: spin * t))
    linear = mbs.linearize(model, mbs.steady_rotation(model, (0, 0, spin)).state(-1))
    modes = mbs.modes(model, 4, linear.state, damped=True)
    system, base = linear.system, linear.state
    assert (modes.damping > 0.004).all()
    assert (np.abs(modes.shapes.imag).max(axis=(1, 2)) > 1e-3 * np.abs(modes.shapes.real).max(axis=(1, 2))).all()
    V = system.kinematics.to_body(base.R, base.v)
    U, W = so3.skew(V[:, :3]), so3.skew(V[:, 3:])

    def disturbed(d: Array, rate: Array) -> mbs.State:
        # V changes by d' and by its bracket with d
        change = rate.copy()
        change[:, :3] += np.matvec(W, d[:, :3]) + np.matvec(U, d[:, 3:])
        change[:, 3:] += np.matvec(W, d[:, 3:])
        x, R = system.kinematics.retract(base.x, base.R, d)
        v = system.kinematics.from_body(R, V + change)
        vdot, multipliers, *_ = accelerations(system, StatePoint(0.0, x, R, v, np.empty(0), np.empty(0)))
        return mbs.State(0.0, x, R, v, vdot, multipliers)

    method = mbs.GeneralizedAlpha(0.95, newton=mbs.Newton(1e-11))
    for shape, value in zip(modes.shapes[::2], modes.eigenvalues[::2], strict=True):
        body = np.matvec(base.R.mT[:, None], shape.reshape(-1, 2, 3)).reshape(-1, 6)
        body *= size / np.abs(body).max()
        period = 2 * np.pi / value.imag
        steps = 64
        ends = []
        for sign in (1.0, -1.0):
            state = disturbed(sign * body.real, sign * (value * body).real)
            memory = method.init(system, state, h := 0.6 * period / steps)
            for _ in range(steps):
                state, memory, *_ = method.step(system, state, h, memory)
            ends.append(state)
        # half the difference of both runs has no terms of second order
        apart = 0.5 * system.kinematics.relative(ends[1].x, ends[1].R, ends[0].x, ends[0].R)
        expected = (body * np.exp(0.6 * period * value)).real
        # a period is (omega h)^2/12 too long: 3e-4 of 3.8 rad, and the same for the rotation
        np.testing.assert_allclose(apart, expected, atol=2e-3 * size)


def test_animation_about_a_driven_rotation(tmp_path: Path) -> None:
    """Drives stand still as the axes do from which it is seen: so do reactions, also in a file."""
    model, speed = mbs.Model("SE3"), 20.0
    section = BeamSection.rectangle(0.03, 0.002, E=210e9, nu=0.3, rho=7850)
    blade = Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements=1, order=2, y_axis=(0, 1, 0))
    hub = RevoluteJoint(model.ground, blade.nodes[0], axis=(0, 0, 1), drive=lambda t: speed * t)
    model.add(hub, name="hub")
    steady = mbs.steady_rotation(model, (0, 0, speed))
    modes = mbs.modes(model, 1, steady.state(-1))
    swing = modes.animation(0, frames=4)
    assert swing.t[-1] * speed > np.pi
    for run in (swing, mbs.load(swing.save(tmp_path / "swing"))):
        np.testing.assert_allclose(run.reaction("hub")[0], np.tile(steady.reaction("hub")[0], (5, 1)), rtol=1e-9)
    assert modes.to_paraview(tmp_path / "swing", frames=4)
    assert len(modes.animate(0, duration=0.2)) == 5


def test_animation_of_a_complex_mode() -> None:
    """Parts out of phase: the real part of the shape a quarter of a period after the imaginary part."""
    model = mbs.Model()
    node = model.add_node((0, 0, 0.3), angular_velocity=(0, 0, 40.0))
    model.add(RigidBody(node, 2.0, (0.05, 0.05, 0.08)))
    model.add(SphericalJoint(model.ground, node, point=(0, 0, 0)))
    modes = mbs.modes(model)
    shape = modes.displacement(node)[2]
    assert np.abs(shape.imag).max() > 0.1 * np.abs(shape.real).max()
    moved = modes.animation(2, amplitude=1e-6, frames=4).displacement(node)
    np.testing.assert_allclose(moved[:2], 1e-6 * np.array([shape.imag, shape.real]), atol=1e-11)
