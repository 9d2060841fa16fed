"""Beams off the line of their nodes: eccentric sections, shear centres, rigid ends."""

from __future__ import annotations

import numpy as np
import pytest
from catalogue import AWAY, COUPLED, PLAIN
from motions import random_motion, residual
from scipy.sparse.linalg import spsolve

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import Beam, BeamSection, FixedJoint, Force, RigidBody
from fem_mbs.lie import so3

LENGTH = 2.0
interpolations = pytest.mark.parametrize("interpolation", ["SE3", "R3xSO3"])


def tip_motion(section: BeamSection, wrench: Array, interpolation: str, elements: int = 3) -> Array:
    """Small motion of the end of a cantilever along x, section axes as the world's, under a wrench there."""
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (LENGTH, 0, 0), section, elements, y_axis=(0, 1, 0), interpolation=interpolation)
    model.fix(beam.nodes[0])
    linear = mbs.linearize(model)
    load = np.zeros(linear.K.shape[0])
    load[-6:] = wrench
    return np.asarray(linear.node_motions(spsolve(linear.K, load))[-1])


@interpolations
def test_force_along_the_line_of_nodes_bends_an_eccentric_beam(interpolation: str) -> None:
    """The centroid is above: ``F L/EA + F e^2 L/EI`` along, ``F e L^2/2EI`` up; exact on any mesh."""
    EA, EI, e, F = PLAIN.stiffness[0, 0], PLAIN.stiffness[4, 4], 0.3, 0.7
    motion = tip_motion(PLAIN.shifted(0.0, e), np.array([F, 0, 0, 0, 0, 0]), interpolation)
    expected = [F * LENGTH / EA + F * e**2 * LENGTH / EI, 0, F * e * LENGTH**2 / (2 * EI), 0, -F * e * LENGTH / EI, 0]
    np.testing.assert_allclose(motion, expected, rtol=1e-12, atol=1e-13)


@interpolations
def test_force_twists_a_beam_about_its_shear_centre(interpolation: str) -> None:
    """By ``-F y L/GJ`` where it acts at the centroid, not at all where it acts at the shear centre."""
    y, F = 0.25, 0.7
    channel = BeamSection(30.0, (10.0, 12.0), 3.0, (4.0, 5.0), 1.3, (0.3, 0.1, 0.2), shear_center=(y, 0.0))
    at_centroid = tip_motion(channel, np.array([0, 0, F, 0, 0, 0]), interpolation)
    np.testing.assert_allclose(at_centroid[3], -F * y * LENGTH / 3.0, rtol=1e-12)
    at_shear_centre = tip_motion(channel, np.array([0, 0, F, y * F, 0, 0]), interpolation)
    straight = tip_motion(PLAIN, np.array([0, 0, F, 0, 0, 0]), interpolation)
    np.testing.assert_allclose(at_shear_centre, straight, rtol=1e-12, atol=1e-13)


@interpolations
def test_turned_section_is_the_section_with_other_axes(interpolation: str) -> None:
    """Also its mass: in any motion all forces agree."""
    angle = 0.6
    y = np.array([0.0, np.cos(angle), np.sin(angle)])
    forces = []
    for section, axis in ((COUPLED.with_damping(0.1).turned(angle), (0, 1, 0)), (COUPLED.with_damping(0.1), y)):
        model = mbs.Model(gravity=(1, 2, -9))
        Beam.line(model, (0, 0, 0), (LENGTH, 0, 0), section, 3, y_axis=axis, interpolation=interpolation)
        system = mbs.System(model)
        forces.append(residual(system, random_motion(system, 0)))
    np.testing.assert_allclose(forces[1], forces[0], rtol=0, atol=1e-12 * np.abs(forces[0]).max())


