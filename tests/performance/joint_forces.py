"""What springs and friction in the joints of a chain cost a step, against the chain without them, in turns on one core.

``python tests/performance/joint_forces.py [--links 1000]``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial

from measure import Result, alternate, describe, ratios, span, table, typical, warm_up
from steps import chain

import fem_mbs as mbs
from fem_mbs.contracts import Constraint, Element
from fem_mbs.elements import JointForce, JointFriction, JointSpring

STEPS, STEP = 20, 1e-3
Make = Callable[[Constraint], Sequence[Element]]


def spring(joint: Constraint) -> list[Element]:
    """A spring and a damper."""
    return [JointSpring(joint, 5.0, 0.1)]


def damped(t: float, q: float, rate: float) -> float:
    """The same as a law of a user."""
    return -5.0 * q - 0.1 * rate


FRICTION = {"kinetic": 0.1, "static": 0.15, "preload": 5.0, "radius": 0.02}
SIDES: dict[str, Make] = {
    "the chain": lambda joint: [],
    "springs": spring,
    "springs by laws of a user": lambda joint: [JointForce(joint, damped)],
    "springs and friction, preload": lambda joint: [*spring(joint), JointFriction(joint, reactions=False, **FRICTION)],
    "springs and friction, reactions": lambda joint: [*spring(joint), JointFriction(joint, **FRICTION)],
    "springs and bristles, reactions": lambda joint: [*spring(joint), JointFriction(joint, bristle=1e-3, **FRICTION)],
}


def run(make: Make, links: int) -> Result:
    """Seconds and iterations a step."""
    model = chain(links)
    for joint in list(model.constraints):
        for element in make(joint):
            model.add(element)
    stats = mbs.simulate(model, STEPS * STEP, STEP).stats
    return {"seconds": stats.wall_time / STEPS, "iterations": stats.mean_newton_iterations}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5, help="rounds, each with one run of every row")
    parser.add_argument("--links", type=int, default=1000)
    options = parser.parse_args()
    print(describe() + "\n")
    sides = {name: partial(run, make, options.links) for name, make in SIDES.items()}
    warm_up(sides)
    rounds = alternate(sides, options.repeats)
    alone = rounds["the chain"]
    rows = [
        (name, f"{1e3 * typical(own):.1f}", f"{typical(own, 'iterations'):.2f}", span(ratios(own, alone)))
        for name, own in rounds.items()
    ]
    print(table(("joints of the chain", "ms a step", "iterations", "against the chain"), rows))


if __name__ == "__main__":
    main()
