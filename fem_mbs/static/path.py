"""A path of equilibria: steps of lengths that follow from how they went, and what to say where none leads on.

Lengths have no unit: changes of the load factor are divided by its range. With arc length, rotations in rad and
displacements over the extent of the model, in the mean over all nodes, are added by squares.

Keller, *Numerical solution of bifurcation and nonlinear eigenvalue problems* (1977); docs/statics.md, "The method".
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from scipy.linalg import eig
from scipy.sparse import csc_array, diags_array
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs

from fem_mbs.arrays import Array
from fem_mbs.contracts import Report, State
from fem_mbs.contracts.arguments import listed
from fem_mbs.errors import LOG, ConvergenceError, FemMbsError, LawError
from fem_mbs.initial.singular import moved_most, passed_kinks, shown_residuals, worst_equations
from fem_mbs.linear.direct import Solve
from fem_mbs.newton import FAILURES, Newton, NotConvergedError
from fem_mbs.run.interfaces import AcceptedStep
from fem_mbs.solution.history import NOT_ESTIMATED, proportional
from fem_mbs.static.equations import NEUTRAL, UNKNOWN, Arc, Equations, Point, StepProblem, negative_pivots
from fem_mbs.system.system import Evaluation, System

SOFT = 10.0
"""A model gives way if a motion has lost its stiffness but for the inverse of this."""
FIRST = 0.1
"""Length of the first step."""
DISTANCES = 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003
"""Lengths to try of a first step by distance."""
STIFFER = 0.5
"""Rate of motion after a step, against the mean one in it, below which it may have leapt over a limit of the load."""
APART = 1e-4
"""Distance of a node in two equilibria that are not the same, against the extent of the model."""
TARGET = 6
"""Newton iterations of a step of the right length."""
GROWTH, CUT = 2.0, 0.5
"""Most by which a step may grow, and what is left of one that failed."""
SMALLEST = 1e-6
"""Shortest step."""
BEYOND = 2.0
"""So many of them ahead it is looked which laws pass a kink, where there is no further step."""
DEVIATION = 0.5
"""Largest distance of an equilibrium from where its tangent pointed, against the step: beyond, it is another path."""
ALONG = 0.87
"""Least share of a step of arc length that is along the tangents at its ends, 30 degrees aside: other ones leap."""
NOTHING = 1e-7
"""Motions, against the extent of the model and in rad, that may deviate."""
UNEVEN = 0.1
"""Change of how fast loads and drives grow, against the fastest, from which on they are no straight line."""
CAREFUL = 1e-2
"""Longest step over which the stability may change: where paths branch, one that bends away sharply is not missed."""
SAME_LOAD = 1e-10
"""Load factors that differ by less of their range are the same."""
DENSE = 30
"""Matrices up to this size have all their eigenvalues looked at."""
REAL = 1e-3
"""Imaginary part, against its size, of eigenvalues that are real: rounding makes a pair of two that are equal."""
ROUGH, RESTARTS = 0.1, 3
"""Tolerance and restarts of Arnoldi's method: an eigenvalue that stands out from all others is found at once."""
AIMED, TURN = 2.0, 3.0
"""Largest rotation of a node in a step, in rad: aimed at, and accepted. Below pi, rotations in between are unique."""


def not_found(load: float, end: float, failure: FemMbsError, why: str) -> ConvergenceError:
    """The error for a path that ends at a load factor on the way to its end, and why it does so."""
    history = failure.report.history if isinstance(failure, NotConvergedError) and failure.report else []
    return ConvergenceError(
        f"no equilibrium was found beyond load factor {load:.6g} on the way to {end:g}: {failure}{why}\n"
        "  the error has the path so far as its solution",
        end,
        history,
    )


def growth_after(iterations: int) -> float:
    """By what a step may grow after one that took so many iterations."""
    return min(GROWTH, max(CUT, float(np.sqrt(TARGET / max(iterations, 1)))))


def _largest(path: EquilibriumPath, D: Array) -> str:
    """How the node that moves most in increments ``D`` (N,) does, in words."""
    system = path.equations.system
    size = np.linalg.norm(system.nodes_of(D * system.weight).reshape(-1, 2, 3), axis=2)
    row, kind = np.unravel_index(int(np.argmax(size)), size.shape)
    direction = path.here.point.R[row] @ system.nodes_of(D)[row].reshape(2, 3)[kind]
    direction = np.round(direction / np.linalg.norm(direction), 3) + 0.0
    words = ("moves along", "turns about")[kind]
    return f"{system.nodes[row]} {words} ({', '.join(f'{w:g}' for w in direction)})"


