"""Classical coordinates: what they say of published tops, where they end, and that they lead where the group does.

Figures marked [S] are of an implementation of its own of the same formulas, those marked [C] of two other formulations
that agree to 1e-10; the heavy top is that of Holzinger, Arnold, Gerstmayr (2024), section 4.1.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from motions import fitted_order, random_state

import fem_mbs as mbs
from fem_mbs.alpha.simplified_matrices import ENTRIES
from fem_mbs.alpha.step import Correction, Linearization, StepEquations, StepResidual, Unknowns
from fem_mbs.arrays import Array
from fem_mbs.benchmarks import tops
from fem_mbs.benchmarks.linkages import slider_crank
from fem_mbs.elements import (
    LowPass,
    Moment,
    NodeSensor,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
    SpringDamper,
)
from fem_mbs.lie import so3
from fem_mbs.newton import Iterate
from fem_mbs.system.constraints import gradient_transpose_product
from fem_mbs.system.matrices import mass_product
from fem_mbs.testing.method_laws import free, joined

ANGLES, EULER = mbs.ClassicalAlpha(), mbs.ClassicalAlpha("euler_parameters")
LIE = mbs.GeneralizedAlpha(formulation="index3")
PARAMETRIZATIONS = {"tait_bryan": ANGLES, "euler_parameters": EULER}
methods = pytest.mark.parametrize("method", PARAMETRIZATIONS.values(), ids=PARAMETRIZATIONS.keys())
groups = pytest.mark.parametrize("group", ["R3xSO3", "SE3", "mixed"])


def top(joint: bool, tilted: bool = False) -> mbs.Model:
    """The heavy top, about a node that may only turn or on a ball joint; in the axes of the paper, or in such ones that
    the angle b stays below 47 degrees."""
    return (tops.top_on_joint if joint else tops.free_top)(tilted=tilted)


def centre(solution: mbs.Solution, tilted: bool = False) -> Array:
    """Mass centre at the end, in the world of the paper."""
    return tops.mass_center(solution, tilted)[-1]


def racket(b: float = 1.2, omega: tuple[float, float, float] = (0.02, 1.0, 0.03)) -> mbs.Model:
    """A free body whose angle b passes 90 degrees at a distance of 0.25 degrees."""
    model = mbs.Model(gravity=(0, 0, 0))
    node = model.add_node((0, 0, 0), so3.exp(np.array([0.0, b, 0.0])), angular_velocity=omega, name="racket")
    model.add(RigidBody(node, 1.0, (1.0, 1.5, 2.0)))
    return model


@pytest.mark.one
@pytest.mark.parametrize(("method", "error"), [(ANGLES, 1.611e-3), (EULER, 1.636e-3)])
def test_slider_crank(method: mbs.ClassicalAlpha, error: float) -> None:
    """Error of s at 1 s with h = 8 ms [S]."""
    s = mbs.simulate(slider_crank(), 1.0, 8e-3, method).position("slider")[-1, 0]
    assert abs(s - 0.2117216614) == pytest.approx(error, rel=1e-3)


TOPS = [
    (EULER, False, False, 1e-3, 7.630e-3),
    (EULER, False, False, 5e-4, 1.908e-3),
    (ANGLES, False, True, 1e-3, 1.398e-5),
    (EULER, True, False, 1e-3, 2.031e-3),
    (EULER, True, False, 5e-4, 5.085e-4),
    (ANGLES, True, True, 1e-3, 3.999e-5),
    (ANGLES, True, True, 5e-4, 9.998e-6),
]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "joint", "tilted", "h", "error"), TOPS)
def test_heavy_top(method: mbs.ClassicalAlpha, joint: bool, tilted: bool, h: float, error: float) -> None:
    """Error of the mass centre at 1 s [S]; the reference has eight digits."""
    found = centre(mbs.simulate(top(joint, tilted), 1.0, h, method), tilted)
    assert np.linalg.norm(found - tops.exact(np.array([1.0])).x[0]) == pytest.approx(error, rel=5e-4, abs=1e-8)


@pytest.mark.slow
def test_explicit_angles_on_the_tilted_top() -> None:
    """RK4 has 6.2e-10 and 3.8e-11 at 1 s [S]; the reference is RK6 at the shorter step, far below both."""
    run = partial(mbs.simulate, top(False, tilted=True), 1.0)
    exact = centre(run(5e-4, mbs.ClassicalRungeKutta(tableau="RK6")), True)
    errors = [np.linalg.norm(centre(run(h, mbs.ClassicalRungeKutta()), True) - exact).item() for h in (1e-3, 5e-4)]
    assert errors == pytest.approx([6.2e-10, 3.8e-11], rel=0.05)


@pytest.mark.slow
def test_top_in_the_axes_of_the_paper_wants_forty_times_shorter_steps() -> None:
    """RK4 in angles: 6.4e-5 at 1 s with h = 2.5e-5 [S], where the method on the group has 1.3e-4 with h = 1e-3."""
    angles = centre(mbs.simulate(top(False), 1.0, 2.5e-5, mbs.ClassicalRungeKutta()))
    group = centre(mbs.simulate(top(False), 1.0, 1e-3, mbs.RungeKuttaMuntheKaas()))
    assert np.linalg.norm(angles - tops.exact(np.array([1.0])).x[0]) == pytest.approx(6.4e-5, rel=0.02)
    assert np.linalg.norm(group - tops.exact(np.array([1.0])).x[0]) == pytest.approx(1.34e-4, rel=0.01)


@pytest.mark.ci
def test_top_in_the_axes_of_the_paper_runs_with_short_steps() -> None:
    """Its angle b passes 90 degrees here at a distance of 2.6; steps of 1e-4 s resolve that, those of 1e-3 s do not."""
    exact = centre(mbs.simulate(top(False), 0.012, 1e-3, mbs.RungeKuttaMuntheKaas()))
    errors = []
    for h in (1e-4, 5e-5):
        run = mbs.simulate(top(False), 0.012, h, ANGLES)
        assert run.stats.failed_steps == 0
        errors.append(np.linalg.norm(centre(run, False) - exact))
    assert errors[1] < errors[0] / 3.5
    with pytest.raises(mbs.ConvergenceError, match=r"'top'.*angle b .*\+-90 degrees"):
        mbs.simulate(top(False), 0.1, 1e-3, ANGLES)


EXPLICIT = mbs.ClassicalRungeKutta()


@pytest.mark.parametrize("method", [ANGLES, EXPLICIT], ids=["implicit", "explicit"])
@pytest.mark.parametrize("h", [0.1, 0.02, 0.005])
def test_steps_over_the_singularity_are_refused(method: mbs.Method, h: float) -> None:
    """They would lead to a rotation that looks fine and is off by up to 0.1 rad; the run so far is kept."""
    with pytest.raises(mbs.ConvergenceError, match="'racket': its Tait-Bryan angle b .* Euler parameters") as refused:
        mbs.simulate(racket(), 1.0, h, method)
    assert refused.value.solution is not None
    assert 0.3 < refused.value.solution.t[-1] < 0.42
    exact = mbs.simulate(racket(), float(refused.value.solution.t[-1]), 1e-3, LIE)
    assert np.abs(refused.value.solution.R[-1] - exact.R[-1]).max() < 5e-3


@pytest.mark.ci
@pytest.mark.parametrize("method", [ANGLES, pytest.param(EXPLICIT, marks=pytest.mark.slow)])
def test_steps_that_resolve_the_singularity_pass(method: mbs.Method) -> None:
    """Errors fall with the order of the method, if from a far larger size than on the group."""
    exact = mbs.simulate(racket(1.5, (0.06, 1.0, 0.09)), 0.14, 2e-3, mbs.RungeKuttaMuntheKaas()).R[-1]
    errors = [
        np.abs(mbs.simulate(racket(1.5, (0.06, 1.0, 0.09)), 0.14, h, method).R[-1] - exact).max() for h in (2e-3, 1e-3)
    ]
    assert errors[0] < 2e-4
    assert errors[1] < errors[0] / 3.5


@pytest.mark.parametrize("method", [ANGLES, EXPLICIT], ids=["implicit", "explicit"])
def test_no_start_at_the_singularity(method: mbs.Method) -> None:
    with pytest.raises(mbs.ModelError, match="'racket': its Tait-Bryan angle b is 90 degrees, and rates"):
        mbs.simulate(racket(0.5 * np.pi), 1.0, 0.01, method)


def test_held_rotations_have_no_singularity() -> None:
    """A clamped node at b = 90 degrees, and a body on it, as on the group."""
    ends = []
    for method in (LIE, ANGLES):
        model = mbs.Model()
        base = model.add_node((0, 0, 0), so3.exp(np.array([0, 0.5 * np.pi, 0])))
        model.fix(base, rotation=True)
        arm = model.add_node((1, 0, 0))
        model.add(RigidBody(arm, 1.0, (0.1, 0.2, 0.3)))
        model.add(RevoluteJoint(base, arm, (0, 0.6, 0.8)))
        ends.append(mbs.simulate(model, 0.2, 0.01, method).x[-1])
    np.testing.assert_allclose(ends[1], ends[0], atol=2e-4)


@pytest.mark.ci
def test_euler_parameters_that_become_unstable_are_refused() -> None:
    """From about 2 (1 - rho_inf) rad a step on; on the group the same step runs, and with more damping, too."""
    assert mbs.simulate(top(False), 0.3, 2e-3, LIE).success
    assert mbs.simulate(top(False), 0.3, 2e-3, mbs.ClassicalAlpha("euler_parameters", 0.6)).success
    with pytest.raises(mbs.ConvergenceError, match=r"'top'.* leave the unit sphere .* above about 0\.2 rad"):
        mbs.simulate(top(False), 0.3, 2e-3, EULER)


def mechanism(group: str) -> mbs.System:
    """A beam, two bodies, elements with internal variables, and joints."""
    model = free(group)
    one, other, last = model.nodes[1:]
    model.add(RevoluteJoint(model.ground, one, (1, 2, 3)))
    model.add(SphericalJoint(other, last, (1.3, 0.4, 0.2)))
    return mbs.System(model)


def random_trial(system: mbs.System, method: mbs.Method) -> tuple[StepEquations, Unknowns, StepResidual]:
    """The equations of a step of 0.5 s from a random state, and a trial that turns every node."""
    rng = np.random.default_rng(3)
    state = random_state(system, 0)
    problem = method.equations(system, state, 0.5, method.init(system, state, 0.5))
    width = problem.chart.width
    of_nodes = np.where(system.free[:, [0, 1, 2, *[3] * (width - 3)]], rng.normal(size=(system.n, width)), 0.0)
    unknown = problem.predict(0.3 * np.append(of_nodes, rng.normal(size=system.k)), rng.normal(size=system.m))
    return problem, unknown, problem.evaluate(unknown)


def differences(problem: StepEquations, unknown: Unknowns, trial: StepResidual, function) -> Array:
    """Columns of the derivative of a function of a trial and its unknowns, against corrections."""
    system, T_inv, step = problem.system, problem.matrix(problem, unknown, trial)[1], 1e-5
    at = Linearization(None, T_inv)  # type: ignore[arg-type]
    ways = [(step * unit, np.zeros(system.m)) for unit in np.eye(system.N)[system.free_rows]]
    ways += [(np.zeros(system.N), problem.h**-2 * step * unit) for unit in np.eye(system.m)]

    def there(*way: Array) -> Array:
        moved = problem.corrected(Iterate(unknown, trial, at), Correction(*(-part for part in way)), 1.0)
        return function(problem.evaluate(moved), moved)

    return np.stack([(there(*way) - there(*(-part for part in way))) / (2 * step) for way in ways], axis=-1)


def matrix(problem: StepEquations, unknown: Unknowns, trial: StepResidual) -> Array:
    entries = problem.matrix(problem, unknown, trial)[0]
    return problem.system.solver.matrix(problem.system.solver.stored(entries)).toarray()


def assert_columns_close(actual: Array, expected: Array, size: Array) -> None:
    assert (np.abs(actual - expected) <= 1e-6 * size + 1e-9 * size.max()).all()


@groups
@methods
def test_matrix_is_the_derivative(method: mbs.ClassicalAlpha, group: str) -> None:
    system = mechanism(group)
    problem, unknown, trial = random_trial(system, method)

    def equations(trial: StepResidual, _: Unknowns) -> Array:
        return np.append(problem.h**2 * trial.evaluation.force[system.free_rows], trial.closing)

    expected = differences(problem, unknown, trial, equations)
    assert_columns_close(matrix(problem, unknown, trial), expected, np.abs(expected).max(axis=0))


@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
@pytest.mark.parametrize("method", [ANGLES, EULER, LIE, mbs.UpdatedLagrangian(formulation="index3")])
def test_matrix_of_applied_forces(method: mbs.Method, group: str) -> None:
    """It lacks ``W^-T (W^T (M W q'' + B^T lambda))'`` with ``q''`` and ``lambda`` as they are, where ``V = W q'``."""
    system = mechanism(group)
    problem, unknown, trial = random_trial(system, method)
    chart, n = problem.chart, system.n
    second, uddot = trial.place.node_rates[1], trial.evaluation.motion.uddot

    def velocities_of(trial: StepResidual, unknown: Unknowns) -> Array:
        D, R = problem.of_nodes(unknown.D), trial.evaluation.motion.R
        units = (np.broadcast_to(unit, (n, chart.width)) for unit in np.eye(chart.width))
        return np.stack([chart.kinematics.to_body(R, chart.frozen(D, unit)[0]) for unit in units], axis=-1)

    back = np.linalg.pinv(velocities_of(trial, unknown))

    def left_out(there: StepResidual, at: Unknowns) -> Array:
        here = velocities_of(there, at)
        acceleration = np.append(np.matvec(here, second), uddot)
        wrench = mass_product(system, trial.evaluation, acceleration)
        wrench += gradient_transpose_product(system, there.evaluation.gradients, unknown.multipliers)
        nodes = np.vecmat(np.vecmat(system.nodes_of(wrench), here), back)
        return np.append(problem.h**2 * system.with_own(nodes, wrench)[system.free_rows], np.zeros(system.m))

    exact = matrix(problem, unknown, trial)
    problem.matrix = ENTRIES["applied_forces"]
    applied = matrix(problem, unknown, trial)
    expected = differences(problem, unknown, trial, left_out)
    assert np.abs(expected).max() > 1e-2
    assert_columns_close(exact - applied, expected, np.abs(exact).max(axis=0))


@pytest.mark.ci
def test_without_derivatives_of_reactions_the_group_takes_the_fewest_iterations() -> None:
    """As in the paper, whose matrix this is (Fig. 7); with the exact one both take the same.

    To tolerances as tight as there: to wider ones both end with the second correction.
    """
    means = {"exact": [], "applied_forces": []}
    for name in means:
        newton = mbs.Newton(matrix=name, force_tolerance=1e-10)
        own = (
            mbs.GeneralizedAlpha(formulation="index3", newton=newton),
            mbs.ClassicalAlpha("euler_parameters", newton=newton),
        )
        means[name] = [mbs.simulate(top(True), 0.1, 1e-3, method).stats.newton_iterations.mean() for method in own]
    assert means["applied_forces"][0] < means["applied_forces"][1] - 0.3
    assert abs(means["exact"][0] - means["exact"][1]) < 0.1


@cache
def flexible(method: mbs.Method, h: float) -> mbs.Solution:
    return mbs.simulate(joined(), 0.4, h, method)


@pytest.mark.ci
@methods
def test_flexible_mechanisms_go_where_the_group_leads(method: mbs.ClassicalAlpha) -> None:
    """A crank, a beam, and a disc with a mode: the distance falls with the order, multipliers included."""
    steps = np.array([0.02, 0.01])
    apart = []
    for h in steps:
        runs = [flexible(own, h) for own in (method, LIE)]
        parts = [np.concatenate([getattr(run, name)[-1].ravel() for name in ("x", "R", "v", "u")]) for run in runs]
        apart.append(np.abs(parts[0] - parts[1]).max())
    assert fitted_order(steps, np.array(apart)) == pytest.approx(2.0, abs=0.3)


@methods
def test_the_group_of_the_model_does_not_matter(method: mbs.ClassicalAlpha) -> None:
    one, other = (mbs.simulate(joined(group), 0.1, 0.01, method) for group in ("R3xSO3", "SE3"))
    for name in ("x", "R", "multipliers_all", "u"):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), atol=1e-7)
    for query in ("velocity", "angular_velocity", "acceleration"):
        for nodes in zip(one.system.nodes, other.system.nodes, strict=True):
            here, there = (getattr(run, query)(node) for run, node in zip((one, other), nodes, strict=True))
            np.testing.assert_allclose(there, here, atol=1e-5)


@pytest.mark.slow
@methods
def test_multipliers_are_of_second_order_after_a_while(method: mbs.ClassicalAlpha) -> None:
    """At 0.1 s, when the transient of the start has gone with the damping of rho_inf = 0.6; by runs with half the step,
    as rounding over h^2 is seen in the multipliers of short steps."""
    method = mbs.ClassicalAlpha(method.parametrization, 0.6)
    ends = [mbs.simulate(top(True, tilted=True), 0.1, h, method).multipliers_all[-1] for h in (1e-3, 5e-4, 2.5e-4)]
    apart = [np.abs(one - other).max() for one, other in pairwise(ends)]
    assert np.log2(apart[0] / apart[1]) == pytest.approx(2.0, abs=0.05)


@pytest.mark.one
@methods
def test_constraints_hold(method: mbs.ClassicalAlpha) -> None:
    """To Newton's tolerance; velocities miss them by the second order."""
    steps = np.array([0.02, 0.01])
    residuals = [flexible(method, h).constraint_residual for h in steps]
    assert max(residual.position.max() for residual in residuals) < 1e-10
    velocity = np.array([residual.velocity.max() for residual in residuals])
    assert fitted_order(steps, velocity) == pytest.approx(2.0, abs=0.1)


