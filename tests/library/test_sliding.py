"""A node that slides on a beam: exact motions, the moving load and the moving mass, energy over element borders."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import fem_mbs as mbs
from fem_mbs.benchmarks import joints
from fem_mbs.elements import (
    Beam,
    BeamSection,
    Force,
    JointSpring,
    JointStop,
    PointMass,
    RevoluteJoint,
    RigidBody,
    SlidingJoint,
)
from fem_mbs.elements.beams.track import BeamTracks

GROUPS = ("R3xSO3", "SE3")
KINDS = (("SE3", 1), ("R3xSO3", 1), ("SE3", 2), ("SE3", 3))
G = 9.81
STIFF = BeamSection(EA=1e9, GA=1e9, GJ=1e7, EI=1e7, mass=1.0, inertia=(0.1, 0.05, 0.05))
STRIP = BeamSection.rectangle(width=0.02, height=0.01, E=70e9, nu=0.3, rho=2700)


def bead(model: mbs.Model, place: np.ndarray, velocity: np.ndarray, mass: float) -> mbs.Node:
    node = model.add_node(place, velocity=velocity, name="bead")
    model.fix(node, translation=False, rotation=True)
    model.add(PointMass(node, mass))
    return node


def test_a_place_is_in_its_element() -> None:
    """Of a beam of elements of any length, its ends included."""
    model = mbs.Model()
    points = [(0, 0, 0), (0.2, 0, 0), (0.9, 0.1, 0), (1.3, 0.3, 0)]
    tracks = BeamTracks([model.add(Beam([model.add_node(point) for point in points], STIFF))])
    borders = tracks.borders[0]
    sigma = np.concatenate([np.linspace(0.0, borders[-1], 20), borders])
    element, place = tracks.elements(np.zeros(len(sigma), np.intp), sigma)
    assert place.min() >= -1e-9 and place.max() <= 1.0 + 1e-9
    np.testing.assert_allclose(borders[element] + place * np.diff(borders)[element], sigma, rtol=0, atol=1e-12)


def test_a_spring_along_a_beam() -> None:
    """A bead on a rail that is held: ``-d/2m +- i sqrt(k/m - (d/2m)^2)``."""
    model = mbs.Model()
    rail = Beam.line(model, (0, 0, 0), (1, 0, 0), STIFF, elements=2)
    for node in rail.nodes:
        model.fix(node)
    slide = model.add(SlidingJoint(rail, bead(model, np.array([0.3, 0, 0]), np.zeros(3), 0.1)))
    model.add(JointSpring(slide, 90.0, 0.6))
    [found] = mbs.modes(model, 1, damped=True).eigenvalues
    assert found == pytest.approx(-3.0 + 1j * np.sqrt(891.0), rel=1e-9)


@pytest.mark.parametrize(("group", "kind"), list(zip(GROUPS * 2, KINDS, strict=True)))
def test_bead_slides_down_an_incline(group: str, kind: tuple[str, int]) -> None:
    interpolation, order = kind
    model = mbs.Model(group, gravity=(0, 0, -G))
    slope = 0.4
    down = np.array([np.cos(slope), 0.0, -np.sin(slope)])
    rail = Beam.line(model, (0, 0, 0), 3 * down, STIFF, elements=5, interpolation=interpolation, order=order)
    for node in rail.nodes:
        model.fix(node, rotation=True)
    node = bead(model, 0.1 * down, 0.7 * down, 2.0)
    joint = model.add(SlidingJoint(rail, node), name="slide")
    solution = mbs.simulate(model, 0.8, 0.02)
    exact = 0.1 + 0.7 * solution.t + 0.5 * G * np.sin(slope) * solution.t**2
    assert exact[-1] > 1.8  # over three borders
    np.testing.assert_allclose(solution.internal_variables(joint, "arc length"), exact, rtol=0, atol=1e-12)
    np.testing.assert_allclose(solution.coordinate(joint), exact - 0.1, rtol=0, atol=1e-12)
    np.testing.assert_allclose(solution.coordinate_rate(joint), 0.7 + G * np.sin(slope) * solution.t, atol=1e-11)
    np.testing.assert_allclose(solution.position(node), exact[:, None] * down, rtol=0, atol=1e-12)
    force, moment = solution.reaction(joint)
    normal = 2.0 * G * np.cos(slope) * np.array([np.sin(slope), 0.0, np.cos(slope)])
    np.testing.assert_allclose(force, np.broadcast_to(normal, force.shape), rtol=0, atol=1e-9)
    assert not moment.any()


@pytest.mark.ci
@pytest.mark.parametrize("group", GROUPS)
def test_sleeve_turns_with_a_curved_beam(group: str) -> None:
    """On an arc, which elements of order 1 are: the sleeve keeps its orientation against the section, and its speed."""
    model = mbs.Model(group)
    nodes = [model.add_node((np.cos(angle), np.sin(angle), 0)) for angle in np.linspace(0.0, 2.4, 9)]
    rail = model.add(Beam(nodes, STIFF, (0, 0, 1)))
    for node in nodes:
        model.fix(node, rotation=True)
    start, rate = 0.35, 1.5
    place, across = np.array([np.cos(start), np.sin(start), 0.0]), np.array([-np.sin(start), np.cos(start), 0.0])
    sleeve = model.add_node(place, velocity=rate * across, angular_velocity=(0, 0, rate), name="sleeve")
    model.add(RigidBody(sleeve, 2.0, (0.1, 0.1, 0.1)))
    joint = model.add(SlidingJoint(rail, sleeve, rotation=True))
    assert rail.length.sum() == pytest.approx(2.4, rel=1e-12)
    solution = mbs.simulate(model, 0.6, 0.01, mbs.GeneralizedAlpha(0.9))
    angle = start + rate * solution.t
    place = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    np.testing.assert_allclose(solution.internal_variables(joint, "arc length"), angle, rtol=0, atol=5e-5)
    np.testing.assert_allclose(solution.position(sleeve), place, rtol=0, atol=5e-5)
    np.testing.assert_allclose(solution.rotation_vector(sleeve)[-1], (0, 0, rate * 0.6), rtol=0, atol=5e-5)
    force, moment = solution.reaction(joint)
    np.testing.assert_allclose(force[1:], -2.0 * rate**2 * place[1:], rtol=0, atol=2e-3)
    assert np.abs(moment).max() < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("group", ["R3xSO3", pytest.param("SE3", marks=pytest.mark.slow)])
def test_bead_is_thrown_out_along_a_bar_that_turns(group: str) -> None:
    """``r = r_0 cosh(omega t)``, pressed against the bar by ``2 m omega r'``."""
    rate, start, errors, of_force = 3.0, 0.3, [], []
    for h in (0.02, 0.01):
        model = mbs.Model(group)
        bar = Beam.line(model, (0, 0, 0), (2, 0, 0), STIFF, elements=3)
        for node in bar.nodes:
            node.velocity, node.angular_velocity = (0, rate * node.position[0], 0), (0, 0, rate)
        model.add(RevoluteJoint(model.ground, bar.nodes[0], (0, 0, 1), drive=lambda t: rate * t))
        node = bead(model, (start, 0, 0), (0, rate * start, 0), 0.5)
        joint = model.add(SlidingJoint(bar, node))
        solution = mbs.simulate(model, 0.8, h)
        t = solution.t
        errors.append(np.abs(solution.internal_variables(joint, "arc length") - start * np.cosh(rate * t)).max())
        exact = rate * start * rate * np.sinh(rate * t)
        of_force.append(np.abs(np.linalg.norm(solution.reaction(joint)[0], axis=1) - exact).max() / exact.max())
    assert errors[1] < 1e-3 and of_force[1] < 2e-2
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


