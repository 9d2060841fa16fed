"""Write the figure of the page on curves: run this from the root of the repository when sliding joints have changed."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import fem_mbs as mbs
from fem_mbs.benchmarks.joints import CRITICAL, EI, LENGTH, PUSH, bridge, deflection
from fem_mbs.elements import Beam, BeamSection, Force, RigidBody, SlidingJoint

STRIP = BeamSection.rectangle(width=0.02, height=0.01, E=70e9, nu=0.3, rho=2700)


def board(h: float) -> tuple[mbs.Solution, SlidingJoint]:
    """A body slides out along a cantilever of eight elements, which a blow has set into vibration."""
    model = mbs.Model("SE3")
    beam = Beam.line(model, (0, 0, 0), (2, 0, 0), STRIP, elements=8)
    model.fix(beam.nodes[0], rotation=True)
    body = model.add_node((0.05, 0, 0), velocity=(2, 0, 0))
    model.add(RigidBody(body, 0.5, (1e-4, 1e-4, 1e-4)))
    model.add(Force(beam.nodes[-1], lambda t: (0, 0, -20 * np.sin(10 * np.pi * min(t, 0.1)) ** 2)))
    joint = model.add(SlidingJoint(beam, body))
    return mbs.simulate(model, 0.85, h), joint


def main() -> None:
    """Energy over borders of elements, and the moving load."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    for h in (0.004, 0.002, 0.001):
        solution, joint = board(h)
        after = solution.t >= 0.1 - 1e-9
        sigma, energy = solution.internal_variables(joint, "arc length")[after], solution.energy.total[after]
        left.plot(sigma, (energy / energy[0] - 1) * 1e6, label=f"h = {1e3 * h:g} ms", lw=1)
    for border in np.arange(0.25, 2.0, 0.25):
        left.axvline(border, color="0.85", lw=0.8, zorder=0)
    left.set(
        xlabel="place on the beam, m (lines: borders of elements)", ylabel="change of energy, 1e-6", xlim=(0.2, 1.95)
    )
    left.legend()
    static = PUSH * LENGTH**3 / (48 * EI)
    for share in (0.1, 0.4, 1.1):
        speed = share * CRITICAL
        model, middle = bridge(speed)
        time = LENGTH / speed * (1 - 1e-9)
        solution = mbs.simulate(model, time, time / 300)
        t, z = solution.t, -solution.position(middle)[:, 2]
        exact = deflection(t, speed)
        (line,) = right.plot(t * speed / LENGTH, z / static, lw=1.2, label=f"{share:g} of the critical speed")
        right.plot(t[::12] * speed / LENGTH, exact[::12] / static, "o", ms=3.5, color=line.get_color(), mfc="none")
        print(f"speed {share}: largest difference {np.abs(z - exact).max() / np.abs(exact).max():.1e}")
    right.set(xlabel="place of the load over the span", ylabel="deflection in the middle over the static one")
    right.legend(title="lines: here, circles: series")
    figure.savefig(Path(__file__).parent / "images" / "curves.png", dpi=120)


if __name__ == "__main__":
    main()
