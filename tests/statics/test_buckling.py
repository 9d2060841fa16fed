"""Linear buckling against closed forms: columns, beams that tip over, shafts, weight."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from meshes import chain, pulled
from scipy.optimize import brentq
from scipy.special import jv

import fem_mbs as mbs
from fem_mbs.benchmarks.beams import bend, frame
from fem_mbs.elements import (
    Beam,
    BeamSection,
    Bearing,
    Bushing,
    DistributedLoad,
    FixedJoint,
    FlexibleBody,
    Force,
    Interface,
    JointSpring,
    Moment,
    OrientationJoint,
    PointMass,
    PrismaticJoint,
    Reduction,
    RevoluteJoint,
    SphericalJoint,
    SpringDamper,
    Truss,
)
from fem_mbs.elements.joints.relative import RelativeJoint

TAN = brentq(lambda x: np.tan(x) - x, 4.4, 4.6)
"""4.4934, of the column clamped and hinged, and of the shaft between clamps."""


class Guide(RelativeJoint):
    """Closes some translations and rotations along and about the world's axes."""

    def __init__(self, node: mbs.Node, ground: mbs.Node, along: str = "", about: str = "") -> None:
        self.closes = (*(f"translation {axis}" for axis in along), *(f"rotation {axis}" for axis in about))
        super().__init__(ground, node, None, np.eye(3))


def column(ends: str, elements: int, slenderness: float, interpolation: str) -> mbs.Model:
    """Along z, length 1, EI = 1 about the world's x and 1.7 about y, with a force of 1 down."""
    model = mbs.Model()
    section = BeamSection(slenderness**2, slenderness**2 / 2.6, 1, (1.0, 1.7), mass=1, inertia=(1, 1, 1))
    beam = Beam.line(model, (0, 0, 0), (0, 0, 1), section, elements, y_axis=(1, 0, 0), interpolation=interpolation)
    foot, head = beam.nodes[0], beam.nodes[-1]
    model.add(Force(head, (0, 0, -1)))
    if ends == "hinged":
        model.add(Guide(foot, model.ground, "xyz", "z"))
    else:
        model.fix(foot)
    if ends != "clamped and free":
        model.add(Guide(head, model.ground, "xy", "xyz" if ends == "clamped" else ""))
    return model


COLUMNS = {
    "clamped and free": (np.pi / 2) ** 2,
    "hinged": np.pi**2,
    "clamped and hinged": TAN**2,
    "clamped": (2 * np.pi) ** 2,
}


@pytest.mark.parametrize("interpolation", ["SE3", "R3xSO3"])
@pytest.mark.parametrize("ends", COLUMNS)
def test_columns_of_euler(ends: str, interpolation: str) -> None:
    """Both planes; of second order in the mesh."""
    factors = [mbs.buckling(column(ends, n, 1e4, interpolation), 2).factors for n in (20, 40, 80)]
    errors = np.array(factors) / COLUMNS[ends] / (1.0, 1.7) - 1
    np.testing.assert_allclose(np.log2(errors[0] / errors[1]), 2, atol=0.1)
    extrapolated = factors[2] + (factors[2] - factors[1]) / 3
    np.testing.assert_allclose(extrapolated, COLUMNS[ends] * np.array([1.0, 1.7]), rtol=2e-5)


def test_a_pulled_column_does_not_buckle(caplog: pytest.LogCaptureFixture) -> None:
    """What is singular there is its shear, at strains beyond its law; Euler's load is that of the load turned round."""
    model = mbs.Model(gravity=(0, 0, 0))
    rod = Beam.line(model, (0, 0, 0), (1, 0, 0), BeamSection.circle(0.01, E=210e9, nu=0.3, rho=7850), elements=4)
    model.fix(rod.nodes[0])
    load = model.add(Force(rod.nodes[-1], (1000.0, 0, 0)))
    assert mbs.buckling(model).factors[0] > 1e4
    (text,) = caplog.messages
    assert "on the way there" in text and "load factor of -4.1" in text
    caplog.clear()
    model.remove(load)
    model.add(Force(rod.nodes[-1], (-1000.0, 0, 0)))
    assert mbs.buckling(model).factors[0] == pytest.approx(np.pi**3 * 0.01**4 * 210e9 / 16 / 1000.0, rel=0.02)
    assert not caplog.messages


