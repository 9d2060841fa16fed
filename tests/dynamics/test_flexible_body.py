"""Reduced bodies against exact frequencies and motions, their whole meshes and the laws of their equations."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from meshes import brick, chain, pulled
from scipy.linalg import eigh
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

import fem_mbs as mbs
from fem_mbs.elements import (
    Beam,
    BeamSection,
    FlexibleBody,
    Force,
    Gravity,
    Interface,
    Moment,
    ParallelAxesJoint,
    Reduction,
    RevoluteJoint,
    RigidBody,
)
from fem_mbs.elements.flexible.inertia import mass_of, rigid_coordinates
from fem_mbs.lie import so3

GROUPS = ("R3xSO3", "SE3")
ENDS = {
    "a": Interface.average(lambda p: p[:, 0] == 0.0),
    "b": Interface.average([[8.0, 0.0, 0.0], [8.0, 2.0, 2.0]]),
}


def block(method: str = "craig-bampton", modes: int = 6, **more: object) -> Reduction:
    return Reduction(*brick((6, 2, 2), (8.0, 2.0, 2.0), 2e3, 1.0), ENDS, method=method, modes=modes, **more)


def blade(parts: int, modes: int, stiffens: bool = False, tip: bool = True) -> Reduction:
    """A part of a blade, its tip an interface or not."""
    n = 96 // parts
    mesh, dofs = chain(n, 1.0 / parts)
    ends = {"a": Interface.rigid([0])} | ({"b": Interface.rigid([n])} if tip else {})
    return Reduction(*mesh, ends, modes=modes, dofs=dofs, geometric=pulled(n, 1.0 / parts) if stiffens else None)


def test_guyan_of_a_fine_chain_is_the_cubic_element() -> None:
    """Archer's consistent matrix: 156, 22, 54, -13 and 4, 13, -3 over 420, 12, 6, -12, 6."""
    mesh, dofs = chain(100)
    ends = {"a": Interface.rigid([0]), "b": Interface.rigid([100])}
    own = Reduction(*mesh, ends, method="guyan", dofs=dofs)
    rows = np.ix_([1, 5, 7, 11], [1, 5, 7, 11])
    assert own.stiffness[rows][0] == pytest.approx([12, 6, -12, 6], rel=1e-8)
    M = 420 * mass_of(own.moments)[rows]
    assert M[0] == pytest.approx([156, 22, 54, -13], rel=2e-4)
    assert M[1, 1:] == pytest.approx([4, 13, -3], rel=4e-4)


def test_methods_bound_the_frequencies_of_the_whole_mesh() -> None:
    """Guyan above Craig-Bampton above the mesh, one by one; free modes are kept exactly. Forces at rest are of all."""
    _, K, M = brick((6, 2, 2), (8.0, 2.0, 2.0), 2e3, 1.0)
    whole = np.sqrt(eigh(K.toarray(), M.toarray(), eigvals_only=True)[6:]) / (2 * np.pi)
    blocks = [block(method) for method in ("guyan", "craig-bampton", "free")]
    for own in blocks[1:]:
        first, modes = np.split(own.stiffness, [12])
        at_rest = first[:, :12] - first[:, 12:] @ np.linalg.solve(modes[:, 12:], modes[:, :12])
        assert at_rest == pytest.approx(blocks[0].stiffness, abs=1e-7 * np.abs(at_rest).max())
    guyan, bampton, free = (own.frequencies for own in blocks)
    assert (guyan >= bampton[:6] * (1 - 1e-9)).all()
    assert (bampton[:6] >= whole[:6] * (1 - 1e-9)).all()
    assert bampton[:2] == pytest.approx(whole[:2], rel=0.03)
    assert free[:6] == pytest.approx(whole[:6], rel=1e-6)
    finer = block(modes=40).frequencies
    assert (finer[:12] <= bampton[:12] * (1 + 1e-9)).all()


def test_a_bar_converges_from_above() -> None:
    """Guyan gives sqrt(3) c/L for pi/2 c/L; fixed-interface modes lower it."""
    found = []
    for modes in (0, 1, 3, 8):
        mesh, dofs = chain(60, EA=1.0)
        ends = {"a": Interface.rigid([0]), "b": Interface.rigid([60])}
        own = Reduction(*mesh, ends, modes=modes, dofs=dofs, frequency=None)
        along = [6] + [k for k in range(12, 12 + own.modes)]
        M = mass_of(own.moments)
        found.append(np.sqrt(eigh(own.stiffness[np.ix_(along, along)], M[np.ix_(along, along)], eigvals_only=True)[0]))
    assert found[0] == pytest.approx(np.sqrt(3.0), rel=1e-4)
    assert all(a >= b - 1e-12 for a, b in zip(found, found[1:], strict=False))


