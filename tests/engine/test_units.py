"""Nothing depends on units: in megametres, gigatonnes and minutes all goes the same way; nor on when."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from catalogue import AWAY, EVERYTHING, HOME, METHODS, build
from meshes import brick
from units import Units

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.contracts import move_node
from fem_mbs.elements import (
    PID,
    Ball,
    Beam,
    BeamSection,
    Bearing,
    Block,
    Box,
    Bushing,
    Contact,
    CylindricalJoint,
    FirstOrderActuator,
    FixedJoint,
    FlexibleBody,
    Force,
    Interface,
    JointActuator,
    JointFriction,
    JointSensor,
    JointSpring,
    JointStop,
    LeadLag,
    LowPass,
    Maxwell,
    Moment,
    MultiplierSensor,
    NodeSensor,
    Plane,
    PositionMotor,
    PrismaticJoint,
    Ramp,
    Reduction,
    RevoluteJoint,
    RigidBody,
    Rope,
    SampledStateSpace,
    SpeedMotor,
    SphericalJoint,
    SpringDamper,
    StateSpace,
    TransferFunction,
    Vector,
)
from fem_mbs.elements.control.controllers import LinearBlock
from fem_mbs.initial.singular import what_changed
from fem_mbs.lie import so3
from fem_mbs.solution.channels import named_parts, parse, quantities

UNITS = Units(2.0**20), Units(2.0**-20, 2.0**30, 2.0**7)
"""Powers of four, but for that of time: they round nothing, nor do their roots."""


def body(model: mbs.Model, place: Any, o: Units, velocity: Any = (0, 0, 0), spin: Any = (0, 0, 0)) -> mbs.Node:
    """Of about a kilogram and a decimetre."""
    node = model.add_node(
        np.multiply(o.m, place), velocity=np.multiply(o.m / o.s, velocity), angular_velocity=np.divide(spin, o.s)
    )
    inertia, center = np.multiply(o.kg * o.m**2, (0.02, 0.03, 0.04)), np.multiply(o.m, (0.02, 0.01, -0.01))
    model.add(RigidBody(node, 1.5 * o.kg, inertia, center))
    return node


def machine(o: Units) -> mbs.Model:
    """A driven crank, a beam on a ball joint, a body with a spring in a hinge."""
    model = mbs.Model(gravity=o.g)
    section = BeamSection(
        EA=2e4 * o.N, GA=8e3 * o.N, GJ=20.0 * o.N * o.m**2, EI=(25.0 * o.N * o.m**2, 30.0 * o.N * o.m**2),
        mass=0.8 * o.kg / o.m, inertia=np.multiply(o.kg * o.m, (2e-3, 1e-3, 1e-3)),
    ).with_damping(1e-3 * o.s)  # fmt: skip
    crank = body(model, (0.2, 0, 0), o)
    rod = [model.add_node((x * o.m, 0, 0.1 * x * o.m)) for x in (0.4, 0.7, 1.0)]
    disc = body(model, (1.0, 0.1, 0.1), o)
    model.add(Beam(rod, section))
    model.add(
        RevoluteJoint(model.ground, crank, (0, 0, 1), point=(0, 0, 0), drive=lambda t: 2.0 * (t / o.s) ** 2),
        name="crank",
    )
    model.add(SphericalJoint(crank, rod[0]))
    hinge = model.add(RevoluteJoint(rod[-1], disc, (0, 1, 1)), name="hinge")
    model.add(JointSpring(hinge, 3.0 * o.N * o.m, 0.02 * o.N * o.m * o.s))
    model.add(SpringDamper(model.ground, disc, 40.0 * o.N / o.m, 0.5 * o.N / o.m * o.s, free_length=0.8 * o.m))
    model.add(Force(disc, lambda t: (3.0 * o.N * np.sin(20.0 * t / o.s), 0, o.N)))
    return model


def frame(o: Units) -> mbs.Model:
    """A column on a hinge that a bushing holds, with a load and its weight on two hinges."""
    model = mbs.Model("SE3", gravity=o.g)
    section = BeamSection(
        EA=2e3 * o.N, GA=8e2 * o.N, GJ=2.0 * o.N * o.m**2, EI=(2.5 * o.N * o.m**2, 3.0 * o.N * o.m**2),
        mass=0.2 * o.kg / o.m, inertia=np.multiply(o.kg * o.m, (2e-3, 1e-3, 1e-3)),
    )  # fmt: skip
    column = Beam.line(model, (0, 0, 0), (0.1 * o.m, 0, o.m), section, elements=4, y_axis=(0, 1, 0))
    model.add(Bushing(model.ground, column.nodes[0], [*3 * [500.0 * o.N / o.m], *3 * [20.0 * o.N * o.m]]))
    top = body(model, (0.1, 0, 1.0), o)
    for y in (0.0, 0.1):
        model.add(RevoluteJoint(column.nodes[-1], top, (0, 1, 0), point=(0.1 * o.m, y * o.m, o.m)))
    model.add(Bushing(column.nodes[-1], top, [*3 * [0.0], *3 * [5.0 * o.N * o.m]]))
    model.add(Force(top, np.multiply(o.N, (0.4, 0.2, -2.0))))
    model.add(Moment(column.nodes[2], (0, 0.1 * o.N * o.m, 0)))
    return model


def falling(o: Units) -> mbs.Model:
    """A box that is thrown on a floor, a ball that bounces, a slider with a stop, a body that falls into a rope, and
    one that is shaken on the floor."""
    model = mbs.Model(gravity=o.g)
    box = body(model, (0, 0, 0.13), o, (0.8, 0.1, 0), (0.2, 0.5, 0.1))
    ball = body(model, (1, 0, 0.13), o, (0.3, 0, 0))
    slider = body(model, (0, 1, 0.5), o, (2, 0, 0))
    model.add(
        Contact(model.ground, box, Plane(), Box((0.3 * o.m, 0.3 * o.m, 0.2 * o.m)), friction=0.3, restitution=0.2)
    )
    model.add(Contact(model.ground, ball, Plane(), Ball(0.1 * o.m), friction=0.2, restitution=0.6))
    rail = model.add(PrismaticJoint(model.ground, slider, (1, 0, 0)))
    bob = body(model, (0, 2, 0.5), o, (0.5, 0, 0))
    model.add(Rope(model.ground, bob, 0.51 * o.m, point_a=(0, 2 * o.m, o.m)))
    model.add(JointStop(rail, None, 0.1 * o.m, restitution=0.5))
    model.add(Maxwell(model.ground, ball, 40.0 * o.N / o.m, 0.5 * o.N / o.m * o.s))
    shaken = body(model, (2, 0, 0.1), o)
    model.fix(shaken, translation=False)
    model.add(Contact(model.ground, shaken, Plane(), Ball(0.1 * o.m), friction=0.2))
    model.add(Force(shaken, lambda t: (8.0 * o.N * np.sin(100.0 * t / o.s), 0, 0)))
    return model


def channels(solution: mbs.Solution, o: Units, *others: str) -> list[Array]:
    """All that can be asked of a solution but for others, of each unit together."""
    found = defaultdict[str, list[Array]](list)
    others = ("multipliers", "signal", "constraint_residual", *others)
    for name, part in named_parts(solution.system).items():
        for quantity in sorted(quantities(part).keys() - others):
            channel = parse(solution.system, f"{name}.{quantity}".lstrip("."))
            for unit, values in zip(channel.units, channel.values(solution).T, strict=True):
                found[unit].append(values / o.of(unit))
    return [np.array(found[unit]) for unit in sorted(found)]


def run(model: mbs.Model, o: Units, method: mbs.Method, step: Any) -> list[Any]:
    """What can be asked of a run, errors, and how it went."""
    found = mbs.simulate(model, 0.1 * o.s, step(o), method)
    stats, told = found.stats, found.stats.error
    counts = [stats.failed_steps, len(found.t), 0.1 * stats.newton_iterations.sum() // len(found.t)]
    errors = (
        [told.length / o.m, told.angle, told.displacement / o.m, told.rounds, bool(told.warning)]
        if told.estimated
        else []
    )
    return [found.t / o.s, *counts, *errors, *channels(found, o)]


def analyses(model: mbs.Model, o: Units) -> list[Any]:
    """Equilibria, their stability, buckling loads and modes."""
    found = mbs.statics(model)
    modes = mbs.modes(model, 4, found.state(-1), damped=True)
    buckles = mbs.buckling(model)
    counts = [found.stats.newton_iterations, found.stats.failed_steps, found.unstable]
    return [
        found.t,
        *counts,
        *channels(found, o),
        modes.eigenvalues * o.s,
        buckles.factors,
        np.abs(modes.shapes[:, :, 3:]) * o.m * o.kg**0.5,
    ]


def lever(o: Units) -> mbs.Model:
    """A lever on a hinge that slides, whose end a spring holds and its weight presses on a floor with friction."""
    model = mbs.Model(gravity=o.g)
    arm, foot = body(model, (0.5, 0, 0.3), o), body(model, (1.0, 0, 0.1), o)
    model.add(CylindricalJoint(model.ground, arm, (0, 1, 0), point=(0, 0, 0.5 * o.m)))
    model.add(RevoluteJoint(arm, foot, (0, 1, 0)))
    model.add(Bushing(arm, foot, [*3 * [0.0], *3 * [5.0 * o.N * o.m]]))
    model.add(Contact(model.ground, foot, Plane(point=(0, 0, -0.01 * o.m)), Ball(0.1 * o.m), friction=0.3))
    return model


def pressed(model: mbs.Model, o: Units) -> list[Any]:
    """Where it falls to, and what holds it there."""
    return channels(mbs.statics(model, step=0.5), o, "contact_losses")


def assembled(model: mbs.Model, o: Units) -> list[Any]:
    """Bodies that were shaken, brought back so that joints close."""
    rng, (_, crank, *rod, disc) = np.random.default_rng(1), model.nodes
    for nodes in ([crank], rod, [disc]):
        turn, way = so3.exp(0.05 * rng.normal(size=3)), 0.02 * o.m * rng.normal(size=3)
        for node in nodes:
            move_node(node, turn @ node.position + way, turn @ node.rotation)
            node.velocity, node.angular_velocity = o.m / o.s * rng.normal(size=3), rng.normal(size=3) / o.s
    found = model.assemble()
    own = np.array([node.position for node in model.nodes]), np.array([node.velocity for node in model.nodes])
    return [
        own[0] / o.m,
        own[1] * o.s / o.m,
        found.distance / o.m,
        found.angle,
        found.gap_before,
        found.velocity * o.s / o.m,
    ]


def swing(o: Units, stiff: float = 1.0, far: float = 1.0, group: str = "R3xSO3") -> mbs.Model:
    """A body on an arm that swings, with springs that may be stiffer and a free length that may be longer."""
    model = mbs.Model(group, gravity=o.g)
    arm, end = body(model, (0.5, 0, 0.3), o, spin=(0, 2.0, 0)), body(model, (1.0, 0, 0.1), o)
    model.add(RevoluteJoint(model.ground, arm, (0, 1, 0), point=(0, 0, 0.5 * o.m)))
    model.add(SphericalJoint(arm, end, point=(0.8 * o.m, 0, 0.1 * o.m)))
    model.add(Bushing(arm, end, [*3 * [0.0], *3 * [5.0 * o.N * o.m * stiff]]))
    model.add(
        SpringDamper(model.ground, end, 40.0 * o.N / o.m * stiff, 0.5 * o.N / o.m * o.s, free_length=0.8 * o.m * far)
    )
    mbs.project_velocities(model)
    return model


def varied(model: mbs.Model, o: Units) -> list[Any]:
    """Derivatives of motions, forwards and backwards, of equilibria and of modes."""
    ways = {"stiff": 1.0, "far": 1.0}
    goals = [
        mbs.Integral(lambda s: (s.velocity(s.model.nodes[-1]) ** 2).sum(axis=1) * o.s / o.m**2),
        mbs.Final(lambda s: s.position(s.model.nodes[-1])[:, 2] / o.m),
    ]

    def build(stiff: float, far: float) -> mbs.Model:
        return swing(o, stiff, far)

    found = [
        mbs.objective(build, goals, ways, 0.03 * o.s, 0.01 * o.s, how=how)([1.0, 1.0])[1]
        for how in ("direct", "adjoint")
    ]
    moving = mbs.sensitivities(build, ways, 0.03 * o.s, 0.01 * o.s)
    resting, swinging = (mbs.sensitivities(build, ways, of=of) for of in (mbs.statics, mbs.modes))
    return [
        *np.concatenate(found),
        moving.of(lambda s: s.x / o.m)["far"],
        moving.of(lambda s: s.multipliers_all[:, :3] / o.N)["stiff"],
        resting.of(lambda s: s.x / o.m)["stiff"],
        swinging.of(lambda s: s.eigenvalues * o.s)["stiff"],
    ]


def rotor(o: Units) -> mbs.Model:
    """A shaft with a disc aside on bearings."""
    section = BeamSection(
        EA=2e6 * o.N, GA=8e5 * o.N, GJ=20.0 * o.N * o.m**2, EI=30.0 * o.N * o.m**2,
        mass=0.8 * o.kg / o.m, inertia=np.multiply(o.kg * o.m, (2e-3, 1e-3, 1e-3)),
    )  # fmt: skip
    model = mbs.Model()
    shaft = Beam.line(model, (0, 0, 0), (o.m, 0, 0), section.with_damping(1e-4 * o.s), elements=2, y_axis=(0, 1, 0))
    model.add(RigidBody(shaft.nodes[1], 1.5 * o.kg, np.multiply(o.kg * o.m**2, (0.04, 0.02, 0.02))))
    for node, stiff in ((shaft.nodes[0], (1e3, 1e3)), (shaft.nodes[-1], (6e2, 6e2))):
        springs, dampers = np.multiply(o.N / o.m, stiff), np.multiply(0.1 * o.N / o.m * o.s, (1.0, 1.0))
        model.add(Bearing(model.ground, node, (1, 0, 0), springs, dampers, across=(0, 1, 0)))
    model.add(Bushing(model.ground, shaft.nodes[0], [1e3 * o.N / o.m, *5 * [0.0]]))
    return model


def turning(model: mbs.Model, o: Units) -> list[Any]:
    """What vibrates at speeds, what unbalance does, and where it stays as it turns."""
    diagram = mbs.campbell(model, [0.0, 30.0 / o.s], count=4)
    moved = mbs.unbalance_response(model, [25.0 / o.s], {model.nodes[2]: 1e-3 * o.kg * o.m})
    model.gravity = np.array([o.g[2], 0, 0])
    return [
        *(diagram.angular * o.s, diagram.damping, diagram.whirl),
        *(np.abs(moved.displacement(model.nodes[3])) / o.m, mbs.steady_spin(model, 30.0 / o.s).x / o.m),
    ]


def meshed(o: Units) -> mbs.Model:
    """A brick that is clamped and swings, with a body on its end."""
    points, K, M = brick((3, 1, 1), (o.m, 0.1 * o.m, 0.1 * o.m), 1e6 * o.N / o.m**2, 100.0 * o.kg / o.m**3)
    ends = {
        "root": Interface.rigid(lambda p: p[:, 0] == 0.0, (0, 0.05 * o.m, 0.05 * o.m)),
        "tip": Interface.average(lambda p: p[:, 0] == o.m, (o.m, 0.05 * o.m, 0.05 * o.m)),
    }
    reduction = Reduction(points, K, M, ends, modes=2, damping=1e-3)
    model = mbs.Model(gravity=o.g)
    root, tip = (body(model, (x, 0.05, 0.05), o) for x in (0.0, 1.0))
    model.add(FlexibleBody({"root": root, "tip": tip}, reduction), name="brick")
    model.add(RevoluteJoint(model.ground, root, (0, 1, 0)), name="hinge")
    model.add(JointSpring(model["hinge"], 30.0 * o.N * o.m))
    return model


def swings(model: mbs.Model, o: Units) -> list[Any]:
    """How it hangs, moves and vibrates."""
    rest, run = mbs.statics(model), mbs.simulate(model, 0.05 * o.s, 0.01 * o.s)
    return [
        *(*channels(rest, o), *channels(run, o), run.surface("brick") / o.m),
        mbs.modes(model, 4, rest.state(-1), damped=True).eigenvalues * o.s,
    ]


def governed(o: Units) -> mbs.Model:
    """A pole on a cart that a controller with a filter moves through a lag."""
    model = mbs.Model("SE3", gravity=o.g)
    cart, pole = body(model, (0, 0, 0), o), body(model, (0.1, 0, 0.5), o)
    rail = model.add(PrismaticJoint(model.ground, cart, (1, 0, 0)))
    angle = model.add(JointSensor(model.add(RevoluteJoint(cart, pole, (0, 1, 0), point=(0, 0, 0)))), name="angle")
    gains = np.multiply(-o.N, (60.0, 20.0 / o.s, 8.0 * o.s))
    control = model.add(PID(angle, *gains, filter=0.02 * o.s))
    model.add(JointActuator(rail, model.add(LowPass(control, 0.01 * o.s))))
    return model


def loop(model: mbs.Model, o: Units) -> list[Any]:
    """How it moves, and what goes on in it about its start."""
    plant = mbs.linearize(model).state_space({"angle": model["angle"]}, {"angle": model["angle"]})
    found = mbs.simulate(model, 0.1 * o.s, 0.01 * o.s)
    return [found.x / o.m, found.R, np.sort_complex(np.linalg.eigvals(plant.A)) * o.s, len(found.t)]


def fixed(o: Units) -> float:
    return 0.01 * o.s


CASES: dict[str, tuple[Callable[[Units], mbs.Model], Any]] = {
    "machine": (machine, lambda *own: run(*own, mbs.GeneralizedAlpha(0.8), fixed)),
    "machine, variable steps": (
        machine,
        lambda *own: run(*own, mbs.GeneralizedAlpha(), lambda o: mbs.VariableStep(1e-2)),
    ),
    "contact": (falling, lambda *own: run(*own, mbs.NonsmoothAlpha(), fixed)),
    "frame": (frame, analyses),
    "lever on a floor": (lever, pressed),
    "open joints": (machine, assembled),
    "derivatives": (swing, varied),
    "rotor": (rotor, turning),
    "meshed body": (meshed, swings),
    "control": (lambda o: governed(o._replace(s=1.0 / o.s)), lambda m, o: loop(m, o._replace(s=1.0 / o.s))),
}


LONG = "open joints", "machine, variable steps"


@pytest.mark.parametrize("name", [pytest.param(own, marks=[pytest.mark.slow] if own in LONG else []) for own in CASES])
def test_units(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """Of results, and of what is said beside them."""
    (make, ask), found, said = CASES[name], [], []
    for own in UNITS:
        found.append(ask(make(own), own))
        said.append([record.msg for record in caplog.records])
        caplog.clear()
    (here, there), (told, others) = found, said
    assert told == others
    for k, (one, other) in enumerate(zip(here, there, strict=True)):
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-7 * np.nanmax(np.abs(one)), err_msg=str(k))


@pytest.mark.parametrize("name", METHODS)
def test_units_of_methods(name: str) -> None:
    """Of motions, reactions, errors and limits. By index 2, where velocities are closed depends on that of length."""
    method, found = METHODS[name], []
    for o in (own._replace(m=1.0) if "index 2" in name else own for own in UNITS):
        model = swing(o, group="SE3")
        if isinstance(method, mbs.ClassicalRungeKutta):  # is for models without joints
            for joint in list(model.constraints):
                model.remove(joint)
        if "symplectic" not in name:  # has no states
            model.add(Maxwell(model.ground, model.nodes[-1], 40.0 * o.N / o.m, 0.5 * o.N / o.m * o.s))
        step, system = 0.01 * o.s, mbs.System(model)
        run, limit = mbs.simulate(model, 2.0 * step, step, method), method.limit(system, mbs.start(system), step)
        told, sizes = run.stats.error, np.array(3 * [o.m] + 3 * [1.0])
        found.append(
            [
                *(run.x / o.m, run.R, run.v / sizes * o.s, run.vdot / sizes * o.s**2, run.energy.total / (o.N * o.m)),
                *(run.reaction(joint)[0] / o.N for joint in model.constraints),
                *(run.stats.newton_iterations, *((told.length / o.m, told.angle) if told.estimated else ())),
                *((limit.step / o.s, limit.rate * o.s, limit.moving * o.s) if limit else ()),
            ]
        )
    for k, (one, other) in enumerate(zip(*found, strict=True)):
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-10 * np.abs(one).max(), err_msg=str(k))


def clockwork(begin: float, place: Array) -> mbs.Model:
    """What acts by the clock: a crank, a load, a sampled controller, and a box and a rope that are met on the way."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    crank, disc, bob = (body(model, place + own, Units()) for own in ((0.2, 0, 0), (0.4, 0.1, 0.1), (0, 1, -0.001)))
    box = body(model, place + (2, 0, 0.12), Units(), (0.8, 0.1, -0.3), (0.2, 0.5, 0.1))
    drive = Ramp(4.0, begin=begin + 0.013, corner=0.02)
    model.add(RevoluteJoint(model.ground, crank, (0, 0, 1), point=place, drive=drive), name="crank")
    hinge = model.add(RevoluteJoint(crank, disc, (0, 1, 1)), name="hinge")
    held = SampledStateSpace(
        model.add(JointSensor(hinge)), 0.02, [[0.5]], [[1.0]], [[2.0]], [[1.0]], begin=begin, delay=0.007
    )
    model.add(JointActuator(hinge, model.add(held)))
    model.add(Force(disc, lambda t: (3.0 * np.sin(20.0 * (t - begin)), 0, 1.0)))
    model.add(Force(disc, Vector(0.0, 1.0, 0.0) * Ramp(50.0, begin=begin + 0.021, end=begin + 0.032)))
    model.add(Rope(model.ground, bob, 1.0005, point_a=place), name="rope")
    floor = Plane(point=place)
    model.add(Contact(model.ground, box, floor, Box((0.3, 0.3, 0.2)), friction=0.3, restitution=0.2), name="floor")
    return model


