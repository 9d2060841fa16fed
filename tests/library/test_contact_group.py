"""Contacts of many bodies as one element: the same as an element for each pair, in whatever is asked of them."""

from __future__ import annotations

import shutil
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

import fem_mbs as mbs
from fem_mbs import contact
from fem_mbs.contact import many
from fem_mbs.contact.contacts import contacts_of
from fem_mbs.contracts import Shape
from fem_mbs.elements import (
    Ball,
    Box,
    Capsule,
    Contact,
    ContactGroup,
    Plane,
    RigidBody,
    SphericalJoint,
    SpringDamper,
    contacts_between,
)
from fem_mbs.elements.contact import group as contact_group
from fem_mbs.errors import ModelError
from fem_mbs.files.scene import Scene
from fem_mbs.initial.state_point import as_built, without_accelerations
from fem_mbs.pictures.drawing import Drawing
from fem_mbs.solution import balance
from fem_mbs.system.matrices import leading_matrix, solve_with_constraints

G, R = 9.81, 0.1
LAW = {"restitution": 0.3, "friction": 0.4}


def group(*sides: list[tuple[mbs.Node, Shape]], **law: float) -> ContactGroup:
    """Of bodies, and others."""
    return ContactGroup(*(list(part) for side in sides for part in zip(*side, strict=True)), **law)


