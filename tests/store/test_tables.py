"""Channels by name, and as tables of other libraries."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from kept_runs import double_pendulum, machine

import fem_mbs as mbs
from fem_mbs.elements import RigidBody, SphericalJoint
from fem_mbs.solution import channels as tables
from fem_mbs.solution.channels import parse


@pytest.fixture(scope="module")
def run() -> mbs.Solution:
    return mbs.simulate(machine(), 0.2, 0.02)


def test_channels_are_what_queries_return(run: mbs.Solution) -> None:
    parts = {part.name: part for part in (*run.system.nodes, *run.system.number.parts)}  # type: ignore[attr-defined]
    arm, motor, beam = parts["arm"], parts["motor"], parts["beam"]
    expected = {
        "arm.position": run.position(arm),
        "arm.velocity.z": run.velocity(arm)[:, 2],
        "arm.rotation": run.rotation(arm).reshape(-1, 9),
        "motor.angle": run.angle(motor),
        "motor": run.coordinate(motor),
        "motor.coordinate_rate": run.coordinate_rate(motor),
        "motor.reaction.force": run.reaction(motor)[0],
        "motor.reaction.moment.y": run.reaction(motor)[1][:, 1],
        "motor.multipliers.2": run.multipliers(motor)[:, 2],
        "beam.section_forces.1": run.section_forces(beam)[:, 1],
        "beam.section_forces.2.bending_y": run.section_forces(beam)[:, 2, 4],
        "energy.total": run.energy.total,
        "constraint_residual.velocity": run.constraint_residual.velocity,
    }
    for name, values in expected.items():
        assert np.array_equal(run.channel(name), values), name
    assert parse(run.system, "motor.reaction").units == ("N",) * 3 + ("N m",) * 3


def test_names_with_points_in_them() -> None:
    model = mbs.Model()
    node = model.add_node((1, 0, 0), name="tip.position")
    model.add(mbs.elements.RigidBody(node, 1.0, (1, 1, 1)))
    run = mbs.simulate(model, 0.1, 0.1)
    assert run.channel("tip.position.position.x")[0] == 1.0


def test_a_node_called_as_a_quantity_of_the_model() -> None:
    model = mbs.Model(gravity=(0, 0, -9.81))
    node = model.add_node((1, 0, 2), name="energy")
    model.add(mbs.elements.RigidBody(node, 1.0, (1, 1, 1)))
    run = mbs.simulate(model, 0.1, 0.1)
    assert run.channel("energy.position.z")[0] == 2.0
    np.testing.assert_array_equal(run.channel("energy.total"), run.energy.total)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("arn.position", "begins with no name .* is it 'arm'"),
        ("arm", "say what of node 'arm' is meant; it has position, displacement"),
        ("arm.speed", "node 'arm' has no 'speed'; it has position, displacement"),
        ("motor.reaction.w", "motor.reaction has no 'w'; it has force.x"),
        ("body.internal_variables", "RigidBody 'body' has no 'internal_variables'"),
        ("", "begins with no name"),
    ],
)
def test_names_that_are_wrong(run: mbs.Solution, name: str, why: str) -> None:
    with pytest.raises(mbs.ModelError, match=why):
        run.channel(name)


NAMES = ["arm.position", "motor.reaction", "energy.total"]


def test_text_has_all_digits(run: mbs.Solution, tmp_path: Path) -> None:
    with open(run.to_csv(tmp_path / "run", NAMES), newline="") as file:
        head, *rows = csv.reader(file)
    assert head[:2] == ["t (s)", "arm.position.x (m)"]
    force, moment = run.reaction("motor")
    expected = np.column_stack([run.t, run.position("arm"), force, moment, run.energy.total])
    assert np.array_equal(np.array(rows, float), expected)


@pytest.mark.slow
def test_tables_have_the_same_numbers(run: mbs.Solution) -> None:
    frame, data = run.to_pandas(NAMES), run.to_xarray(NAMES)
    assert run.to_pandas("arm.position").equals(run.to_pandas(["arm.position"]))
    assert list(frame.columns[:4]) == ["arm.position.x", "arm.position.y", "arm.position.z", "motor.reaction.force.x"]
    assert frame.attrs["units"]["motor.reaction.moment.z"] == "N m" and frame.index.name == "t"
    assert np.array_equal(frame["arm.position.z"], run.channel("arm.position.z"))
    assert np.array_equal(data["arm.position"].sel(axis="z"), run.channel("arm.position.z"))
    assert data["energy.total"].attrs["units"] == "J" and np.array_equal(data["t"], run.t)


def test_a_column_without_its_number_is_that_of_all_places(run: mbs.Solution) -> None:
    names = ["beam.section_forces.bending_y", "beam.nodal_forces.moment"]
    forces, nodal = (parse(run.system, name).values(run) for name in names)
    assert np.array_equal(forces, run.section_forces("beam")[..., 4])
    assert np.array_equal(nodal.reshape(len(run.t), -1, 3), run.nodal_forces("beam")[1])
    with pytest.raises(mbs.ModelError, match="has no 'bending'; it has axial, shear_y, shear_z, torsion, bending_y"):
        parse(run.system, "beam.section_forces.bending")


def test_what_is_given_out_by_default() -> None:
    run = mbs.simulate(double_pendulum(), 0.1, 0.02)
    columns = tables.columns(run, None)[0]
    assert columns[:3] == ["elbow.position.x", "elbow.position.y", "elbow.position.z"]
    assert columns[-1] == "hinge.coordinate"


def test_a_table_of_all_has_no_columns_that_end() -> None:
    model = mbs.Model()
    top = model.add_node((0, 0, 0), angular_velocity=(0.1, 0, 20), name="top")
    model.add(RigidBody(top, 1.0, (1, 1, 2)))
    model.add(SphericalJoint(model.ground, top), name="foot")
    run = mbs.simulate(model, 0.5, 0.02)
    names = tables.columns(run, None)[0]
    assert "top.position.x" in names and not any("foot" in name for name in names)
    with pytest.raises(mbs.MotionError, match="half a turn"):
        tables.columns(run, ["foot.coordinate"])
