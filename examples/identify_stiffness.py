r"""The stiffnesses of a robot's drives from a measured swing.

A robot of two aluminium tubes with 3 kg at its end is held by two drives. Set free in the horizontal, it sags and
swings; a camera records the height of its end and of its elbow, 100 times a second. How stiff are the drives, and how
much do they damp? {py:func}`mbs.fit` turns the four numbers until a simulation passes through the record, with
Jacobians that follow the run.

The record is one of a finer model with known values, with noise of 0.5 mm added: the values have to come back within
what the noise leaves open, $\sigma = \sqrt{\mathrm{diag}(J^\top J)^{-1}}$ for residuals in units of their noise.
"""

import time

import numpy as np
from _run import main_of, panels

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection, JointSpring, PointMass, RevoluteJoint

TRUE = {"shoulder": 900.0, "elbow": 400.0, "shoulder_damping": 12.0, "elbow_damping": 4.0}
"""In N m/rad and N m s/rad."""
GUESS = {"shoulder": 1500.0, "elbow": 600.0, "shoulder_damping": 6.0, "elbow_damping": 2.0}
NOISE, T_END, STEP = 5e-4, 0.4, 0.005  # m, s, s
TIMES = np.arange(0.01, T_END, 0.01)


def build(shoulder, elbow, shoulder_damping, elbow_damping, elements=1):
    model = mbs.Model(gravity=(0, 0, -9.81))
    section = BeamSection.tube(outer_radius=0.02, inner_radius=0.0185, E=70e9, nu=0.33, rho=2700)
    before, drives = model.ground, ((shoulder, shoulder_damping), (elbow, elbow_damping))
    for k, (stiffness, damping) in enumerate(drives):
        arm = Beam.line(model, (0.5 * k, 0, 0), (0.5 * k + 0.5, 0, 0), section, elements, order=2, name=f"arm {k + 1}")
        drive = model.add(RevoluteJoint(before, arm.nodes[0], axis=(0, 1, 0)), name=f"drive {k + 1}")
        model.add(JointSpring(drive, stiffness, damping))
        before = arm.nodes[-1]
    model.add(PointMass(before, 3.0))
    return model


def heights(solution):
    """Of elbow and end in m, at the steps of a run."""
    return np.stack([solution.position(solution.model[f"arm {k}"].nodes[-1])[:, 2] for k in (1, 2)], axis=1)


def run():
    exact = heights(mbs.simulate(build(**TRUE, elements=2), T_END, STEP / 4, times=TIMES))
    measured = exact + NOISE * np.random.default_rng(1).normal(size=exact.shape)
    started = time.perf_counter()
    found = mbs.fit(build, GUESS, mbs.Misfit(heights, TIMES, measured, NOISE), T_END, STEP)
    print(found, f"{found.evaluations} runs with derivatives, {time.perf_counter() - started:.1f} s", sep="\n")
    return found.solution, measured, found


def compare(solution, measured, found):
    numbers = {name: (found.parameters[name], true) for name, true in TRUE.items()}
    off = (found.values - [*TRUE.values()]) / found.deviations
    numbers |= {f"error of {name} / its σ": (own, 0.0) for name, own in zip(TRUE, off, strict=True)}
    return {**numbers, "mean square of the residuals": (2 * found.cost / (measured.size - len(TRUE)), 1.0)}


def figure(solution, measured, found, file):
    guess, own = (
        heights(mbs.simulate(build(**values), T_END, STEP, times=TIMES)) for values in (GUESS, found.parameters)
    )
    curves = ("measured", TIMES, measured, "k."), ("guess", TIMES, guess, ":"), ("identified", TIMES, own)
    left = ("", TIMES, 1e3 * (measured - own), "k.")
    panels(file, ("time (s)", "height of elbow and end (m)", *curves), ("time (s)", "measured - identified (mm)", left))


main = main_of(__file__, run, compare, figure)
if __name__ == "__main__":
    main()
