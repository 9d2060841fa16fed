"""Bodies from meshes and files of matrices, and what is recovered on the mesh."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from meshes import Matrices, brick, calculated, dumped, output4, punched
from scipy.io import mmread, mmwrite
from scipy.sparse import csr_array

import fem_mbs as mbs
from fem_mbs.elements import (
    Beam,
    BeamSection,
    FixedJoint,
    FlexibleBody,
    Force,
    Interface,
    Reduction,
    RevoluteJoint,
    RigidBody,
    SpringDamper,
)
from fem_mbs.elements.flexible import bases
from fem_mbs.elements.flexible.inertia import mean_frame, moments_of
from fem_mbs.files.scene import Scene
from fem_mbs.lie import so3

SIZES = (0.4, 0.05, 0.1)
ENDS = {
    "a": Interface.average([[0.0, 0.0, 0.0], [0.0, 0.05, 0.1]]),
    "b": Interface.average([[0.4, 0.0, 0.0], [0.4, 0.05, 0.1]]),
}


def mesh(kind: str, refined: int = 1) -> object:
    """A bar of 0.4 x 0.05 x 0.1 m for meshio."""
    skfem, meshio = pytest.importorskip("skfem"), pytest.importorskip("meshio")
    grid = [np.linspace(0, size, n * refined + 1) for size, n in zip(SIZES, (8, 1, 2), strict=True)]
    cells = skfem.MeshTet if kind == "tetra" else skfem.MeshHex
    own = cells.init_tensor(*grid)
    if kind == "hexahedron":
        from skfem.io.meshio import to_meshio

        return to_meshio(own)
    return meshio.Mesh(own.p.T, [(kind, own.t.T)])


def bar(kind: str = "tetra", **more: object) -> Reduction:
    return Reduction.solid(mesh(kind), 70e9, 0.3, 2700.0, ENDS, modes=6, **more)  # type: ignore[arg-type]


def test_a_body_that_is_placed_and_not_added_is_named() -> None:
    model = mbs.Model()
    body = FlexibleBody.place(model, bar(), name="plate")
    told = "made for FlexibleBody 'plate', which is not in the model: model.add"
    assert told in str(model.check())
    for analysis in (mbs.simulate, mbs.statics):
        with pytest.raises(mbs.SingularSystemError, match=told):
            analysis(model, *((0.1, 0.1) if analysis is mbs.simulate else ()))  # type: ignore[operator]
    model.add(body)
    assert "made for" not in str(model.check())


@pytest.mark.ci
def test_a_modulus_in_gigapascals_is_told() -> None:
    """And those of aluminium and of rubber are not."""
    for E, told in ((70.0, True), (70e9, False), (2e6, False)):
        own = Reduction.solid(mesh("hexahedron"), E, 0.3, 2700.0, ENDS, method="guyan")
        assert ("look at the units of Young's modulus" in " ".join(own.doubts())) == told


@pytest.mark.one
@pytest.mark.parametrize("kind", ["tetra", "hexahedron"])
def test_a_bar_of_solids_is_that_of_its_beam(kind: str) -> None:
    """Mass and inertia are exact; the first free frequency is Timoshenko's, below ``4.73^2 sqrt(EI/mu)/L^2``."""
    own = bar(kind)
    assert own.mass == pytest.approx(5.4)
    assert np.diag(own.inertia) == pytest.approx(
        [5.4 / 12 * (a**2 + b**2) for a, b in ((0.05, 0.1), (0.4, 0.1), (0.4, 0.05))]
    )
    euler = 4.730041**2 / 0.4**2 * np.sqrt(70e9 * 0.05**2 / 12 / 2700) / (2 * np.pi)
    # rotary inertia and shear, to first order (Timoshenko): r^2 (w/c)^2 (1 + E/(kappa G))
    assert 0.94 * euler < own.frequencies[0] < 0.985 * euler


@pytest.mark.parametrize("kind", ["MeshHex", "MeshHex2", "MeshTet", "MeshTet2"])
def test_a_mesh_of_scikit_fem_is_taken_with_its_names(kind: str) -> None:
    """The same body as of its points and cells; materials by subdomains, interfaces by boundaries."""
    skfem, files = pytest.importorskip("skfem"), pytest.importorskip("skfem.io.meshio")
    own = getattr(skfem, kind.removesuffix("2")).init_tensor(*(np.linspace(0, size, 3) for size in SIZES))
    plain = files.to_meshio(own)
    if kind.endswith("2"):
        own = getattr(skfem, kind).from_mesh(own)
    own = own.with_boundaries({"root": lambda x: x[0] < 1e-9, "tip": lambda x: x[0] > SIZES[0] - 1e-9})
    own = own.with_subdomains({"soft": lambda x: x[0] < SIZES[0] / 2, "stiff": lambda x: x[0] > SIZES[0] / 2})
    named = {"a": Interface.average("root"), "b": Interface.average("tip")}
    found = Reduction.solid(own, {"soft": 70e9, "stiff": 70e9}, 0.3, 2700.0, named, modes=4)
    expected = Reduction.solid(plain, 70e9, 0.3, 2700.0, ENDS, modes=4)
    np.testing.assert_allclose(found.frequencies, expected.frequencies, rtol=1e-6)


