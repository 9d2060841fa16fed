"""Motions, forces and frequencies of the validation suite from equations in few coordinates, apart from the library.

The references that are called exact are computed here; ``test_exact_references.py`` holds them to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev
from numpy.polynomial.legendre import Legendre, leggauss
from scipy.integrate import quad_vec, solve_ivp
from scipy.linalg import block_diag, eigh, eigvals, expm
from scipy.optimize import brentq

from fem_mbs.arrays import Array
from fem_mbs.benchmarks import linkages, other_programs, rotors, vibrations
from fem_mbs.benchmarks.linkages import ACROSS, AXIAL, BALL_MASS, GRAVITY, ROD_MASS, SLIDER_MASS

# Andrews and others: bars at an angle, and Bennett's linkage


def turning(angle: float, rate: float, stiffness: float, times: Sequence[float]) -> Array:
    """End ``(nt, 2)`` of a bar of length 1 at an angle from x, which obeys ``angle'' = -stiffness cos(angle)``."""
    solution = solve_ivp(
        lambda _, y: (y[1], -stiffness * np.cos(y[0])),
        (0, max(times)),
        (angle, rate),
        method="DOP853",
        t_eval=times,
        rtol=1e-12,
        atol=1e-12,
    )
    return np.stack([np.cos(solution.y[0]), np.sin(solution.y[0])], axis=-1)


def bennett_energy(t: float) -> float:
    """Of the three bodies, in J, from the places of the hinges."""
    h = 1e-5
    u, rate = linkages.BENNETT_START + linkages.DRIVE(t), linkages.DRIVE.velocity(t)
    total = 0.0
    for before, now, after, length in zip(
        linkages.links(u - h),
        linkages.links(u),
        linkages.links(u + h),
        (*linkages.LENGTHS, linkages.LENGTHS[0]),
        strict=False,
    ):
        low, middle, high = (x + R.apply((length / 2, 0, 0)) for x, R in (before, now, after))
        v, w = (high - low) / (2 * h), (before[1].inv() * after[1]).as_rotvec() / (2 * h)
        total += (
            linkages.MASS * v @ v + linkages.INERTIA @ w**2
        ) * rate**2 / 2 + linkages.MASS * linkages.GRAVITY * middle[2]
    return float(total)


# The spatial slider-crank


def slider_crank_energies(angle: complex) -> tuple[Any, Any, Any]:
    """Place of the slider, twice the kinetic energy over the square of the crank's rate, and potential energy."""
    s, c = np.sin(angle), np.cos(angle)
    pin, slope = (
        linkages.CRANK_CENTER + linkages.CRANK * np.array([0, -s, c]),
        linkages.CRANK * np.array([0, -c, -s]),
    )
    x: Any = np.sqrt(linkages.ROD**2 - pin[1] ** 2 - pin[2] ** 2)
    rate = -(pin[1] * slope[1] + pin[2] * slope[2]) / x
    along, turned = (
        np.array([x, -pin[1], -pin[2]]) / linkages.ROD,
        np.array([rate, -slope[1], -slope[2]]) / linkages.ROD,
    )
    # the cross of the universal joint keeps one axis of the rod perpendicular to x
    across = np.array([0, along[2], -along[1]])
    size = np.sqrt(across @ across)
    across = across / size
    about_x = -(turned @ across) / size
    about_across = turned @ np.cross(across, along)
    # axis of the rod, and the rest of its rotation
    axial = about_x * along[0]
    whole = about_x**2 + about_across**2
    middle = (slope + np.array([rate, 0, 0])) / 2
    crank = linkages.CRANK_MASSES[0] * (linkages.CRANK / 2) ** 2 + linkages.CRANK_INERTIA
    rod = (
        linkages.CRANK_MASSES[1] * (middle @ middle)
        + linkages.ROD_AXIAL * axial**2
        + linkages.ROD_TRANSVERSE * (whole - axial**2)
    )
    height = linkages.CRANK_MASSES[0] * (linkages.CRANK_CENTER[2] + pin[2]) / 2 + linkages.CRANK_MASSES[1] * pin[2] / 2
    return x, crank + rod + linkages.CRANK_MASSES[2] * rate**2, linkages.GRAVITY * height


