"""The equilibrium at which a path begins."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fem_mbs.errors import ConvergenceError, LawError, ModelError, MotionError, SingularSystemError
from fem_mbs.lie import se3
from fem_mbs.solve import Newton, NotConvergedError, describe_mechanism, describe_singular, newton_solve
from fem_mbs.static.equations import Equations, Point
from fem_mbs.static.stability import unstable_motions
from fem_mbs.static.step import Direction, Linearization, StepProblem, Trial, Unknown
from fem_mbs.system import State

LOG = logging.getLogger("fem_mbs")
ITERATIONS = 200
MORE = 3.0
"""Growth of a shift that does not do."""
MOVES = (0.3, 0.1, 0.03)
"""First moves to try, in rad or against the extent of the model: the smaller, the surer, and the more iterations."""
PENDULUM = (
    ". If loads are to hold it, as gravity holds a pendulum, give ramp=False: the equilibrium under the full loads is "
    "then sought from the position as built"
)


def start(equations: Equations, initial: State | None, ramp: bool, newton: Newton, caller: str = "statics") -> Point:
    """The equilibrium at the start of the loading, from a given state or as built.

    Raises
    ------
    ModelError
        If nothing can move or the state is not one of the model.
    SingularSystemError
        If the equilibrium is not unique: names the motions without resistance, or joints that repeat each other.
    ConvergenceError
        If there is none near.
    """
    system = equations.system
    if system.n_free == 0:
        raise ModelError(
            f"{caller}: nothing can move: the model has {system.n} nodes, and all are held. Add nodes with "
            "model.add_node and give them beams"
        )
    point = Point(system.x0, system.R0, np.zeros(system.m), equations.loading.start)
    if initial is not None:
        point = _given(equations, initial, caller)
    if equations.imbalance(equations.evaluate(point)) > newton.force_tolerance:
        point = settle(equations, point, newton)
    if text := _mechanism(equations, point):
        if equations.range == 0.0:
            LOG.warning("%s", text)
        else:
            raise SingularSystemError(text + (PENDULUM if ramp and initial is None and "resistance" in text else ""))
    return point


def settle(equations: Equations, point: Point, newton: Newton) -> Point:
    """The equilibrium to which a configuration sinks under the loads of the start.

    Newton's method with the mass times a shift added to the stiffness, in proportion to the residual: at first nodes
    move as from rest, without swinging over, and at last Newton's method is left (Kelley, Keyes, *SIAM Journal on
    Numerical Analysis* 35, 1998). Where nodes have no mass, with line search instead.
    """
    found: Point | None = None
    failure: Exception | None = None
    for problem, options in _attempts(equations, point, newton):
        still = Direction(np.zeros((equations.system.n, 6)), np.zeros(equations.system.m), 0.0)
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                unknown, _ = newton_solve(problem, problem.guess(equations.evaluate(point), still), options)
        except LawError:
            raise
        except (NotConvergedError, MotionError, SingularSystemError) as error:
            failure = error
            continue
        found = point.moved(*unknown.way)
        if unstable_motions(equations, found) <= 0:
            return found
    if found is not None:
        return found
    text = f"no equilibrium was found at load factor {point.load:g}: {failure}"
    if mechanism := _mechanism(equations, point):
        text += f"\n  {mechanism}"
    raise ConvergenceError(
        text + "\n  give a state nearer to it as initial, such as the end of a damped run", point.load
    ) from failure


def _attempts(equations: Equations, point: Point, newton: Newton) -> Iterator[tuple[StepProblem, Newton]]:
    """Problems to solve and how, one after the other."""
    options = replace(newton, max_iterations=ITERATIONS, modified=False)
    system, evaluation = equations.system, equations.evaluate(point)
    mass = system.mass_matrix(evaluation)
    if describe_singular(system, mass, ""):
        yield StepProblem(equations, point, None, mixed=False), replace(options, line_search=True)
        return
    acceleration, _ = system.increments(system.factor(mass)(system.residual(evaluation, 1.0)))
    size = float(np.abs(acceleration * system.increment_weight).max())
    for move in MOVES:
        yield SettleProblem(equations, point, move, size / move), replace(options, line_search=False)


class SettleProblem(StepProblem):
    """The equations of rest at the start, with a matrix that moves nodes by ``move`` at most."""

    def __init__(self, equations: Equations, base: Point, move: float, shift: float) -> None:
        super().__init__(equations, base, None, mixed=True)
        self.move, self.shift = move, shift
        self._unit = np.tile(np.eye(6), (equations.system.n, 1, 1))

    def linearize(self, unknown: Unknown, trial: Trial) -> Linearization:
        """Stiffness plus the shifted mass, of which there is more where nodes would move further."""
        equations, system = self.equations, self.equations.system
        shift = self.shift * equations.imbalance(trial.evaluation)
        mass = system.inertia_entries(trial.evaluation, self._unit, equations.force_factor)[: system.force_entries]
        entries = equations.entries(equations.with_stresses(trial.evaluation, unknown.stresses), equations.force_factor)
        entries[: system.force_entries] += shift * mass
        right = equations.residual(trial.evaluation)
        while True:
            solve = system.factor(system.assemble(entries))
            d, _ = equations.response(solve, right)
            if not np.abs(d * system.increment_weight).max() > self.move or shift == 0.0:
                return Linearization(solve, se3.inverse_tangent_operator(unknown.way.D), None)
            entries[: system.force_entries] += (MORE - 1.0) * shift * mass
            shift *= MORE


def _mechanism(equations: Equations, point: Point) -> str:
    """What makes the stiffness singular at a point; empty if it is regular."""
    values = equations.system.assemble(equations.entries(equations.evaluate(point), equations.force_factor))
    return describe_mechanism(equations.system, values, point.R, f"at load factor {point.load:g}")


def _given(equations: Equations, initial: State, caller: str) -> Point:
    """The state as a point, if it can be one of the system."""
    system = equations.system
    found = np.shape(initial.x), np.shape(initial.multipliers)
    if found != ((system.n, 3), (system.m,)):
        raise ModelError(
            f"{caller}: the initial state is not one of this model: it has {found[0][0]} nodes and {found[1][0]} "
            f"multipliers, the model {system.n} and {system.m}; take it from a run of the same model"
        )
    return Point(initial.x, initial.R, initial.multipliers, initial.t)