@pytest.mark.parametrize("damped", [{"damping": 0.02}, {"rayleigh": (0.3, 0.04)}])
@pytest.mark.parametrize("method", ["guyan", "craig-bampton", "free"])
def test_rigid_motions_are_free_and_have_the_inertia_of_the_mesh(method: str, damped: dict) -> None:
    """And what deforms is damped as its ratio, or Rayleigh's two factors, say."""
    own = block(method, **damped)
    squares, shapes = (part[..., 6:] for part in eigh(own.stiffness, mass_of(own.moments)))
    alpha, beta = damped.get("rayleigh", (0.0, 0.0))
    expected = np.diag(2.0 * damped.get("damping", 0.0) * np.sqrt(squares) + alpha + beta * squares)
    assert shapes.T @ own.damping @ shapes == pytest.approx(expected, abs=1e-7 * expected.max())
    R = rigid_coordinates(own.places, len(own.stiffness))
    assert np.abs(own.stiffness @ R).max() < 1e-10 * np.abs(own.stiffness).max()
    assert np.abs(own.damping @ R).max() < 1e-10 * np.abs(own.damping).max()
    assert own.projection @ R == pytest.approx(np.eye(6), abs=1e-10)
    whole = R.T @ mass_of(own.moments) @ R
    assert whole[:3, :3] == pytest.approx(32.0 * np.eye(3), abs=1e-9)
    assert whole[3:, 3:] == pytest.approx(own.inertia, abs=1e-9)
    assert np.diag(own.inertia) == pytest.approx([32 * 8 / 12, 32 * 68 / 12, 32 * 68 / 12], rel=1e-9)
    assert np.abs(own.rest).max() < 1e-12 * np.abs(whole).max()


def test_order_of_interfaces_and_place_of_the_mesh_change_nothing() -> None:
    points, K, M = brick((4, 1, 1), (8.0, 2.0, 2.0), 2e3, 1.0)
    one = Reduction(points, K, M, ENDS, modes=3)
    other = Reduction(points, K, M, dict(reversed(ENDS.items())), modes=3)
    assert other.frequencies == pytest.approx(one.frequencies, rel=1e-9)
    away = np.array([3.0, -2.0, 5.0])
    corners = {
        "a": Interface.average(np.array([[0, 0, 0], [0, 2, 2]]) + away),
        "b": Interface.average(np.array([[8, 0, 0], [8, 2, 2]]) + away),
    }
    there = Reduction(points + away, K, M, corners, modes=3)
    assert there.center == pytest.approx(one.center + away)
    assert there.moments == pytest.approx(one.moments, abs=1e-9)


def test_millimetres_and_tonnes_are_metres_and_kilograms() -> None:
    points, K, M = brick((4, 1, 1), (0.8, 0.2, 0.2), 2e9, 1e3)
    box = np.array([[0.0, 0, 0], [0, 0.2, 0.2]])
    si = Reduction(points, K, M, {"a": Interface.average(box)}, modes=3)
    mm = Reduction(1e3 * points, 1e-3 * K, 1e-3 * M, {"a": Interface.average(1e3 * box)}, modes=3, units="mm-t-s")
    assert mm.frequencies == pytest.approx(si.frequencies, rel=1e-9)
    assert mm.inertia == pytest.approx(si.inertia, rel=1e-9)


