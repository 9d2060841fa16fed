"""Contacts of two bodies that are closed in one place along one normal are one: edges and corners of equal boxes."""

from __future__ import annotations

import meshio
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import fem_mbs as mbs
from fem_mbs.contact.complementarity import Laws
from fem_mbs.contracts import Shape
from fem_mbs.elements import Ball, Box, Capsule, Contact, Plane, RigidBody, Surface, contacts_between

G = 9.81


@pytest.mark.one
@pytest.mark.parametrize(("beside", "gap"), [((0.0, 0.0), 0.0), ((0.05, 0.0), 0.0), ((0.0, 0.0), 0.02)])
def test_equal_boxes_stand_on_the_corners_of_what_they_share(beside: tuple[float, float], gap: float) -> None:
    """At rest, and after a fall: 16 corners and crossings of edges are four places."""
    model, size = mbs.Model(gravity=(0, 0, -G)), (0.2, 0.3, 0.1)
    node = model.add_node((*beside, 0.1 + gap))
    model.add(RigidBody(node, 2.0, [0.02] * 3))
    contact = model.add(Contact(model.ground, node, Box(size), Box(size), friction=0.4))
    end = mbs.simulate(model, 0.1, 0.005)
    forces = end.contact_force(contact)[-1]
    assert (forces[:, 2] > 0.0).sum() == 4
    assert forces.sum(axis=0) == pytest.approx((0, 0, 2.0 * G), abs=1e-9)
    assert end.gap(contact).min() > -1e-12
    memory = end.checkpoint.memory
    assert (memory.touches.sum(), memory.closed.sum()) == (4, 8 if beside[0] else 16)
    np.testing.assert_allclose(end.position(node)[-1], (*beside, 0.1), rtol=0, atol=1e-12)


FLAT = meshio.Mesh(np.array([[-1.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, -1, 0]]), [("triangle", [[0, 1, 2], [1, 0, 3]])])
LYING = Rotation.from_euler("y", 90, degrees=True).as_matrix()


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize(
    ("shapes", "place", "R", "way"),
    [
        ((Surface(FLAT), Ball(0.1)), (0, 0, 0.1), np.eye(3), (0.1, 1.0, 0)),  # off the edge of two triangles
        ((Box((0.4, 0.4, 0.2)), Capsule(0.05, 0.2)), (0.1, 0, 0.15), LYING, (0.1, 1.0, 0)),  # an end at an edge
        ((Box((0.4, 0.4, 0.2)), Box((0.4, 0.4, 0.2))), (0, 0, 0.2), np.eye(3), (0.5, 1.0, 0)),
    ],
)
def test_what_coincided_is_told_apart_as_it_moves_on(
    shapes: tuple[Shape, Shape], place: tuple[float, ...], R: np.ndarray, way: tuple[float, ...], sign: float
) -> None:
    """Whichever of the contacts is the nearest within the step: none is deep, and nothing leaves its plane."""
    model = mbs.Model(gravity=(0, 0, -G))
    node = model.add_node(place, R, velocity=sign * np.array(way))
    model.add(RigidBody(node, 1.0, [0.01] * 3))
    contact = model.add(Contact(model.ground, node, *shapes))
    end = mbs.simulate(model, 0.05, 0.01)
    assert end.gap(contact).min() > -1e-12
    np.testing.assert_allclose(end.position(node), np.array(place) + np.outer(end.t, sign * np.array(way)), atol=1e-12)


@pytest.mark.ci
def test_a_wall_of_equal_bricks_stays() -> None:
    """Three rows, half a brick off each other: what touches is one contact in each place, and nothing moves."""
    model, (a, b, c) = mbs.Model(gravity=(0, 0, -G)), (0.2, 0.1, 0.06)
    parts: list[tuple[mbs.Node, Shape]] = [(model.ground, Plane())]
    places = [((k + 0.5 * r) * a, r) for r in range(3) for k in range(3 - r)]
    for x, r in places:
        node = model.add_node((x, 0, (r + 0.5) * c))
        model.add(RigidBody(node, 2.0, [0.01] * 3))
        parts.append((node, Box((a, b, c))))
    wall = model.add(contacts_between(parts, friction=0.6))
    end = mbs.simulate(model, 0.02, 0.005)
    memory = end.checkpoint.memory
    assert memory.touches.sum() < 0.5 * memory.closed.sum()
    assert min(end.gap(own).min() for own in wall) > -1e-12 and end.stats.failed_steps == 0
    for (node, _), (x, r) in zip(parts[1:], places, strict=True):
        np.testing.assert_allclose(end.position(node)[-1], (x, 0, (r + 0.5) * c), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("load", "bears"), [((0.7, 0.7), True), ((0.0, 0.0), False)])
def test_what_bears_nothing_opens_as_all_yield(load: tuple[float, float], bears: bool) -> None:
    """A table on four legs: loaded beyond three of them the fourth lifts, in the middle it would bear its share."""
    x, y = np.array([[1.0, 1, -1, -1], [1, -1, 1, -1]])
    J = np.column_stack([np.ones(4), x, y])
    G, c, P = np.zeros((12, 12)), np.zeros((4, 3)), np.zeros((4, 3))
    G[::3, ::3], c[:, 0] = J @ J.T, -J @ [1.0, *load]
    legs = [0, 1, 2] if bears else [0, 3]
    P[legs, 0] = np.linalg.lstsq(J[legs].T, [1.0, *load], rcond=None)[0]
    laws = Laws(G, c, np.zeros(4))
    assert laws.error(P) < 1e-12 and laws.idle(P)
    assert laws.bears(P, np.zeros((4, 3))) == bears
