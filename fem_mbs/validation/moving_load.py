"""A load that moves along a beam."""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements import Beam, BeamSection, Force, GeneralJoint, JointDrive, RigidBody, SlidingJoint
from fem_mbs.integrate import simulate
from fem_mbs.model import Model
from fem_mbs.validation.case import Quantity, case, compared

LENGTH, EI, MASS, PUSH = 10.0, 1e5, 20.0, 1.0
SHARES = (0.25, 0.5, 0.75, 0.9)
"""Of the beam that the load has passed."""
SPEED = 0.3 * np.pi / LENGTH * np.sqrt(EI / MASS)


def _series(terms: int = 200) -> Array:
    """Deflection of the middle of a slender beam under a force that moves (Fryba 1972), a mode at a time."""
    n, t = np.arange(1, terms + 1)[:, None], np.array(SHARES) * LENGTH / SPEED
    passing = n * np.pi * SPEED / LENGTH
    frequency = (n * np.pi / LENGTH) ** 2 * np.sqrt(EI / MASS)
    share = np.sin(n * np.pi / 2) / n**4 / (1 - (passing / frequency) ** 2)
    parts = share * (np.sin(passing * t) - passing / frequency * np.sin(frequency * t))
    total: Array = 2 * PUSH * LENGTH**3 / (np.pi**4 * EI) * parts.sum(axis=0)
    return total


@case("moving load", "joints", slow=True)
def moving_load() -> list[Quantity]:
    """A force crosses a bridge on hinges at 0.3 of the speed that would resonate: deflection of its middle."""
    model = Model()
    section = BeamSection(EA=1e9, GA=1e9, GJ=1e5, EI=EI, mass=MASS, inertia=(2e-4, 1e-4, 1e-4))
    beam = Beam.line(model, (0, 0, 0), (LENGTH, 0, 0), section, 6, order=3)
    along, about = (False, True, True), (True, False, False)
    model.add(GeneralJoint(model.ground, beam.nodes[0], rotation=about))
    model.add(GeneralJoint(model.ground, beam.nodes[-1], translation=along, rotation=(False, False, False)))
    load = model.add_node((0, 0, 0), velocity=(SPEED, 0, 0))
    model.add(RigidBody(load, 1e-6, (1e-6, 1e-6, 1e-6)))
    slide = model.add(SlidingJoint(beam, load))
    model.add(JointDrive(slide, lambda t: SPEED * t))
    model.add(Force(load, (0, 0, -PUSH)))
    steps = 360
    t_end = SHARES[-1] * LENGTH / SPEED
    solution = simulate(model, t_end, t_end / steps)
    rows = [round(share / SHARES[-1] * steps) for share in SHARES]
    values = -1e3 * solution.displacement(beam.nodes[len(beam.nodes) // 2])[rows, 2]
    exact = 1e3 * _series()
    names = [f"load at {share:g} of the length (mm)" for share in SHARES]
    return compared(names, values, exact, 5e-4, "series of modes", float(exact.max()))
