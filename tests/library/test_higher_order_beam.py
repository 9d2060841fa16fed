"""Beam elements of order 2 and 3: uniform strains, symmetry, rotations, orders of convergence, geometry as built."""

from __future__ import annotations

import numpy as np
import pytest
from catalogue import COUPLED, PLAIN
from test_beam_strain import STRAINS, strained

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.benchmarks import beams, vibrations
from fem_mbs.benchmarks.case import known
from fem_mbs.elements import Beam, BeamSection, DistributedLoad, Force, Moment
from fem_mbs.lie import so3

orders = pytest.mark.parametrize("order", [2, 3])


@orders
@pytest.mark.parametrize("name", ["twist", "all at once"])
def test_uniform_strain_gives_stiffness_times_strain(order: int, name: str) -> None:
    """At all stations of all elements, with nodes at uneven distances, turned anyhow: the screw is in the element."""
    lengths = np.array([0.5, 0.4, 0.3, 0.35, 0.5, 0.45])
    strain = np.array(STRAINS[name])
    turns = so3.exp(np.random.default_rng(0).normal(size=(7, 3)))
    model = mbs.Model()
    places = np.append(0.0, np.cumsum(lengths))
    nodes = [model.add_node((s, 0, 0), R) for s, R in zip(places, turns, strict=True)]
    beam = model.add(Beam(nodes, COUPLED, (0, 1, 0), order=order))
    x, R = strained("SE3", strain, lengths)
    forces = beam.section_forces(x, R @ turns)
    np.testing.assert_allclose(forces, np.tile(COUPLED.stiffness @ strain, (len(beam.stations), 1)), atol=1e-12)
    np.testing.assert_allclose(
        beam.section_forces(np.stack([x, x]), np.stack([R, R]) @ turns), [forces] * 2, atol=1e-15
    )
    center, frames = beam.centerline(x, R @ turns, 4)
    np.testing.assert_allclose(center[:, [0, -1]], x[beam.cells[:, [0, -1]]], atol=1e-13)
    np.testing.assert_allclose(frames[:, [0, -1]], R[beam.cells[:, [0, -1]]], atol=1e-13)


@orders
@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_end_moment_rolls_two_elements_up_to_a_circle(order: int, group: str) -> None:
    model = mbs.Model(group)
    beam = Beam.line(model, (0, 0, 0), (2, 0, 0), PLAIN, elements=2, order=order)
    model.fix(beam.nodes[0])
    model.add(Moment(beam.nodes[-1], (0, 0, np.pi * PLAIN.stiffness[5, 5])))
    solution = mbs.statics(model)
    np.testing.assert_allclose(solution.position(beam.nodes[-1])[-1], 0.0, atol=1e-9)
    np.testing.assert_allclose(solution.section_forces(beam)[-1, :, 5], np.pi * PLAIN.stiffness[5, 5], rtol=1e-9)


@orders
def test_a_beam_is_the_same_from_either_end(order: int) -> None:
    """Large forces on a curved beam; the frame in the middle of an element prefers no end."""
    angle = np.linspace(0, 1.5, 2 * order + 1)
    places = np.stack([np.sin(angle), 1 - np.cos(angle), 0.2 * angle], axis=1)
    tips = []
    for direction in (1, -1):
        model = mbs.Model()
        nodes = [model.add_node(place) for place in places]
        model.add(Beam(nodes[::direction], PLAIN, (0, 0, 1), order=order))
        model.fix(nodes[0])
        model.add(Force(nodes[-1], (2.0, 3.0, 4.0)))
        tips.append(mbs.statics(model).position(nodes[-1])[-1])
    np.testing.assert_allclose(tips[1], tips[0], rtol=0, atol=1e-10)


@orders
@pytest.mark.parametrize("section", [PLAIN, COUPLED.with_damping(0.1)], ids=["plain", "coupled"])
def test_twisted_and_curved_beams_are_free_of_stress_as_built(order: int, section: BeamSection) -> None:
    angle = np.linspace(0, 2, 3 * order + 1) ** 1.2
    places = np.stack([np.sin(angle), 1 - np.cos(angle), 0.1 * angle**2], axis=1)
    axes = [(0.3 * np.sin(a), 0.1, 2) for a in angle]
    model = mbs.Model()
    nodes = [model.add_node(place) for place in places]
    beam = model.add(Beam(nodes, section, axes, order=order, end=(0.7, 1.7, 0.5)))
    turns = np.tile(np.eye(3), (len(nodes), 1, 1))
    np.testing.assert_allclose(beam.section_forces(places, turns), 0.0, atol=1e-12)
    assert mbs.simulate(model, t_end=0.02, step=0.01).energy.total[-1] < 1e-20


@orders
def test_an_arc_is_an_arc(order: int) -> None:
    """Tangents, lengths and places of nodes at any distances are those of the circle; a corner between elements too."""
    angle = np.array([0.0, 0.25, 0.5, 0.85, 1.1, 1.4, 1.6])
    model = mbs.Model()
    nodes = [model.add_node((np.sin(a), 1 - np.cos(a), 0)) for a in angle]
    beam = Beam(nodes, PLAIN, (0, 0, 1), order=order)
    np.testing.assert_allclose(beam.length, np.diff(angle[::order]), rtol=1e-10)
    tangents = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    np.testing.assert_allclose(beam.frames[..., 0], tangents[beam.cells], atol=1e-9)
    corner = [*np.linspace((0, 0, 0), (1, 0, 0), order + 1), *np.linspace((1, 0, 0), (1, 1, 0), order + 1)[1:]]
    beam = Beam([model.add_node(place) for place in corner], PLAIN, (0, 0, 1), order=order)
    np.testing.assert_allclose(beam.frames[..., 0], [[(1, 0, 0)] * (order + 1), [(0, 1, 0)] * (order + 1)], atol=1e-14)


