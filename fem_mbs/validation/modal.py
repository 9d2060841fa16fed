"""Benchmarks of natural frequencies, of structures at rest and such that turn."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
from numpy.polynomial import Chebyshev
from numpy.polynomial.legendre import leggauss
from scipy.linalg import eigh, eigvals, expm
from scipy.optimize import brentq
from scipy.special import roots_laguerre

from fem_mbs.arrays import Array
from fem_mbs.elements import Beam, BeamSection, Force, GeneralJoint, PointMass, RevoluteJoint, RigidBody
from fem_mbs.modal.modes import modes
from fem_mbs.model.model import Model
from fem_mbs.static.statics import statics
from fem_mbs.static.steady_rotation import steady_rotation
from fem_mbs.validation.case import Quantity, case, compared, rate, refine

EULER = {  # beta L of slender beams
    "cantilever": (1.8751040687, 4.6940911330, 7.8547574382),
    "free beam": (4.7300407449, 7.8532046241, 10.995607838),
}


def _euler(name: str) -> list[Quantity]:
    section = BeamSection(EA=1e9, GA=1e10, GJ=100, EI=100, mass=1, inertia=(2e-9, 1e-9, 1e-9))

    def run(elements: int) -> Array:
        model = Model()
        beam = Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements)
        if name == "cantilever":
            model.fix(beam.nodes[0])
        found = modes(model, 12).angular
        return found[found > 0.0][:6:2]  # each twice, in two planes

    values, order = refine(run, (40, 80, 160))
    references = 10 * np.square(EULER[name])
    names = [f"frequency {k + 1} (rad/s)" for k in range(3)]
    return [*compared(names, values, references, 1e-5, "Euler and Bernoulli"), rate(order)]


@case("cantilever", "modes")
def cantilever() -> list[Quantity]:
    """Bending of a slender clamped beam."""
    return _euler("cantilever")


@case("free beam", "modes")
def free_beam() -> list[Quantity]:
    """Bending of a slender beam that floats freely, beside its six rigid motions."""
    return _euler("free beam")


def _timoshenko(EI: float, GA: float, mu: float, j: float, L: float, count: int) -> list[float]:
    """Angular frequencies of a cantilever that shears, from the transfer matrix of ``(w, theta, Q, M)``."""

    def determinant(omega: float) -> float:
        A = np.array(
            [[0, 1, 1 / GA, 0], [0, 0, 0, 1 / EI], [-mu * omega**2, 0, 0, 0], [0, -j * omega**2, -1, 0]], dtype=float
        )
        return float(np.linalg.det(expm(A * L)[2:, 2:]))

    grid = np.linspace(1.0, 2000.0, 4000)
    signs = [determinant(omega) for omega in grid]
    spans = (span for span, s in zip(pairwise(grid), pairwise(signs), strict=True) if s[0] * s[1] < 0)
    return [brentq(determinant, *span, xtol=1e-12, rtol=1e-14) for span, _ in zip(spans, range(count), strict=False)]


@case("thick cantilever", "modes")
def thick_cantilever() -> list[Quantity]:
    """Bending of a clamped beam that shears and has rotary inertia."""
    EI, GA, mu, j, L = 4e3, 7e4, 3.0, 0.02, 2.0

    def run(elements: int) -> Array:
        model = Model()
        section = BeamSection(EA=1e9, GA=(1e9, GA), GJ=1e9, EI=(EI, 1e9), mass=mu, inertia=(1e-3, j, 1e-3))
        beam = Beam.line(model, (0, 0, 0), (L, 0, 0), section, elements)
        model.fix(beam.nodes[0])
        return modes(model, 4).angular

    values, order = refine(run, (20, 40, 80))
    names = [f"frequency {k + 1} (rad/s)" for k in range(4)]
    return [*compared(names, values, _timoshenko(EI, GA, mu, j, L, 4), 1e-5, "Timoshenko, exact"), rate(order)]


@case("thick beam on hinges", "modes")
def thick_beam_on_hinges() -> list[Quantity]:
    """Waves of bending and, above a cut-off, waves of shear fit a beam on two hinges: both branches of three shapes."""
    EI, GA, mu, j, L = 4e3, 7e4, 3.0, 0.02, 2.0
    exact = []
    for k in np.pi * np.arange(1, 4) / L:
        squares = np.linalg.eigvals([[GA * k**2 / mu, -GA * k / mu], [-GA * k / j, (GA + EI * k**2) / j]])
        exact += [*np.sqrt(np.sort(squares.real))]

    def run(elements: int) -> Array:
        model = Model()
        section = BeamSection(EA=1e9, GA=(1e9, GA), GJ=1e9, EI=(EI, 1e9), mass=mu, inertia=(1e-3, j, 1e-3))
        beam = Beam.line(model, (0, 0, 0), (L, 0, 0), section, elements, y_axis=(0, 1, 0))
        for end, along in ((0, True), (-1, False)):
            model.add(GeneralJoint(model.ground, beam.nodes[end], (along, True, True), rotation=(True, False, True)))
        found = modes(model, 20).angular
        return np.array([found[np.abs(found - value).argmin()] for value in exact])

    values, order = refine(run, (40, 80, 160))
    names = [f"{branch}, half waves: {n} (rad/s)" for n in (1, 2, 3) for branch in ("bending", "shear")]
    return [*compared(names, values, exact, 1e-5, "Timoshenko, exact"), rate(order)]


@case("chain of ten links", "modes")
def chain() -> list[Quantity]:
    """Equal masses on massless links swing about the vertical: zeros of Laguerre's polynomial of degree ten."""
    model = Model(gravity=(0, 0, -9.81))
    last = model.ground
    for k in range(10):
        node = model.add_node((0, 0, -(k + 1) / 10))
        model.add(PointMass(node, 1.0))
        model.add(RevoluteJoint(last, node, axis=(0, 1, 0), point=(0, 0, -k / 10)))
        last = node
    references = np.sqrt(roots_laguerre(10)[0] * 98.1)
    names = [f"frequency {k + 1} (rad/s)" for k in range(10)]
    return compared(names, modes(model).angular, references, 1e-9, "exact")


