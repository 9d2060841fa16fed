r"""A rotor with two discs in a flexible housing.

The shaft of the rotor with two discs turns in stiff bearings that are alike all round, in a housing of aluminium: a
floor and two posts, meshed by hexahedra and screwed down at its feet, reduced to its two bearing seats and six modes.
Posts are far softer across than along, which makes supports unequal: frequencies of whirl split and fall, and the rotor
moves along its axis on the post that has the thrust bearing. With twenty modes of the housing the lowest six are the
same to six digits.
"""

import numpy as np
from _run import command_of, draw_panels
from _shapes import blocks
from two_disc_rotor import LENGTH, rotor

import fem_mbs as mbs
from fem_mbs.elements import Bearing, FlexibleBody, Interface, Reduction

HEIGHT, POST, WIDE = 0.4, 0.03, 0.08
SPEEDS, STIFF = np.linspace(0.0, 420.0, 8), (1e8, 1e8)


def mesh():
    """Hexahedra of a floor and of two posts, whose tops are the seats of the bearings."""
    ends = LENGTH - POST / 2, LENGTH + POST / 2, LENGTH + 0.1
    x = np.array([-0.1, -POST / 2, POST / 2, *np.linspace(0.2, 1.3, 6), *ends])
    y = np.array([-0.2, -WIDE / 2, 0.0, WIDE / 2, 0.2])
    z = np.concatenate([[-HEIGHT - 0.04], np.linspace(-HEIGHT, -0.05, 4), [0.05]])

    def part(centres):
        a, b, c = centres.T
        post = (np.abs(b) < WIDE / 2) & (np.minimum(np.abs(a), np.abs(a - LENGTH)) < POST / 2)
        return post | (c < -HEIGHT)

    return blocks(x, y, z, part)


def housing(modes):
    """Its feet are the corners of the floor; seats are the blocks at the tops of the posts."""

    def seat(at):
        return Interface.average(lambda p: (np.abs(p[:, 0] - at) < POST) & (np.abs(p[:, 2]) < 0.051), point=(at, 0, 0))

    def under(p):
        return (p[:, 2] < -HEIGHT - 0.039) & (np.abs(p[:, 1]) > 0.19)

    ends = {"left": seat(0.0), "right": seat(LENGTH), "feet": Interface.rigid(under)}
    return Reduction.solid(mesh(), 70e9, 0.33, 2700.0, ends, modes=modes, damping=0.005)


def build(body=None, elements=6):
    """A rigid housing for none."""
    model = mbs.Model("SE3")
    nodes = rotor(model, elements)
    seats = (model.ground, model.ground)
    if body:
        held = model.add(FlexibleBody.place(model, body, name="housing"))
        model.fix(held.node("feet"))
        seats = held.node("left"), held.node("right")
    for seat, end in zip(seats, (nodes[0], nodes[-1]), strict=True):
        model.add(Bearing(seat, end, (1, 0, 0), (*STIFF, 0 if end is nodes[0] else 1e8, 0, 0)))
    return model, nodes


def diagram(body=None, speeds=SPEEDS):
    model, nodes = build(body)
    return mbs.campbell(model, speeds, turning=nodes, count=8)


def compare():
    few, many = (diagram(housing(modes), SPEEDS[[0, -1]]) for modes in (6, 20))
    pairs = zip(np.sort(few.angular[-1]), np.sort(many.angular[-1]), strict=False)
    return {f"frequency {k} at {SPEEDS[-1]:g} rad/s (rad/s)": pair for k, pair in enumerate(pairs, start=1)}


def figures(folder):
    curves = (("rigid housing", diagram()), ("flexible housing", diagram(housing(6))))

    def draw(panels):
        for style, kind in (("C0-", "forward"), ("C1--", "backward"), ("C2-.", "in a plane")):
            panels[0].plot([], [], style, label=kind)
        for panel, (name, found) in zip(panels, curves, strict=True):
            for k in range(found.angular.shape[1]):
                whirl = np.nanmean(found.whirl[:, k])
                style = "C0-" if whirl > 0.05 else "C1--" if whirl < -0.05 else "C2-."
                panel.plot(found.speeds, found.angular[:, k], style)
            panel.plot(found.speeds, found.speeds, "k:")
            panel.set(xlabel="speed (rad/s)", ylabel="frequency from the ground (rad/s)", title=name, ylim=(0, 900))

    draw_panels(f"{folder}/rotor_in_housing.png", draw, 1, 2, 5.0, 3.6)


def write(path):
    model, nodes = build(housing(6))
    mbs.steady_rotation(model, (SPEEDS[-1], 0, 0), turning=nodes).to_paraview(path)


main = command_of(__file__, compare, figures, write)
if __name__ == "__main__":
    main()
