"""The laws of the contract of joints."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.contracts import ConstraintBatch, CoordinateBatch, Motion, checked
from fem_mbs.errors import MotionError
from fem_mbs.system import constraints
from fem_mbs.system.matrices import gradient_product, velocity_residual, whole
from fem_mbs.system.pattern import components
from fem_mbs.system.system import Evaluation
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
)
from fem_mbs.testing.stage import AWAY, BASICS, HOME, OFFERS, JointTrial, Make, Seeds, moved, neighbour

RATES = 1e-3
"""Time in s over which rates of drives are taken."""
WALK, STRIDE, CLOSED = 100, 0.1, 1e-12
REGULAR = 1e-3
"""Smallest share of the largest singular value of the gradients."""


def it_is_closed_as_built(trial: JointTrial) -> None:
    """``Phi`` vanishes at t = 0 where nodes stand as built, wherever that is, and so do its coordinates."""
    for pose in (HOME, AWAY):
        own = JointTrial.of(trial.make, trial.seed, pose)
        built = own.system.at_rest()
        position = np.where(own.system.velocity_level, 0.0, own.evaluate(built)[0])
        near("Phi as built", position, 0.0, 1e-12 * max(1.0, own.system.length))
        if own.joint.coordinates:
            values = _coordinates(own, built)
            near("coordinates as built", values, 0.0, 1e-12 * max(1.0, own.system.length))


def gradient_is_the_derivative(trial: JointTrial) -> None:
    """``B`` of equations of positions against differences of ``Phi``."""
    position = ~trial.system.velocity_level
    if not position.any():
        raise DoesNotApplyError("its equations are of velocities")
    expected = _differences(trial, lambda motion: trial.evaluate(motion)[0])
    names = np.array(trial.joint.equations)[position]
    agree("gradient B", trial.evaluate()[1][position], expected[position], names, trial.own_names())


def second_is_the_derivative_of_the_gradient(trial: JointTrial) -> None:
    """``H`` against differences of ``B``."""
    _, _, context = trial.evaluate()
    expected, actual = _differences(trial, lambda motion: trial.evaluate(motion)[1]), trial.batch.second(context)
    near("shape of second", np.shape(actual), np.shape(expected), 0.0)
    names = trial.own_names()
    for name, H, differences in zip(trial.joint.equations, actual, expected, strict=True):
        agree(f"second, H = DB, of '{name}'", H, differences, names, names)


def rates_are_time_derivatives(trial: JointTrial) -> None:
    """``Phi_t``, ``B_t`` and ``Phi_tt`` at constant configuration; None where nothing depends on time."""
    batch, motion = trial.batch, trial.motion
    _, B, context = trial.evaluate()
    rates = batch.rates(context)

    def at(s: float) -> tuple[Array, Array]:
        return batch.evaluate(motion, batch.at(motion.t + s))[:2]

    first, turning = derivative(lambda s: at(s)[0], RATES), derivative(lambda s: at(s)[1], RATES)
    second = (at(RATES)[0] - 2.0 * at(0.0)[0] + at(-RATES)[0]) / RATES**2
    zero = np.zeros(len(B)), np.zeros_like(B), np.zeros(len(B))
    given = zero if rates is None else (rates.phi, rates.gradient, rates.second)
    hint = "rates() returns None: does nothing depend on time?" if rates is None else ""
    position = ~trial.system.velocity_level
    for what, actual, expected, tolerance in (
        ("rates: phi", given[0], first, 1e-6),
        ("rates: gradient", given[1], turning, 1e-6),
        ("rates: second", given[2][position], second[position], 1e-4),
    ):
        near(what, actual, expected, tolerance * (1.0 + np.abs(expected).max(initial=0.0)), hint)


def shortcuts_agree_with_the_second_derivative(trial: JointTrial) -> None:
    """``stiffness`` and ``rate_gradient``, where a batch has its own, are what ``second`` makes of them."""
    batch, plain, kind = trial.batch, ConstraintBatch, type(trial.batch)
    if kind.stiffness is plain.stiffness and kind.rate_gradient is plain.rate_gradient:
        raise DoesNotApplyError("it has no shortcuts of its own")
    (_, _, context), rng = trial.evaluate(), np.random.default_rng(trial.seed + 1)
    multipliers, V = rng.normal(size=trial.system.m), rng.normal(size=(len(batch.nodes), len(trial.rows)))
    for name, actual, expected in (
        (
            "stiffness",
            whole(batch, batch.stiffness(context, multipliers)),
            plain.stiffness(batch, context, multipliers),
        ),
        ("rate_gradient", batch.rate_gradient(context, V), plain.rate_gradient(batch, context, V)),
    ):
        near(f"{name} against second", actual, expected, 1e-11 * (1.0 + np.abs(expected).max(initial=0.0)))


def hidden_constraints_are_time_derivatives(trial: JointTrial) -> None:
    """Rates of the equations along a motion are what the engine makes of ``B``, ``H`` and the rates."""
    system, motion, position = trial.system, trial.motion, ~trial.system.velocity_level

    def at(s: float) -> Evaluation:
        there = replace(neighbour(motion, s * np.append(motion.V, motion.udot)), t=motion.t + s)
        return system.evaluate(there, np.zeros(system.m), system.prescribe(there.t))

    velocity, rate = velocity_residual(system, at(0.0)), derivative(lambda s: at(s).constraint, RATES)
    tolerance = 1e-6 * (1.0 + np.abs(rate).max())
    near("rate of Phi against B V + Phi_t", velocity[position], rate[position], tolerance)
    # V stays along the screws, so that the acceleration of the node point is Omega x U
    steady = np.zeros(system.N)
    system.nodes_of(steady)[:, :3] = np.cross(motion.V[:, 3:], motion.V[:, :3])
    actual = constraints.acceleration_residual(system, at(0.0))
    actual += gradient_product(system, at(0.0).gradients, steady)
    expected = derivative(lambda s: velocity_residual(system, at(s)), RATES)
    near("rate of B V + Phi_t", actual, expected, 1e-5 * (1.0 + np.abs(expected).max()))


def moving_everything_changes_no_equation(trial: JointTrial) -> None:
    """Equations, gradients and coordinates do not depend on where everything is."""
    if len(trial.joint.nodes) < 2:
        raise DoesNotApplyError("it is on one node alone")
    there = moved(trial.motion, AWAY)
    hint = "Directions and points belong to nodes"
    for what, a, b in zip(("Phi", "B"), trial.evaluate(there), trial.evaluate(), strict=False):
        near(f"{what} with everything moved rigidly", a, b, 1e-11 * (1.0 + np.abs(b).max()), hint)
    if trial.joint.coordinates:
        values = [_coordinates(trial, motion) for motion in (there, trial.motion)]
        near("coordinates with everything moved rigidly", values[0], values[1], 1e-11, hint)


def forces_balance(trial: JointTrial) -> None:
    """Force and counterforce: what a joint does to its nodes has no resultant, unless it is on one node alone."""
    p = len(trial.joint.nodes)
    if p < 2:
        raise DoesNotApplyError("it is on one node alone")
    B = trial.evaluate()[1][:, : 6 * p].reshape(-1, p, 6)
    rows, motion = trial.batch.nodes[0], trial.motion
    force = np.matvec(motion.R[rows], B[..., :3])
    moment = np.matvec(motion.R[rows], B[..., 3:]) + np.cross(motion.x[rows], force)
    hint = "A rigid motion of all nodes must not change Phi, nor slip"
    for what, part in (("forces", force), ("moments", moment)):
        near(f"sum of its {what}", part.sum(axis=1), 0.0, 1e-11 * (1.0 + np.abs(B).max()), hint)


def legal_motions_keep_it_regular(trial: JointTrial) -> None:
    """Along the motions that it leaves free the joint closes, and neither its equations nor its coordinates coincide.

    The last node walks at random; a joint that raises :class:`MotionError` has come to a limit that it names.
    """
    system, batch = trial.system, trial.batch
    own = trial.rows[-6:] if batch.own is None else trial.rows[6 * (batch.nodes.shape[1] - 1) :]
    columns = slice(len(trial.rows) - len(own), None)
    position = ~system.velocity_level
    motion, direction = system.at_rest(), np.random.default_rng(trial.seed + 4).normal(size=len(own))
    for _ in range(WALK):
        try:
            motion, direction = _stride(trial, motion, direction, own, columns, position)
        except MotionError:
            return
        phi, B, _ = trial.evaluate(motion)
        near("Phi after a walk", np.where(position, phi, 0.0), 0.0, 1e-9 * max(1.0, system.length))
        rows = [B[:, columns]]
        if trial.joint.coordinates and batch.own is None:
            with suppress(MotionError):  # where coordinates end, which they name
                gradients = np.concatenate([own.evaluate(motion).gradient for own in _batches(trial)])[:, columns]
                rows.append(gradients[[c.name not in trial.joint.driven for c in trial.joint.coordinates]])
        singular = np.linalg.svd(stacked := np.concatenate(rows), compute_uv=False)
        if len(stacked) > len(own) or singular[-1] < REGULAR * singular[0]:
            raise ContractError(
                f"its {len(phi)} equations, with its coordinates, do not stay independent along the "
                f"motions that it leaves free (singular values {singular}). Are there more equations than motions?"
            )


def coordinates_measure_what_is_free(trial: JointTrial) -> None:
    """Names and gradients of the coordinates; these are their derivatives."""
    joint = trial.joint
    names = [coordinate.name for coordinate in joint.coordinates]
    if len(set(names)) < len(names):
        raise ContractError(f"coordinates {names} must have names of their own")
    if not names:
        raise DoesNotApplyError("it has no coordinates")
    for name, batch in zip(names, _batches(trial), strict=True):
        _is_measured(trial, name, batch)


def _is_measured(trial: JointTrial, name: str, batch: CoordinateBatch) -> None:
    places, (_, gradient, context) = components(batch, trial.system.n)[0], batch.evaluate(trial.motion)
    columns = [list(trial.rows).index(place) for place in places]
    own = [trial.names()[place] for place in places]
    expected = _differences(trial, lambda motion: batch.evaluate(motion).value)[:, columns]
    agree("gradient of its coordinate", gradient, expected, [name], own)
    turned = _differences(trial, lambda motion: batch.evaluate(motion).gradient[0])[:, columns]
    agree(f"second of '{name}'", batch.second(context)[0], turned, own, own)


def equations_have_names(trial: JointTrial) -> None:
    """As many as there are equations, each of its own."""
    names = trial.joint.equations
    if len(names) != trial.system.m or len(set(names)) != len(names):
        raise ContractError(f"{trial.system.m} equations with the names {names}; each needs one of its own")


JOINT_LAWS = laws(
    *BASICS,
    equations_have_names,
    it_is_closed_as_built,
    gradient_is_the_derivative,
    second_is_the_derivative_of_the_gradient,
    rates_are_time_derivatives,
    shortcuts_agree_with_the_second_derivative,
    hidden_constraints_are_time_derivatives,
    moving_everything_changes_no_equation,
    forces_balance,
    coordinates_measure_what_is_free,
    legal_motions_keep_it_regular,
    *OFFERS,
)
"""All laws by name."""


@checked
def check_joint(make: Make, seeds: Seeds = (0, 1)) -> LawReport:
    """Hold a joint, or any constraint, to the laws of its contract; says which of them were checked.

    Parameters and errors are those of :func:`check_element`.

    Examples
    --------
    >>> from fem_mbs.elements import SphericalJoint
    >>> from fem_mbs.testing import check_joint
    >>> laws = check_joint(lambda stage: SphericalJoint(stage.line[0], stage.line[1]))
    """
    trials = [JointTrial.of(make, seed) for seed in seeds]
    return hold(type(trials[0].joint).__name__, JOINT_LAWS, *trials)


def _batches(trial: JointTrial) -> list[CoordinateBatch]:
    """Its coordinates, one batch each."""
    joint, number = trial.joint, trial.system.number
    return [joint.coordinate_batch([joint], own.name, number) for own in joint.coordinates]


def _coordinates(trial: JointTrial, motion: Motion) -> Array:
    return np.concatenate([batch.evaluate(motion).value for batch in _batches(trial)])


def _differences(trial: JointTrial, function):  # type: ignore[no-untyped-def]
    """Derivatives of a function of the motion against the increments of the joint's nodes and internal variables."""
    return jacobian(lambda d: function(neighbour(trial.motion, trial.increments(d))), trial.sizes()[trial.rows])


def _stride(
    trial: JointTrial, motion: Motion, direction: Array, own: IntArray, columns: slice, position: BoolArray
) -> tuple[Motion, Array]:
    """One step along what the gradients leave free, and back onto the joint."""
    motion = replace(motion, t=motion.t + STRIDE)
    for iteration in range(12):
        phi, B, _ = trial.evaluate(motion)
        if iteration and np.abs(phi[position]).max(initial=0.0) <= CLOSED * max(1.0, trial.system.length):
            break
        B = B[:, columns]
        d = np.zeros(trial.system.N)
        if iteration == 0:
            direction = direction - np.linalg.pinv(B) @ (B @ direction)
            size = np.linalg.norm(direction)
            if size > 1e-6:
                direction = direction / size
                d[own] = STRIDE * direction
        d[own] -= np.linalg.pinv(B[position]) @ phi[position]
        motion = neighbour(motion, d)
    return replace(motion, u=trial.system.history(motion)), direction
