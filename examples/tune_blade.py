r"""A blade tuned away from a resonance.

A tapered blade of 1 m turns at 60 rad/s. Its lowest two frequencies must keep clear of what excites it: the first flap
mode at least 10 % above three, the second at least 10 % above nine times the speed, at the least mass. Heights at
root and tip are the parameters. {py:func}`mbs.sensitivities` of {py:func}`mbs.steady_rotation` has the blade as it
turns, stretched by its own centrifugal force, and `about` it the modes with exact derivatives: centrifugal stiffening
and the change of the shape are part of them. Differences need three analyses for each gradient.

One of the two bounds is met, here by the second mode: the frequency itself is what should come out.
"""

import time

import numpy as np
from _run import main_of, panels
from scipy.optimize import minimize

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection, RevoluteJoint

SPEED, LENGTH, WIDTH, MARGIN = 60.0, 1.0, 0.08, 1.1
ORDERS, GUESS = np.array([3.0, 9.0]), np.array([0.02, 0.02])


def build(root, tip, speed=SPEED):
    model = mbs.Model()
    ends = (BeamSection.rectangle(WIDTH, height, E=70e9, nu=0.33, rho=2700) for height in (root, tip))
    blade = Beam.line(model, (0.1, 0, 0), (0.1 + LENGTH, 0, 0), tuple(ends), 6, order=2, y_axis=(0, 1, 0), name="blade")
    model.add(RevoluteJoint(model.ground, blade.nodes[0], (0, 0, 1), point=(0, 0, 0), drive=lambda t: speed * t))
    return model


def flap(modes):
    """Angular frequencies of the two lowest modes out of the plane, over the speed."""
    out = np.abs(modes.shapes[:, :, 2]).max(axis=1) > np.abs(modes.shapes[:, :, 1]).max(axis=1)
    return modes.angular[out][:2] / SPEED


def turning(heights):
    """Orders of the two modes, and their derivatives by the heights."""
    names = dict(zip(("root", "tip"), heights, strict=True))
    blade = mbs.sensitivities(build, names, of=mbs.steady_rotation, angular_velocity=(0, 0, SPEED))
    modes = blade.about(mbs.modes, count=5)
    return flap(modes.solution), np.stack([*modes.of(flap).values()], axis=-1), blade.solution


def mass(heights):
    return 2700 * WIDTH * LENGTH * np.mean(heights)


def run():
    known, started = {}, time.perf_counter()

    def at(x):
        return known.setdefault(tuple(x), turning(GUESS * x))

    clear = {"type": "ineq", "fun": lambda x: at(x)[0] / (MARGIN * ORDERS) - 1.0,
             "jac": lambda x: at(x)[1] * GUESS / (MARGIN * ORDERS)[:, None]}  # fmt: skip
    gradient = 2700 * WIDTH * LENGTH * GUESS / 2
    found = minimize(lambda x: mass(GUESS * x), np.ones(2), jac=lambda x: gradient, constraints=clear,
                     bounds=[(0.1, 3.0)] * 2, method="SLSQP", options={"ftol": 1e-10})  # fmt: skip
    print(f"{len(known)} analyses with derivatives, {time.perf_counter() - started:.1f} s: {found.message}")
    heights = GUESS * found.x
    return at(found.x)[2], heights, at(found.x)[0]


def compare(solution, heights, orders):
    rows = {f"order of flap mode {k + 1}": (order, MARGIN * ORDERS[k]) for k, order in enumerate(orders)}
    return {**rows, "height at the root (mm)": (1e3 * heights[0], np.nan), "mass (kg)": (mass(heights), np.nan)}


def figure(solution, heights, orders, file):
    speeds = np.linspace(0, 80, 5)
    curves = []
    for name, own in (("guess", GUESS), ("tuned", heights)):
        at = [mbs.steady_rotation(build(*own, w), (0, 0, w)).state(-1) for w in speeds]
        rates = np.array(
            [SPEED * flap(mbs.modes(build(*own, w), 5, state)) for w, state in zip(speeds, at, strict=True)]
        )
        curves += [(f"{name} {k + 1}", speeds, rates[:, k], "C0" if name == "guess" else "C1") for k in range(2)]
    lines = [("", speeds, order * speeds, "k:") for order in ORDERS]
    x = np.linspace(0, 1, 2)
    shapes = [(name, x, 1e3 * np.array(own)) for name, own in (("guess", GUESS), ("tuned", heights))]
    panels(
        file, ("speed (rad/s)", "flap frequency (rad/s)", *curves, *lines), ("along the blade", "height (mm)", *shapes)
    )


main = main_of(__file__, run, compare, figure)
if __name__ == "__main__":
    main()
