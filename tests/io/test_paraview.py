"""What ParaView shows, read back with VTK's own reader."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest
from catalogue import EVERYTHING, GROUPS, build
from motions import random_motion
from pyvista import PolyData, PVDReader, UnstructuredGrid

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.contracts import Kind
from fem_mbs.elements import Beam, BeamSection, PointMass, RevoluteJoint, RigidBody, SphericalJoint, SpinUp
from fem_mbs.lie import so3
from fem_mbs.model.model import Model
from fem_mbs.solution.history import Stats

AXES = ("e1", "e2", "e3")
EXACT = 1e-13
RECTANGLE = BeamSection.rectangle(0.2, 0.1, 1e7, 0.3, 1e3)
CIRCLE = BeamSection.circle(0.1, 1e7, 0.3, 1e3)
close = np.testing.assert_allclose


def still(model: Model, x: Array | None = None, R: Array | None = None, v: Array | None = None) -> mbs.Solution:
    """A solution of one instant, wherever its nodes are wanted."""
    system = mbs.System(model)
    zero = np.zeros((system.n, 6))
    multipliers = np.random.default_rng(3).normal(size=system.m)
    state = mbs.State(
        0.0,
        system.x0 if x is None else x,
        system.R0 if R is None else R,
        zero if v is None else v,
        zero,
        multipliers,
        system.u0,
        *np.zeros((2, system.k)),
    )
    return mbs.Solution(
        system, [state], mbs.Outcome.FINISHED, Stats(np.empty(0, np.intp), 0, 0, 0, 0, np.empty(0), 0.0)
    )


def read(collection: Path) -> tuple[list[float], list[UnstructuredGrid]]:
    """Times and meshes of all frames."""
    reader = PVDReader(collection)
    meshes = []
    for k in range(len(reader.time_values)):
        reader.set_active_time_point(k)
        (mesh,) = reader.read()
        meshes.append(mesh)
    return reader.time_values, meshes


def draw(solution: mbs.Solution, folder: Path, **options: int | bool) -> UnstructuredGrid:
    """The last frame of a solution."""
    return read(solution.to_paraview(folder / "run", **options))[1][-1]


def only(mesh: UnstructuredGrid, *kinds: Kind) -> UnstructuredGrid:
    """The cells of some kinds and their points."""
    return mesh.extract_cells(np.isin(mesh["part"], kinds))


def only_points(mesh: UnstructuredGrid, *kinds: Kind) -> Array:
    """Numbers of the points that cells of some kinds have."""
    chosen = np.flatnonzero(np.isin(mesh["part"], kinds))
    return np.unique(np.concatenate([mesh.get_cell(k).point_ids for k in chosen]))


def enclosed(mesh: UnstructuredGrid) -> tuple[float, float, int]:
    """Area of the swept surface, volume it encloses (positive for outward normals) and number of open edges."""
    swept = only(mesh, Kind.SURFACE)
    surface = PolyData(swept.points, swept.cells).triangulate()
    a, b, c = np.moveaxis(surface.points.astype(float)[surface.regular_faces], 1, 0)
    volume = np.vecdot(a, np.cross(b, c)).sum() / 6
    return surface.area, volume, surface.clean(tolerance=1e-9).n_open_edges


@pytest.fixture(scope="module")
def linkage() -> mbs.Solution:
    """A driven crank, a beam and a body on both groups, hinged off their nodes."""
    model = mbs.Model(gravity=(0, -9.81, 0))
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), RECTANGLE, elements=4, name="crank")
    body = model.add_node((1.5, 0.1, 0), so3.exp(np.array([0.3, -0.2, 0.5])), group="SE3", name="bob")
    model.add(RigidBody(body, 2.0, (0.1, 0.2, 0.2)))
    tip = model.add_node((1.7, 0.1, 0), name="tip")
    model.add(PointMass(tip, 0.1))
    model.fix(tip)
    model.add(SphericalJoint(beam.nodes[-1], body, (1.2, 0, 0)), name="ball")
    model.add(RevoluteJoint(model.ground, beam.nodes[0], (0, 3, 4), (-0.1, 0, 0), drive=SpinUp(2.0, 0.3)), name="hinge")
    return mbs.simulate(model, 1.1 / 3, 0.1 / 3)


@pytest.mark.ci
def test_every_step_is_a_frame_at_its_true_time(linkage: mbs.Solution, tmp_path: Path) -> None:
    collection = linkage.to_paraview(tmp_path / "deep" / "er" / "run 1.5")
    times, meshes = read(collection)
    assert collection == tmp_path / "deep" / "er" / "run 1.5.pvd"
    assert times == linkage.t.tolist()
    files = [file.name for file in sorted((tmp_path / "deep" / "er" / "run 1.5").iterdir())]
    assert files == [f"run 1.5_{k:06d}.vtu" for k in range(len(linkage.t))]
    assert len({mesh.n_points for mesh in meshes}) == 1


def test_fewer_frames_keep_the_first_and_the_last_step(linkage: mbs.Solution, tmp_path: Path) -> None:
    times, _ = read(linkage.to_paraview(str(tmp_path / "run.pvd"), every=4))
    assert times == sorted({*linkage.t[::4], linkage.t[-1]})
    assert linkage.to_paraview(tmp_path / "run.vtu", every=100) == tmp_path / "run.pvd"
    with pytest.raises(mbs.ModelError, match="path '.*run.h5' has the suffix"):
        linkage.to_paraview(tmp_path / "run.h5")


def test_frames_of_a_longer_run_disappear_and_other_files_stay(linkage: mbs.Solution, tmp_path: Path) -> None:
    linkage.to_paraview(tmp_path / "run")
    (tmp_path / "run" / "notes.txt").write_text("mine")
    times, _ = read(linkage.to_paraview(tmp_path / "run", every=6))
    assert len(times) == 3
    assert sorted(file.name for file in (tmp_path / "run").iterdir()) == [
        "notes.txt",
        *(f"run_{k:06d}.vtu" for k in range(3)),
    ]


@pytest.mark.ci
def test_nodes_and_bodies_are_where_the_solution_says(linkage: mbs.Solution, tmp_path: Path) -> None:
    _, meshes = read(linkage.to_paraview(tmp_path / "run"))
    nodes = linkage.system.nodes
    for k, mesh in enumerate(meshes):
        points = only(mesh, Kind.NODE, Kind.BODY)
        assert points["node_id"].tolist() == list(range(len(nodes)))
        for row, node in enumerate(nodes):
            R = linkage.rotation(node)[k]
            close(points.points[row], linkage.position(node)[k], atol=EXACT)
            close(points["displacement"][row], linkage.displacement(node)[k], atol=EXACT)
            close(points["velocity"][row], linkage.velocity(node)[k], atol=EXACT)
            close(points["angular_velocity"][row], R @ linkage.angular_velocity(node)[k], atol=EXACT)
            close(np.stack([points[e][row] for e in AXES], axis=-1), R, atol=EXACT)
    assert [nodes[k].name for k in only(meshes[0], Kind.BODY)["node_id"]] == ["bob", "tip"]


def test_joints_carry_their_reactions(linkage: mbs.Solution, tmp_path: Path) -> None:
    collection = linkage.to_paraview(tmp_path / "run")
    _, meshes = read(collection)
    joints = [owner for batch in linkage.system.constraint_batches for owner in batch.owners]
    legend = collection.read_text()
    for number, joint in enumerate(joints):
        assert f"joint_id {number}: {joint}\n" in legend
        force, moment = linkage.reaction(joint)
        b = joint.nodes[1]
        arm = np.matvec(linkage.rotation(b), joint.offset)
        turning = np.matvec(linkage.rotation(b), linkage.angular_velocity(b))
        place, velocity = linkage.position(b) + arm, linkage.velocity(b) + np.cross(turning, arm)
        for k, mesh in enumerate(meshes):
            points = only(mesh, Kind.JOINT)
            assert points["joint_id"].tolist() == list(range(len(joints)))
            close(points.points[number], place[k], atol=EXACT)
            close(points["velocity"][number], velocity[k], atol=EXACT)
            close(points["reaction_force"][number], force[k], rtol=1e-12, atol=1e-12)
            close(points["reaction_moment"][number], moment[k], rtol=1e-12, atol=1e-12)
    hinge = [joint.name for joint in joints].index("hinge")
    close(only(meshes[-1], Kind.JOINT)["e3"][hinge], (0, 0.6, 0.8), atol=1e-9)


def test_a_beam_passes_through_its_nodes_with_its_section_forces(linkage: mbs.Solution, tmp_path: Path) -> None:
    (beam,) = (element for element in linkage.system.elements if isinstance(element, Beam))
    _, meshes = read(linkage.to_paraview(tmp_path / "run", stations=3))
    forces = linkage.section_forces(beam)
    for k, mesh in enumerate(meshes):
        lines = only(mesh, Kind.LINE)
        stations = {name: lines[name].reshape(4, 3, 3) for name in lines.point_data if lines[name].ndim == 2}
        points = lines.points.reshape(4, 3, 3)
        ends = np.array([linkage.position(node)[k] for node in beam.nodes])
        speeds = np.array([linkage.velocity(node)[k] for node in beam.nodes])
        for values, nodal in ((points, ends), (stations["velocity"], speeds)):
            close(values[:, 0], nodal[:-1], atol=EXACT)
            close(values[:, -1], nodal[1:], atol=EXACT)
        for station in range(3):
            close(stations["section_force"][:, station], forces[k, :, :3], rtol=1e-12)
            close(stations["section_moment"][:, station], forces[k, :, 3:], rtol=1e-12)


def test_points_minus_displacement_are_the_initial_points(linkage: mbs.Solution, tmp_path: Path) -> None:
    _, meshes = read(linkage.to_paraview(tmp_path / "run"))
    for mesh in meshes:
        close(mesh.points - mesh["displacement"], meshes[0].points, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_everything_is_drawn_with_finite_data_and_orthonormal_axes(group: str, tmp_path: Path) -> None:
    model, _ = build(*EVERYTHING.values(), group=group)
    system = mbs.System(model)
    motion = random_motion(system, 1)
    mesh = draw(still(model, motion.x, motion.R, system.kinematics.from_body(motion.R, motion.V)), tmp_path)
    assert set(np.unique(mesh["part"])) == set(Kind)
    for values in (mesh.points, *mesh.point_data.values()):
        assert np.isfinite(values).all()
    axes = np.stack([mesh[e] for e in AXES], axis=-1)
    framed = axes.any(axis=(-2, -1))  # plain lines, as of springs, have none
    assert not np.isin(np.flatnonzero(~framed), only_points(mesh, Kind.SURFACE, Kind.NODE, Kind.BODY, Kind.JOINT)).any()
    axes = axes[framed]
    close(np.swapaxes(axes, -1, -2) @ axes, np.broadcast_to(np.eye(3), axes.shape), atol=EXACT)
    close(np.linalg.det(axes), 1.0, atol=EXACT)


def test_cells_are_numbered_by_beam_and_by_element_in_it(tmp_path: Path) -> None:
    model = mbs.Model()
    for k, elements in enumerate((2, 3)):
        Beam.line(model, (0, k, 0), (1, k, 0), RECTANGLE, elements=elements)
    mesh = draw(still(model), tmp_path, stations=4)
    for kind, cells in ((Kind.LINE, 3), (Kind.SURFACE, 3 * 4)):
        for beam_id, elements in enumerate((2, 3)):
            part = only(mesh, kind)
            element_id = part["element_id"][part["beam_id"] == beam_id]
            caps = np.zeros(elements, dtype=int)
            if kind == Kind.SURFACE:
                caps[[0, -1]] = 1
            assert np.bincount(element_id).tolist() == (cells + caps).tolist()
    points = only(mesh, Kind.NODE)
    assert (points["beam_id"] == -1).all() and (points["element_id"] == -1).all()
    assert points["node_id"].tolist() == list(range(1, 8)), "the ground holds nothing here"


@pytest.mark.parametrize("section", [RECTANGLE, CIRCLE], ids=["rectangle", "circle"])
def test_the_surface_of_a_straight_beam_is_the_prism_over_its_outline(section: BeamSection, tmp_path: Path) -> None:
    model = mbs.Model()
    Beam.line(model, (0.2, 0.1, -0.3), (1.2, 2.1, 1.7), section, elements=3)
    y, z = section.outline.T
    base = 0.5 * (y * np.roll(z, -1) - z * np.roll(y, -1)).sum()
    rim = np.linalg.norm(np.roll(section.outline, -1, axis=0) - section.outline, axis=1).sum()
    area, volume, open_edges = enclosed(draw(still(model), tmp_path))
    assert area == pytest.approx(2 * base + 3.0 * rim, rel=1e-12)
    assert volume == pytest.approx(3.0 * base, rel=1e-12)
    assert open_edges == 0


def test_the_surface_is_closed_at_a_corner_of_the_chain(tmp_path: Path) -> None:
    model = mbs.Model()
    places = [(0, 0, 0), (1, 0, 0), (2, 0, 0), (2, 1, 0), (2, 2, 0)]
    model.add(Beam([model.add_node(place) for place in places], RECTANGLE, y_axis=(0, 0, 1)))
    area, volume, open_edges = enclosed(draw(still(model), tmp_path))
    assert volume == pytest.approx(2 * 2.0 * 0.02, rel=1e-12)
    assert area == pytest.approx(2 * (2.0 * 0.6 + 2 * 0.02), rel=1e-12)
    assert open_edges == 0


def bent(turn: float) -> tuple[mbs.Model, Array, Array]:
    """A straight beam of length 2 in three elements, and its nodes bent to a circle that turns by ``turn``."""
    model = mbs.Model()
    Beam.line(model, (0, 0, 0), (2, 0, 0), RECTANGLE, elements=3, y_axis=(0, 1, 0))
    angle = np.linspace(0.0, turn, 4)
    radius = 2.0 / turn
    x = np.zeros((5, 3))
    x[1:, 0], x[1:, 1] = radius * np.sin(angle), radius * (1 - np.cos(angle))
    R = np.broadcast_to(np.eye(3), (5, 3, 3)).copy()
    R[1:] = so3.exp(angle[:, None] * np.array([0.0, 0.0, 1.0]))
    return model, x, R


def test_a_beam_bent_to_a_circle_lies_on_it(tmp_path: Path) -> None:
    model, x, R = bent(2.0)
    mesh = draw(still(model, x, R), tmp_path, stations=7)
    line = only(mesh, Kind.LINE)
    arm = line.points - np.array([0.0, 1.0, 0.0])
    close(np.linalg.norm(arm, axis=1), 1.0, atol=EXACT)
    close(arm + line["e2"], 0.0, atol=EXACT)
    close(
        np.linalg.norm(only(mesh, Kind.SURFACE).points[:, :2] - (0.0, 1.0), axis=1),
        np.tile([1.1, 0.9, 0.9, 1.1], 21),
        atol=EXACT,
    )
    close(line["section_moment"], np.broadcast_to([0, 0, 1e7 * 0.1 * 0.2**3 / 12], (21, 3)), atol=1e-6)


def test_the_surface_twists_with_the_section(tmp_path: Path) -> None:
    model = mbs.Model()
    Beam.line(model, (0, 0, 0), (2, 0, 0), RECTANGLE, elements=2, y_axis=(0, 1, 0))
    system = mbs.System(model)
    turn = np.radians([0.0, 0.0, 60.0, 120.0])
    R = so3.exp(turn[:, None] * np.array([1.0, 0.0, 0.0]))
    surface = only(draw(still(model, system.x0, R), tmp_path, stations=5), Kind.SURFACE)
    corner = surface.points.reshape(10, 4, 3)[:, 2]
    along = np.concatenate([np.linspace(0, 60, 5), np.linspace(60, 120, 5)])
    angle = np.degrees(np.unwrap(np.arctan2(corner[:, 2], corner[:, 1])))
    close(angle - angle[0], along, atol=1e-10)
    close(np.linalg.norm(corner[:, 1:], axis=1), np.hypot(0.1, 0.05), atol=EXACT)


@pytest.mark.parametrize("interpolation", ["SE3", "R3xSO3"])
def test_velocities_of_a_rigidly_moving_bent_beam_are_those_of_a_rigid_body(interpolation: str, tmp_path: Path) -> None:
    model, x, R = bent(2.0)
    (beam,) = model.elements
    beam.interpolation = interpolation
    u, omega = np.array([0.3, -1.0, 0.4]), np.array([1.0, 2.0, -0.5])
    v = np.concatenate([u + np.cross(omega, x), np.vecmat(omega, R)], axis=1)
    mesh = draw(still(model, x, R, v), tmp_path)
    close(mesh["velocity"], u + np.cross(omega, mesh.points), atol=EXACT)
    close(mesh["angular_velocity"], np.broadcast_to(omega, mesh.points.shape), atol=EXACT)


def test_any_name_can_be_used(tmp_path: Path) -> None:
    model = mbs.Model()
    Beam.line(model, (0, 0, 0), (1, 0, 0), RECTANGLE, name="--->  <&>")
    times, _ = read(still(model).to_paraview(tmp_path / "a&b <ü>[1]"))
    assert times == [0.0]


def test_a_model_without_beams_and_joints_needs_none(tmp_path: Path) -> None:
    model = mbs.Model()
    model.add(RigidBody(model.add_node((1, 2, 3)), 1.0, (1, 1, 1)))
    mesh = draw(still(model), tmp_path, shapes=False)
    close(mesh.points, [(1, 2, 3)])
    assert mesh["part"].tolist() == [Kind.BODY]


@pytest.mark.parametrize("options", [{"stations": 1}, {"stations": 2.5}, {"every": 0}, {"every": True}], ids=str)
def test_wrong_options_are_refused(linkage: mbs.Solution, tmp_path: Path, options: dict[str, int]) -> None:
    (name,) = options
    with pytest.raises(mbs.ModelError, match=f"to_paraview: {name} .* received {options[name]}"):
        linkage.to_paraview(tmp_path / "run", **options)
    assert not list(tmp_path.iterdir())


def test_a_folder_is_refused(linkage: mbs.Solution, tmp_path: Path) -> None:
    (tmp_path / "run.pvd").mkdir()
    for path in (tmp_path, tmp_path / "run", "", "."):
        with pytest.raises(mbs.ModelError, match="is a folder; add the name of the files"):
            linkage.to_paraview(path)
    assert [file.name for file in tmp_path.iterdir()] == ["run.pvd"]


def test_a_path_that_cannot_be_written_is_named(linkage: mbs.Solution, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(mbs.ModelError, match="cannot write .*file"):
        linkage.to_paraview(tmp_path / "file" / "run")
    with pytest.raises(mbs.ModelError, match="path must be a text such as 'out/name', received 7"):
        linkage.to_paraview(7)  # type: ignore[arg-type]
    assert (tmp_path / "file").read_text() == "mine"


def test_the_log_tells_what_was_written(
    linkage: mbs.Solution, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="fem_mbs"):
        linkage.to_paraview(tmp_path / "run")
    assert f"run.pvd: {len(linkage.t)} frames" in caplog.text
