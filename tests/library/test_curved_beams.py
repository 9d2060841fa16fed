"""Beams that are curved and twisted as built: free of stress, and of second order against exact solutions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from catalogue import AWAY, COUPLED, PLAIN
from motions import fitted_order, residual
from scipy.integrate import solve_ivp
from scipy.sparse.linalg import spsolve

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion
from fem_mbs.elements import Beam, BeamSection, DistributedLoad, Moment
from fem_mbs.lie import so3

interpolations = pytest.mark.parametrize("interpolation", ["SE3", "R3xSO3"])
sections = pytest.mark.parametrize("section", [PLAIN, COUPLED], ids=["plain", "coupled"])

Curve = Callable[[float], tuple[Array, Array, Array]]
"""Place, tangent and direction of the section's y axis at an arc length."""


def quarter_circle(s: float) -> tuple[Array, Array, Array]:
    across = np.array([0.0, 0.0, 1.0])
    return np.array([np.sin(s), 1 - np.cos(s), 0.0]), np.array([np.cos(s), np.sin(s), 0.0]), across


def twisted_arc(s: float) -> tuple[Array, Array, Array]:
    place, tangent, across = quarter_circle(s)
    return place, tangent, np.cos(1.5 * s) * across + np.sin(1.5 * s) * np.cross(across, tangent)


def twisted_line(s: float) -> tuple[Array, Array, Array]:
    return np.array([s, 0.0, 0.0]), np.array([1.0, 0.0, 0.0]), np.array([0.0, np.cos(s), np.sin(s)])


def spring(s: float) -> tuple[Array, Array, Array]:
    c = 1 / np.sqrt(1.25)
    radial = np.array([np.cos(c * s), np.sin(c * s), 0.0])
    return radial + [0.0, 0.0, 0.5 * c * s], c * np.array([-np.sin(c * s), np.cos(c * s), 0.5]), radial


CURVES: dict[str, tuple[Curve, float]] = {
    "quarter circle": (quarter_circle, np.pi / 2),
    "twisted line": (twisted_line, 2.0),
    "twisted arc": (twisted_arc, 1.5),
    "one turn of a coil spring": (spring, 2 * np.pi * np.sqrt(1.25)),
}
curves = pytest.mark.parametrize("name", CURVES)


def build(
    curve: Curve, length: float, elements: int, section: BeamSection, interpolation: str, group: str = "R3xSO3"
) -> tuple[mbs.Model, Beam]:
    """A cantilever along a curve on nodes that are turned at random, with a direction of its y axis at each."""
    model = mbs.Model(group)
    rng = np.random.default_rng(0)
    points = [curve(s) for s in np.linspace(0.0, length, elements + 1)]
    nodes = [model.add_node(place, so3.exp(rng.normal(size=3))) for place, _, _ in points]
    beam = model.add(Beam(nodes, section, [y for _, _, y in points], interpolation=interpolation))
    model.fix(nodes[0])
    return model, beam


@curves
@interpolations
def test_no_stress_as_built_wherever_it_is(name: str, interpolation: str) -> None:
    """Built with turned nodes and moved rigidly, it has neither forces nor energy."""
    model, beam = build(*CURVES[name], 12, COUPLED, interpolation)
    system = mbs.System(model)
    zero = np.zeros((system.n, 6))
    x, R = system.x0 @ AWAY.Q.T + AWAY.c, AWAY.Q @ system.R0
    motion = Motion(0.0, x, R, zero, zero, np.zeros(3))
    np.testing.assert_allclose(residual(system, motion), 0.0, atol=1e-11)
    np.testing.assert_allclose(beam.section_forces(x[1:], R[1:]), 0.0, atol=1e-11)
    assert system.energy(motion).strain < 1e-24


@curves
@sections
@interpolations
def test_small_deflections_are_of_second_order(name: str, section: BeamSection, interpolation: str) -> None:
    """Against the flexibility of the statically determinate cantilever, which needs no discretisation."""
    curve, length = CURVES[name]
    wrench = np.array([0.3, -0.5, 0.7, 0.2, 0.4, -0.6])
    exact = flexibility(curve, length, section.stiffness) @ wrench
    counts = np.array([16, 32, 64])
    errors = []
    for count in counts:
        model, beam = build(curve, length, count, section, interpolation)
        linear = mbs.linearize(model)
        load = np.zeros(linear.K.shape[0])
        load[-6:] = np.vecmat(wrench.reshape(2, 3), beam.nodes[-1].rotation).ravel()
        motion = linear.node_motions(spsolve(linear.K, load))[-1]
        errors.append(np.abs(motion - exact).max() / np.abs(exact).max())
    assert errors[-1] < 1e-3
    assert abs(fitted_order(1 / counts, np.array(errors)) - 2.0) < 0.1


def flexibility(curve: Curve, length: float, stiffness: Array) -> Array:
    """Motion of the end per wrench there ``(6, 6)``, world frame: Castigliano's integral by Gauss' rule."""
    points, weights = np.polynomial.legendre.leggauss(40)
    end, total = curve(length)[0], np.zeros((6, 6))
    for s, weight in zip(0.5 * length * (points + 1), 0.5 * length * weights, strict=True):
        place, tangent, y = curve(s)
        R = np.stack([tangent, y, np.cross(tangent, y)], axis=-1)
        section_wrench = np.zeros((6, 6))
        section_wrench[:3, :3] = section_wrench[3:, 3:] = R.T
        section_wrench[3:, :3] = R.T @ so3.skew(end - place)
        total += weight * section_wrench.T @ np.linalg.solve(stiffness, section_wrench)
    return total


