"""The elements, loads and joints that the contract tests run over. A newcomer enrols with one line.

Each entry makes its part on the nodes of :func:`build`. Whatever an entry gives in world components goes through
``n.point`` or ``n.vector``, so that the same model can be built anywhere in space.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import (
    Beam,
    BeamSection,
    DistributedLoad,
    FixedJoint,
    Force,
    Moment,
    PointMass,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
    SpinUp,
)
from fem_mbs.lie import so3
from fem_mbs.model import Constraint, Element

GROUPS = ("R3xSO3", "SE3", "mixed")
GRAVITY = np.array([0.3, 0.2, -9.0])


@dataclass(frozen=True)
class Pose:
    """A rigid motion of everything: ``x -> Q x + c``."""

    Q: Array
    c: Array

    def point(self, p: ArrayLike) -> Array:
        return self.Q @ p + self.c

    def vector(self, v: ArrayLike) -> Array:
        return self.Q @ np.asarray(v)


HOME = Pose(np.eye(3), np.zeros(3))
AWAY = Pose(so3.exp(np.array([1.0, -2.0, 0.7])), np.array([3.0, -1.0, 2.0]))


@dataclass(frozen=True)
class Nodes:
    """Nodes to build on: three on a straight line, three on an arc of 50 degrees, all turned arbitrarily."""

    line: list[mbs.Node]
    arc: list[mbs.Node]
    point: Callable[[ArrayLike], Array]
    vector: Callable[[ArrayLike], Array]


def build(
    *entries: Callable[[Nodes], Element | Constraint], group: str = "R3xSO3", pose: Pose = HOME
) -> tuple[mbs.Model, list[Element | Constraint]]:
    """Model with the parts of ``entries``; ``group`` "mixed" puts every other node on SE(3)."""
    rng = np.random.default_rng(5)
    model = mbs.Model("R3xSO3" if group == "mixed" else group, pose.vector(GRAVITY))

    def nodes(points: Array) -> list[mbs.Node]:
        made = []
        for k, p in enumerate(points):
            own = ("SE3", "R3xSO3")[k % 2] if group == "mixed" else None
            made.append(model.add_node(pose.point(p), pose.Q @ so3.exp(rng.normal(size=3)), group=own))
        return made

    angle = np.radians([0.0, 20.0, 50.0])
    arc = np.stack([np.sin(angle), 1 - np.cos(angle), 0.5 * np.ones(3)], axis=1)
    line = np.outer([0.0, 0.8, 1.5], [2.0, 1.0, -1.0]) / np.sqrt(6)
    n = Nodes(nodes(line), nodes(arc), pose.point, pose.vector)
    return model, [model.add(entry(n)) for entry in entries]


PLAIN = BeamSection(EA=30.0, GA=(10.0, 12.0), GJ=3.0, EI=(4.0, 5.0), mass=1.3, inertia=(0.3, 0.1, 0.2))


def _coupled() -> BeamSection:
    """Fully coupled stiffness and a mass centre off the line of nodes."""
    A = np.random.default_rng(2).normal(size=(6, 6))
    offset = so3.skew(np.array([0.0, 0.1, 0.2]))
    J = np.diag([0.4, 0.3, 0.2]) - 1.5 * offset @ offset
    mass = np.block([[1.5 * np.eye(3), -1.5 * offset], [1.5 * offset, J]])
    return BeamSection.general(3.0 * A @ A.T + 5.0 * np.eye(6), mass)


COUPLED = _coupled()
SHAPES = ("straight", "curved", "twisted with offsets")
INTERPOLATIONS = ("SE3", "R3xSO3")


def _beam(shape: str, section: BeamSection, interpolation: str, n: Nodes) -> Beam:
    if shape == "twisted with offsets":
        axes = [n.vector(y) for y in ((0, 1, 2), (0, 2, 1), (0, 2, -1))]
        return Beam(n.line, section, axes, interpolation, n.point((0.1, -0.3, 0.2)), n.point((1.4, 0.5, -0.9)))
    return Beam(n.line if shape == "straight" else n.arc, section, n.vector((0, 1, 2)), interpolation)


def _beams(sections: dict[str, BeamSection]) -> dict[str, Callable[[Nodes], Element]]:
    return {
        f"{interpolation} beam, {shape}, {name}": partial(_beam, shape, sections[name], interpolation)
        for interpolation, shape, name in product(INTERPOLATIONS, SHAPES, sections)
    }


ELEMENTS: dict[str, Callable[[Nodes], Element]] = {
    "rigid body": lambda n: RigidBody(n.line[1], 2.0, (1.0, 2.0, 2.5), (0.1, 0.2, 0.3)),
    "centred rigid body": lambda n: RigidBody(n.line[2], 2.0, np.diag([1.0, 2.0, 2.5]) + 0.1),
    "point mass": lambda n: PointMass(n.arc[1], 2.0),
    **_beams({"plain": PLAIN, "coupled": COUPLED}),
}
"""Elements whose energies say all about them."""

DAMPED: dict[str, Callable[[Nodes], Element]] = {
    **_beams({"plain damped": PLAIN.with_damping(0.3), "coupled damped": COUPLED.with_damping(0.2)}),
}
"""Elements that lose energy."""

LOADS: dict[str, Callable[[Nodes], Element]] = {
    "world force": lambda n: Force(n.line[1], lambda t: n.vector((2.0 * t, 1.0, -3.0)), point=(0.1, 0.3, -0.2)),
    "body force": lambda n: Force(n.line[1], (2.0, 1.0, -3.0), frame="body", point=(0.1, 0.3, -0.2)),
    "world moment": lambda n: Moment(n.arc[1], n.vector((2.0, 1.0, -3.0))),
    "body moment": lambda n: Moment(n.arc[1], lambda t: (2.0, 1.0 + t, -3.0), frame="body"),
}
"""Elements that bring energy from outside, at a node."""

DISTRIBUTED: dict[str, Callable[[Nodes], Element]] = {
    "dead distributed load": lambda n: DistributedLoad(
        _beam("curved", PLAIN, "SE3", n), n.vector((2.0, 1.0, -3.0)), lambda t: n.vector((t, 0.5, 2.0))
    ),
    "distributed load that follows": lambda n: DistributedLoad(
        _beam("curved", PLAIN, "R3xSO3", n), lambda t: (2.0 * t, 1.0, -3.0), (0.4, -0.3, 2.0), frame="body"
    ),
    "distributed load that follows, linear, with offsets": lambda n: DistributedLoad(
        _beam("twisted with offsets", PLAIN, "SE3", n), [(2.0, 1, -3), (0, 2, 1), (1, 1, 1)], (0.4, -0.3, 2.0), "body"
    ),
    "dead distributed load, linear, with offsets": lambda n: DistributedLoad(
        _beam("twisted with offsets", PLAIN, "SE3", n), lambda t: [n.vector((2.0, k * t, -3)) for k in range(3)]
    ),
}
"""Elements that bring energy from outside, along a beam."""

JOINTS: dict[str, Callable[[Nodes], Constraint]] = {
    "spherical": lambda n: SphericalJoint(n.line[0], n.line[1], n.point((0.4, 0.1, -0.2))),
    "revolute": lambda n: RevoluteJoint(n.line[1], n.arc[0], n.vector((1, 2, -1)), n.point((0.4, 0.1, -0.2))),
    "hinge at node b": lambda n: RevoluteJoint(n.line[0], n.line[1], n.vector((0, 0, 1))),
    "hinge driven by a law": lambda n: RevoluteJoint(
        n.line[1], n.arc[0], n.vector((1, 2, -1)), n.point((0.4, 0.1, -0.2)), drive=SpinUp(-3.0, 2.0)
    ),
    "hinge driven by a function": lambda n: RevoluteJoint(
        n.line[1], n.arc[0], n.vector((1, 2, -1)), n.point((0.4, 0.1, -0.2)), drive=lambda t: 0.6 * t + 0.2 * np.sin(t)
    ),
    "fixed": lambda n: FixedJoint(n.line[1], n.arc[2], n.point((0.4, 0.1, -0.2))),
    "ball moved by a function": lambda n: SphericalJoint(
        n.line[1],
        n.arc[0],
        n.point((0.4, 0.1, -0.2)),
        lambda t: n.vector((0.3 * np.sin(2 * t), np.sin(t) ** 2, 0.1 * t)),
    ),
}

EVERYTHING = {**ELEMENTS, **DAMPED, **LOADS, **DISTRIBUTED, **JOINTS}
