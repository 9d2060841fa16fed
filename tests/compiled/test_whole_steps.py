"""Systems whose steps are compiled as a whole, and copies of them side by side."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.benchmarks.linkages import slider_crank
from fem_mbs.benchmarks.tops import top_on_joint
from fem_mbs.elements import (
    Beam,
    BeamSection,
    Force,
    JointStop,
    RevoluteJoint,
    RigidBody,
    RollingDisc,
    SphericalJoint,
    SpinUp,
    SpringDamper,
)

pytest.importorskip("llvmlite")

from fem_mbs.alpha import whole_step  # noqa: E402
from fem_mbs.alpha.whole_step import OtherBranchError, StepLines, Trial  # noqa: E402
from fem_mbs.compiled import machine, program, tape, whole  # noqa: E402
from fem_mbs.compiled.tape import CannotRecordError  # noqa: E402
from fem_mbs.system import matrices  # noqa: E402


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Kernels run, and are kept in a folder of the test."""
    monkeypatch.setenv("FEM_MBS_FAST", "1")
    monkeypatch.setenv("FEM_MBS_CACHE", str(tmp_path))
    machine.kernel.cache_clear()
    whole_step._RECORDINGS.clear()
    whole_step._COMPARED.clear()
    yield tmp_path


def double_pendulum(group: str = "R3xSO3", mass: float = 1.0) -> mbs.Model:
    """On a hinge and a ball, with a damped spring and a force that changes in time."""
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    first, second = model.add_node((0.5, 0, 0)), model.add_node((1.5, 0, 0.1))
    for node in (first, second):
        model.add(RigidBody(node, mass, (0.1, 0.2, 0.25), (0.1, 0, 0)))
    model.add(RevoluteJoint(model.ground, first, axis=(0, 1, 0), point=(0, 0, 0)))
    model.add(SphericalJoint(first, second, point=(1, 0, 0)))
    model.add(SpringDamper(model.ground, second, 30.0, damping=0.5, point_b=(1.5, 0, 0.2)))
    model.add(Force(second, lambda t: (0, 3.0 * np.sin(10.0 * t), 0)))
    return model


def both(run: Callable[[], mbs.Solution], monkeypatch: pytest.MonkeyPatch) -> tuple[mbs.Solution, mbs.Solution]:
    """A run with kernels, and the same without."""
    compiled = run()
    with monkeypatch.context() as context:
        context.setenv("FEM_MBS_FAST", "0")
        return compiled, run()


def same(compiled: mbs.Solution, plain: mbs.Solution, at_rounding: int = 0) -> None:
    # whether a residual is looked at may hang on its last digits
    assert abs(compiled.stats.residual_evaluations - plain.stats.residual_evaluations) <= 2
    assert abs(compiled.stats.factorizations - plain.stats.factorizations) <= at_rounding
    np.testing.assert_allclose(compiled.x, plain.x, atol=1e-11)
    np.testing.assert_allclose(compiled.v, plain.v, atol=1e-9)
    size = np.abs(plain.multipliers_all).max(initial=0.0)
    np.testing.assert_allclose(compiled.multipliers_all, plain.multipliers_all, atol=1e-7 * size)


@pytest.mark.parametrize("formulation", ["stabilized", "index3"])
@pytest.mark.parametrize("group", ["SE3", "R3xSO3"])
@pytest.mark.parametrize("make", [double_pendulum, lambda group: top_on_joint(group=group)])
def test_runs_are_those_of_numpy(make, group: str, formulation: str, monkeypatch, fast: Path) -> None:
    method = mbs.GeneralizedAlpha(0.9, formulation=formulation)
    compiled, plain = both(lambda: mbs.simulate(make(group), 0.1, 1e-3, method), monkeypatch)
    assert {"RigidBody", "SphericalJoint"} <= set(compiled.stats.compiled)
    same(compiled, plain)