@pytest.mark.ci
@pytest.mark.parametrize("step", [0.01, pytest.param(mbs.VariableStep(1e-3), marks=pytest.mark.slow)])
def test_a_run_may_begin_at_any_time_and_place(step: Any) -> None:
    """Motions, impacts, events, errors and how the run went."""
    found = []
    for begin, place in ((0.0, np.zeros(3)), (8.0, 2.0**12 * np.array([1.0, -2.0, 0.5]))):
        model = clockwork(begin, place)
        first = replace(mbs.start(mbs.System(model)), t=begin)
        height = place[2] + 0.11
        run = mbs.simulate(model, begin + 0.05, step, initial=first, events=lambda s, own=height: s.x[4, 2] - own)
        told, hits = run.stats.error, [hit for part in ("rope", "floor") for hit in run.impulses(part)]
        found.append(
            [
                *(run.t - begin, run.x[:, 1:] - place, run.R, run.v, run.vdot, run.energy.kinetic, run.angle("hinge")),
                *(run.event_times[0] - begin, np.array([own.x[1:] - place for own in run.event_states[0]])),
                *(np.array([hit.t - begin for hit in hits]), np.array([hit.normal for hit in hits])),
                *(np.array([hit.friction for hit in hits]), run.reaction("hinge")),
                *(told.length, told.angle, told.displacement, told.rounds, bool(told.warning)),
                *(run.stats.failed_steps, 0.1 * run.stats.newton_iterations.sum() // len(run.t)),
            ]
        )
    for k, (one, other) in enumerate(zip(*found, strict=True)):
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-9 * np.abs(one).max(initial=1e-9), err_msg=str(k))
    assert len(found[0][7]) and len(found[0][9]) > 1


