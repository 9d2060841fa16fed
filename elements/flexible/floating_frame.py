"""The floating frame of a flexible body: a function of its interfaces and amplitudes, not unknowns of its own.

Interface ``i`` is at ``X_i`` of the body as built, ``Tr(X_i)`` its translation. Seen from a frame ``H_0``, coordinates
of the deformation are ``q = (d_1 ... d_p, eta)``,

    d_i = log(Tr(X_i)^-1 H_0^-1 H_i),   d_i' = T^-1(d_i) v_i - T^-1(-d_i) A_i V_0,   A_i = Ad(Tr(X_i)^-1),

and the frame is the one from which ``P q = 0``: with the rows of momentum in ``P``, the mean frame, from which the
deformation has no momentum (linearised Tisserand conditions; Schwertassek, Wallrapp, Shabana 1999); with the rows of a
node, that node. With ``L`` of ``T^-1(-d_i) A_i``, ``D`` of ``T^-1(d_i)`` and ones for ``eta``,

    V_0 = N z,   q' = Pi z = z - L V_0,   z = D v,   N = (P L)^-1 P:

all is seen from the frame, so that rigid motions change nothing, on any group (docs/flexible.md, "The frame"). ``Pi``
differs from the identity by six columns, and ``D`` has blocks on its diagonal: products with them are never products of
full matrices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contracts import se3, so3
from fem_mbs.lie.parametrization import ScrewRates

ITERATIONS, SETTLED = 30, 1e-16
"""Newton's method for the frame ends when what a correction leaves, in rad and sizes of the body, is rounding."""


def columns(parts: Array) -> Array:
    """Matrices ``(n, 6p, 6)`` of ``parts`` (n, p, 6, 6) one below the other."""
    return parts.reshape(len(parts), -1, 6)


def carried(places: Array) -> Array:
    """How places ``(..., 3)`` move and turn with a body, ``A_i`` (..., 6, 6) of interfaces."""
    result = np.zeros((*places.shape[:-1], 6, 6))
    result[...] = np.eye(6)
    result[..., :3, 3:] = -so3.skew(places)
    return result


