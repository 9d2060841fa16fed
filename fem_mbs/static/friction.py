"""Paths of equilibria with Coulomb friction, step by step.

Friction at rest depends on how the load has come. In each step along the path the laws are those of ``fem_mbs/contact``
about what slips within the step,

    P_N = max(0, P_N - r gap(q)),    P_T = proj(P_T - r G_T D) on the disc of radius mu P_N,

with the increments ``D`` of the nodes from the last equilibrium: what sticks stays where it stuck last, what slides has
its friction against the slip of the step (Euler's implicit rule, exact while a slip keeps its direction; Wriggers,
*Computational Contact Mechanics*, 2006, ch. 5). Newton's method with a problem of complementarity in each iteration
finds what pushes, sticks and slides, as in a step over time (``contact/equations.py``).
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contact.complementarity import Laws, least_squares, projected, push
from fem_mbs.contact.contacts import MeasuredContacts, contacts_of
from fem_mbs.contact.equations import relative_force
from fem_mbs.contact.touching import Touching, touching_of
from fem_mbs.contracts import RateSensitivities, Report, State
from fem_mbs.contracts.unilateral import FORCES, TOUCHING
from fem_mbs.errors import ConvergenceError, FemMbsError, LawError, SingularSystemError
from fem_mbs.initial.singular import handle_repeated
from fem_mbs.linear.solvers import Factors
from fem_mbs.newton import FAILURES, Newton, NotConvergedError
from fem_mbs.newton import solve as newton_solve
from fem_mbs.static.equations import UNKNOWN, Direction, Equations, Loading, PathUnknown, Point, StepProblem
from fem_mbs.static.path import CUT, FIRST, GROWTH, SAME_LOAD, SMALLEST, TARGET
from fem_mbs.system.matrices import leading_matrix, solve_with_constraints
from fem_mbs.system.states import from_user
from fem_mbs.system.system import Evaluation, System

LOG = logging.getLogger("fem_mbs")
SOFT = 1e-6
"""What is added to a singular matrix of 1s to find out what contacts do."""
SWEEPS, ROUNDS, EXACT, ROUNDING = 20, 12, 1e-12, 1e-6
"""Of Gauss-Seidel, and iterations of Newton's method, for what contacts do; what is left of rates, and may be."""
AWAY, FARTHEST = 10.0, 0.1
"""Increments, over the extent of the model or in rad, that lead away, and the largest ones of a step."""
LEFT = 10.0
"""Residuals, over their tolerances, that pass."""
SMALL = 1e-3
"""Of forces against which residuals are seen, over the largest of the path."""
LEAST = 1e-6
"""Gaps and slips, over the extent of the model, against which what the laws miss is seen."""
BARELY = 1e-9
"""Force, over the largest, of contacts that touch without one: what sticks is tried first."""
SETS = 20
"""Sets of contacts that may touch which are tried in a step."""
EDGE = 1e-6
"""What is left of a cone of friction at its edge."""


class FrictionResidual(NamedTuple):
    """Where a step leads, the equations there with the forces of contacts, and the contacts."""

    point: Point
    evaluation: Evaluation
    at: MeasuredContacts
    P: Array
    """``(k, 3)``."""
    G: Array
    """``(3k, N)``."""
    rates: Array
    """Gaps, and slips in the step, ``(k, 3)``."""


class FrictionLinearization(NamedTuple):
    """The factorised stiffness, tangent operators, and what contacts do."""

    factors: Factors
    T_inv: Array
    E: Array
    """Derivatives of gaps and slips, ``(3k, N)``."""
    moves: Array
    """Increments that follow the forces of contacts, ``(N, 3k)``."""
    reacts: Array
    """The same of the multipliers, ``(m, 3k)``."""


