"""The laws that every method of the catalogue obeys; of the generalised-alpha method in all coordinates, on every
group: order of all unknowns, constraint levels, and one limit for all."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from catalogue import GROUPS, METHODS
from models import CHARTS, FORMULATIONS, bead, machine
from motions import fitted_order

import fem_mbs as mbs
from fem_mbs.elements import Force, ModalBody, Moment, RigidBody, SpringDamper
from fem_mbs.elements.joints.curve import Splines
from fem_mbs.testing import METHOD_LAWS, Bench
from fem_mbs.testing.differences import hold

FIRST = "generalised-alpha"
FAMILIES = (FIRST, "Runge-Kutta-Munthe-Kaas", "Lie-Euler", "Radau IIA")
"""One of each family, whose others share most of what is written for a law."""
LONG = (
    "order_survives_changes_of_the_step",
    "errors_are_estimated",
    "a_run_goes_on_from_a_file",
    "order_is_as_said",
    "groups_agree_in_the_limit",
)
"""Of other families the files of their own tell orders, on both groups: ``test_runge_kutta.py`` and the like."""
SHORT = ("memory_can_be_stored", "steps_are_pure", "history_is_accepted")
ALONE = ("Tait-Bryan angles", "order_survives_changes_of_the_step")
"""What no other file tells."""


def _is_slow(name: str, law: str) -> bool:
    return (name, law) != ALONE and (name != FIRST and law in LONG or name not in FAMILIES and law not in SHORT)


LAWS = [
    pytest.param(name, law, marks=[pytest.mark.slow] if _is_slow(name, law) else [])
    for name, law in product(METHODS, METHOD_LAWS)
]


@pytest.mark.parametrize(("name", "law"), LAWS)
def test_laws(name: str, law: str) -> None:
    if reason := hold(name, {law: METHOD_LAWS[law]}, bench(name)).does_not_apply.get(law):
        pytest.skip(f"does not apply: {reason}")


@cache
def bench(name: str) -> Bench:
    return Bench(METHODS[name])


BY_STAGES = (mbs.RungeKuttaMuntheKaas, mbs.ClassicalRungeKutta, mbs.RadauIIA)
STAGES = {"Runge-Kutta-Munthe-Kaas": 4, "Dormand": 6, "Bogacki": 3, "Butcher": 7, "Radau IIA": 3}


@pytest.mark.parametrize("name", METHODS)
def test_a_fall_is_guessed_and_takes_the_least_of_evaluations(name: str) -> None:
    """Its way is exact; Euler's methods have half a step more of it, or less."""
    model = mbs.Model(("R3xSO3", "SE3")[len(name) % 2], gravity=(0, 0, -10))
    node = model.add_node((0, 0, 1), velocity=(1, 2, 3))
    model.add(RigidBody(node, 2.0, (0.1, 0.2, 0.25)))
    run = mbs.simulate(model, 0.5, 0.05, METHODS[name])
    assert run.stats.newton_iterations.max() <= 1
    stages = 4 if name.endswith("Runge-Kutta") else STAGES.get(name.split(",")[0], 1)
    assert run.stats.residual_evaluations == 10 * stages
    off = run.position(node)[-1] - (0.5, 1.0, 1.25)
    assert np.abs(off[:2]).max() < 1e-12
    assert abs(off[2]) == pytest.approx(0.125 if name.startswith("Lie-Euler") else 0.0, abs=1e-12)


EMBEDDED = {"Dormand, Prince": (30.0, 400.0), "Bogacki, Shampine": (5.0, 80.0), "Radau IIA": (1e3, 3e4)}
"""Estimates of a step over its error, where these are of a formula of lower order."""


