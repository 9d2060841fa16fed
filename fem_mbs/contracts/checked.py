"""Arguments are checked by their annotations: a decorator for whatever users call.

An annotation says what an argument may be: a class, ``bool``, ``int``, ``float``, ``str``, a function, a sequence of
these, a union of these, or ``Annotated[type, rule]``, where ``rule(value, label)`` returns what the function is to get
in place of the value, or raises :class:`~fem_mbs.errors.ModelError`. ``arguments.py`` has the rules by name. What
depends on several arguments is left to the function.

Names may stand in place of nodes, elements and joints. A function that has a model among its arguments looks them up at
once. A constructor has none: what it makes is :class:`Deferred` until ``model.add`` gets it, which calls the
constructor with what the names stand for.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from dataclasses import is_dataclass
from functools import partial, wraps
from itertools import takewhile
from types import NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from fem_mbs.arrays import ArrayLike
from fem_mbs.contracts.arguments import function, nearest, number, real, shown, text, truth, whole_number
from fem_mbs.contracts.public import (
    Arithmetic,
    ModelPart,
    Public,
    called,
    complete,
    leaves,
    makers,
    mapped,
    misfit,
    received,
    snapshot,
)
from fem_mbs.errors import FemMbsError, ModelError, users_failure


class PartNames(Public):
    """Base of what knows the nodes, elements and joints of a model by their names."""

    _parts: dict[str, Any]


def look_up(parts: Mapping[str, Any], name: str, label: str) -> Any:
    """The part of a name, or a :class:`ModelError` that begins with ``label`` and says which names are near."""
    if name in parts:
        return parts[name]
    raise ModelError(f"{label}: nothing in the model is called {shown(name)}; {nearest(name, parts)}")


Arguments: TypeAlias = list[tuple[str, Any]]
"""What a function is called with, each with its name."""


class Deferred(ModelPart, Arithmetic):
    """An element, a load or a joint that was given names, or what waits for names; ``model.add`` makes it."""

    remembers = False
    _arithmetic = "cannot be computed with yet: it was given names, and is made by model.add; add it first"
    _kind: type[ModelPart]
    _arguments: Arguments
    _by_place: int
    """How many of them were given by place."""
    _slots: frozenset[str]
    """Arguments that take parts of models."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise ModelError(f"{self} has no '{name}' yet: it was given names, and is made when model.add gets it")

    def __setattr__(self, name: str, value: Any) -> None:
        raise ModelError(f"{self} has no '{name}' yet: it was given names, and is made when model.add gets it")

    def __str__(self) -> str:
        given = leaves([value for name, value in self._arguments if name in self._slots])
        about = [repr(own) for own in given if isinstance(own, str | ModelPart)]
        return f"{self._kind.__name__} on {', '.join(about[:2])}"

    __repr__ = __str__


def defer(part: Any, arguments: Arguments, by_place: int, slots: frozenset[str]) -> None:
    """Let an object wait for what names stand for."""
    vars(part).update(_kind=type(part), _arguments=arguments, _by_place=by_place, _slots=slots)
    object.__setattr__(part, "__class__", Deferred)


def make(part: Any, model: PartNames) -> None:
    """Call the constructor of an object that has waited, which stays as it is if that refuses."""
    if type(part) is not Deferred:
        return
    waiting, kind = dict(vars(part)), part._kind
    given, named = by_model(model, str(part), part._slots, part._arguments, part._by_place)
    vars(part).clear()
    object.__setattr__(part, "__class__", kind)
    try:
        kind.__init__(part, *given, **named)
    except BaseException:
        vars(part).clear()
        vars(part).update(waiting)
        object.__setattr__(part, "__class__", Deferred)
        raise


def by_model(
    model: PartNames, label: str, slots: frozenset[str], arguments: Arguments, by_place: int
) -> tuple[list[Any], dict[str, Any]]:
    """Arguments by place and by name with parts where names stand in slots of parts."""

    def part(argument: str, value: Any) -> Any:
        if argument in slots and isinstance(value, str):
            return look_up(model._parts, value, f"{label}: {argument}")
        make(value, model)
        return value

    made = [
        (name, mapped(value, partial(part, name)) if waits(value, slots, name) else value) for name, value in arguments
    ]
    return [value for _, value in made[:by_place]], dict(made[by_place:])


def waits(value: Any, slots: Container[str], argument: str) -> bool:
    """Whether an argument has names in place of parts, or something that waits for such names."""
    slot, every = argument in slots, leaves(value) if isinstance(value, list | tuple | dict) else (value,)
    return any(type(own) is Deferred or (slot and isinstance(own, str)) for own in every)


def takes_parts(hint: Any) -> bool:
    """Whether an annotation is of nodes, elements or joints, and not also of text."""
    inner = get_args(hint)
    if get_origin(hint) is Annotated:
        return takes_parts(inner[0])
    if get_origin(hint) is Mapping:
        return takes_parts(inner[1])
    if inner:
        return str not in inner and any(map(takes_parts, inner))
    return isinstance(hint, type) and issubclass(hint, ModelPart)


