"""The axes in which the equations about a rotor are constant: round rotors on any supports, any rotor on round ones."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from scipy.linalg import eigvals

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import (
    Beam,
    BeamSection,
    Bushing,
    CylindricalJoint,
    DistanceJoint,
    ForceActuator,
    JointFriction,
    JointSpring,
    Junction,
    MultiplierSensor,
    NodeSensor,
    PointMass,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    RollingDisc,
    Rope,
    SphericalJoint,
    SpringDamper,
)
from fem_mbs.lie import so3
from fem_mbs.modal.modes import SAME, _distinct
from fem_mbs.modal.steady_axes import turning_speeds

FAR = 1e4
"""Springs are long, so that their directions stay."""


def spring(model: mbs.Model, a: mbs.Node, b: mbs.Node, at: Array, way: Array, k: float, c: float = 0.0) -> SpringDamper:
    """A spring and a damper that stand still, along ``way``, at the point ``at`` of node b."""
    return model.add(SpringDamper(a, b, k, c, free_length=FAR, point_a=at + FAR * way, point_b=at))


def disc_on_springs(J: tuple[float, float, float], kx: float, ky: float, spin: float = 5.0) -> mbs.Model:
    """One kilogramme that spins about z, held by springs along x and y."""
    model = mbs.Model()
    node = model.add_node((0, 0, 0), angular_velocity=(0, 0, spin), name="disc")
    model.add(RigidBody(node, 1.0, J), name="body")
    for k, way in ((kx, (1.0, 0, 0)), (ky, (0, 1.0, 0))):
        spring(model, model.ground, node, np.zeros(3), np.array(way), k)
    return model


@pytest.mark.parametrize("J", [(1, 1, 1), (1, 1, 2), (1, 2, 3)])
def test_a_mass_on_unequal_springs(J: tuple[float, float, float]) -> None:
    """Turned or not, 1 kg on 100 and 400 N/m swings with 10 and 20 rad/s, and with 30 along the axis, seen by all."""
    model = disc_on_springs(J, 100.0, 400.0)
    spring(model, model.ground, model["disc"], np.zeros(3), np.array([0, 0, 1.0]), 900.0)
    found = mbs.modes(model)
    along = found.seen_from((0, 0, 5.0))[int(np.abs(found.angular - 30.0).argmin())]
    assert along == pytest.approx([30.0], rel=1e-9)
    for omega in (10.0, 20.0):
        row = int(np.abs(found.angular - omega).argmin())
        assert found.angular[row] == pytest.approx(omega, rel=1e-9)
        assert found.seen_from()[row] == pytest.approx([omega])
        assert found.seen_from((0, 0, 5.0))[row] == pytest.approx([omega - 5.0, omega + 5.0])


def test_equal_springs_are_alike_all_round_together() -> None:
    """Seen from the body that is not round; from the ground both whirls have the frequency of the springs."""
    found = mbs.modes(disc_on_springs((1, 2, 3), 100.0, 100.0))
    whirls = [k for k, seen in enumerate(found.seen_from()) if np.allclose(seen, [10.0])]
    np.testing.assert_allclose(found.angular[whirls], [5.0, 15.0], rtol=1e-9)
    from_body = found.seen_from((0, 0, 5.0))
    np.testing.assert_allclose([from_body[k] for k in whirls], [[5.0], [15.0]], rtol=1e-9)
    assert "from the ground" in str(found) and "5 rad/s" in str(found)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e9])
def test_frequencies_that_differ_by_rounding_are_one(size: float) -> None:
    found = _distinct(size * np.array([3.0, 1.0 + 1e-12, 1.0, 3.0 - 1e-12, 1e-15]), 3.0 * SAME * size)
    np.testing.assert_allclose(found, size * np.array([0.0, 1.0, 3.0]), rtol=1e-11)


def test_a_rotor_in_a_housing_with_mass() -> None:
    """Half a kilogramme each, on 900 and 4900 N/m: 30 and 70 rad/s at any speed, found by either way to the state."""

    def build(spin: float, **body: object) -> mbs.Model:
        model = mbs.Model()
        housing = model.add_node((0, 0, 0), name="housing")
        rotor = model.add_node((0, 0, 0), angular_velocity=(0, 0, spin), name="rotor")
        model.add(RigidBody(housing, 0.5, (1, 2, 3)))
        model.add(RigidBody(rotor, 0.5, **body), name="wheel")
        model.add(Bushing(model.ground, housing, [900.0, 4900.0, 1e4, 500, 600, 700]), name="mount")
        model.add(RevoluteJoint(housing, rotor, (0, 0, 1)))
        return model

    model = build(20.0, inertia=(1, 1, 1.5))
    steady = mbs.steady_rotation(model, (0, 0, 20.0), turning=["rotor"]).state(-1)
    for found in (mbs.modes(model), mbs.modes(model, state=steady)):
        for omega in (30.0, 70.0):
            assert np.abs(found.angular - omega).min() < 1e-8
    model = build(20.0, inertia=(1, 1.2, 1.5))
    linear = mbs.linearize(model)
    assert "wheel" in linear.varies and "not constant" in repr(linear)
    with pytest.raises(mbs.ModelError, match="stand still RigidBody 'wheel'.*in axes that turn .* is not"):
        mbs.modes(model)
    with pytest.raises(mbs.ModelError, match="'wheel'"):
        linear.state_space({}, {})
    # so slow that it is the same as at rest
    slow = mbs.modes(build(1e-5, inertia=(1, 1.2, 1.5))).angular
    np.testing.assert_allclose(slow, mbs.modes(build(0.0, inertia=(1, 1.2, 1.5))).angular, atol=1e-4)


def test_a_bushing_is_no_bearing() -> None:
    """Its axes turn with the shaft: no modes, and ``check`` says what to use; where it only swings, it does not."""
    for twist, spins, words in ((0.0, (5.0, 5.0), 0), (0.0, (0.3, 0.5), 1), (3.0, (0.0, 5.0), 0), (0.0, (0.0, 5.0), 1)):
        model = mbs.Model()
        housing, node = (model.add_node((0, 0, 0), angular_velocity=(0, 0, spin)) for spin in spins)
        for own in (housing, node):
            model.add(RigidBody(own, 1.0, (1, 1, 2)))
        if not spins[0]:
            model.fix(housing)
        model.add(Bushing(housing, node, [100.0, 400.0, 100, 10, 10, twist]), name="bearing")
        assert str(model.check()).count("put a light node between") == words
    with pytest.raises(mbs.ModelError, match="'bearing' is not alike all round"):
        mbs.modes(model)


def test_dampers_that_stand_still_have_no_share_without_damping() -> None:
    """Seen from a body that turns their forces turn, which is not stiffness; with them the ground sees one decay."""
    model, c = disc_on_springs((1, 2, 3), 100.0, 100.0), 3.0
    for way in ((1.0, 0, 0), (0, 1.0, 0)):
        spring(model, model.ground, model.nodes[1], np.zeros(3), np.array(way), 0.0, c)
    found = mbs.modes(model)
    assert np.abs(found.eigenvalues.real).max() < 1e-9
    assert np.isclose(found.angular[:, None], [5.0, 15.0]).any(axis=0).all()
    values = mbs.modes(model, damped=True).eigenvalues
    swings = np.sqrt(100.0 - c**2 / 4)
    for expected in (-c / 2 + 1j * (swings - 5.0), -c / 2 + 1j * (swings + 5.0)):
        assert np.abs(values - expected).min() < 1e-8


def test_damping_of_what_turns_as_a_whole_has_no_share_without_damping() -> None:
    """However its nodes lie in it: they see one angular velocity to rounding only."""
    Q, chance, found = so3.exp(np.array([0.3, -0.7, 1.1])), np.random.default_rng(0), []
    turns = so3.exp(chance.normal(size=(4, 3)))
    for damping in (0.0, 1e-3):
        model = mbs.Model()
        section = BeamSection(1e6, 4e5, 80.0, 100.0, 0.5, (1e-3, 5e-4, 5e-4)).with_damping(damping)
        spins = np.vecmat(60.0 * Q[:, 0], turns)
        every = zip(np.linspace(0.0, 1.0, 4), turns, spins, strict=True)
        nodes = [model.add_node(Q @ (x, 0, 0), R, angular_velocity=spin) for x, R, spin in every]
        model.add(Beam(nodes, section))
        for mass in (1.0, 2.0):
            model.add(RigidBody(nodes[-int(mass)], mass, (0.1, 0.1, 0.1)))
        found.append(mbs.modes(model, 8).angular)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)


def test_the_rotor_of_friswell() -> None:
    """Example 5.9.2 of Friswell, Penny, Garvey, Lees, *Dynamics of Rotating Machines* (2010), whirl in rad/s.

    In a fine mesh by equations in axes that stand still, 0 and 4000 rev/min on bearings of 1 and 0.8 MN/m.
    """
    exact = {
        0.0: (82.653, 86.658, 254.515, 274.307, 679.298, 716.566),
        4000.0: (82.325, 86.864, 239.638, 287.242, 583.396, 806.503),
    }
    E, G, rho, d = 211e9, 81.2e9, 7810.0, 0.05
    nu, A, second = E / (2 * G) - 1, np.pi * d**2 / 4, np.pi * d**4 / 64
    shear = 6 * (1 + nu) / (7 + 6 * nu) * G * A
    section = BeamSection(
        E * A, (shear, shear), 2 * G * second, (E * second,) * 2, rho * A, rho * second * np.array([2, 1, 1])
    )
    for speed, reference in exact.items():
        model, spin = mbs.Model(), speed * np.pi / 30
        nodes = [model.add_node((x, 0, 0), angular_velocity=(spin, 0, 0)) for x in np.linspace(0, 1.5, 19)]
        model.add(Beam(nodes, section, order=3, y_axis=(0, 1, 0)))
        for node, outer in ((nodes[6], 0.28), (nodes[12], 0.35)):
            mass = rho * np.pi * 0.07 * (outer**2 - d**2) / 4
            polar = mass * (outer**2 + d**2) / 8
            across = polar / 2 + mass * 0.07**2 / 12
            model.add(RigidBody(node, mass, (polar, across, across)))
        for node in (nodes[0], nodes[-1]):
            for way, k in (((0, 1.0, 0), 1e6), ((0, 0, 1.0), 0.8e6)):
                spring(model, model.ground, node, node.position, np.array(way), k)
        model.fix(nodes[0], translation=(True, False, False), rotation=False)
        found = mbs.modes(model, 9).angular
        bending = [found[np.abs(found - value).argmin()] for value in reference]
        np.testing.assert_allclose(bending, reference, rtol=2e-4)


def test_points_go_round_though_their_nodes_do_not() -> None:
    """A conical pendulum: ``omega^2 = spin^2 (1 + 3 cos^2)`` from axes that turn with it, in a node that does not."""
    angle, length, g = 0.5, 0.8, 9.81
    spin = np.sqrt(g / (length * np.cos(angle)))
    place = length * np.array([np.sin(angle), 0, -np.cos(angle)])
    model = mbs.Model(gravity=(0, 0, -g))
    node = model.add_node(place, velocity=np.cross((0, 0, spin), place))
    model.add(PointMass(node, 2.0))
    model.add(DistanceJoint(model.ground, node, point_a=(0, 0, 0)))
    expected = spin * np.sqrt(1 + 3 * np.cos(angle) ** 2)
    np.testing.assert_allclose(mbs.modes(model).angular, [0.0, expected], rtol=1e-8, atol=1e-8)


def test_a_disc_that_rolls(caplog: pytest.LogCaptureFixture) -> None:
    """Upright, fast: its tilt has ``A (A + m R^2) omega^2 = C (C + m R^2) spin^2 - A m g R``; nothing accelerates."""
    A, C, m, R, v, g = 0.0225, 0.045, 1.0, 0.3, 6.0, 9.81
    model = mbs.Model(gravity=(0, 0, -g))
    wheel = model.add_node((0, 0, R), velocity=(v, 0, 0), angular_velocity=(0, v / R, 0))
    model.add(RigidBody(wheel, m, (A, C, A)))
    model.add(RollingDisc(model.ground, wheel, (0, 0, 1), (0, 1, 0), R))
    expected = np.sqrt((C * (C + m * R**2) * (v / R) ** 2 - A * m * g * R) / (A * (A + m * R**2)))
    assert mbs.modes(model).angular[-1] == pytest.approx(expected, rel=1e-8)
    assert "accelerates" not in caplog.text


def precessing(group: str, at: str, gravity: float, P: float, theta: float = 0.6) -> tuple[mbs.Model, float]:
    """A top in steady precession, its node at its point or at its centre, or free of forces; and its nutation.

    With ``p`` the angular momentum about its axis, ``omega^2 = (p/I - 2 P cos)^2 + (P sin)^2``, as the energy over the
    tilt has it.
    """
    m, arm, A, C = 2.0, 0.0 if at == "free" else 0.3, 0.02, 0.03
    sin, cos, inertia = np.sin(theta), np.cos(theta), A + m * arm**2
    p = (m * gravity * arm + inertia * P**2 * cos) / P
    axis = np.array([0.0, sin, cos])
    omega = P * np.array([0, 0, 1.0]) + (p / C - P * cos) * axis
    place = arm * axis * (at == "centre")
    model = mbs.Model(group, gravity=(0, 0, -gravity))
    R = so3.exp(np.array([-theta, 0, 0]))
    node = model.add_node(place, R, velocity=np.cross(omega, place), angular_velocity=R.T @ omega)
    center = (0, 0, arm) if at == "point" else (0, 0, 0)
    model.add(RigidBody(node, m, (A, A, C), center_of_mass=center))
    if at != "free":
        model.add(SphericalJoint(model.ground, node, (0, 0, 0)))
    return model, float(np.hypot(p / inertia - 2.0 * P * cos, P * sin))


@pytest.mark.parametrize("group", ["SE3", "R3xSO3"])
@pytest.mark.parametrize(
    ("at", "gravity", "P"), [("centre", 9.81, 4.0), ("point", 9.81, 4.0), ("free", 0.0, 4e6), ("free", 0.0, 4e-6)]
)
def test_a_top_that_precesses(group: str, at: str, gravity: float, P: float, caplog: pytest.LogCaptureFixture) -> None:
    """Its axis goes round, and nutates; seen from axes that go round with it all is constant, at any speed."""
    model, nutation = precessing(group, at, gravity, P)
    assert np.abs(mbs.modes(model).angular - nutation).min() < 1e-9 * nutation
    assert "accelerates" not in caplog.text


@pytest.mark.parametrize("spin", [3.0, 8.0])
def test_an_edge_mill(spin: float, caplog: pytest.LogCaptureFixture) -> None:
    """A wheel rolls round a post; a bead on its arm has ``omega^2 = k/m - spin^2 + 4 m r^2 spin^2/(J + m r^2)``."""
    R, radius, r, m, k = 1.0, 0.25, 0.4, 0.5, 60.0
    model = mbs.Model(gravity=(0, 0, -9.81))
    arm = model.add_node((0, 0, radius), angular_velocity=(0, 0, spin))
    wheel = model.add_node(
        (R, 0, radius), velocity=(0, spin * R, 0), angular_velocity=(-spin * R / radius, 0, spin), name="wheel"
    )
    bead = model.add_node((0, r, radius), velocity=(-spin * r, 0, 0), angular_velocity=(0, 0, spin))
    model.add(RigidBody(arm, 1.0, (0.1, 0.1, 0.2)))
    model.add(RigidBody(wheel, 2.0, (0.06, 0.03, 0.03)))
    model.add(PointMass(bead, m))
    model.add(CylindricalJoint(model.ground, arm, (0, 0, 1)))
    model.add(CylindricalJoint(arm, wheel, (1, 0, 0), (R, 0, radius)))
    slide = model.add(PrismaticJoint(arm, bead, (0, 1, 0)))
    model.add(JointSpring(slide, k, free=-m * r * spin**2 / k))
    model.add(RollingDisc(model.ground, wheel, (0, 0, 1), (1, 0, 0), radius))
    J = 0.2 + 2.0 * R**2 + 0.03 + 0.06 * (R / radius) ** 2
    expected = np.sqrt(k / m - spin**2 + 4.0 * m * r**2 * spin**2 / (J + m * r**2))
    np.testing.assert_allclose(mbs.modes(model).angular, [0.0, 0.0, expected], rtol=1e-8)
    assert "accelerates" not in caplog.text


def test_rotors_about_two_axes_in_one_housing() -> None:
    """Round ones are seen from the ground; if one is not round and the mounts differ, there are no modes.

    By hand, of the motion of the housing: a rotor keeps its momentum ``h`` along its axis ``e``, which turns with it.
    """
    mount = [900, 4900, 1e4, 500, 600, 700]
    M, C, K = np.diag([3.0, 3, 3, 1, 2, 2.5]), np.zeros((6, 6)), np.diag(mount)
    for e, r, momentum in (((0, 0, 1), (0, 0, 0.3), 0.15 * 50.0), ((1, 0, 0), (0.4, 0, 0), -0.15 * 30.0)):
        moves = np.hstack([np.eye(3), -so3.skew(np.array(r))])
        M += moves.T @ moves
        M[3:, 3:] += 0.1 * (np.eye(3) - np.outer(e, e))
        C[3:, 3:] -= momentum * so3.skew(np.array(e, float))
    for out_of_round in (0.0, 0.02):
        model = mbs.Model()
        housing = model.add_node((0, 0, 0))
        model.add(RigidBody(housing, 3.0, (1, 2, 2.5)))
        model.add(Bushing(model.ground, housing, mount))
        for name, axis, place, spin, J in (
            ("upright", (0, 0, 1), (0, 0, 0.3), 50.0, (0.1, 0.1, 0.15)),
            ("lying", (1, 0, 0), (0.4, 0, 0), -30.0, (0.15, 0.1, 0.1 + out_of_round)),
        ):
            rotor = model.add_node(place, angular_velocity=spin * np.array(axis))
            model.add(RigidBody(rotor, 1.0, J), name=name)
            model.add(RevoluteJoint(housing, rotor, axis, place))
        if out_of_round:
            with pytest.raises(mbs.ModelError, match="stand still RigidBody 'lying'"):
                mbs.modes(model)
        else:
            linear = mbs.linearize(model)
            assert not linear.axes.any() and not linear.varies
            found = mbs.modes(model).angular
            expected = np.append([0.0, 0.0], np.sort(np.abs(exponents(M, C, K)))[::2])
            np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-6)


class Rotor(NamedTuple):
    """A rigid rotor along z on dampers and springs at two places, from the ground or from a ring with mass."""

    mass: float
    J: Array
    spin: float
    places: Array
    K: Array
    """At each place, ``(2, 2, 2)``."""
    C: Array
    ring: float
    """Mass of a ring that carries the first of the springs, 0 without."""
    mount: Array
    """Stiffness of the ring, ``(2, 2)``."""


def random_rotor(rng: np.random.Generator, round_rotor: bool, round_supports: bool) -> Rotor:
    def support(size: float) -> Array:
        turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
        values = size * rng.uniform(0.3, 3.0, 2)
        return turn @ np.diag(values[[0, 0]] if round_supports else values) @ turn.T

    J = rng.uniform((0.9, 0.9, 0.7), (1.3, 1.3, 1.7))
    if round_rotor:
        J[1] = J[0]
    return Rotor(
        rng.uniform(1.0, 5.0),
        J,
        rng.uniform(1.0, 100.0),
        rng.uniform(0.2, 1.0, 2) * (-1.0, 1.0),
        np.array([support(1e4), support(1e4)]),
        np.array([support(3.0), support(3.0)]) * (rng.random() < 0.5),
        rng.uniform(0.5, 2.0) * (rng.random() < 0.5),
        support(2e4),
    )


def as_model(rotor: Rotor) -> mbs.Model:
    model = mbs.Model()
    shaft = model.add_node((0, 0, 0), angular_velocity=(0, 0, rotor.spin))
    model.add(RigidBody(shaft, rotor.mass, rotor.J), name="shaft")
    seat = model.ground
    if rotor.ring:
        seat = model.add_node((0, 0, rotor.places[0]))
        model.add(RigidBody(seat, rotor.ring, (1.0, 1.0, 1.0)))
        model.fix(seat, translation=False, rotation=True)
        _place(model, model.ground, seat, rotor.places[0], rotor.mount, np.zeros((2, 2)))
    _place(model, seat, shaft, rotor.places[0], rotor.K[0], rotor.C[0])
    _place(model, model.ground, shaft, rotor.places[1], rotor.K[1], rotor.C[1])
    return model


def _place(model: mbs.Model, a: mbs.Node, b: mbs.Node, z: float, K: Array, C: Array) -> None:
    for values, kind in ((K, 0), (C, 1)):
        sizes, ways = np.linalg.eigh(values)
        for size, way in zip(sizes, ways.T, strict=True):
            if size > 0.0:
                given = (size, 0.0) if kind == 0 else (0.0, size)
                spring(model, a, b, np.array([0, 0, z]), np.array([*way, 0.0]), *given)


def fixed_frame(rotor: Rotor) -> tuple[Array, Array, Array]:
    """``M, C, K`` of the coordinates x, y, tilts about x, y, and x, y of the ring, of a round rotor, in the world."""
    m, (J, _, polar), n = rotor.mass, rotor.J, 6 if rotor.ring else 4
    M, C, K = np.zeros((3, n, n))
    M[range(4), range(4)] = m, m, J, J
    C[2, 3], C[3, 2] = polar * rotor.spin, -polar * rotor.spin
    for z, stiffness, damping, on_ring in zip(rotor.places, rotor.K, rotor.C, (rotor.ring > 0, False), strict=True):
        T = np.zeros((2, n))
        T[:, :4] = [[1, 0, 0, z], [0, 1, -z, 0]]
        if on_ring:
            T[:, 4:] = -np.eye(2)
        K += T.T @ stiffness @ T
        C += T.T @ damping @ T
    if rotor.ring:
        M[4:, 4:] = rotor.ring * np.eye(2)
        K[4:, 4:] += rotor.mount
    return M, C, K


def turning_frame(rotor: Rotor) -> tuple[Array, Array, Array]:
    """The same in axes that turn with the rotor, of any rotor on supports that are alike all round."""
    (Jx, Jy, Jz), s = rotor.J, rotor.spin
    M, C, K = fixed_frame(rotor._replace(J=np.array([1.0, 1.0, 0.0])))
    # translations and the supports: y = Q d
    W = np.kron(np.eye(len(M) // 2), s * np.array([[0.0, -1.0], [1.0, 0.0]]))
    M[2:4, 2:4], own = 0.0, C.copy()
    C, K = own + 2.0 * M @ W, K + own @ W + M @ W @ W
    # Euler's equations of a body with the spin s, in tilts of the body
    M[2:4, 2:4] = np.diag([Jx, Jy])
    C[2:4, 2:4] += s * np.array([[0.0, Jz - Jx - Jy], [Jx + Jy - Jz, 0.0]])
    K[2:4, 2:4] += s**2 * np.diag([Jz - Jy, Jz - Jx])
    return M, C, K


def exponents(M: Array, C: Array, K: Array) -> Array:
    n = len(M)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]])
    return np.asarray(eigvals(A))


@pytest.mark.slow
def test_two_hundred_rotors() -> None:
    """Every exponent of rigid rotors on random supports is one of the equations written by hand, and the other way."""
    rng = np.random.default_rng(8)
    refused = 0
    for k in range(200):
        round_rotor, round_supports = k % 4 in (0, 1), k % 4 in (1, 2)
        rotor = random_rotor(rng, round_rotor, round_supports)
        model = as_model(rotor)
        if not (round_rotor or round_supports):
            with pytest.raises(mbs.ModelError, match="stand still RigidBody 'shaft'.*that turn SpringDamper"):
                mbs.modes(model, damped=True)
            refused += 1
            continue
        found = mbs.modes(model, damped=True)
        seen_from_ground = not found.linear.axes[1, 0].any()
        assert seen_from_ground or round_supports
        expected = exponents(*(fixed_frame if seen_from_ground else turning_frame)(rotor))
        expected = expected[expected.imag > -1e-9]
        for value in expected:
            near = np.abs(found.eigenvalues - value).min()
            assert near < 1e-6 * np.abs(expected).max(), (k, rotor, value, found.eigenvalues)
    assert refused == 50


@pytest.mark.slow
@pytest.mark.parametrize("round_supports", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_runs_have_these_frequencies(round_supports: bool) -> None:
    """Small motions in time, read from the ground, are sums of the frequencies that the modes tell of there."""
    rng = np.random.default_rng(3)
    rotor = random_rotor(rng, not round_supports, round_supports)._replace(C=np.zeros((2, 2, 2)), ring=1.0)
    model = as_model(rotor)
    found = mbs.modes(model)
    told = np.concatenate([seen for seen in found.seen_from() if seen.max() > 1.0])
    model.nodes[1].velocity = 1e-5 * np.array([1.0, 0.7, 0.0])
    h, n = 1e-3, 700
    run = mbs.simulate(model, n * h, h, method=mbs.RadauIIA())
    signals = run.displacement(model.nodes[1])[:, :2]
    basis = np.concatenate([f(np.outer(run.t, told)) for f in (np.cos, np.sin)], axis=1)
    left = signals - basis @ np.linalg.lstsq(basis, signals, rcond=1e-10)[0]
    assert np.abs(left).max() < 1e-4 * np.abs(signals).max()
    off = np.concatenate([f(np.outer(run.t, 1.05 * told)) for f in (np.cos, np.sin)], axis=1)
    worse = signals - off @ np.linalg.lstsq(off, signals, rcond=1e-10)[0]
    assert np.abs(worse).max() > 20 * np.abs(left).max()


def sliding_block(**kind: float) -> tuple[mbs.Model, Junction, dict[str, object]]:
    """A block of 1 kg slides down a slope of 0.6 rad with friction 0.25; a force presses it on the slope."""
    slope, gravity = 0.6, 9.81
    model = mbs.Model(gravity=(0, 0, -gravity))
    down, normal = np.array([np.cos(slope), 0, -np.sin(slope)]), np.array([np.sin(slope), 0, np.cos(slope)])
    block = model.add_node((0, 0, 0), velocity=0.1 * down)
    model.add(RigidBody(block, 1.0, (1, 1, 1)))
    guide = model.add(PrismaticJoint(model.ground, block, down))
    model.add(JointFriction(guide, 0.25, **kind), name="rubs")
    press = model.add(Junction(0.0))
    model.add(ForceActuator(block, press, tuple(-normal)))
    faster = model.add(NodeSensor(block, "acceleration", tuple(down)))
    felt = {name: model.add(MultiplierSensor(guide, name)) for name in guide.equations[:2]}
    return model, press, {"faster": faster, **felt}


@pytest.mark.one
@pytest.mark.parametrize("kind", [{}, {"bristle": 1e-4}])
def test_friction_depends_on_reactions(kind: dict[str, float]) -> None:
    """0.1 N on the block slow it by 0.025 m/s^2 at once, or with bristles that carry this share."""
    model, press, outputs = sliding_block(**kind)
    initial = mbs.linearize(model)
    start = mbs.simulate(model, 0.05, 1e-3).state(-1) if kind else initial.state
    linear = mbs.linearize(model, start)
    assert abs(linear.L - linear.B.T).max() > 0.2
    system = linear.state_space({"press": press}, outputs)
    at_once = 0.1 * system.D[:, 0]
    assert at_once[0] == pytest.approx(-0.025, rel=2e-2 if kind else 1e-6)
    np.testing.assert_allclose(np.linalg.norm(at_once[1:]), 0.1, rtol=1e-9)


def test_friction_on_an_unloaded_joint_is_refused() -> None:
    """The size of a reaction has no derivative where it is zero; at rest there is no friction to depend on it."""
    model = mbs.Model()
    block = model.add_node((0, 0, 0), velocity=(0.1, 0, 0))
    model.add(RigidBody(block, 1.0, (1, 1, 1)))
    model.add(JointFriction(model.add(PrismaticJoint(model.ground, block, (1, 0, 0))), 0.25), name="rubs")
    with pytest.raises(mbs.ModelError, match="'rubs' depends on the size of a reaction .* zero"):
        mbs.linearize(model)
    block.velocity = (0, 0, 0)
    mbs.linearize(model)


def test_modes_with_friction_follow_the_reactions() -> None:
    """A block on a spring slides on a belt whose press grows with its place: the friction is a part of its stiffness.

    ``m q'' = -k q - mu N``, ``N = p + s q`` by a spring at 45 degrees: ``omega^2 = (k + k'/2 - mu k'/2)/m``.
    """
    k, sloped, mu, m = 300.0, 500.0, 0.25, 2.0
    model = mbs.Model(gravity=(0, 0, -9.81))
    block = model.add_node((0, 0, 0), velocity=(0.5, 0, 0))
    model.add(RigidBody(block, m, (1, 1, 1)))
    model.add(JointFriction(model.add(PrismaticJoint(model.ground, block, (1, 0, 0))), mu))
    spring(model, model.ground, block, np.zeros(3), np.array([1.0, 0, 0]), k)
    spring(model, model.ground, block, np.zeros(3), np.array([1.0, 0, -1.0]) / np.sqrt(2), sloped)
    # as q grows, the spring from below on the right pushes the block up: it presses less
    found = mbs.modes(model).angular
    assert found[0] == pytest.approx(np.sqrt((k + 0.5 * sloped * (1 - mu)) / m), rel=1e-6)


def test_an_equilibrium_at_rest_is_not_one_that_turns() -> None:
    """Statics and buckling refuse a state that centrifugal forces hold, and take its position."""
    model = mbs.Model()
    section = BeamSection(1e5, 4e4, 50.0, (80.0, 120.0), 1.5, (4e-4, 1.5e-4, 2.5e-4))
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), section, 4, y_axis=(0, 1, 0))
    model.add(RevoluteJoint(model.ground, beam.nodes[0], (0, 0, 1), drive=lambda t: 40.0 * t))
    state = mbs.steady_rotation(model, (0, 0, 40.0)).state(-1)
    for at_rest in (lambda s: mbs.statics(model, initial=s), lambda s: mbs.buckling(model, initial=s)):
        with pytest.raises(mbs.ModelError, match="turns at 40 rad/s and is no equilibrium at rest"):
            at_rest(state)
    rope = model.add(Rope(model.ground, beam.nodes[-1], 2.0))
    none = np.zeros(8)  # of what the rope carries
    with pytest.raises(mbs.ModelError, match="turns at 40 rad/s and is no equilibrium at rest"):
        mbs.statics(model, initial=replace(state, u=none, udot=none, uddot=none, source=None))
    model.remove(rope)
    still = replace(state, v=0 * state.v, vdot=0 * state.vdot)
    np.testing.assert_allclose(mbs.statics(model, ramp=False, initial=still).position(beam.nodes[-1])[0], [1, 0, 0])


def test_points_that_go_round_tell_how_fast_and_those_that_go_straight_do_not() -> None:
    """Two about one axis, one that rests, one along a line; their nodes do not turn."""
    omega, model = np.array([0.6, -0.8, 2.4]), mbs.Model()
    places = np.array([(1.0, 0, 0), (0, 1.5, 0.2), (0.3, 0.2, -0.5), (5.0, 0, 0)])
    for place in places:
        model.add(PointMass(model.add_node(place), 1.0))
    system = mbs.System(model)
    V, A = np.zeros((2, 5, 6))
    V[1:3, :3] = np.cross(omega, places[:2])
    A[1:3, :3], V[4, :3] = np.cross(omega, V[1:3, :3]), (0, 0, 3)
    speeds = turning_speeds(system, replace(system.at_rest(), V=V, A=A))
    np.testing.assert_allclose(speeds, [omega], rtol=0, atol=1e-12)
