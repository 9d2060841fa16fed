"""The car axis of the test set of initial value problems (Mazzia, Magherini 2008): stiff springs over a bumpy road."""

from __future__ import annotations

import numpy as np

from fem_mbs.benchmarks.case import TEST_SET, Quantity, case, compared
from fem_mbs.elements import DistanceJoint, PointMass, PointOnPlaneJoint, RevoluteJoint, RigidBody, SpringDamper
from fem_mbs.methods.radau import RadauIIA
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate

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
