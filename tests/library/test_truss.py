"""Trusses and released ends: forces by hand, no singular rotations, in statics, modes and time."""

from __future__ import annotations

from typing import Any

import meshio
import numpy as np
import pytest
from catalogue import PLAIN

import fem_mbs as mbs
from fem_mbs.elements import (
    Beam,
    BeamSection,
    DistributedLoad,
    EndRelease,
    Force,
    PointMass,
    PrismaticJoint,
    RigidBody,
    Truss,
    beams_from_mesh,
)

BAR = BeamSection.circle(0.01, 200e9, 0.3, 7800.0)


@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_three_bars_carry_a_load(group: str) -> None:
    """A tripod whose rotations nothing holds: forces by equilibrium, deflection by Castigliano; in all analyses."""
    model = mbs.Model(group)
    top = model.add_node((0, 0, 2), name="top")
    feet = [model.add_node((np.cos(a), np.sin(a), 0)) for a in 2 * np.pi * np.arange(3) / 3]
    bars = [model.add(Truss(foot, top, BAR)) for foot in feet]
    for foot in feet:
        model.fix(foot)
    model.add(PointMass(top, 100.0))
    model.add(Force(top, (0, 0, -1000.0)))
    solution = mbs.statics(model)
    length, EA = np.sqrt(5), BAR.stiffness[0, 0]
    pull = -1000 / 3 * length / 2
    for bar in bars:
        np.testing.assert_allclose(solution.section_forces(bar)[-1, 0], [pull, 0, 0, 0, 0, 0], rtol=1e-4, atol=1e-6)
    drop = 3 * pull**2 * length / EA / 1000
    np.testing.assert_allclose(solution.displacement(top)[-1], (0, 0, -drop), rtol=1e-4, atol=1e-12)
    found = mbs.modes(model, 3, solution.state(-1))
    mass = 100 + 3 * BAR.mass * length / 3
    stiff = 3 * EA / length * np.array([4, 0.5, 0.5]) / 5
    np.testing.assert_allclose(np.sort(found.angular), np.sort(np.sqrt(stiff / mass)), rtol=1e-4)
    run = mbs.simulate(model, t_end=1.01, step=5e-4, initial=solution.state(-1))
    np.testing.assert_allclose(run.position(top), run.position(top)[:1] + np.zeros((21, 1)), atol=1e-9)
    assert "3 degrees of freedom left" in str(model)


def test_moments_on_the_joint_of_trusses_are_still_refused() -> None:
    """A rotation is held where nothing acts on it, not where something does."""
    model = mbs.Model()
    top = model.add_node((0, 0, 1))
    model.add(Truss(model.ground, top, BAR))
    model.add(mbs.elements.Moment(top, (1.0, 0, 0)))
    with pytest.raises(mbs.SingularSystemError, match="can move without mass"):
        mbs.simulate(model, t_end=0.1, step=0.1)


