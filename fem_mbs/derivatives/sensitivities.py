"""Derivatives of all that a run computes: what is asked, and what is returned.

The derivative of any query is that of two solutions beside: of models at ``p + dp`` and ``p - dp`` that have run
themselves (copies), or of states that are moved along the derivatives of the run (direct).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Annotated, Any, TypeAlias

import numpy as np

from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha
from fem_mbs.arrays import Array, ArrayLike
from fem_mbs.contracts import Method, Public, Seconds, checked, choice, real_or_complex
from fem_mbs.derivatives.direct import DirectIntegration, no_direct
from fem_mbs.derivatives.eigen import analysed
from fem_mbs.derivatives.equilibria import smooth_at_end, to_rounding, varied, varied_limits
from fem_mbs.derivatives.parameter_derivatives import KINK, MEAN, SMOOTH, passed, smooth_variations, unfelt
from fem_mbs.derivatives.parameters import Build, ParameterSet, Variation, refined
from fem_mbs.derivatives.step import NoDerivativeError, displaced
from fem_mbs.errors import LOG, ModelError
from fem_mbs.initial.state_point import refuse_contacts
from fem_mbs.linear.direct import one_thread
from fem_mbs.model.model import Model
from fem_mbs.newton import Newton
from fem_mbs.run.copies import simulate_many
from fem_mbs.run.fixed_step import FixedStep
from fem_mbs.run.simulate import simulate
from fem_mbs.run.variable_step import VariableStep
from fem_mbs.solution.history import History, Outcome
from fem_mbs.solution.solution import Solution
from fem_mbs.static.statics import StaticSolution, statics
from fem_mbs.static.steady_rotation import steady_rotation
from fem_mbs.system.system import System

WAYS = ("copies", "direct")
SMALL = 30
"""Unknowns up to which copies cost less."""
Varied: TypeAlias = tuple[Variation, Sequence[Any]]
"""A parameter, and what the models beside have led to."""
TIGHT: dict[str, Any] = {"force_tolerance": 1e-12, "constraint_tolerance": 1e-14}
"""Of Newton's method where whole runs are compared."""
OF_STATES, OF_RUNS, OF_RESULTS = 1e-13, 1e-10, 1e-9
"""Relative size of what is lost in queries of states that are moved, of runs beside each other, of other results."""


