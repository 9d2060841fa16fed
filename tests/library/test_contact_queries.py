"""What the library promises of any run holds with contacts: queries, events, energy, pictures, checks, copies."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.contact import watch
from fem_mbs.contact.contacts import Selection, contacts_of
from fem_mbs.contact.memory import Limits, Watch
from fem_mbs.contracts import Event
from fem_mbs.elements import (
    Ball,
    Box,
    Capsule,
    Contact,
    Force,
    JointStop,
    NodeSensor,
    Plane,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    Rope,
    contacts_between,
)
from fem_mbs.files.scene import Scene
from fem_mbs.pictures.drawing import Drawing

G = 9.81
HITS = np.sqrt(0.8 / G) * (1.0 + 2.0 * np.array([0.0, 0.6, 0.96, 1.176]))
"""Of a ball that falls 0.4 m and bounces with 0.6 of its speed."""


def bouncing(restitution: float = 0.6, friction: float = 0.3, height: float = 0.4) -> mbs.Model:
    model, r = mbs.Model(gravity=(0, 0, -G)), 0.1
    ball = model.add_node((0, 0, height + r), velocity=(1, 0, 0), name="ball")
    model.add(RigidBody(ball, 1.0, [0.4 * r * r] * 3))
    floor = Contact(model.ground, ball, Plane(), Ball(r), restitution=restitution, friction=friction)
    model.add(floor, name="floor")
    return model


def sliding(h: float) -> mbs.Solution:
    """A block that slides and turns on its corners, to rest."""
    model = mbs.Model(gravity=(0, 0, -G))
    block = model.add_node((0, 0, 0.1), velocity=(2, 0.3, 0), angular_velocity=(0, 0, 3), name="block")
    model.add(RigidBody(block, 1.0, [0.01] * 3))
    model.add(Contact(model.ground, block, Plane(), Box((0.4, 0.4, 0.2)), friction=0.3), name="floor")
    return mbs.simulate(model, 0.8, h)


@pytest.mark.ci
def test_channels_have_the_names_of_the_queries() -> None:
    solution = mbs.simulate(bouncing(), 0.7, 0.01)
    np.testing.assert_array_equal(solution.channel("floor.gap"), solution.gap("floor")[:, 0])
    np.testing.assert_array_equal(solution.channel("floor.contact_force"), solution.contact_force("floor")[:, 0])
    np.testing.assert_array_equal(solution.channel("floor.contact_losses.impacts"), solution.contact_losses("floor")[0])
    many = sliding(0.02)
    np.testing.assert_array_equal(many.channel("floor.gap.3"), many.gap("floor")[:, 3])
    np.testing.assert_array_equal(many.channel("floor.contact_force.3.z"), many.contact_force("floor")[:, 3, 2])


@pytest.mark.slow
def test_an_event_is_where_a_contact_is_hit() -> None:
    """Also within steps at whose ends it is open; where it begins to rest; and where it opens."""
    opens = Event("floor.gap", direction=1, optional=True)
    solution = mbs.simulate(bouncing(), 1.0, 0.01, events=["floor.gap", opens, "ball.velocity.z"])
    np.testing.assert_allclose(solution.event_times[0], HITS, rtol=0, atol=1e-9)
    assert not len(solution.event_times[1])
    np.testing.assert_allclose(solution.event_times[2][::2], HITS, rtol=0, atol=1e-9)  # where the velocity jumps, too
    rests = mbs.simulate(bouncing(0.0), 1.0, 0.01, events=["floor.gap"])
    np.testing.assert_allclose(rests.event_times[0], HITS[:1], rtol=0, atol=1e-9)
    ended = mbs.simulate(bouncing(), 1.0, 0.01, events=Event("floor.gap", terminal=2))
    assert ended.t[-1] == pytest.approx(HITS[1], abs=1e-9)
    assert ended.status is mbs.Outcome.EVENT


def test_a_run_goes_on_from_a_hit_where_there_are_joints() -> None:
    """Between steps contacts are a little deep there, as joints are open."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    bob = model.add_node((0.6, 0, -0.8))
    model.add(RigidBody(bob, 1.0, (0.01, 0.01, 0.01)))
    model.add(RevoluteJoint(model.ground, bob, (0, 1, 0), point=(0, 0, 0)))
    model.add(Contact(model.ground, bob, Plane((1, 0, 0), (-0.3, 0, 0)), Ball(0.1), restitution=0.5), name="wall")
    whole = mbs.simulate(model, 0.8, 0.02)
    hit = mbs.simulate(model, 0.8, 0.02, events=Event("wall.gap", terminal=True))
    assert hit.t[-1] == pytest.approx(whole.impulses("wall")[0].t, abs=1e-12)
    for initial in (hit.checkpoint, hit.state(-1)):
        rest = mbs.simulate(model, 0.8, 0.02, initial=initial)
        assert np.abs(rest.x[-1] - whole.x[-1]).max() < whole.stats.error.length
        assert len(mbs.join([hit, rest]).impulses("wall")) == len(whole.impulses("wall"))