def slider_crank_motion() -> Array:
    """Slider and crank ``(nt, 2)`` from ``M a'' = -V' - M' a'^2/2``, derivatives by complex steps."""

    def rates(_: float, y: Array) -> tuple[float, float]:
        tiny = 1e-30
        _, M, V = slider_crank_energies(y[0] + tiny * 1j)
        return y[1], -(V.imag + 0.5 * M.imag * y[1] ** 2) / tiny / M.real

    run = solve_ivp(
        rates,
        (0, linkages.CRANK_TIMES[-1]),
        (0.0, 6.0),
        method="DOP853",
        t_eval=linkages.CRANK_TIMES,
        rtol=1e-12,
        atol=1e-12,
    )
    return np.array([(slider_crank_energies(angle)[0].real, angle) for angle in run.y[0]])


# The governor and the hydraulic arm


def about_shaft(angle: float) -> tuple[float, float]:
    """Inertia of everything about the shaft, and its derivative by the angle of the rods."""
    s, c = np.sin(angle), np.cos(angle)
    ball, middle = linkages.OFFSET + c, linkages.OFFSET + c / 2
    rods = BALL_MASS * ball**2 + ROD_MASS * middle**2 + AXIAL * s**2 + ACROSS * c**2
    change = -2 * BALL_MASS * ball * s - ROD_MASS * middle * s + 2 * (AXIAL - ACROSS) * s * c
    return AXIAL + linkages.UPRIGHT + 2 * rods, 2 * change


def governor_rates(_: float, y: Array) -> Array:
    """Rates of the angle of the rods, the height of the slider, and their rates; the spin keeps its momentum."""
    angle, height, turning, rising = y
    s, c = np.sin(angle), np.cos(angle)
    inertia, change = about_shaft(angle)
    spin = linkages.SPIN * about_shaft(linkages.ANGLE)[0] / inertia
    across, down = c / 2, 1 - s / 2 - height
    length = np.hypot(across, down)
    by_angle, by_height = (-across * s - down * c) / 2 / length, -down / length
    pull = linkages.STIFFNESS * (length - linkages.FREE) + linkages.DAMPING * (by_angle * turning + by_height * rising)
    about_hinge = BALL_MASS + ROD_MASS / 4 + ACROSS
    moment = 0.25 * change * spin**2 + GRAVITY * c * (BALL_MASS + ROD_MASS / 2) - pull * by_angle
    return np.array([turning, rising, moment / about_hinge, -GRAVITY - 2 * pull * by_height / SLIDER_MASS])


def governor_motion(times: Array) -> Array:
    """Height of the slider and speed of the shaft ``(nt, 2)``, from three coordinates."""
    run = solve_ivp(
        governor_rates,
        (0, times[-1]),
        (linkages.ANGLE, 0.5, 0, 0),
        method="Radau",
        t_eval=times,
        rtol=1e-11,
        atol=1e-12,
    )
    spin = [linkages.SPIN * about_shaft(linkages.ANGLE)[0] / about_shaft(angle)[0] for angle in run.y[0]]
    return np.stack([run.y[1], spin], axis=-1)


def fastest() -> float:
    """The fastest rate of decay at the start, in 1/s."""
    start = np.array([linkages.ANGLE, 0.5, 0, 0])
    steps = 1e-6 * np.eye(4)
    jacobian = np.stack([(governor_rates(0, start + d) - governor_rates(0, start - d)) / 2e-6 for d in steps], axis=-1)
    return float(-np.linalg.eigvals(jacobian).real.min())


def arm_motion(times: Sequence[float]) -> Array:
    """Angle in rad and pressures in MPa ``(nt, 3)``, from one angle and two pressures."""

    def rates(t: float, y: Array) -> list[float]:
        angle, rate, *pressures = y
        along = other_programs.ARM / 4 * np.array([np.cos(angle), np.sin(angle)])
        line = along + (0, other_programs.ARM / 4)
        length = float(np.hypot(*line))
        speed = rate * (line @ (-along[1], along[0])) / length
        pull = other_programs._pull(t, pressures, (length, speed))[0] / length
        moment = pull * (
            along[1] * line[0] - along[0] * line[1]
        ) - other_programs.ARM_MASS * other_programs.GRAVITY * other_programs.ARM / 2 * np.cos(angle)
        return [
            rate,
            moment / (other_programs.ARM_MASS * other_programs.ARM**2 / 3),
            *other_programs._pressure_rates(t, pressures, (length, speed)),
        ]

    accuracy = {"rtol": 1e-9, "atol": [1e-12, 1e-12, 1e-3, 1e-3]}
    run = solve_ivp(
        rates,
        (0, times[-1]),
        (0, 0, other_programs.START_PRESSURE, other_programs.START_PRESSURE),
        "Radau",
        t_eval=times,
        **accuracy,
    )
    return np.stack([run.y[0], *(run.y[2:] / 1e6)], axis=-1)


