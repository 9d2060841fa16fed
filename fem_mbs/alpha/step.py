"""One step of the generalised-alpha method on the group, in the order of the papers.

Predict, residual ``M vdot + g + B^T lambda, Phi``, iteration matrix, correct, update: the methods of
:class:`StepEquations`, in this order, for the index-3 equations; :func:`fem_mbs.newton.solve` leads from the first to
the solution of which the last makes a state (Bruels, Cardona, Arnold 2012, eqs. 27-32 and Table 1 on the group,
eqs. 71-79 in local coordinates). They are solved in the scaled unknowns of Arnold, Cardona, Bruels (2015), eqs. 57-60.
Other formulations of the constraints are subclasses that say what differs: the default and that of Gear, Gupta and
Leimkuhler in ``stabilized.py``. Equations of velocities that cannot be integrated stand beside those of positions.

What serves the step and is not it is beside this file: Newmark's formulas and a better first guess (``newmark.py``),
errors and what they ask of Newton's method (``local_error.py``), starting values, also of steps of another length
(``starting_values.py``), iteration matrices that leave terms out (``simplified_matrices.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from fem_mbs.alpha.newmark import CarriedErrors, Newmark, Parameters, newmark
from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion, RateSensitivities, SmallChange, State
from fem_mbs.errors import MotionError
from fem_mbs.linear.solvers import Factors, LinearSolver
from fem_mbs.newton import Iterate, Newton, NotConvergedError, solve
from fem_mbs.system import matrices as tangent
from fem_mbs.system.kinematics import Chart
from fem_mbs.system.pattern import TINY
from fem_mbs.system.system import Evaluation, System

ROUNDING = 1e-8
"""Smaller changes of algebraic variables, over their size, are rounding: of velocities, or times a gain."""
BEYOND_REST, HOLDING = 1e-5, 1e6
"""Share of velocities by which they are beyond rest where friction jams, and loads over all forces that hold."""
PATIENT = 4
"""So many times the iterations of other steps are made there: corrections may halve what is left, between two kinks."""
RESTING = 1e-3
"""Change of a state in a step, over its size, below which it rests."""
RESOLVED, LARGEST = 0.01, 0.2
"""Defect of a velocity over its change, in oscillations that a step follows, and in the largest that it resolves."""
_NONE = np.empty(0)


class Unknowns(NamedTuple):
    """What a step is solved for; a formulation has the last ones or not."""

    D: Array
    """Increment ``h Delta q`` of the configuration (N,), in the coordinates of the chart."""
    multipliers: Array
    """``(m,)``."""
    Z: Array = _NONE
    """What ``D`` has beyond Newmark's increment, so that velocities obey their constraints (N,)."""
    Y: Array = _NONE
    """The same of accelerations (N,)."""
    eta: Array = _NONE
    """``h`` times the multipliers of the constraints on velocities."""
    guessed: Array = _NONE
    """``(1,)``: 1 of a ``Z`` that is guessed from the last steps, and does not go along the constraints; else empty."""


class Correction(NamedTuple):
    """What Newton's method takes away from the unknowns; ``d`` in body components, of the end of the step."""

    d: Array
    multipliers: Array
    Z: Array | None = None
    Y: Array | None = None
    eta: Array | None = None


class StepKinematics(NamedTuple):
    """Where a trial leads the nodes, and how they move there."""

    D: Array
    """Coordinates of the increment ``(n, 6)``, or as wide as the chart."""
    node_rates: Array
    """Their first and second time derivative, and their algorithmic accelerations, ``(3, n, 6)``."""
    rates: Array
    """The same of the whole increment, ``(3, N)``."""
    x: Array
    R: Array
    lifted: Array
    """Velocities, accelerations and algorithmic ones of the nodes on the group, ``(3, n, 6)``."""


class StepResidual(NamedTuple):
    """A trial of the new state and the equations there."""

    place: StepKinematics
    body: Array
    """Velocities and accelerations in the body frames, ``(2, n, 6)``."""
    evaluation: Evaluation
    closing: Array
    """Right-hand side of the constraint rows: ``Phi``, or ``h (B v - b)`` of equations of velocities, ``(m,)``."""
    hidden: Array
    """``h (B v + Phi_t)``, where the formulation imposes it."""


