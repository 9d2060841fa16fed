"""Local coordinates of rotations and frames: coefficients, closed forms, and operators as derivatives."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from motions import derivative
from mpmath import mp, mpf

from fem_mbs.arrays import Array
from fem_mbs.lie import se3, so3
from fem_mbs.lie.parametrization import (
    PARAMETRIZATIONS,
    Parametrization,
    Tangents,
    inverse_rotation_vector,
    local_exp,
    tangents,
)

PI = np.pi
close = partial(np.testing.assert_allclose, rtol=0)
difference = partial(derivative, step=1e-3)
"""Of fourth order: exact to about 1e-12 for functions of order one."""

SCALARS = {  # p, q, r as functions of the squared length
    "conformal": (
        lambda s: 2 * (2 - s / 8) / (2 + s / 8) ** 2,
        lambda s: 2 / (2 + s / 8) ** 2,
        lambda s: 1 / (2 * (2 + s / 8) ** 2),
    ),
    "rotation_vector": (
        lambda s: mp.sin(mp.sqrt(s)) / mp.sqrt(s),
        lambda s: (1 - mp.cos(mp.sqrt(s))) / s,
        lambda s: (mp.sqrt(s) - mp.sin(mp.sqrt(s))) / mp.sqrt(s) ** 3,
    ),
    "inverse of the rotation vector": (
        lambda s: mp.sqrt(s) / 2 * mp.cot(mp.sqrt(s) / 2),
        lambda s: mpf(-1) / 2,
        lambda s: (1 - mp.sqrt(s) / 2 * mp.cot(mp.sqrt(s) / 2)) / s,
    ),
}
COEFFICIENTS = {name: own.coefficients for name, own in PARAMETRIZATIONS.items()}
COEFFICIENTS["inverse of the rotation vector"] = inverse_rotation_vector
LENGTHS = np.array([1e-9, 1e-5, 1e-2, 0.1, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0])


@pytest.fixture(params=PARAMETRIZATIONS)
def own(request: pytest.FixtureRequest) -> Parametrization:
    return PARAMETRIZATIONS[request.param]


@pytest.fixture(params=["SO(3)", "SE(3)"])
def c(request: pytest.FixtureRequest, d: Array) -> Array:
    """Coordinates of rotations and of frames."""
    return d[..., 3:] if request.param == "SO(3)" else d


@pytest.fixture
def rates(c: Array) -> tuple[Array, Array]:
    """First and second derivatives of the coordinates."""
    dc, ddc = np.random.default_rng(2).normal(size=(2, *c.shape))
    return dc, ddc


def frame(own: Parametrization, c: Array) -> tuple[Array, Array]:
    """``mu(c)``; rotations are frames at the origin."""
    return local_exp(own, c) if c.shape[-1] == 6 else (own.rotation(c), np.zeros(c.shape))


def along(function: Callable[[Array], Array], c: Array) -> Array:
    """Columns of the derivatives of ``function(c)`` against every coordinate, by differences."""
    return np.stack([difference(lambda s, e=e: function(c + s * e)) for e in np.eye(c.shape[-1])], axis=-1)


@pytest.mark.parametrize("name", SCALARS)
@pytest.mark.parametrize("order", range(3))
def test_coefficients_have_the_digits_of_the_reference(name: str, order: int) -> None:
    """Against arithmetic with fifty digits; ``p = sin(phi)/phi`` nearly vanishes at 3 rad.

    Functions of the rotation vector are those of ``so3.ROTATION``, whose closed forms have the digits of
    ``test_coefficients.py``: each derivative costs some.
    """
    values = COEFFICIENTS[name](np.square(LENGTHS))[3 * order : 3 * order + 3]
    with mp.workdps(50):
        for own, scalar in zip(values, SCALARS[name], strict=True):
            expected = [float(mp.diff(scalar, mpf(length) ** 2, order)) for length in LENGTHS]
            digits = 4e-15 if scalar is SCALARS[name][0] else 2e-15
            if name == "rotation_vector" and order == 2:
                digits = 2e-14
            np.testing.assert_allclose(own, expected, rtol=digits)


def test_mu_is_a_rotation(own: Parametrization, d: Array) -> None:
    R = own.rotation(d[..., 3:])
    close(R @ R.mT, np.broadcast_to(np.eye(3), R.shape), atol=4e-15)
    close(np.linalg.det(R), 1.0, atol=4e-15)


def test_opposite_coordinates_are_the_inverse(own: Parametrization, c: Array) -> None:
    for actual, expected in zip(frame(own, -c), se3.inverse(*frame(own, c)), strict=True):
        close(actual, expected, atol=1e-14)


def conformal(d: Array) -> Array:
    """Conformal coordinates of frames: ``4 tan(phi/4)`` along the axis, for the dual angle and the dual axis."""
    U, w = d[..., :3], d[..., 3:]
    phi = np.maximum(np.linalg.norm(w, axis=-1, keepdims=True), 1e-3)
    ratio = 4.0 * np.tan(phi / 4.0) / phi
    slope = (1.0 / np.cos(phi / 4.0) ** 2 - ratio) / phi**2
    return np.concatenate([ratio * U + slope * np.vecdot(U, w)[..., None] * w, ratio * w], axis=-1)


@pytest.mark.parametrize("angle", [0.5, 1.0, 2.0, 3.0, PI, 4.0, 6.0])
def test_conformal_rotation_vector_is_four_times_the_tangent_of_a_quarter_of_the_angle(angle: float) -> None:
    """On SE(3) for the dual angle; 6 rad are a vector of length 56, as the length of a whole turn is infinite."""
    d = np.random.default_rng(4).normal(size=(20, 6))
    d[:, 3:] *= angle / np.linalg.norm(d[:, 3:], axis=-1, keepdims=True)
    own, c = PARAMETRIZATIONS["conformal"], conformal(d)
    close(np.linalg.norm(c[:, 3:], axis=-1), 4.0 * np.tan(angle / 4.0), rtol=1e-14)
    close(own.rotation(c[:, 3:]), so3.exp(d[:, 3:]), atol=1e-14)
    R, x = se3.exp(d)
    close(local_exp(own, c)[0], R, atol=1e-14)
    close(local_exp(own, c)[1], x, atol=2e-13)  # the coordinates are up to 200 long


def test_rotation_vector_is_that_of_the_groups(d: Array) -> None:
    """The coefficients come from sums here and from closed forms there."""
    own, zero = PARAMETRIZATIONS["rotation_vector"], np.zeros_like(d)
    close(tangents(own, d[..., 3:], zero[..., 3:], zero[..., 3:]).T, so3.tangent_operator(d[..., 3:]), atol=1e-14)
    close(tangents(own, d, zero, zero).T, se3.tangent_operator(d), atol=2e-14)
    for actual, expected in zip(local_exp(own, d), se3.exp(d), strict=True):
        close(actual, expected, atol=1e-14)


@pytest.mark.parametrize("size", [3, 6])
def test_coordinates_start_at_the_identity_with_their_rates_as_velocities(own: Parametrization, size: int) -> None:
    zero = np.zeros((2, size))
    R, x = frame(own, zero)
    np.testing.assert_array_equal(R, np.broadcast_to(np.eye(3), R.shape))
    np.testing.assert_array_equal(x, 0.0)
    unit = np.broadcast_to(np.eye(size), (2, size, size))
    np.testing.assert_array_equal(tangents(own, zero, zero, zero).T, unit)


def test_tangent_operator_is_the_right_jacobian_of_mu(own: Parametrization, c: Array) -> None:
    zero, back = np.zeros_like(c), se3.inverse(*frame(own, c))

    def way(near: Array) -> Array:
        return se3.log(*se3.compose(*back, *frame(own, near)))[..., -c.shape[-1] :]

    close(tangents(own, c, zero, zero).T, along(way, c), atol=2e-10)


def test_tangent_operators_of_both_sides(own: Parametrization, c: Array) -> None:
    """``Ad(mu(c)) T(c) = T(-c)``, as the inverse of ``mu(c)`` is ``mu(-c)``; ``R T = T^T`` on SO(3)."""
    zero = np.zeros_like(c)
    T, T_left = (tangents(own, near, zero, zero).T for near in (c, -c))
    R, x = frame(own, c)
    adjoint = R if c.shape[-1] == 3 else se3.adjoint(R, x)
    close(adjoint @ T, T_left, atol=2e-14)
    if c.shape[-1] == 3:
        close(T_left, T.mT, atol=1e-15)


def test_rate_is_the_time_derivative(own: Parametrization, c: Array, rates: tuple[Array, Array]) -> None:
    dc, ddc = rates
    expected = difference(lambda s: tangents(own, c + s * dc, dc, ddc).T)
    close(tangents(own, c, dc, ddc).rate, expected, atol=1e-10)


def test_derivatives_against_the_coordinates(own: Parametrization, c: Array, rates: tuple[Array, Array]) -> None:
    dc, ddc = rates

    def velocity(near: Array) -> Array:
        return np.matvec(tangents(own, near, dc, ddc).T, dc)

    def acceleration(near: Array) -> Array:
        there = tangents(own, near, dc, ddc)
        return np.matvec(there.T, ddc) + np.matvec(there.rate, dc)

    at = tangents(own, c, dc, ddc)
    close(at.by_position, along(velocity, c), atol=1e-10)
    close(at.rate_by_position, along(acceleration, c), atol=1e-9)


def test_batch_of_mixed_lengths_equals_one_by_one(own: Parametrization) -> None:
    c, dc, ddc = np.random.default_rng(10).normal(size=(3, 2, 4, 6))
    length = np.array([[3.0, 0.0, 1e-9, 2.1], [2.0, 1.9, 1e-3, PI]])
    c[..., 3:] *= (length / np.linalg.norm(c[..., 3:], axis=-1))[..., None]
    for part in (slice(6), slice(3, 6)):
        together = tangents(own, c[..., part], dc[..., part], ddc[..., part])
        for index in np.ndindex(2, 4):
            alone = tangents(own, *(array[index][part] for array in (c, dc, ddc)))
            for name in Tangents._fields:
                close(getattr(together, name)[index], getattr(alone, name), atol=1e-14, err_msg=name)
