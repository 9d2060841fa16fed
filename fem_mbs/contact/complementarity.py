"""Signorini's and Coulomb's laws as equations: ``xi = G P + c`` between contacts that may open, stick or slide.

Of each contact, ``P = (P_N, P_T)`` and the rates ``xi = (xi_N, xi_T)`` of its gap and of its slip obey

    P_N = max(0, P_N - r_N xi_N),    P_T = proj(P_T - r_T xi_T) on the disc of radius mu P_N

for any ``r > 0`` (Alart, Curnier, CMAME 92, 1991): contacts push, only where the gap does not open, and friction stays
in its cone and works against the slip. Impulses and velocities, forces and accelerations, corrections of places and
gaps obey the same. Newton's method solves the equations from a guess; where there is none, or it goes round, from the
solutions of contacts that yield a little about the last ones, by ``xi + compliance (P - last)``, for less and less
compliance, and for more where it goes round again (the proximal point algorithm: Rockafellar, SIAM J. Control 14,
1976; Acary, Bremond, Huber, in Advanced Topics in Nonsmooth Dynamics, 2018, compare it with others for friction).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack, qr
from scipy.sparse import csr_array, diags_array, issparse

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.contact.many import Matrix, block, connected, dense, diagonal, free_part, islands, soft_inverse
from fem_mbs.newton import NotConvergedError

SOFT, SOFTEST, SOFTER = 0.1, 1e3, 5.0
"""Compliance of contacts, over what they do to themselves: at first, at most, and the factor from one to the next."""
BRIEF, PATIENT = 20, 60
"""Proximal points at most, of an iterate of a step and of what must have a solution."""
NEWTON = 12
"""Iterations of Newton's method."""
TOLERANCE, ROUNDING = 1e-12, 1e-9
"""Largest error of a rate against the largest: aimed at, and of what falls no further."""
SINGULAR, REGULAR = 1e-8, 1e-7
"""Reciprocal condition below which a matrix counts as singular, and above which it surely is not: gradients of contacts
that say the same differ by what an iterate misses, and matrices by the square of that."""
COMPLIANCE, INERT = 10.0 ** -np.array([1, 3, 6]), 1e-3
"""Of soft contacts, over the least mobility of a normal, if that is not less than a share of the largest."""
STUCK = 1.0 - 1e-9
"""Share of the friction that there may be at most, up to which a contact holds."""
LOOSE = 1e-6
"""Share of friction in forces that are loose, over that of normal forces, up to which it has none."""
AGAIN = 4
"""How often forces are found anew, where something that bore nothing has come to bear a share."""
EDGE = 1e-7
"""Force over the largest by which a contact may miss a branch that counts as its own, too."""
SAME = np.eye(2)
BESIDE = 1e-3
"""Slips over gaps, in what is left of rates that contradict each other."""
INFINITE, ROUND = 1e100, 1e-9
"""Error of iterates that lead away, and difference of errors, over these, of iterates that have been there before."""


def inverse(A: Matrix, K: Array | None = None) -> Callable[[Array], Array]:
    """What solves ``A x = b``; where that may be singular for the least solution, or by compliances.

    Compliances ``e K``, of blocks ``K`` (k, 3, 3), make the solution unique. As they go to zero, ``y^T K x = 0`` for
    all ``y^T A = 0``.
    """
    if issparse(A):
        return soft_inverse(A, K)
    if factors := _factorized(A):
        return lambda b: np.asarray(lapack.dgetrs(*factors, b)[0])
    if not np.isfinite(A).all():  # where an iteration has led away
        raise NotConvergedError("the forces of contacts are not finite")
    # ``A P = Q R`` with pivots: the least diagonal entries of R are none
    R, pivots, tau, _, _ = lapack.dgeqp3(A)
    sizes, n = np.abs(R.diagonal()), len(A)
    rank = int((sizes > SINGULAR * sizes[0]).sum())
    if not rank:
        return np.zeros_like
    own, free, loose = pivots[:rank] - 1, pivots[rank:] - 1, np.zeros((n, n - rank))
    loose[own], loose[free] = -lapack.dtrtrs(R[:rank, :rank], R[:rank, rank:])[0], np.eye(n - rank)
    rows = loose.T
    if K is not None:
        left = lapack.dormqr("L", "N", R, tau, np.eye(n)[:, rank:], n)[0]
        rows = np.vecmat(left.T.reshape(-1, *K.shape[:2]), K).reshape(-1, n)
    unique = inverse(rows @ loose) if rank < n else np.zeros_like

    def solve(b: Array) -> Array:
        found = np.zeros(n)
        found[own] = lapack.dtrtrs(R[:rank, :rank], lapack.dormqr("L", "T", R, tau, b[:, None], n)[0][:rank, 0])[0]
        found -= loose @ unique(rows @ found)
        if not np.isfinite(found).all():
            raise NotConvergedError("the forces of contacts are not finite")
        return found

    return solve


