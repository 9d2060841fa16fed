"""Factors of the stiffness of a mesh by nested dissection, and modes by block Lanczos, against dense solutions."""

from __future__ import annotations

import numpy as np
import pytest
from meshes import brick
from scipy.linalg import eigh
from scipy.sparse import block_diag, csc_array
from scipy.sparse.linalg import splu

import fem_mbs as mbs
from fem_mbs.elements import Interface, Reduction
from fem_mbs.elements.flexible import bases, cholesky
from fem_mbs.elements.flexible.cholesky import LEAF, Cholesky, dissected
from fem_mbs.errors import ModelError, Progress

SHAPE, SIZES = (12, 4, 5), (6.0, 2.0, 2.5)
ENDS = {
    "a": Interface.rigid(lambda p: p[:, 0] == 0.0),
    "b": Interface.average(lambda p: p[:, 0] == 6.0),
}


def stiff(seed: int = 0) -> tuple[np.ndarray, csc_array, np.ndarray]:
    """A brick on weak springs, and two unknowns of no node that hold on to many."""
    points, K, _ = brick(SHAPE, SIZES, 2e3, 1.0)
    rng, n = np.random.default_rng(seed), points.size
    wide = np.zeros((n + 2, n))
    wide[:n] = np.eye(n)
    wide[n:] = rng.normal(size=(2, n)) * (rng.random((2, n)) < 0.1)
    return points, csc_array(wide @ (K.toarray() + 10.0 * np.eye(n)) @ wide.T) + csc_array(np.eye(n + 2)), wide


@pytest.mark.parametrize("columns", [1, 5])
def test_factors_solve(columns: int) -> None:
    """Also with unknowns of no node, whatever the order of all."""
    points, K, _ = stiff()
    rng = np.random.default_rng(1)
    nodes = np.append(np.repeat(np.arange(len(points)), 3), [-1, -1])
    mixed = rng.permutation(len(nodes))
    right = rng.normal(size=(len(nodes), columns))
    solve = Cholesky(csc_array(K[mixed][:, mixed]), nodes[mixed], np.concatenate([points, points[:1]]))
    assert K[mixed][:, mixed] @ solve(right) == pytest.approx(right, abs=1e-9)


