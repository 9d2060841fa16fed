"""References of the suite that are called exact, held to what equations in few coordinates give."""

from __future__ import annotations

from collections.abc import Callable

import few_coordinates as few
import numpy as np
import pytest
from minimal import stick_and_slip
from scipy.integrate import solve_ivp
from scipy.special import ellipj, roots_laguerre

from fem_mbs.arrays import Array
from fem_mbs.benchmarks import impacts, joints, linkages, tops
from fem_mbs.benchmarks.case import references


def windows(count: int) -> Array:
    posts = count + 1
    return few.turning(np.pi / 2, -1.0, (posts / 2 + count) * 9.81 / (posts / 3 + count), (1, 5, 10)).T


def top(spin: float) -> Array:
    return tops.exact(np.array([1.0]), spin).x[-1]


def flipping() -> Array:
    """Jacobi's elliptic functions."""
    J, start = np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.0, 1.001 / np.sqrt(3.0)])
    twice, square = J @ start**2, J**2 @ start**2
    fast = np.sqrt((J[2] - J[1]) * (square - twice * J[0]) / J.prod())
    m = (J[1] - J[0]) * (twice * J[2] - square) / ((J[2] - J[1]) * (square - twice * J[0]))
    sn, cn, dn, _ = ellipj(fast * np.array((5.0, 10.0)), m)
    across = np.sqrt((twice * J[2] - square) / (J[1] * (J[2] - J[1])))
    return np.stack([start[0] * cn, across * sn, start[2] * dn], axis=-1)


def sliding() -> Array:
    slope, mass = np.radians(30.0), 2.0
    normal = mass * 9.81 * np.cos(slope)
    return np.array([2.0 * 9.81 * np.sin(slope), normal * np.sin(slope), normal * np.cos(slope)])


def nut() -> Array:
    mass, J, t, per_turn = 1.5, 0.004, 3.0, 2 * np.pi / 0.05
    fall = 9.81 / (1 + J * per_turn**2 / mass) * t**2 / 2
    return np.array([fall, per_turn * 2 * fall / t])


def decaying() -> Array:
    mass, stiffness, damping, t = 2.0, 800.0, 4.0, np.array((0.1, 0.5, 1.0))
    decay = damping / (2 * mass)
    fast = np.sqrt(stiffness / mass - decay**2)
    return 0.1 * np.exp(-decay * t) * (np.cos(fast * t) + decay / fast * np.sin(fast * t))


def unwinding() -> Array:
    mass, J, arm, stiffness, damping, wound = 2.0, 0.1, 0.4, 3.0, 0.05, 1.5 * np.pi

    def rates(_: float, y: Array) -> tuple[float, float]:
        moment = -stiffness * (y[0] - wound) - damping * y[1] - mass * 9.81 * arm * np.sin(y[0])
        return y[1], moment / (J + mass * arm**2)

    times = (0.5, 1.0, 2.0)
    return solve_ivp(rates, (0, 2.0), (0.0, 0.0), "DOP853", t_eval=times, rtol=1e-12, atol=1e-12).y[0]


def speeding_up() -> Array:
    J, gain, integral, speed, t = 0.5, 4.0, 40.0, 12.0, np.array((0.1, 0.3, 1.0))
    decay = gain / (2 * J)
    fast = np.sqrt(integral / J - decay**2)
    return speed - speed * np.exp(-decay * t) * (np.cos(fast * t) - decay / fast * np.sin(fast * t))


def passing() -> Array:
    speed = 0.3 * joints.CRITICAL
    return 1e3 * joints.deflection(np.array([0.25, 0.5, 0.75, 0.9]) * joints.LENGTH / speed, speed)


def bouncing() -> Array:
    first = np.sqrt(2.0 / 9.81)
    return first * (1.0 + 2.0 * np.cumsum([0.0, *(0.8 ** np.arange(1, 5))]))


def stopping_and_rolling() -> Array:
    begins = 6.0 / (7 * 0.2 * 9.81)
    there = 3.0 * begins - 0.1 * 9.81 * begins**2 + 15.0 / 7.0 * (1.0 - begins)
    apart, touching = (0, 0, 1), (-1 / 3, 2 / 3, 2 / 3)
    return np.array([2.0 / (0.3 * 9.81), 15.0 / 7.0, there, *apart, *touching])


def waves() -> Array:
    force = impacts.RHO * impacts.WAVE * impacts.AREA * impacts.SPEED
    leaves = 1e3 * (impacts.GAP / impacts.SPEED + 2.0 * impacts.LENGTH / impacts.WAVE)
    return np.array([force, 0.0, leaves, 2.0 * impacts.RHO * impacts.AREA * impacts.LENGTH * impacts.SPEED, 1.0])


