"""Rotors: Jeffcott's, three shafts with disks, and one at high speed on flexible supports.

Jeffcott's is an unbalanced disk in elastic bearings, driven through its critical speed by a given moment. The shaft of
1.5 m is ``rotor3`` and ``rotor4`` of the tests of ROSS (petrobras/ross), which takes six elements with
cubic shapes: they alone raise the sixth frequency by 4e-4.

The stepped one is that of Nelson, McVaugh, J. Eng. Ind. 98 (1976), 593, whose whirl speeds the verification manual of
OptiStruct prints (OS-V: 1000). They have rotary inertia and no shear, which lowers them by 0.7 to 2.1 %; with shear,
those of cubic elements of Timoshenko's beam are known, of meshes that change the fourth digit.

The high-speed rotor is that of Holzinger, Arnold, Gerstmayr (2024), section 4.2, eq. 44. The table of its data is not
public; these are chosen such that the axis precesses with the published period of 2.5 s. The moment on the rotor is one
of the world frame: fixed to the body it would turn with the spin, and the axis would hardly move.

The shaft with an unbalanced disk of Bauchau and others (2016) is driven through its critical speed. No series of it is
public; the reference is that of few coordinates: polynomials for deflection and slope, with shear, rotary and
gyroscopic inertia, linear in the motion across, and for the twist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy.integrate import simpson

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import BenchmarkProblem, Quantity, case, refined, rows, solve
from fem_mbs.contracts import Node
from fem_mbs.elements import (
    Beam,
    BeamSection,
    Bearing,
    Bushing,
    CylindricalJoint,
    GeneralJoint,
    Moment,
    RevoluteJoint,
    RigidBody,
    SpringDamper,
)
from fem_mbs.methods.runge_kutta import RungeKuttaMuntheKaas
from fem_mbs.modal.modes import modes
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate
from fem_mbs.solution.solution import Solution
from fem_mbs.static.campbell import campbell
from fem_mbs.static.statics import statics

DISK_MASS, DISK_INERTIA, OFFSET = 5.0, 0.05, 1e-3
BEARING_STIFFNESS, BEARING_DAMPING, DRIVE = 2e4, 20.0, 6.0


def jeffcott(group: str = "R3xSO3") -> Model:
    """The node "disk", whose mass centre is beside it, on a housing in elastic bearings."""
    model = Model(group)
    disk = model.add_node((0, 0, 0), name="disk")
    model.add(RigidBody(disk, DISK_MASS, (DISK_INERTIA, DISK_INERTIA, DISK_INERTIA), center_of_mass=(OFFSET, 0, 0)))
    # what does not turn of the bearings
    housing = model.add_node((0, 0, 0))
    model.add(GeneralJoint(model.ground, housing, translation=(False, False, True)))
    model.add(RevoluteJoint(housing, disk, (0, 0, 1)))
    bearing = (BEARING_STIFFNESS, BEARING_STIFFNESS, 0, 0, 0, 0), (BEARING_DAMPING, BEARING_DAMPING, 0, 0, 0, 0)
    model.add(Bushing(model.ground, housing, *bearing))
    model.add(Moment(disk, (0, 0, DRIVE)))
    return model


JEFFCOTT = BenchmarkProblem(
    "Jeffcott rotor",
    jeffcott,
    lambda s: np.concatenate([s.position("disk")[:, :2] / OFFSET, s.angular_velocity("disk")[:, 2:]], axis=-1),
    (0.5, 0.75, 1.0),
)
"""Place of the disk over the offset, and its speed."""


@case("Jeffcott rotor", "machines", slow=True, refine=(500, 1000, 2000))
def jeffcott_rotor(steps: int) -> Array:
    """A disk that is out of balance by 1 mm runs up through its critical speed of 63 rad/s in elastic bearings."""
    return solve(JEFFCOTT, steps)[1]


E, G, DENSITY, SHAFT, DIAMETER, SPEED = 211e9, 81.2e9, 7810.0, 1.5, 0.05, 300.0
BEARINGS = ((0, 1, 0), 1e6), ((0, 0, 1), 8e5)
"""Directions of the springs and their stiffness in N/m."""


def rotor(speed: float = 0.0, elements: int = 6) -> Model:
    """The shaft along x on springs whose far ends are 10 km away, so that they keep their directions."""
    model = Model()
    area, second, nu = np.pi * DIAMETER**2 / 4, np.pi * DIAMETER**4 / 64, E / (2 * G) - 1
    shear = 6 * (1 + nu) / (7 + 6 * nu) * G * area
    inertia = DENSITY * second * np.array([2, 1, 1])
    section = BeamSection(E * area, shear, 2 * G * second, E * second, DENSITY * area, inertia)
    nodes = [model.add_node((x, 0, 0), angular_velocity=(speed, 0, 0)) for x in np.linspace(0, SHAFT, 3 * elements + 1)]
    model.add(Beam(nodes, section, order=3, y_axis=(0, 1, 0)))
    for share, outer in ((3, 0.28), (3 / 2, 0.35)):
        width = 0.07
        mass = DENSITY * np.pi * width * (outer**2 - DIAMETER**2) / 4
        polar = mass * (outer**2 + DIAMETER**2) / 8
        across = polar / 2 + mass * width**2 / 12
        model.add(RigidBody(nodes[round(3 * elements / share)], mass, (polar, across, across)))
    for node in (nodes[0], nodes[-1]):
        for way, stiffness in BEARINGS:
            far = node.position + 1e4 * np.array(way)
            model.add(SpringDamper(model.ground, node, stiffness, free_length=1e4, point_a=far))
    model.fix(nodes[0], translation=(True, False, False), rotation=False)
    return model


@case("rotor on springs", "modes")
def rotor_case() -> Iterator[Array]:
    """A shaft with two disks on springs that differ in two directions: six frequencies at rest, five of whirl."""
    yield modes(rotor(), 7).angular[1:]
    yield modes(rotor(SPEED), 6).angular[1:]


STATIONS = (
    *(0, 1.27, 5.08, 7.62, 8.89, 10.16, 10.67, 11.43, 12.7, 13.46, 16.51),
    *(19.05, 22.86, 26.67, 28.7, 30.48, 31.5, 34.54, 35.81),
)
OUTER = (0.51, 1.02, 0.76, 2.03, 2.03, 3.3, 3.3, 2.54, 2.54, 1.27, 1.27, 1.52, 1.52, 1.27, 1.27, 3.81, 2.03, 2.03)
INNER = {6: 1.52, 7: 1.78, 17: 1.52}
"""Places of stations, and radii of the segments between them, in cm."""
ALIKE, UNEQUAL = ((43.78e6, 0), (0, 43.78e6)), ((35.03e6, -8.756e6), (-8.756e6, 35.03e6))
"""Stiffness of the bearings in N/m."""
RPM = np.pi / 30


def stepped_rotor(stiffness: Sequence[Sequence[float]] = ALIKE) -> Model:
    """A shaft of 18 segments with a disk, in two bearings."""
    model, shear, nu = Model(), 207.8e9 / 2.6, 0.3
    nodes = [model.add_node((0, 0, 0), name="station 1")]
    for k, (a, b) in enumerate(zip(STATIONS, STATIONS[1:], strict=False)):
        inside = [model.add_node((1e-2 * x, 0, 0)) for x in np.linspace(a, b, 4)[1:-1]]
        nodes.append(model.add_node((1e-2 * b, 0, 0), name=f"station {k + 2}"))
        r, R = 1e-2 * INNER.get(k, 0.0), 1e-2 * OUTER[k]
        area, second, hollow = np.pi * (R**2 - r**2), np.pi / 4 * (R**4 - r**4), (1 + (r / R) ** 2) ** 2
        # Cowper's coefficient
        factor = 6 * (1 + nu) * hollow / ((7 + 6 * nu) * hollow + (20 + 12 * nu) * (r / R) ** 2)
        inertia = 7806 * second * np.array([2, 1, 1])
        bend = 207.8e9 * second
        section = BeamSection(207.8e9 * area, factor * shear * area, 2 * shear * second, bend, 7806 * area, inertia)
        model.add(Beam([nodes[-2], *inside, nodes[-1]], section, order=3, y_axis=(0, 1, 0)))
    model.add(RigidBody(nodes[4], 1.401, (0.00203, 0.00136, 0.00136)))
    for k in (10, 14):
        model.add(Bearing(model.ground, nodes[k], (1, 0, 0), stiffness))
    model.fix(nodes[10], translation=(True, False, False), rotation=False)
    return model


@case("stepped rotor", "modes")
def stepped_case() -> Iterator[Array]:
    """A shaft of 18 segments in two bearings, alike all round and not: five frequencies of whirl at 30 000 rpm."""
    for stiffness in (ALIKE, UNEQUAL):
        yield campbell(stepped_rotor(stiffness), [3e4 * RPM], count=5).angular[0]


@case("stepped rotor, critical speeds", "modes", slow=True)
def critical_case() -> Iterator[Array]:
    """Six critical speeds of that shaft, and where the frequency is four times the speed."""
    diagram = campbell(stepped_rotor(), np.linspace(0, 1e5, 6) * RPM, count=7)
    # the sixth at which the frequency is the speed is one of torsion, the only one that does not change
    bending = np.delete(diagram.critical(1), 5) / RPM
    yield from (bending, bending, diagram.critical(4)[:6] / RPM)


MASS, LENGTH, LEFT, GRAVITY = 10.0, 1.0, 0.4, 9.81
RADIUS, WIDTH = 0.3, 0.1
POLAR, ACROSS = MASS * RADIUS**2 / 2, MASS * (3 * RADIUS**2 + WIDTH**2) / 12
UNBALANCE = np.array([0, 1e-4, 0])
"""Mass centre beside the axis in m."""
SPIN = 1000.0
STIFFNESS, DAMPING, ANCHOR = 2250.0, 8.0, 0.5
"""Of a spring-damper in N/m and N s/m, and its length as built in m."""
SUPPORTS = (
    ((-LEFT, 0, 0), (0, 1, 0)),
    ((-LEFT, 0, 0), (0, 0, 1)),
    ((-LEFT, 0, 0), (-1, 0, 0)),
    ((LENGTH - LEFT, 0, 0), (0, 1, 0)),
    ((LENGTH - LEFT, 0, 0), (0, 0, 1)),
)
"""Points of the shaft, and the directions of their springs."""
RUN_UP = 1.0
"""Time in s in which the spin is reached from rest."""


def high_speed_rotor(group: str = "R3xSO3", run_up: bool = False) -> Model:
    """The body "rotor" on its springs; it spins from the start on, or a moment about the shaft runs it up."""
    model = Model(group)
    turning = np.array([0.0 if run_up else SPIN, 0.0, 0.0])
    node = model.add_node((0, 0, 0), velocity=-np.cross(turning, UNBALANCE), angular_velocity=turning, name="rotor")
    model.add(RigidBody(node, MASS, (POLAR, ACROSS, ACROSS), center_of_mass=UNBALANCE))
    model.add(Moment(node, (0, 0, (LENGTH / 2 - LEFT) * MASS * GRAVITY)))
    if run_up:
        model.add(Moment(node, driving_moment, frame="body"))
    for place, way in SUPPORTS:
        anchor = np.add(place, ANCHOR * np.array(way))
        model.add(SpringDamper(model.ground, node, STIFFNESS, DAMPING, point_a=anchor, point_b=place))
    return model


def read(solution: Solution) -> Array:
    """Left end of the shaft and rates of the body ``(nt, 6)``."""
    end = solution.position("rotor") + solution.rotation("rotor") @ (-LEFT, 0, 0)
    return np.concatenate([end, solution.angular_velocity("rotor")], axis=-1)


def driving_moment(t: float) -> tuple[float, float, float]:
    """Moment about the shaft in N m that runs the rotor up."""
    return (POLAR * SPIN / RUN_UP * (1 - np.cos(2 * np.pi * t / RUN_UP)) if t < RUN_UP else 0.0), 0.0, 0.0


def _seen(run_up: bool, times: Sequence[float]) -> Array:
    """Y and z of the left end of the shaft in mm, and the spin in rad/s, ``(nt, 3)``."""
    solution = simulate(high_speed_rotor(run_up=run_up), times[-1], 4e-4, RungeKuttaMuntheKaas("RK6"))
    return read(solution)[rows(solution.t, times), 1:4] * (1e3, 1e3, 1.0)


@case("high-speed rotor", "machines", slow=True)
def steady() -> Array:
    """A rotor at 9549 rpm on soft supports precesses under a moment: one end of its shaft, and its spin."""
    return _seen(False, (1.0, 2.5, 4.0))


@case("high-speed rotor, run-up", "machines", slow=True)
def run_up() -> Array:
    """The same rotor, run up from rest in 1 s through its critical speeds."""
    return _seen(True, (1.0, 4.0))[:, :2]


# Through the critical speed

SHAFT_LENGTH, NOMINAL = 6.0, 60.0
EA, GA, GJ, EI = 313.4e6, 60.5e6, 272.7e3, 354.5e3
SHAFT_MASS, SHAFT_POLAR, SHAFT_ACROSS = 11.64, 26.34e-3, 13.17e-3
DISK, DISK_POLAR, DISK_ACROSS, SHAFT_OFFSET = 70.573, 2.0325, 1.0163, 0.05
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

    angle, rate, acceleration = NOMINAL * (SLOW * rise(t, T1) + (FAST - SLOW) * rise(t - T2, T3 - T2))
    return float(angle), float(rate), float(acceleration)


def turn(t: float) -> float:
    """Angle of the driven end."""
    return drive(t)[0]


def rotating_shaft(
    offset: float = SHAFT_OFFSET, drive: Callable[[float], float] = turn, gravity: float = GRAVITY
) -> tuple[Model, Node]:
    """The shaft, driven at the hinge "drive", and the node of the disk.

    Four elements have the first frequency to 2e-6.
    """
    model = Model(gravity=(0, 0, -gravity))
    section = BeamSection(EA, GA, GJ, EI, SHAFT_MASS, (SHAFT_POLAR, SHAFT_ACROSS, SHAFT_ACROSS))
    shaft = Beam.line(model, (0, 0, 0), (SHAFT_LENGTH, 0, 0), section, 4, order=3, name="shaft")
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

    still, disk = rotating_shaft(small, lambda t: 0.0)
    yield -statics(still, ramp=False).displacement(disk)[-1, 2]
    yield refined(run, (1000, 2000, 4000))
    yield _work()


def _work() -> Quantity:
    """Work of the drive with the published offset, from its moment, beside the energy of the shaft."""
    still, _ = rotating_shaft(drive=lambda t: 0.0)
    begin = statics(still, ramp=False).state(-1).at(0.0)
    model, _ = rotating_shaft()
    solution = simulate(model, 2.5, 1e-3, initial=begin)
    moment = solution.reaction("drive")[1][:, 0]
    work = simpson(moment * [drive(t)[1] for t in solution.t], x=solution.t)
    energy = solution.energy.total
    return Quantity(
        "work of the drive, offset 50 mm (J)", work, energy[-1] - energy[0], 2e-3, "exact: energy of the shaft"
    )