def eigenvalues(solve: Solve, matrix: csc_array, units: Array, which: str) -> tuple[Array, Array]:
    """The eigenvalue of ``solve(matrix)`` that stands out as ``which`` says, and its vector; none if none does.

    Over ``units`` unknowns are comparable numbers: others would drown in the rounding of the largest.
    """
    n, scaled = matrix.shape[0], matrix @ diags_array(units)
    if n <= DENSE:
        values, vectors = eig(solve(scaled.toarray()) / units[:, None])
    else:
        operator = LinearOperator((n, n), lambda x: solve(scaled @ x) / units, dtype=float)
        first = np.random.default_rng(1).normal(size=n)
        try:
            values, vectors = eigs(operator, 1, which=which, v0=first, tol=ROUGH, maxiter=RESTARTS)
        except ArpackNoConvergence as error:
            values, vectors = error.eigenvalues, error.eigenvectors
    return values, units[:, None] * vectors


class PathStep(NamedTuple):
    """An equilibrium found from the last one, and how."""

    point: Point
    evaluation: Evaluation
    change: Array
    """What led there, ``(N + m + 1,)``."""
    report: Report


class PathPoint(NamedTuple):
    """A place on the path: an equilibrium and what it is like there."""

    point: Point
    evaluation: Evaluation
    tangent: Array
    """Where the path goes on, in the sense in which it came, ``(N + m + 1,)``."""
    unstable: int
    """Number of unstable motions, -1 if unknown."""

    @property
    def state(self) -> State:
        """That of the equilibrium."""
        return self.point.state()


class LoadPath:
    """Steps along a path, from stop to stop, until it reaches the end of the loading."""

    label, where = "statics", "load factor {:.6g}"
    rejected, error = 0, NOT_ESTIMATED
    failed = 0
    """Attempts without a solution."""
    singular: Sequence[tuple[float, float]] = ()
    """Load factors between which the stiffness is singular, where it is not symmetric."""
    leaps: Sequence[tuple[float, float]] = ()
    """Load factors between which a given step leads to another path."""
    stops: Array
    max_steps: int

    def __init__(self, system: System, equations: Equations) -> None:
        self.system, self.equations, self.loads = system, equations, [equations.loading.start]

    def go_on(self, stops: Array) -> AcceptedStep:
        """Go on by a step that ends at the first of the load factors ``stops`` that it reaches."""
        raise NotImplementedError

    def explain(self, failure: FemMbsError) -> FemMbsError:
        """The error that says how far the path was followed, and why not further."""
        raise NotImplementedError

    def end_at(self, event: State) -> State:
        """As it is between equilibria."""
        return event

    def advance(self) -> AcceptedStep | None:
        """The next equilibrium; None at the last load factor."""
        end = self.equations.loading.end
        if self.loads[-1] == end:
            return None
        if len(self.loads) > self.max_steps:
            loads = np.array(self.loads)
            raise ConvergenceError(
                f"the path has not reached load factor {end:g} in {self.max_steps} steps: it is at {loads[-1]:.6g}, "
                f"and was between {loads.min():.6g} and {loads.max():.6g}. Give more max_steps, a load_end that is "
                "nearer, or a callback that ends the run where you want it; the error has the path so far as its "
                "solution",
                end,
            )
        accepted = self.go_on(self.stops)
        self.loads.append(accepted.state.t)
        return accepted

    def warnings(self) -> Sequence[str]:
        """Where the path may branch under loads that follow, whose stability the stiffness does not tell."""
        return [
            f"statics: between load factors {first:g} and {last:g} the stiffness is singular: the path branches there, "
            "and what was stable before is not beyond. A small load or imperfection towards the other branch leads "
            "there; mbs.modes at the states tells their stability, mbs.buckling has the shape"
            for first, last in self.singular
        ] + [
            f"statics: the step from load factor {first:g} to {last:g} leaps to another equilibrium, to which no "
            "shorter steps lead: the load has a limit there, or the path branches. arc_length=True follows it; without "
            "step, lengths are chosen"
            for first, last in self.leaps
        ]


