"""A published benchmark: how it is declared, run and judged by the references of ``references.csv``."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha
from fem_mbs.arrays import Array, ArrayLike
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate
from fem_mbs.solution.solution import Solution


@dataclass(frozen=True)
class Quantity:
    """A number of a case beside its reference, a row of ``references.csv``; nan before the case was run.

    ``tolerance`` is relative to ``scale``, which is the size of the reference unless it is given. ``source`` says where
    the reference comes from, after one of three words: "exact" for what theory says or what was computed apart from the
    library, to more digits than are compared; "published" for a paper or a collection; "computed" for another program.
    """

    name: str
    value: float
    reference: float
    tolerance: float
    source: str
    scale: float | None = None

    @property
    def deviation(self) -> float:
        """Distance from the reference over the scale."""
        return abs(self.value - self.reference) / (self.scale or abs(self.reference) or 1.0)

    @property
    def passed(self) -> bool:
        """Whether the deviation is within the tolerance; not-a-number never is."""
        return bool(self.deviation <= self.tolerance)


@cache
def references() -> dict[str, list[Quantity]]:
    """Those of each case, in the order of its numbers."""
    found: dict[str, list[Quantity]] = {}
    with Path(__file__).with_name("references.csv").open(encoding="utf-8", newline="") as file:
        for case_name, name, value, tolerance, scale, source in list(csv.reader(file))[1:]:
            own = Quantity(name, np.nan, float(value), float(tolerance), source, float(scale) if scale else None)
            found.setdefault(case_name, []).append(own)
    return found


def known(name: str, source: str = "") -> Array:
    """References of a case whose source begins so, ``(k,)``; without orders of convergence."""
    own = [quantity for quantity in references()[name] if not quantity.name.startswith("order in ")]
    return np.array([quantity.reference for quantity in own if quantity.source.startswith(source)])


Results = Iterable[ArrayLike | Quantity]
"""Numbers and arrays of numbers, in the order of the references of a case; and quantities with a reference of their
own, which is computed with them."""


@dataclass(frozen=True)
class Case:
    """A benchmark of the suite."""

    name: str
    kind: str
    slow: bool
    compute: Callable[[], Results]

    @property
    def summary(self) -> str:
        """First line of what the case says about itself."""
        return (self.compute.__doc__ or "").strip().splitlines()[0]

    def run(self) -> list[Quantity]:
        """Its numbers beside their references."""
        left = iter(references().get(self.name, []))
        result = []
        for part in self.compute():
            if isinstance(part, Quantity):
                result.append(part)
                continue
            for value in np.ravel(part).tolist():
                if (own := next(left, None)) is None:
                    raise ValueError(f"{self.name}: no reference for its number {len(result) + 1}")
                result.append(replace(own, value=value))
        if rest := [own.name for own in left]:
            raise ValueError(f"{self.name}: no numbers for {rest}")
        return result


CASES: list[Case] = []
Compute = TypeVar("Compute", bound=Callable[..., Any])


def case(
    name: str,
    kind: str,
    slow: bool = False,
    *,
    refine: Sequence[int] = (),
    over: Iterable[tuple[Any, ...]] = ((),),
    order: bool = True,
    sources: int = 1,
) -> Callable[[Compute], Compute]:
    """Enrol a function that runs a benchmark, for its numbers.

    With ``refine``, it takes a number of elements or of steps, and then what is different each time ``over`` a list:
    its numbers are those of :func:`refined`, without the ``order`` if that has no reference. Where these have several
    ``sources``, they come once for each, the order with the last.
    """
    each = [*over]

    def enrol(compute: Compute) -> Compute:
        @wraps(compute)
        def meshes() -> Iterator[Array]:
            for own in each:
                values = refined(lambda count, own=own: compute(count, *own), refine)  # type: ignore[misc]
                yield from (sources - 1) * [values[:-1]]
                yield values if order else values[:-1]

        CASES.append(Case(name, kind, slow, meshes if refine else compute))
        return compute

    return enrol


def refined(run: Callable[[int], ArrayLike], counts: Sequence[int]) -> Array:
    """Extrapolated values ``(k,)``, then the order in the mesh, from the last three of meshes that double.

    The order is that of the distances between successive meshes, over all values.
    """
    coarse, middle, fine = (np.ravel(np.asarray(run(count), dtype=float)) for count in counts[-3:])
    order = np.log2(np.linalg.norm(middle - coarse) / np.linalg.norm(fine - middle))
    return np.append(fine + (fine - middle) / 3.0, order)


def rows(t: Array, times: Iterable[float]) -> list[int]:
    """Numbers of the steps that end next to some times."""
    return [int(np.abs(t - time).argmin()) for time in times]


def twice_extrapolated(coarse: Array, middle: Array, fine: Array) -> Array:
    """Values without errors of second and third order in a step that was halved twice."""
    first, second = (4 * middle - coarse) / 3, (4 * fine - middle) / 3
    return (8 * second - first) / 7


@dataclass(frozen=True)
class BenchmarkProblem:
    """A motion that is compared at some ``times``; ``name`` is that of its case.

    ``build`` makes the model on a group, and ``read`` takes the quantities ``(nt, k)`` off a solution.
    """

    name: str
    build: Callable[[str], Model]
    read: Callable[[Solution], Array]
    times: Sequence[float]

    @property
    def t_end(self) -> float:
        """The last of these times."""
        return self.times[-1]


def solve(
    problem: BenchmarkProblem, steps: int, group: str = "R3xSO3", method: GeneralizedAlpha | None = None
) -> tuple[Solution, Array]:
    """A run of a problem in equal steps to the last of its times, and its quantities at these ``(k, nt)``."""
    solution = simulate(problem.build(group), problem.t_end, problem.t_end / steps, method)
    at = rows(solution.t, problem.times)
    if np.abs(solution.t[at] - problem.times).max() > 1e-9:
        raise ValueError(f"{problem.name}: {steps} steps do not all end at {problem.times}")
    return solution, problem.read(solution)[at].T