def test_nodes_of_sets_are_found_in_small_meshes() -> None:
    skfem, files = pytest.importorskip("skfem"), pytest.importorskip("skfem.io.meshio")
    own = files.to_meshio(skfem.MeshHex.init_tensor(1e-4 * np.arange(3.0), *2 * [1e-4 * np.arange(2.0)]))
    own.point_sets = {"root": np.flatnonzero(own.points[:, 0] < 1e-12)}
    ends = {"a": Interface.average("root"), "b": Interface.average([[2e-4, 0.0, 0.0], [2e-4, 1e-4, 1e-4]])}
    found = Reduction.solid(own, 70e9, 0.3, 2700.0, ends, method="guyan")
    expected = [[0.0, 0.5e-4, 0.5e-4], [2e-4, 0.5e-4, 0.5e-4]]
    np.testing.assert_allclose(found.center + found.places, expected, atol=1e-12)


def test_an_average_is_in_the_middle_of_its_area() -> None:
    """Of faces that are not of one size."""
    uneven = mesh("hexahedron")
    z = uneven.points[:, 2]  # type: ignore[attr-defined]
    z *= 0.2 + 8.0 * z
    own = Reduction.solid(uneven, 70e9, 0.3, 2700.0, ENDS, method="guyan")
    np.testing.assert_allclose(own.center + own.places, [[0.0, 0.025, 0.05], [0.4, 0.025, 0.05]], atol=1e-12)


EDGES = {
    "tetra": [(0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3)],
    "hexahedron": [(k, k + 1) if k % 4 < 3 else (k, k - 3) for k in range(8)] + [(k, k + 4) for k in range(4)],
    "triangle": [(0, 1), (1, 2), (2, 0)],
    "quad": [(0, 1), (1, 2), (2, 3), (3, 0)],
}


def second_order(own: object) -> object:
    """A mesh of meshio with a node in the middle of each edge."""
    points, middles, cells = list(own.points), {}, []  # type: ignore[attr-defined]
    for block in own.cells:  # type: ignore[attr-defined]
        rows = []
        for cell in block.data:
            for a, b in EDGES[block.type]:
                if (key := tuple(sorted((int(cell[a]), int(cell[b]))))) not in middles:
                    middles[key] = len(points)
                    points.append(0.5 * (points[key[0]] + points[key[1]]))
            rows.append([*cell, *(middles[tuple(sorted((int(cell[a]), int(cell[b]))))] for a, b in EDGES[block.type])])
        kinds = {"tetra": "tetra10", "hexahedron": "hexahedron20", "triangle": "triangle6", "quad": "quad8"}
        cells.append((kinds[block.type], np.array(rows)))
    return type(own)(np.array(points), cells, cell_sets=own.cell_sets)  # type: ignore[attr-defined]


@pytest.mark.one
@pytest.mark.parametrize("kind", ["tetra", "hexahedron"])
@pytest.mark.parametrize("order", [1, 2])
def test_numbers_are_those_of_the_mesh_that_is_given(kind: str, order: int) -> None:
    """In whatever order it has its points, with some of no cell: of interfaces, loads and what is kept."""
    own, mixed = mesh(kind) if order == 1 else second_order(mesh(kind)), np.random.default_rng(3)
    new = mixed.permutation(len(own.points) + 2)  # type: ignore[attr-defined]
    points = np.full((len(new), 3), 9.0)
    points[new[:-2]] = own.points  # type: ignore[attr-defined]
    own = type(own)(points, [(block.type, new[block.data]) for block in own.cells])  # type: ignore[attr-defined]
    ends = {name: np.flatnonzero(points[:, 0] == x) for name, x in (("a", 0.0), ("b", 0.4))}
    some, push = [ends["b"][0], ends["a"][-1]], np.zeros_like(points)
    push[some[0]] = 1.0, 2.0, 3.0
    loads, solid = {"water": ends["b"], "push": push}, (own, 70e9, 0.3, 2700.0)
    numbers = {name: Interface.average(rows) for name, rows in ends.items()}
    found = Reduction.solid(*solid, numbers, method="guyan", loads=loads, recover={"s": some})
    same = Reduction.solid(*solid, ENDS, method="guyan", loads=loads | {"water": ENDS["b"].nodes})
    np.testing.assert_allclose(found.frequencies, same.frequencies, rtol=1e-6)
    np.testing.assert_allclose(found.surface.points[found.rows_at("s", "")] + found.center, points[some], atol=1e-9)
    for name in loads:
        np.testing.assert_allclose(found.loaded[name], same.loaded[name], atol=1e-6 * np.abs(same.loaded[name]).max())
    np.testing.assert_allclose(found.loaded["push"][0], (1.0, 2.0, 3.0), rtol=1e-9)
    with pytest.raises(mbs.ModelError, match=f"node {new[-1]} of the mesh, counted from 0, belongs to no cell"):
        Reduction.solid(*solid, {"a": Interface.rigid([*ends["a"], new[-1]])})


def test_cells_of_points_that_are_not_there_are_refused() -> None:
    """Points that are no numbers or not in space, and cells with points that are not there."""
    own = mesh("tetra")
    points, cells = own.points, own.cells[0].data  # type: ignore[attr-defined]
    for given, rows, why in (
        (
            np.where(np.arange(len(points))[:, None] == 4, np.nan, points),
            cells,
            "point 4 of the mesh must be finite, received .nan",
        ),
        (points[:, :2], cells, "must have three coordinates"),
        (points, np.where(cells == 3, -1, cells), "type tetra has point -1, and the mesh"),
        (points, cells + 1, f"has point {len(points)}, and the mesh {len(points)} points"),
    ):
        with pytest.raises(mbs.ModelError, match=why):
            Reduction.solid(type(own)(given, [("tetra", rows)]), 70e9, 0.3, 2700.0, ENDS)


