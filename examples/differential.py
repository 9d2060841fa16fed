r"""The differential of a car, straight on and in a curve.

A car of 1200 kg has its engine on the pinion of an open differential, 10 teeth on 41, and speeds up, straight on and in
a left curve. Pinion, cage and half shafts are hinges on the car, and the gears two couplings of their angles,
$\vartheta_l + \vartheta_r = 2\vartheta_c$ and $\vartheta_p = \tfrac{41}{10}\,\vartheta_c$. Wheels roll without slip; in
front there is one. Straight on the acceleration is $\tfrac{41}{10}T/(rm)$ with all that turns reduced to the mass $m$;
at the steering angle $\delta$ the wheels go round a point $R = l/\tan\delta$ beside the axle. Both shafts have the same
torque, and the work of the engine is the energy of the car.
"""

import numpy as np
from _run import main_of, panels
from _shapes import gear
from scipy.spatial.transform import Rotation

import fem_mbs as mbs
from fem_mbs.elements import Coupling, CylindricalJoint, RevoluteJoint, RigidBody, RollingDisc, SmoothStep, TorqueMotor
from fem_mbs.elements.shapes import Box, Cylinder

RADIUS, TRACK, BASE, RATIO = 0.3, 1.5, 2.6, 4.1
MASS, WHEEL, SPIN, CAGE, PINION = 1200.0, 20.0, 0.9, 0.05, 0.15  # kg; kg m^2 about the axles and shafts
ANGLE, FULL = 0.15, 200.0  # rad, N m
STEER = SmoothStep(ANGLE, duration=1.0, begin=3.0)
TORQUE = FULL - SmoothStep(0.7 * FULL, duration=0.5, begin=2.5)


def build():
    model = mbs.Model(gravity=(0, 0, -9.81))
    car, fork = model.add_node((1.2, 0, 0.5), name="car"), model.add_node((BASE, 0, RADIUS), name="fork")
    model.add(RigidBody(car, MASS, (400, 1500, 1700), shape=Box((1.8, 0.9, 0.1), center=(1.3, 0, 0.55))))
    model.add(RigidBody(fork, 10.0, (0.2, 0.2, 0.2), shape=Box((0.05, 0.05, 0.3))))
    model.add(RevoluteJoint(car, fork, axis=(0, 0, 1), drive=STEER), name="steering")
    shafts = {}
    for name, holder, place in (("left", car, TRACK / 2), ("right", car, -TRACK / 2), ("front", fork, 0.0)):
        wheel = model.add_node((BASE if holder is fork else 0, place, RADIUS), name=name)
        model.add(RigidBody(wheel, WHEEL, (SPIN / 2, SPIN, SPIN / 2), shape=Cylinder(RADIUS, 0.18, axis=(0, 1, 0))))
        joint = CylindricalJoint if name == "right" else RevoluteJoint  # the road holds one axle sideways twice
        shafts[name] = model.add(joint(holder, wheel, axis=(0, 1, 0)), name=f"{name} shaft")
        model.add(RollingDisc(model.ground, wheel, normal=(0, 0, 1), axis=(0, 1, 0), radius=RADIUS))
    across, along = Rotation.from_euler("x", -90, degrees=True), Rotation.from_euler("y", -90, degrees=True)
    parts = {
        "cage": ((0, 0, RADIUS), (0, 1, 0), CAGE, gear(41, 0.012, 0.03, 0.12, cone=0.1, rotation=across)),
        "pinion": ((0.24, 0.055, RADIUS), (1, 0, 0), PINION, gear(10, 0.012, 0.05, 0.02, cone=0.2, rotation=along)),
    }
    for name, (place, axis, inertia, shape) in parts.items():
        node = model.add_node(place, name=name)
        model.add(RigidBody(node, 5.0, (inertia, inertia, inertia), shape=shape))
        shafts[name] = model.add(RevoluteJoint(car, node, axis=axis), name=f"{name} bearing")
    model.add(Coupling(shafts["pinion"], shafts["cage"], ratio=-RATIO), name="crown gear")
    halves = [shafts[name] for name in ("left", "right", "cage")]
    bevel = model.add(Coupling(halves, [1, 1, -2], coordinates=[None, "rotation z", None]), name="differential")
    model.add(TorqueMotor(shafts["pinion"], TORQUE), name="engine")
    return model, car, shafts, bevel


def run(step=0.01):
    model, car, shafts, bevel = build()
    solution = mbs.simulate(model, 8.0, step)
    rates = {
        name: solution.coordinate_rate(shaft).reshape(len(solution.t), -1)[:, -1] for name, shaft in shafts.items()
    }
    return solution, car, rates, -solution.multipliers(bevel)[:, 0]


def compare(solution, car, rates, torque):
    t, engine = solution.t, np.array([TORQUE(t) for t in solution.t])
    straight, energy = np.abs(t - 2.0).argmin(), solution.energy.kinetic
    reduced = MASS + 3 * WHEEL + 20.0 + (3 * SPIN + CAGE + RATIO**2 * PINION) / RADIUS**2
    around = BASE / np.tan(ANGLE)
    shaft = (
        RATIO * (engine[-1] - PINION * np.gradient(rates["pinion"], t)[-1]) - CAGE * np.gradient(rates["cage"], t)[-1]
    )
    return {
        "speed after 2 s (m/s)": (solution.velocity(car)[straight, 0], 2.0 * FULL * RATIO / RADIUS / reduced),
        "left over right wheel, straight": (rates["left"][straight] / rates["right"][straight], 1.0),
        "left over right wheel, curve": (
            rates["left"][-1] / rates["right"][-1],
            (around - TRACK / 2) / (around + TRACK / 2),
        ),
        "wheels over pinion, curve": ((rates["left"] + rates["right"])[-1] / rates["pinion"][-1], 2 / RATIO),
        "torque of each shaft, curve (N m)": (torque[-1], shaft / 2),
        "energy of the car (J)": (energy[-1], np.trapezoid(engine * rates["pinion"], t)),
    }


def figure(solution, car, rates, torque, file):
    t, place = solution.t, solution.position(car)
    wheels = [(name, t, RADIUS * rates[name]) for name in ("left", "right", "cage")]
    path, split = ("", *place.T[:2]), ("", t, torque)
    speeds = "time (s)", "speed times radius (m/s)", *wheels
    panels(file, ("x (m)", "y (m)", path), speeds, ("time (s)", "torque of each shaft (N m)", split))


main = main_of(__file__, run, compare, figure, every=4)
if __name__ == "__main__":
    main()
