r"""A tower crane that moves a load without sway.

The trolley of a flat-top crane runs 20 m out along its jib, over the elements of a beam that bends under it, with 2 t
on a rope of 20 m, and then hoists them by 8 m. What is moved swings, unless its motion is shaped: half of it now and
half of it half a period later, so that the second stops what the first sets off (Singer and Seering, 1990). On a stiff
crane the load is a pendulum whose pivot goes $x(t)$ and whose length is $l(t)$,

$$l\,\ddot\theta + 2\,\dot l\,\dot\theta + g\sin\theta + \ddot x\cos\theta = 0 .$$
"""

import numpy as np
from _run import main_of, panels
from scipy.integrate import solve_ivp

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection, Box, DistanceJoint, JointDrive, RigidBody, SCurve, SlidingJoint

GRAVITY, LENGTH, HEIGHT, OUT = 9.81, 20.0, 40.0, 10.0
HALF = np.pi * np.sqrt(LENGTH / GRAVITY)
PLAIN = SCurve(distance=20, speed=1.5, acceleration=0.5, jerk=1, begin=1)
PATHS = {"shaped": 0.5 * PLAIN + 0.5 * PLAIN.after(HALF), "plain": PLAIN}
HOIST = SCurve(distance=-8, speed=1.5, acceleration=0.5, jerk=1, begin=25)
FRAME = 0.75 * np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
# lattices as beams: four chords, far apart, bear bending, and little shear
JIB = BeamSection(2.5e9, 1e8, 5e7, (2e9, 1e9), mass=150, inertia=(150, 75, 75), outline=FRAME).with_damping(0.01)
TOWER = BeamSection(8e9, 3e8, 2e8, 8e9, mass=400, inertia=(800, 400, 400), outline=1.3 * FRAME).with_damping(0.01)


def build(path):
    model = mbs.Model(gravity=(0, 0, -GRAVITY))
    tower = Beam.line(model, (0, 0, 0), (0, 0, HEIGHT), TOWER, elements=2, order=3, name="tower")
    model.fix(tower.nodes[0])
    top = tower.nodes[-1]
    jib = Beam.line(model, (0, 0, HEIGHT), (50, 0, HEIGHT), JIB, elements=4, order=3, start_node=top, name="jib")
    back = Beam.line(model, (0, 0, HEIGHT), (-15, 0, HEIGHT), JIB, elements=1, order=3, start_node=top, name="back")
    weight = Box((3, 1.5, 2.5), center=back.nodes[-1].at((0, 0, -0.5)))
    model.add(RigidBody(back.nodes[-1], 8000, (5000, 5000, 5000), shape=weight))
    trolley, load = (
        model.add_node((OUT, 0, HEIGHT), name="trolley"),
        model.add_node((OUT, 0, HEIGHT - LENGTH), name="load"),
    )
    model.add(RigidBody(trolley, 300, (100, 100, 100), shape=Box((2, 1.6, 0.6), center=(OUT, 0, HEIGHT - 0.9))))
    model.add(RigidBody(load, 2000, (300, 300, 300), shape=Box((1.5, 1.5, 1.2), center=load.at((0, 0, -0.6)))))
    model.fix(load, translation=False)
    slide = model.add(SlidingJoint(jib, trolley, rotation=True), name="slide")
    model.add(JointDrive(slide, path), name="drive")
    model.add(DistanceJoint(trolley, load, drive=HOIST), name="rope")
    return model, trolley, load


def run(step=0.1, t_end=40.0):
    runs = []
    for path in PATHS.values():
        model, trolley, load = build(path)
        solution = mbs.simulate(model, t_end, step, initial=mbs.statics(model, ramp=False).state(-1))
        rope = solution.position(load) - solution.position(trolley)
        runs.append((solution, np.degrees(np.arctan2(rope[:, 0], -rope[:, 2]))))
    return runs[0][0], *runs


def pendulum(t, path):
    """Degrees of the rope of a stiff crane."""

    def rates(t, y):
        theta, turning = y
        l, l1, a = LENGTH + HOIST(t), HOIST.velocity(t), path.acceleration(t)
        return turning, -(2 * l1 * turning + GRAVITY * np.sin(theta) + a * np.cos(theta)) / l

    return np.degrees(solve_ivp(rates, (t[0], t[-1]), (0, 0), t_eval=t, rtol=1e-9, atol=1e-12, max_step=0.1).y[0])


def compare(solution, *runs):
    numbers = {}
    for (name, path), (solution, swing) in zip(PATHS.items(), runs, strict=True):
        exact, late = pendulum(solution.t, path), solution.t > HOIST.begin + HOIST.duration
        numbers[f"{name}: largest swing (degrees)"] = np.abs(swing).max(), np.abs(exact).max()
        numbers[f"{name}: swing at the end (degrees)"] = np.abs(swing[late]).max(), np.abs(exact[late]).max()
    return numbers


def figure(solution, shaped, plain, file):
    swings, paths = [], []
    for color, (name, path), (solution, swing) in zip(("C0", "C1"), PATHS.items(), (shaped, plain), strict=True):
        t = solution.t
        swings += [(name, t, swing, color), (f"{name}, stiff crane", t, pendulum(t, path), color + ":")]
        paths.append((f"trolley, {name}", t, OUT + np.array([*map(path, t)]), color))
    paths.append(("length of the rope", t, LENGTH + np.array([*map(HOIST, t)]), "C2"))
    panels(file, ("time (s)", "way (m)", *paths), ("time (s)", "angle of the rope (degrees)", *swings))


main = main_of(__file__, run, compare, figure, every=2)
if __name__ == "__main__":
    main()
