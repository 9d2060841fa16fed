"""Continuous controllers against exact and independent solutions: servos, filters, algebraic loops, limits."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
from plants import cart, rotor, step_of_oscillator
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import (
    PID,
    Block,
    FixedJoint,
    ForceActuator,
    FunctionSensor,
    JointActuator,
    JointSensor,
    Junction,
    LeadLag,
    LineActuator,
    LineSensor,
    LowPass,
    Moment,
    MomentActuator,
    MultiplierSensor,
    NodeSensor,
    PointMass,
    RigidBody,
    Saturation,
    Signal,
    SpinUp,
    StateSpace,
    TransferFunction,
)
from fem_mbs.run.convergence import fitted_order

GROUPS = ("R3xSO3", pytest.param("SE3", marks=pytest.mark.slow))


def acceleration(run, node):
    """Accelerations ``(nt, 3)`` of a node, world frame."""
    row = run.system.number(node)
    motions = [run.motion(k) for k in range(len(run.t))]
    return np.array([motion.R[row] @ motion.A[row, :3] for motion in motions])


def order(errors, steps):
    return fitted_order(np.array(steps), np.array(errors))


@pytest.mark.parametrize("group", GROUPS)
def test_servo_follows_the_exact_solution(group):
    """A PD controller on a rotor is an oscillator."""
    steps, errors = (0.02, 0.01), []
    for h in steps:
        model, _, hinge = rotor(group)
        angle, rate = model.add(JointSensor(hinge)), model.add(JointSensor(hinge, "coordinate_rate"))
        servo = model.add(PID(1.0 - angle, P=40.0, D=3.0, rate=-rate))
        model.add(JointActuator(hinge, servo))
        run = mbs.simulate(model, 1.0, h)
        exact = step_of_oscillator(run.t, np.sqrt(80.0), 3.0)
        errors.append(np.abs(run.signal(angle) - exact).max())
        np.testing.assert_allclose(run.signal(angle), run.angle(hinge), atol=1e-12)
        np.testing.assert_allclose(run.signal(rate), run.coordinate_rate(hinge), atol=1e-12)
        torque = 40.0 * (1.0 - run.signal(angle)) - 3.0 * run.signal(rate)
        np.testing.assert_allclose(run.signal(servo), torque, atol=1e-10)
        np.testing.assert_allclose(run.signal(1.0 - angle), 1.0 - run.signal(angle), atol=1e-12)
    assert errors[-1] < 8e-4
    assert abs(order(errors, steps) - 2.0) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    "gain", [1.0, pytest.param(1e3, marks=pytest.mark.slow), 1e6, pytest.param(1e9, marks=pytest.mark.slow)]
)
def test_stiff_gains(gain):
    """A gain of any size is solved at the same step, with the same order, and without a failed step."""
    P, D, T = 40.0 * gain, 3.0 * np.sqrt(gain) * 10.0, 1.5
    law, steps, errors = SpinUp(2.0, 1.0), (0.02, 0.01), []
    for h in steps:
        model, _, hinge = rotor("SE3")
        angle, rate = model.add(JointSensor(hinge)), model.add(JointSensor(hinge, "coordinate_rate"))
        servo = model.add(PID(law - angle, P=P, D=D, rate=law.velocity - rate))
        model.add(JointActuator(hinge, servo))
        run = mbs.simulate(model, T, h)

        def rates(t, z):
            return [z[1], (P * (law(t) - z[0]) + D * (law.velocity(t) - z[1])) / 0.5]

        exact = solve_ivp(rates, (0, T), [0, 0], "Radau", run.t, rtol=1e-9, atol=1e-12)
        errors.append(np.abs(run.signal(angle) - exact.y[0]).max())
        assert run.stats.failed_steps == 0
        assert run.stats.mean_newton_iterations < 2.0
    assert errors[-1] < 2e-4 / np.sqrt(gain) + 1e-10
    assert abs(order(errors, steps) - 2.0) < 0.1


@pytest.mark.ci
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("gain", [-0.4, 0.3, 50.0])
def test_feedback_of_an_acceleration_is_a_mass(group, gain):
    """A force minus ``gain`` times the acceleration: the loop is algebraic, and the mass is ``m + gain``."""
    steps, errors = (0.01, 0.005), []
    for h in steps:
        model, node, place, speed = cart(group)
        felt = model.add(NodeSensor(node, "acceleration", (1, 0, 0)))
        force = model.add(Junction(20.0 * (1.0 - place) - 1.5 * speed - gain * felt))
        model.add(ForceActuator(node, force, (1, 0, 0)))
        run = mbs.simulate(model, 0.5, h)
        mass = 0.5 + gain
        exact = step_of_oscillator(run.t, np.sqrt(20.0 / mass), 0.75 / mass)
        errors.append(np.abs(run.signal(place) - exact).max())
        np.testing.assert_allclose(run.signal(felt), acceleration(run, node)[:, 0], atol=1e-9)
        assert run.signal(felt)[0] == pytest.approx(20.0 / mass, rel=1e-12)
    assert abs(order(errors, steps) - 2.0) < 0.05


@pytest.mark.one
@pytest.mark.parametrize("formulation", ["stabilized", "index3", "index2"])
def test_feedback_of_a_reaction(formulation):
    """A cart pushes a load; the force between them, fed back, is a mass: ``m_1 + m_2 - gain m_2``."""
    gain, steps, errors = 2.0, (0.02, 0.01), []
    for h in steps:
        model, node, place, speed = cart("SE3")
        load = model.add_node((0, 0, 0.5))
        model.add(RigidBody(load, 0.3, (0.1, 0.1, 0.1)))
        clamp = model.add(FixedJoint(node, load))
        pushes = model.add(MultiplierSensor(clamp, "translation x"))
        model.add(ForceActuator(node, 20.0 * (1.0 - place) - 1.5 * speed - gain * pushes, (1, 0, 0)))
        run = mbs.simulate(model, 0.5, h, mbs.GeneralizedAlpha(formulation=formulation))
        mass = 0.8 - gain * 0.3
        exact = step_of_oscillator(run.t, np.sqrt(20.0 / mass), 0.75 / mass)
        errors.append(np.abs(run.signal(place) - exact).max())
        np.testing.assert_allclose(run.signal(pushes), -run.reaction(clamp)[0][:, 0], atol=1e-10)
    assert abs(order(errors, steps) - 2.0) < 0.05


def test_matrix_of_a_whole_loop_is_exact():
    """Newton's method with the exact matrix needs two iterations where the loop is hardly nonlinear, and no more."""
    model, node, hinge = rotor("SE3")
    angle = model.add(JointSensor(hinge))
    felt = model.add(NodeSensor(node, "acceleration", (0, 1, 0), point=node.at((0.2, 0, 0))))
    inputs, f = [angle, felt], lambda t, x, u: [np.sin(u[0]) - x[0]]
    block = model.add(Block(inputs, f, lambda t, x, u: x[0] + 0.1 * u[1], initial=[0.1]))
    model.add(JointActuator(hinge, model.add(PID(0.4 - 3.0 * block, 5.0, 1.0, 0.3, filter=0.02))))
    run = mbs.simulate(model, 0.5, 0.01)
    assert run.stats.newton_iterations.max() <= 3


