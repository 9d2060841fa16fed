"""Many models in one: their equations side by side, so that a step costs little more than one.

Systems of the single models are made when their solutions are asked for more than how nodes move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial, wraps
from itertools import chain
from typing import Any

import numpy as np
from scipy.linalg import orth

from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha
from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Method, Node, Seconds, State, checked, shown
from fem_mbs.contracts.public import as_of, moments
from fem_mbs.errors import FemMbsError, ModelError
from fem_mbs.linear.constrained import Redundant
from fem_mbs.linear.direct import one_thread
from fem_mbs.model.description import ModelDescription
from fem_mbs.model.model import Model
from fem_mbs.run.fixed_step import FixedStep
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
    step: Seconds | VariableStep | FixedStep,
    method: Method | None = None,
    *,
    progress: bool = False,
) -> list[Solution]:
    """Integrate copies of one structure together, each from its own initial state and with its own values.

    All take the same steps: Newton's method iterates until all have converged, residuals against the largest force of
    all, and steps follow the model that needs the shortest, also at kinks of its laws. From a run alone, with its own
    steps there, a model is apart by errors of steps. Small models gain most, whose steps alone cost what calls cost.

    Parameters
    ----------
    models : list of Model
        Built one by one, with the same gravity; they may differ in whatever else.
    t_end, step, method, progress
        As of :func:`simulate`.

    Returns
    -------
    list of Solution
        Of each model, as :func:`simulate` returns it, made when it is first asked something. Counts, wall time and
        the estimated error are those of the whole run: the error is the sum of the largest of all models in each step,
        a bound for each of them.

    Raises
    ------
    FemMbsError
        As :func:`simulate`, and says which of the models fails. All end there: ``error.solutions`` has the steps before
        it of each.
    """
    method = method or GeneralizedAlpha()
    whole = _side_by_side(models)
    try:
        solution = simulate(whole, t_end, step, method, progress=progress)
    except FemMbsError as error:
        if error.solution is not None:
            error.solutions = _apart(models, error.solution, t_end)
        last = [solution.state(-1) for solution in error.solutions] or None
        error.args = (f"{_whose(models, last, t_end, step, method)}: {error}", *error.args[1:])
        raise
    return _apart(models, solution, t_end)


def _whose(
    models: Sequence[Model],
    last: list[State] | None,
    t_end: float,
    step: float | VariableStep | FixedStep,
    method: Method,
) -> str:
    """Which of the models do not go on alone from the states that they have reached together."""
    blamed = []
    for k, model in enumerate(models):
        first, left = None if last is None else last[k], iter(range(1, TRIED))
        try:
            simulate(model, t_end, step, method, callback=partial(_none_left, left), initial=first)
        except FemMbsError:
            blamed.append(f"models[{k}]")
        if len(blamed) == NAMED:
            break
    return f"simulate_many: {' and '.join(blamed) or 'all of the models together, none of them alone'}"


def _none_left(left: Iterator[int], state: State) -> bool:
    """A callback that ends a run after some steps."""
    return next(left, None) is None


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
        if (part := next((part for part in model.elements if part.contacts and not part.yields), None)) is not None:
            raise ModelError(
                f"simulate_many: models[{k}] has {part}, whose impacts are at other instants in each model; simulate "
                "them one by one"
            )
    every = [(model.nodes, model.elements, model.constraints) for model in models]
    moving, *parts = map(chain.from_iterable, zip(*[(own[0][1:], *own[1:]) for own in every], strict=True))
    whole = Model(gravity=models[0].gravity).with_parts([models[0].ground, *moving], *parts)
    whole.copies = tuple(model.with_parts(*own) for model, own in zip(models, every, strict=True))
    return whole


class CopySolution(Solution):
    """The solution of one of the models, whose system is made when it is asked for more than how nodes move.

    Freezing a thousand models takes longer than their run.
    """

    remembers = False

    def __init__(
        self, model: Model, copy: ModelDescription, whole: Solution, make: Callable[[], tuple[System, History]]
    ) -> None:
        self._model, self._whole, self._make = model, whole, make
        self._nodes = {key: node for node in copy.nodes[1:] for key in (node, node.name)}
        self.t, self.status, self.stats, self.method = whole.t, whole.status, whole.stats, whole.method
        self._hits, self._checkpoint, self._turns = list[list[State]](), None, dict[Any, Any]()

    @cached_property
    def _made(self) -> tuple[System, History]:
        with moments.lock:
            if "_made" not in vars(self):
                vars(self)["_made"] = self._make()
                del self._whole, self._make
            return vars(self)["_made"]

    @property
    def system(self) -> System:  # type: ignore[override]
        return self._made[0]

    @property
    def history(self) -> History:  # type: ignore[override]
        return self._made[1]

    @property
    def model(self) -> Model:
        return self._model

    def __reduce__(self) -> Any:
        system, history = self._made
        return Solution, (system, history, self.status, self.stats, (), None, None, self.method)


def _of_all(name: str) -> Any:
    """A question about a node, which the solution of all answers while nothing else was asked."""
    of_one = getattr(Solution, name)

    @wraps(of_one)
    def query(self: CopySolution, node: Any) -> Array:
        whole = vars(self).get("_whole")
        if whole is None or whole.system.far or not isinstance(node, Node | str) or node not in self._nodes:
            return of_one(self, node)
        return getattr(whole, name)(self._nodes[node])

    return query


for _name in ("position", "displacement", "velocity", "acceleration", "rotation", "angular_velocity"):
    setattr(CopySolution, _name, _of_all(_name))
CopySolution.__name__ = CopySolution.__qualname__ = Solution.__name__


def _apart(models: Sequence[Model], solution: Solution, t_end: float) -> list[Solution]:
    """The solution of each model, of that of all."""
    pairs = zip(models, solution.model.copies, strict=True)
    return [CopySolution(model, copy, solution, partial(_of, model, copy, solution, t_end)) for model, copy in pairs]


def _of(model: Model, copy: ModelDescription, solution: Solution, t_end: float) -> tuple[System, History]:
    """What a solution says of one of its models, which was frozen as its ``copy``."""
    whole, history = solution.system, solution.history
    with as_of({id(part) for part in (*copy.nodes, *copy.elements, *copy.constraints)}, whole.frozen_as):
        own = System(copy, t_end, whole.frozen_as)
    own.model = model
    rows: dict[str, IntArray] = dict.fromkeys(
        ("x", "R", "v", "vdot"), np.array([whole.number(node) for node in own.nodes])
    )
    variables = np.array([row for part in own.number.parts for row in whole.number.own(part)], np.intp)
    rows |= dict.fromkeys(("u", "udot", "uddot"), variables)
    rows["multipliers"] = multipliers = np.empty(own.m, np.intp)
    for joint, equations in own.number.equations.items():
        multipliers[equations] = whole.number.multipliers(joint)

    def of_own(states: History | State, axis: int) -> dict[str, Any]:
        arrays = {name: np.take(getattr(states, name), own_rows, axis) for name, own_rows in rows.items()}
        return arrays | {"x": arrays["x"] + (whole.origin - own.origin)}

    # equations of different models do not repeat each other
    redundant = whole.redundant
    if redundant is not None and len(sharing := np.flatnonzero(np.isin(multipliers, redundant.sharing))):
        basis = orth(redundant.basis[np.searchsorted(redundant.sharing, multipliers[sharing])])
        own.regularize(Redundant(basis.shape[1], sharing, basis, redundant.text))
    before = {k: State(state.t, **of_own(state, 0)) for k, state in history.before.items()}
    return own, History(own, history.t, of_own(history, 1), before=before)
