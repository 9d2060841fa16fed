"""Steps of variable length: a right local error, second order through changes of the step, errors as the tolerance."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
import suite
from models import machine
from motions import fitted_order
from scipy.spatial.transform import Rotation

import fem_mbs as mbs
from fem_mbs.alpha.local_error import defect, highest_derivatives, response
from fem_mbs.alpha.newmark import AlphaMemory
from fem_mbs.arrays import Array
from fem_mbs.benchmarks import tops
from fem_mbs.benchmarks.flexible import right_angle_cantilever
from fem_mbs.benchmarks.tops import top_on_joint as top
from fem_mbs.elements import Beam, BeamSection, Bushing, Force, PointMass, RigidBody

GROUPS = ("R3xSO3", pytest.param("SE3", marks=pytest.mark.slow))
FORMULATIONS = ("stabilized", "index3", "index2")
METHODS = {
    "Lie group": mbs.GeneralizedAlpha(0.9, start="perturbed"),
    "rotation vector": mbs.UpdatedLagrangian(0.9, start="perturbed", parametrization="rotation_vector"),
    "conformal": mbs.UpdatedLagrangian(0.9, start="perturbed"),
}


CHARTS = ("rotation vector", "conformal")
LONG = ("heavy top", "chain of ten")


def bar(pull: Callable[[float], float], stiff: bool = False) -> mbs.Model:
    """A cantilever with a mass at its tip, pushed across."""
    model = mbs.Model()
    EA, GA, inertia = (1e8, 5e7, 1e-5) if stiff else (1e4, 5e3, 1e-2)
    section = BeamSection(EA, GA, 10.0, 10.0, 1.0, (inertia, inertia, inertia))
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), section, 4, start_node=model.ground, name="blade")
    model.add(PointMass(beam.nodes[-1], 1.0))
    model.add(Force(beam.nodes[-1], lambda t: (0, 0, pull(t))))
    return model


def steps_of(
    model: mbs.Model, method: mbs.GeneralizedAlpha, sizes: Iterable[float], told: bool = True
) -> Iterator[tuple[mbs.System, mbs.State, AlphaMemory]]:
    """States after steps of given lengths, with what is remembered; not ``told``, all count as one length."""
    sizes = list(sizes)
    system = mbs.System(model)
    state = mbs.start(system)
    memory = method.init(system, state, sizes[0])
    for h in sizes:
        state, memory, *_ = method.step(system, state, h, memory if told else memory._replace(h=h))
        yield system, state, memory


@pytest.mark.parametrize("method", ["Lie group", *(pytest.param(name, marks=pytest.mark.slow) for name in CHARTS)])
@pytest.mark.parametrize(
    ("build", "h"),
    [(top, 2.5e-4), (lambda: top("SE3"), 2.5e-4), (lambda: right_angle_cantilever()[0], 0.02)],
)
def test_local_error_is_that_of_a_step(build: Callable[[], mbs.Model], h: float, method: str) -> None:
    """Against a much finer solution from the same state, which forgets the long step first."""
    own = METHODS[method]
    *_, (system, state, memory) = steps_of(build(), own, 40 * [h])
    end, after, *_ = own.step(system, state, h, memory)
    scheme, slope = own.scheme(system), highest_derivatives(system, end) - memory.accelerations.old
    left = h**3 * defect(scheme, end, slope / (end.t - memory.accelerations.t_old), np.empty(0))
    factors = system.solver.restore(after.matrix[1:])
    evaluation = system.evaluate_at(end)
    computed = response(scheme, evaluation, left, factors)
    fine = state
    for _ in range(32):
        fine, memory, *_ = own.step(system, fine, h / 32, memory)
    error = system.kinematics.relative(end.x, end.R, fine.x, fine.R)
    np.testing.assert_allclose(system.nodes_of(computed), error, rtol=0, atol=0.2 * np.abs(error).max())


def multiplier_errors(formulation: str, adapt: bool) -> list[float]:
    """Largest error of the joint's force on the heavy top while the step goes up and down, for halved steps."""
    errors = []
    for h in (1e-3, 5e-4, 2.5e-4):
        steps = np.tile(h * np.array([1, 1, 1, 0.5, 0.5, 0.5, 0.5]), round(0.02 / h))
        method = mbs.GeneralizedAlpha(0.9, formulation, "perturbed")
        exact, largest = tops.exact(h / 2 * np.arange(round(0.22 / h) + 1)), 0.0
        for _, state, _ in steps_of(top("R3xSO3"), method, steps, adapt):
            k = round(state.t / (h / 2))
            largest = max(largest, float(np.abs(exact.force[k] + state.multipliers).max()))
        errors.append(largest)
    return errors


