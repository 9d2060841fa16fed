"""A node: a frame in space with a group, a velocity and a name; made and checked in one place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, ArrayLike, read_only
from fem_mbs.contracts.arguments import Name, Vector3, choice, rotation_matrix, truth, vector
from fem_mbs.contracts.checked import checked
from fem_mbs.contracts.public import COMPLETE, ModelPart, earlier, instance, moments, remember
from fem_mbs.errors import ModelError
from fem_mbs.lie import GROUPS

Group = Annotated[str, choice(GROUPS)]
GIVEN = ("name", "group", "position", "rotation")
HOLDS = {"velocity": "fixed_translation", "angular_velocity": "fixed_rotation"}
"""What keeps a node from having a velocity."""


class Placement(NamedTuple):
    """Where a node was up to a moment."""

    until: int
    position: Array
    rotation: Array


if TYPE_CHECKING:

    class GivenVector:
        """Three numbers that may be set as a tuple or a list, and are an array."""

        def __get__(self, node: Any, kind: Any = None) -> Array: ...
        def __set__(self, node: Any, value: ArrayLike) -> None: ...

else:
    GivenVector = Annotated[Array, vector]


@checked
@dataclass(eq=False, repr=False)
class Node(ModelPart):
    """A frame that moves, made by :meth:`Model.add_node`; as elements are built on it, only assembly changes its place.

    ``position`` (3,) and ``velocity`` (3,) are in the world frame, ``rotation`` (3, 3) maps body to world and
    ``angular_velocity`` (3,) is in the body frame; all are initial values. The two velocities can be set until the
    model is frozen. Points and axes are given in the world while building: :meth:`at` and :meth:`direction` tell them
    where they are known in the frame of the node.
    """

    _internal: ClassVar[str] = "before made_for unused not_given"
    called: ClassVar[str] = "a node made by model.add_node"
    remembers: ClassVar[bool] = False

    name: Name
    group: Group
    position: Annotated[Array, vector]
    rotation: Annotated[Array, rotation_matrix]
    if TYPE_CHECKING:
        velocity: GivenVector = GivenVector()
        angular_velocity: GivenVector = GivenVector()
    else:
        velocity: GivenVector
        angular_velocity: GivenVector
    fixed_translation: bool = field(default=False)
    fixed_rotation: bool = field(default=False)

    not_given: ClassVar[frozenset[str]] = frozenset()
    """Which of its two velocities nobody has set: zero, or what :func:`fem_mbs.project_velocities` has found."""
    made_for: ClassVar[str] = ""
    """The part that it was made for with its nodes."""

    @property
    def unused(self) -> str:
        """What to say of it where nothing in the model uses it."""
        if self.made_for:
            return f"made for {self.made_for}, which is not in the model: model.add(...) adds it"
        return "used by no element or joint"

    def __setattr__(self, name: str, value: Any) -> None:
        if name in HOLDS:
            value = vector(value, f"{self}: {name}")
            if getattr(self, HOLDS[name]) and value.any():
                raise ModelError(f"{self}: {name} cannot be {value}, as model.fix holds the node")
        if name in HOLDS.values():
            value = truth(value, f"{self}: {name}")
        if name in GIVEN and name in vars(self):
            raise ModelError(
                f"{self}: {name} cannot be changed once the node is made, as elements may be built on it; give it to "
                "model.add_node"
            )
        if isinstance(value, np.ndarray):
            value = read_only(value, f"{self}: {name}")
        super().__setattr__(name, value)
        if name in self.not_given:
            vars(self)["not_given"] = self.not_given - {name}

    @checked
    def at(self, point: Vector3) -> Array:
        """The world place (3,), as built, of a ``point`` (3,) in the frame of the node, m."""
        return np.asarray(self.position + self.rotation @ np.asarray(point))

    @checked
    def direction(self, vector: Vector3) -> Array:
        """The world components (3,), as built, of a ``vector`` (3,) in the frame of the node; its length stays."""
        return np.asarray(self.rotation @ np.asarray(vector))

    @property
    def before(self) -> list[Placement]:
        """Where it was when it was made and later, for what was built on it then; of a node that was moved."""
        pairs = zip(earlier(self, "position"), earlier(self, "rotation"), strict=True)
        return [Placement(position.until, position.value, rotation.value) for position, rotation in pairs]

    def __str__(self) -> str:
        return f"node '{self.name}'"

    __repr__ = __str__


def move_node(node: Node, position: Array, rotation: Array) -> None:
    """Move a node before the start, as :meth:`Model.assemble` does; what is built on it goes along as it is."""
    for name, value in (("position", position), ("rotation", rotation)):
        remember(node, name)
        vars(node)[name] = read_only(value, f"{node}: {name}")
    moments.next()


def give_velocities(node: Node, velocity: Array, angular_velocity: Array) -> None:
    """Set both, as :func:`fem_mbs.project_velocities` does: what was not given before still counts as not given."""
    before = node.not_given
    node.velocity, node.angular_velocity = velocity, angular_velocity
    vars(node)["not_given"] = before


def without_velocity(node: Node, *names: str) -> None:
    """Note which of the velocities of a node were not given."""
    vars(node)["not_given"] = frozenset(names)


def still_nodes(names: Iterable[str], group: str, positions: Array) -> list[Node]:
    """Nodes at rest at ``positions`` (n, 3), all parallel to the world; whoever calls has checked what they are given.

    A node by itself is checked attribute by attribute, which takes a second for some ten thousand of them.
    """
    positions, R, still = map(read_only, (positions.copy(), np.eye(3), np.zeros(3)))
    alike: dict[str, Any] = dict(group=group, rotation=R, velocity=still, angular_velocity=still)
    alike |= {"fixed_translation": False, "fixed_rotation": False, "not_given": frozenset(HOLDS), COMPLETE: True}
    made = []
    for name, position in zip(names, positions, strict=True):
        made.append(node := object.__new__(Node))
        vars(node).update(alike, name=name, position=position)
        position.whose = f"{node}: position"
    return made


ROUNDING = 4 * float(np.finfo(float).eps)
"""Distances from a node that are none, in units of the largest coordinate."""


def lever(node: Node, point: ArrayLike | None) -> Array:
    """Where a ``point`` of the world is in the frame of a node, as built, (3,); None stands for the node itself.

    A point that misses the node by rounding is at the node, whose rotation then does not move it.
    """
    if point is None:
        return np.zeros(3)
    apart = np.asarray(point) - node.position
    largest = max(np.abs(point).max(), np.abs(node.position).max())
    return np.zeros(3) if np.abs(apart).max() <= ROUNDING * largest else np.asarray(node.rotation.T @ apart)


def poses(nodes: Iterable[Node]) -> tuple[Array, Array]:
    """Positions ``(n, 3)`` and rotations ``(n, 3, 3)`` of nodes as built."""
    pairs = [(node.position, node.rotation) for node in nodes]
    x, R = (np.array(part) for part in zip(*pairs, strict=True))
    return x, R


def check_node(value: object, label: str) -> Node:
    """A node, or a :class:`ModelError` that begins with ``label``."""
    return instance(value, Node, label)