def test_a_sensor_sees_a_bounce() -> None:
    """As the query does."""
    model = bouncing()
    height = model.add(NodeSensor("ball", "position", (0, 0, 1)))
    solution = mbs.simulate(model, 1.0, 0.01)
    np.testing.assert_allclose(solution.signal(height), solution.position("ball")[:, 2], rtol=0, atol=1e-12)


def test_energy_is_lost_to_impacts() -> None:
    """All that the total loses, and of each impact what the laws say."""
    solution = mbs.simulate(bouncing(friction=0.0), 0.5, 0.01)
    lost = solution.contact_losses("floor")
    total = solution.energy.total
    np.testing.assert_allclose(total + lost.impacts, total[0], rtol=1e-12)
    assert lost.impacts[-1] == pytest.approx(G * 0.4 * (1.0 - 0.6**2), rel=1e-9)
    assert not lost.friction.any()


@pytest.mark.slow
def test_energy_is_lost_to_friction() -> None:
    """Of second order in the step: between stored states the power is linear."""
    errors = []
    for h in (0.02, 0.01):
        solution = sliding(h)
        lost, total = solution.contact_losses("floor"), solution.energy.total
        errors.append(np.abs(total + lost.impacts + lost.friction - total[0]).max())
        assert lost.friction[-1] == pytest.approx(0.5 * (4.09 + 0.01 * 9.0), rel=1e-3)
    assert errors[1] < 0.3 * errors[0] < 3e-4


