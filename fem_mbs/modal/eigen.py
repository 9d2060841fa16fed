"""Eigenvalues next to zero of ``M d'' + C d' + K d + L mu = 0``, ``B d = 0``.

All of it goes through ``solve``: the first part of the solution of the saddle point equations ``[[P, L], [B, 0]]``
with the matrix ``P`` of a shift. It maps forces to admissible motions, so that ``M`` may be singular as long as every
admissible motion has a mass. Few modes of many unknowns are found by ARPACK, else the same operator is dense.

Unknowns and equations should be comparable numbers, that is, without units.

docs/modes.md, "How they are found".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eig, eigh
from scipy.sparse import block_array, csc_array, diags_array
from scipy.sparse.linalg import ArpackError, LinearOperator, eigs, eigsh, splu

from fem_mbs.arrays import Array, BoolArray
from fem_mbs.errors import ConvergenceError, SingularSystemError
from fem_mbs.linear.null_space import comparable, scaled

DENSE_SIZE, LARGEST = 100, 1000
"""Unknowns up to which everything is dense; size of an operator up to which it is where ARPACK does not converge, as
among motions of slender beams that differ by more than rounding leaves of them."""
RESTARTS = 40
"""Of ARPACK; some ten are usual."""
NO_STIFFNESS = 4.0 * float(np.finfo(float).eps)
"""A mode whose stiffness ``x^T K x`` is below this share of ``|x|^T |K| |x|`` has none: its frequency is zero."""
DEFECT, PARALLEL = 1e-6, 0.99
"""Double eigenvalues of one mode are split by rounding to about the root of it, against the shift; their modes are
parallel then, to this cosine."""
ALIKE = 1e-3
"""Part by which a mode without frequency is another one: threefold zeros are split by the cube root of rounding."""
FAR = 100.0
"""Eigenvalues beyond so many shifts have another one."""
COUPLED = 1e-6
"""Unsymmetric and velocity terms below this share of the highest frequency (squared) do not couple modes."""
SMALL_SHIFT, WITHIN = 1e-11, 0.1
"""The least shift, against the highest square of all frequencies, and the usual one, against the highest wanted."""
MASSLESS = 1e-10
"""A mode of states alone has less mass than this share of the largest; it is scaled to the length 1 instead."""
SPARE, ITERATIONS = 8, 3
"""Vectors beyond those wanted, and inverse iterations, that estimate what is wanted."""

Solve = Callable[..., Array]


class Pencil(NamedTuple):
    """The linear equations of free components, in comparable numbers."""

    M: csc_array
    C: csc_array
    K: csc_array
    B: csc_array
    L: csc_array
    """``B^T`` and, where friction depends on reactions, more."""
    G: csc_array
    """Of equations of velocities, ``B d' + G d = 0``."""
    second: BoolArray
    """True for components whose equation is of second order, ``(n,)``."""
    velocity: BoolArray
    """True for equations of velocities, ``(m,)``."""


def eigenmodes(pencil: Pencil, count: int) -> tuple[Array, Array]:
    """Eigenvalues of least size, ``count`` if there are so many, and their modes: motions ``Re(x exp(lambda t))``.

    One of each conjugate pair, with the positive imaginary part; the modes have ``x^H M x = 1``. They are real where
    neither ``C`` nor the unsymmetric part of ``K`` couples them.
    """
    M, C, K, B, L, G, second, _ = pencil
    if not second.all() or G.nnz or abs(L - B.T).sum() > 0.0:
        # states frozen, the motions tell where to look
        rows = np.flatnonzero(second)
        frozen = csc_array(0.5 * (K + K.T))[rows][:, rows]
        reach = max(1, min(count, len(rows) - B.shape[0]))
        shift = _shift(M[rows][:, rows], frozen, B[:, rows], reach) if len(rows) > B.shape[0] else 1.0
        return complex_modes(pencil, count, np.sqrt(shift))
    symmetric, reach = csc_array(0.5 * (K + K.T)), min(count, B.shape[1] - B.shape[0])
    shift = _shift(M, symmetric, B, reach)
    squares, x = real_modes(M, symmetric, B, reach, shift)
    size = np.abs(squares).max()
    turned = (K - symmetric) @ x
    follows = np.abs(x.T @ turned).max() > COUPLED * size + _noise(K, x).max()
    if not follows and turned.any():  # they may be coupled with modes beyond those wanted
        answer = _factor(symmetric + shift * M, csc_array(B.T), B)(turned)
        follows = (np.abs(_products(turned, answer)) > COUPLED * np.abs(squares) + _noise(K, x)).any()
    gyroscopic = np.abs(x.T @ ((C - C.T) @ x)).max() > COUPLED * np.sqrt(size)
    damped = abs(C + C.T).max() > 0.0  # eigenvalues of least size may then be those of high frequencies
    if follows or gyroscopic or damped:
        return complex_modes(pencil if follows or damped else pencil._replace(K=symmetric), count, np.sqrt(shift))
    roots = np.sqrt(np.abs(squares))
    return np.where(squares < 0.0, roots, 1j * roots), x


