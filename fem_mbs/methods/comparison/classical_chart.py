"""Classical coordinates of nodes: world positions, and Tait-Bryan angles or Euler parameters.

Holzinger, Arnold, Gerstmayr (2024), section 2.1: with ``q = (x, c)`` the velocities on R3xSO3 are ``v = H(q) q'``,
``H = diag(I, G)``, whatever group the nodes of the model carry. Rotations that are held stay as they are; their
coordinates count from there, so that no singularity concerns them.

The norm of Euler parameters is a constraint of index 3 whose rate no equation closes, and becomes unstable. A unit
quaternion turns by half the angle of the body, so that the limit is twice that of docs/theory.md, "Index 3 and its
limit". The rate ``e.e'`` alternates and grows until Newton's method fails or, worse, does not.
"""

from __future__ import annotations

import numpy as np

from fem_mbs.alpha.index3_limit import ASTRAY, limit
from fem_mbs.arrays import Array, BoolArray
from fem_mbs.errors import ConvergenceError
from fem_mbs.lie.parametrization import Tangents
from fem_mbs.lie.rotation_coordinates import RotationCoordinates
from fem_mbs.methods.comparison.updated_lagrangian import LocalChart
from fem_mbs.system.kinematics import R3xSO3
from fem_mbs.system.system import System


def check_norm(system: System, t: float, rho_inf: float, before: Array, c: Array, dc: Array, ddc: Array) -> None:
    """Refuse a step to ``t`` after which rates (n, 4) of Euler parameters ``c`` leave the unit sphere."""
    missed = np.abs(np.vecdot(c, dc))
    # a body that turns back is at rest for an instant
    size = max(np.vecdot(dc, dc).max() ** 0.5, np.vecdot(ddc, ddc).max() ** 0.25)
    if missed.max() <= ASTRAY * size:
        return
    worst = int(np.argmax(missed))
    turn = 2.0 * float(np.linalg.norm((c - before)[worst]))
    raise ConvergenceError(
        f"{system.nodes[worst]}: at t = {t:.6g} s the rates of its Euler parameters leave the unit sphere by "
        f"{100.0 * missed[worst] / size:.0f} % of the largest: their norm, a constraint of index 3, is unstable. The "
        f"node turned by {turn:.2g} rad in the step, and with rho_inf = {rho_inf:g} it becomes so above about "
        f"{2.0 * limit(rho_inf):.2g} rad. Try a smaller step, a smaller rho_inf, or a method on the group such as "
        "GeneralizedAlpha; the error has the steps so far as its solution",
        t,
    )


def held(system: System) -> BoolArray:
    """True for nodes ``(n,)`` whose rotations are held."""
    result: BoolArray = ~system.free[:, 3]
    return result


def rotations_of(system: System, kind: type[RotationCoordinates], R: Array) -> Array:
    """Coordinates ``(n, l)`` of the rotations of all nodes."""
    return np.where(held(system)[:, None], kind.zero, kind.coordinates(R))


def to_world(system: System, R: Array, v: Array, vdot: Array) -> Array:
    """Velocities and accelerations ``(2, n, 6)`` on R3xSO3 from those on the groups of the system."""
    return R3xSO3.from_body(R, system.kinematics.motion(R, np.stack([v, vdot])))


def from_world(system: System, R: Array, lifted: Array) -> tuple[Array, Array]:
    """Velocities and accelerations ``(n, 6)`` on the groups of the system from those on R3xSO3."""
    V, A = R3xSO3.motion(R, lifted)
    return system.kinematics.from_body(R, V), system.kinematics.vdot(R, V, A)


class ClassicalChart(LocalChart):
    """Increments of classical coordinates from those of rotations ``start`` (n, l), ``D`` (n, 3 + l)."""

    def __init__(self, system: System, kind: type[RotationCoordinates], start: Array) -> None:
        self.kinematics, self.kind, self.start = R3xSO3(), kind, start
        self.held, self.width = held(system), 3 + kind.size

    def rotations(self, D: Array) -> Array:
        """Coordinates of the rotations ``(n, l)``."""
        c: Array = self.start + D[:, 3:]
        return c

    def closed(self, D: Array) -> Array:
        """The increment next to ``D`` whose rotations obey the constraint of their coordinates."""
        return np.append(D[:, :3], self.kind.closed(self.rotations(D)) - self.start, 1)

    def retract(self, x: Array, R: Array, D: Array) -> tuple[Array, Array]:
        """World positions are added, rotations follow from their coordinates."""
        turned = self.kind.rotation(self.rotations(D))
        return x + D[:, :3], np.where(self.held[:, None, None], R, turned)

    def derivatives(self, D: Array, rates: Array, factors: Array) -> tuple[Array, Array]:
        """With ``H^-1``, or the inverse along the constraint of the coordinates."""
        own = self._tangents(D, *rates)
        H_inv = self.inverse(D)
        by_position = np.stack([own.by_position, own.rate_by_position])
        return H_inv, (self._along_rates(own, factors) + by_position) @ H_inv

    def lower(self, lifted: Array, D: Array | None = None) -> Array:
        """First and second rates ``(2, n, 3 + l)`` from velocities and accelerations, the inverse of :meth:`lift`.

        At the start of a step, if not at an increment ``D`` from there.
        """
        D = np.zeros((len(self.start), self.width)) if D is None else D
        c, H_inv = self.rotations(D), self.inverse(D)
        first = np.matvec(H_inv, lifted[0])
        dc = first[:, 3:]
        acceleration = lifted[1].copy()
        acceleration[:, 3:] -= np.matvec(self.kind.tangents(c, dc, dc).rate, dc)
        second = np.matvec(H_inv, acceleration)
        second[:, 3:] += self.kind.bend(c, dc)
        return np.stack([first, second])

    def matrix(self, D: Array) -> Array:
        """``H`` (n, 6, 3 + l), eqs. 6, 7 of Holzinger, Arnold, Gerstmayr (2024)."""
        H = np.zeros((len(D), 6, self.width))
        H[:, :3, :3] = np.eye(3)
        H[:, 3:, 3:] = self.kind.jacobian(self.rotations(D))
        return H

    def inverse(self, D: Array) -> Array:
        """``H^-1`` (n, 3 + l, 6)."""
        H_inv = np.zeros((len(D), self.width, 6))
        H_inv[:, :3, :3] = np.eye(3)
        H_inv[:, 3:, 3:] = self.kind.rates(self.rotations(D))
        return H_inv

    def _tangents(self, D: Array, dD: Array, ddD: Array) -> Tangents:
        whole = Tangents(*np.zeros((4, len(D), 6, self.width)))
        whole.T[:, :3, :3] = np.eye(3)
        own = self.kind.tangents(self.rotations(D), dD[:, 3:], ddD[:, 3:])
        for matrix, block in zip(whole, own, strict=True):
            matrix[:, 3:, 3:] = block
        return whole
