"""Derivatives of equilibria: ``A (q', lambda') = -(r_p, Phi_p)`` with ``A = [[K, B^T], [B, 0]]`` at each of them.

``r_p`` and ``Phi_p`` are differences of models beside at the same place, with held nodes where these have them.
Frequencies and buckling loads are queries: they are asked of equilibria that have moved along, so that what stress adds
counts.
"""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import State
from fem_mbs.derivatives.beside import leans_on_history
from fem_mbs.derivatives.parameters import Variation
from fem_mbs.errors import ModelError, SingularSystemError
from fem_mbs.solution.history import Instant, Outcome, proportional
from fem_mbs.static.equations import Equations, Loading, Point
from fem_mbs.static.statics import StaticSolution
from fem_mbs.system.system import System

REFINED = 2
"""Newton steps that take an equilibrium to rounding."""


def beside(solution: StaticSolution, variation: Variation) -> list[StaticSolution]:
    """The equilibria of the models beside, moved along the derivative."""
    refuse_what_has_none(solution)
    system = solution.system
    others = variation.systems
    instant = solution.history.instant or proportional
    states: list[list[State]] = [[] for _ in others]
    for k in range(len(solution.t)):
        for own, state in zip(states, moved(system, variation, instant, solution.history.state(k)), strict=True):
            own.append(state)
    return [
        StaticSolution(other, own, Outcome.FINISHED, solution.stats, (), instant, solution.unstable)
        for other, own in zip(others, states, strict=True)
    ]


def refuse_what_has_none(solution: StaticSolution) -> None:
    """Refuse what has no derivatives of equilibria."""
    system = solution.system
    if system.redundant is not None:
        raise ModelError(
            f"sensitivities: {system.redundant.text} Single reactions are not unique, and have no derivatives: leave "
            "out what repeats"
        )
    changed = (system.order < 0) & (np.asarray(solution.history.u) != system.u0).any(axis=0)
    changed &= leans_on_history(system, system.motion(solution.history.state(len(solution.t) - 1)))
    if changed.any():
        owner, variable = system.internal_variables[int(np.argmax(changed))]
        raise ModelError(
            f"sensitivities: '{variable.name}' of {owner} has changed along the path, and equilibria depend on how "
            "they were reached, which has no derivative here"
        )


def residuals_beside(
    equations: Equations, variation: Variation, point: Point
) -> tuple[list[tuple[Equations, Point]], Array]:
    """The derivative ``(r_p, Phi_p)`` at a place; and equations of models beside, with the place in their arrays.

    Held nodes are where these models have them.
    """
    system, beside, values = equations.system, [], []
    held = np.logical_not(system.free.any(axis=1)).reshape(-1)
    for other in variation.systems:
        x = np.where(held[:, None], other.x0, point.x + (system.origin - other.origin))
        R = np.where(held[:, None, None], other.R0, point.R)
        u = np.where(system.order < 0, other.u0 + point.u - system.u0, point.u)
        place, own = point._replace(x=x, R=R, u=u), Equations(other, equations.loading)
        own.force_factor = equations.force_factor
        beside.append((own, place))
        values.append(own.residual(own.evaluate(place)))
    return beside, variation.difference(values)


def moved(system: System, variation: Variation, instant: Instant, state: State) -> list[State]:
    """One equilibrium as it is in the models beside."""
    equations = Equations(system, Loading(instant, 0.0, state.t or 1.0))
    point = Point(state.x, state.R, state.u, state.multipliers, state.t)
    for _ in range(REFINED):
        evaluation = equations.evaluate(point)
        solve = equations.factor(evaluation)
        d, multipliers = equations.response(solve, equations.residual(evaluation))
        point = point.moved(d, point.multipliers + multipliers, point.load)
    try:
        solve = equations.factor(equations.evaluate(point))
    except SingularSystemError as error:
        raise ModelError(
            f"sensitivities: the stiffness is singular at load factor {state.t:g}, a limit or a branch of the path, "
            "where equilibria have no derivative at a given load"
        ) from error
    beside, change = residuals_beside(equations, variation, point)
    d, multipliers = equations.response(solve, change)
    return [
        place.moved(step * d, place.multipliers + step * multipliers, place.load).state()
        for (_, place), step in zip(beside, variation.shifts, strict=True)
    ]
