"""What SE(3) offers beyond the group: homogeneous matrices, coadjoint product, derivatives of ``T^-1``."""

from functools import partial

import numpy as np
import pytest
from scipy.linalg import expm

from fem_mbs.arrays import Array
from fem_mbs.lie import se3, so3

close = partial(np.testing.assert_allclose, rtol=0)


@pytest.fixture
def u(d: Array) -> Array:
    return np.random.default_rng(2).normal(size=d.shape)


@pytest.fixture
def s(d: Array) -> Array:
    return np.random.default_rng(3).normal(size=d.shape)


def test_exp_is_that_of_the_homogeneous_matrix(d: Array) -> None:
    hat = np.zeros((*d.shape[:-1], 4, 4))
    hat[..., :3, :3], hat[..., :3, 3] = so3.skew(d[..., 3:]), d[..., :3]
    R, x = se3.exp(d)
    close(np.concatenate([R, x[..., None]], axis=-1), expm(hat)[..., :3, :], atol=1e-14)


def test_dual_is_the_coadjoint_product(d: Array, s: Array) -> None:
    close(np.matvec(se3.dual(s), d), np.vecmat(s, se3.bracket(d)), atol=1e-14)


def test_derivatives_agree_with_differences(d: Array, u: Array, s: Array) -> None:
    inverse, T_inverse, h = se3.InverseTangent.of(d), se3.inverse_tangent_operator, 1e-5
    for i, e in enumerate(h * np.eye(6)):
        slope = (T_inverse(d + e) - T_inverse(d - e)) / (2 * h)
        close(inverse.derivative(u)[..., i], np.matvec(slope, u), atol=2e-9)
        close(inverse.derivative(s, transposed=True)[..., i], np.vecmat(s, slope), atol=2e-9)


def test_derivatives_are_one_form(d: Array, u: Array, s: Array) -> None:
    """``s . D(T^-1 u) delta = u . D(T^-T s) delta`` for every ``delta``."""
    inverse = se3.InverseTangent.of(d)
    form = np.vecmat(s, inverse.derivative(u))
    close(np.vecmat(u, inverse.derivative(s, transposed=True)), form, atol=1e-13)
