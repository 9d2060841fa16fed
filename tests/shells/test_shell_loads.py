"""Loads per area and per length, pressure; meshes, folds and normals."""

from __future__ import annotations

from dataclasses import replace

import meshio
import numpy as np
import pytest
from quads import bent

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import DistributedLoad, EdgeLoad, Pressure, Shell, ShellSection
from fem_mbs.errors import ModelError
from fem_mbs.system.system import System

SHEET = ShellSection.isotropic(0.01, E=1e6, nu=0.3, rho=10.0)


def resultant(system: System, batch: int) -> Array:
    """Sum of the forces of a batch on all nodes, as built, world frame."""
    motion = bent(system, 0.0)
    nodes = system.batches[batch].nodes
    force = -system.batches[batch].force(motion, system.batches[batch].at(0.0))[0].reshape(*nodes.shape, 6)
    return np.matvec(motion.R[nodes], force[..., :3]).sum(axis=(0, 1))


def half_tube(model: mbs.Model) -> Shell:
    return Shell.surface(
        model, lambda u, v: (np.cos(np.pi * u), v, np.sin(np.pi * u)), SHEET, elements=(16, 2), name="tube"
    )


def test_loads_on_half_a_tube_have_their_resultants() -> None:
    """Per area, pressure and per length; the normal of the tube looks inward, as u x v does."""
    model = mbs.Model()
    tube = half_tube(model)
    model.add(DistributedLoad(tube, (0, 0, 3.0)))
    model.add(Pressure(tube, -2.0))
    model.add(EdgeLoad(tube.edge("bottom"), (1.0, 0, 0)))
    model.add(DistributedLoad(tube, (0, 0, -2.0), frame="body"))
    system = System(model)
    tube_, load, pressure, edge, follower = range(5)
    np.testing.assert_allclose(resultant(system, load), [0, 0, 3 * np.pi], atol=0.01)
    np.testing.assert_allclose(resultant(system, pressure), [0, 0, 4.0], atol=1e-12)  # on its projection, exactly
    np.testing.assert_allclose(resultant(system, edge), [np.pi, 0, 0], atol=0.01)
    np.testing.assert_allclose(resultant(system, follower), [0, 0, 4.0], atol=0.02)


def cube_mesh(quads: bool = True) -> meshio.Mesh:
    """The six faces of a cube, each four quads or eight triangles, going round in any direction."""
    s = np.linspace(0.0, 1.0, 3)
    points, cells = [], []
    for axis in range(3):
        for side in (0.0, 1.0):
            for i in range(2):
                for j in range(2):
                    corner = []
                    for a, b in ((i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)):
                        place = np.zeros(3)
                        place[axis], place[axis - 1], place[axis - 2] = side, s[a], s[b]
                        near = [k for k, p in enumerate(points) if np.abs(p - place).max() < 1e-9]
                        corner.append(near[0] if near else len(points))
                        if not near:
                            points.append(place)
                    cells.append(corner)
    if quads:
        return meshio.Mesh(np.array(points), [("quad", np.array(cells))])
    return meshio.Mesh(
        np.array(points), [("triangle", np.array([c[k : k + 1] + c[1 + k : 3 + k] for c in cells for k in (0, 1)]))]
    )


def test_a_closed_box_has_no_resultant_of_pressure_in_any_shape() -> None:
    model = mbs.Model()
    box = Shell.from_mesh(model, cube_mesh(), SHEET, name="box")
    assert len(box.cells) == 24 and len(box.nodes) == 26
    assert str(model.check()).count("opposite") == 0
    model.add(Pressure(box, 5.0))
    system = System(model)
    batch = system.batches[1]
    motion = bent(system, 0.2)
    force, context = batch.force(motion, batch.at(0.0))
    world = np.matvec(motion.R[batch.nodes], force.reshape(-1, 4, 6)[..., :3])
    np.testing.assert_allclose(world.sum(axis=(0, 1)), 0.0, atol=1e-13)
    moment = np.cross(motion.x[batch.nodes], world).sum(axis=(0, 1))
    np.testing.assert_allclose(moment, 0.0, atol=1e-13)
    # it is the gradient of pressure times volume: symmetric, in world components
    N = 3 * system.n
    K = np.zeros((N, N))
    blocks = batch.stiffness(context).reshape(-1, 4, 6, 4, 6)[:, :, :3, :, :3]
    R = motion.R[batch.nodes]
    blocks = R[:, :, None] @ blocks.swapaxes(2, 3) @ R[:, None].mT
    rows = 3 * batch.nodes[..., None] + np.arange(3)
    np.add.at(K, (rows[:, :, None, :, None], rows[:, None, :, None, :]), blocks)
    np.testing.assert_allclose(K, K.T, atol=1e-13)


