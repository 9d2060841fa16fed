"""Flexible systems in which formulations are compared that the paper has compared on rigid ones."""

from __future__ import annotations

from functools import cache

import numpy as np

import fem_mbs as mbs
from fem_mbs.benchmarks.flexible import right_angle_cantilever
from fem_mbs.elements import Beam, BeamSection, SphericalJoint

RUBBER = BeamSection.rectangle(width=0.03, height=0.01, E=2e8, nu=0.3, rho=1000)
STEEL = BeamSection.rectangle(width=0.03, height=0.001, E=210e9, nu=0.3, rho=7850)


def of_node(node):
    return lambda solution: solution.position(node)


def beam_pendulum(group="R3xSO3", elements=6):
    """A strip of rubber swings from a ball joint and turns about the vertical, y; the model and its tip."""
    model = mbs.Model(group, gravity=(0, -9.81, 0))
    strip = Beam.line(model, (0, 0, 0), (1, 0, 0), RUBBER, elements)
    for node in strip.nodes:
        node.velocity, node.angular_velocity = np.cross((0, 2, 0), node.position), (0, 2, 0)
    model.add(SphericalJoint(model.ground, strip.nodes[0]))
    return model, of_node(strip.nodes[-1])


def cantilever(group="R3xSO3"):
    model, _, tip = right_angle_cantilever(group)
    return model, of_node(tip)


def thrown_ruler(group="R3xSO3", elements=6):
    """A ruler of steel flies without weight and turns about its middle at 20 rad/s; the model and an end."""
    model = mbs.Model(group)
    strip = Beam.line(model, (-0.5, 0, 0), (0.5, 0, 0), STEEL, elements)
    for node in strip.nodes:
        node.velocity, node.angular_velocity = np.cross((1, 2, 20), node.position), (1, 2, 20)
    return model, of_node(strip.nodes[-1])


BUILD = {  # what builds it, the end of the run in s, and a step in s that is small enough to extrapolate from
    "beam pendulum": (beam_pendulum, 0.5, 2.5e-4),
    "right-angle cantilever": (cantilever, 8.0, 0.0125),
    "thrown ruler": (thrown_ruler, 0.5, 2.5e-4),
}


@cache
def exact(name):
    """Where a run on SE(3) leads to, without its error of second order."""
    build, t_end, h = BUILD[name]
    model, read = build("SE3")
    coarse, fine = (read(mbs.simulate(model, t_end, step, mbs.GeneralizedAlpha()))[-1] for step in (h, h / 2))
    return (4 * fine - coarse) / 3