def hinged(seed: int) -> mbs.Model:
    """A pendulum of random numbers, on either group, which gets into a soft stop."""
    rng = np.random.default_rng(seed)
    model = mbs.Model(("R3xSO3", "SE3")[seed % 2], gravity=(0, 0, -9.81))
    node = model.add_node((0.5, 0, 0))
    model.add(RigidBody(node, rng.uniform(1, 2), rng.uniform(0.1, 0.15, 3), rng.uniform(0, 0.1, 3)))
    hinge = model.add(RevoluteJoint(model.ground, node, axis=(0, 1, 0), point=(0, 0, 0)))
    if seed > 3:
        model.add(JointStop(hinge, -0.1, 0.1, stiffness=1e4, damping=1.0))
    return model


@pytest.mark.parametrize(
    ("make", "step", "kernels"),
    [
        (double_pendulum, 5e-3, "1"),
        (double_pendulum, 5e-3, "0"),
        (lambda: hinged(2), 0.01, "1"),
        (lambda: hinged(5), 0.01, "1"),
        (lambda: top_on_joint(group="SE3"), mbs.VariableStep(local_error=1e-4), "1"),
    ],
)
@pytest.mark.ci(every_case=True)
def test_a_run_cut_anywhere_goes_on_to_the_bit(make, step, kernels: str, monkeypatch, fast: Path) -> None:
    """What is recorded anew, and the first step after a cut, are those of the run that was never cut."""
    monkeypatch.setenv("FEM_MBS_FAST", kernels)

    def run(initial: mbs.Checkpoint | None = None, steps: int = 0) -> mbs.Solution:
        left = iter(range(1, steps))
        end = None if initial else lambda state: next(left, None) is None and steps > 0
        return mbs.simulate(make(), 0.15, step, callback=end, initial=initial)

    full = run()
    for steps in [2, *np.random.default_rng(5).integers(3, len(full.t) - 1, 2)]:
        part = run(steps=steps)
        whole_step._RECORDINGS.clear()
        rest = run(part.checkpoint)
        for name in ("t", "x", "R", "v", "vdot", "multipliers"):
            np.testing.assert_array_equal(getattr(rest.history, name), getattr(full.history, name)[steps:], name)


@pytest.mark.ci
def test_steps_of_variable_length_are_those_of_numpy(monkeypatch, fast: Path) -> None:
    """A change of the step asks for the last matrix, which kernels have made."""
    step = mbs.VariableStep(tolerance=1e-5)
    compiled, plain = both(lambda: mbs.simulate(double_pendulum(), 0.5, step), monkeypatch)
    assert compiled.stats.compiled and len(set(np.round(compiled.stats.step_sizes, 12))) > 2
    same(compiled, plain)


@pytest.mark.ci
def test_closed_loops_are_eliminated_in_any_place(monkeypatch, fast: Path) -> None:
    """The order of the pivots holds around a whole turn of the crank."""
    calls = []
    monkeypatch.setattr(StepLines, "begin", counted(StepLines.begin, calls))
    compiled, plain = both(lambda: mbs.simulate(slider_crank(), 2.0, 0.01), monkeypatch)
    assert compiled.stats.compiled and len(calls) > 190
    same(compiled, plain)


def driven_beams() -> mbs.Model:
    """A chain of beams and a body on joints of three kinds, of which one is driven, with a force that moves."""
    model, section = mbs.Model(gravity=(0, 0, -9.81)), BeamSection(1e5, 4e4, 1e2, (1e2, 1e2), 1.0, (2e-3, 1e-3, 1e-3))
    crank = Beam.line(model, (0, 0, 0), (0.5, 0, 0), section, 2).nodes
    rod = Beam.line(model, (0.5, 0, 0), (1.5, 0.2, 0), section, 4).nodes
    load = model.add_node((1.5, 0.2, -0.3))
    model.add(RigidBody(load, 1.0, (0.1, 0.1, 0.1)))
    model.add(RevoluteJoint(model.ground, crank[0], (0, 0, 1), drive=SpinUp(3.0, 0.1)))
    model.add(RevoluteJoint(crank[-1], rod[0], (0, 1, 0)))
    model.add(SphericalJoint(rod[-1], load))
    model.add(Force(load, lambda t: (0, 2.0 * np.sin(20.0 * t), 0)))
    return model