def test_masses_off_their_nodes_are_where_they_are() -> None:
    """Of a part, and of consistent beams, mass couples displacements and rotations: center, weight, frequencies."""
    part = mbs.Model()
    section = BeamSection.rectangle(0.05, 0.03, E=210e9, nu=0.3, rho=7850.0).shifted(0.1, 0.05)
    beam = Beam.line(part, (0, 0, 0), (1, 0, 0), section, elements=2, y_axis=(0, 1, 0))
    part.add(RigidBody(beam.nodes[-1], 3.0, (0.1, 0.2, 0.3), (0.1, 0.2, -0.3)))
    ends = {name: Interface.rigid(beam.nodes[k].name) for name, k in (("a", 0), ("b", -1))}
    body = Reduction.model(mbs.linearize(part), ends, modes=6)
    assert body.center == pytest.approx((11.775 * np.array((0.5, 0.1, 0.05)) + 3 * np.array((1.1, 0.2, -0.3))) / 14.775)
    assert not list(body.doubts())
    part.fix(beam.nodes[0], rotation=True)
    assert of_held(body)[:12] == pytest.approx(mbs.modes(part, 12).frequencies, rel=1e-8)

    bend = np.array([[156, 22, 54, -13], [22, 4, 13, -3], [54, 13, 156, -22], [-13, -3, -22, 4]]) / 420
    stiff = np.array([[12, 6, -12, 6], [6, 4, -6, 2], [-12, -6, 12, -6], [6, 2, -6, 4.0]])
    K, M, turns = np.zeros((18, 18)), np.zeros((18, 18)), np.array([1, -1, 1, -1])
    for first, scale in ((0, 1.0), (6, 0.3)):  # two elements of 1 m, one of them lighter and softer
        for rows, sign in (((1, 5, 7, 11), np.ones(4)), ((2, 4, 8, 10), turns)):
            place = np.ix_(np.add(rows, first), np.add(rows, first))
            K[place] += scale * stiff * np.outer(sign, sign)
            M[place] += scale * bend * np.outer(sign, sign)
        for rows in ((0, 6), (3, 9)):
            place = np.ix_(np.add(rows, first), np.add(rows, first))
            K[place] += scale * np.array([[1e3, -1e3], [-1e3, 1e3]])
            M[place] += scale * np.array([[2, 1], [1, 2]]) / 6
    points, dofs = np.arange(3.0)[:, None] * (1, 0, 0), [(k, a) for k in range(3) for a in range(1, 7)]
    ends = {"a": Interface.rigid([0]), "b": Interface.rigid([2])}
    rod, heavy = (Reduction(points, s * K, s * M, ends, dofs=dofs, modes=6) for s in (1.0, 1e3))
    (told,) = rod.doubts()
    assert "of its mass matrix belongs to no displacement" in told and [told] == list(heavy.doubts())
    assert rod.center == pytest.approx(((0.5 + 0.3 * 1.5) / 1.3, 0, 0))
    whole = np.sqrt(eigh(K[6:, 6:], M[6:, 6:], eigvals_only=True)) / (2 * np.pi)
    assert of_held(rod) == pytest.approx(whole, rel=1e-8)


def of_held(body: Reduction) -> np.ndarray:
    """Frequencies in Hz with its interface a held, all but where modes end."""
    model = mbs.Model()
    model.fix(model.add(FlexibleBody.place(model, body)).node("a"), rotation=True)
    return mbs.modes(model, 12).frequencies


def test_a_file_keeps_it_to_the_bit(tmp_path: Path) -> None:
    own = block(damping=0.01)
    own.save(tmp_path / "block")
    again = Reduction.load(tmp_path / "block.npz")
    assert again.names == own.names
    for name, value in own.arrays().items():
        assert np.array_equal(again.arrays()[name], value), name


def spinning(lag: float, parts: int = 1, modes: int = 4, stiffens: bool = False, tip: bool = True) -> mbs.Modes:
    model = mbs.Model("SE3")
    own = blade(parts, modes, stiffens, tip)
    nodes = [model.add_node((k / parts, 0, 0)) for k in range(parts + (len(own.names) > 1))]
    model.add(RevoluteJoint(model.ground, nodes[0], (0, 0, 1), drive=lambda t: lag * t))
    for k in range(parts):
        model.add(FlexibleBody(nodes[k : k + len(own.names)], own, position=(k / parts, 0, 0)))
    return mbs.modes(model, 4, mbs.steady_rotation(model, (0, 0, lag)).state(-1))


@pytest.mark.one
@pytest.mark.parametrize(("speed", "flap"), [(3.0, 4.79728), (6.0, 7.36037)])
def test_a_rotating_blade_stiffens(speed: float, flap: float) -> None:
    """Flap of a slender blade without hub (Hodges, Rutkowski 1981), lag ``omega^2 = flap^2 - speed^2``."""
    exact = np.array([np.sqrt(flap**2 - speed**2), flap])
    errors = [np.abs(spinning(speed, parts=n, modes=m).angular[:2] / exact - 1.0) for n, m in ((1, 4), (2, 4), (4, 2))]
    assert (errors[0] < 0.04).all()
    assert (errors[1] < errors[0] / 7).all()
    assert (errors[2] < 5e-4).all()


