"""The floating frame of a flexible body: a function of its interfaces and amplitudes, not unknowns of its own.

Interface ``i`` is at ``X_i`` of the body as built, ``Tr(X_i)`` its translation. Seen from a frame ``H_0``, coordinates
of the deformation are ``q = (d_1 ... d_p, eta)``,

    d_i = log(Tr(X_i)^-1 H_0^-1 H_i),   d_i' = T^-1(d_i) v_i - T^-1(-d_i) A_i V_0,   A_i = Ad(Tr(X_i)^-1),

and the frame is the one from which ``P q = 0``: with the rows of momentum in ``P``, the mean frame, from which the
deformation has no momentum (linearised Tisserand conditions; Schwertassek, Wallrapp, Shabana 1999); with the rows of a
node, that node. With ``L`` of ``T^-1(-d_i) A_i``, ``D`` of ``T^-1(d_i)`` and ones for ``eta``,

    V_0 = N z,   q' = Pi z = z - L V_0,   z = D v,   N = (P L)^-1 P:

all is seen from the frame, so that rigid motions change nothing, on any group (docs/flexible.md, "The frame").

Increments of interfaces and amplitudes move the frame by ``f_0``, and change its velocity and acceleration by ``f_1``,
``f_2``. With ``E`` the derivative of ``D v - L V_0`` against ``q`` at constant velocities, ``G`` that of
``D v' - L A_0 + E q'``, and ``v``, ``v'`` that follow the increments by ``V`` and ``W``,

    dq = y_0 - L f_0,   dq' = y_1 - L f_1,   dq'' = y_2 - L f_2,   f_k = N y_k,
    y_0 = D,   y_1 = D V + E dq,   y_2 = D W + (D' V - L' f_1) + G dq + E dq'.

``D`` and all derivatives are blocks of single interfaces, so that each is a matrix of blocks less one of six, twelve or
eighteen columns: no product of them is one of full matrices.
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


class FloatingFrame(NamedTuple):
    """Where the floating frames are, ``x`` (n, 3) and ``R`` (n, 3, 3), and how interfaces stand to them."""

    x: Array
    R: Array
    d: Array
    """``d_i`` (n, p, 6)."""
    settled: BoolArray
    """Whether it was found, ``(n,)``."""


class Attachments:
    """Interfaces of bodies as they are attached, by which their frames are found.

    ``places`` (n, p, 3) are from the reference points, ``axes`` (n, p, 3, 3) those of the nodes in those of the body,
    both as built; coordinates without motion of the frame have ``P q = 0``, ``P`` (n, 6, K). All may have one row for
    all bodies, beside their ``size`` (n,).
    """

    def __init__(self, places: Array, P: Array, axes: Array, size: Array) -> None:
        self.places, self.P, self.axes, self.size, self.A = places, P, axes, size, carried(places)
        self.turned = np.zeros((*axes.shape[:2], 6, 6))
        """Axes of velocities."""
        self.turned[..., :3, :3] = self.turned[..., 3:, 3:] = axes

    def frame(self, x: Array, R: Array, eta: Array) -> FloatingFrame:
        """Frames of nodes at ``x`` (n, p, 3), ``R`` (n, p, 3, 3), with amplitudes ``eta`` (n, m).

        After a correction ``s``, ``d_i - L_i s`` lacks terms of the order ``|d| s^2/12`` (Baker, Campbell, Hausdorff),
        and of ``|d|^4 s/720``, the first that ``L`` leaves out here.
        """
        n, p = x.shape[:2]
        R, P = R @ self.axes.mT, self.P
        R0 = R[:, 0]
        x0 = x[:, 0] - np.matvec(R0, self.places[:, 0])
        inside, P_eta = P[..., : 6 * p], np.matvec(P[..., 6 * p :], eta)
        unit = np.ones((n, 6))
        unit[:, :3] = 1.0 / self.size[:, None]
        for _ in range(ITERATIONS):
            back = R0.mT[:, None]
            d = se3.log(back @ R, np.matvec(back, x - x0[:, None]) - self.places)
            turn = se3.bracket(d)
            L = columns((se3.IDENTITY - 0.5 * turn + turn @ turn / 12.0) @ self.A)
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


class FrameRates:
    """How the frame and the coordinates move with velocities ``v`` (n, K) of interfaces, body axes, and amplitudes.

    ``V``, ``A`` (n, 6) are the velocity of the frame and the derivative of its components, ``q_dot``, ``q_ddot`` (n, K)
    the rates of the coordinates. ``N`` (n, 6, K): ``V_0 = N z`` and ``q' = z - L V_0`` of ``z = D v``; ``D`` (n, p, 6,
    6) and ``L`` (n, 6p, 6) are without amplitudes. ``E`` (n, p, 6, 6) tells how ``q'`` changes with ``q`` at constant
    velocities of interfaces and frame.
    """

    def __init__(self, attached: Attachments, d: Array, v: Array, v_dot: Array) -> None:
        self.p, P = d.shape[1], attached.P
        self._A, self._screw, self._turned, self._v_dot = attached.A, ScrewRates(d), attached.turned, v_dot
        forward = self._screw.forward()
        self.L = columns((forward - se3.bracket(d)) @ attached.A)
        self.D = forward @ attached.turned
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

    def changed(self, dv: Array, dv_dot: Array) -> tuple[Array, Array, Array, Array]:
        """How ``V_0``, ``A_0``, ``q'`` and ``q''`` change with velocities and accelerations, ``(n, K)`` each."""
        V, q_dot = self.follow(dv)
        z_dot, E = self._onto(self.D, dv_dot), self._changes(*self._ends(dv, V))
        more = np.matvec(self.E, self._interfaces(q_dot)) + np.matvec(E, self._inside)
        z_dot[:, : 6 * self.p] += more.reshape(len(V), -1)
        A, q_ddot = self.project(z_dot)
        return V, A, q_dot, q_ddot

    def _ends(self, v: Array, V: Array) -> tuple[Array, Array]:
        """Velocities ``(n, p, 6)`` at interfaces: against the frame, and of the frame."""
        carried_there = np.matvec(self._A, V[:, None])
        return np.matvec(self._turned, self._interfaces(v)) - carried_there, carried_there

    def _changes(self, against: Array, of_frame: Array) -> Array:
        """Derivative ``(n, p, 6, 6)`` of ``D v - L V_0`` against ``d_i``, at constant velocities."""
        return self._screw.derivative(against) - se3.bracket(of_frame)

    def wrench(self, w: Array, r: Array) -> Array:
        """``p`` (n, K) with the power ``p z = w V_0 + r q'``; ``D^T p`` are the forces, ``L^T p = w``."""
        return r + np.vecmat(w - np.vecmat(r[:, : 6 * self.p], self.L), self.N)

    def at_interfaces(self, p: Array) -> Array:
        """``D^T p`` (n, K)."""
        result = p.copy()
        result[:, : 6 * self.p] = np.vecmat(self._interfaces(p), self.D).reshape(len(p), -1)
        return result

    def damped(self, D: Array, by_q: Array) -> Array:
        """``D Pi`` times blocks ``by_q`` of interfaces, ``(n, K, 6p)``: how ``D q'`` changes with these."""
        ends = D[:, :, : 6 * self.p]
        change = ends - (ends @ self.L) @ self.N[:, :, : 6 * self.p]
        result: Array = np.einsum("nkia,niab->nkib", change.reshape(*change.shape[:2], self.p, 6), by_q)
        return result.reshape(change.shape)

    def placed(self) -> Increments:
        """How coordinates and the frame follow increments."""
        n, m = len(self.N), self.N.shape[2] - 6 * self.p
        own = np.ones((n, 1, m))
        return Increments(self.D[:, :, None], own, self.L, self._of_frame(self.D, own[:, 0]))

    def moved(self, dv: Array, dv_dot: Array, own: Array, placed: bool) -> Increments:
        """How they, and their derivatives, follow increments of places, or of velocities and accelerations alone.

        ``dv``, ``dv_dot`` (n, p, 6, 6) are derivatives of ``v`` and ``v'`` of interfaces, ``own`` (n, 3, m) those of
        amplitudes and their rates.
        """
        inside, L, E = self._inside, self.L.reshape(-1, self.p, 6, 6), self.E
        rate = self._screw.rate(inside)
        L_dot = (rate - se3.bracket(inside)) @ self._A
        y0, y1 = self.D, self.D @ dv
        y2 = self.D @ dv_dot + rate @ (self._turned @ dv)
        along = np.zeros((len(L), 3, self.p, 6, 3, 6))
        along[:, 0, :, :, 0] = along[:, 1, :, :, 1] = along[:, 2, :, :, 2] = L
        along[:, 2, :, :, 1] = EL = E @ L
        along[:, 2, :, :, 1] += L_dot
        f0 = np.zeros((len(L), 6, self.N.shape[2]))
        if placed:
            G = self._changes(*self._ends(self._v_dot, self.A)) + self._screw.second(self._against[0], inside)
            f0 = self._of_frame(y0, own[:, 0])
            y1 = y1 + E @ y0
            y2 += G @ y0
            along[:, 1, :, :, 0] = EL
            along[:, 2, :, :, 0] = G @ L + E @ EL
        else:
            y0 = np.zeros_like(y0)
        y2 += E @ y1
        rows = along.reshape(-1, 3, 6 * self.p, 18)
        ends = self.N[:, :, : 6 * self.p]
        f1 = self._of_frame(y1, own[:, 1]) - (ends @ rows[:, 1, :, :6]) @ f0
        f01 = np.concatenate([f0, f1], axis=1)
        f2 = self._of_frame(y2, own[:, 2]) - (ends @ rows[:, 2, :, :12]) @ f01
        return Increments(
            np.stack([y0, y1, y2], axis=2), own, rows.reshape(-1, 18 * self.p, 18), np.concatenate([f01, f2], axis=1)
        )

    def _of_frame(self, y: Array, own: Array) -> Array:
        """``N y`` (n, 6, K) of blocks (n, p, 6, 6) of interfaces and factors (n, m) of amplitudes."""
        n, ends = len(y), 6 * self.p
        blocks = self.N[:, :, :ends].reshape(n, 6, self.p, 6).swapaxes(1, 2) @ y
        return np.concatenate([blocks.swapaxes(1, 2).reshape(n, 6, ends), self.N[:, :, ends:] * own[:, None]], axis=2)

    def tangent(self, p: Array, by_frame: Array, by_q: Array, follow: Increments) -> Array:
        """Derivative ``(n, K, K)`` of ``D^T p``, where forces on frame and modes change by these times ``follow``.

        ``by_frame`` (n, 6 + K, 6o) are derivatives against motions of the frame, ``by_q`` (n, 6 + K, o, K) against
        coordinates and their rates: ``o`` is 1, for places alone, or 3.
        """
        n, rows, o, K = by_q.shape
        ends, forces = 6 * self.p, self._interfaces(p)
        by_d = se3.InverseTangent.of(self._screw.d).derivative(forces, transposed=True)
        of_ends = np.ascontiguousarray(by_q[..., :ends])
        # at constant w, L^T p changes
        of_ends[:, :6, 0] -= (self._A.mT @ (by_d - se3.dual(forces))).swapaxes(1, 2).reshape(n, 6, ends)
        change = (by_frame - of_ends.reshape(n, rows, o * ends) @ follow.along) @ follow.frame
        blocks = of_ends.reshape(n, rows, o, self.p, 6).transpose(0, 3, 1, 2, 4).reshape(n, self.p, rows, 6 * o)
        on_own = blocks @ follow.ends.reshape(n, self.p, 6 * o, 6)
        change[:, :, :ends] += on_own.swapaxes(1, 2).reshape(n, rows, ends)
        change[:, :, ends:] += np.einsum("nrok,nok->nrk", by_q[..., ends:], follow.own)
        result = change[:, 6:]
        result += self.N.mT @ (change[:, :6] - self.L.mT @ result[:, :ends])
        turned = self._turned.mT @ by_d
        at_ends = self.D.mT @ result[:, :ends].reshape(n, self.p, 6, K)
        at_ends -= (turned @ self.L.reshape(n, self.p, 6, 6)) @ follow.frame[:, None, :6]
        result[:, :ends] = at_ends.reshape(n, ends, K)
        own_rows = np.einsum("niaib->niab", result[:, :ends, :ends].reshape(n, self.p, 6, self.p, 6))
        own_rows += turned @ follow.ends[:, :, 0]
        return result


class Increments(NamedTuple):
    """How coordinates follow increments, and their first and second derivatives: ``o`` = 1 or 3.

    Each is of interfaces ``ends`` (n, p, o, 6, 6) on themselves less ``along`` (n, 6p o, 6o) times ``frame``, of
    amplitudes a factor ``own`` (n, o, m).
    """

    ends: Array
    own: Array
    along: Array
    frame: Array
    """Motion, velocity and acceleration of the frame, ``(n, 6o, K)``."""
