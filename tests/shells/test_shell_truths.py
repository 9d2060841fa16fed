"""Shells against closed forms and published values, in statics; the whole tables are cases of ``fem-mbs validate``."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_bvp
from scipy.linalg import null_space

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.benchmarks import plates
from fem_mbs.elements import (
    Beam,
    BeamSection,
    DistributedLoad,
    EdgeLoad,
    FixedJoint,
    Force,
    Pressure,
    RevoluteJoint,
    RigidBody,
    Shell,
    ShellSection,
)


def linear(built: plates.Built, load: float = 1e-6) -> np.ndarray:
    model, nodes = built
    solution = mbs.statics(model, load_end=load)
    return np.array([solution.displacement(node)[-1] / load for node in nodes])


@pytest.mark.ci
def test_cook_and_scordelis_lo() -> None:
    assert linear(plates.cook(8), 1e-7)[0, 1] == pytest.approx(23.96, rel=0.02)
    assert linear(plates.scordelis_lo(8), 1e-5)[0, 2] == pytest.approx(-0.3024, rel=1e-2)


@pytest.mark.one
@pytest.mark.parametrize("along", [1, 2, 5])
def test_a_cylinder_under_pressure_is_wider_by_the_same_all_along(along: float) -> None:
    """``p R^2/E t``: edges that bow between rings of nodes must not take the hoop strain off, however long they are."""
    R, t, p, E = 0.5, 0.005, 1e5, 210e9
    model = mbs.Model()
    section = ShellSection.isotropic(t, E, 0.3, 7850.0)
    quarter = 0.5 * np.pi
    shell = Shell.surface(
        model, lambda u, v: (R * np.cos(quarter * u), R * np.sin(quarter * u), v), section, elements=(10, along)
    )
    for edge, axis in (("left", 1), ("right", 0)):
        for node in shell.edge(edge):
            rest = node is shell.edge(edge)[0]
            held = (axis == 0, axis == 1, rest)
            model.fix(node, translation=held, rotation=(axis == 1, axis == 0, True))
    model.add(Pressure(shell, p))
    solution = mbs.statics(model)
    wider = [np.hypot(*solution.position(node)[-1, :2]) - R for node in shell.nodes]
    np.testing.assert_allclose(wider, p * R**2 / (E * t), rtol=6e-3)  # 9 degrees an element: (pi/20)^2/6


def full_tank(along: int) -> tuple[Array, Array]:
    """Heights, and how much wider a quarter of a tank of water is there, that is clamped at its bottom."""
    model = mbs.Model(gravity=(0, 0, 0))
    quarter = 0.5 * np.pi
    wall = ShellSection.isotropic(0.02, 2e9, 0.3, 1000.0)
    tank = Shell.surface(
        model, lambda u, v: (0.5 * np.cos(quarter * u), 0.5 * np.sin(quarter * u), v), wall, elements=(6, along)
    )
    for node in tank.edge("bottom"):
        model.fix(node)
    for edge, axis in (("left", 1), ("right", 0)):
        for node in tank.edge(edge)[1:]:
            model.fix(node, translation=(axis == 0, axis == 1, False), rotation=(axis == 1, axis == 0, True))
    model.add(Pressure(tank, [1e4 * (1.0 - node.position[2]) for node in tank.nodes]))
    solution = mbs.statics(model, loads=[0.01])
    line = tank.edge("left")
    return np.array([node.position[2] for node in line]), np.array(
        [solution.displacement(node)[-1, 0] / 0.01 for node in line]
    )


@pytest.mark.slow
def test_a_tank_full_of_water_is_a_beam_on_an_elastic_foundation() -> None:
    """``S (w' - psi)' = E t/R^2 w - p``, ``D psi'' + S (w' - psi) = 0``: off by 12 and 3.2 % with 12 and 24."""
    E, nu, R, t = 2e9, 0.3, 0.5, 0.02
    D, S, k = E * t**3 / 12 / (1 - nu**2), 5 / 6 * E / (2 * (1 + nu)) * t, E * t / R**2
    wall = solve_bvp(
        lambda z, y: np.array([y[3] / S + y[1], y[2], -y[3] / D, k * y[0] - 1e4 * (1.0 - z)]),
        lambda bottom, top: np.array([*bottom[:2], *top[2:]]),
        np.linspace(0.0, 1.0, 201),
        np.zeros((4, 201)),
        tol=1e-6,
    )
    off = []
    for along in (12, 24):
        z, w = full_tank(along)
        exact = wall.sol(z)[0]
        off.append(np.abs(w - exact).max() / exact.max())
    assert off[0] < 0.13 and off[1] < 0.034 and off[0] / off[1] > 3.5, off


def test_thin_plates_do_not_lock() -> None:
    """Clamped, uniform load: 0.00126532 q a^4/D; the same within 0.1 % from h/a = 1e-3 to 1e-4."""
    centre = [linear(plates.square_plate(8, h, True), 1e-4)[0, 2] for h in (1e-3, 1e-4)]
    assert centre[0] == pytest.approx(0.00126532, rel=5e-3)
    assert centre[1] == pytest.approx(centre[0], rel=1e-3)


@pytest.mark.ci
@pytest.mark.parametrize(("clamped", "exact"), [(True, 0.00126532), (False, 0.00406235)])
def test_displacements_of_plates_converge_with_order_two(clamped: bool, exact: float) -> None:
    """Thin square plates under a uniform load, against their series: 4 and 8 elements a quarter."""
    coarse, fine = (abs(linear(plates.square_plate(n, 1e-3, clamped), 1e-4)[0, 2] - exact) for n in (4, 8))
    assert np.log2(coarse / fine) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_a_strip_rolls_up_to_a_full_circle(group: str) -> None:
    model = mbs.Model(group, gravity=(0, 0, 0))
    section = ShellSection.isotropic(0.1, E=1.2e6, nu=0.0, rho=1.0)
    strip = Shell.rectangle(model, (0, 0, 0), (12, 0, 0), (0, 1, 0), section, elements=(8, 1))
    for node in strip.edge("left"):
        model.fix(node)
    model.add(EdgeLoad(strip.edge("right"), (0, 0, 0), moment=(0, -50 * np.pi / 3, 0)))
    solution = mbs.statics(model, loads=[0.5, 1.0])
    u = solution.displacement(strip.node(-1, 0))
    np.testing.assert_allclose(u[:, [0, 2]], [(-12, 24 / np.pi), (-12, 0)], atol=12e-4)
    np.testing.assert_allclose(solution.shell_forces(strip)[-1, :, 3], -50 * np.pi / 3, rtol=1e-6)


@pytest.mark.ci
def test_large_deflection_of_a_cantilever() -> None:
    """Sze, Liu, Lo 3.1, in few iterations, also where it is thin."""
    model, nodes = plates.cantilever(16)
    solution = mbs.statics(model, loads=[0.5, 1.0])
    u = solution.displacement(nodes[0])
    np.testing.assert_allclose(u[:, [0, 2]], [(-1.604, 4.933), (-3.286, 6.698)], rtol=1e-3)
    assert sum(solution.stats.newton_iterations) < 25
    iterations = []
    for h in (1e-1, 1e-2, 1e-3):
        model = mbs.Model(gravity=(0, 0, 0))
        section = ShellSection.isotropic(h, E=12.0 / h**3, nu=0.0, rho=1.0)
        strip = Shell.rectangle(model, (0, 0, 0), (10, 0, 0), (0, 1, 0), section, elements=(10, 1))
        for node in strip.edge("left"):
            model.fix(node)
        model.add(EdgeLoad(strip.edge("right"), (0, 0, 0.04)))
        iterations.append(sum(mbs.statics(model).stats.newton_iterations))
    # with the exact stiffness, thin ones need hundreds
    assert max(iterations) < 40, iterations


@pytest.mark.ci
@pytest.mark.parametrize("around", [(False, 4.0), (True, 1.0)], ids=["free", "held on all sides"])
def test_buckling_of_plates(around: tuple[bool, float]) -> None:
    """A long strip pressed at its ends, simply supported: Euler's column, or k = 4 with supports along it."""
    supported, _ = around
    h, a = 0.01, 1.0
    section = ShellSection.isotropic(h, E=12.0 * (1 - 0.09 * supported) / h**3, nu=0.3 * supported, rho=1.0)
    model = mbs.Model(gravity=(0, 0, 0))
    plate = Shell.rectangle(model, (0, 0, 0), (a, 0, 0), (0, a, 0), section, elements=(12, 12))
    supports = plates.Supports(model)
    supports.hold(plate.edge("left"), (2,))
    supports.hold(plate.edge("right"), (2,))
    if supported:
        supports.hold([*plate.edge("bottom"), *plate.edge("top")], (2,))
    supports.hold([plate.node(6, 6)], (0, 1))
    supports.hold([plate.node(0, 6), plate.node(-1, 6)], (1,))
    supports.fix()
    for side, sign in (("left", 1.0), ("right", -1.0)):
        model.add(EdgeLoad(plate.edge(side), (sign, 0, 0)))
    factor = np.abs(mbs.buckling(model).factors[0])
    exact = np.pi**2 * (4.0 if supported else 1.0)
    assert factor == pytest.approx(exact, rel=0.015)


def test_a_plate_with_an_eccentric_stiffener_is_a_t_beam() -> None:
    """Bent as a beam with the plate as its flange; one node for both, the beam's section stands off."""
    E, L, b, h, web, thick = 1e7, 2.0, 0.2, 0.01, 0.06, 0.01
    model = mbs.Model(gravity=(0, 0, 0))
    section = ShellSection.isotropic(h, E=E, nu=0.0, rho=1.0)
    plate = Shell.rectangle(model, (0, -b / 2, 0), (L, 0, 0), (0, b, 0), section, elements=(16, 2), name="plate")
    for node in plate.edge("left"):
        model.fix(node)
    middle = [plate.node(i, 1) for i in range(17)]
    rib = BeamSection.rectangle(thick, web, E=E, nu=0.0, rho=1.0).shifted(0.0, -(web + h) / 2)
    model.add(Beam(middle, rib, (0, 1, 0)))
    model.add(Force(middle[-1], (0, 0, -1e-4)))
    A = np.array([b * h, thick * web])
    z = np.array([0.0, -(web + h) / 2])
    center = A @ z / A.sum()
    I = b * h**3 / 12 + thick * web**3 / 12 + A @ (z - center) ** 2
    deflection = mbs.statics(model).displacement(middle[-1])[-1, 2]
    assert deflection == pytest.approx(-1e-4 * L**3 / (3 * E * I), rel=0.02)


def test_joints_and_bodies_take_nodes_of_shells() -> None:
    """A body hangs at the edge of a panel: its weight, and the moment of that about the edge."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    section = ShellSection.isotropic(0.01, E=1e9, nu=0.3, rho=100.0)
    panel = Shell.rectangle(model, (0, 0, 0), (1, 0, 0), (0, 0.4, 0), section, elements=(4, 2), name="panel")
    for node in panel.edge("left"):
        model.fix(node)
    body = model.add_node((1.0, 0.2, -0.3))
    model.add(RigidBody(body, 2.0, (0.01, 0.01, 0.01)))
    edge = panel.node(-1, 1)
    weld = model.add(FixedJoint(edge, body, point=edge.position))
    solution = mbs.statics(model)
    force, moment = solution.reaction(weld)
    np.testing.assert_allclose(force[-1], [0, 0, 2 * 9.81], atol=1e-6)
    lever = solution.position(body)[-1] - solution.position(edge)[-1]
    np.testing.assert_allclose(moment[-1], np.cross(lever, force[-1]), atol=1e-6)
    total = solution.shell_forces(panel)[-1].reshape(4, 2, 8)[0, :, 6].sum() * 0.2
    assert abs(total) == pytest.approx(2 * 9.81 + 0.875 * 0.4 * 9.81, rel=0.05)


def pulled_sheet(h: float, strain: float, across: float, shape: str, nu: float = 0.3) -> tuple[mbs.Model, Shell]:
    """Three by three elements, 1 wide, pulled along x by dead loads on free edges."""
    E, n, rng = 1e6, 3, np.random.default_rng(3)
    model = mbs.Model(gravity=(0, 0, 0))
    s = np.linspace(0.0, 1.0, n + 1)
    places = np.stack(
        [*np.meshgrid(0.25 * s if shape == "short" else s, s, indexing="ij"), np.zeros((n + 1, n + 1))], -1
    )
    if shape == "distorted":
        places[1:-1, 1:-1, :2] += 0.3 / n * rng.uniform(-1.0, 1.0, (n - 1, n - 1, 2))
    if shape == "skew":
        places[1:-1, :, 0] += 0.4 * (places[1:-1, :, 1] - 0.5)
    nodes = [[model.add_node(x) for x in row] for row in places]
    quads = [[nodes[i][j], nodes[i + 1][j], nodes[i + 1][j + 1], nodes[i][j + 1]] for i in range(n) for j in range(n)]
    section = ShellSection.isotropic(h, E=E, nu=nu, rho=1000.0)
    sheet = model.add(Shell(quads, section, grid=(n, n)), name="sheet")
    pull = E * h * strain
    for side, force in (("left", (-1, 0)), ("right", (1, 0)), ("bottom", (0, -across)), ("top", (0, across))):
        if any(force):
            model.add(EdgeLoad(sheet.edge(side), (pull * force[0], pull * force[1], 0)))
    supports = plates.Supports(model)
    supports.hold([sheet.node(0, 0)], range(6))
    supports.hold([sheet.node(-1, 0)], (1, 2))
    supports.hold([sheet.node(0, -1)], (2,))
    supports.fix()
    return model, sheet


@pytest.mark.ci
@pytest.mark.parametrize("across", [0.0, 1.0], ids=["one way", "both ways"])
@pytest.mark.parametrize("shape", ["square", "distorted", "skew", "short"])
def test_sheets_keep_still_under_any_tension(shape: str, across: float) -> None:
    """However thin; stretched by what Hooke says."""
    for h, strain in ((3e-3, 0.05), (3e-5, 0.1)):
        model, sheet = pulled_sheet(h, strain, across, shape)
        solution = mbs.statics(model, loads=[1.0])
        assert solution.unstable[-1] == 0, (h, strain)
        exact = strain * np.array([1 - 0.3 * across, across - 0.3, 0.0]) * (0.25 if shape == "short" else 1.0, 1.0, 1.0)
        np.testing.assert_allclose(solution.displacement(sheet.node(-1, -1))[-1], exact, atol=1e-9)
        pulls = solution.shell_forces(sheet)[-1, :, :2].sum(axis=-1)
        np.testing.assert_allclose(pulls, 1e6 * h * strain * (1 + across), rtol=1e-6)


@pytest.mark.ci
@pytest.mark.parametrize("shape", ["square", "distorted", "short"])
def test_thin_sheets_carry_their_weight(shape: str) -> None:
    """Forces on nodes do no work on edges that bow, and neither do membrane forces: exact, and stable at any strain."""
    for h, strain in ((3e-3, 0.05), (3e-5, 0.1)):
        model, sheet = pulled_sheet(h, 0.0, 0.0, shape, nu=0.0)
        length = sheet.node(-1, 0).position[0]
        pull = 1e6 * h * strain
        model.add(EdgeLoad(sheet.edge("left"), (-pull, 0, 0)))
        model.add(DistributedLoad(sheet, (pull / length, 0, 0)))
        solution = mbs.statics(model, loads=[1.0])
        assert solution.unstable[-1] == 0, (h, strain)
        stretch = solution.displacement(sheet.node(-1, 1))[-1, 0] - solution.displacement(sheet.node(0, 1))[-1, 0]
        assert stretch == pytest.approx(strain * length / 2, rel=1e-2)


def test_thin_sheets_turn_fast() -> None:
    """A sheet 1/1000 of an element thick, stretched by 1 % by its rotation, has no motion that gives way."""
    model, h, strain = mbs.Model(gravity=(0, 0, 0)), 1e-3 / 3, 0.01
    section = ShellSection.isotropic(h, E=1e6, nu=0.0, rho=1000.0)
    sheet = Shell.rectangle(model, (0.5, -0.5, 0), (1, 0, 0), (0, 1, 0), section, elements=(3, 3))
    spin = (0.0, np.sqrt(1e3 * strain), 0.0)
    hub = model.add_node((0, 0, 0), angular_velocity=spin)
    model.add(RigidBody(hub, 1.0, np.eye(3)))
    for node in sheet.edge("left"):
        model.add(FixedJoint(hub, node))
    model.add(RevoluteJoint(model.ground, hub, (0, 1, 0)))
    linear = mbs.linearize(model, mbs.steady_rotation(model, spin).state(-1))
    Z = null_space(linear.B.toarray())
    stiffness = np.linalg.eigvalsh(Z.T @ (linear.K + linear.K.T).toarray() @ Z)
    assert stiffness[0] > -1e-9 * stiffness[-1]


@pytest.mark.ci
def test_a_pulled_sheet_that_is_pushed_swings_and_comes_back(caplog: pytest.LogCaptureFixture) -> None:
    """In time as in statics: 1/500 of an element thick, 5 % strain, an energy that it keeps."""
    model, sheet = pulled_sheet(6.25e-4, 0.05, 0.0, "square")
    pulled = mbs.statics(model, loads=[1.0]).state(-1)
    middle = sheet.node(1, 1)
    model.add(Force(middle, lambda t: (0, 0, 0.01 * np.sin(20 * np.pi * (t - 1)) if t < 1.05 else 0.0)))
    solution = mbs.simulate(model, 1.4, 0.005, initial=pulled)
    away = np.abs(solution.position(middle)[:, 2])
    assert 1e-4 < away.max() < 0.02
    energy = solution.energy.total[solution.t > 1.06]
    np.testing.assert_allclose(energy, energy[0], rtol=5e-4)
    assert "compressed" not in caplog.text
