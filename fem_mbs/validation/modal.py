"""Benchmarks of natural frequencies."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.linalg import expm
from scipy.optimize import brentq
from scipy.special import roots_laguerre

from fem_mbs.arrays import Array
from fem_mbs.elements import Beam, BeamSection, Force, GeneralJoint, PointMass, RevoluteJoint
from fem_mbs.modal import modes
from fem_mbs.model import Model
from fem_mbs.static import statics
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
