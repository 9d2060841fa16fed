"""Radau IIA: order 5 of all unknowns, whatever closes the joints, and rest where steps do not resolve stiff beams."""

from __future__ import annotations

import numpy as np
import pytest
import test_methods
import test_rolling_disc
from test_redundant import door, total

import fem_mbs as mbs
from fem_mbs.benchmarks import tops
from fem_mbs.elements import Beam, BeamSection, Force, LowPass, NodeSensor, PointMass, RevoluteJoint, RigidBody
from fem_mbs.methods.radau import NODES, ahead, following
from fem_mbs.testing.method_laws import free

METHOD = mbs.RadauIIA()
both = pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
one = pytest.mark.parametrize("group", ["R3xSO3", pytest.param("SE3", marks=pytest.mark.slow)])


@pytest.mark.ci
@pytest.mark.parametrize(
    "group", ["mixed", *(pytest.param(name, marks=pytest.mark.slow) for name in ("R3xSO3", "SE3"))]
)
def test_order_is_five_in_all_unknowns(group: str) -> None:
    """Of a driven crank, a beam and a disc, against a reference with half of the shortest step."""
    study = mbs.convergence_study(lambda: test_methods.model(group), METHOD, (0.03, 0.015), 0.0075, t_end=0.3)
    print(study)
    assert len(study.orders) == 4
    np.testing.assert_allclose(list(study.orders.values()), 5.0, atol=0.2)


@one
@pytest.mark.slow
def test_order_is_five_without_joints(group: str) -> None:
    study = mbs.convergence_study(lambda: free(group), METHOD, (0.04, 0.02), 0.005, t_end=0.4)
    orders = [study.orders[name] for name in ("position", "rotation", "velocity")]
    np.testing.assert_allclose(orders, 5.0, atol=0.2)


@pytest.mark.parametrize("ratio", [0.3, 1.0, 2.5])
def test_guesses_of_stages_are_exact_for_polynomials(ratio: float) -> None:
    """Of degree 4 from both ends, the stages and the slope of the last step, of degree 2 from its stages."""
    there = 1.0 + ratio * NODES
    for degree, guess in ((4, ahead), (2, following)):
        p = np.polynomial.Polynomial(np.random.default_rng(degree).normal(size=degree + 1))
        known = p(NODES) if guess is following else np.concatenate([[p(0.0)], p(NODES), [p.deriv()(1.0)]])
        np.testing.assert_allclose(guess(ratio) @ known, p(there), rtol=1e-12)


@pytest.mark.one
@pytest.mark.parametrize(("group", "limit"), [("R3xSO3", 1e-7), ("SE3", 5e-6)])
def test_heavy_top_is_exact(group: str, limit: float) -> None:
    """Against an eighth-order solution of the top without a joint; the body turns by 0.3 rad a step."""
    h = 2e-3
    solution, exact = mbs.simulate(tops.top_on_joint(group), 0.1, h, METHOD), tops.exact(h * np.arange(51))
    assert np.abs(solution.x[:, 1] - exact.x).max() < limit
    assert np.abs(solution.v[:, 1, 3:] - exact.Omega).max() < 150.0 * limit
    assert np.abs(solution.multipliers_all + exact.force).max() < 4.0 * limit * np.abs(exact.force).max()
    residual = solution.constraint_residual
    assert residual.position.max() < 1e-11
    assert h * residual.velocity.max() < 1e-11


@both
def test_joints_that_repeat_each_other_change_nothing(group: str) -> None:
    runs = []
    for hinges in (1, 3):
        model, leaf, joints = door(hinges, group)
        solution = mbs.simulate(model, 0.15, 0.01, METHOD)
        runs.append((solution.position(leaf), total(solution, leaf, joints)))
    (position, wrench), (other, sums) = runs
    np.testing.assert_allclose(other, position, rtol=0, atol=1e-9)
    np.testing.assert_allclose(sums, wrench, rtol=0, atol=1e-6 * np.abs(wrench).max())


