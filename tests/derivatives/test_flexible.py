"""Derivatives against what a flexible body is reduced from, whose modes may share their frequencies."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import fem_mbs as mbs
from fem_mbs.derivatives.parameter_derivatives import _seen
from fem_mbs.derivatives.parameters import ParameterSet
from fem_mbs.elements import FlexibleBody, Force, Interface, ModalBody, Reduction, RevoluteJoint, SphericalJoint

VALUES = {"E": 2e8, "rho": 7800.0, "L": 1.0, "b": 0.1}


def cantilever(
    b: float, modes: int, method: Literal["craig-bampton", "free"], E: float, rho: float, L: float, loaded: float = 1.0
) -> mbs.Model:
    """A bar of ``L x b x 0.1`` m: where ``b`` is 0.1 m, its modes of bending are pairs, of any axes."""
    skfem = pytest.importorskip("skfem")
    from skfem.io.meshio import to_meshio

    grid = np.linspace(0.0, L, 5), np.linspace(0.0, b, 2), np.linspace(0.0, 0.1, 2)
    ends = {"a": Interface.rigid(lambda p: p[:, 0] < 1e-9), "b": Interface.average(lambda p: p[:, 0] > L - 1e-9)}
    mesh = to_meshio(skfem.MeshHex.init_tensor(*grid))
    model = mbs.Model("SE3", gravity=(0.0, 0.0, -9.81 * loaded))
    body = model.add(FlexibleBody.place(model, Reduction.solid(mesh, E, 0.3, rho, ends, modes=modes, method=method)))
    model.fix(body.node("a"))
    model.add(Force(body.node("b"), (0.0, 1e3 * loaded, 5e2 * loaded)))
    return model


@pytest.mark.slow
@pytest.mark.parametrize(
    ("b", "modes", "method"),
    [
        (0.1, 5, "craig-bampton"),
        pytest.param(0.1, 4, "free", marks=pytest.mark.slow),
        pytest.param(0.100002, 5, "free", marks=pytest.mark.slow),
    ],
)
def test_modes_of_one_frequency_are_the_same_in_bodies_beside(b: float, modes: int, method: Any) -> None:
    """Direct derivatives, which hold amplitudes, are those of whole runs, pairs that are cut apart included."""

    def build(b: float = b, E: float = 2e8, rho: float = 7800.0, L: float = 1.0) -> mbs.Model:
        return cantilever(b, modes, method, E, rho, L)

    values = {**VALUES, "b": b}
    found = [
        mbs.sensitivities(build, values, 0.01, 0.005, how=how).of(lambda run: run.position("body.b")[-1])
        for how in ("direct", "copies")
    ]
    for name, own in found[0].items():
        np.testing.assert_allclose(own, found[1][name], rtol=1e-6, atol=1e-6 * np.abs(found[1][name]).max())


@pytest.mark.slow
def test_frequencies_and_equilibria_of_square_bodies() -> None:
    """``omega ~ sqrt(E/rho)``; places of equilibria are differences of those of models with other numbers."""

    def build(E: float = 2e8, rho: float = 7800.0) -> mbs.Model:
        return cantilever(0.1, 5, "craig-bampton", E, rho, 1.0, 0.0)

    def loaded(E: float = 2e8, rho: float = 7800.0) -> mbs.Model:
        return cantilever(0.1, 5, "craig-bampton", E, rho, 1.0)

    values = {"E": 2e8, "rho": 7800.0}
    found = mbs.sensitivities(build, values, of=mbs.modes).of(lambda modes: modes.frequencies[:6])
    expected = mbs.modes(build()).frequencies[:6]
    np.testing.assert_allclose(found["E"], 0.5 * expected / values["E"], rtol=1e-6)
    np.testing.assert_allclose(found["rho"], -0.5 * expected / values["rho"], rtol=1e-6)

    def tip(solution: Any) -> Any:
        return solution.position("body.b")[-1]

    found = mbs.sensitivities(loaded, values, of=mbs.statics).of(tip)
    for name, value in values.items():
        sides = [tip(mbs.statics(loaded(**{name: value * (1.0 + by)}))) for by in (1e-4, -1e-4)]
        np.testing.assert_allclose(found[name], (sides[0] - sides[1]) / (2e-4 * value), rtol=1e-5, atol=1e-12)


@pytest.mark.ci
def test_a_spinning_arm_that_stretches() -> None:
    """``u'' = (r + u) w^2 - k u/m``, ``((J + m (r + u)^2) w)' = 0``; rounding of what is stiff across it is no kink."""

    def arm(k: float, r: float, m: float = 2.0, w: float = 6.0) -> mbs.Model:
        s = np.array((1.0, r, 1.0, r))
        bend = 1e6 * np.outer(s, s) * ((12, 6, -12, 6), (6, 4, -6, 2), (-12, -6, 12, -6), (6, 2, -6, 4))
        K, turns, pair = np.zeros((12, 12)), np.array([1, -1, 1, -1]), np.array([[1, -1], [-1, 1]])
        across = bend * np.outer(turns, turns)
        for rows, stiffness in (
            ((1, 5, 7, 11), bend),
            ((2, 4, 8, 10), across),
            ((0, 6), k * pair),
            ((3, 9), 1e6 * pair),
        ):
            K[np.ix_(rows, rows)] += stiffness
        M = np.diag(np.repeat((5.0, 0.1, m, 0.01), 3))
        ends = {"hub": Interface.rigid([0]), "tip": Interface.rigid([1])}
        dofs = [(node, axis) for node in (0, 1) for axis in range(1, 7)]
        body = Reduction([(0, 0, 0), (r, 0, 0)], K, M, ends, dofs=dofs, method="guyan")
        model = mbs.Model()
        hub, tip = model.add(FlexibleBody.place(model, body, name="arm")).nodes
        model.add(RevoluteJoint(model.ground, hub, (0, 0, 1)))
        hub.angular_velocity = tip.angular_velocity = (0, 0, w)
        tip.velocity = (0, r * w, 0)
        return model

    def exact(k: float, r: float, m: float = 2.0, w: float = 6.0) -> float:
        def rates(t: float, y: np.ndarray) -> list[float]:
            turn = (0.11 + m * r**2) * w / (0.11 + m * (r + y[0]) ** 2)
            return [y[1], (r + y[0]) * turn**2 - k / m * y[0], turn]

        u, _, angle = solve_ivp(rates, (0.0, 0.1), [0.0, 0.0, 0.0], rtol=1e-11, atol=1e-13).y[:, -1]
        return float((r + u) * np.cos(angle))

    values = {"k": 2000.0, "r": 0.8}
    own, system = ParameterSet(arm, values, None, "test"), mbs.System(arm(**values))
    assert _seen(system, own.variations(system)).bends.max() < 1e-6
    runs = [mbs.sensitivities(arm, values, 0.1, 0.1 / steps, how="direct") for steps in (8, 16)]
    far, near = (run.of(lambda s: s.position("arm.tip")[-1, 0], relative=True) for run in runs)
    for name, value in values.items():
        sides = [exact(**{**values, name: value * by}) for by in (1.001, 0.999)]
        assert (4.0 * near[name] - far[name]) / 3.0 == pytest.approx((sides[0] - sides[1]) / 0.002, rel=1e-3)