@pytest.mark.parametrize("tip", [False, True])
@pytest.mark.parametrize(("speed", "flap", "within"), [(3.0, 4.79728, 1e-4), (6.0, 7.36037, 1.5e-3)])
def test_one_blade_stiffens_within_itself(
    speed: float, flap: float, within: float, tip: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """With displacements of second order: 0.8 and 3.8 % without; what it lacks without, it tells."""
    exact = [np.sqrt(flap**2 - speed**2), flap]
    assert spinning(speed, modes=6, stiffens=True, tip=tip).angular[:2] == pytest.approx(exact, rel=within)
    assert not caplog.records
    spinning(speed, modes=6)
    assert ("a part of the centrifugal stiffening only" in caplog.text) is (speed == 6.0)


def test_what_bends_gets_shorter() -> None:
    """A cantilever of four bodies under a tip moment of 1.5 EI/L is a circle: to 1e-5 with stiffening, 6e-5 without."""
    model = mbs.Model("SE3")
    bodies = FlexibleBody.chain(model, [blade(4, 2, True)] * 4)
    model.add(bodies)
    model.fix(bodies[0].nodes[0])
    model.add(Moment(tip := bodies[-1].nodes[1], (0, 0, 1.5)))
    at = mbs.statics(model).position(tip)[-1]
    assert at == pytest.approx([np.sin(1.5) / 1.5, (1.0 - np.cos(1.5)) / 1.5, 0.0], abs=1e-5)


@pytest.mark.ci
def test_stress_of_what_bends_has_no_part_of_what_gets_shorter() -> None:
    """A force pulls a bar that it bends with ``F sin`` of the slope; interfaces that come nearer do not press."""
    skfem, meshio = pytest.importorskip("skfem"), pytest.importorskip("meshio")
    mesh = skfem.MeshTet.init_tensor(*(np.linspace(0, s, n + 1) for s, n in ((1.0, 12), (0.02, 1), (0.04, 2))))
    ends = {"a": Interface.rigid(lambda p: p[:, 0] < 1e-9), "b": Interface.average(lambda p: p[:, 0] > 1.0 - 1e-9)}
    faces = {"faces": lambda p: (p[:, 0] == 0.5) & (p[:, 2] == 0.02) & ((p[:, 1] == 0.0) | (p[:, 1] == 0.02))}
    cells = meshio.Mesh(mesh.p.T, [("tetra", mesh.t.T)])
    own = Reduction.solid(cells, 70e9, 0.3, 2700.0, ends, modes=4, stiffening=True, recover=faces)
    means = []
    for load in (1.0, 300.0):
        model = mbs.Model("SE3")
        bar = model.add(FlexibleBody.place(model, own))
        model.fix(bar.node("a"))
        model.add(Force(bar.node("b"), (0, load, 0)))
        solution = mbs.statics(model)
        means.append(solution.stress(bar, "faces")[-1, :, 0].mean())
    nearer = np.diff(solution.deformation(bar)[-1, :, 0]).item()
    slope = 300.0 * (0.5 - 0.125) / (70e9 * 0.04 * 0.02**3 / 12)
    assert 70e9 * nearer < -2e5
    assert means[1] - 300.0 * means[0] == pytest.approx(300.0 * np.sin(slope) / 8e-4, abs=0.1 * 70e9 * abs(nearer))


@pytest.mark.ci
def test_a_body_that_is_spun_up_tells_that_it_lacks_stiffening(caplog: pytest.LogCaptureFixture) -> None:
    model = mbs.Model("SE3")
    body = model.add(FlexibleBody.place(model, blade(1, 2), name="blade"))
    for spin in (5.0, 4.0, 0.0):
        for node in body.nodes:
            node.angular_velocity = (0, 0, spin)
        assert ("a part of the centrifugal stiffening only" in str(model.check())) == (spin > 0.2 * 22.4)
    model.add(RevoluteJoint(model.ground, body.node("a"), (0, 0, 1), drive=lambda t: t**2))
    solution = mbs.simulate(model, 2.4, 0.05)
    assert np.isfinite(solution.energy.total).all()  # without another word
    assert caplog.text.count("a part of the centrifugal stiffening only") == 1
    assert "its lowest frequency with interfaces held is 22.4 rad/s" in caplog.text


def test_a_rigid_rotation_has_its_second_order() -> None:
    """``int X x2^T dm = 1/2 int X X^T dm skew(phi)^2``, and no shift of the mass centre, to rounding of the mesh."""
    si, mm = bodies = solid_bar("SI", stiffening=True), solid_bar("mm-t-s", stiffening=True)
    np.testing.assert_allclose(mm.second_order, si.second_order, atol=1e-8 * np.abs(si.second_order).max())
    for own in bodies:
        phi = np.array([0.3, -0.5, 0.7])
        q = rigid_coordinates(own.places, len(own.stiffness))[:, 3:] @ phi
        found = 0.5 * np.einsum("ljk,j,k->l", own.second_order, q, q)
        assert found[:3] == pytest.approx(0.0, abs=1e-12)
        turned = 0.5 * own.moments[1:4, 1:4] @ so3.skew(phi) @ so3.skew(phi)
        assert found[3:12].reshape(3, 3) == pytest.approx(turned, abs=1e-12)
        assert found[12:] == pytest.approx(0.0, abs=1e-9 * np.abs(own.stiffness).max()), (
            "interfaces stay where they are"
        )


def solid_bar(units: str, **more: object) -> Reduction:
    """A bar of 0.4 x 0.05 x 0.1 m as a mesh of m or mm, one end rigid, one averaged."""
    skfem, meshio = pytest.importorskip("skfem"), pytest.importorskip("meshio")
    length, mass = {"SI": (1.0, 1.0), "mm-t-s": (1e3, 1e-3)}[units]
    own = skfem.MeshTet.init_tensor(*(length * np.linspace(0, s, n + 1) for s, n in ((0.4, 6), (0.05, 1), (0.1, 2))))
    ends = {
        "a": Interface.rigid(lambda p: p[:, 0] < 1e-9),
        "b": Interface.average(lambda p: p[:, 0] > 0.399 * length),
    }
    mesh, E, rho = meshio.Mesh(own.p.T, [("tetra", own.t.T)]), 70e9 * mass / length, 2700.0 * mass / length**3
    return Reduction.solid(mesh, E, 0.3, rho, ends, modes=4, units=units, **more)


def test_stress_of_millimetres_and_tonnes_is_that_of_metres() -> None:
    si, mm = (solid_bar(units) for units in ("SI", "mm-t-s"))
    assert mm.mass == pytest.approx(si.mass)
    assert mm.surface.stress == pytest.approx(si.surface.stress, rel=1e-9, abs=1e-6 * np.abs(si.surface.stress).max())


def dumbbell(J: float = 0.0) -> Reduction:
    """Two masses of 2 kg at +-1 m, on massless bars of 200 N/m to the middle."""
    points = np.array([[-1.0, 0, 0], [0, 0, 0], [1.0, 0, 0]])
    dofs = np.stack([np.repeat(np.arange(3), 6), np.tile(np.arange(1, 7), 3)], axis=1)
    (_, K, _), _ = chain(2, 2.0, EA=200.0, GJ=1e6)
    stiff = K.toarray()
    axial = np.isin(np.arange(18) % 6, [0])
    stiff[np.ix_(~axial, ~axial)] *= 1e5  # more would leave rounding of the order of the bars
    M = np.diag(np.tile([2.0, 2, 2, J, J, J], 3))
    M[6:12, 6:12] = 0.0
    ends = {"left": Interface.rigid([0]), "right": Interface.rigid([2])}
    return Reduction(points, stiff, M, ends, method="guyan", dofs=dofs)


@pytest.mark.parametrize("spin", [2.0, 4.0])
def test_a_dumbbell_stretches_as_it_turns(spin: float) -> None:
    """``u = l m Omega^2/(k - m Omega^2)``; radial vibration ``k/m - Omega^2 + 4 Omega^2 m r^2/(m r^2 + J)``."""
    J = 0.05
    model = mbs.Model("SE3")
    body = model.add(FlexibleBody.place(model, dumbbell(J)))
    model.add(ParallelAxesJoint(model.ground, body.node("left"), (0, 0, 1)))
    state = mbs.steady_rotation(model, (0, 0, spin)).state(-1)
    stretched = 2.0 * spin**2 / (200.0 - 2.0 * spin**2)
    apart = state.x[2] - state.x[1]
    assert np.linalg.norm(apart) / 2 - 1.0 == pytest.approx(stretched, rel=1e-7)
    r = 1.0 + stretched
    exact = np.sqrt(100.0 - spin**2 + 4.0 * spin**2 * 2.0 * r**2 / (2.0 * r**2 + J))
    found = mbs.modes(model, 10, state).angular
    assert np.abs(found - exact).min() < 1e-6 * exact


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_free_flight_is_of_second_order_and_keeps_energy_and_momentum(group: str) -> None:
    found, kept, lost = [], [], []
    own = blade(1, 3)
    for h in (0.01, 0.005, 0.0025):
        model = mbs.Model(group)
        body = model.add(FlexibleBody.place(model, own, velocity=(0.5, 0, 0), angular_velocity=(1.0, 3.0, 2.0)))
        solution = mbs.simulate(model, 1.0, h, mbs.GeneralizedAlpha(1.0))
        rows = np.abs(solution.t[:, None] - np.linspace(0.0, 1.0, 51)).argmin(axis=0)  # a start may be cut
        np.testing.assert_allclose(solution.t[rows], np.linspace(0.0, 1.0, 51), rtol=0, atol=1e-12)
        found.append(solution.position(body.node("b"))[rows])
        total = solution.energy.total
        kept.append(np.abs(total - total[0]).max())
        x = centers(solution, body)
        lost.append(np.abs(x[1] - x[0] - mean_velocity(own)).max())
    apart = [np.abs(a - b).max() for a, b in zip(found, found[1:], strict=False)]
    assert np.log2(apart[0] / apart[1]) == pytest.approx(2.0, abs=0.25)
    assert np.log2(kept[1] / kept[2]) == pytest.approx(2.0, abs=0.3)
    assert lost[-1] < max(lost[0] / 12, 1e-9)
    assert lost[-1] < 2e-4


def mean_velocity(own: Reduction) -> np.ndarray:
    return np.array([0.5, 0, 0]) + np.cross([1.0, 3.0, 2.0], own.center)


def centers(solution: mbs.Solution, body: FlexibleBody) -> np.ndarray:
    """The mass centre over time, by the potential energy of three gravities."""
    system = solution.system
    batch = next(own for own in system.batches if body in own.owners)
    motions = [system.motion(solution.state(k)) for k in (0, -1)]
    energies = [[batch.energy(replace(motion, gravity=g)).gravity[0] for g in np.eye(3)] for motion in motions]
    return -np.array(energies) / body.reduction.mass


@pytest.mark.ci
def test_a_stiff_body_moves_like_a_rigid_one() -> None:
    paths = []
    points, K, M = brick((4, 1, 1), (0.8, 0.2, 0.2), 2e12, 1e3)
    own = Reduction(points, K, M, {"a": Interface.rigid([[0, 0, 0], [0, 0.2, 0.2]])}, modes=2)
    for flexible in (True, False):
        model = mbs.Model("SE3", gravity=(0, 0, -9.81))
        node = model.add_node((0, 0.1, 0.1), angular_velocity=(0.5, 2.0, -1.0))
        if flexible:
            model.add(FlexibleBody([node], own))
        else:
            model.add(RigidBody(node, own.mass, own.inertia, own.center - [0, 0.1, 0.1]))
        paths.append(mbs.simulate(model, 0.3, 0.005).position(node))
    assert np.allclose(*paths, atol=1e-6)


@pytest.mark.one
@pytest.mark.parametrize("stiffening", [False, True])
def test_equal_bodies_share_constants_and_move_as_others(stiffening: bool) -> None:
    """A copy of a reduction is another one, with constants of its own."""
    own = blade(1, 3, stiffening)
    paths = []
    for second in (own, Reduction.of_arrays(own.arrays())):
        model = mbs.Model("SE3", gravity=(0, 0, -1.0))
        for k, reduction in enumerate((own, second)):
            spin = (1.0, 3.0 + k, 2.0)
            model.add(FlexibleBody.place(model, reduction, (0, float(k), 0), angular_velocity=spin, name=f"body {k}"))
        paths.append(mbs.simulate(model, 0.05, 0.01).position("body 1.a"))
    assert paths[0] == pytest.approx(paths[1], abs=1e-12)


@pytest.mark.ci
def test_a_stored_run_is_gone_on_with_without_the_mesh(tmp_path: Path) -> None:
    """Bodies of one reduction have it once in the file, and share it when they are read."""
    model = mbs.Model("SE3", gravity=(0, 0, -9.81))
    own = blade(1, 2)
    body = model.add(FlexibleBody.place(model, own, angular_velocity=(0, 1.0, 0)))
    model.add(FlexibleBody.place(model, own, (0, 1, 0), name="other"))
    model.add(RevoluteJoint(model.ground, body.node("a"), (0, 1, 0)))
    whole = mbs.simulate(model, 0.2, 0.01)
    whole.save(tmp_path / "run")
    again = mbs.load(tmp_path / "run")
    assert np.array_equal(again.position("body.b"), whole.position(body.node("b")))
    first, second = (part.reduction for part in again.model.elements if isinstance(part, FlexibleBody))
    assert first is second and np.array_equal(first.moments, own.moments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p, K, M: Reduction(p, K, M, {}), "interfaces must be a dict"),
        (lambda p, K, M: Reduction(p, K, M, {"a": Interface.rigid([0, 1])}), "fewer than three"),
        (lambda p, K, M: Reduction(p, K, M, {"a": Interface.rigid("face")}), "has no set 'face'"),
        (lambda p, K, M: Reduction(p, K, M, {"a": Interface.rigid([[9, 9, 9], [9, 9, 9.5]])}), "has no nodes"),
        (lambda p, K, M: Reduction(p, K, M, {**ENDS, "c": ENDS["a"]}), "share nodes"),
        (lambda p, K, M: Reduction(p, K + 9 * abs(K).max() * M, M, ENDS), "the stiffness holds the body at node"),
        (lambda p, K, M: Reduction(p, K, -M, ENDS), "mass must be positive"),
        (lambda p, K, M: Reduction(p[1:], K, M, ENDS), "stiffness must be"),
        (lambda p, K, M: Reduction(p, K, M, ENDS, modes=999), "modes = 999 are more than"),
        (lambda p, K, M: Reduction(p, K, M, ENDS, dofs=[(0, 1), (0, 0)]), "1 to 6 in each row, received 0, 0 in row 1"),
        (lambda p, K, M: Reduction(p, K, M, ENDS, dofs=[(0, 1), (0, 1)]), "two rows belong to one direction"),
        (lambda p, K, M: Reduction(p, K, M, ENDS, dofs=[(0, 1), (20, 1)]), "a node from 0 to 19 .* received 20, 1"),
        (
            lambda p, K, M: Reduction([*p, p[0]], K, M, ENDS, dofs=list(np.ndindex(20, 3)) + np.eye(1, 2, 1)),
            "node 20 has not",
        ),
        (lambda p, K, M: Reduction(p, K, M, ENDS, triangles=[(0, 1, -1)]), "triangles must be three nodes from 0"),
        (lambda p, K, M: Reduction(p, K, M, ENDS, triangles=[(0, 1, 20)]), "from 0 to 19 .* received 0, 1, 20"),
        (lambda p, K, M: Reduction(p, K, M, ENDS, rayleigh=(0, 1), damping=0.1), "in place of a damping ratio"),
        (lambda p, K, M: Reduction.load("nowhere.npz"), "cannot be read as a reduction"),
    ],
)
def test_bad_input_is_refused(change: object, message: str) -> None:
    with pytest.raises(mbs.ModelError, match=message):
        change(*brick((4, 1, 1), (8.0, 2.0, 2.0), 2e3, 1.0))  # type: ignore[operator]


