"""Rotors that turn about their bent lines: where they stay, what they take, and their frequencies there."""

from __future__ import annotations

import numpy as np
import pytest
from meshes import chain

import fem_mbs as mbs
from fem_mbs.elements import (
    Beam,
    BeamSection,
    Bearing,
    Bushing,
    FlexibleBody,
    Force,
    Interface,
    JournalBearing,
    Reduction,
    RevoluteJoint,
    RigidBody,
)
from fem_mbs.elements.forces.bearing import film

X = (1.0, 0.0, 0.0)


def shaft(group: str = "SE3", unequal: float = 1.0, gravity: float = 9.81, damping: float = 1.0) -> mbs.Model:
    """A shaft of 1.5 m with two discs, on bearings that differ across."""
    model = mbs.Model(group, gravity=(0, 0, -gravity))
    nodes = [model.add_node((x, 0, 0), name=f"shaft {k}") for k, x in enumerate(np.linspace(0, 1.5, 7))]
    E, G, area, second = 211e9, 81.2e9, np.pi * 0.025**2, np.pi * 0.025**4 / 4
    bends = E * second * np.array([1.0, unequal])
    inertia = 7810 * second * np.array([2, 1, 1])
    section = BeamSection(E * area, 0.9 * G * area, 2 * G * second, bends, 7810 * area, inertia)
    model.add(Beam(nodes, section, y_axis=(0, 1, 0)))
    model.add(RigidBody(nodes[2], 32.6, (0.3296, 0.1781, 0.1781)))
    model.add(RigidBody(nodes[4], 51.5, (0.8046, 0.4233, 0.4233)))
    for end in (nodes[0], nodes[-1]):
        losses = damping * np.array([500.0, 400.0, 0.0, 0.0, 0.0])
        model.add(Bearing(model.ground, end, X, (1e6, 0.8e6, 1e7, 0.0, 0.0), losses, across=(0, 1, 0)))
    return model


@pytest.mark.parametrize("group", ["SE3", "R3xSO3"])
def test_a_round_shaft_sags_as_at_rest_and_stays_there(group: str) -> None:
    """No speed changes the sag of a shaft without damping of its own, and a run stays on the spin."""
    held = shaft(group)
    held.fix("shaft 0", translation=False, rotation=(True, False, False))
    rest = mbs.statics(held)
    for speed in (0.0, 40.0, 400.0):
        model = shaft(group)
        spin = mbs.steady_spin(model, speed)
        assert spin.position("shaft 3")[-1] == pytest.approx(rest.position("shaft 3")[-1], abs=1e-12)
    run = mbs.simulate(model, 0.02, 1e-3, initial=spin.state(-1))
    assert np.ptp(run.position("shaft 3"), axis=0) == pytest.approx(np.zeros(3), abs=1e-12)
    # the axis of each section, as it leans, is that of its spin
    leaning = run.rotation("shaft 1")[-1] @ np.array(X)
    assert abs(leaning[2]) > 1e-3
    assert run.rotation("shaft 1")[-1] @ run.angular_velocity("shaft 1")[-1] == pytest.approx(400.0 * leaning, abs=1e-7)


@pytest.mark.parametrize("speed", [40.0, 400.0])
def test_without_damping_nothing_grows(speed: float) -> None:
    """Sections of a sagged shaft turn about different axes, in which what inertia has of the damping is not skew."""
    model, bare = shaft(), shaft(damping=0.0)
    spin = mbs.steady_spin(model, speed)
    found, known = mbs.modes(model, 10, spin.state(-1)), mbs.modes(bare, 10, spin.state(-1), damped=True)
    assert found.eigenvalues == pytest.approx(known.eigenvalues, abs=1e-9 * known.angular.max())
    assert np.abs(found.eigenvalues.real).max() < 1e-9 * known.angular.max()


