"""How a path is followed: steps, stops, directions, limits, branches and continuation."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import fem_mbs as mbs
from examples.statics import LIMITS
from fem_mbs.benchmarks.beams import bend, following, frame, helix, lee
from fem_mbs.elements import (
    Beam,
    BeamSection,
    DistributedLoad,
    Force,
    FrictionSpring,
    JointForce,
    JointSpring,
    JointStop,
    Moment,
    Pressure,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    Shell,
    ShellSection,
    SmoothStep,
    SpringDamper,
    Truss,
)

SECTION = BeamSection(EA=1e4, GA=1e4, GJ=1, EI=1, mass=1, inertia=(1, 1, 1))


def cantilever(*loads: object, elements: int = 8) -> tuple[mbs.Model, mbs.Node]:
    """Clamped at the origin, along x, length 1; each load is the value of a force on the tip."""
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), SECTION, elements)
    model.fix(beam.nodes[0])
    for load in loads:
        model.add(Force(beam.nodes[-1], load))
    return model, beam.nodes[-1]


def test_steps_grow_where_they_succeed() -> None:
    model, _ = bend(8)
    solution = mbs.statics(model)
    steps = solution.stats.step_sizes
    assert steps[0] == pytest.approx(0.1)
    assert steps.sum() == pytest.approx(1)
    assert (np.diff(steps)[:-1] > 0).all() and len(steps) <= 6
    assert solution.stats.newton_iterations.sum() <= 18


@pytest.mark.ci
def test_steps_are_cut_where_they_fail() -> None:
    """Equal steps go on from where the cut ones met them."""
    model, _ = helix(40)
    solution = mbs.statics(model, load_end=0.2, step=0.1)
    assert solution.stats.failed_steps > 0
    assert {0.0, 0.1, 0.2} <= set(solution.t)
    finer = mbs.statics(model, load_end=0.2, step=0.02)
    np.testing.assert_allclose(solution.x[-1], finer.x[-1], rtol=0, atol=1e-6)


def test_no_node_turns_by_more_than_half_a_turn_in_a_step() -> None:
    """So that states in between, and the turns of a joint, are unique."""
    model, tip = cantilever()
    model.add(Moment(tip, (0, 0, 20)))
    solution = mbs.statics(model, step=1)
    turned = np.diff(np.unwrap(solution.rotation_vector(tip)[:, 2]))
    assert turned.sum() == pytest.approx(20) and np.abs(turned).max() < np.pi


def test_equal_steps() -> None:
    model, tip = cantilever((0, 3, 0))
    solution = mbs.statics(model, step=0.3)
    np.testing.assert_allclose(solution.t, [0, 0.3, 0.6, 0.9, 1], atol=1e-14)
    assert mbs.statics(model, step=0.3, loads=[0.6, 0.9]).t.tolist() == [0.6, 0.9]  # 3 times 0.3 is not 0.9
    np.testing.assert_allclose(solution.position(tip)[-1], mbs.statics(model).position(tip)[-1], atol=1e-9)


@pytest.mark.parametrize("unit", [1.0, 1e-7])
def test_states_at_the_loads_asked_for_are_equilibria(unit: float) -> None:
    """Of loads in any unit."""
    loads = [0.0, 0.37 * unit, 0.2 * unit, unit]
    model, tip = cantilever((0, 3 / unit, 0))
    solution = mbs.statics(model, unit, loads=loads)
    np.testing.assert_array_equal(solution.t, sorted(loads))
    for load, position in zip(solution.t[1:], solution.position(tip)[1:], strict=True):
        alone = mbs.statics(cantilever((0, 3 / unit * load, 0))[0])
        np.testing.assert_allclose(position, alone.x[-1, alone.system.number(alone.system.nodes[-1])], atol=1e-9)


@pytest.mark.ci
def test_arc_length_passes_the_loads_asked_for_on_every_branch() -> None:
    """The upper limit of Lee's frame is 18.55: 15 is passed on the way up, down and up again."""
    model, _ = lee((5, 1, 4))
    solution = mbs.statics(model, load_end=19.5, loads=[15.0, 5.0, -5.0], arc_length=True)
    np.testing.assert_array_equal(solution.t, [5, 15, 15, 5, -5, -5, 5, 15])
    assert len({x.tobytes() for x in solution.x}) == 8


