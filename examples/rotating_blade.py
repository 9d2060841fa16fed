r"""A rotating blade of solids beside its beam.

An aluminium blade of 0.6 m, meshed by hexahedra, turns about an axis at its root, soft in the plane of rotation.
{py:class}`Reduction.solid <fem_mbs.elements.Reduction>` makes one body of 3 000 unknowns with six modes of it, and
`stiffening=True` adds what centrifugal stress does within the body. Frequencies rise over the speed as those of a
geometrically exact {py:class}`Beam <fem_mbs.elements.Beam>` do; without stiffening within, one body has a part of it
only, and says so. The solids are stiffer by 0.8 % at rest: the clamp keeps the wide blade from bending across. Then
both are spun up from rest, and the tip lags.
"""

import numpy as np
from _run import command_of, draw_panels
from _shapes import blocks

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection, FlexibleBody, Interface, Reduction, RevoluteJoint

LENGTH, THIN, WIDE, E, NU, RHO = 0.6, 0.004, 0.04, 70e9, 0.33, 2700.0
SPEEDS, SPEED, UNTIL = np.linspace(0.0, 100.0, 6), 60.0, 1.5


def mesh():
    """24 x 1 x 3 hexahedra, thin along y; displacements will be quadratic."""
    y, z = np.linspace(-THIN / 2, THIN / 2, 2), np.linspace(-WIDE / 2, WIDE / 2, 4)
    return blocks(np.linspace(0, LENGTH, 25), y, z)


def solids(stiffening):
    root = {"root": Interface.rigid(lambda p: p[:, 0] == 0.0)}
    tip = {"tip": lambda p: p[:, 0] == LENGTH}
    return Reduction.solid(mesh(), E, NU, RHO, root, modes=6, damping=0.01, recover=tip, stiffening=stiffening)


def with_solids(angle, body):
    model = mbs.Model("SE3")
    blade = model.add(FlexibleBody.place(model, body, name="blade"))
    model.add(RevoluteJoint(model.ground, blade.node("root"), (0, 0, 1), drive=angle))
    return model, blade


def with_beam(angle):
    model = mbs.Model("SE3")
    section = BeamSection.rectangle(THIN, WIDE, E=E, nu=NU, rho=RHO)
    blade = Beam.line(model, (0, 0, 0), (LENGTH, 0, 0), section, 12, order=2, y_axis=(0, 1, 0))
    model.add(RevoluteJoint(model.ground, blade.nodes[0], (0, 0, 1), drive=angle))
    return model, blade


def frequencies(make):
    """The lowest two in the plane and the lowest out of it at each speed, rad/s."""
    found = []
    for speed in SPEEDS:
        model, _ = make(lambda t, w=speed: w * t)
        state = mbs.steady_rotation(model, (0, 0, speed)).state(-1) if speed else None
        found.append(mbs.modes(model, 3, state).angular)
    return np.array(found)


def spin_up(t):
    """To the speed in 1 s."""
    s = min(t, 1.0)
    return SPEED * (0.5 * s**2 + (np.cos(2 * np.pi * s) - 1.0) / (4 * np.pi**2) + max(t - 1.0, 0.0))


def tip_lag(solution, tip):
    """How far the tip stays behind, in the axes of the root, over time."""
    angle = np.array([spin_up(t) for t in solution.t])
    return -tip[:, 0] * np.sin(angle) + tip[:, 1] * np.cos(angle)


def spun_up():
    body_model, body = with_solids(spin_up, solids(True))
    beam_model, beam = with_beam(spin_up)
    runs = [mbs.simulate(model, UNTIL, 2.5e-3) for model in (body_model, beam_model)]
    tips = runs[0].point(body, "tip").mean(axis=1), runs[1].position(beam.nodes[-1])
    return runs, [tip_lag(run, tip) for run, tip in zip(runs, tips, strict=True)]


def compare():
    body = solids(True)
    of_solids, of_beam = frequencies(lambda angle: with_solids(angle, body))[-1], frequencies(with_beam)[-1]
    pairs = enumerate(zip(of_solids, of_beam, strict=True), start=1)
    numbers = {f"frequency {k} at {SPEEDS[-1]:g} rad/s (rad/s)": pair for k, pair in pairs}
    _, (solid, beam) = spun_up()
    return numbers | {"largest lag of the tip (m)": (-solid.min(), -beam.min())}


def figures(folder):
    curves = [frequencies(lambda angle, own=own: with_solids(angle, own)) for own in (solids(True), solids(False))]
    beam = frequencies(with_beam)
    (run, _), lags = spun_up()

    def draw(panels):
        left, right = panels
        left.plot(SPEEDS, beam, "C0-")
        left.plot(SPEEDS, curves[0], "C1o", SPEEDS, curves[1], "C3x", fillstyle="none")
        for style, name in (("C0-", "beam"), ("C1o", "solids, stiffened"), ("C3x", "solids, without")):
            left.plot([], [], style, fillstyle="none", label=name)
        left.set(xlabel="speed (rad/s)", ylabel="frequency in axes that turn (rad/s)", ylim=(0, 850))
        left.legend(loc="upper left", ncols=3)
        right.plot(run.t, 1e3 * lags[1], "C0-", label="beam")
        right.plot(run.t, 1e3 * lags[0], "C1--", label="solids, stiffened")
        right.set(ylabel="tip in the axes of the root (mm)")

    draw_panels(f"{folder}/rotating_blade.png", draw, 1, 2, 5.0, 3.6)


def write(path):
    model, _ = with_solids(spin_up, solids(True))
    mbs.simulate(model, UNTIL, 2.5e-3).to_paraview(path, every=10)


main = command_of(__file__, compare, figures, write)
if __name__ == "__main__":
    main()
