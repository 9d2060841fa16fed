"""What derivatives are taken against: arguments of a function that builds the model, and the models beside it.

A parameter may be whatever a constructor takes, the place of a node, a velocity, a gain or a number in a law: elements
know nothing of it. The equations of models at ``p + dp`` and ``p - dp`` are compared, which all have one structure.
Where a constructor refuses one of the two, two models on the other side take its place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import islice
from types import CodeType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fem_mbs.arrays import Array, ArrayLike
from fem_mbs.contracts import Node, Numbering, array, number, shown
from fem_mbs.contracts.public import KEPT_UP, ConstructorArguments
from fem_mbs.errors import ModelError
from fem_mbs.model.model import Model
from fem_mbs.run.interfaces import names_of
from fem_mbs.system.system import System

NUMBERS = "a finite number, or an array of such"
STEP = 1e-5
"""Differences are taken over this share of a parameter: forces are right to 1e-10, those of stiff beams, too."""
TINY = 1e-12
"""Share of the largest entry of an array up to which one counts as zero."""
STENCILS = (((1.0, -1.0), (0.5, -0.5)), ((0.0, 1.0, 2.0), (-1.5, 2.0, -0.5)), ((0.0, -1.0, -2.0), (1.5, -2.0, 0.5)))
"""Shifts of a parameter in steps, and weights of the difference: central, and one-sided of the same order."""
FINER, FINEST = 0.25, 6
"""By how much steps of a difference shrink where it does not follow a line, and how often."""
AGREED = 1e-3
"""How far two differences may be apart, over the larger one, whose error of second order is taken out."""
PLACED = ("group", "position", "rotation", "velocity", "angular_velocity")
"""What an element may know of a node."""

Build: TypeAlias = Callable[..., Model]


class Variation(NamedTuple):
    """One number that is varied, and the models beside, frozen: a derivative is the sum of ``weights`` times values."""

    label: str
    step: float
    shifts: list[float]
    """By how much the number is varied in each model."""
    weights: list[float]
    models: list[Model]
    systems: list[System]
    again: Callable[[float], Variation]
    """The same over another step."""

    def finer(self) -> Iterator[Variation]:
        """The same over steps that shrink."""
        own = self
        while True:
            own = own.again(FINER * own.step)
            yield own

    def difference(self, values: Iterable[Any]) -> Any:
        """The derivative of what has these values in the models; not finite where they are not."""
        with np.errstate(over="ignore", invalid="ignore"):
            return sum(weight * np.asarray(value) for weight, value in zip(self.weights, values, strict=True))

    def halves(self, here: Any, values: Sequence[Any], *, lasting: bool = False) -> tuple[float, float]:
        """The larger half of the difference, and how far the two are apart.

        Of values over time, what is ``lasting``, or there at the end: at an instant that jumps move over they differ.
        """
        before, middle, after = values if len(values) == 3 else (values[0], here, values[-1])
        with np.errstate(invalid="ignore"):  # of values that are infinite
            half = max(np.abs(before - middle).max(initial=0.0), np.abs(after - middle).max(initial=0.0))
            beyond = np.abs(before - 2.0 * middle + after)
        if lasting:
            beyond[:-1] = np.minimum(beyond[:-1], beyond[1:])
        return float(half), float(beyond.max(initial=0.0))

    def kinked(self, apart: Any, over: Callable[[Variation], Any]) -> Any:
        """Whether halves are ``apart``, as ``over`` says of a variation, by a kink: over less they fall with the step.

        Those of a smooth function fall with its square, also at an extremum, where they are opposite.
        """
        return over(self.again(FINER * self.step)) > FINER**1.5 * apart

    def bend(self, here: Any, values: Sequence[Any], noise: float, *, lasting: bool = False) -> float:
        """How far the halves of the difference are apart, over the larger one; zero up to ``noise`` of the values."""
        half, apart = self.halves(here, values, lasting=lasting)
        return apart / half if apart > noise * np.abs(here).max(initial=0.0) else 0.0


def extrapolated(before: Any, own: Any) -> Any:
    """Without the error of second order, from differences over a step and over a share ``FINER`` of it."""
    return own + (own - before) * (FINER**2 / (1.0 - FINER**2))


def refined(differences: Iterable[Any]) -> tuple[Any, float]:
    """The limit of differences over steps that shrink by ``FINER``, and how far apart the two it comes from are.

    Of two that agree, the error of second order is taken out (Richardson, 1911); so it is where that leads to the same
    twice, as where the limit is zero. If none do, the first is returned.
    """
    first, before, limit, least = None, None, None, np.inf
    for own in islice(differences, FINEST):
        if before is None:
            first = own
        else:
            last, limit = limit, extrapolated(before, own)
            apart = float(np.abs(own - before).max(initial=0.0) / (np.abs(own).max(initial=0.0) or 1.0))
            if last is not None and apart > AGREED:
                apart = min(apart, float(np.abs(limit - last).max() / np.abs(first).max()))
            least = min(least, apart)
            if apart <= AGREED:
                return limit, apart
        before = own
    return first, least


class ParameterSet:
    """Named numbers and arrays of numbers, and the function that builds a model of them, given as keyword arguments.

    ``scale`` has sizes that tell how far they are varied, by default their values; ``label`` is the function called.
    """

    def __init__(
        self, build: Build, values: Mapping[str, ArrayLike], scale: Mapping[str, float] | None, label: str
    ) -> None:
        self.build, self.label = build, label
        if not values:
            raise ModelError(f"{label}: parameters must name at least one argument of the function that builds")
        self.values = {
            name: array(value, f"{label}: parameters[{name!r}]", what=NUMBERS) for name, value in values.items()
        }
        self._refuse_unknown(self.values, "parameters")
        self._refuse_unknown(scale or {}, "scale")
        self.scale = {
            name: number(value, f"{label}: scale[{name!r}]", positive=True) for name, value in (scale or {}).items()
        }
        self.labels = [
            name + (f"[{', '.join(map(str, index))}]" if index else "")
            for name, value in self.values.items()
            for index in np.ndindex(value.shape)
        ]

    def _refuse_unknown(self, names: Mapping[str, Any], what: str) -> None:
        own = list(inspect.signature(self.build).parameters.values())
        known = [each.name for each in own if each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD)]
        for name in names:
            if name not in known and all(each.kind is not each.VAR_KEYWORD for each in own):
                raise ModelError(
                    f"{self.label}: {what}: the function that builds has no argument {name!r}; it takes "
                    f"{', '.join(known) or 'none'}"
                )
        needed = [each.name for each in own if each.default is each.empty and each.name in known]
        if what == "parameters" and (missing := [name for name in needed if name not in names]):
            raise ModelError(
                f"{self.label}: the function that builds needs {', '.join(missing)}: give it as a parameter, "
                "or a default"
            )

    @property
    def flat(self) -> Array:
        """All numbers in a row."""
        return np.concatenate([value.ravel() for value in self.values.values()])

    def at(self, numbers: Array) -> ParameterSet:
        """The same parameters with other values, in a row."""
        return ParameterSet(self.build, self.by_name(numbers), self.scale, self.label)

    def by_name(self, numbers: Array, axis: int = 0) -> dict[str, Array]:
        """Arrays with one entry a number along an axis, apart by name and in the shapes of the parameters."""
        numbers, result, first = np.moveaxis(np.asarray(numbers), axis, -1), {}, 0
        for name, value in self.values.items():
            part = numbers[..., first : first + value.size]
            result[name] = part.reshape((*part.shape[:-1], *value.shape))
            first += value.size
        return result

    def given(self) -> dict[str, Any]:
        """Numbers and arrays by name, as the function takes them."""
        return {name: value if value.ndim else float(value) for name, value in self.values.items()}

    def model(self) -> Model:
        """A new model."""
        model = self.build(**self.given())
        if not isinstance(model, Model):
            raise ModelError(f"{self.label}: the function that builds must return a Model, received {shown(model)}")
        return model

    def variations(self, system: System) -> list[Variation]:
        """The models beside, for one number after the other; refuses other structures."""
        pairs = zip(self.labels, self._steps(), strict=True)
        return [self._variation(system, k, label, step) for k, (label, step) in enumerate(pairs)]

    def _variation(self, system: System, k: int, label: str, step: float) -> Variation:
        refused: ModelError | None = None
        again = cache(partial(self._variation, system, k, label))
        one = np.eye(len(self.labels))[k]
        for shifts, weights in STENCILS:
            try:
                models = [self.at(self.flat + shift * step * one).model() for shift in shifts]
            except ModelError as error:
                refused = refused or error
                continue
            end = (system.end,) if np.isfinite(system.end) else ()
            systems = [System(model, *end) for model in models]
            for other in systems:
                _check_structure(system, other, label)
            if all(_same(system, other) for other in systems):
                raise ModelError(f"{self.label}: nothing in the model depends on {label}: leave it out")
            moves = [own * step for own in shifts]
            return Variation(label, step, moves, [own / step for own in weights], models, systems, again)
        raise ModelError(f"{self.label}: there is no model on either side of {label}: {refused}") from refused

    def _steps(self) -> list[float]:
        steps = []
        for name, value in self.values.items():
            sizes = np.full(value.shape, self.scale[name]) if name in self.scale else np.abs(value)
            largest = float(sizes.max(initial=0.0))
            if largest == 0.0:
                raise ModelError(
                    f"{self.label}: {name} is zero, which does not tell how far it may be varied: give its size, "
                    f"scale={{{name!r}: ...}}"
                )
            # an entry that is zero, but for rounding, is as large as the others may be
            steps += (STEP * np.where(sizes <= TINY * largest, largest, sizes)).ravel().tolist()
        return steps


def _same(system: System, other: System) -> bool:
    """Whether two frozen models are the same in all that they hold."""
    arrays = ("x0", "R0", "u0", "velocities", "gravity")
    return all(np.array_equal(getattr(system, name), getattr(other, name)) for name in arrays) and all(
        alike(here, there) for here, there in zip(system.number.parts, other.number.parts, strict=True)
    )


def _check_structure(system: System, other: System, label: str) -> None:
    """Refuse a parameter that changes more than numbers."""

    def parts(own: System) -> list[str]:
        return [*names_of(own)] + [
            f"{type(batch).__name__} of {len(batch.nodes)} from {batch.owners[0]} on nodes {batch.nodes.tolist()}"
            for batch in own.all_batches
        ]

    here, there = parts(system), parts(other)
    if here != there:
        pairs = zip(here, there, strict=False)
        first, second = next((pair for pair in pairs if pair[0] != pair[1]), (f"{len(here)} parts", f"{len(there)}"))
        raise ModelError(
            f"sensitivities: {label} changes the structure of the model: {first} at its value, {second} beside it; "
            "derivatives are against numbers, and no number of elements or an if may depend on them"
        )


def alike(one: Any, other: Any, seen: dict[tuple[int, int], Any] | None = None) -> bool:
    """Whether two objects are the same in all that they hold; what cannot be read counts as different."""
    if one is other or isinstance(one, Numbering):
        return True
    if type(one) is not type(other):
        return False
    seen = {} if seen is None else seen
    if (pair := (id(one), id(other))) in seen:
        return True
    seen[pair] = one, other  # objects that are gone would leave their ids to others
    if isinstance(one, np.ndarray) and one.dtype != object:
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, int | float | complex | str | bytes | np.generic | CodeType):
        return bool(one == other) or (one != one and other != other)
    if type(one) is dict:
        here, there = (own.keys() - {KEPT_UP} for own in (one, other))
        return here == there and all(alike(one[key], other[key], seen) for key in here)
    if type(one) in (list, tuple) or isinstance(one, np.ndarray):
        return len(one) == len(other) and all(alike(*own, seen) for own in zip(one, other, strict=True))
    here, there = map(_held, (one, other))
    return here is not None and alike(here, there, seen)


def _held(one: Any) -> Any:
    """What an object holds, as a tuple; None if that cannot be told."""
    if isinstance(one, ConstructorArguments):  # not when it was made
        return one[:2]
    if isinstance(one, Node):
        return tuple(getattr(one, name) for name in PLACED)
    try:
        if inspect.isfunction(one):
            cells = tuple(cell.cell_contents for cell in one.__closure__ or ())
            return one.__code__, cells, one.__defaults__, one.__kwdefaults__, vars(one)
        if inspect.ismethod(one):
            return one.__func__, one.__self__
        # attributes, slots, and what objects of other languages say that they are made of
        held = None if isinstance(one, type) else one.__reduce_ex__(2)
    except Exception:  # of whatever kind
        return None
    return held if isinstance(held, tuple) else None
