"""What users see of joints: points, axes, angles, names of equations, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from catalogue import JOINTS, build

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.contracts import Constraint
from fem_mbs.elements import (
    FixedJoint,
    ParallelAxesJoint,
    PlanarJoint,
    PointOnPlaneJoint,
    RevoluteJoint,
    SphericalJoint,
)
from fem_mbs.lie import so3

AXIS = np.array([1.0, 2.0, -1.0]) / np.sqrt(6.0)


def coordinates(model: mbs.Model, joint: Constraint, x: Array, R: Array) -> list[float]:
    """Coordinates of a joint whose nodes stand at ``x`` (2, 3), ``R`` (2, 3, 3)."""
    number = mbs.System(model).number
    batches = [joint.coordinate_batch([joint], own.name, number) for own in joint.coordinates]
    return [batch.measure(x[None], R[None], np.empty((1, 0))).value[0] for batch in batches]


@pytest.mark.parametrize(
    ("name", "count"), [("spherical", 3), ("revolute", 5), ("hinge driven by a law", 6), ("fixed", 6)]
)
def test_joints_close_as_many_motions_as_they_say(name: str, count: int) -> None:
    model, (joint,) = build(JOINTS[name])
    assert len(joint.equations) == mbs.System(model).m == count
    assert len(set(joint.equations)) == count


@pytest.mark.parametrize("angle", [-3.0, -0.5, 0.0, 0.5, 2.0, 3.1])
def test_coordinate_of_a_hinge_is_the_angle_of_b_against_a_about_the_axis(angle: float) -> None:
    model, (joint,) = build(JOINTS["revolute"])
    a, b = joint.nodes
    Q = so3.exp(np.array([0.3, -2.0, 1.0]))
    R = np.stack([Q @ a.rotation, Q @ so3.exp(angle * AXIS) @ b.rotation])
    value = coordinates(model, joint, np.random.default_rng(0).normal(size=(2, 3)), R)
    np.testing.assert_allclose(value, [angle], atol=1e-14)
    assert joint.coordinates == (("rotation z", True),)


@pytest.mark.parametrize(
    ("normal", "x", "y"), [((0, 0, 1), 0, 1), ((1, 0, 0), 1, 2), ((0, 1, 0), 0, 2), ((0, 0.6, 0.8), 0, None)]
)
@pytest.mark.parametrize("kind", [PlanarJoint, PointOnPlaneJoint, ParallelAxesJoint])
def test_directions_across_an_axis_are_those_of_node_a(
    kind: type[PlanarJoint], normal: tuple[float, ...], x: int, y: int | None
) -> None:
    """A puck on a table whose normal is z moves along x and y of the table, not along -y and x."""
    model = mbs.Model()
    Q = so3.exp(np.array([0.4, -0.3, 0.8]))
    table, puck = model.add_node((0, 0, 0), Q), model.add_node((0.1, 0.2, 0.3))
    joint = model.add(kind(table, puck, table.direction(normal)))
    first, second = coordinates(model, joint, np.stack([table.position, puck.position + Q[:, x]]), np.stack([Q, Q]))[:2]
    np.testing.assert_allclose([first, second], [1.0, 0.0], atol=1e-14)
    if y is not None:
        second = coordinates(model, joint, np.stack([table.position, puck.position + Q[:, y]]), np.stack([Q, Q]))[1]
        np.testing.assert_allclose(abs(second), 1.0)


def test_coordinates_of_a_ball_are_the_rotation_vector_along_the_axes_of_a() -> None:
    model, (joint,) = build(JOINTS["spherical"])
    a, b = joint.nodes
    w = np.array([0.7, -1.1, 0.4])
    R = np.stack([a.rotation, a.rotation @ so3.exp(w) @ a.rotation.T @ b.rotation])
    np.testing.assert_allclose(coordinates(model, joint, np.zeros((2, 3)), R), w, atol=1e-14)
    assert [coordinate.name for coordinate in joint.coordinates] == ["rotation x", "rotation y", "rotation z"]


def test_a_weld_has_no_coordinate() -> None:
    _, (joint,) = build(JOINTS["fixed"])
    assert joint.coordinates == ()


def test_default_point_is_node_b() -> None:
    model = mbs.Model()
    a, b = model.add_node((1, 2, 3)), model.add_node((4, 5, 6), so3.exp(np.array([0.1, 0.2, 0.3])))
    for joint in (SphericalJoint(a, b), RevoluteJoint(a, b, (0, 0, 1)), FixedJoint(a, b)):
        np.testing.assert_array_equal(joint.offset, 0.0)
        np.testing.assert_allclose(joint.offsets[0], [3.0, 3.0, 3.0])


def test_bad_joints_are_refused_by_name() -> None:
    model = mbs.Model()
    a, b = model.add_node((0, 0, 0), name="frame"), model.add_node((1, 0, 0), name="door")
    with pytest.raises(mbs.ModelError, match="RevoluteJoint on node 'frame', node 'door': axis must have a length"):
        RevoluteJoint(a, b, (0, 0, 0))
    with pytest.raises(mbs.ModelError, match="SphericalJoint: connects node 'door' with itself"):
        SphericalJoint(b, b)
    with pytest.raises(
        mbs.ModelError, match="FixedJoint on node 'frame': b must be a node made by model.add_node, received 3"
    ):
        FixedJoint(a, 3)  # type: ignore[arg-type]
    with pytest.raises(mbs.ModelError, match="drive must be a function of time, received 2.0"):
        RevoluteJoint(a, b, (0, 0, 1), drive=2.0)  # type: ignore[arg-type]
    with pytest.raises(mbs.ModelError, match="'frame', node 'door': point must be finite"):
        SphericalJoint(a, b, (np.nan, 0, 0))


def test_a_drive_that_fails_is_named() -> None:
    model = mbs.Model()
    door = model.add_node((1, 0, 0))
    model.add(RevoluteJoint(model.ground, door, (0, 0, 1), drive=lambda t: [t, t]), name="motor")
    with pytest.raises(mbs.MotionError, match="RevoluteJoint 'motor': .*must return one finite number, received"):
        mbs.System(model).prescribe(0.1)