def falling_beam() -> mbs.Model:
    """Of so many elements that code for it is made with care."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    section = BeamSection(1e6, (4e5, 4e5), 1e3, (1e3, 1e3), 1.0, (2e-3, 1e-3, 1e-3))
    model.fix(Beam.line(model, (0, 0, 0), (10, 0, 0), section, program.LARGE + 3).nodes[0])
    return model


def rolling() -> mbs.Model:
    """Two discs of different numbers roll."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    for k in range(2):
        disc = model.add_node((0, 3.0 * k, 0.5), velocity=(1.0 + k, 0, 0), angular_velocity=(0.1, 2.0, 0))
        model.add(RigidBody(disc, 1.0 + k, (0.1, 0.2, 0.1)))
        model.add(RollingDisc(model.ground, disc, (0, 0, 1), (0, 1, 0), 0.5))
    mbs.project_velocities(model)
    return model


def hanging_chain() -> mbs.Model:
    """Bodies on balls, with springs to the ground."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    last = model.ground
    for k in range(40):
        node = model.add_node((k + 0.5, 0, 0))
        model.add(RigidBody(node, 1.0, (0.1, 0.1, 0.1)))
        model.add(SphericalJoint(last, node, point=(k, 0, 0)))
        model.add(SpringDamper(model.ground, node, 5.0, damping=0.5, point_b=(k + 0.5, 0, 1.0)))
        last = node
    return model


def spinning_last() -> mbs.Model:
    """Free bodies on SE(3), of which the last one turns so far in a step that another series holds."""
    model = mbs.Model("SE3")
    for k in range(40):
        node = model.add_node((k, 0, 0), angular_velocity=(0.1, 0.2, 300.0 if k == 39 else 0.1))
        model.add(RigidBody(node, 1.0, (0.1, 0.2, 0.25)))
    return model


@pytest.mark.parametrize("make", [driven_beams, falling_beam, hanging_chain, rolling])
@pytest.mark.ci(every_case=True)
def test_systems_of_any_size_and_kind_of_joints(make: Callable[[], mbs.Model], monkeypatch, fast: Path) -> None:
    calls: list[bool] = []
    monkeypatch.setattr(program, "LARGE", 20)
    monkeypatch.setattr(StepLines, "begin", counted(StepLines.begin, calls))
    compiled, plain = both(lambda: mbs.simulate(make(), 0.08, 0.01), monkeypatch)
    assert compiled.stats.compiled and len(calls) > 4
    same(compiled, plain, at_rounding=1)  # the first step goes on to where last digits tell if a matrix is made anew


def test_every_cell_is_looked_at_for_other_branches(monkeypatch, fast: Path) -> None:
    same(*both(lambda: mbs.simulate(spinning_last(), 0.08, 0.01), monkeypatch))


def counted(method: Callable[..., Any], calls: list[bool]) -> Callable[..., Any]:
    def counting(self: Any, *given: object) -> Any:
        calls.append(True)
        return method(self, *given)

    return counting


def test_steps_in_another_branch_are_numpys(monkeypatch, fast: Path) -> None:
    """Whichever of its lines does not hold."""
    run, calls = StepLines._run, []
    kernels = [lambda own: own._matrix, lambda own: own._trial, lambda own: own._look]
    for refused in kernels:
        calls.clear()

        def refuse(self: StepLines, kernel: object, unknown: object, refused: Any = refused) -> None:
            run(self, kernel, unknown)  # type: ignore[arg-type]
            calls.append(True)
            if len(calls) > 4 and kernel is refused(self):
                raise OtherBranchError

        with monkeypatch.context() as context:
            context.setattr(StepLines, "_run", refuse)
            compiled, plain = both(lambda: mbs.simulate(double_pendulum(), 0.02, 1e-3), monkeypatch)
        assert compiled.stats.compiled
        same(compiled, plain)


@pytest.mark.parametrize("make", [top_on_joint, double_pendulum])
def test_smooth_steps_are_those_of_the_lines(make, monkeypatch, fast: Path) -> None:
    """The first one, too; no line asks in between which of two numbers is larger, nor do looks at errors."""
    equations, calls = mbs.GeneralizedAlpha.equations, []

    def counting(self: mbs.GeneralizedAlpha, *given: object) -> object:
        calls.append(True)
        return equations(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(mbs.GeneralizedAlpha, "equations", counting)
    assert mbs.simulate(make(), 0.1, 1e-3).stats.compiled
    assert len(calls) == 1  # to compare lines with


def hit() -> mbs.Model:
    """A body moves against a stiff spring, which a step would strain far, under a load that jumps."""

    def load(t: float) -> tuple[float, float, float]:
        return (0.0, 0.0, 5.0 if t < 0.1003 else -5.0)

    load.jumps = [0.1003]  # type: ignore[attr-defined]
    model = mbs.Model()
    node = model.add_node((1.0, 0, 0), velocity=(0.1, 0, 0))
    model.add(RigidBody(node, 1.0, (0.1, 0.2, 0.25)))
    model.add(SpringDamper(model.ground, node, 1e5, damping=10.0))
    model.add(Force(node, load))
    return model


@pytest.mark.parametrize("make", [hit, double_pendulum, lambda: falling_beam(), lambda: hinged(2)])
def test_first_steps_are_those_of_numpy(make: Any, monkeypatch, fast: Path) -> None:
    """By what they are judged, too: also where no increment is a better guess, and after a jump."""
    made: list[bool] = []

    def seen(*given: object) -> Any:
        step = made_by_lines(*given)
        made.append(step is not None)
        return step

    made_by_lines = whole_step.whole_step
    monkeypatch.setattr(whole_step, "whole_step", seen)
    compiled, plain = both(lambda: mbs.simulate(make(), 0.3, 0.01), monkeypatch)
    same(compiled, plain)
    assert all(made[:2])
    np.testing.assert_allclose(compiled.stats.error, plain.stats.error, rtol=1e-5)


def test_a_method_is_pickled_after_a_run_too(fast: Path) -> None:
    method = mbs.GeneralizedAlpha()
    assert mbs.simulate(top_on_joint(), 0.003, 1e-3, method).stats.compiled
    assert pickle.loads(pickle.dumps(method)) == method


def test_systems_of_a_kind_are_recorded_once(monkeypatch, fast: Path) -> None:
    """Numbers are inputs: another mass runs the same lines."""
    first = mbs.simulate(double_pendulum(mass=1.0), 0.02, 1e-3)
    count = len(whole_step._RECORDINGS)
    compiled, plain = both(lambda: mbs.simulate(double_pendulum(mass=2.0), 0.02, 1e-3), monkeypatch)
    assert len(whole_step._RECORDINGS) == count >= 1
    same(compiled, plain)
    assert np.abs(first.multipliers_all - compiled.multipliers_all).max() > 1.0


def test_what_is_not_recorded_as_a_whole_is_compiled_by_batches(monkeypatch, fast: Path) -> None:
    def refuse(*given: object) -> None:
        raise CannotRecordError("it takes too many operations")

    monkeypatch.setattr(whole_step, "record", refuse)
    monkeypatch.setattr("fem_mbs.compiled.batches.LEAST", 0)
    compiled, plain = both(lambda: mbs.simulate(top_on_joint(), 0.02, 1e-3), monkeypatch)
    assert compiled.stats.compiled == ("RigidBody", "SphericalJoint")
    same(compiled, plain)


def test_constraints_that_repeat_each_other_are_compiled_by_batches(monkeypatch, fast: Path) -> None:
    """The band has no pivots for them; forces of least norm are those of NumPy."""

    def closed() -> mbs.Model:
        model = mbs.Model(gravity=(0, 0, -9.81))
        corners = [(0.0, 0, 0), (0.0, 0, 1.0), (2.0, 0, 1.5), (2.0, 0, 0)]
        bars = [model.add_node(np.mean(ends, axis=0)) for ends in zip(corners, corners[1:], strict=False)]
        for bar in bars:
            model.add(RigidBody(bar, 1.0, (0.1, 0.2, 0.1)))
        for a, b, corner in zip([model.ground, *bars], [*bars, model.ground], corners, strict=True):
            model.add(RevoluteJoint(a, b, (0, 1, 0), point=corner))
        return model

    compiled, plain = both(lambda: mbs.simulate(closed(), 0.05, 5e-3), monkeypatch)
    assert compiled.redundant
    same(compiled, plain)


def test_lines_that_do_something_else_are_refused(monkeypatch, fast: Path) -> None:
    """They are compared with NumPy before they are taken."""
    correct = StepLines._corrected

    def wrong(self: StepLines, rows: np.ndarray, there: int, section: int) -> Trial:
        trial = correct(self, rows, there, section)
        return trial._replace(after=trial.after * (1.0 + 1e-3))

    monkeypatch.setattr(StepLines, "_corrected", wrong)
    assert mbs.simulate(top_on_joint(), 0.01, 1e-3).stats.compiled == ()


@pytest.mark.parametrize("count", [3, 17])
def test_copies_side_by_side_are_those_of_numpy(count: int, monkeypatch, fast: Path) -> None:
    """Copies that differ in numbers are further cells; more of them than lanes, and a rest."""

    def run() -> list[mbs.Solution]:
        models = [top_on_joint(spin=140.0 + k) for k in range(count)]
        return mbs.simulate_many(models, 0.05, 1e-3)

    compiled, plain = both(run, monkeypatch)  # type: ignore[arg-type]
    for own, other in zip(compiled, plain, strict=True):
        assert own.stats.compiled == ("RigidBody", "SphericalJoint") and not other.stats.compiled
        np.testing.assert_allclose(own.x, other.x, atol=1e-11)
        np.testing.assert_allclose(own.multipliers_all, other.multipliers_all, rtol=1e-7, atol=1e-6)


def test_models_of_different_structure_are_no_copies(monkeypatch, fast: Path) -> None:
    models = [top_on_joint(), double_pendulum()]
    for solution in mbs.simulate_many(models, 0.01, 1e-3):
        assert solution.success


def test_other_threads_see_nothing_of_a_recording(monkeypatch, fast: Path) -> None:
    """What a recording puts in the place of globals, and code may keep, is for its own thread."""
    monkeypatch.setenv("FEM_MBS_FAST", "0")

    def run() -> np.ndarray:
        return mbs.simulate(double_pendulum(), 0.02, 1e-3).x

    def recorded(*values: object) -> None:
        raise AssertionError

    expected = run()
    modules = [module for name, module in list(sys.modules.items()) if name.startswith(whole.ROOMS)]
    with ThreadPoolExecutor(1) as other, tape.recording(modules, [(matrices.gradient_product, recorded)]):
        kept, numpy = matrices.gradient_product, matrices.np
        with pytest.raises(AssertionError):
            kept()
        assert numpy.zeros(2).dtype == object and numpy.count_nonzero(np.zeros(1, object))
        assert other.submit(
            lambda: numpy.zeros(2).dtype == float and not numpy.count_nonzero(np.zeros(1, object))
        ).result()
        assert np.array_equal(other.submit(run).result(), expected)
    assert numpy.zeros(2).dtype == float
    with pytest.raises(TypeError, match="required positional"):  # as the function itself
        kept()


@pytest.mark.ci
def test_models_run_in_threads_as_one_by_one(fast: Path) -> None:
    """Each is recorded while others are built and run."""

    def run(seed: int) -> np.ndarray:
        return mbs.simulate(hinged(seed), 0.02, 1e-3).x

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(run, range(4)))
    for k, x in enumerate(together):
        np.testing.assert_allclose(x, run(k), rtol=0.0, atol=1e-13)
