"""What users hold: the names they see of it, that no others are accepted, former names, and what was changed of it.

Results are of the parts of a model as they were, and these of nodes where these were. Queries of a result make batches
again from elements and joints. A part whose attribute is set, or a node that is moved, keeps the value before, once for
each moment at which something was made of it; :func:`as_of` gives it back for as long as batches are made, or a part is
made again. What is never changed keeps nothing.
"""

from __future__ import annotations

import inspect
import sys
from abc import ABCMeta
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from importlib.util import find_spec
from math import inf
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar
from weakref import WeakSet

import numpy as np

from fem_mbs.arrays import read_only
from fem_mbs.contracts.arguments import OURS, article, listed, nearest, shown
from fem_mbs.errors import ModelError

PAST = "_past"
"""Where a part keeps its changes."""
MADE = "constructor_arguments"
"""Where a part keeps what it was made of."""
KEPT_UP = "_kept_up"
"""Where a part keeps the moment up to which it has followed those that it is built on."""


class Change(NamedTuple):
    """A value that an attribute had up to a moment."""

    until: int
    name: str
    value: Any


class Moments:
    """Counts the moments at which models were frozen and nodes moved, and how often models were changed."""

    def __init__(self) -> None:
        self.now = self.changes = 0
        self.latest = -1
        """The moment up to which what was changed last was as it was before."""
        self.changed: WeakSet[Any] = WeakSet()
        self.kinds = set[type]()
        """Classes of what was ever changed: there may be very many parts."""
        self.lock = RLock()

    def next(self) -> int:
        """What is changed from now on is changed after this moment."""
        self.now += 1
        return self.now

    def reach(self, other: int) -> None:
        """Count on from a moment of another process, from which something has come."""
        self.now = max(self.now, other)


moments = Moments()


def remember(part: Any, name: str) -> None:
    """Keep the value of an attribute that is about to change, for what was made of the part at this moment."""
    own = vars(part)
    if name not in own:
        return
    with moments.lock:
        moments.changes += 1
        past = own.setdefault(PAST, [])
        if not any(change.until == moments.now and change.name == name for change in past):
            past.append(Change(moments.now, name, own[name]))
            moments.latest = moments.now
            moments.changed.add(part)
            moments.kinds.add(type(part))


def earlier(part: Any, name: str) -> list[Change]:
    """The values that an attribute has had before, first to last."""
    return [change for change in vars(part).get(PAST, ()) if change.name == name]


def changes_since(part: Any, moment: int, before: float = inf) -> dict[str, Any]:
    """Attributes of a part that were changed since a moment, and before another, with their values then."""
    values: dict[str, Any] = {}
    for change in vars(part).get(PAST, ()):
        if moment <= change.until < before:
            values.setdefault(change.name, change.value)
    return values


def changed_since(parts: Iterable[Any], moment: int, before: float = inf) -> str:
    """The parts that were changed since, each with the names of its attributes; empty if none was."""
    changed = ((part, changes_since(part, moment, before)) for part in parts if part in moments.changed)
    names = ((part, ", ".join(name for name in values if name != MADE)) for part, values in changed)
    return "; ".join(f"{part}: {text}" for part, text in names if text)


@contextmanager
def as_of(parts: Container[int], moment: int) -> Iterator[None]:
    """Within it, parts of these identities are as they were at a moment."""
    if moments.latest < moment:
        yield
        return
    with moments.lock:
        own = [part for part in moments.changed if id(part) in parts]
        then = [(part, changes_since(part, moment)) for part in own]
        now = [(part, {name: vars(part)[name] for name in values}) for part, values in then]
        try:
            for part, values in then:
                vars(part).update(values)
            yield
        finally:
            for part, values in now:
                vars(part).update(values)


FORMER = {
    "drives": ("drive",),
    "free": ("release",),
    "end": ("side", "final"),
    "start": ("initial_output", "initial"),
    "offset": ("begin",),
    "unknown": ("variable",),
    "unknowns": ("internal_variables",),
    "Actuator": ("FirstOrderActuator",),
    "SlipSpring": ("FrictionSpring",),
    "Unknown": ("InternalVariable",),
}
"""Former names of arguments, attributes, queries and classes, and those of today."""


def renamed(name: str, known: Container[str]) -> str:
    """What is said of a former name, where that of today is known; empty if it is none."""
    new = next((own for own in FORMER.get(name, ()) if own in known), "")
    return f"'{name}' is called '{new}' now" if new else ""