class Linearization(NamedTuple):
    """The factorised iteration matrix and the inverse tangent operators it was built with."""

    factors: Factors
    T_inv: Array
    velocity_gradients: list[Array] | None = None
    """Derivatives of the constraints on velocities, where the formulation has asked for them."""
    directions: tuple[Factors, Array, Array] | None = None
    """Factors, inverse tangent operators and rotations by which forces along the constraints act: the same in a step.
    """


StepSolution: TypeAlias = Iterate[Unknowns, StepResidual, Linearization]
"""What Newton's method has found of a step."""
Entries: TypeAlias = tuple[Array, Array, RateSensitivities]
"""Of an iteration matrix, with ``dD/d(increment)`` and the derivatives of body velocities that went into them."""
MatrixEntries: TypeAlias = "Callable[[StepEquations, Unknowns, StepResidual], Entries]"


def exact_entries(equations: StepEquations, unknown: Unknowns, residual: StepResidual) -> Entries:
    """Of the whole derivative ``[[h^2 (K + gamma' C + beta' M), B^T], [B, 0]]`` (eqs. 57-60)."""
    T_inv, dV, dA = equations.derivatives(residual)
    rows = equations.constraint_rows(residual, dV, dA) if equations.has_rows else None
    system = equations.system
    values = tangent.entries(system, residual.evaluation, dV, dA, equations.h**2, rows=rows, workspace=system.workspace)
    return values, T_inv, dV


def from_rest(equations: StepEquations, multipliers: Array, newton: Newton) -> StepSolution:
    """The solution of a step in which friction jams, or nearly so, sought from where all nodes rest, or else go on.

    Friction that makes reactions which press more than it takes to make it has no solution while a joint slips, and
    Newton's method goes round between the sides of ``|F|``. However short the step, there is one where the joint
    creeps: it stops as by a blow (Painleve). From rest, with the reactions to what would hold it there, corrections
    come upon that as friction rises. They begin beyond rest by a little: bristles that slip yield backwards alone.
    While these yield after the blow, rest is on the other side, and what is as fast as it was is near.
    """
    try:
        return _sought(equations, multipliers, newton, -BEYOND_REST)
    except NotConvergedError:
        return _sought(equations, multipliers, newton, 1.0)


def _sought(equations: StepEquations, multipliers: Array, newton: Newton, share: float) -> StepSolution:
    """The same from a share of the velocities before."""
    system, (factors, constants) = equations.system, (own[0] for own in equations.formulas[:2])
    D, held, none = np.zeros(system.N), copy(equations), np.zeros(system.m)
    np.divide(share * equations.state.rates - constants, factors, out=D, where=system.orders == 2)
    unknown, held.matrix = equations.predict(D, multipliers), _held_entries
    loads = none + HOLDING * max(equations.evaluate(unknown).evaluation.scale)
    held.prescribed = equations.prescribed._replace(pressing=loads)
    matrix = held.linearize(unknown, held.evaluate(unknown))
    held.prescribed = equations.prescribed._replace(pressing=none)
    residual = held.evaluate(unknown)
    correction = held.correction(unknown, residual, matrix)
    unknown = held.corrected(Iterate(unknown, residual, matrix), correction, 1.0)
    return solve(equations, unknown, replace(newton, max_iterations=PATIENT * newton.max_iterations))


def _held_entries(equations: StepEquations, unknown: Unknowns, residual: StepResidual) -> Entries:
    """Those of loads that do not follow the reactions."""
    entries = exact_entries(equations, unknown, residual)
    for place in equations.system.workspace.readings:
        place[...] = 0.0
    return entries


class Scheme(NamedTuple):
    """What all steps of a system have in common."""

    system: System
    chart: Chart
    """The coordinates of a step."""
    parameters: Parameters
    kind: type[StepEquations]
    """The formulation of the constraints."""