def test_damping_that_turns_pushes_a_shaft_aside() -> None:
    """``r = -i m g/(k - i c Omega)`` across, and the torque ``c Omega |r|^2`` drives it."""
    m, k, c, speed, g = 2.0, 4000.0, 30.0, 80.0, 9.81
    model = mbs.Model("SE3", gravity=(0, 0, -g))
    hub, disc = (model.add_node((0, 0, 0), name=name) for name in ("hub", "disc"))
    model.add(RigidBody(hub, 1.0, (0.02, 0.01, 0.01)))
    model.add(RigidBody(disc, m, (0.02, 0.01, 0.01)))
    model.add(RevoluteJoint(model.ground, hub, X, drive=lambda t: speed * t), name="drive")
    model.add(Bushing(hub, disc, (k, k, k, 1e4, 1e4, 1e4), (c, c, c, 0, 0, 0)))
    spin = mbs.steady_spin(model, speed)
    _, y, z = spin.position("disc")[-1]
    exact = -1j * m * g / (k - 1j * c * speed)
    assert complex(y, z) == pytest.approx(exact, rel=1e-6)
    torque = abs(float(spin.reaction("drive")[1][-1] @ np.array(X)))
    assert torque == pytest.approx(c * speed * abs(exact) ** 2, rel=1e-6)


@pytest.mark.parametrize("e", [0.2, 0.5, 0.9])
def test_a_shaft_settles_in_its_film_and_vibrates_by_its_coefficients(e: float) -> None:
    """``tan = pi sqrt(1 - e^2)/(4 e)`` against the load; eigenvalues are those of the slopes of the film."""
    m, speed, c = 10.0, 100.0, 1e-4
    F = film(np.array([e, 0.0]), np.zeros(2), np.ones(1))
    unit = m * 9.81 / np.linalg.norm(F) / speed  # of the film, eta R L^3/c^2
    model = mbs.Model("SE3", gravity=(0, 0, -9.81))
    disc = model.add_node((0, 0, 0), name="disc")
    model.add(RigidBody(disc, m, (0.2, 0.1, 0.1)))
    model.add(Bearing(model.ground, disc, X, (0, 0, 1e10, 1e10, 1e10)))
    model.add(JournalBearing(model.ground, disc, X, 0.025, 0.02, c, unit * c**2 / (0.025 * 0.02**3)))
    spin = mbs.steady_spin(model, speed)
    _, y, z = spin.position("disc")[-1] / c
    assert np.hypot(y, z) == pytest.approx(e, abs=1e-8)
    assert y / -z == pytest.approx(np.pi * np.sqrt(1.0 - e**2) / (4.0 * e), rel=1e-7)
    place, still, step = np.array([y, z]), np.zeros(2), 1e-6

    def slopes(of: int) -> np.ndarray:
        sides = [
            [film(*(part + sign * step * axis * (k == of) for k, part in enumerate((place, still))), np.full(1, speed))
             for sign in (1.0, -1.0)]
            for axis in np.eye(2)
        ]  # fmt: skip
        return -unit / c * np.array([(a - b) / (2.0 * step) for a, b in sides]).T

    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-slopes(0) / m, -slopes(1) / m]])
    exact = np.linalg.eigvals(A)
    found = mbs.modes(model, 6, spin.state(-1), damped=True).eigenvalues
    for value in exact[exact.imag >= 0.0]:
        assert np.abs(found - value).min() == pytest.approx(0.0, abs=2e-5 * abs(value))


def test_the_diagram_of_a_rotor_under_its_weight() -> None:
    """Bending by 2 mm changes frequencies by 1 part in 1000; the answer to unbalance is as near."""
    speeds = [40.0, 400.0]
    straight, bent = (mbs.campbell(shaft(gravity=g), speeds, count=4) for g in (0.0, 9.81))
    assert bent.angular == pytest.approx(straight.angular, rel=2e-3)
    assert np.abs(bent.angular - straight.angular).max() > 1e-6
    radii = [mbs.unbalance_response(shaft(gravity=g), [100.0], {"shaft 2": 1e-4}).major("shaft 4") for g in (0.0, 9.81)]
    assert radii[1] == pytest.approx(radii[0], rel=1e-3)


def test_what_does_not_stay_is_refused_by_name() -> None:
    with pytest.raises(mbs.ModelError, match="steady_spin: Beam 'Beam 1' does not act alike all round"):
        mbs.steady_spin(shaft(unequal=1.3), 50.0)
    model = shaft()
    model.add(Force("shaft 3", (0, 1.0, 0), frame="body"), name="push")
    with pytest.raises(mbs.ModelError, match="steady_spin: Force 'push' does not act alike"):
        mbs.steady_spin(model, 50.0)
    model = shaft()
    model.add(RigidBody(model.nodes[-1], 1.0, (0.1, 0.1, 0.1), center_of_mass=(0, 1e-3, 0)), name="unbalance")
    with pytest.raises(mbs.ModelError, match="steady_spin: RigidBody 'unbalance' does not act alike"):
        mbs.steady_spin(model, 50.0)
    with pytest.raises(mbs.ModelError, match="torque about the axis .* acts, and nothing resists it"):
        mbs.steady_spin(rod(0.01, (10.0, 10.0), beta=0.1), 2.0)
    with pytest.raises(mbs.ModelError, match="steady_spin: turning names no nodes"):
        mbs.steady_spin(shaft(), 50.0, turning=[])


