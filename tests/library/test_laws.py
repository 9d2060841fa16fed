"""Laws of time: the spin-up of the four-bar, and derivatives of any function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from motions import derivative

import fem_mbs as mbs
from fem_mbs.contracts.functions import derivatives
from fem_mbs.elements import SpinUp
from fem_mbs.elements.forces.user_laws import slope


@pytest.mark.parametrize("t", [0.1, 0.25, 0.4, 0.7])
def test_spin_up_derivatives_belong_to_its_angle(t: float) -> None:
    law = SpinUp(rate=-5.0, duration=0.5)
    np.testing.assert_allclose(law.velocity(t), derivative(lambda s: law(t + s), 1e-3), atol=1e-9)
    np.testing.assert_allclose(law.acceleration(t), derivative(lambda s: law.velocity(t + s), 1e-3), atol=1e-8)


def test_spin_up_starts_at_rest_and_joins_smoothly() -> None:
    law = SpinUp(rate=-5.0, duration=0.5)
    assert law(0.0) == 0.0
    np.testing.assert_allclose([law.velocity(0.0), law.acceleration(0.0)], 0.0, atol=1e-15)
    before, after = 0.5 - 1e-9, 0.5
    np.testing.assert_allclose(law(after), -1.25)
    for part in (law, law.velocity, law.acceleration):
        np.testing.assert_allclose(part(before), part(after), atol=1e-6)


@pytest.mark.parametrize("t", [0.0, 1e-3, 3e-3, 0.7])
def test_any_function_is_differentiated(t: float) -> None:
    """Also at the start, where a law need not exist before t = 0."""

    def law(t: float) -> float:
        assert t >= 0.0
        return float(np.sin(3 * t) + t**2)

    first, second = derivatives(law, t)
    np.testing.assert_allclose(first, 3 * np.cos(3 * t) + 2 * t, atol=1e-9)
    np.testing.assert_allclose(second, -9 * np.sin(3 * t) + 2, atol=1e-6)


def test_a_law_gives_its_own_derivatives() -> None:
    law = SpinUp(2.0, 1.0)
    assert derivatives(law, 0.3) == (law.velocity(0.3), law.acceleration(0.3))


def test_duration_must_be_positive() -> None:
    with pytest.raises(mbs.ModelError, match="duration must be a positive number, received 0"):
        SpinUp(1.0, 0.0)


@pytest.mark.parametrize("x", [0.7, np.array([0.7, -0.2, 1.9])], ids=["number", "array"])
def test_slopes_are_exact_where_a_law_takes_complex_numbers(x: Any) -> None:
    """To rounding; of one that does not, or is another function of these, a difference is left."""
    np.testing.assert_allclose(slope(np.sin, np.sin, x), np.cos(x), rtol=1e-15)
    for law in (lambda x: np.sin(np.real(x)), lambda x: np.sin(np.abs(x))):
        np.testing.assert_allclose(slope(law, law, x), np.cos(x) * np.sign(law(x) * np.sin(x)), rtol=1e-8)


@pytest.mark.parametrize("library", [np, math])
def test_slopes_of_laws_of_any_size(library: Any) -> None:
    """What is small for a law may be a nanometre or a kilometre; ``math`` takes no complex numbers."""
    rng = np.random.default_rng(29)
    laws = (
        (library.tanh, lambda z: 1.0 / math.cosh(z) ** 2),
        (lambda z: 1.0 / library.sqrt(2.0 - z), lambda z: 0.5 / (2.0 - z) ** 1.5),  # not known beyond 2
        (lambda z: z * abs(z), lambda z: 2.0 * abs(z)),
        (lambda z: max(-1.0, min(z, 1.0)), lambda z: float(abs(z) < 1.0)),
    )
    for _ in range(100):
        size, z = 10.0 ** rng.uniform(-10, 4), rng.choice([0.0, rng.uniform(-0.9, 0.9)])
        for shape, expected in laws:

            def law(x: Any, shape: Any = shape, size: float = size) -> Any:
                return shape(x / size)

            def checked(x: float, law: Any = law) -> float:
                try:
                    with np.errstate(invalid="raise"):
                        return float(law(x))
                except (ValueError, FloatingPointError) as error:
                    raise mbs.LawError("not known there") from error

            found = size * slope(checked, law, float(z * size))
            assert found == pytest.approx(expected(z), rel=1e-5, abs=1e-3)


def test_a_jump_has_the_slope_of_the_longest_step() -> None:
    """Newton's method is not sent off by what has no derivative."""
    assert 1e5 < slope(lambda x: float(np.sign(x)), None, 0.0) < 1e6
    assert slope(lambda x: float(np.sign(x - 1e-8)), None, 0.0) == 0.0  # beside it


@pytest.mark.parametrize("unit", [1.0, 1e3, 1e6, 1.0 / 3600.0])
@pytest.mark.parametrize("share", [0.0, 1e-3, 0.31, 1.0])
def test_differences_follow_the_run(unit: float, share: float) -> None:
    """Of what turns, grows and vibrates in 2 s, whatever the unit of time, at its start, within and at its end."""
    end = 2.0 * unit
    t = share * end
    for law, expected, sizes in (
        (lambda t: 3.0 + 80.0 * t / unit, (80.0, 0.0), (80.0, 80.0)),
        (lambda t: (t / end) ** 3, (1.5 * share**2, 1.5 * share), (1.5, 1.5)),
        (
            lambda t: np.sin(300.0 * t / unit),
            (300.0 * np.cos(600.0 * share), -9e4 * np.sin(600.0 * share)),
            (3e2, 9e4),
        ),
    ):
        found = derivatives(law, t, end=end)
        for k in (0, 1):
            assert found[k] * unit ** (k + 1) == pytest.approx(expected[k], abs=1e-7 * sizes[k])
