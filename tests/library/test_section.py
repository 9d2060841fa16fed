"""Sections against hand formulas."""

from __future__ import annotations

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.elements import BeamSection
from fem_mbs.lie import so3

E, NU, RHO = 210e9, 0.3, 7850.0
G = E / 2.6


def test_rectangle() -> None:
    """Width along y, height along z: bending about y is governed by the height."""
    b, h = 0.03, 0.05
    section = BeamSection.rectangle(b, h, E, NU, RHO)
    A, I_y, I_z = b * h, b * h**3 / 12, h * b**3 / 12
    stiffness = [E * A, 5 / 6 * G * A, 5 / 6 * G * A, section.stiffness[3, 3], E * I_y, E * I_z]
    np.testing.assert_allclose(section.stiffness, np.diag(stiffness), rtol=1e-14)
    np.testing.assert_allclose(section.mass, RHO * A, rtol=1e-14)
    np.testing.assert_allclose(section.inertia, RHO * np.diag([I_y + I_z, I_y, I_z]), rtol=1e-14)
    np.testing.assert_allclose(np.ptp(section.outline, axis=0), [b, h])
    assert not section.center.any() and not section.damping.any()


@pytest.mark.parametrize(
    ("ratio", "torsion"), [(1.0, 0.140577), (2.0, 0.228682), (10.0, 0.312325)], ids=["square", "2 to 1", "10 to 1"]
)
def test_torsion_constant_of_rectangles(ratio: float, torsion: float) -> None:
    """``J = c a^3 b`` with the tabulated ``c`` (Timoshenko and Goodier, Theory of Elasticity, section 109)."""
    a = 0.02
    for width, height in ((a, ratio * a), (ratio * a, a)):
        GJ = BeamSection.rectangle(width, height, E, NU, RHO).stiffness[3, 3]
        np.testing.assert_allclose(GJ, G * torsion * a**3 * ratio * a, rtol=5e-6)


def test_circle_and_tube() -> None:
    """Cowper (1966): 6 (1 + nu)/(7 + 6 nu) for the solid circle, 2 (1 + nu)/(4 + 3 nu) for the thin tube."""
    r = 0.02
    circle = BeamSection.circle(r, E, NU, RHO)
    A, second = np.pi * r**2, np.pi * r**4 / 4
    shear = 6 * 1.3 / 8.8 * G * A
    np.testing.assert_allclose(np.diag(circle.stiffness), [E * A, shear, shear, 2 * G * second, E * second, E * second])
    np.testing.assert_allclose(np.diag(circle.inertia), RHO * second * np.array([2, 1, 1]))
    np.testing.assert_allclose(circle.mass, RHO * A)

    filled = BeamSection.tube(r, 1e-9, E, NU, RHO)
    np.testing.assert_allclose(filled.stiffness, circle.stiffness, rtol=1e-12)
    t = 1e-6
    thin = BeamSection.tube(r + t / 2, r - t / 2, E, NU, RHO)
    area, ring = 2 * np.pi * r * t, np.pi * r**3 * t
    factor = 2 * 1.3 / 4.9
    expected = [E * area, factor * G * area, factor * G * area, 2 * G * ring, E * ring, E * ring]
    np.testing.assert_allclose(np.diag(thin.stiffness), expected, rtol=1e-7)
    np.testing.assert_allclose([thin.mass, thin.inertia[0, 0]], [RHO * area, RHO * 2 * ring], rtol=1e-7)


def test_general_recovers_a_rectangle_off_the_line_of_nodes() -> None:
    rectangle = BeamSection.rectangle(0.03, 0.05, E, NU, RHO)
    m, c = rectangle.mass, np.array([0.0, 0.01, -0.02])
    tilde = so3.skew(c)
    mass = np.block([[m * np.eye(3), -m * tilde], [m * tilde, rectangle.inertia - m * tilde @ tilde]])
    section = BeamSection.general(rectangle.stiffness, mass)
    np.testing.assert_allclose(section.stiffness, rectangle.stiffness)
    np.testing.assert_allclose(section.mass, m, rtol=1e-14)
    np.testing.assert_allclose(section.center, c, atol=1e-15)
    np.testing.assert_allclose(section.inertia, rectangle.inertia, rtol=1e-10, atol=1e-12 * m)


def test_pairs_are_y_then_z() -> None:
    section = BeamSection(1.0, (2.0, 3.0), 4.0, (5.0, 6.0), 7.0, (8.0, 9.0, 10.0))
    np.testing.assert_array_equal(np.diag(section.stiffness), [1, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(np.diag(section.inertia), [8, 9, 10])
    one = BeamSection(1.0, 2.0, 4.0, 5.0, 7.0, (8.0, 9.0, 10.0))
    np.testing.assert_array_equal(np.diag(one.stiffness), [1, 2, 2, 4, 5, 5])


def test_damping_is_a_time_or_a_matrix() -> None:
    section = BeamSection(1.0, 2.0, 4.0, 5.0, 7.0, (8.0, 9.0, 10.0))
    np.testing.assert_allclose(section.with_damping(0.1).damping, 0.1 * section.stiffness)
    D = np.diag([1.0, 2, 3, 4, 5, 6])
    damped = section.with_damping(D)
    np.testing.assert_array_equal(damped.damping, D)
    np.testing.assert_array_equal(damped.stiffness, section.stiffness)
    assert not section.damping.any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BeamSection(-1.0, 1, 1, 1, 1, (1, 1, 1)), "EA must be a positive number, received -1"),
        (lambda: BeamSection(1.0, 1, 1, (1, np.nan), 1, (1, 1, 1)), "EI must be a positive number, received nan"),
        (lambda: BeamSection(1.0, (1, 2, 3), 1, 1, 1, (1, 1, 1)), "GA must be one number or a pair"),
        (lambda: BeamSection(1.0, 1, 1, 1, 0.0, (1, 1, 1)), "mass must be a positive number, received 0"),
        (lambda: BeamSection(1.0, 1, 1, 1, 1, (1, 0, 1)), "inertia must be 3 positive numbers"),
        (lambda: BeamSection.rectangle(0.0, 1, E, NU, RHO), "width must be a positive number"),
        (lambda: BeamSection.circle(0.1, E, 0.6, RHO), "nu must be above -1 and at most 0.5, received 0.6"),
        (lambda: BeamSection.tube(0.1, 0.2, E, NU, RHO), "inner_radius 0.2 must be less than outer_radius 0.1"),
        (lambda: BeamSection.general(-np.eye(6), np.eye(6)), "stiffness must be positive definite"),
        (lambda: BeamSection.general(np.eye(5), np.eye(6)), "stiffness must be a finite 6x6 matrix"),
        (lambda: BeamSection.general(np.triu(np.ones((6, 6))), np.eye(6)), "stiffness must be symmetric"),
        (lambda: BeamSection.general(np.eye(6), np.diag([1.0, 2, 1, 1, 1, 1])), "mass must have the form"),
        (lambda: BeamSection.general(np.eye(6), np.diag([1.0, 1, 1, 1, 1, 0])), "inertia about the mass centre"),
        (lambda: BeamSection.circle(0.1, E, NU, RHO).with_damping(-0.1), "damping must not be negative"),
    ],
)
def test_impossible_sections_are_refused(make: object, message: str) -> None:
    with pytest.raises(mbs.ModelError, match=message):
        make()  # type: ignore[operator]
