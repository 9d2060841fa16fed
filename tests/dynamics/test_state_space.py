"""The linear model as a state space: against one by hand, against runs in time, and its own damping and modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import (
    Beam,
    BeamSection,
    ForceActuator,
    Harmonic,
    JointActuator,
    JointSensor,
    Junction,
    LowPass,
    NodeSensor,
    PointMass,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    RollingDisc,
)

M, m, l, J, g = 1.0, 0.2, 0.5, 0.017, 9.81


def cart_and_pole() -> tuple[mbs.Model, Junction, dict[str, Any]]:
    """A pole upright on a cart, pushed through a motor with a lag of 50 ms."""
    model = mbs.Model(gravity=(0, 0, -g))
    cart, pole = model.add_node((0, 0, 0), name="cart"), model.add_node((0, 0, l), name="pole")
    model.add(PointMass(cart, M))
    model.add(RigidBody(pole, m, (J, J, 1e-3)))
    rail = model.add(PrismaticJoint(model.ground, cart, (1, 0, 0)), name="rail")
    hinge = model.add(RevoluteJoint(cart, pole, (0, 1, 0), point=(0, 0, 0)), name="hinge")
    force = model.add(Junction(0.0), name="force")
    model.add(JointActuator(rail, model.add(LowPass(force, 0.05))))
    place = model.add(JointSensor(rail, "coordinate"))
    angle = model.add(JointSensor(hinge, "coordinate"))
    across = model.add(NodeSensor(pole, "acceleration", (1, 0, 0)))
    return model, force, {"place": place, "both": place + 2.0 * angle - 3.0, "across": across}


def response(system: Any, s: complex) -> Array:
    """Transfer matrix at a complex frequency."""
    return np.asarray(system.C @ np.linalg.solve(s * np.eye(len(system.A)) - system.A, system.B) + system.D)


def test_cart_and_pole_by_hand() -> None:
    mass = np.array([[M + m, m * l], [m * l, J + m * l**2]])
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [np.linalg.solve(mass, np.diag([0, m * g * l])), np.zeros((2, 2))]])
    B = np.concatenate([[0, 0], np.linalg.solve(mass, [1, 0])])[:, None]
    model, force, outputs = cart_and_pole()
    system = mbs.linearize(model).state_space({"force": force}, outputs)
    by_name = mbs.linearize(model).state_space({"force": "force"}, outputs)
    np.testing.assert_array_equal(by_name.B, system.B)
    assert system.input_names == ("force",) and system.output_names == ("place", "both", "across")
    assert system.A.shape == (5, 5) and system.D.shape == (3, 1)
    expected = [*np.linalg.eigvals(A), -20.0]
    np.testing.assert_allclose(np.sort(np.linalg.eigvals(system.A).real), np.sort(np.real(expected)), atol=1e-6)
    for s in (1.0j, 3.0 + 1.0j, 40.0j):
        z = np.linalg.solve(s * np.eye(4) - A, B)[:, 0] / (0.05 * s + 1)
        by_hand = [z[0], z[0] + 2 * z[1], s**2 * (z[0] + l * z[1])]
        np.testing.assert_allclose(response(system, s)[:, 0], by_hand, rtol=1e-9)


@pytest.mark.slow
def test_a_beam_in_time() -> None:
    """Small forces: runs converge to the answer of the state space; the acceleration jumps with the force."""
    push = Harmonic(1e-3, frequency=3.0)

    def build(law: Any) -> tuple[mbs.Model, Junction, dict[str, Any]]:
        model = mbs.Model("SE3")
        section = BeamSection.rectangle(0.03, 0.01, E=70e9, nu=0.3, rho=2700).with_damping(2e-3)
        beam = Beam.line(model, (0, 0, 0), (1, 0.3, 0), section, 2)
        model.fix(beam.nodes[0])
        force = model.add(Junction(law))
        model.add(ForceActuator(beam.nodes[-1], force, (0, 0, 1)))
        outputs = {
            quantity: model.add(NodeSensor(beam.nodes[1], quantity, (0, 0, 1)))
            for quantity in ("position", "velocity", "acceleration")
        }
        return model, force, outputs

    model, force, outputs = build(0.0)
    system = mbs.linearize(model).state_space({"force": force}, outputs)
    modes = mbs.modes(model, 3).frequencies
    own = np.abs(np.linalg.eigvals(system.A)) / (2 * np.pi)
    for frequency in modes:
        assert np.abs(own - frequency).min() < 1e-7 * frequency
    model, _, outputs = build(push)
    t = np.linspace(0.0, 0.2, 2001)
    _, y, _ = scipy.signal.lsim(system, [push(own) for own in t], t)
    errors = []
    for h in (2e-3, 1e-3):
        run = mbs.simulate(model, 0.2, h)
        found = np.stack([run.signal(sensor) for sensor in outputs.values()], axis=1)
        exact = y[:: round(h / 1e-4)]
        errors.append(np.abs(found - exact)[:, :2].max(axis=0) / np.abs(exact)[:, :2].max(axis=0))
    assert (errors[1] < 0.02).all() and (errors[0] / errors[1] > 3.0).all(), errors


def test_what_is_no_state_space_is_refused() -> None:
    model, force, outputs = cart_and_pole()
    linear = mbs.linearize(model)
    place = outputs["place"]
    refusals: list[tuple[Any, Any, str]] = [
        ({"force": 3.0}, outputs, r"inputs\['force'\] must be a sensor, a block or a sum of signals, received 3.0"),
        ({"force": 2.0 * force}, outputs, r"inputs\['force'\] must be a block or a sensor with one output"),
        ({"force": force}, {"place": "plaze"}, r"outputs\['place'\]: nothing in the model is called 'plaze'"),
        ({"force": force}, {"place": "hinge"}, r"outputs\['place'\] must be a sensor, a block or a sum"),
        ([force], outputs, r"inputs must be a dict, as \{name: value\}, received"),
        ({"force": Junction(0.0)}, {"place": place}, "is not part of this model|not in a model"),
    ]
    for inputs, given, words in refusals:
        with pytest.raises(mbs.ModelError, match=words):
            linear.state_space(inputs, given)
    disc = mbs.Model(gravity=(0, 0, -g))
    wheel = disc.add_node((0, 0, 0.3), angular_velocity=(0, 0, 0))
    disc.add(RigidBody(wheel, 1.0, (0.01, 0.02, 0.01)))
    rolls = disc.add(RollingDisc(disc.ground, wheel, (0, 0, 1), (0, 1, 0), 0.3))
    lean = disc.add(JointSensor(rolls, "coordinate", coordinate="tilt"))
    with pytest.raises(mbs.ModelError, match="joints that act on velocities"):
        mbs.linearize(disc).state_space({}, {"tilt": lean})
