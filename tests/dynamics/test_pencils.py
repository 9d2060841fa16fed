"""Eigenvalues of random linear equations are those of their whole descriptor form, which knows no shift."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag, eig, qr
from scipy.sparse import csc_array

from fem_mbs.arrays import Array
from fem_mbs.modal.eigen import Pencil, eigenmodes

KINDS = "plain", "unstable", "gyroscopic", "damped", "circulatory", "friction", "states", "rolling", "weak", "loose"
COUNT = 4


def pencil(kind: str, n: int, m: int) -> Pencil:
    """Positive definite as a rule, with frequencies of 1 to ``n``."""
    rng = np.random.default_rng(KINDS.index(kind))
    X = np.eye(n) + rng.normal(size=(n, n)) / n
    Y = rng.normal(size=(n, n)) / np.sqrt(n)
    squares = np.arange(1.0, n + 1.0) ** 2
    if kind == "unstable":
        squares[:2] = -3.0, -0.5
    if kind == "loose":
        squares[:2] = 0.0
    M, K, C = X.T @ X, X.T @ np.diag(squares) @ X, np.zeros((n, n))
    B = rng.normal(size=(m, n))
    if kind == "loose":  # joints do not hold what nothing resists
        B -= B @ (still := np.linalg.inv(X)[:, :2]) @ np.linalg.pinv(still)
    L, second, velocity, G = B.T.copy(), np.ones(n, bool), np.zeros(m, bool), np.zeros((m, n))
    match kind:
        case "gyroscopic":
            C = Y - Y.T
        case "damped":
            C = 0.3 * Y @ Y.T
        case "circulatory":
            C, K = 0.1 * np.eye(n), K + 0.5 * (Y - Y.T)
        case "friction":
            L += 0.3 * rng.normal(size=L.shape)
        case "weak":
            K = K + 1e-3 * (Y - Y.T)
        case "states":
            second[-3:] = False
            M[-3:], M[:, -3:] = 0.0, 0.0
            C[-3:, -3:] = np.eye(3) + 0.2 * Y[-3:, -3:]
            K[-3:, -3:] = np.diag([0.5, 1.5, 2.0])
            K[:-3, -3:], K[-3:, :-3] = 0.3 * Y[:-3, -3:], 0.3 * Y[-3:, :-3]
            B[:, -3:], L[-3:] = 0.0, 0.0
        case "rolling":
            velocity[0] = True
            G[0] = 0.2 * Y[0]
    return Pencil(*map(csc_array, (M, C, K, B, L, G)), second, velocity)


def descriptor(own: Pencil) -> tuple[Array, Array]:
    """``E y' = A y`` of ``y = (d, d', mu)``."""
    M, C, K, B, L, G = (part.toarray() for part in own[:6])
    n, m = L.shape
    held = np.where(own.velocity[:, None], G, B), np.where(own.velocity[:, None], B, 0.0)
    none, one = np.zeros((n, n)), np.eye(n)
    A = np.block([[none, one, np.zeros((n, m))], [-K, -C, -L], [*held, np.zeros((m, m))]])
    E = np.zeros_like(A)
    E[:n, :n], E[n : 2 * n, n : 2 * n] = one, M
    return A, E


@pytest.mark.parametrize(
    ("kind", "n"),
    [*((kind, 14) for kind in KINDS), *((kind, 102) for kind in ("plain", "gyroscopic", "states", "loose"))],
)
def test_eigenvalues_are_those_of_the_descriptor_form(kind: str, n: int) -> None:
    """The least ones, one of each conjugate pair; modes solve the equations and have the modal mass 1."""
    own = pencil(kind, n, 2)
    values, x = eigenmodes(own, COUNT)
    A, E = descriptor(own)
    every = eig(A, E, right=False)
    every = every[np.isfinite(every) & (np.abs(every) < 1e3 * n)]
    every = every[np.argsort(np.abs(every))][4 if kind == "loose" else 0 :]  # zeros come twice with one motion
    every = every[every.imag >= -1e-9 * np.abs(every)]
    if kind == "unstable":  # of what runs away and comes back the one that runs away
        every = every[every.real > -0.1 * np.abs(every)]
    expected = np.concatenate([np.zeros(2 if kind == "loose" else 0), every])[:COUNT]
    np.testing.assert_allclose(np.abs(values), np.abs(expected), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(np.sort(values.real), np.sort(expected.real), rtol=0, atol=1e-7)
    M, C, K, B, L, G = (part.toarray() for part in own[:6])
    across = qr(L)[0][:, L.shape[1] :].T
    for value, mode in zip(values, x.T, strict=True):
        left = across @ (value**2 * (M @ mode) + value * (C @ mode) + K @ mode)
        gaps = np.where(own.velocity, value * (B @ mode) + G @ mode, B @ mode)
        assert np.abs(left).max() < 1e-9 * n * n * np.abs(mode).max() > np.abs(gaps).max()
        assert (mode.conj() @ M @ mode).real == pytest.approx(1.0, rel=1e-9)


def test_states_that_are_fast_beside_integrals_keep_their_eigenvalues() -> None:
    """Threefold zeros of one mode, and rates up to ten powers of ten above the frequency of a motion."""
    n = 8
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rates = -np.sort(-(10.0 ** rng.uniform(0, 10, n - 3)))
        A = block_diag(np.eye(3, k=1), np.diag(-rates))
        X = rng.normal(size=(n, n))
        M, C, K = np.diag(np.eye(1, n + 1)[0]), np.eye(n + 1), block_diag(1.0, -X @ A @ np.linalg.inv(X))
        C[0, 0] = 0.0
        none = np.zeros((0, n + 1))
        own = Pencil(*map(csc_array, (M, C, K, none, none.T, none)), np.arange(n + 1) < 1, np.zeros(0, bool))
        values, _ = eigenmodes(own, 2 * n)
        np.testing.assert_allclose(np.sort(values.real)[:2], -rates[:2], rtol=1e-9)
