"""Shells in time: frequencies, momentum and energy in free flight, limits of beams and rigid bodies, copies, files."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import eigh

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.benchmarks import plates
from fem_mbs.elements import Beam, BeamSection, FixedJoint, RevoluteJoint, RigidBody, Shell, ShellSection
from fem_mbs.elements.shells.section import DRILLING
from fem_mbs.lie import so3

GROUPS = ["R3xSO3", "SE3"]


def free_plate(group: str, E: float = 1e6, elements: tuple[int, int] = (3, 2)) -> tuple[mbs.Model, Shell]:
    """Turns about a middle axis and flies."""
    model = mbs.Model(group, gravity=(0, 0, 0))
    section = ShellSection.isotropic(0.02, E=E, nu=0.3, rho=500.0)
    plate = Shell.rectangle(model, (0, 0, 0), (0.6, 0, 0), (0, 0.3, 0), section, elements=elements, name="plate")
    omega = np.array([1.0, 6.0, 0.5])
    center = np.array([0.3, 0.15, 0.0])
    for node in plate.nodes:
        node.velocity = np.array([0.2, 0.0, 1.0]) + np.cross(omega, node.position - center)
        node.angular_velocity = node.rotation.T @ omega
    return model, plate


def momenta(solution: mbs.Solution, plate: Shell) -> np.ndarray:
    """Linear and angular momentum ``(nt, 6)`` about the origin, by the masses of the element."""
    x, v = (np.stack([getattr(solution, name)(node) for node in plate.nodes], 1) for name in ("position", "velocity"))
    about = 1.0, 1.0, DRILLING
    spin = np.stack(
        [np.matvec(solution.rotation(node), about * solution.angular_velocity(node)) for node in plate.nodes], axis=1
    )
    masses = plate.section.mass * plate.shared
    inertia = plate.section.inertia * plate.shared.sum(axis=-1)
    p = masses @ v[:, plate.cells]
    angular = np.cross(x[:, plate.cells], p) + inertia[..., None] * spin[:, plate.cells]
    return np.concatenate([p.sum(axis=(1, 2)), angular.sum(axis=(1, 2))], axis=-1)


@pytest.mark.ci
@pytest.mark.parametrize("group", GROUPS)
def test_a_thrown_plate_keeps_momentum_and_energy(group: str) -> None:
    model, plate = free_plate(group)
    solution = mbs.simulate(model, 0.1, 0.002, mbs.GeneralizedAlpha(rho_inf=1.0))
    p = momenta(solution, plate)
    size = np.abs(p[0]).max()
    exact = 1e-9 if group == "R3xSO3" else 1e-4
    np.testing.assert_allclose(p[:, :3], np.broadcast_to(p[0, :3], p[:, :3].shape), atol=exact * size)
    np.testing.assert_allclose(p[:, 3:], np.broadcast_to(p[0, 3:], p[:, 3:].shape), atol=2e-3 * size)
    energy = solution.energy.total
    np.testing.assert_allclose(energy, energy[0], rtol=2e-3)
    assert solution.energy.strain.max() > 1e-4 * energy[0]


@pytest.mark.slow
def test_positions_are_of_second_order_in_the_step() -> None:
    errors = []
    for steps in (20, 40, 80):
        model, plate = free_plate("R3xSO3", E=1e5)
        solution = mbs.simulate(model, 0.05, 0.05 / steps)
        errors.append(solution.position(plate.node(0, 0))[-1])
    order = np.log2(np.linalg.norm(errors[1] - errors[0]) / np.linalg.norm(errors[2] - errors[1]))
    assert order == pytest.approx(2.0, abs=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_a_plate_thrown_for_ten_thousand_steps(group: str) -> None:
    model, plate = free_plate(group)
    solution = mbs.simulate(model, 20.0, 0.002, mbs.GeneralizedAlpha(rho_inf=1.0))
    assert len(solution.t) == 10_001
    p, energy = momenta(solution, plate), solution.energy.total
    size = np.abs(p[0]).max()
    assert np.abs(p[:, :3] - p[0, :3]).max() < (1e-8 if group == "R3xSO3" else 0.02) * size
    assert np.abs(p[:, 3:] - p[0, 3:]).max() < 0.02 * size
    assert np.abs(energy / energy[0] - 1).max() < 0.02


@pytest.mark.ci
def test_a_stiff_plate_is_a_rigid_body() -> None:
    """Its inertia is that of its mass matrix: the mesh's, and the thickness about all axes."""
    model, plate = free_plate("R3xSO3", E=1e10, elements=(2, 2))
    solution = mbs.simulate(model, 0.15, 0.005)
    other = mbs.Model(gravity=(0, 0, 0))
    center = np.array([0.3, 0.15, 0.0])
    m = 10.0 * 0.18
    # of masses at four points of each element, in line with the mass matrix
    x = np.array([node.position for node in plate.nodes])[plate.cells] - center
    M = plate.section.mass * plate.shared
    second = np.einsum("eia,eij,ejb->ab", x, M, x)
    inertia = np.trace(second) * np.eye(3) - second + plate.section.inertia * 0.18 * np.eye(3)
    omega = np.array([1.0, 6.0, 0.5])
    node = other.add_node(center, velocity=(0.2, 0, 1.0), angular_velocity=omega)
    other.add(RigidBody(node, m, inertia))
    reference = mbs.simulate(other, 0.15, 0.005)
    turn = reference.rotation(node)[-1]
    place = reference.position(node)[-1] + turn @ (plate.node(0, 0).position - center)
    np.testing.assert_allclose(solution.position(plate.node(0, 0))[-1], place, atol=1e-3)
    assert np.linalg.norm(so3.log(turn.T @ solution.rotation(plate.node(0, 0))[-1])) < 5e-3


