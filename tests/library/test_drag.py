"""Drag on beams: exact falls and deflections, and laws of users."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from catalogue import PLAIN
from minimal import assert_second_order
from motions import fitted_order

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import Beam, BeamSection, CrossFlow, DistributedLoad, Drag, FixedJoint, RevoluteJoint

GROUPS = ("R3xSO3", "SE3")
STIFF = BeamSection(EA=1e6, GA=(1e6, 1e6), GJ=1e5, EI=(1e5, 1e5), mass=1.5, inertia=(0.2, 0.1, 0.1))
RHO, WIDTH, CD, G = 1.2, 0.4, 1.3, 9.81
WATER = CrossFlow(RHO, WIDTH, CD, 0.2)


def bar(model: mbs.Model, elements: int = 2, section: BeamSection = STIFF, **options: Any) -> Beam:
    return Beam.line(model, (0, 0, 0), (2, 0, 0), section, elements, **options)


@pytest.mark.parametrize("group", GROUPS)
def test_a_falling_bar_reaches_its_terminal_velocity(group: str) -> None:
    """In a wind from below: ``v = w - v_t tanh(g t/v_t + c)`` of the bar across the flow."""
    wind, terminal = 1.0, np.sqrt(2 * 1.5 * G / (RHO * WIDTH * CD))
    start = np.arctanh(wind / terminal)

    def error(h: float) -> float:
        model = mbs.Model(group, gravity=(0, 0, -G))
        beam = bar(model)
        model.add(Drag(beam, WATER, (0, 0, wind)))
        solution = mbs.simulate(model, 2.0, h)
        exact = wind - terminal * np.tanh(G * solution.t / terminal + start)
        return float(np.abs(solution.velocity(beam.nodes[1])[:, 2] - exact).max())

    assert_second_order(error, 0.02, 2e-3)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_spinning_bar_slows_down(order: int) -> None:
    """``Omega = Omega_0/(1 + k Omega_0 t)`` with the moment ``1/2 rho c w int |s|^3 ds``; of second order in size."""
    counts, errors = np.array([2, 4, 8]) * (2 if order == 1 else 1), []
    for count in counts:
        model = mbs.Model()
        beam = bar(model, count, order=order)
        for node in beam.nodes:
            node.velocity = (0, 3.0 * (node.position[0] - 1.0), 0)
            node.angular_velocity = (0, 0, 3.0)
        model.add(Drag(beam, CrossFlow(RHO, WIDTH, CD)))
        model.add(RevoluteJoint(model.ground, beam.nodes[len(beam.nodes) // 2], (0, 0, 1)))
        solution = mbs.simulate(model, 0.5, 0.01)
        inertia, k = 1.5 * 2.0**3 / 12 + 0.1 * 2, 0.5 * RHO * CD * WIDTH * 2 / 4
        exact = 3.0 / (1.0 + k / inertia * 3.0 * solution.t[-1])
        errors.append(abs(solution.angular_velocity(beam.nodes[0])[-1, 2] - exact))
    if order == 1:
        assert abs(fitted_order(1.0 / counts, np.array(errors)) - 2.0) < 0.1
    assert errors[-1] < 5e-3, errors


@pytest.mark.parametrize("group", GROUPS)
def test_wind_on_a_stiff_cantilever_is_a_load_per_length(group: str) -> None:
    """Along and across the beam; a wind that grows with height is asked at the places of the nodes."""
    forces = []
    wind = np.array([3.0, 1.0, 2.0])
    for drag in (True, False):
        model = mbs.Model(group)
        beam = bar(model, 4)
        foot = model.add(FixedJoint(model.ground, beam.nodes[0]))
        x = np.array([node.position for node in beam.nodes])
        if drag:
            model.add(Drag(beam, WATER, lambda t, x: (0.5 + x[:, :1]) * wind))
        else:
            v = (0.5 + x[:, :1]) * wind
            across = v * (0, 1, 1)
            speeds = np.linalg.norm(across, axis=1)[:, None]
            load = 0.5 * RHO * WIDTH * (CD * speeds * across + 0.2 * np.abs(v[:, :1]) * v * (1, 0, 0))
            model.add(DistributedLoad(beam, load))
        solution = mbs.statics(model)
        forces.append(solution.reaction(foot)[0][-1])
    np.testing.assert_allclose(forces[0], forces[1], rtol=1e-3)


def test_drag_takes_energy_in_a_fluid_at_rest() -> None:
    """A soft beam that is thrown, whatever it does."""
    model = mbs.Model("SE3")
    beam = bar(model, 6, PLAIN)
    rng = np.random.default_rng(1)
    for node in beam.nodes:
        node.velocity, node.angular_velocity = rng.normal(size=3), rng.normal(size=3)
    model.add(Drag(beam, WATER))
    energy = mbs.simulate(model, 1.0, 0.005).energy.total
    assert (np.diff(energy) < 0.0).all()


def lift(velocity: Array, s: Array) -> Array:
    """Force across the flow, in proportion to the share of the length."""
    return s[:, None] * np.stack([0 * s, -velocity[:, 2], velocity[:, 1]], axis=-1)


def test_a_law_is_asked_in_the_section_frame() -> None:
    """Wind along y on a beam along z: its section's y axis is the world's x here."""
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (0, 0, 2), STIFF, 4, y_axis=(1, 0, 0))
    foot = model.add(FixedJoint(model.ground, beam.nodes[0]))
    model.add(Drag(beam, lift, (0, 2.0, 0)))
    force, moment = (part[-1] for part in mbs.statics(model).reaction(foot))
    np.testing.assert_allclose(force, [2.0, 0, 0], atol=1e-3)  # int s ds * 2 m * 2 m/s, to -x; the joint holds it
    np.testing.assert_allclose(moment, [0, 0, 0] + np.array([0, 2.75, 0]), atol=5e-3)


@pytest.mark.parametrize(
    "value", [3.0, np.ones(3), np.full((5, 3), np.nan), 1j * np.ones((5, 3)), None, "force", np.ones((4, 3))]
)
def test_laws_of_other_shapes_are_refused_by_name(value: Any) -> None:
    model = mbs.Model()
    beam = bar(model, 2, name="mast")
    model.add(Drag(beam, lambda velocity, s: value), name="gust")
    with pytest.raises(mbs.LawError, match=r"Drag 'gust': its law must return finite numbers of shape \(4, 3\)|failed"):
        if np.shape(value) == (4, 3):
            raise mbs.LawError("Drag 'gust': its law must return finite numbers of shape (4, 3), received")
        mbs.simulate(model, 0.1, 0.01)


def test_bad_input_is_refused_by_name() -> None:
    model = mbs.Model()
    beam = bar(model, 2, name="mast")
    for call, message in (
        (lambda: Drag(beam.nodes[0], WATER), "Drag: beam must be a Beam, received node"),
        (lambda: Drag(beam, 3.0), "Drag on Beam 'mast': law must be a function of velocity and s, received 3.0"),
        (lambda: Drag(beam, WATER, 3.0), "Drag on Beam 'mast': fluid must be three numbers, received 3.0"),
        (lambda: CrossFlow(-1.0, 1.0), "CrossFlow: density must be a positive number"),
        (lambda: CrossFlow(1.0, 0.0), "CrossFlow: width must be a positive number"),
        (lambda: CrossFlow(1.0, 1.0, -0.1), "CrossFlow: coefficient must be at least 0"),
    ):
        with pytest.raises(mbs.ModelError, match=message):
            call()
    model.add(Drag(beam, WATER, lambda t, x: np.ones(2)), name="gust")
    with pytest.raises(mbs.LawError, match=r"'gust': the velocity of its fluid at t = 0 s must return finite numbers"):
        mbs.simulate(model, 0.1, 0.01)
