"""Rigid bodies on chains of hinges and slides in minimal coordinates: a solution that shares nothing with the library.

Poses are products of exponentials as built, ``x -> Q x + c`` for whatever was at ``x`` (Brockett 1984); twists
``(omega, velocity of what passes the origin)`` of the hinges and slides are columns of the Jacobians, and their rates
``ad`` of them; Jourdain's principle gives ``J^T (M a + ...) = J^T f``. Any joint is a list of hinges and slides whose
coordinates are ``s = A q + d(t)``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from fem_mbs.arrays import Array

GRAVITY = np.array([0.0, 0.0, -9.81])


class Pair(NamedTuple):
    """A hinge about an axis through a point, or a slide along an axis, in the world as built."""

    axis: Array
    point: Array | None = None


class Solid(NamedTuple):
    """A rigid body behind the first ``after`` pairs: mass, mass centre and inertia about it, in the world as built."""

    after: int
    mass: float
    center: Array
    inertia: Array


class Pose(NamedTuple):
    """Where something is, how it moves and the Jacobian and the bias of its acceleration."""

    Q: Array
    c: Array
    twist: Array
    J: Array
    """``(6, k)``, against rates of the pairs."""
    bias: Array


class Moving(NamedTuple):
    """A body at an instant: its placement, and force and moment about a point that it takes, gravity apart."""

    Q: Array
    c: Array
    twist: Array
    force: Array
    moment: Array


def _still(t: float) -> tuple[float, float, float]:
    return 0.0, 0.0, 0.0


@dataclass(frozen=True)
class Chain:
    """Pairs one after the other from the ground, with solids on them.

    ``A`` (k, n) is how the pairs follow the minimal coordinates; ``drives`` add what is prescribed, with two
    derivatives, to pairs by their number.
    """

    pairs: Sequence[Pair]
    solids: Sequence[Solid]
    A: Array
    drives: dict[int, Callable[[float], tuple[float, float, float]]]

    def poses(self, q: Array, rate: Array, t: float) -> list[Pose]:
        """After each of the pairs, the ground first."""
        k = len(self.pairs)
        d = np.array([self.drives.get(i, _still)(t) for i in range(k)])
        s, speed = self.A @ q + d[:, 0], self.A @ rate + d[:, 1]
        poses = [Pose(np.eye(3), np.zeros(3), np.zeros(6), np.zeros((6, k)), np.zeros(6))]
        for i, (axis, point) in enumerate(self.pairs):
            Q, c, twist, J, bias = poses[-1]
            z = Q @ axis
            if point is None:
                own, Q_next, c_next = np.append(np.zeros(3), z), Q, c + s[i] * z
            else:
                p, turn = Q @ point + c, rotation(s[i] * z)
                own, Q_next, c_next = np.append(z, cross(p, z)), turn @ Q, turn @ (c - p) + p
            turning = np.append(cross(twist[:3], own[:3]), cross(twist[3:], own[:3]) + cross(twist[:3], own[3:]))
            J = J.copy()
            J[:, i] = own
            poses.append(Pose(Q_next, c_next, twist + own * speed[i], J, bias + turning * speed[i] + own * d[i, 2]))
        return poses

    def accelerations(self, q: Array, rate: Array, t: float) -> Array:
        """Second derivatives of the minimal coordinates."""
        poses, n = self.poses(q, rate, t), len(q)
        M, right = np.zeros((n, n)), np.zeros(n)
        for solid in self.solids:
            pose = poses[solid.after]
            at, inertia, omega = self._solid(solid, pose)
            J_w = pose.J[:3] @ self.A
            J_v = pose.J[3:] @ self.A - skew(at) @ J_w
            bias = pose.bias[3:] + cross(pose.bias[:3], at) + cross(omega, pose.twist[3:] + cross(omega, at))
            M += solid.mass * J_v.T @ J_v + J_w.T @ inertia @ J_w
            right -= solid.mass * J_v.T @ (bias - GRAVITY)
            right -= J_w.T @ (inertia @ pose.bias[:3] + cross(omega, inertia @ omega))
        return np.linalg.solve(M, right)

    def solve(self, q: Array, rate: Array, times: Array) -> tuple[Array, Array]:
        """Coordinates and rates ``(nt, n)``."""
        n = len(q)

        def slope(t: float, y: Array) -> Array:
            return np.append(y[n:], self.accelerations(y[:n], y[n:], t))

        found = solve_ivp(
            slope, (0.0, times[-1]), np.append(q, rate), method="DOP853", t_eval=times, rtol=1e-11, atol=1e-12
        )
        return found.y[:n].T, found.y[n:].T

    def moving(self, q: Array, rate: Array, t: float, solid: Solid, point: Array) -> Moving:
        """A solid in motion, with force and moment about its ``point``, world frame, by Newton and Euler."""
        pose = self.poses(q, rate, t)[solid.after]
        acceleration = pose.bias + pose.J @ (self.A @ self.accelerations(q, rate, t))
        at, inertia, omega = self._solid(solid, pose)
        whole = acceleration[3:] + cross(acceleration[:3], at) + cross(omega, pose.twist[3:] + cross(omega, at))
        force = solid.mass * (whole - GRAVITY)
        moment = inertia @ acceleration[:3] + cross(omega, inertia @ omega)
        moment += cross(at - (pose.Q @ point + pose.c), force)
        return Moving(pose.Q, pose.c, pose.twist, force, moment)

    @staticmethod
    def _solid(solid: Solid, pose: Pose) -> tuple[Array, Array, Array]:
        return pose.Q @ solid.center + pose.c, pose.Q @ solid.inertia @ pose.Q.T, pose.twist[:3]


def cross(a: Array, b: Array) -> Array:
    """Of two vectors, where ``np.cross`` takes ten times as long."""
    (a0, a1, a2), (b0, b1, b2) = a.tolist(), b.tolist()
    return np.array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])


def skew(a: Array) -> Array:
    """The matrix of ``cross(a, .)``."""
    x, y, z = a
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def rotation(w: Array) -> Array:
    """Rodrigues' formula."""
    angle = float(np.linalg.norm(w))
    if angle == 0.0:
        return np.eye(3)
    across = skew(w / angle)
    return np.asarray(np.eye(3) + np.sin(angle) * across + (1.0 - np.cos(angle)) * across @ across)
