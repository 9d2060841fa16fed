"""Problems of contact whose solutions are known, and that there are as many as there should be."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import lsq_linear, nnls
from scipy.sparse import csr_array

from fem_mbs.arrays import Array
from fem_mbs.contact import complementarity, impact
from fem_mbs.contact.complementarity import Laws, Pushes, held, inverse
from fem_mbs.contact.impact import impulses
from fem_mbs.lie import so3
from fem_mbs.newton import NotConvergedError
from fem_mbs.static.contacts import obeying


def push(G: Any, c: Array, friction: Array, slides: Array | None = None, **forces: Array | None) -> Pushes:
    """As it is, and to the bit the same in other units."""
    found = complementarity.push(G, c, friction, slides, **forces)
    scaled = {name: 2.0**-11 * own for name, own in forces.items() if own is not None}
    other = complementarity.push(2.0**20 * G, 2.0**9 * c, friction, slides, **scaled)
    np.testing.assert_array_equal(2.0**11 * other.P, found.P)
    assert other.solved == found.solved
    return found


def test_a_body_pushes_sticks_and_slides() -> None:
    """One contact with mobilities 2 and 7: ``P_N = -c_N/2``, and friction holds up to ``mu P_N``."""
    G, mu = np.diag([2.0, 7.0, 7.0]), np.array([0.3])
    sticks = push(G, np.array([[-1.0, 0.3, 0.0]]), mu).P[0]
    np.testing.assert_allclose(sticks, [0.5, -0.3 / 7.0, 0.0], rtol=0, atol=1e-15)
    slides = push(G, np.array([[-1.0, 3.0, -4.0]]), mu).P[0]
    np.testing.assert_allclose(slides, [0.5, -0.09, 0.12], rtol=0, atol=1e-15)
    assert not push(G, np.array([[1.0, 3.0, -4.0]]), mu).P.any()


@pytest.mark.parametrize("mobility", [0.0, -4e-17, 4e-17])
def test_what_joints_hold_is_not_pushed(mobility: float) -> None:
    """A rope on the axis of a hinge: no push moves it, but for rounding of either sign, and none is asked for."""
    with np.errstate(all="raise", under="ignore"):
        found = complementarity.push(np.diag([mobility, 0.0, 0.0]), np.zeros((1, 3)), np.zeros(1))
        assert found.solved and not found.P.any()
        assert np.isfinite(
            complementarity.push(np.diag([mobility, 0.0, 0.0]), np.array([[-5e-16, 0, 0]]), np.zeros(1)).P
        ).all()


@pytest.mark.parametrize("far", [np.nan, np.inf])
def test_iterations_that_have_led_away_are_given_up(far: float) -> None:
    """Whether what is not unique is the least solution, or that of compliances."""
    for compliance in (None, np.eye(3)[None]):
        with pytest.raises(NotConvergedError, match="not finite"):
            inverse(np.where(np.eye(3), far, 1.0), compliance)(np.ones(3))


@pytest.mark.parametrize("seed", range(20))
def test_without_friction_it_is_the_quadratic_program(seed: int) -> None:
    """``min |L P + d|^2, P >= 0`` with ``G = L^T L`` is what non-negative least squares solve."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 12))
    L, d = rng.normal(size=(20, k)), rng.normal(size=20)
    G, c = np.zeros((3 * k, 3 * k)), np.zeros((k, 3))
    G[::3, ::3], c[:, 0] = L.T @ L, L.T @ d
    found = push(G, c, np.zeros(k))
    assert found.solved
    np.testing.assert_allclose(found.P[:, 0], nnls(L, -d)[0], rtol=0, atol=1e-10)


