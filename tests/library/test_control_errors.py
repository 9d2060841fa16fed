"""What controllers refuse, and whether messages name it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
from plants import cart, rotor

import fem_mbs as mbs
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
    LineSensor,
    MultiplierSensor,
    NodeSensor,
    SampledController,
    SampledStateSpace,
    Saturation,
    Signal,
    StateSpace,
    TransferFunction,
)


@pytest.fixture
def parts():
    model, node, hinge = rotor("SE3")
    return model, node, hinge, model.add(JointSensor(hinge), name="angle")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda p: NodeSensor(p[1], "heat", (1, 0, 0)), ["NodeSensor", "quantity", "'angular_velocity'", "'heat'"]),
        (lambda p: NodeSensor(p[1], "velocity", (0, 0, 0)), ["direction"]),
        (lambda p: NodeSensor(p[1], "position", (1, 0, 0), frame="body"), ["position", "world"]),
        (lambda p: NodeSensor(3.0, "position", (1, 0, 0)), ["node made by model.add_node"]),
        (lambda p: JointSensor(p[2], "torque"), ["quantity", "'coordinate'", "'coordinate_rate'"]),
        (lambda p: JointSensor(p[2], coordinate="slide"), ["'rotation z'", "'slide'"]),
        (lambda p: JointSensor(FixedJoint(p[0].ground, p[1])), ["leaves a motion free"]),
        (lambda p: LineSensor(p[1], p[1]), ["LineSensor: connects", "with itself"]),
        (lambda p: MultiplierSensor(p[2], "spin"), ["closes", "'translation x'", "'spin'"]),
        (lambda p: MultiplierSensor(p[2]), ["say which"]),
        (lambda p: FunctionSensor([], lambda m: 0.0), ["one node at least"]),
        (lambda p: Signal.of(p[3], "speed"), ["'angle'", "'value'", "'speed'"]),
        (lambda p: p[3] * p[3], ["number", "Block"]),
        (lambda p: p[3] / 0.0, ["other than zero"]),
        (lambda p: p[3] + "x", ["signal", "'x'"]),
        (lambda p: p[3][2], ["1 outputs", "2"]),
        (lambda p: PID(p[3], P=np.nan), ["PID", "P", "finite"]),
        (lambda p: PID(p[3], P=1.0, D=1.0), ["filter", "rate"]),
        (lambda p: PID(p[3], D=1.0, filter=0.1, rate=p[3]), ["exclude"]),
        (lambda p: PID(p[3], P=1.0, limits=(2.0, -2.0)), ["limits", "below", "(2, -2)"]),
        (lambda p: PID(p[3], P=1.0, limits=3.0), ["limits", "two numbers"]),
        (lambda p: PID(p[3], I=1.0, limits=(-1.0, 1.0)), ["anti_windup"]),
        (lambda p: PID(p[3], D=1.0, filter=-0.1), ["filter", "positive"]),
        (lambda p: Saturation(p[3], (1.0, 1.0)), ["below"]),
        (lambda p: TransferFunction(p[3], [1.0, 0.0, 0.0], [1.0, 1.0]), ["improper", "degree 2", "1"]),
        (lambda p: TransferFunction(p[3], [1.0], [0.0, 0.0]), ["den", "other than zero"]),
        (lambda p: TransferFunction(p[3], [[1.0, 2.0]], [1.0, 1.0]), ["num", "list of numbers"]),
        (lambda p: StateSpace(p[3], np.ones((2, 3)), 1.0, 1.0), ["square", "(2, 3)"]),
        (lambda p: StateSpace(p[3], np.eye(2), np.ones((3, 1)), np.ones((1, 2))), ["B", "(2, 1)"]),
        (lambda p: StateSpace(p[3], np.eye(2), [1, 1], [1, 1, 1]), ["C", "(n, 2)"]),
        (lambda p: StateSpace([p[3], p[3]], 1.0, [1.0, 1.0], 1.0, np.ones((2, 2))), ["D", "(1, 2)"]),
        (lambda p: StateSpace(p[3], np.eye(2), [1, 1], [1, 1], initial=[1.0]), ["initial", "(2,)"]),
        (lambda p: StateSpace(p[3], 3.0), ["A", "scipy.signal"]),
        (lambda p: StateSpace(p[3], scipy.signal.dlti([1.0], [1.0, 0.5], dt=0.1)), ["continuous", "SampledStateSpace"]),
        (lambda p: StateSpace(p[3], scipy.signal.lti([1, 0, 0], [1, 1])), ["no state space"]),
        (lambda p: StateSpace([], 1.0, 1.0, 1.0), ["inputs", "one signal at least"]),
        (lambda p: SampledStateSpace(p[3], None, 0.5, 1.0, 1.0), ["period"]),
        (lambda p: SampledStateSpace(p[3], 0.2, scipy.signal.dlti([1], [1, 0.5], dt=0.1)), ["period", "0.2", "0.1"]),
        (lambda p: SampledStateSpace(p[3], 0.1, scipy.signal.lti([1], [1, 0.5])), ["discrete", "StateSpace"]),
        (lambda p: SampledController(p[3], -0.1, lambda t, x, u: u), ["period", "positive"]),
        (lambda p: SampledController(p[3], 0.1, lambda t, x, u: u, delay=0.2), ["delay", "0.1", "0.2"]),
        (lambda p: SampledController(p[3], 0.1, 3.0), ["output", "function"]),
        (lambda p: SampledController(p[3], 0.1, lambda t, x, u: u, initial=[1.0]), ["update", "initial"]),
        (lambda p: Block(p[3]), ["g"]),
        (lambda p: Block(p[3], lambda t, x, u: -x), ["initial"]),
        (lambda p: Block(p[3], lambda t, x, u: -x, initial=[0, 0], outputs=3), ["2 states", "3"]),
        (lambda p: ForceActuator(p[1], StateSpace(p[3], 1.0, 1.0, [[1.0], [2.0]]), (1, 0, 0)), ["2 outputs", "[0]"]),
        (lambda p: ForceActuator(p[1], None, (1, 0, 0)), ["input", "signal", "None"]),
    ],
)
def test_refused_where_it_is_made(parts, make, words):
    with pytest.raises(mbs.ModelError) as error:
        make(parts)
    for word in words:
        assert word in str(error.value), str(error.value)


def controlled(signal_of):
    model, node, place, _ = cart("SE3")
    model.add(ForceActuator(node, signal_of(model, place), (1, 0, 0)), name="drive")
    return model


@pytest.mark.parametrize(
    ("signal_of", "error", "words"),
    [
        (lambda m, x: PID(x, P=1.0), mbs.ModelError, ["ForceActuator 'drive'", "PID", "not part of this model"]),
        (lambda m, x: cart("SE3")[2], mbs.ModelError, ["'drive'", "NodeSensor 'place'", "to the same model"]),
        (lambda m, x: m.add(Junction(), name="open"), mbs.ModelError, ["Junction 'open'", "connect"]),
        (
            lambda m, x: m.add(Block(x, g=lambda t, x, u: [1.0, 2.0]), name="mine"),
            mbs.FemMbsError,
            ["Block 'mine'", "g", "one finite number", "[1.0, 2.0]"],
        ),
        (
            lambda m, x: m.add(Block(x, lambda t, x, u: 1 / 0, initial=[0.0]), name="mine"),
            mbs.FemMbsError,
            ["Block 'mine'", "f", "ZeroDivisionError"],
        ),
        (
            lambda m, x: m.add(
                Block(x, lambda t, x, u: -x, None, initial=[1.0], jacobian=lambda t, x, u: 3.0), name="mine"
            ),
            mbs.FemMbsError,
            ["Block 'mine'", "jacobian", "(1, 1)"],
        ),
        (
            lambda m, x: m.add(SampledController(x, 0.01, lambda t, x, u: "on"), name="clock"),
            mbs.FemMbsError,
            ["SampledController 'clock'", "output", "'on'"],
        ),
        (
            lambda m, x: m.add(FunctionSensor([m.ground], lambda motion: motion.x), name="eye"),
            mbs.FemMbsError,
            ["FunctionSensor 'eye'", "one finite number"],
        ),
        (lambda m, x: lambda t: (t, t), mbs.FemMbsError, ["'drive'", "one finite number"]),
    ],
)
def test_refused_in_a_run(signal_of, error, words):
    model = controlled(signal_of)
    with pytest.raises(error) as refusal:
        mbs.simulate(model, 0.05, 0.01)
    for word in words:
        assert word in str(refusal.value), str(refusal.value)


def test_loop_of_blocks_without_a_solution_is_named():
    model, node, place, _ = cart("SE3")
    back = model.add(Junction(), name="back")
    block = model.add(LeadLag(place + back, lead=0.1, lag=0.2), name="lead")
    back.connect(2.0 * block)
    model.add(ForceActuator(node, back, (1, 0, 0)))
    with pytest.raises(mbs.SingularSystemError, match=r"'output' of Junction 'back'.*'output' of LeadLag 'lead'.*loop"):
        mbs.simulate(model, 0.1, 0.01)
    with pytest.raises(mbs.ModelError, match="connected already"):
        back.connect(place)
    with pytest.raises(mbs.ModelError, match=r"is made without: Junction\(\)"):
        Junction(0.0).connect(place)


def test_loop_that_takes_away_all_inertia_is_named():
    model, node, *_ = cart("SE3", mass=0.5)
    felt = model.add(NodeSensor(node, "acceleration", (1, 0, 0)), name="felt")
    model.add(ForceActuator(node, 0.5 * felt + 1.0, (1, 0, 0)))
    with pytest.raises(mbs.SingularSystemError, match="'value' of NodeSensor 'felt'.*inertia"):
        mbs.simulate(model, 0.1, 0.01)


def test_queries_of_what_is_no_signal(parts):
    model, node, hinge, angle = parts
    run = mbs.simulate(model, 0.02, 0.01)
    with pytest.raises(mbs.ModelError, match="a sensor, a block"):
        run.signal(node)
    with pytest.raises(mbs.ModelError, match="not part of this model"):
        run.signal(JointSensor(hinge))
    assert JointActuator(hinge, angle).coordinate == "rotation z"
