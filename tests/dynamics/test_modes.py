"""Frequencies and mode shapes of structures at rest, stress-free and stressed, against exact ones."""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from catalogue import GROUPS
from meshes import brick
from motions import fitted_order
from scipy.linalg import expm
from scipy.optimize import brentq
from scipy.sparse import csc_array
from scipy.special import jn_zeros, roots_laguerre

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import (
    Beam,
    BeamSection,
    FixedJoint,
    FlexibleBody,
    Force,
    Interface,
    Moment,
    PointMass,
    PointOnLineJoint,
    Reduction,
    RevoluteJoint,
    RigidBody,
    Shell,
    ShellSection,
    SphericalJoint,
    SpringDamper,
)
from fem_mbs.lie import so3
from fem_mbs.modal.eigen import Pencil, eigenmodes

L, MU, J = 2.0, 3.0, (0.05, 0.02, 0.03)
EA, GA, GJ, EI = 5e5, (9e4, 7e4), 2e3, (4e3, 6e3)
SECTION = BeamSection(EA, GA, GJ, EI, MU, J)
AXES = so3.exp(np.array([0.4, -0.7, 0.3]))


def roots(function: Callable[[float], float], largest: float, count: int = 2000) -> list[float]:
    """Roots above zero, by the signs on a grid."""
    grid = np.linspace(1e-3 * largest, largest, count)
    values = [function(omega) for omega in grid]
    spans = (pair for pair, v in zip(pairwise(grid), pairwise(values), strict=True) if v[0] * v[1] < 0)
    return [brentq(function, *span, xtol=1e-12, rtol=1e-14) for span in spans]


def bending(
    EI: float, GA: float, j: float, ends: tuple[list[int], list[int]], largest: float, N: float = 0.0
) -> list[float]:
    """Timoshenko's beam under the constant axial force ``N``: ``y = (w, theta, Q, M)`` along the unstressed length.

    ``w' = (1 + e) theta + (Q - N theta)/GA``, ``theta' = M/EI``, ``Q' = -mu omega^2 w`` and
    ``M' = -(1 + e) Q + N w' - j omega^2 theta`` with ``Q`` across the undeformed axis and ``e = N/EA``. ``ends`` are
    the components that vanish at both ends.
    """
    stretch = 1.0 + N / EA
    held, free = [k for k in range(4) if k not in ends[0]], ends[1]

    def determinant(omega: float) -> float:
        A = np.zeros((4, 4))
        A[0] = [0, stretch - N / GA, 1 / GA, 0]
        A[1, 3] = 1 / EI
        A[2, 0] = -MU * omega**2
        A[3] = N * A[0]
        A[3, 1:3] += [-j * omega**2, -stretch]
        return float(np.linalg.det(expm(A * L)[np.ix_(free, held)]))

    return roots(determinant, largest)


W, THETA, Q, M = range(4)
CLAMPED, FREE = [W, THETA], [Q, M]


def exact(ends: tuple[list[int], list[int]], largest: float) -> Array:
    """All angular frequencies of the beam up to ``largest`` rad/s: bending both ways, stretching, twisting."""
    k = np.arange(1, 40) - (0.5 if ends[0] == CLAMPED else 0.0)
    waves = [k * np.pi / L * speed for speed in (np.sqrt(EA / MU), np.sqrt(GJ / J[0]))]
    across = [bending(EI[0], GA[1], J[1], ends, largest), bending(EI[1], GA[0], J[2], ends, largest)]
    every = np.sort(np.concatenate([*waves, *across]))
    return every[every < largest]


def beam_model(elements: int, group: str = "R3xSO3", **options: object) -> tuple[mbs.Model, Beam]:
    model = mbs.Model(group)
    return model, Beam.line(model, (0, 0, 0), L * AXES[:, 0], SECTION, elements, y_axis=AXES[:, 1], **options)


