r"""A solar array unfolds.

Two panels of shells, folded on each other beside a satellite that floats freely; drives in the hinges unfold them
within five seconds, and the panels swing on. Nothing turns the whole from outside, so that the hub turns back. Of rigid
panels the angular momentum about the centre of mass, $I(t)\,\dot\varphi + h(t) = 0$ with what the drives do in $h$, has
the angle $\varphi = -\int h/I\,\mathrm dt$ of the hub. Panels that give end at the same angle, but for what their swing
leaves. The swing has the frequency of the first mode of the unfolded array; with hinges all along its edges and without
Poisson's ratio this is that of beams.
"""

import numpy as np
from _run import main_of, panels
from scipy.integrate import cumulative_trapezoid

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection, Box, RevoluteJoint, RigidBody, Shell, ShellSection, SmoothStep

HUB_MASS, HUB, SIDE = 200.0, (30.0, 40.0, 30.0), 0.5
LENGTH, WIDTH, GAP, H, E, RHO = 1.0, 2.0, 0.04, 0.006, 10e9, 300.0
UNFOLD, T_END = 5.0, 9.0
ROOT, FOLD = SmoothStep(np.pi / 2, UNFOLD), SmoothStep(-np.pi, UNFOLD)


def build(nu=0.3, at=(1, 5), beams=False, folded=True):
    """The model, its hub, and the node in the middle of the outer edge; hinges are ``at`` these nodes of an edge."""
    model = mbs.Model(gravity=(0, 0, 0))
    hub = model.add_node((0, 0, 0), name="hub")
    model.add(RigidBody(hub, HUB_MASS, HUB, shape=Box((2 * SIDE, 2 * SIDE, 2 * SIDE))))
    ways = [((SIDE, 0, 0), (0, 0, LENGTH)), ((SIDE + GAP, 0, LENGTH), (0, 0, -LENGTH))]
    if not folded:
        ways = [((SIDE, 0, 0), (LENGTH, 0, 0)), ((SIDE + LENGTH, 0, -GAP), (LENGTH, 0, 0))]
    if beams:
        section = BeamSection.rectangle(WIDTH, H, E, nu, RHO)
        wings = [Beam.line(model, x, np.add(x, u), section, 6, y_axis=(0, 1, 0)).nodes for x, u in ways]
        edges = [(hub, wings[0][0]), (wings[0][-1], wings[1][0])]
        tip = wings[1][-1]
    else:
        skin, across = ShellSection.isotropic(H, E, nu, RHO), np.array((0, WIDTH, 0))
        inner, outer = (
            Shell.rectangle(model, x - across / 2, u, across, skin, elements=(3, 6), name=name, thick=True)
            for (x, u), name in zip(ways, ("inner", "outer"), strict=True)
        )
        edges = [(hub, inner.node(0, j)) for j in at] + [(inner.node(-1, j), outer.node(0, j)) for j in at]
        tip = outer.node(-1, 3)
    for first, second in edges:
        drive = ROOT if first is hub else FOLD
        model.add(RevoluteJoint(first, second, (0, 1, 0), drive=drive if folded else lambda t: 0.0))
    return model, hub, tip


def run(step=0.02):
    model, hub, tip = build()
    return mbs.simulate(model, T_END, step, mbs.GeneralizedAlpha(rho_inf=0.9)), hub, tip


def rigid(t):
    """Angle of the hub with rigid panels."""
    root, fold = (np.array([drive(time) for time in t]) for drive in (ROOT, FOLD))
    along, across = (lambda a: np.array([np.sin(a), np.cos(a)])), (lambda a: np.array([np.cos(a), -np.sin(a)]))
    start = np.array([[SIDE], [0.0]])
    angles = np.array([0 * t, root, root + np.pi + fold])
    hinge = start + LENGTH * along(root) + GAP * across(root)
    x = np.stack([0 * hinge, start + 0.5 * LENGTH * along(root), hinge + 0.5 * LENGTH * along(angles[2])])
    panel = RHO * H * LENGTH * WIDTH
    m, I = np.array([HUB_MASS, panel, panel]), np.array([HUB[1], *[panel * (LENGTH**2 + H**2) / 12] * 2])
    x -= np.tensordot(m, x, 1) / m.sum()
    v, turning = np.gradient(x, t, axis=-1), np.gradient(angles, t, axis=-1)
    h = m @ (x[:, 1] * v[:, 0] - x[:, 0] * v[:, 1]) + I @ turning
    return -cumulative_trapezoid(h / (m @ (x**2).sum(axis=1) + I.sum()), t, initial=0.0)


def swing(solution, hub, tip):
    """How far the outer edge is from where a rigid array has it, along the normal, in the frame of the hub."""
    apart = np.vecmat(solution.position(tip) - solution.position(hub), solution.rotation(hub))
    return apart[:, 2] + GAP * (solution.t > UNFOLD)


def frequency(**how):
    """Of the first mode of the unfolded array that bends it, in Hz."""
    return mbs.modes(build(**how, folded=False)[0], 7).frequencies[6]


def compare(solution, hub, tip):
    angle = np.degrees(solution.rotation_vector(hub)[:, 1])
    free = solution.t > UNFOLD
    y = swing(solution, hub, tip)[free]
    y = y - y.mean()
    up = np.flatnonzero((y[:-1] < 0) & (y[1:] >= 0))
    crossings = solution.t[free][up] - y[up] * np.diff(solution.t[free])[up] / (y[up + 1] - y[up])
    return {
        "hub turns (degrees)": (angle[free].mean(), np.degrees(rigid(solution.t))[-1]),
        "swing (Hz)": (1 / np.diff(crossings).mean(), frequency()),
        "hinged all along, nu = 0 (Hz)": (frequency(nu=0.0, at=range(7)), frequency(nu=0.0, beams=True)),
    }


def figure(solution, hub, tip, file):
    t = solution.t
    hubs = ["fem_mbs", "rigid panels"], t, np.degrees([solution.rotation_vector(hub)[:, 1], rigid(t)]).T
    free = t > UNFOLD
    edge = ["outer edge"], t[free], 1e3 * swing(solution, hub, tip)[free, None]
    panels(file, ("time (s)", "angle of the hub (degrees)", hubs), ("time (s)", "swing (mm)", edge))


main = main_of(__file__, run, compare, figure, every=5)
if __name__ == "__main__":
    main()
