"""Direct derivatives are what differences of whole runs converge to: for every class, group and formulation."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import fem_mbs as mbs
from fem_mbs.elements import (
    Beam,
    BeamSection,
    Coupling,
    Force,
    ForceActuator,
    JointSpring,
    JointStop,
    Moment,
    NodeSensor,
    PointMass,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
    SpringDamper,
)
from fem_mbs.lie import so3
from fem_mbs.run.fixed_step import FixedStep
from fem_mbs.solution.copies import UnlikeError, copies
from fem_mbs.testing import ContractError, check_sensitivity, stage
from tests.catalogue import EVERYTHING
from tests.derivatives.varied import (
    END,
    FOLLOWS_HISTORY,
    LARGER,
    QUERIES,
    STEP,
    Given,
    builder,
    of_runs,
    scale,
    worst,
)
from tests.performance.derivatives import four_bar

QUICK = (
    "rigid body",
    "pull by a signal",
    "SE3 beam, curved, coupled damped",
    "spring that slips",
    "rolling disc",
)
PARTS = [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in EVERYTHING]


@pytest.mark.usefixtures("held_steps")
@pytest.mark.parametrize("name", PARTS)
def test_every_class(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All numbers of its constructor, the speed at the start, gravity: state, accelerations, multipliers."""
    group = ("R3xSO3", "SE3", "mixed")[len(name) % 3]
    build, values = builder(group, name)
    # as exact as the runs beside: what Newton's method leaves is in the derivatives, too
    method = mbs.GeneralizedAlpha(newton=mbs.Newton(force_tolerance=1e-12, constraint_tolerance=1e-14))
    if opens_and_closes(build(**values)):
        with pytest.raises(mbs.ModelError, match="open and close"):
            mbs.sensitivities(build, values, END, STEP, method, how="direct", scale=scale(values))
        return
    if name in FOLLOWS_HISTORY:
        with pytest.raises(mbs.ModelError, match="keeps its value during a step"):
            mbs.sensitivities(build, values, END, STEP, method, how="direct", scale=scale(values))
        return
    direct = mbs.sensitivities(build, values, END, STEP, method, how="direct", scale=scale(values))
    # multipliers of runs with friction by reactions have a noise that falls with the difference
    of = of_runs(monkeypatch, build, values, method, 1e-3 if "by reactions" in name else LARGER)
    check(direct, of)


def opens_and_closes(model: mbs.Model) -> bool:
    """Whether it has rigid contacts, stops or ropes, which have no derivative."""
    return any(batch.unilateral for batch in mbs.System(model).batches)


def check(direct: mbs.Sensitivities, of: Any, noise: float = 2e-10) -> None:
    """All to 1e-6; accelerations follow gaps by 1/h^2, of which differences of geometry leave a share of 1e-11."""
    shortest = np.diff(direct.solution.t).min()
    limits = dict.fromkeys(QUERIES, 2e-6) | dict.fromkeys(("vdot", "multipliers"), 2e-6 + noise / shortest**2)
    errors = {query: worst(direct, of, query) for query in QUERIES}
    assert all(errors[query] <= limits[query] for query in QUERIES), "".join(
        f"{query}: {errors[query]:.1e} of {limits[query]:.1e}; " for query in QUERIES
    )


