"""All linear solvers solve the same equations, whatever the pattern."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

import fem_mbs as mbs
from fem_mbs.arrays import Array, IntArray
from fem_mbs.elements import RigidBody
from fem_mbs.linear.direct import PIVOT, Checked, Solve, factorize, use
from fem_mbs.linear.null_space import count_repeated
from fem_mbs.linear.solvers import (
    SYMMETRIC,
    BandedSolver,
    DenseSolver,
    LinearSolver,
    SparseSolver,
    graph_of,
    make_solver,
    minimum_degree,
)

Triplets = tuple[IntArray, IntArray, Array]


def saddle_point(seed: int, unknowns: int = 30, equations: int = 8) -> tuple[Triplets, int, Array]:
    """Triplets of a random ``[[K, B^T], [B, 0]]`` with repeated and eliminated (negative) entries, and the matrix."""
    rng = np.random.default_rng(seed)
    size = unknowns + equations
    i = rng.integers(-3, unknowns, 6 * unknowns)
    j = i + rng.integers(-4, 5, len(i))
    j[(j >= unknowns) | (i < 0)] = -1
    diagonal = np.arange(unknowns)
    b_row = np.repeat(np.arange(unknowns, size), 3)
    b_col = (3 * (b_row - unknowns) + np.tile([0, 1, 2], equations)) % unknowns
    rows = np.concatenate([i, diagonal, b_row, b_col])
    columns = np.concatenate([j, diagonal, b_col, b_row])
    b = rng.normal(size=len(b_row))
    values = np.concatenate([0.3 * rng.normal(size=len(i)), rng.normal(size=unknowns) + 4.0, b, b])
    matrix = np.zeros((size, size))
    inside = (rows >= 0) & (columns >= 0)
    assert not inside.all()
    np.add.at(matrix, (rows[inside], columns[inside]), values[inside])
    return (rows, columns, values), size, matrix


def solvers(rows: IntArray, columns: IntArray, size: int) -> list[LinearSolver]:
    place = np.random.default_rng(1).permutation(size)
    inside = (rows >= 0) & (columns >= 0)
    width = int(np.abs(place[rows[inside]] - place[columns[inside]]).max())
    return [
        DenseSolver(rows, columns, size),
        BandedSolver(rows, columns, size, place, width),
        SparseSolver(rows, columns, size, place),
    ]


def assemble(solver: LinearSolver, values: Array) -> Array:
    return np.bincount(solver.slots, values, minlength=solver.storage + 1)[:-1]


@pytest.mark.parametrize("seed", range(5))
def test_all_solvers_store_and_solve_the_same_equations(seed: int) -> None:
    (rows, columns, values), size, matrix = saddle_point(seed)
    right = np.random.default_rng(seed).normal(size=size)
    expected = np.linalg.solve(matrix, right)
    for solver in (*solvers(rows, columns, size), make_solver(rows, columns, size)):
        stored = assemble(solver, values)
        np.testing.assert_allclose(solver.matrix(stored).toarray(), matrix, rtol=0, atol=1e-14)
        np.testing.assert_allclose(solver.factor(stored.copy()).solve(right), expected, rtol=0, atol=1e-11)


def test_a_factorisation_serves_many_right_hand_sides() -> None:
    (rows, columns, values), size, matrix = saddle_point(7)
    for solver in solvers(rows, columns, size):
        solve = solver.factor(assemble(solver, values)).solve
        for unit in np.eye(size)[:3]:
            np.testing.assert_allclose(matrix @ solve(unit.copy()), unit, rtol=0, atol=1e-11)


def test_eliminated_entries_go_to_one_place_outside() -> None:
    (rows, columns, _), size, _ = saddle_point(3)
    outside = (rows < 0) | (columns < 0)
    for solver in solvers(rows, columns, size):
        assert (solver.slots[outside] == solver.storage).all()
        assert (solver.slots[~outside] < solver.storage).all()


def chain(size: int, reach: int) -> tuple[IntArray, IntArray]:
    """Pattern of a chain, unknowns numbered at random, where each meets the next ``reach``."""
    number = np.random.default_rng(0).permutation(size)
    i, j = np.indices((size, size)).reshape(2, -1)
    near = np.abs(i - j) <= reach
    return number[i[near]], number[j[near]]


def hub(size: int) -> tuple[IntArray, IntArray]:
    """Pattern of unknowns that all meet the first one."""
    others, first = np.arange(1, size), np.zeros(size - 1, np.intp)
    every = np.arange(size)
    return np.concatenate([every, others, first]), np.concatenate([every, first, others])


def test_the_solver_suits_the_size_and_the_band() -> None:
    for (rows, columns), size, kind in (
        (chain(20, 3), 20, DenseSolver),
        (chain(200, 6), 200, BandedSolver),
        (hub(200), 200, SparseSolver),
    ):
        assert type(make_solver(rows, columns, size)) is kind


def test_reordering_finds_the_band_of_a_chain() -> None:
    """However the nodes of a chain are numbered, its cost stays that of its band."""
    rows, columns = chain(500, 6)
    solver = make_solver(rows, columns, 500)
    assert isinstance(solver, BandedSolver) and solver.width <= 12


def test_a_singular_matrix_is_refused() -> None:
    rows, columns = (part.ravel() for part in np.indices((3, 3)))
    for solver in (
        DenseSolver(rows, columns, 3),
        BandedSolver(rows, columns, 3, np.arange(3), 2),
        SparseSolver(rows, columns, 3, np.arange(3)),
    ):
        with pytest.raises(mbs.SingularSystemError, match="singular"):
            solver.factor(assemble(solver, np.ones(9)))


def test_all_solvers_take_complex_matrices() -> None:
    """On the same pattern; also restored."""
    (rows, columns, values), size, matrix = saddle_point(3)
    shift = np.arange(len(values)) % 5 / 3.0
    shifted = np.zeros((size, size))
    inside = (rows >= 0) & (columns >= 0)
    np.add.at(shifted, (rows[inside], columns[inside]), shift[inside] * values[inside])
    right = np.linspace(-1.0, 1.0, size) + 1j * np.linspace(2.0, 1.0, size)
    expected = np.linalg.solve(matrix + 1j * shifted, right)
    for solver in solvers(rows, columns, size):
        factors = solver.factor(assemble(solver, values) + 1j * assemble(solver, shift * values))
        np.testing.assert_allclose(factors.solve(right), expected, rtol=0, atol=1e-10)
        np.testing.assert_allclose(solver.restore(factors.arrays).solve(right), expected, rtol=0, atol=1e-10)


def test_kept_factors_are_known_after_any_others() -> None:
    """A new solver makes them again."""
    (rows, columns, values), size, matrix = saddle_point(3)
    right = np.linspace(-1.0, 1.0, size)
    for solver, again in zip(solvers(rows, columns, size), solvers(rows, columns, size), strict=True):
        restored = again.restore(solver.factorized(values).arrays)
        np.testing.assert_allclose(restored.solve(right), np.linalg.solve(matrix, right), rtol=0, atol=1e-10)


def grid(nodes: int, seed: int) -> tuple[Triplets, int, IntArray]:
    """Triplets of a square grid of nodes with two unknowns each, of which joints hold one apart; and the blocks."""
    rng = np.random.default_rng(seed)
    number = np.arange(nodes**2).reshape(nodes, nodes)
    along, across = number[:, 1:].ravel(), number[1:].ravel()
    pairs = np.stack([np.append(along, across), np.append(along - 1, across - nodes)], axis=1)
    cells = (2 * pairs[:, :, None] + np.arange(2)).reshape(-1, 4)
    n, m = 2 * nodes**2, len(pairs) // 5
    held = cells[rng.choice(len(cells), m, replace=False)]
    b_row = np.repeat(np.arange(n, n + m), 4)
    rows = np.concatenate([np.repeat(cells, 4, axis=1).ravel(), b_row, held.ravel()])
    columns = np.concatenate([np.tile(cells, (1, 4)).ravel(), held.ravel(), b_row])
    stiffness = rng.normal(size=(len(cells), 4, 4)) + 4.0 * np.eye(4)
    b = rng.normal(size=4 * m)
    blocks = np.append(np.repeat(np.arange(nodes**2), 2), nodes**2 + np.arange(m))
    return (rows, columns, np.concatenate([stiffness.ravel(), b, b])), n + m, blocks


@pytest.mark.parametrize("seed", range(3))
def test_orders_of_little_fill_leave_solutions_as_they_are(seed: int) -> None:
    """And fewer numbers in the factors than the order that SuperLU finds for all unknowns."""
    (rows, columns, values), size, blocks = grid(50, seed)
    solver = make_solver(rows, columns, size, blocks)
    assert isinstance(solver, SparseSolver)
    stored = assemble(solver, values)
    matrix, right = solver.matrix(stored), np.random.default_rng(seed).normal(size=(size, 2))
    own = splu(matrix)
    for b in (right, right[:, 0]):
        np.testing.assert_allclose(solver.factor(stored).solve(b), own.solve(b), rtol=0, atol=1e-9)
    ordered = matrix[solver.order][:, solver.order]
    kept = splu(csc_array(ordered), permc_spec="NATURAL", diag_pivot_thresh=PIVOT, options=SYMMETRIC)
    assert kept.nnz < 0.7 * own.nnz


def test_multipliers_come_after_a_node_that_they_hold() -> None:
    """The first of their nodes, unless that has as many already as it has unknowns."""
    # a ring of nodes of six unknowns, each held to the next in three ways; the last has a joint of six more
    nodes = 30
    ring = np.arange(nodes)
    joints = nodes + ring
    i = np.concatenate([ring, joints, joints, [2 * nodes, 2 * nodes]])
    j = np.concatenate([np.roll(ring, 1), ring, np.roll(ring, -1), [nodes - 1, nodes - 2]])
    graph = graph_of(i, j, np.arange(2 * nodes + 1))
    sizes = np.repeat([6, 3, 6], [nodes, nodes, 1])
    rank, _ = minimum_degree(graph, sizes, np.arange(2 * nodes + 1) >= nodes)
    assert sorted(rank) == list(range(2 * nodes + 1))
    load = np.zeros(nodes, np.intp)
    for joint in range(nodes, 2 * nodes + 1):
        held = graph[[joint]].indices
        before = held[rank[held] < rank[joint]]
        assert len(before)
        load[before[np.argmax(rank[before])]] += sizes[joint]
    assert load.max() <= 9


def test_factors_that_miss_are_refined_or_made_anew() -> None:
    """A matrix whose pivots on the diagonal are tiny, in an order that would keep them."""
    rng = np.random.default_rng(5)
    dense = rng.normal(size=(60, 60))
    right = rng.normal(size=60)
    expected = np.linalg.solve(dense, right)
    matrix = csc_array(dense)
    wrong = splu(csc_array(dense + 1e-7 * rng.normal(size=(60, 60)))).solve
    near = splu(csc_array(dense * (1.0 + 1e-9 * rng.normal(size=(60, 60))))).solve
    for solve in (wrong, near, lambda b: np.full_like(b, np.nan)):
        np.testing.assert_allclose(Checked(matrix, solve)(right), expected, rtol=0, atol=1e-10)
    dense[np.diag_indices(60)] = 1e-14
    expected = np.linalg.solve(dense, right)
    np.testing.assert_allclose(factorize(csc_array(dense))(right), expected, rtol=0, atol=1e-10)


def test_a_solver_of_the_user_serves_sparse_matrices() -> None:
    """Its solutions are looked at as SuperLU's are, and what it refuses is left to these."""
    (rows, columns, values), size, blocks = grid(50, 0)
    solver = make_solver(rows, columns, size, blocks)
    stored, right = assemble(solver, values), np.random.default_rng(0).normal(size=size)
    expected = solver.factor(stored).solve(right)
    asked: list[tuple[int, int]] = []

    def refuse(matrix: csc_array) -> Solve:
        asked.append(matrix.shape)
        raise RuntimeError("no")

    def wrong(matrix: csc_array) -> Solve:
        asked.append(matrix.shape)
        return lambda b: 2.0 * b

    try:
        for own in (refuse, wrong):
            use(own)
            np.testing.assert_allclose(solver.factor(stored).solve(right), expected, rtol=0, atol=1e-9)
        with pytest.raises(mbs.ModelError, match="function of a matrix"):
            use(3)  # type: ignore[arg-type]
    finally:
        use("superlu")
    assert asked == [(size, size)] * 2