@pytest.mark.parametrize("name", ["revolute", "shell", "bushing, coupled, with offsets"])
def test_the_diameter_turns_and_moves_with_a_model(name: str) -> None:
    here, there = (mbs.System(build(EVERYTHING[name], pose=pose)[0]).diameter for pose in (HOME, AWAY))
    assert there == pytest.approx(here, rel=1e-12)


def test_the_diameter_is_that_of_nodes_and_joints() -> None:
    """Of places at 1, 3 and 5 m, however nodes are turned."""
    model = mbs.Model()
    a, b = (model.add_node((x, 0, 0), so3.exp(np.array([0.3, x, -0.5]))) for x in (1.0, 5.0))
    for node in (a, b):
        model.add(RigidBody(node, 1.0, (1, 1, 1)))
    model.add(SphericalJoint(a, b, point=(3, 0, 0)))
    assert mbs.System(model).diameter == pytest.approx(4.0, rel=1e-12)


def test_the_diameter_grows_with_a_model() -> None:
    assert np.divide(*(mbs.System(machine(own)).diameter / own.m for own in UNITS)) == 1.0


@pytest.mark.ci
def test_a_node_that_nothing_holds_changes_nothing() -> None:
    """On a rail with friction and a stop, whose steps are cut by the diameter, near the origin and far away."""

    def ends(place: float, *others: tuple[float, ...]) -> Array:
        model = mbs.Model(gravity=(0, 0, -9.81))
        for other in others:
            model.fix(model.add_node(other))
        block = body(model, (place, 0, 0), Units())
        rail = model.add(PrismaticJoint(model.ground, block, (1, 0, 1)))
        model.add(JointFriction(rail, 0.3, preload=5.0))
        model.add(JointStop(rail, -0.05, None, 1e4))
        return mbs.simulate(model, 0.12, 0.01).x[:, -1]

    for place in (0.3, 100.0):
        np.testing.assert_array_equal(ends(place, (40.0, 3.0, -20.0)), ends(place))


