"""Dampers within what turns as one push in vain on R3xSO3, and runs tell by how much."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from meshes import brick
from scipy.spatial.transform import Rotation

import fem_mbs as mbs
from fem_mbs.alpha.newmark import chung_hulbert, newmark
from fem_mbs.elements import (
    Beam,
    BeamSection,
    Bushing,
    FixedJoint,
    FlexibleBody,
    Interface,
    Reduction,
    RevoluteJoint,
    RigidBody,
    Shell,
    ShellSection,
    SpringDamper,
)
from fem_mbs.elements.beams.mesh import node_shares
from fem_mbs.run.turning_dampers import damped_between, missed_in_turns

TOLD = re.compile(r"(\S+ '[^']+').*: steps are too long for dampers .* they push with (\S+) N where")
SPEED, TAU = 10.0, 0.01
RUBBER = BeamSection.rectangle(0.05, 0.05, E=2e9, nu=0.3, rho=1200.0)


def told(text: str) -> list[float]:
    """The forces in vain that were told."""
    return [float(found[1]) for found in TOLD.findall(text)]


# the formula


def steady(t: Any) -> Rotation:
    return Rotation.from_rotvec(np.multiply.outer(2.0 * t, [0.3, -0.5, 0.8]))


def tumbling(t: Any) -> Rotation:
    """About three axes, at speeds that change."""
    return Rotation.from_euler("xyz", np.stack([0.7 * t + 0.5 * t**2, 0.4 * np.sin(2.0 * t), 1.3 * t - 0.2 * t**3], -1))


def strain_rates(way: Callable[[Any], Rotation], h: float, rho: float) -> np.ndarray:
    """Of two points of a body, by its velocities as they are and with what they lack, after 60 steps.

    Newmark's formulas make them of the way that the body really goes.
    """
    places, steps = np.array([[0.4, 0.1, -0.2], [0.1, 0.5, 0.3]]), 60
    t = h * np.arange(-steps, 1) + 0.3
    R = way(t)
    x = np.einsum("tij,pj->tpi", R.as_matrix(), places) + np.multiply.outer(np.sin(t), [3.0, 5.0, -2.0])[:, None]
    turns = (R[:-1].inv() * R[1:]).as_rotvec()
    increments = np.concatenate([np.diff(x, axis=0).reshape(steps, 6), turns], axis=1)
    rates = np.array([increments[0] / h, np.zeros(9), np.zeros(9)])
    for D in increments:
        formulas = newmark(chung_hulbert(rho), h, rates, np.empty(0, int))
        rates = formulas.factors * D + formulas.constants
    linear, angular = rates[:2, :6].reshape(2, 2, 3), rates[:2, 6:] @ R[-1].as_matrix().T
    both = np.stack([linear, np.repeat(angular[:, None], 2, axis=1)], axis=2)
    missed = h**2 * missed_in_turns(both[:1], both[1:], chung_hulbert(rho).turning)[0]
    (u, other), arm = linear[0], x[-1, 1] - x[-1, 0]
    plain = other - u - np.cross(angular[0], arm)
    return np.linalg.norm([plain, plain + missed[1] - missed[0]], axis=1)


@pytest.mark.parametrize("rho", [0.5, 0.0])
@pytest.mark.parametrize("way", [steady, tumbling])
def test_what_velocities_lack_is_known_but_for_the_third_order(way: Callable[[Any], Rotation], rho: float) -> None:
    sizes = np.array([strain_rates(way, h, rho) for h in (0.02, 0.01)])
    plain, seen = np.log2(sizes[0] / sizes[1])
    assert abs(plain - 2.0) < 0.05
    assert seen > 2.95
    assert sizes[1, 1] < 0.03 * sizes[1, 0]


# what runs say

Build = Callable[[mbs.Model, Callable[..., mbs.Node]], Any]


def turning(
    build: Build, group: str = "R3xSO3", turn: float = 0.1, steps: int = 60, method: Any = None, step: Any = None
) -> tuple[mbs.Solution, Any]:
    """A run of what turns about a skew axis through the origin, by ``turn`` rad a step."""
    axis, model = np.array([0.2, -0.3, 1.0]), mbs.Model(group)
    spin = SPEED * axis / np.linalg.norm(axis)

    def node(*place: float) -> mbs.Node:
        return model.add_node(place, velocity=np.cross(spin, place), angular_velocity=spin)

    part = build(model, node)
    model.add(RevoluteJoint(model.ground, part.nodes[0], axis, point=(0, 0, 0)), name="hinge")
    h = turn / SPEED
    return mbs.simulate(model, steps * h, step or h, method or mbs.GeneralizedAlpha(0.5)), part


def beam(order: int = 1, interpolation: str = "SE3", tau: float = TAU) -> Build:
    def build(model: mbs.Model, node: Callable[..., mbs.Node]) -> Beam:
        nodes = [node(s, 0, 0) for s in node_shares(2, order)]
        section = RUBBER.with_damping(tau)
        return model.add(Beam(nodes, section, order=order, interpolation=interpolation), name="beam")

    return build


@pytest.mark.one
@pytest.mark.parametrize("formulation", ["index3", "stabilized", "index2"])
@pytest.mark.parametrize(("order", "interpolation"), [(1, "SE3"), (1, "R3xSO3"), (3, "SE3")])
def test_a_damped_beam_that_turns_says_what_shears_it(
    order: int, interpolation: str, formulation: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It is what its section forces differ by from those on SE(3), where nothing is said."""
    method, forces = mbs.GeneralizedAlpha(0.5, formulation), []
    for group in ("R3xSO3", "SE3"):
        run, part = turning(beam(order, interpolation), group, method=method)
        forces.append(run.section_forces(part)[-1, :, 1:3])
    (shear,) = told(caplog.text)
    assert "Beam 'beam'" in caplog.text
    assert abs(np.linalg.norm(forces[0] - forces[1], axis=1).max() / shear - 1.0) < 0.05