@pytest.mark.parametrize("follows", ["pulled at its end", "pushed at its end", "pushed all along"])
def test_a_cantilever_under_loads_that_follow_has_no_factor(follows: str) -> None:
    """Nor under loads turned round: what bends it depends on what is beyond alone, and no mesh invents a load."""
    model, along = mbs.Model(), (1.0 if "pulled" in follows else -1.0, 0, 0)
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), BeamSection(1e4, 4e3, 1, (1, 1.7), 1, (2, 1, 1)), 6)
    model.fix(beam.nodes[0])
    all_along = DistributedLoad(beam, along, frame="body")
    model.add(all_along if "all" in follows else Force(beam.nodes[-1], along, frame="body"))
    with pytest.raises(mbs.ModelError, match=r"do not make the model buckle\. Loads that follow"):
        mbs.buckling(model)


@pytest.mark.parametrize(("share", "told"), [(0.3, False), (0.49, True)])
def test_a_force_of_which_a_share_follows(share: float, told: bool, caplog: pytest.LogCaptureFixture) -> None:
    """``(1 - share) cos(a L) = -share``; towards a half, where two factors meet, the mesh matters more and more."""
    model, a = mbs.Model(), np.arccos(-share / (1.0 - share))
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), BeamSection(1e8, 1e8, 1, (1, 1.7), 1, (2, 1, 1)), 2, order=3)
    model.fix(beam.nodes[0])
    model.add(Force(beam.nodes[-1], (share - 1.0, 0, 0)))
    model.add(Force(beam.nodes[-1], (-share, 0, 0), frame="body"))
    assert mbs.buckling(model).factors[0] == pytest.approx(a**2, rel=1e-4)
    assert ("the loads follow" in caplog.text) is told


@pytest.mark.parametrize("ends", ["clamped and free", "hinged"])
def test_shear_weakens_a_stout_column(ends: str) -> None:
    """Haringx: ``(sqrt(1 + 4 P_E/GA) - 1) GA/2``, what the equations of Reissner's beam give without its shortening."""
    GA, euler = 100 / 2.6, COLUMNS[ends]
    haringx = (np.sqrt(1 + 4 * euler / GA) - 1) * GA / 2
    factors = [mbs.buckling(column(ends, n, 10.0, "SE3")).factors[0] for n in (20, 40)]
    assert factors[1] + (factors[1] - factors[0]) / 3 == pytest.approx(haringx, rel=1e-5)
    assert haringx < 0.95 * euler


@pytest.mark.parametrize(("EA", "told"), [(1e6, False), (100.0, True)])
def test_a_column_that_shortens_much_is_told(EA: float, told: bool, caplog: pytest.LogCaptureFixture) -> None:
    """``P (1 + P (1/GA - 1/EA)) = P_E`` by Reissner's equations, close to which a state near it comes."""
    model, GA = mbs.Model(), 40.0
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), BeamSection(EA, GA, 1, 1, 1, (2, 1, 1)), elements=40)
    model.add(RevoluteJoint(model.ground, beam.nodes[0], (0, 0, 1)))
    model.add(Guide(beam.nodes[-1], model.ground, "yz", "xy"))
    model.add(Force(beam.nodes[-1], (-1, 0, 0)))
    a = 1 / GA - 1 / EA
    exact = (np.sqrt(1 + 4 * a * np.pi**2) - 1) / (2 * a)
    factor = mbs.buckling(model).factors[0]
    assert factor == pytest.approx(8.192, rel=1e-3)
    assert bool(caplog.messages) is told
    if told:
        assert "on the way there, it is 8.2" in caplog.text
    initial = mbs.statics(model, load_end=0.95 * factor).state(-1)
    assert mbs.buckling(model, initial=initial).factors[0] == pytest.approx(exact, rel=8e-3)