def test_outputs_on_which_nothing_depends_are_exact():
    """``z = y^2`` of ``y = exp(cos t)`` beside a body at rest: Newton's method does not end before they hold."""
    model = mbs.Model()
    model.add(RigidBody(model.add_node((0, 0, 0)), 1.0, (1, 1, 1)))
    y = model.add(Block(np.cos, g=lambda t, x, u: np.exp(u[0])))
    z = model.add(Block(y, g=lambda t, x, u: u[0] ** 2))
    run = mbs.simulate(model, 1.0, 0.1)
    np.testing.assert_allclose(run.signal(z), np.exp(2.0 * np.cos(run.t)), rtol=1e-14)


def test_loop_of_blocks_is_solved():
    """``y = LeadLag(r - y/2)``: exact by its transfer function."""
    model, node, *_ = cart("SE3")
    back = Junction()
    block = model.add(LeadLag(1.0 - 0.5 * back, lead=0.4, lag=0.1, gain=3.0))
    back.connect(block)
    model.add(back)
    model.add(ForceActuator(node, 0.0 * block, (1, 0, 0)))
    run = mbs.simulate(model, 0.5, 0.005)
    # 3 (0.4 s + 1)/(0.1 s + 1) closed with 1/2
    closed = scipy.signal.lti([1.2, 3.0], [0.1 + 0.6, 1.0 + 1.5])
    _, exact = scipy.signal.step(closed, T=run.t)
    np.testing.assert_allclose(run.signal(block), exact, atol=2e-5)