@pytest.mark.ci
@pytest.mark.parametrize("interpolation", ["SE3", "R3xSO3"])
@pytest.mark.parametrize("ends", [(CLAMPED, FREE), (FREE, FREE)], ids=["cantilever", "free beam"])
def test_order_two_in_the_mesh(ends: tuple[list[int], list[int]], interpolation: str) -> None:
    reference = exact(ends, 1500.0)[:8]
    elements = np.array([16, 32, 64])
    errors = []
    for n in elements:
        model, beam = beam_model(n, interpolation=interpolation)
        if ends[0] == CLAMPED:
            model.fix(beam.nodes[0])
        found = mbs.modes(model, 14).angular
        elastic = found[found > 0.0]
        assert len(found) - len(elastic) == (0 if ends[0] == CLAMPED else 6)
        errors.append(np.abs(elastic[:8] / reference - 1))
    for k, error in enumerate(np.transpose(errors)):
        # halving a fine mesh leaves what is of order 4: a tenth in the slope of the highest modes
        assert abs(fitted_order(1 / elements, error) - 2.0) < 0.1, f"mode {k}"
    assert errors[-1].max() < 5e-3


def test_slender_beams_are_those_of_euler_and_bernoulli() -> None:
    """``beta L`` of a cantilever and of a free beam; shear and rotary inertia count by ``(r beta)^2``."""
    radius = 2e-3
    section = BeamSection.circle(radius, 200e9, 0.3, 7800)
    speed = np.sqrt(200e9 * radius**2 / 4 / 7800)
    for held, numbers in ((True, (1.8751040687, 4.6940911330, 7.8547574382)), (False, (4.7300407449, 7.8532046241))):
        model = mbs.Model()
        beam = Beam.line(model, (0, 0, 0), (1, 0, 0), section, 200)
        if held:
            model.fix(beam.nodes[0])
        pairs = mbs.modes(model, 2 * len(numbers) + 6 * (not held)).angular.reshape(-1, 2)
        # the mesh adds (beta h)^2/12 and more: 2e-4 for the third
        np.testing.assert_allclose(pairs[pairs > 0].reshape(-1, 2), speed * np.transpose([numbers] * 2) ** 2, rtol=4e-4)


def test_free_arch_of_meshed_bodies(caplog: pytest.LogCaptureFixture) -> None:
    """Six rigid motions and no word: what rounding of their places makes of forces is no acceleration."""
    ends = {
        name: Interface.rigid(lambda p, x=x: p[:, 0] == x, (x, 0.01, 0.01)) for name, x in (("root", 0.0), ("tip", 1.0))
    }
    reduction = Reduction(*brick((8, 1, 1), (1.0, 0.02, 0.02), 210e9, 7850.0), ends, modes=4)
    model, place, last = mbs.Model("SE3"), np.zeros(3), None
    for k in range(4):
        R = so3.exp(np.array([0, 0, 0.5 * k]))
        nodes = [model.add_node(place + R @ [x, 0.01, 0.01], R) for x in (0.0, 1.0)]
        model.add(FlexibleBody(dict(zip(ends, nodes, strict=True)), reduction, position=place, rotation=R))
        if last is not None:
            model.add(FixedJoint(last, nodes[0]))
        last, place = nodes[1], nodes[1].position - so3.exp(np.array([0, 0, 0.5 * (k + 1)])) @ [0, 0.01, 0.01]
    modes = mbs.modes(model, 9)
    assert not modes.angular[:6].any() and modes.angular[6] > 100.0
    assert not np.iscomplexobj(modes.shapes) and not caplog.records


def test_foils_beyond_the_digits_of_krylov_vectors() -> None:
    """Stretching is 1e10 times as stiff as bending: what ARPACK does not find is found at once."""
    t = 1e-5
    model = mbs.Model()
    foil = Beam.line(model, (0, 0, 0), (1, 0, 0), BeamSection.rectangle(0.01, t, E=210e9, nu=0.3, rho=7850.0), 20)
    model.fix(foil.nodes[0])
    exact = np.array([1.87510407, 4.69409113]) ** 2 * np.sqrt(210e9 * t**2 / 12.0 / 7850.0)
    # the mesh adds (beta h)^2/12 and more, rounding 3e-5
    np.testing.assert_allclose(mbs.modes(model, 2).angular, exact, rtol=8e-3)


