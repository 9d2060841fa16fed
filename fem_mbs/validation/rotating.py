"""Benchmarks of natural frequencies of structures that turn."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.polynomial import Chebyshev
from numpy.polynomial.legendre import leggauss
from scipy.linalg import eigh, eigvals

from fem_mbs.arrays import Array
from fem_mbs.elements import Beam, BeamSection, RevoluteJoint, RigidBody
from fem_mbs.modal import modes
from fem_mbs.model import Model
from fem_mbs.static import steady_rotation
from fem_mbs.validation.case import Quantity, case, compared, rate, refine

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
