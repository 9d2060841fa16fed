"""Pairs of shapes: gaps against distances found by optimisation, and derivatives against differences."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import meshio
import numpy as np
import pytest
from catalogue import EVERYTHING, build
from motions import closing_about_contacts
from scipy.optimize import lsq_linear, minimize
from scipy.spatial.transform import Rotation

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion, Shape, UnilateralBatch
from fem_mbs.elements import Ball, Box, Bush, Capsule, Contact, Cylinder, Plane, Surface
from fem_mbs.elements.contact.boxes import Brick, box_points, boxes
from fem_mbs.elements.contact.pairs import Nearest, Points, approach, every
from fem_mbs.elements.contact.shapes import reach
from fem_mbs.elements.contact.yielding import YieldingBatch
from fem_mbs.lie import so3

CORNERS = np.array(list(product((0.0, 1.0), repeat=3))) - 0.5
SIDES = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
MESH = meshio.Mesh(CORNERS, [("quad", np.array(SIDES))])
SHAPES: dict[str, Any] = {
    "plane": lambda: Plane(),
    "ball": lambda: Ball(0.2),
    "capsule": lambda: Capsule(0.1, 0.8),
    "box": lambda: Box((0.4, 0.6, 1.0)),
    "cylinder": lambda: Cylinder(0.3, 0.8),
    "mesh": lambda: Surface(MESH),
    "bush": lambda: Bush(2.5),
}
PAIRS = (
    *(("plane", b) for b in ("ball", "capsule", "box", "cylinder")),
    *(("ball", b) for b in ("ball", "capsule", "box", "cylinder", "mesh", "bush")),
    *(("capsule", b) for b in ("capsule", "box", "bush")),
    ("box", "box"),
)


def placed(pair: tuple[str, str], seed: int, distance: float, **law: float) -> tuple[Any, Motion]:
    """The batch of a pair in a random placement, and its motion; rigid, or yielding by a law."""
    rng = np.random.default_rng(seed)
    model = mbs.Model(group=("R3xSO3", "SE3")[seed % 2])
    places = np.zeros((2, 3)), distance * (v := rng.normal(size=3)) / np.linalg.norm(v)
    nodes = [model.add_node(p, rotation=Rotation.random(None, rng)) for p in (places[0][0], places[1])]
    # bodies whose shapes are not at their nodes
    shapes = [SHAPES[name]() for name in pair]
    for node, shape in zip(nodes, shapes, strict=True):
        shape.rotation = node.rotation if shape.rotation is None else shape.rotation
        shape.center = np.asarray(node.position) + 0.05 * rng.normal(size=3)
    model.add(Contact(*nodes, *shapes, friction=0.3, **law))
    system = mbs.System(model)
    (batch,) = (b for b in system.batches if isinstance(b, YieldingBatch if law else UnilateralBatch))
    return batch, system.at_rest()


def moved(motion: Motion, step: Array) -> Motion:
    """After body increments ``(n, 6)`` of the nodes."""
    x = motion.x + np.matvec(motion.R, step[:, :3])
    return replace(motion, x=x, R=motion.R @ so3.exp(step[:, 3:]))


@pytest.mark.parametrize("pair", PAIRS, ids=" and ".join)
def test_derivatives_of_pairs(pair: tuple[str, str]) -> None:
    """Gradients of gaps, and derivatives of all gradients, against differences in random placements.

    A gap and its two slips are along axes of a right-handed frame.
    """
    seen = 0
    for seed in range(10):
        batch, motion = placed(pair, seed, 0.55 if "box" in pair or "mesh" in pair else 0.9)
        all_of = every(batch.friction.shape)
        gaps = batch.measure(motion, *all_of)
        H, axes = batch.second(gaps), gaps.gradient[:, :, 6:9]
        np.testing.assert_allclose(np.cross(axes, np.roll(axes, -1, axis=1)), np.roll(axes, -2, axis=1), atol=1e-12)
        for d in np.random.default_rng(seed).normal(size=(2, 12)):
            ends = []
            for s in (-2e-6, 2e-6):
                step = np.zeros((3, 6))
                step[batch.nodes[0]] = s * d.reshape(2, 6)
                ends.append(batch.measure(moved(motion, step), *all_of))
            # crossings of edges that do not count, or what changes its region within the difference, have no derivative
            near = (np.arange(len(gaps.gap)) < 16) | (gaps.gap < 0.0) | (pair != ("box", "box"))
            near &= np.abs(ends[1].gradient - ends[0].gradient).max(axis=(1, 2)) < 1e-2
            near &= np.abs(ends[1].gap + ends[0].gap - 2 * gaps.gap) < 1e-8
            seen += near.sum()
            slope = (ends[1].gap - ends[0].gap) / 4e-6
            np.testing.assert_allclose((gaps.gradient[:, 0] @ d)[near], slope[near], rtol=0, atol=1e-7)
            bend = (ends[1].gradient - ends[0].gradient) / 4e-6
            np.testing.assert_allclose((H @ d)[near], bend[near], rtol=0, atol=1e-5)
    assert seen >= 20


@pytest.mark.parametrize("pair", PAIRS)
def test_a_body_that_turns_about_a_contact_neither_closes_nor_slips_there(pair: tuple[str, str]) -> None:
    """Gaps, normals, gradients and the points that are drawn belong together."""
    for seed, distance in ((0, 0.7), (1, 1.5)):
        np.testing.assert_allclose(closing_about_contacts(*placed(pair, seed, distance)), 0.0, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    "name", ["rope", "contact of a box on a plane", "contact of a beam with a ball", "contact of capsules"]
)
def test_gaps_get_less_by_no_more_than_their_rates_say(name: str) -> None:
    """Of nodes that move evenly without turning, ahead and back."""
    system, rng = mbs.System(build(EVERYTHING[name])[0]), np.random.default_rng(7)
    linear = rng.normal(size=(system.n, 6)) * (np.arange(6) < 3)
    motion = replace(system.at_rest(), V=np.where(system.free, linear, 0.0))
    (batch,) = (own for own in system.batches if isinstance(own, UnilateralBatch))
    gaps, b, c = batch.opening(motion)
    for T in (-0.1, -1e-3, 1e-3, 0.1):
        moving = replace(motion, x=motion.x + T * np.matvec(motion.R, motion.V[:, :3]))
        least = gaps.min(axis=1) - 0.5 * c * T**2 + (0.0 if b is None else b * T)
        assert b is None or (batch.gaps(moving).min(axis=1) >= least - 1e-12).all()


@pytest.mark.parametrize("pair", PAIRS, ids=" and ".join)
def test_bodies_come_no_nearer_than_their_ways_allow(pair: tuple[str, str]) -> None:
    """Whatever bodies that are apart do, their distance falls by no more than ``closing`` says of ways and turns.

    It changes as fast as ``opening`` allows, and no faster than the fastest points.
    """
    least = np.inf
    for seed in range(6):
        batch, motion = placed(pair, seed, 1.5)
        step = np.zeros((3, 6))
        step[batch.nodes[0]] = 0.05 * np.random.default_rng(seed).normal(size=(2, 6)) * [[1.0], [seed % 3]]
        before, after = (batch.gaps(at).min() for at in (motion, moved(motion, step)))
        ways = np.linalg.norm(step.reshape(3, 2, 3), axis=-1)
        if before > 0.0:
            (most,) = batch.closing(motion, *ways.T).sum(axis=0)
            least = min(least, most - abs(before - after))
            there, back = (batch.gaps(moved(motion, s * step)).min() for s in (1e-5, -1e-5))
            rate, rates = (there - back) / 2e-5, batch.approach(replace(motion, V=step))
            assert rates.opening[0, 0] - 1e-8 < rate < rates.opening[0, 1] + 1e-8
            assert abs(rate) < rates.fastest[0] + 1e-8
    assert 0.0 <= least < np.inf or "bush" in pair and least == np.inf


@pytest.mark.parametrize("reaches", [(0.3, 0.7), (0.0, 0.7), (0.3, 0.0)])
def test_points_of_bodies_come_no_faster_than_they_may(reaches: tuple[float, float]) -> None:
    """Any two within reach of their nodes, however these move and turn."""
    rng, n = np.random.default_rng(7), 400
    far, R = rng.normal(size=(2 * n, 3)), so3.exp(rng.normal(size=(2 * n, 3)))
    V = rng.normal(size=(2 * n, 6)) * np.repeat([0.3, 3.0], 3)
    motion = Motion(0.0, far, R, V, 0.0 * V, np.zeros(3))
    near = Nearest(*(np.zeros((n, 1, *shape)) for shape in ((), (3,), (3,))))
    nodes = np.arange(2 * n).reshape(n, 2)
    fastest = approach(near, motion, nodes, 1, np.tile(reaches, (n, 1)), convex=False).fastest
    for _ in range(20):
        levers = rng.normal(size=(2 * n, 3))
        levers *= (np.tile(reaches, n) / np.linalg.norm(levers, axis=1))[:, None]
        points = far + np.matvec(R, levers)
        rates = np.matvec(R, V[:, :3] + np.cross(V[:, 3:], levers))
        (a, b), (v_a, v_b) = points.reshape(n, 2, 3).swapaxes(0, 1), rates.reshape(n, 2, 3).swapaxes(0, 1)
        rate = np.vecdot(b - a, v_b - v_a) / np.linalg.norm(b - a, axis=1)
        assert (np.abs(rate) <= fastest * (1.0 + 1e-12)).all()


@pytest.mark.parametrize("pair", PAIRS, ids=" and ".join)
def test_contacts_that_yield_know_how_fast_they_are_met(pair: tuple[str, str]) -> None:
    """The speed of approach of bodies that turn, against differences of gaps."""
    for seed in range(6):
        batch, motion = placed(
            pair, seed, 0.55 if "box" in pair or "mesh" in pair else 0.9, stiffness=1e5, restitution=0.5
        )
        V = np.zeros((3, 6))
        V[batch.nodes[0]] = np.random.default_rng(seed).normal(size=(2, 6))
        ends = [batch.gaps(moved(motion, s * V))[0] for s in (-2e-6, 0.0, 2e-6)]
        met = [batch.accept(batch.force(replace(motion, V=s * V), None)[1])[0] for s in (1.0, -1.0)]
        smooth = np.abs(ends[0] + ends[2] - 2.0 * ends[1]) < 1e-8
        # crossings of edges of boxes that are apart do not count
        smooth &= (np.arange(len(smooth)) < 16) | (ends[1] < 0.0) | (pair != ("box", "box"))
        np.testing.assert_allclose((met[1] - met[0])[smooth], (ends[2] - ends[0])[smooth] / 4e-6, rtol=0, atol=1e-6)


@pytest.mark.parametrize("pair", PAIRS, ids=" and ".join)
def test_forces_of_contacts_that_yield_are_the_slope_of_what_their_depths_store(pair: tuple[str, str]) -> None:
    """At rest, by laws of any exponent; nothing is stored where bodies are apart."""
    pressed, far = 0, 3.0 if "bush" in pair else 0.4 if "box" in pair or "mesh" in pair else 0.3
    for seed in range(8):
        law = {"stiffness": 1e5, "exponent": (1.0, 1.5, 2.3)[seed % 3], "restitution": 0.5}
        batch, motion = placed(pair, seed, far, **law)
        force, (stored,) = batch.force(motion, None)[0][0, :12], batch.energy(motion).strain
        assert (stored > 0.0) == (batch.gaps(motion) < 0.0).any()
        way = np.zeros((3, 6))
        way[batch.nodes[0]] = np.random.default_rng(seed).normal(size=(2, 6))
        back, ahead = (batch.energy(moved(motion, s * way)).strain[0] for s in (-1e-6, 1e-6))
        if stored > 0.0 and abs(back + ahead - 2.0 * stored) < 1e-7 * stored:  # no corner changes its side
            pressed += 1
            assert force @ way[batch.nodes[0]].ravel() == pytest.approx((ahead - back) / 2e-6, rel=1e-5, abs=1e-4)
    assert pressed >= 2


def inside(shape: Shape) -> tuple[Array, Array, Array]:
    """A point, directions as columns, and bounds of the shares of these: all points of a box or of an axis."""
    center = np.zeros(3) if shape.center is None else shape.center
    axes = np.eye(3) if shape.rotation is None else shape.rotation
    if isinstance(shape, Box):
        return center, axes, 0.5 * shape.size
    return center, axes, np.array([0.0, 0.0, 0.5 * getattr(shape, "length", 0.0)]) + 1e-15


@pytest.mark.parametrize("pair", (("box", "box"), ("capsule", "box"), ("ball", "box"), ("capsule", "capsule")))
def test_the_least_gap_is_the_distance(pair: tuple[str, str]) -> None:
    """Of bodies that are apart: against a bounded least-squares problem."""
    apart = 0
    for seed in range(30):
        batch, motion = placed(pair, seed, 0.9)
        (contact,) = batch.owners
        parts, radius = [], 0.0
        for own in contact.placed:
            row = list(contact.nodes).index(own.node)
            x, R = motion.x[batch.nodes[0, row]], motion.R[batch.nodes[0, row]]
            center, axes, half = inside(own.shape)
            parts.append((x + R @ center, R @ axes, half))
            radius += 0.0 if isinstance(own.shape, Box) else 0.2 if isinstance(own.shape, Ball) else 0.1
        A = np.hstack([parts[0][1], -parts[1][1]])
        bound = np.concatenate([parts[0][2], parts[1][2]])
        found = lsq_linear(A, parts[1][0] - parts[0][0], (-bound, bound), tol=1e-14)
        distance = np.sqrt(2.0 * found.cost)
        if distance > 1e-3:
            apart += 1
            assert batch.gaps(motion).min() == pytest.approx(distance - radius, abs=1e-6)
        else:
            assert batch.gaps(motion).min() < 1e-3
    assert apart >= 10


def test_edges_that_go_on_cross_near_their_boxes() -> None:
    """Of faces that lie on each other, however little one is turned: lines of their edges cross far away then."""
    half, none = np.array([[[0.5, 1.0, 0.5]]]), np.zeros((1, 1, 3))
    for turn in (0.2, 0.02, 0.002):
        upper = Brick(none + (0.3, 0.0, 1.0), so3.exp(np.array([0.0, 0.0, turn]))[None], half)
        near, held = (boxes(Brick(none, np.eye(3)[None], half), upper, continued=own) for own in (False, True))
        touch, on = (np.abs(own.gap) < 1e-9 for own in (near, held))
        assert touch.sum() >= 6 and on[touch].all()
        assert np.linalg.norm(held.b[on], axis=-1).max() < 2.0


def test_gaps_grow_with_their_bodies() -> None:
    """Of points beyond a face, an edge and a corner of a box, on an edge, and within."""
    places = np.array([(0.9, 0.2, 0.1), (0.9, 1.3, 0.1), (0.9, 1.3, 0.8), (0.5, 1.0, 0.2), (0.1, 0.9, 0.1)])
    half, center = np.array([[[0.5, 1.0, 0.5]]]), np.zeros((1, 1, 3))
    here, *others = (
        box_points(Brick(center, np.eye(3)[None], size * half), Points(size * places[None], np.zeros((1, 5))))
        for size in (1.0, 1e-4, 1e4)
    )
    np.testing.assert_allclose(here.gap, [[0.4, 0.5, np.sqrt(0.34), 0.0, -0.1]], atol=1e-12)
    for size, other in zip((1e-4, 1e4), others, strict=True):
        np.testing.assert_allclose(other.gap, size * here.gap, rtol=1e-9, atol=1e-12 * size)
        np.testing.assert_allclose(other.normal, here.normal, atol=1e-9)


def test_a_cylinder_that_lies_on_a_plane_is_as_high_as_its_radius() -> None:
    """However round its faces are, and turned about its axis: on both ends."""
    for angle in (0.0, 0.7, 2.0):
        model = mbs.Model()
        node = model.add_node((0.3, -0.2, 0.5), rotation=so3.exp(np.array([angle, 0.0, 0.0])))
        model.add(Contact(model.ground, node, Plane(), Cylinder(0.2, 1.0, (1, 0, 0))))
        system = mbs.System(model)
        (batch,) = (own for own in system.batches if isinstance(own, UnilateralBatch))
        assert np.sort(batch.gaps(system.at_rest())[0])[:2] == pytest.approx([0.3, 0.3], abs=1e-14)


def test_a_cylinder_and_a_ball() -> None:
    """The gap against the nearest point of the cylinder, found by optimisation."""
    for seed in range(20):
        batch, motion = placed(("cylinder", "ball"), seed, 0.8)
        (contact,) = batch.owners
        (cylinder, ball) = (own.shape for own in contact.placed)
        (i, j) = (batch.nodes[0, list(contact.nodes).index(own.node)] for own in contact.placed)
        target = motion.R[i].T @ (motion.x[j] + motion.R[j] @ ball.center - motion.x[i]) - cylinder.center
        target = cylinder.rotation.T @ target

        def off(p: Array, target: Array = target) -> float:
            return float(((p - target) ** 2).sum())

        limits = [{"type": "ineq", "fun": lambda p: 0.09 - p[0] ** 2 - p[1] ** 2}]
        found = minimize(off, 0.5 * target, bounds=[(None, None)] * 2 + [(-0.4, 0.4)], constraints=limits, tol=1e-14)
        assert batch.gaps(motion)[0, 0] == pytest.approx(np.sqrt(found.fun) - 0.2, abs=1e-5)


def test_a_mesh_is_its_box() -> None:
    """A ball outside of a box has the same distance from the mesh of its sides."""
    for seed in range(20):
        gaps = []
        for name in ("mesh", "box"):
            SHAPES["unit box"] = lambda: Box((1, 1, 1))
            batch, motion = placed(("mesh" if name == "mesh" else "unit box", "ball"), seed, 1.1)
            gaps.append(batch.gaps(motion).min())
        assert gaps[0] == pytest.approx(gaps[1], abs=1e-12)


@pytest.mark.parametrize("shape", [Box((2.0, 3.0, 6.0)), Box((0.2, 0.3, 0.6)), Cylinder(0.6, 1.6), Cylinder(3.0, 8.0)])
def test_turns_move_what_is_farthest_from_the_node(shape: Shape) -> None:
    """Corners of a box, rims of a cylinder."""
    points = shape.faces(4).points
    assert reach(shape) == pytest.approx(np.linalg.norm(points, axis=1).max(), rel=1e-12)
