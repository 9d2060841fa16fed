"""The laws of the contract of elements, those of mechanics among them.

These are energy, power, momentum, weight, and that space has no preferred place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import ElementBatch, Motion, RateSensitivities, Sensor, checked
from fem_mbs.system.matrices import mass_product
from fem_mbs.testing.differences import (
    ContractError,
    DoesNotApplyError,
    LawReport,
    agree,
    derivative,
    hold,
    jacobian,
    laws,
    near,
    rounding,
)
from fem_mbs.testing.stage import AWAY, BASICS, OFFERS, ElementTrial, Make, Seeds, at_rest, later, neighbour, weightless

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
    near("mass against its transpose", M, M.T, 1e-12 * size, "A mass matrix is symmetric")
    lowest = float(np.linalg.eigvalsh(0.5 * (M + M.T)).min(initial=0.0))
    near("the lowest eigenvalue of the mass, below zero", min(lowest, 0.0), 0.0, 1e-12 * size)
    V = np.append(trial.motion.V, trial.motion.udot)
    kinetic, expected = trial.batch.energy(trial.motion).summed().kinetic, float(0.5 * V @ M @ V)
    hint = "Is the velocity of the mass that of the nodes, and does energy() return it?"
    near("kinetic energy against V M V/2", kinetic, expected, 1e-11 * abs(expected), hint)
    if not size:
        raise DoesNotApplyError("it has no mass and no kinetic energy")


def moving_everything_changes_nothing(trial: ElementTrial) -> None:
    """Body forces and energies of a model that is built and moves elsewhere are the same."""
    away = ElementTrial.of(trial.make, trial.seed, AWAY)
    here, there = trial.force()[0], away.force()[0]
    hint = "Whatever is given in the world goes through stage.point or stage.vector"
    near("forces of the model moved rigidly", there, here, 1e-11 * np.abs(here).max(initial=1e-9), hint)
    energies = [np.array(t.batch.energy(t.motion).summed())[:2] for t in (trial, away)]
    size = np.abs(energies[0]).max() + 1e-9
    near("energies of the model moved rigidly", energies[1], energies[0], 1e-10 * size, hint)


def forces_at_rest_are_the_gradient_of_the_energy(trial: ElementTrial) -> None:
    """Without rates, forces are the derivatives of the strain energy and of the energy of gravity."""
    _nothing_hidden(trial)
    system, rest = trial.system, at_rest(trial.motion)

    def energies(d: Array) -> Array:
        energy = trial.batch.energy(neighbour(rest, d)).summed()
        return np.array([energy.strain, energy.gravity])

    strain, weight = jacobian(energies, trial.sizes())
    mechanical = system.orders == 2
    names = np.array(trial.names())[mechanical]
    for what, motion, gradient in (("", weightless(rest), strain), (" with gravity", rest, strain + weight)):
        what = f"force at rest{what}, as the gradient of the energies,"
        actual = trial.residual(motion)[mechanical, None]
        agree(what, actual, gradient[mechanical, None], names, ["the energies"])


def power_becomes_energy_or_is_lost(trial: ElementTrial) -> None:
    """The power of all forces is at least the rate of the energies, forwards and backwards."""
    _nothing_hidden(trial)
    for direction in (1.0, -1.0):
        motion = replace(trial.motion, V=direction * trial.motion.V, udot=direction * trial.motion.udot)
        lost, size = lost_power(trial, motion)
        if lost < -1e-7 * size:
            raise ContractError(
                f"gains {-lost:.3g} W of energy from nothing, of powers of {size:.3g} W. Do force and "
                "energy() belong together, and does damping resist the motion?"
            )


def moving_rigidly_loses_nothing(trial: ElementTrial) -> None:
    """Damping takes energy from deformation alone; elements with states may still settle."""
    _nothing_hidden(trial)
    if (trial.system.order < 2).any():
        raise DoesNotApplyError("its states may settle")
    spin, drift = np.array([0.3, -0.5, 0.8]), np.array([1.0, 2.0, -1.0])
    motion = replace(trial.motion, V=np.empty_like(trial.motion.V), udot=np.zeros_like(trial.motion.udot))
    motion.V[:, :3] = np.vecmat(drift + np.cross(spin, motion.x), motion.R)
    motion.V[:, 3:] = np.vecmat(spin, motion.R)
    lost, size = lost_power(trial, motion)
    hint = "Does damping depend on the motion of the nodes against each other alone?"
    near("power lost by moving everything rigidly", lost, 0.0, 1e-7 * size, hint)


def forces_change_momentum_and_nothing_else(trial: ElementTrial) -> None:
    """Internal forces cancel: without gravity the resultant of the forces is the rate of momentum."""
    _not_external(trial)
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
    near("resultant of forces against rate of momentum", total, rate, 1e-7 * size, hint)


def weight_acts_like_an_acceleration(trial: ElementTrial) -> None:
    """Gravity does to the forces what an acceleration of everything the other way does."""
    _not_external(trial)
    moving = (trial.system.orders == 2)[trial.rows]
    lifted = weightless(trial.motion)
    lifted.A = trial.motion.A.copy()
    lifted.A[:, :3] -= np.vecmat(trial.motion.gravity, trial.motion.R)
    here, there = (np.where(moving, trial.force(motion)[0], 0.0) for motion in (trial.motion, lifted))
    hint = "Weight acts on the same masses as inertia"
    near("weight", here, there, 1e-11 * np.abs(here).max(initial=1e-9), hint)


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


def _not_external(trial: ElementTrial) -> None:
    if trial.element.external:
        raise DoesNotApplyError("it is a load from outside")


def _nothing_hidden(trial: ElementTrial) -> None:
    """Configuration and states say all about its energy; other internal variables may hide some of it."""
    if trial.element.external or trial.element.active:
        raise DoesNotApplyError("it is a load or a motor, which brings energy")
    if kinds := {variable.kind for variable in trial.element.internal_variables} - {"coordinate", "state"}:
        raise DoesNotApplyError(f"internal variables of kind '{min(kinds)}' may hide energy")


def matrices_are_derivatives(trial: ElementTrial) -> None:
    """``stiffness``, ``damping`` and ``mass`` against differences of ``force``, one kind of change at a time."""
    names, sizes = trial.names(), trial.sizes()
    order = trial.system.orders
    _, context = trial.force()
    noise = rounding(trial.residual(), sizes)

    def beside(which: int) -> Callable[[Array], Array]:
        def residual(d: Array) -> Array:
            changes = np.zeros((3, trial.system.N))
            changes[which] = d
            return trial.residual(neighbour(trial.motion, *changes))

        return residual

    for which, (name, kinds) in enumerate((("stiffness", order >= 0), ("damping", order >= 1), ("mass", order == 2))):
        expected = jacobian(beside(which), sizes)
        actual, what = trial.dense(getattr(trial.batch, name)(context)), f"{name}"
        columns = np.array(names)[kinds]
        agree(what, actual[:, kinds], expected[:, kinds], names, columns, noise=noise[:, kinds])
    _inertia_has_its_velocities(trial, context, noise)
    if trial.batch.reads is not None:
        _multipliers_too(trial, context, rounding(trial.residual(), np.ones(trial.system.m)))


def _inertia_has_its_velocities(trial: ElementTrial, context: object, noise: Array) -> None:
    """``gyroscopic`` against differences of ``force`` where the velocities of inertia forces alone change."""

    def residual(d: Array) -> Array:
        momentum = neighbour(trial.motion, np.zeros_like(d), d, np.zeros_like(d))
        return trial.residual(replace(trial.motion, momentum=momentum))

    expected, own = jacobian(residual, trial.sizes()), trial.batch.gyroscopic(context)
    actual = np.zeros_like(expected) if own is None else trial.dense(own)
    agree("gyroscopic", actual, expected, trial.names(), trial.names(), noise=noise)
    if not trial.batch.damps and (damping := trial.batch.damping(context)) is not None:
        what = "damping of a batch that damps nothing, against gyroscopic,"
        agree(what, trial.dense(damping), actual, trial.names(), trial.names(), noise=noise)


def _multipliers_too(trial: ElementTrial, context: object, noise: Array) -> None:
    """``by_multipliers`` against differences."""
    batch, given = trial.batch, trial.motion.multipliers
    assert batch.reads is not None
    expected = jacobian(lambda d: trial.residual(replace(trial.motion, multipliers=given + d)), np.ones(len(given)))
    actual = np.zeros_like(expected)
    np.add.at(actual, (trial.rows[:, :, None], batch.reads[:, None]), batch.by_multipliers(context))
    columns = [f"multiplier {k}" for k in range(len(given))]
    agree("by_multipliers", actual, expected, trial.names(), columns, noise=noise)


def rate_force_is_that_of_the_matrices(trial: ElementTrial) -> None:
    """``rate_force`` is ``C dV + M dA``, where a batch has its own."""
    if type(trial.batch).rate_force is ElementBatch.rate_force:
        raise DoesNotApplyError("it leaves forces of changed rates to the engine")
    rng, batch, (_, context) = np.random.default_rng(trial.seed), trial.batch, trial.force()
    b = 6 * batch.nodes.shape[1] + (0 if batch.own is None else batch.own.shape[1])
    changes = rng.normal(size=(3, len(batch.nodes), b))
    actual, expected = batch.rate_force(context, *changes), ElementBatch.rate_force(batch, context, *changes)
    if actual is None or expected is None:
        if actual is not expected:
            raise ContractError("rate_force must be None where there is neither damping nor mass")
        raise DoesNotApplyError("it has neither damping nor mass")
    hint = "It is damping times dV and mass times dA"
    near("rate_force", actual, expected, 1e-11 * np.abs(expected).max(), hint)


def tangent_is_the_sum(trial: ElementTrial) -> None:
    """``tangent`` is ``K + C dV + M dA``, angular velocities following rotations alone."""
    if type(trial.batch).tangent is ElementBatch.tangent:
        raise DoesNotApplyError("it leaves its tangent to the engine")
    rng = np.random.default_rng(trial.seed + 10)
    n, k = trial.system.n, trial.system.k
    follows = []
    for _ in range(2):
        nodes = 20.0 * rng.normal(size=(n, 6, 6))
        nodes[:, 3:, :3] = 0.0
        follows.append(RateSensitivities(nodes, rng.normal(size=k)))
    _, context = trial.force()
    actual = trial.dense(trial.batch.tangent(context, *follows))
    expected = trial.dense(ElementBatch.tangent(trial.batch, context, *follows))
    names, what = trial.names(), "tangent, against K + C dV + M dA,"
    agree(what, actual, expected, names, names, tolerance=1e-11)


def internal_variables_are_of_their_kind(trial: ElementTrial) -> None:
    """States have their rate in their own equation, algebraic ones themselves; history is accepted in its shape.

    How it changes with the motion, as ``accept_change`` says where a batch has it, is as differences tell.
    """
    if trial.batch.own is None:
        raise DoesNotApplyError("it has no internal variables")
    _, context = trial.force()
    own = slice(6 * trial.system.n, None)
    for kind, order, matrix in (
        ("state", 1, trial.batch.damping(context)),
        ("algebraic", 0, trial.batch.stiffness(context)),
    ):
        which = trial.system.order == order
        block = trial.dense(matrix)[own, own][np.ix_(which, which)]
        if which.any() and np.linalg.matrix_rank(block) < which.sum():
            raise ContractError(
                f"the equations of its internal variables of kind '{kind}' do not determine "
                f"{'their rates' if order else 'them'}; look at its {'damping' if order else 'stiffness'} matrix"
            )
    if (trial.system.order < 0).any():
        kept = trial.batch.accept(context)
        near("shape of what accept returns", np.shape(kept), trial.batch.own.shape, 0.0)
        d = np.random.default_rng(trial.seed).normal(size=trial.system.N) * trial.sizes()
        system = trial.system
        for motion in (trial.motion, replace(trial.motion, x=system.x0, R=system.R0, u=system.u0)):  # and as built

            def accepted(s: float, at: Motion = motion) -> Array:
                return trial.batch.accept(trial.force(neighbour(at, s * d))[1])

            if (change := trial.batch.accept_change(trial.force(motion)[1], d[trial.rows])) is not None:
                near("change of what accept returns", change, derivative(accepted), 1e-7 * np.abs(d).max())


def stresses_are_extrapolated_linearly(trial: ElementTrial) -> None:
    """``stress_ahead`` is the tangent of the stress, and its own stress changes no stiffness; where a batch has one."""
    rest = at_rest(trial.motion)
    _, context = trial.force(rest)
    own = np.random.default_rng(trial.seed).normal(size=trial.system.N)
    d = own[trial.rows]
    K, same = (trial.batch.stiffness(each) for each in (context, trial.batch.stressed(context, 0.0 * d)))
    near("stiffness when stressed by nothing more", same, K, 1e-12 * np.abs(K).max(initial=0.0))
    here = trial.batch.stress_ahead(context, 0.0 * d)
    if here is None:
        raise DoesNotApplyError("it has no law of stress")

    def true(s: float) -> Array:
        there = trial.force(neighbour(rest, s * own))[1]
        return np.asarray(trial.batch.stress_ahead(there, 0.0 * d))

    slope, expected = trial.batch.stress_ahead(context, d) - here, derivative(true)
    near("stress_ahead", slope, expected, 1e-6 * np.abs(expected).max())
    K, same = trial.batch.stiffness(context), trial.batch.stiffness(trial.batch.with_stress(context, here))
    near("stiffness with_stress of its own", same, K, 1e-12 * np.abs(K).max())


def jumps_are_told(trial: ElementTrial) -> None:
    """``next_jump`` is a time; ``jump`` returns the values ``(n, s)`` of ``own``, ``jump_change`` changes of these."""
    batch = trial.batch
    if type(batch).next_jump is ElementBatch.next_jump and type(batch).jump is ElementBatch.jump:
        raise DoesNotApplyError("nothing in it jumps")
    after, u = batch.jump(trial.force()[1]), trial.motion.u.copy()
    if after is not None and batch.own is not None:
        u[batch.own] = after
    due = batch.next_jump(0.0, trial.motion.u) <= 0.0
    if due and not (instant := batch.next_jump(0.0, u)) > 0.0:
        raise ContractError(f"next_jump after a jump at t = 0 s must be later, received {instant} s")
    if after is not None and batch.own is not None:
        near("shape of what jump returns", np.shape(after), batch.own.shape, 0.0)
        d, context = np.random.default_rng(trial.seed).normal(size=batch.own.shape), trial.force()[1]
        if (change := batch.jump_change(context, d)) is not None:
            twice = np.asarray(batch.jump_change(context, 2.0 * d), float)
            near("jump_change of twice the changes", twice, 2.0 * change, 1e-12)


def sensors_act_on_nothing(trial: ElementTrial) -> None:
    """A sensor says ``y - s = 0`` of its internal variable and puts no force on nodes."""
    if not isinstance(trial.element, Sensor):
        raise DoesNotApplyError("it is no sensor")
    kinds = [trial.element.internal_variables[k].kind for k in trial.element.outputs]
    if set(kinds) != {"algebraic"}:
        raise ContractError(f"the outputs of a sensor are algebraic variables, received the kinds {kinds}")
    force = trial.residual()
    near("forces on nodes", trial.system.nodes_of(force), 0.0, 0.0, "A sensor only measures")
    measured = replace(trial.motion, u=trial.motion.u - trial.system.own_of(force))
    rest = trial.system.own_of(trial.residual(measured))
    near("y - s with y as measured", rest, 0.0, 1e-12 * (1.0 + np.abs(measured.u).max()))


ELEMENT_LAWS = laws(
    *BASICS,
    matrices_are_derivatives,
    rate_force_is_that_of_the_matrices,
    tangent_is_the_sum,
    internal_variables_are_of_their_kind,
    stresses_are_extrapolated_linearly,
    jumps_are_told,
    moving_everything_changes_nothing,
    mass_is_that_of_the_energy,
    weight_acts_like_an_acceleration,
    forces_change_momentum_and_nothing_else,
    forces_at_rest_are_the_gradient_of_the_energy,
    power_becomes_energy_or_is_lost,
    moving_rigidly_loses_nothing,
    sensors_act_on_nothing,
    *OFFERS,
)
"""All laws by name."""


@checked
def check_element(make: Make, seeds: Seeds = (0, 1)) -> LawReport:
    """Hold an element to the laws of its contract, its optional parts included; says which of them were checked.

    Parameters
    ----------
    make : function
        Makes the element on the nodes of a :class:`Stage`; what it gives in world components goes through
        ``stage.point`` or ``stage.vector``.
    seeds : sequence of int
        Of the random motions.

    Raises
    ------
    ContractError
        If a law does not hold; says which, and what that looks like.

    Examples
    --------
    >>> from fem_mbs.elements import RigidBody
    >>> from fem_mbs.testing import check_element
    >>> laws = check_element(lambda stage: RigidBody(stage.line[0], 2.0, (1.0, 2.0, 2.5), (0.1, 0.2, 0.3)))
    """
    trials = [ElementTrial.of(make, seed) for seed in seeds]
    return hold(type(trials[0].element).__name__, ELEMENT_LAWS, *trials)


@checked
def check_sensor(make: Make, seeds: Seeds = (0, 1)) -> LawReport:
    """Hold a sensor to the laws of its contract: those of an element, and that it measures and acts on nothing.

    Parameters and errors are those of :func:`check_element`.

    Examples
    --------
    >>> from fem_mbs.elements import NodeSensor
    >>> from fem_mbs.testing import check_sensor
    >>> laws = check_sensor(lambda stage: NodeSensor(stage.line[0], "position", stage.vector((0, 0, 1))))
    """
    report = check_element(make, seeds)
    if sensors_act_on_nothing.__name__ in report.does_not_apply:
        raise ContractError(f"check_sensor: {report.subject} is no Sensor; check_element is for elements")
    return report
