"""The forms of Euler's method: exact matrices, what each has to say that the others have not, and what is refused."""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np
import pytest
from catalogue import GROUPS, JOINTS, build
from models import bead, machine
from motions import assert_columns_close, increment_derivative, increments, random_state, with_increments

import fem_mbs as mbs
from examples.reproduce_2018 import BUILD, double, single
from fem_mbs.alpha.step import StepEquations, Unknowns
from fem_mbs.arrays import Array
from fem_mbs.elements import (
    Beam,
    BeamSection,
    Force,
    JointFriction,
    Maxwell,
    PointMass,
    RevoluteJoint,
    RigidBody,
    RollingDisc,
    SphericalJoint,
    SpringDamper,
)
from fem_mbs.methods.comparison.symplectic import SymplecticProblem
from fem_mbs.testing.method_laws import bodies

H = 0.5
"""A long step makes stiffness, damping and mass weigh alike in the matrix."""
LEVELS = ("index1", "overdetermined")
SOME = ("hinge driven by a function", "rolling disc", "ball moved by a function")
ALL = [pytest.param(name, marks=[] if name in SOME else pytest.mark.slow) for name in JOINTS]


def trial(system: mbs.System, form: str, coordinates: str, seed: int = 1) -> tuple[StepEquations, Unknowns]:
    """The equations of a step from a random state, and a trial that turns every node by about half a radian."""
    rng = np.random.default_rng(seed + 200)
    problem = mbs.LieEuler(form, coordinates).equations(system, random_state(system, seed), H)
    free = np.zeros(system.N)
    free[system.free_rows] = 0.3
    guess = problem.predict(free * rng.normal(size=system.N), 3.0 * rng.normal(size=system.m))
    first, further = increments(guess)[:2], increments(guess)[2:]
    return problem, with_increments(guess, [*first, *(free * rng.normal(size=system.N) for _ in further)])


def derivative(problem: StepEquations, unknown: Unknowns, step: float = 1e-5) -> Array:
    """Of all levels and of the forces, against increments, ``h^2 lambda`` and corrections, by central differences."""
    system, here = problem.system, increments(unknown)
    nothing = [np.zeros_like(part) for part in here]
    T = increment_derivative(problem, unknown.D)
    ways = []
    for row in system.free_rows:
        d = np.zeros(system.N)
        d[row] = step
        ways.append([np.append(np.matvec(T, system.nodes_of(d)), system.own_of(d)), *nothing[1:]])
    for k in range(2, len(here)):
        for row in system.free_rows:
            ways.append([part.copy() for part in nothing])
            ways[-1][k][row] = step
    ways += [[nothing[0], step / H**2 * unit, *nothing[2:]] for unit in np.eye(system.m)]

    def at(way: list[Array], sign: float) -> Array:
        found = problem.evaluate(with_increments(unknown, [u + sign * w for u, w in zip(here, way, strict=True)]))
        return np.concatenate([H**2 * system.at_free(found.evaluation.force), found.closing, found.hidden])

    return np.stack([(at(way, 1.0) - at(way, -1.0)) / (2 * step) for way in ways], axis=-1)


def matrix(problem: StepEquations, unknown: Unknowns) -> Array:
    """The same entries of the factorised matrix, from what it does to unit vectors."""
    n, m, copies = problem.system.n_free, problem.system.m, len(increments(unknown)) - 1
    solve = problem.linearize(unknown, problem.evaluate(unknown)).factors.solve
    whole = np.linalg.inv(np.stack([solve(unit) for unit in np.eye(copies * (n + m))], axis=-1))
    return whole[np.ix_([*range(n), *range(copies * n, copies * (n + m))], range(copies * n + m))]


@pytest.mark.parametrize("form", LEVELS)
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("name", ALL)
def test_matrix_is_the_derivative_for_each_joint(name: str, group: str, form: str) -> None:
    """On two bodies; the joint's own nodes need mass for the matrix to have an inverse."""
    model, _ = build(JOINTS[name], group=group)
    for node in model.nodes[1:]:
        model.add(RigidBody(node, 2.0, (1.0, 2.0, 2.5), (0.1, 0.2, 0.3)))
    problem, unknown = trial(mbs.System(model), form, "first")
    assert_columns_close(matrix(problem, unknown), derivative(problem, unknown))


