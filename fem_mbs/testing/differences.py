"""How laws are judged: numbers against numbers, derivatives against differences, and what has been checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fem_mbs.arrays import Array
from fem_mbs.errors import FemMbsError

STEP = 1e-5
"""Central differences over this step of quantities of order one are exact to about 1e-10."""
TOLERANCE = 1e-6
NOISE = 1e-9
"""Entries below this share of the largest cannot be told from rounding of differences."""
SHOWN = 3


class ContractError(FemMbsError, AssertionError):
    """An element, a joint or a method breaks a law of its contract; the message says which, and how."""


def derivative(function: Callable[[float], Array | float], step: float = STEP) -> Array:
    """Derivative at 0 by the central difference of fourth order."""
    f = [np.asarray(function(k * step)) for k in (-2, -1, 1, 2)]
    return (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * step)


def jacobian(function: Callable[[Array], Array], sizes: Array) -> Array:
    """Derivatives ``(..., n)`` of a function of ``n`` numbers of given ``sizes`` at 0, by central differences.

    Over this step rounding is what they err by. Six neighbours, such as all components of a node, that change nothing
    together have none.
    """
    here, n = function(np.zeros_like(sizes)), len(sizes)
    columns, steps = np.zeros((*np.shape(here), n)), np.diag(STEP * sizes)
    for group in np.split(np.arange(n), range(6, n, 6)):
        together = np.zeros(n)
        together[group] = STEP * sizes[group] / (np.sqrt(2.0) + np.arange(len(group)))
        if not np.array_equal(function(together), here):
            for k in group:
                columns[..., k] = (function(steps[k]) - function(-steps[k])) / (2.0 * STEP * sizes[k])
    return columns


def rounding(value: Array, sizes: Array) -> Array:
    """What cannot be told from rounding in differences of a function with this value, ``(..., n)``."""
    return 1e-15 / STEP * np.abs(value)[..., None] / sizes


def agree(
    what: str,
    actual: Array,
    expected: Array,
    rows: Sequence[str] | NDArray[np.str_],
    columns: Sequence[str] | NDArray[np.str_],
    *,
    tolerance: float = TOLERANCE,
    noise: Array | float = 0.0,
) -> None:
    """Refuse a derivative that is not right to ``tolerance`` of the largest entry of each column, and to ``noise``.

    Raises
    ------
    ContractError
        With what it looks like: zero, of the wrong sign, transposed, or with its worst entries by name.
    """
    if np.shape(actual) != np.shape(expected):
        raise ContractError(f"{what} has the shape {np.shape(actual)}, expected {np.shape(expected)}")
    if not np.isfinite(actual).all():
        raise ContractError(f"{what} is not finite")
    size = np.abs(expected).max(axis=-2, keepdims=True, initial=0.0)
    error = np.abs(actual - expected) - tolerance * size - noise - NOISE * np.abs(expected).max(initial=1.0)
    if error.max(initial=-1.0) <= 0.0:
        return

    def fits(other: Array) -> bool:
        far = np.abs(other - expected) - 1e-3 * np.abs(expected).max()
        return bool(np.shape(other) == np.shape(expected) and far.max() <= 0.0)

    text = f"{what} is not the derivative that differences give"
    if not np.any(actual):
        text += ": it is zero, and what it is the derivative of changes. A function that is left out?"
    elif fits(-actual):
        text += ": minus it is. A wrong sign?"
    elif actual.shape[-1] == actual.shape[-2] and fits(np.swapaxes(actual, -1, -2)):
        text += ": its transpose is. Rows are equations, columns increments"
    elif not np.any(expected):
        text += ", which is zero: what it should be the derivative of does not change"
    else:
        text += ". A missing or wrong term? The largest errors are"
    worst = np.argsort(-error, axis=None)[:SHOWN]
    for index in zip(*np.unravel_index(worst, error.shape), strict=True):
        if error[index] > 0.0:
            text += f"\n  {rows[index[-2]]} against {columns[index[-1]]}: {actual[index]:.6g}, by differences "
            text += f"{expected[index]:.6g}"
    raise ContractError(text)


def near(what: str, actual: ArrayLike, expected: ArrayLike, tolerance: float, hint: str = "") -> None:
    """Refuse numbers that differ by more than ``tolerance``."""
    distance = float(np.abs(np.asarray(actual) - np.asarray(expected)).max(initial=0.0))
    if not distance <= tolerance:
        raise ContractError(f"{what}: off by {distance:.3g} where {tolerance:.1g} is allowed{hint and '. ' + hint}")


class DoesNotApplyError(Exception):
    """A law is none for what is tried: a part of the contract that it does not offer; the message says why."""


Law: TypeAlias = Callable[[Any], None]
"""Raises :class:`ContractError` where a law does not hold, and :class:`DoesNotApplyError` where it is none."""


def laws(*each: Law) -> dict[str, Law]:
    """Laws by name, whose errors begin with the ``name`` of what is tried."""
    return {law.__name__: partial(_named, law) for law in each}


def _named(law: Law, trial: Any) -> None:
    try:
        law(trial)
    except ContractError as error:
        text = str(error)
        raise ContractError(text if text.startswith(trial.name) else f"{trial.name}: {text}") from error.__cause__


@dataclass(frozen=True)
class LawReport:
    """What ``check_element`` and its kin return: iterates over the names of the laws that were checked.

    Attributes
    ----------
    subject : str
        What was held to the laws.
    does_not_apply : dict of str to str
        The reasons of the laws that are none for it, by name: parts of the contract that it does not offer.
    """

    subject: str
    checked: tuple[str, ...]
    does_not_apply: Mapping[str, str]

    def __iter__(self) -> Iterator[str]:
        return iter(self.checked)

    def __len__(self) -> int:
        return len(self.checked)

    def __str__(self) -> str:
        lines = [f"{self.subject}: {len(self)} laws hold", *(f"  {name}: checked" for name in self)]
        lines += [f"  {name}: does not apply, {reason}" for name, reason in self.does_not_apply.items()]
        return "\n".join(lines)


def hold(subject: str, laws: Mapping[str, Law], *trials: Any) -> LawReport:
    """Hold what is tried to laws; one that applies in one of the trials counts as checked."""
    reasons, checked = dict[str, str](), set[str]()
    for trial in trials:
        for name, law in laws.items():
            try:
                law(trial)
                checked.add(name)
            except DoesNotApplyError as reason:
                reasons[name] = str(reason)
    others = {name: reason for name, reason in reasons.items() if name not in checked}
    return LawReport(subject, tuple(name for name in laws if name in checked), others)
