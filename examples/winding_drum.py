r"""A cable that winds around a drum.

A cable of 6 mm radius hangs down from the side of a drum, held by it at its upper end, with 5 kg at the lower one; the
drum turns by $\varphi$ = 5.5 rad, from equilibrium to equilibrium ([Statics](../../statics.md)). Each of 39 nodes may
touch the drum, as thick as the cable is ([Contact](../../contact.md)), and does so as the cable is laid down.

Without friction the cable is an elastica that is pressed against a circle, along which $T + M^2/(2EI) - \rho A g z$ is
the same everywhere (Love, *A Treatise on the Mathematical Theory of Elasticity*, 1927, ch. 19). Where it lies on the
drum its curvature is $1/(R + r)$, so that its tension is less than the weight below by $EI/(2(R + r)^2)$, and the drum
presses it by $T/(R + r)$ per length; where it bends to leave the drum, it is pressed at one point. With friction it is
laid under more than that and keeps it, as each node sticks where it was laid down: what that is depends on where the
nodes are, by 2 %.
"""

import numpy as np
from _run import draw_panels, main_of

import fem_mbs as mbs
from fem_mbs.elements import Ball, Beam, BeamSection, Contact, Cylinder, FixedJoint, RevoluteJoint, RigidBody

G, RADIUS, THICK, LENGTH, LOAD, TURN = 9.81, 0.15, 0.006, 1.2, 5.0, 5.5
E, DENSITY, ELEMENTS = 4e8, 1200.0, 40
AREA, EI = np.pi * THICK**2, E * np.pi * THICK**4 / 4


def build(friction):
    model = mbs.Model(gravity=(0, 0, -G))
    drum, barrel = model.add_node((0, 0, 0), name="drum"), Cylinder(RADIUS, 0.1, (0, 1, 0))
    model.add(RigidBody(drum, 8.0, (0.09, 0.09, 0.09), shape=barrel))
    model.add(RevoluteJoint(model.ground, drum, (0, -1, 0), drive=lambda t: t))
    side, section = RADIUS + THICK, BeamSection.circle(THICK, E, 0.3, DENSITY)
    cable = Beam.line(model, (side, 0, 0), (side, 0, -LENGTH), section, ELEMENTS, name="cable")
    model.add(FixedJoint(drum, cable.nodes[0]))
    model.add(RigidBody(cable.nodes[-1], LOAD, (0.01, 0.01, 0.01), shape=Ball(0.05)), name="weight")
    for node in cable.nodes[1:-1]:
        model.add(Contact(drum, node, barrel, Ball(THICK), friction=friction))
    return model


def run():
    return [mbs.statics(build(friction), TURN, ramp=False) for friction in (0.3, 0.0)]


def state_of(solution, k=-1):
    """Tensions of the elements, heights of their middles, and the pressures of all nodes but the first and last."""
    contacts = [part for part in solution.model.elements if part.contacts]
    pressures = np.array([np.linalg.norm(solution.contact_force(part)[k, 0]) for part in contacts])
    heights = np.array([solution.position(f"cable[{i}]")[k, 2] for i in range(ELEMENTS + 1)])
    return solution.section_forces("cable")[k, :, 0], 0.5 * (heights[1:] + heights[:-1]), pressures


def compare(sticks, slides):
    """Tension and pressure in the middle of what is wound, and how far the weight was lifted."""
    tension, height, pressure = state_of(slides)
    middle, side = slice(8, 16), RADIUS + THICK
    below = LOAD * G + DENSITY * AREA * G * (height - slides.position("cable[40]")[-1, 2])
    stuck, _, _ = state_of(sticks)
    lifted = slides.position("cable[40]")[-1, 2] - slides.position("cable[40]")[0, 2]
    return {
        "tension on the drum, no friction (N)": (tension[middle].mean(), (below - EI / (2 * side**2))[middle].mean()),
        "pressure per length, no friction (N/m)": (
            pressure[middle].mean() / (LENGTH / ELEMENTS),
            tension[middle].mean() / side,
        ),
        "tension on the drum, friction 0.3 (N)": (stuck[middle].mean(), np.nan),
        "the weight was lifted (m)": (lifted, side * TURN),
        "nodes on the drum": (np.count_nonzero(pressure), np.nan),
    }


def figure(sticks, slides, file):
    length, arc = LENGTH / ELEMENTS, (np.arange(ELEMENTS) + 0.5) * LENGTH / ELEMENTS
    around = np.linspace(0, 2 * np.pi, 200)

    def draw(axes):
        axes[0].fill(RADIUS * np.cos(around), RADIUS * np.sin(around), color="0.85")
        for t in (0.0, 1.8, 3.6, TURN):
            k = int(np.abs(sticks.t - t).argmin())
            line = np.array([sticks.position(f"cable[{i}]")[k] for i in range(ELEMENTS + 1)])
            axes[0].plot(line[:, 0], line[:, 2], label=f"{t:g} rad")
            axes[0].plot(*line[-1, ::2], "ko", ms=7)
        axes[0].set(aspect="equal", xlabel="x (m)", ylabel="z (m)")
        axes[0].legend(loc="upper left", bbox_to_anchor=(1, 1))
        for name, own in (("friction 0.3", sticks), ("none", slides)):
            tension, _, pressure = state_of(own)
            axes[1].plot(arc, tension, label=name)
            axes[2].plot(arc[:-1] + 0.5 * length, pressure / length, label=name)
        axes[1].set(xlabel="along the cable (m)", ylabel="tension (N)")
        axes[2].set(xlabel="along the cable (m)", ylabel="pressure of the drum (N/m)")

    draw_panels(file, draw, 1, 3, 4.2, 4.2)


main = main_of(__file__, run, compare, figure)
if __name__ == "__main__":
    main()
