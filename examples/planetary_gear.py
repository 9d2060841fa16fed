r"""A planetary gear with a brake on its ring.

A motor drives the sun with 20 N m, the carrier turns a load that resists with its speed, and the ring is free until a
brake takes hold of it. Teeth are couplings of hinges: with the angles of sun and ring from the ground and those of the
planets from the carrier, $z_s(\vartheta_s - \vartheta_c) + z_p\vartheta_p = 0$ and
$z_r(\vartheta_r - \vartheta_c) - z_p\vartheta_p = 0$, from which Willis' relation follows,
$z_s\omega_s + z_r\omega_r = (z_s + z_r)\,\omega_c$. Three planets repeat each other: of all forces of the teeth that do
the same, the least are given, a third each. The reference has two coordinates, the angles of sun and ring.
"""

import numpy as np
from _run import main_of, panels
from _shapes import gear
from scipy.integrate import solve_ivp

import fem_mbs as mbs
from fem_mbs.elements import Coupling, Cylinder, JointForce, RevoluteJoint, RigidBody, SmoothStep, TorqueMotor

SUN, PLANET, RING, MODULE, WIDTH = 24, 24, 72, 2e-3, 0.02  # teeth, m
ARM, MASS, TORQUE, LOAD = MODULE * (SUN + PLANET) / 2, 0.1, 20.0, 1.0  # m, kg of a planet, N m, N m s/rad
INERTIA = {"sun": 0.01, "carrier": 0.05, "ring": 0.02, "planet": 3e-5}  # with what hangs on them, kg m^2
BRAKE = SmoothStep(100.0, duration=0.4, begin=0.3)  # N m s/rad


def build():
    model = mbs.Model()
    shapes = {
        "sun": gear(SUN, MODULE, WIDTH, rim=0.01),
        "ring": gear(RING, MODULE, WIDTH, rim=0.085),
        "carrier": Cylinder(ARM + 0.01, 0.005, center=(0, 0, -0.8 * WIDTH)),
    }
    hinges = {}
    for name, shape in shapes.items():
        node, J = model.add_node((0, 0, 0), name=name), INERTIA[name]
        model.add(RigidBody(node, 1.0, (J, J, J), shape=shape))
        hinges[name] = model.add(RevoluteJoint(model.ground, node, axis=(0, 0, 1)), name=f"{name}'s bearing")
        if name == "carrier":
            carrier = node
    sun, ring, turn = hinges["sun"], hinges["ring"], hinges["carrier"]
    teeth = []
    for angle in 2 * np.pi * np.arange(3) / 3:
        planet, J = model.add_node((ARM * np.cos(angle), ARM * np.sin(angle), 0)), INERTIA["planet"]
        model.add(RigidBody(planet, MASS, (J, J, J), shape=gear(PLANET, MODULE, WIDTH, rim=0.008, phase=0.5)))
        pin = model.add(RevoluteJoint(carrier, planet, axis=(0, 0, 1)))
        teeth.append(model.add(Coupling([sun, turn, pin], [SUN, -SUN, PLANET])))
        model.add(Coupling([ring, turn, pin], [RING, -RING, -PLANET]))
    model.add(TorqueMotor(sun, TORQUE), name="motor")
    model.add(JointForce(turn, lambda t, angle, speed: -LOAD * speed), name="load")
    model.add(JointForce(ring, lambda t, angle, speed: -BRAKE(t) * speed), name="brake")
    return model, sun, turn, ring, teeth


def run(step=2e-3):
    model, *parts = build()
    solution = mbs.simulate(model, 1.0, step)
    return solution, *(solution.coordinate_rate(joint) for joint in parts[:3]), parts[3]


def exact(t):
    """Speeds of sun, carrier and ring from the two coordinates."""
    sun, ring = np.eye(2)
    carrier = (SUN * sun + RING * ring) / (SUN + RING)
    planet = carrier - SUN / PLANET * (sun - carrier)
    J = [*INERTIA.values(), 3 * MASS * ARM**2]
    counts = zip([J[0], J[1] + J[4], J[2], 3 * J[3]], (sun, carrier, ring, planet), strict=True)
    M = sum(inertia * np.outer(share, share) for inertia, share in counts)

    def rates(t, w):
        return np.linalg.solve(M, TORQUE * sun - LOAD * (carrier @ w) * carrier - BRAKE(t) * (ring @ w) * ring)

    w = solve_ivp(rates, (0, t[-1]), (0.0, 0.0), "DOP853", t_eval=t, rtol=1e-11, atol=1e-11, max_step=0.01).y
    return w[0], carrier @ w, w[1]


def compare(solution, sun, carrier, ring, teeth):
    reference = exact(solution.t)
    push = (TORQUE - INERTIA["sun"] * np.gradient(reference[0], solution.t)[-1]) / 3 / (MODULE * SUN / 2)
    slip = np.abs(SUN * sun + RING * ring - (SUN + RING) * carrier).max()
    numbers = {"Willis: largest error of the speeds (rad/s)": (slip / (SUN + RING), 0.0)}
    for t in (0.3, 1.0):
        k = np.abs(solution.t - t).argmin()
        for name, speed, w in zip(("sun", "carrier", "ring"), (sun, carrier, ring), reference, strict=True):
            numbers[f"{name} at t = {t:g} s (rad/s)"] = speed[k], w[k]
    for k, tooth in enumerate(teeth):
        numbers[f"tooth at planet {k + 1}, t = 1 s (N)"] = 2 / MODULE * solution.multipliers(tooth)[-1, 0], push
    return numbers


def figure(solution, sun, carrier, ring, teeth, file):
    t, speeds = solution.t, {"sun": sun, "carrier": carrier, "ring": ring}
    shown = [(name, t, speed) for name, speed in speeds.items()]
    shown += [("" if k else "two coordinates", t[::20], w[::20], "k.") for k, w in enumerate(exact(t))]
    force = [(f"planet {k + 1}", t, solution.multipliers(tooth)[:, 0] * 2 / MODULE) for k, tooth in enumerate(teeth)]
    panels(file, ("time (s)", "speed (rad/s)", *shown), ("time (s)", "force of a tooth of the sun (N)", *force))


main = main_of(__file__, run, compare, figure, every=4)
if __name__ == "__main__":
    main()
