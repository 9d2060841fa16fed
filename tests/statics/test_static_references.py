"""Equilibria against independent solutions of the beam equations, and their order in the mesh."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import fem_mbs as mbs
from examples.statics import BEND, LIMITS, limits
from fem_mbs.arrays import Array
from fem_mbs.benchmarks.beams import HELIX, bend, helix
from fem_mbs.elements import (
    Beam,
    BeamSection,
    Force,
    GeneralJoint,
    JointSpring,
    Moment,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
)

INTERPOLATIONS = ("SE3", "R3xSO3")
GROUPS = ("R3xSO3", "SE3")


def cantilever(
    elements: int, section: BeamSection, length: float, interpolation: str, group: str = "R3xSO3"
) -> tuple[mbs.Model, mbs.Node]:
    model = mbs.Model(group)
    beam = Beam.line(model, (0, 0, 0), (length, 0, 0), section, elements, interpolation=interpolation)
    model.fix(beam.nodes[0])
    return model, beam.nodes[-1]


def planar(EA: float, GA: float, EI: float) -> BeamSection:
    return BeamSection(EA, GA, EI, EI, mass=1, inertia=(1, 1, 1))


def from_the_tip(EA: float, GA: float, EI: float, length: float, force: Array, turn: float) -> Array:
    """Position ``(x, y)`` and rotation of the tip of a cantilever along x with the tip rotated by ``turn``.

    The equations of the planar beam are integrated from the tip, where all is known, to the clamp, whose rotation
    comes out: ``theta' = m/EI``, ``m' = -(force across)``, with ``force`` in the world.
    """

    def rates(s: float, y: Array) -> list[float]:
        x, z, theta, m = y
        axis, across = np.array([np.cos(theta), np.sin(theta)]), np.array([-np.sin(theta), np.cos(theta)])
        way = (1 + force @ axis / EA) * axis + force @ across / GA * across
        return [*way, m / EI, -(way[0] * force[1] - way[1] * force[0])]

    end = solve_ivp(rates, (length, 0), [0, 0, turn, 0], rtol=1e-12, atol=1e-12 * length).y[:, -1]
    return np.array([-end[0], -end[1], end[2]])


@cache
def elastica(P: float) -> Array:
    """Tip of a slender cantilever of length 1 and EI = 1 under the dead force ``P`` along y."""

    def clamp(turn: float) -> float:
        return float(from_the_tip(1e8, 1e8, 1.0, 1.0, np.array([0.0, P]), turn)[2])

    turn = brentq(clamp, 0.0, 1.5, xtol=1e-13)
    return np.append(from_the_tip(1e8, 1e8, 1.0, 1.0, np.array([0.0, P]), turn)[:2], turn)


def order(values: list[Array]) -> float:
    """Order from three meshes that double."""
    distances = [np.linalg.norm(fine - coarse) for coarse, fine in zip(values, values[1:], strict=False)]
    return float(np.log2(distances[-2] / distances[-1]))


def extrapolated(values: list[Array]) -> Array:
    return values[-1] + (values[-1] - values[-2]) / 3


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
def test_elastica(interpolation: str) -> None:
    """Errors of fourth order are left, about 1e-7 with 20 and 40 elements."""
    values = []
    for elements in (10, 20, 40):
        model, tip = cantilever(elements, planar(1e8, 1e8, 1.0), 1.0, interpolation)
        model.add(Force(tip, (0, 1, 0)))
        solution = mbs.statics(model, load_end=5, loads=[1, 5])
        values.append(np.column_stack([solution.position(tip)[:, :2], solution.rotation_vector(tip)[:, 2]]))
    assert order(values) == pytest.approx(2, abs=0.1)
    np.testing.assert_allclose(extrapolated(values), [elastica(1), elastica(5)], rtol=0, atol=2e-6)
    np.testing.assert_allclose(elastica(5)[:2], [1 - 0.387628, 0.713792], atol=1e-6)  # elliptic integrals


@pytest.mark.slow
@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
def test_force_that_follows(interpolation: str) -> None:
    """The force has a fixed angle to the tip, so that integration from the tip needs no iteration."""
    EA, GA, EI, L, force = 4.2e8, 1.61538e8, 3.5e7, 100.0, 130e3
    values = []
    for elements in (20, 40, 80):
        model, tip = cantilever(elements, planar(EA, GA, EI), L, interpolation)
        model.add(Force(tip, (0, force, 0), frame="body"))
        solution = mbs.statics(model)
        values.append(np.append(solution.position(tip)[-1, :2], solution.rotation_vector(tip)[-1, 2]))
    assert order(values) == pytest.approx(2, abs=0.1)
    x, y, clamp = from_the_tip(EA, GA, EI, L, np.array([0.0, force]), 0.0)
    c, s = np.cos(clamp), np.sin(clamp)
    exact = np.array([c * x + s * y, -s * x + c * y, -clamp])
    np.testing.assert_allclose(extrapolated(values)[:2], exact[:2], rtol=0, atol=1e-3)  # of 100 m
    # five half turns of rotation vectors away: compare the angle itself
    assert np.cos(extrapolated(values)[2] - exact[2]) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
def test_roll_up_is_exact_on_any_mesh(interpolation: str, group: str) -> None:
    """Constant curvature is what an element has; two turns of five elements are 144 degrees each.

    With straight elements the nodes lie on a regular polygon.
    """
    model, tip = cantilever(5, planar(1e4, 1e4, 100), 10.0, interpolation, group)
    model.add(Moment(tip, (0, 0, 2 * np.pi * 100 / 10)))
    solution = mbs.statics(model, load_end=2, loads=[0.5, 1, 2])
    height = 20 / np.pi if interpolation == "SE3" else 2 / np.sin(np.pi / 10)
    expected = [(0, height, 0), (0, 0, 0), (0, 0, 0)]
    np.testing.assert_allclose(solution.position(tip), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("group", GROUPS)
def test_group_of_the_nodes_does_not_matter(group: str) -> None:
    """Not even for the iterates: statics moves all nodes along screws."""
    (model, beam), (other, same) = bend(8), bend(8)
    for node in other.nodes:
        vars(node)["group"] = group
    one, two = mbs.statics(model), mbs.statics(other)
    np.testing.assert_array_equal(one.t, two.t)
    np.testing.assert_allclose(one.position(beam.nodes[-1]), two.position(same.nodes[-1]), rtol=0, atol=1e-12)


def test_bend() -> None:
    values = []
    for elements in (8, 16, 32):
        model, beam = bend(elements)
        values.append(mbs.statics(model).position(beam.nodes[-1])[-1])
    assert order(values) == pytest.approx(2, abs=0.1)
    np.testing.assert_allclose(extrapolated(values), BEND, rtol=0, atol=1e-4)  # of 100


@pytest.mark.slow
def test_helix_of_ten_turns() -> None:
    """Many equilibria have the same load; the path from zero keeps to its own, whose tip makes ten turns."""
    values = []
    for elements in (50, 100, 200):
        model, beam = helix(elements)
        values.append(mbs.statics(model, loads=[*HELIX]).displacement(beam.nodes[-1]))
    assert order(values) == pytest.approx(2, abs=0.1)
    np.testing.assert_allclose(extrapolated(values)[:, 2], [z for _, _, z in HELIX.values()], rtol=0, atol=2e-4)


@pytest.mark.slow
def test_limits_of_lees_frame() -> None:
    values = [limits(elements) for elements in (5, 10, 20)]
    assert order(values) == pytest.approx(2, abs=0.2)  # the place of a limit has the error of a difference
    np.testing.assert_allclose(extrapolated(values), LIMITS, rtol=1e-4)


def test_short_thick_cantilever() -> None:
    """Nachbagauer, as quoted in the tests of Exudyn: bending, shear and stretch at once."""
    E, nu, h, b = 2.07e11, 0.3, 0.5, 0.1
    shear = 10 * (1 + nu) / (12 + 11 * nu) * E / (2 * (1 + nu)) * b * h
    values = []
    for elements in (16, 32):
        model, tip = cantilever(elements, planar(E * b * h, shear, E * b * h**3 / 12), 2.0, "SE3")
        model.add(Force(tip, (0, -5e8 * h**3, 0)))
        values.append(mbs.statics(model).displacement(tip)[-1, :2])
    np.testing.assert_allclose(extrapolated(values), (-0.15097103, -0.71056837), rtol=5e-6)


@pytest.mark.slow
@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@pytest.mark.parametrize("shape", ["straight", pytest.param("bent", marks=pytest.mark.slow)])
def test_slender_beams_neither_lock_nor_take_more_steps(shape: str, interpolation: str) -> None:
    """The error of eight elements is that of bending, whatever the slenderness; so is the number of steps."""
    errors, steps = [], []
    for slenderness in (1e1, 1e2, 1e3, 1e4):
        section = BeamSection(slenderness**2, slenderness**2 / 2.6, 1, 1, mass=1, inertia=(1, 1, 1))
        tips = []
        for elements in (8, 64):
            model = mbs.Model()
            a = np.linspace(0, 0.25 * np.pi if shape == "bent" else 1e-9, elements + 1)
            places = (
                np.stack([np.sin(a), 1 - np.cos(a), 0 * a], axis=1) if shape == "bent" else np.outer(a, [1e9, 0, 0])
            )
            nodes = [model.add_node(place) for place in places]
            model.add(Beam(nodes, section, y_axis=(0, 0, 1), interpolation=interpolation))
            model.fix(nodes[0])
            model.add(Force(nodes[-1], (0, 0, 5)))
            solution = mbs.statics(model)
            tips.append(solution.position(nodes[-1])[-1])
        errors.append(np.linalg.norm(tips[1] - tips[0]))
        steps.append(len(solution.t))
    assert max(errors) < 1.5 * min(errors)
    assert max(steps) <= 9


@pytest.mark.parametrize("k", [1e-3, 1e2, 1e9])
def test_a_toggle_of_rigid_bars_whose_hinges_repeat_each_other(k: float) -> None:
    """Two bars against a spring in a guide, of which three hinges and the guide hold the plane: one force and angle."""
    model, height = mbs.Model(), 0.1
    left, right, slider = (model.add_node(place) for place in ((0.5, 0, 0.05), (1.5, 0, 0.05), (2, 0, 0)))
    for node in (left, right, slider):
        model.add(RigidBody(node, 1.0, (1, 1, 1)))
    for a, b, place in ((model.ground, left, (0, 0, 0)), (left, right, (1, 0, height)), (right, slider, (2, 0, 0))):
        model.add(RevoluteJoint(a, b, (0, 1, 0), point=place))
    guide = model.add(PrismaticJoint(model.ground, slider, (1, 0, 0)))
    model.add(JointSpring(guide, k))
    model.add(Force(left, (0, 0, -7e-4 * k), point=(1, 0, height)))
    solution = mbs.statics(model)
    length, travel = np.hypot(1.0, height), solution.coordinate(guide)
    angle = np.arccos((1.0 + 0.5 * travel) / length)
    np.testing.assert_allclose(7e-4 * k * solution.t, 2.0 * k * travel * np.tan(angle), atol=1e-9 * k)


def test_soft_bars_whose_hinges_repeat_each_other_take_the_steps_of_bars_whose_do_not() -> None:
    """Under weights that their springs would not bear."""
    places, found = ((0, 0, 0), (0.5, 0, 0.12), (1.35, 0, 0.38), (2.29, 0, 0.82)), []
    for closed in (3 * (True,), (True, False, True)):
        model, bars = mbs.Model(gravity=(0, 0, -9.81)), []
        for one, other, mass in zip(places, places[1:], (1.84, 0.15, 0.93), strict=False):
            bars.append(model.add_node(np.add(one, other) / 2))
            model.add(RigidBody(bars[-1], mass, (0.1, 0.1, 0.1)))
        for a, b, place, k in zip([model.ground, *bars], bars, places, (26.6, 0.2, 0.1), strict=False):
            model.add(JointSpring(model.add(RevoluteJoint(a, b, (0, 1, 0), point=place)), k))
        model.add(Force(bars[1], (0.32, 0, 0.035), point=(1.06, 0, 0.41)))
        kept = {"translation": closed, "rotation": (closed[1], False, closed[1])}
        model.add(GeneralJoint(bars[-1], model.ground, point=places[-1], **kept))
        found.append(mbs.statics(model))
    np.testing.assert_allclose(found[0].x[-1], found[1].x[-1], atol=1e-7)
    assert len(found[0].t) <= len(found[1].t) + 2
