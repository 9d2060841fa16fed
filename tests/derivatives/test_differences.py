"""How far differences go: over what the model and the question are curved, and not as a parameter's value says."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any, Literal

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.derivatives.parameters import AGREED, FINER, refined
from fem_mbs.elements import (
    Beam,
    BeamSection,
    Bushing,
    Force,
    Moment,
    PointMass,
    RevoluteJoint,
    RigidBody,
    Shell,
    ShellSection,
    SpringDamper,
)

TIGHT = mbs.GeneralizedAlpha(newton=mbs.Newton(force_tolerance=1e-12, constraint_tolerance=1e-14))


def hung(k: float = 50.0, anchor: float = 0.0, place: float = 0.0) -> mbs.Model:
    """A body on a spring of 0.1 m, wherever that is."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    body = model.add_node((place + 0.15, 0, 0.02), name="body")
    model.add(RigidBody(body, 1.0, (1, 1, 1)))
    model.add(SpringDamper(model.ground, body, k, 0.1, free_length=0.1, point_a=(anchor, 0, 0)))
    return model


def end(solution: Any) -> Any:
    """Place of the body."""
    return solution.position("body")[-1, [0, 2]]


@pytest.mark.parametrize("how", ["copies", "direct"])
def test_far_from_the_origin(how: str) -> None:
    """A derivative against a place does not depend on where the origin is; its value says nothing of the model."""
    near, far = (
        mbs.sensitivities(
            lambda anchor, place=place: hung(anchor=anchor, place=place),
            {"anchor": place},
            0.1,
            0.01,
            TIGHT,
            how=how,
            scale=None if place else {"anchor": 0.1},
        ).of(end)["anchor"]
        for place in (0.0, 1000.0)
    )
    np.testing.assert_allclose(far, near, rtol=0.0, atol=1e-7 * np.abs(near).max())


@pytest.mark.parametrize("how", ["copies", "direct"])
def test_zero_beside_what_is_large(how: str, caplog: pytest.LogCaptureFixture) -> None:
    """Of an array of a stiffness and a place that is zero, as of the two apart."""

    def build(p: Any) -> mbs.Model:
        return hung(*p)

    together = mbs.sensitivities(build, {"p": np.array([1e3, 0.0])}, 0.1, 0.01, TIGHT, how=how).of(end)["p"]
    apart = mbs.sensitivities(hung, {"k": 1e3, "anchor": 0.0}, 0.1, 0.01, TIGHT, how=how, scale={"anchor": 0.01}).of(
        end
    )
    np.testing.assert_allclose(together[:, 0], apart["k"], rtol=0.0, atol=1e-6 * np.abs(apart["k"]).max())
    np.testing.assert_allclose(together[:, 1], apart["anchor"], rtol=0.0, atol=1e-6 * np.abs(apart["anchor"]).max())
    assert not caplog.text


def wheel(spin: float = 200.0) -> mbs.Model:
    """Turns freely."""
    model = mbs.Model()
    rim = model.add_node((0, 0, 0), name="rim", angular_velocity=(0, 0, spin))
    model.add(RigidBody(rim, 2.0, (0.1, 0.1, 0.2)))
    model.add(RevoluteJoint(model.ground, rim, (0, 0, 1)))
    return model


@pytest.mark.ci
@pytest.mark.parametrize("how", ["direct", "copies"])
def test_many_turns(how: str) -> None:
    """Of a direction that turns by the angle spin t: exact, however large the angle is."""
    found = mbs.sensitivities(wheel, {"spin": 200.0}, 3.0, 0.01, TIGHT, how=how)
    direction = found.of(lambda s: s.rotation("rim")[-1, :2, 0])["spin"]
    np.testing.assert_allclose(direction, 3.0 * np.array([-np.sin(600.0), np.cos(600.0)]), rtol=0.0, atol=1e-8)


