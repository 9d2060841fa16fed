"""The axioms of the groups, and what ties their operators to exponential, bracket and adjoint."""

from functools import partial
from types import ModuleType

import numpy as np
import pytest
from scipy.linalg import expm

from fem_mbs.arrays import Array
from fem_mbs.lie import GROUPS

Frame = tuple[Array, Array]
PI = np.pi
close = partial(np.testing.assert_allclose, rtol=0)
angles = partial(pytest.mark.parametrize, "d", indirect=True)


@pytest.fixture(params=GROUPS)
def group(request: pytest.FixtureRequest) -> ModuleType:
    return GROUPS[request.param]


def frames(group: ModuleType, shape: tuple[int, ...], seed: int) -> Frame:
    return group.exp(np.random.default_rng(seed).uniform(-PI, PI, (*shape, 6)))


def assert_same(actual: Frame, expected: Frame) -> None:
    for a, b in zip(actual, expected, strict=True):
        assert a.shape == b.shape
        close(a, b, atol=2e-14)


def test_product_and_inverse_stay_in_the_group(group: ModuleType, shape: tuple[int, ...]) -> None:
    G, H = frames(group, shape, 3), frames(group, shape, 4)
    for R, x in (G, group.compose(*G, *H), group.inverse(*G)):
        assert R.shape == (*shape, 3, 3) and x.shape == (*shape, 3)
        close(R @ np.swapaxes(R, -1, -2), np.broadcast_to(np.eye(3), R.shape), atol=4e-15)
        close(np.linalg.det(R), 1.0, atol=4e-15)


def test_product_is_associative_with_identity_and_inverse(group: ModuleType, shape: tuple[int, ...]) -> None:
    F, G, H = (frames(group, shape, seed) for seed in (5, 6, 7))
    one = np.broadcast_to(np.eye(3), F[0].shape), np.zeros_like(F[1])
    assert_same(group.exp(np.zeros((*shape, 6))), one)
    assert_same(group.compose(*one, *F), F)
    assert_same(group.compose(*F, *one), F)
    assert_same(group.compose(*F, *group.inverse(*F)), one)
    assert_same(group.compose(*group.inverse(*F), *F), one)
    assert_same(group.compose(*group.compose(*F, *G), *H), group.compose(*F, *group.compose(*G, *H)))


@angles([0.0, 1e-200, 1e-9, 1e-4, 1.0, 2.0, 3.0, PI - 1e-4, PI - 1e-9])
def test_log_inverts_exp(group: ModuleType, d: Array) -> None:
    logarithm = group.log(*group.exp(d))
    angle = np.linalg.norm(d[..., 3:], axis=-1).max()
    close(logarithm, d, atol=1e-14)
    close(logarithm[..., 3:], d[..., 3:], atol=2e-15 * angle)


@angles([1.0])
def test_exp_inverts_log_of_half_turns(group: ModuleType, d: Array) -> None:
    x, n = d[..., :3], d[..., 3:]
    H = 2.0 * n[..., :, None] * n[..., None, :] - np.eye(3), x
    close(np.linalg.norm(group.log(*H)[..., 3:], axis=-1), PI, atol=1e-15)
    assert_same(group.exp(group.log(*H)), H)


def test_tangent_operator_is_the_right_jacobian_of_exp(group: ModuleType, d: Array) -> None:
    h, back, T = 1e-5, group.inverse(*group.exp(d)), group.tangent_operator(d)
    for i, e in enumerate(h * np.eye(6)):
        ahead, behind = (group.log(*group.compose(*back, *group.exp(near))) for near in (d + e, d - e))
        close(T[..., i], (ahead - behind) / (2 * h), atol=2e-10)


def test_tangent_operator_is_its_series_in_the_bracket(group: ModuleType, d: Array) -> None:
    """``sum (-A)^k / (k+1)!`` is a block of the exponential of ``[[-A, I], [0, 0]]``."""
    block = np.zeros((*d.shape[:-1], 12, 12))
    block[..., :6, :6], block[..., :6, 6:] = -group.bracket(d), np.eye(6)
    close(group.tangent_operator(d), expm(block)[..., :6, 6:], atol=2e-14)


def test_inverse_tangent_operator_inverts(group: ModuleType, d: Array) -> None:
    one = group.tangent_operator(d) @ group.inverse_tangent_operator(d)
    close(one, np.broadcast_to(np.eye(6), one.shape), atol=4e-14)


def test_adjoint_moves_increments_through_frames(group: ModuleType, d: Array) -> None:
    H = frames(group, d.shape[:-1], 8)
    moved = group.exp(np.matvec(group.adjoint(*H), d))
    assert_same(group.compose(*group.compose(*H, *group.exp(d)), *group.inverse(*H)), moved)


def test_bracket_is_the_derivative_of_the_adjoint(group: ModuleType, d: Array) -> None:
    h, A = 1e-5, group.bracket(d)
    ahead, behind = (group.adjoint(*group.exp(s * d)) for s in (h, -h))
    close(A, (ahead - behind) / (2 * h), atol=5e-9)
    close(expm(A), group.adjoint(*group.exp(d)), atol=4e-14)


def test_bracket_is_a_lie_product(group: ModuleType, d: Array) -> None:
    other = np.random.default_rng(9).normal(size=d.shape)
    A, B = group.bracket(d), group.bracket(other)
    close(A @ other[..., None], -B @ d[..., None], atol=4e-15)
    close(group.bracket(np.matvec(A, other)), A @ B - B @ A, atol=1e-14)


@pytest.mark.parametrize("operator", ["bracket", "tangent_operator", "inverse_tangent_operator", "log"])
def test_batch_of_mixed_angles_equals_one_by_one(group: ModuleType, operator: str) -> None:
    mixed = np.random.default_rng(10).normal(size=(2, 4, 6))
    turn = np.array([[3.0, 0.0, 1e-9, 2.1], [2.0, 1.9, 1e-3, PI]])
    mixed[..., 3:] *= (turn / np.linalg.norm(mixed[..., 3:], axis=-1))[..., None]

    def evaluate(d: Array) -> Array:
        return group.log(*group.exp(d)) if operator == "log" else getattr(group, operator)(d)

    for index in np.ndindex(2, 4):
        close(evaluate(mixed)[index], evaluate(mixed[index]), atol=4e-15)
