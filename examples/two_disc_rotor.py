r"""A rotor with two discs on unequal bearings.

A steel shaft of 1.5 m with two discs, in bearings of 1 MN/m and 0.8 MN/m across: example 5.9.2 of Friswell, Penny,
Garvey, Lees, *Dynamics of Rotating Machines* (2010). Gyroscopic moments split the frequencies as it turns:
{py:func}`mbs.campbell` finds them, seen from the ground, and the speeds at which the unbalance of the discs meets one
of them; {py:func}`mbs.unbalance_response` has the orbits. Between two critical speeds that belong together, bearings
that are not alike make the discs go round against the rotation.
"""

import numpy as np
from _run import command_of, draw_panels

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection, Bearing, RigidBody

E, G, RHO, DIAMETER, LENGTH = 211e9, 81.2e9, 7810.0, 0.05, 1.5
SPEED = 4000 * 2 * np.pi / 60
PUBLISHED = (82.325, 86.864, 239.642, 287.250, 583.488, 806.887)
"""In rad/s at 4000 rev/min, by six cubic elements."""
UNBALANCE = {"first disc": 1e-4, "second disc": 1e-4}
"""In kg m."""


def rotor(model, elements):
    """Shaft and discs; the nodes of the shaft."""
    nu = E / (2 * G) - 1
    names = {elements: "first disc", 2 * elements: "second disc"}
    places = enumerate(np.linspace(0, LENGTH, 3 * elements + 1))
    nodes = [model.add_node((x, 0, 0), name=names.get(k, f"station {k}")) for k, x in places]
    shaft = BeamSection.circle(DIAMETER / 2, E=E, nu=nu, rho=RHO)
    model.add(Beam(nodes, shaft, order=3, y_axis=(0, 1, 0)), name="shaft")
    for place, outer in ((nodes[elements], 0.28), (nodes[2 * elements], 0.35)):
        mass = RHO * np.pi * 0.07 * (outer**2 - DIAMETER**2) / 4
        polar = mass * (outer**2 + DIAMETER**2) / 8
        across = polar / 2 + mass * 0.07**2 / 12
        model.add(RigidBody(place, mass, (polar, across, across)))
    return nodes


def build(elements=6):
    model = mbs.Model()
    nodes = rotor(model, elements)
    for end in (nodes[0], nodes[-1]):
        model.add(Bearing(model.ground, end, (1, 0, 0), (1e6, 0.8e6), across=(0, 1, 0)))
    return model


def bending(diagram):
    """Of the last speed, frequencies of whirl; the shaft also twists."""
    last = diagram.angular[-1]
    return np.sort(last[np.abs(diagram.whirl[-1]) > 0.05])


def compare():
    diagram = mbs.campbell(build(), np.linspace(0, SPEED, 5), count=8)
    pairs = zip(bending(diagram), PUBLISHED, strict=False)
    return {f"frequency {k} at 4000 rev/min (rad/s)": pair for k, pair in enumerate(pairs, start=1)}


def figures(folder):
    diagram = mbs.campbell(build(), np.linspace(0, SPEED, 9), count=6)
    speeds = np.linspace(40, 320, 141)
    response = mbs.unbalance_response(build(), speeds, UNBALANCE)

    def draw(panels):
        left, right = panels
        for k in range(diagram.angular.shape[1]):
            whirl = np.nanmean(diagram.whirl[:, k])
            style = "C0-" if whirl > 0.05 else "C1--" if whirl < -0.05 else "C2-."
            left.plot(diagram.speeds, diagram.angular[:, k], style)
        left.plot(diagram.speeds, diagram.speeds, "k:")
        left.set(xlabel="speed (rad/s)", ylabel="frequency from the ground (rad/s)")
        for name in UNBALANCE:
            right.semilogy(speeds, 1e3 * response.major(name), label=name)
        right.set(xlabel="speed (rad/s)", ylabel="orbit, larger half axis (mm)")
        right.legend(fontsize="small")

    draw_panels(f"{folder}/two_disc_rotor.png", draw, 1, 2, 5.0, 3.6)


def write(path):
    model = build()
    mbs.steady_rotation(model, (SPEED, 0, 0)).to_paraview(path)


main = command_of(__file__, compare, figures, write)
if __name__ == "__main__":
    main()
