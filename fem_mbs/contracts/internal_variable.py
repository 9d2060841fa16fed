"""Internal variables: what an element or a joint solves for beside the six components of each of its nodes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any

from fem_mbs.contracts.arguments import Name, Positive, choice
from fem_mbs.contracts.checked import checked
from fem_mbs.contracts.validate import shown
from fem_mbs.errors import ModelError

KINDS = {"coordinate": 2, "state": 1, "algebraic": 0, "history": -1}
"""Kinds of internal variables and the order of the time derivative that their equation has; history has no equation."""


@checked
@dataclass(frozen=True)
class InternalVariable:
    """One internal variable ``u`` of an element, listed in its ``internal_variables``.

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
        Value at t = 0. An algebraic variable starts from there to where its equation holds.
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
            raise ModelError(
                f"InternalVariable '{self.name}': rate = {self.rate:g}, but only a coordinate has an initial rate"
            )

    @property
    def order(self) -> int:
        """Order of the highest time derivative in its equation; -1 for history."""
        return KINDS[self.kind]


def check_internal_variables(part: Any) -> None:
    """Refuse internal variables of an element or a joint that are not what the contract says."""
    if any("unknowns" in vars(holder) for holder in (part, *type(part).__mro__)):
        raise ModelError(f"{part}: 'unknowns' is called 'internal_variables' now")
    if not isinstance(part.internal_variables, tuple | list) or not all(
        isinstance(u, InternalVariable) for u in part.internal_variables
    ):
        raise ModelError(
            f"{part}: internal variables must be a tuple of InternalVariable, received {shown(part.internal_variables)}"
        )
    names = Counter(variable.name for variable in part.internal_variables)
    for name, count in names.items():
        if count > 1:
            raise ModelError(f"{part}: {count} of its internal variables are called '{name}'; names tell them apart")
