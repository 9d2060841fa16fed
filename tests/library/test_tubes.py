"""Beams with beams and capsules: where they are nearest, derivatives against differences, balance, and parts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from motions import closing_about_contacts
from scipy.optimize import lsq_linear, minimize
from scipy.spatial.transform import Rotation

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion, UnilateralBatch
from fem_mbs.elements import Ball, Beam, BeamContact, BeamSection, Capsule
from fem_mbs.elements.contact.pairs import every
from fem_mbs.elements.contact.tubes import _way, nearest_places
from fem_mbs.lie import so3

SECTION = BeamSection.circle(0.02, 5e8, 0.3, 1000.0)


def moved(motion: Motion, step: Array) -> Motion:
    """After body increments ``(n, 6)`` of the nodes."""
    x = motion.x + np.matvec(motion.R, step[:, :3])
    return replace(motion, x=x, R=motion.R @ so3.exp(step[:, 3:]))


def bow(model: mbs.Model, rng: Any, place: Array, order: int = 1, count: int = 4) -> Beam:
    """A bent beam somewhere near a place, in any direction, on nodes turned anyhow."""
    angles = np.linspace(-0.7, 0.7, count * order + 1)
    line = (
        np.stack([np.cos(angles) - 1.0, np.sin(angles), 0.1 * angles], axis=1) @ Rotation.random(None, rng).as_matrix()
    )
    nodes: list[Any] = [model.add_node(place + p, rotation=Rotation.random(None, rng)) for p in line]
    return model.add(Beam(nodes, SECTION, order=order))


def pair(kind: str, seed: int, points: int = 1, swap: bool = False) -> tuple[UnilateralBatch, Motion]:
    """A beam and what it may touch, deformed at random."""
    rng = np.random.default_rng(seed)
    model = mbs.Model(group=("R3xSO3", "SE3")[seed % 2])
    first = bow(model, rng, np.zeros(3), order=1 + seed % 3)
    away = (0.3, 1.2)[seed % 4 > 1] * (v := rng.normal(size=3)) / np.linalg.norm(v)
    law: Any = {"friction": 0.3, "points": points}
    if kind == "beam":
        other = bow(model, rng, away, order=2)
        model.add(BeamContact(*((other, first) if swap else (first, other)), **law))
    else:
        node = model.add_node(away, rotation=Rotation.random(None, rng))
        axis, center = rng.normal(size=3), away + 0.1 * rng.normal(size=3)
        shape = Ball(0.05, center=center) if kind == "ball" else Capsule(0.05, 0.7, axis, center=center)
        model.add(BeamContact(first, node, shape, **law))
    system = mbs.System(model)
    (batch,) = (b for b in system.batches if isinstance(b, UnilateralBatch))
    motion = system.at_rest()
    return batch, moved(motion, 0.01 * rng.normal(size=(len(motion.x), 6)))


@pytest.mark.one
@pytest.mark.parametrize("points", (1, 2))
@pytest.mark.parametrize("kind", ("beam", "capsule"))
def test_derivatives_and_balance(kind: str, points: int) -> None:
    """Gradients and their derivatives against differences; rigid motions of all nodes close no gap and slip nowhere."""
    regions = set()
    for seed in range(20):
        batch, motion = pair(kind, seed, points)
        nodes, all_of = batch.nodes[0], every(batch.friction.shape)
        gaps = batch.measure(motion, *all_of)
        H, own = batch.second(gaps), gaps.context[0]
        regions |= {tuple(held) for held in own.pieces.held[0].tolist()}
        rng = np.random.default_rng(seed)
        step = rng.normal(size=(len(motion.x), 6))
        row = step[nodes].ravel()
        before, after = (batch.measure(moved(motion, s * step), *all_of) for s in (-1e-6, 1e-6))
        slope, bend = (after.gap - before.gap) / 2e-6, (after.gradient - before.gradient) / 2e-6
        here = gaps.gap != 0.0  # what is deeper in the next part
        np.testing.assert_allclose((gaps.gradient[:, 0] @ row)[here], slope[here], rtol=0, atol=2e-7)
        np.testing.assert_allclose(H @ row, bend, rtol=0, atol=1e-6 * np.abs(H).max() + 1e-7)
        v, w = rng.normal(size=(2, 3))
        x, R = motion.x[nodes], motion.R[nodes]
        rigid = np.concatenate([np.vecmat(v + np.cross(w, x), R), np.vecmat(w, R)], axis=1).ravel()
        np.testing.assert_allclose(gaps.gradient @ rigid, 0.0, rtol=0, atol=1e-12)
        turn = so3.exp(w)
        turned = batch.measure(replace(motion, x=(motion.x + v) @ turn.T, R=turn @ motion.R), *all_of)
        np.testing.assert_allclose(turned.gap, gaps.gap, rtol=0, atol=1e-13)
        np.testing.assert_allclose(turned.gradient, gaps.gradient, rtol=0, atol=1e-11)
    assert len(regions) >= 3


@pytest.mark.parametrize("points", (1, 2))
@pytest.mark.parametrize("kind", ("beam", "capsule", "ball"))
def test_what_turns_about_a_contact_neither_closes_nor_slips_there(kind: str, points: int) -> None:
    """Gaps, normals, gradients and the points that are drawn belong together."""
    for seed in range(4):
        np.testing.assert_allclose(closing_about_contacts(*pair(kind, seed, points)), 0.0, rtol=0, atol=1e-14)


@pytest.mark.slow
def test_the_gap_is_the_least_distance_of_two_curves() -> None:
    """Against minimisation from many places; the other way round it is the same, with the opposite normal."""
    for seed in range(6):
        batch, motion = pair("beam", seed)
        tubes: Any = batch._pairs  # type: ignore[attr-defined]
        x, R = motion.x[batch.nodes], motion.R[batch.nodes]
        knots = tubes.knots(x, R)

        def square(u: Array, knots: Any = knots) -> float:
            return float(np.square(_way(knots, np.zeros((1, 2), np.bool_), u[None, None]).y).sum())

        counts = [own.shape[1] for own in knots]
        starts = [(a, b) for a in np.linspace(0, counts[0], 4) for b in np.linspace(0, counts[1], 4)]
        bounds = [(0.0, count) for count in counts]
        least = min(minimize(square, u, bounds=bounds, tol=1e-14).fun for u in starts)
        gap = batch.gaps(motion)[0, 0]
        assert gap == pytest.approx(np.sqrt(least) - 0.04, abs=1e-7)
        other, there = pair("beam", seed, swap=True)
        assert other.gaps(there)[0, 0] == pytest.approx(gap, abs=1e-13)
        n = [
            own.measure(m, *every((1, 1))).context[0].near.normal[0, 0] for own, m in ((batch, motion), (other, there))
        ]
        np.testing.assert_allclose(n[0], -n[1], rtol=0, atol=1e-10)


def curves(rng: Any, bent: float, turned: float) -> list[Array]:
    """Two of a few pieces each, bent and turned against each other by about so much."""
    size, own = 10.0 ** rng.uniform(-3, 2), Rotation.random(None, rng).as_matrix().T
    knots = []
    for start, way in ((0.0, 1.0), (rng.uniform(-1.0, 3.0), rng.choice([-1.0, 1.0]) * rng.uniform(0.3, 1.2))):
        count = rng.integers(1, 5)
        points = np.array([start, 0.2 * bool(start), 0.0]) + np.outer(np.arange(count + 1), [way, 0.0, 0.0])
        ends = np.stack([points, np.tile([way, 0.0, 0.0], (count + 1, 1))], axis=1)
        ends = size * (ends + bent * rng.normal(size=ends.shape)) @ own
        knots.append(np.concatenate([ends[:-1], ends[1:]], axis=1)[None])
        own = own @ Rotation.from_rotvec(turned * rng.normal(size=3)).as_matrix()
    return knots


def test_lines_however_parallel_are_as_far_apart_as_segments_are() -> None:
    """By least squares within bounds, in any unit; of parallels no place is nearest, and that on b is held."""
    for seed, turned in enumerate((0.0, 1e-12, 1e-3, 1e-2, 0.1, 1.0) * 12):
        knots = curves(np.random.default_rng(seed), 0.0, turned)
        counts = [own.shape[1] for own in knots]
        within = np.array([[[[0.0, count] for count in counts]]])
        at, _, held = nearest_places(knots, np.zeros((1, 2), np.bool_), np.array([0, counts[0]]), within)
        ways = np.stack([counts[0] * knots[0][0, 0, 1], -counts[1] * knots[1][0, 0, 1]], axis=1)
        apart, scale = knots[1][0, 0, 0] - knots[0][0, 0, 0], np.abs(ways).max()
        best = lsq_linear(ways / scale, apart / scale, (0.0, 1.0), method="bvls", tol=1e-15).x
        least = np.linalg.norm(ways @ best - apart)
        assert np.linalg.norm(at.y) == pytest.approx(least, rel=1e-6)
        assert held[0, 0].any() or turned > 1e-12


def test_places_of_curves_that_are_bent_are_nearest_or_at_ends() -> None:
    """Neither way the distance falls: first derivatives are rounding or point beyond the ends."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        knots = curves(rng, 10.0 ** rng.uniform(-5, -0.5), 10.0 ** rng.uniform(-4, 0.2))
        high = np.array([own.shape[1] for own in knots])
        within = np.stack([0.0 * high, high], axis=-1)[None, None]
        at, u, _ = nearest_places(knots, np.zeros((1, 2), np.bool_), np.array([0, high[0]]), within)
        first = np.vecdot(at.slope, at.y[..., None, :]) * [-1.0, 1.0] / np.vecdot(at.slope, at.slope)
        beyond = (u <= 0.0) & (first > 0.0) | (u >= high) & (first < 0.0)
        np.testing.assert_allclose(np.where(beyond, 0.0, first), 0.0, rtol=0, atol=1e-9)


