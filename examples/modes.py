r"""Modes of a frame and of a turning blade.

**A cantilever**, slender, bends with Euler's $\omega_k = \beta_k^2\sqrt{EI/\mu L^4}$, $\beta_1 = 1.8751$; the errors of
the mesh are of second order.

**A frame** of two posts, a girder between hinges and a brace between a hinge and a ball joint.

**A blade that turns** about the vertical through its root. Centrifugal forces stiffen it: out of the plane of rotation
its frequencies grow with the speed as Hodges and Rutkowski computed (*AIAA Journal* 19, 1981).

| part | data |
|---|---|
| cantilever | $EI = 100\ \mathrm{N\,m^2}$, $\mu = 1$ kg/m, $L = 1$ m, 20 elements |
| frame | steel tubes of 60 mm by 3 mm, 3 m wide, 3 m high, 16 elements each |
| blade | aluminium, 1 m by 60 mm by 6 mm, 30 elements |

In the figure above, the first three modes of the frame; below, frequencies of the blade in the rotating frame over its
speed, and what the mesh does to the cantilever.

`python examples/modes.py` prints the comparison, `--study` the modes of the frame as well; `--plot` and `--paraview`
write into `out/`.
"""

from __future__ import annotations

import numpy as np
from _run import command_of

import fem_mbs as mbs
from fem_mbs.benchmarks import vibrations
from fem_mbs.benchmarks.vibrations import HODGES
from fem_mbs.elements import Beam, BeamSection, RevoluteJoint, SphericalJoint

EULER = np.square(vibrations.EULER["cantilever"])
BLADE = BeamSection.rectangle(width=0.06, height=0.006, E=70e9, nu=0.3, rho=2700)
UNIT = np.sqrt(BLADE.stiffness[4, 4] / BLADE.mass)


def cantilever(elements=20):
    """The first three frequencies over those of Euler's beam."""
    model = mbs.Model()
    section = BeamSection(EA=1e9, GA=1e9, GJ=100, EI=100, mass=1, inertia=(2e-7, 1e-7, 1e-7))
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements)
    model.fix(beam.nodes[0])
    return mbs.modes(model, 6).angular[::2] / 10 / EULER  # each mode twice, in two planes


def frame(elements=16):
    model = mbs.Model()
    tube = BeamSection.tube(0.03, 0.027, E=210e9, nu=0.3, rho=7850)
    corners = {"left": (0, 0, 0), "top left": (0, 0, 3), "top right": (3, 0, 3), "right": (3, 0, 0)}
    left = Beam.line(model, corners["left"], corners["top left"], tube, elements)
    right = Beam.line(model, corners["right"], corners["top right"], tube, elements)
    girder = Beam.line(model, corners["top left"], corners["top right"], tube, elements)
    brace = Beam.line(model, corners["left"], corners["top right"], tube, elements)
    for post in (left, right):
        model.fix(post.nodes[0])
    for node, end in ((left.nodes[-1], girder.nodes[0]), (right.nodes[-1], girder.nodes[-1])):
        model.add(RevoluteJoint(node, end, axis=(0, 1, 0)))
    model.add(RevoluteJoint(left.nodes[0], brace.nodes[0], axis=(0, 1, 0)))
    model.add(SphericalJoint(right.nodes[-1], brace.nodes[-1]))
    return model, (left, right, girder, brace)


def blade(spin, elements=30):
    """The blade and its state of steady rotation with ``spin`` in rad/s."""
    model = mbs.Model(group="SE3")
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), BLADE, elements, y_axis=(0, 1, 0))
    model.add(RevoluteJoint(model.ground, beam.nodes[0], axis=(0, 0, 1), drive=lambda t: spin * t))
    return model, beam, mbs.steady_rotation(model, (0, 0, spin)).state(-1)


def flapping(speed, count=2):
    """Frequencies out of the plane of rotation, and all others, over ``UNIT``; ``speed`` likewise."""
    model, beam, state = blade(speed * UNIT)
    modes = mbs.modes(model, 6, state)
    tip, turn = np.abs(modes.displacement(beam.nodes[-1])), np.abs(modes.rotation_vector(beam.nodes[-1]))
    up = (tip[:, 2] > 10 * tip[:, 1]) & (turn[:, 1] > turn[:, 0])
    return modes.angular[up][:count] / UNIT, modes.angular[~up] / UNIT


def compare():
    """Each number as computed and as in its source."""
    names = ("first", "second", "third")
    numbers = {
        f"cantilever, {name} frequency over Euler's": (f, 1.0) for name, f in zip(names, cantilever(), strict=True)
    }
    for speed, references in HODGES.items():
        for name, computed, reference in zip(names, flapping(speed)[0], references, strict=False):
            numbers[f"blade at speed {speed}, {name} frequency"] = computed, reference
    return numbers


def draw_shapes(panels):
    model, beams = frame()
    modes = mbs.modes(model, 3)
    for k, panel in enumerate(panels):
        largest = np.abs(modes.shapes[k, :, :3]).max()
        swing = modes.animation(k, amplitude=0.7 / largest, frames=4)  # step 1 is a quarter of a period
        for beam in beams:
            for step, style in ((0, {"color": "0.7", "lw": 1}), (1, {"color": f"C{k}", "lw": 2})):
                x, y, z = np.transpose([swing.position(node)[step] for node in beam.nodes])
                panel.plot(x + 0.6 * y, z + 0.3 * y, **style)
        panel.set(title=f"{modes.frequencies[k]:.2f} Hz", aspect="equal")
        panel.axis("off")


def figures(folder):
    import matplotlib.pyplot as plt

    fig = plt.figure(figsize=(12, 6.6), layout="constrained")
    upper, lower = fig.subfigures(2, 1, height_ratios=(0.8, 1))
    draw_shapes(upper.subplots(1, 3))
    fan, order = lower.subplots(1, 2)
    speeds = np.linspace(0, 12, 13)
    found = [flapping(speed) for speed in speeds]
    fan.plot(speeds, [up for up, _ in found], "C0", label=["out of the plane", None])
    fan.plot(speeds, [others[0] for _, others in found], "C1", label="in the plane")
    fan.plot([*HODGES], [*HODGES.values()], "ko", label=["Hodges and Rutkowski", None])
    fan.plot(speeds, speeds, "k:", lw=1, label="once a turn")
    fan.set(xlabel=r"speed over $\sqrt{EI/\mu L^4}$", ylabel=r"frequency over $\sqrt{EI/\mu L^4}$", xlim=(0, 12.3))
    elements = 2 ** np.arange(2, 8)
    errors = np.abs([cantilever(n) - 1 for n in elements])
    for k, error in enumerate(errors.T):
        order.loglog(elements, error, "o-", label=f"frequency {k + 1}")
    order.loglog(elements, 3.0 / elements**2, "k--", lw=1, label="order 2")
    order.set(xlabel="elements of the cantilever", ylabel="relative error")
    order.set_xticks(elements, elements)
    order.minorticks_off()
    fan.legend(loc=(0.42, 0.37))
    order.legend()
    for panel in (fan, order):
        panel.grid(alpha=0.3)
    fig.savefig(f"{folder}/modes.png", dpi=120)


def write(path):
    """The frame."""
    mbs.modes(frame()[0], 6).to_paraview(path)


main = command_of(__file__, compare, figures, write, lambda: print(mbs.modes(frame()[0], 6)))

if __name__ == "__main__":
    main()
