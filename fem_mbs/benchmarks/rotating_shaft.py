"""The rotating shaft with an unbalanced disk of Bauchau and others (2016), driven through its critical speed.

No series of it is public; the reference is that of few coordinates: polynomials for deflection and slope, with shear,
rotary and gyroscopic inertia, linear in the motion across, and for the twist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.integrate import simpson

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import Quantity, case, refined, rows
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
def shaft() -> Iterator[float | Array | Quantity]:
    """A shaft of 6 m under its weight, driven through its critical speed: whirl of a disk a little out of balance.

    The sag and the motion without weight are compared each for itself. With the published offset of 50 mm the shaft
    bends too far for a linear model; what the drive gives is then compared with what the shaft has, from the sag on.
    """
    times, small = (0.5, 1.0, 1.25, 2.0, 2.5), 5e-4

    def run(steps: int) -> Array:
        model, disk = rotating_shaft(small, gravity=0.0)
        solution = simulate(model, 2.5, 2.5 / steps)
        across = solution.position(disk)[:, 1:]
        return (across[rows(solution.t, times)] - across[0]) / small

    still, disk = rotating_shaft(small, _held)
    yield -statics(still, ramp=False).displacement(disk)[-1, 2]
    yield refined(run, (1000, 2000, 4000))
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