@pytest.mark.parametrize("coordinates", ["first", "second"])
@pytest.mark.parametrize("form", ["index3", *LEVELS])
@pytest.mark.parametrize("group", GROUPS)
def test_matrix_is_the_derivative_for_a_whole_model(group: str, form: str, coordinates: str) -> None:
    problem, unknown = trial(mbs.System(machine(group)), form, coordinates)
    assert_columns_close(matrix(problem, unknown), derivative(problem, unknown))


@pytest.mark.parametrize("group", GROUPS)
def test_matrix_of_the_symplectic_form(group: str, step: float = 1e-5) -> None:
    system, rng = mbs.System(bodies(group)), np.random.default_rng(1)
    problem = SymplecticProblem(system, random_state(system, 1), H)
    free = np.zeros(system.N)
    free[system.free_rows] = 0.3
    unknown = free * rng.normal(size=system.N), rng.normal(size=system.m)
    found = problem.linearize(unknown, problem.evaluate(unknown))
    whole = np.linalg.inv(np.stack([found.factors.solve(unit) for unit in np.eye(system.size)], axis=-1))
    R = problem.evaluate(unknown).evaluation.motion.R
    ways = [(np.zeros(system.N), unit / H**2) for unit in np.eye(system.m)]
    for row in reversed(system.free_rows):
        d = np.zeros((system.n, 6))
        d.flat[row] = 1.0
        ways.insert(0, (np.matvec(found.T_inv, system.kinematics.from_body(R, d)).ravel(), np.zeros(system.m)))

    def at(way: tuple[Array, ...], sign: float) -> Array:
        values = problem.evaluate((unknown[0] + sign * way[0], unknown[1] + sign * way[1]))
        return np.concatenate([system.at_free(values.force), values.evaluation.constraint])

    ahead, behind = (np.stack([at(way, sign * step) for way in ways], axis=-1) for sign in (1.0, -1.0))
    assert_columns_close(whole, (ahead - behind) / (2 * step))


@pytest.mark.one
@pytest.mark.parametrize("form", ["index3", "index2", "index1", "overdetermined", "symplectic"])
@pytest.mark.parametrize("pendulum", BUILD)
def test_multipliers_are_of_first_order(pendulum: str, form: str) -> None:
    """From the second step on; the first ones of index 3 are wrong by what does not fall with the step."""
    truth = mbs.simulate(BUILD[pendulum](), 0.12, 1e-3, mbs.GeneralizedAlpha(0.9)).multipliers_all
    apart = []
    for h in (4e-3, 2e-3):
        found = mbs.simulate(BUILD[pendulum](), 0.12, h, mbs.LieEuler(form)).multipliers_all
        apart.append(np.linalg.norm(found - truth[:: round(h / 1e-3)], axis=1))
    coarse, fine = (error[2:].max() for error in apart)
    assert np.log2(coarse / fine) == pytest.approx(1.0, abs=0.1)
    if form == "index3" and pendulum == "single":
        # 0.32 N of 6.9 N
        assert [error[1] for error in apart] == pytest.approx(2 * [0.32], abs=0.02)
    elif form != "index3":
        assert apart[1][1] < 0.6 * apart[0][1]


def rough(group: str) -> mbs.Model:
    """A hinge whose friction is that of its own reactions."""
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    node = model.add_node((0.5, 0, 0))
    model.add(RigidBody(node, 2.0, (0.1, 0.2, 0.2)))
    hinge = model.add(RevoluteJoint(model.ground, node, (0, 1, 0), (0, 0, 0)), name="hinge")
    model.add(JointFriction(hinge, 0.3, radius=0.2, creep=0.5))
    return model