@pytest.mark.slow
@pytest.mark.usefixtures("held_steps")
@pytest.mark.parametrize(
    ("formulation", "rho_inf", "start"),
    [
        pytest.param("stabilized", 0.0, None, marks=pytest.mark.slow),
        ("stabilized", 1.0, "perturbed"),
        ("index3", 0.0, "perturbed"),
        pytest.param("index3", 0.9, None, marks=pytest.mark.slow),
    ],
)
def test_formulations(formulation: str, rho_inf: float, start: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Starts and damping, of a hinge."""
    build, values = builder("mixed", "revolute")
    method = mbs.GeneralizedAlpha(rho_inf, formulation, start=start)
    direct = mbs.sensitivities(build, values, END, STEP, method, how="direct", scale=scale(values))
    of = of_runs(monkeypatch, build, values, method)
    # index 3 hands the noise of gaps on from step to step
    check(direct, of, 1e-8 if formulation == "index3" else 2e-10)


def rod(mass: float = 1.5, length: float = 0.9, damping: float = 0.12, gravity: float = 9.81) -> mbs.Model:
    """A uniform rod on a hinge with a damper, from 1 rad against the vertical."""
    model = mbs.Model(gravity=(0.0, 0.0, -gravity))
    way = np.array([np.sin(1.0), 0.0, -np.cos(1.0)])
    axes = np.stack([way, (0.0, 1.0, 0.0), np.cross(way, (0.0, 1.0, 0.0))], axis=1)
    bar = model.add_node(0.5 * length * way, axes, name="bar")
    inertia = mass * length**2 / 12.0
    model.add(RigidBody(bar, mass, (1e-3 * inertia, inertia, inertia)))
    hinge = model.add(RevoluteJoint(model.ground, bar, (0, -1, 0), point=(0, 0, 0)), name="hinge")
    model.add(JointSpring(hinge, 0.0, damping))
    return model


ROD = {"mass": 0.0525552088, "length": 3.3182914344, "damping": -0.6569401100, "gravity": -0.2883584775}
"""Derivatives of the angle after 2 s, from the exact equation with complex steps."""


def angle(solution: Any) -> Any:
    """Of the rod."""
    return solution.coordinate("hinge")


@pytest.mark.slow
def test_order_against_the_exact_equation() -> None:
    """Derivatives of the run converge to those of the motion with the second order of the method."""
    values = {"mass": 1.5, "length": 0.9, "damping": 0.12, "gravity": 9.81}
    errors = []
    for step in (0.04, 0.02):
        found = mbs.sensitivities(rod, values, 2.0, step, how="direct").of(angle)
        errors.append([found[name][-1] - exact for name, exact in ROD.items()])
    orders = np.log2(np.abs(np.array(errors[:-1]) / errors[1:]))
    assert np.abs(orders - 2.0).max() < 0.1
    # time and energy scale with these
    assert abs(1.5 * found["mass"][-1] + 0.12 * found["damping"][-1]) < 1e-7


def arm(mass: float = 1.2, length: float = 0.9, load: float = 3.0) -> mbs.Model:
    """A body on a hinge with a spring, a stop, and a load that is switched on."""
    model = mbs.Model("SE3", gravity=(0, 0, -9.81))
    tip = model.add_node((length, 0, 0), name="tip")
    model.add(RigidBody(tip, mass, (0.02, 0.03, 0.03), (-0.4 * length, 0.0, 0.0)))
    hinge = model.add(RevoluteJoint(model.ground, tip, (0, 1, 0), point=(0, 0, 0)), name="hinge")
    model.add(JointSpring(hinge, 0.5, 0.02))
    model.add(JointStop(hinge, None, 0.3, 80.0, 0.2))
    model.add(Force(tip, switched(load)))
    return model


def switched(load: float, at: float = 0.05) -> Any:
    """A load across that jumps."""

    def pulse(t: float) -> tuple[float, float, float]:
        return (0.0, 0.0, load if t >= at else 0.0)

    pulse.jumps = [at]  # type: ignore[attr-defined]
    return pulse


def cantilever(EI: float = 2.0, length: float = 0.9, load: float = 0.3) -> mbs.Model:  # noqa: N803
    """A beam on a hinge with a spring, and a load that is switched on."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    first, tip = model.add_node((0, 0, 0)), model.add_node((length, 0, 0), name="tip")
    section = BeamSection(EA=200.0, GA=80.0, GJ=2.0, EI=EI, mass=0.5, inertia=(2e-2, 1e-2, 1e-2))
    beam = Beam(model.nodes[1:], section, (0, 1, 0))
    model.add(beam, name="beam")
    hinge = model.add(RevoluteJoint(model.ground, first, (0, 1, 0)), name="hinge")
    model.add(JointSpring(hinge, 5.0, 0.2))
    model.add(Force(tip, switched(load)))
    return model


@pytest.mark.ci
@pytest.mark.parametrize(
    ("build", "values", "queries"),
    [
        (
            cantilever,
            {"EI": 2.0, "length": 0.9, "load": 0.3},
            {
                "section forces": lambda s: np.asarray(s.section_forces("beam")),
                "strain energy": lambda s: s.energy.strain,
                "acceleration": lambda s: s.acceleration("tip"),
            },
        ),
        (
            arm,
            {"mass": 1.2, "length": 0.9, "load": 3.0},
            {"reaction": lambda s: np.stack(s.reaction("hinge")), "angle": angle, "energy": lambda s: s.energy.total},
        ),
    ],
)
def test_jumps_stops_and_any_query(build: Any, values: dict[str, float], queries: dict[str, Any]) -> None:
    """A load that is switched, a stop that is met in steps of many lengths: any query."""
    direct = mbs.sensitivities(build, values, 0.4, 0.01, how="direct")
    copies = mbs.sensitivities(build, values, 0.4, 0.01, how="copies")
    if build is arm:
        assert angle(direct.solution).max() > 0.3 and len(np.unique(np.diff(direct.solution.t).round(9))) > 1
    for name, query in queries.items():
        mine, others = direct.of(query), copies.of(query)
        for key in values:
            assert np.abs(mine[key] - others[key]).max() <= 1e-5 * np.abs(others[key]).max(), (name, key)


@pytest.mark.ci
@pytest.mark.usefixtures("held_steps")
@pytest.mark.parametrize(
    "lengths",
    [
        (0.3, 0.3),
        *(pytest.param(own, marks=pytest.mark.slow) for own in ((1, 1, 0.5), (1, 0.1, 0.1))),
        (1, 1, 1, 1, 1, 0.5, 0.1),
    ],
)
def test_steps_of_any_length(lengths: tuple[float, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut starts, halved steps, whole ones after far shorter ones, also just after a jump; against the same steps."""
    monkeypatch.setattr(Given, "lengths", lengths)
    values = {"EI": 2.0, "length": 0.9, "load": 0.3}
    found, copies = (mbs.sensitivities(cantilever, values, 0.09, 0.01, how=how) for how in ("direct", "copies"))
    assert len(np.unique(np.diff(found.solution.t).round(9))) > 1
    for name in ("x", "v", "vdot", "multipliers"):
        mine, others = (own.of(lambda s, name=name: getattr(s.history, name)) for own in (found, copies))  # type: ignore[misc]
        for key in values:
            assert np.abs(mine[key] - others[key]).max() <= 3e-6 * np.abs(others[key]).max(), (name, key)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("build", "query"),
    [
        pytest.param(rod, angle, marks=pytest.mark.slow),
        (arm, angle),
        pytest.param(cantilever, lambda s: s.velocity("tip"), marks=pytest.mark.slow),
    ],
)
def test_variable_steps(build: Any, query: Any) -> None:
    """Those of the run are held, as copies share theirs."""
    direct, copies = (
        mbs.sensitivities(build, {"length": 0.9}, 0.1, mbs.VariableStep(1e-2), how=how).of(query)["length"]
        for how in ("direct", "copies")
    )
    assert direct.shape == copies.shape and np.abs(direct - copies).max() < 1e-6 * np.abs(copies).max()


def test_a_first_step_that_begins_at_rest() -> None:
    """Flexible bars that are driven: the guess of the first step is none, as its velocities would strain them."""
    values = {"EI": 1.0, "EA": 1.0, "mass": 1.0, "tilt": 0.0873, "height": 1.0}

    def build(height: float) -> mbs.Model:
        return four_bar(**{**values, "height": height})

    direct, copies = (
        mbs.sensitivities(build, {"height": 1.0}, 0.1, 0.02, how=how).of(lambda s: s.history.v)["height"]
        for how in ("direct", "copies")
    )
    assert np.abs(direct - copies).max() < 1e-6 * np.abs(copies).max()


def test_constraints_hold() -> None:
    """Moved along a derivative, joints stay closed, and velocities along them: ``B q' + Phi_p = 0`` and its rate."""
    build, values = builder("mixed", "universal")
    found = mbs.sensitivities(build, values, END, STEP, how="direct", scale=scale(values))
    for query in (lambda s: s.constraint_residual.position, lambda s: s.constraint_residual.velocity):
        for solutions in (beside for _, beside in found._beside):
            assert max(np.abs(query(solution)).max() for solution in solutions) < 1e-9


def test_an_array_and_relative_changes() -> None:
    """An array is as many parameters; the derivative has its shape at the end."""

    def build(place: Any = (0.3, 0.0, -0.4), spring: float = 40.0) -> mbs.Model:
        model = mbs.Model(gravity=(0, 0, -9.81))
        bob = model.add_node(place, velocity=(0, 0.2, 0), name="bob")
        model.add(RigidBody(bob, 1.0, (0.1, 0.1, 0.1)))
        model.add(SpringDamper(model.ground, bob, spring, free_length=0.5))
        return model

    place = np.array([0.3, 0.0, -0.4])
    found = mbs.sensitivities(build, {"place": place, "spring": 40.0}, 0.1, 0.01)
    assert found.of(lambda s: s.position("bob"))["place"].shape == (11, 3, 3)
    np.testing.assert_allclose(found.of(lambda s: s.position("bob")[0])["place"], np.eye(3), atol=1e-9)
    relative = found.of(lambda s: s.position("bob"), relative=True)["spring"]
    np.testing.assert_allclose(relative, 40.0 * found.of(lambda s: s.position("bob"))["spring"], rtol=1e-12)


@pytest.mark.ci
def test_an_array_of_unlike_sizes() -> None:
    """Each entry is varied by a share of itself, not of the largest."""

    def build(values: Any) -> mbs.Model:
        return cantilever(EI=values[1], load=3e-7 * values[0])

    for how in ("direct", "copies"):
        together = mbs.sensitivities(build, {"values": (1e6, 2.0)}, 0.04, 0.01, how=how)
        alone = mbs.sensitivities(cantilever, {"EI": 2.0}, 0.04, 0.01, how=how)
        mine, other = (own.of(lambda s: s.position("tip")) for own in (together, alone))
        np.testing.assert_allclose(mine["values"][..., 1], other["EI"], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("formulation", ["stabilized", "index3"])
def test_more_than_half_a_turn_a_step(formulation: str) -> None:
    """Free bodies that turn by 4 rad in a step; where joints close, this is refused."""

    def spinning(spin: float = 80.0, polar: float = 0.2) -> mbs.Model:
        model = mbs.Model()
        body = model.add_node((0, 0, 0), angular_velocity=(0.5, 0.2, spin), name="body")
        model.add(RigidBody(body, 1.0, (0.1, 0.12, polar)))
        return model

    values, method = {"spin": 80.0, "polar": 0.2}, mbs.GeneralizedAlpha(formulation=formulation)
    direct, copies = (
        mbs.sensitivities(spinning, values, 0.5, 0.05, method, how=how).of(lambda s: s.angular_velocity("body"))
        for how in ("direct", "copies")
    )
    for key in values:
        np.testing.assert_allclose(direct[key], copies[key], rtol=0.0, atol=2e-5 * np.abs(copies[key]).max())

    def wheel(spin: float) -> mbs.Model:
        model = spinning(spin)
        model.add(RevoluteJoint(model.ground, model.nodes[1], (0, 0, 1)))
        mbs.project_velocities(model)
        return model

    begun = "did not begin with its guess, as where a body makes half a turn"
    change = "the length of the step changes at t = 0.2 s, where a body makes half a turn in a step"
    for spin, message in ((60.0, change), (80.0, begun)):
        message = message if formulation == "stabilized" else "'index3' are not reliable"
        with pytest.raises(mbs.ModelError, match=message):
            mbs.sensitivities(wheel, {"spin": spin}, 0.225, 0.05, method, how="direct")


@pytest.mark.slow
def test_gears_count_turns() -> None:
    """Two wheels on hinges across, coupled, of which one makes 1.9 turns: forwards and back, the last step shorter."""

    def geared(ratio: float = 3.0, torque: float = 2.0, spin: float = 60.0) -> mbs.Model:
        model, axis = mbs.Model(gravity=(0, 0, -9.81)), np.array([0, 0.6, 0.8])
        first = model.add_node((0, 0, 0), angular_velocity=spin * axis)
        second = model.add_node((1, 0, 0), angular_velocity=(0, spin / ratio, 0))
        model.add(RigidBody(first, 1.0, (0.1, 0.12, 0.15)))
        model.add(RigidBody(second, 2.0, (0.2, 0.25, 0.3)))
        hinges = [
            model.add(RevoluteJoint(model.ground, first, axis), name="fast"),
            model.add(RevoluteJoint(model.ground, second, (0, 1, 0)), name="slow"),
        ]
        model.add(Coupling(hinges, [1.0, -ratio]))
        model.add(JointSpring(hinges[1], 40.0, free=0.3))
        model.add(Moment(first, torque * axis))
        return model

    values, goal = {"ratio": 3.0, "torque": 2.0, "spin": 60.0}, mbs.Integral(lambda s: s.coordinate("slow") ** 2)
    direct, copies = (
        mbs.sensitivities(geared, values, 0.204, 0.01, how=how).of(lambda s: s.coordinate("fast"))
        for how in ("direct", "copies")
    )
    back, ahead = (
        mbs.objective(geared, goal, list(values), 0.204, 0.01, how=how).gradient([3.0, 2.0, 60.0])
        for how in ("adjoint", "copies")
    )
    for key in values:
        np.testing.assert_allclose(direct[key], copies[key], rtol=0.0, atol=1e-6 * np.abs(copies[key]).max())
    np.testing.assert_allclose(back, ahead, rtol=1e-6)


@pytest.mark.ci
def test_other_methods_by_copies() -> None:
    """Of the rod by Radau, which is of higher order: near those of the exact motion."""
    found = mbs.sensitivities(rod, {"length": 0.9}, 2.0, 0.02, mbs.RadauIIA()).of(angle)
    assert abs(found["length"][-1] - ROD["length"]) < 1e-5


@pytest.mark.parametrize("name", ["pressure over time", "dead distributed load", "state space"])
def test_laws_beside_their_rows_are_copied(name: str) -> None:
    """Lists of laws, with the rows they act on, go on from copy to copy: many instants are asked together."""
    model, (part,) = stage.build(EVERYTHING[name])
    system = mbs.System(model)
    batch = next(own for own in system.all_batches if part in own.owners)
    many = copies([part], system.number, (system.n, system.k, system.m))(3)
    assert len(many.nodes) == 3 * len(batch.nodes) and len(many.owners) == 3 * len(batch.owners)
    t, rows = 0.3, len(batch.at(0.3))
    np.testing.assert_array_equal(many.at(t)[2 * rows :], batch.at(t))


def test_numbers_that_count_grow_from_copy_to_copy() -> None:
    """Of a user's batch; of others that change with what is in it nothing tells how they go on."""

    class Counted(SpringDamper):
        other: Callable[[int], Any]

        @classmethod
        def batch(cls, elements: Any, number: Any) -> Any:
            batch = SpringDamper.batch(elements, number)
            batch.count, batch.other = len(elements), cls.other(len(elements))
            return batch

    for Counted.other, refused in (
        (np.ones, ""),
        (lambda n: 0.5 * n, "1.0 and 2.0"),
        (lambda n: np.full(n, n), "does not double"),
        (lambda n: np.arange(n * n), "does not double"),
        (lambda n: np.arange(float(n)), "change from copy to copy"),
    ):
        model = two()
        parts = [model.add(Counted(model.ground, node, 3.0)) for node in model.nodes[1:]]
        with pytest.raises(UnlikeError, match=refused) if refused else nullcontext():
            system = mbs.System(model)
            made = copies(parts, system.number, (system.n, system.k, system.m))(3)
            assert made.count == 6 and np.array_equal(made.other, np.ones(6))


def two(count: int = 2, mass: float = 1.0) -> mbs.Model:
    """A chain, of as many bodies as a parameter says."""
    model, last = mbs.Model(gravity=(0, 0, -9.81)), None
    for k in range(round(count)):
        body = model.add_node((k + 0.5, 0, 0))
        model.add(RigidBody(body, mass, (0.1, 0.1, 0.1)))
        model.add(SphericalJoint(last or model.ground, body, point=(k, 0, 0)))
        last = body
    return model


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ({}, {}, "must name at least one"),
        ({"length": 1.0}, {}, "has no argument 'length'; it takes count, mass"),
        ({"mass": "heavy"}, {}, "parameters\\['mass'\\] must be"),
        ({"mass": 1.0}, {"how": "direct", "method": mbs.RadauIIA()}, "how='direct' cannot be: .*RadauIIA has none"),
        ({"mass": 1.0}, {"how": "sideways"}, "how must be"),
        ({"mass": 1.0}, {"scale": {"mass": -1.0}}, "scale\\['mass'\\] must be"),
    ],
)
def test_refused(values: dict[str, Any], options: dict[str, Any], message: str) -> None:
    """By name, before anything is run."""
    with pytest.raises(mbs.ModelError, match=message):
        mbs.sensitivities(two, values, 0.1, **{"step": 0.01, **options})


def test_structure_zero_and_edges() -> None:
    """What a parameter may not change; one that is zero needs a size; at an edge the other side is taken."""

    def joined(stiff: float = 1.0) -> mbs.Model:
        model = two(mass=stiff)
        if stiff > 1.0:
            model.add(SpringDamper(model.nodes[1], model.nodes[2], stiff))
        return model

    with pytest.raises(mbs.ModelError, match="stiff changes the structure of the model"):
        mbs.sensitivities(joined, {"stiff": 1.0}, 0.1, 0.01)

    def damped(damping: float = 0.0) -> mbs.Model:
        model = two()
        far = model.nodes[2].at((0.5, 0.0, 0.3))
        model.add(SpringDamper(model.ground, model.nodes[2], 3.0, damping, free_length=0.8, point_b=far))
        return model

    with pytest.raises(mbs.ModelError, match="damping is zero, .* give its size, scale={'damping'"):
        mbs.sensitivities(damped, {"damping": 0.0}, 0.1, 0.01)
    query = lambda s: s.position(s.model.nodes[2])  # noqa: E731
    ways = [
        mbs.sensitivities(damped, {"damping": 0.0}, 0.2, 0.01, how=how, scale={"damping": 1.0})
        for how in ("direct", "copies")
    ]
    mine, others = (way.of(query)["damping"] for way in ways)
    assert np.abs(mine - others).max() < 1e-6 * np.abs(others).max() > 0.0


def test_a_jump_that_moves_is_named() -> None:
    """An instant that depends on a parameter is refused by direct derivatives; steps of copies end at all of them."""

    def later(at: float = 0.05) -> mbs.Model:
        model = two()
        model.add(Force(model.nodes[1], switched(1.0, at)))
        return model

    with pytest.raises(mbs.ModelError, match="at moves an instant at which something jumps"):
        mbs.sensitivities(later, {"at": 0.05}, 0.1, 0.01, how="direct")

    def pushed(at: float) -> mbs.Model:
        model = mbs.Model()
        body = model.add_node((0, 0, 0), name="body")
        model.add(RigidBody(body, 1.0, (1.0, 1.0, 1.0)))
        model.add(Force(body, switched(1.0, at)))
        return model

    rate = mbs.sensitivities(pushed, {"at": 0.053}, 0.1, 0.01).of(lambda s: s.position("body")[-1, 2])["at"]
    np.testing.assert_allclose(rate, -0.047, rtol=1e-6)  # of (T - at)^2/2


@pytest.mark.ci
def test_laws_for_authors() -> None:
    """Where matrices are exact, all hold; where one is not, this is told; where there is no way, why."""
    values = {"EI": 2.0, "length": 0.9}
    assert len(check_sensitivity(cantilever, values)) == 3
    report = check_sensitivity(rod, {"length": 0.9}, method=mbs.RadauIIA())
    assert not len(report) and "RadauIIA has none" in str(report)

    class Wrong(SpringDamper):
        @classmethod
        def batch(cls, elements: Any, number: Any) -> Any:
            batch = SpringDamper.batch(elements, number)
            stiffness = batch.stiffness
            batch.stiffness = lambda context: 1.01 * stiffness(context)
            return batch

    def wrong(pull: float = 40.0) -> mbs.Model:
        model = two()
        model.add(Wrong(model.ground, model.nodes[2], pull, free_length=0.3))
        return model

    with pytest.raises(ContractError, match="against pull misses differences of runs by"):
        check_sensitivity(wrong, {"pull": 40.0})


def by_keyword(pull: float) -> Any:
    return lambda t, *, pull=pull: (pull * t, 0.0, 0.0)


def by_attribute(pull: float) -> Any:
    def law(t: float) -> tuple[float, float, float]:
        return (law.pull * t, 0.0, 0.0)  # type: ignore[attr-defined]

    law.pull = pull  # type: ignore[attr-defined]
    return law


class BySlot:
    """A law whose number is in a slot."""

    __slots__ = ("__dict__", "pull")

    def __init__(self, pull: float) -> None:
        self.pull = pull

    def __call__(self, t: float) -> tuple[float, float, float]:
        return (self.pull * t, 0.0, 0.0)


@pytest.mark.parametrize(
    "law",
    [
        by_keyword,
        by_attribute,
        BySlot,
        lambda pull: partial(lambda pull, t: (pull * t, 0.0, 0.0), pull),
        lambda pull: CubicSpline((0.0, 0.5, 1.0), pull * np.outer((0.0, 0.5, 1.0), (1.0, 0.0, 0.0))),
    ],
    ids=("keyword", "attribute", "slot", "partial", "spline"),
)
def test_wherever_a_law_keeps_its_numbers(law: Any) -> None:
    """A parameter that stands elsewhere, too, has all of its shares: x = p t + p t^3/6."""

    def build(p: float = 2.0) -> mbs.Model:
        model = mbs.Model()
        body = model.add_node((0, 0, 0), velocity=(p, 0, 0), name="body")
        model.add(RigidBody(body, 1.0, (1.0, 1.0, 1.0)))
        model.add(Force(body, law(p)))
        return model

    rate = mbs.sensitivities(build, {"p": 2.0}, 1.0, 0.01, how="direct").of(lambda s: s.position("body")[-1, 0])["p"]
    np.testing.assert_allclose(rate, 1.0 + 1.0 / 6.0, rtol=1e-4)


@pytest.mark.parametrize("step", [0.01, 0.005])
def test_bends_in_time_that_a_parameter_moves_are_told(step: float) -> None:
    """Where a ramp ends within a step, and not how high it is, a pulse that a parameter shifts, or a swing."""

    def pushed(end: float = 0.0987, height: float = 1.0, shift: float = 0.12, rate: float = 20.0) -> mbs.Model:
        model = mbs.Model()
        for name, law in (
            ("ramp", lambda t: height * min(t / end, 1.0)),
            ("pulse", lambda t: np.exp(-(((t - shift) / 0.04) ** 2))),
            ("swing", lambda t: np.sin(rate * t)),
        ):
            body = model.add_node((0, 0, 0))
            model.add(RigidBody(body, 2.0, (1, 1, 1)))
            model.add(Force(body, lambda t, law=law: (law(t), 0, 0)), name=name)
        return model

    values = {"end": 0.0987, "height": 1.0, "shift": 0.12, "rate": 20.0}
    notes = mbs.sensitivities(pushed, values, 0.2, step, how="direct").notes
    first = step * np.floor(0.0987 / step)
    assert len(notes) == 1 and f"'ramp' bends between t = {first:.6g} s" in notes[0] and "end moves" in notes[0]


@pytest.mark.ci
def test_a_kink_is_named() -> None:
    """A law that bends just where it is differenced has a note, with the element and the time."""

    def bending(offset: float = 0.0) -> mbs.Model:
        model = two()
        model.add(
            SpringDamper(model.nodes[1], model.nodes[2], force=lambda t, length, speed: 4.0 * abs(offset)), name="law"
        )
        return model

    found = mbs.sensitivities(bending, {"offset": 0.0}, 0.1, 0.01, how="direct", scale={"offset": 1.0})
    assert len(found.notes) == 1 and "'law' has a kink within the difference of offset" in found.notes[0]
    goal = mbs.objective(bending, lambda s: s.x[-1, 1, 0], ["offset"], 0.1, 0.01, how="direct", scale={"offset": 1.0})
    goal([0.0])
    assert goal.notes == found.notes


def thrown_onto_a_stop(gap: float) -> mbs.Model:
    """1 kg at 1 m/s."""
    model = mbs.Model()
    body = model.add_node((0, 0, 0), velocity=(1, 0, 0), name="body")
    model.add(RigidBody(body, 1.0, (1.0, 1.0, 1.0)))
    model.add(JointStop(model.add(PrismaticJoint(model.ground, body, (1, 0, 0))), None, gap, 1e4))
    return model


@pytest.mark.parametrize("gap", [0.1, *(pytest.param(gap, marks=pytest.mark.slow) for gap in (0.1 - 1e-13, 0.105))])
def test_a_stop_that_is_met_where_a_step_ends(gap: float) -> None:
    """Matrices are those of one side of its kink, and so are differences against where it stands."""
    found = mbs.sensitivities(thrown_onto_a_stop, {"gap": gap}, 0.15, 0.01, how="direct")
    assert abs(found.of(lambda s: s.position("body")[-1, 0])["gap"] - 2.0) < 0.05


def test_a_step_that_ends_just_beyond_a_stop() -> None:
    """Its error is nothing, but its matrix has the stop all along: it is short where derivatives are taken."""
    run = mbs.simulate(thrown_onto_a_stop(0.01 - 1e-13), 0.01, FixedStep(0.01, narrow=True))
    assert run.t[-1] - run.t[-2] < 1e-5


def test_copies_of_a_jump_whose_instant_is_a_parameter() -> None:
    """At that instant alone the two sides differ, which is no reason to doubt the derivative."""

    def pushed(begin: float) -> mbs.Model:
        def force(t: float) -> tuple[float, float, float]:
            return (1.0 if t >= begin else 0.0, 0.0, 0.0)

        force.jumps = [begin]  # type: ignore[attr-defined]
        model = mbs.Model()
        body = model.add_node((0, 0, 0), name="body")
        model.add(RigidBody(body, 1.0, (1.0, 1.0, 1.0)))
        model.add(Force(body, force))
        return model

    found = mbs.sensitivities(pushed, {"begin": 0.31}, 1.0, 0.05)
    assert abs(found.of(lambda s: s.position("body")[-1, 0])["begin"] + 0.69) < 1e-6 and not found.notes


@pytest.mark.ci
def test_copies_on_both_sides_of_a_stop() -> None:
    """One run beside meets a stop, the other does not: their difference is no derivative, and says so.

    Where laws have kinks and nothing is asked for, one run is followed.
    """

    def thrown(speed: float) -> mbs.Model:
        model = mbs.Model()
        body = model.add_node((0, 0, 0), velocity=(speed, 0, 0), name="body")
        model.add(RigidBody(body, 1.0, (1.0, 1.0, 1.0)))
        model.add(JointStop(model.add(PrismaticJoint(model.ground, body, (1, 0, 0))), None, 1.0, 1e6))
        return model

    tried: list[tuple[float, Any]] = [(1.0, "copies"), (0.9, "copies"), (0.999995, None)]
    found = [mbs.sensitivities(thrown, {"speed": speed}, 1.0, 0.1, how=how) for speed, how in tried]
    touched, free, followed = (own.of(lambda s: s.velocity("body")[-1, 0])["speed"] for own in found)
    assert "the two sides of the difference against speed differ by" in found[0].notes[0] and not found[1].notes
    assert max(abs(free - 1.0), abs(followed - 1.0)) < 1e-8 < abs(touched - 1.0)


def test_turned_and_shifted() -> None:
    """The same model elsewhere and turned has the same derivatives, turned."""
    turn, shift = so3.exp(np.array([0.4, -0.9, 1.3])), np.array([3.0, -2.0, 1.0])

    def build(length: float, spring: float, Q: Any = turn, far: Any = shift) -> mbs.Model:  # noqa: N803
        model = mbs.Model(gravity=Q @ (0, 0, -9.81))
        arm = model.add_node(far + Q @ (length, 0, 0), Q, angular_velocity=(0, 2.0, 0.5), name="arm")
        model.add(RigidBody(arm, 1.2, (0.02, 0.03, 0.04), (-0.4 * length, 0.0, 0.0)))
        model.add(SphericalJoint(model.ground, arm, point=far))
        model.add(SpringDamper(model.ground, arm, spring, 0.3, free_length=0.5, point_a=far + Q @ (0, 0.4, 0.9)))
        mbs.project_velocities(model)
        return model

    values, there = {"length": 0.9, "spring": 40.0}, {"Q": np.eye(3), "far": np.zeros(3)}
    turned, plain = (
        mbs.sensitivities(partial(build, **own), values, 0.2, 0.01, how="direct").of(lambda s: s.position("arm"))
        for own in ({}, there)
    )
    for name in values:
        np.testing.assert_allclose(turned[name], plain[name] @ turn.T, atol=1e-8 * np.abs(plain[name]).max())


@pytest.mark.ci
def test_functions_of_time_are_asked_within_the_run_alone() -> None:
    """Of a drive, whose rates are asked, too, and of a load, which need not be known before and after."""
    end = 0.05

    def build(stiffness: float, mass: float) -> mbs.Model:
        def known(t: float) -> float:
            assert 0.0 <= t <= end
            return t * t

        model = mbs.Model()
        arm, tip = model.add_node((1, 0, 0)), model.add_node((2, 0, 0), name="tip")
        for node in (arm, tip):
            model.add(RigidBody(node, mass, (0.1, 0.2, 0.3)))
        model.add(RevoluteJoint(model.ground, arm, (0, 0, 1), point=(0, 0, 0), drive=known))
        model.add(JointSpring(model.add(RevoluteJoint(arm, tip, (0, 0, 1), point=(1.5, 0, 0))), stiffness))
        model.add(Force(tip, lambda t: (0, known(t), 0)))
        return model

    goal, names = mbs.Final("tip.position.y"), ("stiffness", "mass")
    one, *others = (
        mbs.objective(build, goal, names, end, 0.01, how=how)([5.0, 1.0])[1] for how in ("direct", "adjoint", "copies")
    )
    np.testing.assert_allclose(others, [one, one], rtol=1e-5)


@pytest.mark.ci
@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_reactions_of_stiff_parts_whose_velocities_are_fed_back(group: str) -> None:
    """Rounding of stiffness is no part of how directions in which velocities are closed turn."""

    def build(angle: float) -> mbs.Model:
        model, end = mbs.Model(group, gravity=(0, 0, -9.81)), (0.8 * np.cos(angle), 0.0, 0.8 * np.sin(angle))
        section = BeamSection.rectangle(width=0.02, height=0.006, E=3e9, nu=0.3, rho=1500.0)
        beam = Beam.line(model, (0, 0, 0), end, section.shifted(2e-3, 4e-3), 3, order=2)
        root, tip = beam.nodes[0], beam.nodes[-1]
        hinge = model.add(RevoluteJoint(model.ground, root, axis=(0.1, 1, 0)), name="hinge")
        model.add(JointSpring(hinge, 50.0, 1.0))
        hung = model.add_node(tip.position + (0.1, 0, -0.2))
        model.add(PointMass(tip, 0.5))
        model.add(RigidBody(hung, 0.5, (0.01, 0.02, 0.03)))
        model.add(SphericalJoint(tip, hung))
        model.add(ForceActuator(tip, -1.0 * model.add(NodeSensor(tip, "velocity", (0, 0, 1))), (0, 0, 1)))
        model.add(Force(tip, lambda t: (2.0 * np.sin(8.0 * t), 0.5 * t, 0)))
        return model

    tight = mbs.GeneralizedAlpha(newton=mbs.Newton(force_tolerance=1e-12, constraint_tolerance=1e-14))
    direct, copied = (
        mbs.sensitivities(build, {"angle": 0.6}, 0.1, 0.01, tight, how=how).of(lambda s: s.reaction("hinge")[0])[
            "angle"
        ]
        for how in ("direct", "copies")
    )
    np.testing.assert_allclose(direct, copied, rtol=0, atol=2e-5 * np.abs(copied).max())