@pytest.mark.ci
@pytest.mark.parametrize("group", GROUPS)
def test_a_hinged_strip_swings_as_a_beam(group: str) -> None:
    """nu = 0 and no twist: both meshes have the same limit."""
    E, b, h, rho, L, n = 1e6, 0.1, 0.02, 500.0, 1.0, 6

    def run(shell: bool) -> np.ndarray:
        model = mbs.Model(group, gravity=(0, 0, -9.81))
        if shell:
            section = ShellSection.isotropic(h, E=E, nu=0.0, rho=rho)
            strip = Shell.rectangle(model, (0, 0, 0), (L, 0, 0), (0, b, 0), section, elements=(n, 1), name="strip")
            for node in strip.edge("left"):
                model.fix(node, rotation=(True, False, True))
            tip = strip.node(-1, 0)
        else:
            I = b * h**3 / 12
            inertia = rho * np.array([2 * I, I, I])
            section = BeamSection(E * b * h, 5 / 12 * E * b * h, E * I, E * I, rho * b * h, inertia)
            beam = Beam.line(model, (0, 0, 0), (L, 0, 0), section, elements=n)
            model.add(RevoluteJoint(model.ground, beam.nodes[0], (0, 1, 0)))
            tip = beam.nodes[-1]
        return mbs.simulate(model, 0.4, 0.01).position(tip)[:, [0, 2]]

    np.testing.assert_allclose(run(True), run(False), atol=2e-3)


@pytest.mark.ci
def test_frequencies_of_plates() -> None:
    """Simply supported: 19.739, 49.348 twice; cantilevered: Leissa 1973; omega a^2 sqrt(rho h/D)."""
    h, nu = 0.01, 0.3
    section = ShellSection.isotropic(h, E=12 * (1 - nu**2) / h**3, nu=nu, rho=1.0 / h)

    def frequencies(edges: dict[str, tuple[int, ...]], count: int) -> np.ndarray:
        model = mbs.Model(gravity=(0, 0, 0))
        plate = Shell.rectangle(model, (0, 0, 0), (1, 0, 0), (0, 1, 0), section, elements=(12, 12))
        supports = plates.Supports(model)
        supports.hold(plate.nodes, (0, 1, 5))
        for side, components in edges.items():
            supports.hold(plate.edge(side), components)
        supports.fix()
        return 2 * np.pi * np.asarray(mbs.modes(model, count).frequencies)

    hard = {"left": (2, 3), "right": (2, 3), "bottom": (2, 4), "top": (2, 4)}
    np.testing.assert_allclose(frequencies(hard, 3), [19.739, 49.348, 49.348], rtol=0.03)
    found = frequencies({"left": tuple(range(6))}, 5)
    np.testing.assert_allclose(found, [3.4917, 8.5246, 21.429, 27.331, 31.111], rtol=0.02)