def kicked(group: str) -> mbs.Model:
    """A double pendulum, on both groups where they are mixed, under a force that jumps in the middle of a step."""
    model = mbs.Model("R3xSO3" if group == "mixed" else group, gravity=(0, 0, -9.81))
    upper, lower = model.add_node((0.5, 0, 0)), model.add_node((1.5, 0, 0), group="SE3" if group == "mixed" else None)
    for node in (upper, lower):
        model.add(RigidBody(node, 1.0, (0.1, 0.2, 0.2)))
    model.add(SphericalJoint(model.ground, upper, (0, 0, 0)))
    model.add(RevoluteJoint(upper, lower, (1, 1, 0), (1, 0, 0)))

    def law(t: float) -> tuple[float, float, float]:
        return (0.0, 0.0, 5.0 if t < 0.1003 else -20.0)

    law.jumps = [0.1003]  # type: ignore[attr-defined]
    model.add(Force(lower, law))
    return model


@pytest.mark.one
@pytest.mark.parametrize(("make", "group"), [(bead, "SE3"), (rough, "R3xSO3"), (kicked, "mixed"), (kicked, "SE3")])
def test_symplectic_form_takes_friction_jumps_and_unknowns_of_joints(
    make: Callable[[str], mbs.Model], group: str
) -> None:
    truth = mbs.simulate(make(group), 0.16, 1e-3, mbs.GeneralizedAlpha(0.9))
    runs = [mbs.simulate(make(group), 0.16, h, mbs.LieEuler("symplectic")) for h in (4e-3, 2e-3)]
    for name in ("x", "v", "multipliers_all", *(["u", "udot"] if truth.u.size else [])):
        coarse, fine = (np.abs(getattr(run, name)[-1] - getattr(truth, name)[-1]).max() for run in runs)
        assert np.log2(coarse / fine) > 0.8