class Sensitivities(Public):
    """A solution and its derivatives against parameters of the model.

    Attributes
    ----------
    solution : Solution
        At the values of the parameters.
    parameters : dict
        These values.
    notes : list of str
        What is to be known of the derivatives: kinks that were crossed, motions that are not predictable.
    """

    remembers = False

    def __init__(
        self,
        solution: Any,
        parameters: ParameterSet,
        beside: Sequence[Varied],
        notes: list[str],
        noise: float | None = None,
        again: Callable[[Variation], Sequence[Any]] | None = None,
    ) -> None:
        self.solution, self.parameters, self.notes = solution, dict(parameters.values), notes
        self._parameters, self._beside = parameters, beside
        self._noise, self._again = noise, again
        for note in notes:
            LOG.warning("sensitivities: %s", note)

    @checked
    def of(self, query: Callable[[Any], Any], *, relative: bool = False) -> dict[str, Array]:
        """Derivatives of what a function says of a solution, by parameter.

        Parameters
        ----------
        query : function
            Takes a :class:`Solution` (or what else was asked for) and returns a number or an array of any shape:
            ``lambda s: s.position("tip")``.
        relative : bool
            Against relative changes of the parameters: times their values.

        Returns
        -------
        dict
            Arrays of the shape of the answer, with the shape of the parameter at its end.

        Raises
        ------
        ModelError
            If the function returns no numbers, or others in number beside.
        """
        here = real_or_complex(query(self.solution))
        columns = [self._derivative(query, here, *own) for own in self._beside]
        rows = np.stack(columns, axis=-1)
        if relative:
            rows = rows * self._parameters.flat
        return self._parameters.by_name(rows, axis=-1)

    def _derivative(
        self, query: Callable[[Any], Any], here: Any, variation: Variation, solutions: Sequence[Any]
    ) -> Any:
        """Of what a query says, by one number: where its answer bends over the difference, of finer ones."""
        noise, again, bends, halves = self._noise, self._again, list[float](), list[float]()

        def difference(own: Variation, beside: Sequence[Any]) -> Any:
            answers: list[Any] = [real_or_complex(query(solution)) for solution in beside]
            others = answers if noise is None else [*answers, here]
            if any(answer is None or answer.shape != answers[0].shape for answer in others):
                raise ModelError(
                    "Sensitivities.of: the function must return numbers, as many for each solution; it is called with "
                    f"solutions beside that of the parameters, here of {own.label}"
                )
            change = own.difference(answers)
            if not np.isfinite(change).all() and np.isfinite(here).all():
                noted = "; ".join(["", *self.notes])
                raise ModelError(f"Sensitivities.of: the function has no derivative against {own.label}{noted}")
            bends.append(0.0 if noise is None else own.bend(here, answers, noise))
            halves.append(0.0 if noise is None else own.halves(here, answers)[0] / own.step)
            return change

        change = difference(variation, solutions)
        if bends[0] > SMOOTH and again is not None:
            finer = (difference(own, again(own)) for own in variation.finer())
            change, apart = refined(chain([change], finer))
            # else it is a kink, on whose sides all differences are the same
            if bends[-1] < 0.5 * bends[0] or halves[-1] < 0.5 * halves[0]:
                bends[0] = apart
        if bends[0] > KINK:
            LOG.warning(
                "sensitivities: the two sides of the difference against %s differ by %.1g of it: the results are not "
                "exact enough, as where steps fail or tolerances are wide, or jump or have a kink here",
                variation.label,
                bends[0],
            )
        return change

    @checked
    def about(self, of: Callable[..., Any], at: int = -1, **arguments: Any) -> Sensitivities:
        """Derivatives of what is computed about one of the states, which moves along with the parameters.

        Parameters
        ----------
        of : function
            ``mbs.modes``, ``mbs.buckling``, ``mbs.linearize``, or one that takes a model and a state.
        at : int
            Number of the state, by default the last one.
        **arguments
            Of the function.

        Returns
        -------
        Sensitivities
            Whose ``solution`` is the result, and whose queries take such results.
        """
        if not isinstance(self.solution, Solution):
            raise ModelError(f"Sensitivities.about needs states, and there are none in {self.solution!r}")
        here = self.solution.model, self.solution.state(at)
        states = [[solution.state(at) for solution in solutions] for _, solutions in self._beside]
        variations = [own for own, _ in self._beside]
        found, others, notes = analysed(of, arguments, here, variations, states)
        return Sensitivities(found, self._parameters, others, notes)

    @checked
    def limits(self) -> Sensitivities:
        """Derivatives of the limits of the load along a path that :func:`statics` has followed by its length.

        Returns
        -------
        Sensitivities
            Whose ``solution`` has the limits alone, in their order; their loads are its ``t``.

        Raises
        ------
        ModelError
            If the path has no limit.
        """
        if not isinstance(self.solution, StaticSolution):
            raise ModelError(f"Sensitivities.limits are of paths of mbs.statics, received {self.solution!r}")
        variations = [own for own, _ in self._beside]
        found, others = varied_limits(self.solution, variations)
        return Sensitivities(found, self._parameters, list(zip(variations, others, strict=True)), [])

    def __repr__(self) -> str:
        noted = f"; {len(self.notes)} notes" if self.notes else ""
        return f"Sensitivities against {', '.join(self._parameters.labels)} of {self.solution!r}{noted}"


