"""Contacts of all pairs of some parts."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.elements import (
    Ball,
    Beam,
    BeamSection,
    Contact,
    Cylinder,
    Plane,
    RigidBody,
    Shell,
    ShellSection,
    contacts_between,
)

SECTION = BeamSection.circle(0.02, 2e9, 0.3, 1000)


def row(model: mbs.Model, speeds: tuple[float, ...]) -> list[RigidBody]:
    """Balls in a row, 1 mm apart."""
    return [
        model.add(
            RigidBody(model.add_node((0.201 * k, 0, 0), velocity=(v, 0, 0)), 1.0, (4e-3, 4e-3, 4e-3), shape=Ball(0.1))
        )
        for k, v in enumerate(speeds)
    ]


def test_a_row_of_balls() -> None:
    """Each pair has a contact; the last ball flies off."""
    model = mbs.Model()
    balls = row(model, (1, 0, 0, 0))
    pairs = model.add(contacts_between(balls, restitution=1.0), name="pair")
    assert [own.name for own in pairs] == [f"pair {k}" for k in range(1, 7)]
    solution = mbs.simulate(model, 0.05, 5e-3)
    np.testing.assert_allclose([solution.velocity(b.nodes[0])[-1, 0] for b in balls], (0, 0, 0, 1), rtol=0, atol=1e-9)


def test_many_gaps_are_asked_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten pairs, in parts of three, have the gaps that all have at once."""
    model = mbs.Model()
    model.add(contacts_between(row(model, (0, 0, 0, 0, 0))))
    system = mbs.System(model)
    (batch,) = [own for own in system.batches if own.unilateral]
    gaps = batch.gaps(system.at_rest())  # type: ignore[attr-defined]
    expected = sorted(0.201 * k - 0.2 for k, count in enumerate((4, 3, 2, 1), 1) for _ in range(count))
    np.testing.assert_allclose(np.sort(gaps.ravel()), expected, rtol=0, atol=1e-15)
    monkeypatch.setattr("fem_mbs.elements.contact.contact.MANY", 3)
    assert np.array_equal(batch.gaps(system.at_rest()), gaps)  # type: ignore[attr-defined]


def test_a_ring_meets_a_floor_with_each_node_once() -> None:
    model = mbs.Model()
    nodes = [model.add_node((np.cos(angle), 0, 1 + np.sin(angle))) for angle in np.linspace(0, 2 * np.pi, 9)[:-1]]
    ring = model.add(Beam([*nodes, nodes[0]], SECTION))
    assert [own.b for own in contacts_between([ring, (model.ground, Plane())])] == nodes


@pytest.mark.ci
def test_a_beam_falls_on_a_floor() -> None:
    """Its nodes meet the floor, as thick as it is, and it loses energy."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    beam = Beam.line(model, (0, 0, 0.1), (1, 0, 0.1), SECTION, 4)
    found = contacts_between([beam, (model.ground, Plane())], friction=0.2)
    assert len(found) == len(beam.nodes)
    model.add(found)
    solution = mbs.simulate(model, 0.2, 2e-3)
    assert min(solution.gap(own).min() for own in found) > -1e-10
    assert solution.position(beam.nodes[2])[-1, 2] == pytest.approx(0.02, abs=1e-6)
    energy = solution.energy.total
    assert energy.max() <= energy[0] * (1 + 1e-9)


def test_what_shares_a_node_does_not_meet() -> None:
    model = mbs.Model()
    (ball,) = row(model, (0,))
    node = ball.nodes[0]
    found = contacts_between([ball, (node, Ball(0.05)), (model.ground, Plane((0, 0, 1), (0, 0, -1)))])
    assert len(found) == 2 and all(isinstance(own, Contact) for own in found)


def plate(model: mbs.Model, height: float) -> Shell:
    """A square of 0.3 m and 9 elements, 20 mm thick."""
    rows = [[model.add_node((0.1 * i, 0.1 * j, height)) for j in range(4)] for i in range(4)]
    cells = [(rows[i][j], rows[i + 1][j], rows[i + 1][j + 1], rows[i][j + 1]) for i, j in product(range(3), repeat=2)]
    return model.add(Shell(cells, ShellSection.isotropic(0.02, 1e7, 0.3, 1000.0)))


@pytest.mark.slow
def test_a_plate_comes_to_rest_on_a_floor() -> None:
    """On its nodes, by half its thickness above; what has no gap in common with a beam beside it."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    shell = plate(model, 0.0105)
    found = model.add(contacts_between([shell, (model.ground, Plane())]))
    solution = mbs.simulate(model, 0.05, 1e-3)
    assert len(found) == 16
    np.testing.assert_allclose([solution.position(n)[-1, 2] for n in shell.nodes], 0.01, rtol=0, atol=1e-9)
    weight = sum(solution.contact_force(own)[-1, 0, 2] for own in found)
    assert weight == pytest.approx(9.81 * 1000 * 0.02 * 0.09, rel=1e-9)
    beam = Beam.line(model, (0, 0.1, 0.2), (0.3, 0.1, 0.2), SECTION, 2)
    assert len(contacts_between([shell, beam])) == 16


def refused(name: str) -> list[object]:
    model = mbs.Model()
    (ball,) = row(model, (0,))
    bare = RigidBody(model.add_node((3, 3, 3)), 1.0, (1, 1, 1))
    barrel = RigidBody(model.add_node((4, 3, 3)), 1.0, (1, 1, 1), shape=Cylinder(1, 1))
    cases: dict[str, list[object]] = {
        "no shape": [ball, bare],
        "no closed form": [plate(model, 2.0), plate(model, 3.0)],
        "Cylinder and Cylinder": [barrel, (model.ground, Cylinder(1, 1))],
        "RigidBody, Beam, Shell or": [ball, 3.0],
        "at least two": [ball],
    }
    return cases[name]


@pytest.mark.parametrize(
    "words", ("no shape", "no closed form", "Cylinder and Cylinder", "RigidBody, Beam, Shell or", "at least two")
)
def test_what_is_refused(words: str) -> None:
    with pytest.raises(mbs.ModelError, match=words):
        contacts_between(refused(words))


@pytest.mark.parametrize("along", [0.0, 5.0])
def test_bodies_meet_alike_however_fast_both_move(along: float) -> None:
    """Two balls that fly at each other from afar, seen from a frame that moves along: they change their velocities."""
    model = mbs.Model()
    nodes = [model.add_node((-s, 0, 0), velocity=(s + along, 0, 0)) for s in (1.0, -1.0)]
    for node in nodes:
        model.add(RigidBody(node, 2.0, (0.01, 0.01, 0.01)))
    model.add(Contact(*nodes, Ball(0.1), Ball(0.1), restitution=1.0))
    run = mbs.simulate(model, 1.5, 0.01)
    ends = [run.position(node)[-1, 0] - 1.5 * along for node in nodes]
    np.testing.assert_allclose(ends, [-0.7, 0.7], atol=1e-6)
    np.testing.assert_allclose([run.velocity(node)[-1, 0] - along for node in nodes], [-1.0, 1.0], atol=1e-6)