@pytest.mark.one
@pytest.mark.parametrize(
    ("form", "kind"),
    [
        ("inp", "tetra"),
        ("msh", "hexahedron"),
        pytest.param("msh", "tetra", marks=pytest.mark.slow),
        pytest.param("inp", "hexahedron", marks=pytest.mark.slow),
    ],
)
def test_faces_and_nodes_by_name_are_those_of_a_box(tmp_path: Path, kind: str, form: str) -> None:
    """Of meshes of both orders, in memory and in a file."""
    import meshio

    plain = mesh(kind)
    corners = np.flatnonzero(plain.points[:, 0] < 1e-9)  # type: ignore[attr-defined]
    solids = plain.cells_dict[kind]  # type: ignore[attr-defined]
    four = (
        [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)]
        if kind == "tetra"
        else [(0, 3, 7, 4), (1, 2, 6, 5), (0, 1, 5, 4), (3, 2, 6, 7), (0, 1, 2, 3), (4, 5, 6, 7)]
    )
    faces = solids[:, four].reshape(-1, len(four[0]))
    faces = faces[np.isin(faces, corners).all(axis=1)]
    flat = "triangle" if kind == "tetra" else "quad"
    sets = {"face": [np.arange(len(faces)), np.empty(0, int)]}
    named = meshio.Mesh(plain.points, [(flat, faces), (kind, solids)], cell_sets=sets)  # type: ignore[attr-defined]
    expected = Reduction.solid(plain, 70e9, 0.3, 2700.0, ENDS, modes=2)
    by_name = {"a": Interface.average("face"), "b": ENDS["b"]}
    for own in (named, second_order(named)):
        np.testing.assert_allclose(
            Reduction.solid(own, 70e9, 0.3, 2700.0, by_name, modes=2).frequencies, expected.frequencies, rtol=1e-7
        )
    nodes = meshio.Mesh(plain.points, [(kind, solids)], point_sets={"ROOT": corners})  # type: ignore[attr-defined]
    file = tmp_path / f"bar.{form}"
    meshio.write(
        file,
        nodes
        if form == "inp"
        else meshio.Mesh(
            plain.points,
            [(flat, faces), (kind, solids)],  # type: ignore[attr-defined]
            cell_data={"gmsh:physical": [np.full(len(faces), 3), np.full(len(solids), 1)]},
            field_data={"ROOT": np.array([3, 2]), "steel": np.array([1, 3])},
        ),
        **({} if form == "inp" else {"file_format": "gmsh22"}),
    )
    by_name["a"] = Interface.average("ROOT")
    found = Reduction.solid(file, 70e9, 0.3, 2700.0, by_name, modes=2)
    np.testing.assert_allclose(found.frequencies, expected.frequencies, rtol=1e-7)


