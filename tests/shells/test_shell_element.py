"""The element: patches, rigid motions, numbering, zero energies, tangents, over random warped quadrilaterals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import meshio
import numpy as np
import pytest
from quads import PATCH, SHEET, apart, bent, force, patch, warped

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection, FixedJoint, Force, RevoluteJoint, RigidBody, Shell, ShellSection
from fem_mbs.errors import ModelError, MotionError
from fem_mbs.lie import so3
from fem_mbs.system.system import System
from fem_mbs.testing.differences import derivative
from fem_mbs.testing.stage import neighbour

COUNT = 40
LAMINATE = (
    ShellSection.laminate([(0, 0.02), (30, 0.03)], E1=30.0, E2=5.0, G12=3.0, nu12=0.25, rho=20.0)
    .with_offset(0.02)
    .with_damping(0.1)
)


def fields(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Body increments ``(8, 6)`` of the patch, and its strains (8,)."""
    x, y = PATCH.T
    d = np.zeros((8, 6))
    if kind == "membrane":
        d[:, 0], d[:, 1] = x + y / 2, y + x / 2
        return d, np.array([1, 1, 1, 0, 0, 0, 0, 0.0])
    if kind == "bending":
        d[:, 2], d[:, 3], d[:, 4] = (x**2 + x * y + y**2) / 2, x / 2 + y, -(x + y / 2)
        return d, np.array([0, 0, 0, -1, -1, -1, 0, 0.0])
    d[:, 3], d[:, 4] = -2.0, 3.0  # turned, and not moved
    return d, np.array([0, 0, 0, 0, 0, 0, 3.0, 2.0])


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("kind", ["membrane", "bending", "shear"])
def test_patches_have_their_exact_strains(kind: str, turned: bool) -> None:
    """No force on inner nodes but those of shear, and the exact stress at all points; also after a rigid motion."""
    model, nodes, shell = patch(SHEET)
    system = System(model)
    still = bent(system, 0.0)
    row = [system.number(node) for node in nodes]
    x0, d, (own, strain) = np.zeros((system.n, 3)), np.zeros((system.n, 6)), fields(kind)
    x0[row], d[row] = np.pad(PATCH, ((0, 0), (0, 1))), own
    if turned:
        Q = so3.exp(np.array([1.0, -2.0, 0.7]))
        still = replace(still, x=still.x @ Q.T + 3.0, R=Q @ still.R)
    batch = system.batches[0]
    rest, context = batch.force(still, None)
    forces = np.zeros((system.n, 6))
    each = np.matvec(batch.stiffness(context), d[batch.nodes].reshape(5, 24)).reshape(5, 4, 6)
    np.add.at(forces, batch.nodes, each)
    size = np.abs(each).max()
    # a constant shear has moments per area
    np.testing.assert_allclose(forces[row[4:], : 3 if kind == "shear" else 6], 0.0, atol=1e-10 * size)
    np.testing.assert_allclose(rest, 0.0, atol=1e-14)
    rows = [system.number(node) for node in shell.nodes]
    there, back = (
        shell.results.forces(
            (still.x + np.matvec(still.R, s * d[:, :3]))[rows], (still.R @ so3.exp(s * d[:, 3:]))[rows]
        )
        for s in (1e-6, -1e-6)
    )
    found = 0.5e6 * (there - back)
    for element, corners in enumerate(x0[batch.nodes]):
        along = corners[1] + corners[2] - corners[0] - corners[3]
        expected = SHEET.stiffness @ rotated(strain, np.arctan2(along[1], along[0]))
        np.testing.assert_allclose(found[element], expected, atol=1e-5 * np.abs(expected).max() + 2e-8)


