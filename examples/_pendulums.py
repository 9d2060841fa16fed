"""A single and a double pendulum in space, of one and two bodies on ball joints.

After *Euler methods on Lie group for DAEs of multibody systems* (Advances in Mechanical Engineering, 2018), which does
not print its data in full. Those here are our own, and so are the exact motions, which two independent formulations in
few coordinates gave.
"""

from __future__ import annotations

import numpy as np

from fem_mbs import Model
from fem_mbs.elements import RigidBody, SphericalJoint

G = (0, 0, -9.81)
ALONG_X = np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])
ALONG_Y = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])
"""Rotations that lay the z axis of a body along x and y of the world."""
EXACT = {  # mass centres after 0.5 and 1 s
    "single": [[(0.00811161, -0.07413164, -0.29058338)], [(-0.27423967, 0.11707938, -0.03293969)]],
    "double": [
        [(0.04829624, 0.02318291, -0.29517796), (0.23889681, 0.15193390, -0.76672160)],
        [(-0.25201819, -0.11573486, -0.11442149), (-0.73516396, -0.19212210, -0.14205702)],
    ],
}


def single(group: str = "R3xSO3") -> Model:
    """Body "pendulum" with its node at the mass centre, on a ball joint "pivot" at the origin."""
    model = Model(group, gravity=G)
    c, Omega = np.array([0, 0, 0.3]), np.array([1, 0.5, 2])
    node = model.add_node(ALONG_X @ c, ALONG_X, ALONG_X @ np.cross(Omega, c), Omega, name="pendulum")
    model.add(RigidBody(node, 1.0, (0.13, 0.28, 0.17)))
    model.add(SphericalJoint(model.ground, node, point=(0, 0, 0)), name="pivot")
    return model


def double(group: str = "R3xSO3") -> Model:
    """Bodies "upper" and "lower" on ball joints "pivot" and "elbow"."""
    model = Model(group, gravity=G)
    c, end, Omega = np.array([0, 0, 0.3]), np.array([0, 0, 0.6]), np.array([0, 0.5, 1])
    upper = model.add_node(ALONG_X @ c, ALONG_X, ALONG_X @ np.cross(Omega, c), Omega, name="upper")
    elbow, speed = ALONG_X @ end, ALONG_X @ np.cross(Omega, end)
    c, Omega = np.array([0, 0, 0.25]), np.array([1, 0, -1])
    lower = model.add_node(elbow + ALONG_Y @ c, ALONG_Y, speed + ALONG_Y @ np.cross(Omega, c), Omega, name="lower")
    model.add(RigidBody(upper, 1.0, (0.13, 0.28, 0.17)))
    model.add(RigidBody(lower, 0.6, (0.05, 0.08, 0.04)))
    model.add(SphericalJoint(model.ground, upper, point=(0, 0, 0)), name="pivot")
    model.add(SphericalJoint(upper, lower, point=elbow), name="elbow")
    return model