def test_a_box_under_water_is_lifted_by_what_it_displaces() -> None:
    """Archimedes, exactly: pressure that is linear over the faces, as an array and as a function of time."""
    for over_time in (False, True):
        model = mbs.Model()
        box = Shell.from_mesh(model, cube_mesh(), SHEET)
        depth = np.array([2.0 - node.position[2] for node in box.nodes])
        value = (lambda t, depth=depth: depth) if over_time else depth
        outward = np.sign(box.frames[0, 0, :, 2] @ (box.nodes[box.cells[0, 0]].position - 0.5))
        model.add(Pressure(box, value))
        np.testing.assert_allclose(-outward * resultant(System(model), 1), [0, 0, 1.0], atol=1e-13)
    for wrong in (depth[:-1], np.ones((26, 1)), "high"):
        with pytest.raises(ModelError, match="a number, or one for each "):
            Pressure(box, wrong)


def test_edges_of_a_box_are_folds() -> None:
    """A node has the normal of each of its faces."""
    model = mbs.Model()
    box = Shell.from_mesh(model, cube_mesh(), SHEET)
    e3 = box.frames[..., 2]
    assert (np.abs(e3).max(axis=-1) > 1 - 1e-12).all()
    assert (np.abs(e3 - e3[:, :1]).max(axis=(1, 2)) < 1e-12).all()
    smooth = Shell.from_mesh(model, cube_mesh(), SHEET, fold=100.0, name="smooth")
    assert np.abs(smooth.frames[..., 2]).max(axis=-1).min() == pytest.approx(1 / np.sqrt(3))


def test_triangles_are_refused_or_split() -> None:
    model = mbs.Model()
    with pytest.raises(ModelError, match="has 48 triangles, the first of the points .* split_triangles=True"):
        Shell.from_mesh(model, cube_mesh(quads=False), SHEET)
    assert not [element for element in model.elements]
    box = Shell.from_mesh(model, cube_mesh(quads=False), SHEET, split_triangles=True)
    assert len(box.cells) == 144
    assert box.area.sum() == pytest.approx(6.0, rel=1e-12)
    with pytest.raises(ModelError, match="^Shell.from_mesh: meshio cannot read 'none.msh'"):
        Shell.from_mesh(model, "none.msh", SHEET)
    with pytest.raises(ModelError, match=r"'shell\[0\]' is taken; .* in a model; give another name="):
        Shell.from_mesh(model, cube_mesh(), SHEET)
    with pytest.raises(ModelError, match="no cells of the type quad; it has line"):
        Shell.from_mesh(model, meshio.Mesh(np.eye(3), [("line", [[0, 1]])]), SHEET)


@pytest.mark.parametrize("kind", ["quad8", "quad9", "triangle6"])
def test_no_cell_of_a_surface_is_left_out(kind: str) -> None:
    """Those of second order are refused, alone and beside quads; lines and volumes of a mesh are no shell."""
    number = int(kind[-1])
    other = (kind, np.arange(4, 4 + number)[None])
    points = np.random.default_rng(0).random((4 + number, 3))
    quads = ("quad", np.arange(4)[None])
    for cells in ([other], [quads, other]):
        with pytest.raises(ModelError, match=f"has 1 cells of the type {kind}, .* mesh with elements of first order"):
            Shell.from_mesh(mbs.Model(), meshio.Mesh(points, cells), SHEET, split_triangles=True)
    box = cube_mesh()
    more = meshio.Mesh(box.points, [*box.cells, ("line", [[0, 1]]), ("hexahedron", [range(8)])])
    assert len(Shell.from_mesh(mbs.Model(), more, SHEET).cells) == 24


def test_quads_with_a_point_twice_are_triangles() -> None:
    points = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (2, 0, 0), (2, 1, 0.0)])
    for corners in ([1, 4, 5, 5], [1, 1, 4, 5], [5, 1, 4, 5]):
        mesh = meshio.Mesh(points, [("quad", [[0, 1, 2, 3], corners])])
        with pytest.raises(ModelError, match=r"has 1 triangles, .* \(a quad with a point twice is one\)"):
            Shell.from_mesh(mbs.Model(), mesh, SHEET)
        shell = Shell.from_mesh(mbs.Model(), mesh, SHEET, split_triangles=True)
        assert len(shell.cells) == 7 and shell.area.sum() == pytest.approx(1.5, rel=1e-12)