def test_own_weight() -> None:
    """Greenhill: a column stands up to ``q L^3/EI = 7.8373``; gravity is a load that the factor multiplies."""
    factors = []
    for elements in (20, 40):
        model = mbs.Model(gravity=(0, 0, -1))
        section = BeamSection(1e8, 1e8, 1, 1, mass=1, inertia=(1, 1, 1))
        mast = Beam.line(model, (0, 0, 0), (0, 0, 1), section, elements)
        model.fix(mast.nodes[0])
        factors.append(mbs.buckling(model).factors[0])
    exact = 9 / 4 * brentq(lambda x: jv(-1 / 3, x), 1.5, 2.2) ** 2
    assert exact == pytest.approx(7.8373, abs=1e-4)
    assert factors[1] + (factors[1] - factors[0]) / 3 == pytest.approx(exact, rel=1e-4)


def reduced_column(ends: str, parts: int, stiffens: bool) -> mbs.Model:
    """Reduced bodies along x, length 1, EI = mu = 1, with a force of 1, or gravity, against x."""
    n = 48 // parts
    mesh, dofs = chain(n, 1 / parts)
    tips = {"a": Interface.rigid([0]), "b": Interface.rigid([n])}
    part = Reduction(*mesh, tips, dofs=dofs, modes=4, geometric=pulled(n, 1 / parts) if stiffens else None)
    model = mbs.Model("SE3", gravity=(-1, 0, 0) if ends == "own weight" else (0, 0, 0))
    bodies = FlexibleBody.chain(model, [part] * parts)
    model.add(bodies)
    foot, head = bodies[0].nodes[0], bodies[-1].nodes[-1]
    if ends == "hinged":
        model.add(SphericalJoint(model.ground, foot))
        model.fix(head, translation=(False, True, True), rotation=(True, False, False))
    else:
        model.fix(foot)
    if ends == "clamped":
        model.fix(head, translation=(False, True, True), rotation=True)
    if ends != "own weight":
        model.add(Force(head, (-1, 0, 0)))
    return model


@pytest.mark.ci
@pytest.mark.parametrize("ends", ["clamped and free", "hinged", "clamped", "own weight"])
def test_columns_of_reduced_bodies(ends: str) -> None:
    """Of Euler and Greenhill: with the stress within bodies one or four do, without it there must be some."""
    exact = COLUMNS[ends] if ends in COLUMNS else 7.8373
    one, four = (mbs.buckling(reduced_column(ends, parts, True), 2).factors for parts in (1, 4))
    # four modes are few for one body, which then buckles later
    assert one == pytest.approx([exact, exact], rel={"clamped": 0.032, "own weight": 4e-4}.get(ends, 3e-4))
    assert four == pytest.approx([exact, exact], rel=5e-5 if ends == "own weight" else 2e-4)
    coarse, fine = (mbs.buckling(reduced_column(ends, parts, False)).factors[0] for parts in (4, 8))
    assert coarse == pytest.approx(exact, rel=0.008)
    assert fine == pytest.approx(exact, rel=0.002)
    if ends == "clamped":
        with pytest.raises(mbs.ModelError, match="do not make the model buckle"):
            mbs.buckling(reduced_column(ends, 1, False))


def test_column_of_reduced_bodies_that_is_loaded_already() -> None:
    """The factor counts from the state, which is compressed and no more."""
    model = reduced_column("clamped and free", 2, True)
    loaded = mbs.statics(model, 1.5).state(-1)
    assert mbs.buckling(model, initial=loaded).factors[0] == pytest.approx(mbs.buckling(model).factors[0], rel=1e-5)


def narrow(elements: int, EI_y: float = 1e6) -> tuple[mbs.Model, Beam]:
    """Along x, weak about z: EI_z = 1, GJ = 0.7."""
    model = mbs.Model()
    section = BeamSection(1e8, 1e8, 0.7, (EI_y, 1.0), mass=1, inertia=(1, 1, 1))
    return model, Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements, y_axis=(0, 1, 0))


