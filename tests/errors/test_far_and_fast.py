"""Models far from the world's origin, and functions of time that change fast or are known for a while only."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest
from meshes import brick
from scipy.interpolate import CubicSpline

import fem_mbs as mbs
from fem_mbs.contracts.functions import derivatives
from fem_mbs.elements import (
    Beam,
    BeamSection,
    FixedJoint,
    FlexibleBody,
    Force,
    Interface,
    Maxwell,
    Reduction,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
    beams_from_mesh,
)

GROUPS = ("R3xSO3", "SE3")
STEEL = BeamSection.rectangle(0.03, 0.001, 2.1e11, 0.3, 7800)
ROOT = Path(__file__).parents[2]


def ruler(x: float, group: str) -> tuple[mbs.Model, Beam]:
    """A clamped steel ruler of 0.3 m at a distance."""
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    beam = Beam.line(model, (x, x / 3, 0), (x + 0.3, x / 3, 0), STEEL, 6)
    model.fix(beam.nodes[0])
    return model, beam


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("far", [30.0, 1e4, 1e6])
def test_a_ruler_is_the_same_anywhere(far: float, group: str) -> None:
    """Up to the rounding of its own nodes, of 1e-10 m at 1e6 m."""
    rounding = 1e-12 + 4e-16 * far
    (near, a), (model, b) = ruler(0.0, group), ruler(far, group)
    here, there = mbs.simulate(near, 0.1, 0.01), mbs.simulate(model, 0.1, 0.01)
    np.testing.assert_allclose(there.displacement(b.nodes[-1]), here.displacement(a.nodes[-1]), atol=rounding)
    np.testing.assert_allclose(there.position(b.nodes[-1])[0], (far + 0.3, far / 3, 0), rtol=1e-15)
    np.testing.assert_allclose(there.energy.total, 0.0, atol=1e-5)
    assert there.stats.failed_steps == here.stats.failed_steps
    np.testing.assert_allclose(there.section_forces(b), here.section_forces(a), atol=1e-6 + 1e4 * rounding)
    here, there = mbs.statics(near), mbs.statics(model)
    np.testing.assert_allclose(there.displacement(b.nodes[-1]), here.displacement(a.nodes[-1]), atol=rounding)
    frequencies = [mbs.modes(own, 3).frequencies for own in (near, model)]
    np.testing.assert_allclose(frequencies[1], frequencies[0], rtol=1e-8)


def test_the_mesh_of_a_body_is_the_same_anywhere() -> None:
    """All points of a brick that bends as it swings, and its frame, to the rounding of its places in the world."""
    points, K, M = brick((4, 1, 1), (1.0, 0.1, 0.1), 1e7, 1000.0)
    ends = {
        "root": Interface.rigid(lambda p: p[:, 0] == 0.0, (0, 0.05, 0.05)),
        "tip": Interface.average(lambda p: p[:, 0] == 1.0, (1, 0.05, 0.05)),
    }
    reduction = Reduction(points, K, M, ends, modes=2)

    def run(far: float) -> tuple[mbs.Solution, np.ndarray]:
        place = far * np.array([1.0, 1 / 3, -0.5])
        model = mbs.Model(gravity=(0, 0, -9.81))
        root, tip = (model.add_node(place + [x, 0.05, 0.05]) for x in (0.0, 1.0))
        model.add(FlexibleBody({"root": root, "tip": tip}, reduction, position=place), name="brick")
        model.add(RevoluteJoint(model.ground, root, (0, 1, 0)))
        return mbs.simulate(model, 0.2, 0.01), place

    (here, _), (there, place) = run(0.0), run(1e5)
    for near, away in (
        (here.surface("brick"), there.surface("brick")),
        (here.point("brick", "tip"), there.point("brick", "tip")),
        (here.frame("brick")[0], there.frame("brick")[0]),
    ):
        assert np.ptp(near[..., 2]) > 0.05
        np.testing.assert_allclose(away - place, near, rtol=0, atol=1e-9)


@pytest.mark.one
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("far", [1e4, 1e6])
def test_a_pendulum_is_the_same_anywhere(far: float, group: str) -> None:
    def run(x: float) -> tuple[Any, ...]:
        model = mbs.Model(group, gravity=(0, 0, -9.81))
        bob = model.add_node((x + 1, x, 0))
        model.add(RigidBody(bob, 1.0, (0.01, 0.01, 0.01)))
        hinge = model.add(RevoluteJoint(model.ground, bob, (0, 1, 0), point=(x, x, 0)))
        solution = mbs.simulate(model, 1.0, 0.01, mbs.GeneralizedAlpha(0.8, "index2"))
        seen: list[float] = []
        again = mbs.simulate(
            model, 1.1, 0.01, initial=solution.state(-1), callback=lambda state: seen.append(state.x[1, 0])
        )
        np.testing.assert_allclose(seen, again.position(bob)[1:, 0])
        return solution.displacement(bob), *solution.reaction(hinge), again.displacement(bob)

    for there, here in zip(run(far), run(0.0), strict=True):
        np.testing.assert_allclose(there, here, atol=1e-7)


@pytest.mark.parametrize("frequency", [0.1, 1.0, 50.0, 100.0, 1000.0, 1e4])
def test_derivatives_fit_the_rate_of_a_function(frequency: float) -> None:
    """Never outside of the run, at its ends or in between."""
    omega = 2 * np.pi * frequency

    def law(t: float) -> float:
        assert 0.0 <= t <= 1.0
        return float(np.sin(omega * t))

    for t in (0.0, 1e-4, 0.3217, 0.99999, 1.0):
        first, second = derivatives(law, t, end=1.0)
        np.testing.assert_allclose(first, omega * np.cos(omega * t), atol=1e-7 * omega)
        np.testing.assert_allclose(second, -(omega**2) * np.sin(omega * t), atol=1e-5 * omega**2)


def motor(drive: Callable[[float], Any]) -> tuple[mbs.Model, RevoluteJoint]:
    model = mbs.Model()
    arm = model.add_node((1, 0, 0))
    model.add(RigidBody(arm, 1.0, (0.1, 0.2, 0.3)))
    return model, model.add(RevoluteJoint(model.ground, arm, (0, 0, 1), point=(0, 0, 0), drive=drive), name="motor")


@pytest.mark.parametrize("frequency", [50.0, 100.0, 1000.0])
def test_a_fast_drive_has_its_moment_at_the_start(frequency: float) -> None:
    """``(J + m l^2) a`` in closed form."""
    omega = 2 * np.pi * frequency
    model, hinge = motor(lambda t: 0.1 * (1.0 - np.cos(omega * t)))
    solution = mbs.simulate(model, 0.1 / omega, 0.01 / omega)
    moment = solution.reaction(hinge)[1][0, 2]
    assert moment == pytest.approx(1.3 * 0.1 * omega**2, rel=1e-6)
    model, hinge = motor(lambda t: 0.1 * np.sin(omega * t))
    mbs.project_velocities(model)
    assert model.nodes[1].angular_velocity[2] == pytest.approx(0.1 * omega, rel=1e-9)


@pytest.mark.parametrize("formulation", ["index3", "index2"])
@pytest.mark.parametrize("step", [0.01, 0.03, mbs.VariableStep(1e-2)])
def test_drives_and_loads_may_end_with_the_run(formulation: str, step: Any) -> None:
    t = np.linspace(0.0, 0.3, 20)
    angle = CubicSpline(t, t**2 * np.cos(7 * t), bc_type=((1, 0.0), "not-a-knot"), extrapolate=False)
    push = CubicSpline(t, np.outer(t, [0, 0, 1]), extrapolate=False)
    model, hinge = motor(angle)
    model.add(Force(model.nodes[1], push))
    solution = mbs.simulate(model, 0.3, step, mbs.GeneralizedAlpha(0.8, formulation))
    assert solution.angle(hinge)[-1] == pytest.approx(float(angle(0.3)), abs=1e-9)
    assert np.isfinite(solution.constraint_residual.velocity).all()
    assert solution.constraint_residual.velocity.max() < 0.1
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), STEEL, 2, start_node=model.ground)
    ramp = CubicSpline([0, 0.5, 1], [[0, 0, 0], [0, 0, 1e-3], [0, 0, 2e-3]], extrapolate=False)
    model.add(Force(beam.nodes[-1], ramp))
    assert mbs.statics(model).success


@pytest.mark.parametrize("turns", [-1, 1, 2, 5])
def test_a_drive_that_jumps_by_whole_turns_is_refused(turns: int) -> None:
    model, _ = motor(lambda t: t**2 + (2 * np.pi * turns if t > 0.105 else 0.0))
    with pytest.raises(mbs.MotionError, match=r"RevoluteJoint 'motor': its drive jumps by -?\d"):
        mbs.simulate(model, 0.3, 0.01)


def test_a_fast_drive_is_no_jump() -> None:
    model, hinge = motor(lambda t: 200.0 * t**2)
    assert mbs.simulate(model, 1.0, 0.05, mbs.GeneralizedAlpha(0.8)).angle(hinge)[-1] == pytest.approx(200.0)


@pytest.mark.ci
def test_no_hinge_closes_turned_over() -> None:
    """At nine to twenty steps a swing; hinges and welds of chains, thrown at random."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        model = mbs.Model(gravity=(0, 0, -9.81))
        bob = model.add_node(rng.normal(size=3))
        model.add(RigidBody(bob, 1.0, (0.1, 0.2, 0.25)))
        hinge = model.add(RevoluteJoint(model.ground, bob, rng.normal(size=3), point=(0, 0, 0)))
        solution = mbs.simulate(model, 4.0, 0.4, mbs.GeneralizedAlpha(0.5))
        R = solution.rotation(bob)
        aligned = np.matvec(R, hinge.axes[1][:, 2]) @ hinge.axes[0][:, 2]
        assert aligned.min() > 0.99


