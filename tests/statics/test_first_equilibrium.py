"""Where paths begin and end: hanging models, states of dynamic runs and back."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.benchmarks.beams import bend
from fem_mbs.elements import (
    PID,
    Beam,
    BeamSection,
    DistanceJoint,
    Force,
    JointActuator,
    JointSensor,
    Moment,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    SpeedMotor,
    SphericalJoint,
)

G = 9.81
SECTION = BeamSection(EA=1e4, GA=1e4, GJ=1, EI=1, mass=1, inertia=(1e-4, 1e-4, 1e-4))


def equilibrium(model: mbs.Model) -> mbs.StaticSolution:
    """The equilibrium under the full loads, as built apart from that."""
    return mbs.statics(model, load_end=0, ramp=False)


def chain(links: int, angle: float) -> mbs.Model:
    """Rigid links of length 1 and mass 1 on hinges, straight at an angle over the horizontal."""
    model = mbs.Model(gravity=(0, 0, -G))
    way, last = np.array([np.cos(angle), 0, np.sin(angle)]), model.ground
    for k in range(links):
        node = model.add_node((k + 0.5) * way)
        model.add(RigidBody(node, 1.0, (0.1, 0.1, 0.1)))
        model.add(RevoluteJoint(last, node, (0, 1, 0), point=k * way))
        last = node
    return model


@pytest.mark.parametrize("angle", [-1.5, 0.0, 1.4])
@pytest.mark.parametrize("links", [1, 5])
def test_chain_sinks_to_where_it_hangs(links: int, angle: float) -> None:
    """From any side, and not up to where it would stand; the top hinge carries the weight."""
    model = chain(links, angle)
    solution = equilibrium(model)
    expected = [(0, 0, -(k + 0.5)) for k in range(links)]
    np.testing.assert_allclose(solution.x[-1, 1:], expected, rtol=0, atol=1e-7)
    force, _ = solution.reaction(model.constraints[0])
    np.testing.assert_allclose(force[-1], (0, 0, links * G), rtol=0, atol=1e-6)
    assert solution.unstable[-1] == 0 and solution.t.tolist() == [0.0]


@pytest.mark.parametrize("aside", [0.0, 1e-9, 1e-6, 1e-3])
def test_what_hangs_in_equilibrium_as_built_is_found(aside: float) -> None:
    """A bar on two wires: its torsional frequency is that of the bifilar pendulum, ``m g d^2 / 4 I L``."""
    mass, inertia, length, apart, above = 2.0, 0.05, 1.5, 0.4, 0.1
    model = mbs.Model(gravity=(0, 0, -G))
    bar = model.add_node((0, aside, -length))
    model.add(RigidBody(bar, mass, (inertia, inertia, inertia)))
    for x in (-apart / 2, apart / 2):
        model.add(DistanceJoint(model.ground, bar, point_a=(x, 0, above), point_b=(x, 0, above - length)), name=f"{x}")
    solution = equilibrium(model)
    assert solution.unstable[-1] == 0
    height = above - length - np.hypot(aside, above)  # the mass is below the ends of the wires
    np.testing.assert_allclose(solution.position(bar)[-1], (0, 0, height), rtol=0, atol=1e-6)
    np.testing.assert_allclose(solution.reaction("0.2")[0][-1], (0, 0, mass * G / 2), rtol=0, atol=1e-5)
    torsion = np.sqrt(mass * G * apart**2 / 4 / (inertia * length))
    assert np.abs(mbs.modes(model, 4, solution.state(-1)).angular / torsion - 1).min() < 1e-5


def test_what_stands_upright_is_told_to_be_unstable(caplog: pytest.LogCaptureFixture) -> None:
    model = chain(2, np.pi / 2)
    with caplog.at_level(logging.WARNING, logger="fem_mbs"):
        solution = equilibrium(model)
    assert solution.unstable[-1] == 2
    np.testing.assert_allclose(solution.x[-1, 1:, 2], (0.5, 1.5), rtol=1e-9)
    assert "are unstable" in caplog.text


def test_beam_on_a_hinge_sinks_and_stretches() -> None:
    """Half its weight for half its length: ``rho g L^2/2 EA``, exact for two-node elements."""
    model = mbs.Model(gravity=(0, 0, -G))
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), SECTION, 10)
    model.add(RevoluteJoint(model.ground, beam.nodes[0], (0, 1, 0)))
    solution = equilibrium(model)
    np.testing.assert_allclose(solution.position(beam.nodes[-1])[-1], (0, 0, -1 - G / 2e4), rtol=0, atol=1e-9)


@pytest.mark.one
@pytest.mark.parametrize(("end", "elements"), [((1, 0, 0), 10), ((0.01, 0, 1), 3)], ids=["level", "upright"])
def test_sinking_and_growing_gravity_end_alike(end: tuple[float, ...], elements: int) -> None:
    """What stands nearly upright is too heavy for itself, by 1.25: where it would stand is no end."""
    model = mbs.Model(gravity=(0, 0, -G))
    beam = Beam.line(model, (0, 0, 0), end, SECTION, elements)
    model.fix(beam.nodes[0])
    np.testing.assert_allclose(equilibrium(model).x[-1], mbs.statics(model).x[-1], rtol=0, atol=1e-8)


def test_force_turns_a_stiff_rod_about_its_hinge() -> None:
    """What is left of the moments along the rod is rounding, and no reason to go on."""
    model = mbs.Model()
    rod = Beam.line(model, (0, 0, 0), (1, 0, 0), BeamSection.circle(0.01, 2e11, 0.3, 7800), 5)
    model.add(RevoluteJoint(model.ground, rod.nodes[0], (0, 1, 0)))
    model.add(Force(rod.nodes[-1], (0, 0, 1)))
    np.testing.assert_allclose(equilibrium(model).position(rod.nodes[-1])[-1], (0, 0, 1), rtol=0, atol=1e-7)


def test_neutral_motion_of_an_equilibrium_is_told_and_no_obstacle(caplog: pytest.LogCaptureFixture) -> None:
    """A pendulum on a ball joint may spin about the vertical."""
    model = mbs.Model(gravity=(0, 0, -G))
    bob = model.add_node((1, 0, 0), name="bob")
    model.add(RigidBody(bob, 2.0, (0.1, 0.1, 0.1)))
    model.add(SphericalJoint(model.ground, bob, point=(0, 0, 0)))
    with caplog.at_level(logging.WARNING, logger="fem_mbs"):
        solution = equilibrium(model)
    np.testing.assert_allclose(solution.position(bob)[-1], (0, 0, -1), rtol=0, atol=1e-7)
    assert "node 'bob' can turn about (0, 0, 1) without resistance" in caplog.text


def test_path_goes_on_from_where_a_model_hangs() -> None:
    """A pendulum drawn aside by F hangs at atan(F/mg); as built it would have no stiffness."""
    model = mbs.Model(gravity=(0, 0, -G))
    bob = model.add_node((1, 0, 0))
    model.add(RigidBody(bob, 2.0, (0.1, 0.1, 0.1)))
    model.add(RevoluteJoint(model.ground, bob, (0, 1, 0), point=(0, 0, 0)))
    model.add(Force(bob, lambda t: (2 * G * t, 0, 0)))
    solution = mbs.statics(model, ramp=False, load_end=3, loads=[0, 1, 3])
    angle = np.arctan(solution.t)
    expected = np.stack([np.sin(angle), 0 * angle, -np.cos(angle)], axis=1)
    np.testing.assert_allclose(solution.position(bob), expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize("formulation", ["stabilized", "index3", "index2"])
@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_dynamic_run_from_an_equilibrium_stays_there(group: str, formulation: str) -> None:
    """Stress, weight and joint forces are in balance to the tolerance of Newton's method, 1e-8."""
    model = mbs.Model(group, gravity=(0, 0, -G))
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), SECTION, 8)
    end = Beam.line(model, (1, 0, 0), (1, 0.5, 0), SECTION, 4)
    model.fix(beam.nodes[0])
    model.add(RevoluteJoint(beam.nodes[-1], end.nodes[0], (1, 0, 0)))
    model.add(SphericalJoint(model.ground, end.nodes[-1]))
    state = mbs.statics(model).state(-1)
    assert not state.v.any() and not state.vdot.any()
    run = mbs.simulate(model, 1.5, 0.02, mbs.GeneralizedAlpha(0.9, formulation=formulation), initial=state)
    assert run.t[0] == 1.0
    assert np.abs(run.x - state.x).max() < 1e-7 and np.abs(run.v).max() < 1e-6
    np.testing.assert_allclose(run.multipliers_all, np.tile(state.multipliers, (len(run.t), 1)), rtol=0, atol=1e-5)


