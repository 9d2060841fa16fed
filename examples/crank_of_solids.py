r"""A crank shaft of a mesh in a slider-crank.

The overhung crank of a compressor is a body of hexahedra, reduced to its journal, its pin and eight modes; rod and
piston are rigid. It is brought to 1500 rev/min against a gas that is compressed and expands again. What bends the
journal are the force of the rod on the pin and what web and pin themselves pull with as they turn: at a corner of the
journal, half way to the web, the stress that is recovered from the body is that of a beam.
"""

import numpy as np
from _run import main_of, panels
from _shapes import blocks

import fem_mbs as mbs
from fem_mbs.elements import (
    FlexibleBody,
    Interface,
    JointForce,
    PrismaticJoint,
    Reduction,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
    SpinUp,
)
from fem_mbs.elements.shapes import Box, Cylinder

RADIUS, ROD, PIN, SIDE, AREA = 0.05, 0.2, 0.025, 0.03, np.pi * 0.08**2 / 4
OMEGA, TURN, FULL, RHO = 157.08, 0.04, 0.13, 7850.0
CORNER = (SIDE / 2, SIDE / 2, -0.04)
DRIVE = SpinUp(OMEGA, duration=TURN)


def mesh():
    """Hexahedra: a journal and a pin, 30 mm square, and the web between them."""
    x = np.array([-20, -15, -5, 5, 15, 25, 35, 45, 55, 65, 70]) * 1e-3
    y = np.array([-20, -15, -5, 5, 15, 20]) * 1e-3
    z = np.array([-80, -70, -60, -50, -40, -30, -20, -10, 0, 10, 20, 30, 40]) * 1e-3

    def part(centres):
        a, b, c = centres.T
        inside = np.abs(b) < SIDE / 2
        journal, pin = inside & (np.abs(a) < SIDE / 2) & (c < 0), inside & (np.abs(a - RADIUS) < SIDE / 2) & (c > 0)
        return journal | pin | (np.abs(c) < 0.01)

    return blocks(x, y, z, part)


def reduced():
    ends = {
        "journal": Interface.rigid(lambda p: p[:, 2] < -0.0799),
        "pin": Interface.average(lambda p: p[:, 2] > 0.0101, point=(RADIUS, 0, PIN)),
    }
    return Reduction.solid(mesh(), 210e9, 0.3, RHO, ends, modes=8, damping=0.02)


def gas(t, x, speed=0):
    """Force on the piston: what is closed in at 1 bar as built, beyond it, is compressed and expands again."""
    return 1e5 * AREA * ((FULL / (FULL + x)) ** 1.4 - 1.0)


def build():
    model = mbs.Model("SE3")
    crank = model.add(FlexibleBody.place(model, reduced(), name="crank"))
    shaft = model.add(RevoluteJoint(model.ground, crank.node("journal"), (0, 0, 1), drive=DRIVE), name="shaft")
    rod = model.add_node((RADIUS - ROD / 2, 0, PIN), name="rod")
    piston = model.add_node((RADIUS - ROD, 0, PIN), name="piston")
    model.add(RigidBody(rod, 0.6, (1e-4, 2e-3, 2e-3), shape=Box((ROD, 0.02, 0.02))))
    model.add(RigidBody(piston, 0.8, (1e-3, 1e-3, 1e-3), shape=Cylinder(0.04, 0.05, axis=(1, 0, 0))))
    pin = model.add(SphericalJoint(crank.node("pin"), rod, point=(RADIUS, 0, PIN)), name="crank pin")
    model.add(RevoluteJoint(rod, piston, (0, 0, 1), point=(RADIUS - ROD, 0, PIN)), name="piston pin")
    slide = model.add(PrismaticJoint(model.ground, piston, (1, 0, 0)), name="cylinder")
    model.add(JointForce(slide, gas), name="gas")
    return model, crank, shaft, pin


def run():
    model, crank, shaft, pin = build()
    solution = mbs.simulate(model, 3 * TURN, TURN / 200)
    force = -solution.reaction(pin)[0]
    R = solution.frame(crank)[1]
    # on the crank, in its axes
    return solution, crank, np.vecmat(force, R), solution.stress(crank, CORNER), solution.largest_stress(crank)


def of_section(force):
    """Stress along the axis at the corner of the journal, of a force on the pin and of web and pin at full speed."""
    moment = np.cross((RADIUS, 0.0, PIN - CORNER[2]), force)
    for volume, x, z in ((0.09 * 0.04 * 0.02, 0.025, 0.0), (0.03 * SIDE**2, RADIUS, PIN)):
        moment = moment + np.cross((x, 0.0, z - CORNER[2]), (RHO * volume * OMEGA**2 * x, 0.0, 0.0))
    return force[:, 2] / SIDE**2 + 6 / SIDE**3 * (moment[:, 0] - moment[:, 1])


def compare(solution, crank, force, stress, largest):
    last = solution.t > 2 * TURN
    section, found = of_section(force[last]), stress[last, 2]
    ends = {"lowest": section.argmin(), "largest": section.argmax()}
    name = "{} stress along the journal at its corner (MPa)"
    return {name.format(which): (1e-6 * found[k], 1e-6 * section[k]) for which, k in ends.items()}


def figure(solution, crank, force, stress, largest, file):
    t, last = solution.t, solution.t > 2 * TURN
    forces = [(name, t, 1e-3 * force[:, k]) for k, name in enumerate(("along the web", "across it"))]
    stresses = (
        ("journal, recovered", t, 1e-6 * stress[:, 2]),
        ("of the section", t[last], 1e-6 * of_section(force[last]), "--"),
        ("largest von Mises", t, 1e-6 * largest.von_mises, ":"),
    )
    panels(file, ("t (s)", "force of the rod on the pin (kN)", *forces), ("t (s)", "stress (MPa)", *stresses))


main = main_of(__file__, run, compare, figure, every=4)
if __name__ == "__main__":
    main()