Rule: TypeAlias = Callable[[Any, Any], Any]
"""Takes a value and a label; returns what is to be used in its place."""
Checked = TypeVar("Checked", bound=Callable[..., Any])

PLAIN: dict[Any, Rule] = {
    bool: truth,
    int: partial(whole_number, least=None),
    float: number,
    str: partial(text, empty=True),
    Callable: function,
}
"""Rules of annotations that say no more."""
LISTS = (list, tuple, Sequence, Iterable)
Kinds: TypeAlias = tuple[type, ...]
"""Classes whose objects pass as they are."""
SEVERAL: dict[Any, str] = {str: "names", float: "numbers", int: "whole numbers", Any: "values"}
"""How messages call several."""
UNFIT: Kinds = str, bytes, Mapping
"""What can be gone through and is no list; nor is a set, where the order matters."""
ARRAY_LIKE = get_args(ArrayLike) or (ArrayLike,)
"""What a union with it has among its members: NumPy 2.5 gives it a name where Python can."""
FREE: tuple[None, Kinds] = None, ()
"""Of arguments that may be anything."""
CHECKING: set[Callable[..., Any]] = set()
"""Functions and constructors that check their arguments."""


def checked(public: Checked) -> Checked:
    """A function, a method, or a class whose constructor, that refuses arguments which are not what they should be."""
    if isinstance(public, type):
        public.__init__ = _checked(public.__init__)  # type: ignore[misc]
        if is_dataclass(public) and public.__dataclass_params__.frozen:  # type: ignore[attr-defined]
            public.__setattr__ = _frozen  # type: ignore[method-assign]
        return public
    return _checked(public)  # type: ignore[return-value]


def _frozen(value: Any, name: str, new: Any) -> None:
    """Refuse a change of what a frozen dataclass says."""
    raise ModelError(
        f"{shown(value)}: '{name}' cannot be set, as it may be in use; make another one, as by "
        f"dataclasses.replace(..., {name}=...)"
    )


def _checked(function: Callable[..., Any]) -> Callable[..., Any]:
    code = inspect.unwrap(function).__code__
    names = code.co_varnames[: code.co_argcount]
    method, constructor = names[:1] in (("self",), ("cls",)), function.__name__ == "__init__"
    rules, slots = dict[str, tuple[Rule | None, Kinds]](), frozenset[str]()

    @wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        nonlocal rules, slots
        outer = type(given[0]).__init__ if constructor else None
        if outer is not call and outer in CHECKING:
            return function(*given, **named)  # of a base, by a constructor that has checked
        if not rules:  # at the first call: names in annotations may stand further down in a file
            rules, slots = _rules(function)
        arguments = [*zip(names, given, strict=False), *named.items()]
        waiting = [name for name, value in arguments if waits(value, slots, name)]
        deferred = bool(waiting) and outer is call and isinstance(given[0], ModelPart)
        if waiting and not deferred:
            model = next((value for _, value in arguments if isinstance(value, PartNames)), None)
            if model is not None:
                about, many = Call(function, method, given, {}).about(len(given)), given[len(names) :]
                placed, named = by_model(model, about, slots, arguments, len(given) - len(many))
                given = (*placed, *many)
        keeps = outer is call and isinstance(given[0], Public) and given[0].remembers
        raw = (snapshot(given[1:]), snapshot(named)) if keeps else None
        made = Call(function, method, given, named)
        values, named = made.fitted(names, rules, waiting if deferred else ())
        try:
            if deferred:
                inspect.signature(function).bind(*given, **named)
                return defer(given[0], arguments[1:], len(given) - 1, slots)
            result = function(*values, **named)
        except FemMbsError:
            raise
        except Exception as error:
            called = made.about(len(given))
            if isinstance(error, TypeError) and (why := misfit(function, values, named, method)):
                raise ModelError(f"{called}: {why}") from None
            raise users_failure(error, called) or error  # noqa: B904 - whose cause it is
        if outer is call:
            complete(given[0], raw)
        return result

    CHECKING.add(call)
    return call