def real_modes(M: csc_array, K: csc_array, B: csc_array, count: int, shift: float) -> tuple[Array, Array]:
    """Lowest squares of angular frequencies ``(count,)`` and their modes ``(n, count)``, for symmetric ``M``, ``K``.

    The modes have ``x^T M x = 1``. Squares below zero belong to motions that run away.
    """
    n = K.shape[0]
    solve = _factor(K + shift * M, csc_array(B.T), B)

    operator = LinearOperator((n, n), solve, dtype=float)
    few = partial(arpack, eigsh, K, count, f"modes: {count} eigenvalues", M=M, sigma=-shift, OPinv=operator)
    _, x = _found(partial(_dense_modes, M, solve, count), None if _small(B, count) else few, n)
    # one more step of inverse iteration takes out what is not admissible, the Rayleigh quotients what the shift hides
    _, x = _ritz(M, K, solve(M @ x))
    squares = _products(x, K @ x)
    return np.where(np.abs(squares) <= _noise(K, x) + NO_STIFFNESS * shift, 0.0, squares), x


def complex_modes(pencil: Pencil, count: int, sigma: float) -> tuple[Array, Array]:
    """Eigenvalues of least size and modes, as :func:`eigenmodes`, for any ``C`` and ``K``.

    What a shift leaves of eigenvalues far beyond it is rounding: all at once are found by as many shifts as they need,
    until those that are left are infinite, as of motions with dampers and without mass.
    """
    M, C, K, B, _, _, second, velocity = pencil
    # equations with the rate of a state, not those of sensors, which have velocities of nodes
    first, n = np.flatnonzero(~second), len(second)
    states = int((abs(C)[first][:, first].sum(axis=1) > 0.0).sum())
    finite = 2 * int(second.sum()) + states - 2 * B.shape[0] + int(velocity.sum())

    def dense() -> tuple[Array, Array]:
        values, z, shift = np.full(finite, np.inf), np.empty((2 * n, finite)), sigma / FAR
        while shift < sigma / NO_STIFFNESS and (far := np.abs(values) > FAR * shift).any():
            shift *= FAR
            theta, all_z = eig(_shifted(pencil, shift)(np.eye(2 * n)))
            largest = np.argsort(-np.abs(theta))[:finite]
            found = shift + shift / theta[largest]
            those = np.argsort(np.abs(found))[finite - far.sum() :]
            values = np.append(values[~far], found[those])
            z = np.append(z[:, ~far], all_z[:, largest[those]], axis=1)
        return values, z

    def few() -> tuple[Array, Array]:
        operator = LinearOperator((2 * n, 2 * n), _shifted(pencil, sigma), dtype=float)
        theta, z = arpack(eigs, operator, 2 * count + 2, f"modes: {count} eigenvalues")
        return sigma + sigma / theta, z

    values, z = _found(dense, None if _small(B, count) or 2 * count + 2 + states >= finite else few, 2 * n)
    forces = csc_array(diags_array(second.astype(float)) @ K)  # rates of states have no part in squares of frequencies
    return _select(values, z[:n], M, forces, sigma, count)