def test_rigid_motions_and_mechanisms_have_no_frequency() -> None:
    """Zeros are exactly zero: six of a free body, one more for every motion that hinges free."""
    model = mbs.Model()
    one = Beam.line(model, (0, 0, 0), (1, 0.2, 0), SECTION, 6)
    two = Beam.line(model, (1, 0.2, 0), (1, 1, 0.5), SECTION, 6)
    three = Beam.line(model, (1, 1, 0.5), (2, 1, 0), SECTION, 5)
    model.add(RevoluteJoint(one.nodes[-1], two.nodes[0], axis=(1, 2, 3)))
    model.add(SphericalJoint(two.nodes[-1], three.nodes[0]))
    found = mbs.modes(model, 14)
    assert (found.angular[:10] == 0.0).all()
    assert found.angular[10] > 1.0
    linear = found.linear
    body = np.matvec(linear.state.R.mT[:, None], found.shapes.reshape(14, -1, 2, 3)).reshape(14, -1, 6)
    d = body[:, linear.system.free].T
    np.testing.assert_allclose(d.T @ (linear.M @ d), np.eye(14), atol=1e-7)
    np.testing.assert_allclose(linear.B @ d, 0.0, atol=1e-9 * np.abs(d).max())


def chain(links: int, length: float = 1.0) -> mbs.Model:
    """Equal masses on massless links, hanging from the ground, in one plane."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    last = model.ground
    for k in range(links):
        node = model.add_node((0, 0, -(k + 1) * length / links))
        model.add(PointMass(node, 1.0))
        model.add(RevoluteJoint(last, node, axis=(0, 1, 0), point=(0, 0, -k * length / links)))
        last = node
    return model


@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
@pytest.mark.parametrize("falls", [False, True])
def test_free_ring(falls: bool, group: str, caplog: pytest.LogCaptureFixture) -> None:
    """A thin one has six rigid motions, not more or fewer, whose frequencies are zero; so it has where it falls.

    ``omega^2 = EI/(m R^4) n^2 (n^2 - 1)^2/(n^2 + 1)`` in the plane, across it with the divisor ``n^2 + EI/GJ``
    (Timoshenko, *Vibration Problems in Engineering*). Rounding of forces makes light sections accelerate.
    """
    section, R = BeamSection.rectangle(0.01, 0.002, E=210e9, nu=0.3, rho=7850.0), 1.0
    far = 1024.0 * falls
    _, _, _, GJ, EI_y, EI_z = np.diag(section.stiffness)
    n, found = np.repeat([2.0, 3.0, 4.0], 2), []
    for elements in (24, 48):
        model = mbs.Model(group, gravity=(0, 0, -9.81 * falls))
        angles = 2.0 * np.pi / elements * np.arange(elements)
        nodes = [model.add_node((far + R * np.cos(angle), R * np.sin(angle), 0)) for angle in angles]
        model.add(Beam([*nodes, nodes[0]], section, y_axis=(0, 0, 1)))
        modes = mbs.modes(model, 14)
        np.testing.assert_array_equal(modes.linear.state.x, [node.position for node in model.nodes])
        assert not modes.eigenvalues[:6].any() and not np.iscomplexobj(modes.shapes)
        found.append(modes.angular[6:])
    limit = (4.0 * found[1] - found[0]) / 3.0
    plane, across = (
        np.sqrt(EI / section.mass * n**2 * (n**2 - 1.0) ** 2 / divisor) / R**2
        for EI, divisor in ((EI_y, n**2 + 1.0), (EI_z, n**2 + EI_z / GJ))
    )
    np.testing.assert_allclose(limit, np.sort([*plane, *across])[:8], rtol=3e-3)
    assert ("neither at rest" in caplog.text) == falls and "not stable" not in caplog.text


@pytest.mark.parametrize("links", [1, 2, 5, 40])
def test_pendulum_of_many_links(links: int) -> None:
    """The squares are ``g/l`` times the zeros of Laguerre's polynomial of degree N; the masses have no inertia about
    their nodes, and all stiffness is that of multipliers and weight."""
    reference = np.sqrt(roots_laguerre(links)[0] * 9.81 * links)
    count = min(links, 10)
    np.testing.assert_allclose(mbs.modes(chain(links)).angular, reference[:count], rtol=1e-10)
    np.testing.assert_allclose(mbs.modes(chain(links), links).angular, reference, rtol=1e-8)


@pytest.mark.ci
def test_hanging_chain_is_the_limit_of_many_links() -> None:
    reference = jn_zeros(0, 3) / 2 * np.sqrt(9.81)
    links = np.array([50, 100, 200])
    errors = [np.abs(mbs.modes(chain(n), 3).angular / reference - 1) for n in links]
    # lumped at the lower ends the masses are half a link too low: order 1
    assert errors[-1].max() < 5e-3
    for error in np.transpose(errors):
        assert abs(fitted_order(1 / links, error) - 1.0) < 0.1


def hanging_bodies(group: str) -> mbs.Model:
    """Two bodies that hang from each other on ball joints, their mass centres below them."""
    model = mbs.Model("SE3" if group == "SE3" else "R3xSO3", gravity=(0, 0, -9.81))
    last = model.ground
    for k, turn in enumerate(((0.3, 0.5, -0.2), (1.0, -2.0, 0.4))):
        R = so3.exp(np.array(turn))
        own = "SE3" if group == "mixed" and k else None
        node = model.add_node((0.1, 0.2, -0.6 * k - 0.4), R, group=own)
        model.add(RigidBody(node, 2.0, (0.1, 0.2, 0.15), R.T @ ((0, 0, -0.6 * k - 0.3) - node.position)))
        model.add(SphericalJoint(last, node, point=(0, 0, -0.6 * k)))
        last = node
    return model


def test_frequencies_do_not_depend_on_the_group() -> None:
    found = {group: mbs.modes(hanging_bodies(group)) for group in GROUPS}
    reference = found["SE3"].angular
    assert len(reference) == 6
    assert (reference[:2] == 0).all()  # both turn freely about the vertical
    assert reference[2] > 1.0
    for modes in found.values():
        np.testing.assert_allclose(modes.angular, reference, rtol=1e-10)


def stretched(elements: int, force: float, section: BeamSection, frame: str = "world") -> tuple[mbs.Model, mbs.State]:
    """A beam along x, pulled at its end: a uniform strain, so that its equilibrium is known.

    The start is hinged, for a force that follows clamped.
    """
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (L, 0, 0), section, elements)
    model.fix(beam.nodes[0], rotation=frame == "body")
    model.add(Force(beam.nodes[-1], (force, 0, 0), frame=frame))
    system = mbs.System(model)
    zero = np.zeros((system.n, 6))
    x = system.x0 * (1 + force / section.stiffness[0, 0])
    return model, mbs.State(0.0, x, system.R0, zero, zero, np.zeros(system.m))


def test_beam_under_tension() -> None:
    """Order 2 against the exact frequencies of the stressed beam, bending in x-z; the stress adds half of them."""
    N = 3e4
    reference = np.array(bending(EI[0], GA[1], J[1], ([W, M], FREE), 900.0, N))[:3]
    elements = np.array([16, 32, 64])
    errors = []
    for n in elements:
        model, state = stretched(n, N, SECTION)
        found = mbs.modes(model, 10, state)
        z = np.abs(found.displacement(model.nodes[-1])[:, 2])
        errors.append(np.abs(found.angular[z > 0.1 * z.max()][:3] / reference - 1))
    for error in np.transpose(errors):
        assert abs(fitted_order(1 / elements, error) - 2.0) < 0.1
    assert errors[-1].max() < 2e-3


def test_string() -> None:
    """A beam of hardly any bending stiffness under tension, its end free across, has quarter waves of a string."""
    N, EA = 100.0, 1e5
    model, state = stretched(100, N, BeamSection(EA, 1e6, 1.0, 1e-4, MU, (1e-6, 5e-7, 5e-7)))
    found = mbs.modes(model, 7, state).angular
    # mass per length as built: the stretched string is 1 + N/EA longer and lighter; bending adds sqrt(EI/N)/L = 5e-4
    reference = (np.arange(3) + 0.5) * np.pi / L * np.sqrt(N / MU / (1 + N / EA))
    np.testing.assert_allclose(found, [0, *np.repeat(reference, 2)], rtol=1e-3)


SLENDER = BeamSection(1e5, 1e5, 4.0, 4.0, MU, (1e-5, 5e-6, 5e-6))


@pytest.mark.parametrize("offset", [0.0, 0.1])
def test_a_point_mass_on_springs(offset: float) -> None:
    """Its rotation, on which nothing acts, is held; one that pulls at a lever turns it, and there is no inertia."""
    model = mbs.Model()
    mass = model.add_node((1, 0, 0), name="bob")
    model.add(PointMass(mass, 2.0))
    for x in (0.0, 3.0):
        end = model.add_node((x, 0, 0))
        model.fix(end)
        model.add(SpringDamper(end, mass, 400.0, point_b=(1, offset, 0)))
    if offset:
        with pytest.raises(mbs.SingularSystemError, match=r"node 'bob' \(rotation.*\) can move without mass"):
            mbs.modes(model)
    else:
        np.testing.assert_allclose(mbs.modes(model).angular, [0.0, 0.0, 20.0], rtol=1e-12)


def test_follower_force() -> None:
    """Beck's column flutters above 20.0509 EI/L^2: the stiffness is not symmetric."""
    growth = []
    for factor in (0.98, 1.02):  # the mesh shifts the critical load by (1/20)^2
        model, state = stretched(20, -factor * 20.0509 * 4.0 / L**2, SLENDER, "body")
        growth.append(mbs.modes(model, 4, state).damping.min())
    assert growth[0] > -1e-6
    assert growth[1] < -1e-2


