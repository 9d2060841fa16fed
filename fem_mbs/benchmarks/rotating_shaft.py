"""The rotating shaft with an unbalanced disk of Bauchau and others (2016), driven through its critical speed.

No series of it is public; the reference has few coordinates. Left of the disk and right of it the shaft moves alike
across. Polynomials on the left half, complex for the two directions, carry the deflection and the slope: bending,
shear, rotary and gyroscopic inertia, linear in the motion across. Others carry the twist of both halves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.polynomial import Chebyshev
from numpy.polynomial.legendre import leggauss
from scipy.integrate import simpson, solve_ivp
from scipy.linalg import block_diag, eigh

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import STEP, Quantity, case, converged, refine, rows
from fem_mbs.contracts import Node
from fem_mbs.elements import Beam, BeamSection, CylindricalJoint, RevoluteJoint, RigidBody
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate
from fem_mbs.static.statics import statics

LENGTH, GRAVITY, SPEED = 6.0, 9.81, 60.0
EA, GA, GJ, EI = 313.4e6, 60.5e6, 272.7e3, 354.5e3
MASS, POLAR, ACROSS = 11.64, 26.34e-3, 13.17e-3
DISK, DISK_POLAR, DISK_ACROSS, OFFSET = 70.573, 2.0325, 1.0163, 0.05
SLOW, FAST = 0.8, 1.2
T1, T2, T3 = 0.5, 1.0, 1.25


def drive(t: float) -> tuple[float, float, float]:
    """Angle, rate and acceleration of the driven end: to 0.8 of 60 rad/s by 0.5 s, held to 1 s, to 1.2 by 1.25 s."""

    def rise(t: float, length: float) -> Array:
        """Of a speed that rises from 0 to 1 by a cosine, then holds: its integral, the speed and its rate."""
        inside = min(max(t, 0.0), length)
        s, c = np.sin(np.pi * inside / length), np.cos(np.pi * inside / length)
        way = inside - length / np.pi * s
        return np.array([0.5 * way + max(t - length, 0.0), 0.5 * (1 - c), 0.5 * np.pi / length * s])

    angle, rate, acceleration = SPEED * (SLOW * rise(t, T1) + (FAST - SLOW) * rise(t - T2, T3 - T2))
    return float(angle), float(rate), float(acceleration)


def turn(t: float) -> float:
    """Angle of the driven end."""
    return drive(t)[0]


HALF = LENGTH / 2
NODES, WEIGHTS = leggauss(24)
X, WEIGHTS = HALF * (NODES + 1) / 2, HALF * WEIGHTS / 2
COUNT, MODES, TWISTS = 12, 6, 3


def _shapes(factor: Chebyshev, count: int) -> tuple[Array, Array, Array]:
    """Polynomials with a factor: values and slopes at the points of a half, and values at its end."""
    shapes = [factor * Chebyshev.basis(k, domain=(0, HALF)) for k in range(count)]
    values, slopes = ([shape(X) for shape in parts] for parts in (shapes, [shape.deriv() for shape in shapes]))
    return np.array(values), np.array(slopes), np.array([shape(HALF) for shape in shapes])


def _product(a: Array, b: Array) -> Array:
    return (a * WEIGHTS) @ b.T


RISING = Chebyshev((HALF / 2, HALF / 2), domain=(0, HALF))
"""The distance from the end of a half."""


def across() -> tuple[Array, Array, Array, Array]:
    """Squares of frequencies, gyroscopic matrix per speed, weight and middle of the lowest modes across."""
    w, w_x, middle = _shapes(RISING, COUNT)
    # the slope vanishes at the end and, by symmetry, at the disk
    turned, turned_x, _ = _shapes(RISING * (HALF - RISING), COUNT)
    none = np.zeros((COUNT, COUNT))
    M = block_diag(MASS * _product(w, w) + DISK / 2 * np.outer(middle, middle), ACROSS * _product(turned, turned))
    G = block_diag(none, POLAR * _product(turned, turned))
    shear = np.concatenate([w_x, -turned])
    K = GA * _product(shear, shear) + EI * block_diag(none, _product(turned_x, turned_x))
    weight = GRAVITY * np.concatenate([MASS * (w @ WEIGHTS) + DISK / 2 * middle, np.zeros(COUNT)])
    squares, modes = eigh(K, M, subset_by_index=(0, MODES - 1))
    return squares, modes.T @ G @ modes, modes.T @ weight, modes[:COUNT].T @ middle


def twist() -> tuple[Array, Array, Array]:
    """Squares of frequencies, share in the drive's acceleration, and the disk of the lowest twisting modes."""
    left, left_x, disk = _shapes(RISING, COUNT)
    right, right_x, _ = _shapes(RISING, COUNT)
    values = np.concatenate([np.concatenate([left, 0 * right]), np.concatenate([np.outer(disk, 1 + 0 * X), right])], 1)
    slopes = np.concatenate([np.concatenate([left_x, 0 * right]), np.concatenate([0 * left, right_x])], 1)
    weights, at_disk = np.tile(WEIGHTS, 2), np.concatenate([disk, 0 * disk])
    M = POLAR * (values * weights) @ values.T + DISK_POLAR * np.outer(at_disk, at_disk)
    squares, modes = eigh(GJ * (slopes * weights) @ slopes.T, M, subset_by_index=(0, TWISTS - 1))
    inertia = POLAR * values @ weights + DISK_POLAR * at_disk
    return squares, modes.T @ inertia, modes.T @ at_disk