def test_what_slides_loses_the_work_of_friction() -> None:
    """All that the total loses, where the power falls in proportion to time."""
    model = mbs.Model(gravity=(0, 0, -G))
    block = model.add_node((0, 0, 0.1), velocity=(2, 0, 0))
    model.add(RigidBody(block, 1.0, [0.01] * 3))
    model.add(Contact(model.ground, block, Plane(), Box((0.4, 0.4, 0.2)), friction=0.3), name="floor")
    solution = mbs.simulate(model, 0.1, 0.02)
    lost, total = solution.contact_losses("floor"), solution.energy.total
    np.testing.assert_allclose(lost.friction, 0.3 * G * solution.displacement(block)[:, 0], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(total + lost.impacts + lost.friction, total[0], rtol=1e-9)


def test_what_yields_has_no_losses_of_its_own() -> None:
    model = bouncing()
    yields = Contact(
        model.ground, model["ball"], Plane((0, 0, 1), (0, 0, -1)), Ball(0.1), stiffness=1e6, restitution=0.5
    )
    model.add(yields, name="soft")
    with pytest.raises(mbs.ModelError, match="'soft' yields"):
        mbs.simulate(model, 0.1, 0.01).contact_losses("soft")


@pytest.mark.ci
def test_forces_are_drawn_at_points_of_contact(tmp_path: Path) -> None:
    """As arrows in pictures and as vectors for ParaView; what lies on a floor is seen from the side."""
    solution = sliding(0.02)
    motion = solution.motion(5)
    frame = Drawing(solution.system).frame(motion, solution.multipliers_all[5])
    forces = solution.contact_force("floor")[5]
    pushing = np.flatnonzero(forces.any(axis=1))
    (arrows,) = [arrow for arrow in frame.arrows if len(arrow.starts) == len(pushing)]
    assert np.abs(arrows.starts[:, 2]).max() < 1e-9
    assert (np.cross(arrows.vectors, forces[pushing]) ** 2).sum() < 1e-12 * (forces**2).sum()
    points, data = Scene(solution.system, 2, shapes=True).frame(motion, solution.multipliers_all[5])
    there = np.flatnonzero(data["contact_force"].any(axis=1))
    np.testing.assert_allclose(data["contact_force"][there], forces[pushing], rtol=1e-12)
    np.testing.assert_allclose(points[there], arrows.starts, rtol=0, atol=1e-12)


def test_points_of_ropes_and_stops() -> None:
    """A rope pulls at its end; a stop acts along a coordinate, and has no point."""
    model = mbs.Model(gravity=(0, 0, -G))
    bob = model.add_node((0, 0, -1))
    model.add(RigidBody(bob, 2.0, [0.1] * 3))
    model.add(Rope(model.ground, bob, 0.9, point_b=(0, 0, -0.9)), name="rope")
    rail = model.add(PrismaticJoint(model.ground, bob, (0, 0, 1)))
    model.add(JointStop(rail, -1.0, 1.0, restitution=0.0))
    solution = mbs.simulate(model, 0.05, 0.01)
    points, data = Scene(solution.system, 2, shapes=True).frame(solution.motion(-1), solution.multipliers_all[-1])
    there = np.flatnonzero(data["contact_force"].any(axis=1))
    np.testing.assert_allclose(points[there], [[0, 0, -0.9]], rtol=0, atol=1e-12)
    np.testing.assert_allclose(data["contact_force"][there], [[0, 0, 2 * G]], rtol=1e-9)


def test_print_and_check_tell_of_contacts() -> None:
    assert "1 point of rigid contact" in str(bouncing())
    check = bouncing().check()
    assert check.ok and check.contacts == 1 and "NonsmoothAlpha" in str(check)
    deep = bouncing(height=-0.01).check()
    (finding,) = deep.findings
    assert finding.refused and "Contact 'floor'" in str(finding) and "0.01 m" in str(finding)


@pytest.mark.ci
def test_copies_bounce_alike(tmp_path: Path) -> None:
    """Of a model, of a run; saved and loaded, which answers the same and goes on to the bit."""
    solution = mbs.simulate(bouncing(), 0.61, 0.01)
    again = mbs.simulate(copy.deepcopy(bouncing()), 0.61, 0.01)
    np.testing.assert_array_equal(again.x, solution.x)
    loaded = mbs.load(solution.save(tmp_path / "run"))
    for one in (loaded, copy.deepcopy(solution)):
        np.testing.assert_array_equal(one.gap("floor"), solution.gap("floor"))
        np.testing.assert_array_equal(one.contact_losses("floor").impacts, solution.contact_losses("floor").impacts)
        assert [i.t for i in one.impulses("floor")] == [i.t for i in solution.impulses("floor")]
    whole = mbs.simulate(bouncing(), 1.0, 0.01)
    rest = mbs.simulate(loaded.model, 1.0, 0.01, initial=solution.checkpoint)
    np.testing.assert_array_equal(rest.x[-1], whole.x[-1])
    hits = [*solution.impulses("floor"), *rest.impulses("floor")]  # each is told of by the run that it was in
    assert [(i.t, i.normal) for i in hits] == [(i.t, i.normal) for i in whole.impulses("floor")]
    lost = [run.contact_losses("floor").impacts[-1] for run in (solution, rest, whole)]
    assert lost[0] + lost[1] == pytest.approx(lost[2], rel=1e-12)


@pytest.mark.ci
def test_steps_of_variable_length() -> None:
    """Impacts are located as in steps of one length, and none is missed."""
    solution = mbs.simulate(bouncing(), 1.0, mbs.VariableStep(1e-5))
    np.testing.assert_allclose([i.t for i in solution.impulses("floor")], HITS, rtol=0, atol=1e-9)


def sensor_model() -> tuple[mbs.Model, NodeSensor]:
    model = bouncing()
    return model, model.add(NodeSensor("ball", "position", (0, 0, 1)))


def refusals() -> dict[str, tuple[Callable[[], object], str]]:
    """What has no impacts, by its name."""
    model, sensor = sensor_model()
    vary = {"restitution": 0.5}
    return {
        "co-simulation": (lambda: mbs.CoSimulation(model, {}, {"z": sensor}, 0.01), "CoSimulation: Contact 'floor'"),
        "fmu": (lambda: mbs.export_fmu("x.fmu", model, {}, {"z": sensor}, 0.01), "Contact 'floor'"),
        "sensitivities": (lambda: mbs.sensitivities(bouncing, vary, 1.0, 0.01), "sensitivities: Contact 'floor'"),
        "objective": (
            lambda: mbs.objective(bouncing, mbs.Final("ball.position.z"), list(vary), 1.0, 0.01)([0.5]),
            "Contact 'floor'",
        ),
    }


@pytest.mark.parametrize("name", refusals())
def test_what_is_refused(name: str) -> None:
    call, words = refusals()[name]
    with pytest.raises(mbs.ModelError, match=words):
        call()


@pytest.mark.ci
@pytest.mark.parametrize("kind", ["rope", "floor", "stop", "capsules"])
def test_steps_that_are_not_looked_at_change_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is far goes on unseen, is pushed ever faster, and hits where it does if it is looked at in each step."""

    def run() -> mbs.Solution:
        model = mbs.Model()
        node = model.add_node((0, 0, 1), name="body")
        model.add(RigidBody(node, 1.0, [0.1] * 3))
        if kind == "capsules":  # which turn, and are hit while they are far from others
            model.group = "SE3"
            other = model.add_node((0.5, 0, 1.5), velocity=(-0.5, 0.1, 0), angular_velocity=(1, 5, 2))
            model.add(RigidBody(other, 1.0, [0.01] * 3))
            parts = (model.ground, Plane()), (node, Capsule(0.05, 0.4, (1, 0, 0.2))), (other, Capsule(0.05, 0.4))
            model.add(contacts_between(parts, restitution=0.5))
            model.add(Force(node, lambda t: (0, 0, -60)))
        elif kind == "stop":
            hinge = model.add(RevoluteJoint(model.ground, node, (0, 1, 0), point=(0, 0, 0)))
            model.add(JointStop(hinge, -1, 1, restitution=0.5))
            model.add(Force(node, lambda t: (-40 * t, 0, 0)))
        else:
            far = Contact(model.ground, node, Plane(), Ball(0.1), restitution=0.5) if kind == "floor" else None
            model.add(far or Rope(model.ground, node, 3.0, restitution=0.5))
            model.add(Force(node, lambda t: (0, 0, 40 * t * (-1 if far else 1))))
        return mbs.simulate(model, 0.25 if kind == "capsules" else 0.8, 0.01)

    spared = run()
    assert any(spared.impulses(part) for part in spared.model.elements if part.contacts)
    monkeypatch.setattr(watch, "LONGER", 1e6)
    for name in ("x", "R", "v", "vdot"):
        np.testing.assert_array_equal(getattr(spared, name), getattr(run(), name))


def test_gaps_stay_open_for_as_long_as_nothing_can_close_them() -> None:
    """``b T + c T^2/2`` closes them at most, whether velocities jump, nodes are moved, or limits rise by then."""
    model = mbs.Model()
    for k in range(3):
        node = model.add_node((k, 0, 1), velocity=(3, 0, 0))
        model.add(RigidBody(node, 1.0, [0.1] * 3))
        model.add(Contact(model.ground, node, Plane(), Capsule(0.1, 0.4)))
    system = mbs.System(model)
    contacts, state = contacts_of(system), replace(mbs.start(system), t=1.0)
    known, b = Watch(np.full(3, 3.0), 3.0, Limits(2.0, 1.0, 4.0)), np.linspace(0.0, 2.0)[:, None]

    def closed(time: Array, more: Array | float = 0.0) -> Array:
        return (b + more) * time + 0.5 * known.limits.push * time**2

    v, x, R = state.v.copy(), state.x.copy(), state.R.copy()
    v[2, 2], v[3, :3] = -0.5, (-3, 0, 0)
    jumped = watch.after_jump(contacts, known, state, replace(state, v=v))
    left = jumped.until - state.t
    np.testing.assert_allclose(left, [2.0, 4.0 / 2.25, 0.8])
    assert jumped.first == 1.8 and (closed(left, np.array([0.0, 0.5, 6.0])) <= closed(np.full(3, 2.0)) + 1e-12).all()
    x[2, 2], R[3] = 0.9, Rotation.from_rotvec((0.3, 0, 0)).as_matrix()
    left = watch.after_way(contacts, known, state, replace(state, x=x, R=R)) - state.t
    np.testing.assert_allclose(left[[0, 2]], [2.0, 2.0 - 0.6])
    assert (closed(left[1]) <= closed(np.array(2.0)) - 0.1).all() and left[1] > 1.6
    for now, share in (((2.0, 1.0, 4.0), 1.0), ((3.0, 1.0, 4.0), 0.5), ((2.0, 2.0, 4.0), 0.25), ((2.0, 1.0, 5.0), 0.5)):
        limits, until = watch._within(contacts, known, 1.0, now, Limits(4.0, 4.0, 16.0))
        np.testing.assert_allclose(until, 1.0 + 2.0 * share)
        assert (np.array(limits) == np.where(np.array(now) > known.limits, (4.0, 4.0, 16.0), known.limits)).all()


@pytest.mark.parametrize("kind", ["floor", "box", "capsules", "rope"])
def test_what_is_measured_is_open_for_as_long_as_its_rate_says(kind: str) -> None:
    """Ahead and back, however it is accelerated; what opens is so for longer than what closes."""
    model = mbs.Model()
    node = model.add_node((0.0, 0.0, 2.0))
    model.add(RigidBody(node, 1.0, [0.1] * 3))
    if kind == "rope":
        model.add(Rope(model.ground, node, 3.0))
    else:
        shape = Box((0.5, 0.4, 0.3)) if kind == "box" else Capsule(0.1, 0.4, (1, 0.2, 0))
        other = Plane() if kind == "floor" else Capsule(0.2, 0.6)
        model.add(Contact(model.ground, node, other, shape))
    system = mbs.System(model)
    contacts, rest = contacts_of(system), mbs.start(system)
    (part,) = contacts.of(None)
    longer, rng = 0, np.random.default_rng(1)
    for _ in range(12):
        v, push = np.zeros_like(rest.v), rng.uniform(0.5, 4.0)
        v[1, :3] = rng.normal(size=3)
        state = replace(rest, x=rest.x + [[0, 0, 0], rng.uniform(-0.5, 0.5, 3)], v=v)
        gap, times = part.batch.open_for(system.motion(state), (1e6, 0.0, push), system.length)
        rate = Selection(contacts, gap.ravel() == gap.min()).here(state).rates()[0, 0]
        longer += (times[0, 0] > times[1, 0]) == (rate > 0.0)
        least = np.inf
        for t in np.outer(times[:, 0] * [1.0, -1.0], (0.5, 1.0)).ravel():
            for way in rng.normal(size=(20, 3)):
                x = state.x.copy()
                x[1] += t * v[1, :3] + 0.5 * t * t * push * way / np.linalg.norm(way)
                least = min(least, contacts.gaps(system.motion(replace(state, x=x))).min())
        assert least > -1e-8
    assert longer == 12


def test_errors_beyond_all_numbers_end_no_run() -> None:
    """In many impacts what is estimated grows without end, and impacts are differentiated along it."""
    model = bouncing()
    begun = mbs.simulate(model, 0.2, 0.01).checkpoint
    alpha = begun.memory.alpha
    errors = alpha.errors._replace(values=np.full_like(alpha.errors.values, np.inf))
    off = replace(begun, memory=begun.memory._replace(alpha=alpha._replace(errors=errors)))
    runs = [mbs.simulate(model, 0.6, 0.01, initial=start) for start in (begun, off)]
    np.testing.assert_array_equal(*(run.x for run in runs))
    near, far = (run.stats.error for run in runs)
    assert far.warning and np.inf > far.length > max(far.displacement, near.length)  # no further than motions part