@pytest.mark.slow
def test_formulations_of_explicit_angles_agree() -> None:
    """Rates or angular velocities beside the angles: two methods, one limit."""
    steps = np.array([0.02, 0.01])
    apart = []
    for h in steps:
        runs = [
            mbs.simulate(free(), 0.2, h, mbs.ClassicalRungeKutta(formulation=name)) for name in ("rates", "velocities")
        ]
        apart.append(np.abs(runs[0].R[-1] - runs[1].R[-1]).max())
    assert apart[0] > 1e-12
    assert fitted_order(steps, np.array(apart)) > 3.7


def test_explicit_angles_refuse_joints() -> None:
    with pytest.raises(
        mbs.ModelError, match="ClassicalRungeKutta is for models without constraints, and SphericalJoint"
    ):
        mbs.simulate(top(True), 0.1, 1e-3, mbs.ClassicalRungeKutta())


def changing(system: mbs.System, method: mbs.Method, sizes: Array) -> tuple[mbs.State, Any]:
    """The state after steps of given lengths, and what is remembered of it."""
    state = mbs.start(system)
    memory = method.init(system, state, sizes[0])
    for h in sizes:
        state, memory, *_ = method.step(system, state, h, memory)
    return state, memory


@pytest.mark.parametrize("method", [ANGLES, EULER, mbs.GeneralizedAlpha()])
def test_a_first_step_is_as_long_as_it_is(method: mbs.Method) -> None:
    """However long it was meant to be, as where something jumps within it."""
    model = mbs.Model()
    body = model.add_node((1.0, 0, 0))
    model.add(RigidBody(body, 1.0, (1, 1, 1)))
    model.add(SpringDamper(model.ground, body, 1e4, free_length=0.9))
    system, ends = mbs.System(model), []
    state = mbs.start(system)
    for meant in (0.01, 0.03):
        ends.append(method.step(system, state, 0.01, method.init(system, state, meant)).state)
    np.testing.assert_allclose(ends[1].vdot, ends[0].vdot, atol=1e-6)
    np.testing.assert_allclose(ends[1].x, ends[0].x, rtol=0, atol=1e-12)