@case("string", "modes")
def string() -> list[Quantity]:
    """A thin wire under tension, hinged at one end and free across at the other: quarter waves of a string."""
    N, EA, mu, L = 100.0, 1e5, 3.0, 2.0

    def run(elements: int) -> Array:
        model = Model()
        # soft in one plane
        section = BeamSection(EA, 1e6, 1e4, (1e4, 1e-5), mu, (1e-4, 1e-6, 1e-6))
        wire = Beam.line(model, (0, 0, 0), (L, 0, 0), section, elements, y_axis=(0, 1, 0))
        model.add(RevoluteJoint(model.ground, wire.nodes[0], (0, 0, 1)))
        model.add(Force(wire.nodes[-1], (N, 0, 0)))
        return modes(model, 3, statics(model, ramp=False).state(-1)).angular

    values, order = refine(run, (50, 100, 200))
    # the mass per length is that of the wire as built; the pull stretches it by N/EA
    references = (np.arange(3) + 0.5) * np.pi / L * np.sqrt(N / mu / (1 + N / EA))
    names = [f"frequency {k + 1} (rad/s)" for k in range(3)]
    return [*compared(names, values, references, 1e-4, "wave equation"), rate(order)]


HODGES = {  # speed: frequencies out of the plane
    0: (3.5160, 22.0345),
    3: (4.7973, 23.3203),
    6: (7.3604, 26.8091),
    9: (10.2257, 31.7705),
    12: (13.1702, 37.6031),
}


@case("turning blade", "modes")
def turning_blade() -> list[Quantity]:
    """A slender blade stiffens as it turns about its root: frequencies out of the plane of rotation."""
    source = "Hodges and Rutkowski 1981"
    quantities: list[Quantity] = []
    for speed, references in HODGES.items():
        values, _ = refine(partial(_blade, speed, 0.0, 1e3), (10, 20, 40))
        names = [f"frequency {k + 1} at speed {speed}" for k in range(2)]
        quantities += compared(names, values[:2], references, 2e-4, source)
    return quantities


@case("blade on a hub", "modes")
def blade_on_a_hub() -> list[Quantity]:
    """The same on hubs of a fifth of the blade's length and of all of it: out of the plane (flap) and in it (lag)."""
    speed = 10.0
    quantities: list[Quantity] = []
    for hub in (0.0, 0.2, 1.0):
        values, order = refine(partial(_blade, speed, hub, 1.0), (10, 20, 40))
        exact = _southwell(speed, hub)
        names = [f"{name} {k} at hub ratio {hub}" for name in ("flap", "lag") for k in (1, 2)]
        quantities += [*compared(names, values, exact, 1e-4, "Ritz, 24 polynomials"), rate(order)]
    return quantities