@pytest.mark.ci
def test_released_spring_has_the_energy_of_its_static_state() -> None:
    """Drawn aside by a force, let go at t = 0: the strain energy of the start is the energy of the run."""
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), SECTION, 8)
    model.fix(beam.nodes[0])
    model.add(Force(beam.nodes[-1], lambda t: (0, 2 * t if t <= 1 else 0, 0)))
    drawn = mbs.statics(model)
    run = mbs.simulate(model, 1.2, 0.001, mbs.GeneralizedAlpha(1.0), initial=drawn.state(-1))
    assert drawn.energy.strain[-1] > 0.3
    np.testing.assert_allclose(run.energy.total, drawn.energy.strain[-1], rtol=2e-3)
    assert run.energy.kinetic.max() > 0.2 * drawn.energy.strain[-1]


def test_modes_about_a_static_state_are_those_of_the_stressed_model() -> None:
    """A string under tension N, free at one end, swings at ``pi/2L sqrt(N/mu)``; bending adds ``sqrt(EI/N)/L``."""
    N = 100.0
    model = mbs.Model()
    section = BeamSection(EA=1e6, GA=1e6, GJ=1e-4, EI=1e-4, mass=1, inertia=(1e-6, 1e-6, 1e-6))
    string = Beam.line(model, (0, 0, 0), (1, 0, 0), section, 60)
    model.fix(string.nodes[0])
    model.add(Force(string.nodes[-1], (N, 0, 0)))
    modes = mbs.modes(model, 2, mbs.statics(model).state(-1))
    np.testing.assert_allclose(modes.angular, np.pi / 2 * np.sqrt(N), rtol=5e-3)