def test_what_is_stiff_does_not_vibrate_where_the_step_changes() -> None:
    """A mass on a stiff spring that is led along ``t^3``: what velocities miss is as the square of the step."""
    stiff, model = 1e7, mbs.Model()
    node = model.add_node((0, 0, 0))
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    model.add(Bushing(model.ground, node, 6 * [stiff]))
    model.add(Force(node, lambda t: (stiff * t**3 + 6.0 * t, 0, 0)))
    states = [own for _, own, _ in steps_of(model, mbs.GeneralizedAlpha(0.5), [0.02] * 12 + [0.04] * 6)]
    missed = np.array([own.v[-1, 0] - 3.0 * own.t**2 for own in states[11:]])
    np.testing.assert_allclose(missed[1:], 4.0 * missed[0], rtol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(("formulation", "adapt", "order"), [
    ("index3", True, 2),
    ("index3", False, 1),
    pytest.param("index2", True, 2, marks=pytest.mark.slow),
])  # fmt: skip
def test_multipliers_keep_their_order_when_the_step_changes(formulation: str, adapt: bool, order: int) -> None:
    """With the changes of ``a`` and ``v``; without them the order falls to one."""
    errors = multiplier_errors(formulation, adapt)
    assert fitted_order(np.array([4, 2, 1]), np.array(errors)) == pytest.approx(order, abs=0.2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "formulation", ["stabilized", *(pytest.param(name, marks=pytest.mark.slow) for name in ("index3", "index2"))]
)
@pytest.mark.parametrize("group", ["SE3", pytest.param("R3xSO3", marks=pytest.mark.slow)])
def test_multipliers_do_not_grow_where_the_step_changes_all_the_time(formulation: str, group: str) -> None:
    """A machine with a beam, the step always changes: multipliers converge to those of equal steps, with order 2."""
    method, errors = mbs.GeneralizedAlpha(0.8, formulation), []
    reference = mbs.simulate(machine(group), 0.4, 2.5e-4, method).multipliers_all[-1]
    for h in (4e-3, 2e-3):
        sizes = np.tile(h * np.array([1.0, 0.5, 1.5, 1.0]), round(0.1 / h))
        *_, (_, state, _) = steps_of(machine(group), method, sizes)
        assert state.t == pytest.approx(0.4)
        errors.append(np.abs(state.multipliers - reference).max() / np.abs(reference).max())
    assert errors[0] < 0.02
    assert np.log2(errors[0] / errors[1]) > 1.7


class TopRun(NamedTuple):
    """What has become of the top."""

    error: float
    """At the end: of its place over the extent of the model, or of its rotation in rad."""
    step: float
    """The median."""
    held: bool
    """Whether the longest step decides."""


def top_run(method: mbs.GeneralizedAlpha, group: str, tolerance: float, t_end: float = 0.1) -> TopRun:
    largest = t_end / 20
    solution = mbs.simulate(top(group), t_end, mbs.VariableStep(tolerance, largest=largest), method)
    exact, sizes = tops.exact(np.array([t_end])), solution.stats.step_sizes
    place = np.linalg.norm(solution.x[-1, 1] - exact.x[-1]) / solution.system.length
    turned = Rotation.from_matrix(exact.R[-1].T @ solution.R[-1, 1]).magnitude()
    return TopRun(float(max(place, turned)), float(np.median(sizes)), bool(sizes.max() > 0.99 * largest))


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize(
    ("method", "formulation"),
    [("Lie group", "index2"), *(pytest.param(*own, marks=pytest.mark.slow) for own in product(CHARTS, FORMULATIONS))],
)
def test_errors_are_proportional_to_the_tolerance(method: str, formulation: str, group: str) -> None:
    """And fall with the square of the step; where the longest step decides, they are below."""
    own = replace(METHODS[method], formulation=formulation)
    tolerances = 10.0 ** -np.arange(1.0, 4.0 if method == "Lie group" else 6.0)
    runs = [top_run(own, group, tolerance) for tolerance in tolerances]
    ratios = np.array([run.error for run in runs]) / tolerances
    free = np.array([not run.held for run in runs])
    assert free.sum() >= 2 and ratios.max() < 3.0
    assert ratios[free].min() > 1 / 3 and ratios[free].max() < 3.0 * ratios[free].min()
    errors, steps = (np.array([run[k] for run in runs])[free] for k in (0, 1))
    assert fitted_order(steps[-2:], errors[-2:]) == pytest.approx(2.0, abs=0.25)


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_errors_are_proportional_to_the_tolerance_over_four_decades(group: str) -> None:
    tolerances = 10.0 ** -np.arange(1.0, 6.0)
    method = mbs.GeneralizedAlpha(0.9, "index2", "perturbed")
    ratio = np.array([top_run(method, group, tolerance, 0.2).error for tolerance in tolerances]) / tolerances
    assert ratio.max() < 3.0 * ratio.min()


@pytest.mark.ci
@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
@pytest.mark.parametrize("name", ["double pendulum", *(pytest.param(name, marks=pytest.mark.slow) for name in LONG)])
def test_the_tolerance_is_the_error(name: str, group: str) -> None:
    assert 0.25 < suite.kept(name, group, 1e-3).ratio < 3.0


@pytest.mark.ci
@pytest.mark.parametrize("method", [
    pytest.param(mbs.GeneralizedAlpha(0.9, "index2"), marks=pytest.mark.slow),
    pytest.param(mbs.GeneralizedAlpha(0.7, "index3"), marks=pytest.mark.slow),
    pytest.param(mbs.UpdatedLagrangian(0.9), marks=pytest.mark.slow),
    pytest.param(mbs.RungeKuttaMuntheKaas("ODE23"), marks=pytest.mark.slow),
    mbs.RungeKuttaMuntheKaas("DOPRI5"),
], ids=str)  # fmt: skip
def test_the_tolerance_is_the_error_of_every_method(method: mbs.Method) -> None:
    """However much the top amplifies errors; the longest step does not hold steps."""
    exact = tops.exact(np.array([0.1])).x[-1]
    tolerance = 1e-4 if method.order < 5 else 1e-6
    solution = mbs.simulate(top("SE3"), 0.1, mbs.VariableStep(tolerance, largest=0.02), method)
    assert 0.1 < np.abs(solution.x[-1, 1] - exact).max() / tolerance < 3.0


def test_a_run_goes_on_with_its_local_error() -> None:
    """To the bit, and one that is given needs no trials."""
    model, control = top("SE3"), mbs.VariableStep(1e-3)
    whole = mbs.simulate(model, 0.05, control)
    found = whole.checkpoint.control
    cut = mbs.simulate(model, 0.05, control, callback=lambda state: state.t > 0.025)
    rest = mbs.simulate(model, 0.05, control, initial=cut.checkpoint)
    np.testing.assert_array_equal(rest.x[-1], whole.x[-1])
    given = mbs.simulate(model, 0.05, mbs.VariableStep(local_error=found.local_error))
    np.testing.assert_array_equal(given.t, whole.t)


def test_a_run_that_goes_on_beyond_its_trials_has_new_ones() -> None:
    """A push sets in later than they have looked: the error was five times the tolerance, without a word."""
    model, control = mbs.Model(), mbs.VariableStep(1e-2, largest=0.05)
    mass = model.add_node((1, 0, 0))
    model.add(PointMass(mass, 1.0))

    def moved(t: float) -> float:
        return float(np.exp(-100.0 * (t - 1.0) ** 2))

    model.add(Force(mass, lambda t: ((4e4 * (t - 1.0) ** 2 - 200.0) * moved(t), 0.0, 0.0)))
    still = mbs.simulate(model, 0.5, control)
    solution = mbs.simulate(model, 1.0, control, initial=still.checkpoint)
    assert abs(solution.displacement(mass)[-1, 0] - moved(1.0)) < control.tolerance


def test_trials_end_at_events() -> None:
    """A fall that ends early in the run: trials end there, and are not longer."""
    calls, model = [], mbs.Model(gravity=(0, 0, -9.81))
    model.add(RigidBody(model.add_node((0, 0, 0)), 1.0, (1, 1, 1)))

    def height(state: mbs.State) -> float:
        calls.append(state.t)
        return float(state.x[-1, 2]) + 0.3

    height.terminal = True  # type: ignore[attr-defined]
    solution = mbs.simulate(model, 10.0, mbs.VariableStep(1e-5), events=height)
    assert solution.t[-1] == pytest.approx(np.sqrt(0.6 / 9.81), abs=3e-5)
    assert max(calls) < 1.0


@pytest.mark.slow
def test_an_error_that_is_not_that_of_the_tolerance_is_said(caplog: pytest.LogCaptureFixture) -> None:
    """Steps of Radau IIA that Newton's method holds do not follow errors: the run says how large its error is."""
    with caplog.at_level(logging.WARNING, logger="fem_mbs"):
        run = mbs.simulate(top("SE3"), 0.2, mbs.VariableStep(1e-7), mbs.RadauIIA())
    said = float(caplog.text.split("the error of the run is about ")[1].split(",")[0])
    error = np.abs(run.x[-1, 1] - tops.exact(np.array([0.2])).x[-1]).max()
    assert error > 5e-7 and 0.5 * error < said < 2.0 * error


@pytest.mark.slow
def test_the_tolerance_is_the_error_of_many_motions(caplog: pytest.LogCaptureFixture) -> None:
    """Within a factor of 3 in the median and of 10 in 95 %, both ways, with no error above 5 times without a warning.

    Where the longest step holds steps, or local errors are as large as the tolerance, errors are below it.
    """
    free = []
    for case in suite.TOLERANCES:
        caplog.clear()
        found = suite.kept(*case)
        warned = "the error of the run is about" in caplog.text
        assert found.ratio < 5.0 or warned, (case, found)
        if not found.held:
            free.append(found.ratio)
    ratios = np.array(free)
    assert len(ratios) >= 40 and 1 / 3 < np.median(ratios) < 3.0
    assert ((ratios > 0.1) & (ratios < 10.0)).mean() >= 0.95


def difference(one: mbs.Solution, other: mbs.Solution) -> float:
    """Largest distance between the nodes of two runs at the times of the first."""
    return max(float(np.abs(x - other(t).x).max()) for t, x in zip(one.t, one.x, strict=True))


@pytest.mark.parametrize("share", [1e-2, 1e-5, 1e-8, 1e-10])
def test_a_step_of_nothing_says_nothing_of_the_next(share: float) -> None:
    """What rounding leaves of a step, where an event ended it, does not change the motion after it."""
    system, h = mbs.System(top()), 1e-3
    start, method = mbs.start(system), mbs.GeneralizedAlpha(0.9)
    ends = []
    for steps in ([h] * 6, [h, h, h * (1.0 - share), h * share, h, h, h]):
        state, memory = start, method.init(system, start, h)
        for length in steps:
            state, memory, *_ = method.step(system, state, length, memory)
        ends.append(state)
    one, other = ends
    assert np.abs(other.v - one.v).max() < 1e-4 * np.abs(one.v).max()


@pytest.mark.slow
@pytest.mark.parametrize(
    "formulation", ["stabilized", *(pytest.param(name, marks=pytest.mark.slow) for name in ("index3", "index2"))]
)
def test_a_sudden_load_needs_no_other_step(formulation: str) -> None:
    """A load that jumps: the steps shorten there by themselves, and the error stays a share of the tolerance."""
    method = mbs.GeneralizedAlpha(0.6, formulation)
    model = bar(lambda t: 5.0 * (t > 0.4))
    solution = mbs.simulate(model, 1.0, mbs.VariableStep(1e-4), method)
    reference = mbs.simulate(model, 1.0, 5e-4, method)
    assert difference(solution, reference) < 1e-3
    assert solution.stats.failed_steps == 0 and solution.stats.rejected_steps > 0
    sizes, starts = np.diff(solution.t), solution.t[:-1]
    near = np.abs(starts - 0.4) < 0.01
    assert sizes[near].min() < 0.3 * sizes[~near & (starts < 0.4)].max()


@pytest.mark.slow
def test_a_stiff_start_needs_no_other_step() -> None:
    """A velocity that stretches the bar: the run follows the waves first and then lets them go, and tells its error."""

    def pulled() -> mbs.Model:
        model = bar(lambda t: 5.0 * t, stiff=True)
        model.nodes[-1].velocity = (0.2, 0, 0)  # type: ignore[assignment]
        return model

    method = mbs.GeneralizedAlpha(0.6)
    solution = mbs.simulate(pulled(), 1.0, mbs.VariableStep(1e-2), method)
    reference = mbs.simulate(pulled(), 1.0, 5e-4, method)
    assert difference(solution, reference) < solution.stats.error.length < 1e-2
    assert solution.stats.failed_steps == 0
    assert solution.stats.step_sizes[-1] > 3 * solution.stats.step_sizes.min()


def test_steps_end_at_the_end_and_stay_within_limits() -> None:
    control = mbs.VariableStep(1e-2, first=1e-3, largest=0.03)
    solution = mbs.simulate(bar(lambda t: 1.0), 1.0, control)
    sizes = solution.stats.step_sizes
    assert solution.t[0] == 0.0 and solution.t[-1] == 1.0
    np.testing.assert_allclose(sizes, np.diff(solution.t), rtol=1e-9)
    assert sizes[0] == pytest.approx(1e-3) and sizes.max() <= 0.03 * (1 + 1e-9)
    assert sizes.min() > 1e-4  # no rest of a step at the end


def test_a_system_at_rest_takes_the_longest_steps() -> None:
    solution = mbs.simulate(bar(lambda t: 0.0), 1.0, mbs.VariableStep(1e-6))
    assert len(solution.t) < 110
    assert not solution.displacement(solution.system.nodes[-1]).any()


def test_steps_of_the_smallest_length_are_accepted_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="fem_mbs"):
        control = mbs.VariableStep(1e-5, first=0.02, smallest=0.02, largest=0.02)
        solution = mbs.simulate(bar(lambda t: 5.0), 0.2, control)
    np.testing.assert_allclose(np.diff(solution.t), 0.02)
    assert "steps of the smallest length, 0.02 s, have errors above the tolerance" in caplog.text


