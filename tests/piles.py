"""Random piles of balls, boxes and capsules on a plane: do runs fail, do bodies enter each other, does energy grow?

``python tests/piles.py 20`` runs 20 of them with defaults and prints a line of each and what breaks the law;
``--first`` is the first seed. Up to 30 bodies fall from a lattice, with spins, restitution and friction at random.
"""

from __future__ import annotations

import argparse
import logging
import time
from typing import NamedTuple

import numpy as np

import fem_mbs as mbs
from fem_mbs.contracts import Shape
from fem_mbs.elements import Ball, Box, Capsule, Contact, Plane, RigidBody
from fem_mbs.lie import so3

G, RADIUS, STEP = 9.81, 0.1, 5e-3
DEPTH = 1e-10
"""Depth at stored instants over the size of a body that breaks the law."""
GAIN, FINER, FALLS = 1e-9, 0.25, 0.125
"""Energy beyond that at the start, over the largest kinetic energy, that breaks the law: unless it is an error of the
smooth steps, of order 2, that in steps of a quarter is less than an eighth."""


class Verdict(NamedTuple):
    """How a pile went."""

    bodies: int
    failure: str
    depth: float
    """Over the radius of a body."""
    gain: float
    """The most that energy is beyond that at the start, over the largest kinetic energy."""
    rise: float
    """The most that it rises above a value before, over the same: smooth steps do so by their error, of order 2."""
    warnings: list[str]
    seconds: float


def pile(seed: int, most: int = 30) -> mbs.Model:
    """Bodies on a lattice above a plane, one third of each kind, up to ``most``."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, most + 1))
    restitution, friction = rng.choice([0.0, 0.3, 0.8]), rng.choice([0.0, 0.2, 0.6])
    model = mbs.Model(gravity=(0, 0, -G))
    wide = int(np.ceil(count ** (1 / 3)))
    bodies: list[tuple[mbs.Node, Shape]] = []
    for k in range(count):
        cell = np.array([k % wide, k // wide % wide, k // wide**2])
        place = 2.6 * RADIUS * cell + rng.uniform(-0.2, 0.2, 3) * RADIUS + [0, 0, 1.6 * RADIUS]
        node = model.add_node(place, so3.exp(rng.normal(size=3)), velocity=rng.normal(size=3))
        node.angular_velocity = rng.normal(size=3)
        shape, inertia = _body(rng)
        model.add(RigidBody(node, 1.0, inertia))
        bodies.append((node, shape))
    laws = {"restitution": restitution, "friction": friction}
    for k, (node, shape) in enumerate(bodies):
        model.add(Contact(model.ground, node, Plane(), shape, **laws))
        for other, beside in bodies[:k]:
            model.add(Contact(other, node, beside, shape, **laws))
    return model


def _body(rng: np.random.Generator) -> tuple[Shape, list[float]]:
    """A shape of about ``RADIUS`` and the moments of inertia of 1 kg of it."""
    kind = rng.integers(3)
    if kind == 0:
        return Ball(RADIUS), [0.4 * RADIUS**2] * 3
    if kind == 1:
        sides = RADIUS * rng.uniform(0.8, 1.3, 3)
        return Box(tuple(sides)), ((sides @ sides - sides**2) / 12.0).tolist()
    r, length = 0.5 * RADIUS, RADIUS
    across = (3 * r * r + (length + r) ** 2) / 12.0
    return Capsule(r, length), [across, across, 0.5 * r * r]


def judged(seed: int, duration: float, h: float = STEP, most: int = 30) -> Verdict:
    """A pile over ``duration``."""
    model, began = pile(seed, most), time.process_time()
    count, heard, log = len(model.nodes) - 1, list[str](), logging.getLogger("fem_mbs")
    handler = logging.Handler()
    handler.emit = lambda record: heard.append(record.getMessage())  # type: ignore[method-assign]
    log.addHandler(handler)
    try:
        solution = mbs.simulate(model, duration, h)
    except mbs.FemMbsError as error:
        return Verdict(count, str(error), np.nan, np.nan, np.nan, [], time.process_time() - began)
    finally:
        log.removeHandler(handler)
    seconds = time.process_time() - began
    gaps = [solution.gap(own).min() for own in model.elements if isinstance(own, Contact)]
    total, kinetic = solution.energy.total, solution.energy.kinetic
    gain, rise = total.max() - total[0], (total - np.minimum.accumulate(total)).max()
    energies = float(gain / kinetic.max()), float(rise / kinetic.max())
    return Verdict(count, "", -min(gaps) / RADIUS, *energies, heard, seconds)


def main() -> None:
    """Print verdicts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--most", type=int, default=30)
    parser.add_argument("--duration", type=float, default=0.5)
    parser.add_argument("--step", type=float, default=STEP)
    options = parser.parse_args()
    wrong = 0
    for seed in range(options.first, options.first + options.count):
        v = judged(seed, options.duration, options.step, options.most)
        bad = bool(v.failure) or v.depth > DEPTH
        if not bad and v.gain > GAIN:
            finer = judged(seed, options.duration, FINER * options.step, options.most)
            bad = bool(finer.failure) or finer.gain > FALLS * v.gain
        wrong += bad
        print(
            f"{seed:5d} {'BAD ' if bad else 'good'} {v.bodies:3d} bodies, depth {v.depth:8.1e}, energy {v.gain:8.1e}, "
            f"rise {v.rise:8.1e}, {v.seconds:6.1f} s {v.failure} {'; '.join(v.warnings)[:160]}",
            flush=True,
        )
    print(f"{wrong} of {options.count} break the law")


if __name__ == "__main__":
    main()