def test_state_may_be_moved_in_time() -> None:
    model, beam = bend(8)
    state = replace(mbs.statics(model).state(-1), t=0.0)
    run = mbs.simulate(model, 0.5, 0.1, initial=state)
    assert run.t[0] == 0.0
    np.testing.assert_allclose(run.position(beam.nodes[-1]), np.tile(run.x[0, -1], (6, 1)), rtol=0, atol=1e-6)


def test_a_hinge_that_its_drive_has_turned_far_goes_on() -> None:
    """As built it would be more than a quarter turn behind its drive, which nothing is asked of."""
    model = mbs.Model(gravity=(0, -9.81, 0))
    node = model.add_node((0.3, 0, 0), name="arm")
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    hinge = model.add(RevoluteJoint(model.ground, node, (0, 0, 1), point=(0, 0, 0), drive=lambda t: 3.0 * t))
    first = mbs.statics(model, ramp=False)
    on = mbs.statics(model, 1.2, ramp=False, initial=first.state(-1))
    assert on.angle(hinge)[-1] == pytest.approx(3.6)
    moment = -9.81 * 0.3 * np.cos(3.6)
    assert on.reaction(hinge)[1][-1, 2] == pytest.approx(-moment, rel=1e-8)


@pytest.mark.parametrize("gains", [(50.0,), (50.0, 0.0, 5.0), (50.0, 20.0), (50.0, 20.0, 5.0)])
def test_controllers_hold_weights(gains: tuple[float, ...]) -> None:
    """By droop, or without where they integrate, however far from where it is built; on a slider, and on an arm."""
    weight, wanted = 2.0 * 9.81, 2.5
    for kind in (PrismaticJoint, RevoluteJoint):
        model = mbs.Model(gravity=(0, 0, -9.81))
        body = model.add_node((0, 0, 0))
        model.add(RigidBody(body, 2.0, (1, 1, 1), center_of_mass=(0, 0.4 * (kind is RevoluteJoint), 0)))
        joint = model.add(kind(model.ground, body, (0, 0, 1) if kind is PrismaticJoint else (1, 0, 0)))
        control = model.add(PID(wanted - model.add(JointSensor(joint)), *gains, filter=0.01))
        model.add(JointActuator(joint, control))
        rest = mbs.statics(model)
        place = rest.coordinate(joint)[-1]
        held = weight * (1.0 if kind is PrismaticJoint else 0.4 * np.cos(place))
        error = 0.0 if len(gains) > 1 and gains[1] else held / gains[0]
        np.testing.assert_allclose([place, rest.signal(control)[-1]], [wanted - error, held], atol=1e-6)