@pytest.mark.parametrize(("exact", "bend"), [(0.0, 3e5), (1.0, 3e5), (1.0, 1e3), (1e-4, 0.0)])
def test_limits_of_differences(exact: float, bend: float) -> None:
    """An odd function's are found at zero where its slope is none of what the first difference says, too."""
    steps = 0.01 * FINER ** np.arange(8)
    limit, apart = refined((np.sin(exact * h) + bend * h**3) / h for h in steps)
    assert abs(limit - exact) < 1e-5 and apart <= AGREED


def test_kinks_of_questions_are_named(caplog: pytest.LogCaptureFixture) -> None:
    """The mean of both sides, and a warning, where no step of the difference is short enough."""
    found = mbs.sensitivities(hung, {"k": 50.0}, 0.1, 0.01, TIGHT)
    here = end(found.solution)[0]
    found.of(end)
    assert not caplog.text
    change = found.of(lambda s: abs(end(s)[0] - here))["k"]
    assert abs(change) < 1e-6 and "the two sides of the difference against k differ" in caplog.text


def crane(p: float = 0.0, q: float = 3.0, power: float = 1.0) -> mbs.Model:
    """A point on two springs, where a number has a kink: in a force, a stiffness and a velocity, as ``q`` says.

    Of a higher ``power`` it has none, and is alike on both sides.
    """
    rise = max(p, 0.0) if power == 1.0 else 1e4 * p**power
    model = mbs.Model()
    hook = model.add_node((1, 0, 1), name="hook", velocity=(rise if q == 1.0 else 0.0, 0, 0))
    model.add(PointMass(hook, 2.0))
    model.fix(hook, translation=(False, True, False))
    for x in (0.0, 2.5):
        model.add(SpringDamper(model.ground, hook, 50.0 + (rise if q == 2.0 else 0.0), point_a=(x, 0, 0)))
    model.add(Force(hook, (rise if q == 3.0 else 0.0, 0, -4.0)))
    return model


@pytest.mark.parametrize(
    ("how", "q", "power"),
    [
        *product(("direct", "adjoint"), (1.0, 2.0, 3.0), (1.0, 2.0)),
        *product(("copies",), (1.0, 2.0, 3.0), (1.0,)),
        *product(("statics",), (2.0, 3.0), (1.0, 2.0)),
        ("modes", 2.0, 1.0),
    ],
)
def test_kinks_of_models_are_noted_and_no_extrema(how: str, q: float, power: float) -> None:
    """Steps that are shorter tell them from what bends, unless rounding hides both."""
    build, values = partial(crane, q=q, power=power), {"p": 0.0}
    if how == "adjoint":
        goal = mbs.objective(build, mbs.Final("hook.position.x"), ["p"], 0.1, 0.01, how=how, scale={"p": 1.0})
        goal([0.0])
        notes = goal.notes
    elif how in ("copies", "direct"):
        notes = mbs.sensitivities(build, values, 0.1, 0.01, how=how, scale={"p": 1.0}).notes
    else:
        found = mbs.sensitivities(build, values, of=mbs.statics, scale={"p": 1.0})
        notes = found.about(mbs.modes, count=1).notes if how == "modes" else found.notes
    assert bool(notes) == (power == 1.0)
    assert all(" p" in note and ("kink" in note or "two sides" in note) for note in notes)


def test_modes_of_what_is_thin_have_no_kink() -> None:
    """Shear of square elements is at an extremum, and stiff: it bends where modes are held, not where they follow."""

    def plate(length: float) -> mbs.Model:
        model = mbs.Model()
        steel = ShellSection.isotropic(1e-3, E=2.1e11, nu=0.3, rho=7800.0)
        shell = Shell.rectangle(model, (0, 0, 0), (length, 0, 0), (0, 1, 0), steel, elements=(2, 2))
        for node in shell.edge("left"):
            model.fix(node)
        return model

    found = mbs.sensitivities(plate, {"length": 1.0}, of=mbs.modes, count=1)
    (rate,) = found.of(lambda modes: np.log(modes.angular))["length"]
    assert not found.notes and abs(rate + 2.0) < 0.1


