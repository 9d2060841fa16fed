"""Motions about a state whose linear equations change as it turns, and are the same again after a turn (Floquet).

Seen from axes that stand still ``M(t) y'' + C(t) y' + K(t) y + L(t) mu = 0``, ``B(t) y = 0`` with a period ``T``.
What joints leave free, ``B Z = 0``, turns where hinges turn: with ``y = Z(t) x`` of the same period and ``W^T L = 0``

    W^T M Z x'' + W^T (C Z + 2 M Z') x' + W^T (K Z + C Z' + M Z'') x = 0.

Its solutions are ``P(t) exp(s t)`` with ``P`` of the same period. ``exp(s T)`` are the eigenvalues of what a period
does to ``(x, x')`` and to states of elements, so that ``s`` is known but for multiples of ``2 pi i/T``: that of the
largest harmonic of ``Z P`` is what is seen (Genta, Dynamics of Rotating Systems, section 6.5). docs/rotors.md,
"Neither alike all round".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array

from fem_mbs.arrays import Array, BoolArray, ComplexArray, IntArray
from fem_mbs.errors import ModelError
from fem_mbs.initial.redundant import independent
from fem_mbs.modal.linear_model import LinearModel
from fem_mbs.modal.modes import refuse_dependent
from fem_mbs.modal.steady_axes import turning_speeds
from fem_mbs.modal.turned import REPEATED, TurnedMatrices, TurnedModel
from fem_mbs.system.matrices import scattered

ANGLES, MOST_ANGLES = 16, 128
"""At which matrices are asked for at first, and at most; between them go their Fourier series."""
NEGLIGIBLE = 1e-7
"""Of a matrix, what counts as no harmonic and as no change of what joints hold."""
BALANCED = 1e-9
"""Of forces, what reactions need not bear."""
KEPT = 30
"""Motions to which large models are reduced, the lowest of the mean matrices: so many, and twice those asked for."""
STEPS, MOST_STEPS, RESOLVED, SPARE = 200, 4000, 0.1, 7
"""Steps of a period, what a step should be of the fastest motion of interest, in rad, and how many more than those
asked for are of interest."""
UNRESOLVED = 0.5
"""What a step may be of a motion at most, in rad; faster ones would be taken for slow ones, and are left out."""
ROUNDING = 1e-13
"""Of multipliers, against the largest: what dies out within a turn by more is not known."""
ALONG, SLOW = 0.999, 1e-3
"""Likeness to the motion itself, and change in a turn, with which something only turns on."""
CHUNK = 25
ROOT = np.sqrt(3.0) / 6.0
MASSLESS = "something can move without mass"


class PeriodicEquations(NamedTuple):
    """Of ``x`` in ``y = Z(t) x``: motions that joints leave free, states, algebraic variables."""

    series: ComplexArray
    """Fourier series of mass, damping, stiffness ``(3, m, n, n)`` with ``m`` harmonics, lowest first as of ``fft``."""
    period: float
    motions: int
    states: int
    harmonics: IntArray
    """Of a turn, which the series of ``Z`` has."""
    basis: ComplexArray
    """That series ``(n_free, h q)``, of the motions."""
    mass: ComplexArray
    """Mean mass that moves with two of these ``(h q, h q)``."""
    turning: Array
    """The motion itself at the start ``(q,)``: what turns freely may turn on by any angle."""

    def rates(self, M: Array, C: Array, K: Array) -> Array:
        """``A`` of ``z' = A z`` with ``z`` the motions, their rates and the states, of matrices ``(..., n, n)``."""
        q, end = self.motions, self.motions + self.states
        highest = np.concatenate([M[..., :q], C[..., q:end], K[..., end:]], axis=-1)
        lower = np.concatenate([K[..., :q], C[..., :q], K[..., q:end]], axis=-1)
        A = np.zeros((*M.shape[:-2], q + end, q + end))
        A[..., :q, q : 2 * q] = np.eye(q)
        A[..., q:, :] = -np.linalg.solve(highest, lower)[..., :end, :]
        return A

    def size(self, z: Array) -> Array:
        """Mean energy of motions, and squares of states, ``(k,)`` of columns."""
        q = self.motions
        M, own = self.series[0, 0, :q, :q].real, z[2 * q :]
        return np.einsum("ik,ij,jk->k", z[:q].conj(), M, z[:q]).real + np.vecdot(own.T, own.T).real

    def turns_on(self, s: ComplexArray, z: Array) -> BoolArray:
        """Which motions ``(n, k)`` with exponents ``(k,)`` are the motion itself, a little further."""
        q, along = self.motions, self.turning
        M = self.series[0, 0, :q, :q].real
        moves = np.einsum("ik,ij,jk->k", z[:q].conj(), M, z[:q]).real
        alike = np.abs(along @ M @ z[:q]) ** 2 > ALONG * moves * (along @ M @ along)
        return np.asarray(alike & (np.abs(s) * self.period < SLOW))

    def at(self, times: Array) -> Array:
        """``(3, k, n, n)``."""
        m = self.series.shape[1]
        turns = np.exp(2j * np.pi * np.outer(times / self.period, np.fft.fftfreq(m, 1.0 / m)))
        return np.einsum("tk,akij->atij", turns, self.series).real