@pytest.mark.ci
@pytest.mark.parametrize("group", ["R3xSO3", pytest.param("SE3", marks=pytest.mark.slow)])
def test_blocks_with_states_by_the_matrix_exponential(group):
    """A mass, a state space of two inputs, a Butterworth filter, and a block of scipy.signal, in one loop."""
    butter, other = scipy.signal.butter(2, 60.0, analog=True), scipy.signal.lti([1.0, 3.0], [1.0, 2.0, 50.0])
    A = np.array([[-3.0, 1.0], [0.5, -8.0]])
    B, C, D = np.array([[1.0, 0.0], [2.0, 1.0]]), np.array([[4.0, -2.0]]), np.array([[-6.0, -1.0]])
    steps, errors = (0.01, 0.005), []
    for h in steps:
        model, node, place, speed = cart(group, speed=0.4)
        first = model.add(StateSpace([place, speed], A, B, C, D))
        second, third = model.add(TransferFunction(first, *butter)), model.add(StateSpace(place, other))
        model.add(ForceActuator(node, second + 2.0 * third, (1, 0, 0)))
        run = mbs.simulate(model, 0.5, h)
        (A2, B2, C2, _), ss = scipy.signal.tf2ss(*butter), other.to_ss()
        b, none = np.array([[0.0], [2.0]]), np.zeros((2, 2))
        whole = np.block(
            [
                [np.eye(2, k=1), none, b @ C2, 2.0 * b @ ss.C],
                [B, A, none, none],
                [B2 @ D, B2 @ C, A2, none],
                [ss.B @ [[1.0, 0.0]], none, none, ss.A],
            ]
        )
        exact = [(expm(whole * t) @ np.eye(8)[1])[0] * 0.4 for t in run.t]
        errors.append(np.abs(run.signal(place) - exact).max())
    assert errors[-1] < 1e-5
    assert abs(order(errors, steps) - 2.0) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("anti_windup", [None, 1e8])
@pytest.mark.parametrize("group", GROUPS)
def test_limits_and_windup(group, anti_windup):
    """A step that saturates the output, against scipy; without anti-windup it goes far beyond the reference."""
    P, I, D, T, limit = 20.0, 30.0, 2.0, 0.05, 1.2
    track = P / I if anti_windup is None else anti_windup

    def rates(t, z):
        x, v, integral, seen = z
        w = P * (1 - x) + integral + D / T * (1 - x - seen)
        y = np.clip(w, -limit, limit)
        return [v, y / 0.5, I * (1 - x) + (y - w) / track, (1 - x - seen) / T]

    model, _, hinge = rotor(group)
    angle = model.add(JointSensor(hinge))
    servo = model.add(PID(1.0 - angle, P, I, D, filter=T, limits=(-limit, limit), anti_windup=anti_windup))
    model.add(JointActuator(hinge, servo))
    run = mbs.simulate(model, 4.0, 0.01)
    exact = solve_ivp(rates, (0, 4), np.zeros(4), t_eval=run.t, rtol=1e-7, atol=1e-9, max_step=0.05).y
    np.testing.assert_allclose(run.signal(angle), exact[0], atol=2e-3)
    np.testing.assert_allclose(run.signal(servo["integral"]), exact[2], atol=5e-2)
    assert np.abs(run.signal(servo)).max() <= limit + 1e-12
    assert (run.signal(angle).max() > 2.5) == (anti_windup is not None)


