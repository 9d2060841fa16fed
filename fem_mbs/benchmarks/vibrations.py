"""Beams, strings, chains, blades and rotors whose natural frequencies are known."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.polynomial import Chebyshev
from numpy.polynomial.legendre import leggauss
from scipy.linalg import eigh, eigvals, expm
from scipy.optimize import brentq
from scipy.special import roots_laguerre

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import Quantity, case, compared, converged, refine
from fem_mbs.contracts import Node
from fem_mbs.elements import Beam, BeamSection, Force, GeneralJoint, PointMass, RevoluteJoint, RigidBody
from fem_mbs.modal.modes import modes
from fem_mbs.model.model import Model
from fem_mbs.static.statics import statics
from fem_mbs.static.steady_rotation import steady_rotation

EULER = {  # beta L of slender beams
    "cantilever": (1.8751040687, 4.6940911330, 7.8547574382),
    "free beam": (4.7300407449, 7.8532046241, 10.995607838),
}


# Thick beams


EI, GA, MU, J, LENGTH = 4e3, 7e4, 3.0, 0.02, 2.0
"""A beam that shears and has rotary inertia ``J``, of mass ``MU``, both per length."""


def thick_beam(elements: int, order: int = 1) -> tuple[Model, Beam]:
    """A thick beam along x, which nothing holds, bent and sheared across its section's y."""
    model = Model()
    section = BeamSection(EA=1e9, GA=(1e9, GA), GJ=1e9, EI=(EI, 1e9), mass=MU, inertia=(1e-3, J, 1e-3))
    beam = Beam.line(model, (0, 0, 0), (LENGTH, 0, 0), section, elements, y_axis=(0, 1, 0), order=order)
    return model, beam


def thick_cantilever(count: int) -> list[float]:
    """Angular frequencies of it, clamped, from Timoshenko's transfer matrix of ``(w, theta, Q, M)``."""

    def determinant(omega: float) -> float:
        A = np.array(
            [[0, 1, 1 / GA, 0], [0, 0, 0, 1 / EI], [-MU * omega**2, 0, 0, 0], [0, -J * omega**2, -1, 0]], dtype=float
        )
        return float(np.linalg.det(expm(A * LENGTH)[2:, 2:]))

    grid = np.linspace(1.0, 2000.0, 4000)
    signs = [determinant(omega) for omega in grid]
    spans = (span for span, s in zip(pairwise(grid), pairwise(signs), strict=True) if s[0] * s[1] < 0)
    return [brentq(determinant, *span, xtol=1e-12, rtol=1e-14) for span, _ in zip(spans, range(count), strict=False)]


def thick_on_hinges(half_waves: int) -> Array:
    """Angular frequencies ``(2,)`` of it on two hinges: the wave of bending and, above a cut-off, that of shear."""
    k = np.pi * half_waves / LENGTH
    squares = np.linalg.eigvals([[GA * k**2 / MU, -GA * k / MU], [-GA * k / J, (GA + EI * k**2) / J]])
    return np.asarray(np.sqrt(np.sort(squares.real)))


# A string and a chain


def string(elements: int) -> tuple[Model, Array]:
    """A wire of 2 m under 100 N, hinged at one end and free across at the other, and quarter waves of a string."""
    N, EA, mu, length = 100.0, 1e5, 3.0, 2.0
    model = Model()
    # soft in one plane
    section = BeamSection(EA, 1e6, 1e4, (1e4, 1e-5), mu, (1e-4, 1e-6, 1e-6))
    wire = Beam.line(model, (0, 0, 0), (length, 0, 0), section, elements, y_axis=(0, 1, 0))
    model.add(RevoluteJoint(model.ground, wire.nodes[0], (0, 0, 1)))
    model.add(Force(wire.nodes[-1], (N, 0, 0)))
    # the mass per length is that of the wire as built; the pull stretches it by N/EA
    return model, (np.arange(3) + 0.5) * np.pi / length * np.sqrt(N / mu / (1 + N / EA))


def hanging_chain(links: int = 10, length: float = 1.0) -> tuple[Model, Array]:
    """Equal masses on massless links, and their frequencies: zeros of Laguerre's polynomial of that degree."""
    model = Model(gravity=(0, 0, -9.81))
    last = model.ground
    for k in range(links):
        node = model.add_node((0, 0, -(k + 1) * length / links))
        model.add(PointMass(node, 1.0))
        model.add(RevoluteJoint(last, node, axis=(0, 1, 0), point=last.position))
        last = node
    return model, np.sqrt(roots_laguerre(links)[0] * 9.81 * links / length)


