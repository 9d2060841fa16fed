"""Write the figure of the page on curves: run this from the root of the repository when sliding joints have changed."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import fem_mbs as mbs
from fem_mbs.elements import (
    Beam,
    BeamSection,
    Force,
    GeneralJoint,
    JointDrive,
    PointMass,
    RevoluteJoint,
    RigidBody,
    SlidingJoint,
)

STRIP = BeamSection.rectangle(width=0.02, height=0.01, E=70e9, nu=0.3, rho=2700)
SPAN, HEIGHT, RHO, YOUNG = 10.0, 0.05, 7850.0, 210e9
MU = RHO * HEIGHT**2
OMEGA = np.pi**2 * np.sqrt(YOUNG * HEIGHT**4 / 12 / MU) / SPAN**2
LOAD = 10.0


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


def bridge(speed: float) -> tuple[np.ndarray, np.ndarray]:
    """Times and deflections in the middle of a bridge that a load crosses."""
    model = mbs.Model("SE3")
    section = BeamSection.rectangle(width=HEIGHT, height=HEIGHT, E=YOUNG, nu=0.3, rho=RHO)
    beam = Beam.line(model, (0, 0, 0), (SPAN, 0, 0), section, elements=6, order=3)
    model.add(RevoluteJoint(model.ground, beam.nodes[0], (0, 1, 0)))
    model.add(GeneralJoint(model.ground, beam.nodes[-1], (False, True, True), (True, False, True)))
    node = model.add_node((0, 0, 0), velocity=(speed, 0, 0))
    model.add(PointMass(node, 1e-6))
    model.fix(node, translation=False, rotation=True)
    model.add(Force(node, (0, 0, -LOAD)))
    model.add(JointDrive(model.add(SlidingJoint(beam, node)), lambda t: speed * t))
    time = SPAN / speed * (1 - 1e-9)
    solution = mbs.simulate(model, time, time / 300)
    return solution.t, -solution.position(beam.nodes[9])[:, 2]


def series(t: np.ndarray, speed: float) -> np.ndarray:
    """Of modes of a simply supported beam under a force at constant speed."""
    k = np.arange(1, 40)[:, None]
    own, forced = k**2 * OMEGA, k * np.pi * speed / SPAN
    terms = (np.sin(forced * t) - forced / own * np.sin(own * t)) / (own**2 - forced**2) * np.sin(k * np.pi / 2)
    return 2 * LOAD / (MU * SPAN) * terms.sum(axis=0)


def main() -> None:
    """Energy over borders of elements, and the moving load."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    for h in (0.004, 0.002, 0.001):
        solution, joint = board(h)
        after = solution.t >= 0.1 - 1e-9
        sigma, energy = solution.unknowns(joint, "arc length")[after], solution.energy.total[after]
        left.plot(sigma, (energy / energy[0] - 1) * 1e6, label=f"h = {1e3 * h:g} ms", lw=1)
    for border in np.arange(0.25, 2.0, 0.25):
        left.axvline(border, color="0.85", lw=0.8, zorder=0)
    left.set(
        xlabel="place on the beam, m (lines: borders of elements)", ylabel="change of energy, 1e-6", xlim=(0.2, 1.95)
    )
    left.legend()
    static = LOAD * SPAN**3 / (48 * YOUNG * HEIGHT**4 / 12)
    for share in (0.1, 0.4, 1.1):
        speed = share * OMEGA * SPAN / np.pi
        t, z = bridge(speed)
        exact = series(t, speed)
        (line,) = right.plot(t * speed / SPAN, z / static, lw=1.2, label=f"{share:g} of the critical speed")
        right.plot(t[::12] * speed / SPAN, exact[::12] / static, "o", ms=3.5, color=line.get_color(), mfc="none")
        print(f"speed {share}: largest difference {np.abs(z - exact).max() / np.abs(exact).max():.1e}")
    right.set(xlabel="place of the load over the span", ylabel="deflection in the middle over the static one")
    right.legend(title="lines: here, circles: series")
    figure.savefig(Path(__file__).parent / "images" / "curves.png", dpi=120)


if __name__ == "__main__":
    main()