def test_dead_load_buckles(caplog: pytest.LogCaptureFixture) -> None:
    """Euler's column, hinged at the start and guided in rotation at the end: ``pi^2 EI/4 L^2``, where it runs away."""
    for factor, damping in ((0.99, 0.0), (1.01, -1.0)):
        model, state = stretched(20, -factor * np.pi**2 * 4.0 / (4 * L**2), SLENDER)
        model.fix(model.nodes[-1], translation=False)
        lowest = mbs.modes(model, 1, state)
        assert lowest.angular[0] > 0.0
        assert lowest.damping[0] == damping
    assert "1 of 1 modes grow: the state is not stable" in caplog.text


def test_material_damping() -> None:
    """``lambda^2 + tau omega^2 lambda + omega^2 = 0`` for damping in proportion to stiffness; some modes creep."""
    for tau in (1e-8, 1e-3, 2e-2):
        model = mbs.Model()
        beam = Beam.line(model, (0, 0, 0), (L, 0, 0), SECTION.with_damping(tau), 12)
        model.fix(beam.nodes[0])
        free = mbs.modes(model, 72).angular
        ratio = 0.5 * tau * free
        both = -free * ratio + np.emath.sqrt(ratio**2 - 1) * free, -free * ratio - np.emath.sqrt(ratio**2 - 1) * free
        expected = np.concatenate([both[0], both[1][ratio >= 1]])
        expected = expected[np.argsort(np.abs(expected))][:6]
        damped = mbs.modes(model, 6, damped=True)
        np.testing.assert_allclose(damped.eigenvalues, expected, rtol=1e-6)
        np.testing.assert_allclose(damped.damping, -expected.real / np.abs(expected), rtol=1e-6)


