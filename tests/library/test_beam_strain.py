"""What a beam measures: nothing in rigid motions, and for each uniform strain its section force with the right sign."""

from __future__ import annotations

import numpy as np
import pytest
from catalogue import AWAY, COUPLED, PLAIN
from motions import residual

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion
from fem_mbs.elements import Beam, BeamSection, Force, Moment
from fem_mbs.lie import se3, so3

interpolations = pytest.mark.parametrize("interpolation", ["SE3", "R3xSO3"])
STRAINS = {
    "stretch": [0.2, 0, 0, 0, 0, 0],
    "shear y": [0, 0.1, 0, 0, 0, 0],
    "shear z": [0, 0, 0.1, 0, 0, 0],
    "twist": [0, 0, 0, 0.8, 0, 0],
    "bending about y": [0, 0, 0, 0, 0.8, 0],
    "bending about z": [0, 0, 0, 0, 0, 0.8],
    "all at once": [0.1, -0.05, 0.02, 0.3, -0.5, 0.4],
}


def strained(interpolation: str, strain: Array, lengths: Array) -> tuple[Array, Array]:
    """Section frames ``x (k + 1, 3)``, ``R`` of a chain along x with one strain everywhere, by composition of elements.

    The R3xSO3 interpolation measures the chord in the frame half-way; SE(3) goes along a helix.
    """
    rate = np.array([1.0, 0, 0, 0, 0, 0]) + strain
    x, R = [np.zeros(3)], [np.eye(3)]
    for length in lengths:
        d = length * rate
        step, y = se3.exp(d)
        if interpolation == "R3xSO3":
            y = so3.exp(0.5 * d[3:]) @ d[:3]
        x.append(x[-1] + R[-1] @ y)
        R.append(R[-1] @ step)
    return np.array(x), np.array(R)


def chain(interpolation: str, section: BeamSection, lengths: Array) -> tuple[mbs.Model, Beam, Array]:
    """A straight beam along x on turned nodes, and the rotations of its nodes."""
    model = mbs.Model()
    places = np.concatenate([[0.0], np.cumsum(lengths)])
    turns = so3.exp(np.random.default_rng(0).normal(size=(len(places), 3)))
    nodes = [model.add_node((s, 0, 0), R) for s, R in zip(places, turns, strict=True)]
    return model, model.add(Beam(nodes, section, (0, 1, 0), interpolation=interpolation)), turns


def resting(system: mbs.System, x: Array, R: Array) -> Motion:
    """The nodes of a chain at ``x``, ``R``, at rest."""
    zero = np.zeros((system.n, 6))
    places, turns = np.concatenate([system.x0[:1], x]), np.concatenate([system.R0[:1], R])
    return Motion(0.0, places, turns, zero, zero, np.zeros(3))


@interpolations
@pytest.mark.parametrize("name", STRAINS)
@pytest.mark.parametrize("section", [PLAIN, COUPLED], ids=["plain", "coupled"])
def test_uniform_strain_gives_stiffness_times_strain(interpolation: str, name: str, section: BeamSection) -> None:
    lengths, strain = np.array([0.5, 0.9, 0.7]), np.array(STRAINS[name], dtype=float)
    _, beam, turns = chain(interpolation, section, lengths)
    x, R = strained(interpolation, strain, lengths)
    x, R = x @ AWAY.Q.T + AWAY.c, AWAY.Q @ R @ turns
    expected = np.broadcast_to(section.stiffness @ strain, (3, 6))
    np.testing.assert_allclose(beam.section_forces(x, R), expected, rtol=0, atol=1e-13)
    histories = beam.section_forces(np.stack([x, x]), np.stack([R, R]))
    np.testing.assert_allclose(histories, [expected, expected], rtol=0, atol=1e-13)


@interpolations
def test_strain_energy_of_a_uniform_strain(interpolation: str) -> None:
    lengths, strain = np.array([0.5, 0.9, 0.7]), np.array(STRAINS["all at once"])
    model, beam, turns = chain(interpolation, COUPLED, lengths)
    system = mbs.System(model)
    x, R = strained(interpolation, strain, lengths)
    motion = resting(system, x, R @ turns)
    expected = 0.5 * strain @ COUPLED.stiffness @ strain * lengths.sum()
    np.testing.assert_allclose(system.energy(motion).strain, expected, rtol=1e-13)


@interpolations
@pytest.mark.parametrize("name", STRAINS)
def test_positive_section_forces_are_the_loads_on_the_end(interpolation: str, name: str) -> None:
    """A section force is what the face that looks to the end receives: the cantilever is in equilibrium under it.

    Section forces belong to the middle of the element, half its length before the end. The strains are so small that
    loads may be written in the undeformed frame; the error is of second order.
    """
    eps = 1e-6
    lengths, strain = np.array([0.5, 0.9]), eps * np.array(STRAINS[name], dtype=float)
    model, beam, turns = chain(interpolation, PLAIN, lengths)
    force, moment = np.split(PLAIN.stiffness @ strain, 2)
    model.add(Force(beam.nodes[-1], force))
    model.add(Moment(beam.nodes[-1], moment - np.cross([0.5 * lengths[-1], 0.0, 0.0], force)))
    x, R = strained(interpolation, strain, lengths)
    system = mbs.System(model)
    left = residual(system, resting(system, x, R @ turns))
    np.testing.assert_allclose(left[-1], 0.0, atol=1e2 * eps**2)