def test_a_joint_accelerates_the_reduced_masses_of_both_bodies() -> None:
    """Of 3 and 6 kg, and of 2 and 1 kg m^2 across the axis; along equations of lengths, and along the others."""
    model = mbs.Model()
    one, other = (model.add_node((x, 0, 0)) for x in (0.0, 0.0))
    model.add(RigidBody(one, 3.0, (2.0, 3.0, 4.0)))
    model.add(RigidBody(other, 6.0, (2.0, 1.5, 3.0)))
    model.add(RevoluteJoint(one, other, (0, 0, 1)))
    of_length, others = mbs.System(model).constraint_mass
    np.testing.assert_allclose(np.sort(of_length), [0, 0, 2, 2, 2], rtol=1e-12)
    np.testing.assert_allclose(np.sort(others), [0, 0, 0, 1, 1], rtol=1e-12)


def test_words_of_what_changed_have_no_units() -> None:
    """A drive that jumps by half of the extent."""
    texts = []
    for o in UNITS:
        model = mbs.Model()
        driven, _ = body(model, (0, 0, 0), o), body(model, (1, 0, 0), o)
        jump = partial(lambda t, far: far * (t > 0.5), far=0.5 * o.m)
        model.add(PrismaticJoint(model.ground, driven, (1, 0, 0), drive=jump), name="rail")
        system = mbs.System(model)
        texts.append(what_changed(system, mbs.start(system), 1.0))
    assert texts[0] == texts[1] and "open by 0.5" in texts[0][0]


