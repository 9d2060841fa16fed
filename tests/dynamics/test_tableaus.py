"""Coefficients of Runge-Kutta methods against the order conditions of Butcher's trees."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest

from fem_mbs.methods.runge_kutta import TABLEAUS, Tableau

Tree = tuple  # of the trees that hang on the root


def partitions(n: int, largest: int) -> list[list[int]]:
    if n == 0:
        return [[]]
    return [[k, *rest] for k in range(min(n, largest), 0, -1) for rest in partitions(n - k, k)]


def trees(n: int) -> list[Tree]:
    """All rooted trees of n vertices."""
    found: set[Tree] = set()
    for sizes in partitions(n - 1, n - 1):
        groups: list[Tree] = [()]
        for size in sorted(set(sizes)):
            chosen = combinations_with_replacement(trees(size), sizes.count(size))
            groups = [(*group, *more) for more in chosen for group in groups]
        found |= {tuple(sorted(group)) for group in groups}
    return sorted(found)


def vertices(tree: Tree) -> int:
    return 1 + sum(vertices(branch) for branch in tree)


def density(tree: Tree) -> int:
    return vertices(tree) * int(np.prod([density(branch) for branch in tree]))


def stages(tree: Tree, A: np.ndarray) -> np.ndarray:
    """Elementary weights of a tree, one of each stage."""
    weights = np.ones(len(A))
    for branch in tree:
        weights *= A @ stages(branch, A)
    return weights


def defects(tableau: Tableau, b: np.ndarray, n: int) -> np.ndarray:
    """What the conditions of all trees of n vertices leave."""
    return np.array([b @ stages(tree, tableau.A) - 1.0 / density(tree) for tree in trees(n)])


def test_there_are_37_trees_to_order_six() -> None:
    assert [len(trees(n)) for n in range(1, 7)] == [1, 1, 2, 4, 9, 20]


@pytest.mark.parametrize("name", TABLEAUS)
def test_order_is_as_said(name: str) -> None:
    """To the order and no further; of the second result, one less."""
    tableau = TABLEAUS[name]
    results = [(tableau.b, tableau.order)]
    if tableau.estimate is not None:
        results.append((tableau.b - tableau.estimate, tableau.order - 1))
    for b, order in results:
        for n in range(1, order + 1):
            np.testing.assert_allclose(defects(tableau, b, n), 0.0, atol=1e-15)
        assert np.abs(defects(tableau, b, order + 1)).max() > 1e-5


def test_stages_that_serve_twice() -> None:
    assert [name for name, tableau in TABLEAUS.items() if tableau.first_same_as_last] == ["DOPRI5", "ODE23"]