class EquilibriumPath(LoadPath):
    """A path under way: its last equilibrium, the direction in which it goes on, and the length of the next step.

    Steps are measured by the load factor alone, with ``arc_length`` by motion and load factor. All have the length
    ``step``, but where they fail; by default each is chosen by the iterations of the last one.
    """

    def __init__(
        self, equations: Equations, point: Point, newton: Newton, arc_length: bool, step: float | None
    ) -> None:
        system = equations.system
        super().__init__(system, equations)
        self.newton, self.arc_length, self.step, self.range = newton, arc_length, step, equations.range
        weight = np.where(system.equation >= 0, system.weight**2, 0.0) / system.n
        self.distance = np.append(weight, np.zeros(system.m + 1))
        """Weights of the squares of a change that make its distance, and its length along the path."""
        self.metric = arc_length * self.distance
        self.metric[-1] = (self.range or 1.0) ** -2
        ahead = np.zeros_like(self.metric)
        ahead[-1] = equations.loading.end - equations.loading.start
        self.here = self.first = self._place(point, equations.evaluate(point), ahead)
        self.length = self.shortest = FIRST if step is None else step
        self.singular: list[tuple[float, float]] = []
        self.leaps: list[tuple[float, float]] = []
        self._slips = any(own.kind == "history" and own.unit != "rad" for _, own in system.internal_variables)
        """Whether equilibria depend on the way there, for which loads that turn between two are not passed over; angles
        that count turns do not make them so."""

    def explain(self, failure: FemMbsError) -> FemMbsError:
        if isinstance(failure, LawError):
            return failure
        load, loading = self.here.point.load, self.equations.loading
        text = ""
        if isinstance(failure, NotConvergedError) and failure.report is not None:
            text += f"\n  relative residuals {shown_residuals(failure)}; "
            text += f"the step was cut to a length of {self.shortest:.1e}"
            if failure.value is not None:
                system, there = self.equations.system, failure.value.evaluation
                if not isinstance(failure.value, PathStep):  # which was solved
                    text += f"\n  worst equations: {worst_equations(system, there)}"
                text += f"\n  changed most: {moved_most(system, self.here.evaluation.motion, there.motion)}"
        if load == loading.start and loading.instant is proportional:
            text += (
                "\n  ramp=False takes gravity and constant loads in full from the start, which hold what is slack "
                "without them, such as a cable or a thin membrane"
            )
        softness, way = self.softened()
        if softness > SOFT:
            text += (
                f"\n  the model gives way: {_largest(self, way)} with 1/{softness:.3g} of its stiffness at the start; "
                "the load has a limit here, or the path branches"
            )
            if not self.arc_length:
                text += ". arc_length=True follows the path beyond a limit"
        else:
            text += "\n  try more elements where the model bends, a shorter step, or look at loads that jump"
            text += self._laws()
        return not_found(load, loading.end, failure, text)

    def softened(self) -> tuple[float, Array]:
        """How many times stiffer at the start was what has lost most of its stiffness, and its motion ``(N,)``."""
        system = self.equations.system
        values, vectors = eigenvalues(
            self.equations.factor(self.here.evaluation),
            self.equations.matrix(self.first.evaluation),
            self._units(),
            "LM",
        )
        if not len(values):
            return 0.0, np.zeros(system.N)
        largest = int(np.abs(values).argmax())
        return float(np.abs(values[largest])), system.spread(vectors[: system.n_free, largest].real)

    def _units(self) -> Array:
        """Of free components, and of multipliers as these are pushed by their stiffness."""
        system = self.equations.system
        units = 1.0 / system.weight[system.free_rows]
        stiffness = units * self.equations.matrix(self.first.evaluation).diagonal()[: system.n_free] * units
        return np.append(units, (np.abs(stiffness).max(initial=0.0) or 1.0) * system.constraint_weight)

    def go_on(self, stops: Array) -> AcceptedStep:
        # no node turns too far in it
        planned = length = min(self.length, AIMED / max(self._turn(self.here.tangent), AIMED / self.length))
        if not self.arc_length and (stop := self._stop(stops, self.here.tangent[-1] * length)) is not None:
            length = abs(stop - self.here.point.load) / self.range
        tried = length
        while True:
            self.shortest = length
            try:
                place, report, iterations = self._attempt(length, stops)
                break
            except FAILURES as failure:
                self.failed += 1
                LOG.info("step of length %g from load factor %g failed: %s", length, self.here.point.load, failure)
                broken = isinstance(failure, LawError) and not failure.of_motion
                if broken or length * CUT < SMALLEST:
                    raise
                if length == tried and (first := self._by_arc(stops)) is not None:
                    place, report, iterations = first
                    length = tried = abs(place.point.load - self.here.point.load) / self.range
                    break
                length *= CUT
        untried = length < planned and (tried == length or place.unstable != self.here.unstable)
        growth = GROWTH if self.step else growth_after(iterations)
        growth = min(growth, 1.0) if length < tried else growth  # where one has failed the next is no longer
        self.length = min(self.step or np.inf, max(growth * length, planned if untried else 0.0))
        system = self.equations.system
        if system.has_history:
            place = place._replace(point=place.point._replace(u=system.history(place.evaluation.motion)))
        self.here = place
        return AcceptedStep(place.state, report, place.unstable)

    def _attempt(self, length: float, stops: Array) -> tuple[PathPoint, Report, int]:
        """The equilibrium a length ahead or at a stop before, how it was found, and the iterations a length ahead."""
        ahead = length * self.here.tangent
        step = self._solve(ahead, Arc(self.metric, self.here.tangent, length) if self.arc_length else None)
        iterations = step.report.iterations
        deviation, moved = (float(np.sqrt(self.distance @ part**2)) for part in (step.change - ahead, step.change))
        place = self._place(step.point, step.evaluation, step.change)
        far = deviation > (allowed := DEVIATION * moved + NOTHING)
        far = far or self.arc_length and not self._goes_on(place, step.change)
        far = far and not self._bends(step, place, length, allowed)
        # where the load turns, one limit was passed, along the path
        onward = place.tangent[-1] * self.here.tangent[-1] > 0.0
        if far or onward and not self._returns(place, step.change[-1], moved):
            if self.arc_length or self.step is None:
                raise NotConvergedError("the equilibrium found is far from where the path pointed", step.report, step)
            if not self._leads_to(step):
                self.leaps.append((self.here.point.load, step.point.load))
        if (stop := self._stop(stops, step.change[-1])) is not None:
            step = self._at(step, stop)
            place = self._place(step.point, step.evaluation, step.change)
        end = step.point
        self.equations.system.check_end(self.here.point.load, end.load, end.R, end.u, end.multipliers)
        branches = place.tangent[-1] * self.here.tangent[-1] > 0.0 and self._branches(place)
        if self.step is None and length > CAREFUL and (branches or self._slips and self._uneven(end.load)):
            raise NotConvergedError("the path may branch, or turn back where something slips", step.report, step)
        if branches and place.unstable == UNKNOWN:
            self.singular.append((self.here.point.load, place.point.load))
        return place, step.report, iterations

    def _by_arc(self, stops: Array) -> tuple[PathPoint, Report, int] | None:
        """The first equilibrium by its distance, where a load leads much less far than its tangent: none if that fails.

        What is flat and thin has its stiffness by tension, which grows with the square of how far it moves.
        """
        if self.arc_length or self.step is not None or self.here is not self.first:
            return None
        path = EquilibriumPath(self.equations, self.here.point, self.newton, True, None)
        for length in DISTANCES:
            with suppress(*FAILURES):
                place, report, iterations = path._attempt(length, stops)
                if place.tangent[-1] * self.here.tangent[-1] > 0.0:
                    return self._place(place.point, place.evaluation, place.tangent), report, iterations
        return None

    def _goes_on(self, place: PathPoint, change: Array) -> bool:
        """Whether the way to a place is along the path at both ends: what leaps over a limit may go back from there."""
        way = self.metric * change
        return bool(min(way @ self.here.tangent, way @ place.tangent) >= ALONG * np.sqrt(way @ change))

    def _returns(self, place: PathPoint, change: float, moved: float) -> bool:
        """Whether the way back from an equilibrium leads to the last one, where the model is much stiffer there.

        What has leapt over a limit of the load stays beyond. No way back that is found tells so of a long step alone.
        """
        way = change / place.tangent[-1] * place.tangent
        if np.sqrt(self.distance @ way**2) >= STIFFER * moved:
            return True
        problem = StepProblem(self.equations, place.point, None, not self.newton.line_search)
        with suppress(*FAILURES):
            back = problem.solve(place.evaluation, self.newton, -way)[1].point
            return self._same(back, self.here.point)
        return abs(change) <= CAREFUL * self.range

    def _same(self, one: Point, other: Point) -> bool:
        """Whether nodes are at the same places."""
        return bool(np.linalg.norm(one.x - other.x, axis=1).max() <= APART * self.equations.system.length)

    def _leads_to(self, found: PathStep) -> bool:
        """Whether steps of chosen lengths lead to what a given one has found."""
        path, load = EquilibriumPath(self.equations, self.here.point, self.newton, False, None), found.point.load
        with suppress(*FAILURES):
            while path.here.point.load != load:
                path.go_on(np.array([load]))
            return self._same(path.here.point, found.point)
        return False

    def _bends(self, step: PathStep, place: PathPoint, length: float, allowed: float) -> bool:
        """Whether a step went a part along the tangent before it and the rest along that after it.

        So it does where a law has a kink, and where loads and drives do not grow in proportion.
        """
        if not self.equations.system.watched and not self._uneven(step.point.load):
            return False
        before, after = self.here.tangent, place.tangent
        share = float((self.metric * before) @ after)
        if share <= 0.0:
            return False
        missed, turned = step.change - length * before, length * (after / share - before)
        part = float((self.distance * turned) @ missed / ((self.distance @ turned**2) or 1.0))
        rest = missed - min(max(part, 0.0), 1.0) * turned
        return bool(np.sqrt(self.distance @ rest**2) <= allowed)

    def _uneven(self, load: float) -> bool:
        """Whether loads and drives grow in another way at a load factor than here."""
        here = self.here.point
        rates = [self.equations.load_derivative(here._replace(load=own)) for own in (here.load, load)]
        return bool(np.abs(rates[1] - rates[0]).max() > UNEVEN * np.abs(rates).max())

    def _laws(self) -> str:
        """Elements whose laws pass kinks just ahead, and those that may, in words."""
        equations, here, passed = self.equations, self.here, list[str]()
        system = equations.system
        if system.kinked:
            point = here.point.moved(BEYOND * self.shortest * here.tangent)
            with suppress(*FAILURES):
                passed = passed_kinks(system, here.evaluation, equations.evaluate(point))
        asked = [str(owner) for batch in system.batches if batch.asks for owner in batch.owners]
        text = f". Laws pass kinks there: {listed(passed, '; ')}" if passed else ""
        return text + (f". Functions that may bend: {listed(asked, '; ')}" if asked else "")

    def _branches(self, place: PathPoint) -> bool:
        """Whether the stability changes on the way to a place; where that is not known, whether stiffness is singular.

        ``(1 - s) A + s A'`` is so for an ``s`` between 0 and 1 where ``A'^-1 A`` has the eigenvalue ``-s/(1 - s)``.
        """
        if min(place.unstable, self.here.unstable) != UNKNOWN:
            return place.unstable != self.here.unstable
        matrix = self.equations.matrix(self.here.evaluation)
        values, _ = eigenvalues(self.equations.factor(place.evaluation), matrix, self._units(), "SR")
        return bool((values.real < -np.maximum(NEUTRAL, np.abs(values.imag) / REAL)).any())

    def _stop(self, stops: Array, change: float) -> float | None:
        """The first of the load factors that a change of it reaches."""
        ahead = (stops - self.here.point.load) * np.sign(change)
        reached = stops[(ahead > SAME_LOAD * self.range) & (ahead <= abs(change) + SAME_LOAD * self.range)]
        return float(reached[np.abs(reached - self.here.point.load).argmin()]) if len(reached) else None

    def _at(self, step: PathStep, load: float) -> PathStep:
        """The equilibrium at a load factor on the way of a step."""
        share = (load - self.here.point.load) / step.change[-1]
        if abs(share - 1.0) > SAME_LOAD:
            step = self._solve(share * step.change, None)
        return step._replace(point=step.point._replace(load=load))

    def _solve(self, ahead: Array, arc: Arc | None) -> PathStep:
        """The equilibrium near a step ahead, at its load factor or at the length of an arc."""
        problem = StepProblem(self.equations, self.here.point, arc, not self.newton.line_search)
        unknown, (point, evaluation), report = problem.solve(self.here.evaluation, self.newton, ahead)
        if (turn := self._turn(unknown.change)) > TURN:
            raise NotConvergedError(f"a node turns by {turn:.2g} rad in one step", report)
        return PathStep(point, evaluation, unknown.change, report)

    def _place(self, point: Point, evaluation: Evaluation, came: Array) -> PathPoint:
        """A place on the path to which ``came`` led."""
        equations = self.equations
        stored = equations.stored(evaluation)
        unstable = negative_pivots(equations, evaluation, stored)  # before a solver factors them in their place
        if self.range == 0.0:  # which leads nowhere
            return PathPoint(point, evaluation, came, unstable)
        solve = equations.system.solver.factor(stored).solve
        rate = equations.response(solve, equations.load_derivative(point), 1.0)
        tangent = rate / np.copysign(np.sqrt(self.metric @ rate**2), (self.metric * rate) @ came)
        return PathPoint(point, evaluation, tangent, unstable)

    def _turn(self, change: Array) -> float:
        """Largest rotation of a node."""
        return float(np.linalg.norm(self.equations.system.nodes_of(change)[:, 3:], axis=1).max())