def test_index_1_says_that_joints_drift_open(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        mbs.simulate(single(), 0.2, 1e-2, mbs.LieEuler("index1"))
    assert "SphericalJoint 'pivot'" in caplog.text
    assert "drifted open" in caplog.text


def beam() -> mbs.Model:
    model = mbs.Model("SE3")
    Beam.line(
        model, (0, 0, 0), (1, 0, 0), BeamSection(1e3, (1e3, 1e3), 1.0, (1.0, 1.0), 1.0, (0.1, 0.1, 0.1)), elements=1
    )
    return model


def lopsided() -> mbs.Model:
    model = mbs.Model("R3xSO3")
    model.add(RigidBody(model.add_node((0, 0, 0)), 1.0, (1, 1, 1), (0.1, 0, 0)), name="crank")
    return model


def viscous() -> mbs.Model:
    model = mbs.Model("SE3")
    node = model.add_node((1, 0, 0))
    model.add(RigidBody(node, 1.0, (1, 1, 1), (0.1, 0, 0)))
    model.add(Maxwell(model.ground, node, 5.0, 4.0), name="strut")
    return model


def rolling() -> mbs.Model:
    model = mbs.Model("SE3")
    node = model.add_node((0, 0, 0.4))
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    model.add(RollingDisc(model.ground, node, (0, 0, 1), (0, 1, 0), 0.4), name="wheel")
    return model


def mirrored() -> mbs.Model:
    model = mbs.Model()
    node = model.add_node((1, 0, 0))
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    for z, name in ((0.0, "lower hinge"), (1.0, "upper hinge")):
        model.add(RevoluteJoint(model.ground, node, (0, 0, 1), (0, 0, z)), name=name)
    return model


@pytest.mark.parametrize(
    ("make", "form", "names"),
    [
        (beam, "symplectic", ("Beam", "mass matrix", "index2")),
        (lopsided, "symplectic", ("RigidBody 'crank'", "center_of_mass", "SE3")),
        (viscous, "symplectic", ("Maxwell 'strut'", "first order")),
        (rolling, "symplectic", ("RollingDisc 'wheel'", "velocities")),
        (mirrored, "index1", ("lower hinge", "upper hinge", "drift")),
    ],
)
def test_what_a_form_cannot_do_is_refused_by_name(
    make: Callable[[], mbs.Model], form: str, names: tuple[str, ...]
) -> None:
    with pytest.raises(mbs.ModelError) as error:
        mbs.simulate(make(), 0.1, 0.01, mbs.LieEuler(form))
    assert all(name in str(error.value) for name in names)


@pytest.mark.parametrize("mass", [1e-9, 1.0, 1e9])
def test_a_mass_that_changes_is_told_from_one_that_does_not_in_any_unit(mass: float) -> None:
    for arm in (0.0, 0.1):
        model = mbs.Model()
        model.add(RigidBody(model.add_node((1, 0, 0)), mass, mass * np.array((1, 2, 2.5)), (arm, 0, 0)))
        if not arm:
            mbs.start(mbs.System(model), mbs.LieEuler("symplectic"))
            continue
        with pytest.raises(mbs.ModelError, match="mass matrix that never changes"):
            mbs.start(mbs.System(model), mbs.LieEuler("symplectic"))


def test_symplectic_form_has_first_coordinates_alone() -> None:
    with pytest.raises(mbs.ModelError, match="coordinates must be 'first'"):
        mbs.LieEuler("symplectic", "second")


def test_symplectic_form_takes_bodies_anywhere_on_se3() -> None:
    """Off their mass centre, and held in part; a point mass may be anywhere."""
    model = mbs.Model("SE3", gravity=(0, 0, -9.81))
    node = model.add_node((0, 0, 0), angular_velocity=(1, 2, 3))
    model.fix(node, translation=True, rotation=False)
    model.add(RigidBody(node, 1.0, (0.2, 0.3, 0.4), (0.1, 0.2, -0.3)))
    mass = model.add_node((1, 0, 0), velocity=(0, 1, 0))
    model.fix(mass, translation=False, rotation=True)
    model.add(PointMass(mass, 1.0))
    model.add(SpringDamper(node, mass, 50.0, point_a=node.at((0.1, 0.2, 0))))
    truth = mbs.simulate(model, 0.04, 2e-3)
    errors = [
        np.abs(mbs.simulate(model, 0.04, h, mbs.LieEuler("symplectic")).x[-1] - truth.x[-1]).max() for h in (4e-3, 2e-3)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(1.0, abs=0.1)


def test_second_kind_depends_on_the_order_of_the_axes() -> None:
    """The pendulum with its body axes renamed moves as before with the first kind, and not with the second."""
    turn = np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])
    apart = {}
    for coordinates in ("first", "second"):
        model = mbs.Model(gravity=(0, 0, -9.81))
        built = single().nodes[1]
        node = model.add_node(built.position, built.rotation @ turn, built.velocity, turn.T @ built.angular_velocity)
        model.add(RigidBody(node, 1.0, turn.T @ np.diag((0.13, 0.28, 0.17)) @ turn))
        model.add(SphericalJoint(model.ground, node, point=(0, 0, 0)))
        runs = [mbs.simulate(own, 0.2, 1e-2, mbs.LieEuler(coordinates=coordinates)) for own in (single(), model)]
        apart[coordinates] = np.abs(runs[0].x - runs[1].x).max()
    assert apart["first"] < 1e-12
    assert apart["second"] > 1e-5


@pytest.mark.parametrize("form", ["index2", "index1", "overdetermined"])
def test_implicit_forms_are_one_for_the_single_pendulum_on_se3(form: str) -> None:
    """``B`` is constant in the body: index 3 keeps all levels. Of the double pendulum it is not."""
    runs = {own: mbs.simulate(single("SE3"), 0.5, 1e-2, mbs.LieEuler(own)) for own in ("index3", form)}
    assert np.abs(runs[form].x - runs["index3"].x).max() < 1e-12
    runs = {own: mbs.simulate(double("SE3"), 0.1, 1e-2, mbs.LieEuler(own)) for own in ("index3", form)}
    assert np.abs(runs[form].x - runs["index3"].x).max() > 1e-6
