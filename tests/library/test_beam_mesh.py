"""A line mesh becomes beams: which lines make one, which nodes they share, and what is refused."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest
from catalogue import COUPLED, PLAIN

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamMesh, Force, beams_from_mesh, results_on_mesh

PORTAL = np.array([[0.0, 0, 0], [0, 0, 1], [0, 0, 2], [1, 0, 2], [2, 0, 2], [2, 0, 1], [2, 0, 0]])
COLUMNS_AND_GIRDER = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)]
SETS = {"columns": [[0, 1, 4, 5]], "girder": [[2, 3]]}
TAGS = {"tag": [[7, 7, 3, 3, 7, 7]]}


def portal(**options: Any) -> meshio.Mesh:
    """A frame of two columns and a girder, with two lines each."""
    return meshio.Mesh(PORTAL, [("line", COLUMNS_AND_GIRDER)], **options)


def numbers(structure: BeamMesh) -> list[list[int]]:
    """Points of the mesh along each beam."""
    point = {node: number for number, node in reversed(structure.nodes.items())}
    return [[point[node] for node in beam.nodes if node in point] for beam in structure.beams]


def test_portal_frame_is_three_beams_that_share_nodes() -> None:
    """Each with its own default axes: z up on the girder, y along the world's y on the columns."""
    model = mbs.Model()
    structure = beams_from_mesh(model, portal(), PLAIN, name="frame")
    assert numbers(structure) == [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
    assert repr(structure) == "BeamMesh: 3 beams, 0 trusses, 7 nodes, groups [None]"
    with pytest.raises(AttributeError, match="is it 'nodes'"):
        structure.node_at  # type: ignore[attr-defined]  # noqa: B018
    assert [node.name for node in model.nodes[1:8]] == [f"frame[{k}]" for k in range(7)]
    assert [str(part) for part in model.elements] == [f"Beam 'frame beam {k}'" for k in range(3)]
    for number, place in enumerate(PORTAL):
        np.testing.assert_array_equal(structure.nodes[number].position, place)
    np.testing.assert_allclose([beam.frames[0, 0, :, 1] for beam in structure.beams], [[0, 1, 0]] * 3, atol=1e-15)


@pytest.mark.parametrize(
    ("options", "section", "by"),
    [
        ({"cell_sets": SETS}, {"columns": PLAIN, "girder": COUPLED}, None),
        ({"cell_data": TAGS}, {7: PLAIN, 3: COUPLED}, "tag"),
    ],
    ids=["cell sets", "cell data"],
)
def test_sections_by_groups(options: dict[str, Any], section: dict[Any, Any], by: str | None) -> None:
    structure = beams_from_mesh(mbs.Model(), portal(**options), section, by=by)
    assert [beam.section for beam in structure.beams] == [PLAIN, COUPLED, PLAIN]
    column, girder = section
    assert structure.groups == {column: structure.beams[::2], girder: structure.beams[1:2]}
    alone = beams_from_mesh(mbs.Model(), portal(**options), {column: None, girder: COUPLED}, by=by)
    assert numbers(alone) == [[2, 3, 4]] and sorted(alone.nodes) == [2, 3, 4]


FORMATS: dict[str, tuple[str, dict[str, Any], str | None]] = {
    "gmsh 2.2": ("frame.msh", {"file_format": "gmsh22"}, None),
    "Abaqus": ("frame.inp", {}, None),
    "Nastran": ("frame.bdf", {}, "nastran:ref"),
}
TAGGED: dict[str, dict[str, Any]] = {
    "gmsh 2.2": {
        "cell_data": {f"gmsh:{kind}": TAGS["tag"] for kind in ("physical", "geometrical")},
        "field_data": {"columns": np.array([7, 1]), "girder": np.array([3, 1])},
    },
    "Abaqus": {"cell_sets": SETS},
    "Nastran": {"cell_data": {"nastran:ref": [np.array(TAGS["tag"][0])]}},
}


@pytest.mark.parametrize("name", FORMATS)
def test_there_and_back_through_a_file(name: str, tmp_path: Path) -> None:
    """Lines, sections and section axes by tag are those of the mesh that was written, to the digits of the file."""
    file, options, by = FORMATS[name]
    column, girder = ("columns", "girder") if by is None else (7, 3)
    given = portal(**TAGGED[name])
    given.points = PORTAL / 3.0
    given.write(tmp_path / file, **options)
    sections, axes = {column: PLAIN, girder: COUPLED}, {column: (1, 1, 0), girder: (0, 0, 1)}
    models = mbs.Model(), mbs.Model()
    read = beams_from_mesh(models[0], tmp_path / file, sections, by=by, y_axis=axes)
    made = beams_from_mesh(
        models[1], portal(cell_sets=SETS), {"columns": PLAIN, "girder": COUPLED}, y_axis={"columns": (1, 1, 0)}
    )
    assert numbers(read) == numbers(made) == [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
    assert [beam.section for beam in read.beams] == [PLAIN, COUPLED, PLAIN]
    for one, other in zip(read.beams[::2], made.beams[::2], strict=True):
        np.testing.assert_allclose(one.frames, other.frames, atol=1e-12)
    np.testing.assert_allclose(read.beams[1].frames[0, 0, :, 1], (0, 0, 1), atol=1e-12)
    np.testing.assert_allclose(made.beams[1].frames[0, 0, :, 2], (0, 0, 1), atol=1e-12)  # by default, z is up
    places = [node.position for node in read.nodes.values()]
    np.testing.assert_allclose(places, PORTAL / 3.0, rtol=1e-7 if by else 1e-15)


INPUT = """*Heading
*Node
 10, 0., 0., 0.
 20, 0., 0., 1.
 30, 0., 0., 2.
 40, 1., 0., 2.
*Element, type=B31, elset=columns
 1, 10, 20
 2, 20, 30
*Element, type=B31, elset=girder
 3, 30, 40
*Beam Section, elset=columns, material=steel, section=RECT
0.1, 0.2
0., 1., 0.
"""
BULK = """BEGIN BULK
GRID          10              0.      0.      0.
GRID          20              0.      0.      1.
GRID          30              0.      0.      2.
GRID          40              1.      0.      2.
CBAR           1       7      10      20      0.      1.      0.
CBAR           2       7      20      30      0.      1.      0.
CBEAM          3       3      30      40      0.      0.      1.
ENDDATA
"""


@pytest.mark.parametrize(
    ("file", "text", "by", "keys"),
    [("frame.inp", INPUT, None, ("columns", "girder")), ("frame.bdf", BULK, "nastran:ref", (7, 3))],
    ids=["Abaqus", "Nastran"],
)
def test_files_as_their_programs_write_them(
    file: str, text: str, by: str | None, keys: tuple[Any, Any], tmp_path: Path
) -> None:
    (tmp_path / file).write_text(text, encoding="utf-8")
    read = beams_from_mesh(mbs.Model(), tmp_path / file, dict(zip(keys, (PLAIN, COUPLED), strict=True)), by=by)
    assert numbers(read) == [[0, 1, 2], [2, 3]]
    assert read.groups == {keys[0]: read.beams[:1], keys[1]: read.beams[1:]}


def test_results_on_the_mesh(tmp_path: Path) -> None:
    """A cantilever under a tip load, its lines in both directions: moment F (L - x), deflection F L^3/3EI + F L/GA."""
    mesh = meshio.Mesh(
        [[0.0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0], [9, 9, 9], [9, 8, 9], [8, 9, 9]],
        [("triangle", [(4, 5, 6)]), ("line", [(0, 1), (2, 1)]), ("line", [(2, 3)])],
    )
    load = 1e-4
    for options in ({}, {"elements": 2}, {"order": 1, "elements": 20}):
        model = mbs.Model()
        structure = beams_from_mesh(model, mesh, PLAIN, **options)
        model.fix(structure.nodes[0])
        model.add(Force(structure.nodes[3], (0, 0, load)))
        results_on_mesh(structure, mbs.statics(model)).write(tmp_path / "out.vtu")
        found = meshio.read(tmp_path / "out.vtu")
        np.testing.assert_array_equal(found.points, mesh.points)
        assert [(cells.type, len(cells.data)) for cells in found.cells] == [("triangle", 1), ("line", 3)]
        tip = load * (27 / (3 * 4.0) + 3 / 12.0)
        assert found.point_data["displacement"][3, 2] == pytest.approx(tip, rel=2e-3)
        assert found.point_data["rotation"][3, 1] == pytest.approx(-load * 9 / (2 * 4.0), rel=2e-3)
        assert np.isnan(found.point_data["displacement"][4:]).all()
        ends = [np.concatenate(found.cell_data[f"section forces, {end} point"]) for end in ("first", "second")]
        assert np.isnan(ends[0][0]).all()
        moments = np.abs([end[1:, 4] for end in ends])
        half = 0.025 * load if "order" in options else 0.0  # of an element, whose moment is that of its middle
        inward = half * np.array([[-1, 1, -1], [1, -1, 1]])
        np.testing.assert_allclose(moments, load * np.array([[3, 1, 1], [2, 2, 0]]) + inward, rtol=1e-3, atol=1e-9)


def test_results_of_quadratic_lines_and_trusses() -> None:
    """The ends of a quadratic line are those of its two lines; a truss has one force."""
    mesh = meshio.Mesh([[0.0, 0, 0], [2, 0, 0], [1, 0, 0], [1, 0, 1]], [("line3", [(0, 1, 2)]), ("line", [(3, 2)])])
    mesh.cell_sets = {"bridge": [[0], []], "rope": [[], [0]]}
    model = mbs.Model()
    structure = beams_from_mesh(model, mesh, {"bridge": PLAIN, "rope": PLAIN}, trusses=["rope"])
    for point in (0, 1, 3):
        model.fix(structure.nodes[point])
    model.add(Force(structure.nodes[2], (0, 0, -1e-3)))
    solution = mbs.statics(model)
    found = results_on_mesh(structure, solution)
    first, second = (found.cell_data[f"section forces, {end} point"] for end in ("first", "second"))
    beam, [rope] = structure.beams[0], structure.trusses
    np.testing.assert_array_equal([first[0][0], second[0][0]], solution.section_forces(beam)[-1][[0, -1]])
    assert first[1][0, 0] == second[1][0, 0] == solution.section_forces(rope)[-1, 0, 0] > 0
    with pytest.raises(mbs.ModelError, match="must be a Solution of the model with the structure, received 3"):
        results_on_mesh(structure, 3)
    with pytest.raises(mbs.ModelError, match="there is no state 1000"):
        results_on_mesh(structure, solution, number=1000)


def test_a_beam_ends_where_the_section_changes() -> None:
    mesh = meshio.Mesh(np.outer(range(5), [1.0, 0, 0]), [("line", [(0, 1), (1, 2), (2, 3), (3, 4)])])
    mesh.cell_data["tag"] = [np.array([1, 1, 2, 2])]
    structure = beams_from_mesh(mbs.Model(), mesh, {1: PLAIN, 2: PLAIN}, by="tag")
    assert numbers(structure) == [[0, 1, 2], [2, 3, 4]]


def test_between_nodes_of_the_mesh_sections_turn_evenly() -> None:
    """Of one direction for each of these."""
    x = np.array([0.0, 0.5, 1.2])
    line = meshio.Mesh(np.outer(x, (1.0, 0, 0)), [("line", [[0, 1], [1, 2]])])
    axes = np.stack([0.0 * x, np.cos(x), np.sin(x)], axis=1)
    beam = beams_from_mesh(mbs.Model(), line, PLAIN, y_axis=axes, elements=2, order=1).beams[0]
    np.testing.assert_allclose(beam.d0[:, [0, 3]], np.repeat([[0.25], [0.25], [0.35], [0.35]], 2, axis=1), atol=1e-14)
    np.testing.assert_allclose(beam.frames[[0, 2], 0, :, 1], axes[:2], atol=1e-14)


def test_lines_of_any_order_and_direction_become_one_beam() -> None:
    """It follows the first line of the mesh."""
    mesh = meshio.Mesh(np.outer([3.0, 0, 4, 1, 2], [1.0, 0, 0]), [("line", [(4, 3), (2, 0), (0, 4), (1, 3)])])
    assert numbers(beams_from_mesh(mbs.Model(), mesh, PLAIN)) == [[2, 0, 4, 3, 1]]


def test_beams_end_where_three_lines_meet() -> None:
    star = meshio.Mesh([[0.0, 0], [1, 0], [2, 0], [1, 1], [1, 2]], [("line", [(0, 1), (1, 2), (1, 3), (3, 4)])])
    assert numbers(beams_from_mesh(mbs.Model(), star, PLAIN)) == [[0, 1], [1, 2], [1, 3, 4]]


def test_a_ring_of_lines_is_one_closed_curved_beam() -> None:
    count = 12  # turns by 30 degrees at each point, which is not yet a corner
    angles = 2 * np.pi * np.arange(count) / count
    ring = [(k, (k + 1) % count) for k in range(count)]
    mesh = meshio.Mesh(np.stack([np.cos(angles), np.sin(angles)], axis=1), [("line", ring)])
    structure = beams_from_mesh(mbs.Model(), mesh, PLAIN)
    assert numbers(structure) == [[*range(count), 0]]
    np.testing.assert_allclose(structure.beams[0].length, 2 * np.pi / count, rtol=1e-12)


def test_quadratic_lines_give_two_elements() -> None:
    """Through the point in the middle, which meshio lists last; the arc is met as by three points of a chain."""
    arc = [(np.sin(a), 1 - np.cos(a)) for a in (0.0, 0.8, 0.4, 1.6, 1.2)]
    mesh = meshio.Mesh(arc, [("line3", [(0, 1, 2), (1, 3, 4)])])
    structure = beams_from_mesh(mbs.Model(), mesh, PLAIN)
    assert numbers(structure) == [[0, 2, 1, 4, 3]]
    np.testing.assert_allclose(structure.beams[0].length, 0.4, rtol=1e-12)


def test_lines_of_several_blocks_among_other_cells() -> None:
    """Points of other cells alone get no nodes, and are not loose."""
    points = [[0.0, 0, 0], [1, 0, 0], [2, 0, 0], [5, 5, 5], [6, 5, 5], [5, 6, 5]]
    mesh = meshio.Mesh(points, [("line", [(0, 1)]), ("triangle", [(3, 4, 5)]), ("line", [(1, 2)])])
    mesh.cell_sets["last"] = [None, [0], [0]]
    assert numbers(beams_from_mesh(mbs.Model(), mesh, PLAIN)) == [[0, 1, 2]]
    mesh.cell_sets["first"] = [[0], [], []]
    assert numbers(beams_from_mesh(mbs.Model(), mesh, {"first": None, "last": PLAIN})) == [[1, 2]]


def test_groups_of_med() -> None:
    """Lines of all families that belong to a group."""
    mesh = portal(cell_data={"cell_tags": TAGS["tag"]})
    mesh.cell_tags = {7: ["columns", "frame"], 3: ["girder", "frame"]}
    structure = beams_from_mesh(mbs.Model(), mesh, {"columns": PLAIN, "girder": COUPLED})
    assert [beam.section for beam in structure.beams] == [PLAIN, COUPLED, PLAIN]
    assert list(beams_from_mesh(mbs.Model(), mesh, {"frame": PLAIN}).groups) == ["frame"]


def test_physical_groups_of_gmsh_22(tmp_path: Path) -> None:
    tags = {f"gmsh:{kind}": TAGS["tag"] for kind in ("physical", "geometrical")}
    names = {"columns": np.array([7, 1]), "girder": np.array([3, 1]), "plate": np.array([3, 2])}
    portal(cell_data=tags, field_data=names).write(tmp_path / "frame.msh", file_format="gmsh22")
    structure = beams_from_mesh(mbs.Model(), tmp_path / "frame.msh", {"columns": PLAIN, "girder": COUPLED})
    assert [beam.section for beam in structure.beams] == [PLAIN, COUPLED, PLAIN]
    assert numbers(structure) == [[0, 1, 2], [2, 3, 4], [4, 5, 6]]


GMSH_41 = """$MeshFormat
4.1 0 8
$EndMeshFormat
$PhysicalNames
3
0 9 "foot"
1 7 "columns"
1 3 "girder"
$EndPhysicalNames
$Entities
1 2 0 0
1 0 0 0 1 9
1 0 0 0 0 0 2 1 7 0
2 0 0 2 2 0 2 1 3 0
$EndEntities
$Nodes
3 4 1 4
0 1 0 1
1
0 0 0
1 1 0 2
2
3
0 0 1
0 0 2
1 2 0 1
4
1 0 2
$EndNodes
$Elements
3 4 1 4
0 1 15 1
1 1
1 1 1 2
2 1 2
3 2 3
1 2 1 1
4 3 4
$EndElements
"""


def test_physical_groups_of_gmsh_41(tmp_path: Path) -> None:
    """As Gmsh writes it, with a point of its own at the foot."""
    (tmp_path / "frame.msh").write_text(GMSH_41, encoding="utf-8")
    structure = beams_from_mesh(mbs.Model(), str(tmp_path / "frame.msh"), {"columns": PLAIN, "girder": COUPLED})
    assert numbers(structure) == [[0, 1, 2], [2, 3]]
    assert [beam.section for beam in structure.groups["girder"]] == [COUPLED]


@pytest.mark.parametrize("ending", ["vtu", "vtk", "inp"])
def test_files(ending: str, tmp_path: Path) -> None:
    portal().write(tmp_path / f"frame.{ending}")
    structure = beams_from_mesh(mbs.Model(), tmp_path / f"frame.{ending}", PLAIN)
    assert numbers(structure) == [[0, 1, 2], [2, 3, 4], [4, 5, 6]]


TWICE = np.array([[0.0, 0, 0], [1, 0, 0], [1, 0, 0], [2, 0, 0]])


def test_points_at_one_place_are_merged_or_kept_apart_as_asked(caplog: pytest.LogCaptureFixture) -> None:
    mesh = meshio.Mesh(TWICE, [("line", [(0, 1), (2, 3)])])
    with pytest.raises(
        mbs.ModelError, match="points at the same place: 1 and 2. merge=1e-6 .* merge=0 keeps them apart"
    ):
        beams_from_mesh(mbs.Model(), mesh, PLAIN)
    with caplog.at_level(logging.INFO, "fem_mbs"):
        merged = beams_from_mesh(mbs.Model(), mesh, PLAIN, merge=1e-6)
    assert numbers(merged) == [[0, 1, 3]]
    assert merged.nodes[2] is merged.nodes[1] and "point 2 became part of node 'mesh[1]'" in caplog.text
    assert numbers(beams_from_mesh(mbs.Model(), mesh, PLAIN, merge=0)) == [[0, 1], [2, 3]]


def test_points_are_merged_within_the_distance_alone() -> None:
    points = TWICE + [[0, 0, 0], [0, 0, 0], [1e-3, 0, 0], [0, 0, 0]]
    mesh = meshio.Mesh(points, [("line", [(0, 1), (2, 3)])])
    for merge, beams in ((None, 2), (0.9e-3, 2), (1.1e-3, 1)):
        assert len(beams_from_mesh(mbs.Model(), mesh, PLAIN, merge=merge).beams) == beams


def test_loose_points_are_left_out_if_asked() -> None:
    mesh = meshio.Mesh([*PORTAL, [9.0, 9, 9]], [("line", COLUMNS_AND_GIRDER)])
    model = mbs.Model()
    structure = beams_from_mesh(model, mesh, PLAIN, ignore_loose=True)
    assert 7 not in structure.nodes and len(model.nodes) == 1 + 7 + 2 * 6  # two inside each line


@pytest.mark.parametrize("order", [1, 2, 3])
def test_structure_is_the_one_built_by_hand(order: int) -> None:
    """The portal frame under a side force, against the same of three beams."""
    model, hand = mbs.Model(), mbs.Model()
    sections = {"columns": PLAIN, "girder": COUPLED}
    nodes = beams_from_mesh(model, portal(cell_sets=SETS), sections, order=order).nodes
    corners = {k: hand.add_node(PORTAL[k]) for k in (0, 2, 4, 6)}
    for (a, b), section in zip(((0, 2), (2, 4), (4, 6)), (PLAIN, COUPLED, PLAIN), strict=True):
        Beam.line(hand, PORTAL[a], PORTAL[b], section, 2, start_node=corners[a], end_node=corners[b], order=order)
    tips = []
    for one, own in ((model, nodes), (hand, corners)):
        one.fix(own[0])
        one.fix(own[6])
        one.add(Force(own[2], (0.5, 0.2, 0)))
        tips.append(mbs.statics(one).position(own[2])[-1])
    np.testing.assert_allclose(tips[0], tips[1], rtol=1e-12)


def line_mesh(points: Any = PORTAL, lines: Any = COLUMNS_AND_GIRDER, **options: Any) -> meshio.Mesh:
    return meshio.Mesh(points, [("line", lines)], **options)


NOT_A_NUMBER = np.array([[0.0, 0, 0], [1, 0, 0], [2, np.nan, 0]])
CASES: dict[str, tuple[Callable[[mbs.Model], Any], str]] = {
    "no mesh": (lambda m: beams_from_mesh(m, 7, PLAIN), "must be a meshio.Mesh or the path of a file, received 7"),
    "no file": (lambda m: beams_from_mesh(m, "no.vtu", PLAIN), "cannot read 'no.vtu': File no.vtu not found"),
    "no model": (lambda m: beams_from_mesh(None, portal(), PLAIN), "model must be a Model, received None"),  # type: ignore[arg-type]
    "no lines": (
        lambda m: beams_from_mesh(m, meshio.Mesh(PORTAL, [("triangle", [(0, 1, 2), (2, 3, 4)])]), PLAIN),
        "has no line cells, of which beams are made; its cells are: 2 of type 'triangle'",
    ),
    "no cells": (lambda m: beams_from_mesh(m, meshio.Mesh(PORTAL, []), PLAIN), "its cells are: none"),
    "cubic lines": (
        lambda m: beams_from_mesh(m, meshio.Mesh(PORTAL, [("line4", [(0, 1, 2, 3)])]), PLAIN),
        "cells of the type 'line4'; beams are made of line and line3",
    ),
    "loose points": (
        lambda m: beams_from_mesh(m, line_mesh([*PORTAL, *(PORTAL + 5)]), PLAIN),
        "loose points that no cell uses: 7, 8, 9, 10, 11 and 2 more; remove them, connect them by lines",
    ),
    "points that are not there": (
        lambda m: beams_from_mesh(m, line_mesh(lines=[(0, 1), (1, 7)]), PLAIN, ignore_loose=True),
        "a cell of the type line has point 7, and the mesh 7 points, counted from 0",
    ),
    "point not finite": (
        lambda m: beams_from_mesh(m, line_mesh(NOT_A_NUMBER, [(0, 1), (1, 2)]), PLAIN),
        "point 2 of the mesh must be finite, received [ 2. nan  0.]",
    ),
    "one coordinate": (
        lambda m: beams_from_mesh(m, line_mesh(np.ones((3, 1)), [(0, 1)]), PLAIN),
        "must have two or three coordinates",
    ),
    "line without length": (
        lambda m: beams_from_mesh(m, line_mesh(TWICE, [(0, 1), (1, 2), (2, 3)]), PLAIN),
        "lines without length: 1; remove them",
    ),
    "line merged away": (
        lambda m: beams_from_mesh(m, portal(), PLAIN, merge=1.0),
        "lines without length: 0, 1, 2, 3, 4 and 1 more",
    ),
    "line given twice": (
        lambda m: beams_from_mesh(m, line_mesh(lines=[*COLUMNS_AND_GIRDER, (3, 2)]), PLAIN),
        "lines 2, 6 join the same points 2, 3; remove all but one",
    ),
    "line given twice after merging": (
        lambda m: beams_from_mesh(m, line_mesh(TWICE, [(0, 1), (0, 2), (2, 3)]), PLAIN, merge=1e-9),
        "lines 0, 1 join the same points 0, 1",
    ),
    "no distance": (lambda m: beams_from_mesh(m, portal(), PLAIN, merge=-1.0), "merge must be at least 0"),
    "no section": (lambda m: beams_from_mesh(m, portal(), 3.0), "section must be a BeamSection"),  # type: ignore[arg-type]
    "empty sections": (lambda m: beams_from_mesh(m, portal(), {}), "a dict of them, received {}"),
    "no section of a group": (
        lambda m: beams_from_mesh(m, portal(cell_sets=SETS), {"columns": 3.0}),  # type: ignore[dict-item]
        "section['columns'] must be a BeamSection, received 3.0",
    ),
    "group without lines": (
        lambda m: beams_from_mesh(m, portal(cell_sets=SETS), {"columns": PLAIN, "roof": PLAIN}),
        "there is a section for 'roof', but no line; named sets with lines: 'columns', 'girder'",
    ),
    "value without lines": (
        lambda m: beams_from_mesh(m, portal(cell_data=TAGS), {1: PLAIN}, by="tag"),
        "there is a section for 1, but no line; values of 'tag' with lines: 3, 7",
    ),
    "no sets": (lambda m: beams_from_mesh(m, portal(), {"columns": PLAIN}), "named sets with lines: none"),
    "line in no group": (
        lambda m: beams_from_mesh(m, portal(cell_sets=SETS), {"columns": PLAIN}),
        "in none of the groups with a section ('columns'): lines 2, 3; named sets with lines: 'columns', 'girder'",
    ),
    "line in two groups": (
        lambda m: beams_from_mesh(m, portal(cell_sets={**SETS, "all": [range(6)]}), {"girder": PLAIN, "all": PLAIN}),
        "in more than one of the groups with a section ('girder', 'all'): lines 2, 3",
    ),
    "no such data": (
        lambda m: beams_from_mesh(m, portal(cell_data=TAGS), {7: PLAIN}, by="tug"),
        "the mesh has no cell data 'tug'; it has 'tag'",
    ),
    "data for one section": (
        lambda m: beams_from_mesh(m, portal(cell_data=TAGS), PLAIN, by="tag"),
        "by='tag' tells groups apart, but one section was given for all lines",
    ),
    "y axis along a beam": (
        lambda m: beams_from_mesh(m, portal(), PLAIN, y_axis=(0, 0, 1)),
        "Beam on node 'mesh[0]', node 'mesh[1]': y_axis [0. 0. 1.] is parallel to the beam in element 1",
    ),
    "y axes of other sets": (
        lambda m: beams_from_mesh(m, portal(cell_sets=SETS), {"columns": PLAIN, "girder": PLAIN}, y_axis={"roof": 1}),
        "y_axis: no section for 'roof'; there is one for 'columns', 'girder'",
    ),
    "y axis of a set": (
        lambda m: beams_from_mesh(m, portal(cell_sets=SETS), {"columns": PLAIN, "girder": None}, y_axis={"columns": 1}),
        "y_axis['columns'] must be three numbers, received 1",
    ),
    **{
        f"trusses {given!r}": (
            lambda m, given=given: beams_from_mesh(m, portal(cell_sets=SETS), PLAIN, trusses=given),
            "trusses must be True, False or a collection of sets, received",
        )
        for given in ("columns", {"columns": PLAIN}, [None], [["columns"]])
    },
    "interpolation": (
        lambda m: beams_from_mesh(m, portal(), PLAIN, interpolation="SO3"),
        "must be one of 'SE3', 'R3xSO3'",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_meshes_are_refused_and_leave_the_model_as_it_is(name: str) -> None:
    mistake, words = CASES[name]
    model = mbs.Model()
    with pytest.raises(mbs.ModelError) as refusal:
        mistake(model)
    assert words in str(refusal.value)
    assert len(model.nodes) == 1 and not model.elements


def test_files_that_are_no_meshes_are_refused_in_silence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("bad.vtu", "bad.msh", "bad.vtk", "bad.txt"):
        (tmp_path / name).write_text("nonsense", encoding="utf-8")
        with pytest.raises(mbs.ModelError, match=rf"meshio cannot read '.*{name}': .*\w"):
            beams_from_mesh(mbs.Model(), str(tmp_path / name), PLAIN)
    assert capfd.readouterr() == ("", "")


def test_a_second_mesh_needs_a_second_name() -> None:
    model = mbs.Model()
    beams_from_mesh(model, portal(), PLAIN)
    with pytest.raises(mbs.ModelError, match=r"the name 'mesh\[0\]' is taken"):
        beams_from_mesh(model, portal(), PLAIN)
    beams_from_mesh(model, portal(), PLAIN, name="other")
    assert len(model.elements) == 6