@interpolations
def test_end_moment_rolls_a_beam_up_to_a_circle(interpolation: str) -> None:
    """``M = 2 pi EI/L`` closes the beam; every element is in exact equilibrium, with one section moment."""
    k = 6
    lengths = np.full(k, 2.0 / k)
    model, beam, turns = chain(interpolation, PLAIN, lengths)
    curvature = 2 * np.pi / lengths.sum()
    strain = np.array([0, 0, 0, 0, curvature, 0])
    x, R = strained(interpolation, strain, lengths)
    np.testing.assert_allclose(x[-1], 0.0, atol=1e-14)
    np.testing.assert_allclose(R[-1], np.eye(3), atol=1e-14)
    M = PLAIN.stiffness[4, 4] * curvature
    model.add(Moment(beam.nodes[-1], (0, M, 0)))
    system = mbs.System(model)
    left = residual(system, resting(system, x, R @ turns))
    np.testing.assert_allclose(left[2:], 0.0, atol=1e-12)
    np.testing.assert_allclose(beam.section_forces(x, R @ turns)[:, 4], M, rtol=1e-13)


def test_centre_line_of_the_se3_interpolation_is_the_circle() -> None:
    lengths = np.full(4, 0.5)
    curvature = 2 * np.pi / 2.0
    _, beam, turns = chain("SE3", PLAIN, lengths)
    x, R = strained("SE3", np.array([0, 0, 0, 0, 0, curvature]), lengths)
    points, frames = beam.centerline(x, R @ turns, 7)
    assert points.shape == (4, 7, 3) and frames.shape == (4, 7, 3, 3)
    radius = 1 / curvature
    np.testing.assert_allclose(np.linalg.norm(points - [0, radius, 0], axis=-1), radius, rtol=1e-14)
    angle = curvature * (np.arange(4)[:, None] * 0.5 + np.linspace(0, 0.5, 7))
    np.testing.assert_allclose(frames[..., 0], np.stack([np.cos(angle), np.sin(angle), 0 * angle], -1), atol=1e-14)


def test_centre_line_of_the_r3xso3_interpolation_is_the_polygon() -> None:
    _, beam, turns = chain("R3xSO3", PLAIN, np.array([0.5, 0.9, 0.7]))
    x, R = strained("R3xSO3", np.array(STRAINS["all at once"]), beam.length)
    points, frames = beam.centerline(x, R @ turns, 3)
    np.testing.assert_allclose(points[:, 1], 0.5 * (x[1:] + x[:-1]), atol=1e-15)
    for k in (0, 2):
        np.testing.assert_allclose(points[:, k], x[k // 2 : k // 2 + 3], atol=1e-15)
        np.testing.assert_allclose(frames[:, k], R[k // 2 : k // 2 + 3], atol=1e-14)


@interpolations
@pytest.mark.parametrize("shape", ["straight", "arc", "corner"])
def test_beam_is_free_of_stress_as_built_and_after_any_rigid_motion(interpolation: str, shape: str) -> None:
    angle = np.linspace(0.0, 1.2, 5)
    points = {
        "straight": np.outer(np.linspace(0.0, 2.0, 5), [1.0, -2.0, 0.5]),
        "arc": np.stack([np.sin(angle), 1 - np.cos(angle), 0 * angle], axis=1),
        "corner": np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0], [2, 1, 0], [2, 2, 1]]),
    }[shape]
    model = mbs.Model()
    turns = so3.exp(np.random.default_rng(1).normal(size=(5, 3)))
    beam = model.add(
        Beam(
            [model.add_node(p, R) for p, R in zip(points, turns, strict=True)],
            PLAIN,
            (0, 0, 1),
            interpolation=interpolation,
        )
    )
    for Q, c in ((np.eye(3), np.zeros(3)), (AWAY.Q, AWAY.c)):
        forces = beam.section_forces(points @ Q.T + c, Q @ turns)
        np.testing.assert_allclose(forces, 0.0, atol=1e-13)
    system = mbs.System(model)
    motion = resting(system, points, turns)
    assert system.energy(motion).strain < 1e-27
    np.testing.assert_allclose(residual(system, motion), 0.0, atol=1e-13)


def test_an_element_of_higher_order_built_too_far_turned_is_named() -> None:
    model = mbs.Model()
    nodes = [model.add_node(x) for x in ((0, 0, 0), (1, 0, 0), (0, 0, 0))]
    with pytest.raises(
        mbs.ModelError, match="element 1 of order 2, from node 'node 1' to node 'node 3', turns too far"
    ):
        Beam(nodes, PLAIN, order=2)


def test_an_element_turned_too_far_is_named() -> None:
    model, beam, turns = chain("SE3", PLAIN, np.array([0.5, 0.9, 0.7]))
    x = np.array([node.position for node in beam.nodes])
    R = turns.copy()
    R[2:] = so3.exp(np.array([0.0, 3.05, 0.0])) @ turns[2:]
    with pytest.raises(
        mbs.MotionError, match=r"element 2 of 3 between node 'node 2' and node 'node 3' turns by 175 deg"
    ):
        beam.section_forces(x, R)


@interpolations
def test_stress_does_not_depend_on_the_rotation_of_the_nodes(interpolation: str) -> None:
    """However the nodes are turned as built, the beam moves with them."""
    points = np.outer([0.0, 0.6, 1.5], [1.0, 0.2, 0.0])
    rng = np.random.default_rng(0)
    x, turned = points + 0.1 * rng.normal(size=(3, 3)), so3.exp(0.5 * rng.normal(size=(3, 3)))
    forces = []
    for seed in (1, 2):
        turns = so3.exp(np.random.default_rng(seed).normal(size=(3, 3)))
        model = mbs.Model()
        beam = Beam(
            [model.add_node(p, R) for p, R in zip(points, turns, strict=True)],
            COUPLED,
            (0, 0, 1),
            interpolation=interpolation,
        )
        forces.append(beam.section_forces(x, turned @ turns))
    np.testing.assert_allclose(forces[1], forces[0], rtol=0, atol=1e-12)