def wire(length: float = 1.0, load: float = 1.0) -> mbs.Model:
    """Of steel, 1 mm thick, bent by a moment."""
    model = mbs.Model("SE3", gravity=(0, 0, -9.81))
    section = BeamSection.circle(5e-4, E=2.1e11, nu=0.3, rho=7800.0)
    beam = Beam.line(model, (0, 0, 0), (length, 0, 0), section, elements=4, name="wire")
    model.fix(beam.nodes[0])
    moment = load * 2.1e11 * np.pi * 5e-4**4 / 4.0
    model.add(Moment(beam.nodes[-1], lambda t: (0, -moment * np.sin(5.0 * t), 0)))
    return model


@pytest.mark.ci
def test_strains_of_slender_parts_by_the_adjoint() -> None:
    """Against a length, though strains are millions of times larger where states are held than where they follow."""
    goals = [
        mbs.Integral(lambda s: s.energy.strain),
        mbs.Final(lambda s: s.energy.strain),
        mbs.Final(lambda s: s.section_forces("wire").reshape(len(s.t), 4, -1)[:, 2, 4]),
    ]
    direct, back = (
        mbs.objective(wire, goals, ["length", "load"], 0.1, 0.01, method=TIGHT, how=how)([1.0, 1.0])[1]
        for how in ("direct", "adjoint")
    )
    np.testing.assert_allclose(back, direct, rtol=2e-6)


@pytest.mark.ci
def test_gaps_in_large_models_by_the_adjoint() -> None:
    """What is far away does not matter to a signal that is curved over a gap of 0.1 mm."""

    def build(k: float, speed: float, away: float) -> mbs.Model:
        model = mbs.Model()
        node = model.add_node((0, 0, 0), name="node", velocity=(speed, 0, 0))
        model.add(RigidBody(node, 1.0, (1, 1, 1)))
        model.add(Bushing(model.ground, node, (k,) * 6, (1.0,) * 6))
        model.add(RigidBody(model.add_node((away, 0, 0)), 1.0, (1, 1, 1)))
        return model

    goal = mbs.Integral(lambda s: 1e-4 / (1e-4 - s.position("node")[:, 0]))
    near, far = (
        mbs.objective(
            lambda k, speed, away=away: build(k, speed, away), goal, ["k", "speed"], 0.1, 0.002, how="adjoint"
        )([4000.0, 5e-3])[1]
        for away in (0.01, 200.0)
    )
    np.testing.assert_allclose(far, near, rtol=1e-6)


def pushed(end: float = 0.1037, load: float = 5.0, jumps: bool = False) -> mbs.Model:
    """1 kg, pushed until ``end``."""
    model = mbs.Model()
    node = model.add_node((0, 0, 0), name="body")
    model.add(PointMass(node, 1.0))

    def push(t: float) -> tuple[float, float, float]:
        return (1.0 + load if t < end else 1.0, 0, 0)

    if jumps:
        push.jumps = [end]  # type: ignore[attr-defined]
    model.add(Force(node, push))
    return model


@pytest.mark.parametrize("how", ["copies", "direct", "adjoint"])
def test_an_instant_within_a_step_that_a_parameter_moves_is_named(
    how: Literal["copies", "direct", "adjoint"], caplog: pytest.LogCaptureFixture
) -> None:
    """No end of a step knows of it: what derivatives are zero of is said, and nothing of the load."""

    def place(solution: Any) -> Any:
        return solution.position("body")[:, 0]

    goal = mbs.objective(pushed, mbs.Final(place), ["end", "load"], 0.3, 0.01, how=how)
    goal([0.1037, 5.0])
    assert "no step depends on end" in caplog.text
    assert "no step depends on load" not in caplog.text
    caplog.clear()
    run = mbs.sensitivities(partial(pushed, jumps=True), {"end": 0.1037}, 0.3, 0.01, how="copies")
    assert not caplog.text
    assert run.of(place)["end"][-1] == pytest.approx(5.0 * (0.3 - 0.1037), rel=1e-6)
