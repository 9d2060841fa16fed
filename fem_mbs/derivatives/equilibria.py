"""Derivatives of equilibria: ``A (q', lambda') = -(r_p, Phi_p)`` with ``A = [[K, B^T], [B, 0]]`` at each of them.

``r_p`` and ``Phi_p`` are differences of models beside at the same place, with held nodes where these have them.
Frequencies and buckling loads are queries: they are asked of equilibria that have moved along, so that what stress adds
counts.

At a limit of the load along a path ``A`` is singular, and the load ``P`` is largest or least. With a motion ``c`` held
that goes along, the bordered equations are regular (Keller 1977):

    [[A, r_P], [c^T, 0]] (q', P') = (-r_p, 0),    (q^, P^) from (0, 1) on the right.

``P^ = 0`` is the limit, so that ``P'`` is its derivative, whatever ``c``; its place follows from where ``P^`` of a
model beside is zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy.sparse import block_array, csc_array
from scipy.sparse.linalg import SuperLU, splu

from fem_mbs.arrays import Array
from fem_mbs.contracts import State
from fem_mbs.derivatives.parameter_derivatives import KINK, nearer
from fem_mbs.derivatives.parameters import Variation
from fem_mbs.derivatives.residual import Residual
from fem_mbs.errors import ModelError, SingularSystemError
from fem_mbs.linear.direct import Solve
from fem_mbs.solution.history import Instant, Outcome, proportional
from fem_mbs.static.equations import Equations, Loading, Point
from fem_mbs.static.statics import StaticSolution
from fem_mbs.system.system import Evaluation, System

REFINED = 2
"""Newton steps that take an equilibrium to rounding."""
STEPS, ROUNDING = 60, 1e-11
"""Steps that find a limit, and how far, over the extent or in rad, the last one may lead."""
APART = 1e-4
"""How far, likewise, the path is looked at along itself."""


def varied(solution: StaticSolution, variation: Variation) -> list[StaticSolution]:
    """The equilibria of the models beside, moved along the derivative."""
    refuse_what_has_none(solution)
    instant = solution.history.instant or proportional
    states = [solution.history.state(k) for k in range(len(solution.t))]
    return _solutions(solution, variation, [moved(solution.system, variation, instant, own) for own in states])


def smooth_at_end(solution: StaticSolution, variation: Variation) -> tuple[Variation, float]:
    """The variation, or one so near that what moves the last equilibrium follows it by a line, where that can be.

    Held nodes are moved from under others, which models as built do not tell. Beside it, how much it bends there.
    """
    equations, point = _place(solution.system, solution.history.instant or proportional, solution.history.state(-1))
    try:
        solve = equations.factor(equations.evaluate(point))
    except SingularSystemError:  # which is told where equilibria are moved
        return variation, 0.0
    system = solution.system

    def bend(own: Variation) -> tuple[float, float, float]:
        """And the share of a half that is rounding, and how far halves are apart."""
        here, *values = (
            system.length + equations.response(solve, each.residual(each.evaluate(place)))[: system.N]
            for each, place in [(equations, point), *varied_residuals(equations, own, point)[0]]
        )
        half, apart = own.halves(here, values)
        noise = 1e-9 * np.abs(here).max()
        return (apart / half, noise / half, apart) if apart > noise else (0.0, 0.0, apart)

    closer = nearer(variation, *bend(variation)[:2])
    bends, _, apart = bend(closer)
    return closer, bends if bends <= KINK or closer.kinked(apart, lambda own: bend(own)[2]) else 0.0


def _place(system: System, instant: Instant, state: State) -> tuple[Equations, Point]:
    point = Point.of(state)
    return Equations(system, Loading(instant, 0.0, state.t or 1.0), point), point


def _solutions(
    like: StaticSolution, variation: Variation, states: Iterable[Sequence[State]], unstable: Array | None = None
) -> list[StaticSolution]:
    """Of the models beside, whose equilibria are given one after the other."""
    counts = like.unstable if unstable is None else unstable
    return [
        StaticSolution(other, own, Outcome.FINISHED, like.stats, (), like.history.instant or proportional, counts)
        for other, own in zip(variation.systems, map(list, zip(*states, strict=True)), strict=True)
    ]


def refuse_what_has_none(solution: StaticSolution) -> None:
    """Refuse what has no derivatives of equilibria."""
    system = solution.system
    if system.redundant is not None:
        raise ModelError(
            f"sensitivities: {system.redundant.text} Single reactions are not unique, and have no derivatives: leave "
            "out what repeats"
        )
    if system.has_velocity_level:
        joint, _ = system.constraint_owner[int(np.argmax(system.velocity_level))]
        raise ModelError(
            f"sensitivities: {joint} acts on velocities, so that equilibria depend on the way there, and have no "
            "derivative here; of= takes a function of your own, such as one that calls mbs.statics, by differences"
        )
    changed = (system.order < 0) & (np.asarray(solution.history.u) != system.u0).any(axis=0)
    last = solution.history.state(len(solution.t) - 1)
    if changed.any():
        changed &= Residual(system, False).depends_on_history(system.motion(last), np.array([last.t]))
    if changed.any():
        owner, variable = system.internal_variables[int(np.argmax(changed))]
        raise ModelError(
            f"sensitivities: '{variable.name}' of {owner} has changed along the path, and equilibria depend on how "
            "they were reached, which has no derivative here"
        )


def varied_residuals(
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
        place = point._replace(x=x, R=R, u=u)
        own = Equations(other, equations.loading, place)
        own.force_factor = equations.force_factor
        beside.append((own, place))
        values.append(own.residual(own.evaluate(place)))
    return beside, variation.difference(values)


def to_rounding(solution: StaticSolution) -> StaticSolution:
    """The same equilibria, as exact as those of models beside."""
    refuse_what_has_none(solution)
    system, instant = solution.system, solution.history.instant or proportional
    states = [refined(system, instant, solution.history.state(k)) for k in range(len(solution.t))]
    return StaticSolution(
        system, states, solution.status, solution.stats, (), instant, solution.unstable, solution._turns
    )


def refined(system: System, instant: Instant, state: State) -> State:
    """An equilibrium to rounding."""
    equations, point = _place(system, instant, state)
    for _ in range(REFINED):
        evaluation = equations.evaluate(point)
        solve = _factored(equations, evaluation, point)
        point = point.moved(equations.response(solve, equations.residual(evaluation)))
    return point.state()


def moved(system: System, variation: Variation, instant: Instant, state: State) -> list[State]:
    """One equilibrium, which is to rounding, as it is in the models beside."""
    equations, point = _place(system, instant, state)
    solve = _factored(equations, equations.evaluate(point), point)
    beside, change = varied_residuals(equations, variation, point)
    along = equations.response(solve, change)
    return [place.moved(by * along).state() for (_, place), by in zip(beside, variation.shifts, strict=True)]


def _factored(equations: Equations, evaluation: Evaluation, point: Point) -> Solve:
    try:
        return equations.factor(evaluation)
    except SingularSystemError as error:
        raise ModelError(
            f"sensitivities: the stiffness is singular at load factor {point.load:g}, a limit or a branch of "
            "the path, where equilibria have no derivative at a given load"
        ) from error


def varied_limits(
    solution: StaticSolution, variations: Sequence[Variation]
) -> tuple[StaticSolution, list[list[StaticSolution]]]:
    """The limits of a path, and those of the models beside."""
    system, t = solution.system, solution.t
    turns = np.flatnonzero(np.diff(np.sign(np.diff(t))) != 0.0) + 1
    if not len(turns):
        raise ModelError(
            f"sensitivities: the load has no limit on the path, which goes from {t[0]:g} to {t[-1]:g}; statics with "
            "arc_length=True follows it beyond one"
        )
    refuse_what_has_none(solution)
    instant, span = solution.history.instant or proportional, (float(t.min()), float(t.max()))
    found = [_Limit(system, instant, span, solution.history.state(int(k))) for k in turns]
    none = np.full(len(found), -1)
    beside = [_solutions(solution, each, [own.varied(each) for own in found], none) for each in variations]
    here = [limit.point.state() for limit in found]
    return StaticSolution(system, here, Outcome.FINISHED, solution.stats, (), instant, none), beside


class _Limit:
    """One limit of the load."""

    def __init__(self, system: System, instant: Instant, span: tuple[float, float], state: State) -> None:
        self.system = system
        point = Point.of(state)
        self.equations = Equations(system, Loading(instant, *span), point)
        self.weight = np.concatenate([system.weight[system.free_rows] ** 2, np.zeros(system.m + 1)])
        # the softest motion goes along
        matrix = self.equations.factor(self.equations.evaluate(point))
        self.c = np.zeros(system.size + 1)
        self.c[:-1] = matrix(self.equations.load_derivative(point))
        self.c = self.weight * self.c / np.sqrt(self.c @ (self.weight * self.c))
        for _ in range(STEPS):
            point, along = self._on_path(point)
            ahead, back = (self._on_path(self._moved(point, by * along))[1][-1] for by in (APART, -APART))
            slope = (ahead - back) / (2.0 * APART)
            step = -along[-1] / slope
            point = self._moved(point, np.clip(step, -100.0 * APART, 100.0 * APART) * along)
            if abs(step) < ROUNDING:
                break
        else:
            raise ModelError(f"sensitivities: the limit of the load near {state.t:g} is not found; take smaller steps")
        self.point, self.along = self._on_path(point)
        self.slope = slope

    def varied(self, variation: Variation) -> list[State]:
        """The limit in each of the models beside."""
        beside, pushed = varied_residuals(self.equations, variation, self.point)
        change, turned = self._solver(self.equations, self.point).solve(np.append(-pushed, 0.0)), []
        for (own, place), by in zip(beside, variation.shifts, strict=True):
            turned.append(self._along(own, self._moved(place, by * change))[-1])
        change = change - variation.difference(turned) / self.slope * self.along
        return [
            self._moved(place, by * change).state() for (_, place), by in zip(beside, variation.shifts, strict=True)
        ]

    def _solver(self, equations: Equations, point: Point) -> SuperLU:
        load = csc_array(equations.load_derivative(point)[:, None])
        border = [[equations.matrix(equations.evaluate(point)), load], [csc_array(self.c[None, :-1]), None]]
        return splu(block_array(border, format="csc"))

    def _along(self, equations: Equations, point: Point) -> Array:
        """Tangent of the path, with the motion ``c`` at the rate 1."""
        return self._solver(equations, point).solve(np.append(np.zeros(self.system.size), 1.0))

    def _on_path(self, point: Point) -> tuple[Point, Array]:
        """The equilibrium with the same share of ``c``, and the tangent there."""
        for _ in range(3):
            residual = self.equations.residual(self.equations.evaluate(point))
            point = self._moved(point, -self._solver(self.equations, point).solve(np.append(residual, 0.0)))
        return point, self._along(self.equations, point)

    def _moved(self, point: Point, change: Array) -> Point:
        return point.moved(self.equations.change(change[:-1], change[-1]))