@pytest.mark.parametrize(("power", "words"), [(1, "rates that they prescribe"), (3, "no motion closes it")])
def test_words_of_joints_that_contradict_each_other_have_no_units(power: int, words: str) -> None:
    """Two rails of a body whose drives are not alike, from the start or soon."""
    texts = []
    for o in (own._replace(s=1.0) for own in UNITS):
        model = mbs.Model()
        driven, _ = body(model, (0, 0, 0), o), body(model, (1, 0, 0), o)
        for k, more in enumerate((1.0, 1.1)):
            drive = partial(lambda t, far: far * t**power, far=more * o.m)
            model.add(PrismaticJoint(model.ground, driven, (1, 0, 0), drive=drive), name=f"rail {k}")
        with pytest.raises(mbs.FemMbsError, match=f"rail.*{words}|{words}.*rail") as refused:
            mbs.simulate(model, 0.5, 0.02)
        # both are off by as much, one in each sense
        texts.append(re.sub(r"-?[\d.]+(e[+-]\d+)?", "0", str(refused.value)))
    assert texts[0] == texts[1]


@pytest.mark.ci
def test_words_of_what_does_not_turn_have_no_units() -> None:
    """A soft spring beside the axis of a stiff shaft."""
    texts = []
    for o in UNITS:
        model = rotor(o)
        aside = body(model, (0.5, 0.01, 0), o)
        model.add(FixedJoint(model.nodes[2], aside))
        model.add(SpringDamper(model.ground, aside, 3.0 * o.N / o.m, point_a=(0.5 * o.m, 0.3 * o.m, 0)))
        with pytest.raises(mbs.ModelError, match="SpringDamper 1' does not act alike all round") as refused:
            mbs.steady_rotation(model, (30.0 / o.s, 0, 0))
        texts.append(str(refused.value))
    assert texts[0] == texts[1]