def heap(grouped: bool, count: int = 6, shapes: str = "ball") -> mbs.Model:
    """Bodies over each other on a floor between two walls, as one element for all pairs of a kind or one for each."""
    rng, model = np.random.default_rng(4), mbs.Model(gravity=(0, 0, -G))
    floor = [(model.ground, Plane()), (model.ground, Plane((1, 0, 0), (-0.3, 0, 0)))]
    bodies = []
    for k in range(count):
        node = model.add_node((0.21 * (k % 2), 0.02 * k, 0.12 + 0.23 * (k // 2)), velocity=rng.normal(size=3))
        shape = {"ball": Ball(R), "capsule": Capsule(0.5 * R, R), "box": Box((R, R, 1.2 * R))}[shapes]
        model.add(RigidBody(node, 1.0, [0.004] * 3))
        bodies.append((node, shape))
    if grouped:
        model.add(group(bodies, **LAW), name="pairs")
        model.add(group(floor, bodies, **LAW), name="floor")
    else:
        for a, b in combinations(bodies, 2):
            model.add(Contact(a[0], b[0], a[1], b[1], **LAW))
        for side in floor:
            for node, shape in bodies:
                model.add(Contact(model.ground, node, side[1], shape, **LAW))
    return model


def of_all(solution: mbs.Solution, name: str) -> np.ndarray:
    """What is asked of all contacts, ``(nt, k, ...)``, in the order of the pairs."""
    contacts = [own for own in solution.system.elements if own.contacts]
    return np.concatenate([getattr(solution, name)(own) for own in contacts], axis=1)


@pytest.mark.ci
@pytest.mark.parametrize("shapes", ("ball", "capsule", "box"))
def test_a_group_is_the_same_as_its_pairs(shapes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Motion to the bit; gaps, forces, losses and impulses; the names of the points."""
    h, count = (5e-3, 4) if shapes == "ball" else (1e-2, 3)
    one, many = (mbs.simulate(heap(grouped, count, shapes), 0.08, h) for grouped in (True, False))
    assert one.status is many.status is mbs.Outcome.FINISHED
    np.testing.assert_array_equal(one.state(-1).x, many.state(-1).x)
    np.testing.assert_array_equal(one.state(-1).v, many.state(-1).v)
    for name in ("gap", "contact_force"):
        np.testing.assert_allclose(of_all(one, name), of_all(many, name), rtol=1e-12, atol=1e-12)
    parts = [[own for own in s.system.elements if own.contacts] for s in (one, many)]
    pairs = list(zip((one, many), parts, strict=True))
    lost = [np.sum([s.contact_losses(own) for own in own_parts], axis=0) for s, own_parts in pairs]
    np.testing.assert_allclose(*lost, rtol=1e-12, atol=1e-14)
    hits = [sorted((i.t, i.normal) for own in p for i in s.impulses(own)) for s, p in pairs]
    np.testing.assert_allclose(*hits, rtol=1e-12)
    pushing = one.contact_force("pairs")[-1].any(axis=1)
    assert [touch.point for touch in one.touching("pairs")] == np.flatnonzero(pushing).tolist()
    monkeypatch.setattr(balance, "MOST", len(one.t) * pushing.size - 1)
    with pytest.raises(mbs.ModelError, match="too many for one array; ask for those that push"):
        one.gap("pairs")
    assert parts[0][0].contacts[0] == f"node 'node 1', node 'node 2': {many.system.elements[count].contacts[0]}"


@pytest.mark.slow
def test_a_run_of_a_group_goes_on_to_the_bit(tmp_path: Path) -> None:
    """Cut after an impact, and with what touches; a file has all that is asked."""
    whole, path = mbs.simulate(heap(True, 4), 0.2, 5e-3, store=tmp_path / "whole.db"), tmp_path / "cut.db"

    def cut(state: mbs.State) -> None:
        if state.t > 0.12 and not path.exists():
            shutil.copy(tmp_path / "part.db", path)

    mbs.simulate(heap(True, 4), 0.2, 5e-3, store=tmp_path / "part.db", callback=cut)
    again = mbs.resume(path)
    for name in ("x", "v", "u"):
        np.testing.assert_array_equal(getattr(again.state(-1), name), getattr(whole.state(-1), name))
    loaded = mbs.load(tmp_path / "whole.db")
    np.testing.assert_array_equal(loaded.contact_force("floor"), whole.contact_force("floor"))


def test_friction_of_a_group_takes_its_work() -> None:
    """A ball without inertia of its own that slides: mu m g over its way."""
    model = mbs.Model(gravity=(0, 0, -G))
    node = model.add_node((0, 0, R), velocity=(1.0, 0, 0))
    model.add(RigidBody(node, 2.0, [1e6] * 3))
    model.add(group([(model.ground, Plane())], [(node, Ball(R))], friction=0.4), name="floor")
    solution = mbs.simulate(model, 0.1, 5e-3)
    way = solution.displacement(node)[:, 0]
    assert way[-1] == pytest.approx(0.1 - 0.2 * G * 0.1**2, rel=1e-6)
    np.testing.assert_allclose(solution.contact_losses("floor").friction, 0.8 * G * way, rtol=0, atol=1e-6)


def test_islands_of_contacts_keep_their_matrices() -> None:
    """Of chains of 1 to 80 contacts in any order: no set leaves out what its contacts move, small ones are one."""
    chance = np.random.default_rng(5)
    lengths = [1, 1, 3, 80, 20, 61, 30, 2]
    number, first, edges = chance.permutation(sum(lengths)), 0, []
    for length in lengths:
        chain = number[first : first + length]
        edges += [*zip(chain, chain, strict=True), *pairwise(chain)]
        first += length
    a, b = np.array(edges).T
    G = csr_array((chance.normal(size=len(a)), (3 * a + 1, 3 * b + 2)), (3 * first, 3 * first))
    G = csr_array(G + G.T)
    sets = many.islands(G, first)
    np.testing.assert_array_equal(np.sort(np.concatenate(sets)), np.arange(first))
    left = G.toarray()
    for own in sets:
        rows = (3 * own[:, None] + np.arange(3)).ravel()
        part = many.block(G, own)
        np.testing.assert_array_equal(many.dense(part), left[np.ix_(rows, rows)])
        left[np.ix_(rows, rows)] = 0.0
    assert not left.any()
    *small, long, longest = sorted(map(len, sets))
    assert (long, longest) == (61, 80) and len(small) <= 3


def test_contacts_take_turns_in_slots() -> None:
    """Those that push keep theirs; others leave theirs to new ones, the oldest first, and what they took is kept."""
    model = heap(True)
    system = mbs.System(model)
    contacts, u = contacts_of(system), system.u0.copy()
    (batch,) = (b for b in contacts.batches if b.owners[0].name == "pairs")
    batch.owners[0].__dict__["slots"] = 15
    assert not len(batch.carrying(u)[0])
    first = batch.taken(u, np.arange(15))
    u[first[:, 0]], u[first[:, 6]], u[first[:, 7]] = np.arange(15.0) > 6, np.arange(15.0), 2.0
    assert sorted(batch.carrying(u)[0]) == list(range(15))
    np.testing.assert_array_equal(batch.taken(u, np.array([3, 9])), first[[3, 9]])


def test_what_was_taken_in_a_slot_that_another_has_is_no_gain() -> None:
    """A ball to and fro between two walls, hit at the ends of steps: half of its speed comes back each time."""
    model = mbs.Model()
    ball = model.add_node((0, 0, 0), velocity=(0, 0, 1.0))
    model.add(RigidBody(ball, 2.0, [0.01] * 3))
    walls = [(model.ground, Plane((0, 0, side), (0, 0, -0.3 * side))) for side in (1.0, -1.0)]
    of_one = model.add(group(walls, [(ball, Ball(R))], restitution=0.5))
    of_one.__dict__ |= {"slots": 1, "internal_variables": contact_group._slot_variables(1)}
    solution = mbs.simulate(model, 3.0, 0.01, mbs.NonsmoothAlpha(locate=0))
    assert solution.stats.failed_steps == 0
    assert solution.velocity(ball)[-1, 2] == pytest.approx(-0.125)
    assert solution.contact_losses(of_one).impacts[-1] == pytest.approx(1.0 - 1.0 / 64.0)


def test_statics_and_modes_of_a_group() -> None:
    """Two balls in a trough, on springs of the floor: forces, and frequencies, as of single contacts."""

    def model(grouped: bool) -> mbs.Model:
        made = mbs.Model(gravity=(0, 0, -G))
        floor = [(made.ground, Plane((1, 0, 1), (0, 0, 0))), (made.ground, Plane((-1, 0, 1), (0, 0, 0)))]
        node = made.add_node((0, 0, np.sqrt(2) * R), name="low")
        balls = [(node, Ball(R)), (made.add_node((0, 0, np.sqrt(2) * R + 2 * R)), Ball(R))]
        for node, _ in balls:
            made.add(RigidBody(node, 1.0, [0.004] * 3))
            made.add(mbs.elements.Bushing(made.ground, node, (1e4,) * 3 + (1e3,) * 3))
        law = {"friction": 0.5}
        if grouped:
            made.add(group(balls, **law))
            made.add(group(floor, balls, **law))
        else:
            made.add(Contact(balls[0][0], balls[1][0], Ball(R), Ball(R), **law))
            made.add([Contact(made.ground, node, side, shape, **law) for _, side in floor for node, shape in balls])
        return made

    paths = [mbs.statics(model(grouped), 4) for grouped in (True, False)]
    np.testing.assert_allclose(of_all(paths[0], "contact_force"), of_all(paths[1], "contact_force"), atol=1e-9)
    found = [mbs.modes(path.system.model, 4, path.state(-1)).frequencies for path in paths]
    np.testing.assert_allclose(*found, rtol=1e-9)


@pytest.mark.ci
def test_pictures_of_a_group() -> None:
    """Arrows of what pushes, and nothing of what does not."""
    solution = mbs.simulate(heap(True, 4), 0.2, 5e-3)
    frame = Drawing(solution.system).frame(solution.motion(-1), solution.multipliers_all[-1])
    pushing = sum(len(solution.touching(name)) for name in ("pairs", "floor"))
    assert [len(own.starts) for own in frame.arrows].count(pushing) and pushing
    points, data = Scene(solution.system, 2, shapes=True).frame(solution.motion(-1), solution.multipliers_all[-1])
    assert np.count_nonzero(data["contact_force"].any(axis=1)) == pushing


def test_what_is_deep_as_built_is_named() -> None:
    model = mbs.Model()
    bodies = [(model.add_node((0.15 * k, 0, 0), name=f"b{k}"), Ball(R)) for k in range(2)]
    for node, _ in bodies:
        model.add(RigidBody(node, 1.0, [0.004] * 3))
    model.add(group(bodies), name="pairs")
    assert "pairs: node 'b0', node 'b1'" in str(model.check())
    with pytest.raises(mbs.ModelError, match="'b0', node 'b1'.*deep"):
        mbs.simulate(model, 0.1, 0.01)


def test_many_pairs_are_one_element(monkeypatch: pytest.MonkeyPatch) -> None:
    """For each two kinds of shapes, whatever else there is."""
    monkeypatch.setattr(contact_group, "MANY", 3)
    model = mbs.Model()
    shapes = [Ball(R), Ball(R), Ball(R), Box((R, R, R)), Box((R, R, R)), Capsule(R, R)]
    parts = [model.add(RigidBody(model.add_node((k, 0, 1)), 1.0, [1.0] * 3, shape=s)) for k, s in enumerate(shapes)]
    made = model.add(contacts_between([*parts, (model.ground, Plane()), (model.ground, Plane((0, 1, 0), (0, -1, 0)))]))
    groups = [own for own in made if isinstance(own, ContactGroup)]
    pairs = sum(len(own.pairs) for own in groups) + len(made) - len(groups)
    assert pairs == 6 * 5 // 2 + 12
    assert len(groups) == 5
    solution = mbs.simulate(model, 0.02, 0.01)
    assert min(solution.gap(own).min() for own in made) > 0.0


@pytest.mark.ci
@pytest.mark.parametrize("shapes", ("capsule", "ball"))
def test_sparse_matrices_of_many_contacts_lead_where_others_do(shapes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dense = mbs.simulate(heap(True, 4, shapes), 0.15, 5e-3)
    for room in (many, contact.contacts):
        monkeypatch.setattr(room, "MANY", 2)
    sparse = mbs.simulate(heap(True, 4, shapes), 0.15, 5e-3)
    assert len(sparse.t) == len(dense.t)
    np.testing.assert_allclose(sparse.state(-1).x, dense.state(-1).x, rtol=0, atol=1e-9)
    np.testing.assert_allclose(sparse.contact_force("floor"), dense.contact_force("floor"), rtol=0, atol=1e-4)
    assert min(sparse.gap(name).min() for name in ("pairs", "floor")) > -1e-11
    assert sparse.energy.total.max() <= sparse.energy.total[0] * (1.0 + 1e-9)


def test_effects_of_forces_go_as_far_as_joints_do() -> None:
    """A chain, a body on a spring and one alone: what a solution for each force has, from as many as an island has."""
    model, rng = mbs.Model(gravity=(0, 0, -G)), np.random.default_rng(0)
    nodes = [model.add_node((0.3 * k, 0, 0)) for k in range(6)]
    for node in nodes:
        model.add(RigidBody(node, 1.0 + rng.random(), [0.004] * 3))
    model.add([SphericalJoint(a, b) for a, b in pairwise(nodes[:3])])
    model.add(SpringDamper(nodes[3], nodes[4], stiffness=10.0))
    system = mbs.System(model)
    factors = system.solver.factor(leading_matrix(system, without_accelerations(system, as_built(system))))
    rows = np.zeros((20, system.N))
    for row in rows:
        for node in rng.choice(7, 2, replace=False):
            row[6 * node : 6 * node + 6] = rng.normal(size=6)
    moves, reacts = many.effects(system, factors, csr_array(rows))
    for k, row in enumerate(rows):
        d, multipliers = solve_with_constraints(system, factors, row, None)
        np.testing.assert_allclose(moves.toarray()[:, k], d, rtol=0, atol=1e-12 * np.abs(d).max())
        np.testing.assert_allclose(reacts.toarray()[:, k], multipliers, rtol=0, atol=1e-9)


def test_what_no_equation_tells_of_is_left_alone() -> None:
    rng = np.random.default_rng(1)
    half = rng.normal(size=(40, 25)) * (rng.random((40, 25)) < 0.3)
    A, x = half @ half.T, half @ rng.normal(size=25)
    np.testing.assert_allclose(many.soft_inverse(csr_array(A))(A @ x), x, rtol=0, atol=1e-6 * np.abs(x).max())


@pytest.mark.ci
def test_events_of_groups_are_where_a_pair_is_hit() -> None:
    """Two balls beside each other, of which the second is higher: both channels, each as of a contact of its own."""
    times = []
    for grouped in (True, False):
        model = mbs.Model(gravity=(0, 0, -G))
        balls = [model.add_node((x, 0, 0.1 + R + 0.1 * x), name=f"ball {x}") for x in (0, 1)]
        for ball in balls:
            model.add(RigidBody(ball, 1.0, [0.004] * 3))
        if grouped:
            model.add(group([(model.ground, Plane())], [(ball, Ball(R)) for ball in balls], restitution=0.6), name="a")
            names = ["a.gap.0", "a.gap.1"]
        else:
            for ball in balls:
                model.add(Contact(model.ground, ball, Plane(), Ball(R), restitution=0.6), name=f"on {ball}")
            names = [f"on {ball}.gap" for ball in balls]
        times.append(mbs.simulate(model, 0.5, 0.01, events=names).event_times)
    for own, single in zip(*times, strict=True):
        assert len(own) >= 2
        np.testing.assert_allclose(own, single, rtol=0.0, atol=1e-12)


def test_shapes_of_one_side_are_of_one_class() -> None:
    model = mbs.Model()
    nodes = [model.add_node((x, 0, 0)) for x in (0, 1, 2)]
    with pytest.raises(ModelError, match="of one class, received Ball, Box; .* contacts_between"):
        ContactGroup(nodes, [Ball(R), Box((R, R, R)), Ball(R)])