def rotated(strain: np.ndarray, angle: float) -> np.ndarray:
    """Strains in axes turned by an angle."""
    c, s = np.cos(angle), np.sin(angle)
    T = np.array([[c * c, s * s, c * s], [s * s, c * c, -c * s], [-2 * c * s, 2 * c * s, c * c - s * s]])
    return np.concatenate(
        [T @ strain[:3], T @ strain[3:6], [c * strain[6] + s * strain[7], c * strain[7] - s * strain[6]]]
    )


@pytest.mark.one
@pytest.mark.parametrize("section", [SHEET, LAMINATE], ids=["isotropic", "laminate"])
def test_tangents_of_random_quadrilaterals(section: ShellSection) -> None:
    corners, _, _ = warped(COUNT)
    check_tangents(corners, section)


def check_tangents(corners: list[np.ndarray], section: ShellSection) -> None:
    system = apart(corners, section)
    motion = bent(system, 0.3)
    rng = np.random.default_rng(3)
    motion = replace(motion, V=rng.normal(size=motion.V.shape), A=rng.normal(size=motion.A.shape))
    batch = system.batches[0]
    found, context = force(system, motion)
    noise = 1e-4 * np.abs(found).max(axis=1, keepdims=True)
    K, C, M = batch.stiffness(context), batch.damping(context), batch.mass(context)
    for _ in range(3):
        d = rng.normal(size=(3, 6 * system.n))
        for which, matrix in enumerate((K, C, M)):
            change = np.zeros((3, 6 * system.n))
            change[which] = d[which]
            expected = derivative(lambda s, change=change: force(system, neighbour(motion, *(s * change)))[0])
            actual = np.matvec(matrix, d[which].reshape(-1, 6)[batch.nodes].reshape(-1, 24))
            size = np.abs(expected).max(axis=1, keepdims=True) + noise
            assert (np.abs(actual - expected) <= 1e-6 * size).all()


def test_rigid_motions_and_numbering_change_nothing() -> None:
    corners, _, _ = warped(COUNT)
    check_invariance(corners)


def check_invariance(corners: list[np.ndarray]) -> None:
    system = apart(corners)
    motion = bent(system, 0.3)
    Q = so3.exp(np.array([1.0, -2.0, 0.7]))
    moved = replace(motion, x=motion.x @ Q.T + np.array([3.0, -1, 2]), R=Q @ motion.R)
    here, there = force(system, motion)[0], force(system, moved)[0]
    np.testing.assert_allclose(there, here, atol=1e-11 * np.abs(here).max())
    energy = system.batches[0].energy(motion).strain
    for order in ((1, 2, 3, 0), (2, 3, 0, 1), (3, 2, 1, 0)):
        other = apart(corners, order=order).batches[0]
        np.testing.assert_allclose(other.energy(motion).strain, energy, rtol=1e-11)


def test_six_motions_have_no_energy() -> None:
    corners, _, _ = warped(COUNT)
    check_rank(corners)


def check_rank(corners: list[np.ndarray]) -> None:
    """The seventh eigenvalue stands out, and the stiffness without stress is symmetric."""
    system = apart(corners)
    still = bent(system, 0.0)
    K = system.batches[0].stiffness(force(system, still)[1])
    np.testing.assert_allclose(K, K.mT, atol=1e-12 * np.abs(K).max())
    values = np.linalg.eigvalsh(K)
    bending = SHEET.stiffness[3, 3]
    assert (np.abs(values[:, :6]) < 1e-9 * bending).all()
    assert (values[:, 6] > 1e-3 * bending).all()


@pytest.mark.slow
def test_laws_over_a_thousand_warped_quadrilaterals() -> None:
    corners, refused, warned = warped(1000, seed=7)
    assert refused + len(corners) == 1000
    assert refused < 30 and 0 < warned < 700
    check_tangents(corners, SHEET)
    check_tangents(corners, LAMINATE)
    check_invariance(corners)
    check_rank(corners)