@pytest.mark.parametrize(("rate", "told"), [(0.0, False), (400.0, True)])
def test_drives_within_steps_have_no_units(rate: float, told: bool, caplog: pytest.LogCaptureFixture) -> None:
    """A crank that turns steadily by a function is not told; one that shakes within steps is, in ms and in hours."""
    for o in (Units(s=1e3), Units(1e3, 1.0, 1e3), Units(s=1.0 / 3600.0)):
        model = mbs.Model()
        crank = body(model, (0, 0, 0), o, spin=(0, 0, 40.0 + 0.01 * rate))
        drive = partial(lambda t, s: 40.0 * t / s + 0.01 * np.sin(rate * t / s), s=o.s)
        model.add(RevoluteJoint(model.ground, crank, (0, 0, 1), drive=drive))
        mbs.simulate(model, 0.3 * o.s, 0.01 * o.s)
        assert any("up and down" in record.getMessage() for record in caplog.records) is told
        caplog.clear()


@pytest.mark.parametrize("system", [Units(1e3, 1.0, 1.0), Units(1e3, 1.0, 1 / 60), Units(1.0, 1.0, 1 / 3600)])
def test_eigenvalues_of_controllers(system: Units) -> None:
    """An arm under a controller has its modes."""

    def arm(o: Units) -> mbs.Model:
        model = mbs.Model(gravity=o.g)
        hinge = model.add(RevoluteJoint(model.ground, body(model, (0.4, 0, 0), o), (0, 1, 0), point=(0, 0, 0)))
        angle, P = model.add(JointSensor(hinge)), 3e4 * o.N * o.m
        held = PID(-angle, P, P / (3 * o.s), 0.05 * P * o.s, filter=0.02 * o.s)
        model.add(JointActuator(hinge, model.add(LowPass(model.add(held), 0.01 * o.s))))
        return model

    def values(o: Units) -> Any:
        return mbs.modes(arm(o), damped=True).eigenvalues * o.s

    np.testing.assert_allclose(values(system), values(Units(1.0, 1.0, 1.0)), rtol=1e-7)