def test_steps_of_variable_length_have_an_end() -> None:
    model, _ = motor(lambda t: np.sin(t) ** 2)
    with pytest.raises(
        mbs.ConvergenceError, match="VariableStep: 20 steps have led to t = .* or more max_steps"
    ) as error:
        mbs.simulate(model, 10.0, mbs.VariableStep(1e-6, max_steps=20))
    assert error.value.solution is not None and len(error.value.solution.t) == 21
    for tolerance in (1e-14, 1e300, 0.0, np.nan, "small"):
        with pytest.raises(mbs.ModelError, match="VariableStep: tolerance"):
            mbs.simulate(model, 1.0, mbs.VariableStep(tolerance))  # type: ignore[arg-type]


# Errors that teach


def test_models_without_stiffness_say_so() -> None:
    model = mbs.Model()
    body = model.add_node((1, 0, 0), name="stone")
    model.add(RigidBody(body, 1.0, (1, 1, 1)))
    for call in (mbs.statics, mbs.buckling):
        with pytest.raises(mbs.SingularSystemError, match="node 'stone' can move and turn without resistance"):
            call(model)
    model.add(FixedJoint(model.ground, body))
    assert mbs.statics(model).success
    with pytest.raises(mbs.ModelError, match="buckling: nothing can deform: 6 constraint equations hold all 6"):
        mbs.buckling(model)