# Turning blades


HODGES = {  # speed: frequencies out of the plane (Hodges and Rutkowski 1981), all over sqrt(EI/mu L^4)
    0: (3.5160, 22.0345),
    3: (4.7973, 23.3203),
    6: (7.3604, 26.8091),
    9: (10.2257, 31.7705),
    12: (13.1702, 37.6031),
}


def blade(
    speed: float, hub: float = 0.0, lag: float = 1e3, *, elements: int = 10, order: int = 1, EA: float = 1e7
) -> tuple[Model, Node]:
    """A slender blade of length 1 that turns about z on a hub of a radius, and its tip.

    ``speed`` is over ``sqrt(EI/mu L^4)``; ``lag`` is the stiffness in the plane of rotation over that out of it.
    """
    model = Model("SE3")
    section = BeamSection(EA, EA, GJ=1e3, EI=(1.0, lag), mass=1.0, inertia=(2 / EA, 1 / EA, 1 / EA))
    beam = Beam.line(model, (hub, 0, 0), (hub + 1, 0, 0), section, elements, y_axis=(0, 1, 0), order=order)
    axis = (0, 0, 1)
    model.add(RevoluteJoint(model.ground, beam.nodes[0], axis, point=(0, 0, 0), drive=lambda t: speed * t))
    return model, beam.nodes[-1]


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


# Stodola's rotor


SHAFT, DISK, POLAR, ACROSS, SHAFT_GA, SHAFT_EI = 0.5, 10.0, 0.18, 0.1, 1e6, 1000.0


def overhung_rotor(spin: float, elements: int) -> Model:
    """A disk at the end of a shaft without mass, which turns about x."""
    model = Model()
    section = BeamSection(1e6, SHAFT_GA, 800.0, SHAFT_EI, 1e-6, (1e-8, 5e-9, 5e-9))
    shaft = Beam.line(model, (0, 0, 0), (SHAFT, 0, 0), section, elements)
    model.add(RigidBody(shaft.nodes[-1], DISK, (POLAR, ACROSS, ACROSS)))
    model.add(RevoluteJoint(model.ground, shaft.nodes[0], axis=(1, 0, 0), drive=lambda t: spin * t))
    return model


def whirl(spin: float) -> Array:
    """Rates ``(4,)`` with ``K + G w - M w^2`` singular, of deflection and tilt as complex numbers."""
    L, G, E = SHAFT, SHAFT_GA, SHAFT_EI
    K = np.linalg.inv([[L**3 / (3 * E) + L / G, L**2 / (2 * E)], [L**2 / (2 * E), L / E]])
    inverse = np.diag([1 / DISK, 1 / ACROSS])
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [inverse @ K, inverse @ np.diag([0.0, POLAR * spin])]])
    return np.asarray(np.sort(eigvals(A).real))


TIMOSHENKO = "exact: Timoshenko's beam"


def _names(count: int) -> list[str]:
    return [f"frequency {k + 1} (rad/s)" for k in range(count)]


def _nearest(found: Array, exact: Array) -> Array:
    """Of each given value the one that is next to it."""
    return np.array([found[np.abs(found - value).argmin()] for value in exact])


def _euler(name: str) -> list[Quantity]:
    section = BeamSection(EA=1e9, GA=1e10, GJ=100, EI=100, mass=1, inertia=(2e-9, 1e-9, 1e-9))

    def run(elements: int) -> Array:
        model = Model()
        beam = Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements)
        if name == "cantilever":
            model.fix(beam.nodes[0])
        found = modes(model, 12).angular
        return found[found > 0.0][:6:2]  # each twice, in two planes

    references = 10 * np.square(EULER[name])
    return converged(_names(3), refine(run, (40, 80, 160)), references, 1e-5, "exact: Euler and Bernoulli's beam")


@case("cantilever", "modes")
def cantilever() -> list[Quantity]:
    """Bending of a slender clamped beam."""
    return _euler("cantilever")


@case("free beam", "modes")
def free_beam() -> list[Quantity]:
    """Bending of a slender beam that floats freely, beside its six rigid motions."""
    return _euler("free beam")