def laws_hold(G: Array, c: Array, mu: Array, P: Array) -> None:
    """Signorini's and Coulomb's, to rounding."""
    xi = (G @ P.ravel()).reshape(-1, 3) + c
    size, slip = np.linalg.norm(P[:, 1:], axis=1), np.linalg.norm(xi[:, 1:], axis=1)
    small = 1e-9 * np.abs(c).max()
    assert P[:, 0].min() >= 0.0
    assert xi[:, 0].min() >= -small
    assert np.abs(P[:, 0] * xi[:, 0]).max() <= small * max(1.0, P[:, 0].max())
    assert (size <= mu * P[:, 0] * (1 + 1e-9) + 1e-12).all()
    power = (P[:, 1:] * xi[:, 1:]).sum(axis=1)
    np.testing.assert_allclose(power, -mu * P[:, 0] * slip, rtol=0, atol=10 * small * max(1.0, P[:, 0].max()))


@pytest.mark.parametrize("seed", range(20))
def test_laws_hold_with_friction_and_with_redundant_contacts(seed: int) -> None:
    """Fewer degrees of freedom than rates: impulses are not unique, the laws hold all the same."""
    rng = np.random.default_rng(seed)
    k, n = int(rng.integers(1, 10)), int(rng.integers(3, 15))
    B = rng.normal(size=(3 * k, n))
    c, mu = (B @ rng.normal(size=n)).reshape(k, 3), rng.uniform(0.0, 1.0, k)
    found = push(B @ B.T, c, mu)
    assert found.solved
    laws_hold(B @ B.T, c, mu, found.P)


