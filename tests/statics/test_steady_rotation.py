"""Steady rotation against exact solutions, and as the start of runs."""

from __future__ import annotations

import numpy as np
import pytest
from motions import fitted_order
from scipy.spatial.transform import Rotation

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import (
    Beam,
    BeamSection,
    Bushing,
    CrossFlow,
    Drag,
    Force,
    ModalBody,
    PointMass,
    PointOnLineJoint,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
    SpinUp,
    SpringDamper,
    Truss,
)
from fem_mbs.static.equations import Point
from fem_mbs.static.turning_equations import TurningEquations

GROUPS = ("R3xSO3", "SE3")
EA, MU, LENGTH, SPIN = 1e5, 2.0, 1.0, 60.0
SECTION = BeamSection(EA, 1e5, 100.0, (50.0, 80.0), MU, (2e-4, 1e-4, 1e-4))


def blade(elements: int = 8, group: str = "SE3", **options: object) -> tuple[mbs.Model, Beam]:
    """A beam along x that a joint lets turn about z through its root."""
    model = mbs.Model(group)
    beam = Beam.line(model, (0, 0, 0), (LENGTH, 0, 0), SECTION, elements, y_axis=(0, 1, 0))
    model.add(RevoluteJoint(model.ground, beam.nodes[0], (0, 0, 1), **options), name="hub")
    return model, beam


def deviation(model: mbs.Model, steady: mbs.Solution, omega: Array, t_end: float, steps: int) -> tuple[float, float]:
    """How far a run from the state leaves the rotation about the origin, and its energy the first."""
    run = mbs.simulate(model, t_end, t_end / steps, initial=steady.state(-1))
    turned = Rotation.from_rotvec(np.outer(run.t, omega)).as_matrix()
    apart = [np.abs(turned @ steady.position(n)[0] - run.position(n)).max() for n in model.nodes[1:]]
    return max(apart), float(np.ptp(run.energy.total)) / abs(float(run.energy.total[0]))


@pytest.mark.parametrize("group", GROUPS)
def test_a_bar_stretches(group: str) -> None:
    """``EA x'' + mu omega^2 x = 0``: the end comes to ``tan(k L)/k``, the root pulls ``EA (1/cos(k L) - 1)``."""
    k = SPIN * np.sqrt(MU / EA)
    exact = np.tan(k * LENGTH) / k, EA * (1 / np.cos(k * LENGTH) - 1)
    errors, counts = [], (4, 8, 16)
    for elements in counts:
        model, beam = blade(elements, group)
        steady = mbs.steady_rotation(model, (0, 0, SPIN))
        end = steady.position(beam.nodes[-1])[0]
        force, moment = steady.reaction("hub")
        assert np.abs(moment).max() < 1e-9 and np.abs(force[0, 1:]).max() < 1e-9
        np.testing.assert_allclose(steady.acceleration(beam.nodes[-1])[0], -(SPIN**2) * end, rtol=1e-12, atol=1e-9)
        errors.append(np.abs(np.array([end[0], -force[0, 0]]) / exact - 1))
    for error in np.transpose(errors):
        assert abs(fitted_order(1 / np.array(counts), error) - 2.0) < 0.1
        assert error[-1] < 1e-4