def test_a_callback_that_returns_an_array_keeps_the_run() -> None:
    model, _ = motor(lambda t: t**2)
    with pytest.raises(mbs.FemMbsError, match="must return None, or True to end the run, received array") as error:
        mbs.simulate(model, 0.3, 0.1, callback=lambda state: state.x)
    assert error.value.solution is not None and error.value.solution.t[-1] == pytest.approx(0.1)


def test_names_that_clash_leave_no_nodes_behind() -> None:
    model = mbs.Model()
    Beam.line(model, (0, 0, 0), (1, 0, 0), STEEL, 2, name="spar")
    count = len(model.nodes)
    model.add_node((5, 5, 5), name="rib[2]")
    for name in ("spar", "rib"):
        with pytest.raises(mbs.ModelError, match="is taken"):
            Beam.line(model, (0, 0, 0), (1, 0, 0), STEEL, 2, name=name)
    assert len(model.nodes) == count + 1
    # a node that is given is not made, whatever its name
    start = model.add_node((0, 0, 0), name="brace[0]")
    assert Beam.line(model, (0, 0, 0), (1, 0, 0), STEEL, 2, start_node=start, name="brace").nodes[0] is start


def test_names_of_what_a_mesh_needs_are_free_before_anything_is_made() -> None:
    mesh = meshio.Mesh(np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0.0]]), [("line", [[0, 1], [1, 2]])])
    for name in ("mesh[1]", "mesh beam 0", "mesh beam 0[1]", "mesh beam 0 end"):
        model = mbs.Model()
        model.add_node((5, 5, 5), name=name)
        with pytest.raises(mbs.ModelError, match="is taken"):
            beams_from_mesh(model, mesh, STEEL, release=(None, "yz"))
        assert (len(model.nodes), len(model.elements), len(model.constraints)) == (2, 0, 0)
    model = mbs.Model()
    model.add_node((5, 5, 5), name="mesh truss 1")
    with pytest.raises(mbs.ModelError, match="is taken"):
        beams_from_mesh(model, mesh, STEEL, trusses=True)
    assert (len(model.nodes), len(model.elements)) == (2, 0)