def test_limits_without_an_integral_leave_nothing_behind():
    """A P controller that was at its limits has the output of its error again as soon as that is within them."""
    model, _, _ = rotor("R3xSO3")
    servo = model.add(PID(lambda t: 1.0 - t, P=2.0, limits=(-0.5, 0.5), initial=0.1))
    run = mbs.simulate(model, 2.0, 0.01)
    np.testing.assert_allclose(run.signal(servo["integral"]), 0.1, atol=1e-12)
    np.testing.assert_allclose(run.signal(servo), np.clip(0.1 + 2.0 * (1.0 - run.t), -0.5, 0.5), atol=1e-12)


@pytest.mark.slow
def test_a_block_of_the_user():
    """A pendulum's law by functions, against the same by scipy; derivatives given or by differences."""
    results = []
    for jacobian in (None, lambda t, x, u: ([[0, 1], [-9 * np.cos(x[0]), -0.2]], [[0], [1]], [[1, 0]], [[2.0]])):
        model, node, place, _ = cart("R3xSO3")
        block = Block(
            np.cos,
            lambda t, x, u: [x[1], -9 * np.sin(x[0]) - 0.2 * x[1] + u[0]],
            lambda t, x, u: x[0] + 2.0 * u[0],
            initial=[0.5, 0.0],
            jacobian=jacobian,
        )
        model.add(block)
        model.add(ForceActuator(node, block, (1, 0, 0)))
        run = mbs.simulate(model, 2.0, 0.01)
        results.append(run.signal(block))

    def rates(t, z):
        return [z[1], -9 * np.sin(z[0]) - 0.2 * z[1] + np.cos(t), z[3], 2.0 * (z[0] + 2.0 * np.cos(t))]

    exact = solve_ivp(rates, (0, 2), [0.5, 0, 0, 0], t_eval=run.t, rtol=1e-10, atol=1e-12).y
    np.testing.assert_allclose(results[0], exact[0] + 2.0 * np.cos(run.t), atol=1.6e-4)
    np.testing.assert_allclose(run.signal(place), exact[2], atol=1.6e-4)
    np.testing.assert_allclose(*results, atol=1e-9)


@pytest.mark.ci
def test_sensors_say_what_the_solution_says():
    model = mbs.Model("SE3", gravity=(0.0, 0.0, -9.81))
    rng = np.random.default_rng(0)
    node = model.add_node((1, 2, 3), velocity=rng.normal(size=3), angular_velocity=3 * rng.normal(size=3), name="top")
    model.add(RigidBody(node, 2.0, (0.1, 0.2, 0.25), (0.1, 0.2, 0.3)))
    e = np.array([1.0, -2.0, 0.5]) / np.linalg.norm([1.0, -2.0, 0.5])
    quantities = ("position", "velocity", "acceleration", "angular_velocity", "rotation_vector")
    sensors = {name: model.add(NodeSensor(node, name, 3.0 * e)) for name in quantities}
    body = model.add(NodeSensor(node, "angular_velocity", e, frame="body"))
    tip = model.add(NodeSensor(node, "position", e, point=node.at((0.3, 0, 0.1)), origin=(1, 1, 1)))
    far = model.add(LineSensor(model.ground, node))
    quick = model.add(LineSensor(model.ground, node, "speed"))
    mine = model.add(FunctionSensor([node, model.ground], lambda m: np.linalg.norm(m.x[0] - m.x[1])))
    run = mbs.simulate(model, 0.3, 0.01)
    R, x, v = run.rotation(node), run.position(node), run.velocity(node)
    length = np.linalg.norm(x, axis=1)
    for sensor, expected in (
        (sensors["position"], x @ e),
        (sensors["velocity"], v @ e),
        (sensors["acceleration"], acceleration(run, node) @ e),
        (sensors["angular_velocity"], np.matvec(R, run.angular_velocity(node)) @ e),
        (sensors["rotation_vector"], run.rotation_vector(node) @ e),
        (body, run.angular_velocity(node) @ e),
        (tip, (x + np.matvec(R, (0.3, 0, 0.1)) - 1.0) @ e),
        (far, length),
        (quick, np.vecdot(x, v) / length),
        (mine, length),
    ):
        np.testing.assert_allclose(run.signal(sensor), expected, atol=1e-8, err_msg=str(sensor))