@pytest.mark.slow
def test_arc_length_and_load_lead_to_the_same_equilibrium() -> None:
    for case, load_end in ((bend, 1.0), (following, 50.0), (lambda: helix(40), 0.2)):
        one, two = (mbs.statics(case()[0], load_end, arc_length=arc) for arc in (False, True))
        np.testing.assert_allclose(one.x[-1], two.x[-1], rtol=0, atol=1e-6 * one.system.length)


@pytest.mark.slow
def test_arc_length_goes_through_limits_of_load_and_displacement() -> None:
    """The load rises to its first limit, falls below zero to the second, and rises; the displacement turns twice."""
    model, beams = lee((10, 2, 8))
    solution = mbs.statics(model, load_end=20, arc_length=True, step=0.05)
    down = -solution.displacement(beams[1].nodes[-1])[:, 1]
    for curve, turns in ((solution.t, (LIMITS[0][0], LIMITS[1][0])), (down, (61.0110, 50.7395))):
        where = np.flatnonzero(np.diff(np.sign(np.diff(curve)))) + 1
        np.testing.assert_allclose(curve[where], turns, rtol=0.05)  # of ten elements and this step
    assert (solution.unstable[[0, -1]] == 0).all() and solution.unstable.max() == 1


def test_path_ends_where_it_reaches_its_load_for_the_first_time() -> None:
    model, _ = lee((5, 1, 4))
    solution = mbs.statics(model, load_end=18, arc_length=True)
    assert solution.t[-1] == 18 and (np.diff(solution.t) > 0).all()


def test_load_may_act_the_other_way() -> None:
    (model, tip), (turned, same) = cantilever((0, 3, 0)), cantilever((0, -3, 0))
    one, two = mbs.statics(model, load_end=-1), mbs.statics(turned)
    np.testing.assert_allclose(one.position(tip), two.position(same), atol=1e-9)
    np.testing.assert_allclose(one.t, -two.t)


def test_path_goes_on_from_a_state() -> None:
    model, tip = cantilever((0, 3, 0))
    half = mbs.statics(model, load_end=0.5)
    rest = mbs.statics(model, initial=half.state(-1))
    assert rest.t[0] == 0.5
    np.testing.assert_allclose(rest.position(tip)[0], half.position(tip)[-1], atol=1e-12)
    np.testing.assert_allclose(rest.position(tip)[-1], mbs.statics(model).position(tip)[-1], atol=1e-9)
    back = mbs.statics(model, load_end=0, initial=rest.state(-1))
    np.testing.assert_allclose(back.x[-1], back.system.x0, atol=1e-9)
    across = mbs.statics(model, load_end=-1, initial=rest.state(-1))
    np.testing.assert_allclose(across.position(tip)[-1], rest.position(tip)[-1] * (1, -1, 1), atol=1e-9)


def test_functions_of_time_are_taken_as_they_are() -> None:
    (model, tip), (other, same) = cantilever((0, 3, 0)), cantilever(lambda t: (0, 3 * t, 0))
    one, two = mbs.statics(model, step=0.25), mbs.statics(other, step=0.25)
    np.testing.assert_allclose(one.position(tip), two.position(same), atol=1e-10)
    other, same = cantilever(lambda t: (0, 3 * t**3, 0))
    cubic = mbs.statics(other, loads=[0.5, 1])
    np.testing.assert_allclose(cubic.position(same)[1], one.position(tip)[-1], atol=1e-9)
    np.testing.assert_allclose(cubic.position(same)[0], mbs.statics(model, 0.125).position(tip)[-1], atol=1e-9)


LOADS = {
    "force": lambda beam, value, frame: Force(
        beam.nodes[-1], value, frame=frame, point=beam.nodes[-1].at((0, 0.1, 0.2))
    ),
    "moment": lambda beam, value, frame: Moment(beam.nodes[-1], value, frame=frame),
    "distributed": lambda beam, value, frame: DistributedLoad(beam, value, frame=frame),
}