class FrictionProblem(StepProblem):
    """The equations of rest near an equilibrium, in which some contacts may touch.

    Where nothing but contacts holds a part, the stiffness is singular. With ``kappa G^T G d`` on both sides,
    ``p = P + kappa G d``, the equations of an iteration are

        (K - P H + kappa G^T G) d = -r + G^T p,    P = p - kappa G d,    xi = xi_0 + E d .
    """

    def __init__(self, equations: Equations, base: Point, touching: Touching, kappa: float) -> None:
        super().__init__(equations, base, None, mixed=True)
        self.touching, self.kappa = touching, kappa

    def evaluate(self, unknown: PathUnknown) -> FrictionResidual:  # type: ignore[override]
        """The equations of rest, and the laws of contact."""
        D, multipliers, load = unknown.increment
        if not np.abs(D * self.equations.system.weight).max() < AWAY:
            raise NotConvergedError("the iteration leads away")
        joints, P = np.split(multipliers, [self.equations.system.m])
        point = self.base.moved(D, joints, load)
        evaluation, F = self.equations.evaluate(point), SMALL * self.kappa * self.equations.system.length
        scale = max(evaluation.scale[0], F), max(evaluation.scale[1], F * self.equations.system.length)
        evaluation = evaluation._replace(scale=scale)
        at = self.touching.at(replace(evaluation.motion, V=self.equations.system.nodes_of(D)))
        G, P = at.gradients, P.reshape(-1, 3)
        force = evaluation.force - P.ravel() @ G
        relative = relative_force(self.equations.system, evaluation, force)
        evaluation = evaluation._replace(force=force, relative=relative)
        return FrictionResidual(point, evaluation, at, P, G, np.column_stack([at.gap, at.rates()[:, 1:]]))

    def size(self, trial: Any) -> tuple[float, float]:
        """Relative residuals; what the laws miss counts as a force, gaps that are closed as constraints."""
        system, evaluation, P = self.equations.system, trial.evaluation, trial.P
        force, gap = system.relative_residual(evaluation)
        r = np.full(len(P), evaluation.scale[0] / system.length)
        missed = np.abs(P - projected(P, trial.rates, self.touching.friction, r, r)).max(initial=0.0)
        closed = np.abs(trial.rates[P[:, 0] > r * trial.rates[:, 0], 0]).max(initial=0.0)
        return max(force, float(missed / evaluation.scale[0])), max(gap, float(closed / system.length))

    def linearize(self, unknown: PathUnknown, trial: Any, first: Any = None) -> Any:
        """Stiffness in body increments, with that of the forces of contact and of ``kappa``, and what forces do."""
        equations, system, factor = self.equations, self.equations.system, self.equations.force_factor
        values = equations.entries(equations.with_stresses(trial.evaluation, unknown.stresses), factor)
        solver = self.touching.solver
        values = np.concatenate([values, factor * (trial.at.stiffness(trial.P) + self.kappa * trial.at.squares())])
        factors = solver.factorized(values)
        T_inv = self.inverse_tangent(unknown)
        E = trial.at.rate_gradients(RateSensitivities(T_inv))
        E[::3] = trial.G[::3]
        right = np.zeros((system.size, len(E)))
        right[: system.n_free] = factor * trial.G.T[system.free_index]
        moved, moves = factors.solve(right), np.zeros((system.N, len(E)))
        moves[system.free_index] = moved[: system.n_free]
        return FrictionLinearization(factors, T_inv, E, moves, moved[system.n_free :] / factor)

    def correction(self, unknown: PathUnknown, trial: Any, linearization: Any) -> Direction:
        """Increments, and changes of multipliers and forces of contacts: what contacts do first."""
        system, factor, lin, G = self.equations.system, self.equations.force_factor, linearization, trial.G
        force = factor * (trial.evaluation.force + trial.P.ravel() @ G)
        d, multipliers = solve_with_constraints(system, lin.factors, force, trial.evaluation.constraint)
        forces = np.eye(len(G)) - self.kappa * (G @ lin.moves), self.kappa * (G @ d)
        rates = lin.E @ lin.moves, trial.rates.ravel() - lin.E @ d
        p = obeying(forces, rates, self.touching.friction, trial.P, trial.rates, LEAST * system.length)
        change = np.append(lin.reacts @ p - multipliers / factor, forces[0] @ p + forces[1] - trial.P.ravel())
        return Direction(lin.moves @ p - d, change, 0.0)

    def length(self, correction: Direction) -> float:
        """Largest increment, weighted, and largest change of a force of contact over what the loads are."""
        changes = np.abs(correction.multipliers[self.equations.system.m :]).max(initial=0.0)
        return max(super().length(correction), float(changes) / (self.kappa * self.equations.system.length))