def test_places_far_away_are_measured_from_the_origin_of_the_world():
    model = mbs.Model()
    nodes = [model.add_node((1e6 + k, 0, 3), velocity=(1, 0, 0)) for k in range(2)]
    for node in nodes:
        model.add(RigidBody(node, 1.0, (1, 1, 1)))
    mine = model.add(FunctionSensor(nodes[:1], lambda m: m.x[0, 0] + 2.0 * m.x[0, 2]))
    theirs = model.add(NodeSensor(nodes[1], "position", (1, 0, 0), origin=(1e6, 0, 0)))
    run = mbs.simulate(model, 0.2, 0.1)
    np.testing.assert_allclose(run.signal(mine), 1e6 + 6.0 + run.t, atol=1e-8)
    np.testing.assert_allclose(run.signal(theirs), 1.0 + run.t, atol=1e-8)


def test_an_angle_counts_turns():
    model, node, hinge = rotor("R3xSO3")
    node.angular_velocity = (0, 0, 5.0)
    angle = model.add(JointSensor(hinge))
    run = mbs.simulate(model, 4.0, 0.05)
    np.testing.assert_allclose(run.signal(angle), 5.0 * run.t, atol=1e-9)


@pytest.mark.ci
def test_a_winch_pulls():
    """The pull of a line actuator, and an internal variable of another element that is read by name."""
    model, node, place, _ = cart("SE3")
    anchor = model.add_node((2, 0, 0))
    model.fix(anchor)
    filtered = model.add(LowPass(3.0, 0.2))
    model.add(LineActuator(node, anchor, 0.5 * Signal.of(filtered, "state 1") + 0.0 * filtered))
    cut = model.add(Saturation(lambda t: 5.0 * t, (-np.inf, 1.0)))
    model.add(LineActuator(node, anchor, cut))
    run = mbs.simulate(model, 0.6, 0.005)
    t, T = run.t, 0.2
    state = 3.0 * (1 - np.exp(-t / T))
    np.testing.assert_allclose(run.signal(filtered["state 1"]), state, atol=2e-3)
    first = 3.0 * (t**2 / 2 - T * t + T**2 * (1 - np.exp(-t / T)))
    late = np.maximum(t - 0.2, 0.0)
    second = np.where(t < 0.2, 5.0 * t**3 / 6, 5.0 * 0.2**3 / 6 + 0.1 * late + late**2 / 2)
    np.testing.assert_allclose(run.signal(place), (0.5 * first + second) / 0.5, atol=2e-4)


def test_equilibrium_and_modes_of_a_controlled_rotor():
    """An integrator finds its state; frequencies are the roots of the closed loop."""
    model, node, hinge = rotor("SE3")
    angle, rate = model.add(JointSensor(hinge)), model.add(JointSensor(hinge, "coordinate_rate"))
    model.add(Moment(node, (0, 0, 0.5)))
    servo = model.add(PID(0.2 - angle, P=40.0, I=10.0, D=3.0, rate=-rate))
    model.add(JointActuator(hinge, servo))
    rest = mbs.statics(model)
    assert rest.signal(angle)[-1] == pytest.approx(0.2, abs=1e-9)
    assert rest.signal(servo)[-1] == pytest.approx(-0.5, abs=1e-9)
    modes = mbs.modes(model, 2, rest.state(-1))
    roots = np.roots([0.5, 3.0, 40.0, 10.0])
    np.testing.assert_allclose(2 * np.pi * modes.frequencies, np.sort(np.abs(roots))[:2], rtol=1e-6)
    run = mbs.simulate(model, 1.5, 0.01, initial=rest.state(-1))
    np.testing.assert_allclose(run.signal(angle), 0.2, atol=1e-9)