@pytest.mark.parametrize("frame", ["world", "body"])
@pytest.mark.parametrize("name", LOADS)
def test_constant_loads_grow_with_the_load_factor(name: str, frame: str) -> None:
    """As the function of time that is the load factor times the constant, whatever else acts."""
    tips = []
    for value in ((0.5, 1.0, -2.0), lambda t: (0.5 * t, 1.0 * t, -2.0 * t)):
        model = mbs.Model()
        beam = Beam.line(model, (0, 0, 0), (1, 0, 0), SECTION, 6)
        model.fix(beam.nodes[0])
        model.add(LOADS[name](beam, value, frame))
        model.add(Force(beam.nodes[3], lambda t: (0, t**2, 0)))
        tips.append(mbs.statics(model, loads=[0.4, 1.0]).position(beam.nodes[-1]))
    np.testing.assert_allclose(tips[0], tips[1], rtol=0, atol=1e-9)
    assert np.abs(tips[0][1] - tips[0][0]).max() > 0.05


def test_constant_loads_act_in_full_without_ramp() -> None:
    """Gravity at once, then a force that grows: the end is that of both together."""
    (model, tip), (both, same) = cantilever(lambda t: (0, 2 * t, 0)), cantilever((0, 2, 0))
    for one in (model, both):
        one.gravity = (0, 0, -4)
    solution = mbs.statics(model, ramp=False)
    np.testing.assert_allclose(solution.position(tip)[-1], mbs.statics(both).position(same)[-1], atol=1e-8)
    weight, _ = cantilever()
    weight.gravity = (0, 0, -4)
    np.testing.assert_allclose(solution.x[0], mbs.statics(weight).x[-1], atol=1e-8)


def test_callback_sees_every_step_and_may_end_the_run() -> None:
    model, _ = lee((5, 1, 4))
    seen: list[mbs.State] = []

    def falls(state: mbs.State) -> bool:
        seen.append(state)
        return len(seen) > 1 and state.t < seen[-2].t

    solution = mbs.statics(model, load_end=20, arc_length=True, callback=falls)
    assert solution.success and solution.message == "The callback ended the run."
    np.testing.assert_array_equal(solution.t[1:], [state.t for state in seen])
    assert solution.t[-1] < solution.t[-2]


@pytest.mark.one
@pytest.mark.parametrize("arc_length", [False, True])
@pytest.mark.parametrize("imperfection", [1e-3, 1e-5, 1e-7])
def test_branch_of_a_small_imperfection_is_not_missed(imperfection: float, arc_length: bool) -> None:
    """The frame tips over at 1.09; the unstable path straight on is only the imperfection away from the stable one."""
    model, arm = frame(imperfection)
    solution = mbs.statics(model, load_end=1.3, arc_length=arc_length)
    assert solution.unstable[-1] == 0
    assert solution.displacement(arm.nodes[-1])[-1, 1] == pytest.approx(0.055, rel=0.02)


def test_path_without_imperfection_goes_straight_on_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    model, arm = frame(0.0)
    with caplog.at_level(logging.WARNING, logger="fem_mbs"):
        solution = mbs.statics(model, load_end=1.3)
    assert np.abs(solution.displacement(arm.nodes[-1])[:, 1]).max() < 1e-12
    first = solution.t[np.flatnonzero(solution.unstable)[0]]
    critical = mbs.buckling(model).factors[0]
    assert critical < first < critical + 0.02
    assert f"the equilibria from load factor {first:g} on are unstable" in caplog.text


def test_driven_hinge_turns_a_beam_through_its_load() -> None:
    """Half a turn in the plane of a dead force: the beam ends mirrored, and the drive takes the moment of the force."""
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), SECTION, 8)
    hinge = model.add(RevoluteJoint(model.ground, beam.nodes[0], (0, 0, 1), drive=lambda t: np.pi * t))
    model.add(Force(beam.nodes[-1], lambda t: (0, -2, 0)))
    solution = mbs.statics(model)
    tip = solution.position(beam.nodes[-1])
    np.testing.assert_allclose(tip[-1], tip[0] * (-1, 1, 1), atol=1e-9)
    np.testing.assert_allclose(solution.angle(hinge)[[0, -1]], [0, np.pi], atol=1e-9)
    force, moment = solution.reaction(hinge)
    np.testing.assert_allclose(force, np.tile([0, 2, 0], (len(force), 1)), atol=1e-7)
    np.testing.assert_allclose(moment[:, 2], 2 * tip[:, 0], atol=1e-7)


