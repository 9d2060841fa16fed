"""What a static solution answers: the queries of a dynamic one, at its load factors."""

from __future__ import annotations

from pathlib import Path

import meshio
import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.arrays import Array, BoolArray
from fem_mbs.benchmarks.beams import bend, lee
from fem_mbs.contracts import Constraint, ConstraintBatch, Motion, Numbering, node_rows
from fem_mbs.elements import Beam, BeamSection, FixedJoint, Force, RigidBody, SphericalJoint
from fem_mbs.lie import so3

SECTION = BeamSection(EA=1e4, GA=1e4, GJ=1, EI=1, mass=1, inertia=(1e-4, 1e-4, 1e-4))


def held_cantilever() -> tuple[mbs.Model, Beam, FixedJoint]:
    """Clamped by a joint, so that the clamp has a reaction, with weight and a force."""
    model = mbs.Model(gravity=(0, 0, -2))
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), SECTION, 8, name="beam")
    clamp = model.add(FixedJoint(model.ground, beam.nodes[0]))
    model.add(Force(beam.nodes[-1], (0, 1.5, 0)))
    return model, beam, clamp


def test_reactions_and_section_forces_balance_the_loads() -> None:
    model, beam, clamp = held_cantilever()
    solution = mbs.statics(model)
    load = np.outer(solution.t, (0, 1.5, -2))
    force, moment = solution.reaction(clamp)
    np.testing.assert_allclose(force, -load, rtol=0, atol=1e-7)
    x = np.array([solution.position(node) for node in beam.nodes])
    weights = np.full(9, 2 / 8)
    weights[[0, -1]] /= 2  # consistent with linear interpolation: half an element each
    about = np.cross(x[-1], solution.t[:, None] * np.array([0, 1.5, 0]))
    about += sum(w * np.cross(at, solution.t[:, None] * np.array([0, 0, -1])) for w, at in zip(weights, x, strict=True))
    np.testing.assert_allclose(moment, -about, rtol=0, atol=1e-6)
    forces = solution.section_forces(beam)
    assert forces.shape == (len(solution.t), 8, 6)
    np.testing.assert_allclose(np.linalg.norm(forces[:, -1, :3], axis=1), np.hypot(1.5, 2 / 16) * solution.t, rtol=1e-2)


@pytest.mark.slow
def test_energies_are_those_of_the_loads_that_act() -> None:
    """Strain energy has grown by the work of weight and force, both in proportion to the load factor."""
    model, beam, _ = held_cantilever()
    solution = mbs.statics(model, step=0.02)
    energy, tip = solution.energy, solution.displacement(beam.nodes[-1])
    x = np.array([solution.displacement(node)[:, 2] for node in beam.nodes])
    fall = np.trapezoid(x, dx=1 / 8, axis=0)
    forces = np.stack([1.5 * solution.t, -2 * solution.t])
    ways = np.stack([tip[:, 1], fall])
    work = (0.5 * (forces[:, 1:] + forces[:, :-1]) * np.diff(ways)).sum()
    assert energy.strain[-1] == pytest.approx(work, rel=1e-3)  # the trapezoidal rule in steps of 0.02
    np.testing.assert_allclose(energy.gravity, 2 * solution.t * fall, rtol=0, atol=1e-12)
    assert not energy.kinetic.any()


def test_states_are_at_rest_and_closed() -> None:
    model, _, _ = held_cantilever()
    solution = mbs.statics(model)
    assert not solution.v.any() and not solution.vdot.any()
    assert solution.constraint_residual.position.max() < 1e-11
    assert not solution.constraint_residual.velocity.any()
    state = solution.state(-1)
    assert state.t == 1.0 and state.multipliers.shape == (6,)
    assert "steps to load factor 1" in str(solution) and solution.success


@pytest.mark.slow
def test_state_in_between_is_right_to_second_order() -> None:
    """Halving the steps takes the largest error of the middles to a quarter."""
    errors = []
    for step in (0.1, 0.05):
        model, beam = bend(8)
        solution = mbs.statics(model, step=step)
        middles = solution.t[:-1] + step / 2
        exact = mbs.statics(model, loads=middles).position(beam.nodes[-1])
        row = solution.system.number(beam.nodes[-1])
        errors.append(np.abs([solution(t).x[row] for t in middles] - exact).max())
    assert errors[1] < 0.3 * errors[0] and errors[1] < 0.05


def test_state_at_a_load_that_is_passed_more_than_once_is_the_first() -> None:
    model, beams = lee((5, 1, 4))
    solution = mbs.statics(model, load_end=19.5, arc_length=True)
    first = mbs.statics(model, load_end=10)
    row = solution.system.number(beams[1].nodes[-1])
    assert np.abs(solution(10.0).x[row] - first.x[-1, row]).max() < 1.0  # of 120, between steps
    assert solution(0.0).x.tolist() == solution.x[0].tolist()
    with pytest.raises(mbs.ModelError, match="load factor 30.* is outside the path"):
        solution(30)


