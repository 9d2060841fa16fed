"""Large models: what is made at once is what is made one by one, and memory grows with the number of elements."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection
from fem_mbs.linear.solvers import BandedSolver, SparseSolver
from fem_mbs.system.system import System

SECTION = BeamSection(1e6, (4e5, 4e5), 1e3, (1e3, 1e3), 1.0, (2e-3, 1e-3, 1e-3))


def line(elements: int) -> mbs.Model:
    model = mbs.Model(gravity=(0, 0, -9.81))
    beam = Beam.line(model, (0, 0, 0), (10, 0, 0), SECTION, elements)
    model.fix(beam.nodes[0])
    return model


def grid(meshes: int) -> mbs.Model:
    """A square grid of beams, one element each, clamped along one side."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    rows = [[model.add_node((i, j, 0)) for j in range(meshes + 1)] for i in range(meshes + 1)]
    for across in (rows, [list(column) for column in zip(*rows, strict=True)]):
        for k in range(meshes):
            for a, b in zip(across[k], across[k + 1], strict=True):
                model.add(Beam([a, b], SECTION))
    for node in rows[0]:
        model.fix(node)
    return model


def test_nodes_made_at_once_are_those_made_one_by_one() -> None:
    rng = np.random.default_rng(0)
    places = rng.normal(size=(3, 3))
    for names in (None, ["a", "b", "c"]):
        at_once, one_by_one = mbs.Model("SE3"), mbs.Model("SE3")
        made = at_once.add_nodes(places, names)
        for k, place in enumerate(places):
            one_by_one.add_node(place, name=None if names is None else names[k])
        assert at_once.nodes[1:] == made
        for node, other in zip(at_once.nodes, one_by_one.nodes, strict=True):
            assert vars(node).keys() == vars(other).keys() and str(node) == str(other) and node.group == other.group
            for name in ("position", "rotation", "velocity", "angular_velocity"):
                array = getattr(node, name)
                np.testing.assert_array_equal(array, getattr(other, name))
                assert not array.flags.writeable
        places[:] = 0.0  # the nodes do not follow
        assert made[0].position.any() and at_once[made[1].name] is made[1]
        made[0].velocity = (1, 2, 3)
        assert not made[1].velocity.any()
        with pytest.raises(mbs.ModelError, match="position cannot be changed"):
            made[0].position = (0, 0, 0)
        places = rng.normal(size=(3, 3))


def test_nodes_of_a_line_are_added_all_or_none() -> None:
    model = mbs.Model()
    model.add_node((0, 0, 0), name="arm[7]")
    with pytest.raises(mbs.ModelError, match="'arm\\[7\\]' is taken"):
        Beam.line(model, (0, 0, 0), (1, 0, 0), SECTION, 10, name="arm")
    assert len(model.nodes) == 2
    with pytest.raises(mbs.ModelError, match="finite"):
        model.add_nodes(np.array([[0.0, 0.0, np.nan]]))
    assert len(model.nodes) == 2


def peak(model: mbs.Model) -> int:
    """Most memory in bytes while a system is made."""
    tracemalloc.start()
    try:
        System(model)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_of_a_system_grows_with_its_elements() -> None:
    """Ten times the elements take ten times the memory, 6 kB each."""
    small, large = peak(line(500)), peak(line(5000))
    assert 6.0 < large / small < 12.0
    assert large < 6.5e3 * 5000


@pytest.mark.ci
def test_lines_are_banded_and_grids_sparse() -> None:
    assert isinstance(System(line(300)).solver, BandedSolver)
    solver = System(grid(30)).solver
    assert isinstance(solver, SparseSolver)
    # a node meets four others and itself, six by six
    assert solver.storage <= 36 * 5 * 31 * 31


@pytest.mark.ci
def test_a_grid_swings_like_the_same_grid_with_partial_pivots(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order and the pivots change rounding alone."""
    from fem_mbs.linear import direct

    runs = [mbs.simulate(grid(14), 0.05, 0.01)]
    monkeypatch.setattr("fem_mbs.linear.solvers.factorize", direct.with_pivots)
    runs.append(mbs.simulate(grid(14), 0.05, 0.01))
    first, second = (run.state(-1).x for run in runs)
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-12)
