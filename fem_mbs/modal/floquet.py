"""Motions about a state whose linear equations change as it turns, and are the same again after a turn (Floquet).

Seen from axes that stand still ``M(t) y'' + C(t) y' + K(t) y = 0`` with a period ``T``; its solutions are ``P(t)
exp(s t)`` with ``P`` of the same period. ``exp(s T)`` are the eigenvalues of what a period does to ``(y, y')``, so
that ``s`` is known but for multiples of ``2 pi i/T``: that of the largest harmonic of ``P`` is what is seen (Genta,
Dynamics of Rotating Systems, section 6.5). docs/rotors.md, "Neither alike all round".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array, ComplexArray
from fem_mbs.errors import ModelError
from fem_mbs.initial.redundant import independent
from fem_mbs.modal.linear_model import LinearModel, second_order
from fem_mbs.modal.steady_axes import turning_speeds
from fem_mbs.modal.turned import TurnedMatrices, TurnedModel
from fem_mbs.system.matrices import scattered

ANGLES, MOST_ANGLES = 16, 128
"""At which matrices are asked for at first, and at most; between them go their Fourier series."""
NEGLIGIBLE = 1e-7
"""Of a matrix, what counts as no harmonic and as no change of what joints hold."""
KEPT = 30
"""Motions to which large models are reduced, the lowest of the mean matrices: so many, and twice those asked for."""
STEPS, MOST_STEPS, RESOLVED, SPARE = 200, 4000, 0.1, 7
"""Steps of a period, what a step should be of the fastest motion of interest, in rad, and how many more than those
asked for are of interest."""
UNRESOLVED = 0.5
"""What a step may be of a motion at most, in rad; faster ones would be taken for slow ones, and are left out."""
CHUNK = 25
ROOT = np.sqrt(3.0) / 6.0


class PeriodicEquations(NamedTuple):
    """Fourier series of mass, damping, stiffness ``(3, m, n, n)`` with ``m`` harmonics, lowest first as of ``fft``."""

    series: ComplexArray
    period: float
    basis: Array
    """Free components ``(n_free, n)`` of the motions that are left."""

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
    n, period = equations.basis.shape[1], equations.period
    M, C, K = equations.series[:, 0].real
    states = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]])
    slow = np.sort(np.abs(np.linalg.eigvals(states)))[: 2 * (count + SPARE)]
    steps = int(np.clip(np.ceil(slow[-1] * period / RESOLVED), STEPS, MOST_STEPS))
    steps += steps % 2
    every = np.eye(2 * n)
    seen = [every[:n]]
    for k, step in enumerate(_steps(equations, steps), start=1):
        every = step @ every
        if k % 2 == 0:
            seen.append(every[:n])
    multipliers, x = np.linalg.eig(every)
    moves, rates = (np.einsum("ik,ij,jk->k", part.conj(), M, part).real for part in (x[:n], x[n:]))
    resolved = rates * (period / steps) ** 2 <= UNRESOLVED**2 * moves
    own = (multipliers.imag >= 0.0) & resolved  # one of each conjugate pair
    if not resolved.all() and own.sum() < count:
        raise ModelError(
            f"{label}: floquet resolves {own.sum()} of {count} motions: others swing many times in a turn; take fewer "
            "by count=, or a higher speed"
        )
    s, x = np.log(multipliers[own].astype(complex)) / period, x[:, own]
    samples = steps // 2
    times = period * np.arange(samples) / samples
    # P(t) of each (k, t, n), of which what is largest is seen
    P = np.einsum("tij,jk->kti", np.array(seen[:-1]), x) * np.exp(-np.outer(s, times))[:, :, None]
    harmonics = np.fft.fft(P, axis=1) / samples
    sizes = np.einsum("kti,ij,ktj->kt", harmonics.conj(), M, harmonics).real
    largest = sizes.argmax(axis=1)
    s = s + 2j * np.pi / period * np.fft.fftfreq(samples, 1.0 / samples)[largest]
    shapes = harmonics[np.arange(len(s)), largest]
    still = np.abs(s.imag) < NEGLIGIBLE * np.abs(s).max(initial=0.0)
    # of two of one frequency what grows is first, so that no count leaves it off
    order = np.lexsort((np.abs(s) - NEGLIGIBLE * s.real, still))
    return FloquetModes(s[order], linear.node_motions(shapes[order] @ equations.basis.T))


def _periodic(linear: LinearModel, most: int, label: str) -> PeriodicEquations:
    """The equations of a turn, or of half a one if they are then the same; ``most`` motions of large models."""
    from scipy.linalg import eigh, null_space  # which take long to import

    system, state = linear.system, linear.state
    if system.readers or system.velocity_level.any() or not second_order(system).all():
        raise ModelError(
            f"{label}: floquet needs equations of second order: no states of elements, friction of joints or rolling"
        )
    motion = system.evaluate_at(state).motion
    speeds = turning_speeds(system, motion)
    if len(speeds) != 1:
        raise ModelError(f"{label}: floquet needs one speed of all that turns, received {len(speeds)}: {speeds}")
    turn = 2.0 * np.pi / float(np.linalg.norm(speeds[0]))
    turned = TurnedModel(system, motion, np.zeros((system.n, 3)))
    units = 1.0 / system.weight[system.free_rows]
    rows = independent(system)
    B = (linear.B[rows] * units).toarray()
    basis = units[:, None] * (null_space(B) if len(rows) else np.eye(system.n_free))
    first, angles = turned.at(0.0), ANGLES
    while True:
        every = [_seen(turned, first, turn * k / angles, basis, label) for k in range(angles)]
        if angles == ANGLES and basis.shape[1] > most:
            M, _, K = np.mean(every, axis=0)
            try:
                lowest = eigh(0.5 * (K + K.T), 0.5 * (M + M.T), subset_by_index=[0, most - 1])[1]
            except np.linalg.LinAlgError:
                raise ModelError(f"{label}: floquet: something can move without mass") from None
            basis, every = basis @ lowest, [[lowest.T @ part @ lowest for part in each] for each in every]
        series = np.fft.fft(np.array(every).swapaxes(0, 1), axis=1) / angles
        sizes = np.abs(series).max(axis=(2, 3))
        some = sizes > NEGLIGIBLE * sizes.max(axis=1, keepdims=True)
        if not some[:, angles // 4 : 1 - angles // 4].any():
            break
        if (angles := 2 * angles) > MOST_ANGLES:
            raise ModelError(f"{label}: floquet: the equations change too much within a turn")
    half = not some[:, 1::2].any()
    return PeriodicEquations(series[:, ::2] if half else series, turn / (2.0 if half else 1.0), basis)


def _seen(turned: TurnedModel, first: TurnedMatrices, t: float, basis: Array, label: str) -> list[Array]:
    """Mass, damping and stiffness ``(n, n)`` of the motions that are left, at a time; joints stand as at the first."""
    system, there = turned.system, turned.at(t)
    for a, b, batch in zip(first.spaces, there.spaces, system.constraint_batches, strict=True):
        turns = np.abs(b - a).max(axis=(1, 2), initial=0.0) > NEGLIGIBLE
        if turns.any():
            owner = batch.owners[int(turns.argmax())]
            raise ModelError(f"{label}: floquet: {owner} holds directions that turn; let it stand still")
    result, rows = [], system.free_rows
    for which in (2, 1, 0):
        parts = [(cells[which], own) for cells, own in zip(there.of_cells, turned.rows, strict=True)]
        whole = scattered(parts, system.N)[rows][:, rows]
        result.append(basis.T @ (whole @ basis))
    return result


def _steps(equations: PeriodicEquations, steps: int) -> Iterator[Array]:
    """What each step of a period does to ``(y, y')``, by the method of Gauss of order 4."""
    n, h = equations.basis.shape[1], equations.period / steps
    for begin in range(0, steps, CHUNK):
        t = h * (np.arange(begin, min(begin + CHUNK, steps))[:, None] + 0.5 + np.array([-ROOT, ROOT]))
        M, C, K = equations.at(t.ravel())
        A = np.zeros((len(M), 2 * n, 2 * n))
        A[:, :n, n:] = np.eye(n)
        A[:, n:] = -np.linalg.solve(M, np.concatenate([K, C], axis=2))
        A = h * A.reshape(-1, 2, 2 * n, 2 * n)
        first, second = A[:, 0], A[:, 1]
        left = np.block([[0.25 * first, (0.25 - ROOT) * first], [(0.25 + ROOT) * second, 0.25 * second]])
        slopes = np.linalg.solve(np.eye(4 * n) - left, A.reshape(len(A), 4 * n, 2 * n))
        yield from np.eye(2 * n) + 0.5 * (slopes[:, : 2 * n] + slopes[:, 2 * n :])