def test_states_obey_the_equations_of_what_feels_accelerations() -> None:
    """A filter on a pendulum, whose joint changes the acceleration at the end of a step: to the error of the step."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    bob = model.add_node((1, 0, 0))
    model.add(RigidBody(bob, 1.0, (0.1, 0.1, 0.1)))
    model.add(RevoluteJoint(model.ground, bob, (0, 1, 0), point=(0, 0, 0)))
    model.add(LowPass(model.add(NodeSensor(bob, "acceleration", (0, 0, 1))), 0.1))
    solution = mbs.simulate(model, 0.1, 0.05, METHOD)
    system = solution.system
    assert system.evaluate_at(system.from_user(solution.state(-1), "end")).relative < 1e-6


@pytest.mark.slow
@both
def test_rolling_without_slip(group: str) -> None:
    """Constraints on velocities alone that cannot be integrated: the steady circle of a tilted disc."""
    steady = test_rolling_disc.STEADY["tilted by 30 degrees"]
    coarse, fine = (test_rolling_disc.errors(steady, group, h, METHOD) for h in (0.02, 0.01))
    assert max(fine) < 1e-7
    for one, half in zip(coarse, fine, strict=True):
        assert half < 1e-11 or np.log2(one / half) > 4.8


@pytest.mark.slow
def test_stiff_vibrations_die_where_steps_do_not_resolve_them() -> None:
    """An undamped bar that is struck along its axis, with periods below the step: its slow swing is that without."""

    def struck(step: float, EA: float, speed: float) -> mbs.Solution:
        model = mbs.Model()
        section = BeamSection(EA=EA, GA=EA / 2, GJ=10, EI=10, mass=1.0, inertia=(1e-5, 1e-5, 1e-5))
        bar = Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements=4, start_node=model.ground)
        bar.nodes[-1].velocity = (speed, 0, 0)
        model.add(PointMass(bar.nodes[-1], mass=1.0), name="tip")
        model.add(Force(bar.nodes[-1], lambda t: (0, 0, 5 * t)))
        return mbs.simulate(model, 1.0, step, METHOD)

    for EA in (1e6, 1e8):
        still, hit = (struck(0.01, EA, speed) for speed in (0.0, 0.1))
        assert hit.success
        np.testing.assert_allclose(hit.x[-1], still.x[-1], rtol=0, atol=1e-6)


@pytest.mark.ci
def test_steps_follow_a_tolerance_and_newton() -> None:
    """Errors fall with the tolerance; where Newton's method is what limits the step, no step fails."""
    exact = tops.exact(np.array([0.03])).x[-1]
    errors = []
    for tolerance in (1e-2, 1e-6):
        solution = mbs.simulate(tops.top_on_joint(), 0.03, mbs.VariableStep(tolerance, largest=0.01), METHOD)
        errors.append(np.abs(solution.x[-1, 1] - exact).max())
        assert solution.stats.failed_steps < 0.1 * len(solution.t)
    assert errors[0] < 1e-2
    assert errors[1] < 1e-6


def test_steps_become_longer_where_one_correction_solves_them() -> None:
    """Of a body that nothing acts on, as far as a step may be; without a contraction that could be measured."""
    model = mbs.Model()
    model.add(RigidBody(model.add_node((0, 0, 0), velocity=(1, 0, 0)), 1.0, (1, 1, 1)))
    steps = np.diff(mbs.simulate(model, 1.0, mbs.VariableStep(1e-3, first=1e-3, largest=0.1), METHOD).t)
    assert len(steps) < 20 and steps.max() == pytest.approx(0.1)


@pytest.mark.parametrize("options", [{"matrix": "simplified"}, {"modified": True}, {"line_search": True}])
def test_options_without_effect_are_refused(options: dict) -> None:
    with pytest.raises(mbs.ModelError, match="one matrix for all stages"):
        mbs.RadauIIA(mbs.Newton(**options))