@pytest.mark.ci
def test_rotation_stiffens_a_strip_as_a_beam() -> None:
    E, b, h, rho, L, n = 1e8, 0.05, 0.01, 500.0, 1.0, 12
    found = []
    for shell in (True, False):
        model = mbs.Model(gravity=(0, 0, 0))
        if shell:
            section = ShellSection.isotropic(h, E=E, nu=0.0, rho=rho)
            part = Shell.rectangle(model, (0, -b / 2, 0), (L, 0, 0), (0, b, 0), section, elements=(n, 2))
            held = part.edge("left")
        else:
            I = b * h**3 / 12
            rib = BeamSection(
                E * b * h, 5 / 12 * E * b * h, 1.0, (E * I, E * h * b**3 / 12), rho * b * h, (1e-4, rho * I, 1e-4)
            )
            part = Beam.line(model, (0, 0, 0), (L, 0, 0), rib, n, y_axis=(0, 1, 0))
            held = [part.nodes[0]]
        hub = model.add_node((0, 0, 0))
        model.add(RigidBody(hub, 1.0, (1, 1, 1)))
        model.add(RevoluteJoint(model.ground, hub, (0, 0, 1), drive=lambda t: 10.0 * t))
        for node in held:
            model.add(FixedJoint(hub, node))
        steady = mbs.steady_rotation(model, (0, 0, 10.0))
        found.append(np.asarray(mbs.modes(model, 1, state=steady.state(-1)).frequencies)[0])
    assert found[0] == pytest.approx(found[1], rel=0.01)


@pytest.mark.ci
def test_copies_files_and_linear_models(tmp_path: Path) -> None:
    models = [free_plate("R3xSO3", E)[0] for E in (1e6, 2e6)]
    many = mbs.simulate_many(models, 0.02, 0.002)
    for E, solution in zip((1e6, 2e6), many, strict=True):
        model, plate = free_plate("R3xSO3", E)
        alone = mbs.simulate(model, 0.02, 0.002)
        np.testing.assert_allclose(solution.position("plate[0,0]"), alone.position(plate.node(0, 0)), atol=1e-9)
    alone.save(tmp_path / "plate.fmbs")
    again = mbs.load(tmp_path / "plate.fmbs")
    np.testing.assert_array_equal(again.shell_forces("plate"), alone.shell_forces("plate"))
    np.testing.assert_array_equal(again.shell_stress("plate", "bottom"), alone.shell_stress("plate", "bottom"))
    linear = mbs.linearize(model)
    assert linear.M.shape[0] == 6 * len(plate.nodes)


@cache
def corner_of_a_plate() -> Array:
    """Where it is after 10 ms, by short steps."""
    model, plate = free_plate("R3xSO3", E=1e4, elements=(2, 1))
    return mbs.simulate(model, 0.01, mbs.VariableStep(1e-5)).position(plate.node(0, 0))[-1]


@pytest.mark.parametrize(
    "method",
    [mbs.RadauIIA(), mbs.RungeKuttaMuntheKaas(), mbs.GeneralizedAlpha(formulation="index2"), mbs.UpdatedLagrangian()],
    ids=lambda method: type(method).__name__,
)
def test_every_kind_of_method_moves_a_plate(method: mbs.Method) -> None:
    model, plate = free_plate("R3xSO3", E=1e4, elements=(2, 1))
    step = 0.0001 if isinstance(method, mbs.RungeKuttaMuntheKaas) else 0.001
    place = mbs.simulate(model, 0.01, step, method).position(plate.node(0, 0))[-1]
    np.testing.assert_allclose(place, corner_of_a_plate(), atol=2e-5)


