"""Matrices of steps in contact are derivatives of their equations, and of the forces that obey the laws."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from catalogue import ELEMENTS, GROUPS, build

import fem_mbs as mbs
from fem_mbs.alpha.step import Unknowns
from fem_mbs.arrays import Array
from fem_mbs.contact.complementarity import projected
from fem_mbs.contact.contacts import contacts_of
from fem_mbs.contact.equations import ContactEquations, ContactLinearization, relative_force
from fem_mbs.contact.memory import Standing
from fem_mbs.contact.smooth import in_touch, part_of, smooth_part, touched_by
from fem_mbs.contact.touching import touching_of
from fem_mbs.contact.watch import hits
from fem_mbs.contracts.unilateral import IMPULSES, WORK
from fem_mbs.elements import (
    Ball,
    Beam,
    BeamSection,
    Box,
    Bushing,
    Contact,
    DistanceJoint,
    FirstOrderActuator,
    FixedJoint,
    Force,
    Plane,
    PointOnPlaneJoint,
    RevoluteJoint,
    RigidBody,
    Rope,
    SpringDamper,
    UniversalJoint,
)
from fem_mbs.initial.consistent_start import consistent_start
from fem_mbs.newton import Iterate
from fem_mbs.system.matrices import solve_with_constraints
from fem_mbs.system.system import Sizes

H, SHIFT = 0.02, 1e-6
RIGID = (
    *("rigid stop of a slider", "rigid stop of a hinge", "rope", "pin in a bush", "contacts of three balls"),
    *("contact of a box on a plane", "contact of a beam with a ball", "contact of two beams", "contact of capsules"),
)


def equations_of(
    system: mbs.System, state: mbs.State, memory: Any, touches: Array
) -> tuple[ContactEquations, Unknowns]:
    """Those of a step in which these touch, and its first guess with directions beside."""
    method, touching = mbs.NonsmoothAlpha().smooth_method, touching_of(contacts_of(system), touches)
    stepper, inner = in_touch(method, touching), touching.inner(state)
    if memory is None:
        memory = method.init(contacts_of(system).open, contacts_of(system).without(state), H)
    equations = stepper.equations(touching.system, inner, H, memory)
    assert isinstance(equations, ContactEquations)
    return equations, equations.predict(equations.formulas.guess, inner.multipliers)


def derivatives_hold(equations: ContactEquations, unknown: Unknowns) -> ContactLinearization:
    """Of equations, gaps and slips against increments, multipliers and forces."""
    system, rng = equations.system, np.random.default_rng(1)
    lin = equations.linearize(unknown, equations.evaluate(unknown))
    d = system.spread(rng.normal(size=system.n_free))
    d[6 * system.n :] = 0.0
    push, P = rng.normal(size=system.m), rng.normal(size=3 * equations.touching.k)
    way = system.from_body(lin.R, system.with_own(np.matvec(lin.T_inv, system.nodes_of(d)), d))

    def at(share: float) -> Any:
        multipliers = unknown.multipliers + share * np.append(push, P)
        return equations.evaluate(unknown._replace(D=unknown.D + share * way, multipliers=multipliers))

    before, after = at(-SHIFT), at(SHIFT)
    change = lambda one, other: (one - other) / (2.0 * SHIFT)  # noqa: E731
    force = H**2 * change(after.evaluation.force, before.evaluation.force)
    found, pushed = solve_with_constraints(system, lin.free, force, change(after.closing, before.closing))
    np.testing.assert_allclose(found + lin.moves @ P, d, rtol=0, atol=1e-7 * np.abs(d).max())
    size = np.abs(pushed).max(initial=1.0)
    np.testing.assert_allclose(pushed + lin.reacts @ P, H**2 * push, rtol=0, atol=1e-6 * size)
    for matrix, rates in (
        (lin.E, change(after.rates, before.rates)),
        (lin.opening, change(after.opening, before.opening)),
    ):
        np.testing.assert_allclose(matrix @ d, rates.ravel(), rtol=0, atol=1e-7 * np.abs(rates).max())
    return lin


@pytest.mark.parametrize(("group", "sparse"), [*((group, False) for group in GROUPS), ("mixed", True)])
@pytest.mark.parametrize("name", RIGID)
def test_derivatives_of_a_step_in_contact(name: str, group: str, sparse: bool, request: pytest.FixtureRequest) -> None:
    """Of every kind of contact, wherever it is, pressed by any forces; of many their stiffness is left out."""
    if sparse:
        request.getfixturevalue("many")
    model, _ = build(ELEMENTS[name], group=group)
    rng = np.random.default_rng(2)
    for node in model.nodes[1:]:
        model.add(RigidBody(node, 2.0, (1.0, 1.2, 1.4), (0.05, 0.02, -0.03)))
        model.add(Bushing(model.ground, node, (60.0,) * 6, 0.5, point=node.position))
        node.velocity, node.angular_velocity = rng.normal(size=(2, 3))
    mbs.project_velocities(model)
    system = mbs.System(model)
    equations, unknown = equations_of(system, mbs.start(system), None, np.ones(contacts_of(system).count, bool))
    joints, P = np.split(unknown.multipliers, [equations.system.m])
    derivatives_hold(
        equations, unknown._replace(multipliers=np.append(joints, (0.0 if sparse else 5.0) * rng.normal(size=P.shape)))
    )


@pytest.mark.parametrize("actuated", [True, False])
def test_numbers_that_are_lost_are_no_solution(actuated: bool) -> None:
    """Wherever a nan stands in forces, gaps, slips or what pushes: one is not the larger of it and another number."""
    model = mbs.Model()
    body, other = model.add_node((0, 0, 0.1)), model.add_node((1, 0, 0.1))
    for node in (body, other):
        model.add(RigidBody(node, 1.0, (0.01,) * 3))
        model.add(Contact(model.ground, node, Plane(), Ball(0.1), friction=0.3))
    model.add(RevoluteJoint(body, other, (0, 1, 0)))
    if actuated:
        model.add(FirstOrderActuator(model.ground, other, lambda *_: 1.0, 0.1))
    system = mbs.System(model)
    equations, unknown = equations_of(system, mbs.start(system), None, np.ones(2, bool))
    residual = equations.evaluate(unknown._replace(multipliers=np.ones_like(unknown.multipliers)))
    assert sum(equations.size(residual)) < np.inf
    for name in ("P", "rates", "opening", "closing", "hidden"):
        for k in np.ndindex(getattr(residual, name).shape):
            lost = getattr(residual, name).copy()
            lost[k] = np.nan
            assert not sum(equations.size(residual._replace(**{name: lost}))) < np.inf, (name, k)
    for k in np.flatnonzero(equations.system.equation >= 0):
        force = residual.evaluation.force.copy()
        force[k] = np.nan
        assert not relative_force(equations.system, residual.evaluation, force) < np.inf, k
        numbers = equations.system, residual.evaluation.motion.udot, force
        assert not Sizes(numbers[0]).of(np.ones(len(numbers[0].force_slots)), *numbers[1:])[2] < np.inf, k


@pytest.mark.parametrize("group", GROUPS[:2])
def test_forces_follow_their_laws(group: str) -> None:
    """What slides, sticks and rolls on a floor: the factors of a step solve its equations with the laws."""
    model = mbs.Model(group, gravity=(0.5, 0, -9.81))
    one = model.add_node((0, 0, 0.1), velocity=(0.6, 0.2, 0), angular_velocity=(0, 0, 0.3))
    other = model.add_node((0.5, 0.1, 0.1), velocity=(0.6, 0.35, 0), angular_velocity=(0, 0, 0.3))
    third = model.add_node((0, 1.0, 0.1))
    for node, mass in ((one, 1.0), (other, 0.5), (third, 0.7)):
        model.add(RigidBody(node, mass, (0.02, 0.03, 0.04), (0.02, 0.01, -0.02)))
    model.add(RevoluteJoint(one, other, (0, 1, 0), point=(0.3, 0, 0.1)))
    for node, shape, friction in ((one, Box((0.4, 0.4, 0.2)), 0.3), (other, Ball(0.1), 0.2), (third, Ball(0.1), 0.6)):
        model.add(Contact(model.ground, node, Plane(), shape, friction=friction))
    mbs.project_velocities(model)
    system, method = mbs.System(model), mbs.NonsmoothAlpha(newton=mbs.Newton(1e-12, 1e-14))
    state = method.settle(system, mbs.start(system, method))
    memory = method.init(system, state, H)
    for _ in range(3):
        last, (state, memory, *_) = (state, memory), method.step(system, state, H, memory)
    equations, unknown = equations_of(system, last[0], last[1].alpha, last[1].touches)
    inner = equations.touching.inner(state)
    D = equations.system.kinematics.relative(last[0].x, last[0].R, state.x, state.R).ravel()
    rate = (state.v.ravel() - equations.formulas.constants[0]) / equations.formulas.factors[0]
    unknown = unknown._replace(D=D, Z=D - rate, multipliers=inner.multipliers)
    lin = derivatives_hold(equations, unknown)
    residual = equations.evaluate(unknown)
    right = np.random.default_rng(3).normal(size=equations.system.size)
    d, reactions = np.split(lin.factors.solve(right), [equations.system.n_free])
    free = lin.free.solve(right)
    d, P = equations.system.spread(d), lin.along(equations.system.spread(free[: equations.system.n_free]))
    np.testing.assert_allclose(d + lin.moves @ P, equations.system.spread(free[: -len(reactions)]), rtol=0, atol=1e-9)
    shift = 1e-7 / np.abs(P).max()
    ends = [
        projected(
            residual.P + s * P.reshape(-1, 3),
            residual.rates - s * (lin.E @ d).reshape(-1, 3),
            lin.laws.mu,
            lin.laws.r,
        )
        for s in (-shift, shift)
    ]
    pushes = residual.P[:, 0] > 0.0
    assert pushes.sum() >= 3
    np.testing.assert_allclose(
        P.reshape(-1, 3)[pushes], ((ends[1] - ends[0]) / (2 * shift))[pushes], rtol=0, atol=1e-5 * np.abs(P).max()
    )


def leg(group: str, joined: bool, against: str) -> mbs.Model:
    """Two bodies on a hinge and a universal joint, pushed on a plane and out of a rope, or on joints in their place."""
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    arm, foot, end = (model.add_node(place) for place in ((0.4, 0.1, 0.3), (0.9, 0.3, 0.2), (1.9, 0.3, 0.2)))
    normal, pull = np.array([0.6, 0.0, 0.8]), np.array([0.6, 0.8, 0.0])
    for node, mass in ((arm, 1.5), (foot, 0.8), (end, 0.3)):
        model.add(RigidBody(node, mass, (0.02, 0.03, 0.04), (0.02, 0.05, -0.01)))
    model.add(RevoluteJoint(model.ground, arm, (0, 0.2, 1), point=(0, 0, 0.3)))
    model.add(UniversalJoint(arm, foot, (0, 1, 0), (0, 0, 1), point=(0.6, 0.2, 0.25)))
    if against == "damping":
        model.add(Bushing(foot, end, 3 * [50.0] + 3 * [1.0], 0.3))
    if against == "stiffness":
        model.add(Beam([foot, end], BeamSection(EA=1e6, GA=1e6, GJ=1e4, EI=1e4, mass=0.1, inertia=3 * [1e-4])))
        model.add(FixedJoint(model.ground, end))
    model.add(Force(foot, -6e3 * normal - 8e3 * pull))
    start = foot.position + 0.7 * pull
    if joined:
        model.add(PointOnPlaneJoint(model.ground, foot, normal))
        model.add(DistanceJoint(model.ground, foot, point_a=start))
    else:
        model.add(Contact(model.ground, foot, Plane(normal, foot.position - 0.1 * normal), Ball(0.1)))
        model.add(Rope(model.ground, foot, 0.7, point_a=start))
    arm.angular_velocity = (0, 0.06, 0.3)
    mbs.project_velocities(model)
    return model


@pytest.mark.parametrize("against", ["inertia", "damping", "stiffness"])
@pytest.mark.parametrize("group", GROUPS[:2])
def test_what_pushes_without_friction_is_corrected_as_a_joint(group: str, against: str) -> None:
    """Increments, forces and ``Z`` of the first two corrections of a step, whatever resists ``Z``."""
    found: list[tuple[Any, ...]] = []
    joined, free = (leg(group, joined, against) for joined in (True, False))
    for node, own in zip(free.nodes, joined.nodes, strict=True):
        node.velocity, node.angular_velocity = own.velocity, own.angular_velocity
    for model in (joined, free):
        system, method = mbs.System(model), mbs.NonsmoothAlpha()
        state = method.settle(system, mbs.start(system, method))
        memory = method.init(system, state, H)
        if model is free:
            equations, unknown = equations_of(system, state, memory.alpha, memory.touches)
        else:
            equations = method.smooth_method.equations(system, state, H, memory.alpha)
            unknown = equations.predict(equations.formulas.guess, state.multipliers)
        for _ in range(2):
            residual = equations.evaluate(unknown)
            linearization = equations.linearize(unknown, residual)
            own = equations.correction(unknown, residual, linearization)
            pushed = own.multipliers.copy()
            if model is free:  # the forces of the plane and the rope, without those across
                pushed = np.delete(pushed, (-5, -4, -2, -1))
            pushed[-2:] = np.abs(pushed[-2:])
            found.append((own.d, pushed, own.Z))
            unknown = equations.corrected(Iterate(unknown, residual, linearization), own, 1.0)
    for one, other in zip(found[:2], found[2:], strict=True):
        for what, mine, first in zip(one, other, found[0], strict=True):
            np.testing.assert_allclose(mine, what, rtol=0, atol=1e-8 * np.abs(first).max())


def heap() -> mbs.Solution:
    """A box with a ball on it slides, another two balls on a hinge fall."""
    model = mbs.Model(gravity=(0.3, 0, -9.81))
    places = (0, 0, 0.1), (0.05, 0.01, 0.3), (1, 0, 0.11), (1.3, 0, 0.1)
    nodes = [model.add_node(p, velocity=(0.4, 0, 0)) for p in places]
    shapes = [Box((0.3, 0.3, 0.2)), Ball(0.1), Ball(0.1), Ball(0.1)]
    for node, shape in zip(nodes, shapes, strict=True):
        model.add(RigidBody(node, 1.0, (0.01, 0.012, 0.014)))
        model.add(Contact(model.ground, node, Plane(), shape, friction=0.3, restitution=0.2))
    model.add(RevoluteJoint(*nodes[2:], (0, 1, 0), point=(1.15, 0, 0.115)))
    model.add(Contact(*nodes[:2], *shapes[:2], friction=0.2))
    return mbs.simulate(model, 0.06, 0.01, mbs.NonsmoothAlpha())


@pytest.mark.parametrize("mu", [0.1, 0.3, 0.6])
def test_what_a_step_resolves_of_a_jump_is_not_for_rounding_to_decide(mu: float) -> None:
    """Friction is all that a cone allows, but for rounding, where what slides begins anew, and holds nothing."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    node = model.add_node((0, 0, 0.1))
    model.add(RigidBody(node, 1.0, (0.01,) * 3))
    model.add(SpringDamper(model.ground, node, stiffness=1e6, point_a=(-1, 0, 0.1)))
    model.add(Contact(model.ground, node, Plane(), Ball(0.1), friction=mu))
    system = mbs.System(model)
    touching = touching_of(contacts_of(system), np.array([True]))
    method = in_touch(mbs.NonsmoothAlpha().smooth_method, touching)
    found = []
    for off in (-1e-15, 0.0, 1e-15):
        multipliers = np.array([9.81, mu * 9.81 * (1.0 + off), 0.0])
        inner = replace(touching.inner(mbs.start(system)), multipliers=multipliers)
        found.append(method.resolved(touching.system, inner, H, np.eye(12)[6]))
    assert abs(found[0][6]) < 0.1
    np.testing.assert_allclose(found, [found[0]] * 3, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_many_contacts_move_as_few_do(request: pytest.FixtureRequest) -> None:
    """Impacts, forces that are not unique, and places that are pushed out, by sparse matrices."""
    few = heap()
    request.getfixturevalue("many")
    for name in ("x", "R", "v"):
        np.testing.assert_allclose(getattr(heap(), name), getattr(few, name), rtol=0, atol=1e-6)


def falls(height: float, speed: float, friction: float = 0.0) -> tuple[mbs.System, mbs.State]:
    """A ball of 2 kg above a floor, or sliding on it."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    ball = model.add_node((0, 0, 0.1 + height), velocity=(0.3, 0, -speed))
    model.add(RigidBody(ball, 2.0, [0.008] * 3))
    model.add(Contact(model.ground, ball, Plane(), Ball(0.1), friction=friction))
    system = mbs.System(model)
    return system, mbs.NonsmoothAlpha().settle(system, consistent_start(system))


@pytest.mark.parametrize("rho_inf", [0.0, 0.8])
def test_a_part_that_closes_what_it_hits_tells_of_the_impulse(rho_inf: float) -> None:
    """``m (v + g h)`` of a ball that ends at rest, and of energy what that takes: whatever the method damps."""
    (system, state), method, h = falls(0.005, 1.0), mbs.NonsmoothAlpha(rho_inf), 0.01
    contacts, begin = contacts_of(system), Standing(state, method.init(system, state, h))
    smooth = smooth_part(contacts, method.smooth_method, begin, h)
    closed = method._closed(contacts, begin, smooth, hits(contacts, begin, smooth))
    assert closed is not None
    np.testing.assert_allclose(closed.point.state.v[-1, 2], 0.0, rtol=0, atol=1e-14)
    values, impulse = contacts.carried(closed.point.state)[1][0], 2.0 * (1.0 + 9.81 * h)
    np.testing.assert_allclose(values[IMPULSES], [impulse, 0.0, 0.0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(values[WORK], 0.25 * impulse**2, rtol=1e-12)


@pytest.mark.parametrize("h", [1e-3, 1e-5, 1e-7])
def test_gaps_of_errors_are_no_speeds_however_short_the_step(h: float) -> None:
    """Errors that begin off a floor on which a ball slides end on it, and have no blow of its friction."""
    (system, state), method = falls(0.0, 0.0, 0.3), mbs.NonsmoothAlpha()
    contacts = contacts_of(system)
    memory = method.carrying(system, state, method.init(system, state, 1e-3))
    assert memory.alpha.errors is not None
    values = memory.alpha.errors.values.copy()
    values[0, -5:-3] = 1e-6
    memory = memory._replace(alpha=memory.alpha._replace(errors=memory.alpha.errors._replace(values=values)))
    after = part_of(contacts, method.smooth_method, Standing(state, memory), h).point.memory.alpha.errors
    assert after is not None
    np.testing.assert_allclose(after.values[0, -6:-3], [0.0, 1e-6, 0.0], rtol=0, atol=1e-10)
    np.testing.assert_allclose(after.values[1, -6:-3], 0.0, rtol=0, atol=1e-7)


def test_a_part_of_other_contacts_tells_nothing_of_where_to_begin() -> None:
    """One that began with one of two balls that rest is made anew with both, and then a shorter one is asked for."""
    model, method, h = mbs.Model(gravity=(0, 0, -9.81)), mbs.NonsmoothAlpha(), 0.01
    for x in (0.0, 1.0):
        ball = model.add_node((x, 0, 0.1), velocity=(0.3, 0, 0))
        model.add(RigidBody(ball, 1.0, [0.004] * 3))
        model.add(Contact(model.ground, ball, Plane(), Ball(0.1), friction=0.3))
    system = mbs.System(model)
    contacts, state = contacts_of(system), method.settle(system, consistent_start(system))
    step = method.step(system, state, h, method.init(system, state, h))
    point = Standing(step.state, touched_by(step.memory, np.array([True, False])))
    near = part_of(contacts, method.smooth_method, point, h)
    assert near.point.memory.touches.all()
    shorter, alone = (part_of(contacts, method.smooth_method, point, 0.5 * h, own) for own in (near, None))
    np.testing.assert_array_equal(shorter.point.state.v, alone.point.state.v)