@pytest.mark.ci
@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
@sections
@interpolations
def test_twisted_beam_under_loads_that_follow(interpolation: str, section: BeamSection, group: str) -> None:
    """Large deflections under a force and a moment per length in the section frame, of second order.

    In that frame the equations of equilibrium are an initial value problem from the free end.
    """
    force, moment = np.array([0.8, -1.2, 1.6]), np.array([0.6, 1.0, -0.8])
    exact = follower_cantilever(section.stiffness, np.array([1.0, 0.0, 0.0]), 2.0, force, moment)
    counts = np.array([6, 12, 24])
    errors = []
    for count in counts:
        model, beam = build(twisted_line, 2.0, count, section, interpolation, group)
        model.add(DistributedLoad(beam, force, moment=moment, frame="body"))
        errors.append(np.linalg.norm(mbs.statics(model).position(beam.nodes[-1])[-1] - exact))
    assert np.linalg.norm(exact - [2.0, 0.0, 0.0]) > 0.6, "the deflection is large"
    assert errors[-1] < 5e-3
    assert abs(fitted_order(1 / counts, np.array(errors)) - 2.0) < 0.1


def follower_cantilever(stiffness: Array, curvature: Array, length: float, force: Array, moment: Array) -> Array:
    """Where the end of a cantilever along x is, given its curvature as built, in the section frame of the root."""

    def deformed(wrench: Array) -> tuple[Array, Array]:
        strain = np.linalg.solve(stiffness, wrench)
        return strain[:3] + [1.0, 0.0, 0.0], strain[3:] + curvature

    def towards_root(_: float, wrench: Array) -> Array:
        along, turn = deformed(wrench)
        n, m = wrench[:3], wrench[3:]
        return np.concatenate([np.cross(turn, n) + force, np.cross(turn, m) + np.cross(along, n) + moment])

    def towards_end(s: float, frame: Array) -> Array:
        along, turn = deformed(stress(length - s))
        R = frame[3:].reshape(3, 3)
        return np.concatenate([R @ along, (R @ so3.skew(turn)).ravel()])

    accuracy = {"rtol": 1e-11, "atol": 1e-12}
    stress = solve_ivp(towards_root, (0.0, length), np.zeros(6), dense_output=True, **accuracy).sol
    root = np.concatenate([np.zeros(3), np.eye(3).ravel()])
    return np.asarray(solve_ivp(towards_end, (0.0, length), root, **accuracy).y[:3, -1])


@interpolations
def test_end_moment_bends_an_arc_straight(interpolation: str) -> None:
    """``M = EI/r`` takes away the curvature ``1/r``; every element is then in exact equilibrium."""
    model, beam = build(quarter_circle, np.pi / 2, 4, PLAIN, interpolation)
    tip = beam.nodes[-1]
    model.add(Moment(tip, (0.0, 0.0, -PLAIN.stiffness[4, 4])))  # the section's y axis is across the plane
    solution = mbs.statics(model)
    chords = np.diff([solution.position(node)[-1] for node in beam.nodes], axis=0)
    np.testing.assert_allclose(chords[:, 1:], 0.0, atol=1e-9)
    # the elements of linear centre line keep their chords, the others their arcs
    length = 2 * np.sin(np.pi / 16) if interpolation == "R3xSO3" else np.pi / 8
    np.testing.assert_allclose(chords[:, 0], length, rtol=1e-9)
    expected = np.broadcast_to([0, 0, 0, 0, -PLAIN.stiffness[4, 4], 0], (4, 6))
    np.testing.assert_allclose(solution.section_forces(beam)[-1], expected, atol=1e-8)


def test_a_ring_grows_under_inner_pressure_that_follows() -> None:
    """A closed chain of nodes: the hoop force is ``p r`` of the line as built, the strain ``p r/EA``."""
    pressure, count = 0.6, 48
    model = mbs.Model()
    angles = 2 * np.pi * np.arange(count) / count
    nodes = [model.add_node((np.cos(a), np.sin(a), 0.0)) for a in angles]
    ring = model.add(Beam([*nodes, nodes[0]], PLAIN, lambda place: place))
    for node in nodes[:: count // 4]:  # held by symmetry: moves outward alone
        model.fix(node, translation=False, rotation=True)
    model.add(DistributedLoad(ring, (0.0, pressure, 0.0), frame="body"))
    model.fix(nodes[0])
    solution = mbs.statics(model)
    forces = solution.section_forces(ring)[-1]
    np.testing.assert_allclose(forces[:, 0], pressure, rtol=3e-3)
    centre = np.mean([solution.position(node)[-1] for node in nodes], axis=0)
    radii = [np.linalg.norm(solution.position(node)[-1] - centre) for node in nodes]
    np.testing.assert_allclose(radii, 1.0 + pressure / PLAIN.stiffness[0, 0], rtol=3e-3)
