"""All solvers solve transposed equations."""

from __future__ import annotations

import numpy as np
import pytest

from fem_mbs.linear.solvers import BandedSolver, DenseSolver, SparseSolver, make_solver


@pytest.mark.parametrize(
    ("size", "far", "kind"), [(12, 12, DenseSolver), (60, 4, BandedSolver), (300, 300, SparseSolver)]
)
def test_solutions(size: int, far: int, kind: type) -> None:
    """One by one and several at once."""
    rng = np.random.default_rng(size)
    rows, columns = rng.integers(0, size, (2, 6 * size))
    near = np.abs(rows - columns) < far
    rows, columns = np.append(rows[near], np.arange(size)), np.append(columns[near], np.arange(size))
    # the pattern is one of a structure
    rows, columns = np.append(rows, columns), np.append(columns, rows)
    solver = make_solver(rows, columns, size)
    assert type(solver) is kind
    values = np.append(rng.normal(size=len(rows) - size), 20.0 * np.ones(size))
    factors = solver.factor(np.bincount(solver.slots, values, solver.storage + 1)[:-1])
    dense = np.zeros((size, size))
    np.add.at(dense, (rows, columns), values)
    for right in (rng.normal(size=size), rng.normal(size=(size, 3))):
        np.testing.assert_allclose(dense.T @ factors.solve_transposed(right), right, atol=1e-10)
        np.testing.assert_allclose(dense @ factors.solve(right), right, atol=1e-10)
