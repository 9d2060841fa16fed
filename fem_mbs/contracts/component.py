"""What elements and constraints share: nodes, internal variables, where these stand in a motion, and batches."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import public
from fem_mbs.contracts.arguments import Name, Positive, choice, shown
from fem_mbs.contracts.checked import checked
from fem_mbs.contracts.node import Node
from fem_mbs.contracts.picture import Picture, Placed
from fem_mbs.errors import MissingMethodError, ModelError

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
        "history": none. It keeps its value during a step, or goes on at the rate that ``history_rates`` had at its
        start, and ``ElementBatch.accept`` changes it afterwards.
    initial : float
        Value at t = 0. An algebraic variable starts from there to where its equation holds.
    rate : float
        Time derivative at t = 0, of a coordinate.
    size : float, optional
        A value that counts as large: tolerances are relative to it, or to what is reached, if that is more. By default
        that of a state or an algebraic variable follows from its equation; else it is 1.
    unit : str
        Unit in tables and messages.
    """

    name: Name
    kind: Annotated[str, choice(KINDS)] = "state"
    initial: float = 0.0
    rate: float = 0.0
    size: Positive | None = None
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
        raise ModelError(f"{part}: {public.renamed('unknowns', dir(type(part)))}")
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


def _foreign(part: Node | Part, known: Iterable[Node | Part]) -> str:
    """What is no part of a model, and whether the model has another of its name, as that of a run which was loaded."""
    named = part.name is not None and any(other.name == part.name for other in known)
    return f"{part} is not part of this model" + (
        ", which has another one of this name, as that of a run that was loaded has: ask by the name" if named else ""
    )


