"""Paths of equilibria on which contacts, stops and ropes close and open, stick and slide, with Coulomb friction.

Friction at rest depends on how the load has come. In each step along the path the laws are those of ``fem_mbs/contact``
about what slips within the step,

    P_N = max(0, P_N - r gap(q)),    P_T = proj(P_T - r G_T D) on the disc of radius mu P_N,

with the increments ``D`` of the nodes from the last equilibrium: what sticks stays where it stuck last, what slides has
its friction against the slip of the step (Euler's implicit rule, exact while a slip keeps its direction; Wriggers,
*Computational Contact Mechanics*, 2006, ch. 5). Newton's method with a problem of complementarity in each iteration
finds what pushes, sticks and slides, as in a step over time (``contact/equations.py``): any number of them may change.

Where no equilibrium is near, the model goes over to another one, as slowly as if it moved through honey: contacts
follow that way, and it is said how far it was.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import lsqr

from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contact.as_joints import with_multipliers
from fem_mbs.contact.closed import OPEN, SLIDES, STICKS
from fem_mbs.contact.complementarity import Laws, inverse, projected, push
from fem_mbs.contact.contacts import ContactForces, MeasuredContacts, contacts_of
from fem_mbs.contact.equations import relative_force
from fem_mbs.contact.many import dense, effects
from fem_mbs.contact.touching import Touching, touching_of
from fem_mbs.contracts import RateSensitivities, Report, State
from fem_mbs.contracts.unilateral import TOUCHING
from fem_mbs.errors import LOG, FemMbsError, LawError, MotionError
from fem_mbs.initial.singular import handle_repeated
from fem_mbs.linear.solvers import Factors
from fem_mbs.newton import FAILURES, Newton, NotConvergedError
from fem_mbs.run.interfaces import AcceptedStep
from fem_mbs.static.equations import UNKNOWN, Equations, Loading, PathUnknown, Point, StepProblem, unstable_motions
from fem_mbs.static.path import CAREFUL, CUT, FIRST, SAME_LOAD, SMALLEST, LoadPath, growth_after, not_found
from fem_mbs.static.start import refuse_turning
from fem_mbs.system import matrices as tangent
from fem_mbs.system.matrices import gradient_matrix, leading_matrix, solve_with_constraints
from fem_mbs.system.system import Evaluation, System

SOFT = 1e-6
"""What is added to a singular matrix of 1s to find out what contacts do."""
ROUNDS, EXACT, ROUNDING = 12, 1e-12, 1e-6
"""Iterations of Newton's method for what contacts do; what is left of rates, and may be."""
STIFF = 100.0
"""Of contacts, over the largest force per extent of the model."""
AWAY = 10.0
"""Increments, over the extent of the model or in rad, that lead away."""
SMALL = 1e-3
"""Of forces against which residuals are seen, over the largest of the path."""
LEAST = 1e-6
"""Gaps and slips, over the extent of the model, against which what the laws miss is seen."""


class ContactPathResidual(NamedTuple):
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


class ContactPathLinearization(NamedTuple):
    """The factorised stiffness, tangent operators, and what contacts do."""

    factors: Factors
    T_inv: Array
    E: Array
    """Derivatives of gaps and slips, ``(3k, N)``."""
    moves: Array
    """Increments that follow the forces of contacts, ``(N, 3k)``."""
    reacts: Array
    """The same of the multipliers, ``(m, 3k)``."""


