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


def test_shift_moves_stiffness_and_mass() -> None:
    """Steiner's rule for both, and forces along the line of nodes that bend."""
    section = BeamSection.rectangle(0.03, 0.05, E, NU, RHO).with_damping(0.1)
    EA, GA, _, GJ, EI_y, EI_z = np.diag(section.stiffness)
    y, z = 0.01, -0.02
    shifted = section.shifted(y, z)
    expected = np.diag([EA, GA, GA, GJ + GA * (y**2 + z**2), EI_y + EA * z**2, EI_z + EA * y**2])
    expected[0, 4], expected[0, 5], expected[4, 5] = EA * z, -EA * y, -EA * y * z
    expected[1, 3], expected[2, 3] = -GA * z, GA * y
    expected += np.triu(expected, 1).T
    np.testing.assert_allclose(shifted.stiffness, expected, rtol=1e-12)
    np.testing.assert_allclose(shifted.damping, 0.1 * expected, rtol=1e-12)
    np.testing.assert_array_equal(shifted.center, [0, y, z])
    np.testing.assert_array_equal(shifted.inertia, section.inertia)
    np.testing.assert_allclose(shifted.outline.mean(axis=0), [y, z])
    back = shifted.shifted(-y, -z)
    np.testing.assert_allclose(back.stiffness, section.stiffness, rtol=1e-12, atol=1e-12 * EA)
    assert not section.center.any(), "the section itself stays"


def test_turn_by_a_right_angle_exchanges_width_and_height() -> None:
    """From y towards z: what was on the y axis is on the z axis."""
    wide, high = (BeamSection.rectangle(*sides, E, NU, RHO) for sides in ((0.05, 0.03), (0.03, 0.05)))
    turned = wide.shifted(0.01, 0.0).turned(np.pi / 2)
    other = high.shifted(0.0, 0.01)
    for name in ("stiffness", "damping", "inertia", "center"):
        size = np.abs(getattr(other, name)).max()
        np.testing.assert_allclose(getattr(turned, name), getattr(other, name), rtol=1e-12, atol=1e-12 * size)
    np.testing.assert_allclose(np.ptp(turned.outline, axis=0), np.ptp(other.outline, axis=0))


def test_shear_centre_belongs_to_shear_and_torsion_alone() -> None:
    section = BeamSection(1.0, (2.0, 3.0), 4.0, (5.0, 6.0), 7.0, (8.0, 9.0, 10.0), shear_center=(0.2, -0.1))
    expected = np.diag([1.0, 2, 3, 4 + 2 * 0.1**2 + 3 * 0.2**2, 5, 6])
    expected[1, 3] = expected[3, 1] = 2 * 0.1
    expected[2, 3] = expected[3, 2] = 3 * 0.2
    np.testing.assert_allclose(section.stiffness, expected, rtol=1e-14)
    assert not section.center.any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BeamSection(-1.0, 1, 1, 1, 1, (1, 1, 1)), "EA must be a positive number, received -1"),
        (lambda: BeamSection(1.0, 1, 1, (1, np.nan), 1, (1, 1, 1)), "EI must be a positive number, received nan"),
        (lambda: BeamSection(1.0, (1, 2, 3), 1, 1, 1, (1, 1, 1)), "GA must be one number or a pair"),
        (lambda: BeamSection(1.0, 1, 1, 1, 0.0, (1, 1, 1)), "mass must be a positive number, received 0"),
        (lambda: BeamSection(1.0, 1, 1, 1, 1, (1, 0, 1)), "inertia must be 3 positive numbers"),
        (lambda: BeamSection(1.0, 1, 1, 1, 1, (1, 1, 1), shear_center=0.1), "shear_center must be a place"),
        (lambda: BeamSection.circle(0.1, E, NU, RHO).shifted(0.1, np.inf), "shifted: z must be a finite number"),
        (lambda: BeamSection.circle(0.1, E, NU, RHO).turned("up"), "turned: angle must be a number"),
        (lambda: BeamSection.rectangle(0.0, 1, E, NU, RHO), "width must be a positive number"),
        (lambda: BeamSection.circle(0.1, E, 0.6, RHO), "nu must be above -1 and at most 0.5, received 0.6"),
        (lambda: BeamSection.tube(0.1, 0.2, E, NU, RHO), "inner_radius 0.2 must be less than outer_radius 0.1"),
        (lambda: BeamSection.general(-np.eye(6), np.eye(6)), "stiffness must be positive definite"),
        (lambda: BeamSection.general(np.eye(5), np.eye(6)), "stiffness must be a symmetric 6x6 matrix"),
        (
            lambda: BeamSection.general(np.triu(np.ones((6, 6))), np.eye(6)),
            "stiffness must be a symmetric 6x6 matrix, received",
        ),
        (lambda: BeamSection.general(np.eye(6), np.diag([1.0, 2, 1, 1, 1, 1])), "mass must have the form"),
        (lambda: BeamSection.general(np.eye(6), np.diag([1.0, 1, 1, 1, 1, 0])), "inertia about the mass centre"),
        (lambda: BeamSection.circle(0.1, E, NU, RHO).with_damping(-0.1), "damping must not be negative"),
    ],
)
def test_impossible_sections_are_refused(make: object, message: str) -> None:
    with pytest.raises(mbs.ModelError, match=message):
        make()  # type: ignore[operator]
