"""Every example runs, ends in the numbers of its sources, and writes its figure and ParaView files when asked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from examples import (
    billiard_break,
    chain_on_floor,
    crank_of_solids,
    differential,
    flyball_governor,
    four_bar,
    heavy_top,
    identify_stiffness,
    lightest_four_bar,
    modes,
    pendulum,
    planetary_gear,
    reproduce_2012,
    reproduce_2015,
    reproduce_2018,
    reproduce_2024,
    right_angle_cantilever,
    robot,
    rocking_block,
    rotating_blade,
    rotor_in_housing,
    size_beam,
    slider_crank_engine,
    slider_crank_with_play,
    solar_array,
    squeezer,
    statics,
    suspension,
    tower_crane,
    tune_blade,
    tune_controller,
    two_disc_rotor,
    wind_turbine,
    winding_drum,
    woodpecker,
    work_precision,
)

ROOT = Path(__file__).parents[1]
SCRIPTS = [
    pendulum,
    heavy_top,
    right_angle_cantilever,
    four_bar,
    modes,
    statics,
    work_precision,
    reproduce_2012,
    reproduce_2015,
    reproduce_2018,
    reproduce_2024,
    slider_crank_engine,
    suspension,
    planetary_gear,
    differential,
    squeezer,
    robot,
    wind_turbine,
    winding_drum,
    tower_crane,
    crank_of_solids,
    rotor_in_housing,
    flyball_governor,
    solar_array,
    identify_stiffness,
    lightest_four_bar,
    size_beam,
    two_disc_rotor,
    rotating_blade,
    tune_blade,
    tune_controller,
    rocking_block,
    woodpecker,
    slider_crank_with_play,
    billiard_break,
    chain_on_floor,
]


@pytest.fixture(autouse=True)
def run_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")


def test_every_script_is_here():
    assert {Path(script.__file__).name for script in SCRIPTS} == {file.name for file in ROOT.glob("examples/[!_]*.py")}


@pytest.mark.slow
def test_pendulum():
    numbers = pendulum.main(["--plot", "--paraview"])
    period, exact = numbers.pop("period (s)")
    assert period == pytest.approx(exact, rel=1e-4)  # (omega h)^2 is 2.5e-4
    for place, position in numbers.values():  # up to 1e-4 of four periods, at up to 4.4 m/s
        assert place == pytest.approx(position, abs=4e-3)
    assert Path("out/pendulum.png").exists()
    assert Path("out/pendulum.pvd").exists()


@pytest.mark.slow
def test_heavy_top():
    numbers = heavy_top.main(["--plot", "--paraview"])
    for group in heavy_top.GROUPS:
        assert numbers[f"{group}: Newton iterations a step"][0] <= 3.2
        assert numbers[f"{group}: largest constraint residual"][0] < 1e-10
        assert numbers[f"{group}: order at t = 1 s"][0] == pytest.approx(2, abs=0.1)
    for axis in "xyz":  # what is left is of third order: the error of the finer run, 2e-3, times Omega h = 0.075
        extrapolated, exact = numbers[f"{axis} at t = 1 s, extrapolated (m)"]
        assert extrapolated == pytest.approx(exact, abs=1.5e-4)
    assert {file.name for file in Path("out").iterdir()} == {"heavy_top", "heavy_top.png", "heavy_top.pvd"}


@pytest.mark.slow
def test_right_angle_cantilever():
    numbers = right_angle_cantilever.main([])
    assert numbers.pop("Newton iterations a step, h = 0.2 s")[0] <= 4.0
    for computed, reference in numbers.values():
        assert computed == pytest.approx(reference, rel=5e-3)


@pytest.mark.slow
def test_four_bar():
    numbers = four_bar.main([])
    assert numbers.pop("2012: Newton iterations a step")[0] <= 3.1
    for name, (computed, reference) in numbers.items():
        assert computed == pytest.approx(reference, rel=0.1 if name.startswith("2012") else 0.01), name


@pytest.mark.slow
def test_modes():
    numbers = modes.main(["--plot", "--paraview"])
    for name, (computed, reference) in numbers.items():  # the mesh: (beta h)^2/12 and more
        assert computed == pytest.approx(reference, rel=0.02 if name.startswith("cantilever") else 4e-3), name
    assert {file.name for file in Path("out").glob("*.p*")} == {"modes.png", *(f"modes_0{k}.pvd" for k in range(1, 7))}


@pytest.mark.slow
def test_work_precision():
    numbers = work_precision.main(["--plot", "--paraview"])
    for name in work_precision.CASES:
        coarse, fine = (numbers[name, tolerance] for tolerance in work_precision.TOLERANCES)
        assert fine.steps / coarse.steps == pytest.approx(10**0.5, rel=0.15)
        # proportional to the tolerance within a factor of 3
        assert 10 / 3 < coarse.errors["variable"] / fine.errors["variable"] < 30
        for tolerance, run in zip(work_precision.TOLERANCES, (coarse, fine), strict=True):
            assert run.rejected < 0.15 * run.steps
            assert run.errors["variable"] < 1.2 * run.errors["equal"]
            # the errors of the four-bar are far below its tolerances, to which Newton's method is bound
            assert run.errors["loose"] == pytest.approx(run.errors["equal"], rel=0.1, abs=1e-5 * tolerance)
    names = {"work_precision", "work_precision.png", "work_precision.pvd", "variable_steps.png"}
    assert {file.name for file in Path("out").iterdir()} == names


@pytest.mark.slow
def test_statics():
    numbers = statics.main(["--plot", "--paraview"])
    assert numbers.pop("frame: linear buckling (N)")[0] == pytest.approx(1.088, rel=5e-3)  # spread of the sources
    for name, (computed, exact) in numbers.items():  # at a limit, the load is flat over the displacements
        assert computed == pytest.approx(exact, rel=1e-4 if "limit" in name else 2e-5, abs=1e-5), name
    written = {file.name for file in Path("out").glob("*.p*")}
    assert written == {"statics.png", "lee.pvd", "helix.pvd", "frame_01.pvd", "frame_02.pvd"}


@pytest.mark.slow
def test_slider_crank_engine():
    """The rod is 0.02 % shorter or longer, its first frequency 90 times that of the crank, and damps a little."""
    for name, (computed, rigid) in slider_crank_engine.main(["--plot", "--paraview"]).items():
        assert computed == pytest.approx(rigid, rel=1.5e-3), name
    assert {file.name for file in Path("out").glob("*.p*")} == {"slider_crank_engine.png", "slider_crank_engine.pvd"}


@pytest.mark.slow
@pytest.mark.parametrize("stiffer, limit", [(1, 0.05), pytest.param(100, 5e-4, marks=pytest.mark.slow)])
def test_suspension(stiffer, limit, monkeypatch):
    """What bushings add to the camber, in degrees, goes with their flexibility in translation."""
    monkeypatch.setattr(suspension, "RUBBER", np.array(suspension.RUBBER) * [*3 * [stiffer], 1, 1, 1])
    numbers = suspension.main([])
    load, weight = numbers.pop("tyre at rest (N)")
    assert load == pytest.approx(weight, rel=1e-6)
    for name, (camber, rigid) in numbers.items():
        assert camber == pytest.approx(rigid, abs=limit), name


@pytest.mark.slow
def test_planetary_gear():
    numbers = planetary_gear.main([])
    slip, _ = numbers.pop("Willis: largest error of the speeds (rad/s)")
    assert slip < 1e-9
    fastest = max(abs(reference) for _, reference in numbers.values())
    for name, (computed, reference) in numbers.items():  # the ring is held: its speed is a difference of the others
        assert computed == pytest.approx(reference, rel=2e-4, abs=2e-6 * fastest), name


@pytest.mark.slow
def test_squeezer():
    numbers = squeezer.main(["--plot", "--paraview"])
    assert numbers.pop("order in the step")[0] == pytest.approx(2, abs=0.05)
    for name, (computed, reference) in numbers.items():  # the crank has gone 16 rad
        assert computed == pytest.approx(reference, abs=1e-3 if name[:2] in ("be", "Th") else 1.5e-5), name


@pytest.mark.slow
def test_differential():
    """The inside wheel rolls 2e-5 too fast: of third order in the step times the speed over the radius."""
    for name, (computed, reference) in differential.main([]).items():
        assert computed == pytest.approx(reference, rel=3e-5), name


@pytest.mark.slow
def test_identify_stiffness():
    """Within what the noise leaves open: three standard deviations, of the residuals as well."""
    for name, (computed, reference) in identify_stiffness.main(["--plot"]).items():
        if "σ" in name:
            assert abs(computed) < 3, name
        elif "square" in name:
            assert computed == pytest.approx(1.0, abs=3 * (2 / (2 * len(identify_stiffness.TIMES) - 4)) ** 0.5)
        else:
            assert computed == pytest.approx(reference, rel=0.05), name


@pytest.mark.slow
def test_tune_controller():
    """Kalman's gains, but for the error of the steps, of second order."""
    for computed, exact in tune_controller.main(["--plot"]).values():
        assert computed == pytest.approx(exact, rel=5e-3)