INSTEAD = {
    "drive": "model.add(JointDrive(joint, law, coordinate=...)) prescribes a coordinate of any joint",
    "nominal": "states know from their equations how large they are; leave it out",
    "degrees": "angles are in rad; numpy.degrees turns them",
    "material": "E, nu and rho are numbers of their own; a dict of them is handed on by **",
}
"""What does what an argument is asked for that is not there."""
OF_SHAPES = {"point", "position", "center", "normal", "radius", "size"}
"""What a contact is asked for, of one of its bodies or without a word of which, and its shapes have."""


def misfit(function: Callable[..., Any], given: Iterable[Any], named: Mapping[str, Any], method: bool) -> str:
    """Why a function cannot be called like this, to follow its name; empty if it can.

    ``method`` is whether the first of the ``given`` arguments is the object or the class that it is called on.
    """
    signature = inspect.signature(function)
    try:
        signature.bind(*given, **named)
    except TypeError as error:
        taken = [*signature.parameters.values()][method:]
        known = ["*" * (each.kind is each.VAR_POSITIONAL) + each.name for each in taken]
        other = next((name for name in named if name not in known), None)
        if other is None:
            alone = [each.name for each in signature.parameters.values() if each.kind is each.KEYWORD_ONLY]
            byname = f"; by name alone {', '.join(alone)}" if alone else ""
            return f"{error}; it takes {', '.join(known[: len(known) - len(alone)])}{byname}"
        hint = INSTEAD.get(other, "")
        if "shape_a" in known and other.removesuffix("_a").removesuffix("_b") in OF_SHAPES:
            hint = "shapes say it, as Ball(radius, center=...) and Plane(normal, point)"
        hint = hint or (makers(type(next(iter(given), None)), other) if method else "")
        return renamed(other, known) or f"has no argument '{other}'; {hint or nearest(other, known, 'it takes')}"
    return ""


def makers(kind: type, argument: str) -> str:
    """Which class methods take an argument that the constructor of a class does not; empty if none does."""
    own = [own.__func__ for own in vars(kind).values() if isinstance(own, classmethod)]
    names = [f"{each.__qualname__}(...)" for each in own if argument in inspect.signature(each).parameters]
    return f"{listed(names, ' or ')} takes one" if names else ""


def former(module: dict[str, Any]) -> Callable[[str], Any]:
    """A ``__getattr__`` of a module, which tells how what is looked for is called now.

    ``from module import name`` would pass over the words of an ``AttributeError``: there they are an ``ImportError``.
    """

    def look_up(name: str) -> Any:
        if told := renamed(name, module):
            raise ModelError(f"{module['__name__']}: {told}")
        elements = module.get("elements")
        hint = "it is in fem_mbs.elements" if elements and name in elements.__all__ else ""
        hint = hint or (nearest(name, module.get("__all__", ()), "") if name[0] != "_" else "")
        text = f"module '{module['__name__']}' has no attribute '{name}'" + f"; {hint}" * bool(hint)
        if hint and find_spec(f"{module['__name__']}.{name}") is None:  # a module within it is looked for next
            if any(frame.function == FROM_IMPORT for frame in inspect.stack(0)[1:3]):
                raise ImportError(text)
        raise AttributeError(text)

    return look_up


FROM_IMPORT = "_handle_fromlist"
"""The function of ``importlib`` that looks up the names of ``from package import ...``."""
COMPLETE = "_complete"
"""Mark of an object whose constructor has ended."""
Kind = TypeVar("Kind")


class ConstructorArguments(NamedTuple):
    """What an object was made of: from this it can be made again, in another process."""

    arguments: tuple[Any, ...]
    named: dict[str, Any]
    moment: int
    """When it was made: an object is built on nodes where they were."""

    def of(self, made: Any) -> inspect.BoundArguments:
        """These, bound to the parameters of the constructor of what was ``made``, which is the first of them."""
        return inspect.signature(type(made).__init__).bind(made, *self.arguments, **self.named)


