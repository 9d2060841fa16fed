"""The mass of a beam: that of its sections times its length, in the right place."""

from __future__ import annotations

import numpy as np
import pytest
from catalogue import AWAY, COUPLED, PLAIN
from motions import mass_matrix, residual

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion
from fem_mbs.elements import Beam, BeamSection
from fem_mbs.lie import so3

LENGTH = 1.8


def rod(section: BeamSection) -> tuple[mbs.System, Motion, Array]:
    """A straight beam of three unequal elements in rigid motion, and the axes of its sections."""
    model = mbs.Model(gravity=(1.0, 2.0, -9.0))
    rng, axes = np.random.default_rng(0), AWAY.Q
    turns = so3.exp(rng.normal(size=(4, 3)))
    nodes = [model.add_node(s * axes[:, 0], R) for s, R in zip((0.0, 0.4, 1.1, LENGTH), turns, strict=True)]
    model.add(Beam(nodes, section, axes[:, 1]))
    system = mbs.System(model)
    spin, drift = np.array([0.3, -0.5, 0.8]), np.array([1.0, 2.0, -1.0])
    V = np.zeros((system.n, 6))
    V[:, :3] = np.vecmat(drift + np.cross(spin, system.x0), system.R0)
    V[:, 3:] = np.vecmat(spin, system.R0)
    V[0] = 0.0
    return system, Motion(0.0, system.x0, system.R0, V, np.zeros_like(V), system.gravity), axes


@pytest.mark.parametrize("section", [PLAIN, COUPLED], ids=["centred", "eccentric"])
def test_kinetic_energy_of_a_rigid_rod(section: BeamSection) -> None:
    """Exact on any mesh: mass, place of the mass centre, ``m L^3/12`` and the inertia of the sections."""
    system, motion, axes = rod(section)
    m, spin, drift = section.mass * LENGTH, np.array([0.3, -0.5, 0.8]), np.array([1.0, 2.0, -1.0])
    center = axes @ (section.center + [LENGTH / 2, 0, 0])
    J = LENGTH * section.inertia + m * LENGTH**2 / 12 * np.diag([0.0, 1.0, 1.0])
    velocity, Omega = drift + np.cross(spin, center), axes.T @ spin
    expected = 0.5 * m * velocity @ velocity + 0.5 * Omega @ J @ Omega
    np.testing.assert_allclose(system.energy(motion).kinetic, expected, rtol=1e-13)


def test_weight_and_its_energy() -> None:
    system, motion, axes = rod(COUPLED)
    center = axes @ (COUPLED.center + [LENGTH / 2, 0, 0])
    weight = COUPLED.mass * LENGTH * system.gravity
    np.testing.assert_allclose(system.energy(motion).gravity, -weight @ center, rtol=1e-13)
    motion.V[:] = 0.0
    force = np.matvec(motion.R, residual(system, motion)[:, :3])
    np.testing.assert_allclose(force.sum(axis=0), -weight, rtol=1e-12)


def test_rotational_inertia_is_lumped_at_the_nodes() -> None:
    """Half of each element's at each end; the translations of neighbours are coupled, their rotations are not."""
    system, motion, _ = rod(PLAIN)
    M = mass_matrix(system, motion).reshape(4, 6, 4, 6)
    spans = [0.2, 0.55, 0.7, 0.35]
    for k, span in enumerate(spans):
        np.testing.assert_allclose(
            np.linalg.eigvalsh(M[k, 3:, k, 3:]), span * np.sort(np.diag(PLAIN.inertia)), rtol=1e-12
        )
        for other in range(4):
            assert other == k or not M[k, 3:, other, 3:].any()
            assert (abs(k - other) <= 1) == M[k, :3, other, :3].any()