def test_progress_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares of the work of the factors, and modes that are settled, up to all."""
    told: dict[str, list[float | None]] = {}

    def bar(shown: bool | None, begin: float, end: float, label: str, unit: str) -> Progress:
        told[label] = [end]
        return told[label].append

    monkeypatch.setattr(bases, "progress_bar", bar)
    monkeypatch.setattr(cholesky, "progress_bar", bar)
    points, K, M = brick(SHAPE, SIZES, 2e3, 1.0)
    Reduction(points, K, M, ENDS, modes=8)
    for end, *shares, last in (told["Reduction: factors"], told["Reduction: modes"]):
        assert last is None and shares == sorted(shares) and shares[-1] == pytest.approx(end)


def test_factors_of_loose_pieces() -> None:
    """Pieces between which nothing is, of several parts each: a factor for each of them."""
    points, K, _ = brick((20, 3, 3), (10.0, 2.0, 2.0), 2e3, 1.0)
    K = csc_array(block_diag([K, K, K])) + 10.0 * csc_array(np.eye(3 * points.size))
    places = np.concatenate([points + [30.0 * k, 0, 0] for k in range(3)])
    right = np.random.default_rng(2).normal(size=(places.size, 2))
    solve = Cholesky(csc_array(K), np.repeat(np.arange(len(places)), 3), places)
    assert K @ solve(right) == pytest.approx(right, abs=1e-9)


@pytest.mark.parametrize("pieces", [1, 2])
@pytest.mark.parametrize("method", ["guyan", "craig-bampton", "free"])
def test_rigid_sections_within_a_mesh(pieces: int, method: str) -> None:
    """A bar whose middle is rigid, or pieces that a rigid interface joins: as with factors of SuperLU."""
    points, K, M = brick((20, 3, 3), (10.0, 2.0, 2.0), 2e3, 1.0)
    if pieces == 2:
        points = np.concatenate([points, points + (10.0, 0, 0)])
        K, M = (csc_array(block_diag([part, part])) for part in (K, M))
    end = points[:, 0].max()
    ends = {
        name: Interface.rigid(lambda p, x=x: np.abs(p[:, 0] - x) < 1e-9)
        for name, x in (("a", 0.0), ("middle", end / 2), ("b", end))
    }
    options = dict(method=method, modes=0 if method == "guyan" else 4)
    own, other = (
        Reduction(points, K, M, ends, **options, **solve) for solve in ({}, {"solve": lambda K: splu(K).solve})
    )
    assert own.frequencies == pytest.approx(other.frequencies, rel=1e-7)
    motions = np.ix_(range(18), range(18))
    assert own.stiffness[motions] == pytest.approx(other.stiffness[motions], abs=1e-7 * np.abs(own.stiffness).max())


def test_pieces_that_nothing_joins_are_told() -> None:
    """They are no body."""
    points, K, M = brick((20, 3, 3), (10.0, 2.0, 2.0), 2e3, 1.0)
    places = np.concatenate([points, points + (30.0, 0, 0)])
    ends = {"a": Interface.rigid(lambda p: p[:, 0] == 0.0), "b": Interface.rigid(lambda p: p[:, 0] == 40.0)}
    with pytest.raises(ModelError, match="pieces of the mesh that nothing joins"):
        Reduction(places, block_diag([K, K]), block_diag([M, M]), ends, method="guyan")


def test_parts_are_apart() -> None:
    """Every node once; two parts neither of which is above the other have no entry in common."""
    points, K, _ = brick(SHAPE, SIZES, 2e3, 1.0)
    graph = abs(K[::3][:, ::3]).tocsr()
    graph.setdiag(1.0)
    parts = dissected(graph, points, np.array([7]))
    assert sorted(np.concatenate([part.nodes for part in parts])) == list(range(len(points)))
    assert list(parts[-1].nodes) == [7]
    assert max(len(part.nodes) for part in parts if not part.children) <= LEAF
    below: list[set[int]] = []
    for k, part in enumerate(parts):
        below.append({k}.union(*(below[child] for child in part.children)))
    for k, part in enumerate(parts):
        for other in set(range(k)) - below[k] - {j for j in range(k) if k in below[j]}:
            assert not graph[part.nodes][:, parts[other].nodes].nnz


@pytest.mark.parametrize("method", ["craig-bampton", "free"])
def test_modes_are_those_of_the_whole_mesh(method: str) -> None:
    """Fixed modes and free ones, a pair of equal frequencies among them, against dense eigenvalues."""
    points, K, M = brick((12, 4, 4), (6.0, 2.0, 2.0), 2e3, 1.0)
    end = ENDS["b" if method == "free" else "a"]  # a rigid end stiffens the whole mesh
    own = Reduction(points, K, M, {"a": end}, modes=12, method=method)
    if method == "free":
        whole = eigh(K.toarray(), M.toarray(), eigvals_only=True, subset_by_index=[6, 17])
        assert own.frequencies[:12] == pytest.approx(np.sqrt(whole) / (2 * np.pi), rel=1e-8)
        return
    held = np.repeat(points[:, 0] > 0.0, 3)
    whole = eigh(K.toarray()[held][:, held], M.toarray()[held][:, held], eigvals_only=True, subset_by_index=[0, 12])
    assert own.lowest == pytest.approx(np.sqrt(whole[0]), rel=1e-9)
    assert own.left_out == pytest.approx(np.sqrt(whole[12]), rel=1e-7)
    inner = np.diag(own.stiffness)[6:]
    masses = np.einsum("jaja->j", own.moments[4:, 4:].reshape(18, 3, 18, 3))[6:]
    assert np.sqrt(inner / masses) == pytest.approx(np.sqrt(whole[:12]), rel=1e-8)


def test_more_modes_than_there_are_are_refused_and_all_are_found() -> None:
    points, K, M = brick((3, 2, 1), (3.0, 2.0, 1.0), 2e3, 1.0)
    room = 3 * np.count_nonzero(points[:, 0] > 0.0)
    ends = {"a": Interface.rigid(lambda p: p[:, 0] == 0.0)}
    assert Reduction(points, K, M, ends, modes=room).modes == room
    with pytest.raises(mbs.ModelError, match="are more than the"):
        Reduction(points, K, M, ends, modes=room + 1)


def test_a_node_in_no_element_is_named() -> None:
    """Its zeros are no stiffness: SuperLU would go on with noise."""
    points, K, M = brick((4, 2, 2), (8.0, 2.0, 2.0), 2e3, 1.0)
    lost = np.concatenate([points, [[1.0, 1.0, 1.0]]])
    K, M = (csc_array(np.pad(part.toarray(), (0, 3))) for part in (K, M))
    with pytest.raises(mbs.ModelError, match="lets node 45 of the mesh move by itself"):
        Reduction(lost, K, M, {"a": Interface.rigid(lambda p: p[:, 0] == 0.0)}, modes=2)


@pytest.mark.slow
def test_thirty_thousand_unknowns_converge() -> None:
    """A cube of the length 1: coarse and fine frequencies agree to the order of trilinear cells."""
    found = []
    for n in (10, 21):
        points, K, M = brick((n, n, n), (1.0, 1.0, 1.0), 2e3, 1.0)
        found.append(Reduction(points, K, M, {"a": Interface.rigid(lambda p: p[:, 0] == 0.0)}, modes=12).lowest)
    assert found[1] < found[0] == pytest.approx(found[1], rel=0.03)