@pytest.mark.ci
def test_output_at_requested_times_is_interpolated() -> None:
    """The same states as the solution of all steps has between them, and no more of them than asked for."""
    times = np.linspace(0.1, 1.0, 7)
    every = mbs.simulate(bar(lambda t: 5.0 * t), 1.0, mbs.VariableStep(1e-2))
    some = mbs.simulate(bar(lambda t: 5.0 * t), 1.0, mbs.VariableStep(1e-2), times=times)
    np.testing.assert_array_equal(some.t, times)
    np.testing.assert_array_equal(some.stats.step_sizes, every.stats.step_sizes)
    for k, t in enumerate(times):
        for name in ("x", "R", "v", "vdot", "multipliers"):
            own, other = getattr(some.state(k), name), getattr(every(t), name)
            np.testing.assert_allclose(own, other, rtol=1e-14, atol=1e-15)


def values(steps: Array) -> Array:
    return np.abs(np.diff(np.log(steps)))


def test_the_step_changes_seldom_in_steady_motion() -> None:
    """Each change costs an evaluation; the deadband keeps the step through small differences."""
    solution = mbs.simulate(top("SE3"), 0.1, mbs.VariableStep(1e-2, largest=0.01))
    changes = values(solution.stats.step_sizes[:-2]) > 1e-6
    assert changes.sum() < 0.1 * len(changes)