def plate() -> tuple[mbs.Model, mbs.Node]:
    """A body on a hinge at the end of a cantilever."""
    model = mbs.Model("SE3")
    arm = Beam.line(model, (0, 0, 0), (1, 0, 0), SECTION, 4)
    model.add(FixedJoint(model.ground, arm.nodes[0]))
    node = model.add_node((1.2, 0, 0), so3.exp(np.array([0.5, 0.2, 0.1])))
    model.add(RigidBody(node, 2.0, (0.1, 0.2, 0.15)))
    model.add(RevoluteJoint(arm.nodes[-1], node, axis=(0, 1, 0), point=(1, 0, 0)))
    return model, node


@pytest.mark.ci
def test_animation() -> None:
    """A period of a mode, drawn from its shape."""
    model, node = plate()
    found = mbs.modes(model, 3)
    assert found.angular[0] == 0.0 < found.angular[1]
    swing = found.animation(0, frames=8)
    assert swing.t[-1] == 1.0
    assert np.linalg.norm(swing.rotation_vector(node)[2] - swing.rotation_vector(node)[0]) > 0.1
    # the larger of both: a tenth of the extent, or half a radian
    for mode in range(3):
        drawn, length = found.animation(mode, frames=8), found.linear.system.length
        moved = np.abs(drawn.x - drawn.x[0]).max() / (0.1 * length)
        turned = np.abs(so3.log(drawn.R @ drawn.R[0].mT)).max() / 0.5
        assert max(moved, turned) == pytest.approx(1.0, rel=1e-9)
    bend = found.animation(1, amplitude=1e-3, frames=8)
    assert bend.t[-1] == pytest.approx(1 / found.frequencies[1])
    np.testing.assert_allclose(bend.displacement(node)[2], 1e-3 * found.displacement(node)[1], rtol=1e-12, atol=1e-15)
    # velocities are those of the motion that is drawn
    t, h = 0.3 * bend.t[-1], 1e-4 * bend.t[-1]
    fine = found.animation(1, amplitude=1e-3, frames=10_000)
    k = round(t / h)
    np.testing.assert_allclose(
        fine.velocity(node)[k],
        (fine.position(node)[k + 1] - fine.position(node)[k - 1]) / (2 * h),
        rtol=1e-6,
        atol=1e-9,
    )
    turn = so3.log(fine.rotation(node)[k - 1].T @ fine.rotation(node)[k + 1]) / (2 * h)
    np.testing.assert_allclose(fine.angular_velocity(node)[k], turn, rtol=1e-6, atol=1e-9)


