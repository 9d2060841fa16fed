r"""A chain that is dropped on a floor.

A chain of 24 beads, each on a rope of its own to the next, hangs with its end on the floor and is let go. What has not
arrived yet falls freely, and its ropes are slack; each bead stops where it hits and lies beside the others
([Contact](../../contact.md)). When a length $s = gt^2/2$ has fallen, the floor carries the weight $\lambda g s$ of what
lies there, and stops $\lambda v^2 = 2\lambda g s$ of momentum a second: three times the weight that lies on it, until
all has fallen (Meriam, Kraige, *Engineering Mechanics: Dynamics*, 2012, ch. 4). Of beads it is so in the mean, from one
to the next: what the floor has given follows $\int 3\lambda g s\,dt = \lambda g^2t^3/2$ in steps.
"""

from itertools import pairwise

import numpy as np
from _run import draw_panels, main_of

import fem_mbs as mbs
from fem_mbs.elements import Ball, Contact, Plane, RigidBody, Rope, contacts_between

G, BEADS, APART, RADIUS, MASS, SLACK = 9.81, 24, 0.05, 0.007, 0.01, 1.01
END = np.sqrt(2 * APART * BEADS / G)
FLOOR = {"friction": 0.3}


def build():
    model = mbs.Model(gravity=(0, 0, -G))
    k = np.arange(BEADS)
    wide, angle = 0.02 * np.sqrt(k), np.pi * (3 - np.sqrt(5)) * k  # as seeds lie on a sunflower
    places = np.column_stack([wide * np.cos(angle), wide * np.sin(angle), RADIUS + APART * (k + 0.5)])
    nodes = [model.add_node(place, name=f"bead {k}") for k, place in enumerate(places)]
    inertia = [0.4 * MASS * RADIUS**2] * 3
    bodies = [model.add(RigidBody(node, MASS, inertia, shape=Ball(RADIUS))) for node in nodes]
    for k, node in enumerate(nodes):
        model.add(Contact(model.ground, node, Plane(side=0.3), Ball(RADIUS), **FLOOR), name=f"floor {k}")
    for a, b in pairwise(nodes):
        model.add(Rope(a, b, SLACK * float(np.linalg.norm(b.position - a.position))))
    model.add(contacts_between(bodies, **FLOOR))
    return model


def run(step=5e-3):
    return (mbs.simulate(build(), END + 0.1, step),)


def pushed(solution):
    """What the floor has given to the chain, ``(nt,)`` in N s: impulses, and forces by the trapezoidal rule."""
    floors = [part for part in solution.model.elements if part.contacts and part.name.startswith("floor")]
    force = sum(solution.contact_force(part)[:, 0, 2] for part in floors)
    given = np.append(0.0, np.cumsum(0.5 * (force[1:] + force[:-1]) * np.diff(solution.t)))
    hits = [(hit.t, hit.normal) for part in floors for hit in solution.impulses(part)]
    return given + [sum(size for t, size in hits if t <= now) for now in solution.t], hits


def law(t):
    """The same of a chain without gaps."""
    return 0.5 * MASS / APART * G**2 * np.minimum(t, END) ** 3 + MASS * BEADS * G * np.maximum(t - END, 0.0)


def compare(solution):
    given, hits = pushed(solution)
    heights = APART * (np.arange(BEADS) + 0.5)
    arrives, sizes = np.array(sorted(hits)).T
    half = int(np.abs(solution.t - END / np.sqrt(2)).argmin())
    parts = [part for part in solution.model.elements if part.contacts]
    return {
        "last bead arrives (s)": (arrives[-1], np.sqrt(2 * heights[-1] / G)),
        "largest impulse (N s)": (sizes.max(), MASS * np.sqrt(2 * G * heights[-1])),
        "impulses": (len(hits), BEADS),
        "given by the floor at half the length (N s)": (given[half], law(solution.t[half])),
        "given in all (N s)": (given[-1], law(solution.t[-1])),
        "largest depth (m)": (-min(solution.gap(part).min() for part in parts), np.nan),
    }


def figure(solution, file):
    given, _ = pushed(solution)
    places = np.array([solution.position(f"bead {k}") for k in range(BEADS)])

    def draw(axes):
        for share, x in ((0.0, 0.0), (0.5, 0.2), (0.8, 0.4), (1.2, 0.6)):
            k = int(np.abs(solution.t - share * END).argmin())
            axes[0].plot(x + places[:, k, 0], places[:, k, 2], "-o", ms=3, lw=0.6, label=f"{solution.t[k]:.3f} s")
        axes[0].axhline(0.0, color="k", lw=0.8)
        axes[0].set(aspect="equal", xlabel="x (m), one beside the other", ylabel="z (m)")
        axes[1].plot(solution.t, given, label="given by the floor")
        axes[1].plot(solution.t, law(solution.t), "k--", lw=0.8, label="three times the weight that lies on it")
        axes[1].set(ylabel="momentum (N s)")

    draw_panels(file, draw, 1, 2, 5.2, 4.2)


main = main_of(__file__, run, compare, figure)
if __name__ == "__main__":
    main()