def _shifted(pencil: Pencil, sigma: float) -> Callable[[Array], Array]:
    """The operator of a real shift ``sigma``, whose eigenvalues are ``sigma/(lambda - sigma)``.

    With ``d' = sigma w`` it maps ``(x, y)`` to ``(d, x + d)``,
    ``P(sigma) d + L mu = -sigma ((C + sigma M) x + sigma M y)``, ``P = K + sigma C + sigma^2 M``. Equations of
    velocities give ``(sigma B + G) d = -sigma B x``. Where equations are of lower order or closed, eigenvalues are
    infinite, and those of the operator zero.
    """
    M, C, K, B, L, G, second, velocity = pencil
    n, m = K.shape[0], B.shape[0]
    P, motions = K + sigma * C + sigma**2 * M, np.flatnonzero(second)
    # each equation of a state or an output is in a unit of its own
    units, one = comparable(P / abs(P[motions][:, motions]).max(), ~second), np.ones(n)
    M, C, P = (scaled(own, units, one) for own in (M, C, P))
    L = scaled(L, units, np.ones(m))
    level = diags_array(velocity.astype(float))
    moving = csc_array(level @ B)
    rows = csc_array(B - moving + level @ (sigma * B + G)) if m else B
    solve = _factor(P, L, rows)

    def apply(z: Array) -> Array:
        x, y = z[:n], z[n:]
        d = -sigma * solve(C @ x + sigma * (M @ (x + y)), moving @ x)
        return np.concatenate([d, x + d])

    return apply


def _shift(M: csc_array, K: csc_array, B: csc_array, count: int) -> float:
    """A shift somewhat below the largest of the wanted squares, from a few inverse iterations with a small one.

    A shift far below the squares drowns in the rounding of ``K`` where motions are without stiffness, one far above
    hides them.
    """
    mass, stiffness = M.diagonal(), np.abs(K.diagonal())
    ratios = stiffness[mass > 0.0] / mass[mass > 0.0]
    shift = SMALL_SHIFT * max(ratios.max(), stiffness.max() / mass.max()) or 1.0
    solve = _factor(K + shift * M, csc_array(B.T), B)
    n, m = K.shape[0], B.shape[0]
    x = np.random.default_rng(0).normal(size=(n, min(count + SPARE, n - m)))
    for _ in range(ITERATIONS):
        x, _ = np.linalg.qr(solve(M @ x))
    squares = np.sort(np.abs(_ritz(M, K, x)[0]))
    return max(shift, WITHIN * float(squares[count - 1]))


def _ritz(M: csc_array, K: csc_array, x: Array) -> tuple[Array, Array]:
    """Squares and modes, orthonormal in ``M``, in the span of ``x``."""
    x, _ = np.linalg.qr(x)
    try:
        squares, y = eigh(x.T @ (K @ x), x.T @ (M @ x))
    except np.linalg.LinAlgError:
        raise SingularSystemError(
            "modes: masses differ by so much that rounding hides the small ones; look at the units of the masses and "
            "inertias, or weld light bodies to others"
        ) from None
    return squares, x @ y


def _factor(P: csc_array, L: csc_array, rows: csc_array) -> Callable[..., Array]:
    """Motions ``d`` of ``P d + L mu = forces``, ``rows d = rates``; rates are zero by default."""
    n, m = L.shape
    factor = abs(P).max()
    try:
        lu = splu(block_array([[P, factor * L], [factor * rows, None]], format="csc") if m else csc_array(P))
    except RuntimeError:
        raise SingularSystemError("a motion has neither mass nor stiffness, or joints repeat each other") from None

    def solve(forces: Array, rates: Array | None = None) -> Array:
        right = np.zeros((m, *forces.shape[1:])) if rates is None else factor * rates
        return np.asarray(lu.solve(np.concatenate([forces, right]))[:n])

    return solve