def test_groups_of_cells_of_gmsh_and_med() -> None:
    """Of gmsh by numbers that are those of one dimension, of MED by all families that belong to one."""
    plain = mesh("tetra")
    solids = plain.cells_dict["tetra"]  # type: ignore[attr-defined]
    cells = [("triangle", solids[:1, :3]), ("tetra", solids)]
    one, count = np.ones(1, int), len(solids)
    families = np.where(np.arange(count) < count // 2, -1, -2)
    gmsh, med, sets = (type(plain)(plain.points, cells) for _ in range(3))  # type: ignore[attr-defined]
    gmsh.cell_data["gmsh:physical"] = [one, np.ones(count, int)]
    gmsh.field_data = {"root": np.array([1, 2]), "steel": np.array([1, 3])}
    med.cell_data["cell_tags"], med.cell_tags = [one, families], {-1: ["steel", "half"], -2: ["steel"], 1: ["root"]}
    sets.cell_sets = {"steel": [[], range(count)], "root": [[0], None]}
    for own in (gmsh, med, sets):
        found = Reduction.solid(own, {"steel": 70e9}, 0.3, 2700.0, ENDS, modes=2, recover=["steel", "root"])
        assert len(found.kept["steel"]) == len(np.unique(np.concatenate(list(found.kept.values()))))
        assert len(found.kept["root"]) == 6


def test_groups_of_nodes_of_med(tmp_path: Path) -> None:
    """Families of nodes by the names of all groups that they belong to."""
    pytest.importorskip("h5py")
    own = mesh("tetra")
    x = own.points[:, 0]  # type: ignore[attr-defined]
    left, right = x < 1e-9, x > 0.4 - 1e-9
    own.point_data["point_tags"] = np.where(left, 2, np.where(right, 3, 0))  # type: ignore[attr-defined]
    own.point_tags = {2: ["left", "ends"], 3: ["ends"]}  # type: ignore[attr-defined]
    own.write(tmp_path / "bar.med")  # type: ignore[attr-defined]
    by_name = {"a": Interface.average("left"), "b": ENDS["b"]}
    own_bar = Reduction.solid(tmp_path / "bar.med", 70e9, 0.3, 2700.0, by_name, modes=2, recover=["ends"])
    assert own_bar.stiffness == pytest.approx(bar().stiffness[:14, :14], rel=1e-6, abs=1e3)
    assert len(own_bar.kept["ends"]) == len(own_bar.kept["a"]) + len(own_bar.kept["b"])


@pytest.mark.ci
def test_sides_of_hexahedra_of_twenty_nodes_are_curved() -> None:
    """A quarter of a ring of 1 and 2 m, 1 m high, of four of them: its mass, and a moment of inertia about its axis."""

    skfem = pytest.importorskip("skfem")
    from skfem.io.meshio import to_meshio

    own = second_order(to_meshio(skfem.MeshHex.init_tensor([1.0, 2.0], np.linspace(0, np.pi / 2, 5), [0.0, 1.0])))
    r, angle, z = own.points.T  # type: ignore[attr-defined]
    own.points = np.stack([r * np.cos(angle), r * np.sin(angle), z], axis=1)  # type: ignore[attr-defined]
    ring = Reduction.solid(own, 70e9, 0.3, 1.0, {"a": Interface.rigid(lambda p: p[:, 1] < 1e-9)}, modes=0)
    assert ring.mass == pytest.approx(np.pi / 4 * 3.0, rel=2e-4)
    axis = ring.inertia[2, 2] + ring.mass * (ring.center[:2] @ ring.center[:2])
    assert axis == pytest.approx(np.pi / 8 * 15.0, rel=4e-4)


@pytest.mark.ci
def test_millimetres_and_tonnes_taken_for_metres_are_doubted(caplog: pytest.LogCaptureFixture) -> None:
    own = mesh("hexahedron")
    own.points = 1e3 * own.points  # type: ignore[attr-defined]
    ends = {"a": Interface.rigid(lambda p: p[:, 0] < 1e-6)}
    for units, E, rho, words in (
        ("mm-t-s", 70e3, 2.7e-9, []),
        ("SI", 70e3, 2.7e-9, ["sound goes at sqrt(E / rho) = 5.1e+06 m/s", "extends over", "2.7e-09 kg/m^3; look at"]),
        ("SI", 70e9, 2700.0, ["extends over 400 m; look at units="]),
    ):
        made = Reduction.solid(own, E, 0.3, rho, ends, modes=0, units=units)
        found = list(Reduction.of_arrays(made.arrays()).doubts())  # as a file keeps it
        assert len(found) == len(words) and all(word in text for word, text in zip(words, found, strict=True))
        assert ("sound goes at" in caplog.text) == (units == "SI" and E < 70e9)
        caplog.clear()
    with pytest.raises(mbs.ModelError, match="'a' has all nodes of the mesh"):
        Reduction.solid(own, 70e9, 0.3, 2700.0, {"a": Interface.rigid(lambda p: p[:, 0] < np.inf)}, modes=0)


@pytest.mark.one
@pytest.mark.parametrize("kind", ["tetra", "hexahedron"])
def test_tension_is_recovered_on_the_surface(kind: str) -> None:
    """200 N/m^2 of 1 N on 0.005 m^2, all along; and the body is longer by ``F L/(E A)``."""
    model = mbs.Model("SE3")
    body = model.add(FlexibleBody.place(model, bar(kind)))
    model.fix(body.node("a"))
    model.add(Force(body.node("b"), (1.0, 0, 0)))
    solution = mbs.statics(model)
    assert solution.stress(body, (0.2, 0.0, 0.05))[-1] == pytest.approx([200, 0, 0, 0, 0, 0], abs=2.0)
    largest = solution.largest_stress(body)
    assert largest.von_mises[-1] >= 199.9
    assert largest.point.shape == (len(solution.t), 3)
    longer = solution.position(body.node("b"))[-1, 0] - 0.4
    assert longer == pytest.approx(0.4 / (70e9 * 0.005), rel=0.02)
    moved = solution.surface(body)[-1] - body.reduction.surface.points - body.reduction.center
    assert np.abs(moved[:, 0]).max() == pytest.approx(longer, rel=0.05)
    assert np.abs(solution.deformation(body)[-1]).max() < 1e-8


def test_a_run_is_written_for_paraview_with_its_stress(tmp_path: Path) -> None:
    meshio = pytest.importorskip("meshio")
    model = mbs.Model("SE3", gravity=(0, 0, -9.81))
    body = model.add(FlexibleBody.place(model, bar()))
    model.fix(body.node("a"))
    solution = mbs.simulate(model, 2e-4, 1e-4)
    files = solution.to_paraview(tmp_path / "bar.pvd")
    found = meshio.read(sorted(tmp_path.rglob("*.vtu"))[-1])
    assert found.point_data["von_mises"].max() > 0.0
    assert found.point_data["normal_stress"].shape == (len(found.points), 3)
    assert files is not None


def test_materials_by_the_sets_of_the_mesh() -> None:
    skfem = pytest.importorskip("skfem")
    from skfem.io.meshio import to_meshio

    own = skfem.MeshTet.init_tensor(*(np.linspace(0, size, n + 1) for size, n in zip(SIZES, (4, 1, 1), strict=True)))
    left = own.elements_satisfying(lambda x: x[0] < 0.2)
    own = own.with_subdomains({"left": left, "right": np.setdiff1d(np.arange(own.t.shape[1]), left)})
    marked = to_meshio(own)
    body = Reduction.solid(marked, {"left": 70e9, "right": 70e9}, 0.3, {"left": 2700.0, "right": 5400.0}, ENDS, modes=2)
    assert body.mass == pytest.approx(2.7 + 5.4)
    with pytest.raises(mbs.ModelError, match="no set of cells 'middle'"):
        Reduction.solid(marked, {"middle": 70e9}, 0.3, 2700.0, ENDS)
    with pytest.raises(mbs.ModelError, match="are in none of 'left'"):
        Reduction.solid(marked, {"left": 70e9}, 0.3, 2700.0, ENDS)
    marked.cell_sets["whole"] = [np.arange(own.t.shape[1])]
    with pytest.raises(mbs.ModelError, match=r"E: \d+ cells of 'whole'.* another of its sets with another value"):
        Reduction.solid(marked, {"left": 70e9, "whole": 7e9}, 0.3, 2700.0, ENDS)
    again = Reduction.solid(marked, {"left": 70e9, "whole": 70e9}, 0.3, 2700.0, ENDS, modes=2)
    assert again.mass == pytest.approx(5.4)


def test_stress_where_materials_meet_is_that_of_the_stiffer() -> None:
    """Steel between layers of aluminium, without contraction: ``E`` times one strain; a loose node bears none."""
    skfem = pytest.importorskip("skfem")
    from skfem.io.meshio import to_meshio

    own = skfem.MeshHex.init_tensor(*(np.linspace(0, size, n + 1) for size, n in zip(SIZES, (4, 1, 4), strict=True)))
    core = own.elements_satisfying(lambda x: np.abs(x[2] - SIZES[2] / 2) < SIZES[2] / 4)
    own = own.with_subdomains({"steel": core, "light": np.setdiff1d(np.arange(own.t.shape[1]), core)})
    marked = to_meshio(own)
    ends = {name: Interface.rigid(lambda p, x=x: np.abs(p[:, 0] - x) < 1e-9) for name, x in (("a", 0.0), ("b", 0.4))}
    marked.points = np.concatenate([marked.points, [[0.0, 0.01, 0.02]]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        layers = Reduction.solid(marked, {"steel": 210e9, "light": 70e9}, 0.0, 2700.0, ends, modes=0)
    model = mbs.Model("SE3")
    body = model.add(FlexibleBody.place(model, layers))
    model.fix(body.node("a"))
    model.add(Force(body.node("b"), (1000.0, 0, 0)))
    solution = mbs.statics(model)
    strain = 1000.0 / (SIZES[1] * SIZES[2] / 2 * (210e9 + 70e9))
    for z, E in ((0.0, 70e9), (0.25, 210e9), (0.5, 210e9), (0.75, 210e9), (1.0, 70e9)):
        found = solution.stress(body, (0.2, 0.0, z * SIZES[2]))[-1, 0]
        assert found == pytest.approx(E * strain, rel=1e-6)
    assert solution.largest_stress(body).von_mises[-1] == pytest.approx(210e9 * strain, rel=1e-6)


@pytest.mark.ci
def test_pictures_move_as_their_velocities_say() -> None:
    """Of a mesh that is thrown and swings, a body without surface and a spring: as differences of places."""
    model, spin = mbs.Model("SE3"), (1.0, 3.0, 2.0)
    turned = so3.exp(np.array([0.3, 0.4, 0.5]))
    soft = Reduction.solid(mesh("tetra"), 70e5, 0.3, 2700.0, ENDS, modes=6)
    body = model.add(FlexibleBody.place(model, soft, (0, 0, 0), turned, velocity=(1, 0, 0), angular_velocity=spin))
    model.add(RigidBody(body.node("b"), 30.0, (1.0, 2.0, 1.5), (0.0, 0.3, 0.0)))
    plain = Reduction(*brick((3, 1, 1), SIZES, 70e5, 2700.0), ENDS, modes=2)
    other = model.add(FlexibleBody.place(model, plain, (0, 1, 0), velocity=(0, 1, 0), angular_velocity=spin, name="o"))
    model.add(SpringDamper(body.node("a"), other.node("b"), 1e3, free_length=0.5))
    h = 1e-5
    solution = mbs.simulate(model, 60 * h, h)
    scene = Scene(solution.system, 8, shapes=True)
    before, now, after = (scene.frame(solution.motion(k), solution.multipliers_all[k]) for k in (49, 50, 51))
    moved = (after[0] - before[0]) / (2 * h)
    assert np.abs(moved).max() > 1.0
    assert now[1]["velocity"] == pytest.approx(moved, abs=1e-3 * np.abs(moved).max())
    assert np.linalg.norm(now[1]["angular_velocity"], axis=1).min() > 0.1


def abaqus_files(folder: Path, coordinate: bool, triangle: bool) -> tuple[Path, Path, Path]:
    """A brick as Abaqus writes it; labels of nodes begin at 11."""
    points, K, M = brick((3, 1, 1), SIZES, 70e9, 2700.0)
    lines = ["*HEADING", "** a brick", "*NODE, NSET=ALL"]
    lines += [f"{k + 11}, {x:.17g}, {y:.17g}, {z:.17g}" for k, (x, y, z) in enumerate(points)]
    ends = [np.flatnonzero(points[:, 0] == x) + 11 for x in (0.0, 0.4)]
    lines += [
        "*NSET, NSET=root",
        ", ".join(map(str, ends[0])),
        "*Nset, nset=tip, generate",
        f"{ends[1][0]}, {ends[1][-1]}",
    ]
    (folder / "brick.inp").write_text("\n".join(lines))
    for name, matrix in (("stif", K), ("mass", M)):
        entries = csr_array(matrix).tocoo()
        rows = []
        for i, j, value in zip(*entries.coords, entries.data, strict=True):
            if triangle and j > i:
                continue
            place = (i + 1, j + 1) if coordinate else (i // 3 + 11, i % 3 + 1, j // 3 + 11, j % 3 + 1)
            rows.append(
                (" " if coordinate else ",").join(map(str, place)) + f"{' ' if coordinate else ','}{value:.17g}"
            )
        (folder / f"{name}.mtx").write_text("\n".join(rows))
    return folder / "stif.mtx", folder / "mass.mtx", folder / "brick.inp"


@pytest.mark.parametrize("coordinate", [True, False])
@pytest.mark.parametrize("triangle", [True, False])
def test_sources_agree(tmp_path: Path, coordinate: bool, triangle: bool) -> None:
    """The same brick as arrays, Matrix Market, and Abaqus text in both forms, of one triangle or both."""
    points, K, M = brick((3, 1, 1), SIZES, 70e9, 2700.0)
    arrays = Reduction(points, K, M, ENDS, modes=3)
    sets = {"a": Interface.average("ROOT"), "b": Interface.average("TIP")}
    abaqus = Reduction.abaqus(*abaqus_files(tmp_path, coordinate, triangle), sets, modes=3)
    for name, matrix in (("K", K), ("M", M)):
        mmwrite(tmp_path / f"{name}.mtx", matrix, symmetry="symmetric" if triangle else "general", precision=17)
    market = Reduction(points, mmread(tmp_path / "K.mtx"), mmread(tmp_path / "M.mtx"), ENDS, modes=3)
    for other in (abaqus, market):
        assert other.stiffness == pytest.approx(arrays.stiffness, abs=1e-9 * np.abs(arrays.stiffness).max())
        assert other.moments == pytest.approx(arrays.moments, abs=1e-9 * np.abs(arrays.moments).max())


@pytest.mark.parametrize("fields", ["small", "wide", "free"])
def test_a_punch_file_gives_the_same_body(tmp_path: Path, fields: str) -> None:
    """To the ten digits of the file and the eight of the places."""
    arrays = Reduction(*brick((3, 1, 1), SIZES, 70e9, 2700.0), ENDS, modes=3)
    punch = Reduction.nastran(*punched(tmp_path, brick((3, 1, 1), SIZES, 70e9, 2700.0), fields), ENDS, modes=3)
    assert punch.stiffness == pytest.approx(arrays.stiffness, abs=1e-6 * np.abs(arrays.stiffness).max())
    assert punch.frequencies == pytest.approx(arrays.frequencies, rel=1e-6)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda p, b: b.write_text("GRID,1,,x,0.,0."), "line 1: no GRID"),
        (lambda p, b: b.write_text("GRID,1,7,0.,0.,0."), "GRID 1 has a coordinate system of its own"),
        (lambda p, b: b.write_text("GRID,1,,0.,0.,0."), "node 11 of .* is no GRID"),
        (lambda p, b: b.write_text("SOL 103"), "has no GRID"),
        (lambda p, b: p.write_text("DMIG    KAAX           0\n*       a"), "line 2: no entry of a DMIG"),
        (lambda p, b: p.write_text("SOL 103"), "has no DMIG KAAX, but none"),
    ],
)
def test_spoilt_punch_files_are_refused(tmp_path: Path, spoil: object, message: str) -> None:
    files = punched(tmp_path, brick((3, 1, 1), SIZES, 70e9, 2700.0), "free")
    spoil(*files)  # type: ignore[operator]
    with pytest.raises(mbs.ModelError, match=message):
        Reduction.nastran(*files, ENDS)


def solid_bar() -> Matrices:
    return brick((3, 1, 1), SIZES, 70e9, 2700.0)


def equals(other: Reduction, rel: float = 1e-9) -> None:
    """That a body is that of the arrays, to so many digits of its file; signs of modes follow the order of rows."""
    own = Reduction(*solid_bar(), ENDS, modes=3)
    for name in ("stiffness", "moments"):
        wanted = np.abs(getattr(own, name))
        assert np.abs(getattr(other, name)) == pytest.approx(wanted, abs=rel * wanted.max())


def test_files_of_calculix_give_the_same_body(tmp_path: Path) -> None:
    """To the 14 digits of its files."""
    equals(Reduction.calculix(*calculated(tmp_path, solid_bar()), ENDS, modes=3))


def test_files_of_ansys_give_the_same_body(tmp_path: Path) -> None:
    """To the 14 digits of places and 16 of matrices; sets are those of its components."""
    sets = {"a": Interface.average("ROOT"), "b": Interface.average("TIP")}
    files = dumped(tmp_path, solid_bar())
    equals(Reduction.ansys(*files, sets, modes=3))
    # one with a right-hand side has a line more, which tells of it
    title, counts, *lines = files[0].read_text().splitlines()
    files[0].write_text("\n".join([title, counts[:-1] + "1", *lines[:2], f"{'F':14s}{1:14d}{0:14d}", *lines[2:]]))
    equals(Reduction.ansys(*files, sets, modes=3))


@pytest.mark.parametrize("kind", ["text", "short", "packed text", "full", "little", "big", "packed"])
def test_files_of_output4_give_the_same_body(tmp_path: Path, kind: str) -> None:
    """Rows are those of all nodes by their numbers, or as told; places have the nine digits of the bulk."""
    mesh = solid_bar()
    _, bulk = punched(tmp_path, mesh, "free")
    rows = csr_array(mesh[1]).shape[0]
    path = output4(tmp_path / "bar.op4", {"KAA": mesh[1], "MAA": mesh[2]}, kind)
    equals(Reduction.nastran(path, bulk, ENDS, modes=3), 1e-8)
    if kind != "text":
        return
    # rows in another order have to be named
    mixed = np.random.default_rng(0).permutation(rows)
    path = output4(tmp_path / "bar.op4", {"KGG": mesh[1][mixed][:, mixed], "MGG": mesh[2][mixed][:, mixed]}, kind)
    dofs = np.stack([mixed // 3, mixed % 3 + 1], axis=1)
    equals(Reduction.nastran(path, bulk, ENDS, modes=3, dofs=dofs), 1e-8)


def _replaced(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda k, m, u, d: _replaced(u, "11.1", "11.7"), "does not tell the rows"),
        (lambda k, m, u, d: _replaced(u, "11.1\n", ""), "does not tell the rows"),
        (lambda k, m, u, d: _replaced(u, "11.1", "99.1"), "node 99 of .* is not in"),
        (lambda k, m, u, d: k.write_text("1 2 3 4"), "is no matrix as text"),
    ],
)
def test_spoilt_files_of_calculix_are_refused(tmp_path: Path, spoil: object, message: str) -> None:
    files = calculated(tmp_path, solid_bar())
    spoil(*files)  # type: ignore[operator]
    with pytest.raises(mbs.ModelError, match=f"Reduction.calculix: .*{message}"):
        Reduction.calculix(*files, ENDS)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda k, m, u, d: _replaced(k, "RSA", "CSA"), "its kind is CSA"),
        (lambda k, m, u, d: k.write_text(k.read_text()[:9000]), "it ends after"),
        (lambda k, m, u, d: _replaced(u, "UX", "TEMP"), "row 3, node and one of UX"),
        (lambda k, m, u, d: _replaced(u, "    11    U", "    99    U"), "node 99 of .* is not in"),
        (lambda k, m, u, d: u.write_text("Matrix"), "has 48 rows, .* 0"),
        (lambda k, m, u, d: _replaced(d, "(3i9,6e21.13e3)", "(free)"), "no node or set of CDWRITE"),
        (lambda k, m, u, d: d.write_text("/PREP7"), "has no NBLOCK"),
    ],
)
def test_spoilt_files_of_ansys_are_refused(tmp_path: Path, spoil: object, message: str) -> None:
    files = dumped(tmp_path, solid_bar())
    spoil(*files)  # type: ignore[operator]
    with pytest.raises(mbs.ModelError, match=f"Reduction.ansys: .*{message}"):
        Reduction.ansys(*files, ENDS)


