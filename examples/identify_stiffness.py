r"""The stiffness of a drive from a measured swing.

A robot arm, an aluminium tube of 1 m with 3 kg at its end, is held by a drive. Set free in the horizontal, it sags and
swings; a camera records the height of its end, 100 times a second. How stiff is the drive, and how much does it damp?
`scipy.optimize.least_squares` turns the two until a simulation passes through the record. Its derivatives are
differences of runs, which {py:func}`mbs.sweep` makes side by side where it gets an executor.

The record is one of a finer model with known values, with noise of 0.5 mm added: the values have to come back within
what the noise leaves open, $\sigma = \sqrt{\mathrm{diag}(J^\top J)^{-1}}$ for residuals in units of their noise.
"""

import numpy as np
from _run import main_of, panels
from scipy.optimize import least_squares

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection, JointSpring, PointMass, RevoluteJoint

TRUE = {"stiffness of the drive (N m/rad)": 900.0, "damping of the drive (N m s/rad)": 12.0}
GUESS = np.array([2000.0, 5.0])
NOISE, T_END, STEP = 5e-4, 0.4, 0.005  # m, s, s
TIMES = np.arange(0.01, T_END, 0.01)


def build(stiffness, damping, elements=1):
    model = mbs.Model(gravity=(0, 0, -9.81))
    section = BeamSection.tube(outer_radius=0.02, inner_radius=0.0185, E=70e9, nu=0.33, rho=2700)
    arm = Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements, order=2, name="arm")
    drive = model.add(RevoluteJoint(model.ground, arm.nodes[0], axis=(0, 1, 0)), name="drive")
    model.add(JointSpring(drive, stiffness, damping))
    model.add(PointMass(arm.nodes[-1], 3.0))
    return model, arm.nodes[-1]


def record(stiffness, damping, elements=1, step=STEP):
    """Height of the end of the arm in m at the times of the camera."""
    model, end = build(stiffness, damping, elements)
    return {"height": mbs.simulate(model, T_END, step, times=TIMES).position(end)[:, 2]}


def identify(measured, executor=None):
    """The two values with their standard deviations, relative, and the mean square of the residuals."""

    def residuals(points):
        """A row for each row of logarithms of the values over their guess."""
        values = GUESS * np.exp(np.atleast_2d(points))
        rows = mbs.sweep(record, [{"stiffness": k, "damping": c} for k, c in values], executor)
        return (np.array([row["height"] for row in rows]) - measured) / NOISE

    def jacobian(x, d=1e-4):
        here, *there = residuals(np.vstack([x, x + d * np.eye(2)]))
        return np.transpose((there - here) / d)

    fit = least_squares(lambda x: residuals(x)[0], np.zeros(2), jacobian, xtol=1e-5)
    deviations = np.sqrt(np.diag(np.linalg.inv(fit.jac.T @ fit.jac)))
    return GUESS * np.exp(fit.x), deviations, 2 * fit.cost / (len(measured) - 2)


def run(executor=None):
    exact = record(*TRUE.values(), elements=2, step=STEP / 4)["height"]
    measured = exact + NOISE * np.random.default_rng(1).normal(size=len(exact))
    found, deviations, square = identify(measured, executor)
    return mbs.simulate(build(*found)[0], T_END, STEP), measured, found, deviations, square


def compare(solution, measured, found, deviations, square):
    numbers = {name: (own, true) for (name, true), own in zip(TRUE.items(), found, strict=True)}
    off = np.log(found / [*TRUE.values()]) / deviations
    numbers |= {f"error of the {name.split()[0]} / its σ": (own, 0.0) for name, own in zip(TRUE, off, strict=True)}
    return {**numbers, "mean square of the residuals": (square, 1.0)}


def figure(solution, measured, found, deviations, square, file):
    guess, identified = (record(*values)["height"] for values in (GUESS, found))
    heights = ("measured", TIMES, measured, "k."), ("guess", TIMES, guess, ":"), ("identified", TIMES, identified)
    left = ("", TIMES, 1e3 * (measured - identified), "k.")
    panels(file, ("time (s)", "height of the end (m)", *heights), ("time (s)", "measured - identified (mm)", left))


main = main_of(__file__, run, compare, figure)
if __name__ == "__main__":
    main()