@pytest.mark.ci
def test_a_bar_swings_like_a_compound_pendulum() -> None:
    """A stiff truss about one end: a rod of length L, ``T = 2 pi sqrt(2L/3g)``, 1 + a^2/16 longer at a = 0.1 rad."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    end = model.add_node((np.sin(0.1), 0, -np.cos(0.1)))
    model.add(Truss(model.ground, end, BAR))
    period = 2 * np.pi * np.sqrt(2 / 3 / 9.81) * (1 + 0.1**2 / 16)
    solution = mbs.simulate(model, t_end=period, step=period / 400)
    np.testing.assert_allclose(solution.position(end)[-1], solution.position(end)[0], atol=2e-4)


def test_a_damped_truss_is_a_spring_with_a_damper() -> None:
    """A body on a rail at its end: a third of its own mass goes with it, its time constant damps by ``tau omega/2``."""
    model, tau = mbs.Model(), 2e-4
    end = model.add_node((2.0, 0, 0))
    model.add(RigidBody(end, 3.0, (1, 1, 1)))
    model.add(PrismaticJoint(model.ground, end, (1, 0, 0)))
    model.add(Truss(model.ground, end, BAR.with_damping(tau)))
    omega = np.sqrt(BAR.stiffness[0, 0] / 2.0 / (3.0 + BAR.mass * 2.0 / 3.0))
    modes = mbs.modes(model, 1, damped=True)
    assert modes.angular == pytest.approx([omega], rel=1e-9)
    assert modes.damping == pytest.approx([0.5 * tau * omega], rel=1e-9)


def propped(release: Any, from_mesh: bool) -> tuple[mbs.Model, Beam, mbs.Node]:
    """A member of 2 m from a clamp to a support, released at its ends, under a uniform load of 1 N/m."""
    model = mbs.Model()
    if from_mesh:
        mesh = meshio.Mesh([(0, 0, 0), (2, 0, 0)], [("line", [(0, 1)])])
        frame = beams_from_mesh(model, mesh, BAR, release=release, elements=2)
        (beam,), ends = frame.beams, list(frame.nodes.values())
    else:
        ends = [model.add_node((x, 0, 0)) for x in (0, 2)]
        held = {"start_node": ends[0], "end_node": ends[1], "release_start": release[0], "release_end": release[1]}
        beam = Beam.line(model, (0, 0, 0), (2, 0, 0), BAR, 2, order=3, **held)
    for node in ends:
        model.fix(node)
    model.add(DistributedLoad(beam, (0, 0, -1.0)))
    return model, beam, ends[0]


@pytest.mark.parametrize("from_mesh", [True, False])
@pytest.mark.parametrize(
    ("release", "moments"),
    [((None, None), (1 / 3, 1 / 3)), ((None, "y"), (1 / 2, 0)), (("yz", "yz"), (0, 0)), (("xyz", None), (0, 1 / 2))],
)
def test_released_ends_have_no_moment(release: Any, moments: tuple[float, float], from_mesh: bool) -> None:
    """``q L^2/12`` at clamped ends, ``q L^2/8`` where the other one turns; frequencies of the same beams (Euler)."""
    model, beam, _ = propped(release, from_mesh)
    forces = mbs.statics(model).section_forces(beam)[-1]
    np.testing.assert_allclose(forces[[0, -1], 4], moments, atol=2e-4)
    beta = {0: 4.73004, 1: 3.92660, 2: np.pi}[sum(m == 0 for m in moments)]
    (bending,) = mbs.modes(model, 1).angular
    exact = (beta / 2) ** 2 * np.sqrt(BAR.stiffness[4, 4] / BAR.mass)
    np.testing.assert_allclose(bending, exact, rtol=2e-3)
    assert mbs.simulate(model, t_end=0.01, step=1e-3).success


@pytest.mark.slow
def test_a_braced_frame_of_pins_is_a_truss() -> None:
    """Members released at both ends carry what trusses carry, where all nodes are free to turn."""
    points = [(0, 0, 0), (2, 0, 0), (0, 0, 2), (2, 0, 2), (1, 2, 1)]
    lines = [(0, 2), (1, 3), (2, 3), (0, 3), (0, 4), (1, 4), (2, 4), (3, 4), (1, 2)]
    places = []
    for options in ({"release": ("yz", "yz")}, {"trusses": True}):
        model = mbs.Model()
        frame = beams_from_mesh(model, meshio.Mesh(points, [("line", lines)]), BAR, **options)
        for foot in (0, 1, 2):
            model.fix(frame.nodes[foot], translation=True, rotation=False)
        model.add(Force(frame.nodes[4], (100.0, 50.0, -200.0)))
        places.append([mbs.statics(model).displacement(node)[-1] for node in frame.nodes.values()])
    np.testing.assert_allclose(places[0], places[1], rtol=0, atol=1e-3 * np.abs(places[1]).max())


BAD = {
    "axes": (lambda m, n: Beam.line(m, (0, 0, 0), (1, 0, 0), PLAIN, start_node=n, release_start="w"), "must name axes"),
    "no node": (lambda m, n: Beam.line(m, (0, 0, 0), (1, 0, 0), PLAIN, release_end="y"), "release_end needs end_node"),
    "itself": (
        lambda m, n: EndRelease(n, Beam([n, m.add_node((1, 0, 0))], PLAIN)),
        "connects node 'here' with itself",
    ),
    "no length": (lambda m, n: Truss(n, m.ground, PLAIN), "the line has no length"),
    "no section": (lambda m, n: Truss(n, m.add_node((1, 0, 0)), 3.0), "section must be a BeamSection"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", BAD)
def test_bad_releases_and_trusses_are_refused(name: str) -> None:
    make, words = BAD[name]
    model = mbs.Model()
    with pytest.raises(mbs.ModelError, match=words):
        make(model, model.add_node((0, 0, 0), name="here"))