def test_loads_on_edges_refuse_nodes_out_of_order() -> None:
    """Any shuffled order, by which the pieces would be longer than the edge; not corners, nor a closed rim."""
    rng = np.random.default_rng(5)
    model = mbs.Model()
    tube = half_tube(model)
    flat = Shell.rectangle(model, (0, 0, 0), (1, 0, 0), (0, 1, 0), SHEET, elements=(9, 4), name="flat")
    for edge in (tube.edge("bottom"), flat.edge("top")):
        EdgeLoad(edge, (1.0, 0, 0))
        for _ in range(50):
            order = rng.permutation(len(edge))
            with pytest.raises(ModelError, match="the line turns back at its node .* one after the other"):
                EdgeLoad([edge[k] for k in order], (1.0, 0, 0))
    rim = [*flat.edge("bottom"), *flat.edge("right")[1:], *flat.edge("top")[-2::-1], *flat.edge("left")[-2::-1]]
    load = EdgeLoad(rim, (1.0, 0, 0))
    assert load.shared.sum() == pytest.approx(4.0, rel=1e-12)


def test_normals_of_a_mesh_are_those_of_the_surface() -> None:
    """On a tube exactly, the rim included; on a sphere to second order in the mesh."""
    model = mbs.Model()
    tube = half_tube(model)
    nodes = np.array([[tube.nodes[k] for k in cell] for cell in tube.cells])
    again = Shell(nodes.tolist(), SHEET)
    np.testing.assert_allclose(again.frames, tube.frames, atol=1e-10)
    errors = []
    for count in (4, 8, 16):
        model = mbs.Model()

        def place(u: float, v: float) -> Array:
            a, b = u, v - 0.5
            return np.array([np.cos(a) * np.cos(b), np.sin(a) * np.cos(b), np.sin(b)])

        sphere = Shell.surface(model, place, SHEET, (count, count))
        again = Shell([[sphere.nodes[k] for k in cell] for cell in sphere.cells], SHEET)
        errors.append(np.abs(again.frames[..., 2] - sphere.frames[..., 2]).max())
    assert np.log2(errors[1] / errors[2]) > 1.7


def test_an_inflated_tube_has_its_hoop_force() -> None:
    """Closed round, no strain along it: n = p R in the final shape, of which chords have (1 - angle^2/6)."""
    model = mbs.Model(gravity=(0, 0, 0))
    section = ShellSection.isotropic(0.01, E=1e6, nu=0.0, rho=10.0)
    tube = Shell.surface(
        model, lambda u, v: (np.cos(2 * np.pi * u), np.sin(2 * np.pi * u), v), section, (24, 1), closed=(True, False)
    )
    for k, node in enumerate(tube.edge("bottom")[:-1]):
        model.fix(node, translation=(k in (6, 18), k in (0, 12), True), rotation=True)
    for node in tube.edge("top")[:-1]:
        model.fix(node, translation=(False, False, True), rotation=True)
    p = 100.0
    model.add(Pressure(tube, p))
    solution = mbs.statics(model)
    u = np.linalg.norm(solution.position(tube.node(3, 1))[-1, :2]) - 1.0
    p *= 1 - (2 * np.pi / 24) ** 2 / 6
    exact = p / (1e4 - p)  # E h u/R = p (R + u)
    assert u == pytest.approx(exact, rel=1e-3)
    np.testing.assert_allclose(solution.shell_forces(tube)[-1, :, 0], p * (1 + exact), rtol=1e-3)


def test_pressure_over_time_and_in_statics() -> None:
    model = mbs.Model(gravity=(0, 0, 0))
    plate = Shell.rectangle(model, (0, 0, 0), (1, 0, 0), (0, 0.2, 0), SHEET, elements=(8, 2))
    for node in plate.edge("left"):
        model.fix(node)
    model.add(Pressure(plate, lambda t: 0.01 * t))
    solution = mbs.statics(model)
    assert solution.displacement(plate.node(-1, 1))[-1, 2] > 0.0
    other = System(model)
    again = replace(bent(other, 0.0), x=bent(other, 0.0).x + 1e6)
    batch = other.batches[1]
    assert np.abs(batch.force(again, batch.at(1.0))[0] - batch.force(bent(other, 0.0), batch.at(1.0))[0]).max() < 1e-11
    with pytest.raises(ModelError, match="EdgeLoad: nodes must be at least two"):
        EdgeLoad(plate.edge("left")[:1], (0, 0, 1))