@pytest.mark.parametrize("group", GROUPS[:2])
@pytest.mark.parametrize("name", [name for name, own in METHODS.items() if own.error_order is not None])
def test_estimates_are_what_a_step_misses(name: str, group: str) -> None:
    """Of a body that swings on a spring and tumbles, against a fine run of the same step."""
    own, exact = METHODS[name], mbs.RungeKuttaMuntheKaas("RK6")
    swinging = mbs.Model(group, gravity=(0, 0, -9.81))
    node = swinging.add_node((1.0, 0.2, 0.1), velocity=(0.3, 1.0, -0.5), angular_velocity=(1.5, 0.7, -0.9))
    swinging.add(RigidBody(node, 2.0, (0.3, 0.5, 0.6), (0.1, 0.05, -0.1)))
    far = node.at((0.2, 0.1, 0.0))
    swinging.add(SpringDamper(swinging.ground, node, 60.0, 1.0, free_length=0.8, point_b=far))
    system, told = mbs.System(swinging), []
    for h, last in ((0.02, 0.02), (0.01, 0.01), (0.02, 0.002)):
        state = mbs.start(system, own)
        memory = own.init(system, state, h)
        for k in range(6):
            h = last if k == 5 else h
            there, (state, memory, report, error) = state, own.step(system, state, h, memory)
        fine = exact.init(system, there, h)
        for _ in range(4):
            there, fine, *_ = exact.step(system, there, 0.25 * h, fine)
        missed = system.kinematics.relative(there.x, there.R, state.x, state.R)
        told.append(error / np.abs(missed * system.nodes_of(system.weight)).max())
        assert report.error_estimate is None or not report.error_estimate.sudden
    (*told, short), (least, most) = told, EMBEDDED.get(name, (0.7, 1.1))
    assert least < min(told) and max(told) < most
    if name not in EMBEDDED:  # algorithmic accelerations are still those of the longer steps before
        assert 0.15 < short < 1.1


STEPS = np.array([0.015, 0.0075])
T_END = 0.3
BASE = ("Lie group", "index3")
CASES = list(product(CHARTS, FORMULATIONS))
QUICK = {("Lie group", name) for name in FORMULATIONS} | {(name, "stabilized") for name in CHARTS}
MARKED = [pytest.param(*case, marks=[] if case in QUICK else pytest.mark.slow) for case in CASES]
cases = pytest.mark.parametrize(("name", "formulation"), MARKED)
groups = pytest.mark.parametrize(
    "group", ["mixed", *(pytest.param(name, marks=pytest.mark.slow) for name in GROUPS[:2])]
)


def model(group: str) -> mbs.Model:
    """In motion from the start: the whole machine turns with the crank, and the disc spins about its hinge."""
    made = machine(group, drive=lambda t: 5.0 * t + 3.0 * t * t)
    for node in made.nodes[1:]:
        node.velocity, node.angular_velocity = np.cross((0, 0, 5), node.position), (0, 0, 5)
    disc = made.nodes[-1]
    disc.angular_velocity = disc.angular_velocity + (0, 4, 4)
    return made


def method(name: str, formulation: str) -> mbs.GeneralizedAlpha:
    return replace(CHARTS[name], formulation=formulation, start="perturbed")


@cache
def run(name: str, formulation: str, group: str, h: float) -> mbs.Solution:
    return mbs.simulate(model(group), T_END, h, method(name, formulation))


@groups
@cases
@pytest.mark.slow
def test_order_is_two_and_the_limit_is_the_same(name: str, formulation: str, group: str) -> None:
    """Positions, rotations, velocities and multipliers over the whole run, against one reference for all, whose own
    error is about 1 percent of the smallest."""
    reference = run(*BASE, "R3xSO3", STEPS[-1] / 10)
    study = mbs.convergence_study(lambda: model(group), method(name, formulation), STEPS, reference)
    assert len(study.orders) == 4
    np.testing.assert_allclose(list(study.orders.values()), 2.0, atol=0.1)


@pytest.mark.one
@groups
@pytest.mark.parametrize(("name", "formulation"), [own for own in MARKED if own.values != BASE])
def test_methods_differ_by_the_second_order(name: str, formulation: str, group: str) -> None:
    """From the Lie group method of index 3 at the same step: halving it divides the difference by four, or by more."""
    distances = []
    for h in STEPS:
        own, base = run(name, formulation, group, h), run(*BASE, group, h)
        assert own.stats.failed_steps == 0
        distances.append([np.abs(getattr(own, a) - getattr(base, a)).max() for a in ("x", "R", "v", "multipliers_all")])
    for distance in np.transpose(distances):
        assert fitted_order(STEPS, distance) > 1.7


