"""Bodies with modal amplitudes against exact frequencies and motions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import eigh
from scipy.optimize import brentq

import fem_mbs as mbs
from fem_mbs.elements import Bushing, Force, ModalBody, PointMass, RevoluteJoint, RigidBody

GROUPS = ("R3xSO3", pytest.param("SE3", marks=pytest.mark.slow))
MASS, INERTIA = 3.0, (0.2, 0.3, 0.4)
K = np.array([50.0, 200.0])
M = np.array([[1.0, 0.2], [0.2, 0.8]])
S = np.array([[0.5, 0.0], [0.0, 0.3], [0.2, 0.4]])
C = np.array([[0.0, 0.05], [0.1, 0.0], [0.0, 0.1]])


def order(coarse: float, fine: float) -> float:
    return float(np.log2(coarse / fine))


def test_frequencies_of_a_held_body_are_those_of_its_matrices() -> None:
    model = mbs.Model()
    node = model.add_node((0, 0, 0))
    model.fix(node)
    model.add(ModalBody(node, MASS, INERTIA, M, K, translation=S, rotation=C))
    exact = np.sqrt(eigh(np.diag(K), M, eigvals_only=True))
    assert mbs.modes(model, count=2).angular == pytest.approx(exact, rel=1e-10)


def test_no_turn_is_too_fast_for_shapes_that_are_given(caplog: pytest.LogCaptureFixture) -> None:
    """What stiffens a mesh that turns is not known of them, nor what they leave out."""
    model = mbs.Model()
    node = model.add_node((0, 0, 0), angular_velocity=(0, 0, 2.0))
    model.add(ModalBody(node, MASS, INERTIA, M, K, translation=S, rotation=C))
    mbs.simulate(model, 0.002, 1e-3)
    assert not caplog.records


@pytest.mark.parametrize("group", GROUPS)
def test_frequencies_of_a_free_body_are_those_of_the_whole_matrix(group: str) -> None:
    """Six zeros, and frequencies above those of the held body."""
    model = mbs.Model(group)
    node = model.add_node((1, 2, 3), [[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    body = model.add(ModalBody(node, MASS, INERTIA, M, K, translation=S, rotation=C, center_of_mass=(0.1, 0, 0.2)))
    np.testing.assert_array_equal(body.matrix(), body.matrix().T)
    stiffness = np.zeros((8, 8))
    stiffness[6:, 6:] = np.diag(K)
    exact = np.sqrt(eigh(stiffness, body.matrix(), eigvals_only=True)[6:])
    found = mbs.modes(model, count=8).angular
    assert found[:6] == pytest.approx(0.0, abs=1e-6)
    assert found[6:] == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize("group", GROUPS)
def test_amplitudes_sag_and_swing_about_their_rest(group: str) -> None:
    """Under its weight a held body with one mode moves by ``S g/K (1 - cos omega t)``, to second order."""
    errors = []
    for h in (0.01, 0.005):
        model = mbs.Model(group, gravity=(0, 0, -9.81))
        node = model.add_node((0, 0, 0))
        model.fix(node)
        body = model.add(ModalBody(node, 2.0, (1, 1, 1), [1.2], [75.0], translation=[[0], [0], [0.7]]))
        solution = mbs.simulate(model, 0.25, h, mbs.GeneralizedAlpha(0.9))
        exact = -0.7 * 9.81 / 75.0 * (1.0 - np.cos(np.sqrt(75.0 / 1.2) * solution.t))
        errors.append(np.abs(solution.internal_variables(body, "mode 1") - exact).max())
    assert errors[1] < 1.5e-3
    assert order(*errors) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("method", [mbs.GeneralizedAlpha(0.8), mbs.RadauIIA(), mbs.LieEuler()], ids=str)
def test_an_amplitude_moves_as_a_mass_on_a_spring_step_by_step(method: mbs.Method) -> None:
    """From rest under its weight, which acts at once, in long steps."""
    model, p, m, k, c = mbs.Model(gravity=(0, 0, -9.81)), 0.7, 1.2, 75.0, 1.5
    node, mass = model.add_node((0, 0, 0)), model.add_node((1, 0, 0))
    model.fix(node)
    model.fix(mass, translation=(True, True, False))
    mode = model.add(ModalBody(node, 2.0, (1, 1, 1), [m], [k], modal_damping=[c], translation=[[0], [0], [p]]))
    model.add(PointMass(mass, m))
    model.add(Force(mass, (0, 0, (m - p) * 9.81)))
    model.add(Bushing(model.ground, mass, [0, 0, k, 0, 0, 0], [0, 0, c, 0, 0, 0]))
    run = mbs.simulate(model, 0.5, 0.05, method)
    np.testing.assert_allclose(run.internal_variables(mode)[:, 0], run.position(mass)[:, 2], rtol=0, atol=1e-9)
    np.testing.assert_allclose(run.udot[:, 0], run.velocity(mass)[:, 2], rtol=0, atol=1e-8)


def test_damping_is_that_of_its_matrix() -> None:
    model = mbs.Model()
    node = model.add_node((0, 0, 0))
    model.fix(node)
    model.add(ModalBody(node, 2.0, (1, 1, 1), [1.2], [75.0], modal_damping=[2.0 * 0.03 * np.sqrt(1.2 * 75.0)]))
    assert mbs.modes(model, count=1, damped=True).damping == pytest.approx([0.03], rel=1e-8)


@pytest.mark.ci
@pytest.mark.parametrize("group", GROUPS)
def test_free_motion_is_of_second_order_and_keeps_momentum_and_energy(group: str) -> None:
    found, kept = [], []
    for h in (0.02, 0.01, 0.005):
        model = mbs.Model(group)
        node = model.add_node((0, 0, 0), velocity=(1, 0, 0.5), angular_velocity=(0.5, 2.0, -1.0))
        body = model.add(ModalBody(node, MASS, INERTIA, M, K, translation=S, rotation=C))
        solution = mbs.simulate(model, 0.4, h, mbs.GeneralizedAlpha(1.0))
        every = slice(None, None, round(0.02 / h))
        found.append(np.hstack([solution.position(node)[every], solution.internal_variables(body)[every]]))
        total = solution.energy.total
        kept.append(np.abs(total - total[0]).max() / total[0])
    apart = [np.abs(a - b).max() for a, b in zip(found, found[1:], strict=False)]
    assert order(*apart) == pytest.approx(2.0, abs=0.1)
    assert kept[-1] < 1e-3
    assert order(*kept[1:]) == pytest.approx(2.0, abs=0.2)


def clamped(n: int) -> tuple[np.ndarray, list]:
    """The first ``n`` shapes of a clamped beam of length 1: ``beta`` and functions of unit mean square."""
    shapes, betas = [], []
    for i in range(n):
        middle = (i + 0.5) * np.pi
        beta = brentq(lambda b: np.cos(b) + 1.0 / np.cosh(b), middle - 1.0, middle + 1.0, xtol=1e-14)
        ratio = (np.cosh(beta) + np.cos(beta)) / (np.sinh(beta) + np.sin(beta))
        shapes.append(lambda x, b=beta, r=ratio: np.cosh(b * x) - np.cos(b * x) - r * (np.sinh(b * x) - np.sin(b * x)))
        betas.append(beta)
    return np.array(betas), shapes


def test_clamped_shapes_on_a_hinge_give_a_hinged_beam() -> None:
    """Assumed modes: a frame that turns and six shapes of the clamped beam have the frequencies of the hinged one.

    They lie above the exact ones, ``tan beta = tanh beta``, by parts in a thousand for so few shapes.
    """
    betas, shapes = clamped(6)
    S, C = np.zeros((3, 6)), np.zeros((3, 6))
    S[1] = [quad(shape, 0, 1, epsabs=1e-12)[0] for shape in shapes]
    C[2] = [quad(lambda x, f=shape: x * f(x), 0, 1, epsabs=1e-12)[0] for shape in shapes]
    model = mbs.Model()
    node = model.add_node((0, 0, 0))
    body = ModalBody(
        node,
        1.0,
        (1e-6, 1 / 12, 1 / 12),
        np.ones(6),
        betas**4,
        modal_damping=None,
        translation=S,
        rotation=C,
        center_of_mass=(0.5, 0, 0),
    )
    model.add(body)
    model.add(RevoluteJoint(model.ground, node, (0, 0, 1)))
    omega = mbs.modes(model, count=3).angular
    exact = [brentq(lambda b: np.tan(b) - np.tanh(b), (i + 0.1) * np.pi, (i + 0.4) * np.pi) ** 2 for i in (1, 2)]
    assert omega[0] == pytest.approx(0.0, abs=1e-5)
    excess = omega[1:] / exact - 1.0
    assert (excess > 0.0).all()
    assert (excess < [1e-3, 5e-3]).all()


def test_without_amplitudes_it_moves_like_a_rigid_body() -> None:
    """Modes that are very stiff and coupled to nothing leave a rigid body with the same masses."""
    paths = []
    for flexible in (True, False):
        model = mbs.Model("SE3", gravity=(0, 0, -9.81))
        node = model.add_node((0, 0, 0), angular_velocity=(0.5, 2.0, -1.0))
        if flexible:
            model.add(ModalBody(node, MASS, INERTIA, [1.0], [1e4], center_of_mass=(0.1, 0.2, 0.0)))
        else:
            model.add(RigidBody(node, MASS, INERTIA, (0.1, 0.2, 0.0)))
        paths.append(mbs.simulate(model, 0.1, 0.01).position(node))
    assert np.allclose(*paths, atol=1e-9)


def test_statics_rests_the_amplitudes() -> None:
    model = mbs.Model(gravity=(0, 0, -9.81))
    node = model.add_node((0, 0, 0))
    model.fix(node)
    body = model.add(ModalBody(node, MASS, INERTIA, M, K, translation=S, rotation=C))
    rest = mbs.statics(model).internal_variables(body)[-1]
    assert rest == pytest.approx(S.T @ [0, 0, -9.81] / K, rel=1e-10)


@pytest.mark.parametrize(
    ("masses", "message"),
    [
        (([1.0, 2.0], [1.0, 2.0, 3.0]), "modal_stiffness must be 2 numbers or a symmetric 2x2 matrix"),
        (([[1.0, 0.5], [0.0, 1.0]], [1.0, 2.0]), "modal_mass must be a diagonal or a symmetric matrix"),
        (([1.0], [1.0], [[9.0], [0], [0]]), "its masses are not those of a body"),
        (([1.0], [1.0], [1.0, 0, 0]), "translation must be 3 x k finite numbers"),
        (([1.0], [np.nan]), "modal_stiffness must be"),
    ],
)
def test_bad_input_is_refused(masses: tuple, message: str) -> None:
    model = mbs.Model()
    node = model.add_node((0, 0, 0))
    with pytest.raises(mbs.ModelError, match=message):
        ModalBody(node, MASS, INERTIA, *masses[:2], translation=masses[2] if len(masses) > 2 else None)
