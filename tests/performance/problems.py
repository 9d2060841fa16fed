"""The problems that are timed, as numbers: fem_mbs and the peer build their models from the same ones."""

from __future__ import annotations

from math import cos, pi, sin
from typing import NamedTuple

Triple = tuple[float, float, float]


class Bar(NamedTuple):
    """A straight beam in the x-y plane."""

    start: Triple
    end: Triple
    stiffness: tuple[float, ...]  # axial, shear y, shear z, torsion, bending y, bending z
    mass: float  # per length
    inertia: Triple  # per length: torsional, y, z


class Problem(NamedTuple):
    """Bars and the run: constant steps from rest."""

    kind: str
    bars: tuple[Bar, ...]
    elements: int  # a bar
    rho_inf: float
    step: float
    steps: int


_LEG = ((1e6, 1e6, 1e6, 1e3, 1e3, 1e3), 1.0, (20.0, 10.0, 10.0))
# Simo and Vu-Quoc (1988); the run of Bruels, Cardona, Arnold (2012), HHT with alpha = 0.05
CANTILEVER = Problem(
    "cantilever",
    (Bar((0, 0, 0), (10, 0, 0), *_LEG), Bar((10, 0, 0), (10, 10, 0), *_LEG)),
    elements=5,
    rho_inf=0.95 / 1.05,
    step=0.2,
    steps=150,
)
# Bruels, Cardona, Arnold (2012), Table 2
FOUR_BAR = Problem(
    "four_bar",
    (
        Bar((0, 0, 0), (0, 0.12, 0), (4e7, 2e6, 2e6, 2.8e5, 2.4e6, 2.4e6), 3.2, (2.4e-2, 1.2e-2, 1.2e-2)),
        Bar((0, 0.12, 0), (0.24, 0.12, 0), (4e6, 2e5, 2e5, 2.8e4, 2.8e5, 2.8e5), 1.6, (1.2e-2, 6e-3, 6e-3)),
        Bar((0.24, 0.12, 0), (0.24, 0, 0), (4e5, 2e5, 2e5, 2.8e4, 2.4e4, 2.4e4), 1.6, (1.2e-2, 6e-3, 6e-3)),
    ),
    elements=10,
    rho_inf=0.9,
    step=0.02,
    steps=100,
)
CRANK_RATE, CRANK_START = -5.0, 0.5
HINGE_TILT = pi / 36
GRAVITY = 9.81


def swinging_beam(elements: int) -> Problem:
    """A clamped beam that falls under gravity along -z."""
    bar = Bar((0, 0, 0), (10, 0, 0), (1e6, 4e5, 4e5, 1e3, 1e3, 1e3), 1.0, (2e-3, 1e-3, 1e-3))
    return Problem("swinging_beam", (bar,), elements, rho_inf=0.9, step=0.01, steps=20)


def problem(kind: str, elements: int | None = None) -> Problem:
    """A problem by name; the swinging beam has a size."""
    if kind == "swinging_beam":
        return swinging_beam(elements or 1000)
    return {"cantilever": CANTILEVER, "four_bar": FOUR_BAR}[kind]


def push(t: float) -> float:
    """Force at the elbow of the cantilever."""
    return max(0.0, min(50.0 * t, 50.0 * (2.0 - t)))


def crank_angle(t: float) -> float:
    """Angle of the driven bar: its rate grows smoothly to its final value."""
    if t >= CRANK_START:
        return CRANK_RATE * (t - CRANK_START / 2)
    ripple = (CRANK_START / (2 * pi)) ** 2 * (cos(2 * pi * t / CRANK_START) - 1)
    return CRANK_RATE / CRANK_START * (t * t / 2 + ripple)


def hinge_axis() -> Triple:
    """Axis of the misaligned hinge: z, turned about y."""
    return (sin(HINGE_TILT), 0.0, cos(HINGE_TILT))