def sprung(o: Units) -> tuple[mbs.Model, mbs.Node, PrismaticJoint]:
    """A slider that falls, with an arm on a soft hinge, and a spring that may bear it."""
    model = mbs.Model(gravity=o.g)
    slider, arm = body(model, (0, 0, 0), o), body(model, (0.4, 0, 0), o)
    rail = model.add(PrismaticJoint(model.ground, slider, (0, 0, 1)))
    hinge = model.add(RevoluteJoint(slider, arm, (0, 1, 0), point=(0, 0, 0)), name="hinge")
    model.add(JointSpring(hinge, 30.0 * o.N * o.m, 0.5 * o.N * o.m * o.s))
    return model, slider, rail


def held(model: mbs.Model, slider: mbs.Node, rail: PrismaticJoint, kind: str, o: Units) -> None:
    """The slider held by what has states, of one kind."""
    place, speed = model.add(JointSensor(rail)), model.add(JointSensor(rail, "coordinate_rate"))
    k, c, T, up = 400.0 * o.N / o.m, 40.0 * o.N / o.m * o.s, o.s, (0, 0, -o.m)
    error, lag, soft = -1.0 * place, 0.02 * o.s, partial(SpringDamper, model.ground, slider, k, c, point_a=up)
    acceleration = NodeSensor(slider, "acceleration", (0, 0, 1))
    makes: dict[str, Callable[[], Any]] = {
        "LowPass": lambda: LowPass(k * error - c * speed, lag),
        "LeadLag": lambda: LeadLag(error, 0.1 * T, 0.01 * T, gain=k),
        "TransferFunction": lambda: TransferFunction(error, [c, k], [1e-4 * T * T, lag, 1.0]),
        "TransferFunction, pole at 0": lambda: TransferFunction(error, [c, k, k / T], [0.01 * T, 1.0, 0.0]),
        "StateSpace": lambda: StateSpace([error, speed], -50.0 / T, [[50.0 * k / T, -50.0 * c / T]], 1.0),
        "Block": lambda: Block([error, speed], lambda t, x, u: [(k * u[0] - c * u[1] - x[0]) / lag], initial=[0.0]),
        "PID": lambda: PID(error, k, 3.0 * k / T, c, filter=0.01 * T),
        "PID with limits": lambda: PID(error, k, 3.0 * k / T, c, filter=0.01 * T, limits=(-60.0 * o.N, 60.0 * o.N)),
        "PID with a rate": lambda: PID(error, k, 3.0 * k / T, c, rate=-1.0 * speed),
        "law": lambda: (soft(), LowPass(lambda t: 30.0 * o.N * np.sin(8.0 * t / T), lag)),
        "acceleration": lambda: (soft(), LowPass(-0.5 * o.kg * model.add(acceleration), lag)),
        "reaction": lambda: (soft(), LowPass(0.5 * model.add(MultiplierSensor(model["hinge"], "translation x")), lag)),
        "Maxwell": lambda: (soft(), Maxwell(model.ground, slider, k, c, point_a=up)),
        "FirstOrderActuator": lambda: FirstOrderActuator(
            model.ground, slider, lambda t, length, v: k * (length - o.m) + c * v, lag, point_a=up
        ),
        "SpeedMotor": lambda: SpeedMotor(rail, 0.0, 2.0 * c, 2.0 * k),
        "PositionMotor": lambda: PositionMotor(rail, 0.0, k, 3.0 * k / T, c),
        "bristles": lambda: (
            soft(), JointFriction(rail, 0.2, preload=20.0 * o.N, bristle=1e-3 * o.m, stribeck=0.01 * o.m / T)
        ),
    }  # fmt: skip
    made = makes[kind]()
    for part in made if isinstance(made, tuple) else (made,):
        model.add(part)
        if isinstance(part, LinearBlock | Block):
            model.add(JointActuator(rail, part))