@pytest.mark.parametrize("group", GROUPS)
def test_joints_are_closed_far_from_the_origin(group: str) -> None:
    """A chain that is open, whose drive begins elsewhere: as near the origin, up to the rounding of positions."""

    def run(place: np.ndarray) -> np.ndarray:
        model = mbs.Model(group, gravity=(0, 0, -9.81))
        first, second = (model.add_node(place + at) for at in ((0.5, 0, 0), (1.5, 0, 0.05)))
        for node in (first, second):
            model.add(RigidBody(node, 1.0, (0.1, 0.1, 0.1)))
        model.add(RevoluteJoint(model.ground, first, (0, 1, 0), point=place))
        ends = {"point": place + (1.0, 0, 0), "point_b": place + (1.02, 0, 0.05)}
        model.add(RevoluteJoint(first, second, (0, 1, 0), **ends, drive=lambda t: 0.1 + 0.2 * t**2))
        assert model.assemble().distance.max() > 0.02
        built = np.array([first.position, second.position])
        return np.array([built, *mbs.simulate(model, 0.1, 0.01).x[:, 1:]]) - place

    far = np.array([1e5, -2e5, 3e4])
    np.testing.assert_allclose(run(far), run(np.zeros(3)), rtol=0, atol=16 * np.spacing(np.abs(far).max()))


def test_points_that_meet_are_named() -> None:
    model = mbs.Model()
    ends = [model.add_node((x, 0, 0)) for x in (1.0, 2.0)]
    for end in ends:
        model.add(RigidBody(end, 1.0, (1, 1, 1)))
    model.add(Maxwell(*ends, 1.0, 1.0), name="strut")
    state = mbs.simulate(model, 0.1, 0.1).state(0)
    met = mbs.State(
        0.0, state.x * [[0, 0, 0]], state.R, state.v, state.vdot, state.multipliers, state.u, state.udot, state.uddot
    )
    with pytest.raises(mbs.MotionError, match="Maxwell 'strut': its two points meet"):
        mbs.simulate(model, 0.2, 0.1, initial=met)


@pytest.mark.ci
def test_slack_cables_hang_where_they_do_under_full_loads() -> None:
    """From a line that is straight and has no tension; where ends can turn about it, that is told."""
    places = []
    for ramp in (True, False):
        model = mbs.Model(gravity=(0, 0, -9.81))
        cable = Beam.line(model, (0, 0, 0), (10, 0, 0), BeamSection.circle(0.005, 1e7, 0.3, 7800), 20)
        for end in (cable.nodes[0], cable.nodes[-1]):
            model.fix(end)
        places.append(mbs.statics(model, ramp=ramp).x[-1])
    np.testing.assert_allclose(*places, rtol=0, atol=1e-7)
    assert places[0][:, 2].min() < -1.0
    free = mbs.Model(gravity=(0, 0, -9.81))
    cable = Beam.line(free, (0, 0, 0), (10, 0, 0), BeamSection.circle(0.005, 1e9, 0.3, 7800), 20)
    for end in (cable.nodes[0], cable.nodes[-1]):
        free.add(SphericalJoint(free.ground, end))
    with pytest.raises(mbs.SingularSystemError, match="node .* can turn about .* without resistance, and 20 more"):
        mbs.statics(free)


def test_paths_are_those_of_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    model, _ = motor(lambda t: t**2)
    solution = mbs.simulate(model, 0.1, 0.1)
    assert solution.to_paraview("~/run") == tmp_path / "run.pvd"
    for path in ("a\0b", "\ud800", 5, None, b"run"):
        with pytest.raises(mbs.ModelError, match="to_paraview: path must be"):
            solution.to_paraview(path)  # type: ignore[arg-type]
    for name in ("\ud800", "a\0b"):
        with pytest.raises(mbs.ModelError, match="name must be text that can be printed"):
            model.add_node((0, 0, 0), name=name)


@pytest.mark.ci
def test_a_script_in_the_folder_around_the_clone_finds_the_package(tmp_path: Path) -> None:
    """Python looks beside the script first, and finds the clone's folder."""
    (tmp_path / "fem_mbs").symlink_to(ROOT, target_is_directory=True)
    script = tmp_path / "script.py"
    script.write_text(
        "import fem_mbs as mbs\nfrom fem_mbs.elements import Beam\nprint(mbs.Model().group, Beam.__name__)\n"
    )
    run = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env={**os.environ}, capture_output=True, text=True, check=False
    )
    assert run.stdout.split() == ["R3xSO3", "Beam"], run.stderr
