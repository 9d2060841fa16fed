"""A run that starts from an equilibrium stays there, and swings about it with the frequency of its modes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection, Bushing, Force, JointSpring, RevoluteJoint, RigidBody


def loaded(group: str) -> tuple[mbs.Model, mbs.Node]:
    """A ruler in a hinge that is held, bent by its weight and by a force, both ways."""
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    section = BeamSection.rectangle(0.03, 0.002, 210e9, 0.3, 7850)
    ruler = Beam.line(model, (0, 0, 0), (1, 0, 0), section, 12)
    model.add(RevoluteJoint(model.ground, ruler.nodes[0], (0, 1, 0), drive=lambda t: 0.0))
    model.add(Force(ruler.nodes[-1], (0, 0.3, -0.5)))
    return model, ruler.nodes[-1]


@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
@pytest.mark.parametrize("formulation", ["stabilized", "index3", "index2"])
def test_an_equilibrium_stays(formulation: str, group: str) -> None:
    """Bent by 0.17 m, the end moves by what Newton's tolerance leaves; multipliers are those of the equilibrium."""
    model, tip = loaded(group)
    still = mbs.statics(model)
    assert still.displacement(tip)[-1, 2] < -0.15
    solution = mbs.simulate(model, 1.25, 0.01, mbs.GeneralizedAlpha(formulation=formulation), initial=still.state(-1))
    assert solution.t[0] == 1.0
    assert np.abs(solution.x - solution.x[0]).max() < 1e-9
    np.testing.assert_allclose(solution.multipliers_all[-1], still.multipliers_all[-1], rtol=0, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("group", ["R3xSO3", pytest.param("SE3", marks=pytest.mark.slow)])
def test_it_swings_with_the_frequency_of_the_stressed_modes(group: str) -> None:
    """A small push: the period of the free end is that of the first mode about the equilibrium."""
    model, tip = loaded(group)
    state = mbs.statics(model).state(-1)
    modes = mbs.modes(model, 1, state)
    free = np.where(mbs.System(model).free, 1.0, 0.0)
    body = modes.shapes[0].copy()
    for part in (slice(0, 3), slice(3, 6)):
        body[:, part] = np.vecmat(body[:, part], state.R)
    push = 1e-5 * free * body / np.abs(body).max()
    if group == "R3xSO3":
        push[:, :3] = np.matvec(state.R, push[:, :3])
    state = replace(state, v=push)
    solution = mbs.simulate(model, 2.0, 2e-3, mbs.GeneralizedAlpha(1.0), initial=state)
    z = solution.position(tip)[:, 2] - solution.position(tip)[0, 2]
    crossings = np.flatnonzero(z[1:-1] * z[2:] < 0)
    t = solution.t[crossings + 1] - z[crossings + 1] * np.diff(solution.t)[0] / (z[crossings + 2] - z[crossings + 1])
    assert len(t) >= 2
    np.testing.assert_allclose(0.5 / np.diff(t), modes.frequencies[0], rtol=2e-3)


@pytest.mark.parametrize(("rate", "told"), [(2.0, True), (0.0, False), (4e-15, False)])
def test_a_drive_that_jolts_what_was_at_rest_says_so(rate: float, told: bool, caplog: pytest.LogCaptureFixture) -> None:
    """The load factor of a path is the time of its states: a drive is there where it is at that time."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    section = BeamSection.rectangle(0.03, 0.02, 210e9, 0.3, 7850)
    ruler = Beam.line(model, (0, 0, 0), (1, 0, 0), section, 2)
    model.add(RevoluteJoint(model.ground, ruler.nodes[0], (0, 1, 0), drive=lambda t: rate * t), name="hinge")
    mbs.simulate(model, 1.01, 0.01, initial=mbs.statics(model).state(-1))
    said = "RevoluteJoint 'hinge' changes the velocities of the initial state at once, as by a blow"
    assert (said in caplog.text) is told and ("An equilibrium has its load factor for time" in caplog.text) is told


@pytest.mark.ci
def test_a_run_that_goes_on_from_a_state_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    model = mbs.Model(gravity=(0, 0, -9.81))
    section = BeamSection.rectangle(0.03, 0.002, 210e9, 0.3, 7850)
    ruler = Beam.line(model, (0, 0, 0), (1, 0, 0), section, 4)
    model.add(RevoluteJoint(model.ground, ruler.nodes[0], (0, 1, 0)))
    method = mbs.GeneralizedAlpha(formulation="index3")
    state = mbs.simulate(model, 0.5, 0.05, method).state(-1)
    caplog.clear()
    mbs.simulate(model, 0.6, 0.05, method, initial=state)
    assert "blow" not in caplog.text


@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_velocities_of_the_model_that_an_equilibrium_forgets(group: str, caplog: pytest.LogCaptureFixture) -> None:
    """A cart that settles on springs, whose wheel spins: at rest by its state, and as given by what is told."""
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    cart = model.add_node((0, 0, 1), velocity=(3.0, 0, 0), name="cart")
    wheel = model.add_node((0, 0.2, 1), Rotation.from_rotvec((0.3, 0, 0)), (3.0, 0, 0), (50.0, 0, 0), name="wheel")
    for node in (cart, wheel):
        model.add(RigidBody(node, 10.0, (1.0, 1.0, 1.0)))
    model.add(Bushing(model.ground, cart, (1e3, 1e3, 1e4, 1e3, 1e3, 1e3)))
    spin = model.add(RevoluteJoint(cart, wheel, (1, 0, 0)))
    model.add(JointSpring(spin, 1.0))
    state = mbs.statics(model, load_end=0, ramp=False).state(-1)
    assert state.x[1, 2] < 0.99 and not caplog.text
    resting = mbs.simulate(model, 0.02, 0.01, initial=state)
    assert "simulate: the state given is at rest" in caplog.text and "node 'cart', node 'wheel' play no" in caplog.text
    assert not resting.velocity(cart)[0].any()
    caplog.clear()
    moving = mbs.simulate(model, 0.02, 0.01, initial=replace(state, v=mbs.start(mbs.System(model)).v))
    assert not caplog.text
    np.testing.assert_allclose(moving.velocity(wheel)[0], (3.0, 0, 0), rtol=0, atol=1e-6)
    np.testing.assert_allclose(moving.angular_velocity(wheel)[0], (50.0, 0, 0), rtol=0, atol=1e-6)
