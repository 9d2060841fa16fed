"""The floating frame of a flexible body: a function of its interfaces and amplitudes, not unknowns of its own.

Interface ``i`` is at ``X_i`` of the body as built, ``Tr(X_i)`` its translation. Seen from a frame ``H_0``, coordinates
of the deformation are ``q = (d_1 ... d_p, eta)``,

    d_i = log(Tr(X_i)^-1 H_0^-1 H_i),   d_i' = T^-1(d_i) v_i - T^-1(-d_i) A_i V_0,   A_i = Ad(Tr(X_i)^-1),

and the frame is the one from which ``P q = 0``: with the rows of momentum in ``P``, the mean frame, from which the
deformation has no momentum (linearised Tisserand conditions; Schwertassek, Wallrapp, Shabana 1999); with the rows of a
node, that node. With ``L`` of ``T^-1(-d_i) A_i``, ``D`` of ``T^-1(d_i)`` and ones for ``eta``,

    V_0 = N D v,   q' = D v - L V_0,   N = (P L)^-1 P:

all is seen from the frame, so that rigid motions change nothing, on any group (docs/flexible.md, "The frame").
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contracts import se3, so3
from fem_mbs.lie.parametrization import ScrewRates

ITERATIONS, SETTLED = 30, 1e-8
"""Newton's method for the frame ends after a correction, in rad and sizes of the body, whose square is rounding."""