def guyed(kind: str, k: float, c: float) -> mbs.Model:
    """Two springs or trusses in line, held across where they meet by a stiffness."""
    model = mbs.Model()
    middle, top = model.add_node((0, 0, 1)), model.add_node((0, 0, 2))
    for node in (middle, top):
        model.add(PointMass(node, 1.0))
    model.add(OrientationJoint(model.ground, middle))
    model.add(PrismaticJoint(model.ground, top, (0, 0, 1)))
    for a, b in ((model.ground, middle), (middle, top)):
        model.add(
            SpringDamper(a, b, k)
            if kind == "spring"
            else Truss(a, b, BeamSection(k, k, 1.0, (1.0, 1.0), 1.0, (1e-3, 5e-4, 5e-4)))
        )
    for far in ((-100, 0, 1), (0, -100, 1)):
        model.add(SpringDamper(model.ground, middle, c, point_a=far))
    model.add(Force(top, (0, 0, -1.0)))
    return model


@pytest.mark.parametrize("kind", ["spring", "truss"])
def test_a_strut_of_two_springs(kind: str) -> None:
    """``P (1/l + 1/l) = c``."""
    np.testing.assert_allclose(mbs.buckling(guyed(kind, 1e5, 10.0)).factors[0], 5.0, rtol=1e-10)


def test_links_on_a_bushing_that_carries_them() -> None:
    """A rigid bar on a bushing, upright: ``P L = k`` of its turning."""
    model, k = mbs.Model(), 3.0
    bar = model.add_node((0, 0, 2))
    model.add(PointMass(bar, 1.0))
    model.add(Bushing(model.ground, bar, np.diag([1e7, 1e7, 1e7, k, 2.0 * k, k]), point=(0, 0, 0)))
    model.add(Force(bar, (0, 0, -1.0)))
    np.testing.assert_allclose(mbs.buckling(model, 2).factors, [k / 2.0, k], rtol=1e-7)


def test_upright_bars_that_no_load_moves_before_they_fall() -> None:
    """Two rigid bars of length 1 with a spring in each hinge: ``P = (3 -+ sqrt 5) c/2``."""
    model, c, last = mbs.Model(), 7.0, None
    for z in (0.0, 1.0):
        bar = model.add_node((0, 0, z + 1.0))
        hinge = model.add(RevoluteJoint(last or model.ground, bar, (0, 1, 0), point=(0, 0, z)))
        model.add(JointSpring(hinge, c))
        last = bar
    model.add(Force(bar, (0, 0, -1.0)))
    np.testing.assert_allclose(mbs.buckling(model, 2).factors, 0.5 * c * (3.0 + np.sqrt(5.0) * np.array([-1, 1])))


@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_a_bearing_that_carries_the_load(group: str) -> None:
    """A block on top of a bar of length 1, which slides across it on a spring: ``P + P^2/k = c`` of the bar's hinge."""
    model, c, k = mbs.Model(group), 10.0, 50.0
    bar, block = (model.add_node((0, 0, z)) for z in (0, 1))
    model.add(PointMass(block, 1.0))
    model.add(JointSpring(model.add(RevoluteJoint(model.ground, bar, (0, 1, 0))), c))
    model.add(Bearing(bar, block, (0, 0, 1), (k, 1e7, 1e7, 1e7, 1e7), across=(1, 0, 0)))
    model.add(OrientationJoint(bar, block))
    model.add(Force(block, (0, 0, -1.0)))
    np.testing.assert_allclose(mbs.buckling(model).factors[0], 0.5 * k * (np.sqrt(1.0 + 4.0 * c / k) - 1.0), rtol=1e-6)


def test_a_column_below_a_strut_that_is_a_spring() -> None:
    """Its tip has the stiffness ``P / (tan(a L) / (a L) - 1)``, ``a^2 = P / EI``; the strut pushes it out by ``P``."""
    model, EI, k = mbs.Model(), 1.0, 1e5
    section = BeamSection(1e6, 1e6, 50.0, (EI, EI), 1.0, (1e-3, 5e-4, 5e-4))
    beam = Beam.line(model, (0, 0, 0), (0, 0, 1), section, 16)
    model.fix(beam.nodes[0])
    top = model.add_node((0, 0, 2))
    model.add(PointMass(top, 1.0))
    model.add(PrismaticJoint(model.ground, top, (0, 0, 1)))
    model.add(SpringDamper(beam.nodes[-1], top, k))
    model.add(Force(top, (0, 0, -1.0)))
    exact = brentq(lambda a: 1.0 / (np.tan(a) / a - 1.0) - 1.0, 0.5, 1.5) ** 2
    np.testing.assert_allclose(mbs.buckling(model).factors[0], exact, rtol=1e-3)