@pytest.mark.parametrize("seed", range(3))
def test_loads_of_many_feet_are_those_of_few(seed: int, request: pytest.FixtureRequest) -> None:
    """Of a table on some twenty feet that is pulled and turned, which slide in part: arrays, and sparse matrices."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(15, 30))
    points, load = np.column_stack([rng.uniform(-1, 1, (k, 2)), np.full(k, -0.2)]), np.array([0, 0, -9.81, 0, 0, 0])
    load[[0, 1, 3, 4, 5]] = rng.normal(size=5) * [2, 2, 0.3, 0.3, 0.3]
    G, c = of_body(points, np.tile([0, 0, 1.0], (k, 1)), np.array([1, 1, 1, 2, 3, 4.0]), load)
    mu = np.full(k, 0.3)
    few = push(G, c, mu)
    last = held(few.P, mu)
    request.getfixturevalue("many")
    for given in ({}, {"guess": few.P + [0.01, 0.0, 0.0], "last": last}):
        found = push(csr_array(G), c, mu, **given)
        assert found.solved
        np.testing.assert_allclose(found.P, few.P, rtol=0, atol=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_branches_of_sparse_matrices_are_those_of_arrays(seed: int) -> None:
    """Whatever a contact does: equations, and forces that obey them."""
    rng = np.random.default_rng(seed)
    k = 8
    B = rng.normal(size=(3 * k, 3 * k + 3))
    G, c, mu, P = B @ B.T, rng.normal(size=(k, 3)), rng.uniform(0.0, 0.6, k), rng.normal(size=(k, 3))
    dense, sparse = (Laws(own, c, mu).branch(P) for own in (G, csr_array(G)))
    np.testing.assert_array_equal(sparse.pushes, dense.pushes)
    assert 0 < dense.pushes.sum() < k
    np.testing.assert_allclose(sparse.A.toarray(), dense.A, rtol=0, atol=1e-12 * np.abs(dense.A).max())
    np.testing.assert_allclose(sparse.forces(c), dense.forces(c), rtol=0, atol=1e-7 * np.abs(dense.forces(c)).max())


def box(force: float) -> tuple[Array, Array]:
    """A cube of mass 1 with half sides 1 on its four lower corners, pulled along x in the middle: accelerations."""
    corners = np.array([[x, y, -1.0] for x in (-1.0, 1.0) for y in (-1.0, 1.0)])
    rows = []
    for c in corners:
        for d in ([0, 0, 1.0], [1.0, 0, 0], [0, 1.0, 0]):
            rows.append([*d, *np.cross(c, d)])
    B = np.array(rows)
    mobility = np.diag([1.0, 1.0, 1.0, 1.5, 1.5, 1.5])
    return B @ mobility @ B.T, (B @ np.array([force, 0, -9.81, 0, 0, 0])).reshape(-1, 3)


def test_four_corners_carry_a_box() -> None:
    """Redundant: sums are unique, the share of each corner is not; the least ones are equal, or linear in the place."""
    for mu in (0.0, 0.5):
        G, c = box(0.0)
        found = push(G, c, np.full(4, mu))
        assert found.solved
        np.testing.assert_allclose(found.P, np.tile([9.81 / 4, 0, 0], (4, 1)), rtol=0, atol=1e-12)
    G, c = box(3.0)
    found = push(G, c, np.full(4, 0.5))
    normal = 9.81 / 4 + 0.75 * np.array([-1.0, -1.0, 1.0, 1.0])
    np.testing.assert_allclose(found.P, np.column_stack([normal, np.full(4, -0.75), np.zeros(4)]), rtol=0, atol=1e-12)


def of_body(points: Array, normals: Array, inverse_mass: Array, force: Array) -> tuple[Array, Array]:
    """Contacts of a body with what stands still: mobility, and accelerations without them."""
    rows = []
    for point, normal in zip(points, normals, strict=True):
        for d in (normal, np.roll(normal, 1), np.roll(normal, 2)):  # normals are along axes
            rows.append([*d, *np.cross(point, d)])
    B = np.array(rows, dtype=float)
    return (B * inverse_mass) @ B.T, (B @ (inverse_mass * force)).reshape(-1, 3)


@pytest.mark.parametrize("seed", range(10))
def test_without_friction_they_are_the_least(seed: int) -> None:
    """A table on four to eight legs at random, some of which lift: ``min |P|`` of those of the quadratic program.

    That of ``|L P + d|^2 + delta |P|^2`` leads there with ``delta``.
    """
    rng = np.random.default_rng(seed)
    k = int(rng.integers(4, 9))
    points = np.column_stack([rng.normal(size=(k, 2)), np.full(k, -1.0)])
    load = np.array([0, 0, -9.81, *rng.normal(size=2) * 3.0, 0])
    G, c = of_body(points, np.tile([0, 0, 1.0], (k, 1)), np.array([1, 1, 1, 2, 3, 4.0]), load)
    N, values = G[::3, ::3], c[:, 0]
    size, vectors = np.linalg.eigh(N)
    keep = size > 1e-12 * size[-1]
    L = np.sqrt(size[keep])[:, None] * vectors[:, keep].T
    right = -(vectors[:, keep].T @ values) / np.sqrt(size[keep])
    A, b = np.vstack([L, 1e-5 * np.eye(k)]), np.append(right, np.zeros(k))
    expected = lsq_linear(A, b, (0.0, np.inf), method="bvls").x  # `nnls` of SciPy 1.14 squares the condition
    found = push(G, c, np.zeros(k))
    assert found.solved
    np.testing.assert_allclose(found.P[:, 0], expected, rtol=0, atol=1e-7 * expected.max())


@pytest.mark.parametrize("seed", range(10))
def test_they_do_not_depend_on_the_order(seed: int) -> None:
    """A round table that rests or slides under a load at random: contacts in another order, along other tangents."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(4, 9))
    angle = 2.0 * np.pi * np.arange(k) / k
    points = np.column_stack([np.cos(angle), np.sin(angle), np.full(k, -0.5)])
    load = np.array([*rng.normal(size=2) * rng.choice([0, 1, 5]), -9.81, *rng.normal(size=3)])
    G, c = of_body(points, np.tile([0, 0, 1.0], (k, 1)), np.array([1, 1, 1, 2, 3, 4.0]), load)
    mu = np.full(k, rng.choice([0.2, 0.5]))
    T = np.zeros((k, 3, k, 3))
    for row, (own, turn) in enumerate(zip(rng.permutation(k), rng.uniform(0.0, 6.0, k), strict=True)):
        cosine, sine = np.cos(turn), np.sin(turn)
        T[row, :, own] = [[1, 0, 0], [0, cosine, -sine], [0, sine, cosine]]
    turned = T.reshape(3 * k, 3 * k)
    found, other = push(G, c, mu), push(turned @ G @ turned.T, (turned @ c.ravel()).reshape(k, 3), mu)
    assert found.solved and other.solved
    np.testing.assert_allclose(other.P.ravel(), turned @ found.P.ravel(), rtol=0, atol=1e-7 * found.P.max())