def _rules(function: Callable[..., Any]) -> tuple[dict[str, tuple[Rule | None, Kinds]], frozenset[str]]:
    """Rules of the arguments by name, and which of them take parts of models."""
    hints = hints_of(function)
    slots = frozenset(name for name, hint in hints.items() if takes_parts(hint))
    return {"self": FREE, **{name: rule_of(hint) for name, hint in hints.items()}}, slots


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Annotations of the parameters; what a function returns may be of a class that is not imported."""
    hints = {name: hint for name, hint in function.__annotations__.items() if name != "return"}
    names = inspect.unwrap(function).__globals__
    return get_type_hints(SimpleNamespace(__annotations__=hints), names, include_extras=True)


class Call(NamedTuple):
    """A function, and what it is called with."""

    function: Callable[..., Any]
    method: bool
    given: Sequence[Any]
    named: Mapping[str, Any]

    def fitted(
        self, names: Sequence[str], rules: Mapping[str, tuple[Rule | None, Kinds]], waiting: Container[str]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Arguments by place, whose ``names`` are those of the function, and by name, as their rules have them."""

        def fitting(name: str, value: Any, passed: int) -> Any:
            rule, kinds = rules.get(name, FREE)
            if rule is None or isinstance(value, kinds) or name in waiting:
                return value
            try:
                return rule(value, Label(self, passed, name))
            except ModelError as refusal:
                if isinstance(value, PartNames) and (hint := makers(self.kind, "model")):
                    raise ModelError(f"{refusal}; {hint}") from None
                raise

        values = [fitting(name, value, k) for k, (name, value) in enumerate(zip(names, self.given, strict=False))]
        values += self.given[len(values) :]
        return values, {name: fitting(name, value, len(self.given)) for name, value in self.named.items()}

    @property
    def kind(self) -> type:
        """Of a method, the class that it is called on; of a function, ``object``."""
        owner = self.given[0] if self.method else object
        return owner if isinstance(owner, type) else type(owner)

    def about(self, passed: int, argument: str = "") -> str:
        """The name of what is called, and what of the model it is about, of what stands before an argument."""
        name, arguments = self.function.__name__, self.given[:passed]
        if self.method:
            kind, arguments = self.kind.__name__, self.given[1:passed]
            name = kind if name in ("__init__", "__call__") else f"{kind}.{name}"
        own = self.named.get("name")
        before = takewhile(lambda pair: pair[0] != argument, self.named.items())
        values = [value for value in (*arguments, *(own for _, own in before)) if not isinstance(value, dict)]
        about = [str(part) for part in leaves(values) if isinstance(part, ModelPart)]
        if isinstance(own, str) and own:
            name += f" '{own}'"
        elif about:
            name += f" on {', '.join(dict.fromkeys(about[:2]))}"
        return name


class Label:
    """How a message calls an argument: by the call, the nodes that it is about or its name, and the argument."""

    def __init__(self, call: Call, passed: int, argument: str) -> None:
        self._call, self._passed, self.argument = call, passed, argument

    def __str__(self) -> str:
        return f"{self._call.about(self._passed, self.argument)}: {self.argument}"


def rule_of(hint: Any) -> tuple[Rule | None, Kinds]:
    """The rule of an annotation, None if it allows anything, and the classes whose objects need none."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return inner[1], ()
    if hint is Any or isinstance(hint, TypeVar) or hint is ArrayLike or all(part in inner for part in ARRAY_LIKE):
        return FREE
    if origin in (Union, UnionType):
        return _either(inner)
    if origin in LISTS:
        unfit = UNFIT if origin is Iterable else (*UNFIT, Set)
        return partial(_each, rule_of(inner[0])[0], f"a list of {_several(inner[0])}", unfit), ()
    kind = origin or hint
    if kind in PLAIN:
        return PLAIN[kind], ()
    return _either((kind,)) if isinstance(kind, type) and kind is not object else FREE


def _either(hints: tuple[Any, ...]) -> tuple[Rule | None, Kinds]:
    """The rule of a union: what is of one of its classes passes, and the rest obeys the first other rule that fits."""
    if Any in hints:
        return FREE
    origins = [get_origin(hint) or hint for hint in hints]
    plain = [isinstance(kind, type) and kind not in (*PLAIN, *LISTS, Annotated) for kind in origins]
    kinds = tuple(kind for kind, alone in zip(origins, plain, strict=True) if alone)
    others = [rule_of(hint)[0] for hint, alone in zip(hints, plain, strict=True) if not alone]
    if None in others:
        return FREE
    wanted = ["a dict, as {name: value}" if kind is Mapping else called(kind) for kind in kinds if kind is not NoneType]

    def rule(value: Any, label: Any) -> Any:
        if isinstance(value, kinds):
            return value
        refusals = []
        for other in others:
            try:
                return other(value, label)  # type: ignore[misc]
            except ModelError as refusal:
                refusals.append(refusal)
        if refusals:
            more = wanted if real(value) is None else []
            raise ModelError("; or give ".join([str(refusals[0]), *([" or ".join(more)] if more else [])]))
        raise ModelError(f"{label} must be {' or '.join(wanted)}, received {received(value, kinds)}")

    return rule, kinds


def _several(hint: Any) -> str:
    """How a message calls several of what an annotation allows."""
    inner = get_args(hint)
    if get_origin(hint) is Annotated:
        return _several(inner[0])
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(map(_several, inner))
    kind = get_origin(hint) or hint
    return SEVERAL.get(kind) or f"{kind.__name__ if isinstance(kind, type) else 'such'}s"


LIST_OF_NAMES = "a list of names"


def _each(rule: Rule | None, what: str, unfit: Kinds, value: Any, label: Any) -> Any:
    """A list of values that obey a rule."""
    value = [value] if isinstance(value, str) and what == LIST_OF_NAMES else value
    scalar = isinstance(value, np.ndarray) and not value.ndim
    if scalar or isinstance(value, unfit) or not isinstance(value, Iterable):
        raise ModelError(f"{label} must be {what}, received {shown(value)}")
    if rule is None:
        return value
    argument, result = label.argument, []
    for k, member in enumerate(value):
        label.argument = f"{argument}[{k}]"
        result.append(rule(member, label))
    label.argument = argument
    return result