@pytest.mark.slow
def test_tune_blade():
    """The second mode is at its bound, to the tolerance of the optimiser, and the first one clear of it."""
    numbers = tune_blade.main(["--plot"])
    (first, least), (second, bound) = (numbers[f"order of flap mode {k}"] for k in (1, 2))
    assert first > least and second == pytest.approx(bound, rel=1e-5)


@pytest.mark.slow
def test_lightest_four_bar():
    """The path is kept as well as it must be, and no other change of the bars makes them lighter."""
    numbers = lightest_four_bar.main(["--plot"])
    (first, formula), (least, _) = (numbers[f"mass of the {which} (kg)"] for which in ("first", "lightest"))
    assert first == pytest.approx(formula) and least < 0.6 * first
    assert numbers["its deviation (mm)"][0] == pytest.approx(numbers["its deviation (mm)"][1], rel=1e-3)
    assert numbers["in steps of half the length (mm)"][0] == pytest.approx(1.0, rel=0.1)
    assert numbers["with Hoecken's lengths (mm)"][0] > 1.5 * numbers["its deviation (mm)"][0]
    assert numbers["cosine of the gradients"][0] > 0.99


@pytest.mark.slow
def test_size_beam():
    """To the tolerance of the radius; one element and 40 steps a move are good for 3 %."""
    size, peak = size_beam.main(["--plot"]).values()
    assert size[0] == pytest.approx(size[1], rel=1e-3)
    assert peak[0] == pytest.approx(peak[1], rel=0.03)