def behind(X: Array, parts: Array, amplitudes: float = 1.0) -> Array:
    """``X`` (n, m, K) times the matrix with ``parts`` (n, p, 6, 6) on its diagonal, and a number for amplitudes."""
    n, m, _ = X.shape
    p = parts.shape[1]
    result = amplitudes * X
    ends = X[:, :, : 6 * p].reshape(n, m, p, 6).swapaxes(1, 2) @ parts
    result[:, :, : 6 * p] = ends.swapaxes(1, 2).reshape(n, m, 6 * p)
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
    """Frames of interfaces at ``x`` (n, p, 3), body axes there ``R`` (n, p, 3, 3), and amplitudes ``eta`` (n, m).

    After a correction ``s``, ``d_i - L_i s`` lacks terms of the order ``|d| s^2/12`` (Baker, Campbell, Hausdorff), and
    of ``|d|^4 s/720``, the first that ``L`` leaves out here.
    """
    n, p = x.shape[:2]
    R0 = R[:, 0]
    x0 = x[:, 0] - np.matvec(R0, places[:, 0])
    inside, P_eta = P[..., : 6 * p], np.matvec(P[..., 6 * p :], eta)
    unit = np.concatenate([np.repeat(1.0 / size[:, None], 3, axis=1), np.ones((n, 3))], axis=1)
    for _ in range(ITERATIONS):
        d = _seen(x, R, x0, R0, places)
        turn = se3.bracket(d)
        L = columns((se3.IDENTITY - 0.5 * turn + turn @ turn / 12.0) @ A)
        try:
            step = np.linalg.solve(inside @ L, (np.matvec(inside, d.reshape(n, -1)) + P_eta)[..., None])
        except np.linalg.LinAlgError:  # interfaces that an iterate has thrown anywhere
            return FloatingFrame(x0, R0, d, np.zeros(n, dtype=bool))
        R_step, x_step = se3.exp(step[..., 0])
        x0, R0 = x0 + np.matvec(R0, x_step), R0 @ R_step
        reach = np.abs(d * unit[:, None]).max(axis=(1, 2))
        moved = np.abs(step[..., 0] * unit).max(axis=1)
        settled = moved * (reach * moved + reach**4 / 60.0) < 12.0 * SETTLED
        if settled.all():
            break
    return FloatingFrame(x0, R0, d - (L @ step).reshape(n, p, 6), settled)


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
        Rates of the coordinates.
    N : (n, 6, K)
        ``V_0 = N z`` and ``q' = z - L V_0`` of ``z = D v``; ``D`` (n, p, 6, 6) and ``L`` (n, 6p, 6) without amplitudes.
    E : (n, p, 6, 6)
        How ``q'`` changes with ``q`` at constant velocities of interfaces and frame.
    """

    def __init__(self, d: Array, A: Array, P: Array, turned: Array, v: Array, v_dot: Array) -> None:
        self.p = d.shape[1]
        self._A, self._screw, self._turned, self._v_dot = A, ScrewRates(d), turned, v_dot
        forward = self._screw.forward()
        self.L = columns((forward - se3.bracket(d)) @ A)
        self.D = forward @ turned
        self.N = np.linalg.solve(P[..., : 6 * self.p] @ self.L, P)
        self.V, self.q_dot = self.follow(v)
        self._against = self._ends(v, self.V)
        self.E = self._changes(*self._against)
        z_dot = self._onto(self.D, v_dot)
        z_dot[:, : 6 * self.p] += np.matvec(self.E, self._inside).reshape(len(d), -1)
        self.A, self.q_ddot = self.project(z_dot)

    def _onto(self, parts: Array, v: Array) -> Array:
        """``v`` (n, K) with interfaces multiplied by ``parts`` (n, p, 6, 6)."""
        result = v.copy()
        result[:, : 6 * self.p] = np.matvec(parts, self._interfaces(v)).reshape(len(v), -1)
        return result

    def _interfaces(self, v: Array) -> Array:
        return v[:, : 6 * self.p].reshape(-1, self.p, 6)

    @property
    def _inside(self) -> Array:
        return self._interfaces(self.q_dot)

    def follow(self, v: Array) -> tuple[Array, Array]:
        """``V_0`` and ``q'`` of velocities ``v`` (n, K)."""
        return self.project(self._onto(self.D, v))

    def project(self, z: Array) -> tuple[Array, Array]:
        """``V_0`` and ``q'`` of ``z`` (n, K)."""
        V, q_dot = np.matvec(self.N, z), z.copy()
        q_dot[:, : 6 * self.p] -= np.matvec(self.L, V)
        return V, q_dot

    def rates_at(self, v: Array) -> tuple[Array, Array]:
        """``q'`` (n, K) of other velocities, and how it changes with ``q``, ``(n, p, 6, 6)``, but for ``Pi``."""
        V, q_dot = self.follow(v)
        return q_dot, self._changes(*self._ends(v, V))

    def _ends(self, v: Array, V: Array) -> tuple[Array, Array]:
        """Velocities ``(n, p, 6)`` at interfaces: against the frame, and of the frame."""
        carried_there = np.matvec(self._A, V[:, None])
        return np.matvec(self._turned, self._interfaces(v)) - carried_there, carried_there

    def _changes(self, against: Array, of_frame: Array) -> Array:
        """Derivative ``(n, p, 6, 6)`` of ``D v - L V_0`` against ``d_i``, at constant velocities."""
        result: Array = self._screw.derivative(against) - se3.bracket(of_frame)
        return result

    def without_frame(self, X: Array) -> Array:
        """``X Pi`` of ``X`` (n, m, K)."""
        result: Array = X - (X[:, :, : 6 * self.p] @ self.L) @ self.N
        return result

    def damped(self, D: Array, by_q: Array) -> Array:
        """``D Pi`` times the matrix with blocks ``by_q``, ``(n, K, K)``: how ``D q'`` changes with ``q``."""
        return behind(self.without_frame(np.broadcast_to(D, (len(by_q), *D.shape[1:]))), by_q, 0.0)

    def of_motions(self, X: Array) -> Array:
        """Columns ``(n, m, K)`` against ``z`` of columns ``X`` (n, m, 6 + K) against ``V_0`` and ``q'``."""
        result: Array = X[:, :, 6:] + (X[:, :, :6] - X[:, :, 6 : 6 + 6 * self.p] @ self.L) @ self.N
        return result

    def onto_motions(self, X: Array) -> Array:
        """Rows ``(n, K, m)`` of forces with power ``z`` of rows ``X`` (n, 6 + K, m) of those on frame and modes."""
        return self.of_motions(X.mT).mT

    def wrench(self, w: Array, r: Array) -> Array:
        """``p`` (n, K) with the power ``p z = w V_0 + r q'``; ``D^T p`` are the forces, ``L^T p = w``."""
        result: Array = r + np.vecmat(w - np.vecmat(r[:, : 6 * self.p], self.L), self.N)
        return result

    def at_interfaces(self, p: Array) -> Array:
        """``D^T p`` (n, K)."""
        result = p.copy()
        result[:, : 6 * self.p] = np.vecmat(self._interfaces(p), self.D).reshape(len(p), -1)
        return result

    def tangent(self, X: Array) -> Array:
        """``D^T X D`` of ``X`` (n, K, K)."""
        return behind(behind(X, self.D).mT, self.D).mT

    def stiffness(self, p: Array, X: Array, by_z: Array | None = None) -> Array:
        """Derivative ``(n, K, K)`` of ``D^T p``, where forces on frame and modes change by ``X`` (n, 6 + K, K) ``q``.

        ``by_z`` (n, K, K) is what of ``p`` changes with ``z`` otherwise.
        """
        ends, n6 = self._interfaces(p), 6 * self.p
        by_d = se3.InverseTangent.of(self._screw.d).derivative(ends, transposed=True)
        own = X.copy()
        # at constant w, L^T p changes
        own[:, :6, :n6] -= (self._A.mT @ (by_d - se3.dual(ends))).swapaxes(1, 2).reshape(-1, 6, n6)
        change = self.without_frame(self.onto_motions(own))
        if by_z is not None:
            change += by_z
        result = behind(change.mT, self.D).mT
        turned = self._turned.mT @ by_d
        rows = -(turned @ self.L.reshape(-1, self.p, 6, 6)).reshape(-1, n6, 6) @ self.N
        result[:, :n6] += rows
        own_rows = np.einsum("niaib->niab", result[:, :n6, :n6].reshape(-1, self.p, 6, self.p, 6))
        own_rows += turned
        return behind(result, self.D)

    def inertia_tangents(self, mass: Array, by_rates: Array, v_by_V: Array) -> tuple[Array, Array, Array]:
        """Mass against ``z'``, damping against ``v``, and stiffness against ``z`` but for that at constant rates.

        Where forces on frame and modes change by ``mass`` (n, 6 + K, 6 + K) times ``(A_0, q'')`` and ``by_rates`` times
        ``(V_0, q')``, and ``v'`` follows ``v`` by ``v_by_V`` (n, p, 6, 6):

            z'' = D v' + E q',   dz'' = (D' + D v_by_V) dv + (E Pi - L' N) D dv + ... dq.
        """
        n6, inside = 6 * self.p, self._inside
        M = self.onto_motions(self.of_motions(mass))
        rate = self._screw.rate(inside)
        L_dot = columns((rate - se3.bracket(inside)) @ self._A)
        of_rates = behind(M, self.E, 0.0)
        by_V = of_rates[:, :, :n6] @ self.L + M[:, :, :n6] @ L_dot
        Y = of_rates - by_V @ self.N + self.onto_motions(self.of_motions(by_rates))
        own = behind(M, rate @ self._turned + self.D @ v_by_V, 0.0)
        damping = behind((own + behind(Y, self.D)).mT, self.D).mT
        against, of_frame = self._ends(self._v_dot, self.A)
        second = self._changes(against, of_frame) + self._screw.second(self._against[0], inside)
        return M, damping, self.without_frame(behind(Y, self.E, 0.0) + behind(M, second, 0.0))