@groups
@cases
def test_constraints_hold(name: str, formulation: str, group: str) -> None:
    """``Phi``, and where it is closed ``h (B v + Phi_t)``, to the tolerance of Newton's method and rounding; index 3
    leaves a velocity residual of second order."""
    runs = [run(name, formulation, group, h) for h in STEPS]
    tolerance = mbs.Newton().constraint_tolerance * runs[0].system.length + 1e-14
    residuals = [solution.constraint_residual for solution in runs]
    assert max(residual.position.max() for residual in residuals) <= tolerance
    velocity = np.array([residual.velocity.max() for residual in residuals])
    if formulation != "index3":
        assert (STEPS * velocity <= tolerance).all()
    else:
        assert fitted_order(STEPS, velocity) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("name", [name for name, own in METHODS.items() if type(own) in BY_STAGES])
def test_pushes_over_time_are_summed_by_the_order_of_the_stages(name: str) -> None:
    """A polynomial of one degree less, to rounding, of a force and of a moment about an axis that stays."""
    method = METHODS[name]
    p = method.order
    model = mbs.Model()
    node = model.add_node((0, 0, 0))
    model.add(RigidBody(node, 1.0, (1.0, 1.0, 1.0)))
    model.add(Force(node, lambda t: (p * (t - 0.1) ** (p - 1), 0, 0)))
    model.add(Moment(node, lambda t: (0, 0, p * (t - 0.1) ** (p - 1))))
    run = mbs.simulate(model, 0.4, 0.2, method)
    expected = (run.t - 0.1) ** p - (-0.1) ** p
    np.testing.assert_allclose(run.velocity(node)[:, 0], expected, rtol=0, atol=1e-11)
    np.testing.assert_allclose(run.angular_velocity(node)[:, 2], expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", [name for name in METHODS if not name.endswith("symplectic")])
def test_coordinates_of_bodies_vibrate_beside_their_nodes(name: str) -> None:
    """A force on a body with a mode along it, ``m x'' + p q'' = F``, ``p x'' + q'' + w^2 q = 0``, to the order."""
    method, m, p, F, w, h = METHODS[name], 2.0, 0.8, 3.0, 20.0, 5e-3
    model = mbs.Model("SE3")
    node = model.add_node((0, 0, 0))
    body = model.add(ModalBody(node, m, (1.0, 1.0, 1.0), [1.0], [w * w], translation=[[p], [0], [0]]))
    model.add(Force(node, (F, 0, 0)))
    run = mbs.simulate(model, 0.1, h, method)
    rate = w / np.sqrt(1.0 - p * p / m)
    q = -p * F / (m * w * w) * (1.0 - np.cos(rate * run.t))
    found, allowed = run.internal_variables(body)[:, 0], 0.6 * (rate * h) ** method.order
    np.testing.assert_allclose(found, q, rtol=0, atol=allowed * np.abs(q).max())
    x = (0.5 * F * run.t**2 - p * q) / m
    np.testing.assert_allclose(run.position(node)[:, 0], x, rtol=0, atol=allowed * np.abs(x).max())


@pytest.mark.parametrize("name", [name for name in METHODS if name != "Tait-Bryan angles, Runge-Kutta"])
def test_what_joints_move_along_is_where_nodes_are(name: str) -> None:
    """A bead on a ring is at its arc length, with the velocity and the acceleration of that, or soon in short steps.

    But for a while: index 3 starts wrong. Accelerations of Newmark's method in coordinates go on to swing.
    """
    gaps, levels = [], 2 if name in ("Tait-Bryan angles", "Euler parameters") else 3
    for h in (0.02, 0.01):
        run = mbs.simulate(bead("SE3"), 0.1, h, METHODS[name])
        x, v, vdot, s, rate, gain = (
            getattr(run, own)[round(0.06 / h) :] for own in ("x", "v", "vdot", "u", "udot", "uddot")
        )
        ring = run.system.constraint_batches[0].owners[0].curve
        place, along, bend, _ = Splines([ring]).at(np.zeros(len(s), np.intp), s[:, 0])
        found = x[:, 1] - place, v[:, 1, :3] - along * rate, vdot[:, 1, :3] - along * gain - bend * rate**2
        gaps.append([np.abs(gap).max() for gap in found[:levels]])
    assert all(fine < 1e-9 or fine < 0.6 * coarse for coarse, fine in zip(*gaps, strict=True)), gaps