def test_motion_that_an_element_cannot_represent_is_refused_by_name() -> None:
    model = mbs.Model()
    plate = Shell.rectangle(model, (0, 0, 0), (2, 0, 0), (0, 1, 0), SHEET, elements=(2, 1), name="plate")
    system = System(model)
    motion = bent(system, 0.0)
    R = motion.R.copy()
    R[system.number(plate.node(-1, 0))] = so3.exp(np.array([3.1, 0, 0]))
    with pytest.raises(MotionError, match=r"'plate': element 2 of 2 between node 'plate\[1,0\]'.* turns by .* degrees"):
        force(system, replace(motion, R=R))


@pytest.mark.parametrize("place", [(3, 0), (-4, 0), (0, 2), (0, -3)])
def test_a_grid_ends_at_its_edges(place: tuple[int, int]) -> None:
    plate = Shell.rectangle(mbs.Model(), (0, 0, 0), (2, 0, 0), (0, 1, 0), SHEET, elements=(2, 1))
    assert plate.node(-3, -2) is plate.node(0, 0) and plate.node(2, 1) is plate.node(-1, -1)
    with pytest.raises(ModelError, match=r"no node \(.*\) in a grid of 3 x 2 nodes"):
        plate.node(*place)


@pytest.mark.parametrize("size", [1e-9, 1e9])
def test_shells_may_have_any_size(size: float) -> None:
    model = mbs.Model()
    given = {(0, 0): model.add_node((0.3 * size, 0.1 * size, 0)), (2, 1): model.add_node((2.3 * size, 1.1 * size, 0))}
    start, sides = (0.3 * size, 0.1 * size, 0), ((2 * size, 0, 0), (0, size, 0))
    plate = Shell.rectangle(model, start, *sides, SHEET, elements=(2, 1), given=given)
    assert plate.node(2, 1) is given[2, 1]
    given[2, 1] = model.add_node((2.3 * size, (1.1 + 1e-6) * size, 0))
    with pytest.raises(ModelError, match="is not at place"):
        Shell.rectangle(model, start, *sides, SHEET, elements=(2, 1), given=given)
    with pytest.raises(ModelError, match="must span a plane"):
        Shell.rectangle(mbs.Model(), (0, 0, 0), (size, 0, 0), (size, 0, 0), SHEET, elements=(2, 1))


def quad(model: mbs.Model, *places: tuple[float, ...]) -> list[mbs.Node]:
    return [model.add_node(place) for place in places]


SQUARE = ((0.0, 0, 0), (1.0, 0, 0), (1.0, 1, 0), (0.0, 1, 0))


def test_bad_elements_are_refused_by_name() -> None:
    model = mbs.Model()
    a, b, c, d = quad(model, *SQUARE)
    with pytest.raises(ModelError, match="element 1 has a node twice.*triangles are refused.*split_triangles"):
        Shell([a, b, c, c], SHEET)
    far = quad(model, (2, 0, 0), (2, 1, 0))
    for again in ([b, c, d, a], [d, c, b, a]):
        with pytest.raises(ModelError, match="element 3 with .* has the corners of another one, and would count twice"):
            Shell([[a, b, c, d], [b, far[0], far[1], c], again], SHEET)
    with pytest.raises(ModelError, match="nodes must be four nodes, received 3"):
        Shell([a, b, c], SHEET)
    with pytest.raises(ModelError, match="has a corner of 180 degrees or more"):
        Shell(quad(model, (0, 0, 0), (1, 0, 0), (0.2, 0.2, 0), (0, 1, 0)), SHEET)
    with pytest.raises(ModelError, match="collapsed"):
        Shell(quad(model, (0, 0, 0), (1, 0, 0), (1, 0, 0), (0, 1, 0)), SHEET)
    for order in ([a, c, b, d], [a, b, d, c]):
        with pytest.raises(ModelError, match="crosses itself"):
            Shell(order, SHEET)
    with pytest.raises(ModelError, match=r"normal at element 1 is 180 degrees"):
        Shell([a, b, c, d], SHEET, normals=lambda x: (0, 0, -1))
    with pytest.raises(ModelError, match=r"normals at \[0. 0. 0.\] failed: ZeroDivisionError"):
        Shell([a, b, c, d], SHEET, normals=lambda x: 1 / 0)
    with pytest.raises(ModelError, match=r"normals at \[0. 0. 0.\] must"):
        Shell([a, b, c, d], SHEET, normals=lambda x: (0, 0, 0))
    with pytest.raises(ModelError, match=r"normals must be a direction \(3,\) for each node"):
        Shell([a, b, c, d], SHEET, normals=np.zeros((4, 3)))
    with pytest.raises(ModelError, match="a laminate needs direction"):
        Shell([[a, b, c, d], [b, *quad(model, (2, 0, 0), (2, 1, 0)), c]], LAMINATE)
    with pytest.raises(ModelError, match="element 1 with .* has a surface to which direction .* is normal"):
        Shell([a, b, c, d], LAMINATE, direction=(0, 0, 1))
    with pytest.raises(ModelError, match="is no grid"):
        Shell([a, b, c, d], SHEET).node(0, 0)
    with pytest.raises(ModelError, match="must span a plane"):
        Shell.rectangle(model, (0, 0, 0), (1, 0, 0), (2, 0, 0), SHEET)
    with pytest.raises(ModelError, match=r"place\(0, 0\)"):
        Shell.surface(model, lambda u, v: (u, v), SHEET, (2, 2))


