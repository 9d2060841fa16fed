"""Bands that are factorised without pivoting, by compiled loops, against LAPACK and dense matrices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.benchmarks.linkages import governor
from fem_mbs.compiled import accelerate
from fem_mbs.errors import SingularSystemError
from fem_mbs.linear.solvers import BandedSolver, DenseSolver, Factors, LinearSolver, SparseSolver, band_of_pivots
from fem_mbs.system.matrices import leading_entries
from fem_mbs.system.system import System

pytest.importorskip("llvmlite")
from fem_mbs.compiled.band import CompiledBand

Triplets = tuple[np.ndarray, np.ndarray, np.ndarray]


def chain(links: int, seed: int) -> tuple[Triplets, int, np.ndarray, int]:
    """Triplets of blocks of six unknowns, each coupled to the next by forces and by five multipliers; blocks; ``n``.

    Some entries are left out of the matrix.
    """
    rng, n = np.random.default_rng(seed), 6 * links
    cells = 6 * np.arange(links - 1)[:, None] + np.arange(12)
    stiffness = rng.normal(size=(links - 1, 12, 12)) + 12.0 * np.eye(12)
    equation = np.arange(n)
    equation[3] = -1
    rows, columns = equation[np.repeat(cells, 12, axis=1).ravel()], equation[np.tile(cells, (1, 12)).ravel()]
    joints = n + np.arange(5 * (links - 1)).reshape(-1, 5)
    i, j = np.repeat(joints, 12, axis=1).ravel(), equation[np.tile(cells, (1, 5)).ravel()]
    b = rng.normal(size=len(i))
    blocks = np.append(np.repeat(np.arange(links), 6), np.repeat(links + np.arange(links - 1), 5))
    rows, columns = np.concatenate([rows, i, j, [3]]), np.concatenate([columns, j, i, [3]])
    return (rows, columns, np.concatenate([stiffness.ravel(), b, b, [2.0]])), n + joints.size, blocks, n


def both(triplets: Triplets, blocks: np.ndarray, n: int) -> tuple[CompiledBand, BandedSolver]:
    rows, columns, _ = triplets
    plain = band_of_pivots(rows, columns, blocks, n)
    return CompiledBand(plain, rows, columns), plain


def dense(triplets: Triplets, size: int) -> np.ndarray:
    rows, columns, values = triplets
    inside, matrix = (rows >= 0) & (columns >= 0), np.zeros((size, size))
    np.add.at(matrix, (rows[inside], columns[inside]), values[inside])
    return matrix


@pytest.mark.parametrize("links", [2, 3, 40])
def test_solutions_are_those_of_the_dense_matrix(links: int) -> None:
    """From entries and from what is stored of them; of several sides, of kept factors."""
    triplets, size, blocks, n = chain(links, links)
    own, _ = both(triplets, blocks, n)
    matrix, right = dense(triplets, size), np.random.default_rng(0).normal(size=(size, 3))
    expected = np.linalg.solve(matrix, right)
    stored = own.stored(triplets[2])
    np.testing.assert_allclose(own.matrix(stored).toarray(), matrix, rtol=0, atol=1e-13)
    factors, close = own.factorized(triplets[2]), {"rtol": 0, "atol": 1e-11 * np.abs(expected).max()}
    assert len(factors.arrays) == 1, "no pivot is lost"
    again = own.restore(factors.arrays)
    assert again is not None
    for one in (factors, own.factor(stored), again):
        np.testing.assert_allclose(one.solve(right), expected, **close)
        np.testing.assert_allclose(one.solve(right[:, 0]), expected[:, 0], **close)
    np.testing.assert_allclose(own.matrix(stored).toarray(), matrix, rtol=0, atol=1e-13)
    with pytest.raises(TypeError):
        factors.solve(right[:, 0] + 1j)
    whole = own.factor(stored + 0.5j * stored).solve(right[:, 0] + 0j)
    np.testing.assert_allclose(whole * (1.0 + 0.5j), expected[:, 0], **close)


@pytest.mark.parametrize("diagonal", [0.0, 1e-14])
def test_where_a_pivot_is_lost_lapack_looks_for_another(diagonal: float) -> None:
    """One that is zero, or what is left of 1 when 1 is taken away; and matrices that have no factors."""
    triplets, size, blocks, n = chain(12, 5)
    rows, columns, values = triplets
    own, plain = both(triplets, blocks, n)
    first, second = plain.order[:2]
    changed = np.where((rows == first) & (columns == first), 0.0, values)
    changed[np.flatnonzero((rows == first) & (columns == first))[0]] = 1.0 if diagonal else 0.0
    for i, j in ((first, second), (second, first), (second, second)):
        there = np.flatnonzero((rows == i) & (columns == j))
        changed[there] = 0.0
        changed[there[0]] = 1.0 + (diagonal if i == j else 0.0)
    matrix, right = dense((rows, columns, changed), size), np.ones(size)
    factors = own.factorized(changed)
    again = own.restore(factors.arrays)
    assert again is not None and len(again.arrays) == 3 and plain.restore(factors.arrays) is None
    assert both(chain(12, 4)[0], blocks[::-1], n)[0].restore(factors.arrays) is None, "it is in another order"
    for one in (factors, again, own.restore(again.arrays)):
        np.testing.assert_allclose(one.solve(right), np.linalg.solve(matrix, right), rtol=1e-8)
    for solver in (own, plain):
        for nothing in (np.where((rows == 0) | (columns == 0), 0.0, values), np.full(len(values), np.nan)):
            with pytest.raises(SingularSystemError):
                solver.factorized(nothing)


@pytest.mark.parametrize("held", [lambda f: f, lambda f: f.solve, lambda f: f.arrays, lambda f: f.arrays[0][2:]])
def test_factors_keep_their_memory_as_long_as_anybody_holds_them(held: Callable[[Factors], object]) -> None:
    """Later matrices take the memory of factors that nobody holds, not that of others, nor of views of them."""
    triplets, size, blocks, n = chain(9, 1)
    own, _ = both(triplets, blocks, n)
    first = own.factor(own.stored(triplets[2]))
    kept, lu, right = held(first), first.arrays[0].copy(), np.ones(size)
    x, places = first.solve(right), {first.arrays[0].ctypes.data}
    del first
    for k in range(1, 9):
        later = own.factor(own.stored(triplets[2] * (1.0 + k)))
        places.add(later.arrays[0].ctypes.data)
        np.testing.assert_allclose(later.solve(right) * (1.0 + k), x, rtol=1e-10)
    assert len(places) <= 3, "memory is used again"
    arrays = kept.arrays if isinstance(kept, Factors) else kept
    if callable(arrays):
        np.testing.assert_array_equal(arrays(right), x)
    else:
        now = arrays[0] if isinstance(arrays, tuple) else arrays
        np.testing.assert_array_equal(now, lu if isinstance(arrays, tuple) else lu[2:])


def test_kept_factors_of_another_solver_are_none() -> None:
    """As those of a file that was written where kernels were not in use, and the other way round."""
    (rows, columns, values), size, blocks, n = chain(12, 1)
    own, plain = both((rows, columns, values), blocks, n)
    for other in (plain, DenseSolver(rows, columns, size), SparseSolver(rows, columns, size, np.arange(size))):
        assert other.restore(own.factorized(values).arrays) is None
        assert own.restore(other.factorized(values).arrays) is None


def pendulums(links: int) -> mbs.Model:
    """Bodies on hinges that are let go from the horizontal."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    last = model.ground
    for k in range(links):
        node = model.add_node((k + 0.5, 0, 0))
        model.add(mbs.elements.RigidBody(node, 1.0, (0.1, 0.1, 0.1)))
        model.add(mbs.elements.RevoluteJoint(last, node, axis=(0, 1, 0), point=(k, 0, 0)))
        last = node
    return model