def test_pictures_of_shells(tmp_path: Path) -> None:
    """Faces look outward, thick ones are as thick as they are; fields stand in the file."""
    import meshio

    model, _ = free_plate("R3xSO3")
    section = ShellSection.isotropic(0.05, E=1e6, nu=0.3, rho=500.0)
    Shell.rectangle(model, (0, 0, 1), (1, 0, 0), (0, 1, 0), section, elements=(2, 2), name="thick", thick=True)
    solution = mbs.simulate(model, 0.004, 0.002)
    solution.to_paraview(tmp_path / "plate")
    mesh = meshio.read(sorted(tmp_path.rglob("*.vtu"))[-1])
    assert {"membrane_force", "bending_moment", "shear_force", "stress_top", "stress_bottom"} <= set(mesh.point_data)
    assert np.ptp(mesh.points[mesh.points[:, 2] > 0.9][:, 2]) == pytest.approx(0.05, rel=1e-6)


@pytest.mark.ci
def test_a_hinged_panel_swings_and_keeps_its_energy() -> None:
    """Both groups give one motion; what changes the momentum is the weight and the hinges."""
    runs = []
    for group in GROUPS:
        model, panel, hinges = plates.swinging_panel(group)
        solution = mbs.simulate(model, 0.2, 0.005, mbs.GeneralizedAlpha(rho_inf=1.0))
        fallen = np.ptp(solution.energy.gravity)
        assert np.ptp(solution.energy.total) < 2e-3 * fallen
        assert solution.energy.strain.max() > 0.01 * fallen
        forces = sum(solution.reaction(hinge)[0] for hinge in hinges) - (0, 0, panel.section.mass * 0.6 * 9.81)
        # without its first steps, in which forces of the stiff modes settle
        pushed = 0.005 * (0.5 * (forces[1:] + forces[:-1])).cumsum(axis=0)
        p = momenta(solution, panel)[1:, :3]
        np.testing.assert_allclose(pushed - pushed[0], p - p[0], atol=0.02 * np.abs(p).max())
        runs.append(solution.position(panel.node(-1, 2)))
    np.testing.assert_allclose(runs[0], runs[1], atol=2e-3)


def test_pictures_have_the_stresses_of_plies(tmp_path: Path) -> None:
    """Those of ``shell_stress``, beside a shell that has none."""
    import meshio

    model = mbs.Model(gravity=(0, 0, -9.81))
    section = ShellSection.laminate([(0, 1e-3), (45, 2e-3), (90, 1e-3)], E1=140e9, E2=10e9, G12=5e9, nu12=0.3, rho=1600)
    strip = Shell.rectangle(model, (0, 0, 0), (1, 0, 0), (0, 0.5, 0), section, elements=(2, 1), name="strip")
    Shell.rectangle(
        model, (0, 0, 1), (1, 0, 0), (0, 1, 0), ShellSection.isotropic(0.05, 1e6, 0.3, 500.0), elements=(1, 1)
    )
    for node in strip.edge("left"):
        model.fix(node)
    solution = mbs.simulate(model, 0.004, 0.002)
    solution.to_paraview(tmp_path / "strip")
    fields = meshio.read(sorted(tmp_path.rglob("*.vtu"))[-1]).point_data
    assert {f"ply_{ply}_{side}" for ply in range(3) for side in ("top", "bottom")} <= set(fields)
    of_ply = fields["ply_1_bottom"]
    for expected in solution.shell_stress(strip, "bottom", ply=1)[-1]:
        assert np.abs(of_ply - expected).max(axis=1).min() < 1e-6 * np.abs(expected).max()


@pytest.mark.parametrize("thickness", [0.3, 0.02])
def test_what_has_a_thickness_ends_before_drilling_begins(thickness: float) -> None:
    """No motion that swings slower than shear through the thickness is a turn about the normals."""
    G, rho = 70e9 / 2.6, 2700.0
    model = mbs.Model()
    Shell.rectangle(
        model, (0, 0, 0), (1, 0, 0), (0, 1, 0), ShellSection.isotropic(thickness, 70e9, 0.3, rho), elements=(4, 4)
    )
    linear = mbs.linearize(model)
    M = linear.M.toarray()
    squares, shapes = eigh(linear.K.toarray(), M)
    slower = squares < 10.0 * G / rho / thickness**2
    about_normals = np.diag(M)[5::6] @ shapes[5::6] ** 2  # kinetic energies over those of the modes
    assert slower.sum() > 50 and about_normals[slower].max() < 0.1
