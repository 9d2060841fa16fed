"""Rotors on bearings: frequencies from the ground, critical speeds, stability, unbalance, against known values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from meshes import brick, chain
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve
from scipy.special import mathieu_a, mathieu_b

import fem_mbs as mbs
from fem_mbs.elements import (
    Beam,
    BeamSection,
    Bearing,
    Block,
    Bushing,
    FixedJoint,
    FlexibleBody,
    GeneralJoint,
    Interface,
    JointFriction,
    JointSpring,
    JournalBearing,
    LowPass,
    NodeSensor,
    PointMass,
    Reduction,
    RevoluteJoint,
    RigidBody,
    RollingDisc,
    SpringDamper,
)
from fem_mbs.elements.forces.bearing import film
from fem_mbs.modal.floquet import floquet_modes
from fem_mbs.modal.linear_model import linear_equations
from fem_mbs.static.campbell import Campbell, Vibration

X = (1.0, 0.0, 0.0)


def friswell(order: int = 3, elements: int = 6) -> mbs.Model:
    """Friswell, Penny, Garvey, Lees 2010, example 5.9.2: two discs on a shaft, unequal supports; too stiff to twist."""
    E, G, rho, d = 211e9, 81.2e9, 7810.0, 0.05
    nu, A, second = E / (2 * G) - 1, np.pi * d**2 / 4, np.pi * d**4 / 64
    kappa = 6 * (1 + nu) / (7 + 6 * nu)
    section = BeamSection(
        EA=E * A,
        GA=kappa * G * A,
        GJ=1e4 * G * second,
        EI=E * second,
        mass=rho * A,
        inertia=(2 * rho * second, rho * second, rho * second),
    )
    model = mbs.Model()
    nodes = [model.add_node((x, 0, 0)) for x in np.linspace(0, 1.5, elements * order + 1)]
    model.add(Beam(nodes, section, order=order, y_axis=(0, 1, 0)))
    for share, outer in ((1 / 3, 0.28), (2 / 3, 0.35)):
        mass = rho * np.pi * 0.07 * (outer**2 - d**2) / 4
        polar = mass * (outer**2 + d**2) / 8
        across = polar / 2 + mass * 0.07**2 / 12
        model.add(RigidBody(nodes[round(share * elements * order)], mass, (polar, across, across)))
    for node in (nodes[0], nodes[-1]):
        model.add(Bearing(model.ground, node, X, (1e6, 0.8e6), across=(0, 1, 0)))
    return model


def test_a_published_rotor_on_unequal_supports() -> None:
    """Example 5.9.2, by six cubic Timoshenko elements (ROSS); ours agree as meshes are refined, but for that mesh."""
    rest = [82.653, 86.658, 254.520, 274.313, 679.489, 716.786]
    fast = [82.325, 86.864, 239.642, 287.250, 583.488, 806.887]
    speeds = np.array([0.0, 2000.0, 4000.0]) * 2 * np.pi / 60
    diagram = mbs.campbell(friswell(), speeds, count=6)
    assert np.sort(diagram.angular[0, :6]) == pytest.approx(rest, rel=5e-4)
    assert np.sort(diagram.angular[-1][np.isfinite(diagram.angular[-1])]) == pytest.approx(fast, rel=7e-4)
    assert diagram.whirl[-1, [0, 1]] == pytest.approx([-diagram.whirl[-1, 1], diagram.whirl[-1, 1]], abs=0.5)
    assert not len(diagram.unstable)


def rigid_rotor(
    k: object, damping: object = None, inertia: tuple[float, float] = (0.5, 0.3), **more: object
) -> mbs.Model:
    model = mbs.Model("SE3")
    node = model.add_node((0, 0, 0), name="disc")
    model.add(RigidBody(node, 10.0, (inertia[0], inertia[1], inertia[1])))
    for x in (-0.4, 0.4):
        model.add(Bearing(model.ground, node, X, k, damping, point=(x, 0, 0), across=(0, 1, 0), **more))
    return model


@pytest.mark.ci
def test_a_rigid_rotor_has_its_closed_form() -> None:
    """``I_d w^2 - I_p W w - 2 k a^2 = 0`` of the cone; backward critical at ``(I_d + I_p) W^2 = 2 k a^2``."""
    diagram = mbs.campbell(rigid_rotor((1e4, 1e4)), [0.0, 50.0, 100.0, 200.0], count=4)
    last = diagram.angular[-1]
    assert np.sort(last) == pytest.approx([29.405882, np.sqrt(2e3), np.sqrt(2e3), 362.739216], rel=1e-7)
    assert diagram.whirl[-1][np.argsort(last)[[0, 3]]] == pytest.approx([-1.0, 1.0], abs=1e-9)
    assert diagram.critical() == pytest.approx([np.sqrt(2e3), np.sqrt(4e3)], rel=1e-8)
    mixed = mbs.campbell(rigid_rotor((1e4, 1e4)), [100.0, 0.0, 50.0, 50.0], count=4)
    assert mixed.critical() == pytest.approx([np.sqrt(2e3), np.sqrt(4e3)], rel=1e-8), "in whatever order of speeds"
    with pytest.raises(mbs.ModelError, match="turning names none but held nodes"):
        mbs.campbell(rigid_rotor((1e4, 1e4)), [50.0], turning=["ground"])
    assert "forward" in str(diagram)
    turns = diagram.shapes[-1, :, -1, 3:]
    y, z = turns[np.argsort(last)[0], 1:]
    assert z / y == pytest.approx(1j, abs=1e-9), "backward: y leads z"


@pytest.mark.parametrize("creeping", [0, 12])
def test_what_turns_freely_or_creeps_leaves_no_mode_out(creeping: int) -> None:
    """A disc that nothing keeps from tilting nutates with ``I_p W/I_d``, beside masses whose dampers let them creep."""
    model = mbs.Model()
    disc = model.add_node((0, 0, 0), name="disc")
    model.add(RigidBody(disc, 10.0, (0.1, 0.05, 0.05)))
    model.add(Bearing(model.ground, disc, X, (1e5, 1e5)))
    for k in range(creeping):
        slow = model.add_node((5, k, 0))
        model.add(PointMass(slow, 1.0))
        model.fix(slow, (False, True, True), True)
        model.add(SpringDamper(model.ground, slow, 1.0 + k, 1e3, point_a=(6, k, 0)))
    found = mbs.campbell(model, [30.0, 99.0], turning=["disc"], count=3).angular
    for speed, row in zip((30.0, 99.0), found, strict=True):
        assert np.sort(row[np.isfinite(row)]) == pytest.approx(sorted((100.0, 100.0, 2 * speed)), rel=1e-7)


def test_pictures_name_what_they_show() -> None:
    """Lines of the diagram, with that of the speed, and none that there are not."""
    pytest.importorskip("matplotlib").use("Agg")
    model = rigid_rotor((1e4, 2e4))
    figure = mbs.campbell(model, [0.0, 0.01], count=2).plot(orders=(1.0, 2.0))
    names = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert names == ["in a plane", "1 x speed", "2 x speed"]


@pytest.mark.ci
def test_a_disc_on_unequal_supports_has_its_frequencies_at_any_speed() -> None:
    """1 kg on 100 and 400 N/m: 10 and 20 rad/s."""
    model = mbs.Model("SE3")
    node = model.add_node((0, 0, 0), name="disc")
    model.add(RigidBody(node, 1.0, (0.1, 0.1, 0.1)))
    model.add(Bearing(model.ground, node, X, (100.0, 400.0, 0.0, 1e3, 1e3), across=(0, 1, 0)))
    for speed in (0.0, 5.0, 10.0, 30.0, -30.0):
        assert mbs.campbell(model, [speed], count=2).angular[0] == pytest.approx([10.0, 20.0], rel=1e-9)
    speeds = np.array([5.0, 15.0, 30.0, -15.0])
    response = mbs.unbalance_response(model, speeds, {"disc": 1e-3})
    x, y = (1e-3 * speeds**2 / (k - speeds**2) for k in (100.0, 400.0))
    assert response.forward("disc") == pytest.approx(np.abs(x + y) / 2, rel=1e-9)
    assert response.backward("disc") == pytest.approx(np.abs(x - y) / 2, rel=1e-9)
    axes = np.sort(np.abs([x, y]), axis=0)
    assert response.major("disc") == pytest.approx(axes[1], rel=1e-9)
    assert response.minor("disc") == pytest.approx(axes[0] * (1, -1, 1, -1)), "backward between the critical speeds"
    measured = model.add(LowPass(model.add(NodeSensor(node, "position", (0, 1, 0))), 0.1))
    again = mbs.unbalance_response(model, speeds, {"disc": 1e-3})
    assert again.shapes == pytest.approx(response.shapes, abs=1e-12), "blocks of signals have no nodes"
    with pytest.raises(mbs.ModelError, match="bearing must be an element with nodes, received LowPass"):
        again.bearing_force(measured)


@pytest.mark.parametrize("speed", [30.0, 90.0, -55.0])
def test_unbalance_of_a_rotor_of_four_coordinates(speed: float) -> None:
    """Two unbalances of a rigid rotor on two cross-coupled bearings: what it whirls by, and what bearings bear."""
    unbalance = {"disc": (2e-4, 0.4), "tip": (1e-4, -1.3)}
    bearings = {
        -0.4: ([[1e4, 3e3], [-2e3, 8e3]], [[40.0, 5.0], [5.0, 60.0]]),
        0.5: ([[2e4, -1e3], [4e3, 9e3]], [[70.0, -10.0], [20.0, 30.0]]),
    }
    model = mbs.Model("SE3")
    disc, tip = (model.add_node((x, 0, 0), name=name) for name, x in (("disc", 0.0), ("tip", 0.3)))
    model.add(RigidBody(disc, 10.0, (0.5, 0.3, 0.3)))
    model.add(RigidBody(tip, 2.0, (0.02, 0.015, 0.015)))
    model.add(FixedJoint(disc, tip))
    held = {
        x: model.add(Bearing(model.ground, disc, X, *pair, point=(x, 0, 0), across=(0, 1, 0)))
        for x, pair in bearings.items()
    }
    response, w, center = mbs.unbalance_response(model, [speed], unbalance), abs(speed), 0.05

    def motion(x: float) -> np.ndarray:
        """Displacements y, z at a place, of the centre's and turns about y, z."""
        return np.array([[1.0, 0.0, 0.0, x - center], [0.0, 1.0, center - x, 0.0]])

    across = 0.3 + 10.0 * center**2 + 0.015 + 2.0 * (0.3 - center) ** 2
    whole = -(w**2) * np.diag([12.0, 12.0, across, across]).astype(complex)
    whole[2, 3], whole[3, 2] = 0.52j * w * speed, -0.52j * w * speed
    for x, (K, C) in bearings.items():
        whole += motion(x).T @ (np.array(K) + 1j * w * np.array(C)) @ motion(x)
    pushed = [
        me * np.exp(1j * angle) * w**2 * np.array([1.0, -1j * np.sign(speed)]) for me, angle in unbalance.values()
    ]
    whirl = np.linalg.solve(whole, motion(0.0).T @ pushed[0] + motion(0.3).T @ pushed[1])
    for name, x in (("disc", 0.0), ("tip", 0.3)):
        y, z = moved = motion(x) @ whirl
        assert response.displacement(name)[0, 1:] == pytest.approx(moved, rel=1e-9)
        assert response.forward(name)[0] == pytest.approx(abs(y + 1j * np.sign(speed) * z) / 2, rel=1e-9)
    for x, (K, C) in bearings.items():
        borne = (np.array(K) + 1j * w * np.array(C)) @ motion(x) @ whirl
        assert response.bearing_force(held[x])[0, 1:] == pytest.approx(borne, rel=1e-9)


