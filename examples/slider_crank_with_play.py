r"""A slider-crank with play in its guide.

The slider is a block that is 1 mm away from its guide on either side, so that it rattles: it knocks on the guide with
its corners, turns within the play, and leans on one side until the crank throws it over. Data of Flores, Leine,
Glocker (Multibody System Dynamics 23, 2010): a crank of 153 mm, a rod of 306 mm, 0.4 of the speed comes back, little
friction. The first knock, after 2.691 ms, follows from the equations of motion to nine digits; what comes later is
compared with two other schemes, which agree with each other. At its dead centre the slip of the slider reverses while
it leans on the guide, and no friction could hold it there. The model is in `fem_mbs/benchmarks/impacts.py`;
[Contact](../../contact.md) has the laws.
"""

import numpy as np
from _run import main_of, panels

import fem_mbs as mbs
from fem_mbs.benchmarks.case import rows
from fem_mbs.benchmarks.impacts import slider_crank

TIMES, TURNS, SPEEDS = (0.01, 0.02, 0.03, 0.04), (0.15087, 0.25677, 0.40595, 0.62629), (67.48, 71.69, 127.85, 113.41)
CORNERS = [f"corner {k + 1}" for k in range(4)]


def run(step=2e-5):
    return (mbs.simulate(slider_crank(), 0.04, step),)


def compare(solution):
    """Turns and speeds of the crank, and the energy with what was lost."""
    k = rows(solution.t, TIMES)
    turns, speeds = solution.angle("shaft")[k] / (2 * np.pi), solution.coordinate_rate("shaft")[k]
    numbers = {f"turns at {1e3 * t:g} ms": pair for t, *pair in zip(TIMES, turns, TURNS, strict=True)}
    numbers |= {f"speed at {1e3 * t:g} ms (rad/s)": pair for t, *pair in zip(TIMES, speeds, SPEEDS, strict=True)}
    lost = sum(sum(solution.contact_losses(corner)) for corner in CORNERS)
    total = solution.energy.total
    return numbers | {"energy and losses (J)": (total[-1] + lost[-1], total[0])}


def figure(solution, file):
    t = 1e3 * solution.t
    gaps = [(corner, t, 1e3 * solution.gap(corner)[:, 0]) for corner in CORNERS[:2]]
    speed = ("", t, solution.coordinate_rate("shaft")), ("two other schemes", 1e3 * np.array(TIMES), SPEEDS, "ko")
    angle = ("", t, 1e3 * solution.rotation_vector("slider")[:, 1])
    panels(
        file,
        ("time (ms)", "gap above (mm)", *gaps),
        ("time (ms)", "angle of the slider (mrad)", angle),
        ("time (ms)", "speed of the crank (rad/s)", *speed),
    )


main = main_of(__file__, run, compare, figure, every=10)
if __name__ == "__main__":
    main()