KINDS = (
    "LowPass", "LeadLag", "TransferFunction", "TransferFunction, pole at 0", "StateSpace", "Block", "PID",
    "PID with limits", "PID with a rate", "law", "acceleration", "reaction", "Maxwell", "FirstOrderActuator",
    "SpeedMotor", "PositionMotor", "bristles",
)  # fmt: skip


@pytest.mark.ci(every_case=True)
@pytest.mark.parametrize("kind", KINDS)
def test_states_have_no_units(kind: str) -> None:
    """Equilibria, steps and iterations where a metre, a kilogram and a second are any numbers."""
    rng, found = np.random.default_rng(KINDS.index(kind)), []
    for o in (Units(), Units(*np.exp(rng.uniform(-9.0, 9.0, 3)).tolist())):
        model, slider, rail = sprung(o)
        held(model, slider, rail, kind, o)
        # at rest loads do not follow the time, and friction is not told
        rest = [] if kind in ("law", "bristles") else mbs.statics(model, ramp=False).x[-1] / o.m
        fixed = mbs.simulate(model, 0.05 * o.s, 0.01 * o.s)
        varied = mbs.simulate(model, 0.1 * o.s, mbs.VariableStep(1e-2, largest=0.01 * o.s))
        counts = np.array([fixed.stats.newton_iterations.sum(), len(varied.t)])
        found.append([rest, fixed.x[-1] / o.m, varied.x[-1] / o.m, counts])
    *results, counts = zip(*found, strict=True)
    np.testing.assert_allclose(*counts, rtol=0.05, atol=1)
    for one, other in results:
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-7)


def test_equilibria_with_large_torques_end() -> None:
    """In the millimetres, milliseconds and grams in which a torque of a kilonewton metre is 1e9."""
    angles = []
    for o in (Units(), Units(1e3, 1e3, 1e3)):
        model = mbs.Model(gravity=o.g)
        arm = body(model, (0.4, 0, 0), o)
        hinge = model.add(RevoluteJoint(model.ground, arm, (0, 1, 0), point=(0, 0, 0)))
        held = model.add(TransferFunction(model.add(JointSensor(hinge)), [-15.0 * o.N * o.m], [0.02 * o.s, 1.0]))
        model.add(JointActuator(hinge, held))
        angles.append(mbs.statics(model).angle(hinge)[-1])
    assert angles[1] == pytest.approx(angles[0], rel=1e-7)
