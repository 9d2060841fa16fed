"""Internal variables, and where these and nodes stand in the arrays of a motion."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, TypeVar

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts.arguments import Name, Positive, choice, shown
from fem_mbs.contracts.checked import checked
from fem_mbs.contracts.node import Node
from fem_mbs.errors import ModelError

ORIGIN = np.zeros(3)
Shared = TypeVar("Shared")
Part: TypeAlias = Any
"""An element or a constraint, with ``nodes`` and ``internal_variables``."""


KINDS = {"coordinate": 2, "state": 1, "algebraic": 0, "history": -1}
"""Kinds of internal variables and the order of the time derivative that their equation has; history has no equation."""


@checked
@dataclass(frozen=True)
class InternalVariable:
    """What an element or a joint solves for beside the components of its nodes, listed in its ``internal_variables``.

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


class Numbering:
    """Rows of nodes and of internal variables; called with a node, it returns the row of the node.

    Parameters
    ----------
    origin : (3,)
        The point of the world from which positions count in a motion.
    end : float
        Time in s after which functions of time are not asked.

    Attributes
    ----------
    parts : list of Part
        All elements and constraints.
    equations : dict of Constraint to (m,)
        Rows of the multipliers of each constraint, known once there are batches of all constraints.
    internal_variables : list of (Part, InternalVariable)
        All internal variables, in the order of ``motion.u``.
    """

    def __init__(
        self, nodes: Sequence[Node], parts: Sequence[Part], origin: Array = ORIGIN, end: float = math.inf
    ) -> None:
        self.origin, self.end, self.parts = origin, end, list(parts)
        self._rows = {node: row for row, node in enumerate(nodes)}
        self._own: dict[Part, IntArray] = {}
        self._shared: dict[Hashable, Any] = {}
        self.equations: dict[Any, IntArray] = {}
        self.internal_variables: list[tuple[Part, InternalVariable]] = []
        for part in parts:
            first = len(self.internal_variables)
            self.internal_variables.extend((part, variable) for variable in part.internal_variables)
            self._own[part] = np.arange(first, len(self.internal_variables))

    def __call__(self, node: Node) -> int:
        try:
            return self._rows[node]
        except KeyError:
            raise ModelError(f"{node} is not part of this model") from None

    def __contains__(self, part: Part) -> bool:
        return part in self._own

    def shared(self, key: Hashable, make: Callable[[], Shared]) -> Shared:
        """What ``make`` makes, one for all who ask with an equal key: what several batches measure, once."""
        if key not in self._shared:
            self._shared[key] = make()
        return self._shared[key]

    def own(self, part: Part) -> IntArray:
        """Rows of the internal variables of an element or a constraint in ``motion.u``."""
        try:
            return self._own[part]
        except KeyError:
            raise ModelError(f"{part} is not part of this model") from None

    def multipliers(self, part: Part) -> IntArray:
        """Rows of the multipliers of a constraint in ``motion.multipliers``, in the order of its equations."""
        try:
            return self.equations[part]
        except KeyError:
            raise ModelError(f"{part} is not part of this model; add it") from None


def node_rows(parts: Sequence[Part], number: Numbering) -> IntArray:
    """Rows ``(n, p)`` of the nodes of elements or constraints with ``p`` nodes each."""
    rows = [[number(node) for node in part.nodes] for part in parts]
    return np.array(rows, dtype=np.intp).reshape(len(rows), -1 if rows and rows[0] else 0)


def consecutive(rows: IntArray) -> IntArray | slice:
    """A slice in place of rows that follow one another: it takes no copies."""
    if len(rows) and (np.diff(rows) == 1).all():
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


def own_rows(parts: Sequence[Part], number: Numbering) -> IntArray:
    """Rows ``(n, s)`` of the internal variables of elements or constraints with ``s`` each."""
    return np.array([number.own(part) for part in parts], dtype=np.intp)
