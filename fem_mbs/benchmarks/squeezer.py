"""IFToMM A03, Andrews' squeezing mechanism, as in the test set of initial value problems (Mazzia, Magherini 2008).

Seven bodies in a plane; three rods and a triangle meet at E. Angles ``q`` and lengths are named as in the test set.
"""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import TEST_SET, BenchmarkProblem, Quantity, case, check
from fem_mbs.contracts import Node
from fem_mbs.elements import Moment, RevoluteJoint, RigidBody, SpringDamper
from fem_mbs.model.model import Model
from fem_mbs.solution.solution import Solution

MOTION = {  # of each angle: at the start, after 30 ms, and its rate then
    "beta": (-0.0617138900142764496, 15.81077119629904, 1139.920302151208),
    "Theta": (0.0, -15.75637105984298, -1424.379294994111),
    "gamma": (0.455279819163070380, 0.04082224013073101, 11.03291221937134),
    "Phi": (0.222668390165885885, -0.5347301163226948, 19.29337464421385),
    "delta": (0.487364979543842551, 0.5244099658805304, 0.5735699284790808),
    "Omega": (-0.222668390165885885, 0.5347301163226948, -19.29337464421385),
    "epsilon": (1.23054744454982119, 1.048080741042263, 0.3231791658026955),
}
NAMES, (START, ANGLES, RATES) = tuple(MOTION), zip(*MOTION.values(), strict=True)
FORCES = (
    199.1753333731910,
    -29.75531228015052,
    23.06654119098399,
    31.45271365475927,
    22.64249232082739,
    11.61740700019673,
)
"""Multipliers at the end: what the triangle, the rod from G and the rod from H are pushed with at E."""
AT_E = ("E 1", "E 2", "E 3")


def _along(angle: float, x: float, y: float) -> Array:
    """A place that is given along a line at an angle from x, and across it to the left."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c * x - s * y, s * x + c * y, 0.0])


def squeezer(group: str = "R3xSO3") -> Model:
    """Bodies by the points of the test set, the hinges of its angles by name, and hinges "E 1" to "E 3" at E."""
    beta, Theta, gamma, Phi, delta, Omega, epsilon = START
    A, B = np.array([-0.06934, -0.00227, 0]), np.array([-0.03635, 0.03273, 0])
    F = _along(beta, 0.007, 0)
    E = F - _along(beta + Theta, 0.028, 0)
    G, H = A + _along(delta, 0.04, 0), A + _along(epsilon, 0, -0.04)
    model = Model(group)

    def body(name: str, mass: float, inertia: float, place: Array) -> Node:
        node = model.add_node(place, name=name)
        model.add(RigidBody(node, mass, (inertia, inertia, inertia)))
        return node

    crank = body("OF", 0.04325, 2.194e-6, _along(beta, 0.00092, 0))
    fe = body("FE", 0.00365, 4.41e-7, F - _along(beta + Theta, 0.0115, 0))
    triangle = body("BDE", 0.02373, 5.255e-6, B + _along(gamma, 0.01043, -0.01874))
    ge = body("GE", 0.00706, 5.667e-7, G + _along(Phi + delta, 0, 0.01421 - 0.02))
    ag = body("AG", 0.0705, 1.169e-5, A + _along(delta, 0.02308, 0.00916))
    he = body("HE", 0.00706, 5.667e-7, H + _along(Omega + epsilon, 0.02 - 0.01421, 0))
    ah = body("AH", 0.05498, 1.912e-5, A + _along(epsilon, -0.00449, -0.01228))

    def hinge(name: str, a: Node, b: Node, point: Array) -> None:
        model.add(RevoluteJoint(a, b, axis=(0, 0, 1), point=point), name=name)

    ground = model.ground
    hinge("beta", ground, crank, np.zeros(3))
    hinge("Theta", crank, fe, F)
    hinge("gamma", ground, triangle, B)
    hinge("Phi", ag, ge, G)
    hinge("delta", ground, ag, A)
    hinge("Omega", ah, he, H)
    hinge("epsilon", ground, ah, A)
    for name, other in zip(AT_E, (triangle, ge, he), strict=True):
        hinge(name, fe, other, E)
    model.add(Moment(crank, (0, 0, 0.033)))
    D, C = B + _along(gamma, 0.02, -0.018), np.array([0.014, 0.072, 0])
    model.add(SpringDamper(ground, triangle, 4530.0, free_length=0.07785, point_a=C, point_b=D))
    return model


def read(solution: Solution) -> Array:
    """Angles, rates and forces at E ``(nt, 20)``."""
    angles = np.array(START) + np.stack([solution.angle(name) for name in NAMES], axis=-1)
    rates = np.stack([solution.coordinate_rate(name) for name in NAMES], axis=-1)
    forces = np.concatenate([solution.reaction(name)[0][:, :2] for name in AT_E], axis=-1)
    return np.concatenate([angles, rates, forces], axis=-1)


SQUEEZER = BenchmarkProblem(
    "A03 squeezer",
    0.03,
    squeezer,
    read,
    (*NAMES, *(f"rate of {name}" for name in NAMES), *(f"force {k} at E" for k in range(1, 7))),
    (0.03,),
    lambda: np.array([[*ANGLES, *RATES, *FORCES]]),
    (15.8, 15.8, *5 * [1.0], 1140.0, 1424.0, *5 * [19.3], *6 * [199.0]),
)


@case("IFToMM A03, Andrews' squeezer", "machines")
def squeezer_case() -> list[Quantity]:
    """Andrews' squeezing mechanism after 30 ms: angles, rates, and the forces at the joint of four bodies."""
    return check(SQUEEZER, (250, 500, 1000), 2e-4, TEST_SET)
