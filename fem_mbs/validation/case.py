"""A published benchmark: how it is declared, run and judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fem_mbs.arrays import Array


@dataclass(frozen=True)
class Quantity:
    """A number beside its reference.

    ``tolerance`` is relative to ``scale``, which is the size of the reference unless it is given; ``source`` says where
    the reference comes from.
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
    run: Callable[[], list[Quantity]]

    @property
    def summary(self) -> str:
        """First line of what the case says about itself."""
        return (self.run.__doc__ or "").strip().splitlines()[0]


CASES: list[Case] = []


def case(
    name: str, kind: str, slow: bool = False
) -> Callable[[Callable[[], list[Quantity]]], Callable[[], list[Quantity]]]:
    """Enrol a function that runs a benchmark and returns its quantities."""

    def enrol(run: Callable[[], list[Quantity]]) -> Callable[[], list[Quantity]]:
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
    scale: float | None = None,
) -> list[Quantity]:
    """Quantities that share their source, tolerance and scale."""
    return [
        Quantity(name, float(value), float(reference), tolerance, source, scale)
        for name, value, reference in zip(names, values, references, strict=True)
    ]


def order(value: float, of: str = "the mesh") -> Quantity:
    """The order in mesh or step as a quantity."""
    return Quantity(f"order in {of}", value, 2.0, 0.1, "theory")


def converged(
    names: Sequence[str],
    run: Callable[[int], Sequence[float] | Array],
    counts: Sequence[int],
    references: Sequence[float] | Array,
    tolerance: float,
    source: str,
    scale: float | None = None,
    of: str = "the mesh",
) -> list[Quantity]:
    """Extrapolated quantities, and the order; see :func:`refine` and :func:`compared`."""
    values, found = refine(run, counts)
    return [*compared(names, values, references, tolerance, source, scale), order(found, of)]