def test_paraview(tmp_path) -> None:  # type: ignore[no-untyped-def]
    model, _ = plate()
    written = mbs.modes(model, 2).to_paraview(tmp_path / "plate.pvd", frames=4, stations=2)
    assert [file.name for file in written] == ["plate_01.pvd", "plate_02.pvd"]
    assert all(file.read_text().count("DataSet") == 5 for file in written)
    assert len(list(tmp_path.glob("plate_02/*.vtu"))) == 5


def test_print() -> None:
    text = str(mbs.modes(chain(2)))
    assert text.splitlines()[1].split() == [
        "1",
        f"{np.sqrt(9.81 * 2 * (2 - np.sqrt(2))) / 2 / np.pi:.6g}",
        "Hz",
        "0.0000",
    ]


def test_default_count_is_ten_or_all_there_are() -> None:
    assert len(mbs.modes(chain(3)).angular) == 3
    assert len(mbs.modes(chain(11)).angular) == 10


@pytest.mark.parametrize(
    ("elements", "order", "least", "told"), [(4, 1, 1.1, False), (2, 1, 1.6, True), (2, 2, 1.0, False)]
)
def test_columns_of_few_elements_are_told(
    caplog: pytest.LogCaptureFixture, elements: int, order: int, least: float, told: bool
) -> None:
    """A hinged column has half a wave: two elements of order 1 make it half as strong again, and its modes likewise."""
    model = mbs.Model(gravity=(0, 0, 0))
    interpolation = "R3xSO3" if order == 1 else "SE3"
    column = Beam.line(model, (0, 0, 0), (L, 0, 0), SLENDER, elements, order=order, interpolation=interpolation)
    model.add(RevoluteJoint(model.ground, column.nodes[0], (0, 0, 1)))
    model.add(PointOnLineJoint(model.ground, column.nodes[-1], (1, 0, 0)))
    model.add(Force(column.nodes[-1], (-1.0, 0, 0)))
    factor = mbs.buckling(model).factors[0]
    assert factor == pytest.approx(least * np.pi**2 * 4.0 / L**2, rel=0.02)
    mbs.modes(model, 1)
    assert [label in caplog.text for label in ("buckling: mode 1 has waves of 4.0", "modes: mode 1 has")] == [told] * 2


@pytest.mark.slow
def test_a_rigid_translation_has_no_waves(caplog: pytest.LogCaptureFixture) -> None:
    """A tube that slides on its diaphragms: its nodes turn by no more than rounding, in any pattern."""
    model = mbs.Model()
    steel = ShellSection.isotropic(0.02, E=210e9, nu=0.3, rho=7850)

    def around(u: float, v: float) -> tuple[float, float, float]:
        return np.cos(2 * np.pi * u), np.sin(2 * np.pi * u), 4 * v

    tube = Shell.surface(model, around, steel, (32, 16), closed=(True, False))
    for node in (*tube.edge("bottom"), *tube.edge("top")):
        model.fix(node, translation=(True, True, False), rotation=(False, False, True))
    assert mbs.modes(model, 3).angular[:2] == pytest.approx([0.0, 410.3], rel=1e-3)
    assert "waves" not in caplog.text