@cache
def on_se3() -> tuple[mbs.Solution, Any]:
    return turning(beam(), "SE3")


@pytest.mark.one
@pytest.mark.parametrize(
    ("method", "within"),
    [
        # coordinates of rotations err by themselves
        (mbs.ClassicalAlpha("tait_bryan", 0.5), 0.5),
        (mbs.UpdatedLagrangian(0.5, parametrization="conformal"), 0.2),
        (mbs.UpdatedLagrangian(0.5, parametrization="rotation_vector"), 0.05),
        (mbs.NonsmoothAlpha(0.5), 0.05),
    ],
)
def test_so_do_methods_of_the_same_formulas(
    method: mbs.Method, within: float, caplog: pytest.LogCaptureFixture
) -> None:
    (run, part), (other, same) = turning(beam(), method=method), on_se3()
    (shear,) = told(caplog.text)
    forces = run.section_forces(part)[-1, :, 1:3] - other.section_forces(same)[-1, :, 1:3]
    assert abs(np.linalg.norm(forces, axis=1).max() / shear - 1.0) < within


@pytest.mark.ci
def test_variable_steps_say_it(caplog: pytest.LogCaptureFixture) -> None:
    turning(beam(), step=mbs.VariableStep(1e-2))
    assert len(told(caplog.text)) == 1


def by_spring(model: mbs.Model, a: mbs.Node, b: mbs.Node, c: float) -> None:
    model.add(SpringDamper(a, b, 0.0, c, point_a=(0.7, 0.2, 0.5), point_b=(-0.3, 0.6, 0.1)))


def by_bushing(model: mbs.Model, a: mbs.Node, b: mbs.Node, c: float) -> None:
    model.add(Bushing(a, b, 6 * [0.0], 6 * [c], point=(0.1, 0.8, -0.3)))


@pytest.mark.one
@pytest.mark.parametrize("formulation", ["stabilized", "index3"])
@pytest.mark.parametrize("damp", [by_spring, by_bushing])
def test_dampers_between_welded_bodies_say_what_the_weld_bears_of_them(
    damp: Callable[..., None], formulation: str, caplog: pytest.LogCaptureFixture
) -> None:
    forces = []
    for c in (0.0, 3e3):

        def build(model: mbs.Model, node: Callable[..., mbs.Node], c: float = c) -> RigidBody:
            a, b = node(0.4, 0.1, 0.2), node(0.9, 0.5, 0.0)
            body = model.add(RigidBody(a, 2.0, (0.1, 0.12, 0.15)))
            model.add(RigidBody(b, 1.0, (0.1, 0.12, 0.15)))
            model.add(FixedJoint(a, b), name="weld")
            damp(model, a, b, c)
            return body

        run, _ = turning(build, method=mbs.GeneralizedAlpha(0.5, formulation))
        forces.append(run.reaction("weld")[0][-1])
    (push,) = told(caplog.text)
    assert abs(np.linalg.norm(forces[1] - forces[0]) / push - 1.0) < 0.05


