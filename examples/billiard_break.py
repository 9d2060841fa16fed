r"""The break at pool.

The white ball hits the rack of fifteen with 8 m/s. Balls are rigid, 0.95 of the speed comes back where they meet, and
Coulomb's friction acts between them, on the cloth and at the cushions: balls slide, spin and begin to roll by
themselves. There are 200 pairs that may touch; some dozens of impacts happen within the first steps, when the wave of
the hit runs through the rack, whose balls are 0.1 mm apart, and are located one after the other
([Contact](../../contact.md)). Balls never enter each other, all momentum that the balls lose has gone into the table,
and the energy that is missing is that of impacts and of friction.
"""

from itertools import combinations

import numpy as np
from _run import draw_panels, main_of

import fem_mbs as mbs
from fem_mbs.elements import Ball, Contact, Plane, RigidBody

G, RADIUS, MASS, SPEED = 9.81, 0.0286, 0.17, 8.0
LENGTH, WIDTH, APART = 2.54, 1.27, 1e-4
BALLS = {"restitution": 0.95, "friction": 0.06}
CUSHION = {"restitution": 0.75, "friction": 0.14}
CLOTH = {"restitution": 0.5, "friction": 0.2}


def rack():
    """Places of fifteen balls in a triangle, the white one first."""
    d = 2 * RADIUS + APART
    places = [(-0.25 * LENGTH, 0.004)]
    for row in range(5):
        places += [(0.25 * LENGTH + row * d * np.sqrt(0.75), (k - row / 2) * d) for k in range(row + 1)]
    return places


def build():
    model = mbs.Model(gravity=(0, 0, -G))
    balls = [model.add_node((x, y, RADIUS), name=f"ball {k}") for k, (x, y) in enumerate(rack())]
    balls[0].velocity = (SPEED, 0, 0)
    cushions = [Plane((-s, 0, 0), (s * LENGTH / 2, 0, 0), side=0.06) for s in (-1, 1)]
    cushions += [Plane((0, -s, 0), (0, s * WIDTH / 2, 0), side=0.06) for s in (-1, 1)]
    for ball in balls:
        model.add(RigidBody(ball, MASS, [0.4 * MASS * RADIUS**2] * 3, shape=Ball(RADIUS)))
        model.add(Contact(model.ground, ball, Plane(side=LENGTH), Ball(RADIUS), **CLOTH))
        for cushion in cushions:
            model.add(Contact(model.ground, ball, cushion, Ball(RADIUS), **CUSHION))
    for a, b in combinations(balls, 2):
        model.add(Contact(a, b, Ball(RADIUS), Ball(RADIUS), **BALLS))
    return model


def run(step=5e-3):
    solution = mbs.simulate(build(), 1.5, step)
    return solution, [part for part in solution.model.elements if part.contacts]


def compare(solution, contacts):
    """What must hold: no depth, and energy and losses are what the white ball had."""
    total = solution.energy.total
    lost = sum(solution.contact_losses(part).impacts + solution.contact_losses(part).friction for part in contacts)
    depth = -min(solution.gap(part).min() for part in contacts)
    hits = sum(len(solution.impulses(part)) for part in contacts)
    moving = sum(np.linalg.norm(solution.velocity(f"ball {k}")[-1]) > 0.05 for k in range(16))
    return {
        "energy and losses over the first": ((total + lost)[-1] / (total[0] + lost[0]), 1.0),
        "largest depth over the radius": (max(depth, 0.0) / RADIUS, 0.0),
        "energy that is left": (total[-1] / total[0], np.nan),
        "impulses": (hits, np.nan),
        "balls that move": (moving, np.nan),
    }


def figure(solution, contacts, file):
    def draw(axes):
        for panel, t in zip(axes, (0.0, 0.25, 0.5, 1.5), strict=True):
            k = int(np.abs(solution.t - t).argmin())
            for ball in range(16):
                path = solution.position(f"ball {ball}")[: k + 1, :2]
                color = "0.9" if ball == 0 else f"C{(ball - 1) % 10}"
                panel.plot(*path.T, color=color if ball else "0.6", lw=0.6)
                panel.add_patch(Circle(path[-1], RADIUS, facecolor=color, edgecolor="0.2", lw=0.5, zorder=3))
            panel.add_patch(Rectangle((-LENGTH / 2, -WIDTH / 2), LENGTH, WIDTH, facecolor="#e4f0e4", edgecolor="0.3"))
            panel.set(title=f"{t:g} s", aspect="equal", xlabel="x (m)", ylabel="y (m)")

    from matplotlib.patches import Circle, Rectangle

    draw_panels(file, draw, 2, 2, 5.0, 2.8)


main = main_of(__file__, run, compare, figure, every=2)
if __name__ == "__main__":
    main()