# Rotors


def jeffcott_motion() -> Array:
    """Deflection of the middle in two directions over the offset, and speed, from three coordinates."""

    def rates(_: float, y: Array) -> Array:
        place, angle, velocity, speed = y[:2], y[2], y[3:5], y[5]
        arm = rotors.OFFSET * np.array([np.cos(angle), np.sin(angle)])
        across = np.array([-arm[1], arm[0]])
        # of the mass centre, and of the moments about it
        A = np.eye(3)
        A[:2, 2], A[2, :2], A[2, 2] = (
            across,
            rotors.DISK_MASS * across,
            rotors.DISK_INERTIA + rotors.DISK_MASS * rotors.OFFSET**2,
        )
        push = (
            -rotors.BEARING_STIFFNESS * place - rotors.BEARING_DAMPING * velocity
        ) / rotors.DISK_MASS + arm * speed**2
        return np.concatenate([velocity, [speed], np.linalg.solve(A, [*push, rotors.DRIVE])])

    run = solve_ivp(
        rates, (0, rotors.JEFFCOTT.t_end), np.zeros(6), "DOP853", t_eval=rotors.JEFFCOTT.times, rtol=1e-11, atol=1e-13
    )
    return np.concatenate([run.y[:2] / rotors.OFFSET, run.y[5:]]).T


# The rotating shaft: left of the disk and right of it it moves alike across. Polynomials on the left half, complex for
# the two directions, carry the deflection and the slope: bending, shear, rotary and gyroscopic inertia, linear in the
# motion across. Others carry the twist of both halves.


HALF = rotors.SHAFT_LENGTH / 2
POINTS, WEIGHTS = leggauss(24)
PLACES, WEIGHTS = HALF * (POINTS + 1) / 2, HALF * WEIGHTS / 2
COUNT, MODES, TWISTS = 12, 6, 3
# the distance from the end of a half
RISING = Chebyshev((HALF / 2, HALF / 2), domain=(0, HALF))


def shapes_of(factor: Chebyshev, count: int) -> tuple[Array, Array, Array]:
    """Polynomials with a factor: values and slopes at the points of a half, and values at its end."""
    shapes = [factor * Chebyshev.basis(k, domain=(0, HALF)) for k in range(count)]
    values, slopes = ([shape(PLACES) for shape in parts] for parts in (shapes, [shape.deriv() for shape in shapes]))
    return np.array(values), np.array(slopes), np.array([shape(HALF) for shape in shapes])


def product(a: Array, b: Array) -> Array:
    return (a * WEIGHTS) @ b.T


def across() -> tuple[Array, Array, Array, Array]:
    """Squares of frequencies, gyroscopic matrix per speed, weight and middle of the lowest modes across."""
    w, w_x, middle = shapes_of(RISING, COUNT)
    # the slope vanishes at the end and, by symmetry, at the disk
    turned, turned_x, _ = shapes_of(RISING * (HALF - RISING), COUNT)
    none = np.zeros((COUNT, COUNT))
    M = block_diag(
        rotors.SHAFT_MASS * product(w, w) + rotors.DISK / 2 * np.outer(middle, middle),
        rotors.SHAFT_ACROSS * product(turned, turned),
    )
    G = block_diag(none, rotors.SHAFT_POLAR * product(turned, turned))
    shear = np.concatenate([w_x, -turned])
    K = rotors.GA * product(shear, shear) + rotors.EI * block_diag(none, product(turned_x, turned_x))
    weight = GRAVITY * np.concatenate([rotors.SHAFT_MASS * (w @ WEIGHTS) + rotors.DISK / 2 * middle, np.zeros(COUNT)])
    squares, modes = eigh(K, M, subset_by_index=(0, MODES - 1))
    return squares, modes.T @ G @ modes, modes.T @ weight, modes[:COUNT].T @ middle