@pytest.mark.parametrize(("order", "right", "wrong"), [(1, 5, 6), (2, 6, 7), (3, 7, 8)])
def test_waves_are_told_where_a_hinged_beam_swings_too_fast(
    caplog: pytest.LogCaptureFixture, order: int, right: int, wrong: int
) -> None:
    """Half waves on twelve spans between nodes: beams of higher orders follow shorter ones; exact of a slender beam."""
    model, n = mbs.Model(gravity=(0, 0, 0)), 12
    h = 0.001 * L
    section = BeamSection.rectangle(h, h, E=1.0, nu=0.3, rho=1.0)
    beam = Beam.line(model, (0, 0, 0), (L, 0, 0), section, n // order, order=order)
    for node in beam.nodes:
        end = node in (beam.nodes[0], beam.nodes[-1])
        model.fix(node, translation=(True, end, True), rotation=(True, True, False))
    for halves, told in ((right, False), (wrong, True)):
        caplog.clear()
        found = mbs.modes(model, halves).angular[-1]
        exact = (halves * np.pi / L) ** 2 * h / np.sqrt(12.0)
        assert (found > 1.265 * exact) == told
        assert ("modes: mode" in caplog.text) == told


def test_a_state_that_accelerates_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    model, _ = plate()
    mbs.modes(model, 3)
    assert not caplog.records
    model.gravity = (0, 0, -9.81)
    mbs.modes(model, 3)
    assert "neither at rest nor in steady motion" in caplog.text
    assert caplog.records[0].levelno == logging.WARNING


def held() -> mbs.Model:
    model = mbs.Model()
    model.fix(model.add_node((1, 0, 0)))
    return model


def welded() -> mbs.Model:
    model = mbs.Model()
    node = model.add_node((1, 0, 0))
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    model.add(FixedJoint(model.ground, node))
    return model


def test_what_creeps_has_two_modes_a_degree_of_freedom() -> None:
    """``m l^2 + c l + k = 0``, asked for by their number, too."""
    model = mbs.Model()
    bob = model.add_node((0, 0, 0))
    model.add(PointMass(bob, 1.0))
    model.fix(bob, (False, True, True), True)
    model.add(SpringDamper(model.ground, bob, 100.0, 50.0, point_a=(-1, 0, 0)))
    for count in (None, 2):
        assert mbs.modes(model, count, damped=True).eigenvalues == pytest.approx(np.roots([1, 50, 100])[::-1])
    with pytest.raises(mbs.ModelError, match="count = 3 is more than"):
        mbs.modes(model, 3, damped=True)


def massless() -> mbs.Model:
    model = mbs.Model()
    bob = model.add_node((1, 0, 0), name="bob")
    model.add(PointMass(bob, 1.0))
    model.add(Moment(bob, (1, 0, 0)))
    return model


MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "no model": (lambda: mbs.modes("chain"), "modes: model must be a Model, received 'chain'"),  # type: ignore[arg-type]
    "count zero": (lambda: mbs.modes(chain(2), 0), "modes: count must be a whole number of at least 1, received 0"),
    "count a float": (lambda: mbs.modes(chain(2), 1.5), "count must be a whole number of at least 1, received 1.5"),  # type: ignore[arg-type]
    "count too large": (lambda: mbs.modes(chain(2), 3), "count = 3 is more than the 2 modes of the model"),
    "damped a number": (lambda: mbs.modes(chain(2), damped=0.1), "damped must be True or False, received 0.1"),  # type: ignore[arg-type]
    "nothing moves": (lambda: mbs.modes(held()), "nothing can move: all 2 nodes are held"),
    "all is held by joints": (
        lambda: mbs.modes(welded()),
        "nothing can vibrate: 6 constraint equations hold all 6 free components",
    ),
    "no mass": (lambda: mbs.modes(massless()), "node 'bob' (rotation) can move without mass"),
    "no mass at a state": (
        lambda: mbs.modes(massless(), state=resting(massless())),
        "the accelerations at t = 0 s are not unique: node 'bob' (rotation) can move without mass",
    ),
    "state of another model": (
        lambda: mbs.modes(chain(2), state=resting(chain(3))),
        "state is not one of this model, which has 3 nodes, 0 internal variables of elements and 10 constraint ",
    ),
    "state of a model of the same size": (
        lambda: mbs.modes(chain(2), state=resting(chain(2, 1.5))),
        "RevoluteJoint 'RevoluteJoint 1' is open at the state (translation",
    ),
    "no state": (lambda: mbs.linearize(chain(2), 0.0), "linearize: state must be a State, received 0.0"),  # type: ignore[arg-type]
    "mode unknown": (lambda: mbs.modes(chain(2)).animation(2), "there is no mode 2; there are 2, counted from 0"),
    "one frame": (lambda: mbs.modes(chain(2)).animation(0, frames=1), "frames must be a whole number of at least 2"),
    "amplitude zero": (
        lambda: mbs.modes(chain(2)).animation(0, amplitude=0.0),
        "Modes.animation: amplitude must be a positive number, received 0.0",
    ),
    "foreign node": (lambda: mbs.modes(chain(2)).displacement(chain(2).nodes[1]), "node 'node 1' is not part of this"),
    "path a number": (lambda: mbs.modes(chain(2)).to_paraview(3), "path must be a text such as 'out/name', received 3"),  # type: ignore[arg-type]
}


