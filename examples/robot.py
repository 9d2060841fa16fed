r"""A six-axis robot with controllers and payload.

The Puma 560 takes a steel ball of 2.5 kg from upright to a working pose in 1 s. Every joint has sensors of its angle
and rate, a PID controller, and a motor of limited torque. All are solved with the motion, at gains of 40 kN m/rad. At
rest a motor bears the moment of the weights $m_i g$ behind it, at $c_i$, about its axis $z_j$ through $o_j$: $\tau_j =
\sum_{i \ge j} m_i\,g\;e_z\cdot\big(z_j\times(c_i - o_j)\big)$, here by the table of Denavit and Hartenberg. The tests
compare the whole motion with Newton's and Euler's recursion.
"""

import numpy as np
from _run import main_of, panels
from scipy.spatial.transform import Rotation

import fem_mbs as mbs
from fem_mbs.elements import PID, Ball, Cylinder, JointActuator, JointSensor, PointToPoint, RevoluteJoint, RigidBody

# Corke's table; of the last inertias of link 3 he has 0.086 for 0.078, which no body has, being more than their sum
LINKS = [  # d, a, alpha; mass, its centre, inertia about it; P, I, D, largest torque; radius to be drawn
    (0.67, 0, 90, 20, (0, 0, 0), (0.35, 0.35, 0.35), 4e4, 2e5, 400, 56, 0.11),
    (0, 0.4318, 0, 17.4, (-0.3638, 0.006, 0.2275), (0.13, 0.524, 0.539), 4e4, 2e5, 400, 97, 0.08),
    (0.15005, 0.0203, -90, 4.8, (-0.0203, -0.0141, 0.07), (0.066, 0.078, 0.0125), 4e4, 2e5, 100, 52, 0.07),
    (0.4318, 0, 90, 0.82, (0, 0.019, 0), (0.0018, 0.0013, 0.0018), 100, 500, 1, 10, 0.05),
    (0, 0, -90, 0.34, (0, 0, 0), (0.0003, 0.0004, 0.0003), 100, 500, 1, 10, 0.055),
    (0, 0, 0, 0.09, (0, 0, 0.032), (0.00015, 0.00015, 4e-5), 10, 50, 0.1, 10, 0.03),
]
GRAVITY, PAYLOAD, RADIUS, TOOL = 9.81, 2.5, 0.0424, (0, 0, 0.095)
START, END = np.radians([[0, 90, -90, 0, 0, 0], [60, 45, -180, 30, 45, 90]])
PATHS = [PointToPoint(0, turn, duration=1, begin=0.2) for turn in END - START]


def frames(angles):
    """Places and rotations of the base and the six links."""
    x, R = [np.zeros(3)], [np.eye(3)]
    for angle, (d, a, alpha, *_) in zip(angles, LINKS, strict=True):
        x.append(x[-1] + R[-1] @ (a * np.cos(angle), a * np.sin(angle), d))
        R.append(R[-1] @ Rotation.from_euler("ZX", (angle, np.radians(alpha))).as_matrix())
    return x, R


def weights(angles):
    """Moments of the weights about the axes, which the motors bear at rest."""
    x, R = frames(angles)
    bodies = [(link[3], x[i] + R[i] @ link[4]) for i, link in enumerate(LINKS, 1)] + [(PAYLOAD, x[6] + R[6] @ TOOL)]
    return [sum(m * GRAVITY * np.cross(R[j][:, 2], c - x[j])[2] for m, c in bodies[j:]) for j in range(6)]


def build(group="R3xSO3"):
    model = mbs.Model(group, gravity=(0, 0, -GRAVITY))
    (x, R), link, axes = frames(START), model.ground, []
    for i, (d, a, _, mass, center, inertia, P, I, D, limit, radius) in enumerate(LINKS):
        before, link = link, model.add_node(x[i + 1], R[i + 1], name=f"link {i + 1}")
        way, middle = x[i + 1] - x[i], (x[i] + x[i + 1]) / 2
        shape = Cylinder(radius, np.hypot(a, d), way, center=middle) if way.any() else Ball(radius)
        model.add(RigidBody(link, mass, inertia, center, shape=shape))
        joint = model.add(RevoluteJoint(before, link, axis=R[i][:, 2], point=x[i]), name=f"joint {i + 1}")
        angle, rate = (model.add(JointSensor(joint, quantity)) for quantity in ("coordinate", "coordinate_rate"))
        error, slip, held = PATHS[i] - angle, PATHS[i].velocity - rate, weights(START)[i]
        torque = model.add(PID(error, P, I, D, rate=slip, limits=(-limit, limit), initial=held))
        model.add(JointActuator(joint, torque), name=f"motor {i + 1}")
        axes.append((angle, error, torque))
    model.add(RigidBody.solid(link, Ball(RADIUS, center=link.at(TOOL)), mass=PAYLOAD))
    return model, link, axes


def run(step=1e-3, t_end=2.0, group="R3xSO3"):
    model, *parts = build(group)
    return mbs.simulate(model, t_end, step), *parts


def compare(solution, link, axes):
    """Each number as computed and as it should be, at rest in the working pose."""
    x, R = frames(END)
    ball = solution.position(link)[-1] + solution.rotation(link)[-1] @ TOOL
    numbers = {f"{axis} of the ball (m)": (ball[i], (x[6] + R[6] @ TOOL)[i]) for i, axis in enumerate("xyz")}
    for j, ((*_, torque), held) in enumerate(zip(axes, weights(END), strict=True), 1):
        numbers[f"torque of motor {j} (N m)"] = solution.signal(torque)[-1], held
    return numbers


def figure(solution, link, axes, file):
    shown = []
    for name, *signals in zip(("angle (rad)", "reference - angle (rad)", "torque (N m)"), *axes, strict=True):
        curves = [(f"joint {j}", solution.t, solution.signal(signal)) for j, signal in enumerate(signals, 1)]
        shown.append(("time (s)", name, *curves))
    panels(file, *shown)


main = main_of(__file__, run, compare, figure, every=20)
if __name__ == "__main__":
    main()
