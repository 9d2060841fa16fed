"""Derivatives of motions that are known: digits from exact equations with complex steps, shared by two step lengths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.elements import (
    Block,
    CurveJoint,
    JointActuator,
    JointForce,
    JointFriction,
    JointSensor,
    JointSpring,
    JointStop,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    SpringDamper,
)
from tests.derivatives.test_direct import angle, rod


def spring_pendulum(m: float = 2.0, k: float = 80.0, l0: float = 1.0, g: float = 9.81) -> mbs.Model:
    """A point on a spring, from (1.2, 0) at rest."""
    model = mbs.Model(gravity=(0, 0, -g))
    bob = model.add_node((1.2, 0, 0), name="bob")
    model.add(RigidBody(bob, m, (1.0, 1.0, 1.0)))
    model.add(SpringDamper(model.ground, bob, k, free_length=l0))
    return model


def free_body(J2: float = 2.0, spin: float = 1.0) -> mbs.Model:  # noqa: N803
    """Turns about its middle axis, nearly."""
    model = mbs.Model()
    node = model.add_node((0, 0, 0), angular_velocity=(0.1, spin, 0.1), name="body")
    model.add(RigidBody(node, 1.0, (1.0, J2, 3.0)))
    return model


def four_bar(m2: float = 1.4, k: float = 60.0, l0: float = 0.9, L1: float = 0.8) -> mbs.Model:  # noqa: N803
    """Three uniform bars and a spring across; ``L1`` moves a hinge, masses stay."""
    model = mbs.Model(gravity=(0, -9.81, 0))
    places = np.array([(0, 0, 0), (0, L1, 0), (1, 1.1, 0), (1.2, 0, 0)])
    bars = []
    for mass, start, end in zip((1.0, m2, 1.2), places[:-1], places[1:], strict=True):
        way = (end - start) / np.linalg.norm(end - start)
        axes = np.stack([way, np.cross((0, 0, 1), way), (0, 0, 1)], axis=1)
        inertia = mass * np.linalg.norm(end - start) ** 2 / 12
        bars.append(model.add_node(0.5 * (start + end), axes))
        model.add(RigidBody(bars[-1], mass, (0.5 * inertia, inertia, inertia)))
    for one, other, point in zip([model.ground, *bars], [*bars, model.ground], places, strict=True):
        model.add(RevoluteJoint(one, other, (0, 0, 1), point=point))
    model.add(SpringDamper(bars[0], model.ground, k, free_length=l0, point_a=places[1], point_b=places[3]))
    return model


def bead(place: float = 0.5) -> mbs.Model:
    """On a straight wire, a spring to 0.1 m beyond where it was built."""
    model = mbs.Model()
    node = model.add_node((place, 0, 0), name="bead")
    model.add(RigidBody(node, 2.0, (1.0, 1.0, 1.0)))
    wire = CurveJoint(model.ground, node, [(0, 0, 0), (1, 0, 0), (2, 0, 0)])
    model.add(JointSpring(model.add(wire), 50.0, free=0.1))
    return model


def third_hinge(solution: Any) -> Any:
    """Of the four-bar: the end of its second bar."""
    bar = solution.model.nodes[2]
    half = np.linalg.norm(np.array((1, 1.1, 0)) - bar.position)
    return (solution.position(bar) + half * solution.rotation(bar)[:, :, 0])[-1, :2]


def to_the_bottom(solution: Any) -> Any:
    """When the rod hangs down, from the cubic between two steps."""
    t, phi, rate = solution.t, from_below(solution), solution.coordinate_rate("hinge")
    k = int(np.flatnonzero(phi < 0.0)[0]) - 1
    h, roots = t[k + 1] - t[k], np.empty(0)
    a, b, c, d = phi[k], h * rate[k], phi[k + 1], h * rate[k + 1]
    roots = np.roots([2 * a + b - 2 * c + d, -3 * a - 2 * b + 3 * c - d, b, a])
    return t[k] + h * min(root.real for root in roots if abs(root.imag) < 1e-12 and 0.0 <= root.real <= 1.0)


def from_below(solution: Any) -> Any:
    """The angle of the rod; coordinates are zero as built."""
    return 1.0 + angle(solution)


def square(solution: Any) -> Any:
    """Of the angle, over time: by the trapezoidal rule, with the slopes at both ends."""
    phi, h = from_below(solution), solution.t[1] - solution.t[0]
    slope = 2.0 * phi * solution.coordinate_rate("hinge")
    return np.trapezoid(phi**2, solution.t) - h**2 / 12.0 * (slope[-1] - slope[0])


ROD = {"mass": 1.5, "length": 0.9, "damping": 0.12, "gravity": 9.81}
TRUTHS = {
    "rod, angle": (
        rod, ROD, 2.0, lambda s: from_below(s)[-1], 0.14207979,
        {"mass": 0.0525552088, "length": 3.3182914344, "damping": -0.6569401100, "gravity": -0.2883584775},
    ),
    "rod, integral": (
        rod, ROD, 2.0, square, 0.77564222,
        {"mass": 0.139265737, "length": 0.756647060, "damping": -1.740821712, "gravity": -0.0268282511},
    ),
    "rod, time to the bottom": (
        lambda length, gravity: rod(length=length, gravity=gravity, damping=0.0),
        {"length": 0.9, "gravity": 9.81}, 0.5, to_the_bottom, 0.4142422151,
        {"length": 0.2301345640, "gravity": -0.0211132627},
    ),
    "spring pendulum": (
        spring_pendulum, {"m": 2.0, "k": 80.0, "l0": 1.0, "g": 9.81}, 2.0, lambda s: s.position("bob")[-1, [0, 2]],
        (-0.77747739, -0.99949177),
        {
            "m": (-0.74743625, 0.77005359), "k": (0.01868591, -0.01925134), "l0": (-1.33894158, 1.36022106),
            "g": (0.05303995, -0.22865777),
        },
    ),
    "free body": (
        free_body, {"J2": 2.0, "spin": 1.0}, 5.0, lambda s: s.angular_velocity("body")[-1],
        (-0.59727005, 0.80825026, 0.35436869),
        {"J2": (1.1822144065, 0.7663695373, -0.3380375219), "spin": (-1.5284069081, 0.1077987020, 0.8586835193)},
    ),
    "four-bar": (
        four_bar, {"m2": 1.4, "k": 60.0, "l0": 0.9, "L1": 0.8}, 1.0, third_hinge, (0.1157752, 0.2728673),
        {
            "m2": (0.0231778, 0.0920959), "k": (-0.000944149, -0.003751532), "l0": (0.0946292, 0.3760046),
            "L1": (-0.3870819, -1.5380511),
        },
    ),
}  # fmt: skip


QUICK = ("free body",)


@pytest.mark.ci
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in TRUTHS]
)
def test_derivatives(name: str) -> None:
    """By Radau's method; by the default one what two steps tell, as its error is of second order."""
    build, values, t_end, query, value, exact = TRUTHS[name]

    def found(count: int, method: mbs.Method) -> tuple[Any, dict[str, Any]]:
        own = mbs.sensitivities(build, values, t_end, t_end / count, method)
        return query(own.solution), own.of(query)

    def check(number: Any, rates: dict[str, Any], tolerance: float) -> None:
        np.testing.assert_allclose(number, value, atol=tolerance)
        for key, own in exact.items():
            np.testing.assert_allclose(rates[key], own, atol=tolerance * np.abs(own).max())

    check(*found(100, mbs.RadauIIA()), 2e-5)
    (far, of_far), (near, of_near) = (found(count, mbs.GeneralizedAlpha()) for count in (100, 200))
    check((4.0 * near - far) / 3.0, {key: (4.0 * of_near[key] - of_far[key]) / 3.0 for key in exact}, 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["direct", "copies"])