@pytest.mark.parametrize(("order", "interpolation"), [(1, "SE3"), (1, "R3xSO3"), (2, "SE3"), (3, "SE3")])
def test_a_curved_beam_is_the_same_by_nodes_inside_or_outside(order: int, interpolation: str) -> None:
    """A quarter of a ring with nodes on its inner edge and a shifted section: mass, bending in and out of its plane."""
    angle = np.linspace(0.0, 0.5 * np.pi, 13)
    away = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)

    def found(inside: float) -> list[float]:
        model = mbs.Model()
        section = BeamSection.rectangle(0.1, 0.05, E=2.1e11, nu=0.3, rho=7850.0).shifted(-inside, 0.0)
        arc = Beam(model.add_nodes((1.0 - inside) * away), section, -away, order=order, interpolation=interpolation)
        model.fix(model.add(arc).nodes[0])
        model.add(Force(arc.nodes[-1], (0, -1e3, 3e2), point=(0, 1.0, 0)))
        end = mbs.statics(model).state(-1)
        tip = end.x[-1] + end.R[-1] @ (inside * arc.nodes[-1].rotation.T @ away[-1]) - (0, 1, 0)
        return [*tip, *mbs.modes(model, 3).frequencies, model.check().masses[str(arc)]]

    tolerance = 1e-3 if interpolation == "R3xSO3" else 1e-9
    assert found(0.1) == pytest.approx(found(0.0), rel=tolerance)
    with pytest.raises(mbs.ModelError, match="beyond the centre of its curvature"):
        Beam(mbs.Model().add_nodes(away), PLAIN.shifted(1.5, 0.0), -away, order=order, interpolation=interpolation)


def test_rigid_ends_and_a_shifted_section_are_the_same_element() -> None:
    """On SE(3) exactly: both ends of an element off its nodes by the same vector, in any motion."""
    y, z = 0.3, -0.2
    turns = so3.exp(np.random.default_rng(1).normal(size=(2, 3)))
    ends = np.array([[0.0, 0, 0], [0.9, 0, 0]])
    forces = []
    for section, offset in ((COUPLED.shifted(y, z), None), (COUPLED, np.array([0.0, y, z]))):
        model = mbs.Model(gravity=(1, 2, -9))
        nodes = [model.add_node(place, R) for place, R in zip(ends, turns, strict=True)]
        points = {} if offset is None else dict(zip(("start", "end"), ends + offset, strict=True))
        model.add(Beam(nodes, section.with_damping(0.1), (0, 1, 0), **points))
        system = mbs.System(model)
        forces.append(residual(system, random_motion(system, 0)))
    np.testing.assert_allclose(forces[1], forces[0], rtol=0, atol=1e-12 * np.abs(forces[0]).max())


@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
@interpolations
def test_rigid_ends_do_what_fixed_joints_do(interpolation: str, group: str) -> None:
    """Two bodies and a curved beam between points of them: same equilibrium, same frequencies about it."""
    places = [AWAY.point((np.sin(a), 1 - np.cos(a), 0.0)) for a in np.linspace(0.0, 1.2, 6)]
    results = []
    for rigid in (True, False):
        model = mbs.Model(group, gravity=AWAY.vector((0.3, 0.2, -0.5)))
        hub = model.add_node(AWAY.point((-0.3, 0.2, 0.4)), so3.exp(np.array([0.2, 0.3, -0.9])))
        load = model.add_node(AWAY.point((1.2, 1.0, -0.3)), so3.exp(np.array([-0.6, 0.3, 0.5])))
        model.fix(hub)
        model.add(RigidBody(load, 0.7, (0.1, 0.2, 0.2)))
        model.add(Force(load, AWAY.vector((0.3, 0.8, 0.2))))
        inner = [model.add_node(place) for place in places[1:-1]]
        if rigid:
            chain, ends = [hub, *inner, load], {"start": places[0], "end": places[-1]}
        else:
            first, last = model.add_node(places[0]), model.add_node(places[-1])
            model.add(FixedJoint(hub, first))
            model.add(FixedJoint(load, last))
            chain, ends = [first, *inner, last], {}
        beam = model.add(Beam(chain, COUPLED, AWAY.vector((0, 0, 1)), interpolation=interpolation, **ends))
        solution = mbs.statics(model)
        modes = mbs.modes(model, 6, state=solution.state(-1))
        forces = solution.section_forces(beam)[-1]
        results.append([solution.position(load)[-1], forces.ravel(), modes.angular])
    assert np.linalg.norm(results[0][0] - AWAY.point((1.2, 1.0, -0.3))) > 0.1
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-8 * np.abs(other).max())