def test_moments_on_a_node():
    model, node, _ = rotor("R3xSO3")
    turn = model.add(NodeSensor(node, "angular_velocity", (0, 0, 1), frame="body"))
    model.add(MomentActuator(node, 2.0 - 0.5 * turn, (0, 0, 2.0), frame="body"))
    run = mbs.simulate(model, 1.0, 0.005)
    np.testing.assert_allclose(run.signal(turn), 4.0 * (1 - np.exp(-run.t)), atol=2e-5)


@pytest.mark.parametrize("kind", ["place", "length", "function"])
def test_functions_of_sensors_are_asked_where_these_are(kind: str) -> None:
    """A magnet is pushed up by ``4 m g / z^2``, and begins at 1 m: never asked far from there, as at zero."""
    model, seen = mbs.Model(gravity=(0, 0, -9.81)), list[float]()
    magnet = model.add_node((0, 0, 1), name="magnet")
    model.add(PointMass(magnet, 1.0))
    model.fix(magnet, (True, True, False), True)
    sensor = {
        "place": lambda: NodeSensor(magnet, "position", (0, 0, 1)),
        "length": lambda: LineSensor(model.ground, magnet, "length"),
        "function": lambda: FunctionSensor([magnet], lambda motion: motion.x[0, 2]),
    }[kind]()

    def push(t: float, x: Array, u: Array) -> float:
        seen.append(float(u[0]))
        return 4 * 9.81 / float(u[0]) ** 2

    model.add(ForceActuator(magnet, model.add(Block(model.add(sensor), g=push)), (0, 0, 1)))
    run = mbs.simulate(model, 0.1, 0.01)
    assert run.acceleration("magnet")[0, 2] == pytest.approx(3 * 9.81)
    rest = mbs.statics(model, ramp=False)
    assert rest.position("magnet")[-1, 2] == pytest.approx(2.0, rel=1e-9)
    mbs.linearize(model)
    model.check()
    assert min(seen) > 0.5


@pytest.mark.parametrize(("way", "first"), [("linear", -2.0), ("state", 3.0), ("chain", 12.0)])
def test_blocks_begin_one_after_the_other(way: str, first: float) -> None:
    """A function behind other blocks is asked where these put it, not at zero."""
    model, seen = mbs.Model(), list[float]()
    place = model.add(NodeSensor(model.add_node((2, 0, 0)), "position", (1, 0, 0)))
    model.add(RigidBody(model.nodes[-1], 1.0, (1, 1, 1)))
    before: Signal | Block | PID
    if way == "linear":
        before = model.add(PID(place - 3.0, 2.0))
    elif way == "state":
        before = model.add(Block(place, f=lambda t, x, u: u - x, initial=[3.0]))
    else:
        before = place
        for _ in range(10):
            before = model.add(Block(before, g=lambda t, x, u: u + 1.0))

    def inverse(t: float, x: Array, u: Array) -> float:
        seen.append(float(u[0]))
        return 1.0 / u[0]

    last = model.add(Block(before, g=inverse))
    run = mbs.simulate(model, 0.05, 0.01)
    assert seen[0] == pytest.approx(first) and min(np.abs(seen)) > 1.0
    assert run.signal(last)[0] == pytest.approx(1.0 / first)


def test_what_reads_a_block_that_reads_itself_waits_for_it() -> None:
    """``y = place + y/2``, and a function of it that was added before."""
    model, seen = mbs.Model(), list[float]()
    place = model.add(NodeSensor(model.add_node((2, 0, 0)), "position", (1, 0, 0)))
    model.add(RigidBody(model.nodes[-1], 1.0, (1, 1, 1)))
    around = Junction()
    last = model.add(Block(around, g=lambda t, x, u: (seen.append(float(u[0])), 1.0 / u[0])[1]))
    around.connect(place + 0.5 * around)
    model.add(around)
    run = mbs.simulate(model, 0.05, 0.01)
    assert min(seen) > 1.0 and run.signal(last)[0] == pytest.approx(0.25)
