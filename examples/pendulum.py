r"""A pendulum, the first model.

A point mass of 1 kg hangs on a massless rod of 1 m and is released from the horizontal, with
$g = 9.81\ \mathrm{m/s^2}$: problem A01 of the IFToMM library of benchmark problems. It shows the whole way from a model
to numbers: a node, a mass, a hinge, a run, and questions to the solution.

The exact motion is known. With the swing $\theta_0 = 90°$, $k = \sin(\theta_0/2)$ and $\omega = \sqrt{g/L}$, the angle
from the vertical is

$$\sin\frac{\theta}{2} = -k\,\mathrm{sn}\big(K(k^2) - \omega t,\ k^2\big),$$

with the complete elliptic integral $K$ and Jacobi's elliptic sine; the period is $4K/\omega$, 18 % longer than that of
a small swing. The method is of second order: halve the step, and the differences fall by four.

`python examples/pendulum.py` prints the comparison; `--plot` and `--paraview` write into `out/`.
"""

import numpy as np
from _run import main_of
from scipy.special import ellipj, ellipk

import fem_mbs as mbs
from fem_mbs.elements import PointMass, RevoluteJoint

LENGTH, GRAVITY = 1.0, 9.81
K2 = np.sin(np.pi / 4) ** 2
OMEGA = np.sqrt(GRAVITY / LENGTH)


def build():
    model = mbs.Model(gravity=(0, -GRAVITY, 0))
    bob = model.add_node((-LENGTH, 0, 0), name="bob")
    model.add(PointMass(bob, mass=1.0))
    model.add(RevoluteJoint(model.ground, bob, axis=(0, 0, 1), point=(0, 0, 0)), name="hinge")
    return model, bob


def run(step=0.005, t_end=10.0):
    model, bob = build()
    return mbs.simulate(model, t_end, step, mbs.GeneralizedAlpha(rho_inf=0.9)), bob


def exact(t):
    """Position (x, y) of the bob."""
    sine, *_ = ellipj(ellipk(K2) - OMEGA * t, K2)
    angle = -2 * np.arcsin(np.sqrt(K2) * sine)
    return LENGTH * np.stack([np.sin(angle), -np.cos(angle)], axis=-1)


def period(solution, bob):
    """Twice the mean time between two passages through the vertical."""
    t, x = solution.t, solution.position(bob)[:, 0]
    before = np.flatnonzero(x[:-1] * x[1:] < 0)
    slope = (x[before + 1] - x[before]) / (t[before + 1] - t[before])
    passages = t[before] - x[before] / slope
    return 2 * np.diff(passages).mean()


def compare(solution, bob):
    """Each number as computed and as it should be."""
    x = solution.position(bob)
    numbers = {"period (s)": (period(solution, bob), 4 * ellipk(K2) / OMEGA)}
    for t in (1.0, 5.0, 10.0):
        k = np.abs(solution.t - t).argmin()
        for i, axis in enumerate("xy"):
            numbers[f"{axis} at t = {t:g} s (m)"] = x[k, i], exact(solution.t[k])[i]
    return numbers


def figure(solution, bob, file):
    import matplotlib.pyplot as plt

    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    t, x, energy = solution.t, solution.position(bob), solution.energy
    for i, axis in enumerate("xy"):
        left.plot(t, x[:, i], label=axis)
    left.plot(t[::40], exact(t[::40]), "k.", ms=4, label=["exact", None])
    left.set(xlabel="time (s)", ylabel="position of the bob (m)")
    right.plot(t, energy.kinetic, label="kinetic")
    right.plot(t, energy.gravity, label="gravity")
    right.plot(t, energy.total, "k", label="total")
    right.set(xlabel="time (s)", ylabel="energy (J)")
    for panel in (left, right):
        panel.set_xlim(0, t[-1])
        panel.grid(alpha=0.3)
        panel.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False)
    fig.savefig(file, dpi=120)


main = main_of(__file__, run, compare, figure, every=10)
if __name__ == "__main__":
    main()
