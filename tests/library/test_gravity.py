"""Parts with a gravity of their own do what they would do in a model with that gravity."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from catalogue import COUPLED, SHAPES, _beam, _higher, build, modal_body
from motions import random_motion, residual

import fem_mbs as mbs
from fem_mbs.contracts import Element
from fem_mbs.elements import Gravity, PointMass, RevoluteJoint, RigidBody, SpringDamper, Truss
from fem_mbs.system.matrices import stiffness_entries
from fem_mbs.testing import Stage

OWN = np.array([1.0, -2.0, 3.0])
PARTS: dict[str, Callable[[Stage], Element]] = {
    "rigid body": lambda n: RigidBody(n.line[1], 2.0, (1.0, 2.0, 2.5), (0.1, 0.2, 0.3)),
    "point mass": lambda n: PointMass(n.line[1], 2.0),
    **{f"beam, {shape}": lambda n, shape=shape: _beam(shape, COUPLED, "SE3", n) for shape in SHAPES},
    "beam of order 3": lambda n: _higher(3, "twisted with offsets", COUPLED, n),
    "truss": lambda n: Truss(
        n.line[0], n.line[2], COUPLED, point_a=n.line[0].at((0.1, 0.2, -0.1)), point_b=n.line[2].at((0.3, 0.0, 0.2))
    ),
    "modal body": modal_body,
}


@pytest.mark.parametrize("name", PARTS)
def test_weight_is_that_of_a_model_with_this_gravity(name: str) -> None:
    """Forces, how they change with displacements, and energies in any motion, to the last digits."""
    found = []
    for own in (True, False):
        model, (part,) = build(PARTS[name])
        if own:
            model.add(Gravity(part, OWN))
        else:
            model.gravity = OWN
        system = mbs.System(model)
        motion = random_motion(system, 3)
        evaluation = system.evaluate(motion, np.zeros(system.m), system.prescribe(0.0))
        K = system.solver.matrix(system.solver.stored(stiffness_entries(system, evaluation))).toarray()
        found.append((residual(system, motion), K, np.array(system.energy(motion).gravity)))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * np.abs(other).max())


@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_own_coordinates_feel_it(group: str) -> None:
    """A body with modes on a hinge: the run in a model with this gravity."""
    runs = []
    for own in (True, False):
        model = mbs.Model(group, gravity=(0, 0, -9.81) if own else OWN)
        node = model.add_node((0.5, 0, 0))
        body = model.add(modal_body(Stage([node] * 3, [node] * 3, None, model)))  # type: ignore[arg-type]
        model.add(RevoluteJoint(model.ground, node, (0, 1, 0), (0, 0, 0)))
        if own:
            model.add(Gravity(body, OWN))
        runs.append(mbs.simulate(model, 0.25, 0.01))
    np.testing.assert_allclose(runs[0].u, runs[1].u, rtol=0, atol=1e-11)
    np.testing.assert_allclose(runs[0].energy.total, runs[1].energy.total, rtol=0, atol=1e-10)


def test_weightless_body_oscillates_about_its_spring() -> None:
    """Beside one that feels the gravity of the model; its energy stays."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    floats, falls = (model.add_node((x, 0, -1), velocity=(0, 0, 0.1)) for x in (0, 1))
    for node in (floats, falls):
        body = model.add(RigidBody(node, 2.0, (1, 1, 1)))
        if node is floats:
            model.add(Gravity(body))
    model.add(SpringDamper(model.ground, floats, 50.0))
    solution = mbs.simulate(model, 0.25, 0.001, mbs.GeneralizedAlpha(1.0))
    t = solution.t
    np.testing.assert_allclose(solution.displacement(floats)[:, 2], 0.02 * np.sin(5 * t), rtol=0, atol=1e-6)
    np.testing.assert_allclose(solution.displacement(falls)[:, 2], 0.1 * t - 9.81 / 2 * t**2, rtol=0, atol=1e-10)
    np.testing.assert_allclose(solution.energy.total, solution.energy.total[0], rtol=0, atol=1e-6)


def test_shaking_is_a_function_of_time() -> None:
    model = mbs.Model(gravity=(0, 0, -9.81))
    node = model.add_node((0, 0, 0))
    body = model.add(RigidBody(node, 2.0, (1, 1, 1)))
    model.add(Gravity(body, lambda t: (np.cos(3 * t), 0, 0)))
    solution = mbs.simulate(model, 0.4, 0.001)
    x = solution.position(node)
    np.testing.assert_allclose(x[:, 0], (1 - np.cos(3 * solution.t)) / 9, rtol=0, atol=1e-6)
    np.testing.assert_allclose(x[:, 1:], 0.0, atol=1e-12)


def test_bad_input_is_refused_by_name() -> None:
    model = mbs.Model()
    node = model.add_node((1, 0, 0), name="end")
    body = model.add(RigidBody(node, 2.0, (1, 1, 1)), name="hull")
    spring = model.add(SpringDamper(model.ground, node, 1.0), name="strut")
    with pytest.raises(mbs.ModelError, match="Gravity on SpringDamper 'strut': it has no mass"):
        Gravity(spring)
    with pytest.raises(mbs.ModelError, match="Gravity: part must be"):
        Gravity(node)  # type: ignore[arg-type]
    with pytest.raises(mbs.ModelError, match="acceleration must be three numbers"):
        Gravity(body, 3.0)
    for _ in range(2):
        model.add(Gravity(body))
    with pytest.raises(mbs.ModelError, match="RigidBody 'hull': has 2 gravities of its own"):
        mbs.System(model)