def sphere(u: float, v: float) -> tuple[float, ...]:
    return np.cos(2 * np.pi * u) * np.sin(np.pi * v), np.sin(2 * np.pi * u) * np.sin(np.pi * v), np.cos(np.pi * v)


def moebius(u: float, v: float) -> tuple[float, ...]:
    a, w = np.pi * u, v - 0.5
    return (2 + w * np.cos(a)) * np.cos(2 * a), (2 + w * np.cos(a)) * np.sin(2 * a), w * np.sin(a)


def test_surfaces_that_no_grid_of_quads_covers_are_refused() -> None:
    """Poles, ends that do not meet and a surface of one side; not a sphere with holes, nor the strip left open."""
    model = mbs.Model()
    with pytest.raises(ModelError, match=r"no normal at \(0, 0\), as a pole"):
        Shell.surface(model, sphere, SHEET, (8, 4), closed=(True, False))
    Shell.surface(model, lambda u, v: sphere(u, 0.1 + 0.8 * v), SHEET, (8, 4), closed=(True, False))
    for place in (moebius, lambda u, v: (u, v, 0.0)):
        with pytest.raises(ModelError, match="at the ends 0 and 1 of parameter u place differs by 1"):
            Shell.surface(model, place, SHEET, (16, 2), closed=(True, False))
    Shell.surface(model, moebius, SHEET, (16, 2))


def test_nodes_of_grids() -> None:
    model = mbs.Model()
    plate = Shell.rectangle(model, (0, 0, 0), (2, 0, 0), (0, 1, 0), SHEET, elements=(4, 2), name="plate")
    assert plate.node(-1, 0).position.tolist() == [2, 0, 0]
    assert [node.position[0] for node in plate.edge("right")] == [2, 2, 2]
    assert [node.position[1] for node in plate.edge("top")] == [1] * 5
    assert plate.nearest((0.9, 0.6, 3)) is plate.node(2, 1)
    assert plate.area.sum() == pytest.approx(2.0, rel=1e-12)
    hub = model.add_node((2, 1, 0))
    other = Shell.rectangle(model, (2, 1, 0), (1, 0, 0), (0, 1, 0), SHEET, elements=(1, 1), given={(0, 0): hub})
    assert other.node(0, 0) is hub
    with pytest.raises(ModelError, match=r"is not at place \(1, 0\) of the grid"):
        Shell.rectangle(model, (2, 1, 0), (1, 0, 0), (0, 1, 0), SHEET, elements=(1, 1), given={(1, 0): hub})
    tube = Shell.surface(
        model, lambda u, v: (np.cos(2 * np.pi * u), np.sin(2 * np.pi * u), v), SHEET, (8, 2), closed=(True, False)
    )
    assert len(tube.nodes) == 24 and tube.node(8, 1) is tube.node(0, 1)
    # circles are circles on SE(3)
    assert tube.area.sum() == pytest.approx(2 * np.pi, rel=2e-3)


