"""Queries over whole runs: all instants at once say what one after the other says, and names stand for objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from inspect import isfunction, signature
from typing import Any

import numpy as np
import pytest
from catalogue import ELEMENTS, JOINTS

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.contracts import ElementBatch, State
from fem_mbs.elements import Beam, BeamSection, RevoluteJoint, RigidBody, SpinUp
from fem_mbs.lie import so3
from fem_mbs.solution import balance
from fem_mbs.solution import balance as reactions
from fem_mbs.solution import copies as over_time
from fem_mbs.solution.history import History, Outcome
from fem_mbs.solution.queries import Queries
from fem_mbs.solution.solution import Solution
from fem_mbs.system.system import System
from fem_mbs.testing import ElementTrial, JointTrial

ALONE = {"stop of a slider", "stop of a hinge", "bristles by reactions in a hinge", "gravity of a body"}
ALONE |= {"gravity of a beam, a function", "wire", "closed wire", "cam with a flat follower", "cam with a roller"}
ALONE |= {
    "contact that yields",
    "contact of a beam with a ball that yields",
    "contact of a beam with a capsule that yields",
}
"""What is asked at one instant after the other, beside whatever is driven: its batches are not copies of one."""


def some(names: Iterable[str]) -> list[Any]:
    """All of them, of which every fourth is quick."""
    return [name if k % 4 == 0 else pytest.param(name, marks=pytest.mark.slow) for k, name in enumerate(names)]


def history(system: System, count: int = 12) -> History:
    """States at random near that of the model as built."""
    draw = np.random.default_rng(0).normal

    def state(k: int) -> State:
        x, R = system.x0 + 0.03 * draw(size=(system.n, 3)), system.R0 @ so3.exp(0.03 * draw(size=(system.n, 3)))
        v, vdot = draw(size=(2, system.n, 6))
        u, udot, uddot = draw(size=(3, system.k))
        return State(0.1 * k, x, R, v, vdot, draw(size=system.m), system.u0 + 0.05 * u, udot, uddot)

    return History.of(system, [state(k) for k in range(count)])


def both(monkeypatch: pytest.MonkeyPatch, states: History, parts: Any, ask: Any, *reduce: Any) -> tuple[Any, ...]:
    """What is said of one instant after the other, of all at once, and whether they were asked together."""
    asked: list[None] = []

    def counted(*given: Any) -> Array:
        asked.append(None)
        return ask(*given)

    with monkeypatch.context() as patch:
        patch.setattr(over_time, "FEW", 1000)
        slow = over_time.over_time(states, parts, counted, *reduce)
        asked.clear()
        patch.setattr(over_time, "FEW", 3)
        return slow, over_time.over_time(states, parts, counted, *reduce), len(asked) < len(states.t)


@pytest.mark.parametrize("name", some(ELEMENTS))
def test_energies_of_all_instants_at_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    system = ElementTrial.of(ELEMENTS[name], 0).system
    states = history(system)
    for batch in system.batches:
        if type(batch).energy is ElementBatch.energy:
            continue
        parts = list(dict.fromkeys(batch.owners))
        slow, fast, together = both(monkeypatch, states, parts, balance._energy, partial(np.sum, axis=1))
        np.testing.assert_allclose(fast, slow, rtol=1e-12, atol=1e-12 * np.abs(slow).max())
        assert together or name in ALONE


@pytest.mark.parametrize("name", some(JOINTS))
def test_reactions_and_residuals_of_all_instants_at_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    system = JointTrial.of(JOINTS[name], 0).system
    states = history(system)
    for batch in system.constraint_batches:
        asks = (balance._violation, partial(reactions._wrenches, batch.owners[0].offset))
        for ask, parts in zip(asks, (batch.owners, batch.owners[:1]), strict=True):
            try:
                slow, fast, together = both(monkeypatch, states, parts, ask)
            except mbs.MotionError:  # drives that these states are far from
                continue
            np.testing.assert_allclose(fast, slow, rtol=1e-12, atol=1e-12 * np.abs(slow).max())
            driven = "drive" in name or "moved" in name
            assert together or name in ALONE or (driven and ask is balance._violation)


def pendulums(law: Callable[[float], float] | None = None) -> mbs.Model:
    model = mbs.Model(gravity=(0, 0, -9.81))
    before = model.ground
    for k in range(3):
        bar = model.add_node((k + 0.5, 0, 0), name=f"bar {k}")
        model.add(RigidBody(bar, 2.0, (0.02, 0.2, 0.2)), name=f"body {k}")
        drive = law if k == 0 else None
        hinge = RevoluteJoint(before, bar, (0, 0.6, 0.8) if k else (0, 1, 0), point=(k, 0, 0), drive=drive)
        model.add(hinge, name=f"hinge {k}")
        before = bar
    return model


def repeated(solution: Solution, count: int) -> Solution:
    """The states of a run over and over again."""
    states = [solution.history.state(k % len(solution.t)) for k in range(count)]
    states = [replace(state, t=1e-3 * k) for k, state in enumerate(states)]
    return Solution(solution.system, states, solution.status, solution.stats)


def test_blocks_fit_together() -> None:
    """More states than are asked at once, and a last block that is not full."""
    short = mbs.simulate(pendulums(), 0.1, 0.005)
    count = 3 * over_time.CELLS + 17
    solution = repeated(short, count)
    places = np.arange(count) % len(short.t)
    for own, expected in zip(solution.reaction("hinge 1"), short.reaction("hinge 1"), strict=True):
        np.testing.assert_allclose(own, expected[places], rtol=1e-13, atol=1e-12)
    np.testing.assert_allclose(solution.energy.total, short.energy.total[places], rtol=1e-13, atol=1e-12)


def test_a_drive_that_acts_between_the_ends_is_not_missed() -> None:
    """A hinge whose drive is at rest where copies are compared: its equations depend on the time all the same."""
    solution = mbs.simulate(pendulums(lambda t: 0.1 * np.sin(2 * np.pi * t / 0.1) ** 2), 0.1, 0.0025)
    assert solution.constraint_residual.position.max() < 1e-10
    assert solution.constraint_residual.velocity.max() < 1e-8
    upper, mass = solution.reaction("hinge 0")[0], 6.0
    total = sum(2.0 * solution.acceleration(f"bar {k}") for k in range(3))
    np.testing.assert_allclose(upper, total - mass * np.array([0, 0, -9.81]), atol=1e-6 * np.abs(upper).max())


def test_gravity_of_a_model_far_away_counts_from_the_origin_of_the_world() -> None:
    model = mbs.Model(gravity=(0, 0, -9.81))
    node = model.add_node((1e5, 0, 1e5), velocity=(1, 0, 0))
    model.add(RigidBody(node, 2.0, (1, 1, 1)))
    solution = mbs.simulate(model, 0.5, 0.01)
    np.testing.assert_allclose(solution.energy.gravity, 2.0 * 9.81 * solution.position(node)[:, 2], rtol=1e-13)


def test_every_query_takes_names() -> None:
    model = pendulums(SpinUp(1.0, 1.0))
    section = BeamSection.circle(radius=0.01, E=70e9, nu=0.3, rho=2700)
    Beam.line(model, (2.5, 0, 0), (3.5, 0, 0), section, elements=3, start_node=model["bar 2"], name="arm")
    solution = mbs.simulate(model, 0.02, 0.005)
    for query in ("position", "displacement", "rotation", "rotation_vector", "velocity", "acceleration"):
        own = getattr(solution, query)
        np.testing.assert_array_equal(own("bar 1"), own(model["bar 1"]))
    np.testing.assert_array_equal(solution.angular_velocity("bar 1"), solution.angular_velocity(model["bar 1"]))
    for query in ("multipliers", "reaction", "coordinate", "coordinate_rate", "angle"):
        own = getattr(solution, query)
        np.testing.assert_array_equal(own("hinge 1"), own(model["hinge 1"]))
    np.testing.assert_array_equal(solution.section_forces("arm"), solution.section_forces(model["arm"]))
    modes = mbs.modes(model, count=1)
    np.testing.assert_array_equal(modes.displacement("bar 2"), modes.displacement(model["bar 2"]))


def test_unknown_names_are_refused_with_those_that_are_near() -> None:
    model = pendulums()
    solution = mbs.simulate(model, 0.01, 0.005)
    for ask in (lambda: model["hing 1"], lambda: solution.reaction("hing 1"), lambda: solution.position("hing 1")):
        with pytest.raises(mbs.ModelError, match="called 'hing 1'; is it 'hinge 1'"):
            ask()
    with pytest.raises(mbs.ModelError, match="there are ground, bar 0"):
        solution.position("xyz")
    with pytest.raises(mbs.ModelError, match="must be a node .* received RevoluteJoint 'hinge 0'"):
        solution.position("hinge 0")
    with pytest.raises(mbs.ModelError, match="must be a joint .* received node 'bar 0'"):
        solution.reaction("bar 0")
    assert "bar 0" in model and model["bar 0"] in model and "bar" not in model
    assert mbs.Model().add_node((0, 0, 0)) not in model


ASKED = ("node", "joint", "beam", "shell", "body", "contact", "part", "source")
"""What queries call the part of a model that they take."""


def one_of_each_class() -> list[System]:
    """Small models of the catalogue, one for each class."""
    trials = [ElementTrial.of(ELEMENTS[name], 0).system for name in ELEMENTS]
    trials += [JointTrial.of(JOINTS[name], 0).system for name in JOINTS]
    return list({type([*system.elements, *system.number.equations][-1]): system for system in trials}.values())


@pytest.mark.ci
def test_every_query_answers_or_refuses_every_class_in_words() -> None:
    """All queries by all parts, of which most do not fit: no bare error comes out."""
    queries = [
        (name, [own for own in list(signature(ask).parameters.values())[1:] if own.default is own.empty])
        for name, ask in vars(Queries).items()
        if isfunction(ask) and not name.startswith("_")
    ]
    queries = [(name, needed) for name, needed in queries if needed and needed[0].name in ASKED]
    assert {"position", "reaction", "shell_stress", "largest_stress", "signal"} <= {name for name, _ in queries}
    refused, stats = Counter[str](), mbs.simulate(pendulums(), 0.01, 0.005).stats
    for system in one_of_each_class():
        states = history(system, 3)
        solution = Solution(system, [states.state(k) for k in range(3)], Outcome.FINISHED, stats)
        for part in (system.nodes[1], *system.elements, *system.number.equations):
            for query, needed in queries:
                try:
                    getattr(solution, query)(part, *["a"] * (len(needed) - 1))
                except mbs.FemMbsError:
                    refused[query] += 1
    assert len(refused) == len(queries)


def test_completion_shows_what_a_user_may_use() -> None:
    model = pendulums()
    solution = mbs.simulate(model, 0.01, 0.005)
    assert model._ipython_key_completions_()[:2] == ["ground", "bar 0"]
    shown = [dir(own) for own in (model, solution, solution.state(0), model["bar 0"], model["hinge 0"], mbs.elements)]
    assert not any(name.startswith("_") for names in shown for name in names)
    assert "internal_variables" not in dir(model["hinge 0"]) and "place" not in dir(model["bar 0"])
    results = (
        solution.energy,
        solution.stats,
        mbs.GeneralizedAlpha(),
        mbs.Newton(),
        BeamSection.circle(0.1, 1e9, 0.3, 1e3),
    )
    internal = {"made", "batch", "before", "cosines", "advice", "check_name"}
    assert not any(set(dir(own)) & internal or any(name.startswith("_") for name in dir(own)) for own in results)
    assert not any(set(names) & internal for names in shown)
    assert {"plot", "add_node", "remove"} <= set(dir(model)) and {"reaction", "animate"} <= set(dir(solution))
    assert set(mbs.__all__) <= set(dir(mbs)) and "arrays" not in dir(mbs)


def test_reprs_are_short() -> None:
    model = pendulums()
    solution = mbs.simulate(model, 0.01, 0.005)
    results = model, solution, solution.state(0), mbs.linearize(model), mbs.modes(model, count=1), solution.checkpoint
    for own in results:
        assert 10 < len(repr(own)) < 150
    assert repr(solution.state(-1)) == "State at t = 0.01 s: 4 nodes, 15 multipliers"