def test_nodes_go_in_the_order_of_their_list() -> None:
    """Weights belong to them so, and points that are kept."""
    points, K, M = brick((4, 1, 1), (8.0, 2.0, 2.0), 2e3, 1.0)
    first, mixed = np.flatnonzero(points[:, 0] == 0.0), np.random.default_rng(0).permutation(4)
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    own, same = (
        Reduction(points, K, M, {"a": Interface.average(first[order], weights=weights[order])}, recover={"s": [9, 2]})
        for order in (np.arange(4), mixed)
    )
    np.testing.assert_allclose(own.center + own.places, weights @ points[first][None] / 10.0, atol=1e-12)
    np.testing.assert_allclose(same.stiffness, own.stiffness, atol=1e-9 * np.abs(own.stiffness).max())
    np.testing.assert_allclose(own.surface.points[own.rows_at("s", "")] + own.center, points[[9, 2]], atol=1e-12)


def test_functions_that_fail_are_named() -> None:
    for ends, more in (({"a": Interface.rigid(lambda x: x / "x")}, {}), (ENDS, {"geometric": lambda u: u / "x"})):
        with pytest.raises(mbs.LawError, match="^Reduction: (interface 'a': the function|geometric) failed: "):
            Reduction(*brick((4, 1, 1), (8.0, 2.0, 2.0), 2e3, 1.0), ends, **more)


