"""The laws that every element of the catalogue obeys."""

from __future__ import annotations

import numpy as np
import pytest
from catalogue import AWAY, DAMPED, DISTRIBUTED, ELEMENTS, LOADS, build
from motions import (
    assert_columns_close,
    at_rest,
    derivative,
    iteration_matrix,
    jacobian,
    later,
    mass_matrix,
    momentum,
    neighbour,
    random_motion,
    residual,
    resultant,
    weightless,
)

from fem_mbs import System
from fem_mbs.arrays import Array
from fem_mbs.model import Motion

ALL = {**ELEMENTS, **DAMPED, **LOADS, **DISTRIBUTED}


def make(name: str, seed: int = 0) -> tuple[System, Motion]:
    system = System(build(ALL[name])[0])
    return system, random_motion(system, seed)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("part", ["configuration", "velocity", "acceleration"])
@pytest.mark.parametrize("name", ALL)
def test_tangent_is_the_derivative_of_the_force(name: str, part: str, seed: int) -> None:
    """Velocities and accelerations that follow the configuration at random, one kind at a time and large.

    As on every group, angular velocities follow the rotations alone.
    """
    system, motion = make(name, seed)
    none = np.zeros((system.n, 6, 6))
    follow = 20.0 * np.random.default_rng(seed + 10).normal(size=none.shape)
    follow[:, 3:, :3] = 0.0
    dV, dA = (follow if part == kind else none for kind in ("velocity", "acceleration"))

    def free_residual(d: Array) -> Array:
        near = neighbour(motion, d, np.matvec(dV, d), np.matvec(dA, d))
        return residual(system, near)[system.free]

    assert_columns_close(iteration_matrix(system, motion, dV, dA), jacobian(free_residual, system.free))


@pytest.mark.parametrize("name", ALL)
def test_moving_the_whole_model_changes_no_body_force(name: str) -> None:
    system, motion = make(name)
    moved = System(build(ALL[name], pose=AWAY)[0])
    there = random_motion(moved, 0, AWAY)
    size = np.abs(residual(system, motion)).max()
    np.testing.assert_allclose(residual(moved, there), residual(system, motion), rtol=0, atol=1e-13 * size)
    here, away = system.energy(motion), moved.energy(there)
    np.testing.assert_allclose([away.kinetic, away.strain], [here.kinetic, here.strain], rtol=1e-13)


@pytest.mark.parametrize("name", {**ELEMENTS, **DAMPED})
def test_force_at_rest_is_the_gradient_of_the_energies(name: str) -> None:
    system, motion = make(name)

    def energies(d: Array) -> Array:
        energy = system.energy(neighbour(motion, d))
        return np.array([energy.strain, energy.gravity])

    strain, weight = jacobian(energies, system.free)
    rest = at_rest(motion)
    for here, gradient in ((weightless(rest), strain), (rest, strain + weight)):
        force = residual(system, here)[system.free]
        np.testing.assert_allclose(force, gradient, rtol=0, atol=1e-8 * max(1.0, np.abs(gradient).max()))


@pytest.mark.parametrize("name", {**ELEMENTS, **DAMPED})
def test_kinetic_energy_is_that_of_the_mass_matrix(name: str) -> None:
    system, motion = make(name)
    M, V = mass_matrix(system, motion), motion.V[system.free]
    np.testing.assert_allclose(M, M.T, rtol=0, atol=1e-13 * np.abs(M).max())
    assert np.linalg.eigvalsh(M).min() > -1e-13 * np.abs(M).max()
    np.testing.assert_allclose(0.5 * V @ M @ V, system.energy(motion).kinetic, rtol=1e-13)


def lost_power(system: System, motion: Motion) -> float:
    """Power of all forces less the rate of the energies."""
    rate = derivative(lambda s: sum(system.energy(later(motion, s))), 1e-3)
    return float((motion.V * residual(system, motion)).sum() - rate)


@pytest.mark.parametrize("name", ELEMENTS)
def test_power_becomes_energy(name: str) -> None:
    system, motion = make(name)
    assert abs(lost_power(system, motion)) < 1e-8 * np.abs(motion.V * residual(system, motion)).sum()


@pytest.mark.parametrize("name", DAMPED)
def test_damping_takes_energy_from_deformation_alone(name: str) -> None:
    system, motion = make(name)
    assert lost_power(system, motion) > 1.0
    spin, drift = np.array([0.3, -0.5, 0.8]), np.array([1.0, 2.0, -1.0])
    motion.V[:, :3] = np.vecmat(drift + np.cross(spin, motion.x), motion.R)
    motion.V[:, 3:] = np.vecmat(spin, motion.R)
    assert abs(lost_power(system, motion)) < 1e-8 * np.abs(motion.V * residual(system, motion)).sum()


@pytest.mark.parametrize("name", {**ELEMENTS, **DAMPED})
def test_forces_change_momentum_and_nothing_else(name: str) -> None:
    """Internal forces cancel: without gravity the resultant of the residual is the rate of momentum."""
    system, motion = make(name)
    motion = weightless(motion)
    rate = derivative(lambda s: momentum(system, later(motion, s)), 1e-3)
    total = resultant(motion, residual(system, motion))
    np.testing.assert_allclose(total, rate, rtol=0, atol=1e-9 * np.abs(residual(system, motion)).max())


@pytest.mark.parametrize("name", {**ELEMENTS, **DAMPED})
def test_weight_acts_at_the_mass_centre(name: str) -> None:
    """Gravity does to the residual what an acceleration of everything the other way does."""
    system, motion = make(name)
    lifted, free = weightless(motion), weightless(motion)
    lifted.A = motion.A.copy()
    lifted.A[:, :3] -= np.vecmat(motion.gravity, motion.R)
    size = np.abs(residual(system, free)).max()
    np.testing.assert_allclose(residual(system, motion), residual(system, lifted), rtol=0, atol=1e-13 * size)


def test_whole_model_is_the_sum_of_its_elements() -> None:
    """Batches of many elements of a kind do what each does alone."""
    whole = System(build(*ALL.values())[0])
    motion = random_motion(whole, 3)
    parts = sum(residual(System(build(entry)[0]), motion) for entry in ALL.values())
    np.testing.assert_allclose(residual(whole, motion), parts, rtol=0, atol=1e-13 * np.abs(parts).max())