@checked
@one_thread
def sensitivities(
    build: Build,
    parameters: Mapping[str, ArrayLike],
    t_end: Seconds | None = None,
    step: Seconds | VariableStep | None = None,
    method: Method | None = None,
    *,
    how: Annotated[str, choice(WAYS)] | None = None,
    scale: Mapping[str, float] | None = None,
    of: Callable[..., Any] | None = None,
    **arguments: Any,
) -> Sensitivities:
    """Derivatives of a run against any numbers that its model is built of.

    They are those of what is computed: whole runs with the same steps, at parameters a little larger and smaller,
    differ by them.

    Parameters
    ----------
    build : function
        Takes the parameters as keyword arguments and returns a new :class:`Model`. Whatever a constructor takes may
        depend on them: places of nodes, velocities, stiffnesses, gains, numbers in laws.
    parameters : dict
        Names, each with its value: a number, or an array, whose entries are as many parameters.
    t_end, step, method
        As of :func:`simulate`. Steps, tolerances and options of the method are held.
    how : {"copies", "direct"}, optional
        "copies" runs models beside each other, at two values of each parameter, in steps that all of them take: for any
        method, and small models. "direct" solves linear equations for each parameter in every step of a run, by the
        matrix of the step: for :class:`GeneralizedAlpha` in its formulations "stabilized" and "index3". By default
        direct for models of more than 30 unknowns, and of laws with kinks, where it can be.
    scale : dict, optional
        Sizes that tell how far parameters are varied, by 1e-5 of them: by default their values, which may be zero.
        Where the model at the start bends over that, less is taken.
    of : function, optional
        In place of a run, a function of a model, with its ``arguments``: ``mbs.statics``, ``mbs.modes``,
        ``mbs.buckling``, ``mbs.steady_rotation``, ``mbs.linearize``, or your own, whose results are differenced. Modes
        and buckling about an equilibrium are :meth:`Sensitivities.about` it.

    Raises
    ------
    ModelError
        If a parameter changes the structure of the model, or has no model on either side; if the model, the method or
        what a parameter does, as where it moves an instant at which something jumps, has no direct derivatives: why.
    FemMbsError
        As :func:`simulate`.

    Notes
    -----
    ``docs/derivatives.md``, "The equations".
    """
    own = ParameterSet(build, parameters, scale, "sensitivities")
    if of is not None:
        if how is not None:
            raise ModelError("sensitivities: how is of runs; with of=, it follows from what is asked")
        own_names = {"t_end": t_end, "step": step, "method": method}
        arguments |= {name: value for name, value in own_names.items() if value is not None}
        return _of_equilibria(own, arguments) if of is statics else _of_results(own, of, arguments)
    if arguments or t_end is None or step is None:
        what = f"has no argument {next(iter(arguments))!r}" if arguments else "needs t_end and step"
        raise ModelError(f"sensitivities: {what} for a run; of=mbs.statics takes its own")
    method = method or GeneralizedAlpha()
    system = System(own.model(), t_end)
    refuse_contacts(system, "sensitivities", "give it a stiffness, or take differences of runs of as many impacts")
    variations = smooth_variations(own, system)
    by_copies = system.size <= SMALL and not system.watched  # which cross a kink in different steps
    if how != "copies" and not (how is None and (by_copies or no_direct(system, method))):
        try:
            return _direct(own, DirectIntegration(system, method, step, t_end, variations))
        except NoDerivativeError:  # as is found on the way
            if how == "direct":
                raise
    runs = partial(_copies, own.model(), t_end=t_end, step=step, method=method)
    solution, copies = runs(variations)
    # runs of fewer models have other steps where these vary
    again = None if isinstance(step, VariableStep) else lambda each: runs([each])[1][0][1]
    notes = [*_unlike(solution, copies), *passed(solution.system, solution.history, step, method)]
    return Sensitivities(solution, own, copies, notes, OF_RUNS, again)


def _of_equilibria(own: ParameterSet, arguments: dict[str, Any]) -> Sensitivities:
    """Of a path of statics, whose own derivatives are those of its equations."""
    model = own.model()
    refuse_contacts(System(model), "sensitivities of statics", "replace closed contacts by joints")
    path = to_rounding(statics(model, **arguments))
    variations = [smooth_at_end(path, each) for each in smooth_variations(own, path.system)]
    equilibria = [(each, varied(path, each)) for each, _ in variations]
    notes = [MEAN.format("the equilibrium", each.label) for each, bend in variations if bend > KINK]
    return Sensitivities(path, own, equilibria, notes, OF_RESULTS, partial(varied, path))


def _of_results(own: ParameterSet, of: Callable[..., Any], arguments: dict[str, Any]) -> Sensitivities:
    """Of what a function of a model returns."""
    model = own.model()
    if of is steady_rotation:
        arguments = {"newton": replace(Newton(), **TIGHT)} | arguments

    def differenced(variations: list[Variation]) -> tuple[Any, list[Varied], list[str]]:
        return analysed(of, arguments, (model, None), variations, [[None] * len(each.models) for each in variations])

    found, others, notes = differenced(smooth_variations(own, System(model)))
    return Sensitivities(found, own, others, notes, OF_RESULTS, lambda each: differenced([each])[1][0][1])