def _dense_modes(M: csc_array, solve: Solve, count: int) -> tuple[Array, Array]:
    """With ``M = F F^T`` the symmetric matrix ``F^T solve(F)`` has the eigenvalues ``1/(square + shift)``."""
    # right for small masses beside large ones
    units = np.sqrt(M.diagonal())
    inverse = np.divide(1.0, units, out=np.zeros_like(units), where=units > 0.0)
    values, vectors = np.linalg.eigh(inverse[:, None] * M.toarray() * inverse)
    F = units[:, None] * vectors * np.sqrt(values.clip(0.0))
    operator = F.T @ solve(F)
    values, y = eigh(0.5 * (operator + operator.T))
    largest = np.argsort(-np.abs(values))[:count]
    return values[largest], solve(F @ y[:, largest])


def _select(values: Array, x: Array, M: csc_array, K: csc_array, sigma: float, count: int) -> tuple[Array, Array]:
    """One of each conjugate pair and of the pairs of zeros, by size."""
    masses, size = _products(x, M @ x).real, _products(x, x).real
    heavy = masses > MASSLESS * size * abs(M).max()
    x = x / np.sqrt(np.where(heavy, masses, size))
    rounding = np.where(heavy, _noise(K, x), 0.0) + (DEFECT * sigma) ** 2
    # double ones with one mode, as of a body that drifts, seen from axes that turn with it, are split as zeros are
    directions = x / np.linalg.norm(x, axis=0)
    split = np.abs(np.subtract.outer(values, values)) ** 2 <= 4.0 * np.maximum.outer(rounding, rounding)
    split &= np.abs(directions.conj().T @ directions) > PARALLEL
    values = split @ values / split.sum(axis=1)
    none = np.abs(values) ** 2 <= rounding
    # zeros come twice with one mode: as many as their modes span
    still = np.concatenate([directions[:, none].real, directions[:, none].imag], axis=1)
    still, spans, _ = np.linalg.svd(still, full_matrices=False)
    still = still[:, spans > ALIKE]
    masses, y = np.linalg.eigh(still.T @ (M @ still))
    still = still @ (y / np.sqrt(np.where(masses > MASSLESS * abs(M).max(), masses, 1.0)))
    real = np.abs(values.imag) <= DEFECT * np.abs(values)
    others = ~none & ((values.imag > 0.0) | real)
    values = np.concatenate([np.zeros(still.shape[1]), np.where(real, values.real, values)[others]])
    order = np.argsort(np.abs(values), kind="stable")[:count]
    return values[order], np.concatenate([still, x[:, others]], axis=1)[:, order]


def _noise(K: csc_array, x: Array) -> Array:
    """What rounding may make of ``x^T K x`` for each column of ``x``."""
    size = np.abs(x)
    return NO_STIFFNESS * _products(size, abs(K) @ size)


def _products(x: Array, y: Array) -> Array:
    """Scalar product of each column of ``x`` with that of ``y``."""
    return np.vecdot(x.T, y.T)


def _found(dense: Callable[[], Any], few: Callable[[], Any] | None, size: int) -> Any:
    """What ARPACK finds; what a dense operator of a size has if that is to be, or where ARPACK does not converge."""
    if few is not None:
        try:
            return few()
        except ConvergenceError:
            if size > LARGEST:
                raise
    return dense()


def _small(B: csc_array, count: int) -> bool:
    m, n = B.shape
    return bool(n <= DENSE_SIZE or 3 * count > n - m)


def arpack(solver: Callable[..., tuple[Array, Array]], matrix: Any, count: int, what: str, **options: object) -> Any:
    """ARPACK from a random start, where necessary with a larger subspace: many equal eigenvalues may need one."""
    first = np.random.default_rng(1).normal(size=matrix.shape[0])
    for subspace in (None, 4 * count + 40):
        try:
            return solver(matrix, count, ncv=subspace, v0=first, maxiter=RESTARTS, **options)
        except ArpackError:
            continue
    raise ConvergenceError(f"{what} did not converge; ask for a few more or fewer")