def test_fingers_from_which_a_box_slips() -> None:
    """Coulomb's law admits that the box turns, as its corners share what presses it; by the least ones it does not."""
    signs = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1, 1) for z in (-1, 1)])
    rows, load = np.zeros((24, 8)), np.array([0, 0, -9.81, 0, 0, 0, 16.0, 16.0])
    for k, point in enumerate(signs):
        for j, d in enumerate(np.diag([-point[0], 1.0, 1.0])):
            rows[3 * k + j, :6] = *d, *np.cross(point, d)
        rows[3 * k, 6 + int(point[0] > 0)] = -1.0  # its finger comes
    G, c = (rows * [1, 1, 1, 2, 2, 2, 1, 1]) @ rows.T, (rows @ load).reshape(-1, 3)
    found = push(G, c, np.full(8, 0.3))
    assert found.solved
    np.testing.assert_allclose(found.P, np.tile([4.0, 0.0, 1.2], (8, 1)), rtol=0, atol=1e-8)


def test_normal_forces_are_shared_as_by_equal_compliances_and_friction_that_holds_stays() -> None:
    """Whatever the guess: normals are those of a box on springs that are alike, and what sticks keeps its friction."""
    G, c = box(0.0)
    last = np.zeros((4, 3))
    last[:, 0] = 9.81 / 4 + 0.3 * np.array([1.0, -1.0, -1.0, 1.0])  # what corners may share otherwise
    last[:, 1:] = [[0.1, 0.05], [0.0, -0.05], [-0.1, 0.0], [0.0, 0.0]]  # along two sides, against each other
    pressed, idle = c - [5.0, 0.0, 0.0], last.copy()  # by another 5 N
    idle[:, 0] = 9.81 / 2 * np.array([1.0, 0.0, 0.0, 1.0])  # two touch, and bear nothing
    for rates, load, guess in ((c, 9.81, last), (pressed, 9.81 + 5.0, last), (c, 9.81, idle)):
        found = push(G, rates, np.full(4, 0.5), guess=guess, last=last)
        np.testing.assert_allclose(found.P[:, 0], load / 4, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.P[:, 1:], last[:, 1:], rtol=0, atol=1e-12)


def test_friction_and_normal_forces_that_are_loose_together_stay_where_loads_do() -> None:
    """Two hinged shoes hold a drum: nothing determines friction of one against the other, which lifts both a little."""
    mu, W = np.array([0.3, 0.3]), np.zeros((6, 3))
    W[:3, 0], W[3:, 1], W[2::3, 2] = (0.2, 0.0, 0.01), (0.2, 0.0, -0.01), 0.2
    G, c = W @ np.diag([25.0, 25.0, 2.5]) @ W.T, (W @ [-0.05, -0.05, 0.002]).reshape(2, 3)
    first = push(G, c, mu).P
    assert (np.abs(first[:, 2]) < 0.29 * first[:, 0]).all()
    again = push(G, c, mu, guess=first, last=first).P
    np.testing.assert_allclose(again, first, rtol=0, atol=1e-12 * np.abs(first).max())
    more = push(G, 1.1 * c, mu, guess=first, last=first).P  # friction changes as the load does
    np.testing.assert_allclose(more, 1.1 * first, rtol=0, atol=1e-12 * np.abs(first).max())


def test_what_is_open_is_not_idle_and_what_touches_without_a_force_is() -> None:
    """One of two contacts pushes; the other is open, closed without a force, or pushes."""
    for opens, force, idle in ((1.0, 0.0, False), (0.0, 0.0, True), (0.0, 0.5, False)):
        c = np.array([[-1.0, 0.0, 0.0], [opens - force, 0.0, 0.0]])
        assert Laws(np.eye(6), c, np.zeros(2)).idle(np.array([[1.0, 0.0, 0.0], [force, 0.0, 0.0]])) == idle