def shell(model: mbs.Model, node: Callable[..., mbs.Node]) -> Shell:
    nodes = [[node(0.5 * x, 0.2 * y, 0) for y in range(2)] for x in range(3)]
    section = ShellSection.isotropic(0.02, 2e9, 0.3, 1200.0).with_damping(TAU)
    faces = [[*nodes[k], *nodes[k + 1][::-1]] for k in range(2)]
    return [model.add(Shell(face, section)) for face in faces][0]


def flexible(model: mbs.Model, node: Callable[..., mbs.Node]) -> FlexibleBody:
    ends = {
        name: Interface.rigid(lambda p, x=x: p[:, 0] == x, (x, 0.025, 0.025))
        for name, x in (("root", 0.0), ("tip", 1.0))
    }
    reduction = Reduction(*brick((4, 1, 1), (1.0, 0.05, 0.05), 2e9, 1200.0), ends, modes=2, rayleigh=(0.0, TAU))
    nodes = [node(x, 0.025, 0.025) for x in (0.0, 1.0)]
    return model.add(FlexibleBody(dict(zip(ends, nodes, strict=True)), reduction, position=(0, 0, 0)))


@pytest.mark.slow
@pytest.mark.parametrize("build", [flexible, shell])
def test_it_falls_with_the_square_of_the_step(build: Build, caplog: pytest.LogCaptureFixture) -> None:
    for turn in (0.2, 0.1):
        turning(build, turn=turn)
    coarse, fine = told(caplog.text)
    assert abs(coarse / fine - 4.0) < 0.4


# what they do not


@pytest.mark.ci
def test_nothing_is_said_on_se3_of_radau_and_of_small_steps(caplog: pytest.LogCaptureFixture) -> None:
    turning(beam(), "SE3")
    turning(beam(), method=mbs.RadauIIA())
    turning(beam(), turn=0.01)
    assert not told(caplog.text)


def test_models_without_such_dampers_are_not_looked_at() -> None:
    for build, group in ((beam(), "SE3"), (beam(tau=0.0), "R3xSO3")):
        run, _ = turning(build, group, steps=1)
        assert not damped_between(run.system)


def test_a_wheel_that_spins_and_travels_has_right_velocities(caplog: pytest.LogCaptureFixture) -> None:
    """Its damper does nothing, though Newmark's formulas would have told its body otherwise."""
    model, v = mbs.Model(), (30.0, 0.0, 0.0)
    wheel, car = (
        model.add_node((0, 0, 0), velocity=v, angular_velocity=(0, 30, 0)),
        model.add_node((1, 0, 0), velocity=v),
    )
    model.add(RigidBody(wheel, 20.0, (1, 1, 1)))
    model.add(RigidBody(car, 300.0, (100, 100, 100)))
    model.add(SpringDamper(car, wheel, 1e4, 1e3))
    run = mbs.simulate(model, 2.0, 0.01)
    np.testing.assert_allclose(
        np.diff(run.x[:, 1:], axis=1)[:, 0], np.broadcast_to([1.0, 0, 0], (len(run.t), 3)), atol=1e-9
    )
    assert not told(caplog.text)


@pytest.mark.ci
@pytest.mark.parametrize("seed", [3, 0, 1, 2])
def test_vibrations_are_no_turns(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    """A damped frame that is hit, and whose beams turn by some hundredths of a radian in a step of their vibrations."""
    rng = np.random.default_rng(seed)
    model, section = mbs.Model(gravity=(0, 0, -9.81)), RUBBER.with_damping(10 ** rng.uniform(-5, -2))
    column = Beam.line(model, (0, 0, 0), (0, 0, 1), section, 3)
    model.fix(column.nodes[0])
    bar = Beam.line(model, (0, 0, 1), (1, 0, 1), section, 3)
    model.add(FixedJoint(column.nodes[-1], bar.nodes[0]))
    for node in bar.nodes[1:]:
        node.velocity = rng.normal(size=3)
    run = mbs.simulate(model, 0.2, 10 ** rng.uniform(-3, -2.2), mbs.GeneralizedAlpha(rng.choice([0.5, 0.9])))
    assert np.abs(run.v[..., 3:]).max() > 0.1
    assert not told(caplog.text)
