"""Signorini's and Coulomb's laws as equations: ``xi = G P + c`` between contacts that may open, stick or slide.

Of each contact, ``P = (P_N, P_T)`` and the rates ``xi = (xi_N, xi_T)`` of its gap and of its slip obey

    P_N = max(0, P_N - r_N xi_N),    P_T = proj(P_T - r_T xi_T) on the disc of radius mu P_N

for any ``r > 0`` (Alart, Curnier, CMAME 92, 1991): contacts push, only where the gap does not open, and friction stays
in its cone and works against the slip. Impulses and velocities, forces and accelerations, corrections of places and
gaps obey the same. A few sweeps of projected Gauss-Seidel (Jean, CMAME 177, 1999) find out which contact does what;
Newton's method on the equations does the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array

SWEEPS, NEWTON, MANY = 5, 20, 4000
"""Sweeps of Gauss-Seidel before Newton's method, iterations of that, and sweeps where it goes round."""
LARGEST = 300
"""Contacts above which the matrix of Newton's method is too large: sweeps alone."""
TOLERANCE, ROUNDING = 1e-12, 1e-9
"""Largest error of a rate against the largest: aimed at, and of what falls no further."""
SINGULAR = 1e-11


class Pushes(NamedTuple):
    """A solution: ``P`` (k, 3), and whether it is one."""

    P: Array
    solved: bool


def push(G: Array, c: Array, friction: Array, slides: Array | None = None, guess: Array | None = None) -> Pushes:
    """Impulses or forces of contacts.

    Parameters
    ----------
    G : (3k, 3k)
        Rates per impulse, normal direction and two tangents of one contact after the other.
    c : (k, 3)
        Rates without impulses.
    friction : (k,)
        Coefficients ``mu``.
    slides : (k, 2), optional
        Directions of slip of the contacts that slide, whose friction is ``-mu P_N`` times these; NaN for others.
    guess : (k, 3), optional
        Where to begin.
    """
    k = len(c)
    if not k:
        return Pushes(np.zeros((0, 3)), True)
    laws = _Laws(G, c, friction, np.full((k, 2), np.nan) if slides is None else slides)
    P = np.zeros((k, 3)) if guess is None else guess.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        P = laws.sweep(P, SWEEPS)
        if k <= LARGEST:
            found, error = laws.newton(P)
            if error <= TOLERANCE * laws.size:
                return Pushes(found, True)
        P = laws.sweep(P, MANY)
        if k <= LARGEST:
            P, error = laws.newton(P)
        else:
            error = laws.error(P)
    return Pushes(P, bool(error <= ROUNDING * laws.size))


class _Laws:
    """The equations of ``k`` contacts and their derivative."""

    def __init__(self, G: Array, c: Array, friction: Array, slides: Array) -> None:
        k = self.k = len(c)
        self.G, self.c, self.mu = G, c, friction
        self.sliding = ~np.isnan(slides[:, 0])
        self.slides = np.where(self.sliding[:, None], slides, 0.0)
        own = G.reshape(k, 3, k, 3)[np.arange(k), :, np.arange(k)]
        normal = own[:, 0, 0].copy()
        largest = float(normal.max())
        # where joints hold all contacts, as a rope on an axis, no push moves anything, but for rounding of either sign
        least = SINGULAR * (largest if largest > 0.0 else 1.0)
        # what slides is pushed and pulled at once
        self.normal = normal - np.where(self.sliding, friction * (own[:, 0, 1:] * self.slides).sum(1), 0.0)
        self.r_N = 1.0 / np.maximum(np.where(self.normal > least, self.normal, normal), least)
        self.r_T = 1.0 / np.maximum(np.linalg.eigvalsh(own[:, 1:, 1:])[:, -1], least)
        self.size = float(np.abs(c).max()) or 1e-300

    def rates(self, P: Array) -> Array:
        """``xi`` (k, 3)."""
        return (self.G @ P.ravel()).reshape(-1, 3) + self.c

    def sweep(self, P: Array, count: int) -> Array:
        """Projected Gauss-Seidel: the law of one contact after the other."""
        P, rows = P.copy(), self.G.reshape(self.k, 3, 3 * self.k)
        for number in range(count):
            last = P.copy()
            for j in range(self.k):
                xi = rows[j] @ P.ravel() + self.c[j]
                P[j] = self._law(j, P[j], xi)
            if number >= SWEEPS and np.abs(P - last).max() <= 1e-15 * np.abs(P).max():
                break
        return P

    def _law(self, j: int, P: Array, xi: Array) -> Array:
        normal = max(0.0, P[0] - self.r_N[j] * xi[0])
        radius = self.mu[j] * normal
        if self.sliding[j]:
            return np.array([normal, *(-radius * self.slides[j])])
        z = P[1:] - self.r_T[j] * xi[1:]
        size = float(np.hypot(*z))
        return np.array([normal, *(z if size <= radius else z * (radius / size))])

    def error(self, P: Array) -> float:
        """Largest defect of the laws, as a rate."""
        xi = self.rates(P)
        projected = np.array([self._law(j, P[j], xi[j]) for j in range(self.k)])
        off = np.abs(P - projected) / np.column_stack([self.r_N, self.r_T, self.r_T])
        return float(off.max()) if np.isfinite(P).all() else np.inf

    def newton(self, P: Array) -> tuple[Array, float]:
        """Newton's method on the laws, whose derivative is that of the branch on which each contact is."""
        best, least = P, self.error(P)
        for _ in range(NEWTON):
            A, right = self._linear(P)
            pushes = P[:, :1] - self.r_N[:, None] * self.rates(P)[:, :1] > 0.0
            P = np.linalg.lstsq(A, right - A @ P.ravel(), rcond=SINGULAR)[0].reshape(-1, 3) + P
            P = np.where(pushes, P, 0.0)
            error = self.error(P)
            if error < least:
                best, least = P, error
            if least <= TOLERANCE * self.size or not np.isfinite(error):
                break
        return best, least

    def _linear(self, P: Array) -> tuple[Array, Array]:
        """The laws as linear equations ``A P = right`` on the branches of ``P``."""
        xi = self.rates(P)
        A, right = np.zeros((3 * self.k, 3 * self.k)), np.zeros(3 * self.k)
        one = np.eye(3 * self.k)
        for j in range(self.k):
            N, T = 3 * j, slice(3 * j + 1, 3 * j + 3)
            pushes = P[j, 0] - self.r_N[j] * xi[j, 0] > 0.0
            if not pushes:
                A[N : N + 3] = one[N : N + 3]
                continue
            A[N], right[N] = self.r_N[j] * self.G[N], -self.r_N[j] * self.c[j, 0]
            radius = self.mu[j] * P[j, 0]
            z = P[j, 1:] - self.r_T[j] * xi[j, 1:]
            size = float(np.hypot(*z))
            if self.sliding[j] or radius <= 0.0:
                A[T] = one[T]
                A[T, N] = self.mu[j] * self.slides[j]
            elif size <= radius:
                A[T], right[T] = self.r_T[j] * self.G[T], -self.r_T[j] * self.c[j, 1:]
            else:
                # P_T - mu P_N d with d = z/|z| and its derivative
                d = z / size
                turn = radius / size * (np.eye(2) - np.outer(d, d))
                A[T] = one[T] - turn @ (one[T] - self.r_T[j] * self.G[T])
                A[T, N] -= self.mu[j] * d
                right[T] = -turn @ (self.r_T[j] * self.c[j, 1:])
        return A, right