def test_what_touches_without_a_force_and_bore_one_would_bear_it_again() -> None:
    """As all yield a little, from what they bore; in any unit of force. Not if the other one alone does not hold it."""
    for size, beside in product((1.0, 1e-6), (0.0, 0.5, 1.0)):
        P, G = size * np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]), np.eye(6)
        G[0, 3] = G[3, 0] = beside
        c = -(G @ P.ravel()).reshape(2, 3)
        for last in (0.0, 0.3):
            bears = Laws(G, c, np.zeros(2)).bears(P, P + size * last * np.eye(6)[3].reshape(2, 3))
            assert bears == (beside < 1.0 or last == 0.0)


def test_no_solution_is_told() -> None:
    """Painleve: what slides would be pushed into the ground by its friction."""
    direction = np.array([[1.0, 0.0]])
    G = np.array([[1.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 1.0]])
    below = push(G, np.array([[-1.0, 0.0, 0.0]]), np.array([0.9]), direction)
    assert below.solved
    np.testing.assert_allclose(below.P[0], [10.0, -9.0, 0.0], rtol=1e-9)
    assert not push(G, np.array([[-1.0, 0.0, 0.0]]), np.array([1.5]), direction).solved


def test_of_two_solutions_one_is_found() -> None:
    """Where the paradox is the other way round, no force and a large one both obey the laws."""
    G = np.array([[1.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 1.0]])
    found = push(G, np.array([[1.0, 0.0, 0.0]]), np.array([1.5]), np.array([[1.0, 0.0]]))
    assert found.solved
    assert found.P[0, 0] == 0.0 or abs(found.P[0, 0] - 2.0) < 1e-9


def test_without_contacts() -> None:
    none = np.zeros((0, 3))
    assert push(np.zeros((0, 0)), none, np.zeros(0)).P.shape == (0, 3)
    assert Laws(np.zeros((0, 0)), none, np.zeros(0)).yielding(1e-6, none).pushes(none).solved


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
def test_forces_beyond_all_numbers_are_no_solution() -> None:
    """As in trials of steps that lead away: nothing is divided by the friction that is not there."""
    assert not push(1e-300 * np.eye(3), np.array([[-1e300, 0.0, 0.0]]), np.zeros(1)).solved


@pytest.mark.slow
def test_balls_in_a_corner_wedge() -> None:
    """Eight balls between three walls, hit at random: of some, both sides hold while their pushes grow without an end.

    Sweeps creep there, and Newton's method finds no solution on the branch.
    """
    rng = np.random.default_rng(1)
    G = _rates_of_balls_in_a_corner()
    inverse_mass = np.tile([1.0, 1.0, 1.0, 2.5, 2.5, 2.5], 8)
    for _ in range(30):
        V = (rng.normal(size=(8, 6)) - [1, 1, 1, 0, 0, 0]).ravel() * 10.0 ** rng.uniform(-3, 0, 48)
        c = (G @ V).reshape(-1, 3)
        returns = rng.choice([0.0, 0.3, 0.8]) * rng.integers(0, 2, len(c))
        c[:, 0] += returns * np.minimum(c[:, 0], 0.0)
        mu = np.full(len(c), rng.choice([0.3, 0.6]))
        found = complementarity.push((G * inverse_mass) @ G.T, c, mu)
        assert found.solved
        laws_hold((G * inverse_mass) @ G.T, c, mu, found.P)


def _rates_of_balls_in_a_corner() -> Array:
    """Of gaps and slips, per velocity of two by two by two balls of radius 1 that touch along the axes."""
    cells, rows = list(np.ndindex(2, 2, 2)), []
    for a, cell in enumerate(cells):
        for axis in np.flatnonzero(np.array(cell) == 0):
            lever, beside = np.eye(3)[axis], cells.index(tuple(np.add(cell, np.eye(3, dtype=int)[axis])))
            for pair in (False, True):
                for direction in np.roll(np.eye(3), axis, axis=1):
                    row = np.zeros((8, 6))
                    if pair:
                        row[a], row[beside] = (
                            [*-direction, *np.cross(lever, -direction)],
                            [*direction, *np.cross(-lever, direction)],
                        )
                    else:
                        row[a] = *direction, *np.cross(-lever, direction)
                    rows.append(row.ravel())
    return np.array(rows)


