"""Newton's and Euler's recursion along a chain of hinges: the torques that a motion takes (Luh, Walker, Paul 1980)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fem_mbs.arrays import Array

Body = tuple[float, Array, Array]
"""Mass, its centre (3,) in the frame of the link, principal inertias (3,) about it."""


def torques(
    x: Sequence[Array], R: Sequence[Array], bodies: Sequence[Sequence[Body]], rate: Array, acceleration: Array, g: float
) -> Array:
    """Torques (n,) about the third axes of the frames ``R[i]`` at ``x[i]``, which link ``i + 1`` turns about.

    ``bodies[i]`` belong to the frame ``R[i + 1]``; rates and accelerations (n,) of the hinges.
    """
    omega = alpha = np.zeros(3)
    a = np.array([0.0, 0.0, g])
    loads = []
    for i, own in enumerate(bodies):
        z, way = R[i][:, 2], x[i + 1] - x[i]
        alpha = alpha + acceleration[i] * z + rate[i] * np.cross(omega, z)
        omega = omega + rate[i] * z
        force, moment = np.zeros(3), np.zeros(3)
        for mass, center, principal in own:
            arm, J = way + R[i + 1] @ center, R[i + 1] @ np.diag(principal) @ R[i + 1].T
            inertia = mass * (a + np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm)))
            force = force + inertia
            moment = moment + np.cross(arm, inertia) + J @ alpha + np.cross(omega, J @ omega)
        a = a + np.cross(alpha, way) + np.cross(omega, np.cross(omega, way))
        loads.append((z, way, force, moment))
    result, force, moment = [], np.zeros(3), np.zeros(3)
    for z, way, own_force, own_moment in reversed(loads):
        moment = moment + np.cross(way, force) + own_moment
        force = force + own_force
        result.append(z @ moment)
    return np.array(result[::-1])
