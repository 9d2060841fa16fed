"""A load, or a mass, that crosses a bridge at constant speed (Fryba 1972)."""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import Quantity, case, compared, rows
from fem_mbs.contracts import Node
from fem_mbs.elements import Beam, BeamSection, Force, GeneralJoint, JointDrive, RigidBody, SlidingJoint
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate

LENGTH, EI, MASS, PUSH = 10.0, 1e5, 20.0, 1.0
"""The beam, which does not shear, and the load; ``MASS`` is per length."""
OMEGA = (np.pi / LENGTH) ** 2 * np.sqrt(EI / MASS)
"""Lowest frequency."""
CRITICAL = OMEGA * LENGTH / np.pi
"""The speed that resonates."""


def bridge(
    speed: float, group: str = "R3xSO3", elements: int = 6, order: int = 3, mass: float = 1e-6
) -> tuple[Model, Node]:
    """A beam along x on hinges, which "load" crosses from t = 0 on; the model and the middle of the beam."""
    model = Model(group)
    section = BeamSection(EA=1e9, GA=1e9, GJ=1e5, EI=EI, mass=MASS, inertia=(2e-4, 1e-4, 1e-4))
    beam = Beam.line(model, (0, 0, 0), (LENGTH, 0, 0), section, elements, order=order)
    along, about = (False, True, True), (True, False, False)
    model.add(GeneralJoint(model.ground, beam.nodes[0], rotation=about))
    model.add(GeneralJoint(model.ground, beam.nodes[-1], translation=along, rotation=(False, False, False)))
    load = model.add_node((0, 0, 0), velocity=(speed, 0, 0), name="load")
    model.add(RigidBody(load, mass, (1e-6, 1e-6, 1e-6)))
    slide = model.add(SlidingJoint(beam, load))
    model.add(JointDrive(slide, lambda t: speed * t))
    model.add(Force(load, (0, 0, -PUSH)))
    return model, beam.nodes[len(beam.nodes) // 2]


def deflection(t: Array, speed: float, modes: int = 200) -> Array:
    """Of the middle of a slender beam under the force alone, a mode at a time."""
    n = np.arange(1, modes + 1)[:, None]
    passing, frequency = n * np.pi * speed / LENGTH, n**2 * OMEGA
    share = np.sin(n * np.pi / 2) / n**4 / (1 - (passing / frequency) ** 2)
    parts = share * (np.sin(passing * t) - passing / frequency * np.sin(frequency * t))
    total: Array = 2 * PUSH * LENGTH**3 / (np.pi**4 * EI) * parts.sum(axis=0)
    return total


@case("moving load", "joints", slow=True)
def passing_load() -> list[Quantity]:
    """A force crosses a bridge on hinges at 0.3 of the speed that would resonate: deflection of its middle."""
    shares, steps, speed = (0.25, 0.5, 0.75, 0.9), 360, 0.3 * CRITICAL
    model, middle = bridge(speed)
    t_end = shares[-1] * LENGTH / speed
    solution = simulate(model, t_end, t_end / steps)
    times = np.array(shares) * LENGTH / speed
    values = -1e3 * solution.displacement(middle)[rows(solution.t, times), 2]
    exact = 1e3 * deflection(times, speed)
    names = [f"load at {share:g} of the length (mm)" for share in shares]
    return compared(names, values, exact, 5e-4, "exact: series of modes", float(exact.max()))