@pytest.mark.ci
def test_damped_modes_about_a_point() -> None:
    """Directions that close velocities move amplitudes, too, and their damping with them."""

    def build(damping: float = 30.0, length: float = 0.9) -> mbs.Model:
        model = mbs.Model(gravity=(0.0, 0.0, -9.81))
        node = model.add_node((length, 0.0, 0.0), angular_velocity=(2.0, 1.44, 0.11), name="body")
        bends = {"translation": ((0.0, 0.0, 0.5),), "rotation": ((0.0, 0.05, 0.0),)}
        shares = {name: np.transpose(value) for name, value in bends.items()}
        model.add(ModalBody(node, 1.0, (0.1, 0.1, 0.1), [1.0], [90.0], modal_damping=[damping], **shares))
        model.add(SphericalJoint(model.ground, node, point=(0, 0, 0)))
        mbs.project_velocities(model)
        return model

    values = {"damping": 30.0, "length": 0.9}
    direct, copies = (mbs.sensitivities(build, values, 0.24, 0.04, how=how) for how in ("direct", "copies"))
    for query in (lambda s: s.history.u, lambda s: s.history.udot, lambda s: s.history.v):
        mine, others = direct.of(query), copies.of(query)
        for key in values:
            assert np.abs(mine[key] - others[key]).max() < 1e-6 * np.abs(others[key]).max(), key