def test_cantilever_that_tips_over() -> None:
    """Prandtl: ``P L^2/sqrt(EI GJ) = 4.0126`` and ``10.246``, zeros of ``J_-1/4(x/2)``; the load may act up or down."""
    exact = [brentq(lambda x: jv(-0.25, x / 2), low, high) for low, high in ((3, 5), (9, 11))]
    assert exact[0] == pytest.approx(4.0126, abs=1e-4)
    for sign in (1, -1):
        factors = []
        for elements in (20, 40):
            model, beam = narrow(elements)
            model.fix(beam.nodes[0])
            model.add(Force(beam.nodes[-1], (0, 0, sign)))
            factors.append(mbs.buckling(model, 2).factors / np.sqrt(0.7))
        np.testing.assert_allclose(factors[1] + (factors[1] - factors[0]) / 3, exact, rtol=1e-4)


def test_beam_between_forks_under_end_moments_tips_over(caplog: pytest.LogCaptureFixture) -> None:
    """``pi sqrt(EI GJ)/L``, of which a beam that is bent a little before knows no more, but says so."""
    for EI_y in (1e6, 20.0):
        assert not caplog.messages
        factors = []
        for elements in (20, 40):
            model, beam = narrow(elements, EI_y)
            for node, along, moment in ((beam.nodes[0], "xyz", 1), (beam.nodes[-1], "yz", -1)):
                model.add(Guide(node, model.ground, along, "x"))
                model.add(Moment(node, (0, moment, 0)))
            factors.append(mbs.buckling(model).factors[0])
        assert factors[1] + (factors[1] - factors[0]) / 3 == pytest.approx(np.pi * np.sqrt(0.7), rel=1e-4)
    assert caplog.text.count("on the way there") == 2


def test_shaft_that_is_twisted_coils_up() -> None:
    """Greenhill's shaft between clamps, one of which slides and turns: ``2 EI x/L`` with ``tan x = x``, twice."""
    factors = []
    for elements in (40, 80):
        model = mbs.Model()
        shaft = Beam.line(
            model, (0, 0, 0), (240, 0, 0), BeamSection(712400, 271900, 58730, 5934.3, 1, (1, 1, 1)), elements
        )
        model.fix(shaft.nodes[0])
        model.add(Guide(shaft.nodes[-1], model.ground, "yz", "yz"))
        model.add(Moment(shaft.nodes[-1], (1, 0, 0)))
        factors.append(mbs.buckling(model, 2).factors / (2 * 5934.3 * TAN / 240))
    np.testing.assert_allclose(factors[1] + (factors[1] - factors[0]) / 3, 1, rtol=2e-4)


def test_shapes_of_the_column() -> None:
    """``1 - cos(pi z/2)``, of size one: its displacement is the extent of the model."""
    buckling = mbs.buckling(column("clamped and free", 40, 1e4, "SE3"))
    model = column("clamped and free", 40, 1e4, "SE3")
    buckling = mbs.buckling(model)
    z = np.linspace(0, 1, 41)
    shape = np.array([buckling.displacement(node)[0] for node in model.nodes[1:]])
    across = shape[:, 1] * np.sign(shape[-1, 1])
    turn = np.array([buckling.rotation_vector(node)[0, 0] for node in model.nodes[1:]])
    np.testing.assert_allclose(across / across[-1], 1 - np.cos(np.pi * z / 2), atol=1e-7)
    np.testing.assert_allclose(np.abs(turn), np.pi / 2 * np.sin(np.pi * z / 2) * across[-1], atol=2e-3)
    assert np.abs(buckling.shapes).max() == pytest.approx(1)
    np.testing.assert_allclose(shape[:, [0, 2]], 0, atol=1e-6)


