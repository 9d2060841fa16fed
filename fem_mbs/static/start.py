"""The equilibrium at which a path begins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from fem_mbs.contracts import State
from fem_mbs.contracts.arguments import listed
from fem_mbs.errors import LOG, ConvergenceError, LawError, ModelError, SingularSystemError
from fem_mbs.initial.singular import describe_singular, moved_most, worst_equations
from fem_mbs.modal.steady_axes import turning_speeds
from fem_mbs.newton import FAILURES, Newton, NotConvergedError
from fem_mbs.static.equations import (
    Equations,
    PathLinearization,
    PathResidual,
    PathUnknown,
    Point,
    StepProblem,
    unstable_motions,
)
from fem_mbs.system import matrices as tangent
from fem_mbs.system.matrices import leading_matrix, solve_with_constraints
from fem_mbs.system.system import System

ITERATIONS = 200
MORE = 3.0
"""Growth of a shift that lets nodes move too far."""
TRIALS = 30
"""How often it grows before it is as at first: an integrator asks for a motion whatever the mass."""
MOVES = (0.3, 0.1, 0.03)
"""First moves to try, in rad or against the extent of the model: the smaller, the surer, and the more iterations."""
PENDULUM = (
    ". If loads are to hold it, as gravity holds a pendulum, give ramp=False: the equilibrium under the full loads is "
    "then sought from the position as built"
)


def start(equations: Equations, initial: State | None, ramp: bool, newton: Newton, caller: str = "statics") -> Point:
    """The equilibrium at the start of the loading, from a state of the system or as built.

    Raises
    ------
    ModelError
        If nothing can move, or the state turns and is no equilibrium at rest.
    SingularSystemError
        If the equilibrium is not unique: names the motions without resistance, or joints that repeat each other.
    ConvergenceError
        If there is none near.
    """
    point = equations.as_built() if initial is None else Point.of(initial)
    evaluation = equations.evaluate(point)
    equations.handle_repeated(point, f"at load factor {point.load:g}")
    if equations.imbalance(evaluation) > newton.force_tolerance:
        if initial is not None:
            refuse_turning(equations.system, initial, caller)
        point = settle(equations, point, newton)
    if text := equations.mechanism(point, f"at load factor {point.load:g}"):
        if equations.range == 0.0:
            LOG.warning("%s", text)
        else:
            raise SingularSystemError(text + (PENDULUM if ramp and initial is None and "resistance" in text else ""))
    return point


def refuse_turning(system: System, initial: State, caller: str) -> None:
    """Refuse a state that centrifugal forces hold in equilibrium."""
    if len(speeds := turning_speeds(system, system.motion(initial))):
        raise ModelError(
            f"{caller}: the state given as initial turns at {np.linalg.norm(speeds[0]):.4g} rad/s and is no "
            "equilibrium at rest: mbs.steady_rotation finds how it turns, mbs.modes whether it buckles there; its "
            "position alone is dataclasses.replace(state, v=0 * state.v, vdot=0 * state.vdot)"
        )


def settle(equations: Equations, point: Point, newton: Newton) -> Point:
    """The equilibrium to which a configuration sinks under the loads of the start.

    Newton's method with the mass times a shift added to the stiffness, in proportion to the residual: at first nodes
    move as from rest, without swinging over, and at last Newton's method is left (Kelley, Keyes, *SIAM Journal on
    Numerical Analysis* 35, 1998). Where nodes have no mass, with line search instead.
    """
    reached: Point | None = None
    failure: Exception | None = None
    for problem, options in _attempts(equations, point, newton):
        try:
            reached = problem.solved(problem.guess(equations.evaluate(point)), options)[1].point
        except LawError:
            raise
        except FAILURES as error:
            failure = error
            continue
        if unstable_motions(equations, reached) <= 0:
            return reached
    if reached is not None:
        return reached
    text = f"no equilibrium was found at load factor {point.load:g}: {failure}"
    if isinstance(failure, NotConvergedError) and failure.value is not None:
        there = failure.value.evaluation
        text += f"\n  worst equations: {worst_equations(equations.system, there)}"
        before = equations.evaluate(point).motion
        text += f"\n  changed most: {moved_most(equations.system, before, there.motion)}"
    if mechanism := equations.mechanism(point, f"at load factor {point.load:g}"):
        text += f"\n  {mechanism}"
    variables = equations.system.number.internal_variables
    if turning := dict.fromkeys(str(part) for part, own in variables if own.kind == "history" and own.unit == "rad"):
        text += (
            f"\n  {listed(turning)}: angles count turns from one equilibrium of a path to the next, and the first is "
            "within half a turn of the start; what is further may be turned by a Moment, followed from none"
        )
    raise ConvergenceError(
        text + "\n  give a state nearer to it as initial, such as the end of a damped run", point.load
    ) from failure


def _attempts(equations: Equations, point: Point, newton: Newton) -> Iterator[tuple[StepProblem, Newton]]:
    """Problems to solve and how, one after the other."""
    options = replace(newton, max_iterations=ITERATIONS, modified=False)
    system, evaluation = equations.system, equations.evaluate(point)
    if describe_singular(system, evaluation, ""):
        yield StepProblem(equations, point, None, mixed=False), replace(options, line_search=True)
        return
    factors = system.solver.factor(leading_matrix(system, evaluation))
    acceleration, multipliers = solve_with_constraints(system, factors, evaluation.force, evaluation.constraint)
    carried = point._replace(multipliers=point.multipliers - multipliers)
    if equations.imbalance(equations.evaluate(carried)) <= newton.force_tolerance:
        point = carried  # it rests as built, held by joints, which have no stiffness without what they carry
    size = float(np.abs(acceleration * system.weight).max())
    moves: Sequence[float] = MOVES
    for keeps in (False, True):
        problems = [SettleProblem(equations, point, move, size / move, keeps=keeps) for move in moves]
        for problem in problems:
            yield problem, replace(options, line_search=False)
        moves = [problem.move for problem in problems if problem.fades]


class SettleProblem(StepProblem):
    """The equations of rest at the start, with a matrix that moves nodes by ``move`` at most.

    If it ``keeps`` its scale, residuals count against the largest forces so far, else against those of now.
    """

    def __init__(self, equations: Equations, base: Point, move: float, shift: float, *, keeps: bool) -> None:
        super().__init__(equations, base, None, mixed=True)
        self.move, self.shift, self.scale, self.keeps = move, shift, (0.0, 0.0), keeps
        self.fades = False
        """Whether forces became smaller: else it makes no difference what it keeps."""

    def linearize(
        self, unknown: PathUnknown, trial: PathResidual, first: PathLinearization | None = None
    ) -> PathLinearization:
        """Stiffness plus the shifted mass, of which there is more where nodes would move further."""
        equations, system = self.equations, self.equations.system
        (force, moment), own = self.scale, trial.evaluation.scale
        self.fades |= own[0] < force or own[1] < moment
        # of forces that all vanish, what they were tells how much is left; it passes what pushes from one side alone
        self.scale = (max(force, own[0]), max(moment, own[1])) if self.keeps else own
        shift = self.shift * equations.imbalance(trial.evaluation._replace(scale=self.scale))
        forces = slice(system.pattern.force_entries)
        mass = tangent.mass_entries(system, trial.evaluation, equations.force_factor)[forces]
        entries = equations.entries(equations.with_stresses(trial.evaluation, unknown.stresses), equations.force_factor)
        right = equations.residual(trial.evaluation)
        # what states and algebraic variables do, mass does not hold back
        weight = np.where(system.orders == 2, system.weight, 0.0)
        for more in shift * np.append(MORE ** np.arange(TRIALS), 1.0):
            shifted = entries.copy()
            shifted[forces] += more * mass
            solve = system.solver.factorized(shifted).solve
            moved = float(np.abs(equations.response(solve, right)[: system.N] * weight).max())
            if not moved > self.move:
                break
        if first is None and (system.order < 2).any():  # which at rest push less than at once
            self.shift *= min(moved / self.move, 1.0)
        return PathLinearization(solve, self.inverse_tangent(unknown), None)
