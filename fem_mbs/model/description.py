"""What a model is made of: named nodes, elements and constraints, which are built on which, and their numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FunctionType, MethodType, ModuleType
from typing import Annotated, Any, ClassVar, NoReturn, TypeVar, overload

import numpy as np

from fem_mbs.arrays import Array, ArrayLike, read_only
from fem_mbs.contracts import Constraint, Element, Name, Node, Vector3, array, check_node, checked, shown, vector
from fem_mbs.contracts.arguments import RotationLike, listed, text
from fem_mbs.contracts.checked import PartNames, look_up, make
from fem_mbs.contracts.component import check_internal_variables
from fem_mbs.contracts.constraint import Part
from fem_mbs.contracts.node import Group, still_nodes, without_velocity
from fem_mbs.contracts.public import attributes_of, complete, moments
from fem_mbs.errors import ModelError

ENDS = (str, bytes, int, float, complex, np.ndarray, np.generic, type, FunctionType, MethodType, ModuleType)
"""What holds no part, or is not looked into."""
TOGETHER = (list, tuple, set, frozenset)
RESERVED = "constraint_residual"
"""A quantity of a solution with a position and a velocity, as nodes have them."""
CHANGES = "add_node(...) and add(...) bring nodes, elements and joints into a model, remove(...) takes them out"


def summary(group: str, gravity: Array, nodes: Sequence[Node], parts: Sequence[Element | Constraint]) -> str:
    """Nodes, parts by their classes, and degrees of freedom, as ``print(model)`` shows them."""
    groups = " and ".join(dict.fromkeys(node.group for node in nodes[1:])) or group
    fixed = sum(node.fixed_translation and node.fixed_rotation for node in nodes)
    idle = idle_rotations(parts)
    free = sum(6 - 3 * node.fixed_translation - 3 * (node.fixed_rotation or node in idle) for node in nodes)
    equations = sum(len(part.equations) for part in parts if isinstance(part, Constraint))
    acting = ", ".join(f"{g:g}" for g in gravity)
    lines = [f"Model on {groups}" + (f" with gravity ({acting})" if gravity.any() else "")]
    lines.append(
        f"  {counted(len(nodes), 'node')}, {fixed} of them fixed: "
        f"{counted(free, 'degree')} of freedom before constraints"
    )
    kinds = Counter(type(part).__name__ for part in parts)
    lines.extend(f"  {kind}: {count}" for kind, count in kinds.items())
    own = Counter(variable.kind for part in parts for variable in part.internal_variables)
    own.pop("history", None)  # what is remembered from step to step is no unknown
    if own:
        lines.append(f"  internal variables: {', '.join(f'{count} of kind {kind!r}' for kind, count in own.items())}")
        free += own["coordinate"]
    if rigid := sum(len(part.contacts) for part in parts if isinstance(part, Element) and not part.yields):
        lines.append(f"  {counted(rigid, 'point')} of rigid contact: NonsmoothAlpha integrates it")
    left = f"{'at least ' if equations else ''}{counted(free - equations, 'degree')} of freedom left"
    if equations and equations >= free:  # some may repeat others, which model.check() counts
        left = f"{equations - free or 'as many'} {'more than' if equations > free else 'as'} degrees of freedom"
    lines.append(f"  {counted(equations, 'constraint equation')}: {left}")
    return "\n".join(lines)


def idle_rotations(parts: Iterable[Element | Constraint]) -> set[Node]:
    """Nodes of trusses and released ends whose rotation nothing acts on: it is held."""
    parts = list(parts)
    pinned = {node for part in parts for node in part.rotation_free}
    if not pinned:
        return pinned
    turned = {node for part in parts for node in part.rotation_dependent}
    return {node for node in pinned - turned if not node.angular_velocity.any()}


def extent(nodes: list[Node]) -> float:
    """Largest extent of the initial node positions, a length to compare small lengths with; 0 for one node."""
    positions = np.array([node.position for node in nodes])
    return float(np.ptp(positions, axis=0).max())


def counted(number: int, what: str) -> str:
    """A number of things: "1 node", "2 nodes"."""
    return f"{number} {what}" + ("" if number == 1 else "s")


def users(owner: object, parts: Sequence[Part], wanted: Iterable[Part]) -> dict[Part, list[Part]]:
    """Which ``parts`` of a model, the ``owner``, hold each of the ``wanted``, if any do."""
    ends = {id(own) for own in (owner, *parts)}
    found: dict[Part, list[Part]] = {own: [] for own in wanted}
    for part in parts:
        held = [own for value in vars(part).values() for own in held_by(value, ends, set())]
        for own in {id(own): own for own in held if isinstance(own, Part) and own is not part}.values():
            if own in found:
                found[own].append(part)
    return {own: using for own, using in found.items() if using}


def held_by(value: Any, ends: set[int], seen: set[int]) -> Iterator[Any]:
    """A value and all that it holds, in turn; not what those hold that are ``ends``."""
    if value is None or isinstance(value, ENDS) or id(value) in seen:
        return
    seen.add(id(value))
    yield value
    if id(value) in ends:
        return
    if isinstance(value, Mapping):
        inner: Iterable[Any] = [*value.keys(), *value.values()]
    else:
        inner = value if isinstance(value, TOGETHER) else attributes_of(value).values()
    for own in inner:
        yield from held_by(own, ends, seen)


Added = TypeVar("Added", bound=Element | Constraint)


def _name(value: Any, label: object) -> str:
    """A name for what is added."""
    if isinstance(value, Element | Constraint):
        raise ModelError(f"{label} must be text, received {value}; several parts are added as a list")
    return text(value, label)


PartName = Annotated[str, _name]
Kept = TypeVar("Kept", bound=Part)
Own = TypeVar("Own", bound="ModelDescription")


class Parts(list[Kept]):
    """Nodes, elements or constraints of a model in the order in which they were added, which alone changes them."""

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise ModelError(f"Model: its lists cannot be changed; {CHANGES}, and list(...) makes a list of your own")

    append = extend = insert = remove = pop = clear = sort = reverse = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (list(self),)


@checked
class ModelDescription(PartNames):
    """The parts of a model and their names: all that is computed with; what users hold is its subclass ``Model``."""

    called: ClassVar[str] = "a Model"
    remembers = False
    _internal = "add_nodes all_or_nothing called check_name copies hold with_parts"
    copies: tuple[ModelDescription, ...] = ()
    """Where it is put together of models of one structure side by side, these."""

    def __init__(self, group: Group = "R3xSO3", gravity: Vector3 = (0.0, 0.0, 0.0)) -> None:
        self.group = group
        self.gravity = gravity
        self.nodes, self.elements, self.constraints = Parts[Node](), Parts[Element](), Parts[Constraint]()
        self._parts: dict[str, Part] = {}
        self._members: set[Node] = set()
        self._added: Counter[type] = Counter()
        (self.ground,) = self.add_nodes(np.zeros((1, 3)), ["ground"])
        self.hold(self.ground, True, True)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("nodes", "elements", "constraints", "ground") and name in vars(self):
            raise ModelError(f"Model: {name} cannot be set; {CHANGES}")
        super().__setattr__(name, value)

    def with_parts(
        self: Own, nodes: Iterable[Node], elements: Iterable[Element], constraints: Iterable[Constraint]
    ) -> Own:
        """The same model of other parts, which nobody adds to: of several side by side, or without some."""
        other = object.__new__(type(self))
        own = {"nodes": Parts(nodes), "elements": Parts(elements), "constraints": Parts(constraints)}
        vars(other).update(vars(self) | own)
        return other

    def __copy__(self) -> NoReturn:
        raise ModelError("Model: a shallow copy would be the same nodes and parts; copy.deepcopy(model) makes a model")

    @property
    def gravity(self) -> Array:
        """Acceleration of gravity ``(3,)`` in the world frame."""
        return self._gravity

    @gravity.setter
    def gravity(self, value: ArrayLike) -> None:
        self._gravity = read_only(vector(value, "Model: gravity"), "Model: gravity")
        moments.changes += 1

    @checked
    def add_node(
        self,
        position: Vector3,
        rotation: RotationLike | None = None,
        velocity: Vector3 | None = None,
        angular_velocity: Vector3 | None = None,
        *,
        group: Group | None = None,
        name: Name | None = None,
    ) -> Node:
        """Add a node and return it.

        Parameters
        ----------
        position : (3,)
            Initial position, world frame.
        rotation : (3, 3) or scipy Rotation, optional
            Initial rotation, body to world; the identity by default.
        velocity : (3,), optional
            Initial velocity, world frame, on either group.
        angular_velocity : (3,), optional
            Initial angular velocity, body frame, rad/s.
        group : {"R3xSO3", "SE3"}, optional
            Group of its coordinates; that of the model by default.
        name : str, optional
            How messages and results call it; "node 1", ... by default.

        Raises
        ------
        ModelError
            If a value is not finite, ``rotation`` is not a rotation or the name is taken.
        """
        name = self._free_name(name, f"node {self._added[Node]}")
        group = self.group if group is None else group  # the node checks what it is given
        R = np.eye(3) if rotation is None else rotation
        rates = {"velocity": velocity, "angular_velocity": angular_velocity}
        still = {rate: np.zeros(3) for rate, own in rates.items() if own is None}
        node = Node(name=name, group=group, position=position, rotation=R, **rates | still)  # type: ignore[arg-type]
        without_velocity(node, *still)
        self._parts[name] = node
        self._added[Node] += 1
        list.append(self.nodes, node)
        self._members.add(node)
        moments.changes += 1
        return node

    def add_nodes(self, places: Array, names: Sequence[str] | None = None) -> list[Node]:
        """Add nodes at rest at places ``(n, 3)``, with names of their own or those of :meth:`add_node`; return them."""
        places = array(places, "Model.add_nodes: places", (None, 3)) if len(places) else np.empty((0, 3))
        if names is None:
            first = self._added[Node]
            names = [self._free_name(None, f"node {first + k}") for k in range(len(places))]
        for name in names:
            self.check_name(name)
        if len(set(names)) < len(names):
            raise ModelError(f"the name '{Counter(names).most_common(1)[0][0]}' is given to several nodes")
        nodes = still_nodes(names, self.group, places)
        self._parts.update(zip(names, nodes, strict=True))
        self._added[Node] += len(nodes)
        list.extend(self.nodes, nodes)
        self._members.update(nodes)
        moments.changes += 1
        return nodes

    def hold(self, node: Node, translation: bool, rotation: bool) -> None:
        """Leave the position and/or the rotation of a node where they are, in all directions."""
        if not translation and not rotation:
            raise ModelError(f"Model.fix: nothing to hold at {node}; give translation=True or rotation=True")
        if translation and node.velocity.any():
            raise ModelError(f"{node} cannot be fixed: it was given the velocity {node.velocity}")
        if rotation and node.angular_velocity.any():
            raise ModelError(f"{node} cannot be fixed: it was given the angular velocity {node.angular_velocity}")
        node.fixed_translation |= translation
        node.fixed_rotation |= rotation

    @overload
    def add(self, element: Added, name: Name | None = None) -> Added: ...

    @overload
    def add(self, element: list[Added], name: Name | None = None) -> list[Added]: ...

    @checked
    def add(self, element: Any, name: PartName | None = None) -> Any:
        """Add an element, a load or a joint, or a list of these, and return it.

        It may have been given names of the model's nodes, elements and joints in place of these. Those of a list are
        named ``name 1``, ``name 2``, and so on.
        """
        if isinstance(element, list):
            with self.all_or_nothing():
                return [self.add(own, f"{name} {k}" if name else None) for k, own in enumerate(element, 1)]
        make(element, self)
        if not isinstance(element, Element | Constraint):
            raise ModelError(f"Model.add takes an element, a load or a joint, received {shown(element)}")
        if element.name is not None:
            where = "belongs to another model, or was removed from this one"
            if element in self:
                where = "was added already (Beam.line adds its beam itself)"
            raise ModelError(f"{element} {where}; make a second object to add it twice")
        for node in element.nodes:
            self._own(node, str(element))
        check_internal_variables(element)
        if isinstance(element, Constraint) and not (element.nodes and element.equations):
            raise ModelError(
                f"{element} has no nodes or no equations; does its __init__ call super().__init__(...), and does it "
                "close anything?"
            )
        kind = type(element)
        element.name = self._free_name(name, element.default_name or f"{kind.__name__} {self._added[kind] + 1}")
        self._added[kind] += 1
        self._parts[element.name] = element
        complete(element)
        moments.changes += 1
        if isinstance(element, Element):
            list.append(self.elements, element)
        else:
            list.append(self.constraints, element)
        return element

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """What is added within it is taken out again if something fails."""
        counts = len(self.nodes), len(self.elements), len(self.constraints)
        try:
            yield
        except Exception:
            lists: tuple[list[Any], ...] = self.nodes, self.elements, self.constraints
            self.remove(*(part for parts, count in zip(lists, counts, strict=True) for part in parts[count:]))
            raise

    @checked
    def remove(self, *parts: Part | str) -> None:
        """Take elements, loads, joints and nodes out of the model; their names are free again.

        Systems and solutions that were made before keep them. What was removed cannot be added again: make a new one.
        A beam leaves its nodes; ``model.remove("arm", *model["arm"].nodes)`` takes it away with them.

        Parameters
        ----------
        *parts : Node, element or joint, or str
            What to remove, or its name. What is left must not be built on any of it.

        Raises
        ------
        ModelError
            If something is not in the model, is its ground, or is used by what would be left, which is named. Nothing
            is removed then.
        """
        gone = dict.fromkeys(self[part] if isinstance(part, str) else part for part in parts)
        for part in gone:
            if part not in self:
                raise ModelError(
                    f"Model.remove: {shown(part)} is not in this model; give a node, an element or a joint of it"
                )
            if part is self.ground:
                raise ModelError("Model.remove: the ground stays; a model has one")
        every: list[Part] = [*self.nodes, *self.elements, *self.constraints]
        left = [own for own in every if own not in gone]
        for part, using in users(self, left, gone).items():
            them = "these" if len(using) > 1 else "that"
            raise ModelError(f"Model.remove: {part} is used by {listed(using)}; remove {them} with it")
        moments.changes += 1
        for part in gone:
            del self._parts[str(part.name)]
        self._members.difference_update(gone)
        lists: tuple[list[Any], ...] = self.nodes, self.elements, self.constraints
        for kind in lists:
            list.__setitem__(kind, slice(None), [part for part in kind if part not in gone])

    def __getitem__(self, name: str) -> Any:
        """The node, element or joint of a name, such as ``model["tip"]``; near names are told where there is none."""
        return look_up(self._parts, text(name, "Model[...]: name"), "Model")

    def __contains__(self, part: object) -> bool:
        if isinstance(part, str):
            return part in self._parts
        return isinstance(part, Part) and self._parts.get(part.name or "") is part

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._parts)

    def check_name(self, name: str) -> None:
        """Refuse a name that is taken; whoever adds several things asks before the first."""
        if name == RESERVED:
            raise ModelError(f"the name '{name}' is that of a quantity of the whole model; give another name=")
        if text(name, "Model.check_name: name") in self._parts:
            raise ModelError(
                f"the name '{name}' is taken; names of nodes, elements and joints are unique in a model; give another "
                "name="
            )

    def __str__(self) -> str:
        return summary(self.group, self.gravity, self.nodes, [*self.elements, *self.constraints])

    def __repr__(self) -> str:
        parts = counted(len(self.elements), "element"), counted(len(self.constraints), "joint")
        return f"Model on {self.group} with {counted(len(self.nodes), 'node')}, {parts[0]} and {parts[1]}"

    def _own(self, node: Node, what: str) -> None:
        if check_node(node, f"{what}: node") not in self._members:
            raise ModelError(f"{what}: {node} belongs to another model; add it to this one with add_node")

    def _free_name(self, name: str | None, default: str) -> str:
        if name is None:
            name = default
            while name in self._parts:
                name += "'"
        else:
            self.check_name(text(name, "Model.add_node: name"))
        return name
