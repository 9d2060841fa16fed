r"""The rotor of a wind turbine.

Three blades of 61.5 m, tapered as those of NREL's 5 MW turbine (Jonkman and others, 2009; without twist and cone), on a
hub that a drive spins up from rest under gravity, and Campbell's diagram, the natural frequencies over the speed with
what excites them 1, 3 or 6 times a turn. Euler's beam has them by the method of Ritz: with the pull $T(r) = \Omega^2
\int_r^R \mu\varrho\,d\varrho$, it makes $\int EI\,w''^2 + T\,w'^2 \big/ \int \mu\,w^2$ stationary; in the plane squares
of frequencies are less by $\Omega^2$. A root bears $\Omega^2\int\mu r$ on average, and once a turn the moment of the
weight, to which the swing that this sets off adds 2 %.
"""

import numpy as np
from _run import main_of, panels
from numpy.polynomial import Chebyshev
from scipy.interpolate import make_interp_spline
from scipy.linalg import eigh

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection, Cylinder, RevoluteJoint, RigidBody, SpinUp

HUB, LENGTH, GRAVITY, RATED, BEGIN, T_END = 1.5, 61.5, 9.81, 12.1 * np.pi / 30, 1.0, 36.0
# shares of the length; there mass in kg/m, bending stiffness out of the plane and in it in GN m^2
SHARE = [0, 0.036, 0.068, 0.117, 0.182, 0.263, 0.361, 0.459, 0.556, 0.654, 0.751, 0.849, 0.930, 0.971, 1]
MASS = [679, 741, 592, 401, 417, 347, 322, 287, 242, 179, 139, 98.8, 68.8, 49.1, 10.3]
FLAP = [18.1, 17.5, 10.8, 5.53, 3.95, 2.27, 1.59, 0.876, 0.409, 0.176, 0.0909, 0.0495, 0.0265, 0.0101, 0.0002]
EDGE = [18.1, 19.5, 14.9, 8.06, 7.27, 4.81, 3.99, 3.14, 2.33, 1.32, 0.798, 0.455, 0.281, 0.102, 0.005]
PROPERTIES = make_interp_spline(SHARE, np.transpose([MASS, FLAP, EDGE]) * (1, 1e9, 1e9), k=1)


def section(s):
    mass, flap, edge = PROPERTIES(s)
    EA = 1.4e7 * mass  # extension, shear and torsion are guessed, and matter little
    return BeamSection(EA, EA, 0.3 * flap, (edge, flap), mass, np.array([flap + edge, edge, flap]) * mass / EA)


def build(blades=3, gravity=GRAVITY):
    model = mbs.Model("SE3", gravity=(0, 0, -gravity))
    hub = model.add_node((0, 0, 0), name="hub")
    model.add(RigidBody(hub, 56780, (115926, 7e4, 7e4), shape=Cylinder(HUB, 2.5, (1, 0, 0))))
    for angle in 2 * np.pi / 3 * np.arange(blades):
        r = np.array([0, np.sin(angle), np.cos(angle)])
        ends = dict(start=HUB * r, end=(HUB + LENGTH) * r, start_node=hub, rigid_ends=True)
        blade = Beam.line(model, **ends, section=section, elements=6, order=3, y_axis=(1, 0, 0))
    return model, hub, blade


def run(step=0.05):
    model, hub, blade = build()
    model.add(RevoluteJoint(model.ground, hub, axis=(1, 0, 0), drive=SpinUp(RATED, duration=20).after(BEGIN)))
    return mbs.simulate(model, T_END, step, initial=mbs.statics(model).state(-1)), blade


def frequencies(speed):
    """In Hz, the first out of the plane, in it, and again out of it; seen from the hub."""
    model, hub, blade = build(blades=1, gravity=0)
    model.add(RevoluteJoint(model.ground, hub, axis=(1, 0, 0), drive=lambda t: speed * t))
    return mbs.modes(model, 3, mbs.steady_rotation(model, (speed, 0, 0)).state(-1)).angular / (2 * np.pi)


def ritz(speed):
    """The same of Euler's beam, then the pull and the moment of the weight at the root."""
    s = (np.arange(4000) + 0.5) / 4000
    (mass, flap, edge), r = PROPERTIES(s).T, HUB + LENGTH * s
    pull = speed**2 * LENGTH * np.cumsum((mass * r)[::-1])[::-1] / len(s)
    shapes = [Chebyshev([3, 4, 1], (0, 1)) * Chebyshev.basis(k, (0, 1)) for k in range(14)]  # 8 s^2 T_k
    w, slope, bend = (np.array([f.deriv(k)(s) if k else f(s) for f in shapes]) / LENGTH**k for k in range(3))
    out, inside = (eigh((EI * bend) @ bend.T + (pull * slope) @ slope.T, (mass * w) @ w.T)[0] for EI in (flap, edge))
    f = np.sqrt([out[0], inside[0] - speed**2, out[1]]) / (2 * np.pi)
    return [*f, pull[0], GRAVITY * LENGTH**2 * np.mean(mass * s)]


def compare(solution, blade):
    root = solution.section_forces(blade)[solution.t > T_END - 2 * np.pi / RATED, 0]
    forces = {"mean pull at the root (N)": root[:, 0].mean(), "moment, amplitude (N m)": np.ptp(root[:, 4]) / 2}
    names = ("flap (Hz)", "lag (Hz)", "second flap (Hz)", *forces)
    numbers = dict(zip(names, zip([*frequencies(RATED), *forces.values()], ritz(RATED), strict=True), strict=True))
    return numbers | {"flap at rest (Hz)": (frequencies(0)[0], ritz(0)[0])}


def figure(solution, blade, file):
    rpm = np.linspace(0, 20, 41)
    exact, found = ([f(n * np.pi / 30)[:3] for n in part] for f, part in ((ritz, rpm), (frequencies, rpm[::10])))
    campbell = [(["Ritz", "", ""], rpm, exact, "C0"), (["fem_mbs", "", ""], rpm[::10], found, "ko")]
    campbell.append((["1, 3, 6 a turn", "", ""], rpm, np.outer(rpm, (1, 3, 6)) / 60, "0.6"))
    forces = solution.section_forces(blade)[:, 0, [0, 4]] / 1e3
    root = ["pull (kN)", "moment in the plane (kN m)"], solution.t, forces
    panels(file, ("speed (turns a minute)", "frequency (Hz)", *campbell), ("time (s)", "at the root", root))


main = main_of(__file__, run, compare, figure, every=4)
if __name__ == "__main__":
    main()