def test_of_two_places_the_nearer_one_is_found_also_where_its_samples_are_farther() -> None:
    """Over a line, ``0.1 + 2 (s - 1/2)^2`` and, two pieces on, ``0.08 + 6 (s - 3/8)^2``."""
    heights = [[0.6, -2.0, 0.6, 2.0], [0.6, 2.0, 0.92375, -4.5], [0.92375, -4.5, 2.42375, 7.5]]
    line, curve = (np.zeros((1, 3, 4, 3)) for _ in range(2))
    for own in (line, curve):
        own[0, :, :, 0] = np.arange(3.0)[:, None] * [1.0, 0.0, 1.0, 0.0] + [0.0, 1.0, 1.0, 1.0]
    curve[0, :, :, 2] = heights
    within = np.tile([0.0, 3.0], (1, 1, 2, 1))
    at, u, _ = nearest_places([line, curve], np.zeros((1, 2), np.bool_), np.array([0, 3]), within)
    np.testing.assert_allclose(u, 2.375, rtol=0, atol=1e-9)
    assert np.linalg.norm(at.y) == pytest.approx(0.08)


def test_a_ball_is_a_capsule_without_length() -> None:
    """And parts of the beam: the least of their gaps is that of the whole."""
    for seed in range(1, 2):
        for kind in ("ball", "capsule", "beam"):
            (whole, motion), (parts, _) = pair(kind, seed), pair(kind, seed, points=4)
            gaps = parts.gaps(motion)[0]
            assert gaps.min() == pytest.approx(whole.gaps(motion)[0, 0], abs=1e-13)
            assert (np.sort(gaps)[1:] > gaps.min() + 1e-9).all()


def test_some_pairs_are_as_among_all() -> None:
    """Those that are near are asked alone."""
    rng, model = np.random.default_rng(8), mbs.Model()
    a, b, c = (bow(model, rng, place) for place in rng.normal(size=(3, 3)))
    for first, second in ((a, b), (b, c), (c, a)):
        model.add(BeamContact(first, second, points=2))
    system = mbs.System(model)
    (batch,) = (own for own in system.batches if isinstance(own, UnilateralBatch))
    motion, rows = system.at_rest(), np.array([2, 0])
    some, whole = (own.measure(motion, *every((len(own.nodes), 2))) for own in (batch.some(rows), batch))
    kept = (2 * rows[:, None] + [0, 1]).ravel()
    np.testing.assert_array_equal(some.gap, whole.gap[kept])
    np.testing.assert_array_equal(some.gradient, whole.gradient[kept])