@case("thick cantilever", "modes")
def thick_cantilever_case() -> list[Quantity]:
    """Bending of a clamped beam that shears and has rotary inertia."""

    def run(elements: int) -> Array:
        model, beam = thick_beam(elements)
        model.fix(beam.nodes[0])
        return modes(model, 4).angular

    return converged(_names(4), refine(run, (20, 40, 80)), thick_cantilever(4), 1e-5, TIMOSHENKO)


@case("thick beam on hinges", "modes")
def thick_beam_on_hinges() -> list[Quantity]:
    """Waves of bending and, above a cut-off, waves of shear fit a beam on two hinges: both branches of three shapes."""
    half_waves = (1, 2, 3)
    exact = np.concatenate([thick_on_hinges(n) for n in half_waves])

    def run(elements: int) -> Array:
        model, beam = thick_beam(elements)
        for end, along in ((0, True), (-1, False)):
            model.add(GeneralJoint(model.ground, beam.nodes[end], (along, True, True), rotation=(True, False, True)))
        return _nearest(modes(model, 20).angular, exact)

    names = [f"{branch}, half waves: {n} (rad/s)" for n in half_waves for branch in ("bending", "shear")]
    return converged(names, refine(run, (40, 80, 160)), exact, 1e-5, TIMOSHENKO)


@case("chain of ten links", "modes")
def chain() -> list[Quantity]:
    """Equal masses on massless links swing about the vertical: zeros of Laguerre's polynomial of degree ten."""
    model, exact = hanging_chain()
    return compared(_names(10), modes(model).angular, exact, 1e-9, "exact: zeros of Laguerre's polynomial")


@case("string", "modes")
def string_case() -> list[Quantity]:
    """A thin wire under tension, hinged at one end and free across at the other: quarter waves of a string."""

    def run(elements: int) -> Array:
        model, _ = string(elements)
        return modes(model, 3, statics(model, ramp=False).state(-1)).angular

    return converged(_names(3), refine(run, (50, 100, 200)), string(1)[1], 1e-4, "exact: wave equation")


def _blade(speed: float, hub: float, lag: float, elements: int) -> Array:
    """Two frequencies of flap, then two of lag, over ``sqrt(EI/mu L^4)``."""
    model, tip = blade(speed, hub, lag, elements=elements)
    found = modes(model, 6, steady_rotation(model, (0, 0, speed)).state(-1))
    seen = np.abs(found.displacement(tip))
    out, within = seen[:, 2] > 10 * seen[:, 1], seen[:, 1] > 10 * seen[:, 2]
    return np.concatenate([found.angular[out][:2], found.angular[within][:2]])


@case("turning blade", "modes")
def turning_blade() -> Iterator[Quantity]:
    """A slender blade stiffens as it turns about its root: frequencies out of the plane of rotation."""
    for speed, references in HODGES.items():
        values, _ = refine(partial(_blade, speed, 0.0, 1e3), (10, 20, 40))
        names = [f"frequency {k + 1} at speed {speed}" for k in range(2)]
        yield from compared(names, values[:2], references, 2e-4, "published: Hodges and Rutkowski 1981")


@case("blade on a hub", "modes")
def blade_on_a_hub() -> Iterator[Quantity]:
    """The same on hubs of a fifth of the blade's length and of all of it: out of the plane (flap) and in it (lag)."""
    speed = 10.0
    for hub in (0.0, 0.2, 1.0):
        names = [f"{name} {k} at hub ratio {hub}" for name in ("flap", "lag") for k in (1, 2)]
        exact = southwell(speed, hub)
        run = partial(_blade, speed, hub, 1.0)
        yield from converged(names, refine(run, (10, 20, 40)), exact, 1e-4, "exact: Ritz, 24 polynomials")


@case("overhung rotor", "modes")
def overhung_rotor_case() -> Iterator[Quantity]:
    """Stodola's disk at the end of a shaft without mass: forward and backward whirl at three speeds."""
    for spin in (0.0, 60.0, 300.0):
        exact = whirl(spin)

        def run(elements: int, spin: float = spin, exact: Array = exact) -> Array:
            model = overhung_rotor(spin, elements)
            # the shaft sees rates of whirl less its own speed
            seen = modes(model, 8, steady_rotation(model, (spin, 0, 0)).state(-1)).angular
            return _nearest(np.concatenate([spin + seen, spin - seen]), exact)

        names = [
            f"{'forward' if value > 0 else 'backward'} whirl {abs(value):.3g} rad/s at {spin:g} rad/s"
            for value in exact
        ]
        yield from converged(names, refine(run, (10, 20, 40)), exact, 1e-5, "exact: two coordinates")