SPEED, WHOLE = 0.4 * joints.CRITICAL, joints.MASS * joints.LENGTH


def bridge(group: str, order: int, elements: int, mass: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Deflection in the middle while a mass with a load crosses a beam at constant speed, and what it should be."""
    model, middle = joints.bridge(SPEED, group, elements, order, mass)
    time = joints.LENGTH / SPEED * (1 - 1e-9)
    solution = mbs.simulate(model, time, time / steps)
    exact = joints.deflection(solution.t, SPEED) if mass < 1.0 else moving_mass(solution.t, mass)
    return -solution.position(middle)[:, 2], exact


def moving_mass(t: np.ndarray, mass: float, modes: int = 15) -> np.ndarray:
    """The deflection with the inertia of the mass, whose vertical acceleration is ``w_tt + 2 v w_xt + v^2 w_xx``."""
    k = np.arange(1, modes + 1)
    wave = k * np.pi / joints.LENGTH

    def rate(time: float, y: np.ndarray) -> np.ndarray:
        q, q_dot = np.split(y, 2)
        s, c = np.sin(wave * SPEED * time), wave * np.cos(wave * SPEED * time)
        force = joints.PUSH - mass * (2 * SPEED * c @ q_dot - SPEED**2 * (wave**2 * s) @ q)
        matrix = 0.5 * WHOLE * np.eye(modes) + mass * np.outer(s, s)
        return np.append(q_dot, np.linalg.solve(matrix, s * force - 0.5 * WHOLE * (k**2 * joints.OMEGA) ** 2 * q))

    solution = solve_ivp(rate, (0, t[-1]), np.zeros(2 * modes), "DOP853", t, rtol=1e-10, atol=1e-13)
    return np.sin(k * np.pi / 2) @ solution.y[:modes]


@pytest.mark.slow
@pytest.mark.parametrize("group", ["SE3", pytest.param("R3xSO3", marks=pytest.mark.slow)])
@pytest.mark.parametrize("mass", [pytest.param(1e-6, marks=pytest.mark.slow), 0.3 * WHOLE])
def test_load_that_crosses_a_bridge(group: str, mass: float) -> None:
    z, exact = bridge(group, 3, 4, mass, 100)
    assert np.abs(z - exact).max() < 4e-3 * np.abs(exact).max()


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("mass", [1e-6, 0.3 * WHOLE])
def test_load_on_finer_meshes(group: str, mass: float) -> None:
    errors = []
    for elements in (8, 16, 32):
        z, exact = bridge(group, 1, elements, mass, 400)
        errors.append(np.abs(z - exact).max() / np.abs(exact).max())
    assert errors[1] < 0.33 * errors[0] and errors[2] < 0.33 * errors[1]
    z, exact = bridge(group, 3, 8, mass, 800)
    assert np.abs(z - exact).max() < 4e-4 * np.abs(exact).max()


def diving_board(group: str, interpolation: str, order: int, elements: int, rotation: bool, h: float) -> mbs.Solution:
    """A body slides out along a cantilever that a force has set into vibration for the first tenth of a second."""
    model = mbs.Model(group)
    board = Beam.line(model, (0, 0, 0), (2, 0, 0), STRIP, elements, interpolation=interpolation, order=order)
    model.fix(board.nodes[0], rotation=True)
    body = model.add_node((0.05, 0, 0), velocity=(2, 0, 0), name="body")
    model.add(RigidBody(body, 0.5, (1e-4, 1e-4, 1e-4)))
    model.add(Force(board.nodes[-1], lambda t: (0, 0, -20 * np.sin(10 * np.pi * min(t, 0.1)) ** 2)))
    model.add(SlidingJoint(board, body, rotation=rotation), name="slide")
    return mbs.simulate(model, 0.6, h)


def drift(solution: mbs.Solution) -> float:
    """Largest change of the energy after the blow, relative."""
    energy = solution.energy.total[solution.t >= 0.1 - 1e-9]
    return float(np.ptp(energy) / energy[0])


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_energy_is_kept_over_element_borders(group: str) -> None:
    drifts = []
    for h in (0.005, 0.0025):
        solution = diving_board(group, "SE3", 1, 8, False, h)
        (joint,) = solution.system.constraint_batches[0].owners
        sigma = solution.internal_variables(joint, "arc length")
        assert np.ptp(np.floor(sigma / 0.25)) >= 4
        drifts.append(drift(solution))
    assert drifts[1] < 5e-4
    assert np.log2(drifts[0] / drifts[1]) == pytest.approx(2.0, abs=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("rotation", [False, True])
@pytest.mark.parametrize(("interpolation", "order"), KINDS)
def test_energy_with_every_element(group: str, interpolation: str, order: int, rotation: bool) -> None:
    drifts = [drift(diving_board(group, interpolation, order, 8 // order, rotation, h)) for h in (0.004, 0.002)]
    assert drifts[1] < 5e-4
    assert drifts[1] < 0.35 * drifts[0]


@pytest.mark.ci
def test_beam_slides_through_an_eyelet() -> None:
    """The ground may be what slides: a stiff bar flies through a fixed eye."""
    model = mbs.Model("SE3", gravity=(0, 0, -G))
    bar = Beam.line(model, (-0.5, 0, 0), (1.5, 0, 0), STIFF, elements=3)
    for node in bar.nodes:
        node.velocity = (-1.0, 0, 0)
    eye = model.add(SlidingJoint(bar, model.ground, point=(0, 0, 0), rotation=True))
    solution = mbs.simulate(model, 0.4, 0.01)
    np.testing.assert_allclose(solution.internal_variables(eye, "arc length"), 0.5 + solution.t, rtol=0, atol=1e-6)
    np.testing.assert_allclose(solution.reaction(eye)[0][:, 2].mean(), -2.0 * G, rtol=2e-2)


@pytest.mark.parametrize(("speed", "side"), [(2.0, "end"), (-2.0, "start")])
def test_off_an_end_the_run_ends(speed: float, side: str) -> None:
    model = mbs.Model("SE3")
    rail = Beam.line(model, (0, 0, 0), (1, 0, 0), STIFF, elements=4, name="rail")
    model.fix(rail.nodes[0], rotation=True)
    node = bead(model, (0.5, 0, 0), (speed, 0, 0), 1.0)
    model.add(SlidingJoint(rail, node), name="slide")
    with pytest.raises(
        mbs.MotionError, match=rf"SlidingJoint 'slide': node 'bead' runs off the {side} of Beam 'rail'"
    ) as hit:
        mbs.simulate(model, 1.0, 0.01)
    assert hit.value.solution.t[-1] == pytest.approx(0.25, abs=0.011)


@pytest.mark.slow
def test_a_stop_keeps_the_node_on_the_beam() -> None:
    model = mbs.Model("SE3")
    rail = Beam.line(model, (0, 0, 0), (1, 0, 0), STIFF, elements=4)
    for own in rail.nodes:
        model.fix(own, rotation=True)
    joint = model.add(SlidingJoint(rail, bead(model, (0.5, 0, 0), (2, 0, 0), 1.0)))
    model.add(JointStop(joint, -0.4, 0.4, stiffness=4e4))
    solution = mbs.simulate(model, 0.6, 0.001)
    # half a period of the mass on the stop is pi/200 s
    assert solution.coordinate(joint).max() == pytest.approx(0.4 + 2 / 200, abs=2e-4)
    assert solution.coordinate(joint)[-1] == pytest.approx(0.4 - 2 * (0.6 - 0.2 - np.pi / 200), abs=5e-3)


@pytest.mark.slow
def test_a_ring_has_no_end() -> None:
    model = mbs.Model("SE3")
    angles = np.linspace(0, 2 * np.pi, 17)[:-1]
    nodes = [model.add_node((np.cos(a), np.sin(a), 0)) for a in angles]
    ring = model.add(Beam([*nodes, nodes[0]], STIFF, (0, 0, 1)))
    for node in nodes:
        model.fix(node, rotation=True)
    runner = bead(model, (1, 0, 0), (0, 3, 0), 1.0)
    joint = model.add(SlidingJoint(ring, runner))
    solution = mbs.simulate(model, 2.5, 0.025)
    assert solution.internal_variables(joint, "arc length")[-1] > 1.1 * ring.length.sum()
    np.testing.assert_allclose(np.linalg.norm(solution.position(runner), axis=1), 1.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(solution.velocity(runner), axis=1), 3.0, rtol=1e-3)


def test_bad_input_is_refused() -> None:
    model = mbs.Model("SE3")
    rail = Beam.line(model, (0, 0, 0), (1, 0, 0), STIFF, elements=4, name="rail")
    node = model.add_node((0.5, 0.1, 0), name="bead")
    with pytest.raises(mbs.ModelError, match=r"SlidingJoint on Beam 'rail', node 'bead'.* is 0.1 m from the beam"):
        SlidingJoint(rail, node)
    with pytest.raises(mbs.ModelError, match=r"0.5 m from the beam, whose nearest place is .*, 1 m from its start"):
        SlidingJoint(rail, node, point=(1.5, 0, 0))
    with pytest.raises(mbs.ModelError, match=r"is a node of the beam, and cannot slide"):
        SlidingJoint(rail, rail.nodes[1])
    with pytest.raises(mbs.ModelError, match="beam must be"):
        SlidingJoint(node, node)
    with pytest.raises(mbs.ModelError, match="rotation must be"):
        SlidingJoint(rail, node, (0.5, 0, 0), rotation="yes")
    elbow = Beam([rail.nodes[-1], model.add_node((1, 0, 0.3), name="elbow"), model.add_node((1.3, 0, 0.3))], STIFF)
    with pytest.raises(mbs.ModelError, match=r"the beam has a corner of 90 degrees at node 'elbow'"):
        SlidingJoint(elbow, node, (1, 0, 0.1))