def twist() -> tuple[Array, Array, Array]:
    """Squares of frequencies, share in the drive's acceleration, and the disk of the lowest twisting modes."""
    left, left_x, disk = shapes_of(RISING, COUNT)
    right, right_x, _ = shapes_of(RISING, COUNT)
    values = np.concatenate(
        [np.concatenate([left, 0 * right]), np.concatenate([np.outer(disk, 1 + 0 * PLACES), right])], 1
    )
    slopes = np.concatenate([np.concatenate([left_x, 0 * right]), np.concatenate([0 * left, right_x])], 1)
    weights, at_disk = np.tile(WEIGHTS, 2), np.concatenate([disk, 0 * disk])
    M = rotors.SHAFT_POLAR * (values * weights) @ values.T + rotors.DISK_POLAR * np.outer(at_disk, at_disk)
    squares, modes = eigh(rotors.GJ * (slopes * weights) @ slopes.T, M, subset_by_index=(0, TWISTS - 1))
    inertia = rotors.SHAFT_POLAR * values @ weights + rotors.DISK_POLAR * at_disk
    return squares, modes.T @ inertia, modes.T @ at_disk


def sag() -> float:
    """Static deflection of the middle, in m."""
    squares, _, weight, middle = across()
    return float((weight / squares) @ middle)


def shaft_motion(times: Array) -> Array:
    """Deflection ``y + i z`` of the middle from the static sag, over the offset of the disk if that is small."""
    squares, gyro, _, middle = across()
    twisting, driven, disk = twist()
    push = rotors.DISK / 2 * middle

    def rates(t: float, y: Array) -> Array:
        q, p, a, b = np.split(y, (MODES, 2 * MODES, 2 * MODES + TWISTS))
        turned, speed, acceleration = rotors.drive(t)
        twisted = -twisting * a - driven * acceleration
        angle, rate, change = turned + disk @ a, speed + disk @ b, acceleration + disk @ twisted
        unbalance = (rate**2 - 1j * change) * np.exp(1j * angle)
        turning = 1j * gyro @ (speed * p + acceleration * q)
        return np.concatenate([p, push * unbalance - squares * q + turning, b, twisted])

    start = np.zeros(2 * MODES + 2 * TWISTS, dtype=complex)
    breaks = [0.0, *(t for t in (rotors.T1, rotors.T2, rotors.T3) if t < times[-1]), times[-1]]
    result = np.zeros(len(times), dtype=complex)
    for begin, end in zip(breaks[:-1], breaks[1:], strict=True):
        inside = (times >= begin) & (times <= end)
        run = solve_ivp(rates, (begin, end), start, method="DOP853", dense_output=True, rtol=1e-9, atol=1e-10)
        result[inside] = middle @ run.sol(times[inside])[:MODES]
        start = run.y[:, -1]
    return result


# Frequencies


def thick_cantilever(count: int) -> list[float]:
    """Angular frequencies of it, clamped, from Timoshenko's transfer matrix of ``(w, theta, Q, M)``."""

    def determinant(omega: float) -> float:
        A = np.array(
            [
                [0, 1, 1 / vibrations.GA, 0],
                [0, 0, 0, 1 / vibrations.EI],
                [-vibrations.MU * omega**2, 0, 0, 0],
                [0, -vibrations.J * omega**2, -1, 0],
            ],
            dtype=float,
        )
        return float(np.linalg.det(expm(A * vibrations.LENGTH)[2:, 2:]))

    grid = np.linspace(1.0, 2000.0, 4000)
    signs = [determinant(omega) for omega in grid]
    spans = (span for span, s in zip(pairwise(grid), pairwise(signs), strict=True) if s[0] * s[1] < 0)
    return [brentq(determinant, *span, xtol=1e-12, rtol=1e-14) for span, _ in zip(spans, range(count), strict=False)]


def thick_on_hinges(half_waves: int) -> Array:
    """Angular frequencies ``(2,)`` of it on two hinges: the wave of bending and, above a cut-off, that of shear."""
    k = np.pi * half_waves / vibrations.LENGTH
    squares = np.linalg.eigvals(
        [
            [vibrations.GA * k**2 / vibrations.MU, -vibrations.GA * k / vibrations.MU],
            [-vibrations.GA * k / vibrations.J, (vibrations.GA + vibrations.EI * k**2) / vibrations.J],
        ]
    )
    return np.asarray(np.sqrt(np.sort(squares.real)))


