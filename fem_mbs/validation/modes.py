"""Benchmarks of natural frequencies, of structures that turn as well."""

from __future__ import annotations

from functools import partial

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.benchmarks import vibrations
from fem_mbs.elements import Beam, BeamSection, GeneralJoint
from fem_mbs.modal.modes import modes
from fem_mbs.model.model import Model
from fem_mbs.static.statics import statics
from fem_mbs.static.steady_rotation import steady_rotation
from fem_mbs.validation.case import Quantity, case, compared, converged, refine

TIMOSHENKO = "Timoshenko, exact"


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

    references = 10 * np.square(vibrations.EULER[name])
    return converged(_names(3), run, (40, 80, 160), references, 1e-5, "Euler and Bernoulli")


@case("cantilever", "modes")
def cantilever() -> list[Quantity]:
    """Bending of a slender clamped beam."""
    return _euler("cantilever")


@case("free beam", "modes")
def free_beam() -> list[Quantity]:
    """Bending of a slender beam that floats freely, beside its six rigid motions."""
    return _euler("free beam")


@case("thick cantilever", "modes")
def thick_cantilever() -> list[Quantity]:
    """Bending of a clamped beam that shears and has rotary inertia."""

    def run(elements: int) -> Array:
        model, beam = vibrations.thick_beam(elements)
        model.fix(beam.nodes[0])
        return modes(model, 4).angular

    return converged(_names(4), run, (20, 40, 80), vibrations.thick_cantilever(4), 1e-5, TIMOSHENKO)


@case("thick beam on hinges", "modes")
def thick_beam_on_hinges() -> list[Quantity]:
    """Waves of bending and, above a cut-off, waves of shear fit a beam on two hinges: both branches of three shapes."""
    half_waves = (1, 2, 3)
    exact = np.concatenate([vibrations.thick_on_hinges(n) for n in half_waves])

    def run(elements: int) -> Array:
        model, beam = vibrations.thick_beam(elements)
        for end, along in ((0, True), (-1, False)):
            model.add(GeneralJoint(model.ground, beam.nodes[end], (along, True, True), rotation=(True, False, True)))
        return _nearest(modes(model, 20).angular, exact)

    names = [f"{branch}, half waves: {n} (rad/s)" for n in half_waves for branch in ("bending", "shear")]
    return converged(names, run, (40, 80, 160), exact, 1e-5, TIMOSHENKO)


@case("chain of ten links", "modes")
def chain() -> list[Quantity]:
    """Equal masses on massless links swing about the vertical: zeros of Laguerre's polynomial of degree ten."""
    model, exact = vibrations.hanging_chain()
    return compared(_names(10), modes(model).angular, exact, 1e-9, "exact")


@case("string", "modes")
def string() -> list[Quantity]:
    """A thin wire under tension, hinged at one end and free across at the other: quarter waves of a string."""

    def run(elements: int) -> Array:
        model, _ = vibrations.string(elements)
        return modes(model, 3, statics(model, ramp=False).state(-1)).angular

    return converged(_names(3), run, (50, 100, 200), vibrations.string(1)[1], 1e-4, "wave equation")


def _blade(speed: float, hub: float, lag: float, elements: int) -> Array:
    """Two frequencies of flap, then two of lag, over ``sqrt(EI/mu L^4)``."""
    model, tip = vibrations.blade(speed, hub, lag, elements)
    found = modes(model, 6, steady_rotation(model, (0, 0, speed)).state(-1))
    seen = np.abs(found.displacement(tip))
    out, within = seen[:, 2] > 10 * seen[:, 1], seen[:, 1] > 10 * seen[:, 2]
    return np.concatenate([found.angular[out][:2], found.angular[within][:2]])


@case("turning blade", "modes")
def turning_blade() -> list[Quantity]:
    """A slender blade stiffens as it turns about its root: frequencies out of the plane of rotation."""
    quantities: list[Quantity] = []
    for speed, references in vibrations.HODGES.items():
        values, _ = refine(partial(_blade, speed, 0.0, 1e3), (10, 20, 40))
        names = [f"frequency {k + 1} at speed {speed}" for k in range(2)]
        quantities += compared(names, values[:2], references, 2e-4, "Hodges and Rutkowski 1981")
    return quantities


@case("blade on a hub", "modes")
def blade_on_a_hub() -> list[Quantity]:
    """The same on hubs of a fifth of the blade's length and of all of it: out of the plane (flap) and in it (lag)."""
    speed = 10.0
    quantities: list[Quantity] = []
    for hub in (0.0, 0.2, 1.0):
        names = [f"{name} {k} at hub ratio {hub}" for name in ("flap", "lag") for k in (1, 2)]
        exact = vibrations.southwell(speed, hub)
        run = partial(_blade, speed, hub, 1.0)
        quantities += converged(names, run, (10, 20, 40), exact, 1e-4, "Ritz, 24 polynomials")
    return quantities


@case("overhung rotor", "modes")
def overhung_rotor() -> list[Quantity]:
    """Stodola's disk at the end of a shaft without mass: forward and backward whirl at three speeds."""
    quantities: list[Quantity] = []
    for spin in (0.0, 60.0, 300.0):
        exact = vibrations.whirl(spin)

        def run(elements: int, spin: float = spin, exact: Array = exact) -> Array:
            model = vibrations.overhung_rotor(spin, elements)
            # the shaft sees rates of whirl less its own speed
            seen = modes(model, 8, steady_rotation(model, (spin, 0, 0)).state(-1)).angular
            return _nearest(np.concatenate([spin + seen, spin - seen]), exact)

        names = [
            f"{'forward' if value > 0 else 'backward'} whirl {abs(value):.3g} rad/s at {spin:g} rad/s"
            for value in exact
        ]
        quantities += converged(names, run, (10, 20, 40), exact, 1e-5, "two coordinates")
    return quantities
