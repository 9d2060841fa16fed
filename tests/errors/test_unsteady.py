"""Rotations that cannot be steady are refused, and what prevents them is named."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.elements import (
    Beam,
    BeamSection,
    Bushing,
    Force,
    JointSensor,
    Moment,
    ParallelAxesJoint,
    PointOnLineJoint,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    SpringDamper,
)

SPIN = 60.0
SECTION = BeamSection(1e5, 1e5, 100.0, (50.0, 80.0), 2.0, (2e-4, 1e-4, 1e-4))


def blade(speed: float | None = SPIN, hold: str = "joint", **options: object) -> tuple[mbs.Model, mbs.Node]:
    model = mbs.Model("SE3", **options)
    offset = 0.2 if hold == "off the axis" else 0.0
    beam = Beam.line(model, (offset, 0, 0), (offset + 1, 0, 0), SECTION, 4, y_axis=(0, 1, 0), name="blade")
    if hold == "joint":
        drive = None if speed is None else lambda t: speed * t
        model.add(RevoluteJoint(model.ground, beam.nodes[0], (0, 0, 1), drive=drive), name="hub")
    else:
        model.fix(beam.nodes[0])
    return model, beam.nodes[-1]


def gravity() -> mbs.Model:
    return blade(gravity=(0, 3, -9.81))[0]


def another_speed() -> mbs.Model:
    return blade(50.0)[0]


def root_held_by_the_model() -> mbs.Model:
    return blade(hold="fix")[0]


def root_held_off_the_axis() -> mbs.Model:
    return blade(hold="off the axis")[0]


def load_in_the_world() -> mbs.Model:
    model, tip = blade()
    model.add(Force(tip, (0, 1, 0)), name="wind")
    return model


def load_that_grows() -> mbs.Model:
    model, tip = blade()
    model.add(Force(tip, lambda t: (0, 0, 10 * t)), name="ramp")
    return model


def spring_to_the_ground() -> mbs.Model:
    model, tip = blade()
    model.add(SpringDamper(model.ground, tip, 1e-3, point_a=(2, 0, 0)), name="soft spring")
    return model


def torque() -> mbs.Model:
    model, tip = blade(None)
    model.add(Moment(tip, (0, 0, 5), frame="body"))
    return model


def thrust() -> mbs.Model:
    model = mbs.Model()
    node = model.add_node((0, 0, 0))
    model.add(RigidBody(node, 2.0, (1, 2, 3)))
    model.add(Force(node, (0, 0, 5), frame="body"))
    return model


def bearing_in_one_direction() -> mbs.Model:
    """An unbalanced body whose guide bears along x alone: as built, the reaction points there."""
    model = mbs.Model()
    node = model.add_node((0, 0, 0), name="body")
    model.add(RigidBody(node, 2.0, (1, 2, 3), center_of_mass=(0.1, 0, 0)))
    model.add(PointOnLineJoint(model.ground, node, (0, 1, 0)), name="guide")
    model.add(ParallelAxesJoint(model.ground, node, (0, 0, 1)))
    return model


def unbalance_on_a_mount() -> mbs.Model:
    model = mbs.Model()
    stator, rotor = model.add_node((0, 0, 0), name="stator"), model.add_node((0, 0, 0), name="rotor")
    model.add(RigidBody(stator, 5.0, (1, 1, 1)))
    model.add(RigidBody(rotor, 2.0, (1, 1, 2), center_of_mass=(0.01, 0, 0)))
    model.add(Bushing(model.ground, stator, [1e5] * 3 + [1e4] * 3))
    model.add(RevoluteJoint(stator, rotor, (0, 0, 1)), name="bearing")
    return model


def sensor_of_the_angle() -> mbs.Model:
    model, _ = blade()
    model.add(JointSensor(model["hub"]), name="angle")
    return model


def any_blade() -> mbs.Model:
    return blade()[0]


CASES: list[tuple[Callable[[], mbs.Model], dict[str, object], str]] = [
    (gravity, {}, r"gravity .* has the part \(0, 3, 0\) across the axis"),
    (another_speed, {}, r"'hub' does not turn .* 60 rad/s: .* 10 rad/s .* drive=lambda"),
    (
        root_held_by_the_model,
        {},
        r"'blade' .* holds on to node 'blade\[0\]', which rests; to clamp .*RevoluteJoint",
    ),
    (root_held_off_the_axis, {}, r"'blade' .* holds on to node 'blade\[0\]'"),
    (
        root_held_off_the_axis,
        {"turning": ["blade[0]", "blade[4]"]},
        r"holds node 'blade\[0\]' off the axis.*RevoluteJoint",
    ),
    (load_in_the_world, {}, r"Force 'wind' does not act alike .* frame=\"body\""),
    (load_that_grows, {}, r"Force 'ramp' does not act alike"),
    (spring_to_the_ground, {}, r"'soft spring' does not act alike"),
    (sensor_of_the_angle, {}, "'angle' has internal variables that do not stay"),
    (torque, {}, r"torque about the axis of 5 N m"),
    (thrust, {}, r"force along the axis of 5 N"),
    (bearing_in_one_direction, {}, "reaction of PointOnLineJoint 'guide' is not steady"),
    (unbalance_on_a_mount, {"turning": ["rotor"]}, "'bearing' does not turn"),
    (unbalance_on_a_mount, {}, r"Bushing"),
    (any_blade, {"turning": []}, "turning names no nodes"),
    (any_blade, {"turning": ["ground"]}, "turning names none but held nodes"),
    (any_blade, {"turning": ["tip"]}, "'tip'"),
    (any_blade, {"turning": "blade"}, "turning must be a list of Nodes or names"),
    (any_blade, {"angular_velocity": (SPIN, 0, 0)}, "'hub' does not turn"),
    (any_blade, {"point": (0, 0.1, 0)}, "'hub' does not turn"),
    (any_blade, {"angular_velocity": (0, 0)}, "angular_velocity"),
]


@pytest.mark.parametrize(("make", "options", "message"), CASES, ids=[case[0].__name__ for case in CASES])
def test_what_prevents_it_is_named(make: Callable[[], mbs.Model], options: dict[str, object], message: str) -> None:
    with pytest.raises(mbs.ModelError, match=message):
        mbs.steady_rotation(make(), **{"angular_velocity": (0, 0, SPIN), **options})  # type: ignore[arg-type]


@pytest.mark.slow
def test_beyond_the_speed_at_which_a_spring_gives_way() -> None:
    """``c l_0 = (c - m omega^2) l`` has no solution from 20 rad/s on; the one just below is kept."""
    model = mbs.Model("SE3")
    hub, slider = model.add_node((0, 0, 0)), model.add_node((0.6, 0, 0))
    model.add(RigidBody(hub, 2.0, (0.1, 0.1, 0.2)))
    model.add(RigidBody(slider, 1.0, (0.1, 0.1, 0.2)))
    model.add(RevoluteJoint(model.ground, hub, (0, 0, 1)))
    model.add(PrismaticJoint(hub, slider, (1, 0, 0)))
    model.add(SpringDamper(hub, slider, 400.0, free_length=0.5))
    with pytest.raises(
        mbs.ConvergenceError, match=r"(?s)nor from rest beyond \d+\.?\d* rad/s.*critical speed"
    ) as caught:
        mbs.steady_rotation(model, (0, 0, 25))
    kept = caught.value.solution
    assert kept is not None and not kept.success
    reached = kept.angular_velocity(hub)[0, 2]
    assert 10 < reached <= 20
    np.testing.assert_allclose(kept.position(slider)[0, 0], 200 / (400 - reached**2), rtol=1e-6)


def test_a_shape_that_is_not_unique() -> None:
    """Bodies that nothing keeps from turning about their own ends of a spring."""
    model = mbs.Model()
    nodes = [model.add_node((x, 0, 0)) for x in (0.5, -0.5)]
    for node in nodes:
        model.add(RigidBody(node, 1.0, (0.1, 0.1, 0.2)))
    model.add(SpringDamper(*nodes, 400.0))
    with pytest.raises(mbs.SingularSystemError, match="'node 2' can .*turn"):
        mbs.steady_rotation(model, (0, 0, 10))
