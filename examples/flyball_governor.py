r"""A flyball governor, free and at its engine.

Free it is problem A05 of the IFToMM library: rods with balls turn about a shaft and lift a slider by spring-dampers
that come to rest in 0.12 ms; the step is 10 ms. Then it governs an engine with a flywheel: the higher the slider, the
less the torque, and a dashpot calms it. With the angle $\theta$ of the rods, the height $s$ of the slider, the length
$\ell$ and the pull $F$ of a coupler, and the inertia $I(\theta)$ about the shaft,

$$A\ddot\theta = \tfrac14 I'\Omega^2 + g\cos\theta\,\big(M + \tfrac m2\big) - F\ell_\theta,\quad
m_s\ddot s = -m_s g - 2F\ell_s - c\,\dot s,\quad \frac{d}{dt}(I\Omega) = T(s) - L(t) .$$
"""

import numpy as np
from _run import main_of, panels
from scipy.integrate import solve_ivp

import fem_mbs as mbs
from fem_mbs import elements as el

GRAVITY, STIFFNESS, DAMPING, FREE, SPIN, ANGLE = 9.81, 8e5, 4e4, 0.5, 2 * np.pi, np.pi / 6
OFFSET, ROD, SLIDER, BALL, CUBE = 0.05, 0.3, 3.0, 5.0, 0.1
AXIAL, ACROSS, UPRIGHT = ROD * 0.01**2 / 6, ROD * (1 + 0.01**2) / 12, SLIDER * CUBE**2 / 6
FLYWHEEL, DASHPOT, TORQUE, THROTTLE = 20.0, 300.0, 75.0, 200.0  # kg m^2, N s/m, N m, N m per m of travel
LOAD = 45 + el.SmoothStep(height=10, duration=0.5, begin=10)


def build(governs, group="SE3"):
    model = mbs.Model(group, gravity=(0, 0, -GRAVITY))
    spin = np.array([0, 0, SPIN])
    shaft = model.add_node((0, 0, 0.5), angular_velocity=spin, name="shaft")
    slider = model.add_node((0, 0, 0.5), angular_velocity=spin, name="slider")
    model.add(el.RigidBody(shaft, ROD, (ACROSS, ACROSS, AXIAL), shape=el.Cylinder(0.015, 1)))
    model.add(el.RigidBody(slider, SLIDER, 3 * [UPRIGHT], shape=el.Box(3 * [CUBE])))
    bearing = model.add(el.RevoluteJoint(model.ground, shaft, axis=(0, 0, 1)), name="bearing")
    guide = model.add(el.PrismaticJoint(shaft, slider, axis=(0, 0, 1)), name="guide")
    for side in (1, -1):
        along, across = np.array([side * np.cos(ANGLE), 0, -np.sin(ANGLE)]), np.array([0, side, 0])
        top, R = np.array([side * OFFSET, 0, 1]), np.stack([along, across, np.cross(along, across)], axis=-1)
        rod = model.add_node(x := top + along / 2, R, velocity=np.cross(spin, x), angular_velocity=spin @ R)
        model.add(el.RigidBody(rod, ROD, (AXIAL, ACROSS, ACROSS), shape=el.Cylinder(0.01, 1, along)))
        model.add(el.RigidBody(rod, BALL, 3 * [1e-9], (0.5, 0, 0), shape=el.Ball(0.07, center=top + along)))
        model.add(el.RevoluteJoint(shaft, rod, axis=(0, 1, 0), point=top))
        model.add(
            el.SpringDamper(slider, rod, STIFFNESS, DAMPING, free_length=FREE, point_a=slider.at((side * OFFSET, 0, 0)))
        )
    if governs:
        model.add(
            el.RigidBody(shaft, 200, 3 * [FLYWHEEL], (0, 0, -0.6), shape=el.Cylinder(0.45, 0.04, center=(0, 0, -0.1)))
        )
        model.add(el.JointSpring(guide, stiffness=0, damping=DASHPOT), name="dashpot")
        model.add(el.JointActuator(bearing, TORQUE - THROTTLE * model.add(el.JointSensor(guide))), name="engine")
        model.add(el.JointForce(bearing, lambda t, q, rate: -LOAD(t)), name="load")
    return model, bearing, guide


def run(steps=(0.02, 0.01)):
    solutions, runs = [], []
    for governs, t_end, step in zip((True, False), (20, 10), steps, strict=True):
        model, bearing, guide = build(governs)
        solutions.append(solution := mbs.simulate(model, t_end, step))
        runs.append((solution.t, 0.5 + solution.coordinate(guide), solution.coordinate_rate(bearing)))
    return solutions[0], *runs


def rates(t, y, governs):
    """Of the angle of the rods, the height of the slider, the speed, and the rates of the first two."""
    angle, height, spin, turning, rising = y
    s, c = np.sin(angle), np.cos(angle)
    inertia = AXIAL + UPRIGHT + governs * FLYWHEEL + 2 * (AXIAL * s**2 + ACROSS * c**2)
    inertia += 2 * (BALL * (OFFSET + c) ** 2 + ROD * (OFFSET + c / 2) ** 2)
    change = -2 * s * (2 * BALL * (OFFSET + c) + ROD * (OFFSET + c / 2) + 2 * (ACROSS - AXIAL) * c)
    length = np.hypot(c / 2, 1 - s / 2 - height)
    by_angle, by_height = c / 2 * (height - 1) / length, (height + s / 2 - 1) / length
    pull = STIFFNESS * (length - FREE) + DAMPING * (by_angle * turning + by_height * rising)
    moment = change * spin**2 / 4 + GRAVITY * c * (BALL + ROD / 2) - pull * by_angle
    lift = -GRAVITY - (2 * pull * by_height + governs * DASHPOT * rising) / SLIDER
    torque = governs * (TORQUE - THROTTLE * (height - 0.5) - LOAD(t))
    return turning, rising, (torque - change * turning * spin) / inertia, moment / (BALL + ROD / 4 + ACROSS), lift


def exact(t, governs):
    tight, start = dict(rtol=1e-9, atol=1e-10, max_step=0.1), (ANGLE, 0.5, SPIN, 0, 0)
    return solve_ivp(rates, (0, t[-1]), start, "Radau", t, args=(governs,), **tight).y[1:3]


def compare(solution, governed, free):
    numbers = {"slider where torque is load (m)": (governed[1][-1], 0.5 + (TORQUE - LOAD(20)) / THROTTLE)}
    for name, (t, *found), governs in (("governed", governed, True), ("free", free, False)):
        for what, x, y in zip(("slider", "speed"), found, exact(t, governs), strict=True):
            numbers[f"{name}: {what} at {t[-1]:g} s"] = x[-1], y[-1]
    return numbers


def figure(solution, governed, free, file):
    heights, speeds = ["time (s)", "height of the slider (m)"], ["time (s)", "speed of the shaft (rad/s)"]
    for name, (t, *found), governs in (("governing an engine", governed, True), ("free", free, False)):
        for panel, x, y in zip((heights, speeds), found, exact(t, governs), strict=True):
            panel += [(name, t, x), ("three coordinates", t, y, "k:")]
    panels(file, heights, speeds)


main = main_of(__file__, run, compare, figure, every=5)
if __name__ == "__main__":
    main()
