r"""The woodpecker toy.

A sleeve with play holds on to a pole by friction, and a bird swings on it by a spring: the sleeve comes free, slides,
and holds again, the beak pecks the pole, and the bird comes down step by step. Glocker's model has three coordinates,
the height $y$ of the sleeve and two angles, three contacts with friction and one restitution, and a motion that
repeats itself after 0.146 s with five impacts, two of them of edges that were just closed. The model, in
`fem_mbs/benchmarks/impacts.py`, is a mass matrix, a spring and gaps that are linear in the coordinates; it also
shows how [an element](../../add_an_element.md) with contacts of its own is written.
"""

import numpy as np
from _run import draw_panels, main_of

import fem_mbs as mbs
from fem_mbs.benchmarks.impacts import (
    ARM,
    BEAK_BACK,
    BEAK_UP,
    BODY,
    GAP_0,
    HALF,
    HOLE,
    POLE,
    PoleContacts,
    swings,
    woodpecker,
)

PERIODS = 3


def run(step=1e-4):
    return (mbs.simulate(woodpecker(), 0.146 * PERIODS + 0.04, step),)


def compare(solution):
    """Impacts of the first period, and how fast it comes down."""
    t = np.array([own.t for own in solution.impulses("pole") if own.normal > 0])
    hits = t[np.append(True, np.diff(t) > 1e-4)]
    known = 0.07788, 0.08099, 0.08157, 0.11868, 0.12133
    numbers = {f"impact {k + 1} (s)": pair for k, pair in enumerate(zip(hits, known, strict=False))}
    times, heights = swings(solution)
    numbers["period (s)"] = np.diff(times)[-1], 0.14606
    numbers["way down in a period (mm)"] = -1e3 * np.diff(heights)[-1], 19.48
    numbers["largest angle of the sleeve (rad)"] = solution.position("toy")[:, 1].max(), GAP_0[1] / HALF
    lost, total = solution.contact_losses("pole"), solution.energy.total
    numbers["energy and losses (mJ)"] = 1e3 * (total + lost.impacts + lost.friction)[-1], 1e3 * total[0]
    return numbers


def pose(q):
    """Sleeve and bird as lines ``(n, 2)``."""
    y, sleeve, bird = q
    c, s = np.cos(sleeve), np.sin(sleeve)
    turn = np.array([[c, -s], [s, c]])
    box = np.array([(-HOLE, -HALF), (ARM, -HALF / 2), (ARM, HALF / 2), (-HOLE, HALF), (-HOLE, -HALF)]) @ turn.T
    hinge = np.array([ARM * c, ARM * s])
    c, s = np.cos(bird), np.sin(bird)
    own = np.array(
        [(0, 0), (BODY, -0.012), (BODY + 0.004, 0.0), (BODY - 0.002, BEAK_UP + 0.004), (-BEAK_BACK + BODY, BEAK_UP)]
    )
    body = hinge + own @ np.array([[c, -s], [s, c]]).T
    return box + (0, y), np.vstack([body, body[:1]]) + (0, y)


def figure(solution, file):
    q, v, t = solution.position("toy"), solution.velocity("toy"), solution.t

    def draw(axes):
        for name, k, color in (("sleeve", 1, "C1"), ("bird", 2, "C0")):
            axes[0].plot(t, q[:, k], color, label=name)
        axes[0].set(ylabel="angle (rad)")
        axes[1].plot(t, 1e3 * q[:, 0], "C2")
        axes[1].set(ylabel="height of the sleeve (mm)")
        axes[2].plot(q[:, 2], v[:, 2], lw=0.8)
        axes[2].set(xlabel="angle of the bird (rad)", ylabel="its rate (rad/s)")
        for k, (name, mark) in enumerate(zip(PoleContacts.contacts, "^so", strict=True)):
            own = [(1e3 * i.t, 1e6 * i.normal) for i in solution.impulses("pole") if i.point == k and i.normal > 0]
            axes[3].semilogy(*zip(*own, strict=True), mark, label=name)
        axes[3].set(xlabel="t (ms)", ylabel="impulse (mN ms)")
        for shift, k in enumerate(np.searchsorted(t, (0.0328, 0.0810, 0.13, 0.1786))):
            for line, color in zip(pose(q[k]), ("C1", "C0"), strict=True):
                axes[4].fill(1e3 * line[:, 0] + 70 * shift, 1e3 * line[:, 1], color, alpha=0.7)
            axes[4].axvspan(70 * shift - 1e3 * POLE, 70 * shift + 1e3 * POLE, color="0.6")
            axes[4].text(70 * shift + 22, 38, f"{1e3 * t[k]:.0f} ms", ha="center", fontsize=7)
        axes[4].set(xlabel="x (mm)", ylabel="height (mm)", aspect="equal", ylim=(-52, 52))

    draw_panels(file, draw, 2, 3, 4.2)


main = main_of(__file__, run, compare, figure)
if __name__ == "__main__":
    main()