def test_a_ring_carries_hoop_force() -> None:
    """``N = EA (r/R - 1) = mu omega^2 r R``, with the mass per length of the ring as built."""
    radius, spin = 1.0, 40.0
    exact = radius / (1 - MU * (spin * radius) ** 2 / EA)
    errors, counts = [], (12, 24, 48)
    for count in counts:
        model = mbs.Model("SE3")
        nodes = []
        for angle in 2 * np.pi * np.arange(count) / count:
            at = radius * np.array([np.cos(angle), np.sin(angle), 0])
            nodes.append(model.add_node(at, Rotation.from_euler("z", angle + np.pi / 2)))
        parts = [model.add(Beam([nodes[k - 1], nodes[k]], SECTION, y_axis=(0, 0, 1))) for k in range(count)]
        steady = mbs.steady_rotation(model, (0, 0, spin))
        r, N = np.linalg.norm(steady.position(nodes[5])[0]), steady.section_forces(parts[0])[0, 0, 0]
        errors.append(np.abs(np.array([r / exact, N / (EA * (exact / radius - 1))]) - 1))
    for error in np.transpose(errors):
        assert abs(fitted_order(1 / np.array(counts), error) - 2.0) < 0.1


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("driven", [True, False])
def test_a_slider_on_a_spring(group: str, driven: bool) -> None:
    """``c (l - l_0) = m omega^2 l``, which the hub bears."""
    m, c, free, spin = 1.0, 400.0, 0.5, 10.0
    model = mbs.Model(group)
    hub, slider = model.add_node((0, 0, 0)), model.add_node((0.6, 0, 0))
    model.add(RigidBody(hub, 2.0, (0.1, 0.1, 0.2)))
    model.add(RigidBody(slider, m, (0.1, 0.1, 0.2)))
    drive = (lambda t: spin * t) if driven else None
    model.add(RevoluteJoint(model.ground, hub, (0, 0, 1), drive=drive), name="hub")
    model.add(PrismaticJoint(hub, slider, (1, 0, 0)), name="slide")
    model.add(SpringDamper(hub, slider, c, free_length=free))
    steady = mbs.steady_rotation(model, (0, 0, spin))
    length = c * free / (c - m * spin**2)
    np.testing.assert_allclose(steady.position(slider), [[length, 0, 0]], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(steady.velocity(slider), [[0, spin * length, 0]], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(steady.reaction("hub")[0], [[-m * spin**2 * length, 0, 0]], rtol=1e-10, atol=1e-10)
    kinetic = 0.5 * (m * length**2 + 0.4) * spin**2
    np.testing.assert_allclose(steady.energy.kinetic, kinetic, rtol=1e-12)
    np.testing.assert_allclose(steady.energy.strain, 0.5 * c * (length - free) ** 2, rtol=1e-10)


@pytest.mark.parametrize("share", [0.5, 0.9, 1.2, 3.0])
def test_an_unbalanced_disc_whirls(share: float, caplog: pytest.LogCaptureFixture) -> None:
    """Jeffcott's rotor bends by ``e rho^2/(1 - rho^2)``, above the critical speed to the other side."""
    m, e, L, EI, GA = 3.0, 1e-6, 1.0, 500.0, 1e6
    section = BeamSection(1e7, GA, 1e4, EI, 1e-9, (1e-12, 5e-13, 5e-13))
    model = mbs.Model()
    left = Beam.line(model, (0, 0, 0), (L / 2, 0, 0), section, 1, order=3)
    right = Beam.line(model, (L / 2, 0, 0), (L, 0, 0), section, 1, start_node=left.nodes[-1], order=3)
    model.add(RigidBody(left.nodes[-1], m, (0.02, 0.01, 0.01), center_of_mass=(0, e, 0)))
    critical = np.sqrt(1 / (L**3 / (48 * EI) + L / (4 * GA)) / m)
    speed = share * critical
    model.add(SphericalJoint(model.ground, left.nodes[0]), name="A")
    model.add(PointOnLineJoint(model.ground, right.nodes[-1], (1, 0, 0)), name="B")
    steady = mbs.steady_rotation(model, (speed, 0, 0))
    exact = e * share**2 / (1 - share**2)
    np.testing.assert_allclose(steady.displacement(left.nodes[-1])[0, 1:], [exact, 0], rtol=1e-5, atol=1e-13)
    assert not caplog.records  # gyroscopic forces hold it above the critical speed
    for bearing in "AB":
        force = steady.reaction(bearing)[0][0]
        np.testing.assert_allclose(force[1], -0.5 * m * speed**2 * (e + exact), rtol=1e-5)


@pytest.mark.ci
def test_a_blade_that_points_inwards_gives_way(caplog: pytest.LogCaptureFixture) -> None:
    """Compressed by ``mu omega^2 (R^2 - r^2)/2``, it is straight, stable and silent at first, and later neither."""
    for spin, stable in ((2.0, True), (8.0, False)):
        model = mbs.Model("SE3")
        section = BeamSection(1e5, 1e5, 1.0, (1.0, 2.0), 1.0, (2e-5, 1e-5, 1e-5))
        beam = Beam.line(model, (1, 0, 0), (0.1, 0, 0), section, 8, y_axis=(0, 1, 0))
        drive = lambda t, spin=spin: spin * t  # noqa: E731
        model.add(RevoluteJoint(model.ground, beam.nodes[0], (0, 0, 1), point=(0, 0, 0), drive=drive))
        steady = mbs.steady_rotation(model, (0, 0, spin))
        assert ("is unstable" in caplog.text) != stable
        growth = mbs.modes(model, 2, steady.state(-1)).eigenvalues.real.max()
        assert (growth < 1e-6) == stable


@pytest.mark.parametrize("group", GROUPS)
def test_a_conical_pendulum(group: str) -> None:
    """``cos(angle) = g/(L omega^2)`` under gravity along the axis; a run stays on it."""
    g, L, m, spin = 9.81, 0.5, 2.0, 6.0
    model = mbs.Model(group, gravity=(0, 0, -g))
    bob = model.add_node((L * np.sin(0.7), 0, -L * np.cos(0.7)))
    model.add(RigidBody(bob, m, (1e-9, 1e-9, 1e-9)))
    model.add(SphericalJoint(model.ground, bob, point=(0, 0, 0)), name="ball")
    steady = mbs.steady_rotation(model, (0, 0, spin))
    x = steady.position(bob)[0]
    np.testing.assert_allclose(x, [np.sqrt(L**2 - (g / spin**2) ** 2), 0, -g / spin**2], rtol=1e-8, atol=1e-10)
    force, moment = steady.reaction("ball")
    np.testing.assert_allclose(force[0], [-m * spin**2 * x[0], 0, m * g], rtol=1e-8)
    coarse, fine = (deviation(model, steady, np.array([0, 0, spin]), 0.5, n) for n in (50, 100))
    assert max(coarse[1], fine[1]) < 1e-5
    if group == "SE3":  # whose increments are the rotation itself
        assert coarse[0] < 1e-10
    else:
        assert abs(np.log2(coarse[0] / fine[0]) - 2.0) < 0.1


def test_runs_and_modes_are_about_it(caplog: pytest.LogCaptureFixture) -> None:
    """A blade under forces that turn with it, aerodynamic drag and a drive: a run on SE(3) stays, to rounding."""
    model, beam = blade(drive=lambda t: SPIN * t)
    model.add(Force(beam.nodes[-1], (0, 10, 60), frame="body"))
    model.add(Drag(beam, CrossFlow(1.2, 0.02, coefficient=1.0)))
    steady = mbs.steady_rotation(model, (0, 0, SPIN))
    apart, energy = deviation(model, steady, np.array([0, 0, SPIN]), 0.05, 40)
    assert apart < 1e-10 and energy < 1e-10
    assert np.abs(mbs.linearize(model, steady.state(-1)).force).max() < 1e-7 * MU * SPIN**2
    assert not caplog.records
    mbs.modes(model, 3, steady.state(-1))
    assert not caplog.records  # of a state that accelerates modes would warn


def test_groups_mixed() -> None:
    """Nodes on both groups come to the same shape, and so does each node alone."""
    shapes = []
    for groups in (("SE3",) * 7, ("R3xSO3",) * 7, ("SE3", "R3xSO3") * 3 + ("SE3",)):
        model = mbs.Model(gravity=(0, 0, -9.81))
        nodes = [model.add_node((k / 6, 0, 0.02 * k), group=own) for k, own in enumerate(groups)]
        model.add(Beam(nodes, SECTION, y_axis=(0, 1, 0)))
        model.add(RigidBody(nodes[-1], 0.5, (0.02, 0.03, 0.04), (0.02, 0.03, 0.04)))
        model.add(RevoluteJoint(model.ground, nodes[0], (0, 0, 1), drive=lambda t: SPIN * t))
        steady = mbs.steady_rotation(model, (0, 0, SPIN), newton=mbs.Newton(1e-12, max_iterations=25))
        state = steady.state(-1)
        shapes.append(np.concatenate([state.x.ravel(), state.R.ravel(), state.multipliers / 1e4]))
        linear = mbs.linearize(model, state)
        assert np.abs(linear.force).max() < 1e-10 * np.abs(state.multipliers).max()
        assert np.abs(linear.gap).max() < 1e-11
    np.testing.assert_allclose(shapes[1:], shapes[:1] * 2, atol=1e-10)


def test_hinged_blades_spread() -> None:
    """Flapping hinges have no stiffness at rest; centrifugal forces hold the blades against their weight."""
    g, e, spin = 9.81, 0.1, 25.0
    model = mbs.Model("SE3", gravity=(0, 0, -g))
    hub = model.add_node((0, 0, 0))
    model.add(RigidBody(hub, 5.0, (0.1, 0.1, 0.1)))
    model.add(RevoluteJoint(model.ground, hub, (0, 0, 1)))
    m, l, tips = 2.0, 0.8, []
    for angle in 2 * np.pi / 3 * np.arange(3):
        r = np.array([np.cos(angle), np.sin(angle), 0.0])
        tips.append(model.add_node((e + l) * r, Rotation.from_euler("z", angle)))
        model.add(RigidBody(tips[-1], m, (1e-12, 1e-12, 1e-12)))
        model.add(RevoluteJoint(hub, tips[-1], (-r[1], r[0], 0), point=e * r))
    steady = mbs.steady_rotation(model, (0, 0, spin))
    for tip in tips:
        x = steady.position(tip)[0]
        down = np.arcsin(-x[2] / l)
        # moments about the hinge
        assert m * g * l * np.cos(down) == pytest.approx(m * spin**2 * (e + l * np.cos(down)) * l * np.sin(down))
        assert np.hypot(x[0], x[1]) == pytest.approx(e + l * np.cos(down))


@pytest.mark.parametrize("group", GROUPS)
def test_a_satellite_turns_about_a_principal_axis(group: str) -> None:
    model = mbs.Model(group)
    node = model.add_node((0.3, 0, 0), Rotation.from_rotvec((0.1, 0.2, 0.1)))
    model.add(RigidBody(node, 2.0, (1, 2, 3), (0, 0, 0.1)))
    steady = mbs.steady_rotation(model, (0, 0, 3))
    np.testing.assert_allclose(steady.rotation(node)[0][:, 2], [0, 0, 1], atol=1e-10)
    np.testing.assert_allclose(steady.position(node)[0][:2], 0, atol=1e-10)
    assert deviation(model, steady, np.array([0, 0, 3.0]), 1.0, 20)[0] < 1e-10


def test_point_masses_turn_though_their_nodes_do_not() -> None:
    """Two masses at the ends of a bar without mass stretch it by ``m omega^2 r``."""
    stiffness, m, spin = 1e4, 1.0, 40.0
    bar = BeamSection(stiffness, 1.0, 1.0, 1.0, 1e-12, (1e-12, 1e-12, 1e-12))
    model = mbs.Model()
    a, b = model.add_node((0.5, 0, 0)), model.add_node((-0.5, 0, 0))
    for node in (a, b):
        model.add(PointMass(node, m))
    model.add(Truss(a, b, bar))
    steady = mbs.steady_rotation(model, (0, 0, spin))
    length = np.ptp([steady.position(a)[0, 0], steady.position(b)[0, 0]])
    strain = m * spin**2 * length / 2 / stiffness
    assert length == pytest.approx(1 + strain, rel=1e-8)
    np.testing.assert_allclose(steady.acceleration(a)[0], [-(spin**2) * length / 2, 0, 0], rtol=1e-8, atol=1e-6)
    coarse, fine = (deviation(model, steady, np.array([0, 0, spin]), 0.2, n)[0] for n in (50, 100))
    assert abs(np.log2(coarse / fine) - 2.0) < 0.1


def test_a_rotor_in_a_stator_that_rests() -> None:
    """A vertical rotor hangs in a stator on a mount, which sinks under both."""
    g, c, spin = 9.81, 1e5, 60.0
    model = mbs.Model(gravity=(0, 0, -g))
    stator, rotor = (model.add_node((0, 0, 0), name=name) for name in ("stator", "rotor"))
    model.add(RigidBody(stator, 5.0, (1, 1, 1)))
    model.add(RigidBody(rotor, 2.0, (1, 1, 2)))
    model.add(Bushing(model.ground, stator, [c] * 3 + [1e4] * 3))
    model.add(RevoluteJoint(stator, rotor, (0, 0, 1), drive=lambda t: spin * t), name="bearing")
    steady = mbs.steady_rotation(model, (0, 0, spin), turning=["rotor"])
    np.testing.assert_allclose(steady.displacement("stator"), [[0, 0, -7 * g / c]], rtol=1e-8)
    assert not steady.angular_velocity("stator").any()
    np.testing.assert_allclose(steady.angular_velocity("rotor"), [[0, 0, spin]])
    np.testing.assert_allclose(steady.reaction("bearing")[0], [[0, 0, 2 * g]], atol=1e-8)


@pytest.mark.ci
def test_after_a_run_up() -> None:
    """A state of a run, with its place and its time, leads to the rotation at the speed its drive then has."""
    model, beam = blade(4, drive=SpinUp(SPIN, duration=0.2))
    with pytest.raises(mbs.ModelError, match="'hub'.*drive"):
        mbs.steady_rotation(model, (0, 0, SPIN))
    run = mbs.simulate(model, 0.3, 1e-3)
    steady = mbs.steady_rotation(model, (0, 0, SPIN), initial=run.state(-1))
    assert steady.t == pytest.approx([0.3])
    reference, _ = blade(4)
    ends = [
        np.linalg.norm(s.position(s.system.nodes[-1])) for s in (steady, mbs.steady_rotation(reference, (0, 0, SPIN)))
    ]
    assert ends[0] == pytest.approx(ends[1], rel=1e-10)
    turned = run.angle("hub")[-1]
    assert turned > 7.0, "more than a turn"
    assert steady.angle("hub") == pytest.approx([turned], abs=1e-3)
    assert mbs.simulate(model, 0.31, 1e-3, initial=steady.state(-1)).angle("hub")[0] == pytest.approx(turned, abs=1e-3)


def test_at_rest_it_is_statics() -> None:
    model = mbs.Model("SE3", gravity=(0, 0, -9.81))
    beam = Beam.line(model, (0, 0, 0), (LENGTH, 0, 0), SECTION, 6)
    model.fix(beam.nodes[0])
    steady, rest = mbs.steady_rotation(model, (0, 0, 0)), mbs.statics(model)
    np.testing.assert_allclose(steady.x[-1], rest.x[-1], atol=1e-9)


def test_far_from_the_origin_and_about_another_axis() -> None:
    """The same rotor anywhere, in any direction, is the same rotor."""
    Q, near, far = Rotation.from_rotvec((0.4, -1.1, 0.7)), np.array([0.3, -0.1, 0.2]), np.array([3e4, -1e4, 2e4])
    stretches = []
    for turn, at in ((Rotation.identity(), np.zeros(3)), (Q, near), (Q, far)):
        model = mbs.Model()
        beam = Beam.line(model, at, at + turn.apply((1, 0, 0)), SECTION, 5, y_axis=turn.apply((0, 1, 0)))
        axis = turn.apply((0, 0, 1))
        model.add(RevoluteJoint(model.ground, beam.nodes[0], axis))
        steady = mbs.steady_rotation(model, SPIN * axis, point=at)
        stretches.append(turn.as_matrix().T @ steady.displacement(beam.nodes[-1])[0])
    np.testing.assert_allclose(stretches, 3 * [stretches[0]], atol=1e-10)


def test_joints_that_repeat_each_other(caplog: pytest.LogCaptureFixture) -> None:
    model, beam = blade()
    model.add(RevoluteJoint(model.ground, beam.nodes[0], (0, 0, 1)), name="second")
    steady = mbs.steady_rotation(model, (0, 0, SPIN))
    single, _ = blade()
    force = mbs.steady_rotation(single, (0, 0, SPIN)).reaction("hub")[0]
    np.testing.assert_allclose(steady.reaction("hub")[0] + steady.reaction("second")[0], force, rtol=1e-8, atol=1e-8)
    assert len(steady.redundant) == 2


@pytest.mark.ci
def test_the_path_from_rest_leads_to_the_same_shape() -> None:
    """A soft blade, bent before, of which Newton's method finds no solution at once in few iterations."""
    ends = []
    for iterations in (25, 4):
        model = mbs.Model("SE3")
        soft = BeamSection(1e5, 1e5, 5.0, (1.0, 1.0), 1.0, (2e-4, 1e-4, 1e-4))
        beam = Beam.line(model, (0, 0, 0), (0, 1, 0.3), soft, 12, y_axis=(1, 0, 0))
        model.add(RevoluteJoint(model.ground, beam.nodes[0], (0, 0, 1), drive=lambda t: 300 * t))
        steady = mbs.steady_rotation(model, (0, 0, 300), newton=mbs.Newton(max_iterations=iterations))
        ends.append(steady.position(beam.nodes[-1])[0])
    np.testing.assert_allclose(*ends, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("group", GROUPS)
def test_the_stiffness_is_the_derivative(group: str) -> None:
    """Of all equations, at a random shape: beams with damping, drag, eccentric and modal bodies, joints, a mass."""
    rng = np.random.default_rng(5)
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    section = SECTION.with_damping(1e-2)
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0.2), section, 3, y_axis=(0, 1, 0), order=2)
    model.add(RigidBody(beam.nodes[-1], 0.5, (0.02, 0.03, 0.04), (0.05, 0.1, 0.02)))
    hung = model.add_node((1.2, 0.1, 0.2), group="SE3")
    model.add(ModalBody(hung, 1.0, (0.1, 0.2, 0.3), [0.2, 0.3], [50, 80], translation=rng.normal(size=(3, 2)) / 10))
    model.add(SphericalJoint(beam.nodes[-1], hung))
    model.add(Drag(beam, CrossFlow(1.2, 0.02, coefficient=1.0)))
    mass = model.add_node((0.5, 0.6, 0))
    model.add(PointMass(mass, 0.3))
    model.add(SpringDamper(beam.nodes[2], mass, 30.0, damping=0.2))
    model.add(RevoluteJoint(model.ground, beam.nodes[0], (0, 0, 1)))
    system = mbs.System(model)
    equations = TurningEquations(system, np.array([3.0, 5.0, 7.0]), np.array([0.1, 0.2, 0.3]), system.free.any(1), None)
    built = equations.as_built()
    u = 0.1 * rng.normal(size=system.k)
    D, none = system.spread(0.1 * rng.normal(size=system.n_free)), np.zeros(system.m + 1)
    start = Point(built.x, built.R, u, rng.normal(size=system.m), 0.8).moved(np.append(D, none))
    evaluation = equations.evaluate(start)
    values = system.solver.stored(equations.entries(evaluation))
    matrix = system.solver.matrix(values).toarray()
    h, columns = 1e-6, []
    for k in range(system.n_free):
        d = system.spread(h * np.eye(system.n_free)[k])
        ends = [equations.evaluate(start.moved(np.append(s * d, none))) for s in (1.0, -1.0)]
        columns.append((system.residual(ends[0], 1.0) - system.residual(ends[1], 1.0)) / (2 * h))
    np.testing.assert_allclose(matrix[:, : system.n_free], np.transpose(columns), atol=1e-6 * np.abs(matrix).max())