class ContactPathProblem(StepProblem):
    """The equations of rest near an equilibrium, in which some contacts may touch.

    Where nothing but contacts holds a part, the stiffness is singular, or less: of what would fall over, forces times
    lengths are below zero, which ``kappa`` is to outweigh. With ``kappa G^T G d`` on both sides, ``p = P + kappa G d``,
    the equations of an iteration are

        (K - P H + kappa G^T G) d = -r + G^T p,    P = p - kappa G d,    xi = xi_0 + E d .

    With a ``shift`` 1/h^2 the mass holds back, as in a step in time of length ``h`` from rest by Euler's implicit rule:
    ``M D/h^2`` is added to the forces.
    """

    def __init__(self, equations: Equations, base: Point, touching: Touching, largest: float, shift: float) -> None:
        super().__init__(equations, base, None, mixed=True)
        self.touching, self.largest, self.shift = touching, largest, shift
        self.kappa = STIFF * largest / equations.system.length
        self._first = equations.system.N + equations.system.m + 1
        """Where forces of contact begin in a change."""

    def evaluate(self, unknown: PathUnknown) -> ContactPathResidual:  # type: ignore[override]
        if not super().length(unknown.change) < AWAY:
            raise NotConvergedError("the iteration leads away")
        change, P = np.split(unknown.change, [self._first])
        point, D = self.base.moved(change), self.equations.system.nodes_of(change)
        evaluation = self.equations.accelerated(point, self.shift * D)
        F = SMALL * self.largest
        scale = max(evaluation.scale[0], F), max(evaluation.scale[1], F * self.equations.system.length)
        evaluation = evaluation._replace(scale=scale)
        at = self.touching.at(replace(evaluation.motion, V=D))
        G, P = dense(at.gradients), P.reshape(-1, 3)
        force = evaluation.force - P.ravel() @ G
        relative = relative_force(self.equations.system, evaluation, force)
        evaluation = evaluation._replace(force=force, relative=relative)
        return ContactPathResidual(point, evaluation, at, P, G, np.column_stack([at.gap, at.rates()[:, 1:]]))

    def size(self, trial: Any) -> tuple[float, float]:
        """Relative residuals; what the laws miss counts as a force, gaps that are closed as constraints."""
        (force, gap), (missed, closed) = self.equations.system.relative_residual(trial.evaluation), self.missed(trial)
        return float(np.maximum(force, missed)), float(np.maximum(gap, closed))

    def missed(self, trial: Any) -> tuple[float, float]:
        """By how much forces of contacts, and gaps that are closed, miss the laws of contact, relative."""
        system, evaluation, P = self.equations.system, trial.evaluation, trial.P
        r = evaluation.scale[0] / system.length
        missed = np.abs(P - projected(P, trial.rates, self.touching.friction, r)).max(initial=0.0)
        closed = np.abs(trial.rates[P[:, 0] > r * trial.rates[:, 0], 0]).max(initial=0.0)
        return float(missed / evaluation.scale[0]), float(closed / system.length)

    def linearize(self, unknown: PathUnknown, trial: Any, first: Any = None) -> Any:
        """Stiffness in body increments, with that of the forces of contact and of ``kappa``, and what forces do."""
        equations, system, factor = self.equations, self.equations.system, self.equations.force_factor
        values = equations.entries(equations.with_stresses(trial.evaluation, unknown.stresses), factor)
        if self.shift:
            forces = slice(system.pattern.force_entries)
            values[forces] += self.shift * tangent.mass_entries(system, trial.evaluation, factor)[forces]
        solver = self.touching.solver
        values = np.concatenate([values, factor * (trial.at.stiffness(trial.P) + self.kappa * trial.at.squares())])
        factors = solver.factorized(values)
        T_inv = self.inverse_tangent(unknown)
        E = dense(trial.at.rate_gradients(RateSensitivities(T_inv), 1.0)[0])
        moves, reacts = effects(system, factors, factor * trial.G)
        return ContactPathLinearization(factors, T_inv, E, moves, reacts / factor)

    def correction(self, unknown: PathUnknown, trial: Any, linearization: Any) -> Array:
        """Increments, and changes of multipliers and forces of contacts: what contacts do first."""
        system, factor, lin, G = self.equations.system, self.equations.force_factor, linearization, trial.G
        P, force = trial.P.ravel(), factor * trial.evaluation.force
        d, multipliers = solve_with_constraints(system, lin.factors, force, trial.evaluation.constraint)
        d, multipliers = d + lin.moves @ P, multipliers + factor * (lin.reacts @ P)  # without these forces
        forces = np.eye(len(G)) - self.kappa * (G @ lin.moves), self.kappa * (G @ d)
        rates = lin.E @ lin.moves, trial.rates.ravel() - lin.E @ d
        p = obeying(forces, rates, self.touching.friction, trial.P, trial.rates, small=LEAST * system.length)
        pushes = forces[0] @ p + forces[1] - P
        return np.concatenate([lin.moves @ p - d, lin.reacts @ p - multipliers / factor, [0.0], pushes])

    def length(self, correction: Array) -> float:
        """Largest increment, weighted, and largest change of a force of contact over what the loads are."""
        changes = np.abs(correction[self._first :]).max(initial=0.0)
        return max(super().length(correction), float(changes) / self.largest)