def test_doubts_name_elements() -> None:
    model = mbs.Model()
    a, b, c, d = quad(model, *SQUARE)
    model.add(Shell([[a, b, c, d], [b, c, *quad(model, (2, 1, 0), (2, 0, 0))]], SHEET), "flipped")
    model.add(Shell(quad(model, (0, 0, 2), (40, 0, 2), (40, 1, 2), (0, 1, 2)), SHEET), "long")
    model.add(Shell(quad(model, (0, 0, 3), (1, 0, 3), (6, 1, 3), (5, 1, 3)), SHEET), "sharp")
    model.add(Shell(quad(model, (0, 0, 4), (1, 0, 4.4), (1, 1, 4), (0, 1, 4.4)), SHEET), "warped")
    model.add(Shell(quad(model, *(np.array(SQUARE) * 0.01 + (0, 0, 5))), SHEET), "block")
    leaning = np.tile((np.sin(0.35), 0.0, np.cos(0.35)), (4, 1))
    model.add(Shell(quad(model, *(np.array(SQUARE) + (0, 0, 6))), SHEET, normals=leaning), "leaning")
    text = str(model.check())
    for expected in (
        "elements 1 and 2 go round their common edge the same way",
        "has sides of 1 to 40",
        "has normals that lean by 20 degrees",
        "has a corner of 1",
        "is warped by",
        "shorter than the thickness 0.05",
    ):
        assert expected in text, text


def test_seams_are_named() -> None:
    """A tube that is not closed and a mesh whose points are not merged, once each; not what is closed, or joined."""
    model = mbs.Model()
    tube = partial(Shell.surface, model, lambda u, v: (np.cos(2 * np.pi * u), np.sin(2 * np.pi * u), v), SHEET, (8, 2))
    tube(closed=(True, False), name="closed")
    assert "same place" not in str(model.check())
    slit = mbs.Model()
    tube = Shell.surface(slit, *tube.args[1:], name="slit")
    slit.add(Force(tube.node(0, 1), (1, 0, 0)))
    text = str(slit.check())
    assert text.count("same place") == 1 and "node 'slit[0,0]', node 'slit[8,0]'" in text and "(3 such pairs" in text
    for k in range(3):
        slit.add(FixedJoint(tube.node(0, k), tube.node(8, k)))
    assert "same place" not in str(slit.check())
    points = np.array([*SQUARE, *(np.array(SQUARE) + (1, 0, 0))])
    model = mbs.Model()
    Shell.from_mesh(model, meshio.Mesh(points, [("quad", np.arange(8).reshape(2, 4))]), SHEET)
    assert "(2 such pairs" in str(model.check())


def test_shells_of_one_edge_and_opposite_normals_are_named() -> None:
    model = mbs.Model()
    a = Shell.rectangle(model, (0, 0, 0), (1, 0, 0), (0, 1, 0), SHEET, elements=(2, 2), name="a")
    given = {(0, k): node for k, node in enumerate(a.edge("right"))}
    Shell.rectangle(model, (1, 0, 0), (1, 0, 0), (0, 1, 0), SHEET, elements=(2, 2), given=given, name="b")
    assert "opposite" not in str(model.check())
    given = {(k, 0): node for k, node in enumerate(a.edge("left"))}
    Shell.rectangle(model, (0, 0, 0), (0, 1, 0), (-1, 0, 0.5), SHEET, elements=(2, 2), given=given, name="c")
    assert "opposite" not in str(model.check())
    given = {(k, 0): node for k, node in enumerate(a.edge("bottom"))}
    Shell.rectangle(model, (0, 0, 0), (1, 0, 0), (0, -1, 0), SHEET, elements=(2, 2), given=given, name="d")
    told = [text for text in str(model.check()).splitlines() if "opposite" in text]
    assert len(told) == 1 and "'d'" in told[0] and "in common with Shell 'a'" in told[0], told