class Numbering:
    """Rows of nodes and of internal variables; called with a node, it returns the row of the node.

    Parameters
    ----------
    origin : (3,)
        The point of the world from which positions count in a motion.
    end : float
        Time in s after which functions of time are not asked.
    grounds : sequence of Node
        What stands for the first node, too.

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
        self,
        nodes: Sequence[Node],
        parts: Sequence[Part],
        origin: Array = ORIGIN,
        end: float = math.inf,
        grounds: Sequence[Node] = (),
    ) -> None:
        self.origin, self.end, self.parts = origin, end, list(parts)
        self._rows = {node: row for row, node in enumerate(nodes)} | dict.fromkeys(grounds, 0)
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
            raise ModelError(_foreign(node, self._rows)) from None

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
            raise ModelError(_foreign(part, self._own)) from None

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


class Component(public.ModelPart):
    """Base of :class:`~fem_mbs.contracts.element.Element` and :class:`~fem_mbs.contracts.constraint.Constraint`.

    What its constructor takes may be set once it is made: all that follows from it changes along, and what the
    constructor refuses is refused.
    """

    _internal: ClassVar[str] = (
        "batch_key batch picture shapes rotation_dependent rotation_free internal_variables keep_up default_name"
    )
    name: str | None = None
    default_name: str = ""
    """What it is named where :meth:`Model.add` is given no name; by default its class and a number."""
    nodes: tuple[Node, ...] = ()
    internal_variables: tuple[InternalVariable, ...] = ()

    @cached_property
    def offset(self) -> Array:
        """An element's point on its one node, a joint's on its last one, in the frame of that node."""
        return ORIGIN

    @property
    def rotation_dependent(self) -> tuple[Node, ...]:
        """Nodes whose rotation it acts on or depends on."""
        return self.nodes

    @property
    def rotation_free(self) -> tuple[Node, ...]:
        """Nodes that turn with nothing as far as it is concerned; held there if nothing else acts on their rotation."""
        return ()

    def batch_key(self) -> Hashable:
        """Those of one class with equal keys share a batch."""
        return None

    @classmethod
    def batch(cls, components: Sequence[Any], number: Numbering) -> Any:
        """One batch of all ``components``, which have equal keys."""
        raise MissingMethodError(
            f"{cls.__name__} must define batch(components, number), or a batch be of={cls.__name__}"
        )

    def picture(self, number: Numbering, stations: int) -> Picture | None:
        """What is drawn of it, in at least ``stations`` points along each of its lines; None for nothing."""
        return None

    def shapes(self, size: float) -> Sequence[Placed]:
        """What it looks like, fixed to nodes; ``size`` in m is right for symbols in this model."""
        return ()

    def _made_with(self, name: str, value: Any) -> dict[str, Any]:
        made = self.constructor_arguments
        if made is None or name.startswith("_"):
            return {}
        bound = made.of(self)
        if name not in bound.signature.parameters:
            if name in vars(self):
                taken = ", ".join(list(bound.signature.parameters)[1:])
                raise ModelError(
                    f"{self}: {name} cannot be set, as it follows from what the constructor takes, which can: {taken}"
                )
            return {}
        bound.arguments[name] = public.snapshot(value)
        return self._made_again(public.ConstructorArguments(bound.args[1:], bound.kwargs, made.moment))

    def _made_again(self, made: public.ConstructorArguments) -> dict[str, Any]:
        """What is otherwise if it is made of other arguments, on nodes where these were."""
        with public.as_of(frozenset(map(id, self.nodes)), made.moment):
            again = type(self)(*made.arguments, **made.named)
        own = vars(self)
        follows = {name: value for name, value in vars(again).items() if not public.same(value, own.get(name, self))}
        return {name: value for name, value in {**follows, public.MADE: made}.items() if name != "name"}

    def keep_up(self) -> None:
        """Be made again if a part on which it is built was changed since."""
        made, kept_up = self.constructor_arguments, vars(self).get(public.KEPT_UP, -1)
        if made is None or kept_up > public.moments.now:
            return
        bases = [own for own in public.leaves([*made.arguments, made.named]) if isinstance(own, Component)]
        for base in bases:
            base.keep_up()
        if any(public.changes_since(base, max(kept_up, made.moment)) for base in bases):
            self._change(self._made_again(made))
        vars(self)[public.KEPT_UP] = public.moments.now + 1

    def __str__(self) -> str:
        kind = type(self).__name__
        return f"{kind} '{self.name}'" if self.name else f"{kind} on {', '.join(map(str, self.nodes[:2]))}"

    __repr__ = __str__


def keep_up(parts: Iterable[Component]) -> None:
    """Before a model is frozen: parts that are built on others, such as friction in a joint, are as these are now."""
    with public.moments.lock:
        if any(issubclass(kind, Component) for kind in public.moments.kinds):
            for part in parts:
                part.keep_up()


class Batch:
    """All components of one kind as arrays: ``class MyBatch(ElementBatch, of=MyElement)`` computes for all of these.

    Several classes may share a batch, ``of=(MyElement, Another)``. Where the batch depends on the components, write
    their ``batch(components, number)`` instead of ``of``. The constructor takes ``nodes`` and ``own`` from components
    that have as many each; where a cell is something else, set them.
    """

    nodes: IntArray
    own: IntArray | None = None

    def __init__(self, components: Sequence[Any], number: Numbering) -> None:
        self.owners = components
        self.nodes = node_rows(components, number)
        own = own_rows(components, number)
        self.own = own if own.size else None

    def at(self, t: float) -> Any:
        """Values that depend on time alone."""
        return None

    def accept(self, context: Any) -> Array:
        """Values ``(n, s)`` of ``own`` after an accepted step, of which those of kind "history" are taken."""
        raise MissingMethodError(
            f"{type(self).__name__} has internal variables of kind 'history' and must define accept"
        )

    def accept_change(self, context: Any, d: Array) -> Array | None:
        """What small changes ``d`` of its rows make of ``own`` after the same accept; None for the same."""
        return None

    def history_rates(self, context: Any) -> Array | None:
        """Rates ``(n, s)`` at which those of kind "history" go on in the next step, as angles do; None for none."""
        return None

    def jump(self, context: Any) -> Array | None:
        """Values ``(n, s)`` of ``own`` after a jump, of which those of kind "history" are taken; None for none."""
        return None

    def jump_change(self, context: Any, d: Array) -> Array | None:
        """What small changes ``d`` (n, s) of ``own`` make of these after the same jump; None for the same."""
        return None

    def __init_subclass__(cls, of: type[Component] | tuple[type[Component], ...] = (), **options: Any) -> None:
        super().__init_subclass__(**options)
        batch = classmethod(lambda _, components, number: cls(components, number))
        for kind in of if isinstance(of, tuple) else (of,):
            kind.batch = batch  # type: ignore