class StepEquations:
    """The equations of one step, with constraints on positions: index 3.

    The increment ``D`` is one of the coordinates of the chart, corrections ``d`` are body increments. Nothing is
    remembered from call to call.
    """

    closes_velocities: ClassVar[bool] = False
    """Whether velocities obey ``B v + Phi_t = 0`` at the end of a step."""
    smooth: ClassVar[bool] = True
    """Whether ``Z`` goes on as in the last steps: not where contacts stick, slip and part."""
    further: ClassVar[tuple[str, ...]] = ()
    """Unknowns (N,) beside the increment, by their names, of which the first guess is zero."""

    def __init__(
        self, system: System, state: State, h: float, formulas: Newmark, chart: Chart, matrix: MatrixEntries
    ) -> None:
        self.system, self.state, self.h = system, state, h
        self.formulas, self.chart, self.matrix = formulas, chart, matrix
        self.t = state.t + h
        self.prescribed = system.prescribe(self.t)
        self.weight = system.weight
        if system.k:  # what cancels in a rate leaves its rounding
            self.weight = system.weight_at(state.u)
            self.prescribed = self.prescribed._replace(resting=RESTING / (h * system.own_of(self.weight)))
        self.factors = formulas.factors[:2, 0].reshape(2, 1, 1, 1)
        """``gamma'`` and ``beta'``."""
        self.gamma_prime, self.beta_prime = formulas.factors[:2, 0].tolist()
        """The same, as numbers."""
        self.first = chart.width * system.n
        """Number of the first internal variable in increments."""
        self.own_factors = formulas.factors[:2, self.first :]
        """``gamma'`` and ``beta'`` of internal variables, ``(2, k)``."""
        self.by_reactions = bool(system.readers)
        self.has_rows = system.has_velocity_level or type(self).constraint_rows is not StepEquations.constraint_rows
        """Whether the rows of the constraints in the matrix are others than ``B``."""
        self.u = system.ahead(state, h) if system.has_history else state.u
        """Internal variables ``(k,)`` to which increments are added."""

    @staticmethod
    def solver(system: System) -> LinearSolver:
        """The solver of the iteration matrix."""
        return system.solver

    # predict

    def predict(self, D: Array, multipliers: Array) -> Unknowns:
        """All unknowns from a guess of the increment and the multipliers."""
        further: dict[str, Any] = dict.fromkeys(self.further, np.zeros(self.system.N))
        return Unknowns(D, multipliers, **further)

    def guess_after_start(self, multipliers: Array) -> Array:
        """A first guess after a start: constant acceleration, or none, whichever asks for the smaller forces.

        What is stiff, and hit, would be strained by its velocities in a step that does not resolve what follows.
        """
        guess = self.formulas.guess
        sizes = []
        for D in (guess, np.zeros_like(guess)):
            try:
                unknown = self.predict(D, multipliers[: self.system.m])
                sizes.append(StepEquations.evaluate(self, unknown).evaluation.scale[0])
            except MotionError:
                sizes.append(np.inf)
        return guess if sizes[0] <= sizes[1] else np.zeros_like(guess)

    # residual

    def place(self, unknown: Unknowns) -> StepKinematics:
        """The configuration at the end of the step, and its rates by Newmark's formulas for ``D - Z``."""
        increment = unknown.D - unknown.Z if len(unknown.Z) else unknown.D
        rates = self.formulas.factors * increment + self.formulas.constants
        n, width = self.system.n, self.chart.width
        D, node_rates = unknown.D[: self.first].reshape(n, width), rates[:, : self.first].reshape(3, n, width)
        return StepKinematics(D, node_rates, rates, *self.chart.end_of_step(self.state.x, self.state.R, D, node_rates))

    def evaluate(self, unknown: Unknowns) -> StepResidual:
        """Equations at the end of the step: ``M vdot + g + B^T lambda`` and ``Phi``."""
        system, state = self.system, self.state
        place = self.place(unknown)
        V, A = body = self.chart.kinematics.motion(place.R, place.lifted[:2])
        own = self.own(unknown, place.rates) if system.k else (state.u, state.udot, state.uddot)
        motion = Motion(self.t, place.x, place.R, V, A, system.gravity, *own, unknown.multipliers)
        if system.damps:
            motion = self.motion_of_forces(unknown, place, motion)
        evaluation = system.evaluate(motion, unknown.multipliers, self.prescribed)
        closing, hidden = evaluation.constraint, _NONE
        if self.closes_velocities or system.has_velocity_level:
            hidden = self.h * tangent.velocity_residual(system, evaluation)
        if system.has_velocity_level:
            closing = np.where(system.velocity_level, hidden, closing)
        return StepResidual(place, body, evaluation, closing, hidden if self.closes_velocities else _NONE)

    def motion_of_forces(self, unknown: Unknowns, place: StepKinematics, motion: Motion) -> Motion:
        """What forces that depend on velocities see of a trial: the motion itself."""
        return motion

    def size(self, residual: StepResidual) -> tuple[float, float]:
        """Relative residuals: of forces, with those that close the constraints at once, and of the constraints.

        Where velocities obey theirs, their error times the step is compared with that on positions, and stands for one
        of the accelerations, which follow velocities.
        """
        system, (force, moment) = self.system, residual.evaluation.scale
        if not system.m:
            return residual.evaluation.relative, 0.0
        gaps, opening, rate = np.abs(residual.closing), residual.closing, self.beta_prime
        if len(residual.hidden):
            gaps, opening = np.maximum(gaps, np.abs(residual.hidden)), residual.hidden
            rate = self.beta_prime / (self.gamma_prime * self.h)
        forces, moments = np.maximum.reduce(np.abs(system.constraint_mass * opening), axis=1).tolist()
        reaction = rate * max(forces / force, moments / moment)
        return max(residual.evaluation.relative, reaction), np.maximum.reduce(gaps * system.constraint_weight).item()

    # iteration matrix

    def linearize(self, unknown: Unknowns, residual: StepResidual, first: Linearization | None = None) -> Linearization:
        """Scaled iteration matrix ``[[h^2 (K + gamma' C + beta' M), B^T], [B, 0]]`` in body increments."""
        values, T_inv, _ = self.matrix(self, unknown, residual)
        return Linearization(self.system.solver.factorized(values), T_inv)

    def derivatives(self, residual: StepResidual) -> tuple[Array, RateSensitivities, RateSensitivities]:
        """``dD/d(increment)`` (n, 6, 6), and how body velocities and accelerations follow increments."""
        place = residual.place
        T_inv, dV, dA = self.chart.step_derivatives(place.D, place.node_rates[:2], residual.body, self.factors)
        return T_inv, RateSensitivities(dV, self.own_factors[0]), RateSensitivities(dA, self.own_factors[1])

    def constant_derivatives(self, unknown: Unknowns) -> tuple[Array, Array]:
        """The same for ``T = I``."""
        one = np.broadcast_to(np.eye(6), (self.system.n, 6, 6))
        return one, self.factors * one

    def body_derivatives(self, residual: StepResidual, lifted: Array) -> tuple[RateSensitivities, RateSensitivities]:
        """How body velocities and accelerations follow increments, from the derivatives of the group rates."""
        dV, dA = self.chart.kinematics.body_derivatives(residual.body, lifted)
        return RateSensitivities(dV, self.own_factors[0]), RateSensitivities(dA, self.own_factors[1])

    def along_constraints(self, linearization: Linearization, gaps: Array) -> tuple[Array, Array]:
        """Of formulations whose increments leave those of Newmark's formulas: ``Z`` (N,), and what pushes it."""
        raise NotImplementedError

    def constraint_rows(self, residual: StepResidual, dV: RateSensitivities, dA: RateSensitivities) -> list[Array]:
        """The rows of the constraints in the matrix if not ``B``: of velocities, the derivative of ``h (B v - b)``."""
        moving = zip(
            tangent.velocity_derivatives(self.system, residual.evaluation, dV, self.h),
            residual.evaluation.gradients,
            self.system.constraint_slices,
            strict=True,
        )
        level = self.system.velocity_level
        return [np.where(level[rows, None], gradient, B) for gradient, B, rows in moving]

    # correct

    def correction(self, unknown: Unknowns, residual: StepResidual, linearization: Linearization) -> Correction:
        """``(delta q, delta lambda)``, scaled as ``(delta q, h^2 delta lambda)`` with ``(h^2 r, Phi)``, eqs. 57-60."""
        force = self.h**2 * residual.evaluation.force
        d, multipliers = tangent.solve_with_constraints(self.system, linearization.factors, force, residual.closing)
        return Correction(d, multipliers / self.h**2)

    def crosses(self, before: Array | None, residual: StepResidual, correction: Correction, tolerance: float) -> bool:
        """Whether a correction may lead across a kink of a law, or the trial has: from the side on which it was."""
        system, evaluation, d, multipliers = self.system, residual.evaluation, -correction.d, -correction.multipliers
        if before is not None and not np.array_equal(system.branches(evaluation), before):
            return True
        rest = multipliers, self.gamma_prime, tolerance, evaluation.scale
        changes = ((k, SmallChange(d[system.components[k]], *rest)) for k in system.watched)
        return any(system.batches[k].crosses(evaluation.contexts[k], change) for k, change in changes)

    def length(self, correction: Correction) -> float:
        """Largest increment, or ``Z``, weighted; algebraic variables count like forces, where they matter."""
        sizes = np.abs(correction.d * self.weight)
        if len(algebraic := self.system.algebraic):
            sizes[algebraic] = np.where(sizes[algebraic] > ROUNDING, sizes[algebraic], 0.0)
        if correction.Z is not None:
            np.maximum(sizes, np.abs(correction.Z * self.weight), out=sizes)
        return np.maximum.reduce(sizes).item()

    def corrected(self, at: StepSolution, correction: Correction, step_length: float) -> Unknowns:
        """The unknowns after a correction; of the increment, ``T^-1 P^-1 d``."""
        assert at.linearization is not None
        system, d, unknown = self.system, correction.d, at.unknown
        nodes = np.matvec(at.linearization.T_inv, d[: 6 * system.n].reshape(-1, 6))
        D = self.chart.kinematics.from_body(at.value.place.R, nodes).reshape(-1)
        if system.k:
            D = np.concatenate([D, d[6 * system.n :]])
        return Unknowns(
            unknown.D - step_length * D,
            unknown.multipliers - step_length * correction.multipliers,
            unknown.Z if correction.Z is None else unknown.Z - step_length * correction.Z,
            unknown.Y if correction.Y is None else unknown.Y - step_length * correction.Y,
            unknown.eta if correction.eta is None else unknown.eta - step_length * correction.eta,
        )

    # update

    def update(self, solution: StepSolution) -> tuple[State, Array]:
        """The state at the end of the step, and the algorithmic accelerations ``(N,)``."""
        system, unknown = self.system, solution.unknown
        _, _, rates, x, R, (v, vdot, a) = self.place(unknown) if solution.corrected else solution.value.place
        own = self.own(unknown, rates) if system.k else (self.state.u, self.state.udot, self.state.uddot)
        state = system.accept(State(self.t, x, R, v, vdot, unknown.multipliers, *own))
        return state, np.append(a, rates[2, self.first :]) if system.k else a.reshape(-1)

    def own(self, unknown: Unknowns, rates: Array) -> tuple[Array, Array, Array]:
        """Internal variables and their rates."""
        return self.u + unknown.D[self.first :], rates[0, self.first :], rates[1, self.first :]

    # errors

    def carried_over_block(
        self, solution: StepSolution, parameters: Parameters, begun: CarriedErrors, defects: Array, errors: Array
    ) -> Array:
        """As :meth:`carried`, of one large step over a block that ends with this one.

        It comes from where errors have begun, and has so many times ``Z``.
        """
        h, block, residual = self.t - begun.t, copy(self), solution.value
        formulas = newmark(parameters, h, errors[1:4], self.system.order)
        v = begun.flow[0, : self.state.v.size].reshape(self.state.v.shape)
        block.state, block.h, block.formulas = replace(self.state, v=v), h, formulas
        block.gamma_prime, block.beta_prime = formulas.factors[:2, 0].tolist()
        block.factors, block.own_factors = formulas.factors[:2, :1, None, None], formulas.factors[:2, self.first :]
        D = (0.5 * h * (v + residual.place.lifted[0])).reshape(residual.place.D.shape)
        unknown = solution.unknown._replace(Z=solution.unknown.Z * (h / self.h))
        residual = residual._replace(place=residual.place._replace(D=D))
        solution = Iterate(unknown, residual, block.linearize(unknown, residual))
        return block.carried(solution, errors, formulas.constants, defects, 0.0)

    def carried(self, solution: StepSolution, errors: Array, rates: Array, defects: Array, lead: float) -> Array:
        """Errors ``(5, N)`` of configuration, velocities, accelerations, algorithmic ones and ``Z/h`` at the end.

        They are what the step makes, to first order, of a start that is off by those there, ``errors``. As ``exp(e)
        exp(D) = exp(D + T^-1(-D) e + ...)``, the increment changes by ``T^-1(D) e_n+1 - p`` with ``p = T^-1(-D) e_n``,
        and Newmark's formulas, linear in it, leave

            S e_n+1 = -h^2 (C (v^ - gamma' p) + M (a^ - beta' p)),

        with the iteration matrix ``S`` that the step has factorised. ``rates`` (3, N) are ``v^``, ``a^`` and the same
        of algorithmic accelerations: what the formulas make of the errors of rates alone. The step itself gets the
        first of the ``defects`` (2, N) wrong of the increment, less ``Z``, by which velocities obey their constraints.
        What they still miss is taken from Newmark's increment like that: without it errors would grow as index 3 does
        in steps that turn too far. It changes slowly, so that forces are told of what it was in the last step.

        Of velocities the step gets the second one wrong, ``C_v h^3 v_ttt``: ``(w h)^2/12`` of their change in an
        oscillation of frequency ``w``. Where a step does not resolve it, the differences of accelerations that this is
        made of tell nothing: it is ``LARGEST`` of the change at most, of all nodes alike, as their forces on each other
        leave the momentum as it is, and an impulse, of which stiffness takes its share back. The ``lead`` in s of the
        step is its share in the defect of the increment, see :attr:`Parameters.lead`: a higher order, which tells
        nothing from oscillations on that a step does not follow. All are components of the group.
        """
        system, kinematics, h, residual = self.system, self.chart.kinematics, self.h, solution.value
        defect, third = defects
        matrix = solution.linearization
        if matrix is None or self.by_reactions:  # where friction nearly jams, that of the last trial but one is far off
            matrix = self.linearize(solution.unknown, residual)
        evaluation, factors, n = residual.evaluation, self.formulas.factors, self.first
        R, T_inv = evaluation.motion.R, matrix.T_inv
        change, weight = (residual.place.lifted[0] - self.state.v).reshape(-1), system.weight[:n]
        moved, missed = np.maximum.reduce(np.abs(change * weight)), np.maximum.reduce(np.abs(third[:n] * weight))
        ratio = moved / (missed + TINY)
        third = np.minimum(1.0, LARGEST * ratio) * third
        lead = lead * np.minimum(1.0, RESOLVED * ratio) ** 2
        # the blocks of T^-1(-D) are those of T^-1(D), transposed
        backwards = T_inv.reshape(-1, 2, 3, 2, 3).swapaxes(-3, -1).reshape(-1, 6, 6)
        p = errors[0].copy()
        p[:n] = np.matvec(backwards, p[:n].reshape(-1, 6)).reshape(-1)
        Z = h * errors[4] + (solution.unknown.Z if len(solution.unknown.Z) else 0.0)
        if system.k:
            third = np.where(system.orders < 2, 0.0, third)
        known = rates + factors * (defect + lead * third - p - Z)
        changes = known[:2].copy()
        changes[1] += third / h
        nodes = kinematics.to_body(R, changes[:, :n].reshape(2, -1, 6))
        changes[:, :n] = kinematics.change(residual.body, nodes).reshape(2, -1)
        seen = changes[0] + system.to_body(R, Z / h) if system.damps else changes[0]
        force = -(h**2) * tangent.rate_product(system, evaluation, seen, changes[1], changes[0])
        if system.has_history:
            held = np.where(system.orders < 0, errors[0], 0.0)  # what no equation changes
            force -= h**2 * system.held_forces(evaluation, held)
        d, taken = self.response(residual, matrix, force, changes[0])
        ends = d
        if system.has_history:
            ends = system.accept_change(evaluation, d + held)
        increments = np.array([ends, d, taken])  # of the configuration, of D and of Z
        increments[1, :n] = np.matvec(T_inv, d[:n].reshape(-1, 6)).reshape(-1)
        increments[:, :n] = kinematics.from_body(R, increments[:, :n].reshape(3, -1, 6)).reshape(3, -1)
        after = known + factors * (increments[1] - increments[2])
        if system.k:  # rates of states stand for accelerations
            after[1, n:] += np.where(system.order == 1, after[0, n:], 0.0)
        return np.concatenate([increments[:1], after, errors[4:] + increments[2:] / h])

    def response(
        self, residual: StepResidual, matrix: Linearization, force: Array, rates: Array
    ) -> tuple[Array, Array]:
        """What forces, and velocities that change by ``rates``, both ``(N,)``, do to the configuration and to ``Z``."""
        system, h, gaps = self.system, self.h, None
        opening = h * tangent.gradient_product(system, residual.evaluation.gradients, rates)
        if system.has_velocity_level:
            gaps = np.where(system.velocity_level, -opening, 0.0)
        d, _ = tangent.solve_with_constraints(system, matrix.factors, force, gaps)
        if matrix.velocity_gradients is None or not system.m:
            return d, 0.0 * d
        missed = opening + tangent.gradient_product(system, matrix.velocity_gradients, d)
        if system.has_velocity_level:
            missed *= ~system.velocity_level
        return d, self.along_constraints(matrix, missed / (h * self.gamma_prime))[0]

    def of_nodes(self, values: Array) -> Array:
        """The part ``(..., n, 6)`` of increments or rates ``(..., N)`` that belongs to nodes, as wide as the chart."""
        return values[..., : self.first].reshape(*values.shape[:-1], self.system.n, self.chart.width)