@pytest.mark.parametrize(
    ("matrices", "spoil", "message"),
    [
        ("KM", lambda p: p.write_bytes(p.read_bytes()[:500]), "has no matrices of OUTPUT4: it ends within one"),
        ("K", None, "must have one matrix whose name begins with M, it has K"),
        ("KM", lambda p: p.unlink(), "cannot be read"),
        ("ko", None, "26 rows of .* do not belong to 16 GRIDs"),
    ],
)
def test_spoilt_files_of_output4_are_refused(tmp_path: Path, matrices: str, spoil: object, message: str) -> None:
    mesh = solid_bar()
    _, bulk = punched(tmp_path, mesh, "free")
    few = {"K": mesh[1][:26, :26], "M": mesh[2][:26, :26]}
    every = few if matrices == "ko" else dict(zip(matrices, mesh[1:], strict=False))
    path = output4(tmp_path / "bar.op4", every, "text")
    if spoil:
        spoil(path)  # type: ignore[operator]
    with pytest.raises(mbs.ModelError, match=f"Reduction.nastran: .*{message}"):
        Reduction.nastran(path, bulk, ENDS)


def test_all_modes_below_a_frequency_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the first above is known, however few are looked for first."""
    found = []
    for first in (bases.SEARCH, 2):
        monkeypatch.setattr(bases, "SEARCH", first)
        found.append(Reduction(*solid_bar(), ENDS, frequency=1e4))
    many, few = found
    assert few.modes == many.modes > 4
    assert few.left_out == pytest.approx(many.left_out) and many.left_out > 1.5 * 2e4 * np.pi
    assert few.frequencies == pytest.approx(many.frequencies)


def test_frequencies_go_with_the_root_of_the_stiffness() -> None:
    """However soft a body is."""
    stiff, soft = (Reduction(*brick((3, 1, 1), SIZES, E, 2700.0), ENDS, modes=3) for E in (70e9, 70e-3))
    np.testing.assert_allclose(1e6 * soft.frequencies, stiff.frequencies, rtol=1e-6)


def test_masses_on_a_line_have_no_mean_frame() -> None:
    """They do not tell how they turn about it."""
    places = np.array([[-1.0, 0, 0], [1, 0, 0]])
    Y = np.einsum("ij,ak->ijak", np.eye(2), np.eye(3, 6)).transpose(0, 2, 1, 3).reshape(2, 3, 12)
    moments = moments_of(csr_array(np.eye(2)), places, Y, None)
    np.testing.assert_array_equal(moments_of(csr_array(np.eye(2)), places, Y, Y), moments)  # nor do their turns
    with pytest.raises(mbs.ModelError, match="nothing of its mass turns with it about a line"):
        mean_frame(moments, places, 2.0)


def test_rows_are_named_once(tmp_path: Path) -> None:
    with pytest.raises(mbs.ModelError, match="these files name the node and direction of each row"):
        Reduction.ansys(*dumped(tmp_path, solid_bar()), ENDS, dofs=np.ones((48, 2)))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda s, m, d: d.write_text("*HEADING\n"), r"has no \*NODE"),
        (lambda s, m, d: d.write_text("*NODE\n1, a, b, c\n"), r"line 2: \*NODE cannot be read"),
        (lambda s, m, d: d.write_text("*NODE\n1, 0., 0., 0.\n"), "is not in"),
        (lambda s, m, d: s.write_text("1 2\n"), "lines must have 3 or 5 numbers"),
        (lambda s, m, d: s.unlink(), "cannot be read"),
    ],
)
def test_spoilt_files_are_refused(tmp_path: Path, spoil: object, message: str) -> None:
    files = abaqus_files(tmp_path, False, False)
    spoil(*files)  # type: ignore[operator]
    with pytest.raises(mbs.ModelError, match=message):
        Reduction.abaqus(*files, ENDS)


def test_meshes_that_are_none_are_refused(tmp_path: Path) -> None:
    meshio = pytest.importorskip("meshio")
    pytest.importorskip("skfem")
    with pytest.raises(mbs.ModelError, match="Reduction.solid: meshio cannot read"):
        Reduction.solid(tmp_path / "none.msh", 1.0, 0.3, 1.0, ENDS)
    flat = meshio.Mesh(np.eye(3), [("triangle", np.array([[0, 1, 2]]))])
    with pytest.raises(mbs.ModelError, match="must have solid cells of one kind"):
        Reduction.solid(flat, 1.0, 0.3, 1.0, ENDS)
    for nu in (-1.0, 0.5):
        with pytest.raises(mbs.ModelError, match="nu must be above -1 and below 0.5"):
            Reduction.solid(mesh("tetra"), 70e9, nu, 2700.0, ENDS)
    for kind in ("tetra", "hexahedron"):
        own: Any = mesh(kind)
        cells = own.cells[0].data
        twice = meshio.Mesh(own.points, [(kind, np.concatenate([cells, cells[2:3, ::-1]]))])
        with pytest.raises(mbs.ModelError, match=f"cells 2 and {len(cells)} of the mesh.* have the same corners"):
            Reduction.solid(twice, 70e9, 0.3, 2700.0, ENDS)
        points = own.points.copy()
        points[cells[3, 0]] = points[cells[3, -1]]
        with pytest.raises(mbs.ModelError, match=r"cell \d+ of the mesh.* is flat or folded, as \d+ in all are"):
            Reduction.solid(meshio.Mesh(points, [(kind, cells)]), 70e9, 0.3, 2700.0, ENDS)
    with pytest.raises(mbs.ModelError, match=r"loads\['wind'\] must be a force for each of \d+ nodes"):
        bar(loads={"wind": np.ones((3, 3))})


def shaft(*cuts: float, joint: object = FixedJoint, tilt: float = 0.0) -> tuple[mbs.Model, list[mbs.Node]]:
    """A steel rod from 0 to 1 m as beams between cuts, with joints there, its axes turned about itself by ``tilt``."""
    steel, part = BeamSection.circle(0.01, E=210e9, nu=0.3, rho=7800), mbs.Model()
    y, places = (0.0, np.cos(tilt), np.sin(tilt)), (0.0, *cuts, 1.0)
    beams = [
        Beam.line(part, (a, 0, 0), (b, 0, 0), steel, elements=round(12 * (b - a)), y_axis=y)
        for a, b in zip(places, places[1:], strict=False)
    ]
    for one, other in zip(beams, beams[1:], strict=False):
        part.add(joint(one.nodes[-1], other.nodes[0]))  # type: ignore[operator]
    return part, [beams[0].nodes[0], beams[-1].nodes[-1]]


@pytest.mark.parametrize("method", ["guyan", "craig-bampton", "free"])
def test_a_part_of_a_model_is_a_body_with_its_joints(method: str) -> None:
    """Pieces that are welded are one piece, whatever the axes of nodes; a damper between them damps the body."""
    whole, welded, turned = (
        Reduction.model(mbs.linearize(part), ends, modes=4, method=method)
        for part, ends in (shaft(), shaft(0.25, 0.5), shaft(0.5, tilt=0.3))
    )
    part, (a, b) = shaft()
    ways = (
        {"a": a, "b": Interface.rigid(b)},
        {a.name: Interface.rigid(a.name), b.name: Interface.rigid([12])},
    )
    named = [Reduction.model(mbs.linearize(part), ends, modes=4, method=method) for ends in ways]
    assert [own.names for own in (whole, *named)] == [(a.name, b.name), ("a", "b"), (a.name, b.name)]
    for other in (welded, turned, *named):
        assert other.frequencies[:8] == pytest.approx(whole.frequencies[:8], rel=1e-9)
        assert other.moments[:4, :4] == pytest.approx(whole.moments[:4, :4], abs=1e-12)
    part, ends = shaft(0.5)
    part.add(SpringDamper(part.nodes[1], part.nodes[-1], 0.0, 3.0))
    damped = Reduction.model(mbs.linearize(part), ends, modes=4, method=method)
    # c (d_b - d_a)^2, of the interfaces alone
    assert np.linalg.eigvalsh(damped.damping)[[0, -2, -1]] == pytest.approx([0.0, 0.0, 6.0], abs=1e-9)


def test_parts_that_are_no_body_are_refused() -> None:
    part, ends = shaft(0.5, joint=lambda a, b: RevoluteJoint(a, b, (0, 0, 1)))
    with pytest.raises(mbs.ModelError, match="what a hinge lets turn is no one body"):
        Reduction.model(mbs.linearize(part), ends, modes=2)
    part, ends = shaft()
    part.fix(part.nodes[1])
    with pytest.raises(mbs.ModelError, match="must have all|is held; give the free part|has no set"):
        Reduction.model(mbs.linearize(part), ends, modes=2)
    with pytest.raises(mbs.ModelError, match="linear must be what mbs.linearize returns"):
        Reduction.model(part, ends)