class FloquetModes(NamedTuple):
    """Exponents ``(k,)`` and largest harmonics ``(k, n, 6)`` of motions, world frame; what swings, slowest first."""

    eigenvalues: Array
    shapes: Array


def floquet_modes(linear: LinearModel, count: int, label: str) -> FloquetModes:
    """All motions about the state of a linear model, with its damping, that the steps of a period resolve.

    Refused if some are not, and fewer than ``count`` are.
    """
    equations = _periodic(linear, max(KEPT, 2 * count), label)
    q, period = equations.motions, equations.period
    try:
        mean = np.linalg.eigvals(equations.rates(*equations.series[:, 0].real))
    except np.linalg.LinAlgError:
        raise ModelError(f"{label}: floquet: {MASSLESS}") from None
    slow = np.sort(np.abs(mean))[: 2 * (count + SPARE)]
    steps = int(np.clip(np.ceil(slow[-1] * period / RESOLVED), STEPS, MOST_STEPS))
    steps += steps % 2
    every = np.eye(len(mean))
    seen = [every[:q]]
    for k, step in enumerate(_steps(equations, steps), start=1):
        every = step @ every
        if k % 2 == 0:
            seen.append(every[:q])
    multipliers, x = np.linalg.eig(every)
    first = equations.rates(*equations.at(np.zeros(1))[:, 0])
    moves, rates = (equations.size(part) for part in (x, first @ x))
    resolved = rates * (period / steps) ** 2 <= UNRESOLVED**2 * moves
    resolved &= np.abs(multipliers) > ROUNDING * np.abs(multipliers).max()
    own = (multipliers.imag >= 0.0) & resolved  # one of each conjugate pair
    if not resolved.all() and own.sum() < count:
        raise ModelError(
            f"{label}: floquet resolves {own.sum()} of {count} motions: others swing many times in a turn, or die "
            "out within it; take fewer by count=, or a higher speed"
        )
    s, x = np.log(multipliers[own].astype(complex)) / period, x[:, own]
    samples = steps // 2
    times = period * np.arange(samples) / samples
    # P(t) of each (k, t, n), of which what is largest is seen, as Z(t) carries it along
    P = np.einsum("tij,jk->kti", np.array(seen[:-1]), x) * np.exp(-np.outer(s, times))[:, :, None]
    P = np.fft.fft(P, axis=1) / samples
    harmonics = np.concatenate([np.roll(P, own, axis=1) for own in equations.harmonics], axis=2)
    sizes = np.vecdot(harmonics, harmonics @ equations.mass.T).real
    largest = sizes.argmax(axis=1)
    s = s + 2j * np.pi / period * np.fft.fftfreq(samples, 1.0 / samples)[np.where(equations.turns_on(s, x), 0, largest)]
    shapes = harmonics[np.arange(len(s)), largest] @ equations.basis.T
    still = np.abs(s.imag) < NEGLIGIBLE * np.abs(s).max(initial=0.0)
    # of two of one frequency what grows is first, so that no count leaves it off
    order = np.lexsort((np.abs(s) - NEGLIGIBLE * s.real, still))
    return FloquetModes(s[order], linear.node_motions(shapes[order]))