def leaves(value: Any) -> Iterator[Any]:
    """What lists, tuples and dicts hold, and those in them; of anything else, itself."""
    if isinstance(value, list) or type(value) in (tuple, dict):
        for own in value.values() if type(value) is dict else value:
            yield from leaves(own)
    else:
        yield value


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Lists, tuples and dicts of what ``change`` makes of their leaves."""
    if isinstance(value, list) or type(value) is tuple:
        return (tuple if type(value) is tuple else list)([mapped(own, change) for own in value])
    return {key: mapped(own, change) for key, own in value.items()} if type(value) is dict else change(value)


def snapshot(value: Any) -> Any:
    """A value that does not change with the arrays and lists of a script."""
    return mapped(value, lambda own: own.copy() if isinstance(own, np.ndarray) else own)


class Named(ABCMeta):
    """A class that answers to names that it does not have, and may have abstract methods."""

    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> Any:
            if name[0] == "_":
                raise AttributeError(f"type object '{cls.__name__}' has no attribute '{name}'")
            raise AttributeError(renamed(name, dir(cls)) or _unknown(cls, name, dir(cls)))


class Public(metaclass=Named):
    """Base of what users hold: ``dir`` shows what they may use, and a name that is none of its own cannot be set.

    Names that begin with "_" or that ``_internal`` lists are not shown. Attributes are those that the constructor
    sets and those that the class declares; once the constructor has ended, others are refused, but for names that
    begin with "_". An object keeps what it was made of, as ``constructor_arguments``, unless its class says
    ``remembers = False``.
    """

    __slots__ = ()
    _internal: ClassVar[str] = "called constructor_arguments remembers"
    """Words: names that whoever writes a class of this kind needs, and no one who uses it."""
    called: ClassVar[str] = ""
    """What messages call an object of the class; "a" and the name of the class if it is empty."""
    remembers: ClassVar[bool] = True
    constructor_arguments: ConstructorArguments | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls) and "__slots__" not in vars(cls):
            cls.__init__ = _completing(cls.__init__)  # type: ignore[method-assign]

    def __setattr__(self, name: str, value: Any) -> None:
        if name[0] != "_" and COMPLETE in vars(self) and name not in vars(self) and not _declared(type(self), name):
            raise ModelError(f"{shown(self)} has no attribute '{name}' that could be set; {nearest(name, dir(self))}")
        object.__setattr__(self, name, value)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in FORMER and (told := renamed(name, dir(type(self)))):
                raise ModelError(f"{shown(self)}: {told}")
            try:
                return object.__getattribute__(self, name)  # what an attribute raises that is there
            except AttributeError as error:
                if name.startswith("_") or error.name != name or error.obj is not self:
                    raise
                # what the constructor takes can be read as it was given; states have slots alone
                if type(self).__dictoffset__ and (made := vars(self).get(MADE)):
                    (bound := made.of(self)).apply_defaults()
                    if name in bound.arguments:
                        return bound.arguments[name]
            raise AttributeError(_unknown(type(self), name, object.__dir__(self)))

    def __repr__(self) -> str:
        if (made := self.constructor_arguments) is None:
            return article(type(self).__name__)
        given = list(made.of(self).arguments.items())[1:]
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in given)})"

    def __dir__(self) -> list[str]:
        return _shown(type(self), object.__dir__(self))


def _shown(kind: type, names: Iterable[str]) -> list[str]:
    """Those that users may use."""
    hidden = {name for base in kind.__mro__ for name in vars(base).get("_internal", "").split()}
    return [name for name in names if name[0] != "_" and name not in hidden]


def _unknown(kind: type, name: str, known: Iterable[str]) -> str:
    """What is said of a name that an object or a class does not have."""
    copies = name in ("copy", "clone") and not issubclass(kind, ModelPart)
    hint = "copy.deepcopy makes one" if copies else nearest(name, sorted(_shown(kind, known)))
    functions = vars(sys.modules["fem_mbs"]).get("__all__", ())
    if function := next((own for own in (name, *OURS.get(name, ())) if own in functions), ""):
        hint = f"it is a function, fem_mbs.{function}(...)"
    return f"{kind.__name__} has no attribute '{name}'; {hint}"


class Arithmetic(Public):
    """What answers operations that its class does not define, and functions of NumPy, by a word of what it can do."""

    _arithmetic: ClassVar[str]

    def _refused(self, *_: Any) -> Any:
        raise ModelError(f"{self} {self._arithmetic}")

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **_: Any) -> Any:
        if ufunc in (np.equal, np.not_equal):
            return ufunc is np.not_equal
        first, name = given[0] is self, SUMS.get(ufunc) if method == "__call__" else None
        operation = f"__{'' if first else 'r'}{name}__" if name else "_refused"
        return getattr(self, operation)(*(given[1:] if first else given[:1]))


SUMS: dict[Any, str] = {np.add: "add", np.subtract: "sub", np.multiply: "mul", np.divide: "truediv", np.negative: "neg"}
"""Operations of NumPy, which arrays and numbers hand on, and what Python calls them."""
for _name in (
    "add radd sub rsub mul rmul truediv rtruediv neg pow rpow abs mod rmod floordiv rfloordiv matmul rmatmul "
    "lt le gt ge float int round"
).split():
    setattr(Arithmetic, f"__{_name}__", lambda self, *_: self._refused())


class ModelPart(Public):
    """What stands in a model under a name: a node, an element or a constraint.

    Attributes may be set once it is made: for later runs. Results keep the values that they were computed with.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "name" and COMPLETE in vars(self) and vars(self).get("name") is not None:
            raise ModelError(f"{self}: its name is that in the model, and stays; give it to model.add(..., name=)")
        if COMPLETE not in vars(self) or name == "name":
            super().__setattr__(name, value)
        elif made := self._made_with(name, value):
            self._change(made)
        else:
            remember(self, name)
            super().__setattr__(name, kept(value, self, name))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy, or a part that has come from another process, with its moments and its changes."""
        vars(self).update(state)
        made, past = state.get(MADE), state.get(PAST)
        moments.reach(max(made.moment if made else 0, state.get(KEPT_UP, 0)))
        if past:
            vars(self)[PAST] = list(past)
            moments.reach(past[-1].until)
            moments.latest = max(moments.latest, past[-1].until)
            moments.changed.add(self)
            moments.kinds.add(type(self))

    def _change(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            remember(self, name)
            vars(self)[name] = kept(value, self, name)

    def _made_with(self, name: str, value: Any) -> dict[str, Any]:
        """Attributes that follow from another value of an argument of the constructor; none of what is no argument."""
        return {}


def same(one: Any, other: Any) -> bool:
    """Whether two are one, or equal numbers, texts, arrays or lists of such."""
    if one is other:
        return True
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and np.array_equal(one, other)
    if isinstance(one, list | tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    return isinstance(one, int | float | str) and type(one) is type(other) and bool(one == other)


def instance(value: object, kind: type[Kind], label: object) -> Kind:
    """An object of a class, or a :class:`ModelError` that begins with ``label``."""
    if not isinstance(value, kind):
        raise ModelError(f"{label} must be {called(kind)}, received {received(value, (kind,))}")
    return value


def received(value: object, kinds: tuple[type, ...]) -> str:
    """What was received, and which of its nodes to give where one of these is wanted."""
    nodes = attributes_of(value).get("nodes")
    fit = [own for own in nodes if isinstance(own, kinds)] if isinstance(nodes, tuple) else []
    if fit:
        return f"{shown(value)}; give {'its node' if len(fit) == 1 else 'one of its nodes'}, {listed(fit, most=3)}"
    if isinstance(value, type) and issubclass(value, kinds):
        return f"the class {value.__name__}; give an object of it, {value.__name__}(...)"
    kinds = tuple(kind for kind in kinds if kind is not type(None))
    names = (name.lstrip("_") for name, own in attributes_of(value).items() if isinstance(own, kinds))
    has = [name for name in names if name in dir(value)]
    wanted = [kind.__name__ for kind in kinds]
    for base in type(value).__mro__ if isinstance(value, Public) else ():
        methods = [(name, own) for name, own in vars(base).items() if name[0] != "_" and inspect.isfunction(own)]
        has += [f"{name}(...)" for name, own in methods if own.__annotations__.get("return") in wanted]
    return shown(value) + (f"; give its {has[0]}" if has else "")


def called(kind: type) -> str:
    """What messages call an object of a class."""
    return kind.called if issubclass(kind, Public) and kind.called else article(kind.__name__)


def attributes_of(value: object) -> dict[str, Any]:
    """The attributes of an object; none of those that Python keeps without a dict, such as numbers."""
    return vars(value) if type(value).__dictoffset__ else {}


def complete(value: Any, made: tuple[tuple[Any, ...], dict[str, Any]] | None = None) -> None:
    """Mark an object as complete, ``made`` of these arguments: from now on it refuses names that it does not have."""
    if made is not None:
        vars(value)[MADE] = ConstructorArguments(*made, moments.now)
    if isinstance(value, ModelPart):
        vars(value).update({name: kept(own, value, name) for name, own in vars(value).items()})
    if isinstance(value, Public):
        vars(value)[COMPLETE] = True


def kept(value: Any, part: object, name: str) -> Any:
    """An array of what users hold that nobody changes in place, which would go unnoticed; anything else as it is."""
    writeable = isinstance(value, np.ndarray) and value.flags.writeable
    return read_only(value.copy(), f"{part}: {name}") if writeable else value


def _completing(constructor: Callable[..., None]) -> Callable[..., None]:
    """A constructor that marks what it has made, unless it was called by that of a subclass."""

    @wraps(constructor)
    def construct(self: Any, *given: Any, **named: Any) -> None:
        if type(self).__init__ is not construct:
            return constructor(self, *given, **named)
        raw = (snapshot(given), snapshot(named)) if self.remembers else None
        constructor(self, *given, **named)
        complete(self, raw)

    return construct


def _declared(kind: type, name: str) -> bool:
    return any(name in vars(base) or name in vars(base).get("__annotations__", ()) for base in kind.__mro__)


def exported(module: dict[str, Any], *hidden: str) -> list[str]:
    """The public names of a module: all that it has but modules and ``hidden`` ones."""
    return sorted(n for n, own in module.items() if n[0] != "_" and not isinstance(own, ModuleType) and n not in hidden)
