"""One step with contacts that touch: the equations of the stabilised method with Signorini's and Coulomb's laws.

    M vdot + g + f + B^T lambda - G^T P = 0,    Phi(q) = 0,    B v + Phi_t = 0,
    P_N = max(0, P_N - r gap(q)),    P_T = proj(P_T - r h G_T v) on the disc of radius mu P_N,
    G_N v = 0 of those that push,

with any ``r > 0`` (Alart, Curnier, CMAME 92, 1991): gaps are closed on positions and on velocities, as constraints are
(``alpha/stabilized.py``), friction is about the velocities at the end of the step.

Newton's method. With the iteration matrix ``S`` of the joints, in which the stiffness ``-P H`` of the forces of contact
stands too, the motion is ``d = d_0 - W P`` for new forces ``P``, ``S (W, .) = (h^2 G^T, 0)``: gaps and slips become

    xi = c + E W P,    c = (gap, h G_T v) - E d_0,    E = (G_N, d(h G_T v)/dq),

and the laws are a problem of complementarity for ``P``, which ``complementarity.py`` solves: what pushes, sticks and
slides is found anew in each iteration, for all contacts at once. Forces that are not unique, such as those of the
corners of a box, are those of contacts of equal compliance.

Gaps and slips of more contacts than bodies can close one by one obey equations, as those of a box between two fingers
do. Linearised, and with velocities that are corrected after places, they contradict these a little: no forces close
them all, and something would open or slide to make up for it, with forces that grow from step to step. That part of
them is left to the next iteration. Where it does not get less from one to the other it is real, as of a box that one
contact holds and another one drags away, and the laws decide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import issparse

from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha
from fem_mbs.alpha.newmark import AlphaMemory
from fem_mbs.alpha.stabilized import ROUNDS, StabilizedEquations
from fem_mbs.alpha.starting_values import ExtraTerms, resolved
from fem_mbs.alpha.step import Correction, Scheme, StepEquations, StepKinematics, Unknowns
from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contact.complementarity import Branch, Laws, Pushes, inverse, projected
from fem_mbs.contact.contacts import EDGE, MeasuredContacts
from fem_mbs.contact.many import Matrix, closing, effects, per_mass, without_held
from fem_mbs.contact.touching import Touching
from fem_mbs.contracts import State
from fem_mbs.linear.solvers import Factors
from fem_mbs.newton import FAILURES, Iterate, NotConvergedError
from fem_mbs.system import matrices as tangent
from fem_mbs.system.matrices import gradient_product, solve_with_constraints
from fem_mbs.system.pattern import TINY
from fem_mbs.system.system import Evaluation, System

TURNS, ALIKE = 3, 1e-6
"""How often the forces of a correction are found, as ``Z`` changes slips, and changes of these that are none, over the
largest gap or slip."""
LESS, LEAST = 0.1, 1e-11
"""What is left in the next iteration of gaps and slips that contradict each other, over that, where linearising is the
cause; and what is rounding, over the extent of the model."""
ROUNDING = 1e-14
"""Of gaps, over the extent of the model."""
TRIED = 4
"""Iterations of a trial step at most: more find none that had no solution by then."""


class ContactResidual(NamedTuple):
    """A trial of the new state and the equations there: as ``StepResidual``, and the contacts."""

    place: StepKinematics
    body: Array
    evaluation: Evaluation
    """With the forces of contacts."""
    closing: Array
    hidden: Array
    at: MeasuredContacts
    P: Array
    """``(k, 3)``."""
    G: Matrix
    """``(3k, N)``."""
    rates: Array
    """``xi``: gaps, and slips in the step, ``(k, 3)``."""
    opening: Array
    """``h`` times the rates of gaps, ``(k,)``."""


@dataclass
class ContactLinearization:
    """The factorised iteration matrix of the joints, and what forces of contacts do."""

    system: System
    free: Factors
    T_inv: Array
    R: Array
    velocity_gradients: list[Array]
    residual: ContactResidual
    """Where it is made."""
    E: Matrix
    """Derivatives of gaps, and of slips in the step, ``(3k, N)``."""
    opening: Matrix
    """The same of ``h`` times the rates of gaps, ``(k, N)``."""
    moves: Matrix
    """``W`` (N, 3k)."""
    reacts: Matrix
    """The same of the multipliers of joints, ``(m, 3k)``."""
    first: ContactLinearization | None
    """The first of the step, by which forces along the constraints act, if not this."""
    laws: Laws
    """With ``E W``, between these forces and what they move."""
    most: float = np.inf
    """What may be left of gaps and slips that no forces close together, over the extent of the model."""
    left: float = 0.0
    """What the last correction has left of them."""
    branch: Branch | None = None
    """That of the last correction, on which forces follow gaps and slips."""

    def forces(self, c: Array, guess: Array, last: Array) -> tuple[Pushes, BoolArray]:
        """Forces ``(k, 3)`` that obey the laws where gaps and slips without them are ``c`` (k, 3), and what pushes.

        Friction of what sticks goes on from the ``last`` forces, where the step begins.
        Where there are none, those that miss the laws least: far from the solution an iterate may be such.
        """
        apart = self.laws.apart(c)
        self.left = float(np.abs(apart).max()) / self.system.length
        if self.left <= self.most:
            c = c - apart
        else:
            self.left = 0.0
        self.laws = self.laws.at(c)
        found = self.laws.pushes(guess, last, brief=True)
        self.branch = self.laws.branch(found.P)
        return found, self.branch.pushes

    def along(self, d: Array) -> Array:
        """Forces ``(3k,)`` that go with places, while no contact changes its branch."""
        if self.branch is None:  # nothing was to be corrected
            P = self.residual.P
            self.branch = self.laws.at(self.residual.rates - (self.laws.G @ P.ravel()).reshape(-1, 3)).branch(P)
        return self.branch.forces(-(self.E @ d).reshape(-1, 3)).ravel()

    @property
    def factors(self) -> Factors:
        """Those of the matrix in which contacts stay on their branches."""
        rows, n = self.system.free_index, self.system.n_free

        def solve(right: Array) -> Array:
            free, d = self.free.solve(right), np.zeros(self.system.N)
            d[rows] = free[:n]
            P = self.along(d)
            return free - np.append((self.moves @ P)[rows], self.reacts @ P)

        return Factors(solve, ())


class ContactEquations(StabilizedEquations):
    """The equations of one step; forces of contacts ``(3k,)`` follow the multipliers of the joints."""

    smooth: ClassVar[bool] = False

    def __init__(self, plain: StepEquations, touching: Touching) -> None:
        super().__init__(plain.system, plain.state, plain.h, plain.formulas, plain.chart, plain.matrix)
        self.touching = touching
        self.friction = touching.friction
        self._scale: Array | None = None
        self._left = np.inf

    # residual

    def evaluate(self, unknown: Unknowns) -> ContactResidual:  # type: ignore[override]
        """Equations at the end of the step, and what the laws are about."""
        joints, P = np.split(unknown.multipliers, [self.system.m])
        place, body, evaluation, closing, hidden = super().evaluate(unknown._replace(multipliers=joints))
        at = self.touching.at(evaluation.motion)
        G = at.gradients
        rates = self.h * at.rates()
        opening = rates[:, 0].copy()
        rates[:, 0] = at.gap
        force = evaluation.force - P @ G
        evaluation = evaluation._replace(force=force, relative=relative_force(self.system, evaluation, force))
        return ContactResidual(place, body, evaluation, closing, hidden, at, P.reshape(-1, 3), G, rates, opening)

    def size(self, residual: Any) -> tuple[float, float]:
        """Relative residuals; what the laws miss counts as a gap and as a force, like what joints miss."""
        force, gap = super().size(residual) if self.system.m else (residual.evaluation.relative, 0.0)
        P, xi, r = residual.P, residual.rates, self._forces_per_rate(residual.G)
        missed = np.abs(P - projected(P, xi, self.friction, r))
        opening = np.where(P[:, 0] > r[:, 0] * xi[:, 0], np.abs(residual.opening), 0.0)
        size = self.touching.contacts.size[self.touching.numbers, None]  # of stops of angles forces are moments
        missed_force = (missed * size).max() / self.system.length / residual.evaluation.scale[0]
        missed_gap = (np.column_stack([missed / r, opening]) / size).max()
        return float(np.maximum(force, missed_force)), float(np.maximum(gap, missed_gap))  # of nan, max takes the other

    def _forces_per_rate(self, G: Matrix) -> Array:
        """``r`` (k, 3): the mass that a contact moves, over the square of the step; the same in all of a step."""
        if self._scale is None:
            light = per_mass(self.system, G)
            r = 1.0 / (self.h**2 * np.maximum(light, 1e-12 * light.max() or 1.0)).reshape(-1, 3)
            self._scale = np.column_stack([r[:, 0], *2 * [r[:, 1:].min(axis=1)]])
        return self._scale

    # iteration matrix

    def linearize(self, unknown: Unknowns, residual: Any, first: Any = None) -> Any:
        """The matrix of the joints with the stiffness of the forces of contact, and what these forces do."""
        system, h, at = self.system, self.h, residual.at
        values, T_inv, dV = self.matrix(self, unknown, residual)
        E, opening = at.rate_gradients(dV, h)
        if issparse(E):  # with the stiffness of the forces of contact all bodies would be one island
            free = system.solver.factorized(values)
        else:
            free = self.touching.solver.factorized(np.concatenate([values, h * h * at.stiffness(residual.P)]))
        moves, reacts = effects(system, free, h * h * residual.G)
        joints = tangent.velocity_derivatives(system, residual.evaluation, dV, h)
        R = residual.evaluation.motion.R
        mobility = without_held(E @ moves, 1.0 / self._forces_per_rate(residual.G)[:, 0])
        laws = Laws(mobility, residual.rates, self.friction, rounding=ROUNDING * system.length)
        most = max(LEAST, LESS * self._left)
        return ContactLinearization(
            system, free, T_inv, R, joints, residual, E, opening, moves, reacts, first, laws, most
        )

    # correct

    def correction(self, unknown: Unknowns, residual: Any, linearization: Any) -> Correction:
        """``(delta q, delta lambda, delta P, delta Z)``: what contacts do first, then as of the stabilised method."""
        system, squared, lin = self.system, self.h**2, linearization
        P, force = residual.P, squared * residual.evaluation.force
        free, reactions = solve_with_constraints(system, lin.free, force, residual.closing)
        free, reactions = free + lin.moves @ P.ravel(), reactions + lin.reacts @ P.ravel()  # without these forces
        c = residual.rates - (lin.E @ free).reshape(-1, 3)
        per_rate = 1.0 / (self.h * self.gamma_prime)
        of_joints, slips = per_rate * ~system.velocity_level, np.zeros_like(c)
        last = self.state.multipliers[system.m :].reshape(-1, 3)
        for _ in range(TURNS):
            (P, solved), pushes = lin.forces(c + slips, P, last)
            d, multipliers = free - lin.moves @ P.ravel(), reactions - lin.reacts @ P.ravel()
            missed = of_joints * (gradient_product(system, lin.velocity_gradients, d) - residual.hidden)
            opens = per_rate * (lin.opening @ d - residual.opening)[pushes]
            # directions of Z are those of contacts that push: it is found anew
            anew = ((residual.P[:, 0] > 0.0) & ~pushes).any()
            back, rates = self._taken_back(lin.first or lin, anew * unknown.Z)
            missed = missed - (of_joints != 0.0) * gradient_product(system, residual.evaluation.gradients, rates)
            opens = opens - (residual.G @ rates)[::3][pushes]
            Z, push, z = self._along(lin, missed, opens, pushes)
            before, slips = slips, np.zeros_like(c)
            slips[:, 1:] = (residual.G @ (z + rates) / per_rate).reshape(-1, 3)[:, 1:]
            if not solved or not self.friction.any() or np.abs(slips - before).max() <= ALIKE * np.abs(c).max():
                break
        self._left = lin.left
        resistance = squared * self.beta_prime * ((system.diagonal_mass * Z) @ Z)
        work = -(missed @ push[: system.m]) + opens @ push[system.m :].reshape(-1, 3)[pushes, 0]
        Z = change = Z + back
        share, push = min(1.0, resistance / (abs(work) + TINY)), (1.0 - anew) * push
        for _ in range(ROUNDS[system.damps]):
            d_more, more = solve_with_constraints(system, lin.free, squared * self._missing(residual, change), None)
            P_more = lin.along(d_more)
            d_more, more = d_more - lin.moves @ P_more, more - lin.reacts @ P_more
            d, multipliers, P = d + d_more, multipliers + more, P + P_more.reshape(-1, 3)
            missed = of_joints * gradient_product(system, lin.velocity_gradients, d_more)
            change, push, _ = self._along(lin, missed, per_rate * (lin.opening @ d_more)[pushes], pushes)
            Z = Z + change
        joints, contacts = np.split(share * push, [system.m])
        taken = np.append((multipliers - joints) / squared, residual.P.ravel() - P.ravel() - contacts / squared)
        return Correction(d, taken, system.from_body((lin.first or lin).R, Z))

    def length(self, correction: Correction) -> float:
        """That of the correction, or what it knows to leave of gaps and slips."""
        return max(super().length(correction), self._left)

    def _along(
        self, lin: ContactLinearization, missed: Array, opens: Array, pushes: BoolArray
    ) -> tuple[Array, Array, Array]:
        """``delta Z`` (N,) that closes what joints and contacts that push miss, what pushes it, and its velocities."""
        system, normal, first = self.system, 3 * np.flatnonzero(pushes), lin.first or lin
        z, push = solve_with_constraints(system, first.free, None, missed)
        G, moves = lin.residual.G[normal], first.moves[:, normal] / self.h**2  # normals may have turned since
        forces = inverse(G @ moves)(opens - G @ z) if len(normal) else opens
        z, push = z + moves @ forces, push + first.reacts[:, normal] @ forces / self.h**2
        of_contacts = np.zeros(first.residual.G.shape[0])
        of_contacts[normal] = forces
        moved = self.chart.from_velocities(first.T_inv, system.nodes_of(z))
        Z = system.with_own(moved, np.where(system.orders < 2, 0.0, z))
        return Z, np.append(push, of_contacts), z

    def _taken_back(self, first: ContactLinearization, Z: Array) -> tuple[Array, Array]:
        """``Z`` in body components, and its velocities times the step, ``(N,)``."""
        away = self.system.to_body(first.R, Z)
        rates = np.asarray(np.linalg.solve(first.T_inv, self.system.nodes_of(away)[..., None]), float)
        return away, self.system.with_own(rates, Z)

    # errors

    def carried(self, solution: Any, errors: Array, rates: Array, defects: Array, lead: float) -> Array:
        """As of all steps, from errors with which joints, and contacts that push, are closed, as in motions beside.

        What errors leave of these, as of one that has just closed, would be a speed of that over the step, however
        short.
        """
        system, residual = self.system, solution.value
        matrix = solution.linearization or self.linearize(solution.unknown, residual)
        matrix.along(np.zeros(system.N))  # on its branch
        first, pushes = matrix.first or matrix, matrix.branch.pushes
        # at the end of the step, where gradients are: what leads there is T^-1(-D), the transposed blocks of T^-1(D)
        ahead = first.T_inv.reshape(-1, 2, 3, 2, 3).swapaxes(-3, -1).reshape(-1, 6, 6)
        there = system.with_own(np.matvec(ahead, system.nodes_of(errors[0])), errors[0])
        _, body = self._taken_back(first, there)
        joints = gradient_product(system, residual.evaluation.gradients, body) * ~system.velocity_level
        apart = self._along(matrix, joints, (residual.G @ body)[::3][pushes], pushes)[0]
        apart = system.from_body(first.R, apart)
        errors = errors.copy()
        errors[0] -= system.with_own(np.linalg.solve(ahead, system.nodes_of(apart)[..., None]), apart)
        return super().carried(replace(solution, linearization=matrix), errors, rates, defects, lead)

    def response(self, residual: Any, matrix: Any, force: Array, rates: Array) -> tuple[Array, Array]:
        """With contacts on their branches: slips follow velocities, and what pushes closes those of gaps, too."""
        system, lin, opening = self.system, matrix, self.h * (residual.G @ rates).reshape(-1, 3)
        of_joints = self.h * gradient_product(system, residual.evaluation.gradients, rates)
        gaps = np.where(system.velocity_level, -of_joints, 0.0)
        d, _ = solve_with_constraints(system, lin.factors, force, gaps)
        slips = opening.copy()
        slips[:, 0] = 0.0
        assert lin.branch is not None  # there is one since the factors were asked
        d += lin.moves @ lin.branch.forces(slips).ravel()
        per_rate, pushes = 1.0 / (self.h * self.gamma_prime), lin.branch.pushes
        missed = ~system.velocity_level * (of_joints + gradient_product(system, lin.velocity_gradients, d))
        opens = opening[pushes, 0] + (lin.opening @ d)[pushes]
        return d, self._along(lin, per_rate * missed, per_rate * opens, pushes)[0]

    # update

    def update(self, solution: Iterate[Any, Any, Any]) -> tuple[State, Array]:
        joints, P = np.split(solution.unknown.multipliers, [self.system.m])
        solution = replace(solution, unknown=solution.unknown._replace(multipliers=joints))
        state, a = super().update(solution)
        return replace(state, multipliers=np.append(state.multipliers, P)), a


def relative_force(system: System, evaluation: Evaluation, force: Array) -> float:
    """The largest of forces ``(N,)`` that are left, with those of contacts, over the largest that made them up."""
    free, nodes = np.where(system.equation >= 0, np.abs(force), 0.0), 6 * system.n
    own = (free[nodes:] / evaluation.own_scale).max(initial=0.0)
    return float(np.maximum(own, (free[:nodes].reshape(-1, 2, 3).max(axis=(0, 2)) / evaluation.scale).max()))


@dataclass(frozen=True)
class StepInContact(GeneralizedAlpha):
    """The method of a step in which contacts touch."""

    compiles: ClassVar[bool] = False
    touching: Any = None

    def equations(self, system: System, state: State, h: float, memory: AlphaMemory) -> StepEquations:
        return ContactEquations(super().equations(system, state, h, memory), self.touching)

    def trial(self, system: System, state: State, h: float, memory: AlphaMemory, tolerance: float = 0.0) -> State:
        """One of Euler's method, where steps begin anew, tells how accelerations go on only where nothing lifts off.

        Its way errs by half of ``h^2 vdot``: on SE(3), where that of what rolls is ``-omega x v``, it leaves the floor.
        """
        tried = replace(self, newton=replace(self.newton, max_iterations=min(TRIED, self.newton.max_iterations)))
        tolerance = max(tolerance, self.newton.constraint_tolerance)
        there = GeneralizedAlpha.trial(tried, system, state, h, memory, tolerance)
        pushed, pushes = (own.multipliers[system.m :: 3] > 0.0 for own in (state, there))
        if memory.before is None and (pushed & ~pushes).any():
            raise NotConvergedError("a trial step lifts what pushes")
        return there

    def in_vain(self, system: System) -> tuple[type[Exception], ...]:
        """A trial stops soon, and begins further off than its step does."""
        return FAILURES

    def scheme(self, system: System) -> Scheme:
        """Constraints are on positions, whether joints are or not."""
        return super().scheme(system)._replace(kind=StabilizedEquations)

    def resolved(self, system: System, state: State, h: float, jump: Array) -> Array:
        """What a step resolves of a jump of accelerations, with those that push, and stick, as constraints."""
        at, P = self.touching.at(system.motion(state)), state.multipliers[system.m :].reshape(-1, 3)
        pushes = P[:, 0] > 0.0
        sticks = np.linalg.norm(P[:, 1:], axis=1) < (1.0 - EDGE) * self.touching.friction * P[:, 0]
        rows = at.gradients[np.column_stack([pushes, sticks, sticks]).ravel()]
        if issparse(rows):
            solver, stiffness = system.solver, np.empty(0)
        else:
            solver, stiffness = self.touching.solver, at.stiffness(P)
        beside = ExtraTerms(solver, stiffness, partial(closing, system, rows))
        return resolved(system, state, h, self.coefficients, jump, beside=beside)