def bennett() -> Array:
    h, times = 1e-4, np.array((0.5, 1.0, 1.5))
    start, drive = linkages.BENNETT_START, linkages.DRIVE
    angles = [linkages.second(start + drive(t)) - linkages.second(start) for t in times]
    torques = [(few.bennett_energy(t + h) - few.bennett_energy(t - h)) / (2 * h) / drive.velocity(t) for t in times]
    return np.array([*angles, *torques])


def shaft() -> Array:
    motion = few.shaft_motion(np.array((0.5, 1.0, 1.25, 2.0, 2.5)))
    return np.append(few.sag(), np.stack([motion.real, motion.imag], axis=-1))


def circle_of_plates() -> Array:
    angle = 2 * np.pi * np.array([0.25, 0.5, 0.75, 1.0])
    return np.concatenate([12.0 * (1 - np.sin(angle) / angle), 12.0 * (1 - np.cos(angle)) / angle])


def plates() -> Array:
    # three of the rigid motions of a free plate are in its plane
    found = (few.ritz_frequencies(edges, count)[-count + rigid :] for edges, count, rigid in PLATES)
    return np.concatenate([*found])


PLATES = (("SSSS", 4, 0), ("CCCC", 4, 0), ("CFFF", 6, 0), ("FFFF", 8, 3))


def rotating_plates() -> Array:
    return np.concatenate([few.ritz_frequencies("CFFF", 4, nu=0.0, speed=speed) for speed in (0.0, 2.0, 6.0)])


EXACT: dict[str, Callable[[], object]] = {
    "heavy top": lambda: top(tops.FAST),
    "heavy top without joints": lambda: [top(tops.FAST), top(tops.FAST), top(tops.SLOW)],
    "heavy top by joint": lambda: [top(tops.FAST), top(tops.SLOW)],
    "twisted beam": few.twisted_strip,
    "roll-up": lambda: 4 * [(-10.0, 0.0)],
    "cantilever": lambda: 10 * np.square((1.8751040687, 4.6940911330, 7.8547574382)),
    "free beam": lambda: 10 * np.square((4.7300407449, 7.8532046241, 10.995607838)),
    "thick cantilever": lambda: few.thick_cantilever(4),
    "thick beam on hinges": lambda: [few.thick_on_hinges(n) for n in (1, 2, 3)],
    "chain of ten links": lambda: np.sqrt(roots_laguerre(10)[0] * 98.1),
    # the mass per length is that of the wire as built; the pull of 100 N stretches it by N/EA
    "string": lambda: (np.arange(3) + 0.5) * np.pi / 2.0 * np.sqrt(100.0 / 3.0 / (1 + 1e-3)),
    "blade on a hub": lambda: [few.southwell(10.0, hub) for hub in (0.0, 0.2, 1.0)],
    "overhung rotor": lambda: [few.whirl(spin) for spin in (0.0, 60.0, 300.0)],
    "plates, frequencies": plates,
    "rotating plate, frequencies": rotating_plates,
    "Sze: roll-up": circle_of_plates,
    "intermediate axis": flipping,
    "block on an incline": sliding,
    "nut on a screw": nut,
    "mass, spring and damper": decaying,
    "pendulum with a torsion spring": unwinding,
    "speed motor": speeding_up,
    "block on a belt": lambda: 2 * stick_and_slip(),
    "moving load": passing,
    "bouncing ball": lambda: [*bouncing(), 0.0, 9.81],
    "sliding, rolling, three balls": stopping_and_rolling,
    "bar hits a wall": waves,
    "IFToMM A01, simple pendulum": lambda: few.turning(np.pi, 0.0, 9.81, (1, 5, 10)).T,
    "IFToMM A02, N-four-bar": lambda: [*windows(2).ravel(), 0.0],
    "IFToMM A02 with 40 windows": lambda: [*windows(40).ravel(), 0.0],
    "IFToMM A05, flyball governor": lambda: few.governor_motion(np.array(linkages.GOVERNOR.times)).T,
    "IFToMM spatial slider-crank": lambda: few.slider_crank_motion().T,
    "Bennett's linkage": bennett,
    "hydraulic arm": lambda: few.arm_motion((0.2, 0.4)).T,
    "Jeffcott rotor": lambda: few.jeffcott_motion().T,
    "rotating shaft": shaft,
}


SLOW = ("rotating shaft", "IFToMM A05, flyball governor", "heavy top without joints")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in EXACT]
)
def test_exact(name: str) -> None:
    expected = np.concatenate([np.ravel(part) for part in EXACT[name]()])
    rows = [own for own in references()[name] if own.source.startswith("exact") and "order in " not in own.name]
    allowed = np.array([own.tolerance * (own.scale or abs(own.reference)) for own in rows])
    assert (np.abs([own.reference for own in rows] - expected) <= 0.01 * allowed).all()
