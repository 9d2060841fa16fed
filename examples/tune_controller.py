r"""A controller tuned by exact gradients.

A motor turns an inertia back to zero, by a controller with two gains. Which of them make $\int \varphi^2 + \rho u^2$
least? {py:func}`mbs.objective` gives `scipy.optimize.minimize` value and gradient, so that it needs no differences.
Without friction the answer is known, Kalman's regulator: $k_1 = J/\sqrt\rho$ for a unit inertia, $k_2 =
\sqrt{2 k_1}$, whatever the start. With the viscous friction $c$ of a real bearing, $k_2 = \sqrt{c^2 + 2 k_1} - c$.
"""

import time

import numpy as np
from _run import main_of, panels
from scipy.optimize import minimize

import fem_mbs as mbs
from fem_mbs.elements import PID, JointActuator, JointSensor, JointSpring, RevoluteJoint, RigidBody

EFFORT, T_END, STEP, GUESS = 0.01, 5.0, 0.02, (4.0, 2.0)


def build(k1, k2, friction=0.0):
    model = mbs.Model()
    rotor = model.add_node((0, 0, 0), name="rotor")
    model.add(RigidBody(rotor, 1.0, (1.0, 1.0, 1.0)))
    bearing = model.add(RevoluteJoint(model.ground, rotor, (0, 0, 1)), name="bearing")
    rotor.angular_velocity = (0, 0, 1.0)
    angle, rate = (model.add(JointSensor(bearing, quantity)) for quantity in ("coordinate", "coordinate_rate"))
    torque = model.add(PID(-1.0 * angle, k1, 0.0, k2, rate=-1.0 * rate), name="torque")
    model.add(JointActuator(bearing, torque))
    if friction:
        model.add(JointSpring(bearing, 0.0, friction))
    return model


def cost(solution):
    return solution.coordinate("bearing") ** 2 + EFFORT * solution.signal("torque") ** 2


def best(friction=0.0):
    """The gains, how often they were tried, and the seconds that it took."""
    f = mbs.objective(lambda k1, k2: build(k1, k2, friction), mbs.Integral(cost), ["k1", "k2"], T_END, STEP)
    started = time.perf_counter()
    found = minimize(f, GUESS, jac=True, method="BFGS", options={"gtol": 1e-7})
    return found.x, f.evaluations, time.perf_counter() - started


def run():
    gains, evaluations, seconds = best()
    print(f"{evaluations} runs with gradients, {seconds:.1f} s")
    return mbs.simulate(build(*gains), T_END, STEP), gains, best(2.0)[0]


def compare(solution, gains, with_friction):
    k1 = 1.0 / np.sqrt(EFFORT)
    return {
        "k1 (N m/rad)": (gains[0], k1),
        "k2 (N m s/rad)": (gains[1], np.sqrt(2 * k1)),
        "k2 with friction 2 (N m s/rad)": (with_friction[1], np.sqrt(4.0 + 2 * k1) - 2.0),
    }


def figure(solution, gains, with_friction, file):
    runs = {"guess": mbs.simulate(build(*GUESS), T_END, STEP), "best": solution}
    angles = [(name, run.t, np.degrees(run.coordinate("bearing"))) for name, run in runs.items()]
    torques = [(name, run.t, run.signal("torque")) for name, run in runs.items()]
    panels(file, ("time (s)", "angle (deg)", *angles), ("time (s)", "torque (N m)", *torques))


main = main_of(__file__, run, compare, figure)
if __name__ == "__main__":
    main()