def sag() -> float:
    """Static deflection of the middle, in m."""
    squares, _, weight, middle = across()
    return float((weight / squares) @ middle)


def motion(times: Array) -> Array:
    """Deflection ``y + i z`` of the middle from the static sag, over the offset of the disk if that is small."""
    squares, gyro, _, middle = across()
    twisting, driven, disk = twist()
    push = DISK / 2 * middle

    def rates(t: float, y: Array) -> Array:
        q, p, a, b = np.split(y, (MODES, 2 * MODES, 2 * MODES + TWISTS))
        turned, speed, acceleration = drive(t)
        twisted = -twisting * a - driven * acceleration
        angle, rate, change = turned + disk @ a, speed + disk @ b, acceleration + disk @ twisted
        unbalance = (rate**2 - 1j * change) * np.exp(1j * angle)
        turning = 1j * gyro @ (speed * p + acceleration * q)
        return np.concatenate([p, push * unbalance - squares * q + turning, b, twisted])

    start = np.zeros(2 * MODES + 2 * TWISTS, dtype=complex)
    breaks = [0.0, *(t for t in (T1, T2, T3) if t < times[-1]), times[-1]]
    result = np.zeros(len(times), dtype=complex)
    for begin, end in zip(breaks[:-1], breaks[1:], strict=True):
        inside = (times >= begin) & (times <= end)
        run = solve_ivp(rates, (begin, end), start, method="DOP853", dense_output=True, rtol=1e-9, atol=1e-10)
        result[inside] = middle @ run.sol(times[inside])[:MODES]
        start = run.y[:, -1]
    return result


def rotating_shaft(
    offset: float = OFFSET, drive: Callable[[float], float] = turn, gravity: float = GRAVITY
) -> tuple[Model, Node]:
    """The shaft, driven at the hinge "drive", and the node of the disk.

    Four elements have the first frequency to 2e-6.
    """
    model = Model(gravity=(0, 0, -gravity))
    section = BeamSection(EA, GA, GJ, EI, MASS, (POLAR, ACROSS, ACROSS))
    shaft = Beam.line(model, (0, 0, 0), (LENGTH, 0, 0), section, 4, order=3, name="shaft")
    disk = shaft.nodes[len(shaft.nodes) // 2]
    model.add(RigidBody(disk, DISK, (DISK_POLAR, DISK_ACROSS, DISK_ACROSS), center_of_mass=(0, offset, 0)))
    model.add(RevoluteJoint(model.ground, shaft.nodes[0], (1, 0, 0), drive=drive), name="drive")
    model.add(CylindricalJoint(model.ground, shaft.nodes[-1], (1, 0, 0)))
    return model, disk


@case("rotating shaft", "machines", slow=True)
def shaft() -> Iterator[Quantity]:
    """A shaft of 6 m under its weight, driven through its critical speed: whirl of a disk a little out of balance.

    The sag and the motion without weight are compared each for itself. With the published offset of 50 mm the shaft
    bends too far for a linear model; what the drive gives is then compared with what the shaft has, from the sag on.
    """
    times, small = (0.5, 1.0, 1.25, 2.0, 2.5), 5e-4

    def run(steps: int) -> Array:
        model, disk = rotating_shaft(small, gravity=0.0)
        solution = simulate(model, 2.5, 2.5 / steps)
        across = solution.position(disk)[:, 1:]
        return ((across[rows(solution.t, times)] - across[0]) / small).ravel()

    still, disk = rotating_shaft(small, _held)
    hanging = statics(still, ramp=False).displacement(disk)[-1, 2]
    exact = motion(np.array(times))
    references = np.stack([exact.real, exact.imag], axis=-1).ravel()
    names = [f"{axis} over the offset at t = {t} s" for t in times for axis in "yz"]
    yield Quantity("static sag (m)", -hanging, sag(), 1e-5, "exact: Ritz, linear")
    yield from converged(
        names, refine(run, (1000, 2000, 4000)), references, 2e-4, "exact: Ritz, linear", scale=5.0, of=STEP
    )
    yield _work()


def _held(t: float) -> float:
    return 0.0


def _work() -> Quantity:
    """Work of the drive with the published offset, from its moment, beside the energy of the shaft."""
    still, _ = rotating_shaft(drive=_held)
    begin = statics(still, ramp=False).state(-1).at(0.0)
    model, _ = rotating_shaft()
    solution = simulate(model, 2.5, 1e-3, initial=begin)
    moment = solution.reaction("drive")[1][:, 0]
    work = simpson(moment * [drive(t)[1] for t in solution.t], x=solution.t)
    energy = solution.energy.total
    return Quantity(
        "work of the drive, offset 50 mm (J)", work, energy[-1] - energy[0], 2e-3, "exact: energy of the shaft"
    )
