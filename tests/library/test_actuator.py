"""A force with a delay: exact answers, and a first-order internal variable in every part of the program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import meshio
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq

import fem_mbs as mbs
from fem_mbs.elements import FirstOrderActuator, RigidBody

TAU, GAIN, DAMPING = 0.2, 30.0, 10.0
GROUPS = ("R3xSO3", "SE3")


def held(law: Callable[[float, float, float], float], group: str = "R3xSO3") -> tuple[mbs.Model, FirstOrderActuator]:
    """Between two places that do not move."""
    model = mbs.Model(group)
    end = model.add_node((1, 0, 0))
    model.fix(end)
    return model, model.add(FirstOrderActuator(model.ground, end, law, TAU))


def regulated(group: str = "R3xSO3", velocity: float = 1.0) -> tuple[mbs.Model, mbs.Node, FirstOrderActuator]:
    """A body that is to stay at the distance 1."""
    model = mbs.Model(group)
    body = model.add_node((1, 0, 0), velocity=(velocity, 0, 0), name="body")
    model.add(RigidBody(body, 2.0, (1, 1, 1)))
    law = Regulator()
    return model, body, model.add(FirstOrderActuator(model.ground, body, law, TAU), name="motor")


class Regulator:
    """Pulls in proportion to how far and how fast the body goes."""

    def __call__(self, t: float, length: float, speed: float) -> float:
        return GAIN * (length - 1.0) + DAMPING * speed

    def by_length(self, t: float, length: float, speed: float) -> float:
        return GAIN

    def by_speed(self, t: float, length: float, speed: float) -> float:
        return DAMPING


def matrix() -> np.ndarray:
    """Of the linear system of displacement, velocity and force."""
    return np.array([[0, 1, 0], [0, 0, -0.5], [GAIN / TAU, DAMPING / TAU, -1.0 / TAU]])


@pytest.mark.parametrize("group", GROUPS)
def test_force_follows_exponentially(group: str) -> None:
    errors = []
    for h in (0.02, 0.01):
        model, actuator = held(lambda t, length, speed: 5.0, group)
        solution = mbs.simulate(model, 1.0, h, mbs.GeneralizedAlpha(0.8))
        errors.append(
            np.abs(solution.internal_variables(actuator, "force") - 5.0 * (1 - np.exp(-solution.t / TAU))).max()
        )
    assert errors[1] < 5e-3
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def test_modes_have_the_eigenvalues_of_the_linear_system() -> None:
    model, _, _ = regulated()
    model.fix(model.nodes[1], translation=False)
    found = mbs.modes(model, count=4, damped=True).eigenvalues
    exact = np.linalg.eigvals(matrix())
    for eigenvalue in exact[exact.imag >= 0]:
        assert np.abs(found - eigenvalue).min() < 1e-8 * abs(eigenvalue)


def test_statics_rests_the_force() -> None:
    """Hanging, the body is as far below as the law needs for its weight."""
    model = mbs.Model(gravity=(0, 0, -10.0))
    body = model.add_node((0, 0, -1))
    model.fix(body, translation=False)
    model.add(RigidBody(body, 2.0, (1, 1, 1)))
    actuator = model.add(
        FirstOrderActuator(model.ground, body, lambda t, length, speed: 80.0 * (length - 1.0) + 4.0, TAU, initial=4.0)
    )
    solution = mbs.statics(model, ramp=False)
    assert solution.internal_variables(actuator)[-1] == pytest.approx(20.0, rel=1e-9)
    assert solution.position(body)[-1, 2] == pytest.approx(-1.2, rel=1e-9)


@pytest.mark.slow
def test_events_see_it() -> None:
    """The force, which starts at zero, comes back to zero at an instant of the exact solution."""
    model, _, actuator = regulated()
    solution = mbs.simulate(
        model, 1.5, 0.002, mbs.GeneralizedAlpha(1.0), events=lambda state: state.u[0] if state.t > 0.01 else 1.0
    )
    start = np.array([0.0, 1.0, 0.0])
    exact = brentq(lambda t: (expm(matrix() * t) @ start)[2], 0.1, 1.0)
    assert solution.event_times[0][0] == pytest.approx(exact, abs=1e-4)
    assert solution(exact).u[0] == pytest.approx(0.0, abs=1e-3)


def test_results_are_known_by_name(tmp_path: Path) -> None:
    model, body, actuator = regulated()
    solution = mbs.simulate(model, 0.5, 0.01)
    assert solution.internal_variables(actuator).shape == (51, 1)
    assert np.array_equal(solution.internal_variables(actuator, "force"), solution.internal_variables(actuator)[:, 0])
    with pytest.raises(mbs.ModelError, match="'motor' has no internal variable 'power'; it has 'force'"):
        solution.internal_variables(actuator, "power")
    with pytest.raises(mbs.ModelError, match="is not part of this model"):
        solution.internal_variables(regulated()[2])
    assert "internal variables: 1 of kind 'state'" in str(model)
    solution.to_paraview(tmp_path / "run")
    scene = meshio.read(sorted(tmp_path.rglob("*.vtu"))[-1])
    assert 5 in np.concatenate(scene.cell_data["part"])  # the actuator is drawn


@pytest.mark.one
@pytest.mark.parametrize("method", [mbs.GeneralizedAlpha(0.8), mbs.UpdatedLagrangian(0.8), mbs.LieEuler()])
def test_state_is_stored_and_goes_on(method: mbs.Method, tmp_path: Path) -> None:
    model, _, actuator = regulated()
    whole = mbs.simulate(model, 0.4, 0.01, method)
    path = mbs.simulate(model, 0.2, 0.01, method).save(tmp_path / "half")
    rest = mbs.simulate(model, 0.4, 0.01, method, initial=mbs.load(path, model).checkpoint)
    assert np.array_equal(rest.internal_variables(actuator)[-1], whole.internal_variables(actuator)[-1])


@pytest.mark.parametrize(
    ("law", "message"),
    [
        (lambda t, length, speed: None, "its law must return one finite number, received None"),
        (lambda t, length, speed: 1.0 / 0.0, "its law failed at t = 0 s.*ZeroDivisionError"),
        (lambda t: 1.0, "its law failed.*TypeError"),
        (lambda t, length, speed: np.nan, "received nan"),
        (lambda t, length, speed: (1.0, 2.0), "must return one finite number"),
    ],
)
def test_a_law_that_fails_is_named(law: Callable[..., object], message: str) -> None:
    model, actuator = held(law)  # type: ignore[arg-type]
    with pytest.raises(mbs.LawError, match=f"{actuator}.*{message}"):
        mbs.simulate(model, 0.1, 0.01)


def test_bad_input_is_refused() -> None:
    model = mbs.Model()
    end = model.add_node((1, 0, 0))
    with pytest.raises(mbs.ModelError, match="law must be a function of t, length and speed, received 3"):
        FirstOrderActuator(model.ground, end, 3.0, TAU)  # type: ignore[arg-type]
    with pytest.raises(mbs.ModelError, match="time_constant must be a positive number, received 0"):
        FirstOrderActuator(model.ground, end, Regulator(), 0.0)
    with pytest.raises(mbs.ModelError, match="its two points are at the same place"):
        FirstOrderActuator(model.ground, model.add_node((0, 0, 0)), Regulator(), TAU)
