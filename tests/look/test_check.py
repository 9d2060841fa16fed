"""What a check of a model says, and that it says nothing of models that are in order."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catalogue import JOINTS

import fem_mbs as mbs
from fem_mbs.command import main
from fem_mbs.contracts import move_node
from fem_mbs.elements import (
    PID,
    Ball,
    Beam,
    BeamSection,
    Capsule,
    Contact,
    DistanceJoint,
    FixedJoint,
    Force,
    FrictionSpring,
    JointActuator,
    JointDrive,
    JointFriction,
    JointSensor,
    JointSpring,
    JointStop,
    Plane,
    PointMass,
    PositionMotor,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    SampledController,
    Shell,
    ShellSection,
    SmoothStep,
    SpeedMotor,
    SphericalJoint,
    SpringDamper,
    TorqueMotor,
    contacts_between,
)
from fem_mbs.initial.singular import explain_failure
from fem_mbs.lie import so3
from fem_mbs.model.check import Check
from fem_mbs.testing.stage import build

STEEL = {"E": 2.1e11, "nu": 0.3, "rho": 7850.0}
SCRIPT = """
import fem_mbs as mbs
from fem_mbs.elements import RevoluteJoint, RigidBody
model = mbs.Model(gravity=(0, 0, -9.81))
bar = model.add_node((1, 0, 0), name="bar")
model.add(RigidBody(bar, 2.0, (0.1, 0.2, 0.2)))
model.add(RevoluteJoint(model.ground, bar, (0, 1, 0), point=(0, 0, {height})), name="hinge")
solution = mbs.simulate(model, 0.1, 0.01)
print("has run")
"""


def pendulum(size: float = 1.0) -> mbs.Model:
    model = mbs.Model(gravity=(0, 0, -9.81))
    bar = model.add_node((0.5 * size, 0, 0), name="bar")
    inertia, center = size**2 * np.array([0.01, 0.2, 0.2]), size * np.array([0.1, 0.2, -0.3])
    model.add(RigidBody(bar, 2.0, inertia, center_of_mass=center))
    model.add(RevoluteJoint(model.ground, bar, (0, 1, 0), point=(0, 0, 0)), name="hinge")
    return model


def said(check: Check, *words: str) -> bool:
    """Whether one finding has all of the words."""
    return any(all(word in str(finding) for word in words) for finding in check.findings)


def test_what_begins_deep_and_pushes_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """Stops and contacts that yield: not what bears the weight, nor what a stiff spring presses; of any size."""

    def hinged(weights: float, size: float = 1.0) -> mbs.Model:
        model, lower = pendulum(size), weights * 2.0 * 9.81 * 0.6 / 1e4
        model.add(JointStop("hinge", lower=lower, upper=1.0, stiffness=1e4 * size), name="stop")
        return model

    def lying(weights: float) -> mbs.Model:
        model = mbs.Model(gravity=(0, 0, -9.81))
        ball = model.add_node((0, 0, 0.1 - weights * 2.0 * 9.81 / 1e5))
        model.add(RigidBody(ball, 2.0, [0.008] * 3))
        floor = Contact(model.ground, ball, Plane(), Ball(0.1), stiffness=1e5, exponent=1, restitution=0.5)
        model.add(floor, name="stop")
        return model

    for made, unit in ((hinged, "rad"), (partial(hinged, size=30.0), "rad"), (lying, "m")):
        assert made(1.0).check().ok and made(4.0).check().ok
        assert said(made(40.0).check(), "'stop'", f" {unit} deep at t = 0 s", "far more than all else")
        mbs.simulate(made(40.0), 1e-4, 1e-4)
        assert f"{unit} deep" in caplog.text
        caplog.clear()
    pressed = lying(40.0)
    pressed.add(SpringDamper(pressed.ground, pressed.nodes[1], 1e4, free_length=0.15, point_a=(0, 0, 0.2)))
    assert pressed.check().ok
    pressed.elements[-1].free_length = 100.0
    assert said(pressed.check(), "free length", "units")
    slips = pressed.add(
        FrictionSpring(pressed.ground, pressed.nodes[1], 1.0, 1.0, free_length=500.0, point_a=(0, 0, 9))
    )
    assert slips.free_length == 500.0 and said(pressed.check(), "'FrictionSpring 1'", "free length is 500", "units")


def test_links_whose_ends_touch_at_their_joints_jam() -> None:
    for ends_before in (0.0, 0.015):
        model = mbs.Model(gravity=(0, 0, -9.81))
        shape = Capsule(0.01, 0.08 - 2 * ends_before, (1, 0, 0))
        nodes = [model.add_node((0.05 + 0.1 * k, 0, 0)) for k in range(6)]
        links = [model.add(RigidBody(node, 0.05, (5e-6, 4e-5, 4e-5), shape=shape)) for node in nodes]
        model.add(RevoluteJoint(model.ground, nodes[0], (0, 1, 0), point=(0, 0, 0)))
        for k in range(1, 6):
            model.add(SphericalJoint(nodes[k - 1], nodes[k], point=(0.1 * k, 0, 0)))
        model.add(contacts_between(links))
        assert said(model.check(), "Contact 1", "jam") is not model.check().ok is bool(ends_before)


def test_angles_in_degrees_are_asked_about() -> None:
    """At the ends of stops, laws and drives; the same numbers of a slide are lengths."""
    for number, told in ((90.0, True), (120.0, True), (1.5, False)):
        parts = {
            "upper": JointStop("hinge", None, number, stiffness=1.0),
            "free": JointSpring("hinge", 1.0, free=-number),
            "reference, at its end,": PositionMotor("hinge", SmoothStep(number, 1.0), 1.0),
        }
        for name, part in parts.items():
            model = pendulum()
            model.add(part)
            assert said(model.check(), f"{name} is ", "degrees") == told, name
        for joint in (RevoluteJoint, PrismaticJoint):
            model = mbs.Model()
            bar = model.add_node((0, 0, 0))
            model.add(RigidBody(bar, 1.0, (1, 1, 1)))
            model.add(joint(model.ground, bar, (0, 0, 1), drive=SmoothStep(number, 1.0)))
            assert said(model.check(), "its drive", "degrees") == (told and joint is RevoluteJoint)


def test_nothing_can_move() -> None:
    """Bodies that are held alone, and joints with variables of their own between them."""
    model = mbs.Model()
    model.add(RigidBody(model.ground, 1.0, [1.0] * 3))
    assert said(model.check(), "nothing can move")
    model = pendulum()
    model.fix(model["bar"])
    check = model.check()
    assert check.redundant == check.equations == 5 and check.degrees_of_freedom == 0
    for joint in ("wire", "cam with a roller", "sliding joint on order 2"):
        model, _ = build(JOINTS[joint])
        for node in model.nodes[1:]:
            model.fix(node)
        assert model.check().unknowns


def test_a_model_that_is_in_order() -> None:
    check = pendulum().check()
    assert check.ok and "nothing looks wrong" in str(check)
    assert (check.unknowns, check.equations, check.redundant, check.degrees_of_freedom) == (6, 5, 0, 1)
    assert check.free_motions == 1 and "node 'bar'" in check.moving and "about (0, 1, 0)" in check.moving
    assert check.mass == pytest.approx(2.0) and check.gap == 0.0
    np.testing.assert_allclose(check.center_of_mass, (0.6, 0.2, -0.3), atol=1e-12)
    assert "nothing looks wrong" in check._repr_html_() and len(repr(check)) < 100


def test_masses_and_their_centre_include_what_is_held() -> None:
    """A clamped beam, half of whose first element rests on the ground, and a mass far from the origin."""
    model = mbs.Model()
    section = BeamSection.circle(radius=0.02, **STEEL)
    beam = Beam.line(model, (5, 0, 0), (5, 0, 2), section, elements=4, name="mast")
    model.fix(beam.nodes[0])
    model.add(PointMass(beam.nodes[-1], 3.0), name="lamp")
    check = model.check()
    own = section.mass * 2
    assert check.masses == pytest.approx({"Beam 'mast'": own, "PointMass 'lamp'": 3.0})
    np.testing.assert_allclose(check.center_of_mass, (5, 0, (own * 1 + 3 * 2) / (own + 3)), rtol=1e-12)
    assert check.free_motions == 0 and check.degrees_of_freedom == 24


def test_redundant_equations_are_counted_and_named() -> None:
    model = pendulum()
    model.add(RevoluteJoint(model.ground, model["bar"], (0, 1, 0), point=(0, 1, 0)), name="second")
    check = model.check()
    assert (check.equations, check.redundant, check.degrees_of_freedom) == (10, 5, 1)
    assert said(check, "repeat each other", "'hinge'", "'second'")
    assert not any(finding.refused for finding in check.findings)
    assert not said(check, "joints close every motion")
    model.add(RevoluteJoint(model.ground, model["bar"], (0, 1, 0), point=(9, 0, 0)), name="third")
    assert said(model.check(), "joints close every motion")
    model["third"].drive = lambda t: t
    assert not said(model.check(), "joints close every motion")


def test_frames_that_do_not_meet() -> None:
    model = pendulum()
    other = model.add_node((1, 0, 0.25), name="other")
    model.add(RigidBody(other, 1.0, (0.1, 0.1, 0.1)))
    model.add(SphericalJoint(model["bar"], other, point=(1, 0, 0)), name="ball")
    assert model.check().ok
    move_node(model["bar"], np.array([0.5, 0, 0.5]), np.eye(3))
    check = model.check()
    assert said(check, "'ball'", "do not meet", "translation z by") and said(check, "'hinge'", "do not meet")
    assert check.gap == pytest.approx(0.5 / np.ptp([0.0, 1.0]), rel=0.2)


def test_what_a_run_refuses_is_said() -> None:
    model = pendulum()
    arm = model.add_node((1, 0, 0), name="arm")
    model.add(RevoluteJoint(model["bar"], arm, (1, 0, 0)))
    assert said(model.check(), "node 'arm'", "can move without mass")
    assert any(finding.refused for finding in model.check().findings)
    assert said(mbs.Model().check(), "nothing can move")


def test_nodes_that_are_forgotten() -> None:
    model = pendulum()
    model.add_node((3, 0, 0), name="lost")
    for name in ("first", "second"):
        node = model.add_node((1, 0, 0), name=name)
        model.add(RigidBody(node, 1.0, (0.1, 0.1, 0.1)))
        model.add(SpringDamper(model["bar"], node, 10.0))
    check = model.check()
    assert said(check, "'lost'", "used by no element")
    assert said(check, "'first'", "'second'", "at the same place, but nothing connects them")
    model.add(FixedJoint(model["first"], model["second"]))
    assert not said(model.check(), "at the same place") and not said(model.check(), "on the ground")
    for name, part in {"lump": PointMass(model.ground, 1.0), "load": Force(model.ground, (0, 0, 1))}.items():
        model.add(part, name=name)
        assert said(model.check(), f"'{name}'", "on the ground does nothing")
    model.fix("bar")
    model.add(Force("bar", lambda t: (0, 0, t)), name="at the wall")
    model.fix("first", rotation=False)
    model.add(Force("first", (0, 0, 1)), name="at the pin")
    model.add(Force("first", (0, 0, 1), point=(2, 0, 0)), name="beside the pin")
    check = model.check()
    assert said(check, "'at the wall'", "'at the pin'", "that is held does nothing") and not said(check, "'beside")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"rho": 7.85e-6}, ("density is 7.85e-06", "kg/mm^3")),
        ({"rho": 7.85e-9}, ("density is 7.85e-09", "t/mm^3")),
        ({"E": 210.0}, ("Young's modulus is 210", "GPa")),
        ({"rho": 7.85}, ("density is 7.85", "g/cm^3")),
        ({"E": 2.1e5}, ("modulus is 2.1e+05", "N/mm^2")),
        ({"rho": 1100, "E": 1e4}, ()),  # a gel
        ({"rho": 30, "E": 1e6}, ()),  # a foam
        ({}, ()),
    ],
)
def test_units_of_sections(wrong: dict[str, float], words: tuple[str, ...]) -> None:
    model = mbs.Model(gravity=(0, 0, -9.81))
    section = BeamSection.rectangle(width=0.1, height=0.1, **(STEEL | wrong))
    model.fix(Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements=8, name="arm").nodes[0])
    plate = mbs.Model(gravity=(0, 0, -9.81))
    thin = ShellSection.isotropic(0.05, **{**STEEL, "nu": 0.0, **wrong})
    plate.fix(Shell.rectangle(plate, (0, 0, 0), (1, 0, 0), (0, 1, 0), thin, elements=(2, 2), name="arm").nodes[0])
    for check in (model.check(), plate.check()):
        assert said(check, "'arm'", *words) if words else not said(check, "units of the model"), str(check)
        assert str(check).count("units of the model") == bool(words) * len(wrong)


def test_a_model_in_millimetres_and_tonnes_is_right() -> None:
    model = mbs.Model(gravity=(0, 0, -9810.0))
    section = BeamSection.rectangle(width=100, height=100, E=2.1e5, nu=0.3, rho=7.85e-9)
    model.fix(Beam.line(model, (0, 0, 0), (1000, 0, 0), section, elements=8).nodes[0])
    assert model.check().ok
    for wrong in ({"rho": 7.85e-6}, {"E": 210.0}):
        model = mbs.Model(gravity=(0, 0, -9810.0))
        section = BeamSection.rectangle(width=100, height=100, **({"E": 2.1e5, "nu": 0.3, "rho": 7.85e-9} | wrong))
        model.fix(Beam.line(model, (0, 0, 0), (1000, 0, 0), section, elements=8).nodes[0])
        assert said(model.check(), "7.85e-9 t/mm^3")
    model.gravity = (0, 0, -9.81)
    assert said(model.check(), "if lengths are in mm, gravity is 9810")
    model = mbs.Model()  # where gravity does not tell
    sheet = Shell.rectangle(
        model, (0, 0, 0), (1000, 0, 0), (0, 500, 0), ShellSection.isotropic(5, **STEEL), elements=(4, 2)
    )
    section = BeamSection.rectangle(width=30, height=20, **STEEL)
    model.fix(Beam.line(model, (0, 0, 0), (1000, 0, 0), section, elements=8, start_node=sheet.nodes[0]).nodes[0])
    assert str(model.check()).count("if lengths are in mm, steel has 2.1e5 N/mm^2 and 7.85e-9 t/mm^3") == 1


def test_other_units() -> None:
    model = pendulum()
    body = model.add_node((1, 0, 0))
    model.add(RigidBody(body, 1.0, (1e5, 1e5, 1e5)), name="in kg mm^2")
    section = BeamSection.rectangle(width=100, height=100, **STEEL)
    Beam.line(model, (0.5, 0, 0), (0.5, 0, 1), section, elements=8, start_node=model["bar"], name="in mm")
    check = model.check()
    assert said(check, "'in kg mm^2'", "radius of gyration") and said(check, "'in mm'", "is 100 deep")


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_a_radius_of_gyration_is_seen_against_the_extent(unit: float) -> None:
    """In whatever unit: from 1e-5 to 5 times the extent it is none to doubt."""
    for share, doubted in ((0.9e-5, True), (1.1e-5, False), (4.5, False), (5.5, True)):
        model = mbs.Model()
        for place in (0.0, unit):
            model.add(RigidBody(model.add_node((place, 0, 0)), 3.0, [3.0 * (share * unit) ** 2] * 3))
        assert said(model.check(), "radius of gyration") is doubted, share
    alone = mbs.Model()
    alone.add(RigidBody(alone.add_node((0, 0, 0)), 1e-12, [4e-26] * 3))
    assert not said(alone.check(), "radius of gyration"), "one place tells of no size"


@pytest.mark.parametrize(("damping", "doubted"), [(0.006, True), (0.004, False)])
def test_a_ratio_that_is_taken_for_a_time_is_told(damping: float, doubted: bool) -> None:
    """Where the first vibration of a clamped beam or sheet is over-critical."""
    rod, sheet = BeamSection.rectangle(0.03, 0.02, **STEEL), ShellSection.isotropic(0.02, **STEEL)
    for over in (False, True):
        model = mbs.Model()
        if over:
            shell = Shell.rectangle(
                model, (0, 0, 0), (0.5, 0, 0), (0, 0.03, 0), sheet.with_damping(damping), elements=(6, 1)
            )
            ends = shell.edge("left")
        else:
            ends = [Beam.line(model, (0, 0, 0), (0.5, 0, 0), rod.with_damping(damping), y_axis=(0, 1, 0)).nodes[0]]
        model.fix(ends)
        assert said(model.check(), "creeps back; with_damping takes a time, not a ratio") is doubted
        assert (0.5 * damping * mbs.modes(model, 1).angular[0] > 1.0) == doubted


@pytest.mark.parametrize("order", [1, 2])
def test_a_section_off_a_curve_is_told(order: int) -> None:
    """Mass and stiffness are by the length of the line of the nodes: 20 % less than that of the centroids."""
    angle = np.linspace(0, np.pi, 13)
    for y, z in ((0.0, 0.2), (0.0, -0.2), (0.0, 0.01), (0.2, 0.0)):
        model = mbs.Model()
        nodes = model.add_nodes(np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1))
        own = BeamSection.rectangle(0.03, 0.02, **STEEL).shifted(y, z)
        arm = own.mass * np.cross(own.center, np.eye(3))  # m skew(center)^T
        turning = own.inertia + arm.T @ arm / own.mass
        section = BeamSection.general(own.stiffness, np.block([[own.mass * np.eye(3), arm], [arm.T, turning]]))
        model.fix(model.add(Beam(nodes, section, (0, 0, 1), order=order)).nodes[0])
        told = said(model.check(), f"theirs is 20% {'longer' if z > 0.0 else 'shorter'}")
        assert told is (abs(z) > 0.1)


def test_a_beam_that_rests_on_what_moves_is_told() -> None:
    """Unless it moves along, or is thrown as a whole, or what moves is in its middle, as where it is struck."""
    for turning in ([0], [-1], [0, 1, 2, 3, 4], [1, 2, 3, 4], [2], []):
        model = mbs.Model()
        beam = Beam.line(model, (0, 0, 0), (1, 0, 0), BeamSection.circle(0.02, **STEEL), elements=4, name="blade")
        for k in turning:
            beam.nodes[k].angular_velocity = (0, 0, 2)
        assert said(model.check(), "'blade': it begins at rest where") is (turning in ([0], [-1]))


def test_too_few_elements() -> None:
    def arm(elements: int, force: float, order: int = 1) -> Check:
        model = mbs.Model()
        section = BeamSection.rectangle(width=0.02, height=0.002, **STEEL)
        beam = Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements=elements, order=order, name="strip")
        model.fix(beam.nodes[0])
        model.add(Force(beam.nodes[-1], (0, 0, force)))
        return model.check()

    assert said(arm(1, 0.1), "'strip'", "bends in an arc and not in an S")
    assert arm(1, 0.1, order=3).ok and arm(8, 0.1).ok
    assert said(arm(4, 10.0), "'strip'", "may bend an element by", "give it some") and arm(60, 10.0).ok
    assert said(arm(4, 1e6), "hangs like a cable", "look at its loads, its section and their units")


def test_a_point_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """Of a cone the second frequency is ``21.146 sqrt(EI/m)/L^2`` (Kirchhoff 1879); with four elements 24 % less."""
    L, thick = 2.0, BeamSection.circle(0.01, **STEEL)
    for tip, pointed in ((1e-6, True), (1e-3, False)):
        model = mbs.Model()
        section = thick, BeamSection.circle(tip, **STEEL)
        cone = Beam.line(model, (0, 0, 0), (L, 0, 0), section, elements=4, order=3, name="cone")
        model.fix(cone.nodes[0])
        caplog.clear()
        found = mbs.modes(model, 3).angular[2] * L**2 * np.sqrt(thick.mass / thick.stiffness[4, 4])
        assert ("bending stiffness falls to" in caplog.text) is pointed
        assert said(model.check(), "'cone'", "along element 4 of 4 bending stiffness falls to") is pointed
        assert (found < 0.8 * 21.146) == pointed


def blown() -> mbs.Model:
    model = mbs.Model()
    section = BeamSection.circle(radius=0.002, E=70e9, nu=0.3, rho=2700)
    wire = Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements=2, name="wire")
    model.fix(wire.nodes[0])
    model.add(Force(wire.nodes[2], lambda t: (0, 0, 0 if t < 0.05 else 1e9)), name="blow")
    return model


BLOW = "with time alone, the forces of Force 'blow' (from 0 to 1e+09)"


@pytest.mark.one
@pytest.mark.parametrize(("rod", "locks"), [(0.4, False), (0.2, True)])
def test_a_drive_to_where_a_mechanism_locks_is_told(rod: float, locks: bool) -> None:
    model = mbs.Model()
    crank = model.add_node((0.3, 0, 0), name="crank")
    slider = model.add_node((0.3 + rod, 0, 0), name="slider")
    model.add(RigidBody(crank, 1.0, (0.01, 0.01, 0.01)))
    model.add(RigidBody(slider, 1.0, (0.01, 0.01, 0.01)))
    drive = SmoothStep(3.0, duration=1.0)
    model.add(RevoluteJoint(model.ground, crank, (0, 0, 1), point=(0, 0, 0), drive=drive), name="motor")
    model.add(PrismaticJoint(model.ground, slider, (1, 0, 0)))
    model.add(DistanceJoint(crank, slider))
    model.add(Force(slider, lambda t: (1e30 * (t > 0.5 and not locks), 0, 0)))
    with pytest.raises(mbs.FemMbsError) as failed:
        mbs.simulate(model, 1.0, 0.05)
    assert ("RevoluteJoint 'motor' drives the mechanism to where it locks" in str(failed.value)) is locks


def test_what_changed_last_is_part_of_a_failure() -> None:
    with pytest.raises(mbs.FemMbsError) as caught:
        mbs.simulate(blown(), 0.1, 0.01, mbs.GeneralizedAlpha(newton=mbs.Newton(max_iterations=4)))
    assert "worst equations" in str(caught.value) and "changed most: node 'wire[" in str(caught.value)
    assert BLOW in str(caught.value)


@pytest.mark.parametrize(("t", "said"), [(0.05, f"turns too far\n  changed most: {BLOW}"), (0.04, "turns too far")])
def test_what_changed_is_told_too_where_an_element_refuses_the_motion(t: float, said: str) -> None:
    system = mbs.System(blown())
    state = mbs.start(system, mbs.GeneralizedAlpha())
    assert explain_failure(system, state, t, mbs.MotionError("turns too far"), "") == said


@pytest.mark.parametrize(
    ("ramp", "words"),
    [
        (True, "the step was cut"),
        pytest.param(False, "worst equations: node 'wire[2]' force z", marks=pytest.mark.slow),
    ],
)
def test_failed_statics_say_what_changed_and_what_is_worst(ramp: bool, words: str) -> None:
    model = mbs.Model()
    section = BeamSection.circle(radius=0.002, E=70e9, nu=0.3, rho=2700)
    wire = Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements=2, name="wire")
    model.fix(wire.nodes[0])
    model.add(Force(wire.nodes[2], (0, 0, 1e9)), name="blow")
    with pytest.raises(mbs.ConvergenceError) as caught:
        mbs.statics(model, ramp=ramp)
    assert words in str(caught.value) and "changed most: node 'wire[2]' (moved by" in str(caught.value)


def test_the_doctor_sees_the_models_of_a_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(height=0), encoding="utf-8")
    assert main(["doctor", str(script)]) == 0
    printed = capsys.readouterr().out
    assert "nothing looks wrong" in printed and "has run" not in printed
    script.write_text(MAKES + "other = mbs.Model()\n", encoding="utf-8")
    assert main(["doctor", str(script)]) == 1
    printed = capsys.readouterr().out
    assert "nothing looks wrong" in printed and "nothing can move" in printed and "has run" in printed
    assert mbs.simulate.__module__ == "fem_mbs.run.simulate"


MAKES = SCRIPT.format(height=0).replace("solution = mbs.simulate(model, 0.1, 0.01)\n", "")


@pytest.mark.parametrize(
    ("source", "status", "words"),
    [
        ("print('no model')", 2, "makes no model; call what builds it"),
        ("print(1", 2, "SyntaxError: '(' was never closed"),
        ("import nonesuch", 2, "line 1: import nonesuch\nModuleNotFoundError: No module named 'nonesuch'"),
        ("raise SystemExit('usage: it')", 2, "usage: it"),
        (MAKES, 0, "has run\nModel on R3xSO3"),
        (f"{MAKES}\nmodels = [model]\ndel model", 0, "has run\nModel on R3xSO3"),
        (f"{MAKES}\nraise SystemExit(0)", 0, "has run\nModel on R3xSO3"),
        ("raise SystemExit(2)", 2, "ends by sys.exit before it makes a model"),
        (f"{MAKES}\n1 / 0", 2, "line 10: 1 / 0\nZeroDivisionError: division by zero"),
        (f"{MAKES}model.add_node((0, 0, 0), name='bar')", 2, "ModelError: the name 'bar' is taken"),
        (SCRIPT.format(height=0) + "raise SystemExit(3)", 0, "nothing looks wrong"),
    ],
)
def test_the_doctor_says_what_is_wrong_of_a_script(
    source: str, status: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script.py"
    script.write_text(source, encoding="utf-8")
    assert main(["doctor", str(script)]) == status
    printed = capsys.readouterr().out
    assert words in printed and "Traceback" not in printed, printed


def test_the_doctor_misses_a_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", str(tmp_path / "missing.py")]) == 2 and main(["doctor", str(tmp_path)]) == 2
    printed = capsys.readouterr().out
    assert "missing.py: there is no such file" in printed and f"{tmp_path}: a folder; name a script in it" in printed


def test_what_is_there_twice_or_far_away_is_named() -> None:
    model = pendulum()
    for again in (
        RigidBody(model["bar"], 2.0, (0.01, 0.2, 0.2), (0.1, 0.2, -0.3)),
        RigidBody(
            model["bar"], inertia=[0.01, 0.2, 0.2], mass=2, center_of_mass=np.array([0.1, 0.2, -0.3]), shape=None
        ),
    ):
        model.add(again, name="again")
        assert said(model.check(), "'again'", "same as RigidBody 'RigidBody 1'")
        model.remove("again")
    model.add(RigidBody(model["bar"], 2.5, (0.01, 0.2, 0.2), center_of_mass=(0.1, 0.2, -0.3)), name="another")
    assert model.check().ok
    other = model.add_node((0.5, 0, 1), name="other")
    model.add(RevoluteJoint(model["bar"], other, (1, 0, 0), point=(500, 0, 0)), name="pin")
    assert said(model.check(), "'pin'", "its point is 500 away from node 'other'")
    assert said(model.check(), "node 'other'", "no mass")
    turned = model.add_node((0.7, 0, 1), so3.exp(np.array([0.3, -0.2, 0.7])), name="turned")
    motor = model.add(RevoluteJoint(model["bar"], turned, (0.2, 0.5, -0.7)), name="motor")
    model.add(JointActuator(motor, 37.0))
    assert said(model.check(), "node 'turned'", "no mass")


@pytest.mark.parametrize("place", [0.5, 0.0])
def test_units_of_a_point_are_seen_with_one_body(place: float) -> None:
    """Also at the origin, where its own size is all that tells lengths: not a bob on a long rod."""
    model = mbs.Model()
    bar = model.add_node((place, 0, 0))
    model.add(RigidBody(bar, 2.0, (1e-4, 0.17, 0.17)))
    pin = model.add(RevoluteJoint(model.ground, bar, (0, 1, 0), point=(500, 0, 0)), name="pin")
    assert said(model.check(), "'pin'", "away from node", "units")
    model.remove(pin)
    model.elements[0].inertia = [4e-5] * 3
    model.add(RevoluteJoint(model.ground, bar, (0, 1, 0), point=(1, 0, 0)))
    assert model.check().ok


def test_what_acts_along_a_driven_coordinate_is_told() -> None:
    """By the drive of a joint or another one; what senses it is in order."""
    for drive in ({"drive": SmoothStep(1.0, 1.0)}, {}):
        model = mbs.Model()
        bar = model.add_node((0, 0, 0))
        model.add(RigidBody(bar, 1.0, (1, 1, 1)))
        model.add(RevoluteJoint(model.ground, bar, (0, 0, 1), **drive), name="hinge")
        if not drive:
            model.add(JointDrive("hinge", lambda t: 90.0 * min(t, 1.0)), name="turn")
            assert said(model.check(), "'turn'", "degrees")
            model["turn"].law = SmoothStep(1.0, 1.0)
        model.add(JointSensor("hinge"))
        assert model.check().ok
        for part in (TorqueMotor("hinge", 1.0), JointSpring("hinge", 1.0)):
            model.add(part, name="push")
            assert said(model.check(), "'push'", "prescribes 'rotation z'")
            model.remove("push")


def test_springs_motors_and_loads_without_strength() -> None:
    """They are told whatever they were given zero as; a function of time may be zero at first."""
    model = pendulum()
    bar, idle = model["bar"], "does nothing: "
    for made, words in (
        (SpringDamper(model.ground, bar, 0.0, damping=0.0, point_a=(5, 0, 0)), "stiffness and damping and force are"),
        (JointSpring("hinge", 0, free=1.0), "stiffness and damping are zero"),
        (TorqueMotor("hinge", 0), "torque is zero"),
        (JointFriction("hinge", 0.0, preload=1.0, radius=0.01), "kinetic and static and viscous are zero"),
        (Force(bar, np.zeros(3), point=(1, 0, 0)), "value is zero"),
    ):
        model.add(made, name="idle")
        assert said(model.check(), "'idle'", idle + words)
        model.remove("idle")
    model.add(Force(bar, lambda t: (t, 0, 0)))
    model.add(SpringDamper(model.ground, bar, 0.0, force=lambda t, length, speed: 0.0, point_a=(5, 0, 0)))
    assert model.check().ok


def test_controllers_that_do_nothing() -> None:
    """What nothing reads is named, and moves nothing; an actuator whose integrator is idle holds its joint."""
    model = pendulum()
    angle = model.add(JointSensor("hinge"))
    control = model.add(PID(0.0 - angle, P=5.0), name="control")
    check = model.check()
    assert said(check, "'control'", "nothing reads it") and check.free_motions == 1
    assert check.moving.startswith("node 'bar'")
    model.add(SampledController(angle, 0.01, lambda t, x, u: u[0]), name="sampled")
    assert said(model.check(), "'control', SampledController 'sampled'", "nothing reads it")
    model.remove("sampled")
    model.add(JointActuator("hinge", control))
    assert model.check().ok and model.check().free_motions == 0
    control.P = -5.0
    assert said(
        model.check(), "JointActuator", "error of PID 'control' grows with JointSensor", "reference minus measured"
    )
    control.P = 0.0
    assert said(model.check(), "'control'", "gains are zero") and model.check().free_motions == 1
    model.add(JointFriction("hinge", 0.5, radius=20.0), name="pin")
    assert said(model.check(), "'pin'", "radius is 20", "units")


def test_units_of_a_section_by_its_stiffness() -> None:
    """Of steel in SI units, in N/mm^2, and in two consistent systems of millimetres without gravity."""

    def check(length: float, modulus: float, density: float) -> Check:
        side = 0.1 * length
        area, second = side**2, side**4 / 12
        section = BeamSection(
            EA=modulus * area,
            GA=0.3 * modulus * area,
            GJ=0.5 * modulus * second,
            EI=modulus * second,
            mass=density * area,
            inertia=np.array([2, 1, 1]) * density * second,
        )
        model = mbs.Model()
        model.fix(Beam.line(model, (0, 0, 0), (length, 0, 0), section, elements=8, name="arm").nodes[0])
        return model.check()

    assert check(1.0, 2.1e11, 7850).ok and check(1e3, 2.1e5, 7.85e-9).ok and check(1e3, 2.1e8, 7.85e-6).ok
    assert said(check(1.0, 2.1e5, 7850), "'arm'", "modulus is 2.1e+05 at a density of", "N/mm^2")
    assert said(check(1.0, 2.1e11, 7.85), "'arm'", "density is 7.85 at a Young's modulus of", "g/cm^3")


@pytest.mark.parametrize(
    "make", [lambda j: SpeedMotor(j, 1.0, proportional=1.0), JointSensor, lambda j: JointSpring(j, 1.0)]
)
def test_what_acts_on_a_joint_that_was_never_added(make: Any, caplog: pytest.LogCaptureFixture) -> None:
    """By the check, and by the run, in which the part falls."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    bar = model.add_node((0.5, 0, 0), name="bar")
    model.add(RigidBody(bar, 2.0, (0.1, 0.2, 0.2)))
    hinge = RevoluteJoint(model.ground, bar, (0, 1, 0), point=(0, 0, 0))
    model.add(make(hinge), name="own")
    words = "acts on RevoluteJoint on node 'ground', node 'bar', which was made and not added"
    assert [words in finding.text and "'own'" in finding.of[0] for finding in model.check().findings] == [True]
    mbs.simulate(model, 0.02, 0.01)
    assert caplog.text.count(words) == 1
    model.add(hinge)
    assert model.check().ok


def test_what_waits_for_names_is_not_computed_with() -> None:
    """Sensors that model.add has not made have no signal yet: the error says so, whichever way they are asked."""
    for compute in (
        lambda s: 1.0 - s,
        lambda s: s - 1.0,
        lambda s: 2.0 * s,
        lambda s: s / 2.0,
        lambda s: -s,
        lambda s: s + s,
    ):
        with pytest.raises(mbs.ModelError, match="JointSensor on 'hinge' cannot be computed with yet.*add it first"):
            compute(JointSensor("hinge", "coordinate"))


def test_all_nodes_of_an_edge_are_fixed_at_once() -> None:
    model = mbs.Model()
    nodes = [model.add_node((k, 0, 0), name=f"n{k}") for k in range(3)]
    model.fix([nodes[0], "n2"], rotation=False)
    assert [node.fixed_translation for node in nodes] == [True, False, True] and not nodes[0].fixed_rotation
