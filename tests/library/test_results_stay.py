"""A result is the run's: what is changed of a part afterwards changes nothing in it, and is not overheard in a run."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from catalogue import ELEMENTS, JOINTS

import fem_mbs as mbs
from fem_mbs.contracts import ConstraintBatch, ElementBatch, Motion
from fem_mbs.elements import RigidBody, SpringDamper
from fem_mbs.solution import balance
from fem_mbs.solution.copies import over_time
from fem_mbs.solution.history import History
from fem_mbs.system.states import frozen
from fem_mbs.system.system import System
from fem_mbs.testing import ElementTrial, JointTrial

TRIALS: dict[str, Any] = {name: (ElementTrial, make) for name, make in ELEMENTS.items()}
TRIALS |= {name: (JointTrial, make) for name, make in JOINTS.items()}


def forces(batch: ElementBatch | ConstraintBatch, motion: Motion, prescribed: Any, multipliers: Any) -> Any:
    """What a batch puts on its nodes, row by row."""
    values = (
        batch.force(motion, prescribed)[0] if isinstance(batch, ElementBatch) else batch.evaluate(motion, prescribed)[1]
    )
    return np.asarray(values)


def answers(history: History) -> list[Any]:
    """Forces and gradients, and energies of a history."""
    system = history.system
    batches = [*system.batches, *system.constraint_batches]
    found = [over_time(history, list(dict.fromkeys(batch.owners)), forces) for batch in batches]
    energy = balance.energies(history)
    return [*found, energy.kinetic, energy.strain, energy.gravity]


def change(part: Any, rng: np.random.Generator) -> list[str]:
    """Set the numbers that a part has to others, but for those that its constructor refuses."""
    changed = []
    for name, value in list(vars(part).items()):
        if name[0] == "_" or isinstance(value, bool) or not isinstance(value, float | np.ndarray):
            continue
        if np.asarray(value).dtype.kind != "f":
            continue
        with suppress(mbs.ModelError):
            setattr(part, name, value * rng.uniform(1.1, 1.5))
            changed.append(name)
    return changed


def test_answers_stay() -> None:
    """Of every class: forces, gradients and energies of states of a frozen model."""
    count = 0
    for name, (trial, make) in TRIALS.items():
        system: System = trial.of(make, 0).system
        rest = system.at_rest()
        state = mbs.State(0.0, rest.x, rest.R, rest.V, rest.A, rest.multipliers, rest.u, rest.udot, rest.uddot)
        history = History.of(system, [frozen(state)])
        before = answers(history)
        rng = np.random.default_rng(0)
        count += any([change(part, rng) for part in [*system.elements, *system.number.parts]])
        for one, other in zip(before, answers(history), strict=True):
            np.testing.assert_array_equal(other, one, err_msg=name)
    assert count > 0.8 * len(TRIALS)


def oscillator() -> tuple[mbs.Model, SpringDamper, RigidBody]:
    """1 kg on a spring that is longer by 0.2 m."""
    model = mbs.Model()
    node = model.add_node((0.3, 0, 0))
    body = model.add(RigidBody(node, 1.0, (1, 1, 1)), name="body")
    return model, model.add(SpringDamper(model.ground, node, 2.0, free_length=0.1), name="rope"), body


def test_energies_of_earlier_runs() -> None:
    model, rope, body = oscillator()
    runs = {}
    for stiffness in (2.0, 4.0, 8.0):
        rope.stiffness = stiffness
        runs[stiffness] = mbs.simulate(model, 0.1, 0.01)
    body.mass = 3.0
    for stiffness, solution in runs.items():
        np.testing.assert_allclose(solution.energy.total, 0.5 * stiffness * 0.2**2, rtol=1e-5)
    assert rope.stiffness == 8.0 and body.mass == 3.0


@pytest.mark.parametrize("where", ["callback", "event"])
def test_changes_within_a_run_are_refused(where: str) -> None:
    model, rope, _ = oscillator()

    def cut(state: mbs.State) -> float | None:
        if state.t > 0.05:
            rope.stiffness = 1e-3
        return None if where == "callback" else state.t - 0.05

    with pytest.raises(mbs.ModelError, match=r"'rope': stiffness.*initial=solution.checkpoint") as caught:
        mbs.simulate(model, 0.2, 0.01, **{"events" if where == "event" else "callback": cut})
    assert caught.value.solution is not None and caught.value.solution.t[-1] == pytest.approx(0.06)
    solution = mbs.simulate(model, 0.2, 0.01, initial=caught.value.solution.checkpoint)
    assert solution.energy.strain[-1] < 1e-3


def test_attributes_obey_the_constructor() -> None:
    """One that it takes becomes what it makes of it; what it refuses is refused, and changes nothing."""
    _, rope, body = oscillator()
    body.inertia = (1.0, 2.0, 2.5)
    np.testing.assert_array_equal(body.inertia, np.diag([1.0, 2.0, 2.5]))
    for part, name, value in (
        (rope, "stiffness", "stiff"),
        (rope, "stiffness", np.nan),
        (body, "mass", -1.0),
        (body, "inertia", (1.0, 1.0, 5.0)),
        (body.nodes[0], "fixed_rotation", 3),
    ):
        before = getattr(part, name)
        with pytest.raises(mbs.ModelError, match=name):
            setattr(part, name, value)
        assert getattr(part, name) is before


def test_arrays_are_not_changed_in_place() -> None:
    _, _, body = oscillator()
    with pytest.raises(ValueError, match="read-only"):
        body.inertia[0, 0] = 2.0
