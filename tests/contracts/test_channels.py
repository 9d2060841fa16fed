"""Every channel and every query of every class of the library: right, or refused by name; and of two outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from catalogue import ELEMENTS, EVERYTHING, build

import fem_mbs as mbs
from fem_mbs.contracts import ElementBatch, InternalVariable, Sensor, State, node_rows, own_rows
from fem_mbs.elements import PID, RigidBody
from fem_mbs.solution.channels import OF_ELEMENT, OF_JOINT, OF_NODE
from fem_mbs.solution.history import Outcome, Stats
from fem_mbs.testing.stage import random_motion

QUANTITIES = tuple(dict.fromkeys((*OF_NODE, *OF_JOINT, *OF_ELEMENT)))
TAILS = ("", ".0", ".x", ".value", ".nonsense")
WIDTHS = dict(nodal_forces=6, section_forces=6, contact_force=3, shell_forces=8, shell_stress=3)
"""Columns of what is numbered."""
STATS = Stats(np.zeros(0, np.intp), 0, 0, 0, 0, np.zeros(0), 0.0)


def solution(name: str) -> tuple[mbs.Solution, Any]:
    """Two states of a part, anywhere, and the part."""
    model, parts = build(EVERYTHING[name])
    system = mbs.System(model)
    motion = random_motion(system, 3)
    still, rest = np.zeros((system.n, 6)), np.zeros(system.k)
    states = [State(t, motion.x, motion.R, still, still, motion.multipliers, motion.u, rest, rest) for t in (0.0, 0.01)]
    return mbs.Solution(system, states, Outcome.FINISHED, STATS), parts[-1]


@pytest.mark.parametrize("name", EVERYTHING)
def test_channels_are_right_or_refused_by_name(name: str) -> None:
    run, part = solution(name)
    for quantity in QUANTITIES:
        answers = {}
        for tail in TAILS:
            channel = f"{part.name}.{quantity}{tail}"
            try:
                answers[tail] = run.channel(channel)
            except mbs.FemMbsError as error:
                assert str(part.name) in str(error), channel
                if not tail:  # nor any column of it
                    break
        try:
            value = getattr(run, quantity)(part)
        except mbs.FemMbsError:
            assert not answers, quantity
            continue
        if isinstance(value, tuple):
            value = np.concatenate([own if np.ndim(own) > 1 else own[:, None] for own in value], axis=-1)
        if np.size(value):
            np.testing.assert_array_equal(answers[""].reshape(2, -1), np.reshape(value, (2, -1)))
        if ".0" in answers and answers[""].ndim > 1:
            width = WIDTHS.get(quantity, 1)
            np.testing.assert_array_equal(answers[".0"].reshape(2, -1), answers[""][:, :width])


def test_all_of_the_catalogue_was_asked() -> None:
    assert len(EVERYTHING) >= len(ELEMENTS) > 80


class Place(Sensor):
    """Where a node is, x and z: two outputs, of which nothing is said but the variables."""

    internal_variables = (InternalVariable("x", "algebraic"), InternalVariable("z", "algebraic"))

    def __init__(self, node: Any) -> None:
        self.nodes = (node,)

    @classmethod
    def batch(cls, elements: Any, number: Any) -> ElementBatch:
        return PlaceBatch(elements, number)


class PlaceBatch(ElementBatch):
    terms = 2

    def __init__(self, elements: Any, number: Any) -> None:
        self.owners, self.nodes, self.own = elements, node_rows(elements, number), own_rows(elements, number)
        self.origin = number.origin

    def force(self, motion: Any, prescribed: Any) -> Any:
        rows = self.nodes[:, 0]
        terms = np.zeros((len(rows), 2, 8))
        terms[:, 0, 6:] = motion.u[self.own]
        terms[:, 1, 6:] = -(motion.x[rows] + self.origin)[:, [0, 2]]
        return terms, motion.R[rows]

    def stiffness(self, R: Any) -> Any:
        K = np.zeros((len(R), 8, 8))
        K[:, 6:, 6:] = np.eye(2)
        K[:, 6:, :3] = -R[:, [0, 2]]
        return K


def falling() -> tuple[mbs.Model, Place]:
    model = mbs.Model(gravity=(0, 0, -9.81))
    body = model.add_node((0, 0, 0), velocity=(1, 0, 0), name="body")
    model.add(RigidBody(body, 1.0, (1.0, 1.0, 1.0)))
    return model, model.add(Place(body), name="place")


def test_a_sensor_with_two_outputs_has_two_columns() -> None:
    model, place = falling()
    run = mbs.simulate(model, 0.1, 0.02)
    position = run.position("body")
    np.testing.assert_allclose(run.channel("place.signal"), position[:, [0, 2]], atol=1e-12)
    np.testing.assert_allclose(run.channel("place.signal.1"), position[:, 2], atol=1e-12)
    np.testing.assert_allclose(run.signal(place[1]), position[:, 2], atol=1e-12)


def co_simulated(name: str) -> float:
    model, place = falling()
    return mbs.CoSimulation(model, {}, {"x": place[0]}, 0.01).output(name)


TWO = {
    "an output that it does not have": (lambda run, place: run.channel("place.signal.2"), "it has 0, 1"),
    "as one signal": (lambda run, place: run.signal(place + 1.0), "place' has 2 outputs; take one of them"),
    "as the input of a block": (lambda run, place: PID(place, 1.0), "PID: error: Place 'place' has 2 outputs"),
    "as one output of a co-simulation": (
        lambda run, place: mbs.CoSimulation(run.model, {}, {"y": place}, 0.01),
        "outputs\\['y'\\]: Place 'place' has 2 outputs; take one of them",
    ),
    "no output of a co-simulation": (
        lambda run, place: co_simulated("y"),
        "one of 'x', received 'y'",
    ),
    "a node": (lambda run, place: run.internal_variables("body"), "node 'body' has no internal variables"),
}


@pytest.mark.parametrize("what", TWO)
def test_what_is_ambiguous_or_missing_is_refused_by_name(what: str) -> None:
    model, place = falling()
    run = mbs.simulate(model, 0.04, 0.02)
    ask, words = TWO[what]
    with pytest.raises(mbs.ModelError, match=words):
        ask(run, place)