def test_impulses_bring_no_energy() -> None:
    """Of two boxes that are hit in one or two corners each while they slide: where Newton's law brings none it holds.

    Where it does, of either box, what comes back to that one is less, by one share, so that its energy is kept.
    """
    rng, gains = np.random.default_rng(1), 0
    for _ in range(50):
        mu, e, G = rng.choice([0.5, 1.0]), rng.choice([0.7, 1.0]), np.zeros((12, 12))
        k = rng.integers(1, 3, 2)
        for own in np.split(np.arange(3 * k.sum()), [3 * k[0]]):
            sides, axes = rng.uniform(0.5, 1.5, 3), so3.exp(rng.normal(size=3))
            corners = 0.5 * sides * rng.permutation(np.array([[1, 1, 1], [-1, 1, 1], [1, -1, 1]]))[: len(own) // 3]
            rows = np.vstack([axes @ np.hstack([np.eye(3), -so3.skew(corner)]) for corner in corners])
            mass = np.r_[np.ones(3), (sides @ sides - sides**2) / 12.0]
            G[np.ix_(own, own)] = rows / mass @ rows.T
        G, now = G[: 3 * k.sum(), : 3 * k.sum()], rng.normal(size=(k.sum(), 3))
        now[:, 0] = -np.abs(now[:, 0])
        friction, back = np.full(k.sum(), mu), -e * now[:, 0]

        def brought(P: Array, G: Array = G, now: Array = now, k: Array = k) -> Array:
            work = P * (now + 0.5 * (G @ P.ravel()).reshape(-1, 3))
            return np.add.reduceat(work.sum(axis=1), [0, k[0]])

        given = now - np.outer(back, [1.0, 0.0, 0.0])
        by_newton, (P, solved) = push(G, given, friction).P, impulses(G, now, back, friction)
        gain = np.repeat(brought(by_newton) > 1e-8, k)
        assert solved and brought(P).max() < 1e-10
        np.testing.assert_allclose(P[~gain], by_newton[~gain], atol=1e-10)
        if gain.any():
            gains += 1
            assert brought(P)[brought(by_newton) > 1e-8].min() > -1e-6
            own = gain & (P[:, 0] > 0.0)
            assert ((now + (G @ P.ravel()).reshape(-1, 3))[own, 0] < back[own]).all()
            assert (np.linalg.norm(P[:, 1:], axis=1) <= mu * P[:, 0] + 1e-12).all()
    assert gains >= 3, gains


def test_what_forces_have_given_is_shared_where_more_is_hit() -> None:
    """A tall block stands on one edge for a while, which bears it alone, and comes to rest on both: each bears half."""
    G, (fallen, lever) = np.zeros((6, 6)), (0.01, 0.9)
    G[::3, ::3] = [[1.0 + lever, 1.0 - lever], [1.0 - lever, 1.0 + lever]]
    given = np.array([[fallen / G[0, 0], 0, 0], [0, 0, 0]])
    now = (G @ given.ravel()).reshape(2, 3) - [fallen, 0.0, 0.0]
    P, solved = impulses(G, now, np.zeros(2), np.zeros(2), given=given)
    assert solved and P[0, 0] < 0.0
    np.testing.assert_allclose((P + given)[:, 0], 0.5 * fallen, rtol=1e-12)


def test_what_friction_jams_does_not_come_back() -> None:
    """The end of a hinged rod pushed along a floor: no impulse turns it back, and it stops; not what is beside."""
    gradient, back, mu = np.array([0.5, 0.85, 0.0]), np.array([0.09, 0.3]), np.full(2, 0.8)
    G, now = np.eye(6), np.array([-0.6 * gradient, [-1.0, 0.0, 0.0]])
    G[:3, :3] = np.outer(gradient, gradient)
    P, solved = impulses(G, now, back, mu)
    assert solved
    np.testing.assert_allclose(now + (G @ P.ravel()).reshape(2, 3), [[0, 0, 0], [0.3, 0, 0]], rtol=0, atol=1e-9)


@pytest.mark.parametrize("back", [1e-17, 1e-9])
def test_energy_of_what_bears_nothing_is_rounding(monkeypatch: pytest.MonkeyPatch, back: float) -> None:
    """It is not sought anew with what share of restitutions energy is kept."""
    asked = list[Array]()
    monkeypatch.setattr(impact, "push", lambda G, c, *law, **given: asked.append(c) or push(G, c, *law, **given))
    found = impulses(np.eye(6), np.array([[-1.0, 0, 0], [0, 0, 0]]), np.array([0.5, back]), np.zeros(2))
    assert found.solved and len(asked) == 1
    np.testing.assert_allclose(found.P[:, 0], [1.5, back], rtol=0, atol=1e-16)


def test_what_nothing_closes_has_no_forces() -> None:
    """Two boxes on four corners each: of the one that stands, and slides, no force is even rounding."""
    (one, c), G, rates = box(-9.81), np.zeros((24, 24)), np.zeros((8, 3))
    G[:12, :12] = G[12:, 12:] = one
    rates[:4], rates[4:] = c, [-1e-17, 0.1, 0.0]
    P, solved = push(G, rates, np.full(8, 0.4))
    assert solved and not P[4:].any()
    np.testing.assert_allclose(P[:4], push(one, c, np.full(4, 0.4)).P, rtol=0, atol=1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_forces_of_statics_obey_the_same_laws(seed: int) -> None:
    """Of stiff contacts, in any units; from branches that are right, and where these lead nowhere."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    B = rng.normal(size=(3 * k, 4 * k))
    G, c, mu, one = B @ B.T, rng.normal(size=(k, 3)), np.full(k, 0.3), np.eye(3 * k)
    right = complementarity.push(G, c, mu).P
    for P in (right, rng.normal(size=(k, 3))):
        xi, found = (G @ P.ravel()).reshape(k, 3) + c, []
        for force, rate in ((1.0, 1.0), (2.0**30, 2.0**-20)):
            forces, rates = (one, np.zeros(3 * k)), (G * rate / force, rate * c.ravel())
            found.append(obeying(forces, rates, mu, force * P, rate * xi, small=0.0) / force)
        np.testing.assert_allclose(found[0].reshape(k, 3), right, rtol=0, atol=1e-9 * np.abs(right).max())
        np.testing.assert_array_equal(found[1], found[0])


def test_forces_that_are_unique_are_not_sought_by_compliances(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for one that touches without a force, either: it might bear a share where forces are not unique."""
    monkeypatch.setattr(Laws, "nearest", None)
    found = push(np.eye(6), np.array([[-1.0, 0, 0], [0, 0, 0]]), np.zeros(2), guess=np.eye(2, 3))
    assert found.solved
    np.testing.assert_array_equal(found.P, np.diag([1.0, 0.0, 0.0])[:2])


@pytest.mark.parametrize("seed", range(5))
def test_what_slides_as_told_is_found_on_its_branch(seed: int) -> None:
    """Friction is against the slip that is given; from near the solution Newton's method does it."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    B, mu = rng.normal(size=(3 * k, 5 * k)), np.full(k, 0.2)
    G, c = B @ B.T, rng.normal(size=(k, 3)) - [1.0, 0.0, 0.0]
    angle = rng.uniform(0.0, 6.0, k)
    slides = np.column_stack([np.cos(angle), np.sin(angle)])
    slides[0] = np.nan  # which may stick
    found = push(G, c, mu, slides)
    assert found.solved and (found.P[:, 0] > 0.0).any()
    np.testing.assert_allclose(found.P[1:, 1:], -0.2 * found.P[1:, :1] * slides[1:], rtol=0, atol=1e-12)
    near, error = Laws(G, c, mu, slides).newton(1.1 * found.P)
    assert error < 1e-11
    np.testing.assert_allclose(near, found.P, rtol=0, atol=1e-9)
