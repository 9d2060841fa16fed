"""What bodies, joints and springs look like: solids that move with their nodes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest
from pyvista import CellType, PolyData, Sphere, UnstructuredGrid
from scipy.spatial.transform import Rotation
from test_paraview import close, draw, only, still

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.contracts import Faces, Kind, Shape
from fem_mbs.elements import (
    Ball,
    Box,
    Capsule,
    ConstantVelocityJoint,
    Cylinder,
    DistanceJoint,
    FirstOrderActuator,
    Maxwell,
    PointMass,
    RevoluteJoint,
    RigidBody,
    RollingDisc,
    SphericalJoint,
    Surface,
)
from fem_mbs.elements.joints.relative import ROTATIONS, TRANSLATIONS, RelativeJoint
from fem_mbs.elements.shapes import inertia_ellipsoid
from fem_mbs.files.scene import Scene
from fem_mbs.lie import so3
from fem_mbs.model.model import Model

TURN = so3.exp(np.array([0.3, -0.8, 0.5]))
CENTER = np.array([0.1, 0.2, -0.3])
PLACE = np.array([1.1, 2.3, 2.8])
AXIS = np.array([1.0, 2.0, -2.0]) / 3.0
TETRAHEDRON = meshio.Mesh(
    np.array([[9, 9, 9], [0, 0, 0], [6, 0, 0], [0, 6, 0], [0, 0, 6.0]]),
    [("triangle", np.array([[1, 3, 2], [1, 2, 4], [2, 3, 4], [1, 4, 3]])), ("line", np.array([[0, 1]]))],
)
POLYGON = 24 * np.sin(np.pi / 24) * np.cos(np.pi / 24) / np.pi
"""Area of what stands for a circle, against that."""


def moments(mesh: UnstructuredGrid, about: Array) -> tuple[float, Array, Array]:
    """Volume, its centre and its second moment (3, 3) about a point; the surface must be closed, normals outward."""
    surface = PolyData(mesh.points, mesh.cells).triangulate()
    assert surface.clean(tolerance=1e-9).n_open_edges == 0
    corners = surface.points.astype(float)[surface.regular_faces] - about
    volumes = np.linalg.det(corners) / 6
    total = corners.sum(axis=1)
    second = np.einsum("n,nki,nkj->ij", volumes, corners, corners) + np.einsum("n,ni,nj->ij", volumes, total, total)
    return volumes.sum(), about + volumes @ total / 4 / volumes.sum(), second / 20


def grid(points: Array, cells: list[tuple[str, Array]]) -> UnstructuredGrid:
    """Of blocks of cells by their type."""
    types = [np.full(len(block), CellType[kind.upper()], np.uint8) for kind, block in cells]
    numbers = [np.insert(block, 0, block.shape[1], axis=1).ravel() for _, block in cells]
    return UnstructuredGrid(np.concatenate(numbers), np.concatenate(types), points)


def body(shape: Shape | None) -> Model:
    model = mbs.Model()
    model.add(RigidBody(model.add_node((1, 2, 3), TURN), 2.0, (1.0, 1.2, 1.5), CENTER, shape=shape))
    return model


@pytest.mark.parametrize(
    ("shape", "volume", "center"),
    [
        (Box((1, 2, 3), center=PLACE, rotation=TURN), 6.0, PLACE),
        (Cylinder(0.5, 3.0, AXIS, center=PLACE), 0.75 * np.pi * POLYGON, PLACE),
        (Ball(0.5, center=PLACE), 0.9718 * np.pi / 6, PLACE),
        (
            Surface(TETRAHEDRON, scale=0.5, center=PLACE, rotation=Rotation.from_matrix(TURN)),
            4.5,
            PLACE + TURN @ (0.75, 0.75, 0.75),
        ),
    ],
    ids=["box", "cylinder", "ball", "surface"],
)
def test_shapes_are_where_they_are_wanted_and_move_with_the_node(
    shape: Shape, volume: float, center: Array, tmp_path: Path
) -> None:
    model = body(shape)
    x, R, v = np.array([[0.0, 0, 0], [5, 6, 7]]), np.array([np.eye(3), TURN.T]), np.zeros((2, 6))
    v[1] = 1.0, -2.0, 0.5, 0.4, 0.3, -0.6
    first = only(draw(still(model), tmp_path), Kind.BODY_SHAPE)
    later = only(draw(still(model, x, R, v), tmp_path), Kind.BODY_SHAPE)
    for mesh, place, turn in ((first, model.nodes[1].position, TURN), (later, x[1], R[1])):
        size, middle, _ = moments(mesh, place)
        assert size == pytest.approx(volume, rel=2e-3)
        close(middle, place + turn @ TURN.T @ (center - model.nodes[1].position), atol=1e-12)
        assert (mesh["node_id"] == 1).all()
    arm = (first.points - model.nodes[1].position) @ TURN @ R[1].T
    close(later.points, x[1] + arm, atol=1e-12)
    close(later["displacement"], later.points - first.points, atol=1e-12)
    close(later["velocity"], v[1, :3] + np.cross(R[1] @ v[1, 3:], arm), atol=1e-12)


@pytest.mark.parametrize("principal", [(1.0, 1.2, 1.5), (2.0, 1.1, 1.0), (3.0, 3.0, 3.0)])
def test_a_body_without_a_shape_is_the_ellipsoid_of_its_inertia(principal: tuple[float, ...]) -> None:
    inertia = TURN @ np.diag(principal) @ TURN.T
    points, cells = inertia_ellipsoid(2.0, inertia, CENTER).faces(96)
    mesh = grid(points, cells)
    volume, center, second = moments(mesh, CENTER)
    close(center, CENTER, atol=1e-12)
    second *= 2.0 / volume
    close(np.trace(second) * np.eye(3) - second, inertia, atol=5e-3)


def test_a_capsule_is_closed_and_has_its_volume() -> None:
    radius, length = 0.3, 0.8
    points, cells = Capsule(radius, length, axis=TURN[:, 2], center=CENTER).faces(96)
    mesh = grid(points, cells)
    volume, center, second = moments(mesh, CENTER)
    assert volume == pytest.approx(np.pi * radius**2 * (length + 4 / 3 * radius), rel=2e-3)
    close(center, CENTER, atol=1e-12)
    half = 0.5 * length
    along = np.pi * radius**2 * (half**3 * 2 / 3 + radius * (4 / 3 * half**2 + half * radius + 4 / 15 * radius**2))
    assert TURN[:, 2] @ second @ TURN[:, 2] == pytest.approx(along, rel=5e-3)


def test_flat_and_thin_bodies_have_an_ellipsoid(tmp_path: Path) -> None:
    for principal in ((1.0, 1.0, 2.0), (1e-9, 1.0, 1.0)):
        model = mbs.Model()
        model.add(RigidBody(model.add_node((0, 0, 0)), 1.0, principal))
        assert moments(only(draw(still(model), tmp_path), Kind.BODY_SHAPE), np.zeros(3))[0] > 1e-3


def joint_of(*free: str) -> type[RelativeJoint]:
    """A joint that frees some motions."""

    class Joint(RelativeJoint):
        closes = tuple(name for name in (*TRANSLATIONS, *ROTATIONS) if name not in free)

        def __init__(self, a: mbs.Node, b: mbs.Node, point: Array) -> None:
            super().__init__(a, b, point, TURN)

    return Joint


T, R = TRANSLATIONS, ROTATIONS
JOINTS = {
    "fixed": ((), {"b": (0.8, 0.8, 0.8)}),
    "hinge": ((R[2],), {"b": (1, 1, 1.6)}),
    "hinge about x": ((R[0],), {"b": (1.6, 1, 1)}),
    "universal": ((R[0], R[1]), {"a": (2, 0.4, 0.4), "b": (0.4, 2, 0.4)}),
    "ball": (R, {"b": (1.2, 1.2, 1.2)}),
    "prismatic": ((T[2],), {"a": (0.4, 0.4, 4), "b": (0.8, 0.8, 1.6)}),
    "cylindrical": ((T[2], R[2]), {"a": (0.4, 0.4, 4), "b": (1, 1, 1.6)}),
    "planar": ((T[0], T[1], R[2]), {"a": (1.8, 1.8, 0.1), "b": (1, 1, 1.6)}),
    "point on line": ((T[2], *R), {"a": (0.4, 0.4, 4), "b": (1.2, 1.2, 1.2)}),
    "point on plane": ((T[0], T[1], *R), {"a": (1.8, 1.8, 0.1), "b": (1.2, 1.2, 1.2)}),
    "orientation": (T, {"b": (0.8, 0.8, 0.8)}),
}


@pytest.mark.parametrize("name", JOINTS)
def test_joints_look_like_what_they_leave_free(name: str, tmp_path: Path) -> None:
    free, sizes = JOINTS[name]
    model, point = mbs.Model(), np.array([0.5, 0.3, 0.1])
    a, b = (model.add_node(place, so3.exp(np.array(place))) for place in ((0, 0, 0), (1, 0.2, 0.3)))
    joint = model.add(joint_of(*free)(a, b, point))
    shapes = {"ab"[placed.node is b]: placed for placed in joint.shapes(1.0)}
    assert set(shapes) == set(sizes)
    for side, placed in shapes.items():
        points = placed.node.position + placed.shape.faces(24).points @ placed.node.rotation.T
        extent = np.ptp((points - point) @ TURN, axis=0)
        close(extent, sizes[side], atol=0.02)
        close(points.mean(axis=0), point, atol=1e-12)
    mesh = only(draw(still(model), tmp_path), Kind.JOINT_SHAPE)
    assert (mesh["joint_id"] == 0).all()
    assert moments(mesh, np.zeros(3))[0] > 0.0


def test_a_slider_moves_on_its_rail(tmp_path: Path) -> None:
    model = mbs.Model()
    b = model.add_node((1, 0, 0))
    model.add(RigidBody(b, 1.0, (1, 1, 1)))
    model.add(joint_of(T[2])(model.ground, b, np.zeros(3)))
    x = np.array([[0.0, 0, 0], [1, 0, 0] + 0.2 * TURN[:, 2]])
    moved = only(draw(still(model, x), tmp_path), Kind.JOINT_SHAPE)["displacement"]
    on_rail = np.abs(moved).max(axis=1) < 1e-12
    assert 0 < on_rail.sum() < len(moved)
    close(moved[~on_rail], np.broadcast_to(0.2 * TURN[:, 2], moved[~on_rail].shape), atol=1e-12)


def test_a_rolling_disc_touches_its_plane(tmp_path: Path) -> None:
    model = mbs.Model()
    wheel = model.add_node((0, 0, 0.5), TURN)
    model.add(RollingDisc(model.ground, wheel, (0, 0, 1), (0, 1, 0.2), 0.4))
    mesh = only(draw(still(model), tmp_path), Kind.JOINT_SHAPE)
    middle = 0.5 * (mesh.points[:24] + mesh.points[24:])
    close(np.linalg.norm(middle - (0, 0, 0.5), axis=1), 0.4, atol=1e-12)
    close((middle - (0, 0, 0.5)) @ (0, 1, 0.2), 0.0, atol=1e-12)


def test_a_rod_joins_its_points(tmp_path: Path) -> None:
    model = mbs.Model()
    a, b = (model.add_node((k, 0, 0)) for k in (1, 2))
    for node in (a, b):
        model.add(RigidBody(node, 1.0, (1, 1, 1)))
    model.add(SphericalJoint(model.ground, a))
    model.add(DistanceJoint(a, b, point_b=(2, 1, 0)))
    solution = still(model, np.array([[0.0, 0, 0], [1, 0, 0], [2, 2, 0]]))
    mesh = only(draw(solution, tmp_path), Kind.JOINT_SHAPE)
    rod = mesh.extract_cells(mesh["joint_id"] == int(mesh["joint_id"].max()))
    close(rod.points, [(1, 0, 0), (2, 3, 0)])
    assert Kind.JOINT_SHAPE not in draw(solution, tmp_path, shapes=False)["part"]


def test_a_link_leads_from_a_body_to_a_joint_that_is_off_it(tmp_path: Path) -> None:
    model = mbs.Model()
    bob, plate = model.add_node((3, 0, 0)), model.add_node((0, 2, 0))
    model.add(RigidBody(bob, 1.0, (1e-6, 1e-6, 1e-6)))
    model.add(RigidBody(plate, 1.0, (1, 1, 1)))
    for node, point in ((bob, (0, 0, 0)), (plate, (0, 2, 0.1))):
        model.add(SphericalJoint(model.ground, node, point))
    links = only(draw(still(model, np.array([[0.0, 0, 0], [0, 0, 3], [0, 2, 0]])), tmp_path), Kind.LINK)
    close(links.points, [(0, 0, 3), (-3, 0, 3)])
    assert links["node_id"].tolist() == [1]


def test_a_joint_of_constant_velocity_shows_both_shafts(tmp_path: Path) -> None:
    model = mbs.Model()
    a, b = model.add_node((-1, 0, 0)), model.add_node((1, 1, 0), TURN)
    for node in (a, b):
        model.add(RigidBody(node, 1.0, (1, 1, 1)))
    model.add(ConstantVelocityJoint(a, b, (1, 0, 0), (1, 1, 0), (0, 0, 0)))
    mesh = only(draw(still(model), tmp_path), Kind.JOINT_SHAPE)
    ahead, behind = mesh.points @ (1, 1, 0) / np.sqrt(2.0), mesh.points @ (-1, 0, 0)
    across = np.linalg.norm(np.cross(mesh.points, (1, 1, 0)) / np.sqrt(2.0), axis=1)
    assert 2.0 < ahead.max() / across[ahead > 0.9 * ahead.max()].max() < 10.0
    assert abs(ahead.max() - behind.max()) < 1e-9


def line(kind: Callable[..., mbs.Element]) -> Model:
    model = mbs.Model()
    a, b = (model.add_node(place, TURN) for place in ((0, 0, 0), (1, 0, 0)))
    for node in (a, b):
        model.add(PointMass(node, 1.0))
        model.fix(node, translation=False, rotation=True)
    model.add(kind(a, b))
    return model


def stretched(kind: Callable[..., mbs.Element], length: float, folder: Path, **options: int) -> Array:
    """The points of a line element along y, in an orthonormal frame whose first axis is along it."""
    x = np.array([[0.0, 0, 0], [0, 0, 0], [0, length, 0]])
    mesh = only(draw(still(line(kind), x), folder, **options), Kind.SPRING)
    assert (mesh["beam_id"] == 0).all()
    return np.asarray(mesh.points)[:, [1, 2, 0]]


def test_a_spring_is_a_coil_whose_pitch_follows_its_length(tmp_path: Path) -> None:
    def spring(a: mbs.Node, b: mbs.Node) -> Maxwell:
        return Maxwell(a, b, 1.0, 1.0)

    short, long = (stretched(spring, length, tmp_path) for length in (0.5, 2.0))
    close(short[[0, -1]], [[0, 0, 0], [0.5, 0, 0]], atol=1e-14)
    close(long, short * (4.0, 1.0, 1.0), atol=1e-13)
    coil = short[2:-2]
    close(np.linalg.norm(coil[:, 1:], axis=1), 0.06, atol=1e-13)
    turns = np.unwrap(np.arctan2(coil[:, 2], coil[:, 1])) / (2 * np.pi)
    assert abs(turns[-1] - turns[0]) == pytest.approx(6.0, abs=1e-12)
    close(stretched(spring, 2.0, tmp_path, stations=2), [[0, 0, 0], [2, 0, 0]], atol=1e-14)


def test_an_actuator_is_a_cylinder_whose_rod_follows_its_length(tmp_path: Path) -> None:
    def actuator(a: mbs.Node, b: mbs.Node) -> FirstOrderActuator:
        return FirstOrderActuator(a, b, lambda t, length, speed: 0.0, 1.0)

    for length in (0.8, 2.0):
        barrel, rod = np.split(stretched(actuator, length, tmp_path), 2)
        close(np.unique(np.round(barrel[:, 0], 12)), [0.0, 0.55])
        close([rod[:, 0].min(), rod[:, 0].max()], [0.55, length], atol=1e-14)
        close(np.linalg.norm(rod[:, 1:], axis=1), 0.025, atol=1e-14)


@pytest.mark.parametrize("toward", [np.eye(3)[k] * s for k in range(3) for s in (1, -1)])
def test_a_spring_may_turn_anywhere(toward: Array, tmp_path: Path) -> None:
    model = line(lambda a, b: Maxwell(a, b, 1.0, 1.0))
    points = only(draw(still(model, np.array([np.zeros(3), np.zeros(3), TURN @ toward])), tmp_path), Kind.SPRING).points
    along = points @ TURN @ toward
    close(np.linalg.norm(points - along[:, None] * (TURN @ toward), axis=1)[2:-2], 0.06, atol=1e-13)


def chain(count: int) -> Model:
    model = mbs.Model()
    before = model.ground
    for k in range(count):
        link = model.add_node((k + 1.0, 0, 0))
        model.add(RigidBody(link, 1.0, (0.01, 0.1, 0.1)))
        model.add(RevoluteJoint(before, link, (0, 1, 0), point=(k + 0.5, 0, 0)))
        before = link
    return model


def test_symbols_fit_the_model(tmp_path: Path) -> None:
    """They are small against the model, and against the way to the next joint."""
    for count, largest in ((1, 0.1), (30, 0.8)):
        mesh = only(draw(still(chain(count)), tmp_path), Kind.JOINT_SHAPE)
        sizes = [np.ptp(mesh.extract_cells(mesh["joint_id"] == k).points, axis=0).max() for k in range(count)]
        assert 0.01 < min(sizes) and max(sizes) < largest
    model = mbs.Model()
    disc = model.add_node((0, 0, 0))
    model.add(RigidBody(disc, 1.0, (1, 1, 1)))
    model.add(SphericalJoint(model.ground, disc))
    assert np.isfinite(draw(still(model), tmp_path).points).all()


@pytest.mark.slow
def test_a_thousand_joints_stay_cheap(tmp_path: Path) -> None:
    solution = still(chain(1000))
    full = draw(solution, tmp_path)
    assert only(full, Kind.JOINT_SHAPE).n_points == 8000
    assert only(full, Kind.BODY_SHAPE).n_points == 6000
    assert (tmp_path / "run" / "run_000000.vtu").stat().st_size < 6e6
    plain = draw(solution, tmp_path, shapes=False)
    assert set(np.unique(plain["part"])) == {Kind.NODE, Kind.BODY, Kind.JOINT}
    close(full.points[: plain.n_points], plain.points)


def test_a_surface_comes_from_a_file(tmp_path: Path) -> None:
    Sphere(radius=100.0, theta_resolution=9, phi_resolution=9).save(tmp_path / "part.stl")
    mesh = only(draw(still(body(Surface(tmp_path / "part.stl", scale=0.001, center=PLACE))), tmp_path), Kind.BODY_SHAPE)
    close(np.linalg.norm(mesh.points - PLACE, axis=1), 0.1, rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Box((1, 0, 2)), r"Box: size must be three positive numbers, received \(1, 0, 2\)"),
        (lambda: Box(1.0), "Box: size must be three numbers, received 1.0"),
        (lambda: Box((1, 1, 1), rotation=2 * np.eye(3)), "Box: rotation must be a rotation matrix"),
        (lambda: Cylinder(-1.0, 1.0), "Cylinder: radius must be a positive number, received -1"),
        (lambda: Cylinder(1.0, 1.0, (0, 0, 0)), "Cylinder: axis must have a length"),
        (lambda: Ball(0.0), "Ball: radius must be a positive number, received 0"),
        (lambda: Surface("missing.stl"), "Surface: meshio cannot read 'missing.stl'"),
        (lambda: Surface(7), "Surface: mesh must be a meshio.Mesh or the path of a file, received 7"),
        (lambda: Surface(meshio.Mesh(np.eye(3), [("line", [[0, 1]])])), "no triangles and no quads, but line"),
        (
            lambda: Surface(meshio.Mesh(np.eye(3), [("triangle", [[0, 1, 5]])])),
            "a cell of the type triangle has point 5, and the mesh 3 points",
        ),
        (lambda: Surface(meshio.Mesh(np.eye(2), [("line", [[0, 1]])])), "points of three finite coordinates"),
        (lambda: body("ball"), r"RigidBody on node 'node 1': shape must be a shape, such as Box.* received 'ball'"),
    ],
)
def test_bad_shapes_are_refused_by_name(make: Callable[[], object], message: str) -> None:
    with pytest.raises(mbs.ModelError, match=message):
        make()


FACES: dict[str, tuple[Any, str]] = {
    "none": (None, "must return Faces.*received None"),
    "no cells": (Faces(np.eye(3), []), "with a block of cells"),
    "in a plane": (Faces(np.zeros((3, 2)), [("triangle", np.array([[0, 1, 2]]))]), r"points must be .*\(n, 3\)"),
    "nan": (Faces(np.full((3, 3), np.nan), [("triangle", np.array([[0, 1, 2]]))]), "points must be finite"),
    "beyond": (Faces(np.eye(3), [("triangle", np.array([[0, 1, 9]]))]), "cells must be .*rows of the 3 points"),
    "unknown": (Faces(np.eye(3), [("hexx", np.array([[0, 1, 2]]))]), "received .'hexx'"),
    "corners": (Faces(np.eye(3), [("quad", np.array([[0, 1, 2]]))]), "received .'quad'"),
}


@pytest.mark.parametrize("name", FACES)
def test_surfaces_of_users_are_looked_at(name: str) -> None:
    class Mine(Shape):
        def faces(self, sides: int) -> Any:
            return FACES[name][0]

    model = mbs.Model()
    model.add(RigidBody(model.add_node((0, 0, 0), name="b"), 1.0, (1, 1, 1), shape=Mine()))
    with pytest.raises(mbs.ModelError, match=f"Mine.faces, on node 'b': .*{FACES[name][1]}"):
        Scene(mbs.System(model), 2, True)