@pytest.mark.ci
@methods
def test_steps_that_change_all_the_time_have_order_two(method: mbs.ClassicalAlpha) -> None:
    """A pendulum on a slanted axis whose height is filtered; the local error that each step tells is of order three."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    body = model.add_node((0.3, 0.0, -1.0), so3.exp(np.array([0.3, 0.2, 0.1])), name="bob")
    model.add(RigidBody(body, 2.0, (0.1, 0.2, 0.25)))
    model.add(RevoluteJoint(model.ground, body, (0.2, 1.0, 0.3), point=(0, 0, 0)))
    model.add(LowPass(model.add(NodeSensor(body, "position", (1, 0, 0))), 0.1))
    system, found, forces, told = mbs.System(model), [], [], []
    for parts in (1, 2, 8):
        state, memory = changing(system, method, np.tile(np.array([0.02, 0.01, 0.03, 0.02]) / parts, 3 * parts))
        found.append(np.concatenate([state.x[-1], state.v.ravel(), state.u, state.udot]))
        forces.append(state.multipliers)
        told.append(memory.error)
    errors, off = (np.abs(np.array(own[:2]) - own[2]).max(axis=1) for own in (found, forces))
    assert errors[0] < 0.02 and np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.3)
    assert off[0] < 0.02 and off[1] < off[0] / 3.5
    assert np.log2(told[0] / told[1]) == pytest.approx(3.0, abs=0.3)


@methods
def test_loads_that_jump_and_matrices_that_are_kept(method: mbs.ClassicalAlpha) -> None:
    """A spring pulls, and a moment begins within a step, which is shortened; the modified method leads to the same."""
    model = mbs.Model()
    body = model.add_node((1.0, 0, 0), so3.exp(np.array([0.3, 0.2, 0.1])), angular_velocity=(0.5, 1.0, 0.2))
    model.add(RigidBody(body, 2.0, (0.1, 0.2, 0.25)))
    model.add(SpringDamper(model.ground, body, 30.0, free_length=0.8))

    def sudden(t: float) -> tuple[float, float, float]:
        return 0.0, 0.0, 0.3 * (t >= 0.095)

    sudden.jumps = [0.095]  # type: ignore[attr-defined]
    model.add(Moment(body, sudden))
    plain, kept = (
        mbs.simulate(model, 0.205, 0.01, replace(method, newton=mbs.Newton(modified=modified, force_tolerance=1e-9)))
        for modified in (False, True)
    )
    assert kept.stats.factorizations < plain.stats.factorizations
    np.testing.assert_allclose(kept.x, plain.x, rtol=0, atol=1e-8)
    exact = mbs.simulate(model, 0.205, 0.001, LIE)
    np.testing.assert_allclose(kept.R[-1], exact.R[-1], rtol=0, atol=2e-4)