def test_forces_of_bearings_under_weight_are_the_change_of_momentum() -> None:
    """What a bearing bears at rest turns with the shaft: of unlike bearings, between which the disc sags and tilts."""
    model = mbs.Model(gravity=(0, 0, -500.0))
    disc = model.add_node((0, 0, 0), name="disc")
    model.add(RigidBody(disc, 12.0, (0.5, 0.3, 0.3)))
    held = [
        model.add(Bearing(model.ground, disc, X, k, (300.0, 100.0), point=(x, 0, 0), across=(0, 1, 0)))
        for x, k in ((-0.3, (1e5, 7e4)), (0.5, (8e4, 5e4)))
    ]
    response = mbs.unbalance_response(model, [50.0, 120.0], {"disc": 1e-3})
    momentum = 12.0 * response.displacement("disc") + 1e-3 * (response.across - 1j * response.other)
    borne = sum(response.bearing_force(each) for each in held)
    expected = response.speeds[:, None] ** 2 * momentum
    np.testing.assert_allclose(borne[:, 1:], expected[:, 1:], rtol=1e-10)
    with pytest.raises(mbs.ModelError, match="is not in the model of this response"):
        response.bearing_force(rigid_rotor((1e4, 1e4)).elements[-1])


def test_cross_coupling_is_unstable_beyond_the_damping() -> None:
    """A Jeffcott rotor is stable as long as ``q < c omega_n``."""
    omega, c = np.sqrt(2e3), 20.0
    for share, stable in ((0.99, True), (1.01, False)):
        q = share * c * omega
        model = rigid_rotor([[1e4, q], [-q, 1e4]], (c, c))
        assert (len(mbs.campbell(model, [5.0], count=4).unstable) == 0) is stable


def test_a_table_over_the_speed_is_read_at_the_speed() -> None:
    """Frequencies are those of the stiffness at the speed."""
    model = rigid_rotor([(1e4, 1e4), (2e4, 2e4), (4e4, 4e4)], speeds=(0.0, 50.0, 100.0))
    found = mbs.campbell(model, [0.0, 50.0, 100.0], count=4).angular
    for row, k in zip(found, (1e4, 2e4, 4e4), strict=True):
        assert np.abs(row - np.sqrt(2 * k / 10)).min() < 1e-7
    with pytest.raises(mbs.FemMbsError, match="beyond its speeds from 0 to 100"):
        mbs.campbell(model, [120.0], count=2)


