"""Rotations against published values and an independent implementation."""

from functools import partial

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fem_mbs.lie import so3

PI = np.pi
AXES = np.concatenate([np.eye(3), -np.eye(3), np.random.default_rng(1).normal(size=(50, 3))])
AXES /= np.linalg.norm(AXES, axis=-1, keepdims=True)
close = partial(np.testing.assert_allclose, rtol=0)


def test_skew_is_the_cross_product_and_axial_its_inverse() -> None:
    a, b = np.random.default_rng(2).normal(size=(2, 3, 1, 3))
    close(np.matvec(so3.skew(a), b), np.cross(a, b), atol=1e-15)
    np.testing.assert_array_equal(so3.axial(so3.skew(a)), a)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-6, 0.5, 1.9, 2.1, 3.0, PI - 1e-6, PI - 1e-9])
def test_exp_agrees_with_scipy(angle: float) -> None:
    rotation = Rotation.from_rotvec(angle * AXES)
    close(so3.exp(angle * AXES), rotation.as_matrix(), atol=2e-15)


def test_half_turns_have_one_of_both_rotation_vectors() -> None:
    R = 2.0 * AXES[:, :, None] * AXES[:, None, :] - np.eye(3)
    w = so3.log(R)
    close(w, PI * AXES * np.sign(np.vecdot(w, AXES))[:, None], atol=2e-15)


# Published unit-test values of the multibody code EXUDYN: T^-1(w) (1, 1, 1), with w itself and not -w.
@pytest.mark.parametrize(
    "w, expected",
    [
        ((1.0, 2.0, 3.0), (-0.402160845072268, 1.774459788731933, 0.951080422536134)),
        (
            (0.141886338627215, 0.421761282626275, 0.915735525189067),
            (0.682902413227995, 1.351928852030877, 0.887043643491090),
        ),
    ],
)
def test_published_inverse_tangent_operator(w: tuple[float, ...], expected: tuple[float, ...]) -> None:
    close(so3.inverse_tangent_operator(np.array(w)) @ np.ones(3), expected, atol=2e-15)


def test_published_composition_of_rotation_vectors() -> None:
    a = np.array([0.814723686393179, 0.905791937075619, 0.126986816293506])
    b = np.array([0.913375856139019, 0.632359246225410, 0.097540404999410])
    expected = [1.723793103824437, 1.555433894116284, 0.047932757694710]
    close(so3.log(so3.exp(a) @ so3.exp(b)), expected, atol=2e-15)