def test_pardiso_solves_the_same_equations() -> None:
    """Three at a time on one pattern, several right-hand sides, complex matrices; and another pattern after it."""
    pytest.importorskip("pypardiso")
    try:
        for seed in range(2):
            (rows, columns, values), size, blocks = grid(50, seed)
            solver = make_solver(rows, columns, size, blocks)
            stored = assemble(solver, values)
            use("pardiso")
            factors = [solver.factor(stored * scale).solve for scale in (1.0, 2.0, 4.0)]
            factors[1:2] = []
            factors.append(solver.factor(stored * 8.0).solve)
            turned = solver.factor(1j * stored).solve(np.ones(size) + 0j)
            use("superlu")
            own = solver.factor(stored).solve
            np.testing.assert_allclose(turned, -1j * own(np.ones(size)), rtol=0, atol=1e-8)
            for b in (np.random.default_rng(seed).normal(size=(size, 3)), np.linspace(1, 2, size)):
                for scale, solve in zip((1.0, 4.0, 8.0), factors, strict=True):
                    np.testing.assert_allclose(scale * solve(b), own(b), rtol=0, atol=1e-8)
    finally:
        use("superlu")


def test_linear_algebra_of_a_run_has_one_thread() -> None:
    """Which is taken back at its end."""
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def threads() -> set[int]:
        return {own["num_threads"] for own in threadpoolctl.threadpool_info() if own["internal_api"] == "openblas"}

    model, seen = mbs.Model(), []
    body = model.add_node((0, 0, 0), velocity=(1, 0, 0))
    model.add(RigidBody(body, 1.0, (1, 1, 1)))
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = threads()
        mbs.simulate(model, 0.2, 0.1, callback=lambda state: seen.append(threads()))
        assert seen == [{1}, {1}] and threads() == before


@pytest.mark.parametrize("seed", range(30))
def test_repeated_equations_are_counted(seed: int) -> None:
    """However many there are, full or sparse, in any order, and however unlike the sizes of equations."""
    chance = np.random.default_rng(seed)
    n, repeated = chance.integers(6, 50), chance.integers(0, 8)
    own = chance.normal(size=(chance.integers(2, n), n))
    if seed % 2:
        own *= chance.random(own.shape) < 0.3
    B = np.concatenate([own, chance.normal(size=(repeated, len(own))) @ own])
    expected = len(B) - np.linalg.matrix_rank(own)
    B = chance.permutation(B) * 10.0 ** chance.uniform(-6, 6, len(B))[:, None]
    assert count_repeated(csc_array(B)) == expected