def obeying(
    forces: tuple[Array, Array], rates: tuple[Array, Array], friction: Array, P: Array, xi: Array, small: float
) -> Array:
    """``p`` (3k,) with which forces ``A p + b`` and rates ``G p + c`` of contacts obey their laws.

    Newton's method on the laws, from the branches of forces ``P`` and rates ``xi`` (k, 3). If these lead nowhere, from
    what a problem of complementarity finds with a little added to ``A``, which is singular where nothing but contacts
    holds a part.
    """
    (A, b), (G, c) = forces, rates
    k, best, least = len(P), P.ravel(), np.inf
    if not k:
        return best
    if not all(np.isfinite(part).all() for part in (A, b, G, c)):
        raise NotConvergedError("the iteration leads away")
    laws = Laws(G, c.reshape(-1, 3), friction)
    size = max(laws.size, small)
    for again in (False, True):
        p = P.ravel()
        if again:
            soft = np.linalg.pinv(A + SOFT * np.eye(len(A)), rcond=SOFT**2)
            mobility = G @ soft
            P = push(mobility, (c - mobility @ b).reshape(-1, 3), friction, guess=P, sweeps=SWEEPS).P
            p = soft @ (P.ravel() - b)
            P, xi = (A @ p + b).reshape(-1, 3), (G @ p + c).reshape(-1, 3)
        for _ in range(ROUNDS):
            _, own, K = laws.branches(P, xi)
            rows = (own @ A.reshape(k, 3, -1) + K @ G.reshape(k, 3, -1)).reshape(len(A), -1)
            right = own @ (A @ p + b).reshape(k, 3, 1) + K @ (G @ p + c).reshape(k, 3, 1)
            p = p - least_squares(rows, right.ravel())
            P, xi = (A @ p + b).reshape(-1, 3), (G @ p + c).reshape(-1, 3)
            off = P - projected(P, xi, friction, laws.r_N, laws.r_T)
            error = float((np.abs(off) / np.column_stack([laws.r_N, laws.r_T, laws.r_T])).max(initial=0.0))
            if error < least:
                best, least = p, error
            if error <= EXACT * size or not error < np.inf:
                break
        if least <= EXACT * size:
            break
    if not least <= ROUNDING * size:
        raise NotConvergedError("no forces of contacts obey their laws")
    return best


class FrictionPlace(NamedTuple):
    """An equilibrium on the path, and the forces of all contacts ``(C, 3)``."""

    point: Point
    forces: Array
    unstable: int = UNKNOWN


class FrictionStep(NamedTuple):
    """An equilibrium found from the last one, which contacts touch there ``(C,)``, and how it was found."""

    place: FrictionPlace
    touches: BoolArray
    report: Report