def test_many_factors_of_a_long_structure() -> None:
    """A circular column of 300 elements: factors of the odd multiples of a quarter wave, each twice."""
    model = mbs.Model()
    section = BeamSection.circle(0.01, 2e11, 0.3, 7800)
    mast = Beam.line(model, (0, 0, 0), (0, 0, 2), section, 300)
    model.fix(mast.nodes[0])
    model.add(Force(mast.nodes[-1], (0, 0, -1)))
    factors = mbs.buckling(model, 6).factors / (np.pi**2 / 16 * section.stiffness[4, 4])
    np.testing.assert_allclose(factors, [1, 1, 9, 9, 25, 25], rtol=2e-3)


def test_factor_from_a_state_near_buckling_is_that_of_the_path() -> None:
    """Bent before it buckles, the frame is a little stiffer than linear buckling says; there it is unstable."""
    model, _ = frame()
    linear = mbs.buckling(model).factors[0]
    near = mbs.statics(model, load_end=0.99 * linear)
    better = mbs.buckling(model, initial=near.state(-1)).factors[0]
    assert better == pytest.approx(linear, rel=1e-3) and better > linear
    below, above = (mbs.statics(model, load_end=better + d).unstable[-1] for d in (-1e-4, 1e-4))
    assert (below, above) == (0, 1)


def test_dead_weight_beside_a_growing_force() -> None:
    """Without ramp only functions of time grow; a weight of half its critical size leaves about half for the force."""

    def mast(force: Callable[[float], tuple[float, float, float]] | tuple[float, float, float]) -> mbs.Model:
        model = column("clamped and free", 20, 1e4, "SE3")
        model.remove(model.elements[-1])
        model.add(Force(model.nodes[-1], (0, 0, -1.0)))
        model.add(Force(model.nodes[-1], force))
        return model

    both = mbs.buckling(mast(lambda t: (0, 0, -t)), ramp=False).factors[0]
    assert both == pytest.approx(mbs.buckling(column("clamped and free", 20, 1e4, "SE3")).factors[0] - 1, rel=1e-6)


def test_joints_hold_as_clamps_do() -> None:
    """To the rounding of the axial force, ``EA`` eps over the length of an element: 2e-7 of the load."""
    factors = []
    for clamp in (True, False):
        model, beam = narrow(8)
        model.fix(beam.nodes[0]) if clamp else model.add(FixedJoint(model.ground, beam.nodes[0]))
        model.add(Force(beam.nodes[-1], (-1, 0, 0)))
        factors.append(mbs.buckling(model, 2).factors)
    np.testing.assert_allclose(factors[0], factors[1], rtol=1e-6)


def test_animation_and_files(tmp_path) -> None:
    model, arm = frame()
    buckling = mbs.buckling(model, 2)
    swing = buckling.animation(0, amplitude=0.05, frames=4)
    expected = 0.05 * buckling.displacement(arm.nodes[-1])[0]
    np.testing.assert_allclose(swing.displacement(arm.nodes[-1])[1], expected, atol=1e-12)
    assert [file.name for file in buckling.to_paraview(tmp_path / "b")] == ["b_01.pvd", "b_02.pvd"]
    assert str(buckling).splitlines()[1].split() == ["1", f"{buckling.factors[0]:.6g}"]


@pytest.mark.ci
def test_loads_that_cannot_buckle_a_model_are_refused() -> None:
    model, beam = narrow(4)
    model.fix(beam.nodes[0])
    with pytest.raises(mbs.ModelError, match="the loads do not deform the model"):
        mbs.buckling(model)
    model.add(Moment(beam.nodes[-1], (1, 0, 0), frame="body"))
    model.add(Force(beam.nodes[-1], (0.3, 0.2, 0.1)))
    with pytest.raises(mbs.ModelError, match="the loads do not deform the model"):
        mbs.buckling(model, ramp=False)
    for count in (0, 1.5, True):
        with pytest.raises(mbs.ModelError, match="count must be a whole number of at least 1"):
            mbs.buckling(model, count)
    with pytest.raises(mbs.SingularSystemError, match="without resistance"):
        free = bend(4)[0]
        for node in free.nodes[1:]:
            node.fixed_translation = node.fixed_rotation = False
        mbs.buckling(free)