def _southwell(speed: float, hub: float, count: int = 24) -> Array:
    """Two frequencies of flap and two of lag of a slender blade, over ``sqrt(EI/mu L^4)``.

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
    frequencies: Array = np.sqrt(np.concatenate([squares, squares - speed**2]))
    return frequencies


def _blade(speed: float, hub: float, lag: float, elements: int) -> Array:
    """Two frequencies of flap, then two of lag, over ``sqrt(EI/mu L^4)``; the speed likewise.

    ``lag`` is the stiffness in the plane over that out of it.
    """
    model = Model("SE3")
    section = BeamSection(EA=1e7, GA=1e7, GJ=1e3, EI=(1.0, lag), mass=1.0, inertia=(2e-7, 1e-7, 1e-7))
    beam = Beam.line(model, (hub, 0, 0), (hub + 1, 0, 0), section, elements, y_axis=(0, 1, 0))
    axis = (0, 0, 1)
    model.add(RevoluteJoint(model.ground, beam.nodes[0], axis, point=(0, 0, 0), drive=lambda t: speed * t))
    found = modes(model, 6, steady_rotation(model, (0, 0, speed)).state(-1))
    tip = np.abs(found.displacement(beam.nodes[-1]))
    out, within = tip[:, 2] > 10 * tip[:, 1], tip[:, 1] > 10 * tip[:, 2]
    return np.concatenate([found.angular[out][:2], found.angular[within][:2]])


@case("overhung rotor", "modes")
def overhung_rotor() -> list[Quantity]:
    """Stodola's disk at the end of a shaft without mass: forward and backward whirl at three speeds."""
    L, m, J_t, J_p, GA, EI = 0.5, 10.0, 0.1, 0.18, 1e6, 1000.0
    flexibility = np.array([[L**3 / (3 * EI) + L / GA, L**2 / (2 * EI)], [L**2 / (2 * EI), L / EI]])
    quantities: list[Quantity] = []
    for spin in (0.0, 60.0, 300.0):
        exact = _whirl(np.linalg.inv(flexibility), np.diag([m, J_t]), np.diag([0.0, J_p * spin]))
        values, order = refine(partial(_overhung, spin, L, m, (J_p, J_t, J_t), GA, EI, exact), (10, 20, 40))
        ways = [f"{'forward' if way > 0 else 'backward'} whirl {size:.3g} rad/s" for way, size in _signs(exact)]
        quantities += [*compared([f"{way} at {spin:g} rad/s" for way in ways], values, exact, 1e-5, "two coordinates")]
        quantities.append(rate(order))
    return quantities


def _signs(whirl: Array) -> list[tuple[float, float]]:
    return [(float(np.sign(value)), abs(float(value))) for value in whirl]


def _whirl(K: Array, M: Array, G: Array) -> Array:
    """Rates ``(4,)`` with ``K + G w - M w^2`` singular, of the deflection and the tilt as complex numbers."""
    zero, one = np.zeros((2, 2)), np.eye(2)
    return np.sort(eigvals(np.block([[zero, one], [np.linalg.solve(M, K), np.linalg.solve(M, G)]])).real)


def _overhung(
    spin: float, L: float, m: float, J: tuple[float, float, float], GA: float, EI: float, exact: Array, elements: int
) -> Array:
    """Rates of whirl, of each the one next to a given value; the shaft sees them less its own speed."""
    model = Model()
    section = BeamSection(1e6, GA, 800.0, EI, 1e-6, (1e-8, 5e-9, 5e-9))
    shaft = Beam.line(model, (0, 0, 0), (L, 0, 0), section, elements)
    model.add(RigidBody(shaft.nodes[-1], m, J))
    model.add(RevoluteJoint(model.ground, shaft.nodes[0], axis=(1, 0, 0), drive=lambda t: spin * t))
    seen = modes(model, 8, steady_rotation(model, (spin, 0, 0)).state(-1)).angular
    found = np.concatenate([spin + seen, spin - seen])
    return np.array([found[np.abs(found - value).argmin()] for value in exact])