def test_three_sheets_may_meet_at_an_edge() -> None:
    """Two of them go along it the same way, however they are listed."""
    model = mbs.Model()
    a, b = quad(model, (0, 0, 0), (0, 1, 0))
    sheets = [[a, b, *quad(model, (-x, 1, z), (-x, 0, z))] for x, z in ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0))]
    model.add(Shell(sheets, SHEET), "T")
    assert "common edge" not in str(model.check())


def test_the_worst_of_several_elements_is_named() -> None:
    model = mbs.Model()
    strips = [quad(model, (0, 0, z), (length, 0, z), (length, 1, z), (0, 1, z)) for z, length in enumerate((30, 50, 1))]
    model.add(Shell(strips, SHEET), "strips")
    text = str(model.check())
    assert "its element 2 with" in text and "has sides of 1 to 50, more than 20 (2 in all)" in text, text


def test_parts_that_one_node_holds_by_drilling_are_named() -> None:
    """A mast that stands on a plate, and a body that hangs at one; not what is held elsewhere, too, nor stiffeners."""
    model = mbs.Model(gravity=(0, 0, 0))
    plate = Shell.rectangle(model, (0, 0, 0), (1, 0, 0), (0, 1, 0), SHEET, elements=(3, 3), name="plate")
    tube = BeamSection.rectangle(0.02, 0.02, E=30.0, nu=0.3, rho=1.0)
    Beam.line(model, (1 / 3, 1 / 3, 0), (1 / 3, 1 / 3, 1), tube, 2, start_node=plate.node(1, 1), name="mast")
    Beam.line(model, (1, 1, 0), (1, 1, 1), tube, 2, start_node=plate.node(3, 3), end_node=model.ground, rigid_ends=True)
    model.add(Beam([plate.node(i, 0) for i in range(4)], tube), name="rib")
    body = model.add_node((0, 1, -0.1))
    model.add(RigidBody(body, 1.0, (1, 1, 1)))
    weld = model.add(FixedJoint(plate.node(0, 3), body), name="weld")
    told = [text for text in str(model.check()).splitlines() if "drilling" in text]
    assert len(told) == 2 and "mast" in told[0] + told[1] and "weld" in told[0] + told[1], told
    model.add(FixedJoint(plate.node(1, 3), body))
    assert str(model.check()).count("drilling") == 1
    assert weld.nodes[1] is body


@pytest.mark.parametrize(
    ("axis", "drive", "named"),
    [((0, 0, 1), abs, True), ((0, 0, 1), None, False), ((0, 1, 0), None, True), ((1, 0, 1), None, True)],
)
def test_joints_that_turn_with_one_node_about_its_normal_are_named(
    axis: tuple[float, ...], drive: Callable[[float], float] | None, named: bool
) -> None:
    """A driven hinge about the normal and one about any other axis; a free one about it needs no drilling."""
    model = mbs.Model(gravity=(0, 0, 0))
    plate = Shell.rectangle(model, (0, 0, 0), (1, 0, 0), (0, 1, 0), SHEET, elements=(3, 3), name="plate")
    body = model.add_node((1 / 3, 1 / 3, 0.1))
    model.add(RigidBody(body, 1.0, (1, 1, 1)))
    model.add(RevoluteJoint(plate.node(1, 1), body, axis, drive=drive), name="hinge")
    assert ("RevoluteJoint 'hinge' joins" in str(model.check())) == named, str(model.check())