def bend(order: int, elements: int) -> tuple[Array, Array, Beam]:
    """End and section forces of an eighth of a circle that is bent out of its plane (Bathe and Bolourchi 1979)."""
    model, beam = beams.bend(elements, order, torsion=0.1406)
    solution = mbs.statics(model)
    return solution.position(beam.nodes[-1])[-1], solution.section_forces(beam)[-1], beam


def test_bathe_and_bolourchi_with_one_element_of_order_3() -> None:
    """With Saint-Venant's torsion of the square; in the paper (46.9, 15.9, 53.4), of eight straight elements."""
    tip, _, _ = bend(3, 1)
    np.testing.assert_allclose(tip, (46.89, 15.56, 53.61), atol=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("order", "counts"), [(1, (8, 16, 32)), (2, (4, 8, 16)), (3, (6, 8, 12))])
def test_the_end_converges_with_twice_the_order(order: int, counts: tuple[int, ...]) -> None:
    exact = bend(3, 24)[0]
    errors = [np.linalg.norm(bend(order, n)[0] - exact) for n in counts]
    slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert abs(slope - 2 * order) < 0.1, (slope, errors)


@pytest.mark.slow
@orders
def test_section_forces_converge_with_the_order(order: int) -> None:
    """At the ends of elements: polynomials of degree ``order - 1``, so that the error falls with ``order``."""
    errors = []
    fine = bend(3, 64)[1].reshape(64, 4, 6)
    for n in (16, 32):
        forces = bend(order, n)[1].reshape(n, order + 1, 6)
        errors.append(np.abs(forces[:, 0] - fine[:: 64 // n, 0])[:, 3:].max())
    slope = -np.polyfit(np.log([16, 32]), np.log(errors), 1)[0]
    assert slope > order - 0.1, (slope, errors)


@pytest.mark.parametrize(("order", "counts"), [
    (1, (10, 20)), (2, (4, 8)), pytest.param(3, (3, 6), marks=pytest.mark.slow)
])  # fmt: skip
def test_frequencies_converge_with_twice_the_order(order: int, counts: tuple[int, ...]) -> None:
    """A thick cantilever that shears and has rotary inertia."""
    exact = known("thick cantilever")[0]
    errors = []
    for n in counts:
        model, beam = vibrations.thick_beam(n, order)
        model.fix(beam.nodes[0])
        errors.append(abs(mbs.modes(model, 1).angular[0] / exact - 1))
    slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert abs(slope - 2 * order) < 0.1, (slope, errors)


@pytest.mark.parametrize(("order", "elements"), [(2, 8), (3, 4)])
@pytest.mark.parametrize("speed", [0, 12])
def test_turning_blade(order: int, elements: int, speed: int) -> None:
    """First frequencies out of the plane of rotation (Hodges and Rutkowski 1981)."""
    model, tip = vibrations.blade(speed, elements=elements, order=order, EA=1e6)
    found = mbs.modes(model, 4, mbs.steady_rotation(model, (0, 0, speed)).state(-1))
    up = np.abs(found.displacement(tip))
    across = found.angular[up[:, 2] > 10 * up[:, 1]][:2]
    np.testing.assert_allclose(across, vibrations.HODGES[speed], rtol=5e-4)


@orders
def test_column_of_one_element_buckles_at_eulers_load(order: int) -> None:
    section = BeamSection(EA=1e9, GA=1e9, GJ=1e3, EI=(1e2, 2e2), mass=1.0, inertia=(1, 1, 1))
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (0, 0, 2), section, elements=1, order=order)
    model.fix(beam.nodes[0])
    model.add(Force(beam.nodes[-1], (0, 0, -1.0)))
    factor = mbs.buckling(model, 1).factors[0]
    np.testing.assert_allclose(factor, np.pi**2 / 16 * 1e2, rtol={2: 1e-2, 3: 2e-4}[order])


@orders
def test_total_weight_and_load(order: int) -> None:
    """A distributed load of mass times gravity is weight to the last digit."""
    runs = []
    for gravity, load in ((9.81, 0.0), (0.0, 9.81 * PLAIN.mass)):
        model = mbs.Model(gravity=(0, 0, -gravity))
        beam = Beam.line(model, (0, 0, 0), (1, 0.2, 0), PLAIN, elements=2, order=order)
        model.fix(beam.nodes[0])
        if load:
            model.add(DistributedLoad(beam, (0, 0, -load)))
        runs.append(mbs.statics(model).position(beam.nodes[-1])[-1])
    np.testing.assert_allclose(runs[1], runs[0], rtol=1e-10)


BAD = {
    "order": (lambda n: Beam(n[:2], PLAIN, order=4), "order must be 1, 2 or 3, received 4"),
    "number of nodes": (lambda n: Beam(n[:3], PLAIN, order=3), r"elements of order 3 need k\*3 \+ 1 nodes, received 3"),
    "interpolation": (lambda n: Beam(n[:3], PLAIN, interpolation="R3xSO3", order=2), "have the interpolation 'SE3'"),
    "corner inside": (lambda n: Beam([n[0], n[1], n[3]], PLAIN, order=2), "element 1 of order 2, .* turns too far"),
    "node at the end": (lambda n: Beam([n[0], n[4], n[1]], PLAIN, order=2), "nodes inside are too far from where they"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_elements_are_refused(name: str) -> None:
    make, words = BAD[name]
    model = mbs.Model()
    nodes = [model.add_node(place) for place in ((0, 0, 0), (1, 0, 0), (2, 0, 0), (0.5, 0.1, 0), (0.1, 0, 0))]
    with pytest.raises(mbs.ModelError, match=words):
        make(nodes)
