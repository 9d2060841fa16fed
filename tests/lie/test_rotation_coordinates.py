"""Tait-Bryan angles and Euler parameters: rotations, angular velocities, and their derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fem_mbs.arrays import Array
from fem_mbs.lie import so3
from fem_mbs.lie.parametrization import COORDINATES, RotationCoordinates

STEP = 1e-5
kinds = pytest.mark.parametrize("kind", COORDINATES.values(), ids=COORDINATES.keys())
Kind = type[RotationCoordinates]


def samples(kind: Kind) -> Array:
    """Coordinates with rates and second rates that obey their constraint, ``(3, 20, l)``."""
    c, dc, ddc = np.random.default_rng(1).normal(size=(3, 20, kind.size))
    c = kind.closed(c)
    dc = dc - kind.missed(c, dc)
    return np.stack([c, dc, ddc - kind.missed(c, ddc) + kind.bend(c, dc)])


def slope(function, c: Array, d: Array) -> Array:
    return (function(c + STEP * d) - function(c - STEP * d)) / (2.0 * STEP)


@kinds
def test_coordinates_of_a_rotation_are_those_it_is_made_of(kind: Kind) -> None:
    R = so3.exp(np.random.default_rng(2).normal(size=(50, 3)))
    np.testing.assert_allclose(kind.rotation(kind.coordinates(R)), R, atol=1e-14)
    np.testing.assert_allclose(kind.rotation(kind.zero), np.eye(3), atol=1e-16)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-6, 0.5, 1.9, 2.1, 3.0, np.pi - 1e-6, np.pi - 1e-9])
def test_euler_parameters_agree_with_scipy(angle: float) -> None:
    rotation = Rotation.from_rotvec(angle * np.array([[1.0, 0.0, 0.0], [0.6, 0.0, -0.8], [2 / 3, 1 / 3, 2 / 3]]))
    expected = rotation.as_quat(canonical=True, scalar_first=True)
    c = COORDINATES["euler_parameters"].coordinates(rotation.as_matrix())
    np.testing.assert_allclose(c, expected, rtol=0, atol=2e-15)


def test_angles_turn_about_moving_axes() -> None:
    a, b, c = 0.7, -0.4, 2.1
    x, y, z = np.eye(3)
    expected = so3.exp(a * x) @ so3.exp(b * y) @ so3.exp(c * z)
    np.testing.assert_allclose(COORDINATES["tait_bryan"].rotation(np.array([a, b, c])), expected, atol=1e-15)


@pytest.mark.parametrize("b", [0.5 * np.pi, -0.5 * np.pi])
def test_angles_of_a_singular_rotation_are_some_of_the_many(b: float) -> None:
    kind = COORDINATES["tait_bryan"]
    R = kind.rotation(np.array([0.3, b, 0.9]))
    np.testing.assert_allclose(kind.rotation(kind.coordinates(R)), R, atol=1e-15)


@kinds
def test_angular_velocity_is_that_of_the_rotation(kind: Kind) -> None:
    c, dc, _ = samples(kind)
    omega = so3.axial(kind.rotation(c).mT @ slope(kind.rotation, c, dc))
    np.testing.assert_allclose(np.matvec(kind.jacobian(c), dc), omega, atol=1e-8)
    np.testing.assert_allclose(np.matvec(kind.rates(c), omega), dc, atol=1e-7)


@kinds
def test_derivatives(kind: Kind) -> None:
    c, dc, ddc = samples(kind)
    own = kind.tangents(c, dc, ddc)
    np.testing.assert_allclose(own.T, kind.jacobian(c), atol=1e-15)
    np.testing.assert_allclose(own.rate, slope(kind.jacobian, c, dc), atol=1e-8)

    def velocity(at: Array) -> Array:
        return np.matvec(kind.jacobian(at), dc)

    def acceleration(at: Array) -> Array:
        here = kind.tangents(at, dc, ddc)
        return np.matvec(here.T, ddc) + np.matvec(here.rate, dc)

    for function, found in ((velocity, own.by_position), (acceleration, own.rate_by_position)):
        columns = np.stack([slope(function, c, unit) for unit in np.eye(kind.size)], axis=-1)
        np.testing.assert_allclose(found, columns, atol=1e-8)


def test_euler_parameters_stay_on_the_sphere() -> None:
    """``e.e = 1``, ``e.e' = 0`` and ``e.e'' + e'.e' = 0``; none of it moves the body."""
    kind = COORDINATES["euler_parameters"]
    e, de, dde = samples(kind)
    np.testing.assert_allclose(np.vecdot(e, e), 1.0, atol=1e-15)
    np.testing.assert_allclose(np.vecdot(e, de), 0.0, atol=1e-15)
    np.testing.assert_allclose(np.vecdot(e, dde) + np.vecdot(de, de), 0.0, atol=1e-14)
    np.testing.assert_allclose(np.matvec(kind.jacobian(e), e), 0.0, atol=1e-15)