def _periodic(linear: LinearModel, most: int, label: str) -> PeriodicEquations:
    """The equations of a turn, or of half a one if they are then the same; ``most`` motions of large models."""
    from scipy.linalg import block_diag, eigh  # which take long to import

    system, state = linear.system, linear.state
    order = system.orders[system.free_rows]
    if system.velocity_level.any() or linear.B[:, order < 2].count_nonzero():
        raise ModelError(f"{label}: floquet needs joints of nodes: none that roll or slide")
    refuse_dependent(linear)
    motion = system.evaluate_at(state).motion
    speeds = turning_speeds(system, motion)
    if len(speeds) != 1:
        raise ModelError(f"{label}: floquet needs one speed of all that turns, received {len(speeds)}: {speeds}")
    speed, angles = float(np.linalg.norm(speeds[0])), ANGLES
    turned = TurnedModel(system, motion, np.zeros((system.n, 3)))
    motions, states = int((order == 2).sum()) - len(independent(system)), int((order == 1).sum())
    while True:
        seen = [_seen(turned, 2.0 * np.pi / speed * k / angles) for k in range(angles)]
        Z = _free_motions([own.gradient for own in seen], order, motions)
        every = _of_free(seen, Z, speed)
        if (q := min(motions, most)) < motions:
            M, _, K = np.mean(every, axis=1)[:, :motions, :motions]
            try:
                lowest = eigh(0.5 * (K + K.T), 0.5 * (M + M.T), subset_by_index=[0, q - 1])[1]
            except np.linalg.LinAlgError:
                raise ModelError(f"{label}: floquet: {MASSLESS}") from None
            lowest = block_diag(lowest, np.eye(len(every[0, 0]) - motions))
            Z, every = Z @ lowest, lowest.T @ every @ lowest
        series, parts = np.fft.fft(every, axis=1) / angles, np.fft.fft(Z, axis=0) / len(Z)
        sizes, shares = np.abs(series).max(axis=(2, 3)), np.abs(parts).max(axis=(1, 2))
        some = sizes > NEGLIGIBLE * sizes.max(axis=1, keepdims=True)
        carried = np.flatnonzero(shares > NEGLIGIBLE * shares.max())
        harmonics = np.fft.fftfreq(len(Z), 1.0 / len(Z)).astype(int)[carried]
        if not some[:, angles // 4 : 1 - angles // 4].any() and np.abs(harmonics).max() < angles // 4:
            break
        if (angles := 2 * angles) > MOST_ANGLES:
            raise ModelError(f"{label}: floquet: the equations change too much within a turn")
    half = len(Z) == 1 and not some[:, 1::2].any()
    series, turn = series[:, ::2] if half else series, 2.0 * np.pi / speed
    velocity = np.append(motion.V, motion.udot)[system.free_rows] * system.weight[system.free_rows]
    turning = np.asarray(np.linalg.lstsq(Z[0, :, :q], velocity)[0], float)
    basis, units = np.concatenate(parts[carried, :, :q], axis=1), 1.0 / system.weight[system.free_rows]
    mass = basis.conj().T @ (sum(own.matrices[0] for own in seen) @ basis) / angles
    return PeriodicEquations(series, turn / (1 + half), q, states, harmonics, units[:, None] * basis, mass, turning)


class _Instant(NamedTuple):
    matrices: list[csr_array]
    """Mass, damping and stiffness of free components, in units that make these comparable."""
    gradient: Array
    reactions: Array | None
    """How forces depend on the multipliers ``(n_free, m)``, where that is not by the gradient alone."""


def _seen(turned: TurnedModel, t: float) -> _Instant:
    """The equations at a time, with the reactions that balance the forces."""
    system, rows, multipliers = turned.system, turned.system.free_rows, turned.motion.multipliers
    units, scale, force = 1.0 / system.weight[rows], system.constraint_weight, np.zeros(system.N)
    there = turned.at(t, multipliers)
    for own, values in zip(turned.rows, there.forces, strict=False):
        np.add.at(force, own, values.sum(axis=1))
    B, L = _by_reactions(turned, there)
    missed = units * force[rows] + B.T @ multipliers
    if np.abs(missed).max() > BALANCED * np.abs(units * force[rows]).max():
        there = turned.at(t, multipliers - scale * np.linalg.lstsq(L * scale, missed, rcond=REPEATED)[0])
        B, L = _by_reactions(turned, there)
    matrices = []
    for which in (2, 1, 0):
        parts = [(cells[which], own) for cells, own in zip(there.of_cells, turned.rows, strict=True)]
        whole = scattered(parts, system.N)[rows][:, rows]
        matrices.append(csr_array(diags_array(units) @ whole @ diags_array(units)))
    return _Instant(matrices, B, L if system.readers else None)


def _by_reactions(turned: TurnedModel, there: TurnedMatrices) -> tuple[Array, Array]:
    """Gradients of joints ``(m, n_free)``, and how forces depend on the multipliers ``(n_free, m)``."""
    system, rows = turned.system, turned.system.free_rows
    B, read = turned.gradient(there)[:, rows], np.zeros((system.N, system.m))
    for k, values in zip(system.readers, there.readings, strict=True):
        np.add.at(read, turned.rows[k].ravel(), values.toarray())
    return B, B.T + read[rows] / system.weight[rows, None]


def _free_motions(gradients: list[Array], order: IntArray, q: int) -> Array:
    """``Z`` (k, n_free, n) over a turn: ``q`` motions that joints leave free, states, algebraic variables.

    Once, if joints hold directions that stand still; else from one angle to the next each turns no more than it has to
    (parallel transport), and what is missing after a turn is spread over it.
    """
    from scipy.linalg import expm, svd  # which take long to import

    second = np.flatnonzero(order == 2)
    spaces = [svd(B[:, second])[2][len(second) - q :].T if len(B) else np.eye(len(second)) for B in gradients]
    still = all(np.abs(N - spaces[0] @ (spaces[0].T @ N)).max(initial=0.0) <= NEGLIGIBLE for N in spaces)
    spaces = spaces[:1] if still else spaces
    for k in range(1, len(spaces)):
        spaces[k] = spaces[k] @ _nearest(spaces[k].T @ spaces[k - 1])
    missing = _generator(_nearest(spaces[0].T @ spaces[-1])) / len(spaces)
    rest = np.concatenate([np.flatnonzero(order == kind) for kind in (1, 0)])
    Z = np.zeros((len(spaces), len(order), q + len(rest)))
    for k, own in enumerate(spaces):
        Z[k, second, :q] = own @ expm(-k * missing)
    Z[:, rest, range(q, q + len(rest))] = 1.0
    return Z


def _nearest(A: Array) -> Array:
    """The orthogonal matrix next to another one."""
    U, _, V = np.linalg.svd(A)
    return np.asarray(U @ V)


def _generator(Q: Array) -> Array:
    """The skew ``G`` of a rotation ``Q = exp(G)``."""
    from scipy.linalg import schur

    T, U = schur(Q)
    G, below = np.zeros_like(T), np.append(np.abs(np.diagonal(T, -1)) > NEGLIGIBLE, False)
    pairs = [(k, k + 1) for k in np.flatnonzero(below)]
    # turned round, always an even number: gradients are a frame of what joints hold, which is the same after a turn
    flips = np.setdiff1d(np.flatnonzero(np.diagonal(T) < 0.0), np.ravel(pairs))
    for i, j in pairs:
        G[j, i] = np.arctan2(T[j, i], T[i, i])
    G[flips[1::2], flips[::2]] = np.pi
    return U @ (G - G.T) @ U.T


def _of_free(seen: list[_Instant], Z: Array, speed: float) -> Array:
    """Mass, damping and stiffness ``(3, k, n, n)`` of ``x`` in ``y = Z x``."""
    wave = 1j * speed * np.fft.fftfreq(len(Z), 1.0 / len(Z))[:, None, None]
    Z_rate, Z_gain = (np.fft.ifft(wave**k * np.fft.fft(Z, axis=0), axis=0).real for k in (1, 2))
    result = []
    for k, ((M, C, K), _, L) in enumerate(seen):
        z, rate, gain = (part[k % len(Z)] for part in (Z, Z_rate, Z_gain))
        left = z if L is None else z - L @ np.linalg.lstsq(L, z, rcond=REPEATED)[0]
        result.append([left.T @ part for part in (M @ z, C @ z + 2.0 * (M @ rate), K @ z + C @ rate + M @ gain)])
    return np.array(result).swapaxes(0, 1)


def _steps(equations: PeriodicEquations, steps: int) -> Iterator[Array]:
    """What each step of a period does to motions, rates and states, by the method of Gauss of order 4."""
    h = equations.period / steps
    for begin in range(0, steps, CHUNK):
        t = h * (np.arange(begin, min(begin + CHUNK, steps))[:, None] + 0.5 + np.array([-ROOT, ROOT]))
        A = h * equations.rates(*equations.at(t.ravel()))
        n = A.shape[-1]
        A = A.reshape(-1, 2, n, n)
        first, second = A[:, 0], A[:, 1]
        left = np.block([[0.25 * first, (0.25 - ROOT) * first], [(0.25 + ROOT) * second, 0.25 * second]])
        slopes = np.linalg.solve(np.eye(2 * n) - left, A.reshape(len(A), 2 * n, n))
        yield from np.eye(n) + 0.5 * (slopes[:, :n] + slopes[:, n:])
