r"""A block that rocks.

A block of 0.4 m by 1.2 m, leant over by 0.2 rad, is let go on a floor: it turns about one corner until it stands
upright, hits with the other, and goes on about that. Housner (Bulletin of the Seismological Society of America 53,
1963) found what an impact without rebound leaves of the spin of a slender block whose corners are $\alpha$ off its
mass centre,

$$\frac{\omega^+}{\omega^-} = 1 - \tfrac32\sin^2\alpha = 0.85 ,$$

so that each swing is shorter than the one before. Nothing of that is given to the model: it has a box, a plane, no
restitution and enough friction ([Contact](../../contact.md)). Where the block hits, four corners touch at once, and
two let go.
"""

import numpy as np
from _run import main_of, panels

import fem_mbs as mbs
from fem_mbs.benchmarks.impacts import HALF_HEIGHT, HALF_WIDTH, UPRIGHT, rocking_block, upright

TURNS = 0.2, 0.123493438, 0.082884166, 0.057335497  # of the exact equations


def run(step=0.005):
    return (mbs.simulate(rocking_block(), 2.2, step),)


def compare(solution):
    """Times upright, the share of the spin that is left, and how far it leans next."""
    found, angle = upright(solution), solution.rotation_vector("block")[:, 1]
    spin = solution.angular_velocity("block")[:, 1]
    before = np.searchsorted(solution.t, found[0]) - 1
    left = 1 - 1.5 * HALF_WIDTH**2 / (HALF_WIDTH**2 + HALF_HEIGHT**2)
    numbers = {f"upright {k + 1} (s)": pair for k, pair in enumerate(zip(found, UPRIGHT, strict=False))}
    numbers["spin that an impact leaves"] = spin[before + 1] / spin[before], left
    for k, (a, b) in enumerate(zip(found[:-1], found[1:], strict=True)):
        leans = np.abs(angle[(solution.t > a) & (solution.t < b)]).max()
        numbers[f"leans after {k + 1} (rad)"] = leans, TURNS[k + 1] if k + 1 < len(TURNS) else np.nan
    lost, total = solution.contact_losses("floor"), solution.energy.total
    numbers["energy less what impacts took (J)"] = (total + lost.impacts + lost.friction)[-1], total[0]
    return numbers


def figure(solution, file):
    t, lost = solution.t, solution.contact_losses("floor")
    angles = ("", t, solution.rotation_vector("block")[:, 1]), ("upright, exact", UPRIGHT, np.zeros(4), "ko")
    energies = ("of the block", t, solution.energy.total), ("taken by impacts", t, lost.impacts)
    forces = [
        (name, t, solution.contact_force("floor")[:, :, k].sum(axis=1)) for k, name in ((2, "upwards"), (0, "along"))
    ]
    panels(
        file,
        ("time (s)", "angle (rad)", *angles),
        ("time (s)", "force of the floor (N)", *forces),
        ("time (s)", "energy (J)", *energies),
    )


main = main_of(__file__, run, compare, figure)
if __name__ == "__main__":
    main()