def sliding(force: float, *springs: float, law: Callable[[float, float, float], float] | None = None) -> mbs.Model:
    """A body on a slide that a force pulls along, held by a spring that slips at 10 N, or by a law."""
    model = mbs.Model()
    node = model.add_node((0, 0, 0))
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    slide = model.add(PrismaticJoint(model.ground, node, (1, 0, 0)), name="slide")
    if law is None:
        model.add(FrictionSpring(model.ground, node, 200.0, 10.0, free_length=1.0, point_a=(-1, 0, 0)))
    else:
        model.add(JointForce(slide, law))
    for stiffness in springs:
        model.add(JointSpring(slide, stiffness))
    model.add(Force(node, (force, 0, 0)))
    return model


@pytest.mark.parametrize("arc_length", [False, True])
@pytest.mark.parametrize("beyond", [2.0, 20.0, 100.0])
def test_a_path_goes_on_past_a_kink(beyond: float, arc_length: bool) -> None:
    """A spring that slips, and a law that yields: the model is softer from there on, with one equilibrium."""

    def hinge(t: float, q: float, rate: float) -> float:
        return -(230.0 * q if abs(q) < 0.05 else np.sign(q) * (11.5 + beyond * (abs(q) - 0.05)))

    slipped = mbs.statics(sliding(20.0, beyond), arc_length=arc_length)
    yielded = mbs.statics(sliding(20.0, law=hinge), arc_length=arc_length)
    assert slipped.coordinate("slide")[-1] == pytest.approx(10.0 / beyond, rel=1e-7)
    assert yielded.coordinate("slide")[-1] == pytest.approx(0.05 + 8.5 / beyond, rel=1e-7)
    assert slipped.stats.failed_steps == yielded.stats.failed_steps == 0


def test_what_bends_is_named_where_no_equilibrium_is() -> None:
    with pytest.raises(mbs.ConvergenceError, match="Laws pass kinks there: FrictionSpring 'FrictionSpring 1'"):
        mbs.statics(sliding(20.0))


@pytest.mark.one
@pytest.mark.parametrize("arc_length", [True, False])
def test_a_path_does_not_depend_on_the_unit_of_loads(arc_length: bool) -> None:
    """A strip that is pushed along and aside: to the bit."""
    paths = []
    for unit in (1.0, 2.0**20, 2.0**-30):
        model, tip = cantilever((-4.0 / unit, 0.1 / unit, 0.03 / unit), elements=2)
        model.add(Moment(tip, lambda t, unit=unit: (0.0, 0.05 * (t / unit) ** 2, 0.0)))
        path = mbs.statics(model, load_end=unit, arc_length=arc_length)
        paths.append((path.t / unit, path.x, path.R, path.unstable, path.stats.newton_iterations))
    for other in paths[1:]:
        for one, same in zip(paths[0], other, strict=True):
            np.testing.assert_array_equal(same, one)


