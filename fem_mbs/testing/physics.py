"""The laws of mechanics that elements obey: energy, power, momentum, weight, and that space has no preferred place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Element, Motion
from fem_mbs.system.matrices import mass_product
from fem_mbs.testing.differences import ContractError, DoesNotApplyError, Law, agree, derivative, jacobian, near
from fem_mbs.testing.stage import AWAY, ElementTrial, at_rest, later, neighbour, weightless

WHILE = 1e-3
"""Time in s over which rates are taken."""


def mass_is_that_of_the_energy(trial: ElementTrial) -> None:
    """The mass matrix is symmetric and not negative, and the kinetic energy is half of ``V M V``.

    Equations of internal variables that are algebraic, as of sensors of accelerations, have nothing to do with it.
    """
    _, context = trial.force()
    M = trial.dense(trial.batch.mass(context))
    M[trial.system.orders != 2] = 0.0
    size = np.abs(M).max(initial=0.0)
    near(f"{trial.name}: mass against its transpose", M, M.T, 1e-12 * size, "A mass matrix is symmetric")
    lowest = float(np.linalg.eigvalsh(0.5 * (M + M.T)).min(initial=0.0))
    near(f"{trial.name}: the lowest eigenvalue of the mass, below zero", min(lowest, 0.0), 0.0, 1e-12 * size)
    V = np.append(trial.motion.V, trial.motion.udot)
    kinetic, expected = trial.batch.energy(trial.motion).summed().kinetic, float(0.5 * V @ M @ V)
    hint = "Is the velocity of the mass that of the nodes, and does energy() return it?"
    near(f"{trial.name}: kinetic energy against V M V/2", kinetic, expected, 1e-11 * abs(expected), hint)
    if not size:
        raise DoesNotApplyError("it has no mass and no kinetic energy")


def moving_everything_changes_nothing(trial: ElementTrial) -> None:
    """Body forces and energies of a model that is built and moves elsewhere are the same."""
    away = ElementTrial.of(trial.make, trial.seed, AWAY)
    here, there = trial.force()[0], away.force()[0]
    hint = "Whatever is given in the world goes through stage.point or stage.vector"
    near(f"{trial.name}: forces of the model moved rigidly", there, here, 1e-11 * np.abs(here).max(initial=1e-9), hint)
    energies = [np.array(t.batch.energy(t.motion).summed())[:2] for t in (trial, away)]
    size = np.abs(energies[0]).max() + 1e-9
    near(f"{trial.name}: energies of the model moved rigidly", energies[1], energies[0], 1e-10 * size, hint)


def forces_at_rest_are_the_gradient_of_the_energy(trial: ElementTrial) -> None:
    """Without rates, forces are the derivatives of the strain energy and of the energy of gravity."""
    system, rest = trial.system, at_rest(trial.motion)

    def energies(d: Array) -> Array:
        energy = trial.batch.energy(neighbour(rest, d)).summed()
        return np.array([energy.strain, energy.gravity])

    strain, weight = jacobian(energies, trial.sizes())
    mechanical = system.orders == 2
    names = np.array(trial.names())[mechanical]
    for what, motion, gradient in (("", weightless(rest), strain), (" with gravity", rest, strain + weight)):
        what = f"{trial.name}: force at rest{what}, as the gradient of the energies,"
        actual = trial.residual(motion)[mechanical, None]
        agree(what, actual, gradient[mechanical, None], names, ["the energies"])


def power_becomes_energy_or_is_lost(trial: ElementTrial) -> None:
    """The power of all forces is at least the rate of the energies, forwards and backwards."""
    for direction in (1.0, -1.0):
        motion = replace(trial.motion, V=direction * trial.motion.V, udot=direction * trial.motion.udot)
        lost, size = lost_power(trial, motion)
        if lost < -1e-7 * size:
            raise ContractError(
                f"{trial.name}: gains {-lost:.3g} W of energy from nothing, of powers of {size:.3g} W. Do force and "
                "energy() belong together, and does damping resist the motion?"
            )


def moving_rigidly_loses_nothing(trial: ElementTrial) -> None:
    """Damping takes energy from deformation alone; elements with states may still settle."""
    if (trial.system.order < 2).any():
        raise DoesNotApplyError("its states may settle")
    spin, drift = np.array([0.3, -0.5, 0.8]), np.array([1.0, 2.0, -1.0])
    motion = replace(trial.motion, V=np.empty_like(trial.motion.V), udot=np.zeros_like(trial.motion.udot))
    motion.V[:, :3] = np.vecmat(drift + np.cross(spin, motion.x), motion.R)
    motion.V[:, 3:] = np.vecmat(spin, motion.R)
    lost, size = lost_power(trial, motion)
    hint = "Does damping depend on the motion of the nodes against each other alone?"
    near(f"{trial.name}: power lost by moving everything rigidly", lost, 0.0, 1e-7 * size, hint)


def forces_change_momentum_and_nothing_else(trial: ElementTrial) -> None:
    """Internal forces cancel: without gravity the resultant of the forces is the rate of momentum."""
    motion = weightless(trial.motion)

    def momentum(s: float) -> Array:
        there = later(motion, s)
        evaluation = trial.system.evaluate(there, np.zeros(trial.system.m), trial.system.prescribe(there.t))
        velocity = np.append(there.V, there.udot)
        return _resultant(there, trial.system.nodes_of(mass_product(trial.system, evaluation, velocity)))

    force = trial.system.nodes_of(trial.residual(motion))
    size = np.abs(force).max(initial=0.0) + 1e-9
    hint = "Forces on the nodes come in pairs, at one point; loads from outside have external = True"
    total, rate = _resultant(motion, force), derivative(momentum, WHILE)
    near(f"{trial.name}: resultant of forces against rate of momentum", total, rate, 1e-7 * size, hint)


def weight_acts_like_an_acceleration(trial: ElementTrial) -> None:
    """Gravity does to the forces what an acceleration of everything the other way does."""
    moving = (trial.system.orders == 2)[trial.rows]
    lifted = weightless(trial.motion)
    lifted.A = trial.motion.A.copy()
    lifted.A[:, :3] -= np.vecmat(trial.motion.gravity, trial.motion.R)
    here, there = (np.where(moving, trial.force(motion)[0], 0.0) for motion in (trial.motion, lifted))
    hint = "Weight acts on the same masses as inertia"
    near(f"{trial.name}: weight", here, there, 1e-11 * np.abs(here).max(initial=1e-9), hint)


def lost_power(trial: ElementTrial, motion: Motion) -> tuple[float, float]:
    """Power of the forces less the rate of the energies, and the size of both, where states follow their equations."""
    motion = _obeying(trial, motion)
    rate = float(derivative(lambda s: sum(trial.batch.energy(later(motion, s)).summed()), WHILE))
    V = np.append(motion.V, np.where(trial.system.order == 2, motion.udot, 0.0))
    powers = V * trial.residual(motion)
    return powers.sum() - rate, np.abs(powers).sum() + abs(rate) + 1e-9


def _obeying(trial: ElementTrial, motion: Motion) -> Motion:
    """The motion with the rates of states that their equations ask for."""
    system = trial.system
    states = system.order == 1
    if not states.any():
        return motion
    resting = replace(motion, udot=np.where(states, 0.0, motion.udot))
    own = slice(6 * system.n, None)
    block = trial.dense(trial.batch.damping(trial.force(resting)[1]))[own, own][np.ix_(states, states)]
    udot = resting.udot.copy()
    udot[states] = -np.linalg.solve(block, trial.residual(resting)[own][states])
    return replace(resting, udot=udot)


def _resultant(motion: Motion, wrenches: Array) -> Array:
    """Resultant force and moment about the origin ``(6,)``, world frame, of body wrenches ``(n, 6)``."""
    force, moment = (np.matvec(motion.R, part) for part in (wrenches[:, :3], wrenches[:, 3:]))
    return np.concatenate([force.sum(axis=0), (moment + np.cross(motion.x, force)).sum(axis=0)])


def _of(law: Law, refuse: Callable[[Element], None]) -> Law:
    """A law for those elements that are not refused."""

    @wraps(law)
    def law_of_some(trial: ElementTrial) -> None:
        refuse(trial.element)
        law(trial)

    return law_of_some


def _external(element: Element) -> None:
    if element.external:
        raise DoesNotApplyError("it is a load from outside")


def _hidden(element: Element) -> None:
    """Whether configuration and states say all about its energy; other internal variables may hide some of it."""
    kinds = {variable.kind for variable in element.internal_variables} - {"coordinate", "state"}
    if element.external or element.active:
        raise DoesNotApplyError("it is a load or a motor, which brings energy")
    if kinds:
        raise DoesNotApplyError(f"internal variables of kind '{min(kinds)}' may hide energy")


MECHANICS: tuple[Law, ...] = (
    moving_everything_changes_nothing,
    mass_is_that_of_the_energy,
    _of(weight_acts_like_an_acceleration, _external),
    _of(forces_change_momentum_and_nothing_else, _external),
    _of(forces_at_rest_are_the_gradient_of_the_energy, _hidden),
    _of(power_becomes_energy_or_is_lost, _hidden),
    _of(moving_rigidly_loses_nothing, _hidden),
)