def regular(A: Array) -> bool:
    """Whether a matrix surely is not singular."""
    return not len(A) or _factorized(A) is not None


def _factorized(A: Array) -> tuple[Array, IntArray] | None:
    """``L U`` and pivots of what surely is not singular."""
    lu, pivots, info = lapack.dgetrf(A)
    return (lu, pivots) if not info and lapack.dgecon(lu, np.abs(A).sum(axis=0).max(initial=0.0))[0] > REGULAR else None


class Pushes(NamedTuple):
    """A solution ``P`` (k, 3), and whether it is one."""

    P: Array
    solved: bool


@dataclass(frozen=True)
class Branch:
    """The laws of those contacts that push, on the branches on which they are: ``A P + K c = 0``; others have none."""

    pushes: BoolArray
    """Of all contacts, ``(k,)``."""
    A: Matrix
    """``(3p, 3p)``."""
    K: Array
    """``(p, 3, 3)``."""

    @cached_property
    def solve(self) -> Callable[[Array], Array]:
        """What solves with ``A``, where forces are not unique as compliances that are alike lead to."""
        return inverse(self.A, self.K)

    @cached_property
    def loose(self) -> Array:
        """Rows ``y^T K`` (m, p, 3) for all ``y^T A = 0``, which say of forces that are not unique which they are."""
        if issparse(self.A) or regular(self.A):
            return np.zeros((0, len(self.K), 3))
        Q, R, _ = qr(self.A, pivoting=True, check_finite=False)
        sizes = np.abs(R.diagonal())
        left = Q[:, sizes <= SINGULAR * sizes[0]]
        return np.vecmat(left.T.reshape(-1, *self.K.shape[:2]), self.K)

    def forces(self, c: Array, last: Array | None = None) -> Array:
        """``P`` (k, 3) where rates without them are ``c`` (k, 3).

        Where they are not unique, those of contacts of equal compliance which come from the ``last`` ones, or none.
        """
        result = np.zeros(c.shape)
        if self.pushes.any():
            own = (result if last is None else last)[self.pushes].ravel()
            missed = np.matvec(self.K, c[self.pushes]).ravel() + self.A @ own
            result[self.pushes] = (own - self.solve(missed)).reshape(-1, 3)
        return result


def push(
    G: Matrix,
    c: Array,
    friction: Array,
    slides: Array | None = None,
    *,
    guess: Array | None = None,
    last: Array | None = None,
) -> Pushes:
    """Impulses or forces of contacts.

    Where these are not unique, they are those of contacts of equal compliance, as this goes to zero: normal forces by
    what presses them together now, whatever they were, and friction of what sticks from what it was. So a motion that
    depends on them, as friction of what slides, is one motion, of the order of the method.

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
        Where to begin: as a rule, on the right branches.
    last : (k, 3), optional
        Forces of which friction that sticks goes on; by default the guess, or none.
    """
    return Laws(G, c, friction, slides).pushes(guess, last)


def held(P: Array, friction: Array) -> Array:
    """Of forces ``(k, 3)`` the friction of what sticks: what lasts of them where no law says what they are."""
    sticks = np.linalg.norm(P[:, 1:], axis=1) < STUCK * friction * P[:, 0]
    return np.where(sticks[:, None] & [False, True, True], P, 0.0)