@pytest.mark.parametrize(
    "drive", [lambda t: 6.0 * t**2, SmoothStep(6.0, duration=1.0), lambda t: 3 * (1 - np.cos(np.pi * t))]
)
def test_drives_that_begin_slowly_have_no_steps_cut(drive: Any) -> None:
    """A crank with a coupler on a spring: its tangent is zero at the start, as that of the drive."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    crank, coupler = model.add_node((0, 0, 0.1)), model.add_node((0.3, 0, 0.2))
    for node in (crank, coupler):
        model.add(RigidBody(node, 1.0, (0.01, 0.01, 0.01)))
    hinge = model.add(RevoluteJoint(model.ground, crank, (0, 1, 0), drive=drive, point=(0, 0, 0)))
    model.add(JointSpring(model.add(RevoluteJoint(crank, coupler, (0, 1, 0), point=(0, 0, 0.2))), 20.0))
    solution = mbs.statics(model)
    assert solution.stats.failed_steps <= 1 and len(solution.t) < 12
    np.testing.assert_allclose(solution.angle(hinge), [drive(float(t)) for t in solution.t], atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("h", [1e-5, 1e-3])
def test_membranes_leave_the_flat_state(h: float) -> None:
    """A plate that hardly resists bending, clamped, under a pressure that grows, against the same applied at once."""
    found = []
    for ramp in (True, False):
        model = mbs.Model()
        section = ShellSection.isotropic(h, E=210e9, nu=0.3, rho=7850.0)
        plate = Shell.rectangle(model, (0, 0, 0), (1, 0, 0), (0, 1, 0), section, elements=(4, 4))
        for side in ("left", "right", "bottom", "top"):
            model.fix(plate.edge(side))
        model.add(Pressure(plate, 1e3))
        solution = mbs.statics(model, ramp=ramp)
        found.append(solution.displacement(plate.node(2, 2))[-1, 2])
        assert solution.unstable[-1] == 0 and solution.stats.failed_steps < 6
    assert found[0] == pytest.approx(found[1], rel=1e-6) and abs(found[0]) > h


def truss(push: float) -> mbs.Model:
    """Two springs from (-1, 0) and (1, 0) to a body 0.3 above, pressed down by so many times the load of its limit."""
    rise, k = 0.3, 1e4
    lengths = np.hypot(1.0, np.linspace(0, rise, 10001))
    limit = (2 * k * (np.hypot(1.0, rise) / lengths - 1.0) * np.linspace(0, rise, 10001)).max()
    model = mbs.Model()
    body = model.add_node((0, 0, rise))
    model.add(RigidBody(body, 1.0, (0.1, 0.1, 0.1)))
    model.add(PrismaticJoint(model.ground, body, (0, 0, 1)))
    for x in (-1.0, 1.0):
        model.add(SpringDamper(model.ground, body, k, point_a=(x, 0, 0)))
    model.add(Force(body, (0, 0, -push * limit)))
    return model


@pytest.mark.ci
@pytest.mark.parametrize("push", [50.0, 1.5, 6.0])
def test_no_step_leaps_over_a_limit(push: float, caplog: pytest.LogCaptureFixture) -> None:
    """Of chosen lengths, however near the limit is; equal ones do, and are told."""
    with pytest.raises(mbs.ConvergenceError, match="the model gives way") as refused:
        mbs.statics(truss(push))
    assert refused.value.solution.t[-1] == pytest.approx(1.0 / push, rel=1e-3)
    assert not caplog.records
    solution = mbs.statics(truss(push), step=0.125)
    told = [record.getMessage() for record in caplog.records]
    assert solution.x[-1, 1, 2] < 0 and len(told) == 1 and "leaps to another equilibrium" in told[0]


@pytest.mark.parametrize("step", [0.05, pytest.param(None, marks=pytest.mark.slow)])
def test_no_step_leaps_over_a_limit_to_a_stop(step: float | None, caplog: pytest.LogCaptureFixture) -> None:
    """It is stiff there, and no way back is found: chosen steps do not, and equal ones are told."""
    model = truss(20.0)
    model.add(JointStop(model.constraints[0], lower=-0.2, upper=None, stiffness=5e4))
    with pytest.raises(mbs.ConvergenceError, match="the model gives way") if step is None else nullcontext():
        mbs.statics(model, load_end=0.1, step=step)
    assert ["leaps to another equilibrium" in told for told in caplog.messages] == [True] * (step is not None)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("push", "rise", "idle"), [(2.2, 0.3, 0), pytest.param(2.8, 0.3, 0, marks=pytest.mark.slow), (2.35, 0.16, 5)]
)
def test_no_step_of_arc_length_leaps_over_a_limit(push: float, rise: float, idle: int) -> None:
    """Two trusses go through to the other side, and never back: a place beyond, where the load has fallen, is none.

    Nor is one where it has grown: both limits lie between, and are little beside a model with nodes that do not move.
    """
    EA = 1e4
    length, down = np.hypot(1.0, rise), np.linspace(0, rise, 10001)
    limit = (2 * EA * (1.0 / np.hypot(1.0, down) - 1.0 / length) * down).max()
    model = mbs.Model()
    body = model.add_node((0, 0, rise))
    model.fix(body, translation=(True, True, False), rotation=True)
    for x in (-1.0, 1.0):
        foot = model.add_node((x, 0, 0))
        model.fix(foot)
        model.add(Truss(foot, body, BeamSection(EA, EA, 1, 1, 1, (1, 1, 1))))
    for k in range(idle):
        model.fix(model.add_node((0, k + 1, 0)))
    model.add(Force(body, (0, 0, -push * limit)))
    beyond = (lambda state: state.x[1, 2] < 0) if idle else None
    solution = mbs.statics(model, arc_length=True, step=0.1, callback=beyond)
    z = solution.position(body)[:, 2]
    assert (np.diff(z) < 0).all() and (np.diff(z) > -0.5 * rise).all() and z[-1] < 0
    force = 2 * EA * (1.0 / length - 1.0 / np.hypot(1.0, z)) * z
    np.testing.assert_allclose(force, -push * limit * solution.t, atol=1e-6 * limit)
