"""A published benchmark: how it is declared, run and judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha
from fem_mbs.arrays import Array
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate
from fem_mbs.solution.solution import Solution


@dataclass(frozen=True)
class Quantity:
    """A number beside its reference.

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


@dataclass(frozen=True)
class Case:
    """A benchmark of the suite."""

    name: str
    kind: str
    slow: bool
    quantities: Callable[[], Iterable[Quantity]]

    @property
    def summary(self) -> str:
        """First line of what the case says about itself."""
        return (self.quantities.__doc__ or "").strip().splitlines()[0]

    def run(self) -> list[Quantity]:
        """Its quantities."""
        return [*self.quantities()]


CASES: list[Case] = []
Quantities = TypeVar("Quantities", bound=Callable[[], Iterable[Quantity]])


def case(name: str, kind: str, slow: bool = False) -> Callable[[Quantities], Quantities]:
    """Enrol a function that runs a benchmark, for its quantities."""

    def enrol(run: Quantities) -> Quantities:
        CASES.append(Case(name, kind, slow, run))
        return run

    return enrol


def refine(run: Callable[[int], Sequence[float] | Array], counts: Sequence[int]) -> tuple[Array, float]:
    """Extrapolated values and the order in the mesh, from the last three of meshes that double.

    The order is that of the distances between successive meshes, over all values.
    """
    coarse, middle, fine = (np.asarray(run(count), dtype=float) for count in counts[-3:])
    order = float(np.log2(np.linalg.norm(middle - coarse) / np.linalg.norm(fine - middle)))
    return fine + (fine - middle) / 3.0, order


def rows(t: Array, times: Sequence[float]) -> list[int]:
    """Numbers of the steps that end next to some times."""
    return [int(np.abs(t - time).argmin()) for time in times]


def twice_extrapolated(coarse: Array, middle: Array, fine: Array) -> Array:
    """Values without errors of second and third order in a step that was halved twice."""
    first, second = (4 * middle - coarse) / 3, (4 * fine - middle) / 3
    return (8 * second - first) / 7


def compared(
    names: Sequence[str],
    values: Array,
    references: Sequence[float] | Array,
    tolerance: float,
    source: str,
    *,
    scale: float | None = None,
) -> list[Quantity]:
    """Quantities that share their source, tolerance and scale."""
    return [
        Quantity(name, float(value), float(reference), tolerance, source, scale)
        for name, value, reference in zip(names, values, references, strict=True)
    ]


def order(value: float, of: str = "the mesh") -> Quantity:
    """The order in mesh or step as a quantity."""
    return Quantity(f"order in {of}", value, 2.0, 0.1, "exact: theory")


def converged(
    names: Sequence[str],
    refined: tuple[Array, float],
    references: Sequence[float] | Array,
    tolerance: float,
    source: str,
    *,
    scale: float | None = None,
    of: str = "the mesh",
) -> list[Quantity]:
    """Extrapolated quantities, and the order, as :func:`refine` has found them; see :func:`compared`."""
    values, found = refined
    return [*compared(names, values, references, tolerance, source, scale=scale), order(found, of)]


@dataclass(frozen=True)
class BenchmarkProblem:
    """A problem with its references.

    ``build`` makes the model on a group, ``read`` takes the quantities ``(nt, k)`` off a solution, ``exact`` gives them
    at ``times``, and ``scale`` is the size of each.
    """

    name: str
    t_end: float
    build: Callable[[str], Model]
    read: Callable[[Solution], Array]
    quantities: Sequence[str]
    times: Sequence[float]
    exact: Callable[[], Array]
    scale: Sequence[float]


EXACT = "exact: one coordinate"
TEST_SET = "published: test set of initial value problems"
STEP, BOTH = "the step", "mesh and step"


def solve(
    problem: BenchmarkProblem, steps: int, group: str = "R3xSO3", method: GeneralizedAlpha | None = None
) -> tuple[Solution, Array]:
    """A run of a problem in equal steps, and its quantities at its times ``(nt, k)``."""
    solution = simulate(problem.build(group), problem.t_end, problem.t_end / steps, method)
    at = rows(solution.t, problem.times)
    if np.abs(solution.t[at] - problem.times).max() > 1e-9:
        raise ValueError(f"{problem.name}: {steps} steps do not all end at {problem.times}")
    return solution, problem.read(solution)[at]


def by_quantity(problem: BenchmarkProblem, values: Array, tolerance: float, source: str) -> list[Quantity]:
    """Values ``(nt, k)`` of a problem at its times beside its references."""
    result, exact = [], problem.exact()
    for column, (name, scale) in enumerate(zip(problem.quantities, problem.scale, strict=True)):
        names = [f"{name} at t = {t:g} s" for t in problem.times]
        result += compared(names, values[:, column], exact[:, column], tolerance, source, scale=scale)
    return result


def check(problem: BenchmarkProblem, steps: Sequence[int], tolerance: float, source: str = EXACT) -> list[Quantity]:
    """Extrapolated values of a problem beside its references."""
    values, found = refine(lambda count: solve(problem, count)[1], steps)
    return [*by_quantity(problem, values, tolerance, source), order(found, STEP)]