def test_nodes_that_are_elsewhere_are_refused() -> None:
    model = mbs.Model()
    nodes = [model.add_node((0, 1, 1)), model.add_node((8, 1, 1.1))]
    with pytest.raises(mbs.ModelError, match="the interface 'b' at"):
        FlexibleBody(nodes, block())
    with pytest.raises(mbs.ModelError, match="one for each of a, b"):
        FlexibleBody({"a": nodes[0]}, block())


def test_a_placed_body_is_called_as_its_nodes() -> None:
    model = mbs.Model()
    body = model.add(FlexibleBody.place(model, block(modes=0), name="arm"))
    assert (body.name, body.node("a").name) == ("arm", "arm.a") and model["arm"] is body
    R, at, spin = so3.exp(np.array([0.3, -2.0, 1.0])), np.array([0.0, 0.0, 9.0]), np.array([1.0, 2.0, -0.5])
    row = FlexibleBody.chain(model, [block(modes=0)] * 3, at, R, angular_velocity=spin, name="row")
    assert [own.name for own in model.add(row)] == ["row 1", "row 2", "row 3"]
    joints = [row[0].node("a"), *(own.node("b") for own in row)]
    assert all(one.node("b") is other.node("a") for one, other in pairwise(row))
    for k, node in enumerate(joints):  # one line, that turns about the place of the first mesh
        np.testing.assert_allclose(node.position, at + R @ (8.0 * k, 1, 1), rtol=0, atol=1e-12)
        np.testing.assert_allclose(node.velocity, R @ np.cross(spin, (8.0 * k, 1, 1)), rtol=0, atol=1e-12)
    other = FlexibleBody.place(model, block(modes=0), (0, 9, 0), name="leg")
    assert model.add(other, name="left").name == "left"


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
def test_a_mesh_is_brought_to_its_nodes(size: float) -> None:
    R, at = so3.exp(np.array([0.3, -2.0, 1.0])), size * np.array([3.0, -1.0, 0.5])
    mesh, model = brick((2, 1, 1), size * np.array([4.0, 2.0, 3.0]), 2e3, 1.0), mbs.Model()
    corners = size * np.array([[[0, 0, 0], [0, 2, 3]], [[4, 0, 0], [4, 2, 3]]])
    ends = {name: Interface.average(box) for name, box in zip("ab", corners, strict=True)}
    top = Interface.average([4, 6, 7], point=size * np.array([2.0, 1.0, 3.0]))
    two, three = (Reduction(*mesh, own, modes=0) for own in (ends, ends | {"top": top}))
    nodes = [model.add_node(at + R @ (size * np.array(point))) for point in ((0, 1, 1.5), (4, 1, 1.5), (2, 1, 3))]
    body = FlexibleBody(nodes, three, position=None)
    near = 1e-12 * size
    assert body.position == pytest.approx(at, abs=near) and body.rotation == pytest.approx(R, abs=1e-12)
    assert FlexibleBody(nodes[:2], two, position=None, rotation=R).position == pytest.approx(at, abs=near)
    with pytest.raises(mbs.ModelError, match="a, b are on one line"):
        FlexibleBody(nodes[:2], two, position=None)
    with pytest.raises(mbs.ModelError, match="'top' at"):
        FlexibleBody([*nodes[:2], model.add_node((0, 0, 0))], three, position=None)