def rod(gravity: float, stiffness: tuple[float, float] | None = None, beta: float = 0.0) -> mbs.Model:
    """A meshed rod, ``EI = mu = L = 1``, on bearings, or on a drive of 2 rad/s."""
    (points, K, M), dofs = chain(10)
    ends = {"a": Interface.rigid([0]), "b": Interface.rigid([10])}
    own = Reduction(points, K, M, ends, dofs=dofs, modes=4, rayleigh=(0.0, beta))
    model = mbs.Model("SE3", gravity=(0, 0, -gravity))
    body = model.add(FlexibleBody.place(model, own, name="rod"))
    if stiffness is None:
        model.add(RevoluteJoint(model.ground, "rod.a", X, drive=lambda t: 2.0 * t), name="drive")
    else:
        for node in body.nodes:
            model.add(Bearing(model.ground, node, X, (*stiffness, 10.0, 0.0, 0.0), across=(0, 1, 0)))
    return model


@pytest.mark.slow
def test_a_meshed_rod_sags_as_at_rest_while_its_amplitudes_go_round() -> None:
    """On unequal bearings; a run of half a turn stays there; vibrations are those of Floquet's theory."""
    speed, held, model = 2.0, rod(0.1, (10.0, 4.0)), rod(0.1, (10.0, 4.0))
    held.fix("rod.a", translation=False, rotation=(True, False, False))
    rest, spin = mbs.statics(held), mbs.steady_spin(model, speed)
    for end in ("rod.a", "rod.b"):
        assert spin.position(end)[-1] == pytest.approx(rest.position(end)[-1], abs=1e-9)
        assert (spin.rotation(end)[-1] @ X)[2] == pytest.approx((rest.rotation(end)[-1] @ X)[2], rel=1e-4)
    run = mbs.simulate(model, np.pi / 2, np.pi / 200, initial=spin.state(-1))
    assert np.ptp(run.position("rod.b"), axis=0) == pytest.approx(np.zeros(3), abs=1e-6)
    eta = run.internal_variables(model.elements[0])
    assert np.linalg.norm(eta, axis=1) == pytest.approx(np.linalg.norm(eta[0]), rel=1e-3)
    assert np.abs(eta[-1] + eta[0]).max() < 1e-3 * np.abs(eta[0]).max() and np.abs(eta[0]).max() > 1e-4
    both = [mbs.campbell(model, [speed], count=5, floquet=way).angular for way in (False, True)]
    np.testing.assert_allclose(*both, rtol=1e-7)


def test_damping_of_a_meshed_rod_pushes_it_aside() -> None:
    """A cantilever under its weight, of the stiffness ``1 - i beta Omega``; its weight takes a torque then."""
    spin, rest = (mbs.steady_spin(rod(0.01, beta=beta), 2.0) for beta in (0.1, 0.0))
    _, y, z = spin.position("rod.b")[-1]
    exact = 1j * rest.position("rod.b")[-1, 2] / (1.0 - 0.2j)
    assert complex(y, z) == pytest.approx(exact, rel=2e-4)
    torque = abs(float(spin.reaction("drive")[1][-1] @ np.array(X)))
    # the mean of the deflection is 2/5 of that of the tip, of ten elements to a third of h^2
    assert torque == pytest.approx(0.01 * 0.4 * exact.real, rel=3e-3)


def test_a_touching_shaft_is_followed_from_no_load_and_told() -> None:
    model = mbs.Model("SE3", gravity=(0, 0, -9.81))
    disc = model.add_node((0, 0, 0), name="disc")
    model.add(RigidBody(disc, 10.0, (0.2, 0.1, 0.1)))
    model.add(Bearing(model.ground, disc, X, (0, 0, 1e6, 1e6, 1e6)))
    model.add(JournalBearing(model.ground, disc, X, 0.025, 0.02, 1e-4, 1e-7))
    with pytest.raises(mbs.ConvergenceError, match="nor under more than .* of its loads"):
        mbs.steady_spin(model, 100.0)