class Laws:
    """The equations of ``k`` contacts and their derivative; arguments are those of :func:`push`."""

    def __init__(
        self, G: Matrix, c: Array, friction: Array, slides: Array | None = None, *, rounding: float = 0.0
    ) -> None:
        k = self.k = len(c)
        self.G, self.mu, self.rounding = G, friction, rounding
        slides = self.along = np.full((k, 2), np.nan) if slides is None else slides
        self.sliding = ~np.isnan(slides[:, 0])
        self._any_slides = bool(self.sliding.any())
        self.slides = np.where(self.sliding[:, None], slides, 0.0)
        own = _own_blocks(G, k)
        normal = own[:, 0, 0].copy()
        largest = float(normal.max(initial=0.0))
        least = SINGULAR * (largest if largest > 0.0 else 1.0)
        # what slides is pushed and pulled at once
        self.normal = normal - np.where(self.sliding, friction * (own[:, 0, 1:] * self.slides).sum(1), 0.0)
        r_N = 1.0 / np.maximum(np.where(self.normal > least, self.normal, normal), least)
        (a, b), (c2, d) = own[:, 1:, 1:].transpose(1, 2, 0)
        largest_across = 0.5 * (a + d) + np.hypot(0.5 * (a - d), 0.5 * (b + c2))  # eigenvalue
        r_T = 1.0 / np.maximum(largest_across, least)
        self.r = np.stack([r_N, r_T, r_T], axis=1)
        self._inert, self._finite = normal == 0.0, bool(np.isfinite(G.data if issparse(G) else G).all())
        self._known: tuple[tuple[BoolArray, Array, Array], Branch] | None = None
        """The last branch, on which forces are found again as a rule."""
        self._about(c)

    def _about(self, c: Array) -> None:
        self.given, self.c = c, c.copy()
        self.size = self.own = float(np.abs(c).max(initial=0.0)) or 1e-300
        self.c[self._inert, 0] = self.size  # what joints hold, and no push moves, is none that pushes

    def at(self, c: Array) -> Laws:
        """Those of the same contacts with other rates ``c`` (k, 3)."""
        result = copy(self)
        result._about(c)
        return result

    @cached_property
    def _together(self) -> tuple[Array, Array] | None:
        """Factors ``(3k,)`` that make rates alike, and an orthogonal basis of those that forces change, if not of all.

        Of what bears nothing, and what slides without friction, nothing is said; nor of sparse matrices.
        """
        if issparse(self.G) or self.k == 1 or not self._finite:
            return None
        acts = np.repeat(~self._inert, 3) & (np.arange(3 * self.k) % 3 < 1 + 2 * np.repeat(self.mu > 0.0, 3))
        scale = acts * np.sqrt(self.r).ravel()
        alike = scale[:, None] * self.G * scale
        if regular(alike[np.ix_(acts, acts)]):
            return None
        beside = np.tile([1.0, BESIDE, BESIDE], self.k)
        Q, R, _ = qr(beside[:, None] * alike, pivoting=True, check_finite=False)
        sizes = np.abs(R.diagonal())
        rank = int((sizes > SINGULAR * sizes[0]).sum())
        return (scale * beside, Q[:, :rank]) if rank < acts.sum() else None

    def apart(self, c: Array) -> Array:
        """The part ``(k, 3)`` of rates that no forces change, gaps before slips; none where it is rounding."""
        none = np.zeros_like(c)
        if self._together is None or not np.isfinite(c).all():
            return none
        factors, basis = self._together
        own = factors * c.ravel()
        missed = own - basis @ (basis.T @ own)
        result = np.divide(missed, factors, out=none.ravel(), where=factors > 0.0).reshape(-1, 3)
        return result if np.abs(result).max() > TOLERANCE * np.abs(c).max() else np.zeros_like(c)

    def pushes(self, guess: Array | None = None, last: Array | None = None, *, brief: bool = False) -> Pushes:
        """A solution, sought briefly where there may be none; the other arguments are those of :func:`push`."""
        P = np.zeros((self.k, 3)) if guess is None else guess.copy()
        solved = self._finite and bool(np.isfinite(self.given).all())
        before = P if last is None else last
        parts = islands(self.G, self.k) if solved and self.k else []
        if guess is None:  # where nothing closes there are no forces
            label = connected(self.G, self.k)
            closes = np.bincount(label, self.given[:, 0] < -TOLERANCE * self.size)[label] > 0.0
            parts = [hit for own in parts if len(hit := own[closes[own]])]
        for own in parts:
            laws = self.part(own, self.given[own]) if len(own) < self.k else self
            with np.errstate(over="ignore", invalid="ignore"):
                P[own], found = laws._pushes(P[own], before[own], guess is not None, brief)
            solved = solved and found
        return Pushes(P, solved)

    def part(self, own: IntArray, c: Array) -> Laws:
        """Those of some of the contacts, with rates ``c`` of these without their forces."""
        laws = Laws(block(self.G, own), c, self.mu[own], self.along[own])
        laws.size, laws.rounding = self.size, self.rounding  # of what others move by some of them have some, too
        return laws

    def _pushes(self, P: Array, last: Array, guessed: bool, brief: bool) -> Pushes:
        """Of contacts that are all connected."""
        P, error = self.newton(P)
        if error > self.enough:
            guessed, (P, error) = False, self.proximal(P, BRIEF if brief else PATIENT)
        if error > ROUNDING * self.size and not brief:  # what slides may have to stop, whatever presses it now
            stuck = -inverse(self.G)(self.c.ravel()).reshape(-1, 3)
            P, error = min((P, error), self.proximal(stuck), key=itemgetter(1))
        if error > self.enough or guessed and self.k == 1:
            return Pushes(P, bool(error <= ROUNDING * self.size))
        reference = self.reference(P, last)
        near = self.alike(P, reference)
        obeys = self.error(near) <= self.enough
        if obeys and guessed and self.bears(near, reference):
            return Pushes(near, True)
        which = self.shared(near if obeys else P)
        if obeys and not len(which):
            return Pushes(near, True)
        if 0 < 2 * len(which) < self.k:  # others need not change their forces, as a rule
            others, near = P.copy(), P.copy()
            others[which] = 0.0
            near[which] = self.part(which, self.rates(others)[which]).nearest(P[which], reference[which], guessed)
            if self.error(near) <= self.enough:
                return Pushes(near, True)
        return Pushes(self.nearest(P, reference, guessed), True)

    def reference(self, P: Array, last: Array) -> Array:
        """What friction that sticks goes on from, ``(k, 3)``, on the branch of ``P``.

        Where normal forces and friction are loose together, it is such that the same loads lead to the ``last`` forces.
        """
        branch, reference = self.branch(P), held(last, self.mu)
        which, rows = branch.pushes, branch.loose
        sticks = reference[which, 1:].any(axis=1)
        if len(rows) and sticks.any():
            U, sizes, V = np.linalg.svd(rows[:, sticks, 1:].reshape(len(rows), -1), full_matrices=False)
            kept = sizes > LOOSE * np.abs(rows).max()
            more = V[kept].T @ (U.T[kept] @ (rows[:, :, 0] @ last[which, 0]) / sizes[kept])
            reference[np.flatnonzero(which)[sticks], 1:] += more.reshape(-1, 2)
        return reference

    @property
    def enough(self) -> float:
        """The error of a rate that is aimed at."""
        return max(TOLERANCE * self.size, self.rounding)

    def rates(self, P: Array) -> Array:
        """``xi`` (k, 3)."""
        return (self.G @ P.ravel()).reshape(-1, 3) + self.c

    def yielding(self, compliance: Array | float, about: Array) -> Laws:
        """Those of contacts that yield, by ``compliance (P - about)`` for forces ``about`` (k, 3)."""
        soft = np.broadcast_to(compliance, (self.k, 3))
        G = self.G + (diags_array(soft.ravel()) if issparse(self.G) else np.diag(soft.ravel()))
        return Laws(G, self.c - soft * about, self.mu, self.along)

    def proximal(self, P: Array, patience: int = PATIENT) -> tuple[Array, float]:
        """The best of solutions of contacts that yield about the last one, less and less while that goes; its error."""
        compliance, best, least = SOFT, P, self.error(P)
        for _ in range(patience):
            soft = self.yielding(compliance / self.r, P)
            trial, missed = soft.newton(P)
            if missed > ROUNDING * soft.size:
                compliance *= SOFTER
                if compliance > SOFTEST:
                    break
                continue
            P, error, compliance = trial, self.error(trial), compliance / SOFTER
            if error < least:
                best, least = P, error
            if least <= ROUNDING * self.size:
                return self.newton(best)
        return best, least

    def error(self, P: Array) -> float:
        """Largest defect of the laws, as a rate."""
        if not np.isfinite(P).all():
            return np.inf
        return self.missed(P, self.rates(P))

    def missed(self, P: Array, xi: Array) -> float:
        """The same of any forces and rates ``(k, 3)``."""
        off = P - projected(P, xi, self.mu, self.r)
        if self._any_slides:
            off[self.sliding, 1:] = (P[:, 1:] + (self.mu * P[:, 0])[:, None] * self.slides)[self.sliding]
        return float((np.abs(off) / self.r).max())

    def newton(self, P: Array) -> tuple[Array, float]:
        """Newton's method on the laws, whose derivative is that of the branch on which each contact is."""
        best, least = P, self.error(P)
        seen = [least]
        for count in range(NEWTON):
            if least <= (self.enough if count else TOLERANCE * self.own):  # beside larger rates a guess may seem enough
                break
            P = self.branch(P).forces(self.c, P)
            error = self.error(P)
            if error < least:
                best, least = P, error
            if not error < INFINITE or any(abs(error - last) <= ROUND * last for last in seen):
                break  # it leads away, or goes round
            seen.append(error)
        return best, least

    def shared(self, P: Array) -> IntArray:
        """Contacts whose forces near the solution ``P`` are not unique, those at the edge of a branch included."""
        branch = self.branch(P, EDGE)
        if not issparse(self.G) and (regular(self.G) or regular(branch.A)):
            return np.zeros(0, np.intp)
        A = csr_array(branch.A)
        free = [free_part(own).reshape(-1, 3).any(axis=1) for own in (A, csr_array(A.T))]
        return np.flatnonzero(branch.pushes)[free[0] | free[1]]

    def nearest(self, P: Array, reference: Array, guessed: bool) -> Array:
        """Of solutions such as ``P`` that are not unique the one nearest to ``reference``, (k, 3).

        That to which solutions of soft contacts, ``xi + compliance (P - reference)``, lead as these become stiff: but
        where friction is large there is one of these, wherever it is sought from, with the symmetries of the contacts.
        A guessed ``P`` is near enough for the stiffest of them.
        """
        stiff = max(1.0 / float(self.r[:, 0].max()), INERT / float(self.r[:, 0].min()))
        best = P
        for near, compliances in ((P, COMPLIANCE[-1:]), (reference, COMPLIANCE))[not guessed :]:
            for compliance in stiff * compliances:
                soft = self.yielding(compliance, reference)
                trial, error = soft.newton(near)
                if error > ROUNDING * soft.size:
                    trial, error = soft.proximal(near)
                if error > ROUNDING * soft.size:
                    break
                near = trial
            found = self.alike(self.alike(near, reference), reference)  # directions of slip have turned
            error = self.error(found)
            if error > self.enough:
                found, error = self.newton(near)
            if error <= self.enough:
                best = found
                if self.bears(found, reference):
                    return found
        return best

    def alike(self, P: Array, reference: Array) -> Array:
        """Forces of equal compliance on the branch of ``P``, anew while what bore nothing comes to bear a share."""
        for _ in range(AGAIN):
            idle, P = self.idle(P), self.branch(P).forces(self.c, reference)
            if not idle:
                break
        return P

    def idle(self, P: Array) -> bool:
        """Whether one that touches bears nothing: of contacts of equal compliance it might."""
        near = EDGE * float(np.abs(P).max(initial=0.0))
        return bool(((P[:, 0] <= near) & self._touch(P)).any())

    def _touch(self, P: Array) -> BoolArray:
        """Contacts ``(k,)`` whose gaps do not open."""
        near = EDGE * float(np.abs(P).max(initial=0.0))
        return np.asarray(P[:, 0] - self.r[:, 0] * self.rates(P)[:, 0] > -near)

    def bears(self, P: Array, reference: Array) -> bool:
        """Whether what touches and bears nothing in ``P`` opens as all yield a little, and would bear no share.

        What the others alone do not hold bears the less, the less all yield.
        """
        if not self.idle(P):
            return True
        branch, yields = self.branch(P), P - reference
        opens = (self.G @ branch.forces(yields).ravel())[::3] - reference[:, 0]
        closes = (opens < -EDGE * np.abs(yields).max()) & ~branch.pushes & self._touch(P)
        normal = 3 * np.flatnonzero(closes)
        moved = [own + self.G @ branch.forces(own.reshape(-1, 3)).ravel() for own in dense(self.G[:, normal]).T]
        return not moved or regular(np.array(moved)[:, normal])

    def branch(self, P: Array, edge: float = 0.0) -> Branch:
        """The laws on the branches of ``P``."""
        laws = self.branches(P, self.rates(P), edge)
        if self._known is None or not all(map(np.array_equal, laws, self._known[0])):
            self._known = laws, self._branch(*laws)
        return self._known[1]

    def _branch(self, pushes: BoolArray, own: Array, K: Array) -> Branch:
        p = np.flatnonzero(pushes)
        n, rows = len(p), (3 * p[:, None] + np.arange(3)).ravel()
        if issparse(self.G):
            K_all, own_all = (diagonal(part[p]).tocsr() for part in (K, own))
            return Branch(pushes, K_all @ self.G[rows][:, rows] + own_all, K[p])
        A = (K[p] @ self.G[np.ix_(rows, rows)].reshape(n, 3, 3 * n)).reshape(n, 3, n, 3)
        A[np.arange(n), :, np.arange(n)] += own[p]
        return Branch(pushes, A.reshape(3 * n, 3 * n), K[p])

    def branches(self, P: Array, xi: Array, edge: float = 0.0) -> tuple[BoolArray, Array, Array]:
        """Which contacts push, and the laws on the branches of ``P`` and ``xi``: ``own P + K xi = 0``, (k, 3, 3).

        What is as near to pushing or sticking as an ``edge``, over the largest force, does.
        """
        k, near = self.k, edge * float(np.abs(P).max(initial=0.0)) if edge else 0.0
        ahead = P - self.r * xi
        # what presses by less than is aimed at would, with its roundings, push in one iteration and not in the next
        pushes, z = ahead[:, 0] > (-near if edge else 0.5 * self.enough * self.r[:, 0]), ahead[:, 1:]
        radius, size = self.mu * P[:, 0], np.sqrt(np.vecdot(z, z))
        along = pushes & (self.sliding | (radius + self.mu * near <= 0.0))
        sticks = pushes & ~along & (size <= radius + near)
        slips = pushes & ~along & ~sticks
        # P_T - mu P_N d with d = z/|z| and its derivative
        unit, K, own = np.where(slips, size, 1.0), np.zeros((k, 3, 3)), np.zeros((k, 3, 3))
        d = np.where(slips[:, None], z / unit[:, None], np.where(along[:, None], -self.slides, 0.0))
        held = sticks[:, None, None] * SAME
        held = held + (slips * radius / unit)[:, None, None] * (SAME - d[:, :, None] * d[:, None])
        K[:, 0, 0], own[:, 0, 0] = pushes * self.r[:, 0], ~pushes
        K[:, 1:, 1:], own[:, 1:, 1:] = self.r[:, 1, None, None] * held, SAME - held
        own[:, 1:, 0] = -self.mu[:, None] * d
        return pushes, own, K


def _own_blocks(G: Matrix, k: int) -> Array:
    """What each contact does to itself, ``(k, 3, 3)``."""
    if not issparse(G):
        return G.reshape(k, 3, k, 3)[np.arange(k), :, np.arange(k)]
    entries, result = G.tocoo(), np.zeros((k, 3, 3))
    rows, columns = entries.coords
    own = rows // 3 == columns // 3
    result[rows[own] // 3, rows[own] % 3, columns[own] % 3] = entries.data[own]
    return result


def projected(P: Array, xi: Array, friction: Array, r: Array | float) -> Array:
    """The right-hand sides of the laws: ``P - r xi`` on what pushes, and on the disc of friction, ``(k, 3)``."""
    ahead = P - r * xi
    ahead[:, 0] = normal = np.maximum(0.0, ahead[:, 0])
    z = ahead[:, 1:]
    size, radius = np.sqrt(np.vecdot(z, z)), friction * normal
    z *= np.where(size > radius, radius / np.maximum(size, 1e-300), 1.0)[:, None]
    return ahead
