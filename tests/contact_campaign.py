"""A campaign of random bodies that fall on a floor: does every run end, stay outside, and gain no energy in silence?

``python tests/contact_campaign.py chains 13`` runs 13 chains and prints a line for each; kinds are those of ``MODELS``.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

import fem_mbs as mbs
from fem_mbs.elements import (
    Ball,
    Beam,
    BeamSection,
    Box,
    Capsule,
    Contact,
    JointStop,
    Plane,
    RevoluteJoint,
    RigidBody,
    Rope,
    Shell,
    ShellSection,
    SphericalJoint,
    SpringDamper,
    contacts_between,
)
from fem_mbs.errors import ConvergenceError

G = 9.81


def _law(rng: np.random.Generator) -> dict[str, float]:
    return {"restitution": float(rng.choice([0.0, 0.3, 0.8])), "friction": float(rng.choice([0.0, 0.3, 0.8]))}


def _shape(rng: np.random.Generator) -> Ball | Capsule | Box:
    size = rng.uniform(0.05, 0.1)
    return (Ball(size), Capsule(size, 2 * size), Box(tuple(size * rng.uniform(1, 2, 3))))[rng.integers(3)]


def _turned(rng: np.random.Generator) -> np.ndarray:
    return Rotation.random(None, rng).as_matrix()


def chains(seed: int) -> mbs.Model:
    """Bodies joined by hinges, balls, ropes and springs from soft to far stiffer than a step resolves."""
    rng = np.random.default_rng(seed)
    model, law, before = mbs.Model(gravity=(0, 0, -G)), _law(rng), None
    for k in range(rng.integers(2, 6)):
        place = np.array([0.4 * k, 0.1 * rng.normal(), rng.uniform(0.4, 0.9)])
        node = model.add_node(place, rotation=_turned(rng), velocity=rng.normal(size=3))
        model.add(RigidBody(node, rng.uniform(0.5, 2), rng.uniform(0.004, 0.008, 3)))
        model.add(Contact(model.ground, node, Plane(), _shape(rng), **law))
        if before is not None:
            middle = 0.5 * (place + before.position)
            match rng.integers(5):
                case 0:
                    hinge = model.add(RevoluteJoint(before, node, rng.normal(size=3), middle))
                    model.add(JointStop(hinge, -0.5, 0.5, restitution=law["restitution"]))
                case 1:
                    model.add(SphericalJoint(before, node, middle))
                case 2:
                    model.add(Rope(before, node, 1.1 * float(np.linalg.norm(place - before.position))))
                case _:
                    model.add(SpringDamper(before, node, stiffness=10 ** rng.uniform(2, 7)))
        before = node
    mbs.project_velocities(model)
    return model


def beams(seed: int) -> mbs.Model:
    """A beam, thick or thin, soft or stiff, on the floor with its nodes."""
    rng = np.random.default_rng(seed)
    model = mbs.Model(gravity=(0, 0, -G))
    section = BeamSection.circle(rng.uniform(0.01, 0.03), 10 ** rng.uniform(7, 11), 0.3, 1000)
    along = _turned(rng)[:, 0]
    middle = np.array([0, 0, rng.uniform(0.6, 0.9)])
    beam = Beam.line(model, middle - 0.5 * along, middle + 0.5 * along, section, int(rng.integers(2, 7)))
    model.add(contacts_between([beam, (model.ground, Plane())], friction=_law(rng)["friction"]))
    return model


def plates(seed: int) -> mbs.Model:
    """A plate of shells, as thick as balls at its nodes."""
    rng = np.random.default_rng(seed)
    model, R = mbs.Model(gravity=(0, 0, -G)), _turned(rng)
    thick = rng.uniform(0.01, 0.03)
    n = int(rng.integers(2, 4))
    grid = [[(x, y, 0) for x in np.linspace(-0.3, 0.3, n + 1)] for y in np.linspace(-0.3, 0.3, n + 1)]
    nodes = [[model.add_node(R @ p + (0, 0, 0.5)) for p in row] for row in grid]
    cells = [[nodes[i][j], nodes[i][j + 1], nodes[i + 1][j + 1], nodes[i + 1][j]] for i in range(n) for j in range(n)]
    model.add(Shell(cells, ShellSection.isotropic(thick, E=10 ** rng.uniform(7, 11), nu=0.3, rho=1000)))
    mu = _law(rng)["friction"]
    for node in (node for row in nodes for node in row):
        model.add(Contact(model.ground, node, Plane(), Ball(0.5 * thick), friction=mu))
    return model


def piles(seed: int) -> mbs.Model:
    """Balls, capsules and boxes over each other."""
    rng = np.random.default_rng(seed)
    model, law = mbs.Model(gravity=(0, 0, -G)), _law(rng)
    parts: list[object] = [(model.ground, Plane())]
    for k in range(rng.integers(3, 9)):
        place = (*rng.uniform(-0.1, 0.1, 2), 0.25 + 0.4 * k)
        node = model.add_node(place, rotation=_turned(rng), velocity=0.5 * rng.normal(size=3))
        parts.append(model.add(RigidBody(node, rng.uniform(0.5, 2), rng.uniform(0.004, 0.006, 3), shape=_shape(rng))))
    model.add(contacts_between(parts, **law))
    return model


MODELS: dict[str, Callable[[int], mbs.Model]] = {"chains": chains, "beams": beams, "plates": plates, "piles": piles}


class Verdict(NamedTuple):
    """Of a run."""

    failure: str
    """Why it ended early; empty if it did not."""
    depth: float
    """Largest at stored instants, m."""
    step_gain: float
    """Largest rise of energy in a step, over the largest energy of the motion."""
    gain: float
    """Largest rise above the lowest energy before."""
    at: float
    """Time of the largest rise in a step."""
    told: str
    """Warnings of the run."""
    seconds: float
    """Of the processor."""


def judged(model: mbs.Model, h: float, t_end: float) -> Verdict:
    """A run, and what became of its energy."""
    told: list[str] = []
    handler, log = logging.Handler(), logging.getLogger("fem_mbs")
    handler.emit = lambda record: told.append(record.getMessage())  # type: ignore[method-assign]
    log.addHandler(handler)
    began, failure = time.process_time(), ""
    try:
        solution = mbs.simulate(model, t_end, h)
    except ConvergenceError as error:
        failure, solution = str(error).split("\n")[0], error.solution
    finally:
        log.removeHandler(handler)
    energy = solution.energy
    total = energy.total
    size = np.max(energy.kinetic + np.abs(energy.strain)) or 1.0
    depth = max(-float(solution.gap(own).min()) for own in model.elements if own.contacts)
    rises = np.diff(total)
    k = int(rises.argmax())
    gain = float((total - np.minimum.accumulate(total)).max()) / size
    seconds = time.process_time() - began
    return Verdict(failure, depth, rises[k] / size, gain, solution.t[k], "; ".join(told), seconds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=MODELS)
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--step", type=float, default=5e-3)
    parser.add_argument("--t-end", type=float, default=1.0)
    options = parser.parse_args()
    for seed in range(options.first, options.first + options.count):
        v = judged(MODELS[options.kind](seed), options.step, options.t_end)
        print(
            f"{seed:4d} step gain {v.step_gain:9.2e} at {v.at:.3f}, gain {v.gain:9.2e}, depth {v.depth:9.2e}, "
            f"{v.seconds:5.1f} s {v.failure[:90]} {v.told[:200]}",
            flush=True,
        )
