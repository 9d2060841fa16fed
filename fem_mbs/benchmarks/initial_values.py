"""The car axis and the Fekete points of the test set of initial value problems (Mazzia, Magherini 2008)."""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import TEST_SET, Quantity, case, compared
from fem_mbs.elements import (
    DistanceJoint,
    JointSpring,
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

# Stiff springs over a bumpy road

LENGTH, HEIGHT, MASS, STIFFNESS = 1.0, 0.5, 10.0, 1e4
BUMP, RATE = 0.1, 10.0
"""Height of the bumps in m, and their rate in rad/s, under the right wheel; the left one stays where it is."""
LEFT, RIGHT = (0.0493455784275402809, 0.496989460230171154), (1.04174252488542151, 0.373911027265361257)
LEFT_RATE, RIGHT_RATE = (-0.0770583684040972358, 0.00744686658723778553), (0.0175568157537232222, 0.770341043779251976)
MULTIPLIERS = (-0.473688659084893325e-2, -0.110468033125734369e-2)
"""At 3 s: places and velocities of the ends of the axis, and multipliers in units of 1/stiffness."""


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


def car_axis(group: str = "R3xSO3") -> Model:
    """Masses "left" and "right" on a "bar"; the left one stays "upright" over the line between the wheels."""
    model = Model(group, gravity=(0, -1, 0))
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
    return model


@case("car axis", "machines", slow=True)
def car_axis_case() -> list[Quantity]:
    """Two masses on a bar and springs over a road with bumps, after 3 s: places, velocities, and both multipliers."""
    solution = simulate(car_axis(), 3.0, 4e-3, RadauIIA())
    ends = [ask(name)[-1, :2] for ask in (solution.position, solution.velocity) for name in ("left", "right")]
    guide, bar = (solution.reaction(name)[0][-1, :2] / STIFFNESS for name in ("upright", "bar"))
    line = np.array([np.cos(Road()(3.0)), np.sin(Road()(3.0))])
    forces = np.array([guide @ line, bar @ (ends[1] - ends[0]) / 2])
    places, rates = (
        [f"{of}{axis} of the {end} mass ({unit})" for end in ("left", "right") for axis in "xy"]
        for of, unit in (("", "m"), ("rate of ", "m/s"))
    )
    return [
        *compared(places, np.ravel(ends[:2]), [*LEFT, *RIGHT], 1e-6, TEST_SET, LENGTH),
        *compared(rates, np.ravel(ends[2:]), [*LEFT_RATE, *RIGHT_RATE], 1e-5, TEST_SET, LENGTH),
        *compared(("multiplier of the guide", "multiplier of the bar"), forces, MULTIPLIERS, 1e-5, TEST_SET),
    ]


# Where points on a sphere rest

RINGS = ((3, 1, 1 / 13, 3 / 8), (7, 1, 1 / 29, 1 / 8), (6, 1, 1 / 7, -2 / 15), (4, 0, 1 / 17, -3 / 10))
"""Of the points at the start: how many, number of the first, turn of the ring and latitude over pi."""
RESTS = {  # number of a point: its place at t = 1000
    1: (-0.4070263380333202, 0.3463758772791802, 0.8451942450030429),
    7: (-0.6385191643609878, -0.4310833259390688, 0.6375425027722121),
    13: (-0.8665731819284478, -0.4813878059756024, -0.1315929352982178),
    20: (0.2414481766969039, -0.3416456818373135, -0.908284650344625),
}


def _start() -> Array:
    """Places ``(20, 3)`` on rings."""
    rings = []
    for count, first, turn, latitude in RINGS:
        a, b = np.pi * (2 * np.arange(first, first + count) / count + turn), np.pi * latitude
        rings.append(np.stack([np.cos(a) * np.cos(b), np.sin(a) * np.cos(b), np.full(count, np.sin(b))], axis=-1))
    return np.concatenate(rings)


def _push(t: float, length: float, speed: float) -> float:
    return -1 / length


def fekete(group: str = "R3xSO3") -> Model:
    """Points "1" to "20" of mass 1 on the unit sphere, which push each other away by 1/distance, with drag."""
    model = Model(group)
    for k, place in enumerate(_start(), 1):
        node = model.add_node(place, name=f"{k}")
        model.add(PointMass(node, 1.0))
        model.add(DistanceJoint(model.ground, node, point_a=(0, 0, 0)))
        way = model.add(OrientationJoint(model.ground, node))
        for axis in "xyz":
            model.add(JointSpring(way, 0.0, damping=0.5, coordinate=f"translation {axis}"))
        for other in range(1, k):
            model.add(SpringDamper(model[f"{other}"], node, force=_push))
    return model


@case("Fekete points", "machines", slow=True)
def fekete_case() -> list[Quantity]:
    """Twenty points on a sphere repel each other, with drag, until they rest: 190 forces, places after 1000 s."""
    solution = simulate(fekete(), 1000.0, VariableStep(1e-4), RadauIIA(), times=[0.0, 1000.0])
    places = np.concatenate([solution.position(f"{k}")[-1] for k in RESTS])
    names = [f"{axis} of point {k}" for k in RESTS for axis in "xyz"]
    return compared(names, places, np.ravel([*RESTS.values()]), 1e-8, TEST_SET, 1.0)