def test_a_chain_moves_as_with_lapack(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pivot is lost, and the modified method keeps factors over steps."""
    calls: list[Factors] = []
    plain_factors = BandedSolver.factors
    for newton in (mbs.Newton(), mbs.Newton(modified=True)):
        method, runs = mbs.GeneralizedAlpha(newton=newton), []
        for compiled in (True, False):
            with monkeypatch.context() as patch:
                patch.setenv("FEM_MBS_FAST", str(int(compiled)))
                patch.setattr(BandedSolver, "factors", lambda *own: calls.append(made := plain_factors(*own)) or made)  # type: ignore[func-returns-value]
                calls.clear()
                runs.append(mbs.simulate(pendulums(20), 0.2, 5e-3, method))
                started = 3  # the consistent start comes with other matrices
                assert (len(calls) <= started) == compiled
        np.testing.assert_allclose(runs[0].x, runs[1].x, rtol=0, atol=1e-9)


def test_what_has_next_to_no_inertia_is_no_pivot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rotations of point masses on rods: what their forces leave on the diagonal is 1e-72 here, on its way to zero."""
    places = []
    for kernels in "01":
        monkeypatch.setenv("FEM_MBS_FAST", kernels)
        places.append(mbs.simulate(governor(), 4.4, 0.02).coordinate("guide")[-1])
    assert places[0] == pytest.approx(places[1], abs=1e-5)


def test_a_system_gets_one_for_a_narrow_band(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEM_MBS_FAST", "1")
    system = System(pendulums(20))
    before: LinearSolver = system.solver
    accelerate(system)
    assert isinstance(before, BandedSolver)
    assert isinstance(system.solver, CompiledBand)
    evaluation = system.evaluate(system.at_rest(), np.zeros(system.m), system.prescribe(0.0))
    entries = leading_entries(system, evaluation)
    right = np.cos(np.arange(system.size))
    np.testing.assert_allclose(
        system.solver.factorized(entries).solve(right), before.factorized(entries).solve(right), rtol=0, atol=1e-9
    )