@pytest.mark.parametrize(("metre", "second"), [(1.0, 1.0), (1e3, 1.0), (1e3, 1 / 60), (1.0, 1 / 3600)])
def test_arms_with_controllers_in_any_units(metre: float, second: float, caplog: pytest.LogCaptureFixture) -> None:
    """They rest where they are told, and start, whatever number the torque is that holds them; nothing is doubted."""
    length, torque = 0.6 * metre, metre**2 / second**2
    model, last, held = mbs.Model(gravity=(0, 0, -G * metre / second**2)), None, []
    for k, target in enumerate((0.2, -0.1)):
        node = model.add_node(((k + 0.5) * length, 0, 0))
        model.add(RigidBody(node, 3.0, 3 * (3.0 * length**2 / 12,)))
        hinge = model.add(RevoluteJoint(last or model.ground, node, (0, -1, 0), point=(k * length, 0, 0)))
        angle, rate = (model.add(JointSensor(hinge, own)) for own in ("coordinate", "coordinate_rate"))
        gains = np.multiply(torque, (2e4, 5e4 / second, 1e3 * second))
        held.append((model.add(PID(target - angle, *gains, rate=-rate)), hinge))
        model.add(JointActuator(hinge, held[-1][0]))
        last = node
    rest = equilibrium(model)
    half = 3.0 * G * 0.3 * np.cos([0.2, 0.1])
    by_hand = 3 * half[0] + half[1], half[1]
    np.testing.assert_allclose([rest.signal(pid)[-1] / torque for pid, _ in held], by_hand, rtol=1e-8)
    np.testing.assert_allclose([rest.coordinate(hinge)[-1] for _, hinge in held], (0.2, -0.1), rtol=0, atol=1e-9)
    run = mbs.simulate(model, 0.1 * second, 0.01 * second, initial=rest.state(-1))
    np.testing.assert_allclose(run.x[-1], rest.x[-1], rtol=0, atol=1e-9 * metre)
    assert not caplog.records


def test_a_motor_holds_a_load_by_the_integral_of_its_speed() -> None:
    """Which is how far it has yielded; about rest and about a steady rotation it has the modes of its equations."""
    exact = np.roots([0.1, 2.0, 8.0])
    for speed in (0.0, 30.0):
        model = mbs.Model(gravity=(0, 0, 0))
        rotor = model.add_node((0, 0, 0))
        model.add(RigidBody(rotor, 1.0, (0.1, 0.1, 0.1)))
        hinge = model.add(RevoluteJoint(model.ground, rotor, (0, 0, 1)))
        motor = model.add(SpeedMotor(hinge, speed, 2.0, 8.0))
        model.add(Moment(rotor, (0, 0, 5.0)))
        rest = mbs.steady_rotation(model, (0, 0, speed)) if speed else mbs.statics(model)
        assert rest.internal_variables(motor, "integral")[-1] == pytest.approx(-5.0 / 8.0)
        if not speed:
            assert rest.angle(hinge)[-1] == pytest.approx(5.0 / 8.0)
        found = mbs.modes(model, state=rest.state(-1), damped=True).eigenvalues
        np.testing.assert_allclose(np.sort(found.real), [*np.sort(exact), 0.0], atol=1e-9)