def _direct(own: ParameterSet, run: DirectIntegration) -> Sensitivities:
    """Of a run, by linear equations in every step; where forces bend over the variations, once more over less."""
    solution = run.finished()
    if (closer := run.nearer()) != run.varied:
        run = DirectIntegration(run.system, run.method, run.length, run.t_end, closer)
        solution = run.finished()
    moved = _along(run, solution)
    states_beside = [(each, moved(each)) for each in run.varied]
    notes = [*run.notes(), *passed(run.system, solution.history, run.length, run.method)]
    return Sensitivities(solution, own, states_beside, notes, OF_STATES, moved)


def _unlike(solution: Solution, others: Sequence[Varied]) -> list[str]:
    """What is to be known of copies: runs on the two sides of a parameter that differ by more than it makes."""
    notes = []
    for variation, runs in others:
        states = [[getattr(own.history, name) for own in (solution, *runs)] for name in ("x", "v")]
        if (apart := max(variation.bend(here, own, OF_RESULTS, lasting=True) for here, *own in states)) > KINK:
            notes.append(
                f"the two sides of the difference against {variation.label} differ by {apart:.1g} of it, as where one "
                "of the runs meets a stop or a kink and the other does not: how='direct' follows one run"
            )
        here, *there = (
            [getattr(own.history, name) for name in ("x", "v", "u", "multipliers")] for own in (solution, *runs)
        )
        if all(np.array_equal(*pair) for other in there for pair in zip(here, other, strict=True)):
            notes += unfelt(solution.system, variation.label)
    return notes


def _copies(
    model: Model, variations: list[Variation], t_end: float, step: float | VariableStep, method: Method
) -> tuple[Solution, list[Varied]]:
    """A run, and those of the models beside, in the same steps."""
    models, tight = [model, *(each for own in variations for each in own.models)], method
    if isinstance(method, GeneralizedAlpha):  # with tolerances at rounding, runs differ by what parameters make alone
        limits = {name: min(getattr(method.newton, name), least) for name, least in TIGHT.items()}
        tight = replace(method, newton=replace(method.newton, **limits))
    lengths = step if isinstance(step, VariableStep) else FixedStep(step, narrow=True)
    if all((each.gravity == model.gravity).all() for each in models):
        solutions = simulate_many(models, t_end, lengths, tight)
    elif isinstance(step, VariableStep):
        raise ModelError(
            "sensitivities: with steps of variable length no parameter may change gravity; give a fixed step"
        )
    else:
        solutions = [simulate(each, t_end, lengths, tight) for each in models]
    if any(len(solution.t) != len(solutions[0].t) for solution in solutions):
        raise ModelError(
            "sensitivities: the runs beside have taken other steps, across a kink of a law or where steps failed; "
            "how='direct' holds the steps of one run"
        )
    rest = iter(solutions[1:])
    return solutions[0], [(own, list(islice(rest, len(own.models)))) for own in variations]


def _along(run: DirectIntegration, solution: Solution) -> Callable[[Variation], list[Solution]]:
    """The runs of the models beside: states that have moved along the derivatives."""
    tangents = [np.stack(parts) for parts in zip(*run.tangents, strict=True)]

    def moved(other: System, k: int, by: float) -> Solution:
        arrays = displaced(solution.system, other, solution.history, [by * own[..., k] for own in tangents])
        history = History(other, solution.t, arrays)
        if other.has_history:  # what is counted follows from the states
            ends = [other.with_history(history.state(i)) for i in range(len(solution.t))]
            arrays |= {name: np.stack([getattr(end, name) for end in ends]) for name in ("u", "udot")}
            history = History(other, solution.t, arrays)
        return Solution(other, history, Outcome.FINISHED, solution.stats, method=run.method)

    numbers = {own.label: k for k, own in enumerate(run.varied)}

    def beside(own: Variation) -> list[Solution]:
        return [moved(other, numbers[own.label], by) for other, by in zip(own.systems, own.shifts, strict=True)]

    return beside