@pytest.mark.slow
def test_a_rotor_of_tetrahedra_on_unequal_bearings() -> None:
    """Nearly round: refused with what to do; by Floquet's theory, frequencies are those of a swept mesh.

    Motions that swing many times in a turn, also internal ones of 6000 rad/s, are not taken for slow ones.
    """
    skfem, meshio = pytest.importorskip("skfem"), pytest.importorskip("meshio")
    to_meshio = pytest.importorskip("skfem.io.meshio").to_meshio
    ends = {"a": Interface.average(lambda p: p[:, 0] < 1e-6), "b": Interface.average(lambda p: p[:, 0] > 1 - 1e-6)}
    grid = np.linspace(0, 1, 9), *2 * [np.linspace(-0.1, 0.1, 3)]
    tets, swept = skfem.MeshTet.init_tensor(*grid), to_meshio(skfem.MeshHex.init_tensor(*grid))
    models = []
    for mesh in (meshio.Mesh(tets.p.T, [("tetra", tets.t.T)]), swept):
        shaft = Reduction.solid(mesh, 210e9, 0.3, 7800.0, ends, modes=5)
        models.append(model := mbs.Model())
        body = model.add(FlexibleBody.place(model, shaft, name="shaft"))
        model.add(Bearing(model.ground, body.node("a"), X, (1e7, 5e6, 1e7, 0, 0), across=(0, 1, 0)))
        model.add(Bearing(model.ground, body.node("b"), X, (1e7, 5e6), across=(0, 1, 0)))
    with pytest.raises(mbs.ModelError, match="floquet=True"):
        mbs.campbell(models[0], [100.0], count=4)
    found = mbs.campbell(models[0], [100.0], count=4, floquet=True).angular
    assert found == pytest.approx(mbs.campbell(models[1], [100.0], count=4).angular, rel=1e-5)
    with pytest.raises(mbs.ModelError, match="floquet resolves [12] of 4 motions"):
        mbs.campbell(models[0], [0.5], count=4, floquet=True)


def test_a_function_of_the_speed_is_asked_at_the_speed() -> None:
    """As a table of it; and a diagram goes to a file."""
    model = rigid_rotor(lambda w: (1e4 + w * w, 2e4))
    diagram = mbs.campbell(model, [0.0, 50.0, 100.0], count=4)
    for row, k in zip(diagram.angular, (1e4, 1e4 + 2500.0, 2e4), strict=True):
        assert np.abs(row - np.sqrt(2 * k / 10)).min() < 1e-7
    with pytest.raises(mbs.ModelError, match="a function of the speed has its own"):
        rigid_rotor(lambda w: (1e4, 2e4), speeds=(0.0, 1.0))
    with pytest.raises(mbs.LawError, match="stiffness"):
        mbs.campbell(rigid_rotor(lambda w: "stiff"), [1.0])


def test_a_diagram_as_a_table(tmp_path: Path) -> None:
    diagram = mbs.campbell(rigid_rotor((1e4, 2e4)), [0.0, 50.0], count=4)
    head, *rows = (diagram.to_table(tmp_path / "campbell")).read_text().splitlines()
    assert head.split(",")[:4] == ["speed", "angular 1", "damping 1", "whirl 1"]
    values = np.array([row.split(",") for row in rows], float)
    assert np.array_equal(values[:, 0], diagram.speeds) and np.array_equal(values[:, 1::3], diagram.angular)


def test_a_table_over_the_speed_that_swings_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """A cubic spline through a stiffness that sets in is negative before."""
    model = rigid_rotor([(1.0, 1.0), (1.0, 1.0), (1e5, 1e5), (1e5, 1e5)], speeds=(0.0, 50.0, 100.0, 150.0))
    mbs.campbell(model, [100.0], count=2)
    assert "stiffness or damping over speeds: the curve swings beyond the values" in caplog.text
    assert "Bearing" in caplog.text and "rad/s it is -" in caplog.text


def test_what_is_unequal_on_both_sides_is_refused_by_name() -> None:
    model = mbs.Model("SE3")
    node = model.add_node((0, 0, 0))
    model.add(
        RigidBody(
            node,
            10.0,
            (0.5, 0.3, 0.4),
        )
    )
    for x in (-0.4, 0.4):
        model.add(Bearing(model.ground, node, X, (1e4, 2e4), point=(x, 0, 0)))
    with pytest.raises(mbs.ModelError, match="alike all round"):
        mbs.campbell(model, [100.0], count=2)
    model = mbs.Model("SE3")
    node = model.add_node((0, 0, 0))
    model.add(RigidBody(node, 10.0, (0.5, 0.3, 0.4)))
    for x in (-0.4, 0.4):
        model.add(Bearing(model.ground, node, X, (1e4, 1e4), point=(x, 0, 0)))
    with pytest.raises(mbs.ModelError, match="constant only in axes that turn"):
        mbs.campbell(model, [100.0], count=2)


