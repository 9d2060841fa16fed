"""Motions to try laws on, their neighbours, and the derivatives that neighbours give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fem_mbs import GeneralizedAlpha, State, System
from fem_mbs.alpha.step import StepEquations, Unknowns
from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion, RateSensitivities
from fem_mbs.elements.contact.pairs import every
from fem_mbs.system import matrices as tangent
from fem_mbs.system.system import Evaluation
from fem_mbs.testing.differences import derivative
from fem_mbs.testing.stage import at_rest, later, moved, neighbour, random_motion, weightless

__all__ = ["at_rest", "derivative", "later", "moved", "neighbour", "random_motion", "weightless"]


def residual(system: System, motion: Motion, multipliers: Array | None = None) -> Array:
    """Assembled residual of all nodes in body components, ``(n, 6)``."""
    return system.nodes_of(evaluated(system, motion, multipliers).force)


def evaluated(system: System, motion: Motion, multipliers: Array | None = None) -> Evaluation:
    """The equations at a motion, with the loads of its time."""
    own = np.zeros(system.m) if multipliers is None else multipliers
    return system.evaluate(motion, own, system.prescribe(motion.t))


def iteration_matrix(system: System, motion: Motion, dV: Array, dA: Array) -> Array:
    """``K + C dV + M dA`` of the free components, dense; ``dV`` and ``dA`` (n, 6, 6)."""
    none = np.zeros(system.k)
    values = tangent.entries(
        system, evaluated(system, motion), RateSensitivities(dV, none), RateSensitivities(dA, none)
    )
    return np.asarray(tangent.force_matrix(system, values).toarray())


def mass_matrix(system: System, motion: Motion) -> Array:
    """Mass matrix of the free components, dense."""
    values = tangent.mass_entries(system, evaluated(system, motion))
    return np.asarray(tangent.force_matrix(system, values).toarray())


def stiffness_matrix(system: System, motion: Motion) -> Array:
    """Stiffness matrix of the free components, dense."""
    values = tangent.stiffness_entries(system, evaluated(system, motion))
    return np.asarray(tangent.force_matrix(system, values).toarray())


def momentum(system: System, motion: Motion) -> Array:
    """Linear and angular momentum about the origin, world frame, ``(6,)``."""
    P = np.zeros((system.n, 6))
    P[system.free] = mass_matrix(system, motion) @ motion.V[system.free]
    return resultant(motion, P)


def resultant(motion: Motion, wrenches: Array) -> Array:
    """Resultant force and moment about the origin ``(6,)``, world frame, of body wrenches ``(n, 6)``."""
    force, moment = (np.matvec(motion.R, part) for part in (wrenches[:, :3], wrenches[:, 3:]))
    return np.concatenate([force.sum(axis=0), (moment + np.cross(motion.x, force)).sum(axis=0)])


def jacobian(function: Callable[[Array], Array], free: Array, step: float = 1e-5) -> Array:
    """Columns ``derivative of function(d)`` against each free component of ``d`` (n, 6)."""
    columns = []
    for index in np.argwhere(free):
        d = np.zeros(free.shape)
        d[tuple(index)] = step
        columns.append((function(d) - function(-d)) / (2 * step))
    return np.stack(columns, axis=-1)


def closing_about_contacts(batch: Any, motion: Motion) -> Array:
    """Rates ``(k, 3)`` of gaps and slips where bodies b turn about their contacts, in the middle of gap or overlap."""
    gaps, points = batch.measure(motion, *every(batch.friction.shape)), batch.points(motion)
    nodes = np.repeat(batch.nodes[:, -batch._pairs.of_b :], points.shape[1], axis=0)
    R, G = motion.R[nodes], gaps.gradient.reshape(len(nodes), 3, -1, 6)[:, :, -nodes.shape[1] :]
    normals = np.matvec(R, G[:, 0, :, :3]).sum(axis=1)
    places = points.reshape(-1, 3) - 0.5 * gaps.gap[:, None] * normals
    spin = np.array([0.7, -1.1, 0.4])
    moving = np.vecmat(np.cross(spin, motion.x[nodes] - places[:, None]), R)
    return np.asarray(np.einsum("kdpi,kpi->kd", G, np.concatenate([moving, np.vecmat(spin, R)], axis=-1)))


def random_state(system: System, seed: int) -> State:
    """A random state that violates all joints; what is held rests."""
    rng = np.random.default_rng(seed + 100)
    motion = random_motion(system, seed)
    v, vdot = np.where(system.free, rng.normal(size=(2, system.n, 6)), 0.0)
    multipliers = rng.normal(size=system.m)
    return State(0.2, motion.x, motion.R, v, vdot, multipliers, motion.u, motion.udot, motion.uddot)


INCREMENTS = ("D", "multipliers", "Z", "Y", "eta")


def increments(unknown: Unknowns) -> list[Array]:
    """Those that the formulation has."""
    return [
        getattr(unknown, name) for name in INCREMENTS if name in ("D", "multipliers") or len(getattr(unknown, name))
    ]


def with_increments(unknown: Unknowns, values: Sequence[Array]) -> Unknowns:
    """The same with others."""
    names = [name for name in INCREMENTS if name in ("D", "multipliers") or len(getattr(unknown, name))]
    return unknown._replace(**dict(zip(names, values, strict=True)))


def random_step(system: System, seed: int, h: float, method: GeneralizedAlpha) -> tuple[StepEquations, Unknowns]:
    """The equations of a step from a random state, and a trial that turns every node by about half a radian."""
    rng = np.random.default_rng(seed + 200)
    state = random_state(system, seed)
    memory = replace(method, start="consistent").init(system, state, h)
    free = np.zeros(system.N)
    free[system.free_rows] = 1.0
    problem = method.equations(system, state, h, memory._replace(a=free * rng.normal(size=system.N)))
    D, multipliers = 0.3 * free * rng.normal(size=system.N), 3.0 * rng.normal(size=system.m)
    guess = problem.predict(D, multipliers)
    further = (0.3 * rng.normal(size=part.shape) for part in increments(guess)[2:])
    return problem, with_increments(guess, [D, multipliers, *further])


def equations(problem: StepEquations, unknown: Unknowns) -> Array:
    """Scaled equations of a step: ``(h^2 r, Phi)``, and ``h (B v + Phi_t)`` where the formulation has it."""
    trial = problem.evaluate(unknown)
    force = trial.evaluation.force[problem.system.free_rows]
    return np.concatenate([problem.h**2 * force, trial.closing, trial.hidden])


def differences(problem: StepEquations, unknown: Unknowns) -> Array:
    """Derivative of :func:`equations` against body increments, ``h^2 lambda`` and the rest, by central differences."""
    system, step = problem.system, 1e-5
    T, here = increment_derivative(problem, unknown.D), increments(unknown)
    nothing = [np.zeros_like(part) for part in here]
    ways = []
    for row in system.free_rows:
        d = np.zeros(system.N)
        d[row] = step
        ways.append([np.append(np.matvec(T, system.nodes_of(d)), system.own_of(d)), *nothing[1:]])
    for k, scale in ((1, problem.h**2), (2, 1.0)):
        for unit in np.eye(len(here[k])) if k < len(here) else ():
            ways.append([step * unit / scale if j == k else part for j, part in enumerate(nothing)])

    def at(way: Sequence[Array], sign: float) -> Array:
        return equations(problem, with_increments(unknown, [u + sign * w for u, w in zip(here, way, strict=True)]))

    unchanged, columns = at(nothing, 0.0), []
    for k in range(0, len(ways), 6):
        # six neighbours, such as those of a node, that change nothing together have zeros
        some = ways[k : k + 6]
        together = [sum(w / (np.sqrt(2.0) + j) for j, w in enumerate(parts)) for parts in zip(*some, strict=True)]
        still = np.array_equal(at(together, 1.0), unchanged)
        columns += [0.0 * unchanged if still else (at(way, 1.0) - at(way, -1.0)) / (2 * step) for way in some]
    return np.stack(columns, axis=-1)


def increment_derivative(problem: StepEquations, D: Array, step: float = 1e-5) -> Array:
    """Derivative ``(n, 6, 6)`` of the increment of a step against body increments of its end, by differences."""
    system, state = problem.system, problem.state
    D = system.nodes_of(D)
    R = problem.chart.retract(state.x, state.R, D)[1]
    columns = []
    for unit in step * np.eye(6):
        behind, ahead = (problem.chart.retract(state.x, state.R, D + s * unit) for s in (-1.0, 1.0))
        way = system.kinematics.relative(*behind, *ahead) / (2 * step)
        columns.append(system.kinematics.to_body(R, way))
    return np.linalg.inv(np.stack(columns, axis=-1))


def assert_columns_close(actual: Array, expected: Array, tolerance: float = 1e-6) -> None:
    """Every column right to ``tolerance`` of its own largest entry, but for the rounding of differences."""
    error, size = np.abs(actual - expected).max(axis=-2), np.abs(expected).max(axis=-2)
    assert actual.shape == expected.shape
    allowed = tolerance * size + 1e-10 * size.max()
    assert (error <= allowed).all(), f"relative error {np.max(error / np.maximum(size, 1e-300)):.1e}"


def fitted_order(steps: Array, errors: Array) -> float:
    """Slope of the errors over the steps in a doubly logarithmic plot."""
    return float(np.polyfit(np.log(steps), np.log(errors), 1)[0])
