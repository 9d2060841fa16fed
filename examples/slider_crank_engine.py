r"""A four-stroke engine with a flexible connecting rod.

One cylinder of half a litre is brought to 6000 turns a minute: a driven crank, $r = 43$ mm, a piston of 0.45 kg, a rod
of steel, $l = 150$ mm, as a beam, and the pressure of the gas as a law of the turn and of the place of the piston. With
a rigid rod, the piston would be $x = r\cos\varphi + \sqrt{l^2 - r^2\sin^2\varphi}$ above the shaft, its acceleration
at the top $-r\omega^2(1 + r/l)$, and the torque of the drive $\tfrac12\omega^2 J'(\varphi) - F(\varphi)\,x'(\varphi)$
with the inertia $J$ that the crank feels and the force $F$ of the gas. At the top, the rod should stretch by what pulls
at it; and it should bend as a beam on two hinges under its own inertia.
"""

import numpy as np
from _run import main_of, panels

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection, JointForce, PrismaticJoint, RevoluteJoint, RigidBody, SmoothStep, SpinUp
from fem_mbs.elements.shapes import Box, Cylinder

R, L, BORE, PISTON, INERTIA = 0.043, 0.150, 0.086, 0.45, 9e-3
OMEGA, TURN, AREA = 2 * np.pi * 100, 0.01, np.pi * BORE**2 / 4
SWEPT, CLEARANCE = AREA * 2 * R, AREA * R / 4.5
STEEL = BeamSection.rectangle(width=0.016, height=0.024, E=210e9, nu=0.3, rho=7850).with_damping(1e-6)
DRIVE = SpinUp(OMEGA, duration=2 * TURN)
CLOSED = SmoothStep(1, 0.1, begin=0.5) - SmoothStep(1, 0.15, begin=1.4)  # over turns of the crank, as the heat
HEAT = SmoothStep(2.5, 0.15, begin=0.96)


def gas(t, x, speed=0):
    """Force on the piston, x above its top: takes in, compresses, burns and lets out in two turns."""
    turn, compressed = DRIVE(t) / (2 * np.pi) % 2, (CLEARANCE + SWEPT) / (CLEARANCE - AREA * x)
    return -1e5 * AREA * CLOSED(turn) * (compressed**1.35 * (1 + HEAT(turn)) - 1)


def build():
    model = mbs.Model()
    crank = model.add_node((0, 0, 0), name="crank")
    model.add(RigidBody(crank, 3.0, (6e-3, INERTIA, 6e-3), shape=Box((0.05, 0.012, 0.11), center=(0, 0.016, 0))))
    shaft = model.add(RevoluteJoint(model.ground, crank, axis=(0, 1, 0), drive=DRIVE), name="shaft")
    rod = Beam.line(model, (0, 0, R), (0, 0, R + L), STEEL, elements=4, order=3, y_axis=(0, 1, 0), name="rod")
    piston = model.add_node((0, 0, R + L), name="piston")
    model.add(
        RigidBody(piston, PISTON, (3e-4, 3e-4, 4e-4), shape=Cylinder(BORE / 2, 0.05, center=piston.at((0, 0, 0.012))))
    )
    model.add(RevoluteJoint(crank, rod.nodes[0], axis=(0, 1, 0)), name="crank pin")
    model.add(RevoluteJoint(piston, rod.nodes[-1], axis=(0, 1, 0)), name="piston pin")
    slide = model.add(PrismaticJoint(model.ground, piston, axis=(0, 0, 1)), name="cylinder")
    model.add(JointForce(slide, gas), name="gas")
    return model, shaft, rod, piston


def run(steps=180):
    model, shaft, rod, piston = build()
    solution = mbs.simulate(model, 4 * TURN, TURN / steps)
    last = solution.t > 2 * TURN * (1 + 1e-9)  # at full speed
    torque, moment = solution.reaction(shaft)[1][last, 1], solution.section_forces(rod)[last, 7, 4]
    x = solution.position(piston)[last, 2] - R - L
    return solution, solution.t[last], x, solution.acceleration(piston)[last, 2], torque, moment


def rigid(t):
    """Torque of the drive and moment in the middle of the rod, if that were rigid."""

    def motion(phi):
        s, c, tilt = np.sin(phi), np.cos(phi), np.arcsin(R / L * np.sin(phi))
        turning = R * c / (L * np.cos(tilt))
        x, slope = R * c + L * np.cos(tilt), -R * s * (1 + turning)
        rod = STEEL.mass * L / 3 * (R**2 - R * s * slope + slope**2) + STEEL.inertia[1, 1] * L * turning**2
        return x, slope, tilt, INERTIA + PISTON * slope**2 + rod

    phi = OMEGA * (t - TURN)
    x, slope, tilt, _ = motion(phi)
    _, second, _, change = (part.imag / 1e-20 for part in motion(phi + 1e-20j))
    moment = -STEEL.mass * L**2 / 16 * (R * np.sin(phi + tilt) - second * np.sin(tilt))
    return OMEGA**2 * change / 2 - np.array([*map(gas, t, x - R - L)]) * slope, OMEGA**2 * moment


def compare(solution, t, x, acceleration, torque, moment):
    middle = len(t) // 2 - 1  # the top where the cylinder is open
    (torque_, moment_), top = rigid(t), -R * OMEGA**2 * (1 + R / L)
    pull = STEEL.mass * L * (R * OMEGA**2 / 6 - top / 3) - PISTON * top
    return {
        "acceleration of the piston at its top (m/s²)": (acceleration[middle], top),
        "stretch of the rod there (m)": (x[middle], pull * L / STEEL.stiffness[0, 0]),
        "work of the drive over two turns (J)": (4 * np.pi * torque.mean(), 4 * np.pi * torque_.mean()),
        "largest torque of the drive (N m)": (torque.max(), torque_.max()),
        "largest moment in the rod (N m)": (moment.max(), moment_.max()),
    }


def figure(solution, t, x, acceleration, torque, moment, file):
    turns, pressure = t / TURN - 1, -1e-5 / AREA * np.array([*map(gas, t, x)])
    shown = [("volume (cm³)", "pressure over that of the air (bar)", ("", 1e6 * (CLEARANCE - AREA * x), pressure))]
    names = "torque of the drive (N m)", "moment in the rod (N m)"
    for name, flexible, stiff in zip(names, (torque, moment), rigid(t), strict=True):
        shown.append(("turns", name, ("flexible rod", turns, flexible), ("rigid rod", turns, stiff, "k:")))
    panels(file, *shown)


main = main_of(__file__, run, compare, figure, every=3)
if __name__ == "__main__":
    main()
