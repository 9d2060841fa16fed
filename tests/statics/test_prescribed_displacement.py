"""Points that are moved: the force that it takes, at rest and in motion."""

from __future__ import annotations

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import (
    Beam,
    BeamSection,
    FixedJoint,
    JointSpring,
    PointMass,
    RevoluteJoint,
    RigidBody,
    SmoothStep,
    SphericalJoint,
)

SECTION = BeamSection(EA=1e8, GA=1e8, GJ=10.0, EI=10.0, mass=1.0, inertia=(1e-6, 1e-6, 1e-6))


@pytest.mark.parametrize(("kind", "stiffness"), [(SphericalJoint, 3.0), (FixedJoint, 12.0)])
@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_force_of_an_end_that_is_moved(group: str, kind: type, stiffness: float) -> None:
    """``3 EI/L^3`` where the end may turn, ``12 EI/L^3`` where it may not."""
    model = mbs.Model(group)
    beam = Beam.line(model, (0, 0, 0), (2, 0, 0), SECTION, 40)
    model.fix(beam.nodes[0])
    grip = model.add(kind(model.ground, beam.nodes[-1], displacement=lambda t: (0, 0, 1e-5 * t)))
    solution = mbs.statics(model, loads=[0.5, 1.0])
    np.testing.assert_allclose(solution.displacement(beam.nodes[-1])[:, 2], [5e-6, 1e-5], rtol=1e-9)
    force, _ = solution.reaction(grip)
    # order 2 in the mesh; the end stays where it is along x, so that the beam also stretches: 1e-4 of the force
    np.testing.assert_allclose(force[:, 2], stiffness * 10.0 / 8 * np.array([5e-6, 1e-5]), rtol=1e-3)


@pytest.mark.parametrize("formulation", ["stabilized", "index3", "index2"])
def test_force_of_a_mass_that_is_shaken(formulation: str) -> None:
    """Newton's second law, and a velocity that is the rate of the displacement."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    mass = model.add_node((1, 0, 0), velocity=(0, 0, 0.6))
    model.add(PointMass(mass, 2.0))
    model.fix(mass, translation=False, rotation=True)
    hand = model.add(SphericalJoint(model.ground, mass, displacement=lambda t: (0, 0, 0.3 * np.sin(2 * t))))
    method = mbs.GeneralizedAlpha(formulation=formulation, start="perturbed")
    solution = mbs.simulate(model, 0.5, 0.005, method)
    t = solution.t
    np.testing.assert_allclose(solution.position(mass)[:, 2], 0.3 * np.sin(2 * t), atol=1e-10)
    np.testing.assert_allclose(solution.velocity(mass)[:, 2], 0.6 * np.cos(2 * t), atol=1e-4)
    np.testing.assert_allclose(solution.reaction(hand)[0][:, 2], 2 * (9.81 - 1.2 * np.sin(2 * t)), atol=1e-3)


def test_a_displacement_is_checked() -> None:
    model = mbs.Model()
    node = model.add_node((1, 0, 0))
    with pytest.raises(mbs.ModelError, match="displacement must be a function of time, received"):
        SphericalJoint(model.ground, node, displacement=(0, 0, 1))  # type: ignore[arg-type]
    model.add(SphericalJoint(model.ground, node, displacement=lambda t: (0, 0, 1.0)))
    model.add(PointMass(node, 1.0))
    with pytest.raises(mbs.ModelError, match="its displacement must be 0 at t = 0"):
        mbs.start(mbs.System(model))


@pytest.mark.one
@pytest.mark.parametrize("stiffness", [0.0, 1.0, 100.0])
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_rigid_linkages_follow_their_drive_whatever_their_joints_repeat(unit: float, stiffness: float) -> None:
    """Two four-bars in a row, where but for one spring, if there is one, loads on joints alone make a stiffness."""

    def linkage() -> mbs.Model:
        model, y = mbs.Model(gravity=(0, 0, -9.81 * unit)), (0, 1, 0)

        def bar(p: Array, q: Array, name: str) -> mbs.Node:
            node = model.add_node((p + q) / 2, name=name)
            model.add(RigidBody(node, 1.0, 3 * (0.02 * unit**2,)))
            return node

        foot, top = np.zeros(3), unit * np.array([0, 0, 0.2])
        last = bar(foot, top, "crank")
        model.add(RevoluteJoint(model.ground, last, y, point=foot, drive=SmoothStep(0.3, 1.0)), name="motor")
        for k in range(2):
            corner = top + unit * np.array([0.65, 0, 0.2])
            foot = np.array([corner[0] + 0.05 * unit, 0, -0.3 * unit])
            coupler, rocker = bar(top, corner, f"coupler {k}"), bar(corner, foot, f"rocker {k}")
            model.add(RevoluteJoint(last, coupler, y, point=top))
            model.add(RevoluteJoint(coupler, rocker, y, point=corner))
            hinge = model.add(RevoluteJoint(model.ground, rocker, y, point=foot), name=f"foot {k}")
            last, top = rocker, corner
        if stiffness:
            model.add(JointSpring(hinge, stiffness * unit**2))
        return model

    rest, run = mbs.statics(linkage()), mbs.simulate(linkage(), 1.0, 0.05)
    np.testing.assert_allclose(rest.x[-1], run.x[-1], atol=1e-9 * unit)