def test_onto_a_stop_and_back(how: str) -> None:
    """Flight onto an undamped spring at 0.1 m and back: x = 0.1 - v (T - 0.1/v - pi/w), w^2 = k/m."""

    def build(v: float, k: float) -> mbs.Model:
        model = mbs.Model()
        node = model.add_node((0, 0, 0), name="m", velocity=(v, 0, 0))
        model.add(RigidBody(node, 1.0, (1, 1, 1)))
        guide = model.add(PrismaticJoint(model.ground, node, (1, 0, 0)))
        model.add(JointStop(guide, None, 0.1, stiffness=k))
        return model

    run = mbs.sensitivities(build, {"v": 1.0, "k": 1e4}, 0.2, 0.01, how=how)
    found = run.of(lambda s: s.position("m")[-1, 0])
    assert found["v"] == pytest.approx(-(0.2 - np.pi / 100), rel=3e-3)
    assert found["k"] == pytest.approx(-0.5 * np.pi * 1e-6, rel=3e-3)
    assert any("kinks" in note and "JointStop" in note for note in run.notes)


@pytest.mark.ci
def test_the_zero_of_a_coordinate_moves_with_where_it_was_built() -> None:
    """A bead on a wire swings about 0.1 m beyond its start, wherever that is."""
    goal = mbs.Final(lambda s: s.position("bead")[:, 0])
    for how in ("direct", "adjoint"):
        _, gradient = mbs.objective(bead, goal, {"place": 0.5}, 0.3, 0.01, how=how)([0.5])
        np.testing.assert_allclose(gradient, 1.0, rtol=1e-9)