def obeying(
    forces: tuple[Array, Array], rates: tuple[Array, Array], friction: Array, P: Array, xi: Array, *, small: float
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
            P = push(mobility, (c - mobility @ b).reshape(-1, 3), friction, guess=P).P
            p = soft @ (P.ravel() - b)
            P, xi = (A @ p + b).reshape(-1, 3), (G @ p + c).reshape(-1, 3)
        for _ in range(ROUNDS):
            _, own, K = laws.branches(P, xi)
            rows = (own @ A.reshape(k, 3, -1) + K @ G.reshape(k, 3, -1)).reshape(len(A), -1)
            right = own @ (A @ p + b).reshape(k, 3, 1) + K @ (G @ p + c).reshape(k, 3, 1)
            p = p - inverse(rows)(right.ravel())
            P, xi = (A @ p + b).reshape(-1, 3), (G @ p + c).reshape(-1, 3)
            error = laws.missed(P, xi)
            if error < least:
                best, least = p, error
            if error <= EXACT * size or not error < np.inf:
                break
        if least <= EXACT * size:
            break
    if not least <= ROUNDING * size:
        raise NotConvergedError("no forces of contacts obey their laws")
    return best


FARTHEST = 0.1
"""Largest increments of a step, over the extent of the model or in rad."""
LEFT = 10.0
"""What the laws of contact miss, over the tolerances of Newton's method, that passes."""
BARELY = 1e-9
"""Force, over the largest, of contacts that touch without one: what sticks is tried first."""
SETS = 20
"""Sets of contacts that may touch which are tried in a step."""
RESTS = 1e-6
"""Increments, over the extent of the model or in rad, of a given state that is an equilibrium."""
MOVES, LARGEST, LONGER, SINKS = 0.1, 0.3, 4.0, 150
"""Increments of steps in time up to which the next are longer, and the largest ones; the square of how much longer, or
shorter where they fail; how many there are."""
STANDS = 1e-3
"""Increments of steps in time beside which an equilibrium may be near."""


class ContactPlace(NamedTuple):
    """An equilibrium on a path."""

    point: Point
    """In the model without contacts."""
    state: State
    forces: Array
    """Of all contacts, ``(C, 3)``."""
    gaps: Array
    """``(C,)``."""
    unstable: int = UNKNOWN
    """Number of unstable motions; not known with friction, which holds what would move and takes what moves."""


class ContactPath(LoadPath):
    """A path under way: its last equilibrium, and the length of the next step over the range of loads."""

    def __init__(
        self, system: System, loading: Loading, initial: State | None, ramp: bool, newton: Newton, step: float | None
    ) -> None:
        self.contacts, self.newton, self.step = contacts_of(system), newton, step
        self.length, self._sunk = FIRST if step is None else step, False
        state = initial or Point.as_built(system, loading.start).state()
        point = Point.of(self.contacts.without(state))
        equations = Equations(self.contacts.open, loading, point)
        super().__init__(system, equations)
        evaluation = equations.evaluate(point)
        values = leading_matrix(equations.system, evaluation)  # the stiffness of what contacts hold is singular
        handle_repeated(equations.system, evaluation, values, f"at load factor {point.load:g}")
        ends = [evaluation]
        with suppress(MotionError):  # drives that turn further than they may in a step
            ends.append(equations.evaluate(point._replace(load=loading.end)))
        self._largest = max(float(own.scale[0]) for own in ends)
        gaps = self.contacts.gaps(system.motion(state))
        self.here = ContactPlace(point, state, self.contacts.forces(state), gaps)
        try:
            place, moved, _ = self._solve(point.load, np.inf if ramp else FARTHEST)
            if initial is not None and moved > RESTS:
                refuse_turning(system, initial, "statics")
            self.here = place
        except FAILURES as failure:
            if initial is not None:
                refuse_turning(system, initial, "statics")
            if ramp or self._sink(point.load) is None:
                raise self.explain(failure) from failure
            if self.contacts.friction.any():  # where it comes to rest depends on the way
                self._say_where(state)

    def go_on(self, stops: Array) -> AcceptedStep:
        here, loading, span = self.here.point.load, self.equations.loading, self.equations.range
        sense = np.sign(loading.end - loading.start)
        ahead = stops[sense * (stops - here) > SAME_LOAD * span]
        stop = float(ahead[np.abs(ahead - here).argmin()])
        length, cut = self.length, False
        while True:
            load = here + sense * length * span
            load = stop if sense * (stop - load) <= SAME_LOAD * span else load
            went = abs(load - here) / span
            try:
                place, _, report = self._solve(load, FARTHEST)
                if self.step is None and went > CAREFUL and place.unstable != self.here.unstable:
                    raise NotConvergedError("the path may branch on the way", report)
                break
            except FAILURES as failure:
                self.failed, cut, length = self.failed + 1, True, CUT * went
                LOG.info("step to load factor %g failed: %s", load, failure)
                if isinstance(failure, LawError) and not failure.of_motion:
                    raise
                if length < SMALLEST:
                    before = self.here.state
                    if self._sunk or (sunk := self._sink(load)) is None:
                        raise
                    self._sunk = True
                    self._say_where(before)
                    self.length = self.step or FIRST
                    return AcceptedStep(self.here.state, sunk, self.here.unstable)
        growth = growth_after(report.iterations)
        longer = growth * went if cut or growth < 1.0 else max(growth * went, self.length)
        self.length, self.here, self._sunk = min(longer, self.step or np.inf), place, False
        return AcceptedStep(place.state, report, place.unstable)

    def _sink(self, load: float) -> Report | None:
        """Go to the equilibrium at a load factor to which the model sinks, in steps in time from rest, if there is one.

        As long as these move little they get longer; where what pulls gets less its equilibrium is looked for.
        """
        equations, evaluation = self.equations, self.equations.evaluate(self.here.point)
        mass = tangent.mass_entries(equations.system, evaluation)[: equations.system.pattern.force_entries]
        # the square of the highest angular frequency, about
        shift = 1.0 / (equations.force_factor * max(float(np.abs(mass).max()), np.finfo(float).tiny))
        begins, pull, failed = self.here, np.inf, False
        with suppress(*FAILURES):
            for _ in range(SINKS):
                try:
                    self.here, moved, _ = self._solve(load, LARGEST, shift)
                except FAILURES:
                    shift, failed = LONGER * shift, True
                    continue
                slows, pull = moved * shift < pull, moved * shift
                if moved < MOVES and not failed:
                    shift /= LONGER
                failed = False
                if slows and moved < STANDS:
                    with suppress(*FAILURES):
                        place, _, report = self._solve(load, FARTHEST)
                        equations, point = self._held(place.state)
                        if "without resistance" in equations.mechanism(point, ""):  # no contact holds it
                            break
                        self.here = place
                        return report
                if np.abs(self.here.state.x - begins.state.x).max() > AWAY * self.system.length:
                    break
        self.here = begins
        return None

    def _say_where(self, before: State) -> None:
        """Log that no equilibrium was near, and how far the model went."""
        far = np.linalg.norm(self.here.state.x - before.x, axis=1)
        row = int(far.argmax())
        LOG.warning(
            "statics: at load factor %g there is no equilibrium near: the model snaps, slides or falls to another one, "
            "in which %s is %.3g m away. What contacts do there follows a slow way",
            self.here.state.t,
            self.system.nodes[row],
            far[row],
        )

    def _solve(self, load: float, farthest: float, shift: float = 0.0) -> tuple[ContactPlace, float, Report]:
        """The equilibrium at a load factor: contacts that end deep may touch, those that have left their face not.

        And the largest increment, over the extent of the model or in rad.
        """
        (point, last, forces, gaps, _), equations, system = self.here, self.equations, self.equations.system
        deep = TOUCHING * system.length
        touches = gaps <= deep
        start, here, point = point.load, equations.evaluate(point), point._replace(load=load)
        self._largest = max(self._largest, float(equations.evaluate(point).scale[0]))
        for _ in range(SETS):
            touching = touching_of(self.contacts, touches)
            problem: Any = ContactPathProblem(equations, point, touching, self._largest, shift)
            P = forces[touching.numbers]
            P[P[:, 0] <= 0.0, 0] = BARELY * self._largest
            guess = np.append(np.zeros(system.N + system.m + 1), P)
            unknown, reached, report = problem.solved(problem.guess(here, guess), self.newton)
            missed, allowed = problem.missed(reached), (self.newton.force_tolerance, self.newton.constraint_tolerance)
            if not all(own <= LEFT * limit for own, limit in zip(missed, allowed, strict=True)):
                raise NotConvergedError("no forces of contacts obey their laws", report)
            moved = StepProblem.length(problem, unknown.change)
            if moved > farthest:
                raise NotConvergedError("the equilibrium found is far away: there is none near", report)
            pushes = np.zeros_like(touches)
            pushes[touching.numbers] = reached.P[:, 0] > 0.0
            state = self.contacts.followed(last, self.contacts.carry_on(last, reached.point.state()))
            gaps = self.contacts.gaps(self.system.motion(state))
            wrong = np.where(touches, pushes & (gaps > deep), gaps < -deep)
            if not wrong.any():
                break
            touches = touches ^ wrong
        else:
            raise NotConvergedError("contacts change between open and closed without end", report)
        reached = self._shared(problem, unknown, reached, forces[touching.numbers])
        forces = np.zeros_like(forces)
        forces[touching.numbers] = reached.P
        point, _ = equations.settled(reached.point, reached.evaluation)
        if system.has_history:
            point = point._replace(u=system.history(reached.evaluation.motion))
        system.check_end(start, load, point.R, point.u, point.multipliers)
        state = self.contacts.carry_on(last, point.state(), ContactForces(touching.numbers, reached.P))
        state = self.contacts.followed(last, state)
        untold = shift or self.contacts.friction.any()
        unstable = UNKNOWN if untold else unstable_motions(*self._held(state))
        return ContactPlace(point, state, forces, gaps, unstable), moved, report

    def _shared(self, problem: ContactPathProblem, unknown: PathUnknown, reached: Any, last: Array) -> Any:
        """The same equilibrium, in which contacts of equal compliance share what is not unique of their forces.

        Friction of what sticks goes on from the ``last`` forces.
        """
        P, slip, friction = reached.P, reached.rates[:, 1:], problem.touching.friction
        if len(P) < 2:
            return reached
        lin, speed = problem.linearize(unknown, reached), np.linalg.norm(slip, axis=1)
        moves = (speed > ROUNDING * LEAST * self.system.length) & (friction > 0.0)
        slides = slip / np.where(moves, speed, np.nan)[:, None]
        mobility = reached.G @ lin.moves
        rest = -(mobility @ P.ravel()).reshape(-1, 3)
        found, solved = push(mobility, rest, friction, slides, guess=P, last=last)
        if not solved:
            return reached
        multipliers = reached.point.multipliers + lin.reacts @ (found - P).ravel()
        point, evaluation = (own._replace(multipliers=multipliers) for own in (reached.point, reached.evaluation))
        return reached._replace(point=point, evaluation=evaluation, P=found)

    def _mechanism(self) -> str:
        """What moves without resistance, where contacts that touch carry what they can; empty if nothing does."""
        touching = self.here.gaps <= TOUCHING * self.contacts.size
        if touching.any():
            equations, point = self._held(self.here.state, touching)
            point = point._replace(load=equations.loading.end)
            evaluation, n = equations.evaluate(point), equations.system.n_free
            B = gradient_matrix(equations.system, evaluation.gradients)
            carried = lsqr(B.T, -equations.residual(evaluation)[:n])[0]
            point = point._replace(multipliers=point.multipliers + carried)
            if why := equations.mechanism(point, "with the contacts that touch"):
                return f"{why}; what touches holds all else"
        if why := self.equations.mechanism(self.here.point, "without contacts"):
            why += "; place what contacts are to hold so that they touch as built"
        return why

    def _held(self, state: State, closed: BoolArray | None = None) -> tuple[Equations, Point]:
        """The model in which contacts that push, or are ``closed`` (C,), are joints, and its equilibrium.

        Those with friction stick.
        """
        contacts = self.contacts
        closed = contacts.pushing(state) if closed is None else closed
        holds = np.where(contacts.friction > 0.0, STICKS, SLIDES)
        found = contacts.closed(np.where(closed, holds, OPEN))
        inner = with_multipliers(contacts, found, state)
        point = Point.of(inner)
        return Equations(found.system, self.equations.loading, point), point

    def explain(self, failure: FemMbsError) -> FemMbsError:
        """With the contacts that are about to slide there."""
        if isinstance(failure, LawError):
            return failure
        parts = (self.contacts.named(c) for c in np.flatnonzero(self.contacts.at_edge(self.here.state)).tolist())
        if slides := ", ".join(f"{part} ({part.contacts[k]})" for part, k in parts):
            why = f"at the edge of their cones of friction are {slides}: what they hold may slide away"
        else:
            why = self._mechanism() or "try a shorter step, or look at loads that jump"
        return not_found(self.here.point.load, self.equations.loading.end, failure, f"\n  {why}")