def resting(model: mbs.Model) -> mbs.State:
    system = mbs.System(model)
    zero = np.zeros((system.n, 6))
    return mbs.State(0.0, system.x0, system.R0, zero, zero, np.zeros(system.m))


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(mistake: str) -> None:
    action, words = MISTAKES[mistake]
    with pytest.raises(mbs.FemMbsError) as error:
        action()
    assert words in str(error.value)


def test_overdamped_modes_of_high_frequencies() -> None:
    """Of eigenvalues of least size whose undamped frequencies are the highest, which loads that follow couple."""
    K = np.diag([5.0, 6.0, 1000.0, 1100.0])
    C, skew = 0.5 * K, np.zeros((4, 4))
    skew[2, 3], skew[3, 2] = 200.0, -200.0
    none = csc_array((0, 4))
    every, matrices = np.ones(4, np.bool_), [csc_array(own) for own in (np.eye(4), C, K + skew)]
    found, _ = eigenmodes(Pencil(*matrices, none, csc_array((4, 0)), none, every, every[:0]), 2)
    whole = np.linalg.eigvals(np.block([[np.zeros((4, 4)), np.eye(4)], [-K - skew, -C]]))
    expected = sorted(whole[whole.imag >= 0.0], key=abs)[:2]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.slow
def test_damping_that_is_left_out_is_told() -> None:
    """Damping ratios of zero are those of no damping, or the table says that it is left out."""
    for damping in (0.0, 1.0):
        model = mbs.Model()
        node = model.add_node((0, 0, 1))
        model.add(PointMass(node, 2.0))
        model.add(SpringDamper(model.ground, node, 50.0, damping))
        model.fix(node, translation=(True, True, False))
        told = "damped=True has it"
        plain, damped = mbs.modes(model), mbs.modes(model, damped=True)
        assert (told in str(plain)) == (told in plain._repr_html_()) == (damping > 0.0)
        assert told not in str(damped)
        np.testing.assert_allclose(damped.damping, damping / 20.0, rtol=1e-12)


@pytest.mark.parametrize(("angle", "still"), [(0.0, False), (0.5 * np.pi, True)])
def test_a_pendulum_that_falls_has_no_frequency_without_a_word(
    angle: float, still: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Where it is level gravity has no stiffness, and it is no equilibrium; where it hangs it swings."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    bar = model.add_node((0.5 * np.cos(angle), 0, -0.5 * np.sin(angle)))
    model.add(RigidBody(bar, 2.0, (1 / 6, 1 / 6, 1 / 6)))
    model.add(RevoluteJoint(model.ground, bar, (0, 1, 0), (0, 0, 0)))
    frequency = mbs.modes(model).frequencies[0]
    assert frequency == pytest.approx(np.sqrt(1.5 * 9.81) / (2.0 * np.pi) if still else 0.0, rel=1e-9)
    assert ("neither at rest nor in steady motion: it accelerates" in caplog.text) is not still
