"""Drag on beams: exact falls and deflections, and laws of users."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from catalogue import PLAIN
from minimal import assert_second_order

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import Beam, BeamSection, CrossFlow, Drag, FixedJoint, RevoluteJoint

GROUPS = ("R3xSO3", pytest.param("SE3", marks=pytest.mark.slow))
STIFF = BeamSection(EA=1e8, GA=(1e8, 1e8), GJ=1e7, EI=(1e7, 1e7), mass=1.5, inertia=(0.2, 0.1, 0.1))
RHO, WIDTH, CD, G = 1.2, 0.4, 1.3, 9.81
WATER = CrossFlow(RHO, WIDTH, coefficient=CD, tangential=0.2)


def bar(model: mbs.Model, elements: int = 2, section: BeamSection = STIFF, **options: Any) -> Beam:
    return Beam.line(model, (0, 0, 0), (2, 0, 0), section, elements, **options)


@pytest.mark.ci
@pytest.mark.parametrize("group", GROUPS)
def test_a_falling_bar_reaches_its_terminal_velocity(group: str) -> None:
    """In a wind from below: ``v = w - v_t tanh(g t/v_t + c)`` of the bar across the flow."""
    wind, terminal = 1.0, np.sqrt(2 * 1.5 * G / (RHO * WIDTH * CD))
    start = np.arctanh(wind / terminal)

    def error(h: float) -> float:
        model = mbs.Model(group, gravity=(0, 0, -G))
        beam = bar(model)
        model.add(Drag(beam, WATER, fluid=(0, 0, wind)))
        solution = mbs.simulate(model, 1.0, h)
        exact = wind - terminal * np.tanh(G * solution.t / terminal + start)
        return float(np.abs(solution.velocity(beam.nodes[1])[:, 2] - exact).max())

    assert_second_order(error, 0.02, 2e-3)


@pytest.mark.ci
@pytest.mark.parametrize("order", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_a_spinning_bar_slows_down(order: int) -> None:
    """``Omega = Omega_0/(1 + k Omega_0 t)`` with the moment ``1/2 rho c w int |s|^3 ds``, exact on any mesh."""
    model = mbs.Model()
    beam = bar(model, 2, order=order)
    for node in beam.nodes:
        node.velocity = (0, 3.0 * (node.position[0] - 1.0), 0)
        node.angular_velocity = (0, 0, 3.0)
    model.add(Drag(beam, CrossFlow(RHO, WIDTH, coefficient=CD)))
    model.add(RevoluteJoint(model.ground, beam.nodes[order], (0, 0, 1)))
    solution = mbs.simulate(model, 0.5, 0.005)
    inertia, k = 1.5 * 2.0**3 / 12 + 0.1 * 2, 0.5 * RHO * CD * WIDTH * 2 / 4
    exact = 3.0 / (1.0 + k / inertia * 3.0 * solution.t[-1])
    assert solution.angular_velocity(beam.nodes[0])[-1, 2] == pytest.approx(exact, abs=1e-4)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("group", GROUPS)
def test_wind_that_grows_along_a_stiff_cantilever(group: str, order: int) -> None:
    """Along and across the beam: force and moment are integrals of polynomials, exact on any mesh."""
    wind = np.array([3.0, 1.0, 2.0])
    model = mbs.Model(group)
    beam = bar(model, 2, order=order)
    foot = model.add(FixedJoint(model.ground, beam.nodes[0]))
    model.add(Drag(beam, WATER, fluid=lambda t, x: (0.5 + x[:, :1]) * wind))
    force, moment = (part[-1] for part in mbs.statics(model).reaction(foot))
    factor = 0.5 * RHO * WIDTH * np.array([0.2 * 3.0 * 3.0, CD * np.sqrt(5.0), 2 * CD * np.sqrt(5.0)])
    np.testing.assert_allclose(force, -factor * (2.5**3 - 0.5**3) / 3, rtol=1e-4)
    about = 2.0**4 / 4 + 2.0**3 / 3 + 0.25 * 2.0**2 / 2
    np.testing.assert_allclose(moment, [0, factor[2] * about, -factor[1] * about], rtol=1e-4, atol=1e-3)


def test_wind_is_that_of_places_in_the_world() -> None:
    """Also far away, where positions of a system count from a place near by."""
    forces = []
    for far in (0.0, 1e6):
        model = mbs.Model()
        beam = Beam.line(model, (far, 0, 0), (far + 2, 0, 0), STIFF, 2)
        foot = model.add(FixedJoint(model.ground, beam.nodes[0]))
        model.add(Drag(beam, WATER, fluid=lambda t, x, far=far: (x[:, :1] - far) * [0.0, 1.0, 2.0]))
        forces.append(mbs.statics(model).reaction(foot)[0][-1])
    np.testing.assert_allclose(forces[1], forces[0], rtol=1e-6, atol=1e-6)


def test_drag_takes_energy_in_a_fluid_at_rest() -> None:
    """A soft beam that is thrown, whatever it does."""
    model = mbs.Model("SE3")
    beam = bar(model, 6, PLAIN)
    rng = np.random.default_rng(1)
    for node in beam.nodes:
        node.velocity, node.angular_velocity = rng.normal(size=3), rng.normal(size=3)
    model.add(Drag(beam, WATER))
    energy = mbs.simulate(model, 0.5, 0.005).energy.total
    assert (np.diff(energy) < 0.0).all()


def lift(velocity: Array, s: Array) -> Array:
    """Force across the flow, in proportion to the share of the length."""
    return s[:, None] * np.stack([0 * s, -velocity[:, 2], velocity[:, 1]], axis=-1)


def test_a_law_is_asked_in_the_section_frame() -> None:
    """Wind along y on a beam along z: its section's y axis is the world's x here."""
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (0, 0, 2), STIFF, 4, y_axis=(1, 0, 0))
    foot = model.add(FixedJoint(model.ground, beam.nodes[0]))
    model.add(Drag(beam, lift, fluid=(0, 2.0, 0)))
    force, moment = (part[-1] for part in mbs.statics(model).reaction(foot))
    np.testing.assert_allclose(force, [2.0, 0, 0], atol=1e-6)  # the lift goes to -x, the joint holds it
    np.testing.assert_allclose(moment, [0, 8 / 3, 0], atol=1e-6)


@pytest.mark.parametrize(
    "value", [3.0, np.ones(3), np.full((4, 3), np.nan), 1j * np.ones((4, 3)), None, "force", np.ones((5, 3))]
)
def test_laws_of_other_shapes_are_refused_by_name(value: Any) -> None:
    model = mbs.Model()
    beam = bar(model, 2, name="mast")
    model.add(Drag(beam, lambda velocity, s: value), name="gust")
    with pytest.raises(mbs.LawError, match=r"Drag 'gust': its law must return finite numbers of shape \(4, 3\), rec"):
        mbs.simulate(model, 0.1, 0.01)


def test_bad_input_is_refused_by_name() -> None:
    model = mbs.Model()
    beam = bar(model, 2, name="mast")
    for call, message in (
        (lambda: Drag(beam.nodes[0], WATER), "Drag: beam must be a Beam, received node"),
        (lambda: Drag(beam, 3.0), "Drag on Beam 'mast': law must be a function of velocity and s, received 3.0"),
        (lambda: Drag(beam, WATER, fluid=3.0), "Drag on Beam 'mast': fluid must be three numbers, received 3.0"),
        (lambda: CrossFlow(-1.0, 1.0), "CrossFlow: density must be a positive number"),
        (lambda: CrossFlow(1.0, 0.0), "CrossFlow: width must be a positive number"),
        (lambda: CrossFlow(1.0, 1.0, coefficient=-0.1), "CrossFlow: coefficient must be at least 0"),
    ):
        with pytest.raises(mbs.ModelError, match=message):
            call()
    flow = CrossFlow(1.0, lambda s: 0.1 - s)
    with pytest.raises(mbs.LawError, match=r"width of CrossFlow must not be negative, received array"):
        flow.by_velocity(np.ones((2, 3)), np.array([0.05, 0.15]))
    model.add(Drag(beam, WATER, fluid=lambda t, x: np.ones(2)), name="gust")
    with pytest.raises(mbs.LawError, match=r"'gust': the velocity of its fluid at t = 0 s must return finite numbers"):
        mbs.simulate(model, 0.1, 0.01)


def test_laws_may_take_real_numbers_alone() -> None:
    """As those that fill arrays do: nothing is said of complex ones."""

    def own(velocity: Array, s: Array) -> Array:
        forces = np.zeros(velocity.shape)
        forces[:] = -velocity * np.abs(velocity)
        return forces

    found = []
    for law in (own, lambda velocity, s: -velocity * np.abs(velocity)):
        model = mbs.Model()
        beam = bar(model)
        model.add(Drag(beam, law, fluid=(0, 0, 5.0)))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found.append(mbs.simulate(model, 0.1, 0.02).x[-1])
    np.testing.assert_allclose(*found, atol=1e-9)