def blocks(parts: Array, size: int) -> Array:
    """Matrices ``(n, size, size)`` with ``parts`` (n, p, 6, 6) on the diagonal, zero for amplitudes."""
    n, p = parts.shape[:2]
    result = np.zeros((n, size, size))
    for i in range(p):
        result[:, 6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = parts[:, i]
    return result


def columns(parts: Array, size: int) -> Array:
    """Matrices ``(n, size, 6)`` of ``parts`` (n, p, 6, 6) one below the other, zero for amplitudes."""
    n, p = parts.shape[:2]
    result = np.zeros((n, size, 6))
    result[:, : 6 * p] = parts.reshape(n, 6 * p, 6)
    return result


def carried(places: Array) -> Array:
    """``A_i`` (..., 6, 6) of interfaces at ``places`` (..., 3)."""
    result = np.zeros((*places.shape[:-1], 6, 6))
    result[...] = np.eye(6)
    result[..., :3, 3:] = -so3.skew(places)
    return result


class FloatingFrame(NamedTuple):
    """Where the floating frames are, ``x`` (n, 3) and ``R`` (n, 3, 3), and how interfaces stand to them."""

    x: Array
    R: Array
    d: Array
    """``d_i`` (n, p, 6)."""
    settled: BoolArray
    """Whether it was found, ``(n,)``."""


def find(x: Array, R: Array, eta: Array, places: Array, A: Array, P: Array, size: Array) -> FloatingFrame:
    """Frames of interfaces at ``x`` (n, p, 3), body axes there ``R`` (n, p, 3, 3), and amplitudes ``eta`` (n, m)."""
    n, p = x.shape[:2]
    R0 = R[:, 0]
    x0 = x[:, 0] - np.matvec(R0, places[:, 0])
    P_eta = np.matvec(P[..., 6 * p :], eta)
    unit = np.concatenate([np.repeat(1.0 / size[:, None], 3, axis=1), np.ones((n, 3))], axis=1)
    settled = np.zeros(n, np.bool_)
    for _ in range(ITERATIONS):
        d = _seen(x, R, x0, R0, places)
        if settled.all():
            break
        L = (ScrewRates(d).backward() @ A).reshape(n, 6 * p, 6)
        inside = P[..., : 6 * p]
        step = np.linalg.solve(inside @ L, (np.matvec(inside, d.reshape(n, -1)) + P_eta)[..., None])[..., 0]
        turn, move = se3.exp(step)
        R0, x0 = R0 @ turn, x0 + np.matvec(R0, move)
        settled = np.abs(step * unit).max(axis=1) < SETTLED
    return FloatingFrame(x0, R0, d, settled)


def _seen(x: Array, R: Array, x0: Array, R0: Array, places: Array) -> Array:
    back = R0.mT[:, None]
    return se3.log(back @ R, np.matvec(back, x - x0[:, None]) - places)


class FrameRates:
    """How the frame and the coordinates move with velocities ``v`` (n, K) of interfaces, body axes, and amplitudes.

    Attributes
    ----------
    V, A : (n, 6)
        Velocity of the frame, and its derivative: of its components.
    q_dot, q_ddot : (n, K)
        FrameRates of the coordinates.
    N, Pi : (n, 6, K), (n, K, K)
        ``V_0 = N z`` and ``q' = Pi z`` of ``z = D v``.
    """

    def __init__(self, d: Array, A: Array, P: Array, turned: Array, v: Array, v_dot: Array) -> None:
        self.K, self.p = P.shape[-1], d.shape[1]
        self._A, self._screw, self._turned, self._v, self._v_dot = A, ScrewRates(d), turned, v, v_dot
        self.forward, backward = self._screw.forward(), self._screw.backward()
        self.L = columns(backward @ A, self.K)
        self.D = self._with_amplitudes(self.forward @ turned)
        self.N = np.linalg.solve(P @ self.L, P)
        self.Pi = np.eye(self.K) - self.L @ self.N
        self.V, self.q_dot = self._project(np.matvec(self.D, v))
        self.E = self._by_coordinates(v, self.V)
        self.A, self.q_ddot = self._project(np.matvec(self.D, v_dot) + np.matvec(self.E, self.q_dot))

    def _project(self, z: Array) -> tuple[Array, Array]:
        return np.matvec(self.N, z), np.matvec(self.Pi, z)

    def _with_amplitudes(self, parts: Array) -> Array:
        result = blocks(parts, self.K)
        own = np.arange(6 * self.p, self.K)
        result[:, own, own] = 1.0
        return result

    def _ends(self, v: Array, V: Array) -> tuple[Array, Array]:
        """Velocities ``(n, p, 6)`` at interfaces: against the frame, and of the frame."""
        carried_there = np.matvec(self._A, V[:, None])
        own = np.matvec(self._turned, v[:, : 6 * self.p].reshape(-1, self.p, 6))
        return own - carried_there, carried_there

    def _by_coordinates(self, v: Array, V: Array) -> Array:
        """Derivative ``(n, K, K)`` of ``D v - L V_0`` against ``q``, at constant velocities."""
        against, of_frame = self._ends(v, V)
        return blocks(self._screw.derivative(against) - se3.bracket(of_frame), self.K)

    def second(self) -> Array:
        """Derivative ``(n, K, K)`` of ``E q'`` against ``q``, at constant velocities and rates."""
        against, _ = self._ends(self._v, self.V)
        return blocks(self._screw.second(against, self._inside), self.K)

    @property
    def _inside(self) -> Array:
        return self.q_dot[:, : 6 * self.p].reshape(-1, self.p, 6)

    def derivatives(self, v_by_V: Array) -> tuple[Array, Array, Array]:
        """Of ``(V_0, q', A_0, q'')``, rows in this order, against ``q``, ``v`` and ``v'``: ``(n, 12 + 2K, K)`` each.

        ``v_by_V`` (n, K, K) says how ``v'`` follows ``v`` where accelerations of points are held.
        """
        N, Pi, D, E = self.N, self.Pi, self.D, self.E
        rate = self._screw.rate(self._inside)
        L_dot = columns((rate - se3.bracket(self._inside)) @ self._A, self.K)
        D_dot = blocks(rate @ self._turned, self.K)
        V_q, qd_q = N @ E, Pi @ E
        by_q = self._by_coordinates(self._v_dot, self.A) + self.second() + E @ qd_q - L_dot @ V_q
        B, Q = N @ D, Pi @ D
        by_v = D_dot - L_dot @ B + E @ Q + D @ v_by_V
        return (
            np.concatenate([V_q, qd_q, N @ by_q, Pi @ by_q], axis=1),
            np.concatenate([B, Q, N @ by_v, Pi @ by_v], axis=1),
            np.concatenate([np.zeros_like(B), np.zeros_like(Q), B, Q], axis=1),
        )

    def wrenches(self, w: Array, r: Array) -> tuple[Array, Array]:
        """Forces ``(n, K)`` of power ``w V_0 + r q'``, and ``p`` with ``D^T p`` these, ``L^T p = w``."""
        p = np.vecmat(r, self.Pi) + np.vecmat(w, self.N)
        return np.vecmat(p, self.D), p

    def geometric(self, p: Array) -> tuple[Array, Array]:
        """Derivatives of ``D^T p`` (n, K, K) and ``L^T p`` (n, 6, K) against ``q`` at constant ``p``."""
        ends = p[:, : 6 * self.p].reshape(-1, self.p, 6)
        by_d = se3.InverseTangent(self._screw.d).transposed_derivative(ends)
        L_p = self._A.mT @ (by_d - se3.dual(ends))
        return blocks(self._turned.mT @ by_d, self.K), L_p.swapaxes(1, 2).reshape(-1, 6, 6 * self.p)