def southwell(speed: float, hub: float, count: int = 24) -> Array:
    """Two frequencies of flap and two of lag of a blade that is alike in both planes, over ``sqrt(EI/mu L^4)``.

    Of ``w'''' - (T w')' = omega^2 w`` with ``T = speed^2 (hub (1 - x) + (1 - x^2)/2)``, by polynomials ``x^2 T_k``; in
    the plane the squares are smaller by that of the speed.
    """
    nodes, weights = leggauss(2 * count)
    x, weights = (nodes + 1) / 2, weights / 2
    square = Chebyshev((0.5, 0.5), domain=(0, 1)) ** 2
    shapes = [square * Chebyshev.basis(k, domain=(0, 1)) for k in range(count)]
    w, slope, bend = (np.array([shape.deriv(k)(x) if k else shape(x) for shape in shapes]) for k in (0, 1, 2))
    pull = speed**2 * (hub * (1 - x) + (1 - x**2) / 2)
    stiffness = (bend * weights) @ bend.T + (slope * weights * pull) @ slope.T
    squares = eigh(stiffness, (w * weights) @ w.T, eigvals_only=True)[:2]
    return np.asarray(np.sqrt(np.concatenate([squares, squares - speed**2])))


def whirl(spin: float) -> Array:
    """Rates ``(4,)`` with ``K + G w - M w^2`` singular, of deflection and tilt as complex numbers."""
    L, G, E = vibrations.SHAFT, vibrations.SHAFT_GA, vibrations.SHAFT_EI
    K = np.linalg.inv([[L**3 / (3 * E) + L / G, L**2 / (2 * E)], [L**2 / (2 * E), L / E]])
    inverse = np.diag([1 / vibrations.DISK, 1 / vibrations.ACROSS])
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [inverse @ K, inverse @ np.diag([0.0, vibrations.POLAR * spin])]])
    return np.asarray(np.sort(eigvals(A).real))


# A twisted strip


def twisted_strip() -> Array:
    """Deflections ``(2,)`` of a twisted strip of length 1 under a small unit load, along and across (Castigliano)."""

    def compliance(s: float) -> Array:
        c, d = np.cos(np.pi / 2 * s), np.sin(np.pi / 2 * s)
        return (1 - s) ** 2 * np.array([c * c + d * d / 4.0, c * d * (1 - 1 / 4.0)])

    return np.asarray(quad_vec(compliance, 0, 1)[0])


# Thin plates


def ritz_frequencies(edges: str, count: int, nu: float = 0.3, degree: int = 12, speed: float = 0.0) -> Array:
    """``omega a^2 sqrt(rho h/D)`` of a thin square plate by polynomials that meet its supports; rigid motions are 0.

    Where it turns about its left edge, in the same unit, the pull is ``speed^2 (1 - x^2)/2``, without Poisson's ratio.
    """
    points, weights = leggauss(2 * degree)
    points, weights = 0.5 * (points + 1.0), 0.5 * weights
    order = {"C": 2, "S": 1, "F": 0}
    x = Legendre.identity(domain=[0.0, 1.0])
    integrals, slope = [], []
    for side in (0, 2):
        held = x ** order[edges[side]] * (1.0 - x) ** order[edges[side + 1]]
        basis = [held * Legendre.basis(k, domain=[0.0, 1.0]) for k in range(degree)]
        slopes = [np.array([w.deriv(m)(points) for w in basis]) for m in range(3)]
        integrals.append([[(a * weights) @ b.T for b in slopes] for a in slopes])
        slope.append(slopes[1])
    A, B = integrals
    K = np.kron(A[2][2], B[0][0]) + np.kron(A[0][0], B[2][2]) + 2.0 * (1.0 - nu) * np.kron(A[1][1], B[1][1])
    K += nu * (np.kron(A[2][0], B[0][2]) + np.kron(A[0][2], B[2][0]))
    M = np.kron(A[0][0], B[0][0])
    if speed:
        pull = (slope[0] * weights * 0.5 * (1.0 - points**2)) @ slope[0].T
        K += speed**2 * (np.kron(pull, B[0][0]) - M)
    squares = eigh(K, M, eigvals_only=True, subset_by_index=(0, count - 1))
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))