@pytest.mark.parametrize(
    ("e", "K", "C"),
    [
        (0.5, [[2.20994, 0.85770], [-3.97664, 2.92325]], [[3.05392, -2.24496], [-2.24496, 6.61476]]),
        (0.2, [[2.48493, 4.52028], [-5.76309, 1.49782]], [[9.58694, -2.49164], [-2.49164, 10.97979]]),
    ],
)
def test_a_short_bearing_has_the_coefficients_of_its_formulas(e: float, K: list, C: list) -> None:
    """Of Friswell et al., section 5.5.1: ``K c/W``, ``C c W/Omega`` across and along the force of the film."""
    F = film(np.array([e, 0.0]), np.zeros(2), np.ones(1))
    load, step = np.linalg.norm(F), 1e-6
    axes = np.array([[F[1], -F[0]], F]) / load
    slopes = [
        (film(*(part + sign * d for part, d in zip((np.array([e, 0.0]), np.zeros(2)), shift, strict=True)), np.ones(1)))
        for shift in np.eye(4).reshape(4, 2, 2) * step
        for sign in (1.0, -1.0)
    ]
    slopes = -np.array([a - b for a, b in zip(slopes[::2], slopes[1::2], strict=True)]).T / (2.0 * step * load)
    assert axes @ slopes[:, :2] @ axes.T == pytest.approx(np.array(K), abs=1e-5)
    assert axes @ slopes[:, 2:] @ axes.T == pytest.approx(np.array(C), abs=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_the_film_bears_where_its_pressure_is_positive(seed: int) -> None:
    """Of Reynolds' equation with flow along the shaft alone, ``q.n/(1 - r.n)^3`` with ``q = 2 v - Omega t``."""
    rng = np.random.default_rng(seed)
    r, v, speed = rng.uniform(-0.6, 0.6, 2), rng.normal(size=2), 3.0 * rng.normal()
    q = 2.0 * v - speed * np.array([-r[1], r[0]])
    # Gauss: smooth on the half circle that bears
    at, weights = np.polynomial.legendre.leggauss(80)
    n = np.exp(1j * (np.angle(complex(*q)) + 0.5 * np.pi * at))
    n = np.stack([n.real, n.imag], axis=-1)
    force = -0.25 * np.pi * (weights * (n @ q) / (1.0 - n @ r) ** 3) @ n
    np.testing.assert_allclose(film(r, v, np.array([speed])), force, rtol=1e-9)


def test_a_shaft_is_let_go_at_the_centre() -> None:
    """It falls, and whirls: where it goes round with half its speed, the side of the film that bears changes."""
    spin, viscosity, t_end = 100.0, 0.03, 0.01
    unit, m, c = viscosity * 0.025 * 0.02**3 / 1e-8, 10.0, 1e-4

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        return np.append(y[2:], unit / (m * c) * film(y[:2], y[2:], np.array([spin])) + np.array([0.0, -9.81 / c]))

    exact = c * solve_ivp(rates, (0.0, t_end), np.zeros(4), rtol=1e-9, atol=1e-12).y[:2, -1]
    run = mbs.simulate(oiled(9.81, viscosity, spin), t_end, 1e-4)
    assert not run.stats.failed_steps and run.stats.error is not None
    assert np.abs(run.position("disc")[-1, 1:] - exact).max() < 2.0 * run.stats.error.length < 1e-3 * c


def oiled(gravity: float, viscosity: float, spin: float = 0.0) -> mbs.Model:
    """10 kg in a bearing of a tenth of a millimetre, which a soft one keeps from tilting."""
    model = mbs.Model("SE3", gravity=(0, 0, -gravity))
    disc = model.add_node((0, 0, 0), angular_velocity=(spin, 0, 0), name="disc")
    model.add(RigidBody(disc, 10.0, (0.2, 0.1, 0.1)))
    model.add(Bearing(model.ground, disc, X, (0, 0, 1e6, 1e6, 1e6), (0, 0, 1e3, 1e3, 1e3)))
    model.add(JournalBearing(model.ground, disc, X, 0.025, 0.02, 1e-4, viscosity))
    return model


@pytest.mark.slow
def test_a_loaded_shaft_settles_where_the_film_bears_it() -> None:
    """At half the clearance, ``tan = pi sqrt(1 - e^2)/(4 e)`` against the load."""
    load = 10.0 * 9.81 / (2e-7 / 1e-8 * 100.0)
    model = oiled(9.81, load / np.linalg.norm(film(np.array([0.5, 0.0]), np.zeros(2), np.ones(1))), 100.0)
    _, y, z = mbs.simulate(model, 0.4, 1e-3).position("disc")[-1] / 1e-4
    assert np.hypot(y, z) == pytest.approx(0.5, abs=1e-4)
    assert y / -z == pytest.approx(np.pi * np.sqrt(0.75) / 2.0, abs=1e-3)


def test_unbalance_on_a_loaded_film() -> None:
    """``K + i W C - W^2 m`` by differences of the pressure of a short film, integrated round the shaft."""
    spin, viscosity, c, m = 150.0, 0.03, 1e-4, 10.0
    places, weights = np.polynomial.legendre.leggauss(40)

    def force(y: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Of ``3 mu (W dh/dangle + 2 dh/dt)(z^2 - L^2/4)/h^3``, by Reynolds, on the half where that presses."""
        thins = spin * np.array([-y[1], y[0]]) - 2.0 * v
        angle = np.arctan2(-thins[1], -thins[0]) + 0.5 * np.pi * places
        normal = np.array([np.cos(angle), np.sin(angle)])
        pressed = viscosity * 0.02**3 / 2.0 * (thins @ normal) / (c - y @ normal) ** 3
        return np.asarray(0.025 * 0.5 * np.pi * normal @ (weights * pressed))

    def slopes(of: Callable, step: float) -> np.ndarray:
        return np.transpose([(of(step * e) - of(-step * e)) / (2.0 * step) for e in np.eye(2)])

    still = np.zeros(2)
    at = c * fsolve(lambda e: force(c * e, still) - (0.0, m * 9.81), (0.4, -0.4), xtol=1e-12)
    K, C = -slopes(lambda d: force(at + d, still), 1e-9), -slopes(lambda d: force(at, d), 1e-6)
    whirl = np.linalg.solve(K + 1j * spin * C - m * spin**2 * np.eye(2), 1e-4 * spin**2 * np.array([1.0, -1j]))
    response = mbs.unbalance_response(oiled(9.81, viscosity), [spin], {"disc": 1e-4})
    assert response.displacement("disc")[0, 1:] == pytest.approx(whirl, rel=1e-5)
    assert response.bearing_force("JournalBearing 1")[0, 1:] == pytest.approx((K + 1j * spin * C) @ whirl, rel=1e-5)


def test_a_shaft_without_load_whirls_with_half_its_speed() -> None:
    """``m s^2 + pi/2 u s - i pi/4 u Omega = 0``, which grows."""
    u, speed = 0.05 * 2e-7 / 1e-12, 200.0
    exact = np.roots([10.0, 0.5 * np.pi * u, -0.25j * np.pi * u * speed])
    exact = exact[np.argmax(exact.real)]
    diagram = mbs.campbell(oiled(0.0, 0.05), [speed], count=1)
    assert diagram.angular[0, 0] == pytest.approx(exact.imag, rel=1e-7)
    assert -diagram.damping[0, 0] == pytest.approx(exact.real / abs(exact), rel=1e-6)
    assert exact.imag == pytest.approx(100.0, rel=0.1)
    assert list(diagram.unstable) == [speed]


def test_a_shaft_that_touches_is_told() -> None:
    with pytest.raises(mbs.FemMbsError, match="it touches the housing"):
        mbs.simulate(oiled(9.81, 1e-9), 0.1, 1e-3)


@pytest.mark.parametrize("spins", [(50.0, 50.0), (0.0, 50.0), (-20.0, 30.0)])
def test_the_speed_of_a_bearing_is_that_against_its_housing(spins: tuple[float, float]) -> None:
    """Force and energy of a shaft off the centre, whose stiffness grows with the speed."""
    model = mbs.Model()
    housing, shaft = (model.add_node((0, 0, 0)) for _ in spins)
    model.add(Bearing(housing, shaft, X, lambda speed: (100.0 + speed, 100.0 + speed)))
    system = mbs.System(model)
    (batch,), motion = system.batches, system.at_rest()
    x, V = motion.x.copy(), motion.V.copy()
    x[batch.nodes[0, 1], 1], V[batch.nodes[0], 3] = 1e-3, spins
    motion, stiffness = replace(motion, x=x, V=V), 100.0 + spins[1] - spins[0]
    assert batch.energy(motion).strain == pytest.approx(0.5 * stiffness * 1e-6)
    force, _ = batch.force(motion, system.prescribe(0.0).elements[0])
    assert np.abs(force).max() == pytest.approx(1e-3 * stiffness)


@pytest.mark.parametrize(
    ("stiffness", "damping", "active"),
    [
        ((2e3, 1e3), None, False),
        ((2e3, 1e3), [[2.0, 3.0], [-3.0, 1.0]], False),
        ([[2e3, 1e2], [-1e2, 1e3]], None, True),
        ((2e3, 1e3), (2.0, -1.0), True),
        (lambda speed: (2e3, 1e3), None, True),
    ],
)
def test_bearings_that_may_bring_energy_are_known(stiffness: object, damping: object, active: bool) -> None:
    """By what is skew of their stiffness, what is negative of their damping, or by the speed."""
    model = mbs.Model()
    assert Bearing(model.ground, model.add_node((0, 0, 0)), X, stiffness, damping).active is active


def unequal(shaft: tuple[float, float], supports: tuple[float, float]) -> mbs.Model:
    """2 kg on springs that turn with it, and others that stand still."""
    model = mbs.Model("SE3")
    disc, spinner = (model.add_node((0, 0, 0), name=name) for name in ("disc", "spinner"))
    model.add(RigidBody(disc, 2.0, (0.1, 0.1, 0.1)))
    model.add(RigidBody(spinner, 1.0, (0.1, 0.1, 0.1)))
    model.add(RevoluteJoint(model.ground, spinner, X))
    model.add(Bearing(spinner, disc, X, (*shaft, 0, 0, 0), across=(0, 1, 0)))
    model.add(Bearing(model.ground, disc, X, (*supports, 2e3, 1e3, 1e3), across=(0, 1, 0)))
    return model


@pytest.mark.one
@pytest.mark.parametrize(
    ("speed", "multiplier"), [(10.0, 1.0), (18.708, 1.1227), (21.08, 1.0929), (23.452, 1.0754), (30.0, 1.0)]
)
def test_what_half_a_turn_does_where_neither_is_alike_all_round(speed: float, multiplier: float) -> None:
    """Largest multiplier of half a turn, against midpoint exponentials in 400 steps."""
    model = unequal((300, 500), (300, 700))
    diagram = mbs.campbell(model, [speed], count=3, floquet=True)
    worst = np.argmin(diagram.damping[0])
    ratio = -diagram.damping[0, worst]
    grows = ratio * diagram.angular[0, worst] / np.sqrt(1.0 - ratio**2)
    assert np.exp(grows * np.pi / speed) == pytest.approx(multiplier, abs=6e-5)
    assert len(diagram.unstable) == (multiplier > 1.0)
    with pytest.raises(mbs.ModelError, match=r"Bearing 1' is not.*floquet=True"):
        mbs.campbell(model, [speed], count=3)


@pytest.mark.ci
@pytest.mark.parametrize(("edge", "order", "q", "inside"), [(mathieu_b, 1, 1.5, 1), (mathieu_a, 2, 3.0, -1)])
def test_what_moves_one_way_alone_is_unstable_as_mathieu(edge: Callable, order: int, q: float, inside: int) -> None:
    """``y'' + (a - 2 q cos 2 W t) y = 0``: the edges of the chart of Ince and Strutt, by SciPy."""
    speed, a = 20.0, edge(order, q)
    swing = 2.0 * q * 2.0 * speed**2
    for beside, grows in ((0.004 * inside, True), (-0.004 * inside, False)):
        steady = (a + beside) * 2.0 * speed**2
        model = unequal((100.0, 100.0 + 2.0 * swing), (steady - swing - 100.0, 1e9))
        assert (len(mbs.campbell(model, [speed], count=4, floquet=True).unstable) > 0) is grows


def test_what_is_off_the_axis_swings_as_axes_that_turn_show() -> None:
    """A disc whose mass centre goes round, on equal supports: no half turn is like the other."""
    model = mbs.Model("SE3")
    disc = model.add_node((0, 0, 0))
    model.add(RigidBody(disc, 10.0, (0.5, 0.3, 0.3), (0.0, 0.05, 0.0)))
    for x in (-0.4, 0.4):
        model.add(Bearing(model.ground, disc, X, (1e4, 1e4, 1e4, 0, 0), point=(x, 0, 0), across=(0, 1, 0)))
    seen = np.concatenate(mbs.modes(model, 6, mbs.steady_rotation(model, (30.0, 0, 0)).state(-1)).seen_from())
    for own in mbs.campbell(model, [30.0], count=4, floquet=True).angular[0]:
        assert np.abs(seen - own).min() < 1e-5


@pytest.mark.parametrize("speed", [60.0, 90.0, 120.0])
def test_a_rotor_of_unequal_inertia_on_unequal_supports(speed: float) -> None:
    """Against ``(J y')' + I_p W S y' + K y = 0`` of its tilts, with the inertia as it turns, step by step."""
    axial, J, K = 0.16, (0.3, 0.42), np.array([1e3, 1.6e3])
    model = mbs.Model("SE3")
    disc = model.add_node((0, 0, 0), name="disc")
    model.add(RigidBody(disc, 2.0, (axial, *J)))
    model.add(Bearing(model.ground, disc, X, (5e4, 5e4, 5e4, *K), across=(0, 1, 0)))
    diagram = mbs.campbell(model, [speed], count=5, floquet=True)

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        c, s = np.cos(2.0 * speed * t), np.sin(2.0 * speed * t)
        mass = np.mean(J) * np.eye(2) + 0.5 * (J[0] - J[1]) * np.array([[c, s], [s, -c]])
        change = speed * (J[0] - J[1]) * np.array([[-s, c], [c, s]])
        gyroscopic = axial * speed * np.array([[0.0, 1.0], [-1.0, 0.0]])
        return np.concatenate([y[2:], np.linalg.solve(mass, -(change + gyroscopic) @ y[2:] - K * y[:2])])

    half = np.pi / speed
    turned = [solve_ivp(rates, (0.0, half), y, method="DOP853", rtol=1e-9, atol=1e-11).y[:, -1] for y in np.eye(4)]
    multipliers = np.linalg.eigvals(np.transpose(turned))
    ratio, angular = diagram.damping[0], diagram.angular[0]
    grows = (-ratio * angular / np.sqrt(1.0 - ratio**2)).max()
    assert grows == pytest.approx(np.log(np.abs(multipliers).max()) / half, abs=1e-5)
    assert len(diagram.unstable) == (grows > 1e-3)
    for own in np.abs(np.angle(multipliers)) / half:
        turns = np.add.outer(angular, [own, -own]) / (2.0 * speed)
        assert np.abs(turns - np.round(turns)).min() < 1e-6


@pytest.mark.slow
def test_floquet_finds_what_axes_that_turn_and_that_stand_still_show() -> None:
    """Unequal shaft: unstable iff ``k1 < m W^2 < k2``, frequencies of its own axes; round rotor: to rounding."""
    model = unequal((300, 500), (500, 500))
    low, high = 20.0, np.sqrt(500.0)
    for speed, stable in ((0.99 * low, True), (1.01 * low, False), (0.99 * high, False), (1.01 * high, True)):
        assert (len(mbs.campbell(model, [speed], count=2, floquet=True).unstable) == 0) is stable
    turning = mbs.modes(model, 7, mbs.steady_rotation(model, (10.0, 0, 0)).state(-1))
    seen = np.concatenate(turning.seen_from())
    for own in mbs.campbell(model, [10.0], count=2, floquet=True).angular[0]:
        assert np.abs(seen - own).min() < 1e-7
    rotor = friswell()
    state = mbs.steady_rotation(rotor, (400.0, 0, 0)).state(-1)
    linear = linear_equations(mbs.System(rotor), state, still=True)
    right = mbs.campbell(rotor, [400.0], count=4).angular[0]
    assert np.abs(floquet_modes(linear, 4, "test").eigenvalues[:4].imag) == pytest.approx(right, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("count", [9, pytest.param(21, marks=pytest.mark.slow)])
def test_critical_speeds_are_the_ends_of_what_whirls_with_its_speed(count: int) -> None:
    """Unequal shaft: where it is unstable its frequency is the speed; the backward whirl crosses within that."""
    diagram = mbs.campbell(unequal((300, 500), (500, 500)), np.linspace(5.0, 45.0, count), count=4, floquet=True)
    found = diagram.critical()
    assert found[[0, 2, 3]] == pytest.approx([20.0, np.sqrt(500.0), np.sqrt(1000.0)], rel=1e-8)
    assert len(found) == 4 and 20.0 < found[1] < np.sqrt(500.0)


@pytest.mark.slow
def test_what_keeps_its_speed_at_all_speeds_is_not_critical() -> None:
    """A ball that nothing ties nutates as fast as it turns."""
    model = mbs.Model("SE3")
    ball = model.add_node((0, 0, 0))
    model.add(RigidBody(ball, 2.0, (0.1, 0.1, 0.1)))
    model.add(Bearing(model.ground, ball, X, (200.0, 200.0, 200.0, 0.0, 0.0)))
    diagram = mbs.campbell(model, np.linspace(3.0, 27.0, 5), count=4)
    assert np.abs(diagram.angular - diagram.speeds[:, None]).min(axis=1) == pytest.approx(0.0, abs=1e-9)
    assert diagram.critical() == pytest.approx([10.0])


def test_floquet_takes_reactions_along_axes_that_turn() -> None:
    """A rotor that hangs over, heavy, in a housing on unequal supports: whichever node of its hinge is the first."""
    found = []
    for turned in (False, True):
        model = mbs.Model(gravity=(0, 0, -9.81))
        housing, rotor = model.add_node((0, 0, 0)), model.add_node((0.3, 0, 0), name="rotor")
        model.add(RigidBody(housing, 0.5, (0.02, 0.02, 0.02)))
        model.add(RigidBody(rotor, 2.0, (0.05, 0.03, 0.04)))
        model.add(Bushing(model.ground, housing, (2e4, 1e4, 2e4, 30.0, 30.0, 50.0)))
        model.add(RevoluteJoint(*(rotor, housing)[:: 1 if turned else -1], X, (0, 0, 0)))
        found.append(mbs.campbell(model, [20.0], count=4, floquet=True, turning=["rotor"]).angular)
    assert found[1] == pytest.approx(found[0], rel=1e-7)  # forces of bearings that turned along: 2e-3


def lagging(model: mbs.Model) -> None:
    model.add(Block(lambda t: 0.0, lambda t, x, u: u - x, initial=[0.0]))


def rolling(model: mbs.Model) -> None:
    node = model.add_node((5, 0, 0.5))
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    model.add(RollingDisc(model.ground, node, (0, 0, 1), (0, 1, 0), 0.5))


def rubbing(model: mbs.Model) -> None:
    node = model.add_node((5, 0, 0))
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    hinge = model.add(RevoluteJoint(model.ground, node, X))
    model.add(JointSpring(hinge, 10.0))
    model.add(JointFriction(hinge, 0.1, radius=0.1, reactions=True))


def test_floquet_of_what_rolls_is_refused() -> None:
    model = unequal((300, 500), (500, 500))
    rolling(model)
    with pytest.raises(mbs.ModelError, match="floquet needs joints of nodes: none that roll or slide"):
        mbs.campbell(model, [10.0], count=2, floquet=True, turning=["disc", "spinner"])


@pytest.mark.parametrize("part", [lagging, rubbing])
def test_floquet_beside_a_controller_and_friction_of_joints(part: Callable[[mbs.Model], None]) -> None:
    """What stands by itself beside a rotor changes no frequency of it, and has its own."""
    model = unequal((300, 500), (300, 700))
    alone = mbs.campbell(model, [10.0], count=4, floquet=True, turning=["disc", "spinner"]).angular[0]
    part(model)
    found = mbs.campbell(model, [10.0], count=6, floquet=True, turning=["disc", "spinner"]).angular[0]
    for own in alone[np.isfinite(alone)]:
        assert np.abs(found - own).min() < 1e-6


def test_elements_without_nodes_turn_with_any_rotor() -> None:
    """A controller beside it changes neither how it turns, nor how it spins in its weight, nor its frequencies."""
    found = []
    for part in (lambda model: None, lagging):
        round_one, hung = unequal((300, 500), (500, 500)), friswell()
        part(round_one)
        part(hung)
        state = mbs.steady_rotation(round_one, (10.0, 0, 0)).state(-1)
        hung.gravity = (0, 0, -9.81)
        found.append([mbs.modes(round_one, state=state).angular[-4:], mbs.steady_spin(hung, 50.0).state(-1).x[-1]])
    for own, other in zip(*found, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-15)


@pytest.mark.slow
def test_a_bearing_is_a_light_housing_with_hinge_and_bush() -> None:
    """An eccentric disc of 50 rad/s on unequal springs: the same path, but for the mass of the housing."""
    paths = []
    for bearing in (True, False):
        model = mbs.Model("SE3", gravity=(0, 0, -9.81))
        disc = model.add_node((0, 0, 0), velocity=(0, 0, 0), angular_velocity=(50.0, 0, 0), name="disc")
        model.add(RigidBody(disc, 2.0, (0.02, 0.01, 0.01), (0, 0.002, 0)))
        if bearing:
            model.add(Bearing(model.ground, disc, X, (4e3, 3e3), (8.0, 8.0), across=(0, 1, 0)))
            model.add(GeneralJoint(model.ground, disc, (True, False, False), False))
            model.add(Bearing(model.ground, disc, X, (0, 0, 0, 200.0, 200.0), across=(0, 1, 0)))
        else:
            housing = model.add_node((0, 0, 0))
            model.add(RigidBody(housing, 1e-6, (1e-9, 1e-9, 1e-9)))
            model.add(GeneralJoint(model.ground, housing, (True, False, False), (True, False, False)))
            model.add(RevoluteJoint(housing, disc, X))
            model.add(Bushing(model.ground, housing, (0, 4e3, 3e3, 0, 200.0, 200.0), (0, 8.0, 8.0, 0, 0, 0)))
        paths.append(mbs.simulate(model, 0.3, 1e-3).position("disc"))
    assert np.abs(paths[0] - paths[1]).max() < 1e-6


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (((1e4, 1e4, 1e4),), "stiffness must be 2 numbers across the shaft"),
        ((1e4,), "stiffness must be 2 numbers across the shaft"),
        (((1e4, 1e4), None, (3.0, 1.0)), "speeds must be at least two and increase"),
        ((np.ones((2, 2)), np.ones((3, 5, 5)), (1.0, 2.0, 3.0)), "for each of the 3 speeds"),
    ],
)
def test_bad_bearings_are_refused(values: tuple, message: str) -> None:
    model = mbs.Model()
    node = model.add_node((0, 0, 0))
    speeds = values[2] if len(values) > 2 else None
    with pytest.raises(mbs.ModelError, match=message):
        Bearing(model.ground, node, X, *values[:2], speeds=speeds)


def test_bad_questions_are_refused() -> None:
    model = rigid_rotor((1e4, 1e4))
    with pytest.raises(mbs.ModelError, match=r"campbell: about axis=\(0, 1, 0\): Bearing 'Bearing 1' does not"):
        mbs.campbell(model, [1.0], axis=(0, 1, 0))
    with pytest.raises(mbs.ModelError, match="speeds must not be zero"):
        mbs.unbalance_response(model, [0.0, 1.0], {"disc": 1.0})
    with pytest.raises(mbs.ModelError, match="unbalance must be a dict"):
        mbs.unbalance_response(model, [1.0], 3.0)  # type: ignore[arg-type]
    with pytest.raises(mbs.ModelError, match="unbalance_response: unbalance.*nothing in the model is called 'disk'"):
        mbs.unbalance_response(model, [1.0], {"disk": 1.0})
    with pytest.raises(mbs.ModelError, match="unbalance: node 'ground' does not turn; name nodes of the rotor"):
        mbs.unbalance_response(model, [1.0], {"ground": 1.0})
    with pytest.raises(mbs.SingularSystemError, match="10 rad/s is a critical speed"):
        mbs.unbalance_response(rigid_rotor((500.0, 500.0)), [10.0], {"disc": 1.0})


@pytest.mark.slow
def test_crossings_between_two_speeds_of_a_diagram_are_found() -> None:
    """Of a rotor seen turning both ways alone."""
    diagram = mbs.campbell(rigid_rotor((1e4, 1e4)), [-150.0, 150.0], count=4)
    assert np.abs(diagram.critical()) == pytest.approx(np.sqrt([4e3, 2e3, 2e3, 4e3]), rel=1e-8)


def test_crossings_of_a_curve_that_dips_between_two_speeds_are_found() -> None:
    """Of a frequency ``w + (W - 60)^2/20`` that is below the speed for a while."""

    def vibrations(speed: float, count: int) -> list[Vibration]:
        modes = [Vibration(1j * (58.0 + (speed - 60.0) ** 2 / 20), 1.0, np.array([1.0, 0.0]), np.zeros((1, 6)))]
        return [*modes, Vibration(200j, 1.0, np.array([0.0, 1.0]), np.zeros((1, 6)))][:count]

    speeds = np.linspace(0.0, 150.0, 4)
    curves = tuple({k: vibrations(speed, 2)[own] for k, speed in enumerate(speeds)} for own in (0, 1))
    exact = 70.0 + np.array([-1.0, 1.0]) * np.sqrt(140.0)
    assert Campbell(speeds, curves, vibrations).critical() == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_crossings_of_curves_that_begin_and_end_between_two_speeds_are_found(way: float) -> None:
    """Of the lower of two frequencies alone, 70 and ``130 - W``: the second is the lower one from 60 on, up to 65."""

    def vibrations(speed: float, count: int) -> list[Vibration]:
        both = [(70.0, [1.0, 0.0]), (130.0 - abs(speed), [0.0, 1.0])]
        return [Vibration(1j * w, 1.0, np.array(own), np.zeros((1, 6))) for w, own in sorted(both)][:1]

    (at_rest,), (middle,), (last,) = (vibrations(speed, 1) for speed in (0.0, 50.0, 100.0))
    speeds, curves = way * np.array([0.0, 50.0, 100.0]), ({0: at_rest, 1: middle}, {2: last})
    if way < 0.0:
        speeds, curves = speeds[::-1], ({0: last}, {1: middle, 2: at_rest})
    assert Campbell(speeds, curves, vibrations).critical() == pytest.approx([way * 65.0], rel=1e-8)


@pytest.mark.slow
def test_a_round_shaft_whose_whirls_have_one_frequency_has_its_critical_speed() -> None:
    """``48 EI/l^3`` but for shear and bearings; at each speed the two shapes are any two of their plane."""
    model = mbs.Model()
    shaft = [model.add_node((x, 0, 0)) for x in np.linspace(0, 1, 5)]
    model.add(Beam(shaft, BeamSection.circle(0.01, E=2e11, nu=0.3, rho=1e-3), y_axis=(0, 1, 0)))
    model.add(RigidBody(shaft[2], 5.0, (0.02, 0.01, 0.01)))
    for end in (shaft[0], shaft[-1]):
        model.add(Bearing(model.ground, end, X, (1e7, 1e7), (1e3, 1e3)))
    speeds = [0.0, 96.68601742, 212.52562707, 236.74638711, 238.99175482, 300.0]
    found = mbs.campbell(model, speeds, count=6).critical()
    by_hand = np.sqrt(48 * 2e11 * np.pi * 0.01**4 / 4 / 5)
    assert len(found) and found == pytest.approx([by_hand] * len(found), rel=0.04)
    assert np.ptp(found) < 1e-5 * by_hand


@pytest.mark.slow
def test_critical_speeds_from_rest_on_are_backward_and_forward() -> None:
    """Planes of a pair at rest are as like one as the other: ``(I_d -+ I_p) W^2 = 2 k a^2``, once each."""
    diagram = mbs.campbell(rigid_rotor((1e4, 1e4), inertia=(0.2, 0.3)), [0.0, 300.0], count=4)
    exact = [np.sqrt(3.2e3 / 0.5), np.sqrt(2e3), np.sqrt(3.2e3 / 0.1)]
    assert np.unique(np.round(diagram.critical(), 4)) == pytest.approx(sorted(exact), abs=1e-4)


@pytest.mark.parametrize("held", ["both ends", "one end, by joints"])
def test_a_shaft_whose_ends_the_model_holds(held: str) -> None:
    """What is held does not turn and is alike all round: the whirls of Timoshenko's shaft, ``w = W sin(kx)``.

    ``mu omega^2 W = GA k (k W - P)``, ``(j omega^2 - 2 j spin omega) P = EI k^2 P - GA (k W - P)``.
    """
    section, spin, k = BeamSection.circle(0.04, E=210e9, nu=0.3, rho=7850.0), 1500.0, np.pi
    model = mbs.Model("SE3" if held == "both ends" else "R3xSO3")
    nodes = Beam.line(model, (0, 0, 0), (1, 0, 0), section, 4, order=3, y_axis=(0, 1, 0)).nodes
    model.fix(nodes[0], translation=True, rotation=False)
    model.fix(nodes[-1], translation=True if held == "both ends" else (False, True, True), rotation=False)
    mu, (_, GA, _, _, EI, _) = section.mass, np.diag(section.stiffness)
    j = 7850.0 * np.pi / 4.0 * 0.04**4
    exact = []
    for Omega in (-spin, spin):
        whirl = np.polymul([mu, 0.0, -GA * k**2], [j, -2.0 * j * Omega, -EI * k**2 - GA])
        found = np.roots(np.polysub(whirl, [(GA * k) ** 2]))
        exact.append(found[found > 0.0].min())
    np.testing.assert_allclose(np.sort(exact), (1007.387, 1018.918), atol=1e-3)
    diagram = mbs.campbell(model, [0.0, spin], count=2)
    # a pair that is one at rest goes on as either
    backward, forward = np.argsort(diagram.angular[1])
    np.testing.assert_allclose(diagram.angular[1, [backward, forward]], np.sort(exact), rtol=2e-5)
    assert (diagram.whirl[1, [backward, forward]] * (-1, 1) > 0.99).all()


def meshed(modes: int, stiffness: tuple[float, float], eccentric: float = 0.0) -> mbs.Model:
    """A square rod of bricks on two bearings, with a small mass beside the axis at an end."""
    points, K, M = brick((8, 2, 2), (4.0, 0.5, 0.5), 2e6, 1000.0)
    ends = {"a": Interface.rigid(lambda p: p[:, 0] == 0.0), "b": Interface.rigid(lambda p: p[:, 0] == 4.0)}
    model = mbs.Model("SE3")
    body = model.add(
        FlexibleBody.place(model, Reduction(points - [0, 0.25, 0.25], K, M, ends, modes=modes), name="rod")
    )
    for end in body.nodes:
        model.add(Bearing(model.ground, end, X, (*stiffness, 1e6, 0, 0), across=(0, 1, 0)))
    if eccentric:
        model.add(RigidBody(body.node("a"), eccentric, (1e-9, 1e-9, 1e-9), (0.0, 1.0, 0.0)))
    return model


@pytest.mark.ci
def test_amplitudes_of_a_meshed_rotor_turn_with_the_axes() -> None:
    """What whirls has the frequencies of its own axes, shifted by the speed; on unequal bearings those of Floquet."""
    speed, rotor = 2.0, meshed(5, (1e5, 1e5))
    own = mbs.modes(rotor, state=mbs.steady_rotation(rotor, (speed, 0, 0)).state(-1)).angular
    diagram = mbs.campbell(rotor, [speed], count=6)
    for frequency, whirl in zip(diagram.angular[0], diagram.whirl[0], strict=True):
        assert abs(whirl) < 1e-6 or abs(whirl) > 0.999
        assert np.abs(own - abs(frequency - round(whirl) * speed)).min() < 1e-7 * frequency
    np.testing.assert_allclose(np.round(diagram.whirl[0]), [-1, 1, -1, 1, 0, -1])
    unequal_bearings = meshed(5, (1e5, 5e4))
    both = [mbs.campbell(unequal_bearings, [speed], count=6, floquet=way).angular for way in (False, True)]
    np.testing.assert_allclose(*both, rtol=1e-6)
    with pytest.raises(mbs.ModelError, match="modes may cut a pair of one frequency"):
        mbs.campbell(meshed(4, (1e5, 1e5)), [speed])


def test_unbalance_of_a_meshed_rotor_is_a_steady_rotation_with_a_mass_beside_its_axis() -> None:
    speed, small = 2.0, 1e-4
    answer = mbs.unbalance_response(meshed(5, (1e5, 1e5)), [speed], {"rod.a": small})
    bent = mbs.steady_rotation(meshed(5, (1e5, 1e5), small), (speed, 0, 0))
    for end in ("rod.a", "rod.b"):
        moved = np.linalg.norm(bent.position(end)[-1, 1:])
        assert answer.forward(end)[0] == pytest.approx(moved, rel=1e-4)
        assert answer.backward(end)[0] < 1e-6 * moved


def test_a_shaft_with_modes_whirls_as_a_row_of_beams() -> None:
    """A shaft with a disc in the middle, on unequal bearings: one body with 8 modes, four of Guyan."""
    mesh, dofs = chain(24, 1.0, J=2e-2)
    whole = {name: Interface.rigid([node]) for name, node in (("l", 0), ("m", 12), ("r", 24))}
    quarter = chain(24, 0.25, J=2e-2)
    part = {name: Interface.rigid([node]) for name, node in (("l", 0), ("r", 24))}
    found = []
    for row in (False, True):
        model = mbs.Model("SE3")
        if row:
            own = Reduction(*quarter[0], part, dofs=quarter[1], method="guyan")
            bodies = FlexibleBody.chain(model, [own] * 4)
            left, middle, right = bodies[0].nodes[0], bodies[1].nodes[1], bodies[3].nodes[1]
        else:
            bodies = [FlexibleBody.place(model, Reduction(*mesh, whole, dofs=dofs, modes=8))]
            left, middle, right = bodies[0].nodes
        model.add(bodies)
        model.add(RigidBody(middle, 2.0, (0.4, 0.2, 0.2)))
        for end in (left, right):
            model.add(Bearing(model.ground, end, X, (100.0, 60.0, 1e3, 0, 0), (0.1, 0.1, 0, 0, 0), across=(0, 1, 0)))
        found.append(mbs.campbell(model, [3.0], count=5).angular)
    np.testing.assert_allclose(*found, rtol=4e-3)


@pytest.mark.slow
def test_what_is_doubtful_of_a_rotor_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """Of each body by its name, not at every speed, nor again where critical speeds are sought."""
    mesh, dofs = chain(24, 1.0, J=2e-2)
    ends = {"a": Interface.rigid([0]), "b": Interface.rigid([24])}
    shaft = Reduction(*mesh, ends, dofs=dofs, modes=2)
    model = mbs.Model("SE3")
    body = model.add(FlexibleBody.place(model, shaft, name="shaft"))
    for node in body.nodes:
        model.add(Bearing(model.ground, node, X, (100.0, 100.0, 1e3, 0.0, 0.0), across=(0, 1, 0)))
    found = mbs.campbell(model, [5.0, 10.0, 15.0], count=6)
    assert len(found.critical())
    told = [line for line in caplog.messages if "it turns at" in line]
    assert len(told) == 1 and told[0].startswith(str(body))
    mbs.campbell(model, [6.0], count=2)
    assert sum("it turns at" in line for line in caplog.messages) == 2
