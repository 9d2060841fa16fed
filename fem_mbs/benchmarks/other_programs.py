"""Motions that others have computed: programs for rigid bodies, and the test set of initial value problems.

Bodies that swing under their weight are those of MotionGenesis (through Drake) and ADAMS; the car axis and the Fekete
points are of the test set (Mazzia, Magherini 2008).

The arm on a hydraulic cylinder is ``hydraulicActuatorSimpleTest`` of Exudyn: a controller sets the valve, and the
pressures of both chambers are states of a block. The program sets its valve once before each step; its result with
steps of 0.2 and 0.04 ms is extrapolated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import case, rows
from fem_mbs.elements import (
    Block,
    CylindricalJoint,
    DistanceJoint,
    JointSpring,
    LineActuator,
    LineSensor,
    OrientationJoint,
    PointMass,
    PointOnPlaneJoint,
    RevoluteJoint,
    RigidBody,
    SpringDamper,
)
from fem_mbs.methods.radau import RadauIIA
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate
from fem_mbs.run.variable_step import VariableStep

GRAVITY = 9.81
BOOT_START = np.radians((90.0, 1.0))


@case("baby boot", "machines", slow=True)
def babyboot_case() -> Iterator[Array | list[float]]:
    """A plate on a hinge along a swinging lace turns over in a chaotic way: where it is after 10 s.

    What differs at the start has grown seven million fold by then: 1e-11 of an angle is 1e-4.
    """
    model = Model(gravity=(0, 0, -GRAVITY))
    swung = Rotation.from_rotvec((BOOT_START[0], 0, 0))
    turned = swung * Rotation.from_rotvec((0, 0, BOOT_START[1]))
    down = swung.apply((0, 0, -1))
    lace = model.add_node(0.075 * down, swung.as_matrix(), name="lace")
    boot = model.add_node(0.2 * down, turned.as_matrix(), name="boot")
    model.add(RigidBody(lace, 0.01, (5e-6, 5e-6, 1e-9)))
    model.add(RigidBody(boot, 0.1, (2.5e-4, 5e-5, 2e-4)))
    model.add(RevoluteJoint(model.ground, lace, axis=(1, 0, 0), point=(0, 0, 0)), name="A")
    model.add(RevoluteJoint(lace, boot, axis=-down, point=0.2 * down), name="B")
    solution = simulate(model, 10.0, 2e-3, RadauIIA(), times=[0.0, 10.0])
    yield np.degrees(BOOT_START + [solution.coordinate(hinge)[-1].item() for hinge in "AB"])
    yield [solution.coordinate_rate(hinge)[-1].item() for hinge in "AB"]


PIVOT = np.array([1.0, 2.0, 3.0])
ADAMS = {  # time (s): place, velocity, acceleration, angular velocity; force and moment on the ground at the pivot
    1.0: ((1.0421, 0.962238, -0.865563), (-5.20028, -4.8259, -4.98075), (-0.427153, -14.4646, 4.65798),
          (0, 1.83898, 1.83898), (0.427153, 14.4646, -14.4646), (70.9248, -1.04724, 1.04724)),
    2.0: ((-1, -7.80602, -6.80728), (-4.85486e-05, -9.8841, -9.7292), (0.00939531, -0.119586, -9.68706),
          (0, 0.0387227, 0.0387227), (-0.00939531, 0.119586, -0.119586), (2.34548, 0.0921365, -0.0921365)),
    3.0: ((0.8738, -18.6536, -20.4764), (5.18646, -14.4781, -14.9418), (1.27809, -14.4136, 4.60691),
          (0, -1.83735, -1.83735), (-1.27809, 14.4136, -14.4136), (636.069, 28.201, -28.201)),
    4.0: ((3, -37.2241, -36.2291), (0.000388399, -19.7682, -19.4584), (-0.0364871, -0.119646, -9.687),
          (0, -0.0774453, -0.0774453), (0.0364871, 0.119646, -0.119646), (9.38661, -1.43127, 1.43127)),
    5.0: ((1.20996, -57.8852, -59.698), (-5.15895, -24.1315, -24.9017), (-2.11887, -14.3128, 4.50612),
          (0, 1.8341, 1.8341), (2.11887, 14.3128, -14.3128), (1754.5, -129.869, 129.869)),
}  # fmt: skip


@case("swing on a cylindrical joint", "joints", slow=True)
def sliding_swing_case() -> Array:
    """A body swings about an axis at 45 degrees and slides along it for 5 s: motion and reactions, five times six."""
    model = Model(gravity=(0, 0, -9.80665))
    R = Rotation.from_euler("x", -45, degrees=True).as_matrix()
    body = model.add_node(PIVOT + R @ (2, 0, 0), R, name="body")
    model.add(RigidBody(body, 1.0, (0.04, 0.1, 0.1)))
    model.add(CylindricalJoint(model.ground, body, axis=R[:, 2], point=PIVOT), name="joint")
    solution = simulate(model, 5.0, 5e-3, RadauIIA())
    at = rows(solution.t, [*ADAMS])
    x, R = solution.position(body)[at], solution.rotation(body)[at]
    # our reaction acts on the body, at the point that slides with it
    force, moment = (part[at] for part in solution.reaction("joint"))
    arm = x + R @ (body.rotation.T @ (PIVOT - body.position)) - PIVOT
    rates = (
        solution.velocity(body)[at],
        solution.acceleration(body)[at],
        np.matvec(R, solution.angular_velocity(body)[at]),
    )
    found = np.stack([x, *rates, -force, -moment - np.cross(arm, force)], axis=1)
    return np.linalg.norm(found - np.array([*ADAMS.values()]), axis=-1).max(axis=0)


# Stiff springs over a bumpy road

LENGTH, HEIGHT, MASS, STIFFNESS = 1.0, 0.5, 10.0, 1e4
BUMP, RATE = 0.1, 10.0
"""Height of the bumps in m, and their rate in rad/s, under the right wheel; the left one stays where it is."""


class Road:
    """Angle of the line between the wheels, with its derivatives."""

    def __call__(self, t: float) -> float:
        return float(np.arcsin(BUMP * np.sin(RATE * t)))

    def velocity(self, t: float) -> float:
        """In rad/s."""
        return float(BUMP * RATE * np.cos(RATE * t) / np.sqrt(1 - (BUMP * np.sin(RATE * t)) ** 2))

    def acceleration(self, t: float) -> float:
        """In rad/s^2."""
        u = BUMP * np.sin(RATE * t)
        return float(-u * RATE**2 * (1 - BUMP**2) / (1 - u**2) ** 1.5)


@case("car axis", "machines", slow=True)
def car_axis_case() -> list[Array]:
    """Two masses on a bar and springs over a road with bumps, after 3 s: places, velocities, and both multipliers."""
    model = Model(gravity=(0, -1, 0))
    wheels = model.add_node((0, 0, 0), angular_velocity=(0, 0, BUMP * RATE))
    model.add(RigidBody(wheels, 1.0, (1, 1, 1)))
    model.add(RevoluteJoint(model.ground, wheels, axis=(0, 0, 1), drive=Road()), name="road")
    for name, x in (("left", 0.0), ("right", LENGTH)):
        node = model.add_node((x, HEIGHT, 0), velocity=(-BUMP * RATE * HEIGHT, 0, 0), name=name)
        model.add(PointMass(node, MASS / 2))
        model.fix(node, translation=(False, False, True), rotation=True)
        model.add(SpringDamper(wheels, node, STIFFNESS, free_length=HEIGHT, point_a=(x, 0, 0)))
    model.add(PointOnPlaneJoint(wheels, model["left"], normal=(1, 0, 0), point=(0, HEIGHT, 0)), name="upright")
    model.add(DistanceJoint(model["left"], model["right"]), name="bar")
    solution = simulate(model, 3.0, 4e-3, RadauIIA())
    ends = [ask(name)[-1, :2] for ask in (solution.position, solution.velocity) for name in ("left", "right")]
    guide, bar = (solution.reaction(name)[0][-1, :2] / STIFFNESS for name in ("upright", "bar"))
    line = np.array([np.cos(Road()(3.0)), np.sin(Road()(3.0))])
    return [*ends, guide @ line, bar @ (ends[1] - ends[0]) / 2]


# Where points on a sphere rest

RINGS = ((3, 1, 1 / 13, 3 / 8), (7, 1, 1 / 29, 1 / 8), (6, 1, 1 / 7, -2 / 15), (4, 0, 1 / 17, -3 / 10))
"""Of the points at the start: how many, number of the first, turn of the ring and latitude over pi."""


@case("Fekete points", "machines", slow=True)
def fekete_case() -> list[Array]:
    """Twenty points on a sphere repel each other, with drag, until they rest: 190 forces, places after 1000 s."""
    model = Model()
    rings = []
    for count, first, turn, latitude in RINGS:
        a, b = np.pi * (2 * np.arange(first, first + count) / count + turn), np.pi * latitude
        rings.append(np.stack([np.cos(a) * np.cos(b), np.sin(a) * np.cos(b), np.full(count, np.sin(b))], axis=-1))
    for k, place in enumerate(np.concatenate(rings), 1):
        node = model.add_node(place, name=f"{k}")
        model.add(PointMass(node, 1.0))
        model.add(DistanceJoint(model.ground, node, point_a=(0, 0, 0)))
        way = model.add(OrientationJoint(model.ground, node))
        for axis in "xyz":
            model.add(JointSpring(way, 0.0, damping=0.5, coordinate=f"translation {axis}"))
        for other in range(1, k):
            model.add(SpringDamper(model[f"{other}"], node, force=lambda t, length, speed: -1 / length))
    solution = simulate(model, 1000.0, VariableStep(1e-6), RadauIIA(), times=[0.0, 1000.0])
    return [solution.position(f"{k}")[-1] for k in (1, 7, 13, 20)]


# An arm on a hydraulic cylinder

ARM, ARM_MASS = 1.0, 120.0
AREA, OIL, FLOW, SUPPLY, PISTON_DAMPING, START_PRESSURE = 0.01, 1e11, 2e-5, 200e5, 2e5, 2e6
"""Of the piston in m^2, of the oil in Pa/m^3, of the valve in m^3/s per sqrt(Pa); pressures in Pa; N s/m."""
BUILT = np.sqrt(2) * ARM / 4


def _flow(valve: float, pressure: float) -> float:
    """Into a chamber, from the supply or to the tank, in m^3/s."""
    return float(valve * FLOW * np.sqrt(max(SUPPLY - pressure if valve >= 0 else pressure, 0.0)))


def _pressure_rates(t: float, pressures: Sequence[float], cylinder: Sequence[float]) -> list[float]:
    length, speed = cylinder
    wanted = BUILT + 0.1 * (np.clip(1 - np.cos(np.pi * t), 0.5, 1.5) - 0.5)
    valve = 2 * (wanted - length)
    inflow = -AREA * speed + _flow(valve, pressures[0]), AREA * speed + _flow(-valve, pressures[1])
    return [OIL * flow for flow in inflow]


def _pull(t: float, pressures: Sequence[float], cylinder: Sequence[float]) -> list[float]:
    return [AREA * (pressures[1] - pressures[0]) + PISTON_DAMPING * cylinder[1]]


@case("hydraulic arm", "machines", slow=True)
def hydraulic_arm_case() -> Iterator[Array | float]:
    """An arm of 120 kg sinks and rises on a cylinder, by pressures that a valve lets in and out."""
    times = (0.2, 0.4)
    model = Model(gravity=(0, -GRAVITY, 0))
    arm = model.add_node((ARM / 2, 0, 0), name="arm")
    model.add(RigidBody(arm, ARM_MASS, (ARM_MASS * ARM**2 / 12,) * 3))
    model.add(RevoluteJoint(model.ground, arm, axis=(0, 0, 1), point=(0, 0, 0)), name="hinge")
    ends = {"point_a": (0, -ARM / 4, 0), "point_b": (ARM / 4, 0, 0)}
    sensors = [model.add(LineSensor(model.ground, arm, quantity, **ends)) for quantity in ("length", "speed")]
    cylinder = model.add(Block(sensors, _pressure_rates, _pull, initial=[START_PRESSURE, START_PRESSURE]))
    model.add(LineActuator(model.ground, arm, cylinder, **ends))
    solution = simulate(model, times[-1], 1e-3, RadauIIA())
    at = rows(solution.t, times)
    pressures = [solution.signal(cylinder[f"state {k}"])[at] / 1e6 for k in (1, 2)]
    found = np.stack([np.ravel(solution.coordinate("hinge")[at]), *pressures], axis=-1)
    x = solution.displacement("arm")[-1]
    yield found.T
    # size of displacement and angle, plus that of the pressures in MPa
    yield float(np.linalg.norm([*x, found[-1, 0]]) + np.linalg.norm(found[-1, 1:]))
