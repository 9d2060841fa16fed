"""Sampled controllers against exact solutions in the z-domain, and what jumps at known instants."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy
from plants import cart, rotor, step_of_oscillator
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import fem_mbs as mbs
from fem_mbs.elements import (
    Beam,
    BeamSection,
    DistributedLoad,
    Force,
    ForceActuator,
    Gravity,
    JointActuator,
    JointSensor,
    JointStop,
    Junction,
    PositionMotor,
    Pressure,
    RevoluteJoint,
    RigidBody,
    SampledController,
    SampledStateSpace,
    Shell,
    ShellSection,
    SpeedMotor,
    StateSpace,
    TorqueMotor,
)
from fem_mbs.elements.control.block import Slopes
from fem_mbs.run.convergence import fitted_order
from fem_mbs.run.simulate import start
from fem_mbs.system.system import System

GROUPS = ("R3xSO3", pytest.param("SE3", marks=pytest.mark.slow))
MASS, STIFFNESS, DAMPING, PERIOD, SPEED = 0.5, 30.0, 0.8, 0.05, 0.3
A = np.array([[0.0, 1.0], [-STIFFNESS / MASS, -DAMPING / MASS]])
B = np.array([0.0, 1.0 / MASS])


def flow(z, u, t):
    """The plant after a time with a constant force."""
    whole = expm(np.block([[A, B[:, None]], [np.zeros((1, 3))]]) * t)
    return whole[:2, :2] @ z + whole[:2, 2] * u


def exact(samples, delay=0.0):
    """States of the plant at samples, with an integral and a state feedback."""
    z, integral, before, result = np.array([0.0, SPEED]), 0.0, 0.0, []
    for _ in range(samples):
        result.append(z)
        u = 4.0 * integral + 15.0 * (1 - z[0]) - 1.5 * z[1]
        integral += PERIOD * (1 - z[0])
        z = flow(flow(z, before, delay), u, PERIOD - delay)
        before = u
    return np.array(result)


def controlled(group, **options):
    model, node, place, speed = cart(group, MASS, SPEED)
    model.add(ForceActuator(node, -STIFFNESS * place - DAMPING * speed, (1, 0, 0)))
    controller = SampledStateSpace([1.0 - place, -speed], PERIOD, 1.0, [PERIOD, 0.0], 4.0, [15.0, 1.5], **options)
    model.add(ForceActuator(node, controller, (1, 0, 0)))
    return model, model.add(controller, name="controller"), place, speed


def errors_at_samples(run, place, speed, samples, delay=0.0):
    rows = [int(np.argmin(np.abs(run.t - k * PERIOD))) for k in range(samples)]
    np.testing.assert_allclose(run.t[rows], PERIOD * np.arange(samples), rtol=0, atol=1e-12)
    z = np.stack([run.signal(place), run.signal(speed)], axis=-1)[rows]
    return np.abs(z - exact(samples, delay)).max(axis=0)


@pytest.mark.one
@pytest.mark.parametrize(
    ("steps", "delay"),
    [((PERIOD / 4, PERIOD / 8), 0.0), ((0.2 * PERIOD, 0.1 * PERIOD), 0.02), ((PERIOD / 2, PERIOD / 4), PERIOD)],
)
@pytest.mark.parametrize("group", GROUPS)
def test_order_2_against_the_exact_solution(group, steps, delay):
    errors = []
    for h in steps:
        model, _, place, speed = controlled(group, delay=delay)
        run = mbs.simulate(model, 0.6, h)
        errors.append(errors_at_samples(run, place, speed, 12, delay))
    largest, least = np.array(errors)
    np.testing.assert_allclose(np.log2(largest / least), 2.0, atol=0.1)
    assert least[0] < 1e-3


@pytest.mark.one
@pytest.mark.parametrize("formulation", ["index3", "index2"])
def test_order_2_in_other_formulations(formulation):
    errors = []
    for h in (PERIOD / 4, PERIOD / 8):
        model, _, place, speed = controlled("SE3")
        run = mbs.simulate(model, 0.4, h, mbs.GeneralizedAlpha(formulation=formulation))
        errors.append(errors_at_samples(run, place, speed, 8))
    np.testing.assert_allclose(np.log2(errors[0] / errors[1]), 2.0, atol=0.1)


@pytest.mark.ci
def test_any_ratio_of_step_and_period():
    """Steps end at samples, are equal in between and no longer than the nominal one."""
    for h, count in ((0.019, 3), (0.3, 1), (0.05, 1), (0.0125, 4)):
        model, controller, place, speed = controlled("SE3")
        run = mbs.simulate(model, 0.5, h)
        assert len(run.t) == 10 * count + 1
        np.testing.assert_allclose(np.diff(run.t), PERIOD / count, rtol=1e-9)
        held = run.signal(controller)[:-1].reshape(10, count)
        assert (held == held[:, :1]).all() and len(np.unique(held)) == 10
        assert errors_at_samples(run, place, speed, 10)[0] < 1.2e-2 * min(h / PERIOD, 1.0) ** 2 + 1e-9


@pytest.mark.slow
def test_variable_steps_end_at_samples():
    """Errors of the place are about those of the tolerance, through twenty jumps of the force."""
    for tolerance in (1e-3, 1e-4):
        model, _, place, speed = controlled("R3xSO3")
        run = mbs.simulate(model, 1.0, mbs.VariableStep(tolerance))
        assert 0.1 * tolerance < errors_at_samples(run, place, speed, 20)[0] < 3.0 * tolerance


def test_values_at_samples_are_those_just_after():
    model, controller, place, speed = controlled("SE3")
    run = mbs.simulate(model, 0.3, PERIOD / 2)
    force = run.signal(controller - STIFFNESS * place - DAMPING * speed)
    felt = np.array([run.motion(k).A[1, 0] for k in range(len(run.t))])
    np.testing.assert_allclose(MASS * felt, force, rtol=1e-9, atol=1e-9)


def test_samples_that_repeat_each_other_tell_no_slopes():
    """As many as there are arguments and more tell all of them, the same one again and again nothing."""
    rng, A = np.random.default_rng(1), np.array([[2.0, -3.0]])
    slopes, ends = Slopes(1, 2, None), rng.normal(size=(2, 2))
    for k, at in enumerate((ends[0], *10 * [ends[1]])):
        slopes.learn(0.1 * k, at, A @ at)
    assert not slopes.derivative.any()
    for k, at in enumerate(rng.normal(size=(8, 2)), 11):
        slopes.learn(0.1 * k, at, A @ at)
    np.testing.assert_allclose(slopes.derivative, A, rtol=1e-9)


@pytest.mark.ci
def test_a_run_that_is_cut_goes_on(tmp_path):
    model, controller, *_ = controlled("SE3", delay=0.03)
    whole = mbs.simulate(model, 0.25, 0.0113)
    cut = mbs.simulate(model, 0.2, 0.0113)
    file = cut.save(tmp_path / "cut")
    for initial in (cut.checkpoint, mbs.load(file, model).checkpoint, cut.state(-1)):
        rest = mbs.simulate(model, 0.25, 0.0113, initial=initial)
        np.testing.assert_allclose(rest.u[-1], whole.u[-1], rtol=1e-12)
    stopped = mbs.simulate(model, 0.25, 0.0113, callback=lambda state: state.t > 0.18)
    rest = mbs.simulate(model, 0.25, 0.0113, initial=stopped.checkpoint)
    np.testing.assert_array_equal(rest.u[-1], whole.u[-1])


def test_a_discrete_system_of_scipy():
    """A discrete filter of a sampled law, by scipy."""
    num, den = scipy.signal.butter(2, 0.2)
    model, node, *_ = cart("SE3")
    block = model.add(SampledStateSpace(lambda t: np.sin(7 * t), None, scipy.signal.dlti(num, den, dt=0.02)))
    model.add(ForceActuator(node, 0.0 * block, (1, 0, 0)))
    run = mbs.simulate(model, 0.4, 0.02)
    _, expected = scipy.signal.dlsim(scipy.signal.dlti(num, den, dt=0.02), np.sin(7 * run.t))
    np.testing.assert_allclose(run.signal(block), expected[:, 0], atol=1e-12)


OF_SCIPY = (np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0)), 2.0)


@pytest.mark.parametrize("matrices", [([], [], [], [[2.0]]), OF_SCIPY])
def test_a_gain_is_a_state_space_without_states(matrices):
    """As scipy and others write it; sampled, each value from a quarter of a period on, and not."""
    model, node, place, _ = cart("SE3", speed=1.0)
    held = model.add(SampledStateSpace(place, PERIOD, *matrices, delay=PERIOD / 4))
    seen = [
        model.add(block) for block in (StateSpace(place, *matrices), StateSpace(place, scipy.signal.lti(*OF_SCIPY)))
    ]
    model.add(ForceActuator(node, 0.0 * held + 0.0 * seen[0] + 0.0 * seen[1], (1, 0, 0)))
    run = mbs.simulate(model, 4 * PERIOD, PERIOD)
    np.testing.assert_allclose([run.signal(block) for block in seen], 2 * np.tile(run.signal(place), (2, 1)))
    np.testing.assert_allclose(run.signal(held)[1::2], 2 * run.signal(place)[:-1:2], rtol=1e-12)


def test_two_rates_and_an_offset():
    model, node, place, speed = cart("SE3", speed=1.0)
    seen = []
    slow = model.add(SampledController(place, 0.1, lambda t, x, u: seen.append(round(t, 9)) or -u[0]))
    fast = model.add(SampledController(slow, 0.03, lambda t, x, u: u[0], begin=0.01, initial_output=7.0))
    model.add(ForceActuator(node, 0.0 * fast, (1, 0, 0)))
    run = mbs.simulate(model, 0.2, 0.05)
    assert seen == [0.0, 0.1, 0.2]
    np.testing.assert_allclose(run.t, [0, 0.01, 0.04, 0.07, 0.1, 0.13, 0.16, 0.19, 0.2])
    np.testing.assert_allclose(run.signal(slow), np.repeat([0.0, -0.1, -0.2], [4, 4, 1]), atol=1e-12)
    np.testing.assert_allclose(run.signal(fast), [7, 0, 0, 0, 0, -0.1, -0.1, -0.1, -0.1], atol=1e-12)


def test_a_controller_with_states_of_its_own():
    model, node, *_ = cart("R3xSO3")
    block = SampledController(
        2.0, 0.1, lambda t, x, u: x, update=lambda t, x, u: [x[1], x[0] + u[0]], initial=[1.0, 0.0], outputs=2
    )
    model.add(block)
    model.add(ForceActuator(node, block[1], (1, 0, 0)))
    run = mbs.simulate(model, 0.3, 0.1)
    np.testing.assert_allclose(run.signal(block), [[1, 0], [0, 3], [3, 2], [2, 5]])


@pytest.mark.ci
@pytest.mark.parametrize("group", GROUPS)
def test_a_load_that_jumps(group):
    """Steps end where it jumps: second order in spite of it."""

    def law(t):
        return (3.0 if t < 0.333 else -1.0 if t < 0.7 else 2.0), 0.0, 0.0

    law.jumps = [0.333, 0.7]
    errors = []
    for h in (0.02, 0.01):
        model, node, place, speed = cart(group, MASS)
        model.add(Force(node, law))
        model.add(ForceActuator(node, -STIFFNESS * place - DAMPING * speed, (1, 0, 0)))
        run = mbs.simulate(model, 1.0, h)
        z = flow(flow(flow(np.zeros(2), 3.0, 0.333), -1.0, 0.367), 2.0, 0.3)
        errors.append(abs(run.signal(place)[-1] - z[0]))
    assert abs(fitted_order(np.array([0.02, 0.01]), np.array(errors)) - 2.0) < 0.1


@pytest.mark.parametrize("first", [1e-9, 0.3, 0.5 - 1e-11])
@pytest.mark.parametrize("step", [0.05, mbs.VariableStep(local_error=1e-6)])
def test_jumps_that_are_nearer_than_a_step_can_be(first, step):
    """They do what one does, to the motion, to reactions and to the estimated error; the run ends at its end."""

    def run(apart):
        model = mbs.Model(gravity=(0, 0, -9.81))
        node = model.add_node((1, 0, 0))
        model.add(RigidBody(node, 1.0, (0.1, 0.1, 0.1)))
        hinge = model.add(RevoluteJoint(model.ground, node, (0, 1, 0), point=(0, 0, 0)))
        for instant in (first, first + apart * np.spacing(first)):

            def law(t, instant=instant):
                return float(t >= instant), 0.0, 0.0

            law.jumps = [instant]
            model.add(Force(node, law))
        result = mbs.simulate(model, 0.5, step)
        assert result.t[-1] == 0.5
        return result.angle(hinge), np.abs(result.multipliers(hinge)).max(), result.stats.error.length

    angle, reaction, error = run(0)
    for apart in (1, 4, 10**5):
        near, near_reaction, near_error = run(apart)
        np.testing.assert_allclose(near[-1], angle[-1], atol=1e-9)
        assert near_reaction == pytest.approx(reaction, rel=1e-8) and near_reaction < 30.0
        assert near_error == pytest.approx(error, rel=0.3)


def test_a_reference_that_jumps():
    def law(t):
        return 1.0 if t >= 0.25 else 0.0

    law.jumps = [0.25]
    model, node, place, speed = cart("SE3")
    force = model.add(Junction(law - 0.0 * place))
    model.add(ForceActuator(node, force, (1, 0, 0)))
    run = mbs.simulate(model, 0.5, 0.1)
    assert 0.25 in run.t
    np.testing.assert_allclose(run.position(node)[-1, 0], 0.25**2, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("group", "formulation"),
    [
        ("R3xSO3", "stabilized"),
        ("SE3", "stabilized"),
        pytest.param("R3xSO3", "index2", marks=pytest.mark.slow),
        pytest.param("SE3", "index3", marks=pytest.mark.slow),
    ],
)
def test_reactions_of_a_pendulum_under_a_sampled_controller(group, formulation):
    """Angle, rate and reactions just after samples against scipy, from sample to sample: order 2 each."""
    mass, arm, inertia, g, period = 2.0, 0.5, 0.1, 9.81, 0.04

    def torque(q, rate):
        return 25.0 * (1.2 - q) - 3.0 * rate + 0.5 * mass * g * arm * np.cos(q)

    z, expected = np.zeros(2), []
    for _ in range(15):
        u = torque(*z)

        def rates(t, y, u=u):
            return [y[1], (u + mass * g * arm * np.cos(y[0])) / (inertia + mass * arm**2)]

        q, rate, turning = *z, rates(0.0, z)[1]
        c, s = np.cos(q), np.sin(q)
        ax, az = arm * (-turning * s - rate**2 * c), arm * (-turning * c + rate**2 * s)
        expected.append([q, rate, mass * ax, mass * (az + g)])
        z = solve_ivp(rates, (0, period), z, rtol=1e-11, atol=1e-12).y[:, -1]
    errors = []
    for h in (0.01, 0.005):
        model = mbs.Model(group, gravity=(0, 0, -g))
        bob = model.add_node((arm, 0, 0), name="bob")
        model.add(RigidBody(bob, mass, (inertia, inertia, inertia)))
        hinge = model.add(RevoluteJoint(model.ground, bob, (0, 1, 0), point=(0, 0, 0)))
        sensors = [model.add(JointSensor(hinge)), model.add(JointSensor(hinge, "coordinate_rate"))]
        computer = model.add(SampledController(sensors, period, lambda t, x, u: torque(*u)))
        model.add(JointActuator(hinge, computer))
        run = mbs.simulate(model, 0.58, h, mbs.GeneralizedAlpha(formulation=formulation))
        rows = [int(np.argmin(np.abs(run.t - k * period))) for k in range(15)]
        force = run.reaction(hinge)[0][rows]
        got = [run.signal(sensors[0])[rows], run.signal(sensors[1])[rows], force[:, 0], force[:, 2]]
        errors.append(np.abs(np.array(got).T - expected).max(axis=0))
    np.testing.assert_allclose(np.log2(errors[0] / errors[1]), 2.0, atol=0.15)


@pytest.mark.slow
def test_a_flexible_arm_with_hardly_any_inertia_at_its_motor():
    """Torques that jump act on the first node of a beam: steps far above its fast motion agree with short ones."""
    tips = []
    for h in (0.002, 0.005):
        model = mbs.Model("SE3")
        section = BeamSection(1e6, (4e5, 4e5), 30.0, (40.0, 40.0), 0.5, (1e-4, 5e-5, 5e-5)).with_damping(1e-3)
        arm = Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements=4)
        hinge = model.add(RevoluteJoint(model.ground, arm.nodes[0], (0, 0, 1)))
        sensors = [model.add(JointSensor(hinge)), model.add(JointSensor(hinge, "coordinate_rate"))]
        law = SampledController(sensors, 0.01, lambda t, x, u: 6.0 * (0.5 - u[0]) - 0.8 * u[1], delay=0.004)
        model.add(JointActuator(hinge, model.add(law)))
        run = mbs.simulate(model, 0.1, h)
        assert run.stats.failed_steps == 0
        tips.append(run.position(arm.nodes[-1])[-1])
    np.testing.assert_allclose(tips[1], tips[0], atol=2e-3)


@pytest.mark.parametrize("delay", [0.0, 0.3 * PERIOD, PERIOD])
@pytest.mark.parametrize("begin", [0.0, 1.0, 1.2 * PERIOD, 1.6 * PERIOD])
def test_a_run_that_begins_later(begin, delay):
    """The sample before its start is taken at its start, and its output comes when it is due, or at once."""
    model, controller, place, _ = controlled("R3xSO3", delay=delay)
    still = start(System(model))
    run = mbs.simulate(model, begin + 2.5 * PERIOD, 0.1 * PERIOD, initial=dataclasses.replace(still, t=begin))
    taken = PERIOD * np.floor(begin / PERIOD + 1e-9)
    due = max(taken + delay, begin)
    value = run.signal(controller)
    after = run.t > due + 1e-9
    assert (value[run.t < due - 1e-9] == 0.0).all() and value[after][0] > 5.0
    changes = run.t[1:][np.abs(np.diff(value)) > 1e-9]
    expected = [due, *(taken + delay + PERIOD * np.arange(1, 4))]
    assert np.allclose(changes, [t for t in expected if begin < t < run.t[-1] - 1e-9], atol=1e-9)


@pytest.mark.parametrize("group", GROUPS)
def test_samples_are_of_the_rates_that_forces_see(group):
    """A rate sensor reads ``v + Z/h`` as dampers do, a sample is what it read; the velocity of a state is ``v``."""
    outputs = []
    for sampled in (False, True):
        model = mbs.Model(group, gravity=(0, 0, -9.81))
        bars, hinges = [model.ground], []
        for k in range(2):
            bars.append(model.add_node((k + 0.5, 0, 0)))
            model.add(RigidBody(bars[-1], 1.0, (0.01, 0.1, 0.1)))
            hinges.append(model.add(RevoluteJoint(bars[-2], bars[-1], (0, 1, 0), (k, 0, 0))))
        sensor = model.add(JointSensor(hinges[1], "coordinate_rate"))
        if sampled:
            sensor = model.add(SampledController([sensor], 0.2, lambda t, x, u: u))
        run = mbs.simulate(model, 0.2, 0.02)
        outputs.append(run.signal(sensor)[-1])
        unlike = abs(outputs[0] - run.coordinate_rate(hinges[1])[-1])
    assert outputs[1] == pytest.approx(outputs[0], rel=1e-12)
    assert unlike > 1e-6 * abs(outputs[0])


def _stepped(size=None):
    """A function of time that is 0, then 1, with the instant at which it jumps."""

    def law(t):
        return np.broadcast_to(float(t >= 0.25), () if size is None else size)

    law.jumps = [0.25]
    return law


JUMPING = (DistributedLoad, Pressure, Gravity, TorqueMotor, SpeedMotor, PositionMotor, JointStop)


@pytest.mark.parametrize("given", JUMPING, ids=lambda own: own.__name__)
def test_whatever_is_given_over_time_may_jump(given):
    """Steps end where it does."""
    model = mbs.Model()
    if given is DistributedLoad:
        section = BeamSection.rectangle(0.1, 0.1, E=1e7, nu=0.3, rho=1000.0)
        beam = Beam.line(model, (0, 0, 0), (1, 0, 0), section, 1)
        model.fix(beam.nodes[0])
        model.add(DistributedLoad(beam, _stepped(3)))
    elif given is Pressure:
        section = ShellSection.isotropic(0.05, E=1e7, nu=0.3, rho=1000.0)
        shell = Shell.rectangle(model, (0, 0, 0), (1, 0, 0), (0, 1, 0), section, elements=(1, 1))
        model.fix(shell.node(0, 0))
        model.add(Pressure(shell, _stepped()))
    else:
        node = model.add_node((1, 0, 0))
        body = model.add(RigidBody(node, 1.0, (1, 1, 1)))
        hinge = model.add(RevoluteJoint(model.ground, node, (0, 0, 1), point=(0, 0, 0)))
        if given is Gravity:
            model.add(Gravity(body, _stepped(3)))
        elif given is JointStop:
            model.add(JointStop(hinge, _stepped(), None, 1e3))
        else:
            model.add(given(hinge, _stepped(), *(() if given is TorqueMotor else (2.0,))))
    assert 0.25 in mbs.simulate(model, 0.5, 0.1).t


@pytest.mark.ci
@pytest.mark.parametrize("group", GROUPS)
def test_the_rate_of_a_reference_that_jumps_is_that_on_either_side(group):
    """A motor with a derivative: before, an oscillator that follows a ramp; after, another one that starts there."""
    model, _, hinge = rotor(group)

    def reference(t):
        return 0.5 * t + float(t >= 0.25)

    reference.jumps = [0.25]
    model.add(PositionMotor(hinge, reference, 20.0, derivative=1.0))
    run = mbs.simulate(model, 0.6, 0.005)
    t, after = run.t, run.t >= 0.25
    # of x'' = 40 (r - x) + 2 (r' - x'), the error of the ramp, and what the jump adds
    fast = np.sqrt(39.0)
    exact = 0.5 * t - 0.5 * np.exp(-t) * np.sin(fast * t) / fast
    exact[after] += step_of_oscillator(t[after] - 0.25, np.sqrt(40.0), 1.0)
    np.testing.assert_allclose(run.coordinate(hinge), exact, atol=3e-4)


@pytest.mark.slow
def test_errors_of_steps_that_all_follow_a_jump_are_told():
    """A controller that does nothing, but starts the run anew, leaves the estimate of a double pendulum what it is."""

    def built():
        model = mbs.Model("R3xSO3", gravity=(0, 0, -9.81))
        before = model.ground
        for k in range(2):
            node = model.add_node((k + 0.5, 0, 0))
            model.add(RigidBody(node, 1.0, (0.1, 0.1, 0.1)))
            before, hinge = node, model.add(RevoluteJoint(before, node, (0, 1, 0), point=(k, 0, 0)))
        idle = model.add(SampledController([model.add(JointSensor(hinge))], 0.04, lambda t, x, u: 0.0, delay=0.012))
        model.add(JointActuator(hinge, idle))
        return model

    run, exact = mbs.simulate(built(), 0.6, 0.02), mbs.simulate(built(), 0.6, 0.04, method=mbs.RadauIIA())
    error = np.linalg.norm(run.x[-1] - exact.x[-1], axis=1).max()
    assert 0.85 < run.stats.error.length / error < 1.2


@pytest.mark.ci
def test_errors_tell_of_slopes_that_samples_change():
    """An arm that turns as motors at their limits switch: accelerations jump, and how they go on from there, too."""
    T = 0.047  # noqa: N806

    def run(step):
        model = mbs.Model("R3xSO3", gravity=(0, 0, -9.81))
        before = model.ground
        for k, place, point in ((0, (1.7, 0, 0.68), (0, 0, 0)), (1, (4.31, 0, 1.795), (3.4, 0, 1.36))):
            node = model.add_node(place, velocity=((-0.37, 0, 0.91), (-1.12, 0, 2.65))[k])
            node.angular_velocity = (0, (-0.54, -0.9)[k], 0)
            model.add(RigidBody(node, (7.2, 9.8)[k], ((12.0, 5.0)[k],) * 3))
            hinge = model.add(RevoluteJoint(before, node, (0, 1, 0), point=point))
            inputs = [model.add(JointSensor(hinge, kind)) for kind in ("coordinate", "coordinate_rate")]
            stiff, damped, most, goal = ((957.0, 701.0, 623.0, 0.42), (33.4, 24.5, 23.3, -0.213))[k]

            def law(t, x, u, stiff=stiff, damped=damped, most=most, goal=goal):
                return np.clip(stiff * (goal - u[0]) - damped * u[1], -most, most)

            model.add(JointActuator(hinge, model.add(SampledController(inputs, T, law, delay=0.3 * T))))
            before = node
        mbs.project_velocities(model)
        return mbs.simulate(model, 6 * T, step)

    coarse, fine = run(T / 4), run(T / 16)
    error = np.linalg.norm(coarse.x[-1] - fine.x[-1], axis=1).max()
    assert 0.8 < coarse.stats.error.length / error < 1.25


@pytest.mark.parametrize(("period", "told"), [(0.2, True), (0.05, False)])
def test_one_sample_in_a_run_is_told(period: float, told: bool, caplog: pytest.LogCaptureFixture) -> None:
    """A period that was meant in ms, or a run that is short."""
    model = mbs.Model()
    node = model.add_node((0, 0, 0))
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    hinge = model.add(RevoluteJoint(model.ground, node, (0, 0, 1)))
    control = SampledController(model.add(JointSensor(hinge)), period, lambda t, x, u: 1.0 - u[0])
    model.add(JointActuator(hinge, model.add(control, name="loop")))
    mbs.simulate(model, 0.2, 0.01)
    assert any("'loop'" in own.getMessage() and "second sample" in own.getMessage() for own in caplog.records) is told