@pytest.mark.slow
def test_crank_of_solids():
    """A beam of the section, half its side from the web."""
    pytest.importorskip("skfem")
    for recovered, section in crank_of_solids.main(["--plot", "--paraview"]).values():
        assert recovered == pytest.approx(section, rel=0.015)


@pytest.mark.slow
def test_rotor_in_housing():
    """Six modes of the housing are as good as twenty, up to where its own modes are."""
    pytest.importorskip("skfem")
    for few, many in rotor_in_housing.main(["--plot", "--paraview"]).values():
        assert few == pytest.approx(many, rel=1e-4)


@pytest.mark.slow
def test_rotating_blade():
    """A clamp keeps the blade from bending across: 0.8 % at rest; what one body lacks at 100 rad/s is less."""
    pytest.importorskip("skfem")
    *frequencies, lag = rotating_blade.main(["--plot", "--paraview"]).values()
    for solids, beam in frequencies:
        assert solids == pytest.approx(beam, rel=0.015)
    assert lag[0] == pytest.approx(lag[1], rel=0.025)


@pytest.mark.slow
def test_two_disc_rotor():
    """Published by six elements, whose mesh explains the last digits of the higher ones."""
    for computed, published in two_disc_rotor.main(["--plot"]).values():
        assert computed == pytest.approx(published, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "script", [rocking_block, woodpecker, slider_crank_with_play, billiard_break, chain_on_floor, winding_drum]
)
def test_contact(script):
    """To what other schemes have, and friction between stored states, by the trapezoidal rule."""
    for name, (computed, reference) in script.main(["--plot"]).items():
        if name.startswith("largest depth"):
            assert computed < 1e-9
        elif not np.isnan(reference):
            assert computed == pytest.approx(reference, rel=1e-2), name


@pytest.mark.one
@pytest.mark.parametrize(
    "script",
    [pendulum, robot, *(pytest.param(script, marks=pytest.mark.slow) for script in SCRIPTS)],
    ids=lambda script: Path(script.__file__).stem,
)
def test_script_runs_alone(script):
    """From any folder, and as the first thing on the command line."""
    command = [sys.executable, script.__file__, "--help"]
    assert "--paraview" in subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_command_of_the_readme():
    """``python -m examples`` makes the figures and the ParaView files of both benchmarks."""
    printed = run_examples().stdout
    for name in ("right_angle_cantilever", "four_bar"):
        for kind in ("png", "pvd"):
            assert Path(f"out/{name}.{kind}").exists()
            assert f"{name}.{kind}" in printed


def run_examples(*names):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-m", "examples", *names], capture_output=True, text=True, env=environment)


def test_command_lists_the_names():
    printed = run_examples("--help").stdout
    assert all(Path(script.__file__).stem in printed for script in SCRIPTS)
    refused = run_examples("perpetuum")
    assert refused.returncode == 2
    first, *_ = sorted(Path(script.__file__).stem for script in SCRIPTS)
    assert f"no example perpetuum; there are {first}, " in refused.stderr


@pytest.mark.slow
def test_command_runs_one():
    assert "pendulum.png, pendulum.pvd" in run_examples("pendulum").stdout
    assert {file.name for file in Path("out").glob("*.p*")} == {"pendulum.png", "pendulum.pvd"}