class FrictionPath:
    """A path with friction under way: its last equilibrium, and the length of the next step over the range of loads."""

    singular: tuple[tuple[float, float], ...] = ()

    def __init__(
        self, system: System, loading: Loading, initial: State | None, newton: Newton, step: float | None
    ) -> None:
        self.system, self.contacts, self.newton, self.step = system, contacts_of(system), newton, step
        self.equations = equations = Equations(self.contacts.stepped, loading)
        self.length, self.failed = FIRST if step is None else step, 0
        self.last = Point(system.x0, system.R0, system.u0, np.zeros(system.m), loading.start).state()
        if initial is not None:
            self.last = from_user(system, initial, "statics: initial")
        inner = self.contacts.without(self.last)
        point = Point(inner.x, inner.R, inner.u, inner.multipliers, loading.start)
        evaluation = equations.evaluate(point)
        values = leading_matrix(equations.system, evaluation)  # the stiffness of what contacts hold is singular
        handle_repeated(equations.system, evaluation, values, f"at load factor {point.load:g}")
        ends = evaluation, equations.evaluate(point._replace(load=loading.end))
        self._kappa = max(float(own.scale[0]) for own in ends) / system.length
        self._touches = self.contacts.gaps(system.motion(self.last)) <= TOUCHING * system.length
        self.here = FrictionPlace(point, self.last.u[self.contacts.carried[:, FORCES]])
        try:
            self._go_on(self._solve(point.load))
        except FAILURES as failure:
            raise self.explain(failure) from failure

    @property
    def path(self) -> FrictionPath:
        """What has the last equilibrium."""
        return self

    def advance(self, stops: Array) -> tuple[Report, State]:
        """A step, to the first of the load factors ``stops`` at most: how it was found, and its state."""
        here, loading, span = self.here.point.load, self.equations.loading, self.equations.range
        sense = np.sign(loading.end - loading.start)
        ahead = stops[sense * (stops - here) > SAME_LOAD * span]
        stop = float(ahead[np.abs(ahead - here).argmin()])
        length, cut = self.length, False
        while True:
            load = here + sense * length * span
            load = stop if sense * (stop - load) <= SAME_LOAD * span else load
            try:
                step = self._solve(load)
                break
            except FAILURES as failure:
                self.failed, cut = self.failed + 1, True
                length = CUT * abs(load - here) / span
                LOG.info("step to load factor %g failed: %s", load, failure)
                if (isinstance(failure, LawError) and not failure.of_motion) or length < SMALLEST:
                    raise
        growth, went = min(GROWTH, max(CUT, float(np.sqrt(TARGET / max(step.report.iterations, 1))))), abs(load - here)
        longer = growth * went / span if cut or growth < 1.0 else max(growth * went / span, self.length)
        self.length = min(longer, self.step or np.inf)
        self._go_on(step)
        return step.report, self.last

    def _solve(self, load: float) -> FrictionStep:
        """The equilibrium at a load factor: contacts that end deep may touch, those that have left their face not."""
        (point, forces, _), equations, system = self.here, self.equations, self.equations.system
        touches, deep = self._touches.copy(), TOUCHING * system.length
        for _ in range(SETS):
            touching = touching_of(self.contacts, touches)
            problem: Any = FrictionProblem(equations, point, touching, self._kappa)
            P = forces[touching.numbers]
            P[P[:, 0] <= 0.0, 0] = BARELY * self._kappa * system.length
            guess = np.append(point.multipliers, P)
            unknown = PathUnknown(
                Direction(np.zeros(system.N), guess, load),
                equations.stresses_ahead(equations.evaluate(point), np.zeros(system.N)),
            )
            with np.errstate(over="ignore", invalid="ignore"):
                found = newton_solve(problem, unknown, self.newton)
                there = problem.evaluate(found.unknown) if found.corrected else found.value
            size, allowed = problem.size(there), (self.newton.force_tolerance, self.newton.constraint_tolerance)
            if not all(own <= LEFT * limit for own, limit in zip(size, allowed, strict=True)):
                raise NotConvergedError("no forces of contacts obey their laws", found.report)
            moved = float(np.abs(found.unknown.increment.D * system.weight).max(initial=0.0))
            if load != point.load and moved > FARTHEST:
                raise NotConvergedError("the equilibrium found is far away: there is none near", found.report)
            pushes = np.zeros_like(touches)
            pushes[touching.numbers] = there.P[:, 0] > 0.0
            reached = self.contacts.carry_on(self.last, there.point.state())
            gaps = self.contacts.gaps(self.system.motion(reached))
            wrong = np.where(touches, pushes & (gaps > deep), gaps < -deep)
            if not wrong.any():
                break
            touches ^= wrong
        else:
            raise NotConvergedError("contacts change between open and closed without end", found.report)
        forces = np.zeros_like(forces)
        forces[touching.numbers] = there.P
        point, _ = equations.settled(there.point, there.evaluation)
        if system.has_history:
            point = point._replace(u=system.history(there.evaluation.motion))
        system.check_end(self.here.point.load, load, point.R, point.u, point.multipliers)
        return FrictionStep(FrictionPlace(point, forces), gaps <= deep, found.report)

    def _go_on(self, step: FrictionStep) -> None:
        self.here, self._touches = step.place, step.touches
        self.last = self.contacts.carry_on(self.last, self.here.point.state(), self.here.forces)

    def explain(self, failure: FemMbsError) -> FemMbsError:
        """The error that says how far the path was followed, and which contacts are about to slide there."""
        if isinstance(failure, LawError):
            return failure
        forces, mu = self.here.forces, self.contacts.friction
        edge = (forces[:, 0] > 0.0) & (np.linalg.norm(forces[:, 1:], axis=1) >= (1.0 - EDGE) * mu * forces[:, 0])
        parts = (self.contacts.names[c] for c in np.flatnonzero(edge))
        if slides := ", ".join(f"{part} ({part.contacts[k]})" for part, k in parts):
            why = f"at the edge of their cones of friction are {slides}: what they hold may slide away"
        elif isinstance(failure, SingularSystemError):
            why = self.equations.mechanism(self.here.point, "without contacts")
            why += "; place what contacts are to hold so that they touch as built"
        else:
            why = "try a shorter step, or look at loads that jump"
        load, end = self.here.point.load, self.equations.loading.end
        history = failure.report.history if isinstance(failure, NotConvergedError) and failure.report else []
        return ConvergenceError(
            f"no equilibrium was found beyond load factor {load:.6g} on the way to {end:g}: {failure}\n  {why}\n  "
            "the error has the path so far as its solution",
            end,
            history,
        )