def pushed_and_rough(push: float, law: str, rough: bool) -> mbs.Model:
    """A body that slides on bristles, pushed by a function that is smooth or jumps."""
    model = mbs.Model()
    node = model.add_node((0, 0, 0), name="m", velocity=(0.3, 0, 0))
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    rail = model.add(PrismaticJoint(model.ground, node, (1, 0, 0)))
    if rough:
        model.add(JointFriction(rail, 0.3, preload=10.0, bristle=1e-4), name="rough")
    laws = {
        "smooth": lambda t, q, rate: push - 0.1 * rate,
        "place": lambda t, q, rate: push if q < 0.02 else 0.5 * push,
        "time": lambda t, q, rate: push if t < 0.0333 else 0.5 * push,
    }
    model.add(JointForce(rail, laws[law]), name="push")
    return model


@pytest.mark.parametrize("how", ["direct", "copies"])
@pytest.mark.parametrize("rough", [True, False])
@pytest.mark.parametrize("law", ["smooth", "place", "time"])
def test_functions_that_jump_are_told_and_no_others(law: str, rough: bool, how: str) -> None:
    """Bristles that snap have steps cut at the start: the function beside them that is smooth is not blamed."""
    run = mbs.sensitivities(lambda push: pushed_and_rough(push, law, rough), {"push": 12.0}, 0.1, 0.005, how=how)
    assert [("'push'" in note, "'rough'" in note) for note in run.notes] == [(True, False)] * (law != "smooth")


@pytest.mark.one
@pytest.mark.parametrize("jumps", [False, True])
def test_blocks_whose_functions_jump_are_told(jumps: bool) -> None:
    """Their equations are of several terms, of which forces of nodes know nothing."""

    def build(push: float) -> mbs.Model:
        model = pushed_and_rough(0.0, "smooth", False)
        rail = model["push"].joint
        lags = Block(
            [model.add(JointSensor(rail))],
            lambda t, x, u: 30.0 * ((0.5 if jumps and t > 0.0133 else 1.0) * push - x),
            lambda t, x, u: x,
            initial=[push],
        )
        model.add(JointActuator(rail, model.add(lags, name="lags")))
        return model

    notes = mbs.sensitivities(build, {"push": 12.0}, 0.03, 0.005, how="direct").notes
    assert ["'lags'" in note and "'push'" not in note for note in notes] == [True] * jumps


@pytest.mark.ci
def test_kinks_are_of_those_laws_that_passed_them() -> None:
    """Of two stops, one of which is never met."""

    def build(v: float) -> mbs.Model:
        model = mbs.Model()
        for place, name in ((0.0, "met"), (1.0, "missed")):
            node = model.add_node((0, place, 0), velocity=(v * (place == 0.0), 0, 0))
            model.add(RigidBody(node, 1.0, (1, 1, 1)))
            guide = model.add(PrismaticJoint(model.ground, node, (1, 0, 0)))
            model.add(JointStop(guide, None, 0.02, stiffness=1e4), name=name)
        return model

    (note,) = mbs.sensitivities(build, {"v": 1.0}, 0.03, 0.01, how="direct").notes
    assert "'met'" in note and "'missed'" not in note
