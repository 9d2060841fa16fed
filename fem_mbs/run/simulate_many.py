"""Many models of small size in one run: their equations side by side, so that a step costs little more than one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain

import numpy as np
from scipy.linalg import orth

from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha
from fem_mbs.arrays import IntArray
from fem_mbs.contracts import Method, Seconds, State, checked, shown
from fem_mbs.errors import FemMbsError, ModelError
from fem_mbs.linear.constrained import Redundant
from fem_mbs.linear.direct import one_thread
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate
from fem_mbs.run.variable_step import VariableStep
from fem_mbs.solution.history import History
from fem_mbs.solution.solution import Solution
from fem_mbs.system.system import System

TRIED = 3
"""Steps in which a model alone shows whether it is the one that fails."""
NAMED = 3
"""Of the models that fail, so many are named."""


@checked
@one_thread
def simulate_many(
    models: Sequence[Model],
    t_end: Seconds,
    step: Seconds | VariableStep,
    method: Method | None = None,
    *,
    progress: bool = False,
) -> list[Solution]:
    """Integrate copies of one structure together, each from its own initial state and with its own values.

    All take the same steps: Newton's method iterates until all have converged, residuals against the largest force of
    all, and steps of variable length follow the model that needs the shortest. Small models gain most, whose steps
    alone cost what calls cost.

    Parameters
    ----------
    models : list of Model
        Built one by one, with the same gravity; they may differ in whatever else.
    t_end, step, method, progress
        As of :func:`simulate`.

    Returns
    -------
    list of Solution
        Of each model, as :func:`simulate` returns it. Counts, wall time and estimated error are those of the whole run.

    Raises
    ------
    FemMbsError
        As :func:`simulate`, and says which of the models fails. All end there: ``error.solutions`` has the steps before
        it of each.
    """
    method = method or GeneralizedAlpha()
    for k, model in enumerate(models):
        for part in model.elements:
            if part.contacts and not part.yields:
                raise ModelError(
                    f"simulate_many: models[{k}] has {part}, whose impacts are at other instants in each model; "
                    "simulate them one by one"
                )
    whole = _side_by_side(models)
    try:
        solution = simulate(whole, t_end, step, method, progress=progress)
    except FemMbsError as error:
        last = None
        if error.solution is not None:
            error.solutions = _apart(models, error.solution, method, t_end)
            last = [solution.state(-1) for solution in error.solutions]
        error.args = (f"{_whose(models, last, t_end, step, method)}: {error}", *error.args[1:])
        raise
    return _apart(models, solution, method, t_end)


def _whose(
    models: Sequence[Model], last: list[State] | None, t_end: float, step: float | VariableStep, method: Method
) -> str:
    """Which of the models do not go on alone from the states that they have reached together."""
    blamed = []
    for k, model in enumerate(models):
        first = None if last is None else last[k]
        try:
            simulate(model, t_end, step, method, callback=_after(TRIED), initial=first)
        except FemMbsError:
            blamed.append(f"models[{k}]")
        if len(blamed) == NAMED:
            break
    return f"simulate_many: {' and '.join(blamed) or 'all of the models together, none of them alone'}"


def _after(steps: int) -> Callable[[State], bool]:
    """A callback that ends a run after some steps."""
    left = iter(range(1, steps))
    return lambda state: next(left, None) is None


def _side_by_side(models: Sequence[Model]) -> Model:
    """One model of the parts of all."""
    if not models:
        raise ModelError("simulate_many: models must be a list of models, received none")
    before: dict[int, int] = {}
    for k, model in enumerate(models):
        if (first := before.setdefault(id(model), k)) != k:
            raise ModelError(
                f"simulate_many: models[{k}] is models[{first}] once more; build each of them, for instance by a "
                "function that returns a new model"
            )
        if (model.gravity != models[0].gravity).any():
            raise ModelError(
                f"simulate_many: models[{k}] has the gravity {shown(model.gravity)}, models[0] has "
                f"{shown(models[0].gravity)}; give them the same, or simulate them one by one"
            )
    whole = Model(gravity=models[0].gravity)
    whole.nodes, whole.elements, whole.constraints = (
        list(chain.from_iterable(getattr(model, parts) for model in models))
        for parts in ("nodes", "elements", "constraints")
    )
    whole.copies = tuple(models)
    return whole


def _apart(models: Sequence[Model], solution: Solution, method: Method, t_end: float) -> list[Solution]:
    """The solution of each model, of that of all."""
    return [_of(System(model, t_end), solution, method) for model in models]


def _of(own: System, solution: Solution, method: Method) -> Solution:
    """What a solution says of the system of some of its parts."""
    whole, history = solution.system, solution.history
    nodes = np.array([whole.number(node) for node in own.nodes], np.intp)
    variables = _joined(whole.number.own(part) for part in own.number.parts)
    rows = np.empty(own.m, np.intp)
    for joint, equations in own.number.equations.items():
        rows[equations] = whole.number.multipliers(joint)
    arrays = {name: getattr(history, name)[:, nodes] for name in ("x", "R", "v", "vdot")}
    arrays["x"] = arrays["x"] + (whole.origin - own.origin)
    arrays |= {name: getattr(history, name)[:, variables] for name in ("u", "udot", "uddot")}
    arrays["multipliers"] = history.multipliers[:, rows]
    if whole.redundant is not None:
        _share(whole.redundant, own, rows)
    return Solution(own, History(own, history.t, arrays), solution.status, solution.stats, method=method)


def _share(redundant: Redundant, own: System, rows: IntArray) -> None:
    """Let a system know which of its equations repeat each other; those of different models do not."""
    sharing = np.flatnonzero(np.isin(rows, redundant.sharing))
    if not len(sharing):
        return
    basis = orth(redundant.basis[np.searchsorted(redundant.sharing, rows[sharing])])
    own.regularize(Redundant(basis.shape[1], sharing, basis, redundant.text))


def _joined(rows: Iterable[IntArray]) -> IntArray:
    return np.concatenate([*rows, np.empty(0, np.intp)]).astype(np.intp)
