r"""A double wishbone with rubber bushings goes over a bump.

A quarter of a car at 30 km/h: 350 kg on two wishbones in two bushings each, a tie rod, a strut on the lower one, and
a wheel that spins on the knuckle and stands on the road by a tyre that can only push. The bump is 5 cm high.
At rest the tyre carries the weight. With rigid bushings, two ball joints on circles and the rod would leave the knuckle
one motion; the bushings add a little. With steps of 1 ms, a second takes about a second on one core.
"""

from dataclasses import replace

import numpy as np
from _run import main_of, panels
from scipy.optimize import fsolve
from scipy.spatial.transform import Rotation

import fem_mbs as mbs
from fem_mbs.elements import (
    Box,
    Bushing,
    Cylinder,
    DistanceJoint,
    PointToPoint,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
    SpringDamper,
)

G, SPEED, RADIUS = 9.81, 8.3, 0.329
ARMS = {"lower": ((0, 0.35, 0.20), (0, 0.70, 0.18), 6.0), "upper": ((0, 0.40, 0.46), (-0.01, 0.66, 0.50), 3.0)}
ROD, STRUT = np.array([[0.12, 0.38, 0.25], [0.12, 0.70, 0.25]]), np.array([[0, 0.42, 0.62], [0, 0.55, 0.19]])
HUB = np.array([0, 0.75, 0.31])  # all places in m: ahead, to the left, up
RUBBER = 2e6, 8e6, 8e6, 20.0, 300.0, 300.0  # N/m and N m/rad; the pin is along x
BUMP = PointToPoint(0, 0.05, duration=0.4 / SPEED, begin=0.2)
ROAD = BUMP - BUMP.after(0.4 / SPEED)


def tyre(t, length, speed):
    """Pull: the tyre pushes by 200 kN/m and 300 N s/m as long as it touches the road."""
    push = 2e5 * (depth := RADIUS + ROAD(t) - length) + 300.0 * (ROAD.velocity(t) - speed)
    return -push if depth > 0 and push > 0 else 0 * push


def build():
    model = mbs.Model(gravity=(0, 0, -G))
    body, knuckle, wheel = (model.add_node(place) for place in ((0, 0.3, 0.6), (0, 0.69, 0.32), HUB))
    model.add(RigidBody(body, 350.0, (50, 50, 50), shape=Box((0.5, 0.08, 0.55), center=body.at((0, 0.02, -0.13)))))
    model.add(RigidBody(knuckle, 12.0, (0.15, 0.10, 0.10), shape=Box((0.06, 0.04, 0.34))))
    model.add(
        RigidBody(wheel, 18.0, (0.6, 1.1, 0.6), shape=Cylinder(RADIUS, 0.1, axis=(0, 1, 0), center=HUB + (0, 0.05, 0)))
    )
    model.add(PrismaticJoint(model.ground, body, axis=(0, 0, 1)), name="ride")
    for name, (axis, ball, mass) in ARMS.items():
        arm = model.add_node(np.add(ball, axis) / 2, name=name)
        size = 0.1, np.linalg.norm(np.subtract(ball, axis)), 0.03
        model.add(RigidBody.solid(arm, Box(size), mass=mass))
        for x in (-0.15, 0.15):
            model.add(Bushing(body, arm, RUBBER, damping=2e-4, point=np.add(axis, (x, 0, 0))))
        model.add(SphericalJoint(arm, knuckle, point=ball), name=f"{name} ball")
        if name == "lower":
            top, foot = STRUT
            model.add(SpringDamper(body, arm, 9e4, 6e3, free_length=0.523, point_a=top, point_b=foot), name="strut")
    model.add(DistanceJoint(body, knuckle, *ROD), name="tie rod")
    model.add(RevoluteJoint(knuckle, wheel, axis=(0, 1, 0), drive=lambda t: SPEED / RADIUS * t), name="hub")
    model.add(SpringDamper(model.ground, wheel, force=tyre, point_a=HUB * (1, 1, 0)), name="tyre")
    return model, body, wheel


def run(step=1e-3):
    model, body, wheel = build()
    rest = mbs.statics(model, load_end=0, ramp=False).state(-1)
    spinning = np.where(np.array(model.nodes)[:, None] == wheel, [0, 0, 0, 0, SPEED / RADIUS, 0], 0.0)
    cheapest = mbs.GeneralizedAlpha(formulation="index3")
    solution = mbs.simulate(model, 1.5, step, cheapest, initial=replace(rest, v=spinning))
    raised = (solution.displacement(wheel) - solution.displacement(body))[:, 2]
    return solution, body, wheel, raised, np.degrees(np.arcsin(solution.rotation(wheel)[:, 2, 1]))


def rigid(raised):
    """Camber in degrees for rigid bushings, with the wheel raised against the body."""
    (lower, ball), (upper, top) = (np.array(places) for *places, _ in ARMS.values())
    turned = Rotation.from_rotvec

    def gaps(y):
        joint, other = lower + turned([y[0], 0, 0]).apply(ball - lower), upper + turned([y[1], 0, 0]).apply(top - upper)
        other, rod, hub = joint + turned(y[2:]).apply([top, ROD[1], HUB] - ball) - [other, (0, 0, 0), (0, 0, 0)]
        return [*other, np.linalg.norm(rod - ROD[0]) - np.linalg.norm(ROD[1] - ROD[0]), hub[2] - HUB[2] - raised]

    return np.degrees(np.arcsin(turned(fsolve(gaps, np.zeros(5))[2:]).apply([0, 1, 0])[2]))


def compare(solution, body, wheel, raised, camber):
    length = np.linalg.norm(solution.position(wheel)[0] - HUB * (1, 1, 0))
    moments = {"at rest": 0, "wheel up": raised.argmax(), "wheel down": raised.argmin()}
    numbers = {f"camber, {where} (°)": (camber[k], rigid(raised[k])) for where, k in moments.items()}
    return {"tyre at rest (N)": (-tyre(0.0, length, 0.0), 389 * G), **numbers}


def figure(solution, body, wheel, raised, camber, file):
    t, some = solution.t, np.linspace(raised.min(), raised.max(), 20)
    heights = [("body", t, solution.displacement(body)[:, 2]), ("wheel", t, solution.displacement(wheel)[:, 2])]
    cambers = ("with bushings", raised, camber), ("rigid bushings", some, [rigid(way) for way in some], "k:")
    ride = "time (s)", "acceleration of the body (m/s²)", ("", t, solution.acceleration(body)[:, 2])
    panels(file, ("time (s)", "height (m)", *heights), ride, ("wheel against body (m)", "camber (°)", *cambers))


main = main_of(__file__, run, compare, figure, every=5)
if __name__ == "__main__":
    main()
