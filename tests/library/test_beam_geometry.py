"""How a beam is laid through its nodes: section frames, arc lengths, corners, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from catalogue import PLAIN

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import Beam
from fem_mbs.elements.beams.geometry import YAxis
from fem_mbs.lie import so3


def world_frames(points: Array, y_axis: YAxis | None = None) -> tuple[Beam, Array]:
    """A beam on randomly turned nodes and its section frames ``(k, 2, 3, 3)`` in the world."""
    model = mbs.Model()
    turns = so3.exp(np.random.default_rng(0).normal(size=(len(points), 3)))
    beam = Beam([model.add_node(p, R) for p, R in zip(points, turns, strict=True)], PLAIN, y_axis)
    return beam, np.stack([turns[:-1], turns[1:]], axis=1) @ beam.frames


def arc(angles: Array, radius: float = 2.0) -> tuple[Array, Array]:
    """Points on a circle in the x-y plane and the tangents there."""
    points = radius * np.stack([np.sin(angles), 1 - np.cos(angles), 0 * angles], axis=1)
    return points, np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)


def test_straight_beam_follows_its_line() -> None:
    beam, frames = world_frames(np.outer([0.0, 1.0, 3.0], [2.0, 1.0, -2.0]) / 3.0, y_axis=(1.0, 1.0, 1.0))
    np.testing.assert_allclose(beam.length, [1.0, 2.0], rtol=1e-14)
    e1 = np.array([2.0, 1.0, -2.0]) / 3.0
    e2 = np.array([1.0, 1.0, 1.0]) - e1 / 3.0
    e2 /= np.linalg.norm(e2)
    expected = np.stack([e1, e2, np.cross(e1, e2)], axis=-1)
    np.testing.assert_allclose(frames, np.broadcast_to(expected, frames.shape), atol=1e-14)


@pytest.mark.parametrize("angles", [[0.0, 0.3, 0.6, 0.9], [0.0, 0.1, 0.5, 0.7]], ids=["even", "uneven"])
def test_tangents_and_lengths_are_exact_on_an_arc(angles: list[float]) -> None:
    """Also at the free ends, and for elements of unequal length; lengths are those of the arc, not of the chord."""
    points, tangents = arc(np.array(angles))
    beam, frames = world_frames(points, y_axis=(0, 0, 1))
    np.testing.assert_allclose(frames[:, 0, :, 0], tangents[:-1], atol=1e-14)
    np.testing.assert_allclose(frames[:, 1, :, 0], tangents[1:], atol=1e-14)
    np.testing.assert_allclose(frames[..., 1], np.broadcast_to([0.0, 0, 1], frames.shape[:-1]), atol=1e-14)
    np.testing.assert_allclose(beam.length, 2.0 * np.diff(angles), rtol=1e-14)


@pytest.mark.parametrize("size", [1e-9, 1e9])
def test_beams_may_have_any_size(size: float) -> None:
    beam, _ = world_frames(size * np.outer([0.0, 1.0, 3.0], [2.0, 1.0, -2.0]) / 3.0)
    np.testing.assert_allclose(beam.length, [size, 2.0 * size], rtol=1e-14)


def test_corner_leaves_both_sides_straight() -> None:
    _, frames = world_frames(np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0], [2, 1, 0], [2, 2, 0]]), y_axis=(0, 0, 1))
    np.testing.assert_allclose(frames[:2, :, :, 0], np.broadcast_to([1.0, 0, 0], (2, 2, 3)), atol=1e-15)
    np.testing.assert_allclose(frames[2:, :, :, 0], np.broadcast_to([0.0, 1, 0], (2, 2, 3)), atol=1e-15)


def test_a_beam_that_is_folded_back_keeps_its_y_axis() -> None:
    """No smallest rotation leads to the opposite direction."""
    _, frames = world_frames(np.array([[0.0, 0, 0], [1, 0, 0], [0.2, 0, 0]]))
    np.testing.assert_allclose(frames[..., 1], np.broadcast_to([0.0, 1, 0], frames.shape[:-1]), atol=1e-15)


def test_arc_after_a_corner_keeps_its_tangents() -> None:
    """The circle through the rest of the arc gives the tangent at the corner."""
    points, tangents = arc(np.array([0.0, 0.3, 0.6, 0.9]))
    beam, frames = world_frames(np.vstack([[0.0, 0.0, -1.0], points]), y_axis=(0, 1, 0))
    np.testing.assert_allclose(frames[0, :, :, 0], np.broadcast_to([0.0, 0, 1], (2, 3)), atol=1e-15)
    np.testing.assert_allclose(frames[1:, 0, :, 0], tangents[:-1], atol=1e-14)
    np.testing.assert_allclose(frames[1:, 1, :, 0], tangents[1:], atol=1e-14)
    np.testing.assert_allclose(beam.length, [1.0, 0.6, 0.6, 0.6], rtol=1e-14)


def test_y_is_horizontal_and_z_points_up_by_default() -> None:
    _, frames = world_frames(np.outer([0.0, 1.0], [1.0, 2.0, 1.0]))
    assert abs(frames[0, 0, 2, 1]) < 1e-15 and frames[0, 0, 2, 2] > 0.0
    _, vertical = world_frames(np.outer([0.0, 1.0], [0.0, 0.0, -1.0]))
    np.testing.assert_allclose(vertical[0, 0, :, 1], [0.0, 1.0, 0.0], atol=1e-15)


@pytest.mark.parametrize("across", [(0.0, 1.0, 0.0), (0.0, 0.0, 1.0)], ids=["vertical plane", "horizontal plane"])
@pytest.mark.parametrize("shape", ["loop", "corners"])
def test_default_axes_turn_no_more_than_the_beam(across: tuple[float, float, float], shape: str) -> None:
    """In a plane the axis across it stays, through loops and corners, where a fixed direction would flip or fail."""
    angles = np.linspace(0.0, 2.5 * np.pi, 40)
    plane = np.array([[1.0, 0, 0], np.cross(across, [1.0, 0, 0])])
    points = {
        "loop": np.stack([np.sin(angles), 1 - np.cos(angles)], axis=1) @ plane,
        "corners": np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]]) @ plane,
    }[shape]
    _, frames = world_frames(points)
    axis = frames[..., 1 if across[1] else 2]
    np.testing.assert_allclose(axis, np.broadcast_to(across, axis.shape), atol=1e-13)


def test_frames_are_rotations_on_any_curve() -> None:
    s = np.linspace(0.0, 3.0, 12)
    _, frames = world_frames(np.stack([np.cos(s), np.sin(s), 0.4 * s], axis=1))
    np.testing.assert_allclose(
        np.swapaxes(frames, -1, -2) @ frames, np.broadcast_to(np.eye(3), frames.shape), atol=1e-14
    )
    np.testing.assert_allclose(np.linalg.det(frames), 1.0, atol=1e-14)
    # by default the section turns by the smallest rotation from one tangent to the next
    along, across = frames.reshape(-1, 3, 3)[..., 0], frames.reshape(-1, 3, 3)[..., 1]
    axis = np.cross(along[:-1], along[1:])
    sine = np.linalg.norm(axis, axis=1, keepdims=True)
    turn = so3.exp(axis * np.arctan2(sine, np.vecdot(along[:-1], along[1:])[:, None]) / np.maximum(sine, 1e-300))
    np.testing.assert_allclose(across[1:], np.matvec(turn, across[:-1]), atol=1e-13)


def test_directions_of_nodes_turn_the_section_along_the_beam() -> None:
    """One for each node, or a function of the position: both ends of an element have those of their nodes."""
    points = np.outer([0.0, 0.5, 1.2], [1.0, 0.0, 0.0])
    axes = np.array([[0.0, 1, 0], [0.3, 1, 1], [0, 0, 2.0]])
    expected = np.array([[0.0, 1, 0], [0, np.sqrt(0.5), np.sqrt(0.5)], [0, 0, 1]])
    by_place = {tuple(point): axis for point, axis in zip(points, axes, strict=True)}
    for y_axis in (axes, lambda place: by_place[tuple(place)]):
        _, frames = world_frames(points, y_axis)
        np.testing.assert_allclose(frames[:, 0, :, 1], expected[:-1], atol=1e-15)
        np.testing.assert_allclose(frames[:, 1, :, 1], expected[1:], atol=1e-15)
        np.testing.assert_allclose(frames[..., 0], np.broadcast_to([1.0, 0, 0], (2, 2, 3)), atol=1e-15)


def test_line_twists_by_a_function_of_the_position() -> None:
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (2, 0, 0), PLAIN, 4, y_axis=lambda x: (0, np.cos(x[0]), np.sin(x[0])))
    np.testing.assert_allclose(beam.d0, np.broadcast_to([0.5, 0, 0, 0.5, 0, 0], (4, 6)), atol=1e-14)


def test_beam_starts_and_ends_off_its_nodes() -> None:
    """Frames and lengths are those of the line between the given points; offsets are in the node frames."""
    model = mbs.Model()
    turns = so3.exp(np.random.default_rng(1).normal(size=(3, 3)))
    points = np.array([[0.0, 1, 0], [2, 0, 0], [3, 0, -1]])
    nodes = [model.add_node(p, R) for p, R in zip(points, turns, strict=True)]
    beam = Beam(nodes, PLAIN, start=(1, 0, 0), end=(4, 0, 0))
    np.testing.assert_allclose(beam.length, [1.0, 2.0])
    np.testing.assert_allclose((turns[:2] @ beam.frames[:, 0])[..., 0], [[1.0, 0, 0]] * 2, atol=1e-15)
    np.testing.assert_allclose(turns[0] @ beam.offsets[0, 0], [1, -1, 0], atol=1e-15)
    np.testing.assert_allclose(turns[2] @ beam.offsets[1, 1], [1, 0, 1], atol=1e-15)
    assert not beam.offsets[0, 1].any() and not beam.offsets[1, 0].any()
    drawn, _ = beam.centerline(points, turns, 2)
    np.testing.assert_allclose(drawn[[0, 1], [0, 1]], [[1.0, 0, 0], [4, 0, 0]], atol=1e-15)


def test_line_connects_its_ends_rigidly_with_nodes_that_are_elsewhere() -> None:
    model = mbs.Model()
    hub = model.add_node((0, 0, 0.5), name="hub")
    with pytest.raises(mbs.ModelError, match="node 'hub' is at .* rigid_ends=True connects them rigidly"):
        Beam.line(model, (1, 0, 0), (4, 0, 0), PLAIN, 3, start_node=hub)
    beam = Beam.line(model, (1, 0, 0), (4, 0, 0), PLAIN, 3, start_node=hub, rigid_ends=True)
    np.testing.assert_allclose(beam.length, 1.0)
    np.testing.assert_allclose(beam.offsets[0, 0], [1, 0, -0.5])
    assert not beam.offsets[1:].any() and len(model.nodes) == 5


@pytest.mark.parametrize(
    ("y_axis", "message"),
    [
        ([(0, 1, 0)] * 2, r"three numbers, or three for each of the 3 nodes, received .* of shape \(2, 3\)"),
        ([(0, 1, 0), (0, 0, 0), (0, 1, 0)], r"y_axis\[1\] must have a length"),
        ([(0, 1, 0), (0, np.nan, 0), (0, 1, 0)], r"y_axis\[1\] must be finite"),
        ([(0, 1, 0), (0, 1, 0), (1, 0, 0)], r"y_axis \[1. 0. 0.\] is parallel to the beam in element 2"),
        ([(0, 1, 0), (0, 1, 0), (0, -1, 1)], "turn over within element 2, .* differ by more than 90 degrees"),
        (lambda place: 1 / 0, "y_axis at .* failed: ZeroDivisionError"),
        (lambda place: 1.0, r"y_axis at \[0. 0. 0.\] must be three numbers, received 1.0"),
    ],
)
def test_bad_directions_are_refused_by_name(y_axis: YAxis, message: str) -> None:
    with pytest.raises(mbs.ModelError, match=message):
        world_frames(np.outer([0.0, 1.0, 2.0], [1.0, 0, 0]), y_axis)


def test_bad_beams_are_refused_by_name() -> None:
    model = mbs.Model()
    a, b = model.add_node((0, 0, 0), name="root"), model.add_node((0, 0, 2), name="tip")
    again = model.add_node((0, 0, 2), name="again")
    with pytest.raises(mbs.ModelError, match="'root', node 'tip'.*parallel to the beam in element 1"):
        Beam([a, b], PLAIN, y_axis=(0, 0, 3))
    points, _ = arc(np.array([0.0, 0.3, 0.6, 0.9, 1.2]))
    with pytest.raises(mbs.ModelError, match="element 3.* y_axis .*parallel to the beam"):
        Beam([model.add_node(p) for p in points], PLAIN, y_axis=(1, 1, 0))
    with pytest.raises(mbs.ModelError, match="element 2 has no length: node 'tip' and node 'again'"):
        Beam([a, b, again], PLAIN)
    with pytest.raises(mbs.ModelError, match="at least two nodes, received 1"):
        Beam([a], PLAIN)
    with pytest.raises(mbs.ModelError, match="interpolation must be one of 'SE3', 'R3xSO3', received 'SO3'"):
        Beam([a, b], PLAIN, interpolation="SO3")
    with pytest.raises(mbs.ModelError, match="section must be a BeamSection"):
        Beam([a, b], 7.0)  # type: ignore[arg-type]
    with pytest.raises(mbs.ModelError, match="'spar'.*node 'tip' is at .*not at the end"):
        Beam.line(model, (0, 0, 0), (0, 0, 1), PLAIN, end_node=b, name="spar")
    with pytest.raises(mbs.ModelError, match="same point"):
        Beam.line(model, (0, 0, 0), (0, 0, 0), PLAIN)
    with pytest.raises(mbs.ModelError, match="elements must be a whole number"):
        Beam.line(model, (0, 0, 0), (0, 0, 1), PLAIN, elements=0)


def test_line_uses_the_given_ends_and_names_the_rest() -> None:
    model = mbs.Model()
    tip = model.add_node((3, 0, 0), name="tip")
    beam = Beam.line(model, (0, 0, 0), (3, 0, 0), PLAIN, elements=3, start_node=model.ground, end_node=tip, name="spar")
    assert beam.nodes[0] is model.ground and beam.nodes[-1] is tip
    assert [node.name for node in beam.nodes] == ["ground", "spar[1]", "spar[2]", "tip"]
    assert beam in model.elements and str(beam) == "Beam 'spar'"
    np.testing.assert_allclose([node.position for node in beam.nodes], np.outer(range(4), [1, 0, 0]), atol=1e-15)
