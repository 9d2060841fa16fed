"""Unknowns that an element or a joint has of its own, beside the six of each of its nodes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any

from fem_mbs.contracts.arguments import Name, Positive, choice
from fem_mbs.contracts.checked import checked
from fem_mbs.contracts.validate import shown
from fem_mbs.errors import ModelError

KINDS = {"coordinate": 2, "state": 1, "algebraic": 0, "history": -1}
"""Kinds of unknowns and the order of the time derivative that their equation has; history has no equation."""


@checked
@dataclass(frozen=True)
class Unknown:
    """One unknown ``u`` of an element, listed in its ``unknowns``.

    Parameters
    ----------
    name : str
        How queries and messages call it.
    kind : {"coordinate", "state", "algebraic", "history"}
        What its equation, a row of the residual, is:
        "coordinate": of second order, ``M u'' + ... = 0``, as of nodes (a modal amplitude);
        "state": of first order, ``u' - f = 0`` (a damper's elongation, a controller, a friction bristle);
        "algebraic": ``g(u, ...) = 0``;
        "history": none. It keeps its value during a step, and ``ElementBatch.accept`` changes it afterwards.
    initial : float
        Value at t = 0. An algebraic unknown starts from there to where its equation holds.
    rate : float
        Time derivative at t = 0, of a coordinate.
    size : float
        A value that counts as large: tolerances are relative to it.
    unit : str
        Unit in tables and messages.
    """

    name: Name
    kind: Annotated[str, choice(KINDS)] = "state"
    initial: float = 0.0
    rate: float = 0.0
    size: Positive = 1.0
    unit: str = ""

    def __post_init__(self) -> None:
        if self.rate and self.kind != "coordinate":
            raise ModelError(f"Unknown '{self.name}': rate = {self.rate:g}, but only a coordinate has an initial rate")

    @property
    def order(self) -> int:
        """Order of the highest time derivative in its equation; -1 for history."""
        return KINDS[self.kind]


def check_unknowns(part: Any) -> None:
    """Refuse own unknowns of an element or a joint that are not what the contract says."""
    if not isinstance(part.unknowns, tuple | list) or not all(isinstance(u, Unknown) for u in part.unknowns):
        raise ModelError(f"{part}: unknowns must be a tuple of Unknown, received {shown(part.unknowns)}")
    names = Counter(unknown.name for unknown in part.unknowns)
    for name, count in names.items():
        if count > 1:
            raise ModelError(f"{part}: {count} of its unknowns are called '{name}'; names tell them apart")
