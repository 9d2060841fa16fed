"""Nodes that are held along and about some axes of the world."""

from __future__ import annotations

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection, Force, RigidBody
from fem_mbs.lie import so3

GROUPS = ("R3xSO3", "SE3")
FLAGS = [((True, False, True), True), (True, (False, True, True)), ((False, True, False), (True, True, False))]


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize(("translation", "rotation"), FLAGS)
def test_what_is_held_stays_and_the_rest_moves(translation: object, rotation: object, group: str) -> None:
    model = mbs.Model(group, gravity=(1.0, 2.0, -3.0))
    node = model.add_node((1, 2, 3), so3.exp(np.array([0.3, -0.4, 0.5])))
    model.add(RigidBody(node, 1.0, (0.4, 0.3, 0.5), center_of_mass=(0.1, 0.2, 0.3)))
    model.fix(node, translation, rotation)
    solution = mbs.simulate(model, 0.2, 0.01)
    moved = np.abs(solution.displacement(node)[-1]) > 1e-6
    np.testing.assert_array_equal(moved, ~np.broadcast_to(translation, 3))
    turned = solution.rotation(node)[-1] @ node.rotation.T
    spins = np.abs(so3.log(turned)) > 1e-6
    assert spins.any() == (not np.all(rotation))
    if np.sum(rotation) == 2:
        np.testing.assert_array_equal(spins, ~np.array(rotation))


def test_a_planar_frame_stays_in_its_plane() -> None:
    """A beam that would buckle sideways is held in its plane, and then carries more."""
    section = BeamSection.rectangle(width=0.01, height=0.03, E=70e9, nu=0.3, rho=2700)
    loads = []
    for held in (False, True):
        model = mbs.Model()
        beam = Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements=4, y_axis=(0, 1, 0), order=3)
        model.fix(beam.nodes[0])
        if held:
            for node in beam.nodes[1:]:
                model.fix(node, translation=(False, True, False), rotation=(True, False, True))
        model.add(Force(beam.nodes[-1], (-1, 0, 0)))
        loads.append(mbs.buckling(model, 1).factors[0])
    E, b, h = 70e9, 0.01, 0.03
    exact = [np.pi**2 * E * inertia / 4 for inertia in (h * b**3 / 12, b * h**3 / 12)]
    np.testing.assert_allclose(loads, exact, rtol=3e-3)  # shear and shortening are of order 1e-3


@pytest.mark.parametrize("group", GROUPS)
def test_held_again_it_stays_held_and_no_equation_repeats_another(group: str) -> None:
    model = mbs.Model(group, gravity=(1.0, 2.0, -3.0))
    node = model.add_node((1, 2, 3), name="node")
    model.add(RigidBody(node, 1.0, (0.4, 0.3, 0.5), center_of_mass=(0.1, 0.2, 0.3)))
    for translation, rotation in (((True, False, False), (True, False, True)), ((True, True, False), False)):
        model.fix("node", translation, rotation)
    check = model.check()
    assert (check.degrees_of_freedom, check.redundant) == (2, 0)
    model.fix(node, translation=(False, False, True), rotation=False)
    assert node.fixed_translation
    assert model.check().degrees_of_freedom == 1
    model.fix(node)
    assert not model.constraints
    assert (node.fixed_translation, node.fixed_rotation) == (True, True)
    model.fix(node, rotation=(True, False, False))  # it is held already
    assert not model.constraints


def test_bad_flags_are_refused() -> None:
    model = mbs.Model()
    node = model.add_node((1, 0, 0))
    for flags in ((True, False), (1, 0, 1), "xyz", None):
        with pytest.raises(mbs.ModelError, match="translation"):
            model.fix(node, translation=flags)
    with pytest.raises(mbs.ModelError, match="nothing to hold"):
        model.fix(node, translation=(False, False, False), rotation=False)