@pytest.mark.slow
def test_files_for_paraview_follow_the_load_or_the_path(tmp_path: Path) -> None:
    model, _ = bend(4)
    solution = mbs.statics(model)
    times = [
        float(part.split('"')[1]) for part in solution.to_paraview(tmp_path / "bend").read_text().split("timestep=")[1:]
    ]
    assert times == solution.t.tolist()
    model, _ = lee((5, 1, 4))
    solution = mbs.statics(model, load_end=19.5, arc_length=True)
    text = solution.to_paraview(tmp_path / "lee").read_text()
    times = [float(part.split('"')[1]) for part in text.split("timestep=")[1:]]
    assert times == list(range(len(solution.t)))
    last = meshio.read(tmp_path / "lee" / f"lee_{len(times) - 1:06d}.vtu")
    assert np.abs(last.points).max() > 100 and (solution.t[:-1] > solution.t[1:]).any()


class Pushed(Constraint):
    """A node whose position along y is prescribed."""

    equations = ("translation y",)

    def __init__(self, node: mbs.Node, way: object) -> None:
        self.nodes, self.way = (node,), way

    @classmethod
    def batch(cls, constraints: list[Pushed], number: Numbering) -> ConstraintBatch:
        return PushedBatch(constraints, number)


class PushedBatch(ConstraintBatch):
    """``x_y(t) - y_0 - way(t)``."""

    def __init__(self, owners: list[Pushed], number: Numbering) -> None:
        self.owners, self.nodes = owners, node_rows(owners, number)
        self.cell = np.arange(len(owners))
        self.length: BoolArray = np.ones(len(owners), dtype=np.bool_)

    def at(self, t: float) -> Array:
        return np.array([owner.nodes[0].position[1] + owner.way(t) for owner in self.owners])  # type: ignore[operator]

    def evaluate(self, motion: Motion, prescribed: Array) -> tuple[Array, Array, Array]:
        rows = self.nodes[:, 0]
        gradient = np.zeros((len(rows), 6))
        gradient[:, :3] = motion.R[rows, 1]
        return motion.x[rows, 1] - prescribed, gradient, gradient

    def second(self, context: Array) -> Array:
        H = np.zeros((len(context), 6, 6))
        H[:, :3, 3:] = so3.skew(context[:, :3])
        return H


def test_prescribed_displacement_needs_the_force_that_makes_it() -> None:
    """The elastica at PL^2/EI = 5: pushed by 0.713792 L, the tip pushes back with 5 (elliptic integrals)."""
    model = mbs.Model()
    section = BeamSection(EA=1e8, GA=1e8, GJ=1, EI=1, mass=1, inertia=(1, 1, 1))
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), section, 80)
    model.fix(beam.nodes[0])
    push = model.add(Pushed(beam.nodes[-1], lambda t: 0.713792 * t))
    solution = mbs.statics(model)
    assert solution.position(beam.nodes[-1])[-1, 1] == pytest.approx(0.713792)
    assert 1 - solution.position(beam.nodes[-1])[-1, 0] == pytest.approx(0.387628, abs=1e-4)
    assert -solution.multipliers(push)[-1, 0] == pytest.approx(5, rel=1e-3)  # second order in 80 elements


@pytest.mark.slow
def test_displacement_drives_a_frame_through_its_limit() -> None:
    """Pushed down by 55, Lee's frame is past its upper limit of 18.55, where the load falls."""
    model, beams = lee((10, 2, 8))
    model.remove(model.elements[-1])
    push = model.add(Pushed(beams[1].nodes[-1], lambda t: -t))
    solution = mbs.statics(model, load_end=55, step=1)
    load = solution.multipliers(push)[:, 0] / 1000
    assert load.max() == pytest.approx(18.55, rel=0.02) and load[-1] < 18


def test_weight_counts_bodies(tmp_path: Path) -> None:
    """A body on a rod pushes with its weight times the load factor."""
    model = mbs.Model(gravity=(0, 0, -3))
    rod = Beam.line(model, (0, 0, 0), (0, 0, -1), SECTION, 4)
    model.add(RigidBody(rod.nodes[-1], 2.0, (1, 1, 1)))
    hook = model.add(SphericalJoint(model.ground, rod.nodes[0]))
    model.fix(rod.nodes[0], translation=False)
    solution = mbs.statics(model, load_end=2)
    force, _ = solution.reaction(hook)
    np.testing.assert_allclose(force[:, 2], 3 * (2 + 1) * solution.t, atol=1e-8)
