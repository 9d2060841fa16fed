"""Fekete points of the test set of initial value problems (Mazzia, Magherini 2008): where points on a sphere rest."""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import TEST_SET, Quantity, case, compared
from fem_mbs.elements import DistanceJoint, JointSpring, OrientationJoint, PointMass, SpringDamper
from fem_mbs.methods.radau import RadauIIA
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate
from fem_mbs.run.variable_step import VariableStep

RINGS = ((3, 1, 1 / 13, 3 / 8), (7, 1, 1 / 29, 1 / 8), (6, 1, 1 / 7, -2 / 15), (4, 0, 1 / 17, -3 / 10))
"""Of the points at the start: how many, number of the first, turn of the ring and latitude over pi."""
RESTS = {  # number of a point: its place at t = 1000
    1: (-0.4070263380333202, 0.3463758772791802, 0.8451942450030429),
    7: (-0.6385191643609878, -0.4310833259390688, 0.6375425027722121),
    13: (-0.8665731819284478, -0.4813878059756024, -0.1315929352982178),
    20: (0.2414481766969039, -0.3416456818373135, -0.908284650344625),
}


def _start() -> Array:
    """Places ``(20, 3)`` on rings."""
    rings = []
    for count, first, turn, latitude in RINGS:
        a, b = np.pi * (2 * np.arange(first, first + count) / count + turn), np.pi * latitude
        rings.append(np.stack([np.cos(a) * np.cos(b), np.sin(a) * np.cos(b), np.full(count, np.sin(b))], axis=-1))
    return np.concatenate(rings)


def _push(t: float, length: float, speed: float) -> float:
    return -1 / length


def fekete(group: str = "R3xSO3") -> Model:
    """Points "1" to "20" of mass 1 on the unit sphere, which push each other away by 1/distance, with drag."""
    model = Model(group)
    for k, place in enumerate(_start(), 1):
        node = model.add_node(place, name=f"{k}")
        model.add(PointMass(node, 1.0))
        model.add(DistanceJoint(model.ground, node, point_a=(0, 0, 0)))
        way = model.add(OrientationJoint(model.ground, node))
        for axis in "xyz":
            model.add(JointSpring(way, 0.0, damping=0.5, coordinate=f"translation {axis}"))
        for other in range(1, k):
            model.add(SpringDamper(model[f"{other}"], node, force=_push))
    return model


@case("Fekete points", "machines", slow=True)
def fekete_case() -> list[Quantity]:
    """Twenty points on a sphere repel each other, with drag, until they rest: 190 forces, places after 1000 s."""
    solution = simulate(fekete(), 1000.0, VariableStep(1e-4), RadauIIA(), times=[0.0, 1000.0])
    places = np.concatenate([solution.position(f"{k}")[-1] for k in RESTS])
    names = [f"{axis} of point {k}" for k in RESTS for axis in "xyz"]
    return compared(names, places, np.ravel([*RESTS.values()]), 1e-8, TEST_SET, 1.0)
