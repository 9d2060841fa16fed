"""The laws of the contract of elements; those of mechanics are in ``physics.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Element, ElementBatch, RateSensitivities
from fem_mbs.linear.solvers import sums
from fem_mbs.system.system import Evaluation, System
from fem_mbs.testing.differences import ContractError, agree, derivative, jacobian, near, rounding
from fem_mbs.testing.physics import (
    forces_at_rest_are_the_gradient_of_the_energy,
    forces_change_momentum_and_nothing_else,
    mass_is_that_of_the_energy,
    moving_everything_changes_nothing,
    moving_rigidly_loses_nothing,
    power_becomes_energy_or_is_lost,
    weight_acts_like_an_acceleration,
)
from fem_mbs.testing.stage import Make, at_rest, build, neighbour, random_motion
from fem_mbs.testing.trial import ElementTrial, evaluation_is_pure, shapes_are_right


def matrices_are_derivatives(trial: ElementTrial) -> None:
    """``stiffness``, ``damping`` and ``mass`` against differences of ``force``, one kind of change at a time."""
    names, sizes = trial.names(), trial.sizes()
    order = np.append(np.full(6 * trial.system.n, 2), trial.system.order)
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
        actual, what = trial.dense(getattr(trial.batch, name)(context)), f"{trial.name}: {name}"
        columns = np.array(names)[kinds]
        agree(what, actual[:, kinds], expected[:, kinds], names, columns, noise=noise[:, kinds])
    if trial.batch.reads is not None:
        _multipliers_too(trial, context, rounding(trial.residual(), np.ones(trial.system.m)))


def _multipliers_too(trial: ElementTrial, context: object, noise: Array) -> None:
    """``by_multipliers`` against differences."""
    batch, given = trial.batch, trial.motion.multipliers
    assert batch.reads is not None
    expected = jacobian(lambda d: trial.residual(replace(trial.motion, multipliers=given + d)), np.ones(len(given)))
    actual = np.zeros_like(expected)
    np.add.at(actual, (trial.rows[:, :, None], batch.reads[:, None]), batch.by_multipliers(context))
    columns = [f"multiplier {k}" for k in range(len(given))]
    agree(f"{trial.name}: by_multipliers", actual, expected, trial.names(), columns, noise=noise)


def rate_force_is_that_of_the_matrices(trial: ElementTrial) -> None:
    """``rate_force`` is ``C dV + M dA``."""
    rng, batch, (_, context) = np.random.default_rng(trial.seed), trial.batch, trial.force()
    b = 6 * batch.nodes.shape[1] + (0 if batch.own is None else batch.own.shape[1])
    dV, dA = rng.normal(size=(2, len(batch.nodes), b))
    actual, expected = batch.rate_force(context, dV, dA), ElementBatch.rate_force(batch, context, dV, dA)
    if actual is None or expected is None:
        if actual is not expected:
            raise ContractError(f"{trial.name}: rate_force must be None where there is neither damping nor mass")
        return
    size = float(np.abs(expected).max())
    if not np.abs(actual - expected).max() <= 1e-11 * size:
        raise ContractError(f"{trial.name}: rate_force is not damping times dV and mass times dA")


def tangent_is_the_sum(trial: ElementTrial) -> None:
    """``tangent`` is ``K + C dV + M dA``, angular velocities following rotations alone."""
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
    agree(f"{trial.name}: tangent, against K + C dV + M dA,", actual, expected, trial.names(), trial.names(), 1e-11)


def many_are_the_sum(trial: ElementTrial) -> None:
    """A batch of several elements does what each does alone."""
    twice = System(build(trial.make, trial.make)[0])
    motion = random_motion(twice, trial.seed)
    once = trial.system
    own = (slice(0, once.k), slice(once.k, None))
    loads = np.split(motion.multipliers, 2)
    parts = [
        replace(motion, u=motion.u[s], udot=motion.udot[s], uddot=motion.uddot[s], multipliers=load)
        for s, load in zip(own, loads, strict=True)
    ]
    each = [trial.residual(part) for part in parts]
    expected = np.concatenate([sum(once.nodes_of(r).ravel() for r in each), *(once.own_of(r) for r in each)])
    evaluation = twice.evaluate(motion, motion.multipliers, twice.prescribe(motion.t))
    joints = [sums(rows.ravel(), (load[:, None] * B).ravel(), twice.N) for rows, load, B in _joints(twice, evaluation)]
    force = evaluation.force - sum(joints)
    size = np.abs(expected).max(initial=1e-9)
    near(f"{trial.name}: two of them in a batch", force, expected, 1e-12 * size, "Do arrays keep their first axis?")


def _joints(system: System, evaluation: Evaluation) -> Iterator[tuple[IntArray, Array, Array]]:
    """Components, multipliers and gradients of each batch of joints."""
    parts = zip(system.gradient_components, system.constraint_slices, evaluation.gradients, strict=True)
    return ((rows, evaluation.multipliers[s], B) for rows, s, B in parts)


def unknowns_are_of_their_kind(trial: ElementTrial) -> None:
    """States have their rate in their own equation, algebraic unknowns themselves; history is accepted in its shape."""
    if trial.batch.own is None:
        return
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
                f"{trial.name}: the equations of its unknowns of kind '{kind}' do not determine "
                f"{'their rates' if order else 'them'}; look at its {'damping' if order else 'stiffness'} matrix"
            )
    if (trial.system.order < 0).any():
        kept = trial.batch.accept(context)
        near(f"{trial.name}: shape of what accept returns", np.shape(kept), trial.batch.own.shape, 0.0)


def stresses_are_extrapolated_linearly(trial: ElementTrial) -> None:
    """``stress_ahead`` is the tangent of the stress, and its own stress changes no stiffness; where a batch has one."""
    rest = at_rest(trial.motion)
    _, context = trial.force(rest)
    own = np.random.default_rng(trial.seed).normal(size=trial.system.N)
    d = own[trial.rows]
    here = trial.batch.stress_ahead(context, 0.0 * d)
    if here is None:
        return

    def true(s: float) -> Array:
        there = trial.force(neighbour(rest, s * own))[1]
        return np.asarray(trial.batch.stress_ahead(there, 0.0 * d))

    slope, expected = trial.batch.stress_ahead(context, d) - here, derivative(true)
    near(f"{trial.name}: stress_ahead", slope, expected, 1e-6 * np.abs(expected).max())
    K, same = trial.batch.stiffness(context), trial.batch.stiffness(trial.batch.with_stress(context, here))
    near(f"{trial.name}: stiffness with_stress of its own", same, K, 1e-12 * np.abs(K).max())


class ElementLaw(NamedTuple):
    """A law, and the elements it is one for."""

    check: Callable[[ElementTrial], None]
    of: Callable[[Element], bool]


def _every(element: Element) -> bool:
    return True


def _internal(element: Element) -> bool:
    return not element.external


def _passive(element: Element) -> bool:
    """Whether configuration and states say all about its energy: history and algebraic unknowns may hide some of it."""
    kinds = {unknown.kind for unknown in element.unknowns}
    return not element.external and not element.active and kinds <= {"coordinate", "state"}


ELEMENT_LAWS = {
    check.__name__: ElementLaw(check, of)
    for check, of in (
        (shapes_are_right, _every),
        (evaluation_is_pure, _every),
        (matrices_are_derivatives, _every),
        (rate_force_is_that_of_the_matrices, _every),
        (tangent_is_the_sum, _every),
        (many_are_the_sum, _every),
        (unknowns_are_of_their_kind, _every),
        (stresses_are_extrapolated_linearly, _every),
        (moving_everything_changes_nothing, _every),
        (mass_is_that_of_the_energy, _every),
        (weight_acts_like_an_acceleration, _internal),
        (forces_change_momentum_and_nothing_else, _internal),
        (forces_at_rest_are_the_gradient_of_the_energy, _passive),
        (power_becomes_energy_or_is_lost, _passive),
        (moving_rigidly_loses_nothing, _passive),
    )
}
"""All laws by name."""


def check_element(make: Make, seeds: Sequence[int] = (0, 1)) -> list[str]:
    """Hold an element to the laws of its contract; returns what was checked.

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
    checked: list[str] = []
    for seed in seeds:
        trial = ElementTrial.of(make, seed)
        element = trial.element
        checked = [name for name, law in ELEMENT_LAWS.items() if law.of(element)]
        for name in checked:
            ELEMENT_LAWS[name].check(trial)
    return checked