def test_another_factorisation_may_be_given() -> None:
    asked = []

    def solve(K: csc_array) -> object:
        asked.append(K.shape)
        return splu(K).solve

    assert block(solve=solve).frequencies == pytest.approx(block().frequencies, rel=1e-7)
    assert len(asked) == 1


def test_a_gravity_of_its_own_is_refused() -> None:
    model = mbs.Model()
    body = model.add(FlexibleBody.place(model, block(modes=0)))
    with pytest.raises(mbs.ModelError, match="feels the gravity of the model"):
        Gravity(body)


@pytest.mark.slow
def test_a_body_that_bends_beyond_linear_elasticity_ends_the_run() -> None:
    model = mbs.Model("SE3")
    body = model.add(FlexibleBody.place(model, blade(1, 2)))
    model.fix(body.node("a"))
    model.add(Moment(body.node("b"), (0, 40.0, 0)))
    with pytest.raises(mbs.FemMbsError, match="more than linear elasticity can mean"):
        mbs.statics(model)


def test_an_interface_that_is_turned_too_far_is_refused() -> None:
    """However well the frame settles, here of a heavy end: by 3 rad and more, another way round may be shorter."""
    (points, stiffness, _), dofs = chain(1)
    ends = {"heavy": Interface.rigid([0]), "light": Interface.rigid([1])}
    model = mbs.Model("SE3")
    own = Reduction(points, stiffness, np.diag(np.repeat([1.0, 1e-3], 6)), ends, method="guyan", dofs=dofs)
    body = model.add(FlexibleBody.place(model, own))
    system = mbs.System(model)
    motion, row = system.motion(mbs.start(system)), system.number(body.node("light"))
    [batch] = [batch for batch in system.batches if body in batch.owners]
    for angle, refused in ((2.9, False), (3.1, True)):
        R = motion.R.copy()
        R[row] = R[row] @ so3.exp(np.array([angle, 0.0, 0.0]))
        with pytest.raises(mbs.MotionError, match="'light' turns by 3.1. rad") if refused else nullcontext():
            assert batch.frame(replace(motion, R=R)).settled.all()


@pytest.mark.parametrize("far", [1e20, 1e37, 1e150])
def test_interfaces_that_are_anywhere_have_no_frame(far: float) -> None:
    """Where an iterate may throw them: an error of ours, and none of linear algebra."""
    model = mbs.Model("SE3")
    body = model.add(FlexibleBody.place(model, block(modes=0)))
    system = mbs.System(model)
    motion = system.motion(mbs.start(system))
    places = motion.x + far * np.random.default_rng(0).normal(size=motion.x.shape)
    batch = next(batch for batch in system.batches if body in batch.owners)
    with np.errstate(all="ignore"), pytest.raises(mbs.MotionError, match="more than linear elasticity can mean"):
        batch.frame(replace(motion, x=places))
